/* pickle.h - Python pickles of plain data, protocols 2 to 5, as values.
 *
 * Nothing is ever called or imported: opcodes that would are refused (docs/formats/pickle.md has
 * the list). Shared objects stay shared. Time and memory are linear in the bytes. */
#ifndef KINO__READER_PICKLE_H
#define KINO__READER_PICKLE_H

#include "base/progress.h"
#include "reader/value_tree.h"

/* Do the bytes begin like a pickle? */
bool kino__pickle_is(kino_str head);

/* A reader of large pickles, who keeps what it knows in a form of its own: it sees each new
 * dictionary's items (key, value, ...) as soon as they are there. A dictionary that it takes stands
 * in the tree as a number (kino__value_taken), and what was made for it alone is given back; it may
 * also take lists among the items (kino__value_take). */
typedef struct kino__pickle_visitor {
    bool (*take)(void *context, kino__value_tree *tree, const kino__value *items, size_t count,
                 int64_t *number);
    void *context;
    kino__progress *progress; /* or NULL: bytes that were read */
} kino__pickle_visitor;

/* Texts are views of the bytes. A pickle that is cut off gives what was there, lists and
 * dictionaries that were not finished included: *cut_at is then where it ends, else
 * KINO__PICKLE_COMPLETE. KINO_FORMAT with the byte: not a pickle, or not of plain data. The visitor
 * may be NULL. */
#define KINO__PICKLE_COMPLETE UINT64_MAX
KINO_NODISCARD kino_status kino__pickle_parse(kino_str bytes, const kino__pickle_visitor *visitor,
                                              kino__value_tree *tree, kino__value *root,
                                              uint64_t *cut_at, kino_error *err);

#endif
