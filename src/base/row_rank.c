/* row_rank.c - sets of rows; see the header. */
#include "base/row_rank.h"

#include <stdlib.h>

bool kino__row_rank_init(kino__row_rank *set, uint32_t count)
{
    set->words = (size_t)count / 64 + 1;
    set->bits = calloc(set->words, sizeof *set->bits);
    set->before = calloc(set->words, sizeof *set->before);
    return set->bits && set->before;
}

void kino__row_rank_deinit(kino__row_rank *set)
{
    free(set->bits);
    free(set->before);
    *set = (kino__row_rank){0};
}

uint32_t kino__row_rank_count(kino__row_rank *set)
{
    uint32_t count = 0;
    for (size_t w = 0; w < set->words; w++) {
        set->before[w] = count;
        count += (uint32_t)__builtin_popcountll(set->bits[w]);
    }
    return count;
}
