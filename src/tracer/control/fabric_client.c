/* fabric_client.c - see fabric_client.h. */
#include "tracer/control/fabric_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/bytes.h"

/* -- who we are */

/* The parent of a process, or 0. The name in /proc/<pid>/stat may have any character in it. */
static int32_t parent_of(int32_t pid)
{
    char path[40], text[512];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t size = read(fd, text, sizeof text);
    (void)close(fd);
    const char *end = size > 0 ? memrchr(text, ')', (size_t)size) : NULL;
    if (!end)
        return 0;
    kino_str rest = {end + 1, (size_t)(text + size - end - 1)};
    if (rest.size < 4) /* " S 1" */
        return 0;
    rest = (kino_str){rest.data + 3, rest.size - 3};
    const char *blank = memchr(rest.data, ' ', rest.size);
    int64_t parent = 0;
    if (!blank || !kino__str_to_int((kino_str){rest.data, (size_t)(blank - rest.data)}, &parent))
        return 0;
    return parent > 0 && parent <= INT32_MAX ? (int32_t)parent : 0;
}

uint32_t kino__fabric_ancestors(pid_t pid, int32_t *out, uint32_t max)
{
    uint32_t count = 0;
    for (int32_t p = pid; count < max && p > 0 && (p != 1 || count == 0); p = parent_of(p))
        out[count++] = p;
    return count;
}

/* As strtoll does it: "123_4" is 123. */
static int64_t job_number(const char *text)
{
    kino_str digits = kino__str_from(text);
    int64_t number;
    while (digits.size && !kino__str_to_int(digits, &number))
        digits.size--;
    return digits.size ? number : 0;
}

static kino_status make_name(char *out, size_t size, kino_error *err)
{
    unsigned char r[16];
    if (getrandom(r, sizeof r, GRND_NONBLOCK) != (ssize_t)sizeof r)
        return kino__fail_errno(err, errno, "cannot choose a socket name for the daemon");
    /* A UUID of version 8, where Kineto's is of 4: so the daemon knows libkino. */
    r[6] = (unsigned char)((r[6] & 0x0f) | 0x80);
    r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
    (void)snprintf(out, size,
                   "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                   KINO__FABRIC_CLIENT, r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9],
                   r[10], r[11], r[12], r[13], r[14], r[15]);
    return KINO_OK;
}

/* -- open, close */

