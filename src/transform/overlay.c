/* overlay.c - runs with something drawn onto them: keeping the events made and their texts, and
 * making traces of them. */
#include "transform/overlay.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_chars.h"
#include "base/json_out.h"
#include "engine/analyze.h"
#include "store/args.h"

enum { TAIL = 64 };

typedef struct overlays {
    kino__overlay *of;
    size_t count;
} overlays;

static void overlays_free(void *value)
{
    overlays *all = value;
    for (size_t i = 0; all && i < all->count; i++) {
        kino__overlay *overlay = &all->of[i];
        kino__vec_deinit(&overlay->events);
        kino__vec_deinit(&overlay->places);
        kino__buffer_deinit(&overlay->text);
        kino__string_pool_deinit(&overlay->names);
        free(overlay->is_kept);
        free(overlay->marks);
        kino__vec_deinit(&overlay->members);
    }
    if (all)
        free(all->of);
    free(all);
}

/* A run without traces beside `run`, with room for what is drawn onto each trace, which is kept and
 * freed with the run: kino__overlay_of. */
static kino_status overlay_run_new(const kino_run *run, kino_run **out, kino_error *err)
{
    KINO_TRY(kino__derived_run_new(run, out, err));
    overlays *all = calloc(1, sizeof *all);
    (*out)->rules = all;
    (*out)->rules_free = overlays_free;
    if (all)
        all->of = calloc(run->run.traces.count + 1, sizeof *all->of);
    if (!all || !all->of) {
        kino_run_free(*out);
        *out = NULL;
        return kino__fail_nomem(err);
    }
    all->count = run->run.traces.count;
    for (size_t i = 0; i < all->count; i++)
        kino__string_pool_init(&all->of[i].names, NULL);
    return KINO_OK;
}

kino_status kino__overlay_make(kino_run *run,
                               kino_status (*draw)(kino_run *run, kino_run *made,
                                                   const void *options, kino_error *err),
                               const void *options, kino_run **out, kino_error *err)
{
    kino_run *made;
    KINO_TRY(overlay_run_new(run, &made, err));
    kino_status st = kino__run_prepare(run, KINO__COLUMN_ALL, err);
    if (st == KINO_OK)
        st = draw(run, made, options, err);
    if (st != KINO_OK) {
        kino_run_free(made);
        return st;
    }
    *out = made;
    return KINO_OK;
}

kino__overlay *kino__overlay_of(kino_run *overlay_run, size_t place)
{
    overlays *all = overlay_run->rules;
    return &all->of[place];
}

void kino__overlay_add(kino__overlay *overlay, const kino__derive_event *event, kino_str args,
                       kino_str text)
{
    kino__derive_event *slot = kino__vec_add(&overlay->events);
    kino__overlay_places *places = slot ? kino__vec_add(&overlay->places) : NULL;
    overlay->failed |= !places;
    if (!places)
        return;
    *slot = *event;
    slot->args.size = args.size;
    slot->text.size = text.size;
    places->args = overlay->text.size;
    kino__buffer_add(&overlay->text, args);
    places->text = overlay->text.size;
    kino__buffer_add(&overlay->text, text);
    overlay->failed |= overlay->text.failed;
}

kino_str kino__overlay_name(kino__overlay *overlay, kino_str name)
{
    kino_strid id = kino__string_pool_add(&overlay->names, name);
    overlay->failed |= id == KINO_NO_STRING;
    return id == KINO_NO_STRING ? (kino_str){"", 0} : kino__string_pool_text(&overlay->names, id);
}

uint32_t *kino__overlay_marks_new(kino__overlay *overlay, const kino__trace *trace, const char *key)
{
    overlay->marks = calloc((size_t)trace->event_count + 1, sizeof *overlay->marks);
    overlay->mark_key = key;
    overlay->failed |= !overlay->marks;
    return overlay->marks;
}

uint32_t kino__overlay_add_mark(kino__overlay *overlay, kino_str member)
{
    kino_str *slot = kino__vec_add(&overlay->members);
    overlay->failed |= !slot;
    if (slot)
        *slot = kino__overlay_name(overlay, member);
    return (uint32_t)overlay->members.count;
}

void kino__overlay_add_label(kino__buffer *out, const kino__trace *trace, const kino__label *label,
                             bool is_text)
{
    char number[KINO__DECIMAL_MAX];
    kino_str quote = is_text ? KINO__STR("\"") : KINO__STR("");
    switch (label->kind) {
    case KINO__LABEL_INT:
        kino__buffer_add(out, quote);
        kino__buffer_add(out, (kino_str){number, kino__format_int(label->number, number)});
        kino__buffer_add(out, quote);
        break;
    case KINO__LABEL_TEXT:
        kino__json_add_string(out, kino__trace_string(trace, label->text));
        break;
    case KINO__LABEL_RAW:
        kino__buffer_add(out, kino__trace_string(trace, label->text));
        break;
    case KINO__LABEL_NONE:
        kino__buffer_add(out, KINO__STR("null"));
        break;
    }
}

int64_t kino__overlay_file_time(const kino__trace *trace, int64_t ts)
{
    return (int64_t)((uint64_t)ts + (uint64_t)trace->origin_ns - (uint64_t)trace->base_ns);
}

