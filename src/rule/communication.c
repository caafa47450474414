/* communication.c - communication that nothing hides takes much of the step. The plugin's fourth
 * rule; its number is the part of the step in which only communication runs.
 *
 * Gain: this part. It is an upper limit, reached when all communication is hidden; part of it may
 * be waiting for slower ranks. */
#include "rule/costly_collective.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.1, "share of the step time in exposed communication"},
    {0},
};

static const char *advice(const kino__program_kind *program, bool is_exchange)
{
    if (kino__program_is_torch(program) && is_exchange)
        return "overlap the exchange with independent computation (async_op=True with wait() as "
               "late as possible, micro-batches that take turns), send less (lower precision), and "
               "balance what each rank receives (experts, embedding tables)";
    if (kino__program_is_torch(program))
        return program->is_training
                   ? "overlap more (larger or differently ordered gradient buckets, "
                     "bucket_cap_mb; FSDP prefetch), send less (gradient compression hooks, bf16 "
                     "gradients), or less often (gradient accumulation with no_sync, larger batch)"
                   : "overlap more (async_op=True with wait() as late as possible), send less "
                     "(lower precision, fewer ranks per layer), or less often (larger batch)";
    return "overlap more (start non-blocking calls early, wait late, compute in between), send "
           "less, or less often (fewer and larger messages)";
}

static void look(const kino__rule_look *l)
{
    const kino__rank_facts *facts = l->facts;
    int64_t exposed = facts->role[KINO__ROLE_COMMUNICATION];
    if (!kino__is_above(exposed, facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(exposed, facts->step_time), exposed);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "communication is not hidden behind computation");
    kino__costly_collective worst;
    char text[256] = "";
    bool has_worst = l->scan && kino__collective_worst(l->scan, &worst);
    if (has_worst)
        kino__collective_say(l, &worst, text, sizeof text);
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%s of the step time is exposed communication (%s per step); %s of all "
                      "communication overlaps with computation%s%s",
                      kino__say_share(exposed, facts->step_time),
                      kino__say_time(exposed / facts->step_count),
                      kino__say_share(facts->overlap, facts->communication),
                      has_worst ? ". Largest: " : "", text);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "during this time the rank only waits for other ranks and the network");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s",
                      advice(l->program, has_worst && kino__collective_is_exchange(l, &worst)));
    if (l->scan)
        kino__finding_claim_cover(l->out, f, &l->scan->communication, INT64_MIN, INT64_MAX);
    for (size_t i = 0; has_worst && i < worst.top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)worst.top.index[i]));
    for (size_t i = 0; !has_worst && i < l->profile->comm.count && i < 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, l->profile->comm.items[i].row));
}

const kino__rule_def kino__rule_communication = {
    .name = "communication",
    .help = "communication that is not hidden behind computation",
    .gain = "the share of the steps in which only communication runs; an upper bound",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .is_plugins = true,
    .look = look,
};
