/* sink.c - memory, descriptor and atomic file sinks. */
#include "base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output_file.h"

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
    char *path;             /* for messages */
    kino__output_file file; /* path is NULL when written directly */
} file_sink;

static kino_status file_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    file_sink *self = (file_sink *)sink;
    while (bytes.size) {
        ssize_t n = write(self->fd, bytes.data, bytes.size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return kino__fail_file_errno(err, errno, "write", self->path);
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return KINO_OK;
}

static kino_status file_close(kino__sink *sink, bool commit, kino_error *err)
{
    file_sink *self = (file_sink *)sink;
    kino_status st = KINO_OK;
    if (self->file.path)
        st = kino__output_file_close(&self->file, commit, err);
    else if (self->owns_fd && close(self->fd) != 0 && commit)
        st = kino__fail_file_errno(err, errno, "close", self->path);
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

kino_status kino__file_sink_open(const char *path, kino__sink **out, kino_error *err)
{
    *out = NULL;
    if (strcmp(path, "-") == 0)
        return kino__fd_sink_new(STDOUT_FILENO, "standard output", out, err);
    file_sink *self = new_file_sink(-1, path);
    if (!self)
        return kino__fail_nomem(err);
    kino_status st = KINO_OK;
    if (kino__output_is_special(path)) {
        self->owns_fd = true;
        self->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (self->fd < 0)
            st = kino__fail_file_errno(err, errno, "write", path);
    } else {
        st = kino__output_file_open(path, &self->file, err);
        self->fd = self->file.fd;
    }
    if (st != KINO_OK) {
        free(self->path);
        free(self);
        return st;
    }
    *out = &self->sink;
    return KINO_OK;
}
