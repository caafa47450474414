/* test_derive.c - traces made from rows of others: what is written from them, how they are
 * numbered, and that links and arguments work on them. */
#include <stdlib.h>
#include <string.h>

#include "store/args.h"
#include "store/derive.h"
#include "store/link.h"
#include "unit/chrome_load.h"
#include "unit/test.h"
#include "unit/write_text.h"

/* Pairs, unknown keys, text and wide ids, own categories, quoted labels, metadata. */
static const char odd_text[] =
    "{\"key\": \"value\", \"traceEvents\": [\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"p\"}},\n"
    "{\"ph\":\"B\",\"name\":\"outer\",\"pid\":1,\"tid\":9,\"ts\":10,\"args\":{\"begin\":1}},\n"
    "{\"ph\":\"B\",\"name\":\"inner\",\"pid\":1,\"tid\":9,\"ts\":11,\"color\":\"red\"},\n"
    "{\"ph\":\"E\",\"pid\":1,\"tid\":9,\"ts\":12,\"args\":{\"end\":2}},\n"
    "{\"ph\":\"E\",\"name\":\"outer\",\"pid\":1,\"tid\":9,\"ts\":13.25},\n"
    "{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"mine\",\"pid\":\"1\",\"tid\":2,\"ts\":1.0005,\"dur\":1}"
    ",\n"
    "{\"ph\":\"X\",\"name\":\"b\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":3,\"dur\":1,"
    "\"args\":{\"correlation\":4294967296,\"External id\":5}},\n"
    "{\"ph\":\"X\",\"name\":\"c\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":2,\"ts\":2,\"dur\":1,"
    "\"args\":{\"correlation\":4294967296,\"External id\":0}},\n"
    "{\"ph\":\"s\",\"id\":\"0x1f\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":2},\n"
    "{\"ph\":\"f\",\"id\":7,\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":3}\n"
    "]}";

/* One source, the rows whose numbers are listed (NULL: all). */
static kino__trace *derive_one(const kino__trace *source, const uint32_t *numbers, size_t count,
                               const kino__derive_rules *rules, int64_t offset)
{
    uint8_t *is_kept = calloc(source->event_count + 1, 1);
    REQUIRE(is_kept != NULL);
    for (size_t i = 0; i < count; i++)
        is_kept[chrome_row(source, numbers[i])] = 1;
    kino__derive_source from = {.trace = source,
                                .is_kept = numbers ? is_kept : NULL,
                                .bind_offset = offset,
                                .external_offset = offset};
    kino__derive derive = {.sources = &from, .count = 1, .rules = rules};
    kino__trace *made = NULL;
    kino_error err;
    REQUIRE(kino__trace_derive(&derive, &made, &err) == KINO_OK);
    for (size_t i = 0; i < source->metadata.count; i++)
        REQUIRE(kino__trace_add_metadata(made, source->metadata.items[i].key,
                                         source->metadata.items[i].value));
    free(is_kept);
    return made;
}

static kino__buffer written(kino__trace *trace)
{
    return write_text(&kino__writer_chrome_json, &trace, 1, (kino__write_context){0}, 2, NULL);
}

TEST_THREADS(derive_of_all_rows_writes_the_same_bytes)
{
    kino__trace *source = chrome_load_text(odd_text);
    kino__buffer got = written(derive_one(source, NULL, 0, NULL, 0));
    kino__buffer want = written(source);
    CHECK_STR(kino__buffer_str(&got), kino__buffer_str(&want));
    CHECK(want.size > 500);
    kino__buffer_deinit(&got);
    kino__buffer_deinit(&want);
}

