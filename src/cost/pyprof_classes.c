/* pyprof_classes.c - the order of PyProf's classes, and those without products. */
#include "cost/pyprof_internal.h"

/* "T=(3,4),fp32," of the first argument. */
static const char *put_first(kino__pyprof_look *look, kino__pyprof_tensor *tensor)
{
    if (!kino__pyprof_tensor_at(look, 0, tensor))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "T", tensor->sizes, tensor->rank);
    kino__pyprof_put_type(look, tensor->type);
    return NULL;
}

/* "[3,4]fp32" of it. */
static const char *show_first(kino__pyprof_look *look, kino__pyprof_tensor *tensor)
{
    if (!kino__pyprof_tensor_at(look, 0, tensor))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_tensor(look, tensor);
    return NULL;
}

static bool is_rest(const kino__pyprof_look *look)
{
    return look->kernel->sub > 0;
}

/* -- one tensor -- */

/* `weight` operations and passes over the first argument. */
static const char *passes(kino__pyprof_look *look, int64_t weight, int64_t forward,
                          int64_t backward)
{
    kino__pyprof_tensor x;
    const char *problem = show_first(look, &x);
    if (!problem)
        kino__pyprof_set(
            look, kino__cost_mul(weight, x.elements),
            kino__cost_mul(kino__pyprof_is_forward(look) ? forward : backward, x.bytes));
    return problem;
}

static const char *activation(kino__pyprof_look *look)
{
    return passes(look, 1, 2, 3);
}

static const char *softmax(kino__pyprof_look *look)
{
    return passes(look, 40, 3, 5);
}

static const char *log_softmax(kino__pyprof_look *look)
{
    return passes(look, 21, 3, 5);
}

static const char *batch_norm(kino__pyprof_look *look)
{
    return passes(look, 8, is_rest(look) ? 0 : 4, is_rest(look) ? 0 : 5);
}

static const char *dropout(kino__pyprof_look *look)
{
    return passes(look, 5, 2, 2);
}

static const char *convert(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    const char *problem = show_first(look, &x);
    if (problem)
        return problem;
    int64_t to = kino__pyprof_itemsize(look, look->call->name);
    if (to == 0) /* `to`, whose type is not recorded */
        return kino__pyprof_bad_arguments;
    kino__pyprof_set(look, 0, kino__cost_add(x.bytes, kino__cost_mul(x.elements, to)));
    return NULL;
}

static const char *mean(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    if (!kino__pyprof_operand(look, kino__pyprof_argument(look, 0), true, &x))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_tensor(look, &x);
    if (is_rest(look))
        kino__pyprof_set(look, 0, 0);
    else
        kino__pyprof_set(look, kino__cost_add(x.elements, 1), kino__cost_add(x.bytes, x.itemsize));
    return NULL;
}

static const char *sum(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    const char *problem = put_first(look, &x);
    if (!problem)
        kino__pyprof_set(look, x.elements, is_rest(look) ? 0 : x.bytes);
    return problem;
}

static const char *norm(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    const char *problem = put_first(look, &x);
    if (!problem && is_rest(look))
        kino__pyprof_set(look, 0, 0);
    else if (!problem)
        kino__pyprof_set(look, kino__cost_add(kino__cost_mul(2, x.elements), 1), x.bytes);
    return problem;
}

/* "T=(3,),fp32," and so many passes over it. */
static const char *moves(kino__pyprof_look *look, int64_t count)
{
    kino__pyprof_tensor x;
    const char *problem = put_first(look, &x);
    if (!problem)
        kino__pyprof_set(look, 0, kino__cost_mul(count, x.bytes));
    return problem;
}

static const char *reshape(kino__pyprof_look *look)
{
    return moves(look, 0);
}

static const char *duplicate(kino__pyprof_look *look)
{
    return moves(look, 2);
}

static const char *any(kino__pyprof_look *look)
{
    return moves(look, 1);
}

static const char *nonzero(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    const char *problem = put_first(look, &x);
    int64_t places = problem ? 0 : kino__cost_mul(8, kino__cost_mul(x.elements, x.rank));
    if (!problem)
        kino__pyprof_set(look, 0, is_rest(look) ? 0 : kino__cost_add(x.bytes, places));
    return problem;
}

static const char *fill(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    const char *problem = show_first(look, &x);
    if (!problem)
        kino__pyprof_set(look, 0, x.bytes);
    return problem;
}

/* -- several arguments -- */

