/* plant_shape.c - chooses what a planted run is like.
 *
 * Thresholds of analyses are around 5 % of a step; plants are below half of that (nobody may be
 * accused) or above one and a half times it. */
#include "demo/plant_shape.h"

#include <limits.h>

#include "base/error.h"

/* Tenths of a percent of the step, some way from the thresholds (5 %, and 2.5 % where the others are
 * alike): this is a mean over the steps, and theirs is a median. */
enum { LEAST_ACCUSED = 65, MOST_SPARED = 20 };

static const char *const names[] = {
#define PLANT(id, name, what) [KINO__PLANT_##id] = (name),
#include "demo/plant_kinds.def"
#undef PLANT
};

uint64_t kino__plant_next(kino__plant_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t kino__plant_between(kino__plant_random *random, int64_t least, int64_t most)
{
    return least + (int64_t)(kino__plant_next(random) % (uint64_t)(most - least + 1));
}

static bool one_in(kino__plant_random *random, unsigned n)
{
    return kino__plant_next(random) % n == 0;
}

const char *kino__plant_name(kino__plant_kind kind)
{
    return names[kind];
}

static bool is_cpu_kind(kino__plant_kind kind)
{
    return kind >= KINO__PLANT_GLOO && kind <= KINO__PLANT_GLOO_LOADER;
}

static bool is_single(kino__plant_kind kind)
{
    return kind == KINO__PLANT_POINTWISE;
}

/* Some kinds are about the frame of a run: they may have a straggler in it. */
static bool may_have_straggler(kino__plant_kind kind)
{
    return kind == KINO__PLANT_MISSING || kind == KINO__PLANT_NESTED ||
           kind == KINO__PLANT_NO_LAUNCH || kind == KINO__PLANT_PROCESSES ||
           kind == KINO__PLANT_PHASE;
}

static kino__plant_cause choose_cause(kino__plant_kind kind, kino__plant_random *random)
{
    static const kino__plant_cause hosts[] = {KINO__CAUSE_LAUNCHES, KINO__CAUSE_PYTHON,
                                              KINO__CAUSE_SLEEP};
    switch (kind) {
    case KINO__PLANT_DEVICE:
    case KINO__PLANT_TENSOR_SLOW:
    case KINO__PLANT_PIPELINE_SLOW:
        return KINO__CAUSE_KERNELS;
    case KINO__PLANT_HOST:
        return hosts[kino__plant_next(random) % 3];
    case KINO__PLANT_LOADER:
    case KINO__PLANT_GLOO_LOADER:
        return KINO__CAUSE_LOADER;
    case KINO__PLANT_COPIES:
        return KINO__CAUSE_COPIES;
    case KINO__PLANT_ONE_KERNEL:
        return KINO__CAUSE_KERNEL;
    case KINO__PLANT_ONE_OPERATOR:
        return KINO__CAUSE_OPERATOR;
    case KINO__PLANT_COLLECTION:
        return KINO__CAUSE_GC;
    case KINO__PLANT_PREEMPTED:
        return KINO__CAUSE_PREEMPTED;
    case KINO__PLANT_GLOO_SLEEP:
        return KINO__CAUSE_SLEEP;
    case KINO__PLANT_GLOO_COMPUTE:
        return KINO__CAUSE_OPERATORS;
    default:
        return may_have_straggler(kind) && one_in(random, 2) ? KINO__CAUSE_KERNELS
                                                             : KINO__CAUSE_NONE;
    }
}

/* Ranks by how they work together. */
static void choose_ranks(kino__plant_shape *s, unsigned wanted, kino__plant_random *random)
{
    static const unsigned usual[] = {2, 2, 3, 4, 4, 5, 6, 8, 8, 12};
    s->tp = s->pp = 1;
    unsigned pick = usual[kino__plant_next(random) % 10];
    if (one_in(random, 24))
        pick = (unsigned)kino__plant_between(random, 16, 64);
    if (s->kind == KINO__PLANT_NATURAL && pick > 6)
        pick = 4;
    s->ranks = wanted ? wanted : is_single(s->kind) ? 1 : pick;
    if (s->kind == KINO__PLANT_TENSOR || s->kind == KINO__PLANT_TENSOR_SLOW) {
        s->tp = one_in(random, 3) ? 4 : 2;
        if (!wanted)
            s->ranks = s->tp * (unsigned)kino__plant_between(random, 2, 4);
        if (s->ranks % s->tp)
            s->tp = s->ranks % 2 ? 1 : 2;
    }
    if (s->kind == KINO__PLANT_PIPELINE || s->kind == KINO__PLANT_PIPELINE_SLOW) {
        s->pp = one_in(random, 3) ? 4 : 2;
        bool is_slow = s->kind == KINO__PLANT_PIPELINE_SLOW;
        if (!wanted)
            s->ranks = s->pp * (unsigned)kino__plant_between(random, is_slow ? 2 : 1, 4);
        if (s->ranks % s->pp)
            s->pp = s->ranks % 2 ? 1 : 2;
    }
    s->dp = s->ranks / (s->tp * s->pp);
}

static void choose_model(kino__plant_shape *s, kino__plant_random *random)
{
    static const int64_t paces[] = {2000000,  3000000,  6000000,   11000000,  25000000,
                                    60000000, 90000000, 250000000, 700000000, 2000000000};
    s->layers = (unsigned)kino__plant_between(random, 2, 6);
    s->kernels = (unsigned)kino__plant_between(random, 1, 3);
    s->buckets = (unsigned)kino__plant_between(random, 1, 3);
    if (s->ranks > 12 || s->pp > 1)
        s->layers = 2, s->kernels = 1;
    int64_t pace = paces[kino__plant_next(random) % 10];
    s->step_ns = pace + kino__plant_between(random, -pace / 10, pace / 10);
    s->noise = (unsigned)kino__plant_between(random, 10, 100);
    s->microbatches = (unsigned)kino__plant_between(random, 4, 6);
    unsigned count = s->layers * s->kernels * 3 + 4;
    int64_t mean = s->step_ns / count;
    s->host_op_ns = mean * 2 / 5 < 24000 ? mean * 2 / 5 : 24000;
    s->transfer_ns = s->step_ns * kino__plant_between(random, 60, 200) / 1000;
    s->loader_ns = s->step_ns * kino__plant_between(random, 2, 10) / 1000;
    s->copy_ns = s->step_ns * kino__plant_between(random, 1, 8) / 1000;
    s->queue = count + (unsigned)kino__plant_between(random, 0, count / 2);
    s->family = (unsigned)kino__plant_between(random, 0, 1);
}

static void choose_look(kino__plant_shape *s, kino__plant_random *random)
{
    s->is_cpu = is_cpu_kind(s->kind);
    s->era = (kino__plant_era)(kino__plant_next(random) % KINO__ERA_COUNT);
    if (one_in(random, 2))
        s->era = KINO__ERA_2_6;
    if (s->is_cpu && (s->era == KINO__ERA_ROCM || s->era == KINO__ERA_1_8))
        s->era = KINO__ERA_2_6;
    /* whole microseconds hide what short kernels do */
    if (s->step_ns < 5000000 && (s->era == KINO__ERA_1_12 || s->era == KINO__ERA_1_8))
        s->era = KINO__ERA_2_1;
    s->has_sync = !one_in(random, 3);
    s->has_stacks = one_in(random, 3);
    s->has_device_steps = one_in(random, 2);
    s->has_copy_stream = one_in(random, 2);
    s->has_backward_thread = !one_in(random, 4);
    s->has_flows = !one_in(random, 3);
    s->has_comm_shadows = one_in(random, 2);
    s->is_multiprocess_loader = one_in(random, 2);
    s->first_step = (unsigned)kino__plant_between(random, 0, 900);
    static const int64_t spreads[] = {0, 3000, 400000, 20000000, 1500000000};
    int64_t spread = spreads[kino__plant_next(random) % 4];
    if (s->kind == KINO__PLANT_PHASE)
        spread = INT64_C(4000000000);
    for (unsigned r = 0; r < KINO__PLANT_MAX_RANKS; r++)
        s->clock[r] = kino__plant_between(random, -spread, spread);
}

/* Tenths of a percent of the step: below or above what may be accused, more often above. */
static unsigned choose_strength(kino__plant_random *random, unsigned least, unsigned most)
{
    if (one_in(random, 6))
        return (unsigned)kino__plant_between(random, 5, 20);
    if (one_in(random, 2))
        return (unsigned)kino__plant_between(random, least, least * 2);
    return (unsigned)kino__plant_between(random, least, most);
}

static void choose_plant(kino__plant_shape *s, unsigned strength, kino__plant_random *random)
{
    s->cause = s->ranks > 1 ? choose_cause(s->kind, random) : KINO__CAUSE_NONE;
    s->slow_rank = s->cause == KINO__CAUSE_NONE
                       ? UINT_MAX
                       : (unsigned)kino__plant_between(random, 0, (int64_t)s->ranks - 1);
    s->missing_rank = UINT_MAX;
    s->strength = choose_strength(random, 90, 900);
    switch (s->kind) {
    case KINO__PLANT_LOADER_ALL:
    case KINO__PLANT_PAGEABLE:
        s->strength = (unsigned)kino__plant_between(random, 150, 1500);
        break;
    case KINO__PLANT_NETWORK:
        s->strength = (unsigned)kino__plant_between(random, 300, 1500);
        break;
    case KINO__PLANT_NATURAL:
        s->strength = (unsigned)kino__plant_between(random, 60, 350);
        break;
    case KINO__PLANT_POINTWISE:
        s->strength = (unsigned)kino__plant_between(random, 500, 850);
        break;
    case KINO__PLANT_MISSING:
        s->missing_rank = (unsigned)kino__plant_between(random, 0, (int64_t)s->ranks - 1);
        s->missing_steps = s->steps > 5 ? (unsigned)kino__plant_between(random, 1, 2) : 1;
        break;
    default:
        break;
    }
    if (strength)
        s->strength = strength;
    bool is_on_all = s->kind == KINO__PLANT_LOADER_ALL || s->kind == KINO__PLANT_PAGEABLE ||
                     s->kind == KINO__PLANT_NETWORK || s->kind == KINO__PLANT_NATURAL;
    if (s->cause != KINO__CAUSE_NONE || is_on_all)
        s->excess_ns = s->step_ns * s->strength / 1000;
}

/* What a kind needs so that its plant is what limits the run. */
static void adapt(kino__plant_shape *s, kino__plant_random *random)
{
    if (s->kind == KINO__PLANT_LAUNCH) {
        int64_t mean = s->step_ns / (s->layers * s->kernels * 3 + 4);
        s->host_op_ns = kino__plant_between(random, 12000, 30000);
        s->step_ns =
            s->step_ns / mean * (s->host_op_ns * kino__plant_between(random, 15, 45) / 100);
        s->transfer_ns = s->step_ns / 50;
        s->loader_ns = s->copy_ns = s->step_ns / 200;
    }
    if (s->kind == KINO__PLANT_SYNC)
        s->has_sync = true;
    if (s->kind == KINO__PLANT_NETWORK)
        s->transfer_ns = s->excess_ns;
    if (s->cause == KINO__CAUSE_LAUNCHES && s->step_ns > 500000000)
        s->cause = KINO__CAUSE_PYTHON; /* nobody's launches take that long */
    /* its Python function is only seen with stacks */
    if (s->cause == KINO__CAUSE_PYTHON)
        s->has_stacks = true;
    if (s->kind == KINO__PLANT_NO_LAUNCH)
        s->has_flows = false;
    /* a host that is ahead has its batches copied while the device computes: nobody waits */
    if ((s->cause == KINO__CAUSE_COPIES || s->kind == KINO__PLANT_PAGEABLE) && !s->has_sync)
        s->has_copy_stream = false;
}

bool kino__plant_is_accused(int64_t gain_ns, int64_t step_ns)
{
    return gain_ns * 1000 >= step_ns * LEAST_ACCUSED;
}

bool kino__plant_is_certain(int64_t gain_ns, int64_t step_ns)
{
    return kino__plant_is_accused(gain_ns, step_ns) || gain_ns * 1000 <= step_ns * MOST_SPARED;
}

static kino_status find_kind(const char *name, kino__plant_kind *kind, kino_error *err)
{
    for (int k = 0; k < KINO__PLANT_COUNT; k++) {
        if (strcmp(name, names[k]) == 0) {
            *kind = (kino__plant_kind)k;
            return KINO_OK;
        }
    }
    return kino__fail(err, KINO_ARGUMENT, "invalid plant '%s' (expected: %s, %s, ..., %s)", name,
                      names[0], names[1], names[KINO__PLANT_COUNT - 1]);
}

static kino_status choose_change(kino__plant_shape *s, const char *change, kino_error *err)
{
    static const char *const changes[] = {"collectives", "kernels", "launches", "loader",
                                          "straggler"};
    for (int i = 0; change && i < 5; i++)
        if (strcmp(change, changes[i]) == 0)
            s->change = (kino__plant_change)(i + 1);
    if (change && s->change == KINO__CHANGE_NONE)
        return kino__fail(err, KINO_ARGUMENT, "invalid change '%s'", change);
    if (s->change == KINO__CHANGE_STRAGGLER) {
        s->cause = KINO__CAUSE_NONE;
        s->slow_rank = UINT_MAX;
    }
    if (s->change == KINO__CHANGE_LAUNCHES)
        s->host_op_ns = 0;
    return KINO_OK;
}

kino_status kino__plant_choose(kino__plant_shape *s, const kino_demo_options *options,
                               kino_error *err)
{
    memset(s, 0, sizeof *s);
    KINO_TRY(find_kind(options->plant, &s->kind, err));
    if (options->ranks > KINO__PLANT_MAX_RANKS)
        return kino__fail(err, KINO_ARGUMENT, "a planted run has at most %d ranks",
                          KINO__PLANT_MAX_RANKS);
    s->seed = options->seed;
    kino__plant_random random = {(s->seed + 1) * 0x2545f4914f6cdd1du + (uint64_t)s->kind * 7919};
    choose_ranks(s, options->ranks, &random);
    s->steps = (unsigned)kino__plant_between(&random, 3, one_in(&random, 4) ? 30 : 8);
    if (s->kind == KINO__PLANT_NATURAL)
        s->steps = s->ranks * (s->ranks < 3 ? 3 : 2);
    if (s->ranks > 12)
        s->steps = 3;
    else if (s->ranks > 4 && s->steps > 8 && s->kind != KINO__PLANT_NATURAL)
        s->steps = 8;
    if (options->steps)
        s->steps = options->steps;
    choose_model(s, &random);
    choose_look(s, &random);
    choose_plant(s, options->strength, &random);
    adapt(s, &random);
    return choose_change(s, options->change, err);
}
