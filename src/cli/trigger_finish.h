/* trigger_finish.h - what kino trigger does with traces that have been written: another format, and
 * the daemon's measurements of that time as counter tracks. */
#ifndef KINO__CLI_TRIGGER_FINISH_H
#define KINO__CLI_TRIGGER_FINISH_H

#include "cli/cli.h"
#include "client/client_request.h"

typedef struct kino__finish {
    const char *to;     /* suffix of a format of kino convert: "kino", "json.gz"; NULL: as it is */
    bool with_metrics;  /* of our daemon */
    const char *output; /* where the asker wants them: an absolute path; NULL: not said */
    int64_t iterations; /* that were asked for; KINO_NO_INT: a time was */
} kino__finish;

/* Does over the file of each written target; path and size of the target are then those of the new
 * one, texts are in the arena. Files are read and removed with the rights of the process that wrote
 * them (client/collect.h). The result goes to `output`; without it beside the file, or into the
 * current folder when the process is of another user or in a container. What fails is told, and the
 * file stays as it was. Returns how many failed. */
size_t kino__finish_traces(const kino__finish *finish, const kino__client *client,
                           kino__on_demand *trigger, const kino__common_options *common);

/* Looks at the file of each written target: its real size, and in the message why it is not there
 * or not to be trusted, or that it has nothing in it: a program that was still starting, or waited
 * all the time. Returns how many traces of PyTorch have no allocations although they were asked for
 * (`wants_memory`; else 0). */
size_t kino__finish_look(kino__on_demand *trigger, bool wants_memory);

#endif
