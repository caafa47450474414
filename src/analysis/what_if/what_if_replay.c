/* what_if_replay.c - see the header. A rank runs until it needs the end of a collective that
 * somebody has not reached; then the next rank runs. Linear in the items. */
#include "analysis/what_if/what_if_replay.h"

#include <stdlib.h>

#include "analysis/distributed/collective_match.h"
#include "base/map.h"

const char *kino__path_part_name(kino__path_part part)
{
    static const char *const names[KINO__PARTS] = {"kernel",      "copy", "collective",
                                                   "data loader", "host", "delay"};
    return names[part < KINO__PARTS ? part : KINO__PART_HOST];
}

/* -- collectives -- */

static bool match_items(kino__replay *r, const kino__replay_facts *facts, uint32_t *items,
                        size_t count)
{
    kino__match_entry *entries = calloc(count + 1, sizeof *entries);
    size_t rank = 0;
    for (size_t i = 0; entries && i < count; i++) {
        while (items[i] >= r->first[rank + 1])
            rank++;
        const kino__replay_item *item = &facts->items.items[items[i]];
        entries[i] = (kino__match_entry){(uint32_t)rank, item->kind, item->series};
    }
    uint32_t *numbers = entries ? kino__match_calls(entries, count) : NULL;
    for (size_t i = 0; numbers && i < count; i++) {
        r->call_of[items[i]] = numbers[i];
        r->call_count = numbers[i] >= r->call_count ? numbers[i] + 1 : r->call_count;
    }
    free(entries);
    free(numbers);
    return numbers != NULL;
}

/* The transfer is what the fastest member takes: whoever takes longer has waited. */
static bool find_transfers(kino__replay *r)
{
    size_t items = r->facts->items.count;
    int64_t *shortest = malloc((r->call_count + (size_t)1) * sizeof *shortest);
    r->members = calloc(r->call_count + (size_t)1, sizeof *r->members);
    for (uint32_t c = 0; shortest && c < r->call_count; c++)
        shortest[c] = INT64_MAX;
    for (int pass = 0; shortest && r->members && pass < 2; pass++)
        for (size_t i = 0; i < items; i++) {
            int64_t own = r->facts->items.items[i].device;
            uint32_t call = r->call_of[i];
            r->transfer[i] = call == UINT32_MAX || pass == 0 ? own : shortest[call];
            if (call == UINT32_MAX || pass == 1)
                continue;
            r->members[call]++;
            shortest[call] = own < shortest[call] ? own : shortest[call];
        }
    bool ok = shortest && r->members;
    free(shortest);
    return ok;
}

bool kino__replay_init(kino__replay *r, const kino__replay_facts *facts)
{
    size_t items = facts->items.count, ranks = facts->ranks.count, count = 0;
    *r = (kino__replay){.facts = facts};
    uint32_t *list = malloc((items + 1) * sizeof *list);
    r->first = calloc(ranks + 1, sizeof *r->first);
    r->call_of = malloc((items + 1) * sizeof *r->call_of);
    r->transfer = malloc((items + 1) * sizeof *r->transfer);
    for (size_t k = 0; r->first && k < ranks; k++)
        r->first[k + 1] = r->first[k] + facts->ranks.items[k].item_count;
    for (size_t i = 0; list && r->call_of && i < items; i++) {
        r->call_of[i] = UINT32_MAX;
        if (facts->items.items[i].kind != KINO_NO_STRING)
            list[count++] = (uint32_t)i;
    }
    bool ok = list && r->first && r->call_of && r->transfer && match_items(r, facts, list, count) &&
              find_transfers(r);
    free(list);
    return ok;
}

void kino__replay_deinit(kino__replay *r)
{
    free(r->first);
    free(r->call_of);
    free(r->members);
    free(r->transfer);
}

/* -- running -- */

#define NONE UINT32_MAX

/* What an item's time came from: an item, and whether its host or its device part. */
typedef struct origin {
    uint32_t item; /* NONE: the beginning */
    bool is_device;
} origin;

typedef struct moment {
    int64_t host;       /* when the host is done with the item */
    int64_t start, end; /* of its device work */
    origin host_from, device_from;
} moment;

