/* op_costs.c - what do operators compute and move, how fast, and how far from the limit of the
 * device?
 *
 * Method: the work of the trace with its costs (cost_work.h), added up by operator, by the line of
 * the program and by direction; what is unknown by its reason.
 * Cost: one pass over the work; arguments of operators are read once. */
#include <stdlib.h>

#include "analysis/costs/cost_place.h"
#include "analysis/costs/cost_rows.h"
#include "base/error.h"
#include "store/args.h"
#include "store/op_inputs.h"

enum { P_GROUP, P_MERGE_RANKS, P_PEAK, P_COSTS };
enum { T_OPERATORS, T_LINES, T_DIRECTIONS, T_UNKNOWN };

/* -- what a trace gives -- */

typedef struct partial {
    kino__cost_rows rows[4]; /* by the tables */
    kino__cost_facts facts;
    int64_t without_lines; /* traces */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    for (int i = 0; i < 4; i++)
        kino__cost_rows_deinit(&p->rows[i]);
}

/* -- one trace -- */

typedef struct counting {
    const kino__cost_work *work;
    kino__cost_places places;
    kino__roofs roofs;
    kino__text_cursor cursor;
    partial *out;
    int64_t rank;
    bool by_shape;
} counting;

/* Views of text that does not live as long as the trace are copied. */
static bool add_text(kino__cost_rows *rows, kino_str text, kino_strid *id)
{
    *id = text.size ? kino__string_pool_add(&rows->texts, text) : KINO_NO_STRING;
    return !text.size || *id != KINO_NO_STRING;
}

static kino__cost_key plain_key(const counting *c)
{
    return (kino__cost_key){.rank = c->rank,
                            .name = KINO_NO_STRING,
                            .detail = KINO_NO_STRING,
                            .precision = KINO__PRECISION_NONE,
                            .device = UINT32_MAX};
}

static bool count(counting *c, size_t table, const kino__cost_key *key, const kino__work_item *item,
                  const kino__device_peaks *peaks)
{
    kino__cost_row *row = kino__cost_rows_find(&c->out->rows[table], key);
    if (row)
        kino__cost_row_count(row, c->work, item, peaks);
    return row != NULL;
}

/* Work of an operator is listed under it; copies, memsets and collectives under their own names;
 * so is a kernel that no operator accounts for. */
static bool count_operator(counting *c, const kino__work_item *item,
                           const kino__device_peaks *peaks)
{
    kino__cost_rows *rows = &c->out->rows[T_OPERATORS];
    kino__cost_key key = plain_key(c);
    const kino__cost *cost = kino__work_cost(c->work, item);
    bool is_own = item->around == KINO_NO_ROW || item->kind == KINO__WORK_COPY ||
                  item->kind == KINO__WORK_SET || (!cost && item->kind == KINO__WORK_COLLECTIVE);
    kino_str shape = {0};
    if (c->by_shape && !is_own)
        shape = kino__op_inputs_dims(kino__args_text(
            c->work->trace, c->work->costs.ops.items[item->around].row, &c->cursor));
    kino_str name = is_own ? kino__trace_string(c->work->trace, c->work->trace->name[item->row])
                           : kino__cost_place_name(&c->places, item->around);
    key.kind = is_own ? item->kind : KINO__WORK_OPERATOR;
    key.dtype = is_own || !cost ? KINO__DTYPE_NONE : cost->precision;
    return add_text(rows, name, &key.name) && add_text(rows, shape, &key.detail) &&
           count(c, T_OPERATORS, &key, item, peaks);
}

static bool count_line(counting *c, const kino__work_item *item, const kino__device_peaks *peaks)
{
    kino_str line = {0};
    kino__cost_key key = plain_key(c);
    if (item->around != KINO_NO_ROW)
        line = kino__cost_place_line(&c->places, item->around);
    return add_text(&c->out->rows[T_LINES], line, &key.name) &&
           count(c, T_LINES, &key, item, peaks);
}

