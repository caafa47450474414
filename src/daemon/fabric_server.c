/* fabric_server.c - receiving in batches, answering, and only then writing down. */
#include "daemon/fabric_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/access.h"

enum {
    BATCH = 32,
    DATAGRAM_BYTES = KINO__FABRIC_HEADER_BYTES + KINO__FABRIC_REPORT_BYTES +
                     KINO__FABRIC_REPORT_TEXT_MAX, /* more than the largest poll */
    ROUNDS = 16,                                   /* batches before others have their turn */
    REGISTER_NS = 10000000,                        /* for new processes in a turn */
};

typedef union control_bytes {
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(struct timespec))];
    struct cmsghdr align;
} control_bytes;

struct kino__fabric_batch {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct sockaddr_un names[BATCH];
    control_bytes controls[BATCH];
    unsigned char bytes[BATCH][DATAGRAM_BYTES];
    int64_t received_ns[BATCH]; /* CLOCK_REALTIME; 0: not known */
    kino__fabric_poll poll;
};

static void note_bad(kino__fabric_server *s, const char *event, const kino__fabric_datagram *d,
                     const char *reason)
{
    s->statistics.bad++;
    KINO__LOG(s->log, KINO__LOG_WARNING, event, kino__log_int("pid", d->pid),
              kino__log_int("uid", d->uid), kino__log_int("bytes", (int64_t)d->bytes.size),
              kino__log_text("reason", reason));
}

/* -- deciding */

/* Can it be answered without harm? Only to a name of the socket's own kind. */
static bool is_own_kind(const kino__fabric_socket *socket, const kino__fabric_address *from)
{
    size_t head = offsetof(struct sockaddr_un, sun_path);
    const char *path = from->name.sun_path;
    if (from->size <= head + 1 || from->name.sun_family != AF_UNIX)
        return false; /* it has no name */
    if (!socket->folder[0])
        return path[0] == '\0';
    size_t folder = strlen(socket->folder), size = strnlen(path, from->size - head);
    return size > folder && memcmp(path, socket->folder, folder) == 0 &&
           !memchr(path + folder, '/', size - folder);
}

/* Whoever has a request waiting must be the one who it is for. */
static kino__process *find_process(kino__fabric_server *s, int32_t pid)
{
    kino__process *p = kino__registry_find_quickly(s->registry, pid);
    return p && p->target ? kino__registry_find(s->registry, pid) : p;
}

static kino__fabric_answer judge_poll(kino__fabric_socket *socket, kino__process *p,
                                      const kino__fabric_address *from)
{
    kino__fabric_server *s = socket->server;
    const kino__fabric_poll *poll = &s->batch->poll;
    kino__fabric_answer answer = {.verdict = KINO__FABRIC_ANSWER_EMPTY, .process = p};
    if (!p || kino__registry_is_second(p, from))
        return answer;
    kino__requests_polled(s->requests, p, poll->mask);
    if (poll->mask & KINO__FABRIC_ACTIVITIES)
        answer.text = kino__requests_text(p);
    if (answer.text.size)
        answer.verdict = KINO__FABRIC_ANSWER_TEXT;
    return answer;
}

/* What is read about a new process takes its time. Those who come when a turn of the loop has spent
 * enough on it are registered when they ask again: everybody's answers come first. */
static kino__process *register_process(kino__fabric_server *s, const kino__fabric_datagram *d)
{
    int64_t now = kino__loop_now(s->loop);
    kino__process *p = d->pid > 0 ? kino__registry_find(s->registry, d->pid) : NULL;
    if (p || d->pid <= 0 || kino__registry_is_full(s->registry, d->uid))
        return p;
    if (s->turn_ns != now)
        s->spent_ns = 0;
    s->turn_ns = now;
    if (s->spent_ns > REGISTER_NS)
        return NULL;
    int64_t start = kino__clock_ns(CLOCK_MONOTONIC);
    p = kino__registry_add(s->registry, d->pid, now);
    s->spent_ns += kino__clock_ns(CLOCK_MONOTONIC) - start;
    return p;
}

static kino__fabric_answer judge_context(kino__fabric_socket *socket,
                                         const kino__fabric_datagram *d, kino_str payload)
{
    kino__fabric_server *s = socket->server;
    kino__fabric_context context;
    kino_error err;
    kino__fabric_answer answer = {.verdict = KINO__FABRIC_IGNORE};
    if (kino__fabric_read_context(payload, &context, &err) != KINO_OK) {
        note_bad(s, "bad-datagram", d, err.message);
        return answer;
    }
    answer.process = register_process(s, d);
    answer.verdict = KINO__FABRIC_ANSWER_COUNT;
    answer.count =
        answer.process ? kino__registry_add_context(s->registry, answer.process, &context) : -1;
    if (answer.process)
        answer.process->last_seen_ns = kino__loop_now(s->loop);
    return answer;
}

