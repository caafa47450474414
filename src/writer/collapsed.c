/* collapsed.c - stacks of a run, added up: "a;b;c N" lines for flame graphs
 * (docs/formats/collapsed.md). The tree of distinct stacks (stack_sums.h) is written depth first,
 * frames in byte order. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "writer/stack_sums.h"

enum { FLUSH_BYTES = 1 << 18 };
enum { LEAST_LIMIT = 64 << 20, LIMIT_PER_EVENT = 4096 }; /* bytes of output */

/* What a stack weighs: own time, or calls. */
static __int128 weight_of(const kino__stack_sums *o, const kino__stack_sum *n)
{
    return o->context->counts ? (__int128)n->calls : n->own_ns;
}

/* Nodes by parent, then by the text of their frame. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const kino__stack_sums *o = context;
    const kino__stack_sum *x = &o->nodes.items[*(const uint32_t *)a];
    const kino__stack_sum *y = &o->nodes.items[*(const uint32_t *)b];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return kino__str_compare(kino__string_pool_text(&o->frames.texts, x->frame),
                             kino__string_pool_text(&o->frames.texts, y->frame));
}

/* The tree in order: the children of node n are order[first[n]] .. order[first[n + 1] - 1]; those
 * of the root are the last ones, as its number is the highest. */
typedef struct tree {
    uint32_t *order, *first;
    KINO__VEC(uint32_t) at; /* for each node of the stack at hand: its place in order */
    kino__buffer stack;     /* the text of the stack at hand */
    KINO__VEC(size_t) ends; /* of its frames in the text */
    kino__buffer text;      /* not yet in the sink */
} tree;

static bool tree_init(tree *t, kino__stack_sums *o)
{
    size_t count = o->nodes.count;
    t->order = malloc((count + 1) * sizeof *t->order);
    t->first = calloc(count + 2, sizeof *t->first);
    if (!t->order || !t->first)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = o->nodes.items[i].parent;
        t->order[i] = (uint32_t)i;
        t->first[(parent == KINO__NO_SUM ? count : parent) + 1]++;
    }
    for (size_t i = 1; i <= count + 1; i++)
        t->first[i] += t->first[i - 1];
    qsort_r(t->order, count, sizeof *t->order, compare_nodes, o);
    return true;
}

static void tree_deinit(tree *t)
{
    free(t->order);
    free(t->first);
    kino__vec_deinit(&t->at);
    kino__vec_deinit(&t->ends);
    kino__buffer_deinit(&t->stack);
    kino__buffer_deinit(&t->text);
}

/* Steps onto the node at a place of the order. */
static bool descend(tree *t, const kino__stack_sums *o, uint32_t place)
{
    uint32_t *at = kino__vec_add(&t->at);
    size_t *end = kino__vec_add(&t->ends);
    if (!at || !end)
        return false;
    *at = place;
    *end = t->stack.size;
    kino__buffer_add(&t->stack, t->stack.size ? KINO__STR(";") : KINO__STR(""));
    kino__buffer_add(
        &t->stack, kino__string_pool_text(&o->frames.texts, o->nodes.items[t->order[place]].frame));
    return !t->stack.failed;
}

static void add_weight(kino__buffer *out, __int128 weight)
{
    const int64_t part = INT64_C(1000000000000000000);
    char *to = kino__buffer_reserve(out, KINO__DECIMAL_MAX);
    if (!to)
        return;
    if (weight >= part) {
        out->size += kino__format_int((int64_t)(weight / part), to);
        kino__buffer_printf(out, "%018lld", (long long)(weight % part));
    } else {
        out->size += kino__format_int((int64_t)weight, to);
    }
}

