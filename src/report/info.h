/* info.h - what the files of kino_run_info share, and what it knows about the profiler. */
#ifndef KINO__REPORT_INFO_H
#define KINO__REPORT_INFO_H

#include "engine/kino_run.h"

/* Tables of kino_run_info that have files of their own; they go by kino_result's rule: failure
 * sticks. */
void kino__info_devices(const kino_run *run, kino_result *result);
void kino__info_categories(const kino_run *run, kino_result *result);
void kino__info_tracks(const kino_run *run, kino_result *result);

/* "shapes, stacks, memory": the profiler's switches that were on; nothing: none is named. */
void kino__describe_profiler(const kino__trace *trace, kino__buffer *out);
/* "CUDA 12.4, driver 12.8, CUPTI 22, nccl": versions that the trace names. */
void kino__describe_software(const kino__trace *trace, kino__buffer *out);

#endif
