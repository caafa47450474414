/* straggler.c - some ranks are slower, and the others wait for them in communication.
 *
 * A rank's own time is its step time without exposed communication: ranks that finish early spend
 * the difference waiting. A rank whose own time a step is above the median of all by more than the
 * share is a straggler; the part of the step that differs most from the median rank's says why.
 *
 * Gain: the slowest straggler's own time less that of the slowest other rank, but not more than the
 * largest exposed communication among the others: that is what they can stop waiting. */
#include <stdio.h>
#include <stdlib.h>

#include "base/compare.h"
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.05, "how much more than the median rank's own time"},
    {0},
};

/* Of one step, on average. */
static int64_t own_time(const kino__rank_facts *f)
{
    return (f->step_time - f->role[KINO__ROLE_COMMUNICATION]) / f->step_count;
}

/* Of an even number the lower one: slow ranks are half of the run at most. */
static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, kino__compare_ints);
    return values[(count - 1) / 2];
}

/* The role in which the slow rank differs most from the median. */
static kino__role find_cause(const kino__rule_compare *c, const kino__rank_facts *slow,
                             int64_t *values, int64_t *more)
{
    kino__role cause = KINO__ROLE_OTHER;
    *more = 0;
    for (int role = 0; role < KINO__ROLE_COUNT; role++) {
        if (role == KINO__ROLE_COMMUNICATION)
            continue;
        for (size_t i = 0; i < c->rank_count; i++)
            values[i] = c->ranks[i].role[role] / c->ranks[i].step_count;
        int64_t difference = slow->role[role] / slow->step_count - median_of(values, c->rank_count);
        if (difference > *more) {
            *more = difference;
            cause = (kino__role)role;
        }
    }
    return cause;
}

static const char *say_cause(kino__role cause)
{
    switch (cause) {
    case KINO__ROLE_KERNEL:
        return "kernels";
    case KINO__ROLE_LOADER:
        return "the data loader";
    case KINO__ROLE_MEMCPY:
    case KINO__ROLE_MEMSET:
        return "copies";
    case KINO__ROLE_RUNTIME:
        return "runtime calls";
    case KINO__ROLE_CPU:
        return "operators of the host";
    default:
        return "other work of the host";
    }
}

static int64_t label_of(const kino__rank_facts *f)
{
    return f->rank == KINO_NO_INT ? f->trace : f->rank;
}

typedef struct slow_ranks {
    const kino__rank_facts *slowest;
    int64_t rest;    /* largest own time of the others */
    int64_t waiting; /* largest exposed communication a step of the others */
    char list[96];
    size_t count;
} slow_ranks;

static slow_ranks find_slow(const kino__rule_compare *c, int64_t median)
{
    slow_ranks s = {0};
    size_t used = 0;
    for (size_t i = 0; i < c->rank_count; i++) {
        const kino__rank_facts *f = &c->ranks[i];
        int64_t own = own_time(f);
        if (kino__is_above(own - median, median, c->thresholds[T_SHARE])) {
            if (!s.slowest || own > own_time(s.slowest))
                s.slowest = f;
            if (used + 24 < sizeof s.list)
                used += (size_t)snprintf(s.list + used, sizeof s.list - used, "%s%lld",
                                         s.count ? ", " : "", (long long)label_of(f));
            s.count++;
            continue;
        }
        int64_t waiting = f->role[KINO__ROLE_COMMUNICATION] / f->step_count;
        s.rest = own > s.rest ? own : s.rest;
        s.waiting = waiting > s.waiting ? waiting : s.waiting;
    }
    return s;
}

static void compare(const kino__rule_compare *c)
{
    int64_t communication = 0;
    if (c->rank_count < 2)
        return;
    for (size_t i = 0; i < c->rank_count; i++) {
        if (c->ranks[i].step_count <= 0)
            return;
        communication = kino__sum(communication, c->ranks[i].communication);
    }
    int64_t *values = malloc(c->rank_count * sizeof *values);
    if (!values || communication <= 0) {
        c->out->failed |= !values;
        free(values);
        return;
    }
    for (size_t i = 0; i < c->rank_count; i++)
        values[i] = own_time(&c->ranks[i]);
    int64_t median = median_of(values, c->rank_count), more;
    slow_ranks s = find_slow(c, median);
    if (!s.slowest) {
        free(values);
        return;
    }
    kino__role cause = find_cause(c, s.slowest, values, &more);
    free(values);
    int64_t saved = own_time(s.slowest) - s.rest;
    saved = saved < s.waiting ? saved : s.waiting;
    int64_t gain = saved * s.slowest->step_count;
    kino__finding *f =
        kino__finding_add(c->out, kino__severity_of(gain, s.slowest->step_time), gain);
    f->rank = s.slowest->rank;
    f->step_time = s.slowest->step_time;
    kino__finding_say(c->out, f, KINO__SAY_TITLE, "%s than the others, which wait",
                      s.count > 1 ? "some ranks are slower" : "one rank is slower");
    kino__finding_say(c->out, f, KINO__SAY_SEEN,
                      "rank%s %s: %s a step without communication, the median is %s; most of the "
                      "difference (%s) is in %s. Other ranks wait up to %s a step in communication",
                      s.count > 1 ? "s" : "", s.list, kino__say_time(own_time(s.slowest)),
                      kino__say_time(median), kino__say_time(more), say_cause(cause),
                      kino__say_time(s.waiting));
    kino__finding_say(c->out, f, KINO__SAY_WHY,
                      "collectives end when the last rank arrives: the slowest one sets the pace");
    kino__finding_say(
        c->out, f, KINO__SAY_DO, "%s",
        cause == KINO__ROLE_LOADER
            ? "look at the input of this rank: storage, number of workers, uneven shards"
        : cause == KINO__ROLE_KERNEL
            ? "compare its device with the others (clocks, power and temperature limits, other "
              "processes: nvidia-smi -q -d PERFORMANCE), and its share of the work (uneven batches "
              "or sequence lengths)"
            : "compare its host with the others (other processes, CPU affinity, NUMA placement, "
              "clocks), and what only this rank does (logging, checkpoints)");
    kino__finding_cite(f, s.slowest->first_step_row);
}

const kino__rule_def kino__rule_straggler = {
    .name = "straggler",
    .help = "ranks whose own part of the step is longer than the others'",
    .gain = "the slowest rank's own time less the slowest other rank's, at most what the others "
            "wait",
    .thresholds = thresholds,
    .compare = compare,
};
