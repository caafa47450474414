/* cut.c - a run of the events in a window: kino cut. What is kept of a trace is cut_select.c's
 * business; here are the run's window, what to say when nothing is left, and the new run. */
#include "transform/cut.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "store/derive.h"

/* -- the run's extent */

/* The last end of all events; 0 when there are none. */
static int64_t run_end(const kino__run *run)
{
    int64_t last = 0;
    for (size_t i = 0; i < run->traces.count; i++) {
        int64_t start, end;
        if (kino__trace_window(run->traces.items[i], &start, &end) && end > last)
            last = end;
    }
    return last;
}

static kino_status resolve_window(kino__cut *cut, const kino__run *run, kino_error *err)
{
    int64_t end = run_end(run);
    cut->from = cut->options.from_ns;
    cut->to = cut->options.to_ns;
    if (cut->from != KINO_NO_TIME && cut->from < 0)
        cut->from += end;
    if (cut->to != KINO_NO_TIME && cut->to < 0)
        cut->to += end;
    if (cut->from != KINO_NO_TIME && cut->to != KINO_NO_TIME && cut->to <= cut->from)
        return kino__fail(err, KINO_ARGUMENT, "invalid window: it ends before it starts");
    int64_t first = cut->options.first_step, last = cut->options.last_step;
    cut->has_steps = first != KINO_NO_INT || last != KINO_NO_INT;
    if (first != KINO_NO_INT && last != KINO_NO_INT && last < first)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid steps %" PRId64 "-%" PRId64 ": the last is before the first",
                          first, last);
    return KINO_OK;
}

/* -- messages */

/* Appends to a message as far as there is room. */
static void say(char *text, size_t size, const char *format, ...) KINO_PRINTF(3, 4);
static void say(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

/* ns in the unit in which --from and --to would be typed, without needless zeros. */
static void say_time(char *text, size_t size, int64_t ns)
{
    static const struct {
        int64_t ns;
        int digits;
        const char *name;
    } units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "us"}, {1, 0, "ns"}};
    size_t u = 0;
    while (u < 3 && ns < units[u].ns && -ns < units[u].ns)
        u++;
    char rest[16];
    (void)snprintf(rest, sizeof rest, "%0*" PRId64, units[u].digits, ns % units[u].ns);
    size_t length = units[u].digits ? strlen(rest) : 0;
    while (length && rest[length - 1] == '0')
        length--;
    say(text, size, "%" PRId64 "%s%.*s%s", ns / units[u].ns, length ? "." : "", (int)length, rest,
        units[u].name);
}

static void say_steps(char *text, size_t size, const kino__run *run)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__steps *steps = kino__link_steps(run->traces.items[i]);
        for (size_t k = 0; steps && k < steps->count; k++) {
            first = steps->items[k].number < first ? steps->items[k].number : first;
            last = steps->items[k].number > last ? steps->items[k].number : last;
        }
    }
    if (first > last)
        say(text, size, "; the run has no steps");
    else if (first == last)
        say(text, size, "; the run has only step %" PRId64, first);
    else
        say(text, size, "; the run has steps %" PRId64 "-%" PRId64, first, last);
}

static kino_status fail_empty(const kino__cut *cut, const kino__run *run, kino_error *err)
{
    char text[200] = "no events match";
    if (cut->has_steps)
        say_steps(text, sizeof text, run);
    if (cut->from != KINO_NO_TIME || cut->to != KINO_NO_TIME) {
        say(text, sizeof text, "; the run lasts from 0 to ");
        say_time(text, sizeof text, run_end(run));
    }
    if (cut->options.name_count)
        say(text, sizeof text,
            "; patterns match the full name: use '*gemm*' for names that contain gemm");
    return kino__fail(err, KINO_NOT_FOUND, "%s", text);
}

/* -- categories that nobody has */

static bool has_category(const kino__run *run, const char *name)
{
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__trace *trace = run->traces.items[i];
        for (uint32_t row = 0; row < trace->event_count; row++) {
            uint16_t category = trace->category[row];
            bool is_new = row == 0 || category != trace->category[row - 1];
            if (is_new && kino__str_is(kino__trace_category_text(trace, category), name))
                return true;
        }
    }
    return false;
}

