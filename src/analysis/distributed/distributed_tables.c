/* distributed_tables.c - the tables of the distributed view from the lists of all workers.
 *
 * The latency of several calls is the time that their ranges cover together; so is the transfer,
 * each of whose parts lies at the end of its range. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/distributed/distributed.h"
#include "base/error.h"

static const kino_column computation_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace; null: unknown"},
    {"worker", KINO_TYPE_STRING, NULL, "from the name of the file"},
    {"step", KINO_TYPE_STRING, NULL, "name of the step; all: the mean over the worker's steps"},
    {"computation", KINO_TYPE_DURATION, NULL, "computation only: kernels, or operators on a CPU"},
    {"overlapping", KINO_TYPE_DURATION, NULL, "computation and communication at the same time"},
    {"communication", KINO_TYPE_DURATION, NULL, "only communication"},
    {"other", KINO_TYPE_DURATION, NULL, "neither"},
    {0},
};

static const kino_column communication_columns[] = {
    [KINO__TRANSFERS_RANK] = {"rank", KINO_TYPE_INT, NULL, "rank of the trace; null: unknown"},
    [KINO__TRANSFERS_WORKER] = {"worker", KINO_TYPE_STRING, NULL, "from the name of the file"},
    [KINO__TRANSFERS_STEP] = {"step", KINO_TYPE_STRING, NULL,
                              "name of the step; null: calls outside steps; all: the mean"},
    [KINO__TRANSFERS_TRANSFER] = {"data_transfer_time", KINO_TYPE_DURATION, NULL,
                                  "time of the fastest participant"},
    [KINO__TRANSFERS_WAITING] = {"synchronizing_time", KINO_TYPE_DURATION, NULL,
                                 "the rest: waiting; null: only one worker"},
    {0},
};

static const kino_column op_columns[] = {
    [KINO__COMMUNICATION_OPS_RANK] = {"rank", KINO_TYPE_INT, NULL,
                                      "rank of the trace; null: unknown"},
    [KINO__COMMUNICATION_OPS_WORKER] = {"worker", KINO_TYPE_STRING, NULL,
                                        "from the name of the file"},
    [KINO__COMMUNICATION_OPS_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,
                                      "of the collective"},
    [KINO__COMMUNICATION_OPS_CALLS] = {"calls", KINO_TYPE_INT, "count", "how often it was called"},
    [KINO__COMMUNICATION_OPS_SIZE] = {"total_size", KINO_TYPE_BYTES, NULL,
                                      "size of the inputs; null: not recorded"},
    [KINO__COMMUNICATION_OPS_MEAN_SIZE] = {"avg_size", KINO_TYPE_BYTES, NULL, "total_size / calls"},
    [KINO__COMMUNICATION_OPS_LATENCY] =
        {"total_latency", KINO_TYPE_DURATION, NULL,
         "time covered by its kernels, or by host spans if there are none"},
    [KINO__COMMUNICATION_OPS_MEAN_LATENCY] = {"avg_latency", KINO_TYPE_DURATION, NULL,
                                              "total_latency / calls"},
    [KINO__COMMUNICATION_OPS_TRANSFER] = {"data_transfer_time", KINO_TYPE_DURATION, NULL,
                                          "part spent transferring data"},
    {"avg_data_transfer_time", KINO_TYPE_DURATION, NULL, "data_transfer_time / calls"},
    {0},
};

static const kino_column worker_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace; null: unknown"},
    {"worker", KINO_TYPE_STRING, NULL, "from the name of the file"},
    {"node", KINO_TYPE_STRING, NULL, "for a worker named node_7: node"},
    {"process", KINO_TYPE_STRING, NULL,
     "for a worker named node_7: 7; otherwise a sequence number"},
    {"device", KINO_TYPE_INT, NULL, "id of a device it used"},
    {"name", KINO_TYPE_STRING, NULL, "of the device"},
    {"memory", KINO_TYPE_BYTES, NULL, "of the device"},
    {"compute_capability", KINO_TYPE_STRING, NULL, "of the device"},
    {0},
};

#define NO_COMMUNICATION "not available: see the notes"

const kino_table_info kino__dist_tables[] = {
    [KINO__DISTRIBUTED_COMPUTATION] =
        {"computation_overview", "one row per worker and step: where the time went; means first",
         computation_columns, "Computation and communication", NO_COMMUNICATION},
    [KINO__DISTRIBUTED_TRANSFERS] =
        {"communication_overview", "one row per worker and step: transfer and waiting; means first",
         communication_columns, "Transfer and waiting", NO_COMMUNICATION},
    [KINO__DISTRIBUTED_OPS] = {"communication_ops",
                               "one row per worker and collective, in order of first call",
                               op_columns, "Collectives", NO_COMMUNICATION},
    [KINO__DISTRIBUTED_WORKERS] = {"workers", "one row per device of a worker", worker_columns,
                                   "Workers and their devices", "not available"},
    {0},
};

/* -- sums over calls -- */

