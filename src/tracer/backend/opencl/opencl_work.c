/* opencl_work.c - commands that are under way. See opencl_internal.h.
 *
 * The program's thread records its call and puts the command, with a reference to its event, into a
 * list. A thread of ours looks from time to time which commands are done (it never waits for one:
 * that would make the runtime flush the program's queues), has rows made of them (opencl_rows.c)
 * and lets the events go.
 *
 *   program ──► incoming ──► waiting ──► done: recorded, released
 *               (lock)       (drain_lock, taken before lock)
 *
 * `lock` is held for some ten instructions and spins; the others are ordinary ones. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/prefetch.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/opencl/opencl_internal.h"
#include "wire/injection.h"

enum {
    COMMANDS_MAX = 1 << 16, /* commands under way that are kept; further ones are lost */
    WAKE_AT = 2048,         /* new commands that wake the collector before its time */
    PERIOD_NS = 10000000,   /* of the collector */
    PAUSE_NS = 200000,      /* between looks when a session ends */
    TABLE_MAX = 1 << 20,    /* handles that are remembered */
    NUMBERS = 64,           /* correlations a thread takes at a time */
    SAMPLES_AT_FIRST = 256, /* commands whose call is timed for the clock; then one of 16 */
};

typedef struct table {
    struct {
        const void *key;
        void *value;
    } * slots;
    size_t size, count; /* size: a power of two, or 0 */
} table;

typedef struct commands {
    kino__opencl_command *items;
    size_t count, room;
} commands;

