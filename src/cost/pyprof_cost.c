/* pyprof_cost.c - the cost that PyProf gives one kernel: the order of its classes, what they share,
 * and those without products; see the header. */
#include "cost/pyprof_internal.h"

const char kino__pyprof_bad_arguments[] = "PyProf does not take the arguments";
static const char unsupported[] = "PyProf does not know the direction of the operator";

/* -- types -- */

typedef struct type_info {
    const char *name, *in_map, *in_tensor;
    int64_t bytes;
} type_info;

static const type_info *find_type(kino_str name)
{
    static const type_info types[] = {
        {"uint8", "uint8", "uint8", 1}, {"byte", "uint8", "byte", 1},
        {"char", "uint8", "char", 1},   {"int8", "int8", "int8", 1},
        {"bool", "bool", "bool", 1},    {"float16", "fp16", "fp16", 2},
        {"half", "fp16", "fp16", 2},    {"int16", "int16", "int16", 2},
        {"short", "int16", "int16", 2}, {"float32", "fp32", "fp32", 4},
        {"float", "fp32", "fp32", 4},   {"int32", "int32", "int32", 4},
        {"int", "int32", "int32", 4},   {"int64", "int64", "int64", 8},
        {"long", "int64", "int64", 8},  {"float64", "fp64", "fp64", 8},
        {"double", "fp64", "fp64", 8},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (kino__str_is(name, types[i].name))
            return &types[i];
    return NULL;
}

int64_t kino__pyprof_itemsize(const kino__pyprof_look *look, kino_str type)
{
    const type_info *info = find_type(type);
    if (info)
        return info->bytes;
    return look->is_compat ? 0 : kino__dtype_bytes(kino__dtype_of(type));
}

static const char *type_word(kino_str type, bool is_map)
{
    const type_info *info = find_type(type);
    if (info)
        return is_map ? info->in_map : info->in_tensor;
    return kino__dtype_name(kino__dtype_of(type));
}

/* -- arguments -- */

uint32_t kino__pyprof_argument_count(const kino__pyprof_look *look)
{
    return look->call->inputs.argument_count;
}

const kino__op_input *kino__pyprof_argument(const kino__pyprof_look *look, uint32_t i)
{
    return kino__op_inputs_at(&look->call->inputs, i);
}

static bool is_number(const kino__op_input *input)
{
    return kino__str_is(input->type, "int") || kino__str_is(input->type, "float");
}

/* A tensor, or where that is wanted a number as one without sizes. */
static bool to_tensor(const kino__pyprof_look *look, const kino__op_input *input, bool or_number,
                      kino__pyprof_tensor *tensor)
{
    if (!input || (!input->is_tensor && !(or_number && is_number(input))))
        return false;
    *tensor = (kino__pyprof_tensor){.type = input->type, .elements = 1};
    if (input->is_tensor) {
        tensor->sizes = kino__op_input_sizes(&look->call->inputs, input);
        tensor->rank = input->size_count;
        tensor->elements = kino__op_input_elements(&look->call->inputs, input);
    }
    tensor->itemsize = kino__pyprof_itemsize(look, input->type);
    tensor->bytes = kino__cost_mul(tensor->elements, tensor->itemsize);
    return tensor->itemsize > 0;
}

bool kino__pyprof_tensor_at(const kino__pyprof_look *look, uint32_t i, kino__pyprof_tensor *tensor)
{
    return to_tensor(look, kino__pyprof_argument(look, i), false, tensor);
}

/* -- kernels -- */

bool kino__pyprof_name_has(const kino__pyprof_look *look, const char *part)
{
    return kino__str_contains(look->kernel->name, kino__str_from(part));
}

bool kino__pyprof_name_has_any(const kino__pyprof_look *look, const char *const *parts)
{
    for (; *parts; parts++)
        if (kino__pyprof_name_has(look, *parts))
            return true;
    return false;
}

bool kino__pyprof_is_forward(const kino__pyprof_look *look)
{
    return look->kernel->direction == KINO__OP_FORWARD;
}

const char *kino__pyprof_tc(const kino__pyprof_look *look)
{
    static const char *const names[] = {"h884",
                                        "s884",
                                        "h1688",
                                        "s1688",
                                        "hmma",
                                        "i8816",
                                        "16816",
                                        "dgrad_1x1_stride_2x2",
                                        "first_layer_wgrad_kernel",
                                        "conv1x1",
                                        "conv2d_c1_k1",
                                        "direct_group",
                                        "xmma_implicit_gemm",
                                        "xmma_sparse_conv",
                                        "xmma_warp_specialized_implicit_gemm",
                                        "xmma_gemm",
                                        "xmma_sparse_gemm",
                                        "c1688",
                                        NULL};
    return kino__pyprof_name_has_any(look, names) ? "1" : "0";
}

/* -- parameters -- */

static void put_sizes(kino__buffer *out, const int64_t *sizes, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        kino__buffer_printf(out, i ? ",%lld" : "%lld", (long long)sizes[i]);
}

/* A tuple of one has a comma behind it. */
static void put_tuple(kino__buffer *out, const int64_t *sizes, uint32_t rank)
{
    kino__buffer_add(out, KINO__STR("("));
    put_sizes(out, sizes, rank);
    kino__buffer_printf(out, rank == 1 ? ",)" : ")");
}

void kino__pyprof_put_shape(kino__pyprof_look *look, const char *key, const int64_t *sizes,
                            uint32_t rank)
{
    kino__buffer_printf(&look->out->params, "%s=", key);
    put_tuple(&look->out->params, sizes, rank);
    kino__buffer_add(&look->out->params, KINO__STR(","));
}

void kino__pyprof_put_number(kino__pyprof_look *look, const char *key, int64_t value)
{
    kino__buffer_printf(&look->out->params, "%s=%lld,", key, (long long)value);
}

void kino__pyprof_put_type(kino__pyprof_look *look, kino_str type)
{
    kino__buffer_printf(&look->out->params, "%s,", type_word(type, true));
}

void kino__pyprof_put_tensor(kino__pyprof_look *look, const kino__pyprof_tensor *tensor)
{
    kino__buffer_printf(&look->out->params, look->out->params.size ? ";[" : "[");
    put_sizes(&look->out->params, tensor->sizes, tensor->rank);
    kino__buffer_printf(&look->out->params, "]%s", type_word(tensor->type, false));
}

void kino__pyprof_set(kino__pyprof_look *look, int64_t flops, int64_t bytes)
{
    look->out->flops = flops;
    look->out->bytes = bytes;
}

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

/* -- pointwise -- */

typedef enum pointwise_group {
    NO_GROUP,
    UNARY,
    TRANSCENDENTAL,
    BINARY,
    COMPARISON,
    POWER,
    TERNARY,
    WITHOUT_FORMULA,
} pointwise_group;

enum { FUNCTION = 20 }; /* operations of a function */

/* Words that also come with an underscore behind; dunder words stand as they are. */
static const struct {
    const char *words;
    pointwise_group group;
    bool has_in_place;
} groups[] = {
    {" abs neg reciprocal ceil clamp floor frac round sign trunc ", UNARY, true},
    {" __abs__ __neg__ __invert__ ", UNARY, false},
    {" exp exp1m log log10 log1p log2 rsqrt sqrt acos asin atan atan2 cos cosh sin sinh tan "
     "sigmoid "
     "tanh erf erfc erfinv ",
     TRANSCENDENTAL, true},
    {" add div mul remainder sub fmod ", BINARY, true},
    {" __add__ __sub__ __mul__ __floordiv__ __truediv__ __mod__ __radd__ __rsub__ __rmul__ "
     "__rdiv__ "
     "__rtruediv__ __rfloordiv__ __iadd__ __isub__ __imul__ __itruediv__ __and__ __or__ __xor__ "
     "__lshift__ __rshift__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ ",
     BINARY, false},
    {" lt gt ge le eq ne ", COMPARISON, true},
    {" __lt__ __gt__ __ge__ __le__ __eq__ __ne__ ", COMPARISON, false},
    {" pow ", POWER, true},
    {" __pow__ __rpow__ ", POWER, false},
    {" addcdiv addcmul ", TERNARY, true},
    {" digamma mvlgamma ", WITHOUT_FORMULA, false},
    {" lerp ", WITHOUT_FORMULA, true},
};

static bool has_word(const char *words, kino_str word)
{
    const char *at = words;
    if (word.size == 0 || memchr(word.data, ' ', word.size))
        return false;
    for (; *at; at++)
        if (*at == ' ' && strlen(at + 1) > word.size && memcmp(at + 1, word.data, word.size) == 0 &&
            at[1 + word.size] == ' ')
            return true;
    return false;
}

static pointwise_group group_of(const kino__op_call *call, bool is_compat)
{
    kino_str name = call->name, bare = name;
    if (bare.size && bare.data[bare.size - 1] == '_')
        bare.size--;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (has_word(groups[i].words, name) ||
            (groups[i].has_in_place && has_word(groups[i].words, bare)))
            return groups[i].group;
    if (!is_compat && kino__str_is(bare, "expm1")) /* which PyProf spells exp1m */
        return TRANSCENDENTAL;
    return NO_GROUP;
}

enum { OPERANDS = 4 };

typedef struct operand_list {
    kino__pyprof_tensor items[OPERANDS];
    uint32_t count;
} operand_list;

/* Positional arguments: tensors and numbers. */
static const char *read_operands(kino__pyprof_look *look, operand_list *list)
{
    list->count = 0;
    for (uint32_t i = 0; i < kino__pyprof_argument_count(look); i++) {
        const kino__op_input *input = kino__pyprof_argument(look, i);
        if (!input || input->keyword.size)
            continue;
        bool is_skipped = !look->is_compat && !input->is_tensor && !is_number(input);
        if (is_skipped)
            continue;
        if (list->count == OPERANDS || !to_tensor(look, input, true, &list->items[list->count]))
            return kino__pyprof_bad_arguments;
        kino__pyprof_put_tensor(look, &list->items[list->count++]);
    }
    return list->count ? NULL : kino__pyprof_bad_arguments;
}

/* Elements of the shape that the operands broadcast to; KINO_NO_INT: they do not. */
static int64_t broadcast(const operand_list *list)
{
    uint32_t rank = 0;
    int64_t elements = 1;
    for (uint32_t i = 0; i < list->count; i++)
        rank = list->items[i].rank > rank ? list->items[i].rank : rank;
    for (uint32_t d = 1; d <= rank; d++) {
        int64_t size = 1;
        for (uint32_t i = 0; i < list->count; i++) {
            const kino__pyprof_tensor *t = &list->items[i];
            int64_t own = d <= t->rank ? t->sizes[t->rank - d] : 1;
            if (own != 1 && size != 1 && own != size)
                return KINO_NO_INT;
            size = own != 1 ? own : size;
        }
        elements = kino__cost_mul(elements, size);
    }
    return elements;
}

static int64_t all_bytes(const operand_list *list)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < list->count; i++)
        bytes = kino__cost_add(bytes, list->items[i].bytes);
    return bytes;
}

