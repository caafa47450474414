/* test_timeline_tile.c - tiles: by hand, at the edges, and against a slow obvious version on random
 * traces. */
#include <math.h>
#include <stdlib.h>

#include "unit/fixture.h"
#include "unit/test.h"
#include "unit/tile_read.h"

typedef struct scene {
    kino__run run;
    kino__timeline *timeline;
} scene;

/* Takes the traces. */
static scene scene_new(kino__trace *const *traces, size_t count)
{
    scene s;
    kino__run_init(&s.run);
    for (size_t i = 0; i < count; i++)
        REQUIRE_EQ(kino__run_add_take(&s.run, traces[i], NULL), KINO_OK);
    return s;
}

static void scene_build(scene *s)
{
    REQUIRE_EQ(kino__timeline_new(&s->run, NULL, NULL, &s->timeline, NULL), KINO_OK);
}

static void scene_free(scene *s)
{
    kino__timeline_free(s->timeline);
    kino__run_deinit(&s->run);
}

static kino_area area_of(int64_t from, int64_t to)
{
    kino_area area = KINO_AREA_INIT;
    area.from_ns = from;
    area.to_ns = to;
    return area;
}

/* -- by hand -- */

static void check_slice(const tile_slice *s, int64_t start, int64_t dur, int64_t id, uint32_t count,
                        const char *name, uint16_t row)
{
    CHECK_EQ(s->start, (double)start);
    CHECK_EQ(s->dur, (double)dur);
    CHECK_EQ(s->id, id);
    CHECK_EQ(s->count, count);
    CHECK_EQ(s->name, kino__str_from(name));
    CHECK_EQ(s->row, row);
}

TEST(tile_shows_nesting_as_rows_and_puts_what_overlaps_on_a_row_of_its_own)
{
    /* a [0, 100) holds b [10, 30); c [20, 120) overlaps a, and b is over line 1 when it starts; d
     * [40, 50) stands in both: c starts later. e is an instant in d. */
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "a", .ts = 0, .dur = 100},
                                 {.cat = "cpu_op", .name = "b", .ts = 10, .dur = 20},
                                 {.cat = "cpu_op", .name = "c", .ts = 20, .dur = 100},
                                 {.cat = "cpu_op", .name = "d", .ts = 40, .dur = 10},
                                 {.ph = 'i', .name = "e", .ts = 45});
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(0, 1000);
    tile t = tile_ask(s.timeline, &area, 1000);
    REQUIRE_EQ(t.track_count, 1);
    REQUIRE_EQ(t.slice_count, 5);
    check_slice(&t.slices[0], 0, 100, 0, 1, "a", 0);
    check_slice(&t.slices[1], 10, 20, 1, 1, "b", 1);
    check_slice(&t.slices[2], 20, 100, 2, 1, "c", 2);
    check_slice(&t.slices[3], 40, 10, 3, 1, "d", 3);
    check_slice(&t.slices[4], 45, 0, 4, 1, "e", 4);
    CHECK_EQ(t.slices[0].category, 1);
    tile_free(&t);
    scene_free(&s);
}

TEST(tile_merges_neighbours_that_a_pixel_cannot_tell_apart)
{
    /* Pixels of 100 ns: a and b together take 60 ns of which 30 are busy, c is longer than a pixel,
     * d is alone. */
    kino__trace *trace =
        FIXTURE({.name = "a", .ts = 0, .dur = 10}, {.name = "b", .ts = 40, .dur = 20},
                {.name = "c", .ts = 100, .dur = 100}, {.name = "d", .ts = 250, .dur = 1});
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(0, 1000);
    tile t = tile_ask(s.timeline, &area, 10);
    REQUIRE_EQ(t.slice_count, 3);
    check_slice(&t.slices[0], 0, 60, 1, 2, "b", 0);
    CHECK_EQ(t.slices[0].busy, 0.5f);
    check_slice(&t.slices[1], 100, 100, 2, 1, "c", 0);
    CHECK_EQ(t.slices[1].busy, 1.0f);
    check_slice(&t.slices[2], 250, 1, 3, 1, "d", 0);
    tile_free(&t);
    scene_free(&s);
}

