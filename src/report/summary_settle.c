/* summary_settle.c - partial results of many machines on the way to one: moved to their place in the run,
 * neighbours merged.
 *
 *   machine 0   [0][1][2]  --settle-->  [0..2] --+
 *   machine 1   [3][4]     --settle-->  [3..4] --+--add-->  [0..4]
 *
 * An analysis merges later traces into earlier ones, so pieces that do not touch stay apart. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/analyze.h"
#include "engine/summary.h"
#include "report/report_internal.h"

/* The analysis of an answer, the report's own among them; deinitialise it. */
static kino_status analysis_of(const kino__kept_answer *answer, kino__analysis *out,
                               kino_error *err)
{
    bool is_report = strcmp(answer->analysis, kino__report_facts_def.name) == 0;
    const kino__analysis_def *def =
        is_report ? &kino__report_facts_def : kino__analyses_find(kino__str_from(answer->analysis));
    *out = (kino__analysis){0};
    if (!def)
        return kino__fail(err, KINO_FORMAT, "a summary has an unknown analysis '%s'",
                          answer->analysis);
    kino_status st = kino__analysis_init(out, def, answer->params.items, answer->params.count, err);
    out->is_brief = answer->is_brief;
    return st;
}

/* -- merging neighbours -- */

static int compare_pieces(const void *a, const void *b)
{
    const kino__kept_piece *x = a, *y = b;
    return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static kino_status load_piece(const kino__analysis *a, const kino__kept_piece *piece, void **out,
                              kino_error *err)
{
    return kino__partial_load(a, piece->bytes, out, err);
}

/* Pieces [from, to) as the first of them. */
static kino_status merge_pieces(kino_summary *summary, const kino__analysis *a,
                                kino__kept_piece *pieces, size_t count, kino_error *err)
{
    void *all, *next;
    kino__buffer bytes = {0};
    KINO_TRY(load_piece(a, &pieces[0], &all, err));
    kino_status st = KINO_OK;
    for (size_t i = 1; i < count && st == KINO_OK; i++) {
        st = load_piece(a, &pieces[i], &next, err);
        if (st != KINO_OK)
            break;
        st = a->def->merge(a, all, next, err);
        kino__partial_free(a, next);
        pieces[0].count += pieces[i].count;
    }
    if (st == KINO_OK) {
        kino__partial_save(a, all, &bytes);
        pieces[0].bytes = kino__arena_copy(&summary->arena, kino__buffer_str(&bytes));
        if (bytes.failed || !pieces[0].bytes.data)
            st = kino__fail_nomem(err);
    }
    kino__buffer_deinit(&bytes);
    kino__partial_free(a, all);
    return st;
}

static kino_status merge_neighbours(kino_summary *summary, const kino__analysis *a,
                                    kino__kept_answer *answer, kino_error *err)
{
    size_t kept = 0;
    kino__kept_piece *items = answer->pieces.items;
    const kino__kept_whole *whole = &summary->whole;
    bool has_others = whole->ranks && whole->ranks < whole->traces;
    if (answer->pieces.count)
        qsort(items, answer->pieces.count, sizeof *items, compare_pieces);
    if (a->def->takes_every_process && has_others) /* a report asks about the ranks alone */
        return KINO_OK;
    for (size_t from = 0, to; from < answer->pieces.count; from = to) {
        uint32_t end = items[from].trace + items[from].count;
        for (to = from + 1; to < answer->pieces.count && items[to].trace == end; to++)
            end += items[to].count;
        if (to > from + 1)
            KINO_TRY(merge_pieces(summary, a, &items[from], to - from, err));
        items[kept++] = items[from];
    }
    answer->pieces.count = kept;
    return KINO_OK;
}

/* -- settling -- */

/* From the trace's own coordinates into the run's; one that the analysis is not about goes. */
static kino_status settle_piece(kino_summary *summary, const kino__analysis *a,
                                kino__kept_piece *piece, bool *is_about, kino_error *err)
{
    const kino__trace *trace = summary->traces.items[piece->trace];
    const kino__kept_place *place = &summary->places.items[piece->trace];
    const kino__kept_whole *whole = &summary->whole;
    bool are_several = whole->has_several_steps && piece->together.size;
    int64_t shift = 0;
    void *partial;
    kino__buffer bytes = {0};
    *is_about = a->def->takes_every_process || place->rank != UINT32_MAX;
    if (!*is_about)
        return KINO_OK;
    if (whole->is_epoch && trace->is_epoch)
        shift = (int64_t)((uint64_t)trace->origin_ns - (uint64_t)whole->origin_ns);
    KINO_TRY(kino__partial_load_alone(a, are_several ? piece->together : piece->bytes, place->trace,
                                      shift, &partial, err));
    kino__partial_save(a, partial, &bytes);
    kino__partial_free(a, partial);
    *piece =
        (kino__kept_piece){.trace = a->def->takes_every_process ? place->trace : place->rank,
                           .count = 1,
                           .bytes = kino__arena_copy(&summary->arena, kino__buffer_str(&bytes)),
                           .together = {"", 0}};
    bool ok = !bytes.failed && piece->bytes.data;
    kino__buffer_deinit(&bytes);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status settle_answer(kino_summary *summary, const kino__analysis *a,
                                 kino__kept_answer *answer, kino_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < answer->pieces.count; i++) {
        bool is_about;
        KINO_TRY(settle_piece(summary, a, &answer->pieces.items[i], &is_about, err));
        if (is_about)
            answer->pieces.items[kept++] = answer->pieces.items[i];
    }
    answer->pieces.count = kept;
    return merge_neighbours(summary, a, answer, err);
}

static kino_status each_answer(kino_summary *summary,
                               kino_status (*visit)(kino_summary *summary, const kino__analysis *a,
                                                    kino__kept_answer *answer, kino_error *err),
                               kino_error *err)
{
    kino_status st = KINO_OK;
    for (size_t i = 0; i < summary->answers.count && st == KINO_OK; i++) {
        kino__analysis a;
        st = analysis_of(&summary->answers.items[i], &a, err);
        if (st == KINO_OK)
            st = visit(summary, &a, &summary->answers.items[i], err);
        kino__analysis_deinit(&a);
    }
    return st;
}

kino_status kino_summary_settle(kino_summary *summary, kino_str places, kino_error *err)
{
    kino__error_clear(err);
    if (summary->is_settled)
        return kino__fail(err, KINO_ARGUMENT, "the summary knows its place already");
    KINO_TRY(kino__summary_take_places(summary, places, err));
    KINO_TRY(each_answer(summary, settle_answer, err));
    summary->is_settled = true;
    summary->parts = 0; /* all are there: who placed them has seen them */
    return KINO_OK;
}

/* -- putting together -- */

static const kino__kept_answer *find_same(const kino_summary *summary, const kino__kept_answer *a)
{
    for (size_t i = 0; i < summary->answers.count; i++)
        if (kino__str_equal(summary->answers.items[i].head, a->head))
            return &summary->answers.items[i];
    return NULL;
}

/* What both answer: costs are not in summaries of large runs. */
static kino_status take_answers(kino_summary *into, const kino_summary *from, kino_error *err)
{
    size_t kept = 0;
    bool ok = true;
    for (size_t i = 0; i < into->answers.count; i++) {
        kino__kept_answer to = into->answers.items[i];
        const kino__kept_answer *more = find_same(from, &to);
        if (!more) {
            kino__vec_deinit(&to.params);
            kino__vec_deinit(&to.pieces);
            continue;
        }
        ok = ok && kino__vec_append(&to.pieces, &more->pieces);
        into->answers.items[kept++] = to;
    }
    into->answers.count = kept; /* each once, also where memory is out */
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static bool take_traces(kino_summary *into, kino_summary *from)
{
    if (!kino__vec_reserve(&into->traces, from->traces.count) ||
        !kino__vec_append(&into->notes, &from->notes))
        return false;
    for (size_t i = 0; i < from->traces.count; i++) {
        uint32_t number = (uint32_t)into->traces.count;
        if (!kino__summary_keep(into, from->traces.items[i], number))
            return false;
        into->traces.items[into->traces.count++] = from->traces.items[i];
        from->traces.items[i] = NULL; /* freeing takes that */
    }
    from->traces.count = 0;
    return true;
}

kino_status kino_summary_add(kino_summary *into, kino_summary *from, kino_error *err)
{
    kino__error_clear(err);
    kino_summary **slot = kino__vec_add(&into->added);
    if (!slot) {
        kino_summary_free(from);
        return kino__fail_nomem(err);
    }
    *slot = from; /* its texts are used from now on */
    if (!into->is_settled || !from->is_settled || into->whole.traces != from->whole.traces)
        return kino__fail(err, KINO_ARGUMENT, "the summaries are not settled in one run");
    KINO_TRY(take_answers(into, from, err));
    if (!take_traces(into, from))
        return kino__fail_nomem(err);
    return each_answer(into, merge_neighbours, err);
}
