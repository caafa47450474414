/* test_event_builder.c - events one by one into a trace, and every allocation of it failing in
 * turn. */
#include "base/error.h"
#include "base/str.h"
#include "store/args.h"
#include "store/event_args.h"
#include "store/event_builder.h"
#include "unit/failing_allocator.h"

static kino__label number(int64_t value)
{
    return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, value};
}

/* 40 spans with names, categories, tracks and arguments of their own; true: all were added. */
static bool fill(kino__event_builder *b, kino__event_args *args)
{
    char text[32];
    kino_strid key = kino__event_builder_text(b, KINO__STR("key"));
    for (int i = 0; i < 40; i++) {
        int size = snprintf(text, sizeof text, "name %d", i);
        kino__built_event e = {.ts = 100 - i,
                               .dur = i,
                               .bind = INT64_MAX - i, /* beside the column */
                               .external = i,
                               .phase = 'X'};
        e.name = kino__event_builder_text(b, (kino_str){text, (size_t)size});
        e.category = kino__event_builder_category(b, e.name);
        e.track =
            kino__event_builder_track(b, number(1), (kino__label){KINO__LABEL_TEXT, e.name, 0});
        kino__event_args_add(args, key, KINO__ARG_INT, (uint64_t)i);
        uint64_t shared = kino__event_args_share(args);
        kino__event_args_add(args, key, KINO__ARG_TEXT, e.name);
        e.place = kino__event_args_end(args, shared);
        if (args->bytes.failed || !kino__event_builder_add(b, &e))
            return false;
    }
    return true;
}

static void check_trace(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    CHECK_EQ(trace->event_count, 40);
    CHECK_EQ(trace->tracks.count, 40);
    CHECK_EQ(trace->origin_ns, 61);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        char args[64];
        uint32_t i = trace->number[row];
        (void)snprintf(args, sizeof args, "{\"key\": %u, \"key\": \"name %u\"}", i, i);
        CHECK_EQ(trace->ts[row], (int64_t)39 - i);
        CHECK_EQ(kino__trace_correlation(trace, row), INT64_MAX - (int64_t)i);
        CHECK_STR(kino__args_text(trace, row, &cursor), args);
    }
    kino__text_cursor_deinit(&cursor);
}

/* True: there was enough memory. */
static bool build_with(const kino__allocator *allocator)
{
    kino__event_builder b;
    kino__event_args args;
    kino__trace *trace = NULL;
    kino_error err;
    kino__event_builder_init(&b, allocator);
    kino__event_args_init(&args, allocator);
    bool is_filled = fill(&b, &args);
    REQUIRE_EQ(kino__trace_new(&trace, &err), KINO_OK);
    kino_status st = is_filled ? kino__event_builder_build(&b, trace, NULL, &err) : KINO_NOMEM;
    if (st == KINO_OK) {
        trace->text = kino__event_args_text_take(&args, &b.texts);
        REQUIRE(trace->text != NULL);
        check_trace(trace);
    } else {
        CHECK_EQ(st, KINO_NOMEM);
    }
    kino__trace_free(trace);
    kino__event_args_deinit(&args);
    kino__event_builder_deinit(&b);
    return st == KINO_OK;
}

TEST(event_builder_survives_each_failing_allocation)
{
    for (size_t n = 0;; n++) {
        failing_allocator failing;
        failing_allocator_init(&failing, n);
        bool is_done = build_with(&failing.allocator);
        CHECK_EQ(failing.held_bytes, 0);
        if (is_done)
            break;
        REQUIRE(n < 10000);
        CHECK(failing.failures > 0);
    }
}

