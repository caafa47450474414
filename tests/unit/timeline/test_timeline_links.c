/* test_timeline_links.c - own times, stacks, launches and operators of single events, against slow
 * versions and against the links of the whole trace. */
#include <stdlib.h>

#include "store/link.h"
#include "timeline/event_internal.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

static kino__trace *random_trace(fixture_random *random, uint32_t count, uint32_t span)
{
    fixture_event *events = calloc(count, sizeof *events);
    REQUIRE(events != NULL);
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (fixture_event){.name = i % 3 ? "a" : "b",
                                    .ts = fixture_random_below(random, span),
                                    .dur = 1 + fixture_random_below(random, span / 2)};
        if (fixture_random_below(random, 6) == 0)
            events[i].ph = "is"[fixture_random_below(random, 2)];
    }
    kino__trace *trace = fixture_new(events, count);
    free(events);
    return trace;
}

typedef struct scene {
    kino__run run;
    kino__timeline *timeline;
} scene;

static scene scene_of(kino__trace *trace)
{
    scene s;
    kino__run_init(&s.run);
    REQUIRE_EQ(kino__run_add_take(&s.run, trace, NULL), KINO_OK);
    REQUIRE_EQ(kino__timeline_new(&s.run, NULL, NULL, &s.timeline, NULL), KINO_OK);
    return s;
}

static void scene_free(scene *s)
{
    kino__timeline_free(s->timeline);
    kino__run_deinit(&s->run);
}

/* -- stacks -- */

static bool check_stack(const scene *s, const kino__trace *trace, uint32_t row)
{
    const kino__nesting *nesting = kino__link_nesting(trace);
    kino__tl_rows rows = {0};
    kino__tl_place place;
    if (!kino__tl_find(s->timeline, trace, row, &place))
        return CHECK(trace->phase[row] == 's');
    REQUIRE(kino__tl_stack(&s->timeline->tracks.items[place.track], row, &rows));
    bool ok = true;
    uint32_t parent = nesting->parent[row];
    for (size_t i = rows.count; ok && i > 0; i--) {
        ok = CHECK_EQ(rows.items[i - 1], parent);
        parent = parent == KINO_NO_ROW ? parent : nesting->parent[parent];
    }
    ok = ok && CHECK_EQ(parent, KINO_NO_ROW);
    kino__vec_deinit(&rows);
    return ok;
}

TEST(timeline_stacks_are_the_parents_of_the_nesting)
{
    fixture_random random = {3};
    bool ok = true;
    for (int round = 0; ok && round < 300; round++) {
        uint32_t span = 4 + fixture_random_below(&random, 200);
        kino__trace *trace = random_trace(&random, 1 + fixture_random_below(&random, 60), span);
        scene s = scene_of(trace);
        for (uint32_t row = 0; ok && row < trace->event_count; row++)
            ok = check_stack(&s, trace, row);
        scene_free(&s);
    }
}

/* -- own times -- */

typedef struct sums {
    int64_t count, total, own;
} sums;

/* Every nanosecond of the area is looked at: it is a span's own when no child of it covers it. */
static sums slow_sums(const kino__trace *trace, kino_strid name, int64_t from, int64_t to)
{
    const kino__nesting *nesting = kino__link_nesting(trace);
    sums s = {0};
    for (uint32_t row = 0; row < trace->event_count; row++) {
        int64_t start = trace->ts[row], end = start;
        if (trace->name[row] != name || trace->phase[row] == 's')
            continue;
        if (trace->phase[row] == 'X')
            end += trace->dur[row];
        if (start >= to || (end <= from && start < from))
            continue;
        s.count++;
        for (int64_t t = start > from ? start : from; t < end && t < to; t++) {
            bool is_covered = false;
            for (uint32_t child = 0; child < trace->event_count && !is_covered; child++)
                is_covered = nesting->parent[child] == row && trace->phase[child] == 'X' &&
                             trace->ts[child] <= t && t < trace->ts[child] + trace->dur[child];
            s.total++;
            s.own += !is_covered;
        }
    }
    return s;
}

static int64_t slow_busy(const kino__trace *trace, int64_t from, int64_t to)
{
    int64_t busy = 0;
    for (int64_t t = from; t < to; t++) {
        bool is_busy = false;
        for (uint32_t row = 0; row < trace->event_count && !is_busy; row++)
            is_busy = trace->phase[row] == 'X' && trace->ts[row] <= t &&
                      t < trace->ts[row] + trace->dur[row];
        busy += is_busy;
    }
    return busy;
}

static bool check_area(const scene *s, const kino__trace *trace, int64_t from, int64_t to)
{
    kino_area area = KINO_AREA_INIT;
    area.from_ns = from;
    area.to_ns = to;
    kino_result *result = kino__result_new("area");
    REQUIRE_EQ(kino__timeline_aggregate(s->timeline, &area, result, NULL), KINO_OK);
    bool ok = true;
    for (const char *name = "a"; name; name = *name == 'a' ? "b" : NULL) {
        kino_strid id = kino__string_pool_find(&trace->strings, kino__str_from(name));
        sums want = slow_sums(trace, id, from, to);
        char text[80];
        (void)snprintf(text, sizeof text, "%s,%d,%d,%d", name, (int)want.count, (int)want.total,
                       (int)want.own);
        const char *rows = analysis_rows(result, "slices", "name,count,total,self");
        ok = (id == KINO_NO_STRING || want.count == 0 || CHECK(strstr(rows, text))) && ok;
    }
    char busy[40];
    (void)snprintf(busy, sizeof busy, "%d", (int)slow_busy(trace, from, to));
    ok = CHECK_STR(analysis_rows(result, "tracks", "busy"), busy) && ok;
    kino_result_free(result);
    return ok;
}

