/* verdict_host.c - steps whose pace the host sets.
 *
 * A rank whose host works from one end of the step to the other and never has to wait for the
 * device loses nothing in communication: what its device waits there it would wait for the host.
 * Who of several such ranks comes last to a collective is a matter of phase.
 *
 * At work is a host in an operator, a data loader or a call of the runtime that does not block, and
 * shortly before and after these. Annotations and Python functions are around everything, so they
 * show nothing. */
#include "analysis/verdict/verdict.h"
#include "model/profile/profile.h"

/* Shorter gaps between operators are Python's own work. */
enum { BLOCKING_NS = 100000, GAP_NS = 50000, PERCENT_AT_WORK = 90 };

static bool ends_with(kino_str text, kino_str end)
{
    return text.size >= end.size &&
           memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

/* Calls that wait for the device: by name, or because they take long (a full queue, a copy from
 * pageable memory). */
static bool is_blocking(const kino__profile *p, uint32_t row)
{
    return p->trace->dur[row] > BLOCKING_NS ||
           ends_with(kino__trace_string(p->trace, p->trace->name[row]), KINO__STR("Synchronize"));
}

static bool is_work(const kino__profile *p, uint32_t row)
{
    enum { COMMUNICATES = KINO__NAME_COLLECTIVE | KINO__NAME_COMM_CALL | KINO__NAME_COMM_WAIT };
    uint8_t type = p->type[row];
    if (type == KINO__EVENT_TYPE_RUNTIME)
        return true;
    if (type != KINO__EVENT_TYPE_OPERATOR && type != KINO__EVENT_TYPE_ANNOTATION)
        return false;
    kino__role role = kino__profile_role(p, row);
    bool may_wait = kino__profile_flags(p, row) & COMMUNICATES && p->trace->dur[row] > BLOCKING_NS;
    return (role == KINO__ROLE_CPU || role == KINO__ROLE_LOADER) && !may_wait;
}

typedef struct host_time {
    kino__intervals work, blocked;
} host_time;

/* Rows of a track come by start: what touches the interval before it, or follows within `gap`,
 * joins it at once, so that the list stays short. The intervals of the track begin at `first`. */
static bool add_row(kino__intervals *list, size_t first, int64_t gap, kino__interval fresh)
{
    kino__interval *last = list->count > first ? &list->items[list->count - 1] : NULL;
    if (fresh.end <= fresh.start)
        return true;
    if (last && (fresh.start <= last->end ||
                 (last->end < INT64_MAX - gap && fresh.start <= last->end + gap))) {
        last->end = fresh.end > last->end ? fresh.end : last->end;
        return true;
    }
    kino__interval *slot = kino__vec_add(list);
    if (slot)
        *slot = fresh;
    return slot != NULL;
}

static void bridge_gaps(kino__intervals *list)
{
    size_t kept = 0;
    for (size_t i = 1; i < list->count; i++) {
        kino__interval *last = &list->items[kept];
        if (last->end < INT64_MAX - GAP_NS && list->items[i].start <= last->end + GAP_NS)
            last->end = list->items[i].end;
        else
            list->items[++kept] = list->items[i];
    }
    list->count = list->count ? kept + 1 : 0;
}

static bool collect_track(const kino__profile *p, const kino__track *track, host_time *h)
{
    const kino__trace *trace = p->trace;
    size_t work = h->work.count, blocked = h->blocked.count;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (trace->ts[row] == KINO_NO_TIME || !is_work(p, row))
            continue;
        kino__interval span = kino__interval_of(trace->ts[row], trace->dur[row]);
        if (!add_row(&h->work, work, GAP_NS, span))
            return false;
        if (p->type[row] == KINO__EVENT_TYPE_RUNTIME && is_blocking(p, row) &&
            !add_row(&h->blocked, blocked, 0, span))
            return false;
    }
    return true;
}

static bool collect(const kino__profile *p, host_time *h)
{
    for (size_t t = 0; t < p->trace->tracks.count; t++)
        if (!collect_track(p, &p->trace->tracks.items[t], h))
            return false;
    kino__intervals *lists[] = {&h->work, &h->blocked};
    for (int i = 0; i < 2; i++) {
        kino__intervals_sort(lists[i]->items, lists[i]->count);
        lists[i]->count = kino__intervals_unite(lists[i]->items, lists[i]->count);
    }
    bridge_gaps(&h->work);
    return true;
}

/* Time of a list in a window; *at is where the window before this one ended. */
static int64_t time_in(const kino__intervals *list, size_t *at, int64_t start, int64_t end)
{
    int64_t sum = 0;
    while (*at < list->count && list->items[*at].end <= start)
        ++*at;
    for (size_t i = *at; i < list->count && list->items[i].start < end; i++) {
        int64_t from = list->items[i].start > start ? list->items[i].start : start;
        int64_t to = list->items[i].end < end ? list->items[i].end : end;
        sum += to > from ? to - from : 0;
    }
    return sum;
}

bool kino__verdict_find_hosts(const kino__profile *p, kino__verdict_step *steps)
{
    host_time h = {0};
    bool ok = collect(p, &h);
    size_t work = 0, blocked = 0;
    for (size_t i = 0; ok && h.work.count && i < p->steps.count; i++) {
        const kino__profile_step *s = &p->steps.items[i];
        int64_t busy = time_in(&h.work, &work, s->host_start, s->host_end) -
                       time_in(&h.blocked, &blocked, s->host_start, s->host_end);
        steps[i].is_host_bound = (double)busy * 100 >= (double)steps[i].total * PERCENT_AT_WORK;
    }
    kino__vec_deinit(&h.work);
    kino__vec_deinit(&h.blocked);
    return ok;
}
