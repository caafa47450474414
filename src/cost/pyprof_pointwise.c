/* pyprof_pointwise.c - PyProf's class of operators that treat each element by itself. */
#include "cost/pyprof_internal.h"

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

static pointwise_group group_of(kino_str name, bool is_compat)
{
    kino_str bare = name;
    if (bare.size && bare.data[bare.size - 1] == '_')
        bare.size--;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (kino__pyprof_has_word(groups[i].words, name) ||
            (groups[i].has_in_place && kino__pyprof_has_word(groups[i].words, bare)))
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
        bool is_skipped = !look->is_compat && !input->is_tensor && !kino__pyprof_is_number(input);
        if (is_skipped)
            continue;
        if (list->count == OPERANDS ||
            !kino__pyprof_operand(look, input, true, &list->items[list->count]))
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
    bool is_sum = kino__pyprof_has_word(additive, look->call->name) ||
                  (!look->is_compat && kino__pyprof_has_word(" add sub rsub ", bare));
    if (is_sum)
        kino__pyprof_set(look, 0, kino__cost_mul(2, out_bytes));
    else if (!look->is_compat || kino__pyprof_has_word(multiplicative, look->call->name))
        kino__pyprof_set(look, out, kino__cost_mul(3, out_bytes));
    else
        return "PyProf does not know the gradient of the operator";
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

bool kino__pyprof_is_pointwise(kino_str name, bool is_compat)
{
    return group_of(name, is_compat) != NO_GROUP;
}

const char *kino__pyprof_pointwise(kino__pyprof_look *look)
{
    operand_list list;
    pointwise_group group = group_of(look->call->name, look->is_compat);
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
