/* document.h - a file that holds one document of plain values, whichever way it was written: a
 * pickle or JSON, plain or compressed. What readers of such files begin with. */
#ifndef KINO__READER_DOCUMENT_H
#define KINO__READER_DOCUMENT_H

#include "reader/pickle.h"
#include "reader/reader.h"

typedef struct kino__document {
    kino__value_tree tree;
    kino__value root;
    kino__buffer unpacked; /* of a compressed file */
    kino__arena arena;     /* of JSON */
} kino__document;

/* Reads the file, and fills the trace's compression and sizes; damage goes to its ledger. Texts are
 * views of the file and the document. The visitor (or NULL) sees the dictionaries of a pickle.
 * Deinitialise also after a failure. */
KINO_NODISCARD kino_status kino__document_read(kino__document *document, const kino__file *file,
                                               const kino__load_context *context,
                                               const kino__pickle_visitor *visitor,
                                               kino__trace *trace, kino_error *err);
void kino__document_deinit(kino__document *document); /* a zeroed one is empty */

#endif
