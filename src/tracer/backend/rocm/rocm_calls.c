/* rocm_calls.c - calls of the HIP runtime and ranges of ROCTX, as rocprofiler tells of them: a
 * callback before and one behind the call, on the thread that calls.
 *
 * Arguments are read from the payload as the prototype has them (rocm_abi.h), which costs nothing;
 * rocprofiler's own way makes texts of all of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/backend/rocm/rocm_internal.h"

enum {
    OPERATIONS_MAX = 2048,
    GAP_MAX = 128,    /* numbers that mean nothing, in front of others that do */
    RANGES_MAX = 256, /* that are open at a time, of those that end anywhere */
    PUSHES_MAX = 64,  /* of a thread */
};

typedef enum layout {
    PLAIN = 0,
    LAUNCH,
    COOPERATIVE,
    MODULE,
    EXT_MODULE,
    GRAPH,
    COPY,
    COPY_ASYNC,
    MALLOC,
    FREE,
} layout;

/* A function of the runtime, by its number. */
typedef struct operation {
    const char *name; /* rocprofiler's; NULL: not known */
    uint32_t number;  /* atomic: of the name; 0: not used yet */
    uint8_t layout;
    bool has_flow;
} operation;

static const struct {
    const char *name;
    uint8_t layout;
    bool has_flow, is_ignored;
} known[] = {
#define CALL(function, arguments, starts) {#function, arguments, starts, false},
#define IGNORED(function)                 {#function, PLAIN, false, true},
#include "tracer/backend/rocm/rocm_calls.def"
#undef CALL
#undef IGNORED
};

/* What a thread is in: functions of the program, ranges of ROCTX. Made when it is first needed. */
typedef struct thread_state {
    kino__follow_stack functions;
    uint64_t calls[PUSHES_MAX]; /* of ranges */
    uint32_t count;
    uint32_t session; /* ranges of an earlier one are forgotten: their end may not have been seen */
} thread_state;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's, of each thread */
static operation operations[OPERATIONS_MAX];
static __thread thread_state *mine; /* a pointer only: room for thread-local variables is scarce */
static pthread_key_t at_exit;       /* of threads */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    pthread_mutex_t lock;
    uint64_t ranges[RANGES_MAX]; /* rocprofiler's number, 0: free */
    uint64_t calls[RANGES_MAX];
} started = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- functions */

static bool learn(operation *op, const char *name)
{
    op->name = name;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            op->layout = known[i].layout;
            op->has_flow = known[i].has_flow;
            return !known[i].is_ignored;
        }
    return true;
}

size_t kino__rocm_operations(int32_t *out, size_t room)
{
    size_t count = 0;
    int32_t unknown = 0; /* one after the other */
    for (int32_t i = 0; i < OPERATIONS_MAX && unknown < GAP_MAX; i++) {
        const char *name = NULL;
        bool is_known = kino__rocm.call.query_callback_tracing_kind_operation_name(
                            ROCP_CALLBACK_HIP_RUNTIME_API, i, &name, NULL) == ROCP_SUCCESS &&
                        name;
        unknown = is_known ? 0 : unknown + 1;
        if (is_known && learn(&operations[i], name) && count < room)
            out[count++] = i;
    }
    return count;
}

static uint32_t name_of(operation *op)
{
    uint32_t number = __atomic_load_n(&op->number, __ATOMIC_RELAXED);
    if (!number) {
        number = kino__rocm.host->name(kino__rocm.host, KINO_DEVICE_CUDA_RUNTIME, op->name);
        __atomic_store_n(&op->number, number, __ATOMIC_RELAXED);
    }
    return number;
}

/* -- threads */

static void forget_thread(void *state)
{
    mine = NULL; /* somebody may still make calls while the thread ends */
    free(state);
}

static void make_key(void)
{
    (void)pthread_key_create(&at_exit, forget_thread);
}

/* NULL when memory is out. */
static thread_state *my_state(void)
{
    if (!mine) {
        (void)pthread_once(&once, make_key);
        mine = calloc(1, sizeof *mine);
        (void)pthread_setspecific(at_exit, mine);
    }
    return mine;
}

static uint64_t my_operator(void)
{
    return mine ? kino__follow_operator(&mine->functions) : 0;
}

void kino__rocm_push(void *context, uint32_t kind, uint64_t id, const char *name)
{
    (void)context;
    thread_state *state = my_state();
    if (state)
        kino__follow_push(&state->functions, kino__rocm.host, kind, id, name);
}

void kino__rocm_pop(void *context, uint32_t kind)
{
    (void)context;
    if (mine)
        kino__follow_pop(&mine->functions, kind);
}

