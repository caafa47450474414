/* module_tree.c - modules as a tree with the numbers of their calls. */
#include "analysis/modules/module_tree.h"

#include <stdlib.h>

/* -- the tree -- */

void kino__module_tree_hang(kino__module_tree *tree, uint32_t parent, uint32_t place)
{
    kino__module_place *above = &tree->places.items[parent];
    tree->places.items[place].parent = parent;
    if (above->last_child == KINO__NO_NODE)
        above->first_child = place;
    else
        tree->places.items[above->last_child].next_sibling = place;
    above->last_child = place;
}

uint32_t kino__module_tree_add(kino__module_tree *tree, uint32_t parent, kino_str name,
                               int64_t module_id)
{
    kino__module_place *place = kino__vec_add(&tree->places);
    if (!place)
        return KINO__NO_NODE;
    *place = (kino__module_place){.parent = KINO__NO_NODE,
                                  .first_child = KINO__NO_NODE,
                                  .last_child = KINO__NO_NODE,
                                  .next_sibling = KINO__NO_NODE,
                                  .name = name,
                                  .module_id = module_id};
    uint32_t index = (uint32_t)tree->places.count - 1;
    if (parent != KINO__NO_NODE)
        kino__module_tree_hang(tree, parent, index);
    return index;
}

void kino__module_tree_deinit(kino__module_tree *tree)
{
    kino__vec_deinit(&tree->places);
}

void kino__module_sums_add(kino__module_sums *sums, const kino__profile *profile, uint32_t node)
{
    const kino__node *nodes = profile->nodes.items, *n = &nodes[node];
    kino__node_sums own = kino__node_sums_of(profile, n);
    sums->calls++;
    sums->host += kino__node_length(profile, n);
    sums->self_host += own.self_host;
    sums->device += own.device_total;
    sums->self_device += own.device_self;
    for (uint32_t c = n->first_child; c != KINO__NO_NODE; c = nodes[c].next_sibling)
        sums->operators += nodes[c].is_operator;
}

/* -- rows -- */

/* By name; equal ones as they came. */
static int compare_roots(const void *a, const void *b, void *context)
{
    const kino__module_tree *tree = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int by_name = kino__str_compare(tree->places.items[x].name, tree->places.items[y].name);
    return by_name ? by_name : x < y ? -1 : x > y;
}

static bool add_row(const kino__module_tree *tree, kino__module_partial *p, uint32_t place,
                    uint32_t id, uint32_t parent, uint32_t depth)
{
    const kino__module_place *from = &tree->places.items[place];
    kino__module_row *row = kino__vec_add(&p->rows);
    if (!row)
        return false;
    *row = (kino__module_row){.rank = tree->profile->trace->rank,
                              .id = id,
                              .parent = parent,
                              .depth = depth,
                              .name = kino__string_pool_add_borrowed(&p->texts, from->name),
                              .module_id = from->module_id,
                              .sums = from->sums};
    return row->name != KINO_NO_STRING;
}

/* One root and all below it; ids[place] is the row's id. */
static bool emit_root(const kino__module_tree *tree, kino__module_partial *p, uint32_t root,
                      uint32_t *ids, uint32_t *next)
{
    const kino__module_place *places = tree->places.items;
    uint32_t at = root, depth = 0;
    for (;;) {
        uint32_t above = places[at].parent;
        ids[at] = (*next)++;
        if (!add_row(tree, p, at, ids[at], above == KINO__NO_NODE ? above : ids[above], depth))
            return false;
        if (places[at].first_child != KINO__NO_NODE) {
            at = places[at].first_child;
            depth++;
            continue;
        }
        while (at != root && places[at].next_sibling == KINO__NO_NODE) {
            at = places[at].parent;
            depth--;
        }
        if (at == root)
            return true;
        at = places[at].next_sibling;
    }
}

bool kino__module_tree_emit(const kino__module_tree *tree, kino__module_partial *partial)
{
    size_t count = tree->places.count, root_count = 0;
    uint32_t *roots = malloc((count + 1) * sizeof *roots);
    uint32_t *ids = malloc((count + 1) * sizeof *ids), next = 0;
    bool ok = roots && ids;
    for (uint32_t i = 0; ok && i < count; i++)
        if (tree->places.items[i].parent == KINO__NO_NODE)
            roots[root_count++] = i;
    if (ok && root_count)
        qsort_r(roots, root_count, sizeof *roots, compare_roots, (void *)(uintptr_t)tree);
    for (size_t i = 0; ok && i < root_count; i++)
        ok = emit_root(tree, partial, roots[i], ids, &next);
    free(roots);
    free(ids);
    return ok;
}

bool kino__module_partial_merge(kino__module_partial *into, const kino__module_partial *from)
{
    if (!kino__vec_reserve(&into->rows, from->rows.count))
        return false;
    for (size_t i = 0; i < from->rows.count; i++) {
        kino__module_row row = from->rows.items[i];
        row.name =
            kino__string_pool_add(&into->texts, kino__string_pool_text(&from->texts, row.name));
        if (row.name == KINO_NO_STRING)
            return false;
        into->rows.items[into->rows.count++] = row;
    }
    return true;
}

static void pack_row(kino__pack *pack, kino__module_row *r)
{
    KINO__PACK(pack, &r->rank, &r->id, &r->parent, &r->depth, &r->name, &r->module_id,
               &r->sums.calls, &r->sums.operators, &r->sums.host, &r->sums.self_host,
               &r->sums.device, &r->sums.self_device);
}

void kino__module_partial_pack(kino__pack *pack, kino__module_partial *p)
{
    kino__pack_pool(pack, &p->texts);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    for (size_t i = 0; i < p->rows.count; i++)
        if (p->rows.items[i].name >= kino__string_pool_count(&p->texts))
            pack->is_damaged = true;
}

void kino__module_partial_deinit(kino__module_partial *p)
{
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->rows);
}

/* To the nearest ns. */
static int64_t average(const kino__module_sums *s)
{
    int64_t total = s->device > 0 ? s->device : s->host;
    return s->calls == 0 ? KINO_NO_INT : (total + s->calls / 2) / s->calls;
}

void kino__module_partial_tell(const kino__module_partial *p, kino__table *table)
{
    for (size_t i = 0; i < p->rows.count; i++) {
        const kino__module_row *r = &p->rows.items[i];
        const kino__module_sums *s = &r->sums;
        KINO__TABLE_ADD(table, r->rank, r->id, r->parent == KINO__NO_NODE ? KINO_NO_INT : r->parent,
                        r->depth, kino__string_pool_text(&p->texts, r->name), r->module_id,
                        s->calls, s->operators, s->host, s->self_host, s->device, s->self_device,
                        average(s));
    }
}
