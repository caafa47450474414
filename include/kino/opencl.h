/* kino/opencl.h - the layer of libkino_inject that brings OpenCL work into recordings.
 *
 * The library does not need to be called: `kino record` inserts it between a program and its
 * OpenCL loader, and so does OPENCL_LAYERS=/path/libkino_inject.so. A program that always wants it
 * links it (-lkino_inject) and calls this. */
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
