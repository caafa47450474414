/* critical_path.c - which events decided how long a step took?
 *
 * Method: a graph whose edges say what had to wait for what (critical_path_internal.h), and the
 * longest path through it. Cost: linear in the events of the region, besides the queue lengths of
 * the trace, which are sorted. */
#include <stdlib.h>

#include "analysis/critical_path_result.h"
#include "analysis/frame_internal.h"
#include "base/error.h"

#define DEFAULT_ANNOTATION "ProfilerStep"

static const kino_param_info params[] = {
    [KINO__CRITICAL_ANNOTATION] = {"annotation", KINO_TYPE_STRING, DEFAULT_ANNOTATION,
                                   "the region: events whose name contains this; \"\": all", NULL},
    [KINO__CRITICAL_INSTANCE] = {"instance", KINO_TYPE_STRING, "0",
                                 "which of these events, from 0; 1-3: from the second to the 4th",
                                 NULL},
    [KINO__CRITICAL_LOADS] = {"data_load_events", KINO_TYPE_STRING, NULL,
                              "names of data loading contain one of these (commas between)", NULL},
    [KINO__CRITICAL_ZERO_EDGES] = {"zero_weight_edges", KINO_TYPE_BOOL, "no",
                                   "an edge from every launch to its work", NULL},
    [KINO__CRITICAL_GRAPH] = {"graph", KINO_TYPE_BOOL, "no", "also list all nodes and edges", NULL},
    [KINO__CRITICAL_LAST_STEP] = {"include_last_step", KINO_TYPE_BOOL, "no",
                                  "keep the last profiler step", NULL},
    {0},
};

/* -- what is asked for -- */

/* "2", or "1-3". */
static bool read_instances(kino_str text, int64_t *first, int64_t *last)
{
    const char *dash = text.size ? memchr(text.data, '-', text.size) : NULL;
    kino_str from = {text.data, dash ? (size_t)(dash - text.data) : text.size};
    kino_str to = dash ? (kino_str){dash + 1, text.size - from.size - 1} : from;
    return kino__str_to_int(from, first) && kino__str_to_int(to, last) && *first >= 0 &&
           *first <= *last;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    kino_str text = kino__param_text(a, KINO__CRITICAL_INSTANCE);
    int64_t first, last;
    if (read_instances(text, &first, &last))
        return KINO_OK;
    return kino__fail(err, KINO_ARGUMENT,
                      "instance: '%.*s' is no number from 0, and no range as 1-3",
                      KINO__STR_ARG(text));
}

typedef KINO__VEC(kino_str) texts;

static bool split(kino_str text, texts *out)
{
    while (text.size) {
        const char *comma = memchr(text.data, ',', text.size);
        kino_str part = {text.data, comma ? (size_t)(comma - text.data) : text.size};
        kino_str *slot = part.size ? kino__vec_add(out) : NULL;
        if (part.size && !slot)
            return false;
        if (slot)
            *slot = part;
        size_t used = part.size + (comma != NULL);
        text = (kino_str){text.data + used, text.size - used};
    }
    return true;
}

static bool has_name_with(const kino__frame *f, kino_str part)
{
    for (kino_strid id = 0; id < kino__string_pool_count(&f->trace->strings); id++) {
        kino_str name = kino__trace_string(f->trace, id);
        if (memmem(name.data, name.size, part.data, part.size))
            return true;
    }
    return false;
}

/* -- rows -- */

static int64_t ns_of(const kino__frame *f, int64_t units)
{
    int64_t ns;
    return __builtin_mul_overflow(units, f->unit_ns, &ns) ? (units < 0 ? INT64_MIN + 1 : INT64_MAX)
                                                          : ns;
}

static int64_t id_of(const kino__frame *f, uint32_t at)
{
    return at == KINO_NO_ROW ? KINO_NO_INT : kino__trace_event_id(f->trace, f->row[at]);
}

static bool add_node(kino__critical_result *p, const kino__critical *c, uint32_t node, bool on_path)
{
    const kino__frame *f = c->f;
    uint32_t at = kino__node_event(c, node), row = f->row[at];
    bool is_end = kino__node_is_end(c, node);
    kino__critical_node *slot = kino__vec_add(&p->nodes);
    if (!slot)
        return false;
    int64_t length = is_end ? f->trace->dur[row] : 0;
    *slot =
        (kino__critical_node){f->trace->rank, node,
                              id_of(f, at),   kino__sum(f->trace->ts[row], length),
                              is_end,         (kino__name_flags(c, at) & KINO__NAME_BLOCKING) != 0,
                              on_path,        kino__frame_name(f, at)};
    return true;
}