TEST(event_builder_texts_are_utf8_and_once)
{
    kino__event_builder b;
    kino__event_builder_init(&b, NULL);
    kino_strid cut = kino__event_builder_text(&b, KINO__STR("a\xc3"));
    CHECK_STR(kino__string_pool_text(&b.texts, cut), "a\xef\xbf\xbd");
    CHECK_EQ(kino__event_builder_text(&b, KINO__STR("a\xff")), cut);
    CHECK(kino__event_builder_text(&b, KINO__STR("a\xc3\xa4")) != cut);
    CHECK_STR(
        kino__string_pool_text(&b.texts, kino__event_builder_text(&b, KINO__STR("\xed\xa0\x80"))),
        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    CHECK_EQ(kino__event_builder_category(&b, cut), kino__event_builder_category(&b, cut));
    kino__event_builder_deinit(&b);
}

TEST(event_args_keep_numbers_of_any_size)
{
    static const int64_t values[] = {0, -1, 63, -64, 64, 1 << 20, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        kino__event_args args;
        kino__string_pool texts;
        char want[64];
        kino__event_args_init(&args, NULL);
        kino__string_pool_init(&texts, NULL);
        kino_strid key = kino__string_pool_add(&texts, KINO__STR("k"));
        kino__event_args_set_ids(&args, key, KINO_NO_STRING);
        kino__event_args_add(&args, key, KINO__ARG_UINT, (uint64_t)values[i]);
        kino__event_args_add(&args, key, KINO__ARG_INT, (uint64_t)values[i]);
        CHECK_EQ(args.found[0], values[i]);
        uint64_t place = kino__event_args_end(&args, 0);
        CHECK_EQ(args.found[0], KINO_NO_INT);
        kino__text *text = kino__event_args_text_take(&args, &texts);
        REQUIRE(text != NULL);
        void *cursor = text->cursor_new(text);
        (void)snprintf(want, sizeof want, "{\"k\": %llu, \"k\": %lld}",
                       (unsigned long long)values[i], (long long)values[i]);
        CHECK_STR(text->args(text, cursor, place), want);
        text->cursor_free(text, cursor);
        text->free(text);
    }
}

/* What a place becomes as text. */
static void check_place(const kino__text *text, uint64_t place, const char *want)
{
    void *cursor = text->cursor_new(text);
    CHECK_STR(text->args(text, cursor, place), want);
    text->cursor_free(text, cursor);
}

TEST(a_correlation_takes_no_bytes_where_it_is_all_that_an_event_has)
{
    kino__event_builder b;
    kino__event_args args;
    kino__event_builder_init(&b, NULL);
    kino__event_args_init(&args, NULL);
    kino_strid key = kino__event_builder_text(&b, KINO__STR("stream"));
    kino__event_args_set_ids(&args, kino__event_builder_text(&b, KINO__STR("correlation")),
                             KINO_NO_STRING);
    kino__event_args_add(&args, key, KINO__ARG_INT, 7);
    uint64_t shared = kino__event_args_share(&args);
    size_t bytes = args.bytes.size;
    uint64_t alone = kino__event_args_end_with(&args, 0, 5);
    uint64_t both = kino__event_args_end_with(&args, shared, UINT32_MAX);
    uint64_t none = kino__event_args_end_with(&args, shared, KINO_NO_INT);
    CHECK_EQ(args.bytes.size, bytes);
    uint64_t wide = kino__event_args_end_with(&args, shared, INT64_C(1) << 40);
    kino__event_args_add(&args, key, KINO__ARG_INT, 8);
    uint64_t own = kino__event_args_end_with(&args, 0, 9);
    kino__text *text = kino__event_args_text_take(&args, &b.texts);
    REQUIRE(text != NULL);
    check_place(text, alone, "{\"correlation\": 5}");
    check_place(text, both, "{\"stream\": 7, \"correlation\": 4294967295}");
    check_place(text, none, "{\"stream\": 7}");
    check_place(text, wide, "{\"stream\": 7, \"correlation\": 1099511627776}");
    check_place(text, own, "{\"stream\": 8, \"correlation\": 9}");
    CHECK_EQ(text->arg_int(text, alone, KINO__STR("correlation")), 5);
    CHECK_EQ(text->arg_int(text, alone, KINO__STR("stream")), KINO_NO_INT);
    CHECK_EQ(text->arg_int(text, both, KINO__STR("correlation")), (int64_t)UINT32_MAX);
    CHECK_EQ(text->arg_int(text, both, KINO__STR("stream")), 7);
    CHECK_EQ(text->arg_int(text, none, KINO__STR("correlation")), KINO_NO_INT);
    CHECK_EQ(text->arg_int(text, wide, KINO__STR("correlation")), INT64_C(1) << 40);
    CHECK_EQ(text->arg_int(text, own, KINO__STR("stream")), 8);
    CHECK_EQ(text->arg_int(text, own, KINO__STR("no such key")), KINO_NO_INT);
    text->free(text);
    kino__event_args_deinit(&args);
    kino__event_builder_deinit(&b);
}

TEST(integers_among_typed_values_are_those_of_their_text)
{
    static const struct {
        kino__arg_type type;
        uint64_t value;
    } given[] = {{KINO__ARG_INT, (uint64_t)-3}, {KINO__ARG_UINT, UINT64_MAX}, {KINO__ARG_UINT, 4},
                 {KINO__ARG_TRUE, 0},           {KINO__ARG_NULL, 0},          {KINO__ARG_TEXT, 0},
                 {KINO__ARG_TEXT, 1},           {KINO__ARG_JSON, 0},          {KINO__ARG_JSON, 2}};
    enum { COUNT = sizeof given / sizeof *given };
    kino__event_builder b;
    kino__event_args args;
    uint64_t places[COUNT];
    kino__event_builder_init(&b, NULL);
    kino__event_args_init(&args, NULL);
    CHECK_EQ(kino__event_builder_text(&b, KINO__STR("12")), 0);
    CHECK_EQ(kino__event_builder_text(&b, KINO__STR("x")), 1);
    CHECK_EQ(kino__event_builder_text(&b, KINO__STR("[1]")), 2);
    kino_strid key = kino__event_builder_text(&b, KINO__STR("key"));
    for (int i = 0; i < COUNT; i++) { /* doubled: the last one counts */
        kino__event_args_add(&args, key, KINO__ARG_INT, 99);
        kino__event_args_add(&args, key, given[i].type, given[i].value);
        places[i] = kino__event_args_end(&args, 0);
    }
    kino__text *text = kino__event_args_text_take(&args, &b.texts);
    REQUIRE(text != NULL);
    void *cursor = text->cursor_new(text);
    for (int i = 0; i < COUNT; i++) {
        kino_str value = {"", 0}, name, found;
        kino__args_iter it = kino__args_iter_start(text->args(text, cursor, places[i]));
        int64_t want = KINO_NO_INT;
        while (kino__args_iter_next(&it, &name, &found))
            value = found;
        if (!kino__json_to_int(value, &want))
            want = KINO_NO_INT;
        CHECK_EQ(text->arg_int(text, places[i], KINO__STR("key")), want);
    }
    text->cursor_free(text, cursor);
    text->free(text);
    kino__event_args_deinit(&args);
    kino__event_builder_deinit(&b);
}
