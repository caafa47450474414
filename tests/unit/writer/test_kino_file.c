/* test_kino_file.c - .kino files: what goes in comes out, and damage never makes a wrong number.
 *
 * One small trace has everything a file can hold, in groups of a few rows. Every bit of its file is
 * flipped once, and the file is cut at every length; what is then read must be refused or be a part
 * of the original, with all that is missing in the ledger. */
#include <stdlib.h>
#include <sys/mman.h>

#include "store/args.h"
#include "unit/chrome_load.h"
#include "unit/test.h"
#include "unit/write_text.h"
#include "wire/bytes.h"
#include "wire/chunk.h"
#include "writer/kino_writer_internal.h"

/* Spans, a B/E pair, flows, instants, counters, metadata events; own categories, texts as pids and
 * ids, wide numbers, unknown keys, arguments of every class, some not fit to be taken apart (the
 * byte 1), an element that is no event. */
static const char rich[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8},\"host_name\":\"h\","
    "\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":7,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":7,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":10.5,"
    "\"dur\":30.25,\"args\":{\"External id\":5,\"n\":-3,\"f\":0.50,\"dims\":[[2,3],[]],"
    "\"s\":\"q\\\"x\"}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":7,\"tid\":7,\"ts\":12,"
    "\"dur\":2,\"args\":{\"External id\":5,\"correlation\":90}},"
    "{\"ph\":\"s\",\"id\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":7,\"tid\":7,\"ts\":12},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":5."
    "125,"
    "\"args\":{\"stream\":7,\"correlation\":90,\"device\":0}},"
    "{\"ph\":\"f\",\"id\":1,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":20,"
    "\"bp\":\"e\"},"
    "17,"
    "{\"ph\":\"B\",\"cat\":\"mine\",\"name\":\"b\",\"pid\":7,\"tid\":8,\"ts\":1,\"args\":{\"x\":1}}"
    ","
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"wide\",\"pid\":7,\"tid\":8,\"ts\":2,\"dur\":1,"
    "\"args\":{\"correlation\":123456789012345,\"External id\":99999999999}},"
    "{\"ph\":\"E\",\"cat\":\"mine\",\"name\":\"b\",\"pid\":7,\"tid\":8,\"ts\":9,\"args\":{\"y\":2}}"
    ","
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"odd\",\"pid\":7,\"tid\":7,\"ts\":5.0001,\"dur\":1,"
    "\"zz\":[1],\"args\":{\"n\":4,\"n\":5}},"
    "{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"own\",\"name\":\"mark\",\"pid\":\"Spans\",\"tid\":\"7\","
    "\"ts\":3},"
    "{\"ph\":\"s\",\"id\":\"0xabc\",\"cat\":\"f\",\"name\":\"f\",\"pid\":7,\"tid\":7,\"ts\":6},"
    "{\"ph\":\"C\",\"name\":\"c\",\"pid\":7,\"tid\":0,\"ts\":4,\"args\":{\"v\":1.25}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"raw\",\"pid\":7,\"tid\":7,\"ts\":7,\"dur\":1,"
    "\"args\":{\"a\":\"\\u0000\1\",\"n\":00}}"
    "],\"more\":{\"a\":[1.0,2]}}";

static const kino__group_sizes small_groups = {5, 8, 2};
/* There is a file to be read for each bit: fewer chunks. */
static const kino__group_sizes fewer_groups = {7, 16, 4};

/* -- making and loading */

static kino__trace *load_json(kino_str text)
{
    kino__trace *trace = NULL;
    kino_error err = {0};
    kino_status st = chrome_load_bytes(text, KINO__SIMD_AUTO, 1, &trace, &err);
    CHECK_STR(err.message, "");
    REQUIRE(st == KINO_OK && trace != NULL);
    return trace;
}

