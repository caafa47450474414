/* cli.c - the commands of kino; the list is still empty. */
#include "cli/cli.h"

#include <stdio.h>

int cli_main(int count, char **words)
{
    (void)fprintf(stderr, "kino: unknown command '%s'\n", count > 1 ? words[1] : "");
    return 2;
}