/* Gradients of sums are copied, those of products multiplied. */
static const char *set_binary_gradient(kino__pyprof_look *look, int64_t out, int64_t out_bytes)
{
    static const char additive[] = " add __add__ sub __sub__ __isub__ ";
    static const char multiplicative[] = " __mul__ __imul__ __rmul__ div __truediv__ ";
    kino_str bare = kino__op_bare_name(look->call->name);
    bool is_sum = has_word(additive, look->call->name) ||
                  (!look->is_compat && has_word(" add sub rsub ", bare));
    if (is_sum)
        kino__pyprof_set(look, 0, kino__cost_mul(2, out_bytes));
    else if (!look->is_compat || has_word(multiplicative, look->call->name))
        kino__pyprof_set(look, out, kino__cost_mul(3, out_bytes));
    else
        return unsupported;
    return NULL;
}

static const char *set_broadcast(kino__pyprof_look *look, pointwise_group group, operand_list *list)
{
    kino__pyprof_tensor *first = &list->items[0];
    int64_t itemsize = first->itemsize;
    if (group == TERNARY) { /* numbers do not count */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < list->count; i++)
            if (list->items[i].rank)
                list->items[kept++] = list->items[i];
        list->count = kept;
    }
    uint32_t wanted = group == TERNARY ? 3 : 2;
    if (look->is_compat ? list->count != wanted : list->count == 0)
        return kino__pyprof_bad_arguments;
    int64_t out = broadcast(list), read = all_bytes(list);
    if (out == KINO_NO_INT)
        return kino__pyprof_bad_arguments;
    int64_t out_bytes = kino__cost_mul(out, group == COMPARISON ? 1 : itemsize);
    bool is_gradient = !kino__pyprof_is_forward(look) && (group == BINARY || group == COMPARISON);
    if (is_gradient)
        return set_binary_gradient(look, out, kino__cost_mul(out, itemsize));
    int64_t weight = group == TERNARY                            ? 3
                     : group == POWER || group == TRANSCENDENTAL ? FUNCTION
                                                                 : 1;
    kino__pyprof_set(look, kino__cost_mul(weight, out), kino__cost_add(read, out_bytes));
    return NULL;
}

