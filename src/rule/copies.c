/* copies.c - see the header. */
#include "rule/copies.h"

kino__copies kino__copies_find(const kino__rule_look *l, kino__scan_class class)
{
    const kino__scan_items *items = &l->scan->items[class];
    kino__copies found = {.class = class};
    kino__intervals spans = {0};
    for (size_t i = 0; i < items->count; i++) {
        kino__interval copy = kino__scan_interval(l->scan, items->items[i].row);
        int64_t part = kino__scan_exposed(l->scan, copy);
        if (part && !kino__scan_add_span(l->scan, copy, &spans))
            l->out->failed = true;
        found.count += part != 0;
        if (part)
            kino__top_add(&found.top, part, i);
    }
    (void)kino__scan_unite(&spans);
    for (size_t i = 0; i < spans.count; i++) {
        found.exposed += kino__scan_exposed(l->scan, spans.items[i]);
        found.spent += spans.items[i].end - spans.items[i].start;
    }
    kino__vec_deinit(&spans);
    return found;
}

kino__finding *kino__copies_add(const kino__rule_look *l, const kino__copies *copies, double share,
                                const char *which)
{
    const kino__scan_items *items = &l->scan->items[copies->class];
    if (copies->count == 0 || !kino__is_above(copies->exposed, l->facts->step_time, share))
        return NULL;
    kino__finding *f = kino__finding_add(
        l->out, kino__severity_of(copies->exposed, l->facts->step_time), copies->exposed);
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f copies per step %s take %s per step, of which %s (%s of the step time) "
                      "is not hidden behind computation",
                      (double)copies->count / (double)l->facts->step_count, which,
                      kino__say_time(copies->spent / l->facts->step_count),
                      kino__say_time(copies->exposed / l->facts->step_count),
                      kino__say_share(copies->exposed, l->facts->step_time));
    for (size_t i = 0; i < items->count; i++)
        kino__scan_claim_row(l, f, items->items[i].row);
    for (size_t i = 0; i < copies->top.count; i++)
        kino__finding_cite(f,
                           kino__trace_event_id(l->trace, items->items[copies->top.index[i]].row));
    return f;
}