/* Forward, backward; work that no operator launched is neither. */
enum { DIRECTION_FORWARD, DIRECTION_BACKWARD, DIRECTION_NONE };

static bool count_direction(counting *c, const kino__work_item *item,
                            const kino__device_peaks *peaks)
{
    kino__cost_key key = plain_key(c);
    key.kind = item->around == KINO_NO_ROW ? DIRECTION_NONE
               : c->work->costs.ops.items[item->around].direction == KINO__OP_BACKWARD
                   ? DIRECTION_BACKWARD
                   : DIRECTION_FORWARD;
    return count(c, T_DIRECTIONS, &key, item, peaks);
}

static bool count_unknown(counting *c, const kino__work_item *item)
{
    kino__cost_rows *rows = &c->out->rows[T_UNKNOWN];
    kino__cost_key key = plain_key(c);
    const char *reason = kino__work_reason(c->work, item);
    if (!reason)
        return true;
    kino_str name = item->around == KINO_NO_ROW
                        ? kino__trace_string(c->work->trace, c->work->trace->name[item->row])
                        : kino__cost_place_name(&c->places, item->around);
    return add_text(rows, name, &key.name) && add_text(rows, kino__str_from(reason), &key.detail) &&
           count(c, T_UNKNOWN, &key, item, NULL);
}

static kino_status count_all(const kino__analysis *a, counting *c, kino_error *err)
{
    const kino__trace *trace = c->work->trace;
    uint32_t track = 0;
    for (size_t i = 0; i < c->work->items.count; i++) {
        const kino__work_item *item = &c->work->items.items[i];
        while (item->row - trace->tracks.items[track].first >= trace->tracks.items[track].count)
            track++;
        const kino__device_peaks *peaks =
            kino__roofs_of(&c->roofs, trace->tracks.items[track].device);
        if (!count_operator(c, item, peaks) || !count_line(c, item, peaks) ||
            !count_direction(c, item, peaks) || !count_unknown(c, item) || c->places.failed)
            return kino__fail_nomem(err);
        if (i % 65536 == 65535 && kino__progress_is_cancelled(a->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    return KINO_OK;
}

static bool has_lines(const kino__cost_rows *rows)
{
    for (size_t i = 0; i < rows->rows.count; i++)
        if (rows->rows.items[i].key.name != KINO_NO_STRING)
            return true;
    return false;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__cost_work *own;
    counting c = {.out = value,
                  .rank = kino__param_bool(a, P_MERGE_RANKS) ? KINO_NO_INT : trace->rank,
                  .by_shape = kino__str_is(kino__param_text(a, P_GROUP), "name-shape")};
    KINO_TRY(kino__roofs_init(&c.roofs, trace, kino__param_text(a, P_PEAK), err));
    KINO_TRY(
        kino__cost_work_and_places(a, trace, kino__param_text(a, P_COSTS), &c.work, &own, err));
    kino__text_cursor_init(&c.cursor, trace->text);
    kino__cost_places_init(&c.places, c.work, false);
    kino_status st = count_all(a, &c, err);
    if (st == KINO_OK) {
        kino__cost_facts_take(&c.out->facts, c.work, &c.roofs);
        c.out->without_lines = !has_lines(&c.out->rows[T_LINES]);
    }
    kino__cost_places_deinit(&c.places);
    kino__text_cursor_deinit(&c.cursor);
    kino__cost_work_free(own);
    return st;
}

/* -- several traces -- */

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    for (int i = 0; i < 4; i++)
        if (!kino__cost_rows_merge(&into->rows[i], &from->rows[i]))
            return kino__fail_nomem(err);
    kino__cost_facts_add(&into->facts, &from->facts);
    into->without_lines += from->without_lines;
    return KINO_OK;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    for (int i = 0; i < 4; i++)
        kino__cost_rows_pack(pack, &p->rows[i]);
    kino__cost_facts_pack(pack, &p->facts);
    kino__pack_tally(pack, &p->without_lines);
    for (size_t i = 0; i < p->rows[T_OPERATORS].rows.count; i++)
        if (p->rows[T_OPERATORS].rows.items[i].key.kind > KINO__WORK_OPERATOR)
            pack->is_damaged = true;
    for (size_t i = 0; i < p->rows[T_DIRECTIONS].rows.count; i++)
        if (p->rows[T_DIRECTIONS].rows.items[i].key.kind > DIRECTION_NONE)
            pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_GROUP] = {"group", KINO_TYPE_STRING, "name",
                 "one row per name and type, or also per shapes of the inputs", "name|name-shape"},
    [P_MERGE_RANKS] = {"merge_ranks", KINO_TYPE_BOOL, "no", "sums over all ranks", NULL},
    [P_PEAK] = KINO__PEAK_PARAM,
    [P_COSTS] = KINO__COSTS_PARAM,
    {0},
};

enum { C_RANK, C_OP, C_SHAPES = 3, C_SUMS = 5 };

static const kino_column operator_columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    [C_OP] = {"op", KINO_TYPE_STRING, NULL, "operator; kernel, copy or memset without one"},
    {"kind", KINO_TYPE_STRING, NULL, "operator, kernel, collective, copy or memset"},
    [C_SHAPES] = {"shapes", KINO_TYPE_STRING, NULL, "of the inputs; null: not asked for, unknown"},
    {"dtype", KINO_TYPE_STRING, NULL, "precision of the arithmetic"},
    KINO__COST_SUM_COLUMNS,
    {"tensor_cores", KINO_TYPE_PERCENT, NULL,
     "share of its time on matrix units; null: no product"},
    {"tensor_gap", KINO_TYPE_STRING, NULL, KINO__TENSOR_GAP_HELP},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the longest one"},
    {0},
};

