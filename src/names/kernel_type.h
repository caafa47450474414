/* kernel_type.h - what work on a device is, by the name of its event: kernel_types.def. */
#ifndef KINO__NAMES_KERNEL_TYPE_H
#define KINO__NAMES_KERNEL_TYPE_H

#include <kino/base.h>

typedef enum kino__kernel_type {
    KINO__KERNEL_COMPUTATION,
    KINO__KERNEL_COMMUNICATION,
    KINO__KERNEL_MEMORY,
    KINO__KERNEL_OTHER,
    KINO__KERNEL_TYPES,
} kino__kernel_type;

const char *kino__kernel_type_name(kino__kernel_type type); /* "COMPUTATION", ... */

/* HTA asks the name alone; ours is for kernels, whose category is known already. */
kino__kernel_type kino__kernel_type_of(kino_str name, bool is_hta);

#endif
