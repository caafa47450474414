/* test_report.c - bars that add up, the rules of the paragraph, and the forms of a report made by
 * hand. */
#include <math.h>
#include <stdlib.h>

#include "base/sink.h"
#include "report/report_internal.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* -- bars -- */

TEST(bar_cells_follow_the_largest_remainders)
{
    size_t cells[4];
    kino__bar_cells((const int64_t[]){50, 25, 25}, 3, 8, cells);
    CHECK_EQ(cells[0], 4);
    CHECK_EQ(cells[1], 2);
    CHECK_EQ(cells[2], 2);
    /* thirds of 10: 3.33 each, the first one takes what is left */
    kino__bar_cells((const int64_t[]){7, 7, 7}, 3, 10, cells);
    CHECK_EQ(cells[0], 4);
    CHECK_EQ(cells[1], 3);
    CHECK_EQ(cells[2], 3);
    /* 9.6 and 0.4: the small one gets none */
    kino__bar_cells((const int64_t[]){96, 4}, 2, 10, cells);
    CHECK_EQ(cells[0], 10);
    CHECK_EQ(cells[1], 0);
    /* 9.4 and 0.6: it gets one */
    kino__bar_cells((const int64_t[]){94, 6}, 2, 10, cells);
    CHECK_EQ(cells[0], 9);
    CHECK_EQ(cells[1], 1);
}

TEST(bar_cells_of_nothing_are_none)
{
    size_t cells[3] = {9, 9, 9};
    kino__bar_cells((const int64_t[]){0, 0, 0}, 3, 10, cells);
    CHECK_EQ(cells[0] + cells[1] + cells[2], 0);
    kino__bar_cells((const int64_t[]){-5, 3, 0}, 3, 10, cells); /* damaged input */
    CHECK_EQ(cells[0], 0);
    CHECK_EQ(cells[1], 10);
    CHECK_EQ(cells[2], 0);
}

TEST(bar_cells_always_add_up_to_the_width)
{
    fixture_random random = {42};
    for (int round = 0; round < 20000; round++) {
        int64_t parts[KINO__REPORT_ROLES], total = 0;
        size_t cells[KINO__REPORT_ROLES], sum = 0;
        size_t width = fixture_random_below(&random, 200);
        for (int i = 0; i < KINO__REPORT_ROLES; i++) {
            unsigned bits = fixture_random_below(&random, 40);
            parts[i] = fixture_random_below(&random, 3) == 0
                           ? 0
                           : (int64_t)fixture_random_below(&random, 1u << 20) << bits >> 10;
            total += parts[i];
        }
        kino__bar_cells(parts, KINO__REPORT_ROLES, width, cells);
        for (int i = 0; i < KINO__REPORT_ROLES; i++) {
            sum += cells[i];
            double exact = total ? (double)parts[i] / (double)total * (double)width : 0;
            if (!CHECK(fabs((double)cells[i] - exact) < 1.000001))
                return;
        }
        if (!CHECK_EQ(sum, total ? width : 0))
            return;
    }
}

TEST(the_longest_three_stay_in_order)
{
    kino__longest longest = {0};
    const int64_t durs[] = {5, 9, 5, 2, 7, 9};
    for (int i = 0; i < 6; i++)
        kino__longest_add(&longest, durs[i], i);
    REQUIRE_EQ(longest.count, 3);
    CHECK_EQ(longest.id[0], 1); /* 9, the first of the two */
    CHECK_EQ(longest.id[1], 5);
    CHECK_EQ(longest.id[2], 4); /* 7 */
}

/* -- the paragraph -- */

static kino_report *new_report(void)
{
    kino_report *report = calloc(1, sizeof *report);
    REQUIRE(report != NULL);
    kino__arena_init(&report->arena, NULL);
    report->own = kino__result_new("report");
    report->version = "0";
    for (int r = 0; r < KINO__REPORT_ROLES; r++)
        report->roles[r] = kino__role_name((kino__role)r);
    return report;
}

static kino__report_numbers nothing_known(void)
{
    return (kino__report_numbers){.trace_count = 1,
                                  .events_used = 10,
                                  .step_time = KINO_NO_INT,
                                  .advice_gain = NAN,
                                  .losses = KINO_NO_INT};
}

/* The whole paragraph of these numbers; static. */
static const char *said(const kino__report_numbers *numbers)
{
    static char text[2000];
    kino_report *report = new_report();
    size_t used = 0;
    kino__report_say(report, numbers);
    for (size_t i = 0; i < report->summary.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i ? " " : "",
                                 KINO__STR_ARG(report->summary.items[i].text));
    CHECK(!report->own->failed);
    kino_report_free(report);
    return text;
}

