/* trace_costs.c - the operators of a trace with their costs; see the header.
 *
 *   1. names: which are operators, and what is their role (once for each text)
 *   2. ops: rows of such names, with the one around each; costs from their arguments
 *   3. forward convolutions whose stride was not recorded, again, from their backward operator
 *   4. charge.h */
#include "cost/trace_costs.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "cost/family.h"
#include "cost/marker.h"
#include "store/args.h"
#include "store/link.h"

/* -- names -- */

typedef enum name_kind {
    NAME_NEW,
    NAME_OTHER,
    NAME_OP,     /* with a role or not: an event of the kind is an operator anyway */
    NAME_MARKER, /* an annotation whose text is a call */
} name_kind;

typedef struct name_info {
    uint8_t kind; /* of annotations */
    uint8_t role, direction;
    bool is_known; /* role and direction are */
} name_info;

typedef struct maker {
    kino__trace_costs *out;
    const kino__trace *trace;
    const kino__cost_model *model;
    const kino__nesting *nesting;
    name_info *names;
    kino__op_call call;
    kino__text_cursor cursor;
    kino__map by_hash;             /* of costs: the last of them */
    KINO__VEC(uint32_t) next_cost; /* the one before with the same hash */
    kino__map gradients;           /* forward row -> backward convolution's row */
    KINO__VEC(uint32_t) unsolved;  /* ops: forward convolutions without values */
} maker;

/* -- costs, each kept once -- */

static bool is_same_cost(const kino__cost *a, const kino__cost *b)
{
    return a->flops == b->flops && a->bytes_read == b->bytes_read &&
           a->bytes_written == b->bytes_written && a->precision == b->precision &&
           a->is_matrix == b->is_matrix && a->family == b->family && a->reason == b->reason;
}

static uint64_t hash_cost(const kino__cost *cost)
{
    uint64_t hash = kino__hash_u64((uint64_t)cost->flops);
    hash = kino__hash_u64(hash ^ (uint64_t)cost->bytes_read);
    hash = kino__hash_u64(hash ^ (uint64_t)cost->bytes_written);
    return kino__hash_u64(hash ^ (uintptr_t)cost->reason ^ (uintptr_t)cost->family);
}

/* The place of an equal cost, added when it is new; KINO_NO_ROW: memory is out. */
static uint32_t keep_cost(maker *m, const kino__cost *cost)
{
    kino__trace_costs *out = m->out;
    uint32_t *last = kino__map_put(&m->by_hash, hash_cost(cost), KINO_NO_ROW);
    if (!last)
        return KINO_NO_ROW;
    for (uint32_t i = *last; i != KINO_NO_ROW; i = m->next_cost.items[i])
        if (is_same_cost(&out->costs.items[i], cost))
            return i;
    kino__cost *place = kino__vec_add(&out->costs);
    uint32_t *next = place ? kino__vec_add(&m->next_cost) : NULL;
    if (!next)
        return KINO_NO_ROW;
    *place = *cost;
    *next = *last;
    return *last = (uint32_t)out->costs.count - 1;
}

/* -- operators -- */

static name_info *info_of(maker *m, uint32_t row)
{
    kino_strid id = m->trace->name[row];
    return id == KINO_NO_STRING ? NULL : &m->names[id];
}

static bool is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->dur[row] != KINO_NO_TIME;
}

/* Is the row a call? Annotations are where their text is one. */
static bool is_call(maker *m, uint32_t row, bool *is_marker)
{
    kino__kind kind = kino__category_kind(m->trace->category[row]);
    name_info *info = info_of(m, row);
    *is_marker = false;
    if (!info || !is_span(m->trace, row))
        return false;
    if (kind == KINO__KIND_OP)
        return true;
    if (kind != KINO__KIND_ANNOTATION)
        return false;
    if (info->kind == NAME_NEW) {
        kino__marker_kind marker =
            kino__marker_kind_of(kino__trace_string(m->trace, m->trace->name[row]), false);
        bool is_one = marker == KINO__MARKER_ARGUMENTS || marker == KINO__MARKER_SEQUENCE;
        info->kind = is_one ? NAME_MARKER : NAME_OTHER;
    }
    *is_marker = info->kind == NAME_MARKER;
    return *is_marker;
}

