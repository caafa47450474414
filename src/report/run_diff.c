/* run_diff.c - runs compared: both sides mapped, put together, and written as one answer. */
#include "report/run_diff.h"

#include <stdlib.h>

#include "analysis/diff/diff.h"
#include "base/error.h"
#include "base/sink.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "render/units.h"
#include "report/info.h"

typedef struct comparison {
    kino_run *const *sides[2];
    size_t counts[2];
    kino_diff_options options;
    kino__analysis analysis;
    kino__diff_run **runs; /* partials: the left ones, then the right ones */
    kino__pool *pool;
    kino__progress progress;
} comparison;

static kino_status map_runs(comparison *c, kino_error *err)
{
    size_t total = c->counts[0] + c->counts[1], n = 0;
    c->runs = calloc(total + 1, sizeof *c->runs);
    if (!c->runs)
        return kino__fail_nomem(err);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < c->counts[side]; i++, n++) {
            void *partial;
            KINO_TRY(kino__analyze_map(&c->analysis, kino__run_of_ranks(&c->sides[side][i]->run),
                                       c->pool, &c->progress, &partial, err));
            c->runs[n] = partial;
        }
    }
    return KINO_OK;
}

/* -- the answer -- */

static void add_label(kino_result *result, const char *name, kino_run *const *runs, size_t count)
{
    kino__buffer text = {0};
    for (size_t i = 0; i < count; i++)
        kino__buffer_printf(&text, "%s%s", i ? ", " : "", runs[i]->label);
    kino__result_param(result, name, kino__cell_text(kino__buffer_str(&text)));
    if (result && text.failed)
        result->failed = true;
    kino__buffer_deinit(&text);
}

static void add_note_of(kino_result *result, const char *label, const kino__note *note)
{
    kino__result_note(result, "%s: %s", label, note->text);
    if (!result || result->failed)
        return;
    kino__note *last = &result->notes.items[result->notes.count - 1];
    last->hint = kino__hint_moved(note->hint, strlen(label) + strlen(": "), strlen(last->text));
}

static void describe(const comparison *c, kino_result *result)
{
    kino__input input = {.origin_ns = KINO_NO_TIME};
    kino__buffer path = {0};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < c->counts[side]; i++) {
            const kino_run *run = c->sides[side][i];
            kino__buffer_printf(&path, "%s%s", i ? "," : side ? " vs " : "", run->label);
            input.events += kino__run_event_count(run);
            for (size_t k = 0; k < run->run.traces.count; k++)
                input.skipped += kino__ledger_skipped(&run->run.traces.items[k]->ledger);
            for (size_t k = 0; k < run->notes.count; k++)
                add_note_of(result, run->label, &run->notes.items[k]);
        }
    }
    kino__buffer_add(&path, (kino_str){"", 1});
    input.path = path.failed ? "" : path.data;
    kino__result_set_input(result, &input);
    kino__buffer_deinit(&path);
    add_label(result, "left", c->sides[0], c->counts[0]);
    add_label(result, "right", c->sides[1], c->counts[1]);
    if (c->options.compat)
        kino__result_param(result, "compat", kino__cell_text(kino__str_from(c->options.compat)));
}

/* People see the change and the times; programs all. */
enum {
    STEP_SPREADS = 3 << 5,
    OP_SPREADS = 3 << 6,
    OP_DETAILS = 0xff << 10,
    TREE_DETAILS = 0xf << 3,
};

static void add_tables(const comparison *c, kino_result *result)
{
    uint64_t spread = c->counts[0] + c->counts[1] > 2 ? 0 : UINT64_MAX;
    const uint64_t hidden[] = {STEP_SPREADS & spread,
                               (OP_SPREADS & spread) | OP_DETAILS,
                               OP_SPREADS & spread,
                               TREE_DETAILS,
                               0,
                               0};
    const kino_table_info *info = kino__analysis_diff.tables;
    for (size_t i = 0; info[i].name; i++) {
        size_t columns = 0;
        while (info[i].columns[columns].name)
            columns++;
        bool is_quiet = i == KINO__DIFF_TABLE_TREE_OPS ||
                        (i == KINO__DIFF_TABLE_TREE && !c->options.tree) ||
                        (i == KINO__DIFF_TABLE_CHECKS && !c->options.fail_on_count);
        kino__table *table = kino__result_add_table(result, info[i].name, info[i].columns, columns);
        kino__table_describe(table, is_quiet ? KINO__TABLE_QUIET : 0, info[i].title, info[i].empty);
        if (table)
            table->hidden = hidden[i];
    }
}