static const char *pointwise(kino__pyprof_look *look)
{
    operand_list list;
    pointwise_group group = group_of(look->call, look->is_compat);
    const char *problem = read_operands(look, &list);
    if (problem)
        return problem;
    if (group == WITHOUT_FORMULA)
        return "PyProf has no formula for the operator";
    if (group != UNARY && group != TRANSCENDENTAL)
        return set_broadcast(look, group, &list);
    bool is_atan2 = kino__str_is(kino__op_bare_name(look->call->name), "atan2");
    if (list.count > 1 && look->is_compat)
        return kino__pyprof_bad_arguments;
    if (is_atan2)
        return set_broadcast(look, group, &list);
    int64_t weight = group == UNARY ? 1 : FUNCTION;
    kino__pyprof_set(look, kino__cost_mul(weight, list.items[0].elements),
                     kino__cost_mul(2, list.items[0].bytes));
    return NULL;
}

/* -- the rest, one tensor -- */

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
    if (!to_tensor(look, kino__pyprof_argument(look, 0), true, &x))
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

/* -- the rest, several arguments -- */

static const char *cat(kino__pyprof_look *look)
{
    kino__pyprof_tensor x;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < kino__pyprof_argument_count(look); i++) {
        const kino__op_input *input = kino__pyprof_argument(look, i);
        if (!input || !input->is_tensor)
            continue;
        if (!to_tensor(look, input, false, &x))
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
    if (!is_list(shape) || !value || !is_number(value) ||
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
        !to_tensor(look, kino__pyprof_argument(look, 1), !look->is_compat, &from))
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
            put_tuple(out, kino__op_input_sizes(&look->call->inputs, input), input->size_count);
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

typedef struct class_info {
    const char *words; /* operators */
    const char *name;
    kino__pyprof_class_fn compute;
} class_info;

static const class_info classes[] = {
    {" linear ", "Linear", kino__pyprof_linear},
    {" conv1d conv2d ", "Conv", kino__pyprof_conv},
    {"", "Pointwise", pointwise}, /* by group_of */
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

static const class_info *class_of(const kino__op_call *call, bool is_compat)
{
    static const class_info cell = {"", "RNNCell", kino__pyprof_cell};
    static const class_info none = {"", "Foo", no_class};
    if (kino__str_is(call->name, "forward") &&
        (kino__str_is(call->module, "LSTMCell") || kino__str_is(call->module, "GRUCell")))
        return &cell;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (has_word(classes[i].words, call->name) ||
            (classes[i].compute == pointwise && group_of(call, is_compat) != NO_GROUP))
            return &classes[i];
    return &none;
}

/* The cost of the general model where PyProf has none or stops. */
static void ask_model(const kino__op_call *call, const kino__cost_model *model,
                      kino__pyprof_cost *out)
{
    kino__cost cost = kino__cost_of(model, call);
    out->flops = cost.flops;
    out->bytes = kino__cost_bytes(&cost);
    out->reason = cost.reason;
    out->is_real = false;
}

/* RNNCell has a class of its own that PyProf never reaches: its figures are right, its other columns
 * stay those of an operator without a class. */
static bool cost_of_cell(const kino__pyprof_look *look)
{
    kino__pyprof_cost cell = {.tc = "-"};
    kino__pyprof_look inner = *look;
    inner.out = &cell;
    const char *problem = kino__pyprof_cell(&inner);
    kino__pyprof_cost_deinit(&cell);
    if (problem)
        return false;
    look->out->flops = cell.flops;
    look->out->bytes = cell.bytes;
    return true;
}

/* Without compatibility: what PyProf does not know, or does not take. */
static void put_right(const kino__pyprof_look *look, const kino__cost_model *model, bool has_class,
                      const char *problem)
{
    bool is_cell = !has_class && kino__str_is(look->call->name, "forward") &&
                   kino__str_is(look->call->module, "RNNCell");
    if (is_cell && cost_of_cell(look))
        return;
    if (!has_class || problem)
        ask_model(look->call, model, look->out);
}

bool kino__pyprof_cost_of(const kino__op_call *call, const kino__pyprof_kernel *kernel,
                          const kino__cost_model *model, bool is_compat, kino__pyprof_cost *out)
{
    kino__buffer params = out->params;
    params.size = 0;
    *out = (kino__pyprof_cost){.op = call->name, .params = params, .tc = "-"};
    const class_info *info = class_of(call, is_compat);
    kino__pyprof_look look = {call, kernel, is_compat, out};
    kino__pyprof_set(&look, KINO_NO_INT, KINO_NO_INT);
    out->op_class = info->name;
    const char *problem = info->compute(&look);
    if (problem) {
        kino__pyprof_set(&look, KINO_NO_INT, KINO_NO_INT);
        out->reason = problem;
    }
    if (!is_compat)
        put_right(&look, model, info->compute != no_class, problem);
    if (out->flops == INT64_MAX || out->bytes == INT64_MAX) {
        kino__pyprof_set(&look, KINO_NO_INT, KINO_NO_INT);
        out->reason = "too large to count";
    }
    return !out->params.failed;
}

void kino__pyprof_cost_deinit(kino__pyprof_cost *cost)
{
    kino__buffer_deinit(&cost->params);
}

/* -- names of kernels -- */

static void add_without(kino__buffer *out, kino_str text, const char *const *parts)
{
    for (size_t at = 0; at < text.size;) {
        kino_str rest = {text.data + at, text.size - at};
        size_t skipped = 0;
        for (const char *const *p = parts; *p && !skipped; p++)
            if (kino__str_starts_with(rest, kino__str_from(*p)))
                skipped = strlen(*p);
        if (!skipped)
            kino__buffer_add(out, (kino_str){rest.data, 1});
        at += skipped ? skipped : 1;
    }
}

kino_str kino__pyprof_short_name(kino_str demangled, kino__buffer *room)
{
    static const char *const parts[] = {
        "void ", "at::", "cuda::", "native::", "(anonymous namespace)::", NULL};
    const char *cut = demangled.size ? memchr(demangled.data, '<', demangled.size) : NULL;
    kino_str head = {demangled.data, cut ? (size_t)(cut - demangled.data) : demangled.size};
    room->size = 0;
    add_without(room, head, parts);
    const char *open = room->size ? memchr(room->data, '(', room->size) : NULL;
    size_t size = open ? (size_t)(open - room->data) : room->size;
    for (size_t i = 0; i < size; i++)
        if (room->data[i] == ' ')
            room->data[i] = '_';
    return (kino_str){room->data ? room->data : "", size};
}
