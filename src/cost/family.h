/* family.h - how a family of operators says what its members cost. A new family:
 *
 *   1. src/cost/family_<name>.c with `const kino__cost_family kino__cost_family_<name>`: a table of
 *      bare names (op_call.h), their role (charge.h) and the function that computes them;
 *   2. FAMILY(<name>) in families.def;
 *   3. a test in tests/unit/cost/ with values worked out by hand, a line in docs/costs.md.
 *
 * A function reads the inputs with the helpers below and calls kino__cost_set once, or says why it
 * cannot (kino__cost_unknown). Figures that are not known are KINO_NO_INT and stay so through all
 * arithmetic; what overflows becomes INT64_MAX, and then unknown. */
#ifndef KINO__COST_FAMILY_H
#define KINO__COST_FAMILY_H

#include "cost/cost.h"

typedef struct kino__cost_op kino__cost_op;

/* One call to be costed. */
typedef struct kino__cost_ask {
    const kino__op_call *call;
    const kino__cost_op *op;
    kino__cost_mode mode;
} kino__cost_ask;

typedef void (*kino__cost_fn)(const kino__cost_ask *ask, kino__cost *cost);

struct kino__cost_op {
    const char *name; /* bare */
    kino__cost_role role;
    kino__cost_fn compute;
    const void *data; /* the family's own: where arguments are */
    int32_t weight;   /* the family's own: operations per element */
    int32_t variant;  /* the family's own */
};

typedef struct kino__cost_family {
    const char *name;
    const kino__cost_op *ops; /* ended by a name of NULL */
} kino__cost_family;

#define FAMILY(name) extern const kino__cost_family kino__cost_family_##name;
#include "cost/families.def"
#undef FAMILY

/* The operator of a bare name, and its family; NULL: none. */
const kino__cost_op *kino__cost_op_find(kino_str bare, const char **family);

/* -- arithmetic -- */

int64_t kino__cost_add(int64_t a, int64_t b);
int64_t kino__cost_mul(int64_t a, int64_t b);
/* The product of sizes [from, to). */
int64_t kino__cost_product(const int64_t *sizes, uint32_t from, uint32_t to);

/* -- inputs -- */

enum { KINO__COST_RANK_MAX = 64 }; /* of what is broadcast: PyTorch's own limit */

typedef struct kino__cost_tensor {
    const int64_t *sizes;
    uint32_t rank;
    kino__dtype dtype;
    int64_t elements, bytes;
} kino__cost_tensor;

/* The input of a position, or of a keyword (NULL: has none); NULL: there is none. */
const kino__op_input *kino__cost_input(const kino__cost_ask *ask, uint32_t position,
                                       const char *keyword);
/* The same when it is a tensor. */
bool kino__cost_tensor_at(const kino__cost_ask *ask, uint32_t position, const char *keyword,
                          kino__cost_tensor *tensor);
/* All tensors, those of lists one by one: *i is 0 at first; false behind the last. */
bool kino__cost_next_tensor(const kino__cost_ask *ask, size_t *i, kino__cost_tensor *tensor);
/* Size i from the end: 0 is the last. */
static inline int64_t kino__cost_last(const kino__cost_tensor *tensor, uint32_t i)
{
    return tensor->sizes[tensor->rank - 1 - i];
}

typedef enum kino__cost_value {
    KINO__COST_VALUE_ABSENT, /* left out: the default applies */
    KINO__COST_VALUE_HIDDEN, /* given, but the trace does not say what it is */
    KINO__COST_VALUE_KNOWN,
} kino__cost_value;
kino__cost_value kino__cost_int_at(const kino__cost_ask *ask, uint32_t position,
                                   const char *keyword, int64_t *out);
kino__cost_value kino__cost_bool_at(const kino__cost_ask *ask, uint32_t position,
                                    const char *keyword, bool *out);
kino__cost_value kino__cost_ints_at(const kino__cost_ask *ask, uint32_t position,
                                    const char *keyword, int64_t *out, uint32_t room,
                                    uint32_t *count);

/* Of all tensors: their bytes together; KINO_NO_INT where a type is unknown. */
int64_t kino__cost_input_bytes(const kino__cost_ask *ask);
/* Elements of the shape that all tensors broadcast to; KINO_NO_INT: they do not. */
int64_t kino__cost_broadcast(const kino__cost_ask *ask);
/* Bytes of so many elements. */
int64_t kino__cost_bytes_of(int64_t elements, kino__dtype dtype);

/* The first tensor; false, and said so: there is none. */
bool kino__cost_first_tensor(const kino__cost_ask *ask, kino__cost *cost,
                             kino__cost_tensor *tensor);

/* -- results -- */

void kino__cost_set(kino__cost *cost, int64_t flops, int64_t bytes_read, int64_t bytes_written,
                    kino__dtype precision);
/* The same of products that matrix units do. */
void kino__cost_set_matrix(kino__cost *cost, int64_t flops, int64_t bytes_read,
                           int64_t bytes_written, kino__dtype precision);
void kino__cost_unknown(kino__cost *cost, const char *reason);

/* Functions that several families use. op->weight operations for each element of the shape that all
 * tensors broadcast to; all are read, and a result of the first one's type is written. */
void kino__cost_elementwise(const kino__cost_ask *ask, kino__cost *cost);
/* The same with a result of op->variant, a kino__dtype. */
void kino__cost_elementwise_to(const kino__cost_ask *ask, kino__cost *cost);
/* op->weight operations for each element of the first tensor, which is passed over op->variant
 * times: once to write, else to read. */
void kino__cost_passes(const kino__cost_ask *ask, kino__cost *cost);
/* Nothing is computed or moved: views, allocations. */
void kino__cost_nothing(const kino__cost_ask *ask, kino__cost *cost);

extern const char kino__cost_no_shapes[];  /* "shapes were not recorded" */
extern const char kino__cost_bad_shapes[]; /* the inputs do not fit the operator */
extern const char kino__cost_no_values[];  /* "values of arguments were not recorded" */

#endif
