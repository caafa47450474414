/* client_why.h - why did nothing match? What is registered, and what can be seen of a process that
 * is not. */
#ifndef KINO__CLIENT_WHY_H
#define KINO__CLIENT_WHY_H

#include "base/json_in.h"
#include "base/vec.h"

typedef struct kino__process_filter {
    const int64_t *pids; /* NULL: any */
    size_t pid_count;
    int64_t job;      /* KINO_NO_INT: any */
    const char *name; /* NULL: any */
} kino__process_filter;

/* Does a member of "processes" (the answer of getProcesses) fit all of it? Unlike with kino
 * trigger, a pid means the process itself. */
bool kino__process_fits(const kino__json_in *process, const kino__process_filter *filter);

/* Adds one sentence to `out`: why no process of the answer fits. `answer` is all of it. */
void kino__explain_nothing(const kino__json_in *answer, const kino__process_filter *filter,
                           kino__buffer *out);

#endif
