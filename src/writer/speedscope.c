/* speedscope.c - a run as a speedscope file: one evented profile for each track that has spans
 * (docs/formats/speedscope.md).
 *
 * Speedscope wants a table of frames first, and open and close events that nest strictly. So there
 * are two passes: one over the names, one that writes, track by track. A track whose spans overlap
 * without nesting becomes several profiles, one a lane (store/stacks.h). All profiles have the
 * same start and end, so that times can be compared. Memory: the frames, and 16 bytes a span of the
 * largest track. */
#include <stdio.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "writer/writer.h"

enum { FLUSH_BYTES = 1 << 18, PROGRESS_STEP = 4096 };

typedef struct output {
    const kino__run *run;
    const kino__write_context *context;
    kino__sink *sink;
    kino__buffer text; /* not yet in the sink */
    kino__stack_frames frames;
    int64_t start, end; /* of all spans */
    size_t span_count;
    bool by_rank;
    size_t profile_count;
    size_t shown_profile, shown_spans; /* the host track with most spans: what is shown first */
} output;

static kino_status flush(output *o, size_t limit, kino_error *err)
{
    if (o->text.failed)
        return kino__fail_nomem(err);
    if (o->text.size <= limit)
        return KINO_OK;
    kino_status st = kino__sink_write(o->sink, kino__buffer_str(&o->text), err);
    o->text.size = 0;
    return st;
}

static kino_status add_progress(output *o, size_t amount, kino_error *err)
{
    if (kino__progress_add(o->context->progress, amount))
        return KINO_OK;
    return kino__fail(err, KINO_CANCELLED, "interrupted");
}

static void add_int(output *o, kino_str before, int64_t value)
{
    kino__buffer_add(&o->text, before);
    char *to = kino__buffer_reserve(&o->text, KINO__DECIMAL_MAX);
    if (to)
        o->text.size += kino__format_int(value, to);
}

/* ---- first pass: names and times ---- */

static kino_status scan_trace(output *o, const kino__trace *trace, kino_error *err)
{
    if (!kino__stack_frames_start(&o->frames, trace))
        return kino__fail_nomem(err);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (row % PROGRESS_STEP == 0)
            KINO_TRY(add_progress(o, row ? PROGRESS_STEP : 0, err));
        if (!kino__stack_has(trace, row, o->context->stack_kind))
            continue;
        if (kino__stack_frame(&o->frames, row) == KINO_NO_STRING)
            return kino__fail_nomem(err);
        int64_t end = kino__stack_end(trace, row);
        if (o->span_count == 0 || trace->ts[row] < o->start)
            o->start = trace->ts[row];
        if (o->span_count == 0 || end > o->end)
            o->end = end;
        o->span_count++;
    }
    return add_progress(o, trace->event_count % PROGRESS_STEP, err);
}

/* The last part of the path of the only trace; else how many there are. */
static void add_name(output *o)
{
    char count[32];
    kino_str name = {count, 0};
    name.size = (size_t)snprintf(count, sizeof count, "%zu traces", o->run->traces.count);
    if (o->run->traces.count == 1) {
        name = o->run->traces.items[0]->path;
        for (size_t i = name.size; i > 0; i--) {
            if (name.data[i - 1] == '/') {
                name = (kino_str){name.data + i, name.size - i};
                break;
            }
        }
        if (name.size == 0 || kino__str_is(name, "-"))
            name = KINO__STR("trace");
    }
    kino__json_add_string(&o->text, name);
}

static kino_status write_head(output *o, kino_error *err)
{
    kino__buffer_add(&o->text,
                     KINO__STR("{\n\"$schema\": \"https://www.speedscope.app/"
                               "file-format-schema.json\",\n\"exporter\": \"kino\",\n\"name\": "));
    add_name(o);
    kino__buffer_add(&o->text, KINO__STR(",\n\"shared\": {\"frames\": ["));
    for (size_t i = 0; i < kino__string_pool_count(&o->frames.texts); i++) {
        kino__buffer_add(&o->text, i ? KINO__STR(",\n{\"name\": ") : KINO__STR("\n{\"name\": "));
        kino__json_add_string(&o->text, kino__string_pool_text(&o->frames.texts, (kino_strid)i));
        kino__buffer_add(&o->text, KINO__STR("}"));
        KINO_TRY(flush(o, FLUSH_BYTES, err));
    }
    kino__buffer_add(&o->text, KINO__STR("\n]},\n\"profiles\": ["));
    return KINO_OK;
}

/* ---- second pass: profiles ---- */

