/* diff_tree.c - two operator trees laid side by side.
 *
 * Modules, backward passes of modules, data loaders, optimizers and steps are anchors: left to
 * right, each one of the left list is matched to the next equal one of the right list. The lists
 * are cut there; what lies between two anchors becomes one pair:
 *
 *   left    a b [Linear] c [ReLU]            a b | Linear | c   | ReLU
 *   right   a   [Linear]   [ReLU] d    ->    a   | Linear | -   | ReLU | d
 *
 * and the pairs of single nodes are compared in the same way, child by child. A list between
 * anchors has no further matches: whatever could match has. Linear in the nodes; the path of a
 * node is text, so its depth is limited. */
#include <stdlib.h>

#include "analysis/diff/diff.h"

enum { MOST_DEPTH = 500 };

typedef struct side {
    const kino__profile *p;
    kino__diff_nodes nodes;   /* lists one behind the other; slices of it are pairs' halves */
    kino__diff_list per_name; /* scratch for the operators of a slice */
} side;

typedef struct slice {
    uint32_t first, count;
} slice;

/* A pair that waits to be written, with its children's place in the path. */
typedef struct task {
    slice halves[2];
    uint32_t depth, number; /* child number of the pair whose path is the current one up to depth */
    bool is_root;
} task;

typedef struct comparing {
    side sides[2];
    KINO__VEC(task) tasks; /* a stack */
    kino__buffer path;
    KINO__VEC(size_t) lengths; /* of the path at each depth */
    kino_strid *left_name;     /* of each string of the right trace: that of the left one */
    bool has_ops, is_cut;
    kino__table *tree, *ops;
} comparing;

/* -- matching -- */

static bool is_anchor(const kino__node *node)
{
    return node->class == KINO__NODE_MODULE || node->class == KINO__NODE_BACKWARD ||
           node->class == KINO__NODE_LOADER || node->class == KINO__NODE_OPTIMIZER ||
           node->class == KINO__NODE_STEP;
}

static const kino__node *node_at(const side *s, uint32_t place)
{
    return &s->p->nodes.items[s->nodes.items[place]];
}

static uint64_t key_of(const kino__node *node, kino_strid name)
{
    return (uint64_t)node->class << 32 | name;
}

/* Right nodes by key, those of one key in a chain. */
typedef struct chains {
    kino__map first;       /* key -> place, the next one that is still free */
    kino__diff_nodes next; /* of each place of the slice; UINT32_MAX: the last */
} chains;

static bool build_chains(const comparing *c, slice right, chains *out)
{
    kino__map_init(&out->first, NULL);
    if (!kino__vec_reserve(&out->next, right.count + 1u))
        return false;
    for (uint32_t i = right.count; i-- > 0;) {
        const kino__node *node = node_at(&c->sides[1], right.first + i);
        kino_strid name = kino__node_name_id(c->sides[1].p, node);
        name = name == KINO_NO_STRING ? name : c->left_name[name];
        out->next.items[i] = UINT32_MAX;
        if (!is_anchor(node) || name == KINO_NO_STRING)
            continue;
        uint32_t *place = kino__map_put(&out->first, key_of(node, name), UINT32_MAX);
        if (!place)
            return false;
        out->next.items[i] = *place;
        *place = i;
    }
    return true;
}

/* The first free right node from `from` on that equals this one, UINT32_MAX: none. */
static uint32_t find_match(chains *c, const side *s, const kino__node *left, uint32_t from)
{
    kino_strid name = kino__node_name_id(s->p, left);
    uint32_t *place = is_anchor(left) && name != KINO_NO_STRING
                          ? kino__map_get(&c->first, key_of(left, name))
                          : NULL;
    if (!place)
        return UINT32_MAX;
    while (*place != UINT32_MAX && *place < from)
        *place = c->next.items[*place];
    return *place;
}

static bool push(comparing *c, slice left, slice right, uint32_t depth, uint32_t *number)
{
    if (left.count == 0 && right.count == 0)
        return true;
    task *t = kino__vec_add(&c->tasks);
    if (t)
        *t = (task){.halves = {left, right}, .depth = depth, .number = (*number)++};
    return t != NULL;
}

/* The children were pushed in order: the first must come off first. */
static void reverse(task *tasks, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        task swap = tasks[i];
        tasks[i] = tasks[count - 1 - i];
        tasks[count - 1 - i] = swap;
    }
}

