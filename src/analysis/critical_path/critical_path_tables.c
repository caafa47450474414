/* critical_path_tables.c - the tables of critical-path. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/critical_path/critical_path_result.h"
#include "base/error.h"
#include "base/large.h"

static const char *const type_names[KINO__EDGE_TYPES] = {
    [KINO__EDGE_OPERATOR] = "critical_path_operator",
    [KINO__EDGE_DEPENDENCY] = "critical_path_dependency",
    [KINO__EDGE_LAUNCH_DELAY] = "critical_path_kernel_launch_delay",
    [KINO__EDGE_KERNEL_DELAY] = "critical_path_kernel_kernel_delay",
    [KINO__EDGE_SYNC] = "critical_path_sync_dependency",
};

static const char *const bound_names[KINO__BOUNDS] = {
    [KINO__BOUND_NONE] = "",
    [KINO__BOUND_CPU] = "cpu_bound",
    [KINO__BOUND_CPU_COMMUNICATION] = "cpu_communication_bound",
    [KINO__BOUND_LOADING] = "data_loading",
    [KINO__BOUND_COMMUNICATION] = "gpu_communication_bound",
    [KINO__BOUND_COMPUTE] = "gpu_compute_bound",
    [KINO__BOUND_KERNEL_DELAY] = "gpu_kernel_kernel_overhead",
    [KINO__BOUND_LAUNCH_DELAY] = "gpu_kernel_launch_overhead",
};

static const kino_column summary_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"bound_by", KINO_TYPE_STRING, NULL,
     "what the time was spent on; empty (with compat): edges without time"},
    {"duration", KINO_TYPE_DURATION, NULL, "time on the path"},
    {"percent", KINO_TYPE_PERCENT, NULL, "of all time on the path"},
    {0},
};

static const kino_column path_columns[] = {
    [KINO__PATH_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [KINO__PATH_NODE] = {"node", KINO_TYPE_INT, NULL, "index of the node, in time order"},
    [KINO__PATH_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of its event"},
    [KINO__PATH_NAME] = {"name", KINO_TYPE_STRING, NULL, "of the event"},
    [KINO__PATH_IS_START] = {"is_start", KINO_TYPE_BOOL, NULL,
                             "start of the event (otherwise its end)"},
    {"ts", KINO_TYPE_TIME, NULL, NULL},
    {0},
};

static const kino_column type_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"type", KINO_TYPE_STRING, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "edges of the graph"},
    {"weight", KINO_TYPE_DURATION, NULL, "sum of their times"},
    {0},
};

static const kino_column breakdown_columns[] = {
    [KINO__PATH_PARTS_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [KINO__PATH_PARTS_EVENT] = {"event_idx", KINO_TYPE_INT, KINO_UNIT_EVENT,
                                "id of the charged event"},
    [KINO__PATH_PARTS_DURATION] = {"duration", KINO_TYPE_DURATION, NULL, NULL},
    [KINO__PATH_PARTS_TYPE] = {"type", KINO_TYPE_STRING, NULL, "of the edge"},
    {"s_name", KINO_TYPE_STRING, NULL, "name of the event, without templates and arguments"},
    {"cat", KINO_TYPE_STRING, NULL, NULL},
    {"pid", KINO_TYPE_INT, NULL, NULL},
    {"tid", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"bound_by", KINO_TYPE_STRING, NULL, NULL},
    {0},
};

static const kino_column graph_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"events", KINO_TYPE_INT, "count", "in the region"},
    {"nodes", KINO_TYPE_INT, "count", "starts and ends of the events in the graph"},
    {"graph_nodes", KINO_TYPE_INT, "count", "nodes with an edge"},
    {"edges", KINO_TYPE_INT, "count", NULL},
    {"path_nodes", KINO_TYPE_INT, "count", "on the critical path"},
    {"path_events", KINO_TYPE_INT, "count", "events with a node on it"},
    {"path_weight", KINO_TYPE_DURATION, NULL, "its length"},
    {"region", KINO_TYPE_DURATION, NULL,
     "from the start of the region to its end or the end of the path"},
    {"is_ok", KINO_TYPE_BOOL, NULL, "the graph has no cycle, and no stream waits for itself"},
    {0},
};

static const kino_column node_columns[] = {
    [KINO__PATH_NODES_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [KINO__PATH_NODES_NODE] = {"node", KINO_TYPE_INT, NULL, NULL},
    [KINO__PATH_NODES_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of its event"},
    [KINO__PATH_NODES_TS] = {"ts", KINO_TYPE_TIME, NULL, NULL},
    [KINO__PATH_NODES_IS_START] = {"is_start", KINO_TYPE_BOOL, NULL, NULL},
    {"is_blocking", KINO_TYPE_BOOL, NULL, "whether the event is a call that waits for the device"},
    {0},
};

static const kino_column edge_columns[] = {
    [KINO__PATH_EDGES_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [KINO__PATH_EDGES_BEGIN] = {"begin", KINO_TYPE_INT, NULL, "node"},
    [KINO__PATH_EDGES_END] = {"end", KINO_TYPE_INT, NULL, "node"},
    [KINO__PATH_EDGES_TYPE] = {"type", KINO_TYPE_STRING, NULL, NULL},
    [KINO__PATH_EDGES_WEIGHT] = {"weight", KINO_TYPE_DURATION, NULL, NULL},
    {"attributed_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the charged event"},
    {0},
};

const kino_table_info kino__critical_tables[] = {
    [KINO__CRITICAL_TABLE_SUMMARY] = {"summary", "one row per rank and cause", summary_columns,
                                      NULL, "not available: no events in the graph"},
    [KINO__CRITICAL_TABLE_PATH] = {"path", "one row per node of the critical path, in path order",
                                   path_columns, NULL, NULL},
    [KINO__CRITICAL_TABLE_TYPES] = {"edges_by_type", "one row per rank and type of edge",
                                    type_columns, NULL, NULL},
    [KINO__CRITICAL_TABLE_BREAKDOWN] = {"breakdown",
                                        "one row per edge of the critical path, in path order",
                                        breakdown_columns, NULL, NULL},
    [KINO__CRITICAL_TABLE_GRAPH] =
        {"graph", "one row per rank: the size of the graph and of its critical path", graph_columns,
         NULL, NULL},
    [KINO__CRITICAL_TABLE_NODES] = {"nodes", "one row per node, if graph is set", node_columns,
                                    NULL, "requires graph"},
    [KINO__CRITICAL_TABLE_EDGES] = {"edges", "one row per edge, if graph is set", edge_columns,
                                    NULL, "requires graph"},
    {0},
};

static void add_text(kino__table *table, const char *text)
{
    kino__table_add_text(table, kino__str_from(text));
}

/* Edges without time are a row only where HTA has one. */
static void add_rank(kino_result *result, const kino__critical_rank *r, bool is_compat)
{
    kino__table *summary = kino__analysis_table(result, KINO__CRITICAL_TABLE_SUMMARY);
    for (int b = 0; b < KINO__BOUNDS; b++) {
        if (r->bound_count[b] == 0 || (!is_compat && b == KINO__BOUND_NONE && !r->bound_time[b]))
            continue;
        double total = (double)r->path_weight;
        kino__table_add_int(summary, r->rank);
        add_text(summary, bound_names[b]);
        KINO__TABLE_ADD(summary, r->bound_time[b],
                        r->path_weight ? 100 * (double)r->bound_time[b] / total : NAN);
    }
    kino__table *types = kino__analysis_table(result, KINO__CRITICAL_TABLE_TYPES);
    for (int t = 0; t < KINO__EDGE_TYPES; t++) {
        if (r->type_count[t] == 0)
            continue;
        kino__table_add_int(types, r->rank);
        add_text(types, type_names[t]);
        KINO__TABLE_ADD(types, r->type_count[t], r->type_weight[t]);
    }
    kino__table *graph = kino__analysis_table(result, KINO__CRITICAL_TABLE_GRAPH);
    const int64_t values[] = {
        r->rank,  r->events,     r->nodes,       r->in_graph,
        r->edges, r->path_nodes, r->path_events, r->path_nodes ? r->path_weight : KINO_NO_INT};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__table_add_int(graph, values[i]);
    KINO__TABLE_ADD(graph, kino__time_between(r->from, r->to), r->is_ok);
}

