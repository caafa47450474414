/* trace_costs.c - the operators of a trace with their costs; see the header.
 *
 *   1. names: which are operators, and what is their role (once for each text)
 *   2. ops: rows of such names, with the one around each; costs from their arguments
 *   3. those whose arguments do not say enough, again, with what others know (below)
 *   4. charge.h
 *
 * What others know, in traces of profilers that did not write the values of arguments:
 *
 *   forward operator         its backward operator was given a gradient of the result's sizes
 *   backward convolution     the operator around cudnn_convolution_backward_weight and _input has
 *                            the weight and the input
 *   backward lookup          the forward one, of those that are still open the last of the same
 *                            batch, has tables and indices
 *   CompiledFunctionBackward the forward one has the parameters
 *   record_param_comms       the annotation "nccl:all_to_all" within it has the tensors */
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
    NAME_MARKER,  /* an annotation whose text is a call */
    NAME_MESSAGE, /* an annotation "nccl:all_reduce" */
} name_kind;

typedef struct name_info {
    uint8_t kind; /* of annotations */
    uint8_t role, direction;
    bool is_known; /* role and direction are */
    bool is_free;  /* costs nothing, whatever its inputs are */
} name_info;

typedef KINO__VEC(uint32_t) op_list;

typedef struct maker {
    kino__trace_costs *out;
    const kino__trace *trace;
    const kino__cost_model *model;
    const uint32_t *parent;
    name_info *names;
    kino__op_call call;
    kino__text_cursor cursor;
    kino__map by_hash;             /* of costs: the last of them */
    kino__map by_call;             /* of names and inputs: the cost */
    KINO__VEC(uint32_t) next_cost; /* the one before with the same hash */
    kino__map backward_of;         /* row of a forward operator -> op with its gradient */
    op_list unsolved;              /* ops that lack something */
    op_list gradients;             /* backward ops that may know it */
} maker;

/* -- costs, each kept once -- */

enum { UNKNOWN, FREE }; /* the first two */

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

static bool is_message_name(const maker *m, uint32_t row)
{
    kino_str name = kino__trace_string(m->trace, m->trace->name[row]);
    return kino__str_starts_with(name, KINO__STR("nccl:")) ||
           kino__str_starts_with(name, KINO__STR("gloo:"));
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
        info->kind = is_one ? NAME_MARKER : is_message_name(m, row) ? NAME_MESSAGE : NAME_OTHER;
    }
    *is_marker = info->kind == NAME_MARKER;
    return info->kind != NAME_OTHER;
}

static bool is_message(maker *m, uint32_t row)
{
    return info_of(m, row)->kind == NAME_MESSAGE;
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
    info->is_free = info->role == KINO__COST_FREE;
    info->direction = kino__marker_is_backward(name, false) ? KINO__OP_BACKWARD : KINO__OP_FORWARD;
    info->is_known = true;
    return true;
}

/* A collective's annotation tells about the operator around it. */
static bool is_collective(maker *m, uint32_t op)
{
    return op != KINO_NO_ROW &&
           kino__trace_cost(m->out, op)->family == kino__cost_family_collective.name;
}

static bool note_message(maker *m, uint32_t row, uint32_t op)
{
    if (kino__cost_is_known(kino__trace_cost(m->out, op)))
        return true;
    if (!read_call(m, row, false))
        return false;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    uint32_t place = keep_cost(m, &cost);
    m->out->ops.items[op].cost = place;
    return place != KINO_NO_ROW;
}

static bool list_op(op_list *list, uint32_t op)
{
    uint32_t *slot = kino__vec_add(list);
    if (slot)
        *slot = op;
    return slot != NULL;
}

/* Remembers which operator computes the gradient of which. */
static bool note_backward(maker *m, const uint32_t *forward, uint32_t op)
{
    for (uint32_t at = op; at != KINO_NO_ROW; at = m->out->ops.items[at].parent) {
        uint32_t row = forward[m->out->ops.items[at].row];
        if (row != KINO_NO_ROW)
            return kino__map_put(&m->backward_of, row, op) != NULL;
    }
    return true;
}

