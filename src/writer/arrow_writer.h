/* arrow_writer.h - what the writers of Arrow's two forms share. */
#ifndef KINO__WRITER_ARROW_WRITER_H
#define KINO__WRITER_ARROW_WRITER_H

#include "writer/writer.h"

/* All events, as an IPC file or stream. */
KINO_NODISCARD kino_status kino__arrow_write_events(const kino__run *run, bool is_file,
                                                    kino__sink *sink,
                                                    const kino__write_context *context,
                                                    kino_error *err);

#endif
