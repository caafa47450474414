/* ring_source.c - a recording of libkino becomes a trace: every record a row, its arguments made as
 * text when somebody asks for them. One pass; the place of a row's arguments is the record's. */
#include "reader/ring_source.h"

#include <stdlib.h>

#include "base/error.h"
#include "store/derive.h"
#include "store/describe.h"
#include "store/event_builder.h"
#include "store/text_sources.h"

enum { REPORT_ROWS = 1 << 16 };

/* -- the text: arguments from records */

static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const kino__ring_source *self = (const kino__ring_source *)text;
    kino__buffer *out = cursor;
    if (!out || !place)
        return (kino_str){"", 0};
    out->size = 0;
    kino__ring_add_args(&self->image, place, out);
    return kino__made_cursor_end(out);
}

static void free_text(kino__text *text)
{
    kino__ring_source *self = (kino__ring_source *)text;
    kino__ring_image_deinit(&self->image);
    self->free_bytes(self->bytes);
    free(self);
}

/* The trace's columns are all made at once. */
kino__ring_source *kino__ring_source_attach(kino__trace *trace, void *bytes,
                                            void (*free_bytes)(void *bytes))
{
    kino__ring_source *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){.cursor_new = kino__made_cursor_new,
                              .cursor_free = kino__made_cursor_free,
                              .free = free_text,
                              .args = make_args};
    self->bytes = bytes;
    self->free_bytes = free_bytes;
    trace->text = &self->text;
    trace->source = NULL;
    return self;
}

/* -- rows */

/* Where a text of the recording is in the builder. */
typedef struct name_use {
    kino_strid name; /* KINO_NO_STRING: not seen yet */
    uint16_t category;
} name_use;

typedef struct rows {
    const kino__ring_image *image;
    kino__event_builder events;
    kino__progress *progress;
    KINO__VEC(name_use) names; /* by the image's number */
    kino__map numbered;        /* name and number -> text */
    kino__buffer text;
    bool is_cancelled;
} rows;

static kino_strid numbered_name(rows *r, const kino__ring_event *event)
{
    uint64_t key = kino__hash_u64(event->number) ^ ((uint64_t)event->text << 32);
    uint32_t *slot = kino__map_put(&r->numbered, key, KINO_NO_STRING);
    if (slot && *slot == KINO_NO_STRING) {
        kino_str name = kino__ring_name_at(r->image, event->text)->name;
        r->text.size = 0;
        kino__buffer_printf(&r->text, "%.*s%llu", KINO__STR_ARG(name),
                            (unsigned long long)event->number);
        *slot = kino__event_builder_text(&r->events, kino__buffer_str(&r->text));
    }
    r->events.part.failed |= !slot || r->text.failed;
    return slot ? *slot : KINO_NO_STRING;
}

static name_use use_texts(rows *r, kino_str name, kino_str category)
{
    kino__event_builder *b = &r->events;
    name_use use = {.name = kino__event_builder_text(b, name)};
    kino_strid text = category.size ? kino__event_builder_text(b, category) : KINO_NO_STRING;
    use.category = kino__event_builder_category(b, text);
    return use;
}

static name_use name_of(rows *r, const kino__ring_event *event)
{
    if (!event->text)
        return use_texts(r, event->name, event->category);
    name_use *known = &r->names.items[event->text < r->names.count ? event->text : 0];
    if (known->name == KINO_NO_STRING) {
        const kino__ring_name *about = kino__ring_name_at(r->image, event->text);
        *known = use_texts(r, about->name, about->category);
    }
    name_use use = *known;
    if (event->is_numbered)
        use.name = numbered_name(r, event);
    return use;
}

static kino__label label_of(rows *r, kino_str text, int64_t number)
{
    if (!text.data)
        return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
    return (kino__label){KINO__LABEL_TEXT, kino__event_builder_text(&r->events, text), 0};
}

static int64_t id_or_none(uint64_t id)
{
    return id ? (int64_t)id : KINO_NO_INT;
}

