/* test_analysis.c - the analysis framework, tried with the analysis that newcomers copy; and what
 * every definition must hold. */
#include <stdlib.h>

#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "query/tables.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* The file to be copied is left out of the library; here it is the subject. */
#include "analysis/_template.c"

#define KERNEL(...)                                                                                \
    {                                                                                              \
        .cat = "kernel", .track = 7, __VA_ARGS__                                                   \
    }

static const kino__analysis_def *const subject = &kino__analysis_template;

static void open_run(kino__run *run, kino__trace *const *traces, size_t count)
{
    kino__run_init(run);
    for (size_t i = 0; i < count; i++)
        REQUIRE(kino__run_add_take(run, traces[i], NULL) == KINO_OK);
}

/* The rows of the first table as "a,1,2;b,3,4". Valid until the next call. */
static const char *rows_text(const kino_result *result)
{
    static kino__buffer out;
    const kino__table *table = result->tables.items[0];
    out.size = 0;
    for (size_t i = 0; i < table->cells.count; i++) {
        const kino_cell *cell = &table->cells.items[i];
        size_t column = i % table->column_count;
        kino__buffer_add(&out, column ? KINO__STR(",") : i ? KINO__STR(";") : KINO__STR(""));
        if (cell->kind == KINO_CELL_TEXT)
            kino__buffer_add(&out, cell->value.text);
        else if (cell->kind == KINO_CELL_INT)
            kino__buffer_printf(&out, "%lld", (long long)cell->value.integer);
        else if (cell->kind == KINO_CELL_FLOAT)
            kino__buffer_printf(&out, "%g", cell->value.real);
        else
            kino__buffer_add(&out, KINO__STR("-"));
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    return out.data;
}

static kino_result *run_subject(const kino__run *run, const kino__analyze_how *how)
{
    kino_result *result = kino__result_new(subject->name);
    kino_error err = {0};
    if (kino__analyze_run(subject, run, how, result, &err) != KINO_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        test_end_failed();
    }
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    return result;
}

static kino__trace *first(void)
{
    return FIXTURE(KERNEL(.name = "gemm", .ts = 10, .dur = 5),
                   KERNEL(.name = "copy", .ts = 20, .dur = 2),
                   KERNEL(.name = "gemm", .ts = 30, .dur = 8),
                   {.cat = "cpu_op", .name = "gemm", .ts = 0, .dur = 99});
}

static kino__trace *second(void)
{
    return FIXTURE(KERNEL(.name = "relu", .ts = 10, .dur = 1),
                   KERNEL(.name = "copy", .ts = 20, .dur = 4));
}

TEST_THREADS(analysis_maps_all_traces_and_merges_them_in_order)
{
    kino__run run;
    kino__pool *pool;
    REQUIRE(kino__pool_new(3, &pool, NULL) == KINO_OK);
    open_run(&run, (kino__trace *[]){first(), second(), first()}, 3);
    for (int jobs = 0; jobs < 2; jobs++) {
        kino__analyze_how how = {.pool = jobs ? pool : NULL};
        kino_result *result = run_subject(&run, &how);
        CHECK_STR(rows_text(result), "gemm,4,26,6.5;copy,3,8,2.66667;relu,1,1,1");
        CHECK_EQ(result->notes.count, 0);
        REQUIRE_EQ(result->params.count, 1);
        CHECK_STR(result->params.items[0].name, "min_count");
        CHECK_EQ(result->params.items[0].value.value.integer, 1);
        kino_result_free(result);
    }
    kino__pool_free(pool);
    kino__run_deinit(&run);
}

TEST(analysis_of_no_trace_and_of_one_without_data_gives_empty_tables_and_a_note)
{
    kino__trace *nothing = FIXTURE({.cat = "cpu_op", .name = "x", .ts = 1, .dur = 1});
    for (size_t count = 0; count < 2; count++) {
        kino__run run;
        open_run(&run, &nothing, count);
        kino_result *result = run_subject(&run, &(kino__analyze_how){0});
        CHECK_EQ(kino_result_row_count(result, 0), 0);
        REQUIRE_EQ(result->notes.count, 1);
        CHECK_STR(result->notes.items[0].text, "kernels not available: the trace has none");
        kino_result_free(result);
        kino__run_deinit(&run);
    }
}

TEST(analysis_takes_its_parameters_from_text)
{
    kino__run run;
    open_run(&run, (kino__trace *[]){first()}, 1);
    kino_param given[] = {{"min_count", "7"}, {"min-count", "2"}}; /* the later one wins */
    kino_result *result = run_subject(&run, &(kino__analyze_how){given, 2, NULL, NULL});
    CHECK_STR(rows_text(result), "gemm,2,13,6.5");
    CHECK_EQ(result->params.items[0].value.value.integer, 2);
    kino_result_free(result);
    kino__run_deinit(&run);
}

static bool stop(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)what, (void)done, (void)total;
    return false;
}

