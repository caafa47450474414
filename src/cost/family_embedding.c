/* family_embedding.c - rows of a table by their numbers, one by one or added up in bags.
 *
 * A row is read for each index; the gradient reads a row of the gradient and adds it to a row of the
 * table's, which is read and written. Looking up computes nothing; a bag adds its rows. */
#include "cost/family.h"

/* The table and the indices, whichever stands first: PyTorch's operator begins with the table,
 * Python's function with the indices. */
static bool table_and_indices(const kino__cost_ask *ask, kino__cost *cost, kino__cost_tensor *table,
                              kino__cost_tensor *indices)
{
    bool is_python = ask->call->source == KINO__OP_PYPROF;
    if (!kino__cost_tensor_at(ask, is_python ? 1 : 0, "weight", table) ||
        !kino__cost_tensor_at(ask, is_python ? 0 : 1, "input", indices)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return false;
    }
    if (table->rank != 2) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return false;
    }
    return true;
}

static void look_up(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor table, indices;
    if (!table_and_indices(ask, cost, &table, &indices))
        return;
    int64_t rows =
        kino__cost_bytes_of(kino__cost_mul(indices.elements, table.sizes[1]), table.dtype);
    kino__cost_set(cost, 0, kino__cost_add(indices.bytes, rows), rows, table.dtype);
}

/* (table, indices, offsets of bags, ...) */
static void bag(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor table, indices, offsets;
    if (!table_and_indices(ask, cost, &table, &indices))
        return;
    int64_t rows = kino__cost_mul(indices.elements, table.sizes[1]), bags = KINO_NO_INT;
    if (kino__cost_tensor_at(ask, 2, "offsets", &offsets))
        bags = offsets.elements;
    else if (indices.rank == 2)
        bags = indices.sizes[0];
    int64_t written = kino__cost_bytes_of(kino__cost_mul(bags, table.sizes[1]), table.dtype);
    kino__cost_set(cost, rows,
                   kino__cost_add(indices.bytes, kino__cost_bytes_of(rows, table.dtype)), written,
                   table.dtype);
}

/* (gradient [..., dim], indices, ...) */
static void gradient_of_table(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gradient, indices;
    if (!kino__cost_tensor_at(ask, 0, NULL, &gradient) ||
        !kino__cost_tensor_at(ask, 1, NULL, &indices) || gradient.rank == 0) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t rows = kino__cost_bytes_of(
        kino__cost_mul(indices.elements, kino__cost_last(&gradient, 0)), gradient.dtype);
    kino__cost_set(cost, 0, kino__cost_mul(2, rows), rows, gradient.dtype);
}

/* -- FBGEMM: many tables at once -- */

/* (..., all tables in one [elements], ..., offsets of tables [tables + 1], ..., indices, offsets of
 * bags [tables * batch + 1], ...). Widths of single tables are not recorded: rows count with the mean
 * one, the width of the result over the number of tables. */
typedef struct lookup {
    kino__cost_tensor weights, indices;
    int64_t rows;    /* elements of all rows that are looked up */
    int64_t results; /* elements */
} lookup;

static bool read_lookup(const kino__cost_ask *ask, kino__cost *cost, lookup *l)
{
    enum { WEIGHTS = 1, TABLES = 6, INDICES = 11, OFFSETS = 12 };
    const kino__op_call *call = ask->call;
    kino__cost_tensor tables, offsets;
    if (!kino__cost_tensor_at(ask, WEIGHTS, NULL, &l->weights) ||
        !kino__cost_tensor_at(ask, TABLES, NULL, &tables) ||
        !kino__cost_tensor_at(ask, INDICES, NULL, &l->indices) ||
        !kino__cost_tensor_at(ask, OFFSETS, NULL, &offsets)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return false;
    }
    if (!call->output_sizes || call->output_rank != 2) {
        kino__cost_unknown(cost, "the width of the result was not recorded");
        return false;
    }
    if (tables.elements < 2) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return false;
    }
    int64_t of_tables = kino__cost_mul(l->indices.elements, call->output_sizes[1]);
    l->rows = of_tables == INT64_MAX ? INT64_MAX : of_tables / (tables.elements - 1);
    l->results = kino__cost_product(call->output_sizes, 0, call->output_rank);
    return true;
}

