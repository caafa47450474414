/* sequence_overlay.c - a run with the frequent kernel sequences of an operator drawn in: every
 * event of a call that runs one (the call, what it calls, its kernels) has the argument "Patterns"
 * with the sequence and how often it comes. Viewers find them by searching for that word. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/call_graph/call_graph.h"
#include "analysis/columns.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/sized.h"
#include "transform/overlay.h"

typedef struct work {
    kino_run *out;
    kino__trace *trace;
    kino__overlay *overlay;
    const kino_sequence_overlay_options *options;
    kino__frame_mode mode;
    bool has_last_step;
} work;

/* One mark a sequence: "Patterns": {"call|kernel|kernel": count}. */
static void add_marks(work *w, const kino__table *sequences)
{
    kino__buffer member = {0};
    for (size_t i = 0; i < kino__table_row_count(sequences); i++) {
        kino__row_room room;
        const kino_cell *cells = kino__table_row(sequences, i, &room);
        member.size = 0;
        kino__buffer_add(&member, KINO__STR("\"Patterns\": {"));
        kino__json_add_string(&member, cells[KINO__SEQUENCES_PATTERN].value.text);
        kino__buffer_printf(&member, ": %" PRId64 "}", cells[KINO__SEQUENCES_COUNT].value.integer);
        w->overlay->failed |= member.failed;
        (void)kino__overlay_add_mark(w->overlay, kino__buffer_str(&member));
    }
    kino__buffer_deinit(&member);
}

/* Calls get the mark of their sequence, and what is below them the same. Marks are numbered as
 * sequences are: from 1. */
static bool mark_calls(work *w, const kino__table *calls)
{
    const kino__call_graph *g = kino__call_graph_of(w->trace, w->mode, w->has_last_step, NULL);
    uint32_t *rows = kino__overlay_rows_new(w->trace);
    uint32_t *marks = kino__overlay_marks_new(w->overlay, w->trace, "Patterns");
    bool ok = g && rows && marks;
    for (size_t i = 0; ok && i < kino__table_row_count(calls); i++) {
        kino__row_room room;
        const kino_cell *cells = kino__table_row(calls, i, &room);
        marks[rows[(uint32_t)cells[KINO__SEQUENCE_CALLS_EVENT].value.integer]] =
            (uint32_t)cells[KINO__SEQUENCE_CALLS_SEQUENCE].value.integer;
    }
    for (uint32_t i = 0; ok && i < g->count; i++) { /* parents come before children */
        uint32_t at = g->order[i], row = g->frame->row[at];
        if (!marks[row] && g->parent[at] >= 0)
            marks[row] = marks[g->frame->row[g->parent[at]]];
    }
    free(rows);
    return ok;
}

/* A call of many kernels has a long sequence, and all of its many events get it: counted before it
 * is written. */
static kino_status check_size(const work *w, kino_error *err)
{
    const uint64_t most = ((uint64_t)64 << 20) + 16 * w->trace->file_bytes;
    uint64_t bytes = 0, events = 0;
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        uint32_t mark = w->overlay->marks[row];
        events += mark != 0;
        bytes += mark && mark <= w->overlay->members.count
                     ? w->overlay->members.items[mark - 1].size
                     : 0;
    }
    if (bytes <= most)
        return KINO_OK;
    return kino__fail(err, KINO_LIMIT,
                      "the kernel sequences of '%s' would add %llu MiB to %llu events: select "
                      "calls that run fewer kernels",
                      w->trace->path.data, (unsigned long long)(bytes >> 20),
                      (unsigned long long)events);
}

static kino_status overlay_trace(const kino_run *run, work *w, bool *is_found,
                                 kino__progress *progress, kino_error *err)
{
    size_t count = w->options->param_count;
    kino_result *result = NULL;
    kino_param *params = calloc(count + 1, sizeof *params);
    if (!params)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        params[i] = w->options->params[i];
    params[count] = (kino_param){"calls", "yes"};
    kino_status st = kino__overlay_analyze(run, w->trace, &kino__analysis_kernel_sequences, params,
                                           count + 1, &result, err);
    free(params);
    if (st != KINO_OK)
        return st;
    const kino__table *sequences = kino__analysis_table(result, KINO__KERNEL_SEQUENCES_TABLE);
    const kino__table *calls = kino__analysis_table(result, KINO__KERNEL_SEQUENCES_CALLS);
    *is_found = calls && kino__table_row_count(calls);
    if (*is_found) {
        add_marks(w, sequences);
        st = mark_calls(w, calls) ? check_size(w, err) : kino__fail_nomem(err);
    }
    kino__overlay_warn(w->out, result);
    kino_result_free(result);
    if (st == KINO_OK && !kino__progress_add(progress, w->trace->event_count))
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    return st == KINO_OK ? kino__overlay_finish(w->out, w->trace, w->overlay, progress, err) : st;
}

static kino_status overlay_all(kino_run *run, kino_run *made, const void *given, kino_error *err)
{
    const kino_sequence_overlay_options *options = given;
    work w = {.out = made, .options = options};
    const char *op = "";
    bool has_any = false, is_given = false;
    for (size_t i = 0; i < options->param_count; i++) {
        const kino_param *param = &options->params[i];
        if (strcmp(param->name, "op") == 0)
            op = param->value;
        if (strcmp(param->name, "compat") == 0)
            w.mode = strcmp(param->value, "hta") == 0 ? KINO__FRAME_HTA : KINO__FRAME_HTA_NS;
        if (strcmp(param->name, "include_last_step") != 0)
            continue;
        w.has_last_step = strcmp(param->value, "yes") == 0;
        is_given = true;
    }
    if (!is_given) /* as the analysis has it */
        w.has_last_step = w.mode == KINO__FRAME_DEFAULT;
    kino__progress progress;
    kino__progress_init(&progress, options->progress, options->progress_context);
    kino__progress_stage(&progress, "finding kernel sequences",
                         2 * kino__run_event_count(run)); /* then copying */
    for (size_t i = 0; i < run->run.traces.count; i++) {
        bool is_found = false;
        w.trace = run->run.traces.items[i];
        w.overlay = kino__overlay_of(made, i);
        KINO_TRY(overlay_trace(run, &w, &is_found, &progress, err));
        has_any |= is_found;
    }
    if (has_any)
        return KINO_OK;
    return kino__fail_hint(
        err, KINO_NOT_FOUND, kino__hint(KINO_HINT_OPTION, "min_pattern_len", ""),
        "no kernel sequences in '%s': no operator with '%s' in its name runs that many kernels "
        "(" KINO__HERE ")",
        run->label, op);
}

kino_status kino_run_overlay_kernel_sequences(kino_run *run,
                                              const kino_sequence_overlay_options *options,
                                              kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_sequence_overlay_options given = KINO_SEQUENCE_OVERLAY_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    return kino__overlay_make(run, overlay_all, &given, out, err);
}