static const char *cat(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < kino__pyprof_argument_count(look); i++) {
        const kino__op_input *input = kino__pyprof_argument(look, i);
        if (!input || !input->is_tensor)
            continue;
        if (!kino__pyprof_operand(look, input, false, &x))
            return kino__pyprof_bad_arguments;
        kino__pyprof_put_tensor(look, &x);
        bytes = kino__cost_add(bytes, x.bytes);
    }
    if (look->out->params.size == 0)
        return kino__pyprof_bad_arguments;
    kino__pyprof_set(look, 0, is_rest(look) ? 0 : kino__cost_mul(2, bytes));
    return NULL;
}

static const char *embedding(kino__pyprof_look *look)
{
    kino__pyprof_tensor indices, table;
    if (!kino__pyprof_tensor_at(look, 0, &indices) || !kino__pyprof_tensor_at(look, 1, &table) ||
        table.rank != 2)
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_tensor(look, &indices);
    kino__pyprof_put_tensor(look, &table);
    int64_t rows = kino__cost_mul(kino__cost_mul(indices.elements, table.sizes[1]), table.itemsize);
    if (kino__pyprof_is_forward(look))
        kino__pyprof_set(look, 0, kino__cost_add(indices.bytes, kino__cost_mul(2, rows)));
    else
        kino__pyprof_set(look, 0, is_rest(look) ? 0 : kino__cost_mul(3, rows));
    return NULL;
}

static const char *gather(kino__pyprof_look *look)
{
    uint32_t count = kino__pyprof_argument_count(look);
    return look->is_compat && count < 3 ? kino__pyprof_bad_arguments : moves(look, 2);
}

static const char *index_select(kino__pyprof_look *look)
{
    kino__pyprof_tensor x, index;
    int64_t dimension;
    const kino__op_input *where = kino__pyprof_argument(look, 1);
    if (!kino__pyprof_tensor_at(look, 0, &x) || !kino__pyprof_tensor_at(look, 2, &index) ||
        !where || !kino__op_input_to_int(where, &dimension) || index.rank != 1 ||
        (look->is_compat && !kino__str_is(index.type, "int64")))
        return kino__pyprof_bad_arguments;
    int64_t at = dimension < 0 ? dimension + x.rank : dimension;
    if (at < 0 || at >= x.rank || x.sizes[at] <= 0)
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "T", x.sizes, x.rank);
    kino__pyprof_put_number(look, "D", dimension);
    kino__pyprof_put_number(look, "I", index.sizes[0]);
    kino__pyprof_put_type(look, x.type);
    int64_t picked = kino__cost_mul(x.elements / x.sizes[at], index.sizes[0]);
    kino__pyprof_set(look, 0,
                     kino__cost_add(kino__cost_mul(2, kino__cost_mul(picked, x.itemsize)),
                                    kino__cost_mul(8, index.sizes[0])));
    return NULL;
}

static bool is_mask(const kino__pyprof_look *look, const kino__pyprof_tensor *mask)
{
    return kino__str_is(mask->type, "uint8") ||
           (!look->is_compat && kino__str_is(mask->type, "bool"));
}

static const char *masked_select(kino__pyprof_look *look)
{
    kino__pyprof_tensor x, mask;
    if (!kino__pyprof_tensor_at(look, 0, &x) || !kino__pyprof_tensor_at(look, 1, &mask) ||
        !is_mask(look, &mask))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "T", x.sizes, x.rank);
    kino__pyprof_put_shape(look, "M", mask.sizes, mask.rank);
    kino__pyprof_put_type(look, x.type);
    kino__pyprof_set(look, 0, kino__cost_add(kino__cost_mul(2, x.bytes), mask.elements));
    return NULL;
}

static const char *masked_scatter(kino__pyprof_look *look)
{
    kino__pyprof_tensor x, mask;
    if (!kino__pyprof_tensor_at(look, 1, &mask) || !is_mask(look, &mask))
        return kino__pyprof_bad_arguments;
    const char *problem = put_first(look, &x);
    if (!problem)
        kino__pyprof_set(
            look, 0, is_rest(look) ? 0 : kino__cost_add(kino__cost_mul(2, x.bytes), x.elements));
    return problem;
}

/* The word of `reduction`; empty: none is given. */
static kino_str reduction_of(const kino__pyprof_look *look)
{
    kino__cost_ask ask = {.call = look->call};
    const kino__op_input *input = kino__cost_input(&ask, 2, "reduction");
    return input ? input->value : (kino_str){"", 0};
}

