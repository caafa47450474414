/* pageable_copy.c - copies between the device and pageable memory of the host.
 *
 * Kernel traces name them: "Memcpy HtoD (Pageable -> Device)". The driver copies such memory twice
 * and the host waits; from pinned memory the copy runs beside the computation.
 *
 * Gain: the part of these copies that no computation hides. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.005, "part of the step time in such copies that nothing hides"},
    {0},
};

static void look(const kino__rule_look *l)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_PAGEABLE];
    int64_t exposed = 0, spent = 0;
    uint64_t count = 0;
    kino__top top = {0};
    for (size_t i = 0; i < items->count; i++) {
        kino__interval copy = kino__scan_interval(l->scan, items->items[i].row);
        int64_t part = kino__scan_exposed(l->scan, copy);
        if (part == 0)
            continue;
        count++;
        exposed += part;
        spent += copy.end - copy.start;
        kino__top_add(&top, part, i);
    }
    if (!kino__is_above(exposed, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(exposed, l->facts->step_time), exposed);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "copies use pageable memory");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.1f copies a step from or to pageable memory, %s a step, of which %s (%s of the "
        "step time) are not hidden behind computation",
        (double)count / (double)l->facts->step_count, kino__say_time(spent / l->facts->step_count),
        kino__say_time(exposed / l->facts->step_count),
        kino__say_share(exposed, l->facts->step_time));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the driver copies pageable memory a second time and the host waits for it");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "DataLoader(pin_memory=True) and batch.to(device, non_blocking=True), in the "
        "step before the batch is needed; tensor.pin_memory() for buffers of your own");
    for (size_t i = 0; i < top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[top.index[i]].row));
}

const kino__rule_def kino__rule_pageable_copy = {
    .name = "pageable-copy",
    .help = "copies from or to pageable memory that no computation hides",
    .gain = "the part of these copies that no computation hides",
    .thresholds = thresholds,
    .look = look,
};