TEST(the_step_is_told_by_its_parts_largest_first)
{
    kino__report_numbers n = nothing_known();
    n.has_device = n.has_work = n.has_step_events = true;
    n.step_time = 1000000;
    n.part[KINO__ROLE_KERNEL] = 500000;
    n.part[KINO__ROLE_LOADER] = 100000;
    n.part[KINO__ROLE_CPU] = 340000;
    n.part[KINO__ROLE_MEMCPY] = 29999; /* just below 3 % */
    n.part[KINO__ROLE_RUNTIME] = 30001;
    CHECK_STR(said(&n), "A step takes 1 ms: the device computes for 50.0 % of it, 34.0 % is host "
                        "work while the device is idle, 10.0 % waits for the data loader and 3.0 % "
                        "is driver calls while the device is idle.");
}

TEST(without_a_device_the_operators_are_told)
{
    kino__report_numbers n = nothing_known();
    n.has_step_events = true;
    n.step_time = 1000;
    n.part[KINO__ROLE_CPU] = 900;
    n.part[KINO__ROLE_OTHER] = 100;
    n.op = KINO__STR("aten::mm");
    n.op_percent = 40;
    CHECK_STR(said(&n), "A step takes 1 µs: operators on the CPU take 90.0 % of it and in 10.0 % "
                        "no operator runs. The largest operator, aten::mm, "
                        "takes 40.0 % of the operators' self time.");
    n.has_device = n.has_work = true; /* then kernels are told, and there is none */
    n.part[KINO__ROLE_CPU] = 0;
    n.part[KINO__ROLE_OTHER] = 1000;
    CHECK_STR(said(&n), "A step takes 1 µs: in 100.0 % neither operators nor device work run.");
}

TEST(what_is_missing_is_not_told)
{
    kino__report_numbers n = nothing_known();
    CHECK_STR(
        said(&n),
        "There is no step time: the trace contains neither steps nor operators that take time.");
    n.has_device = true;
    CHECK_STR(said(&n), "The trace contains neither steps nor operators, so there is no step time; "
                        "the tables below show what was recorded.");
    n.events_used = 0;
    CHECK_STR(said(&n), "The trace contains no operators, kernels or calls: nothing to report.");
}

TEST(calls_into_a_driver_do_not_show_that_the_device_was_idle)
{
    kino__report_numbers n = nothing_known();
    n.has_device = n.has_step_events = true; /* but nothing that ran on it */
    n.step_time = 1000;
    n.part[KINO__ROLE_RUNTIME] = 700;
    n.part[KINO__ROLE_CPU] = 300;
    CHECK_STR(said(&n), "A step takes 1 µs: operators on the CPU take 30.0 % of it and 70.0 % is "
                        "calls into the device's driver.");
}

TEST(only_ranks_that_keep_the_others_waiting_are_named)
{
    kino__report_numbers n = nothing_known();
    n.has_step_events = n.has_device = n.has_work = true;
    n.trace_count = 4;
    n.step_time = 1000;
    n.part[KINO__ROLE_KERNEL] = 1000;
    CHECK_STR(said(&n), "A step takes 1 µs (mean of 4 ranks): the device computes for 100.0 % of "
                        "it.");
    n.slow_title = n.advice = KINO__STR("rank 2 is the slowest");
    n.slow_seen = KINO__STR("its kernels take 3 µs more per step than the median rank's");
    n.advice_is_slow = true;
    n.advice_gain = 7;
    n.advice_whose = KINO__STR("rank 2's step");
    CHECK_STR(said(&n),
              "A step takes 1 µs (mean of 4 ranks): the device computes for 100.0 % of it. Rank 2 "
              "is the slowest: its kernels take 3 µs more per step than the median rank's. Start "
              "with: why rank 2 is the slowest (could save up to 7.0 % of rank 2's step).");
}

TEST(memory_advice_and_trust_are_told)
{
    kino__report_numbers n = nothing_known();
    n.has_step_events = n.has_device = n.has_work = true;
    n.step_time = 1000;
    n.part[KINO__ROLE_KERNEL] = 1000;
    n.slowest_step = KINO__STR("7");
    n.slowest_time = 3000;
    n.median_time = 1000;
    n.memory_device = KINO__STR("GPU0");
    n.memory_peak = 8000000000;
    n.memory_total = 16000000000;
    n.advice = KINO__STR("use fewer words");
    n.advice_gain = 12.34;
    n.losses = 0;
    n.warnings = 2;
    CHECK_STR(said(&n),
              "A step takes 1 µs: the device computes for 100.0 % of it. Step 7 stands out with 3 "
              "µs, 3.0 times the median. Memory peaks at 7.451 GiB on GPU0, 50.0 % of its 14.9 "
              "GiB. Start "
              "with: use fewer words (could save up to 12.3 % of the step). The recording is "
              "partly inconsistent (2 warnings): for details, run kino check.");
    n = nothing_known();
    n.has_step_events = n.has_device = n.has_work = true;
    n.step_time = 1000;
    n.part[KINO__ROLE_KERNEL] = 1000;
    n.memory_device = KINO__STR("CPU");
    n.memory_peak = 1000;
    n.memory_total = KINO_NO_INT;
    n.losses = 1;
    n.damages = 1;
    CHECK_STR(said(&n), "A step takes 1 µs: the device computes for 100.0 % of it. Memory peaks at "
                        "1000 B on CPU, relative to the start of the profiler. The recording is "
                        "incomplete (1 loss, 1 damage): for details, run kino check.");
}