static kino__buffer make_file(const kino__trace *trace, kino__group_sizes sizes, unsigned jobs)
{
    kino__buffer file = {0};
    kino__sink *sink = NULL;
    kino__write_context context = {0};
    REQUIRE_EQ(kino__memory_sink_new(&file, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__pool_new(jobs, &context.pool, NULL), KINO_OK);
    REQUIRE_EQ(kino__kino_write(trace, sizes, sink, &context, NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    kino__pool_free(context.pool);
    return file;
}

/* The bytes as a mapped file. */
static kino__trace *load_image(kino_str bytes, kino_error *err)
{
    size_t mapped = ((bytes.size + 4095) & ~(size_t)4095) + KINO__FILE_PAD;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    kino__trace *trace = NULL;
    REQUIRE(base != MAP_FAILED && kino__trace_new(&trace, NULL) == KINO_OK);
    memcpy(base, bytes.data, bytes.size);
    kino__file file = {base, bytes.size, mapped};
    kino__load_context context = {0};
    if (kino__reader_kino.load("test", &file, &context, trace, err) != KINO_OK) {
        kino__trace_free(trace);
        trace = NULL;
    }
    kino__file_close(&file);
    return trace;
}

static kino__trace *load_all(kino_str bytes)
{
    kino_error err = {0};
    kino__trace *trace = load_image(bytes, &err);
    CHECK_STR(err.message, "");
    REQUIRE(trace && kino__trace_need(trace, KINO__COLUMN_ALL, NULL));
    return trace;
}

/* -- comparing: everything about an event, by values that do not depend on the rows around it */

typedef struct event {
    uint32_t row; /* KINO_NO_ROW: not there */
    kino__buffer args, odd[2];
} event;

typedef struct snapshot {
    const kino__trace *trace;
    event *events; /* by number */
} snapshot;

static void snapshot_init(snapshot *s, const kino__trace *trace)
{
    kino__text_cursor cursor;
    *s = (snapshot){trace, calloc((size_t)trace->number_count + 1, sizeof *s->events)};
    REQUIRE(s->events != NULL);
    for (uint32_t i = 0; i < trace->number_count; i++)
        s->events[i].row = KINO_NO_ROW;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        REQUIRE(trace->number[row] < trace->number_count);
        event *e = &s->events[trace->number[row]];
        REQUIRE_EQ(e->row, KINO_NO_ROW);
        e->row = row;
        kino__buffer_add(&e->args, kino__args_text(trace, row, &cursor));
        for (int kind = KINO__ODD_TEXT; kind <= KINO__ODD_END; kind++) {
            const kino__odd *odd = kino__trace_odd(trace, trace->number[row], (kino__odd_kind)kind);
            if (odd)
                kino__buffer_add(&e->odd[kind], kino__text_read(&cursor, odd->a, odd->b));
        }
    }
    kino__text_cursor_deinit(&cursor);
}

static void snapshot_deinit(snapshot *s)
{
    for (uint32_t i = 0; i < s->trace->number_count; i++) {
        kino__buffer_deinit(&s->events[i].args);
        kino__buffer_deinit(&s->events[i].odd[0]);
        kino__buffer_deinit(&s->events[i].odd[1]);
    }
    free(s->events);
}

static bool same_text(const kino__buffer *a, const kino__buffer *b, bool may_lack)
{
    return kino__str_equal(kino__buffer_str(a), kino__buffer_str(b)) || (may_lack && a->size == 0);
}

static bool same_number(int64_t a, int64_t b, bool may_lack)
{
    return a == b || (may_lack && a == KINO_NO_INT);
}

static bool same_label(const kino__trace *a, const kino__label *x, const kino__trace *b,
                       const kino__label *y)
{
    bool has_text = x->kind == KINO__LABEL_TEXT || x->kind == KINO__LABEL_RAW;
    return x->kind == y->kind && (has_text ? kino__str_equal(kino__trace_string(a, x->text),
                                                             kino__trace_string(b, y->text))
                                           : x->number == y->number);
}

static const kino__track *track_of(const kino__trace *trace, uint32_t row)
{
    return &trace->tracks.items[kino__trace_track_of(trace, row)];
}

/* Is the event of `a` that of `b`? What may be lost may be absent, never another. */
static bool same_event(const kino__trace *a, const event *x, const kino__trace *b, const event *y,
                       bool may_lack)
{
    uint32_t i = x->row, k = y->row;
    int64_t start = a->ts[i] == KINO_NO_TIME ? a->ts[i] : a->ts[i] + a->origin_ns;
    int64_t wanted = b->ts[k] == KINO_NO_TIME ? b->ts[k] : b->ts[k] + b->origin_ns;
    const kino__track *track = track_of(a, i), *other = track_of(b, k);
    bool has_text_id = a->flags[i] & KINO__FLAG_ID_TEXT;
    return start == wanted && a->dur[i] == b->dur[k] && a->phase[i] == b->phase[k] &&
           a->flags[i] == b->flags[k] &&
           kino__str_equal(kino__trace_string(a, a->name[i]), kino__trace_string(b, b->name[k])) &&
           kino__str_equal(kino__trace_category_text(a, a->category[i]),
                           kino__trace_category_text(b, b->category[k])) &&
           same_label(a, &track->pid, b, &other->pid) &&
           same_label(a, &track->tid, b, &other->tid) &&
           kino__str_equal(kino__trace_string(a, track->name),
                           kino__trace_string(b, other->name)) &&
           kino__str_equal(kino__trace_string(a, track->process_name),
                           kino__trace_string(b, other->process_name)) &&
           track->kind == other->kind && track->kinds == other->kinds &&
           track->device == other->device && track->stream == other->stream &&
           (has_text_id ||
            same_number(kino__trace_bind_id(a, i), kino__trace_bind_id(b, k), may_lack)) &&
           (!has_text_id || kino__str_equal(kino__trace_string(a, a->bind[i]),
                                            kino__trace_string(b, b->bind[k]))) &&
           same_number(kino__trace_correlation(a, i), kino__trace_correlation(b, k), may_lack) &&
           same_number(kino__trace_external(a, i), kino__trace_external(b, k), may_lack) &&
           same_text(&x->args, &y->args, may_lack) && same_text(&x->odd[0], &y->odd[0], may_lack) &&
           same_text(&x->odd[1], &y->odd[1], may_lack);
}

static bool same_head(const kino__trace *a, const kino__trace *b)
{
    bool same = a->number_count == b->number_count && a->origin_ns == b->origin_ns &&
                a->base_ns == b->base_ns && a->is_epoch == b->is_epoch &&
                a->is_array == b->is_array && a->rank == b->rank &&
                a->world_size == b->world_size && a->pair_count == b->pair_count &&
                a->text_bytes == b->text_bytes && kino__str_equal(a->host, b->host) &&
                kino__str_equal(a->worker, b->worker) && kino__str_equal(a->span, b->span) &&
                a->metadata.count == b->metadata.count;
    for (size_t i = 0; same && i < a->metadata.count; i++)
        same = kino__str_equal(a->metadata.items[i].key, b->metadata.items[i].key) &&
               kino__str_equal(a->metadata.items[i].value, b->metadata.items[i].value);
    return same;
}

/* Tracks are ranges that cover all rows; their rows are in order. */
static bool are_tracks_sound(const kino__trace *trace)
{
    uint32_t row = 0;
    bool sound = true;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        sound &= track->first == row && track->count > 0;
        for (uint32_t i = 1; sound && i < track->count; i++)
            sound = trace->ts[row + i - 1] <= trace->ts[row + i];
        row += track->count;
    }
    return sound && row == trace->event_count;
}

/* Is `got` the original, or a part of it with the rest in the ledger? */
static bool is_honest(const kino__trace *got, const snapshot *original, const kino__ledger *before)
{
    snapshot here;
    const kino__trace *want = original->trace;
    snapshot_init(&here, got);
    uint64_t lost_events = got->ledger.count[KINO__DAMAGE_LOST_EVENTS],
             lost_arguments = got->ledger.count[KINO__DAMAGE_LOST_ARGUMENTS];
    bool honest = same_head(got, want) && are_tracks_sound(got) &&
                  got->event_count + lost_events == want->event_count;
    for (uint32_t i = 0; honest && i < got->number_count; i++)
        if (here.events[i].row != KINO_NO_ROW)
            honest =
                original->events[i].row != KINO_NO_ROW &&
                same_event(got, &here.events[i], want, &original->events[i], lost_arguments > 0);
    for (int d = 0; honest && d < KINO__DAMAGE_BAD_INDEX; d++)
        honest = got->ledger.count[d] == before->count[d];
    snapshot_deinit(&here);
    return honest;
}

/* -- tests */

TEST(kino_file_gives_back_every_event)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, small_groups, 1);
    kino__trace *trace = load_all(kino__buffer_str(&file));
    snapshot original;
    snapshot_init(&original, json);
    CHECK_EQ(json->event_count, 14u); /* 16 elements, one no event, one the end of a pair */
    CHECK_EQ(trace->event_count, 14u);
    CHECK_EQ(json->pair_count, 1u);
    CHECK_EQ(json->odd.count, trace->odd.count);
    CHECK_EQ(json->odd.count, (size_t)4); /* a text, two wide numbers, the end of a pair */
    CHECK(is_honest(trace, &original, &json->ledger));
    snapshot_deinit(&original);
    kino__trace_free(trace);
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

