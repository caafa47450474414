/* operators.c - which operators take the time, on the host and on the device? By name, by name and
 * shapes of inputs, by call stack.
 *
 * Method: one walk over the operator trees (profile.h), children before parents, adds each node to
 * the row of its name (and shapes, and stack). Rows go by numbers of strings; texts are made for
 * the finished rows alone. Every trace has rows of its own, so merging puts them behind each other.
 * Cost: linear in the nodes; arguments are read for operators only (operators_args.c). */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/operators/operators_internal.h"
#include "base/error.h"

enum { P_GROUP, P_STACKS };

/* -- what a trace gives: integers and texts -- */

typedef struct row {
    int64_t rank;
    kino_strid name, shape, stack; /* in partial.texts; KINO_NO_STRING: none */
    uint32_t order;                /* of first sight in its trace */
    int64_t calls;
    int64_t device_self, device_total; /* KINO_NO_INT: the trace has no device */
    int64_t host_self, host_total;
    int64_t tensor_self, tensor_total;
    bool is_eligible;
    bool has_stack;
} row;
typedef KINO__VEC(row) row_list;

typedef struct partial {
    kino__string_pool texts;
    row_list rows, stacks;
    /* how many, for notes */
    int64_t traces, without_operators, without_device, without_shapes, crossing, folded;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->rows);
    kino__vec_deinit(&p->stacks);
}

/* -- one trace -- */

typedef struct counting {
    const kino__profile *profile;
    kino__operator_args args;
    row_list rows, stacks;        /* name: of the trace; shape, stack: of args.texts */
    kino__map by_group, by_stack; /* name and shape -> row; row and stack -> row of stacks */
    int64_t rank;
    bool has_shapes;
} counting;

/* The row of a key, made on first sight; NULL when memory is out. */
static row *find_row(row_list *rows, kino__map *map, uint64_t key, const row *fresh)
{
    uint32_t *index = kino__map_put(map, key, (uint32_t)rows->count);
    if (!index)
        return NULL;
    if (*index < rows->count)
        return &rows->items[*index];
    row *r = kino__vec_add(rows);
    if (r) {
        *r = *fresh;
        r->order = *index;
    }
    return r;
}

static void add_node(row *r, const kino__profile *p, const kino__node *n)
{
    kino__node_sums own = kino__node_sums_of(p, n);
    r->calls++;
    r->device_self += own.device_self;
    r->device_total += own.device_total;
    r->host_self += own.self_host;
    r->host_total += kino__node_length(p, n);
    r->tensor_self += own.tensor_self;
    r->tensor_total += own.tensor_total;
}

static bool count_node(counting *c, uint32_t index)
{
    const kino__node *n = &c->profile->nodes.items[index];
    row fresh = {.rank = c->rank,
                 .name = kino__node_name_id(c->profile, n),
                 .shape = c->args.shape ? c->args.shape[index] : KINO_NO_STRING,
                 .stack = KINO_NO_STRING,
                 .is_eligible = n->is_eligible};
    c->has_shapes |= fresh.shape != KINO_NO_STRING;
    row *group = find_row(&c->rows, &c->by_group, (uint64_t)fresh.name << 32 | fresh.shape, &fresh);
    if (!group)
        return false;
    add_node(group, c->profile, n);
    group->has_stack |= c->args.has_stack[index] != 0;
    if (!c->args.stack || c->args.stack[index] == KINO_NO_STRING)
        return true;
    fresh.stack = c->args.stack[index];
    fresh.has_stack = true;
    row *stack =
        find_row(&c->stacks, &c->by_stack, (uint64_t)group->order << 32 | fresh.stack, &fresh);
    if (stack)
        add_node(stack, c->profile, n);
    return stack != NULL;
}

static kino_status count_all(const kino__analysis *a, counting *c, kino_error *err)
{
    const kino__profile *p = c->profile;
    uint32_t visited = 0;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t n = kino__node_first_leaf(p, root); n != KINO__NO_NODE;
             n = kino__node_next_up(p, n, root)) {
            if (p->nodes.items[n].is_operator && !count_node(c, n))
                return kino__fail_nomem(err);
            if (++visited % 65536 == 0 && kino__progress_is_cancelled(a->progress))
                return kino__fail(err, KINO_CANCELLED, "interrupted");
        }
    }
    return KINO_OK;
}

