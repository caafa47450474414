/* counters.c - a run with counters that its events imply: the trace with counter tracks.
 *
 *   Queue Length            of each stream: launches up, starts of their work down (queue.h)
 *   Memcpy HtoD, Memset...  memory traffic by kind, of the analysis memory-bandwidth
 *   GPU n Utilization       share of time with a kernel at work, of the analysis overview
 *   GPU n Memory Allocated  what the allocator told in [memory] events
 *
 * The first two are what HTA adds, and all there is with compat. A counter that the trace has
 * already is not made again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/queue/queue.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/sized.h"
#include "store/args.h"
#include "transform/overlay.h"

typedef struct work {
    const kino_run *run;
    kino_run *out;
    kino__trace *trace;
    kino__overlay *overlay;
    kino__frame_mode mode;
    kino_counter_options options;
    uint8_t *is_counter;     /* of each string: a counter of the trace is called that */
    kino__map device_tracks; /* number of a device -> its first track */
    kino__buffer args, text;
} work;

static bool is_compat(const work *w)
{
    return w->mode != KINO__FRAME_DEFAULT;
}

/* -- one event -- */

/* {"key": value} */
static kino_str args_of(work *w, const char *key, double value, int64_t integer)
{
    kino__json json = {.out = &w->args};
    w->args.size = 0;
    kino__json_begin_object(&json);
    kino__json_key(&json, key);
    if (integer != KINO_NO_INT)
        kino__json_int(&json, integer);
    else
        kino__json_double(&json, value);
    kino__json_end_object(&json);
    w->overlay->failed |= w->args.failed;
    return kino__buffer_str(&w->args);
}

/* A counter of a track, or of its process. */
static kino__derive_event counter(const work *w, kino_str name, int64_t ts, uint32_t track,
                                  bool is_of_process)
{
    const kino__track *of = &w->trace->tracks.items[track];
    uint8_t quotes = KINO__FLAG_PID_TEXT | (is_of_process ? 0 : KINO__FLAG_TID_TEXT);
    uint8_t flags = of->count ? w->trace->flags[of->first] : 0; /* nothing may be left on it */
    return (kino__derive_event){.ts = ts,
                                .id = KINO_NO_INT,
                                .name = name,
                                .track = track,
                                .is_of_process = is_of_process,
                                .phase = 'C',
                                .flags = flags & quotes};
}

/* The text of a counter with an id, for which there is no column. */
static kino_str text_with_id(work *w, const kino__derive_event *event, int64_t id, kino_str args)
{
    const kino__track *track = &w->trace->tracks.items[event->track];
    char number[KINO__DECIMAL_MAX];
    kino__buffer *b = &w->text;
    b->size = 0;
    kino__buffer_printf(b, "{\"ph\": \"C\", \"id\": %" PRId64 ", \"name\": ", id);
    kino__json_add_string(b, event->name);
    kino__buffer_add(b, KINO__STR(", \"pid\": "));
    kino__overlay_add_label(b, w->trace, &track->pid, event->flags & KINO__FLAG_PID_TEXT);
    if (!event->is_of_process) {
        kino__buffer_add(b, KINO__STR(", \"tid\": "));
        kino__overlay_add_label(b, w->trace, &track->tid, event->flags & KINO__FLAG_TID_TEXT);
    }
    kino__buffer_add(b, KINO__STR(", \"ts\": "));
    int64_t ts = kino__overlay_file_time(w->trace, event->ts);
    kino__buffer_add(b, (kino_str){number, kino__format_us(ts, number)});
    kino__buffer_add(b, KINO__STR(", \"args\": "));
    kino__buffer_add(b, args);
    kino__buffer_add(b, KINO__STR("}"));
    w->overlay->failed |= b->failed;
    return kino__buffer_str(b);
}

/* -- counters that are there already -- */

