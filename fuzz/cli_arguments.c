/* cli_arguments.c - any list of arguments is understood or refused, without doing anything; help
 * can always be printed.
 *
 * Input: the arguments, separated by zero bytes or line feeds. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ARGUMENTS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = 0;
    char *arguments[MOST_ARGUMENTS];
    size_t count = 0;
    for (size_t at = 0; at < size && count < MOST_ARGUMENTS; at += strlen(text + at) + 1)
        arguments[count++] = text + at;

    kino__invocation what;
    kino_error err;
    kino_status st = kino__invocation_parse(&what, arguments, count, &err);
    /* Arguments are either understood or refused with a message. */
    if (st != KINO_OK && (st != KINO_ARGUMENT || !err.message[0]))
        abort();
    if (st == KINO_OK && what.command) {
        const kino__common_options *common = what.options;
        if (what.count > count || !common->format || !common->color)
            abort();
        kino__buffer help = {0};
        kino__print_help(&help, what.command);
        kino__buffer_deinit(&help);
    }
    kino__invocation_deinit(&what);
    free(text);
    return 0;
}
