/* kernel_kind.c - see the header. */
#include "names/kernel_kind.h"

#include "base/str.h"

kino__kernel_kind kino__kernel_kind_of(kino_str name)
{
#define KERNEL_KIND(kind, part)                                                                    \
    if (kino__str_contains(name, KINO__STR(part)))                                                 \
        return KINO__KERNEL_KIND_##kind;
#include "names/kernel_kinds.def"
#undef KERNEL_KIND
    return KINO__KERNEL_KIND_OTHER;
}
