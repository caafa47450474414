/* sink.c - memory, descriptor and atomic file sinks. */
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

typedef struct memory_sink {
    kino__sink sink;
    kino__buffer *buffer;
} memory_sink;

static kino_status memory_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    memory_sink *self = (memory_sink *)sink;
    kino__buffer_add(self->buffer, bytes);
    return self->buffer->failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status memory_close(kino__sink *sink, bool commit, kino_error *err)
{
    (void)commit;
    (void)err;
    free(sink);
    return KINO_OK;
}

kino_status kino__memory_sink_new(kino__buffer *buffer, kino__sink **out, kino_error *err)
{
    *out = NULL;
    memory_sink *self = malloc(sizeof *self);
    if (!self)
        return kino__fail_nomem(err);
    *self = (memory_sink){{memory_write, memory_close}, buffer};
    *out = &self->sink;
    return KINO_OK;
}

typedef struct file_sink {
    kino__sink sink;
    int fd;
    bool owns_fd;
    char *path;      /* final name, or the label of a descriptor */
    char *temporary; /* NULL when written directly */
} file_sink;

static kino_status file_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    file_sink *self = (file_sink *)sink;
    while (bytes.size) {
        ssize_t n = write(self->fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kino__fail_errno(err, errno, "cannot write '%s'", self->path);
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return KINO_OK;
}

static kino_status file_close(kino__sink *sink, bool commit, kino_error *err)
{
    file_sink *self = (file_sink *)sink;
    kino_status st = KINO_OK;
    if (self->temporary && commit && fsync(self->fd) != 0)
        st = kino__fail_errno(err, errno, "cannot sync '%s'", self->path);
    if (self->owns_fd && close(self->fd) != 0 && commit && st == KINO_OK)
        st = kino__fail_errno(err, errno, "cannot close '%s'", self->path);
    if (self->temporary) {
        if (commit && st == KINO_OK && rename(self->temporary, self->path) != 0)
            st = kino__fail_errno(err, errno, "cannot rename '%s' to '%s'", self->temporary,
                                  self->path);
        if (!commit || st != KINO_OK)
            (void)unlink(self->temporary);
    }
    free(self->temporary);
    free(self->path);
    free(self);
    return st;
}

static file_sink *new_file_sink(int fd, const char *label)
{
    file_sink *self = calloc(1, sizeof *self);
    char *path = strdup(label);
    if (!self || !path) {
        free(self);
        free(path);
        return NULL;
    }
    self->sink = (kino__sink){file_write, file_close};
    self->fd = fd;
    self->path = path;
    return self;
}

kino_status kino__fd_sink_new(int fd, const char *label, kino__sink **out, kino_error *err)
{
    *out = NULL;
    file_sink *self = new_file_sink(fd, label);
    if (!self)
        return kino__fail_nomem(err);
    *out = &self->sink;
    return KINO_OK;
}

static bool is_special(const char *path)
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

kino_status kino__file_sink_open(const char *path, kino__sink **out, kino_error *err)
{
    *out = NULL;
    if (strcmp(path, "-") == 0)
        return kino__fd_sink_new(STDOUT_FILENO, "standard output", out, err);
    bool direct = is_special(path);
    file_sink *self = new_file_sink(-1, path);
    size_t length = strlen(path) + sizeof ".tmp.XXXXXX";
    char *temporary = direct ? NULL : malloc(length);
    if (!self || (!direct && !temporary)) {
        if (self)
            free(self->path);
        free(self);
        free(temporary);
        return kino__fail_nomem(err);
    }
    if (direct) {
        self->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        (void)snprintf(temporary, length, "%s.tmp.XXXXXX", path); /* length was made for it */
        self->fd = mkostemp(temporary, O_CLOEXEC);
    }
    if (self->fd < 0) {
        kino_status st = kino__fail_errno(err, errno, "cannot write '%s'", path);
        free(temporary);
        free(self->path);
        free(self);
        return st;
    }
    if (!direct)
        apply_umask(self->fd);
    self->owns_fd = true;
    self->temporary = temporary;
    *out = &self->sink;
    return KINO_OK;
}
