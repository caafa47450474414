/* plant_text.c - planted runs as the text that Kineto writes, in the conventions of several
 * versions of PyTorch. */
#include "demo/plant_text.h"

#include <inttypes.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"

enum { PAGE = 1 << 16, PID = 41200, QUARTER_S = 7889238 };
#define NS_PER_S INT64_C(1000000000)

typedef struct text {
    const kino__plant_sim *sim;
    const kino__plant_shape *s;
    const kino__plant_rank *r;
    kino__buffer out;
    kino__sink *sink;
    int64_t base_ns; /* subtracted from all times */
    int64_t pid;
    unsigned index;
} text;

static const int64_t stream_ids[] = {7, 13, 20, 24, 28, 32};

static bool is_old(const kino__plant_shape *s)
{
    return s->era == KINO__ERA_1_12 || s->era == KINO__ERA_1_8;
}

static const char *category_of(const kino__plant_shape *s, int kind)
{
    static const char *const now[] = {
        "cpu_op",     "user_annotation", "python_function", "cuda_runtime",        "kernel",
        "gpu_memcpy", "cpu_op",          "kernel",          "gpu_user_annotation", "off_cpu"};
    static const char *const then[] = {"Operator", "Operator", "Python",
                                       "Runtime",  "Kernel",   "Memcpy",
                                       "Operator", "Kernel",   "gpu_user_Annotation",
                                       "off_cpu"};
    return s->era == KINO__ERA_1_8 ? then[kind] : now[kind];
}

/* Old versions write whole microseconds; both ends are rounded, so that spans still nest. */
static void put_time(text *t, int64_t ts, int64_t dur)
{
    char digits[KINO__DECIMAL_MAX * 2];
    if (is_old(t->s)) {
        int64_t start = ts / 1000, end = (ts + dur) / 1000;
        kino__buffer_printf(&t->out, "\"ts\": %" PRId64 ", \"dur\": %" PRId64, start, end - start);
        return;
    }
    size_t size = kino__format_us(ts - t->base_ns, digits);
    kino__buffer_printf(&t->out, "\"ts\": %.*s", (int)size, digits);
    size = kino__format_us(dur, digits);
    kino__buffer_printf(&t->out, ", \"dur\": %.*s", (int)size, digits);
}

static int64_t tid_of(const text *t, uint8_t thread)
{
    static const int64_t offsets[] = {0, 77, 461, 462};
    return t->pid + offsets[thread];
}

static bool is_on_device(int kind)
{
    return kind == KINO__PLANT_KERNEL || kind == KINO__PLANT_MEMCPY ||
           kind == KINO__PLANT_COLLECTIVE || kind == KINO__PLANT_SHADOW;
}

static unsigned device_of(const text *t)
{
    return t->r->rank % 8;
}

/* -- process groups -- */

typedef struct group {
    unsigned first, stride, size, number;
    const char *what;
} group;

static group group_of(const kino__plant_shape *s, unsigned rank, unsigned stream)
{
    unsigned stage = kino__plant_stage(s, rank), width = s->dp * s->tp;
    unsigned tp_groups = s->ranks / s->tp;
    if (stream == KINO__PLANT_TP)
        return (group){rank / s->tp * s->tp, 1, s->tp, 1 + rank / s->tp, "TENSOR_MODEL_PARALLEL"};
    if (stream == KINO__PLANT_SEND || stream == KINO__PLANT_RECV)
        return (group){rank % width, width, s->pp, 200 + rank % width, "PIPELINE_MODEL_PARALLEL"};
    if (s->tp == 1 && s->pp == 1)
        return (group){0, 1, s->ranks, 0, "default_pg"};
    return (group){stage * width + rank % s->tp, s->tp, s->dp,
                   1 + tp_groups + stage * s->tp + rank % s->tp, "DATA_PARALLEL"};
}

static void put_ranks(kino__buffer *out, group g)
{
    kino__buffer_add(out, KINO__STR("["));
    for (unsigned i = 0; i < g.size; i++)
        kino__buffer_printf(out, "%s%u", i ? ", " : "", g.first + i * g.stride);
    kino__buffer_add(out, KINO__STR("]"));
}

