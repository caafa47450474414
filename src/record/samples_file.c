/* samples_file.c - writing samples as Chrome JSON. */
#include "record/samples_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json_out.h"

enum { FLUSH_BYTES = 256 * 1024 };

void kino__samples_texts_init(kino__samples_texts *texts, const kino__symbols *symbols)
{
    *texts = (kino__samples_texts){.symbols = symbols};
    kino__arena_init(&texts->arena, NULL);
}

void kino__samples_texts_deinit(kino__samples_texts *texts)
{
    kino__vec_deinit(&texts->names);
    kino__vec_deinit(&texts->args);
    kino__arena_deinit(&texts->arena);
}

static bool make_texts(kino__samples_texts *texts, uint32_t function)
{
    kino__symbol_function about = kino__symbols_function(texts->symbols, function);
    kino__buffer text = {0};
    kino__json_add_string(&text, kino__symbols_text(texts->symbols, about.name));
    size_t name_size = text.size;
    if (about.file != KINO_NO_STRING) {
        kino__buffer_add(&text, KINO__STR("\"file\":"));
        kino__json_add_string(&text, kino__symbols_text(texts->symbols, about.file));
        kino__buffer_add(&text, KINO__STR(","));
    }
    kino__buffer_add(&text, KINO__STR("\"module\":"));
    kino__json_add_string(&text, kino__symbols_text(texts->symbols, about.module));
    kino_str copy = {NULL, 0};
    if (!text.failed)
        copy = kino__arena_copy(&texts->arena, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    if (!copy.data)
        return false;
    texts->names.items[function] = (kino_str){copy.data, name_size};
    texts->args.items[function] = (kino_str){copy.data + name_size, copy.size - name_size};
    return true;
}

/* Makes sure that both texts of the function are there. */
static bool need_texts(kino__samples_texts *texts, uint32_t function)
{
    while (texts->names.count <= function) {
        kino_str *name = kino__vec_add(&texts->names);
        kino_str *args = kino__vec_add(&texts->args);
        if (!name || !args)
            return false;
        *name = *args = (kino_str){NULL, 0};
    }
    return texts->names.items[function].data || make_texts(texts, function);
}

bool kino__samples_file_init(kino__samples_file *file, const char *path, int32_t pid,
                             int64_t offset_ns, kino__samples_texts *texts)
{
    *file = (kino__samples_file){.pid = pid, .offset_ns = offset_ns, .texts = texts};
    file->path = strdup(path);
    return file->path != NULL;
}

void kino__samples_file_deinit(kino__samples_file *file)
{
    (void)kino__sink_close(file->sink, false, NULL);
    file->sink = NULL;
    kino__buffer_deinit(&file->out);
    free(file->path);
    file->path = NULL;
}

static void flush(kino__samples_file *file)
{
    if (file->status == KINO_OK && file->out.failed)
        file->status = kino__fail_nomem(&file->err);
    if (file->status == KINO_OK && !file->sink)
        file->status = kino__file_sink_open(file->path, &file->sink, &file->err);
    if (file->status == KINO_OK)
        file->status = kino__sink_write(file->sink, kino__buffer_str(&file->out), &file->err);
    file->out.size = 0;
}

static void begin_event(kino__samples_file *file)
{
    if (file->out.size > FLUSH_BYTES)
        flush(file);
    kino__buffer_add(&file->out, file->events++ ? KINO__STR(",\n")
                                                : KINO__STR("{\"schemaVersion\":1,\"displayTimeUnit"
                                                            "\":\"ms\",\"traceEvents\":[\n"));
}

/* Microseconds with three decimals: exact. */
static void add_time(kino__samples_file *file, const char *key, int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    kino__buffer_printf(&file->out, ",\"%s\":%s%" PRIu64 ".%03u", key, sign, size / 1000,
                        (unsigned)(size % 1000));
}

static void add_track(kino__samples_file *file, int32_t tid, const char *track)
{
    kino__buffer_printf(&file->out, ",\"pid\":%d,\"tid\":\"%d %s\"", file->pid, tid, track);
}

static void add_args(kino__samples_file *file, uint32_t function, uint32_t line)
{
    kino__buffer_add(&file->out, file->texts->args.items[function]);
    if (line)
        kino__buffer_printf(&file->out, ",\"line\":%u", line);
}

void kino__samples_file_span(kino__samples_file *file, int32_t tid, const char *track,
                             const char *category, const kino__sample_span *span, const char *state)
{
    if (!need_texts(file->texts, span->function)) {
        file->status = kino__fail_nomem(&file->err);
        return;
    }
    begin_event(file);
    kino__buffer_printf(&file->out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category);
    kino__buffer_add(&file->out, file->texts->names.items[span->function]);
    add_track(file, tid, track);
    add_time(file, "ts", span->start_ns + file->offset_ns);
    add_time(file, "dur", span->end_ns - span->start_ns);
    kino__buffer_add(&file->out, KINO__STR(",\"args\":{"));
    add_args(file, span->function, span->line);
    if (state)
        kino__buffer_printf(&file->out, ",\"state\":\"%s\"}}", state);
    else
        kino__buffer_printf(&file->out, ",\"samples\":%" PRIu64 "}}", span->samples);
}

void kino__samples_file_wait(kino__samples_file *file, int32_t tid, const char *state,
                             int64_t start_ns, int64_t end_ns)
{
    begin_event(file);
    kino__buffer_printf(&file->out, "{\"ph\":\"X\",\"cat\":\"off_cpu\",\"name\":\"%s\"", state);
    add_track(file, tid, "off-CPU");
    add_time(file, "ts", start_ns + file->offset_ns);
    add_time(file, "dur", end_ns - start_ns);
    kino__buffer_printf(&file->out, ",\"args\":{\"state\":\"%s\"}}", state);
}

void kino__samples_file_fault(kino__samples_file *file, int32_t tid, int64_t time_ns,
                              uint64_t address, uint64_t faults, uint64_t total,
                              kino__symbol_frame frame)
{
    if (!need_texts(file->texts, frame.function)) {
        file->status = kino__fail_nomem(&file->err);
        return;
    }
    begin_event(file);
    kino__buffer_add(&file->out,
                     KINO__STR("{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"page_fault\",\"name\":"
                               "\"page fault\""));
    add_track(file, tid, "samples");
    add_time(file, "ts", time_ns + file->offset_ns);
    kino__buffer_add(&file->out, KINO__STR(",\"args\":{\"function\":"));
    kino__buffer_add(&file->out, file->texts->names.items[frame.function]);
    kino__buffer_add(&file->out, KINO__STR(","));
    add_args(file, frame.function, frame.line);
    kino__buffer_printf(&file->out, ",\"address\":\"0x%" PRIx64 "\",\"faults\":%" PRIu64 "}}",
                        address, faults);
    begin_event(file);
    kino__buffer_printf(&file->out, "{\"ph\":\"C\",\"name\":\"page faults\",\"pid\":%d", file->pid);
    add_time(file, "ts", time_ns + file->offset_ns);
    kino__buffer_printf(&file->out, ",\"args\":{\"faults\":%" PRIu64 "}}", total);
}

void kino__samples_file_track_name(kino__samples_file *file, int32_t tid, const char *track,
                                   kino_str thread_name)
{
    begin_event(file);
    kino__buffer_add(&file->out, KINO__STR("{\"ph\":\"M\",\"name\":\"thread_name\""));
    add_track(file, tid, track);
    kino__buffer_add(&file->out, KINO__STR(",\"args\":{\"name\":"));
    kino__json_add_string(&file->out, thread_name);
    kino__buffer_add(&file->out, KINO__STR("}}"));
}

void kino__samples_file_run(kino__samples_file *file, uint32_t processor, kino_str name,
                            int32_t pid, int32_t tid, int64_t start_ns, int64_t end_ns)
{
    begin_event(file);
    kino__buffer_add(&file->out, KINO__STR("{\"ph\":\"X\",\"cat\":\"cpu_run\",\"name\":"));
    kino__json_add_string(&file->out, name);
    kino__buffer_printf(&file->out, ",\"pid\":\"processors\",\"tid\":%u", processor);
    add_time(file, "ts", start_ns + file->offset_ns);
    add_time(file, "dur", end_ns - start_ns);
    kino__buffer_printf(&file->out, ",\"args\":{\"pid\":%d,\"tid\":%d}}", pid, tid);
}

void kino__samples_file_processor_name(kino__samples_file *file, uint32_t processor)
{
    begin_event(file);
    kino__buffer_printf(&file->out,
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":\"processors\",\"tid\":"
                        "%u,\"args\":{\"name\":\"CPU %u\"}}",
                        processor, processor);
}

static void add_process_name(kino__samples_file *file, kino_str name)
{
    if (!file->pid) /* processors: their id is their name */
        return;
    begin_event(file);
    kino__buffer_printf(
        &file->out,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":", file->pid);
    kino__json_add_string(&file->out, name);
    kino__buffer_add(&file->out, KINO__STR("}}"));
}

static void add_end(kino__samples_file *file, const kino__samples_end *end)
{
    kino__json json = {.out = &file->out};
    kino__buffer_add(&file->out, KINO__STR("\n],\"kino_sampling\":"));
    kino__json_begin_object(&json);
    if (end->period_ns) {
        kino__json_key(&json, "period_ns");
        kino__json_int(&json, end->period_ns);
    }
    kino__json_key(&json, "stacks");
    kino__json_text(&json, end->stacks);
    kino__json_key(&json, "samples");
    kino__json_uint(&json, end->samples);
    kino__json_key(&json, "broken");
    kino__json_uint(&json, end->broken);
    if (end->broken_in.size) {
        kino__json_key(&json, "broken_in");
        kino__json_string(&json, end->broken_in);
    }
    kino__json_end_object(&json);
    kino__buffer_add(&file->out, KINO__STR(",\"kino_loss\":"));
    json = (kino__json){.out = &file->out};
    kino__json_begin_object(&json);
    if (end->lost) {
        kino__json_key(&json, "buffer_full");
        kino__json_uint(&json, end->lost);
    }
    if (end->damaged) {
        kino__json_key(&json, "damaged");
        kino__json_uint(&json, end->damaged);
    }
    kino__json_end_object(&json);
    kino__buffer_printf(&file->out, ",\"baseTimeNanoseconds\":%" PRId64 "}\n", end->base_ns);
}

kino_status kino__samples_file_close(kino__samples_file *file, const kino__samples_end *end,
                                     kino_error *err)
{
    add_process_name(file, end->name);
    add_end(file, end);
    flush(file);
    if (file->status == KINO_OK) {
        file->status = kino__sink_close(file->sink, true, &file->err);
        file->sink = NULL;
    }
    kino__buffer_deinit(&file->out);
    if (file->status != KINO_OK && err)
        *err = file->err;
    return file->status;
}