static kino_status open_socket(kino__fabric_client *c, kino_error *err)
{
    int on = 1;
    const struct sockaddr *own = (const struct sockaddr *)&c->own.name;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return kino__fail_errno(err, errno, "cannot create a socket for the daemon");
    kino__held_take(&c->socket, fd);
    if (setsockopt(c->socket.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        bind(c->socket.fd, own, c->own.size) < 0)
        return kino__fail_errno(err, errno, "cannot create socket '%s'",
                                c->own.name.sun_path + (c->own.name.sun_path[0] == '\0'));
    /* Root and our own user can write to it; another daemon must be let in. */
    const char *path = c->own.name.sun_path;
    if (path[0] && chmod(path, c->daemon_uid >= 0 ? 0666 : 0600) < 0)
        return kino__fail_errno(err, errno, "cannot set the mode of '%s'", path);
    return KINO_OK;
}

kino_status kino__fabric_open(const kino__fabric_options *options, kino__fabric_client *out,
                              kino_error *err)
{
    char name[64];
    *out = (kino__fabric_client){
        .socket = KINO__HELD_NONE, .pid = getpid(), .daemon_uid = options->daemon_uid};
    const char *daemon = options->daemon ? options->daemon : KINO__FABRIC_DAEMON;
    KINO_TRY(make_name(name, sizeof name, err));
    KINO_TRY(kino__fabric_address_make(options->folder, name, &out->own, err));
    KINO_TRY(kino__fabric_address_make(options->folder, daemon, &out->daemon, err));
    out->poll.job = options->job ? job_number(options->job) : 0;
    out->poll.pid_count = kino__fabric_ancestors(out->pid, out->poll.pids, KINO__FABRIC_PIDS_SENT);
    kino_status st = open_socket(out, err);
    if (st != KINO_OK)
        kino__fabric_close(out);
    return st;
}

void kino__fabric_close(kino__fabric_client *c)
{
    if (c->socket.fd < 0)
        return;
    kino__held_close(&c->socket);
    if (c->own.name.sun_path[0] && c->pid == getpid())
        (void)unlink(c->own.name.sun_path);
}

/* The socket, opened again under the same name when the program has closed it; -1: that failed. */
static int usable_socket(kino__fabric_client *c)
{
    int fd = kino__held_fd(&c->socket);
    if (fd >= 0 || c->pid != getpid())
        return fd;
    if (c->own.name.sun_path[0])
        (void)unlink(c->own.name.sun_path);
    if (open_socket(c, NULL) != KINO_OK)
        kino__held_close(&c->socket);
    return kino__held_fd(&c->socket);
}

/* -- send, receive */

kino_status kino__fabric_send(kino__fabric_client *c, bool accepts, kino_error *err)
{
    unsigned char
        datagram[KINO__FABRIC_HEADER_BYTES + KINO__FABRIC_POLL_BYTES + 4 * KINO__FABRIC_PIDS_SENT];
    c->poll.mask = accepts ? KINO__FABRIC_ACTIVITIES : KINO__FABRIC_NOTHING;
    size_t size = kino__fabric_put_poll(&c->poll, datagram, sizeof datagram);
    const struct sockaddr *daemon = (const struct sockaddr *)&c->daemon.name;
    ssize_t sent = sendto(usable_socket(c), datagram, size, MSG_DONTWAIT | MSG_NOSIGNAL, daemon,
                          c->daemon.size);
    if (sent == (ssize_t)size) {
        c->counts.polls++;
        return KINO_OK;
    }
    c->counts.unsent++;
    (void)kino__fail_errno(err, errno, "cannot send to the daemon");
    return KINO_UNAVAILABLE;
}

void kino__fabric_send_report(const kino__fabric_client *c, const kino__fabric_report *report)
{
    unsigned char datagram[KINO__FABRIC_HEADER_BYTES + KINO__FABRIC_REPORT_BYTES + 1100];
    kino__fabric_report cut = *report;
    if (cut.text.size > 1100)
        cut.text.size = 1100;
    size_t size = kino__fabric_put_report(&cut, datagram, sizeof datagram);
    (void)sendto(kino__held_fd(&c->socket), datagram, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                 (const struct sockaddr *)&c->daemon.name, c->daemon.size);
}

/* The user who sent it, as the kernel says; -1: it does not. */
static int64_t sender_uid(struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
            c->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(c), sizeof sender);
            return sender.uid;
        }
    return -1;
}

static kino_status check_sender(const kino__fabric_client *c, struct msghdr *message,
                                const kino__fabric_address *from, kino_error *err)
{
    int64_t uid = sender_uid(message);
    if (!kino__fabric_address_equal(from, &c->daemon))
        return kino__fail(err, KINO_FORMAT, "received a datagram that is not from the daemon");
    if (uid < 0 || (uid != 0 && uid != (int64_t)geteuid() && uid != c->daemon_uid))
        return kino__fail(err, KINO_FORMAT,
                          "received a datagram from a daemon of user %lld (see KINO_DAEMON_UID)",
                          (long long)uid);
    return KINO_OK;
}

static kino_status receive(kino__fabric_client *c, void *buffer, size_t size, kino_str *text,
                           kino_error *err)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    kino__fabric_address from = {0};
    struct iovec part = {buffer, size};
    struct msghdr message = {.msg_name = &from.name,
                             .msg_namelen = sizeof from.name,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    kino__fabric_message content;
    ssize_t got = recvmsg(kino__held_fd(&c->socket), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR || errno == EBADF
                   ? KINO_NOT_FOUND
                   : kino__fail_errno(err, errno, "cannot read the daemon's answer");
    from.size = message.msg_namelen;
    KINO_TRY(check_sender(c, &message, &from, err));
    if (message.msg_flags & MSG_TRUNC)
        return kino__fail(err, KINO_FORMAT, "received a datagram of more than %zu bytes", size);
    KINO_TRY(kino__fabric_read((kino_str){buffer, (size_t)got}, &content, err));
    if (content.kind != KINO__FABRIC_REQ)
        return kino__fail(err, KINO_FORMAT, "received a datagram of an unknown type");
    *text = content.payload;
    return KINO_OK;
}

kino_status kino__fabric_receive(kino__fabric_client *c, void *buffer, size_t size, kino_str *text,
                                 kino_error *err)
{
    *text = (kino_str){"", 0};
    kino_status st = receive(c, buffer, size, text, err);
    if (st == KINO_OK) {
        c->counts.replies++;
        c->counts.texts += text->size > 0;
    } else if (st != KINO_NOT_FOUND) {
        c->counts.bad_replies++;
        st = KINO_FORMAT;
    }
    return st;
}
