/* build_run.c - the public builder (kino/builder.h): events and typed arguments of the store, with
 * everything that a caller gives checked, and runs made of builders. */
#include <stdlib.h>

#include <kino/builder.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "store/describe.h"
#include "store/event_args.h"
#include "store/event_builder.h"

/* Sums and differences of two such times fit. */
#define TIME_MOST (INT64_C(1) << 62)

/* The functions of a track's last sample, whose spans may go on. */
typedef struct open_stack {
    uint32_t track;
    kino_strid category;
    int64_t end_ns;
    KINO__VEC(kino_strid) functions; /* outermost first */
    KINO__VEC(int64_t) starts;
} open_stack;

struct kino_builder {
    kino__event_builder events;
    kino__event_args args;
    int64_t base_ns;
    kino_str name;
    KINO__VEC(kino__metadata) keys; /* key and JSON, in the arena */
    KINO__VEC(open_stack) stacks;
    kino__map stack_of; /* track -> number of its stack */
    kino_strid name_key, sort_key, process_name, thread_name, thread_sort_index;
    kino__arena arena;
};

static kino_status state_of(const kino_builder *b)
{
    return b->events.part.failed || b->args.bytes.failed ? KINO_NOMEM : KINO_OK;
}

/* -- making and freeing */

static void set_texts(kino_builder *b)
{
    b->name_key = kino_builder_text(b, "name");
    b->sort_key = kino_builder_text(b, "sort_index");
    b->process_name = kino_builder_text(b, "process_name");
    b->thread_name = kino_builder_text(b, "thread_name");
    b->thread_sort_index = kino_builder_text(b, "thread_sort_index");
    kino__event_args_set_ids(&b->args, kino_builder_text(b, "correlation"),
                             kino_builder_text(b, "External id"));
}

kino_status kino_builder_new(const kino_builder_options *options, kino_builder **out,
                             kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_builder_options given = KINO_BUILDER_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    if (given.base_ns < 0 || given.base_ns > TIME_MOST)
        return kino__fail(err, KINO_ARGUMENT, "base_ns is not a time since 1970");
    kino_builder *b = calloc(1, sizeof *b);
    if (!b)
        return kino__fail_nomem(err);
    kino__event_builder_init(&b->events, NULL);
    kino__event_args_init(&b->args, NULL);
    kino__map_init(&b->stack_of, NULL);
    kino__arena_init(&b->arena, NULL);
    b->base_ns = given.base_ns;
    b->name = kino__arena_copy(&b->arena, kino__str_from(given.name ? given.name : ""));
    set_texts(b);
    if (!b->name.data || state_of(b) != KINO_OK ||
        (given.events && !kino__part_reserve(&b->events.part, given.events))) {
        kino_builder_free(b);
        return kino__fail_nomem(err);
    }
    *out = b;
    return KINO_OK;
}

static void free_stacks(kino_builder *b)
{
    for (size_t i = 0; i < b->stacks.count; i++) {
        kino__vec_deinit(&b->stacks.items[i].functions);
        kino__vec_deinit(&b->stacks.items[i].starts);
    }
    kino__vec_deinit(&b->stacks);
    kino__map_deinit(&b->stack_of);
}

/* Gives back what it holds; it says that memory is out from now on. */
static void empty(kino_builder *b)
{
    kino__event_builder_deinit(&b->events);
    kino__event_args_deinit(&b->args);
    free_stacks(b);
    b->events.part.failed = true;
}

void kino_builder_free(kino_builder *b)
{
    if (!b)
        return;
    empty(b);
    kino__vec_deinit(&b->keys);
    kino__arena_deinit(&b->arena);
    free(b);
}

uint64_t kino_builder_count(const kino_builder *b)
{
    return kino__event_builder_count(&b->events);
}

/* -- texts, tracks, arguments */

kino_strid kino_builder_str(kino_builder *b, kino_str text)
{
    return state_of(b) == KINO_OK ? kino__event_builder_text(&b->events, text) : KINO_NO_STRING;
}

kino_strid kino_builder_text(kino_builder *b, const char *text)
{
    return kino_builder_str(b, kino__str_from(text ? text : ""));
}

static bool is_text(const kino_builder *b, kino_strid text)
{
    return text < kino__string_pool_count(&b->events.texts);
}

