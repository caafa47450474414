/* kino.c - a trace as a .kino file: columns in chunks, written in one pass.
 *
 *   head | metadata, strings, tracks | row groups | groups of arguments | odd events | index | end
 *
 * Each group is coded and compressed by one worker, on its own; groups are written in order
 * (ordered.h). docs/formats/kino.md describes the bytes. */
#include <stdlib.h>

#include "base/error.h"
#include "wire/bytes.h"
#include "writer/kino_writer_internal.h"
#include "writer/ordered.h"
#include "writer/writer.h"

typedef struct worker {
    kino__packer packer;
    kino__arg_packer *args;
    kino__text_cursor cursor; /* for odd texts */
    int64_t *values;          /* a column of a group */
    kino__buffer payload, texts;
} worker;

typedef struct output {
    const kino__trace *trace;
    kino__group_sizes sizes;
    kino__progress *progress;
    uint32_t *row_of_number;
    worker *workers;
    uint32_t row_groups, arg_groups, odd_groups;
} output;

/* -- a sink that notes where chunks go */

typedef struct index_sink {
    kino__sink sink;
    kino__sink *inner;
    kino__chunk_list chunks;
    uint64_t offset;
} index_sink;

/* Every write is a number of whole chunks. */
static kino_status index_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    index_sink *self = (index_sink *)sink;
    kino__chunk chunk;
    for (uint64_t at = 0; at < bytes.size; at += kino__chunk_span(&chunk)) {
        kino__chunk *slot = kino__vec_add(&self->chunks);
        if (!slot || !kino__chunk_header_read(bytes, at, &chunk))
            return kino__fail_nomem(err);
        *slot = chunk;
        slot->offset = self->offset + at;
    }
    self->offset += bytes.size;
    return kino__sink_write(self->inner, bytes, err);
}

/* -- row groups */

static void load_column(const kino__trace *trace, kino__kino_tag tag, size_t first, size_t count,
                        int64_t *out)
{
#define LOAD(column)                                                                               \
    for (size_t i = 0; i < count; i++)                                                             \
        out[i] = (int64_t)trace->column[first + i];                                                \
    break
    switch (tag) {
    case KINO__TAG_TS:
        for (size_t i = 0; i < count; i++) {
            int64_t ts = trace->ts[first + i];
            out[i] = ts == KINO_NO_TIME ? ts : (int64_t)((uint64_t)ts - (uint64_t)trace->shift_ns);
        }
        break;
    case KINO__TAG_DUR:
        LOAD(dur);
    case KINO__TAG_NAME:
        LOAD(name);
    case KINO__TAG_CATEGORY:
        LOAD(category);
    case KINO__TAG_PHASE:
        LOAD(phase);
    case KINO__TAG_FLAGS:
        LOAD(flags);
    case KINO__TAG_NUMBER:
        LOAD(number);
    case KINO__TAG_BIND:
        LOAD(bind);
    case KINO__TAG_EXTERNAL:
        LOAD(external);
    case KINO__TAG_COUNT:
        break;
    }
#undef LOAD
}

static void make_rows(output *o, worker *w, uint32_t group, kino__buffer *out)
{
    /* What a column has where an event has none. */
    static const int64_t missing[KINO__TAG_COUNT] = {
        [KINO__TAG_TS] = KINO_NO_TIME,
        [KINO__TAG_DUR] = KINO_NO_TIME,
        [KINO__TAG_NAME] = KINO_NO_STRING,
        [KINO__TAG_CATEGORY] = KINO__CATEGORY_NONE,
        [KINO__TAG_BIND] = KINO__BIND_NONE,
        [KINO__TAG_EXTERNAL] = KINO__BIND_NONE,
        [KINO__TAG_PHASE] = -1,
        [KINO__TAG_FLAGS] = -1,
        [KINO__TAG_NUMBER] = -1,
    };
    size_t first = (size_t)group * o->sizes.rows, count = o->trace->event_count - first;
    if (count > o->sizes.rows)
        count = o->sizes.rows;
    for (int tag = 1; tag < KINO__TAG_COUNT; tag++) {
        load_column(o->trace, (kino__kino_tag)tag, first, count, w->values);
        kino__column_values values = {w->values, count, true, missing[tag]};
        kino__chunk chunk = {.kind = KINO__CHUNK_COLUMN, .tag = (uint16_t)tag, .group = group};
        kino__pack_column(&w->packer, chunk, &values, tag == KINO__TAG_TS, out);
    }
    (void)kino__progress_add(o->progress, count);
}

/* -- odd events */

static void make_odd(output *o, worker *w, uint32_t group, kino__buffer *out)
{
    const kino__odd *first = o->trace->odd.items + (size_t)group * o->sizes.odd;
    size_t count = o->trace->odd.count - (size_t)group * o->sizes.odd;
    count = count < o->sizes.odd ? count : o->sizes.odd;
    w->payload.size = w->texts.size = 0;
    kino__bytes_add(&w->payload, count, 4);
    for (size_t i = 0; i < count; i++)
        w->values[i] = first[i].number;
    kino__pack_list(&w->packer, w->values, count, true, &w->payload);
    for (size_t i = 0; i < count; i++)
        w->values[i] = first[i].kind;
    kino__pack_list(&w->packer, w->values, count, false, &w->payload);
    for (size_t i = 0; i < count; i++) {
        bool is_text = first[i].kind == KINO__ODD_TEXT || first[i].kind == KINO__ODD_END;
        kino_str text = {"", 0};
        if (is_text)
            text = kino__text_read(&w->cursor, first[i].a, first[i].b);
        w->values[i] = is_text ? (int64_t)text.size : (int64_t)first[i].a;
        kino__buffer_add(&w->texts, text);
    }
    kino__pack_list(&w->packer, w->values, count, false, &w->payload);
    out->failed |= w->payload.failed || w->texts.failed;
    kino__chunk chunk = {.kind = KINO__CHUNK_ODD, .group = group};
    kino__pack_chunk(&w->packer, chunk, kino__buffer_str(&w->payload), out);
    chunk.kind = KINO__CHUNK_ODD_TEXTS;
    kino__pack_chunk(&w->packer, chunk, kino__buffer_str(&w->texts), out);
}

