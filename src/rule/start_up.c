/* start_up.c - the recording is mostly the device's start-up.
 *
 * The first calls into a runtime create contexts and load modules: seconds, once in the life of a
 * process. Without marked steps, or within the first one, a single call that takes a large part of
 * the time while the device is idle is taken for that. What the other rules would say about this
 * time (the device is idle) is true and of no use. About the trace, so there is no gain. */
#include "rule/rule.h"

enum { T_SHARE, T_CALL };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.3, "share of the step time in long calls while the device is idle"},
    [T_CALL] = {"call_ms", 100, "minimum length of a long call, in ms"},
    {0},
};

typedef struct calls {
    kino__intervals list;
    int64_t longest;
    uint32_t row;
} calls;

static void find_calls(const kino__rule_look *l, calls *c)
{
    const kino__profile *p = l->profile;
    int64_t least = (int64_t)(1e6 * l->thresholds[T_CALL]);
    int64_t end = p->has_step_events ? p->steps.items[0].host_end : INT64_MAX;
    for (uint32_t row = 0; row < l->trace->event_count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_RUNTIME || l->trace->dur[row] < least ||
            l->trace->ts[row] >= end)
            continue;
        kino__interval *slot = kino__vec_add(&c->list);
        if (!slot) {
            l->out->failed = true;
            return;
        }
        *slot = kino__scan_interval(l->scan, row);
        if (l->trace->dur[row] > c->longest) {
            c->longest = l->trace->dur[row];
            c->row = row;
        }
    }
    kino__intervals_sort(c->list.items, c->list.count);
    c->list.count = kino__intervals_unite(c->list.items, c->list.count);
}

static void speak(const kino__rule_look *l, const calls *c, int64_t idle)
{
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_LOW, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the recording is mostly device start-up");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%s of the recorded time is spent in calls of %s or longer%s; the longest is %s with %s",
        kino__say_share(idle, l->facts->step_time),
        kino__say_time((int64_t)(1e6 * l->thresholds[T_CALL])),
        l->scan->has_device ? " while the device is idle" : "", kino__say_name(l->trace, c->row),
        kino__say_time(c->longest));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "contexts are created and kernels loaded once per process; percentages of "
                      "the recorded time say little about the rest");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", kino__advise_later(l->program));
    for (size_t i = 0; i < c->list.count; i++)
        kino__finding_claim_cover(l->out, f, &l->scan->idle, c->list.items[i].start,
                                  c->list.items[i].end);
    kino__finding_cite(f, kino__trace_event_id(l->trace, c->row));
}

static void look(const kino__rule_look *l)
{
    calls c = {0};
    int64_t idle = 0;
    if (!l->profile->has_runtime || l->profile->steps.count == 0)
        return;
    find_calls(l, &c);
    for (size_t i = 0; i < c.list.count; i++)
        idle += kino__cover_within(&l->scan->idle, c.list.items[i].start, c.list.items[i].end);
    if (kino__is_above(idle, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &c, idle);
    kino__vec_deinit(&c.list);
}

const kino__rule_def kino__rule_start_up = {
    .name = "start-up",
    .help = "most of the recording is first-time calls of the device runtime",
    .thresholds = thresholds,
    .look = look,
};