static const char *mse_loss(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    kino_str word = reduction_of(look);
    if (look->is_compat && (kino__pyprof_argument_count(look) != 3 || word.size == 0))
        return kino__pyprof_bad_arguments;
    const char *problem = put_first(look, &x);
    if (problem)
        return problem;
    if (word.size == 0)
        word = KINO__STR("mean");
    kino__buffer_printf(&look->out->params, "red=%.*s,", KINO__STR_ARG(word));
    bool is_forward = kino__pyprof_is_forward(look);
    int64_t passes_of = (is_forward ? 2 : 3) + (kino__str_is(word, "none") ? 1 : 0);
    int64_t elements = kino__cost_mul(passes_of, x.elements);
    kino__pyprof_set(look, kino__cost_add(kino__cost_mul(2, elements), 1),
                     kino__cost_mul(elements, x.itemsize));
    return NULL;
}

/* (w, half copy of w, m, v, gradient, ...) */
static const char *adam(kino__pyprof_look *look)
{
    enum { GRADIENT = 4, STATE_BYTES = 6 * 4 };
    kino__pyprof_tensor w, gradient;
    uint32_t count = kino__pyprof_argument_count(look);
    if (!kino__pyprof_tensor_at(look, 0, &w) ||
        !kino__pyprof_tensor_at(look, GRADIENT, &gradient) ||
        (look->is_compat && count != 12 && count != 14))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "T", w.sizes, w.rank);
    kino__pyprof_put_type(look, w.type);
    kino__pyprof_put_type(look, gradient.type);
    bool has_copy = !kino__str_is(gradient.type, "float32");
    int64_t each = STATE_BYTES + gradient.itemsize * (has_copy ? 2 : 1);
    kino__pyprof_set(look, 0, is_rest(look) ? 0 : kino__cost_mul(w.elements, each));
    return NULL;
}

static const char *randperm(kino__pyprof_look *look)
{
    int64_t n;
    const kino__op_input *input = kino__pyprof_argument(look, 0);
    if (!input || !kino__op_input_to_int(input, &n) || n < 0)
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_number(look, "N", n);
    kino__pyprof_set(look, kino__cost_mul(3, n), kino__cost_mul(8, n));
    return NULL;
}

/* A tensor of these sizes is made, of the type of a value, else float32. */
static const char *make(kino__pyprof_look *look, const int64_t *sizes, uint32_t rank, kino_str type)
{
    kino__pyprof_tensor made = {.sizes = sizes, .rank = rank, .type = type};
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] < 0)
            return kino__pyprof_bad_arguments;
    kino__pyprof_put_tensor(look, &made);
    kino__pyprof_set(
        look, 0,
        kino__cost_mul(kino__cost_product(sizes, 0, rank), kino__pyprof_itemsize(look, type)));
    return NULL;
}

enum { SIZES = 64 };

static bool is_list(const kino__op_input *input)
{
    return input && (kino__str_is(input->type, "tuple") || kino__str_is(input->type, "list"));
}

static const char *full(kino__pyprof_look *look)
{
    int64_t sizes[SIZES];
    uint32_t count = 0;
    const kino__op_input *shape = kino__pyprof_argument(look, 0);
    const kino__op_input *value = kino__pyprof_argument(look, 1);
    if (!is_list(shape) || !value || !kino__pyprof_is_number(value) ||
        !kino__op_input_to_ints(shape, sizes, SIZES, &count))
        return kino__pyprof_bad_arguments;
    return make(look, sizes, count, value->type);
}

/* zeros_like(x); zeros(3, 5); zeros((3, 5)) */
static const char *one_zero(kino__pyprof_look *look)
{
    int64_t sizes[SIZES];
    uint32_t count = 0;
    const kino__op_input *first = kino__pyprof_argument(look, 0);
    if (first && first->is_tensor)
        return fill(look);
    if (is_list(first)) {
        if (!kino__op_input_to_ints(first, sizes, SIZES, &count))
            return kino__pyprof_bad_arguments;
        return make(look, sizes, count, KINO__STR("float32"));
    }
    for (uint32_t i = 0; i < kino__pyprof_argument_count(look) && count < SIZES; i++) {
        const kino__op_input *input = kino__pyprof_argument(look, i);
        if (input && input->keyword.size == 0 && kino__str_is(input->type, "int") &&
            kino__op_input_to_int(input, &sizes[count]))
            count++;
    }
    return count ? make(look, sizes, count, KINO__STR("float32")) : kino__pyprof_bad_arguments;
}

