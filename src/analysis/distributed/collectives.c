/* collectives.c - what do collectives cost: sizes, waiting, transfer, bandwidth?
 *
 * Method: kernels of communication libraries (and spans of the host, where a library like Gloo
 * moves the data there), with the metadata that the profiler writes on them
 * (operation, elements, type, process group, sequence number), else by their name. The same call on
 * several ranks is found by operation, process group and sequence number (else: step), and order. A
 * blocking collective ends everywhere together, so the rank that arrives last has the shortest
 * kernel: that is the transfer, and what the others have more is waiting. No clocks are compared.
 * Cost: a sort of the communication kernels of all ranks. */
#include <math.h>
#include <stdlib.h>

#include "analysis/distributed/collective_calls.h"
#include "analysis/distributed/collective_match.h"
#include "analysis/distributed/collective_names.h"
#include "analysis/distributed/distributed.h"
#include "analysis/verdict/verdict.h"
#include "base/error.h"

/* -- what a trace gives -- */

typedef struct call {
    uint32_t trace; /* its place in ranks */
    uint32_t kind;  /* in the pool kinds */
    int64_t series; /* sequence number, or number of the step; KINO_NO_INT: neither */
    int64_t size;   /* bytes, KINO_NO_INT: not known */
    int64_t dur;
} call;

typedef struct partial {
    kino__string_pool kinds;  /* texts made by kino__collective_text */
    KINO__VEC(int64_t) ranks; /* of the traces */
    KINO__VEC(call) calls;    /* of each trace in order of time */
    kino__verdict_facts verdict;
    bool is_by_name; /* some have no metadata */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->kinds);
    kino__vec_deinit(&p->ranks);
    kino__vec_deinit(&p->calls);
    kino__verdict_facts_deinit(&p->verdict);
}

static bool add_calls(partial *p, const kino__trace *trace, const kino__collective_calls *found)
{
    for (size_t i = 0; i < found->items.count; i++) {
        const kino__collective_call *from = &found->items.items[i];
        int64_t dur = trace->dur[from->row] > 0 ? trace->dur[from->row] : 0;
        call *to = kino__vec_add(&p->calls);
        if (!to)
            return false;
        *to = (call){0, from->kind, from->series, from->size, dur};
    }
    p->is_by_name |= found->is_by_name;
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    kino__collective_calls found = {0};
    int64_t *rank = kino__vec_add(&p->ranks);
    const kino__profile *profile = kino__profile_of(trace, false, a->pool);
    bool ok = rank && profile && kino__verdict_add(&p->verdict, profile) &&
              kino__collective_calls_find(a, trace, &p->kinds, &found) &&
              add_calls(p, trace, &found);
    if (rank)
        *rank = trace->rank;
    kino__collective_calls_deinit(&found);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    uint32_t traces = (uint32_t)p->ranks.count;
    size_t count = kino__string_pool_count(&more->kinds);
    uint32_t *kinds = malloc((count + 1) * sizeof *kinds);
    bool ok = kinds && kino__verdict_merge(&p->verdict, &more->verdict) &&
              kino__vec_reserve(&p->ranks, more->ranks.count) &&
              kino__vec_reserve(&p->calls, more->calls.count);
    for (kino_strid i = 0; ok && i < count; i++) {
        kinds[i] = kino__string_pool_add(&p->kinds, kino__string_pool_text(&more->kinds, i));
        ok = kinds[i] != KINO_NO_STRING;
    }
    for (size_t i = 0; ok && i < more->ranks.count; i++)
        p->ranks.items[p->ranks.count++] = more->ranks.items[i];
    for (size_t i = 0; ok && i < more->calls.count; i++) {
        call c = more->calls.items[i];
        c.trace += traces;
        c.kind = kinds[c.kind];
        p->calls.items[p->calls.count++] = c;
    }
    p->is_by_name |= more->is_by_name;
    free(kinds);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_call(kino__pack *pack, call *c)
{
    KINO__PACK(pack, &c->trace, &c->kind, &c->series, &c->size, &c->dur);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->kinds);
    KINO__PACK_VEC(pack, &p->ranks, kino__pack_int);
    KINO__PACK_VEC(pack, &p->calls, pack_call);
    kino__pack_bool(pack, &p->is_by_name);
    kino__verdict_pack(pack, &p->verdict);
    for (size_t i = 0; i < p->calls.count; i++) {
        const call *c = &p->calls.items[i];
        if (c->trace >= p->ranks.count || c->kind >= kino__string_pool_count(&p->kinds) ||
            c->dur < 0)
            pack->is_damaged = true;
    }
}

