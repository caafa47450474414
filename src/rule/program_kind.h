/* program_kind.h - what kind of program a trace is of, so that advice fits it: nobody can pass
 * pin_memory to a program without a GPU, or capture CUDA graphs in OpenCL. */
#ifndef KINO__RULE_PROGRAM_KIND_H
#define KINO__RULE_PROGRAM_KIND_H

#include "model/profile/profile.h"

typedef enum kino__framework {
    KINO__FRAMEWORK_NONE, /* or none that is known here: a program of its own */
    KINO__FRAMEWORK_PYTORCH,
    KINO__FRAMEWORK_JAX,
} kino__framework;

typedef enum kino__device_family {
    KINO__DEVICE_FAMILY_NONE, /* nothing of a device was recorded */
    KINO__DEVICE_FAMILY_CUDA,
    KINO__DEVICE_FAMILY_ROCM,
    KINO__DEVICE_FAMILY_XPU,
    KINO__DEVICE_FAMILY_OPENCL,
    KINO__DEVICE_FAMILY_OTHER,
} kino__device_family;

typedef struct kino__program_kind {
    kino__framework framework;
    kino__device_family device;
    bool is_training; /* a backward pass or an optimizer was seen */
} kino__program_kind;

/* By names of operators and calls. Looks at each distinct name once. */
kino__program_kind kino__program_of(const kino__profile *profile);

static inline bool kino__program_is_torch(const kino__program_kind *program)
{
    return program->framework == KINO__FRAMEWORK_PYTORCH;
}

/* CUDA, or HIP, which has PyTorch's torch.cuda as well. */
static inline bool kino__program_has_graphs(const kino__program_kind *program)
{
    return program->device == KINO__DEVICE_FAMILY_CUDA ||
           program->device == KINO__DEVICE_FAMILY_ROCM;
}

/* How to launch less: for rules about many small pieces of work. */
const char *kino__advise_launches(const kino__program_kind *program);
/* How not to wait for the device in each step. */
const char *kino__advise_waits(const kino__program_kind *program);
/* How to record a few steps more. */
const char *kino__advise_later(const kino__program_kind *program);

#endif