static bool read_call(maker *m, uint32_t row, bool is_marker)
{
    kino_str name = kino__trace_string(m->trace, m->trace->name[row]);
    if (is_marker)
        return kino__op_call_read_range(&m->call, name);
    return kino__op_call_read_kineto(&m->call, name, kino__args_text(m->trace, row, &m->cursor));
}

/* Role and direction, from the name alone. */
static bool learn_name(maker *m, uint32_t row, bool is_marker, name_info *info)
{
    kino_str name = kino__trace_string(m->trace, m->trace->name[row]);
    if (is_marker) {
        if (!kino__op_call_read_range(&m->call, name))
            return false;
        name = m->call.name;
    }
    info->role = (uint8_t)kino__cost_role_of(m->model, name);
    info->direction = kino__marker_is_backward(name, false) ? KINO__OP_BACKWARD : KINO__OP_FORWARD;
    info->is_known = true;
    return true;
}

static bool is_convolution(const kino__cost *cost)
{
    return cost->family == kino__cost_family_convolution.name;
}

/* A backward convolution knows the sizes of the forward one's result: remembers where. */
static bool note_gradient(maker *m, uint32_t row)
{
    const uint32_t *forward = kino__link_forward(m->trace);
    if (!forward)
        return false;
    for (uint32_t at = row; at != KINO_NO_ROW; at = m->nesting->parent[at])
        if (forward[at] != KINO_NO_ROW)
            return kino__map_put(&m->gradients, forward[at], row) != NULL;
    return true;
}

static bool cost_call(maker *m, kino__costed_op *op, uint32_t index, bool is_marker)
{
    if (!read_call(m, op->row, is_marker))
        return false;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    op->cost = keep_cost(m, &cost);
    if (op->cost == KINO_NO_ROW)
        return false;
    if (!is_convolution(&cost))
        return true;
    if (op->direction == KINO__OP_BACKWARD)
        return note_gradient(m, op->row);
    if (!cost.reason)
        return true;
    uint32_t *slot = kino__vec_add(&m->unsolved);
    if (slot)
        *slot = index;
    return slot != NULL;
}

static bool add_op(maker *m, uint32_t row, uint32_t around, bool is_marker)
{
    kino__trace_costs *out = m->out;
    name_info *info = info_of(m, row);
    if (!info->is_known && !learn_name(m, row, is_marker, info))
        return false;
    kino__costed_op *op = kino__vec_add(&out->ops);
    if (!op)
        return false;
    uint32_t index = (uint32_t)out->ops.count - 1;
    bool is_backward =
        info->direction == KINO__OP_BACKWARD ||
        (around != KINO_NO_ROW && out->ops.items[around].direction == KINO__OP_BACKWARD);
    *op = (kino__costed_op){.row = row,
                            .parent = around,
                            .charged = KINO_NO_ROW,
                            .cost = 0,
                            .direction = is_backward ? KINO__OP_BACKWARD : KINO__OP_FORWARD};
    return info->role == KINO__COST_NO_ROLE || cost_call(m, op, index, is_marker);
}

/* Rows of a track: parents stand before their children, so each finds the op around it at its
 * parent. */
static bool find_ops(maker *m)
{
    for (uint32_t row = 0; row < m->trace->event_count; row++) {
        uint32_t parent = m->nesting->parent[row];
        uint32_t around = parent == KINO_NO_ROW ? KINO_NO_ROW : m->out->op_of_row[parent];
        bool is_marker, is_one = is_call(m, row, &is_marker);
        if (is_one && !add_op(m, row, around, is_marker))
            return false;
        m->out->op_of_row[row] = is_one ? (uint32_t)m->out->ops.count - 1 : around;
    }
    return true;
}

/* -- forward convolutions without values -- */

/* The row of the backward convolution of an op, or KINO_NO_ROW. */
static uint32_t gradient_of(maker *m, const kino__costed_op *op)
{
    for (uint32_t at = op->row; at != KINO_NO_ROW; at = m->nesting->parent[at]) {
        const uint32_t *found = kino__map_get(&m->gradients, at);
        if (found)
            return *found;
    }
    return KINO_NO_ROW;
}

/* convolution_backward begins with the gradient, the backward operators of libraries have it
 * behind the input or its sizes. */
