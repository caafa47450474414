/* kernels.c - which kernels take the time of the device, how large are they, and which operator
 * launched them?
 *
 * Method: kernels of the profile (profile.h) are added to the row of their name, or of their name,
 * operator, grid, block, registers and shared memory. Rows go by numbers of strings; texts are made
 * for the finished rows alone. Every trace has rows of its own. In compat mode the second grouping
 * is fed from the operator trees, as the TensorBoard plugin does: kernels that nothing launched are
 * there once for each thread with steps (D3), and those whose operator has no place in its tree are
 * missing.
 * Cost: one pass over the kernels. */
#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/python_text.h"
#include "base/error.h"
#include "model/profile/profile.h"

enum { P_GROUP };

/* -- what a trace gives: integers and texts -- */

/* What tells rows apart; in the grouping by name only the name. */
typedef struct key {
    kino_strid name, op, grid, block; /* KINO_NO_STRING: none */
    int64_t registers, shared_memory; /* KINO_NO_INT: none */
} key;

/* A mean weighted by duration: sum of value * ns, and of ns. Means are of one trace, so they are
 * never added up across traces: a double does no harm. */
typedef struct weighted {
    double sum;
    int64_t weight; /* 0 with sum 0: no value */
    bool has_value;
} weighted;

typedef struct row {
    int64_t rank;
    key key; /* texts: of partial.texts */
    bool uses_tensor_cores;
    bool has_op, is_op_eligible;
    int64_t first; /* start of the first one */
    int64_t calls, total, max, min;
    weighted blocks_per_sm, occupancy;
} row;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(row) rows;
    int64_t traces, without_kernels; /* how many, for notes */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->rows);
}

/* -- one trace -- */

/* As an operator: the root of a thread, in compat mode. */
#define ROOT_OP (KINO_NO_STRING - 1)

typedef struct counting {
    const kino__analysis *a;
    const kino__profile *profile;
    partial *p;
    bool is_by_op;
    KINO__VEC(row) rows;  /* texts: name and op of the trace, grid and block of the partial */
    kino__map by_key;     /* hash of a key, plus 1 as often as it was taken -> row */
    kino_strid *texts_of; /* text of the profile -> text of partial: equal lists have one */
    bool has_blocks_per_sm, has_occupancy;
    uint32_t visited;
} counting;

static uint64_t hash_of(const key *k)
{
    uint64_t h = kino__hash_u64((uint64_t)k->name << 32 | k->op);
    h = kino__hash_u64(h ^ ((uint64_t)k->grid << 32 | k->block));
    return kino__hash_u64(h ^ ((uint64_t)k->registers << 32) ^ (uint64_t)k->shared_memory);
}

static bool are_equal(const key *a, const key *b)
{
    return a->name == b->name && a->op == b->op && a->grid == b->grid && a->block == b->block &&
           a->registers == b->registers && a->shared_memory == b->shared_memory;
}

/* The row of a key, made on first sight; NULL when memory is out. */
static row *find_row(counting *c, const row *fresh)
{
    for (uint64_t hash = hash_of(&fresh->key);; hash++) {
        uint32_t *index = kino__map_put(&c->by_key, hash, (uint32_t)c->rows.count);
        if (!index)
            return NULL;
        if (*index == c->rows.count) {
            row *r = kino__vec_add(&c->rows);
            if (r)
                *r = *fresh;
            return r;
        }
        if (are_equal(&c->rows.items[*index].key, &fresh->key))
            return &c->rows.items[*index];
    }
}

/* In compat mode a value that is missing counts as 0, and one that cannot be as it stands;
 * otherwise both are left out. */
static void add_value(const counting *c, weighted *w, double value, bool is_there, int64_t dur)
{
    if (!is_there && !c->profile->is_compat)
        return;
    w->has_value |= is_there;
    w->sum += isnan(value) ? 0 : value * (double)dur;
    w->weight += dur;
}

