/* collapsed.c - stacks of a run, added up: "a;b;c N" lines for flame graphs
 * (docs/formats/collapsed.md).
 *
 * One pass over the spans, track by track and lane by lane (store/stacks.h), into a tree of
 * distinct stacks; then the tree is written, depth first, frames in byte order. In a lane spans
 * nest strictly, so own time is a span's length less the lengths of those directly on it: each
 * length is added to one node and taken from the node below, and what remains adds up to the
 * lengths of the spans at the bottom, exactly. Memory: the tree, and 16 bytes a span of the largest
 * track. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/map.h"
#include "writer/writer.h"

enum { FLUSH_BYTES = 1 << 18, PROGRESS_STEP = 4096 };
enum { LEAST_LIMIT = 64 << 20, LIMIT_PER_EVENT = 4096 }; /* bytes of output */
#define NO_NODE UINT32_MAX

/* A distinct stack: a frame on another stack. Weights may be sums of absurd durations. */
typedef struct node {
    uint32_t parent; /* NO_NODE: the frame is a track */
    kino_strid frame;
    __int128 weight;
} node;

typedef struct output {
    const kino__run *run;
    const kino__write_context *context;
    kino__stack_frames frames;
    kino__map children; /* parent << 32 | frame -> node */
    KINO__VEC(node) nodes;
    KINO__VEC(uint32_t) open; /* the nodes of the spans that are open, the track below them */
    uint64_t event_count;
    bool by_rank;
} output;

static kino_status add_progress(output *o, size_t amount, kino_error *err)
{
    if (kino__progress_add(o->context->progress, amount))
        return KINO_OK;
    return kino__fail(err, KINO_CANCELLED, "interrupted");
}

/* ---- adding up ---- */

/* The node of a frame on another; NO_NODE when memory is out. */
static uint32_t find_node(output *o, uint32_t parent, kino_strid frame)
{
    if (frame == KINO_NO_STRING || o->nodes.count >= NO_NODE)
        return NO_NODE;
    uint32_t *slot = kino__map_put(&o->children, (uint64_t)parent << 32 | frame, NO_NODE);
    if (!slot)
        return NO_NODE;
    if (*slot == NO_NODE) {
        node *fresh = kino__vec_add(&o->nodes);
        if (!fresh)
            return NO_NODE;
        *fresh = (node){.parent = parent, .frame = frame};
        *slot = (uint32_t)(o->nodes.count - 1);
    }
    return *slot;
}

/* Opens a frame on those that are open. */
static bool push(output *o, kino_strid frame)
{
    uint32_t below = o->open.count ? o->open.items[o->open.count - 1] : NO_NODE;
    uint32_t on = find_node(o, below, frame);
    uint32_t *slot = on == NO_NODE ? NULL : kino__vec_add(&o->open);
    if (slot)
        *slot = on;
    return slot != NULL;
}

static void weigh(output *o, const kino__trace *trace, uint32_t row)
{
    uint32_t on = o->open.items[o->open.count - 1];
    if (o->context->counts) {
        o->nodes.items[on].weight++;
        return;
    }
    __int128 length = (__int128)kino__stack_end(trace, row) - trace->ts[row];
    o->nodes.items[on].weight += length;
    if (o->open.count > 2) /* the lowest is the track, which has no time of its own */
        o->nodes.items[o->open.items[o->open.count - 2]].weight -= length;
}

static kino_status add_lane(output *o, kino__stack_walk *walk, kino_error *err)
{
    kino__stack_event event;
    size_t reported = 0;
    while (kino__stack_walk_next(walk, &event)) {
        if (!event.is_open) {
            o->open.count--;
            continue;
        }
        if (!push(o, kino__stack_frame(&o->frames, event.row)))
            return kino__fail_nomem(err);
        weigh(o, walk->trace, event.row);
        if (walk->at - reported >= PROGRESS_STEP) {
            KINO_TRY(add_progress(o, walk->at - reported, err));
            reported = walk->at;
        }
    }
    return walk->failed ? kino__fail_nomem(err) : add_progress(o, walk->at - reported, err);
}

static bool push_track(output *o, const kino__trace *trace, const kino__track *track)
{
    kino__buffer name = {0};
    kino__stack_label(trace, track, o->by_rank, &name);
    o->open.count = 0;
    bool ok =
        !name.failed && push(o, kino__stack_frame_of_text(&o->frames, kino__buffer_str(&name)));
    kino__buffer_deinit(&name);
    return ok;
}

