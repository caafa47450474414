/* xpu_rows.c - records of PTI as rows, with Kineto's names and arguments.
 *
 * Records say neither their size nor a version, so nothing that a record points to is looked at
 * before it is known to have the layout that is expected: work must be of a device that is there,
 * a collective of this process, and all times must be of this hour. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/backend/xpu/xpu_internal.h"
#include "tracer/device/device_details.h"

enum { ARGS_MAX = 20, TEXTS_MAX = 12, TEXT_BYTES = 32, NAME_BYTES = 256 };
static const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

/* A row that is being made, of a record. */
typedef struct row {
    const kino__xpu_relation *relation; /* NULL: not known */
    bool is_odd;                        /* the record is not what it should be: no row */
    bool is_work;                       /* a row of a device */
    kino_device_activity activity;
    kino_device_arg args[ARGS_MAX];
    char texts[TEXTS_MAX][TEXT_BYTES];
    uint32_t text_count;
} row;

static void add_int(row *r, kino__xpu_key key, uint64_t value)
{
    r->args[r->activity.arg_count++] =
        (kino_device_arg){kino__xpu.keys[key], KINO_DEVICE_ARG_UINT, {.u = value}};
}

static void add_text(row *r, kino__xpu_key key, const char *text)
{
    r->args[r->activity.arg_count++] =
        (kino_device_arg){kino__xpu.keys[key], KINO_DEVICE_ARG_TEXT, {.text = text}};
}

static void add_double(row *r, kino__xpu_key key, double value)
{
    r->args[r->activity.arg_count++] =
        (kino_device_arg){kino__xpu.keys[key], KINO_DEVICE_ARG_DOUBLE, {.d = value}};
}

static void add_handle(row *r, kino__xpu_key key, const void *handle)
{
    char *text = r->texts[r->text_count++];
    (void)snprintf(text, TEXT_BYTES, "0x%016" PRIx64, (uint64_t)(uintptr_t)handle);
    add_text(r, key, text);
}

/* ns as microseconds with three decimals, in a text. */
static void add_time(row *r, kino__xpu_key key, int64_t ns)
{
    char *text = r->texts[r->text_count++];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    (void)snprintf(text, TEXT_BYTES, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", size / 1000,
                   size % 1000);
    add_text(r, key, text);
}

/* When something happened, in the trace and as seen from the start; nothing when not known. */
static void add_times(row *r, kino__xpu_key key, kino__xpu_key relative, uint64_t time)
{
    if (!time)
        return;
    if (kino__xpu.clock != KINO_DEVICE_CLOCK_OWN)
        add_time(r, key, (int64_t)time + kino__xpu.base_ns);
    add_time(r, relative, (int64_t)(time - r->activity.start));
}

/* -- what all have in common */

/* Are they those of a record of the known layout? */
static bool are_plausible(uint64_t start, uint64_t end)
{
    uint64_t now = kino__xpu_now(), apart = start > now ? start - now : now - start;
    return start && apart <= hour_ns && (end > start ? end - start : start - end) <= hour_ns;
}

/* False: there is no row to be made. The record is odd, of no session, or nobody wants it. */
static bool begin_row(row *r, uint32_t kind, uint64_t start, uint64_t end)
{
    r->is_odd = r->is_odd || !are_plausible(start, end);
    if (r->is_odd || start < kino__xpu.start_time || !kino__xpu_wants(kind))
        return false;
    r->activity = (kino_device_activity)KINO_DEVICE_ACTIVITY_INIT;
    r->activity.kind = kind;
    r->activity.start = start;
    r->activity.end = end < start ? start : end;
    r->activity.args = r->args;
    r->activity.flags = KINO_DEVICE_ARGS_WHOLE;
    r->text_count = 0;
    return true;
}

static void name_row(row *r, const char *name)
{
    const kino_device_host *host = kino__xpu.host;
    r->activity.name = host->name(host, r->activity.kind, name ? name : "unknown");
}

