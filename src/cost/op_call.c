/* op_call.c - one call of an operator; see the header. */
#include "cost/op_call.h"

#include "base/map.h"
#include "cost/marker.h"
#include "cost/python_literal.h"
#include "names/op_marker.h"
#include "store/args.h"

/* -- names -- */

static kino_str behind_namespace(kino_str name)
{
    for (size_t i = name.size; i >= 2; i--)
        if (name.data[i - 1] == ':' && name.data[i - 2] == ':')
            return (kino_str){name.data + i, name.size - i};
    return name;
}

static kino_str before(kino_str text, char c)
{
    const char *found = text.size ? memchr(text.data, c, text.size) : NULL;
    return found ? (kino_str){text.data, (size_t)(found - text.data)} : text;
}

/* "iadd" and "radd" are "add". */
static kino_str without_in_place_or_reflected(kino_str word)
{
    static const char *const words[] = {"add", "sub", "mul",    "truediv", "floordiv",
                                        "div", "mod", "pow",    "matmul",  "and",
                                        "or",  "xor", "lshift", "rshift"};
    if (word.size < 2 || (word.data[0] != 'i' && word.data[0] != 'r'))
        return word;
    kino_str rest = {word.data + 1, word.size - 1};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_is(rest, words[i]))
            return rest;
    return word;
}

/* "torch::autograd::CppNode<fbgemm_gpu::LookupFunction<...> >" is about "LookupFunction". */
static kino_str inside_node(kino_str name)
{
    static const kino_str node = KINO__STR("torch::autograd::CppNode<");
    if (!kino__str_starts_with(name, node))
        return name;
    kino_str inside = {name.data + node.size, name.size - node.size};
    return before(before(inside, '<'), '>');
}

kino_str kino__op_bare_name(kino_str name)
{
    if (kino__str_starts_with(name, KINO__STR("autograd::engine::"))) /* its child does the work */
        return name;
    if (kino__str_starts_with(name, KINO__STR("nccl:")) ||
        kino__str_starts_with(name, KINO__STR("gloo:")))
        name = (kino_str){name.data + 5, name.size - 5};
    kino_str bare = before(behind_namespace(inside_node(name)), '.');
    kino_str edge = KINO__STR("__");
    if (bare.size > 4 && kino__str_starts_with(bare, edge) && kino__str_ends_with(bare, edge))
        return without_in_place_or_reflected((kino_str){bare.data + 2, bare.size - 4});
    if (bare.size > 1 && bare.data[bare.size - 1] == '_')
        bare.size--;
    return bare;
}

/* -- a fresh call -- */

static void start(kino__op_call *call, kino__op_source source)
{
    kino__op_inputs inputs = call->inputs;
    kino__arena arena = call->arena;
    inputs.items.count = inputs.numbers.count = 0;
    inputs.argument_count = 0;
    inputs.dims = (kino_str){"", 0};
    kino__arena_rewind(&arena, (kino__arena_mark){0});
    *call = (kino__op_call){.source = source,
                            .sequence = KINO_NO_INT,
                            .forward_thread = KINO_NO_INT,
                            .inputs = inputs,
                            .arena = arena,
                            .message = {KINO_NO_INT, KINO_NO_INT, KINO_NO_INT, KINO__DTYPE_NONE}};
}

void kino__op_call_deinit(kino__op_call *call)
{
    kino__op_inputs_deinit(&call->inputs);
    kino__arena_deinit(&call->arena);
}

/* -- Kineto -- */

static kino_str without_quotes(kino_str text)
{
    if (text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"')
        return (kino_str){text.data + 1, text.size - 2};
    return text;
}

/* The arguments of an event that say something about a call, found in one walk over them. */
typedef struct known_args {
    kino_str dims, old_dims, strides, types, values;
    kino_str sequence, thread;
    kino_str elements_in, elements_out, group_size, dtype;
} known_args;

static known_args find_args(kino_str args)
{
    known_args found = {0};
    const struct {
        kino_str key;
        kino_str *value;
    } keys[] = {
        {KINO__STR("Input Dims"), &found.dims},
        {KINO__STR("Input dims"), &found.old_dims},
        {KINO__STR("Input Strides"), &found.strides},
        {KINO__STR("Input type"), &found.types},
        {KINO__STR("Concrete Inputs"), &found.values},
        {KINO__STR("Sequence number"), &found.sequence},
        {KINO__STR("Fwd thread id"), &found.thread},
        {KINO__STR("In msg nelems"), &found.elements_in},
        {KINO__STR("Out msg nelems"), &found.elements_out},
        {KINO__STR("Group size"), &found.group_size},
        {KINO__STR("dtype"), &found.dtype},
    };
    kino__args_iter it = kino__args_iter_start(args);
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (key.size == keys[i].key.size && key.data[0] == keys[i].key.data[0] &&
                memcmp(key.data, keys[i].key.data, key.size) == 0)
                *keys[i].value = value;
    return found;
}

static int64_t to_int(kino_str value)
{
    int64_t number;
    return kino__json_to_int(value, &number) ? number : KINO_NO_INT;
}

uint64_t kino__op_call_kineto_key(kino_str args, bool *records_autograd)
{
    known_args found = find_args(args);
    *records_autograd = to_int(found.sequence) >= 0 && to_int(found.thread) <= 0;
    const kino_str parts[] = {found.dims,        found.old_dims,     found.types,      found.values,
                              found.elements_in, found.elements_out, found.group_size, found.dtype};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t own = parts[i].size ? kino__hash_bytes(parts[i].data, parts[i].size) : i;
        key = kino__hash_u64(key ^ own) + i;
    }
    return key;
}

