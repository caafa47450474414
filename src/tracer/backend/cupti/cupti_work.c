/* cupti_work.c - records of what devices do: kernels, copies, fills. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tracer/backend/cupti/cupti_records.h"
#include "tracer/device/device_details.h"

/* -- reading records */

/* So many bytes of the record as its version has; the rest is 0. */
static void copy(void *to, size_t size, const void *record, size_t has)
{
    memset(to, 0, size);
    memcpy(to, record, has < size ? has : size);
}

static bool is_12(void)
{
    return kino__cupti.version >= CUPTI_VERSION_12_0;
}

static cupti_kernel read_kernel(const void *record)
{
    cupti_kernel k;
    size_t has = kino__cupti.version >= CUPTI_VERSION_13_1 ? sizeof k
                 : is_12() ? offsetof(cupti_kernel, is_device_launched)
                           : offsetof(cupti_kernel, graph_node_id);
    copy(&k, sizeof k, record, has);
    return k;
}

static cupti_memcpy read_memcpy(const void *record)
{
    cupti_memcpy m;
    copy(&m, sizeof m, record, is_12() ? sizeof m : offsetof(cupti_memcpy, graph_node_id));
    return m;
}

static cupti_memcpy_peer read_peer(const void *record)
{
    cupti_memcpy_peer m;
    copy(&m, sizeof m, record, is_12() ? sizeof m : offsetof(cupti_memcpy_peer, graph_node_id));
    return m;
}

static cupti_memset read_memset(const void *record)
{
    cupti_memset m;
    copy(&m, sizeof m, record, is_12() ? sizeof m : offsetof(cupti_memset, graph_node_id));
    return m;
}

/* -- on a stream */

/* Work on a stream; `device` is CUDA's. */
static kino_device_activity work(uint32_t kind, uint32_t device, uint32_t stream, uint64_t start,
                                 uint64_t end, uint32_t correlation)
{
    const kino__cupti_relation *r = kino__cupti_relation_of(correlation);
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    a.kind = kind;
    a.device = kino__cupti_device(device);
    a.stream = stream;
    a.start = start;
    a.end = end;
    a.correlation = correlation;
    a.external = r->external[0];
    kino__cupti_stream_used(device, stream);
    if (r->external[1] && kino__cupti_is_wanted(KINO_DEVICE_GPU_ANNOTATION))
        kino__cupti_annotate(r->external[1], a.device, stream, start, end);
    return a;
}

/* Groups of arguments, for kino__cupti_arg_group. */
enum { GROUP_PLACE, GROUP_SHAPE, GROUP_GRAPH, GROUP_COPY_PLACE };

#define NO_PRIORITY ((uint64_t)INT64_MAX)

/* graph id, graph node id, priority, channel, channel type */
static void build_graph(kino__cupti_args *args, const uint64_t *w)
{
    if (!is_12())
        return;
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_GRAPH, w[0]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_GRAPH_NODE, w[1]);
    if (w[2] != NO_PRIORITY)
        kino__cupti_arg_int(args, KINO__CUPTI_KEY_PRIORITY, (int64_t)w[2]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_CHANNEL, w[3]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_CHANNEL_TYPE, w[4]);
}

/* Nodes of graphs are many: their numbers are not worth keeping. */
static void add_graph(kino__cupti_args *args, const uint64_t words[5])
{
    if (words[0] || words[1])
        build_graph(args, words);
    else if (is_12())
        kino__cupti_arg_group(args, GROUP_GRAPH, words, 5, build_graph);
}

/* -- kernels */

/* queued, device, context, stream */
static void build_kernel_place(kino__cupti_args *args, const uint64_t *w)
{
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_QUEUED, w[0]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_DEVICE, w[1]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_CONTEXT, w[2]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_STREAM, w[3]);
}

static void add_triple(kino__cupti_args *args, kino__cupti_key key, const uint64_t *w)
{
    char text[64];
    (void)snprintf(text, sizeof text, "[%d, %d, %d]", (int32_t)w[0], (int32_t)w[1], (int32_t)w[2]);
    kino__cupti_arg_text(args, key, KINO_DEVICE_ARG_JSON, text);
}

static void add_factors(char *out, size_t size, uint32_t factors)
{
    static const char *const texts[] = {"WARPS", "REGS", "SMEM", "BLOCKS"};
    size_t at = 0;
    for (int i = 0; i < 4 && at < size; i++)
        if (factors & 1u << i)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "|" : "", texts[i]);
    if (!at)
        (void)snprintf(out, size, "none");
}

