/* perf_waits.c - the stacks of threads that wait, where the kernel does not tell them.
 *
 * Without the right to see the kernel's side there is no sample when a thread leaves its processor:
 * its switches are all that is known. So whoever has been away for a while is looked at from
 * outside: /proc tells where in its code and stack it waits, process_vm_readv copies the stack. If
 * /proc says the same afterwards, the copy is of that wait; it is saved like a sample with a copied
 * stack. Waits that are over before anybody looks have no stack. Both need the right to trace the
 * program, which its parent has as long as the program does not change its user.
 *
 * Registers other than the stack pointer are unknown: walking ends at a frame that needs them; of
 * the frame pointer a good guess can be made. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/str.h"
#include "record/perf_internal.h"
#include "record/symbol_unwind.h"

enum {
    LOOK_EVERY_NS = 10000000,
    AWAY_NS = 2000000, /* before it is worth a look */
    PAGE = 4096,
    PIECES = KINO__PERF_STACK_BYTES / PAGE + 1,
};

/* The counter that these samples pretend to come from; the kernel counts its own from 1. */
static const uint64_t our_id = UINT64_MAX;

typedef struct waiter {
    int32_t pid, tid;
    int64_t left_ns; /* INT64_MAX: it runs, has ended, or was looked at */
} waiter;

/* The record of a sample with this stack, as the kernel would have written it. */
typedef struct sample_record {
    struct perf_event_header header;
    uint64_t id;
    int32_t pid, tid;
    uint64_t time_ns;
    uint64_t abi;
    uint64_t regs[KINO__UNWIND_REGS];
    uint64_t stack_bytes;
    unsigned char stack[KINO__PERF_STACK_BYTES];
    uint64_t used_bytes;
} sample_record;
static_assert(sizeof(sample_record) == 6 * 8 + 8 * KINO__UNWIND_REGS + KINO__PERF_STACK_BYTES + 8 &&
                  sizeof(sample_record) <= UINT16_MAX,
              "a record has no holes");

struct kino__perf_waits {
    KINO__VEC(waiter) threads;
    kino__map by_tid;
    kino__buffer bytes; /* records that the kernel wrapped round the end of the ring */
    int timer;
    sample_record record; /* the one at hand */
};

typedef struct place {
    uint64_t stack, code;
    char text[256]; /* what /proc said */
} place;

void kino__perf_waits_close(kino__perf *perf)
{
    kino__perf_waits *waits = perf->waits;
    if (!waits)
        return;
    if (waits->timer >= 0)
        (void)close(waits->timer);
    kino__vec_deinit(&waits->threads);
    kino__map_deinit(&waits->by_tid);
    kino__buffer_deinit(&waits->bytes);
    free(waits);
    perf->waits = NULL;
}

void kino__perf_waits_open(kino__perf *perf)
{
#if defined(                                                                                       \
    __x86_64__) /* elsewhere the return address is in a register, which /proc does not tell */
    const struct itimerspec every = {.it_value = {0, LOOK_EVERY_NS},
                                     .it_interval = {0, LOOK_EVERY_NS}};
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET};
    kino__perf_waits *waits = calloc(1, sizeof *waits);
    kino__perf_event *event = waits ? kino__vec_add(&perf->events) : NULL;
    if (!event) {
        free(waits);
        return;
    }
    *event = (kino__perf_event){.id = our_id,
                                .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
                                               PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
                                               PERF_SAMPLE_STACK_USER,
                                .regs = KINO__PERF_REGS,
                                .kind = KINO__PERF_SWITCH};
    kino__map_init(&waits->by_tid, NULL);
    waits->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    perf->waits = waits;
    if (waits->timer < 0 || timerfd_settime(waits->timer, 0, &every, NULL) != 0 ||
        epoll_ctl(perf->epoll, EPOLL_CTL_ADD, waits->timer, &wake) != 0)
        kino__perf_waits_close(perf);
#else
    (void)perf;
#endif
}

/* ---- who is away ---- */

static void set_left(kino__perf_waits *waits, int32_t pid, int32_t tid, int64_t left_ns)
{
    if (pid <= 0 || tid <= 0)
        return;
    if (!kino__vec_reserve(&waits->threads, 1))
        return;
    uint32_t *number = kino__map_put(&waits->by_tid, (uint32_t)tid, (uint32_t)waits->threads.count);
    if (!number)
        return;
    waits->threads.count += *number == waits->threads.count;
    waits->threads.items[*number] = (waiter){pid, tid, left_ns};
}

