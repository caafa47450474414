/* interrupt.h - Ctrl-C, SIGTERM, SIGHUP: the first one asks the work to stop, the second one ends
 * the program. */
#ifndef KINO__CLI_INTERRUPT_H
#define KINO__CLI_INTERRUPT_H

#include <stdbool.h>

void kino__interrupt_install(void);
bool kino__interrupt_was_asked(void);
/* For those who poll it themselves; valid for ever. */
const bool *kino__interrupt_flag(void);

#endif
