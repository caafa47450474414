/* what_if.c - how long would a step take if something were faster?
 *
 * Method: every rank's program (what_if_facts.h) is run again with the times of the edits
 * (what_if_edits.h, what_if_replay.h), and once with those that were measured; the ratio of both is
 * applied to the measured step. Cost: linear in calls and device work, per edit. */
#include <math.h>
#include <stdlib.h>

#include "analysis/distributed/collective_names.h"
#include "analysis/what_if/what_if_replay.h"
#include "base/error.h"

enum { P_EDITS };

static const kino_param_info params[] = {
    [P_EDITS] = {"edits", KINO_TYPE_STRING, NULL,
                 "kernel PATTERN=FACTOR; collective NAME; loader; rank N; launches", NULL},
    {0},
};

static kino_status check(const kino__analysis *a, kino_error *err)
{
    kino__edits edits;
    return kino__edits_read(kino__param_text(a, P_EDITS), &edits, err);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *partial,
                       kino_error *err)
{
    return kino__replay_facts_add(partial, a, trace) ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    return kino__replay_facts_merge(into, from) ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *partial)
{
    kino__replay_facts_pack(pack, partial);
}

static void deinit(void *partial)
{
    kino__replay_facts_deinit(partial);
}

/* -- tables -- */

enum { T_WHAT_IF, T_PATH, T_BEST };

static const kino_column step_columns[] = {
    {"change", KINO_TYPE_STRING, NULL, "the edits; null: none"},
    {"step_time", KINO_TYPE_DURATION, NULL, "measured: mean over steps, of the slowest rank"},
    {"predicted", KINO_TYPE_DURATION, NULL, "the same after the edits"},
    {"gain", KINO_TYPE_PERCENT, NULL, "of the measured time"},
    {"replay_error", KINO_TYPE_PERCENT, NULL,
     "how far the replay without edits is from the measured time"},
    {"bottleneck", KINO_TYPE_STRING, NULL, "what has most time on the new critical path"},
    {"bottleneck_pctg", KINO_TYPE_PERCENT, NULL, "its share of the path"},
    {0},
};

static const kino_column path_columns[] = {
    {"part", KINO_TYPE_STRING, NULL, "kernel, copy, collective, data loader, host or delay"},
    {"name", KINO_TYPE_STRING, NULL, "null: calls of the host and the time between them"},
    {"time", KINO_TYPE_DURATION, NULL, "per step"},
    {"percentage", KINO_TYPE_PERCENT, NULL, "of the path"},
    {0},
};

static const kino_column best_columns[] = {
    {"edit", KINO_TYPE_STRING, NULL, "as the parameter edits takes it"},
    {"predicted", KINO_TYPE_DURATION, NULL, "step time"},
    {"gain", KINO_TYPE_PERCENT, NULL, "of the measured time"},
    {0},
};

static const kino_table_info tables[] = {
    {"what_if", "one row: the step after the edits", step_columns, NULL,
     "not available: see the notes"},
    {"path", "one row per name on the critical path after the edits, most time first", path_columns,
     "New critical path", NULL},
    {"best_edits", "the ten single edits that save most", best_columns, "Best single edits", NULL},
    {0},
};

/* -- one replay -- */

typedef struct question {
    const kino__replay_facts *facts;
    kino__replay replay;
    kino_result *result;
    int64_t measured, base;   /* spans: measured, and replayed without edits */
    int64_t steps, all_steps; /* that count; on the path */
} question;

/* The span after edits; KINO_NO_INT: *refused says why not. False when memory is out. */
static bool ask(const question *q, const kino__edits *edits, bool has_path, kino__replayed *out,
                const char **refused)
{
    kino__edited edited;
    *out = (kino__replayed){0};
    bool ok = kino__edits_apply(edits, q->facts, q->replay.transfer, &edited);
    *refused = ok ? edited.refused : NULL;
    if (ok && !*refused)
        ok = kino__replay_run(&q->replay, &edited, has_path, out);
    if (ok && !*refused && out->is_stuck)
        *refused = "collectives of the traces wait for each other: some are missing";
    kino__edited_deinit(&edited);
    return ok;
}

static double predicted(const question *q, int64_t span)
{
    return (double)q->measured / (double)q->steps * (double)span / (double)q->base;
}

static double gain_percent(const question *q, int64_t span)
{
    return 100.0 * (1 - (double)span / (double)q->base);
}

/* -- the answer -- */

static void add_name(const question *q, const kino__path_sum *sum, kino__table *table)
{
    if (sum->name == KINO_NO_STRING) {
        kino__table_add_null(table);
        return;
    }
    kino_str text = kino__string_pool_text(&q->facts->texts, sum->name);
    kino__table_add_text(
        table, sum->part == KINO__PART_COLLECTIVE ? kino__collective_read(text).operation : text);
}

