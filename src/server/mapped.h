/* mapped.h - files that shrink while they are mapped must not end the server. */
#ifndef KINO__SERVER_MAPPED_H
#define KINO__SERVER_MAPPED_H

#include <stdbool.h>

/* From now on pages of a mapped file that the file has no more read as zeros: their readers find
 * damage instead of a signal. For the whole process. */
bool kino__guard_mapped_files(void);

#endif