/* -- averages -- */

TEST(averaged_parts_add_up_to_the_averaged_step)
{
    kino__report_facts facts = {0};
    kino__rank_fact *rank = kino__vec_add(&facts.ranks);
    REQUIRE(rank != NULL);
    *rank = (kino__rank_fact){.rank = 0, .step_count = 3, .has_step_events = true};
    const int64_t kernel[] = {10, 11, 11}, other[] = {5, 5, 6}; /* sums: 32 + 16 = 48 */
    for (int i = 0; i < 3; i++) {
        kino__step_fact *step = kino__vec_add(&facts.steps);
        REQUIRE(step != NULL);
        *step = (kino__step_fact){.name = {&"abc"[i], 1}, .event = 100 + i};
        step->part[KINO__ROLE_KERNEL] = kernel[i];
        step->part[KINO__ROLE_OTHER] = other[i];
        step->time = kernel[i] + other[i];
    }
    kino_report *report = new_report();
    kino__report_numbers n = nothing_known();
    kino__report_steps(report, &facts, &n);
    CHECK(report->has_step);
    CHECK_EQ(n.step_time, 16);
    CHECK_EQ(n.part[KINO__ROLE_KERNEL], 10);
    CHECK_EQ(n.part[KINO__ROLE_OTHER], 6); /* 16 - 10, not 16/3 = 5 */
    REQUIRE_EQ(n.steps.count, 3);
    CHECK_EQ(n.steps.ids[2], 102);
    REQUIRE_EQ(report->steps.count, 3);
    CHECK_STR(report->steps.items[1].label, "b");
    CHECK_EQ(report->steps.items[2].total, 17);
    CHECK_EQ(report->ranks.count, 0); /* one rank needs no bars of its own */
    CHECK_EQ(n.slowest_step.size, 0); /* 17 is not 1.2 times 16 */
    kino_report_free(report);
    kino__vec_deinit(&facts.steps);
    kino__vec_deinit(&facts.ranks);
}

/* -- forms -- */

static char *rendered(const kino_report *report, const char *format, unsigned width)
{
    kino__buffer text = {0};
    kino__sink *sink;
    REQUIRE(kino__memory_sink_new(&text, &sink, NULL) == KINO_OK);
    kino__render render = {.sink = sink, .width = width};
    CHECK_EQ(kino__render_report(&render, kino__report_form_find(format), report, NULL), KINO_OK);
    CHECK_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    kino__buffer_add(&text, (kino_str){"", 1});
    REQUIRE(!text.failed);
    return text.data;
}

TEST(html_escapes_what_a_trace_says)
{
    static const kino_column columns[] = {{"op", KINO_TYPE_STRING, NULL, NULL}};
    kino_report *report = new_report();
    report->path = KINO__STR("a<b>&\"c'.json");
    kino__table *table = kino__result_add_table(report->own, "t", columns, 1);
    kino__table_add_text(table, KINO__STR("<script>alert(1)</script>"));
    kino__report_section *section = kino__vec_add(&report->sections);
    REQUIRE(section != NULL);
    *section = (kino__report_section){.name = "t", .title = "T", .table = table};
    kino__report_finding *finding = kino__vec_add(&report->findings);
    REQUIRE(finding != NULL);
    *finding = (kino__report_finding){
        .severity = KINO__STR("\"><img src=x>"), .title = KINO__STR("<i>"), .gain_percent = NAN};
    char *page = rendered(report, "html", 0);
    CHECK(strstr(page, "<h1>a&lt;b&gt;&amp;&quot;c&#39;.json</h1>") != NULL);
    CHECK(strstr(page, "&lt;script&gt;alert(1)&lt;/script&gt;") != NULL);
    CHECK(strstr(page, "<script>alert") == NULL);
    CHECK(strstr(page, "<img") == NULL);
    CHECK(strstr(page, "<i>") == NULL);
    CHECK(strstr(page, "NaN") == NULL && strstr(page, "nan %") == NULL);
    free(page);
    kino_report_free(report);
}

