/* trigger_finish.h - what kino trigger does with traces that have been written: another format, and
 * the daemon's measurements of that time as counter tracks. */
#ifndef KINO__CLI_TRIGGER_FINISH_H
#define KINO__CLI_TRIGGER_FINISH_H

#include "cli/cli.h"
#include "client/client_request.h"

typedef struct kino__finish {
    const char *to;    /* suffix of a format of kino convert: "kino", "json.gz"; NULL: as it is */
    bool with_metrics; /* of our daemon */
} kino__finish;

/* Does over the file of each written target; path and size of the target are then those of the new
 * one, texts are in the arena. What fails is told, and the file stays as it was. Returns how many
 * failed. */
size_t kino__finish_traces(const kino__finish *finish, const kino__client *client,
                           kino__on_demand *trigger, const kino__common_options *common);

/* Says so in the message of each written target whose trace has nothing in it: a program that was
 * still starting, or waited all the time. */
void kino__finish_look_for_empty(kino__on_demand *trigger);

#endif
