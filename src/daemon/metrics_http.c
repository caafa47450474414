/* metrics_http.c - a minimal HTTP/1.1 responder for /metrics.
 *
 *   reading the head --> sending the answer --> waiting for the client to hang up --> closed
 *
 * One request per connection, the head within HEAD_MOST bytes and within TIME_MOST; the answer
 * is made at once and sent as the client takes it, within TIME_MOST as well. At most
 * CONNECTIONS_MOST at a time: when all are taken, the oldest makes room, so that silent clients
 * cannot shut others out. */
#include "daemon/metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/http_access.h"
#include "daemon/access.h"

enum { HEAD_MOST = 4096, CONNECTIONS_MOST = 32 };
static const int64_t time_most_ns = 10000000000, linger_ns = 1000000000, tick_ns = 1000000000;

typedef enum phase { READING, SENDING, LINGERING } phase;

typedef struct connection {
    kino__metrics_http *http;
    int fd; /* -1: this place is free */
    kino__loop_watch *watch;
    phase phase;
    int64_t until_ns;
    char head[HEAD_MOST];
    size_t head_size;
    kino__buffer answer;
    size_t sent;
} connection;

struct kino__metrics_http {
    kino__loop *loop;
    kino__metrics *metrics;
    int fd;
    unsigned port;
    const char *hosts; /* "a,b" */
    char bound[64];    /* the address, without its port */
    char token[129];   /* "": none */
    kino__loop_watch *watch;
    kino__loop_timer *timer;
    bool is_resting; /* no descriptors are left: accepts again at the next tick */
    connection *connections[CONNECTIONS_MOST];
    unsigned count;
};

/* -- connections -- */

static void connection_close(connection *self)
{
    kino__metrics_http *http = self->http;
    for (unsigned i = 0; i < http->count; i++)
        if (http->connections[i] == self) { /* the order, oldest first, is kept */
            memmove(&http->connections[i], &http->connections[i + 1],
                    (http->count - i - 1) * sizeof http->connections[0]);
            http->count--;
            break;
        }
    kino__loop_remove_fd(http->loop, self->watch);
    (void)close(self->fd);
    kino__buffer_deinit(&self->answer);
    free(self);
    if (http->count == 0 && !http->is_resting)
        kino__loop_set_timer(http->loop, http->timer, 0);
}

static void answer_with(connection *self, const char *status, const char *extra, kino_str body,
                        bool has_body)
{
    kino__buffer_printf(&self->answer,
                        "HTTP/1.1 %s\r\n"
                        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                        "Content-Length: %zu\r\n"
                        "Cache-Control: no-store\r\n"
                        "X-Content-Type-Options: nosniff\r\n"
                        "%sConnection: close\r\n\r\n",
                        status, body.size, extra);
    if (has_body)
        kino__buffer_add(&self->answer, body);
}

static void refuse(connection *self, const char *status, const char *extra, bool has_body)
{
    char text[64];
    int size = snprintf(text, sizeof text, "%s\n", status);
    answer_with(self, status, extra, (kino_str){text, (size_t)size}, has_body);
}

static void answer_metrics(connection *self, uid_t viewer, bool has_body)
{
    kino__buffer text = {0};
    kino__metrics_prometheus(self->http->metrics, viewer, &text);
    if (text.failed)
        refuse(self, "500 Internal Server Error", "", has_body);
    else
        answer_with(self, "200 OK", "", kino__buffer_str(&text), has_body);
    kino__buffer_deinit(&text);
}

/* -- the request -- */

static kino_str take_until(kino_str *rest, char end)
{
    const char *at = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    size_t size = at ? (size_t)(at - rest->data) : rest->size;
    kino_str taken = {rest->data, size};
    *rest = (kino_str){rest->data + size + (at != NULL), rest->size - size - (at != NULL)};
    return taken;
}

/* "/metrics?x" and "http://host/metrics" are both /metrics. */
static kino_str path_of(kino_str target)
{
    kino_str scheme = KINO__STR("http://");
    if (kino__str_starts_with(target, scheme)) {
        kino_str rest = {target.data + scheme.size, target.size - scheme.size};
        const char *slash = rest.size ? memchr(rest.data, '/', rest.size) : NULL;
        target =
            slash ? (kino_str){slash, rest.size - (size_t)(slash - rest.data)} : KINO__STR("/");
    }
    return take_until(&target, '?');
}

