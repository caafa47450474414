/* mapped.h - files that shrink while they are mapped must not end the program.
 *
 * Input files register what they map. A page that its file has no more reads as zeros from then on;
 * the first file to which that happened is remembered, so that whoever was given an answer from it
 * is told. */
#ifndef KINO__BASE_MAPPED_H
#define KINO__BASE_MAPPED_H

#include <kino/base.h>

/* Puts the guard in place, for the whole process. `keeps_going`: nobody asks which file it was, and
 * output goes on (a server, whose runs come and go). False where there can be no guard. */
bool kino__mapped_guard(bool keeps_going);

/* A mapping of an input file, and its end; any thread. */
void kino__mapped_add(const char *data, size_t size, const char *path);
void kino__mapped_remove(const char *data);

/* KINO_OK, or the error that names the file which was cut off while it was read. Any thread. */
KINO_NODISCARD kino_status kino__mapped_check(kino_error *err);

#endif
