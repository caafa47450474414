/* opencl_entry.c - OpenCL: the layer itself is src/tracer/backend/opencl/opencl*.c, built into this
 * library where OpenCL's headers are; here it learns when to begin. */
#include "inject/inject.h"

void kino__opencl_begin(void);

void kino__opencl_begin(void)
{
    (void)kino__inject_is_on();
}
