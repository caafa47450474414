/* client.c - finding a daemon, and calls to it. See client.h. */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_out.h"
#include "daemon/access.h"
#include "daemon/settings.h"

enum {
    ANSWER_MOST = 64 << 20, /* more than all that the daemon remembers, as a trace */
    VALUES_MOST = 1 << 20,  /* in it: 65,536 processes with all that is said of each */
    FIRST_READ = 1 << 16,   /* memory is taken as it comes, not as a length promises */
};

/* -- waiting -- */

/* Waits for the descriptor; false when the time is over. */
static bool wait_ready(int fd, short events, int64_t end_ms)
{
    for (;;) {
        int64_t left = end_ms - kino__clock_ms(CLOCK_MONOTONIC);
        struct pollfd item = {.fd = fd, .events = events};
        int ready = poll(&item, 1, left > 0 ? (int)left : 0);
        if (ready > 0)
            return true;
        if (left <= 0 || (ready < 0 && errno != EINTR))
            return false;
    }
}

/* -- places -- */

/* The usual places of the daemon's socket for this user, best first: the n-th in `path` ("": there
 * is none); false at the end. */
static bool socket_place(size_t index, char path[108])
{
    const char *named;
    path[0] = 0;
    switch (index) {
    case 0:
        named = getenv("KINO_DAEMON_SOCKET"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
        (void)snprintf(path, 108, "%s", named ? named : "");
        return true;
    case 1: /* a daemon of the user's own, before that of the machine */
        if (geteuid() != 0)
            kino__settings_default_socket(path, 108);
        return true;
    case 2:
        (void)snprintf(path, 108, "/run/kino/daemon.sock");
        return true;
    default:
        return false;
    }
}

/* -- connections -- */

/* Connects without waiting longer than until end_ms; a descriptor, or -errno. */
static int connect_until(int fd, const struct sockaddr *address, socklen_t size, int64_t end_ms)
{
    int error = connect(fd, address, size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
        socklen_t length = sizeof error;
        if (!wait_ready(fd, POLLOUT, end_ms))
            error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
            error = errno;
    }
    if (error == 0)
        return fd;
    close(fd);
    return -error;
}

static int connect_unix(const char *path, int64_t end_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    return connect_until(fd, (const struct sockaddr *)&address, sizeof address, end_ms);
}

static int connect_tcp(const char *host, const char *port, int64_t end_ms, kino_error *err)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed) {
        (void)kino__fail(err, KINO_NOT_FOUND, "cannot resolve host '%s': %s", host,
                         gai_strerror(failed));
        return -ENOENT;
    }
    int fd = -ECONNREFUSED;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        int one = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        fd = one < 0 ? -errno : connect_until(one, a->ai_addr, a->ai_addrlen, end_ms);
    }
    freeaddrinfo(found);
    if (fd < 0)
        (void)kino__fail_errno(err, -fd, "cannot connect to %s:%s", host, port);
    return fd;
}

/* A socket in a folder that others can write to may be somebody else's: only root's and our own
 * daemon is believed. */
static bool is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

uid_t kino__client_limit(const kino__client *client)
{
    return is_trusted(client->uid) ? (uid_t)-1 : client->uid;
}

static int connect_client(const kino__client *client, int64_t end_ms, kino_error *err)
{
    if (!client->socket[0])
        return connect_tcp(client->host, client->port, end_ms, err);
    int fd = connect_unix(client->socket, end_ms);
    if (fd < 0)
        (void)kino__fail_errno(err, -fd, "cannot connect to '%s'", client->socket);
    return fd;
}

/* -- frames -- */

static kino_status send_all(int fd, const char *data, size_t size, int64_t end_ms,
                            const char *place, kino_error *err)
{
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return kino__fail_errno(err, errno, "cannot write to the daemon at %s", place);
        if (sent < 0 && errno == EAGAIN && !wait_ready(fd, POLLOUT, end_ms))
            return kino__fail(err, KINO_IO, "the daemon at %s does not accept requests", place);
        if (sent > 0) {
            data += sent;
            size -= (size_t)sent;
        }
    }
    return KINO_OK;
}

