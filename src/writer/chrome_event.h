/* chrome_event.h - rows of a trace as Chrome JSON events; for chrome_json.c. */
#ifndef KINO__WRITER_CHROME_EVENT_H
#define KINO__WRITER_CHROME_EVENT_H

#include "base/str.h"
#include "store/trace.h"

enum { KINO__CHROME_PIECES = 5 }; /* texts of an event: category, name, pid, tid, id */

/* What one worker needs to write rows: its own view of the source text, the track of the last row,
 * and room for texts that must be changed before they can be written. */
typedef struct kino__chrome_event_writer {
    const kino__trace *trace;
    kino__text_cursor cursor;
    uint32_t track;
    kino__buffer scratch[KINO__CHROME_PIECES];
} kino__chrome_event_writer;

void kino__chrome_event_writer_init(kino__chrome_event_writer *writer, const kino__trace *trace);
void kino__chrome_event_writer_deinit(kino__chrome_event_writer *writer);

/* Appends the event(s) of a row, each as "\n  {...},": Kineto's layout. A B/E pair is two events.
 * Out of memory is told by out->failed. */
void kino__chrome_event_write(kino__chrome_event_writer *writer, uint32_t row, kino__buffer *out);

#endif
