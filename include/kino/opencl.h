/* kino/opencl.h - the layer of libkino_inject that brings OpenCL work into recordings.
 *
 * The library needs no call at all: `kino record` puts it between a program and its OpenCL, or
 * OPENCL_LAYERS=/path/libkino_inject.so does. A program that always wants it links it
 * (-lkino_inject) and calls this. */
#ifndef KINO_OPENCL_H
#define KINO_OPENCL_H

#include <kino/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the layer to OPENCL_LAYERS of this process. Before the first call of OpenCL, while the
 * program has one thread (it changes the environment). KINO_OK also when it is in place already.
 * KINO_UNAVAILABLE: the file of the library cannot be found. */
KINO_API kino_status kino_opencl_enable(kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