/* Device time decides, where there is a device; then the order of first sight. */
static int compare_device(const void *x, const void *y)
{
    const row *a = x, *b = y;
    if (a->device_self != b->device_self)
        return a->device_self > b->device_self ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_host(const void *x, const void *y)
{
    const row *a = x, *b = y;
    if (a->host_self != b->host_self)
        return a->host_self > b->host_self ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Shapes that were not recorded: "[]" as the plugin has it, which is right where the trace has any
 * shapes; nothing where it has none. */
static kino_strid shape_text(partial *p, const counting *c, const row *r)
{
    bool is_absent = r->shape == KINO_NO_STRING;
    if (!c->args.shape || (is_absent && !c->has_shapes && !c->profile->is_compat))
        return KINO_NO_STRING;
    return kino__string_pool_add(
        &p->texts, is_absent ? KINO__STR("[]") : kino__string_pool_text(&c->args.texts, r->shape));
}

/* The finished rows of the trace, in their order, with texts of the partial. */
static bool take_rows(partial *p, const counting *c, row_list *from, row_list *into)
{
    bool has_device = c->profile->has_kernel || c->profile->has_copies;
    if (!kino__vec_reserve(into, from->count))
        return false;
    if (from->count)
        qsort(from->items, from->count, sizeof *from->items,
              has_device ? compare_device : compare_host);
    for (size_t i = 0; i < from->count; i++) {
        row r = from->items[i];
        r.name = kino__string_pool_add_borrowed(&p->texts,
                                                kino__trace_string(c->profile->trace, r.name));
        kino_strid shape = shape_text(p, c, &r);
        bool has_failed =
            r.name == KINO_NO_STRING || (shape == KINO_NO_STRING && r.shape != KINO_NO_STRING);
        r.shape = shape;
        if (r.stack != KINO_NO_STRING) {
            r.stack =
                kino__string_pool_add(&p->texts, kino__string_pool_text(&c->args.texts, r.stack));
            has_failed |= r.stack == KINO_NO_STRING;
        }
        if (has_failed)
            return false;
        if (!has_device)
            r.device_self = r.device_total = KINO_NO_INT;
        into->items[into->count++] = r;
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    counting c = {.rank = trace->rank,
                  .profile =
                      kino__profile_of(trace, kino__analysis_is_compat(a, "tensorboard"), a->pool)};
    if (!c.profile)
        return kino__fail_nomem(err);
    c.args.wants_shapes = kino__str_is(kino__param_text(a, P_GROUP), "name-shape");
    c.args.wants_stacks = kino__param_bool(a, P_STACKS);
    kino__map_init(&c.by_group, NULL);
    kino__map_init(&c.by_stack, NULL);
    kino_status st =
        kino__operator_args_read(&c.args, c.profile, a->pool) ? KINO_OK : kino__fail_nomem(err);
    if (st == KINO_OK)
        st = count_all(a, &c, err);
    if (st == KINO_OK &&
        !(take_rows(p, &c, &c.rows, &p->rows) && take_rows(p, &c, &c.stacks, &p->stacks)))
        st = kino__fail_nomem(err);
    p->traces = 1;
    p->without_operators = c.rows.count == 0;
    p->without_device = c.rows.count && !c.profile->has_kernel && !c.profile->has_copies;
    p->crossing = (int64_t)c.profile->crossing_count;
    p->folded = (int64_t)c.profile->folded_count;
    p->without_shapes = c.rows.count && c.args.wants_shapes && !c.has_shapes;
    kino__operator_args_deinit(&c.args);
    kino__map_deinit(&c.by_group);
    kino__map_deinit(&c.by_stack);
    kino__vec_deinit(&c.rows);
    kino__vec_deinit(&c.stacks);
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

static bool append(partial *into, row_list *rows, const partial *from, const row_list *more)
{
    if (!kino__vec_reserve(rows, more->count))
        return false;
    for (size_t i = 0; i < more->count; i++) {
        row r = more->items[i];
        if (!move_text(into, from, &r.name) || !move_text(into, from, &r.shape) ||
            !move_text(into, from, &r.stack))
            return false;
        rows->items[rows->count++] = r;
    }
    return true;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    into->traces += from->traces;
    into->without_operators += from->without_operators;
    into->without_device += from->without_device;
    into->without_shapes += from->without_shapes;
    into->crossing += from->crossing;
    into->folded += from->folded;
    bool ok = append(into, &into->rows, from, &from->rows) &&
              append(into, &into->stacks, from, &from->stacks);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->name, &r->shape, &r->stack, &r->calls, &r->device_self,
               &r->device_total, &r->host_self, &r->host_total, &r->tensor_self, &r->tensor_total,
               &r->is_eligible, &r->has_stack);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->stacks, pack_row);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without_operators, &p->without_device,
                       &p->without_shapes, &p->crossing, &p->folded);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_GROUP] = {"group", KINO_TYPE_STRING, "name",
                 "one row per name, or per name and input shapes", "name|name-shape"},
    [P_STACKS] = {"stacks", KINO_TYPE_BOOL, "no", "fill the table call_stacks", NULL},
    {0},
};

