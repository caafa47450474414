/* family_recurrent.c - RNN, LSTM and GRU, by cells and by layers.
 *
 * Every weight is multiplied at every step with every row of the batch: 2 * steps * batch * elements
 * of the weight matrices. Gates are not counted. The gradient costs twice as much. */
#include "cost/family.h"

/* Steps times batch: rows of an input [..., X]. */
static int64_t rows_of(const kino__cost_tensor *x)
{
    return kino__cost_product(x->sizes, 0, x->rank - 1);
}

static void set_layers(kino__cost *cost, const kino__cost_tensor *x, int64_t weights,
                       int64_t weight_bytes, int64_t results, int64_t times)
{
    int64_t flops = kino__cost_mul(2 * times, kino__cost_mul(rows_of(x), weights));
    kino__cost_set_matrix(cost, flops, kino__cost_add(x->bytes, weight_bytes),
                          kino__cost_bytes_of(results, x->dtype), x->dtype);
}

/* Elements of all matrices in the arguments from `from` to `to`. *hidden: the width of the last one,
 * which multiplies the state. */
static int64_t matrices(const kino__cost_ask *ask, uint32_t from, uint32_t to, int64_t *hidden)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    int64_t elements = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (input->is_tensor && input->size_count == 2 && input->argument >= from &&
            input->argument < to) {
            elements = kino__cost_add(elements, kino__op_input_elements(inputs, input));
            *hidden = kino__op_input_sizes(inputs, input)[1];
        }
    }
    return elements;
}

/* Where the weights are: from op->variant, op->weight arguments. */
static void layers(const kino__cost_ask *ask, kino__cost *cost, int64_t times)
{
    kino__cost_tensor x;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    uint32_t from = (uint32_t)ask->op->variant;
    int64_t hidden = 0, weights = matrices(ask, from, from + (uint32_t)ask->op->weight, &hidden);
    if (x.rank == 0 || weights == 0) {
        kino__cost_unknown(cost, "the sizes of the weights were not recorded");
        return;
    }
    set_layers(cost, &x, weights, kino__cost_bytes_of(weights, x.dtype),
               kino__cost_mul(rows_of(&x), hidden), times);
}

static void forward(const kino__cost_ask *ask, kino__cost *cost)
{
    layers(ask, cost, 1);
}

static void backward(const kino__cost_ask *ask, kino__cost *cost)
{
    layers(ask, cost, 2);
}

/* The gates of a cell are its linear layers' results, and its own work is pointwise: the gates of
 * input and hidden state, bias, the old cell. */
static void cell_gates(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gates;
    if (!kino__cost_first_tensor(ask, cost, &gates))
        return;
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, gates.elements),
                   kino__cost_input_bytes(ask), gates.bytes, gates.dtype);
}

/* PyProf's `forward` of a cell: (x [B, X], h [B, H]), whose weights are [gates H, X] and
 * [gates H, H]. */
static void cell(const kino__cost_ask *ask, kino__cost *cost)
{
    static const struct {
        const char *module;
        int64_t gates;
    } cells[] = {{"LSTMCell", 4}, {"GRUCell", 3}, {"RNNCell", 1}};
    kino__cost_tensor x, h;
    int64_t gates = 0;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (kino__str_is(ask->call->module, cells[i].module))
            gates = cells[i].gates;
    if (gates == 0) {
        kino__cost_unknown(cost, "no family knows the module");
        return;
    }
    if (!kino__cost_tensor_at(ask, 0, "input", &x) || !kino__cost_tensor_at(ask, 1, "hx", &h) ||
        x.rank == 0 || h.rank == 0) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t hidden = kino__cost_last(&h, 0), inputs = kino__cost_last(&x, 0);
    int64_t weights = kino__cost_mul(kino__cost_mul(gates, hidden), kino__cost_add(inputs, hidden));
    set_layers(cost, &x, weights, kino__cost_bytes_of(weights, x.dtype), h.elements, 1);
}

static const kino__cost_op ops[] = {
    {.name = "lstm", .role = KINO__COST_COMPOSITE, .compute = forward, .variant = 2, .weight = 1},
    {.name = "gru", .role = KINO__COST_COMPOSITE, .compute = forward, .variant = 2, .weight = 1},
    {.name = "rnn_tanh",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 1},
    {.name = "rnn_relu",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 1},
    {.name = "lstm_cell",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 2},
    {.name = "gru_cell",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 2},
    {.name = "rnn_tanh_cell",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 2},
    {.name = "rnn_relu_cell",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .variant = 2,
     .weight = 2},
    {.name = "_cudnn_rnn",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .variant = 1,
     .weight = 1},
    {.name = "miopen_rnn",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .variant = 1,
     .weight = 1},
    {.name = "mkldnn_rnn_layer",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .variant = 1,
     .weight = 2},
    {.name = "_cudnn_rnn_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = backward,
     .variant = 1,
     .weight = 1},
    {.name = "miopen_rnn_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = backward,
     .variant = 1,
     .weight = 1},
    {.name = "mkldnn_rnn_layer_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = backward,
     .variant = 1,
     .weight = 2},
    {.name = "_thnn_fused_lstm_cell",
     .role = KINO__COST_PRIMITIVE,
     .compute = cell_gates,
     .weight = 21},
    {.name = "_thnn_fused_gru_cell",
     .role = KINO__COST_PRIMITIVE,
     .compute = cell_gates,
     .weight = 21},
    {.name = "_thnn_fused_lstm_cell_backward_impl",
     .role = KINO__COST_PRIMITIVE,
     .compute = cell_gates,
     .weight = 21},
    {.name = "_thnn_fused_gru_cell_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = cell_gates,
     .weight = 21},
    {.name = "forward", .role = KINO__COST_COMPOSITE, .compute = cell},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_recurrent = {"recurrent", ops};
