/* cost_place.c - where an operator stands in the program; see the header.
 *
 * Layers are found by climbing from the operator to the spans of modules around it; each span is
 * climbed from once, because its layer is remembered. */
#include "analysis/costs/cost_place.h"

#include <stdlib.h>

#include "names/python_frame.h"

enum { NO_TEXT = 0, MOST_DEPTH = 512 };

static bool has_python(const kino__trace *trace)
{
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kinds & KINO__KIND_BIT(KINO__KIND_PYTHON))
            return true;
    return false;
}

/* Operators in the backward pass have the place of the forward operator that the one around them is
 * linked to. */
static bool find_forward(kino__cost_places *p)
{
    const kino__trace_costs *costs = &p->work->costs;
    const uint32_t *forward = kino__link_forward(p->work->trace);
    p->forward = malloc((costs->ops.count + 1) * sizeof *p->forward);
    if (!forward || !p->forward)
        return false;
    for (size_t i = 0; i < costs->ops.count; i++) {
        const kino__costed_op *op = &costs->ops.items[i];
        bool is_inside = op->direction == KINO__OP_BACKWARD && op->parent != KINO_NO_ROW &&
                         p->forward[op->parent] != costs->ops.items[op->parent].row;
        p->forward[i] = forward[op->row] != KINO_NO_ROW ? forward[op->row]
                        : is_inside                     ? p->forward[op->parent]
                                                        : op->row;
    }
    return true;
}

void kino__cost_places_init(kino__cost_places *p, const kino__cost_work *work, bool is_last)
{
    *p = (kino__cost_places){.work = work, .is_last = is_last};
    kino__map_init(&p->layer_of_row, NULL);
    kino__map_init(&p->layer_by_name, NULL);
    kino__map_init(&p->name_of_string, NULL);
    kino__map_init(&p->line_of_row, NULL);
}

/* Names do without links, which read the arguments of all events. */
static bool has_links(kino__cost_places *p)
{
    const kino__trace *trace = p->work->trace;
    if (p->forward || p->failed)
        return !p->failed;
    p->failed = !find_forward(p);
    if (p->is_last) /* the trace is the caller's, hence the cast */
        kino__link_forward_forget((kino__trace *)(uintptr_t)trace);
    if (has_python(trace)) {
        p->python = kino__link_python_parent(trace);
        p->module = kino__link_module(trace);
        p->failed = p->failed || !p->python || !p->module;
    }
    p->parent = kino__link_parent(trace);
    p->failed = p->failed || !p->parent;
    return !p->failed;
}

typedef struct making {
    const kino__trace *trace;
    kino_str file;
    const kino__cost_work **out;
    kino__cost_work **own;
    kino_error *err;
    kino_status status;
} making;

/* Who needs a link that could not be made finds out. */
static void make_part(void *context, unsigned worker, size_t index)
{
    (void)worker;
    making *m = context;
    if (index == 0) {
        m->status = kino__cost_work_of(m->trace, m->file, m->out, m->own, m->err);
        return;
    }
    (void)kino__link_forward(m->trace);
    if (has_python(m->trace)) {
        (void)kino__link_python_parent(m->trace);
        (void)kino__link_module(m->trace);
    }
}

kino_status kino__cost_work_and_places(const kino__analysis *a, const kino__trace *trace,
                                       kino_str file, const kino__cost_work **out,
                                       kino__cost_work **own, kino_error *err)
{
    making m = {.trace = trace, .file = file, .out = out, .own = own, .err = err};
    kino__pool_run(a->pool, 2, make_part, &m);
    return m.status;
}

void kino__cost_places_deinit(kino__cost_places *p)
{
    free(p->forward);
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->layers);
    kino__vec_deinit(&p->frames);
    kino__map_deinit(&p->layer_of_row);
    kino__map_deinit(&p->layer_by_name);
    kino__map_deinit(&p->name_of_string);
    kino__map_deinit(&p->line_of_row);
    kino__op_call_deinit(&p->call);
    kino__arena_deinit(&p->arena);
}

static kino_str name_of_row(const kino__cost_places *p, uint32_t row)
{
    return kino__trace_string(p->work->trace, p->work->trace->name[row]);
}

static kino__kind kind_of_row(const kino__cost_places *p, uint32_t row)
{
    return kino__category_kind(p->work->trace->category[row]);
}

/* -- names -- */

kino_str kino__cost_place_name(kino__cost_places *p, uint32_t op)
{
    uint32_t row = p->work->costs.ops.items[op].row;
    if (kind_of_row(p, row) == KINO__KIND_OP)
        return name_of_row(p, row);
    uint32_t *known = kino__map_put(&p->name_of_string, p->work->trace->name[row], KINO_NO_STRING);
    if (known && *known == KINO_NO_STRING &&
        kino__op_call_read_range(&p->call, name_of_row(p, row)))
        *known = kino__string_pool_add(&p->texts, p->call.name);
    p->failed |= !known || *known == KINO_NO_STRING;
    return p->failed ? (kino_str){"", 0} : kino__string_pool_text(&p->texts, *known);
}

/* -- layers -- */

