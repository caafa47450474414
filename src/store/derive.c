/* derive.c - making a trace from rows of others: columns, tracks, strings, odd list.
 *
 * Per source two passes: by row, which tracks are left and where each kept row goes; by place in
 * the file, which fills the columns, so that strings and numbers come in order of first
 * appearance. Tracks keep their order, so rows are in order without sorting. Events that no source
 * has are merged into the first source's tracks, and filled in last. */
#include "store/derive.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"
#include "store/args.h"
#include "store/builder_internal.h"
#include "store/derive_internal.h"
#include "store/link.h"

enum { REPORT_ROWS = 1 << 16 };

typedef struct work {
    const kino__derive *derive;
    kino__derive_rules rules;
    kino__trace *trace;
    kino__derived_text *text;
    uint64_t number; /* of the next event */
    kino__made_plan plan;
    kino__buffer changed;
    /* of the source at hand */
    const kino__derive_source *source;
    uint32_t index;
    uint32_t *target;                        /* row -> row of the new trace, or KINO_NO_ROW */
    kino_strid *names[KINO__DERIVE_CLASSES]; /* string -> new string, per class */
    uint16_t *categories;                    /* own category -> new category */
    bool failed;
} work;

/* -- strings */

static kino_strid add_string(work *w, kino__derive_use use, unsigned name_class, kino_strid old)
{
    if (old == KINO_NO_STRING)
        return old;
    kino_str text = kino__trace_string(w->source->trace, old);
    w->changed.size = 0;
    bool is_changed = w->rules.string && w->rules.string(w->rules.context, w->index, use,
                                                         name_class, text, &w->changed);
    kino_strid id = w->changed.failed ? KINO_NO_STRING
                    : is_changed
                        ? kino__string_pool_add(&w->trace->strings, kino__buffer_str(&w->changed))
                        : kino__string_pool_add_borrowed(&w->trace->strings, text);
    w->failed |= id == KINO_NO_STRING;
    return id;
}

/* A name is looked up once per class. */
static kino_strid new_name(work *w, uint32_t row)
{
    const kino__trace *source = w->source->trace;
    kino_strid old = source->name[row];
    size_t count = kino__string_pool_count(&source->strings);
    if (old >= count)
        return KINO_NO_STRING;
    unsigned name_class =
        w->rules.name_class ? w->rules.name_class(w->rules.context, source, row) : 0;
    kino_strid **names = &w->names[name_class];
    if (!*names) {
        *names = malloc(count * sizeof **names);
        if (!*names) {
            w->failed = true;
            return KINO_NO_STRING;
        }
        memset(*names, 0xff, count * sizeof **names);
    }
    if ((*names)[old] == KINO_NO_STRING)
        (*names)[old] = add_string(w, KINO__DERIVE_NAME, name_class, old);
    return (*names)[old];
}

/* A text that is the caller's. */
static kino_strid borrow_string(work *w, kino_str text)
{
    if (text.size == 0)
        return KINO_NO_STRING;
    kino_strid id = kino__string_pool_add_borrowed(&w->trace->strings, text);
    w->failed |= id == KINO_NO_STRING;
    return id;
}

/* The new trace's number of an own category, by its text. */
static uint16_t find_category(work *w, kino_strid text)
{
    size_t count = w->trace->own_categories.count;
    for (size_t i = 0; i < count; i++)
        if (w->trace->own_categories.items[i] == text)
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    if (KINO__CATEGORY_COUNT + count >= KINO__CATEGORY_MANY)
        return KINO__CATEGORY_MANY;
    kino_strid *slot = kino__vec_add(&w->trace->own_categories);
    w->failed |= !slot;
    if (slot)
        *slot = text;
    return (uint16_t)(KINO__CATEGORY_COUNT + count);
}

