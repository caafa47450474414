/* tile_read.h - a timeline tile as docs/formats/tile.md describes it, read for tests; a reader of
 * its own, so that the document is tested too. */
#ifndef KINO_TEST_TILE_READ_H
#define KINO_TEST_TILE_READ_H

#include "timeline/timeline.h"

typedef struct tile_slice {
    double start, dur; /* start: since the run's origin */
    int64_t id;
    uint32_t count;
    kino_str name;
    float busy;
    uint16_t row;
    uint8_t category, flags;
} tile_slice;

typedef struct tile_point {
    double time, low, high, last;
} tile_point;

typedef struct tile_track {
    uint32_t number;
    bool is_counter;
    const tile_slice *slices; /* or */
    const tile_point *points;
    uint32_t count;
} tile_track;

typedef struct tile {
    int64_t from, to;
    uint32_t pixels, track_count, slice_count, point_count, name_count;
    tile_track *tracks;
    tile_slice *slices;
    tile_point *points;
    char *bytes;
} tile;

/* Reads a tile from bytes, which are freed; ends the test when they break the format. */
tile tile_read(kino__buffer *from);
/* Asks for a tile that must be there. */
tile tile_ask(const kino__timeline *timeline, const kino_area *area, unsigned pixels);
void tile_free(tile *t);

#endif
