/* chrome_load.c - see chrome_load.h. Files are given to the reader as unnamed files in memory. */
#include "unit/chrome_load.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "codec/codec.h"
#include "reader/chrome_internal.h"
#include "store/args.h"
#include "store/describe.h"
#include "unit/fixture.h"

/* -- one way */

kino_status chrome_load_bytes(kino_str bytes, kino__simd simd, unsigned jobs, kino__trace **out,
                              kino_error *err)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    for (size_t at = 0; at < bytes.size;) {
        ssize_t n = write(fd, bytes.data + at, bytes.size - at);
        REQUIRE(n > 0);
        at += (size_t)n;
    }
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    kino__pool *pool = NULL;
    if (jobs > 1)
        REQUIRE(kino__pool_new(jobs, &pool, NULL) == KINO_OK);
    kino__load_context context = {.pool = pool, .simd = simd};
    kino_status st = kino__reader_load(path, &context, out, err);
    kino__pool_free(pool);
    close(fd);
    return st;
}

static kino_status slow_events(kino__chrome_worker *w, size_t *at, bool *at_array_end,
                               kino_error *err)
{
    *at_array_end = false;
    while (*at < w->size) {
        switch (kino__chrome_slow_step(w, at)) {
        case KINO__STEP_EVENT:
            break;
        case KINO__STEP_ARRAY_END:
            *at_array_end = true;
            return KINO_OK;
        case KINO__STEP_INCOMPLETE:
            return KINO_OK;
        case KINO__STEP_FAILED:
            return kino__fail_nomem(err);
        }
    }
    return KINO_OK;
}

static kino_status slow_load(kino__chrome_worker *w, kino__trace *trace, kino_error *err)
{
    size_t at = 0;
    bool is_json = false, at_array_end;
    kino__chrome_head start = kino__chrome_read_head(w, trace, &at, &is_json);
    KINO_TRY(kino__chrome_check_head(start, is_json, err));
    kino__ledger head = trace->ledger, tail = {0};
    memset(&trace->ledger, 0, sizeof trace->ledger);
    kino__piece piece;
    kino__chrome_piece_begin(w, &piece);
    kino_status st = slow_events(w, &at, &at_array_end, err);
    kino__chrome_piece_end(w, &piece);
    KINO_TRY(st);
    if (at_array_end) {
        (void)kino__chrome_read_tail(w, trace, &at);
        tail = trace->ledger;
    }
    trace->ledger = head;
    kino__build build = {.parts = w->part,
                         .part_count = 1,
                         .pieces = &piece,
                         .piece_count = 1,
                         .resolve = kino__json_unescape};
    KINO_TRY(kino__trace_build(trace, &build, err));
    kino__ledger_merge(&trace->ledger, &tail);
    if (trace->event_count == 0 && trace->is_array && kino__ledger_skipped(&trace->ledger))
        return kino__fail(err, KINO_FORMAT, "not a list of events");
    return kino__trace_describe(trace, err);
}

/* What the slow parser alone makes of the text: the definition of the right answer. */
static kino_status load_slowly(kino_str text, kino__trace **out, kino_error *err)
{
    *out = NULL;
    if (text.size == 0)
        return kino__fail(err, KINO_FORMAT, "empty");
    kino__trace *trace;
    kino__part part;
    kino__part_init(&part);
    kino__chrome_worker *w = calloc(1, sizeof *w);
    char *padded = calloc(1, text.size + KINO__CHROME_PAD);
    REQUIRE(w && padded && kino__trace_new(&trace, NULL) == KINO_OK);
    REQUIRE(kino__chrome_worker_init(w, &part, 0, NULL) == KINO_OK);
    memcpy(padded, text.data, text.size);
    w->base = padded;
    w->size = text.size;
    w->is_whole = w->copies_strings = true;
    w->retry_budget = 4 * (uint64_t)text.size;
    trace->text = fixture_text_new(text.data, text.size);
    trace->text_bytes = text.size;
    kino_status st = slow_load(w, trace, err);
    kino__chrome_worker_deinit(w);
    kino__part_deinit(&part);
    free(w);
    free(padded);
    if (st == KINO_OK)
        *out = trace;
    else
        kino__trace_free(trace);
    return st;
}