/* Reads until `size` bytes are in the buffer. *is_end: the other side closed before. */
static kino_status read_until(int fd, kino__buffer *buffer, size_t size, int64_t end_ms,
                              const char *place, bool *is_end, kino_error *err)
{
    *is_end = false;
    while (buffer->size < size) {
        size_t want = size - buffer->size;
        want = want < FIRST_READ ? want : FIRST_READ;
        char *room = kino__buffer_reserve(buffer, want);
        if (!room)
            return kino__fail_nomem(err);
        ssize_t got = recv(fd, room, want, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            *is_end = true;
            return KINO_OK;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return kino__fail_errno(err, errno, "cannot read from the daemon at %s", place);
        if (got < 0 && errno == EAGAIN && !wait_ready(fd, POLLIN, end_ms))
            return kino__fail(err, KINO_IO, "the daemon at %s does not answer", place);
        buffer->size += got > 0 ? (size_t)got : 0;
    }
    return KINO_OK;
}

/* One frame in `body`; empty with *is_end when there was none. */
static kino_status read_frame(int fd, kino__buffer *body, int64_t end_ms, const char *place,
                              bool *is_end, kino_error *err)
{
    int32_t length = 0;
    KINO_TRY(read_until(fd, body, sizeof length, end_ms, place, is_end, err));
    if (*is_end)
        return KINO_OK;
    memcpy(&length, body->data, sizeof length);
    body->size = 0;
    if (length <= 0 || length > ANSWER_MOST)
        return kino__fail(err, KINO_FORMAT,
                          "%s is not a Kino or Dynolog daemon: invalid answer of %" PRId32 " bytes",
                          place, length);
    KINO_TRY(read_until(fd, body, (size_t)length, end_ms, place, is_end, err));
    if (*is_end)
        return kino__fail(err, KINO_IO, "unexpected end of the answer from the daemon at %s",
                          place);
    return KINO_OK;
}

/* Sends a request and reads what comes back; *is_end: the daemon closed without a word. */
static kino_status exchange(const kino__client *client, kino_str request, kino__buffer *body,
                            bool *is_end, kino_error *err)
{
    *is_end = false;
    int64_t end_ms = kino__clock_ms(CLOCK_MONOTONIC) + client->timeout_ms;
    int fd = connect_client(client, end_ms, err);
    if (fd < 0)
        return KINO_NOT_FOUND;
    kino__buffer frame = {0};
    int32_t length = (int32_t)request.size;
    kino__buffer_add(&frame, (kino_str){(const char *)&length, sizeof length});
    kino__buffer_add(&frame, request);
    kino_status st = frame.failed
                         ? kino__fail_nomem(err)
                         : send_all(fd, frame.data, frame.size, end_ms, client->place, err);
    if (st == KINO_OK)
        st = read_frame(fd, body, end_ms, client->place, is_end, err);
    kino__buffer_deinit(&frame);
    close(fd);
    return st;
}

/* -- calls -- */

/* An answer {"status": "error", "error": TEXT}, or Dynolog's {"status": "failed..."}. */
static kino_status check_status(const kino__json_in *root, kino_error *err)
{
    kino_str status, text;
    if (!kino__json_in_get_text(root, "status", &status))
        return KINO_OK;
    if (kino__str_is(status, "error"))
        return kino__fail(
            err, KINO_ARGUMENT, "%.*s",
            KINO__STR_ARG(
                kino__json_in_get_text(root, "error", &text)
                    ? text
                    : KINO__STR("the daemon refused the request without giving a reason")));
    if (kino__str_starts_with(status, KINO__STR("failed")))
        return kino__fail(err, KINO_ARGUMENT, "the daemon refused the request: %.*s",
                          KINO__STR_ARG(status));
    return KINO_OK;
}

static kino_status parse_answer(const kino__client *client, kino_str body, kino__client_answer *out,
                                kino_error *err)
{
    const kino__json_in_limits limits = {.size = ANSWER_MOST, .depth = 32, .values = VALUES_MOST};
    kino__arena_init(&out->arena, NULL);
    kino_status st = kino__json_in_parse(body, &limits, &out->arena, &out->root, err);
    if (st == KINO_FORMAT || (st == KINO_OK && out->root->kind != KINO__JSON_IN_OBJECT))
        st =
            kino__fail(err, KINO_FORMAT,
                       "%s is not a Kino or Dynolog daemon: its answer is not JSON", client->place);
    if (st == KINO_OK)
        st = check_status(out->root, err);
    if (st != KINO_OK)
        kino__client_answer_deinit(out);
    return st;
}

kino_status kino__client_call(const kino__client *client, kino_str request,
                              kino__client_answer *out, kino_error *err)
{
    *out = (kino__client_answer){0};
    kino__error_clear(err);
    kino__buffer body = {0};
    bool is_end = false;
    kino_status st = exchange(client, request, &body, &is_end, err);
    if (st == KINO_OK && is_end)
        st = kino__fail(err, KINO_ARGUMENT,
                        "the daemon at %s rejected the request without giving a reason",
                        client->place);
    if (st == KINO_OK)
        st = parse_answer(client, kino__buffer_str(&body), out, err);
    kino__buffer_deinit(&body);
    return st;
}

void kino__client_answer_deinit(kino__client_answer *answer)
{
    kino__arena_deinit(&answer->arena);
    answer->root = NULL;
}

kino_status kino__client_ask(const kino__client *client, const char *function,
                             kino__client_answer *out, kino_error *err)
{
    kino__buffer request = {0};
    kino__json json = {.out = &request};
    kino__json_begin_object(&json);
    kino__json_key(&json, "fn");
    kino__json_text(&json, function);
    kino__json_end_object(&json);
    kino_status st = request.failed
                         ? kino__fail_nomem(err)
                         : kino__client_call(client, kino__buffer_str(&request), out, err);
    kino__buffer_deinit(&request);
    return st;
}

/* -- finding one -- */

/* Ours by a socket. KINO_NOT_FOUND: nobody listens there. */
static kino_status try_socket(kino__client *client, const char *path, bool is_named,
                              kino_error *err)
{
    int fd = connect_unix(path, kino__clock_ms(CLOCK_MONOTONIC) + client->timeout_ms);
    if (fd == -EACCES)
        return kino__fail(err, KINO_ARGUMENT, "no permission to use the daemon's socket '%s'",
                          path);
    if (fd < 0) {
        (void)kino__fail_errno(err, -fd, "cannot connect to '%s'", path);
        return KINO_NOT_FOUND;
    }
    client->uid = kino__access_unix_peer(fd);
    close(fd);
    bool is_good = is_named || is_trusted(client->uid);
    if (!is_good)
        return kino__fail(
            err, KINO_ARGUMENT,
            "socket '%s' belongs to another user; specify it with --socket if you trust it", path);
    (void)snprintf(client->socket, sizeof client->socket, "%s", path);
    (void)snprintf(client->place, sizeof client->place, "%s", path);
    client->kind = KINO__CLIENT_KINO;
    client->is_local = true;
    return KINO_OK;
}

static bool is_this_machine(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
           strncmp(host, "127.", 4) == 0;
}

/* What listens on a port: all answer to getVersion; ours knows more functions. */
static kino_status try_port(kino__client *client, kino_error *err)
{
    (void)snprintf(client->place, sizeof client->place, "%s:%s", client->host, client->port);
    client->socket[0] = 0;
    client->is_local = is_this_machine(client->host);
    client->kind = KINO__CLIENT_DYNOLOG;
    client->uid = KINO__NOBODY;
    kino__client_answer answer;
    KINO_TRY(kino__client_ask(client, "getVersion", &answer, err));
    kino_str version = {"", 0};
    (void)kino__json_in_get_text(answer.root, "version", &version);
    (void)snprintf(client->version, sizeof client->version, "%.*s", KINO__STR_ARG(version));
    kino__client_answer_deinit(&answer);
    return KINO_OK;
}

static kino_status nobody(const kino__client *client, kino_error *err)
{
    char path[108];
    kino__buffer places = {0};
    for (size_t i = 0; socket_place(i, path); i++)
        if (path[0])
            kino__buffer_printf(&places, "%s, ", path);
    (void)kino__fail(err, KINO_NOT_FOUND,
                     "no daemon found (tried %.*sport %s). Start one with 'kino daemon', then "
                     "start programs with KINETO_USE_DAEMON=1",
                     KINO__STR_ARG(kino__buffer_str(&places)), client->port);
    kino__buffer_deinit(&places);
    return KINO_NOT_FOUND;
}

kino_status kino__client_open(kino__client *out, const kino__client_where *where, kino_error *err)
{
    kino__error_clear(err);
    *out = (kino__client){.host = where->host ? where->host : "localhost",
                          .timeout_ms =
                              where->timeout_ms ? where->timeout_ms : KINO__CLIENT_TIMEOUT_MS};
    (void)snprintf(out->port, sizeof out->port, "%u",
                   where->port ? where->port : KINO__CLIENT_PORT);
    if (where->socket) {
        kino_status st = try_socket(out, where->socket, true, err);
        if (st == KINO_NOT_FOUND)
            (void)kino__fail(
                err, KINO_NOT_FOUND,
                "no daemon is running at '%s'. Start one with 'kino daemon --socket %s'",
                where->socket, where->socket);
        return st;
    }
    char path[108];
    for (size_t i = 0; !where->host && !where->port && socket_place(i, path); i++) {
        kino_status st = path[0] ? try_socket(out, path, i == 0, err) : KINO_NOT_FOUND;
        if (st != KINO_NOT_FOUND)
            return st;
    }
    kino_status st = try_port(out, err);
    if (st != KINO_NOT_FOUND)
        return st;
    if (!where->host && !where->port)
        return nobody(out, err);
    char reason[sizeof err->message] = "";
    (void)snprintf(reason, sizeof reason, "%s", err ? err->message : "");
    return kino__fail(err, KINO_NOT_FOUND,
                      "%s. Is a daemon running there ('kino daemon', or 'dynolog "
                      "--enable_ipc_monitor')?",
                      reason);
}