/* -- the same call on several ranks -- */

typedef struct member {
    call c;
    uint32_t number;  /* of the call; partners have the same */
    int64_t transfer; /* KINO_NO_INT: no partner */
    bool is_last;     /* arrived last */
} member;

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->c.kind != y->c.kind)
        return x->c.kind < y->c.kind ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->c.trace < y->c.trace ? -1 : x->c.trace > y->c.trace;
}

static bool is_same_call(const member *a, const member *b)
{
    return a->number == b->number;
}

/* All members, those of one call together. NULL when memory is out. */
static member *match(const partial *p)
{
    size_t count = p->calls.count;
    member *members = malloc((count + 1) * sizeof *members);
    kino__match_entry *entries = malloc((count + 1) * sizeof *entries);
    for (size_t i = 0; entries && i < count; i++) {
        const call *c = &p->calls.items[i];
        entries[i] = (kino__match_entry){c->trace, c->kind, c->series};
    }
    uint32_t *numbers = entries ? kino__match_calls(entries, count) : NULL;
    for (size_t i = 0; members && numbers && i < count; i++)
        members[i] = (member){p->calls.items[i], numbers[i], KINO_NO_INT, false};
    if (members && numbers && count)
        qsort(members, count, sizeof *members, compare_members);
    if (!numbers) {
        free(members);
        members = NULL;
    }
    free(entries);
    free(numbers);
    return members;
}

/* -- sums -- */

typedef struct sums {
    int64_t calls, kernels, matched;         /* matched: kernels with a partner */
    int64_t sized, size, min_size, max_size; /* kernels whose size is known */
    int64_t duration, wait, transfer;
    int64_t sized_time; /* of those with a size: transfer, or all where there is no partner */
    int64_t spread;     /* sum over calls with partners: longest minus shortest */
    int64_t spread_calls, last;
} sums;

static void add_member(sums *s, const member *m)
{
    s->kernels++;
    s->duration = kino__sum(s->duration, m->c.dur);
    s->last += m->is_last;
    bool has_partner = m->transfer != KINO_NO_INT;
    if (has_partner) {
        s->matched++;
        s->transfer = kino__sum(s->transfer, m->transfer);
        s->wait = kino__sum(s->wait, m->c.dur - m->transfer);
    }
    if (m->c.size < 0)
        return;
    s->min_size = s->sized == 0 || m->c.size < s->min_size ? m->c.size : s->min_size;
    s->max_size = m->c.size > s->max_size ? m->c.size : s->max_size;
    s->sized++;
    s->size = kino__sum(s->size, m->c.size);
    s->sized_time = kino__sum(s->sized_time, has_partner ? m->transfer : m->c.dur);
}

/* One call: sets transfer and is_last of its members where there are several. */
static void judge_call(member *members, size_t count, bool is_point_to_point, sums *s)
{
    s->calls += is_point_to_point ? (int64_t)count : 1;
    if (count < 2 || is_point_to_point)
        return;
    size_t last = 0;
    int64_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (members[i].c.dur < members[last].c.dur)
            last = i;
        longest = members[i].c.dur > longest ? members[i].c.dur : longest;
    }
    int64_t shortest = members[last].c.dur;
    for (size_t i = 0; i < count; i++)
        members[i].transfer = shortest;
    members[last].is_last = longest > shortest;
    s->spread = kino__sum(s->spread, longest - shortest);
    s->spread_calls++;
}

/* -- the answer -- */

#define KIND_COLUMNS                                                                               \
    {"operation", KINO_TYPE_STRING, NULL, "all-reduce, all-gather, ..."},                          \
        {"process_group", KINO_TYPE_STRING, NULL, "name; null: not recorded"},                     \
    {                                                                                              \
        "group_ranks", KINO_TYPE_STRING, NULL, "ranks of the group; null: not recorded"            \
    }
#define TIME_COLUMNS                                                                               \
    {"duration", KINO_TYPE_DURATION, NULL, "sum over kernels"},                                    \
        {"wait", KINO_TYPE_DURATION, NULL,                                                         \
         "part of it until the last rank arrived; null: unknown"},                                 \
    {                                                                                              \
        "transfer", KINO_TYPE_DURATION, NULL, "the remaining part; null: unknown"                  \
    }
#define BANDWIDTH_COLUMNS                                                                          \
    {"algorithm_bandwidth", KINO_TYPE_FLOAT, "GB/s", "size / transfer; null: unknown size"},       \
    {                                                                                              \
        "bus_bandwidth", KINO_TYPE_FLOAT, "GB/s",                                                  \
            "the same, multiplied by the factor of the operation"                                  \
    }

