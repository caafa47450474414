/* cost_roof.h - sums of costs and what limits them: the roofs of a device, percent of the roof,
 * what bounds the work.
 *
 *   time at the roof = max(operations / peak rate of the precision, bytes / memory bandwidth)
 *
 * Times at roofs are added up as integers (ps), each rounded once, so that sums do not depend on
 * their order. */
#ifndef KINO__ANALYSIS_COST_ROOF_H
#define KINO__ANALYSIS_COST_ROOF_H

#include "analysis/costs/cost_work.h"
#include "names/device_peaks.h"

/* Peaks of the devices of one trace: looked up by the names in deviceProperties, or given. */
typedef struct kino__roofs {
    const kino__trace *trace;
    bool is_given;
    kino__device_peaks given;
    /* the device that was asked for last */
    int64_t device;
    const kino__device_peaks *found;
} kino__roofs;

/* `peak` as --peak has it; empty: by name. */
KINO_NODISCARD kino_status kino__roofs_init(kino__roofs *roofs, const kino__trace *trace,
                                            kino_str peak, kino_error *err);
/* NULL: unknown. */
const kino__device_peaks *kino__roofs_of(kino__roofs *roofs, int64_t device);
/* The name of a device in deviceProperties, escapes kept; empty: not recorded. */
kino_str kino__trace_device_name(const kino__trace *trace, int64_t device);
/* An integer property of it, or KINO_NO_INT. */
int64_t kino__trace_device_int(const kino__trace *trace, int64_t device, const char *key);
/* Checks a parameter of this kind; for .check of analyses. */
KINO_NODISCARD kino_status kino__roofs_check(kino_str peak, kino_error *err);

#define KINO__PEAK_PARAM                                                                           \
    {                                                                                              \
        "peak", KINO_TYPE_STRING, NULL,                                                            \
            "device of 'kino peaks', or figures: fp32=19.5,memory=1555 (default: by name)", NULL   \
    }

/* -- sums -- */

typedef struct kino__cost_sum {
    int64_t calls;                 /* charges of operators; copies; kernels without an operator */
    int64_t kernels;               /* device rows; operators on the host */
    int64_t starved;               /* of them */
    int64_t time, known_time;      /* all; where the cost is known */
    int64_t flops, bytes;          /* of what is known */
    int64_t byte_time;             /* of work whose bytes are known */
    int64_t roof_time;             /* of work whose roof is known */
    int64_t compute_ps, memory_ps; /* at the one roof and the other */
    int64_t roof_ps;               /* at the roof that counts, each time */
    int64_t matrix_time, tensor_time;    /* of products; the part of it on matrix units */
    int64_t gap_time[KINO__TENSOR_GAPS]; /* of products that could have used them, by the reason */
} kino__cost_sum;

/* Which rate counts for a piece of work: products of 16 bits and less and of FP64 have matrix units
 * as their roof; those of FP32 only where their kernels use them. */
kino__precision kino__work_precision(const kino__cost_work *work, const kino__work_item *item,
                                     const kino__device_peaks *peaks);
void kino__cost_sum_item(kino__cost_sum *sum, const kino__cost_work *work,
                         const kino__work_item *item, const kino__device_peaks *peaks);
void kino__cost_sum_add(kino__cost_sum *sum, const kino__cost_sum *more);
void kino__cost_sum_pack(kino__pack *pack, kino__cost_sum *sum);

/* -- figures, for finish; NaN: unknown -- */

double kino__cost_tflops(const kino__cost_sum *sum);
double kino__cost_gbps(const kino__cost_sum *sum);
double kino__cost_intensity(const kino__cost_sum *sum);    /* FLOP per byte */
double kino__cost_roof_percent(const kino__cost_sum *sum); /* time at the roof / time */
double kino__cost_percent(int64_t part, int64_t whole);

/* "compute", "memory", "launch", "latency"; NULL: unknown. */
const char *kino__cost_bound(const kino__cost_sum *sum);

/* Why most of its products that could have used matrix units did not: kino__tensor_gap_name; NULL:
 * all did, or could not. */
const char *kino__cost_gap(const kino__cost_sum *sum);

/* Its time if all of it ran at `percent` of its roof, never more than it took; KINO_NO_INT. */
int64_t kino__cost_time_at(const kino__cost_sum *sum, double percent);

#endif
