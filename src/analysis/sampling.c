/* sampling.c - see sampling.h. */
#include "analysis/sampling.h"

#include "store/args.h"
#include "store/interval.h"

enum { BROKEN_SHARE = 10 /* one in so many is too much */ };

static void add_text(kino__sampling *sum, int64_t *most, kino_str text)
{
    int64_t stacks = kino__args_int(text, "samples"), broken = kino__args_int(text, "broken");
    if (stacks <= 0 || broken < 0 || broken > stacks) /* KINO_NO_INT is below 0, too */
        return;
    sum->stacks = kino__sum(sum->stacks, stacks);
    sum->broken = kino__sum(sum->broken, broken);
    kino_str how = kino__args_find(text, KINO__STR("stacks"));
    sum->has_pointers |= kino__str_contains(how, KINO__STR("frame pointers"));
    if (broken > *most) {
        *most = broken;
        sum->module = kino__args_find(text, KINO__STR("broken_in"));
    }
}

kino__sampling kino__sampling_of(const kino__trace *trace)
{
    kino__sampling sum = {0};
    int64_t most = 0;
    kino_str own = kino__trace_metadata(trace, "kino_sampling");
    if (own.size) {
        add_text(&sum, &most, own);
        return sum;
    }
    kino_str parts = kino__trace_metadata(trace, "ranks"), part;
    while (kino__json_object_at(parts, 0, &part)) {
        const char *end = part.data + part.size;
        parts = (kino_str){end, (size_t)(parts.data + parts.size - end)};
        kino_str metadata = kino__args_find(part, KINO__STR("metadata"));
        add_text(&sum, &most, kino__args_find(metadata, KINO__STR("kino_sampling")));
    }
    return sum;
}

bool kino__stacks_are_broken(int64_t stacks, int64_t broken)
{
    return broken > stacks / BROKEN_SHARE;
}
