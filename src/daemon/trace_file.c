/* trace_file.c - see trace_file.h. */
#include "daemon/trace_file.h"

#include <errno.h>
#include <fcntl.h>
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
        wrong = "it does not begin with '/'";
    else if (path.size > KINO__TRACE_PATH_MAX)
        wrong = "it is too long";
    else if (memchr(path.data, '=', path.size) || memchr(path.data, '#', path.size))
        wrong = "requests cannot have '=' or '#' in it";
    else if (kino__str_contains(path, KINO__STR("..")))
        wrong = "it has '..' in it";
    else if (path.data[path.size - 1] == ' ')
        wrong = "it ends with a blank";
    for (size_t i = 0; i < path.size && !wrong; i++)
        if ((unsigned char)path.data[i] < 0x20 || path.data[i] == 0x7f)
            wrong = "it has a control character in it";
    if (wrong)
        return kino__fail(err, KINO_ARGUMENT, "the path '%.*s' cannot be used: %s",
                          (int)(path.size > 120 ? 120 : path.size), path.data, wrong);
    return KINO_OK;
}

/* The path as the daemon reaches it. false: too long. */
static bool path_for_us(const kino__process_identity *process, kino_str path, char *out,
                        size_t size)
{
    bool is_same =
        process->file_space == 0 || process->file_space == kino__process_own_file_space();
    int length =
        is_same ? snprintf(out, size, "%.*s", (int)path.size, path.data)
                : snprintf(out, size, "/proc/%d/root%.*s", process->pid, (int)path.size, path.data);
    return length > 0 && (size_t)length < size;
}

static kino_str folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (kino_str){path, slash && slash > path ? (size_t)(slash - path) : 1};
}

/* 0, or what is wrong with the folder. */
static int folder_error(const kino__process_identity *process, const char *real)
{
    struct stat info;
    int wrong = 0;
    kino__access_as(process->uid, process->gid);
    if (stat(real, &info) < 0)
        wrong = errno;
    else if (!S_ISDIR(info.st_mode))
        wrong = ENOTDIR;
    else if (syscall(SYS_faccessat2, AT_FDCWD, real, W_OK | X_OK, AT_EACCESS) < 0 &&
             errno != ENOSYS && errno != EPERM && errno != EINVAL)
        wrong = errno;
    kino__access_self();
    return wrong;
}

kino_status kino__trace_folder_check(const kino__process_identity *process, const char *path,
                                     kino_error *err)
{
    char real[KINO__TRACE_PATH_MAX + 64];
    kino_str folder = folder_of(path);
    if (!path_for_us(process, folder, real, sizeof real))
        return kino__fail(err, KINO_ARGUMENT, "the path is too long");
    int wrong = folder_error(process, real);
    if (wrong == 0)
        return KINO_OK;
    int shown = (int)(folder.size > 120 ? 120 : folder.size);
    if (wrong == ENOENT || wrong == ENOTDIR)
        return kino__fail(err, KINO_NOT_FOUND, "there is no folder '%.*s'", shown, folder.data);
    return kino__fail(err, KINO_ARGUMENT, "user %u may not write in '%.*s'", (unsigned)process->uid,
                      shown, folder.data);
}

bool kino__trace_path_is_folder(const kino__process_identity *process, const char *path)
{
    char real[KINO__TRACE_PATH_MAX + 64];
    struct stat info;
    if (!path_for_us(process, kino__str_from(path), real, sizeof real))
        return false;
    kino__access_as(process->uid, process->gid);
    bool is_folder = stat(real, &info) == 0 && S_ISDIR(info.st_mode);
    kino__access_self();
    return is_folder;
}

/* -- is it there? */

static void look(const kino__trace_file *file, const kino__process_identity *process,
                 kino__file_stamp *out)
{
    char real[KINO__TRACE_PATH_MAX + 128];
    struct stat info;
    *out = (kino__file_stamp){.changed_ns = -1};
    if (!path_for_us(process, kino__str_from(file->path), real, sizeof real))
        return;
    kino__access_as(process->uid, process->gid);
    if (lstat(real, &info) == 0 && S_ISREG(info.st_mode)) {
        out->device = (uint64_t)info.st_dev;
        out->number = (uint64_t)info.st_ino;
        out->size = (uint64_t)info.st_size;
        out->changed_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    }
    kino__access_self();
}

bool kino__trace_file_init(kino__trace_file *file, const kino__process_identity *process,
                           const char *path)
{
    *file = (kino__trace_file){.path = strdup(path)};
    if (!file->path)
        return false;
    look(file, process, &file->before);
    file->last = file->before;
    return true;
}

void kino__trace_file_deinit(kino__trace_file *file)
{
    free(file->path);
    *file = (kino__trace_file){0};
}

bool kino__trace_file_look(kino__trace_file *file, const kino__process_identity *process,
                           int64_t *bytes)
{
    kino__file_stamp now;
    if (!file->path)
        return false;
    look(file, process, &now);
    bool is_steady = memcmp(&now, &file->last, sizeof now) == 0;
    bool is_new = now.changed_ns >= 0 && memcmp(&now, &file->before, sizeof now) != 0;
    file->last = now;
    *bytes = (int64_t)now.size;
    return is_new && is_steady;
}