void chrome_compress(int compression, kino_str text, void *buffer)
{
    kino__sink *sink = NULL;
    REQUIRE(kino__memory_sink_new(buffer, &sink, NULL) == KINO_OK);
    REQUIRE(kino__compress_sink_take((kino__compression)compression, &sink, NULL) == KINO_OK);
    REQUIRE(kino__sink_write(sink, text, NULL) == KINO_OK);
    REQUIRE(kino__sink_close(sink, true, NULL) == KINO_OK);
}

/* -- comparing */

static char difference[400];

#define DIFFER(...)                                                                                \
    do {                                                                                           \
        (void)snprintf(difference, sizeof difference, __VA_ARGS__);                                \
        return difference;                                                                         \
    } while (0)

static const char *differ_in_rows(const kino__trace *a, const kino__trace *b)
{
    for (uint32_t i = 0; i < a->event_count; i++) {
#define SAME(column)                                                                               \
    if (a->column[i] != b->column[i])                                                              \
    DIFFER("row %u (number %u and %u): " #column " is %lld and %lld", i, a->number[i],             \
           b->number[i], (long long)a->column[i], (long long)b->column[i])
        SAME(number);
        SAME(ts);
        SAME(dur);
        SAME(place);
        SAME(name);
        SAME(bind);
        SAME(external);
        SAME(category);
        SAME(phase);
        SAME(flags);
#undef SAME
    }
    return NULL;
}

static bool same_label(const kino__label *a, const kino__label *b)
{
    return a->kind == b->kind && a->text == b->text && a->number == b->number;
}

static const char *differ_in_tracks(const kino__trace *a, const kino__trace *b)
{
    if (a->tracks.count != b->tracks.count)
        DIFFER("%zu and %zu tracks", a->tracks.count, b->tracks.count);
    for (size_t i = 0; i < a->tracks.count; i++) {
        const kino__track *x = &a->tracks.items[i], *y = &b->tracks.items[i];
        if (!same_label(&x->pid, &y->pid) || !same_label(&x->tid, &y->tid))
            DIFFER("labels of track %zu", i);
        if (x->first != y->first || x->count != y->count)
            DIFFER("rows of track %zu: %u+%u and %u+%u", i, x->first, x->count, y->first, y->count);
        if (x->kind != y->kind || x->kinds != y->kinds || x->device != y->device ||
            x->stream != y->stream || x->name != y->name || x->process_name != y->process_name ||
            x->process_labels != y->process_labels || x->sort_index != y->sort_index)
            DIFFER("what track %zu is", i);
    }
    return NULL;
}

static const char *differ_in_strings(const kino__trace *a, const kino__trace *b)
{
    size_t count = kino__string_pool_count(&a->strings),
           other = kino__string_pool_count(&b->strings);
    for (kino_strid i = 0; i < count && i < other; i++) {
        kino_str x = kino__trace_string(a, i), y = kino__trace_string(b, i);
        if (!kino__str_equal(x, y))
            DIFFER("string %u: '%.*s' and '%.*s'", i, (int)(x.size < 100 ? x.size : 100), x.data,
                   (int)(y.size < 100 ? y.size : 100), y.data);
    }
    if (count != other)
        DIFFER("%zu and %zu strings", count, other);
    if (a->own_categories.count != b->own_categories.count)
        DIFFER("%zu and %zu own categories", a->own_categories.count, b->own_categories.count);
    for (size_t i = 0; i < a->own_categories.count; i++)
        if (a->own_categories.items[i] != b->own_categories.items[i])
            DIFFER("own category %zu", i);
    if (a->metadata.count != b->metadata.count)
        DIFFER("%zu and %zu top-level keys", a->metadata.count, b->metadata.count);
    for (size_t i = 0; i < a->metadata.count; i++)
        if (!kino__str_equal(a->metadata.items[i].key, b->metadata.items[i].key) ||
            !kino__str_equal(a->metadata.items[i].value, b->metadata.items[i].value))
            DIFFER("top-level key %zu", i);
    return NULL;
}