/* A layer is called without a handle of its own: its state is the process's.
 * NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
static struct {
    uint32_t lock; /* spin; of tables and incoming */
    pthread_mutex_t drain_lock;
    table queues, kernels;
    commands incoming, waiting; /* waiting: drain_lock */
    uint64_t pass;              /* drain_lock */
    uint32_t stream_count;
    int32_t samples; /* atomic: so many more calls are timed for the clock */
    pthread_t thread;
    pthread_mutex_t sleep_lock; /* of the collector: */
    pthread_cond_t wake;
    bool runs, ends;
} state = {.drain_lock = PTHREAD_MUTEX_INITIALIZER, .sleep_lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static void lock(void)
{
    while (__atomic_exchange_n(&state.lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(void)
{
    __atomic_store_n(&state.lock, 0, __ATOMIC_RELEASE);
}

/* -- handles */

static size_t place_of(const table *t, const void *key)
{
    size_t at = (size_t)((uintptr_t)key * 0x9e3779b97f4a7c15u >> 20) & (t->size - 1);
    while (t->slots[at].key && t->slots[at].key != key)
        at = (at + 1) & (t->size - 1);
    return at;
}

static void *table_find(const table *t, const void *key)
{
    return t->size ? t->slots[place_of(t, key)].value : NULL;
}

static bool table_grow(table *t)
{
    table bigger = {.size = t->size ? 2 * t->size : 256};
    if (bigger.size > TABLE_MAX || !(bigger.slots = calloc(bigger.size, sizeof *bigger.slots)))
        return false;
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].key)
            bigger.slots[place_of(&bigger, t->slots[i].key)] = t->slots[i];
    bigger.count = t->count;
    free(t->slots);
    *t = bigger;
    return true;
}

/* An address that is used again gets its new meaning. False: there is no room. */
static bool table_put(table *t, const void *key, void *value)
{
    if (t->count * 2 >= t->size && !table_grow(t))
        return false;
    size_t at = place_of(t, key);
    t->count += t->slots[at].key == NULL;
    t->slots[at].key = key;
    t->slots[at].value = value;
    return true;
}

/* -- queues and kernels */

static kino__opencl_queue *find_queue(cl_command_queue handle)
{
    return table_find(&state.queues, handle);
}

const kino__opencl_queue *kino__opencl_find_queue(cl_command_queue handle)
{
    lock();
    const kino__opencl_queue *queue = find_queue(handle);
    unlock();
    return queue;
}

/* The program's own list, for when it asks. */
static void keep_properties(kino__opencl_queue *queue, const cl_queue_properties *asked)
{
    size_t count = 0;
    while (asked && asked[count])
        count += 2;
    if (!asked || !(queue->asked = malloc((count + 1) * sizeof *asked)))
        return;
    memcpy(queue->asked, asked, (count + 1) * sizeof *asked);
    queue->asked_count = count + 1;
}

/* The lock is held. Events keep their queue, so when its address is used again the old one has
 * none under way, and its place is the new one's. */
static bool put_queue(const kino__opencl_queue *made)
{
    kino__opencl_queue *queue = find_queue(made->handle);
    if (queue) {
        free(queue->asked);
    } else {
        queue = malloc(sizeof *queue);
        if (!queue || !table_put(&state.queues, made->handle, queue)) {
            free(queue);
            return false;
        }
    }
    *queue = *made;
    queue->stream = ++state.stream_count;
    return true;
}

void kino__opencl_add_queue(cl_command_queue handle, cl_device_id device, bool has_times,
                            cl_command_queue_properties flags, const cl_queue_properties *asked)
{
    kino__opencl_queue made = {.handle = handle, .device = kino__opencl_add_device(device)};
    made.has_times = has_times && made.device != KINO_DEVICE_HOST;
    made.asked_for_it = flags & CL_QUEUE_PROFILING_ENABLE;
    made.is_in_order = !(flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    keep_properties(&made, asked);
    lock();
    bool is_there = put_queue(&made);
    unlock();
    if (!is_there)
        free(made.asked);
    __atomic_store_n(&state.samples, SAMPLES_AT_FIRST, __ATOMIC_RELAXED);
}

/* A queue that did not come by us (an extension's function made it). */
static void ask_queue(cl_command_queue handle)
{
    cl_device_id device = NULL;
    cl_command_queue_properties flags = 0;
    const cl_icd_dispatch *target = &kino__opencl_target;
    if (target->clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL) !=
            CL_SUCCESS ||
        target->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof flags, &flags, NULL) !=
            CL_SUCCESS)
        return;
    kino__opencl_add_queue(handle, device, flags & CL_QUEUE_PROFILING_ENABLE, flags, NULL);
}

void kino__opencl_add_kernel(cl_kernel kernel)
{
    char name[1024];
    const kino_device_host *host = kino__opencl_host;
    if (!host || kino__opencl_target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name,
                                                     name, NULL) != CL_SUCCESS)
        return;
    name[sizeof name - 1] = '\0';
    uint32_t text = host->name(host, KINO_DEVICE_KERNEL, name);
    lock();
    (void)table_put(&state.kernels, kernel, (void *)(uintptr_t)text); /* or asked for again */
    unlock();
}

/* Everything about the command that is known by handles; false when a handle is new. */
static bool resolve(kino__opencl_work *work)
{
    kino__opencl_command *c = &work->command;
    c->queue = find_queue(work->queue);
    c->name = work->kernel ? (uint32_t)(uintptr_t)table_find(&state.kernels, work->kernel)
                           : kino__opencl_calls[c->number].work_text;
    return c->queue && c->name;
}

/* -- from the program into the list */

static bool commands_grow(commands *list)
{
    size_t room = list->room ? 2 * list->room : 1024;
    kino__opencl_command *items =
        room <= COMMANDS_MAX ? aligned_alloc(64, room * sizeof *items) : NULL;
    if (!items)
        return false;
    if (list->count)
        memcpy(items, list->items, list->count * sizeof *items);
    free(list->items);
    list->items = items;
    list->room = room;
    return true;
}

/* Not more than there is. */
static void copy_command(kino__opencl_command *to, const kino__opencl_command *from)
{
    memcpy(to, from, offsetof(kino__opencl_command, amount.sizes[2]));
    if (from->dims > 2)
        to->amount.sizes[2] = from->amount.sizes[2];
    if (from->has_stamps) {
        to->before = from->before;
        to->after = from->after;
    }
}

static bool commands_add(commands *list, const kino__opencl_command *command)
{
    if (list->count == list->room && !commands_grow(list))
        return false;
    copy_command(&list->items[list->count++], command);
    kino__prefetch_to_write(&list->items[list->count]);
    return true;
}