/* The text of a grid or block as Python writes it; false when memory is out. */
static bool list_text(counting *c, kino_strid from, kino_strid *out)
{
    *out = KINO_NO_STRING;
    if (from == KINO_NO_STRING)
        return true;
    kino_strid *known = &c->texts_of[from];
    if (*known == KINO_NO_STRING) {
        kino__buffer text = {0};
        kino__python_text(kino__string_pool_text(&c->profile->texts, from), &text);
        if (!text.failed)
            *known = kino__string_pool_add(&c->p->texts, kino__buffer_str(&text));
        kino__buffer_deinit(&text);
    }
    *out = *known;
    return *known != KINO_NO_STRING;
}

static bool set_properties(counting *c, row *r, const kino__kernel_info *k, uint32_t node)
{
    int64_t missing = c->profile->is_compat ? 0 : KINO_NO_INT;
    const kino__kernel_shape *shape = kino__profile_shape(c->profile, k);
    r->key.registers = shape->registers == KINO_NO_INT ? missing : shape->registers;
    r->key.shared_memory = shape->shared_memory == KINO_NO_INT ? missing : shape->shared_memory;
    if (!list_text(c, shape->grid, &r->key.grid) || !list_text(c, shape->block, &r->key.block))
        return false;
    if (node == KINO__NO_NODE)
        return true;
    const kino__node *n = &c->profile->nodes.items[node];
    bool is_root = n->class == KINO__NODE_ROOT;
    r->has_op = !is_root || c->profile->is_compat;
    r->is_op_eligible = n->is_named_eligible;
    r->key.op = !is_root                ? kino__node_name_id(c->profile, n)
                : c->profile->is_compat ? ROOT_OP
                                        : KINO_NO_STRING;
    return true;
}

static kino_status count_kernel(counting *c, const kino__kernel_info *k, uint32_t node,
                                kino_error *err)
{
    const kino__trace *trace = c->profile->trace;
    kino_strid name = trace->name[k->row];
    uint32_t flags = name == KINO_NO_STRING ? 0 : c->profile->name_flags[name];
    kino__interval span = kino__interval_of(trace->ts[k->row], trace->dur[k->row]);
    int64_t dur = span.end - span.start;
    row fresh = {
        .rank = trace->rank,
        .key = {name, KINO_NO_STRING, KINO_NO_STRING, KINO_NO_STRING, KINO_NO_INT, KINO_NO_INT},
        .uses_tensor_cores = (flags & KINO__NAME_TENSOR_CORES) != 0,
        .first = span.start,
        .max = dur,
        .min = dur};
    if (++c->visited % 65536 == 0 && kino__progress_is_cancelled(c->a->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    if (c->is_by_op && !set_properties(c, &fresh, k, node))
        return kino__fail_nomem(err);
    row *r = find_row(c, &fresh);
    if (!r)
        return kino__fail_nomem(err);
    r->calls++;
    r->total += dur;
    r->max = dur > r->max ? dur : r->max;
    r->min = dur < r->min ? dur : r->min;
    r->first = span.start < r->first ? span.start : r->first;
    const kino__kernel_shape *shape = kino__profile_shape(c->profile, k);
    bool has_blocks_per_sm = shape->blocks_per_sm > 0, has_occupancy = shape->occupancy >= 0;
    add_value(c, &r->blocks_per_sm, shape->blocks_per_sm, has_blocks_per_sm, dur);
    add_value(c, &r->occupancy, shape->occupancy, has_occupancy, dur);
    c->has_blocks_per_sm |= has_blocks_per_sm;
    c->has_occupancy |= has_occupancy;
    return KINO_OK;
}

static kino_status count_all(counting *c, kino_error *err)
{
    for (size_t i = 0; i < c->profile->kernels.count; i++)
        KINO_TRY(
            count_kernel(c, &c->profile->kernels.items[i], c->profile->kernels.items[i].node, err));
    return KINO_OK;
}

static int compare_rows_of(const void *key_row, const void *info)
{
    uint32_t wanted = *(const uint32_t *)key_row, other = ((const kino__kernel_info *)info)->row;
    return wanted < other ? -1 : wanted > other;
}

static kino_status count_launch(counting *c, const kino__launch *launch, uint32_t node,
                                kino_error *err)
{
    const kino__profile *p = c->profile;
    for (uint32_t w = 0; w < launch->work_count; w++) {
        const uint32_t *at = &p->work.items[launch->first_work + w];
        if (p->type[*at] != KINO__EVENT_TYPE_KERNEL)
            continue;
        const kino__kernel_info *k =
            bsearch(at, p->kernels.items, p->kernels.count, sizeof *k, compare_rows_of);
        if (k)
            KINO_TRY(count_kernel(c, k, node, err));
    }
    return KINO_OK;
}

/* Compat: what hangs in the trees. */
static kino_status count_trees(counting *c, kino_error *err)
{
    const kino__profile *p = c->profile;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t n = kino__node_first_leaf(p, root); n != KINO__NO_NODE;
             n = kino__node_next_up(p, n, root)) {
            uint32_t count;
            const kino__launch *launch = kino__node_launches(p, &p->nodes.items[n], &count);
            for (uint32_t l = 0; l < count; l++)
                KINO_TRY(count_launch(c, &launch[l], n, err));
        }
    }
    return KINO_OK;
}

