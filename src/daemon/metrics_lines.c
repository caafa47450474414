/* metrics_lines.c - lines of JSON to a file or a pipe whose reader may be slow or gone. */
#include "daemon/metrics_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

enum { KEPT_MOST = 1 << 20 }; /* bytes that wait for the reader */

struct kino__metrics_lines {
    char *path;
    int fd;
    int fd_flags; /* of standard output, which is not ours: given back at the end; -1: ours */
    kino__buffer text;
    size_t sent; /* of text */
    uint64_t dropped;
    bool has_failed;
};

/* Not waiting is a matter of the open file, which others may share (the terminal): so it is opened
 * once more, where that is possible. It is not for sockets. */
static kino_status open_standard(kino__metrics_lines *lines, kino_error *err)
{
    lines->fd = open("/proc/self/fd/1", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (lines->fd < 0) {
        lines->fd = STDOUT_FILENO;
        lines->fd_flags = fcntl(lines->fd, F_GETFL);
        if (lines->fd_flags < 0)
            return kino__fail_errno(err, errno, "cannot write metrics to standard output");
        (void)fcntl(lines->fd, F_SETFL, lines->fd_flags | O_NONBLOCK);
    }
    return KINO_OK;
}

static kino_status open_output(kino__metrics_lines *lines, const char *path, kino_error *err)
{
    if (strcmp(path, "-") == 0)
        return open_standard(lines, err);
    lines->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);
    if (lines->fd < 0 && errno == ENXIO)
        return kino__fail(err, KINO_IO, "cannot write metrics to '%s': the pipe has no reader",
                          path);
    if (lines->fd < 0)
        return kino__fail_errno(err, errno, "cannot write metrics to '%s'", path);
    return KINO_OK;
}

kino_status kino__metrics_lines_open(const char *path, kino__metrics_lines **out, kino_error *err)
{
    *out = NULL;
    kino__metrics_lines *lines = calloc(1, sizeof *lines);
    if (!lines)
        return kino__fail_nomem(err);
    lines->fd = lines->fd_flags = -1;
    lines->path = strdup(path);
    kino_status st = lines->path ? open_output(lines, path, err) : kino__fail_nomem(err);
    if (st != KINO_OK) {
        kino__metrics_lines_close(lines);
        return st;
    }
    *out = lines;
    return KINO_OK;
}

/* Sends what the reader takes now. */
static kino_status flush(kino__metrics_lines *lines, kino_error *err)
{
    while (lines->sent < lines->text.size) {
        ssize_t size =
            write(lines->fd, lines->text.data + lines->sent, lines->text.size - lines->sent);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return KINO_OK;
        if (size < 0)
            return kino__fail_errno(err, errno, "cannot write metrics to '%s'", lines->path);
        lines->sent += (size_t)size;
    }
    lines->text.size = lines->sent = 0;
    return KINO_OK;
}

static void add_line(kino__metrics_lines *lines, const kino__metrics *metrics)
{
    size_t before = lines->text.size;
    if (before - lines->sent > KEPT_MOST) {
        lines->dropped++;
        return;
    }
    if (lines->dropped > 0)
        kino__buffer_printf(&lines->text, "{\"dropped_lines\":%llu}\n",
                            (unsigned long long)lines->dropped);
    kino__metrics_json_line(metrics, &lines->text);
    if (!lines->text.failed) {
        lines->dropped = 0;
        return;
    }
    lines->text.size = before;
    lines->text.failed = false;
    lines->dropped++;
}

kino_status kino__metrics_lines_write(kino__metrics_lines *lines, const kino__metrics *metrics,
                                      kino_error *err)
{
    if (lines->has_failed)
        return KINO_OK;
    if (lines->sent > 0) { /* what is sent already makes room */
        memmove(lines->text.data, lines->text.data + lines->sent, lines->text.size - lines->sent);
        lines->text.size -= lines->sent;
        lines->sent = 0;
    }
    add_line(lines, metrics);
    kino_status st = flush(lines, err);
    lines->has_failed = st != KINO_OK;
    return st;
}

void kino__metrics_lines_close(kino__metrics_lines *lines)
{
    if (!lines)
        return;
    if (lines->fd >= 0 && !lines->has_failed)
        (void)flush(lines, NULL);
    if (lines->fd_flags >= 0)
        (void)fcntl(lines->fd, F_SETFL, lines->fd_flags);
    else if (lines->fd >= 0)
        (void)close(lines->fd);
    kino__buffer_deinit(&lines->text);
    free(lines->path);
    free(lines);
}
