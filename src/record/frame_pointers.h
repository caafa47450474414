/* frame_pointers.h - can stacks of a program be walked by its frame pointers? */
#ifndef KINO__RECORD_FRAME_POINTERS_H
#define KINO__RECORD_FRAME_POINTERS_H

#include <kino/base.h>

/* Do most functions of the file begin with a frame of their own? Looked up in its table of
 * functions (.eh_frame_hdr). False, too, when the file does not say. */
bool kino__has_frame_pointers(const char *path);
/* The same for the bytes of a file. */
bool kino__has_frame_pointers_in(kino_str bytes);

#endif
