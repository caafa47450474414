/* plant_truth.c - what is true about a planted run, for tests to compare conclusions with. */
#include <limits.h>

#include "base/json_out.h"
#include "demo/plant_text.h"

static const char *cause_name(kino__plant_cause cause)
{
    switch (cause) {
    case KINO__CAUSE_KERNELS:
    case KINO__CAUSE_KERNEL:
        return "kernels";
    case KINO__CAUSE_OPERATOR:
    case KINO__CAUSE_GC:
    case KINO__CAUSE_PREEMPTED:
    case KINO__CAUSE_LAUNCHES:
    case KINO__CAUSE_PYTHON:
    case KINO__CAUSE_SLEEP:
    case KINO__CAUSE_OPERATORS:
        return "host";
    case KINO__CAUSE_LOADER:
        return "loader";
    case KINO__CAUSE_COPIES:
        return "copies";
    case KINO__CAUSE_NONE:
        break;
    }
    return NULL;
}

/* What the planted span is, as kino says it. */
static const char *span_kind(kino__plant_cause cause)
{
    static const char *const kinds[] = {[KINO__CAUSE_KERNELS] = "kernel",
                                        [KINO__CAUSE_KERNEL] = "kernel",
                                        [KINO__CAUSE_OPERATOR] = "operator",
                                        [KINO__CAUSE_OPERATORS] = "operator",
                                        [KINO__CAUSE_LAUNCHES] = "operator",
                                        [KINO__CAUSE_GC] = "garbage collection",
                                        [KINO__CAUSE_PREEMPTED] = "preempted thread",
                                        [KINO__CAUSE_PYTHON] = "Python function",
                                        [KINO__CAUSE_SLEEP] = "unrecorded",
                                        [KINO__CAUSE_LOADER] = "data loader",
                                        [KINO__CAUSE_COPIES] = "copy"};
    return kinds[cause];
}

/* Its name, where one event per step is planted; NULL: several, or none. */
static kino_str span_name(const kino__plant_sim *sim)
{
    const kino__plant_shape *s = &sim->shape;
    const kino__plant_event *longest = NULL;
    int kind = s->cause == KINO__CAUSE_KERNEL     ? KINO__PLANT_KERNEL
               : s->cause == KINO__CAUSE_OPERATOR ? KINO__PLANT_OP
               : s->cause == KINO__CAUSE_COPIES   ? KINO__PLANT_MEMCPY
               : s->cause == KINO__CAUSE_LOADER   ? KINO__PLANT_ANNOTATION
                                                  : KINO__PLANT_PYTHON;
    if (s->cause == KINO__CAUSE_PREEMPTED)
        return KINO__STR("off-CPU");
    bool has_name =
        kind != KINO__PLANT_PYTHON || s->cause == KINO__CAUSE_PYTHON || s->cause == KINO__CAUSE_GC;
    const kino__plant_rank *r = &sim->ranks[s->slow_rank];
    for (size_t i = 0; has_name && i < r->events.count; i++) {
        const kino__plant_event *e = &r->events.items[i];
        bool is_it = e->kind == kind && kino__plant_is_written(r, e);
        if (kind == KINO__PLANT_OP) /* it waits for the device */
            is_it = is_it && !kino__str_is(e->name, "aten::item") &&
                    !kino__str_is(e->name, "aten::_local_scalar_dense");
        if (kind == KINO__PLANT_ANNOTATION)
            is_it = is_it && kino__str_contains(e->name, KINO__STR("DataLoader"));
        if (kind == KINO__PLANT_PYTHON)
            is_it = is_it && (kino__str_is(e->name, "Python GC") ||
                              kino__str_contains(e->name, KINO__STR("rescale")));
        if (is_it && (!longest || e->dur > longest->dur))
            longest = e;
    }
    return longest ? longest->name : (kino_str){NULL, 0};
}

/* What limits a run without a straggler, if anything does. */
static const char *limit_name(kino__plant_kind kind)
{
    switch (kind) {
    case KINO__PLANT_LOADER_ALL:
        return "loader";
    case KINO__PLANT_POINTWISE:
        return "pointwise";
    case KINO__PLANT_LAUNCH:
        return "launches";
    case KINO__PLANT_NETWORK:
        return "communication";
    case KINO__PLANT_SYNC:
        return "synchronization";
    case KINO__PLANT_PAGEABLE:
        return "copies";
    default:
        return NULL;
    }
}

static void put_int(kino__json *json, const char *key, int64_t value)
{
    kino__json_key(json, key);
    kino__json_int(json, value);
}