static const kino_column line_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    {"line", KINO_TYPE_STRING, NULL, "that called the operator, or its forward one; null: unknown"},
    KINO__COST_SUM_COLUMNS,
    {0},
};

static const kino_column direction_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    {"direction", KINO_TYPE_STRING, NULL, "forward or backward; null: outside of operators"},
    KINO__COST_SUM_COLUMNS,
    {0},
};

static const kino_column unknown_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    {"op", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "operator; kernel without one"},
    {"reason", KINO_TYPE_STRING, NULL, "why its cost is unknown"},
    {"kernels", KINO_TYPE_INT, "count", NULL},
    {"device_time", KINO_TYPE_DURATION, NULL, "on the device; on the host without one"},
    {0},
};

static const kino_table_info tables[] = {
    [T_OPERATORS] = {"op_costs", "one row per operator and type, most time first", operator_columns,
                     "Operators", "not available: the trace has no operators"},
    [T_LINES] = {"source_lines", "one row per line of the program, most time first", line_columns,
                 "Source lines", NULL},
    [T_DIRECTIONS] = {"directions", "forward and backward pass", direction_columns, "Directions",
                      NULL},
    [T_UNKNOWN] = {"unknown", "work whose cost is unknown, most time first", unknown_columns,
                   "Unknown costs", NULL},
    {0},
};

static kino_str kind_name(uint32_t kind)
{
    static const char *const names[] = {[KINO__WORK_KERNEL] = "kernel",
                                        [KINO__WORK_COLLECTIVE] = "collective",
                                        [KINO__WORK_COPY] = "copy",
                                        [KINO__WORK_SET] = "memset",
                                        [KINO__WORK_OPERATOR] = "operator"};
    return kino__str_from(names[kind]);
}