static int64_t path_time(const kino__replayed *r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->path.count; i++)
        sum = kino__sum(sum, r->path.items[i].time);
    return sum;
}

static void add_path(const question *q, const kino__replayed *r)
{
    kino__table *table = kino__analysis_table(q->result, T_PATH);
    double whole = (double)path_time(r);
    for (size_t i = 0; i < r->path.count; i++) {
        const kino__path_sum *sum = &r->path.items[i];
        kino__table_add_text(table, kino__str_from(kino__path_part_name(sum->part)));
        add_name(q, sum, table);
        KINO__TABLE_ADD(table, sum->time / q->all_steps, 100.0 * (double)sum->time / whole);
    }
}

static void add_step(const question *q, kino_str words, const kino__replayed *r)
{
    kino__table *table = kino__analysis_table(q->result, T_WHAT_IF);
    if (words.size)
        kino__table_add_text(table, words);
    else
        kino__table_add_null(table);
    KINO__TABLE_ADD(table, q->measured / q->steps, (int64_t)llround(predicted(q, r->span)),
                    gain_percent(q, r->span), 100.0 * ((double)q->base / (double)q->measured - 1));
    if (r->path.count == 0) {
        kino__table_add_null(table);
        kino__table_add_null(table);
        return;
    }
    const kino__path_sum *most = r->path.items;
    if (most->name == KINO_NO_STRING)
        kino__table_add_text(table, kino__str_from(kino__path_part_name(most->part)));
    else
        add_name(q, most, table);
    kino__table_add_real(table, 100.0 * (double)most->time / (double)path_time(r));
}

static bool answer(const question *q, const kino__analysis *a)
{
    kino__edits edits;
    kino__replayed replayed;
    const char *refused;
    kino_str words = kino__param_text(a, P_EDITS);
    bool ok = kino__edits_read(words, &edits, NULL) == KINO_OK &&
              ask(q, &edits, true, &replayed, &refused);
    if (ok && refused)
        kino__result_lacks(q->result, "a prediction", ": %s", refused);
    else if (ok) {
        add_step(q, words, &replayed);
        add_path(q, &replayed);
    }
    kino__replayed_deinit(&replayed);
    return ok;
}

/* -- the best single edits -- */

typedef struct candidate {
    kino__edit edit;
    int64_t weight; /* kernels: their time */
    int64_t span;
} candidate;

typedef KINO__VEC(candidate) candidates;

static bool add_candidate(candidates *list, kino__edit edit, int64_t weight)
{
    candidate *slot = kino__vec_add(list);
    if (slot)
        *slot = (candidate){.edit = edit, .weight = weight, .span = INT64_MAX};
    return slot != NULL;
}

static int compare_weights(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return kino__str_compare(x->edit.pattern, y->edit.pattern);
}

/* The kernels with most time, twice as fast. */
static bool add_kernels(const question *q, candidates *list)
{
    enum { MOST = 8 };
    size_t texts = kino__string_pool_count(&q->facts->texts);
    int64_t *sums = calloc(texts + 1, sizeof *sums);
    candidates found = {0};
    for (size_t i = 0; sums && i < q->facts->items.count; i++) {
        const kino__replay_item *item = &q->facts->items.items[i];
        if (item->type == KINO__REPLAY_LAUNCH && item->kind == KINO_NO_STRING &&
            item->name != KINO_NO_STRING)
            sums[item->name] = kino__sum(sums[item->name], item->device);
    }
    bool ok = sums != NULL;
    for (kino_strid id = 0; ok && id < texts; id++)
        ok = sums[id] == 0 ||
             add_candidate(&found,
                           (kino__edit){.type = KINO__EDIT_KERNEL,
                                        .factor = 2,
                                        .pattern = kino__string_pool_text(&q->facts->texts, id)},
                           sums[id]);
    if (ok && found.count)
        qsort(found.items, found.count, sizeof *found.items, compare_weights);
    for (size_t i = 0; ok && i < found.count && i < MOST; i++)
        ok = add_candidate(list, found.items[i].edit, found.items[i].weight);
    kino__vec_deinit(&found);
    free(sums);
    return ok;
}

static bool has_operation(const candidates *list, kino_str operation)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].edit.type == KINO__EDIT_COLLECTIVE &&
            kino__str_equal(list->items[i].edit.pattern, operation))
            return true;
    return false;
}

static bool add_collectives(const question *q, candidates *list)
{
    bool ok = true;
    for (size_t i = 0; ok && i < q->facts->items.count; i++) {
        uint32_t kind = q->facts->items.items[i].kind;
        if (kind == KINO_NO_STRING)
            continue;
        kino__collective c = kino__collective_read(kino__string_pool_text(&q->facts->texts, kind));
        if (!has_operation(list, c.operation))
            ok = add_candidate(
                list, (kino__edit){.type = KINO__EDIT_COLLECTIVE, .pattern = c.operation}, 0);
    }
    return ok;
}

