/* main.c - the program kino: see cli.h for how it is made of commands. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return kino__cli_main(argc, argv);
}
