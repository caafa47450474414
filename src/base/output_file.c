/* output_file.c - a file that appears only when it is whole. */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapped.h"

bool kino__output_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool kino__is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A file made by mkostemp is 0600; an output file gets what open(2) would have given it. */
static void apply_umask(int fd)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
}

/* "/proc/self/fd/N": how a file without a name is named to the kernel. */
typedef struct fd_path {
    char text[32];
} fd_path;

static fd_path path_of(int fd)
{
    fd_path path;
    (void)snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

/* A file without a name in the folder of the path; -1 where there is no such thing. */
static int open_nameless(const char *path)
{
    char *folder = strdup(path);
    if (!folder)
        return -1;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    int fd = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (fd >= 0 && access(path_of(fd).text, F_OK) != 0) { /* it could never get a name */
        close(fd);
        fd = -1;
    }
    return fd;
}

static char *temporary_name(const char *path)
{
    size_t length = strlen(path) + sizeof ".tmp.XXXXXX";
    char *name = malloc(length);
    if (name)
        (void)snprintf(name, length, "%s.tmp.XXXXXX", path); /* length was made for it */
    return name;
}

kino_status kino__output_file_open_named(const char *path, kino__output_file *out, kino_error *err)
{
    *out = (kino__output_file){.fd = -1};
    char *copy = strdup(path);
    char *temporary = temporary_name(path);
    if (!copy || !temporary) {
        free(copy);
        free(temporary);
        return kino__fail_nomem(err);
    }
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        kino_status st = kino__fail_file_errno(err, errno, "write", path);
        free(copy);
        free(temporary);
        return st;
    }
    apply_umask(fd);
    *out = (kino__output_file){.fd = fd, .temporary = temporary, .path = copy};
    return KINO_OK;
}

kino_status kino__output_file_open(const char *path, kino__output_file *out, kino_error *err)
{
    int fd = open_nameless(path);
    if (fd < 0)
        return kino__output_file_open_named(path, out, err);
    *out = (kino__output_file){.fd = fd, .path = strdup(path)};
    if (out->path)
        return KINO_OK;
    close(fd);
    *out = (kino__output_file){.fd = -1};
    return kino__fail_nomem(err);
}

/* Gives the file its name. What has that name already is replaced in one step: by way of a second
 * name, which the file has for that moment only. */
static bool give_name(kino__output_file *file)
{
    if (!file->temporary) {
        fd_path from = path_of(file->fd);
        if (linkat(AT_FDCWD, from.text, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0)
            return true;
        if (errno != EEXIST)
            return false;
        file->temporary = temporary_name(file->path);
        int reserved = file->temporary ? mkostemp(file->temporary, O_CLOEXEC) : -1;
        if (reserved < 0)
            return false;
        close(reserved);
        if (unlink(file->temporary) != 0 ||
            linkat(AT_FDCWD, from.text, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) != 0)
            return false;
    }
    return rename(file->temporary, file->path) == 0;
}

kino_status kino__output_file_close(kino__output_file *file, bool commit, kino_error *err)
{
    /* What was made from a file that shrank meanwhile is not an answer. */
    kino_status st = commit ? kino__mapped_check(err) : KINO_OK;
    if (commit && st == KINO_OK && fsync(file->fd) != 0)
        st = kino__fail_file_errno(err, errno, "sync", file->path);
    if (commit && st == KINO_OK && !give_name(file))
        st = kino__fail_file_errno(err, errno, "create", file->path);
    bool is_named = commit && st == KINO_OK;
    if (close(file->fd) != 0 && is_named)
        st = kino__fail_file_errno(err, errno, "close", file->path);
    if (!is_named && file->temporary)
        (void)unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (kino__output_file){.fd = -1};
    return st;
}
