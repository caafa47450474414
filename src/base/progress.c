/* progress.c - shared progress counters; a report about every 1/256 of the work, never from two
 * threads at once. */
#include "base/progress.h"

enum { REPORTS = 256, UNKNOWN_STEP = 4 << 20 };

void kino__progress_init(kino__progress *progress, kino__progress_report report, void *context)
{
    *progress = (kino__progress){.report = report, .context = context};
}

void kino__progress_stage(kino__progress *progress, const char *what, uint64_t total)
{
    if (!progress)
        return;
    progress->what = what;
    progress->total = total;
    atomic_store_explicit(&progress->done, 0, memory_order_relaxed);
    atomic_store_explicit(&progress->next_report, 0, memory_order_relaxed);
    (void)kino__progress_add(progress, 0);
}

bool kino__progress_add(kino__progress *progress, uint64_t amount)
{
    if (!progress || !progress->report)
        return true;
    uint64_t done =
        atomic_fetch_add_explicit(&progress->done, amount, memory_order_relaxed) + amount;
    uint64_t due = atomic_load_explicit(&progress->next_report, memory_order_relaxed);
    uint64_t step = progress->total / REPORTS ? progress->total / REPORTS : UNKNOWN_STEP;
    /* UINT64_MAX marks "a report is running": whoever wins the exchange reports alone. */
    if (done >= due && due != UINT64_MAX &&
        atomic_compare_exchange_strong_explicit(&progress->next_report, &due, UINT64_MAX,
                                                memory_order_acquire, memory_order_relaxed)) {
        if (!progress->report(progress->context, progress->what, done, progress->total))
            atomic_store_explicit(&progress->cancelled, true, memory_order_relaxed);
        atomic_store_explicit(&progress->next_report, done + step, memory_order_release);
    }
    return !kino__progress_is_cancelled(progress);
}