static kino_status add_tree(const comparison *c, kino_result *result, kino_error *err)
{
    const kino__profile *trees[2] = {NULL, NULL};
    bool has_more = false;
    bool is_compat = kino__analysis_is_compat(&c->analysis, "tensorboard");
    for (int side = 0; side < 2; side++) {
        const kino__run *run = &c->sides[side][0]->run;
        if (run->traces.count == 0)
            return KINO_OK;
        trees[side] = kino__profile_of(run->traces.items[0], is_compat, c->pool);
        if (!trees[side])
            return kino__fail_nomem(err);
        has_more |= run->traces.count > 1 || c->counts[side] > 1;
    }
    if (has_more)
        kino__result_note(result, "diff_tree shows the first trace of each side");
    return kino__diff_write_tree(trees[0], trees[1], c->options.tree_ops, result)
               ? KINO_OK
               : kino__fail_nomem(err);
}

/* Does a trace have Python functions? Not all profilers write down that they were asked for. */
static bool has_python(const kino__trace *trace)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (kino__category_kind(trace->category[row]) == KINO__KIND_PYTHON)
            return true;
    return false;
}

/* Is this word among what the first trace of a side was recorded with? */
static bool was_recorded(const comparison *c, int side, const char *what)
{
    const kino__run *run = &c->sides[side][0]->run;
    kino__buffer text = {0};
    if (run->traces.count == 0)
        return false;
    kino__describe_profiler(run->traces.items[0], &text);
    bool is_there = kino__str_contains(kino__buffer_str(&text), kino__str_from(what)) ||
                    (strcmp(what, "stacks") == 0 && has_python(run->traces.items[0]));
    kino__buffer_deinit(&text);
    return is_there;
}

/* Perfetto's files, and those of other profilers, do not say what was asked for. */
static bool knows_recording(const comparison *c, int side)
{
    const kino__run *run = &c->sides[side][0]->run;
    return run->traces.count == 0 || !kino__str_is(run->traces.items[0]->format, "perfetto");
}

/* Recording more makes the host slower: a difference between the sides is not the program's. */
static void note_recordings(const comparison *c, kino_result *result)
{
    static const char *const words[] = {"stacks", "shapes", "memory", "modules", "flops"};
    bool is_known = knows_recording(c, 0) && knows_recording(c, 1);
    for (size_t i = 0; i < sizeof words / sizeof *words && is_known; i++) {
        bool left = was_recorded(c, 0, words[i]), right = was_recorded(c, 1, words[i]);
        if (left != right)
            kino__result_note_hinted(
                result, kino__hint(KINO_HINT_RECORDED, words[i], left ? "A" : "B"),
                "recorded differently: %s has %s, %s does not; recording them slows the host down",
                left ? "A" : "B", words[i], left ? "B" : "A");
    }
}

static void add_notes(const comparison *c, const kino__diff *diff, kino_result *result)
{
    note_recordings(c, result);
    bool is_compat = kino__analysis_is_compat(&c->analysis, "tensorboard");
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < c->counts[side]; i++) {
            const kino__diff_run *run = c->runs[side ? c->counts[0] + i : i];
            if (run->steps == 0)
                kino__result_note(
                    result, "steps of '%s' not available: no step annotations or iterations found",
                    c->sides[side][i]->label);
        }
    }
    if (!is_compat && !diff->has_device && diff->ops.items.count)
        kino__result_lacks(result, "device time of operators", ": host times are shown");
}