static kino_status add_track(output *o, const kino__trace *trace, const kino__track *track,
                             kino_error *err)
{
    kino__stack_lanes lanes;
    if (!kino__stack_lanes_init(&lanes, trace, track, o->context->stack_kind))
        return kino__fail_nomem(err);
    kino_status st = KINO_OK;
    if (lanes.row_count && !push_track(o, trace, track))
        st = kino__fail_nomem(err);
    for (size_t lane = 0; lane < lanes.lane_count && st == KINO_OK; lane++) {
        uint32_t first = lanes.starts[lane];
        kino__stack_walk walk = {
            .trace = trace, .rows = lanes.rows + first, .count = lanes.starts[lane + 1] - first};
        st = add_lane(o, &walk, err);
        kino__stack_walk_deinit(&walk);
    }
    if (st == KINO_OK)
        st = add_progress(o, track->count - lanes.row_count, err);
    kino__stack_lanes_deinit(&lanes);
    return st;
}

static kino_status add_run(output *o, kino_error *err)
{
    for (size_t i = 0; i < o->run->traces.count; i++)
        o->event_count += o->run->traces.items[i]->event_count;
    kino__progress_stage(o->context->progress, "writing", o->event_count);
    for (size_t i = 0; i < o->run->traces.count; i++) {
        const kino__trace *trace = o->run->traces.items[i];
        if (!kino__stack_frames_start(&o->frames, trace))
            return kino__fail_nomem(err);
        for (size_t t = 0; t < trace->tracks.count; t++)
            KINO_TRY(add_track(o, trace, &trace->tracks.items[t], err));
    }
    return o->nodes.count ? KINO_OK : kino__writer_fail_empty(o->context, err);
}

/* ---- writing ---- */

/* Nodes by parent, then by the text of their frame. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const output *o = context;
    const node *x = &o->nodes.items[*(const uint32_t *)a];
    const node *y = &o->nodes.items[*(const uint32_t *)b];
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

static bool tree_init(tree *t, output *o)
{
    size_t count = o->nodes.count;
    t->order = malloc((count + 1) * sizeof *t->order);
    t->first = calloc(count + 2, sizeof *t->first);
    if (!t->order || !t->first)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = o->nodes.items[i].parent;
        t->order[i] = (uint32_t)i;
        t->first[(parent == NO_NODE ? count : parent) + 1]++;
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
static bool descend(tree *t, const output *o, uint32_t place)
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
static kino_status write_line(tree *t, const node *n, kino__sink *sink, kino_error *err)
{
    if (n->weight == 0)
        return KINO_OK;
    kino__buffer_add(&t->text, kino__buffer_str(&t->stack));
    kino__buffer_add(&t->text, KINO__STR(" "));
    add_weight(&t->text, n->weight);
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
static bool step(tree *t, const output *o, bool *has_memory)
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
static kino_status check_size(const output *o, kino_error *err)
{
    const uint64_t most = LEAST_LIMIT + o->event_count * LIMIT_PER_EVENT;
    uint64_t *length = malloc((o->nodes.count + 1) * sizeof *length), total = 0;
    if (!length)
        return kino__fail_nomem(err);
    for (size_t i = 0; i < o->nodes.count; i++) { /* a parent comes before its children */
        const node *n = &o->nodes.items[i];
        length[i] = 1 + kino__string_pool_text(&o->frames.texts, n->frame).size;
        length[i] += n->parent == NO_NODE ? 0 : length[n->parent];
        total += n->weight ? length[i] : 0;
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

static kino_status write_tree(output *o, kino__sink *sink, kino_error *err)
{
    tree t = {0};
    KINO_TRY(check_size(o, err));
    bool has_memory = tree_init(&t, o);
    kino_status st = KINO_OK;
    while (st == KINO_OK && has_memory && step(&t, o, &has_memory)) {
        st = write_line(&t, &o->nodes.items[t.order[t.at.items[t.at.count - 1]]], sink, err);
        if (st == KINO_OK)
            st = add_progress(o, 0, err);
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
    output o = {.run = run, .context = context, .by_rank = kino__stack_ranks_tell(run)};
    kino__stack_frames_init(&o.frames, true);
    kino__map_init(&o.children, NULL);
    kino_status st = add_run(&o, err);
    if (st == KINO_OK)
        st = write_tree(&o, sink, err);
    kino__map_deinit(&o.children);
    kino__vec_deinit(&o.nodes);
    kino__vec_deinit(&o.open);
    kino__stack_frames_deinit(&o.frames);
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
