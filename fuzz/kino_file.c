/* kino_file.c - any bytes as a .kino file: no crash, no hang, no wild read, whatever is asked.
 *
 * The first byte chooses: bit 0 that checksums and the index are put right (a fuzzer would never
 * get past them), bit 1 that two threads load. The rest is the file. A file that loads is looked at
 * in every way: columns, arguments, odd texts, argument columns, links, and both writers; what the
 * .kino writer makes of it must load again with the same events. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reader/reader.h"
#include "store/args.h"
#include "store/link.h"
#include "wire/bytes.h"
#include "wire/chunk.h"
#include "wire/crc32c.h"
#include "writer/writer.h"

enum {
    MOST_ROWS = 20000,      /* of a file that is looked at: constant columns need no bytes */
    MOST_WRITTEN = 4 << 20, /* bytes that a writer may make before it is stopped */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* -- checksums put right */

/* The header that stands here gets a payload that fits, and both their checksums. */
static uint64_t mend_chunk(char *file, size_t size, size_t at, kino__chunk *chunk)
{
    size_t left = size - at - KINO__CHUNK_HEADER_SIZE;
    *chunk = (kino__chunk){
        .kind = (uint8_t)file[at + 4],
        .codec = (uint8_t)file[at + 5],
        .tag = (uint16_t)kino__get_le(file + at + 6, 2),
        .group = (uint32_t)kino__get_le(file + at + 8, 4),
        .size = (uint32_t)kino__get_le(file + at + 12, 4),
        .raw_size = (uint32_t)kino__get_le(file + at + 16, 4),
        .offset = at,
    };
    if (chunk->size > left)
        chunk->size = (uint32_t)left;
    if (chunk->codec == KINO__CHUNK_RAW)
        chunk->raw_size = chunk->size;
    chunk->checksum = kino__crc32c(0, file + at + KINO__CHUNK_HEADER_SIZE, chunk->size);
    kino__chunk_header_make(chunk, (unsigned char *)file + at);
    return kino__chunk_span(chunk);
}

/* All chunks that follow each other, then a new index. */
static void mend(kino__buffer *file)
{
    kino__chunk_list chunks = {0};
    size_t at = KINO__FILE_HEAD_SIZE;
    if (file->size < KINO__FILE_HEAD_SIZE)
        return;
    kino__file_head_make((unsigned char *)file->data);
    while (at < file->size && file->size - at >= KINO__CHUNK_HEADER_SIZE &&
           memcmp(file->data + at, "Kchk", 4) == 0) {
        kino__chunk chunk;
        uint64_t span = mend_chunk(file->data, file->size, at, &chunk);
        if (chunk.kind == KINO__CHUNK_INDEX)
            break;
        kino__chunk *slot = kino__vec_add(&chunks);
        require(slot != NULL);
        *slot = chunk;
        at += span;
    }
    while (at > file->size) /* padding of the last one */
        kino__bytes_add(file, 0, 1);
    file->size = at;
    kino__index_add(chunks.items, chunks.count, at, file);
    require(!file->failed);
    kino__vec_deinit(&chunks);
}

/* -- loading */

static kino__trace *load(kino_str bytes, kino__pool *pool)
{
    size_t mapped = ((bytes.size + 4095) & ~(size_t)4095) + KINO__FILE_PAD;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kino__trace *trace = NULL;
    require(base != MAP_FAILED && kino__trace_new(&trace, NULL) == KINO_OK);
    memcpy(base, bytes.data, bytes.size);
    kino__file file = {base, bytes.size, mapped};
    kino__load_context context = {.pool = pool};
    if (kino__reader_kino.load("fuzz", &file, &context, trace, NULL) != KINO_OK) {
        kino__trace_free(trace);
        trace = NULL;
    }
    kino__file_close(&file);
    return trace;
}

/* -- looking */