typedef struct collective {
    uint32_t arrived, last; /* last: the item */
    int64_t ready;
    int64_t transfer;
} collective;

typedef struct runner {
    uint32_t at, launched;
    int64_t now;
    uint32_t last[KINO__REPLAY_STREAMS]; /* item of each stream */
} runner;

typedef struct run {
    const kino__replay *r;
    const kino__edited *e;
    moment *moments;
    collective *calls;
    runner *ranks;
    uint32_t *launches; /* items of each rank's launches, where its items are */
} run;

static const kino__replay_item *item_at(const run *n, uint32_t item)
{
    return &n->r->facts->items.items[item];
}

/* Is the end of an item's work known? Sets it where its collective is complete. */
static bool is_over(const run *n, uint32_t item)
{
    uint32_t call = item == NONE ? NONE : n->r->call_of[item];
    if (call == NONE || n->r->members[call] < 2)
        return true;
    const collective *c = &n->calls[call];
    if (c->arrived < n->r->members[call])
        return false;
    n->moments[item].end = c->ready + c->transfer;
    return true;
}

static bool are_over(const run *n, const runner *k, uint32_t streams)
{
    for (uint32_t i = 0; i < KINO__REPLAY_STREAMS; i++)
        if (streams >> i & 1 && !is_over(n, k->last[i]))
            return false;
    return true;
}

static void push(int64_t *time, origin *from, int64_t other, origin why)
{
    if (other <= *time)
        return;
    *time = other;
    *from = why;
}

/* Waits for the last work of streams. */
static void push_streams(const run *n, const runner *k, uint32_t streams, int64_t more,
                         int64_t *time, origin *from)
{
    for (uint32_t i = 0; i < KINO__REPLAY_STREAMS; i++)
        if (streams >> i & 1 && k->last[i] != NONE)
            push(time, from, n->moments[k->last[i]].end + more, (origin){k->last[i], true});
}

static void arrive(run *n, uint32_t item, moment *m)
{
    uint32_t call = n->r->call_of[item];
    m->end = m->start + n->e->device[item];
    if (call == NONE || n->r->members[call] < 2)
        return;
    collective *c = &n->calls[call];
    if (c->arrived++ == 0 || m->start > c->ready) {
        c->ready = m->start;
        c->last = item;
    }
    c->transfer = n->e->device[item] > c->transfer ? n->e->device[item] : c->transfer;
}

/* The host stands still while the queue is full. */
static void wait_for_queue(const run *n, size_t which, runner *k, moment *m)
{
    int64_t queue = n->r->facts->ranks.items[which].queue;
    if (queue == KINO_NO_INT || k->launched < queue)
        return;
    uint32_t item = n->launches[n->r->first[which] + k->launched - (uint32_t)queue];
    push(&k->now, &m->host_from, n->moments[item].start, (origin){item, true});
}

static bool launch(run *n, size_t which, runner *k, uint32_t at, moment *m)
{
    const kino__replay_item *item = item_at(n, at);
    const kino__replay_rank *facts = &n->r->facts->ranks.items[which];
    uint32_t waits = item->waits | 1u << item->stream;
    if (!are_over(n, k, waits))
        return false;
    k->now += n->e->gap[at];
    wait_for_queue(n, which, k, m);
    m->start = k->now + (item->blocks ? 0 : n->e->call[at] / 2) + facts->latency;
    m->device_from = (origin){at, false};
    push_streams(n, k, waits, facts->stream_gap, &m->start, &m->device_from);
    arrive(n, at, m);
    k->now += item->blocks ? 0 : n->e->call[at];
    if (item->blocks)
        push(&k->now, &m->host_from, m->end + n->e->call[at], (origin){at, true});
    k->last[item->stream] = at;
    n->launches[n->r->first[which] + k->launched++] = at;
    return true;
}

static bool sync(run *n, runner *k, uint32_t at, moment *m)
{
    const kino__replay_item *item = item_at(n, at);
    if (!are_over(n, k, item->waits))
        return false;
    k->now += n->e->gap[at];
    push_streams(n, k, item->waits, 0, &k->now, &m->host_from);
    k->now += n->e->call[at];
    return true;
}

