/* tile_write.c - a collected tile as bytes (docs/formats/tile.md).
 *
 * The size is known beforehand but for the names, so the arrays are filled in place, all at once:
 * one pass over the slices, which asks ahead for the places of the trace that it will need. */
#include "base/error.h"
#include "timeline/tile_internal.h"
#include "wire/bytes.h"

enum {
    MAGIC = 0x314c544b, /* "KTL1" */
    VERSION = 1,
    HEAD_BYTES = 48,
    TRACK_BYTES = 16,
    AHEAD = 12, /* slices: about as many as can be waited for at once */
};

#define NEW UINT32_MAX /* a name not looked at yet */

typedef struct name_entry {
    kino_str text;
    uint16_t category;  /* of the slice asked for last */
    uint8_t tile_value; /* and its answer */
} name_entry;

typedef struct writer {
    const kino__tl_tile *tile;
    KINO__VEC(name_entry) names;
    kino__string_pool texts; /* of the names, with their numbers */
    kino__map places;        /* trace and string -> name */
    size_t name_bytes;
    unsigned char *start, *dur, *id, *count, *name, *busy, *row, *category, *flags;
} writer;

static size_t padded(size_t size)
{
    return (size + 7) & ~(size_t)7;
}

static void put_f64(unsigned char *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    kino__put_le(at, bits, 8);
}

static void put_f32(unsigned char *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    kino__put_le(at, bits, 4);
}

/* -- slices -- */

/* By text: traces have strings of their own, and ranks the same names. */
static name_entry *find_name(writer *w, const kino__trace *trace, kino_strid name)
{
    uint32_t *place = kino__map_put(&w->places, (uint64_t)trace->index << 32 | name, NEW);
    if (!place)
        return NULL;
    if (*place != NEW)
        return &w->names.items[*place];
    kino_str text = kino__trace_string(trace, name);
    kino_strid id = kino__string_pool_add_borrowed(&w->texts, text);
    if (id == KINO_NO_STRING)
        return NULL;
    *place = id;
    if (id < w->names.count)
        return &w->names.items[id];
    name_entry *entry = kino__vec_add(&w->names);
    if (!entry)
        return NULL;
    *entry = (name_entry){text, KINO__CATEGORY_NONE, 0};
    entry->tile_value = kino__tl_category(KINO__CATEGORY_NONE, text);
    w->name_bytes += text.size;
    return entry;
}

static void ask_ahead(const kino__trace *trace, uint32_t row)
{
    __builtin_prefetch(&trace->name[row]);
    __builtin_prefetch(&trace->number[row]);
    __builtin_prefetch(&trace->category[row]);
}

static bool put_slice(writer *w, const kino__tl_track *track, size_t i)
{
    const kino__tl_slice *slice = &w->tile->slices.items[i];
    const kino__trace *trace = track->trace;
    uint32_t row = slice->longest;
    name_entry *name = find_name(w, trace, trace->name[row]);
    if (!name)
        return false;
    if (name->category != trace->category[row]) {
        name->category = trace->category[row];
        name->tile_value = kino__tl_category(name->category, name->text);
    }
    put_f64(w->start + 8 * i, (double)(slice->start - w->tile->from));
    put_f64(w->dur + 8 * i, (double)(slice->end - slice->start));
    kino__put_le(w->id + 8 * i, (uint64_t)kino__trace_event_id(trace, row), 8);
    kino__put_le(w->count + 4 * i, slice->count, 4);
    kino__put_le(w->name + 4 * i, (uint64_t)(name - w->names.items), 4);
    put_f32(w->busy + 4 * i, slice->busy);
    kino__put_le(w->row + 2 * i, slice->line, 2);
    w->category[i] = name->tile_value;
    w->flags[i] = track->open_end != KINO_NO_TIME && trace->phase[row] == 'B';
    return true;
}

static bool put_slices(writer *w)
{
    for (size_t t = 0; t < w->tile->tracks.count; t++) {
        const kino__tl_tile_track *entry = &w->tile->tracks.items[t];
        const kino__tl_track *track = &w->tile->timeline->tracks.items[entry->number];
        if (entry->kind != 0)
            continue;
        const kino__tl_slice *slices = w->tile->slices.items + entry->first;
        for (size_t i = 0; i < entry->count; i++) {
            if (i + AHEAD < entry->count)
                ask_ahead(track->trace, slices[i + AHEAD].longest);
            if (!put_slice(w, track, entry->first + i))
                return false;
        }
    }
    return true;
}

