/* place.c - looking at the path of the output. See place.h.
 *
 * A path that is something else than a file is never replaced, and nothing is made beside it: a
 * character device and a pipe are written to, the rest is refused. Nor does a trace belong into the
 * system's own folders, where a name may look like a file (/dev/stdout) and be none. */
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output_file.h"

static kino_status open_pipe(kino__place *place, kino_error *err)
{
    place->is_pipe = true;
    place->fd = open(place->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (place->fd >= 0)
        return KINO_OK;
    if (errno == ENXIO)
        return kino__fail(err, KINO_IO, "cannot write '%s': the pipe has no reader", place->path);
    return kino__fail_errno(err, errno, "cannot write '%s'", place->path);
}

static bool is_standard_output(const struct stat *info)
{
    struct stat other;
    return fstat(STDOUT_FILENO, &other) == 0 && other.st_dev == info->st_dev &&
           other.st_ino == info->st_ino;
}

static kino_status look_at_special(kino__place *place, kino_error *err)
{
    struct stat info;
    if (stat(place->path, &info) != 0)
        return kino__fail_errno(err, errno, "cannot write '%s'", place->path);
    place->is_special = true;
    if (S_ISFIFO(info.st_mode) && is_standard_output(&info))
        return kino__fail(err, KINO_ARGUMENT,
                          "cannot write '%s': standard output belongs to the program", place->path);
    if (S_ISFIFO(info.st_mode))
        return open_pipe(place, err);
    if (!S_ISCHR(info.st_mode))
        return kino__fail(err, KINO_ARGUMENT, "cannot write a trace to '%s': is a %s", place->path,
                          S_ISBLK(info.st_mode) ? "disk" : "socket");
    if (access(place->path, W_OK) != 0)
        return kino__fail_errno(err, errno, "cannot write '%s'", place->path);
    return KINO_OK;
}

static bool is_systems(const char *folder)
{
    return strcmp(folder, "/dev") == 0 || strcmp(folder, "/proc") == 0 ||
           strncmp(folder, "/proc/", 6) == 0;
}

static kino_status look_at_folder(const char *path, kino_error *err)
{
    char folder[PATH_MAX] = ".", real[PATH_MAX];
    size_t size = path ? strlen(path) : 0;
    while (size > 1 && path[size - 1] == '/') /* "x/" may still have to be made */
        size--;
    while (size > 0 && path[size - 1] != '/')
        size--;
    if (size >= sizeof folder)
        return kino__fail(err, KINO_ARGUMENT, "the path of the output is too long");
    if (size) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    if (realpath(folder, real) && is_systems(real))
        return kino__fail(err, KINO_ARGUMENT,
                          "cannot create a file in '%s': reserved for the system", real);
    if (access(folder, W_OK | X_OK) != 0)
        return kino__fail_errno(err, errno, "cannot write to '%s'", folder);
    return KINO_OK;
}

kino_status kino__place_init(kino__place *out, const char *path, kino_error *err)
{
    *out = (kino__place){.path = path, .fd = -1};
    return path && kino__output_is_special(path) ? look_at_special(out, err)
                                                 : look_at_folder(path, err);
}

kino_status kino__place_look_again(const kino__place *place, kino_error *err)
{
    kino__place again = {.path = place->path, .fd = -1};
    if (!place->is_pipe)
        return KINO_OK;
    kino_status st = open_pipe(&again, err);
    kino__place_deinit(&again);
    return st;
}

void kino__place_deinit(kino__place *place)
{
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
}
