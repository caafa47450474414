/* profile_backward.c - backward passes of modules as nodes of the main thread.
 *
 * The backward engine runs in a thread of its own, where nothing says which module a span belongs
 * to. Flows "fwdbwd" lead from an operator to the backward function it recorded, so the engine's
 * top-level spans can be handed to the modules whose operators they answer:
 *
 *   main thread    Net ( Linear ( aten::linear ---+ ) )            Net.backward ( Linear.backward
 *   autograd       evaluate_function: AddmmBackward <+   becomes       ( evaluate_function ... ) )
 *                  evaluate_function: AccumulateGrad                in the main thread
 *
 * A span of AccumulateGrad belongs to the one before it. The TensorBoard plugin takes all spans of
 * the engine out of their thread, also those that no operator leads to, and adds a group once for
 * each of several nested operators that start together (D23); the default moves what it can place
 * and adds it once. The plugin ends where two flows reach one span (D14): here the first counts. */
#include "model/profile/profile_backward.h"

#include <stdlib.h>

/* A module that has not ended, and its backward node. */
typedef struct open_module {
    int64_t end;
    uint32_t node;
} open_module;
typedef KINO__VEC(open_module) opens;

/* -- children */

static bool list_last(kino__moving *m)
{
    kino__profile *p = m->p;
    if (!kino__vec_reserve(&m->last_child, p->nodes.count + 1))
        return false;
    memset(m->last_child.items, 0xff, p->nodes.count * sizeof *m->last_child.items);
    m->last_child.count = p->nodes.count;
    for (uint32_t n = 0; n < p->nodes.count; n++) {
        const kino__node *node = &p->nodes.items[n];
        if (node->next_sibling == KINO__NO_NODE && node->parent != KINO__NO_NODE &&
            !node->is_dropped)
            m->last_child.items[node->parent] = n;
    }
    return true;
}

/* A child at the end of its parent's list. */
static void append(kino__moving *m, uint32_t parent, uint32_t child)
{
    kino__node *above = &m->p->nodes.items[parent], *below = &m->p->nodes.items[child];
    uint32_t *last = &m->last_child.items[parent];
    below->parent = parent;
    below->next_sibling = KINO__NO_NODE;
    if (*last == KINO__NO_NODE)
        above->first_child = child;
    else
        m->p->nodes.items[*last].next_sibling = child;
    *last = child;
}

/* -- out of their threads */

static void drop_below(kino__profile *p, uint32_t root)
{
    for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root))
        p->nodes.items[n].is_dropped = true;
}

/* Children of a parent without those that go. */
static void filter_children(kino__moving *m, uint32_t parent, const uint8_t *goes)
{
    kino__profile *p = m->p;
    uint32_t c = p->nodes.items[parent].first_child, next;
    p->nodes.items[parent].first_child = m->last_child.items[parent] = KINO__NO_NODE;
    for (; c != KINO__NO_NODE; c = next) {
        next = p->nodes.items[c].next_sibling;
        p->nodes.items[c].next_sibling = KINO__NO_NODE;
        if (!goes[c])
            append(m, parent, c);
    }
}

static bool cut(kino__moving *m)
{
    kino__profile *p = m->p;
    uint8_t *goes = calloc(p->nodes.count + 1, 1);
    if (!goes)
        return false;
    for (size_t i = 0; i < m->roots.count; i++)
        goes[m->roots.items[i]] = p->is_compat || m->state[m->group[i]] == KINO__GROUP_WANTED;
    uint32_t last = KINO__NO_NODE;
    for (size_t i = 0; i < m->roots.count; i++) {
        uint32_t parent = p->nodes.items[m->roots.items[i]].parent;
        if (parent != last)
            filter_children(m, parent, goes);
        last = parent;
    }
    for (size_t i = 0; i < m->roots.count; i++)
        if (goes[m->roots.items[i]] && m->state[m->group[i]] != KINO__GROUP_WANTED)
            drop_below(p, m->roots.items[i]);
    free(goes);
    return true;
}

