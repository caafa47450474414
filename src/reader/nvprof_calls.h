/* nvprof_calls.h - names of CUDA's calls by the numbers that CUPTI gives them, as far as programs for
 * machine learning use them; the numbers never change. */
#ifndef KINO__READER_NVPROF_CALLS_H
#define KINO__READER_NVPROF_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A constant, or "runtime call 77" in `text`. */
const char *kino__nvprof_call_name(bool is_driver, int64_t number, char *text, size_t size);

#endif
