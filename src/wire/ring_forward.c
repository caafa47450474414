/* ring_forward.c - links forward and backward functions by thread and sequence number.
 *
 * The functions whose key some backward function asks for are sorted by key and then by their end,
 * so all that concerns a key stands together in the right order and one slot is enough. Then the
 * links are sorted by the end of their backward functions. O(n log n) of those that matter. */
#include "wire/ring_forward.h"

#include <stdlib.h>

#include "base/map.h"

/* -- matching */

typedef struct entry {
    kino__forward_op op;
    uint32_t index;
} entry;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ends(const entry *a, const entry *b)
{
    int order = compare(a->op.end, b->op.end);
    if (!order)
        order = -compare(a->op.start, b->op.start); /* of two that end together the inner one */
    return order ? order : compare(a->index, b->index);
}

static uint64_t key_thread(const kino__forward_op *op)
{
    return op->forward ? op->forward : op->thread;
}

static int compare_keys(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int order = compare(key_thread(&a->op), key_thread(&b->op));
    if (!order)
        order = compare((uint64_t)a->op.sequence, (uint64_t)b->op.sequence);
    return order ? order : compare_ends(a, b);
}

typedef struct match {
    kino__forward_link link;
    uint64_t end;
} match;

static int compare_matches(const void *left, const void *right)
{
    const match *a = left, *b = right;
    int order = compare(a->end, b->end);
    return order ? order : compare(a->link.backward, b->link.backward);
}

static bool is_same_key(const entry *a, const entry *b)
{
    return key_thread(&a->op) == key_thread(&b->op) && a->op.sequence == b->op.sequence;
}

static size_t find_matches(const entry *entries, size_t count, match *out)
{
    size_t found = 0;
    const entry *kept = NULL;
    for (size_t i = 0; i < count; i++) {
        const entry *e = &entries[i];
        if (kept && !is_same_key(kept, e))
            kept = NULL;
        if (!e->op.forward) {
            if (!kept || e->op.start >= kept->op.start)
                kept = e;
        } else if (kept) {
            out[found++] = (match){{kept->index, e->index}, e->op.end};
            kept = NULL;
        }
    }
    return found;
}

/* Two keys may have the same one, which costs time and nothing else. */
static uint64_t hash_of(const kino__forward_op *op)
{
    return kino__hash_u64(key_thread(op) << 48 ^ (uint64_t)op->sequence);
}

/* Those that can be part of a link; false: out of memory. */
static bool choose(const kino__forward_op *ops, size_t count, entry *out, size_t *chosen)
{
    kino__map wanted = {0};
    bool done = true;
    for (size_t i = 0; i < count && done; i++)
        if (ops[i].forward)
            done = kino__map_put(&wanted, hash_of(&ops[i]), 0) != NULL;
    *chosen = 0;
    for (size_t i = 0; i < count && done && wanted.count; i++)
        if (kino__map_get(&wanted, hash_of(&ops[i])))
            out[(*chosen)++] = (entry){ops[i], (uint32_t)i};
    kino__map_deinit(&wanted);
    return done;
}

bool kino__forward_match(const kino__forward_op *ops, size_t count, kino__forward_links *out)
{
    *out = (kino__forward_links){0};
    if (count == 0 || count > UINT32_MAX)
        return count == 0;
    size_t chosen = 0;
    entry *entries = malloc(count * sizeof *entries);
    bool done = entries && choose(ops, count, entries, &chosen);
    match *matches = done ? malloc((chosen + 1) * sizeof *matches) : NULL;
    done = matches != NULL;
    if (done) {
        if (chosen)
            qsort(entries, chosen, sizeof *entries, compare_keys);
        size_t found = find_matches(entries, chosen, matches);
        qsort(matches, found, sizeof *matches, compare_matches);
        out->items = malloc((found + 1) * sizeof *out->items);
        done = out->items != NULL;
        for (size_t i = 0; done && i < found; i++)
            out->items[i] = matches[i].link;
        out->count = done ? found : 0;
    }
    free(entries);
    free(matches);
    return done;
}

/* -- images */

typedef struct found_op {
    uint64_t ticks;
    uint32_t tid;
} found_op;

typedef struct collection {
    const kino__ring_image *image;
    KINO__VEC(kino__forward_op) ops;
    KINO__VEC(found_op) places; /* of the ops */
} collection;

/* The record that a reference names, if it is a span that is still there. */
static const kino_impl_v1_record *find_span(const kino__ring_image *image, uint64_t reference,
                                            const kino__ring_piece **piece, uint64_t *position)
{
    uint32_t index = reference >> 16 & 0xffff;
    uint32_t number = kino__ring_piece_of(image, reference >> 32, index);
    if (number == UINT32_MAX)
        return NULL;
    *piece = &image->pieces.items[number];
    if (kino__ring_reference_to(*piece, index) != reference)
        return NULL;
    *position = (uint64_t)number << KINO__RING_POSITION_BITS | index;
    const kino_impl_v1_record *record = &(*piece)->records[index];
    return record->kind == KINO_IMPL_V1_SPAN ? record : NULL;
}

