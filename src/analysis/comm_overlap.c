/* comm_overlap.c - how much of the communication is hidden under computation?
 *
 * Method: the time covered by communication kernels of a rank, and the part of it that computation
 * covers as well. Without work on a device: by collectives on the host, and by operators.
 * Cost: one pass over the device rows in order of time. */
#include <math.h>

#include "analysis/device_work.h"
#include "analysis/statistics.h"
#include "base/error.h"
#include "model/profile/profile.h"

enum { P_LAST_STEP };

/* -- what a trace gives: integers -- */

typedef struct row {
    int64_t rank;
    int64_t overlap, communication; /* ns */
} row;

typedef struct partial {
    KINO__VEC(row) rows;
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
}

/* Only HTA's rounding makes intervals that end before they start: they hold no time. */
static bool copy_normal(const kino__intervals *from, kino__intervals *to)
{
    if (!kino__vec_reserve(to, from->count))
        return false;
    for (size_t i = 0; i < from->count; i++)
        to->items[to->count++] = from->items[i];
    to->count = kino__intervals_unite(to->items, to->count);
    return true;
}

/* A trace of the host alone (Gloo, MPI): all of it, as on a device. */
static bool map_host(const kino__trace *trace, kino__pool *pool, row *r)
{
    const kino__profile *p = kino__profile_of(trace, false, pool);
    if (!p)
        return false;
    const kino__intervals *comm = &p->ranges[KINO__ROLE_COMMUNICATION];
    kino__intervals both = {0};
    bool ok = kino__intervals_intersect(&p->ranges[KINO__ROLE_CPU], comm, &both);
    *r = (row){.rank = trace->rank,
               .overlap = kino__intervals_total(both.items, both.count),
               .communication = kino__intervals_total(comm->items, comm->count)};
    kino__vec_deinit(&both);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool has_last_step = kino__param_bool(a, P_LAST_STEP);
    const kino__frame *f = kino__frame_of(trace, kino__frame_mode_of(a), has_last_step, a->pool);
    const kino__device_work *w = f ? kino__device_work_of(f, has_last_step) : NULL;
    row *r = w ? kino__vec_add(&p->rows) : NULL;
    if (!r)
        return kino__fail_nomem(err);
    if (f->mode == KINO__FRAME_DEFAULT && w->count == 0)
        return map_host(trace, a->pool, r) ? KINO_OK : kino__fail_nomem(err);
    p->is_cut = f->is_cut;
    kino__intervals compute = {0}, communication = {0}, both = {0};
    const kino__intervals *all = &w->of_type[KINO__KERNEL_COMMUNICATION];
    bool ok = copy_normal(&w->of_type[KINO__KERNEL_COMPUTATION], &compute) &&
              copy_normal(all, &communication) &&
              kino__intervals_intersect(&compute, &communication, &both);
    if (ok)
        *r = (row){trace->rank, kino__frame_ns(f, kino__intervals_total(both.items, both.count)),
                   kino__frame_ns(f, kino__intervals_total(all->items, all->count))};
    kino__vec_deinit(&compute);
    kino__vec_deinit(&communication);
    kino__vec_deinit(&both);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_append(&into->rows, &from->rows))
        return kino__fail_nomem(err);
    into->is_cut |= from->is_cut;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->overlap, &r->communication);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {[P_LAST_STEP] = KINO__PARAM_LAST_STEP, {0}};

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"comp_comm_overlap_pctg", KINO_TYPE_PERCENT, NULL,
     "share of the communication that overlaps; null: the rank does not communicate"},
    {"overlap", KINO_TYPE_DURATION, NULL,
     "time in which communication and computation run concurrently"},
    {"communication", KINO_TYPE_DURATION, NULL,
     "time in which at least one communication kernel runs (CPU only: a collective on the host)"},
    {0},
};

static const kino_table_info tables[] = {
    {"comm_comp_overlap", "one row per rank that communicates", columns,
     "Communication hidden behind computation", "not available: see the notes"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    size_t silent = 0;
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        silent += r->communication <= 0;
        if (r->communication <= 0 && !a->compat)
            continue; /* nothing to say of it */
        double percent =
            r->communication > 0 ? 100 * (double)r->overlap / (double)r->communication : NAN;
        KINO__TABLE_ADD(table, r->rank, a->compat ? kino__round(percent, 2) : percent, r->overlap,
                        r->communication);
    }
    if (silent && silent == p->rows.count)
        kino__result_lacks(result, "overlap", ": no communication");
    else if (silent)
        kino__result_lacks(result, "overlap",
                           " in %zu of %zu traces: no "
                           "communication",
                           silent, p->rows.count);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_comm_overlap = {
    .name = "comm-overlap",
    .help = "how much of the communication is hidden behind computation",
    .description =
        "The time in which communication kernels of a rank run, and the percentage of it\n"
        "in which computation runs as well. At 100 %, communication costs nothing. If\n"
        "there is no device work, collectives on the host (Gloo, MPI) and operators are\n"
        "used instead.\n",
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
