/* arrow_stream.c - the same as arrow.c as an Arrow IPC stream, which can be read while it is
 * written. */
#include "writer/arrow_writer.h"

static kino_status write_run(const kino__run *run, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    return kino__arrow_write_events(run, false, sink, context, err);
}

const kino__writer_def kino__writer_arrow_stream = {
    .name = "arrow-stream",
    .suffix = ".arrows",
    .help = "the same as an Arrow IPC stream",
    .is_compressible = true,
    .takes_runs = true,
    .write = write_run,
};
