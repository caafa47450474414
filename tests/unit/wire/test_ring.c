/* The buffers of a recorder as events: hand-made segments, texts and anchors. */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "unit/test.h"
#include "wire/ring.h"

/* -- a recording made by hand */

enum { SEGMENTS = 2, TEXTS = 4096 };
static const int64_t real_ns = 1800000000000000000; /* of tick 1000 */

typedef struct recording {
    uint64_t meta[(KINO__RING_META_SIZE + 2 * 128 + 2 * 4 * 32) / 8];
    uint64_t texts[TEXTS / 8];
    size_t texts_used;
    uint32_t names;
    kino_impl_v1_segment *segments[SEGMENTS];
    kino__ring_image image; /* of finish */
    kino__buffer json;      /* of json_of */
} recording;

static uint32_t add_text(recording *r, uint32_t kind, const char *first, const char *second)
{
    kino__ring_text entry = {.kind = kind,
                             .sizes = {(uint32_t)strlen(first), (uint32_t)strlen(second)}};
    entry.id = kind == KINO__TEXT_NAME ? ++r->names : 0;
    size_t size = sizeof entry + strlen(first) + strlen(second);
    entry.size = (uint32_t)((size + 7) / 8 * 8);
    char *at = (char *)r->texts + r->texts_used;
    memcpy(at, &entry, sizeof entry);
    memcpy(at + sizeof entry, first, strlen(first));
    memcpy(at + sizeof entry + strlen(first), second, strlen(second));
    r->texts_used += entry.size;
    return entry.id;
}

/* Two ns per tick; threads 71 and 72 have a segment each; started at tick 1000. The first name is
 * that of lost ones, as the recorder has it. */
static void begin(recording *r)
{
    *r = (recording){0};
    kino__ring_meta *meta = (kino__ring_meta *)(void *)r->meta;
    *meta = (kino__ring_meta){.version = KINO__RING_VERSION,
                              .pid = 70,
                              .clock = KINO__RING_CLOCK_TSC,
                              .state = KINO__RING_STOPPED,
                              .session = 1,
                              .start_ticks = 1000,
                              .stop_ticks = 2001000,
                              .thread_offset = KINO__RING_META_SIZE,
                              .thread_capacity = 2,
                              .anchor_offset = KINO__RING_META_SIZE + 2 * 128,
                              .anchor_capacity = 4,
                              .anchor_count = {2, 0},
                              .process = "made"};
    memcpy(meta->magic, KINO__RING_MAGIC, 8);
    kino__ring_thread *threads = (kino__ring_thread *)(void *)(r->meta + KINO__RING_META_SIZE / 8);
    kino__ring_anchor *anchors = (kino__ring_anchor *)(void *)(threads + 2);
    anchors[0] = (kino__ring_anchor){1000, 5000000, real_ns, 10};
    anchors[1] = (kino__ring_anchor){2001000, 9000000, real_ns + 4000000, 10};
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        threads[i] = (kino__ring_thread){KINO__THREAD_LIVE, i + 1, 71 + i, 0, {0}, "", 1000, 0};
        r->segments[i] = calloc(1, sizeof *r->segments[i]);
        REQUIRE(r->segments[i]);
        r->segments[i]->stamp = (uint64_t)(i + 1) << 16 | 5;
        r->segments[i]->index = i;
        r->segments[i]->slot = i;
        r->segments[i]->tid = 71 + i;
        r->segments[i]->session = 1;
    }
    (void)add_text(r, KINO__TEXT_NAME, "(name lost)", "");
}

static void end(recording *r)
{
    kino__buffer_deinit(&r->json);
    kino__ring_image_deinit(&r->image);
    for (int i = 0; i < SEGMENTS; i++)
        free(r->segments[i]);
}

static kino_impl_v1_record *add(recording *r, int segment, kino_impl_v1_record record)
{
    kino_impl_v1_segment *s = r->segments[segment];
    s->records[s->count] = record;
    return &s->records[s->count++];
}

static uint64_t reference(int segment, uint32_t record)
{
    return (uint64_t)segment << 32 | (uint64_t)record << 16 | 5;
}

static void add_span(recording *r, int segment, uint64_t begin, uint64_t end, uint32_t name)
{
    add(r, segment, (kino_impl_v1_record){begin, end, name, KINO_IMPL_V1_SPAN, 0, 0, 0});
}

/* An argument of the span that `of` refers to. */
static void add_int(recording *r, int segment, uint32_t key, int64_t value, uint64_t of)
{
    add(r, segment,
        (kino_impl_v1_record){0, (uint64_t)value, key, KINO_IMPL_V1_ARG, KINO_IMPL_V1_ARG_INT, 0,
                              of});
}

