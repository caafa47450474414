/* exposed_collective.c - one kind of collective that computation does not hide.
 *
 * By name of the collective: the time of its kernels inside the steps during which no other kernel
 * computes. Speaks from a smaller share on than communication, which looks at all of them together
 * and names the worst one where it speaks.
 *
 * Gain: the exposed time of the worst collective; part of it may be waiting for slower ranks. */
#include "rule/costly_collective.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.03, "share of the step time in which only this collective runs"},
    {0},
};

static void look(const kino__rule_look *l)
{
    kino__costly_collective worst;
    if (!kino__collective_worst(l->scan, &worst) ||
        !kino__is_above(worst.exposed, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f = kino__finding_add(
        l->out, kino__severity_of(worst.exposed, l->facts->step_time), worst.exposed);
    char text[256];
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "a collective is not hidden behind computation");
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "%s; %s of the step time is exposed",
                      kino__collective_say(l, &worst, text, sizeof text),
                      kino__say_share(worst.exposed, l->facts->step_time));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "during this time the rank only waits for other ranks and the network");
    kino__finding_say(
        l->out, f, KINO__SAY_DO, "start it earlier and overlap it with computation%s",
        !kino__program_is_torch(l->program)
            ? ": use non-blocking calls and wait for them as late as possible"
        : l->program->is_training && !kino__collective_is_exchange(l, &worst)
            ? ": async_op=True with wait() as late as possible, DDP buckets (bucket_cap_mb), FSDP "
              "forward_prefetch and backward_prefetch"
            : ": async_op=True with wait() as late as possible");
    kino__collective_claim(l, f, &worst);
    for (size_t i = 0; i < worst.top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)worst.top.index[i]));
}

const kino__rule_def kino__rule_exposed_collective = {
    .name = "exposed-collective",
    .help = "one kind of collective that is not hidden behind computation",
    .gain = "time of this collective's kernels while nothing computes",
    .thresholds = thresholds,
    .yields_to = &kino__rule_communication,
    .nearness = KINO__NEAR_KIND,
    .look = look,
};