/* -- backward nodes */

static bool move_add(kino__moving *m, uint32_t owner, uint32_t node, uint32_t group)
{
    kino__backward_move *slot = kino__vec_add(&m->moves);
    if (slot)
        *slot = (kino__backward_move){owner, node, group};
    return slot != NULL;
}

/* The last node is a new one: without any around it. */
static uint32_t add_last(kino__moving *m)
{
    kino__node *n = &m->p->nodes.items[m->p->nodes.count - 1];
    n->parent = n->first_child = n->next_sibling = KINO__NO_NODE;
    return kino__indexes_add(&m->last_child, KINO__NO_NODE) ? (uint32_t)m->p->nodes.count - 1
                                                            : KINO__NO_NODE;
}

static bool make_backward(kino__moving *m, uint32_t module, uint32_t owner)
{
    const kino__node *of = &m->p->nodes.items[module];
    kino__node node = {
        .class = KINO__NODE_BACKWARD, .thread = of->thread, .first_launch = KINO__NO_NODE};
    kino__node_extra extra = {.start = kino__node_start(m->p, of),
                              .end = kino__node_end(m->p, of),
                              .name = kino__node_name_id(m->p, of)};
    uint32_t made = kino__node_make(m->p, node, &extra);
    made = made == KINO__NO_NODE ? made : add_last(m);
    if (made == KINO__NO_NODE || !kino__indexes_add(&m->made, made))
        return false;
    m->current = made;
    return owner == KINO__NO_NODE ? kino__indexes_add(&m->tops, made)
                                  : move_add(m, owner, made, KINO__NO_NODE);
}

static uint32_t copy_node(kino__moving *m, uint32_t node)
{
    kino__node *slot = kino__vec_add(&m->p->nodes);
    if (!slot)
        return KINO__NO_NODE;
    *slot = m->p->nodes.items[node];
    return add_last(m);
}

/* A second copy of a tree, for the plugin's repeated groups; KINO__NO_NODE when memory is out. */
static uint32_t copy_tree(kino__moving *m, uint32_t root)
{
    kino__profile *p = m->p;
    uint32_t copy = copy_node(m, root), first = copy, at = root;
    while (copy != KINO__NO_NODE) {
        uint32_t next = kino__node_next(p, at, root);
        if (next == KINO__NO_NODE)
            return first;
        /* The copy goes the way of the original: up to the next one's parent, then down. */
        for (uint32_t above = p->nodes.items[next].parent; at != above;
             at = p->nodes.items[at].parent)
            copy = p->nodes.items[copy].parent;
        uint32_t child = copy_node(m, next);
        if (child != KINO__NO_NODE)
            append(m, copy, child);
        copy = child;
        at = next;
    }
    return KINO__NO_NODE;
}

static bool add_group(kino__moving *m, uint32_t group, uint32_t to)
{
    bool is_copy = m->state[group] == KINO__GROUP_STANDS;
    if (is_copy && !m->p->is_compat)
        return true;
    for (uint32_t i = group; i < m->roots.count && m->group[i] == group; i++) {
        uint32_t node = is_copy ? copy_tree(m, m->roots.items[i]) : m->roots.items[i];
        if (node == KINO__NO_NODE)
            return false;
        append(m, to, node);
    }
    m->state[group] = KINO__GROUP_STANDS;
    return true;
}

/* Nodes of a module stand behind it, up to its end. For each of them the modules around it are on a
 * stack, the innermost on top, beside their backward nodes. */