static void finish(recording *r)
{
    kino_error err;
    kino__ring_image *image = &r->image;
    REQUIRE(kino__ring_add_meta(image, (kino_str){(const char *)r->meta, sizeof r->meta}, &err) ==
            KINO_OK);
    kino__ring_add_texts(image, (kino_str){(const char *)r->texts, sizeof r->texts});
    for (int i = 0; i < SEGMENTS; i++)
        kino__ring_add_segment(image,
                               (kino_str){(const char *)r->segments[i], sizeof *r->segments[i]});
    REQUIRE(kino__ring_finish(image, &err) == KINO_OK);
}

/* The whole document, terminated. */
static const char *json_of(recording *r)
{
    kino__buffer *out = &r->json;
    kino__sink *sink = NULL;
    kino_error err = {0};
    REQUIRE(kino__memory_sink_new(out, &sink, &err) == KINO_OK);
    REQUIRE(kino__ring_write_json(&r->image, "a \"name\"", sink, &err) == KINO_OK);
    REQUIRE(kino__sink_close(sink, true, &err) == KINO_OK);
    CHECK(kino__json_is_valid(kino__buffer_str(out)));
    kino__buffer_add(out, (kino_str){"", 1});
    return out->data;
}

/* -- the clock */

TEST(ring_clock_goes_through_its_anchors)
{
    /* 2 ns a tick, then 1 ns a tick */
    const kino__ring_anchor anchors[] = {
        {1000, 5000000, 0, 1}, {2001000, 9000000, 0, 1}, {4001000, 11000000, 0, 1}};
    kino__ring_clock clock;
    size_t hint = 99;
    REQUIRE(kino__ring_clock_init(&clock, KINO__RING_CLOCK_TSC, anchors, 3));
    CHECK_EQ(kino__ring_clock_raw(&clock, 1000, &hint), 5000000);
    CHECK_EQ(kino__ring_clock_raw(&clock, 1001, &hint), 5000002);
    CHECK_EQ(kino__ring_clock_raw(&clock, 2001000, &hint), 9000000);
    CHECK_EQ(kino__ring_clock_raw(&clock, 2001001, &hint), 9000001);
    CHECK_EQ(kino__ring_clock_raw(&clock, 4001000 + 500, &hint), 11000500); /* behind the last */
    CHECK_EQ(kino__ring_clock_raw(&clock, 900, &hint), 5000000 - 200);      /* before the first */
    kino__ring_clock_deinit(&clock);
}

TEST(ring_clock_passes_over_anchors_that_tell_nothing)
{
    const kino__ring_anchor anchors[] = {{1000, 5000000, 7, 1},
                                         {1010, 5000900, 7, 1}, /* too close */
                                         {900, 8000000, 7, 1},  /* back in ticks */
                                         {1002000, 4000000, 7, 1} /* back in time */,
                                         {2001000, 9000000, 7, 1}};
    kino__ring_clock clock;
    size_t hint = 0;
    REQUIRE(kino__ring_clock_init(&clock, KINO__RING_CLOCK_TSC, anchors, 5));
    CHECK_EQ(clock.lines.count, 1);
    CHECK_EQ(kino__ring_clock_raw(&clock, 1001000, &hint), 7000000);
    CHECK_EQ(clock.real_minus_raw, 7 - 5000000);
    kino__ring_clock_deinit(&clock);
    REQUIRE(kino__ring_clock_init(&clock, KINO__RING_CLOCK_MONOTONIC, NULL, 0));
    CHECK_EQ(kino__ring_clock_raw(&clock, 123456789, &hint), 123456789);
    kino__ring_clock_deinit(&clock);
}

TEST(ring_clock_is_exact_over_a_long_capture)
{
    /* 2.5 GHz: 0.4 ns a tick, ten minutes */
    const uint64_t ticks = (uint64_t)600 * 2500000000;
    const kino__ring_anchor anchors[] = {{0, 1, 0, 1}, {ticks, 600000000001, 0, 1}};
    kino__ring_clock clock;
    size_t hint = 0;
    REQUIRE(kino__ring_clock_init(&clock, KINO__RING_CLOCK_TSC, anchors, 2));
    int64_t last = kino__ring_clock_raw(&clock, ticks, &hint);
    CHECK(last >= 600000000000 && last <= 600000000001); /* one ns of rounding */
    kino__ring_clock_deinit(&clock);
}

/* -- events */