/* Families to which it helps to know the sizes of the result. */
static bool uses_result(const kino__cost *cost)
{
    return cost->family == kino__cost_family_convolution.name ||
           cost->family == kino__cost_family_embedding.name ||
           cost->family == kino__cost_family_fused.name;
}

/* The cost of the call of a row; KINO_NO_ROW: memory is out. Calls of one name with the same inputs
 * are computed once. */
static uint32_t cost_row(maker *m, uint32_t row, bool is_marker, bool *records_autograd)
{
    kino_strid name = m->trace->name[row];
    uint64_t inputs = 0;
    if (!is_marker)
        inputs =
            kino__op_call_kineto_key(kino__args_text(m->trace, row, &m->cursor), records_autograd);
    uint32_t *place = kino__map_put(&m->by_call, kino__hash_u64(inputs ^ name), KINO_NO_ROW);
    if (!place || *place != KINO_NO_ROW)
        return place ? *place : KINO_NO_ROW;
    if (!read_call(m, row, is_marker))
        return KINO_NO_ROW;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    return *place = keep_cost(m, &cost);
}

static bool cost_call(maker *m, uint32_t index, bool is_marker)
{
    kino__costed_op *op = &m->out->ops.items[index];
    uint32_t place = cost_row(m, op->row, is_marker, &op->records_autograd);
    if (place == KINO_NO_ROW)
        return false;
    op->cost = place;
    const kino__cost *cost = &m->out->costs.items[place];
    bool is_told = uses_result(cost) && !is_marker;
    if (op->direction == KINO__OP_BACKWARD && is_told && !list_op(&m->gradients, index))
        return false;
    return !cost->reason || !is_told || list_op(&m->unsolved, index);
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
                            .cost = info->is_free ? FREE : UNKNOWN,
                            .direction = is_backward ? KINO__OP_BACKWARD : KINO__OP_FORWARD};
    return info->role == KINO__COST_NO_ROLE || info->is_free || cost_call(m, index, is_marker);
}

/* Rows of a track: parents stand before their children, so each finds the op around it at its
 * parent. */
static bool find_ops(maker *m)
{
    for (uint32_t row = 0; row < m->trace->event_count; row++) {
        uint32_t parent = m->parent[row];
        uint32_t around = parent == KINO_NO_ROW ? KINO_NO_ROW : m->out->op_of_row[parent];
        bool is_marker, is_one = is_call(m, row, &is_marker);
        if (is_one && is_message(m, row) && is_collective(m, around)) {
            if (!note_message(m, row, around))
                return false;
            is_one = false;
        }
        if (is_one && !add_op(m, row, around, is_marker))
            return false;
        m->out->op_of_row[row] = is_one ? (uint32_t)m->out->ops.count - 1 : around;
    }
    return true;
}

/* -- what others know -- */

static bool has_text(kino_str name, const char *part)
{
    return kino__str_contains(name, kino__str_from(part));
}

static bool read_op(maker *m, uint32_t op, kino__op_call *call)
{
    uint32_t row = m->out->ops.items[op].row;
    return kino__op_call_read_kineto(call, kino__trace_string(m->trace, m->trace->name[row]),
                                     kino__args_text(m->trace, row, &m->cursor));
}

/* The op with the gradient of an op, which may be one of the library's within the one that is asked
 * about, or around it. KINO_NO_ROW: none. */
static uint32_t backward_of(maker *m, uint32_t op)
{
    for (uint32_t at = op; at != KINO_NO_ROW; at = m->out->ops.items[at].parent) {
        const uint32_t *found = kino__map_get(&m->backward_of, m->out->ops.items[at].row);
        if (found)
            return *found;
    }
    for (uint32_t at = op + 1; at < m->out->ops.count; at++) {
        const kino__costed_op *inner = &m->out->ops.items[at];
        if (inner->parent == KINO_NO_ROW || inner->parent < op)
            break;
        const uint32_t *found = kino__map_get(&m->backward_of, inner->row);
        if (found)
            return *found;
    }
    return KINO_NO_ROW;
}

