/* pageable_copy.c - copies between the device and pageable memory of the host.
 *
 * Kernel traces name them: "Memcpy HtoD (Pageable -> Device)". The driver copies such memory twice
 * and the host waits; from pinned memory the copy runs beside the computation.
 *
 * Gain: the part of these copies that no computation hides. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.005, "share of the step time in such copies that are not hidden"},
    {0},
};

static const char *advice(const kino__program_kind *program)
{
    if (kino__program_is_torch(program))
        return "use DataLoader(pin_memory=True) and batch.to(device, non_blocking=True) one step "
               "before the batch is needed; tensor.pin_memory() for your own buffers";
    return program->device == KINO__DEVICE_FAMILY_CUDA
               ? "allocate host buffers with cudaMallocHost (or pin them with cudaHostRegister) "
                 "and copy with cudaMemcpyAsync during computation"
           : program->device == KINO__DEVICE_FAMILY_ROCM
               ? "allocate host buffers with hipHostMalloc (or pin them with hipHostRegister) and "
                 "copy with hipMemcpyAsync during computation"
               : "use pinned host buffers and copy asynchronously during computation";
}

/* Copies that overlap, on several streams, count once. */
static void speak(const kino__rule_look *l, const kino__intervals *copies, uint64_t count,
                  const kino__top *top)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_PAGEABLE];
    int64_t exposed = 0, spent = 0;
    for (size_t i = 0; i < copies->count; i++) {
        exposed += kino__scan_exposed(l->scan, copies->items[i]);
        spent += copies->items[i].end - copies->items[i].start;
    }
    if (!kino__is_above(exposed, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(exposed, l->facts->step_time), exposed);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "copies use pageable memory");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f copies per step from or to pageable memory take %s per step, of which "
                      "%s (%s of the step time) is not hidden behind computation",
                      (double)count / (double)l->facts->step_count,
                      kino__say_time(spent / l->facts->step_count),
                      kino__say_time(exposed / l->facts->step_count),
                      kino__say_share(exposed, l->facts->step_time));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the driver copies pageable memory twice, and the host waits for it");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l->program));
    for (size_t i = 0; i < items->count; i++)
        kino__scan_claim_row(l, f, items->items[i].row);
    for (size_t i = 0; i < top->count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[top->index[i]].row));
}

static void look(const kino__rule_look *l)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_PAGEABLE];
    kino__intervals copies = {0};
    uint64_t count = 0;
    kino__top top = {0};
    for (size_t i = 0; i < items->count; i++) {
        kino__interval copy = kino__scan_interval(l->scan, items->items[i].row);
        int64_t part = kino__scan_exposed(l->scan, copy);
        if (part && !kino__scan_add_span(l->scan, copy, &copies))
            l->out->failed = true;
        count += part != 0;
        if (part)
            kino__top_add(&top, part, i);
    }
    (void)kino__scan_unite(&copies);
    if (count)
        speak(l, &copies, count, &top);
    kino__vec_deinit(&copies);
}

const kino__rule_def kino__rule_pageable_copy = {
    .name = "pageable-copy",
    .help = "copies from or to pageable memory that are not hidden behind computation",
    .gain = "the part of these copies that is not hidden behind computation",
    .thresholds = thresholds,
    .look = look,
};
