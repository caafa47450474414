/* device_details.h - for backends: what kernels of a function say about it. Their `describe` puts
 * it here by the function's number, which is one of the process; whoever writes the kernel's row
 * asks for it. */
#ifndef KINO__TRACER_DEVICE_DETAILS_H
#define KINO__TRACER_DEVICE_DETAILS_H

#include <stdint.h>

enum { KINO__DETAILS_MAX = 4000 };

/* A JSON object, copied; one that is longer than KINO__DETAILS_MAX is forgotten. Any thread. */
void kino__details_put(uint64_t id, const char *json);
/* Copied to `out`, which is returned; NULL: there is nothing. Any thread. */
const char *kino__details_of(uint64_t id, char out[KINO__DETAILS_MAX + 1]);

#endif
