/* held.h - records that a stand-in holds until the work they tell of is done. */
#ifndef STANDIN_COMMON_HELD_H
#define STANDIN_COMMON_HELD_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_MAX = 1 << 16, HELD_BYTES = 256 };

typedef struct held {
    uint64_t ready; /* the device's time */
    size_t size;
    int tag; /* the stand-in's */
    _Alignas(uint64_t) char bytes[HELD_BYTES];
} held;

static struct {
    pthread_mutex_t lock;
    held *records;
    int count;
} holding = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* False when there are `capacity` already. */
static inline int hold(const void *record, size_t size, int tag, uint64_t ready, long capacity)
{
    pthread_mutex_lock(&holding.lock);
    if (!holding.records)
        holding.records = calloc(HELD_MAX, sizeof *holding.records);
    int is_held = holding.records && holding.count < capacity && holding.count < HELD_MAX;
    if (is_held) {
        held *h = &holding.records[holding.count++];
        *h = (held){ready, size, tag, {0}};
        memcpy(h->bytes, record, size);
    }
    pthread_mutex_unlock(&holding.lock);
    return is_held;
}

/* Those that are ready by now, in the order in which they came; how many. */
static inline int take_ready(uint64_t now, held out[HELD_MAX])
{
    int count = 0, left = 0;
    pthread_mutex_lock(&holding.lock);
    for (int i = 0; i < holding.count; i++)
        if (holding.records[i].ready <= now)
            out[count++] = holding.records[i];
        else
            holding.records[left++] = holding.records[i];
    holding.count = left;
    pthread_mutex_unlock(&holding.lock);
    return count;
}

#endif
