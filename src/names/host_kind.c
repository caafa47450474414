/* host_kind.c - see the header. */
#include "names/host_kind.h"

#include "names/launch_calls.h"
#include "names/name_rule.h"

const char *kino__host_kind_name(kino__host_kind kind)
{
    static const char *const names[] = {"sync",       "data-loader", "gc",       "allocation",
                                        "launch",     "runtime",     "operator", "python",
                                        "annotation", "overhead",    "other",    "untraced"};
    return names[kind];
}

kino__host_kind kino__host_kind_of(kino_str name)
{
    if (kino__launch_kind_of(name) != KINO__LAUNCH_NONE)
        return KINO__HOST_LAUNCH;
#define HOST_NAME(kind, where, text)                                                               \
    if (kino__name_fits(name, KINO__NAME_##where, KINO__STR(text)))                                \
        return KINO__HOST_##kind;
#include "names/host_names.def"
#undef HOST_NAME
    return KINO__HOST_KINDS;
}