static void add_occupancy(kino__cupti_args *args, const kino__occupancy *o)
{
    char text[480], factors[40];
    if (!o->is_known) /* missing, not 0 */
        return;
    add_factors(factors, sizeof factors, o->factors);
    (void)snprintf(text, sizeof text,
                   "{\"activeBlocksPerMultiprocessor\":%d,\"limitingFactors\":\"%s\","
                   "\"blockLimitRegs\":%d,\"blockLimitSharedMem\":%d,\"blockLimitWarps\":%d,"
                   "\"blockLimitBlocks\":%d,\"blockLimitBarriers\":%d,"
                   "\"allocatedRegistersPerBlock\":%lld,\"allocatedSharedMemPerBlock\":%lld}",
                   o->active_blocks, factors, o->limit_registers, o->limit_shared, o->limit_warps,
                   o->limit_blocks, o->limit_barriers, (long long)o->registers_per_block,
                   (long long)o->shared_per_block);
    kino__cupti_arg_text(args, KINO__CUPTI_KEY_OCCUPANCY, KINO_DEVICE_ARG_JSON, text);
}

/* device, registers, static and dynamic shared memory, grid, block. Kineto counts in floats. */
static void build_shape(kino__cupti_args *args, const uint64_t *w)
{
    static const kino__cuda_limits unknown;
    const kino__cuda_limits *limits =
        w[0] < KINO__CUPTI_DEVICES ? &kino__cupti.limits[w[0]] : &unknown;
    int64_t threads64 = (int64_t)(int32_t)w[7] * (int32_t)w[8] * (int32_t)w[9];
    int32_t threads = threads64 > INT_MAX ? INT_MAX : (int32_t)threads64;
    float grid = (float)(int32_t)w[4] * (float)(int32_t)w[5] * (float)(int32_t)w[6];
    float blocks = limits->sm_count ? grid / (float)limits->sm_count : 0;
    kino__cuda_launch launch = {threads, (int32_t)w[1], (int32_t)w[2], (int32_t)w[3]};
    kino__occupancy o = kino__cuda_occupancy(limits, &launch);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_REGISTERS, w[1]);
    kino__cupti_arg_int(args, KINO__CUPTI_KEY_SHARED, (int64_t)(int32_t)w[2] + (int32_t)w[3]);
    if (limits->sm_count) {
        float warps = blocks * (float)threads / 32;
        kino__cupti_arg_double(args, KINO__CUPTI_KEY_BLOCKS, (double)blocks);
        kino__cupti_arg_double(args, KINO__CUPTI_KEY_WARPS, (double)warps);
    } else {
        kino__cupti_arg_text(args, KINO__CUPTI_KEY_BLOCKS, KINO_DEVICE_ARG_TEXT, "inf");
        kino__cupti_arg_text(args, KINO__CUPTI_KEY_WARPS, KINO_DEVICE_ARG_TEXT, "inf");
    }
    add_triple(args, KINO__CUPTI_KEY_GRID, w + 4);
    add_triple(args, KINO__CUPTI_KEY_BLOCK, w + 7);
    kino__cupti_arg_int(args, KINO__CUPTI_KEY_ACHIEVED,
                        kino__cuda_achieved_percent(&o, limits, blocks, threads));
    add_occupancy(args, &o);
}

static void decode_kernel(const void *record)
{
    cupti_kernel k = read_kernel(record);
    if (!kino__cupti_is_wanted(KINO_DEVICE_KERNEL) || !kino__cupti_is_usable(k.start, &k.end))
        return;
    kino_device_activity a =
        work(KINO_DEVICE_KERNEL, k.device, k.stream, k.start, k.end, k.correlation);
    a.name = kino__cupti_kernel_name(k.name);
    kino__cupti_args args = {.count = 0};
    const uint64_t place[] = {k.queued, a.device, k.context, k.stream};
    const uint64_t shape[] = {k.device,
                              k.registers,
                              (uint32_t)k.static_shared,
                              (uint32_t)k.dynamic_shared,
                              (uint32_t)k.grid[0],
                              (uint32_t)k.grid[1],
                              (uint32_t)k.grid[2],
                              (uint32_t)k.block[0],
                              (uint32_t)k.block[1],
                              (uint32_t)k.block[2]};
    bool has_priority = kino__cupti.version >= CUPTI_VERSION_13_1;
    const uint64_t graph[] = {k.graph_id, k.graph_node_id,
                              has_priority ? (uint64_t)(int64_t)k.priority : NO_PRIORITY, k.channel,
                              k.channel_type};
    if (k.queued) /* never twice the same */
        build_kernel_place(&args, place);
    else
        kino__cupti_arg_group(&args, GROUP_PLACE, place, 4, build_kernel_place);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CORRELATION, k.correlation);
    kino__cupti_arg_group(&args, GROUP_SHAPE, shape, 10, build_shape);
    add_graph(&args, graph);
    char details[KINO__DETAILS_MAX + 1];
    if (kino__details_of(a.external, details))
        kino__cupti_arg_object(&args, details);
    kino__cupti_hand_over(&a, &args);
}

/* -- copies and fills */

