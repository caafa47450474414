/* roofline.c - which work is near the limits of the device, which is far from them, and how much of
 * the device does a step use?
 *
 * Method: the work with its costs (cost_work.h), added up by operator, layer or kernel and by the
 * roof that counts for it; the roofs of the devices; operations of each step against what the
 * devices could do meanwhile (MFU; HFU counts recomputed operations too).
 * Cost: one pass over the work. */
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/costs/cost_place.h"
#include "analysis/costs/cost_rows.h"
#include "base/error.h"
#include "store/args.h"

enum { P_BY, P_TARGET, P_MERGE_RANKS, P_PEAK, P_COSTS };

/* -- what a trace gives -- */

/* A device that was used. */
typedef struct device_part {
    int64_t rank, device;
    kino_strid name,
        word;            /* as the trace calls it; in the table of peaks; KINO_NO_STRING: unknown */
    uint64_t precisions; /* bits: those that count for some work */
} device_part;

typedef struct step_part {
    int64_t rank, number; /* KINO_NO_INT: the whole trace */
    int64_t time, devices;
    int64_t flops, recomputed; /* recomputed is a part of flops */
    int64_t device_time, known_time;
    int64_t matrix_flops[KINO__PRECISIONS]; /* of products, by roof */
    kino_strid word;                        /* of the devices' peaks; KINO_NO_STRING: unknown */
} step_part;

typedef struct partial {
    kino__cost_rows points;
    KINO__VEC(device_part) devices; /* texts are in points */
    KINO__VEC(step_part) steps;
    kino__cost_facts facts;
    int64_t without_layers; /* traces */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__cost_rows_deinit(&p->points);
    kino__vec_deinit(&p->devices);
    kino__vec_deinit(&p->steps);
}

/* -- one trace -- */

typedef enum point_of { POINT_OP, POINT_LAYER, POINT_KERNEL } point_of;

typedef struct plotting {
    const kino__cost_work *work;
    const kino__analysis *a;
    kino__cost_places places;
    kino__roofs roofs;
    const kino__steps *steps;
    partial *out;
    size_t first_step; /* of the trace, in out->steps */
    int64_t rank;
    point_of by;
    bool has_layers;
} plotting;

static bool add_text(plotting *p, kino_str text, kino_strid *id)
{
    *id = text.size ? kino__string_pool_add(&p->out->points.texts, text) : KINO_NO_STRING;
    return !text.size || *id != KINO_NO_STRING;
}

/* "Net_0/Linear_1" */
static bool layer_path(plotting *p, uint32_t layer, kino__buffer *out)
{
    if (layer == KINO_NO_ROW)
        return true;
    uint32_t chain[64], count = 0;
    for (; layer != KINO_NO_ROW && count < 64; layer = p->places.layers.items[layer].parent)
        chain[count++] = layer;
    while (count-- > 0) {
        kino__buffer_add(out, p->places.layers.items[chain[count]].name);
        if (count)
            kino__buffer_add(out, KINO__STR("/"));
    }
    return !out->failed;
}

static bool name_point(plotting *p, const kino__work_item *item, kino_strid *id)
{
    const kino__trace *trace = p->work->trace;
    bool is_own = item->kind != KINO__WORK_KERNEL && item->kind != KINO__WORK_OPERATOR;
    if (p->by == POINT_KERNEL || is_own || item->around == KINO_NO_ROW)
        return add_text(p, kino__trace_string(trace, trace->name[item->row]), id);
    if (p->by == POINT_OP)
        return add_text(p, kino__cost_place_name(&p->places, item->around), id);
    kino__buffer path = {0};
    uint32_t layer = kino__cost_place_layer(&p->places, item->around);
    p->has_layers |= layer != KINO_NO_ROW;
    bool ok = layer_path(p, layer, &path) && add_text(p, kino__buffer_str(&path), id);
    kino__buffer_deinit(&path);
    return ok;
}

