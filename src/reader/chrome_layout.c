/* chrome_layout.c - layouts: making one step by step, keeping it, and the tree that finds it.
 *
 * The slow parser walks through an event it understood and adds a step for each value; here the
 * layout is completed (which common order is it?), compared with those that are known, and put in
 * the tree over the first texts. When there are too many, the oldest goes. */
#include "reader/chrome_internal.h"

static void forget(kino__layout_memory *m)
{
    memset(m, 0, sizeof *m);
    m->mask = UINT64_MAX;
}

void kino__chrome_forget(kino__layout *layout)
{
    forget(&layout->name);
    forget(&layout->track[0]);
    forget(&layout->track[1]);
}

/* -- learning */

bool kino__chrome_add_step(kino__layout *layout, const char *from, const char *to, uint32_t op)
{
    size_t size = (size_t)(to - from);
    if (layout->step_count == KINO__LAYOUT_STEPS || size > KINO__LAYOUT_TEXT)
        return false;
    kino__layout_step *step = &layout->steps[layout->step_count++];
    memset(step, 0, sizeof *step);
    memcpy(step->text, from, size);
    step->size = (uint32_t)size;
    step->op = op;
    step->mask[0] = size >= 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1;
    step->mask[1] = size <= 64 ? 0 : size == 128 ? UINT64_MAX : (UINT64_C(1) << (size - 64)) - 1;
    return true;
}

static bool same_layout(const kino__layout *a, const kino__layout *b)
{
    if (a->step_count != b->step_count)
        return false;
    for (uint32_t i = 0; i < a->step_count; i++)
        if (a->steps[i].op != b->steps[i].op || a->steps[i].size != b->steps[i].size ||
            memcmp(a->steps[i].text, b->steps[i].text, a->steps[i].size) != 0)
            return false;
    return true;
}

/* Are these the values, in this order? */
static bool has_order(const kino__layout *layout, const uint32_t *ops, uint32_t count)
{
    if (layout->step_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = layout->steps[i].op;
        op = op == KINO__OP_PID_TEXT ? KINO__OP_PID : op == KINO__OP_TID_TEXT ? KINO__OP_TID : op;
        if (op != ops[i])
            return false;
    }
    return true;
}

static bool joins_track(const kino__layout *layout)
{
    for (uint32_t i = 0; i + 2 < layout->step_count; i++) {
        uint32_t first = layout->steps[i].op, second = layout->steps[i + 1].op;
        if ((first == KINO__OP_PID || first == KINO__OP_PID_TEXT) &&
            (second == KINO__OP_TID || second == KINO__OP_TID_TEXT))
            return true;
    }
    return false;
}

/* Half a span with a length: the slow parser leaves that out. */
static bool is_half_with_length(const kino__layout *layout)
{
    bool has_length = false;
    for (uint32_t i = 0; i < layout->step_count; i++)
        has_length |= layout->steps[i].op == KINO__OP_DUR;
    return has_length && (layout->phase == 'B' || layout->phase == 'E');
}

void kino__chrome_add_layout(kino__chrome_worker *w, kino__layout *layout)
{
    static const uint32_t span[] = {KINO__OP_NAME, KINO__OP_PID,  KINO__OP_TID, KINO__OP_TS,
                                    KINO__OP_DUR,  KINO__OP_ARGS, KINO__OP_END};
    static const uint32_t flow[] = {KINO__OP_ID, KINO__OP_PID,  KINO__OP_TID,
                                    KINO__OP_TS, KINO__OP_NAME, KINO__OP_END};
    if (is_half_with_length(layout))
        return;
    for (uint32_t i = 0; i < w->layout_count; i++)
        if (same_layout(&w->layouts[i], layout))
            return;
    layout->joins_track = joins_track(layout);
    layout->is_span = has_order(layout, span, sizeof span / sizeof *span);
    layout->is_flow = has_order(layout, flow, sizeof flow / sizeof *flow);
    layout->is_special = layout->phase == 'B' || layout->phase == 'E' || layout->phase == 'M';
    kino__chrome_forget(layout);
    uint32_t slot =
        w->layout_count < KINO__LAYOUTS ? w->layout_count++ : w->layout_victim++ % KINO__LAYOUTS;
    w->layouts[slot] = *layout;
    kino__chrome_plant_tree(w);
}

/* -- the tree of layouts */

/* The first byte at which two of the listed layouts' first texts differ; UINT32_MAX when all are
 * equal as far as the shortest goes (then they are told apart by trying). */
static uint32_t first_difference(const kino__chrome_worker *w, const uint8_t *list, uint32_t count)
{
    const kino__layout_step *a = &w->layouts[list[0]].steps[0];
    uint32_t common = a->size;
    for (uint32_t i = 1; i < count; i++) {
        const kino__layout_step *b = &w->layouts[list[i]].steps[0];
        uint32_t k = 0, end = common < b->size ? common : b->size;
        while (k < end && a->text[k] == b->text[k])
            k++;
        common = k;
    }
    for (uint32_t i = 0; i < count; i++)
        if (common >= w->layouts[list[i]].steps[0].size)
            return UINT32_MAX;
    return common;
}

static uint32_t add_node(kino__chrome_worker *w, uint32_t *count, int32_t layout)
{
    kino__layout_node *node = &w->nodes[*count];
    node->offset = 0;
    node->layout = layout;
    memset(node->child, layout < 0 ? 0 : (int)*count, sizeof node->child);
    return (*count)++;
}

void kino__chrome_plant_tree(kino__chrome_worker *w)
{
    /* Sets of layouts still to be split. A set of n makes at most 2n - 1 nodes. */
    struct {
        uint8_t list[KINO__LAYOUTS];
        uint32_t count, depth, parent;
        uint8_t byte; /* of the parent */
    } stack[KINO__LAYOUTS + 1], set;
    uint32_t top = 0, nodes = 0;
    (void)add_node(w, &nodes, -1);
    w->tree_root = w->tree_depth = 0;
    for (uint32_t i = 0; i < w->layout_count; i++)
        stack[0].list[i] = (uint8_t)i;
    stack[0].count = w->layout_count;
    stack[0].depth = 0;
    top = w->layout_count ? 1 : 0;
    while (top) {
        set = stack[--top];
        uint32_t offset = set.count > 1 ? first_difference(w, set.list, set.count) : UINT32_MAX;
        bool is_leaf = offset == UINT32_MAX;
        uint32_t node = add_node(w, &nodes, is_leaf ? set.list[0] : -1);
        if (set.depth == 0)
            w->tree_root = node;
        else
            w->nodes[set.parent].child[set.byte] = (uint8_t)node;
        for (uint32_t i = 0; is_leaf && i < set.count; i++)
            w->layouts[set.list[i]].same_start = i + 1 < set.count ? set.list[i + 1] : -1;
        if (is_leaf)
            continue;
        w->nodes[node].offset = offset;
        if (w->tree_depth < set.depth + 1)
            w->tree_depth = set.depth + 1;
        bool is_taken[KINO__LAYOUTS] = {false};
        for (uint32_t i = 0; i < set.count; i++) {
            if (is_taken[i])
                continue;
            char c = w->layouts[set.list[i]].steps[0].text[offset];
            stack[top].count = 0;
            for (uint32_t k = i; k < set.count; k++) {
                if (w->layouts[set.list[k]].steps[0].text[offset] != c)
                    continue;
                stack[top].list[stack[top].count++] = set.list[k];
                is_taken[k] = true;
            }
            stack[top].depth = set.depth + 1;
            stack[top].parent = node;
            stack[top++].byte = (uint8_t)c;
        }
    }
}
