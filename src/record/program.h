/* program.h - the program that is to be recorded, looked at before it runs: which file it is, and
 * whether a library can be put into it. */
#ifndef KINO__RECORD_PROGRAM_H
#define KINO__RECORD_PROGRAM_H

#include <kino/base.h>

enum { KINO__PROGRAM_PATH = 4096 };

typedef struct kino__program {
    char path[KINO__PROGRAM_PATH];  /* the file that is executed */
    char image[KINO__PROGRAM_PATH]; /* what runs: its interpreter for a script */
    const char *blind;              /* why no library can be put into it; NULL: one can */
} kino__program;

/* Searches PATH as execvp does. KINO_NOT_FOUND: there is no such program; KINO_UNAVAILABLE: it must
 * not be run, or runs with rights that its user does not have: nothing may be put into it. */
KINO_NODISCARD kino_status kino__program_find(const char *name, kino__program *out,
                                              kino_error *err);

#endif
