/* stack_table.h - the call stacks of a trace's events, each frame and each common beginning once: a
 * tree, whose nodes events name by number in the argument "Stack id".
 *
 *   "stackTable": {"frames": ["train.py(3): main", "model.py(7): forward"], "nodes": [0,0, 1,1]}
 *                                                                                  main  └ forward
 *
 * Node n (from 1) has two numbers in `nodes`: its caller (0: none) and its frame. A caller comes
 * before what it calls. docs/formats/memory-snapshot.md */
#ifndef KINO__STORE_STACK_TABLE_H
#define KINO__STORE_STACK_TABLE_H

#include "base/map.h"
#include "store/trace.h"

#define KINO__STACK_KEY "stackTable" /* the top-level key */
#define KINO__STACK_ARG "Stack id"

typedef struct kino__stack_node {
    uint32_t caller; /* 0: none */
    uint32_t frame;
} kino__stack_node;

/* -- making one: failure (memory is out) sticks -- */

typedef struct kino__stack_builder {
    KINO__VEC(kino__stack_node) nodes; /* number n at n - 1 */
    kino__map children;                /* caller << 32 | frame -> node */
    kino__string_pool frames;
    bool failed;
} kino__stack_builder;

void kino__stack_builder_init(kino__stack_builder *b);
void kino__stack_builder_deinit(kino__stack_builder *b);

/* The number of a frame's text. */
uint32_t kino__stack_builder_frame(kino__stack_builder *b, kino_str text);
/* The node of a stack of frames, innermost first; 0: there are none. */
uint32_t kino__stack_builder_add(kino__stack_builder *b, const uint32_t *frames, size_t count);
/* Is it the stack of this node? */
bool kino__stack_builder_is(const kino__stack_builder *b, uint32_t node, const uint32_t *frames,
                            size_t count);
/* Adds the top-level key, if there are stacks; false when memory is out. */
bool kino__stack_builder_write(const kino__stack_builder *b, kino__trace *trace);

/* -- reading the one of a trace -- */

typedef struct kino__stack_table {
    KINO__VEC(kino__stack_node) nodes; /* number n at n - 1 */
    KINO__VEC(kino_str) frames;
    kino__arena arena;
} kino__stack_table;

/* Made on first use and kept with the trace; one that has none, or a damaged one, is empty as far
 * as it cannot be read. Any thread; NULL when memory is out. */
const kino__stack_table *kino__stack_table_of(const kino__trace *trace);

/* The caller of a node, 0: none. */
static inline uint32_t kino__stack_table_caller(const kino__stack_table *table, uint32_t node)
{
    return node && node <= table->nodes.count ? table->nodes.items[node - 1].caller : 0;
}

/* What a node's frame is called; empty: there is no such node. */
static inline kino_str kino__stack_table_frame(const kino__stack_table *table, uint32_t node)
{
    return node && node <= table->nodes.count
               ? table->frames.items[table->nodes.items[node - 1].frame]
               : (kino_str){"", 0};
}

/* The number that an event names, as a node; 0: none. */
static inline uint32_t kino__stack_table_node(const kino__stack_table *table, int64_t id)
{
    return id > 0 && (uint64_t)id <= table->nodes.count ? (uint32_t)id : 0;
}

#endif
