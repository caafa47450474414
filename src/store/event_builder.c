/* event_builder.c - texts, tracks and records of one part, and its trace. */
#include "store/event_builder.h"

#include "base/error.h"
#include "base/utf8.h"

void kino__event_builder_init(kino__event_builder *b, const kino__allocator *allocator)
{
    *b = (kino__event_builder){.last_track = UINT32_MAX};
    kino__part *part = &b->part;
    kino__part_init(part);
    kino__arena_init(&part->arena, allocator);
    part->runs.allocator = part->tracks.allocator = part->counts.allocator = allocator;
    part->strings.allocator = part->own_categories.allocator = part->odd.allocator = allocator;
    b->uses.allocator = b->cleaned.allocator = allocator;
    kino__string_pool_init(&b->texts, allocator);
    kino__map_init(&b->tracks, allocator);
}

void kino__event_builder_deinit(kino__event_builder *b)
{
    kino__part_deinit(&b->part);
    kino__string_pool_deinit(&b->texts);
    kino__vec_deinit(&b->uses);
    kino__map_deinit(&b->tracks);
    kino__buffer_deinit(&b->cleaned);
}

/* -- texts */

static bool is_utf8(kino_str text)
{
    const char *at = text.data, *end = text.data + text.size;
    uint32_t code_point;
    size_t size = 1;
    while (at < end && (size = kino__utf8_sequence(at, end, &code_point)) > 0)
        at += size;
    return at >= end;
}

/* UTF-8 whatever it was; the result is in `cleaned`. */
static kino_str clean_text(kino__event_builder *b, kino_str text)
{
    kino__buffer *out = &b->cleaned;
    out->size = 0;
    const char *end = text.data + text.size;
    size_t size;
    for (const char *at = text.data; at < end; at += size ? size : 1) {
        uint32_t code_point;
        size = kino__utf8_sequence(at, end, &code_point);
        kino__buffer_add(out, size ? (kino_str){at, size} : KINO__STR(KINO__UTF8_REPLACEMENT));
    }
    return out->failed ? (kino_str){NULL, 0} : kino__buffer_str(out);
}

kino_strid kino__event_builder_text(kino__event_builder *b, kino_str text)
{
    if (text.size && !is_utf8(text))
        text = clean_text(b, text);
    kino_strid id = b->cleaned.failed ? KINO_NO_STRING : kino__string_pool_add(&b->texts, text);
    b->part.failed |= id == KINO_NO_STRING;
    return id;
}

/* What is known of a text that is used; NULL: memory is out, or there is no such text. */
static kino__text_use *use_of(kino__event_builder *b, kino_strid text)
{
    if (text >= kino__string_pool_count(&b->texts))
        return NULL;
    while (b->uses.count <= text) {
        kino__text_use *use = kino__vec_add(&b->uses);
        if (!use) {
            b->part.failed = true;
            return NULL;
        }
        *use = (kino__text_use){.string = KINO_NO_STRING};
    }
    return &b->uses.items[text];
}

/* The part's string of a text: texts that only arguments have are none of the trace's. */
static uint32_t string_of(kino__event_builder *b, kino_strid text)
{
    kino__text_use *use = use_of(b, text);
    if (!use || use->string != KINO_NO_STRING)
        return use ? use->string : KINO_NO_STRING;
    kino__part_string *s = kino__vec_add(&b->part.strings);
    b->part.failed |= !s;
    if (!s)
        return KINO_NO_STRING;
    kino_str bytes = kino__string_pool_text(&b->texts, text);
    *s = (kino__part_string){.text = bytes.data,
                             .size = (uint32_t)bytes.size,
                             .hash = b->texts.hashes.items[text],
                             .position = b->part.strings.count - 1};
    return use->string = (uint32_t)b->part.strings.count - 1;
}

static uint16_t own_category(kino__event_builder *b, kino_strid text)
{
    size_t count = b->part.own_categories.count;
    if (KINO__CATEGORY_COUNT + count >= KINO__CATEGORY_MANY)
        return KINO__CATEGORY_MANY;
    uint32_t string = string_of(b, text);
    kino_strid *slot = kino__vec_add(&b->part.own_categories);
    b->part.failed |= !slot;
    if (!slot)
        return KINO__CATEGORY_NONE;
    *slot = string;
    return (uint16_t)(KINO__CATEGORY_COUNT + count);
}

uint16_t kino__event_builder_category(kino__event_builder *b, kino_strid text)
{
    kino__text_use *use = use_of(b, text);
    kino_str bytes = kino__string_pool_text(&b->texts, text);
    if (!use || !bytes.size)
        return KINO__CATEGORY_NONE;
    if (use->category)
        return (uint16_t)(use->category - 1);
    uint16_t category = kino__category_find(bytes);
    if (category == KINO__CATEGORY_NONE)
        category = own_category(b, text);
    use->category = (uint16_t)(category + 1);
    return category;
}

