/* test_timeline.c - the tables of a timeline: tracks, steps, lost, details, search and area, by
 * hand from one small trace; counters in tiles; JSON and .kino; several ranks; many threads. */
#include <pthread.h>
#include <stdlib.h>

#include <kino/timeline.h>

#include "base/str.h"
#include "unit/analysis_rows.h"
#include "unit/test.h"
#include "unit/tile_read.h"

/* One training step of 100 us. Numbers of events are their places here. */
static const char small[] =
    "{\"traceEvents\": ["
    /* 0 */ "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":100,"
    "\"tid\":100,\"ts\":0,\"dur\":100},"
    /* 1 */ "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a/train.py(12): "
    "step\",\"pid\":100,"
    "\"tid\":100,\"ts\":1,\"dur\":90},"
    /* 2 */ "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: "
    "Linear_0\",\"pid\":100,"
    "\"tid\":100,\"ts\":2,\"dur\":80},"
    /* 3 */ "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::linear\",\"pid\":100,\"tid\":100,"
    "\"ts\":5,\"dur\":60,\"args\":{\"External id\":11}},"
    /* 4 */ "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":100,\"tid\":100,"
    "\"ts\":10,\"dur\":20,\"args\":{\"External id\":12,\"Sequence number\":5}},"
    /* 5 */ "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":100,"
    "\"tid\":100,\"ts\":15,\"dur\":5,\"args\":{\"External id\":12,\"correlation\":77}},"
    /* 6 */ "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm_kernel\",\"pid\":0,\"tid\":7,\"ts\":"
    "40,"
    "\"dur\":30,\"args\":{\"External id\":12,\"correlation\":77,\"device\":0,\"stream\":7,"
    "\"grid\":[1,2],\"note\":\"a\\\"b\",\"ok\":true,\"x\":1.5,\"none\":null}},"
    /* 7 */ "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"MmBackward0\",\"pid\":100,\"tid\":101,"
    "\"ts\":70,\"dur\":10,\"args\":{\"External id\":20,\"Sequence number\":5,\"Fwd thread id\":1}},"
    /* 8 */ "{\"ph\":\"s\",\"id\":1,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":100,\"tid\":100,"
    "\"ts\":10},"
    /* 9 */ "{\"ph\":\"f\",\"id\":1,\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"pid\":100,\"tid\":101,"
    "\"ts\":70,\"bp\":\"e\"},"
    /* 10 */ "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":100,\"tid\":100,\"ts\":10,"
    "\"args\":{\"used\":5,\"free bytes\":7}},"
    /* 11 */ "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":100,\"tid\":101,\"ts\":50,"
    "\"args\":{\"used\":9}},"
    /* 12 */ "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\","
    "\"pid\":100,\"tid\":100,\"ts\":12},"
    /* 13 */ "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD\",\"pid\":0,\"tid\":20,"
    "\"ts\":90,\"dur\":5,\"args\":{\"device\":0,\"stream\":20}},"
    /* 14 */ "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
    "\"tid\":\"PyTorch Profiler\",\"ts\":0,\"dur\":100},"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,\"args\":{\"labels\":\"GPU "
    "0\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":100,\"tid\":100,"
    "\"args\":{\"name\":\"thread 100 (python)\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7 \"}}"
    "]}";

static kino_run *open_path(const char *path)
{
    kino_run *run = NULL;
    kino_error err = {0};
    REQUIRE_EQ(kino_run_open(&path, 1, NULL, &run, &err), KINO_OK);
    return run;
}

static kino_timeline *timeline_of(kino_run *run)
{
    kino_timeline *timeline = NULL;
    kino_error err = {0};
    REQUIRE_EQ(kino_timeline_new(run, NULL, &timeline, &err), KINO_OK);
    return timeline;
}

typedef struct view {
    kino_run *run;
    kino_timeline *timeline;
    kino_result *result; /* of the last question */
} view;

static view view_of(const char *json)
{
    const char *path = test_tmp("trace.json");
    test_write_file(path, json, strlen(json));
    view v = {open_path(path), NULL, NULL};
    v.timeline = timeline_of(v.run);
    return v;
}

static void view_free(view *v)
{
    kino_result_free(v->result);
    kino_timeline_free(v->timeline);
    kino_run_free(v->run);
}

static void ask_tracks(view *v)
{
    kino_result_free(v->result);
    REQUIRE_EQ(kino_timeline_tracks(v->timeline, &v->result, NULL), KINO_OK);
}