/* A text that is none makes no label. */
static kino__label label_of(const kino_builder *b, kino_label given)
{
    if (is_text(b, given.text))
        return (kino__label){KINO__LABEL_TEXT, given.text, 0};
    if (given.number == KINO_NO_INT)
        return (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
    return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, given.number};
}

uint32_t kino_builder_track(kino_builder *b, kino_label process, kino_label thread)
{
    uint32_t track = 0;
    if (state_of(b) == KINO_OK)
        track = kino__event_builder_track(&b->events, label_of(b, process), label_of(b, thread));
    return state_of(b) == KINO_OK ? track : UINT32_MAX;
}

static void add_arg(kino_builder *b, kino_strid key, kino__arg_type type, uint64_t value)
{
    if (state_of(b) == KINO_OK && is_text(b, key))
        kino__event_args_add(&b->args, key, type, value);
}

void kino_builder_arg_int(kino_builder *b, kino_strid key, int64_t value)
{
    add_arg(b, key, KINO__ARG_INT, (uint64_t)value);
}

void kino_builder_arg_uint(kino_builder *b, kino_strid key, uint64_t value)
{
    add_arg(b, key, KINO__ARG_UINT, value);
}

void kino_builder_arg_double(kino_builder *b, kino_strid key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_arg(b, key, KINO__ARG_DOUBLE, bits);
}

void kino_builder_arg_bool(kino_builder *b, kino_strid key, bool value)
{
    add_arg(b, key, value ? KINO__ARG_TRUE : KINO__ARG_FALSE, 0);
}

void kino_builder_arg_null(kino_builder *b, kino_strid key)
{
    add_arg(b, key, KINO__ARG_NULL, 0);
}

void kino_builder_arg_text(kino_builder *b, kino_strid key, kino_strid value)
{
    if (is_text(b, value))
        add_arg(b, key, KINO__ARG_TEXT, value);
}

void kino_builder_arg_json(kino_builder *b, kino_strid key, kino_str json)
{
    kino_strid value = kino_builder_str(b, json);
    if (is_text(b, value))
        add_arg(b, key, KINO__ARG_JSON, value);
}

uint64_t kino_builder_share_args(kino_builder *b)
{
    return state_of(b) == KINO_OK ? kino__event_args_share(&b->args) : 0;
}

/* -- events */

static bool is_phase(char phase)
{
    return phase && strchr("XiCstfbneM", phase);
}

static bool is_time(int64_t ns)
{
    return ns > -TIME_MOST && ns < TIME_MOST;
}

static bool has_sane_times(const kino_builder_event *e)
{
    if (e->phase == 'M' && e->ts_ns == KINO_NO_TIME)
        return true;
    return is_time(e->ts_ns) && (e->phase != 'X' || (e->dur_ns >= 0 && e->dur_ns < TIME_MOST &&
                                                     is_time(e->ts_ns + e->dur_ns)));
}

static bool is_sane(const kino_builder *b, const kino_builder_event *e)
{
    return is_phase(e->phase) && has_sane_times(e) && e->track < b->events.part.tracks.count &&
           (e->name == KINO_NO_STRING || is_text(b, e->name)) &&
           (e->category == KINO_NO_STRING || is_text(b, e->category)) &&
           (!e->args || kino__event_args_is_shared(&b->args, e->args));
}

static uint8_t flags_of(const kino_builder_event *e)
{
    unsigned scope = e->scope == 'g' ? 3 : e->scope == 'p' ? 2 : 1;
    if (e->phase == 'i')
        return (uint8_t)(scope << KINO__FLAG_SCOPE_SHIFT);
    return e->phase == 'f' ? KINO__FLAG_BP : 0;
}

static bool add_event(kino_builder *b, const kino_builder_event *e)
{
    int64_t ids[2] = {KINO_NO_INT, KINO_NO_INT};
    if (e->args)
        kino__event_args_find_ids(&b->args, e->args, ids);
    for (int i = 0; i < 2; i++)
        if (b->args.found[i] != KINO_NO_INT)
            ids[i] = b->args.found[i];
    if (kino__phase_has_id((uint8_t)e->phase))
        ids[0] = (int64_t)e->id;
    kino__built_event built = {.ts = e->ts_ns,
                               .dur = e->phase == 'X' ? e->dur_ns : KINO_NO_TIME,
                               .place = kino__event_args_end(&b->args, e->args),
                               .bind = ids[0],
                               .external = ids[1],
                               .name = e->name,
                               .track = e->track,
                               .phase = (uint8_t)e->phase,
                               .flags = flags_of(e)};
    built.category = kino__event_builder_category(&b->events, e->category);
    return state_of(b) == KINO_OK && kino__event_builder_add(&b->events, &built);
}

