/* cli.c - the table of commands and the dispatcher: what was typed, help, which command runs. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapped.h"
#include "base/memory_limit.h"
#include "cli/interrupt.h"

static const kino__command *const commands[] = {
#define COMMAND(name) &kino__command_##name,
#include "cli/commands.def"
#undef COMMAND
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* -- options that several commands have -- */

#define FIELD(name) offsetof(kino__common_options, name)

static const kino__option general_options[] = {
    {"color", KINO__OPTION_CHOICE, "auto|always|never",
     "color tables (default: auto, which honors NO_COLOR)", FIELD(color), false},
    {"no-progress", KINO__OPTION_FLAG, NULL, "do not show a progress bar", FIELD(no_progress),
     false},
    {"quiet", KINO__OPTION_FLAG, NULL, "do not show warnings or a progress bar", FIELD(quiet),
     false},
    {"help", KINO__OPTION_FLAG, NULL, "show this help", FIELD(help), false},
    {"help-man", KINO__OPTION_FLAG, NULL, "print the options as the manual page has them",
     FIELD(help_man), true},
    {0},
};

static const kino__option load_options[] = {
    {"rank", KINO__OPTION_RANKS, "LIST", "use only the traces of these ranks: 0 or 0,2-5",
     FIELD(ranks), false},
    {"run", KINO__OPTION_TEXT, "NAME", "use run NAME of a directory that holds several", FIELD(run),
     false},
    {"recording", KINO__OPTION_TEXT, "N",
     "use recording N of a directory that holds several: 1, 2, ...", FIELD(span), false},
    {"span", KINO__OPTION_TEXT, "N", "the same as --recording", FIELD(span), false},
    {"jobs", KINO__OPTION_UINT, "N", "use N threads (default: one per processor)", FIELD(jobs),
     false},
    {"simd", KINO__OPTION_CHOICE, "auto|avx512|avx2|scalar",
     "read with these vector instructions (default: KINO_SIMD, else auto: the best available)",
     FIELD(simd), true},
    {0},
};

static const kino__option memory_options[] = {
    {"memory", KINO__OPTION_SIZE, "SIZE",
     "use at most SIZE of memory, such as 8GB (default: three quarters of the machine's memory)",
     FIELD(budget), false},
    {0},
};

static const kino__option print_options[] = {
    {"format", KINO__OPTION_CHOICE, "table|json|csv|md",
     "print results in this format (default: table)", FIELD(format), false},
    {"output", KINO__OPTION_TEXT, "FILE", "write results to FILE (default: standard output)",
     FIELD(output), false},
    {"limit", KINO__OPTION_COUNT, "N",
     "show at most N rows of each table; 0 for all (default: 50; JSON and CSV: all)", FIELD(limit),
     false},
    {"table", KINO__OPTION_TEXT, "NAME", "print table NAME as CSV (default: the first table)",
     FIELD(table), false},
    {0},
};

/* -- commands -- */

const kino__command *kino__command_at(size_t index)
{
    return index < COMMAND_COUNT ? commands[index] : NULL;
}

static const kino__command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static bool has_option(const kino__option *table, const char *name)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

kino__option_set kino__command_options(const kino__command *command)
{
    kino__option_set set = {0};
    size_t count = 0;
    if (command->options)
        set.tables[count++] = command->options;
    if (command->groups & KINO__COMMAND_PRINTS)
        set.tables[count++] = print_options;
    if (command->groups & KINO__COMMAND_LOADS)
        set.tables[count++] = load_options;
    if ((command->groups & KINO__COMMAND_LOADS) && !has_option(command->options, "memory"))
        set.tables[count++] = memory_options;
    set.tables[count++] = general_options;
    return set;
}

/* -- help -- */