/* -- notes of launches */

static void set_size(kino__rocm_launch *note, const uint32_t grid[3], const uint32_t block[3])
{
    memcpy(note->grid, grid, sizeof note->grid);
    memcpy(note->block, block, sizeof note->block);
}

/* What the arguments say. False: nothing of use to the work. */
static bool describe(const operation *op, const rocp_hip_payload *payload, kino__rocm_launch *note)
{
    const rocp_launch_args *launch = &payload->args.launch;
    const rocp_ext_module_args *ext = &payload->args.ext_module;
    const rocp_module_args *module = &payload->args.module;
    const void *stream = NULL;
    switch ((layout)op->layout) {
    case LAUNCH:
    case COOPERATIVE: /* the same up to the size of shared memory */
        stream = op->layout == LAUNCH ? launch->stream : payload->args.cooperative.stream;
        set_size(note, (uint32_t[3]){launch->grid.x, launch->grid.y, launch->grid.z},
                 (uint32_t[3]){launch->block.x, launch->block.y, launch->block.z});
        break;
    case MODULE:
        stream = module->stream;
        set_size(note, module->grid, module->block);
        break;
    case EXT_MODULE:
        stream = ext->stream;
        set_size(note,
                 (uint32_t[3]){kino__rocm_blocks(ext->items[0], ext->block[0]),
                               kino__rocm_blocks(ext->items[1], ext->block[1]),
                               kino__rocm_blocks(ext->items[2], ext->block[2])},
                 ext->block);
        break;
    case GRAPH:
        stream = payload->args.graph.stream;
        break;
    case COPY_ASYNC:
        stream = payload->args.copy.stream;
        break;
    case COPY:
        break; /* on the default stream */
    default:
        return false;
    }
    note->stream = (uint64_t)(uintptr_t)stream;
    note->has_stream = true;
    return true;
}

static kino__rocm_launch *place_of(uint64_t correlation)
{
    return &kino__rocm.launches[correlation & (KINO__ROCM_LAUNCHES - 1)];
}

/* Every call leaves one: work may be caused by functions that are not known here. */
static void leave_note(const operation *op, const rocp_hip_payload *payload, uint64_t correlation)
{
    kino__rocm_launch note = {.operator_id = my_operator()};
    if (mine)
        note.range = kino__follow_range_of(&mine->functions);
    bool is_launch = payload && describe(op, payload, &note);
    if (!is_launch && !note.operator_id && !note.range.id)
        return;
    kino__rocm_launch *place = place_of(correlation);
    __atomic_store_n(&place->correlation, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* kino__rocm_launch_of */
    *place = note;
    __atomic_store_n(&place->correlation, correlation, __ATOMIC_RELEASE); /* the same */
}

bool kino__rocm_launch_of(uint64_t correlation, kino__rocm_launch *out)
{
    if (!correlation || !kino__rocm.launches)
        return false;
    const kino__rocm_launch *place = place_of(correlation);
    if (__atomic_load_n(&place->correlation, __ATOMIC_ACQUIRE) != correlation) /* leave_note */
        return false;
    memcpy(out, place, sizeof *out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&place->correlation, __ATOMIC_RELAXED) == correlation)
        return true;
    *out = (kino__rocm_launch){0}; /* overwritten meanwhile */
    return false;
}

