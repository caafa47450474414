/* printable.h - text from files, names and processes, safe to show on a terminal.
 *
 * Control characters move the cursor and change colors, bidirectional controls reorder what a
 * reader sees, line separators fake lines: none of them is ever shown as it is. */
#ifndef KINO__BASE_PRINTABLE_H
#define KINO__BASE_PRINTABLE_H

#include <kino/base.h>

/* May a terminal get this character? */
bool kino__is_printable(uint32_t code_point);

/* Copies the text, with '?' for each character that is not printable and each byte that is not
 * UTF-8, and a NUL at the end; what has no room is cut off between characters. Returns the size
 * without the NUL. Needs room > 0. */
size_t kino__copy_printable(kino_str text, char *out, size_t room);

#endif