/* False: the rank has to wait for what others do. */
static bool run_item(run *n, size_t which, runner *k, uint32_t at)
{
    moment *m = &n->moments[at];
    bool ok = true;
    *m = (moment){.start = INT64_MIN, .end = INT64_MIN};
    m->host_from = (origin){at > n->r->first[which] ? at - 1 : NONE, false};
    kino__replay_type type = (kino__replay_type)item_at(n, at)->type;
    if (type == KINO__REPLAY_LAUNCH)
        ok = launch(n, which, k, at, m);
    else if (type == KINO__REPLAY_SYNC)
        ok = sync(n, k, at, m);
    else
        k->now += n->e->gap[at] + n->e->call[at];
    m->host = k->now;
    return ok;
}

static bool run_rank(run *n, size_t which)
{
    runner *k = &n->ranks[which];
    bool has_moved = false;
    while (k->at < n->r->first[which + 1] && run_item(n, which, k, k->at)) {
        k->at++;
        has_moved = true;
    }
    return has_moved;
}

/* True: all came to their ends. */
static bool run_all(run *n)
{
    size_t ranks = n->r->facts->ranks.count;
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (size_t i = 0; i < ranks; i++)
            has_moved |= run_rank(n, i);
    }
    for (size_t i = 0; i < ranks; i++)
        if (n->ranks[i].at < n->r->first[i + 1])
            return false;
    for (uint32_t i = 0; i < n->r->facts->items.count; i++)
        (void)is_over(n, i);
    return true;
}

/* -- the path -- */

typedef struct walk {
    const run *n;
    kino__map sums; /* by part and name */
    kino__replayed *out;
} walk;

static bool charge(walk *w, kino__path_part part, uint32_t name, int64_t time)
{
    if (time <= 0)
        return true;
    const uint32_t *slot =
        kino__map_put(&w->sums, (uint64_t)part << 32 | name, (uint32_t)w->out->path.count);
    kino__path_sum *sum = !slot || *slot < w->out->path.count ? NULL : kino__vec_add(&w->out->path);
    if (!slot || (*slot >= w->out->path.count && !sum))
        return false;
    if (sum)
        *sum = (kino__path_sum){part, name, 0};
    w->out->path.items[*slot].time += time;
    return true;
}

static size_t rank_of(const run *n, uint32_t item)
{
    size_t rank = 0;
    while (item >= n->r->first[rank + 1])
        rank++;
    return rank;
}

/* From the end of an item's host part: its time, and where it came from. */
static bool walk_host(walk *w, origin *at)
{
    const run *n = w->n;
    const kino__replay_item *item = item_at(n, at->item);
    const moment *m = &n->moments[at->item];
    bool is_loader = item->type == KINO__REPLAY_LOADER;
    int64_t call = n->e->call[at->item];
    bool ok = charge(w, is_loader ? KINO__PART_LOADER : KINO__PART_HOST,
                     is_loader ? item->name : KINO_NO_STRING, call);
    if (!m->host_from.is_device)
        ok = ok && charge(w, KINO__PART_HOST, KINO_NO_STRING, n->e->gap[at->item]);
    bool is_queue = m->host_from.is_device && m->host_from.item != NONE &&
                    item->type == KINO__REPLAY_LAUNCH && !item->blocks;
    *at = m->host_from;
    if (is_queue) { /* the start of that work, not its end */
        const moment *held = &n->moments[at->item];
        *at = held->device_from;
    }
    return ok;
}

