/* perf_reason.c - why the kernel refuses to count, in words that help: the errno of
 * perf_event_open is the same for a setting, a container and a missing right. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "record/perf_internal.h"

int64_t kino__perf_setting(const char *name, int64_t missing)
{
    char path[128], text[32];
    (void)snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return missing;
    ssize_t size = read(fd, text, sizeof text);
    (void)close(fd);
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
        size--;
    int64_t value;
    return size > 0 && kino__str_to_int((kino_str){text, (size_t)size}, &value) ? value : missing;
}

kino_status kino__perf_refused(int error, size_t cpu_count, bool all, kino_error *err)
{
    const char *what = all ? "system-wide scheduling is not recorded: " : "";
    int64_t paranoid = kino__perf_setting("perf_event_paranoid", INT64_MIN);
    int64_t most = all ? 0 : 2;
    switch (error) {
    case EACCES:
    case EPERM:
        if (paranoid > most)
            return kino__fail(err, KINO_UNAVAILABLE,
                              "%skernel.perf_event_paranoid is %" PRId64
                              "; run `sysctl kernel.perf_event_paranoid=%" PRId64
                              "` as root (or use CAP_PERFMON)",
                              what, paranoid, most);
        return kino__fail(
            err, KINO_UNAVAILABLE,
            "%sperf_event_open is allowed by kernel.perf_event_paranoid but blocked by a "
            "container's seccomp filter or a security module (Docker: --cap-add PERFMON)",
            what);
    case ENOSYS:
        return kino__fail(
            err, KINO_UNAVAILABLE,
            "%sperf_event_open is not available in this kernel, sandbox or seccomp filter", what);
    case EMFILE:
    case ENFILE:
        return kino__fail(err, KINO_UNAVAILABLE,
                          "%stoo few file descriptors for %zu processors; raise `ulimit -n` to %zu",
                          what, cpu_count, 64 + 6 * cpu_count);
    case ESRCH:
        return kino__fail(err, KINO_UNAVAILABLE, "%sthe program has already exited", what);
    default:
        return kino__fail_errno(err, error, "%sperf_event_open failed", what);
    }
}
