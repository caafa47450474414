/* doctor_device.h - what the checks of devices share. */
#ifndef KINO__RECORD_DOCTOR_DEVICE_H
#define KINO__RECORD_DOCTOR_DEVICE_H

#include "record/doctor.h"

/* A driver that starts up cold may take a second or two. */
enum { KINO__DEVICE_TIMEOUT_MS = 5000 };

/* Is there a display controller or accelerator of this vendor on the bus? */
bool kino__doctor_has_pci(unsigned vendor);

void kino__doctor_look_cuda(kino__doctor *doctor);

#endif
