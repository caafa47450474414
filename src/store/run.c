/* run.c - several traces on one time axis. */
#include "store/run.h"

#include "base/error.h"

void kino__run_init(kino__run *run)
{
    *run = (kino__run){.steps = {.seen = KINO_NO_INT}};
}

kino_status kino__run_add_take(kino__run *run, kino__trace *trace, kino_error *err)
{
    kino__trace **slot = kino__vec_add(&run->traces);
    if (!slot) {
        kino__trace_free(trace);
        return kino__fail_nomem(err);
    }
    *slot = trace;
    trace->run = run;
    trace->index = (uint32_t)(run->traces.count - 1);
    return KINO_OK;
}

/* Columns that are not there yet are moved when they are made. */
static void shift(kino__trace *trace, int64_t by)
{
    trace->shift_ns += by;
    for (uint32_t row = 0; trace->ts && row < trace->event_count; row++)
        if (trace->ts[row] != KINO_NO_TIME)
            trace->ts[row] = (int64_t)((uint64_t)trace->ts[row] + (uint64_t)by);
    trace->origin_ns -= by;
}

void kino__run_align(kino__run *run)
{
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__trace *trace = run->traces.items[i];
        if (!trace->is_epoch || trace->event_count == 0)
            continue;
        if (!run->is_epoch || trace->origin_ns < run->origin_ns)
            run->origin_ns = trace->origin_ns;
        run->is_epoch = true;
    }
    kino__run_align_to(run, run->is_epoch, run->origin_ns);
    if (!run->is_epoch && run->traces.count == 1)
        run->origin_ns = run->traces.items[0]->origin_ns;
}

void kino__run_align_to(kino__run *run, bool is_epoch, int64_t origin_ns)
{
    run->is_epoch = is_epoch;
    run->origin_ns = origin_ns;
    for (size_t i = 0; i < run->traces.count; i++) {
        kino__trace *trace = run->traces.items[i];
        if (is_epoch && trace->is_epoch && trace->origin_ns != origin_ns)
            shift(trace, trace->origin_ns - origin_ns);
    }
}

kino_status kino__run_require(const kino__run *run, unsigned columns, kino__pool *pool,
                              kino_error *err)
{
    for (size_t i = 0; i < run->traces.count; i++)
        KINO_TRY(kino__trace_require(run->traces.items[i], columns, pool, err));
    return KINO_OK;
}

bool kino__run_need(const kino__run *run, unsigned columns, kino__pool *pool)
{
    for (size_t i = 0; i < run->traces.count; i++)
        if (!kino__trace_need(run->traces.items[i], columns, pool))
            return false;
    return true;
}

void kino__run_deinit(kino__run *run)
{
    for (size_t i = 0; i < run->traces.count; i++)
        kino__trace_free(run->traces.items[i]);
    kino__vec_deinit(&run->traces);
}