static void put_collective(text *t, const kino__plant_event *e)
{
    group g = group_of(t->s, t->r->rank, e->stream);
    const char *name = e->stream == KINO__PLANT_SEND   ? "send"
                       : e->stream == KINO__PLANT_RECV ? "recv"
                                                       : "allreduce";
    kino__buffer_printf(&t->out,
                        ", \"Collective name\": \"%s\", \"In msg nelems\": %" PRId64
                        ", \"Out msg nelems\": %" PRId64
                        ", \"Group size\": %u, \"dtype\": \"%s\", \"In split size\": \"[]\", "
                        "\"Out split size\": \"[]\"",
                        name, e->bytes, e->bytes, g.size,
                        t->s->era == KINO__ERA_2_1 ? "Float" : "BFloat16");
    if (t->s->era == KINO__ERA_2_1)
        return;
    kino__buffer_printf(&t->out,
                        ", \"Process Group Name\": \"%u\", \"Process Group Description\": \"%s\", "
                        "\"Process Group Ranks\": \"",
                        g.number, g.what);
    put_ranks(&t->out, g);
    kino__buffer_add(&t->out, KINO__STR("\""));
    if (e->stream == KINO__PLANT_SEND)
        kino__buffer_printf(&t->out, ", \"Dst Rank\": %u", e->peer);
    if (e->stream == KINO__PLANT_RECV)
        kino__buffer_printf(&t->out, ", \"Src Rank\": %u", e->peer);
}

/* -- events -- */

static void put_host_arguments(text *t, const kino__plant_event *e)
{
    if (e->kind == KINO__PLANT_OFF_CPU) {
        kino__buffer_add(&t->out, KINO__STR("\"state\": \"preempted\""));
        return;
    }
    if (e->kind == KINO__PLANT_PYTHON) {
        if (e->parent)
            kino__buffer_printf(&t->out, "\"Python parent id\": %u, ", e->parent);
        else
            kino__buffer_add(&t->out, KINO__STR("\"Python parent id\": null, "));
        kino__buffer_printf(&t->out, "\"Python id\": %u", e->id);
        if (e->number >= 0)
            kino__buffer_printf(&t->out, ", \"Python module id\": %" PRId64, e->number);
        return;
    }
    kino__buffer_printf(&t->out, "\"%s\": %u",
                        t->s->era == KINO__ERA_1_8 ? "external id" : "External id", e->external);
    if (e->kind == KINO__PLANT_CALL) {
        kino__buffer_printf(&t->out, ", \"cbid\": 211, \"correlation\": %u", e->id);
        return;
    }
    if (!is_old(t->s))
        kino__buffer_add(&t->out, KINO__STR(", \"Record function id\": 0"));
    if (e->kind == KINO__PLANT_COMMS)
        put_collective(t, e);
}

static void put_device_arguments(text *t, const kino__plant_event *e)
{
    bool has_launch = t->s->kind != KINO__PLANT_NO_LAUNCH;
    if (e->kind == KINO__PLANT_SHADOW) {
        kino__buffer_printf(&t->out, "\"External id\": %u", e->external);
        return;
    }
    kino__buffer_printf(&t->out, "\"device\": %u, \"context\": 1, \"stream\": %" PRId64,
                        device_of(t), stream_ids[e->stream]);
    if (has_launch)
        kino__buffer_printf(&t->out, ", \"correlation\": %u, \"%s\": %u", e->id,
                            t->s->era == KINO__ERA_1_8 ? "external id" : "External id",
                            e->external);
    if (e->kind == KINO__PLANT_MEMCPY) {
        kino__buffer_printf(&t->out, ", \"bytes\": %" PRId64, e->bytes);
        return;
    }
    kino__buffer_add(&t->out, KINO__STR(", \"queued\": 0, \"registers per thread\": 64, \"shared "
                                        "memory\": 16384, \"blocks per SM\": 12.121212, \"warps "
                                        "per SM\": 96.969697, \"grid\": [1600, 1, 1], \"block\": "
                                        "[256, 1, 1], \"est. achieved occupancy %\": 75"));
    if (e->kind == KINO__PLANT_COLLECTIVE && t->s->era == KINO__ERA_2_6)
        put_collective(t, e);
}

static void put_name(text *t, const kino__plant_event *e)
{
    kino__buffer name = {0};
    kino__buffer_add(&name, e->name);
    bool has_number = e->kind == KINO__PLANT_ANNOTATION || e->kind == KINO__PLANT_SHADOW ||
                      e->kind == KINO__PLANT_PYTHON;
    if (has_number && e->number >= 0)
        kino__buffer_printf(&name, "%" PRId64, e->number);
    if (kino__str_is(e->name, "nccl:send"))
        kino__buffer_printf(&name, " %u->%u", t->r->rank, e->peer);
    if (kino__str_is(e->name, "nccl:recv"))
        kino__buffer_printf(&name, " %u<-%u", t->r->rank, e->peer);
    kino__json_add_string(&t->out, kino__buffer_str(&name));
    t->out.failed |= name.failed;
    kino__buffer_deinit(&name);
}

