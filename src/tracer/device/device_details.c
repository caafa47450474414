/* device_details.c - what kernels of a function say about it. See device_details.h.
 *
 * The last functions that had something to say are kept, each in the place that its number gives
 * it: numbers rise by one, and work comes soon. */
#include "tracer/device/device_details.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 1 << 10 };

typedef struct details {
    uint64_t id;
    char *json;
} details;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): of the process */
static struct {
    pthread_mutex_t lock;
    details places[PLACES];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

void kino__details_put(uint64_t id, const char *json)
{
    char *copy = strnlen(json, KINO__DETAILS_MAX + 1) <= KINO__DETAILS_MAX ? strdup(json) : NULL;
    pthread_mutex_lock(&self.lock);
    details *place = &self.places[id % PLACES];
    char *old = place->json;
    *place = (details){id, copy};
    pthread_mutex_unlock(&self.lock);
    free(old);
}

const char *kino__details_of(uint64_t id, char out[KINO__DETAILS_MAX + 1])
{
    const char *found = NULL;
    pthread_mutex_lock(&self.lock);
    const details *place = &self.places[id % PLACES];
    if (id && place->id == id && place->json)
        found = memcpy(out, place->json, strlen(place->json) + 1); /* the length was looked at */
    pthread_mutex_unlock(&self.lock);
    return found;
}
