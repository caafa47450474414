/* launch.c - names of launching calls. */
#include "analysis/launch.h"

#include "base/str.h"

/* "_v7000", "_ptsz", "_v7000_ptsz": the same call. */
static bool is_version(kino_str rest)
{
    return rest.size == 0 || kino__str_starts_with(rest, KINO__STR("_v")) ||
           kino__str_starts_with(rest, KINO__STR("_ptsz"));
}

kino__launch_kind kino__launch_kind_of(kino_str name)
{
    static const struct {
        kino_str name;
        kino__launch_kind kind;
    } launches[] = {
#define LAUNCH(text, kind) {{text, sizeof(text) - 1}, KINO__LAUNCH_##kind},
#include "analysis/launches.def"
#undef LAUNCH
    };
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        kino_str known = launches[i].name;
        if (kino__str_starts_with(name, known) &&
            is_version((kino_str){name.data + known.size, name.size - known.size}))
            return launches[i].kind;
    }
    return KINO__LAUNCH_NONE;
}