static void put_flow(text *t, const kino__plant_event *e, int64_t pid, int64_t tid)
{
    bool is_start = e->kind == KINO__PLANT_CALL;
    char digits[KINO__DECIMAL_MAX];
    size_t size = is_old(t->s) ? kino__format_int(e->ts / 1000, digits)
                               : kino__format_us(e->ts - t->base_ns, digits);
    kino__buffer_printf(&t->out,
                        ",\n  {\"ph\": \"%s\", \"id\": %u, \"pid\": %" PRId64 ", \"tid\": %" PRId64
                        ", \"ts\": %.*s, \"cat\": \"%s\", \"name\": \"%s\"%s}",
                        is_start ? "s" : "f", e->id, pid, tid, (int)size, digits,
                        is_old(t->s) ? "async_cpu_to_gpu" : "ac2g",
                        is_old(t->s) ? "launch" : "ac2g", is_start ? "" : ", \"bp\": \"e\"");
}

static bool starts_work(const kino__plant_event *e)
{
    return kino__str_is(e->name, "cudaLaunchKernel") || kino__str_is(e->name, "cudaMemcpyAsync") ||
           kino__str_is(e->name, "hipLaunchKernel") || kino__str_is(e->name, "hipMemcpyWithStream");
}

static kino_status put_event(text *t, const kino__plant_event *e, kino_error *err)
{
    int64_t pid = t->pid, tid = tid_of(t, e->thread);
    if (is_on_device(e->kind)) {
        pid = device_of(t);
        tid = stream_ids[e->stream];
    }
    kino__plant_event moved = *e;
    moved.ts += t->s->clock[t->r->rank];
    kino__buffer_printf(&t->out,
                        "%s\n  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": ", t->index++ ? "," : "",
                        category_of(t->s, e->kind));
    put_name(t, e);
    if (e->kind == KINO__PLANT_OFF_CPU) /* a track of its own */
        kino__buffer_printf(&t->out, ", \"pid\": %" PRId64 ", \"tid\": \"%" PRId64 " off-CPU\", ",
                            pid, tid);
    else
        kino__buffer_printf(&t->out, ", \"pid\": %" PRId64 ", \"tid\": %" PRId64 ", ", pid, tid);
    put_time(t, moved.ts, moved.dur);
    kino__buffer_add(&t->out, KINO__STR(", \"args\": {"));
    if (is_on_device(e->kind))
        put_device_arguments(t, e);
    else
        put_host_arguments(t, e);
    kino__buffer_add(&t->out, KINO__STR("}}"));
    bool is_work = is_on_device(e->kind) && e->kind != KINO__PLANT_SHADOW;
    if (t->s->has_flows && (is_work || (e->kind == KINO__PLANT_CALL && starts_work(e))))
        put_flow(t, &moved, pid, tid);
    if (t->out.failed)
        return kino__fail_nomem(err);
    if (t->out.size < PAGE)
        return KINO_OK;
    KINO_TRY(kino__sink_write(t->sink, kino__buffer_str(&t->out), err));
    t->out.size = 0;
    return KINO_OK;
}

/* -- the frame -- */

static void put_groups(text *t)
{
    static const unsigned streams[] = {KINO__PLANT_DP, KINO__PLANT_TP, KINO__PLANT_SEND};
    bool has[] = {t->s->dp > 1, t->s->tp > 1, t->s->pp > 1};
    unsigned count = (unsigned)has[0] + has[1] + has[2], written = 0;
    kino__buffer_printf(&t->out, ", \"pg_count\": %u, \"pg_config\": [", count);
    for (unsigned i = 0; i < 3; i++) {
        if (!has[i])
            continue;
        group g = group_of(t->s, t->r->rank, streams[i]);
        kino__buffer_printf(&t->out,
                            "%s{\"pg_name\": \"%u\", \"pg_desc\": \"%s\", \"backend_config\": "
                            "\"%s\", \"pg_size\": %u, \"ranks\": ",
                            written++ ? ", " : "", g.number, g.what,
                            t->s->is_cpu ? "cpu:gloo" : "cuda:nccl", g.size);
        put_ranks(&t->out, g);
        kino__buffer_add(&t->out, KINO__STR("}"));
    }
    kino__buffer_add(&t->out, KINO__STR("]"));
}

static void put_distributed(text *t)
{
    if (t->s->ranks < 2)
        return;
    kino__buffer_printf(&t->out,
                        "  \"distributedInfo\": {\"backend\": \"%s\", \"rank\": %u, "
                        "\"world_size\": %u",
                        t->s->is_cpu ? "gloo" : "nccl", t->r->rank, t->s->ranks);
    if (t->s->era == KINO__ERA_2_6 || t->s->era == KINO__ERA_ROCM)
        put_groups(t);
    kino__buffer_add(&t->out, KINO__STR("},\n"));
}

