/* own_process.h - what the process is: names, start time, its rank among others. */
#ifndef KINO__TRACER_OWN_PROCESS_H
#define KINO__TRACER_OWN_PROCESS_H

#include "base/process_place.h"
#include "tracer/texts.h"

/* Field 22 of /proc/self/stat: with the pid it names a process for good. 0: not known. */
uint64_t kino__process_start(void);
/* Terminated, cut to fit. */
void kino__process_names(char *process, size_t process_size, char *host, size_t host_size);

/* By the environment; in prepare only. */
kino__process_place kino__process_place_get(void);

/* Metadata that comes from the environment: host_name, job names, and, unless collectives have told
 * it, distributedInfo. What the program set itself stays. */
KINO_NODISCARD kino_status kino__process_metadata(kino__texts *texts, bool has_groups,
                                                  kino_error *err);

#endif
