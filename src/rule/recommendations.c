/* recommendations.c - all rules over a run, as an analysis: findings of each rank, then those of
 * all ranks, the same advice once.
 *
 * Findings of one rule with the same title are one piece of advice: shown as it is on the rank
 * where it would bring most, with the list of ranks that have it. Partial results hold the findings
 * of each trace as they are; texts are copied when two are merged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/verdict/verdict.h"
#include "base/compare.h"
#include "base/error.h"
#include "rule/rule.h"
#include "rule/settle.h"
#include "rule/thresholds.h"

enum { THRESHOLDS_MAX = 8 };

typedef struct partial {
    kino__findings findings;
    KINO__VEC(kino__rank_facts) ranks;
    kino__verdict_facts verdict;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->findings.items);
    kino__vec_deinit(&p->findings.claims);
    kino__arena_deinit(&p->findings.arena);
    kino__vec_deinit(&p->ranks);
    kino__verdict_facts_deinit(&p->verdict);
}

enum { P_SET };

static const kino_param_info params[] = {
    [P_SET] = {"set", KINO_TYPE_STRING, NULL, "thresholds: rule.name=value, separated by commas",
               NULL},
    {0},
};

static void set_thresholds(const kino__analysis *a, const kino__rule_def *rule, double *out)
{
    for (size_t i = 0; rule->thresholds && rule->thresholds[i].name && i < THRESHOLDS_MAX; i++)
        out[i] = kino__threshold_of(kino__param_text(a, P_SET), rule, &rule->thresholds[i]);
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    return kino__thresholds_check(kino__param_text(a, P_SET), err);
}

/* -- one trace */

static kino__rank_facts facts_of(const kino__profile *p)
{
    kino__rank_facts f = {.rank = p->trace->rank,
                          .trace = p->trace->index,
                          .step_count = (int64_t)p->steps.count,
                          .first_step_row = KINO_NO_INT,
                          .kernel_count = (int64_t)p->kernels.count,
                          .world_size = p->trace->world_size};
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        f.step_time += step->end - step->start;
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            f.role[r] += step->cost[r];
        f.computation += step->computation;
        f.communication += step->communication;
        f.overlap += step->overlap;
        if (i == 0 && step->row != KINO_NO_ROW)
            f.first_step_row = kino__trace_event_id(p->trace, step->row);
    }
    return f;
}

/* Takes back what a rule said where the one it yields to speaks as well: on the same rank, then on
 * any. */
static void apply_yields(kino__findings *findings)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->items.count; i++) {
        const kino__finding *f = &findings->items.items[i];
        const kino__rule_def *to = kino__rule_at(f->rule)->yields_to;
        bool is_said = false;
        for (size_t k = 0; to && k < findings->items.count && !is_said; k++)
            is_said = kino__rule_at(findings->items.items[k].rule) == to;
        if (!is_said)
            findings->items.items[kept++] = *f;
    }
    findings->items.count = kept;
}

static kino_status look_at(const kino__analysis *a, kino__rule_look *look, kino_error *err)
{
    const kino__rule_def *rule;
    for (size_t i = 0; (rule = kino__rule_at(i)); i++) {
        double thresholds[THRESHOLDS_MAX] = {0};
        if (!rule->look || (look->is_compat && !rule->is_plugins))
            continue;
        if (kino__progress_is_cancelled(a->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
        set_thresholds(a, rule, thresholds);
        look->out->rule = (uint32_t)i;
        look->thresholds = thresholds;
        rule->look(look);
    }
    if (!look->is_compat) {
        if (!kino__findings_settle(look->out))
            return kino__fail_nomem(err);
        apply_yields(look->out);
    }
    return look->out->failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    const kino__profile *profile = kino__profile_of(trace, is_compat, a->pool);
    kino__rank_facts *facts = profile ? kino__vec_add(&p->ranks) : NULL;
    kino__scan scan = {0};
    if (!facts || !kino__verdict_add(&p->verdict, profile))
        return kino__fail_nomem(err);
    *facts = facts_of(profile);
    kino__arena_init(&p->findings.arena, NULL);
    p->findings.rank = trace->rank;
    p->findings.trace = trace->index;
    p->findings.step_time = facts->step_time;
    p->findings.has_no_steps = !is_compat && !profile->has_step_events;
    const kino__program_kind program = kino__program_of(profile);
    kino__rule_look look = {.profile = profile,
                            .trace = trace,
                            .program = &program,
                            .facts = facts,
                            .scan = is_compat ? NULL : &scan,
                            .pool = a->pool,
                            .is_compat = is_compat,
                            .out = &p->findings};
    kino_status st = is_compat || kino__scan_init(&scan, profile) ? look_at(a, &look, err)
                                                                  : kino__fail_nomem(err);
    kino__scan_deinit(&scan);
    return st;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->findings.items, more->findings.items.count) ||
        !kino__vec_reserve(&p->ranks, more->ranks.count) ||
        !kino__verdict_merge(&p->verdict, &more->verdict))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->findings.items.count; i++) {
        kino__finding f = more->findings.items.items[i];
        for (int s = 0; s < KINO__SAY_COUNT; s++) {
            f.say[s] = kino__arena_copy(&p->findings.arena, f.say[s]);
            if (!f.say[s].data)
                return kino__fail_nomem(err);
        }
        p->findings.items.items[p->findings.items.count++] = f;
    }
    for (size_t i = 0; i < more->ranks.count; i++)
        p->ranks.items[p->ranks.count++] = more->ranks.items[i];
    return KINO_OK;
}

