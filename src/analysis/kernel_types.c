/* kernel_types.c - how are the names of device work classified, and how are they shortened?
 *
 * Method: every name that occurs on a device, with its type by the table in kernel_types.def; by
 * category first where we do not imitate HTA, so one name may have two types.
 * Cost: one pass over the device rows. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"

enum { P_LAST_STEP };

/* -- what a trace gives: texts -- */

typedef struct partial {
    kino__string_pool names;
    KINO__VEC(uint32_t) types; /* of each name: bits 1 << kino__kernel_type */
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->types);
}

static bool add_name(partial *p, kino_str name, uint32_t types, bool is_copied)
{
    kino_strid id = is_copied ? kino__string_pool_add(&p->names, name)
                              : kino__string_pool_add_borrowed(&p->names, name);
    if (id == KINO_NO_STRING)
        return false;
    if (id == p->types.count) {
        uint32_t *fresh = kino__vec_add(&p->types);
        if (!fresh)
            return false;
        *fresh = 0;
    }
    p->types.items[id] |= types;
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    size_t names = kino__string_pool_count(&trace->strings);
    uint8_t *types = f ? calloc(names + 1, 1) : NULL;
    if (!types)
        return kino__fail_nomem(err);
    for (uint32_t at = 0; at < f->count; at++) {
        kino_strid name = trace->name[f->row[at]];
        if (kino__frame_is_device(f, at) && name != KINO_NO_STRING)
            types[name] |= (uint8_t)(1u << f->type[at]);
    }
    bool ok = true;
    for (kino_strid id = 0; ok && id < names; id++)
        ok = !types[id] || add_name(p, kino__trace_string(trace, id), types[id], false);
    free(types);
    p->is_cut = f->is_cut;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    for (size_t i = 0; i < from->types.count; i++)
        if (!add_name(into, kino__string_pool_text(&from->names, (kino_strid)i),
                      from->types.items[i], true))
            return kino__fail_nomem(err);
    into->is_cut |= from->is_cut;
    return KINO_OK;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->types, kino__pack_u32);
    kino__pack_bool(pack, &p->is_cut);
    if (p->types.count != kino__string_pool_count(&p->names))
        pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {[P_LAST_STEP] = KINO__PARAM_LAST_STEP, {0}};

static const kino_column columns[] = {
    {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "as in the trace"},
    {"kernel_type", KINO_TYPE_STRING, NULL, "COMPUTATION, COMMUNICATION, MEMORY or OTHER"},
    {"memory_type", KINO_TYPE_STRING, NULL, "direction of a copy; null: not MEMORY"},
    {"short_name", KINO_TYPE_STRING, NULL, "without templates, arguments and return type"},
    {0},
};

static const kino_table_info tables[] = {
    {"kernel_types", "one row per name of device work, by name", columns, NULL,
     "not available: no device work was recorded"},
    {0},
};

static int compare_ids(const void *x, const void *y, void *context)
{
    const partial *p = context;
    return kino__str_compare(kino__string_pool_text(&p->names, *(const kino_strid *)x),
                             kino__string_pool_text(&p->names, *(const kino_strid *)y));
}

static bool add_rows(const partial *p, kino_strid id, kino__table *table)
{
    kino_str name = kino__string_pool_text(&p->names, id);
    for (uint32_t t = 0; t < KINO__KERNEL_TYPES; t++) {
        if (!(p->types.items[id] >> t & 1))
            continue;
        bool is_memory = t == KINO__KERNEL_MEMORY;
        kino__buffer text = {0};
        kino__short_name(name, is_memory, &text);
        KINO__TABLE_ADD(table, name, kino__str_from(kino__kernel_type_name((kino__kernel_type)t)));
        if (is_memory)
            kino__table_add_text(table, kino__memory_kind(name));
        else
            kino__table_add_null(table);
        kino__table_add_text(table, kino__buffer_str(&text));
        bool ok = !text.failed;
        kino__buffer_deinit(&text);
        if (!ok)
            return false;
    }
    return true;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    partial *p = value;
    size_t count = p->types.count;
    kino_strid *order = malloc((count + 1) * sizeof *order);
    if (!order)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++)
        order[i] = (kino_strid)i;
    qsort_r(order, count, sizeof *order, compare_ids, p);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_rows(p, order[i], kino__analysis_table(result, 0));
    free(order);
    if (count == 0)
        kino__result_lacks(result, "kernel types", ": no device work was recorded");
    kino__note_cut(result, p->is_cut);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_kernel_types = {
    .name = "kernel-types",
    .help = "how the names of device work are classified and shortened",
    .description =
        "Lists every name of a kernel, copy or memset with the type that other analyses\n"
        "use for it. Copies and memsets are classified by category, kernels by name.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