TEST_THREADS(derive_numbers_events_as_the_file_written_from_it)
{
    kino__trace *source = chrome_load_text(odd_text);
    const uint32_t kept[] = {1, 2, 6, 9}; /* both pairs, the kernel, the last point */
    kino__trace *made = derive_one(source, kept, 4, NULL, 0);
    REQUIRE(made->event_count == 4);
    CHECK_EQ(made->number_count, 6); /* two more: the ends */
    CHECK_EQ(made->pair_count, 2);
    CHECK_EQ(made->tracks.count, 3); /* (1, 9), (0, 7), (1, 2) */
    static const struct {
        uint32_t number;
        const char *name;
    } want[] = {{0, "outer"}, {2, "inner"}, {4, "b"}, {5, "f"}};
    for (size_t i = 0; i < 4; i++) {
        uint32_t row = chrome_row(made, want[i].number);
        REQUIRE(row != KINO_NO_ROW);
        CHECK_STR(chrome_name(made, row), want[i].name);
    }
    kino__buffer text = written(made);
    kino__trace *again = chrome_load(kino__buffer_str(&text));
    for (size_t i = 0; i < 4; i++)
        CHECK_STR(chrome_name(again, chrome_row(again, want[i].number)), want[i].name);
    CHECK_STR(chrome_args(again, chrome_row(again, 0)), "{\"begin\":1}");
    CHECK_EQ(chrome_ts(again, chrome_row(again, 4)), 3000);
    kino__trace_free(again);
    kino__trace_free(source);
    kino__buffer_deinit(&text);
}

TEST_THREADS(derive_adds_offsets_to_ids_above_zero_only)
{
    kino__trace *source = chrome_load_text(odd_text);
    kino__trace *made = derive_one(source, NULL, 0, NULL, 4294967290);
    uint32_t kernel = chrome_row(made, 6), call = chrome_row(made, 7);
    CHECK_EQ(kino__trace_correlation(made, kernel), 4294967296 + 4294967290);
    CHECK_EQ(kino__trace_external(made, kernel), 5 + 4294967290); /* wide now */
    CHECK_EQ(kino__trace_external(made, call), 0);
    CHECK_EQ(kino__trace_bind_id(made, chrome_row(made, 9)), 7 + 4294967290);
    uint32_t text_id = chrome_row(made, 8);
    CHECK_STR(kino__trace_string(made, made->bind[text_id]), "0x1f");
    CHECK_EQ(kino__link_launch(made)[kernel], call);
    kino__trace_free(made);
    kino__trace_free(source);
}

/* -- rules */

static unsigned class_by_category(const void *context, const kino__trace *trace, uint32_t row)
{
    (void)context;
    return trace->category[row] == KINO__CATEGORY_KERNEL;
}

static bool mark_string(const void *context, uint32_t source, kino__derive_use use,
                        unsigned name_class, kino_str text, kino__buffer *out)
{
    (void)source;
    if (use == KINO__DERIVE_NAME && name_class == 1)
        return false;
    kino__buffer_add(out, kino__str_from(context));
    kino__buffer_add(out, text);
    return true;
}

static bool mark_args(const void *context, uint32_t source, uint32_t row, kino_str text,
                      kino__buffer *out)
{
    (void)source;
    (void)text;
    kino__buffer_printf(out, "{\"%s\": %u}", (const char *)context, row);
    return true;
}

static bool mark_event(const void *context, uint32_t source, uint32_t row, bool is_end,
                       kino_str text, kino__buffer *out)
{
    (void)context;
    (void)source;
    (void)row;
    if (!is_end)
        return false;
    kino__buffer_add(out, KINO__STR("{\"changed\": "));
    kino__buffer_add(out, text);
    kino__buffer_add(out, KINO__STR("}"));
    return true;
}