static const kino_column collective_columns[] = {
    KIND_COLUMNS,
    {"group_size", KINO_TYPE_INT, NULL, "number of ranks; null: not recorded"},
    {"calls", KINO_TYPE_INT, "count", "a call on several ranks is counted once"},
    {"kernels", KINO_TYPE_INT, "count", "over all ranks; host spans if there are no kernels"},
    {"matched", KINO_TYPE_INT, "count", "kernels whose call was found on several ranks"},
    {"min_size", KINO_TYPE_BYTES, NULL, "message size: the larger of a rank's input and output"},
    {"mean_size", KINO_TYPE_FLOAT, "bytes", NULL},
    {"max_size", KINO_TYPE_BYTES, NULL, NULL},
    TIME_COLUMNS,
    {"wait_pctg", KINO_TYPE_PERCENT, NULL, "wait / (wait + transfer)"},
    BANDWIDTH_COLUMNS,
    {"imbalance", KINO_TYPE_FLOAT, "ns",
     "mean over calls of the longest minus the shortest kernel"},
    {"last_rank", KINO_TYPE_INT, NULL, "rank that arrives last most often"},
    {"last_count", KINO_TYPE_INT, "count", "how often it arrives last"},
    {0},
};

static const kino_column size_columns[] = {
    KIND_COLUMNS,
    {"size", KINO_TYPE_BYTES, NULL, "of a message"},
    {"kernels", KINO_TYPE_INT, "count", NULL},
    TIME_COLUMNS,
    BANDWIDTH_COLUMNS,
    {0},
};

static const kino_column rank_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    KIND_COLUMNS,
    {"kernels", KINO_TYPE_INT, "count", NULL},
    TIME_COLUMNS,
    {"last_count", KINO_TYPE_INT, "count", "number of calls at which it arrived last"},
    {0},
};

static const kino_table_info tables[] = {
    {"collectives", "one row per operation and process group, most time first", collective_columns,
     NULL, "not available: no communication"},
    {"sizes", "one row per operation, process group and message size", size_columns,
     "By message size", NULL},
    {"ranks", "one row per rank, operation and process group", rank_columns, "By rank", NULL},
    {0},
};

static void add_kind(kino__table *table, const kino__collective *kind)
{
    kino__table_add_text(table, kind->operation);
    if (kind->group.size)
        kino__table_add_text(table, kind->group);
    else
        kino__table_add_null(table);
    if (kind->ranks.size)
        kino__table_add_text(table, kind->ranks);
    else
        kino__table_add_null(table);
}

static void add_times(kino__table *table, const sums *s)
{
    KINO__TABLE_ADD(table, s->duration, s->matched ? s->wait : KINO_NO_INT,
                    s->matched ? s->transfer : KINO_NO_INT);
}

/* Bytes per ns are GB/s. */
static void add_bandwidths(kino__table *table, const sums *s, const kino__collective *kind)
{
    double bandwidth =
        s->sized && s->sized_time > 0 ? (double)s->size / (double)s->sized_time : NAN;
    KINO__TABLE_ADD(table, bandwidth, bandwidth * kino__collective_bus_factor(kind));
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* Members of one kind, and what they come to. */
typedef struct group {
    const member *members; /* by call */
    size_t count;
    kino__collective kind;
    sums all;
    uint32_t number; /* of the kind */
} group;

static int compare_groups(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->all.duration != y->all.duration)
        return x->all.duration > y->all.duration ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Scratch: sums of each trace, zeroed. */
static void add_group(kino_result *result, const partial *p, const group *g, sums *of_trace)
{
    size_t traces = p->ranks.count, last = 0;
    memset(of_trace, 0, traces * sizeof *of_trace);
    for (size_t i = 0; i < g->count; i++)
        add_member(&of_trace[g->members[i].c.trace], &g->members[i]);
    kino__table *ranks = kino__analysis_table(result, 2);
    for (size_t t = 0; t < traces; t++) {
        last = of_trace[t].last > of_trace[last].last ? t : last;
        if (of_trace[t].kernels == 0)
            continue;
        kino__table_add_int(ranks, p->ranks.items[t]);
        add_kind(ranks, &g->kind);
        kino__table_add_int(ranks, of_trace[t].kernels);
        add_times(ranks, &of_trace[t]);
        kino__table_add_int(ranks, of_trace[t].matched ? of_trace[t].last : KINO_NO_INT);
    }
    const sums *s = &g->all;
    bool has_last = of_trace[last].last > 0;
    kino__table *table = kino__analysis_table(result, 0);
    add_kind(table, &g->kind);
    KINO__TABLE_ADD(table, g->kind.group_size, s->calls, s->kernels, s->matched,
                    s->sized ? s->min_size : KINO_NO_INT, ratio((double)s->size, (double)s->sized),
                    s->sized ? s->max_size : KINO_NO_INT);
    add_times(table, s);
    kino__table_add_real(table,
                         ratio(100 * (double)s->wait, (double)s->wait + (double)s->transfer));
    add_bandwidths(table, s, &g->kind);
    KINO__TABLE_ADD(table, ratio((double)s->spread, (double)s->spread_calls),
                    has_last ? p->ranks.items[last] : KINO_NO_INT,
                    has_last ? of_trace[last].last : KINO_NO_INT);
}

static int compare_sizes(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->c.size != y->c.size)
        return x->c.size < y->c.size ? -1 : 1;
    return compare_members(x, y);
}

