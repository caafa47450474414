/* family_gemm.c - products of matrices and vectors.
 *
 *   A m x k times B k x n: 2mnk operations, mk + kn elements read, mn written; batches multiply.
 *
 * What is added to the product (addmm's first argument, a bias) is left out of both, as in PyTorch's
 * and PyProf's figures: it is a fraction 1/k of the operations, and mostly one row. */
#include "cost/family.h"

/* 2 * batch * m * n * k with the bytes of both matrices and of the result. */
static void set_product(kino__cost *cost, const kino__cost_tensor *a, const kino__cost_tensor *b,
                        int64_t batch, int64_t m, int64_t n, int64_t k)
{
    int64_t out = kino__cost_mul(batch, kino__cost_mul(m, n));
    int64_t flops = kino__cost_mul(2, kino__cost_mul(out, k));
    kino__cost_set_matrix(cost, flops, kino__cost_add(a->bytes, b->bytes),
                          kino__cost_bytes_of(out, a->dtype), a->dtype);
}

/* Both factors; variant is the position of the first. False: said so. */
static bool factors(const kino__cost_ask *ask, kino__cost *cost, kino__cost_tensor *a,
                    kino__cost_tensor *b)
{
    static const char *const firsts[] = {"input", "mat1", "batch1"};
    static const char *const seconds[] = {"mat2", "mat2", "batch2"};
    uint32_t first = (uint32_t)ask->op->variant;
    for (int i = 0; i < 3; i++)
        if (kino__cost_tensor_at(ask, first, firsts[i], a) &&
            kino__cost_tensor_at(ask, first + 1, seconds[i], b))
            return true;
    kino__cost_unknown(cost, kino__cost_no_shapes);
    return false;
}

static void mm(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!factors(ask, cost, &a, &b))
        return;
    if (a.rank != 2 || b.rank != 2 || a.sizes[1] != b.sizes[0])
        kino__cost_unknown(cost, kino__cost_bad_shapes);
    else
        set_product(cost, &a, &b, 1, a.sizes[0], b.sizes[1], a.sizes[1]);
}

/* int8 factors, an int32 product. */
static void int_mm(const kino__cost_ask *ask, kino__cost *cost)
{
    mm(ask, cost);
    if (cost->bytes_written != KINO_NO_INT)
        cost->bytes_written = kino__cost_mul(
            cost->bytes_written / kino__dtype_bytes(cost->precision), sizeof(int32_t));
}

static void bmm(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!factors(ask, cost, &a, &b))
        return;
    if (a.rank != 3 || b.rank != 3 || a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1])
        kino__cost_unknown(cost, kino__cost_bad_shapes);
    else
        set_product(cost, &a, &b, a.sizes[0], a.sizes[1], b.sizes[2], a.sizes[2]);
}

/* Matrix times vector, and vector times vector. */
static void mv(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!factors(ask, cost, &a, &b))
        return;
    if (a.rank < 1 || a.rank > 2 || b.rank != 1 || kino__cost_last(&a, 0) != b.sizes[0])
        kino__cost_unknown(cost, kino__cost_bad_shapes);
    else
        set_product(cost, &a, &b, 1, a.rank == 2 ? a.sizes[0] : 1, 1, b.sizes[0]);
}

/* Every element of one vector times every element of the other. */
static void outer(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!factors(ask, cost, &a, &b))
        return;
    int64_t out = kino__cost_mul(a.elements, b.elements);
    kino__cost_set(cost, out, kino__cost_add(a.bytes, b.bytes), kino__cost_bytes_of(out, a.dtype),
                   a.dtype);
}

/* The product of the leading sizes of both as they broadcast, the last `a_own` and `b_own` left out;
 * KINO_NO_INT: they do not. */
static int64_t batch_of(const kino__cost_tensor *a, uint32_t a_own, const kino__cost_tensor *b,
                        uint32_t b_own)
{
    int64_t batch = 1;
    for (uint32_t i = 0; i + a_own < a->rank || i + b_own < b->rank; i++) {
        int64_t of_a = i + a_own < a->rank ? kino__cost_last(a, i + a_own) : 1;
        int64_t of_b = i + b_own < b->rank ? kino__cost_last(b, i + b_own) : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return KINO_NO_INT;
        batch = kino__cost_mul(batch, of_a == 1 ? of_b : of_a);
    }
    return batch;
}