/* -- all of it */

static void make_block(void *context, unsigned index, size_t block, kino__buffer *out)
{
    output *o = context;
    worker *w = &o->workers[index];
    if (block < o->row_groups) {
        make_rows(o, w, (uint32_t)block, out);
    } else if (block - o->row_groups < o->arg_groups) {
        uint32_t group = (uint32_t)(block - o->row_groups);
        kino__arg_packer_add_group(w->args, &w->packer, group, out);
        (void)kino__progress_add(o->progress, o->sizes.events);
    } else {
        make_odd(o, w, (uint32_t)(block - o->row_groups - o->arg_groups), out);
    }
}

static uint32_t group_count(uint64_t items, uint64_t of)
{
    return (uint32_t)((items + of - 1) / of);
}

static kino_status output_init(output *o, unsigned jobs, kino_error *err)
{
    const kino__trace *trace = o->trace;
    o->row_groups = group_count(trace->event_count, o->sizes.rows);
    o->arg_groups = group_count(trace->number_count, o->sizes.events);
    o->odd_groups = group_count(trace->odd.count, o->sizes.odd);
    size_t most = o->sizes.rows > o->sizes.odd ? o->sizes.rows : o->sizes.odd;
    o->workers = calloc(jobs, sizeof *o->workers);
    o->row_of_number = malloc(((size_t)trace->number_count + 1) * sizeof *o->row_of_number);
    if (!o->workers || !o->row_of_number)
        return kino__fail_nomem(err);
    memset(o->row_of_number, 0xff, (size_t)trace->number_count * sizeof *o->row_of_number);
    for (uint32_t row = 0; row < trace->event_count; row++)
        o->row_of_number[trace->number[row]] = row;
    for (unsigned i = 0; i < jobs; i++) {
        worker *w = &o->workers[i];
        w->args = kino__arg_packer_new(trace, o->row_of_number, o->sizes.events);
        w->values = malloc(most * sizeof *w->values);
        kino__text_cursor_init(&w->cursor, trace->text);
        if (!w->args || !w->values)
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

static void output_deinit(output *o, unsigned jobs)
{
    for (unsigned i = 0; i < jobs && o->workers; i++) {
        worker *w = &o->workers[i];
        kino__packer_deinit(&w->packer);
        kino__arg_packer_free(w->args);
        kino__text_cursor_deinit(&w->cursor);
        kino__buffer_deinit(&w->payload);
        kino__buffer_deinit(&w->texts);
        free(w->values);
    }
    free(o->workers);
    free(o->row_of_number);
}

static kino_status write_head(output *o, index_sink *sink, kino_error *err)
{
    unsigned char head[KINO__FILE_HEAD_SIZE];
    kino__file_head_make(head);
    KINO_TRY(kino__sink_write(sink->inner, (kino_str){(const char *)head, sizeof head}, err));
    sink->offset = sizeof head;
    kino__buffer b = {0};
    kino__pack_head(&o->workers[0].packer, o->trace, o->sizes, &b);
    kino_status st =
        b.failed ? kino__fail_nomem(err) : kino__sink_write(&sink->sink, kino__buffer_str(&b), err);
    kino__buffer_deinit(&b);
    return st;
}

static kino_status write_index(index_sink *sink, kino_error *err)
{
    kino__buffer b = {0};
    kino__index_add(sink->chunks.items, sink->chunks.count, sink->offset, &b);
    kino_status st =
        b.failed ? kino__fail_nomem(err) : kino__sink_write(sink->inner, kino__buffer_str(&b), err);
    kino__buffer_deinit(&b);
    return st;
}

kino_status kino__kino_write(const kino__trace *trace, kino__group_sizes sizes, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    output o = {.trace = trace, .sizes = sizes, .progress = context->progress};
    index_sink indexed = {.sink = {.write = index_write}, .inner = sink};
    unsigned jobs = kino__pool_jobs(context->pool);
    kino_status st = output_init(&o, jobs, err);
    if (st == KINO_OK)
        st = write_head(&o, &indexed, err);
    if (st == KINO_OK) {
        kino__progress_stage(o.progress, "writing",
                             (uint64_t)o.trace->event_count + o.trace->number_count);
        kino__ordered blocks = {.block_count = (size_t)o.row_groups + o.arg_groups + o.odd_groups,
                                .make = make_block,
                                .context = &o};
        st = kino__ordered_write(&blocks, &indexed.sink, context, err);
    }
    if (st == KINO_OK)
        st = write_index(&indexed, err);
    kino__vec_deinit(&indexed.chunks);
    output_deinit(&o, jobs);
    return st;
}

static kino_status write_trace(const kino__run *run, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    if (run->traces.count != 1)
        return kino__fail(err, KINO_ARGUMENT, "has %zu traces; select one with --rank",
                          run->traces.count);
    kino__group_sizes sizes = {KINO__KINO_ROW_GROUP, KINO__KINO_ARG_GROUP, KINO__KINO_ODD_GROUP};
    return kino__kino_write(run->traces.items[0], sizes, sink, context, err);
}

const kino__writer_def kino__writer_kino = {
    .name = "kino",
    .suffix = ".kino",
    .help = "Kino's own columnar format: small, opens instantly",
    .write = write_trace,
};
