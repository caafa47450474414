/* program.h - a program that uses a stand-in and records itself: program TRACE SCENE [TRACE SCENE
 * ...]. It prints how the backends did, as kino_device_get says.
 *
 * program.c has its main; the vendor's program.c has the scenes. Besides those there is "exit": the
 * program ends in the middle of the first scene's recording, which is saved then. */
#ifndef STANDIN_COMMON_PROGRAM_H
#define STANDIN_COMMON_PROGRAM_H

#include <stdbool.h>

typedef struct scene {
    const char *name; /* NULL: the last one's end */
    void (*play)(void);
    bool has_functions; /* record functions are seen */
} scene;
extern const scene scenes[];

/* Behind the last session nothing of the vendor's may go through kino any more. Does it? */
bool is_attached(void);

#endif
