/* trace_file.c - see trace_file.h. */
#include "daemon/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/access.h"

#ifndef SYS_faccessat2
#    define SYS_faccessat2 439
#endif

kino_status kino__trace_path_check(kino_str path, kino_error *err)
{
    const char *wrong = NULL;
    if (path.size == 0 || path.data[0] != '/')
        wrong = "it is not absolute";
    else if (path.size > KINO__TRACE_PATH_MAX)
        wrong = "it is too long";
    else if (memchr(path.data, '=', path.size) || memchr(path.data, '#', path.size))
        wrong = "it contains '=' or '#'";
    else if (kino__str_contains(path, KINO__STR("..")))
        wrong = "it contains '..'";
    else if (path.data[path.size - 1] == ' ')
        wrong = "it ends with a space";
    for (size_t i = 0; i < path.size && !wrong; i++)
        if ((unsigned char)path.data[i] < 0x20 || path.data[i] == 0x7f)
            wrong = "it contains a control character";
    if (wrong)
        return kino__fail(err, KINO_ARGUMENT, "invalid path '%.*s': %s",
                          (int)(path.size > 120 ? 120 : path.size), path.data, wrong);
    return KINO_OK;
}

static bool is_same_world(const kino__process_identity *process)
{
    return process->file_space == 0 || process->file_space == kino__process_own_file_space();
}

/* What a process of another world has at a path, to be looked at only; -1: nothing, and errno.
 * Links lead to where they lead for the process, never out of its root. */
static int open_in_world(const kino__process_identity *process, const char *path, int flags)
{
    const struct open_how how = {.flags = (unsigned)(O_PATH | O_CLOEXEC | flags),
                                 .resolve = RESOLVE_IN_ROOT};
    char root[48];
    (void)snprintf(root, sizeof root, "/proc/%d/root", process->pid);
    int world = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (world < 0)
        return -1;
    int fd = (int)syscall(SYS_openat2, world, path, &how, sizeof how);
    /* Linux before 5.6, or a filter: links with a '/' in front are not found then. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(world, path + (path[0] == '/' && path[1]), (int)how.flags | O_NOFOLLOW);
    int wrong = errno;
    (void)close(world);
    errno = wrong;
    return fd;
}

static bool stat_seen(const kino__process_identity *process, const char *path, int flags,
                      struct stat *out)
{
    if (is_same_world(process))
        return fstatat(AT_FDCWD, path, out, flags) == 0;
    int fd = open_in_world(process, path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0);
    bool done = fd >= 0 && fstat(fd, out) == 0;
    if (fd >= 0)
        (void)close(fd);
    return done;
}

static bool may_write(const kino__process_identity *process, const char *path)
{
    int fd = is_same_world(process) ? AT_FDCWD : open_in_world(process, path, 0);
    long done = syscall(SYS_faccessat2, fd, fd >= 0 ? "" : path, W_OK | X_OK,
                        AT_EACCESS | (fd >= 0 ? AT_EMPTY_PATH : 0));
    /* Where the question itself is not known, the process will see. */
    bool may = done == 0 || errno == ENOSYS || errno == EPERM || errno == EINVAL;
    if (fd >= 0)
        (void)close(fd);
    return may;
}

static kino_str folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (kino_str){path, slash && slash > path ? (size_t)(slash - path) : 1};
}

static int access_error(const kino__process_identity *process, const char *path)
{
    struct stat info;
    if (!stat_seen(process, path, 0, &info))
        return errno;
    if (!S_ISDIR(info.st_mode))
        return ENOTDIR;
    return may_write(process, path) ? 0 : EACCES;
}

/* 0, or what is wrong with the folder. */
static int folder_error(const kino__process_identity *process, const char *path)
{
    bool is_taken = kino__access_as(process->uid, process->gid);
    int wrong = is_taken ? access_error(process, path) : EPERM;
    if (wrong == EACCES && kino__access_with_groups(process->pid))
        wrong = access_error(process, path);
    kino__access_self();
    return wrong;
}