static void print_overview(kino__buffer *out)
{
    kino__buffer_add(out, KINO__STR("kino - see where the time goes in machine-learning programs\n"
                                    "\n"
                                    "usage: kino COMMAND [options]\n"
                                    "\n"));
    size_t width = 0;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t length = strlen(commands[i]->name) + 1 + strlen(commands[i]->arguments);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t length = strlen(commands[i]->name) + 1 + strlen(commands[i]->arguments);
        kino__buffer_printf(out, "  %s %s%*s  %s\n", commands[i]->name, commands[i]->arguments,
                            (int)(width - length), "", commands[i]->summary);
    }
    kino__buffer_add(
        out,
        KINO__STR(
            "\n"
            "See 'kino COMMAND --help' for the options of a command, and 'kino --version' for\n"
            "the version. To get started, run 'kino demo', or 'kino report' on your trace.\n"));
}

void kino__print_help(kino__buffer *out, const kino__command *command)
{
    kino__option_set set = kino__command_options(command);
    kino__buffer_printf(out, "usage: kino %s%s%s [options]\n\n%s\n", command->name,
                        command->arguments[0] ? " " : "", command->arguments, command->description);
    if (command->describe)
        command->describe(out);
    kino__buffer_add(out, KINO__STR("options:\n"));
    kino__options_print_help(out, &set);
}

static void print_manual_options(kino__buffer *out, const kino__command *command)
{
    kino__option_set set = kino__command_options(command);
    kino__buffer_add(out, KINO__STR("# OPTIONS\n\n"));
    kino__options_print_manual(out, &set, false);
    if (!(command->groups & KINO__COMMAND_LOADS))
        return;
    kino__buffer_add(out, KINO__STR("\nFor measurements:\n\n"));
    kino__option_set hidden = {{load_options}};
    kino__options_print_manual(out, &hidden, true);
}

/* -- what was typed -- */

static kino_status fail_command(const char *name, kino_error *err)
{
    const char *words[COMMAND_COUNT + 2] = {NULL};
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        words[i] = commands[i]->name;
    words[COMMAND_COUNT] = "help";
    const char *meant = kino__suggest(name, words);
    if (meant)
        return kino__fail(err, KINO_ARGUMENT, "unknown command '%s' (did you mean '%s'?)", name,
                          meant);
    return kino__fail(err, KINO_ARGUMENT, "unknown command '%s'", name);
}

/* Options before any command: --help, --version. */
static kino_status parse_global(kino__invocation *out, const char *argument, kino_error *err)
{
    out->version = strcmp(argument, "--version") == 0;
    out->overview = strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
    if (out->version || out->overview)
        return KINO_OK;
    const char *const words[] = {"help", "version", NULL};
    const char *meant = kino__suggest(argument + strspn(argument, "-"), words);
    if (meant)
        return kino__fail(err, KINO_ARGUMENT, "unknown option '%s' (did you mean '--%s'?)",
                          argument, meant);
    return kino__fail(err, KINO_ARGUMENT, "unknown option '%s' before the command", argument);
}

static kino_status parse_command(kino__invocation *out, char **arguments, size_t count,
                                 kino_error *err)
{
    out->options = calloc(1, out->command->options_size);
    if (!out->options)
        return kino__fail_nomem(err);
    kino__common_options *common = out->options;
    common->color = "auto";
    common->format = "table";
    common->limit = KINO__LIMIT_DEFAULT;
    if (out->command->init)
        out->command->init(out->options);
    kino__option_set set = kino__command_options(out->command);
    if (out->command->more_options)
        kino__option_set_add(&set, out->command->more_options(out->options, arguments, count));
    out->arguments = arguments;
    return kino__options_parse(&set, out->options, arguments, count, &out->count, err);
}

