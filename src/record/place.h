/* place.h - where the trace goes: is that possible? Asked before the program is run, because at the
 * end it would be too late. */
#ifndef KINO__RECORD_PLACE_H
#define KINO__RECORD_PLACE_H

#include <kino/base.h>

typedef struct kino__place {
    const char *path; /* as given, or NULL: named after the program */
    bool is_special;  /* a device or a pipe: it is written to as it is, and gets one trace */
    bool is_pipe;
    int fd; /* of a pipe: its reader has a writer from now on; -1 */
} kino__place;

/* Must be deinitialised also after a failure. */
KINO_NODISCARD kino_status kino__place_init(kino__place *out, const char *path, kino_error *err);
/* Does somebody still read the pipe? Without, opening it would wait for ever. */
KINO_NODISCARD kino_status kino__place_look_again(const kino__place *place, kino_error *err);
void kino__place_deinit(kino__place *place);

#endif
