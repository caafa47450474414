/* kernel_kind.h - kernels by what bounds them: kernel_kinds.def. */
#ifndef KINO__NAMES_KERNEL_KIND_H
#define KINO__NAMES_KERNEL_KIND_H

#include <kino/base.h>

typedef enum kino__kernel_kind {
    KINO__KERNEL_KIND_OTHER,
    KINO__KERNEL_KIND_FUSED,     /* by a compiler, or by hand */
    KINO__KERNEL_KIND_COPY,      /* casts, copies, concatenations */
    KINO__KERNEL_KIND_LAYOUT,    /* NCHW to NHWC and back, around kernels of libraries */
    KINO__KERNEL_KIND_POINTWISE, /* each element on its own */
    KINO__KERNEL_KIND_NORM,
    KINO__KERNEL_KIND_REDUCE, /* reductions, softmax */
} kino__kernel_kind;

kino__kernel_kind kino__kernel_kind_of(kino_str name);

#endif
