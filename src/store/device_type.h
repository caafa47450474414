/* device_type.h - devices as PyTorch numbers them (c10::DeviceType), by the name people know. */
#ifndef KINO__STORE_DEVICE_TYPE_H
#define KINO__STORE_DEVICE_TYPE_H

#include <stddef.h>
#include <stdint.h>

enum { KINO__DEVICE_TYPE_CPU = 0, KINO__DEVICE_TYPE_CUDA = 1, KINO__DEVICE_TYPE_HIP = 6 };

/* "CPU" whatever the id, "GPU0", "XPU" when the id is below 0; "type99:0" for types unknown to us,
 * "unknown" for KINO_NO_INT. Cut to size. */
void kino__device_type_name(int64_t type, int64_t id, char *out, size_t size);

#endif