kino_status kino__trace_folder_check(const kino__process_identity *process, const char *path,
                                     kino_error *err)
{
    char text[KINO__TRACE_PATH_MAX + 64];
    kino_str folder = folder_of(path);
    if (folder.size >= sizeof text)
        return kino__fail(err, KINO_ARGUMENT, "path too long");
    memcpy(text, folder.data, folder.size);
    text[folder.size] = '\0';
    int wrong = folder_error(process, text);
    if (wrong == 0)
        return KINO_OK;
    int shown = (int)(folder.size > 120 ? 120 : folder.size);
    if (wrong == ENOENT || wrong == ENOTDIR)
        return kino__fail(err, KINO_NOT_FOUND, "no such directory: '%.*s'", shown, folder.data);
    return kino__fail(err, KINO_ARGUMENT, "user %u cannot write to '%.*s'", (unsigned)process->uid,
                      shown, folder.data);
}

/* lstat or stat, as the process sees it. */
static bool stat_as(const kino__process_identity *process, const char *path, int flags,
                    struct stat *out)
{
    bool is_taken = kino__access_as(process->uid, process->gid);
    bool done = is_taken && stat_seen(process, path, flags, out);
    if (is_taken && !done && errno == EACCES && kino__access_with_groups(process->pid))
        done = stat_seen(process, path, flags, out);
    kino__access_self();
    return done;
}

bool kino__trace_path_is_folder(const kino__process_identity *process, const char *path)
{
    struct stat info;
    return stat_as(process, path, 0, &info) && S_ISDIR(info.st_mode);
}

/* -- is it there? */

static void look(const kino__trace_file *file, const kino__process_identity *process,
                 kino__file_stamp *out)
{
    struct stat info;
    *out = (kino__file_stamp){.changed_ns = -1};
    if (stat_as(process, file->path, AT_SYMLINK_NOFOLLOW, &info) && S_ISREG(info.st_mode)) {
        out->device = (uint64_t)info.st_dev;
        out->number = (uint64_t)info.st_ino;
        out->size = (uint64_t)info.st_size;
        out->changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    }
}

bool kino__trace_file_init(kino__trace_file *file, const kino__process_identity *process,
                           const char *path)
{
    *file = (kino__trace_file){.path = strdup(path)};
    kino__trace_file_restart(file, process);
    return file->path != NULL;
}

void kino__trace_file_restart(kino__trace_file *file, const kino__process_identity *process)
{
    if (file->path)
        look(file, process, &file->before);
    file->last = file->before;
}

void kino__trace_file_deinit(kino__trace_file *file)
{
    free(file->path);
    *file = (kino__trace_file){0};
}

kino__trace_file_state kino__trace_file_look(kino__trace_file *file,
                                             const kino__process_identity *process)
{
    kino__file_stamp now;
    if (!file->path)
        return KINO__TRACE_FILE_ABSENT;
    look(file, process, &now);
    bool is_steady = memcmp(&now, &file->last, sizeof now) == 0;
    bool is_new = now.changed_ns >= 0 && memcmp(&now, &file->before, sizeof now) != 0;
    file->last = now;
    if (!is_new)
        return KINO__TRACE_FILE_ABSENT;
    return is_steady ? KINO__TRACE_FILE_WHOLE : KINO__TRACE_FILE_GROWING;
}

/* Its folder, with the rights of now; -1: it cannot be opened. */
static int open_folder(const kino__process_identity *process, const char *path)
{
    char text[KINO__TRACE_PATH_MAX + 64];
    kino_str folder = folder_of(path);
    if (folder.size >= sizeof text)
        return -1;
    memcpy(text, folder.data, folder.size);
    text[folder.size] = '\0';
    return is_same_world(process) ? open(text, O_PATH | O_DIRECTORY | O_CLOEXEC)
                                  : open_in_world(process, text, O_DIRECTORY);
}

bool kino__trace_file_watch(kino__trace_file *file, const kino__process_identity *process,
                            kino__file_watches *watches, void *item)
{
    if (!file->path)
        return true;
    bool is_watched = false;
    bool is_taken = kino__access_as(process->uid, process->gid);
    if (is_taken)
        (void)kino__access_with_groups(process->pid);
    int folder = is_taken ? open_folder(process, file->path) : -1;
    if (folder >= 0)
        is_watched =
            kino__file_watch_add(watches, &file->watch, folder, strrchr(file->path, '/') + 1, item);
    kino__access_self();
    if (folder >= 0)
        (void)close(folder);
    return is_watched;
}