/* Which argument of another call has the sizes of this one's result. *other: that call's op. */
static bool find_result(maker *m, uint32_t op, kino_str bare, uint32_t *other, uint32_t *argument)
{
    kino__costed_op *o = &m->out->ops.items[op];
    if (o->direction == KINO__OP_FORWARD) {
        *other = backward_of(m, op);
        if (*other == KINO_NO_ROW)
            return false;
        kino_str name = kino__op_bare_name(
            kino__trace_string(m->trace, m->trace->name[m->out->ops.items[*other].row]));
        /* Those of libraries have it behind the input or its sizes. */
        *argument = has_text(name, "_convolution_backward");
        return true;
    }
    *other = o->parent;
    *argument = has_text(bare, "_weight") ? 2 : 0;
    return o->parent != KINO_NO_ROW && has_text(bare, "convolution_backward_");
}

/* -- lookups of FBGEMM, whose forward operators have no sequence number -- */

static bool is_lookup(maker *m, uint32_t op, bool *is_backward)
{
    kino_str name = kino__trace_string(m->trace, m->trace->name[m->out->ops.items[op].row]);
    *is_backward =
        has_text(name, "CppNode<SplitLookupFunction_") && !has_text(name, "evaluate_function");
    return *is_backward || has_text(name, "::split_embedding_codegen_lookup_");
}

typedef struct lookup_call {
    int64_t ts;
    uint32_t op;
    bool is_backward;
} lookup_call;

static int by_time(const void *a, const void *b)
{
    const lookup_call *x = a, *y = b;
    return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : (x->op < y->op ? -1 : x->op > y->op);
}

/* The batch: rows of the gradient, or bags for each table. KINO_NO_INT: not recorded. */
static int64_t batch_of(const kino__op_call *call, bool is_backward)
{
    enum { TABLES = 6, OFFSETS = 12 };
    const kino__op_input *first = kino__op_inputs_at(&call->inputs, is_backward ? 0 : OFFSETS);
    const kino__op_input *tables = kino__op_inputs_at(&call->inputs, TABLES);
    if (!first || !first->size_count)
        return KINO_NO_INT;
    int64_t size = kino__op_input_sizes(&call->inputs, first)[0];
    if (is_backward)
        return size;
    int64_t count =
        tables && tables->size_count ? kino__op_input_sizes(&call->inputs, tables)[0] - 1 : 0;
    return count > 0 ? (size - 1) / count : KINO_NO_INT;
}

/* Costs both calls of a pair: the inputs are the forward one's, the result the gradient. */
static bool cost_pair(maker *m, uint32_t forward, uint32_t backward, const kino__op_call *gradient)
{
    const kino__op_input *result = kino__op_inputs_at(&gradient->inputs, 0);
    const uint32_t ops[] = {forward, backward};
    for (size_t i = 0; i < 2; i++) {
        if (!read_op(m, forward, &m->call))
            return false;
        m->call.name = kino__trace_string(m->trace, m->trace->name[m->out->ops.items[ops[i]].row]);
        m->call.output_sizes = kino__op_input_sizes(&gradient->inputs, result);
        m->call.output_rank = result->size_count;
        kino__cost cost = kino__cost_of(m->model, &m->call);
        uint32_t place = keep_cost(m, &cost);
        if (place == KINO_NO_ROW)
            return false;
        m->out->ops.items[ops[i]].cost = place;
    }
    return true;
}

/* Gradients come in the reverse order: each belongs to the last forward call of its batch that has
 * none. Few calls are open at a time: those of a step. */
static bool pair_lookups(maker *m, lookup_call *calls, size_t count, kino__op_call *gradient)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        lookup_call call = calls[i];
        if (!call.is_backward) {
            calls[open++] = call;
            continue;
        }
        if (!read_op(m, call.op, gradient))
            return false;
        int64_t batch = batch_of(gradient, true);
        size_t found = open;
        while (found > 0 && batch != KINO_NO_INT) {
            if (!read_op(m, calls[found - 1].op, &m->call))
                return false;
            if (batch_of(&m->call, false) == batch)
                break;
            found--;
        }
        if (found == 0 || batch == KINO_NO_INT)
            continue;
        if (!cost_pair(m, calls[found - 1].op, call.op, gradient))
            return false;
        memmove(&calls[found - 1], &calls[found], (open - found) * sizeof *calls);
        open--;
    }
    return true;
}