static void matmul(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!factors(ask, cost, &a, &b))
        return;
    if (a.rank == 0 || b.rank == 0) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    uint32_t a_own = a.rank > 1 ? 2 : 1, b_own = b.rank > 1 ? 2 : 1;
    int64_t m = a_own == 2 ? kino__cost_last(&a, 1) : 1;
    int64_t k = kino__cost_last(&a, 0);
    int64_t n = b_own == 2 ? kino__cost_last(&b, 0) : 1;
    int64_t batch = batch_of(&a, a_own, &b, b_own);
    if (kino__cost_last(&b, b_own - 1) != k || batch == KINO_NO_INT) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    set_product(cost, &a, &b, batch, m, n, k);
}

/* x [..., k] times w [m, k] or [k], transposed. */
static void linear(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, w;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) || !kino__cost_tensor_at(ask, 1, "weight", &w)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (x.rank == 0 || w.rank == 0 || w.rank > 2 ||
        kino__cost_last(&w, 0) != kino__cost_last(&x, 0)) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t n = kino__cost_product(x.sizes, 0, x.rank - 1);
    set_product(cost, &x, &w, 1, w.rank == 2 ? w.sizes[0] : 1, n, kino__cost_last(&x, 0));
}

/* The gradients of linear: of its input and of its weight, each a product of the same size.
 * (input or its sizes, gradient, weight). */
static void linear_backward(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, gradient, w;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 1, "grad_output", &gradient) ||
        !kino__cost_tensor_at(ask, 2, "weight", &w)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t flops =
        kino__cost_mul(4, kino__cost_mul(gradient.elements, x.rank ? kino__cost_last(&x, 0) : 1));
    kino__cost_set_matrix(cost, flops, kino__cost_input_bytes(ask),
                          kino__cost_add(x.bytes, w.bytes), x.dtype);
}

/* -- einsum -- */

enum { LETTERS = 52, NO_LETTER = -1 };

static int letter(char c)
{
    if (c >= 'a' && c <= 'z')
        return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : NO_LETTER;
}

/* What the equation's letters stand for; 0: not used. */
typedef struct einsum_sizes {
    int64_t of[LETTERS];
} einsum_sizes;

/* The letters of the next operand, sized by its tensor. False: they do not fit. */
static bool size_operand(const char **at, const char *end, const kino__cost_tensor *tensor,
                         einsum_sizes *sizes, uint64_t *used)
{
    uint32_t dimension = 0;
    *used = 0;
    for (; *at < end && **at != ',' && **at != '-'; (*at)++) {
        int l = letter(**at);
        if (**at == ' ')
            continue;
        if (l == NO_LETTER || dimension == tensor->rank)
            return false; /* "..." too: which sizes it stands for is not written */
        int64_t size = tensor->sizes[dimension++];
        if (sizes->of[l] && sizes->of[l] != size && sizes->of[l] != 1 && size != 1)
            return false;
        if (!sizes->of[l] || sizes->of[l] == 1)
            sizes->of[l] = size;
        *used |= UINT64_C(1) << l;
    }
    *at += *at < end && **at == ',';
    return dimension == tensor->rank;
}

static int64_t product_of(const einsum_sizes *sizes, uint64_t letters)
{
    int64_t product = 1;
    for (int l = 0; l < LETTERS; l++)
        if (letters >> l & 1)
            product = kino__cost_mul(product, sizes->of[l]);
    return product;
}

/* The letters behind the arrow; without one, those that occur once. */
static uint64_t result_letters(kino_str equation)
{
    uint64_t once = 0, twice = 0;
    for (size_t i = 0; i < equation.size; i++) {
        int l = letter(equation.data[i]);
        if (equation.data[i] == '-')
            once = twice = 0;
        uint64_t bit = l == NO_LETTER ? 0 : UINT64_C(1) << l;
        twice |= once & bit;
        once |= bit;
    }
    return kino__str_contains(equation, KINO__STR("->")) ? once : once & ~twice;
}