/* A call and what it is added up under: a step or a name. */
typedef struct entry {
    uint32_t key, record;
} entry;

typedef struct sums {
    uint32_t key;
    int64_t calls;
    int64_t size; /* KINO_NO_INT: of some call it is unknown */
    int64_t latency, transfer;
} sums;

typedef struct adding {
    const kino__dist *d;
    const kino__dist_matches *matches;
    KINO__VEC(entry) entries;
    KINO__VEC(sums) sums;
    kino__intervals busy, moving;
} adding;

static int compare_entries(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->record < b->record ? -1 : a->record > b->record;
}

static bool add_call(adding *w, uint32_t record, sums *sum)
{
    const kino__dist_record *r = &w->d->records.items[record];
    if (!kino__vec_reserve(&w->busy, r->range_count) ||
        !kino__vec_reserve(&w->moving, r->range_count))
        return false;
    for (uint32_t i = 0; i < r->range_count; i++) {
        size_t at = (size_t)w->matches->first_range[record] + i;
        kino__interval range = w->d->ranges.items[at];
        w->busy.items[w->busy.count++] = range;
        range.start = range.end - w->matches->transfer[at];
        w->moving.items[w->moving.count++] = range;
    }
    sum->calls++;
    sum->size = sum->size == KINO_NO_INT || r->size == KINO_NO_INT ? KINO_NO_INT
                                                                   : kino__sum(sum->size, r->size);
    return true;
}

static int64_t covered(kino__intervals *list)
{
    kino__intervals_sort(list->items, list->count);
    list->count = kino__intervals_unite(list->items, list->count);
    return kino__intervals_total(list->items, list->count);
}

/* The entries as sums by key, in order of the keys. */
static bool add_up(adding *w)
{
    w->sums.count = 0;
    if (w->entries.count)
        qsort(w->entries.items, w->entries.count, sizeof *w->entries.items, compare_entries);
    for (size_t i = 0; i < w->entries.count;) {
        uint32_t key = w->entries.items[i].key;
        sums *sum = kino__vec_add(&w->sums);
        if (!sum)
            return false;
        *sum = (sums){.key = key};
        w->busy.count = w->moving.count = 0;
        for (; i < w->entries.count && w->entries.items[i].key == key; i++)
            if (!add_call(w, w->entries.items[i].record, sum))
                return false;
        sum->latency = covered(&w->busy);
        sum->transfer = covered(&w->moving);
    }
    return true;
}

/* -- rows of steps: by step, then worker -- */

typedef struct step_row {
    uint32_t order; /* 0: all, then steps by first appearance; the last: none */
    uint32_t worker;
    kino_strid step; /* KINO_NO_STRING: none */
    int64_t values[4];
} step_row;

typedef struct step_rows {
    KINO__VEC(step_row) items;
    kino__map order; /* name of a step -> place */
} step_rows;

static bool add_step_row(step_rows *rows, uint32_t worker, kino_strid step, const int64_t *values,
                         size_t count)
{
    uint32_t order = UINT32_MAX;
    if (step != KINO_NO_STRING) {
        const uint32_t *place = kino__map_put(&rows->order, step, (uint32_t)rows->order.count + 1);
        if (!place)
            return false;
        order = *place;
    }
    step_row *row = kino__vec_add(&rows->items);
    if (!row)
        return false;
    *row = (step_row){.order = order, .worker = worker, .step = step};
    memcpy(row->values, values, count * sizeof *values);
    return true;
}

static bool add_average(step_rows *rows, uint32_t worker, const int64_t *sums_of, size_t count,
                        int64_t steps)
{
    step_row *row = steps ? kino__vec_add(&rows->items) : NULL;
    if (row)
        *row = (step_row){.worker = worker, .step = KINO_NO_STRING};
    for (size_t i = 0; i < count && row; i++)
        row->values[i] = sums_of[i] / steps;
    return row || !steps;
}

