/* thread_ring.c - slots and segments of threads. See thread_ring.h.
 *
 * The flight recorder must not give all segments to the first busy threads: who has some already
 * leaves the last quarter to others and writes over its own oldest one, sees to it that a few lie
 * ready for threads that come, and hands one over when it hears that somebody found none.
 *
 * In a capture nothing is written over: who comes goes on in a segment of a thread that has ended.
 * That one wrote down who it was (a record of kind THREAD), so that its slot is free, too. */
#include "tracer/thread_ring.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/alone.h"
#include "tracer/ticks.h"

enum {
    MARK_RECORDS = 2, /* what a thread leaves in its last segment: kind THREAD */
    WORTH_IT = 16,    /* records that must be free in a segment for another thread to go on in it */
    NO_SLOT = UINT32_MAX,
    MODEST = 4,       /* segments that a thread may have of the last quarter */
    READY = 8,        /* segments for threads that come; of small buffers a quarter */
    LIST_TRIES = 200, /* before a busy list counts as an empty one */
    EXIT_TRIES = 100, /* the same again, with pauses, before a thread's segments are lost */
    NAME_IS_GIVEN = 1,
};

/* The calling thread's part of a session. Segments are numbered from 1; 0 is none. */
typedef struct ring {
    kino__capture *capture;
    uint32_t session; /* 0: it takes no part */
    uint32_t slot;
    uint32_t oldest, newest, owned;
    uint32_t tid;
    uint64_t order;
    char name[32]; /* given by the program, or "" */
} ring;

/* The thread's own: NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
static __thread ring mine __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static bool has_key;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- counting */

/* NOLINTNEXTLINE(readability-non-const-parameter): stored through the atomic */
static void add(uint64_t *counter, uint64_t count)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + count, __ATOMIC_RELAXED);
}

static void count_drop(kino__capture *c, kino__ring_drop reason, uint64_t count)
{
    if (mine.session == kino__capture_session(c) && mine.slot != NO_SLOT)
        add(&c->threads[mine.slot].dropped[reason], count);
    else
        __atomic_fetch_add(&c->meta->dropped[reason], count, __ATOMIC_RELAXED);
}

void kino__ring_count(kino__tracer *t, kino__ring_drop reason, uint64_t count)
{
    kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
    if (c)
        count_drop(c, reason, count);
}

uint64_t kino__ring_dropped(const kino__capture *c)
{
    uint64_t sum = 0;
    for (int reason = 0; reason < KINO__DROP_OVERWRITTEN; reason++) {
        sum += __atomic_load_n(&c->meta->dropped[reason], __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < KINO__RING_THREADS; i++)
            sum += __atomic_load_n(&c->threads[i].dropped[reason], __ATOMIC_RELAXED);
    }
    return sum;
}

/* -- segments */

static bool lock_list(kino__capture *c)
{
    for (int i = 0; i < LIST_TRIES; i++)
        if (!__atomic_exchange_n(&c->list_lock, 1, __ATOMIC_ACQUIRE))
            return true;
    return false;
}

static void unlock_list(kino__capture *c)
{
    __atomic_store_n(&c->list_lock, 0, __ATOMIC_RELEASE);
}

static void link_next(kino__capture *c, uint32_t segment, uint32_t next)
{
    __atomic_store_n(&kino__capture_segment(c, segment - 1)->next, next, __ATOMIC_RELAXED);
}