static void add_correlation(row *r, uint32_t correlation)
{
    r->activity.correlation = correlation;
    r->activity.external = r->relation ? r->relation->operator_id : 0;
    add_int(r, KINO__XPU_CORRELATION, correlation);
}

/* A row of the host; times are on the clock of all devices. */
static void place_on_host(row *r, uint32_t thread, uint32_t flags)
{
    r->activity.device = KINO_DEVICE_HOST;
    r->activity.stream = thread;
    r->activity.clock_of = kino__xpu.devices[0].number;
    r->activity.flags |= KINO_DEVICE_CLOCK_OF | flags;
}

static void hand_over(row *r)
{
    kino__xpu.host->activity(kino__xpu.host, &r->activity);
}

/* -- work of devices */

typedef struct place {
    const uint8_t *uuid;
    uint64_t sycl_queue;
    const void *queue, *context;
} place;

/* The same as begin_row, of a device that must be there. */
static bool begin_work(row *r, uint32_t kind, const place *at, uint64_t start, uint64_t end)
{
    const kino__xpu_device *device = kino__xpu_device_of(at->uuid);
    r->is_odd = !device;
    if (!begin_row(r, kind, start, end))
        return false;
    r->is_work = true;
    r->activity.device = device->number;
    r->activity.flags |= KINO_DEVICE_ROW_CAPITAL;
    r->activity.stream = at->sycl_queue == PTI_NO_QUEUE ? 0 : (uint32_t)at->sycl_queue;
    return true;
}

static void add_place(row *r, const place *at)
{
    add_int(r, KINO__XPU_DEVICE, r->activity.device);
    add_handle(r, KINO__XPU_CONTEXT, at->context);
    add_int(r, KINO__XPU_SYCL_QUEUE, at->sycl_queue);
    add_handle(r, KINO__XPU_L0_QUEUE, at->queue);
}

static void take_kernel(const pti_kernel *k, row *r)
{
    const place at = {k->uuid, k->sycl_queue, k->queue, k->context};
    if (!begin_work(r, KINO_DEVICE_KERNEL, &at, k->start, k->end))
        return;
    name_row(r, k->name);
    add_correlation(r, k->correlation);
    add_times(r, KINO__XPU_APPENDED, KINO__XPU_APPENDED_REL, k->appended);
    add_times(r, KINO__XPU_SUBMITTED, KINO__XPU_SUBMITTED_REL, k->submitted);
    add_times(r, KINO__XPU_TASK, KINO__XPU_TASK_REL, k->task_begin);
    add_times(r, KINO__XPU_ENQUEUE, KINO__XPU_ENQUEUE_REL, k->enqueue_begin);
    add_place(r, &at);
    if (k->file) {
        add_text(r, KINO__XPU_FILE, k->file);
        add_int(r, KINO__XPU_LINE, k->line);
    }
    add_int(r, KINO__XPU_KERNEL, k->kernel);
    add_int(r, KINO__XPU_NODE, k->node);
    add_int(r, KINO__XPU_INVOCATION, k->invocation);
    char details[KINO__DETAILS_MAX + 1];
    if (kino__details_of(r->activity.external, details)) /* a collective */
        r->args[r->activity.arg_count++] =
            (kino_device_arg){0, KINO_DEVICE_ARG_OBJECT, {.text = details}};
    hand_over(r);
}

/* Copies and fills; `call` is the one of Level Zero. */
static void take_transfer(row *r, uint32_t kind, const char *name, const char *call,
                          const place *at, const pti_transfer *t)
{
    if (!begin_work(r, kind, at, t->start, t->end))
        return;
    uint64_t length = r->activity.end - r->activity.start;
    name_row(r, name);
    add_correlation(r, t->correlation);
    add_times(r, KINO__XPU_APPENDED, KINO__XPU_APPENDED_REL, t->appended);
    add_times(r, KINO__XPU_SUBMITTED, KINO__XPU_SUBMITTED_REL, t->submitted);
    add_place(r, at);
    if (call)
        add_text(r, KINO__XPU_L0_CALL, call);
    add_int(r, KINO__XPU_OPERATION, t->operation);
    add_int(r, KINO__XPU_BYTES, t->bytes);
    if (length)
        add_double(r, KINO__XPU_BANDWIDTH, (double)t->bytes / (double)length);
    hand_over(r);
}