static void tell_operator(const kino__cost_rows *rows, const kino__cost_row *r, kino__table *table)
{
    kino__table_add_int(table, r->key.rank);
    kino__cost_rows_add_text(rows, table, r->key.name);
    kino__table_add_text(table, kind_name(r->key.kind));
    kino__cost_rows_add_text(rows, table, r->key.detail);
    if (r->key.dtype == KINO__DTYPE_NONE)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__str_from(kino__dtype_name(r->key.dtype)));
    kino__cost_sum_tell(&r->sum, table);
    kino__table_add_real(table, kino__cost_percent(r->sum.tensor_time, r->sum.matrix_time));
    kino__cost_gap_tell(&r->sum, table);
    kino__table_add_int(table, r->event);
}

static void tell_line(const kino__cost_rows *rows, const kino__cost_row *r, kino__table *table)
{
    kino__table_add_int(table, r->key.rank);
    kino__cost_rows_add_text(rows, table, r->key.name);
    kino__cost_sum_tell(&r->sum, table);
}

static void tell_direction(const kino__cost_rows *rows, const kino__cost_row *r, kino__table *table)
{
    (void)rows;
    kino__table_add_int(table, r->key.rank);
    if (r->key.kind == DIRECTION_NONE)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, r->key.kind == DIRECTION_BACKWARD ? KINO__STR("backward")
                                                                      : KINO__STR("forward"));
    kino__cost_sum_tell(&r->sum, table);
}

static void tell_unknown(const kino__cost_rows *rows, const kino__cost_row *r, kino__table *table)
{
    kino__table_add_int(table, r->key.rank);
    kino__cost_rows_add_text(rows, table, r->key.name);
    kino__cost_rows_add_text(rows, table, r->key.detail);
    KINO__TABLE_ADD(table, r->sum.kernels, r->sum.time);
}

static bool fill(const kino__cost_rows *rows, kino__table *table,
                 void (*tell)(const kino__cost_rows *, const kino__cost_row *, kino__table *))
{
    uint32_t *order = kino__cost_rows_order_new(rows);
    for (size_t i = 0; order && i < rows->rows.count; i++)
        tell(rows, &rows->rows.items[order[i]], table);
    free(order);
    return order != NULL;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    void (*const tell[])(const kino__cost_rows *, const kino__cost_row *,
                         kino__table *) = {tell_operator, tell_line, tell_direction, tell_unknown};
    for (size_t i = 0; i < 4; i++)
        if (!fill(&p->rows[i], kino__analysis_table(result, i), tell[i]))
            return kino__fail_nomem(err);
    kino__table *operators = kino__analysis_table(result, T_OPERATORS),
                *lines = kino__analysis_table(result, T_LINES);
    for (size_t i = T_LINES; i <= T_UNKNOWN; i++)
        if (kino__analysis_table(result, i))
            kino__analysis_table(result, i)->empty_text = NULL;
    if (operators)
        operators->hidden |=
            UINT64_C(1) << (C_SUMS + KINO__COST_SUM_COLUMN_COUNT + 2) | /* event */
            (kino__str_is(kino__param_text(a, P_GROUP), "name") ? UINT64_C(1) << C_SHAPES : 0);
    if (lines && p->without_lines == p->facts.traces)
        kino__table_clear(lines);
    kino__cost_facts_note(&p->facts, result);
    return KINO_OK;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    return kino__roofs_check(kino__param_text(a, P_PEAK), err);
}

const kino__analysis_def kino__analysis_op_costs = {
    .name = "op-costs",
    .help = "what operators compute and move, and how close they get to the device's limit",
    .description =
        "Computes operations (FLOPs) and bytes of each operator from the shapes and types\n"
        "of its inputs, and compares them with the time of its kernels. An operator is\n"
        "charged once; its kernels share the cost by their time. Unknown costs stay\n"
        "unknown: 'known' is the share of the time whose cost is known, and the table\n"
        "'unknown' gives the reasons. The peak rates come from the table of 'kino peaks'.\n"
        "Without a device, the times are those of the operators on the host.\n",
    .params = params,
    .tables = tables,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
