/* builder_sort.c - putting the rows of a track in order: a merge of natural runs.
 *
 * Profilers write nearly ordered tracks, so runs are long and few: linear on ordered input, n
 * log(runs) else. Rows are sorted as indexes, then every column is moved once. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

/* What rows are compared by. */
typedef struct sort_keys {
    const int64_t *ts, *dur;
    const uint32_t *number; /* NULL: equal rows stay as they are */
} sort_keys;

static inline bool comes_before(const sort_keys *t, uint32_t a, uint32_t b)
{
    if (__builtin_expect(t->ts[a] != t->ts[b], 1))
        return t->ts[a] < t->ts[b];
    if (t->dur[a] != t->dur[b])
        return t->dur[a] > t->dur[b];
    return t->number ? t->number[a] < t->number[b] : a < b;
}

static void merge(const sort_keys *t, const uint32_t *a, size_t a_count, const uint32_t *b,
                  size_t b_count, uint32_t *out)
{
    const uint32_t *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        /* make_order sets all rows first, and no run ends behind the last of them:
         * NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
        bool takes_b = comes_before(t, *b, *a);
        *out++ = takes_b ? *b : *a;
        a += !takes_b;
        b += takes_b;
    }
    memcpy(out, a, (size_t)(a_end - a) * sizeof *out);
    out += a_end - a;
    memcpy(out, b, (size_t)(b_end - b) * sizeof *out);
}

/* The natural runs of a range of rows: where each ends. */
typedef KINO__VEC(size_t) run_ends;

static bool find_runs(const sort_keys *t, uint32_t first, uint32_t count, run_ends *ends)
{
    for (uint32_t i = 1; i <= count; i++) {
        if (i < count && !comes_before(t, first + i, first + i - 1))
            continue;
        size_t *end = kino__vec_add(ends);
        if (!end)
            return false;
        *end = i;
    }
    return true;
}

/* The rows in order, in `order` or in `spare`, which have room for them; NULL when memory is out.
 * Neighbouring runs are merged until one is left. */
static uint32_t *make_order(const sort_keys *t, uint32_t first, uint32_t count, uint32_t *order,
                            uint32_t *spare)
{
    run_ends ends = {0};
    bool ok = find_runs(t, first, count, &ends);
    for (uint32_t i = 0; ok && i < count; i++)
        order[i] = first + i;
    while (ok && ends.count > 1) {
        size_t start = 0, kept = 0;
        for (size_t r = 0; r < ends.count; r += 2) {
            size_t middle = ends.items[r], end = r + 1 < ends.count ? ends.items[r + 1] : middle;
            merge(t, order + start, middle - start, order + middle, end - middle, spare + start);
            ends.items[kept++] = start = end;
        }
        ends.count = kept;
        uint32_t *swap = order;
        order = spare;
        spare = swap;
    }
    kino__vec_deinit(&ends);
    return ok ? order : NULL;
}

/* -- all tracks: first the orders, track by track, then every column of every track, all in
 * parallel */

enum { KEY_COLUMNS = 2, COLUMNS = 10 };

typedef struct sorted_track {
    uint32_t first, count;
    const uint32_t *order; /* in one half of the space */
} sorted_track;

typedef struct sorting {
    kino__trace *trace;
    sort_keys keys;
    uint32_t *space; /* two numbers for each row of the trace */
    size_t columns;  /* how many are sorted */
    sorted_track *tracks;
    void **scratch; /* per worker: room for a column of the longest track */
    size_t scratch_size;
    atomic_bool failed; /* relaxed: read after the pool's join */
} sorting;

static void order_track(void *context, unsigned worker, size_t index)
{
    (void)worker;
    sorting *s = context;
    sorted_track *t = &s->tracks[index];
    uint32_t *space = s->space + t->first, *other = space + s->trace->event_count;
    t->order = make_order(&s->keys, t->first, t->count, other, space);
    if (!t->order)
        atomic_store_explicit(&s->failed, true, memory_order_relaxed);
}

#define MOVE_COLUMN(column)                                                                        \
    do {                                                                                           \
        __typeof__(column) to = scratch, from = (column);                                          \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = from[order[i]];                                                                \
        memcpy(from + t->first, to, count * sizeof *to);                                           \
    } while (0)

static void move_column(void *context, unsigned worker, size_t index)
{
    sorting *s = context;
    kino__trace *trace = s->trace;
    const sorted_track *t = &s->tracks[index / s->columns];
    if (!s->scratch[worker])
        s->scratch[worker] = kino__pages_new(s->scratch_size);
    void *scratch = s->scratch[worker];
    const uint32_t *order = t->order;
    const size_t count = t->count;
    if (!scratch) {
        atomic_store_explicit(&s->failed, true, memory_order_relaxed);
        return;
    }
    switch (index % s->columns) {
    case 0:
        MOVE_COLUMN(trace->ts);
        break;
    case 1:
        MOVE_COLUMN(trace->dur);
        break;
    case 2:
        MOVE_COLUMN(trace->place);
        break;
    case 3:
        MOVE_COLUMN(trace->name);
        break;
    case 4:
        MOVE_COLUMN(trace->number);
        break;
    case 5:
        MOVE_COLUMN(trace->bind);
        break;
    case 6:
        MOVE_COLUMN(trace->external);
        break;
    case 7:
        MOVE_COLUMN(trace->category);
        break;
    case 8:
        MOVE_COLUMN(trace->phase);
        break;
    default:
        MOVE_COLUMN(trace->flags);
        break;
    }
}

/* The inverse of the orders, for all rows. */
static void make_ranks(const sorting *s, size_t count)
{
    uint32_t *ranks = s->space, *orders = ranks + s->trace->event_count;
    for (size_t i = 0; i < count; i++) {
        sorted_track *t = &s->tracks[i];
        if (t->order == ranks + t->first)
            t->order = memcpy(orders + t->first, t->order, t->count * sizeof *orders);
    }
    for (uint32_t row = 0; row < s->trace->event_count; row++)
        ranks[row] = row;
    for (size_t i = 0; i < count; i++) {
        const sorted_track *t = &s->tracks[i];
        for (uint32_t k = 0; k < t->count; k++)
            ranks[t->order[k]] = t->first + k;
    }
}

static kino_status sort(sorting *s, const uint32_t *tracks, size_t count, kino__pool *pool,
                        kino_error *err)
{
    unsigned jobs = kino__pool_jobs(pool);
    s->tracks = calloc(count, sizeof *s->tracks);
    s->scratch = calloc(jobs, sizeof *s->scratch);
    bool ok = s->tracks && s->scratch;
    for (size_t i = 0; ok && i < count; i++) {
        s->tracks[i].first = s->trace->tracks.items[tracks[i]].first;
        s->tracks[i].count = s->trace->tracks.items[tracks[i]].count;
        size_t size = ((size_t)s->tracks[i].count + 1) * sizeof(int64_t);
        s->scratch_size = size > s->scratch_size ? size : s->scratch_size;
    }
    if (ok)
        kino__pool_run(pool, count, order_track, s);
    ok = ok && !atomic_load_explicit(&s->failed, memory_order_relaxed);
    if (ok && s->columns == KEY_COLUMNS)
        make_ranks(s, count);
    if (ok)
        kino__pool_run(pool, count * s->columns, move_column, s);
    ok = ok && !atomic_load_explicit(&s->failed, memory_order_relaxed);
    for (unsigned i = 0; s->scratch && i < jobs; i++)
        kino__pages_free(s->scratch[i], s->scratch_size);
    free(s->tracks);
    free(s->scratch);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

kino_status kino__columns_sort_keys(kino__trace *trace, const uint32_t *tracks, size_t count,
                                    uint32_t *space, kino__pool *pool, kino_error *err)
{
    sorting s = {.trace = trace, .keys = {trace->ts, trace->dur, NULL}, .columns = KEY_COLUMNS};
    s.space = space;
    return sort(&s, tracks, count, pool, err);
}

kino_status kino__columns_sort(kino__trace *trace, const uint32_t *tracks, size_t count,
                               kino__pool *pool, kino_error *err)
{
    if (count == 0)
        return KINO_OK;
    size_t space_size = 2 * sizeof(uint32_t) * ((size_t)trace->event_count + 1);
    sorting s = {.trace = trace,
                 .keys = {trace->ts, trace->dur, trace->number},
                 .space = kino__pages_new(space_size),
                 .columns = COLUMNS};
    kino_status st = s.space ? sort(&s, tracks, count, pool, err) : kino__fail_nomem(err);
    kino__pages_free(s.space, space_size);
    return st;
}