/* A segment that was never used. */
static uint32_t take_fresh(kino__capture *c)
{
    uint32_t next = __atomic_load_n(&c->next_segment, __ATOMIC_RELAXED);
    uint32_t end = c->segment_count;
    if (c->mode == KINO_MODE_FLIGHT && mine.owned >= MODEST)
        end -= end / 4;
    while (next < end)
        if (__atomic_compare_exchange_n(&c->next_segment, &next, next + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return next + 1;
    return 0;
}

/* The oldest of those that threads left behind. */
static uint32_t take_left(kino__capture *c)
{
    if (!__atomic_load_n(&c->free_first, __ATOMIC_RELAXED) || !lock_list(c))
        return 0;
    uint32_t taken = c->free_first;
    if (taken) {
        uint32_t next = kino__capture_segment(c, taken - 1)->next;
        __atomic_store_n(&c->free_first, next, __ATOMIC_RELAXED);
        if (!next)
            c->free_last = 0;
        __atomic_store_n(&c->free_count, c->free_count - 1, __ATOMIC_RELAXED);
    }
    unlock_list(c);
    return taken;
}

/* `first` to `last` are linked. */
static void add_left(kino__capture *c, uint32_t first, uint32_t last, uint32_t count)
{
    if (c->free_last)
        link_next(c, c->free_last, first);
    else
        __atomic_store_n(&c->free_first, first, __ATOMIC_RELAXED);
    c->free_last = last;
    __atomic_store_n(&c->free_count, c->free_count + count, __ATOMIC_RELAXED);
}

static uint32_t take_own(kino__capture *c)
{
    uint32_t taken = mine.oldest;
    if (taken) {
        mine.oldest = kino__capture_segment(c, taken - 1)->next;
        mine.owned--;
        if (!mine.oldest)
            mine.newest = 0;
    }
    return taken;
}

/* The segment is this thread's, from its count on. */
static void own_segment(kino__tracer *t, kino__capture *c, kino_impl_v1_segment *s, uint32_t taken,
                        uint64_t generation)
{
    __atomic_store_n(&s->order, mine.order++, __ATOMIC_RELAXED);
    __atomic_store_n(&s->slot, mine.slot, __ATOMIC_RELAXED);
    __atomic_store_n(&s->tid, mine.tid, __ATOMIC_RELAXED);
    __atomic_store_n(&s->taken, kino__clock_ticks(c->meta->clock), __ATOMIC_RELAXED);
    __atomic_store_n(&s->next, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->stamp, (uint64_t)kino_impl_v1_self.owner << 16 | generation,
                     __ATOMIC_RELEASE);
    if (mine.newest)
        link_next(c, mine.newest, taken);
    else
        mine.oldest = taken;
    mine.newest = taken;
    mine.owned++;
    kino__clock_note_lazily(t, c);
}

/* One that a thread which has ended did not fill, with room for so many records; or NULL. The
 * generation stays: references to what stands in it are good. */
static kino_impl_v1_segment *adopt(kino__tracer *t, kino__capture *c, uint32_t need)
{
    if (!__atomic_load_n(&c->left_first, __ATOMIC_RELAXED) || !lock_list(c))
        return NULL;
    uint32_t taken = c->left_first;
    kino_impl_v1_segment *s = taken ? kino__capture_segment(c, taken - 1) : NULL;
    if (s && s->count + need + MARK_RECORDS > KINO_IMPL_V1_SEGMENT_RECORDS)
        s = NULL;
    if (s)
        __atomic_store_n(&c->left_first, s->next, __ATOMIC_RELAXED);
    unlock_list(c);
    if (s)
        own_segment(t, c, s, taken, s->reserved[0]);
    return s;
}

/* Makes the segment ours. The stamp is 0 in between: who copies it now throws the copy away. */
static kino_impl_v1_segment *begin_segment(kino__tracer *t, kino__capture *c, uint32_t taken)
{
    kino_impl_v1_segment *s = kino__capture_segment(c, taken - 1);
    uint64_t generation = (s->reserved[0] + 1) & 0xffff;
    if (!kino__capture_is_young(c, generation))
        generation = (__atomic_load_n(&c->generation, __ATOMIC_RELAXED) + 1) & 0xffff;
    count_drop(c, KINO__DROP_OVERWRITTEN, s->count);
    (void)__atomic_exchange_n(&s->stamp, 0, __ATOMIC_SEQ_CST); /* before all that follows */
    __atomic_store_n(&s->count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->reserved[0], generation, __ATOMIC_RELAXED);
    __atomic_store_n(&s->reserved[1], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->index, taken - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->session, mine.session, __ATOMIC_RELAXED);
    own_segment(t, c, s, taken, generation);
    return s;
}

/* Our oldest segment for whoever found none, or will come. */
static void share(kino__capture *c)
{
    if (!lock_list(c))
        return;
    uint32_t given = take_own(c);
    kino_impl_v1_segment *segment = kino__capture_segment(c, given - 1);
    /* it may lie there while younger ones are written over: no hole, it is empty from now on */
    count_drop(c, KINO__DROP_OVERWRITTEN, segment->count);
    (void)__atomic_exchange_n(&segment->stamp, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&segment->count, 0, __ATOMIC_RELAXED);
    link_next(c, given, 0);
    add_left(c, given, given, 1);
    __atomic_store_n(&c->hungry, 0, __ATOMIC_RELAXED);
    unlock_list(c);
}

/* The flight recorder's, when none is left that was never used. */
static uint32_t take_again(kino__capture *c)
{
    uint32_t ready = c->segment_count / 4 < READY ? c->segment_count / 4 : READY;
    uint32_t left = __atomic_load_n(&c->free_count, __ATOMIC_RELAXED);
    bool is_modest = mine.owned < MODEST;
    bool is_asked = __atomic_load_n(&c->hungry, __ATOMIC_RELAXED) && mine.owned >= 2;
    if (is_asked || (!is_modest && left == 0))
        share(c);
    uint32_t taken = !is_asked && (is_modest || left > ready) ? take_left(c) : 0;
    if (!taken)
        taken = take_own(c);
    if (!taken)
        __atomic_store_n(&c->hungry, 1, __ATOMIC_RELAXED);
    return taken;
}

static kino_impl_v1_segment *next_segment(kino__tracer *t, kino__capture *c, uint32_t need)
{
    kino_impl_v1_segment *adopted = adopt(t, c, need);
    if (adopted)
        return adopted;
    uint32_t taken = take_fresh(c);
    if (!taken && c->mode == KINO_MODE_FLIGHT)
        taken = take_again(c);
    return taken ? begin_segment(t, c, taken) : NULL;
}

/* -- joining and leaving a session */

static bool claim(kino__capture *c, uint32_t slot)
{
    uint32_t free_slot = 0;
    return __atomic_compare_exchange_n(&c->slots[slot], &free_slot, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* A slot nobody had yet; then (its counts go to the session's) one whose thread has exited. */
static uint32_t take_slot(kino__capture *c)
{
    uint32_t next = __atomic_load_n(&c->next_slot, __ATOMIC_RELAXED);
    while (next < KINO__RING_THREADS)
        if (__atomic_compare_exchange_n(&c->next_slot, &next, next + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return claim(c, next) ? next : NO_SLOT;
    for (uint32_t i = 0; i < KINO__RING_THREADS; i++) {
        kino__ring_thread *thread = &c->threads[i];
        if (!claim(c, i))
            continue;
        for (int reason = 0; reason < KINO__DROP_COUNT; reason++) {
            __atomic_fetch_add(&c->meta->dropped[reason], thread->dropped[reason],
                               __ATOMIC_RELAXED);
            __atomic_store_n(&thread->dropped[reason], 0, __ATOMIC_RELAXED);
        }
        return i;
    }
    return NO_SLOT;
}

static void set_name(kino__ring_thread *thread, const char *name)
{
    char padded[sizeof thread->name] = "";
    memcpy(padded, name, strnlen(name, sizeof padded - 1));
    for (size_t i = 0; i < sizeof padded; i += 8) { /* a reader may look meanwhile */
        uint64_t word;
        memcpy(&word, padded + i, 8);
        __atomic_store_n((uint64_t *)(void *)(thread->name + i), word, __ATOMIC_RELAXED);
    }
}

/* False: the session has ended meanwhile. */
static bool join(kino__tracer *t, kino__capture *c, uint32_t session)
{
    char name[32];
    if (!kino__capture_enter(c, session))
        return false;
    kino__ring_quit();
    memcpy(name, mine.name, sizeof name);
    mine = (ring){.capture = c, .session = session, .slot = take_slot(c)};
    memcpy(mine.name, name, sizeof name);
    bool is_quiet = __atomic_load_n(&t->is_quiet, __ATOMIC_RELAXED);
    mine.tid = is_quiet ? kino__quiet_tid() : (uint32_t)syscall(SYS_gettid);
    kino_impl_v1_self =
        (kino_impl_v1_thread){.session = KINO_IMPL_V1_NO_SESSION,
                              .owner = __atomic_add_fetch(&t->next_owner, 1, __ATOMIC_RELAXED)};
    if (has_key)
        (void)pthread_setspecific(key, &mine);
    if (mine.slot == NO_SLOT)
        return true;
    kino__ring_thread *thread = &c->threads[mine.slot];
    __atomic_store_n(&thread->state, KINO__THREAD_FREE, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->owner, kino_impl_v1_self.owner, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->tid, mine.tid, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->reserved, mine.name[0] ? NAME_IS_GIVEN : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->first_ticks, kino__clock_ticks(c->meta->clock), __ATOMIC_RELAXED);
    __atomic_store_n(&thread->exit_ticks, 0, __ATOMIC_RELAXED);
    if (!mine.name[0] && !is_quiet)
        (void)prctl(PR_GET_NAME, name);
    name[mine.name[0] ? 31 : 15] = '\0';
    set_name(thread, name);
    __atomic_store_n(&thread->state, KINO__THREAD_LIVE, __ATOMIC_RELEASE);
    return true;
}

static bool lock_list_patiently(kino__capture *c)
{
    bool is_mine = lock_list(c);
    for (int i = 0; !is_mine && i < EXIT_TRIES; i++) {
        (void)sched_yield();
        is_mine = lock_list(c);
    }
    return is_mine;
}

/* The flight recorder's other threads may have the segments now, oldest first. */
static void leave_segments(kino__capture *c)
{
    if (!mine.oldest || !lock_list_patiently(c))
        return;
    add_left(c, mine.oldest, mine.newest, mine.owned);
    unlock_list(c);
}

/* Writes down who had the segment up to here. False: there is no room. */
static bool leave_mark(const kino__capture *c, kino_impl_v1_segment *s)
{
    const kino__ring_thread *thread = &c->threads[mine.slot];
    uint32_t count = s->count;
    uint64_t name[4];
    if (count + MARK_RECORDS > KINO_IMPL_V1_SEGMENT_RECORDS)
        return false;
    for (int i = 0; i < 4; i++) /* others may be naming it */
        name[i] = __atomic_load_n((const uint64_t *)(const void *)(thread->name + i * 8),
                                  __ATOMIC_RELAXED);
    kino_impl_v1_record *record = &s->records[count];
    kino_impl_v1_fill(record + 1, name[0], name[1], name[2], name[3]);
    kino_impl_v1_fill(record, s->taken, kino__clock_ticks(c->meta->clock),
                      kino_impl_v1_head((uint32_t)s->order, KINO_IMPL_V1_THREAD, 0, 1),
                      (uint64_t)kino_impl_v1_self.owner << 32 | mine.tid);
    __atomic_store_n(&s->reserved[1], s->reserved[1] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->count, count + MARK_RECORDS, __ATOMIC_RELEASE);
    return true;
}

/* Somebody else may go on in the last segment, and have the slot. Where the mark finds no room the
 * slot stays as it is: it is all that is known of the thread. */
static bool leave_room(kino__capture *c)
{
    if (!mine.newest)
        return true;
    uint32_t left = mine.newest;
    kino_impl_v1_segment *s = kino__capture_segment(c, left - 1);
    if (!leave_mark(c, s))
        return false;
    if (s->count + WORTH_IT <= KINO_IMPL_V1_SEGMENT_RECORDS && lock_list_patiently(c)) {
        link_next(c, left, c->left_first);
        __atomic_store_n(&c->left_first, left, __ATOMIC_RELAXED);
        unlock_list(c);
    }
    return true;
}

static void leave(void *unused)
{
    (void)unused;
    kino__capture *c = mine.session ? mine.capture : NULL;
    if (c && mine.slot != NO_SLOT) {
        kino__ring_thread *thread = &c->threads[mine.slot];
        __atomic_store_n(&thread->exit_ticks, kino__clock_ticks(c->meta->clock), __ATOMIC_RELAXED);
        __atomic_store_n(&thread->state, KINO__THREAD_EXITED, __ATOMIC_RELEASE);
        bool is_flight = c->mode == KINO_MODE_FLIGHT;
        if (is_flight)
            leave_segments(c);
        if (is_flight || leave_room(c))
            __atomic_store_n(&c->slots[mine.slot], 0, __ATOMIC_RELEASE);
    }
    kino__ring_quit();
}

void kino__ring_quit(void)
{
    kino__capture *c = mine.capture;
    kino__ring_forget();
    if (c)
        kino__capture_leave(c);
}

void kino__ring_forget(void)
{
    kino_impl_v1_self = (kino_impl_v1_thread){.session = KINO_IMPL_V1_NO_SESSION};
    mine.session = 0;
    mine.capture = NULL;
}

void kino__ring_load(void)
{
    has_key = pthread_key_create(&key, leave) == 0;
}

/* -- room */

kino_impl_v1_segment *kino__ring_room(kino__tracer *t, uint32_t need)
{
    uint32_t active = __atomic_load_n(&t->active, __ATOMIC_ACQUIRE);
    kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
    uint32_t session = active & INT32_MAX;
    if (!session || !c || kino__capture_session(c) != session)
        return NULL;
    if (mine.session != session && !join(t, c, session))
        return NULL;
    if (mine.slot == NO_SLOT) {
        count_drop(c, KINO__DROP_THREADS, 1);
        return NULL;
    }
    kino_impl_v1_segment *segment = kino_impl_v1_self.segment;
    if (!segment || segment->count + need > KINO_IMPL_V1_SEGMENT_RECORDS) {
        segment = next_segment(t, c, need);
        if (!segment) {
            count_drop(c, KINO__DROP_FULL, 1);
            return NULL;
        }
        kino_impl_v1_self.segment = segment;
        kino_impl_v1_self.session = session; /* not `active`: a slow session stays slow */
    }
    return segment;
}

uint64_t kino__ring_write(kino__tracer *t, uint64_t start, uint64_t end, uint64_t head,
                          uint64_t aux, const void *payload, size_t size)
{
    uint32_t following = kino__ring_records_for(size);
    kino_impl_v1_segment *segment = kino__ring_room(t, 1 + following);
    if (!segment)
        return 0;
    uint32_t count = segment->count;
    kino_impl_v1_record *record = &segment->records[count];
    uint64_t span = segment->stamp << 48 | (uint64_t)(uintptr_t)record;
    const char *from = payload;
    for (uint32_t i = 1; i <= following; i++, from += KINO__RING_RECORD_SIZE) {
        uint64_t words[4] = {0};
        size_t left = size - (size_t)(i - 1) * KINO__RING_RECORD_SIZE;
        memcpy(words, from, left < sizeof words ? left : sizeof words);
        kino_impl_v1_fill(record + i, words[0], words[1], words[2], words[3]);
    }
    uint32_t clock = mine.capture->meta->clock;
    if (clock != KINO__RING_CLOCK_TSC)
        span = (span ^ (uint64_t)0xffff << 48) | KINO_IMPL_V1_SLOW_CLOCK;
    head |= (uint64_t)following << 48;
    kino_impl_v1_fill(record, start ? start : kino__clock_ticks(clock), end, head, aux);
    __atomic_store_n(&segment->count, count + 1 + following, __ATOMIC_RELEASE);
    return span;
}

/* -- names */

void kino__ring_rename(kino__tracer *t, const char *name)
{
    size_t size = strnlen(name, sizeof mine.name - 1);
    memcpy(mine.name, name, size);
    mine.name[size] = '\0';
    kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
    if (!c || mine.session != kino__capture_session(c) || mine.slot == NO_SLOT)
        return;
    __atomic_store_n(&c->threads[mine.slot].reserved, NAME_IS_GIVEN, __ATOMIC_RELAXED);
    set_name(&c->threads[mine.slot], mine.name);
}

void kino__ring_refresh_names(kino__capture *c)
{
    for (uint32_t i = 0; i < KINO__RING_THREADS; i++) {
        kino__ring_thread *thread = &c->threads[i];
        if (__atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) != KINO__THREAD_LIVE ||
            __atomic_load_n(&thread->reserved, __ATOMIC_RELAXED) == NAME_IS_GIVEN)
            continue;
        char path[64], name[32];
        (void)snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread->tid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd >= 0 ? read(fd, name, sizeof name - 1) : -1;
        if (fd >= 0)
            close(fd);
        if (size <= 1)
            continue;
        name[size - 1] = '\0'; /* a newline */
        set_name(thread, name);
    }
}