static uint16_t new_category(work *w, uint16_t old)
{
    size_t own = (size_t)old - KINO__CATEGORY_COUNT;
    if (old < KINO__CATEGORY_COUNT || own >= w->source->trace->own_categories.count)
        return old;
    if (w->categories[own] == KINO__CATEGORY_NONE) {
        kino_strid text =
            add_string(w, KINO__DERIVE_CATEGORY, 0, w->source->trace->own_categories.items[own]);
        w->categories[own] = find_category(w, text);
    }
    return w->categories[own];
}

/* -- odd list */

static void add_odd(work *w, kino__odd_kind kind, uint64_t a, uint64_t b)
{
    kino__odd *odd = kino__vec_add(&w->trace->odd);
    w->failed |= !odd;
    if (odd)
        *odd = (kino__odd){(uint32_t)w->number, kind, a, b};
}

static void copy_odd_text(work *w, uint32_t row, kino__odd_kind kind)
{
    const kino__trace *source = w->source->trace;
    const kino__odd *odd = kino__trace_odd(source, source->number[row], kind);
    if (!odd)
        return;
    kino__derived_odd *entry = kino__vec_add(&w->text->odd);
    w->failed |= !entry;
    if (!entry)
        return;
    *entry = (kino__derived_odd){odd->a, odd->b, w->index, row, kind == KINO__ODD_END};
    add_odd(w, kind, w->text->odd.count - 1, odd->b);
}

/* An id with its offset, in 32 bits or beside. */
static uint32_t new_id(work *w, int64_t id, int64_t offset, kino__odd_kind wide, uint8_t *flags)
{
    if (id == KINO_NO_INT)
        return KINO__BIND_NONE;
    if (id > 0 && id <= KINO__DERIVE_MOST_ID)
        id += offset;
    if (id >= 0 && id < KINO__BIND_WIDE)
        return (uint32_t)id;
    add_odd(w, wide, (uint64_t)id, 0);
    *flags |= KINO__FLAG_ODD;
    return KINO__BIND_WIDE;
}

/* -- rows */

static uint32_t new_bind(work *w, uint32_t row, uint8_t *flags)
{
    const kino__trace *source = w->source->trace;
    bool has_id = kino__phase_has_id(source->phase[row]);
    if (has_id && source->flags[row] & KINO__FLAG_ID_TEXT)
        return add_string(w, KINO__DERIVE_ID, 0, source->bind[row]);
    int64_t id = has_id ? kino__trace_bind_id(source, row) : kino__trace_correlation(source, row);
    return new_id(w, id, w->source->bind_offset, KINO__ODD_WIDE_BIND, flags);
}

static void fill_row(work *w, uint32_t row, uint32_t to)
{
    const kino__trace *source = w->source->trace;
    kino__trace *trace = w->trace;
    uint8_t flags = source->flags[row];
    if (flags & KINO__FLAG_ODD) {
        copy_odd_text(w, row, KINO__ODD_TEXT);
        copy_odd_text(w, row, KINO__ODD_END);
    }
    trace->ts[to] = source->ts[row];
    trace->dur[to] = source->dur[row];
    trace->phase[to] = source->phase[row];
    trace->number[to] = (uint32_t)w->number;
    trace->name[to] = new_name(w, row);
    trace->category[to] = new_category(w, source->category[row]);
    trace->bind[to] = new_bind(w, row, &flags);
    trace->external[to] = new_id(w, kino__trace_external(source, row), w->source->external_offset,
                                 KINO__ODD_WIDE_EXTERNAL, &flags);
    bool has_args = kino__trace_place(source, row) ||
                    (w->rules.adds_args && w->rules.adds_args(w->rules.context, w->index, row));
    trace->place[to] = has_args ? kino__derived_place(w->index, row) : 0;
    trace->flags[to] = flags;
    bool is_pair = flags & KINO__FLAG_PAIR;
    trace->pair_count += is_pair;
    w->number += 1 + is_pair;
}

static void add_made_odd(work *w, uint32_t event)
{
    uint32_t source = (uint32_t)w->derive->count;
    kino__derived_odd *entry = kino__vec_add(&w->text->odd);
    w->failed |= !entry;
    if (!entry)
        return;
    *entry = (kino__derived_odd){0, w->derive->made[event].text.size, source, event, false};
    add_odd(w, KINO__ODD_TEXT, w->text->odd.count - 1, entry->size);
}