uint32_t *kino__overlay_rows_new(const kino__trace *trace)
{
    uint32_t *rows = calloc((size_t)trace->number_count + 1, sizeof *rows);
    for (uint32_t row = 0; rows && row < trace->event_count; row++)
        if (trace->number[row] < trace->number_count)
            rows[trace->number[row]] = row;
    return rows;
}

/* -- marks: rules of the new trace -- */

/* An object's text with one more member; what is no whole object stays as it is. */
static bool add_member(kino_str object, kino_str member, kino__buffer *out)
{
    while (object.size && kino__is_json_space(object.data[object.size - 1]))
        object.size--;
    if (object.size < 2 || object.data[object.size - 1] != '}')
        return false;
    object.size--;
    while (object.size && kino__is_json_space(object.data[object.size - 1]))
        object.size--;
    kino__buffer_add(out, object);
    if (object.size && object.data[object.size - 1] != '{')
        kino__buffer_add(out, KINO__STR(", "));
    kino__buffer_add(out, member);
    kino__buffer_add(out, KINO__STR("}"));
    return true;
}

static bool adds_args(const void *context, uint32_t source, uint32_t row)
{
    const kino__overlay *overlay = context;
    (void)source;
    return overlay->marks[row] != 0;
}

static bool mark_args(const void *context, uint32_t source, uint32_t row, kino_str text,
                      kino__buffer *out)
{
    const kino__overlay *overlay = context;
    (void)source;
    if (!overlay->marks[row])
        return false;
    kino_str member = overlay->members.items[overlay->marks[row] - 1];
    if (text.size == 0)
        return add_member(KINO__STR("{}"), member, out);
    return kino__args_find(text, kino__str_from(overlay->mark_key)).size == 0 &&
           add_member(text, member, out);
}

/* An event that has no arguments at all. */
static bool mark_bare_event(const kino__overlay *overlay, uint32_t row, kino_str text,
                            kino__buffer *out)
{
    kino__buffer args = {0};
    kino__buffer_add(&args, KINO__STR("\"args\": "));
    (void)add_member(KINO__STR("{}"), overlay->members.items[overlay->marks[row] - 1], &args);
    bool is_done = !args.failed && add_member(text, kino__buffer_str(&args), out);
    out->failed |= args.failed;
    kino__buffer_deinit(&args);
    return is_done;
}

/* The same in the text of a whole event, where the trace kept that. */
static bool mark_event(const void *context, uint32_t source, uint32_t row, bool is_end,
                       kino_str text, kino__buffer *out)
{
    const kino__overlay *overlay = context;
    if (is_end || !overlay->marks[row])
        return false;
    kino_str args = kino__args_find(text, KINO__STR("args"));
    if (args.size == 0)
        return mark_bare_event(overlay, row, text, out);
    size_t before = (size_t)(args.data - text.data), start = out->size;
    kino__buffer_add(out, (kino_str){text.data, before});
    if (!mark_args(context, source, row, args, out)) {
        out->size = start;
        return false;
    }
    kino__buffer_add(out, (kino_str){args.data + args.size, text.size - before - args.size});
    return true;
}

/* -- the new trace -- */

/* Texts may be read with some bytes behind them; the buffer no longer moves. */
static bool place_texts(kino__overlay *overlay)
{
    char *tail = kino__buffer_reserve(&overlay->text, TAIL);
    if (!tail || overlay->failed)
        return false;
    memset(tail, 0, TAIL);
    for (size_t i = 0; i < overlay->events.count; i++) {
        overlay->events.items[i].args.data = overlay->text.data + overlay->places.items[i].args;
        overlay->events.items[i].text.data = overlay->text.data + overlay->places.items[i].text;
    }
    kino__vec_deinit(&overlay->places);
    return true;
}

kino_status kino__overlay_finish(kino_run *overlay_run, const kino__trace *trace,
                                 kino__overlay *overlay, kino__progress *progress, kino_error *err)
{
    if (!place_texts(overlay))
        return kino__fail_nomem(err);
    const kino__derive_rules rules = {
        .context = overlay, .adds_args = adds_args, .args = mark_args, .event = mark_event};
    kino__derive_source source = {.trace = trace, .is_kept = overlay->is_kept};
    kino__derive derive = {.sources = &source,
                           .count = 1,
                           .rules = overlay->marks ? &rules : NULL,
                           .progress = progress,
                           .made = overlay->events.items,
                           .made_count = overlay->events.count};
    return kino__derived_run_add(overlay_run, &derive, err);
}

void kino__overlay_warn(kino_run *overlay_run, const kino_result *result)
{
    for (size_t i = 0; i < result->notes.count; i++)
        kino__derived_run_add_warning(overlay_run, &result->notes.items[i]);
}

/* -- analyses -- */

kino_status kino__overlay_analyze(const kino_run *run, kino__trace *trace,
                                  const kino__analysis_def *def, const kino_param *params,
                                  size_t count, kino_result **out, kino_error *err)
{
    *out = NULL;
    kino__run alone = run->run;
    alone.traces.items = &trace;
    alone.traces.count = 1;
    kino__analyze_how how = {.params = params, .param_count = count};
    KINO_TRY(kino__pool_new(run->jobs, &how.pool, err));
    kino_result *result = kino__result_new(def->name);
    kino_status st = kino__analyze_run(def, &alone, &how, result, err);
    kino__pool_free(how.pool);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}