/* Longest first; then by first start, then by name. */
static int compare_rows(const void *x, const void *y, void *context)
{
    const row *a = x, *b = y;
    const kino__trace *trace = context;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    int by_name = kino__str_compare(kino__trace_string(trace, a->key.name),
                                    kino__trace_string(trace, b->key.name));
    if (by_name)
        return by_name;
    const key *k = &a->key, *m = &b->key; /* numbers in order of first sight: the same every time */
    if (k->op != m->op)
        return k->op < m->op ? -1 : 1;
    if (k->grid != m->grid)
        return k->grid < m->grid ? -1 : 1;
    if (k->block != m->block)
        return k->block < m->block ? -1 : 1;
    if (k->registers != m->registers)
        return k->registers < m->registers ? -1 : 1;
    return k->shared_memory < m->shared_memory ? -1 : k->shared_memory > m->shared_memory;
}

/* A column of the plugin is there when some kernel of the trace has a value; then one without
 * counts as 0. */
static void settle(const counting *c, weighted *w, bool is_there)
{
    if (c->profile->is_compat)
        w->has_value = is_there;
    if (!w->has_value)
        *w = (weighted){0};
}

static bool take_rows(counting *c)
{
    const kino__trace *trace = c->profile->trace;
    if (!kino__vec_reserve(&c->p->rows, c->rows.count))
        return false;
    if (c->rows.count)
        qsort_r(c->rows.items, c->rows.count, sizeof *c->rows.items, compare_rows,
                (void *)(uintptr_t)trace);
    for (size_t i = 0; i < c->rows.count; i++) {
        row r = c->rows.items[i];
        kino_str op = r.key.op == ROOT_OP ? KINO__STR("CallTreeRoot") /* the plugin's name of it */
                                          : kino__trace_string(trace, r.key.op);
        r.key.name =
            kino__string_pool_add_borrowed(&c->p->texts, kino__trace_string(trace, r.key.name));
        if (r.key.op != KINO_NO_STRING)
            r.key.op = kino__string_pool_add_borrowed(&c->p->texts, op);
        bool has_op = r.key.op != KINO_NO_STRING;
        if (r.key.name == KINO_NO_STRING || has_op != (c->rows.items[i].key.op != KINO_NO_STRING))
            return false;
        settle(c, &r.blocks_per_sm, c->has_blocks_per_sm);
        settle(c, &r.occupancy, c->has_occupancy);
        c->p->rows.items[c->p->rows.count++] = r;
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    counting c = {.a = a,
                  .profile = kino__profile_of(trace, is_compat, a->pool),
                  .p = value,
                  .is_by_op = kino__str_is(kino__param_text(a, P_GROUP), "name-op")};
    if (!c.profile)
        return kino__fail_nomem(err);
    size_t texts = kino__string_pool_count(&c.profile->texts) + 1;
    c.texts_of = malloc(texts * sizeof *c.texts_of);
    if (!c.texts_of)
        return kino__fail_nomem(err);
    memset(c.texts_of, 0xff, texts * sizeof *c.texts_of);
    kino__map_init(&c.by_key, NULL);
    kino_status st = is_compat && c.is_by_op ? count_trees(&c, err) : count_all(&c, err);
    if (st == KINO_OK && !take_rows(&c))
        st = kino__fail_nomem(err);
    c.p->traces = 1;
    c.p->without_kernels = c.profile->kernels.count == 0;
    kino__map_deinit(&c.by_key);
    kino__vec_deinit(&c.rows);
    free(c.texts_of);
    return st;
}

/* -- several traces -- */

static bool move_text(partial *into, const partial *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    into->traces += from->traces;
    into->without_kernels += from->without_kernels;
    if (!kino__vec_reserve(&into->rows, from->rows.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < from->rows.count; i++) {
        row r = from->rows.items[i];
        if (!move_text(into, from, &r.key.name) || !move_text(into, from, &r.key.op) ||
            !move_text(into, from, &r.key.grid) || !move_text(into, from, &r.key.block))
            return kino__fail_nomem(err);
        into->rows.items[into->rows.count++] = r;
    }
    return KINO_OK;
}

static void pack_weighted(kino__pack *pack, weighted *w)
{
    uint64_t bits;
    memcpy(&bits, &w->sum, sizeof bits);
    kino__pack_u64(pack, &bits);
    memcpy(&w->sum, &bits, sizeof bits);
    KINO__PACK(pack, &w->weight, &w->has_value);
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->key.name, &r->key.op, &r->key.grid, &r->key.block,
               &r->key.registers, &r->key.shared_memory, &r->uses_tensor_cores, &r->has_op,
               &r->is_op_eligible, &r->calls, &r->total, &r->max, &r->min);
    KINO__PACK_TIMES(pack, &r->first);
    pack_weighted(pack, &r->blocks_per_sm);
    pack_weighted(pack, &r->occupancy);
    if (r->calls < 1 && !pack->out)
        pack->is_damaged = true; /* a mean needs one */
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without_kernels);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_GROUP] = {"group", KINO_TYPE_STRING, "name",
                 "one row per name, or per name, operator and launch properties", "name|name-op"},
    {0},
};