enum {
    C_ELIGIBLE = KINO__OPERATORS_HOST_TOTAL + 1,
    C_TENSOR_SELF,
    C_TENSOR_TOTAL,
    C_LAST /* has_call_stack, or call_stack */
};

#define COMMON_COLUMNS                                                                             \
    [KINO__OPERATORS_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},                       \
    [KINO__OPERATORS_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,                      \
                              "name of the operator"},                                             \
    [KINO__OPERATORS_SHAPE] = {"input_shape", KINO_TYPE_STRING, NULL,                              \
                               "shapes of the inputs; null: grouped by name, or not recorded"},    \
    [KINO__OPERATORS_CALLS] = {"calls", KINO_TYPE_INT, "count", "number of calls"},                \
    [KINO__OPERATORS_DEVICE_SELF] = {"device_self_duration", KINO_TYPE_DURATION, NULL,             \
                                     "device work it launched directly; null: no device"},         \
    [KINO__OPERATORS_DEVICE_TOTAL] = {"device_total_duration", KINO_TYPE_DURATION, NULL,           \
                                      "including what operators inside it launched"},              \
    [KINO__OPERATORS_HOST_SELF] = {"host_self_duration", KINO_TYPE_DURATION, NULL,                 \
                                   "excluding operators inside it and launch calls"},              \
    [KINO__OPERATORS_HOST_TOTAL] = {"host_total_duration", KINO_TYPE_DURATION, NULL,               \
                                    "from start to end on the host"},                              \
    [C_ELIGIBLE] = {"tc_eligible", KINO_TYPE_BOOL, NULL, "whether it could use tensor cores"},     \
    [C_TENSOR_SELF] = {"tc_self_ratio", KINO_TYPE_PERCENT, NULL,                                   \
                       "share of device_self_duration on tensor cores"},                           \
    [C_TENSOR_TOTAL] = {"tc_total_ratio", KINO_TYPE_PERCENT, NULL,                                 \
                        "share of device_total_duration on tensor cores"}

static const kino_column operator_columns[] = {
    COMMON_COLUMNS,
    [C_LAST] = {"has_call_stack", KINO_TYPE_BOOL, NULL, "the table call_stacks has more"},
    {0},
};

static const kino_column stack_columns[] = {
    COMMON_COLUMNS,
    [C_LAST] = {"call_stack", KINO_TYPE_STRING, NULL, "innermost call first, separated by ';'"},
    {0},
};

static const kino_table_info tables[] = {
    {"operators", "one row per operator, most device time first (host time without a device)",
     operator_columns, NULL, "not available: the trace has no operators"},
    {"call_stacks", "one row per operator and call stack, in the same order", stack_columns, NULL,
     "not available: the trace has no call stacks of operators"},
    {0},
};

