/* device_collective.h - what a kernel of a collective says about it: Kineto copies the arguments of
 * the operator "record_param_comms" to the kernels that it launches. */
#ifndef KINO__TRACER_DEVICE_COLLECTIVE_H
#define KINO__TRACER_DEVICE_COLLECTIVE_H

#include <kino/record_function.h>

#include "base/str.h"

/* The arguments as a JSON object; false: it is another function, or there are none. */
bool kino__collective_args(const kino_record_function *fn, kino__buffer *out);

#endif