static int compare_step_rows(const void *x, const void *y)
{
    const step_row *a = x, *b = y;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->worker < b->worker ? -1 : a->worker > b->worker;
}

static void write_worker(kino__table *table, const kino__dist *d, uint32_t worker)
{
    const kino__dist_worker *w = &d->workers.items[worker];
    kino__table_add_int(table, w->rank);
    if (w->name == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&d->texts, w->name));
}

/* The values from `known` on are null. */
static void write_step_rows(kino__table *table, const kino__dist *d, step_rows *rows, size_t values,
                            size_t known)
{
    if (rows->items.count)
        qsort(rows->items.items, rows->items.count, sizeof *rows->items.items, compare_step_rows);
    for (size_t i = 0; i < rows->items.count; i++) {
        const step_row *row = &rows->items.items[i];
        write_worker(table, d, row->worker);
        if (row->order == 0)
            kino__table_add_text(table, KINO__STR("all"));
        else if (row->step == KINO_NO_STRING)
            kino__table_add_null(table);
        else
            kino__table_add_text(table, kino__string_pool_text(&d->texts, row->step));
        for (size_t k = 0; k < values; k++)
            kino__table_add_int(table, k < known ? row->values[k] : KINO_NO_INT);
    }
    rows->items.count = 0;
}

/* -- the tables -- */

static bool write_computation(kino__table *table, const kino__dist *d, step_rows *rows)
{
    size_t step = 0;
    for (uint32_t w = 0; w < d->workers.count; w++) {
        int64_t all[4] = {0};
        uint32_t count = d->workers.items[w].step_count;
        for (uint32_t i = 0; i < count; i++, step++) {
            const kino__dist_step *s = &d->steps.items[step];
            int64_t values[] = {s->computation - s->overlap, s->overlap,
                                s->communication - s->overlap,
                                s->total + s->overlap - s->computation - s->communication};
            for (size_t k = 0; k < 4; k++)
                all[k] = kino__sum(all[k], values[k]);
            if (!add_step_row(rows, w, s->name, values, 4))
                return false;
        }
        if (!add_average(rows, w, all, 4, count))
            return false;
    }
    write_step_rows(table, d, rows, 4, 4);
    return true;
}

/* The average step is one of all steps, also of those without calls; the plugin knows only its
 * rows. 0: no calls, no average. */
static int64_t steps_of_average(const adding *adder, const kino__dist_worker *worker,
                                bool is_compat)
{
    size_t rows = adder->sums.count;
    return is_compat || rows == 0 ? (int64_t)rows : worker->step_count;
}

/* With one worker nobody knows what was waiting. */
static bool write_communication(kino__table *table, adding *adder, step_rows *rows, bool is_compat)
{
    const kino__dist *d = adder->d;
    size_t known = d->workers.count == 1 && !is_compat ? 1 : 2;
    size_t step = 0;
    uint32_t record = 0;
    for (uint32_t w = 0; w < d->workers.count; w++) {
        const kino__dist_worker *worker = &d->workers.items[w];
        adder->entries.count = 0;
        for (uint32_t i = 0; i < worker->record_count; i++, record++) {
            entry *e = kino__vec_add(&adder->entries);
            if (!e)
                return false;
            *e = (entry){d->records.items[record].step, record};
        }
        if (!add_up(adder))
            return false;
        int64_t all[2] = {0};
        for (size_t i = 0; i < adder->sums.count; i++) {
            const sums *s = &adder->sums.items[i];
            bool is_outside = s->key == KINO_NO_ROW;
            int64_t values[] = {s->transfer, s->latency - s->transfer};
            for (size_t k = 0; k < 2 && (is_compat || !is_outside); k++)
                all[k] = kino__sum(all[k], values[k]);
            kino_strid name = is_outside ? KINO_NO_STRING : d->steps.items[step + s->key].name;
            if (!add_step_row(rows, w, name, values, 2))
                return false;
        }
        if (!add_average(rows, w, all, 2, steps_of_average(adder, worker, is_compat)))
            return false;
        step += worker->step_count;
    }
    write_step_rows(table, d, rows, 2, known);
    return true;
}

/* sum / calls, to the nearest whole one. */
static int64_t average(int64_t sum, int64_t calls)
{
    return sum == KINO_NO_INT ? sum : llround((double)sum / (double)calls);
}