TEST(tile_draws_a_span_that_never_ended_to_the_end_of_its_track)
{
    kino__trace *trace = FIXTURE({.ph = 'B', .name = "open", .ts = 10, .dur = KINO_NO_TIME},
                                 {.name = "x", .ts = 20, .dur = 80});
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(0, 100);
    tile t = tile_ask(s.timeline, &area, 100);
    REQUIRE_EQ(t.slice_count, 2);
    check_slice(&t.slices[0], 10, 90, 0, 1, "open", 0);
    CHECK_EQ(t.slices[0].flags, 1);
    check_slice(&t.slices[1], 20, 80, 1, 1, "x", 1);
    CHECK_EQ(t.slices[1].flags, 0);
    tile_free(&t);
    scene_free(&s);
}

TEST(tile_categories_are_those_of_the_document)
{
    static const struct {
        const char *cat, *name;
        char ph;
        uint8_t want;
    } cases[] = {
        {"nobody knows", "x", 'X', 0},
        {"cpu_op", "aten::mm", 'X', 1},
        {"python_function", "a.py(1): f", 'X', 2},
        {"cuda_runtime", "cudaLaunchKernel", 'X', 3},
        {"cuda_driver", "cuLaunchKernel", 'X', 3},
        {"kernel", "gemm", 'X', 4},
        {"gpu_memcpy", "Memcpy HtoD", 'X', 5},
        {"gpu_memset", "Memset", 'X', 6},
        {"user_annotation", "forward", 'X', 7},
        {"user_annotation", "ProfilerStep#4", 'X', 8},
        {"kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 'X', 9},
        {"cpu_op", "record_param_comms", 'X', 9},
        {"cpu_instant_event", "[memory]", 'i', 10},
        {"cuda_runtime", "cudaDeviceSynchronize", 'X', 11},
        {"cuda_sync", "Stream Sync", 'X', 11},
        {"cpu_op", "autograd::engine::evaluate_function: AddBackward0", 'X', 12},
        {"python_function", "nn.Module: Linear_0", 'X', 13},
        {"overhead", "Activity Buffer Request", 'X', 14},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    fixture_event events[CASES];
    for (uint32_t i = 0; i < CASES; i++)
        events[i] = (fixture_event){
            .cat = cases[i].cat, .name = cases[i].name, .ph = cases[i].ph, .ts = 10 * i, .dur = 5};
    kino__trace *trace = fixture_new(events, CASES);
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(0, 1000);
    tile t = tile_ask(s.timeline, &area, 1000);
    REQUIRE_EQ(t.slice_count, CASES);
    for (uint32_t i = 0; i < CASES; i++)
        CHECK_EQ(t.slices[i].category, cases[i].want);
    tile_free(&t);
    scene_free(&s);
}

/* -- edges -- */

TEST(tile_of_nothing_is_a_tile_without_slices)
{
    kino__trace *empty = fixture_new(NULL, 0);
    scene s = scene_new(&empty, 1);
    scene_build(&s);
    tile t = tile_ask(s.timeline, NULL, 100);
    CHECK_EQ(t.track_count, 0);
    CHECK_EQ(t.name_count, 0);
    tile_free(&t);
    scene_free(&s);

    /* metadata and flows alone make no track */
    kino__trace *trace = FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME},
                                 {.ph = 's', .name = "ac2g", .ts = 5, .bind = 1},
                                 {.ph = 'b', .name = "async", .ts = 5, .bind = 1},
                                 {.track = 1, .name = "x", .ts = -5, .dur = 3});
    s = scene_new(&trace, 1);
    scene_build(&s);
    t = tile_ask(s.timeline, NULL, 100);
    REQUIRE_EQ(t.track_count, 1);
    REQUIRE_EQ(t.slice_count, 1);
    check_slice(&t.slices[0], -5, 3, 3, 1, "x", 0);
    CHECK_EQ(t.from, -5);
    tile_free(&t);
    kino_area outside[] = {area_of(-100, -5), area_of(-2, 50), area_of(-4, -4)};
    for (size_t i = 0; i < 3; i++) {
        t = tile_ask(s.timeline, &outside[i], 100);
        CHECK_EQ(t.track_count, 1);
        CHECK_EQ(t.slice_count, 0);
        tile_free(&t);
    }
    scene_free(&s);
}