static void look_up_tables(const kino__cost_ask *ask, kino__cost *cost)
{
    lookup l;
    if (!read_lookup(ask, cost, &l))
        return;
    kino__cost_set(cost, l.rows,
                   kino__cost_add(l.indices.bytes, kino__cost_bytes_of(l.rows, l.weights.dtype)),
                   kino__cost_bytes_of(l.results, l.weights.dtype), l.weights.dtype);
}

/* The gradient of the same call, with the step of its optimizer: a row of the gradient is read and
 * added for each index; rows of the tables that are hit, at most all, are read and written. */
static void update_tables(const kino__cost_ask *ask, kino__cost *cost)
{
    lookup l;
    if (!read_lookup(ask, cost, &l))
        return;
    int64_t hit = l.rows < l.weights.elements ? l.rows : l.weights.elements;
    int64_t hit_bytes = kino__cost_bytes_of(hit, l.weights.dtype);
    int64_t read = kino__cost_add(l.indices.bytes, kino__cost_bytes_of(l.rows, l.weights.dtype));
    kino__cost_set(cost, l.rows, kino__cost_add(read, hit_bytes), hit_bytes, l.weights.dtype);
}

/* All that is given is read, and of the same size written. */
static void permute(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    if (!kino__cost_first_tensor(ask, cost, &first))
        return;
    int64_t bytes = kino__cost_input_bytes(ask);
    kino__cost_set(cost, 0, bytes, bytes, first.dtype);
}

/* Only read, as a check does. */
static void look_through(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    if (kino__cost_first_tensor(ask, cost, &first))
        kino__cost_set(cost, 0, kino__cost_input_bytes(ask), 0, first.dtype);
}

#define LOOKUP(optimizer)                                                                          \
    {.name = "split_embedding_codegen_lookup_" optimizer "_function",                              \
     .role = KINO__COST_PRIMITIVE,                                                                 \
     .compute = look_up_tables},                                                                   \
    {                                                                                              \
        .name = "SplitLookupFunction_" optimizer "_Op", .role = KINO__COST_PRIMITIVE,              \
        .compute = update_tables                                                                   \
    }
#define PERMUTE(word)                                                                              \
    {                                                                                              \
        .name = (word), .role = KINO__COST_PRIMITIVE, .compute = permute                           \
    }

static const kino__cost_op ops[] = {
    LOOKUP("rowwise_adagrad"),
    LOOKUP("adagrad"),
    LOOKUP("sgd"),
    LOOKUP("adam"),
    LOOKUP("partial_rowwise_adam"),
    LOOKUP("lamb"),
    PERMUTE("permute_sparse_features"),
    PERMUTE("permute_2D_sparse_data"),
    PERMUTE("permute_1D_sparse_data"),
    PERMUTE("permute_pooled_embs_auto_grad"),
    PERMUTE("permute_pooled_embs"),
    PERMUTE("PermutePooledEmbsFunction"),
    PERMUTE("recat_embedding_grad_output"),
    PERMUTE("recat_embedding_grad_output_mixed_D"),
    PERMUTE("recat_embedding_grad_output_mixed_D_batch"),
    PERMUTE("block_bucketize_sparse_features"),
    PERMUTE("asynchronous_complete_cumsum"),
    PERMUTE("asynchronous_exclusive_cumsum"),
    PERMUTE("asynchronous_inclusive_cumsum"),
    {.name = "bounds_check_indices", .role = KINO__COST_PRIMITIVE, .compute = look_through},
    {.name = "embedding", .role = KINO__COST_PRIMITIVE, .compute = look_up},
    {.name = "embedding_bag", .role = KINO__COST_COMPOSITE, .compute = bag},
    {.name = "_embedding_bag", .role = KINO__COST_PRIMITIVE, .compute = bag},
    {.name = "_embedding_bag_forward_only", .role = KINO__COST_PRIMITIVE, .compute = bag},
    {.name = "embedding_backward", .role = KINO__COST_COMPOSITE, .compute = gradient_of_table},
    {.name = "embedding_dense_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = gradient_of_table},
    {.name = "embedding_sparse_backward",
     .role = KINO__COST_COMPOSITE,
     .compute = gradient_of_table},
    {.name = "_embedding_bag_backward", .role = KINO__COST_COMPOSITE, .compute = gradient_of_table},
    {.name = "_embedding_bag_dense_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = gradient_of_table},
    {.name = "_embedding_bag_sparse_backward",
     .role = KINO__COST_COMPOSITE,
     .compute = gradient_of_table},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_embedding = {"embedding", ops};