TEST_THREADS(derive_rules_change_names_arguments_and_whole_events)
{
    static const kino__derive_rules rules = {.context = "x",
                                             .name_class = class_by_category,
                                             .string = mark_string,
                                             .args = mark_args,
                                             .event = mark_event};
    kino__trace *source = chrome_load_text(odd_text);
    kino__trace *made = derive_one(source, NULL, 0, &rules, 0);
    uint32_t kernel = chrome_row(made, 6);
    CHECK_STR(chrome_name(made, kernel), "b"); /* its class stays */
    CHECK_STR(chrome_name(made, chrome_row(made, 7)), "xc");
    CHECK_STR(chrome_category(made, chrome_row(made, 5)), "xmine");
    CHECK_STR(chrome_category(made, kernel), "kernel"); /* known ones are no strings */
    char want[32];
    (void)snprintf(want, sizeof want, "{\"x\": %u}", chrome_row(source, 6));
    CHECK_STR(chrome_args(made, kernel), want);
    const int64_t *column = kino__args_int_column(made, "x");
    REQUIRE(column != NULL);
    CHECK_EQ(column[kernel], chrome_row(source, 6));
    const kino__track *track = &made->tracks.items[kino__trace_track_of(made, chrome_row(made, 1))];
    CHECK_STR(kino__trace_string(made, track->process_name), "xp");
    kino__buffer text = written(made);
    kino_str bytes = kino__buffer_str(&text);
    CHECK(memmem(bytes.data, bytes.size, "{\"changed\": {\"ph\":\"E\"", 20) != NULL);
    CHECK(memmem(bytes.data, bytes.size, "\"color\":\"red\"", 13) != NULL);
    kino__buffer_deinit(&text);
    kino__trace_free(source);
}

TEST_THREADS(derive_of_two_traces_has_the_tracks_of_both)
{
    kino__trace *a = chrome_load_text("[{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"own\",\"pid\":1,"
                                      "\"tid\":1,\"ts\":5,\"dur\":1,\"args\":{\"k\":1}}]");
    kino__trace *b = chrome_load_text("[{\"ph\":\"X\",\"name\":\"b\",\"cat\":\"other\",\"pid\":2,"
                                      "\"tid\":1,\"ts\":5,\"dur\":1,\"args\":{\"k\":2}},"
                                      "{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"own\",\"pid\":2,"
                                      "\"tid\":1,\"ts\":5,\"dur\":3}]");
    const kino__derive_source sources[] = {{.trace = a}, {.trace = b}};
    kino__derive derive = {.sources = sources, .count = 2};
    kino__trace *made;
    kino_error err;
    REQUIRE(kino__trace_derive(&derive, &made, &err) == KINO_OK);
    CHECK_EQ(made->event_count, 3);
    CHECK_EQ(made->tracks.count, 2);
    CHECK_EQ(made->own_categories.count, 2);
    CHECK_STR(chrome_args(made, chrome_row(made, 0)), "{\"k\":1}");
    CHECK_STR(chrome_args(made, chrome_row(made, 1)), "{\"k\":2}");
    CHECK_EQ(made->place[chrome_row(made, 2)], 0);
    CHECK_EQ(made->name[chrome_row(made, 0)], made->name[chrome_row(made, 2)]);
    CHECK_EQ(made->category[chrome_row(made, 0)], made->category[chrome_row(made, 2)]);
    kino__trace_free(made);
    kino__trace_free(a);
    kino__trace_free(b);
}

TEST_THREADS(derive_of_nothing_is_an_empty_trace)
{
    kino__trace *source = chrome_load_text(odd_text);
    const uint32_t none[] = {0};
    kino__trace *made = derive_one(source, none, 0, NULL, 0);
    CHECK_EQ(made->event_count, 0);
    CHECK_EQ(made->tracks.count, 0);
    CHECK(kino__link_steps(made) != NULL);
    kino__trace_free(made);
    kino__trace_free(source);
}

TEST_THREADS(alias_has_its_own_number_and_links)
{
    kino__trace *source = chrome_load_text(odd_text);
    source->index = 3;
    kino__trace *alias = kino__trace_alias_new(source, 0);
    REQUIRE(alias != NULL);
    CHECK_EQ(kino__trace_event_id(alias, chrome_row(alias, 6)), 6);
    CHECK_EQ(kino__trace_event_id(source, chrome_row(source, 6)), ((int64_t)3 << 32) + 6);
    CHECK_EQ(kino__link_launch(alias)[chrome_row(alias, 6)], chrome_row(alias, 7));
    CHECK(source->links == NULL);
    kino__trace_alias_free(alias);
    kino__trace_free(source);
}