static kino_str take_line(kino_str *rest)
{
    kino_str line = take_until(rest, '\n');
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

typedef enum header_state { HEADER_ABSENT, HEADER_THERE, HEADER_BAD } header_state;

/* The value of a header; bad: it comes twice, or is too long. */
static header_state find_header(kino_str head, const char *name, char *out, size_t room)
{
    header_state state = HEADER_ABSENT;
    while (head.size) {
        kino_str value = take_line(&head), key = take_until(&value, ':');
        if (key.size != strlen(name) || strncasecmp(key.data, name, key.size) != 0)
            continue;
        while (value.size && (*value.data == ' ' || *value.data == '\t'))
            value = (kino_str){value.data + 1, value.size - 1};
        while (value.size &&
               (value.data[value.size - 1] == ' ' || value.data[value.size - 1] == '\t'))
            value.size--;
        if (state != HEADER_ABSENT || value.size >= room || memchr(value.data, 0, value.size))
            return HEADER_BAD;
        memcpy(out, value.data, value.size);
        out[value.size] = '\0';
        state = HEADER_THERE;
    }
    return state;
}

/* Is it a name of this machine? */
static bool is_own_host(const kino__metrics_http *http, const char *host)
{
    char name[256] = "";
    kino_str rest = kino__str_from(http->hosts ? http->hosts : "");
    if (kino__host_is_number(host) || kino__host_is_ours(host, http->bound))
        return true;
    if (gethostname(name, sizeof name - 1) == 0 && name[0] && kino__host_is_ours(host, name))
        return true;
    while (rest.size) {
        kino_str one = take_until(&rest, ',');
        while (one.size && *one.data == ' ')
            one = (kino_str){one.data + 1, one.size - 1};
        (void)snprintf(name, sizeof name, "%.*s", KINO__STR_ARG(one));
        if (name[0] && kino__host_is_ours(host, name))
            return true;
    }
    return false;
}

/* Who asks: false, and it is refused. */
static bool check_client(connection *self, kino_str head, bool has_body, uid_t *viewer)
{
    const kino__metrics_http *http = self->http;
    char host[300] = "", authorization[200] = "";
    header_state with_host = find_header(head, "Host", host, sizeof host);
    header_state with_token =
        find_header(head, "Authorization", authorization, sizeof authorization);
    bool has_token = http->token[0] && with_token == HEADER_THERE &&
                     kino__token_equal(kino__bearer_token(authorization), http->token);
    *viewer = has_token ? KINO__METRICS_ALL : kino__access_tcp_peer(self->fd);
    if (with_host == HEADER_BAD || with_token == HEADER_BAD)
        refuse(self, "400 Bad Request", "", has_body);
    else if (http->token[0] && with_token == HEADER_THERE && !has_token)
        refuse(self, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", has_body);
    else if (!has_token && with_host == HEADER_THERE && !is_own_host(http, host))
        refuse(self, "403 Forbidden", "", has_body); /* who has no Host is not a browser */
    else
        return true;
    return false;
}

static void answer_request(connection *self, kino_str head)
{
    uid_t viewer;
    kino_str line = take_line(&head);
    kino_str method = take_until(&line, ' '), target = take_until(&line, ' ');
    kino_str path = path_of(target);
    bool is_head = kino__str_is(method, "HEAD"), is_get = kino__str_is(method, "GET");
    if (!kino__str_starts_with(line, KINO__STR("HTTP/1.")) || line.size != 8 || path.size == 0 ||
        path.data[0] != '/')
        refuse(self, "400 Bad Request", "", true);
    else if (!check_client(self, head, !is_head, &viewer))
        return;
    else if (!kino__str_is(path, "/metrics") && !kino__str_is(path, "/"))
        refuse(self, "404 Not Found", "", !is_head);
    else if (!is_head && !is_get)
        refuse(self, "405 Method Not Allowed", "Allow: GET, HEAD\r\n", true);
    else if (kino__str_is(path, "/"))
        answer_with(self, "200 OK", "", KINO__STR("kino daemon: metrics are served at /metrics\n"),
                    !is_head);
    else
        answer_metrics(self, viewer, !is_head);
}

/* -- phases -- */

static void send_answer(connection *self)
{
    while (self->sent < self->answer.size) {
        ssize_t size = send(self->fd, self->answer.data + self->sent,
                            self->answer.size - self->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            kino__loop_set_events(self->http->loop, self->watch, EPOLLOUT);
            return;
        }
        if (size < 0) {
            connection_close(self);
            return;
        }
        self->sent += (size_t)size;
    }
    /* Closing with bytes unread would reset the connection, and the answer might be lost. */
    (void)shutdown(self->fd, SHUT_WR);
    self->phase = LINGERING;
    self->until_ns = kino__loop_now(self->http->loop) + linger_ns;
    kino__loop_set_events(self->http->loop, self->watch, EPOLLIN);
}

static void begin_answer(connection *self)
{
    self->phase = SENDING;
    self->until_ns = kino__loop_now(self->http->loop) + time_most_ns;
    if (self->answer.failed)
        connection_close(self);
    else
        send_answer(self);
}

/* The end of the head: an empty line. */
static bool is_whole(const connection *self)
{
    return memmem(self->head, self->head_size, "\r\n\r\n", 4) != NULL ||
           memmem(self->head, self->head_size, "\n\n", 2) != NULL;
}

static void read_head(connection *self)
{
    ssize_t size =
        recv(self->fd, self->head + self->head_size, HEAD_MOST - self->head_size, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (size <= 0) {
        connection_close(self);
        return;
    }
    self->head_size += (size_t)size;
    if (is_whole(self))
        answer_request(self, (kino_str){self->head, self->head_size});
    else if (self->head_size == HEAD_MOST)
        refuse(self, "431 Request Header Fields Too Large", "", true);
    else
        return;
    begin_answer(self);
}

static void drain(connection *self)
{
    char waste[1024];
    ssize_t size = recv(self->fd, waste, sizeof waste, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        connection_close(self);
}

static void on_ready(void *context, uint32_t events)
{
    connection *self = context;
    if (self->phase == SENDING) {
        if (events & EPOLLERR)
            connection_close(self);
        else
            send_answer(self);
    } else if (self->phase == READING) {
        read_head(self);
    } else {
        drain(self);
    }
}

static void on_tick(void *context, int64_t now_ns)
{
    kino__metrics_http *http = context;
    for (unsigned i = http->count; i-- > 0;)
        if (http->connections[i]->until_ns <= now_ns)
            connection_close(http->connections[i]);
    if (http->is_resting) {
        http->is_resting = false;
        kino__loop_set_events(http->loop, http->watch, EPOLLIN);
    }
    if (http->count == 0)
        kino__loop_set_timer(http->loop, http->timer, 0);
}

/* -- listening -- */

static void add_connection(kino__metrics_http *http, int fd)
{
    if (http->count == CONNECTIONS_MOST)
        connection_close(http->connections[0]);
    connection *self = calloc(1, sizeof *self);
    if (!self ||
        kino__loop_add_fd(http->loop, fd, EPOLLIN, on_ready, self, &self->watch, NULL) != KINO_OK) {
        free(self);
        (void)close(fd);
        return;
    }
    self->http = http;
    self->fd = fd;
    self->until_ns = kino__loop_now(http->loop) + time_most_ns;
    if (http->count == 0)
        kino__loop_set_timer(http->loop, http->timer, tick_ns);
    http->connections[http->count++] = self;
}

static void on_connection(void *context, uint32_t events)
{
    kino__metrics_http *http = context;
    (void)events;
    int fd = accept4(http->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        add_connection(http, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        http->is_resting = true; /* or the loop would be called again at once, for ever */
        kino__loop_set_events(http->loop, http->watch, 0);
        kino__loop_set_timer(http->loop, http->timer, tick_ns);
    }
}

/* "127.0.0.1:9178" or "[::1]:9178". */
static kino_status parse_address(const char *text, struct sockaddr_storage *out, socklen_t *size,
                                 kino_error *err)
{
    char host[64];
    int64_t port;
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool is_v6 = length > 2 && text[0] == '[' && text[length - 1] == ']';
    const char *from = is_v6 ? text + 1 : text;
    if (is_v6)
        length -= 2;
    memset(out, 0, sizeof *out);
    if (!colon || length >= sizeof host || !kino__str_to_int(kino__str_from(colon + 1), &port) ||
        port < 0 || port > 65535)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid metrics address '%s' (expected: HOST:PORT such as "
                          "127.0.0.1:9178 or [::1]:9178)",
                          text);
    memcpy(host, from, length);
    host[length] = '\0';
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    if (is_v6 && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
        *size = sizeof *v6;
        return KINO_OK;
    }
    if (!is_v6 && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        *size = sizeof *v4;
        return KINO_OK;
    }
    return kino__fail(
        err, KINO_ARGUMENT,
        "invalid metrics address '%s': the host must be a numeric address such as 127.0.0.1", text);
}

static kino_status listen_at(kino__metrics_http *http, const char *address, kino_error *err)
{
    struct sockaddr_storage where;
    socklen_t size = 0;
    const int on = 1;
    const int kernel_most = 64 << 10; /* that a slow client may hold; connections inherit it */
    KINO_TRY(parse_address(address, &where, &size, err));
    http->fd = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (http->fd < 0)
        return kino__fail_errno(err, errno, "cannot create a socket for metrics");
    (void)setsockopt(http->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(http->fd, SOL_SOCKET, SO_SNDBUF, &kernel_most, sizeof kernel_most);
    if (bind(http->fd, (struct sockaddr *)&where, size) != 0 || listen(http->fd, 64) != 0)
        return kino__fail_errno(err, errno, "cannot serve metrics at %s", address);
    if (getsockname(http->fd, (struct sockaddr *)&where, &size) != 0)
        return kino__fail_errno(err, errno, "cannot serve metrics at %s", address);
    http->port = ntohs(where.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&where)->sin6_port
                                                   : ((struct sockaddr_in *)&where)->sin_port);
    return KINO_OK;
}

/* "127.0.0.1" of "127.0.0.1:9178", "::1" of "[::1]:9178". */
static void keep_bound(kino__metrics_http *http, const char *address)
{
    const char *colon = strrchr(address, ':');
    bool is_v6 = address[0] == '[';
    int size = colon ? (int)(colon - address) - 2 * is_v6 : 0;
    (void)snprintf(http->bound, sizeof http->bound, "%.*s", size, address + is_v6);
}

/* A token that everybody can read is none. */
static kino_status read_token(kino__metrics_http *http, const char *path, kino_error *err)
{
    struct stat info;
    kino__file file;
    if (!path || !path[0])
        return KINO_OK;
    KINO_TRY(kino__file_open(path, &file, err));
    size_t size = file.size;
    while (size && (file.data[size - 1] == '\n' || file.data[size - 1] == '\r'))
        size--;
    (void)snprintf(http->token, sizeof http->token, "%.*s", (int)(size < 200 ? size : 200),
                   size ? file.data : "");
    kino__file_close(&file);
    if (stat(path, &info) != 0 || (info.st_mode & 07))
        return kino__fail(
            err, KINO_ARGUMENT,
            "metrics-token-file: '%s' is readable by all users (fix with: chmod o= '%s')", path,
            path);
    if (size >= sizeof http->token || !kino__token_is_good(http->token))
        return kino__fail(
            err, KINO_ARGUMENT,
            "metrics-token-file: '%s' must contain one line of 8 to 128 letters, digits, - . _ ~",
            path);
    return KINO_OK;
}

kino_status kino__metrics_http_open(kino__loop *loop, kino__metrics *metrics,
                                    const kino__metrics_http_options *options,
                                    kino__metrics_http **out, kino_error *err)
{
    *out = NULL;
    kino__metrics_http *http = calloc(1, sizeof *http);
    if (!http)
        return kino__fail_nomem(err);
    http->loop = loop;
    http->metrics = metrics;
    http->fd = -1;
    http->hosts = options->hosts;
    keep_bound(http, options->address);
    kino_status st = read_token(http, options->token_file, err);
    if (st == KINO_OK)
        st = listen_at(http, options->address, err);
    if (st == KINO_OK)
        st = kino__loop_add_fd(loop, http->fd, EPOLLIN, on_connection, http, &http->watch, err);
    if (st == KINO_OK)
        st = kino__loop_add_timer(loop, 0, on_tick, http, &http->timer, err);
    if (st != KINO_OK) {
        kino__metrics_http_close(http);
        return st;
    }
    *out = http;
    return KINO_OK;
}

unsigned kino__metrics_http_port(const kino__metrics_http *http)
{
    return http->port;
}

void kino__metrics_http_close(kino__metrics_http *http)
{
    if (!http)
        return;
    while (http->count > 0)
        connection_close(http->connections[http->count - 1]);
    kino__loop_remove_timer(http->loop, http->timer);
    kino__loop_remove_fd(http->loop, http->watch);
    if (http->fd >= 0)
        (void)close(http->fd);
    free(http);
}
