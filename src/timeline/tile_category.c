/* tile_category.c - the colour of an event: few categories, the same for every profiler.
 *
 * The kind of the event's category decides; names tell apart what a kind holds together (steps and
 * other annotations, collectives and other kernels, modules and other Python frames). */
#include "names/communication.h"
#include "timeline/timeline_internal.h"

enum {
    OTHER,
    OPERATOR,
    PYTHON,
    RUNTIME,
    KERNEL,
    COPY,
    SET,
    ANNOTATION,
    STEP,
    COMMUNICATION,
    MEMORY,
    SYNCHRONISATION,
    AUTOGRAD,
    MODULE,
    OVERHEAD,
    FUNCTION,
    OFF_CPU,
    CATEGORY_COUNT,
};

static const char *const names[CATEGORY_COUNT] = {
    "other",    "operator",   "Python",   "runtime call",  "kernel", "copy",
    "set",      "annotation", "step",     "communication", "memory", "synchronisation",
    "autograd", "module",     "overhead", "function",      "off CPU"};

static const uint8_t of_kind[KINO__KIND_COUNT] = {
    [KINO__KIND_OTHER] = OTHER,
    [KINO__KIND_OP] = OPERATOR,
    [KINO__KIND_ANNOTATION] = ANNOTATION,
    [KINO__KIND_GPU_ANNOTATION] = ANNOTATION,
    [KINO__KIND_KERNEL] = KERNEL,
    [KINO__KIND_MEMCPY] = COPY,
    [KINO__KIND_MEMSET] = SET,
    [KINO__KIND_RUNTIME] = RUNTIME,
    [KINO__KIND_DRIVER] = RUNTIME,
    [KINO__KIND_SYNC] = SYNCHRONISATION,
    [KINO__KIND_INSTANT] = OTHER,
    [KINO__KIND_PYTHON] = PYTHON,
    [KINO__KIND_OVERHEAD] = OVERHEAD,
    [KINO__KIND_COUNTER] = OTHER,
    [KINO__KIND_SPAN] = ANNOTATION,
    [KINO__KIND_LAUNCH_FLOW] = OTHER,
    [KINO__KIND_AUTOGRAD_FLOW] = AUTOGRAD,
    [KINO__KIND_SAMPLE] = FUNCTION,
    [KINO__KIND_OFF_CPU] = OFF_CPU,
    [KINO__KIND_PYTHON_SAMPLE] = FUNCTION,
};

#define STARTS(text) kino__str_starts_with(name, KINO__STR(text))

static bool is_collective(kino_str name)
{
    return kino__comm_of_span(name).kind != KINO__COMM_NONE;
}

uint8_t kino__tl_category(uint16_t category, kino_str name)
{
    uint8_t kind = of_kind[kino__category_kind(category)];
    switch (kind) {
    case OPERATOR:
        if (is_collective(name))
            return COMMUNICATION;
        return STARTS("autograd::") ? AUTOGRAD : kind;
    case KERNEL:
        return kino__comm_of_kernel(name).kind != KINO__COMM_NONE ? COMMUNICATION : kind;
    case ANNOTATION:
        if (STARTS("ProfilerStep#"))
            return STEP;
        return is_collective(name) ? COMMUNICATION : kind;
    case PYTHON:
        return STARTS("nn.Module: ") ? MODULE : kind;
    case RUNTIME:
        return kino__str_contains(name, KINO__STR("Synchronize")) ? SYNCHRONISATION : kind;
    case OTHER:
        return STARTS("[memory]") || STARTS("[OutOfMemory]") ? MEMORY : kind;
    default:
        return kind;
    }
}

const char *kino__tl_category_name(uint8_t category)
{
    return names[category < CATEGORY_COUNT ? category : OTHER];
}
