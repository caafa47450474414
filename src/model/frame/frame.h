/* frame.h - one trace as a table of spans with their partners on the other side: the base of the
 * analyses of device time, queues, launches, stragglers and the critical path.
 *
 * Made once a trace and mode and kept with the trace (kino__frame_of). Modes:
 *   DEFAULT  exact ns, the fixes that docs/analyses/differences.md lists
 *   HTA_NS   exact ns, HTA's rules
 *   HTA      HTA's rules and rounding: whole us, start up and end down where the file has fractions
 * Rows stand in frame order: that of the file, or, when the last step was cut off, device rows
 * before host rows, both in file order. A row of the frame is named by its position. */
#ifndef KINO__MODEL_FRAME_H
#define KINO__MODEL_FRAME_H

#include "base/thread.h"
#include "names/kernel_type.h"
#include "store/interval.h"
#include "store/run.h"
#include "store/trace.h"

typedef enum kino__frame_mode {
    KINO__FRAME_DEFAULT,
    KINO__FRAME_HTA_NS,
    KINO__FRAME_HTA,
    KINO__FRAME_MODES,
} kino__frame_mode;

typedef enum kino__device_kind {
    KINO__DEVICE_UNKNOWN,
    KINO__DEVICE_NVIDIA,
    KINO__DEVICE_AMD,
    KINO__DEVICE_MTIA,
} kino__device_kind;

enum {
    KINO__LINK_NONE = -1,    /* no correlation */
    KINO__LINK_MISSING = -2, /* a correlation, but no partner in the trace */
    KINO__LINK_CUT = -3,     /* the partner is not in the frame: a step was cut off */
};

enum {
    KINO__FRAME_DEVICE = 1,   /* a device row: has a stream (DEFAULT: and a device category) */
    KINO__FRAME_GPU_SIDE = 2, /* for links: stream and correlation, or a sync record */
    KINO__FRAME_STEP = 4,     /* ProfilerStep */
};

/* One more name; true: it is a step's, and its number is the first or differs from the first. */
bool kino__run_steps_see(kino__run_steps *steps, kino_str name);
/* Adds what a trace's texts say, for a run that will not have them all in memory. */
void kino__run_steps_add(kino__run_steps *steps, const kino__trace *trace);

typedef struct kino__frame_step {
    int64_t number, ts, dur;
    uint32_t at; /* position */
} kino__frame_step;

typedef struct kino__frame {
    const kino__trace *trace;
    kino__frame_mode mode;
    int64_t unit_ns; /* of ts and dur: 1, or 1000 in HTA mode */
    kino__device_kind device_kind;
    bool is_cut;     /* the last step was cut off */
    bool is_rounded; /* HTA: the file had fractions */
    uint64_t
        refused; /* so many rows it would have: HTA's join repeats rows; then nothing is here */
    uint32_t count;
    /* one entry a position; a narrow frame has no more than row, link and flags */
    bool is_narrow;
    uint32_t *row;        /* in the store */
    int64_t *ts, *dur;    /* units; DEFAULT: of the run, HTA: as the file counts */
    int64_t *stream;      /* -1: none */
    int64_t *correlation; /* -1: none */
    int32_t *link;        /* position of the partner, or one of KINO__LINK_ */
    int64_t *iteration;   /* step number, -1: outside, KINO_NO_INT: HTA gives none */
    uint8_t *flags;
    uint8_t *type;       /* kino__kernel_type, of all rows, by name (DEFAULT: and category) */
    uint32_t *at_of_row; /* row of the store -> position (of copies the last), KINO_NO_ROW */
    void *columns;       /* the block that holds the others */

    KINO__VEC(kino__frame_step)
    steps; /* rows with KINO__FRAME_STEP left in the frame, frame order */
} kino__frame;

/* How many rows a join of equal correlations may have: HTA pairs each row of one side with each of
 * the other. Correlations are unique in every sane trace. */
static inline uint64_t kino__frame_most_rows(const kino__trace *trace)
{
    return 1000000 + (uint64_t)10 * trace->event_count;
}

/* Every step counts; HTA cuts off the last one, and so do frames without has_last_step. NULL when
 * memory is out or HTA's frame would be too large (kino__frame_explain). Any thread. */
const kino__frame *kino__frame_of(const kino__trace *trace, kino__frame_mode mode,
                                  bool has_last_step, kino__pool *pool);

/* A frame of mode DEFAULT for those who can do with little, where memory counts: times are those of
 * the trace (kino__frame_start), and there are no steps. It belongs to the caller and is not kept.
 * NULL when memory is out. */
kino__frame *kino__frame_new_narrow(const kino__trace *trace, bool has_last_step, kino__pool *pool);
void kino__frame_free(kino__frame *frame);
/* Gives back link and at_of_row of one's own frame; nobody reads them any more. */
void kino__frame_drop_links(kino__frame *frame);

/* The columns that a narrow frame is made from. */
enum {
    KINO__FRAME_NARROW_COLUMNS = KINO__COLUMN_ALL & ~(KINO__COLUMN_EXTERNAL | KINO__COLUMN_PLACE)
};

/* Why an analysis of the trace failed: KINO_NOMEM becomes KINO_LIMIT where it was the size of HTA's
 * frame. */
kino_status kino__frame_explain(const kino__trace *trace, kino_status st, kino_error *err);
/* "N events have so many pairs with equal correlations ..." */
KINO_NODISCARD kino_status kino__fail_pairs(const kino__trace *trace, uint64_t rows,
                                            kino_error *err);

/* ts and dur, of narrow frames too. */
static inline int64_t kino__frame_start(const kino__frame *f, uint32_t at)
{
    return f->is_narrow ? f->trace->ts[f->row[at]] : f->ts[at];
}

static inline int64_t kino__frame_length(const kino__frame *f, uint32_t at)
{
    if (!f->is_narrow)
        return f->dur[at];
    int64_t length = f->trace->dur[f->row[at]];
    return length > 0 ? length : 0;
}

static inline int64_t kino__frame_end(const kino__frame *f, uint32_t at)
{
    return f->ts[at] + f->dur[at];
}

static inline kino_str kino__frame_name(const kino__frame *f, uint32_t at)
{
    return kino__trace_string(f->trace, f->trace->name[f->row[at]]);
}

static inline bool kino__frame_is_device(const kino__frame *f, uint32_t at)
{
    return f->flags[at] & KINO__FRAME_DEVICE;
}

/* Was work on a device recorded? */
static inline bool kino__frame_has_device(const kino__frame *f)
{
    for (uint32_t at = 0; at < f->count; at++)
        if (kino__frame_is_device(f, at))
            return true;
    return false;
}

/* Positions of a stable sort by ts; the caller frees it, NULL when memory is out. */
uint32_t *kino__frame_by_ts(const kino__frame *f, const uint32_t *positions, size_t count);

/* "Memcpy DtoH", "Memset", "Memcpy Unknown". */
kino_str kino__memory_kind(kino_str name);

/* A kernel's name without templates and arguments, as HTA shortens it, into the buffer. */
void kino__short_name(kino_str name, bool is_memory, kino__buffer *out);

#endif
