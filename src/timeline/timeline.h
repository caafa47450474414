/* timeline.h - a run as something to look at, for the engine: tracks, tiles, details, search, area.
 *
 *   kino__timeline_new(&run, pool, &progress, &timeline, &err);      once, linear in the events
 *   kino__timeline_tile(timeline, &area, pixels, &bytes, &err);      cost by pixels, not by events
 *
 * A timeline holds nothing of the traces but their addresses: columns and links are asked for when
 * they are needed, so a trace may give them back (kino__trace_release) while nobody is asking. It
 * never changes and may be used by any thread. The idea is told in docs/internals/timeline.md, the
 * bytes of a tile in docs/formats/tile.md. */
#ifndef KINO__TIMELINE_TIMELINE_H
#define KINO__TIMELINE_TIMELINE_H

#include <kino/timeline.h>

#include "base/progress.h"
#include "base/str.h"
#include "store/run.h"
#include "store/table.h"

typedef struct kino__timeline kino__timeline;

/* The run must outlive it. progress and pool may be NULL. */
KINO_NODISCARD kino_status kino__timeline_new(const kino__run *run, kino__pool *pool,
                                              kino__progress *progress, kino__timeline **out,
                                              kino_error *err);
void kino__timeline_free(kino__timeline *timeline);
uint64_t kino__timeline_bytes(const kino__timeline *timeline);

/* Tables tracks, steps and lost. */
KINO_NODISCARD kino_status kino__timeline_tracks(const kino__timeline *timeline,
                                                 kino_result *result, kino_error *err);

/* Appends the tile to *bytes. KINO_NOT_FOUND: no such track; KINO_ARGUMENT: no pixels, or an area
 * that ends before it begins; KINO_LIMIT: more slices than anybody could draw. */
KINO_NODISCARD kino_status kino__timeline_tile(const kino__timeline *timeline,
                                               const kino_area *area, unsigned pixels,
                                               kino__buffer *bytes, kino_error *err);

/* Tables event, args, stack and links. KINO_NOT_FOUND: no event has this id. */
KINO_NODISCARD kino_status kino__timeline_event(const kino__timeline *timeline, int64_t id,
                                                kino_result *result, kino_error *err);

/* Makes the links that kino__timeline_event would make for whole traces. */
KINO_NODISCARD kino_status kino__timeline_prepare(const kino__timeline *timeline, kino_error *err);

/* Tables found and count. KINO_ARGUMENT: a word of the text makes no sense. */
KINO_NODISCARD kino_status kino__timeline_search(const kino__timeline *timeline,
                                                 const kino_search *search, kino_result *result,
                                                 kino_error *err);

/* Tables slices, categories, tracks and counters. */
KINO_NODISCARD kino_status kino__timeline_aggregate(const kino__timeline *timeline,
                                                    const kino_area *area, kino_result *result,
                                                    kino_error *err);

#endif