/* Operands are multiplied from left to right: a product over all letters that both have, two
 * operations where something is summed, one where not. */
static void einsum(const kino__cost_ask *ask, kino__cost *cost)
{
    const kino__op_input *equation = kino__cost_input(ask, 0, "equation");
    kino__cost_tensor tensor;
    size_t i = 0;
    if (!equation || equation->value.size == 0) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    const char *at = equation->value.data, *end = at + equation->value.size;
    einsum_sizes sizes = {{0}};
    uint64_t result = result_letters(equation->value), held = 0, own;
    int64_t flops = 0, operands = 0;
    kino__dtype dtype = KINO__DTYPE_NONE;
    for (; kino__cost_next_tensor(ask, &i, &tensor); operands++) {
        if (!size_operand(&at, end, &tensor, &sizes, &own)) {
            kino__cost_unknown(cost, kino__cost_bad_shapes);
            return;
        }
        bool is_summed = ((held | own) & ~result) != 0;
        if (operands)
            flops = kino__cost_add(
                flops, kino__cost_mul(is_summed ? 2 : 1, product_of(&sizes, held | own)));
        /* What neither the result nor a later operand has is summed here. */
        uint64_t later = 0;
        for (const char *c = at; c < end && *c != '-'; c++)
            later |= letter(*c) == NO_LETTER ? 0 : UINT64_C(1) << letter(*c);
        held = (held | own) & (result | later);
        dtype = operands ? dtype : tensor.dtype;
    }
    if (operands == 0) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    kino__cost_set_matrix(cost, flops, kino__cost_input_bytes(ask),
                          kino__cost_bytes_of(product_of(&sizes, result), dtype), dtype);
}

static const kino__cost_op ops[] = {
    {.name = "mm", .role = KINO__COST_PRIMITIVE, .compute = mm, .variant = 0},
    {.name = "addmm", .role = KINO__COST_PRIMITIVE, .compute = mm, .variant = 1},
    {.name = "_addmm_activation", .role = KINO__COST_PRIMITIVE, .compute = mm, .variant = 1},
    {.name = "_int_mm", .role = KINO__COST_PRIMITIVE, .compute = int_mm, .variant = 0},
    {.name = "bmm", .role = KINO__COST_PRIMITIVE, .compute = bmm, .variant = 0},
    {.name = "baddbmm", .role = KINO__COST_PRIMITIVE, .compute = bmm, .variant = 1},
    {.name = "addbmm", .role = KINO__COST_PRIMITIVE, .compute = bmm, .variant = 1},
    {.name = "mv", .role = KINO__COST_COMPOSITE, .compute = mv, .variant = 0},
    {.name = "addmv", .role = KINO__COST_PRIMITIVE, .compute = mv, .variant = 1},
    {.name = "dot", .role = KINO__COST_PRIMITIVE, .compute = mv, .variant = 0},
    {.name = "vdot", .role = KINO__COST_PRIMITIVE, .compute = mv, .variant = 0},
    {.name = "outer", .role = KINO__COST_COMPOSITE, .compute = outer, .variant = 0},
    {.name = "ger", .role = KINO__COST_COMPOSITE, .compute = outer, .variant = 0},
    {.name = "addr", .role = KINO__COST_PRIMITIVE, .compute = outer, .variant = 1},
    {.name = "matmul", .role = KINO__COST_COMPOSITE, .compute = matmul, .variant = 0},
    {.name = "linear", .role = KINO__COST_COMPOSITE, .compute = linear},
    {.name = "mkldnn_linear", .role = KINO__COST_PRIMITIVE, .compute = linear},
    {.name = "_linear_pointwise", .role = KINO__COST_PRIMITIVE, .compute = linear},
    {.name = "_mkl_linear", .role = KINO__COST_PRIMITIVE, .compute = linear},
    {.name = "linear_backward", .role = KINO__COST_PRIMITIVE, .compute = linear_backward},
    {.name = "einsum", .role = KINO__COST_COMPOSITE, .compute = einsum},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_gemm = {"gemm", ops};
