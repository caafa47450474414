/* demo_json.c - demo events as the text Kineto writes, byte for byte in its layout.
 *
 * Speed is the point: a gigabyte of this feeds the benchmarks. Each event is put together with
 * memcpy of constant pieces and hand-made integers into a page that is known to have room; the page
 * goes to the sink when it is full. */
#include "demo/demo_json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"

enum { PAGE = 1 << 20, EVENT_ROOM = 8192 };
/* Of an H100: multiprocessors, threads of a warp, threads of the device. */
#define SM_COUNT INT64_C(132)
#define WARP     INT64_C(32)
#define THREADS  (SM_COUNT * 2048)
static const int64_t stream_ids[KINO__DEMO_STREAM_COUNT] = {7, 20, 24};

#define PUT(p, literal) (memcpy(p, literal, sizeof(literal) - 1), (p) + sizeof(literal) - 1)

static char *put_str(char *p, kino_str text)
{
    memcpy(p, text.data, text.size);
    return p + text.size;
}

static char *put_int(char *p, int64_t value)
{
    return p + kino__format_int(value, p);
}

static char *put_us(char *p, int64_t ns)
{
    return p + kino__format_us(ns, p);
}

/* A fraction with six decimals, as %f prints it but without a double or a locale. */
static char *put_ratio(char *p, int64_t over, int64_t under)
{
    int64_t scaled = (over * 1000000 + under / 2) / under;
    p = put_int(p, scaled / 1000000);
    char digits[KINO__DECIMAL_MAX];
    size_t size = kino__format_int(1000000 + scaled % 1000000, digits);
    digits[0] = '.';
    memcpy(p, digits, size);
    return p + size;
}

kino_status kino__demo_text_flush(kino__demo_text *out, kino_error *err)
{
    kino_str bytes = {out->page, out->used};
    out->written += out->used;
    out->used = 0;
    return out->sink ? kino__sink_write(out->sink, bytes, err) : KINO_OK;
}

/* NVIDIA's occupancy rules for compute capability 9.0, in blocks per multiprocessor. */
static char *put_occupancy(char *p, const kino__demo_kernel_def *def, int64_t blocks)
{
    int64_t warps = ((int64_t)def->block + 31) / 32;
    int64_t regs = ((int64_t)def->registers + 7) / 8 * 8 * 32 * warps;
    int64_t shared = ((int64_t)def->shared + 1024 + 127) / 128 * 128;
    int64_t by_regs = 65536 / regs, by_shared = 233472 / shared, by_warps = 64 / warps;
    int64_t active = 32;
    active = by_regs < active ? by_regs : active;
    active = by_shared < active ? by_shared : active;
    active = by_warps < active ? by_warps : active;
    bool is_full = active * SM_COUNT <= blocks;
    int64_t threads = is_full ? active * SM_COUNT * def->block : blocks * def->block;
    p = PUT(p, ", \"est. achieved occupancy %\": ");
    p = put_int(p, (threads * 100 + THREADS / 2) / THREADS);
    p = PUT(p, ", \"occupancy\": {\"activeBlocksPerMultiprocessor\": ");
    p = put_int(p, active);
    p = PUT(p, ", \"limitingFactors\": \"");
    p = active == by_regs     ? PUT(p, "REGS")
        : active == by_shared ? PUT(p, "SMEM")
        : active == by_warps  ? PUT(p, "WARPS")
                              : PUT(p, "BLOCKS");
    p = PUT(p, "\", \"blockLimitRegs\": ");
    p = put_int(p, by_regs);
    p = PUT(p, ", \"blockLimitSharedMem\": ");
    p = put_int(p, by_shared);
    p = PUT(p, ", \"blockLimitWarps\": ");
    p = put_int(p, by_warps);
    p = PUT(
        p,
        ", \"blockLimitBlocks\": 32, \"blockLimitBarriers\": 16, \"allocatedRegistersPerBlock\": ");
    p = put_int(p, regs);
    p = PUT(p, ", \"allocatedSharedMemPerBlock\": ");
    p = put_int(p, shared);
    return PUT(p, "}");
}

