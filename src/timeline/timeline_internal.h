/* timeline_internal.h - tracks, lines and their trees; for the files of this folder.
 *
 *   track     line 0   |--- a ---|   |--- d ---|          events of a line never overlap
 *             line 1     |-b-||c|      |e|
 *   rows      a d | b c e                                 rows of the trace, line after line
 *   nodes     of line 0: level 1 ..., level 2 ... | of line 1: ...
 *
 * A node of level 1 stands for 16 neighbours of a line, one of level 2 for 16 nodes of level 1, and
 * so on until 16 are left; lines of up to 16 events have none. */
#ifndef KINO__TIMELINE_INTERNAL_H
#define KINO__TIMELINE_INTERNAL_H

#include "base/arena.h"
#include "store/interval.h"
#include "store/link.h"
#include "timeline/timeline.h"

enum {
    KINO__TL_BITS = 4,
    KINO__TL_FAN = 1 << KINO__TL_BITS,
    KINO__TL_LEVELS = 8, /* 16^8 events: more than rows have numbers */
    /* Lines of a track. What does not fit goes to the last one, the only one whose events may
     * overlap: they are merged when it is drawn. */
    KINO__TL_LINES = 2048,
    KINO__TL_LAST_LINE = KINO__TL_LINES - 1,
    KINO__TL_BLOCK = 64, /* lines that are passed over at once when all are taken */
};

/* What drawing needs of a trace: all of it is loaded at once, on all threads, before building. */
#define KINO__TL_DRAW                                                                              \
    (KINO__COLUMN_TS | KINO__COLUMN_DUR | KINO__COLUMN_PHASE | KINO__COLUMN_NAME |                 \
     KINO__COLUMN_CATEGORY | KINO__COLUMN_NUMBER)

typedef struct kino__tl_node {
    int64_t start, end; /* of the first, of the last */
    int64_t longest_dur;
    uint32_t longest; /* row of the trace; the first of equals */
    float busy;       /* ns that events cover */
} kino__tl_node;

typedef struct kino__tl_line {
    uint32_t first, count; /* in rows of the track */
    uint32_t node;         /* the first of level 1, in nodes of the track */
} kino__tl_line;

typedef struct kino__tl_point {
    int64_t time;
    double value;
} kino__tl_point;

/* The values of 16 points, or of 16 spreads. */
typedef struct kino__tl_spread {
    double low, high;
} kino__tl_spread;

typedef enum kino__tl_kind {
    KINO__TL_THREAD,
    KINO__TL_STREAM,
    KINO__TL_COUNTER,
    KINO__TL_OTHER,
} kino__tl_kind;

typedef struct kino__tl_track {
    const kino__trace *trace;
    const kino__track *source; /* of the trace; of counters: one that has their pid */
    kino__tl_kind kind;
    uint32_t count;             /* events or points */
    int64_t first, last;        /* start of the first, end of the last */
    kino_str group, name, unit; /* for people; in the timeline's arena */
    /* spans */
    kino__tl_line *lines;
    uint32_t line_count;
    uint32_t *rows;
    kino__tl_node *nodes;
    int64_t open_end; /* end of spans that have none; KINO_NO_TIME: there are no such spans */
    /* counters */
    kino__tl_point *points;
    kino__tl_spread *spreads; /* level 1, level 2, ... as for lines */
    /* the block that holds lines, nodes and rows, or points and spreads */
    void *block;
    size_t block_size;
} kino__tl_track;

/* Where the rows of a trace are drawn: its tracks by their first row. */
typedef struct kino__tl_rows_of {
    uint32_t trace, first; /* trace->index, source->first */
    uint32_t track;        /* number */
} kino__tl_rows_of;

struct kino__timeline {
    const kino__run *run;
    KINO__VEC(kino__tl_track) tracks;   /* in the order to be shown: the place is the number */
    KINO__VEC(kino__tl_rows_of) by_row; /* of all tracks but counters, sorted */
    kino__arena arena;
    /* Memory of an earlier tile, for the next one: the first touch of new pages would cost more
     * than the walk. Taken and given back whole. */
    _Atomic(struct kino__tl_tile *) spare;
};

/* -- events -- */

static inline bool kino__tl_is_drawn(uint8_t phase, int64_t ts, int64_t dur)
{
    bool is_drawn = phase == 'X' || phase == 'B' || phase == 'i' || phase == 'I' || phase == 'R';
    return is_drawn && ts != KINO_NO_TIME &&
           kino__time_is_sane(ts, dur == KINO_NO_TIME || phase != 'X' ? 0 : dur);
}

/* When an event of the track ends: a span that never ended lasts to the end of the track. */
static inline int64_t kino__tl_end(const kino__tl_track *track, uint32_t row)
{
    const kino__trace *trace = track->trace;
    if (track->open_end != KINO_NO_TIME && trace->phase[row] == 'B')
        return track->open_end;
    int64_t dur = trace->phase[row] == 'X' ? trace->dur[row] : 0;
    return trace->ts[row] + (dur > 0 ? dur : 0);
}

/* -- levels: a pyramid over `count` items -- */

typedef struct kino__tl_levels {
    unsigned count;                       /* of levels above the items */
    uint32_t first[KINO__TL_LEVELS + 1];  /* of each level from 1 on, in nodes */
    uint32_t number[KINO__TL_LEVELS + 1]; /* of nodes in it */
} kino__tl_levels;

