/* critical_path.c - which events decided how long a step took?
 *
 * Method: a graph whose edges say what had to wait for what (critical_path_internal.h), and the
 * longest path through it. Cost: linear in the events of the region, besides the queue lengths of
 * the trace, which are sorted. */
#include <stdlib.h>

#include "analysis/critical_path/critical_path_result.h"
#include "base/error.h"
#include "base/large.h"

#define DEFAULT_ANNOTATION "ProfilerStep"

static const kino_param_info params[] = {
    [KINO__CRITICAL_ANNOTATION] = {"annotation", KINO_TYPE_STRING, DEFAULT_ANNOTATION,
                                   "analyze events whose name contains this; \"\": all events",
                                   NULL},
    [KINO__CRITICAL_INSTANCE] =
        {"instance", KINO_TYPE_STRING, "0",
         "which of these events, counting from 0; 1-3: the second to the fourth", NULL},
    [KINO__CRITICAL_LOADS] =
        {"data_load_events", KINO_TYPE_STRING, NULL,
         "treat events whose name contains one of these as data loading, separated by commas",
         NULL},
    [KINO__CRITICAL_ZERO_EDGES] = {"zero_weight_edges", KINO_TYPE_BOOL, "no",
                                   "add an edge from every launch to its work", NULL},
    [KINO__CRITICAL_GRAPH] = {"graph", KINO_TYPE_BOOL, "no", "also list all nodes and edges", NULL},
    [KINO__CRITICAL_LAST_STEP] = KINO__PARAM_LAST_STEP,
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
                      "invalid value '%.*s' for parameter 'instance' (expected: a number from 0, "
                      "or a range such as 1-3)",
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

/* Texts of the trace among those of the partial, each looked up once. */
typedef struct text_ids {
    uint32_t *full, *brief; /* by string: its text, and as HTA shortens it */
    uint32_t *category;     /* by id */
    size_t category_count;
    kino__buffer buffer;
    uint32_t track; /* of the event before */
} text_ids;

static void text_ids_deinit(text_ids *ids)
{
    free(ids->full);
    free(ids->brief);
    free(ids->category);
    kino__buffer_deinit(&ids->buffer);
}

static bool text_ids_init(text_ids *ids, const kino__trace *trace)
{
    size_t strings = kino__string_pool_count(&trace->strings) + 1;
    *ids = (text_ids){.category_count = KINO__CATEGORY_COUNT + trace->own_categories.count};
    ids->full = malloc(strings * sizeof *ids->full);
    ids->brief = malloc(strings * sizeof *ids->brief);
    ids->category = malloc(ids->category_count * sizeof *ids->category);
    if (!ids->full || !ids->brief || !ids->category)
        return false;
    memset(ids->full, 0xff, strings * sizeof *ids->full);
    memset(ids->brief, 0xff, strings * sizeof *ids->brief);
    memset(ids->category, 0xff, ids->category_count * sizeof *ids->category);
    return true;
}

/* *id: of this text, unless it is known already. */
static bool find_text(kino__critical_result *p, kino_str text, uint32_t *id)
{
    if (*id == KINO_NO_STRING && text.size)
        *id = kino__string_pool_add(&p->texts, text);
    return *id != KINO_NO_STRING || text.size == 0;
}

static bool full_name(kino__critical_result *p, const kino__frame *f, uint32_t at, text_ids *ids,
                      uint32_t *out)
{
    kino_strid id = f->trace->name[f->row[at]];
    *out = KINO_NO_STRING;
    if (id == KINO_NO_STRING)
        return true;
    bool ok = find_text(p, kino__trace_string(f->trace, id), &ids->full[id]);
    *out = ids->full[id];
    return ok;
}

static bool short_name(kino__critical_result *p, const kino__frame *f, uint32_t at, text_ids *ids,
                       uint32_t *out)
{
    kino_strid id = f->trace->name[f->row[at]];
    *out = id == KINO_NO_STRING ? KINO_NO_STRING : ids->brief[id];
    if (id == KINO_NO_STRING || *out != KINO_NO_STRING)
        return true;
    kino_str name = kino__trace_string(f->trace, id);
    ids->buffer.size = 0;
    kino__short_name(name, kino__kernel_type_of(name, true) == KINO__KERNEL_MEMORY, &ids->buffer);
    bool ok = !ids->buffer.failed && find_text(p, kino__buffer_str(&ids->buffer), &ids->brief[id]);
    *out = ids->brief[id];
    return ok;
}

static bool category_of(kino__critical_result *p, const kino__trace *trace, uint32_t row,
                        text_ids *ids, uint32_t *out)
{
    uint16_t id = trace->category[row];
    *out = KINO_NO_STRING;
    if (id >= ids->category_count)
        return true;
    bool ok = find_text(p, kino__trace_category_text(trace, id), &ids->category[id]);
    *out = ids->category[id];
    return ok;
}

static bool add_node(kino__critical_result *p, const kino__critical *c, uint32_t node, bool on_path,
                     text_ids *ids)
{
    const kino__frame *f = c->f;
    uint32_t at = kino__node_event(c, node), row = f->row[at], name;
    bool is_end = kino__node_is_end(c, node);
    kino__critical_node *slot = kino__vec_add(&p->nodes);
    if (!slot || !full_name(p, f, at, ids, &name))
        return false;
    int64_t length = is_end ? f->trace->dur[row] : 0;
    *slot = (kino__critical_node){.rank = f->trace->rank,
                                  .event = id_of(f, at),
                                  .ts = kino__sum(f->trace->ts[row], length),
                                  .node = node,
                                  .name = name,
                                  .is_end = is_end,
                                  .is_blocking = kino__name_flags(c, at) & KINO__NAME_BLOCKING,
                                  .on_path = on_path};
    return true;
}

static kino__bound host_bound_of(const kino__critical *c, uint32_t at)
{
    const uint16_t comm = KINO__NAME_CARRIES | KINO__NAME_DISPATCHES | KINO__NAME_AWAITS;
    if (kino__name_flags(c, at) & KINO__NAME_LOAD)
        return KINO__BOUND_LOADING;
    return c->is_comm_on_host && kino__is_comm_span(c, at, comm) ? KINO__BOUND_CPU_COMMUNICATION
                                                                 : KINO__BOUND_CPU;
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
        return host_bound_of(c, edge->event);
    kino__kernel_type type = c->f->mode == KINO__FRAME_DEFAULT
                                 ? (kino__kernel_type)c->f->type[edge->event]
                                 : kino__kernel_type_of(name, true);
    return type == KINO__KERNEL_COMMUNICATION ? KINO__BOUND_COMMUNICATION : KINO__BOUND_COMPUTE;
}

static int64_t number_of_label(const kino__label *label)
{
    return label->kind == KINO__LABEL_INT ? label->number : KINO_NO_INT;
}

/* Neighbours on a path are mostly of one track. */
static const kino__track *track_of(const kino__trace *trace, uint32_t row, uint32_t *hint)
{
    if (row - trace->tracks.items[*hint].first >= trace->tracks.items[*hint].count)
        *hint = kino__trace_track_of(trace, row);
    return &trace->tracks.items[*hint];
}

static bool add_part(kino__critical_result *p, const kino__critical *c, const kino__edge *edge,
                     text_ids *ids)
{
    const kino__frame *f = c->f;
    kino__critical_part part = {.rank = f->trace->rank,
                                .event = id_of(f, edge->event),
                                .duration = ns_of(f, edge->weight),
                                .type = edge->type,
                                .pid = KINO_NO_INT,
                                .tid = KINO_NO_INT,
                                .stream = KINO_NO_INT,
                                .name = KINO_NO_STRING,
                                .category = KINO_NO_STRING};
    if (edge->event != KINO_NO_ROW) {
        uint32_t row = f->row[edge->event];
        const kino__track *track = track_of(f->trace, row, &ids->track);
        part.pid = number_of_label(&track->pid);
        part.tid = number_of_label(&track->tid);
        part.stream = c->stream[edge->event];
        if (!category_of(p, f->trace, row, ids, &part.category) ||
            !short_name(p, f, edge->event, ids, &part.name))
            return false;
    }
    part.bound = bound_of(
        c, edge,
        part.name == KINO_NO_STRING ? KINO__STR("") : kino__string_pool_text(&p->texts, part.name));
    kino__critical_part *slot = kino__vec_add(&p->parts);
    if (slot)
        *slot = part;
    return slot != NULL;
}

/* On the clock of the region, which is the frame's. */
static int64_t time_of(const kino__critical *c, uint32_t node)
{
    uint32_t at = kino__node_event(c, node);
    return kino__sum(c->f->ts[at], kino__node_is_end(c, node) ? c->f->dur[at] : 0);
}

/* Rows of the path, with the numbers they add up to. */
static bool add_path(kino__critical_result *p, const kino__critical *c, kino__critical_rank *r,
                     text_ids *ids)
{
    uint8_t *is_seen = kino__large_new((size_t)c->f->count + 1, sizeof *is_seen);
    uint32_t node = c->path_start;
    bool ok = is_seen && kino__vec_reserve(&p->nodes, c->path.count + 1) &&
              kino__vec_reserve(&p->parts, c->path.count);
    for (size_t i = 0; ok && node != KINO__NO_POINT; i++) {
        uint8_t *seen = &is_seen[kino__node_event(c, node)];
        r->path_events += !*seen;
        r->path_nodes++;
        *seen = 1;
        ok = add_node(p, c, node, true, ids);
        int64_t ts = ns_of(c->f, time_of(c, node));
        r->to = ts > r->to ? ts : r->to; /* what began in the region may end after it */
        if (!ok || i == c->path.count)
            break;
        const kino__edge *edge = &c->edges.items[c->path.items[i]];
        ok = add_part(p, c, edge, ids);
        if (!ok)
            break;
        const kino__critical_part *part = &p->parts.items[p->parts.count - 1];
        r->path_weight = kino__sum(r->path_weight, part->duration);
        r->bound_count[part->bound]++;
        r->bound_time[part->bound] = kino__sum(r->bound_time[part->bound], part->duration);
        node = edge->to;
    }
    kino__large_free(is_seen);
    return ok;
}

static bool add_graph(kino__critical_result *p, const kino__critical *c, text_ids *ids)
{
    for (uint32_t n = 0; n < c->node_count; n++)
        if (!add_node(p, c, n, false, ids))
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
                               .unlaunched = c->unlaunched,
                               .events = c->event_count,
                               .nodes = c->node_count,
                               .in_graph = c->in_graph,
                               .edges = (int64_t)c->edges.count};
    for (size_t e = 0; e < c->edges.count; e++) {
        const kino__edge *edge = &c->edges.items[e];
        r->type_count[edge->type]++;
        r->type_weight[edge->type] = kino__sum(r->type_weight[edge->type], ns_of(f, edge->weight));
    }
    text_ids ids;
    bool ok = text_ids_init(&ids, f->trace) && add_path(p, c, r, &ids) &&
              (!has_graph || add_graph(p, c, &ids));
    text_ids_deinit(&ids);
    return ok;
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
    p->nodes.allocator = p->parts.allocator = p->edges.allocator = &kino__large_allocator;
    const kino__frame *f = kino__frame_asked(a, trace, KINO__CRITICAL_LAST_STEP);
    texts loads = {0};
    bool ok =
        f && split(kino__param_text(a, KINO__CRITICAL_LOADS), &loads) && look_at(a, p, f, &loads);
    p->is_cut = f && f->is_cut;
    kino__vec_deinit(&loads);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* Numbers of texts that were `more`'s. */
static bool renumber(kino__critical_result *p, const kino__critical_result *more, size_t nodes,
                     size_t parts)
{
    size_t count = kino__string_pool_count(&more->texts);
    uint32_t *ids = malloc((count + 1) * sizeof *ids);
    bool ok = ids != NULL;
    for (kino_strid id = 0; ok && id < count; id++) {
        ids[id] = kino__string_pool_add(&p->texts, kino__string_pool_text(&more->texts, id));
        ok = ids[id] != KINO_NO_STRING;
    }
    for (size_t i = nodes; ok && i < p->nodes.count; i++)
        if (p->nodes.items[i].name != KINO_NO_STRING)
            p->nodes.items[i].name = ids[p->nodes.items[i].name];
    for (size_t i = parts; ok && i < p->parts.count; i++) {
        kino__critical_part *part = &p->parts.items[i];
        part->name = part->name == KINO_NO_STRING ? part->name : ids[part->name];
        part->category = part->category == KINO_NO_STRING ? part->category : ids[part->category];
    }
    free(ids);
    return ok;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__critical_result *p = into, *more = from;
    size_t nodes = p->nodes.count, parts = p->parts.count;
    bool ok = kino__vec_append(&p->ranks, &more->ranks) &&
              kino__vec_append(&p->nodes, &more->nodes) &&
              kino__vec_append(&p->edges, &more->edges) &&
              kino__vec_append(&p->parts, &more->parts) && renumber(p, more, nodes, parts);
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
    int64_t *values[] = {&r->rank,       &r->is_ok,       &r->in_cycle,    &r->left_out,
                         &r->events,     &r->nodes,       &r->in_graph,    &r->edges,
                         &r->path_nodes, &r->path_events, &r->path_weight, &r->unlaunched};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    kino__pack_frame_time(pack, &r->from);
    kino__pack_frame_time(pack, &r->to);
    pack_ints(pack, r->type_count, KINO__EDGE_TYPES);
    pack_ints(pack, r->type_weight, KINO__EDGE_TYPES);
    pack_ints(pack, r->bound_count, KINO__BOUNDS);
    pack_ints(pack, r->bound_time, KINO__BOUNDS);
}

static void pack_node(kino__pack *pack, kino__critical_node *n)
{
    bool *claims[] = {&n->is_end, &n->is_blocking, &n->on_path};
    kino__pack_int(pack, &n->rank);
    kino__pack_event(pack, &n->event);
    kino__pack_time(pack, &n->ts);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        kino__pack_bool(pack, claims[i]);
    KINO__PACK(pack, &n->node, &n->name);
}

static void pack_edge(kino__pack *pack, kino__critical_edge *e)
{
    int64_t *values[] = {&e->rank, &e->from, &e->to, &e->weight, &e->type};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    kino__pack_event(pack, &e->event);
    if (e->type < 0 || e->type >= KINO__EDGE_TYPES)
        pack->is_damaged = true;
}

static void pack_part(kino__pack *pack, kino__critical_part *part)
{
    int64_t *values[] = {&part->rank, &part->duration, &part->pid, &part->tid, &part->stream};
    uint32_t *numbers[] = {&part->name, &part->category, &part->type, &part->bound};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        kino__pack_u32(pack, numbers[i]);
    kino__pack_event(pack, &part->event);
    if (part->type >= KINO__EDGE_TYPES || part->bound >= KINO__BOUNDS)
        pack->is_damaged = true;
}

static bool is_text(const kino__critical_result *p, uint32_t id)
{
    return id == KINO_NO_STRING || id < kino__string_pool_count(&p->texts);
}

static void pack(kino__pack *pack, void *value)
{
    kino__critical_result *p = value;
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->ranks, pack_rank);
    KINO__PACK_VEC(pack, &p->nodes, pack_node);
    KINO__PACK_VEC(pack, &p->edges, pack_edge);
    KINO__PACK_VEC(pack, &p->parts, pack_part);
    KINO__PACK(pack, &p->missing, &p->whole, &p->is_cut);
    for (size_t i = 0; i < p->nodes.count; i++)
        pack->is_damaged |= !is_text(p, p->nodes.items[i].name);
    for (size_t i = 0; i < p->parts.count; i++)
        pack->is_damaged |=
            !is_text(p, p->parts.items[i].name) || !is_text(p, p->parts.items[i].category);
}

const kino__analysis_def kino__analysis_critical_path = {
    .name = "critical-path",
    .help = "which events determined how long a step took",
    .description =
        "The longest path through a graph of dependencies: host events by their call\n"
        "stacks, device work by launches, streams and synchronization. Time between\n"
        "top-level operators of a thread is not attributed to anything and has no weight.\n"
        "Time on the path is charged to an event and to what bounds it: the host\n"
        "(cpu_bound, data_loading, or cpu_communication_bound for collectives of Gloo,\n"
        "MPI and UCC), the device (gpu_compute_bound, gpu_communication_bound), the gap\n"
        "between kernels of a stream (gpu_kernel_kernel_overhead), or the delay from a\n"
        "launch to its work (gpu_kernel_launch_overhead).\n",
    .params = params,
    .tables = kino__critical_tables,
    .compat = kino__frame_compat,
    .grows = true,
    .partial_size = sizeof(kino__critical_result),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = kino__critical_finish,
    .pack = pack,
    .deinit = deinit,
};