kino_status kino__invocation_parse(kino__invocation *out, char **arguments, size_t count,
                                   kino_error *err)
{
    *out = (kino__invocation){.overview = count == 0};
    kino__error_clear(err);
    if (count == 0)
        return KINO_OK;
    if (arguments[0][0] == '-')
        return parse_global(out, arguments[0], err);
    bool is_help = strcmp(arguments[0], "help") == 0;
    if (is_help && count == 1) {
        out->overview = true;
        return KINO_OK;
    }
    out->command = find_command(arguments[is_help]);
    if (!out->command)
        return fail_command(arguments[is_help], err);
    KINO_TRY(parse_command(out, arguments + 1 + is_help, count - 1 - is_help, err));
    if (is_help)
        ((kino__common_options *)out->options)->help = true;
    return KINO_OK;
}

void kino__invocation_deinit(kino__invocation *invocation)
{
    kino__common_options *common = invocation->options;
    if (common)
        kino__vec_deinit(&common->ranks.items);
    free(invocation->options);
    *invocation = (kino__invocation){0};
}

/* -- running -- */

static int print_text(kino__buffer *text)
{
    bool good = !text->failed && fwrite(text->data, 1, text->size, stdout) == text->size &&
                fflush(stdout) == 0;
    kino__buffer_deinit(text);
    return good ? KINO__EXIT_OK : KINO__EXIT_FAILED;
}

/* What a trace asks for beyond the limit is refused by the system, and reported like any error.
 * Commands that start other people's programs have none: they would inherit it. */
static int start(const kino__invocation *what)
{
    const kino__common_options *common = what->options;
    const kino__command *command = what->command;
    uint64_t most = kino__memory_default();
    if (common->budget && !has_option(command->options, "memory"))
        most = common->budget;
    else if (common->budget > most || common->memory > most)
        most = common->budget > common->memory ? common->budget : common->memory;
    if (command->groups & KINO__COMMAND_LOADS || command->limits_memory)
        kino__limit_memory(most);
    return command->run(what->options, what->arguments, what->count);
}

static int run(const kino__invocation *what)
{
    const kino__common_options *common = what->options;
    kino__buffer text = {0};
    if (common && (common->help || common->help_man) && what->command->print_help &&
        what->command->print_help(&text, what->options, common->help_man))
        return print_text(&text);
    if (what->version)
        kino__buffer_printf(&text, "kino %s\n", kino_version());
    else if (!common)
        print_overview(&text);
    else if (common->help)
        kino__print_help(&text, what->command);
    else if (common->help_man)
        print_manual_options(&text, what->command);
    else
        return start(what);
    return print_text(&text);
}

/* Other programs have some of the commands, with an opener for their runs. */
static int set_opener(const kino__invocation *what, const kino__opener *opener)
{
    kino__common_options *common = what->options;
    if (!opener || !common)
        return KINO__EXIT_OK;
    common->opener = opener;
    if (what->command->is_for_clusters)
        return KINO__EXIT_OK;
    return kino__report_usage(NULL, "%s has the commands report, analyze and check",
                              opener->program);
}

int kino__cli_main(int argc, char **argv)
{
    return kino__cli_main_with(argc, argv, NULL);
}

int kino__cli_main_with(int argc, char **argv, const kino__opener *opener)
{
    kino__invocation what;
    kino_error err;
    kino__interrupt_install();
    (void)kino__mapped_guard(false);
    size_t count = argc > 1 ? (size_t)argc - 1 : 0;
    kino_status st = kino__invocation_parse(&what, argv + 1, count, &err);
    int code = st == KINO_OK ? set_opener(&what, opener) : KINO__EXIT_OK;
    if (st == KINO_OK && code == KINO__EXIT_OK)
        code = run(&what);
    else if (st == KINO_ARGUMENT)
        code = kino__report_usage(what.command, "%s", kino__error_text(&err));
    else if (st != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    if (code != KINO__EXIT_FAILED && kino__mapped_check(&err) != KINO_OK)
        code = kino__report_error(&err, KINO__EXIT_FAILED); /* the answer is not to be trusted */
    kino__invocation_deinit(&what);
    return code;
}