TEST(analysis_stops_when_progress_says_so)
{
    kino__run run;
    open_run(&run, (kino__trace *[]){first(), second()}, 2);
    kino__progress progress;
    kino__progress_init(&progress, stop, NULL);
    kino_result *result = kino__result_new("x");
    kino_error err = {0};
    kino__analyze_how how = {.progress = &progress};
    CHECK_EQ(kino__analyze_run(subject, &run, &how, result, &err), KINO_CANCELLED);
    kino_result_free(result);
    kino__run_deinit(&run);
}

/* -- parameters -- */

static kino_status refuse(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a, (void)into, (void)from;
    return kino__fail(err, KINO_UNAVAILABLE, "not to be called");
}

enum { Q_COUNT, Q_RATIO, Q_IS_ON, Q_DELAY, Q_BYTES, Q_GROUP, Q_TEXT, Q_PART };
static const kino_param_info many_params[] = {
    {"count", KINO_TYPE_INT, "10", "n", NULL},
    {"ratio", KINO_TYPE_FLOAT, "0.8", "x", NULL},
    {"is_on", KINO_TYPE_BOOL, "no", "b", NULL},
    {"delay", KINO_TYPE_DURATION, "30us", "t", NULL},
    {"bytes", KINO_TYPE_BYTES, "1MiB", "s", NULL},
    {"group", KINO_TYPE_STRING, "name", "g", "name|name-shape"},
    {"text", KINO_TYPE_STRING, NULL, "anything", NULL},
    {"part", KINO_TYPE_PERCENT, "5%", "p", NULL},
    {0},
};
static const char *const many_compat[] = {"hta", "hta-ns", NULL};
static const kino__analysis_def many = {.name = "many",
                                        .params = many_params,
                                        .tables = tables,
                                        .compat = many_compat,
                                        .takes_steps = true,
                                        .merge = refuse};

TEST(parameters_have_their_defaults)
{
    kino__analysis a;
    REQUIRE(kino__analysis_init(&a, &many, NULL, 0, NULL) == KINO_OK);
    CHECK_EQ(kino__param_int(&a, Q_COUNT), 10);
    CHECK_EQ(kino__param_real(&a, Q_RATIO), 0.8);
    CHECK_EQ(kino__param_bool(&a, Q_IS_ON), false);
    CHECK_EQ(kino__param_int(&a, Q_DELAY), 30000);
    CHECK_EQ(kino__param_int(&a, Q_BYTES), 1048576);
    CHECK_STR(kino__param_text(&a, Q_GROUP), "name");
    CHECK_EQ(kino__param_text(&a, Q_TEXT).size, 0);
    CHECK_EQ(kino__param_real(&a, Q_PART), 5.0);
    CHECK(!kino__analysis_is_compat(&a, "hta"));
    CHECK(kino__analysis_wants_step(&a, 3) && kino__analysis_wants_step(&a, KINO_NO_INT));
    kino__analysis_deinit(&a);
}

