/* launch.h - names of calls that put work on a device: one table for all analyses. */
#ifndef KINO__ANALYSIS_LAUNCH_H
#define KINO__ANALYSIS_LAUNCH_H

#include <kino/base.h>

typedef enum kino__launch_kind {
    KINO__LAUNCH_NONE,
    KINO__LAUNCH_KERNEL,
    KINO__LAUNCH_GRAPH, /* one call, many kernels */
    KINO__LAUNCH_MEMCPY,
    KINO__LAUNCH_MEMSET,
} kino__launch_kind;

/* What a call of this name (of a runtime or driver category) launches. Versioned names
 * ("cudaLaunchKernel_v7000", "_ptsz") count as well. */
kino__launch_kind kino__launch_kind_of(kino_str name);

#endif