static void add_ratio(const kino__analysis *a, kino__table *table, int64_t part, int64_t whole)
{
    if (whole == KINO_NO_INT && !kino__analysis_is_compat(a, "tensorboard"))
        kino__table_add_null(table);
    else
        kino__table_add_real(table, whole > 0 ? 100.0 * (double)part / (double)whole : 0);
}

static void add_row(const kino__analysis *a, const partial *p, kino__table *table, const row *r)
{
    KINO__TABLE_ADD(table, r->rank, kino__string_pool_text(&p->texts, r->name));
    if (r->shape == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->texts, r->shape));
    KINO__TABLE_ADD(table, r->calls, r->device_self, r->device_total, r->host_self, r->host_total,
                    r->is_eligible);
    add_ratio(a, table, r->tensor_self, r->device_self);
    add_ratio(a, table, r->tensor_total, r->device_total);
}

/* "in 2 of 8 traces", or nothing when it is all of them. */
static void add_note(kino_result *result, const char *what, const char *reason, int64_t count,
                     int64_t traces)
{
    if (count == 0)
        return;
    if (count == traces)
        kino__result_lacks(result, what, ": %s", reason);
    else
        kino__result_lacks(result, what, ": %s (%lld of %lld traces)", reason, (long long)count,
                           (long long)traces);
}

static void add_notes(const partial *p, kino_result *result)
{
    add_note(result, "operators", "the trace has none", p->without_operators, p->traces);
    add_note(result, "device times", "no device work was recorded", p->without_device, p->traces);
    add_note(result, "input shapes", "profile with record_shapes=True", p->without_shapes,
             p->traces);
    if (p->folded)
        kino__result_note(result, "%lld calls are counted with the enclosing call of the same name",
                          (long long)p->folded);
    if (p->crossing)
        kino__result_note(
            result, "%lld spans end after the span they start in: they are counted separately",
            (long long)p->crossing);
}

/* What people need not see: columns that have nothing to say in any row. */
static void hide(const kino__analysis *a, const partial *p, kino__table *table)
{
    if (!table)
        return;
    if (kino__str_is(kino__param_text(a, P_GROUP), "name"))
        table->hidden |= 1u << KINO__OPERATORS_SHAPE;
    if (p->without_device + p->without_operators == p->traces)
        table->hidden |= 1u << KINO__OPERATORS_DEVICE_SELF | 1u << KINO__OPERATORS_DEVICE_TOTAL |
                         1u << C_ELIGIBLE | 1u << C_TENSOR_SELF | 1u << C_TENSOR_TOTAL;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *operators = kino__analysis_table(result, 0);
    kino__table *stacks = kino__analysis_table(result, 1);
    bool has_stacks = false;
    for (size_t i = 0; i < p->rows.count; i++) {
        add_row(a, p, operators, &p->rows.items[i]);
        kino__table_add_int(operators, p->rows.items[i].has_stack);
        has_stacks |= p->rows.items[i].has_stack;
    }
    for (size_t i = 0; i < p->stacks.count; i++) {
        add_row(a, p, stacks, &p->stacks.items[i]);
        kino__table_add_text(stacks, kino__string_pool_text(&p->texts, p->stacks.items[i].stack));
    }
    hide(a, p, operators);
    hide(a, p, stacks);
    if (operators && !has_stacks)
        operators->hidden |= 1u << C_LAST;
    if (stacks && !kino__param_bool(a, P_STACKS))
        stacks->empty_text = NULL; /* not asked for */
    add_notes(p, result);
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_operators = {
    .name = "operators",
    .help = "which operators take the most time, on the host and on the device",
    .description =
        "Sums all calls of each operator over the whole trace: its time on the host, the\n"
        "device work it launched, and how much of that used tensor cores. 'self' excludes\n"
        "operators inside it, 'total' includes them; an operator inside one of the same\n"
        "name is counted at both levels.\n"
        "\n"
        "With --stacks, the table call_stacks shows the same numbers per call stack: the\n"
        "argument 'Call stack' of older traces, otherwise the Python calls enclosing the\n"
        "operator (with_stack=True in the profiler).\n",
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
