/* launch_calls.c - names of calls of the runtimes. */
#include "names/launch_calls.h"

#include "base/str.h"
#include "names/name_rule.h"

enum {
    QUEUE = KINO__CALL_QUEUE,
    STATS = KINO__CALL_STATS,
    LOCK = KINO__CALL_LOCK,
    BLOCKING = KINO__CALL_BLOCKING,
    RECORD = KINO__CALL_RECORD,
    WAIT = KINO__CALL_WAIT,
    NVIDIA = KINO__CALL_NVIDIA,
    AMD = KINO__CALL_AMD,
    MTIA = KINO__CALL_MTIA,
};

static const struct {
    kino_str name;
    kino__launch_kind kind;
    unsigned marks;
} calls[] = {
#define LAUNCH(text, kind, marks) {{text, sizeof(text) - 1}, KINO__LAUNCH_##kind, marks},
#include "names/launches.def"
#undef LAUNCH
};

enum { CALLS = sizeof calls / sizeof *calls };

kino__launch_kind kino__launch_kind_of(kino_str name)
{
    for (size_t i = 0; i < CALLS; i++)
        if (kino__name_fits(name, KINO__NAME_WHOLE, calls[i].name))
            return calls[i].kind;
    return KINO__LAUNCH_NONE;
}

unsigned kino__call_marks(kino_str name)
{
    for (size_t i = 0; i < CALLS; i++)
        if (kino__str_equal(calls[i].name, name))
            return calls[i].marks;
    return 0;
}

kino_str kino__call_with(unsigned marks, size_t index)
{
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].marks & marks && index-- == 0)
            return calls[i].name;
    return (kino_str){"", 0};
}
