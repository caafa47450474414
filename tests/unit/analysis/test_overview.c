/* test_overview.c - the tables of overview and tensor-cores on traces made by hand, values worked
 * out on paper. */
#include "engine/analyze.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { CONFIGURATION, GPUS, SUMMARY, STEPS, SERIES, SM };

static kino__buffer text;

static kino_result *run_analysis(const kino__analysis_def *def, kino__trace *const *traces,
                                 size_t count, const char *param, kino__run *run)
{
    kino_param given = {param, "yes"};
    kino__analyze_how how = {&given, param != NULL, NULL, NULL};
    kino_result *result = kino__result_new(def->name);
    kino__run_init(run);
    for (size_t i = 0; i < count; i++)
        REQUIRE(kino__run_add_take(run, traces[i], NULL) == KINO_OK);
    REQUIRE(kino__analyze_run(def, run, &how, result, NULL) == KINO_OK);
    REQUIRE(kino__result_finish(result, &result, NULL) == KINO_OK);
    return result;
}

/* "1,2;3,4": rows of a table; numbers with 4 digits, "-" for null. Valid until the next call. */
static const char *table_text(const kino_result *result, size_t index)
{
    const kino__table *table = result->tables.items[index];
    text.size = 0;
    for (size_t i = 0; i < table->cells.count; i++) {
        const kino_cell *cell = &table->cells.items[i];
        kino__buffer_add(&text, i % table->column_count ? KINO__STR(",")
                                : i                     ? KINO__STR(";")
                                                        : KINO__STR(""));
        if (cell->kind == KINO_CELL_TEXT)
            kino__buffer_add(&text, cell->value.text);
        else if (cell->kind == KINO_CELL_INT)
            kino__buffer_printf(&text, "%lld", (long long)cell->value.integer);
        else if (cell->kind == KINO_CELL_FLOAT)
            kino__buffer_printf(&text, "%.4g", cell->value.real);
        else
            kino__buffer_add(&text, KINO__STR("-"));
    }
    kino__buffer_add(&text, (kino_str){"", 1});
    return text.data;
}

static void end(kino_result *result, kino__run *run)
{
    kino_result_free(result);
    kino__run_deinit(run);
    kino__buffer_deinit(&text);
}

/* The example of docs/analyses/overview.md, in us. */
static kino__trace *example(void)
{
    return FIXTURE({.cat = "user_annotation", .name = "ProfilerStep#1", .ts = 0, .dur = 100000},
                   {.cat = "cpu_op", .name = "aten::mm", .ts = 10000, .dur = 30000, .external = 4},
                   {.cat = "cuda_runtime",
                    .name = "cudaLaunchKernel",
                    .ts = 15000,
                    .dur = 5000,
                    .bind = 9,
                    .external = 4},
                   {.cat = "kernel",
                    .name = "gemm_hmma",
                    .track = 7,
                    .ts = 20000,
                    .dur = 100000,
                    .bind = 9,
                    .args = "{\"device\": 2, \"blocks per SM\": 0.5}"});
}

TEST(overview_of_the_example_in_its_page)
{
    kino__run run;
    kino_result *result =
        run_analysis(&kino__analysis_overview, (kino__trace *[]){example()}, 1, "sm_series", &run);
    CHECK_STR(table_text(result, CONFIGURATION), "-,-,-,1,GPU,1,1,0");
    CHECK_STR(table_text(result, GPUS), "-,2,-,-,-,83.33,41.67,-,100");
    CHECK_STR(table_text(result, SUMMARY),
              "-,Average Step Time,120000,100;-,Kernel,100000,83.33;-,Memcpy,0,0;-,Memset,0,0;"
              "-,Runtime,5000,4.167;-,DataLoader,0,0;-,CPU Exec,5000,4.167;-,Other,10000,8.333");
    CHECK_STR(table_text(result, STEPS),
              "-,1,0,120000,100000,0,0,-,5000,0,5000,10000,0,100000,20000,100000");
    /* 120 us in buckets of 10 us; the twelfth is the last, the thirteenth row closes the series */
    CHECK_STR(table_text(result, SERIES),
              "-,2,0,0;-,2,10000,0;-,2,20000,100;-,2,30000,100;-,2,40000,100;-,2,50000,100;"
              "-,2,60000,100;-,2,70000,100;-,2,80000,100;-,2,90000,100;-,2,100000,100;"
              "-,2,110000,100;-,2,120000,0");
    CHECK_STR(table_text(result, SM), "-,2,20000,120000,50");
    end(result, &run);
}

TEST(overview_shows_what_a_cpu_trace_has)
{
    kino__run run;
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::add", .ts = 0, .dur = 30},
                {.cat = "cpu_op", .name = "enumerate(DataLoader)#X.__next__", .ts = 30, .dur = 10},
                {.cat = "cpu_op", .name = "aten::mul", .ts = 60, .dur = 20});
    kino_result *result = run_analysis(&kino__analysis_overview, &trace, 1, NULL, &run);
    CHECK_STR(table_text(result, CONFIGURATION), "-,-,-,1,CPU,0,1,0");
    CHECK_STR(table_text(result, GPUS), "");
    CHECK_STR(table_text(result, SUMMARY),
              "-,Average Step Time,80,100;-,DataLoader,10,12.5;-,CPU Exec,50,62.5;-,Other,20,25");
    CHECK_STR(table_text(result, STEPS), "-,0,0,80,-,-,-,-,-,10,50,20,0,80,-,-");
    CHECK_STR(table_text(result, SERIES), "");
    end(result, &run);
}

