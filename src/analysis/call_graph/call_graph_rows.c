/* call_graph_rows.c - rows of call graphs: read, added together, saved and loaded. */
#include "analysis/call_graph/call_graph_rows.h"

#include "base/large.h"
#include "base/search.h"

void kino__call_rows_deinit(kino__call_rows *rows)
{
    kino__vec_deinit(&rows->parts);
    kino__vec_deinit(&rows->roots);
    kino__vec_deinit(&rows->kernels);
    kino__vec_deinit(&rows->wide);
    kino__string_pool_deinit(&rows->names);
    for (size_t i = 0; i < KINO__CALL_ROW_COLUMNS; i++)
        kino__vec_deinit(&rows->columns[i]);
}

/* Before they grow: they may be as long as a trace. */
static void set_allocators(kino__call_rows *rows)
{
    for (size_t i = 0; i < KINO__CALL_ROW_COLUMNS; i++)
        if (!rows->columns[i].items)
            rows->columns[i].allocator = &kino__large_allocator;
    if (!rows->kernels.items)
        rows->kernels.allocator = &kino__large_allocator;
}

/* -- reading -- */

/* The one that has the row. */
static const kino__call_part *part_of(const kino__call_rows *rows, size_t row)
{
    const kino__call_part *parts = rows->parts.items;
    return &parts[KINO__SEARCH(size_t, i, 1, rows->parts.count, parts[i].first_row <= row) - 1];
}

static int64_t parent_of(const kino__call_rows *rows, const kino__call_part *part, size_t row)
{
    uint32_t parent = rows->columns[KINO__CALL_ROW_PARENT].items[row];
    uint64_t end = part + 1 < rows->parts.items + rows->parts.count ? part[1].first_row
                                                                    : kino__call_rows_count(rows);
    if (parent == UINT32_MAX)
        return KINO_NO_INT;
    if (parent >= end - part->first_row)
        return rows->roots.items[part->first_root + (UINT32_MAX - 1 - parent)];
    return part->event_base | rows->columns[KINO__CALL_ROW_EVENT].items[part->first_row + parent];
}

static int64_t duration_of(const kino__call_rows *rows, size_t row)
{
    uint32_t narrow = rows->columns[KINO__CALL_ROW_DURATION].items[row];
    if (narrow != UINT32_MAX)
        return narrow;
    const kino__call_sum *wide = rows->wide.items;
    size_t at = KINO__SEARCH(size_t, i, 0, rows->wide.count, wide[i].row < row);
    return at < rows->wide.count && wide[at].row == row ? wide[at].ns : 0;
}

kino__call_row kino__call_rows_at(const kino__call_rows *rows, size_t row)
{
    const kino__call_part *part = part_of(rows, row);
    const kino__call_column *columns = rows->columns;
    const kino__call_kernel *kernels = rows->kernels.items;
    uint32_t first = columns[KINO__CALL_ROW_FIRST].items[row];
    uint32_t last = columns[KINO__CALL_ROW_LAST].items[row];
    bool is_in = columns[KINO__CALL_ROW_PARENT].items[row] != UINT32_MAX;
    return (kino__call_row){
        .rank = part->rank,
        .event = part->event_base | columns[KINO__CALL_ROW_EVENT].items[row],
        .name = columns[KINO__CALL_ROW_NAME].items[row],
        .parent = parent_of(rows, part, row),
        .depth = is_in ? columns[KINO__CALL_ROW_DEPTH].items[row] : KINO_NO_INT,
        .height = is_in ? columns[KINO__CALL_ROW_HEIGHT].items[row] : KINO_NO_INT,
        .num_kernels = columns[KINO__CALL_ROW_KERNELS].items[row],
        .kernel_dur = duration_of(rows, row),
        .kernel_start = first ? kernels[part->first_kernel + first - 1].start : KINO_NO_TIME,
        .kernel_end = last ? kernels[part->first_kernel + last - 1].end : KINO_NO_TIME,
    };
}

/* -- adding -- */

static bool append_parts(kino__call_rows *rows, const kino__call_rows *more)
{
    if (!kino__vec_reserve(&rows->parts, more->parts.count) ||
        !kino__vec_reserve(&rows->wide, more->wide.count))
        return false;
    for (size_t i = 0; i < more->parts.count; i++) {
        kino__call_part part = more->parts.items[i];
        part.first_row += kino__call_rows_count(rows);
        part.first_kernel += rows->kernels.count;
        part.first_root += rows->roots.count;
        rows->parts.items[rows->parts.count++] = part;
    }
    for (size_t i = 0; i < more->wide.count; i++) {
        kino__call_sum sum = more->wide.items[i];
        sum.row += kino__call_rows_count(rows);
        rows->wide.items[rows->wide.count++] = sum;
    }
    return kino__vec_append(&rows->roots, &more->roots) &&
           kino__vec_append(&rows->kernels, &more->kernels);
}

