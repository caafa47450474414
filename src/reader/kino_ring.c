/* kino_ring.c - a recording of libkino becomes a trace: every record a row, its arguments made as
 * text when somebody asks for them. One pass, one part; the place of a row's arguments is the
 * record's. */
#include "reader/kino_ring.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/utf8.h"
#include "reader/chrome_internal.h"
#include "store/builder.h"
#include "store/describe.h"
#include "wire/ring.h"

enum { TAIL = 64, ROWS_MOST = (1u << 31) - 1, OWN_CATEGORIES_MOST = 4096 };

/* -- the text: arguments from records */

typedef struct ring_text {
    kino__text text;
    kino__kino_file *file;
    kino__ring_image image;
} ring_text;

static void *cursor_new(const kino__text *text)
{
    (void)text;
    return calloc(1, sizeof(kino__buffer));
}

static void cursor_free(const kino__text *text, void *cursor)
{
    (void)text;
    if (cursor)
        kino__buffer_deinit(cursor);
    free(cursor);
}

static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const ring_text *self = (const ring_text *)text;
    kino__buffer *out = cursor;
    if (!out || !place)
        return (kino_str){"", 0};
    out->size = 0;
    kino__ring_add_args(&self->image, place, out);
    char *tail = kino__buffer_reserve(out, TAIL);
    if (!tail || out->failed) {
        out->failed = false;
        return (kino_str){"", 0};
    }
    memset(tail, 0, TAIL);
    return kino__buffer_str(out);
}

static void free_text(kino__text *text)
{
    ring_text *self = (ring_text *)text;
    kino__ring_image_deinit(&self->image);
    self->file->text.free(&self->file->text);
    free(self);
}

/* The file becomes part of the text; the trace's columns are all made at once. */
static ring_text *attach(kino__kino_file *f, kino__trace *trace)
{
    ring_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){
        .cursor_new = cursor_new, .cursor_free = cursor_free, .free = free_text, .args = make_args};
    self->file = f;
    trace->text = &self->text;
    trace->source = NULL;
    return self;
}

/* -- rows */

typedef struct rows {
    const kino__ring_image *image;
    kino__part *part;
    kino__progress *progress;
    KINO__VEC(uint32_t) names;      /* text -> string of the part */
    KINO__VEC(uint32_t) categories; /* text -> category + 1 */
    kino__map numbered;             /* text and number -> string */
    kino__map own;                  /* hash of a text of ours -> string */
    kino__map tracks;               /* pid and tid -> track */
    uint64_t count;
    bool is_cancelled;
} rows;

/* UTF-8 whatever it was; in the arena when something had to be changed. */
static kino_str clean_text(kino__part *part, kino_str text)
{
    const char *at = text.data, *end = text.data + text.size;
    uint32_t code_point;
    size_t size = 1;
    while (at < end && (size = kino__utf8_sequence(at, end, &code_point)) > 0)
        at += size;
    if (at >= end)
        return text;
    kino__buffer out = {0};
    for (at = text.data; at < end; at += size ? size : 1) {
        size = kino__utf8_sequence(at, end, &code_point);
        kino__buffer_add(&out, size ? (kino_str){at, size} : KINO__STR(KINO__UTF8_REPLACEMENT));
    }
    kino_str copy =
        out.failed ? (kino_str){NULL, 0} : kino__arena_copy(&part->arena, kino__buffer_str(&out));
    kino__buffer_deinit(&out);
    part->failed |= !copy.data;
    return copy.data ? copy : (kino_str){"", 0};
}

/* The text lies in the arena, in the file or is a constant: the pool copies it. */
static uint32_t add_string(rows *r, kino_str text)
{
    kino__part *part = r->part;
    text = clean_text(part, text);
    kino__part_string *s = kino__vec_add(&part->strings);
    part->failed |= !s;
    if (!s)
        return KINO_NO_STRING;
    *s = (kino__part_string){.text = text.data,
                             .size = (uint32_t)text.size,
                             .hash = kino__hash_bytes(text.data, text.size),
                             .position = part->strings.count - 1};
    return (uint32_t)part->strings.count - 1;
}

