/* opencl_work.c - commands that are under way. See opencl_internal.h.
 *
 * The program's thread records its call and puts the command, with a reference to its event, into a
 * list. A thread of ours looks from time to time which commands are done (it never waits for one:
 * that would make the runtime flush the program's queues), reads their times, hands them over and
 * lets the events go. The times at which commands were queued also tell how the device's clock
 * stands to ours: they lie within the call.
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

#include "tracer/backend/opencl_internal.h"
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
    uint32_t keys[8];
} state = {.drain_lock = PTHREAD_MUTEX_INITIALIZER, .sleep_lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

enum { KEY_GRID, KEY_BLOCK, KEY_GLOBAL, KEY_BYTES, KEY_MAPPED, KEY_QUEUED, KEY_SUBMITTED };

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
                            bool asked_for_it, bool is_in_order, const cl_queue_properties *asked)
{
    kino__opencl_queue made = {.handle = handle, .device = kino__opencl_add_device(device)};
    made.has_times = has_times && made.device != KINO_DEVICE_HOST;
    made.asked_for_it = asked_for_it;
    made.is_in_order = is_in_order;
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
    bool has_times = flags & CL_QUEUE_PROFILING_ENABLE;
    kino__opencl_add_queue(handle, device, has_times, has_times,
                           !(flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), NULL);
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

static bool commands_add(commands *list, const kino__opencl_command *command)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 1024;
        kino__opencl_command *items =
            room <= COMMANDS_MAX ? realloc(list->items, room * sizeof *items) : NULL;
        if (!items)
            return false;
        list->items = items;
        list->room = room;
    }
    size_t size = offsetof(kino__opencl_command, amount) +
                  (command->dims ? command->dims * sizeof command->amount.sizes[0]
                                 : sizeof command->amount.bytes);
    memcpy(&list->items[list->count++], command, size);
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
    if (!host || !host->is_recording(host))
        return event;
    c->event = NULL;
    c->correlation = next_number(host);
    c->before = c->after = 0;
    c->number = (uint16_t)number;
    c->dims = 0;
    c->has_local = false;
    work->asked = event;
    work->queue = queue;
    work->call = host->call_begin(host, kino__opencl_calls[number].call_text, c->correlation);
    if (!work->call)
        return event;
    if (c->correlation % 16 == 0 || __atomic_load_n(&state.samples, __ATOMIC_RELAXED) > 0)
        c->before = host->stamp(host);
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
    if (c->before)
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

typedef struct times {
    cl_ulong queued, submitted, started, ended;
} times;

static bool read_times(cl_event event, times *t)
{
    const cl_icd_dispatch *target = &kino__opencl_target;
    cl_ulong *const fields[] = {&t->queued, &t->submitted, &t->started, &t->ended};
    for (cl_uint i = 0; i < 4; i++) /* the four have consecutive numbers */
        if (target->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i,
                                            sizeof *fields[i], fields[i], NULL) != CL_SUCCESS)
            return false;
    return t->started > 0 && t->ended >= t->started;
}

static char *add_number(char *at, uint64_t value)
{
    char digits[24];
    int count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        *at++ = digits[--count];
    return at;
}

/* "[64,1,1]" */
static void write_sizes(char text[80], const uint64_t sizes[3])
{
    char *at = text;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t size = sizes[i];
        *at++ = i ? ',' : '[';
        at = add_number(at, size);
    }
    *at++ = ']';
    *at = '\0';
}

/* Kernels mostly come with the sizes of the one before. */
static bool has_same_sizes(const kino__opencl_command *a, const kino__opencl_command *b)
{
    if (a->dims != b->dims || a->has_local != b->has_local)
        return false;
    for (uint32_t i = 0; i < a->dims; i++)
        if (a->amount.sizes[i].global != b->amount.sizes[i].global ||
            a->amount.sizes[i].local != b->amount.sizes[i].local)
            return false;
    return true;
}

