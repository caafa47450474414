/* modules.c - which modules of the model take the time, and in which call?
 *
 * Method: calls of modules are the Python spans "nn.Module: ..." of a trace (with_stack=True or
 * with_modules=True). They nest by time on their thread. A place of the tree is a path of modules
 * from the top; all calls at it are one row. The TensorBoard plugin nests by Python's ids, makes
 * one tree of each call at the top, drops equal trees, and gives every place the sums of all calls
 * of its module, wherever they were (docs/analyses/modules.md).
 * Cost: one pass over the nodes; arguments are read for calls of modules alone. */
#include <stdlib.h>

#include "analysis/modules/module_tree.h"
#include "base/error.h"
#include "store/args.h"
#include "store/link.h"

typedef struct partial {
    kino__module_partial modules;
    int64_t traces, without, lightning; /* traces, for notes */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__module_partial_deinit(&p->modules);
}

/* -- modules: a name and the number of the object -- */

typedef struct module {
    kino_strid name; /* of the trace */
    int64_t id;
    kino__module_sums sums; /* compat mode: of all calls */
} module;

typedef struct growing {
    const kino__profile *profile;
    kino__module_tree tree;
    KINO__VEC(module) modules;
    kino__string_pool keys; /* bytes of (name, id); its numbers are places in modules */
    kino__text_cursor cursor;
} growing;

static kino_str short_name(const growing *g, kino_strid id)
{
    static const kino_str prefix = {"nn.Module: ", 11};
    kino_str name = kino__trace_string(g->profile->trace, id);
    if (kino__str_starts_with(name, prefix))
        name = (kino_str){name.data + prefix.size, name.size - prefix.size};
    return name;
}

/* The module that a row calls; UINT32_MAX when memory is out. */
static uint32_t module_of(growing *g, uint32_t row)
{
    const kino__trace *trace = g->profile->trace;
    module m = {.name = trace->name[row]};
    kino_str id =
        kino__args_find(kino__args_text(trace, row, &g->cursor), KINO__STR("Python module id"));
    if (!kino__json_to_int(id, &m.id))
        m.id = KINO_NO_INT;
    char bytes[sizeof m.name + sizeof m.id];
    memcpy(bytes, &m.name, sizeof m.name);
    memcpy(bytes + sizeof m.name, &m.id, sizeof m.id);
    uint32_t at = kino__string_pool_add(&g->keys, (kino_str){bytes, sizeof bytes});
    if (at != KINO_NO_STRING && at == g->modules.count) {
        module *slot = kino__vec_add(&g->modules);
        if (!slot)
            return UINT32_MAX;
        *slot = m;
    }
    return at;
}

/* -- default: a row a path -- */

typedef struct open_call {
    int64_t end;
    uint32_t place;
} open_call;

typedef struct nesting {
    growing *g;
    KINO__VEC(open_call) open; /* calls around the current one */
    uint32_t track;
    kino__map places; /* parent's place << 32 | module -> place */
} nesting;

static bool is_on_track(const kino__trace *trace, uint32_t track, uint32_t row)
{
    return track != UINT32_MAX && row >= trace->tracks.items[track].first &&
           row - trace->tracks.items[track].first < trace->tracks.items[track].count;
}

static bool add_call(nesting *s, uint32_t node)
{
    growing *g = s->g;
    const kino__node *n = &g->profile->nodes.items[node];
    if (!is_on_track(g->profile->trace, s->track, n->row)) {
        s->track = kino__trace_track_of(g->profile->trace, n->row);
        s->open.count = 0;
    }
    int64_t start = kino__node_start(g->profile, n);
    while (s->open.count && start >= s->open.items[s->open.count - 1].end)
        s->open.count--;
    uint32_t parent = s->open.count ? s->open.items[s->open.count - 1].place : KINO__NO_NODE;
    uint32_t m = module_of(g, n->row);
    uint32_t *place = m == UINT32_MAX ? NULL
                                      : kino__map_put(&s->places, (uint64_t)parent << 32 | m,
                                                      (uint32_t)g->tree.places.count);
    open_call *call = kino__vec_add(&s->open);
    if (!place || !call)
        return false;
    if (*place == g->tree.places.count &&
        kino__module_tree_add(&g->tree, parent, short_name(g, kino__node_name_id(g->profile, n)),
                              g->modules.items[m].id) == KINO__NO_NODE)
        return false;
    *call = (open_call){kino__node_end(g->profile, n), *place};
    kino__module_sums_add(&g->tree.places.items[*place].sums, g->profile, node);
    return true;
}

