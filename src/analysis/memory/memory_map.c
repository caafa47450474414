/* memory_map.c - the memory of one trace: statistics by operator, lives of blocks, curve, peaks.
 *
 * Cost: the records are sorted and walked a few times; sums go up the nodes once a device. */
#include <stdlib.h>
#include <strings.h>

#include "analysis/memory/memory_internal.h"
#include "base/error.h"

typedef struct mapping {
    const kino__analysis *a;
    const kino__trace *trace;
    kino__memory_records m;
    kino__memory_partial *p;
    bool is_compat;
    int64_t from, to;     /* window, both ends in it */
    kino_strid *texts;    /* of each string of the trace: its number in p->texts, when it has one */
    uint32_t *device_ids; /* of each device: its name in p->texts, UINT32_MAX: not asked for */
} mapping;

/* -- texts */

static bool keep(kino__memory_partial *p, kino_str text, uint32_t *out)
{
    *out = kino__string_pool_add(&p->texts, text);
    return *out != KINO_NO_STRING;
}

/* A string of the trace, which outlives the partial. */
static bool keep_string(mapping *g, kino_strid id, uint32_t *out)
{
    if (id == KINO_NO_STRING)
        return keep(g->p, KINO__STR(""), out);
    if (g->texts[id] == KINO_NO_STRING)
        g->texts[id] =
            kino__string_pool_add_borrowed(&g->p->texts, kino__trace_string(g->trace, id));
    *out = g->texts[id];
    return *out != KINO_NO_STRING;
}

static const kino__node *node_at(const mapping *g, uint32_t node)
{
    return node == KINO__NO_NODE ? NULL : &g->m.profile->nodes.items[node];
}

static kino_strid name_of(const mapping *g, uint32_t node)
{
    return kino__node_name_id(g->m.profile, node_at(g, node));
}

/* "aten::empty" is the malloc of PyTorch: who called it says more. */
static bool keep_operator(mapping *g, uint32_t source, uint32_t *out)
{
    const kino__node *n = node_at(g, source);
    *out = KINO_NO_STRING;
    if (!n)
        return true;
    kino_str name = kino__node_name(g->m.profile, n);
    const kino__node *above = node_at(g, g->m.parent[source]);
    if (!above || !kino__str_starts_with(name, KINO__STR("aten::empty")))
        return keep_string(g, kino__node_name_id(g->m.profile, n), out);
    kino_str parent = kino__node_name(g->m.profile, above);
    if (above->class == KINO__NODE_ROOT)
        parent = KINO__STR("CallTreeRoot");
    kino__buffer text = {0};
    kino__buffer_add(&text, parent);
    if (above->class == KINO__NODE_BACKWARD)
        kino__buffer_add(&text, KINO__STR(".backward"));
    kino__buffer_add(&text, KINO__STR(" ("));
    kino__buffer_add(&text, name);
    kino__buffer_add(&text, KINO__STR(")"));
    bool ok = !text.failed && keep(g->p, kino__buffer_str(&text), out);
    kino__buffer_deinit(&text);
    return ok;
}

static bool is_inside(const mapping *g, const kino__memory_record *r)
{
    return r->ts >= g->from && r->ts <= g->to;
}

/* -- statistics */

typedef struct sums {
    int64_t increase, count, size;
} sums;

typedef struct counting {
    mapping *g;
    kino__map rows;       /* device << 32 | name -> place in p->statistics, from `first` on */
    kino__row_rank nodes; /* that a record lies in or below, by number */
    sums *sums;     /* of each of them, of one device; zeroed again when they have been passed on */
    int64_t *calls; /* of each string */
    size_t first;
} counting;

static void add_sums(sums *into, const sums *more)
{
    into->increase = kino__sum(into->increase, more->increase);
    into->count += more->count;
    into->size = kino__sum(into->size, more->size);
}