/* drain_lock is held. */
static uint32_t add_sizes(kino_device_arg *args, const kino__opencl_command *c)
{
    static kino__opencl_command last;
    static char grid[80], block[80];
    if (!c->dims)
        return 0;
    if (!has_same_sizes(c, &last)) {
        uint64_t groups[3] = {1, 1, 1}, items[3] = {1, 1, 1};
        for (uint32_t i = 0; i < c->dims; i++) {
            uint64_t global = c->amount.sizes[i].global, local = c->amount.sizes[i].local;
            groups[i] = local ? (global + local - 1) / local : global;
            items[i] = local;
        }
        last = *c;
        write_sizes(grid, groups);
        write_sizes(block, items);
    }
    uint32_t key = state.keys[c->has_local ? KEY_GRID : KEY_GLOBAL];
    args[0] = (kino_device_arg){key, KINO_DEVICE_ARG_JSON, {.text = grid}};
    args[1] = (kino_device_arg){state.keys[KEY_BLOCK], KINO_DEVICE_ARG_JSON, {.text = block}};
    return c->has_local ? 2 : 1;
}

static bool is_map(kino__opencl_call number)
{
    return number == KINO__OPENCL_clEnqueueMapBuffer || number == KINO__OPENCL_clEnqueueMapImage;
}

static void record(const kino__opencl_command *c, const times *t)
{
    const kino_device_host *host = kino__opencl_host;
    kino_device_arg args[6];
    uint32_t count = add_sizes(args, c);
    if (!c->dims && c->amount.bytes) {
        uint32_t key = state.keys[is_map(c->number) ? KEY_MAPPED : KEY_BYTES];
        args[count++] = (kino_device_arg){key, KINO_DEVICE_ARG_UINT, {.u = c->amount.bytes}};
    }
    args[count++] = (kino_device_arg){
        state.keys[KEY_QUEUED], KINO_DEVICE_ARG_INT, {.i = (int64_t)(t->started - t->queued)}};
    args[count++] = (kino_device_arg){state.keys[KEY_SUBMITTED],
                                      KINO_DEVICE_ARG_INT,
                                      {.i = (int64_t)(t->started - t->submitted)}};
    kino_device_activity activity = {
        .size = sizeof activity,
        .kind = kino__opencl_calls[c->number].kind,
        .name = c->name,
        .device = c->queue->device,
        .stream = c->queue->stream,
        .start = t->started,
        .end = t->ended,
        .correlation = c->correlation,
        .args = args,
        .arg_count = count,
    };
    if (c->before) {
        host->clock_bound(host, c->queue->device, t->queued, c->before, c->after);
        __atomic_fetch_sub(&state.samples, 1, __ATOMIC_RELAXED);
    }
    host->activity(host, &activity);
}

/* Is it done? Then it is recorded and its event let go. */
static bool settle(const kino__opencl_command *c)
{
    const kino_device_host *host = kino__opencl_host;
    const cl_icd_dispatch *target = &kino__opencl_target;
    cl_int status = CL_COMPLETE;
    times t;
    cl_int asked = target->clGetEventInfo(c->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                          sizeof status, &status, NULL);
    if (asked == CL_SUCCESS && status > CL_COMPLETE)
        return false;
    if (asked == CL_SUCCESS && status == CL_COMPLETE && read_times(c->event, &t))
        record(c, &t);
    else
        host->lost(host, 1);
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

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void kino__opencl_finish(uint64_t deadline_ns, bool is_last)
{
    const struct timespec pause = {0, PAUSE_NS};
    pthread_mutex_lock(&state.drain_lock);
    while (drain() > 0 && now_ns() < deadline_ns)
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

static void name_keys(void)
{
    static const char *const names[] = {
        [KEY_GRID] = "grid",
        [KEY_BLOCK] = "block",
        [KEY_GLOBAL] = "global work size",
        [KEY_BYTES] = "bytes",
        [KEY_MAPPED] = "mapped bytes",
        [KEY_QUEUED] = "queued before start (ns)",
        [KEY_SUBMITTED] = "submitted before start (ns)",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        state.keys[i] = kino__opencl_host->key(kino__opencl_host, names[i]);
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
    name_keys();
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
