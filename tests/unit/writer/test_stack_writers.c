/* test_stack_writers.c - speedscope files and collapsed stacks of traces made by hand, letter by
 * letter. */
#include <stdlib.h>
#include <string.h>

#include "unit/fixture.h"
#include "unit/test.h"
#include "unit/write_text.h"
#include "writer/json_text.h"

static void check_collapsed(kino__trace *trace, kino__write_context context, const char *want)
{
    kino__buffer text = write_text(&kino__writer_collapsed, &trace, 1, context, 1, NULL);
    CHECK_STR(kino__buffer_str(&text), want);
    kino__buffer_deinit(&text);
}

/* From the first profile on; what is before is the same in all of them. */
static void check_profiles(kino__trace *trace, kino__write_context context, const char *want)
{
    kino__buffer text = write_text(&kino__writer_speedscope, &trace, 1, context, 1, NULL);
    CHECK(kino__json_is_strict(kino__buffer_str(&text)));
    static const char mark[] = "\"profiles\": [\n";
    const char *from = memmem(text.data, text.size, mark, strlen(mark));
    REQUIRE(from != NULL);
    from += strlen(mark);
    CHECK_STR(((kino_str){from, text.size - (size_t)(from - text.data)}), want);
    kino__buffer_deinit(&text);
}

/* step [0, 100) holds f [10, 60) of Python, which holds mm [20, 50); a kernel [40, 70). */
static kino__trace *mixed_trace(void)
{
    kino__trace *trace =
        FIXTURE({.track = 3, .cat = "user_annotation", .name = "step", .ts = 0, .dur = 100},
                {.track = 3, .cat = "python_function", .name = "f", .ts = 10, .dur = 50},
                {.track = 3, .cat = "cpu_op", .name = "mm", .ts = 20, .dur = 30},
                {.track = 3, .ph = 'i', .name = "mark", .ts = 25},
                {.track = 7, .cat = "kernel", .name = "gemm", .ts = 40, .dur = 30});
    trace->rank = 2;
    return trace;
}

#define HOST "rank 2, process 1, thread 3"
#define GPU  "rank 2, device 0, stream 7"

TEST(collapsed_time_is_what_a_span_does_not_give_to_those_on_it)
{
    check_collapsed(mixed_trace(), (kino__write_context){0},
                    GPU ";gemm 30\n" HOST ";step 50\n" HOST ";step;f 20\n" HOST ";step;f;mm 30\n");
}

TEST(collapsed_stacks_of_one_kind_leave_the_others_out)
{
    check_collapsed(mixed_trace(), (kino__write_context){.stack_kind = KINO__STACK_PYTHON},
                    HOST ";f 50\n");
    check_collapsed(mixed_trace(), (kino__write_context){.stack_kind = KINO__STACK_OP},
                    GPU ";gemm 30\n" HOST ";step 70\n" HOST ";step;mm 30\n");
}

/* Two calls of one stack are one line; a call without length counts, and takes no time. */
TEST(collapsed_counts_are_calls)
{
    const fixture_event events[] = {{.cat = "cpu_op", .name = "a", .ts = 0, .dur = 10},
                                    {.cat = "cpu_op", .name = "b", .ts = 0, .dur = 5},
                                    {.cat = "cpu_op", .name = "b", .ts = 5, .dur = 5},
                                    {.cat = "cpu_op", .name = "b", .ts = 20, .dur = 0}};
    check_collapsed(
        fixture_new(events, 4), (kino__write_context){.counts = true},
        "process 1, thread 0;a 1\nprocess 1, thread 0;a;b 2\nprocess 1, thread 0;b 1\n");
    check_collapsed(fixture_new(events, 4), (kino__write_context){0},
                    "process 1, thread 0;a;b 10\n");
}

/* x and y overlap and stand on nothing but p: y [40, 60) cannot stand on x [10, 50), so it goes to
 * a lane of its own; p keeps the time that x does not take. z [45, 48) is in x and in y, which
 * starts later. 100 + 20 in all: the spans at the bottom of the lanes. */
