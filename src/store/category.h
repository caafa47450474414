/* category.h - known event categories and the kinds they belong to, made from categories.def.
 *
 * A category id below KINO__CATEGORY_COUNT is one of the list and the same in every trace; ids
 * above are a trace's own unknown categories (kino__trace_category_text names them). */
#ifndef KINO__STORE_CATEGORY_H
#define KINO__STORE_CATEGORY_H

#include <kino/base.h>

typedef enum kino__category {
#define CATEGORY(name, text, kind) KINO__CATEGORY_##name,
#include "store/categories.def"
#undef CATEGORY
    KINO__CATEGORY_COUNT,
    /* more distinct categories than ids: the text is in the event's source */
    KINO__CATEGORY_MANY = 0xfffe,
    KINO__CATEGORY_NONE = 0xffff,
} kino__category;

/* The numbers are bits of tracks in .kino files: new kinds come at the end, old ones never go. */
typedef enum kino__kind {
    KINO__KIND_OTHER, /* unknown categories too */
    KINO__KIND_OP,
    KINO__KIND_ANNOTATION,
    KINO__KIND_GPU_ANNOTATION,
    KINO__KIND_KERNEL,
    KINO__KIND_MEMCPY,
    KINO__KIND_MEMSET,
    KINO__KIND_RUNTIME,
    KINO__KIND_DRIVER,
    KINO__KIND_SYNC,
    KINO__KIND_INSTANT,
    KINO__KIND_PYTHON,
    KINO__KIND_OVERHEAD,
    KINO__KIND_COUNTER,
    KINO__KIND_SPAN,
    KINO__KIND_LAUNCH_FLOW,
    KINO__KIND_AUTOGRAD_FLOW,
    KINO__KIND_SAMPLE,        /* a function of the CPU, by samples of its stack */
    KINO__KIND_OFF_CPU,       /* the same while the thread was not running */
    KINO__KIND_PYTHON_SAMPLE, /* a Python function, by samples of its stack */
    KINO__KIND_COUNT,
} kino__kind;

#define KINO__KIND_BIT(kind) (1u << (kind))
/* What runs on a device stream. */
#define KINO__KINDS_DEVICE                                                                         \
    (KINO__KIND_BIT(KINO__KIND_KERNEL) | KINO__KIND_BIT(KINO__KIND_MEMCPY) |                       \
     KINO__KIND_BIT(KINO__KIND_MEMSET))
/* Calls on the host that put work on a device. */
#define KINO__KINDS_LAUNCH (KINO__KIND_BIT(KINO__KIND_RUNTIME) | KINO__KIND_BIT(KINO__KIND_DRIVER))

/* Any id; unknown ones are KINO__KIND_OTHER. */
kino__kind kino__category_kind(uint16_t category);

/* The text of a known category. */
kino_str kino__category_text(uint16_t category);

/* The known category with this text, or KINO__CATEGORY_NONE. */
uint16_t kino__category_find(kino_str text);

#endif
