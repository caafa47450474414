/* rpc.c - listening, framing, deadlines; what is answered is in rpc_dynolog.c and rpc_kino.c. */
#include "daemon/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/access.h"

enum { ACCEPT_ROUND = 64, SWEEP_NS = 500000000, READ_STEP = 4096 };

struct kino__rpc_connection {
    kino__rpc *rpc;
    int fd;
    kino__loop_watch *watch;
    uid_t uid;
    bool is_unix;
    bool is_waiting; /* its user has had his share: not read until the next sweep */
    int64_t deadline_ns;
    kino__buffer in;  /* length and body, as far as they have come */
    kino__buffer out; /* empty: the question is not complete yet */
    size_t sent;
};

static void refuse(kino__rpc_connection *c, const char *reason)
{
    c->rpc->refused++;
    KINO__LOG(c->rpc->log, KINO__LOG_WARNING, "rpc-refused", kino__log_int("uid", (int32_t)c->uid),
              kino__log_text("over", c->is_unix ? "unix" : "tcp"),
              kino__log_text("reason", reason));
}

static void close_connection(kino__rpc_connection *c)
{
    kino__rpc *rpc = c->rpc;
    size_t i = 0;
    while (i < rpc->count && rpc->connections[i] != c)
        i++;
    if (i < rpc->count) {
        rpc->count--;
        memmove(&rpc->connections[i], &rpc->connections[i + 1],
                (rpc->count - i) * sizeof *rpc->connections);
    }
    kino__loop_remove_fd(rpc->loop, c->watch);
    (void)close(c->fd);
    kino__buffer_deinit(&c->in);
    kino__buffer_deinit(&c->out);
    free(c);
    if (rpc->count == 0)
        kino__loop_set_timer(rpc->loop, rpc->timer, 0);
}

/* -- answering */

void kino__rpc_put_pids(kino__json *json, const char *key, const int32_t *pids, size_t count)
{
    kino__json_key(json, key);
    kino__json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        kino__json_int(json, pids[i]);
    kino__json_end_array(json);
}

bool kino__rpc_answer(struct kino__daemon *daemon, kino_str body, uid_t uid, bool is_unix,
                      kino__buffer *answer)
{
    const kino__json_in_limits limits = {.size = KINO__RPC_REQUEST_MAX, .depth = 8};
    kino__arena arena;
    kino_str function = {"", 0};
    kino_error err;
    kino__rpc_call call = {.daemon = daemon, .uid = uid, .is_unix = is_unix};
    kino__arena_init(&arena, NULL);
    kino__json json = {.out = answer};
    bool is_good = kino__json_in_parse(body, &limits, &arena, &call.request, &err) == KINO_OK;
    if (is_good && !kino__json_in_get_text(call.request, "fn", &function)) {
        (void)kino__fail(&err, KINO_FORMAT, "missing \"fn\"");
        is_good = false;
    }
    if (is_good)
        is_good = kino__rpc_dynolog(&call, function, &json);
    if (!is_good && function.size && is_unix) {
        answer->size = 0;
        json = (kino__json){.out = answer};
        is_good = kino__rpc_kino(&call, function, &json);
    } else if (!is_good && is_unix) {
        answer->size = 0;
        json = (kino__json){.out = answer};
        kino__json_begin_object(&json);
        kino__json_key(&json, "status");
        kino__json_text(&json, "error");
        kino__json_key(&json, "error");
        kino__json_text(&json, err.message);
        kino__json_end_object(&json);
        is_good = true;
    }
    kino__arena_deinit(&arena);
    return is_good && !answer->failed;
}

