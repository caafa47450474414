/* align.c - all ranks on one clock: kino convert --align.
 *
 * The times of a rank move by what its clock is off, which its collectives say (clocks.h) or a file
 * does. A clock that is off by no more than its error bar stays: moving it would say more than is
 * known. Arguments are not touched; events whose text is kept get the new times there, too. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "store/args.h"
#include "transform/clock_file.h"

/* Of one trace. */
typedef struct aligned {
    const kino__trace *trace;
    kino__clock_line line;
    bool is_moved;
} aligned;

typedef struct alignment {
    aligned *traces;
    bool is_any_moved;
} alignment;

static void alignment_free(void *rules)
{
    alignment *a = rules;
    if (a)
        free(a->traces);
    free(a);
}

/* -- times -- */

static int64_t moved(const aligned *a, int64_t time)
{
    return time == KINO_NO_TIME ? time : kino__clock_to_reference(&a->line, time);
}

static int64_t moved_length(const aligned *a, uint32_t row)
{
    int64_t ts = a->trace->ts[row], dur = a->trace->dur[row];
    if (ts == KINO_NO_TIME || dur == KINO_NO_TIME)
        return dur;
    return moved(a, kino__sum(ts, dur)) - moved(a, ts);
}

static void add_time(kino__buffer *out, const kino__trace *trace, int64_t ts, bool is_length)
{
    char text[KINO__DECIMAL_MAX];
    uint64_t base = is_length ? 0 : (uint64_t)trace->origin_ns - (uint64_t)trace->base_ns;
    kino__buffer_add(out, (kino_str){text, kino__format_us((int64_t)((uint64_t)ts + base), text)});
}

/* The text of an event, with its new times. */
static bool move_event(const void *context, uint32_t index, uint32_t row, bool is_end,
                       kino_str text, kino__buffer *out)
{
    (void)index;
    const aligned *a = context;
    const kino__trace *trace = a->trace;
    kino_str key, value;
    const char *from = text.data;
    int64_t start = moved(a, trace->ts[row]), length = moved_length(a, row);
    kino__args_iter it = kino__args_iter_start(text);
    while (trace->ts[row] != KINO_NO_TIME && kino__args_iter_next(&it, &key, &value)) {
        bool is_ts = kino__str_is(key, "ts");
        if (!is_ts && (!kino__str_is(key, "dur") || length == KINO_NO_TIME))
            continue;
        kino__buffer_add(out, (kino_str){from, (size_t)(value.data - from)});
        add_time(out, trace, is_ts ? start + (is_end ? length : 0) : length, !is_ts);
        from = value.data + value.size;
    }
    kino__buffer_add(out, (kino_str){from, (size_t)(text.data + text.size - from)});
    return true;
}

static void move_columns(const aligned *a, kino__trace *made)
{
    for (uint32_t row = 0; row < made->event_count; row++) {
        made->dur[row] = moved_length(a, row);
        made->ts[row] = moved(a, a->trace->ts[row]);
    }
}

/* -- clocks -- */

static kino_status find_clocks(kino_run *run, kino__progress *progress, kino__clocks *out,
                               kino_error *err)
{
    kino__analysis a;
    kino__pool *pool = NULL;
    void *partial = NULL;
    kino_status st = kino__analysis_init(&a, &kino__analysis_clock_alignment, NULL, 0, err);
    if (st == KINO_OK)
        st = kino__pool_new(run->jobs, &pool, err);
    if (st == KINO_OK)
        st = kino__analyze_map(&a, kino__run_of_ranks(&run->run), pool, progress, &partial, err);
    if (st == KINO_OK && !kino__clocks_find(partial, out))
        st = kino__fail_nomem(err);
    if (partial)
        kino__partial_free(&a, partial);
    kino__pool_free(pool);
    kino__analysis_deinit(&a);
    return st;
}

static const kino__clock *clock_of(const kino__clocks *clocks, const kino__trace *trace)
{
    for (size_t i = 0; i < clocks->items.count; i++) {
        const kino__clock *c = &clocks->items.items[i];
        bool is_it =
            c->index == KINO_NO_INT ? c->rank == trace->rank : c->index == (int64_t)trace->index;
        if (is_it)
            return c;
    }
    return NULL;
}

/* Is the clock off by more than its error, at one end of the trace? */
static bool is_off(const kino__clock_line *line, const kino__trace *trace)
{
    int64_t first, last;
    if (!kino__trace_window(trace, &first, &last))
        return false;
    double error = kino__clock_error(line);
    return fabs((double)(first - kino__clock_to_reference(line, first))) > error ||
           fabs((double)(last - kino__clock_to_reference(line, last))) > error;
}