enum { C_ELIGIBLE = KINO__KERNELS_TENSOR_CORES + 1, C_GRID, C_BLOCK, C_REGISTERS, C_SHARED_MEMORY };

static const kino_column kernel_columns[] = {
    [KINO__KERNELS_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [KINO__KERNELS_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "name of the kernel"},
    [KINO__KERNELS_OPERATOR] = {"operator", KINO_TYPE_STRING, NULL,
                                "operator that launched it; null: grouped by name, or unknown"},
    [KINO__KERNELS_CALLS] = {"calls", KINO_TYPE_INT, "count", "number of runs"},
    [KINO__KERNELS_TOTAL] = {"total_duration", KINO_TYPE_DURATION, NULL, "sum"},
    [KINO__KERNELS_MEAN] = {"mean_duration", KINO_TYPE_FLOAT, "ns", "total_duration / calls"},
    [KINO__KERNELS_MAX] = {"max_duration", KINO_TYPE_DURATION, NULL, "longest"},
    [KINO__KERNELS_MIN] = {"min_duration", KINO_TYPE_DURATION, NULL, "shortest"},
    [KINO__KERNELS_BLOCKS_PER_SM] =
        {"mean_blocks_per_sm", KINO_TYPE_FLOAT, NULL,
         "weighted by duration; below 1: some multiprocessors are idle"},
    [KINO__KERNELS_OCCUPANCY] = {"mean_est_achieved_occupancy", KINO_TYPE_PERCENT, NULL,
                                 "weighted by duration, as estimated by the profiler"},
    [KINO__KERNELS_TENSOR_CORES] = {"tensor_cores_used", KINO_TYPE_BOOL, NULL,
                                    "judged by its name"},
    [C_ELIGIBLE] = {"op_is_tensor_cores_eligible", KINO_TYPE_BOOL, NULL,
                    "whether the operator could use tensor cores; null: no operator"},
    [C_GRID] = {"grid", KINO_TYPE_STRING, NULL, "blocks; null: grouped by name, or not recorded"},
    [C_BLOCK] = {"block", KINO_TYPE_STRING, NULL, "threads per block; null: as for grid"},
    [C_REGISTERS] = {"register_per_thread", KINO_TYPE_INT, NULL, "null: as for grid"},
    [C_SHARED_MEMORY] = {"shared_memory", KINO_TYPE_BYTES, NULL, "per block; null: as for grid"},
    {0},
};

static const kino_table_info tables[] = {
    {"kernels", "one row per kernel, most time first", kernel_columns, NULL,
     "not available: the trace has no kernels"},
    {0},
};

static void add_text(kino__table *table, const partial *p, kino_strid id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->texts, id));
}