TEST(the_terminal_gets_no_control_characters_of_a_trace)
{
    kino_report *report = new_report();
    report->path = KINO__STR("x\033[31m.json");
    report->step_note = KINO__STR("none");
    char *page = rendered(report, "table", 80);
    CHECK(strchr(page, '\033') == NULL);
    CHECK(strstr(page, "x\\x1b[31m.json") != NULL);
    CHECK(strstr(page, "not available: none") != NULL);
    free(page);
    kino_report_free(report);
}

/* -- the engine -- */

static bool keep_bytes(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

static void make_report(kino_run *run, bool is_alone, unsigned jobs, kino__buffer *out)
{
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    kino_render_options form = KINO_RENDER_OPTIONS_INIT;
    kino_report *report;
    kino_error err;
    how.alone = is_alone;
    how.jobs = jobs;
    how.full = true;
    form.format = "json";
    REQUIRE_EQ(kino_run_report(run, &how, &report, &err), KINO_OK);
    REQUIRE_EQ(kino_render_report(report, &form, keep_bytes, out, &err), KINO_OK);
    CHECK(kino_report_result(report, 0) != NULL);
    CHECK(kino_report_result(report, 1000) == NULL);
    kino_report_free(report);
}

static kino_run *open_demo(unsigned ranks)
{
    kino_demo_options demo = KINO_DEMO_OPTIONS_INIT;
    const char *folder = test_tmp("run");
    kino_run *run;
    kino_error err;
    demo.ranks = ranks;
    demo.steps = 2;
    REQUIRE_EQ(kino_demo_write(folder, &demo, &err), KINO_OK);
    REQUIRE_EQ(kino_run_open(&folder, 1, NULL, &run, &err), KINO_OK);
    return run;
}

/* Columns that the profile has used are given back while it is made, where nobody else needs them. */
TEST_THREADS(a_report_is_the_same_when_it_is_the_last)
{
    kino__buffer text[2] = {0};
    for (int is_last = 0; is_last < 2; is_last++) {
        kino_run *run = open_demo(2);
        kino_report_options how = KINO_REPORT_OPTIONS_INIT;
        kino_render_options form = KINO_RENDER_OPTIONS_INIT;
        kino_report *report;
        kino_error err;
        how.alone = how.last = is_last;
        how.compat = "tensorboard"; /* no costs: they need what is given back */
        how.jobs = 2;
        form.format = "json";
        REQUIRE_EQ(kino_run_report(run, &how, &report, &err), KINO_OK);
        REQUIRE_EQ(kino_render_report(report, &form, keep_bytes, &text[is_last], &err), KINO_OK);
        kino_report_free(report);
        if (is_last)
            CHECK_EQ(kino_run_report(run, &how, &report, &err), KINO_ARGUMENT);
        kino_run_free(run);
    }
    CHECK(text[0].size > 10000 &&
          kino__str_equal(kino__buffer_str(&text[0]), kino__buffer_str(&text[1])));
    kino__buffer_deinit(&text[0]);
    kino__buffer_deinit(&text[1]);
}

TEST_THREADS(a_report_is_the_same_when_traces_are_forgotten_and_with_more_threads)
{
    kino__buffer kept = {0}, forgotten = {0}, again = {0};
    kino_run *run = open_demo(3);
    make_report(run, false, 1, &kept);
    make_report(run, true, 2, &forgotten);
    make_report(run, false, 4, &again); /* the run is as good as before */
    CHECK(kept.size > 10000 && !kept.failed);
    CHECK(kino__str_equal(kino__buffer_str(&kept), kino__buffer_str(&forgotten)));
    CHECK(kino__str_equal(kino__buffer_str(&kept), kino__buffer_str(&again)));
    kino__buffer_deinit(&kept);
    kino__buffer_deinit(&forgotten);
    kino__buffer_deinit(&again);
    kino_run_free(run);
}

static bool stop(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    (void)what;
    (void)done;
    (void)total;
    return false;
}

TEST_THREADS(a_report_can_be_stopped)
{
    for (unsigned ranks = 1; ranks <= 2; ranks++) {
        kino_run *run = open_demo(ranks);
        kino_report_options how = KINO_REPORT_OPTIONS_INIT;
        kino_report *report;
        kino_error err;
        how.progress = stop;
        CHECK_EQ(kino_run_report(run, &how, &report, &err), KINO_CANCELLED);
        CHECK(report == NULL);
        kino_run_free(run);
    }
}

TEST(options_of_a_report_are_checked_before_the_work)
{
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    kino_error err;
    CHECK_EQ(kino_report_check(&how, &err), KINO_OK);
    how.steps = "3-7";
    how.compat = "tensorboard";
    CHECK_EQ(kino_report_check(&how, &err), KINO_OK);
    how.steps = "7-3";
    CHECK_EQ(kino_report_check(&how, &err), KINO_ARGUMENT);
    how.steps = NULL;
    how.compat = "hta";
    CHECK_EQ(kino_report_check(&how, &err), KINO_ARGUMENT);
}
