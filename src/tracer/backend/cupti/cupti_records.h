/* cupti_records.h - what the decoders of records share: cupti_records.c has the passes over
 * buffers, cupti_work.c what devices do, cupti_host.c the rest. decode_lock is held everywhere. */
#ifndef KINO__BACKEND_CUPTI_RECORDS_H
#define KINO__BACKEND_CUPTI_RECORDS_H

#include "tracer/backend/cupti/cupti_internal.h"

/* -- cupti_records.c */

bool kino__cupti_is_wanted(uint32_t kind);
/* Does it lie in the recording? */
bool kino__cupti_is_inside(uint64_t start, uint64_t end);
/* The same for times that may be missing or the wrong way round. */
bool kino__cupti_is_usable(uint64_t start, uint64_t *end);
void kino__cupti_hand_over(kino_device_activity *a, const kino__cupti_args *args);
/* CUDA's number; 0 when nothing of the context was seen. */
uint32_t kino__cupti_device_of(uint32_t context);
void kino__cupti_stream_used(uint32_t device, uint32_t stream);
bool kino__cupti_is_stream_used(uint32_t device, uint32_t stream);

/* -- cupti_work.c */

/* Kernels, copies, fills. False: it is another kind of record. */
bool kino__cupti_decode_work(uint32_t kind, const void *record);
/* Where such a record happened; false likewise. */
bool kino__cupti_place_of(uint32_t kind, const void *record, uint32_t *context, uint32_t *device);

/* -- cupti_host.c */

/* Calls, waits, events, overhead, memory, markers. False: it is another kind of record. */
bool kino__cupti_decode_host(uint32_t kind, const void *record);
void kino__cupti_learn_event(const void *record);
/* Waits of streams that were put off. */
void kino__cupti_write_waits(void);
/* A new session. False: memory is out. */
bool kino__cupti_host_begin(void);

#endif
