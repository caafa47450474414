/* fwd_bwd.c - which backward operator belongs to which forward operator, and what does each cost on
 * the device?
 *
 * Method: the link of the store (link.h: forward thread and sequence number, else autograd's flows)
 * from backward operators to forward ones. Of nested backward operators of one forward operator the
 * outermost counts: "autograd::engine::evaluate_function: X" contains "X". Device times and kernels
 * are those launched by the operator and by what it calls (profile.h).
 * Cost: one pass over the nodes and one over the kernels. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/map.h"
#include "model/profile/profile.h"
#include "store/args.h"
#include "store/link.h"

/* -- what a trace gives -- */

typedef struct pair {
    int64_t rank;
    kino_strid forward, backward; /* in texts */
    int64_t sequence, thread;     /* KINO_NO_INT: not recorded */
    bool by_flow;
    int64_t forward_event, backward_event;
    int64_t host[2], device[2]; /* forward, backward; device KINO_NO_INT: there is none */
    int64_t kernels[2];
} pair;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(pair) pairs;
    int64_t traces, without_numbers, without_device;
    int64_t unpaired; /* backward operators, over all traces */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->pairs);
}

/* -- one trace -- */

typedef struct pairing {
    const kino__profile *profile;
    const uint32_t *forward; /* of each row */
    const int64_t *sequence, *thread;
    uint32_t *kernels; /* launched in a node and below it */
    partial *out;
} pairing;

static bool count_kernels(pairing *w)
{
    const kino__profile *p = w->profile;
    w->kernels = calloc(p->nodes.count + 1, sizeof *w->kernels);
    if (!w->kernels)
        return false;
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.items[i].node != KINO__NO_NODE)
            w->kernels[p->kernels.items[i].node]++;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t n = kino__node_first_leaf(p, root); n != KINO__NO_NODE;
             n = kino__node_next_up(p, n, root))
            if (p->nodes.items[n].parent != KINO__NO_NODE)
                w->kernels[p->nodes.items[n].parent] += w->kernels[n];
    }
    return true;
}

/* "autograd::engine::evaluate_function: AddmmBackward0" is AddmmBackward0. */
static kino_str plain_name(const kino__trace *trace, uint32_t row)
{
    static const kino_str engine = {"autograd::engine::evaluate_function: ", 37};
    kino_str name = kino__trace_string(trace, trace->name[row]);
    if (kino__str_starts_with(name, engine))
        name = (kino_str){name.data + engine.size, name.size - engine.size};
    return name;
}

/* Is an operator around it the backward one of the same forward operator? */
static bool is_inner(const pairing *w, uint32_t node)
{
    const kino__node *nodes = w->profile->nodes.items;
    uint32_t forward = w->forward[nodes[node].row];
    for (uint32_t n = nodes[node].parent; n != KINO__NO_NODE; n = nodes[n].parent)
        if (nodes[n].row != KINO_NO_ROW && nodes[n].is_operator)
            return w->forward[nodes[n].row] == forward;
    return false;
}

static void measure(const pairing *w, uint32_t row, size_t side, pair *out)
{
    const kino__profile *p = w->profile;
    uint32_t node = kino__profile_node_of(p, row);
    bool has_device = p->has_kernel || p->has_copies;
    out->host[side] = kino__row_end(p->trace, row) - p->trace->ts[row];
    out->device[side] = KINO_NO_INT;
    if (node == KINO__NO_NODE || !has_device)
        return;
    out->device[side] = kino__node_sums_of(p, &p->nodes.items[node]).device_total;
    out->kernels[side] = w->kernels[node];
}

static bool add_pair(pairing *w, uint32_t backward)
{
    const kino__trace *trace = w->profile->trace;
    uint32_t forward = w->forward[backward];
    pair *slot = kino__vec_add(&w->out->pairs);
    if (!slot)
        return false;
    *slot = (pair){.rank = trace->rank,
                   .sequence = w->sequence[backward],
                   .thread = w->thread[backward],
                   .by_flow = w->sequence[backward] == KINO_NO_INT ||
                              w->sequence[backward] != w->sequence[forward],
                   .forward_event = kino__trace_event_id(trace, forward),
                   .backward_event = kino__trace_event_id(trace, backward)};
    slot->forward = kino__string_pool_add_borrowed(&w->out->texts, plain_name(trace, forward));
    slot->backward = kino__string_pool_add_borrowed(&w->out->texts, plain_name(trace, backward));
    measure(w, forward, 0, slot);
    measure(w, backward, 1, slot);
    return slot->forward != KINO_NO_STRING && slot->backward != KINO_NO_STRING;
}