/* An event that no source has. */
static void fill_made(work *w, uint32_t event)
{
    const kino__derive_event *made = &w->derive->made[event];
    kino__trace *trace = w->trace;
    uint32_t to = w->plan.target[event];
    uint8_t flags = made->flags;
    if (made->text.size) {
        flags |= KINO__FLAG_ODD;
        add_made_odd(w, event);
    }
    uint16_t known =
        made->category.size ? kino__category_find(made->category) : KINO__CATEGORY_NONE;
    bool is_own = made->category.size && known == KINO__CATEGORY_NONE;
    trace->ts[to] = made->ts;
    trace->dur[to] = KINO_NO_TIME;
    trace->phase[to] = made->phase;
    trace->number[to] = (uint32_t)w->number;
    trace->name[to] = borrow_string(w, made->name);
    trace->category[to] = is_own ? find_category(w, borrow_string(w, made->category)) : known;
    trace->bind[to] = new_id(w, made->id, 0, KINO__ODD_WIDE_BIND, &flags);
    trace->external[to] = KINO__BIND_NONE;
    trace->place[to] = made->args.size ? kino__derived_place((uint32_t)w->derive->count, event) : 0;
    trace->flags[to] = flags;
    w->number++;
}

static bool is_kept(const work *w, uint32_t row)
{
    return !w->source->is_kept || w->source->is_kept[row];
}

/* -- tracks */

static void change_label(work *w, kino__label *label, kino__derive_use use)
{
    bool is_pid = use == KINO__DERIVE_PID;
    if (is_pid && label->kind != KINO__LABEL_TEXT && w->rules.pid)
        w->rules.pid(w->rules.context, w->index, label);
    if (label->kind == KINO__LABEL_TEXT)
        label->text = add_string(w, use, 0, label->text);
    else if (label->kind == KINO__LABEL_RAW)
        label->text = add_string(w, KINO__DERIVE_RAW_LABEL, 0, label->text);
}

static uint32_t kind_bit(uint16_t category)
{
    return category < KINO__CATEGORY_COUNT ? KINO__KIND_BIT(kino__category_kind(category)) : 0;
}

/* Gives the events made for a slot their places, those before a time; INT64_MAX: all that are
 * left. */
static void place_made(work *w, size_t slot, int64_t before, uint32_t *at, uint32_t *next,
                       uint32_t *kinds)
{
    for (uint32_t end = w->plan.first[slot + 1]; *at < end; (*at)++) {
        uint32_t event = w->plan.order[*at];
        const kino__derive_event *made = &w->derive->made[event];
        if (made->ts >= before && before != INT64_MAX)
            return;
        w->plan.target[event] = (*next)++;
        if (made->category.size)
            *kinds |= kind_bit(kino__category_find(made->category));
    }
}

/* Gives the kept rows of a track their places, and the events made for it theirs; a track that has
 * none is left out. slot: of the plan; KINO_NO_ROW: nothing is made for it. */
static void place_track(work *w, const kino__track *old, uint32_t slot, uint32_t *next)
{
    uint32_t first = *next, kinds = 0, at = slot == KINO_NO_ROW ? 0 : w->plan.first[slot];
    for (uint32_t row = old->first; row - old->first < old->count; row++) {
        if (slot != KINO_NO_ROW)
            place_made(w, slot, w->source->trace->ts[row], &at, next, &kinds);
        w->target[row] = KINO_NO_ROW;
        if (!is_kept(w, row))
            continue;
        w->target[row] = (*next)++;
        kinds |= kind_bit(w->source->trace->category[row]);
    }
    if (slot != KINO_NO_ROW)
        place_made(w, slot, INT64_MAX, &at, next, &kinds);
    if (*next == first)
        return;
    kino__track *track = kino__vec_add(&w->trace->tracks);
    w->failed |= !track;
    if (!track)
        return;
    *track = *old; /* its kind too: a stream is one also when its kernels are gone */
    track->first = first;
    track->count = *next - first;
    track->kinds = kinds;
    change_label(w, &track->pid, KINO__DERIVE_PID);
    change_label(w, &track->tid, KINO__DERIVE_TID);
    track->name = add_string(w, KINO__DERIVE_THREAD_NAME, 0, old->name);
    track->process_name = add_string(w, KINO__DERIVE_PROCESS_NAME, 0, old->process_name);
    track->process_labels = add_string(w, KINO__DERIVE_PROCESS_LABELS, 0, old->process_labels);
}