static void take_report(kino__fabric_server *s, const kino__fabric_datagram *d, kino_str payload)
{
    kino__fabric_report report;
    kino_error err;
    kino__process *p = kino__registry_find(s->registry, d->pid);
    if (kino__fabric_read_report(payload, &report, &err) != KINO_OK) {
        note_bad(s, "bad-datagram", d, err.message);
        return;
    }
    s->statistics.reports++;
    if (!p || !kino__requests_report(s->requests, p, &report))
        KINO__LOG(s->log, KINO__LOG_DEBUG, "report-of-nothing", kino__log_int("pid", d->pid),
                  kino__log_int("request", (int64_t)report.request));
}

kino__fabric_answer kino__fabric_judge(kino__fabric_socket *socket, const kino__fabric_datagram *d)
{
    kino__fabric_server *s = socket->server;
    kino__fabric_answer none = {.verdict = KINO__FABRIC_IGNORE};
    kino__fabric_message message;
    kino_error err;
    s->statistics.datagrams++;
    if (!is_own_kind(socket, &d->from)) {
        note_bad(s, "foreign-sender", d, "unexpected kind of socket name");
        return none;
    }
    if (kino__fabric_read(d->bytes, &message, &err) != KINO_OK) {
        note_bad(s, "bad-datagram", d, err.message);
        return none;
    }
    switch (message.kind) {
    case KINO__FABRIC_REQ:
        if (kino__fabric_read_poll(message.payload, &s->batch->poll, &err) != KINO_OK) {
            note_bad(s, "bad-datagram", d, err.message);
            return none;
        }
        return judge_poll(socket, find_process(s, d->pid), &d->from);
    case KINO__FABRIC_CTXT:
        return judge_context(socket, d, message.payload);
    case KINO__FABRIC_REPORT:
        take_report(s, d, message.payload);
        return none;
    case KINO__FABRIC_OTHER:
        break;
    }
    note_bad(s, "bad-datagram", d, "unknown type");
    return none;
}

void kino__fabric_settle(kino__fabric_socket *socket, const kino__fabric_datagram *d,
                         const kino__fabric_answer *answer, bool is_sent)
{
    kino__fabric_server *s = socket->server;
    int64_t now = kino__loop_now(s->loop);
    if (answer->verdict == KINO__FABRIC_ANSWER_TEXT && is_sent) {
        s->statistics.texts++;
        kino__requests_delivered(s->requests, answer->process);
    }
    if (answer->verdict == KINO__FABRIC_ANSWER_COUNT)
        return;
    kino__process *p = answer->process;
    if (!p)
        p = register_process(s, d);
    if (p)
        kino__registry_poll(s->registry, p, &s->batch->poll, &d->from, now);
    else if (d->pid <= 0)
        note_bad(s, "unseen-process", d, "outside the daemon's PID namespace");
}

/* -- sending */

/* A socket in a folder is reached through a descriptor of it: a link put there in the meantime
 * leads nowhere, and neither does somebody else's socket. */
static bool find_in_folder(const kino__fabric_datagram *d, struct sockaddr_un *out, socklen_t *size,
                           int *fd)
{
    struct stat info;
    const char *path = d->from.name.sun_path;
    *fd = -1;
    /* A name that fills the address whole is not terminated. */
    if (memchr(path, '\0', sizeof d->from.name.sun_path))
        *fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return false;
    bool is_good = fstat(*fd, &info) == 0 && S_ISSOCK(info.st_mode);
    /* A set-user-id program makes files as its effective user; such a one gets no answer. */
    if (is_good && info.st_uid != d->uid)
        is_good = false;
    if (!is_good) {
        (void)close(*fd);
        return false;
    }
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d", *fd);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length + 1);
    return true;
}