static bool add_point(plotting *p, const kino__work_item *item, kino__precision precision,
                      const kino__device_peaks *peaks)
{
    bool is_own = item->kind == KINO__WORK_COPY || item->kind == KINO__WORK_SET;
    const kino__cost *cost = is_own ? NULL : kino__work_cost(p->work, item);
    kino__cost_key key = {.rank = p->rank,
                          .name = KINO_NO_STRING,
                          .detail = KINO_NO_STRING,
                          .dtype =
                              cost && p->by != POINT_LAYER ? cost->precision : KINO__DTYPE_NONE,
                          .precision = is_own ? KINO__PRECISION_NONE : precision,
                          .kind = item->kind,
                          .device = UINT32_MAX};
    kino__cost_row *row =
        name_point(p, item, &key.name) ? kino__cost_rows_find(&p->out->points, &key) : NULL;
    if (row)
        kino__cost_row_count(row, p->work, item, peaks);
    return row != NULL;
}

/* -- devices -- */

static device_part *find_device(plotting *p, int64_t device)
{
    for (size_t i = p->out->devices.count; i-- > 0;)
        if (p->out->devices.items[i].device == device)
            return &p->out->devices.items[i];
    device_part *fresh = kino__vec_add(&p->out->devices);
    const kino__device_peaks *peaks = kino__roofs_of(&p->roofs, device);
    if (!fresh)
        return NULL;
    *fresh = (device_part){.rank = p->rank, .device = device};
    bool ok = add_text(p, kino__trace_device_name(p->work->trace, device), &fresh->name) &&
              add_text(p, kino__str_from(peaks && peaks->word ? peaks->word : ""), &fresh->word);
    return ok ? fresh : NULL;
}

/* -- steps -- */

/* An operator of the forward pass that runs within the backward pass, and records what it does for
 * autograd: activations are computed again (checkpointing). */
static bool is_recomputed(const plotting *p, const kino__work_item *item)
{
    if (item->op == KINO_NO_ROW)
        return false;
    const kino__costed_op *op = &p->work->costs.ops.items[item->op];
    return op->direction == KINO__OP_BACKWARD && op->parent != KINO_NO_ROW && op->records_autograd;
}

static void count_step(plotting *p, const kino__work_item *item, kino__precision precision)
{
    uint32_t index = p->steps->count ? p->steps->of_row[item->row] : 0;
    if (index == KINO_NO_ROW)
        return;
    step_part *s = &p->out->steps.items[p->first_step + index];
    const kino__cost *cost = kino__work_cost(p->work, item);
    int64_t time = kino__work_time(p->work, item);
    s->device_time = kino__sum(s->device_time, time);
    if (!kino__work_is_known(item))
        return;
    s->known_time = kino__sum(s->known_time, time);
    s->flops = kino__sum(s->flops, item->flops);
    if (is_recomputed(p, item))
        s->recomputed = kino__sum(s->recomputed, item->flops);
    if (cost && cost->is_matrix && precision != KINO__PRECISION_NONE)
        s->matrix_flops[precision] = kino__sum(s->matrix_flops[precision], item->flops);
}

static bool add_steps(plotting *p)
{
    size_t count = p->steps->count ? p->steps->count : 1;
    int64_t start, end;
    p->first_step = p->out->steps.count;
    for (size_t i = 0; i < count; i++) {
        step_part *s = kino__vec_add(&p->out->steps);
        if (!s)
            return false;
        *s = (step_part){.rank = p->rank, .number = KINO_NO_INT, .word = KINO_NO_STRING};
        if (p->steps->count) {
            s->number = p->steps->items[i].number;
            s->time = p->steps->items[i].dur;
        } else if (kino__trace_window(p->work->trace, &start, &end)) {
            s->time = end - start;
        }
    }
    return true;
}

/* -- all -- */