static kino__trace *overlapping_trace(void)
{
    return FIXTURE({.cat = "cpu_op", .name = "p", .ts = 0, .dur = 100},
                   {.cat = "cpu_op", .name = "x", .ts = 10, .dur = 40},
                   {.cat = "cpu_op", .name = "y", .ts = 40, .dur = 20},
                   {.cat = "cpu_op", .name = "z", .ts = 45, .dur = 3},
                   {.cat = "cpu_op", .name = "w", .ts = 60, .dur = 10});
}

TEST(collapsed_spans_that_overlap_are_not_counted_twice)
{
    check_collapsed(overlapping_trace(), (kino__write_context){0},
                    "process 1, thread 0;p 50\nprocess 1, thread 0;p;w 10\n"
                    "process 1, thread 0;p;x 40\nprocess 1, thread 0;y 17\n"
                    "process 1, thread 0;y;z 3\n");
}

TEST(collapsed_names_cannot_break_a_line)
{
    check_collapsed(FIXTURE({.cat = "cpu_op", .name = "f(T) [T = int; U = x]", .ts = 0, .dur = 1},
                            {.cat = "cpu_op", .name = "two\nlines", .ts = 1, .dur = 1},
                            {.cat = "cpu_op", .name = "two\tlines", .ts = 2, .dur = 1},
                            {.cat = "cpu_op", .name = "", .ts = 3, .dur = 1},
                            {.cat = "cpu_op", .ts = 4, .dur = 1}),
                    (kino__write_context){0},
                    "process 1, thread 0;(no name) 2\n"
                    "process 1, thread 0;f(T) [T = int, U = x] 1\n"
                    "process 1, thread 0;two lines 2\n");
}

/* A span that would end behind 2^63 - 1 ends there: a [0, 2^63 - 1) holds a [1, 2^63 - 1), and b
 * [-5, 5) overlaps both. */
TEST(collapsed_takes_absurd_durations)
{
    check_collapsed(FIXTURE({.cat = "cpu_op", .name = "a", .ts = 0, .dur = INT64_MAX},
                            {.cat = "cpu_op", .name = "b", .ts = -5, .dur = 10},
                            {.cat = "cpu_op", .name = "a", .ts = 1, .dur = INT64_MAX},
                            {.cat = "cpu_op", .name = "n", .ts = 2, .dur = -7}),
                    (kino__write_context){0},
                    "process 1, thread 0;a 1\nprocess 1, thread 0;a;a 9223372036854775806\n"
                    "process 1, thread 0;b 10\n");
}

/* 2 (2^63 - 1) does not fit in 63 bits. */
TEST(collapsed_sums_do_not_overflow)
{
    check_collapsed(FIXTURE({.cat = "cpu_op", .name = "a", .ts = INT64_MIN + 1, .dur = INT64_MAX},
                            {.cat = "cpu_op", .name = "a", .ts = 0, .dur = INT64_MAX}),
                    (kino__write_context){0}, "process 1, thread 0;a 18446744073709551614\n");
}

TEST(collapsed_traces_of_a_run_are_told_apart)
{
    kino__trace *traces[2] = {mixed_trace(), mixed_trace()};
    traces[1]->rank = 0;
    kino__write_context python = {.stack_kind = KINO__STACK_PYTHON};
    kino__buffer text = write_text(&kino__writer_collapsed, traces, 2, python, 1, NULL);
    CHECK_STR(kino__buffer_str(&text),
              "rank 0, process 1, thread 3;f 50\nrank 2, process 1, thread 3;f 50\n");
    kino__buffer_deinit(&text);
    kino__trace *same[2] = {mixed_trace(), mixed_trace()};
    text = write_text(&kino__writer_collapsed, same, 2, python, 1, NULL);
    CHECK_STR(kino__buffer_str(&text),
              "trace 0, process 1, thread 3;f 50\ntrace 1, process 1, thread 3;f 50\n");
    kino__buffer_deinit(&text);
}

