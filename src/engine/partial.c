/* partial.c - partial results: an analysis mapped over the traces of a run, merged with others, and
 * finished. */
#include "engine/partial.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "engine/map_reduce.h"

void kino_partial_free(kino_partial *partial)
{
    if (!partial)
        return;
    for (size_t i = 0; i < partial->pieces.count; i++)
        kino__buffer_deinit(&partial->pieces.items[i].bytes);
    kino__vec_deinit(&partial->pieces);
    kino__vec_deinit(&partial->traces);
    kino__vec_deinit(&partial->params);
    kino__arena_deinit(&partial->arena);
    free(partial);
}

kino_status kino__partial_analysis(const kino_partial *partial, kino__analysis *out,
                                   kino_error *err)
{
    const kino__analysis_def *def = kino__analyses_find(partial->analysis);
    *out = (kino__analysis){0};
    if (!def)
        return kino__fail(err, KINO_FORMAT, "a partial result of an unknown analysis '%.*s'",
                          KINO__STR_ARG(partial->analysis));
    kino_status st =
        kino__analysis_init(out, def, partial->params.items, partial->params.count, err);
    if (st != KINO_OK)
        kino__analysis_deinit(out);
    return st;
}

/* -- map -- */

/* So that equal ones look the same however they were given. */
static bool keep_params(kino_partial *partial, const kino__analysis *a)
{
    partial->analysis = kino__arena_copy(&partial->arena, kino__str_from(a->def->name));
    return partial->analysis.data &&
           kino__analysis_list_params(a, &partial->arena, &partial->params);
}