static void write_op(kino__table *table, const kino__dist *d, uint32_t worker, const sums *s)
{
    write_worker(table, d, worker);
    KINO__TABLE_ADD(table, kino__string_pool_text(&d->texts, s->key), s->calls, s->size,
                    average(s->size, s->calls), s->latency, average(s->latency, s->calls),
                    s->transfer, average(s->transfer, s->calls));
}

/* `seen` has the place of each name among those of the worker, 0: none yet. */
static bool write_ops_of(kino__table *table, adding *adder, uint32_t w, uint32_t first,
                         uint32_t *seen, kino_strid *names)
{
    const kino__dist *d = adder->d;
    uint32_t count = 0;
    adder->entries.count = 0;
    for (uint32_t i = 0; i < d->workers.items[w].record_count; i++) {
        kino_strid name = d->records.items[first + i].name;
        if (seen[name] == 0) {
            names[count++] = name;
            seen[name] = count;
        }
        entry *e = kino__vec_add(&adder->entries);
        if (!e)
            return false;
        *e = (entry){seen[name], first + i};
    }
    if (!add_up(adder))
        return false;
    for (size_t i = 0; i < adder->sums.count; i++) {
        sums *s = &adder->sums.items[i];
        s->key = names[s->key - 1];
        write_op(table, d, w, s);
    }
    for (uint32_t i = 0; i < count; i++)
        seen[names[i]] = 0;
    return true;
}

static bool write_ops(kino__table *table, adding *adder)
{
    const kino__dist *d = adder->d;
    size_t texts = kino__string_pool_count(&d->texts);
    uint32_t *seen = calloc(texts + 1, sizeof *seen);
    kino_strid *names = malloc((texts + 1) * sizeof *names);
    bool ok = seen && names;
    uint32_t record = 0;
    for (uint32_t w = 0; ok && w < d->workers.count; w++) {
        ok = write_ops_of(table, adder, w, record, seen, names);
        record += d->workers.items[w].record_count;
    }
    free(seen);
    free(names);
    return ok;
}

/* "node0_1": node0 and 1, at the last "_digits"; what follows is left out. */
static bool split_worker(kino_str worker, kino_str *node, kino_str *process)
{
    for (size_t i = worker.size; i-- > 0;) {
        size_t digits = 0;
        while (i + 1 + digits < worker.size && worker.data[i + 1 + digits] >= '0' &&
               worker.data[i + 1 + digits] <= '9')
            digits++;
        if (worker.data[i] != '_' || digits == 0)
            continue;
        *node = (kino_str){worker.data, i};
        *process = (kino_str){worker.data + i + 1, digits};
        return true;
    }
    return false;
}

static void write_device(kino__table *table, const kino__dist *d, const kino__dist_device *device)
{
    kino__table_add_int(table, device->id);
    if (device->name == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&d->texts, device->name));
    kino__table_add_int(table, device->memory);
    if (device->major == KINO_NO_INT || device->minor == KINO_NO_INT)
        kino__table_add_null(table);
    else
        kino__table_add_format(table, "%lld.%lld", (long long)device->major,
                               (long long)device->minor);
}

static void write_workers(kino__table *table, const kino__dist *d, bool is_compat)
{
    size_t device = 0;
    int64_t running = 0;
    for (uint32_t w = 0; w < d->workers.count; w++) {
        const kino__dist_worker *worker = &d->workers.items[w];
        kino_str name = kino__string_pool_text(&d->texts, worker->name), node = name, process;
        char number[24];
        size_t first = device;
        device += worker->device_count;
        if (is_compat && !worker->has_properties)
            continue;
        if (!split_worker(name, &node, &process)) {
            (void)snprintf(number, sizeof number, "%lld", (long long)running++);
            process = kino__str_from(number);
        }
        for (size_t i = first; i < device || i == first; i++) {
            write_worker(table, d, w);
            if (node.size)
                kino__table_add_text(table, node);
            else
                kino__table_add_null(table);
            kino__table_add_text(table, process);
            if (i < device)
                write_device(table, d, &d->devices.items[i]);
            for (int k = 0; k < 4 && i >= device; k++)
                kino__table_add_null(table);
        }
    }
}

/* -- finish -- */

