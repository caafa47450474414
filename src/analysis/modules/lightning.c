/* lightning.c - a run of PyTorch Lightning: its modules, and the actions of its trainer.
 *
 * Method: Lightning marks modules as operators "[pl][module]<type>: <name>" and actions of the
 * trainer as "[pl][profile]<action>". Modules form a tree by their names: a.b is above a.b.c.
 * Actions nest by time on their thread.
 * Cost: one pass over the nodes, one over the rows. */
#include <stdlib.h>

#include "analysis/modules/module_tree.h"
#include "base/error.h"

typedef struct action {
    int64_t rank;
    uint32_t id, parent, depth; /* as in kino__module_row */
    kino_strid name;            /* in partial.modules.texts */
    int64_t tid;
    int64_t start, duration;
    int64_t event;
} action;

typedef struct partial {
    kino__module_partial modules;
    KINO__VEC(action) actions;
    int64_t traces, lightning, crossing;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__module_partial_deinit(&p->modules);
    kino__vec_deinit(&p->actions);
}

static kino_str behind(kino_str text, kino_str prefix)
{
    return kino__str_starts_with(text, prefix)
               ? (kino_str){text.data + prefix.size, text.size - prefix.size}
               : text;
}

/* "[pl][module]torch.nn.Linear: model.fc" -> "model.fc" */
static kino_str module_name(kino_str text)
{
    kino_str rest = behind(text, KINO__STR("[pl][module]"));
    const char *colon = memmem(rest.data, rest.size, ": ", 2);
    if (colon)
        rest = (kino_str){colon + 2, (size_t)(rest.data + rest.size - colon - 2)};
    return rest;
}

/* -- modules -- */

/* "a.b" of "a.b.c"; empty where there is no dot. */
static kino_str name_above(kino_str name)
{
    while (name.size && name.data[name.size - 1] != '.')
        name.size--;
    return name.size ? (kino_str){name.data, name.size - 1} : name;
}

static void hang_by_name(kino__module_tree *tree, const kino__string_pool *names)
{
    for (uint32_t i = 0; i < tree->places.count; i++) {
        kino_str above = name_above(tree->places.items[i].name);
        kino_strid parent = above.size ? kino__string_pool_find(names, above) : KINO_NO_STRING;
        if (parent != KINO_NO_STRING && parent != i)
            kino__module_tree_hang(tree, parent, i);
    }
}

typedef struct first_call {
    int64_t ts;
    uint32_t number, node;
} first_call;