static bool send_answer(kino__fabric_socket *socket, const kino__fabric_datagram *d,
                        const kino__fabric_answer *answer)
{
    unsigned char head[KINO__FABRIC_HEADER_BYTES + 4];
    struct sockaddr_un name = d->from.name;
    socklen_t name_size = d->from.size;
    int fd = -1;
    struct iovec parts[2] = {{head, KINO__FABRIC_HEADER_BYTES}, {NULL, 0}};
    if (answer->verdict == KINO__FABRIC_ANSWER_COUNT)
        parts[0].iov_len = kino__fabric_put_count(answer->count, head, sizeof head);
    else
        kino__fabric_header("req", answer->text.size, head);
    if (answer->verdict == KINO__FABRIC_ANSWER_TEXT)
        parts[1] = (struct iovec){(char *)(uintptr_t)answer->text.data, answer->text.size};
    if (socket->folder[0] && !find_in_folder(d, &name, &name_size, &fd))
        return false;
    struct msghdr message = {.msg_name = &name,
                             .msg_namelen = name_size,
                             .msg_iov = parts,
                             .msg_iovlen = parts[1].iov_len ? 2 : 1};
    bool is_sent = sendmsg(socket->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    if (fd >= 0)
        (void)close(fd);
    return is_sent;
}

static void note_delay(kino__fabric_server *s, int64_t delay_ns)
{
    unsigned class = 0;
    for (int64_t us = delay_ns / 1000; us > 0 && class < KINO__FABRIC_DELAYS - 1; us >>= 1)
        class ++;
    s->statistics.delays[class]++;
}

/* -- receiving */

/* The first `count` messages are to be filled (again). */
static void prepare(struct kino__fabric_batch *b, int count)
{
    for (int i = 0; i < count; i++) {
        b->parts[i] = (struct iovec){b->bytes[i], DATAGRAM_BYTES};
        b->messages[i].msg_hdr = (struct msghdr){.msg_name = &b->names[i],
                                                 .msg_namelen = sizeof b->names[i],
                                                 .msg_iov = &b->parts[i],
                                                 .msg_iovlen = 1,
                                                 .msg_control = &b->controls[i],
                                                 .msg_controllen = sizeof b->controls[i]};
    }
}

/* Who sent it and when it came, as the kernel says. */
static kino__fabric_datagram open_message(struct kino__fabric_batch *b, int i)
{
    struct msghdr *h = &b->messages[i].msg_hdr;
    kino__fabric_datagram d = {.bytes = {(const char *)b->bytes[i], b->messages[i].msg_len},
                               .from = {b->names[i], h->msg_namelen},
                               .uid = (uid_t)-1};
    b->received_ns[i] = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        struct ucred sender;
        struct timespec time;
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len >= CMSG_LEN(sizeof sender)) {
            memcpy(&sender, CMSG_DATA(c), sizeof sender);
            d.pid = sender.pid;
            d.uid = sender.uid;
        } else if (c->cmsg_type == SCM_TIMESTAMPNS && c->cmsg_len >= CMSG_LEN(sizeof time)) {
            memcpy(&time, CMSG_DATA(c), sizeof time);
            b->received_ns[i] = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        }
    }
    if (d.from.size > sizeof d.from.name)
        d.from.size = sizeof d.from.name;
    return d;
}

static void handle(kino__fabric_socket *socket, int i)
{
    kino__fabric_server *s = socket->server;
    struct kino__fabric_batch *b = s->batch;
    kino__fabric_datagram d = open_message(b, i);
    if (b->messages[i].msg_hdr.msg_flags & MSG_TRUNC) {
        s->statistics.datagrams++;
        note_bad(s, "bad-datagram", &d, "too large");
        return;
    }
    kino__fabric_answer answer = kino__fabric_judge(socket, &d);
    if (answer.verdict == KINO__FABRIC_IGNORE)
        return;
    int64_t age = b->received_ns[i] ? kino__clock_ns(CLOCK_REALTIME) - b->received_ns[i] : 0;
    bool is_sent = false;
    if (age > (int64_t)KINO__FABRIC_LATE_MS * 1000000) {
        s->statistics.late++;
        KINO__LOG(s->log, KINO__LOG_WARNING, "answer-late", kino__log_int("pid", d.pid),
                  kino__log_int("age_us", age / 1000));
    } else {
        is_sent = send_answer(socket, &d, &answer);
        if (is_sent) {
            s->statistics.replies++;
            if (b->received_ns[i])
                note_delay(s, kino__clock_ns(CLOCK_REALTIME) - b->received_ns[i]);
        } else {
            s->statistics.dropped++;
            KINO__LOG(s->log, KINO__LOG_INFO, "answer-dropped", kino__log_int("pid", d.pid),
                      kino__log_int("errno", errno));
        }
    }
    kino__fabric_settle(socket, &d, &answer, is_sent);
}