TEST(ring_events_have_the_times_and_rows_of_their_records)
{
    recording r;
    begin(&r);
    uint32_t name = add_text(&r, KINO__TEXT_NAME, "op", "cpu_op");
    /* tick 2000 is 2000 ns behind the start; 500 ticks are 1000 ns */
    add_span(&r, 1, 2000, 2500, name);
    add_span(&r, 0, 3000, 0, name);
    finish(&r);
    CHECK_EQ(r.image.open_count, 1);
    CHECK_EQ(r.image.base_ns % INT64_C(7889238000000000), 0);
    int64_t start = real_ns - r.image.base_ns;
    const char *json = json_of(&r);
    char want[256];
    (void)snprintf(
        want, sizeof want,
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": 70, \"tid\": 72, "
        "\"ts\": %lld.%03lld, \"dur\": 1.000}",
        (long long)(start + 2000) / 1000, (long long)(start + 2000) % 1000);
    CHECK(strstr(json, want) != NULL);
    /* an open span lasts until the stop: 1998000 ticks are 3996 us */
    CHECK(strstr(json, "\"tid\": 71, \"ts\": ") != NULL);
    CHECK(strstr(json, "\"dur\": 3996.000, \"args\": {\"finished\":false}}") != NULL);
    CHECK(strstr(json, "\"kino_loss\": {\"open_spans\":1}") != NULL);
    CHECK(strstr(json, "\"traceName\": \"a \\\"name\\\"\"") != NULL);
    end(&r);
}

TEST(ring_arguments_find_their_span_wherever_they_stand)
{
    recording r;
    begin(&r);
    uint32_t outer = add_text(&r, KINO__TEXT_NAME, "outer", "cpu_op");
    uint32_t inner = add_text(&r, KINO__TEXT_NAME, "inner", "cpu_op");
    uint32_t key = add_text(&r, KINO__TEXT_NAME, "key", "");
    add_span(&r, 0, 2000, 0, outer);
    add_int(&r, 0, key, 1, reference(0, 0));
    add_span(&r, 0, 2100, 2200, inner);
    add_int(&r, 0, key, 2, reference(0, 0));
    /* of another thread: an argument, and the end */
    add_int(&r, 1, key, -3, reference(0, 0));
    add(&r, 1, (kino_impl_v1_record){0, 3000, 0, KINO_IMPL_V1_END, 0, 0, reference(0, 0)});
    /* of a span that was written over: another generation */
    add_int(&r, 1, key, 9, reference(0, 2) ^ 1);
    finish(&r);
    CHECK_EQ(r.image.open_count, 0);
    const char *json = json_of(&r);
    CHECK(strstr(json, "\"dur\": 2.000, \"args\": {\"key\":1,\"key\":2,\"key\":-3}}") != NULL);
    CHECK(strstr(json, "\"name\": \"inner\", \"pid\": 70, \"tid\": 71") != NULL);
    CHECK(strstr(json, "\"dur\": 0.200}") != NULL); /* the inner one has none */
    end(&r);
}

/* Simple spans have a way of their own through events and JSON: digits are grouped there. */
TEST(ring_json_writes_times_of_any_length)
{
    static const struct {
        int64_t ns;
        const char *text;
    } lengths[] = {
        {0, "0.000"},
        {2, "0.002"},
        {98, "0.098"},
        {998, "0.998"},
        {1000, "1.000"},
        {9998, "9.998"},
        {10002, "10.002"},
        {99998, "99.998"},
        {100000, "100.000"},
        {999998, "999.998"},
        {1000000, "1000.000"},
        {1002004, "1002.004"},
        {30405060, "30405.060"},
        {999999998, "999999.998"},
        {1000000000, "1000000.000"},
        {1000002006, "1000002.006"},
        {61004500120, "61004500.120"},
        {86400000000000, "86400000000.000"},
    };
    enum { COUNT = sizeof lengths / sizeof *lengths };
    static const char *const names[] = {
        "a", "exactly_sixteen_", "exactly_thirty_two_characters_xx",
        "one_that_is_longer_than_two_steps_of_the_copy_of_names_which_are_thirty_two_bytes_each"};
    recording r;
    begin(&r);
    uint32_t first = r.names + 1;
    for (int i = 0; i < 4; i++)
        (void)add_text(&r, KINO__TEXT_NAME, names[i], "cpu_op");
    for (uint32_t i = 0; i < COUNT; i++) /* at 2 us, and as long behind that as they are long */
        add_span(&r, (int)(i % 2), 2000 + (uint64_t)lengths[i].ns / 2,
                 2000 + (uint64_t)lengths[i].ns, first + i % 4);
    finish(&r);
    const char *json = json_of(&r);
    for (uint32_t i = 0; i < COUNT; i++) {
        char want[512];
        long long at = (long long)(real_ns - r.image.base_ns + 2000 + lengths[i].ns);
        (void)snprintf(want, sizeof want,
                       ",\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 70, "
                       "\"tid\": %u, \"ts\": %lld.%03lld, \"dur\": %s}",
                       names[i % 4], 71 + i % 2, at / 1000, at % 1000, lengths[i].text);
        CHECK_STR(strstr(json, want) ? want : "not there", want);
    }
    end(&r);
}

