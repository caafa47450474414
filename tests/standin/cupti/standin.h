/* standin.h - what tests can do with the stand-in for CUPTI and the CUDA driver. */
#ifndef STANDIN_CUPTI_H
#define STANDIN_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* CUPTI's clock: that of the profiler when it gave one, else the stand-in's own, which is
 * STANDIN_SKEW ns ahead of CLOCK_MONOTONIC_RAW. */
uint64_t standin_now(void);
uint32_t standin_version(void);
/* How many bytes a record of the kind has in this version; 0: there is no such kind. */
size_t standin_size(uint32_t kind);

/* Puts a record (of standin_size bytes) into CUPTI's buffers, when its kind is switched on. */
void standin_record(const void *record);
/* The program calls CUDA on this thread: callbacks, records of external ids, the call's record. */
void standin_call(int domain, uint32_t cbid, uint64_t start, uint64_t end, uint32_t correlation);

/* The next record begins a new buffer; the one before is handed over at the next flush. */
void standin_cut(void);
/* At a flush, buffers are handed over from the last to the first. */
void standin_reverse(int is_reversed);
/* CUPTI lost so many records. */
void standin_drop(size_t count);

/* How often a function was called, of those in standin.c: "cuptiFinalize". */
unsigned standin_calls(const char *function);
/* Of buffers that CUPTI has asked for and not given back. */
unsigned standin_buffers_held(void);
/* To be called when everybody else in the process has ended. */
void standin_at_end(void (*what)(void));

#endif
