/* host_sync.c - the host waits for the device inside the step, and then the device for the host.
 *
 * Calls that block until the device is done: cudaStreamSynchronize (below .item(), .cpu(), .to()),
 * cudaDeviceSynchronize, blocking copies. Such a call costs when the device has nothing queued at
 * its end: the idle gap around the end of the call, without data loading, is the damage.
 *
 * Gain: of each call the smaller of the time it blocks and the gap behind it: without the call the
 * host would be earlier by the former, and the device can win no more than the latter. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.01, "share of the step time lost to such calls"},
    {0},
};

enum { SITES_MAX = 64 };

/* Calls of one operator at one line. */
typedef struct site {
    uint64_t key;
    size_t first; /* item */
    uint64_t count;
    int64_t cost;
} site;

typedef struct total {
    site sites[SITES_MAX]; /* the last one takes what does not fit */
    size_t site_count;
    uint64_t count;
    kino__top top;
    kino__intervals gaps; /* what the device waits after each */
} total;

static kino_strid name_of(const kino__trace *trace, uint32_t row)
{
    return row == KINO_NO_ROW ? KINO_NO_STRING : trace->name[row];
}

static site *site_of(const kino__trace *trace, const kino__scan_item *item, size_t index, total *t)
{
    uint64_t key = (uint64_t)name_of(trace, item->op) << 32 | name_of(trace, item->frame);
    size_t i = 0;
    while (i < t->site_count && t->sites[i].key != key)
        i++;
    if (i == SITES_MAX)
        return &t->sites[SITES_MAX - 1];
    if (i == t->site_count)
        t->sites[t->site_count++] = (site){.key = key, .first = index};
    return &t->sites[i];
}

static void add_calls(const kino__rule_look *l, total *t)
{
    const kino__scan *scan = l->scan;
    const kino__scan_items *items = &scan->items[KINO__SCAN_SYNC];
    kino__interval last = {INT64_MIN, INT64_MIN}; /* the call counted last, and its thread */
    uint32_t last_track = UINT32_MAX;
    for (size_t i = 0; i < items->count; i++) {
        kino__interval call = kino__scan_interval(scan, items->items[i].row);
        if (!kino__scan_is_in_step(scan, call.start))
            continue;
        uint32_t track = kino__trace_track_of(l->trace, items->items[i].row);
        if (track == last_track && call.end <= last.end)
            continue; /* a driver call inside a runtime call: one wait */
        last = call;
        last_track = track;
        const kino__interval *gap = kino__cover_at(&scan->idle, call.end);
        int64_t idle = 0, blocked = call.end - call.start;
        if (gap)
            idle = gap->end - gap->start - kino__cover_within(&scan->loader, gap->start, gap->end);
        int64_t cost = idle < blocked ? idle : blocked;
        kino__interval *slot = cost > 0 ? kino__vec_add(&t->gaps) : NULL;
        if (slot)
            *slot = (kino__interval){gap->start, gap->start + cost};
        else if (cost > 0)
            l->out->failed = true;
        site *s = site_of(l->trace, &items->items[i], i, t);
        s->count++;
        s->cost += cost;
        t->count++;
        kino__top_add(&t->top, cost, i);
    }
}

static void speak(const kino__rule_look *l, const total *t, int64_t cost)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_SYNC];
    const site *worst = &t->sites[0];
    for (size_t i = 1; i < t->site_count; i++)
        worst = t->sites[i].cost > worst->cost ? &t->sites[i] : worst;
    const kino__scan_item *item = &items->items[worst->first];
    char line[160];
    kino__scan_line(l->scan, item, line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(cost, l->facts->step_time), cost);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the host waits for the device inside the step");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f blocking calls per step; they cost %s per step because the device runs "
                      "dry after them. Most frequent: %s%s%s%s%s, %.1f times per step",
                      (double)t->count / (double)l->facts->step_count,
                      kino__say_time(cost / l->facts->step_count),
                      kino__say_name(l->trace, item->row), item->op == KINO_NO_ROW ? "" : " in ",
                      item->op == KINO_NO_ROW ? "" : kino__say_name(l->trace, item->op),
                      *line ? " at " : "", line,
                      (double)worst->count / (double)l->facts->step_count);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "while it waits, the host launches nothing, so the device has nothing to do "
                      "when the call returns");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", kino__advise_waits(l->program));
    kino__finding_claim_list(l->out, f, &t->gaps);
    for (size_t i = 0; i < t->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[t->top.index[i]].row));
}

static void look(const kino__rule_look *l)
{
    total t = {0};
    if (!l->scan->has_device)
        return;
    add_calls(l, &t);
    int64_t cost = kino__scan_unite(&t.gaps);
    if (t.count && kino__is_above(cost, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &t, cost);
    kino__vec_deinit(&t.gaps);
}

const kino__rule_def kino__rule_host_sync = {
    .name = "host-sync",
    .help = "blocking calls during the step leave the device without work",
    .gain = "for each call, the smaller of its blocking time and the idle gap after it, without "
            "data loading",
    .thresholds = thresholds,
    .look = look,
};
