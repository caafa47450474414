/* frame_internal.h - shared by the files that make frames.
 *
 * A frame is made in four passes, the first and the last shared out over the threads:
 *   scan    each row of the store: is it kept, which side is it; the order of the file
 *   choose  partners by correlation, and what stays when the last step is cut off
 *   order   positions: the file's order, or device rows before host rows
 *   fill    the columns of the frame, position by position */
#ifndef KINO__MODEL_FRAME_INTERNAL_H
#define KINO__MODEL_FRAME_INTERNAL_H

#include <math.h>

#include "base/search.h"
#include "model/frame/frame.h"

/* The number of "ProfilerStep#5" (HTA also takes blanks around the mark), KINO_NO_INT for other
 * names. */
int64_t kino__step_number(kino_str name, bool is_strict);

static inline bool kino__frame_is_hta(const kino__frame *f)
{
    return f->mode != KINO__FRAME_DEFAULT;
}

/* -- working memory */

enum { KINO__FRAME_KEPT = 0x80 }; /* beside the flags of frame.h, while it is made */

/* What rows of a category are. */
enum {
    KINO__OF_KEPT = 1, /* not the profiler's own */
    KINO__OF_DEVICE = 2,
    KINO__OF_KERNEL = 4,
    KINO__OF_SYNC = 8,
    KINO__OF_GPU_ANNOTATION = 16,
    KINO__OF_OP = 32,   /* "cpu_op" */
    KINO__OF_CALLS = 64 /* MTIA: what HTA takes for the host's */
};

/* What a name says; the low bits are its kino__kernel_type once KINO__NAME_TYPED is set. */
enum {
    KINO__NAME_TYPE = 0xf,
    KINO__NAME_TYPED = 0x10,
    KINO__NAME_SYNC = 0x20, /* a synchronisation record */
    KINO__NAME_STEP = 0x40,
};

/* The rows of one correlation. */
typedef struct kino__frame_call {
    uint32_t last[2]; /* number + 1 of the last row of the host and of the device side; 0: none */
    uint32_t hosts;   /* rows of the host that stay */
} kino__frame_call;

/* By correlation: an array where ids are dense, as they are, else a map. */
typedef struct kino__frame_calls {
    int64_t first; /* id of dense[0] */
    uint64_t dense_count;
    kino__frame_call *dense;
    kino__map places; /* other ids -> place in sparse */
    KINO__VEC(kino__frame_call) sparse;
} kino__frame_calls;

/* Pieces of time between the edges of steps. */
typedef struct kino__frame_pieces {
    int64_t *edges;
    int64_t *number; /* of the step in the piece from edge i to edge i + 1; -1: none */
    size_t count;    /* edges */
} kino__frame_pieces;

typedef struct kino__frame_work {
    kino__frame *f;
    kino__pool *pool;
    const int64_t *stream_arg; /* HTA: by row; else NULL */
    uint8_t *of_category;      /* by id below category_count */
    size_t category_count;
    uint8_t *of_name;
    uint8_t *flags;          /* by row */
    uint32_t *row_of_number; /* the file's order; KINO_NO_ROW: not kept */
    kino__frame_calls calls;
    KINO__VEC(kino__frame_step) steps; /* of the whole trace, in file order; at: the row */
    kino__frame_pieces pieces;
    bool is_cutting; /* device rows come first, and only what has KINO__FRAME_KEPT stays */
    bool is_mtia;    /* MTIA's own cut: the file's order */
} kino__frame_work;

/* -- frame_scan.c; false when memory is out */
bool kino__frame_scan(kino__frame_work *w);
void kino__frame_work_deinit(kino__frame_work *w);
/* The entry of a correlation; NULL when memory is out. */
kino__frame_call *kino__frame_call_add(kino__frame_calls *calls, int64_t correlation);
/* ... or NULL when there is none. */
const kino__frame_call *kino__frame_call_sparse(const kino__frame_calls *calls,
                                                int64_t correlation);

