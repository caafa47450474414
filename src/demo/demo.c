/* demo.c - plans a demo run and writes its files.
 *
 * Ranks meet only in collectives, so one pass over all models first notes when each collective was
 * over; after that each file is made alone. A Kineto file holds its events by class (ops of a
 * thread, its memory events, ..., Python, device), so a file replays its model once for each class.
 * Memory: the plan (8 bytes a collective), the shadows of annotations on streams, one step of one
 * rank. */
#include "demo/demo.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/progress.h"
#include "codec/codec.h"
#include "demo/demo_json.h"
#include "demo/plant.h"

enum { DEFAULT_LAYERS = 6, MAX_RANKS = 1024, MAX_STEPS = 1000000 };
/* One step of one pass; large, since progress is reported in parts of the total. */
enum { PROGRESS_UNIT = 1 << 16 };
#define START_NS INT64_C(1780000000123456789)

/* Classes of events in the order in which a file holds them. */
enum {
    OPS_OF_MAIN,
    MEMORY_OF_MAIN,
    OPS_OF_AUTOGRAD,
    MEMORY_OF_AUTOGRAD,
    PYTHON,
    DEVICE,
    PASS_COUNT
};

typedef struct demo_plan {
    kino__demo_shape shape;
    int64_t *ends; /* kino__demo_collectives a step */
    kino__progress progress;
} demo_plan;

static bool belongs(const kino__demo_event *event, int pass)
{
    switch (pass) {
    case PYTHON:
        return event->kind == KINO__DEMO_PYTHON;
    case MEMORY_OF_MAIN:
    case MEMORY_OF_AUTOGRAD:
        return event->kind == KINO__DEMO_MEMORY && event->thread == (pass == MEMORY_OF_AUTOGRAD);
    default:
        return event->kind <= KINO__DEMO_ANNOTATION && event->thread == (pass == OPS_OF_AUTOGRAD);
    }
}

static kino_status write_class(kino__demo_text *text, const kino__demo_model *model, int pass,
                               kino_error *err)
{
    if (pass == DEVICE) {
        for (size_t i = 0; i < model->device.count; i++)
            KINO_TRY(kino__demo_text_event(text, &model->device.items[i], err));
        return KINO_OK;
    }
    for (size_t i = 0; i < model->events.count; i++)
        if (belongs(&model->events.items[i], pass))
            KINO_TRY(kino__demo_text_event(text, &model->events.items[i], err));
    return KINO_OK;
}

typedef KINO__VEC(kino__demo_shadow) shadow_list;

static kino_status keep_shadows(shadow_list *all, const kino__demo_model *model, kino_error *err)
{
    if (!model->shadows.count)
        return KINO_OK;
    if (!kino__vec_reserve(all, model->shadows.count))
        return kino__fail_nomem(err);
    memcpy(all->items + all->count, model->shadows.items,
           model->shadows.count * sizeof *all->items);
    all->count += model->shadows.count;
    return KINO_OK;
}

