/* itt_control.c - ITT's switches: a program says which part of it is worth being recorded.
 *
 * They are the whole process's, not the calling thread's. Names (domains, strings, threads) are
 * taken while it is paused, as ITT says. The trace has a mark for each, and `kino record` hears of
 * them in its log, because samples are taken from outside. */
#include "inject/itt.h"
#include "tracer/tracer.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the process */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void mark(const char *text)
{
    if (!kino__inject_is_on())
        return;
    kino__inject_name name = kino__inject_find(text, true);
    (void)kino__inject_record(&name, text);
}

void kino__itt_pause(void)
{
    pthread_mutex_lock(&lock);
    if (!kino__session_is_paused()) {
        mark("recording paused (__itt_pause)");
        kino__session_pause(true);
        kino__inject_log_pause(true);
    }
    pthread_mutex_unlock(&lock);
}

void kino__itt_resume(void)
{
    pthread_mutex_lock(&lock);
    if (kino__session_is_paused()) {
        kino__inject_log_pause(false);
        kino__session_pause(false);
        mark("recording resumed (__itt_resume)");
    }
    pthread_mutex_unlock(&lock);
}