static void send_more(kino__rpc_connection *c)
{
    while (c->sent < c->out.size) {
        ssize_t done =
            send(c->fd, c->out.data + c->sent, c->out.size - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (done <= 0) {
            KINO__LOG(c->rpc->log, KINO__LOG_INFO, "rpc-hung-up",
                      kino__log_int("uid", (int32_t)c->uid), kino__log_int("errno", errno));
            close_connection(c);
            return;
        }
        c->sent += (size_t)done;
    }
    close_connection(c);
}

/* The question is complete. */
static void answer(kino__rpc_connection *c)
{
    uint32_t length = 0;
    kino_str body = {c->in.data + 4, c->in.size - 4};
    c->rpc->calls++;
    kino__buffer_add(&c->out, (kino_str){(const char *)&length, 4});
    kino__buffer text = {0};
    bool has_answer = kino__rpc_answer(c->rpc->daemon, body, c->uid, c->is_unix, &text);
    kino__buffer_add(&c->out, kino__buffer_str(&text));
    length = (uint32_t)text.size;
    kino__buffer_deinit(&text);
    if (!has_answer || c->out.failed || length > INT32_MAX) {
        refuse(c, "unknown request");
        close_connection(c);
        return;
    }
    memcpy(c->out.data, &length, 4);
    kino__buffer_deinit(&c->in);
    c->deadline_ns = kino__loop_now(c->rpc->loop) + (int64_t)KINO__RPC_WRITE_MS * 1000000;
    kino__loop_set_events(c->rpc->loop, c->watch, EPOLLOUT);
    send_more(c);
}

/* -- reading */

/* How much is to be read before something can be done; 0: what has come makes no sense. */
static size_t wanted(kino__rpc_connection *c)
{
    int32_t length;
    if (c->in.size < 4)
        return 4;
    memcpy(&length, c->in.data, 4);
    if (length > 0 && length <= KINO__RPC_REQUEST_MAX)
        return 4 + (size_t)length;
    KINO__LOG(c->rpc->log, KINO__LOG_WARNING, "rpc-bad-length",
              kino__log_int("uid", (int32_t)c->uid), kino__log_int("length", length));
    c->rpc->refused++;
    return 0;
}

static void read_more(kino__rpc_connection *c)
{
    for (;;) {
        size_t want = wanted(c);
        if (want == 0) {
            close_connection(c);
            return;
        }
        if (c->in.size >= want && want > 4) {
            answer(c);
            return;
        }
        size_t step = want - c->in.size;
        if (step > READ_STEP)
            step = READ_STEP;
        char *room = kino__buffer_reserve(&c->in, step);
        ssize_t got = room ? recv(c->fd, room, step, MSG_DONTWAIT) : -1;
        if (room && got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            close_connection(c);
            return;
        }
        c->in.size += (size_t)got;
    }
}

/* -- shares of the loop's time */

/* Has this turn time for one more answer? There is always time for one. */
static bool has_time(kino__rpc *rpc)
{
    if (rpc->turn_ns != kino__loop_now(rpc->loop))
        rpc->spent_ns = 0;
    rpc->turn_ns = kino__loop_now(rpc->loop);
    return rpc->spent_ns < (int64_t)KINO__RPC_TURN_MS * 1000000;
}

/* Who has had his share of this half second waits for the next. */
static bool has_share(kino__rpc_connection *c)
{
    int64_t now = kino__loop_now(c->rpc->loop);
    kino__user *user = c->uid == 0 ? NULL : kino__users_get(&c->rpc->users, c->uid);
    if (user && now - user->window_ns >= SWEEP_NS) {
        user->window_ns = now;
        user->spent_ns = 0;
    }
    if (!user || user->spent_ns < (int64_t)KINO__RPC_SHARE_MS * 1000000)
        return true;
    c->is_waiting = true;
    kino__loop_set_events(c->rpc->loop, c->watch, 0);
    return false;
}

static void spend(kino__rpc *rpc, uid_t uid, int64_t ns)
{
    kino__user *user = kino__users_get(&rpc->users, uid);
    rpc->spent_ns += ns;
    if (user)
        user->spent_ns += ns;
}

/* Reads and answers, now or when there is time for it: what is not read stays in the socket. */
static void serve(kino__rpc_connection *c)
{
    kino__rpc *rpc = c->rpc;
    uid_t uid = c->uid;
    if (!has_time(rpc) || !has_share(c))
        return;
    int64_t start = kino__clock_ns(CLOCK_MONOTONIC);
    read_more(c); /* it may be gone then */
    spend(rpc, uid, kino__clock_ns(CLOCK_MONOTONIC) - start);
}

static void connection_ready(void *context, uint32_t events)
{
    kino__rpc_connection *c = context;
    if (c->out.size) {
        if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
            send_more(c);
    } else {
        serve(c);
    }
}

/* -- accepting */

/* Nobody takes more than his share: his oldest connection goes, and that of anybody when all are
 * too many. */
static void make_room(kino__rpc *rpc, uid_t uid)
{
    size_t count = 0, first = 0;
    for (size_t i = rpc->count; i-- > 0;)
        if (rpc->connections[i]->uid == uid) {
            first = i;
            count++;
        }
    if (count < KINO__RPC_USER_MAX && rpc->count < KINO__RPC_CONNECTIONS_MAX)
        return;
    kino__rpc_connection *victim = rpc->connections[count < KINO__RPC_USER_MAX ? 0 : first];
    refuse(victim, "too many connections: closing the oldest");
    close_connection(victim);
}

static void add_connection(kino__rpc_listener *listener, int fd)
{
    kino__rpc *rpc = listener->rpc;
    uid_t uid = listener->is_unix ? kino__access_unix_peer(fd) : kino__access_tcp_peer(fd);
    make_room(rpc, uid);
    kino__rpc_connection *c = calloc(1, sizeof *c);
    if (!c) {
        (void)close(fd);
        return;
    }
    *c = (kino__rpc_connection){.rpc = rpc, .fd = fd, .uid = uid, .is_unix = listener->is_unix};
    c->deadline_ns = kino__loop_now(rpc->loop) + (int64_t)KINO__RPC_READ_MS * 1000000;
    if (kino__loop_add_fd(rpc->loop, fd, EPOLLIN, connection_ready, c, &c->watch, NULL) !=
        KINO_OK) {
        (void)close(fd);
        free(c);
        return;
    }
    rpc->connections[rpc->count] = c;
    if (rpc->count++ == 0)
        kino__loop_set_timer(rpc->loop, rpc->timer, SWEEP_NS);
    /* Who has asked already is answered before the next one in the queue could displace him. */
    serve(c);
}

static void accept_ready(void *context, uint32_t events)
{
    kino__rpc_listener *listener = context;
    kino__rpc *rpc = listener->rpc;
    (void)events;
    for (int i = 0; i < ACCEPT_ROUND && has_time(rpc); i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            add_connection(listener, fd);
            continue;
        }
        if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
            return; /* nobody is waiting, or he has gone */
        KINO__LOG(rpc->log, KINO__LOG_WARNING, "rpc-no-descriptors", kino__log_int("errno", errno));
        if (rpc->count) {
            close_connection(rpc->connections[0]);
            continue;
        }
        /* Until the timer looks again. */
        kino__loop_set_events(rpc->loop, listener->watch, 0);
        kino__loop_set_timer(rpc->loop, rpc->timer, SWEEP_NS);
        return;
    }
}

