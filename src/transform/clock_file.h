/* clock_file.h - clocks of ranks from a file: what `kino analyze clock-alignment --format csv`
 * wrote, or anybody else with the columns rank, offset, drift and at. */
#ifndef KINO__TRANSFORM_CLOCK_FILE_H
#define KINO__TRANSFORM_CLOCK_FILE_H

#include "analysis/clock_alignment/clocks.h"

/* Adds a clock for each line; those without an offset are not known. `name` is for messages.
 * KINO_FORMAT: it is no such file; the message has the line. */
KINO_NODISCARD kino_status kino__clock_file_parse(kino_str text, const char *name,
                                                  kino__clocks *out, kino_error *err);
KINO_NODISCARD kino_status kino__clock_file_read(const char *path, kino__clocks *out,
                                                 kino_error *err);

#endif