TEST_THREADS(kino_file_is_the_same_for_every_number_of_threads)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer one = make_file(json, small_groups, 1), three = make_file(json, small_groups, 3);
    REQUIRE_EQ(one.size, three.size);
    CHECK(memcmp(one.data, three.data, one.size) == 0);
    kino__buffer_deinit(&one);
    kino__buffer_deinit(&three);
    kino__trace_free(json);
}

typedef struct outcome {
    size_t refused, whole, partial;
} outcome;

static void try_image(kino_str bytes, const snapshot *original, outcome *o, const char *what,
                      size_t where)
{
    kino_error err = {0};
    kino__trace *trace = load_image(bytes, &err);
    if (!trace) {
        o->refused++;
        if (err.message[0] == '\0')
            CHECK_EQ(where, SIZE_MAX);
        return;
    }
    REQUIRE(kino__trace_need(trace, KINO__COLUMN_ALL, NULL));
    const kino__ledger *before = &original->trace->ledger;
    if (!is_honest(trace, original, before)) {
        printf("    %s %zu: ledger %s\n", what, where, chrome_ledger_text(trace));
        test_end_failed();
    }
    bool is_partial = trace->ledger.count[KINO__DAMAGE_LOST_EVENTS] ||
                      trace->ledger.count[KINO__DAMAGE_LOST_ARGUMENTS];
    o->partial += is_partial;
    o->whole += !is_partial;
    kino__trace_free(trace);
}

