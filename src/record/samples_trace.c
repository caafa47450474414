/* samples_trace.c - samples as events of a builder. */
#include "record/samples_trace.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json_out.h"

void kino__samples_trace_init(kino__samples_trace *trace, int32_t pid, int64_t base_ns,
                              int64_t offset_ns, const kino__symbols *symbols)
{
    *trace = (kino__samples_trace){
        .pid = pid, .base_ns = base_ns, .offset_ns = offset_ns, .symbols = symbols};
    kino__map_init(&trace->by_function, NULL);
}

void kino__samples_trace_deinit(kino__samples_trace *trace)
{
    kino_builder_free(trace->builder);
    trace->builder = NULL;
    kino__vec_deinit(&trace->functions);
    kino__map_deinit(&trace->by_function);
}

/* The builder; NULL: memory is out. */
static kino_builder *need_builder(kino__samples_trace *trace)
{
    char name[32];
    kino_builder_options options = KINO_BUILDER_OPTIONS_INIT;
    (void)snprintf(name, sizeof name, "samples-%d", trace->pid);
    options.name = name;
    options.base_ns = trace->base_ns;
    if (!trace->builder && !trace->failed)
        trace->failed = kino_builder_new(&options, &trace->builder, NULL) != KINO_OK;
    return trace->failed ? NULL : trace->builder;
}

static kino_strid text_of(kino__samples_trace *trace, const char *text)
{
    return kino_builder_text(trace->builder, text);
}

static uint32_t track_of(kino__samples_trace *trace, int32_t tid, const char *track)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%d %s", tid, track);
    return kino_builder_track(trace->builder, kino_label_number(trace->pid),
                              kino_label_text(text_of(trace, text)));
}

/* Times that make no sense are left out; nothing else can be wrong with an event. */
static void add(kino__samples_trace *trace, const kino_builder_event *event)
{
    trace->failed |= kino_builder_add(trace->builder, event) == KINO_NOMEM;
}

static kino_builder_event span_of(kino__samples_trace *trace, const char *category,
                                  int64_t start_ns, int64_t end_ns)
{
    kino_builder_event event = KINO_BUILDER_EVENT_INIT;
    event.category = text_of(trace, category);
    event.ts_ns = start_ns + trace->offset_ns;
    event.dur_ns = end_ns - start_ns;
    return event;
}

static void add_arg(kino__samples_trace *trace, const char *key, const char *value)
{
    kino_builder_arg_text(trace->builder, text_of(trace, key), text_of(trace, value));
}

/* -- functions: their texts once */

static kino__samples_function make_function(kino__samples_trace *trace, uint32_t number)
{
    kino_builder *b = trace->builder;
    kino__symbol_function about = kino__symbols_function(trace->symbols, number);
    if (about.file != KINO_NO_STRING)
        kino_builder_arg_text(b, text_of(trace, "file"),
                              kino_builder_str(b, kino__symbols_text(trace->symbols, about.file)));
    kino_builder_arg_text(b, text_of(trace, "module"),
                          kino_builder_str(b, kino__symbols_text(trace->symbols, about.module)));
    return (kino__samples_function){
        .name = kino_builder_str(b, kino__symbols_text(trace->symbols, about.name)),
        .args = kino_builder_share_args(b)};
}

static kino__samples_function function_of(kino__samples_trace *trace, uint32_t number)
{
    const kino__samples_function none = {KINO_NO_STRING, 0};
    uint32_t *at = kino__map_put(&trace->by_function, number, UINT32_MAX);
    if (at && *at != UINT32_MAX)
        return trace->functions.items[*at];
    kino__samples_function *slot = at ? kino__vec_add(&trace->functions) : NULL;
    trace->failed |= !slot;
    if (!slot)
        return none;
    *at = (uint32_t)trace->functions.count - 1;
    return *slot = make_function(trace, number);
}

/* -- events */

void kino__samples_trace_span(kino__samples_trace *trace, int32_t tid, const char *track,
                              const char *category, const kino__sample_span *span,
                              const char *state)
{
    kino_builder *b = need_builder(trace);
    if (!b)
        return;
    kino__samples_function function = function_of(trace, span->function);
    kino_builder_event event = span_of(trace, category, span->start_ns, span->end_ns);
    event.track = track_of(trace, tid, track);
    event.name = function.name;
    event.args = function.args;
    if (span->line)
        kino_builder_arg_uint(b, text_of(trace, "line"), span->line);
    if (state)
        add_arg(trace, "state", state);
    else
        kino_builder_arg_uint(b, text_of(trace, "samples"), span->samples);
    add(trace, &event);
}

void kino__samples_trace_wait(kino__samples_trace *trace, int32_t tid, const char *state,
                              int64_t start_ns, int64_t end_ns)
{
    if (!need_builder(trace))
        return;
    kino_builder_event event = span_of(trace, "off_cpu", start_ns, end_ns);
    event.track = track_of(trace, tid, "off-CPU");
    event.name = text_of(trace, state);
    add_arg(trace, "state", state);
    add(trace, &event);
}