/* -- frame_steps.c; false when memory is out */
bool kino__frame_choose(kino__frame_work *w, bool has_last_step);
/* MTIA: memory work inside of a step takes what it lacks from the step and its thread. */
bool kino__frame_fix_mtia(const kino__frame_work *w);
bool kino__frame_list_steps(kino__frame *f);

/* -- what all of them ask about a row */

static inline unsigned kino__frame_category(const kino__frame_work *w, uint32_t row)
{
    uint16_t id = w->f->trace->category[row];
    return id < w->category_count      ? w->of_category[id]
           : id == KINO__CATEGORY_NONE ? 0
                                       : KINO__OF_KEPT;
}

static inline unsigned kino__frame_name_bits(const kino__frame_work *w, uint32_t row)
{
    kino_strid name = w->f->trace->name[row];
    return name == KINO_NO_STRING ? 0 : w->of_name[name];
}

static inline kino__kernel_type kino__frame_type(const kino__frame_work *w, uint32_t row)
{
    unsigned category = kino__frame_category(w, row);
    if (!kino__frame_is_hta(w->f) && !(category & KINO__OF_KERNEL))
        return category & KINO__OF_DEVICE ? KINO__KERNEL_MEMORY : KINO__KERNEL_OTHER;
    return (kino__kernel_type)(kino__frame_name_bits(w, row) & KINO__NAME_TYPE);
}

/* -1: none */
static inline int64_t kino__frame_correlation(const kino__trace *trace, uint32_t row)
{
    uint32_t bind = trace->bind[row];
    if (bind == KINO__BIND_NONE)
        return -1;
    if (trace->phase[row] == 'X' && bind != KINO__BIND_WIDE)
        return bind;
    int64_t correlation = kino__trace_correlation(trace, row);
    return correlation == KINO_NO_INT ? -1 : correlation;
}

static inline const kino__frame_call *kino__frame_call_of(const kino__frame_calls *calls,
                                                          int64_t correlation)
{
    uint64_t place = (uint64_t)correlation - (uint64_t)calls->first;
    return place < calls->dense_count ? &calls->dense[place]
                                      : kino__frame_call_sparse(calls, correlation);
}

/* ns as the file counts them. */
static inline int64_t kino__frame_file_ns(const kino__trace *trace, uint32_t row)
{
    return (int64_t)((uint64_t)trace->ts[row] + (uint64_t)trace->origin_ns -
                     (uint64_t)trace->base_ns);
}

/* A row's time as the frame has it. */
static inline void kino__frame_time(const kino__frame *f, uint32_t row, int64_t *ts, int64_t *dur)
{
    const kino__trace *trace = f->trace;
    int64_t length = trace->dur[row];
    if (f->mode == KINO__FRAME_DEFAULT) {
        *ts = trace->ts[row];
        *dur = length > 0 ? length : 0; /* a negative one is damage: completeness counts it */
    } else if (f->mode == KINO__FRAME_HTA_NS) {
        *ts = kino__frame_file_ns(trace, row);
        *dur = length;
    } else if (!f->is_rounded) {
        *ts = kino__frame_file_ns(trace, row) / 1000;
        *dur = length / 1000;
    } else { /* HTA's time: doubles of microseconds, start rounded up, end down */
        double start = (double)((long double)kino__frame_file_ns(trace, row) / 1000.0L);
        double end = start + (double)((long double)length / 1000.0L);
        *ts = (int64_t)ceil(start);
        *dur = (int64_t)floor(end) - *ts;
    }
}

/* The number of the step at a time; *hint speeds up the next question about a time near by. */
static inline int64_t kino__frame_number_at(const kino__frame_pieces *p, int64_t time, size_t *hint)
{
    size_t low = *hint;
    if ((low > 0 && p->edges[low - 1] > time) || (low < p->count && p->edges[low] <= time)) {
        low = KINO__SEARCH(size_t, i, 0, p->count, p->edges[i] <= time);
        *hint = low; /* the first edge behind time */
    }
    return low == 0 || low == p->count ? -1 : p->number[low - 1];
}

#endif
