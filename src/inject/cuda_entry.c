/* cuda_entry.c - CUDA: the driver calls this when it is initialised, before the program does
 * anything with it (CUDA_INJECTION64_PATH). The backend for CUPTI is part of libkino. A session
 * that begins here has it look for CUPTI; one that has begun before CUDA was loaded takes it in
 * now. */
#include <kino/device.h>

#include "inject/inject.h"
#include "tracer/backend/cupti/cupti.h"

int kino__cuda_attach(void);
int InitializeInjection(void);
extern __typeof__(InitializeInjection) InitializeInjection
    __attribute__((visibility("default"), alias("kino__cuda_attach")));

int kino__cuda_attach(void)
{
    /* first: a session that begins would look for devices, and CUDA is not ready */
    (void)kino_device_register("cupti", kino__cupti_injected_entry, NULL);
    (void)kino__inject_is_on();
    return 1;
}
