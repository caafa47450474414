/* diff_summary.c - a comparison in a few sentences: step time, the parts that changed most, what is
 * new and gone, which checks passed and failed, and what the recordings do not share. */
#include <math.h>

#include "analysis/columns.h"
#include "analysis/diff/diff.h"
#include "render/units.h"
#include "report/run_diff.h"

enum { MOST_PARTS = 3, MOST_NAMES = 3, NAME_WIDTH = 60 };

typedef struct writing {
    const kino_result *diff;
    kino__buffer *out;
    bool is_markdown, has_color;
} writing;

/* -- words -- */

static void add_arrow(const writing *w)
{
    kino__buffer_add(w->out, w->is_markdown ? KINO__STR(" \xe2\x86\x92 ") : KINO__STR(" -> "));
}

static void add_name(const writing *w, kino_str name)
{
    kino__buffer plain = {0};
    kino__format_text(&plain, name);
    kino__buffer_add(w->out, w->is_markdown ? KINO__STR("`") : KINO__STR("'"));
    kino__format_shortened(w->out, kino__buffer_str(&plain), NAME_WIDTH);
    kino__buffer_add(w->out, w->is_markdown ? KINO__STR("`") : KINO__STR("'"));
    w->out->failed |= plain.failed;
    kino__buffer_deinit(&plain);
}

static void add_duration(const writing *w, int64_t ns)
{
    if (ns == KINO_NO_INT)
        kino__buffer_add(w->out, KINO__STR("not available"));
    else
        kino__format_duration(w->out, ns);
}

static void add_delta(const writing *w, int64_t ns)
{
    if (ns > 0)
        kino__buffer_add(w->out, KINO__STR("+"));
    add_duration(w, ns);
}

/* "10.2 ms -> 11.3 ms (+1.1 ms, +10.8 %)" */
static void add_change(const writing *w, const kino__table *table, size_t row, size_t left)
{
    enum { RIGHT = 1, DELTA, PERCENT }; /* behind it */
    int64_t delta = kino__table_int(table, row, left + DELTA);
    add_duration(w, kino__table_int(table, row, left));
    add_arrow(w);
    add_duration(w, kino__table_int(table, row, left + RIGHT));
    if (delta == KINO_NO_INT)
        return;
    if (delta == 0) {
        kino__buffer_add(w->out, KINO__STR(" (unchanged)"));
        return;
    }
    kino__buffer_add(w->out, KINO__STR(" ("));
    add_delta(w, delta);
    double percent = kino__table_real(table, row, left + PERCENT);
    if (!isnan(percent))
        kino__buffer_printf(w->out, ", %+.1f %%", percent);
    kino__buffer_add(w->out, KINO__STR(")"));
}

static void begin_item(const writing *w)
{
    kino__buffer_add(w->out, w->is_markdown ? KINO__STR("- ") : KINO__STR("  "));
}

/* -- sentences -- */

static void add_headline(const writing *w, const kino__table *steps)
{
    bool has_steps = kino__table_row_count(steps) > 0;
    int64_t delta = has_steps ? kino__table_int(steps, 0, KINO__DIFF_STEPS_DELTA) : KINO_NO_INT;
    const char *color = delta == KINO_NO_INT || delta == 0 ? "\033[1m"
                        : delta > 0                        ? "\033[1;33m"
                                                           : "\033[1;32m";
    if (w->is_markdown || w->has_color)
        kino__buffer_printf(w->out, "%s", w->is_markdown ? "**" : color);
    kino__buffer_add(w->out, KINO__STR("Step time "));
    if (has_steps)
        add_change(w, steps, 0, KINO__DIFF_STEPS_LEFT);
    else
        kino__buffer_add(w->out, KINO__STR("not available: no steps"));
    if (w->is_markdown || w->has_color)
        kino__buffer_printf(w->out, "%s", w->is_markdown ? "**" : "\033[0m");
    kino__buffer_add(w->out, KINO__STR("\n"));
    if (w->is_markdown)
        kino__buffer_add(w->out, KINO__STR("\n"));
}

/* What makes the times of the two sides hard to compare (report/run_diff.c notes it). */
static void add_recordings(const writing *w)
{
    for (size_t i = 0; i < w->diff->notes.count; i++) {
        if (w->diff->notes.items[i].hint.code != KINO_HINT_RECORDED)
            continue;
        begin_item(w);
        kino__buffer_printf(w->out, "%s\n", w->diff->notes.items[i].text);
    }
}

/* With several runs: how far they lie apart, and whether the change is more than that. */
static void add_spread(const writing *w, const kino__table *steps)
{
    if (kino__table_row_count(steps) == 0)
        return;
    int64_t left = kino__table_int(steps, 0, KINO__DIFF_STEPS_LEFT_SPREAD),
            right = kino__table_int(steps, 0, KINO__DIFF_STEPS_RIGHT_SPREAD);
    int64_t delta = kino__table_int(steps, 0, KINO__DIFF_STEPS_DELTA);
    if (left == KINO_NO_INT && right == KINO_NO_INT)
        return;
    int64_t spread = left > right ? left : right; /* KINO_NO_INT is the smallest */
    begin_item(w);
    kino__buffer_add(w->out, KINO__STR("medians of several runs; spread between runs:"));
    for (int side = 0; side < 2; side++) {
        int64_t value = side ? right : left;
        if (value == KINO_NO_INT)
            continue;
        kino__buffer_printf(w->out, side && left != KINO_NO_INT ? ", " : " ");
        add_duration(w, value);
        kino__buffer_printf(w->out, side ? " (right)" : " (left)");
    }
    if (delta != KINO_NO_INT)
        kino__buffer_printf(w->out, "; the change is %s the spread",
                            (delta < 0 ? -delta : delta) > spread ? "larger than" : "within");
    kino__buffer_add(w->out, KINO__STR("\n"));
}