/* device, context, stream */
static void build_copy_place(kino__cupti_args *args, const uint64_t *w)
{
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_DEVICE, w[0]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_CONTEXT, w[1]);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_STREAM, w[2]);
}

static void add_copy_place(kino__cupti_args *args, const kino_device_activity *a, uint32_t context)
{
    const uint64_t place[] = {a->device, context, a->stream};
    kino__cupti_arg_group(args, GROUP_COPY_PLACE, place, 3, build_copy_place);
}

/* With the arguments that stand behind the place. */
static void hand_over_copy(kino_device_activity *a, kino__cupti_args *args, uint64_t bytes,
                           const uint64_t graph[5])
{
    uint64_t ns = a->end - a->start;
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_CORRELATION, a->correlation);
    kino__cupti_arg_uint(args, KINO__CUPTI_KEY_BYTES, bytes);
    if (ns)
        kino__cupti_arg_double(args, KINO__CUPTI_KEY_BANDWIDTH, (double)bytes / (double)ns);
    add_graph(args, graph);
    kino__cupti_hand_over(a, args);
}

static void decode_memcpy(const void *record)
{
    cupti_memcpy m = read_memcpy(record);
    if (!kino__cupti_is_wanted(KINO_DEVICE_MEMCPY) || !kino__cupti_is_usable(m.start, &m.end))
        return;
    kino_device_activity a =
        work(KINO_DEVICE_MEMCPY, m.device, m.stream, m.start, m.end, m.correlation);
    kino__cupti_args args = {.count = 0};
    const uint64_t graph[] = {m.graph_id, m.graph_node_id, NO_PRIORITY, m.channel, m.channel_type};
    a.name = kino__cupti_memcpy_name(m.copy_kind, m.source, m.target);
    add_copy_place(&args, &a, m.context);
    hand_over_copy(&a, &args, m.bytes, graph);
}

static void decode_peer(const void *record)
{
    cupti_memcpy_peer m = read_peer(record);
    if (!kino__cupti_is_wanted(KINO_DEVICE_MEMCPY) || !kino__cupti_is_usable(m.start, &m.end))
        return;
    kino_device_activity a =
        work(KINO_DEVICE_MEMCPY, m.device, m.stream, m.start, m.end, m.correlation);
    kino__cupti_args args = {.count = 0};
    const uint64_t graph[] = {m.graph_id, m.graph_node_id, NO_PRIORITY, m.channel, m.channel_type};
    a.name = kino__cupti_memcpy_name(m.copy_kind, m.source, m.target);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_FROM_DEVICE, kino__cupti_device(m.source_device));
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_IN_DEVICE, a.device);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_TO_DEVICE, kino__cupti_device(m.target_device));
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_FROM_CONTEXT, m.source_context);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_IN_CONTEXT, m.context);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_TO_CONTEXT, m.target_context);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_STREAM, m.stream);
    hand_over_copy(&a, &args, m.bytes, graph);
}

static void decode_memset(const void *record)
{
    cupti_memset m = read_memset(record);
    if (!kino__cupti_is_wanted(KINO_DEVICE_MEMSET) || !kino__cupti_is_usable(m.start, &m.end))
        return;
    kino_device_activity a =
        work(KINO_DEVICE_MEMSET, m.device, m.stream, m.start, m.end, m.correlation);
    kino__cupti_args args = {.count = 0};
    const uint64_t graph[] = {m.graph_id, m.graph_node_id, NO_PRIORITY, m.channel, m.channel_type};
    a.name = kino__cupti_memset_name(m.memory);
    add_copy_place(&args, &a, m.context);
    hand_over_copy(&a, &args, m.bytes, graph);
}

/* -- for the passes */

bool kino__cupti_decode_work(uint32_t kind, const void *record)
{
    switch (kind) {
    case CUPTI_KIND_CONCURRENT_KERNEL:
        decode_kernel(record);
        return true;
    case CUPTI_KIND_MEMCPY:
        decode_memcpy(record);
        return true;
    case CUPTI_KIND_MEMCPY2:
        decode_peer(record);
        return true;
    case CUPTI_KIND_MEMSET:
        decode_memset(record);
        return true;
    default:
        return false;
    }
}

bool kino__cupti_place_of(uint32_t kind, const void *record, uint32_t *context, uint32_t *device)
{
    if (kind == CUPTI_KIND_CONCURRENT_KERNEL) {
        cupti_kernel k = read_kernel(record);
        *context = k.context;
        *device = k.device;
    } else if (kind == CUPTI_KIND_MEMCPY) {
        cupti_memcpy m = read_memcpy(record);
        *context = m.context;
        *device = m.device;
    } else if (kind == CUPTI_KIND_MEMSET) {
        cupti_memset m = read_memset(record);
        *context = m.context;
        *device = m.device;
    } else {
        return false;
    }
    return true;
}
