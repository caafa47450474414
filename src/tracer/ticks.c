/* ticks.c - ticks and anchors. See ticks.h.
 *
 * Anchors are taken at the start, at the end, and ten times a second between; each is the tightest
 * of several tries. When a bank is full, every second anchor moves to the other one and they come
 * half as often, so that a recording of any length has them all over it. */
#include "tracer/ticks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#    include <cpuid.h>
#endif

#include "base/clock.h"
#include "base/str.h"
#include "tracer/alone.h"

enum { TRIES = 12 };
static const uint64_t first_interval_ns = 100000000;
static const uint64_t longest_interval_ns = 10000000000;
static const uint64_t alone_ns = (uint64_t)KINO__ALONE_MS * 1000000;

/* -- the counter */

/* The kernel lists a counter it does not trust no longer. */
static bool kernel_trusts_counter(void)
{
    char text[256];
    int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                  O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        close(fd);
    return size <= 0 || kino__str_contains((kino_str){text, (size_t)size}, KINO__STR("tsc"));
}

static bool has_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) && kernel_trusts_counter();
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

kino__ring_clock_kind kino__clock_choose(void)
{
    const char *wanted = getenv("KINO_CLOCK"); /* NOLINT(concurrency-mt-unsafe): read once */
    if (wanted && strcmp(wanted, "monotonic") == 0)
        return KINO__RING_CLOCK_MONOTONIC;
    (void)kernel_trusts_counter;
    return has_counter() ? KINO__RING_CLOCK_TSC : KINO__RING_CLOCK_MONOTONIC;
}

uint64_t kino__clock_ticks(uint32_t kind)
{
    return kind == KINO__RING_CLOCK_TSC ? kino_impl_v1_ticks()
                                        : (uint64_t)kino__clock_ns(CLOCK_MONOTONIC_RAW);
}

kino__ring_anchor kino__clock_anchor(uint32_t kind)
{
    kino__ring_anchor best = {.gap = UINT64_MAX};
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = kino__clock_ticks(kind);
        int64_t raw = kino__clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t after = kino__clock_ticks(kind);
        int64_t real = kino__clock_ns(CLOCK_REALTIME);
        if (after - before < best.gap)
            best = (kino__ring_anchor){before + (after - before) / 2, raw, real, after - before};
    }
    if (kind != KINO__RING_CLOCK_TSC)
        best.ticks = (uint64_t)best.raw_ns; /* the same clock: exact */
    return best;
}

/* -- anchors of a capture */

/* Every second anchor of the full bank, and the last, to the other bank, which then counts. */
static uint32_t thin_out(kino__ring_meta *meta, kino__ring_anchor *anchors)
{
    uint32_t from = meta->anchor_bank, to = 1 - from, kept = 0;
    const kino__ring_anchor *source = anchors + (size_t)from * KINO__RING_ANCHORS;
    kino__ring_anchor *target = anchors + (size_t)to * KINO__RING_ANCHORS;
    for (uint32_t i = 0; i < KINO__RING_ANCHORS; i += 2)
        target[kept++] = source[i];
    __atomic_store_n(&meta->anchor_count[to], kept, __ATOMIC_RELEASE);
    __atomic_store_n(&meta->anchor_bank, to, __ATOMIC_RELEASE);
    return to;
}

/* clock_lock is held. */
static void note(kino__capture *c)
{
    kino__ring_meta *meta = c->meta;
    uint32_t bank = meta->anchor_bank;
    if (meta->anchor_count[bank] == KINO__RING_ANCHORS) {
        bank = thin_out(meta, c->anchors);
        if (c->anchor_interval_ns < longest_interval_ns)
            c->anchor_interval_ns *= 2;
    }
    uint32_t count = meta->anchor_count[bank];
    kino__ring_anchor anchor = kino__clock_anchor(meta->clock);
    c->anchors[(size_t)bank * KINO__RING_ANCHORS + count] = anchor;
    __atomic_store_n(&meta->anchor_count[bank], count + 1, __ATOMIC_RELEASE);
    c->last_anchor_ns = (uint64_t)anchor.raw_ns;
}

void kino__clock_note(kino__tracer *t, kino__capture *c)
{
    pthread_mutex_lock(&t->clock_lock);
    if (!c->anchor_interval_ns)
        c->anchor_interval_ns = first_interval_ns;
    note(c);
    pthread_mutex_unlock(&t->clock_lock);
}

void kino__clock_note_lazily(kino__tracer *t, kino__capture *c)
{
    if (pthread_mutex_trylock(&t->clock_lock) != 0)
        return;
    if (!t->clock_runs && c->anchor_interval_ns &&
        (uint64_t)kino__clock_ns(CLOCK_MONOTONIC_RAW) - c->last_anchor_ns > c->anchor_interval_ns)
        note(c);
    pthread_mutex_unlock(&t->clock_lock);
}

/* -- the thread */

static void *run(void *context)
{
    kino__tracer *t = context;
    pthread_mutex_lock(&t->clock_lock);
    while (!t->clock_ends) {
        kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
        uint64_t pause = c->anchor_interval_ns < alone_ns ? c->anchor_interval_ns : alone_ns;
        uint64_t until = (uint64_t)kino__clock_ns(CLOCK_MONOTONIC) + pause;
        struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
        while (!t->clock_ends && pthread_cond_timedwait(&t->clock_wake, &t->clock_lock, &at) == 0)
            ;
        if (!t->clock_ends && (uint64_t)kino__clock_ns(CLOCK_MONOTONIC_RAW) - c->last_anchor_ns >=
                                  c->anchor_interval_ns / 16 * 15)
            note(c);
        if (!t->clock_ends && kino__is_alone()) { /* nobody is left to join us */
            t->clock_runs = false;
            (void)pthread_detach(pthread_self());
            break;
        }
    }
    pthread_mutex_unlock(&t->clock_lock);
    return NULL;
}

void kino__clock_thread_start(kino__tracer *t)
{
    pthread_mutex_lock(&t->clock_lock);
    t->clock_ends = false;
    t->clock_runs = kino__tracer_thread(&t->clock_thread, run, t);
    pthread_mutex_unlock(&t->clock_lock);
}

void kino__clock_thread_stop(kino__tracer *t)
{
    pthread_mutex_lock(&t->clock_lock);
    bool runs = t->clock_runs;
    t->clock_ends = true;
    t->clock_runs = false;
    pthread_cond_signal(&t->clock_wake);
    pthread_mutex_unlock(&t->clock_lock);
    if (runs)
        pthread_join(t->clock_thread, NULL);
}