TEST(tile_says_what_is_wrong_with_a_request)
{
    kino__trace *trace = FIXTURE({.name = "x", .ts = 0, .dur = 3});
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino__buffer bytes = {0};
    kino_error err = {0};
    kino_area area = area_of(0, 10);
    CHECK_EQ(kino__timeline_tile(s.timeline, &area, 0, &bytes, &err), KINO_ARGUMENT);
    area = area_of(10, 0);
    CHECK_EQ(kino__timeline_tile(s.timeline, &area, 10, &bytes, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "the area ends (0 ns) before it starts (10 ns)");
    area = area_of(0, 10);
    area.tracks = (const uint32_t[]){0, 1};
    area.track_count = 2;
    CHECK_EQ(kino__timeline_tile(s.timeline, &area, 10, &bytes, &err), KINO_NOT_FOUND);
    CHECK_STR(err.message, "no track 1: there are 1");
    CHECK_EQ(bytes.size, 0);
    kino__buffer_deinit(&bytes);
    scene_free(&s);
}

TEST(tile_at_the_ends_of_time_does_not_overflow)
{
    /* insane times are not drawn; the area may be as wide as it likes */
    kino__trace *trace =
        FIXTURE({.name = "a", .ts = INT64_MAX - 10, .dur = INT64_MAX},
                {.name = "b", .ts = INT64_MIN + 1, .dur = INT64_MAX},
                {.name = "c", .ts = 7, .dur = KINO_NO_TIME}, {.name = "d", .ts = 9, .dur = -4});
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(INT64_MIN + 1, INT64_MAX);
    tile t = tile_ask(s.timeline, &area, 100);
    REQUIRE_EQ(t.slice_count, 1);
    CHECK_EQ(t.slices[0].count, 2);
    CHECK_EQ(t.slices[0].id, 2);
    tile_free(&t);
    area = area_of(0, 100);
    t = tile_ask(s.timeline, &area, 4000000000u);
    REQUIRE_EQ(t.slice_count, 2);
    CHECK_EQ(t.pixels, 16384);
    check_slice(&t.slices[0], 7, 0, 2, 1, "c", 0);
    check_slice(&t.slices[1], 9, 0, 3, 1, "d", 0);
    tile_free(&t);
    scene_free(&s);
}

TEST(tile_of_a_million_events_at_one_time_is_one_slice)
{
    enum { COUNT = 1000000 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.ph = i % 2 ? 'i' : 'X', .name = "p", .ts = 50};
    kino__trace *trace = fixture_new(events, COUNT);
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino_area area = area_of(0, 100);
    unsigned pixels[] = {1, 100, 16384};
    for (size_t i = 0; i < 3; i++) {
        tile t = tile_ask(s.timeline, &area, pixels[i]);
        REQUIRE_EQ(t.slice_count, 1);
        CHECK_EQ(t.slices[0].count, COUNT);
        CHECK_EQ(t.slices[0].dur, 0.0);
        tile_free(&t);
    }
    scene_free(&s);
    free(events);
}

TEST(tile_of_more_overlaps_than_lines_draws_the_rest_on_the_last_line_without_overlaps)
{
    enum { COUNT = 5000, LINES = 2048 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.name = "p", .ts = i, .dur = 2 * COUNT};
    kino__trace *trace = fixture_new(events, COUNT);
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    unsigned pixels[] = {1, 100, 16384};
    for (size_t i = 0; i < 3; i++) {
        tile t = tile_ask(s.timeline, NULL, pixels[i]);
        REQUIRE_EQ(t.slice_count, LINES);
        uint32_t sum = 0;
        for (uint32_t k = 0; k < LINES; k++) {
            CHECK_EQ(t.slices[k].row, k);
            sum += t.slices[k].count;
        }
        CHECK_EQ(sum, COUNT);
        tile_free(&t);
    }
    scene_free(&s);
    free(events);
}

TEST(tile_that_nobody_could_draw_is_refused)
{
    /* 100 spans run at any time, each longer than a pixel */
    enum { COUNT = 1100000 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.name = "p", .ts = i, .dur = 100};
    kino__trace *trace = fixture_new(events, COUNT);
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    kino__buffer bytes = {0};
    kino_error err = {0};
    CHECK_EQ(kino__timeline_tile(s.timeline, NULL, 16384, &bytes, &err), KINO_LIMIT);
    CHECK_STR(err.message, "more than 1048576 slices or points: request fewer tracks or pixels");
    CHECK_EQ(bytes.size, 0);
    tile t = tile_ask(s.timeline, NULL, 100);
    CHECK(t.slice_count < 100 * 2 * 101);
    tile_free(&t);
    kino__buffer_deinit(&bytes);
    scene_free(&s);
    free(events);
}

/* -- against the definition -- */

typedef struct slow_event {
    uint32_t row;
    int64_t start, end;
    int line;
} slow_event;

typedef struct slow_track {
    slow_event *events;
    size_t count;
} slow_track;

/* Every event on the first free line below the last span that contains it. */
static slow_track slow_lines(const kino__trace *trace, const kino__track *track)
{
    slow_track t = {calloc(track->count + 1, sizeof *t.events), 0};
    REQUIRE(t.events != NULL);
    int64_t last = INT64_MIN;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        int64_t dur = trace->phase[row] == 'X' && trace->dur[row] > 0 ? trace->dur[row] : 0;
        if (strchr("XBiIR", trace->phase[row]) && trace->ts[row] + dur > last)
            last = trace->ts[row] + dur;
    }
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (!strchr("XBiIR", trace->phase[row]))
            continue;
        int64_t dur = trace->phase[row] == 'X' && trace->dur[row] > 0 ? trace->dur[row] : 0;
        slow_event *e = &t.events[t.count++];
        *e = (slow_event){row, trace->ts[row], trace->ts[row] + dur, 0};
        if (trace->phase[row] == 'B')
            e->end = last;
        for (const slow_event *a = t.events; a < e; a++)
            if (a->end > e->start && a->end >= e->end)
                e->line = a->line + 1; /* the last one stays */
        for (const slow_event *a = t.events; a < e;) {
            bool is_taken = a->line == e->line && a->end > e->start;
            e->line += is_taken;
            a = is_taken ? t.events : a + 1;
        }
    }
    return t;
}