/* Brings the members into the order of sizes: the last use of them. */
static void add_sizes(kino_result *result, const group *g)
{
    kino__table *table = kino__analysis_table(result, 1);
    member *members = (member *)(uintptr_t)g->members;
    qsort(members, g->count, sizeof *members, compare_sizes);
    for (size_t i = 0, next; i < g->count; i = next) {
        sums s = {0};
        for (next = i; next < g->count && members[next].c.size == members[i].c.size; next++)
            add_member(&s, &members[next]);
        if (members[i].c.size < 0)
            continue;
        add_kind(table, &g->kind);
        KINO__TABLE_ADD(table, members[i].c.size, s.kernels);
        add_times(table, &s);
        add_bandwidths(table, &s, &g->kind);
    }
}

/* Members of the kind that starts at *at, which moves behind them. */
static group next_group(const partial *p, member *members, size_t *at)
{
    size_t first = *at, end = first;
    group g = {.members = members + first, .number = members[first].c.kind};
    g.kind = kino__collective_read(kino__string_pool_text(&p->kinds, g.number));
    while (end < p->calls.count && members[end].c.kind == g.number) {
        size_t from = end;
        while (end < p->calls.count && is_same_call(&members[end], &members[from]))
            end++;
        judge_call(members + from, end - from, kino__collective_is_point_to_point(&g.kind), &g.all);
        for (size_t i = from; i < end; i++)
            add_member(&g.all, &members[i]);
    }
    g.count = end - first;
    *at = end;
    return g;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const partial *p = value;
    member *members = match(p);
    group *groups = malloc((kino__string_pool_count(&p->kinds) + 1) * sizeof *groups);
    sums *of_trace = calloc(p->ranks.count + 1, sizeof *of_trace);
    bool ok = members && groups && of_trace;
    size_t count = 0;
    uint64_t matched = 0;
    for (size_t at = 0; ok && at < p->calls.count; count++) {
        groups[count] = next_group(p, members, &at);
        matched += (uint64_t)groups[count].all.matched;
    }
    if (ok && count)
        qsort(groups, count, sizeof *groups, compare_groups);
    for (size_t i = 0; ok && i < count; i++) {
        add_group(result, p, &groups[i], of_trace);
        add_sizes(result, &groups[i]);
    }
    if (ok && p->calls.count == 0)
        kino__result_lacks(result, "collectives", ": no communication in the trace");
    else if (ok && matched == 0)
        kino__result_lacks(result, "wait and transfer",
                           ": no call was found on several ranks; bandwidths are computed from "
                           "complete kernels, including waiting");
    if (ok && p->is_by_name)
        kino__result_note(result,
                          "some kernels have no collective metadata: the operation is taken from "
                          "the name, sizes from the operator's inputs if recorded");
    ok = ok && (p->calls.count == 0 || kino__verdict_add_note(&p->verdict, result));
    free(members);
    free(groups);
    free(of_trace);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_collectives = {
    .name = "collectives",
    .help = "collectives by operation and process group: sizes, waiting, bandwidth",
    .description =
        "Kernels of communication libraries by operation and process group; for libraries\n"
        "that move data on the host (Gloo, MPI, UCC), their host spans. A call on several\n"
        "ranks ends on all of them at the same time: the shortest kernel is the transfer,\n"
        "and whatever another rank spends beyond that is waiting for the last rank to\n"
        "arrive. Algorithm bandwidth is the message size divided by the transfer time;\n"
        "bus bandwidth is that times 2(n-1)/n for all-reduce, (n-1)/n for all-gather,\n"
        "reduce-scatter, all-to-all, gather and scatter, and 1 for the others, as in\n"
        "nccl-tests.\n",
    .tables = tables,
    .takes_steps = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