static bool find_counters(work *w)
{
    const kino__trace *trace = w->trace;
    w->is_counter = calloc(kino__string_pool_count(&trace->strings) + 1, 1);
    for (uint32_t row = 0; w->is_counter && row < trace->event_count; row++)
        if (trace->phase[row] == 'C' && trace->name[row] != KINO_NO_STRING)
            w->is_counter[trace->name[row]] = 1;
    return w->is_counter != NULL;
}

/* HTA does not look. */
static bool has_counter(const work *w, kino_str name)
{
    kino_strid id =
        is_compat(w) ? KINO_NO_STRING : kino__string_pool_find(&w->trace->strings, name);
    return id != KINO_NO_STRING && w->is_counter[id];
}

/* -- queue lengths -- */

/* On the stream itself, so that SQL tells streams apart; HTA puts them on the process. */
static void add_queue_points(work *w, const kino__frame *f, const kino__queue *queue)
{
    const kino_str name = KINO__STR("Queue Length");
    for (size_t i = 0; i < queue->points.count; i++) {
        const kino__queue_point *point = &queue->points.items[i];
        uint32_t track = kino__trace_track_of(w->trace, f->row[point->work]);
        int64_t ts = w->trace->ts[f->row[point->at]];
        if (f->mode == KINO__FRAME_HTA) /* as rounded, on the run's clock */
            ts = (int64_t)((uint64_t)point->ts * (uint64_t)f->unit_ns +
                           (uint64_t)w->trace->base_ns - (uint64_t)w->trace->origin_ns);
        kino__derive_event event = counter(w, name, ts, track, is_compat(w));
        kino_str args = args_of(w, "Queue Length", 0, point->length);
        kino__overlay_add(w->overlay, &event, args, text_with_id(w, &event, point->stream, args));
    }
}

/* Only HTA leaves it out. */
static bool has_last_step(const work *w)
{
    return w->options.include_last_step || !w->options.compat;
}

static kino_status add_queues(work *w, kino_error *err)
{
    const kino__frame *f = kino__frame_of(w->trace, w->mode, has_last_step(w), NULL);
    kino__queue queue = {0};
    bool ok = f && kino__queue_make(f, &queue);
    if (ok && !has_counter(w, KINO__STR("Queue Length")))
        add_queue_points(w, f, &queue);
    kino__queue_deinit(&queue);
    if (!ok)
        return kino__frame_explain(w->trace, kino__fail_nomem(err), err);
    if (f->is_cut)
        kino__derived_run_warn(w->out, kino__hint(KINO_HINT_OPTION, "include_last_step", "yes"),
                               "queue lengths and bandwidths end before the last step, as in HTA; "
                               "use " KINO__HERE " to include it");
    return KINO_OK;
}

/* -- memory bandwidth -- */

/* The row of an event that an answer names. */
static uint32_t row_of(const uint32_t *row_of_number, int64_t event)
{
    return row_of_number[(uint32_t)event];
}

static kino_status add_bandwidths(work *w, const uint32_t *rows, kino_error *err)
{
    const kino_param params[] = {
        {"series", "yes"},
        {"include_last_step", has_last_step(w) ? "yes" : "no"},
        {"compat", w->options.compat},
    };
    kino_result *result;
    KINO_TRY(kino__overlay_analyze(w->run, w->trace, &kino__analysis_memory_bandwidth, params,
                                   w->options.compat ? 3 : 2, &result, err));
    const kino__table *table = kino__analysis_table(result, KINO__MEMORY_BANDWIDTH_SERIES);
    for (size_t i = 0; table && i < kino__table_row_count(table); i++) {
        kino__row_room room;
        const kino_cell *cells = kino__table_row(table, i, &room);
        if (has_counter(w, cells[KINO__BANDWIDTH_NAME].value.text))
            continue;
        uint32_t row = row_of(rows, cells[KINO__BANDWIDTH_EVENT].value.integer);
        kino_str name = kino__overlay_name(w->overlay, cells[KINO__BANDWIDTH_NAME].value.text);
        kino__derive_event event = counter(w, name, cells[KINO__BANDWIDTH_TS].value.integer,
                                           kino__trace_track_of(w->trace, row), true);
        kino_str args =
            args_of(w, "Memcpy BW", cells[KINO__BANDWIDTH_VALUE].value.real, KINO_NO_INT);
        kino__overlay_add(w->overlay, &event, args, KINO__STR(""));
    }
    kino_result_free(result);
    return KINO_OK;
}