static size_t format_kernel(char *text, const kino__demo_kernel_def *def)
{
    int64_t blocks = (int64_t)def->grid[0] * def->grid[1] * def->grid[2];
    char *p = PUT(text, ", \"registers per thread\": ");
    p = put_int(p, def->registers);
    p = PUT(p, ", \"shared memory\": ");
    p = put_int(p, def->shared);
    p = PUT(p, ", \"blocks per SM\": ");
    p = put_ratio(p, blocks, SM_COUNT);
    p = PUT(p, ", \"warps per SM\": ");
    p = put_ratio(p, blocks * def->block, SM_COUNT * WARP);
    p = PUT(p, ", \"grid\": [");
    for (unsigned i = 0; i < 3; i++) {
        p = put_int(p, def->grid[i]);
        if (i < 2)
            p = PUT(p, ", ");
    }
    p = PUT(p, "], \"block\": [");
    p = put_int(p, def->block);
    p = PUT(p, ", 1, 1]");
    p = put_occupancy(p, def, blocks);
    return (size_t)(p - text);
}

kino_status kino__demo_text_init(kino__demo_text *out, const kino__demo_shape *shape, unsigned rank,
                                 kino__sink *sink, kino_error *err)
{
    memset(out, 0, sizeof *out);
    out->sink = sink;
    out->base_ns = shape->start_ns / INT64_C(7889238000000000) * INT64_C(7889238000000000);
    out->rank = rank;
    out->group_size = shape->ranks;
    out->device = rank % 8;
    out->pid = 41200 + 131 * (int64_t)(rank % 8);
    out->tid[KINO__DEMO_THREAD_MAIN] = out->pid;
    out->tid[KINO__DEMO_THREAD_AUTOGRAD] = out->pid + 77;
    for (unsigned i = 0; i < KINO__DEMO_KERNEL_COUNT; i++)
        out->kernels[i].size = format_kernel(out->kernels[i].text, &kino__demo_kernels[i]);
    /* Lists longer than 30 are written with 29 items and the last one. */
    for (unsigned r = 0; r < shape->ranks; r++) {
        if (shape->ranks > 30 && r >= 29 && r + 1 < shape->ranks)
            continue;
        kino__buffer_printf(&out->ranks, "%s%u",
                            r == 0                         ? "["
                            : shape->ranks > 30 && r >= 29 ? ", ..., "
                                                           : ", ",
                            r);
    }
    kino__buffer_add(&out->ranks, KINO__STR("]"));
    out->page = malloc(PAGE);
    return out->page && !out->ranks.failed ? KINO_OK : kino__fail_nomem(err);
}

void kino__demo_text_deinit(kino__demo_text *out)
{
    free(out->page);
    out->page = NULL;
    kino__buffer_deinit(&out->ranks);
}

static char *begin_span(char *p, kino_str category, kino_str name, int64_t number)
{
    p = PUT(p, "\n  {\n    \"ph\": \"X\", \"cat\": \"");
    p = put_str(p, category);
    p = PUT(p, "\", \"name\": \"");
    p = put_str(p, name);
    return number >= 0 ? put_int(p, number) : p;
}

static char *put_place(const kino__demo_text *out, char *p, int64_t pid, int64_t tid, int64_t ts,
                       int64_t dur)
{
    p = PUT(p, "\", \"pid\": ");
    p = put_int(p, pid);
    p = PUT(p, ", \"tid\": ");
    p = put_int(p, tid);
    p = PUT(p, ",\n    \"ts\": ");
    p = put_us(p, ts - out->base_ns);
    p = PUT(p, ", \"dur\": ");
    p = put_us(p, dur);
    return PUT(p, ",\n    \"args\": {\n      ");
}

static char *end_span(char *p)
{
    return PUT(p, "\n    }\n  },");
}

static char *put_flow(const kino__demo_text *out, char *p, bool is_start, int64_t id, int64_t pid,
                      int64_t tid, int64_t ts, kino_str name)
{
    p = is_start ? PUT(p, "\n  {\n    \"ph\": \"s\", \"id\": ")
                 : PUT(p, "\n  {\n    \"ph\": \"f\", \"id\": ");
    p = put_int(p, id);
    p = PUT(p, ", \"pid\": ");
    p = put_int(p, pid);
    p = PUT(p, ", \"tid\": ");
    p = put_int(p, tid);
    p = PUT(p, ", \"ts\": ");
    p = put_us(p, ts - out->base_ns);
    p = PUT(p, ",\n    \"cat\": \"");
    p = put_str(p, name);
    p = PUT(p, "\", \"name\": \"");
    p = put_str(p, name);
    return is_start ? PUT(p, "\"\n  },") : PUT(p, "\", \"bp\": \"e\"\n  },");
}

static char *put_event_index(kino__demo_text *out, char *p)
{
    p = PUT(p, ", \"Ev Idx\": ");
    return put_int(p, (int64_t)out->event_index++);
}