/* From the end of an item's device part. */
static bool walk_device(walk *w, origin *at)
{
    const run *n = w->n;
    uint32_t call = n->r->call_of[at->item];
    const kino__replay_item *item = item_at(n, at->item);
    bool is_collective = call != NONE, is_shared = is_collective && n->r->members[call] > 1;
    int64_t time = is_shared ? n->calls[call].transfer : n->e->device[at->item];
    kino__path_part part = is_collective   ? KINO__PART_COLLECTIVE
                           : item->is_copy ? KINO__PART_COPY
                                           : KINO__PART_KERNEL;
    uint32_t last = is_shared ? n->calls[call].last : at->item;
    const kino__replay_rank *facts = &n->r->facts->ranks.items[rank_of(n, last)];
    bool ok = charge(w, part, is_collective ? item->kind : item->name, time);
    origin from = n->moments[last].device_from;
    ok = ok && charge(w, KINO__PART_DELAY, KINO_NO_STRING,
                      from.is_device ? facts->stream_gap : facts->latency);
    if (!from.is_device) /* the call itself ends later than its work begins */
        from = (origin){last, false};
    *at = from;
    return ok;
}

static int compare_sums(const void *a, const void *b)
{
    const kino__path_sum *x = a, *y = b;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool find_path(const run *n, origin at, kino__replayed *out)
{
    walk w = {.n = n, .out = out};
    kino__map_init(&w.sums, NULL);
    bool ok = true;
    /* every step goes back in time: there are no more than the parts of all items */
    for (size_t i = 0; ok && at.item != NONE && i <= 2 * n->r->facts->items.count; i++)
        ok = at.is_device ? walk_device(&w, &at) : walk_host(&w, &at);
    kino__map_deinit(&w.sums);
    if (ok && out->path.count)
        qsort(out->path.items, out->path.count, sizeof *out->path.items, compare_sums);
    return ok;
}

/* -- the whole -- */

/* Of a rank: when host and device are done with all before the first mark that counts, and with all
 * there is. The item that was the last. */
static origin measure(const run *n, size_t which, int64_t *start, int64_t *end)
{
    int64_t marks = n->r->facts->ranks.items[which].skipped;
    origin last = {NONE, false};
    *start = *end = INT64_MIN;
    for (uint32_t i = n->r->first[which]; i < n->r->first[which + 1]; i++) {
        const kino__replay_item *item = item_at(n, i);
        const moment *m = &n->moments[i];
        if (item->type == KINO__REPLAY_STEP && marks-- == 0)
            *start = m->host > *end ? m->host : *end;
        push(end, &last, m->host, (origin){i, false});
        if (item->type == KINO__REPLAY_LAUNCH)
            push(end, &last, m->end, (origin){i, true});
    }
    return last;
}

/* The span of the rank that takes longest, and its last item. */
static origin find_span(const run *n, kino__replayed *out)
{
    origin last = {NONE, false};
    for (size_t i = 0; i < n->r->facts->ranks.count; i++) {
        int64_t start, end;
        origin of_rank = measure(n, i, &start, &end);
        if (start == INT64_MIN || end - start <= out->span)
            continue;
        out->span = end - start;
        last = of_rank;
    }
    return last;
}

static bool init(run *n, const kino__replay *r, const kino__edited *e)
{
    size_t items = r->facts->items.count + 1, ranks = r->facts->ranks.count;
    *n = (run){.r = r, .e = e};
    n->moments = calloc(items, sizeof *n->moments);
    n->calls = calloc(r->call_count + (size_t)1, sizeof *n->calls);
    n->ranks = calloc(ranks + 1, sizeof *n->ranks);
    n->launches = malloc(items * sizeof *n->launches);
    if (!n->moments || !n->calls || !n->ranks || !n->launches)
        return false;
    for (size_t i = 0; i < ranks; i++) {
        n->ranks[i].at = r->first[i];
        memset(n->ranks[i].last, 0xff, sizeof n->ranks[i].last);
    }
    return true;
}

bool kino__replay_run(const kino__replay *r, const kino__edited *edited, bool has_path,
                      kino__replayed *out)
{
    run n;
    *out = (kino__replayed){0};
    bool ok = init(&n, r, edited);
    if (ok) {
        out->is_stuck = !run_all(&n);
        origin last = {NONE, false};
        if (!out->is_stuck)
            last = find_span(&n, out);
        ok = !has_path || last.item == NONE || find_path(&n, last, out);
    }
    free(n.moments);
    free(n.calls);
    free(n.ranks);
    free(n.launches);
    return ok;
}

void kino__replayed_deinit(kino__replayed *replayed)
{
    kino__vec_deinit(&replayed->path);
}
