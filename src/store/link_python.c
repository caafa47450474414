/* link_python.c - the Python function around an event, and the module.
 *
 * A Python span's caller is the span with its "Python parent id", where that stands before it on
 * the same track (a call stack belongs to one thread, and a damaged file must not make a circle);
 * else, as for every other event, the innermost Python span around it. An event's module is the
 * first "nn.Module: " span on the way up those callers, so a module's own module is the one that
 * called it. Cost: a hash table of Python ids, and passes down the rows: callers stand before what
 * they call. */
#include "base/map.h"
#include "store/args.h"
#include "store/link_internal.h"

static bool is_python(const kino__trace *trace, uint32_t row)
{
    return kino__category_kind(trace->category[row]) == KINO__KIND_PYTHON &&
           kino__link_is_span(trace, row);
}

/* The callers of the Python spans of one track by id. Ids are learned as the rows go by, so only
 * earlier rows are found; of rows with one id the latest counts. */
static bool join_track(const kino__trace *trace, const kino__track *track, const int64_t *id,
                       const int64_t *parent_id, kino__map *rows, uint32_t *column)
{
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        if (!is_python(trace, row))
            continue;
        const uint32_t *caller = NULL;
        if (parent_id[row] != KINO_NO_INT)
            caller = kino__map_get(rows, (uint64_t)parent_id[row]);
        if (caller && *caller >= track->first) /* an earlier track's otherwise */
            column[row] = *caller;
        if (id[row] == KINO_NO_INT)
            continue;
        uint32_t *own = kino__map_put(rows, (uint64_t)id[row], row);
        if (!own)
            return false;
        *own = row;
    }
    return true;
}

static bool fill_callers(const kino__trace *trace, kino__arena *scratch, kino__map *rows,
                         uint32_t *column)
{
    static const char *const keys[] = {"Python id", "Python parent id"};
    const kino__nesting *nesting = kino__link_nesting(trace);
    uint8_t *is_wanted = kino__link_scratch(scratch, trace->event_count, sizeof *is_wanted);
    if (!nesting || !is_wanted)
        return false;
    bool has_python = false;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        is_wanted[row] = is_python(trace, row);
        has_python |= is_wanted[row];
    }
    if (!has_python)
        return true; /* and the arguments need not be read */
    kino__link_innermost(trace, nesting->parent, is_wanted, column);
    if (!kino__args_prepare(trace, keys, 2))
        return false;
    const int64_t *id = kino__args_int_column(trace, keys[0]);
    const int64_t *parent_id = kino__args_int_column(trace, keys[1]);
    for (size_t i = 0; id && parent_id && i < trace->tracks.count; i++)
        if (!join_track(trace, &trace->tracks.items[i], id, parent_id, rows, column))
            return false;
    return id && parent_id;
}

static void *make_python_parent(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    uint32_t *column = kino__link_column(trace, size);
    if (!column)
        return NULL;
    kino__map rows;
    kino__map_init(&rows, scratch->allocator);
    bool ok = fill_callers(trace, scratch, &rows, column);
    kino__map_deinit(&rows);
    if (!ok) {
        kino__link_block_free(trace, column, *size);
        return NULL;
    }
    return column;
}

const uint32_t *kino__link_python_parent(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_PYTHON_PARENT, make_python_parent);
}

static void *make_module(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    static const kino_str prefix = {"nn.Module: ", 11};
    const uint32_t *caller = kino__link_python_parent(trace);
    size_t name_count = kino__string_pool_count(&trace->strings);
    uint8_t *is_module = kino__link_scratch(scratch, name_count, sizeof *is_module);
    uint32_t *column = caller && is_module ? kino__link_column(trace, size) : NULL;
    if (!column)
        return NULL;
    for (size_t i = 0; i < name_count; i++)
        is_module[i] = kino__str_starts_with(kino__trace_string(trace, (kino_strid)i), prefix);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t c = caller[row];
        if (c == KINO_NO_ROW)
            continue;
        bool is_it = trace->name[c] != KINO_NO_STRING && is_module[trace->name[c]];
        column[row] = is_it ? c : column[c];
    }
    return column;
}

const uint32_t *kino__link_module(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_MODULE, make_module);
}
