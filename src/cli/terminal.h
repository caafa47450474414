/* terminal.h - what the output is connected to. */
#ifndef KINO__CLI_TERMINAL_H
#define KINO__CLI_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal behind a descriptor; 0 when it is none. */
unsigned kino__terminal_width(int fd);

/* Should results be coloured? choice: "auto", "always" or "never". auto: on a terminal, unless
 * NO_COLOR is set. */
bool kino__terminal_wants_color(const char *choice, bool is_terminal);

#endif