kino_status kino_builder_add(kino_builder *b, const kino_builder_event *event)
{
    if (state_of(b) != KINO_OK)
        return state_of(b);
    if (!is_sane(b, event)) {
        kino__event_args_drop(&b->args);
        return KINO_ARGUMENT;
    }
    if (kino_builder_count(b) >= KINO__EVENTS_MOST)
        return KINO_LIMIT;
    return add_event(b, event) ? KINO_OK : KINO_NOMEM;
}

kino_status kino_builder_add_many(kino_builder *b, const kino_builder_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        KINO_TRY(kino_builder_add(b, &events[i]));
    return KINO_OK;
}

static kino_status add_name(kino_builder *b, kino_strid what, uint32_t track)
{
    kino_builder_event event = KINO_BUILDER_EVENT_INIT;
    event.phase = 'M';
    event.name = what;
    event.track = track;
    return kino_builder_add(b, &event);
}

kino_status kino_builder_name_process(kino_builder *b, kino_label process, kino_strid name)
{
    if (!is_text(b, name))
        return state_of(b) == KINO_OK ? KINO_ARGUMENT : KINO_NOMEM;
    uint32_t track = kino_builder_track(b, process, kino_label_none());
    kino_builder_arg_text(b, b->name_key, name);
    return add_name(b, b->process_name, track);
}

kino_status kino_builder_name_thread(kino_builder *b, uint32_t track, kino_strid name)
{
    if (!is_text(b, name))
        return state_of(b) == KINO_OK ? KINO_ARGUMENT : KINO_NOMEM;
    kino_builder_arg_text(b, b->name_key, name);
    return add_name(b, b->thread_name, track);
}

kino_status kino_builder_sort_thread(kino_builder *b, uint32_t track, int64_t index)
{
    kino_builder_arg_int(b, b->sort_key, index);
    return add_name(b, b->thread_sort_index, track);
}

/* -- samples */

static open_stack *stack_of(kino_builder *b, uint32_t track)
{
    uint32_t *at = kino__map_put(&b->stack_of, track, UINT32_MAX);
    if (at && *at != UINT32_MAX)
        return &b->stacks.items[*at];
    open_stack *stack = at ? kino__vec_add(&b->stacks) : NULL;
    b->events.part.failed |= !stack;
    if (!stack)
        return NULL;
    *at = (uint32_t)b->stacks.count - 1;
    *stack = (open_stack){.track = track, .end_ns = -TIME_MOST};
    return stack;
}

/* The spans of the functions from `depth` on end where the last sample did; the outer ones first. */
static kino_status close_functions(kino_builder *b, open_stack *stack, size_t depth)
{
    for (size_t i = depth; i < stack->functions.count; i++) {
        kino_builder_event event = KINO_BUILDER_EVENT_INIT;
        event.track = stack->track;
        event.category = stack->category;
        event.name = stack->functions.items[i];
        event.ts_ns = stack->starts.items[i];
        event.dur_ns = stack->end_ns - event.ts_ns;
        KINO_TRY(kino_builder_add(b, &event));
    }
    if (depth < stack->functions.count)
        stack->functions.count = stack->starts.count = depth;
    return KINO_OK;
}

static kino_status open_function(kino_builder *b, open_stack *stack, kino_strid function,
                                 int64_t start_ns)
{
    kino_strid *slot = kino__vec_add(&stack->functions);
    int64_t *start = slot ? kino__vec_add(&stack->starts) : NULL;
    if (!start) {
        stack->functions.count = stack->starts.count;
        b->events.part.failed = true;
        return KINO_NOMEM;
    }
    *slot = function;
    *start = start_ns;
    return KINO_OK;
}

static bool is_sane_sample(const kino_builder *b, uint32_t track, int64_t start_ns, int64_t end_ns,
                           const kino_strid *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_text(b, functions[i]))
            return false;
    return track < b->events.part.tracks.count && is_time(start_ns) && is_time(end_ns) &&
           start_ns < end_ns;
}