/* One replay of a rank; *end_ns is when its last step ended. */
static kino_status write_pass(demo_plan *plan, kino__demo_text *text, unsigned rank, int pass,
                              shadow_list *shadows, int64_t *end_ns, kino_error *err)
{
    kino__demo_model model;
    kino__demo_model_init(&model, &plan->shape, rank);
    kino_status st = KINO_OK;
    for (unsigned step = 0; step < plan->shape.steps && st == KINO_OK; step++) {
        kino__demo_model_begin(&model);
        kino__demo_model_finish(&model,
                                plan->ends + (size_t)step * kino__demo_collectives(&plan->shape));
        if (model.has_failed)
            st = kino__fail_nomem(err);
        if (st == KINO_OK)
            st = write_class(text, &model, pass, err);
        if (st == KINO_OK && pass == DEVICE)
            st = keep_shadows(shadows, &model, err);
        if (st == KINO_OK && !kino__progress_add(&plan->progress, PROGRESS_UNIT))
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    *end_ns = model.now;
    kino__demo_model_deinit(&model);
    return st;
}

static kino_status write_rank(demo_plan *plan, unsigned rank, kino__sink *sink, kino_error *err)
{
    kino__demo_text *text = malloc(sizeof *text);
    if (!text)
        return kino__fail_nomem(err);
    shadow_list shadows = {0};
    int64_t end_ns = 0;
    kino_status st = kino__demo_text_init(text, &plan->shape, rank, sink, err);
    if (st == KINO_OK)
        st = kino__demo_text_head(text, &plan->shape, err);
    for (int pass = 0; pass < PASS_COUNT && st == KINO_OK; pass++)
        st = write_pass(plan, text, rank, pass, &shadows, &end_ns, err);
    for (size_t i = 0; i < shadows.count && st == KINO_OK; i++)
        st = kino__demo_text_shadow(text, &shadows.items[i], err);
    if (st == KINO_OK)
        st = kino__demo_text_tail(text, &plan->shape, end_ns, err);
    kino__vec_deinit(&shadows);
    kino__demo_text_deinit(text);
    free(text);
    return st;
}

/* All ranks act out the same story at other times, so while planning they share one set of event
 * lists: whoever acts has them lent, cut to where its part begins. The events themselves are not
 * looked at. */
typedef struct list_sizes {
    size_t events, device, shadows, graph, blocks;
} list_sizes;

static list_sizes sizes_of(const kino__demo_model *lists)
{
    return (list_sizes){lists->events.count, lists->device.count, lists->shadows.count,
                        lists->graph.count, lists->blocks.count};
}

static void lend(kino__demo_model *to, const kino__demo_model *lists, list_sizes sizes)
{
    to->events = lists->events;
    to->device = lists->device;
    to->shadows = lists->shadows;
    to->graph = lists->graph;
    to->blocks = lists->blocks;
    to->events.count = sizes.events;
    to->device.count = sizes.device;
    to->shadows.count = sizes.shadows;
    to->graph.count = sizes.graph;
    to->blocks.count = sizes.blocks;
}

/* One step of all ranks; false when memory is out. */
static bool plan_step(const kino__demo_shape *shape, kino__demo_model *models,
                      kino__demo_model *lists, int64_t *ends)
{
    bool has_failed = false;
    for (unsigned r = 0; r < shape->ranks; r++) {
        lend(&models[r], lists, (list_sizes){0});
        kino__demo_model_begin(&models[r]);
        lend(lists, &models[r], sizes_of(&models[r]));
    }
    list_sizes middle = sizes_of(lists);
    kino__demo_agree(shape, models, ends);
    for (unsigned r = 0; r < shape->ranks; r++) {
        lend(&models[r], lists, middle);
        kino__demo_model_finish(&models[r], ends);
        lend(lists, &models[r], sizes_of(&models[r]));
        has_failed |= models[r].has_failed;
    }
    return !has_failed;
}

static kino_status make_plan(demo_plan *plan, kino_error *err)
{
    const kino__demo_shape *shape = &plan->shape;
    size_t width = kino__demo_collectives(shape);
    kino__demo_model *models = calloc((size_t)shape->ranks + 1, sizeof *models);
    plan->ends = calloc((size_t)shape->steps * width, sizeof *plan->ends);
    if (!models || !plan->ends) {
        free(models);
        return kino__fail_nomem(err);
    }
    kino__demo_model *lists = &models[shape->ranks];
    for (unsigned r = 0; r < shape->ranks; r++)
        kino__demo_model_init(&models[r], shape, r);
    kino_status st = KINO_OK;
    for (unsigned step = 0; step < shape->steps && st == KINO_OK; step++) {
        if (!plan_step(shape, models, lists, plan->ends + step * width))
            st = kino__fail_nomem(err);
        else if (!kino__progress_add(&plan->progress, (uint64_t)shape->ranks * PROGRESS_UNIT))
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    kino__demo_model_deinit(lists);
    free(models);
    return st;
}

/* How many bytes one step of this many layers makes. */
static kino_status measure(const kino__demo_shape *like, unsigned layers, uint64_t *bytes,
                           kino_error *err)
{
    demo_plan plan = {.shape = *like};
    plan.shape.layers = layers;
    plan.shape.steps = 1;
    plan.shape.ranks = 1;
    *bytes = 0;
    kino__demo_text *text = malloc(sizeof *text);
    if (!text)
        return kino__fail_nomem(err);
    kino__demo_model model;
    kino__demo_model_init(&model, &plan.shape, 0);
    kino_status st = kino__demo_text_init(text, &plan.shape, 0, NULL, err);
    int64_t ends[KINO__DEMO_MAX_LAYERS + 2];
    kino__demo_model_begin(&model);
    kino__demo_agree(&plan.shape, &model, ends);
    kino__demo_model_finish(&model, ends);
    if (st == KINO_OK && model.has_failed)
        st = kino__fail_nomem(err);
    for (int pass = 0; pass < PASS_COUNT && st == KINO_OK; pass++)
        st = write_class(text, &model, pass, err);
    if (st == KINO_OK)
        st = kino__demo_text_flush(text, err);
    *bytes = text->written;
    kino__demo_model_deinit(&model);
    kino__demo_text_deinit(text);
    free(text);
    return st;
}

/* Layers first, as far as a model may reasonably be deep, then steps. */
static kino_status choose_size(kino__demo_shape *shape, uint64_t bytes_per_rank, kino_error *err)
{
    uint64_t few = 0, many = 0;
    KINO_TRY(measure(shape, 4, &few, err));
    KINO_TRY(measure(shape, 12, &many, err));
    uint64_t per_layer = many > few + 8 ? (many - few) / 8 : 1;
    uint64_t fixed = few - 4 * per_layer;
    uint64_t per_step = bytes_per_rank / shape->steps;
    uint64_t layers = per_step > fixed ? (per_step - fixed + per_layer / 2) / per_layer : 1;
    shape->layers = layers < 1                       ? 1
                    : layers > KINO__DEMO_MAX_LAYERS ? KINO__DEMO_MAX_LAYERS
                                                     : (unsigned)layers;
    uint64_t one = fixed + shape->layers * per_layer;
    uint64_t steps = (bytes_per_rank + one / 2) / one;
    if (steps > MAX_STEPS)
        return kino__fail(err, KINO_LIMIT, "a demo trace of that size is too large");
    if (steps > shape->steps)
        shape->steps = (unsigned)steps;
    return KINO_OK;
}

static kino_status choose_shape(const kino_demo_options *options, kino__demo_shape *shape,
                                kino_error *err)
{
    if (options->ranks < 1 || options->ranks > MAX_RANKS)
        return kino__fail(err, KINO_ARGUMENT, "ranks must be between 1 and %d", MAX_RANKS);
    if (options->steps < 1 || options->steps > MAX_STEPS)
        return kino__fail(err, KINO_ARGUMENT, "steps must be between 1 and %d", MAX_STEPS);
    *shape = (kino__demo_shape){.ranks = options->ranks,
                                .layers = DEFAULT_LAYERS,
                                .steps = options->steps,
                                .seed = options->seed,
                                .start_ns = START_NS,
                                .stall_step = UINT_MAX,
                                .straggler = UINT_MAX};
    if (options->bytes_per_rank)
        KINO_TRY(choose_size(shape, options->bytes_per_rank, err));
    if (shape->steps >= 3)
        shape->stall_step = shape->steps / 2;
    if (shape->ranks >= 2)
        shape->straggler = shape->ranks / 2;
    return KINO_OK;
}

static kino_status write_file(demo_plan *plan, const char *folder, unsigned rank,
                              const char *suffix, kino_error *err)
{
    kino__buffer path = {0};
    kino__buffer_printf(&path, "%s/rank-%u%s", folder, rank, suffix);
    kino__sink *sink = NULL;
    kino_status st =
        path.failed ? kino__fail_nomem(err) : kino__file_sink_open(path.data, &sink, err);
    if (st == KINO_OK)
        st = kino__compress_sink_take(kino__compression_of_path(kino__buffer_str(&path)), &sink,
                                      err);
    if (st == KINO_OK)
        st = write_rank(plan, rank, sink, err);
    kino_status closed = kino__sink_close(sink, st == KINO_OK, st == KINO_OK ? err : NULL);
    kino__buffer_deinit(&path);
    return st == KINO_OK ? closed : st;
}

kino_status kino__demo_write(const char *folder, const kino_demo_options *options, kino_error *err)
{
    static const kino_demo_options defaults = KINO_DEMO_OPTIONS_INIT;
    kino__error_clear(err);
    if (!options)
        options = &defaults;
    const char *suffix = options->suffix ? options->suffix : ".json";
    kino_str text = kino__str_from(suffix);
    if (!kino__str_is(text, ".json") && !kino__str_is(text, ".json.gz") &&
        !kino__str_is(text, ".json.zst"))
        return kino__fail(err, KINO_ARGUMENT,
                          "cannot write '%s': only .json, .json.gz and .json.zst", suffix);
    if (options->plant)
        return kino__plant_write(folder, options, suffix, err);
    demo_plan plan = {0};
    KINO_TRY(choose_shape(options, &plan.shape, err));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return kino__fail_errno(err, errno, "cannot create directory '%s'", folder);
    kino__progress_init(&plan.progress, options->progress, options->progress_context);
    kino__progress_stage(&plan.progress, "writing demo",
                         (uint64_t)plan.shape.ranks * plan.shape.steps * (1 + PASS_COUNT) *
                             PROGRESS_UNIT);
    kino_status st = make_plan(&plan, err);
    for (unsigned rank = 0; rank < plan.shape.ranks && st == KINO_OK; rank++)
        st = write_file(&plan, folder, rank, suffix, err);
    free(plan.ends);
    return st;
}
