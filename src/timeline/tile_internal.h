/* tile_internal.h - a tile between being collected (tile.c) and being written (tile_write.c). */
#ifndef KINO__TIMELINE_TILE_INTERNAL_H
#define KINO__TIMELINE_TILE_INTERNAL_H

#include "timeline/timeline_internal.h"

enum {
    KINO__TL_MOST_PIXELS = 1 << 14,
    KINO__TL_MOST_SLICES = 1 << 20,  /* 46 MB of them; and as many points */
    KINO__TL_MOST_NAMES = 1 << 28,   /* bytes of all names */
    KINO__TL_SPARE_SLICES = 1 << 18, /* a tile of more than these is not kept */
};

typedef struct kino__tl_slice {
    int64_t start, end;
    uint32_t count;
    uint32_t longest; /* row of the trace */
    float busy;
    uint16_t line;
} kino__tl_slice;

typedef struct kino__tl_reduced {
    int64_t time;
    double low, high, last;
} kino__tl_reduced;

/* As in the file. */
typedef struct kino__tl_tile_track {
    uint32_t number, kind, first, count;
} kino__tl_tile_track;

typedef struct kino__tl_tile {
    const kino__timeline *timeline;
    int64_t from, to;
    unsigned pixels;
    int64_t pixel; /* ns, rounded down */
    KINO__VEC(kino__tl_tile_track) tracks;
    KINO__VEC(kino__tl_slice) slices;
    KINO__VEC(kino__tl_reduced) points;
} kino__tl_tile;

/* Appends its bytes. */
KINO_NODISCARD kino_status kino__tl_tile_write(const kino__tl_tile *tile, kino__buffer *bytes,
                                               kino_error *err);

#endif