static void warn_unknown(kino_run *made, const kino__trace *trace, const kino__clock *clock)
{
    kino__buffer reason = {0};
    kino__clock_say_reason(clock, &reason);
    if (!reason.failed)
        kino__derived_run_warn(made, (kino_hint){0}, "the clock of %s is left as it is: %.*s",
                               kino__trace_title(&made->arena, trace),
                               KINO__STR_ARG(kino__buffer_str(&reason)));
    kino__buffer_deinit(&reason);
}

static void choose(kino_run *made, const kino__trace *trace, const kino__clock *clock,
                   bool is_from_file, aligned *out)
{
    *out = (aligned){.trace = trace};
    if (!clock)
        return;
    if (!kino__clock_is_known(clock)) {
        if (!is_from_file)
            warn_unknown(made, trace, clock);
        return;
    }
    out->line = clock->line;
    out->is_moved = is_from_file || is_off(&clock->line, trace);
}

/* -- the new run -- */

static kino_status add_trace(kino_run *made, const aligned *a, kino__progress *progress,
                             kino_error *err)
{
    const kino__derive_rules rules = {.context = a, .event = move_event};
    kino__derive_source source = {.trace = a->trace};
    kino__derive derive = {
        .sources = &source, .count = 1, .rules = a->is_moved ? &rules : NULL, .progress = progress};
    KINO_TRY(kino__derived_run_add(made, &derive, err));
    if (a->is_moved)
        move_columns(a, made->run.traces.items[made->run.traces.count - 1]);
    return KINO_OK;
}

static bool choose_all(kino_run *made, alignment *rules, const kino_run *run,
                       const kino__clocks *clocks, bool is_from_file)
{
    bool is_any_moved = false, has_several = run->run.traces.count > 1;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        choose(made, trace, has_several ? clock_of(clocks, trace) : NULL, is_from_file,
               &rules->traces[i]);
        is_any_moved |= rules->traces[i].is_moved;
    }
    return is_any_moved;
}

static kino_status add_traces(kino_run *made, const kino_run *run, const kino__clocks *clocks,
                              bool is_from_file, kino__progress *progress, kino_error *err)
{
    alignment *rules = calloc(1, sizeof *rules);
    made->rules = rules;
    made->rules_free = alignment_free;
    if (rules)
        rules->traces = calloc(run->run.traces.count + 1, sizeof *rules->traces);
    if (!rules || !rules->traces)
        return kino__fail_nomem(err);
    rules->is_any_moved = choose_all(made, rules, run, clocks, is_from_file);
    for (size_t i = 0; rules->is_any_moved && i < run->run.traces.count; i++)
        KINO_TRY(add_trace(made, &rules->traces[i], progress, err));
    return KINO_OK;
}

/* All clocks stay: the traces themselves, with what was said about them. */
static kino_status keep_traces(kino_run *run, kino_run **made, kino_error *err)
{
    size_t count = run->run.traces.count;
    uint32_t *all = malloc((count + 1) * sizeof *all);
    for (uint32_t i = 0; all && i < count; i++)
        all[i] = i;
    kino_run *same = NULL;
    kino_status st = all ? kino_run_select(run, all, count, &same, err) : kino__fail_nomem(err);
    for (size_t i = 0; st == KINO_OK && i < (*made)->warnings.count; i++)
        kino__derived_run_add_warning(same, &(*made)->warnings.items[i]);
    free(all);
    kino_run_free(*made);
    *made = same;
    return st;
}

kino_status kino_run_align(kino_run *run, const kino_align_options *options, kino_run **out,
                           kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_align_options given = KINO_ALIGN_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__clocks clocks = {0};
    kino_run *made;
    KINO_TRY(kino__derived_run_new(run, &made, err));
    kino_status st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = given.file ? kino__clock_file_read(given.file, &clocks, err)
                        : find_clocks(run, &progress, &clocks, err);
    kino__progress_stage(&progress, "aligning", kino__run_event_count(run));
    if (st == KINO_OK)
        st = add_traces(made, run, &clocks, given.file != NULL, &progress, err);
    if (st == KINO_OK && !((const alignment *)made->rules)->is_any_moved)
        st = keep_traces(run, &made, err);
    kino__clocks_deinit(&clocks);
    if (st == KINO_OK)
        *out = made;
    else
        kino_run_free(made);
    return st;
}
