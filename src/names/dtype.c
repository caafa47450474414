/* dtype.c - element types of tensors; see the header. */
#include "names/dtype.h"

static const struct {
    kino__dtype dtype;
    kino_str name;
} names[] = {
#define DTYPE_NAME(id, name) {KINO__DTYPE_##id, {name, sizeof name - 1}},
#include "names/dtype.def"
};

kino__dtype kino__dtype_of(kino_str name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_equal(name, names[i].name))
            return names[i].dtype;
    return KINO__DTYPE_NONE;
}

uint32_t kino__dtype_bits(kino__dtype dtype)
{
    static const uint8_t bits[KINO__DTYPES] = {
#define DTYPE(id, bits, name) [KINO__DTYPE_##id] = (bits),
#include "names/dtype.def"
    };
    return bits[dtype];
}

uint32_t kino__dtype_bytes(kino__dtype dtype)
{
    return (kino__dtype_bits(dtype) + 7) / 8;
}

const char *kino__dtype_name(kino__dtype dtype)
{
    static const char *const shorts[KINO__DTYPES] = {
        [KINO__DTYPE_NONE] = "unknown",
#define DTYPE(id, bits, name) [KINO__DTYPE_##id] = (name),
#include "names/dtype.def"
    };
    return shorts[dtype];
}
