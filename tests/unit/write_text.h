/* write_text.h - what a writer makes of traces, as text; for tests of writers. */
#ifndef KINO_TEST_WRITE_TEXT_H
#define KINO_TEST_WRITE_TEXT_H

#include "writer/writer.h"

/* Takes the traces, as one run. The text is the caller's. The context's pool is made here, of so
 * many jobs. *st: what the writer said; with NULL the test ends when that is not KINO_OK. */
kino__buffer write_text(const kino__writer_def *writer, kino__trace *const *traces, size_t count,
                        kino__write_context context, unsigned jobs, kino_status *st);

#endif