static const kino__op_input *find_gradient(const kino__op_call *call)
{
    bool is_first = kino__str_is(kino__op_bare_name(call->name), "convolution_backward");
    return kino__op_inputs_at(&call->inputs, is_first ? 0 : 1);
}

static bool solve(maker *m, kino__costed_op *op, kino__op_call *backward)
{
    uint32_t row = gradient_of(m, op);
    if (row == KINO_NO_ROW)
        return true;
    kino_str name = kino__trace_string(m->trace, m->trace->name[row]);
    if (!kino__op_call_read_kineto(backward, name, kino__args_text(m->trace, row, &m->cursor)))
        return false;
    const kino__op_input *gradient = find_gradient(backward);
    if (!gradient || !gradient->is_tensor)
        return true;
    if (!read_call(m, op->row, false))
        return false;
    m->call.output_sizes = kino__op_input_sizes(&backward->inputs, gradient);
    m->call.output_rank = gradient->size_count;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    op->cost = keep_cost(m, &cost);
    return op->cost != KINO_NO_ROW;
}

static bool solve_all(maker *m)
{
    kino__op_call backward = {0};
    bool is_good = true;
    for (size_t i = 0; i < m->unsolved.count && is_good; i++)
        is_good = solve(m, &m->out->ops.items[m->unsolved.items[i]], &backward);
    kino__op_call_deinit(&backward);
    return is_good;
}

/* -- all -- */

static bool charge_ops(maker *m)
{
    kino__trace_costs *out = m->out;
    kino__charge_node *nodes = calloc(out->ops.count + 1, sizeof *nodes);
    if (!nodes)
        return false;
    for (size_t i = 0; i < out->ops.count; i++) {
        nodes[i].parent = out->ops.items[i].parent;
        nodes[i].role = m->names[m->trace->name[out->ops.items[i].row]].role;
    }
    kino__charge(nodes, out->ops.count);
    for (size_t i = 0; i < out->ops.count; i++)
        out->ops.items[i].charged = nodes[i].charged;
    free(nodes);
    return true;
}

static bool make(maker *m)
{
    kino__cost nothing = {0};
    kino__cost_unknown(&nothing, "no family knows the operator");
    m->nesting = kino__link_nesting(m->trace);
    m->names = calloc(kino__string_pool_count(&m->trace->strings) + 1, sizeof *m->names);
    m->out->op_of_row = malloc(((size_t)m->trace->event_count + 1) * sizeof *m->out->op_of_row);
    m->out->row_count = m->trace->event_count;
    return m->nesting && m->names && m->out->op_of_row && keep_cost(m, &nothing) != KINO_NO_ROW &&
           find_ops(m) && solve_all(m) && charge_ops(m);
}

kino_status kino__trace_costs_init(kino__trace_costs *costs, const kino__trace *trace,
                                   const kino__cost_model *model, kino_error *err)
{
    *costs = (kino__trace_costs){0};
    KINO_TRY(kino__trace_require(trace, KINO__COLUMN_ALL, NULL, err));
    maker m = {.out = costs, .trace = trace, .model = model};
    kino__map_init(&m.by_hash, NULL);
    kino__map_init(&m.gradients, NULL);
    kino__text_cursor_init(&m.cursor, trace->text);
    bool is_good = make(&m);
    kino__text_cursor_deinit(&m.cursor);
    kino__map_deinit(&m.by_hash);
    kino__map_deinit(&m.gradients);
    kino__vec_deinit(&m.next_cost);
    kino__vec_deinit(&m.unsolved);
    kino__op_call_deinit(&m.call);
    free(m.names);
    if (is_good)
        return KINO_OK;
    kino__trace_costs_deinit(costs);
    return kino__fail_nomem(err);
}

void kino__trace_costs_deinit(kino__trace_costs *costs)
{
    kino__vec_deinit(&costs->ops);
    kino__vec_deinit(&costs->costs);
    free(costs->op_of_row);
    costs->op_of_row = NULL;
}

uint32_t kino__trace_costs_op_of(const kino__trace_costs *costs, const kino__trace *trace,
                                 uint32_t row)
{
    const uint32_t *op = kino__link_op(trace), *launch = kino__link_launch(trace);
    if (op && op[row] != KINO_NO_ROW)
        return costs->op_of_row[op[row]];
    return launch && launch[row] != KINO_NO_ROW ? costs->op_of_row[launch[row]] : KINO_NO_ROW;
}