static bool plan(kino__moving *m, uint32_t module, opens *stack)
{
    int64_t end = kino__node_end(m->p, &m->p->nodes.items[module]);
    uint32_t thread = m->p->nodes.items[module].thread, limit = (uint32_t)m->node_count;
    stack->count = 0;
    for (uint32_t i = module; i < limit; i++) {
        const kino__node *n = &m->p->nodes.items[i];
        int64_t start = kino__node_start(m->p, n);
        if (i != module && (start >= end || n->thread != thread))
            break;
        if (n->is_dropped)
            continue;
        while (stack->count && start >= stack->items[stack->count - 1].end)
            stack->count--;
        uint32_t owner = stack->count ? stack->items[stack->count - 1].node : KINO__NO_NODE;
        uint32_t group = owner == KINO__NO_NODE ? KINO__NO_NODE : kino__backward_group(m, n);
        if (group != KINO__NO_NODE) {
            m->state[group] = KINO__GROUP_WANTED;
            if (!move_add(m, owner, KINO__NO_NODE, group))
                return false;
        }
        if (n->class != KINO__NODE_MODULE)
            continue;
        int64_t module_end = kino__node_end(m->p, n);
        open_module *top = make_backward(m, i, owner) ? kino__vec_add(stack) : NULL;
        if (!top)
            return false;
        *top = (open_module){module_end, m->current};
    }
    return true;
}

static bool plan_all(kino__moving *m)
{
    opens stack = {0};
    bool ok = true;
    m->node_count = m->p->nodes.count; /* without those that are made here */
    for (size_t i = 0; ok && m->leads.count && i < m->modules.count; i++)
        ok = plan(m, m->modules.items[i], &stack);
    kino__vec_deinit(&stack);
    return ok;
}

typedef struct placed {
    int64_t start, end;
    uint32_t node, order;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

typedef KINO__VEC(placed) places;

static bool place_add(const kino__profile *p, places *list, uint32_t node)
{
    placed *slot = kino__vec_add(list);
    if (slot)
        *slot = (placed){kino__node_start(p, &p->nodes.items[node]),
                         kino__node_end(p, &p->nodes.items[node]), node, (uint32_t)list->count};
    return slot != NULL;
}

static void sort_places(places *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_placed);
}

/* Interval and sums from the children. */
static bool fill(kino__moving *m, uint32_t index, places *children)
{
    kino__profile *p = m->p;
    children->count = 0;
    for (uint32_t c = p->nodes.items[index].first_child; c != KINO__NO_NODE;
         c = p->nodes.items[c].next_sibling)
        if (!place_add(p, children, c))
            return false;
    if (children->count == 0)
        return true;
    sort_places(children);
    kino__node *n = &p->nodes.items[index];
    kino__node_extra *extra = &p->extras.items[n->device];
    n->first_child = m->last_child.items[index] = KINO__NO_NODE;
    n->thread = p->nodes.items[children->items[0].node].thread;
    extra->start = children->items[0].start;
    extra->end = children->items[children->count - 1].end;
    extra->sums.self_host = extra->end - extra->start;
    for (size_t i = 0; i < children->count; i++) {
        const placed *at = &children->items[i];
        const kino__node *child = &p->nodes.items[at->node];
        kino__node_sums below = kino__node_sums_of(p, child);
        extra->sums.self_host -= at->end - at->start;
        extra->sums.device_total += below.device_total;
        extra->sums.tensor_total += below.tensor_total;
        n->is_eligible |= child->is_eligible;
        append(m, index, at->node);
    }
    return true;
}

static bool build_all(kino__moving *m)
{
    places children = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < m->moves.count; i++) {
        const kino__backward_move *move = &m->moves.items[i];
        if (move->group != KINO__NO_NODE)
            ok = add_group(m, move->group, move->owner);
        else
            append(m, move->owner, move->node);
    }
    for (size_t i = m->made.count; ok && i-- > 0;)
        ok = fill(m, m->made.items[i], &children);
    kino__vec_deinit(&children);
    return ok;
}

/* -- into the main thread */

