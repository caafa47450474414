/* launch.c - names of calls of the runtimes. */
#include "analysis/launch.h"

#include "base/str.h"

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
#include "analysis/launches.def"
#undef LAUNCH
};

enum { CALLS = sizeof calls / sizeof *calls };

/* "_v7000", "_ptsz", "_v7000_ptsz": the same call. */
static bool is_version(kino_str rest)
{
    return rest.size == 0 || kino__str_starts_with(rest, KINO__STR("_v")) ||
           kino__str_starts_with(rest, KINO__STR("_ptsz"));
}

kino__launch_kind kino__launch_kind_of(kino_str name)
{
    for (size_t i = 0; i < CALLS; i++) {
        kino_str known = calls[i].name;
        if (kino__str_starts_with(name, known) &&
            is_version((kino_str){name.data + known.size, name.size - known.size}))
            return calls[i].kind;
    }
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