/* -- long tables: rows at once, each text once, a thread for each table -- */

typedef struct filling {
    const kino__critical_result *p;
    kino_result *result;
    kino_cell *texts; /* by number, in the arena of the result */
    kino_cell types[KINO__EDGE_TYPES], bounds[KINO__BOUNDS];
    bool has_failed[3]; /* by job */
} filling;

static bool filling_init(filling *fill, const kino__critical_result *p, kino_result *result)
{
    size_t count = kino__string_pool_count(&p->texts);
    *fill = (filling){.p = p, .result = result, .texts = malloc((count + 1) * sizeof *fill->texts)};
    for (kino_strid id = 0; id < count && fill->texts; id++) {
        kino_str copy = kino__arena_copy(&result->arena, kino__string_pool_text(&p->texts, id));
        fill->texts[id] = kino__cell_text(copy);
        result->failed |= !copy.data;
    }
    for (int t = 0; t < KINO__EDGE_TYPES; t++)
        fill->types[t] = kino__cell_text(kino__str_from(type_names[t]));
    for (int b = 0; b < KINO__BOUNDS; b++)
        fill->bounds[b] = kino__cell_text(kino__str_from(bound_names[b]));
    return fill->texts != NULL;
}

static kino_cell text(const filling *fill, uint32_t id)
{
    return id == KINO_NO_STRING ? kino__cell_null() : fill->texts[id];
}

