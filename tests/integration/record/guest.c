/* guest.c - what programs do that a recorder in the same process must not be in the way of. Each
 * has ranges of NVTX, so that there is something to record, but for `quiet ...`.
 *
 *   guest leave             the main thread ends by pthread_exit, the others after it
 *   guest filter HOW        a filter on system calls that kills: HOW is prctl, syscall or tsync
 *   guest exec              a filter that forbids what recorders do, then another program
 *   guest strict            the strictest filter there is
 *   guest unshare HOW       a user namespace of its own: HOW is libc or raw
 *   guest setns             its own mount namespace again: also for processes with one thread only
 *   guest descriptors       closes what it did not open, and uses the numbers
 *   guest session FILE      its own recording; then as leave (with libkino)
 *   guest range             one range; exit code 3
 *   guest killed            a range of a measured length, then SIGKILL */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nvtx_copy.h"
#ifdef WITH_KINO
#    include <kino/kino.h>
#endif

static int has_ranges = 1;

static void range(const char *name)
{
    if (!has_ranges)
        return;
    nvtxRangePushA(name);
    nvtxRangePop();
}

static void *work(void *name)
{
    usleep(50000);
    range(name);
    return NULL;
}

static int leave(void)
{
    pthread_t thread;
    range("main");
    pthread_create(&thread, NULL, work, "worker");
    pthread_exit(NULL);
}

/* -- filters */

enum { MOST = 64 };

/* All numbers of the list are allowed and others kill; or the other way round. */
static int set_filter(const int *numbers, int is_allowed, const char *how)
{
    struct sock_filter code[MOST + 4];
    unsigned count = 0;
    struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    unsigned hit = is_allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
    unsigned miss = is_allowed ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
    unsigned total = 0;
    while (numbers[total] >= 0)
        total++;
    code[count++] = load;
    for (unsigned i = 0; i < total; i++) {
        struct sock_filter test = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i],
                                           (unsigned char)(total - i), 0);
        code[count++] = test;
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, miss);
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, hit);
    struct sock_fprog program = {(unsigned short)count, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (strcmp(how, "prctl") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        strcmp(how, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

/* What the program itself needs: threads, memory, output, the end. */
static int filter(const char *how)
{
    static const int allowed[] = {SYS_write,
                                  SYS_exit,
                                  SYS_exit_group,
                                  SYS_futex,
                                  SYS_mmap,
                                  SYS_munmap,
                                  SYS_mprotect,
                                  SYS_madvise,
                                  SYS_brk,
                                  SYS_clone,
                                  SYS_clone3,
                                  SYS_rseq,
                                  SYS_set_robust_list,
                                  SYS_rt_sigprocmask,
                                  SYS_rt_sigaction,
                                  SYS_getrandom,
                                  SYS_nanosleep,
                                  SYS_clock_nanosleep,
                                  SYS_newfstatat,
                                  -1};
    pthread_t thread;
    range("before");
    if (set_filter(allowed, 1, how) != 0)
        return 77;
    range("inside");
    if (pthread_create(&thread, NULL, work, "thread inside") != 0)
        return 78;
    pthread_join(thread, NULL);
    return 6;
}

static int filtered_exec(char *self)
{
    static const int forbidden[] = {SYS_mkdir,           SYS_mkdirat,   SYS_fallocate,
                                    SYS_unlink,          SYS_prctl,     SYS_rmdir,
                                    SYS_clock_nanosleep, SYS_nanosleep, -1};
    if (set_filter(forbidden, 0, "syscall") != 0)
        return 77;
    execl(self, self, "range", (char *)NULL);
    return 79;
}

static int strict(void)
{
    range("before");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 77;
    range("inside");
    syscall(SYS_exit, 8);
    return 0;
}

/* -- namespaces */

static int say(const char *what, long result)
{
    printf("%s: %s %d\n", what, result == 0 ? "done" : "error", result == 0 ? 0 : errno);
    return 0;
}

static int namespaces(const char *how)
{
    range("before");
    say("unshare", strcmp(how, "raw") == 0 ? syscall(SYS_unshare, CLONE_NEWUSER)
                                           : (long)unshare(CLONE_NEWUSER));
    range("after");
    return say("twice", unshare(CLONE_NEWUSER | CLONE_NEWNS));
}

static int join_namespace(void)
{
    range("before");
    int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    say("setns", setns(fd, CLONE_NEWNS));
    say("raw setns", syscall(SYS_setns, fd, CLONE_NEWNS));
    say("a wrong one", setns(-1, CLONE_NEWNS));
    return say("a wrong unshare", unshare(-1));
}

/* -- the clock of a process that cannot stop */

static long long raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void killed(void)
{
    long long before = raw_ns();
    nvtxRangePushA("measured");
    long long begin = raw_ns();
    usleep(700000);
    long long end = raw_ns();
    nvtxRangePop();
    printf("%lld %lld\n", end - begin, raw_ns() - before);
    fflush(stdout);
    raise(SIGKILL);
}

/* -- descriptors: all that were open are closed, and all numbers mean one pipe of the program's */

enum { FIRST = 3, LAST = 1000 };

static int check_pipe(const int ends[2])
{
    char byte = 0;
    int lost = 0;
    for (int fd = FIRST; fd <= LAST; fd++)
        lost += fcntl(fd, F_GETFD) < 0;
    ssize_t got = read(ends[0], &byte, 1); /* the one that the program wrote, and no other */
    printf("closed: %d, read: %zd %d\n", lost, got, byte);
    got = read(ends[0], &byte, 1);
    printf("then: %zd %d\n", got, got < 0 ? errno == EAGAIN : 0);
    return 0;
}

static int descriptors(void)
{
    int ends[2];
    usleep(200000); /* whoever listens has begun */
    for (int fd = FIRST; fd <= LAST; fd++)
        close(fd);
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0 || write(ends[1], "x", 1) != 1)
        return 1;
    for (int fd = FIRST; fd <= LAST; fd++)
        if (fd != ends[0] && fd != ends[1])
            dup2(ends[fd % 2], fd);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR2); /* a request, if somebody listens */
        usleep(300000);
    }
    return check_pipe(ends);
}

#ifdef WITH_KINO
static int session(const char *path)
{
    pthread_t thread;
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.exit_path = path;
    if (kino_prepare(&options, NULL) != KINO_OK || kino_start(NULL) != KINO_OK)
        return 1;
    {
        KINO_ZONE("zone");
    }
    pthread_create(&thread, NULL, work, "worker");
    pthread_exit(NULL);
}
#endif

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *how = argc > 2 ? argv[2] : "";
    if (strcmp(what, "quiet") == 0 && argc > 2) {
        has_ranges = 0;
        what = argv[2];
        how = argc > 3 ? argv[3] : "";
    }
    if (strcmp(what, "leave") == 0)
        return leave();
    if (strcmp(what, "filter") == 0)
        return filter(how);
    if (strcmp(what, "exec") == 0)
        return filtered_exec(argv[0]);
    if (strcmp(what, "strict") == 0)
        return strict();
    if (strcmp(what, "unshare") == 0)
        return namespaces(how);
    if (strcmp(what, "setns") == 0)
        return join_namespace();
    if (strcmp(what, "descriptors") == 0)
        return descriptors();
#ifdef WITH_KINO
    if (strcmp(what, "session") == 0)
        return session(how);
#endif
    if (strcmp(what, "killed") == 0)
        killed();
    range("executed");
    return 3;
}
