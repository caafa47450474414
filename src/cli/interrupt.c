/* interrupt.c - the signal handler and its flag.
 *
 * The handler only stores, and calls dup2 and _exit, which are allowed there. A read from standard
 * input that waits for somebody to type would not notice the flag; so the handler puts /dev/null in
 * its place, and the read ends. */
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Globals, because a signal handler has no other argument. */
static bool asked;       /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables) */
static int nothing = -1; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables): /dev/null */

static void on_signal(int number)
{
    int before = errno;
    (void)number;
    if (__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED))
        _exit(130);
    if (nothing >= 0)
        (void)dup2(nothing, STDIN_FILENO);
    errno = before;
}

static void on_file_limit(int number)
{
    (void)number;
}

void kino__interrupt_install(void)
{
    nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* A write beyond the limit for files fails and is reported. Not ignored: programs that we start
     * would inherit that. */
    const struct sigaction fails = {.sa_handler = on_file_limit};
    (void)sigaction(SIGXFSZ, &fails, NULL);
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: waiting calls return */
    (void)sigemptyset(&action.sa_mask);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        /* Who started us in the background or under nohup has said that we shall not hear it. */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    }
}

bool kino__interrupt_was_asked(void)
{
    return __atomic_load_n(&asked, __ATOMIC_RELAXED);
}

const bool *kino__interrupt_flag(void)
{
    return &asked;
}
