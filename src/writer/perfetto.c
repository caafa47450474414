/* perfetto.c - a trace as Perfetto's protobuf: TrackEvents with interned texts, by time, for
 * Perfetto's user interface and trace processor. docs/formats/perfetto.md. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "writer/perfetto_writer_internal.h"

enum { FLUSH_SIZE = 1 << 20, PROGRESS_STEP = 1 << 14 };

/* -- what comes first -- */

/* Times are ns since 1970 where the trace knows; BOOTTIME and REALTIME are then the same. */
static void write_clocks(kino__perfetto_out *out)
{
    int64_t base = out->trace->base_ns;
    if (base <= 0)
        return;
    size_t packet = kino__perfetto_packet_begin(out);
    kino__proto_put_int(&out->packets, 8, base);
    kino__proto_put_uint(&out->packets, 10, 1);
    size_t snapshot = kino__proto_begin(&out->packets, 6);
    for (int i = 0; i < 2; i++) {
        size_t clock = kino__proto_begin(&out->packets, 1);
        kino__proto_put_uint(&out->packets, 1, i ? 1 : 6);
        kino__proto_put_int(&out->packets, 2, base);
        kino__proto_end(&out->packets, clock);
    }
    kino__proto_put_uint(&out->packets, 2, 6);
    kino__proto_end(&out->packets, snapshot);
    kino__proto_end(&out->packets, packet);
}

static void write_keys(kino__perfetto_out *out)
{
    const kino__trace *trace = out->trace;
    kino__perfetto_attribute(out, "kino.version", KINO__STR("1"));
    if (out->shift) {
        char text[KINO__DECIMAL_MAX];
        kino__perfetto_attribute(out, "kino.shift",
                                 (kino_str){text, kino__format_int(out->shift, text)});
    }
    for (size_t i = 0; i < trace->metadata.count && !out->packets.failed; i++) {
        if (kino__str_is(trace->metadata.items[i].key, "perfetto"))
            continue; /* the reader's own count of packets */
        kino__buffer key = {0};
        kino__buffer_add(&key, KINO__STR("kino.key."));
        kino__buffer_add(&key, trace->metadata.items[i].key);
        kino__buffer_add(&key, (kino_str){"", 1}); /* its end */
        if (!key.failed)
            kino__perfetto_attribute(out, key.data, trace->metadata.items[i].value);
        out->failed |= key.failed;
        kino__buffer_deinit(&key);
    }
}

static void write_flow_kinds(kino__perfetto_out *out)
{
    for (size_t i = 0; i < out->flow_kinds; i++) {
        kino__perfetto_attribute(out, "kino.flow.name",
                                 kino__trace_string(out->trace, out->flow_names[i]));
        kino__perfetto_attribute(out, "kino.flow.category",
                                 kino__trace_category_text(out->trace, out->flow_categories[i]));
    }
}

/* -- all of it -- */

static kino_status flush(kino__perfetto_out *out, size_t least, kino_error *err)
{
    if (out->failed || out->packets.failed || out->args.failed || out->interned.failed ||
        out->scratch.failed || out->nested.failed)
        return kino__fail_nomem(err);
    if (out->packets.size <= least)
        return KINO_OK;
    kino_status st = kino__sink_write(out->sink, kino__buffer_str(&out->packets), err);
    out->packets.size = 0;
    return st;
}

static kino_status write_events(kino__perfetto_out *out, kino_error *err)
{
    kino__progress_stage(out->progress, "writing", out->plan.count);
    for (size_t i = 0; i < out->plan.count; i++) {
        kino__perfetto_write_event(out, &out->plan.items[i]);
        KINO_TRY(flush(out, FLUSH_SIZE, err));
        if (i % PROGRESS_STEP == 0 && !kino__progress_add(out->progress, PROGRESS_STEP))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    return flush(out, 0, err);
}

static kino_status write_all(kino__perfetto_out *out, kino_error *err)
{
    int64_t start, end;
    if (kino__trace_window(out->trace, &start, &end) && kino__perfetto_time(out, start) < 0)
        out->shift = -kino__perfetto_time(out, start);
    kino__perfetto_plan_flows(out);
    write_clocks(out);
    write_keys(out);
    write_flow_kinds(out);
    kino__perfetto_write_tracks(out);
    KINO_TRY(flush(out, 0, err));
    kino__perfetto_make_plan(out);
    KINO_TRY(flush(out, FLUSH_SIZE, err));
    return write_events(out, err);
}

static bool init(kino__perfetto_out *out)
{
    enum { FLOW_KINDS = 256 };
    kino__text_cursor_init(&out->cursor, out->trace->text);
    kino__map_init(&out->series_of, NULL);
    kino__arena_init(&out->arena, NULL);
    for (int i = 0; i < KINO__PERFETTO_INTERNS; i++)
        kino__string_pool_init(&out->pools[i], NULL);
    out->is_carried = calloc((size_t)out->trace->event_count / 8 + 1, 1);
    out->flow_names = calloc(FLOW_KINDS, sizeof *out->flow_names);
    out->flow_categories = calloc(FLOW_KINDS, sizeof *out->flow_categories);
    return out->is_carried && out->flow_names && out->flow_categories;
}

static void deinit(kino__perfetto_out *out)
{
    kino__text_cursor_deinit(&out->cursor);
    kino__map_deinit(&out->series_of);
    kino__arena_deinit(&out->arena);
    for (int i = 0; i < KINO__PERFETTO_INTERNS; i++)
        kino__string_pool_deinit(&out->pools[i]);
    kino__buffer_deinit(&out->packets);
    kino__buffer_deinit(&out->scratch);
    kino__buffer_deinit(&out->args);
    kino__buffer_deinit(&out->interned);
    kino__buffer_deinit(&out->nested);
    kino__vec_deinit(&out->plan);
    kino__vec_deinit(&out->carried);
    kino__vec_deinit(&out->series);
    kino__vec_deinit(&out->pids);
    free(out->is_carried);
    free(out->flow_names);
    free(out->flow_categories);
}

static kino_status write_trace(const kino__run *run, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    if (run->traces.count != 1)
        return kino__fail(err, KINO_ARGUMENT, "has %zu traces; select one with --rank",
                          run->traces.count);
    kino__perfetto_out out = {
        .trace = run->traces.items[0], .sink = sink, .progress = context->progress};
    kino_status st = init(&out) ? write_all(&out, err) : kino__fail_nomem(err);
    deinit(&out);
    return st;
}

const kino__writer_def kino__writer_perfetto = {
    .name = "perfetto",
    .suffix = ".pftrace",
    .other_suffix = ".perfetto-trace",
    .help = "Perfetto's protobuf, for ui.perfetto.dev",
    .is_compressible = true,
    .write = write_trace,
};