TEST(tracks_are_called_by_their_names)
{
    static const struct {
        const char *thread, *process, *want;
    } cases[] = {
        {NULL, NULL, "process 1, thread 0;a 1\n"},
        {"main", "python", "python 1, main 0;a 1\n"},
        {"thread 0 (main)", "python", "python 1, thread 0 (main);a 1\n"},
        {"thread 10 ", NULL, "process 1, thread 10 0;a 1\n"}, /* 10 is another number */
        {"a;b", "p;q", "p,q 1, a,b 0;a 1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "a", .ts = 0, .dur = 1});
        kino__track *track = &trace->tracks.items[0];
        if (cases[i].thread)
            track->name = kino__string_pool_add(&trace->strings, kino__str_from(cases[i].thread));
        if (cases[i].process)
            track->process_name =
                kino__string_pool_add(&trace->strings, kino__str_from(cases[i].process));
        check_collapsed(trace, (kino__write_context){0}, cases[i].want);
    }
}

TEST(speedscope_files_have_their_schema_frames_and_profiles)
{
    kino__trace *trace = mixed_trace();
    trace->path = KINO__STR("runs/some \"trace\".json");
    kino__buffer text =
        write_text(&kino__writer_speedscope, &trace, 1, (kino__write_context){0}, 1, NULL);
    CHECK(kino__json_is_strict(kino__buffer_str(&text)));
    CHECK_STR(kino__buffer_str(&text),
              "{\n\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n"
              "\"exporter\": \"kino\",\n\"name\": \"some \\\"trace\\\".json\",\n"
              "\"shared\": {\"frames\": [\n{\"name\": \"step\"},\n{\"name\": \"f\"},\n"
              "{\"name\": \"mm\"},\n{\"name\": \"gemm\"}\n]},\n\"profiles\": [\n"
              "{\"type\": \"evented\", \"name\": \"" HOST "\", \"unit\": \"nanoseconds\", "
              "\"startValue\": 0, \"endValue\": 100, \"events\": [\n"
              "{\"type\":\"O\",\"frame\":0,\"at\":0},\n"
              "{\"type\":\"O\",\"frame\":1,\"at\":10},\n"
              "{\"type\":\"O\",\"frame\":2,\"at\":20},\n"
              "{\"type\":\"C\",\"frame\":2,\"at\":50},\n"
              "{\"type\":\"C\",\"frame\":1,\"at\":60},\n"
              "{\"type\":\"C\",\"frame\":0,\"at\":100}\n]},\n"
              "{\"type\": \"evented\", \"name\": \"" GPU "\", \"unit\": \"nanoseconds\", "
              "\"startValue\": 0, \"endValue\": 100, \"events\": [\n"
              "{\"type\":\"O\",\"frame\":3,\"at\":40},\n"
              "{\"type\":\"C\",\"frame\":3,\"at\":70}\n]}\n],\n\"activeProfileIndex\": 0\n}\n");
    kino__buffer_deinit(&text);
}

/* Frames are p x y z w, in order of start. */
TEST(speedscope_gives_spans_that_overlap_a_profile_of_their_own)
{
    check_profiles(
        overlapping_trace(), (kino__write_context){0},
        "{\"type\": \"evented\", \"name\": \"process 1, thread 0\", \"unit\": "
        "\"nanoseconds\", \"startValue\": 0, \"endValue\": 100, \"events\": [\n"
        "{\"type\":\"O\",\"frame\":0,\"at\":0},\n"
        "{\"type\":\"O\",\"frame\":1,\"at\":10},\n"
        "{\"type\":\"C\",\"frame\":1,\"at\":50},\n"
        "{\"type\":\"O\",\"frame\":4,\"at\":60},\n"
        "{\"type\":\"C\",\"frame\":4,\"at\":70},\n"
        "{\"type\":\"C\",\"frame\":0,\"at\":100}\n]},\n"
        "{\"type\": \"evented\", \"name\": \"process 1, thread 0 [overlap 1]\", "
        "\"unit\": \"nanoseconds\", \"startValue\": 0, \"endValue\": 100, "
        "\"events\": [\n"
        "{\"type\":\"O\",\"frame\":2,\"at\":40},\n"
        "{\"type\":\"O\",\"frame\":3,\"at\":45},\n"
        "{\"type\":\"C\",\"frame\":3,\"at\":48},\n"
        "{\"type\":\"C\",\"frame\":2,\"at\":60}\n]}\n],\n\"activeProfileIndex\": 0\n}\n");
}

/* A kernel starts before everything else, two marks without length stand on each other, c has no
 * duration; the host thread is what is shown first. */
TEST(speedscope_keeps_spans_without_length)
{
    kino__trace *trace = FIXTURE({.track = 1, .cat = "kernel", .name = "k", .ts = -5, .dur = 5},
                                 {.track = 2, .cat = "cpu_op", .name = "a", .ts = 3, .dur = 0},
                                 {.track = 2, .cat = "cpu_op", .name = "b", .ts = 3, .dur = 0},
                                 {.track = 2, .cat = "cpu_op", .name = "c", .ts = 4, .dur = 0});
    trace->dur[fixture_row(trace, 3)] = KINO_NO_TIME;
    check_profiles(trace, (kino__write_context){0},
                   "{\"type\": \"evented\", \"name\": \"device 0, stream 1\", \"unit\": "
                   "\"nanoseconds\", \"startValue\": -5, \"endValue\": 4, \"events\": [\n"
                   "{\"type\":\"O\",\"frame\":0,\"at\":-5},\n"
                   "{\"type\":\"C\",\"frame\":0,\"at\":0}\n]},\n"
                   "{\"type\": \"evented\", \"name\": \"process 1, thread 2\", \"unit\": "
                   "\"nanoseconds\", \"startValue\": -5, \"endValue\": 4, \"events\": [\n"
                   "{\"type\":\"O\",\"frame\":1,\"at\":3},\n"
                   "{\"type\":\"O\",\"frame\":2,\"at\":3},\n"
                   "{\"type\":\"C\",\"frame\":2,\"at\":3},\n"
                   "{\"type\":\"C\",\"frame\":1,\"at\":3},\n"
                   "{\"type\":\"O\",\"frame\":3,\"at\":4},\n"
                   "{\"type\":\"C\",\"frame\":3,\"at\":4}\n]}\n],\n\"activeProfileIndex\": 1\n}\n");
}

TEST(no_spans_of_the_kind_asked_for_is_an_error)
{
    static const kino__writer_def *const writers[] = {&kino__writer_speedscope,
                                                      &kino__writer_collapsed};
    for (size_t i = 0; i < 2; i++) {
        kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "a", .ts = 0, .dur = 1});
        kino_status st = KINO_OK;
        kino__buffer text = write_text(
            writers[i], &trace, 1, (kino__write_context){.stack_kind = KINO__STACK_PYTHON}, 1, &st);
        CHECK_EQ(st, KINO_NOT_FOUND);
        CHECK_EQ(text.size, 0);
        kino__buffer_deinit(&text);
    }
}

