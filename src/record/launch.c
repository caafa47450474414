/* launch.c - fork, exec and wait, with a gate before the exec.
 *
 * Signals: the terminal sends Ctrl+C to the whole group, so the program has it already; what others
 * send to us alone (kill, systemd, a batch system) is handed on. All arrive through a signalfd, so
 * nothing runs in handlers; behind the program's end a thread looks at it. Who ignores SIGCHLD
 * cannot wait, and neither a reader of our messages that is gone nor a limit of file sizes may end
 * us: these are set meanwhile. The program gets everything as we were started with. */
#include "record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

enum {
    NOT_RUN = 127,
    BEHIND_MS = 1000, /* a batch system that ends all of a job needs a moment */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* -- the child, up to its exec; only async-signal-safe calls */

static void fill_number(char *variable, unsigned long number)
{
    char *at = strchr(variable, '=') + 1 + 10;
    for (int i = 0; i < 11; i++, at--) {
        *at = (char)('0' + number % 10);
        number /= 10;
    }
}

static void run_child(const kino__program_launch *launch, const kino__launch_options *options,
                      int gate, int failure)
{
    char byte;
    ssize_t got;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* until exec: nobody would open the gate */
    do
        got = read(gate, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(NOT_RUN);
    (void)prctl(PR_SET_PDEATHSIG, 0);
    if (options->main)
        fill_number(options->main, (unsigned long)getpid());
    (void)sigaction(SIGCHLD, &launch->before_child, NULL);
    (void)sigaction(SIGPIPE, &launch->before_pipe, NULL);
    (void)sigaction(SIGXFSZ, &launch->before_size, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &launch->before, NULL);
    (void)execvpe(options->path, options->arguments, options->environment);
    int error = errno;
    if (write(failure, &error, sizeof error) < 0)
        _exit(NOT_RUN); /* nobody is there to hear it */
    _exit(NOT_RUN);
}

/* -- start */

static kino_status block_signals(kino__program_launch *l, kino_error *err)
{
    sigset_t ours;
    (void)sigemptyset(&ours);
    const int list[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        (void)sigaddset(&ours, list[i]);
    if (pthread_sigmask(SIG_BLOCK, &ours, &l->before) != 0)
        return kino__fail_errno(err, errno, "cannot block signals");
    l->is_blocking = true;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGCHLD, &usual, &l->before_child);
    (void)sigaction(SIGPIPE, &ignored, &l->before_pipe);
    (void)sigaction(SIGXFSZ, &ignored, &l->before_size);
    l->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    return l->signals >= 0 ? KINO_OK : kino__fail_errno(err, errno, "cannot wait for signals");
}

kino_status kino__launch_start(kino__program_launch *out, const kino__launch_options *options,
                               kino_error *err)
{
    int gate[2] = {-1, -1}, failure[2] = {-1, -1};
    *out = (kino__program_launch){.gate = -1, .failure = -1, .signals = -1, .wake = -1};
    KINO_TRY(block_signals(out, err));
    if (pipe2(gate, O_CLOEXEC) != 0)
        return kino__fail_errno(err, errno, "cannot create a pipe");
    if (pipe2(failure, O_CLOEXEC) != 0) {
        int error = errno;
        close(gate[0]);
        close(gate[1]);
        return kino__fail_errno(err, error, "cannot create a pipe");
    }
    out->pid = fork();
    if (out->pid == 0) {
        close(gate[1]);
        close(failure[0]);
        run_child(out, options, gate[0], failure[1]);
    }
    int error = errno;
    close(gate[0]);
    close(failure[1]);
    out->gate = gate[1];
    out->failure = failure[0];
    if (out->pid < 0) {
        out->pid = 0;
        return kino__fail_errno(err, error, "cannot create a process");
    }
    return KINO_OK;
}

kino_status kino__launch_go(kino__program_launch *l, kino_error *err)
{
    int error = 0;
    ssize_t got;
    bool is_open = write(l->gate, "x", 1) == 1;
    close_fd(&l->gate);
    if (!is_open)
        return kino__fail(err, KINO_IO, "the child process ended before it could run the program");
    do
        got = read(l->failure, &error, sizeof error); /* ends when exec closes the other side */
    while (got < 0 && errno == EINTR);
    close_fd(&l->failure);
    if (got != sizeof error)
        return KINO_OK;
    (void)waitpid(l->pid, &l->status, 0);
    l->pid = 0;
    (void)kino__fail_errno(err, error, "cannot run the program");
    return error == ENOENT || error == ENOTDIR ? KINO_NOT_FOUND : KINO_UNAVAILABLE;
}

/* -- wait */

/* -- behind the program's end */

/* Waits until a signal is there or `wake` is; false: it is. */
static bool wait_for_signal(const kino__program_launch *l)
{
    struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN}, {.fd = l->wake, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    return !(fds[1].revents & POLLIN);
}

/* What came up to now was for the program and us. */
static void drain(const kino__program_launch *l)
{
    struct signalfd_siginfo signal;
    while (read(l->signals, &signal, sizeof signal) == sizeof signal)
        ;
}

static void *run_watcher(void *context)
{
    kino__program_launch *l = context;
    struct pollfd wake = {.fd = l->wake, .events = POLLIN};
    struct signalfd_siginfo signal;
    if (poll(&wake, 1, BEHIND_MS) > 0)
        return NULL;
    drain(l);
    while (wait_for_signal(l))
        if (read(l->signals, &signal, sizeof signal) == sizeof signal &&
            signal.ssi_signo != SIGCHLD && signal.ssi_signo != SIGUSR1 &&
            signal.ssi_signo != SIGUSR2)
            __atomic_store_n(&l->is_told, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Without a thread signals wait until all is done. */
static void watch(kino__program_launch *l)
{
    l->wake = eventfd(0, EFD_CLOEXEC);
    l->has_watcher = l->wake >= 0 && pthread_create(&l->watcher, NULL, run_watcher, l) == 0;
}

static void end_watch(kino__program_launch *l)
{
    if (l->has_watcher) {
        (void)eventfd_write(l->wake, 1);
        (void)pthread_join(l->watcher, NULL);
    }
    l->has_watcher = false;
    close_fd(&l->wake);
}

static bool has_ended(kino__program_launch *l)
{
    if (l->pid && waitpid(l->pid, &l->status, WNOHANG) == l->pid) {
        l->pid = 0;
        watch(l);
    }
    return !l->pid;
}

/* From the terminal the program has it, too. */
static bool is_from_terminal(const struct signalfd_siginfo *signal)
{
    return signal->ssi_code == SI_KERNEL &&
           (signal->ssi_signo == SIGINT || signal->ssi_signo == SIGQUIT ||
            signal->ssi_signo == SIGHUP);
}

static void hand_on(const kino__program_launch *l)
{
    struct signalfd_siginfo signal;
    while (read(l->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGCHLD || is_from_terminal(&signal) || !l->pid)
            continue;
        if (signal.ssi_pid != (uint32_t)l->pid) /* not its own, back to itself */
            (void)kill(l->pid, (int)signal.ssi_signo);
    }
}

bool kino__launch_wait(kino__program_launch *l, int fd, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (has_ended(l))
        return true;
    if (poll(fds, fd >= 0 ? 2 : 1, timeout_ms) > 0 && (fds[0].revents & POLLIN))
        hand_on(l);
    return has_ended(l);
}

bool kino__launch_is_told_to_end(kino__program_launch *l)
{
    if (!has_ended(l))
        hand_on(l);
    return __atomic_load_n(&l->is_told, __ATOMIC_RELAXED);
}

void kino__launch_deinit(kino__program_launch *l)
{
    close_fd(&l->gate); /* a child behind it ends by itself */
    close_fd(&l->failure);
    if (l->pid > 0 && l->is_blocking) {
        (void)waitpid(l->pid, &l->status, 0);
        l->pid = 0;
    }
    end_watch(l);
    if (l->signals >= 0)
        drain(l); /* what came while all was finished is done with */
    close_fd(&l->signals);
    if (l->is_blocking) {
        (void)sigaction(SIGCHLD, &l->before_child, NULL);
        (void)sigaction(SIGPIPE, &l->before_pipe, NULL);
        (void)sigaction(SIGXFSZ, &l->before_size, NULL);
        (void)pthread_sigmask(SIG_SETMASK, &l->before, NULL);
    }
    l->is_blocking = false;
}