static bool grow_paths(growing *g)
{
    nesting s = {.g = g, .track = UINT32_MAX};
    kino__map_init(&s.places, NULL);
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->profile->nodes.count; i++) {
        const kino__node *n = &g->profile->nodes.items[i];
        if (n->class == KINO__NODE_MODULE && !n->is_dropped)
            ok = add_call(&s, i);
    }
    kino__vec_deinit(&s.open);
    kino__map_deinit(&s.places);
    return ok;
}

/* -- compat: the plugin's trees -- */

typedef struct call {
    uint32_t row, module;
    uint32_t above;                         /* call, UINT32_MAX: at the top */
    uint32_t first_below, last_below, next; /* calls */
    uint32_t form;                          /* equal trees have equal numbers */
    uint32_t place;                         /* in the tree, KINO__NO_NODE: not shown */
} call;

typedef struct calls {
    growing *g;
    KINO__VEC(call) items; /* in order of rows: callers before what they call */
    kino__string_pool forms;
} calls;

static bool list_calls(calls *c)
{
    const kino__profile *p = c->g->profile;
    const uint32_t *around = kino__link_module(p->trace);
    kino__map by_row;
    kino__map_init(&by_row, NULL);
    bool ok = around != NULL;
    for (uint32_t row = 0; ok && row < p->trace->event_count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_MODULE)
            continue;
        uint32_t index = (uint32_t)c->items.count;
        const uint32_t *found =
            around[row] == KINO_NO_ROW ? NULL : kino__map_get(&by_row, around[row]);
        uint32_t above = found ? *found : UINT32_MAX;
        call *slot = kino__vec_add(&c->items);
        ok = slot && kino__map_put(&by_row, row, index);
        if (!ok)
            break;
        *slot = (call){.row = row,
                       .module = module_of(c->g, row),
                       .above = above,
                       .first_below = UINT32_MAX,
                       .last_below = UINT32_MAX,
                       .next = UINT32_MAX,
                       .place = KINO__NO_NODE};
        ok = slot->module != UINT32_MAX;
        call *up = slot->above == UINT32_MAX ? NULL : &c->items.items[slot->above];
        if (up && up->last_below == UINT32_MAX)
            up->first_below = index;
        else if (up)
            c->items.items[up->last_below].next = index;
        if (up)
            up->last_below = index;
    }
    kino__map_deinit(&by_row);
    return ok;
}

/* A call's form is its module and the forms below it. */
static bool find_forms(calls *c)
{
    kino__buffer key = {0};
    bool ok = true;
    for (size_t i = c->items.count; ok && i-- > 0;) {
        call *at = &c->items.items[i];
        key.size = 0;
        kino__buffer_add(&key, (kino_str){(const char *)&at->module, sizeof at->module});
        for (uint32_t b = at->first_below; b != UINT32_MAX; b = c->items.items[b].next)
            kino__buffer_add(&key, (kino_str){(const char *)&c->items.items[b].form,
                                              sizeof c->items.items[b].form});
        at->form = kino__string_pool_add(&c->forms, kino__buffer_str(&key));
        ok = !key.failed && at->form != KINO_NO_STRING;
    }
    kino__buffer_deinit(&key);
    return ok;
}

typedef struct timing {
    const kino__trace *trace;
    const call *calls;
} timing;

static int compare_times(const void *a, const void *b, void *context)
{
    const timing *t = context;
    uint32_t x = t->calls[*(const uint32_t *)a].row, y = t->calls[*(const uint32_t *)b].row;
    if (t->trace->ts[x] != t->trace->ts[y])
        return t->trace->ts[x] < t->trace->ts[y] ? -1 : 1;
    return t->trace->number[x] < t->trace->number[y] ? -1
                                                     : t->trace->number[x] > t->trace->number[y];
}

static bool show(calls *c, call *at, uint32_t parent)
{
    const module *m = &c->g->modules.items[at->module];
    at->place = kino__module_tree_add(&c->g->tree, parent, short_name(c->g, m->name), m->id);
    if (at->place == KINO__NO_NODE)
        return false;
    c->g->tree.places.items[at->place].sums = m->sums;
    return true;
}

