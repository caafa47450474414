/* access.c - see access.h. */
#include "daemon/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* -- whose connection */

uid_t kino__access_unix_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || size != sizeof peer)
        return KINO__NOBODY;
    return peer.uid;
}

typedef union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} any_address;

/* The question for the other end's socket: its source is our peer. */
static bool make_question(int fd, struct inet_diag_req_v2 *out)
{
    any_address own = {0}, peer = {0};
    socklen_t own_size = sizeof own, peer_size = sizeof peer;
    if (getsockname(fd, &own.any, &own_size) < 0 || getpeername(fd, &peer.any, &peer_size) < 0 ||
        own.any.sa_family != peer.any.sa_family)
        return false;
    *out = (struct inet_diag_req_v2){.sdiag_family = (unsigned char)own.any.sa_family,
                                     .sdiag_protocol = IPPROTO_TCP,
                                     .idiag_states = ~0u};
    out->id.idiag_cookie[0] = out->id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (own.any.sa_family == AF_INET) {
        out->id.idiag_sport = peer.v4.sin_port;
        out->id.idiag_dport = own.v4.sin_port;
        memcpy(out->id.idiag_src, &peer.v4.sin_addr, 4);
        memcpy(out->id.idiag_dst, &own.v4.sin_addr, 4);
        return true;
    }
    out->id.idiag_sport = peer.v6.sin6_port;
    out->id.idiag_dport = own.v6.sin6_port;
    memcpy(out->id.idiag_src, &peer.v6.sin6_addr, 16);
    memcpy(out->id.idiag_dst, &own.v6.sin6_addr, 16);
    return own.any.sa_family == AF_INET6;
}

/* A socket that nobody holds any more is said to be root's (user 0, inode 0): it is nobody's. */
static uid_t read_answer(const char *bytes, size_t size, const struct inet_diag_req_v2 *question)
{
    struct nlmsghdr header;
    struct inet_diag_msg found;
    if (size < NLMSG_HDRLEN + sizeof found)
        return KINO__NOBODY;
    memcpy(&header, bytes, sizeof header);
    memcpy(&found, bytes + NLMSG_HDRLEN, sizeof found);
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || found.idiag_inode == 0 ||
        found.idiag_state != TCP_ESTABLISHED || found.id.idiag_sport != question->id.idiag_sport ||
        found.id.idiag_dport != question->id.idiag_dport)
        return KINO__NOBODY;
    return found.idiag_uid;
}

uid_t kino__access_tcp_peer(int fd)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } message = {.header = {.nlmsg_len = sizeof message,
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST}};
    char answer[1024];
    if (!make_question(fd, &message.question))
        return KINO__NOBODY;
    int link = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (link < 0)
        return KINO__NOBODY;
    uid_t uid = KINO__NOBODY;
    /* The kernel answers before send returns. */
    if (send(link, &message, sizeof message, MSG_DONTWAIT) == (ssize_t)sizeof message) {
        ssize_t size = recv(link, answer, sizeof answer, MSG_DONTWAIT);
        if (size > 0)
            uid = read_answer(answer, (size_t)size, &message.question);
    }
    (void)close(link);
    return uid;
}

/* -- everybody's socket */

int kino__access_bind(int fd, const struct sockaddr *address, socklen_t size)
{
    if (address->sa_family != AF_UNIX)
        return bind(fd, address, size);
    if (fchmod(fd, 0666) < 0)
        return -1;
    mode_t mask = umask(0);
    int done = bind(fd, address, size);
    int wrong = errno;
    (void)umask(mask);
    errno = wrong;
    return done;
}

/* -- whose process */

kino_status kino__access_check(uid_t caller, const kino__process_identity *process, kino_error *err)
{
    kino__process_identity now;
    if (caller == KINO__NOBODY)
        return kino__fail(err, KINO_ARGUMENT, "the requesting user is unknown");
    if (!kino__process_identify(process->pid, &now) || now.start_time != process->start_time)
        return kino__fail(err, KINO_NOT_FOUND, "the process has ended");
    if (caller == 0)
        return KINO_OK;
    if (now.is_mixed)
        return kino__fail(err, KINO_ARGUMENT,
                          "the process has more privileges than its user; only root may trace it");
    if (now.uid != caller)
        return kino__fail(err, KINO_ARGUMENT,
                          "the process belongs to user %u; only that user and root may trace it",
                          (unsigned)now.uid);
    return KINO_OK;
}

/* -- with another user's eyes */

/* Our own groups, to come back to; -1: not taken down yet. */
static gid_t own_groups[KINO__PROCESS_GROUPS_MAX];
static int own_group_count = -1;

/* Of this thread alone, unlike the function of that name. */
static bool set_groups(size_t count, const gid_t *groups)
{
    return syscall(SYS_setgroups, count, groups) == 0;
}

bool kino__access_as(uid_t uid, gid_t gid)
{
    if (geteuid() != 0)
        return true;
    if (own_group_count < 0)
        own_group_count = getgroups(KINO__PROCESS_GROUPS_MAX, own_groups);
    /* Groups of ours would open what the user cannot: nothing is looked at with them. */
    if (own_group_count > 0 && !set_groups(0, NULL))
        return false;
    (void)setfsgid(gid);
    (void)setfsuid(uid); /* takes the capabilities that pass over permissions with it */
    /* These two never say that they failed: an invalid id changes nothing and tells the current. */
    return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

bool kino__access_with_groups(int32_t pid)
{
    gid_t groups[KINO__PROCESS_GROUPS_MAX];
    if (geteuid() != 0)
        return false;
    size_t count = kino__process_groups(pid, groups);
    return count && set_groups(count, groups);
}

void kino__access_self(void)
{
    if (geteuid() != 0)
        return;
    (void)setfsuid(0);
    (void)setfsgid(getegid());
    (void)set_groups(own_group_count > 0 ? (size_t)own_group_count : 0, own_groups);
}

/* -- giving up */

/* Other users' /proc and sockets, looking as they do, and counters of the processor. */
static const unsigned kept[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SETUID,
                                CAP_SETGID,       CAP_SYS_PTRACE,      CAP_PERFMON};

static bool is_kept(unsigned capability)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i] == capability)
            return true;
    return false;
}

kino_status kino__access_drop(kino_error *err)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return kino__fail_errno(err, errno, "cannot drop privileges");
    if (geteuid() != 0)
        return KINO_OK;
    (void)setgroups(0, NULL); /* they would count while looking as somebody else */
    own_group_count = 0;
    for (unsigned c = 0; c <= CAP_LAST_CAP; c++)
        if (!is_kept(c))
            (void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0); /* not allowed, or not known: no matter */
    if (syscall(SYS_capget, &header, data) < 0)
        return kino__fail_errno(err, errno, "cannot drop privileges");
    for (unsigned i = 0; i < 2; i++) {
        uint32_t keep = 0;
        for (unsigned bit = 0; bit < 32; bit++)
            if (is_kept(32 * i + bit))
                keep |= 1u << bit;
        data[i].permitted &= keep;
        data[i].effective &= keep;
        data[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &header, data) < 0)
        return kino__fail_errno(err, errno, "cannot drop privileges");
    return KINO_OK;
}
