/* test_partial_sizes.c - the partial results of which analyses grow with the number of events: what
 * their definitions say decides what a summary holds by default. */
#include <stdio.h>
#include <string.h>

#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "unit/test.h"

static kino_run *make_run(const char *folder, unsigned steps)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    char path[512];
    const char *paths[] = {path};
    kino_run *run = NULL;
    options.ranks = 1;
    options.steps = steps;
    REQUIRE(kino_demo_write(test_tmp(folder), &options, NULL) == KINO_OK);
    (void)snprintf(path, sizeof path, "%s/rank-0.json", test_tmp(folder));
    REQUIRE(kino_run_open(paths, 1, NULL, &run, NULL) == KINO_OK);
    return run;
}

static size_t size_of(const kino__analysis_def *def, const kino_run *run)
{
    kino__analysis a;
    kino__buffer bytes = {0};
    const kino__trace *trace = run->run.traces.items[0];
    REQUIRE(kino__analysis_init(&a, def, NULL, 0, NULL) == KINO_OK);
    void *partial = kino__partial_new(&a);
    REQUIRE(partial && def->map(&a, trace, partial, NULL) == KINO_OK);
    kino__partial_save_alone(&a, partial, trace->shift_ns, &bytes);
    kino__partial_free(&a, partial);
    kino__analysis_deinit(&a);
    size_t size = bytes.size;
    kino__buffer_deinit(&bytes);
    return size;
}

/* Eight times the events. Those that grow with the number of steps may have a few hundred bytes for
 * each. */
TEST(partials_that_grow_with_the_events_are_declared)
{
    enum { FEW = 4, MANY = 32, BYTES_OF_STEP = 400 };
    kino_run *few = make_run("few", FEW), *many = make_run("many", MANY);
    const kino__analysis_def *def;
    for (size_t i = 0; (def = kino__analyses_at(i)); i++) {
        size_t small = size_of(def, few), large = size_of(def, many);
        bool grows = large > small + small / 2 + (size_t)(MANY - FEW) * BYTES_OF_STEP;
        if (!CHECK(!grows || def->grows))
            printf("    %s: %zu bytes for %d steps, %zu for %d\n", def->name, small, FEW, large,
                   MANY);
    }
    kino_run_free(few);
    kino_run_free(many);
}