/* Few nodes have records: only these get sums. */
static bool find_nodes(counting *c)
{
    const mapping *g = c->g;
    if (!kino__row_rank_init(&c->nodes, (uint32_t)g->m.profile->nodes.count))
        return false;
    for (size_t i = 0; i < g->m.items.count; i++)
        for (uint32_t n = g->m.items.items[i].node;
             n != KINO__NO_NODE && !kino__row_rank_has(&c->nodes, n); n = g->m.parent[n])
            kino__row_rank_add(&c->nodes, n);
    c->sums = calloc((size_t)kino__row_rank_count(&c->nodes) + 1, sizeof *c->sums);
    return c->sums != NULL;
}

static sums *sums_of(const counting *c, uint32_t node)
{
    return &c->sums[kino__row_rank_of(&c->nodes, node)];
}

static kino__memory_statistic *find_row(counting *c, uint32_t device, kino_strid name)
{
    kino__memory_partial *p = c->g->p;
    uint32_t *slot =
        kino__map_put(&c->rows, (uint64_t)device << 32 | name, (uint32_t)p->statistics.count);
    if (!slot)
        return NULL;
    if (*slot == p->statistics.count) {
        kino__memory_statistic *fresh = kino__vec_add(&p->statistics);
        if (!fresh)
            return NULL;
        *fresh = (kino__memory_statistic){.rank = c->g->trace->rank, .device = device};
        fresh->name = name;
    }
    return &p->statistics.items[*slot];
}

/* The records of one device into the nodes they lie in. */
static void sum_records(counting *c, uint32_t device)
{
    const mapping *g = c->g;
    for (size_t i = 0; i < g->m.items.count; i++) {
        const kino__memory_record *r = &g->m.items.items[i];
        if (r->device != device || r->node == KINO__NO_NODE || !is_inside(g, r))
            continue;
        bool is_allocation = r->bytes > 0;
        add_sums(sums_of(c, r->node),
                 &(sums){r->bytes, is_allocation, is_allocation ? r->bytes : 0});
    }
}

/* From nodes to rows: their own sums first, then what comes from below. */
static bool add_rows(counting *c, uint32_t device)
{
    const mapping *g = c->g;
    for (size_t i = 0; i < kino__memory_node_count(&g->m); i++) {
        uint32_t node = kino__memory_node_at(&g->m, i);
        if (node == KINO__NO_NODE || !kino__row_rank_has(&c->nodes, node))
            continue;
        const sums *s = sums_of(c, node);
        if (!s->increase && !s->count && !s->size)
            continue;
        kino__memory_statistic *row = find_row(c, device, name_of(g, node));
        if (!row)
            return false;
        row->self_increase = kino__sum(row->self_increase, s->increase);
        row->self_count += s->count;
        row->self_size = kino__sum(row->self_size, s->size);
    }
    for (size_t i = kino__memory_node_count(&g->m); i-- > 0;) {
        uint32_t node = kino__memory_node_at(&g->m, i);
        if (node == KINO__NO_NODE || !kino__row_rank_has(&c->nodes, node))
            continue;
        sums s = *sums_of(c, node);
        if (!s.increase && !s.count && !s.size)
            continue;
        *sums_of(c, node) = (sums){0};
        if (g->m.parent[node] != KINO__NO_NODE)
            add_sums(sums_of(c, g->m.parent[node]), &s);
        if (!node_at(g, node)->is_operator)
            continue;
        kino__memory_statistic *row = find_row(c, device, name_of(g, node));
        if (!row)
            return false;
        row->increase = kino__sum(row->increase, s.increase);
        row->count += s.count;
        row->size = kino__sum(row->size, s.size);
    }
    return true;
}

