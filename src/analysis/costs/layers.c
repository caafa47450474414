/* layers.c - what does each layer of the model cost in the forward and in the backward pass?
 *
 * Method: the work with its costs (cost_work.h) belongs to the module or layer around its operator,
 * backward work to that of the forward operator (cost_place.h). A layer has the sums of all layers
 * in it. Layers are told apart by their paths; those of several ranks may be merged.
 * Cost: one pass over the work. */
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/costs/cost_place.h"
#include "analysis/costs/cost_rows.h"
#include "base/error.h"

enum { P_MERGE_RANKS, P_PEAK, P_COSTS };
enum { FORWARD, BACKWARD, SIDES };

/* -- what a trace gives -- */

/* Parents stand before their children. */
typedef struct layer_row {
    int64_t rank;
    uint32_t parent; /* place in rows; KINO_NO_ROW: at the top */
    kino_strid name; /* KINO_NO_STRING: work outside of all layers */
    kino__cost_sum self[SIDES];
    int64_t event, longest;
} layer_row;

/* What tells layers apart; without padding. */
typedef struct layer_key {
    int64_t rank;
    uint32_t parent;
    kino_strid name;
} layer_key;

typedef struct partial {
    kino__string_pool texts;
    KINO__VEC(layer_row) rows;
    kino__string_pool keys; /* bytes of layer_key: their numbers are places of rows */
    kino__cost_facts facts;
    int64_t without_layers; /* traces */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    kino__string_pool_deinit(&p->keys);
    kino__vec_deinit(&p->rows);
}

static kino_strid number_of(partial *p, const layer_key *key)
{
    return kino__string_pool_add(&p->keys, (kino_str){(const char *)key, sizeof *key});
}

/* A loaded partial has rows and no keys. False when memory is out, or rows are the same. */
static bool know_keys(partial *p)
{
    for (size_t i = kino__string_pool_count(&p->keys); i < p->rows.count; i++) {
        const layer_row *r = &p->rows.items[i];
        if (number_of(p, &(layer_key){r->rank, r->parent, r->name}) != i)
            return false;
    }
    return true;
}

/* The place of a layer, made on first sight; KINO_NO_ROW when memory is out. */
static uint32_t find_row(partial *p, int64_t rank, uint32_t parent, kino_strid name)
{
    kino_strid number =
        know_keys(p) ? number_of(p, &(layer_key){rank, parent, name}) : KINO_NO_STRING;
    if (number == KINO_NO_STRING)
        return KINO_NO_ROW;
    if (number == p->rows.count) {
        layer_row *fresh = kino__vec_add(&p->rows);
        if (!fresh)
            return KINO_NO_ROW;
        *fresh = (layer_row){
            .rank = rank, .parent = parent, .name = name, .event = KINO_NO_INT, .longest = -1};
    }
    return number;
}

/* -- one trace -- */

typedef struct counting {
    const kino__cost_work *work;
    kino__cost_places places;
    kino__roofs roofs;
    partial *out;
    KINO__VEC(uint32_t) row_of_layer; /* of places.layers; those not made yet are behind the end */
    uint32_t outside;                 /* row; KINO_NO_ROW: none yet */
    int64_t rank;
} counting;

/* Rows of layers that were found since the last time. */
static bool take_layers(counting *c)
{
    for (size_t i = c->row_of_layer.count; i < c->places.layers.count; i++) {
        const kino__layer *layer = &c->places.layers.items[i];
        kino_strid name = kino__string_pool_add(&c->out->texts, layer->name);
        uint32_t parent =
            layer->parent == KINO_NO_ROW ? KINO_NO_ROW : c->row_of_layer.items[layer->parent];
        uint32_t row =
            name == KINO_NO_STRING ? KINO_NO_ROW : find_row(c->out, c->rank, parent, name);
        uint32_t *slot = row == KINO_NO_ROW ? NULL : kino__vec_add(&c->row_of_layer);
        if (!slot)
            return false;
        *slot = row;
    }
    return true;
}

static uint32_t row_of(counting *c, const kino__work_item *item)
{
    uint32_t layer = item->around == KINO_NO_ROW ? KINO_NO_ROW
                                                 : kino__cost_place_layer(&c->places, item->around);
    if (c->places.failed || !take_layers(c))
        return KINO_NO_ROW;
    if (layer != KINO_NO_ROW)
        return c->row_of_layer.items[layer];
    if (c->outside == KINO_NO_ROW)
        c->outside = find_row(c->out, c->rank, KINO_NO_ROW, KINO_NO_STRING);
    return c->outside;
}