/* A line for the node at hand, unless its weight is 0. */
static kino_status write_line(tree *t, const kino__stack_sums *o, const kino__stack_sum *n,
                              kino__sink *sink, kino_error *err)
{
    if (weight_of(o, n) == 0)
        return KINO_OK;
    kino__buffer_add(&t->text, kino__buffer_str(&t->stack));
    kino__buffer_add(&t->text, KINO__STR(" "));
    add_weight(&t->text, weight_of(o, n));
    kino__buffer_add(&t->text, KINO__STR("\n"));
    if (t->text.failed)
        return kino__fail_nomem(err);
    if (t->text.size < FLUSH_BYTES)
        return KINO_OK;
    kino_status st = kino__sink_write(sink, kino__buffer_str(&t->text), err);
    t->text.size = 0;
    return st;
}

/* The next node of the walk, depth first: a child, else a sibling, else one of a node below. */
static bool step(tree *t, const kino__stack_sums *o, bool *has_memory)
{
    size_t root = o->nodes.count;
    size_t on = t->at.count ? t->order[t->at.items[t->at.count - 1]] : root;
    uint32_t place = t->first[on];
    if (place == t->first[on + 1]) { /* no children */
        do {
            if (t->at.count == 0)
                return false;
            place = t->at.items[--t->at.count] + 1;
            t->stack.size = t->ends.items[--t->ends.count];
            on = t->at.count ? t->order[t->at.items[t->at.count - 1]] : root;
        } while (place == t->first[on + 1]);
    }
    *has_memory = descend(t, o, place);
    return *has_memory;
}

/* Each line repeats its whole stack, so the text grows with the square of the depth. What is out of
 * proportion to the run is refused before a byte is written. */
static kino_status check_size(const kino__stack_sums *o, kino_error *err)
{
    const uint64_t most = LEAST_LIMIT + o->event_count * LIMIT_PER_EVENT;
    uint64_t *length = malloc((o->nodes.count + 1) * sizeof *length), total = 0;
    if (!length)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < o->nodes.count; i++) { /* a parent comes before its children */
        const kino__stack_sum *n = &o->nodes.items[i];
        length[i] = 1 + kino__string_pool_text(&o->frames.texts, n->frame).size;
        length[i] += n->parent == KINO__NO_SUM ? 0 : length[n->parent];
        total += weight_of(o, n) ? length[i] : 0;
    }
    free(length);
    if (total <= most)
        return KINO_OK;
    return kino__fail(err, KINO_LIMIT,
                      "cannot write '%s': its deep stacks would take %" PRIu64
                      " MB of text (limit: %" PRIu64
                      " MB for this run); select fewer frames with --stacks op or --stacks python, "
                      "or write speedscope or .kino",
                      o->context->label, total / 1000000, most / 1000000);
}

static kino_status write_tree(kino__stack_sums *o, kino__sink *sink, kino_error *err)
{
    tree t = {0};
    KINO_TRY(check_size(o, err));
    bool has_memory = tree_init(&t, o);
    kino_status st = KINO_OK;
    while (st == KINO_OK && has_memory && step(&t, o, &has_memory)) {
        st = write_line(&t, o, &o->nodes.items[t.order[t.at.items[t.at.count - 1]]], sink, err);
        if (st == KINO_OK)
            st = kino__stack_sums_progress(o, 0, err);
    }
    if (st == KINO_OK && !has_memory)
        st = kino__fail_nomem(err);
    if (st == KINO_OK && t.text.size)
        st = kino__sink_write(sink, kino__buffer_str(&t.text), err);
    tree_deinit(&t);
    return st;
}

static kino_status write_run(const kino__run *run, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    kino__stack_sums sums;
    kino_status st = kino__stack_sums_init(&sums, run, context, true, err);
    if (st == KINO_OK)
        st = write_tree(&sums, sink, err);
    kino__stack_sums_deinit(&sums);
    return st;
}

const kino__writer_def kino__writer_collapsed = {
    .name = "collapsed",
    .suffix = ".folded",
    .other_suffix = ".collapsed",
    .help = "collapsed stacks for flame graphs: 'a;b;c N' lines",
    .is_compressible = true,
    .takes_runs = true,
    .write = write_run,
};
