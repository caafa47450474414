/* pageable_copy.c - copies between the device and pageable memory of the host.
 *
 * Kernel traces name them: "Memcpy HtoD (Pageable -> Device)". The driver copies such memory twice
 * and the host waits; from pinned memory the copy runs beside the computation.
 *
 * Gain: the part of these copies that no computation hides. */
#include "rule/copies.h"

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

static void look(const kino__rule_look *l)
{
    kino__copies copies = kino__copies_find(l, KINO__SCAN_PAGEABLE);
    kino__finding *f =
        kino__copies_add(l, &copies, l->thresholds[T_SHARE], "from or to pageable memory");
    if (!f)
        return;
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "copies use pageable memory");
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the driver copies pageable memory twice, and the host waits for it");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l->program));
}

const kino__rule_def kino__rule_pageable_copy = {
    .name = "pageable-copy",
    .help = "copies from or to pageable memory that are not hidden behind computation",
    .gain = "the part of these copies that is not hidden behind computation",
    .thresholds = thresholds,
    .look = look,
};