static bool add_others(const question *q, candidates *list)
{
    enum { MOST_RANKS = 16 };
    bool ok = add_candidate(list, (kino__edit){.type = KINO__EDIT_LOADER, .pattern = {"", 0}}, 0) &&
              add_candidate(list, (kino__edit){.type = KINO__EDIT_LAUNCHES, .pattern = {"", 0}}, 0);
    size_t ranks = q->facts->ranks.count;
    for (size_t i = 0; ok && ranks > 1 && ranks <= MOST_RANKS && i < ranks; i++)
        ok = add_candidate(list,
                           (kino__edit){.type = KINO__EDIT_RANK,
                                        .pattern = {"", 0},
                                        .rank = q->facts->ranks.items[i].rank},
                           0);
    return ok;
}

static bool try_all(const question *q, candidates *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kino__edits one = {.items = {list->items[i].edit}, .count = 1};
        kino__replayed replayed;
        const char *refused;
        if (!ask(q, &one, false, &replayed, &refused))
            return false;
        if (!refused)
            list->items[i].span = replayed.span;
        kino__replayed_deinit(&replayed);
    }
    return true;
}

static int compare_spans(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    if (x->edit.type != y->edit.type)
        return x->edit.type < y->edit.type ? -1 : 1;
    return kino__str_compare(x->edit.pattern, y->edit.pattern);
}

static bool add_best(const question *q)
{
    enum { MOST = 10 };
    candidates list = {0};
    kino__table *table = kino__analysis_table(q->result, T_BEST);
    bool ok = add_kernels(q, &list) && add_collectives(q, &list) && add_others(q, &list) &&
              try_all(q, &list);
    if (ok)
        qsort(list.items, list.count, sizeof *list.items, compare_spans);
    for (size_t i = 0; ok && i < list.count && i < MOST && list.items[i].span < q->base; i++) {
        kino__buffer words = {0};
        kino__edit_say(&list.items[i].edit, &words);
        KINO__TABLE_ADD(table, kino__buffer_str(&words),
                        (int64_t)llround(predicted(q, list.items[i].span)),
                        gain_percent(q, list.items[i].span));
        ok = !words.failed;
        kino__buffer_deinit(&words);
    }
    kino__vec_deinit(&list);
    return ok;
}

/* -- all of it -- */

/* The measured span of the slowest rank; 0: a rank cannot be run again, and *reason says why. */
static int64_t measure(question *q, const char **reason)
{
    const kino__replay_facts *facts = q->facts;
    int64_t span = 0;
    *reason = facts->ranks.count ? NULL : "no traces";
    for (size_t i = 0; i < facts->ranks.count && !*reason; i++) {
        const kino__replay_rank *r = &facts->ranks.items[i];
        *reason = kino__replay_reason(r->reason);
        if (r->span > span) {
            span = r->span;
            q->steps = r->steps;
            q->all_steps = r->steps + r->skipped;
        }
    }
    if (!*reason && (span <= 0 || q->steps <= 0))
        *reason = "the steps take no time";
    return *reason ? 0 : span;
}

static bool ask_base(question *q, const char **reason)
{
    kino__edits none = {.count = 0};
    kino__replayed replayed;
    bool ok = ask(q, &none, false, &replayed, reason);
    q->base = replayed.span;
    if (ok && !*reason && q->base <= 0)
        *reason = "the steps take no time";
    kino__replayed_deinit(&replayed);
    return ok;
}

static kino_status finish(const kino__analysis *a, void *partial, kino_result *result,
                          kino_error *err)
{
    question q = {.facts = partial, .result = result, .steps = 1, .all_steps = 1};
    const char *reason;
    q.measured = measure(&q, &reason);
    bool ok = true;
    if (!reason)
        ok = kino__replay_init(&q.replay, q.facts) && ask_base(&q, &reason);
    if (ok && reason)
        kino__result_lacks(result, "a prediction", ": %s", reason);
    else if (ok)
        ok = answer(&q, a) && add_best(&q);
    kino__replay_deinit(&q.replay);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_what_if = {
    .name = "what-if",
    .help = "how long a step would take after a change, and the best changes",
    .description =
        "Runs the programs of all ranks again (calls of the host with the device work\n"
        "that they launch, across ranks through matched collectives) with some times\n"
        "changed: kernels that are faster, collectives that transfer nothing, data\n"
        "loaders that are hidden, a rank that is like the median of the others, launches\n"
        "that are free (as with CUDA graphs). Gives the new step time, the new critical\n"
        "path, and the ten single changes that save most. Several edits are separated\n"
        "by ';'.\n",
    .params = params,
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(kino__replay_facts),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
