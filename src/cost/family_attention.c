/* family_attention.c - attention computed by one kernel, and its gradient.
 *
 *   q [B, H, Sq, D]   k [B, Hk, Sk, D]   v [B, Hk, Sk, Dv]
 *   forward:  q k' and scores v:                          2 B H Sq Sk (D + Dv)
 *   backward: the scores again, then four products:       2 B H Sq Sk (3 D + 2 Dv)
 *
 * Heads of k and v that several heads of q share (Hk < H) are read once, and multiplied H times. A
 * causal mask leaves half of the scores out, except in torch.utils.flop_counter, which counts them;
 * any other mask is not known, and counts nothing off. Softmax is not counted. Sequences of
 * different lengths in one batch ([tokens, H, D] and offsets) are known where all have the same
 * length: the lengths themselves are not in a trace. */
#include "cost/family.h"

enum { NOWHERE = -1, PLAIN_RANK = 4, PACKED_RANK = 3 };

typedef struct layout {
    int8_t q;              /* k and v follow */
    int8_t causal;         /* NOWHERE: never, or not recorded */
    int8_t offsets;        /* of sequences in a packed batch, NOWHERE: none */
    int8_t longest;        /* sequence of q; that of k follows */
    bool has_heads_inside; /* [B, S, H, D] */
    bool is_backward;
} layout;

static const layout sdpa = {0, 5, NOWHERE, NOWHERE, false, false};
static const layout sdpa_flash = {0, 4, NOWHERE, NOWHERE, false, false};
static const layout sdpa_efficient = {0, 6, NOWHERE, NOWHERE, false, false};
static const layout flash = {0, 8, 3, 5, true, false};
static const layout efficient = {0, NOWHERE, 4, 6, true, false};
static const layout cudnn = {0, 10, 4, 6, false, false};
static const layout flex = {0, NOWHERE, NOWHERE, NOWHERE, false, false};
static const layout package = {0, 5, NOWHERE, NOWHERE, true, false};
static const layout package_varlen = {0, 9, 3, 5, true, false};
static const layout sdpa_flash_backward = {1, 11, NOWHERE, NOWHERE, false, true};
static const layout sdpa_cpu_backward = {1, 7, NOWHERE, NOWHERE, false, true};
static const layout sdpa_efficient_backward = {1, 11, NOWHERE, NOWHERE, false, true};
static const layout sdpa_cudnn_backward = {1, 14, NOWHERE, NOWHERE, false, true};
static const layout flash_backward = {1, 11, 6, 8, true, true};
static const layout efficient_backward = {1, NOWHERE, 6, 8, true, true};
static const layout flex_backward = {0, NOWHERE, NOWHERE, NOWHERE, false, true};

typedef struct attention {
    kino__cost_tensor q, k, v;
    int64_t batch, heads, queries, keys, depth, value_depth;
} attention;

/* [tokens, H, D] of equal sequences: as many as there are offsets less one. */
static bool read_packed(const kino__cost_ask *ask, const layout *at, attention *a)
{
    kino__cost_tensor offsets;
    int64_t longest_query, longest_key;
    if (at->offsets == NOWHERE ||
        !kino__cost_tensor_at(ask, (uint32_t)at->offsets, "cu_seqlens_q", &offsets) ||
        offsets.elements < 2 ||
        kino__cost_int_at(ask, (uint32_t)at->longest, "max_seqlen_q", &longest_query) !=
            KINO__COST_VALUE_KNOWN ||
        kino__cost_int_at(ask, (uint32_t)at->longest + 1, "max_seqlen_k", &longest_key) !=
            KINO__COST_VALUE_KNOWN)
        return false;
    a->batch = offsets.elements - 1;
    a->heads = kino__cost_last(&a->q, 1);
    a->queries = longest_query;
    a->keys = longest_key;
    return kino__cost_mul(a->batch, longest_query) == a->q.elements / (a->heads * a->depth) &&
           kino__cost_mul(a->batch, longest_key) ==
               a->k.elements / (kino__cost_last(&a->k, 1) * a->depth);
}

static bool read_plain(const layout *at, attention *a)
{
    uint32_t sequence = at->has_heads_inside ? 1 : 2, heads = at->has_heads_inside ? 2 : 1;
    a->batch = a->q.sizes[0];
    a->heads = a->q.sizes[heads];
    a->queries = a->q.sizes[sequence];
    a->keys = a->k.sizes[sequence];
    return a->k.sizes[0] == a->batch && a->v.sizes[sequence] == a->keys;
}