/* Functions without an end last until the recording's. */
static uint64_t end_of(const kino__ring_image *image, const kino_impl_v1_record *span,
                       uint64_t position)
{
    uint64_t end = kino__ring_end_of(span);
    if (end)
        return end;
    for (size_t i = kino__ring_late_of(image, position);
         !end && i < image->late.count && image->late.items[i].of == position; i++) {
        const kino_impl_v1_record *late = kino__ring_record(image, image->late.items[i].at);
        if (late->kind == KINO_IMPL_V1_END)
            end = late->end;
    }
    return end ? end : image->last_ticks;
}

static bool add_op(collection *c, const kino_impl_v1_record *span, const kino__ring_piece *piece,
                   uint64_t position, kino__forward_op op)
{
    op.start = kino__ring_start_of(span);
    op.end = end_of(c->image, span, position);
    if (op.end < c->image->from_ticks)
        return true;
    kino__forward_op *to = kino__vec_add(&c->ops);
    found_op *place = kino__vec_add(&c->places);
    if (!to || !place)
        return false;
    *to = op;
    *place = (found_op){kino__ring_start_of(span), piece->header.tid};
    return true;
}

/* A span with its numbers in it. */
static bool add_numbered(collection *c, const kino__ring_piece *piece, uint64_t position)
{
    const kino_impl_v1_record *span = kino__ring_record(c->image, position);
    kino__ring_sequence sequence = kino__ring_sequence_of(span);
    return add_op(c, span, piece, position,
                  (kino__forward_op){.sequence = (int64_t)sequence.number,
                                     .thread = sequence.thread,
                                     .forward = sequence.forward_thread});
}

static bool add_argument(collection *c, const kino_impl_v1_record *argument)
{
    const kino__ring_piece *piece;
    uint64_t position;
    const kino_impl_v1_record *span = find_span(c->image, argument->aux, &piece, &position);
    if (!span || (int64_t)argument->end < 0)
        return true;
    /* the argument's text is the logical thread; where that was not known, the system's number */
    return add_op(c, span, piece, position,
                  (kino__forward_op){.sequence = (int64_t)argument->end,
                                     .thread = argument->text ? argument->text : piece->header.tid,
                                     .forward = argument->start ? argument->start - 1 : 0});
}

static bool collect_piece(collection *c, size_t number)
{
    const kino__ring_piece *piece = &c->image->pieces.items[number];
    bool go_on = true;
    for (uint32_t at = piece->first; at < piece->count && go_on;
         at += 1u + piece->records[at].following) {
        const kino_impl_v1_record *record = &piece->records[at];
        if (record->following > piece->count - 1 - at)
            break;
        if (kino__ring_has_sequence(record))
            go_on = add_numbered(c, piece, (uint64_t)number << KINO__RING_POSITION_BITS | at);
        else if (record->kind == KINO_IMPL_V1_ARG && record->flags == KINO_IMPL_V1_ARG_SEQUENCE)
            go_on = add_argument(c, record);
    }
    return go_on;
}

static bool collect(collection *c)
{
    for (size_t i = 0; i < c->image->pieces.count; i++)
        if (!collect_piece(c, i))
            return false;
    return true;
}

static int64_t time_of(const kino__ring_image *image, uint64_t ticks)
{
    size_t hint = 0;
    uint64_t raw = (uint64_t)kino__ring_clock_raw(&image->clock, ticks, &hint);
    return (int64_t)(raw + (uint64_t)image->clock.real_minus_raw - (uint64_t)image->base_ns);
}

static bool visit_point(const collection *c, uint32_t op, char phase, uint64_t id,
                        kino__ring_visit visit, void *context)
{
    kino__ring_event event = {.phase = phase,
                              .name = KINO__STR("fwdbwd"),
                              .category = KINO__STR("fwdbwd"),
                              .pid = c->image->meta.pid,
                              .tid = c->places.items[op].tid,
                              .ts_ns = time_of(c->image, c->places.items[op].ticks),
                              .dur_ns = KINO_NO_TIME,
                              .id = id};
    return visit(context, &event);
}

bool kino__ring_each_forward(const kino__ring_image *image, kino__ring_visit visit, void *context)
{
    collection c = {.image = image};
    kino__forward_links links = {0};
    bool go_on = true;
    if (collect(&c) && kino__forward_match(c.ops.items, c.ops.count, &links))
        for (size_t i = 0; i < links.count && go_on; i++) {
            const kino__forward_link *link = &links.items[i];
            go_on = visit_point(&c, link->forward, 's', i + 1, visit, context) &&
                    visit_point(&c, link->backward, 'f', i + 1, visit, context);
        }
    free(links.items);
    kino__vec_deinit(&c.ops);
    kino__vec_deinit(&c.places);
    return go_on;
}