/* Operators of the window by name. The plugin does not look below a node without records (D24). */
static void count_calls(counting *c)
{
    const mapping *g = c->g;
    for (size_t i = 0; i < kino__memory_node_count(&g->m); i++) {
        uint32_t node = kino__memory_node_at(&g->m, i);
        if (node == KINO__NO_NODE)
            continue;
        const kino__node *n = node_at(g, node);
        uint32_t above = g->m.parent[node];
        kino_strid name = name_of(g, node);
        if (!n->is_operator || name == KINO_NO_STRING ||
            kino__node_end(g->m.profile, n) < g->from || kino__node_start(g->m.profile, n) > g->to)
            continue;
        bool is_hidden = g->is_compat && above != KINO__NO_NODE &&
                         node_at(g, above)->class != KINO__NODE_ROOT && !g->m.is_entered[above];
        if (!is_hidden)
            c->calls[name]++;
    }
}

/* By device, then as the plugin's page has it: what grew most on its own first. */
static int compare_statistics(const void *a, const void *b, void *context)
{
    const kino__memory_statistic *x = a, *y = b;
    const kino__string_pool *texts = context;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->self_increase != y->self_increase)
        return x->self_increase > y->self_increase ? -1 : 1;
    return kino__str_compare(kino__string_pool_text(texts, x->name),
                             kino__string_pool_text(texts, y->name));
}

static bool is_all_zero(const kino__memory_statistic *s)
{
    return !s->increase && !s->self_increase && !s->count && !s->self_count && !s->size &&
           !s->self_size;
}

/* Names instead of string ids, calls, the order; rows of zeros go. */
static bool finish_rows(counting *c)
{
    mapping *g = c->g;
    kino__memory_partial *p = g->p;
    size_t kept = c->first;
    for (size_t i = c->first; i < p->statistics.count; i++) {
        kino__memory_statistic s = p->statistics.items[i];
        if (is_all_zero(&s))
            continue;
        s.calls = s.name == KINO_NO_STRING ? 0 : c->calls[s.name];
        if (!keep_string(g, s.name, &s.name))
            return false;
        p->statistics.items[kept++] = s;
    }
    p->statistics.count = kept;
    if (kept > c->first)
        qsort_r(p->statistics.items + c->first, kept - c->first, sizeof *p->statistics.items,
                compare_statistics, &p->texts);
    for (size_t i = c->first; i < kept; i++)
        p->statistics.items[i].device = g->device_ids[p->statistics.items[i].device];
    return true;
}

static bool map_statistics(mapping *g)
{
    counting c = {.g = g,
                  .calls = calloc(kino__string_pool_count(&g->trace->strings) + 1, sizeof *c.calls),
                  .first = g->p->statistics.count};
    kino__map_init(&c.rows, NULL);
    bool ok = c.calls && find_nodes(&c);
    if (ok)
        count_calls(&c);
    for (uint32_t d = 0; ok && d < g->m.devices.count; d++) {
        if (g->device_ids[d] == UINT32_MAX)
            continue;
        sum_records(&c, d);
        ok = add_rows(&c, d);
    }
    ok = ok && finish_rows(&c);
    kino__map_deinit(&c.rows);
    kino__row_rank_deinit(&c.nodes);
    free(c.sums);
    free(c.calls);
    return ok;
}

/* -- lives of blocks */

typedef struct life {
    uint32_t allocation, release; /* places of the records; UINT32_MAX: none */
    uint32_t device;
    uint8_t kind; /* 0 both ends, 1 still open, 2 release only */
    uint32_t order;
} life;

typedef KINO__VEC(uint32_t) place_list; /* of records */

typedef struct matching {
    mapping *g;
    kino__map open, freed; /* key -> place in the lists, UINT32_MAX: closed */
    place_list allocations, releases;
    KINO__VEC(life) lives;
} matching;

static bool add_life(matching *f, uint32_t allocation, uint32_t release, uint8_t kind)
{
    const kino__memory_record *items = f->g->m.items.items;
    life *l = kino__vec_add(&f->lives);
    if (l)
        *l = (life){allocation, release,
                    items[allocation == UINT32_MAX ? release : allocation].device, kind,
                    (uint32_t)f->lives.count};
    return l != NULL;
}