/* Names as HTA shortens them, each once; the texts are kept with the partial. */
typedef struct short_names {
    kino_str *of; /* by string */
    kino__buffer buffer;
} short_names;

static bool short_name(kino__critical_result *p, const kino__frame *f, uint32_t at,
                       short_names *names, kino_str *out)
{
    kino_strid id = f->trace->name[f->row[at]];
    if (id == KINO_NO_STRING || names->of[id].data) {
        *out = id == KINO_NO_STRING ? KINO__STR("") : names->of[id];
        return true;
    }
    kino_str name = kino__trace_string(f->trace, id);
    names->buffer.size = 0;
    kino__short_name(name, kino__kernel_type_of(name, true) == KINO__KERNEL_MEMORY, &names->buffer);
    kino_strid kept = names->buffer.failed
                          ? KINO_NO_STRING
                          : kino__string_pool_add(&p->texts, kino__buffer_str(&names->buffer));
    if (kept == KINO_NO_STRING)
        return false;
    *out = names->of[id] = kino__string_pool_text(&p->texts, kept);
    return true;
}

static kino__bound bound_of(const kino__critical *c, const kino__edge *edge, kino_str name)
{
    if (edge->type == KINO__EDGE_KERNEL_DELAY)
        return KINO__BOUND_KERNEL_DELAY;
    if (edge->type == KINO__EDGE_LAUNCH_DELAY)
        return KINO__BOUND_LAUNCH_DELAY;
    if (edge->type != KINO__EDGE_OPERATOR || edge->event == KINO_NO_ROW)
        return KINO__BOUND_NONE;
    if (c->stream[edge->event] < 0)
        return kino__name_flags(c, edge->event) & KINO__NAME_LOAD ? KINO__BOUND_LOADING
                                                                  : KINO__BOUND_CPU;
    kino__kernel_type type = c->f->mode == KINO__FRAME_DEFAULT
                                 ? (kino__kernel_type)c->f->type[edge->event]
                                 : kino__kernel_type_of(name, true);
    return type == KINO__KERNEL_COMMUNICATION ? KINO__BOUND_COMMUNICATION : KINO__BOUND_COMPUTE;
}

static int64_t number_of_label(const kino__label *label)
{
    return label->kind == KINO__LABEL_INT ? label->number : KINO_NO_INT;
}

static bool add_part(kino__critical_result *p, const kino__critical *c, const kino__edge *edge,
                     short_names *names)
{
    const kino__frame *f = c->f;
    kino__critical_part part = {.rank = f->trace->rank,
                                .event = id_of(f, edge->event),
                                .duration = ns_of(f, edge->weight),
                                .type = edge->type,
                                .pid = KINO_NO_INT,
                                .tid = KINO_NO_INT,
                                .stream = KINO_NO_INT};
    if (edge->event != KINO_NO_ROW) {
        uint32_t row = f->row[edge->event];
        const kino__track *track = &f->trace->tracks.items[kino__trace_track_of(f->trace, row)];
        part.pid = number_of_label(&track->pid);
        part.tid = number_of_label(&track->tid);
        part.stream = c->stream[edge->event];
        part.category = kino__trace_category_text(f->trace, f->trace->category[row]);
        if (!short_name(p, f, edge->event, names, &part.name))
            return false;
    }
    part.bound = bound_of(c, edge, part.name);
    kino__critical_part *slot = kino__vec_add(&p->parts);
    if (slot)
        *slot = part;
    return slot != NULL;
}