static const char *differ_in_ledgers(const kino__ledger *a, const kino__ledger *b)
{
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++) {
        const char *name = kino__damage_name((kino__damage)d);
        if (a->count[d] != b->count[d])
            DIFFER("ledger: %s %llu (first %llu) and %llu (first %llu)", name,
                   (unsigned long long)a->count[d], (unsigned long long)a->first[d][0],
                   (unsigned long long)b->count[d], (unsigned long long)b->first[d][0]);
        for (uint64_t i = 0; i < a->count[d] && i < KINO__LEDGER_PLACES; i++)
            if (a->first[d][i] != b->first[d][i])
                DIFFER("ledger: place %d of %s is %llu and %llu", (int)i, name,
                       (unsigned long long)a->first[d][i], (unsigned long long)b->first[d][i]);
    }
    return NULL;
}

static const char *differ_in_odd(const kino__trace *a, const kino__trace *b)
{
    if (a->odd.count != b->odd.count)
        DIFFER("%zu and %zu odd entries", a->odd.count, b->odd.count);
    for (size_t i = 0; i < a->odd.count; i++) {
        const kino__odd *x = &a->odd.items[i], *y = &b->odd.items[i];
        if (x->number != y->number || x->kind != y->kind || x->a != y->a || x->b != y->b)
            DIFFER("odd entry %zu: number %u kind %u %llu+%llu and number %u kind %u %llu+%llu", i,
                   x->number, x->kind, (unsigned long long)x->a, (unsigned long long)x->b,
                   y->number, y->kind, (unsigned long long)y->a, (unsigned long long)y->b);
    }
    return NULL;
}

const char *chrome_difference(const kino__trace *a, const kino__trace *b)
{
    if (a->event_count != b->event_count || a->number_count != b->number_count ||
        a->pair_count != b->pair_count)
        DIFFER("%u and %u events, %u and %u elements, %u and %u pairs", a->event_count,
               b->event_count, a->number_count, b->number_count, a->pair_count, b->pair_count);
    if (a->origin_ns != b->origin_ns || a->base_ns != b->base_ns || a->is_epoch != b->is_epoch)
        DIFFER("clock: origin %lld and %lld", (long long)a->origin_ns, (long long)b->origin_ns);
    if (a->is_array != b->is_array || a->rank != b->rank || a->world_size != b->world_size ||
        !kino__str_equal(a->host, b->host) || a->text_bytes != b->text_bytes)
        DIFFER("form, rank, host or size");
    const char *found = differ_in_strings(a, b);
    if (!found)
        found = differ_in_rows(a, b);
    if (!found)
        found = differ_in_tracks(a, b);
    if (!found)
        found = differ_in_odd(a, b);
    return found ? found : differ_in_ledgers(&a->ledger, &b->ledger);
}

/* -- all ways */

typedef struct comparison {
    kino_str text;
    kino__trace *first;
    kino_status status;
} comparison;

/* Checks one more result against the first and frees it. */
static void compare(comparison *c, const char *way, kino_status st, kino__trace *trace)
{
    const char *found = NULL;
    if (st != c->status) {
        (void)snprintf(difference, sizeof difference, "status %d and %d", (int)c->status, (int)st);
        found = difference;
    } else if (st == KINO_OK) {
        found = chrome_difference(c->first, trace);
    }
    if (found) {
        char what[500];
        (void)snprintf(what, sizeof what, "%s: scalar and this differ: %s", way, found);
        (void)test_check(false, what, __FILE__, __LINE__);
        const char *dump =
            getenv("KINO_TEST_DUMP"); /* where to keep the text that shows the difference */
        if (dump)
            test_write_file(dump, c->text.data, c->text.size);
    }
    kino__trace_free(trace);
}

