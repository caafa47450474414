/* synchronous_loader.c - the data loader has no worker processes.
 *
 * Known by its iterator's name, enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__:
 * PyTorch's pattern "Synchronized DataLoader". Speaks from a smaller share on than data-loading,
 * which says the same where the loader takes much.
 *
 * Gain: the part of the steps in which only the loader works. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.01, "share of the step time in which only the data loader runs"},
    {0},
};

static void look(const kino__rule_look *l)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_SINGLE_LOADER];
    int64_t waiting = l->facts->role[KINO__ROLE_LOADER];
    if (items->count == 0 || !kino__is_above(waiting, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(waiting, l->facts->step_time), waiting);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the data loader has no worker processes");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "batches are prepared in the training process itself: nothing else runs for "
                      "%s per step, %s of the step time",
                      kino__say_time(waiting / l->facts->step_count),
                      kino__say_share(waiting, l->facts->step_time));
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "with workers, the next batch is prepared while the current one is processed");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "DataLoader(num_workers=4, persistent_workers=True%s), then add workers "
                      "until the wait stops shrinking",
                      l->scan->has_device ? ", pin_memory=True" : "");
    kino__finding_claim_cover(l->out, f, &l->scan->loading, INT64_MIN, INT64_MAX);
    for (size_t i = 0; i < items->count && i < 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[i].row));
}

const kino__rule_def kino__rule_synchronous_loader = {
    .name = "synchronous-loader",
    .help = "the data loader prepares batches in the training process",
    .gain = "the share of the steps in which only the loader runs",
    .thresholds = thresholds,
    .yields_to = &kino__rule_data_loading,
    .look = look,
};