/* Neighbours in one piece. */
static kino_status take_pieces(kino_partial *partial, kino__map_job *job, const kino__run *run,
                               kino_error *err)
{
    for (size_t from = 0, to; from < run->traces.count; from = to) {
        for (to = from + 1; to < run->traces.count; to++)
            if (run->traces.items[to]->index != run->traces.items[to - 1]->index + 1)
                break;
        KINO_TRY(kino__map_job_merge(job, from, to, err));
        kino__partial_piece *piece = kino__vec_add(&partial->pieces);
        if (!piece)
            return kino__fail_nomem(err);
        *piece = (kino__partial_piece){
            run->traces.items[from]->index, run->traces.items[to - 1]->index, {0}};
        kino__partial_save(job->analysis, job->partials[from], &piece->bytes);
        if (piece->bytes.failed)
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

static kino_status map(kino_partial *partial, kino__analysis *a, const kino_run *run,
                       const kino_analyze_options *given, kino_error *err)
{
    kino__progress progress;
    kino__pool *pool;
    KINO_TRY(kino__pool_new(given->jobs, &pool, err));
    kino__progress_init(&progress, given->progress, given->progress_context);
    kino__map_job job = {.analysis = a};
    kino__map_reduce m = {.run = &run->run,
                          .pool = pool,
                          .progress = &progress,
                          .jobs = &job,
                          .job_count = 1,
                          .forgets = run->run.is_tight};
    kino_status st = kino__map_reduce_map(&m, err);
    if (st == KINO_OK)
        st = take_pieces(partial, &job, &run->run, err);
    kino__map_reduce_deinit(&m);
    kino__pool_free(pool);
    return st;
}

static kino_status map_run(kino_run *run, kino__analysis *a, const kino_analyze_options *given,
                           kino_partial **out, kino_error *err)
{
    const kino_run *about = a->def->takes_every_process ? run : kino__run_ranks(run);
    kino_partial *partial;
    KINO_TRY(kino__facts_of(about, &partial, err));
    partial->is_epoch = run->run.is_epoch;
    partial->origin_ns = run->run.origin_ns;
    kino_status st = kino__whole_run_of(run, &partial->whole, err);
    if (st == KINO_OK && !keep_params(partial, a))
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        st = map(partial, a, about, given, err);
    if (st == KINO_OK)
        *out = partial;
    else
        kino_partial_free(partial);
    return st;
}

kino_status kino_run_map(kino_run *run, const char *analysis, const kino_analyze_options *options,
                         kino_partial **out, kino_error *err)
{
    kino_analyze_options given = KINO_ANALYZE_OPTIONS_INIT;
    const kino__analysis_def *def = kino__analyses_find(kino__str_from(analysis));
    kino__analysis a;
    *out = NULL;
    kino__error_clear(err);
    KINO__TAKE_OPTIONS(given, options);
    if (!def)
        return kino__fail(err, KINO_NOT_FOUND, "unknown analysis '%s'", analysis);
    kino_status st = kino__analysis_init(&a, def, given.params, given.param_count, err);
    if (st == KINO_OK)
        st = map_run(run, &a, &given, out, err);
    kino__analysis_deinit(&a);
    return st;
}

/* -- merge -- */

static bool has_same_params(const kino_partial *a, const kino_partial *b)
{
    bool is_same = a->params.count == b->params.count;
    for (size_t i = 0; i < a->params.count && is_same; i++)
        is_same = strcmp(a->params.items[i].name, b->params.items[i].name) == 0 &&
                  strcmp(a->params.items[i].value, b->params.items[i].value) == 0;
    return is_same;
}

static kino_status check_same(const kino_partial *a, const kino_partial *b, kino_error *err)
{
    if (!kino__str_equal(a->analysis, b->analysis) || !has_same_params(a, b))
        return kino__fail(err, KINO_ARGUMENT,
                          "the partial results differ in analysis or parameters");
    if (a->whole.id != b->whole.id || a->whole.traces != b->whole.traces ||
        a->is_epoch != b->is_epoch || a->origin_ns != b->origin_ns)
        return kino__fail(
            err, KINO_ARGUMENT,
            "the partial results are of different runs: join each run to the facts of "
            "all before mapping it");
    for (size_t i = 0, k = 0; i < a->traces.count && k < b->traces.count;) {
        uint32_t x = a->traces.items[i].index, y = b->traces.items[k].index;
        if (x == y)
            return kino__fail(err, KINO_ARGUMENT, "trace %u is in both partial results", x);
        i += x < y;
        k += y < x;
    }
    return KINO_OK;
}

static bool add_piece(kino_partial *into, const kino__partial_piece *piece)
{
    kino__buffer bytes = {0};
    kino__buffer_add(&bytes, kino__buffer_str(&piece->bytes));
    if (bytes.failed || !kino__vec_reserve(&into->pieces, 1)) {
        kino__buffer_deinit(&bytes);
        return false;
    }
    size_t at = into->pieces.count++;
    for (; at > 0 && into->pieces.items[at - 1].first > piece->first; at--)
        into->pieces.items[at] = into->pieces.items[at - 1];
    into->pieces.items[at] = (kino__partial_piece){piece->first, piece->last, bytes};
    return true;
}

kino_status kino_partial_merge(kino_partial *into, const kino_partial *from, kino_error *err)
{
    kino__error_clear(err);
    if (!into->analysis.size && !from->analysis.size)
        return kino__facts_merge(into, from, err);
    KINO_TRY(check_same(into, from, err));
    for (size_t i = 0; i < from->traces.count; i++)
        if (!kino__facts_add(into, &from->traces.items[i]))
            return kino__fail_nomem(err);
    for (size_t i = 0; i < from->pieces.count; i++)
        if (!add_piece(into, &from->pieces.items[i]))
            return kino__fail_nomem(err);
    return KINO_OK;
}

/* Pieces [from, to) as the analysis has them, in their order. The bytes outlive it. */
static kino_status load_pieces(const kino_partial *partial, const kino__analysis *a, size_t from,
                               size_t to, void **out, kino_error *err)
{
    kino_status st = KINO_OK;
    *out = NULL;
    for (size_t i = from; i < to && st == KINO_OK; i++) {
        void *next = NULL;
        st = kino__partial_load(a, kino__buffer_str(&partial->pieces.items[i].bytes), &next, err);
        if (st == KINO_OK && *out)
            st = a->def->merge(a, *out, next, err);
        if (*out || st != KINO_OK)
            kino__partial_free(a, next);
        else
            *out = next;
    }
    if (st == KINO_OK && !*out && !(*out = kino__partial_new(a)))
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        return KINO_OK;
    kino__partial_free(a, *out);
    *out = NULL;
    return st;
}

static kino_status join_range(kino_partial *partial, const kino__analysis *a, size_t from,
                              size_t to, kino__partial_piece *out, kino_error *err)
{
    void *value;
    KINO_TRY(load_pieces(partial, a, from, to, &value, err));
    *out = (kino__partial_piece){
        partial->pieces.items[from].first, partial->pieces.items[to - 1].last, {0}};
    kino__partial_save(a, value, &out->bytes);
    kino__partial_free(a, value);
    if (!out->bytes.failed)
        return KINO_OK;
    kino__buffer_deinit(&out->bytes);
    return kino__fail_nomem(err);
}

static kino_status join_neighbours(kino_partial *partial, const kino__analysis *a, kino_error *err)
{
    kino__partial_piece *items = partial->pieces.items;
    for (size_t from = 0; from < partial->pieces.count; from++) {
        size_t to = from + 1;
        while (to < partial->pieces.count && items[to].first == items[to - 1].last + 1)
            to++;
        if (to == from + 1)
            continue;
        kino__partial_piece joined;
        KINO_TRY(join_range(partial, a, from, to, &joined, err));
        for (size_t i = from; i < to; i++)
            kino__buffer_deinit(&items[i].bytes);
        items[from] = joined;
        memmove(&items[from + 1], &items[to], (partial->pieces.count - to) * sizeof *items);
        partial->pieces.count -= to - from - 1;
    }
    return KINO_OK;
}

kino_status kino__partial_join_pieces(kino_partial *partial, kino_error *err)
{
    kino__analysis a;
    if (partial->pieces.count < 2)
        return KINO_OK;
    KINO_TRY(kino__partial_analysis(partial, &a, err));
    kino_status st = join_neighbours(partial, &a, err);
    kino__analysis_deinit(&a);
    return st;
}

/* -- finish -- */

static void add_notes(kino_result *result, kino_str notes)
{
    while (result && notes.size) {
        const char *end = memchr(notes.data, '\n', notes.size);
        size_t size = end ? (size_t)(end - notes.data) : notes.size;
        bool is_new = true;
        for (size_t i = 0; i < result->notes.count && is_new; i++)
            is_new = !kino__str_is((kino_str){notes.data, size}, result->notes.items[i].text);
        if (is_new)
            kino__result_note(result, "%.*s", (int)size, notes.data);
        size += end != NULL;
        notes = (kino_str){notes.data + size, notes.size - size};
    }
}

/* What kino__run_describe says about a run. */
static void describe(const kino_partial *partial, size_t expected, kino_result *result)
{
    size_t count = partial->traces.count;
    int64_t *ranks = malloc((count + 1) * sizeof *ranks);
    kino__buffer path = {0};
    kino_str last = {"", 0};
    kino__input input = {.ranks = ranks,
                         .origin_ns = partial->is_epoch ? partial->origin_ns : KINO_NO_TIME};
    for (size_t i = 0; i < count; i++) {
        const kino__trace_fact *fact = &partial->traces.items[i];
        if (!kino__str_equal(last, fact->label))
            kino__buffer_printf(&path, "%s%.*s", path.size ? " " : "", KINO__STR_ARG(fact->label));
        last = fact->label;
        input.events += fact->events;
        input.skipped += fact->skipped;
        if (ranks && fact->rank != KINO_NO_INT)
            ranks[input.rank_count++] = fact->rank;
    }
    kino__buffer_add(&path, (kino_str){"", 1});
    input.path = path.failed ? "" : path.data;
    kino__result_set_input(result, &input);
    for (size_t i = 0; i < count; i++)
        add_notes(result, partial->traces.items[i].notes);
    if (count < expected)
        kino__result_note(result, "%zu of the run's %zu traces %s missing", expected - count,
                          expected, expected - count == 1 ? "is" : "are");
    if (result)
        result->failed |= path.failed || !ranks;
    kino__buffer_deinit(&path);
    free(ranks);
}

static kino_status finish(const kino_partial *partial, kino__analysis *a, kino_result *result,
                          kino_error *err)
{
    void *value;
    const kino__whole_run *whole = &partial->whole;
    bool takes_all = a->def->takes_every_process || whole->ranks == 0;
    if (!result)
        return kino__fail_nomem(err);
    describe(partial, takes_all ? whole->traces : whole->ranks, result);
    KINO_TRY(load_pieces(partial, a, 0, partial->pieces.count, &value, err));
    kino_status st = kino__analysis_finish(a, partial->traces.count, value, result, err);
    kino__partial_free(a, value);
    return st;
}

kino_status kino_partial_finish(const kino_partial *partial, kino_result **out, kino_error *err)
{
    kino__analysis a;
    *out = NULL;
    kino__error_clear(err);
    if (!partial->analysis.size)
        return kino__fail(err, KINO_ARGUMENT, "facts have no answer: map an analysis with them");
    KINO_TRY(kino__partial_analysis(partial, &a, err));
    kino_result *result = kino__result_new(a.def->name);
    kino_status st = finish(partial, &a, result, err);
    kino__analysis_deinit(&a);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}