/* The plugin shows the view only when the workers have the same calls. Says why not. */
static const char *why_not(const kino__dist *d)
{
    size_t record = 0;
    for (size_t w = 0; w < d->workers.count; w++) {
        const kino__dist_worker *worker = &d->workers.items[w];
        if (worker->is_mixed)
            return "a worker uses both NCCL and Gloo";
        if (worker->record_count == 0)
            return "a worker has no collectives";
        if (worker->record_count != d->workers.items[0].record_count)
            return "the workers have different numbers of collectives";
        for (uint32_t i = 0; i < worker->record_count; i++, record++)
            if (d->records.items[record].range_count != d->records.items[i].range_count)
                return "a collective has different numbers of kernels on different workers";
    }
    return NULL;
}

static void add_notes(const kino__dist *d, const kino__dist_matches *m, kino_result *result)
{
    bool has_size = true;
    for (size_t i = 0; i < d->records.count; i++)
        has_size &= d->records.items[i].size != KINO_NO_INT;
    if (!has_size)
        kino__result_lacks(result, "size of some collectives",
                           ": neither message sizes nor operator shapes were recorded");
    if (d->workers.count == 1) {
        kino__result_lacks(
            result, "waiting",
            ": there is only one worker, so all time in its collectives counts as transfer");
        return;
    }
    if (m->point_to_point)
        kino__result_note(result,
                          "waiting of %llu sends and receives not available: they cannot be "
                          "matched and count as transfer",
                          (unsigned long long)m->point_to_point);
    if (!m->alone)
        return;
    kino_str name = kino__string_pool_text(&d->texts, d->records.items[m->first_alone].name);
    int64_t rank = d->workers.items[m->alone_of].rank;
    kino__result_note(result,
                      "%llu of %llu collective calls have no match in another trace (the first: "
                      "%.*s of %s %lld): their time counts as transfer",
                      (unsigned long long)m->alone, (unsigned long long)d->records.count,
                      KINO__STR_ARG(name), rank == KINO_NO_INT ? "trace" : "rank",
                      (long long)(rank == KINO_NO_INT ? (int64_t)m->alone_of : rank));
}

static bool write_all(const kino__dist *d, const kino__dist_matches *matches, bool is_compat,
                      kino_result *result)
{
    adding adder = {.d = d, .matches = matches};
    step_rows rows = {0};
    kino__map_init(&rows.order, NULL);
    bool ok =
        write_computation(kino__analysis_table(result, KINO__DISTRIBUTED_COMPUTATION), d, &rows) &&
        write_communication(kino__analysis_table(result, KINO__DISTRIBUTED_TRANSFERS), &adder,
                            &rows, is_compat) &&
        write_ops(kino__analysis_table(result, KINO__DISTRIBUTED_OPS), &adder);
    kino__map_deinit(&rows.order);
    kino__vec_deinit(&rows.items);
    kino__vec_deinit(&adder.entries);
    kino__vec_deinit(&adder.sums);
    kino__vec_deinit(&adder.busy);
    kino__vec_deinit(&adder.moving);
    return ok;
}

/* People need not see columns of what no trace tells. */
static void hide_unknown(kino_result *result)
{
    for (size_t i = KINO__DISTRIBUTED_COMPUTATION; i <= KINO__DISTRIBUTED_WORKERS; i++) {
        kino__table *table = kino__analysis_table(result, i);
        if (table)
            table->optional |= i == KINO__DISTRIBUTED_WORKERS ? 0xffu & ~(1u << 4)
                                                              : 1u << 1; /* 4: device, 1: worker */
    }
}

kino_status kino__dist_finish(const kino__analysis *a, void *partial, kino_result *result,
                              kino_error *err)
{
    const kino__dist *d = partial;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    const char *reason = is_compat               ? why_not(d)
                         : d->records.count == 0 ? "no trace has collectives"
                                                 : NULL;
    if (reason) {
        kino__result_lacks(result, "distributed view", ": %s", reason);
        if (is_compat)
            return KINO_OK;
    }
    hide_unknown(result);
    kino__dist_matches matches;
    bool ok = kino__dist_match(d, is_compat, &matches) && write_all(d, &matches, is_compat, result);
    if (ok)
        write_workers(kino__analysis_table(result, KINO__DISTRIBUTED_WORKERS), d, is_compat);
    if (ok && !is_compat && d->records.count)
        add_notes(d, &matches, result);
    ok = ok && (is_compat || d->records.count == 0 || kino__verdict_add_note(&d->verdict, result));
    kino__dist_matches_deinit(&matches);
    return ok ? KINO_OK : kino__fail_nomem(err);
}
