/* chrome_json.c - a trace as Kineto-compatible Chrome JSON: always valid, streaming, in parallel.
 *
 * Rows are taken in file order, in blocks; workers format blocks into their own buffers while one
 * of them hands the buffers of the round before to the sink, in order:
 *
 *   round n      write 0 1 2 3 of round n-1 | format 0 | format 1 | format 2 | format 3
 *
 * Memory: two rounds of blocks of about 2 MB each, whatever the size of the trace. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "writer/chrome_event.h"
#include "writer/json_text.h"
#include "writer/writer.h"

enum { BLOCK_ROWS = 8192, MIN_BLOCKS = 4 };

typedef struct output {
    const kino__trace *trace;
    kino__sink *sink;
    kino__progress *progress;
    uint32_t *order;                    /* rows in file order */
    kino__chrome_event_writer *writers; /* one a worker */
    kino__buffer *blocks[2];            /* of this round and of the one before */
    size_t block_count;                 /* of a round */
    size_t first_block;                 /* of this round, in the trace */
    size_t filled[2];
    unsigned side;      /* which blocks are being filled */
    bool is_last;       /* the round before had the last event: its comma goes */
    kino_status status; /* of the sink; written by the task that writes, read after the round */
    kino_error error;
} output;

static void format_block(output *o, unsigned worker, size_t index)
{
    kino__buffer *out = &o->blocks[o->side][index];
    size_t first = (o->first_block + index) * BLOCK_ROWS;
    size_t end =
        first + BLOCK_ROWS < o->trace->event_count ? first + BLOCK_ROWS : o->trace->event_count;
    out->size = 0;
    if (kino__progress_is_cancelled(o->progress))
        return;
    for (size_t i = first; i < end; i++)
        kino__chrome_event_write(&o->writers[worker], o->order[i], out);
    (void)kino__progress_add(o->progress, end - first);
}

static void write_round(output *o, unsigned side)
{
    for (size_t i = 0; i < o->filled[side] && o->status == KINO_OK; i++) {
        kino__buffer *block = &o->blocks[side][i];
        bool is_last = o->is_last && i + 1 == o->filled[side];
        if (block->failed)
            o->status = kino__fail_nomem(&o->error);
        else if (block->size)
            o->status = kino__sink_write(o->sink, (kino_str){block->data, block->size - is_last},
                                         &o->error);
    }
}

/* Task 0 writes what the round before made, the others each make a block. */
static void run_task(void *context, unsigned worker, size_t index)
{
    output *o = context;
    if (index == 0)
        write_round(o, !o->side);
    else
        format_block(o, worker, index - 1);
}

