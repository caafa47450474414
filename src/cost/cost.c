/* cost.c - the model: finds the operator, asks its family, and checks the answer; see the header. */
#include "cost/cost.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "cost/cost_file.h"
#include "cost/estimators.h"
#include "cost/family.h"

struct kino__cost_model {
    kino__cost_mode mode;
    kino__cost_files files;
};

/* -- operators by name -- */

typedef struct entry {
    kino_str name;
    const kino__cost_op *op;
    const char *family;
} entry;

static struct {
    entry *items;
    size_t count;
} known;
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static int by_name(const void *a, const void *b)
{
    return kino__str_compare(((const entry *)a)->name, ((const entry *)b)->name);
}

static void collect_operators(void)
{
    static const kino__cost_family *const families[] = {
#define FAMILY(name) &kino__cost_family_##name,
#include "cost/families.def"
#undef FAMILY
    };
    enum { FAMILIES = sizeof families / sizeof *families, ROOM = 2048 };
    static entry room[ROOM];
    for (size_t f = 0; f < FAMILIES; f++)
        for (const kino__cost_op *op = families[f]->ops; op->name && known.count < ROOM; op++)
            room[known.count++] = (entry){kino__str_from(op->name), op, families[f]->name};
    qsort(room, known.count, sizeof *room, by_name);
    known.items = room;
}

/* Kernels of compilers are known by the first two words of their names: "triton_poi". */
static kino_str name_of_kind(kino_str bare)
{
    if (!kino__str_starts_with(bare, KINO__STR("triton_")) &&
        !kino__str_starts_with(bare, KINO__STR("cpp_fused_")))
        return bare;
    size_t words = 0, size = 0;
    for (; size < bare.size; size++)
        if (bare.data[size] == '_' && ++words == 2)
            break;
    return (kino_str){bare.data, size};
}

const kino__cost_op *kino__cost_op_find(kino_str bare, const char **family)
{
    (void)pthread_once(&known_once, collect_operators);
    entry key = {.name = name_of_kind(bare)};
    const entry *found = bsearch(&key, known.items, known.count, sizeof key, by_name);
    if (family)
        *family = found ? found->family : NULL;
    return found ? found->op : NULL;
}

/* -- the model -- */

kino_status kino__cost_model_new(kino__cost_mode mode, const char *const *files,
                                 kino__cost_model **out, kino_error *err)
{
    kino__cost_model *model = calloc(1, sizeof *model);
    *out = NULL;
    if (!model)
        return kino__fail_nomem(err);
    model->mode = mode;
    kino_status status = KINO_OK;
    for (size_t i = 0; files && files[i] && status == KINO_OK; i++)
        status = kino__cost_files_read(&model->files, files[i], err);
    if (status != KINO_OK) {
        kino__cost_model_free(model);
        return status;
    }
    *out = model;
    return KINO_OK;
}

void kino__cost_model_free(kino__cost_model *model)
{
    if (!model)
        return;
    kino__cost_files_deinit(&model->files);
    free(model);
}

int64_t kino__cost_bytes(const kino__cost *cost)
{
    return kino__cost_add(cost->bytes_read, cost->bytes_written);
}

/* -- one call -- */

/* Sizes that no tensor has. */
static bool has_bad_sizes(const kino__op_call *call)
{
    const kino__op_inputs *inputs = &call->inputs;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        for (uint32_t s = 0; input->is_tensor && s < input->size_count; s++)
            if (kino__op_input_sizes(inputs, input)[s] < 0)
                return true;
    }
    return false;
}

static bool is_complex(kino__dtype dtype)
{
    return dtype == KINO__DTYPE_COMPLEX64 || dtype == KINO__DTYPE_COMPLEX128 ||
           dtype == KINO__DTYPE_COMPLEX32;
}

/* A complex multiply-add is four real ones, a complex addition two. */
static void count_real_operations(kino__cost *cost)
{
    enum { OF_PRODUCTS = 4, OF_OTHERS = 2 };
    if (is_complex(cost->precision))
        cost->flops = kino__cost_mul(cost->flops, cost->is_matrix ? OF_PRODUCTS : OF_OTHERS);
}

/* What an answer may not be: negative or too large. */
static void check(kino__cost *cost)
{
    int64_t figures[] = {cost->flops, cost->bytes_read, cost->bytes_written};
    bool is_unknown = false;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (figures[i] == INT64_MAX) {
            kino__cost_unknown(cost, "too large to count");
            return;
        }
        is_unknown = is_unknown || figures[i] == KINO_NO_INT;
    }
    if (is_unknown && !cost->reason)
        cost->reason = cost->flops == KINO_NO_INT ? kino__cost_no_values
                                                  : "types or sizes of tensors were not recorded";
}

kino__cost kino__cost_of(const kino__cost_model *model, const kino__op_call *call)
{
    kino__cost cost = {0};
    kino_str bare = kino__op_bare_name(call->name);
    kino__cost_ask ask = {.call = call, .mode = model->mode};
    kino__cost_unknown(&cost, "no family knows the operator");
    if (has_bad_sizes(call)) {
        kino__cost_unknown(&cost, "a size is negative");
    } else if (model->mode != KINO__COST_DEFAULT) {
        kino__cost_estimate(&ask, bare, &cost);
    } else if (!kino__cost_files_compute(&model->files, call, &cost)) {
        ask.op = kino__cost_op_find(bare, &cost.family);
        if (ask.op)
            ask.op->compute(&ask, &cost);
        count_real_operations(&cost);
    }
    check(&cost);
    return cost;
}

kino__cost_role kino__cost_role_of(const kino__cost_model *model, kino_str name)
{
    kino__cost_role role;
    if (model->mode == KINO__COST_DEFAULT && kino__cost_files_role(&model->files, name, &role))
        return role;
    const kino__cost_op *op = kino__cost_op_find(kino__op_bare_name(name), NULL);
    if (!op)
        return KINO__COST_NO_ROLE;
    bool is_free = op->role == KINO__COST_PRIMITIVE && op->compute == kino__cost_nothing;
    return is_free ? KINO__COST_FREE : op->role;
}
