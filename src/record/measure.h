/* measure.h - what this machine can do at most, measured: a matrix product and a triad, on the CPU
 * and on OpenCL devices.
 *
 * The product works on packed blocks that stay in the caches, the triad (a = b + s * c, in doubles
 * on the CPU, floats on devices) on arrays that do not fit into them; 2 operations per
 * multiply-add, 3 elements moved per element of the triad. The best of several rounds counts. */
#ifndef KINO__RECORD_MEASURE_H
#define KINO__RECORD_MEASURE_H

#include <kino/base.h>

#include "base/vec.h"

typedef struct kino__measured {
    char name[160];
    const char *kind;  /* "CPU", "OpenCL" */
    double fp32, fp64; /* TFLOP/s; 0: not measured */
    double memory;     /* GB/s; the same */
    char reason[200];  /* why something was not measured; empty: all was */
} kino__measured;

typedef KINO__VEC(kino__measured) kino__measured_list;

/* Each appends; a device that fails has a reason. KINO_NO_MEMORY and the like only. */
KINO_NODISCARD kino_status kino__measure_cpu(kino__measured_list *list, kino_error *err);
KINO_NODISCARD kino_status kino__measure_opencl(kino__measured_list *list, kino_error *err);

#endif
