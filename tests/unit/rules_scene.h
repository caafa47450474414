/* rules_scene.h - traces for tests of rules, put together event by event, and what the rules say.
 *
 *   scene *s = scene_new();
 *   scene_step(s, 0, 1000000);
 *   scene_host(s, "cpu_op", "aten::mm", 100, 50);
 *   scene_kernel(s, "gemm", 200, 5000, "{\"device\": 0}");
 *   CHECK(!scene_says(s, "low-occupancy", NULL).is_said);      frees the scene
 *
 * Times are ns. Host events are on one thread (track 1), device events on streams (7 and on), each
 * of which has a process number of its own. */
#ifndef KINO_TEST_RULES_SCENE_H
#define KINO_TEST_RULES_SCENE_H

#include "base/vec.h"
#include "unit/fixture.h"

typedef struct scene {
    KINO__VEC(fixture_event) events;
    const char *devices; /* JSON of deviceProperties, or NULL */
    int64_t rank;        /* 0 unless it is set */
    int64_t next;        /* correlation and external ids that are free from here on */
    int step_count;
} scene;

scene *scene_new(void);
enum { SCENE_STEP = 1000000 }; /* 1 ms: 1 ns is a millionth of it */
scene *scene_one_step(void);
fixture_event *scene_add(scene *s, fixture_event event);
/* ProfilerStep#1, #2, ... */
void scene_step(scene *s, int64_t start, int64_t end);
fixture_event *scene_host(scene *s, const char *cat, const char *name, int64_t ts, int64_t dur);
/* On stream 7, launched by nobody. */
fixture_event *scene_kernel(scene *s, const char *name, int64_t ts, int64_t dur, const char *args);
/* An operator, the launch in its middle, and the kernel (or copy, by category) it puts on stream 7.
 * Returns the operator. */
fixture_event *scene_launch(scene *s, const char *op, int64_t ts, int64_t dur, const char *cat,
                            const char *work, int64_t work_ts, int64_t work_dur);

typedef struct said {
    bool is_said;
    double gain; /* percent; NaN: not known */
    char severity[8];
    char title[96];
    char advice[512]; /* what to do */
    char seen[512];   /* what was seen */
    char ranks[64];   /* "[0, 2]" */
    char evidence[64];
} said;

bool said_holds(const char *text, const char *part);
bool said_near(double got, double want);

/* What a rule says about the scene (the first finding of it); frees the scene. `set`: thresholds,
 * or NULL. */
said scene_says(scene *s, const char *rule, const char *set);
/* About several ranks; frees them all. */
said scenes_say(scene **s, size_t count, const char *rule, const char *set);
/* "rule rule rule" in the order of the answer. Valid until the next call. Frees them all. */
const char *scenes_rules(scene **s, size_t count, const char *compat);
kino__trace *scene_trace(scene *s);

#endif
