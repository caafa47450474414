/* rules_scene.c - see the header. */
#include "unit/rules_scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/analyze.h"
#include "rule/rule.h"
#include "unit/test.h"

enum {
    C_RULE,
    C_SEVERITY,
    C_TITLE,
    C_SEEN,
    C_WHY,
    C_DO,
    C_GAIN,
    C_RANKS,
    C_EVIDENCE,
    C_RANK,
    C_WIDTH
};

scene *scene_new(void)
{
    scene *s = calloc(1, sizeof *s);
    REQUIRE(s != NULL);
    s->next = 1000;
    return s;
}

scene *scene_one_step(void)
{
    scene *s = scene_new();
    scene_step(s, 0, SCENE_STEP);
    return s;
}

bool said_holds(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

bool said_near(double got, double want)
{
    return fabs(got - want) < 1e-9;
}

fixture_event *scene_add(scene *s, fixture_event event)
{
    fixture_event *slot = kino__vec_add(&s->events);
    REQUIRE(slot != NULL);
    *slot = event;
    return slot;
}

void scene_step(scene *s, int64_t start, int64_t end)
{
    static char names[64][32];
    REQUIRE(s->step_count < 63);
    char *name = names[++s->step_count];
    (void)snprintf(name, sizeof names[0], "ProfilerStep#%d", s->step_count);
    scene_host(s, "user_annotation", name, start, end - start);
}

fixture_event *scene_host(scene *s, const char *cat, const char *name, int64_t ts, int64_t dur)
{
    return scene_add(s,
                     (fixture_event){.track = 1, .cat = cat, .name = name, .ts = ts, .dur = dur});
}

fixture_event *scene_kernel(scene *s, const char *name, int64_t ts, int64_t dur, const char *args)
{
    return scene_add(s, (fixture_event){.track = 7,
                                        .cat = "kernel",
                                        .name = name,
                                        .ts = ts,
                                        .dur = dur,
                                        .args = args ? args : "{\"device\": 0}"});
}

fixture_event *scene_launch(scene *s, const char *op, int64_t ts, int64_t dur, const char *cat,
                            const char *work, int64_t work_ts, int64_t work_dur)
{
    int64_t id = s->next++;
    bool is_kernel = strcmp(cat, "kernel") == 0;
    scene_add(s, (fixture_event){.track = 1,
                                 .cat = "cuda_runtime",
                                 .name = is_kernel ? "cudaLaunchKernel" : "cudaMemcpyAsync",
                                 .ts = ts + dur / 2,
                                 .dur = 1,
                                 .bind = id,
                                 .external = id});
    scene_add(s, (fixture_event){.track = 7,
                                 .cat = cat,
                                 .name = work,
                                 .ts = work_ts,
                                 .dur = work_dur,
                                 .bind = id,
                                 .external = id,
                                 .args = "{\"device\": 0}"});
    fixture_event *event = scene_host(s, "cpu_op", op, ts, dur);
    event->external = id;
    return event;
}

kino__trace *scene_trace(scene *s)
{
    kino__trace *trace = fixture_new(s->events.items, s->events.count);
    trace->rank = s->rank;
    for (size_t i = 0; i < trace->tracks.count; i++) /* a process for each device stream */
        if (trace->tracks.items[i].kind == KINO__TRACK_DEVICE)
            trace->tracks.items[i].pid = (kino__label){
                .kind = KINO__LABEL_INT, .text = KINO_NO_STRING, .number = (int64_t)i};
    if (s->devices) {
        kino__metadata *slot = kino__vec_add(&trace->metadata);
        REQUIRE(slot != NULL);
        *slot = (kino__metadata){KINO__STR("deviceProperties"), kino__str_from(s->devices)};
    }
    kino__vec_deinit(&s->events);
    free(s);
    return trace;
}

static kino_result *analyze(kino__run *run, scene **s, size_t count, const char *name,
                            const char *value)
{
    kino_param param = {name, value};
    kino__analyze_how how = {&param, value != NULL, NULL, NULL};
    kino__run_init(run);
    for (size_t i = 0; i < count; i++)
        REQUIRE(kino__run_add_take(run, scene_trace(s[i]), NULL) == KINO_OK);
    kino_result *result = kino__result_new("recommendations");
    REQUIRE(kino__analyze_run(&kino__analysis_recommendations, run, &how, result, NULL) == KINO_OK);
    REQUIRE(kino__result_finish(result, &result, NULL) == KINO_OK);
    REQUIRE_EQ(result->tables.items[0]->column_count, C_WIDTH);
    return result;
}

#define PUT(to, cell) (void)snprintf(to, sizeof(to), "%.*s", KINO__STR_ARG((cell).value.text))

said scenes_say(scene **s, size_t count, const char *rule, const char *set)
{
    kino__run run;
    kino_result *result = analyze(&run, s, count, "set", set);
    const kino__table *table = result->tables.items[0];
    said answer = {0};
    for (size_t i = 0; i < table->cells.count && !answer.is_said; i += C_WIDTH) {
        const kino_cell *row = &table->cells.items[i];
        for (int c = C_TITLE; c <= C_DO; c++) /* all of them have something to say */
            CHECK(row[c].kind == KINO_CELL_TEXT && row[c].value.text.size > 0);
        if (!kino__str_is(row[C_RULE].value.text, rule))
            continue;
        answer.is_said = true;
        answer.gain = row[C_GAIN].kind == KINO_CELL_FLOAT ? row[C_GAIN].value.real : NAN;
        PUT(answer.severity, row[C_SEVERITY]);
        PUT(answer.title, row[C_TITLE]);
        PUT(answer.advice, row[C_DO]);
        PUT(answer.seen, row[C_SEEN]);
        PUT(answer.ranks, row[C_RANKS]);
        PUT(answer.evidence, row[C_EVIDENCE]);
    }
    kino_result_free(result);
    kino__run_deinit(&run);
    return answer;
}

said scene_says(scene *s, const char *rule, const char *set)
{
    return scenes_say(&s, 1, rule, set);
}

const char *scenes_rules(scene **s, size_t count, const char *compat)
{
    static char text[512];
    kino__run run;
    kino_result *result = analyze(&run, s, count, "compat", compat);
    const kino__table *table = result->tables.items[0];
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < table->cells.count; i += C_WIDTH)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", i ? " " : "",
                                 KINO__STR_ARG(table->cells.items[i + C_RULE].value.text));
    kino_result_free(result);
    kino__run_deinit(&run);
    return text;
}