void kino__perf_waits_see(kino__perf *perf, const kino_str pieces[2])
{
    kino__perf_waits *waits = perf->waits;
    kino_str bytes = pieces[0];
    if (!waits)
        return;
    if (pieces[1].size) {
        waits->bytes.size = 0;
        kino__buffer_add(&waits->bytes, pieces[0]);
        kino__buffer_add(&waits->bytes, pieces[1]);
        bytes = kino__buffer_str(&waits->bytes);
    }
    kino__perf_record r;
    kino__perf_found found;
    for (size_t at = 0;
         (found = kino__perf_record_next(bytes, &at, perf->events.items, perf->events.count, &r)) !=
         KINO__PERF_END;) {
        if (found != KINO__PERF_RECORD)
            continue;
        if (r.type == PERF_RECORD_SWITCH)
            set_left(waits, r.pid, r.tid,
                     r.misc & PERF_RECORD_MISC_SWITCH_OUT ? r.time_ns : INT64_MAX);
        else if (r.type == PERF_RECORD_EXIT)
            set_left(waits, r.as.task.pid, r.as.task.tid, INT64_MAX);
    }
}

/* ---- where it waits ---- */

/* "NUMBER ARGUMENTS... SP PC", or "-1 SP PC"; "running" is no place. */
static bool find_place(const waiter *w, place *out)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", w->pid, w->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, out->text, sizeof out->text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (size <= 0)
        return false;
    out->text[size] = 0;
    char *code = strrchr(out->text, ' ');
    if (!code)
        return false;
    *code = 0;
    char *stack = strrchr(out->text, ' ');
    *code = ' ';
    out->code = strtoull(code, NULL, 16);
    out->stack = stack ? strtoull(stack, NULL, 16) : 0;
    return out->code && out->stack;
}

static size_t copy_stack(const waiter *w, uint64_t from, sample_record *to)
{
    struct iovec local = {to->stack, sizeof to->stack}, remote[PIECES];
    size_t left = KINO__PERF_STACK_BYTES, count = 0;
    while (left && count < PIECES) { /* page by page: the last one may not be there */
        size_t size = PAGE - from % PAGE;
        size = size < left ? size : left;
        remote[count++] = (struct iovec){(void *)(uintptr_t)from, size};
        from += size;
        left -= size;
    }
    ssize_t size = process_vm_readv(w->pid, &local, 1, remote, count, 0);
    return size > 0 ? (size_t)size & ~(size_t)7 : 0;
}

static void look(kino__perf *perf, const waiter *w)
{
    sample_record *record = &perf->waits->record;
    place before, after;
    if (!find_place(w, &before))
        return;
    size_t size = copy_stack(w, before.stack, record);
    if (!size || !find_place(w, &after) || strcmp(before.text, after.text) != 0)
        return;
    memset(record->regs, 0, sizeof record->regs);
    record->header = (struct perf_event_header){
        .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = sizeof *record};
    record->id = our_id;
    record->pid = w->pid;
    record->tid = w->tid;
    record->time_ns = (uint64_t)w->left_ns + 1; /* just behind the switch */
    record->abi = PERF_SAMPLE_REGS_ABI_64;
    record->regs[7] = before.stack; /* SP and IP in the kernel's order */
    record->regs[8] = before.code;
    record->stack_bytes = KINO__PERF_STACK_BYTES;
    record->used_bytes = size;
    kino__perf_spool_add(perf, (kino_str){(const char *)record, sizeof *record});
}

void kino__perf_waits_look(kino__perf *perf)
{
    kino__perf_waits *waits = perf->waits;
    struct timespec now;
    if (!waits || perf->is_paused || clock_gettime(CLOCK_MONOTONIC_RAW, &now) != 0)
        return;
    uint64_t ticks;
    (void)!read(waits->timer, &ticks, sizeof ticks);
    int64_t latest = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - AWAY_NS;
    for (size_t i = 0; i < waits->threads.count; i++) {
        waiter *w = &waits->threads.items[i];
        if (w->left_ns > latest)
            continue;
        look(perf, w);
        w->left_ns = INT64_MAX; /* once for each wait */
    }
}