TEST(ring_json_is_valid_whatever_the_texts_are)
{
    recording r;
    begin(&r);
    uint32_t bad = add_text(&r, KINO__TEXT_NAME, "a\"b\\c\n\x01\xff\xc3\xa4", "\x80");
    (void)add_text(&r, KINO__TEXT_METADATA, "ke\"y", "not JSON");
    (void)add_text(&r, KINO__TEXT_METADATA, "traceEvents", "1"); /* ours: left out */
    (void)add_text(&r, KINO__TEXT_METADATA, "good", "1");
    (void)add_text(&r, KINO__TEXT_METADATA, "good", "{\"a\": 2}"); /* the last counts */
    (void)add_text(&r, KINO__TEXT_DEVICE, "", "{\"id\": 0");
    add_span(&r, 0, 2000, 2001, bad);
    add_span(&r, 0, 2000, 2001, 77); /* unknown */
    finish(&r);
    const char *json = json_of(&r);
    CHECK(strstr(json, "\"name\": \"a\\\"b\\\\c\\n\\u0001\xef\xbf\xbd\xc3\xa4\"") != NULL);
    CHECK(strstr(json, "\"name\": \"(name lost)\"") != NULL);
    CHECK(strstr(json, "\"ke\\\"y\": \"not JSON\"") != NULL);
    CHECK(strstr(json, "\"good\": {\"a\": 2}") != NULL);
    CHECK(strstr(json, "\"good\": 1") == NULL);
    CHECK(strstr(json, "\"traceEvents\": 1") == NULL);
    end(&r);
}

TEST(ring_records_that_make_no_sense_are_counted)
{
    recording r;
    begin(&r);
    uint32_t name = add_text(&r, KINO__TEXT_NAME, "op", "cpu_op");
    add(&r, 0, (kino_impl_v1_record){2000, 2001, name, 200, 0, 0, 0});                 /* kind */
    add_span(&r, 0, 2000, 2001, name);                                                 /* good */
    add(&r, 0, (kino_impl_v1_record){2000, 2001, name, KINO_IMPL_V1_MEMORY, 0, 0, 0}); /* short */
    add(&r, 0, (kino_impl_v1_record){2000, 1, name, KINO_IMPL_V1_ARG, 5, 900, 0});     /* beyond */
    r.segments[1]->count = UINT32_MAX; /* a whole segment */
    finish(&r);
    CHECK_EQ(r.image.damaged, 4);
    CHECK(strstr(json_of(&r), "\"damaged\":4") != NULL);
    end(&r);
}

TEST(ring_inputs_become_four_lists)
{
    recording r;
    begin(&r);
    uint32_t name = add_text(&r, KINO__TEXT_NAME, "op", "cpu_op");
    uint32_t type = add_text(&r, KINO__TEXT_NAME, "float", "");
    add_span(&r, 0, 2000, 2500, name);
    kino_impl_v1_record input = {
        1, 0, type, KINO_IMPL_V1_ARG, KINO_IMPL_V1_ARG_INPUT, 1, reference(0, 0)};
    const int64_t numbers[4] = {2, 3, 3, 1};
    kino_impl_v1_record payload;
    memcpy(&payload, numbers, sizeof payload);
    input.end = kino__ring_input(3, 0, false, 0); /* a list of one tensor */
    input.following = 0;
    add(&r, 0, input);
    input.end = kino__ring_input(1, 2, true, 0);
    input.following = 1;
    add(&r, 0, input);
    add(&r, 0, payload);
    input.end = kino__ring_input(4, 0, false, 0);
    input.following = 0;
    add(&r, 0, input);
    input.end = kino__ring_input(2, 0, false, 3);
    input.following = 1;
    add(&r, 0, input);
    memcpy(&payload, "1.5\0................", 20);
    add(&r, 0, payload);
    finish(&r);
    CHECK(strstr(json_of(&r),
                 "{\"Input Dims\":[[[2,3]],[]],\"Input Strides\":[[[3,1]],[]],"
                 "\"Input type\":[\"TensorList\",\"float\"],\"Concrete Inputs\":[\"\",\"1.5\"]}") !=
          NULL);
    end(&r);
}

TEST(ring_of_another_version_is_refused)
{
    recording r;
    kino_error err;
    begin(&r);
    ((kino__ring_meta *)(void *)r.meta)->version = KINO__RING_VERSION + 1;
    CHECK_EQ(kino__ring_add_meta(&r.image, (kino_str){(const char *)r.meta, sizeof r.meta}, &err),
             KINO_FORMAT);
    CHECK_EQ(kino__ring_add_meta(&r.image, (kino_str){(const char *)r.meta, 100}, &err),
             KINO_FORMAT);
    end(&r);
}
