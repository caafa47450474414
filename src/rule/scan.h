/* scan.h - what several rules need of one trace, found in one pass: calls and operators of certain
 * names with the line of Python around them, and when the device did nothing.
 *
 * "Idle" is time inside the kept steps in which no kernel, copy or set runs on any device of the
 * trace, without exposed communication: where the host carries it out (gloo, MPI), the device cannot
 * be fed meanwhile. A trace without device work is idle apart from that, so that time of the host
 * counts in full.
 * While work is launched and has not started, the host is not what an idle device waits for, but
 * work that was not recorded (of before the recording, above all), another process, or an event.
 * Time of the host can be saved only where the device is idle, time of the device only where it is
 * busy: this is how rules estimate gains.
 *
 * Cost: linear; a list entry for each interesting row, 24 bytes for each stretch of idle time. */
#ifndef KINO__RULE_SCAN_H
#define KINO__RULE_SCAN_H

#include "model/profile/profile.h"

typedef enum kino__scan_class {
    KINO__SCAN_NONE,
    KINO__SCAN_SYNC,          /* calls that wait for the device */
    KINO__SCAN_ALLOCATION,    /* calls that get or give back device memory */
    KINO__SCAN_PAGEABLE,      /* copies from or to pageable memory, on the device */
    KINO__SCAN_HOST_COPY,     /* other copies between host and device */
    KINO__SCAN_TO,            /* aten::to */
    KINO__SCAN_SELECT,        /* aten::select */
    KINO__SCAN_MATMUL,        /* aten::mm, bmm, addmm, baddbmm */
    KINO__SCAN_CONVOLUTION,   /* aten::conv1d, conv2d, conv3d */
    KINO__SCAN_ZEROED,        /* zeroing of a gradient inside zero_grad */
    KINO__SCAN_OPTIMIZER,     /* Optimizer.step */
    KINO__SCAN_SINGLE_TENSOR, /* Python: _single_tensor_adam and the like */
    KINO__SCAN_SINGLE_LOADER, /* the data loader's iterator without worker processes */
    KINO__SCAN_COUNT,
} kino__scan_class;

typedef struct kino__scan_item {
    uint32_t row;
    uint32_t op;    /* row of the innermost operator around it, or KINO_NO_ROW */
    uint32_t frame; /* the same of the innermost Python function that is not the framework's */
} kino__scan_item;

typedef KINO__VEC(kino__scan_item) kino__scan_items;

/* Intervals in normal form that can be asked how much of a stretch of time they cover. */
typedef struct kino__cover {
    kino__intervals list;
    int64_t *before; /* list.count + 1 entries: time covered by the intervals before this one */
} kino__cover;

int64_t kino__cover_within(const kino__cover *cover, int64_t start, int64_t end);
/* The first interval that ends after this moment; list.count: none. */
size_t kino__cover_find(const kino__cover *cover, int64_t time);
/* The interval that holds this moment, or NULL. */
const kino__interval *kino__cover_at(const kino__cover *cover, int64_t time);

typedef struct kino__scan {
    const kino__profile *profile;
    const kino__trace *trace;
    kino__scan_items items[KINO__SCAN_COUNT]; /* in order of rows */
    kino__cover idle;                         /* see above */
    kino__cover compute;                      /* kernels that are no communication; lent list */
    kino__cover loader;                       /* data loader; lent list */
    kino__cover communication; /* communication's part of the steps: what is exposed */
    kino__cover loading;       /* the data loader's */
    kino__intervals queued;    /* of idle: work was launched and had not started */
    int64_t busy_time;         /* of the steps: work of the device */
    bool has_device;           /* device work was recorded */
    bool has_python;           /* Python functions were recorded */
    uint32_t main_track;       /* of the thread that runs the steps, UINT32_MAX: none */
} kino__scan;

/* False when memory is out. Deinitialise also then. */
bool kino__scan_init(kino__scan *scan, const kino__profile *profile);
void kino__scan_deinit(kino__scan *scan);

/* Does this moment of the host lie in a kept step? */
bool kino__scan_is_in_step(const kino__scan *scan, int64_t time);
/* The part of an interval that lies in kept steps. */
int64_t kino__scan_in_steps(const kino__scan *scan, kino__interval interval);
/* The part of an interval of the device that lies in kept steps and behind which no computation
 * hides. */
int64_t kino__scan_exposed(const kino__scan *scan, kino__interval interval);
/* How much of the step time is saved when the device's work becomes shorter by `saved`: in
 * proportion to how busy it is, because a device that waits anyway only waits longer. */
int64_t kino__scan_device_gain(const kino__scan *scan, int64_t saved, int64_t step_time);

static inline kino__interval kino__scan_interval(const kino__scan *scan, uint32_t row)
{
    return kino__interval_of(scan->trace->ts[row], scan->trace->dur[row]);
}

/* Spans nest, and threads and streams run side by side: time is added up as a list of intervals in
 * which each moment counts once. These add to it what lies in kept steps, of a span and of all work
 * on devices that was launched in a node and below it; false when memory is out. */
KINO_NODISCARD bool kino__scan_add_span(const kino__scan *scan, kino__interval span,
                                        kino__intervals *out);
KINO_NODISCARD bool kino__scan_add_work(const kino__scan *scan, uint32_t node,
                                        kino__intervals *out);
/* Brings the list into normal form and returns its time. */
int64_t kino__scan_unite(kino__intervals *list);
/* Idle time within the intervals of a list in normal form. */
int64_t kino__scan_idle_in(const kino__scan *scan, const kino__intervals *list);

/* Idle time within rows of a class whose spans begin in kept steps. `count`: how many spans that
 * are; `spent`: their time in the steps, each moment once. */
typedef struct kino__scan_sum {
    int64_t idle, spent;
    uint64_t count;
} kino__scan_sum;
KINO_NODISCARD bool kino__scan_sum_of(const kino__scan *scan, const kino__scan_items *items,
                                      kino__scan_sum *out);

/* What the main thread did at a moment: the innermost operator or call, and Python function that is
 * not the framework's; KINO_NO_ROW where there is none. */
kino__scan_item kino__scan_host_at(const kino__scan *scan, int64_t time);

/* "train.py(148): train_step" for an item, from Python functions or the operator's call stack; ""
 * when the trace does not know it. At most `size` bytes with the end. */
const char *kino__scan_line(const kino__scan *scan, const kino__scan_item *item, char *text,
                            size_t size);

/* The rows with the largest values so far, best first; of equal ones the earlier stays. */
enum { KINO__TOP_COUNT = 3 };
typedef struct kino__top {
    size_t count;
    int64_t value[KINO__TOP_COUNT];
    size_t index[KINO__TOP_COUNT];
} kino__top;
void kino__top_add(kino__top *top, int64_t value, size_t index);

#endif