static void add_mean(kino__table *table, const weighted *w)
{
    if (!w->has_value)
        kino__table_add_null(table);
    else
        kino__table_add_real(table, w->weight > 0 ? w->sum / (double)w->weight : 0);
}

static void add_row(const partial *p, kino__table *table, const row *r)
{
    kino__table_add_int(table, r->rank);
    add_text(table, p, r->key.name);
    add_text(table, p, r->key.op);
    KINO__TABLE_ADD(table, r->calls, r->total, (double)r->total / (double)r->calls, r->max, r->min);
    add_mean(table, &r->blocks_per_sm);
    add_mean(table, &r->occupancy);
    KINO__TABLE_ADD(table, r->uses_tensor_cores, r->has_op ? r->is_op_eligible : KINO_NO_INT);
    add_text(table, p, r->key.grid);
    add_text(table, p, r->key.block);
    KINO__TABLE_ADD(table, r->key.registers, r->key.shared_memory);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    bool has_blocks_per_sm = false, has_occupancy = false;
    for (size_t i = 0; i < p->rows.count; i++) {
        add_row(p, table, &p->rows.items[i]);
        has_blocks_per_sm |= p->rows.items[i].blocks_per_sm.has_value;
        has_occupancy |= p->rows.items[i].occupancy.has_value;
    }
    if (table && kino__str_is(kino__param_text(a, P_GROUP), "name"))
        table->hidden |= 1u << KINO__KERNELS_OPERATOR | 1u << C_GRID | 1u << C_BLOCK |
                         1u << C_REGISTERS | 1u << C_SHARED_MEMORY | 1u << C_ELIGIBLE;
    if (p->without_kernels == p->traces)
        kino__result_lacks(result, "kernels", ": the trace has none");
    else if (p->without_kernels)
        kino__result_lacks(result, "kernels", " in %lld of %lld traces: they have none",
                           (long long)p->without_kernels, (long long)p->traces);
    if (p->rows.count && !has_blocks_per_sm)
        kino__result_lacks(result, "blocks per SM", ": the profiler did not record it");
    if (p->rows.count && !has_occupancy)
        kino__result_lacks(result, "occupancy", ": the profiler did not record it");
    if (table && !has_blocks_per_sm)
        table->hidden |= 1u << KINO__KERNELS_BLOCKS_PER_SM;
    if (table && !has_occupancy)
        table->hidden |= 1u << KINO__KERNELS_OCCUPANCY;
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_kernels = {
    .name = "kernels",
    .help = "which kernels take the device time, and what launched them",
    .description =
        "Sums all calls of each kernel over the whole trace; copies and memsets are not\n"
        "kernels. Concurrent kernels are each counted in full. With --group name-op, a\n"
        "row is a kernel with one operator, grid, block, registers and shared memory; the\n"
        "operator is the one the launch belongs to.\n",
    .params = params,
    .tables = tables,
    .compat = compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