static bool pair_nodes(pairing *w)
{
    const kino__profile *p = w->profile;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
            uint32_t row = p->nodes.items[n].row;
            if (row == KINO_NO_ROW || !p->nodes.items[n].is_operator)
                continue;
            bool is_backward = w->sequence[row] >= 0 && w->thread[row] > 0;
            if (w->forward[row] != KINO_NO_ROW) {
                if (!is_inner(w, n) && !add_pair(w, row))
                    return false;
            } else if (is_backward) {
                w->out->unpaired++;
            }
        }
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    pairing w = {.out = p,
                 .profile = kino__profile_of(trace, false, a->pool),
                 .forward = kino__link_forward(trace),
                 .sequence = kino__args_int_column(trace, "Sequence number"),
                 .thread = kino__args_int_column(trace, "Fwd thread id")};
    bool ok =
        w.profile && w.forward && w.sequence && w.thread && count_kernels(&w) && pair_nodes(&w);
    p->traces = 1;
    p->without_numbers = ok && p->pairs.count == 0;
    p->without_device = ok && p->pairs.count && !w.profile->has_kernel && !w.profile->has_copies;
    free(w.kernels);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- several traces -- */

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    into->traces += from->traces;
    into->without_numbers += from->without_numbers;
    into->without_device += from->without_device;
    into->unpaired += from->unpaired;
    if (!kino__vec_reserve(&into->pairs, from->pairs.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < from->pairs.count; i++) {
        pair more = from->pairs.items[i];
        more.forward =
            kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, more.forward));
        more.backward = kino__string_pool_add(&into->texts,
                                              kino__string_pool_text(&from->texts, more.backward));
        if (more.forward == KINO_NO_STRING || more.backward == KINO_NO_STRING)
            return kino__fail_nomem(err);
        into->pairs.items[into->pairs.count++] = more;
    }
    return KINO_OK;
}

static void pack_pair(kino__pack *pack, pair *p)
{
    KINO__PACK(pack, &p->rank, &p->forward, &p->backward, &p->sequence, &p->thread, &p->by_flow);
    KINO__PACK_EVENTS(pack, &p->forward_event, &p->backward_event);
    for (int side = 0; side < 2; side++) {
        KINO__PACK(pack, &p->host[side], &p->device[side], &p->kernels[side]);
    }
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->pairs, pack_pair);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without_numbers, &p->without_device, &p->unpaired);
    size_t texts = kino__string_pool_count(&p->texts);
    for (size_t i = 0; i < p->pairs.count; i++)
        if (p->pairs.items[i].forward >= texts || p->pairs.items[i].backward >= texts)
            pack->is_damaged = true;
}

/* -- the answer -- */

enum { T_OPERATORS, T_PAIRS };

#define SIDES(unit, what, help)                                                                    \
    {"forward_" what, unit, NULL, help},                                                           \
    {                                                                                              \
        "backward_" what, unit, NULL, help                                                         \
    }

static const kino_column operator_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"forward", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "forward operator"},
    {"backward", KINO_TYPE_STRING, NULL, "backward operator"},
    {"pairs", KINO_TYPE_INT, "count", "number of pairs"},
    SIDES(KINO_TYPE_DURATION, "device_duration", "device work of it and of what it calls"),
    {"ratio", KINO_TYPE_FLOAT, NULL, "backward_device_duration / forward_device_duration"},
    SIDES(KINO_TYPE_DURATION, "host_duration", "on the host"),
    SIDES(KINO_TYPE_INT, "kernels", "kernels of it and of what it calls"),
    {0},
};

static const kino_column pair_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"forward", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "forward operator"},
    {"backward", KINO_TYPE_STRING, NULL, "backward operator"},
    {"sequence", KINO_TYPE_INT, NULL, "sequence number of the backward operator"},
    {"forward_thread", KINO_TYPE_INT, NULL, "number of the thread that ran the forward pass"},
    {"linked_by", KINO_TYPE_STRING, NULL, "sequence or flow"},
    {"forward_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the event"},
    {"backward_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the event"},
    SIDES(KINO_TYPE_DURATION, "device_duration", "device work of it and of what it calls"),
    SIDES(KINO_TYPE_DURATION, "host_duration", "on the host"),
    SIDES(KINO_TYPE_INT, "kernels", "kernels of it and of what it calls"),
    {0},
};

static const kino_table_info tables[] = {
    [T_OPERATORS] = {"operators", "one row per pair of operators, most device time first",
                     operator_columns, "Operators",
                     "not available: no backward operator could be linked to a forward operator"},
    [T_PAIRS] = {"pairs", "one row per backward operator, in order of threads and time",
                 pair_columns, "Pairs", NULL},
    {0},
};

static void add_sides(kino__table *table, const int64_t *values)
{
    KINO__TABLE_ADD(table, values[0], values[1]);
}

static void fill_pairs(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->pairs.count; i++) {
        const pair *r = &p->pairs.items[i];
        bool has_device = r->device[0] != KINO_NO_INT;
        int64_t events[2] = {r->forward_event, r->backward_event};
        KINO__TABLE_ADD(table, r->rank, kino__string_pool_text(&p->texts, r->forward),
                        kino__string_pool_text(&p->texts, r->backward), r->sequence, r->thread,
                        r->by_flow ? KINO__STR("flow") : KINO__STR("sequence"));
        add_sides(table, events);
        add_sides(table, r->device);
        add_sides(table, r->host);
        add_sides(table, has_device ? r->kernels : (const int64_t[]){KINO_NO_INT, KINO_NO_INT});
    }
    if (table)
        table->flags |= KINO__TABLE_QUIET;
}

