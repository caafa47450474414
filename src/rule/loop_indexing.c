/* loop_indexing.c - a tensor taken apart element by element in a Python loop.
 *
 * aten::select, followed by the same operators, many times in a row among the children of one node:
 * PyTorch's pattern "For Loop Indexing". Each comparison is with the first round, and a run that
 * was found is skipped, so the cost is linear.
 *
 * Gain: idle time within the runs, all rounds but one: as one vectorised operation the run costs
 * about what a single round does now. */
#include "rule/rule.h"

enum { T_REPEATS, T_SHARE };

static const kino__threshold thresholds[] = {
    [T_REPEATS] = {"repeats", 10, "iterations of one loop"},
    [T_SHARE] = {"share", 0.01, "share of the step time in such loops, on the host"},
    {0},
};

enum { ROUND_MAX = 64 }; /* operators in one round */

typedef struct run {
    uint64_t rounds;
    uint32_t last; /* node: the last one of the last round */
    uint32_t size; /* operators in a round */
} run;

static uint32_t next_of(const kino__profile *p, uint32_t node)
{
    return p->nodes.items[node].next_sibling;
}

static kino_strid name_of(const kino__profile *p, uint32_t node)
{
    return kino__node_name_id(p, &p->nodes.items[node]);
}

/* The run that begins at this aten::select. */
static run find_run(const kino__profile *p, uint32_t first)
{
    kino_strid round[ROUND_MAX];
    run r = {.rounds = 1, .last = first};
    uint32_t at = first;
    do {
        if (r.size == ROUND_MAX)
            return r;
        round[r.size++] = name_of(p, at);
        r.last = at;
        at = next_of(p, at);
    } while (at != KINO__NO_NODE && name_of(p, at) != round[0]);
    while (at != KINO__NO_NODE) {
        uint32_t same = 0, end = at;
        for (; same < r.size && at != KINO__NO_NODE && name_of(p, at) == round[same];
             at = next_of(p, at), same++)
            end = at;
        if (same < r.size)
            break;
        r.rounds++;
        r.last = end;
    }
    return r;
}

static void say(const kino__rule_look *l, kino__finding *f, uint64_t loops, uint64_t longest,
                int64_t spent, const char *line)
{
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "a Python loop indexes a tensor element by element");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f loops per step of up to %llu iterations, %s per step (%s)%s%s",
                      (double)loops / (double)l->facts->step_count, (unsigned long long)longest,
                      kino__say_time(spent / l->facts->step_count),
                      kino__say_share(spent, l->facts->step_time), *line ? ", most at " : "", line);
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "every iteration pays the cost of its operators again: Python, dispatch and launches");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "replace the loop over x[i] with operations on the whole tensor (broadcasting, "
        "index_select, gather, torch.vmap), or iterate over x.unbind()");
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_SELECT];
    int64_t waits = 0, idle = 0, behind = INT64_MIN;
    uint64_t loops = 0, longest = 0;
    uint32_t thread = UINT32_MAX;
    kino__top top = {0};
    kino__intervals loops_found = {0};
    for (size_t i = 0; i < items->count; i++) {
        uint32_t first = kino__profile_node_of(p, items->items[i].row);
        if (first == KINO__NO_NODE || p->nodes.items[first].is_dropped)
            continue;
        const kino__node *n = &p->nodes.items[first];
        int64_t start = kino__node_start(p, n);
        if ((n->thread == thread && start < behind) || !kino__scan_is_in_step(l->scan, start))
            continue;
        run r = find_run(p, first);
        if ((double)r.rounds < l->thresholds[T_REPEATS])
            continue;
        int64_t end = kino__node_end(p, &p->nodes.items[r.last]);
        thread = n->thread;
        behind = end;
        loops++;
        if (!kino__scan_add_span(l->scan, (kino__interval){start, end}, &loops_found))
            l->out->failed = true;
        longest = r.rounds > longest ? r.rounds : longest;
        int64_t waiting = kino__cover_within(&l->scan->idle, start, end);
        waits = kino__sum(waits, waiting);
        idle += waiting - waiting / (int64_t)(r.rounds ? r.rounds : 1);
        kino__top_add(&top, end - start, i);
    }
    int64_t spent = kino__scan_unite(&loops_found);
    if (!kino__is_above(spent, l->facts->step_time, l->thresholds[T_SHARE])) {
        kino__vec_deinit(&loops_found);
        return;
    }
    /* loops of several threads wait together */
    double alone = waits ? (double)kino__scan_idle_in(l->scan, &loops_found) / (double)waits : 0;
    idle = (int64_t)((double)idle * alone);
    char line[160];
    kino__scan_line(l->scan, &items->items[top.index[0]], line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(idle, l->facts->step_time), idle);
    say(l, f, loops, longest, spent, line);
    for (size_t i = 0; i < loops_found.count; i++)
        kino__finding_claim_cover(l->out, f, &l->scan->idle, loops_found.items[i].start,
                                  loops_found.items[i].end);
    kino__vec_deinit(&loops_found);
    for (size_t i = 0; i < top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[top.index[i]].row));
}

const kino__rule_def kino__rule_loop_indexing = {
    .name = "loop-indexing",
    .help = "the same operators follow aten::select many times in a row",
    .gain = "idle time of the device during the loops, except for one iteration",
    .thresholds = thresholds,
    .look = look,
};