static kino_status fail_category(const kino__run *run, const char *name, kino_error *err)
{
    char known[150] = "";
    size_t count = 0;
    for (int c = 0; c < KINO__CATEGORY_COUNT; c++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%.*s", KINO__STR_ARG(kino__category_text((uint16_t)c)));
        if (has_category(run, text) && strlen(known) + strlen(text) + 3 < sizeof known)
            say(known, sizeof known, "%s%s", count++ ? ", " : "", text);
    }
    return kino__fail(err, KINO_NOT_FOUND, "no event has category '%.40s'; the categories are: %s",
                      name, known);
}

static kino_status check_categories(const kino__cut *cut, const kino__run *run, kino_run *out,
                                    kino_error *err)
{
    const kino_cut_options *o = &cut->options;
    for (size_t i = 0; i < o->category_count; i++)
        if (!has_category(run, o->categories[i]))
            return fail_category(run, o->categories[i], err);
    for (size_t i = 0; i < o->drop_count; i++)
        if (!has_category(run, o->drop[i]))
            kino__derived_run_warn(out, kino__hint(KINO_HINT_OPTION, "drop", ""),
                                   "no event has category '%s' (" KINO__HERE ")", o->drop[i]);
    return KINO_OK;
}

/* -- the new run */

static kino_status add_cut(kino_run *out, const kino__trace *trace, const uint8_t *is_kept,
                           kino__progress *progress, kino_error *err)
{
    kino__derive_source source = {.trace = trace, .is_kept = is_kept};
    kino__derive derive = {.sources = &source, .count = 1, .progress = progress};
    return kino__derived_run_add(out, &derive, err);
}

static kino_status cut_trace(const kino__cut *cut, kino_run *out, const kino__trace *trace,
                             kino_cut_counts *counts, kino__progress *progress, kino_error *err)
{
    bool has_any = false;
    uint8_t *is_kept = calloc((size_t)trace->event_count + 1, 1);
    if (!is_kept)
        return kino__fail_nomem(err);
    kino_status st = kino__cut_select(cut, trace, is_kept, counts, &has_any, err);
    if (st == KINO_OK && !kino__progress_add(progress, trace->event_count))
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    if (st == KINO_OK && has_any)
        st = add_cut(out, trace, is_kept, progress, err);
    else if (st == KINO_OK)
        kino__derived_run_warn(out, KINO__NO_HINT,
                               "'%.*s': left out: none of its events are in the cut",
                               KINO__STR_ARG(trace->path));
    free(is_kept);
    return st;
}

static kino_status cut_all(const kino__cut *cut, kino_run *run, kino_run *out,
                           kino_cut_counts *counts, kino_error *err)
{
    kino__progress progress;
    kino__progress_init(&progress, cut->options.progress, cut->options.progress_context);
    kino__progress_stage(&progress, "cutting", 2 * kino__run_event_count(run)); /* choose, copy */
    for (size_t i = 0; i < run->run.traces.count; i++)
        KINO_TRY(cut_trace(cut, out, run->run.traces.items[i], counts, &progress, err));
    return out->run.traces.count ? KINO_OK : fail_empty(cut, &run->run, err);
}

kino_status kino_run_cut(kino_run *run, const kino_cut_options *options, kino_run **out,
                         kino_cut_counts *counts, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino__cut cut = {.options = KINO_CUT_OPTIONS_INIT};
    KINO__TAKE_OPTIONS(cut.options, options);
    kino_cut_counts sums = {0};
    kino_run *made;
    KINO_TRY(kino__derived_run_new(run, &made, err));
    kino_status st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = resolve_window(&cut, &run->run, err);
    if (st == KINO_OK)
        st = check_categories(&cut, &run->run, made, err);
    if (st == KINO_OK)
        st = cut_all(&cut, run, made, &sums, err);
    if (st != KINO_OK) {
        kino_run_free(made);
        return st;
    }
    if (counts)
        *counts = sums;
    *out = made;
    return KINO_OK;
}
