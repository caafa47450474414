/* critical_overlay.c - a run with its critical paths drawn in: events on a path are marked, arrows
 * lead along its edges.
 *
 *   analysis critical-path of a trace --> path, breakdown (, nodes, edges)
 *   events of the path                --> "critical": 1 among their arguments
 *   edges                             --> pairs of flow events, category critical_path
 *   spans off the path                --> left out, but for annotations and Python frames
 *
 * An arrow begins and ends within the spans it connects, one ns before the end of those it leaves
 * at their end, so that viewers bind it to them. HTA has whole microseconds, and steps back from
 * the end of device work only. */
#include <stdlib.h>

#include "analysis/columns.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/sized.h"
#include "store/args.h"
#include "transform/overlay.h"

typedef struct edge {
    int64_t from_event, to_event; /* ids */
    bool from_end, to_end;
    bool is_critical;
    int64_t weight;
    kino_str type;
} edge;

typedef struct work {
    kino_run *out;
    kino__trace *trace;
    kino__overlay *overlay;
    const kino_critical_overlay_options *options;
    bool is_compat;
    uint32_t *row_of_number;
    const int64_t *device; /* the argument "device" of each row; compat only */
    int64_t next_id;
    kino__buffer args;
} work;

/* -- arrows -- */

static uint32_t row_of(const work *w, int64_t event)
{
    return w->row_of_number[(uint32_t)event];
}

/* Where an arrow touches its span: at its start, or just before its end. */
static int64_t touch(const work *w, uint32_t row, bool is_end)
{
    const kino__trace *trace = w->trace;
    int64_t ts = trace->ts[row], dur = trace->dur[row] > 0 ? trace->dur[row] : 0;
    if (!w->is_compat)
        return is_end && dur ? ts + dur - 1 : ts;
    if (is_end)
        ts += dur;
    if (is_end && w->device[row] >= 0)
        ts -= dur < 1000 ? dur : 1000;
    return ts - kino__overlay_file_time(trace, ts) % 1000;
}

static void add_point(work *w, const edge *e, bool is_start, kino_str args)
{
    uint32_t row = row_of(w, is_start ? e->from_event : e->to_event);
    uint8_t quotes = KINO__FLAG_PID_TEXT | KINO__FLAG_TID_TEXT;
    kino__derive_event event = {.ts = touch(w, row, is_start ? e->from_end : e->to_end),
                                .id = w->next_id,
                                .name = KINO__STR("critical_path"),
                                .category = KINO__STR("critical_path"),
                                .track = kino__trace_track_of(w->trace, row),
                                .phase = is_start ? 's' : 'f',
                                .flags = w->trace->flags[row] & quotes};
    if (!is_start)
        event.flags |= KINO__FLAG_BP;
    kino__overlay_add(w->overlay, &event, args, KINO__STR(""));
}

static void add_arrow(work *w, const edge *e)
{
    char number[KINO__DECIMAL_MAX];
    bool is_whole = w->is_compat || e->weight % 1000 == 0;
    size_t size =
        is_whole ? kino__format_int(e->weight / 1000, number) : kino__format_us(e->weight, number);
    kino__buffer *b = &w->args;
    b->size = 0;
    kino__buffer_printf(b, "{\"weight\": %.*s, \"critical\": %s, \"type\": \"%.*s\"}", (int)size,
                        number, e->is_critical ? "true" : "false", KINO__STR_ARG(e->type));
    w->overlay->failed |= b->failed;
    add_point(w, e, true, kino__buffer_str(b));
    add_point(w, e, false, kino__buffer_str(b));
    w->next_id++;
}

/* Waits; time of events and gaps between kernels need no arrow. */
static bool is_wait(kino_str type)
{
    return kino__str_is(type, "critical_path_dependency") ||
           kino__str_is(type, "critical_path_kernel_launch_delay") ||
           kino__str_is(type, "critical_path_sync_dependency");
}

