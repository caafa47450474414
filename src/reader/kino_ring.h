/* kino_ring.h - recordings of libkino: chunks of kind 11 in a .kino file, or the folder of buffers
 * that a process left behind. docs/formats/ring.md. */
#ifndef KINO__READER_KINO_RING_H
#define KINO__READER_KINO_RING_H

#include "reader/kino_internal.h"

/* Does the file hold a recording instead of columns? */
bool kino__kino_has_rings(const kino__kino_file *f);

/* Fills the trace from the file's ring chunks; takes the file. */
KINO_NODISCARD kino_status kino__kino_load_rings(kino__kino_file *f, kino__trace *trace,
                                                 const kino__load_context *context,
                                                 kino_error *err);

/* Is this a folder with the buffers of a recorder? */
bool kino__is_ring_folder(const char *path);
/* Loads its recording. The process may still be recording; the folder is not needed afterwards. The
 * trace has no path yet. */
KINO_NODISCARD kino_status kino__ring_folder_load(const char *path,
                                                  const kino__load_context *context,
                                                  kino__trace **out, kino_error *err);

#endif
