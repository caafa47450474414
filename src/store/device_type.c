/* device_type.c - see the header. */
#include "store/device_type.h"

#include <stdio.h>

#include <kino/base.h>

/* Streams of CUDA and HIP are called GPU; PyTorch has no others in one process. */
static const char *const names[] = {
    "CPU",  "GPU",  "MKLDNN", "OPENGL", "OPENCL", "IDEEP", "GPU",
    "FPGA", "MAIA", "XLA",    "Vulkan", "Metal",  "XPU",   "MPS",
    "Meta", "HPU",  "VE",     "Lazy",   "IPU",    "MTIA",  "PrivateUse1",
};
enum { NAMES = sizeof names / sizeof *names };

void kino__device_type_name(int64_t type, int64_t id, char *out, size_t size)
{
    if (type == KINO__DEVICE_TYPE_CPU)
        (void)snprintf(out, size, "CPU");
    else if (type == KINO_NO_INT)
        (void)snprintf(out, size, "unknown");
    else if (type > 0 && type < NAMES && id >= 0)
        (void)snprintf(out, size, "%s%lld", names[type], (long long)id);
    else if (type > 0 && type < NAMES)
        (void)snprintf(out, size, "%s", names[type]);
    else
        (void)snprintf(out, size, "type%lld:%lld", (long long)type, (long long)id);
}