bool kino__op_call_read_kineto(kino__op_call *call, kino_str name, kino_str args)
{
    known_args found = find_args(args);
    start(call, KINO__OP_KINETO);
    call->name = name;
    call->direction = kino__marker_is_backward(name, false) ? KINO__OP_BACKWARD : KINO__OP_FORWARD;
    call->sequence = to_int(found.sequence);
    call->forward_thread = to_int(found.thread);
    call->message.elements_in = to_int(found.elements_in);
    call->message.elements_out = to_int(found.elements_out);
    call->message.group_size = to_int(found.group_size);
    call->message.dtype = kino__dtype_of(without_quotes(found.dtype));
    return kino__op_inputs_read_lists(&call->inputs, found.dims.size ? found.dims : found.old_dims,
                                      found.strides, found.types, found.values);
}

/* -- NVTX -- */

bool kino__op_call_read_nvtx(kino__op_call *call, kino_str text)
{
    start(call, KINO__OP_NVTX);
    kino__op_marker marker;
    kino_str none = {"", 0};
    if (!kino__op_marker_parse(text, &marker))
        marker = (kino__op_marker){.name = text, .sequence = KINO_NO_INT, .sizes = none};
    call->name = marker.name;
    call->sequence = marker.sequence;
    call->direction = kino__marker_is_backward(text, false) ? KINO__OP_BACKWARD : KINO__OP_FORWARD;
    return kino__op_inputs_read_lists(&call->inputs, marker.sizes, none, none, none);
}

/* -- PyProf -- */

/* The sizes of a tensor into numbers; what is no size makes it one without sizes. */
static bool add_sizes(kino__op_inputs *inputs, const kino__py_value *shape, kino__op_input *item)
{
    item->first_size = (uint32_t)inputs->numbers.count;
    for (const kino__py_value *s = shape ? shape->first : NULL; s; s = s->next) {
        int64_t *number = kino__vec_add(&inputs->numbers);
        if (!number)
            return false;
        *number = s->kind == KINO__PY_INT ? s->integer : KINO_NO_INT;
    }
    item->size_count = (uint32_t)inputs->numbers.count - item->first_size;
    return true;
}

/* An element of 'args'. */
static bool add_argument(kino__op_inputs *inputs, const kino__py_value *argument)
{
    kino_str type = kino__py_text(argument, "type");
    const kino__py_value *value = kino__py_member(argument, "value");
    kino__op_input item = {.argument = inputs->argument_count++,
                           .keyword = kino__py_text(argument, "name"),
                           .type = type};
    item.is_tensor = kino__str_is(type, "tensor") || kino__str_is(type, "ndarray");
    if (item.is_tensor) {
        item.type = kino__py_text(argument, "dtype");
        item.dtype = kino__dtype_of(item.type);
        if (!add_sizes(inputs, kino__py_member(argument, "shape"), &item))
            return false;
    } else if (value) {
        item.value = value->kind == KINO__PY_STRING ? value->text : value->source;
    }
    kino__op_input *place = kino__vec_add(&inputs->items);
    if (place)
        *place = item;
    return place != NULL;
}

bool kino__op_call_read_pyprof(kino__op_call *call, kino_str text, bool *is_one)
{
    const kino__py_value *root;
    kino_error err;
    start(call, KINO__OP_PYPROF);
    kino_status status = kino__py_parse(text, &call->arena, &root, &err);
    const kino__py_value *args = status == KINO_OK ? kino__py_member(root, "args") : NULL;
    *is_one = args && args->kind == KINO__PY_LIST && kino__py_text(root, "op").size;
    if (!*is_one)
        return status != KINO_NOMEM;
    call->name = kino__py_text(root, "op");
    call->module = kino__py_text(root, "mod");
    call->inputs.dims = args->source;
    for (const kino__py_value *a = args->first; a; a = a->next)
        if (!add_argument(&call->inputs, a))
            return false;
    return true;
}

bool kino__op_call_read_range(kino__op_call *call, kino_str text)
{
    bool is_one = false;
    if (kino__marker_kind_of(text, false) == KINO__MARKER_ARGUMENTS &&
        !kino__op_call_read_pyprof(call, text, &is_one))
        return false;
    return is_one || kino__op_call_read_nvtx(call, text);
}
