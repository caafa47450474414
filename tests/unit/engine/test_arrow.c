/* test_arrow.c - answers and events as Arrow data: types, values, nulls, who owns what and until
 * when. */
#include <math.h>
#include <stdlib.h>

#include <kino/arrow.h>

#include "engine/kino_run.h"
#include "unit/made_table.h"
#include "unit/test.h"

/* -- looking into arrays -- */

static bool is_valid(const struct ArrowArray *array, size_t row)
{
    const uint8_t *bits = array->buffers[0];
    return !bits || bits[row / 8] >> row % 8 & 1;
}

static int64_t int_at(const struct ArrowArray *array, size_t row)
{
    return ((const int64_t *)array->buffers[1])[row];
}

static kino_str text_at(const struct ArrowArray *array, size_t row)
{
    const int32_t *offsets = array->buffers[1];
    return (kino_str){(const char *)array->buffers[2] + offsets[row],
                      (size_t)(offsets[row + 1] - offsets[row])};
}

/* The value of a key in the metadata, empty when it is not there. */
static kino_str metadata(const struct ArrowSchema *schema, const char *key)
{
    int32_t count, size;
    const char *at = schema->metadata;
    memcpy(&count, at, sizeof count);
    at += sizeof count;
    for (int32_t i = 0; i < count; i++) {
        kino_str pair[2];
        for (int k = 0; k < 2; k++) {
            memcpy(&size, at, sizeof size);
            pair[k] = (kino_str){at + sizeof size, (size_t)size};
            at += sizeof size + (size_t)size;
        }
        if (kino__str_is(pair[0], key))
            return pair[1];
    }
    return (kino_str){"", 0};
}

/* The schema and the only batch of a stream, which is released. */
static void read_stream(struct ArrowArrayStream *stream, struct ArrowSchema *schema,
                        struct ArrowArray *batch)
{
    struct ArrowArray end;
    REQUIRE_EQ(stream->get_schema(stream, schema), 0);
    REQUIRE_EQ(stream->get_next(stream, batch), 0);
    REQUIRE(batch->release);
    REQUIRE_EQ(stream->get_next(stream, &end), 0);
    CHECK(!end.release); /* the end */
    stream->release(stream);
    CHECK(!stream->release);
}