static void put_head(text *t)
{
    kino__buffer_add(&t->out, KINO__STR("{\n  \"schemaVersion\": 1,\n"));
    if (!t->s->is_cpu && t->r)
        kino__buffer_printf(&t->out,
                            "  \"deviceProperties\": [{\"id\": %u, \"name\": \"%s\", "
                            "\"totalGlobalMem\": 85017755648, \"computeMajor\": 9, "
                            "\"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, "
                            "\"maxThreadsPerMultiprocessor\": 2048, \"regsPerBlock\": 65536, "
                            "\"warpSize\": 32, \"sharedMemPerBlock\": 49152, \"numSms\": 132}],\n",
                            device_of(t),
                            t->s->era == KINO__ERA_ROCM ? "AMD Instinct MI300X"
                                                        : "NVIDIA H100 80GB HBM3");
    if (t->s->has_stacks)
        kino__buffer_add(&t->out, KINO__STR("  \"with_stack\": 1,\n"));
    if (t->r)
        put_distributed(t);
    if (!is_old(t->s))
        kino__buffer_printf(&t->out,
                            "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": "
                            "%" PRId64 ",\n",
                            t->base_ns);
    kino__buffer_add(&t->out, KINO__STR("  \"traceEvents\": ["));
}

static void put_label(text *t, int64_t pid, int64_t tid, const char *what, const char *key,
                      const char *value)
{
    kino__buffer_printf(&t->out,
                        "%s\n  {\"ph\": \"M\", \"name\": \"%s\", \"ts\": 0, \"pid\": %" PRId64
                        ", \"tid\": %" PRId64 ", \"args\": {\"%s\": \"%s\"}}",
                        t->index++ ? "," : "", what, pid, tid, key, value);
}

static void put_labels(text *t, const char *process)
{
    put_label(t, t->pid, 0, "process_name", "name", process);
    put_label(t, t->pid, 0, "process_labels", "labels", "CPU");
    if (t->s->is_cpu || !t->r)
        return;
    char label[16] = "GPU 0";
    label[4] = (char)('0' + device_of(t));
    put_label(t, device_of(t), 0, "process_name", "name", process);
    put_label(t, device_of(t), 0, "process_labels", "labels", label);
}

static void init(text *t, const kino__plant_sim *sim, const kino__plant_rank *r, kino__sink *sink)
{
    *t = (text){.sim = sim, .s = &sim->shape, .r = r, .sink = sink};
    t->base_ns = sim->start_ns / (QUARTER_S * NS_PER_S) * (QUARTER_S * NS_PER_S);
    t->pid = PID + (r ? 131 * (int64_t)(r->rank % 8) : 0);
}

static kino_status finish(text *t, kino_status st, kino_error *err)
{
    kino__buffer_add(&t->out, KINO__STR("\n  ]\n}\n"));
    if (st == KINO_OK && t->out.failed)
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        st = kino__sink_write(t->sink, kino__buffer_str(&t->out), err);
    kino__buffer_deinit(&t->out);
    return st;
}

kino_status kino__plant_text(const kino__plant_sim *sim, unsigned rank, kino__sink *sink,
                             kino_error *err)
{
    text t;
    init(&t, sim, &sim->ranks[rank], sink);
    put_head(&t);
    put_labels(&t, "python");
    kino_status st = KINO_OK;
    for (size_t i = 0; i < t.r->events.count && st == KINO_OK; i++)
        if (kino__plant_is_written(t.r, &t.r->events.items[i]))
            st = put_event(&t, &t.r->events.items[i], err);
    return finish(&t, st, err);
}

kino_status kino__plant_text_process(const kino__plant_sim *sim, unsigned number, kino__sink *sink,
                                     kino_error *err)
{
    text t;
    init(&t, sim, NULL, sink);
    t.pid = PID + 7000 + number;
    put_head(&t);
    put_labels(&t, number ? "pt_data_worker" : "torchrun");
    int64_t ts = sim->start_ns, pause = sim->shape.step_ns / 2;
    for (unsigned i = 0; i < sim->shape.steps * 2; i++) {
        kino__buffer_printf(&t.out,
                            ",\n  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": "
                            "%" PRId64 ", \"tid\": %" PRId64 ", ",
                            category_of(t.s, number ? KINO__PLANT_OP : KINO__PLANT_PYTHON),
                            number ? "aten::stack"
                                   : "torch/distributed/elastic/agent/server/api.py(870): "
                                     "_invoke_run",
                            t.pid, t.pid);
        put_time(&t, ts, pause / (number ? 3 : 1));
        kino__buffer_printf(&t.out, ", \"args\": {\"%s\": %u}}",
                            number ? "External id" : "Python id", i + 1);
        ts += pause + 2000;
    }
    return finish(&t, KINO_OK, err);
}