static bool plot(plotting *p, const kino__work_item *item, int64_t device)
{
    const kino__device_peaks *peaks = kino__roofs_of(&p->roofs, device);
    kino__precision precision = kino__work_precision(p->work, item, peaks);
    device_part *used = p->work->is_host ? NULL : find_device(p, device);
    if (!p->work->is_host && !used)
        return false;
    if (used && precision != KINO__PRECISION_NONE)
        used->precisions |= UINT64_C(1) << precision;
    count_step(p, item, precision);
    return add_point(p, item, precision, peaks) && !p->places.failed;
}

static void finish_steps(plotting *p)
{
    int64_t devices = p->work->is_host ? 1 : (int64_t)p->out->devices.count;
    for (size_t i = p->first_step; i < p->out->steps.count; i++) {
        p->out->steps.items[i].devices = devices;
        p->out->steps.items[i].word =
            p->out->devices.count ? p->out->devices.items[0].word : KINO_NO_STRING;
    }
}

static kino_status plot_all(plotting *p, kino_error *err)
{
    const kino__trace *trace = p->work->trace;
    uint32_t track = 0;
    p->steps = kino__link_steps(trace);
    kino__cost_places_init(&p->places, p->work, false);
    if (!p->steps || !add_steps(p))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < p->work->items.count; i++) {
        const kino__work_item *item = &p->work->items.items[i];
        while (item->row - trace->tracks.items[track].first >= trace->tracks.items[track].count)
            track++;
        if (!plot(p, item, trace->tracks.items[track].device))
            return kino__fail_nomem(err);
        if (i % 65536 == 65535 && kino__progress_is_cancelled(p->a->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    finish_steps(p);
    return KINO_OK;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__cost_work *own;
    kino_str by = kino__param_text(a, P_BY);
    plotting p = {.a = a,
                  .out = value,
                  .rank = kino__param_bool(a, P_MERGE_RANKS) ? KINO_NO_INT : trace->rank,
                  .by = kino__str_is(by, "layer")    ? POINT_LAYER
                        : kino__str_is(by, "kernel") ? POINT_KERNEL
                                                     : POINT_OP};
    KINO_TRY(kino__roofs_init(&p.roofs, trace, kino__param_text(a, P_PEAK), err));
    KINO_TRY(kino__cost_work_of(trace, kino__param_text(a, P_COSTS), &p.work, &own, err));
    kino_status st = plot_all(&p, err);
    if (st == KINO_OK)
        kino__cost_facts_take(&p.out->facts, p.work, &p.roofs);
    p.out->without_layers = p.by == POINT_LAYER && !p.has_layers;
    kino__cost_places_deinit(&p.places);
    kino__cost_work_free(own);
    return st;
}

/* -- several traces -- */

static bool move_text(partial *into, const partial *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add(&into->points.texts,
                                kino__string_pool_text(&from->points.texts, *id));
    return *id != KINO_NO_STRING;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    bool ok = kino__cost_rows_merge(&into->points, &from->points);
    for (size_t i = 0; ok && i < from->devices.count; i++) {
        device_part *d = kino__vec_add(&into->devices);
        if ((ok = d != NULL)) {
            *d = from->devices.items[i];
            ok = move_text(into, from, &d->name) && move_text(into, from, &d->word);
        }
    }
    for (size_t i = 0; ok && i < from->steps.count; i++) {
        step_part *s = kino__vec_add(&into->steps);
        if ((ok = s != NULL)) {
            *s = from->steps.items[i];
            ok = move_text(into, from, &s->word);
        }
    }
    kino__cost_facts_add(&into->facts, &from->facts);
    into->without_layers += from->without_layers;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_device(kino__pack *pack, device_part *d)
{
    KINO__PACK(pack, &d->rank, &d->device, &d->name, &d->word, &d->precisions);
}

static void pack_step(kino__pack *pack, step_part *s)
{
    KINO__PACK(pack, &s->rank, &s->number, &s->time, &s->devices, &s->flops, &s->recomputed,
               &s->device_time, &s->known_time);
    for (int i = 0; i < KINO__PRECISIONS; i++)
        kino__pack_int(pack, &s->matrix_flops[i]);
    kino__pack_u32(pack, &s->word);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__cost_rows_pack(pack, &p->points);
    KINO__PACK_VEC(pack, &p->devices, pack_device);
    KINO__PACK_VEC(pack, &p->steps, pack_step);
    kino__cost_facts_pack(pack, &p->facts);
    kino__pack_tally(pack, &p->without_layers);
    size_t texts = kino__string_pool_count(&p->points.texts);
    for (size_t i = 0; i < p->devices.count; i++) {
        const device_part *d = &p->devices.items[i];
        if ((d->name != KINO_NO_STRING && d->name >= texts) ||
            (d->word != KINO_NO_STRING && d->word >= texts))
            pack->is_damaged = true;
    }
    for (size_t i = 0; i < p->steps.count; i++)
        if (p->steps.items[i].word != KINO_NO_STRING && p->steps.items[i].word >= texts)
            pack->is_damaged = true;
    for (size_t i = 0; i < p->points.rows.count; i++)
        if (p->points.rows.items[i].key.kind > KINO__WORK_OPERATOR)
            pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_BY] = {"by", KINO_TYPE_STRING, "op", "one point per operator, layer or kernel",
              "op|layer|kernel"},
    [P_TARGET] = {"target", KINO_TYPE_PERCENT, "80",
                  "share of the roof that time_at_target assumes", NULL},
    [P_MERGE_RANKS] = {"merge_ranks", KINO_TYPE_BOOL, "no", "points over all ranks", NULL},
    [P_PEAK] = KINO__PEAK_PARAM,
    [P_COSTS] = KINO__COSTS_PARAM,
    {0},
};

static const kino_column point_columns[] = {
    [KINO__POINTS_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    [KINO__POINTS_NAME] = {"name", KINO_TYPE_STRING, NULL, "operator, layer or kernel"},
    [KINO__POINTS_DTYPE] = {"dtype", KINO_TYPE_STRING, NULL, "precision of the arithmetic"},
    [KINO__POINTS_PRECISION] = {"roof", KINO_TYPE_STRING, NULL,
                                "rate that is its limit: bf16-tensor, fp32; null: unknown"},
    [KINO__POINTS_CALLS] = {"calls", KINO_TYPE_INT, "count", NULL},
    [KINO__POINTS_TIME] = {"device_time", KINO_TYPE_DURATION, NULL, "on the host without a device"},
    [KINO__POINTS_SHARE] = {"share", KINO_TYPE_PERCENT, NULL, "of the time of its rank"},
    [KINO__POINTS_FLOPS] = {"flops", KINO_TYPE_INT, "count", "null: unknown"},
    [KINO__POINTS_BYTES] = {"bytes", KINO_TYPE_BYTES, NULL, "null: unknown"},
    [KINO__POINTS_INTENSITY] = {"intensity", KINO_TYPE_FLOAT, "FLOP/B", "flops / bytes"},
    [KINO__POINTS_TFLOPS] = {"tflops", KINO_TYPE_FLOAT, "TFLOP/s", "flops / time"},
    [KINO__POINTS_GBPS] = {"gbps", KINO_TYPE_FLOAT, "GB/s", "bytes / time"},
    [KINO__POINTS_PERCENT] = {"percent_of_peak", KINO_TYPE_PERCENT, NULL,
                              "time at its roof / time"},
    [KINO__POINTS_BOUND] = {"bound", KINO_TYPE_STRING, NULL, "compute, memory, launch or latency"},
    [KINO__POINTS_AT_TARGET] = {"time_at_target", KINO_TYPE_DURATION, NULL,
                                "time at the given share of its roof"},
    [KINO__POINTS_SAVING] = {"saving", KINO_TYPE_DURATION, NULL, "device_time - time_at_target"},
    [KINO__POINTS_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT,
                            "id of the longest piece of work"},
    {0},
};

static const kino_column ceiling_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    {"device", KINO_TYPE_INT, NULL, "id in the trace"},
    {"name", KINO_TYPE_STRING, NULL, "as the trace calls it"},
    {"peaks", KINO_TYPE_STRING, NULL, "device of 'kino peaks'; null: unknown, or given"},
    {"ceiling", KINO_TYPE_STRING, NULL, "memory, or a precision"},
    {"tflops", KINO_TYPE_FLOAT, "TFLOP/s", "of a precision"},
    {"gbps", KINO_TYPE_FLOAT, "GB/s", "of the memory"},
    {"ridge", KINO_TYPE_FLOAT, "FLOP/B", "intensity where it meets the memory bandwidth"},
    {"used", KINO_TYPE_BOOL, NULL, "whether some work has it as its roof"},
    {"source", KINO_TYPE_STRING, NULL, "where the figure comes from"},
    {0},
};

static const kino_column step_columns[] = {
    [KINO__MFU_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [KINO__MFU_STEP] = {"step", KINO_TYPE_INT, NULL, "null: the whole trace"},
    [KINO__MFU_TIME] = {"time", KINO_TYPE_DURATION, NULL, "of the step"},
    [KINO__MFU_FLOPS] = {"flops", KINO_TYPE_INT, "count", "operations whose cost is known"},
    [KINO__MFU_RECOMPUTED] = {"recomputed_flops", KINO_TYPE_INT, "count",
                              "part of them that checkpointing repeats"},
    [KINO__MFU_MFU] = {"mfu", KINO_TYPE_PERCENT, NULL,
                       "(flops - recomputed_flops) / time / peak: model FLOPs utilization"},
    [KINO__MFU_HFU] = {"hfu", KINO_TYPE_PERCENT, NULL,
                       "flops / time / peak: hardware FLOPs utilization"},
    [KINO__MFU_PEAK] = {"peak_tflops", KINO_TYPE_FLOAT, "TFLOP/s",
                        "the denominator: rate of the precision, times devices"},
    [KINO__MFU_PRECISION] = {"precision", KINO_TYPE_STRING, NULL,
                             "in which most operations of products are done"},
    [KINO__MFU_DEVICES] = {"devices", KINO_TYPE_INT, "count", "that the trace used"},
    [KINO__MFU_COVERAGE] = {"coverage", KINO_TYPE_PERCENT, NULL,
                            "share of the device time whose cost is known"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__ROOFLINE_POINTS] = {"roofline", "one row per point, most time first", point_columns,
                               "Points", "not available: the trace has no operators with costs"},
    [KINO__ROOFLINE_CEILINGS] = {"ceilings", "the limits of each device", ceiling_columns,
                                 "Ceilings", NULL},
    [KINO__ROOFLINE_STEPS] = {"mfu", "one row per step: utilization of the device", step_columns,
                              "Utilization of the steps", NULL},
    {0},
};

/* The time of all points of each rank. */
typedef struct rank_times {
    kino__map place; /* rank -> place in time */
    KINO__VEC(int64_t) time;
} rank_times;

static bool add_rank_times(const partial *p, rank_times *ranks)
{
    for (size_t i = 0; i < p->points.rows.count; i++) {
        const kino__cost_row *r = &p->points.rows.items[i];
        uint32_t *place =
            kino__map_put(&ranks->place, (uint64_t)r->key.rank, (uint32_t)ranks->time.count);
        if (place && *place == ranks->time.count) {
            int64_t *fresh = kino__vec_add(&ranks->time);
            if (!fresh)
                return false;
            *fresh = 0;
        }
        if (!place)
            return false;
        ranks->time.items[*place] = kino__sum(ranks->time.items[*place], r->sum.time);
    }
    return true;
}

static void add_name(kino__table *table, const char *name)
{
    if (name)
        kino__table_add_text(table, kino__str_from(name));
    else
        kino__table_add_null(table);
}

static void tell_point(const partial *p, const kino__cost_row *r, int64_t all, double target,
                       kino__table *table)
{
    const kino__cost_sum *s = &r->sum;
    int64_t at = kino__cost_time_at(s, target);
    kino__table_add_int(table, r->key.rank);
    kino__cost_rows_add_text(&p->points, table, r->key.name);
    add_name(table, r->key.dtype ? kino__dtype_name(r->key.dtype) : NULL);
    add_name(table, r->key.precision != KINO__PRECISION_NONE
                        ? kino__precision_name(r->key.precision)
                        : NULL);
    KINO__TABLE_ADD(table, s->calls, s->time, kino__cost_percent(s->time, all),
                    s->known_time > 0 ? s->flops : KINO_NO_INT,
                    s->byte_time > 0 ? s->bytes : KINO_NO_INT, kino__cost_intensity(s),
                    kino__cost_tflops(s), kino__cost_gbps(s), kino__cost_roof_percent(s));
    add_name(table, kino__cost_bound(s));
    KINO__TABLE_ADD(table, at, at == KINO_NO_INT ? KINO_NO_INT : s->time - at, r->event);
}

static bool fill_points(const partial *p, double target, kino__table *table)
{
    uint32_t *order = kino__cost_rows_order_new(&p->points);
    rank_times ranks = {0};
    kino__map_init(&ranks.place, NULL);
    bool ok = order && add_rank_times(p, &ranks);
    for (size_t i = 0; ok && i < p->points.rows.count; i++) {
        const kino__cost_row *r = &p->points.rows.items[order[i]];
        tell_point(p, r, ranks.time.items[*kino__map_get(&ranks.place, (uint64_t)r->key.rank)],
                   target, table);
    }
    kino__map_deinit(&ranks.place);
    kino__vec_deinit(&ranks.time);
    free(order);
    return ok;
}

/* The peaks of a word, or those given. */
static const kino__device_peaks *peaks_of(const partial *p, kino_strid word,
                                          const kino__device_peaks *given)
{
    if (given)
        return given;
    return word == KINO_NO_STRING
               ? NULL
               : kino__device_peaks_named(kino__string_pool_text(&p->points.texts, word));
}

static void tell_ceiling(const partial *p, const device_part *d, const kino__device_peaks *peaks,
                         kino__precision precision, kino__table *table)
{
    bool is_memory = precision == KINO__PRECISION_NONE;
    double rate = is_memory ? (double)NAN : peaks->rate[precision];
    KINO__TABLE_ADD(table, d->rank, d->device);
    kino__cost_rows_add_text(&p->points, table, d->name);
    add_name(table, peaks->word);
    add_name(table, is_memory ? "memory" : kino__precision_name(precision));
    KINO__TABLE_ADD(table, rate, is_memory ? peaks->memory : (double)NAN,
                    peaks->memory > 0 ? rate * 1000 / peaks->memory : (double)NAN,
                    is_memory || (d->precisions >> precision & 1));
    add_name(table, peaks->source);
}

static void fill_ceilings(const partial *p, const kino__device_peaks *given, kino__table *table)
{
    for (size_t i = 0; i < p->devices.count; i++) {
        const device_part *d = &p->devices.items[i];
        const kino__device_peaks *peaks = peaks_of(p, d->word, given);
        if (!peaks)
            continue;
        if (peaks->memory > 0)
            tell_ceiling(p, d, peaks, KINO__PRECISION_NONE, table);
        for (int k = 0; k < KINO__PRECISIONS; k++)
            if (peaks->rate[k] > 0)
                tell_ceiling(p, d, peaks, (kino__precision)k, table);
    }
    /* without a device: what was given for the CPU */
    const device_part host = {.rank = KINO_NO_INT, .device = KINO_NO_INT, .name = KINO_NO_STRING};
    for (int k = 0; p->devices.count == 0 && given && k <= KINO__PRECISIONS; k++)
        if (k == KINO__PRECISIONS ? given->memory > 0 : given->rate[k] > 0)
            tell_ceiling(p, &host, given, (kino__precision)k, table);
}

static kino__precision main_precision(const step_part *s)
{
    int best = KINO__PRECISION_NONE;
    for (int i = 0; i < KINO__PRECISIONS; i++)
        if (s->matrix_flops[i] > (best == KINO__PRECISION_NONE ? 0 : s->matrix_flops[best]))
            best = i;
    return (kino__precision)best;
}

static void fill_steps(const partial *p, const kino__device_peaks *given, kino__table *table)
{
    for (size_t i = 0; i < p->steps.count; i++) {
        const step_part *s = &p->steps.items[i];
        const kino__device_peaks *peaks = peaks_of(p, s->word, given);
        kino__precision precision = main_precision(s);
        double peak = peaks && precision != KINO__PRECISION_NONE
                          ? peaks->rate[precision] * (double)s->devices
                          : (double)NAN;
        double possible = s->time > 0 ? peak * 1e3 * (double)s->time / 100 : (double)NAN;
        if (s->device_time == 0)
            continue;
        KINO__TABLE_ADD(
            table, s->rank, s->number, s->time, s->known_time > 0 ? s->flops : KINO_NO_INT,
            s->known_time > 0 ? s->recomputed : KINO_NO_INT,
            (double)(s->flops - s->recomputed) / possible, (double)s->flops / possible, peak);
        add_name(table, precision == KINO__PRECISION_NONE ? NULL : kino__precision_name(precision));
        KINO__TABLE_ADD(table, s->devices, kino__cost_percent(s->known_time, s->device_time));
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    kino__device_peaks given;
    kino_str peak = kino__param_text(a, P_PEAK);
    kino__table *points = kino__analysis_table(result, KINO__ROOFLINE_POINTS);
    if (peak.size)
        KINO_TRY(kino__device_peaks_parse(peak, &given, err));
    if (!fill_points(p, kino__param_real(a, P_TARGET), points))
        return kino__fail_nomem(err);
    fill_ceilings(p, peak.size ? &given : NULL,
                  kino__analysis_table(result, KINO__ROOFLINE_CEILINGS));
    fill_steps(p, peak.size ? &given : NULL, kino__analysis_table(result, KINO__ROOFLINE_STEPS));
    if (points)
        points->hidden |= UINT64_C(1) << KINO__POINTS_EVENT | UINT64_C(1) << KINO__POINTS_GBPS;
    for (size_t i = KINO__ROOFLINE_CEILINGS; i <= KINO__ROOFLINE_STEPS; i++)
        if (kino__analysis_table(result, i))
            kino__analysis_table(result, i)->empty_text = NULL;
    if (p->without_layers && p->without_layers == p->facts.traces)
        kino__result_lacks(result, "layers", ": profile with with_stack=True or with_modules=True");
    kino__cost_facts_note(&p->facts, result);
    return KINO_OK;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    if (!(kino__param_real(a, P_TARGET) > 0 && kino__param_real(a, P_TARGET) <= 100))
        return kino__fail(err, KINO_ARGUMENT, "invalid target (expected: above 0, at most 100 %%)");
    return kino__roofs_check(kino__param_text(a, P_PEAK), err);
}

const kino__analysis_def kino__analysis_roofline = {
    .name = "roofline",
    .help = "how close work gets to the roofs of the device, and what a step makes of them",
    .description =
        "Each point is the work of an operator, a layer or a kernel: operations per byte\n"
        "and operations per second, against the peak rate of its precision and the memory\n"
        "bandwidth. 'percent_of_peak' is the time that the work would take at its roof,\n"
        "divided by the time it took. Far from both roofs, work is bound by launches (the\n"
        "stream had run dry) or by latency (too little work per kernel).\n"
        "\n"
        "The table 'mfu' compares the operations of each step with what the devices could\n"
        "do in its time; the denominator is in the table.\n",
    .params = params,
    .tables = tables,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