/* -- utilisation -- */

static bool find_devices(work *w)
{
    bool ok = true;
    kino__map_init(&w->device_tracks, NULL);
    for (uint32_t t = 0; ok && t < w->trace->tracks.count; t++)
        ok = kino__map_put(&w->device_tracks, (uint64_t)w->trace->tracks.items[t].device, t);
    return ok;
}

/* A track of the device; KINO_NO_ROW: it has none. */
static uint32_t device_track(const work *w, int64_t device)
{
    const uint32_t *track = kino__map_get(&w->device_tracks, (uint64_t)device);
    return track ? *track : KINO_NO_ROW;
}

static kino_status add_utilization(work *w, kino_error *err)
{
    kino_result *result;
    KINO_TRY(
        kino__overlay_analyze(w->run, w->trace, &kino__analysis_overview, NULL, 0, &result, err));
    const kino__table *table = kino__analysis_table(result, KINO__OVERVIEW_UTILIZATION);
    for (size_t i = 0; table && i < kino__table_row_count(table); i++) {
        kino__row_room room;
        const kino_cell *cells = kino__table_row(table, i, &room);
        uint32_t track = device_track(w, cells[KINO__UTILIZATION_DEVICE].value.integer);
        char text[64];
        (void)snprintf(text, sizeof text, "GPU %" PRId64 " Utilization",
                       cells[KINO__UTILIZATION_DEVICE].value.integer);
        if (track == KINO_NO_ROW || cells[KINO__UTILIZATION_VALUE].kind != KINO_CELL_FLOAT ||
            has_counter(w, kino__str_from(text)))
            continue;
        kino_str name = kino__overlay_name(w->overlay, kino__str_from(text));
        kino__derive_event event =
            counter(w, name, cells[KINO__UTILIZATION_TIME].value.integer, track, true);
        double share = cells[KINO__UTILIZATION_VALUE].value.real / 100;
        kino__overlay_add(w->overlay, &event, args_of(w, "GPU Utilization", share, KINO_NO_INT),
                          KINO__STR(""));
    }
    kino_result_free(result);
    return KINO_OK;
}

/* -- allocated memory -- */

enum { DEVICE_CPU = 0, DEVICE_CUDA = 1, DEVICE_HIP = 6 };

/* What a [memory] event calls its device. */
static void name_memory(int64_t type, int64_t device, char *out, size_t size)
{
    if (type == DEVICE_CPU)
        (void)snprintf(out, size, "CPU Memory Allocated");
    else if (type == DEVICE_CUDA || type == DEVICE_HIP)
        (void)snprintf(out, size, "GPU %" PRId64 " Memory Allocated", device);
    else
        (void)snprintf(out, size, "Device %" PRId64 ":%" PRId64 " Memory Allocated", type, device);
}

/* Where the counter of a device goes. */
typedef struct memory_place {
    int64_t type, device;
    kino_str name;
    uint32_t track; /* KINO_NO_ROW: that of the event */
    bool is_there;  /* the trace has this counter */
} memory_place;

static memory_place find_place(work *w, int64_t type, int64_t device)
{
    char text[96];
    name_memory(type, device, text, sizeof text);
    return (memory_place){
        .type = type,
        .device = device,
        .name = kino__overlay_name(w->overlay, kino__str_from(text)),
        .track = type == DEVICE_CPU ? KINO_NO_ROW : device_track(w, device),
        .is_there = has_counter(w, kino__str_from(text)),
    };
}