/* -- tables -- */

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "which"},  {"dur", KINO_TYPE_DURATION, NULL, NULL},
    {"start", KINO_TYPE_TIME, NULL, NULL},   {"share", KINO_TYPE_PERCENT, NULL, NULL},
    {"size", KINO_TYPE_BYTES, NULL, NULL},   {"is_on", KINO_TYPE_BOOL, NULL, NULL},
    {"name", KINO_TYPE_STRING, NULL, NULL},  {"rate", KINO_TYPE_FLOAT, "GB/s", NULL},
    {"whatever", KINO_TYPE_ANY, NULL, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static kino_result *make_result(int64_t origin_ns)
{
    kino_error err;
    kino_result *result = kino__result_new("test");
    kino__input input = {.path = "x", .origin_ns = origin_ns};
    kino__result_set_input(result, &input);
    kino__table *table = kino__result_add_table(result, "first", columns, COLUMNS);
    kino__table_add_int(table, 3);
    kino__table_add_int(table, 1500);
    kino__table_add_int(table, 25);
    kino__table_add_real(table, 12.5);
    kino__table_add_int(table, 4096);
    kino__table_add_int(table, 1);
    kino__table_add_text(table, KINO__STR("a\xff"
                                          "b"));
    kino__table_add_real(table, 0.25);
    kino__table_add_int(table, 7);
    for (int i = 0; i < COLUMNS; i++)
        kino__table_add_null(table);
    (void)kino__result_add_table(result, "empty", columns, 1);
    REQUIRE_EQ(kino__result_finish(result, &result, &err), KINO_OK);
    return result;
}

/* Frees the result. */
static void check_table(kino_result *result)
{
    static const char *const formats[] = {"l", "tDn", "tsn:", "g", "l", "b", "u", "g", "l"};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    kino_error err;
    REQUIRE_EQ(kino_result_arrow(result, 0, &stream, &err), KINO_OK);
    kino_result_free(result); /* nothing of it is needed any more */
    read_stream(&stream, &schema, &batch);
    CHECK_STR(schema.format, "+s");
    CHECK_STR(metadata(&schema, "kino.table"), KINO__STR("first"));
    CHECK_STR(metadata(&schema, "kino.origin_ns"), KINO__STR("1700000000000000000"));
    REQUIRE_EQ(schema.n_children, COLUMNS);
    for (size_t i = 0; i < COLUMNS; i++) {
        CHECK_STR(schema.children[i]->name, columns[i].name);
        CHECK_STR(schema.children[i]->format, formats[i]);
        CHECK(schema.children[i]->flags & ARROW_FLAG_NULLABLE);
        CHECK_EQ(batch.children[i]->length, 2);
        CHECK_EQ(batch.children[i]->null_count, 1);
        CHECK(is_valid(batch.children[i], 0));
        CHECK(!is_valid(batch.children[i], 1));
    }
    CHECK_STR(metadata(schema.children[0], "help"), KINO__STR("which"));
    CHECK_STR(metadata(schema.children[3], "unit"), KINO__STR("percent"));
    CHECK_STR(metadata(schema.children[4], "unit"), KINO__STR("bytes"));
    CHECK_STR(metadata(schema.children[7], "unit"), KINO__STR("GB/s"));
    CHECK_EQ(int_at(batch.children[0], 0), 3);
    CHECK_EQ(int_at(batch.children[1], 0), 1500);
    CHECK_EQ(int_at(batch.children[2], 0), INT64_C(1700000000000000025));
    CHECK_EQ(((const double *)batch.children[3]->buffers[1])[0], 12.5);
    CHECK_EQ(((const uint8_t *)batch.children[5]->buffers[1])[0], 1);
    CHECK_STR(text_at(batch.children[6], 0), KINO__STR("a\xef\xbf\xbd"
                                                       "b"));
    CHECK_EQ(int_at(batch.children[8], 0), 7);
    batch.release(&batch);
    schema.release(&schema);
}

TEST(arrow_table_has_types_values_and_nulls)
{
    check_table(make_result(INT64_C(1700000000000000000)));
}

TEST(arrow_table_of_made_rows_is_the_same)
{
    kino_result *result = make_result(INT64_C(1700000000000000000));
    make_on_demand(result->tables.items[0], NULL);
    check_table(result);
}

TEST(arrow_times_without_a_clock_are_durations)
{
    kino_result *result = make_result(KINO_NO_TIME);
    struct ArrowSchema schema;
    kino_error err;
    REQUIRE_EQ(kino_result_arrow_schema(result, 0, &schema, &err), KINO_OK);
    CHECK_STR(schema.children[2]->format, "tDn");
    CHECK_EQ(metadata(&schema, "kino.origin_ns").size, 0);
    schema.release(&schema);
    CHECK_EQ(kino_result_arrow_schema(result, 9, &schema, &err), KINO_NOT_FOUND);
    kino_result_free(result);
}

TEST(arrow_table_without_rows_has_a_schema_and_an_empty_batch)
{
    kino_result *result = make_result(0);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    kino_error err;
    REQUIRE_EQ(kino_result_arrow(result, 1, &stream, &err), KINO_OK);
    read_stream(&stream, &schema, &batch);
    CHECK_EQ(batch.length, 0);
    CHECK_EQ(schema.n_children, 1);
    batch.release(&batch);
    schema.release(&schema);
    kino_result_free(result);
}

TEST(arrow_children_may_be_taken_out_and_live_longer)
{
    kino_result *result = make_result(0);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch, child;
    kino_error err;
    REQUIRE_EQ(kino_result_arrow(result, 0, &stream, &err), KINO_OK);
    read_stream(&stream, &schema, &batch);
    child = *batch.children[0];
    batch.children[0]->release = NULL; /* moved */
    batch.release(&batch);
    schema.release(&schema);
    kino_result_free(result);
    CHECK_EQ(int_at(&child, 0), 3);
    child.release(&child);
}

/* -- SQL -- */

static const char trace_text[] =
    "{\"baseTimeNanoseconds\": 1700000000000000000, \"traceEvents\": ["
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":3,\"name\":\"gemm\","
    "\"args\":{\"correlation\":9}},"
    "{\"ph\":\"X\",\"cat\":\"own\",\"pid\":\"text\",\"tid\":1,\"ts\":10,\"dur\":5,\"name\":\"op\"},"
    "{\"ph\":\"i\",\"pid\":\"text\",\"tid\":1,\"ts\":12,\"name\":\"mark\"}]}";

static kino_run *open_trace(void)
{
    const char *path = test_tmp("rank-3.json");
    kino_run *run;
    kino_error err;
    test_write_file(path, trace_text, sizeof trace_text - 1);
    REQUIRE_EQ(kino_run_open(&path, 1, NULL, &run, &err), KINO_OK);
    return run;
}

static kino_result *ask(kino_run *run, const char *sql, const kino_cell *cells, size_t count)
{
    kino_query_options options = KINO_QUERY_OPTIONS_INIT;
    kino_rows *rows;
    kino_result *result;
    kino_error err;
    options.parameters = cells;
    options.parameter_count = count;
    REQUIRE_EQ(kino_run_query(run, sql, &options, &rows, &err), KINO_OK);
    REQUIRE_EQ(kino_rows_collect(run, rows, &result, &err), KINO_OK);
    kino_rows_free(rows);
    return result;
}

TEST(query_parameters_are_bound_by_type_and_counted)
{
    kino_run *run = open_trace();
    const kino_cell cells[] = {kino__cell_text(KINO__STR("gemm")), kino__cell_int(2),
                               kino__cell_real(0.5), kino__cell_null()};
    kino_result *result =
        ask(run, "SELECT count(*), ?2 + ?3, ?4 IS NULL FROM event WHERE name = ?1", cells, 4);
    const kino__table *table = result->tables.items[0];
    CHECK_STR(kino_result_table_name(result, 0), "result");
    REQUIRE_EQ(table->cells.count, 3);
    CHECK_EQ(table->cells.items[0].value.integer, 1);
    CHECK_EQ(table->cells.items[1].value.real, 2.5);
    CHECK_EQ(table->cells.items[2].value.integer, 1);
    kino_result_free(result);
    kino_query_options options = KINO_QUERY_OPTIONS_INIT;
    kino_rows *rows;
    kino_error err;
    options.parameters = cells;
    options.parameter_count = 1;
    CHECK_EQ(kino_run_query(run, "SELECT ?, ?", &options, &rows, &err), KINO_SQL);
    CHECK_STR(err.message, "the statement has 2 parameters, 1 given");
    CHECK_EQ(kino_run_query(run, "SELECT 1", &options, &rows, &err), KINO_SQL);
    kino_run_free(run);
}

TEST(arrow_types_of_sql_expressions_are_those_of_their_cells)
{
    kino_run *run = open_trace();
    kino_result *result =
        ask(run,
            "SELECT 1, 1.5, 'x', NULL, CASE ts WHEN 0 THEN 1 ELSE 'y' END, ts FROM event "
            "WHERE ts IS NOT NULL ORDER BY ts",
            NULL, 0);
    static const char *const formats[] = {"l", "g", "u", "u", "u", "tsn:"};
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    kino_error err;
    kino_run_free(run);
    REQUIRE_EQ(kino_result_arrow(result, 0, &stream, &err), KINO_OK);
    read_stream(&stream, &schema, &batch);
    for (size_t i = 0; i < 6; i++)
        CHECK_STR(schema.children[i]->format, formats[i]);
    CHECK_STR(text_at(batch.children[4], 0), KINO__STR("1")); /* among texts a number is one */
    CHECK_STR(text_at(batch.children[4], 1), KINO__STR("y"));
    CHECK_EQ(int_at(batch.children[5], 0), kino_result_origin(result));
    batch.release(&batch);
    schema.release(&schema);
    kino_result_free(result);
}

/* -- events -- */

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void read_events(kino_run *run, const char *const *names, size_t count, const char *where,
                        int *released, struct ArrowSchema *schema, struct ArrowArray *batch)
{
    kino_events_options options = KINO_EVENTS_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    kino_error err;
    options.columns = names;
    options.column_count = count;
    options.where = where;
    options.release = count_release;
    options.owner = released;
    REQUIRE_EQ(kino_run_events(run, &options, &stream, &err), KINO_OK);
    CHECK_EQ(*released, 0);
    read_stream(&stream, schema, batch);
}

TEST(events_are_the_memory_of_the_store)
{
    static const char *const names[] = {"ts", "dur", "name", "category", "ph"};
    kino_run *run = open_trace();
    const kino__trace *trace = run->run.traces.items[0];
    struct ArrowSchema schema;
    struct ArrowArray batch, child;
    int released = 0;
    read_events(run, names, 5, NULL, &released, &schema, &batch);
    CHECK(batch.children[0]->buffers[1] == trace->ts);
    CHECK(batch.children[1]->buffers[1] == trace->dur);
    CHECK(batch.children[2]->buffers[1] == trace->name);
    CHECK(batch.children[3]->buffers[1] == trace->category);
    CHECK(batch.children[4]->buffers[1] == trace->phase);
    CHECK_EQ(batch.children[1]->null_count, 1); /* the mark */
    CHECK_EQ(batch.children[3]->null_count, 1);
    CHECK_STR(schema.children[2]->format, "i");
    CHECK_STR(schema.children[2]->dictionary->format, "u");
    for (size_t row = 0; row < 3; row++)
        CHECK_STR(text_at(batch.children[2]->dictionary, trace->name[row]),
                  kino__trace_string(trace, trace->name[row]));
    child = *batch.children[0];
    batch.children[0]->release = NULL;
    batch.release(&batch);
    CHECK_EQ(released, 0); /* one array is left */
    child.release(&child);
    CHECK_EQ(released, 1);
    schema.release(&schema);
    kino_run_free(run);
}

TEST(events_may_be_chosen_and_worked_out)
{
    static const char *const names[] = {"name", "pid", "process", "correlation",
                                        "rank", "ts",  "id"};
    kino_run *run = open_trace();
    const kino__trace *trace = run->run.traces.items[0];
    struct ArrowSchema schema;
    struct ArrowArray batch;
    int released = 0;
    read_events(run, names, 7, "category = 'own' OR name = 'gemm' -- a remark", &released, &schema,
                &batch);
    REQUIRE_EQ(batch.length, 2);
    size_t gemm = is_valid(batch.children[3], 0) ? 0 : 1, op = 1 - gemm;
    int32_t code = ((const int32_t *)batch.children[0]->buffers[1])[gemm];
    CHECK_STR(text_at(batch.children[0]->dictionary, (size_t)code), KINO__STR("gemm"));
    CHECK_EQ(int_at(batch.children[1], gemm), 0);
    CHECK(!is_valid(batch.children[1], op)); /* not a number */
    code = ((const int32_t *)batch.children[2]->buffers[1])[op];
    CHECK_STR(text_at(batch.children[2]->dictionary, (size_t)code), KINO__STR("text"));
    CHECK_EQ(int_at(batch.children[3], gemm), 9);
    CHECK_EQ(int_at(batch.children[4], gemm), 3);
    CHECK_EQ(int_at(batch.children[5], gemm), 10000); /* since the first event */
    CHECK_EQ(int_at(batch.children[6], gemm), 0);
    CHECK(batch.children[5]->buffers[1] != trace->ts);
    batch.release(&batch);
    CHECK_EQ(released, 1);
    schema.release(&schema);
    kino_run_free(run);
}

TEST(events_refuse_unknown_columns_and_bad_conditions)
{
    static const char *const names[] = {"tss"};
    kino_run *run = open_trace();
    kino_events_options options = KINO_EVENTS_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    kino_error err;
    int released = 0;
    options.columns = names;
    options.column_count = 1;
    options.release = count_release;
    options.owner = &released;
    CHECK_EQ(kino_run_events(run, &options, &stream, &err), KINO_NOT_FOUND);
    CHECK(!stream.release);
    CHECK_EQ(released, 1); /* also when it fails */
    options.columns = NULL;
    options.where = "nme = 1";
    CHECK_EQ(kino_run_events(run, &options, &stream, &err), KINO_SQL);
    CHECK_EQ(released, 2);
    kino_run_free(run);
}