/* False: said so. */
static bool read_attention(const kino__cost_ask *ask, const layout *at, kino__cost *cost,
                           attention *a)
{
    uint32_t q = (uint32_t)at->q;
    if (!kino__cost_tensor_at(ask, q, "query", &a->q) ||
        !kino__cost_tensor_at(ask, q + 1, "key", &a->k) ||
        !kino__cost_tensor_at(ask, q + 2, "value", &a->v)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return false;
    }
    kino__cost_tensor offsets;
    bool is_packed = a->q.rank == PACKED_RANK ||
                     (at->offsets != NOWHERE &&
                      kino__cost_tensor_at(ask, (uint32_t)at->offsets, NULL, &offsets));
    if (a->q.rank < PACKED_RANK || a->q.rank > PLAIN_RANK || a->k.rank != a->q.rank ||
        a->v.rank != a->q.rank || kino__cost_last(&a->q, 0) != kino__cost_last(&a->k, 0) ||
        a->q.elements == 0 || a->k.elements == 0) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return false;
    }
    a->depth = kino__cost_last(&a->q, 0);
    a->value_depth = kino__cost_last(&a->v, 0);
    if (is_packed && !read_packed(ask, at, a)) {
        kino__cost_unknown(cost, "the lengths of the sequences were not recorded");
        return false;
    }
    if (!is_packed && !read_plain(at, a)) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return false;
    }
    return true;
}

/* Scores that are computed. */
static int64_t score_count(const kino__cost_ask *ask, const layout *at, const attention *a)
{
    bool is_causal = false;
    int64_t scores =
        kino__cost_mul(kino__cost_mul(a->batch, a->heads), kino__cost_mul(a->queries, a->keys));
    if (at->causal != NOWHERE)
        (void)kino__cost_bool_at(ask, (uint32_t)at->causal, "is_causal", &is_causal);
    bool is_halved = is_causal && ask->mode != KINO__COST_FLOP_COUNTER;
    return is_halved && scores != INT64_MAX ? scores / 2 : scores;
}

static void attend(const kino__cost_ask *ask, kino__cost *cost)
{
    const layout *at = ask->op->data;
    attention a;
    if (!read_attention(ask, at, cost, &a))
        return;
    int64_t scores = score_count(ask, at, &a);
    int64_t inputs = kino__cost_add(a.q.bytes, kino__cost_add(a.k.bytes, a.v.bytes));
    int64_t result =
        kino__cost_bytes_of(kino__cost_mul(a.q.elements / a.depth, a.value_depth), a.q.dtype);
    int64_t forward = kino__cost_add(a.depth, a.value_depth);
    int64_t backward = kino__cost_add(kino__cost_mul(3, a.depth), kino__cost_mul(2, a.value_depth));
    if (at->is_backward) /* reads the result and its gradient, too */
        kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(scores, backward)),
                              kino__cost_add(inputs, kino__cost_mul(2, result)), inputs, a.q.dtype);
    else
        kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(scores, forward)), inputs,
                              result, a.q.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "scaled_dot_product_attention",
     .role = KINO__COST_COMPOSITE,
     .compute = attend,
     .data = &sdpa},
    {.name = "_scaled_dot_product_attention_math",
     .role = KINO__COST_COMPOSITE,
     .compute = attend,
     .data = &sdpa},
    {.name = "_scaled_dot_product_flash_attention",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_flash},
    {.name = "_scaled_dot_product_flash_attention_for_cpu",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_flash},
    {.name = "_scaled_dot_product_efficient_attention",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_efficient},
    {.name = "_scaled_dot_product_cudnn_attention",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_efficient},
    {.name = "_scaled_dot_product_fused_attention_overrideable",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa},
    {.name = "_flash_attention_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &flash},
    {.name = "_efficient_attention_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &efficient},
    {.name = "_cudnn_attention_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &cudnn},
    {.name = "flex_attention", .role = KINO__COST_PRIMITIVE, .compute = attend, .data = &flex},
    {.name = "_flash_attn_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &package},
    {.name = "_flash_attn_varlen_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &package_varlen},
    {.name = "_scaled_dot_product_flash_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_flash_backward},
    {.name = "_scaled_dot_product_flash_attention_for_cpu_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_cpu_backward},
    {.name = "_scaled_dot_product_efficient_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_efficient_backward},
    {.name = "_scaled_dot_product_cudnn_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &sdpa_cudnn_backward},
    {.name = "_flash_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &flash_backward},
    {.name = "_efficient_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &efficient_backward},
    {.name = "flex_attention_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = attend,
     .data = &flex_backward},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_attention = {"attention", ops};