/* Long names in the middle of a page: the first column, cut. */
static void shorten_names(const kino__table *table, unsigned width, kino_result *result)
{
    kino__buffer text = {0};
    for (size_t i = 0; table && i < table->cells.count; i += table->column_count) {
        kino_cell *cell = &table->cells.items[i];
        text.size = 0;
        kino__format_shortened(&text, cell->value.text, width);
        kino_str copy = kino__arena_copy(&result->arena, kino__buffer_str(&text));
        if (copy.data)
            cell->value.text = copy;
    }
    result->failed |= text.failed;
    kino__buffer_deinit(&text);
}

static kino_status build(comparison *c, kino_result *result, kino_error *err)
{
    kino__diff diff;
    describe(c, result);
    add_tables(c, result);
    bool ok = kino__diff_init(&diff, c->runs, c->counts[0], c->runs + c->counts[0], c->counts[1]);
    kino_status st = ok ? KINO_OK : kino__fail_nomem(err);
    if (ok) {
        kino__diff_write(&diff, result);
        for (size_t i = KINO__DIFF_TABLE_OPS; i <= KINO__DIFF_TABLE_KERNELS; i++)
            if (c->options.name_width)
                shorten_names(kino__analysis_table(result, i), c->options.name_width, result);
        st = add_tree(c, result, err);
        kino__table *checks = kino__analysis_table(result, KINO__DIFF_TABLE_CHECKS);
        for (size_t i = 0; st == KINO_OK && i < c->options.fail_on_count; i++)
            st = kino__diff_check(kino__str_from(c->options.fail_on[i]), &diff, checks, err);
        add_notes(c, &diff, result);
    }
    kino__diff_deinit(&diff);
    return st;
}

/* -- the public face -- */

static kino_status compare(comparison *c, kino_result **out, kino_error *err)
{
    for (size_t i = 0; i < c->options.fail_on_count; i++)
        KINO_TRY(kino_diff_check(c->options.fail_on[i], err));
    KINO_TRY(kino__pool_new(c->options.jobs, &c->pool, err));
    KINO_TRY(map_runs(c, err));
    kino_result *result = kino__result_new("diff");
    if (!result)
        return kino__fail_nomem(err);
    kino_status st = build(c, result, err);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}

kino_status kino_runs_diff(kino_run *const *left, size_t left_count, kino_run *const *right,
                           size_t right_count, const kino_diff_options *options, kino_result **out,
                           kino_error *err)
{
    comparison c = {.sides = {left, right},
                    .counts = {left_count, right_count},
                    .options = KINO_DIFF_OPTIONS_INIT};
    *out = NULL;
    kino__error_clear(err);
    KINO__TAKE_OPTIONS(c.options, options);
    if (left_count == 0 || right_count == 0)
        return kino__fail(err, KINO_ARGUMENT, "both sides must have a run");
    kino__progress_init(&c.progress, c.options.progress, c.options.progress_context);
    kino_param param = {"compat", c.options.compat};
    kino_status st = kino__analysis_init(&c.analysis, &kino__analysis_diff, &param,
                                         c.options.compat != NULL, err);
    if (st == KINO_OK)
        st = compare(&c, out, err);
    for (size_t i = 0; c.runs && i < left_count + right_count; i++)
        kino__partial_free(&c.analysis, c.runs[i]);
    free(c.runs);
    kino__pool_free(c.pool);
    kino__analysis_deinit(&c.analysis);
    return st;
}

kino_status kino_diff_check(const char *expressions, kino_error *err)
{
    kino__error_clear(err);
    return kino__diff_check(kino__str_from(expressions), NULL, NULL, err);
}

kino_status kino_diff_summary(const kino_result *diff, const kino_render_options *options,
                              kino_write_fn write, void *context, kino_error *err)
{
    kino_render_options given = KINO_RENDER_OPTIONS_INIT;
    kino__error_clear(err);
    KINO__TAKE_OPTIONS(given, options);
    kino__buffer text = {0};
    kino__diff_summarise(diff, given.format && strcmp(given.format, "md") == 0, given.color, &text);
    kino_status st = KINO_OK;
    if (text.failed)
        st = kino__fail_nomem(err);
    else if (!write(context, text.data, text.size))
        st = kino__fail(err, KINO_IO, "cannot write the result");
    kino__buffer_deinit(&text);
    return st;
}