TEST(timeline_area_agrees_with_its_definition_on_random_traces)
{
    fixture_random random = {4};
    bool ok = true;
    for (int round = 0; ok && round < 150; round++) {
        uint32_t span = 4 + fixture_random_below(&random, 60);
        kino__trace *trace = random_trace(&random, 2 + fixture_random_below(&random, 30), span);
        scene s = scene_of(trace);
        for (int i = 0; ok && i < 4 && kino__link_nesting(trace); i++) {
            int64_t from = (int64_t)fixture_random_below(&random, span) - 3;
            int64_t to = from + 1 + fixture_random_below(&random, span);
            kino__tl_place place;
            if (kino__tl_find(s.timeline, trace, trace->event_count - 1, &place))
                ok = check_area(&s, trace, from, to);
        }
        scene_free(&s);
    }
}

/* -- launches and operators -- */

enum { CALLS = 40 };

/* Calls on one thread inside operators, work on two streams; numbers that are doubled, absent, or
 * too wide for their column. */
static kino__trace *launch_trace(fixture_random *random)
{
    fixture_event events[3 * CALLS];
    static const int64_t far = 5000000000;
    for (uint32_t i = 0; i < CALLS; i++) {
        int64_t correlation = 1 + fixture_random_below(random, CALLS);
        int64_t external = fixture_random_below(random, CALLS / 2);
        int64_t wide = fixture_random_below(random, 4) ? 0 : far;
        events[3 * i] =
            (fixture_event){.cat = fixture_random_below(random, 5) ? "cpu_op" : "user_annotation",
                            .name = "op",
                            .ts = 100 * i,
                            .dur = 50 + fixture_random_below(random, 100),
                            .external = external ? external + wide : 0};
        events[3 * i + 1] =
            (fixture_event){.cat = fixture_random_below(random, 4) ? "cuda_runtime" : "cuda_driver",
                            .name = "call",
                            .ts = 100 * i + fixture_random_below(random, 100),
                            .dur = 5,
                            .bind = correlation + wide,
                            .external = external ? external + wide : 0};
        events[3 * i + 2] = (fixture_event){.cat = i % 9 ? "kernel" : "cuda_sync",
                                            .name = "work",
                                            .track = 7 + i % 2,
                                            .ts = 100 * i + 300,
                                            .dur = 80,
                                            .bind = correlation + wide};
        if (fixture_random_below(random, 2))
            events[3 * i + 2].external = events[3 * i + 1].external;
    }
    return fixture_new(events, 3 * CALLS);
}

typedef struct marks {
    bool seen[3 * CALLS];
} marks;

static void mark_row(void *context, uint32_t row)
{
    ((marks *)context)->seen[row] = true;
}

static bool check_near(const scene *s, const kino__trace *trace, uint32_t row)
{
    const uint32_t *launch = kino__link_launch(trace), *op = kino__link_op(trace);
    REQUIRE(launch && op);
    kino__kind kind = kino__category_kind(trace->category[row]);
    kino__tl_subject subject = {.timeline = s->timeline, .trace = trace, .row = row};
    uint32_t found;
    REQUIRE(kino__tl_launch_of(trace, row, &subject.launch));
    bool ok = true;
    if (kind == KINO__KIND_KERNEL || kind == KINO__KIND_SYNC)
        ok = CHECK_EQ(subject.launch, launch[row]);
    REQUIRE(kino__tl_op_of(&subject, &found));
    if (kind != KINO__KIND_OP && kind != KINO__KIND_ANNOTATION)
        ok = CHECK_EQ(found, op[row]) && ok;
    /* Every work that the links give to this op is found. (They choose one of several ops with one
     * id; here each of them tells what it shares the id with.) */
    marks m = {{0}};
    if (kind == KINO__KIND_OP && kino__trace_external(trace, row) > 0) {
        REQUIRE(kino__tl_work_of(trace, row, mark_row, &m));
        for (uint32_t i = 0; i < trace->event_count; i++)
            if (op[i] == row && kino__trace_external(trace, i) > 0 && trace->phase[i] == 'X' &&
                kino__category_kind(trace->category[i]) == KINO__KIND_KERNEL)
                ok = CHECK(m.seen[i]) && ok;
    }
    return ok;
}

TEST(timeline_finds_the_launch_and_the_operator_that_the_links_have)
{
    fixture_random random = {5};
    bool ok = true;
    for (int round = 0; ok && round < 200; round++) {
        kino__trace *trace = launch_trace(&random);
        scene s = scene_of(trace);
        for (uint32_t row = 0; ok && row < trace->event_count; row++)
            ok = check_near(&s, trace, row);
        scene_free(&s);
    }
}

TEST(timeline_splits_names_of_python_frames)
{
    kino_str file;
    int64_t line = 0;
    CHECK(kino__tl_source_line(KINO__STR("a/b (x)/c.py(12): f(1): g"), &file, &line));
    CHECK_EQ(file, KINO__STR("a/b (x)/c.py"));
    CHECK_EQ(line, 12);
    static const char *const others[] = {"<built-in method f of x(1)>",
                                         "nn.Module: Linear_0",
                                         "(7): f",
                                         "c.py(x): f",
                                         "c.py(): f",
                                         "",
                                         "c.py(1):"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK(!kino__tl_source_line(kino__str_from(others[i]), &file, &line));
}