static bool add_allocated(work *w)
{
    kino__trace *trace = w->trace;
    static const char *const keys[] = {"Device Type", "Device Id", "Total Allocated"};
    kino_strid memory = kino__string_pool_find(&trace->strings, KINO__STR("[memory]"));
    if (memory == KINO_NO_STRING)
        return true;
    if (!kino__args_prepare(trace, keys, 3))
        return false;
    const int64_t *type = kino__args_int_column(trace, keys[0]);
    const int64_t *device = kino__args_int_column(trace, keys[1]);
    const int64_t *total = kino__args_int_column(trace, keys[2]);
    if (!type || !device || !total)
        return false;
    memory_place at = {.type = KINO_NO_INT};
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (trace->name[row] != memory || total[row] < 0 || type[row] == KINO_NO_INT ||
            trace->ts[row] == KINO_NO_TIME)
            continue;
        if (type[row] != at.type || device[row] != at.device)
            at = find_place(w, type[row], device[row]);
        if (at.is_there)
            continue;
        uint32_t track = at.track;
        if (track == KINO_NO_ROW)
            track = kino__trace_track_of(trace, row);
        kino__derive_event event = counter(w, at.name, trace->ts[row], track, true);
        kino__overlay_add(w->overlay, &event, args_of(w, "Total Allocated", 0, total[row]),
                          KINO__STR(""));
    }
    return true;
}

/* -- a trace, and the run -- */

static kino_status add_all(work *w, kino_error *err)
{
    uint32_t *rows = kino__overlay_rows_new(w->trace);
    bool ok = rows && find_counters(w) && find_devices(w);
    kino_status st = ok ? add_queues(w, err) : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = add_bandwidths(w, rows, err);
    if (st == KINO_OK && !is_compat(w))
        st = add_utilization(w, err);
    if (st == KINO_OK && !is_compat(w) && !add_allocated(w))
        st = kino__fail_nomem(err);
    if (st == KINO_OK && w->overlay->failed)
        st = kino__fail_nomem(err);
    if (st == KINO_OK && w->overlay->events.count == 0)
        kino__derived_run_warn(
            w->out, KINO__NO_HINT,
            "%s: no counters: it has no device work with launches, no copies and no memory events",
            kino__trace_title(&w->out->arena, w->trace));
    free(rows);
    return st;
}

static kino_status add_to_trace(kino_run *run, kino_run *out, size_t index,
                                const kino_counter_options *options, kino__progress *progress,
                                kino_error *err)
{
    work w = {.run = run,
              .out = out,
              .trace = run->run.traces.items[index],
              .overlay = kino__overlay_of(out, index),
              .options = *options};
    if (options->compat)
        w.mode = strcmp(options->compat, "hta") == 0 ? KINO__FRAME_HTA : KINO__FRAME_HTA_NS;
    kino_status st = add_all(&w, err);
    if (st == KINO_OK && !kino__progress_add(progress, w.trace->event_count))
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    if (st == KINO_OK)
        st = kino__overlay_finish(out, w.trace, w.overlay, progress, err);
    free(w.is_counter);
    kino__map_deinit(&w.device_tracks);
    kino__buffer_deinit(&w.args);
    kino__buffer_deinit(&w.text);
    return st;
}

static kino_status add_to_all(kino_run *run, kino_run *made, const void *given, kino_error *err)
{
    const kino_counter_options *options = given;
    kino__progress progress;
    kino__progress_init(&progress, options->progress, options->progress_context);
    kino__progress_stage(&progress, "counting", 2 * kino__run_event_count(run)); /* then copying */
    for (size_t i = 0; i < run->run.traces.count; i++)
        KINO_TRY(add_to_trace(run, made, i, options, &progress, err));
    return KINO_OK;
}

kino_status kino_run_add_counters(kino_run *run, const kino_counter_options *options,
                                  kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_counter_options given = KINO_COUNTER_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    if (given.compat && strcmp(given.compat, "hta") != 0 && strcmp(given.compat, "hta-ns") != 0)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%s' for compat (expected: hta or hta-ns)", given.compat);
    return kino__overlay_make(run, add_to_all, &given, out, err);
}