/* Rows of the path, with the numbers they add up to. */
static bool add_path(kino__critical_result *p, const kino__critical *c, kino__critical_rank *r)
{
    uint8_t *is_seen = calloc((size_t)c->f->count + 1, 1);
    size_t strings = kino__string_pool_count(&c->f->trace->strings);
    short_names names = {.of = calloc(strings + 1, sizeof *names.of)};
    uint32_t node = c->path_start;
    bool ok = is_seen && names.of && kino__vec_reserve(&p->nodes, c->path.count + 1) &&
              kino__vec_reserve(&p->parts, c->path.count);
    for (size_t i = 0; ok && node != KINO__NO_POINT; i++) {
        uint8_t *seen = &is_seen[kino__node_event(c, node)];
        r->path_events += !*seen;
        r->path_nodes++;
        *seen = 1;
        ok = add_node(p, c, node, true);
        if (!ok || i == c->path.count)
            break;
        const kino__edge *edge = &c->edges.items[c->path.items[i]];
        ok = add_part(p, c, edge, &names);
        if (!ok)
            break;
        const kino__critical_part *part = &p->parts.items[p->parts.count - 1];
        r->path_weight = kino__sum(r->path_weight, part->duration);
        r->bound_count[part->bound]++;
        r->bound_time[part->bound] = kino__sum(r->bound_time[part->bound], part->duration);
        node = edge->to;
    }
    kino__buffer_deinit(&names.buffer);
    free(names.of);
    free(is_seen);
    return ok;
}

static bool add_graph(kino__critical_result *p, const kino__critical *c)
{
    for (uint32_t n = 0; n < c->node_count; n++)
        if (!add_node(p, c, n, false))
            return false;
    for (size_t e = 0; e < c->edges.count; e++) {
        const kino__edge *edge = &c->edges.items[e];
        kino__critical_edge *slot = kino__vec_add(&p->edges);
        if (!slot)
            return false;
        *slot = (kino__critical_edge){
            c->f->trace->rank,         edge->from, edge->to, id_of(c->f, edge->event),
            ns_of(c->f, edge->weight), edge->type};
    }
    return true;
}

static bool add_rank(kino__critical_result *p, const kino__critical *c, bool has_graph)
{
    const kino__frame *f = c->f;
    kino__critical_rank *r = kino__vec_add(&p->ranks);
    if (!r)
        return false;
    *r = (kino__critical_rank){.rank = f->trace->rank,
                               .from = ns_of(f, c->from),
                               .to = ns_of(f, c->to),
                               .is_ok = c->is_ok,
                               .in_cycle = c->in_cycle,
                               .left_out = (int64_t)c->edges_left_out,
                               .events = c->event_count,
                               .nodes = c->node_count,
                               .in_graph = c->in_graph,
                               .edges = (int64_t)c->edges.count};
    for (size_t e = 0; e < c->edges.count; e++) {
        const kino__edge *edge = &c->edges.items[e];
        r->type_count[edge->type]++;
        r->type_weight[edge->type] = kino__sum(r->type_weight[edge->type], ns_of(f, edge->weight));
    }
    return add_path(p, c, r) && (!has_graph || add_graph(p, c));
}

/* -- the analysis -- */

static void deinit(void *value)
{
    kino__critical_result *p = value;
    kino__vec_deinit(&p->ranks);
    kino__vec_deinit(&p->nodes);
    kino__vec_deinit(&p->edges);
    kino__vec_deinit(&p->parts);
    kino__string_pool_deinit(&p->texts);
}