TEST(kino_file_with_any_bit_flipped_is_refused_or_honest)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, fewer_groups, 1);
    snapshot original;
    outcome o = {0};
    snapshot_init(&original, json);
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << (bit % 8));
        try_image(kino__buffer_str(&file), &original, &o, "bit", bit);
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << (bit % 8));
    }
    /* all three happen: metadata, index or padding, groups */
    CHECK(o.refused > 1000);
    CHECK(o.whole > 1000);
    CHECK(o.partial > 10000);
    snapshot_deinit(&original);
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

TEST(kino_file_cut_at_any_length_is_refused_or_honest)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, small_groups, 1);
    snapshot original;
    outcome o = {0};
    snapshot_init(&original, json);
    for (size_t size = 0; size < file.size; size++)
        try_image((kino_str){file.data, size}, &original, &o, "size", size);
    CHECK(o.refused > 100);
    CHECK(o.whole > 100);
    CHECK(o.partial > 1000);
    snapshot_deinit(&original);
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

/* -- groups of the real size */

enum { MANY = KINO__KINO_ROW_GROUP + 5000, TRACKS = 3 };

/* Event i: track i % 3, start i us, argument n = i; so a track has every third number. */
static kino__trace *load_many(void)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (int i = 0; i < MANY; i++)
        kino__buffer_printf(&text,
                            "%s{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":%d,\"ts\":%d,"
                            "\"dur\":1,\"args\":{\"n\":%d}}",
                            i ? "," : "", i % TRACKS, i, i);
    kino__buffer_printf(&text, "]");
    REQUIRE(!text.failed);
    kino__trace *trace = load_json(kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return trace;
}

/* Flips a bit of the payload of the first chunk of this kind, tag and group. */
static void break_chunk(kino__buffer *file, unsigned kind, unsigned tag, unsigned group)
{
    kino__chunk_list chunks = {0};
    uint64_t end;
    REQUIRE_EQ(kino__index_read(kino__buffer_str(file), &chunks, &end), KINO__INDEX_FINE);
    size_t i = 0;
    while (i < chunks.count && (chunks.items[i].kind != kind || chunks.items[i].tag != tag ||
                                chunks.items[i].group != group))
        i++;
    REQUIRE(i < chunks.count && chunks.items[i].size > 0);
    file->data[chunks.items[i].offset + KINO__CHUNK_HEADER_SIZE] ^= 1;
    kino__vec_deinit(&chunks);
}

