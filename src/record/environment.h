/* environment.h - the environment that puts libkino_inject into a program and its children. */
#ifndef KINO__RECORD_ENVIRONMENT_H
#define KINO__RECORD_ENVIRONMENT_H

#include <kino/base.h>

#include "base/arena.h"
#include "base/vec.h"

typedef struct kino__injection {
    const char *library;        /* path of libkino_inject.so; NULL: nothing can be put in */
    const char *folder;         /* the work folder */
    uint64_t budget;            /* bytes per process; 0: libkino's default */
    bool is_flight;             /* the newest is kept when the buffers are full */
    uint64_t from_ns, until_ns; /* CLOCK_MONOTONIC; 0: open */
    bool ranges;                /* NVTX and ITT */
    bool devices;               /* CUDA, ROCm, OpenCL */
    const char *python;         /* what is recorded of Python programs; NULL: nothing */
    const char *python_folder;  /* where their hook is */
} kino__injection;

typedef struct kino__environment {
    KINO__VEC(char *) items; /* "NAME=value", NULL at the end */
    char **main;             /* the item that says which process begins at once: to be filled in */
    KINO__VEC(const char *) replaced; /* names of variables that had another tool's library */
    kino__arena arena;
} kino__environment;

/* A copy of `from` (as environ is) with what the injection needs: lists get our library in front
 * of what they had, single paths are replaced. Must be deinitialised also after a failure. */
KINO_NODISCARD kino_status kino__environment_init(kino__environment *out, char *const *from,
                                                  const kino__injection *injection,
                                                  kino_error *err);
void kino__environment_deinit(kino__environment *environment);

/* libkino_inject.so: $KINO_INJECT_LIBRARY, else beside the program `kino`, else where it is
 * installed. KINO_NOT_FOUND: nowhere. */
KINO_NODISCARD kino_status kino__injection_library(char *out, size_t size, kino_error *err);

#endif