static const char *memory_text(uint32_t type)
{
    const char *text = kino__xpu.pti.ptiViewMemoryTypeToString(type);
    return text ? text : "Unknown";
}

static void name_copy(char name[NAME_BYTES], uint32_t type, uint32_t from, uint32_t to)
{
    const char *text = kino__xpu.pti.ptiViewMemcpyTypeToString(type);
    (void)snprintf(name, NAME_BYTES, "Memcpy %s (%s -> %s)", text ? text : "<unknown>",
                   memory_text(from), memory_text(to));
}

static void take_copy(const pti_copy *c, row *r)
{
    const place at = {c->uuid, c->sycl_queue, c->queue, c->context};
    char name[NAME_BYTES];
    name_copy(name, c->type, c->from, c->to);
    take_transfer(r, KINO_DEVICE_MEMCPY, name, c->name, &at, &c->transfer);
}

/* On the device that it comes from. */
static void take_copy_p2p(const pti_copy_p2p *c, row *r)
{
    const place at = {c->from_uuid, c->sycl_queue, c->queue, c->context};
    char name[NAME_BYTES];
    name_copy(name, c->type, c->from, c->to);
    take_transfer(r, KINO_DEVICE_MEMCPY, name, c->name, &at, &c->transfer);
}

static void take_fill(const pti_fill *f, row *r)
{
    const place at = {f->uuid, f->sycl_queue, f->queue, f->context};
    char name[NAME_BYTES];
    (void)snprintf(name, sizeof name, "Memset (%" PRIu64 " -> %s)", f->value,
                   memory_text(f->memory));
    take_transfer(r, KINO_DEVICE_MEMSET, name, f->name, &at, &f->transfer);
}

/* -- the host's side */

static const char *api_name(uint32_t group, uint32_t api)
{
    const char *name = NULL;
    if (kino__xpu.pti.ptiViewGetApiIdName(group, api, &name) != PTI_SUCCESS || !name)
        return "unknown";
    return name;
}

static void take_call(const pti_api *a, row *r)
{
    uint32_t kind = a->kind == PTI_RUNTIME_API ? KINO_DEVICE_XPU_RUNTIME : KINO_DEVICE_XPU_DRIVER;
    if (!begin_row(r, kind, a->start, a->end))
        return;
    name_row(r, api_name(a->group, a->api));
    /* as Kineto has it: at calls of the driver an arrow ends that comes from nowhere */
    place_on_host(r, a->thread, kind == KINO_DEVICE_XPU_DRIVER ? KINO_DEVICE_FLOW_END : 0);
    add_correlation(r, a->correlation);
    hand_over(r);
}

static void take_synchronization(const pti_synchronization *s, row *r)
{
    static const char *const types[] = {
        "UNKNOWN",    "GPU_BARRIER_EXECUTION", "GPU_BARRIER_MEMORY", "HOST_FENCE",
        "HOST_EVENT", "HOST_COMMAND_LIST",     "HOST_COMMAND_QUEUE"};
    if (!begin_row(r, KINO_DEVICE_XPU_SYNC, s->start, s->end))
        return;
    name_row(r, api_name(s->group, s->api));
    place_on_host(r, s->thread, KINO_DEVICE_NO_FLOW | KINO_DEVICE_ROW_OVERHEAD);
    add_correlation(r, s->correlation);
    if (!r->activity.external)
        r->activity.external = s->correlation;
    add_text(r, KINO__XPU_TYPE, types[s->type < sizeof types / sizeof *types ? s->type : 0]);
    add_handle(r, KINO__XPU_CONTEXT_HANDLE, s->context);
    add_handle(r, KINO__XPU_QUEUE_HANDLE, s->queue);
    add_handle(r, KINO__XPU_EVENT_HANDLE, s->event);
    add_int(r, KINO__XPU_WAIT_EVENTS, s->wait_events);
    add_int(r, KINO__XPU_RESULT, s->result);
    hand_over(r);
}