/* (to, from) */
static const char *copy(kino__pyprof_look *look)
{
    kino__pyprof_tensor to, from;
    if (!kino__pyprof_tensor_at(look, 0, &to) ||
        !kino__pyprof_operand(look, kino__pyprof_argument(look, 1), !look->is_compat, &from))
        return kino__pyprof_bad_arguments;
    kino__pyprof_put_shape(look, "T", to.sizes, to.rank);
    kino__pyprof_put_type(look, from.type);
    kino__pyprof_put_type(look, to.type);
    kino__pyprof_set(look, 0,
                     kino__cost_mul(to.elements, kino__cost_add(to.itemsize, from.itemsize)));
    return NULL;
}

/* -- what has no class: lists of shapes and types -- */

static void put_list(kino__pyprof_look *look, bool of_types)
{
    kino__buffer *out = &look->out->params;
    bool is_first = true;
    kino__buffer_add(out, KINO__STR("["));
    for (uint32_t i = 0; i < kino__pyprof_argument_count(look); i++) {
        const kino__op_input *input = kino__pyprof_argument(look, i);
        if (!input || !input->is_tensor)
            continue;
        if (!is_first)
            kino__buffer_add(out, KINO__STR(","));
        is_first = false;
        if (of_types)
            kino__buffer_printf(out, "'%.*s'", KINO__STR_ARG(input->type));
        else
            kino__pyprof_put_tuple(out, kino__op_input_sizes(&look->call->inputs, input),
                                   input->size_count);
    }
    kino__buffer_add(out, KINO__STR("]"));
}

static const char *no_class(kino__pyprof_look *look)
{
    kino__buffer_add(&look->out->params, KINO__STR("T="));
    put_list(look, false);
    kino__buffer_add(&look->out->params, KINO__STR(","));
    put_list(look, true);
    kino__pyprof_set(look, 0, 0);
    return NULL;
}

/* -- dispatch -- */

static const kino__pyprof_class classes[] = {
    {" linear ", "Linear", kino__pyprof_linear},
    {" conv1d conv2d ", "Conv", kino__pyprof_conv},
    {"", "Pointwise", kino__pyprof_pointwise}, /* by its own lists */
    {" byte char double float half int long short to ", "Convert", convert},
    {" matmul __matmul__ ", "Matmul", kino__pyprof_matmul},
    {" embedding ", "Embedding", embedding},
    {" sum ", "Sum", sum},
    {" mean ", "Mean", mean},
    {" norm ", "Norm", norm},
    {" dropout ", "Dropout", dropout},
    {" cat ", "Cat", cat},
    {" reshape ", "Reshape", reshape},
    {" masked_scatter_ ", "MaskedScatter", masked_scatter},
    {" gather ", "Gather", gather},
    {" nonzero ", "Nonzero", nonzero},
    {" index_select ", "IndexSelect", index_select},
    {" masked_select ", "MaskedSelect", masked_select},
    {" addmm addmm_ ", "Addmm", kino__pyprof_addmm},
    {" mm ", "Mm", kino__pyprof_mm},
    {" bmm ", "Bmm", kino__pyprof_bmm},
    {" softmax ", "Softmax", softmax},
    {" log_softmax ", "LogSoftmax", log_softmax},
    {" mse_loss ", "MSELoss", mse_loss},
    {" adam ", "Adam", adam},
    {" batch_norm ", "BatchNorm", batch_norm},
    {" randperm ", "RandPerm", randperm},
    {" ones ones_like zero_ zeros zeros_like ", "OneZero", one_zero},
    {" fill_ ", "Fill", fill},
    {" full ", "Full", full},
    {" copy_ ", "Copy", copy},
    {" clone ", "Clone", duplicate},
    {" contiguous ", "Contiguous", duplicate},
    {" any ", "Any", any},
    {" celu elu elu_ hardshrink hardtanh hardtanh_ leaky_relu leaky_relu_ logsigmoid prelu relu "
     "relu_ "
     "relu6 rrelu rrelu_ selu softplus softshrink softsign tanhshrink threshold threshold_ ",
     "Activation", activation},
};

const kino__pyprof_class *kino__pyprof_class_of(const kino__op_call *call, bool is_compat)
{
    static const kino__pyprof_class cell = {"", "RNNCell", kino__pyprof_cell};
    static const kino__pyprof_class none = {NULL, "Foo", no_class};
    if (kino__str_is(call->name, "forward") &&
        (kino__str_is(call->module, "LSTMCell") || kino__str_is(call->module, "GRUCell")))
        return &cell;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (kino__pyprof_has_word(classes[i].words, call->name) ||
            (classes[i].compute == kino__pyprof_pointwise &&
             kino__pyprof_is_pointwise(call->name, is_compat)))
            return &classes[i];
    return &none;
}
