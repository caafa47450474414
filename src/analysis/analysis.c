/* analysis.c - the list of analyses, what their functions ask, and partial results as bytes. */
#include "analysis/analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"

static const kino__analysis_def *const analyses[] = {
#define ANALYSIS(name) &kino__analysis_##name,
#include "analysis/analyses.def"
#undef ANALYSIS
    NULL,
};

const kino__analysis_def *kino__analysis_at(size_t index)
{
    return index < sizeof analyses / sizeof *analyses ? analyses[index] : NULL;
}

const kino__analysis_def *kino__analysis_find(kino_str name)
{
    const kino__analysis_def *def;
    for (size_t i = 0; (def = kino__analysis_at(i)); i++) {
        size_t n = 0;
        if (strlen(def->name) != name.size)
            continue;
        while (n < name.size && (name.data[n] == '_' ? '-' : name.data[n]) == def->name[n])
            n++;
        if (n == name.size)
            return def;
    }
    return NULL;
}

/* -- for the functions of an analysis -- */

int64_t kino__param_int(const kino__analysis *a, size_t param)
{
    return a->values[param].kind == KINO_CELL_INT ? a->values[param].value.integer : KINO_NO_INT;
}

bool kino__param_bool(const kino__analysis *a, size_t param)
{
    return a->values[param].kind == KINO_CELL_INT && a->values[param].value.integer;
}

double kino__param_real(const kino__analysis *a, size_t param)
{
    return a->values[param].kind == KINO_CELL_FLOAT ? a->values[param].value.real : (double)NAN;
}

kino_str kino__param_text(const kino__analysis *a, size_t param)
{
    return a->values[param].kind == KINO_CELL_TEXT ? a->values[param].value.text
                                                   : (kino_str){"", 0};
}

bool kino__analysis_is_compat(const kino__analysis *a, const char *name)
{
    return a->compat && strcmp(a->compat, name) == 0;
}

bool kino__analysis_wants_step(const kino__analysis *a, int64_t number)
{
    if (a->first_step == KINO_NO_INT)
        return true;
    return number != KINO_NO_INT && number >= a->first_step && number <= a->last_step;
}

kino__table *kino__analysis_table(const kino_result *result, size_t table)
{
    return result && table < result->tables.count ? result->tables.items[table] : NULL;
}

bool kino__analysis_list_params(const kino__analysis *a, kino__arena *arena, kino__param_list *out)
{
    kino_param_info info;
    for (size_t i = 0; kino__analysis_param(a->def, i, &info); i++) {
        kino_cell value = kino__analysis_value(a, i);
        kino_str text = {NULL, 0};
        if (value.kind == KINO_CELL_NULL)
            continue;
        if (value.kind == KINO_CELL_INT)
            text = kino__arena_format(arena, "%" PRId64, value.value.integer);
        else if (value.kind == KINO_CELL_FLOAT)
            text = kino__arena_format(arena, "%.17g", value.value.real);
        else
            text = kino__arena_copy(arena, value.value.text);
        kino_param *slot = text.data ? kino__vec_add(out) : NULL;
        if (!slot)
            return false;
        *slot = (kino_param){info.name, text.data};
    }
    return true;
}

/* -- partial results -- */

void *kino__partial_new(const kino__analysis *a)
{
    return calloc(1, a->def->partial_size ? a->def->partial_size : 1);
}

void kino__partial_free(const kino__analysis *a, void *partial)
{
    if (partial && a->def->deinit)
        a->def->deinit(partial);
    free(partial);
}

/* What a partial is of: analyses change between versions, and parameters decide what is in it. */
enum { PACK_VERSION = 1 };

void kino__partial_head(const kino__analysis *a, kino__buffer *out)
{
    kino__buffer_printf(out, "kino partial %d %s%s\n", PACK_VERSION, a->def->name,
                        a->is_brief ? " brief" : "");
    kino_param_info info;
    for (size_t i = 0; kino__analysis_param(a->def, i, &info); i++) {
        kino_cell value = kino__analysis_value(a, i);
        kino__buffer_printf(out, "%s=", info.name);
        if (value.kind == KINO_CELL_INT)
            kino__buffer_printf(out, "%lld", (long long)value.value.integer);
        else if (value.kind == KINO_CELL_FLOAT)
            kino__buffer_printf(out, "%a", value.value.real);
        else if (value.kind == KINO_CELL_TEXT)
            kino__buffer_printf(out, "'%.*s'", KINO__STR_ARG(value.value.text));
        kino__buffer_add(out, KINO__STR("\n"));
    }
}

/* HTA's modes count as the file does (model/frame/frame.h). */
static bool has_file_times(const kino__analysis *a)
{
    return a->compat && strncmp(a->compat, "hta", 3) == 0;
}

static void save(const kino__analysis *a, void *partial, kino__pack_move move, kino__buffer *out)
{
    kino__buffer head = {0};
    kino__pack pack = {.out = out, .move = move};
    kino__partial_head(a, &head);
    kino_str text = kino__buffer_str(&head);
    kino__pack_str(&pack, &text);
    a->def->pack(&pack, partial);
    out->failed |= head.failed;
    kino__buffer_deinit(&head);
}

void kino__partial_save(const kino__analysis *a, void *partial, kino__buffer *out)
{
    save(a, partial, (kino__pack_move){0}, out);
}

void kino__partial_save_alone(const kino__analysis *a, void *partial, int64_t shift_ns,
                              kino__buffer *out)
{
    int64_t back = (int64_t)(0 - (uint64_t)shift_ns);
    save(a, partial,
         (kino__pack_move){.is_set = true, .has_file_times = has_file_times(a), .later_by = back},
         out);
}

static kino_status load(const kino__analysis *a, kino_str bytes, kino__pack_move move, void **out,
                        kino_error *err)
{
    *out = NULL;
    kino__pack pack = {.at = bytes.data, .end = bytes.data + bytes.size, .move = move};
    kino__buffer head = {0};
    kino_str found = {"", 0};
    kino__partial_head(a, &head);
    kino__pack_str(&pack, &found);
    bool is_mine = !head.failed && kino__str_equal(found, kino__buffer_str(&head));
    bool is_out_of_memory = head.failed;
    kino__buffer_deinit(&head);
    if (!is_mine && !is_out_of_memory)
        return kino__fail(err, KINO_FORMAT, "not a partial result of '%s' with these parameters",
                          a->def->name);
    void *partial = is_out_of_memory ? NULL : kino__partial_new(a);
    if (!partial)
        return kino__fail_nomem(err);
    a->def->pack(&pack, partial);
    if (pack.is_out_of_memory || pack.is_damaged || pack.at != pack.end) {
        kino__partial_free(a, partial);
        if (pack.is_out_of_memory)
            return kino__fail_nomem(err);
        return kino__fail_at(err, KINO_FORMAT, (uint64_t)(pack.at - bytes.data),
                             "a partial result of '%s' is damaged", a->def->name);
    }
    *out = partial;
    return KINO_OK;
}

kino_status kino__partial_load(const kino__analysis *a, kino_str bytes, void **out, kino_error *err)
{
    return load(a, bytes, (kino__pack_move){0}, out, err);
}

kino_status kino__partial_load_alone(const kino__analysis *a, kino_str bytes, uint32_t trace,
                                     int64_t shift_ns, void **out, kino_error *err)
{
    kino__pack_move move = {
        .is_set = true, .has_file_times = has_file_times(a), .trace = trace, .later_by = shift_ns};
    return load(a, bytes, move, out, err);
}
