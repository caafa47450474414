/* builder_sort.c - putting the rows of a track in order: a merge of natural runs.
 *
 * Profilers write nearly ordered tracks, so runs are long and few: linear on ordered input, n
 * log(runs) else. Rows are sorted as indexes, then every column is moved once. */
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

static inline bool comes_before(const kino__trace *t, uint32_t a, uint32_t b)
{
    if (__builtin_expect(t->ts[a] != t->ts[b], 1))
        return t->ts[a] < t->ts[b];
    if (t->dur[a] != t->dur[b])
        return t->dur[a] > t->dur[b];
    return t->number[a] < t->number[b];
}

static void merge(const kino__trace *t, const uint32_t *a, size_t a_count, const uint32_t *b,
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

static bool find_runs(const kino__trace *t, uint32_t first, uint32_t count, run_ends *ends)
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

/* The rows in order, as a new array; NULL when memory is out. Neighbouring runs are merged until
 * one is left. */
static uint32_t *make_order(const kino__trace *t, uint32_t first, uint32_t count)
{
    uint32_t *from = malloc(((size_t)count + 1) * sizeof *from),
             *to = malloc(((size_t)count + 1) * sizeof *to);
    run_ends ends = {0};
    bool ok = from && to && find_runs(t, first, count, &ends);
    for (uint32_t i = 0; ok && i < count; i++)
        from[i] = first + i;
    while (ok && ends.count > 1) {
        size_t start = 0, kept = 0;
        for (size_t r = 0; r < ends.count; r += 2) {
            size_t middle = ends.items[r], end = r + 1 < ends.count ? ends.items[r + 1] : middle;
            merge(t, from + start, middle - start, from + middle, end - middle, to + start);
            ends.items[kept++] = start = end;
        }
        ends.count = kept;
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    free(to);
    kino__vec_deinit(&ends);
    if (!ok) {
        free(from);
        from = NULL;
    }
    return from;
}

/* -- all tracks: first the orders, track by track, then every column of every track, all in
 * parallel */

enum { COLUMNS = 10 };

typedef struct sorted_track {
    uint32_t first, count;
    uint32_t *order;
} sorted_track;

typedef struct sorting {
    kino__trace *trace;
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
    t->order = make_order(s->trace, t->first, t->count);
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
    const sorted_track *t = &s->tracks[index / COLUMNS];
    if (!s->scratch[worker])
        s->scratch[worker] = kino__pages_new(s->scratch_size);
    void *scratch = s->scratch[worker];
    const uint32_t *order = t->order;
    const size_t count = t->count;
    if (!scratch) {
        atomic_store_explicit(&s->failed, true, memory_order_relaxed);
        return;
    }
    switch (index % COLUMNS) {
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

kino_status kino__columns_sort(kino__trace *trace, const uint32_t *tracks, size_t count,
                               kino__pool *pool, kino_error *err)
{
    if (count == 0)
        return KINO_OK;
    unsigned jobs = kino__pool_jobs(pool);
    sorting s = {.trace = trace,
                 .tracks = calloc(count, sizeof *s.tracks),
                 .scratch = calloc(jobs, sizeof *s.scratch)};
    bool ok = s.tracks && s.scratch;
    for (size_t i = 0; ok && i < count; i++) {
        s.tracks[i].first = trace->tracks.items[tracks[i]].first;
        s.tracks[i].count = trace->tracks.items[tracks[i]].count;
        size_t size = ((size_t)s.tracks[i].count + 1) * sizeof(int64_t);
        s.scratch_size = size > s.scratch_size ? size : s.scratch_size;
    }
    if (ok)
        kino__pool_run(pool, count, order_track, &s);
    ok = ok && !atomic_load_explicit(&s.failed, memory_order_relaxed);
    if (ok)
        kino__pool_run(pool, count * COLUMNS, move_column, &s);
    ok = ok && !atomic_load_explicit(&s.failed, memory_order_relaxed);
    for (size_t i = 0; s.tracks && i < count; i++)
        free(s.tracks[i].order);
    for (unsigned i = 0; s.scratch && i < jobs; i++)
        kino__pages_free(s.scratch[i], s.scratch_size);
    free(s.tracks);
    free(s.scratch);
    return ok ? KINO_OK : kino__fail_nomem(err);
}
