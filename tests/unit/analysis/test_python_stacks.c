/* test_python_stacks.c - time by call stack, on traces made by hand. */
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define ALL "node,parent,depth,name,total,self,calls"

static void check_flame(kino__trace *const *traces, size_t count, const char *params,
                        const char *want, const char *notes)
{
    kino_result *result = analysis_result("python-stacks", params, traces, count);
    CHECK_STR(analysis_rows(result, "flame", ALL), want);
    CHECK_STR(analysis_notes(result), notes);
    kino_result_free(result);
}

/* thread   0 main.py ................................ 100
 *             10 mm 30   40 step 70        80 mm 90
 *                           50 mm 60
 * stream                        55 gemm 75 */
static kino__trace *small_trace(void)
{
    return FIXTURE({.cat = "python_function", .name = "main.py", .track = 1, .ts = 0, .dur = 100},
                   {.cat = "cpu_op", .name = "mm", .track = 1, .ts = 10, .dur = 20},
                   {.cat = "python_function", .name = "step", .track = 1, .ts = 40, .dur = 30},
                   {.cat = "cpu_op", .name = "mm", .track = 1, .ts = 50, .dur = 10},
                   {.cat = "cpu_op", .name = "mm", .track = 1, .ts = 80, .dur = 10},
                   {.cat = "kernel", .name = "gemm", .track = 7, .ts = 55, .dur = 20});
}

TEST(python_stacks_add_up_what_has_the_same_names_below_it)
{
    kino__trace *trace = small_trace();
    /* siblings of equal time by name: mm (20 + 10) before step (30) */
    check_flame(&trace, 1, "",
                "0,-,0,main.py,100,40,1;1,0,1,mm,30,30,2;2,0,1,step,30,20,1;3,2,2,mm,10,10,1", "");
    check_flame(&trace, 1, "stacks=python", "0,-,0,main.py,100,70,1;1,0,1,step,30,30,1", "");
    check_flame(&trace, 1, "stacks=op", "0,-,0,mm,40,40,3", "");
    check_flame(&trace, 1, "where=device", "0,-,0,gemm,20,20,1", "");
    kino__trace_free(trace);
}

TEST(python_stacks_leave_out_small_stacks_with_a_note)
{
    kino__trace *trace = small_trace();
    check_flame(&trace, 1, "min_share=20", /* of 100 */
                "0,-,0,main.py,100,40,1;1,0,1,mm,30,30,2;2,0,1,step,30,20,1",
                "1 of 4 stacks are below min_share and left out");
    kino__trace_free(trace);
}

TEST(python_stacks_of_several_ranks_are_one_tree)
{
    kino__trace *traces[] = {
        small_trace(),
        FIXTURE({.cat = "python_function", .name = "main.py", .track = 1, .ts = 0, .dur = 7},
                {.cat = "cpu_op", .name = "add", .track = 1, .ts = 1, .dur = 2}),
        FIXTURE({.cat = "kernel", .name = "gemm", .track = 7, .ts = 0, .dur = 1})};
    check_flame(traces, 3, "stacks=combined",
                "0,-,0,main.py,107,45,2;1,0,1,mm,30,30,2;2,0,1,step,30,20,1;3,2,2,mm,10,10,1;"
                "4,0,1,add,2,2,1",
                "1 of 3 traces have no matching spans");
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(python_stacks_begin_with_their_thread_when_asked)
{
    kino__trace *trace = small_trace();
    kino_result *result =
        analysis_result("python-stacks", "threads=yes where=all stacks=op", &trace, 1);
    CHECK_STR(analysis_rows(result, "flame", "node,parent,depth,total,self,calls"),
              "0,-,0,40,0,1;1,0,1,40,40,3;2,-,0,20,0,1;3,2,1,20,20,1");
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(python_stacks_without_python_say_why)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "mm", .track = 1, .ts = 0, .dur = 1});
    check_flame(&trace, 1, "stacks=python", "",
                "flame not available: no Python spans to build stacks from (the PyTorch profiler "
                "records them with with_stack=True)");
    kino__trace_free(trace);
}

TEST(python_stacks_take_all_steps_as_one_unless_asked)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 10},
        {.cat = "cpu_op", .name = "mm", .track = 1, .ts = 2, .dur = 3},
        {.cat = "user_annotation", .name = "ProfilerStep#2", .track = 1, .ts = 10, .dur = 8},
        {.cat = "cpu_op", .name = "mm", .track = 1, .ts = 12, .dur = 3});
    check_flame(&trace, 1, "", "0,-,0,ProfilerStep,18,12,2;1,0,1,mm,6,6,2", "");
    check_flame(&trace, 1, "steps_apart=yes",
                "0,-,0,ProfilerStep#1,10,7,1;1,0,1,mm,3,3,1;2,-,0,ProfilerStep#2,8,5,1;"
                "3,2,1,mm,3,3,1",
                "");
    kino__trace_free(trace);
}
