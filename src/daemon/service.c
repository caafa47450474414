/* service.c - the protocol of sd_notify(3): a datagram to the socket in NOTIFY_SOCKET. */
#include "daemon/service.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody changes it */
    return value ? value : "";
}

void kino__service_notify(const char *lines)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = variable("NOTIFY_SOCKET");
    size_t size = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || size >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, size);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    (void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT,
                 (const struct sockaddr *)&address, length);
    (void)close(fd);
}

int64_t kino__service_watchdog_ns(void)
{
    int64_t us = 0, pid = 0;
    const char *whom = variable("WATCHDOG_PID");
    if (whom[0] && (!kino__str_to_int(kino__str_from(whom), &pid) || pid != getpid()))
        return 0;
    if (!kino__str_to_int(kino__str_from(variable("WATCHDOG_USEC")), &us) || us <= 0 ||
        us > INT64_MAX / 1000)
        return 0;
    return us * 1000;
}
