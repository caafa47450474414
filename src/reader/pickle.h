/* pickle.h - Python pickles of plain data, protocols 2 to 5, as values.
 *
 * Nothing is ever called or imported: opcodes that would are refused (docs/formats/pickle.md has
 * the list). Shared objects stay shared. Time and memory are linear in the bytes. */
#ifndef KINO__READER_PICKLE_H
#define KINO__READER_PICKLE_H

#include "reader/value_tree.h"

/* Do the bytes begin like a pickle? */
bool kino__pickle_is(kino_str head);

/* Texts are views of the bytes. A pickle that is cut off gives what was there, lists and
 * dictionaries that were not finished included: *cut_at is then where it ends, else
 * KINO__PICKLE_COMPLETE. KINO_FORMAT with the byte: not a pickle, or not of plain data. */
#define KINO__PICKLE_COMPLETE UINT64_MAX
KINO_NODISCARD kino_status kino__pickle_parse(kino_str bytes, kino__value_tree *tree,
                                              kino__value *root, uint64_t *cut_at, kino_error *err);

#endif
