/* pyprof_internal.h - what the classes of PyProf share; for pyprof_*.c only.
 *
 * A class looks at the arguments and the kernel, writes the parameters and sets the figures, or
 * returns why PyProf stops there. */
#ifndef KINO__COST_PYPROF_INTERNAL_H
#define KINO__COST_PYPROF_INTERNAL_H

#include "cost/family.h"
#include "cost/pyprof_cost.h"

typedef struct kino__pyprof_look {
    const kino__op_call *call;
    const kino__pyprof_kernel *kernel;
    bool is_compat;
    kino__pyprof_cost *out;
} kino__pyprof_look;

/* NULL, or the reason why there is no cost. */
typedef const char *(*kino__pyprof_class_fn)(kino__pyprof_look *look);

typedef struct kino__pyprof_class {
    const char *words; /* operators, " with blanks "; NULL: what has no class */
    const char *name;
    kino__pyprof_class_fn compute;
} kino__pyprof_class;

/* The first that takes the operator (pyprof_classes.c). */
const kino__pyprof_class *kino__pyprof_class_of(const kino__op_call *call, bool is_compat);

/* A tensor among the arguments; a scalar is one without sizes. */
typedef struct kino__pyprof_tensor {
    const int64_t *sizes;
    uint32_t rank;
    kino_str type; /* as recorded */
    int64_t elements, itemsize, bytes;
} kino__pyprof_tensor;

/* The i-th argument, by keyword or not; NULL: there is none. */
const kino__op_input *kino__pyprof_argument(const kino__pyprof_look *look, uint32_t i);
uint32_t kino__pyprof_argument_count(const kino__pyprof_look *look);
/* The i-th argument as a tensor; false: it is none, or of a type that PyProf does not know. */
bool kino__pyprof_tensor_at(const kino__pyprof_look *look, uint32_t i, kino__pyprof_tensor *tensor);
/* An argument as a tensor; where `or_number`, a number as one without sizes. */
bool kino__pyprof_operand(const kino__pyprof_look *look, const kino__op_input *input,
                          bool or_number, kino__pyprof_tensor *tensor);
bool kino__pyprof_is_number(const kino__op_input *input);
/* Is the word one of " these words "? */
bool kino__pyprof_has_word(const char *words, kino_str word);
/* A type's size in bytes; 0: PyProf does not know it (or nobody does). */
int64_t kino__pyprof_itemsize(const kino__pyprof_look *look, kino_str type);

bool kino__pyprof_name_has(const kino__pyprof_look *look, const char *part);
bool kino__pyprof_name_has_any(const kino__pyprof_look *look, const char *const *parts);
bool kino__pyprof_is_forward(const kino__pyprof_look *look);

/* Params: "T=(3,4),", "M=3,", "fp32,", "[3,4]fp32". */
void kino__pyprof_put_shape(kino__pyprof_look *look, const char *key, const int64_t *sizes,
                            uint32_t rank);
void kino__pyprof_put_tuple(kino__buffer *out, const int64_t *sizes, uint32_t rank);
void kino__pyprof_put_number(kino__pyprof_look *look, const char *key, int64_t value);
void kino__pyprof_put_type(kino__pyprof_look *look, kino_str type);
void kino__pyprof_put_tensor(kino__pyprof_look *look, const kino__pyprof_tensor *tensor);

void kino__pyprof_set(kino__pyprof_look *look, int64_t flops, int64_t bytes);
/* "1" or "0", by the names of kernels that PyProf has for tensor cores. */
const char *kino__pyprof_tc(const kino__pyprof_look *look);

extern const char kino__pyprof_bad_arguments[];

/* Operators that treat each element by itself (pyprof_pointwise.c). */
bool kino__pyprof_is_pointwise(kino_str name, bool is_compat);
const char *kino__pyprof_pointwise(kino__pyprof_look *look);

/* The classes with products (pyprof_products.c). */
const char *kino__pyprof_linear(kino__pyprof_look *look);
const char *kino__pyprof_mm(kino__pyprof_look *look);
const char *kino__pyprof_addmm(kino__pyprof_look *look);
const char *kino__pyprof_bmm(kino__pyprof_look *look);
const char *kino__pyprof_matmul(kino__pyprof_look *look);
const char *kino__pyprof_conv(kino__pyprof_look *look);
const char *kino__pyprof_cell(kino__pyprof_look *look);

#endif