/* A text of ours, found again by its address. */
static uint32_t own_string(rows *r, kino_str text)
{
    uint32_t *slot =
        kino__map_put(&r->own, (uint64_t)(uintptr_t)text.data ^ text.size << 48, KINO_NO_STRING);
    if (slot && *slot == KINO_NO_STRING)
        *slot = add_string(r, text);
    r->part->failed |= !slot;
    return slot ? *slot : KINO_NO_STRING;
}

static uint32_t numbered_string(rows *r, const kino__ring_event *event)
{
    uint64_t key = kino__hash_u64(event->number) ^ ((uint64_t)event->text << 32);
    uint32_t *slot = kino__map_put(&r->numbered, key, KINO_NO_STRING);
    if (slot && *slot == KINO_NO_STRING) {
        kino_str name = kino__ring_name_at(r->image, event->text)->name;
        kino_str text = kino__arena_format(&r->part->arena, "%.*s%llu", KINO__STR_ARG(name),
                                           (unsigned long long)event->number);
        *slot = add_string(r, text.data ? text : KINO__STR(""));
    }
    r->part->failed |= !slot;
    return slot ? *slot : KINO_NO_STRING;
}

static uint32_t name_of(rows *r, const kino__ring_event *event)
{
    if (!event->text)
        return own_string(r, event->name);
    if (event->is_numbered)
        return numbered_string(r, event);
    uint32_t id = event->text < r->names.count ? event->text : 0;
    if (r->names.items[id] == KINO_NO_STRING)
        r->names.items[id] = add_string(r, kino__ring_name_at(r->image, id)->name);
    return r->names.items[id];
}

static uint16_t own_category(rows *r, kino_str text)
{
    kino__part *part = r->part;
    for (size_t i = 0; i < part->own_categories.count; i++) {
        const kino__part_string *s = &part->strings.items[part->own_categories.items[i]];
        if (kino__str_equal((kino_str){s->text, s->size}, text))
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    }
    if (part->own_categories.count >= OWN_CATEGORIES_MOST)
        return KINO__CATEGORY_NONE;
    uint32_t id = add_string(r, text);
    kino_strid *slot = kino__vec_add(&part->own_categories);
    part->failed |= !slot;
    if (!slot)
        return KINO__CATEGORY_NONE;
    *slot = id;
    return (uint16_t)(KINO__CATEGORY_COUNT + part->own_categories.count - 1);
}

static uint16_t category_of(rows *r, const kino__ring_event *event)
{
    uint32_t id = event->text < r->categories.count ? event->text : 0;
    uint32_t *known = event->text ? &r->categories.items[id] : NULL;
    if (known && *known)
        return (uint16_t)(*known - 1);
    kino_str text = event->text ? kino__ring_name_at(r->image, id)->category : event->category;
    uint16_t category = text.size ? kino__category_find(text) : KINO__CATEGORY_NONE;
    if (text.size && category == KINO__CATEGORY_NONE)
        category = own_category(r, clean_text(r->part, text));
    if (known)
        *known = category + 1u;
    return category;
}

static kino__label label_of(rows *r, kino_str text, int64_t number)
{
    if (!text.data)
        return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
    return (kino__label){KINO__LABEL_TEXT, own_string(r, text), 0};
}

static uint32_t track_of(rows *r, const kino__ring_event *event)
{
    kino__part *part = r->part;
    kino__label pid = label_of(r, event->pid_text, event->pid);
    kino__label tid = label_of(r, event->tid_text, event->tid);
    for (uint64_t key = kino__label_hash(&pid) * 31 + kino__label_hash(&tid);; key++) {
        uint32_t *slot = kino__map_put(&r->tracks, key, UINT32_MAX);
        part->failed |= !slot;
        if (!slot)
            return 0;
        if (*slot == UINT32_MAX) {
            kino__part_track *track = kino__vec_add(&part->tracks);
            kino__track_count *count = kino__vec_add(&part->counts);
            part->failed |= !track || !count;
            if (!track || !count)
                return 0;
            *track = (kino__part_track){.pid = pid, .tid = tid, .position = r->count};
            *slot = (uint32_t)part->tracks.count - 1;
            *count = (kino__track_count){*slot, 0};
        }
        const kino__part_track *found = &part->tracks.items[*slot];
        if (kino__label_equal(&found->pid, &pid) && kino__label_equal(&found->tid, &tid))
            return *slot;
    }
}