/* The first call of each form at the top is shown with all below it. */
static bool show_calls(calls *c)
{
    size_t count = c->items.count, tops = 0;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    bool *is_shown = calloc(kino__string_pool_count(&c->forms) + 1, sizeof *is_shown);
    bool ok = order && is_shown;
    for (uint32_t i = 0; ok && i < count; i++)
        if (c->items.items[i].above == UINT32_MAX)
            order[tops++] = i;
    timing t = {c->g->profile->trace, c->items.items};
    if (ok && tops)
        qsort_r(order, tops, sizeof *order, compare_times, &t);
    for (size_t i = 0; ok && i < tops; i++) {
        call *at = &c->items.items[order[i]];
        if (!is_shown[at->form])
            ok = show(c, at, KINO__NO_NODE);
        is_shown[at->form] = true;
    }
    for (size_t i = 0; ok && i < count; i++) {
        call *at = &c->items.items[i];
        uint32_t parent = at->above == UINT32_MAX ? KINO__NO_NODE : c->items.items[at->above].place;
        if (parent != KINO__NO_NODE)
            ok = show(c, at, parent);
    }
    free(order);
    free(is_shown);
    return ok;
}

/* Sums of a module over its nodes in the trees, but for those below backward passes. */
static bool sum_modules(growing *g)
{
    const kino__profile *p = g->profile;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, n = root;
        while (n != KINO__NO_NODE) {
            const kino__node *node = &p->nodes.items[n];
            uint32_t m = node->class == KINO__NODE_MODULE ? module_of(g, node->row) : 0;
            if (m == UINT32_MAX)
                return false;
            if (node->class == KINO__NODE_MODULE)
                kino__module_sums_add(&g->modules.items[m].sums, p, n);
            if (node->class != KINO__NODE_BACKWARD) {
                n = kino__node_next(p, n, root);
                continue;
            }
            while (n != root && p->nodes.items[n].next_sibling == KINO__NO_NODE)
                n = p->nodes.items[n].parent;
            n = n == root ? KINO__NO_NODE : p->nodes.items[n].next_sibling;
        }
    }
    return true;
}

static bool grow_calls(growing *g)
{
    calls c = {.g = g};
    bool ok = sum_modules(g) && list_calls(&c) && find_forms(&c) && show_calls(&c);
    kino__vec_deinit(&c.items);
    kino__string_pool_deinit(&c.forms);
    return ok;
}

/* -- the analysis -- */

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool is_compat = kino__analysis_is_compat(a, "tensorboard");
    const kino__profile *profile = kino__profile_of(trace, is_compat, a->pool);
    if (!profile)
        return kino__fail_nomem(err);
    p->traces = 1;
    p->lightning = profile->is_lightning;
    p->without = !profile->has_modules;
    if (!profile->has_modules)
        return KINO_OK;
    growing g = {.profile = profile, .tree = {.profile = profile}};
    kino__text_cursor_init(&g.cursor, trace->text);
    bool ok = (is_compat ? grow_calls(&g) : grow_paths(&g)) &&
              kino__module_tree_emit(&g.tree, &p->modules);
    kino__text_cursor_deinit(&g.cursor);
    kino__module_tree_deinit(&g.tree);
    kino__vec_deinit(&g.modules);
    kino__string_pool_deinit(&g.keys);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into;
    const partial *more = from;
    p->traces += more->traces;
    p->without += more->without;
    p->lightning += more->lightning;
    return kino__module_partial_merge(&p->modules, &more->modules) ? KINO_OK
                                                                   : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__module_partial_pack(pack, &p->modules);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without);
    kino__pack_int(pack, &p->lightning);
}

static const kino_column columns[] = {KINO__MODULE_COLUMNS};

static const kino_table_info tables[] = {
    {"modules", "one row per place in the module tree, parents before children", columns, NULL,
     "none: no modules were recorded"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a, (void)err;
    const partial *p = value;
    kino__module_partial_tell(&p->modules, kino__analysis_table(result, 0));
    if (p->lightning)
        kino__result_note(result, "PyTorch Lightning modules are in the analysis 'lightning'");
    else if (p->traces && p->without == p->traces)
        kino__result_lacks(
            result, "modules",
            ": no module calls were recorded (profile with with_stack=True or with_modules=True)");
    else if (p->without)
        kino__result_note(result, "%lld of %lld traces have no module calls", (long long)p->without,
                          (long long)p->traces);
    return KINO_OK;
}

static const char *const compat[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_modules = {
    .name = "modules",
    .help = "time by module of the model, as a tree",
    .description =
        "A row is a place in the module tree: a path of modules from the top, with the\n"
        "calls made there. Calls nest by time on their thread. Host time is the time of\n"
        "the calls, device time that of the work launched below them; neither includes\n"
        "the backward pass.\n"
        "\n"
        "With 'compat', every place shows the sums of all calls of its module, wherever\n"
        "they were made, and a module that is called twice has two rows.\n",
    .tables = tables,
    .compat = compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