/* Tracks that only events made stand on. */
static void place_new_tracks(work *w, uint32_t *next)
{
    const kino__trace *source = w->source->trace;
    for (size_t slot = source->tracks.count; !w->failed && slot < w->plan.slot_count; slot++) {
        kino__track track = source->tracks.items[w->plan.models[slot - source->tracks.count]];
        track.count = 0;
        track.tid = (kino__label){.kind = KINO__LABEL_NONE};
        track.kind = KINO__TRACK_OTHER;
        track.device = track.stream = track.sort_index = KINO_NO_INT;
        track.name = KINO_NO_STRING;
        place_track(w, &track, (uint32_t)slot, next);
    }
}

static void free_source(work *w)
{
    free(w->target);
    free(w->categories);
    w->target = NULL;
    w->categories = NULL;
    for (unsigned c = 0; c < KINO__DERIVE_CLASSES; c++) {
        free(w->names[c]);
        w->names[c] = NULL;
    }
}

static void take_source(work *w, uint32_t index, uint32_t *next)
{
    w->source = &w->derive->sources[index];
    w->index = index;
    const kino__trace *source = w->source->trace;
    size_t own = source->own_categories.count;
    uint32_t *order = kino__trace_file_order_new(source);
    w->target = malloc(((size_t)source->event_count + 1) * sizeof *w->target);
    w->categories = malloc((own + 1) * sizeof *w->categories);
    w->failed |= !order || !w->target || !w->categories;
    for (size_t i = 0; !w->failed && i < own; i++)
        w->categories[i] = KINO__CATEGORY_NONE;
    bool has_made = index == 0 && w->derive->made_count;
    for (uint32_t t = 0; !w->failed && t < source->tracks.count; t++)
        place_track(w, &source->tracks.items[t], has_made ? t : KINO_NO_ROW, next);
    if (has_made)
        place_new_tracks(w, next);
    for (uint32_t i = 0; !w->failed && i < source->event_count; i++) {
        uint32_t row = order[i];
        if (w->target[row] != KINO_NO_ROW)
            fill_row(w, row, w->target[row]);
        if (i % REPORT_ROWS == REPORT_ROWS - 1 &&
            !kino__progress_add(w->derive->progress, REPORT_ROWS))
            break;
    }
    (void)kino__progress_add(w->derive->progress, source->event_count % REPORT_ROWS);
    kino__ledger_merge(&w->trace->ledger, &source->ledger);
    free(order);
    free_source(w);
}

/* -- the whole */

static kino_str copy(work *w, kino_str text)
{
    if (text.size == 0)
        return (kino_str){"", 0};
    kino_str made = kino__arena_copy(&w->trace->arena, text);
    w->failed |= !made.data;
    return made.data ? made : (kino_str){"", 0};
}

static void take_facts(work *w)
{
    const kino__trace *from = w->derive->sources[0].trace;
    kino__trace *to = w->trace;
    to->path = copy(w, from->path);
    to->format = copy(w, from->format);
    to->compression = copy(w, from->compression);
    to->worker = copy(w, from->worker);
    to->span = copy(w, from->span);
    to->host = copy(w, from->host);
    to->rank = from->rank;
    to->world_size = from->world_size;
    to->role = from->role;
    to->begins_with_step = from->begins_with_step;
    to->base_ns = from->base_ns;
    to->origin_ns = from->origin_ns;
    to->shift_ns = from->shift_ns;
    to->is_epoch = from->is_epoch;
    to->is_array = from->is_array;
    for (size_t i = 0; i < w->derive->count; i++) {
        to->text_bytes += w->derive->sources[i].trace->text_bytes;
        to->file_bytes += w->derive->sources[i].trace->file_bytes;
    }
}