static uint32_t longest_thread(const kino__profile *p)
{
    uint32_t engine = KINO__NO_NODE, longest = KINO__NO_NODE;
    for (uint32_t t = 0; t < p->threads.count && engine == KINO__NO_NODE; t++) {
        uint32_t c = p->nodes.items[p->threads.items[t].root].first_child;
        for (; c != KINO__NO_NODE && engine == KINO__NO_NODE; c = p->nodes.items[c].next_sibling)
            engine = kino__node_is_backward_root(p, c) ? t : KINO__NO_NODE;
    }
    int64_t length = 0;
    for (uint32_t t = 0; t < p->threads.count; t++) {
        const kino__node *root = &p->nodes.items[p->threads.items[t].root];
        if (t == engine || (longest != KINO__NO_NODE && kino__node_length(p, root) <= length))
            continue;
        longest = t;
        length = kino__node_length(p, root);
    }
    return longest;
}

/* The one with steps, the only one, or the longest that is not the engine's. */
static uint32_t find_main(const kino__profile *p)
{
    for (uint32_t t = (uint32_t)p->threads.count; t-- > 0;)
        if (p->threads.items[t].has_steps)
            return t;
    return p->threads.count == 1 ? 0 : longest_thread(p);
}

static void insert_after(kino__moving *m, uint32_t parent, uint32_t before, uint32_t node)
{
    kino__profile *p = m->p;
    kino__node *above = &p->nodes.items[parent], *n = &p->nodes.items[node];
    uint32_t *link =
        before == KINO__NO_NODE ? &above->first_child : &p->nodes.items[before].next_sibling;
    n->parent = parent;
    n->next_sibling = *link;
    *link = node;
    if (n->next_sibling == KINO__NO_NODE)
        m->last_child.items[parent] = node;
}

/* Where the search for the next node's place goes on: behind `before`, a child of `node`. */
typedef struct position {
    uint32_t node, before;
} position;

static uint32_t next_child(const kino__profile *p, position at)
{
    return at.before == KINO__NO_NODE ? p->nodes.items[at.node].first_child
                                      : p->nodes.items[at.before].next_sibling;
}

/* Down into children that overlap it; behind those that end before it. */
static position descend(const kino__profile *p, position at, const kino__node *n)
{
    int64_t start = kino__node_start(p, n), end = kino__node_end(p, n);
    for (uint32_t c; (c = next_child(p, at)) != KINO__NO_NODE;) {
        const kino__node *child = &p->nodes.items[c];
        if (end < kino__node_start(p, child))
            break;
        if (start >= kino__node_end(p, child))
            at.before = c;
        else
            at = (position){c, KINO__NO_NODE};
    }
    return at;
}

/* Up from nodes that have ended before it. */
static position ascend(const kino__profile *p, position at, uint32_t root, const kino__node *n)
{
    int64_t start = kino__node_start(p, n), end = kino__node_end(p, n);
    while (at.node != KINO__NO_NODE && end >= kino__node_start(p, &p->nodes.items[at.node]) &&
           start > kino__node_end(p, &p->nodes.items[at.node])) {
        uint32_t left = at.node == root ? KINO__NO_NODE : at.node;
        at = (position){left == KINO__NO_NODE ? left : p->nodes.items[left].parent, left};
    }
    return at;
}

/* Before or behind everything that the thread did: the plugin leaves it out, here the root
 * grows. */
static position widen(kino__moving *m, uint32_t root, const kino__node *n)
{
    kino__profile *p = m->p;
    kino__node_extra *r = &p->extras.items[p->nodes.items[root].device];
    int64_t start = kino__node_start(p, n), end = kino__node_end(p, n);
    uint32_t before = start > r->end ? m->last_child.items[root] : KINO__NO_NODE;
    r->start = start < r->start ? start : r->start;
    r->end = end > r->end ? end : r->end;
    return (position){root, before};
}