static void receive(void *context, uint32_t events)
{
    kino__fabric_socket *socket = context;
    (void)events;
    for (int round = 0; round < ROUNDS; round++) {
        int count = recvmmsg(socket->fd, socket->server->batch->messages, BATCH,
                             MSG_DONTWAIT | MSG_CMSG_CLOEXEC, NULL);
        if (count <= 0)
            return;
        for (int i = 0; i < count; i++)
            handle(socket, i);
        prepare(socket->server->batch, count);
        if (count < BATCH)
            return;
    }
}

/* -- opening */

/* Is somebody listening at a path already? A file that nobody listens at is removed. */
static kino_status clear_path(const kino__fabric_address *address, kino_error *err)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return kino__fail_errno(err, errno, "cannot create a socket");
    int is_there = connect(fd, (const struct sockaddr *)&address->name, address->size) == 0;
    (void)close(fd);
    if (is_there)
        return kino__fail(err, KINO_UNAVAILABLE, "another daemon is listening at '%s'",
                          address->name.sun_path);
    struct stat info;
    if (lstat(address->name.sun_path, &info) < 0)
        return KINO_OK;
    if (!S_ISSOCK(info.st_mode))
        return kino__fail(err, KINO_ARGUMENT, "'%s' is not a socket", address->name.sun_path);
    if (unlink(address->name.sun_path) < 0)
        return kino__fail_errno(err, errno, "cannot remove '%s'", address->name.sun_path);
    return KINO_OK;
}

static kino_status bind_socket(const kino__fabric_socket *s, kino_error *err)
{
    int on = 1, room = 1 << 20;
    const char *path = s->address.name.sun_path;
    (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    if (setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) < 0)
        return kino__fail_errno(err, errno, "cannot receive sender credentials");
    if (kino__access_bind(s->fd, (const struct sockaddr *)&s->address.name, s->address.size) < 0) {
        if (errno == EADDRINUSE)
            return kino__fail(err, KINO_UNAVAILABLE,
                              "another daemon (kino or dynolog) is already using socket '%s'",
                              path[0] ? path : "@" KINO__FABRIC_DAEMON);
        return kino__fail_errno(err, errno, "cannot listen at '%s'",
                                path[0] ? path : "@" KINO__FABRIC_DAEMON);
    }
    return KINO_OK;
}

static kino_status open_socket(kino__fabric_server *server, kino__fabric_socket *s,
                               const char *folder, kino_error *err)
{
    s->server = server;
    KINO_TRY(kino__fabric_address_make(folder, KINO__FABRIC_DAEMON, &s->address, err));
    if (folder) {
        (void)snprintf(s->folder, sizeof s->folder, "%s/", folder);
        /* Everybody's processes put their sockets there. */
        if (mkdir(folder, 0700) == 0 && chmod(folder, 01777) < 0)
            return kino__fail_errno(err, errno, "cannot set the mode of '%s'", folder);
        KINO_TRY(clear_path(&s->address, err));
    }
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0)
        return kino__fail_errno(err, errno, "cannot create a socket");
    KINO_TRY(bind_socket(s, err));
    return kino__loop_add_fd(server->loop, s->fd, EPOLLIN, receive, s, &s->watch, err);
}

kino_status kino__fabric_server_open(kino__fabric_server *s,
                                     const kino__fabric_server_options *options, kino__loop *loop,
                                     kino__log *log, kino__registry *registry,
                                     kino__requests *requests, kino_error *err)
{
    *s =
        (kino__fabric_server){.loop = loop, .log = log, .registry = registry, .requests = requests};
    s->sockets[0].fd = s->sockets[1].fd = -1;
    s->batch = calloc(1, sizeof *s->batch);
    kino_status st = s->batch ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        prepare(s->batch, BATCH);
    if (st == KINO_OK && options->is_abstract)
        st = open_socket(s, &s->sockets[0], NULL, err);
    if (st == KINO_OK && options->folder && options->folder[0])
        st = open_socket(s, &s->sockets[1], options->folder, err);
    if (st != KINO_OK)
        kino__fabric_server_close(s);
    return st;
}

void kino__fabric_server_close(kino__fabric_server *s)
{
    if (!s->batch)
        return;
    for (size_t i = 0; i < 2; i++) {
        kino__fabric_socket *socket = &s->sockets[i];
        if (socket->fd < 0)
            continue;
        kino__loop_remove_fd(s->loop, socket->watch);
        if (socket->watch && socket->folder[0]) /* it is ours */
            (void)unlink(socket->address.name.sun_path);
        (void)close(socket->fd);
        socket->fd = -1;
    }
    free(s->batch);
    s->batch = NULL;
}
