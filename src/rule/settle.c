/* settle.c - see the header. */
#include "rule/settle.h"

#include <stdlib.h>

#include "base/search.h"

typedef struct settling {
    kino__findings *findings;
    kino__intervals claim, taken, left, scratch;
    uint8_t *is_gone; /* of each finding */
} settling;

/* Claims go by finding: rules speak one after the other, but may claim for an earlier finding. */
static int compare_claims(const void *a, const void *b)
{
    const kino__claim *x = a, *y = b;
    if (x->finding != y->finding)
        return x->finding < y->finding ? -1 : 1;
    if (x->time.start != y->time.start)
        return x->time.start < y->time.start ? -1 : 1;
    return x->time.end < y->time.end ? -1 : x->time.end > y->time.end;
}

/* What a finding claims, in normal form. */
static bool gather(settling *s, size_t finding)
{
    size_t low = KINO__SEARCH(size_t, i, 0, s->findings->claims.count,
                              s->findings->claims.items[i].finding < finding);
    s->claim.count = 0;
    for (; low < s->findings->claims.count && s->findings->claims.items[low].finding == finding;
         low++) {
        kino__interval *slot = kino__vec_add(&s->claim);
        if (!slot)
            return false;
        *slot = s->findings->claims.items[low].time;
    }
    s->claim.count = kino__intervals_unite(s->claim.items, s->claim.count);
    return true;
}

static bool take(settling *s)
{
    if (!kino__intervals_union(&s->taken, &s->claim, &s->scratch))
        return false;
    kino__intervals swap = s->taken;
    s->taken = s->scratch;
    s->scratch = swap;
    return true;
}

static bool settle_one(settling *s, size_t index)
{
    kino__finding *f = &s->findings->items.items[index];
    if (!gather(s, index) || !kino__intervals_subtract(&s->claim, &s->taken, &s->left))
        return false;
    int64_t all = kino__intervals_total(s->claim.items, s->claim.count);
    int64_t left = kino__intervals_total(s->left.items, s->left.count);
    if (all == 0)
        return true; /* it claims nothing */
    if (left < all - left && f->severity != KINO__SEVERITY_INFO) {
        s->is_gone[index] = 1;
        return true;
    }
    f->is_rest = left < all;
    if (f->gain != KINO_NO_INT) {
        int64_t gain = f->gain < all ? f->gain : all;
        gain = (int64_t)((double)gain * ((double)left / (double)all));
        if (gain < f->gain)
            f->severity = f->severity == KINO__SEVERITY_INFO
                              ? f->severity
                              : (uint32_t)kino__severity_of(gain, f->step_time);
        f->gain = gain;
    }
    return take(s);
}

static bool settle_all(settling *s)
{
    kino__findings *findings = s->findings;
    const kino__rule_def *rule;
    static const kino__nearness order[KINO__NEAR_COUNT] = {KINO__NEAR_ONCE, KINO__NEAR_CAUSE,
                                                           KINO__NEAR_KIND, KINO__NEAR_SYMPTOM};
    for (int n = 0; n < KINO__NEAR_COUNT; n++)
        for (uint32_t r = 0; (rule = kino__rule_at(r)); r++)
            for (size_t i = 0; i < findings->items.count; i++)
                if (rule->nearness == order[n] && findings->items.items[i].rule == r &&
                    !settle_one(s, i))
                    return false;
    return true;
}

bool kino__findings_settle(kino__findings *findings)
{
    settling s = {.findings = findings, .is_gone = calloc(findings->items.count + 1, 1)};
    if (findings->claims.count)
        qsort(findings->claims.items, findings->claims.count, sizeof *findings->claims.items,
              compare_claims);
    bool ok = s.is_gone && settle_all(&s);
    size_t kept = 0;
    for (size_t i = 0; ok && i < findings->items.count; i++)
        if (!s.is_gone[i])
            findings->items.items[kept++] = findings->items.items[i];
    findings->items.count = ok ? kept : findings->items.count;
    kino__vec_deinit(&findings->claims);
    kino__vec_deinit(&s.claim);
    kino__vec_deinit(&s.taken);
    kino__vec_deinit(&s.left);
    kino__vec_deinit(&s.scratch);
    free(s.is_gone);
    return ok;
}