/* How many events there will be; fails when ids could not name them. */
static kino_status count_rows(const kino__derive *derive, uint32_t *out, kino_error *err)
{
    uint64_t count = derive->made_count, pairs = 0;
    for (size_t i = 0; i < derive->count; i++) {
        const kino__derive_source *source = &derive->sources[i];
        pairs += source->trace->pair_count;
        if (!source->is_kept)
            count += source->trace->event_count;
        for (uint32_t row = 0; source->is_kept && row < source->trace->event_count; row++)
            count += source->is_kept[row] != 0;
    }
    if (count + pairs >= KINO_NO_ROW)
        return kino__fail(err, KINO_LIMIT, "more than 4294967294 events in one trace");
    *out = (uint32_t)count;
    return KINO_OK;
}

static kino_status build(work *w, kino_error *err)
{
    uint32_t next = 0;
    KINO_TRY(count_rows(w->derive, &w->trace->event_count, err));
    KINO_TRY(kino__columns_new(w->trace, w->trace->event_count, err));
    w->text = kino__derived_text_new(w->derive);
    if (!w->text)
        return kino__fail_nomem(err);
    w->trace->text = &w->text->text;
    if (w->derive->made_count && !kino__made_plan_init(&w->plan, w->derive))
        return kino__fail_nomem(err);
    take_facts(w);
    for (size_t i = 0; i < w->derive->count && !w->failed; i++) {
        take_source(w, (uint32_t)i, &next);
        if (kino__progress_is_cancelled(w->derive->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    for (uint32_t i = 0; i < w->derive->made_count && !w->failed; i++)
        fill_made(w, i);
    w->trace->number_count = (uint32_t)w->number;
    return w->failed ? kino__fail_nomem(err) : KINO_OK;
}

kino_status kino__trace_derive(const kino__derive *derive, kino__trace **out, kino_error *err)
{
    *out = NULL;
    if (derive->count == 0 || derive->count > KINO__DERIVE_SOURCES)
        return kino__fail(err, KINO_LIMIT, "cannot combine %zu traces into one", derive->count);
    work w = {.derive = derive};
    if (derive->rules)
        w.rules = *derive->rules;
    KINO_TRY(kino__trace_new(&w.trace, err));
    kino_status st = build(&w, err);
    kino__made_plan_deinit(&w.plan);
    kino__buffer_deinit(&w.changed);
    if (st != KINO_OK) {
        kino__trace_free(w.trace);
        return st;
    }
    *out = w.trace;
    return KINO_OK;
}

bool kino__trace_add_metadata(kino__trace *trace, kino_str key, kino_str value)
{
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    if (!slot)
        return false;
    slot->key = kino__arena_copy(&trace->arena, key);
    slot->value = kino__arena_copy(&trace->arena, value);
    if (slot->key.data && slot->value.data)
        return true;
    trace->metadata.count--;
    return false;
}

/* -- aliases */

kino__trace *kino__trace_alias_new(const kino__trace *trace, uint32_t index)
{
    kino__trace *alias = malloc(sizeof *alias);
    if (!alias)
        return NULL;
    memcpy(alias, trace, sizeof *alias);
    alias->index = index;
    alias->links = NULL;
    alias->arg_columns = NULL;
    alias->source = NULL; /* all columns are there */
    kino__mutex_init(&alias->source_lock, KINO__LOCK_SOURCE);
    kino__mutex_init(&alias->work_lock, KINO__LOCK_WORK);
    return alias;
}

void kino__trace_alias_free(kino__trace *alias)
{
    if (!alias)
        return;
    kino__links_free(alias->links);
    kino__arg_columns_free(alias->arg_columns);
    kino__mutex_destroy(&alias->source_lock);
    kino__mutex_destroy(&alias->work_lock);
    free(alias);
}
