/* select.c - the traces of a run one by one: what each is, some of them as a run, the memory they
 * hold. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "engine/kino_run.h"

bool kino_run_trace(const kino_run *run, size_t index, kino_trace_info *out)
{
    if (index >= run->run.traces.count)
        return false;
    const kino__trace *trace = run->run.traces.items[index];
    kino_trace_info info = {.size = out->size,
                            .trace = trace->index,
                            .rank = trace->rank,
                            .worker = trace->worker,
                            .span = trace->span,
                            .path = trace->path,
                            .events = trace->event_count};
    KINO__GIVE_INFO(out, info);
    return true;
}

int64_t kino_run_origin(const kino_run *run)
{
    return run->run.is_epoch ? run->run.origin_ns : KINO_NO_TIME;
}

/* Columns of a trace that are there: 44 bytes an event when all are. */
static uint64_t column_bytes(const kino__trace *trace)
{
    static const unsigned char widths[] = {8, 8, 4, 2, 1, 1, 4, 4, 4, 8}; /* by bit */
    if (!trace->source)
        return trace->columns_size;
    unsigned there = __atomic_load_n(&trace->columns_there, __ATOMIC_RELAXED);
    uint64_t bytes = 0;
    for (unsigned bit = 0; bit < sizeof widths; bit++)
        if (there & 1u << bit)
            bytes += (uint64_t)widths[bit] * trace->event_count;
    return bytes;
}

/* What is made on first use is estimated from the number of events: links are some columns of row
 * numbers, and a model of the trace (profile, frame) is about a line of numbers an event. */
static uint64_t trace_bytes(const kino__trace *trace)
{
    enum { LINKS = 16, ARGUMENTS = 32, MODELS = 96 };
    const kino__string_pool *strings = &trace->strings;
    uint64_t events = trace->event_count;
    uint64_t bytes = sizeof *trace + column_bytes(trace) + trace->arena.total;
    bytes += strings->arena.total + strings->slot_count * sizeof *strings->slots +
             strings->texts.capacity * (sizeof(kino_str) + sizeof(uint64_t));
    bytes += trace->tracks.capacity * sizeof *trace->tracks.items +
             trace->odd.capacity * sizeof *trace->odd.items;
    if (__atomic_load_n(&trace->links, __ATOMIC_RELAXED))
        bytes += events * LINKS;
    if (__atomic_load_n(&trace->arg_columns, __ATOMIC_RELAXED))
        bytes += events * ARGUMENTS;
    if (__atomic_load_n(&trace->attachments, __ATOMIC_RELAXED))
        bytes += events * MODELS;
    return bytes;
}

uint64_t kino_run_bytes(const kino_run *run)
{
    uint64_t bytes = sizeof *run + run->arena.total;
    for (size_t i = 0; i < run->run.traces.count; i++)
        bytes += trace_bytes(run->run.traces.items[i]);
    return bytes;
}

kino_status kino_run_select(kino_run *run, const uint32_t *traces, size_t count, kino_run **out,
                            kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_run *some;
    KINO_TRY(kino__derived_run_new(run, &some, err));
    some->is_selection = true;
    some->run.is_tight = run->run.is_tight;
    some->run.steps = run->run.steps;
    kino_status st =
        count ? KINO_OK : kino__fail(err, KINO_ARGUMENT, "no trace of the run was selected");
    /* In the run's order, each once, however they are named. */
    for (size_t i = 0; i < run->run.traces.count && st == KINO_OK; i++) {
        bool wanted = false;
        for (size_t k = 0; k < count && !wanted; k++)
            wanted = traces[k] == run->run.traces.items[i]->index;
        kino__trace **slot = wanted ? kino__vec_add(&some->run.traces) : NULL;
        if (slot)
            *slot = run->run.traces.items[i];
        else if (wanted)
            st = kino__fail_nomem(err);
    }
    for (size_t k = 0; k < count && st == KINO_OK; k++)
        if (traces[k] >= run->run.traces.count)
            st = kino__fail(err, KINO_NOT_FOUND, "the run has no trace %u: its traces are 0 to %zu",
                            traces[k], run->run.traces.count - 1);
    if (st == KINO_OK)
        *out = some;
    else
        kino_run_free(some);
    return st;
}
