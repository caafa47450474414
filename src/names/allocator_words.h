/* allocator_words.h - the vocabulary of PyTorch's caching allocator as memory snapshots have it:
 * actions (allocator_actions.def), states of blocks, types of segments, and what the reader calls
 * its rows and marks. None of them is anybody's own. */
#ifndef KINO__NAMES_ALLOCATOR_WORDS_H
#define KINO__NAMES_ALLOCATOR_WORDS_H

#include "base/str.h"

bool kino__is_allocator_word(kino_str text);

#endif