static bool look_at(const kino__analysis *a, kino__critical_result *p, const kino__frame *f,
                    const texts *loads)
{
    kino__critical_request request = {.annotation = kino__param_text(a, KINO__CRITICAL_ANNOTATION),
                                      .loads = loads->items,
                                      .load_count = loads->count,
                                      .has_zero_edges =
                                          kino__param_bool(a, KINO__CRITICAL_ZERO_EDGES)};
    (void)read_instances(kino__param_text(a, KINO__CRITICAL_INSTANCE), &request.first,
                         &request.last);
    if (kino__str_is(request.annotation, DEFAULT_ANNOTATION) &&
        !has_name_with(f, request.annotation)) {
        request.annotation = KINO__STR("");
        p->whole++;
    }
    kino__critical c;
    bool ok = kino__critical_make(&c, f, &request);
    if (ok && c.has_region)
        ok = add_rank(p, &c, kino__param_bool(a, KINO__CRITICAL_GRAPH));
    else
        p->missing += f->count > 0;
    kino__critical_deinit(&c);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__critical_result *p = value;
    kino__string_pool_init(&p->texts, NULL);
    const kino__frame *f = kino__frame_of(trace, kino__frame_mode_of(a),
                                          kino__param_bool(a, KINO__CRITICAL_LAST_STEP), a->pool);
    texts loads = {0};
    bool ok =
        f && split(kino__param_text(a, KINO__CRITICAL_LOADS), &loads) && look_at(a, p, f, &loads);
    p->is_cut = f && f->is_cut;
    kino__vec_deinit(&loads);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

#define APPEND(into, from)                                                                         \
    (kino__vec_reserve((into), (from)->count) &&                                                   \
     (memcpy((into)->items + (into)->count, (from)->items, (from)->count * sizeof *(into)->items), \
      (into)->count += (from)->count, true))

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__critical_result *p = into, *more = from;
    size_t before = p->parts.count;
    bool ok = (more->ranks.count == 0 || APPEND(&p->ranks, &more->ranks)) &&
              (more->nodes.count == 0 || APPEND(&p->nodes, &more->nodes)) &&
              (more->edges.count == 0 || APPEND(&p->edges, &more->edges)) &&
              (more->parts.count == 0 || APPEND(&p->parts, &more->parts));
    for (size_t i = before; ok && i < p->parts.count; i++) {
        kino_str *name = &p->parts.items[i].name;
        kino_strid id = kino__string_pool_add(&p->texts, *name);
        ok = id != KINO_NO_STRING;
        *name = ok ? kino__string_pool_text(&p->texts, id) : KINO__STR("");
    }
    p->missing += more->missing;
    p->whole += more->whole;
    p->is_cut |= more->is_cut;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_ints(kino__pack *pack, int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kino__pack_int(pack, &values[i]);
}

static void pack_rank(kino__pack *pack, kino__critical_rank *r)
{
    int64_t *values[] = {&r->rank,       &r->from,     &r->to,         &r->is_ok,
                         &r->in_cycle,   &r->left_out, &r->events,     &r->nodes,
                         &r->in_graph,   &r->edges,    &r->path_nodes, &r->path_events,
                         &r->path_weight};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    pack_ints(pack, r->type_count, KINO__EDGE_TYPES);
    pack_ints(pack, r->type_weight, KINO__EDGE_TYPES);
    pack_ints(pack, r->bound_count, KINO__BOUNDS);
    pack_ints(pack, r->bound_time, KINO__BOUNDS);
}

static void pack_node(kino__pack *pack, kino__critical_node *n)
{
    int64_t *values[] = {&n->rank,   &n->node,        &n->event,  &n->ts,
                         &n->is_end, &n->is_blocking, &n->on_path};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    kino__pack_str(pack, &n->name);
}

static void pack_edge(kino__pack *pack, kino__critical_edge *e)
{
    int64_t *values[] = {&e->rank, &e->from, &e->to, &e->event, &e->weight, &e->type};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    if (e->type < 0 || e->type >= KINO__EDGE_TYPES)
        pack->is_damaged = true;
}

static void pack_part(kino__pack *pack, kino__critical_part *part)
{
    int64_t *values[] = {&part->rank,  &part->event, &part->duration, &part->type,
                         &part->bound, &part->pid,   &part->tid,      &part->stream};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    kino__pack_str(pack, &part->name);
    kino__pack_str(pack, &part->category);
    if (part->type < 0 || part->type >= KINO__EDGE_TYPES || part->bound < 0 ||
        part->bound >= KINO__BOUNDS)
        pack->is_damaged = true;
}

static void pack(kino__pack *pack, void *value)
{
    kino__critical_result *p = value;
    KINO__PACK_VEC(pack, &p->ranks, pack_rank);
    KINO__PACK_VEC(pack, &p->nodes, pack_node);
    KINO__PACK_VEC(pack, &p->edges, pack_edge);
    KINO__PACK_VEC(pack, &p->parts, pack_part);
    kino__pack_int(pack, &p->missing);
    kino__pack_int(pack, &p->whole);
    kino__pack_bool(pack, &p->is_cut);
}

const kino__analysis_def kino__analysis_critical_path = {
    .name = "critical-path",
    .help = "which events decided how long a step took",
    .description =
        "The longest path through a graph of what waited for what: host events by their\n"
        "call stacks, device work by launches, streams and synchronisation. Time between\n"
        "operators at the top of a thread is nobody's and counts nothing. Time on the\n"
        "path is charged to an event and to what it was bound by: the host (cpu_bound,\n"
        "data_loading), the device (gpu_compute_bound, gpu_communication_bound), the gap\n"
        "between kernels of a stream (gpu_kernel_kernel_overhead) or the delay from a\n"
        "launch to its work (gpu_kernel_launch_overhead).\n",
    .params = params,
    .tables = kino__critical_tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(kino__critical_result),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = kino__critical_finish,
    .pack = pack,
    .deinit = deinit,
};