static void compare_levels(comparison *c, unsigned jobs)
{
    static const char *const names[] = {"auto", "scalar", "avx2", "avx512"};
    for (kino__simd level = KINO__SIMD_SCALAR; level <= KINO__SIMD_AVX512; level++) {
        if (kino__chrome_simd_level(level) != level || (jobs == 1 && level == KINO__SIMD_SCALAR))
            continue;
        char way[40];
        (void)snprintf(way, sizeof way, "%s, %u jobs", names[level], jobs);
        kino__trace *trace = NULL;
        kino_status st = chrome_load_bytes(c->text, level, jobs, &trace, NULL);
        compare(c, way, st, trace);
    }
}

static void compare_packed(comparison *c)
{
    static const kino__compression formats[] = {KINO__COMPRESSION_GZIP, KINO__COMPRESSION_ZSTD};
    for (size_t f = 0; f < 2; f++) {
        kino__buffer packed = {0};
        chrome_compress((int)formats[f], c->text, &packed);
        for (unsigned jobs = 1; jobs <= 2; jobs++) {
            char way[40];
            (void)snprintf(way, sizeof way, "%s, %u jobs", kino__compression_name(formats[f]),
                           jobs);
            kino__trace *trace = NULL;
            kino_status st =
                chrome_load_bytes(kino__buffer_str(&packed), KINO__SIMD_AUTO, jobs, &trace, NULL);
            compare(c, way, st, trace);
        }
        kino__buffer_deinit(&packed);
    }
}

kino__trace *chrome_load_ways(kino_str text, unsigned ways, kino_error *err)
{
    comparison c = {.text = text};
    c.status = chrome_load_bytes(text, KINO__SIMD_SCALAR, 1, &c.first, err);
    if (ways & CHROME_SLOW) {
        kino__trace *trace = NULL;
        kino_status st = load_slowly(text, &trace, NULL);
        compare(&c, "slow parser", st, trace);
    }
    if (ways & CHROME_LEVELS)
        compare_levels(&c, 1);
    if (ways & CHROME_JOBS) {
        compare_levels(&c, 2);
        compare_levels(&c, 3);
    }
    if (ways & CHROME_PACKED)
        compare_packed(&c);
    return c.first;
}

kino__trace *chrome_load(kino_str text)
{
    kino_error err = {0};
    kino__trace *trace = chrome_load_ways(text, CHROME_ALL, &err);
    CHECK_STR(err.message, "");
    REQUIRE(trace != NULL);
    return trace;
}

kino__trace *chrome_load_text(const char *text)
{
    return chrome_load(kino__str_from(text));
}

/* -- looking */

const char *chrome_ledger_text(const kino__trace *trace)
{
    static char text[1000];
    size_t size = 0;
    text[0] = '\0';
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
        if (trace->ledger.count[d] && size < sizeof text)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%s %llu @%llu",
                                     size ? ", " : "", kino__damage_name((kino__damage)d),
                                     (unsigned long long)trace->ledger.count[d],
                                     (unsigned long long)trace->ledger.first[d][0]);
    return text;
}

uint32_t chrome_row(const kino__trace *trace, uint32_t number)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->number[row] == number)
            return row;
    return KINO_NO_ROW;
}

int64_t chrome_ts(const kino__trace *trace, uint32_t row)
{
    return trace->ts[row] == KINO_NO_TIME ? KINO_NO_TIME
                                          : trace->ts[row] + trace->origin_ns - trace->base_ns;
}

kino_str chrome_name(const kino__trace *trace, uint32_t row)
{
    return kino__trace_string(trace, trace->name[row]);
}

kino_str chrome_category(const kino__trace *trace, uint32_t row)
{
    return kino__trace_category_text(trace, trace->category[row]);
}

kino_str chrome_args(const kino__trace *trace, uint32_t row)
{
    static kino__buffer copy;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    copy.size = 0;
    kino__buffer_add(&copy, kino__args_text(trace, row, &cursor));
    kino__text_cursor_deinit(&cursor);
    return copy.size ? kino__buffer_str(&copy) : KINO__STR("");
}
