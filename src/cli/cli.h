/* cli.h - what the sub-commands share: their definition, common options, errors, output.
 *
 * A new sub-command:
 *   1. src/cli/cmd_<name>.c with `const kino__command kino__command_<name>` and its option table
 *   2. COMMAND(<name>) in src/cli/commands.def
 *   3. docs/man/kino-<name>.md; its OPTIONS part is what `kino <name> --help-man` prints
 *   4. cases in tests/cli/<name>/
 *
 * The program uses the public headers and base, nothing else. Results go to standard output,
 * everything else to standard error. */
#ifndef KINO__CLI_CLI_H
#define KINO__CLI_CLI_H

#include <kino/engine.h>

#include "cli/options.h"
#include "cli/progress_bar.h"

enum {
    KINO__EXIT_OK = 0,
    KINO__EXIT_FAILED = 1,
    KINO__EXIT_USAGE = 2,
    KINO__EXIT_CHECK = 3, /* what the user asked to hold does not */
    KINO__EXIT_INTERRUPTED = 130,
    KINO__EXIT_ELSEWHERE = 256, /* another process answers; no exit code */
};

typedef struct kino__common_options kino__common_options;

/* Another program with the same commands (kino-mpi), whose runs come from elsewhere. */
typedef struct kino__opener {
    const char *program;
    /* In place of kino_run_open, reporting errors itself: 0, or an exit code. */
    int (*open)(void *context, const kino__common_options *options, const kino_load_options *load,
                char **paths, size_t count, kino_run **out);
    void *context;
} kino__opener;

/* Options that most commands have; first member of each command's own struct. */
struct kino__common_options {
    /* all commands */
    bool help, help_man, no_progress, quiet;
    const char *color;
    /* commands that load traces */
    kino__ranks ranks;
    const char *run, *span, *simd;
    unsigned jobs;
    uint64_t memory; /* kino_load_options.memory; 0 where a command needs all traces at once */
    const kino__opener *opener;                /* NULL: kino_run_open */
    const struct kino_summarize_options *asks; /* what the run is opened for, for an opener */
    bool takes_summaries;                      /* kino_load_options.takes_summaries */
    bool require_all;                          /* the same */
    unsigned part, parts;                      /* the same */
    uint64_t budget; /* memory that the command may use; 0: by the machine */
    /* commands that print tables */
    const char *format, *output, *table;
    uint64_t limit; /* KINO__LIMIT_DEFAULT: by format */
};

#define KINO__LIMIT_DEFAULT UINT64_MAX

/* --memory of the commands that can work trace by trace. */
#define KINO__MEMORY_DEFAULT ((uint64_t)128000000)
#define KINO__MEMORY_OPTION(offset)                                                                \
    {                                                                                              \
        "memory", KINO__OPTION_SIZE, "SIZE",                                                       \
            "keep at most SIZE of the run's traces in memory and read the others again when "      \
            "needed; 0 keeps all (default: 128MB). A SIZE above the command's memory limit "       \
            "raises the limit",                                                                    \
            offset, false                                                                          \
    }

#define KINO__REQUIRE_ALL_OPTION(offset)                                                           \
    {                                                                                              \
        "require-all", KINO__OPTION_FLAG, NULL,                                                    \
            "fail if a trace cannot be read, or a rank or part of the run is missing", offset,     \
            false                                                                                  \
    }

enum {
    KINO__COMMAND_LOADS = 1,  /* --rank, --run, --span, --jobs */
    KINO__COMMAND_PRINTS = 2, /* --format, --output, --table, --limit */
};