/* The lowest number, whichever thread comes first. */
static void note_first(uint64_t dispatch)
{
    uint64_t first = __atomic_load_n(&kino__rocm.first_dispatch, __ATOMIC_RELAXED);
    while (dispatch < first &&
           !__atomic_compare_exchange_n(&kino__rocm.first_dispatch, &first, dispatch, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void kino__rocm_on_enqueue(rocp_callback_record record, rocp_user_data *user, void *data)
{
    (void)user;
    (void)data;
    const kino_device_host *host = kino__rocm_host();
    const rocp_enqueue *kernel = record.payload;
    if (record.phase != ROCP_PHASE_ENTER || !host || !host->is_recording(host) || !kernel ||
        kernel->size < sizeof *kernel)
        return;
    note_first(kernel->dispatch);
    __atomic_fetch_add(&kino__rocm.pending, 1, __ATOMIC_RELAXED);
}

/* -- rows of calls */

void kino__rocm_add_size(kino__rocm_args *args, kino__rocm_key key, const uint32_t size[3],
                         char text[KINO__ROCM_SIZE_BYTES])
{
    (void)snprintf(text, KINO__ROCM_SIZE_BYTES, "[%" PRIu32 ", %" PRIu32 ", %" PRIu32 "]", size[0],
                   size[1], size[2]);
    kino__rocm_add_text(args, key, KINO_DEVICE_ARG_JSON, text);
}

static void add_pointer(kino__rocm_args *args, kino__rocm_key key, const void *pointer,
                        char text[KINO__ROCM_SIZE_BYTES])
{
    (void)snprintf(text, KINO__ROCM_SIZE_BYTES, "0x%" PRIx64, (uint64_t)(uintptr_t)pointer);
    kino__rocm_add_text(args, key, KINO_DEVICE_ARG_TEXT, text);
}

/* What stands before and behind "cid" and "correlation"; the order is Kineto's. */
static void add_before(kino__rocm_args *args, const operation *op, const rocp_hip_payload *payload)
{
    uint32_t members = 0;
    if (op->layout == LAUNCH || op->layout == COOPERATIVE)
        members = kino__rocm_function_members(payload->args.launch.function);
    if (members)
        args->items[args->count++] = (kino_device_arg){0, KINO_DEVICE_ARG_MEMBERS, {.u = members}};
    if (op->layout == MALLOC)
        kino__rocm_add_int(args, KINO__ROCM_BYTES, payload->args.allocation.bytes);
}

static uint64_t shared_bytes(const operation *op, const rocp_hip_payload *payload)
{
    switch ((layout)op->layout) {
    case LAUNCH:
        return payload->args.launch.shared_bytes;
    case COOPERATIVE:
        return payload->args.cooperative.shared_bytes;
    case MODULE:
        return payload->args.module.shared_bytes;
    default:
        return payload->args.ext_module.shared_bytes;
    }
}

static void add_launch(kino__rocm_args *args, const operation *op, const rocp_hip_payload *payload)
{
    kino__rocm_launch note = {0};
    (void)describe(op, payload, &note);
    kino__rocm_add_size(args, KINO__ROCM_GRID, note.grid, args->texts[0]);
    kino__rocm_add_size(args, KINO__ROCM_BLOCK, note.block, args->texts[1]);
    kino__rocm_add_int(args, KINO__ROCM_SHARED, shared_bytes(op, payload));
}

static void add_copy(kino__rocm_args *args, const rocp_copy_args *copy)
{
    add_pointer(args, KINO__ROCM_FROM, copy->from, args->texts[0]);
    add_pointer(args, KINO__ROCM_TO, copy->to, args->texts[1]);
    kino__rocm_add_int(args, KINO__ROCM_BYTES, copy->bytes);
    (void)snprintf(args->texts[2], sizeof args->texts[2], "%d", copy->kind);
    kino__rocm_add_text(args, KINO__ROCM_KIND, KINO_DEVICE_ARG_TEXT, args->texts[2]);
}

static void add_behind(kino__rocm_args *args, const operation *op, const rocp_hip_payload *payload)
{
    void *const *pointer = payload->args.allocation.pointer;
    switch ((layout)op->layout) {
    case LAUNCH:
    case COOPERATIVE:
    case MODULE:
    case EXT_MODULE:
        add_launch(args, op, payload);
        break;
    case COPY:
    case COPY_ASYNC:
        add_copy(args, &payload->args.copy);
        break;
    case MALLOC:
        add_pointer(args, KINO__ROCM_POINTER, pointer ? *pointer : NULL, args->texts[0]);
        break;
    case FREE:
        add_pointer(args, KINO__ROCM_POINTER, payload->args.release.pointer, args->texts[0]);
        break;
    default:
        break;
    }
}

static void end_call(operation *op, const rocp_callback_record *record,
                     const rocp_hip_payload *payload, uint64_t start)
{
    const kino_device_host *host = kino__rocm.host;
    kino_device_activity call = KINO_DEVICE_ACTIVITY_INIT;
    kino__rocm_args args;
    call.end = host->stamp(host);
    args.count = 0;
    if (payload)
        add_before(&args, op, payload);
    kino__rocm_add_int(&args, KINO__ROCM_CID, (uint32_t)record->operation);
    kino__rocm_add_int(&args, KINO__ROCM_CORRELATION, record->correlation.internal);
    if (payload)
        add_behind(&args, op, payload);
    call.kind = KINO_DEVICE_CUDA_RUNTIME;
    call.name = name_of(op);
    call.device = KINO_DEVICE_HOST;
    call.start = start;
    call.correlation = record->correlation.internal;
    call.external = my_operator();
    /* as Kineto has it: at other calls an arrow ends that comes from nowhere */
    call.flags = KINO_DEVICE_ARGS_WHOLE | (op->has_flow ? 0 : KINO_DEVICE_FLOW_END);
    call.args = args.items;
    call.arg_count = args.count;
    host->activity(host, &call);
}

static operation *operation_of(int32_t number)
{
    return number >= 0 && number < OPERATIONS_MAX && operations[number].name ? &operations[number]
                                                                             : NULL;
}

void kino__rocm_on_call(rocp_callback_record record, rocp_user_data *user, void *data)
{
    (void)data;
    const kino_device_host *host = kino__rocm_host();
    operation *op = operation_of(record.operation);
    const rocp_hip_payload *payload = record.payload;
    if (!op || !host)
        return;
    if (payload && payload->size < sizeof *payload) { /* another layout: names and times only */
        __atomic_fetch_add(&kino__rocm.odd_records, 1, __ATOMIC_RELAXED);
        payload = NULL;
    }
    if (record.phase == ROCP_PHASE_ENTER) {
        user->value = 0;
        if (!host->is_recording(host))
            return;
        if (!__atomic_load_n(&kino__rocm.has_calls, __ATOMIC_RELAXED))
            __atomic_store_n(&kino__rocm.has_calls, true, __ATOMIC_RELAXED);
        leave_note(op, payload, record.correlation.internal);
        user->value = host->stamp(host);
    } else if (record.phase == ROCP_PHASE_EXIT && user->value) {
        if (kino__rocm_wants(KINO_DEVICE_CUDA_RUNTIME))
            end_call(op, &record, payload, user->value);
    }
}

/* -- ROCTX */

static uint64_t begin_range(const char *message)
{
    const kino_device_host *host = kino__rocm.host;
    return host->call_begin(host, host->name(host, KINO_DEVICE_ANNOTATION, message ? message : ""),
                            0);
}

void kino__rocm_calls_begin(void)
{
    pthread_mutex_lock(&started.lock);
    memset(started.ranges, 0, sizeof started.ranges);
    pthread_mutex_unlock(&started.lock);
}

/* NULL when memory is out: then no ranges of this thread. */
static thread_state *my_ranges(void)
{
    uint32_t session = __atomic_load_n(&kino__rocm.session, __ATOMIC_RELAXED);
    thread_state *state = my_state();
    if (state && state->session != session) {
        state->count = 0;
        state->session = session;
    }
    return state;
}

static void push_range(const char *message)
{
    thread_state *state = my_ranges();
    if (!state)
        return;
    if (state->count < PUSHES_MAX)
        state->calls[state->count] = begin_range(message);
    state->count++;
}

static void pop_range(void)
{
    thread_state *state = my_ranges();
    if (!state || state->count == 0)
        return; /* begun before the recording */
    if (--state->count < PUSHES_MAX)
        kino__rocm.host->call_end(kino__rocm.host, state->calls[state->count]);
}

static void start_range(const char *message, uint64_t range)
{
    pthread_mutex_lock(&started.lock);
    size_t at = 0;
    while (at < RANGES_MAX && started.ranges[at])
        at++;
    if (at < RANGES_MAX && range) {
        started.ranges[at] = range;
        started.calls[at] = begin_range(message);
    }
    pthread_mutex_unlock(&started.lock);
}

static void stop_range(uint64_t range)
{
    uint64_t call = 0;
    pthread_mutex_lock(&started.lock);
    for (size_t i = 0; i < RANGES_MAX && !call; i++)
        if (range && started.ranges[i] == range) {
            call = started.calls[i];
            started.ranges[i] = 0;
        }
    pthread_mutex_unlock(&started.lock);
    kino__rocm.host->call_end(kino__rocm.host, call);
}

static void mark(const char *message)
{
    uint64_t call = begin_range(message);
    kino__rocm.host->call_end(kino__rocm.host, call);
}

void kino__rocm_on_marker(rocp_callback_record record, rocp_user_data *user, void *data)
{
    (void)user;
    (void)data;
    const rocp_marker_payload *payload = record.payload;
    if (!kino__rocm_host() || !payload || payload->size < sizeof *payload ||
        !kino__rocm_wants(KINO_DEVICE_ANNOTATION))
        return;
    bool is_enter = record.phase == ROCP_PHASE_ENTER;
    if (record.operation == ROCP_RANGE_START && !is_enter) /* its number is known behind the call */
        start_range(payload->args.message.message, payload->result);
    if (!is_enter)
        return;
    if (record.operation == ROCP_MARK)
        mark(payload->args.message.message);
    else if (record.operation == ROCP_RANGE_PUSH)
        push_range(payload->args.message.message);
    else if (record.operation == ROCP_RANGE_POP)
        pop_range();
    else if (record.operation == ROCP_RANGE_STOP)
        stop_range(payload->args.range.range);
}
