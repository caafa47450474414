/* data_loading.c - the step waits for its input. The plugin's first rule.
 *
 * Gain: the part of the steps in which only the data loader works; it goes when the next batch is
 * always ready. */
#include <stdio.h>

#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.05, "share of the step time spent in the data loader"},
    {0},
};

/* The longest waits are the best evidence. */
static void cite_longest(const kino__rule_look *l, kino__finding *f)
{
    const kino__profile *p = l->profile;
    kino__top top = {0};
    for (uint32_t n = 0; n < p->nodes.count; n++) {
        uint32_t row = p->nodes.items[n].row;
        if (p->nodes.items[n].class == KINO__NODE_LOADER && row != KINO_NO_ROW)
            kino__top_add(&top, l->trace->dur[row], row);
    }
    for (size_t i = 0; i < top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)top.index[i]));
}

/* A single step that has most of it while the others hardly wait, or NULL. */
static const kino__profile_step *find_stall(const kino__rule_look *l, int64_t waiting)
{
    const kino__profile *p = l->profile;
    for (size_t i = 0; i < p->steps.count && p->steps.count >= 3; i++)
        if (p->steps.items[i].cost[KINO__ROLE_LOADER] > waiting / 2)
            return &p->steps.items[i];
    return NULL;
}

static void say_advice(const kino__rule_look *l, kino__finding *f)
{
    bool has_device = l->program->device != KINO__DEVICE_FAMILY_NONE;
    bool is_single = l->scan && l->scan->items[KINO__SCAN_SINGLE_LOADER].count;
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      has_device
                          ? "the device is idle while a batch is loaded and nothing else runs"
                          : "nothing else runs while a batch is loaded");
    kino__finding_say(
        l->out, f, KINO__SAY_DO, "%s%s%s%s",
        is_single ? "load in the background: DataLoader(num_workers=4, persistent_workers=True"
                  : "load further ahead: more DataLoader workers, persistent_workers=True, a "
                    "larger prefetch_factor",
        has_device ? ", pin_memory=True" : "", is_single ? ")" : "",
        has_device ? "; make the transforms cheaper or move them to the device"
                   : "; make the transforms cheaper");
}

static void say_seen(const kino__rule_look *l, kino__finding *f, int64_t waiting)
{
    const kino__rank_facts *facts = l->facts;
    const kino__profile_step *stall = find_stall(l, waiting);
    bool is_single = l->scan && l->scan->items[KINO__SCAN_SINGLE_LOADER].count;
    char where[160] = "";
    if (stall)
        (void)snprintf(where, sizeof where, "; step %.*s alone waits %s",
                       (int)kino__cut(stall->name, 40), stall->name.data,
                       kino__say_time(stall->cost[KINO__ROLE_LOADER]));
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%s of the step time is spent in the data loader (%s per step)%s%s",
                      kino__say_share(waiting, facts->step_time),
                      kino__say_time(waiting / facts->step_count), where,
                      is_single ? "; it has no worker processes" : "");
}

static void look(const kino__rule_look *l)
{
    int64_t waiting = l->facts->role[KINO__ROLE_LOADER];
    if (!kino__is_above(waiting, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(waiting, l->facts->step_time), waiting);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "%s for the data loader",
                      find_stall(l, waiting) ? "one step waits" : "the steps wait");
    say_seen(l, f, waiting);
    say_advice(l, f);
    if (l->scan)
        kino__finding_claim_cover(l->out, f, &l->scan->loading, INT64_MIN, INT64_MAX);
    cite_longest(l, f);
}

const kino__rule_def kino__rule_data_loading = {
    .name = "data-loading",
    .help = "the data loader takes a noticeable share of the step",
    .gain = "the share of the steps in which only the loader runs",
    .thresholds = thresholds,
    .is_plugins = true,
    .look = look,
};