/* The last rows have numbers of the other's pool. */
static bool rename_rows(kino__call_rows *rows, const kino__string_pool *from, size_t first)
{
    size_t count = kino__string_pool_count(from);
    kino_strid *ids = kino__large_new(count + 1, sizeof *ids);
    bool ok = ids != NULL;
    for (kino_strid id = 0; ok && id < count; id++) {
        ids[id] = kino__string_pool_add(&rows->names, kino__string_pool_text(from, id));
        ok = ids[id] != KINO_NO_STRING;
    }
    kino__call_column *names = &rows->columns[KINO__CALL_ROW_NAME];
    for (size_t row = first; ok && row < names->count; row++)
        names->items[row] = ids[names->items[row]];
    kino__large_free(ids);
    return ok;
}

bool kino__call_rows_append(kino__call_rows *rows, const kino__call_rows *more)
{
    size_t first = kino__call_rows_count(rows);
    set_allocators(rows);
    bool ok = append_parts(rows, more);
    for (size_t i = 0; ok && i < KINO__CALL_ROW_COLUMNS; i++)
        ok = kino__vec_append(&rows->columns[i], &more->columns[i]);
    return ok && rename_rows(rows, &more->names, first);
}

/* -- saving and loading -- */

static void pack_part(kino__pack *pack, kino__call_part *part)
{
    KINO__PACK(pack, &part->first_row, &part->first_kernel, &part->first_root, &part->rank);
    KINO__PACK_EVENTS(pack, &part->event_base);
}

static void pack_kernel(kino__pack *pack, kino__call_kernel *kernel)
{
    KINO__PACK_FRAME_TIMES(pack, &kernel->start, &kernel->end);
}

static void pack_sum(kino__pack *pack, kino__call_sum *sum)
{
    KINO__PACK(pack, &sum->row, &sum->ns);
}

/* Do the numbers of the rows lie in the lists that they point into? */
static bool is_part_sound(const kino__call_rows *rows, const kino__call_part *part,
                          const kino__call_part *next)
{
    if (part->first_row > next->first_row || part->first_kernel > next->first_kernel ||
        part->first_root > next->first_root || next->first_row > kino__call_rows_count(rows) ||
        next->first_kernel > rows->kernels.count || next->first_root > rows->roots.count ||
        next->first_row - part->first_row > INT32_MAX)
        return false;
    uint64_t kernels = next->first_kernel - part->first_kernel;
    uint64_t roots = next->first_root - part->first_root;
    const kino__call_column *columns = rows->columns;
    for (uint64_t row = part->first_row; row < next->first_row; row++) {
        uint32_t parent = columns[KINO__CALL_ROW_PARENT].items[row];
        bool is_top = parent >= next->first_row - part->first_row && parent != UINT32_MAX;
        if ((is_top && UINT32_MAX - 1 - parent >= roots) ||
            columns[KINO__CALL_ROW_FIRST].items[row] > kernels ||
            columns[KINO__CALL_ROW_LAST].items[row] > kernels ||
            columns[KINO__CALL_ROW_NAME].items[row] >= kino__string_pool_count(&rows->names))
            return false;
    }
    return true;
}

static bool is_sound(const kino__call_rows *rows)
{
    size_t count = kino__call_rows_count(rows), parts = rows->parts.count;
    const kino__call_part end = {count, rows->kernels.count, rows->roots.count, 0, 0};
    for (size_t i = 1; i < KINO__CALL_ROW_COLUMNS; i++)
        if (rows->columns[i].count != count)
            return false;
    if (parts == 0)
        return count == 0;
    if (rows->parts.items[0].first_row)
        return false;
    for (size_t i = 0; i < parts; i++)
        if (!is_part_sound(rows, &rows->parts.items[i],
                           i + 1 < parts ? &rows->parts.items[i + 1] : &end))
            return false;
    return true;
}

void kino__call_rows_pack(kino__pack *pack, kino__call_rows *rows)
{
    set_allocators(rows);
    KINO__PACK_VEC(pack, &rows->parts, pack_part);
    KINO__PACK_VEC(pack, &rows->roots, kino__pack_int);
    KINO__PACK_VEC(pack, &rows->kernels, pack_kernel);
    KINO__PACK_VEC(pack, &rows->wide, pack_sum);
    kino__pack_pool(pack, &rows->names);
    for (size_t i = 0; i < KINO__CALL_ROW_COLUMNS; i++)
        KINO__PACK_VEC(pack, &rows->columns[i], kino__pack_u32);
    if (!pack->out && !pack->is_damaged && !pack->is_out_of_memory && !is_sound(rows))
        pack->is_damaged = true;
}
