/* search.h - binary search, once: in whatever is in order, by any condition.
 *
 *     size_t at = KINO__SEARCH(size_t, i, 0, count, items[i].end <= time);
 *
 * is the first i of [0, count) that does not end by then, count when all do. The condition holds
 * for a first part of the numbers and not for the rest; it is compiled in place, as a loop by
 * hand. */
#ifndef KINO__BASE_SEARCH_H
#define KINO__BASE_SEARCH_H

#include <stddef.h>

#define KINO__SEARCH(type, i, first, end, holds)                                                   \
    __extension__({                                                                                \
        type low_ = (first), high_ = (end);                                                        \
        while (low_ < high_) {                                                                     \
            type i = low_ + (high_ - low_) / 2;                                                    \
            if (holds)                                                                             \
                low_ = i + 1;                                                                      \
            else                                                                                   \
                high_ = i;                                                                         \
        }                                                                                          \
        low_;                                                                                      \
    })

/* The last for which it holds; `first` when it does for none. */
#define KINO__SEARCH_LAST(type, i, first, end, holds)                                              \
    __extension__({                                                                                \
        type from_ = (first), found_ = KINO__SEARCH(type, i, from_, end, holds);                   \
        found_ > from_ ? found_ - 1 : from_;                                                       \
    })

#endif