static bool count_item(counting *c, const kino__work_item *item, int64_t device)
{
    uint32_t place = row_of(c, item);
    if (place == KINO_NO_ROW)
        return false;
    layer_row *row = &c->out->rows.items[place];
    bool is_backward = item->around != KINO_NO_ROW &&
                       c->work->costs.ops.items[item->around].direction == KINO__OP_BACKWARD;
    int64_t time = kino__work_time(c->work, item);
    kino__cost_sum_item(&row->self[is_backward ? BACKWARD : FORWARD], c->work, item,
                        kino__roofs_of(&c->roofs, device));
    if (time > row->longest) {
        row->longest = time;
        row->event = kino__trace_event_id(c->work->trace, item->row);
    }
    return true;
}

static kino_status count_all(const kino__analysis *a, counting *c, kino_error *err)
{
    const kino__trace *trace = c->work->trace;
    uint32_t track = 0;
    kino__cost_places_init(&c->places, c->work, false);
    for (size_t i = 0; i < c->work->items.count; i++) {
        const kino__work_item *item = &c->work->items.items[i];
        while (item->row - trace->tracks.items[track].first >= trace->tracks.items[track].count)
            track++;
        if (!count_item(c, item, trace->tracks.items[track].device))
            return kino__fail_nomem(err);
        if (i % 65536 == 65535 && kino__progress_is_cancelled(a->progress))
            return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    return KINO_OK;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__cost_work *own;
    counting c = {.out = value,
                  .outside = KINO_NO_ROW,
                  .rank = kino__param_bool(a, P_MERGE_RANKS) ? KINO_NO_INT : trace->rank};
    KINO_TRY(kino__roofs_init(&c.roofs, trace, kino__param_text(a, P_PEAK), err));
    KINO_TRY(
        kino__cost_work_and_places(a, trace, kino__param_text(a, P_COSTS), &c.work, &own, err));
    kino_status st = count_all(a, &c, err);
    if (st == KINO_OK)
        kino__cost_facts_take(&c.out->facts, c.work, &c.roofs);
    c.out->without_layers = c.places.layers.count == 0;
    kino__cost_places_deinit(&c.places);
    kino__vec_deinit(&c.row_of_layer);
    kino__cost_work_free(own);
    return st;
}

/* -- several traces -- */

static bool merge_rows(partial *into, const partial *from)
{
    uint32_t *place = malloc((from->rows.count + 1) * sizeof *place);
    bool ok = place != NULL;
    for (size_t i = 0; ok && i < from->rows.count; i++) {
        const layer_row *more = &from->rows.items[i];
        kino_strid name = more->name;
        if (name != KINO_NO_STRING) {
            name = kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, name));
            ok = name != KINO_NO_STRING;
        }
        uint32_t parent = more->parent == KINO_NO_ROW ? KINO_NO_ROW : place[more->parent];
        place[i] = ok ? find_row(into, more->rank, parent, name) : KINO_NO_ROW;
        ok = place[i] != KINO_NO_ROW;
        if (!ok)
            break;
        layer_row *row = &into->rows.items[place[i]];
        for (int side = 0; side < SIDES; side++)
            kino__cost_sum_add(&row->self[side], &more->self[side]);
        if (more->longest > row->longest) {
            row->longest = more->longest;
            row->event = more->event;
        }
    }
    free(place);
    return ok;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    kino__cost_facts_add(&into->facts, &from->facts);
    into->without_layers += from->without_layers;
    return merge_rows(into, from) ? KINO_OK : kino__fail_nomem(err);
}

static void pack_row(kino__pack *pack, layer_row *r)
{
    KINO__PACK(pack, &r->rank, &r->parent, &r->name);
    for (int side = 0; side < SIDES; side++)
        kino__cost_sum_pack(pack, &r->self[side]);
    KINO__PACK(pack, &r->longest);
    KINO__PACK_EVENTS(pack, &r->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__cost_facts_pack(pack, &p->facts);
    kino__pack_tally(pack, &p->without_layers);
    for (size_t i = 0; i < p->rows.count; i++) {
        const layer_row *r = &p->rows.items[i];
        bool has_parent = r->parent != KINO_NO_ROW;
        if ((has_parent && r->parent >= i) ||
            (r->name != KINO_NO_STRING && r->name >= kino__string_pool_count(&p->texts)))
            pack->is_damaged = true;
    }
    if (!pack->out && !pack->is_damaged && !know_keys(p))
        pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_MERGE_RANKS] = {"merge_ranks", KINO_TYPE_BOOL, "no", "one tree over all ranks", NULL},
    [P_PEAK] = KINO__PEAK_PARAM,
    [P_COSTS] = KINO__COSTS_PARAM,
    {0},
};