static char *put_comms(const kino__demo_text *out, char *p, const kino__demo_event *e)
{
    p = PUT(p, ", \"Collective name\": \"allreduce\", \"In msg nelems\": ");
    p = put_int(p, e->a);
    p = PUT(p, ", \"Out msg nelems\": ");
    p = put_int(p, e->a);
    p = PUT(p, ", \"Group size\": ");
    p = put_int(p, out->group_size);
    p = PUT(p, ", \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
               "\"Process Group "
               "Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group "
               "Ranks\": \"");
    p = put_str(p, kino__buffer_str(&out->ranks));
    p = PUT(p, "\", \"Seq\": ");
    return put_int(p, e->b);
}

static char *put_op(kino__demo_text *out, char *p, const kino__demo_event *e)
{
    const kino__demo_op_def *def =
        &kino__demo_ops[e->kind == KINO__DEMO_COMMS ? KINO__DEMO_OP_comms : e->name];
    int64_t tid = out->tid[e->thread];
    if (e->kind == KINO__DEMO_ANNOTATION)
        p = begin_span(p, KINO__STR("user_annotation"), kino__demo_annotations[e->name], e->a);
    else
        p = begin_span(p, KINO__STR("cpu_op"), def->name, -1);
    p = put_place(out, p, out->pid, tid, e->ts, e->dur);
    p = PUT(p, "\"External id\": ");
    p = put_int(p, e->external);
    p = PUT(p, ",\"Record function id\": ");
    p = put_int(p, e->id);
    if (e->kind == KINO__DEMO_COMMS) {
        p = put_comms(out, p, e);
        p = PUT(p, ", \"Global rank start\": 0, \"Global rank stride\": 1, \"Rank\": ");
        p = put_int(p, out->rank);
    }
    if (e->sequence) {
        p = PUT(p, ", \"Sequence number\": ");
        p = put_int(p, e->sequence);
        p = PUT(p, ", \"Fwd thread id\": ");
        p = put_int(p, e->thread == KINO__DEMO_THREAD_AUTOGRAD);
    }
    if (e->kind == KINO__DEMO_OP && def->inputs.size) {
        p = PUT(p, ", ");
        p = put_str(p, def->inputs);
    }
    p = end_span(put_event_index(out, p));
    if (e->flow)
        p = put_flow(out, p, e->thread == KINO__DEMO_THREAD_MAIN, e->flow, out->pid, tid, e->ts,
                     KINO__STR("fwdbwd"));
    return p;
}

static char *put_python(kino__demo_text *out, char *p, const kino__demo_event *e)
{
    bool is_module = e->name >= KINO__DEMO_FIRST_MODULE;
    p = begin_span(p, KINO__STR("python_function"), kino__demo_python_names[e->name],
                   is_module ? e->a : -1);
    p = put_place(out, p, out->pid, out->tid[e->thread], e->ts, e->dur);
    p = PUT(p, "\"Python parent id\": ");
    p = e->parent ? put_int(p, e->parent) : PUT(p, "null");
    p = PUT(p, ", \"Python id\": ");
    p = put_int(p, e->id);
    if (is_module) {
        p = PUT(p, ", \"Python module id\": ");
        p = put_int(p, e->a);
    }
    return end_span(put_event_index(out, p));
}

static char *put_memory(kino__demo_text *out, char *p, const kino__demo_event *e)
{
    p = PUT(p, "\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": "
               "\"[memory]\",\n    \"pid\": ");
    p = put_int(p, out->pid);
    p = PUT(p, ", \"tid\": ");
    p = put_int(p, out->tid[e->thread]);
    p = PUT(p, ",\n    \"ts\": ");
    p = put_us(p, e->ts - out->base_ns);
    p = PUT(p, ",\n    \"args\": {\n      \"Total Reserved\": 71940702208, \"Total Allocated\": ");
    p = put_int(p, e->c);
    p = PUT(p, ", \"Bytes\": ");
    p = put_int(p, e->b);
    p = PUT(p, ", \"Addr\": ");
    p = put_int(p, e->a);
    p = PUT(p, ", \"Device Id\": ");
    p = put_int(p, out->device);
    p = PUT(p, ", \"Device Type\": 1");
    return end_span(put_event_index(out, p));
}

static char *put_external(char *p, uint32_t external)
{
    if (!external)
        return p;
    p = PUT(p, "\"External id\": ");
    p = put_int(p, external);
    return PUT(p, ",");
}

