/* value_tree.h - documents that are no lists of events, as values: what pickles and JSON of other
 * programs become before a reader makes a trace of them.
 *
 * A value is a number. Values may be shared, and a list may even hold itself, as pickles do: nobody
 * follows them further than the format that is expected. Texts are views of what was parsed. Memory
 * is 16 bytes per value and 4 per place in a list or dictionary. One thread at a time. */
#ifndef KINO__READER_VALUE_TREE_H
#define KINO__READER_VALUE_TREE_H

#include "base/json_in.h"
#include "base/vec.h"

typedef uint32_t kino__value;
#define KINO__NO_VALUE UINT32_MAX

typedef enum kino__value_type {
    KINO__VALUE_NONE,
    KINO__VALUE_BOOL,
    KINO__VALUE_INT,
    KINO__VALUE_REAL,
    KINO__VALUE_TEXT,
    KINO__VALUE_LIST, /* tuples and sets, too */
    KINO__VALUE_DICT, /* its items: key, value, key, value ... */
    /* what a reader has taken out of the tree: a list or dictionary it knows by a number */
    KINO__VALUE_TAKEN,
} kino__value_type;

typedef struct kino__value_node {
    union {
        int64_t integer; /* BOOL and TAKEN, too */
        double real;
        const char *text;
        uint32_t runs[2]; /* LIST, DICT: the first and the last; KINO__NO_VALUE: none */
    };
    uint32_t count; /* TEXT: bytes; LIST, DICT: items */
    uint8_t type;
} kino__value_node;

/* Items that were added together. */
typedef struct kino__value_run {
    uint32_t first, count;
    uint32_t next; /* KINO__NO_VALUE: none */
} kino__value_run;

typedef struct kino__value_tree {
    KINO__VEC(kino__value_node) nodes;
    KINO__VEC(kino__value_run) runs;
    KINO__VEC(kino__value) items;
    bool failed; /* memory is out, or there are 2^32 - 1 values */
} kino__value_tree;

void kino__value_tree_deinit(kino__value_tree *tree); /* a zeroed one is empty */

/* -- making: KINO__NO_VALUE when it failed -- */

kino__value kino__value_add(kino__value_tree *tree, kino__value_node node);
kino__value kino__value_add_container(kino__value_tree *tree, kino__value_type type);
bool kino__value_append(kino__value_tree *tree, kino__value container, const kino__value *items,
                        size_t count);
/* A list or dictionary becomes TAKEN; its items are given back if they are the last of the tree. */
void kino__value_take(kino__value_tree *tree, kino__value container, int64_t number);
/* JSON, whose texts must outlive the tree. */
kino__value kino__value_add_json(kino__value_tree *tree, const kino__json_in *json);

/* -- asking: any value may be asked anything, KINO__NO_VALUE too -- */

kino__value_type kino__value_type_of(const kino__value_tree *tree, kino__value value);
/* How many items a list has, 0: it is none. */
size_t kino__value_count(const kino__value_tree *tree, kino__value list);
/* The value of a key, the last one when it was set twice; KINO__NO_VALUE: none. */
kino__value kino__value_get(const kino__value_tree *tree, kino__value dict, const char *key);
int64_t kino__value_int(const kino__value_tree *tree, kino__value value);   /* KINO_NO_INT: none */
int64_t kino__value_taken(const kino__value_tree *tree, kino__value value); /* KINO_NO_INT: none */
bool kino__value_real(const kino__value_tree *tree, kino__value value, double *out);
bool kino__value_is_true(const kino__value_tree *tree, kino__value value);
kino_str kino__value_text(const kino__value_tree *tree, kino__value value); /* empty: none */

/*   kino__value_iter it = kino__value_iterate(tree, list);
 *   while (kino__value_next(&it, &item)) ... */
typedef struct kino__value_iter {
    const kino__value_tree *tree;
    uint32_t run, at;
} kino__value_iter;
kino__value_iter kino__value_iterate(const kino__value_tree *tree, kino__value container);
bool kino__value_next(kino__value_iter *it, kino__value *item);

#endif
