/* listen.c - the socket that the server listens on. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hint.h"
#include "server/server_internal.h"

/* A socket that listens; the port it has got in *port. */
static kino_status listen_on(const char *host, unsigned *port, int *out, kino_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[16];
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    (void)snprintf(service, sizeof service, "%u", *port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc != 0)
        return kino__fail(err, KINO_ARGUMENT, "cannot listen on '%s': %s", host, gai_strerror(rc));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    bool good = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                listen(fd, SOMAXCONN) == 0 &&
                getsockname(fd, (struct sockaddr *)&bound, &size) == 0;
    int why = errno;
    freeaddrinfo(found);
    if (!good) {
        if (fd >= 0)
            (void)close(fd);
        if (why == EADDRINUSE)
            return kino__fail_hint(
                err, KINO_IO, kino__hint(KINO_HINT_OPTION, "port", ""),
                "cannot listen on %s port %u: port in use; choose another with " KINO__HERE
                ", or 0 for any free port",
                host, *port);
        return kino__fail_errno(err, why, "cannot listen on %s port %u", host, *port);
    }
    if (getnameinfo((struct sockaddr *)&bound, size, NULL, 0, service, sizeof service,
                    NI_NUMERICSERV) == 0)
        *port = (unsigned)strtoul(service, NULL, 10);
    *out = fd;
    return KINO_OK;
}

kino_status kino__http_listen(kino__server *server, kino_error *err)
{
    return listen_on(server->host, &server->port, &server->listener, err);
}