/* The parts of the step by their change, largest first, at most three; what is less than a
 * thousandth of the step is left out. */
static void add_parts(const writing *w, const kino__table *steps)
{
    size_t count = kino__table_row_count(steps);
    uint64_t used = 0;
    if (count == 0 || kino__table_int(steps, 0, KINO__DIFF_STEPS_LEFT) == KINO_NO_INT)
        return;
    for (int n = 0; n < MOST_PARTS; n++) {
        size_t best = 0;
        int64_t largest = kino__table_int(steps, 0, KINO__DIFF_STEPS_LEFT) / 1000;
        for (size_t row = 1; row < count && row < 64; row++) {
            int64_t delta = kino__table_int(steps, row, KINO__DIFF_STEPS_DELTA);
            int64_t size = delta == KINO_NO_INT ? 0 : delta < 0 ? -delta : delta;
            if (size > largest && !(used >> row & 1)) {
                largest = size;
                best = row;
            }
        }
        if (best == 0)
            break;
        used |= 1ull << best;
        if (n == 0)
            begin_item(w);
        kino__buffer_add(w->out, n ? KINO__STR(", ") : KINO__STR(""));
        kino__buffer_add(w->out, kino__table_text(steps, best, KINO__DIFF_STEPS_PART));
        kino__buffer_add(w->out, KINO__STR(" "));
        add_delta(w, kino__table_int(steps, best, KINO__DIFF_STEPS_DELTA));
    }
    if (used)
        kino__buffer_add(w->out, KINO__STR("\n"));
}

/* "operators: most changed 'aten::mm' +1.2 ms; 2 new: ...; 1 gone: ..." */
static void add_names(const writing *w, const kino__table *table, const char *what,
                      const char *change)
{
    size_t count = 0;
    for (size_t row = 0; row < kino__table_row_count(table); row++)
        count += kino__str_is(kino__table_text(table, row, KINO__DIFF_NAMES_CHANGE), change);
    if (count == 0)
        return;
    begin_item(w);
    kino__buffer_printf(w->out, "%s %s%s: ", change, what, count == 1 ? "" : "s");
    size_t shown = 0;
    for (size_t row = 0; row < kino__table_row_count(table) && shown < MOST_NAMES; row++) {
        if (!kino__str_is(kino__table_text(table, row, KINO__DIFF_NAMES_CHANGE), change))
            continue;
        kino__buffer_add(w->out, shown++ ? KINO__STR(", ") : KINO__STR(""));
        add_name(w, kino__table_text(table, row, KINO__DIFF_NAMES_NAME));
    }
    if (count > shown)
        kino__buffer_printf(w->out, " and %zu more", count - shown);
    kino__buffer_add(w->out, KINO__STR("\n"));
}

static void add_most_changed(const writing *w, const kino__table *table, const char *what)
{
    if (kino__table_row_count(table) == 0)
        return;
    int64_t delta = kino__table_int(table, 0, KINO__DIFF_NAMES_DELTA);
    if (delta == 0 || delta == KINO_NO_INT)
        return;
    begin_item(w);
    kino__buffer_printf(w->out, "%s that changed most: ", what);
    add_name(w, kino__table_text(table, 0, KINO__DIFF_NAMES_NAME));
    kino__buffer_add(w->out, KINO__STR(" "));
    add_change(w, table, 0, KINO__DIFF_NAMES_LEFT);
    kino__buffer_add(w->out, KINO__STR(" per step\n"));
}

static void add_checks(const writing *w, const kino__table *checks)
{
    for (size_t row = 0; row < kino__table_row_count(checks); row++) {
        bool passed = kino__table_int(checks, row, KINO__DIFF_CHECKS_PASSED) != 0;
        begin_item(w);
        kino__buffer_printf(w->out, "check %s ", passed ? "passed:" : "failed:");
        add_name(w, kino__table_text(checks, row, KINO__DIFF_CHECKS_EXPRESSION));
        kino_str name = kino__table_text(checks, row, KINO__DIFF_CHECKS_NAME);
        if (name.size) {
            kino__buffer_add(w->out, KINO__STR(": "));
            add_name(w, name);
            kino__buffer_add(w->out, KINO__STR(" "));
            add_change(w, checks, row, KINO__DIFF_CHECKS_LEFT);
        }
        kino__buffer_add(w->out, KINO__STR("\n"));
    }
}

void kino__diff_summarise(const kino_result *diff, bool is_markdown, bool has_color,
                          kino__buffer *out)
{
    writing w = {diff, out, is_markdown, has_color};
    if (strcmp(diff->name, kino__analysis_diff.name) != 0 ||
        diff->tables.count <= KINO__DIFF_TABLE_CHECKS)
        return; /* not an answer of kino_runs_diff */
    const kino__table *steps = diff->tables.items[KINO__DIFF_TABLE_STEPS];
    const kino__table *ops = diff->tables.items[KINO__DIFF_TABLE_OPS];
    const kino__table *kernels = diff->tables.items[KINO__DIFF_TABLE_KERNELS];
    const kino__table *checks = diff->tables.items[KINO__DIFF_TABLE_CHECKS];
    add_headline(&w, steps);
    add_recordings(&w);
    add_spread(&w, steps);
    add_parts(&w, steps);
    add_most_changed(&w, ops, "operator");
    add_most_changed(&w, kernels, "kernel");
    add_names(&w, ops, "operator", "new");
    add_names(&w, ops, "operator", "gone");
    add_names(&w, kernels, "kernel", "new");
    add_names(&w, kernels, "kernel", "gone");
    add_checks(&w, checks);
    kino__buffer_add(out, KINO__STR("\n"));
}
