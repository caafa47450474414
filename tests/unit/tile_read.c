/* tile_read.c - reading tiles, with every rule of the format checked on the way. */
#include "unit/tile_read.h"

#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

typedef struct input {
    const char *bytes;
    size_t size, at;
} input;

/* The next array: at a multiple of 8, zeros before it. */
static const void *array(input *in, size_t count, size_t item)
{
    while (in->at % 8) {
        REQUIRE(in->at < in->size && in->bytes[in->at] == 0);
        in->at++;
    }
    REQUIRE(count * item <= in->size - in->at);
    const void *start = in->bytes + in->at;
    in->at += count * item;
    return start;
}

static uint32_t u32(const void *array, size_t i)
{
    uint32_t value;
    memcpy(&value, (const char *)array + 4 * i, 4);
    return value;
}

static int64_t i64(const void *array, size_t i)
{
    int64_t value;
    memcpy(&value, (const char *)array + 8 * i, 8);
    return value;
}

static double f64(const void *array, size_t i)
{
    double value;
    memcpy(&value, (const char *)array + 8 * i, 8);
    return value;
}

static void read_slices(tile *t, input *in, const void **names)
{
    size_t n = t->slice_count;
    const void *start = array(in, n, 8), *dur = array(in, n, 8), *id = array(in, n, 8),
               *count = array(in, n, 4), *name = array(in, n, 4), *busy = array(in, n, 4),
               *row = array(in, n, 2), *category = array(in, n, 1), *flags = array(in, n, 1);
    *names = name;
    for (size_t i = 0; i < n; i++) {
        tile_slice *s = &t->slices[i];
        *s = (tile_slice){.start = f64(start, i) + (double)t->from,
                          .dur = f64(dur, i),
                          .id = i64(id, i),
                          .count = u32(count, i),
                          .category = ((const uint8_t *)category)[i],
                          .flags = ((const uint8_t *)flags)[i]};
        memcpy(&s->busy, (const char *)busy + 4 * i, 4);
        memcpy(&s->row, (const char *)row + 2 * i, 2);
        REQUIRE(s->category <= 14 && s->flags <= 1 && s->count > 0 && s->dur >= 0);
    }
}

static void read_points(tile *t, input *in)
{
    size_t n = t->point_count;
    const void *time = array(in, n, 8), *low = array(in, n, 8), *high = array(in, n, 8),
               *last = array(in, n, 8);
    for (size_t i = 0; i < n; i++)
        t->points[i] =
            (tile_point){f64(time, i) + (double)t->from, f64(low, i), f64(high, i), f64(last, i)};
}

static void read_tracks(tile *t, const void *tracks)
{
    uint32_t slices = 0, points = 0;
    for (size_t i = 0; i < t->track_count; i++) {
        tile_track *track = &t->tracks[i];
        uint32_t first = u32(tracks, 4 * i + 2);
        *track = (tile_track){u32(tracks, 4 * i), u32(tracks, 4 * i + 1) == 1, NULL, NULL,
                              u32(tracks, 4 * i + 3)};
        REQUIRE(u32(tracks, 4 * i + 1) <= 1);
        REQUIRE_EQ(first, track->is_counter ? points : slices);
        if (track->is_counter) {
            track->points = t->points + first;
            points += track->count;
        } else {
            track->slices = t->slices + first;
            slices += track->count;
        }
    }
    REQUIRE_EQ(slices, t->slice_count);
    REQUIRE_EQ(points, t->point_count);
}

static void read_names(tile *t, input *in, uint32_t name_bytes, const void *names)
{
    const void *places = array(in, t->name_count + 1, 4);
    const char *text = in->bytes + in->at;
    REQUIRE_EQ(in->size - in->at, name_bytes); /* and nothing behind */
    REQUIRE_EQ(u32(places, t->name_count), name_bytes);
    for (size_t i = 0; i < t->slice_count; i++) {
        uint32_t name = u32(names, i);
        REQUIRE(name < t->name_count && u32(places, name) <= u32(places, name + 1));
        t->slices[i].name =
            (kino_str){text + u32(places, name), u32(places, name + 1) - u32(places, name)};
    }
}

tile tile_read(kino__buffer *from)
{
    char *bytes = malloc(from->size); /* no byte more: reading beyond them is found */
    REQUIRE(bytes != NULL);
    memcpy(bytes, from->data, from->size);
    input in = {bytes, from->size, 0};
    kino__buffer_deinit(from);
    const void *head = array(&in, 48, 1), *names;
    tile t = {.bytes = bytes};
    REQUIRE(memcmp(head, "KTL1", 4) == 0);
    REQUIRE_EQ(u32(head, 1), 1);
    t.from = i64(head, 1);
    t.to = i64(head, 2);
    t.pixels = u32(head, 6);
    t.track_count = u32(head, 7);
    t.slice_count = u32(head, 8);
    t.point_count = u32(head, 9);
    t.name_count = u32(head, 10);
    t.tracks = calloc(t.track_count + 1, sizeof *t.tracks);
    t.slices = calloc(t.slice_count + 1, sizeof *t.slices);
    t.points = calloc(t.point_count + 1, sizeof *t.points);
    REQUIRE(t.tracks && t.slices && t.points);
    const void *tracks = array(&in, t.track_count, 16);
    read_slices(&t, &in, &names);
    read_points(&t, &in);
    read_tracks(&t, tracks);
    read_names(&t, &in, u32(head, 11), names);
    return t;
}

tile tile_ask(const kino__timeline *timeline, const kino_area *area, unsigned pixels)
{
    kino__buffer bytes = {0};
    kino_error err = {0};
    REQUIRE_EQ(kino__timeline_tile(timeline, area, pixels, &bytes, &err), KINO_OK);
    return tile_read(&bytes);
}

void tile_free(tile *t)
{
    free(t->tracks);
    free(t->slices);
    free(t->points);
    free(t->bytes);
    *t = (tile){0};
}
