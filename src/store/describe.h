/* describe.h - what the metadata events and top-level keys of a trace say about it, whoever made
 * its columns. */
#ifndef KINO__STORE_DESCRIBE_H
#define KINO__STORE_DESCRIBE_H

#include "store/trace.h"

/* Names, kinds, devices and streams of tracks; rank, host, clock. After the columns, the text and
 * the top-level keys are there. */
KINO_NODISCARD kino_status kino__trace_describe(kino__trace *trace, kino_error *err);

#endif