/* Edge i of the path leads from its node i to the next one. */
static void add_path_arrows(work *w, const kino__table *path, const kino__table *parts)
{
    for (size_t i = 0; i < kino__table_row_count(parts); i++) {
        kino__row_room rooms[3];
        const kino_cell *from = kino__table_row(path, i, &rooms[0]);
        const kino_cell *to = kino__table_row(path, i + 1, &rooms[1]);
        const kino_cell *part = kino__table_row(parts, i, &rooms[2]);
        edge e = {.from_event = from[KINO__PATH_EVENT].value.integer,
                  .to_event = to[KINO__PATH_EVENT].value.integer,
                  .from_end = !from[KINO__PATH_IS_START].value.integer,
                  .to_end = !to[KINO__PATH_IS_START].value.integer,
                  .is_critical = true,
                  .weight = part[KINO__PATH_PARTS_DURATION].value.integer,
                  .type = part[KINO__PATH_PARTS_TYPE].value.text};
        if (is_wait(e.type))
            add_arrow(w, &e);
    }
}

/* Nodes are numbered from 0 and stand in this order. */
static bool add_all_arrows(work *w, const kino__table *path, const kino__table *nodes,
                           const kino__table *edges)
{
    size_t count = kino__table_row_count(nodes);
    int64_t *next = calloc(count + 1, sizeof *next); /* the node behind it on the path, + 1 */
    for (size_t i = 0; next && i + 1 < kino__table_row_count(path); i++)
        next[kino__table_int(path, i, KINO__PATH_NODE)] =
            kino__table_int(path, i + 1, KINO__PATH_NODE) + 1;
    for (size_t i = 0; next && i < kino__table_row_count(edges); i++) {
        kino__row_room rooms[3];
        const kino_cell *cells = kino__table_row(edges, i, &rooms[0]);
        int64_t begin = cells[KINO__PATH_EDGES_BEGIN].value.integer,
                end = cells[KINO__PATH_EDGES_END].value.integer;
        const kino_cell *from = kino__table_row(nodes, (size_t)begin, &rooms[1]);
        const kino_cell *to = kino__table_row(nodes, (size_t)end, &rooms[2]);
        edge e = {.from_event = from[KINO__PATH_NODES_EVENT].value.integer,
                  .to_event = to[KINO__PATH_NODES_EVENT].value.integer,
                  .from_end = !from[KINO__PATH_NODES_IS_START].value.integer,
                  .to_end = !to[KINO__PATH_NODES_IS_START].value.integer,
                  .is_critical = next[begin] == end + 1,
                  .weight = cells[KINO__PATH_EDGES_WEIGHT].value.integer,
                  .type = cells[KINO__PATH_EDGES_TYPE].value.text};
        add_arrow(w, &e);
    }
    free(next);
    return next != NULL;
}

/* -- which events stay -- */

static bool stays_anyway(const kino__trace *trace, uint32_t row)
{
    if (trace->dur[row] == KINO_NO_TIME)
        return true; /* no span */
    uint16_t category = trace->category[row];
    return category == KINO__CATEGORY_USER_ANNOTATION || category == KINO__CATEGORY_PYTHON_FUNCTION;
}

static bool choose_events(work *w, const kino__table *path)
{
    const kino__trace *trace = w->trace;
    uint32_t *marked = kino__overlay_marks_new(w->overlay, trace, "critical");
    uint32_t mark = kino__overlay_add_mark(w->overlay, KINO__STR("\"critical\": 1"));
    for (size_t i = 0; marked && i < kino__table_row_count(path); i++)
        marked[row_of(w, kino__table_int(path, i, KINO__PATH_EVENT))] = mark;
    if (!marked || w->options->all_events || w->options->all_edges ||
        kino__table_row_count(path) == 0)
        return marked != NULL;
    uint8_t *kept = w->overlay->is_kept = calloc((size_t)trace->event_count + 1, 1);
    for (uint32_t row = 0; kept && row < trace->event_count; row++)
        kept[row] = marked[row] || stays_anyway(trace, row);
    return kept != NULL;
}

/* -- a trace, and the run -- */

