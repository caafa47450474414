/* family.c - what the families share: arithmetic, reading inputs, results; see the header. */
#include "cost/family.h"

const char kino__cost_no_shapes[] = "shapes were not recorded";
const char kino__cost_bad_shapes[] = "the inputs do not fit the operator";
const char kino__cost_no_values[] = "values of arguments were not recorded";

/* -- arithmetic -- */

int64_t kino__cost_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == KINO_NO_INT || b == KINO_NO_INT)
        return KINO_NO_INT;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t kino__cost_mul(int64_t a, int64_t b)
{
    int64_t product;
    if (a == KINO_NO_INT || b == KINO_NO_INT)
        return KINO_NO_INT;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t kino__cost_product(const int64_t *sizes, uint32_t from, uint32_t to)
{
    int64_t product = 1;
    for (uint32_t i = from; i < to; i++)
        product = kino__cost_mul(product, sizes[i]);
    return product;
}

int64_t kino__cost_bytes_of(int64_t elements, kino__dtype dtype)
{
    if (dtype == KINO__DTYPE_NONE)
        return elements == 0 ? 0 : KINO_NO_INT;
    return kino__cost_mul(elements, kino__dtype_bytes(dtype));
}

/* -- inputs -- */

const kino__op_input *kino__cost_input(const kino__cost_ask *ask, uint32_t position,
                                       const char *keyword)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    for (size_t i = 0; keyword && i < inputs->items.count; i++)
        if (kino__str_is(inputs->items.items[i].keyword, keyword))
            return &inputs->items.items[i];
    const kino__op_input *input = kino__op_inputs_at(inputs, position);
    return input && input->keyword.size == 0 ? input : NULL;
}

static void tensor_of(const kino__cost_ask *ask, const kino__op_input *input,
                      kino__cost_tensor *tensor)
{
    tensor->sizes = kino__op_input_sizes(&ask->call->inputs, input);
    tensor->rank = input->size_count;
    tensor->dtype = input->dtype;
    tensor->elements = kino__op_input_elements(&ask->call->inputs, input);
    tensor->bytes = kino__cost_bytes_of(tensor->elements, input->dtype);
}

bool kino__cost_tensor_at(const kino__cost_ask *ask, uint32_t position, const char *keyword,
                          kino__cost_tensor *tensor)
{
    const kino__op_input *input = kino__cost_input(ask, position, keyword);
    if (!input || !input->is_tensor)
        return false;
    tensor_of(ask, input, tensor);
    return true;
}

bool kino__cost_next_tensor(const kino__cost_ask *ask, size_t *i, kino__cost_tensor *tensor)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    while (*i < inputs->items.count) {
        const kino__op_input *input = &inputs->items.items[(*i)++];
        if (input->is_tensor) {
            tensor_of(ask, input, tensor);
            return true;
        }
    }
    return false;
}

/* A value that is there but was not written: only PyProf leaves out what the caller left out. */
static kino__cost_value hidden_or_absent(const kino__cost_ask *ask, const kino__op_input *input)
{
    bool is_left_out = input ? kino__str_is(input->type, "NoneType") : true;
    return ask->call->source == KINO__OP_PYPROF && is_left_out ? KINO__COST_VALUE_ABSENT
                                                               : KINO__COST_VALUE_HIDDEN;
}

kino__cost_value kino__cost_int_at(const kino__cost_ask *ask, uint32_t position,
                                   const char *keyword, int64_t *out)
{
    const kino__op_input *input = kino__cost_input(ask, position, keyword);
    return input && kino__op_input_to_int(input, out) ? KINO__COST_VALUE_KNOWN
                                                      : hidden_or_absent(ask, input);
}

kino__cost_value kino__cost_bool_at(const kino__cost_ask *ask, uint32_t position,
                                    const char *keyword, bool *out)
{
    const kino__op_input *input = kino__cost_input(ask, position, keyword);
    return input && kino__op_input_to_bool(input, out) ? KINO__COST_VALUE_KNOWN
                                                       : hidden_or_absent(ask, input);
}

kino__cost_value kino__cost_ints_at(const kino__cost_ask *ask, uint32_t position,
                                    const char *keyword, int64_t *out, uint32_t room,
                                    uint32_t *count)
{
    const kino__op_input *input = kino__cost_input(ask, position, keyword);
    return input && kino__op_input_to_ints(input, out, room, count) ? KINO__COST_VALUE_KNOWN
                                                                    : hidden_or_absent(ask, input);
}