static kino_cell number(int64_t value)
{
    return value == KINO_NO_INT ? kino__cell_null() : kino__cell_int(value);
}

static bool add_row(kino__table *table, const kino_cell *cells, size_t count)
{
    if (!kino__vec_reserve(&table->cells, count))
        return false;
    memcpy(table->cells.items + table->cells.count, cells, count * sizeof *cells);
    table->cells.count += count;
    return true;
}

#define ADD_ROW(table, ...)                                                                        \
    add_row(table, (const kino_cell[]){__VA_ARGS__},                                               \
            sizeof((const kino_cell[]){__VA_ARGS__}) / sizeof(kino_cell))

static bool add_nodes(const filling *fill, kino__table *path, kino__table *nodes)
{
    bool ok = true;
    for (size_t i = 0; ok && i < fill->p->nodes.count; i++) {
        const kino__critical_node *n = &fill->p->nodes.items[i];
        kino_cell name =
            n->name == KINO_NO_STRING ? kino__cell_text(KINO__STR("")) : fill->texts[n->name];
        if (n->on_path)
            ok = ADD_ROW(path, number(n->rank), kino__cell_int(n->node), number(n->event), name,
                         kino__cell_int(!n->is_end), number(n->ts));
        else
            ok = ADD_ROW(nodes, number(n->rank), kino__cell_int(n->node), number(n->event),
                         number(n->ts), kino__cell_int(!n->is_end), kino__cell_int(n->is_blocking));
    }
    return ok;
}

static bool add_parts(const filling *fill, kino__table *table)
{
    bool ok = true;
    for (size_t i = 0; ok && i < fill->p->parts.count; i++) {
        const kino__critical_part *part = &fill->p->parts.items[i];
        ok = ADD_ROW(table, number(part->rank), number(part->event), number(part->duration),
                     fill->types[part->type], text(fill, part->name), text(fill, part->category),
                     number(part->pid), number(part->tid), number(part->stream),
                     fill->bounds[part->bound]);
    }
    return ok;
}

static bool add_edges(const filling *fill, kino__table *table)
{
    bool ok = true;
    for (size_t i = 0; ok && i < fill->p->edges.count; i++) {
        const kino__critical_edge *edge = &fill->p->edges.items[i];
        ok = ADD_ROW(table, number(edge->rank), number(edge->from), number(edge->to),
                     fill->types[edge->type], number(edge->weight), number(edge->event));
    }
    return ok;
}