static bool insert_all(kino__moving *m, uint32_t main_root)
{
    kino__profile *p = m->p;
    places tops = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < m->tops.count; i++)
        ok = place_add(p, &tops, m->tops.items[i]);
    sort_places(&tops);
    position at = {main_root, KINO__NO_NODE};
    for (size_t i = 0; ok && i < tops.count; i++) {
        uint32_t index = tops.items[i].node;
        const kino__node *n = &p->nodes.items[index];
        at = ascend(p, at, main_root, n);
        bool is_outside = at.node == KINO__NO_NODE ||
                          kino__node_end(p, n) < kino__node_start(p, &p->nodes.items[at.node]);
        if (is_outside && p->is_compat) {
            drop_below(p, index);
            continue;
        }
        at = descend(p, is_outside ? widen(m, main_root, n) : at, n);
        insert_after(m, at.node, at.before, index);
        at.before = index;
    }
    kino__vec_deinit(&tops);
    return ok;
}

static void renumber(kino__profile *p, size_t first, size_t end, uint32_t thread)
{
    for (size_t n = first; n < end; n++)
        p->nodes.items[n].thread = thread;
}

/* Threads that have nothing left go; their nodes count as the main thread's. */
static bool remove_empty(kino__moving *m, uint32_t main)
{
    kino__profile *p = m->p;
    uint32_t *number = malloc((p->threads.count + 1) * sizeof *number);
    uint32_t kept = 0, count = (uint32_t)p->threads.count;
    if (!number)
        return false;
    for (uint32_t t = 0; t < count; t++) {
        bool stays = p->nodes.items[p->threads.items[t].root].first_child != KINO__NO_NODE;
        p->nodes.items[p->threads.items[t].root].is_dropped = !stays;
        number[t] = stays ? kept++ : KINO__NO_NODE;
    }
    uint32_t home = number[main] == KINO__NO_NODE ? 0 : number[main];
    for (uint32_t t = 0; t < count; t++) {
        size_t end = t + 1 < count ? p->threads.items[t + 1].root : m->node_count;
        number[t] = number[t] == KINO__NO_NODE ? home : number[t];
        if (number[t] != t)
            renumber(p, p->threads.items[t].root, end, number[t]);
    }
    for (size_t n = m->node_count; n < p->nodes.count; n++)
        p->nodes.items[n].thread = number[p->nodes.items[n].thread];
    kept = 0;
    for (uint32_t t = 0; t < count; t++)
        if (!p->nodes.items[p->threads.items[t].root].is_dropped)
            p->threads.items[kept++] = p->threads.items[t];
    p->threads.count = kept;
    free(number);
    return true;
}

static bool move(kino__moving *m, uint32_t main)
{
    return list_last(m) && plan_all(m) && cut(m) && build_all(m) &&
           insert_all(m, m->p->threads.items[main].root) && remove_empty(m, main);
}

bool kino__profile_add_backward(kino__profile *p, kino__trace *last)
{
    kino__moving m = {.p = p};
    bool ok = true, is_wanted = p->has_modules && p->has_backward_flows && p->threads.count > 0;
    uint32_t main = is_wanted ? find_main(p) : KINO__NO_NODE;
    if (is_wanted)
        ok = kino__backward_collect(&m);
    bool has_any = main != KINO__NO_NODE && m.modules.count && m.roots.count;
    ok = ok && (!has_any || kino__backward_match(&m));
    if (last) /* these ids have led from forward to backward */
        kino__trace_drop_columns(last, KINO__COLUMN_BIND);
    ok = ok && (!has_any || move(&m, main));
    kino__vec_deinit(&m.leads);
    kino__vec_deinit(&m.modules);
    kino__vec_deinit(&m.roots);
    kino__vec_deinit(&m.made);
    kino__vec_deinit(&m.tops);
    kino__vec_deinit(&m.last_child);
    free(m.group);
    free(m.place);
    free(m.has_roots);
    free(m.state);
    kino__vec_deinit(&m.moves);
    return ok;
}