static bool stop(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)what, (void)total;
    return done == 0;
}

TEST(writers_of_stacks_can_be_stopped)
{
    static const kino__writer_def *const writers[] = {&kino__writer_speedscope,
                                                      &kino__writer_collapsed};
    enum { COUNT = 20000 };
    static fixture_event events[COUNT];
    for (int i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.cat = "cpu_op", .name = "a", .ts = 2 * i, .dur = 1};
    for (size_t i = 0; i < 2; i++) {
        kino__progress progress;
        kino__progress_init(&progress, stop, NULL);
        kino__trace *trace = fixture_new(events, COUNT);
        kino_status st = KINO_OK;
        kino__buffer text =
            write_text(writers[i], &trace, 1, (kino__write_context){.progress = &progress}, 1, &st);
        CHECK_EQ(st, KINO_CANCELLED);
        kino__buffer_deinit(&text);
    }
}

/* Spans that all overlap each other need a lane each; must not take quadratic time. */
TEST(many_lanes_are_found_in_time)
{
    enum { COUNT = 100000 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    for (int i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.cat = "cpu_op", .name = "a", .ts = i, .dur = COUNT};
    check_collapsed(fixture_new(events, COUNT), (kino__write_context){0},
                    "process 1, thread 0;a 10000000000\n");
    free(events);
}
