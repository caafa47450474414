/* plant_step.c - the program of one step of one rank of a planted run.
 *
 * Everything that is planted is planted here: a slow rank's kernels, host, loader or copies get the
 * excess of the shape added, as the cause says. */
#include <limits.h>

#include "demo/plant_sim.h"

typedef enum part { FORWARD, BACKWARD, POINTWISE, OPTIMIZER, PARTS } part;

typedef struct name_def {
    unsigned family;
    part where;
    kino_str op, inner, kernel;
} name_def;

static const name_def names[] = {
#define NAME(family, where, op, inner, kernel)                                                     \
    {(family),                                                                                     \
     (where),                                                                                      \
     {(op), sizeof(op) - 1},                                                                       \
     {(inner), sizeof(inner) - 1},                                                                 \
     {(kernel), sizeof(kernel) - 1}},
#include "demo/plant_names.def"
#undef NAME
};

enum { OPTIMIZER_KERNELS = 4 };

/* What is being written, and for whom. */
typedef struct writer {
    const kino__plant_sim *sim;
    const kino__plant_shape *s;
    kino__plant_rank *r;
    unsigned step;     /* recorded ones count from 0; warm-up ones are negative in spirit */
    bool is_slow;      /* the plant is on this rank in this step */
    int64_t kernel_ns; /* mean */
    int64_t host_ns;   /* of an operator */
    unsigned count;    /* of kernels in the step */
    unsigned written;  /* of them so far */
} writer;

static void put(writer *w, kino__plant_code code)
{
    kino__plant_code *slot = kino__vec_add(&w->r->program);
    if (slot)
        *slot = code;
    else
        w->r->has_failed = true;
}

static void open_annotation(writer *w, kino_str name, int64_t number)
{
    put(w, (kino__plant_code){.verb = KINO__VERB_OPEN, .name = name, .number = number});
}

static void open_python(writer *w, kino_str name)
{
    put(w, (kino__plant_code){.verb = KINO__VERB_PYTHON, .name = name, .number = -1});
}

static void close_span(writer *w)
{
    put(w, (kino__plant_code){.verb = KINO__VERB_CLOSE});
}

static void spend(writer *w, int64_t ns)
{
    put(w, (kino__plant_code){.verb = KINO__VERB_SPEND, .host_ns = ns});
}

static const name_def *name_at(const writer *w, part where, unsigned number)
{
    unsigned count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        count += names[i].family == w->s->family && names[i].where == where;
    number %= count;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].family == w->s->family && names[i].where == where && number-- == 0)
            return &names[i];
    return names;
}

/* Host time of a step that is hidden behind the device while the host runs ahead. */
static int64_t host_slack(const writer *w)
{
    if (w->s->has_sync || w->s->is_cpu)
        return 0;
    int64_t pace = w->s->step_ns * 102 / 100 + w->s->transfer_ns / w->s->buckets;
    int64_t host = (int64_t)w->count * w->host_ns * 11 / 10 + 150000 + w->s->loader_ns;
    return pace > host ? pace - host : 0;
}

/* Is it the one that is planted? A kernel in the middle of the step, where nobody looks first; an
 * operator at its beginning, before the host is ahead of the device. */
static bool is_planted_op(const writer *w, kino__plant_cause cause)
{
    unsigned place = cause == KINO__CAUSE_KERNEL ? w->count / 2 : 0;
    return w->is_slow && w->s->cause == cause && w->written == place;
}

/* An operator of so much of the mean, in percent. */
static void add_op(writer *w, part where, unsigned number, int64_t percent)
{
    const name_def *name = name_at(w, where, number);
    int64_t ns = w->kernel_ns * percent / 100;
    if (w->is_slow && (w->s->cause == KINO__CAUSE_KERNELS || w->s->cause == KINO__CAUSE_OPERATORS ||
                       w->s->kind == KINO__PLANT_NATURAL))
        ns += ns * w->s->strength / 1000;
    int64_t host = w->s->is_cpu ? ns : w->host_ns;
    if (is_planted_op(w, KINO__CAUSE_KERNEL))
        ns += w->s->excess_ns;
    if (is_planted_op(w, KINO__CAUSE_OPERATOR))
        host += w->s->excess_ns + host_slack(w);
    if (w->s->change == KINO__CHANGE_KERNELS && name == name_at(w, FORWARD, 0))
        ns /= 2;
    w->written++;
    kino_str kernel = name->kernel;
    if (w->s->era == KINO__ERA_ROCM && (where == FORWARD || where == BACKWARD))
        kernel = where == FORWARD
                     ? KINO__STR("Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16")
                     : KINO__STR("Cijk_Ailk_Bjlk_BBS_BH_UserArgs_MT256x208x64_MI16x16x1_SN_LDSB1");
    put(w, (kino__plant_code){.verb = KINO__VERB_OP,
                              .name = name->op,
                              .inner = name->inner,
                              .kernel = kernel,
                              .host_ns = host,
                              .device_ns = ns,
                              .number = -1});
}

