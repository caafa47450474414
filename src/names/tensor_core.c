/* tensor_core.c - see the header. */
#include "names/tensor_core.h"

#include "base/str.h"

static bool is_vector_kernel(kino_str name)
{
#define TENSOR_KERNEL(text, compat)
#define VECTOR_KERNEL(text)                                                                        \
    if (kino__str_contains(name, KINO__STR(text)))                                                 \
        return true;
#define TENSOR_OP(name, compat)
#include "names/tensor_cores.def"
#undef TENSOR_KERNEL
#undef VECTOR_KERNEL
#undef TENSOR_OP
    return false;
}

bool kino__name_uses_tensor_cores(kino_str name, bool is_compat)
{
#define TENSOR_KERNEL(text, compat)                                                                \
    if ((compat || !is_compat) && kino__str_contains(name, KINO__STR(text)))                       \
        return is_compat || !is_vector_kernel(name);
#define VECTOR_KERNEL(text)
#define TENSOR_OP(name, compat)
#include "names/tensor_cores.def"
#undef TENSOR_KERNEL
#undef VECTOR_KERNEL
#undef TENSOR_OP
    return false;
}

bool kino__name_could_use_tensor_cores(kino_str name, bool is_compat)
{
#define TENSOR_KERNEL(text, compat)
#define VECTOR_KERNEL(text)
#define TENSOR_OP(text, compat)                                                                    \
    if ((compat || !is_compat) && kino__str_is(name, text))                                        \
        return true;
#include "names/tensor_cores.def"
#undef TENSOR_KERNEL
#undef VECTOR_KERNEL
#undef TENSOR_OP
    return false;
}
