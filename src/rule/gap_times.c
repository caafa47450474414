/* gap_times.c - gaps by interval algebra: what is left of them is cut by one role of the host after
 * the other. Linear in the number of intervals. */
#include "rule/gap_times.h"

#include <stdio.h>

static bool sync_ranges(const kino__scan *scan, kino__intervals *out)
{
    const kino__scan_items *items = &scan->items[KINO__SCAN_SYNC];
    for (size_t i = 0; i < items->count; i++) {
        kino__interval *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = kino__scan_interval(scan, items->items[i].row);
    }
    kino__intervals_sort(out->items, out->count);
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

static bool select_gaps(const kino__scan *scan, int64_t shortest, int64_t longest,
                        kino__intervals *out, kino__gap_times *gaps)
{
    int64_t longest_seen = 0;
    for (size_t i = 0; i < scan->idle.list.count; i++) {
        kino__interval gap = scan->idle.list.items[i];
        int64_t length = gap.end - gap.start;
        if (length < shortest || length >= longest)
            continue;
        kino__interval *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = gap;
        gaps->count++;
        gaps->time += length;
        if (length > longest_seen) {
            longest_seen = length;
            gaps->longest = gap;
        }
    }
    return true;
}

static bool copy_list(const kino__intervals *from, kino__intervals *to)
{
    to->count = 0;
    if (!kino__vec_reserve(to, from->count))
        return false;
    for (size_t i = 0; i < from->count; i++)
        to->items[to->count++] = from->items[i];
    return true;
}

bool kino__gaps_find(const kino__scan *scan, int64_t shortest, int64_t longest,
                     kino__gap_cause from, kino__gap_times *out, kino__intervals *kept)
{
    const kino__profile *p = scan->profile;
    kino__intervals left = {0}, rest = {0}, sync = {0};
    *out = (kino__gap_times){0};
    bool ok = select_gaps(scan, shortest, longest, &left, out) && sync_ranges(scan, &sync);
    const kino__intervals *causes[] = {
        [KINO__GAP_LOADER] = &p->ranges[KINO__ROLE_LOADER],
        [KINO__GAP_QUEUED] = &scan->queued,
        [KINO__GAP_BLOCKED] = &sync,
        [KINO__GAP_CALLS] = &p->ranges[KINO__ROLE_RUNTIME],
        [KINO__GAP_OPERATORS] = &p->ranges[KINO__ROLE_CPU],
    };
    int64_t before = out->time;
    for (int cause = 0; ok && cause < KINO__GAP_PYTHON; cause++) {
        if (kept && cause == (int)from && !copy_list(&left, kept)) {
            ok = false;
            break;
        }
        ok = kino__intervals_subtract(&left, causes[cause], &rest);
        kino__intervals swap = left;
        left = rest;
        rest = swap;
        int64_t after = kino__intervals_total(left.items, left.count);
        out->part[cause] = before - after;
        before = after;
    }
    out->part[KINO__GAP_PYTHON] = before;
    kino__vec_deinit(&left);
    kino__vec_deinit(&rest);
    kino__vec_deinit(&sync);
    return ok;
}

const char *kino__gaps_say(const kino__scan *scan, const kino__gap_times *gaps, char *text,
                           size_t size)
{
    const char *const names[] = {
        [KINO__GAP_LOADER] = "in the data loader",
        [KINO__GAP_QUEUED] = "with work already queued",
        [KINO__GAP_BLOCKED] = "waiting for the device",
        [KINO__GAP_CALLS] = "in driver calls",
        [KINO__GAP_OPERATORS] = "in operators",
        [KINO__GAP_PYTHON] = scan->has_python ? "in Python" : "outside operators",
    };
    size_t used = 0;
    text[0] = 0;
    for (int cause = 0; cause < KINO__GAP_CAUSE_COUNT && gaps->time > 0; cause++) {
        double percent = 100.0 * (double)gaps->part[cause] / (double)gaps->time;
        if (percent < 5 || used >= size)
            continue;
        int length = snprintf(text + used, size - used, "%s%.0f %% %s", used ? ", " : "", percent,
                              names[cause]);
        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}