/* Where the levels lie when level 1 begins at `node`; returns the number of nodes of all. */
static inline uint32_t kino__tl_levels_of(uint32_t items, uint32_t node, kino__tl_levels *levels)
{
    uint32_t below = items, at = node;
    levels->count = 0;
    while (below > KINO__TL_FAN) {
        below = (uint32_t)(((uint64_t)below + KINO__TL_FAN - 1) >> KINO__TL_BITS);
        levels->count++;
        levels->first[levels->count] = at;
        levels->number[levels->count] = below;
        at += below;
    }
    return at - node;
}

/* The highest level at which a node begins with this item. */
static inline unsigned kino__tl_level_at(const kino__tl_levels *levels, uint32_t item)
{
    unsigned level = item ? (unsigned)__builtin_ctz(item) / KINO__TL_BITS : levels->count;
    return level < levels->count ? level : levels->count;
}

/* -- parts -- */

/* lines.c: sets lines, rows, nodes, count, first, last, open_end of a track whose trace and source
 * are set; count is 0 when there is nothing to draw. */
typedef struct kino__tl_scratch {
    KINO__VEC(uint16_t) line_of; /* of the events of the track at hand */
    int64_t free_at[KINO__TL_LINES];
    int64_t soonest[KINO__TL_LINES / KINO__TL_BLOCK]; /* no line of a block is free before */
    uint32_t counts[KINO__TL_LINES];
    struct {
        int64_t end;
        uint32_t line;
    } open[KINO__TL_LINES];
} kino__tl_scratch;
KINO_NODISCARD bool kino__tl_make_lines(kino__tl_track *track, kino__tl_scratch *scratch);

/* counter_tracks.c: adds the counter tracks of a trace. progress is told its events. */
KINO_NODISCARD kino_status kino__tl_add_counters(kino__timeline *timeline, const kino__trace *trace,
                                                 kino__progress *progress, kino_error *err);

/* names.c: titles and order. */
KINO_NODISCARD bool kino__tl_name_track(kino__timeline *timeline, kino__tl_track *track);
void kino__tl_sort_tracks(kino__timeline *timeline);

/* build.c */
KINO_NODISCARD bool kino__tl_block_new(kino__tl_track *track, size_t size);

/* tracks.c */
void kino__tl_add_label(kino__table *table, const kino__trace *trace, const kino__label *label);
void kino__tl_add_str(kino__table *table, kino_str text); /* null when it is empty */
/* Name and category of an event. */
void kino__tl_add_name(kino__table *table, const kino__trace *trace, uint32_t row);

/* step_at.c: the step at a time: of those that contain it the one that starts last; KINO_NO_INT:
 * none. */
KINO_NODISCARD bool kino__tl_step_at(const kino__trace *trace, int64_t time, int64_t *number);

/* lost.c: the table lost. */
KINO_NODISCARD kino_status kino__tl_add_lost(const kino__timeline *timeline, kino_result *result,
                                             kino_error *err);

/* tile_category.c: the number of docs/formats/tile.md. */
uint8_t kino__tl_category(uint16_t category, kino_str name);
const char *kino__tl_category_name(uint8_t category);

/* tile.c; NULL is fine. */
void kino__tl_tile_free(struct kino__tl_tile *tile);

/* area.c: an area with its open ends closed, and its tracks. */
typedef struct kino__tl_area {
    int64_t from, to;
    KINO__VEC(uint32_t) tracks; /* ascending, each once */
} kino__tl_area;
/* Columns of the traces concerned are there afterwards. */
KINO_NODISCARD kino_status kino__tl_area_init(const kino__timeline *timeline,
                                              const kino_area *given, kino__tl_area *area,
                                              kino_error *err);
void kino__tl_area_deinit(kino__tl_area *area);

/* The first event of a line that touches the time from `from` on; line->count: none. */
uint32_t kino__tl_line_seek(const kino__tl_track *track, const kino__tl_line *line,
                            const kino__tl_levels *levels, int64_t from);

/* find.c: where a row of a trace is drawn; false when it is not. Its track's columns are there. */
typedef struct kino__tl_place {
    uint32_t track; /* number */
    uint32_t line;
} kino__tl_place;
bool kino__tl_find(const kino__timeline *timeline, const kino__trace *trace, uint32_t row,
                   kino__tl_place *place);
/* The same where the track is known. */
bool kino__tl_find_line(const kino__tl_track *track, uint32_t row, uint32_t *line);
/* Makes by_row, once the tracks have their numbers. False when memory is out. */
KINO_NODISCARD bool kino__tl_sort_rows(kino__timeline *timeline);
/* The trace and row of an event; KINO_NOT_FOUND: no event has this id. KINO__TL_DRAW columns of
 * that trace are there afterwards. */
KINO_NODISCARD kino_status kino__tl_find_id(const kino__timeline *timeline, int64_t id,
                                            const kino__trace **trace, uint32_t *row,
                                            kino_error *err);
/* The rows of the spans around a drawn row, outermost first: each contains the next one, and starts
 * last of those that do. False when memory is out. */
typedef KINO__VEC(uint32_t) kino__tl_rows;
KINO_NODISCARD bool kino__tl_stack(const kino__tl_track *track, uint32_t row, kino__tl_rows *out);

/* sweep.c: every event of a track that touches [from, to), as its parents end. */
typedef struct kino__tl_span {
    uint32_t row;
    int64_t start, end; /* the part inside */
    int64_t own;        /* what of it no child covers */
} kino__tl_span;
typedef bool (*kino__tl_visit)(void *context, const kino__tl_span *span);
/* *busy: what any event but annotations covers. False when visit says so or memory is out. */
KINO_NODISCARD bool kino__tl_sweep(const kino__tl_track *track, int64_t from, int64_t to,
                                   kino__tl_visit visit, void *context, int64_t *busy);

#endif
