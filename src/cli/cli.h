/* cli.h - the program behind main, where tests can reach it. */
#ifndef KINO__CLI_CLI_H
#define KINO__CLI_CLI_H

/* Runs the program; returns its exit code. */
int cli_main(int count, char **words);

#endif
