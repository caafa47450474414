/* straggler.c - some ranks are slower, and the others wait for them in communication.
 *
 * Who is decided by the verdict (analysis/verdict/verdict.h), as on every page; so are the words.
 *
 * Gain: the slowest straggler's own time less that of the slowest of its peers, in the median step
 * (a checkpoint of another rank does not count), but not more than what the others wait for it. */
#include <stdio.h>
#include <stdlib.h>

#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.05,
                 "share of the step by which its local time exceeds the median of its peers"},
    {0},
};

/* Of one step, on average. */
static int64_t own_time(const kino__rank_facts *f)
{
    return (f->step_time - f->role[KINO__ROLE_COMMUNICATION]) / f->step_count;
}

static const kino__role role_of[] = {[KINO__SLOW_KERNELS] = KINO__ROLE_KERNEL,
                                     [KINO__SLOW_LOADER] = KINO__ROLE_LOADER,
                                     [KINO__SLOW_COPIES] = KINO__ROLE_MEMCPY,
                                     [KINO__SLOW_HOST] = KINO__ROLE_OTHER};

static int64_t label_of(const kino__rank_facts *f)
{
    return f->rank == KINO_NO_INT ? f->trace : f->rank;
}

typedef struct slow_ranks {
    const kino__rank_facts *slowest;
    int64_t saved; /* if it were like the last of the others, per step */
    kino__slow_ranks found;
} slow_ranks;

/* "rank 2", "ranks 1 and 5", "ranks 1, 4 and 5", "ranks 1, 2, 3 and 9 more". */
static void say_who(const int64_t *labels, size_t kept, size_t count, char *text, size_t size)
{
    enum { SAID = 4 };
    size_t said = count <= SAID && count <= kept ? count : SAID - 1;
    size_t used = (size_t)snprintf(text, size, count > 1 ? "ranks " : "rank ");
    for (size_t i = 0; i < said && used < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%lld", between, (long long)labels[i]);
    }
    if (said < count && used < size)
        (void)snprintf(text + used, size - used, " and %zu more", count - said);
}

static bool is_accused(const kino__verdict *v, const kino__rank_facts *f)
{
    for (size_t i = 0; i < v->slow.count; i++)
        if (v->slow.items[i].trace == f->trace)
            return true;
    return false;
}

/* At least one rank is accused. */
static slow_ranks find_slow(const kino__rule_compare *c, const kino__verdict *v)
{
    const kino__slow_rank *slowest = &v->slow.items[v->slowest];
    slow_ranks s = {.saved = v->lead < v->waiting ? v->lead : v->waiting};
    int64_t labels[KINO__SLOW_MAX];
    for (size_t i = 0; i < c->rank_count; i++) {
        const kino__rank_facts *f = &c->ranks[i];
        if (f->trace == slowest->trace)
            s.slowest = f;
        if (!is_accused(v, f))
            continue;
        if (s.found.count < KINO__SLOW_MAX) {
            s.found.trace[s.found.count] = f->trace;
            labels[s.found.count] = label_of(f);
        }
        s.found.count++;
    }
    size_t kept = s.found.count < KINO__SLOW_MAX ? s.found.count : KINO__SLOW_MAX;
    if (s.slowest) {
        s.found.own = own_time(s.slowest);
        s.found.cause = role_of[slowest->cause];
        say_who(labels, kept, s.found.count, s.found.who, sizeof s.found.who);
    }
    return s;
}

static const char *advice(kino__role cause)
{
    switch (cause) {
    case KINO__ROLE_LOADER:
        return "look at the input of this rank: storage, number of workers, uneven shards";
    case KINO__ROLE_KERNEL:
        return "compare its device with the others (clocks, power and temperature limits, other "
               "processes), and its share of the work (uneven batches or sequence lengths)";
    case KINO__ROLE_MEMCPY:
    case KINO__ROLE_MEMSET:
        return "compare how its data is copied to the device: pinned memory, the PCIe link, the "
               "NUMA node it runs on";
    default:
        return "compare its host with the others (other processes, CPU affinity, NUMA placement, "
               "clocks), and what only this rank does (logging, checkpoints)";
    }
}

static void speak(const kino__rule_compare *c, const slow_ranks *s, kino_str seen)
{
    int64_t gain = s->saved * s->slowest->step_count;
    kino__finding *f =
        kino__finding_add(c->out, kino__severity_of(gain, s->slowest->step_time), gain);
    f->rank = s->slowest->rank;
    f->trace = s->slowest->trace;
    f->step_time = s->slowest->step_time;
    bool is_one = s->found.count == 1;
    char label[48] = "";
    if (!is_one)
        (void)snprintf(label, sizeof label,
                       "rank %lld is the slowest of them: ", (long long)label_of(s->slowest));
    kino__finding_say(c->out, f, KINO__SAY_TITLE, "%s %s the slowest", s->found.who,
                      is_one ? "is" : "are");
    kino__finding_say(c->out, f, KINO__SAY_SEEN, "%s%.*s", label, (int)seen.size, seen.data);
    kino__finding_say(c->out, f, KINO__SAY_WHY,
                      "collectives end when the last rank arrives: the slowest one sets the pace");
    kino__finding_say(c->out, f, KINO__SAY_DO, "%s", advice(s->found.cause));
    kino__finding_cite(f, s->slowest->first_step_row);
    c->out->slow = s->found;
}

static void compare(const kino__rule_compare *c)
{
    kino__verdict v;
    if (!kino__verdict_judge(c->verdict, c->thresholds[T_SHARE], &v)) {
        c->out->failed = true;
    } else if (v.slow.count) {
        slow_ranks s = find_slow(c, &v);
        kino__buffer seen = {0};
        kino__verdict_say(&v, v.slowest, &seen);
        c->out->failed |= seen.failed;
        if (s.slowest && !seen.failed)
            speak(c, &s, kino__buffer_str(&seen));
        kino__buffer_deinit(&seen);
    }
    kino__verdict_deinit(&v);
}

const kino__rule_def kino__rule_straggler = {
    .name = "straggler",
    .help = "ranks whose local time is longer than that of their peers",
    .gain = "the local time of the slowest rank less that of the slowest other rank, in the median "
            "step; at most what the others wait",
    .thresholds = thresholds,
    .compare = compare,
};