static void count_faults(kino__samples_trace *trace, int64_t time_ns, uint64_t total)
{
    kino_builder_event event = KINO_BUILDER_EVENT_INIT;
    event.phase = 'C';
    event.name = text_of(trace, "page faults");
    event.track =
        kino_builder_track(trace->builder, kino_label_number(trace->pid), kino_label_none());
    event.ts_ns = time_ns + trace->offset_ns;
    kino_builder_arg_uint(trace->builder, text_of(trace, "faults"), total);
    add(trace, &event);
}

void kino__samples_trace_fault(kino__samples_trace *trace, int32_t tid, int64_t time_ns,
                               uint64_t address, uint64_t faults, uint64_t total,
                               kino__symbol_frame frame)
{
    kino_builder *b = need_builder(trace);
    char text[32];
    if (!b)
        return;
    kino__samples_function function = function_of(trace, frame.function);
    kino_builder_event event = span_of(trace, "page_fault", time_ns, time_ns);
    event.phase = 'i';
    event.name = text_of(trace, "page fault");
    event.track = track_of(trace, tid, "samples");
    event.args = function.args;
    kino_builder_arg_text(b, text_of(trace, "function"), function.name);
    if (frame.line)
        kino_builder_arg_uint(b, text_of(trace, "line"), frame.line);
    (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
    add_arg(trace, "address", text);
    kino_builder_arg_uint(b, text_of(trace, "faults"), faults);
    add(trace, &event);
    count_faults(trace, time_ns, total);
}

void kino__samples_trace_run(kino__samples_trace *trace, uint32_t processor, kino_str name,
                             int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns)
{
    kino_builder *b = need_builder(trace);
    if (!b)
        return;
    kino_builder_event event = span_of(trace, "cpu_run", start_ns, end_ns);
    event.name = kino_builder_str(b, name);
    event.track = kino_builder_track(b, kino_label_text(text_of(trace, "processors")),
                                     kino_label_number(processor));
    kino_builder_arg_int(b, text_of(trace, "pid"), pid);
    kino_builder_arg_int(b, text_of(trace, "tid"), tid);
    add(trace, &event);
}

/* -- names, and what is known at the end */

static void name_track(kino__samples_trace *trace, uint32_t track, kino_str name)
{
    kino_builder *b = trace->builder;
    trace->failed |= kino_builder_name_thread(b, track, kino_builder_str(b, name)) != KINO_OK;
}

void kino__samples_trace_name_track(kino__samples_trace *trace, int32_t tid, const char *track,
                                    kino_str thread_name)
{
    if (need_builder(trace))
        name_track(trace, track_of(trace, tid, track), thread_name);
}

void kino__samples_trace_name_processor(kino__samples_trace *trace, uint32_t processor)
{
    kino_builder *b = need_builder(trace);
    char name[32];
    int size = snprintf(name, sizeof name, "CPU %u", processor);
    if (b)
        name_track(trace,
                   kino_builder_track(b, kino_label_text(text_of(trace, "processors")),
                                      kino_label_number(processor)),
                   (kino_str){name, (size_t)size});
}

static void add_count(kino__json *json, const char *key, uint64_t count)
{
    kino__json_key(json, key);
    kino__json_uint(json, count);
}

static void write_sampling(const kino__samples_end *end, kino__json *json)
{
    kino__json_begin_object(json);
    if (end->period_ns)
        add_count(json, "period_ns", (uint64_t)end->period_ns);
    kino__json_key(json, "stacks");
    kino__json_text(json, end->stacks);
    add_count(json, "samples", end->samples);
    add_count(json, "broken", end->broken);
    if (end->broken_in.size) {
        kino__json_key(json, "broken_in");
        kino__json_string(json, end->broken_in);
    }
    kino__json_end_object(json);
}

static void write_loss(const kino__samples_end *end, kino__json *json)
{
    kino__json_begin_object(json);
    if (end->lost)
        add_count(json, "buffer_full", end->lost);
    if (end->damaged)
        add_count(json, "damaged", end->damaged);
    kino__json_end_object(json);
}

static void add_key(kino__samples_trace *trace, const char *key, const kino__samples_end *end,
                    void (*write)(const kino__samples_end *end, kino__json *json))
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    write(end, &json);
    trace->failed |= text.failed;
    if (!text.failed)
        kino_builder_metadata(trace->builder, key, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

kino_builder *kino__samples_trace_take(kino__samples_trace *trace, const kino__samples_end *end)
{
    kino_builder *b = trace->builder;
    if (!b || trace->failed)
        return NULL;
    if (trace->pid) /* processors: their id is their name */
        trace->failed |= kino_builder_name_process(b, kino_label_number(trace->pid),
                                                   kino_builder_str(b, end->name)) != KINO_OK;
    kino_builder_metadata(b, "schemaVersion", KINO__STR("1"));
    kino_builder_metadata(b, "displayTimeUnit", KINO__STR("\"ms\""));
    add_key(trace, "kino_sampling", end, write_sampling);
    add_key(trace, "kino_loss", end, write_loss);
    trace->builder = NULL;
    return b;
}