static void ask_event(view *v, int64_t id)
{
    kino_result_free(v->result);
    REQUIRE_EQ(kino_timeline_event(v->timeline, id, &v->result, NULL), KINO_OK);
}

static void ask_area(view *v, int64_t from, int64_t to)
{
    kino_area area = KINO_AREA_INIT;
    area.from_ns = from;
    area.to_ns = to;
    kino_result_free(v->result);
    REQUIRE_EQ(kino_timeline_aggregate(v->timeline, &area, &v->result, NULL), KINO_OK);
}

static const char *search_ids(view *v, const char *text)
{
    kino_search search = KINO_SEARCH_INIT;
    search.text = text;
    kino_result_free(v->result);
    REQUIRE_EQ(kino_timeline_search(v->timeline, &search, &v->result, NULL), KINO_OK);
    return analysis_rows(v->result, "found", "id");
}

/* -- tracks, steps, lost -- */

TEST(timeline_tracks_are_named_and_in_the_order_to_be_shown)
{
    view v = view_of(small);
    ask_tracks(&v);
    CHECK_STR(analysis_rows(v.result, "tracks", "track,kind,group,name"),
              "0,thread,python (pid 100),thread 100 (python, main);"
              "1,thread,python (pid 100),thread 101;"
              "2,stream,GPU 0,stream 7;"
              "3,stream,GPU 0,stream 20;"
              "4,counter,python (pid 100),memory: free bytes;"
              "5,counter,python (pid 100),memory: used;"
              "6,other,Spans,PyTorch Profiler");
    /* the instant stands below aten::mm, beside the call that starts after it */
    CHECK_STR(analysis_rows(v.result, "tracks", "rows,events,first,last"),
              "6,7,0,100000;1,1,70000,80000;1,1,40000,70000;1,1,90000,95000;1,1,10000,10000;"
              "1,2,10000,50000;1,1,0,100000");
    CHECK_STR(analysis_rows(v.result, "tracks", "pid,tid,device,stream,unit"),
              "100,100,-,-,-;100,101,-,-,-;0,7,0,7,-;0,20,0,20,-;100,-,-,-,bytes;100,-,-,-,-;"
              "Spans,PyTorch Profiler,-,-,-");
    CHECK_STR(analysis_rows(v.result, "steps", "trace,number,start,dur,id"), "0,3,0,100000,0");
    CHECK_STR(analysis_rows(v.result, "lost", NULL), "");
    CHECK(kino_timeline_bytes(v.timeline) > 0);
    view_free(&v);
}

TEST(timeline_does_not_take_host_events_under_the_pid_of_a_device_for_the_main_process)
{
    view v = view_of(
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":4},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":4},"
        "{\"ph\":\"C\",\"name\":\"m\",\"pid\":0,\"ts\":0,\"args\":{\"value\":4}},"
        "{\"ph\":\"i\",\"name\":\"end\",\"pid\":\"\",\"tid\":\"\",\"ts\":0},"
        "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":9,\"args\":{\"labels\":\"CPU\"}},"
        "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 0\"}}]");
    ask_tracks(&v);
    CHECK_STR(analysis_rows(v.result, "tracks", "kind,group,name"),
              "thread,pid 9,thread 9 (main);thread,pid 0,thread 0;counter,GPU 0,m;"
              "other,no pid,no tid");
    view_free(&v);
}

TEST(timeline_places_what_was_skipped_between_its_neighbours_in_the_file)
{
    /* The second and third element cannot be read; then one; and the file is cut. Times count from
     * the first event. */
    view v = view_of("{\"traceEvents\": ["
                     "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":1},"
                     "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"dur\":1}, 17,"
                     "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":30,\"dur\":1},"
                     "{\"ph\":\"X\",\"name\":\"d\",\"pid\":1,\"tid\":1,\"ts\":\"?\",\"dur\":1},"
                     "{\"ph\":\"X\",\"name\":\"e\",\"pid\":1,\"tid\":1,\"ts\":25,\"dur\":9},"
                     "{\"ph\":\"X\",\"name\":\"f\",\"pi");
    ask_tracks(&v);
    CHECK_STR(analysis_rows(v.result, "lost", "from,to,count,reason"),
              "0,20000,2,events that cannot be read;"
              "15000,20000,1,events that cannot be read;"
              "24000,-,-,the input ends before the trace does");
    view_free(&v);
}