/* -- between ranks */

static bool is_rule(const kino__finding *f, const kino__rule_def *rule)
{
    return kino__rule_at(f->rule) == rule;
}

static bool is_communication(const kino__finding *f)
{
    return is_rule(f, &kino__rule_communication) || is_rule(f, &kino__rule_exposed_collective);
}

static bool is_slow(const kino__slow_ranks *slow, int64_t trace)
{
    for (size_t i = 0; i < slow->count && i < KINO__SLOW_MAX; i++)
        if (slow->trace[i] == trace)
            return true;
    return false;
}

/* What a rank waits for the slow ones, over its steps: as much of its exposed communication as they
 * need longer than it does. */
static int64_t waiting_of(const kino__slow_ranks *slow, const kino__rank_facts *rank)
{
    int64_t exposed = rank->role[KINO__ROLE_COMMUNICATION];
    if (rank->step_count <= 0)
        return 0;
    int64_t own = (rank->step_time - exposed) / rank->step_count;
    int64_t waiting = slow->own > own ? (slow->own - own) * rank->step_count : 0;
    return waiting < exposed ? waiting : exposed;
}

/* Does the finding say in general words what makes the slow ranks slow? */
static bool explains_slow(const kino__finding *f, kino__role cause)
{
    switch (cause) {
    case KINO__ROLE_LOADER:
        return is_rule(f, &kino__rule_data_loading) || is_rule(f, &kino__rule_synchronous_loader);
    case KINO__ROLE_MEMCPY:
    case KINO__ROLE_MEMSET:
        return is_rule(f, &kino__rule_pageable_copy) || is_rule(f, &kino__rule_extra_copy);
    case KINO__ROLE_RUNTIME:
    case KINO__ROLE_CPU:
    case KINO__ROLE_OTHER:
        return is_rule(f, &kino__rule_gpu_utilization) || is_rule(f, &kino__rule_idle_gaps) ||
               is_rule(f, &kino__rule_slow_steps) || is_rule(f, &kino__rule_launch_bound);
    default:
        return false;
    }
}

/* Takes the waiting from what a rank could gain in communication; false: nothing else is left. */
static bool take_waiting(kino__findings *findings, kino__finding *f, const kino__rank_facts *rank)
{
    int64_t waiting = waiting_of(&findings->slow, rank);
    if (waiting <= 0 || f->gain == KINO_NO_INT)
        return true;
    if (f->gain - waiting < waiting)
        return false;
    f->gain -= waiting;
    f->severity = kino__severity_of(f->gain, f->step_time);
    kino_str seen = f->say[KINO__SAY_SEEN];
    kino__finding_say(findings, f, KINO__SAY_SEEN, "%.*s. Of this, %s per step is waiting for %s",
                      KINO__STR_ARG(seen), kino__say_time(waiting / rank->step_count),
                      findings->slow.who);
    return true;
}

void kino__findings_settle_ranks(kino__findings *findings, const kino__rank_facts *ranks,
                                 size_t rank_count)
{
    const kino__slow_ranks *slow = &findings->slow;
    size_t kept = 0;
    for (size_t i = 0; i < findings->items.count; i++) {
        kino__finding *f = &findings->items.items[i];
        bool is_kept = !(is_slow(slow, f->trace) && explains_slow(f, slow->cause));
        for (size_t r = 0; r < rank_count && slow->count && is_communication(f); r++)
            if (ranks[r].trace == f->trace && !is_slow(slow, f->trace))
                is_kept = take_waiting(findings, f, &ranks[r]);
        if (is_kept)
            findings->items.items[kept++] = *f;
    }
    findings->items.count = kept;
}