/* The events of a slice, from `at` on the line; false at the first thing that is wrong. */
static bool check_group(const kino__trace *trace, const tile_slice *slice,
                        const slow_event *const *line, size_t count, size_t at, int64_t pixel)
{
    if (!CHECK(at + slice->count <= count) || !CHECK_EQ(slice->start, (double)line[at]->start))
        return false;
    const slow_event *longest = line[at];
    int64_t end = line[at]->end;
    double busy = 0;
    for (size_t i = at; i < at + slice->count; i++) {
        const slow_event *e = line[i];
        end = e->end > end ? e->end : end;
        busy += (double)(e->end - e->start);
        if (e->end - e->start > longest->end - longest->start)
            longest = e;
    }
    int64_t extent = end - line[at]->start;
    bool ok = CHECK_EQ(slice->dur, (double)extent);
    ok = CHECK_EQ(slice->id, kino__trace_event_id(trace, longest->row)) && ok;
    ok = CHECK_EQ(slice->name, kino__trace_string(trace, trace->name[longest->row])) && ok;
    ok = CHECK(slice->count == 1 || extent < pixel || extent == 0) && ok;
    double want = slice->count == 1 || extent == 0 ? 1 : busy / (double)extent;
    return CHECK(fabs((double)slice->busy - want) < 1e-5) && ok;
}

/* One line of a tile: its slices are its events in order, none left out, none twice. */
static bool check_line(const kino__trace *trace, const tile *t, const tile_slice *slices,
                       size_t slice_count, const slow_event *const *line, size_t count)
{
    int64_t pixel = (t->to - t->from) / t->pixels;
    size_t at = 0;
    while (slice_count && at < count && (double)line[at]->start != slices[0].start)
        at++;
    if (!slice_count)
        while (at < count && line[at]->start < t->to)
            at++;
    for (size_t i = 0; i < at; i++) /* before the first: over when the area begins */
        if (!CHECK(line[i]->end <= t->from && line[i]->start < t->from))
            return false;
    for (size_t i = 0; i < slice_count; i++) {
        if (!check_group(trace, &slices[i], line, count, at, pixel))
            return false;
        at += slices[i].count;
        if (i + 1 < slice_count) {
            double ends = slices[i + 1].start + slices[i + 1].dur;
            if (!CHECK(slices[i].start + slices[i].dur <= slices[i + 1].start) ||
                !CHECK(ends - slices[i].start >= (double)pixel && ends > slices[i].start))
                return false;
        }
    }
    return at == count || CHECK(line[at]->start >= t->to);
}