static void check_event(const kino__trace *trace, uint32_t row)
{
    uint32_t number = trace->number[row];
    CHECK_EQ(trace->ts[row], (int64_t)number * 1000);
    CHECK_EQ(trace->dur[row], 1000);
    CHECK_EQ(track_of(trace, row)->tid.number, (int64_t)number % TRACKS);
}

TEST(kino_file_with_a_broken_row_group_lacks_exactly_its_rows)
{
    kino__trace *json = load_many();
    kino__group_sizes sizes = {KINO__KINO_ROW_GROUP, KINO__KINO_ARG_GROUP, KINO__KINO_ODD_GROUP};
    kino__buffer file = make_file(json, sizes, 2);
    break_chunk(&file, KINO__CHUNK_COLUMN, KINO__TAG_DUR, 0);
    kino__trace *trace = load_all(kino__buffer_str(&file));
    /* the second group is the last 5000 rows, all of the last track */
    REQUIRE_EQ(trace->event_count, (uint32_t)MANY - KINO__KINO_ROW_GROUP);
    CHECK_EQ(trace->ledger.count[KINO__DAMAGE_LOST_EVENTS], (uint64_t)KINO__KINO_ROW_GROUP);
    CHECK_EQ(trace->ledger.count[KINO__DAMAGE_LOST_ARGUMENTS], 0u);
    REQUIRE_EQ(trace->tracks.count, (size_t)1);
    CHECK_EQ(trace->tracks.items[0].tid.number, 2);
    CHECK(are_tracks_sound(trace));
    for (uint32_t row = 0; row < trace->event_count; row += 97) {
        check_event(trace, row);
        CHECK_EQ(trace->number[row], json->number[KINO__KINO_ROW_GROUP + row]);
    }
    const int64_t *n = kino__args_int_column(trace, "n");
    REQUIRE(n != NULL);
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (n[row] != trace->number[row])
            REQUIRE_EQ(n[row], (int64_t)trace->number[row]);
    kino__trace_free(trace);
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

TEST(kino_file_with_a_broken_argument_group_lacks_exactly_its_arguments)
{
    kino__trace *json = load_many();
    kino__group_sizes sizes = {KINO__KINO_ROW_GROUP, KINO__KINO_ARG_GROUP, KINO__KINO_ODD_GROUP};
    kino__buffer file = make_file(json, sizes, 2);
    break_chunk(&file, KINO__CHUNK_ARG_COLUMN, 1, 1);
    kino__trace *trace = load_all(kino__buffer_str(&file));
    REQUIRE_EQ(trace->event_count, (uint32_t)MANY);
    CHECK_EQ(trace->ledger.count[KINO__DAMAGE_LOST_EVENTS], 0u);
    CHECK_EQ(trace->ledger.count[KINO__DAMAGE_LOST_ARGUMENTS], (uint64_t)KINO__KINO_ARG_GROUP);
    const int64_t *n = kino__args_int_column(trace, "n");
    REQUIRE(n != NULL);
    for (uint32_t row = 0; row < MANY; row++) {
        int64_t number = trace->number[row];
        bool is_lost = number / KINO__KINO_ARG_GROUP == 1;
        if (n[row] != (is_lost ? KINO_NO_INT : number))
            REQUIRE_EQ(n[row], is_lost ? KINO_NO_INT : number);
        if (row % 1009 == 0) {
            char want[40];
            (void)snprintf(want, sizeof want, "{\"n\":%d}", (int)number);
            CHECK_STR(chrome_args(trace, row), is_lost ? "" : want);
            check_event(trace, row);
        }
    }
    kino__trace_free(trace);
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

/* -- columns when they are needed */

typedef struct reading {
    const kino__trace *trace;
    pthread_t thread;
    unsigned columns;
    uint64_t sum;
    bool ok;
} reading;

static void *read_columns(void *context)
{
    reading *r = context;
    kino__text_cursor cursor;
    r->ok = kino__trace_need(r->trace, r->columns, NULL);
    kino__text_cursor_init(&cursor, r->trace->text);
    for (uint32_t row = 0; r->ok && row < r->trace->event_count; row++) {
        if (r->columns & KINO__COLUMN_DUR)
            r->sum += (uint64_t)r->trace->dur[row];
        if (r->columns & KINO__COLUMN_PLACE)
            r->sum += kino__args_text(r->trace, row, &cursor).size;
    }
    kino__text_cursor_deinit(&cursor);
    return NULL;
}

TEST_THREADS(kino_columns_may_be_needed_by_many_threads_at_once)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, small_groups, 1);
    for (unsigned round = 0; round < 20; round++) {
        kino__trace *trace = load_image(kino__buffer_str(&file), NULL);
        REQUIRE(trace != NULL);
        CHECK(trace->ts == NULL && trace->has_args == NULL); /* nothing is decoded yet */
        reading readers[4];
        uint64_t sums[2] = {0};
        for (unsigned i = 0; i < 4; i++) {
            readers[i] =
                (reading){.trace = trace, .columns = i % 2 ? KINO__COLUMN_DUR : KINO__COLUMN_PLACE};
            REQUIRE_EQ(pthread_create(&readers[i].thread, NULL, read_columns, &readers[i]), 0);
        }
        for (unsigned i = 0; i < 4; i++) {
            pthread_join(readers[i].thread, NULL);
            CHECK(readers[i].ok);
            CHECK(i < 2 || readers[i].sum == sums[i % 2]);
            sums[i % 2] = readers[i].sum;
        }
        CHECK(sums[0] > 0 && sums[1] > 0);
        CHECK(trace->name == NULL); /* and still nobody has asked for this */
        kino__trace_free(trace);
    }
    kino__trace_free(json);
    kino__buffer_deinit(&file);
}

