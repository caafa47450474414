/* chrome_json.c - any bytes as a trace file: no crash, and every way of reading gives the same
 * trace.
 *
 * The first byte chooses: bits 0-1 the number of threads, bits 2-3 what becomes of the rest (as it
 * is; as it is, or made so long that it is cut into chunks when bits 5-7 are 0, because that is
 * slow; compressed with gzip; with zstd), bit 4 that sound events stand in front, so that the fast
 * path has layouts to guess with. The rest is the file. Read with the scalar parser and one
 * thread, and in the chosen way with the best vector instructions: any difference is a bug. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/codec.h"
#include "reader/reader.h"
#include "store/args.h"

/* Defined by replay_main.c: a replay is thorough. */
extern const bool kino_fuzz_is_replay __attribute__((weak));

/* Long texts cost a thousand short ones, and a fuzzer would soon make nothing else: one in 64, by a
 * hash that it cannot steer. */
static bool may_be_long(const uint8_t *data, size_t size)
{
    return &kino_fuzz_is_replay || kino__hash_bytes(data, size) % 64 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

static kino_status load(kino_str bytes, kino__simd simd, unsigned jobs, kino__trace **out)
{
    char path[64];
    kino__pool *pool = NULL;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (jobs > 1)
        require(kino__pool_new(jobs, &pool, NULL) == KINO_OK);
    kino__load_context context = {.pool = pool, .simd = simd};
    kino_status st = kino__reader_load(path, &context, out, NULL);
    kino__pool_free(pool);
    close(fd);
    return st;
}

#define SAME_COLUMN(column)                                                                        \
    require(a->event_count == 0 ||                                                                 \
            memcmp(a->column, b->column, a->event_count * sizeof *a->column) == 0)

static void require_same(const kino__trace *a, const kino__trace *b)
{
    require(a->event_count == b->event_count && a->number_count == b->number_count);
    require(a->origin_ns == b->origin_ns && a->pair_count == b->pair_count &&
            a->is_array == b->is_array);
    SAME_COLUMN(ts);
    SAME_COLUMN(dur);
    SAME_COLUMN(place);
    SAME_COLUMN(name);
    SAME_COLUMN(number);
    SAME_COLUMN(bind);
    SAME_COLUMN(external);
    SAME_COLUMN(category);
    SAME_COLUMN(phase);
    SAME_COLUMN(flags);
    require(kino__string_pool_count(&a->strings) == kino__string_pool_count(&b->strings));
    for (kino_strid i = 0; i < kino__string_pool_count(&a->strings); i++)
        require(kino__str_equal(kino__trace_string(a, i), kino__trace_string(b, i)));
    require(a->tracks.count == b->tracks.count && a->metadata.count == b->metadata.count);
    require(a->odd.count == b->odd.count);
    for (size_t i = 0; i < a->odd.count; i++) {
        const kino__odd *x = &a->odd.items[i], *y = &b->odd.items[i];
        require(x->number == y->number && x->kind == y->kind && x->a == y->a && x->b == y->b);
    }
    require(memcmp(a->ledger.count, b->ledger.count, sizeof a->ledger.count) == 0);
}

/* Everything that can be asked of the events. */
static void look_at(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    uint32_t rows = trace->event_count < 1000 ? trace->event_count : 1000;
    for (uint32_t row = 0; row < rows; row++) {
        kino_str text = kino__args_text(trace, row, &cursor), key, value;
        kino__args_iter it = kino__args_iter_start(text);
        while (kino__args_iter_next(&it, &key, &value))
            require(value.size > 0 && value.data >= text.data &&
                    value.data + value.size <= text.data + text.size);
        (void)kino__trace_correlation(trace, row);
        require(kino__trace_track_of(trace, row) < trace->tracks.count);
    }
    kino__text_cursor_deinit(&cursor);
}

static void make_text(kino__buffer *text, bool is_long, bool is_warm, const uint8_t *data,
                      size_t size)
{
    if (is_warm)
        kino__buffer_printf(text, "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
                                  "\"dur\":1,\"args\":{\"k\":1}},"
                                  "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":2,"
                                  "\"dur\":1,\"args\":{\"k\":1}},");
    kino__buffer_add(text, (kino_str){(const char *)data, size});
    if (!is_long || size == 0)
        return;
    /* chunks are cut from half a megabyte on: repeat what lies behind the opening bracket */
    const char *bracket = memchr(text->data, '[', text->size);
    kino__buffer body = {0};
    if (bracket)
        kino__buffer_add(&body,
                         (kino_str){bracket + 1, (size_t)(text->data + text->size - bracket - 1)});
    while (body.size > 0 && text->size < (1700 << 10))
        kino__buffer_add(text, kino__buffer_str(&body));
    kino__buffer_deinit(&body);
}

static void compress(kino__compression compression, kino_str text, kino__buffer *out)
{
    kino__sink *sink = NULL;
    require(kino__memory_sink_new(out, &sink, NULL) == KINO_OK);
    require(kino__compress_sink_take(compression, &sink, NULL) == KINO_OK);
    require(kino__sink_write(sink, text, NULL) == KINO_OK &&
            kino__sink_close(sink, true, NULL) == KINO_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned jobs = data[0] % 4 % 3 + 1, form = data[0] >> 2 & 3;
    kino__buffer text = {0}, packed = {0};
    make_text(&text, form == 1 && data[0] >> 5 == 0 && may_be_long(data, size), data[0] >> 4 & 1,
              data + 1, size - 1);
    kino_str bytes = kino__buffer_str(&text), other = bytes;
    if (form >= 2 && kino__compression_detect(bytes) == KINO__COMPRESSION_NONE) {
        compress(form == 2 ? KINO__COMPRESSION_GZIP : KINO__COMPRESSION_ZSTD, bytes, &packed);
        other = kino__buffer_str(&packed);
    }
    kino__trace *a = NULL, *b = NULL;
    kino_status first = load(bytes, KINO__SIMD_SCALAR, 1, &a),
                second = load(other, KINO__SIMD_AUTO, jobs, &b);
    require(first == second && (first == KINO_OK) == (a != NULL));
    if (a) {
        require_same(a, b);
        look_at(a);
        look_at(b);
    }
    kino__trace_free(a);
    kino__trace_free(b);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&packed);
    return 0;
}