/* Cuts two lists at their matches into pairs, which are put on the stack. */
static bool compare(comparing *c, slice left, slice right, uint32_t depth)
{
    chains all = {0};
    bool ok = build_chains(c, right, &all);
    size_t before = c->tasks.count;
    uint32_t l = 0, r = 0, number = 0;
    for (uint32_t i = 0; ok && i < left.count; i++) {
        uint32_t match = find_match(&all, &c->sides[0], node_at(&c->sides[0], left.first + i), r);
        if (match == UINT32_MAX)
            continue;
        ok = push(c, (slice){left.first + l, i - l}, (slice){right.first + r, match - r}, depth,
                  &number) &&
             push(c, (slice){left.first + i, 1}, (slice){right.first + match, 1}, depth, &number);
        l = i + 1;
        r = match + 1;
    }
    if (ok && number)
        ok = push(c, (slice){left.first + l, left.count - l},
                  (slice){right.first + r, right.count - r}, depth, &number);
    reverse(c->tasks.items + before, c->tasks.count - before);
    kino__map_deinit(&all.first);
    kino__vec_deinit(&all.next);
    return ok;
}

static bool add_children(side *s, uint32_t node, slice *out)
{
    out->first = (uint32_t)s->nodes.count;
    for (uint32_t n = s->p->nodes.items[node].first_child; n != KINO__NO_NODE;
         n = s->p->nodes.items[n].next_sibling) {
        uint32_t *slot = kino__vec_add(&s->nodes);
        if (!slot)
            return false;
        *slot = n;
    }
    out->count = (uint32_t)s->nodes.count - out->first;
    return true;
}

/* Pairs of single nodes go on with their children. */
static bool descend(comparing *c, const task *t)
{
    if (t->is_root)
        return compare(c, t->halves[0], t->halves[1], 1);
    if (t->halves[0].count != 1 || t->halves[1].count != 1)
        return true;
    if (t->depth == MOST_DEPTH) {
        c->is_cut = true;
        return true;
    }
    slice children[2];
    for (int i = 0; i < 2; i++)
        if (!add_children(&c->sides[i], c->sides[i].nodes.items[t->halves[i].first], &children[i]))
            return false;
    return compare(c, children[0], children[1], t->depth + 1);
}

/* -- rows -- */

typedef struct totals {
    int64_t host, device, total;
} totals;

static totals sum_slice(const side *s, slice half)
{
    totals sum = {0};
    for (uint32_t i = 0; i < half.count; i++) {
        const kino__node *node = node_at(s, half.first + i);
        int64_t host = kino__node_length(s->p, node);
        int64_t device = kino__node_sums_of(s->p, node).device_total;
        sum.host = kino__sum(sum.host, host);
        sum.device = kino__sum(sum.device, device);
        sum.total = kino__sum(sum.total, device ? device : host);
    }
    return sum;
}

