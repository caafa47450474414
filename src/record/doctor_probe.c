/* doctor_probe.c - looking at what may crash or hang, from the safe side of a fork.
 *
 * The child has no output, its own time limit, and a page of shared memory for what it finds out;
 * the parent waits for the end of a pipe that the child alone holds. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/doctor.h"

enum { REAP_TRIES = 200 };

void kino__probe_stage(kino__probe_result *result, const char *stage)
{
    (void)snprintf(result->stage, sizeof result->stage, "%s", stage);
}

void kino__probe_text(kino__probe_result *result, size_t index, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(result->texts[index], KINO__PROBE_TEXT, format, args);
    va_end(args);
}

void *kino__probe_library(kino__probe_result *result, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        kino__probe_stage(result, names[i]);
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *why =
            library ? NULL : dlerror(); /* NOLINT(concurrency-mt-unsafe): one thread */
        if (library) {
            kino__probe_text(result, 0, "%s", names[i]);
            return library;
        }
        /* A library that is there and cannot be loaded says more than one that is not there. */
        if (why && (!result->texts[0][0] || !strstr(why, "No such file")))
            kino__probe_text(result, 0, "%s", why);
    }
    return NULL;
}

/* Gives the child's output to nobody, and lets it end with its parent. */
static void settle_child(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDIN_FILENO);
        (void)dup2(nowhere, STDOUT_FILENO);
        (void)dup2(nowhere, STDERR_FILENO);
    }
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpgid(0, 0); /* what it starts ends with it */
    static const int defaults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        (void)signal(defaults[i], SIG_DFL);
}

/* Did the other end of the pipe close in time? */
static bool wait_for_end(int fd, int timeout_ms)
{
    int64_t end = kino__clock_ms(CLOCK_MONOTONIC) + timeout_ms;
    for (;;) {
        int64_t left = end - kino__clock_ms(CLOCK_MONOTONIC);
        struct pollfd item = {.fd = fd, .events = POLLIN};
        if (poll(&item, 1, left > 0 ? (int)left : 0) > 0)
            return true;
        if (left <= 0)
            return false;
    }
}

static void run_child(kino__probe *probe, kino__probe_result *shared,
                      void (*look)(kino__probe_result *result, void *context), void *context,
                      const int ends[2], int timeout_ms)
{
    pid_t child = fork();
    if (child == 0) {
        settle_child();
        look(shared, context);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0)
        return;
    bool is_over = wait_for_end(ends[0], timeout_ms);
    if (!is_over) {
        (void)kill(-child, SIGKILL);
        (void)kill(child, SIGKILL);
    }
    int status = 0;
    bool is_gone = false;
    for (int i = 0; !is_gone && i < REAP_TRIES; i++) { /* one that sleeps in a driver may not die */
        is_gone = waitpid(child, &status, WNOHANG) == child;
        if (!is_gone)
            (void)poll(NULL, 0, 5);
    }
    probe->end = !is_over ? KINO__PROBE_HUNG : KINO__PROBE_DONE;
    if (is_over && is_gone && WIFSIGNALED(status)) {
        probe->end = KINO__PROBE_CRASHED;
        probe->signal = WTERMSIG(status);
    }
}

void kino__probe_run(kino__probe *probe, void (*look)(kino__probe_result *result, void *context),
                     void *context, int timeout_ms)
{
    int ends[2];
    *probe = (kino__probe){.end = KINO__PROBE_FAILED};
    kino__probe_result *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        run_child(probe, shared, look, context, ends, timeout_ms);
        close(ends[0]);
    }
    probe->result = *shared;
    (void)munmap(shared, sizeof *shared);
}

const char *kino__probe_story(kino__doctor *doctor, const kino__probe *probe, int timeout_ms)
{
    const char *stage = probe->result.stage[0] ? probe->result.stage : "the probe";
    switch (probe->end) {
    case KINO__PROBE_CRASHED:
        return kino__doctor_text(doctor, "%s crashed with signal %d", stage, probe->signal);
    case KINO__PROBE_HUNG:
        return kino__doctor_text(doctor, "%s did not return within %d s", stage, timeout_ms / 1000);
    case KINO__PROBE_FAILED:
        return "cannot create a process for the check";
    case KINO__PROBE_DONE:
        break;
    }
    return "";
}