kino_status kino_builder_sample(kino_builder *b, uint32_t track, kino_strid category,
                                int64_t start_ns, int64_t end_ns, const kino_strid *functions,
                                size_t count)
{
    if (state_of(b) != KINO_OK)
        return KINO_NOMEM;
    kino__event_args_drop(&b->args); /* spans of samples have none */
    if (!is_sane_sample(b, track, start_ns, end_ns, functions, count) ||
        (category != KINO_NO_STRING && !is_text(b, category)))
        return KINO_ARGUMENT;
    open_stack *stack = stack_of(b, track);
    if (!stack || start_ns < stack->end_ns)
        return stack ? KINO_ARGUMENT : KINO_NOMEM;
    size_t same = 0;
    if (start_ns == stack->end_ns && category == stack->category)
        while (same < count && same < stack->functions.count &&
               stack->functions.items[same] == functions[same])
            same++;
    KINO_TRY(close_functions(b, stack, same));
    stack->category = category;
    stack->end_ns = end_ns;
    for (size_t i = same; i < count; i++)
        KINO_TRY(open_function(b, stack, functions[i], start_ns));
    return KINO_OK;
}

/* -- the trace */

void kino_builder_metadata(kino_builder *b, const char *key, kino_str json)
{
    kino__buffer name = {0}, value = {0};
    kino__json out = {.out = &value};
    kino__json_add_string(&name, kino__str_from(key ? key : ""));
    kino__json_raw(&out, json);
    kino__metadata *slot = name.failed || value.failed ? NULL : kino__vec_add(&b->keys);
    if (slot) /* keys are kept as they stand between quotes */
        *slot =
            (kino__metadata){kino__arena_copy(&b->arena, (kino_str){name.data + 1, name.size - 2}),
                             kino__arena_copy(&b->arena, kino__buffer_str(&value))};
    b->events.part.failed |= !slot || !slot->key.data || !slot->value.data;
    kino__buffer_deinit(&name);
    kino__buffer_deinit(&value);
}

static bool add_keys(const kino_builder *b, kino__trace *trace)
{
    char base[KINO__DECIMAL_MAX];
    kino_str text = {base, kino__format_int(b->base_ns, base)};
    for (size_t i = 0; i < b->keys.count; i++)
        if (!kino__trace_add_metadata(trace, b->keys.items[i].key, b->keys.items[i].value))
            return false;
    return !b->base_ns || kino__trace_add_metadata(trace, KINO__STR("baseTimeNanoseconds"), text);
}

static kino_status fill_trace(kino_builder *b, kino__trace *trace, kino__pool *pool,
                              kino_error *err)
{
    for (size_t i = 0; i < b->stacks.count; i++)
        if (close_functions(b, &b->stacks.items[i], 0) != KINO_OK)
            return kino__fail_nomem(err);
    if (state_of(b) != KINO_OK)
        return kino__fail_nomem(err);
    kino__event_args_drop(&b->args);
    trace->format = KINO__STR("built");
    trace->compression = KINO__STR("");
    KINO_TRY(kino__event_builder_build(&b->events, trace, pool, err));
    trace->text = kino__event_args_text_take(&b->args, &b->events.texts);
    if (!trace->text || !add_keys(b, trace))
        return kino__fail_nomem(err);
    return kino__trace_describe(trace, err);
}

static kino_status build_trace(kino_builder *b, kino__pool *pool, kino__trace **out,
                               kino_error *err)
{
    kino__trace *trace;
    KINO_TRY(kino__trace_new(&trace, err));
    kino_status st = fill_trace(b, trace, pool, err);
    if (st == KINO_OK) {
        *out = trace;
        return KINO_OK;
    }
    kino__trace_free(trace);
    return st;
}

kino_status kino_run_build(kino_builder *const *builders, size_t count,
                           const kino_load_options *options, kino_run **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_load_options given = kino__load_options_of(options);
    kino__made_trace *traces = calloc(count + 1, sizeof *traces);
    kino__pool *pool = NULL;
    kino_status st = traces ? kino__pool_new(given.jobs, &pool, err) : kino__fail_nomem(err);
    size_t made = 0;
    for (; st == KINO_OK && made < count; made++) {
        traces[made].name = builders[made]->name;
        st = build_trace(builders[made], pool, &traces[made].trace, err);
        if (st != KINO_OK)
            break;
    }
    kino__pool_free(pool);
    if (st == KINO_OK)
        st = kino__run_of_traces(traces, made, &given, out, err);
    else
        for (size_t i = 0; i < made; i++)
            kino__trace_free(traces[i].trace);
    for (size_t i = 0; i < count; i++)
        empty(builders[i]);
    free(traces);
    return st;
}
