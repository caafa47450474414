/* pyprof_cost.c - the cost that PyProf gives one kernel: what its classes share, and what is put
 * right; see the header. */
#include "cost/pyprof_internal.h"

const char kino__pyprof_bad_arguments[] = "PyProf does not take the arguments";

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

bool kino__pyprof_is_number(const kino__op_input *input)
{
    return kino__str_is(input->type, "int") || kino__str_is(input->type, "float");
}

bool kino__pyprof_operand(const kino__pyprof_look *look, const kino__op_input *input,
                          bool or_number, kino__pyprof_tensor *tensor)
{
    if (!input || (!input->is_tensor && !(or_number && kino__pyprof_is_number(input))))
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
    return kino__pyprof_operand(look, kino__pyprof_argument(look, i), false, tensor);
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
void kino__pyprof_put_tuple(kino__buffer *out, const int64_t *sizes, uint32_t rank)
{
    kino__buffer_add(out, KINO__STR("("));
    put_sizes(out, sizes, rank);
    kino__buffer_printf(out, rank == 1 ? ",)" : ")");
}

void kino__pyprof_put_shape(kino__pyprof_look *look, const char *key, const int64_t *sizes,
                            uint32_t rank)
{
    kino__buffer_printf(&look->out->params, "%s=", key);
    kino__pyprof_put_tuple(&look->out->params, sizes, rank);
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

bool kino__pyprof_has_word(const char *words, kino_str word)
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

/* -- putting right -- */

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
    const kino__pyprof_class *info = kino__pyprof_class_of(call, is_compat);
    kino__pyprof_look look = {call, kernel, is_compat, out};
    kino__pyprof_set(&look, KINO_NO_INT, KINO_NO_INT);
    out->op_class = info->name;
    const char *problem = info->compute(&look);
    if (problem) {
        kino__pyprof_set(&look, KINO_NO_INT, KINO_NO_INT);
        out->reason = problem;
    }
    if (!is_compat)
        put_right(&look, model, info->words != NULL, problem);
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