/* -- files made to harm */

/* The file with another payload in the first chunk of this kind and tag, all checksums right. */
static void replace_chunk(kino__buffer *file, unsigned kind, unsigned tag, kino__chunk_codec codec,
                          kino_str payload, size_t raw_size)
{
    kino__chunk_list chunks = {0};
    uint64_t end;
    kino__buffer made = {0};
    bool is_done = false;
    REQUIRE_EQ(kino__index_read(kino__buffer_str(file), &chunks, &end), KINO__INDEX_FINE);
    kino__buffer_add(&made, (kino_str){file->data, KINO__FILE_HEAD_SIZE});
    for (size_t i = 0; i < chunks.count; i++) {
        kino__chunk *c = &chunks.items[i];
        kino_str bytes = kino__chunk_payload(kino__buffer_str(file), c);
        if (!is_done && c->kind == kind && c->tag == tag) {
            is_done = true;
            bytes = payload;
            c->codec = (uint8_t)codec;
            c->raw_size = (uint32_t)raw_size;
        }
        c->offset = made.size;
        kino__chunk_add(c, bytes, &made);
    }
    kino__index_add(chunks.items, chunks.count, made.size, &made);
    REQUIRE(is_done && !made.failed);
    kino__vec_deinit(&chunks);
    kino__buffer_deinit(file);
    *file = made;
}

/* The metadata, decoded. */
static kino__buffer read_metadata(const kino__buffer *file)
{
    kino__chunk chunk;
    REQUIRE(kino__chunk_header_read(kino__buffer_str(file), KINO__FILE_HEAD_SIZE, &chunk));
    REQUIRE(chunk.kind == KINO__CHUNK_METADATA && chunk.codec == KINO__CHUNK_ZSTD);
    kino__zstd_state zstd = {0};
    kino__buffer raw = {0};
    char *to = kino__buffer_reserve(&raw, chunk.raw_size);
    kino_str payload = kino__chunk_payload(kino__buffer_str(file), &chunk);
    REQUIRE(to && kino__zstd_unpack(&zstd, payload, to, chunk.raw_size));
    raw.size = chunk.raw_size;
    kino__zstd_state_deinit(&zstd);
    return raw;
}