static bool solve_lookups(maker *m)
{
    KINO__VEC(lookup_call) calls = {0};
    kino__op_call gradient = {0};
    bool is_good = true, is_backward;
    for (size_t i = 0; i < m->unsolved.count && is_good; i++) {
        uint32_t op = m->unsolved.items[i];
        if (!is_lookup(m, op, &is_backward))
            continue;
        lookup_call *call = kino__vec_add(&calls);
        is_good = call != NULL;
        if (call)
            *call = (lookup_call){m->trace->ts[m->out->ops.items[op].row], op, is_backward};
    }
    if (calls.count)
        qsort(calls.items, calls.count, sizeof *calls.items, by_time);
    is_good = is_good && pair_lookups(m, calls.items, calls.count, &gradient);
    kino__op_call_deinit(&gradient);
    kino__vec_deinit(&calls);
    return is_good;
}

/* -- all that lack something -- */

/* Costs a backward op with the inputs of its forward one. */
static bool cost_as_forward(maker *m, uint32_t op, kino_str name)
{
    const uint32_t *link = kino__link_forward(m->trace);
    uint32_t row = link ? link[m->out->ops.items[op].row] : KINO_NO_ROW;
    if (row == KINO_NO_ROW || m->out->op_of_row[row] == KINO_NO_ROW)
        return true;
    if (!read_op(m, m->out->op_of_row[row], &m->call))
        return false;
    m->call.name = name;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    uint32_t place = keep_cost(m, &cost);
    m->out->ops.items[op].cost = place;
    return place != KINO_NO_ROW;
}

/* Costs an op again, with the sizes of its result from an argument of another call. */
static bool solve(maker *m, uint32_t op, kino__op_call *other)
{
    kino__costed_op *o = &m->out->ops.items[op];
    kino_str name = kino__trace_string(m->trace, m->trace->name[o->row]);
    kino_str bare = kino__op_bare_name(name);
    uint32_t knows = KINO_NO_ROW, argument = 0;
    if (kino__str_is(bare, "CompiledFunctionBackward"))
        return cost_as_forward(m, op, name);
    if (!find_result(m, op, bare, &knows, &argument))
        return true;
    if (!read_op(m, knows, other))
        return false;
    const kino__op_input *result = kino__op_inputs_at(&other->inputs, argument);
    if (!result || !result->is_tensor)
        return true;
    if (!read_op(m, op, &m->call))
        return false;
    m->call.output_sizes = kino__op_input_sizes(&other->inputs, result);
    m->call.output_rank = result->size_count;
    kino__cost cost = kino__cost_of(m->model, &m->call);
    uint32_t place = keep_cost(m, &cost);
    o->cost = place;
    return place != KINO_NO_ROW;
}

/* Links are made only where they can help: they read the arguments of all events. */
static bool note_gradients(maker *m)
{
    bool is_asked = false;
    for (size_t i = 0; i < m->unsolved.count; i++)
        is_asked |= m->out->ops.items[m->unsolved.items[i]].direction == KINO__OP_FORWARD;
    if (!is_asked || !m->gradients.count)
        return true;
    const uint32_t *forward = kino__link_forward(m->trace);
    for (size_t i = 0; forward && i < m->gradients.count; i++)
        if (!note_backward(m, forward, m->gradients.items[i]))
            return false;
    return forward != NULL;
}

static bool solve_all(maker *m)
{
    kino__op_call other = {0};
    bool is_good = note_gradients(m);
    for (size_t i = 0; i < m->unsolved.count && is_good; i++)
        is_good = solve(m, m->unsolved.items[i], &other);
    kino__op_call_deinit(&other);
    return is_good && solve_lookups(m);
}

/* -- all -- */

/* Composite operators that launch a graph of kernels themselves. */
static void find_replays(maker *m, kino__charge_node *nodes)
{
    const kino__trace *trace = m->trace;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t kind = KINO__KIND_BIT(kino__category_kind(trace->category[row]));
        uint32_t op = m->out->op_of_row[row];
        if (!(kind & KINO__KINDS_LAUNCH) || op == KINO_NO_ROW ||
            nodes[op].role != KINO__COST_COMPOSITE || trace->name[row] == KINO_NO_STRING)
            continue;
        if (has_text(kino__trace_string(trace, trace->name[row]), "GraphLaunch"))
            nodes[op].role = KINO__COST_REPLAY;
    }
}

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
    find_replays(m, nodes);
    kino__charge(nodes, out->ops.count);
    for (size_t i = 0; i < out->ops.count; i++)
        out->ops.items[i].charged = nodes[i].charged;
    free(nodes);
    return true;
}