int64_t kino__cost_input_bytes(const kino__cost_ask *ask)
{
    int64_t bytes = 0;
    kino__cost_tensor tensor;
    for (size_t i = 0; kino__cost_next_tensor(ask, &i, &tensor);)
        bytes = kino__cost_add(bytes, tensor.bytes);
    return bytes;
}

int64_t kino__cost_broadcast(const kino__cost_ask *ask)
{
    kino__cost_tensor tensor;
    uint32_t rank = 0;
    for (size_t i = 0; kino__cost_next_tensor(ask, &i, &tensor);)
        rank = tensor.rank > rank ? tensor.rank : rank;
    int64_t elements = 1;
    if (rank > KINO__COST_RANK_MAX)
        return KINO_NO_INT;
    for (uint32_t d = 0; d < rank; d++) {
        int64_t size = 1;
        for (size_t i = 0; kino__cost_next_tensor(ask, &i, &tensor);) {
            int64_t own = d < tensor.rank ? kino__cost_last(&tensor, d) : 1;
            if (own != 1 && size != 1 && own != size)
                return KINO_NO_INT;
            size = own != 1 ? own : size;
        }
        elements = kino__cost_mul(elements, size);
    }
    return elements;
}

bool kino__cost_first_tensor(const kino__cost_ask *ask, kino__cost *cost, kino__cost_tensor *tensor)
{
    size_t i = 0;
    if (kino__cost_next_tensor(ask, &i, tensor))
        return true;
    kino__cost_unknown(cost, kino__cost_no_shapes);
    return false;
}

/* -- results -- */

void kino__cost_set(kino__cost *cost, int64_t flops, int64_t bytes_read, int64_t bytes_written,
                    kino__dtype precision)
{
    cost->flops = flops;
    cost->bytes_read = bytes_read;
    cost->bytes_written = bytes_written;
    cost->precision = precision;
    cost->reason = NULL;
}

void kino__cost_set_matrix(kino__cost *cost, int64_t flops, int64_t bytes_read,
                           int64_t bytes_written, kino__dtype precision)
{
    kino__cost_set(cost, flops, bytes_read, bytes_written, precision);
    cost->is_matrix = true;
}

void kino__cost_unknown(kino__cost *cost, const char *reason)
{
    kino__cost_set(cost, KINO_NO_INT, KINO_NO_INT, KINO_NO_INT, KINO__DTYPE_NONE);
    cost->reason = reason;
}

/* -- functions of several families -- */

/* PyProf counts numbers among the operands of Python's operators as values in memory. */
static int64_t scalar_bytes(const kino__cost_ask *ask)
{
    enum { BYTES = 4 };
    int64_t bytes = 0;
    const kino__op_inputs *inputs = &ask->call->inputs;
    for (size_t i = 0; ask->call->source == KINO__OP_PYPROF && i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (input->keyword.size == 0 &&
            (kino__str_is(input->type, "int") || kino__str_is(input->type, "float")))
            bytes += BYTES;
    }
    return bytes;
}

/* The type of the result: of the first operand with dimensions, for numbers give way to those. */
static bool leading_tensor(const kino__cost_ask *ask, kino__cost *cost, kino__cost_tensor *leading)
{
    size_t i = 0;
    while (kino__cost_next_tensor(ask, &i, leading))
        if (leading->rank)
            return true;
    return kino__cost_first_tensor(ask, cost, leading);
}

static void elementwise(const kino__cost_ask *ask, kino__cost *cost, kino__dtype result)
{
    kino__cost_tensor first;
    if (!leading_tensor(ask, cost, &first))
        return;
    int64_t elements = kino__cost_broadcast(ask);
    if (elements == KINO_NO_INT) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t read = kino__cost_add(kino__cost_input_bytes(ask), scalar_bytes(ask));
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, elements), read,
                   kino__cost_bytes_of(elements, result ? result : first.dtype), first.dtype);
}

void kino__cost_elementwise(const kino__cost_ask *ask, kino__cost *cost)
{
    elementwise(ask, cost, KINO__DTYPE_NONE);
}

void kino__cost_elementwise_to(const kino__cost_ask *ask, kino__cost *cost)
{
    elementwise(ask, cost, (kino__dtype)ask->op->variant);
}

void kino__cost_passes(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    if (kino__cost_first_tensor(ask, cost, &first))
        kino__cost_set(cost, kino__cost_mul(ask->op->weight, first.elements),
                       kino__cost_mul(ask->op->variant - 1, first.bytes), first.bytes, first.dtype);
}

void kino__cost_nothing(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    size_t i = 0;
    bool has_one = kino__cost_next_tensor(ask, &i, &first);
    kino__cost_set(cost, 0, 0, 0, has_one ? first.dtype : KINO__DTYPE_NONE);
}