static void set_field(kino__buffer *file, unsigned field, uint64_t value)
{
    kino__buffer raw = read_metadata(file);
    kino__bytes in = kino__bytes_start(kino__buffer_str(&raw));
    while (!in.failed && in.at < in.end) {
        bool is_it = kino__bytes_get(&in, 2) == field;
        kino_str found = kino__bytes_get_text(&in);
        if (is_it && found.size == 8)
            kino__put_le((unsigned char *)raw.data + (found.data - raw.data), value, 8);
    }
    replace_chunk(file, KINO__CHUNK_METADATA, 0, KINO__CHUNK_RAW, kino__buffer_str(&raw), raw.size);
    kino__buffer_deinit(&raw);
}

/* Counts that the file cannot have are refused before memory is asked for. */
TEST(kino_file_that_claims_too_much_is_refused)
{
    static const struct {
        kino__kino_field field;
        uint64_t value;
        const char *want;
    } cases[] = {
        {KINO__FIELD_NUMBER_COUNT, 4000000000, "claims 4000000000 events but has only"},
        {KINO__FIELD_EVENT_COUNT, 4000000000, "the metadata of the .kino file"},
        {KINO__FIELD_EVENT_COUNT, UINT64_MAX, "the metadata of the .kino file"},
        {KINO__FIELD_ROW_GROUP, 0, "the metadata of the .kino file"},
        {KINO__FIELD_ROW_GROUP, 1u << 30, "the metadata of the .kino file"},
        {KINO__FIELD_STRING_COUNT, 4000000000, "the strings of the .kino file"},
        {KINO__FIELD_TRACK_COUNT, 14, "the tracks of the .kino file"},
    };
    kino__trace *json = load_json(KINO__STR(rich));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__group_sizes sizes = {KINO__KINO_ROW_GROUP, KINO__KINO_GROUP_MAX, 100};
        kino__buffer file = make_file(json, sizes, 1);
        set_field(&file, cases[i].field, cases[i].value);
        kino_error err = {0};
        kino__trace *trace = load_image(kino__buffer_str(&file), &err);
        CHECK(trace == NULL);
        if (!CHECK(strstr(err.message, cases[i].want) != NULL))
            printf("    field %d: '%s'\n", (int)cases[i].field, err.message);
        kino__trace_free(trace);
        kino__buffer_deinit(&file);
    }
    kino__trace_free(json);
}

/* Few bytes that become many: a reader does not unpack them, and so a writer does not pack them. */
TEST(kino_file_has_no_bombs)
{
    enum { BOMB = 64 << 20 };
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, fewer_groups, 1), packed = {0};
    kino__buffer raw = read_metadata(&file), out = {0};
    kino__packer packer = {0};
    /* a field that nobody knows, so that only its size is wrong */
    kino__bytes_add(&raw, 1000, 2);
    kino__bytes_add(&raw, BOMB, 4);
    char *zeros = kino__buffer_reserve(&raw, BOMB);
    REQUIRE(zeros != NULL);
    memset(zeros, 0, BOMB);
    raw.size += BOMB;
    REQUIRE(kino__zstd_pack(&packer.zstd, kino__buffer_str(&raw), 6, &packed));
    CHECK(packed.size < 100000);
    replace_chunk(&file, KINO__CHUNK_METADATA, 0, KINO__CHUNK_ZSTD, kino__buffer_str(&packed),
                  raw.size);
    kino_error err = {0};
    CHECK(load_image(kino__buffer_str(&file), &err) == NULL);
    CHECK(strstr(err.message, "the metadata of the .kino file") != NULL);

    kino__chunk chunk = {.kind = KINO__CHUNK_METADATA};
    kino__pack_chunk(&packer, chunk, kino__buffer_str(&raw), &out);
    REQUIRE(kino__chunk_header_read(kino__buffer_str(&out), 0, &chunk));
    CHECK_EQ(chunk.codec, KINO__CHUNK_RAW);
    out.size = 0;
    kino__pack_chunk(&packer, chunk, (kino_str){zeros, KINO__KINO_RAW_FREE}, &out);
    REQUIRE(kino__chunk_header_read(kino__buffer_str(&out), 0, &chunk));
    CHECK_EQ(chunk.codec, KINO__CHUNK_ZSTD);
    kino__packer_deinit(&packer);
    kino__buffer_deinit(&out);
    kino__buffer_deinit(&raw);
    kino__buffer_deinit(&packed);
    kino__buffer_deinit(&file);
    kino__trace_free(json);
}

