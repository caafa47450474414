/* opencl_rows.c - commands that are done, as rows of the trace. See opencl_internal.h.
 *
 * The times at which commands were queued also tell how the device's clock stands to ours: they lie
 * within the call. One thread at a time, the one that drains the list (opencl_work.c). */
#include "tracer/backend/opencl/opencl_internal.h"

enum { KEY_GRID, KEY_BLOCK, KEY_GLOBAL, KEY_BYTES, KEY_MAPPED, KEY_QUEUED, KEY_SUBMITTED, KEYS };

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see opencl_internal.h */
static uint32_t keys[KEYS];

typedef struct times { /* the device's */
    cl_ulong queued, submitted, started, ended;
} times;

void kino__opencl_name_keys(void)
{
    static const char *const names[KEYS] = {
        [KEY_GRID] = "grid",
        [KEY_BLOCK] = "block",
        [KEY_GLOBAL] = "global work size",
        [KEY_BYTES] = "bytes",
        [KEY_MAPPED] = "mapped bytes",
        [KEY_QUEUED] = "queued before start (ns)",
        [KEY_SUBMITTED] = "submitted before start (ns)",
    };
    for (int i = 0; i < KEYS; i++)
        keys[i] = kino__opencl_host->key(kino__opencl_host, names[i]);
}

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
        *at++ = i ? ',' : '[';
        at = add_number(at, sizes[i]);
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

/* Returns how many. */
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
    uint32_t key = keys[c->has_local ? KEY_GRID : KEY_GLOBAL];
    args[0] = (kino_device_arg){key, KINO_DEVICE_ARG_JSON, {.text = grid}};
    args[1] = (kino_device_arg){keys[KEY_BLOCK], KINO_DEVICE_ARG_JSON, {.text = block}};
    return c->has_local ? 2 : 1;
}

static bool is_map(kino__opencl_call number)
{
    return number == KINO__OPENCL_clEnqueueMapBuffer || number == KINO__OPENCL_clEnqueueMapImage;
}

static void hand_over(const kino__opencl_command *c, const times *t)
{
    const kino_device_host *host = kino__opencl_host;
    kino_device_arg args[6];
    uint32_t count = add_sizes(args, c);
    if (!c->dims && c->amount.bytes) {
        uint32_t key = keys[is_map(c->number) ? KEY_MAPPED : KEY_BYTES];
        args[count++] = (kino_device_arg){key, KINO_DEVICE_ARG_UINT, {.u = c->amount.bytes}};
    }
    args[count++] = (kino_device_arg){
        keys[KEY_QUEUED], KINO_DEVICE_ARG_INT, {.i = (int64_t)(t->started - t->queued)}};
    args[count++] = (kino_device_arg){
        keys[KEY_SUBMITTED], KINO_DEVICE_ARG_INT, {.i = (int64_t)(t->started - t->submitted)}};
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
    if (c->has_stamps) /* the command was queued within the call */
        host->clock_bound(host, c->queue->device, t->queued, c->before, c->after);
    host->activity(host, &activity);
}

bool kino__opencl_record(const kino__opencl_command *command)
{
    times t;
    if (!read_times(command->event, &t))
        return false;
    hand_over(command, &t);
    return true;
}