static void pack_finding(kino__pack *pack, kino__finding *f)
{
    KINO__PACK(pack, &f->rule, &f->severity, &f->rank, &f->gain, &f->step_time);
    kino__pack_trace(pack, &f->trace);
    for (int i = 0; i < KINO__SAY_COUNT; i++)
        kino__pack_str(pack, &f->say[i]);
    KINO__PACK(pack, &f->is_rest, &f->evidence_count);
    if (f->evidence_count > KINO__EVIDENCE_MAX || f->severity > KINO__SEVERITY_INFO ||
        !kino__rule_at(f->rule)) {
        pack->is_damaged = true;
        f->evidence_count = 0;
    }
    for (uint32_t i = 0; i < f->evidence_count; i++)
        kino__pack_event(pack, &f->evidence[i]);
}

static void pack_facts(kino__pack *pack, kino__rank_facts *f)
{
    KINO__PACK(pack, &f->rank, &f->step_count, &f->step_time);
    kino__pack_trace(pack, &f->trace);
    for (int i = 0; i < KINO__ROLE_COUNT; i++)
        kino__pack_int(pack, &f->role[i]);
    KINO__PACK(pack, &f->computation, &f->communication, &f->overlap, &f->kernel_count,
               &f->world_size);
    KINO__PACK_EVENTS(pack, &f->first_step_row);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->findings.items, pack_finding);
    KINO__PACK_VEC(pack, &p->ranks, pack_facts);
    kino__verdict_pack(pack, &p->verdict);
}

/* -- all ranks */