static bool number_rows(work *w)
{
    const kino__trace *trace = w->trace;
    w->row_of_number = kino__overlay_rows_new(trace);
    if (w->is_compat)
        w->device = kino__args_int_column(trace, "device");
    return w->row_of_number && (w->device || !w->is_compat);
}

static bool draw(work *w, const kino_result *result)
{
    const kino__table *path = kino__analysis_table(result, KINO__CRITICAL_TABLE_PATH);
    const kino__table *parts = kino__analysis_table(result, KINO__CRITICAL_TABLE_BREAKDOWN);
    const kino__table *nodes = kino__analysis_table(result, KINO__CRITICAL_TABLE_NODES);
    const kino__table *edges = kino__analysis_table(result, KINO__CRITICAL_TABLE_EDGES);
    if (!path || !parts || !nodes || !edges || !number_rows(w) || !choose_events(w, path))
        return false;
    if (w->options->all_edges)
        return add_all_arrows(w, path, nodes, edges);
    add_path_arrows(w, path, parts);
    return true;
}

/* The path of one trace; a trace without the region stays as it is: *is_found is false. */
static kino_status find_path(const kino_run *run, const work *w, kino_result **out, bool *is_found,
                             kino_error *err)
{
    size_t count = w->options->param_count;
    kino_param *params = calloc(count + 1, sizeof *params);
    if (!params)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        params[i] = w->options->params[i];
    params[count] = (kino_param){"graph", w->options->all_edges ? "yes" : "no"};
    kino_status st = kino__overlay_analyze(run, w->trace, &kino__analysis_critical_path, params,
                                           count + 1, out, err);
    free(params);
    *is_found = st == KINO_OK;
    if (st != KINO_NOT_FOUND)
        return st;
    kino__derived_run_warn(w->out, KINO__NO_HINT, "%s: not changed: %s",
                           kino__trace_title(&w->out->arena, w->trace), err ? err->message : "");
    return KINO_OK;
}

static kino_status overlay_trace(const kino_run *run, work *w, bool *is_found,
                                 kino__progress *progress, kino_error *err)
{
    kino_result *result = NULL;
    KINO_TRY(find_path(run, w, &result, is_found, err));
    kino_status st = KINO_OK;
    if (result && !draw(w, result))
        st = kino__fail_nomem(err);
    if (result)
        kino__overlay_warn(w->out, result);
    if (st == KINO_OK && !kino__progress_add(progress, w->trace->event_count))
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    if (st == KINO_OK)
        st = kino__overlay_finish(w->out, w->trace, w->overlay, progress, err);
    kino_result_free(result);
    kino__buffer_deinit(&w->args);
    free(w->row_of_number);
    return st;
}

static kino_status overlay_all(kino_run *run, kino_run *made, const void *given, kino_error *err)
{
    const kino_critical_overlay_options *options = given;
    bool is_compat = false, has_path = false;
    for (size_t i = 0; i < options->param_count; i++)
        is_compat |= strcmp(options->params[i].name, "compat") == 0;
    kino__progress progress;
    kino__progress_init(&progress, options->progress, options->progress_context);
    kino__progress_stage(&progress, "finding the critical path",
                         2 * kino__run_event_count(run)); /* then copying */
    for (size_t i = 0; i < run->run.traces.count; i++) {
        work w = {.out = made,
                  .trace = run->run.traces.items[i],
                  .overlay = kino__overlay_of(made, i),
                  .options = options,
                  .is_compat = is_compat};
        bool is_found;
        KINO_TRY(overlay_trace(run, &w, &is_found, &progress, err));
        has_path |= is_found;
    }
    return has_path ? KINO_OK : KINO_NOT_FOUND; /* err says what was not found in the last one */
}

kino_status kino_run_overlay_critical_path(kino_run *run,
                                           const kino_critical_overlay_options *options,
                                           kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_critical_overlay_options given = KINO_CRITICAL_OVERLAY_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    return kino__overlay_make(run, overlay_all, &given, out, err);
}