/* Ids of 64 bits that do not fit the column. */
static uint32_t narrow(rows *r, uint64_t id, kino__odd_kind kind, uint8_t *flags)
{
    if (id < KINO__BIND_WIDE)
        return (uint32_t)id;
    kino__odd *odd = kino__vec_add(&r->part->odd);
    r->part->failed |= !odd;
    if (odd)
        *odd = (kino__odd){(uint32_t)r->count, kind, id, 0};
    *flags |= KINO__FLAG_ODD;
    return KINO__BIND_WIDE;
}

static void bind_ids(rows *r, const kino__ring_event *event, kino__record *record)
{
    uint64_t correlation, external;
    if (kino__phase_has_id((uint8_t)event->phase)) {
        record->bind = narrow(r, event->id, KINO__ODD_WIDE_BIND, &record->flags);
        if (event->phase == 'f')
            record->flags |= KINO__FLAG_BP;
        return;
    }
    kino__ring_ids(r->image, event->place, &correlation, &external);
    if (correlation)
        record->bind = narrow(r, correlation, KINO__ODD_WIDE_BIND, &record->flags);
    if (external)
        record->external = narrow(r, external, KINO__ODD_WIDE_EXTERNAL, &record->flags);
}

static bool add_row(void *context, const kino__ring_event *event)
{
    rows *r = context;
    kino__part *part = r->part;
    if (r->count >= ROWS_MOST)
        return false;
    if (part->records.count == part->records.capacity && !kino__part_grow(part))
        return false;
    kino__record record = {.ts = event->ts_ns,
                           .dur = event->dur_ns,
                           .place = event->place,
                           .name = name_of(r, event),
                           .bind = KINO__BIND_NONE,
                           .external = KINO__BIND_NONE};
    record.track = track_of(r, event);
    record.category = category_of(r, event);
    record.phase = (uint8_t)event->phase;
    if (event->phase == 'i')
        record.flags = (uint8_t)((event->scope == 'g' ? 3 : 1) << KINO__FLAG_SCOPE_SHIFT);
    bind_ids(r, event, &record);
    if (part->failed)
        return false;
    kino__records_add(&part->records, &record);
    part->counts.items[record.track].count++;
    if (event->phase != 'M' && record.ts < part->min_ts)
        part->min_ts = record.ts;
    r->count++;
    if (r->count % 65536 == 0 && !kino__progress_add(r->progress, (uint64_t)65536 * 32)) {
        r->is_cancelled = true;
        return false;
    }
    return true;
}