TEST(overview_of_nothing_is_empty_and_says_so)
{
    kino__run run;
    kino__trace *trace = fixture_new(NULL, 0);
    kino_result *result = run_analysis(&kino__analysis_overview, &trace, 1, NULL, &run);
    CHECK_STR(table_text(result, CONFIGURATION), "-,-,-,1,CPU,0,0,0");
    for (size_t i = GPUS; i <= SM; i++)
        CHECK_STR(table_text(result, i), "");
    REQUIRE_EQ(result->notes.count, 1);
    CHECK_STR(result->notes.items[0].text,
              "steps not available in 1 of 1 traces: they have no spans");
    end(result, &run);
}

TEST(overview_has_rows_for_each_rank)
{
    kino__run run;
    kino__trace *traces[] = {example(), example()};
    traces[0]->rank = 0;
    traces[1]->rank = 1;
    kino_result *result = run_analysis(&kino__analysis_overview, traces, 2, NULL, &run);
    CHECK_STR(table_text(result, CONFIGURATION), "0,-,-,2,GPU,1,1,0;1,-,-,2,GPU,1,1,0");
    CHECK_STR(table_text(result, STEPS),
              "0,1,0,120000,100000,0,0,-,5000,0,5000,10000,0,100000,20000,100000;"
              "1,1,0,120000,100000,0,0,-,5000,0,5000,10000,0,100000,20000,100000");
    end(result, &run);
}

TEST(tensor_cores_by_device_operator_and_kernel)
{
    /* mm: 30 with tensor cores and a copy of 10; add: 20 without; 40 that nothing launched. */
    kino__run run;
    kino__trace *trace =
        FIXTURE({.cat = "user_annotation", .name = "ProfilerStep#1", .ts = 0, .dur = 200},
                {.cat = "cpu_op", .name = "aten::linear", .ts = 0, .dur = 50},
                {.cat = "cpu_op", .name = "aten::mm", .ts = 10, .dur = 30, .external = 1},
                {.cat = "cpu_op", .name = "aten::add", .ts = 60, .dur = 20, .external = 2},
                {.cat = "cpu_op", .name = "aten::view", .ts = 90, .dur = 5},
                {.cat = "cuda_runtime", .name = "c", .ts = 15, .dur = 2, .bind = 1, .external = 1},
                {.cat = "cuda_runtime", .name = "c", .ts = 18, .dur = 2, .bind = 2, .external = 1},
                {.cat = "cuda_runtime", .name = "c", .ts = 65, .dur = 2, .bind = 3, .external = 2},
                {.cat = "kernel",
                 .name = "x_hmma",
                 .track = 7,
                 .ts = 20,
                 .dur = 30,
                 .bind = 1,
                 .args = "{\"device\": 0}"},
                {.cat = "gpu_memcpy", .name = "copy", .track = 7, .ts = 50, .dur = 10, .bind = 2},
                {.cat = "kernel",
                 .name = "plain",
                 .track = 7,
                 .ts = 70,
                 .dur = 20,
                 .bind = 3,
                 .args = "{\"device\": 0}"},
                {.cat = "kernel",
                 .name = "y_hmma",
                 .track = 7,
                 .ts = 100,
                 .dur = 40,
                 .args = "{\"device\": 0}"});
    kino_result *result = run_analysis(&kino__analysis_tensor_cores, &trace, 1, NULL, &run);
    CHECK_STR(table_text(result, 0), "-,0,50,30,60");
    CHECK_STR(table_text(result, 1), "-,90,70,77.78,30,60");
    CHECK_STR(table_text(result, 2), "-,aten::mm,1,1,40,30,75,40,30,75;"
                                     "-,aten::add,0,1,20,0,0,20,0,0;"
                                     "-,aten::linear,1,1,0,0,-,40,30,75");
    CHECK_STR(table_text(result, 3),
              "-,y_hmma,1,1,40,44.44;-,x_hmma,1,1,30,33.33;-,plain,0,1,20,22.22");
    end(result, &run);
}

TEST(tensor_cores_without_kernels_are_not_available)
{
    kino__run run;
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 0, .dur = 5});
    kino_result *result = run_analysis(&kino__analysis_tensor_cores, &trace, 1, NULL, &run);
    CHECK_STR(table_text(result, 0), "");
    CHECK_STR(table_text(result, 1), "");
    CHECK_STR(table_text(result, 2), "-,aten::mm,1,1,-,-,-,-,-,-"); /* eligible all the same */
    REQUIRE_EQ(result->notes.count, 1);
    CHECK_STR(result->notes.items[0].text, "tensor cores not available: the trace has no kernels");
    end(result, &run);
}
