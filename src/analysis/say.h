/* say.h - numbers in sentences, of rules and of notes: a sentence that stands in two places reads
 * the same in both. The text holds until the thread has asked for seven more. */
#ifndef KINO__ANALYSIS_SAY_H
#define KINO__ANALYSIS_SAY_H

#include <stdint.h>

const char *kino__say_time(int64_t ns);                /* "12.8 ms" */
const char *kino__say_share(int64_t part, int64_t of); /* "18.7 %" */
const char *kino__say_bytes(int64_t bytes);            /* "430 MiB" */

#endif