typedef struct kino__command {
    const char *name;
    const char *arguments;               /* "TRACE|DIR..." */
    const char *summary;                 /* one line, lower case */
    const char *description;             /* what --help adds; lines of at most 80 columns */
    void (*describe)(kino__buffer *out); /* lists behind it, made when asked for; or NULL */
    const kino__option *options;         /* its own, or NULL */
    unsigned groups;
    bool is_for_clusters; /* asks an opener: sets common.asks */
    bool limits_memory;   /* also without KINO__COMMAND_LOADS: it reads what others wrote */
    size_t options_size;
    void (*init)(void *options); /* sets defaults of its own options; or NULL */
    int (*run)(void *options, char **arguments, size_t count);
    /* More options, once it is seen what was typed (nothing is parsed yet); the table belongs to
     * `options`. NULL: none. */
    const kino__option *(*more_options)(void *options, char **arguments, size_t count);
    /* Help, or the manual's part, about what was typed; false: the usual text will do. Or NULL. */
    bool (*print_help)(kino__buffer *out, const void *options, bool is_manual);
} kino__command;

#define COMMAND(name) extern const kino__command kino__command_##name;
#include "cli/commands.def"
#undef COMMAND

/* The n-th command, NULL at the end. */
const kino__command *kino__command_at(size_t index);
/* All options that a command takes. */
kino__option_set kino__command_options(const kino__command *command);

/* -- what was typed -- */

typedef struct kino__invocation {
    const kino__command *command; /* NULL: the program itself */
    bool overview, version;       /* without a command */
    void *options;                /* of the command; freed by _deinit */
    char **arguments;             /* borrowed from argv, options taken out */
    size_t count;
} kino__invocation;

/* Reads the arguments behind the program's name; does nothing else. KINO_ARGUMENT when they make no
 * sense. Must be deinitialised also after a failure. */
KINO_NODISCARD kino_status kino__invocation_parse(kino__invocation *out, char **arguments,
                                                  size_t count, kino_error *err);
void kino__invocation_deinit(kino__invocation *invocation);

/* The whole program; returns the exit code. */
int kino__cli_main(int argc, char **argv);
/* The same for another program, with the commands that are for clusters. */
int kino__cli_main_with(int argc, char **argv, const kino__opener *opener);

/* What --help prints. */
void kino__print_help(kino__buffer *out, const kino__command *command);

/* -- for commands -- */

/* Lets the program use this much memory more; errors say so from now on. */
void kino__limit_memory(uint64_t bytes);
/* Prints "kino: message (byte N)" and gives the exit code: 130 after Ctrl-C, else `code`. */
int kino__report_error(const kino_error *err, int code);
/* The message as the command line says it; rewrites it in place. */
const char *kino__error_text(kino_error *err);
/* Prints what loading or making a run has to warn of. */
void kino__report_warnings(const kino_run *run);
/* Prints the message and where to read more; exit code 2. */
int kino__report_usage(const kino__command *command, const char *format, ...) KINO_PRINTF(2, 3);

/* Prints "kino: message" and goes on. */
void kino__report_note(const char *format, ...) KINO_PRINTF(1, 2);

/* Opens a run with the common options, shows progress, prints warnings. 0, or an exit code (already
 * reported). */
int kino__open_run(const kino__common_options *options, char **paths, size_t count, kino_run **out);

/* Where results go, and how. */
typedef struct kino__output {
    kino_render_options render;
    struct kino__sink *sink;
    kino_error error; /* why writing failed */
} kino__output;

/* Opens standard output or --output and chooses colour, width and limit. 0, or an exit code
 * (already reported). */
int kino__output_open(kino__output *output, const kino__common_options *options);
/* A kino_write_fn; the context is the output. */
bool kino__output_write(void *output, const char *bytes, size_t size);
/* Ends the output; `st` and `err` are what the rendering said. Returns the exit code, everything
 * reported. */
int kino__output_finish(kino__output *output, kino_status st, kino_error *err);

/* Runs one analysis and shows progress. is_last: the run is only freed afterwards. 0, or an exit
 * code (already reported). */
int kino__run_analysis(const kino__common_options *options, kino_run *run, const char *name,
                       const kino_param *params, size_t count, bool is_last, kino_result **out);

/* A finished answer on standard output or in --output, as the options say. Returns the exit code,
 * everything reported. */
int kino__show_result(const kino__common_options *options, const kino_result *result);

/* A report on standard output: kino report, and kino demo at its end. */
int kino__show_report(const kino__common_options *options, char **paths, size_t count);

#endif
