/* trigger_sidecar.h - what the daemon knows about the process of a trace, for the trace.
 *
 * A trace that we write says it itself; beside one that another program wrote lies a small file
 * (docs/formats/sidecar.md). */
#ifndef KINO__CLI_TRIGGER_SIDECAR_H
#define KINO__CLI_TRIGGER_SIDECAR_H

#include "base/str.h"
#include "client/client_request.h"

/* The text, terminated; nothing when there is nothing to say. */
void kino__trigger_about(const kino__on_demand_target *target, int64_t iterations,
                         kino__buffer *out);

/* Writes the file of each written target. `output`: where the traces were asked for (absolute), or
 * NULL. Beside the file of another user's process it is written only where the asker wanted that
 * file. What fails is told, and is no failure of the request. */
void kino__trigger_write_sidecars(const kino__on_demand *trigger, const char *output,
                                  int64_t iterations);

#endif