static bool init_rows(rows *r)
{
    size_t count = r->image->names.count;
    kino__map_init(&r->numbered, NULL);
    kino__map_init(&r->own, NULL);
    kino__map_init(&r->tracks, NULL);
    if (!kino__vec_reserve(&r->names, count) || !kino__vec_reserve(&r->categories, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        r->names.items[i] = KINO_NO_STRING;
        r->categories.items[i] = 0;
    }
    r->names.count = r->categories.count = count;
    return true;
}

static void free_rows(rows *r)
{
    kino__vec_deinit(&r->names);
    kino__vec_deinit(&r->categories);
    kino__map_deinit(&r->numbered);
    kino__map_deinit(&r->own);
    kino__map_deinit(&r->tracks);
}

static kino_status build(kino__trace *trace, const kino__ring_image *image,
                         const kino__load_context *context, kino_error *err)
{
    kino__part part;
    kino__part_init(&part);
    rows r = {.image = image, .part = &part, .progress = context->progress};
    uint64_t records = 64;
    for (size_t i = 0; i < image->pieces.count; i++)
        records += image->pieces.items[i].count;
    bool is_done = init_rows(&r) && kino__part_reserve(&part, records) &&
                   kino__ring_each(image, add_row, &r) && !part.failed;
    kino__record_run *run = kino__vec_add(&part.runs);
    kino_status st = KINO_OK;
    if (r.is_cancelled)
        st = kino__fail(err, KINO_CANCELLED, "interrupted");
    else if (r.count >= ROWS_MOST)
        st = kino__fail(err, KINO_LIMIT, "more than %d events", ROWS_MOST);
    else if (!is_done || !run)
        st = kino__fail_nomem(err);
    if (st == KINO_OK && run) {
        *run = (kino__record_run){.count = part.records.count};
        kino__piece piece = {.run_count = 1,
                             .odd_count = (uint32_t)part.odd.count,
                             .count_count = (uint32_t)part.counts.count,
                             .number_count = (uint32_t)r.count,
                             .ledger = trace->ledger};
        kino__build join = {.parts = &part,
                            .part_count = 1,
                            .pieces = &piece,
                            .piece_count = 1,
                            .pool = context->pool};
        st = kino__trace_build(trace, &join, err);
    }
    free_rows(&r);
    kino__part_deinit(&part);
    return st;
}

/* -- the file */

/* A file with metadata has its events in columns; rings beside them would be news from a later
 * version, and are skipped like everything unknown. */
bool kino__kino_has_rings(const kino__kino_file *f)
{
    bool has_rings = false;
    for (size_t i = 0; i < f->chunks.count; i++) {
        if (f->chunks.items[i].kind == KINO__CHUNK_METADATA)
            return false;
        has_rings |= f->chunks.items[i].kind == KINO__CHUNK_RING;
    }
    return has_rings;
}

/* All ring chunks of a tag; they are never compressed. */
static void add_chunks(const kino__kino_file *f, kino__ring_image *image, uint16_t tag,
                       void (*add)(kino__ring_image *image, kino_str bytes))
{
    for (size_t i = 0; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_RING && c->tag == tag && c->codec == KINO__CHUNK_RAW)
            add(image, kino__chunk_payload(kino__kino_bytes(f), c));
    }
}

static kino_status add_meta(const kino__kino_file *f, kino__ring_image *image, kino_error *err)
{
    for (size_t i = 0; i < f->chunks.count; i++) {
        const kino__chunk *c = &f->chunks.items[i];
        if (c->kind == KINO__CHUNK_RING && c->tag == KINO__RING_TAG_META)
            return kino__ring_add_meta(image, kino__chunk_payload(kino__kino_bytes(f), c), err);
    }
    return kino__fail(err, KINO_FORMAT, "the header of the recording is damaged or missing");
}

typedef struct keys {
    kino__trace *trace;
    bool failed;
} keys;

static void add_key(void *context, kino_str key, kino_str json)
{
    keys *k = context;
    kino__metadata *slot = kino__vec_add(&k->trace->metadata);
    kino_str key_copy = kino__arena_copy(&k->trace->arena, key);
    kino_str json_copy = kino__arena_copy(&k->trace->arena, json);
    k->failed |= !slot || !key_copy.data || !json_copy.data;
    if (slot)
        *slot = (kino__metadata){key_copy, json_copy};
}

kino_status kino__kino_load_rings(kino__kino_file *f, kino__trace *trace,
                                  const kino__load_context *context, kino_error *err)
{
    ring_text *text = attach(f, trace);
    if (!text)
        return kino__fail_nomem(err);
    kino__ring_image *image = &text->image;
    KINO_TRY(add_meta(f, image, err));
    add_chunks(f, image, KINO__RING_TAG_TEXTS, kino__ring_add_texts);
    add_chunks(f, image, KINO__RING_TAG_SEGMENT, kino__ring_add_segment);
    KINO_TRY(kino__ring_finish(image, err));
    kino__progress_stage(context->progress, "reading", f->file.size);
    KINO_TRY(build(trace, image, context, err));
    if (image->damaged)
        kino__ledger_add_many(&trace->ledger, KINO__DAMAGE_LOST_EVENTS, image->damaged, 0);
    keys k = {.trace = trace};
    kino__ring_each_key(image, add_key, &k);
    if (k.failed)
        return kino__fail_nomem(err);
    trace->text_bytes = f->file.size;
    return kino__trace_describe(trace, err);
}
