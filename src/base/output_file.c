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

bool kino__output_is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* A file made by mkostemp is 0600; an output file gets what open(2) would have given it. */
static void apply_umask(int fd)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
}

kino_status kino__output_file_open(const char *path, kino__output_file *out, kino_error *err)
{
    *out = (kino__output_file){.fd = -1};
    size_t length = strlen(path) + sizeof ".tmp.XXXXXX";
    char *copy = strdup(path);
    char *temporary = malloc(length);
    if (!copy || !temporary) {
        free(copy);
        free(temporary);
        return kino__fail_nomem(err);
    }
    (void)snprintf(temporary, length, "%s.tmp.XXXXXX", path); /* length was made for it */
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        kino_status st = kino__fail_errno(err, errno, "cannot write '%s'", path);
        free(copy);
        free(temporary);
        return st;
    }
    apply_umask(fd);
    *out = (kino__output_file){.fd = fd, .temporary = temporary, .path = copy};
    return KINO_OK;
}

kino_status kino__output_file_close(kino__output_file *file, bool commit, kino_error *err)
{
    kino_status st = KINO_OK;
    if (commit && fsync(file->fd) != 0)
        st = kino__fail_errno(err, errno, "cannot sync '%s'", file->path);
    if (close(file->fd) != 0 && commit && st == KINO_OK)
        st = kino__fail_errno(err, errno, "cannot close '%s'", file->path);
    if (commit && st == KINO_OK && rename(file->temporary, file->path) != 0)
        st =
            kino__fail_errno(err, errno, "cannot rename '%s' to '%s'", file->temporary, file->path);
    if (!commit || st != KINO_OK)
        (void)unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (kino__output_file){.fd = -1};
    return st;
}