/* Numbers come in blocks, so that threads do not meet at each command. */
static uint64_t next_number(const kino_device_host *host)
{
    static __thread uint64_t next __attribute__((tls_model("initial-exec")));
    if (next % NUMBERS == 0)
        next = host->correlations(host, NUMBERS);
    return next++;
}

cl_event *kino__opencl_enter(kino__opencl_work *work, kino__opencl_call number,
                             cl_command_queue queue, cl_event *event)
{
    const kino_device_host *host = kino__opencl_host;
    kino__opencl_command *c = &work->command;
    work->call = 0;
    if (!host)
        return event;
    c->event = NULL;
    c->correlation = next_number(host);
    c->number = (uint16_t)number;
    c->dims = 0;
    c->has_local = c->has_stamps = false;
    work->asked = event;
    work->queue = queue;
    work->call = host->call_begin(host, kino__opencl_calls[number].call_text, c->correlation);
    if (!work->call)
        return event;
    if (c->correlation % 16 == 0 || __atomic_load_n(&state.samples, __ATOMIC_RELAXED) > 0) {
        c->has_stamps = true;
        c->before = host->stamp(host);
    }
    return event ? event : &c->event;
}

/* Takes the event: into the list, or (when there is no room) away. */
static void keep(kino__opencl_work *work)
{
    const cl_icd_dispatch *target = &kino__opencl_target;
    kino__opencl_command *c = &work->command;
    lock();
    bool is_known = resolve(work);
    if (!is_known) {
        unlock();
        if (!c->queue)
            ask_queue(work->queue);
        if (work->kernel && !c->name)
            kino__opencl_add_kernel(work->kernel);
        lock();
        is_known = resolve(work);
    }
    bool is_kept = is_known && c->queue->has_times &&
                   (!work->asked || target->clRetainEvent(c->event) == CL_SUCCESS);
    bool is_ours = is_kept || !work->asked; /* there is a reference to let go */
    is_kept = is_kept && commands_add(&state.incoming, c);
    bool is_much = state.incoming.count == WAKE_AT;
    unlock();
    if (is_much)
        pthread_cond_signal(&state.wake); /* if it is missed, the next look is soon */
    if (is_kept)
        return;
    kino__opencl_host->lost(kino__opencl_host, 1);
    if (is_ours)
        (void)target->clReleaseEvent(c->event);
}

void kino__opencl_leave(kino__opencl_work *work, cl_int status)
{
    const kino_device_host *host = kino__opencl_host;
    kino__opencl_command *c = &work->command;
    if (!work->call)
        return;
    if (c->has_stamps)
        c->after = host->stamp(host);
    if (status != CL_SUCCESS) {
        kino_device_arg error = {host->key(host, "error"), KINO_DEVICE_ARG_INT, {.i = status}};
        host->call_arg(host, work->call, &error);
        host->call_end(host, work->call);
        return;
    }
    host->call_end(host, work->call);
    if (work->asked)
        c->event = *work->asked;
    keep(work);
}

/* -- from the list into the trace */

/* Is it done? Then it is recorded and its event let go. */
static bool settle(const kino__opencl_command *c)
{
    const cl_icd_dispatch *target = &kino__opencl_target;
    cl_int status = CL_COMPLETE;
    cl_int asked = target->clGetEventInfo(c->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                          sizeof status, &status, NULL);
    if (asked == CL_SUCCESS && status > CL_COMPLETE)
        return false;
    if (asked != CL_SUCCESS || status != CL_COMPLETE || !kino__opencl_record(c))
        kino__opencl_host->lost(kino__opencl_host, 1);
    else if (c->has_stamps)
        __atomic_fetch_sub(&state.samples, 1, __ATOMIC_RELAXED);
    (void)target->clReleaseEvent(c->event);
    return true;
}