static void write_name(const comparing *c, int which, slice half)
{
    const side *s = &c->sides[which];
    if (half.count != 1) {
        kino__table_add_text(c->tree,
                             half.count ? KINO__STR("CompositeNodes") : KINO__STR("Blank"));
        return;
    }
    const kino__node *node = node_at(s, half.first);
    kino_str name = kino__node_name(s->p, node);
    kino__buffer text = {0};
    kino__buffer_add(&text, name);
    if (node->class == KINO__NODE_BACKWARD)
        kino__buffer_add(&text, KINO__STR(".backward"));
    kino__table_add_text(c->tree, text.failed ? name : kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

static void write_pair(const comparing *c, const task *t)
{
    totals left = sum_slice(&c->sides[0], t->halves[0]);
    totals right = sum_slice(&c->sides[1], t->halves[1]);
    kino__table_add_text(c->tree, kino__buffer_str(&c->path));
    write_name(c, 0, t->halves[0]);
    write_name(c, 1, t->halves[1]);
    KINO__TABLE_ADD(c->tree, left.host, right.host, left.device, right.device, left.total,
                    right.total);
    kino__diff_pair pair = {.left = (double)left.total, .right = (double)right.total};
    KINO__TABLE_ADD(c->tree, right.total - left.total, kino__diff_percent(&pair));
}

static bool add_op(side *s, const kino__node *node)
{
    kino_strid id = kino__string_pool_add_borrowed(&s->per_name.names, kino__node_name(s->p, node));
    if (id == KINO_NO_STRING)
        return false;
    if (id == s->per_name.sums.count) {
        kino__diff_sums *fresh = kino__vec_add(&s->per_name.sums);
        if (!fresh)
            return false;
        *fresh = (kino__diff_sums){0};
    }
    int64_t *values = s->per_name.sums.items[id].values;
    kino__node_sums own = kino__node_sums_of(s->p, node);
    values[KINO__DIFF_CALLS]++;
    values[KINO__DIFF_HOST] = kino__sum(values[KINO__DIFF_HOST], kino__node_length(s->p, node));
    values[KINO__DIFF_DEVICE] = kino__sum(values[KINO__DIFF_DEVICE], own.device_total);
    values[KINO__DIFF_SELF_HOST] = kino__sum(values[KINO__DIFF_SELF_HOST], own.self_host);
    values[KINO__DIFF_SELF_DEVICE] = kino__sum(values[KINO__DIFF_SELF_DEVICE], own.device_self);
    return true;
}

/* Operators at and below the nodes of a slice, in the order in which they end. */
static bool write_ops(comparing *c, int which, slice half)
{
    side *s = &c->sides[which];
    kino__string_pool_deinit(&s->per_name.names);
    kino__string_pool_init(&s->per_name.names, NULL);
    s->per_name.sums.count = 0;
    for (uint32_t i = 0; i < half.count; i++) {
        uint32_t root = s->nodes.items[half.first + i];
        uint32_t n = kino__node_first_leaf(s->p, root);
        for (; n != KINO__NO_NODE; n = kino__node_next_up(s->p, n, root))
            if (s->p->nodes.items[n].is_operator && !add_op(s, &s->p->nodes.items[n]))
                return false;
    }
    for (size_t i = 0; i < s->per_name.sums.count; i++) {
        KINO__TABLE_ADD(c->ops, kino__buffer_str(&c->path),
                        which ? KINO__STR("right") : KINO__STR("left"),
                        kino__string_pool_text(&s->per_name.names, (kino_strid)i));
        for (int v = 0; v < KINO__DIFF_VALUES; v++)
            kino__table_add_int(c->ops, s->per_name.sums.items[i].values[v]);
    }
    return true;
}

/* "0-2-1": the path of the parent stands up to its length. */
static bool enter(comparing *c, const task *t)
{
    c->path.size = t->depth ? c->lengths.items[t->depth - 1] : 0;
    kino__buffer_printf(&c->path, t->depth ? "-%u" : "%u", t->number);
    while (c->lengths.count <= t->depth) {
        size_t *slot = kino__vec_add(&c->lengths);
        if (!slot)
            return false;
        *slot = 0;
    }
    c->lengths.items[t->depth] = c->path.size;
    return !c->path.failed;
}

static bool run(comparing *c)
{
    task *root = kino__vec_add(&c->tasks);
    if (!root)
        return false;
    *root = (task){
        .halves = {{0, (uint32_t)c->sides[0].nodes.count}, {0, (uint32_t)c->sides[1].nodes.count}},
        .is_root = true};
    while (c->tasks.count) {
        task t = c->tasks.items[--c->tasks.count];
        if (!enter(c, &t))
            return false;
        write_pair(c, &t);
        if (c->has_ops && (!write_ops(c, 0, t.halves[0]) || !write_ops(c, 1, t.halves[1])))
            return false;
        if (!descend(c, &t))
            return false;
    }
    return true;
}

/* Names of the right trace in the numbers of the left one. */
static bool translate_names(comparing *c)
{
    const kino__trace *left = c->sides[0].p->trace, *right = c->sides[1].p->trace;
    size_t count = kino__string_pool_count(&right->strings);
    c->left_name = malloc((count + 1) * sizeof *c->left_name);
    if (!c->left_name)
        return false;
    for (kino_strid i = 0; i < count; i++)
        c->left_name[i] = kino__string_pool_find(&left->strings, kino__trace_string(right, i));
    return true;
}

bool kino__diff_write_tree(const kino__profile *left, const kino__profile *right, bool has_ops,
                           kino_result *result)
{
    comparing c = {.sides = {{.p = left}, {.p = right}}, .has_ops = has_ops};
    c.tree = kino__analysis_table(result, KINO__DIFF_TABLE_TREE);
    c.ops = kino__analysis_table(result, KINO__DIFF_TABLE_TREE_OPS);
    bool ok = kino__diff_forest(left, &c.sides[0].nodes) &&
              kino__diff_forest(right, &c.sides[1].nodes) && translate_names(&c);
    if (ok && (c.sides[0].nodes.count || c.sides[1].nodes.count))
        ok = run(&c);
    if (c.is_cut)
        kino__result_note(result, "tree below level %d not available: too deep", MOST_DEPTH);
    free(c.left_name);
    for (int i = 0; i < 2; i++) {
        kino__vec_deinit(&c.sides[i].nodes);
        kino__vec_deinit(&c.sides[i].per_name.sums);
        kino__string_pool_deinit(&c.sides[i].per_name.names);
    }
    kino__vec_deinit(&c.tasks);
    kino__vec_deinit(&c.lengths);
    kino__buffer_deinit(&c.path);
    return ok;
}