/* -- details -- */

TEST(timeline_event_tells_where_it_is_and_what_it_has)
{
    view v = view_of(small);
    ask_event(&v, 6);
    CHECK_STR(analysis_rows(v.result, "event",
                            "id,trace,track,row,name,category,kind,phase,start,dur,self"),
              "6,0,2,0,gemm_kernel,kernel,kernel,X,40000,30000,30000");
    CHECK_STR(analysis_rows(v.result, "event",
                            "pid,tid,step,device,stream,correlation,external_id,source,line"),
              "0,7,3,0,7,77,12,-,-");
    CHECK_STR(analysis_rows(v.result, "args", NULL),
              "External id,12,number;correlation,77,number;device,0,number;stream,7,number;"
              "grid,[1,2],array;note,a\"b,string;ok,true,bool;x,1.5,number;none,null,null");
    CHECK_STR(analysis_rows(v.result, "stack", NULL), "");
    /* aten::linear: 60 us, of which aten::mm takes 20 */
    ask_event(&v, 3);
    CHECK_STR(analysis_rows(v.result, "event", "track,row,dur,self,step"), "0,3,60000,40000,3");
    CHECK_STR(analysis_rows(v.result, "stack", "level,id,name,start,dur,source,line"),
              "0,0,ProfilerStep#3,0,100000,-,-;1,1,a/train.py(12): step,1000,90000,a/train.py,12;"
              "2,2,nn.Module: Linear_0,2000,80000,-,-");
    ask_event(&v, 1);
    CHECK_STR(analysis_rows(v.result, "event", "self,source,line"), "10000,a/train.py,12");
    ask_event(&v, 12); /* the instant has no time of its own */
    CHECK_STR(analysis_rows(v.result, "event", "row,phase,start,dur,self"), "5,i,12000,-,-");
    CHECK_STR(analysis_rows(v.result, "stack", "id"), "0;1;2;3;4");
    ask_event(&v, 8); /* a flow point is not drawn, but it is an event */
    CHECK_STR(analysis_rows(v.result, "event", "track,row,name,correlation"), "-,-,fwdbwd,-");
    view_free(&v);
}

TEST(timeline_event_links_lead_to_launch_op_module_frame_and_gradient)
{
    view v = view_of(small);
    ask_event(&v, 6);
    CHECK_STR(analysis_rows(v.result, "links", "relation,id,track,row"),
              "launched by,5,0,5;op,4,0,4;module,2,0,2");
    ask_event(&v, 5);
    CHECK_STR(analysis_rows(v.result, "links", "relation,id,name,track,row,start,dur"),
              "launches,6,gemm_kernel,2,0,40000,30000;op,4,aten::mm,0,4,10000,20000;"
              "module,2,nn.Module: Linear_0,0,2,2000,80000");
    ask_event(&v, 4);
    CHECK_STR(analysis_rows(v.result, "links", "relation,id"),
              "launches,6;module,2;backward,7;parent,3");
    ask_event(&v, 7);
    CHECK_STR(analysis_rows(v.result, "links", "relation,id"), "forward,4");
    ask_event(&v, 2);
    CHECK_STR(analysis_rows(v.result, "links", "relation,id"), "python,1");
    view_free(&v);
}

TEST(timeline_event_links_follow_flows_of_any_kind_and_sequence_numbers)
{
    /* 0 -> 1 by a flow of the program's own; 2 -> 3 by sequence numbers, as no flow tells */
    view v = view_of(
        "[{\"ph\":\"X\",\"name\":\"send\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9},"
        "{\"ph\":\"X\",\"name\":\"take\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":1,"
        "\"args\":{\"Sequence number\":4,\"Fwd thread id\":0}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"MmBackward\",\"pid\":1,\"tid\":2,\"ts\":30,"
        "\"dur\":1,\"args\":{\"Sequence number\":4,\"Fwd thread id\":1}},"
        "{\"ph\":\"s\",\"id\":7,\"cat\":\"own\",\"name\":\"q\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"f\",\"id\":7,\"cat\":\"own\",\"name\":\"q\",\"pid\":1,\"tid\":2,\"ts\":6,"
        "\"bp\":\"e\"}]");
    static const char *const wanted[] = {"flow to,1", "flow from,0", "backward,3", "forward,2"};
    for (int64_t id = 0; id < 4; id++) {
        ask_event(&v, id);
        CHECK_STR(analysis_rows(v.result, "links", "relation,id"), wanted[id]);
    }
    view_free(&v);
}