/* -- parts of a step -- */

static void load_batch(writer *w)
{
    int64_t ns = w->s->loader_ns;
    if (w->s->kind == KINO__PLANT_LOADER_ALL || (w->is_slow && w->s->cause == KINO__CAUSE_LOADER))
        ns += w->s->excess_ns + host_slack(w);
    if (w->s->change == KINO__CHANGE_LOADER)
        ns = 0;
    open_annotation(w,
                    w->s->is_multiprocess_loader
                        ? KINO__STR("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
                        : KINO__STR("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
                    -1);
    spend(w, ns);
    close_span(w);
}

static void delay_host(writer *w)
{
    if (!w->is_slow)
        return;
    int64_t ns = w->s->excess_ns + host_slack(w);
    if (w->s->cause == KINO__CAUSE_SLEEP) {
        spend(w, ns);
    } else if (w->s->cause == KINO__CAUSE_PYTHON) {
        open_python(w, KINO__STR("train.py(147): rescale_and_log_metrics"));
        spend(w, ns);
        close_span(w);
    } else if (w->s->cause == KINO__CAUSE_GC) {
        open_python(w, KINO__STR("Python GC"));
        spend(w, ns);
        close_span(w);
    } else if (w->s->cause == KINO__CAUSE_PREEMPTED) {
        put(w, (kino__plant_code){.verb = KINO__VERB_LOSE, .host_ns = ns});
    }
}

static void copy_batch(writer *w)
{
    if (w->s->is_cpu)
        return;
    bool is_planted =
        w->s->kind == KINO__PLANT_PAGEABLE || (w->is_slow && w->s->cause == KINO__CAUSE_COPIES);
    int64_t ns = w->s->copy_ns + (is_planted ? w->s->excess_ns : 0);
    put(w, (kino__plant_code){.verb = KINO__VERB_COPY, .device_ns = ns, .is_pageable = is_planted});
}

/* Weights of kernels, in percent; their mean is 100. */
static int64_t weight(const writer *w, unsigned number)
{
    static const int64_t weights[] = {140, 60, 110, 90, 120, 80};
    return weights[(number + w->s->seed) % 6];
}

static kino_str comm_kernel(const kino__plant_shape *s, bool is_p2p)
{
    if (s->era == KINO__ERA_ROCM)
        return KINO__STR("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)");
    if (s->era == KINO__ERA_2_6)
        return is_p2p ? KINO__STR("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")
                      : KINO__STR("ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
                                  "ncclDevKernelArgsStorage<4096ul>)");
    return is_p2p ? KINO__STR("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned "
                              "long, ncclWork*)")
                  : KINO__STR("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned "
                              "long, ncclWork*)");
}

static void post(writer *w, kino__plant_stream stream, unsigned peer, int64_t transfer)
{
    bool is_p2p = stream == KINO__PLANT_SEND || stream == KINO__PLANT_RECV;
    int64_t time = w->s->change == KINO__CHANGE_COLLECTIVES ? 0 : transfer;
    kino_str name = w->s->is_cpu                 ? KINO__STR("gloo:all_reduce")
                    : stream == KINO__PLANT_SEND ? KINO__STR("nccl:send")
                    : stream == KINO__PLANT_RECV ? KINO__STR("nccl:recv")
                                                 : KINO__STR("nccl:all_reduce");
    kino_str op = stream == KINO__PLANT_SEND   ? KINO__STR("c10d::send")
                  : stream == KINO__PLANT_RECV ? KINO__STR("c10d::recv_")
                                               : KINO__STR("c10d::allreduce_");
    put(w, (kino__plant_code){.verb = KINO__VERB_POST,
                              .stream = (uint8_t)stream,
                              .peer = peer,
                              .name = name,
                              .inner = op,
                              .kernel = comm_kernel(w->s, is_p2p),
                              .device_ns = time,
                              .number = transfer / 40 + 1024});
}

static void join(writer *w, kino__plant_stream stream)
{
    put(w, (kino__plant_code){.verb = w->s->is_cpu ? KINO__VERB_WAIT : KINO__VERB_JOIN,
                              .stream = (uint8_t)stream});
}

/* Tensor parallelism: the layer's result is summed before anything goes on. */
static void reduce_layer(writer *w)
{
    if (w->s->tp < 2)
        return;
    post(w, KINO__PLANT_TP, 0, w->s->step_ns * 6 / 100 / w->s->layers / 2);
    join(w, KINO__PLANT_TP);
}

static void sync_layer(writer *w)
{
    if (w->s->kind != KINO__PLANT_SYNC)
        return;
    put(w, (kino__plant_code){.verb = KINO__VERB_ITEM});
    spend(w, w->s->step_ns * 3 / 10 / w->s->layers);
}

static void forward_layer(writer *w, unsigned layer)
{
    if (w->s->has_stacks)
        put(w, (kino__plant_code){.verb = KINO__VERB_PYTHON,
                                  .name = w->s->family ? KINO__STR("nn.Module: Bottleneck_")
                                                       : KINO__STR("nn.Module: TransformerBlock_"),
                                  .number = layer});
    for (unsigned k = 0; k < w->s->kernels; k++)
        add_op(w, FORWARD, layer + k, weight(w, layer * w->s->kernels + k));
    if (w->s->has_stacks)
        close_span(w);
}

static void backward_layer(writer *w, unsigned layer)
{
    for (unsigned k = 0; k < w->s->kernels * 2; k++)
        add_op(w, BACKWARD, layer + k / 2, weight(w, layer * w->s->kernels * 2 + k));
}

static void optimizer(writer *w)
{
    bool is_nested = w->s->kind == KINO__PLANT_NESTED;
    if (is_nested)
        open_annotation(w, KINO__STR("Optimizer.step#ShardedOptimizer.step"), -1);
    open_annotation(w, KINO__STR("Optimizer.step#AdamW.step"), -1);
    for (unsigned k = 0; k < OPTIMIZER_KERNELS; k++)
        add_op(w, OPTIMIZER, k, 100);
    close_span(w);
    if (is_nested)
        close_span(w);
}

static void enter_backward(writer *w, bool is_entry)
{
    if (w->s->has_backward_thread && !w->s->is_cpu)
        put(w, (kino__plant_code){.verb = KINO__VERB_THREAD,
                                  .thread = is_entry ? KINO__PLANT_AUTOGRAD : KINO__PLANT_MAIN});
}

/* -- whole steps -- */

static void train(writer *w)
{
    const kino__plant_shape *s = w->s;
    open_annotation(
        w, s->ranks > 1 ? KINO__STR("DistributedDataParallel.forward") : KINO__STR("forward"), -1);
    for (unsigned layer = 0; layer < s->layers; layer++) {
        forward_layer(w, layer);
        reduce_layer(w);
        sync_layer(w);
    }
    close_span(w);
    enter_backward(w, true);
    for (unsigned layer = 0; layer < s->layers; layer++) {
        backward_layer(w, layer);
        reduce_layer(w);
        unsigned before = layer * s->buckets / s->layers;
        unsigned after = (layer + 1) * s->buckets / s->layers;
        if (after > before && s->dp > 1)
            post(w, KINO__PLANT_DP, 0, s->transfer_ns / s->buckets);
    }
    enter_backward(w, false);
    if (s->dp > 1)
        join(w, KINO__PLANT_DP);
}

/* Forward of all microbatches, then backward of all. */
static void train_stage(writer *w)
{
    const kino__plant_shape *s = w->s;
    unsigned stage = kino__plant_stage(s, w->r->rank), width = s->dp * s->tp;
    unsigned next = w->r->rank + width, before = w->r->rank - width;
    int64_t transfer = s->step_ns / 400;
    for (unsigned m = 0; m < s->microbatches; m++) {
        if (stage > 0) {
            post(w, KINO__PLANT_RECV, before, transfer);
            join(w, KINO__PLANT_RECV);
        }
        for (unsigned layer = 0; layer < s->layers; layer++)
            forward_layer(w, layer);
        if (stage + 1 < s->pp)
            post(w, KINO__PLANT_SEND, next, transfer);
    }
    enter_backward(w, true);
    for (unsigned m = 0; m < s->microbatches; m++) {
        if (stage + 1 < s->pp) {
            post(w, KINO__PLANT_RECV, next, transfer);
            join(w, KINO__PLANT_RECV);
        }
        for (unsigned layer = 0; layer < s->layers; layer++)
            backward_layer(w, layer);
        if (stage > 0)
            post(w, KINO__PLANT_SEND, before, transfer);
    }
    enter_backward(w, false);
    if (s->dp > 1) {
        post(w, KINO__PLANT_DP, 0, s->transfer_ns / 4);
        join(w, KINO__PLANT_DP);
    }
}

/* Most of the kernels' time is in pointwise ones. */
static void infer(writer *w)
{
    unsigned count = w->s->layers * 4;
    int64_t share = w->s->strength;
    for (unsigned i = 0; i < count; i++) {
        add_op(w, FORWARD, i, (1000 - share) * 3 / 10);
        for (unsigned k = 0; k < 3; k++)
            add_op(w, POINTWISE, i + k, share / 10);
    }
}

static unsigned count_kernels(const kino__plant_shape *s)
{
    if (s->kind == KINO__PLANT_POINTWISE)
        return s->layers * 12; /* in units of the mean: three for each layer's share */
    unsigned passes = s->pp > 1 ? s->microbatches : 1;
    return s->layers * s->kernels * 3 * passes + OPTIMIZER_KERNELS;
}

static bool is_slow_now(const kino__plant_shape *s, const kino__plant_rank *r)
{
    if (s->kind == KINO__PLANT_NATURAL)
        return r->step % s->ranks == r->rank;
    return r->rank == s->slow_rank;
}

static void init(writer *w, const kino__plant_sim *sim, kino__plant_rank *r)
{
    const kino__plant_shape *s = &sim->shape;
    *w = (writer){.sim = sim, .s = s, .r = r, .step = r->step, .host_ns = s->host_op_ns};
    w->is_slow = is_slow_now(s, r);
    w->count = count_kernels(s);
    w->kernel_ns = s->step_ns / w->count;
    /* the stages of a pipeline are never quite equal */
    if (s->pp > 1)
        w->kernel_ns +=
            w->kernel_ns * (int64_t)((kino__plant_stage(s, r->rank) * 37 + s->seed) % 9) / 100;
    if (w->is_slow && s->cause == KINO__CAUSE_LAUNCHES)
        w->host_ns = (s->step_ns + s->excess_ns + s->transfer_ns / s->buckets) / w->count;
}

void kino__plant_program(const kino__plant_sim *sim, kino__plant_rank *r)
{
    writer w;
    init(&w, sim, r);
    const kino__plant_shape *s = w.s;
    int64_t number = (int64_t)s->first_step + r->step;
    if (s->has_stacks)
        open_python(&w, KINO__STR("train.py(88): run_step"));
    open_annotation(&w, KINO__STR("ProfilerStep#"), number);
    if (s->kind == KINO__PLANT_NESTED) {
        open_annotation(&w, KINO__STR("## train_step ##"), -1);
        open_annotation(&w, KINO__STR("iteration "), number);
    }
    load_batch(&w);
    delay_host(&w);
    copy_batch(&w);
    if (s->kind == KINO__PLANT_POINTWISE) {
        infer(&w);
    } else {
        if (s->pp > 1)
            train_stage(&w);
        else
            train(&w);
        optimizer(&w);
    }
    if (s->has_sync && !s->is_cpu)
        put(&w, (kino__plant_code){.verb = KINO__VERB_ITEM});
    if (s->kind == KINO__PLANT_NESTED) {
        close_span(&w);
        close_span(&w);
    }
    close_span(&w);
    if (s->has_stacks)
        close_span(&w);
    spend(&w, 4000);
}