static bool has_ids(const kino__trace *trace)
{
    const uint32_t kinds =
        KINO__KINDS_DEVICE | KINO__KINDS_LAUNCH | KINO__KIND_BIT(KINO__KIND_SYNC);
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->external[row] != KINO__BIND_NONE &&
            KINO__KIND_BIT(kino__category_kind(trace->category[row])) & kinds)
            return true;
    return false;
}

static bool make(maker *m)
{
    kino__cost unknown = {0}, nothing = {.family = kino__cost_family_copy.name};
    kino__cost_unknown(&unknown, "no family knows the operator");
    m->parent = kino__link_parent(m->trace);
    m->names = calloc(kino__string_pool_count(&m->trace->strings) + 1, sizeof *m->names);
    m->out->op_of_row = malloc(((size_t)m->trace->event_count + 1) * sizeof *m->out->op_of_row);
    m->out->row_count = m->trace->event_count;
    m->out->has_ids = has_ids(m->trace);
    return m->parent && m->names && m->out->op_of_row && keep_cost(m, &unknown) == UNKNOWN &&
           keep_cost(m, &nothing) == FREE && find_ops(m) && solve_all(m) && charge_ops(m);
}

kino_status kino__trace_costs_init(kino__trace_costs *costs, const kino__trace *trace,
                                   const kino__cost_model *model, kino_error *err)
{
    *costs = (kino__trace_costs){0};
    KINO_TRY(kino__trace_require(trace, KINO__COLUMN_ALL, NULL, err));
    maker m = {.out = costs, .trace = trace, .model = model};
    kino__map_init(&m.by_hash, NULL);
    kino__map_init(&m.by_call, NULL);
    kino__map_init(&m.backward_of, NULL);
    kino__text_cursor_init(&m.cursor, trace->text);
    bool is_good = make(&m);
    kino__text_cursor_deinit(&m.cursor);
    kino__map_deinit(&m.by_hash);
    kino__map_deinit(&m.by_call);
    kino__map_deinit(&m.backward_of);
    kino__vec_deinit(&m.next_cost);
    kino__vec_deinit(&m.unsolved);
    kino__vec_deinit(&m.gradients);
    kino__op_call_deinit(&m.call);
    free(m.names);
    if (is_good)
        return KINO_OK;
    kino__trace_costs_deinit(costs);
    return kino__fail_nomem(err);
}

void kino__trace_costs_forget_rows(kino__trace_costs *costs)
{
    free(costs->op_of_row);
    costs->op_of_row = NULL;
}

void kino__trace_costs_deinit(kino__trace_costs *costs)
{
    kino__vec_deinit(&costs->ops);
    kino__vec_deinit(&costs->costs);
    kino__trace_costs_forget_rows(costs);
}

/* Of the operators around a launch the innermost event of the kind, as kino__link_op has it; else
 * the innermost marker. */
static uint32_t op_around(const kino__trace_costs *costs, const kino__trace *trace, uint32_t launch)
{
    uint32_t innermost = costs->op_of_row[launch], op = innermost;
    while (op != KINO_NO_ROW &&
           kino__category_kind(trace->category[costs->ops.items[op].row]) != KINO__KIND_OP)
        op = costs->ops.items[op].parent;
    return op == KINO_NO_ROW ? innermost : op;
}

uint32_t kino__trace_costs_op_of(const kino__trace_costs *costs, const kino__trace *trace,
                                 uint32_t row)
{
    const uint32_t *op = costs->has_ids ? kino__link_op(trace) : NULL,
                   *launch = kino__link_launch(trace);
    if (op && op[row] != KINO_NO_ROW)
        return costs->op_of_row[op[row]];
    return launch && launch[row] != KINO_NO_ROW ? op_around(costs, trace, launch[row])
                                                : KINO_NO_ROW;
}