static int compare_calls(const void *a, const void *b)
{
    const first_call *x = a, *y = b;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The tree's places have the numbers of the names. */
static bool add_calls(kino__module_tree *tree, kino__string_pool *names, const first_call *calls,
                      size_t count)
{
    const kino__profile *p = tree->profile;
    for (size_t i = 0; i < count; i++) {
        const kino__node *n = &p->nodes.items[calls[i].node];
        kino_str name = module_name(kino__node_name(p, n));
        kino_strid place = kino__string_pool_add_borrowed(names, name);
        if (place == KINO_NO_STRING)
            return false;
        if (place == tree->places.count &&
            kino__module_tree_add(tree, KINO__NO_NODE, name, 0) == KINO__NO_NODE)
            return false;
        if (!n->is_dropped)
            kino__module_sums_add(&tree->places.items[place].sums, p, calls[i].node);
    }
    return true;
}

static bool map_modules(const kino__profile *profile, partial *p)
{
    kino__module_tree tree = {.profile = profile};
    kino__string_pool names;
    KINO__VEC(first_call) calls = {0};
    kino__string_pool_init(&names, NULL);
    bool ok = true;
    for (uint32_t i = 0; ok && i < profile->nodes.count; i++) {
        const kino__node *n = &profile->nodes.items[i];
        if (n->class != KINO__NODE_PL_MODULE)
            continue;
        first_call *slot = kino__vec_add(&calls);
        ok = slot != NULL;
        if (ok)
            *slot = (first_call){kino__node_start(profile, n), profile->trace->number[n->row], i};
    }
    if (ok && calls.count)
        qsort(calls.items, calls.count, sizeof *calls.items, compare_calls);
    ok = ok && add_calls(&tree, &names, calls.items, calls.count);
    hang_by_name(&tree, &names);
    ok = ok && kino__module_tree_emit(&tree, &p->modules);
    kino__module_tree_deinit(&tree);
    kino__string_pool_deinit(&names);
    kino__vec_deinit(&calls);
    return ok;
}

/* -- actions -- */

typedef KINO__VEC(uint32_t) places; /* of actions: those around the current one */

static int64_t end_of(const action *a)
{
    int64_t end;
    return __builtin_add_overflow(a->start, a->duration, &end) ? INT64_MAX : end;
}

/* One that crosses the end of the one it starts in has no place in the tree. */
static bool add_action(const kino__profile *profile, partial *p, places *open, uint32_t row)
{
    const kino__trace *trace = profile->trace;
    kino__interval span = kino__interval_of(trace->ts[row], trace->dur[row]);
    while (open->count && span.start >= end_of(&p->actions.items[open->items[open->count - 1]]))
        open->count--;
    const action *above = open->count ? &p->actions.items[open->items[open->count - 1]] : NULL;
    if (above && span.end > end_of(above)) {
        p->crossing++;
        return true;
    }
    const kino__track *track = &trace->tracks.items[kino__trace_track_of(trace, row)];
    action a = {.rank = trace->rank,
                .id = (uint32_t)p->actions.count,
                .parent = above ? above->id : KINO__NO_NODE,
                .depth = (uint32_t)open->count,
                .tid = track->tid.kind == KINO__LABEL_INT ? track->tid.number : KINO_NO_INT,
                .start = span.start,
                .duration = span.end - span.start,
                .event = kino__trace_event_id(trace, row)};
    a.name = kino__string_pool_add_borrowed(
        &p->modules.texts,
        behind(kino__trace_string(trace, trace->name[row]), KINO__STR("[pl][profile]")));
    action *slot = kino__vec_add(&p->actions);
    uint32_t *top = kino__vec_add(open);
    if (!slot || !top || a.name == KINO_NO_STRING)
        return false;
    *slot = a;
    *top = a.id;
    return true;
}

/* Rows of a track stand as they nest: by start, longer first. */
static bool map_actions(const kino__profile *profile, partial *p)
{
    places open = {0};
    bool ok = true;
    for (size_t t = 0; ok && t < profile->trace->tracks.count; t++) {
        const kino__track *track = &profile->trace->tracks.items[t];
        open.count = 0;
        for (uint32_t row = track->first; ok && row - track->first < track->count; row++)
            if (profile->type[row] == KINO__EVENT_TYPE_PL_PROFILE)
                ok = add_action(profile, p, &open, row);
    }
    kino__vec_deinit(&open);
    return ok;
}

/* -- the analysis -- */

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__profile *profile =
        kino__profile_of(trace, kino__analysis_is_compat(a, "tensorboard"), a->pool);
    if (!profile)
        return kino__fail_nomem(err);
    p->traces = 1;
    p->lightning = profile->is_lightning;
    if (!profile->is_lightning)
        return KINO_OK;
    return map_modules(profile, p) && map_actions(profile, p) ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into;
    const partial *more = from;
    if (!kino__module_partial_merge(&p->modules, &more->modules) ||
        !kino__vec_reserve(&p->actions, more->actions.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->actions.count; i++) {
        action one = more->actions.items[i];
        one.name = kino__string_pool_add(&p->modules.texts,
                                         kino__string_pool_text(&more->modules.texts, one.name));
        if (one.name == KINO_NO_STRING)
            return kino__fail_nomem(err);
        p->actions.items[p->actions.count++] = one;
    }
    p->traces += more->traces;
    p->lightning += more->lightning;
    p->crossing += more->crossing;
    return KINO_OK;
}

static void pack_action(kino__pack *pack, action *a)
{
    KINO__PACK(pack, &a->rank, &a->id, &a->parent, &a->depth, &a->name, &a->tid, &a->duration);
    KINO__PACK_TIMES(pack, &a->start);
    KINO__PACK_EVENTS(pack, &a->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__module_partial_pack(pack, &p->modules);
    KINO__PACK_VEC(pack, &p->actions, pack_action);
    kino__pack_tally(pack, &p->traces);
    KINO__PACK(pack, &p->lightning, &p->crossing);
    for (size_t i = 0; i < p->actions.count; i++)
        if (p->actions.items[i].name >= kino__string_pool_count(&p->modules.texts))
            pack->is_damaged = true;
}

static const kino_column module_columns[] = {KINO__MODULE_COLUMNS};

static const kino_column action_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"id", KINO_TYPE_INT, NULL, "id of the place in the tree"},
    {"parent", KINO_TYPE_INT, NULL, "id of the action around it; null at the top"},
    {"depth", KINO_TYPE_INT, NULL, "0 at the top"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"tid", KINO_TYPE_INT, NULL, "thread"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"duration", KINO_TYPE_DURATION, NULL, NULL},
    {"event_id", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {0},
};

static const kino_table_info tables[] = {
    {"lightning", "one row per module, parents before children", module_columns,
     "Lightning modules", "none: no PyTorch Lightning modules were recorded"},
    {"lightning_actions", "one row per call of a trainer action, parents before children",
     action_columns, NULL, "none: no PyTorch Lightning actions were recorded"},
    {0},
};

static void add_actions(const partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->actions.count; i++) {
        const action *a = &p->actions.items[i];
        KINO__TABLE_ADD(table, a->rank, a->id, a->parent == KINO__NO_NODE ? KINO_NO_INT : a->parent,
                        a->depth, kino__string_pool_text(&p->modules.texts, a->name), a->tid,
                        a->start, a->duration, a->event);
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a, (void)err;
    const partial *p = value;
    kino__module_partial_tell(&p->modules, kino__analysis_table(result, 0));
    add_actions(p, kino__analysis_table(result, 1));
    if (p->traces && !p->lightning)
        kino__result_lacks(result, "lightning", ": not a PyTorch Lightning trace");
    else if (p->lightning < p->traces)
        kino__result_note(result, "%lld of %lld traces are not PyTorch Lightning traces",
                          (long long)(p->traces - p->lightning), (long long)p->traces);
    if (p->crossing)
        kino__result_note(result,
                          "%lld actions left out: they cross the end of the enclosing action",
                          (long long)p->crossing);
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_lightning = {
    .name = "lightning",
    .help = "PyTorch Lightning: time by module, and trainer actions",
    .description =
        "Modules form a tree by name: 'model' is the parent of 'model.fc' if both exist.\n"
        "Their numbers are those of 'modules'. The second table lists the actions that\n"
        "Lightning's profiler marked (run_training_batch, ...), nested by time on their\n"
        "thread.\n",
    .tables = tables,
    .compat = compat,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