static void set_ids(const rows *r, const kino__ring_event *event, kino__built_event *row)
{
    uint64_t correlation, external;
    if (kino__phase_has_id((uint8_t)event->phase)) {
        row->bind = (int64_t)event->id;
        row->flags = event->phase == 'f' ? KINO__FLAG_BP : 0;
        return;
    }
    kino__ring_ids(r->image, event->place, &correlation, &external);
    row->bind = id_or_none(correlation);
    row->external = id_or_none(external);
    if (event->phase == 'i')
        row->flags = (uint8_t)((event->scope == 'g' ? 3 : 1) << KINO__FLAG_SCOPE_SHIFT);
}

static bool add_row(void *context, const kino__ring_event *event)
{
    rows *r = context;
    name_use use = name_of(r, event);
    kino__built_event row = {.ts = event->ts_ns,
                             .dur = event->dur_ns,
                             .place = event->place,
                             .bind = KINO_NO_INT,
                             .external = KINO_NO_INT,
                             .name = use.name,
                             .category = use.category,
                             .phase = (uint8_t)event->phase};
    row.track = kino__event_builder_track(&r->events, label_of(r, event->pid_text, event->pid),
                                          label_of(r, event->tid_text, event->tid));
    set_ids(r, event, &row);
    if (!kino__event_builder_add(&r->events, &row))
        return false;
    if (kino__event_builder_count(&r->events) % REPORT_ROWS == 0)
        r->is_cancelled =
            !kino__progress_add(r->progress, (uint64_t)REPORT_ROWS * KINO__RING_RECORD_SIZE);
    return !r->is_cancelled;
}

static bool init_rows(rows *r)
{
    size_t count = r->image->names.count;
    uint64_t records = 64;
    kino__event_builder_init(&r->events, NULL);
    kino__map_init(&r->numbered, NULL);
    for (size_t i = 0; i < r->image->pieces.count; i++)
        records += r->image->pieces.items[i].count;
    if (!kino__part_reserve(&r->events.part, records) || !kino__vec_reserve(&r->names, count))
        return false;
    for (size_t i = 0; i < count; i++)
        r->names.items[i] = (name_use){.name = KINO_NO_STRING};
    r->names.count = count;
    return true;
}

static void free_rows(rows *r)
{
    kino__event_builder_deinit(&r->events);
    kino__vec_deinit(&r->names);
    kino__map_deinit(&r->numbered);
    kino__buffer_deinit(&r->text);
}

static kino_status build(kino__trace *trace, const kino__ring_image *image,
                         const kino__load_context *context, kino_error *err)
{
    rows r = {.image = image, .progress = context->progress};
    bool is_done = init_rows(&r) && kino__ring_each(image, add_row, &r);
    kino_status st = KINO_OK;
    if (r.is_cancelled)
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    else if (kino__event_builder_count(&r.events) >= KINO__EVENTS_MOST)
        st = kino__fail(err, KINO_LIMIT, "more than %d events", KINO__EVENTS_MOST);
    else if (!is_done)
        st = kino__fail_nomem(err);
    if (st == KINO_OK)
        st = kino__event_builder_build(&r.events, trace, context->pool, err);
    free_rows(&r);
    return st;
}

/* -- the trace */

typedef struct keys {
    kino__trace *trace;
    bool failed;
} keys;

static void add_key(void *context, kino_str key, kino_str json)
{
    keys *k = context;
    k->failed |= !kino__trace_add_metadata(k->trace, key, json);
}

kino_status kino__ring_source_load(kino__ring_source *source, kino__trace *trace, uint64_t size,
                                   const kino__load_context *context, kino_error *err)
{
    kino__ring_image *image = &source->image;
    KINO_TRY(kino__ring_finish(image, err));
    kino__progress_stage(context->progress, "reading", size);
    KINO_TRY(build(trace, image, context, err));
    if (image->damaged)
        kino__ledger_add_many(&trace->ledger, KINO__DAMAGE_LOST_EVENTS, image->damaged, 0);
    keys k = {.trace = trace};
    kino__ring_each_key(image, add_key, &k);
    if (k.failed)
        return kino__fail_nomem(err);
    trace->text_bytes = size;
    return kino__trace_describe(trace, err);
}