static const kino_column columns[] = {
    [KINO__LAYERS_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown, or all"},
    [KINO__LAYERS_ID] = {"id", KINO_TYPE_INT, NULL, "id of the layer in the table"},
    [KINO__LAYERS_PARENT] = {"parent", KINO_TYPE_INT, NULL, "id of the parent; null at the top"},
    [KINO__LAYERS_DEPTH] = {"depth", KINO_TYPE_INT, NULL, "0 at the top"},
    [KINO__LAYERS_NAME] = {"name", KINO_TYPE_STRING, NULL, "null: work outside of all layers"},
    [KINO__LAYERS_TIME] = {"device_time", KINO_TYPE_DURATION, NULL,
                           "of it and the layers in it; on the host without a device"},
    [KINO__LAYERS_SHARE] = {"share", KINO_TYPE_PERCENT, NULL, "of the time of its rank"},
    [KINO__LAYERS_FORWARD] = {"forward_time", KINO_TYPE_DURATION, NULL, NULL},
    [KINO__LAYERS_BACKWARD] = {"backward_time", KINO_TYPE_DURATION, NULL, NULL},
    {"forward_flops", KINO_TYPE_INT, "count", "null: unknown"},
    {"backward_flops", KINO_TYPE_INT, "count", "null: unknown"},
    {"forward_bytes", KINO_TYPE_BYTES, NULL, "null: unknown"},
    {"backward_bytes", KINO_TYPE_BYTES, NULL, "null: unknown"},
    {"forward_tflops", KINO_TYPE_FLOAT, "TFLOP/s", NULL},
    {"backward_tflops", KINO_TYPE_FLOAT, "TFLOP/s", NULL},
    [KINO__LAYERS_PERCENT] = {"percent_of_peak", KINO_TYPE_PERCENT, NULL,
                              "time at its roof / time"},
    [KINO__LAYERS_BOUND] = {"bound", KINO_TYPE_STRING, NULL, "compute, memory, launch or latency"},
    {"tensor_cores", KINO_TYPE_PERCENT, NULL, "share of the time of products on matrix units"},
    {"tensor_gap", KINO_TYPE_STRING, NULL, KINO__TENSOR_GAP_HELP},
    {"known", KINO_TYPE_PERCENT, NULL, "share of the time with a known cost"},
    {"kernels", KINO_TYPE_INT, "count", NULL},
    {"self_time", KINO_TYPE_DURATION, NULL, "without the layers in it"},
    [KINO__LAYERS_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT,
                            "id of the longest piece of its own work"},
    {0},
};

static const kino_table_info tables[] = {
    {"layers", "one row per layer, parents before children, in order of first work", columns, NULL,
     "not available: the trace has no operators"},
    {0},
};

/* The tree, to be walked. */
typedef struct tree {
    kino__cost_sum (*total)[SIDES];
    uint32_t *first_child, *last_child, *next; /* places + 1; 0: none */
} tree;

static bool grow(const partial *p, tree *t)
{
    size_t count = p->rows.count;
    t->total = calloc(count + 1, sizeof *t->total);
    t->first_child = calloc(count + 1, sizeof *t->first_child);
    t->last_child = calloc(count + 1, sizeof *t->last_child);
    t->next = calloc(count + 1, sizeof *t->next);
    if (!t->total || !t->first_child || !t->last_child || !t->next)
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(t->total[i], p->rows.items[i].self, sizeof t->total[i]);
        uint32_t parent = p->rows.items[i].parent;
        size_t at = parent == KINO_NO_ROW ? count : parent; /* the last one is the root of all */
        if (t->first_child[at])
            t->next[t->last_child[at] - 1] = (uint32_t)i + 1;
        else
            t->first_child[at] = (uint32_t)i + 1;
        t->last_child[at] = (uint32_t)i + 1;
    }
    for (size_t i = count; i-- > 0;)
        for (int side = 0; side < SIDES; side++)
            if (p->rows.items[i].parent != KINO_NO_ROW)
                kino__cost_sum_add(&t->total[p->rows.items[i].parent][side], &t->total[i][side]);
    return true;
}