/* -- tracks */

static bool is_track(const kino__event_builder *b, uint32_t track, const kino__label *pid,
                     const kino__label *tid)
{
    const kino__part_track *known = &b->part.tracks.items[track];
    return kino__label_equal(&known->pid, pid) && kino__label_equal(&known->tid, tid);
}

static bool add_track(kino__event_builder *b, const kino__label *pid, const kino__label *tid)
{
    kino__part *part = &b->part;
    kino__part_track *track = kino__vec_add(&part->tracks);
    kino__track_count *count = track ? kino__vec_add(&part->counts) : NULL;
    if (!count) {
        part->tracks.count -= track != NULL;
        return false;
    }
    *track = (kino__part_track){.pid = *pid, .tid = *tid, .position = part->tracks.count - 1};
    *count = (kino__track_count){(uint32_t)part->tracks.count - 1, 0};
    return true;
}

static kino__label label_of(kino__event_builder *b, kino__label label)
{
    if (label.kind == KINO__LABEL_TEXT)
        label.text = string_of(b, label.text);
    return label;
}

uint32_t kino__event_builder_track(kino__event_builder *b, kino__label pid, kino__label tid)
{
    pid = label_of(b, pid);
    tid = label_of(b, tid);
    if (b->last_track != UINT32_MAX && is_track(b, b->last_track, &pid, &tid))
        return b->last_track;
    for (uint64_t key = kino__label_hash(&pid) * 31 + kino__label_hash(&tid);; key++) {
        uint32_t *slot = b->part.failed ? NULL : kino__map_put(&b->tracks, key, UINT32_MAX);
        if (!slot || (*slot == UINT32_MAX && !add_track(b, &pid, &tid))) {
            b->part.failed = true;
            return 0;
        }
        if (*slot == UINT32_MAX)
            *slot = (uint32_t)b->part.tracks.count - 1;
        if (is_track(b, *slot, &pid, &tid))
            return b->last_track = *slot;
    }
}

/* -- events */

/* Ids that do not fit the column stand beside it. */
static uint32_t narrow(kino__event_builder *b, int64_t id, kino__odd_kind kind, uint8_t *flags)
{
    if (id == KINO_NO_INT)
        return KINO__BIND_NONE;
    if (id >= 0 && id < KINO__BIND_WIDE)
        return (uint32_t)id;
    kino__odd *odd = kino__vec_add(&b->part.odd);
    b->part.failed |= !odd;
    if (odd)
        *odd = (kino__odd){b->part.records.count, kind, (uint64_t)id, 0};
    *flags |= KINO__FLAG_ODD;
    return KINO__BIND_WIDE;
}

bool kino__event_builder_add(kino__event_builder *b, const kino__built_event *event)
{
    kino__part *part = &b->part;
    kino__record record = {.ts = event->ts,
                           .dur = event->dur,
                           .place = event->place,
                           .name = KINO_NO_STRING,
                           .track = event->track};
    record.category = event->category;
    record.phase = event->phase;
    record.flags = event->flags;
    if (part->failed || part->records.count >= KINO__EVENTS_MOST ||
        (part->records.count == part->records.capacity && !kino__part_grow(part)))
        return false;
    if (event->name != KINO_NO_STRING)
        record.name = string_of(b, event->name);
    record.bind = narrow(b, event->bind, KINO__ODD_WIDE_BIND, &record.flags);
    record.external = narrow(b, event->external, KINO__ODD_WIDE_EXTERNAL, &record.flags);
    if (part->failed)
        return false;
    kino__records_add(&part->records, &record);
    part->counts.items[event->track].count++;
    if (event->phase != 'M' && event->ts != KINO_NO_TIME && event->ts < part->min_ts)
        part->min_ts = event->ts;
    return true;
}

kino_status kino__event_builder_build(kino__event_builder *b, kino__trace *trace, kino__pool *pool,
                                      kino_error *err)
{
    kino__part *part = &b->part;
    kino__record_run *run = part->failed ? NULL : kino__vec_add(&part->runs);
    if (!run)
        return kino__fail_nomem(err);
    *run = (kino__record_run){.count = part->records.count};
    kino__piece piece = {.run_count = 1,
                         .odd_count = (uint32_t)part->odd.count,
                         .count_count = (uint32_t)part->counts.count,
                         .number_count = part->records.count};
    kino__build join = {
        .parts = part, .part_count = 1, .pieces = &piece, .piece_count = 1, .pool = pool};
    return kino__trace_build(trace, &join, err);
}
