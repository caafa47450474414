/* event_rank.h - numbers that order texts: each distinct one is compared a few times, each row
 * never.
 *
 * Ranks hold over all traces of the run and are kept in the context's traces. False: memory is
 * out. */
#ifndef KINO__QUERY_EVENT_RANK_H
#define KINO__QUERY_EVENT_RANK_H

#include "query/context.h"

/* NAME: name_rank by string number. CAT: category_rank by category id; the one behind the last
 * known id is for KINO__CATEGORY_MANY. From 1, in byte order. */
KINO_NODISCARD bool kino__rank_texts(kino__query_context *context, kino__event_column column);

/* PID, TID: pid_rank, tid_rank by track, in SQL's order: nothing, numbers, texts. */
KINO_NODISCARD bool kino__rank_labels(kino__query_context *context, kino__event_column column);

/* Category ids of a trace, known ones and its own. */
static inline size_t kino__rank_category_count(const kino__trace *trace)
{
    return KINO__CATEGORY_COUNT + trace->own_categories.count;
}

#endif
