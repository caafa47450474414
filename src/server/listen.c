/* listen.c - the socket that the server listens on: a port of an address, or a file. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

/* Nobody listens at this path any more, and it is ours: a server that was killed left it. */
static bool is_stale(const struct sockaddr_un *address)
{
    struct stat info;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_refused = fd >= 0 &&
                      connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                      errno == ECONNREFUSED;
    if (fd >= 0)
        (void)close(fd);
    return is_refused && lstat(address->sun_path, &info) == 0 && S_ISSOCK(info.st_mode) &&
           info.st_uid == geteuid();
}

/* A unix socket that only its owner may connect to, from its first moment: the file gets the mode
 * that the socket has before it is bound. */
static kino_status listen_at(const char *path, kino__server *server, kino_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path)
        return kino__fail(err, KINO_ARGUMENT, "the path '%s' is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_stale(&address))
        (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0 &&
                bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    if (good && lstat(path, &info) == 0) {
        server->socket_file = (kino__socket_file){path, info.st_dev, info.st_ino};
        good = (info.st_mode & 0777) == (S_IRUSR | S_IWUSR) && listen(fd, SOMAXCONN) == 0;
        why = EPERM;
    }
    if (!good && fd >= 0)
        (void)close(fd);
    if (!good)
        return kino__fail_errno(err, why, "cannot listen at '%s'", path);
    server->listener = fd;
    return KINO_OK;
}

kino_status kino__http_listen(kino__server *server, kino_error *err)
{
    if (server->options.socket)
        return listen_at(server->options.socket, server, err);
    return listen_on(server->host, &server->port, &server->listener, err);
}

void kino__http_unlisten(kino__server *server)
{
    const kino__socket_file *file = &server->socket_file;
    struct stat info;
    if (file->path && lstat(file->path, &info) == 0 && info.st_dev == file->device &&
        info.st_ino == file->number)
        (void)unlink(file->path);
    server->socket_file.path = NULL;
}
