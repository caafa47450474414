/* terminal.c - width and colour. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned kino__terminal_width(int fd)
{
    struct winsize size = {0};
    if (isatty(fd) != 1)
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return 80;
}

bool kino__terminal_wants_color(const char *choice, bool is_terminal)
{
    if (strcmp(choice, "always") == 0)
        return true;
    if (strcmp(choice, "never") == 0 || !is_terminal)
        return false;
    const char *no_color =
        getenv("NO_COLOR");            /* NOLINT(concurrency-mt-unsafe): nobody calls setenv here */
    const char *kind = getenv("TERM"); /* NOLINT(concurrency-mt-unsafe) */
    return !(no_color && *no_color) && !(kind && strcmp(kind, "dumb") == 0);
}