/* Paths may have a million rows: room at once, where there is some. */
static kino__table *expect_rows(kino_result *result, size_t index, size_t rows)
{
    kino__table *table = kino__analysis_table(result, index);
    if (table) {
        table->cells.allocator = &kino__large_allocator;
        (void)kino__vec_reserve(&table->cells, rows * table->column_count);
    }
    return table;
}

static void fill_table(void *context, unsigned worker, size_t job)
{
    (void)worker;
    filling *fill = context;
    const kino__critical_result *p = fill->p;
    kino__table *table = NULL, *nodes = NULL;
    bool ok = false;
    switch (job) {
    case 0:
        table = expect_rows(fill->result, KINO__CRITICAL_TABLE_BREAKDOWN, p->parts.count);
        ok = table && add_parts(fill, table);
        break;
    case 1:
        table =
            expect_rows(fill->result, KINO__CRITICAL_TABLE_PATH, p->parts.count + p->ranks.count);
        nodes = expect_rows(fill->result, KINO__CRITICAL_TABLE_NODES, 0);
        ok = table && nodes && add_nodes(fill, table, nodes);
        break;
    default:
        table = expect_rows(fill->result, KINO__CRITICAL_TABLE_EDGES, p->edges.count);
        ok = table && add_edges(fill, table);
    }
    fill->has_failed[job] = !ok;
}

static void add_rows(const kino__analysis *a, const kino__critical_result *p, kino_result *result)
{
    filling fill;
    bool ok = filling_init(&fill, p, result);
    if (ok)
        kino__pool_run(a->pool, 3, fill_table, &fill);
    result->failed |= !ok || fill.has_failed[0] || fill.has_failed[1] || fill.has_failed[2];
    free(fill.texts);
}

static void add_notes(const kino__analysis *a, const kino__critical_result *p, kino_result *result)
{
    kino_str annotation = kino__param_text(a, KINO__CRITICAL_ANNOTATION);
    if (p->whole)
        kino__result_note(result, "no profiler steps: the whole trace was analyzed (ranks: %lld)",
                          (long long)p->whole);
    if (p->missing)
        kino__result_note(result, "not available: no such instance of '%.*s' (ranks: %lld)",
                          KINO__STR_ARG(annotation), (long long)p->missing);
    for (size_t i = 0; i < p->ranks.count; i++) {
        const kino__critical_rank *r = &p->ranks.items[i];
        char whose[32] = "a trace without a rank";
        if (r->rank != KINO_NO_INT)
            (void)snprintf(whose, sizeof whose, "rank %lld", (long long)r->rank);
        if (r->in_cycle)
            kino__result_note(result, "%s: %lld nodes wait for each other and are left out", whose,
                              (long long)r->in_cycle);
        else if (!r->is_ok)
            kino__result_note(result, "%s: a stream waits for itself", whose);
        if (r->left_out)
            kino__result_note(result, "%s: %lld synchronization edges are left out", whose,
                              (long long)r->left_out);
        if (r->unlaunched)
            kino__result_note(result,
                              "%s: %lld device and synchronization events have no launch in the "
                              "trace and are left out",
                              whose, (long long)r->unlaunched);
    }
    kino__note_cut(result, p->is_cut);
}

kino_status kino__critical_finish(const kino__analysis *a, void *partial, kino_result *result,
                                  kino_error *err)
{
    const kino__critical_result *p = partial;
    kino_str annotation = kino__param_text(a, KINO__CRITICAL_ANNOTATION);
    kino_str instance = kino__param_text(a, KINO__CRITICAL_INSTANCE);
    if (p->missing && p->ranks.count == 0)
        return kino__fail(err, KINO_NOT_FOUND,
                          "no instance %.*s of events whose name contains '%.*s'",
                          KINO__STR_ARG(instance), KINO__STR_ARG(annotation));
    bool is_compat = kino__frame_mode_of(a) != KINO__FRAME_DEFAULT;
    for (size_t i = 0; i < p->ranks.count; i++)
        add_rank(result, &p->ranks.items[i], is_compat);
    add_rows(a, p, result);
    add_notes(a, p, result);
    return KINO_OK;
}
