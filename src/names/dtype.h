/* dtype.h - element types of tensors, by the names that traces give them. */
#ifndef KINO__NAMES_DTYPE_H
#define KINO__NAMES_DTYPE_H

#include "base/str.h"

typedef enum kino__dtype {
    KINO__DTYPE_NONE, /* not recorded, or not a type of elements: "Scalar", "TensorList", "" */
#define DTYPE(id, bits, name) KINO__DTYPE_##id,
#include "names/dtype.def"
    KINO__DTYPES,
} kino__dtype;

/* "float", "c10::Half", "Half": without quotes. */
kino__dtype kino__dtype_of(kino_str name);

/* Of an element, in bits and (rounded up) in bytes; 0 of KINO__DTYPE_NONE. */
uint32_t kino__dtype_bits(kino__dtype dtype);
uint32_t kino__dtype_bytes(kino__dtype dtype);

const char *kino__dtype_name(kino__dtype dtype); /* "fp32"; "unknown" of KINO__DTYPE_NONE */

#endif