static void put_bool(kino__json *json, const char *key, bool value)
{
    kino__json_key(json, key);
    kino__json_bool(json, value);
}

static bool is_step(const kino__plant_event *e)
{
    return e->kind == KINO__PLANT_ANNOTATION && kino__str_is(e->name, "ProfilerStep#");
}

/* Sums over the recorded events of a rank. */
static void put_rank(kino__json *json, const kino__plant_rank *r)
{
    int64_t steps = 0, time = 0, kernels = 0, collectives = 0, copies = 0;
    for (size_t i = 0; i < r->events.count; i++) {
        const kino__plant_event *e = &r->events.items[i];
        if (!kino__plant_is_written(r, e))
            continue;
        steps += is_step(e);
        time += is_step(e) ? e->dur : 0;
        kernels += e->kind == KINO__PLANT_KERNEL ? e->dur : 0;
        collectives += e->kind == KINO__PLANT_COLLECTIVE ? e->dur : 0;
        copies += e->kind == KINO__PLANT_MEMCPY ? e->dur : 0;
    }
    kino__json_newline(json, 4);
    kino__json_begin_object(json);
    put_int(json, "rank", r->rank);
    put_int(json, "steps", steps);
    put_int(json, "step_time", time);
    put_int(json, "kernel_time", kernels);
    put_int(json, "collective_time", collectives);
    put_int(json, "copy_time", copies);
    kino__json_end_object(json);
}

static void put_ranks(kino__json *json, const kino__plant_sim *sim)
{
    kino__json_key(json, "of_ranks");
    kino__json_begin_array(json);
    for (unsigned i = 0; i < sim->shape.ranks; i++)
        put_rank(json, &sim->ranks[i]);
    kino__json_end_array(json);
}

/* Mean over all steps of all ranks. */
static int64_t mean_step(const kino__plant_sim *sim)
{
    int64_t steps = 0, time = 0;
    for (unsigned r = 0; r < sim->shape.ranks; r++)
        for (size_t i = 0; i < sim->ranks[r].events.count; i++) {
            const kino__plant_event *e = &sim->ranks[r].events.items[i];
            steps += is_step(e);
            time += is_step(e) ? e->dur : 0;
        }
    return steps ? time / steps : 0;
}

void kino__plant_truth(const kino__plant_sim *sim, const kino__plant_sim *without,
                       kino__buffer *out)
{
    const kino__plant_shape *s = &sim->shape;
    int64_t step = mean_step(sim), gain = without ? step - mean_step(without) : 0;
    bool is_accused = without && kino__plant_is_accused(gain, step);
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "plant");
    kino__json_text(&json, kino__plant_name(s->kind));
    kino__json_key(&json, "seed");
    kino__json_uint(&json, s->seed);
    put_int(&json, "ranks", s->ranks);
    put_int(&json, "steps", s->steps);
    put_int(&json, "tensor_parallel", s->tp);
    put_int(&json, "pipeline_stages", s->pp);
    put_int(&json, "era", s->era);
    put_bool(&json, "is_cpu", s->is_cpu);
    put_bool(&json, "has_sync", s->has_sync);
    put_bool(&json, "has_stacks", s->has_stacks);
    put_bool(&json, "is_multiprocess_loader", s->is_multiprocess_loader);
    put_int(&json, "noise_permille", s->noise);
    put_int(&json, "compute_ns", s->step_ns);
    put_int(&json, "transfer_ns", s->transfer_ns);
    put_int(&json, "strength_permille", s->strength);
    kino__json_key(&json, "straggler");
    if (is_accused)
        kino__json_int(&json, s->slow_rank);
    else
        kino__json_null(&json);
    kino__json_key(&json, "cause");
    kino__json_text(&json, is_accused ? cause_name(s->cause) : NULL);
    kino__json_key(&json, "span_kind");
    kino__json_text(&json, is_accused ? span_kind(s->cause) : NULL);
    kino__json_key(&json, "span");
    kino_str span = is_accused ? span_name(sim) : (kino_str){NULL, 0};
    if (span.data)
        kino__json_string(&json, span);
    else
        kino__json_null(&json);
    kino__json_key(&json, "limit");
    kino__json_text(&json, limit_name(s->kind));
    put_int(&json, "slow_rank", s->slow_rank == UINT_MAX ? -1 : (int64_t)s->slow_rank);
    put_int(&json, "excess_ns", s->excess_ns);
    put_int(&json, "gain_ns", gain);
    put_bool(&json, "is_certain", !without || kino__plant_is_certain(gain, step));
    put_ranks(&json, sim);
    kino__json_end_object(&json);
    kino__buffer_add(out, KINO__STR("\n"));
}