static bool check_track(const kino__trace *trace, const slow_track *slow, const tile *t,
                        const tile_track *track)
{
    const slow_event **line = calloc(slow->count + 1, sizeof *line);
    REQUIRE(line != NULL);
    uint32_t at = 0;
    bool ok = true;
    for (int row = 0; ok && row < 2048; row++) {
        size_t count = 0;
        for (size_t i = 0; i < slow->count; i++)
            if (slow->events[i].line == row)
                line[count++] = &slow->events[i];
        uint32_t first = at;
        while (at < track->count && track->slices[at].row == row)
            at++;
        if (!count && at == track->count)
            break;
        ok = check_line(trace, t, track->slices + first, at - first, line, count);
    }
    ok = ok && CHECK_EQ(at, track->count);
    free(line);
    return ok;
}

static kino__trace *random_trace(fixture_random *random, uint32_t count, uint32_t span,
                                 uint32_t longest)
{
    fixture_event *events = calloc(count, sizeof *events);
    REQUIRE(events != NULL);
    static const char *const names[] = {"a", "b", "c", NULL};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t dur = fixture_random_below(random, longest);
        if (fixture_random_below(random, 4))
            dur %= 4;
        events[i] = (fixture_event){.cat = "cpu_op",
                                    .name = names[fixture_random_below(random, 4)],
                                    .ts = (int64_t)fixture_random_below(random, span) - span / 4,
                                    .dur = (int64_t)dur - (dur == 1)};
        if (fixture_random_below(random, 10) == 0)
            events[i].ph = "iIRsfM"[fixture_random_below(random, 6)];
        if (fixture_random_below(random, 2000) == 0)
            events[i].ph = 'B';
    }
    kino__trace *trace = fixture_new(events, count);
    free(events);
    return trace;
}

static bool check_areas(scene *s, const slow_track *slow, fixture_random *random, uint32_t span)
{
    const kino__trace *trace = s->run.traces.items[0];
    for (int i = 0; i < 12; i++) {
        int64_t from = (int64_t)fixture_random_below(random, span) - span / 2;
        kino_area area = area_of(from, from + 1 + fixture_random_below(random, span));
        if (i == 0)
            area = (kino_area)KINO_AREA_INIT;
        unsigned pixels = 1 + fixture_random_below(random, i % 2 ? 30 : 3000);
        tile t = tile_ask(s->timeline, &area, pixels);
        bool ok = CHECK_EQ(t.track_count, 1) && check_track(trace, slow, &t, &t.tracks[0]);
        uint64_t counted = 0;
        for (uint32_t k = 0; k < t.slice_count; k++)
            counted += t.slices[k].count;
        if (i == 0)
            ok = CHECK_EQ(counted, slow->count) && ok;
        tile_free(&t);
        if (!ok)
            return false;
    }
    return true;
}

static bool check_random(fixture_random *random, uint32_t count, uint32_t span, uint32_t longest)
{
    kino__trace *trace = random_trace(random, count, span, longest);
    scene s = scene_new(&trace, 1);
    scene_build(&s);
    slow_track slow = slow_lines(trace, &trace->tracks.items[0]);
    bool ok = !slow.count || check_areas(&s, &slow, random, span);
    free(slow.events);
    scene_free(&s);
    return ok;
}

TEST(tile_agrees_with_its_definition_on_small_random_traces)
{
    fixture_random random = {7};
    for (int round = 0; round < 400; round++) {
        uint32_t span = 5 + fixture_random_below(&random, 300);
        if (!check_random(&random, 1 + fixture_random_below(&random, 60), span, 1 + span / 3))
            break;
    }
}

TEST(tile_agrees_with_its_definition_on_lines_of_many_levels)
{
    fixture_random random = {8};
    for (unsigned round = 0; round < 6; round++)
        if (!check_random(&random, 6000, 20000u << round, 8u << round))
            break;
}
