/* collectives.c - exposed time of collectives by name. */
#include "rule/collectives.h"

#include <stdio.h>

enum { NAMES_MAX = 64 }; /* the last one takes what does not fit */

bool kino__collective_worst(const kino__scan *scan, kino__collective *worst)
{
    const kino__profile *p = scan->profile;
    kino__collective all[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->comm.count; i++) {
        const kino__comm_record *record = &p->comm.items[i];
        if (record->kernel == KINO_NO_ROW)
            continue;
        kino__interval span = kino__scan_interval(scan, record->kernel);
        int64_t exposed = kino__scan_exposed(scan, span);
        size_t at = 0;
        while (at < count && all[at].name != record->name)
            at++;
        if (at == count && count < NAMES_MAX)
            all[count++] = (kino__collective){.name = record->name};
        kino__collective *c = &all[at < count ? at : count - 1];
        c->count++;
        c->time += span.end - span.start;
        c->exposed += exposed;
        kino__top_add(&c->top, exposed, record->kernel);
    }
    const kino__collective *best = count ? &all[0] : NULL;
    for (size_t i = 1; i < count; i++)
        best = all[i].exposed > best->exposed ? &all[i] : best;
    if (best)
        *worst = *best;
    return best && best->exposed > 0;
}

const char *kino__collective_say(const kino__rule_look *l, const kino__collective *collective,
                                 char *text, size_t size)
{
    kino_str name = collective->name == KINO_NO_STRING
                        ? KINO__STR("collective")
                        : kino__trace_string(l->trace, collective->name);
    (void)snprintf(text, size, "%.*s: %.1f a step of %s on average, %s of it hidden",
                   (int)kino__cut(name, 80), name.data,
                   (double)collective->count / (double)l->facts->step_count,
                   kino__say_time(collective->time / (int64_t)collective->count),
                   kino__say_share(collective->time - collective->exposed, collective->time));
    return text;
}