/* Sums of the pairs of two names on one rank. */
typedef struct group {
    pair sum;
    size_t order;
    int64_t count;
} group;
typedef KINO__VEC(group) groups;

static void add_to_group(group *g, const pair *r)
{
    g->count++;
    for (int side = 0; side < 2; side++) {
        g->sum.host[side] = kino__sum(g->sum.host[side], r->host[side]);
        g->sum.kernels[side] = kino__sum(g->sum.kernels[side], r->kernels[side]);
        if (r->device[side] != KINO_NO_INT)
            g->sum.device[side] = g->sum.device[side] == KINO_NO_INT
                                      ? r->device[side]
                                      : kino__sum(g->sum.device[side], r->device[side]);
    }
}

static int64_t key_of(const group *g)
{
    const int64_t *time = g->sum.device[0] == KINO_NO_INT ? g->sum.host : g->sum.device;
    return kino__sum(time[0], time[1]);
}

static int compare_groups(const void *x, const void *y)
{
    const group *a = x, *b = y;
    if (key_of(a) != key_of(b))
        return key_of(a) > key_of(b) ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The group of a pair: pairs of one rank follow each other. False when memory is out. */
static bool group_pairs(const partial *p, groups *out)
{
    kino__map by_names;
    bool ok = true;
    size_t first = 0;
    kino__map_init(&by_names, NULL);
    for (size_t i = 0; ok && i < p->pairs.count; i++) {
        const pair *r = &p->pairs.items[i];
        if (i && r->rank != p->pairs.items[i - 1].rank) {
            kino__map_deinit(&by_names);
            kino__map_init(&by_names, NULL);
            first = out->count;
        }
        uint32_t *slot = kino__map_put(&by_names, (uint64_t)r->forward << 32 | r->backward,
                                       (uint32_t)(out->count - first));
        group *g = NULL;
        if (slot && *slot + first < out->count)
            g = &out->items[*slot + first];
        else if (slot && (g = kino__vec_add(out)))
            *g = (group){.sum = {.rank = r->rank,
                                 .forward = r->forward,
                                 .backward = r->backward,
                                 .device = {KINO_NO_INT, KINO_NO_INT}},
                         .order = out->count};
        ok = g != NULL;
        if (ok)
            add_to_group(g, r);
    }
    kino__map_deinit(&by_names);
    return ok;
}

static bool fill_operators(const partial *p, kino__table *table)
{
    groups all = {0};
    bool ok = group_pairs(p, &all);
    if (ok && all.count)
        qsort(all.items, all.count, sizeof *all.items, compare_groups);
    for (size_t i = 0; ok && i < all.count; i++) {
        const group *g = &all.items[i];
        bool has_device = g->sum.device[0] != KINO_NO_INT && g->sum.device[1] != KINO_NO_INT;
        KINO__TABLE_ADD(table, g->sum.rank, kino__string_pool_text(&p->texts, g->sum.forward),
                        kino__string_pool_text(&p->texts, g->sum.backward), g->count);
        add_sides(table, g->sum.device);
        kino__table_add_real(table, has_device && g->sum.device[0] > 0
                                        ? (double)g->sum.device[1] / (double)g->sum.device[0]
                                        : (double)NAN);
        add_sides(table, g->sum.host);
        add_sides(table, has_device ? g->sum.kernels : (const int64_t[]){KINO_NO_INT, KINO_NO_INT});
    }
    kino__vec_deinit(&all);
    return ok;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const partial *p = value;
    if (!fill_operators(p, kino__analysis_table(result, T_OPERATORS)))
        return kino__fail_nomem(err);
    fill_pairs(p, kino__analysis_table(result, T_PAIRS));
    if (p->without_numbers == p->traces)
        kino__result_lacks(result, "pairs of forward and backward operators",
                           ": the trace has no sequence numbers and no autograd flows");
    if (p->without_device)
        kino__result_lacks(result, "device times", ": no device work was recorded");
    if (p->unpaired)
        kino__result_note(result, "%lld backward operators have no forward operator in the trace",
                          (long long)p->unpaired);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_fwd_bwd = {
    .name = "fwd-bwd",
    .help = "which backward operator belongs to which forward operator",
    .description =
        "Links each backward operator to the forward operator that recorded it, by the\n"
        "thread of the forward pass and autograd's sequence number, else by autograd's\n"
        "flows. Sequence numbers count per thread: the number alone does not identify an\n"
        "operator. The table 'pairs' (JSON, CSV, SQL) has one row per backward operator.\n",
    .tables = tables,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