static double gain_percent(const kino__finding *f)
{
    if (f->gain == KINO_NO_INT || f->step_time <= 0)
        return NAN;
    double percent = 100.0 * (double)f->gain / (double)f->step_time;
    return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

/* What is left of a symptom, once its causes are listed. */
static bool is_rest_of_symptom(const kino__finding *f)
{
    return f->is_rest && kino__rule_at(f->rule)->nearness == KINO__NEAR_SYMPTOM;
}

/* What a finding weighs among others: its gain. That of a kind of work (communication, small kernels)
 * is an upper bound, reached only if all of it could be hidden: where a cause brings nearly as much,
 * the cause is first. */
static double weight(const kino__finding *f)
{
    double gain = gain_percent(f);
    return isnan(gain)                                           ? -1
           : kino__rule_at(f->rule)->nearness == KINO__NEAR_KIND ? 0.8 * gain
                                                                 : gain;
}

/* Causes before symptoms; what weighs most comes first; then what is more severe; then in the order
 * of the rules. */
static int compare_findings(const void *a, const void *b)
{
    const kino__finding *x = a, *y = b;
    bool x_info = x->severity == KINO__SEVERITY_INFO, y_info = y->severity == KINO__SEVERITY_INFO;
    if (x_info != y_info)
        return x_info ? 1 : -1;
    if (is_rest_of_symptom(x) != is_rest_of_symptom(y))
        return is_rest_of_symptom(x) ? 1 : -1;
    if (weight(x) != weight(y))
        return weight(x) > weight(y) ? -1 : 1;
    if (x->severity != y->severity)
        return x->severity < y->severity ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    int by_title = kino__str_compare(x->say[KINO__SAY_TITLE], y->say[KINO__SAY_TITLE]);
    if (by_title)
        return by_title;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The plugin lists its rules in their order. */
static int compare_rules(const void *a, const void *b)
{
    const kino__finding *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->rule < y->rule ? -1 : x->rule > y->rule;
}

/* The plugin speaks of each rank on its own. */
static bool is_same_advice(const kino__finding *a, const kino__finding *b, bool is_compat)
{
    return a->rule == b->rule && (!is_compat || a->rank == b->rank) &&
           kino__str_equal(a->say[KINO__SAY_TITLE], b->say[KINO__SAY_TITLE]);
}

/* The ranks that have it, and its evidence. */
static void add_lists(kino__table *table, const kino__findings *all, size_t first, bool is_compat,
                      bool *is_done)
{
    const kino__finding *f = &all->items.items[first];
    KINO__VEC(int64_t) ranks = {0};
    for (size_t i = first; i < all->items.count; i++) {
        if (is_done[i] || !is_same_advice(f, &all->items.items[i], is_compat))
            continue;
        is_done[i] = true;
        int64_t *slot = all->items.items[i].rank == KINO_NO_INT ? NULL : kino__vec_add(&ranks);
        if (slot)
            *slot = all->items.items[i].rank;
    }
    if (ranks.count)
        qsort(ranks.items, ranks.count, sizeof *ranks.items, kino__compare_ints);
    size_t kept = 0;
    for (size_t i = 0; i < ranks.count; i++)
        if (kept == 0 || ranks.items[i] != ranks.items[kept - 1])
            ranks.items[kept++] = ranks.items[i];
    kino__table_add_ids(table, ranks.items, kept);
    kino__table_add_ids(table, f->evidence, f->evidence_count);
    kino__vec_deinit(&ranks);
}

static void compare_ranks(const kino__analysis *a, partial *p)
{
    const kino__rule_def *rule;
    p->findings.rank = p->findings.trace = KINO_NO_INT;
    for (size_t i = 0; (rule = kino__rule_at(i)); i++) {
        double thresholds[THRESHOLDS_MAX] = {0};
        if (!rule->compare || p->ranks.count < 2)
            continue;
        set_thresholds(a, rule, thresholds);
        p->findings.rule = (uint32_t)i;
        p->findings.step_time = 0;
        for (size_t r = 0; r < p->ranks.count; r++)
            if (p->ranks.items[r].step_time > p->findings.step_time)
                p->findings.step_time = p->ranks.items[r].step_time;
        rule->compare(&(kino__rule_compare){p->ranks.items, p->ranks.count, &p->verdict, thresholds,
                                            &p->findings});
    }
}

/* A slow rank is a defect, and communication waits for it: it comes first, unless something brings
 * twice as much by which all ranks lose time too. What kernels could be is no loss but a choice, and
 * single steps of a short recording say little about the rest of the run. */
static void put_cause_first(kino__findings *findings)
{
    kino__finding *items = findings->items.items;
    size_t slow = 0, at = 0;
    while (slow < findings->items.count && kino__rule_at(items[slow].rule) != &kino__rule_straggler)
        slow++;
    for (; slow < findings->items.count && at < slow; at++) {
        const kino__rule_def *rule = kino__rule_at(items[at].rule);
        bool is_communication =
            rule == &kino__rule_communication || rule == &kino__rule_exposed_collective;
        if (is_communication || rule->is_about_kernels || rule->nearness == KINO__NEAR_ONCE ||
            gain_percent(&items[at]) < 2 * gain_percent(&items[slow]))
            break;
    }
    if (slow == findings->items.count || at == slow)
        return;
    kino__finding first = items[slow];
    memmove(&items[at + 1], &items[at], (slow - at) * sizeof first);
    items[at] = first;
}

static size_t count_same(const kino__findings *all, const kino__finding *f, bool is_compat)
{
    size_t count = 0;
    for (size_t i = 0; i < all->items.count; i++)
        count += is_same_advice(f, &all->items.items[i], is_compat);
    return count;
}

/* Of several ranks, numbers are those of one: it is said whose. */
static void add_texts(kino__table *table, const partial *p, const kino__finding *f, size_t same,
                      bool is_compat)
{
    bool is_whose = !is_compat && p->ranks.count > 1 && f->severity != KINO__SEVERITY_INFO &&
                    !kino__rule_at(f->rule)->compare &&
                    (f->rank != KINO_NO_INT || f->trace != KINO_NO_INT);
    for (int s = 0; s < KINO__SAY_COUNT; s++) {
        kino__buffer text = {0};
        if (s == KINO__SAY_SEEN && is_whose) {
            kino__buffer_printf(&text, "%s %lld", f->rank == KINO_NO_INT ? "trace" : "rank",
                                (long long)(f->rank == KINO_NO_INT ? f->trace : f->rank));
            if (same > 1)
                kino__buffer_printf(&text, " (%s %zu ranks)",
                                    f->gain == KINO_NO_INT ? "one of" : "the largest of", same);
            kino__buffer_add(&text, KINO__STR(": "));
        }
        kino__buffer_add(&text, f->say[s]);
        kino__table_add_text(table, kino__buffer_str(&text));
        kino__buffer_deinit(&text);
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    if (!is_compat) {
        compare_ranks(a, p);
        apply_yields(&p->findings);
        kino__findings_settle_ranks(&p->findings, p->ranks.items, p->ranks.count);
    }
    size_t count = p->findings.items.count;
    bool *is_done = calloc(count + 1, sizeof *is_done);
    if (!is_done || p->findings.failed) {
        free(is_done);
        return kino__fail_nomem(err);
    }
    if (count)
        qsort(p->findings.items.items, count, sizeof *p->findings.items.items,
              is_compat ? compare_rules : compare_findings);
    if (!is_compat)
        put_cause_first(&p->findings);
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < count; i++) {
        const kino__finding *f = &p->findings.items.items[i];
        if (is_done[i])
            continue;
        KINO__TABLE_ADD(table, kino__str_from(kino__rule_at(f->rule)->name),
                        kino__str_from(kino__severity_name(f->severity)));
        add_texts(table, p, f, count_same(&p->findings, f, is_compat), is_compat);
        kino__table_add_real(table, gain_percent(f));
        add_lists(table, &p->findings, i, is_compat, is_done);
        kino__table_add_int(table, f->rank);
    }
    free(is_done);
    return KINO_OK;
}

static const kino_column columns[] = {
    [KINO__ADVICE_RULE] = {"rule", KINO_TYPE_STRING, NULL, "name of the rule"},
    [KINO__ADVICE_SEVERITY] = {"severity", KINO_TYPE_STRING, NULL,
                               "high, medium or low; info: about the trace itself"},
    [KINO__ADVICE_TITLE] = {"title", KINO_TYPE_STRING, NULL, "the advice in one line"},
    [KINO__ADVICE_SEEN] = {"seen", KINO_TYPE_STRING, NULL,
                           "what was found, on the rank where it matters most (`rank`)"},
    [KINO__ADVICE_WHY] = {"why", KINO_TYPE_STRING, NULL, "why it matters"},
    [KINO__ADVICE_DO] = {"do", KINO_TYPE_STRING, NULL, "what to change"},
    [KINO__ADVICE_GAIN] =
        {"gain_percent", KINO_TYPE_PERCENT, NULL,
         "estimated share of the step time saved on rank `rank`; null: not known from this trace"},
    [KINO__ADVICE_RANKS] = {"ranks", KINO_TYPE_JSON, NULL, "affected ranks"},
    [KINO__ADVICE_EVIDENCE] = {"evidence", KINO_TYPE_JSON, KINO_UNIT_EVENT,
                               "ids of events that show it"},
    [KINO__ADVICE_RANK] = {"rank", KINO_TYPE_INT, NULL,
                           "rank that `seen` and `gain_percent` refer to; null: unknown"},
    {0},
};

static const kino_table_info tables[] = {
    {"recommendations", "one row per recommendation, largest gain first", columns, NULL,
     "nothing to recommend"},
    {0},
};

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_recommendations = {
    .name = "recommendations",
    .help = "what to change, and the expected gain",
    .description =
        "Runs all rules over the run. Each recommendation says what was found, why it\n"
        "matters, what to do, and how much of the step time it could save, and lists the\n"
        "events that show it. Gains are estimates; the recommendations for one rank never\n"
        "count the same time twice. With compat tensorboard, only the rules of the\n"
        "TensorBoard plugin run, with its conditions.\n"
        "\n"
        "Rules: data-loading, data-parallel, nccl-backend, communication,\n"
        "gpu-utilization, mixed-precision, memory-limit, extra-copy, loop-indexing,\n"
        "fp32-matmul, single-tensor-optimizer, synchronous-loader, zeroed-gradients,\n"
        "conv-bias, matmul-alignment, conv-tensor-cores, casts-and-copies,\n"
        "pointwise-kernels, launch-bound, far-from-roof, exposed-collective, straggler,\n"
        "host-sync, pageable-copy, exposed-copy, allocator-churn, low-occupancy,\n"
        "idle-gaps, slow-steps, warm-up, start-up, missing-information.\n"
        "See docs/analyses/recommendations.md for their thresholds and how gains are\n"
        "estimated.\n",
    .params = params,
    .tables = tables,
    .compat = compat,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