TEST(timeline_does_not_know_events_that_do_not_exist)
{
    view v = view_of(small);
    static const int64_t ids[] = {-1, 20, 4294967296, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        kino_error err = {0};
        kino_result *result = (kino_result *)&v;
        CHECK_EQ(kino_timeline_event(v.timeline, ids[i], &result, &err), KINO_NOT_FOUND);
        CHECK(result == NULL);
    }
    view_free(&v);
}

/* -- search -- */

TEST(timeline_search_finds_parts_of_names_in_any_case_and_in_order_of_time)
{
    view v = view_of(small);
    CHECK_STR(search_ids(&v, "MM"), "4;6;7"); /* aten::mm, gemm_kernel, MmBackward0 */
    CHECK_STR(analysis_rows(v.result, "found", "name,category,track,row,start,dur"),
              "aten::mm,cpu_op,0,4,10000,20000;gemm_kernel,kernel,2,0,40000,30000;"
              "MmBackward0,cpu_op,1,0,70000,10000");
    CHECK_STR(analysis_rows(v.result, "count", NULL), "3,3");
    CHECK_STR(search_ids(&v, "mm cat:cpu_op"), "4;7");
    CHECK_STR(search_ids(&v, "cat:KERNEL cat:gpu_memcpy"), "6;13");
    CHECK_STR(search_ids(&v, "memcpy  htod"), "13");
    CHECK_STR(search_ids(&v, "id:5"), "5");
    CHECK_STR(search_ids(&v, "id:13,4,9999,2"), "2;4;13");
    CHECK_STR(search_ids(&v, "id:13,4 cat:cpu_op"), "4");
    CHECK_STR(search_ids(&v, "nowhere"), "");
    CHECK_STR(search_ids(&v, "cat:nowhere"), "");
    CHECK_STR(analysis_rows(v.result, "count", NULL), "0,0");
    CHECK_STR(search_ids(&v, ""), "0;14;1;2;3;4;12;5;6;7;13");
    CHECK_STR(search_ids(&v, NULL), "0;14;1;2;3;4;12;5;6;7;13");
    kino_error err = {0};
    kino_search search = KINO_SEARCH_INIT;
    kino_result *result;
    search.text = "id:x";
    CHECK_EQ(kino_timeline_search(v.timeline, &search, &result, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "invalid id 'id:x' (expected: numbers separated by commas)");
    search.text = "id:4,";
    CHECK_EQ(kino_timeline_search(v.timeline, &search, &result, &err), KINO_ARGUMENT);
    view_free(&v);
}

TEST(timeline_search_keeps_to_its_area_and_its_limit)
{
    view v = view_of(small);
    kino_search search = KINO_SEARCH_INIT;
    search.limit = 2;
    search.area.from_ns = 12000; /* aten::mm runs, the step too; the kernel has not begun */
    search.area.to_ns = 40000;
    search.area.tracks = (const uint32_t[]){2, 0};
    search.area.track_count = 2;
    REQUIRE_EQ(kino_timeline_search(v.timeline, &search, &v.result, NULL), KINO_OK);
    CHECK_STR(analysis_rows(v.result, "found", "id"), "0;1");
    CHECK_STR(analysis_rows(v.result, "count", NULL), "7,2");
    search.limit = 0;
    kino_result_free(v.result);
    REQUIRE_EQ(kino_timeline_search(v.timeline, &search, &v.result, NULL), KINO_OK);
    CHECK_STR(analysis_rows(v.result, "count", NULL), "7,0");
    view_free(&v);
}

/* -- area -- */

TEST(timeline_area_adds_up_what_lies_in_it)
{
    view v = view_of(small);
    /* [20, 60) us: step 40, frame 40, module 40, linear 40, mm 10 (20 to 30), kernel 20 (40 to 60).
     * The call is over at 20. */
    ask_area(&v, 20000, 60000);
    CHECK_STR(analysis_rows(v.result, "slices", "name,category,count,total,self,average,min,max"),
              "ProfilerStep#3,user_annotation,1,40000,0,40000,40000,40000;"
              "PyTorch Profiler (0),Trace,1,40000,40000,40000,40000,40000;"
              "a/train.py(12): step,python_function,1,40000,0,40000,40000,40000;"
              "aten::linear,cpu_op,1,40000,30000,40000,40000,40000;"
              "nn.Module: Linear_0,python_function,1,40000,0,40000,40000,40000;"
              "gemm_kernel,kernel,1,20000,20000,20000,20000,20000;"
              "aten::mm,cpu_op,1,10000,10000,10000,10000,10000");
    /* own times: 30 + 40 + 20 + 10 of 100 us */
    CHECK_STR(analysis_rows(v.result, "slices", "share"), "0;40;0;30;0;20;10");
    CHECK_STR(analysis_rows(v.result, "categories", "category,count,total,self,share"),
              "python_function,2,80000,0,0;cpu_op,2,50000,40000,40;"
              "Trace,1,40000,40000,40;user_annotation,1,40000,0,0;kernel,1,20000,20000,20");
    CHECK_STR(analysis_rows(v.result, "tracks", "track,name,count,busy,utilisation"),
              "0,thread 100 (python, main),5,40000,100;1,thread 101,0,0,0;2,stream 7,1,20000,50;"
              "3,stream 20,0,0,0;6,PyTorch Profiler,1,40000,100");
    /* used: 5 from 10 us, 9 from 50: (5 * 30 + 9 * 10) / 40 = 6 */
    CHECK_STR(analysis_rows(v.result, "counters", "track,name,unit,count,min,max,average,last"),
              "4,memory: free bytes,bytes,0,7,7,7,7;5,memory: used,-,1,5,9,6,9");
    ask_area(&v, 0, 10000); /* before the first value */
    CHECK_STR(analysis_rows(v.result, "counters", "count,min,max,average,last"),
              "0,-,-,-,-;0,-,-,-,-");
    ask_area(&v, 12000, 12000);
    CHECK_STR(analysis_rows(v.result, "slices", "name"), "");
    view_free(&v);
}

TEST(timeline_area_does_not_take_annotations_for_work)
{
    view v =
        view_of("[{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"step\",\"pid\":0,"
                "\"tid\":7,\"ts\":0,\"dur\":100},"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":10,"
                "\"dur\":30}]");
    ask_area(&v, 0, 100000);
    CHECK_STR(analysis_rows(v.result, "tracks", "count,busy,utilisation"), "2,30000,30");
    CHECK_STR(analysis_rows(v.result, "slices", "name,total,self"),
              "step,100000,70000;k,30000,30000");
    view_free(&v);
}

/* -- tiles through the public face -- */

static bool keep_bytes(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

static kino__buffer tile_bytes(const kino_timeline *timeline, const kino_area *area,
                               unsigned pixels)
{
    kino__buffer bytes = {0};
    kino_error err = {0};
    REQUIRE_EQ(kino_timeline_tile(timeline, area, pixels, keep_bytes, &bytes, &err), KINO_OK);
    return bytes;
}

static tile tile_of(const kino_timeline *timeline, int64_t from, int64_t to, unsigned pixels)
{
    kino_area area = KINO_AREA_INIT;
    area.from_ns = from;
    area.to_ns = to;
    kino__buffer bytes = tile_bytes(timeline, &area, pixels);
    return tile_read(&bytes);
}

enum { POINTS = 5000 };

/* A counter with a value every microsecond, as JSON; the values in order. */
static kino__buffer counter_trace(double *values)
{
    kino__buffer json = {0};
    uint64_t state = 1;
    kino__buffer_add(&json, KINO__STR("["));
    for (int i = 0; i < POINTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (double)(state >> 54);
        kino__buffer_printf(&json,
                            "%s{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                            "\"args\":{\"value\":%d}}",
                            i ? "," : "", i, (int)values[i]);
    }
    kino__buffer_add(&json, (kino_str){"]", 2}); /* and the end of the text */
    return json;
}

/* Each point of the tile against all values from its time to the next one's. */
static void check_points(const tile *t, const double *values)
{
    double pixel = (double)((t->to - t->from) / t->pixels);
    for (uint32_t i = 0; i < t->point_count; i++) {
        const tile_point *point = &t->points[i];
        bool is_last = i + 1 == t->point_count;
        double low = 1e9, high = -1, last = 0, until = is_last ? (double)t->to : point[1].time;
        for (int k = 0; k < POINTS; k++) {
            if (k * 1000 < point->time || k * 1000 >= until)
                continue;
            low = values[k] < low ? values[k] : low;
            high = values[k] > high ? values[k] : high;
            last = values[k];
        }
        CHECK_EQ(point->low, low);
        CHECK_EQ(point->high, high);
        CHECK_EQ(point->last, last);
        if (i > 0 && i + 2 < t->point_count) /* two together are longer than a pixel */
            CHECK(point[2].time - point->time >= pixel);
    }
}

TEST(timeline_shows_the_memory_of_each_device_as_counters)
{
    view v = view_of(
        "{\"traceEvents\":["
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,"
        "\"args\":{\"Device Type\":0,\"Device Id\":-1,\"Bytes\":64,\"Total Allocated\":64}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"pid\":1,\"tid\":1,"
        "\"ts\":2,"
        "\"args\":{\"Device Type\":1,\"Device Id\":3,\"Bytes\":512,\"Total Allocated\":512,"
        "\"Total Reserved\":2048}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"pid\":1,\"tid\":1,"
        "\"ts\":5,"
        "\"args\":{\"Device Type\":1,\"Device Id\":3,\"Bytes\":-512,\"Total Allocated\":0,"
        "\"Total Reserved\":2048}}]}");
    ask_tracks(&v);
    CHECK_STR(analysis_rows(v.result, "tracks", "kind,name,unit,events,first,last"),
              "thread,thread 1 (main),-,3,0,4000;" /* since the first */
              "counter,CPU memory: allocated bytes,bytes,1,0,0;"
              "counter,GPU3 memory: allocated bytes,bytes,2,1000,4000;"
              "counter,GPU3 memory: reserved bytes,bytes,2,1000,4000");
    view_free(&v);
}

TEST(tile_of_a_counter_has_least_greatest_and_last_of_each_pixel)
{
    static double values[POINTS];
    kino__buffer json = counter_trace(values);
    view v = view_of(json.data);
    static const struct {
        int64_t from, to;
        unsigned pixels;
        double first; /* time of the first point: what holds when the area begins */
    } cases[] = {{0, 5000000, 100, 0},
                 {0, 5000000, 7, 0},
                 {1234000, 1235500, 50, 1234000},
                 {-5000, 10000, 3, 0},
                 {4999000, 9000000, 9, 4999000},
                 {700500, 4100500, 1, 700000},
                 {6000000, 7000000, 5, 4999000}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tile t = tile_of(v.timeline, cases[c].from, cases[c].to, cases[c].pixels);
        REQUIRE(t.track_count == 1 && t.tracks[0].is_counter && t.point_count > 0);
        CHECK_EQ(t.points[0].time, cases[c].first);
        CHECK(t.point_count <= 2 * cases[c].pixels + 2);
        check_points(&t, values);
        tile_free(&t);
    }
    tile t = tile_of(v.timeline, -9000, 0, 5); /* before the first */
    CHECK_EQ(t.point_count, 0);
    tile_free(&t);
    kino__buffer_deinit(&json);
    view_free(&v);
}

static kino_run *open_demo(unsigned ranks)
{
    kino_demo_options demo = KINO_DEMO_OPTIONS_INIT;
    const char *folder = test_tmp("run");
    kino_error err;
    demo.ranks = ranks;
    demo.steps = 2;
    REQUIRE_EQ(kino_demo_write(folder, &demo, &err), KINO_OK);
    return open_path(folder);
}

static void check_same(const kino_timeline *a, const kino_timeline *b, unsigned pixels)
{
    kino__buffer left = tile_bytes(a, NULL, pixels), right = tile_bytes(b, NULL, pixels);
    CHECK(left.size > 1000);
    CHECK(kino__str_equal(kino__buffer_str(&left), kino__buffer_str(&right)));
    kino__buffer_deinit(&left);
    kino__buffer_deinit(&right);
}

TEST(timeline_of_a_kino_file_is_that_of_the_json_it_was_made_from)
{
    kino_run *json = open_demo(1);
    const char *path = test_tmp("one.kino");
    kino_error err = {0};
    REQUIRE_EQ(kino_run_write(json, path, NULL, &err), KINO_OK);
    kino_run *kino = open_path(path);
    kino_timeline *a = timeline_of(json), *b = timeline_of(kino);
    static const unsigned pixels[] = {1, 100, 2000, 16384};
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
        check_same(a, b, pixels[i]);
    kino_result *left, *right;
    REQUIRE_EQ(kino_timeline_tracks(a, &left, &err), KINO_OK);
    REQUIRE_EQ(kino_timeline_tracks(b, &right, &err), KINO_OK);
    static const char *const tables[] = {"tracks", "steps", "lost"};
    for (size_t i = 0; i < 3; i++) {
        kino__buffer text = {0};
        kino__buffer_add(&text, kino__str_from(analysis_rows(left, tables[i], NULL)));
        CHECK_EQ(kino__str_from(analysis_rows(right, tables[i], NULL)), kino__buffer_str(&text));
        kino__buffer_deinit(&text);
    }
    kino_result_free(left);
    kino_result_free(right);
    kino_timeline_free(a);
    kino_timeline_free(b);
    kino_run_free(kino);
    kino_run_free(json);
}

TEST(timeline_of_several_ranks_has_the_tracks_of_all)
{
    kino_run *run = open_demo(3);
    kino_timeline *timeline = timeline_of(run);
    tile t = tile_of(timeline, KINO_NO_TIME, KINO_NO_TIME, 50);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < t.track_count; i++) {
        CHECK_EQ(t.tracks[i].number, i);
        for (uint32_t k = 0; k < t.tracks[i].count && !t.tracks[i].is_counter; k++) {
            uint32_t trace = (uint32_t)(t.tracks[i].slices[k].id >> 32);
            REQUIRE(trace < 3);
            seen |= 1u << trace;
        }
    }
    CHECK_EQ(seen, 7);
    for (uint32_t i = 0; i < t.slice_count; i++) /* a name that all ranks have is there once */
        for (uint32_t k = 0; k < i; k++)
            if (t.slices[i].name.data != t.slices[k].name.data)
                REQUIRE(!kino__str_equal(t.slices[i].name, t.slices[k].name));
    tile_free(&t);
    kino_timeline_free(timeline);
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

TEST(timeline_can_be_stopped_while_it_is_built)
{
    kino_run *run = open_demo(1);
    kino_timeline_options options = KINO_TIMELINE_OPTIONS_INIT;
    options.progress = stop;
    kino_timeline *timeline;
    kino_error err = {0};
    CHECK_EQ(kino_timeline_new(run, &options, &timeline, &err), KINO_CANCELLED);
    CHECK(timeline == NULL);
    kino_run_free(run);
}

/* -- many at once -- */

typedef struct asker {
    const kino_timeline *timeline;
    kino__buffer tile;
    bool failed;
} asker;

static void *ask(void *context)
{
    asker *a = context;
    kino_result *result = NULL;
    kino_search search = KINO_SEARCH_INIT;
    search.text = "gemm";
    a->failed = kino_timeline_tile(a->timeline, NULL, 500, keep_bytes, &a->tile, NULL) != KINO_OK;
    a->failed |= kino_timeline_search(a->timeline, &search, &result, NULL) != KINO_OK;
    kino_result_free(result);
    a->failed |= kino_timeline_event(a->timeline, 100, &result, NULL) != KINO_OK;
    kino_result_free(result);
    a->failed |= kino_timeline_aggregate(a->timeline, NULL, &result, NULL) != KINO_OK;
    kino_result_free(result);
    a->failed |= kino_timeline_tracks(a->timeline, &result, NULL) != KINO_OK;
    kino_result_free(result);
    return NULL;
}

TEST_THREADS(timeline_answers_many_threads_at_once_from_columns_that_are_loaded_meanwhile)
{
    enum { THREADS = 4 };
    kino_run *json = open_demo(1);
    const char *path = test_tmp("threads.kino");
    REQUIRE_EQ(kino_run_write(json, path, NULL, NULL), KINO_OK);
    kino_run_free(json);
    kino_run *run = open_path(path);
    kino_timeline_options options = KINO_TIMELINE_OPTIONS_INIT;
    options.jobs = 3;
    kino_timeline *timeline;
    REQUIRE_EQ(kino_timeline_new(run, &options, &timeline, NULL), KINO_OK);
    pthread_t threads[THREADS];
    asker askers[THREADS] = {0};
    for (size_t i = 0; i < THREADS; i++) {
        askers[i].timeline = timeline;
        REQUIRE(pthread_create(&threads[i], NULL, ask, &askers[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!askers[i].failed);
        CHECK(
            kino__str_equal(kino__buffer_str(&askers[i].tile), kino__buffer_str(&askers[0].tile)));
    }
    for (size_t i = 0; i < THREADS; i++)
        kino__buffer_deinit(&askers[i].tile);
    kino_timeline_free(timeline);
    kino_run_free(run);
}