/* -- the rest -- */

static void put_points(const kino__tl_tile *tile, unsigned char *at)
{
    size_t n = tile->points.count;
    for (size_t i = 0; i < n; i++) {
        const kino__tl_reduced *point = &tile->points.items[i];
        put_f64(at + 8 * i, (double)(point->time - tile->from));
        put_f64(at + 8 * (n + i), point->low);
        put_f64(at + 8 * (2 * n + i), point->high);
        put_f64(at + 8 * (3 * n + i), point->last);
    }
}

static void put_tracks(const kino__tl_tile *tile, unsigned char *at)
{
    for (size_t i = 0; i < tile->tracks.count; i++, at += TRACK_BYTES) {
        const kino__tl_tile_track *track = &tile->tracks.items[i];
        kino__put_le(at, track->number, 4);
        kino__put_le(at + 4, track->kind, 4);
        kino__put_le(at + 8, track->first, 4);
        kino__put_le(at + 12, track->count, 4);
    }
}

static void put_head(const writer *w, unsigned char *at)
{
    const kino__tl_tile *tile = w->tile;
    kino__put_le(at, MAGIC, 4);
    kino__put_le(at + 4, VERSION, 4);
    kino__put_le(at + 8, (uint64_t)tile->from, 8);
    kino__put_le(at + 16, (uint64_t)tile->to, 8);
    kino__put_le(at + 24, tile->pixels, 4);
    kino__put_le(at + 28, tile->tracks.count, 4);
    kino__put_le(at + 32, tile->slices.count, 4);
    kino__put_le(at + 36, tile->points.count, 4);
    kino__put_le(at + 40, w->names.count, 4);
    kino__put_le(at + 44, w->name_bytes, 4);
}

static void add_names(const writer *w, kino__buffer *bytes)
{
    uint32_t at = 0;
    for (size_t i = 0; i < w->names.count; i++) {
        kino__bytes_add(bytes, at, 4);
        at += (uint32_t)w->names.items[i].text.size;
    }
    kino__bytes_add(bytes, at, 4);
    for (size_t i = 0; i < w->names.count; i++)
        kino__buffer_add(bytes, w->names.items[i].text);
}

/* Where the arrays of slices lie; returns their end. */
static unsigned char *lay_out(writer *w, unsigned char *at)
{
    size_t n = w->tile->slices.count;
    w->start = at;
    w->dur = w->start + 8 * n;
    w->id = w->dur + 8 * n;
    w->count = w->id + 8 * n;
    w->name = w->count + padded(4 * n);
    w->busy = w->name + padded(4 * n);
    w->row = w->busy + padded(4 * n);
    w->category = w->row + padded(2 * n);
    w->flags = w->category + padded(n);
    return w->flags + padded(n);
}

kino_status kino__tl_tile_write(const kino__tl_tile *tile, kino__buffer *bytes, kino_error *err)
{
    writer w = {.tile = tile};
    size_t n = tile->slices.count;
    size_t size = HEAD_BYTES + TRACK_BYTES * tile->tracks.count + 24 * n + 3 * padded(4 * n) +
                  padded(2 * n) + 2 * padded(n) + 32 * tile->points.count;
    kino__map_init(&w.places, NULL);
    kino__string_pool_init(&w.texts, NULL);
    size_t before = bytes->size;
    unsigned char *at = (unsigned char *)kino__buffer_reserve(bytes, size);
    bool ok = at != NULL;
    if (ok) {
        bytes->size += size;
        put_tracks(tile, at + HEAD_BYTES);
        unsigned char *end = lay_out(&w, at + HEAD_BYTES + TRACK_BYTES * tile->tracks.count);
        if (n)
            memset(w.count, 0, (size_t)(end - w.count)); /* what pads is 0 */
        put_points(tile, end);
        ok = put_slices(&w);
    }
    bool is_too_much = w.name_bytes > KINO__TL_MOST_NAMES;
    if (ok && !is_too_much) {
        put_head(&w, at);
        add_names(&w, bytes);
        ok = !bytes->failed;
    }
    if (!ok || is_too_much)
        bytes->size = before;
    kino__vec_deinit(&w.names);
    kino__map_deinit(&w.places);
    kino__string_pool_deinit(&w.texts);
    if (ok && is_too_much)
        return kino__fail(err, KINO_LIMIT,
                          "more than %d bytes of names: request fewer tracks or pixels",
                          (int)KINO__TL_MOST_NAMES);
    return ok ? KINO_OK : kino__fail_nomem(err);
}