static void sweep(void *context, int64_t now_ns)
{
    kino__rpc *rpc = context;
    for (size_t i = rpc->count; i-- > 0;) {
        kino__rpc_connection *c = rpc->connections[i];
        if (c->is_waiting) {
            c->is_waiting = false;
            c->deadline_ns += SWEEP_NS; /* it is not late, we are */
            kino__loop_set_events(rpc->loop, c->watch, EPOLLIN);
        }
        if (c->deadline_ns > now_ns)
            continue;
        refuse(c, c->out.size ? "timed out while sending the answer"
                              : "timed out waiting for a request");
        close_connection(c);
    }
    for (size_t i = 0; i < 3; i++)
        if (rpc->listeners[i].fd >= 0)
            kino__loop_set_events(rpc->loop, rpc->listeners[i].watch, EPOLLIN);
    if (rpc->count == 0)
        kino__loop_set_timer(rpc->loop, rpc->timer, 0);
}

/* -- opening */

static kino_status listen_at(kino__rpc_listener *listener, const struct sockaddr *address,
                             socklen_t size, const char *label, kino_error *err)
{
    int on = 1;
    if (address->sa_family != AF_UNIX)
        (void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6)
        (void)setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (kino__access_bind(listener->fd, address, size) < 0)
        return errno == EADDRINUSE
                   ? kino__fail(err, KINO_UNAVAILABLE, "another program is listening at %s", label)
                   : kino__fail_errno(err, errno, "cannot listen at %s", label);
    if (listen(listener->fd, 1024) < 0)
        return kino__fail_errno(err, errno, "cannot listen at %s", label);
    return kino__loop_add_fd(listener->rpc->loop, listener->fd, EPOLLIN, accept_ready, listener,
                             &listener->watch, err);
}

static kino_status open_listener(kino__rpc_listener *listener, int family, kino_error *err)
{
    listener->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return kino__fail_errno(err, errno, "cannot create a socket");
    return KINO_OK;
}