TEST(parameters_are_read_by_their_type)
{
    static const struct {
        const char *name, *value;
        size_t index;
        int64_t want;
    } cases[] = {
        {"count", "-3", Q_COUNT, -3},           {"is_on", "yes", Q_IS_ON, 1},
        {"is-on", "true", Q_IS_ON, 1},          {"is_on", "off", Q_IS_ON, 0},
        {"delay", "1.5ms", Q_DELAY, 1500000},   {"delay", "250", Q_DELAY, 250},
        {"delay", "2s", Q_DELAY, 2000000000},   {"delay", "7 ns", Q_DELAY, 7},
        {"delay", "\xc2\xb5s", Q_DELAY, -1}, /* refused: no number */
        {"bytes", "200MB", Q_BYTES, 200000000}, {"bytes", "4096", Q_BYTES, 4096},
        {"bytes", "1.5kB", Q_BYTES, 1500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__analysis a;
        kino_param param = {cases[i].name, cases[i].value};
        kino_status st = kino__analysis_init(&a, &many, &param, 1, NULL);
        if (st == KINO_OK)
            CHECK_EQ(kino__param_int(&a, cases[i].index), cases[i].want);
        else
            CHECK_EQ(cases[i].want, -1);
        kino__analysis_deinit(&a);
    }
}

TEST(parameters_that_do_not_fit_say_what_would)
{
    static const struct {
        const char *name, *value, *want;
    } cases[] = {
        {"count", "1.5",
         "invalid value '1.5' for parameter 'count' of 'many' (expected: a whole number)"},
        {"ratio", "nan",
         "invalid value 'nan' for parameter 'ratio' of 'many' (expected: a number such as 0.8)"},
        {"is_on", "maybe",
         "invalid value 'maybe' for parameter 'is_on' of 'many' (expected: yes or no)"},
        {"delay", "0.5ns",
         "invalid value '0.5ns' for parameter 'delay' of 'many' (expected: a time such as 30us, "
         "1.5ms or 2s; a plain number is in ns)"},
        {"delay", "9999999999s",
         "invalid value '9999999999s' for parameter 'delay' of 'many' (expected: a time such as "
         "30us, 1.5ms or 2s; a plain number is in ns)"},
        {"group", "shape",
         "invalid value 'shape' for parameter 'group' of 'many' (expected: name|name-shape)"},
        {"compat", "tb",
         "invalid value 'tb' for parameter 'compat' of 'many' (expected: hta, hta-ns)"},
        {"steps", "7-3",
         "invalid value '7-3' for parameter 'steps' of 'many' (expected: a step or a range such as "
         "5 or 3-7)"},
        {"colour", "red",
         "analysis 'many' has no parameter 'colour' (known: count, ratio, is_on, "
         "delay, bytes, group, text, part, compat, steps)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__analysis a;
        kino_error err = {0};
        kino_param param = {cases[i].name, cases[i].value};
        CHECK_EQ(kino__analysis_init(&a, &many, &param, 1, &err), KINO_ARGUMENT);
        CHECK_STR((const char *)err.message, cases[i].want);
        kino__analysis_deinit(&a);
    }
}

TEST(parameters_common_to_all_are_there_where_the_definition_has_them)
{
    kino__analysis a;
    kino_param given[] = {{"steps", "3-7"}, {"compat", "hta-ns"}};
    REQUIRE(kino__analysis_init(&a, &many, given, 2, NULL) == KINO_OK);
    CHECK(kino__analysis_is_compat(&a, "hta-ns") && !kino__analysis_is_compat(&a, "hta"));
    CHECK(kino__analysis_wants_step(&a, 3) && kino__analysis_wants_step(&a, 7));
    CHECK(!kino__analysis_wants_step(&a, 2) && !kino__analysis_wants_step(&a, 8));
    CHECK(!kino__analysis_wants_step(&a, KINO_NO_INT));
    CHECK_STR(kino__analysis_value(&a, Q_PART + 1).value.text, "hta-ns");
    CHECK_STR(kino__analysis_value(&a, Q_PART + 2).value.text, "3-7");
    kino__analysis_deinit(&a);
    kino_error err = {0};
    CHECK_EQ(kino__analysis_init(&a, subject, given, 1, &err), KINO_ARGUMENT);
    CHECK_STR((const char *)err.message,
              "analysis 'template' has no parameter 'steps' (known: min_count)");
    kino__analysis_deinit(&a);
}

/* -- partial results -- */

static void *map_one(kino__analysis *a, kino__trace *trace)
{
    void *value = kino__partial_new(a);
    REQUIRE(value != NULL);
    REQUIRE(a->def->map(a, trace, value, NULL) == KINO_OK);
    return value;
}

static void finish_one(kino__analysis *a, void *value, kino_result **out)
{
    *out = kino__result_new("x");
    kino__result_add_table(*out, "kernel", kernel_columns, 4);
    REQUIRE(a->def->finish(a, value, *out, NULL) == KINO_OK);
}

TEST(partial_results_give_the_same_answer_after_saving_and_loading)
{
    kino__analysis a;
    REQUIRE(kino__analysis_init(&a, subject, NULL, 0, NULL) == KINO_OK);
    kino__trace *traces[] = {first(), second()};
    void *values[] = {map_one(&a, traces[0]), map_one(&a, traces[1])};
    kino__buffer bytes[2] = {{0}};
    void *loaded[2];
    for (int i = 0; i < 2; i++) {
        kino__partial_save(&a, values[i], &bytes[i]);
        REQUIRE(!bytes[i].failed);
        kino__partial_free(&a, values[i]);
        kino__trace_free(traces[i]); /* nothing of the trace is needed any more */
        REQUIRE(kino__partial_load(&a, kino__buffer_str(&bytes[i]), &loaded[i], NULL) == KINO_OK);
    }
    REQUIRE(subject->merge(&a, loaded[0], loaded[1], NULL) == KINO_OK);
    kino__partial_free(&a, loaded[1]);
    kino_result *result;
    finish_one(&a, loaded[0], &result);
    CHECK_STR(rows_text(result), "gemm,2,13,6.5;copy,2,6,3;relu,1,1,1");
    kino_result_free(result);
    kino__partial_free(&a, loaded[0]);
    kino__buffer_deinit(&bytes[0]);
    kino__buffer_deinit(&bytes[1]);
    kino__analysis_deinit(&a);
}

TEST(partial_results_that_are_cut_or_of_other_parameters_are_refused)
{
    kino__analysis a, other;
    kino_param param = {"min_count", "2"};
    REQUIRE(kino__analysis_init(&a, subject, NULL, 0, NULL) == KINO_OK);
    REQUIRE(kino__analysis_init(&other, subject, &param, 1, NULL) == KINO_OK);
    kino__trace *trace = first();
    void *value = map_one(&a, trace), *loaded;
    kino__buffer bytes = {0};
    kino__partial_save(&a, value, &bytes);
    REQUIRE(!bytes.failed);
    CHECK_EQ(kino__partial_load(&other, kino__buffer_str(&bytes), &loaded, NULL), KINO_FORMAT);
    for (size_t size = 0; size < bytes.size; size++)
        CHECK_EQ(kino__partial_load(&a, (kino_str){bytes.data, size}, &loaded, NULL), KINO_FORMAT);
    for (size_t i = 0; i < bytes.size * 8; i++) { /* refused or harmless, never a crash */
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
        if (kino__partial_load(&a, kino__buffer_str(&bytes), &loaded, NULL) == KINO_OK)
            kino__partial_free(&a, loaded);
        bytes.data[i / 8] = (char)(bytes.data[i / 8] ^ 1 << i % 8);
    }
    kino__partial_free(&a, value);
    kino__trace_free(trace);
    kino__buffer_deinit(&bytes);
    kino__analysis_deinit(&a);
    kino__analysis_deinit(&other);
}

TEST(pack_keeps_numbers_and_texts_of_every_size)
{
    static const int64_t numbers[] = {0,   1,   -1,        63,        64,        -64,
                                      -65, 300, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    kino__buffer bytes = {0};
    kino__pack save = {.out = &bytes};
    for (size_t i = 0; i < COUNT; i++) {
        int64_t number = numbers[i];
        kino__pack_int(&save, &number);
    }
    uint64_t large = UINT64_MAX;
    uint32_t small = UINT32_MAX;
    bool yes = true;
    kino_str text = KINO__STR("a\0b");
    kino__pack_u64(&save, &large);
    kino__pack_u32(&save, &small);
    kino__pack_bool(&save, &yes);
    kino__pack_str(&save, &text);
    REQUIRE(!bytes.failed);
    kino__pack load = {.at = bytes.data, .end = bytes.data + bytes.size};
    for (size_t i = 0; i < COUNT; i++) {
        int64_t number = 7;
        kino__pack_int(&load, &number);
        CHECK_EQ(number, numbers[i]);
    }
    large = small = yes = 0;
    text = (kino_str){"", 0};
    kino__pack_u64(&load, &large);
    kino__pack_u32(&load, &small);
    kino__pack_bool(&load, &yes);
    kino__pack_str(&load, &text);
    CHECK_EQ(large, UINT64_MAX);
    CHECK_EQ(small, UINT32_MAX);
    CHECK(yes);
    CHECK_STR(text, KINO__STR("a\0b"));
    CHECK(!load.is_damaged && load.at == load.end);
    kino__buffer_deinit(&bytes);
}

/* -- what every definition must hold -- */

static bool is_snake(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return n > 0 && name[n] == 0 && name[0] >= 'a';
}

static void check_params(const kino__analysis_def *def)
{
    /* options of the command line, and what a table function adds */
    static const char *const taken[] = {
        "format", "output", "limit", "table", "rank",        "run",      "span",   "jobs",  "simd",
        "color",  "quiet",  "help",  "list",  "no_progress", "help_man", "compat", "steps", NULL};
    for (size_t i = 0; def->params && def->params[i].name; i++) {
        const kino_param_info *p = &def->params[i];
        CHECK(is_snake(p->name) && p->help && p->help[0]);
        for (size_t k = 0; taken[k]; k++)
            CHECK(strcmp(taken[k], p->name) != 0);
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(def->params[k].name, p->name) != 0);
        for (const kino_table_info *t = def->tables; t->name; t++)
            for (const kino_column *c = t->columns; c->name; c++)
                if (strcmp(c->name, p->name) == 0) {
                    (void)fprintf(stderr, "%s: '%s' is a parameter and a column of %s\n", def->name,
                                  p->name, t->name);
                    CHECK(false);
                }
    }
    kino__analysis a;
    kino_error err = {0};
    kino_status st = kino__analysis_init(&a, def, NULL, 0, &err); /* the defaults fit */
    CHECK_STR((const char *)err.message, "");
    CHECK_EQ(st, KINO_OK);
    kino__analysis_deinit(&a);
}

static void check_tables(const kino__analysis_def *def)
{
    REQUIRE(def->tables && def->tables[0].name);
    for (const kino_table_info *t = def->tables; t->name; t++) {
        CHECK(is_snake(t->name) && t->help && t->help[0]);
        REQUIRE(t->columns && t->columns[0].name);
        for (const kino_column *c = t->columns; c->name; c++) {
            CHECK(is_snake(c->name));
            for (const kino_column *other = t->columns; other != c; other++)
                CHECK(strcmp(other->name, c->name) != 0);
        }
    }
}

static void check_description(const kino__analysis_def *def)
{
    REQUIRE(def->description != NULL);
    size_t size = strlen(def->description);
    CHECK(size && def->description[size - 1] == '\n');
    for (const char *line = def->description; *line; line += strcspn(line, "\n") + 1)
        CHECK(strcspn(line, "\n") <= 80);
    CHECK(def->help[0] && def->help[strlen(def->help) - 1] != '.');
}

TEST(definitions_of_analyses_are_complete)
{
    static const char *const ids[] = {
#define ANALYSIS(name) #name,
#include "analysis/analyses.def"
#undef ANALYSIS
        NULL};
    const kino__analysis_def *def;
    for (size_t i = 0; (def = kino__analysis_at(i)); i++) {
        REQUIRE(ids[i] != NULL);
        CHECK_EQ(kino__analysis_find(kino__str_from(def->name)), def);
        CHECK_EQ(kino__analysis_find(kino__str_from(ids[i])), def); /* '_' for '-' */
        CHECK(def->map && def->merge && def->finish && def->pack && def->partial_size);
        check_description(def);
        check_tables(def);
        check_params(def);
    }
    CHECK_EQ(kino__analysis_find(KINO__STR("")), NULL);
    CHECK_EQ(kino__analysis_find(KINO__STR("no-such-analysis")), NULL);
}

TEST(names_of_analyses_in_sql_are_distinct_and_no_tables)
{
    kino__table_functions functions = kino__analyze_functions(NULL);
    static kino__table_function all[1024];
    size_t count = 0;
    while (count < 1024 && functions.describe(NULL, count, &all[count]))
        count++;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(all[i].name, all[k].name) != 0);
        for (size_t f = 0; f < KINO__FAMILY_COUNT; f++)
            for (size_t k = 0; k < kino__table_families[f]->count; k++)
                CHECK(strcmp(all[i].name, kino__table_families[f]->name(k)) != 0);
    }
}