static void look_at_events(const kino__trace *trace)
{
    kino__text_cursor cursor;
    size_t budget = MOST_WRITTEN; /* a template may be long and have many events */
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count && budget; row++) {
        kino_str text = kino__args_text(trace, row, &cursor), key, value;
        kino__args_iter it = kino__args_iter_start(text);
        while (kino__args_iter_next(&it, &key, &value))
            require(value.size > 0 && value.data + value.size <= text.data + text.size);
        budget -= text.size < budget ? text.size : budget;
        (void)kino__trace_correlation(trace, row);
        (void)kino__trace_bind_id(trace, row);
        (void)kino__trace_external(trace, row);
        require(kino__trace_track_of(trace, row) < trace->tracks.count);
        require(trace->name[row] == KINO_NO_STRING ||
                trace->name[row] < kino__string_pool_count(&trace->strings));
        require(trace->number[row] < trace->number_count);
        (void)kino__trace_category_text(trace, trace->category[row]);
        (void)kino__category_kind(trace->category[row]);
    }
    for (size_t i = 0; i < trace->odd.count; i++)
        if (trace->odd.items[i].kind <= KINO__ODD_END)
            (void)kino__text_read(&cursor, trace->odd.items[i].a, trace->odd.items[i].b);
    kino__text_cursor_deinit(&cursor);
}

static void look_at_links(const kino__trace *trace)
{
    const kino__string_pool *pool = NULL;
    (void)kino__args_int_column(trace, "n");
    (void)kino__args_double_column(trace, "f");
    (void)kino__args_string_column(trace, "correlation", &pool);
    (void)kino__link_nesting(trace);
    (void)kino__link_launch(trace);
    (void)kino__link_op(trace);
    (void)kino__link_steps(trace);
    (void)kino__link_flows(trace);
    (void)kino__link_forward(trace);
    (void)kino__link_python_parent(trace);
    (void)kino__link_module(trace);
}

/* -- writing */

typedef struct short_sink {
    kino__sink sink;
    kino__buffer bytes;
} short_sink;

static kino_status write_short(kino__sink *sink, kino_str bytes, kino_error *err)
{
    (void)err;
    short_sink *self = (short_sink *)sink;
    if (bytes.size > MOST_WRITTEN - self->bytes.size)
        return KINO_LIMIT;
    kino__buffer_add(&self->bytes, bytes);
    return self->bytes.failed ? KINO_NOMEM : KINO_OK;
}

static kino_status write_with(const kino__writer_def *writer, const kino__run *run, short_sink *out)
{
    kino__write_context context = {0};
    *out = (short_sink){.sink = {.write = write_short}};
    return writer->write(run, &out->sink, &context, NULL);
}

static void look_at_outputs(kino__trace *trace)
{
    short_sink json, kino;
    kino__run run;
    kino__run_init(&run);
    require(kino__run_add_take(&run, trace, NULL) == KINO_OK);
    kino__run_align(&run);
    (void)write_with(&kino__writer_chrome_json, &run, &json);
    if (write_with(&kino__writer_kino, &run, &kino) == KINO_OK) {
        kino__trace *again = load(kino__buffer_str(&kino.bytes), NULL);
        require(again && again->event_count == trace->event_count &&
                kino__trace_need(again, KINO__COLUMN_ALL, NULL));
        for (uint32_t row = 0; row < trace->event_count; row++)
            require(again->number[row] == trace->number[row] &&
                    again->dur[row] == trace->dur[row] && again->name[row] == trace->name[row]);
        kino__trace_free(again);
    }
    kino__buffer_deinit(&json.bytes);
    kino__buffer_deinit(&kino.bytes);
    kino__run_deinit(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    kino__buffer file = {0};
    kino__pool *pool = NULL;
    kino__buffer_add(&file, (kino_str){(const char *)data + 1, size - 1});
    if (data[0] & 1)
        mend(&file);
    if (data[0] & 2)
        require(kino__pool_new(2, &pool, NULL) == KINO_OK);
    kino__trace *trace = load(kino__buffer_str(&file), pool);
    kino__buffer_deinit(&file);
    bool is_fit = trace && trace->event_count <= MOST_ROWS && trace->number_count <= MOST_ROWS;
    if (is_fit && kino__trace_need(trace, KINO__COLUMN_TS | KINO__COLUMN_NAME, pool) &&
        kino__trace_need(trace, KINO__COLUMN_ALL, pool)) {
        look_at_events(trace);
        look_at_links(trace);
        look_at_outputs(trace); /* takes it */
    } else {
        kino__trace_free(trace);
    }
    kino__pool_free(pool);
    return 0;
}
