/* kernel_type.c - see the header. */
#include "names/kernel_type.h"

#include "names/communication.h"
#include "names/name_rule.h"

const char *kino__kernel_type_name(kino__kernel_type type)
{
    static const char *const names[] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"};
    return names[type];
}

kino__kernel_type kino__kernel_type_of(kino_str name, bool is_hta)
{
    if (!is_hta && kino__comm_of_kernel(name).kind != KINO__COMM_NONE)
        return KINO__KERNEL_COMMUNICATION;
#define KERNEL_TYPE(type, where, text, compat)                                                     \
    if ((compat == 1 || compat == (is_hta ? 2 : 0)) &&                                             \
        kino__name_fits(name, KINO__NAME_##where, KINO__STR(text)))                                \
        return KINO__KERNEL_##type;
#include "names/kernel_types.def"
#undef KERNEL_TYPE
    return KINO__KERNEL_COMPUTATION;
}