static int64_t time_of_rank(const partial *p, const tree *t, int64_t rank)
{
    int64_t time = 0;
    for (uint32_t i = t->first_child[p->rows.count]; i; i = t->next[i - 1])
        if (p->rows.items[i - 1].rank == rank)
            time = kino__sum(
                time, kino__sum(t->total[i - 1][FORWARD].time, t->total[i - 1][BACKWARD].time));
    return time;
}

static void add_sides(kino__table *table, const kino__cost_sum *sides)
{
    for (int i = 0; i < SIDES; i++)
        kino__table_add_int(table, sides[i].known_time > 0 ? sides[i].flops : KINO_NO_INT);
    for (int i = 0; i < SIDES; i++)
        kino__table_add_int(table, sides[i].byte_time > 0 ? sides[i].bytes : KINO_NO_INT);
    for (int i = 0; i < SIDES; i++)
        kino__table_add_real(table, kino__cost_tflops(&sides[i]));
}

static void tell_row(const partial *p, const tree *t, uint32_t place, uint32_t depth, int64_t all,
                     kino__table *table)
{
    const layer_row *r = &p->rows.items[place];
    const kino__cost_sum *sides = t->total[place];
    kino__cost_sum both = sides[FORWARD];
    kino__cost_sum_add(&both, &sides[BACKWARD]);
    const char *bound = kino__cost_bound(&both);
    KINO__TABLE_ADD(table, r->rank, place,
                    r->parent == KINO_NO_ROW ? KINO_NO_INT : (int64_t)r->parent, depth);
    if (r->name == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->texts, r->name));
    KINO__TABLE_ADD(table, both.time, kino__cost_percent(both.time, all), sides[FORWARD].time,
                    sides[BACKWARD].time);
    add_sides(table, sides);
    kino__table_add_real(table, kino__cost_roof_percent(&both));
    if (bound)
        kino__table_add_text(table, kino__str_from(bound));
    else
        kino__table_add_null(table);
    kino__table_add_real(table, kino__cost_percent(both.tensor_time, both.matrix_time));
    kino__cost_gap_tell(&both, table);
    KINO__TABLE_ADD(table, kino__cost_percent(both.known_time, both.time), both.kernels,
                    kino__sum(r->self[FORWARD].time, r->self[BACKWARD].time), r->event);
}

/* Depth first, without recursion. */
static void walk(const partial *p, const tree *t, kino__table *table)
{
    int64_t rank = KINO_NO_INT, all = time_of_rank(p, t, KINO_NO_INT);
    uint32_t at = t->first_child[p->rows.count], depth = 0;
    while (at) {
        if (p->rows.items[at - 1].rank != rank) {
            rank = p->rows.items[at - 1].rank;
            all = time_of_rank(p, t, rank);
        }
        tell_row(p, t, at - 1, depth, all, table);
        if (t->first_child[at - 1]) {
            at = t->first_child[at - 1];
            depth++;
            continue;
        }
        while (at && !t->next[at - 1]) {
            uint32_t parent = p->rows.items[at - 1].parent;
            at = parent == KINO_NO_ROW ? 0 : parent + 1;
            depth -= at != 0;
        }
        at = at ? t->next[at - 1] : 0;
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    tree t = {0};
    bool ok = grow(p, &t);
    if (ok)
        walk(p, &t, table);
    free(t.total);
    free(t.first_child);
    free(t.last_child);
    free(t.next);
    if (!ok)
        return kino__fail_nomem(err);
    if (table)
        table->hidden |= UINT64_C(1) << KINO__LAYERS_EVENT;
    if (p->without_layers == p->facts.traces)
        kino__result_lacks(result, "layers",
                           ": profile with with_stack=True or with_modules=True, or mark layers "
                           "with ranges named 'layer:NAME'");
    kino__cost_facts_note(&p->facts, result);
    return KINO_OK;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    return kino__roofs_check(kino__param_text(a, P_PEAK), err);
}

const kino__analysis_def kino__analysis_layers = {
    .name = "layers",
    .help = "what each layer costs in the forward and in the backward pass",
    .description =
        "A tree of modules (calls of nn.Module) or of ranges named 'layer:NAME', with\n"
        "device time, operations and bytes of the forward and the backward pass.\n"
        "Backward work belongs to the layer of its forward operator. Each layer includes\n"
        "the layers in it; a row without a name has the work outside of all layers.\n",
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
