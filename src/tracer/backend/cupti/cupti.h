/* cupti.h - how the CUPTI backend comes into a process: its entries for kino_device_register. */
#ifndef KINO__BACKEND_CUPTI_H
#define KINO__BACKEND_CUPTI_H

#include <kino/device.h>

/* In general: by libkino, when a session is prepared. */
const kino_device_backend *kino__cupti_entry(const kino_device_host *host, kino_error *err);
/* By CUDA itself while it is being initialised (CUDA_INJECTION64_PATH): CUPTI may be called from
 * there, the driver may not. Devices are asked for with the first record. */
const kino_device_backend *kino__cupti_injected_entry(const kino_device_host *host,
                                                      kino_error *err);

#endif