/* The folder of the socket, made when it is missing. */
static kino_status make_folder(const char *path, kino_error *err)
{
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    struct stat info;
    const char *slash = strrchr(path, '/');
    size_t size = (size_t)(slash - path);
    if (size == 0)
        return KINO_OK;
    memcpy(folder, path, size);
    folder[size] = '\0';
    if (mkdir(folder, geteuid() == 0 ? 0755 : 0700) < 0 && errno != EEXIST)
        return kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
    /* Both the folder and, where it is one, the link to it: in /tmp anybody can make either. */
    for (int link = 0; link < 2; link++)
        if (fstatat(AT_FDCWD, folder, &info, link ? AT_SYMLINK_NOFOLLOW : 0) < 0 ||
            (info.st_uid != geteuid() && info.st_uid != 0))
            return kino__fail(err, KINO_ARGUMENT, "directory '%s' belongs to another user", folder);
    return KINO_OK;
}

static kino_status open_unix(kino__rpc *rpc, const char *path, kino_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    kino__rpc_listener *listener = &rpc->listeners[0];
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path)
        return kino__fail(err, KINO_ARGUMENT, "the path '%s' is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    KINO_TRY(make_folder(path, err));
    KINO_TRY(open_listener(listener, AF_UNIX, err));
    if (connect(listener->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return kino__fail(err, KINO_UNAVAILABLE, "another daemon is listening at '%s'", path);
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode))
        (void)unlink(path);
    (void)close(listener->fd);
    KINO_TRY(open_listener(listener, AF_UNIX, err));
    listener->is_unix = true;
    KINO_TRY(listen_at(listener, (const struct sockaddr *)&address, sizeof address, path, err));
    rpc->path = path; /* everybody may ask; what one may do is another question */
    return KINO_OK;
}

static kino_status open_tcp(kino__rpc *rpc, unsigned port, kino_error *err)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof v4;
    char label[64];
    kino_error reason;
    KINO_TRY(open_listener(&rpc->listeners[1], AF_INET, err));
    (void)snprintf(label, sizeof label, "127.0.0.1:%u", port);
    KINO_TRY(listen_at(&rpc->listeners[1], (const struct sockaddr *)&v4, sizeof v4, label, err));
    if (getsockname(rpc->listeners[1].fd, (struct sockaddr *)&v4, &size) == 0)
        rpc->port = ntohs(v4.sin_port);
    /* Where there is no IPv6, there is nobody to come from it. */
    v6.sin6_port = htons((uint16_t)rpc->port);
    (void)snprintf(label, sizeof label, "[::1]:%u", rpc->port);
    if (open_listener(&rpc->listeners[2], AF_INET6, &reason) != KINO_OK)
        return KINO_OK;
    if (listen_at(&rpc->listeners[2], (const struct sockaddr *)&v6, sizeof v6, label, &reason) !=
        KINO_OK) {
        KINO__LOG(rpc->log, KINO__LOG_WARNING, "no-ipv6", kino__log_text("reason", reason.message));
        (void)close(rpc->listeners[2].fd);
        rpc->listeners[2].fd = -1;
    }
    return KINO_OK;
}

kino_status kino__rpc_open(kino__rpc *rpc, struct kino__daemon *daemon, kino__loop *loop,
                           kino__log *log, const char *path, int64_t port, kino_error *err)
{
    *rpc = (kino__rpc){.daemon = daemon, .loop = loop, .log = log};
    kino__users_init(&rpc->users);
    for (size_t i = 0; i < 3; i++)
        rpc->listeners[i] = (kino__rpc_listener){.rpc = rpc, .fd = -1};
    kino_status st = kino__loop_add_timer(loop, 0, sweep, rpc, &rpc->timer, err);
    if (st == KINO_OK && path[0])
        st = open_unix(rpc, path, err);
    if (st == KINO_OK && port >= 0)
        st = open_tcp(rpc, (unsigned)port, err);
    if (st != KINO_OK)
        kino__rpc_close(rpc);
    return st;
}

void kino__rpc_close(kino__rpc *rpc)
{
    if (!rpc->loop)
        return;
    while (rpc->count)
        close_connection(rpc->connections[rpc->count - 1]);
    for (size_t i = 0; i < 3; i++)
        if (rpc->listeners[i].fd >= 0) {
            kino__loop_remove_fd(rpc->loop, rpc->listeners[i].watch);
            (void)close(rpc->listeners[i].fd);
        }
    if (rpc->path)
        (void)unlink(rpc->path);
    kino__loop_remove_timer(rpc->loop, rpc->timer);
    kino__users_deinit(&rpc->users);
    *rpc = (kino__rpc){0};
}