static void begin_profile(output *o, const kino__trace *trace, const kino__track *track,
                          size_t lane)
{
    kino__buffer name = {0};
    kino__stack_label(trace, track, o->by_rank, &name);
    if (lane)
        kino__buffer_printf(&name, " [overlap %zu]", lane);
    kino__buffer_add(&o->text, o->profile_count ? KINO__STR(",\n") : KINO__STR("\n"));
    kino__buffer_add(&o->text, KINO__STR("{\"type\": \"evented\", \"name\": "));
    kino__json_add_string(&o->text, kino__buffer_str(&name));
    kino__buffer_add(&o->text, KINO__STR(", \"unit\": \"nanoseconds\""));
    add_int(o, KINO__STR(", \"startValue\": "), o->start);
    add_int(o, KINO__STR(", \"endValue\": "), o->end);
    kino__buffer_add(&o->text, KINO__STR(", \"events\": ["));
    o->text.failed |= name.failed;
    o->profile_count++;
    kino__buffer_deinit(&name);
}

static kino_status write_events(output *o, kino__stack_walk *walk, kino_error *err)
{
    kino__stack_event event;
    bool is_first = true;
    size_t reported = 0;
    while (kino__stack_walk_next(walk, &event)) {
        kino__buffer_add(&o->text, is_first ? KINO__STR("\n") : KINO__STR(",\n"));
        is_first = false;
        add_int(o,
                event.is_open ? KINO__STR("{\"type\":\"O\",\"frame\":")
                              : KINO__STR("{\"type\":\"C\",\"frame\":"),
                kino__stack_frame(&o->frames, event.row));
        add_int(o, KINO__STR(",\"at\":"), event.time);
        kino__buffer_add(&o->text, KINO__STR("}"));
        KINO_TRY(flush(o, FLUSH_BYTES, err));
        if (walk->at - reported >= PROGRESS_STEP) {
            KINO_TRY(add_progress(o, walk->at - reported, err));
            reported = walk->at;
        }
    }
    kino__buffer_add(&o->text, KINO__STR("\n]}"));
    return walk->failed ? kino__fail_nomem(err) : add_progress(o, walk->at - reported, err);
}

static kino_status write_track(output *o, const kino__trace *trace, const kino__track *track,
                               kino_error *err)
{
    kino__stack_lanes lanes;
    if (!kino__stack_lanes_init(&lanes, trace, track, o->context->stack_kind))
        return kino__fail_nomem(err);
    if (track->kind != KINO__TRACK_DEVICE && lanes.row_count > o->shown_spans) {
        o->shown_spans = lanes.row_count;
        o->shown_profile = o->profile_count;
    }
    kino_status st = KINO_OK;
    for (size_t lane = 0; lane < lanes.lane_count && st == KINO_OK; lane++) {
        uint32_t first = lanes.starts[lane];
        kino__stack_walk walk = {
            .trace = trace, .rows = lanes.rows + first, .count = lanes.starts[lane + 1] - first};
        begin_profile(o, trace, track, lane);
        st = write_events(o, &walk, err);
        kino__stack_walk_deinit(&walk);
    }
    if (st == KINO_OK)
        st = add_progress(o, track->count - lanes.row_count, err);
    kino__stack_lanes_deinit(&lanes);
    return st;
}

static kino_status write_trace(output *o, const kino__trace *trace, kino_error *err)
{
    if (!kino__stack_frames_start(&o->frames, trace))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < trace->tracks.count; i++)
        KINO_TRY(write_track(o, trace, &trace->tracks.items[i], err));
    return KINO_OK;
}

static kino_status write_all(output *o, kino_error *err)
{
    uint64_t total = 0;
    for (size_t i = 0; i < o->run->traces.count; i++)
        total += o->run->traces.items[i]->event_count;
    kino__progress_stage(o->context->progress, "writing", total * 2);
    for (size_t i = 0; i < o->run->traces.count; i++)
        KINO_TRY(scan_trace(o, o->run->traces.items[i], err));
    if (o->span_count == 0)
        return kino__writer_fail_empty(o->context, err);
    KINO_TRY(write_head(o, err));
    for (size_t i = 0; i < o->run->traces.count; i++)
        KINO_TRY(write_trace(o, o->run->traces.items[i], err));
    add_int(o, KINO__STR("\n],\n\"activeProfileIndex\": "), (int64_t)o->shown_profile);
    kino__buffer_add(&o->text, KINO__STR("\n}\n"));
    return flush(o, 0, err);
}

static kino_status write_run(const kino__run *run, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    output o = {.run = run, .context = context, .sink = sink};
    o.by_rank = kino__stack_ranks_tell(run);
    kino__stack_frames_init(&o.frames, false);
    kino_status st = write_all(&o, err);
    kino__stack_frames_deinit(&o.frames);
    kino__buffer_deinit(&o.text);
    return st;
}

const kino__writer_def kino__writer_speedscope = {
    .name = "speedscope",
    .suffix = ".speedscope.json",
    .help = "stacks over time for speedscope, one profile per thread",
    .is_compressible = true,
    .takes_runs = true,
    .write = write_run,
};