static char *put_call(const kino__demo_text *out, char *p, const kino__demo_event *e)
{
    const kino__demo_call_def *def = &kino__demo_calls[e->name];
    int64_t tid = out->tid[e->thread];
    p = begin_span(p, def->is_driver ? KINO__STR("cuda_driver") : KINO__STR("cuda_runtime"),
                   def->name, -1);
    p = put_place(out, p, out->pid, tid, e->ts, e->dur);
    p = put_external(p, e->external);
    p = PUT(p, "\"cbid\": ");
    p = put_int(p, def->cbid);
    p = PUT(p, ", \"correlation\": ");
    p = put_int(p, e->id);
    p = end_span(p);
    return put_flow(out, p, def->starts_flow, e->id, out->pid, tid, e->ts, KINO__STR("ac2g"));
}

static char *put_device(const kino__demo_text *out, char *p, const kino__demo_event *e)
{
    bool is_kernel = e->kind == KINO__DEMO_KERNEL || e->kind == KINO__DEMO_COLLECTIVE;
    int64_t stream = stream_ids[e->stream];
    p = is_kernel ? begin_span(p, KINO__STR("kernel"), kino__demo_kernels[e->name].name, -1)
        : e->kind == KINO__DEMO_COPY
            ? begin_span(p, KINO__STR("gpu_memcpy"), kino__demo_copies[e->name], -1)
            : begin_span(p, KINO__STR("gpu_memset"), KINO__STR("Memset (Device)"), -1);
    p = put_place(out, p, out->device, stream, e->ts, e->dur);
    p = put_external(p, e->external);
    if (is_kernel)
        p = PUT(p, "\"queued\": 0, ");
    p = PUT(p, "\"device\": ");
    p = put_int(p, out->device);
    p = PUT(p, ", \"context\": 1, \"stream\": ");
    p = put_int(p, stream);
    p = PUT(p, ", \"correlation\": ");
    p = put_int(p, e->id);
    if (is_kernel) {
        p = put_str(p, (kino_str){out->kernels[e->name].text, out->kernels[e->name].size});
    } else {
        p = PUT(p, ", \"bytes\": ");
        p = put_int(p, e->b);
        p = PUT(p, ", \"memory bandwidth (GB/s)\": ");
        p = put_ratio(p, e->b, e->dur);
    }
    if (e->kind == KINO__DEMO_COLLECTIVE)
        p = put_comms(out, p, e);
    p = end_span(p);
    return put_flow(out, p, false, e->id, out->device, stream, e->ts, KINO__STR("ac2g"));
}

kino_status kino__demo_text_event(kino__demo_text *out, const kino__demo_event *e, kino_error *err)
{
    if (out->used > PAGE - EVENT_ROOM)
        KINO_TRY(kino__demo_text_flush(out, err));
    char *p = out->page + out->used;
    switch ((kino__demo_kind)e->kind) {
    case KINO__DEMO_OP:
    case KINO__DEMO_COMMS:
    case KINO__DEMO_ANNOTATION:
        p = put_op(out, p, e);
        break;
    case KINO__DEMO_MEMORY:
        p = put_memory(out, p, e);
        break;
    case KINO__DEMO_PYTHON:
        p = put_python(out, p, e);
        break;
    case KINO__DEMO_CALL:
        p = put_call(out, p, e);
        break;
    case KINO__DEMO_KERNEL:
    case KINO__DEMO_COLLECTIVE:
    case KINO__DEMO_COPY:
    case KINO__DEMO_SET:
        p = put_device(out, p, e);
        break;
    }
    out->used = (size_t)(p - out->page);
    return KINO_OK;
}

/* Written one nanosecond early and two longer, so that viewers nest what is inside. */
kino_status kino__demo_text_shadow(kino__demo_text *out, const kino__demo_shadow *shadow,
                                   kino_error *err)
{
    if (out->used > PAGE - EVENT_ROOM)
        KINO_TRY(kino__demo_text_flush(out, err));
    char *p = out->page + out->used;
    p = begin_span(p, KINO__STR("gpu_user_annotation"), kino__demo_annotations[shadow->name],
                   shadow->number);
    p = put_place(out, p, out->device, stream_ids[shadow->stream], shadow->start - 1,
                  shadow->end - shadow->start + 2);
    p = PUT(p, "\"External id\": ");
    p = put_int(p, shadow->external);
    p = end_span(p);
    out->used = (size_t)(p - out->page);
    return KINO_OK;
}