static kino_status write_events(output *o, kino__pool *pool, kino_error *err)
{
    size_t blocks = ((size_t)o->trace->event_count + BLOCK_ROWS - 1) / BLOCK_ROWS;
    kino__progress_stage(o->progress, "writing", o->trace->event_count);
    for (size_t done = 0; o->status == KINO_OK;) {
        size_t now = blocks - done < o->block_count ? blocks - done : o->block_count;
        o->first_block = done;
        o->is_last = now == 0;
        o->filled[o->side] = now;
        kino__pool_run(pool, now + 1, run_task, o);
        if (kino__progress_is_cancelled(o->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
        if (now == 0)
            break;
        done += now;
        o->side = !o->side;
    }
    if (o->status != KINO_OK && err)
        *err = o->error;
    return o->status;
}

static void output_deinit(output *o, unsigned jobs)
{
    for (unsigned i = 0; i < jobs && o->writers; i++)
        kino__chrome_event_writer_deinit(&o->writers[i]);
    for (unsigned side = 0; side < 2; side++) {
        for (size_t i = 0; i < o->block_count && o->blocks[side]; i++)
            kino__buffer_deinit(&o->blocks[side][i]);
        free(o->blocks[side]);
    }
    free(o->writers);
    free(o->order);
}

static kino_status output_init(output *o, unsigned jobs, kino_error *err)
{
    o->block_count = jobs * 2 > MIN_BLOCKS ? jobs * 2 : MIN_BLOCKS;
    o->order = kino__trace_file_order_new(o->trace);
    o->writers = calloc(jobs, sizeof *o->writers);
    for (unsigned side = 0; side < 2; side++)
        o->blocks[side] = calloc(o->block_count, sizeof *o->blocks[side]);
    if (!o->order || !o->writers || !o->blocks[0] || !o->blocks[1])
        return kino__fail_nomem(err);
    for (unsigned i = 0; i < jobs; i++)
        kino__chrome_event_writer_init(&o->writers[i], o->trace);
    return KINO_OK;
}

/* Of keys that occur twice only the last counts, as in every JSON parser. */
static bool *find_current(const kino__trace *trace)
{
    size_t count = trace->metadata.count;
    bool *is_current = calloc(count + 1, sizeof *is_current);
    kino__string_pool seen;
    kino__string_pool_init(&seen, NULL);
    for (size_t i = count; i-- > 0 && is_current;) {
        size_t before = kino__string_pool_count(&seen);
        (void)kino__string_pool_add_borrowed(&seen, trace->metadata.items[i].key);
        is_current[i] = kino__string_pool_count(&seen) > before;
    }
    kino__string_pool_deinit(&seen);
    return is_current;
}

static kino_status write_head(const kino__trace *trace, kino__sink *sink, kino_error *err)
{
    kino__buffer b = {0};
    bool *is_current = find_current(trace);
    kino__buffer_add(&b, KINO__STR("{"));
    for (size_t i = 0; i < trace->metadata.count && is_current; i++) {
        if (!is_current[i])
            continue;
        kino__buffer_add(&b, KINO__STR("\n  "));
        kino__json_sanitize_string(trace->metadata.items[i].key, &b);
        kino__buffer_add(&b, KINO__STR(": "));
        kino__json_sanitize(trace->metadata.items[i].value, &b);
        kino__buffer_add(&b, KINO__STR(","));
    }
    /* A trace from another format has no such key, but its times count from somewhere. */
    if (trace->base_ns && !kino__trace_metadata(trace, "baseTimeNanoseconds").size) {
        char text[KINO__DECIMAL_MAX];
        size_t size = kino__format_int(trace->base_ns, text);
        kino__buffer_add(&b, KINO__STR("\n  \"baseTimeNanoseconds\": "));
        kino__buffer_add(&b, (kino_str){text, size});
        kino__buffer_add(&b, KINO__STR(","));
    }
    kino__buffer_add(&b, KINO__STR("\n  \"traceEvents\": ["));
    kino_status st = b.failed || !is_current ? kino__fail_nomem(err)
                                             : kino__sink_write(sink, kino__buffer_str(&b), err);
    free(is_current);
    kino__buffer_deinit(&b);
    return st;
}

static kino_status write_trace(const kino__run *run, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    if (run->traces.count != 1)
        return kino__fail(err, KINO_ARGUMENT, "has %zu traces; choose one with --rank",
                          run->traces.count);
    output o = {.trace = run->traces.items[0], .sink = sink, .progress = context->progress};
    unsigned jobs = kino__pool_jobs(context->pool);
    kino_status st = output_init(&o, jobs, err);
    if (st == KINO_OK)
        st = o.trace->is_array ? kino__sink_write(sink, KINO__STR("["), err)
                               : write_head(o.trace, sink, err);
    if (st == KINO_OK)
        st = write_events(&o, context->pool, err);
    if (st == KINO_OK)
        st = kino__sink_write(
            sink, o.trace->is_array ? KINO__STR("\n]\n") : KINO__STR("\n  ]\n}\n"), err);
    output_deinit(&o, jobs);
    return st;
}

const kino__writer_def kino__writer_chrome_json = {
    .name = "chrome-json",
    .suffix = ".json",
    .help = "Chrome trace events as the PyTorch profiler writes them",
    .is_compressible = true,
    .write = write_trace,
};