/* Is the row a module or a layer? Then *name is what it is called. */
static bool is_layer(const kino__cost_places *p, uint32_t row, kino_str *name)
{
    static const kino_str prefix = {"nn.Module: ", 11};
    kino__kind kind = kind_of_row(p, row);
    if (p->work->trace->name[row] == KINO_NO_STRING)
        return false;
    *name = name_of_row(p, row);
    if (kino__str_starts_with(*name, prefix)) {
        *name = (kino_str){name->data + prefix.size, name->size - prefix.size};
        return true;
    }
    if (kind != KINO__KIND_ANNOTATION || kino__marker_kind_of(*name, false) != KINO__MARKER_LAYER)
        return false;
    *name = kino__marker_layer(*name);
    return true;
}

/* The layer of this name below a parent, made on first sight. */
static uint32_t child_layer(kino__cost_places *p, uint32_t parent, kino_str name)
{
    kino_strid id = kino__string_pool_add(&p->texts, name);
    uint32_t *place = id == KINO_NO_STRING
                          ? NULL
                          : kino__map_put(&p->layer_by_name, (uint64_t)(parent + 1) << 32 | id,
                                          (uint32_t)p->layers.count);
    kino__layer *fresh = NULL;
    if (place && *place == p->layers.count && (fresh = kino__vec_add(&p->layers)))
        *fresh =
            (kino__layer){.parent = parent,
                          .depth = parent == KINO_NO_ROW ? 0 : p->layers.items[parent].depth + 1,
                          .name = kino__string_pool_text(&p->texts, id)};
    p->failed |= !place || *place >= p->layers.count;
    return p->failed ? KINO_NO_ROW : *place;
}

/* The layer of a row: spans of layers around it that are not known yet are collected on the way up
 * and made on the way down. */
static uint32_t layer_of(kino__cost_places *p, uint32_t row)
{
    uint32_t spans[MOST_DEPTH], layer = KINO_NO_ROW;
    size_t count = 0;
    kino_str name;
    for (; row != KINO_NO_ROW && count < MOST_DEPTH; row = p->parent[row]) {
        if (!is_layer(p, row, &name))
            continue;
        const uint32_t *known = kino__map_get(&p->layer_of_row, row);
        if (known) {
            layer = *known;
            break;
        }
        spans[count++] = row;
    }
    while (count-- > 0 && !p->failed) {
        (void)is_layer(p, spans[count], &name);
        layer = child_layer(p, layer, name);
        p->failed |= !kino__map_put(&p->layer_of_row, spans[count], layer);
    }
    return layer;
}

uint32_t kino__cost_place_layer(kino__cost_places *p, uint32_t op)
{
    if (!has_links(p))
        return KINO_NO_ROW;
    uint32_t row = p->forward[op];
    if (!p->module)
        return layer_of(p, row);
    /* ranges of layers and modules in one trace: modules count */
    return p->module[row] == KINO_NO_ROW ? layer_of(p, row) : layer_of(p, p->module[row]);
}

/* -- lines -- */

static kino_str keep_line(kino__cost_places *p, uint32_t row, kino_str text)
{
    kino_strid id = kino__string_pool_add(&p->texts, text);
    p->failed |= id == KINO_NO_STRING || !kino__map_put(&p->line_of_row, row, id + 1);
    return p->failed ? (kino_str){"", 0} : kino__string_pool_text(&p->texts, id);
}

/* The line of a Python call: its own, or that of the user's call around it. */
static kino_str python_line(kino__cost_places *p, uint32_t row)
{
    for (uint32_t at = row; at != KINO_NO_ROW; at = p->python[at])
        if (kino__name_is_user_frame(name_of_row(p, at)))
            return keep_line(p, row, name_of_row(p, at));
    return keep_line(p, row, (kino_str){"", 0});
}

/* The last frame of the innermost trace marker around a row. */
static kino_str marker_line(kino__cost_places *p, uint32_t row)
{
    for (uint32_t at = row; at != KINO_NO_ROW; at = p->parent[at]) {
        if (kind_of_row(p, at) != KINO__KIND_ANNOTATION ||
            kino__marker_kind_of(name_of_row(p, at), false) != KINO__MARKER_TRACE)
            continue;
        const uint32_t *known = kino__map_get(&p->line_of_row, at);
        if (known)
            return kino__string_pool_text(&p->texts, *known - 1);
        p->frames.count = 0;
        p->failed |= !kino__marker_frames(name_of_row(p, at), &p->arena, &p->frames);
        return keep_line(
            p, at, p->frames.count ? p->frames.items[p->frames.count - 1] : (kino_str){"", 0});
    }
    return (kino_str){"", 0};
}

kino_str kino__cost_place_line(kino__cost_places *p, uint32_t op)
{
    if (!has_links(p))
        return (kino_str){"", 0};
    uint32_t row = p->forward[op];
    uint32_t call = p->python ? p->python[row] : KINO_NO_ROW;
    if (call == KINO_NO_ROW)
        return marker_line(p, row);
    const uint32_t *known = kino__map_get(&p->line_of_row, call);
    return known ? kino__string_pool_text(&p->texts, *known - 1) : python_line(p, call);
}
