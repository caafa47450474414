/* operators_internal.h - what the arguments of operators say: shapes of inputs, call stacks. */
#ifndef KINO__ANALYSIS_OPERATORS_INTERNAL_H
#define KINO__ANALYSIS_OPERATORS_INTERNAL_H

#include "model/profile/profile.h"

typedef struct kino__operator_args {
    bool wants_shapes, wants_stacks; /* set by the caller */
    /* One entry a node of the profile, those of operators filled in. */
    kino_strid *shape;  /* in texts; NULL unless wanted; KINO_NO_STRING: not recorded */
    kino_strid *stack;  /* the same */
    uint8_t *has_stack; /* there always */
    kino__string_pool texts;
} kino__operator_args;

/* False when memory is out. Arguments are read on all threads of the pool; the answer does not
 * depend on them. Deinitialise also after a failure. */
KINO_NODISCARD bool kino__operator_args_read(kino__operator_args *args,
                                             const kino__profile *profile, kino__pool *pool);
void kino__operator_args_deinit(kino__operator_args *args);

#endif
