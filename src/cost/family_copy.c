/* family_copy.c - moving and making data without computing: copies, casts, concatenation, filling,
 * padding; and what moves nothing: views and allocations. */
#include "cost/family.h"

/* (to, from) */
static void copy(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor to, from;
    if (!kino__cost_tensor_at(ask, 0, NULL, &to) || !kino__cost_tensor_at(ask, 1, "src", &from)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    kino__cost_set(cost, 0, from.bytes, to.bytes, to.dtype);
}

/* x.half(): to the type of the name. */
static void cast(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (kino__cost_first_tensor(ask, cost, &x))
        kino__cost_set(cost, 0, x.bytes,
                       kino__cost_bytes_of(x.elements, (kino__dtype)ask->op->variant), x.dtype);
}

/* All tensors, one behind the other. */
static void concatenate(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    if (!kino__cost_first_tensor(ask, cost, &first))
        return;
    int64_t bytes = kino__cost_input_bytes(ask);
    kino__cost_set(cost, 0, bytes, bytes, first.dtype);
}

static void fill(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (kino__cost_first_tensor(ask, cost, &x))
        kino__cost_set(cost, 0, 0, x.bytes, x.dtype);
}

/* zeros(3, 5), zeros((3, 5)), full((3, 5), 1): float32 unless the call says otherwise, which PyProf
 * does not record. */
static void make(const kino__cost_ask *ask, kino__cost *cost)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    int64_t elements = 1, size;
    int64_t sizes[KINO__COST_RANK_MAX];
    uint32_t count = 0;
    bool is_list = false;
    for (size_t i = 0; i < inputs->items.count && !is_list; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (i == 0 && (kino__str_is(input->type, "tuple") || kino__str_is(input->type, "list") ||
                       kino__str_is(input->type, "ScalarList"))) {
            is_list = kino__op_input_to_ints(input, sizes, KINO__COST_RANK_MAX, &count);
            elements = kino__cost_product(sizes, 0, count);
        } else if (kino__str_is(input->type, "int") && kino__op_input_to_int(input, &size)) {
            elements = kino__cost_mul(elements, size);
            count++;
        }
    }
    if ((count == 0 && !is_list) || elements < 0)
        kino__cost_unknown(cost, kino__cost_no_values);
    else
        kino__cost_set(cost, 0, 0, kino__cost_bytes_of(elements, KINO__DTYPE_FLOAT32),
                       KINO__DTYPE_FLOAT32);
}

/* (x, [before, behind] of the last dimension, then of the one before it, ...) */
static void pad(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    int64_t pads[2 * KINO__COST_RANK_MAX], results = 1;
    uint32_t count = 0;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (kino__cost_ints_at(ask, 1, "pad", pads, 2 * KINO__COST_RANK_MAX, &count) !=
        KINO__COST_VALUE_KNOWN) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    for (uint32_t d = 0; d < x.rank; d++) {
        int64_t size = kino__cost_last(&x, d);
        if (2 * d + 1 < count)
            size = kino__cost_add(size, kino__cost_add(pads[2 * d], pads[2 * d + 1]));
        results = kino__cost_mul(results, size);
    }
    if (results < 0 || count > 2 * x.rank)
        kino__cost_unknown(cost, kino__cost_bad_shapes);
    else
        kino__cost_set(cost, 0, x.bytes, kino__cost_bytes_of(results, x.dtype), x.dtype);
}

/* (x, repeats of each dimension) */
static void repeat(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    int64_t times[KINO__COST_RANK_MAX];
    uint32_t count = 0;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (kino__cost_ints_at(ask, 1, "repeats", times, KINO__COST_RANK_MAX, &count) !=
        KINO__COST_VALUE_KNOWN) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    int64_t results = kino__cost_mul(x.elements, kino__cost_product(times, 0, count));
    kino__cost_set(cost, 0, x.bytes, kino__cost_bytes_of(results, x.dtype), x.dtype);
}

#define CAST(word, type)                                                                           \
    {                                                                                              \
        .name = (word), .role = KINO__COST_COMPOSITE, .compute = cast,                             \
        .variant = KINO__DTYPE_##type                                                              \
    }
#define FILL(word)                                                                                 \
    {                                                                                              \
        .name = (word), .role = KINO__COST_PRIMITIVE, .compute = fill                              \
    }
#define MAKE(word)                                                                                 \
    {                                                                                              \
        .name = (word), .role = KINO__COST_COMPOSITE, .compute = make                              \
    }
