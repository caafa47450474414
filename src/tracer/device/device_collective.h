/* device_collective.h - what a kernel of a collective says about it: Kineto copies the arguments of
 * the operator "record_param_comms" to the kernels that it launches. */
#ifndef KINO__TRACER_DEVICE_COLLECTIVE_H
#define KINO__TRACER_DEVICE_COLLECTIVE_H

#include <kino/record_function.h>

#include "base/str.h"

/* The arguments as a JSON object; false: it is another function, or there are none. */
bool kino__collective_args(const kino_record_function *fn, kino__buffer *out);
/* One of them: as a text to be freed, NULL when there is none; as a number, -1 when there is none
 * or it is below 0. */
char *kino__collective_input(const kino_record_function *fn, const char *key);
int64_t kino__collective_input_number(const kino_record_function *fn, const char *key);

#endif