static void take_overhead(const pti_overhead *o, row *r)
{
    static const char *const kinds[] = {"Unknown",      "Unknown", "Resource",
                                        "Buffer Flush", "Driver",  "Instrumentation"};
    if (!begin_row(r, KINO_DEVICE_OVERHEAD, o->start, o->end))
        return;
    uint64_t length = r->activity.end - r->activity.start;
    name_row(r, kinds[o->overhead_kind < sizeof kinds / sizeof *kinds ? o->overhead_kind : 0]);
    place_on_host(r, o->thread, KINO_DEVICE_ROW_OVERHEAD);
    add_int(r, KINO__XPU_COST, o->cost);
    if (length) {
        char *text = r->texts[r->text_count++];
        (void)snprintf(text, TEXT_BYTES, "%" PRIu64 "%%", o->cost * 100 / length);
        add_text(r, KINO__XPU_OCCUPANCY, text);
    }
    add_int(r, KINO__XPU_COUNT, o->count);
    hand_over(r);
}

/* The layout of this one is less certain than the others'; that the process is this one says it. */
static void take_communication(const pti_communication *c, row *r)
{
    char name[NAME_BYTES];
    r->is_odd = c->process != (uint32_t)getpid() || !c->name;
    if (!begin_row(r, KINO_DEVICE_COLLECTIVE, c->start, c->end))
        return;
    (void)snprintf(name, sizeof name, "xccl::%s", c->name);
    name_row(r, name);
    place_on_host(r, c->thread, 0);
    add_int(r, KINO__XPU_COMMUNICATOR, c->communicator);
    hand_over(r);
}

/* -- all of them */

uint32_t kino__xpu_correlation(const pti_record *record)
{
    const void *at = record;
    switch (record->kind) {
    case PTI_KERNEL:
        return ((const pti_kernel *)at)->correlation;
    case PTI_COPY:
        return ((const pti_copy *)at)->transfer.correlation;
    case PTI_COPY_P2P:
        return ((const pti_copy_p2p *)at)->transfer.correlation;
    case PTI_FILL:
        return ((const pti_fill *)at)->transfer.correlation;
    case PTI_RUNTIME_API:
    case PTI_DRIVER_API:
        return ((const pti_api *)at)->correlation;
    case PTI_SYNCHRONIZATION:
        return ((const pti_synchronization *)at)->correlation;
    default:
        return 0;
    }
}

static void take(const pti_record *record, row *r)
{
    const void *at = record;
    switch (record->kind) {
    case PTI_KERNEL:
        take_kernel(at, r);
        break;
    case PTI_COPY:
        take_copy(at, r);
        break;
    case PTI_COPY_P2P:
        take_copy_p2p(at, r);
        break;
    case PTI_FILL:
        take_fill(at, r);
        break;
    case PTI_RUNTIME_API:
    case PTI_DRIVER_API:
        take_call(at, r);
        break;
    case PTI_SYNCHRONIZATION:
        take_synchronization(at, r);
        break;
    case PTI_OVERHEAD:
        take_overhead(at, r);
        break;
    case PTI_COMMUNICATION:
        take_communication(at, r);
        break;
    case PTI_EXTERNAL:
        break;
    default:
        r->is_odd = true;
        break;
    }
}

bool kino__xpu_row(const pti_record *record, const kino__xpu_relation *relation,
                   kino__follow_range range, kino__follow_rows *rows)
{
    row r;
    r.relation = relation;
    r.is_odd = r.is_work = false;
    take(record, &r);
    if (r.is_work && range.id && kino__xpu_wants(KINO_DEVICE_GPU_ANNOTATION))
        kino__follow_work(rows, kino__xpu.host, range, &r.activity);
    return !r.is_odd;
}