#define DUPLICATE(word)                                                                            \
    {                                                                                              \
        .name = (word), .role = KINO__COST_PRIMITIVE, .compute = kino__cost_passes, .variant = 2   \
    }
#define NOTHING(word)                                                                              \
    {                                                                                              \
        .name = (word), .role = KINO__COST_PRIMITIVE, .compute = kino__cost_nothing                \
    }

static const kino__cost_op ops[] = {
    {.name = "copy", .role = KINO__COST_PRIMITIVE, .compute = copy},
    {.name = "clone", .role = KINO__COST_COMPOSITE, .compute = kino__cost_passes, .variant = 2},
    {.name = "contiguous",
     .role = KINO__COST_COMPOSITE,
     .compute = kino__cost_passes,
     .variant = 2},
    {.name = "reshape", .role = KINO__COST_COMPOSITE, .compute = kino__cost_nothing},
    {.name = "cat", .role = KINO__COST_PRIMITIVE, .compute = concatenate},
    {.name = "_cat", .role = KINO__COST_PRIMITIVE, .compute = concatenate},
    {.name = "concat", .role = KINO__COST_COMPOSITE, .compute = concatenate},
    {.name = "stack", .role = KINO__COST_PRIMITIVE, .compute = concatenate},
    {.name = "constant_pad_nd", .role = KINO__COST_PRIMITIVE, .compute = pad},
    {.name = "reflection_pad1d", .role = KINO__COST_PRIMITIVE, .compute = pad},
    {.name = "reflection_pad2d", .role = KINO__COST_PRIMITIVE, .compute = pad},
    {.name = "replication_pad1d", .role = KINO__COST_PRIMITIVE, .compute = pad},
    {.name = "replication_pad2d", .role = KINO__COST_PRIMITIVE, .compute = pad},
    {.name = "pad", .role = KINO__COST_COMPOSITE, .compute = pad},
    {.name = "repeat", .role = KINO__COST_PRIMITIVE, .compute = repeat},
    DUPLICATE("channel_shuffle"),
    DUPLICATE("pixel_shuffle"),
    DUPLICATE("pixel_unshuffle"),
    DUPLICATE("_reshape_copy"),
    DUPLICATE("_conj_physical"),
    CAST("byte", UINT8),
    CAST("char", INT8),
    CAST("double", FLOAT64),
    CAST("float", FLOAT32),
    CAST("half", FLOAT16),
    CAST("bfloat16", BFLOAT16),
    CAST("int", INT32),
    CAST("long", INT64),
    CAST("short", INT16),
    CAST("bool", BOOL),
    FILL("fill"),
    FILL("zero"),
    FILL("zeros_like"),
    FILL("ones_like"),
    FILL("full_like"),
    MAKE("zeros"),
    MAKE("ones"),
    MAKE("full"),
    NOTHING("alias"),
    NOTHING("as_strided"),
    NOTHING("chunk"),
    NOTHING("detach"),
    NOTHING("diagonal"),
    NOTHING("empty"),
    NOTHING("empty_like"),
    NOTHING("empty_strided"),
    NOTHING("expand"),
    NOTHING("expand_as"),
    NOTHING("flatten"),
    NOTHING("is_nonzero"),
    NOTHING("lift_fresh"),
    NOTHING("movedim"),
    NOTHING("narrow"),
    NOTHING("new_empty"),
    NOTHING("new_empty_strided"),
    NOTHING("numpy_T"),
    NOTHING("permute"),
    NOTHING("resize"),
    NOTHING("resolve_conj"),
    NOTHING("resolve_neg"),
    NOTHING("select"),
    NOTHING("set"),
    NOTHING("slice"),
    NOTHING("split"),
    NOTHING("split_with_sizes"),
    NOTHING("squeeze"),
    NOTHING("swapaxes"),
    NOTHING("t"),
    NOTHING("transpose"),
    NOTHING("unbind"),
    NOTHING("unflatten"),
    NOTHING("unfold"),
    NOTHING("unsqueeze"),
    NOTHING("view"),
    NOTHING("view_as"),
    NOTHING("view_as_complex"),
    NOTHING("view_as_real"),
    NOTHING("_reshape_alias"),
    NOTHING("_unsafe_view"),
    {.name = NULL},
};

const kino__cost_family kino__cost_family_copy = {"copy", ops};