/* Checksums hold, but the events have templates that do not exist. */
TEST(kino_column_that_cannot_be_made_leaves_the_others_alone)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, fewer_groups, 1), column = {0};
    kino__column_scratch scratch = {0};
    int64_t templates[16];
    for (size_t i = 0; i < 16; i++)
        templates[i] = 1000;
    kino__column_values values = {templates, 16, false, 0};
    REQUIRE(kino__column_encode(&values, KINO__METHOD_PLAIN, &scratch, &column));
    replace_chunk(&file, KINO__CHUNK_ARG_COLUMN, 0, KINO__CHUNK_RAW, kino__buffer_str(&column),
                  column.size);
    kino__trace *trace = load_image(kino__buffer_str(&file), NULL);
    REQUIRE(trace && kino__trace_need(trace, KINO__COLUMN_TS | KINO__COLUMN_NUMBER, NULL));
    const int64_t *ts = trace->ts;
    const uint32_t *number = trace->number;
    int64_t first = ts[0];
    kino_error err;
    CHECK_EQ(kino__trace_require(trace, KINO__COLUMN_ALL, NULL, &err), KINO_FORMAT);
    CHECK(strstr(err.message, "a group of arguments has a valid checksum but invalid content") !=
          NULL);
    CHECK(trace->has_args == NULL && trace->dur == NULL);
    CHECK(trace->ts == ts && trace->number == number && ts[0] == first);
    CHECK(kino__trace_need(trace, KINO__COLUMN_TS | KINO__COLUMN_DUR, NULL));
    CHECK(trace->dur != NULL);
    kino__column_scratch_deinit(&scratch);
    kino__buffer_deinit(&column);
    kino__buffer_deinit(&file);
    kino__trace_free(trace);
    kino__trace_free(json);
}

/* Loads a file whose first chunk of this column holds these values; the columns must not come. */
static void check_column_refused(kino_str original, unsigned tag, const int64_t *items,
                                 size_t count)
{
    kino__buffer file = {0}, column = {0};
    kino__column_scratch scratch = {0};
    kino__column_values values = {items, count, false, 0};
    kino_error err;
    kino__buffer_add(&file, original);
    REQUIRE(kino__column_encode(&values, KINO__METHOD_PLAIN, &scratch, &column));
    replace_chunk(&file, KINO__CHUNK_COLUMN, tag, KINO__CHUNK_RAW, kino__buffer_str(&column),
                  column.size);
    kino__trace *trace = load_image(kino__buffer_str(&file), NULL);
    REQUIRE(trace != NULL);
    CHECK_EQ(kino__trace_require(trace, KINO__COLUMN_ALL, NULL, &err), KINO_FORMAT);
    CHECK(strstr(err.message, "a column has a valid checksum but invalid content") != NULL);
    CHECK(err.offset >= KINO__FILE_HEAD_SIZE && err.offset < file.size);
    kino__column_scratch_deinit(&scratch);
    kino__buffer_deinit(&column);
    kino__buffer_deinit(&file);
    kino__trace_free(trace);
}

/* Checksums hold, but names, numbers or the count of rows do not: damage, not lack of memory. */
TEST(kino_column_that_makes_no_sense_is_called_damage)
{
    kino__trace *json = load_json(KINO__STR(rich));
    kino__buffer file = make_file(json, fewer_groups, 1);
    int64_t large[7], equal[7];
    for (size_t i = 0; i < 7; i++) {
        large[i] = 1000000; /* no such string, no such event */
        equal[i] = 1;       /* several events of one number */
    }
    check_column_refused(kino__buffer_str(&file), KINO__TAG_NAME, large, 7);
    check_column_refused(kino__buffer_str(&file), KINO__TAG_NUMBER, large, 7);
    check_column_refused(kino__buffer_str(&file), KINO__TAG_NUMBER, equal, 7);
    check_column_refused(kino__buffer_str(&file), KINO__TAG_DUR, equal, 6); /* too few */
    kino__buffer_deinit(&file);
    kino__trace_free(json);
}