/* Remembers a record under its key. The plugin keeps one a key, in the place of the first. */
static bool remember(const matching *f, place_list *list, kino__map *map, uint64_t key,
                     uint32_t record)
{
    uint32_t *slot = kino__map_put(map, key, UINT32_MAX);
    if (!slot)
        return false;
    if (*slot != UINT32_MAX && f->g->is_compat) {
        list->items[*slot] = record;
        return true;
    }
    uint32_t *item = kino__vec_add(list);
    if (!item)
        return false;
    *item = record;
    *slot = (uint32_t)list->count - 1;
    return true;
}

static bool match_record(matching *f, uint32_t place)
{
    const kino__memory_record *r = &f->g->m.items.items[place];
    uint64_t key = kino__memory_key(&f->g->m, r);
    if (r->bytes > 0)
        return remember(f, &f->allocations, &f->open, key, place);
    uint32_t *open = kino__map_get(&f->open, key);
    if (!open || *open == UINT32_MAX)
        return remember(f, &f->releases, &f->freed, key, place);
    uint32_t allocation = f->allocations.items[*open];
    f->allocations.items[*open] = UINT32_MAX;
    *open = UINT32_MAX;
    return add_life(f, allocation, place, 0);
}

static int compare_lives(const void *a, const void *b)
{
    const life *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool add_event(mapping *g, const life *l)
{
    bool has_start = l->allocation != UINT32_MAX, has_end = l->release != UINT32_MAX;
    const kino__memory_record *items = g->m.items.items;
    const kino__memory_record *start = &items[has_start ? l->allocation : l->release];
    const kino__memory_record *end = &items[has_end ? l->release : l->allocation];
    int64_t size = has_end ? -end->bytes : start->bytes;
    if (g->device_ids[l->device] == UINT32_MAX ||
        size < kino__param_int(g->a, KINO__MEMORY_MIN_SIZE))
        return true;
    kino__memory_event *e = kino__vec_add(&g->p->events);
    if (!e)
        return false;
    *e = (kino__memory_event){
        .rank = g->trace->rank,
        .device = g->device_ids[l->device],
        .size = size,
        .allocated_at = has_start ? start->ts : KINO_NO_TIME,
        .released_at = has_end ? end->ts : KINO_NO_TIME,
        .allocation = has_start ? kino__trace_event_id(g->trace, start->row) : KINO_NO_INT,
        .release = has_end ? kino__trace_event_id(g->trace, end->row) : KINO_NO_INT};
    return keep_operator(g, start->source, &e->op);
}

static bool map_events(mapping *g)
{
    matching f = {.g = g};
    kino__map_init(&f.open, NULL);
    kino__map_init(&f.freed, NULL);
    bool ok = true;
    for (uint32_t i = 0; ok && i < g->m.items.count; i++) {
        const kino__memory_record *r = &g->m.items.items[i];
        if (r->address != KINO_NO_INT && is_inside(g, r))
            ok = match_record(&f, i);
    }
    for (size_t i = 0; ok && i < f.allocations.count; i++)
        if (f.allocations.items[i] != UINT32_MAX)
            ok = add_life(&f, f.allocations.items[i], UINT32_MAX, 1);
    for (size_t i = 0; ok && i < f.releases.count; i++)
        ok = add_life(&f, UINT32_MAX, f.releases.items[i], 2);
    if (ok && f.lives.count)
        qsort(f.lives.items, f.lives.count, sizeof *f.lives.items, compare_lives);
    for (size_t i = 0; ok && i < f.lives.count; i++)
        ok = add_event(g, &f.lives.items[i]);
    kino__map_deinit(&f.open);
    kino__map_deinit(&f.freed);
    kino__vec_deinit(&f.allocations);
    kino__vec_deinit(&f.releases);
    kino__vec_deinit(&f.lives);
    return ok;
}

/* -- curve and peaks */

/* A point of the curve? The plugin wants an address and both totals, and knows no window. */
static bool is_measured(const mapping *g, const kino__memory_record *r)
{
    if (r->allocated == KINO_NO_INT)
        return false;
    return g->is_compat ? r->reserved != KINO_NO_INT && r->address != KINO_NO_INT : is_inside(g, r);
}

typedef KINO__VEC(kino__memory_sample) samples;

/* In compat mode each point but the first has one before it, with the old values: lines through
 * them are steps. */
static bool list_samples(mapping *g, uint32_t device, samples *out, size_t *peak)
{
    *peak = SIZE_MAX;
    for (size_t i = 0; i < g->m.items.count; i++) {
        const kino__memory_record *r = &g->m.items.items[i];
        if (r->device != device || !is_measured(g, r))
            continue;
        if (!kino__vec_reserve(out, 2))
            return false;
        if (g->is_compat && out->count) {
            kino__memory_sample before = out->items[out->count - 1];
            before.ts = r->ts;
            out->items[out->count++] = before;
        }
        if (*peak == SIZE_MAX || r->allocated > out->items[*peak].allocated)
            *peak = out->count;
        out->items[out->count++] = (kino__memory_sample){g->trace->rank, g->device_ids[device],
                                                         r->ts, r->allocated, r->reserved};
    }
    return true;
}

/* The plugin thins in ms and MB; units matter where triangles are equal but for rounding. */
static kino__memory_point point_of(const mapping *g, const kino__memory_sample *s)
{
    double since = (double)(s->ts - g->m.profile->first_ts);
    if (!g->is_compat)
        return (kino__memory_point){since, (double)s->allocated};
    return (kino__memory_point){since / 1000.0 * 0.001, (double)s->allocated * 0x1p-20};
}

static bool thin(const mapping *g, samples *s, size_t wanted, size_t peak)
{
    kino__memory_point *points = malloc(s->count * sizeof *points);
    size_t *places = malloc(wanted * sizeof *places);
    bool ok = points && places;
    for (size_t i = 0; ok && i < s->count; i++)
        points[i] = point_of(g, &s->items[i]);
    if (ok) {
        kino__memory_thin(points, s->count, wanted, g->is_compat ? SIZE_MAX : peak, places);
        for (size_t i = 0; i < wanted; i++)
            s->items[i] = s->items[places[i]];
        s->count = wanted;
    }
    free(points);
    free(places);
    return ok;
}

static bool map_curve(mapping *g, uint32_t device)
{
    int64_t wanted = kino__param_int(g->a, KINO__MEMORY_POINTS);
    samples s = {0};
    size_t peak;
    bool ok = list_samples(g, device, &s, &peak);
    if (ok && wanted > 0 && s.count > (size_t)wanted)
        ok = thin(g, &s, (size_t)wanted, peak);
    if (ok && g->p->samples.count == 0) { /* large: not copied */
        samples none = {.items = g->p->samples.items, .capacity = g->p->samples.capacity};
        g->p->samples.items = s.items;
        g->p->samples.count = s.count;
        g->p->samples.capacity = s.capacity;
        s = none;
    } else {
        ok = ok && kino__vec_append(&g->p->samples, &s);
    }
    kino__vec_deinit(&s);
    return ok;
}

static bool map_peak(mapping *g, uint32_t device)
{
    kino__memory_peak peak = {.rank = g->trace->rank,
                              .device = g->device_ids[device],
                              .op = KINO_NO_STRING,
                              .allocated = KINO_NO_INT,
                              .ts = KINO_NO_TIME,
                              .event = KINO_NO_INT,
                              .reserved = KINO_NO_INT,
                              .total = g->is_compat ? KINO_NO_INT /* D16 */
                                                    : g->m.devices.items[device].total};
    for (size_t i = 0; i < g->m.items.count; i++) {
        const kino__memory_record *r = &g->m.items.items[i];
        if (r->device != device)
            continue;
        peak.records++;
        if (!is_measured(g, r))
            continue;
        if (r->reserved != KINO_NO_INT &&
            (peak.reserved == KINO_NO_INT || r->reserved > peak.reserved))
            peak.reserved = r->reserved;
        if (peak.allocated != KINO_NO_INT && r->allocated <= peak.allocated)
            continue;
        peak.allocated = r->allocated;
        peak.ts = r->ts;
        peak.event = kino__trace_event_id(g->trace, r->row);
        if (!keep_operator(g, r->source, &peak.op))
            return false;
    }
    kino__memory_peak *slot = kino__vec_add(&g->p->peaks);
    if (slot)
        *slot = peak;
    return slot != NULL;
}

/* -- the trace */

static bool is_wanted(const mapping *g, const kino__memory_device *d)
{
    kino_str asked = kino__param_text(g->a, KINO__MEMORY_DEVICE), name = kino__str_from(d->name);
    if (g->is_compat && !d->is_known)
        return false;
    if (!asked.data || !asked.size)
        return true;
    return asked.size == name.size && strncasecmp(asked.data, name.data, name.size) == 0;
}

static bool choose_devices(mapping *g)
{
    for (size_t i = 0; i < g->m.devices.count; i++) {
        const kino__memory_device *d = &g->m.devices.items[i];
        uint32_t name, *slot = kino__vec_add(&g->p->devices);
        if (!slot || !keep(g->p, kino__str_from(d->name), &name))
            return false;
        *slot = name;
        g->device_ids[i] = is_wanted(g, d) ? name : UINT32_MAX;
    }
    return true;
}

static void count_records(mapping *g)
{
    g->p->traces = 1;
    g->p->records = (int64_t)g->m.items.count;
    for (size_t i = 0; i < g->m.items.count; i++) {
        const kino__memory_record *r = &g->m.items.items[i];
        g->p->addressed += r->address != KINO_NO_INT;
        g->p->measured += r->allocated != KINO_NO_INT;
        g->p->unknown += g->is_compat && !g->m.devices.items[r->device].is_known;
    }
}

static bool map_all(mapping *g)
{
    size_t strings = kino__string_pool_count(&g->trace->strings) + 1;
    g->texts = malloc(strings * sizeof *g->texts);
    g->device_ids = malloc((g->m.devices.count + 1) * sizeof *g->device_ids);
    if (!g->texts || !g->device_ids || !choose_devices(g))
        return false;
    memset(g->texts, 0xff, strings * sizeof *g->texts);
    count_records(g);
    if (g->m.items.count && (!map_statistics(g) || !map_events(g)))
        return false;
    for (uint32_t d = 0; d < g->m.devices.count; d++)
        if (g->device_ids[d] != UINT32_MAX &&
            ((!g->a->is_brief && !map_curve(g, d)) || !map_peak(g, d)))
            return false;
    return true;
}

kino_status kino__memory_map(const kino__analysis *a, const kino__trace *trace, void *partial,
                             kino_error *err)
{
    mapping g = {.a = a,
                 .trace = trace,
                 .p = partial,
                 .is_compat = kino__analysis_is_compat(a, "tensorboard"),
                 .from = kino__param_int(a, KINO__MEMORY_FROM),
                 .to = kino__param_int(a, KINO__MEMORY_TO)};
    if (g.from == KINO_NO_INT)
        g.from = INT64_MIN;
    if (g.to == KINO_NO_INT)
        g.to = INT64_MAX;
    const kino__profile *profile = kino__profile_of(trace, g.is_compat, a->pool);
    bool ok = profile && kino__memory_records_init(&g.m, profile, a->pool) && map_all(&g);
    if (profile)
        kino__memory_records_deinit(&g.m);
    free(g.texts);
    free(g.device_ids);
    return ok ? KINO_OK : kino__fail_nomem(err);
}