/* drain_lock is held. */
static void take_incoming(void)
{
    lock();
    if (state.waiting.count == 0) {
        commands empty = state.waiting;
        state.waiting = state.incoming;
        state.incoming = empty;
    } else {
        size_t taken = 0;
        while (taken < state.incoming.count &&
               commands_add(&state.waiting, &state.incoming.items[taken]))
            taken++;
        state.incoming.count -= taken; /* what finds no room stays where it is */
        if (state.incoming.count)
            memmove(state.incoming.items, state.incoming.items + taken,
                    state.incoming.count * sizeof *state.incoming.items);
    }
    unlock();
}

/* drain_lock is held; returns how many are left. */
static size_t drain(void)
{
    size_t kept = 0;
    take_incoming();
    state.pass++;
    for (size_t i = 0; i < state.waiting.count; i++) {
        kino__opencl_command *c = &state.waiting.items[i];
        bool is_behind = c->queue->is_in_order && c->queue->blocked_in == state.pass;
        if (!is_behind && settle(c))
            continue;
        c->queue->blocked_in = state.pass;
        state.waiting.items[kept++] = *c;
    }
    state.waiting.count = kept;
    return kept;
}

void kino__opencl_collect(void)
{
    pthread_mutex_lock(&state.drain_lock);
    if (kino__opencl_host)
        (void)drain();
    pthread_mutex_unlock(&state.drain_lock);
}

void kino__opencl_finish(uint64_t deadline_ns, bool is_last)
{
    const struct timespec pause = {0, PAUSE_NS};
    pthread_mutex_lock(&state.drain_lock);
    while (drain() > 0 && kino__backend_now() < deadline_ns)
        (void)nanosleep(&pause, NULL);
    if (is_last && state.waiting.count) {
        kino__opencl_host->lost(kino__opencl_host, state.waiting.count);
        for (size_t i = 0; i < state.waiting.count; i++)
            (void)kino__opencl_target.clReleaseEvent(state.waiting.items[i].event);
        state.waiting.count = 0;
    }
    pthread_mutex_unlock(&state.drain_lock);
}

static cl_uint held(const commands *list, cl_event event)
{
    cl_uint count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->items[i].event == event;
    return count;
}

cl_int kino__opencl_reference_count(cl_event event, cl_uint *out)
{
    pthread_mutex_lock(&state.drain_lock);
    lock();
    cl_int status =
        kino__opencl_target.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof *out, out, NULL);
    if (status == CL_SUCCESS)
        *out -= held(&state.incoming, event) + held(&state.waiting, event);
    unlock();
    pthread_mutex_unlock(&state.drain_lock);
    return status;
}

/* -- the collector */

static void *run(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&state.sleep_lock);
    while (!state.ends) {
        struct timespec at = {0};
        (void)clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_nsec += PERIOD_NS;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&state.wake, &state.sleep_lock, &at);
        pthread_mutex_unlock(&state.sleep_lock);
        kino__opencl_collect();
        pthread_mutex_lock(&state.sleep_lock);
    }
    pthread_mutex_unlock(&state.sleep_lock);
    return NULL;
}

static void init_wake(void)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&state.wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool kino__opencl_start_collector(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    kino__opencl_name_keys();
    __atomic_store_n(&state.samples, SAMPLES_AT_FIRST, __ATOMIC_RELAXED);
    pthread_once(&once, init_wake);
    state.ends = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's */
    state.runs = pthread_create(&state.thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (state.runs)
        (void)pthread_setname_np(state.thread, KINO__THREAD_OPENCL);
    return state.runs;
}

void kino__opencl_stop_collector(void)
{
    pthread_mutex_lock(&state.sleep_lock);
    bool runs = state.runs;
    state.ends = true;
    state.runs = false;
    if (runs)
        pthread_cond_signal(&state.wake);
    pthread_mutex_unlock(&state.sleep_lock);
    if (runs)
        pthread_join(state.thread, NULL);
}

/* The runtime does not work in a child; its events stay where they are. */
void kino__opencl_forget(void)
{
    state.lock = 0;
    pthread_mutex_init(&state.drain_lock, NULL);
    pthread_mutex_init(&state.sleep_lock, NULL);
    state.incoming.count = state.waiting.count = 0;
    state.runs = false;
}
