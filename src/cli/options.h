/* options.h - one table per command: from it come parsing, --help, the OPTIONS part of the manual
 * page and the suggestion after a typing error.
 *
 *   static const kino__option options[] = {
 *       {"steps", KINO__OPTION_UINT, "N", "how many steps", offsetof(demo_options, steps)},
 *       {0},
 *   };
 *
 * An option writes its value into the field at `offset` of the command's own struct; the struct's
 * defaults are set before. "--name value" and "--name=value" mean the same, "--" ends the options,
 * a later one wins, but for TEXTS. */
#ifndef KINO__CLI_OPTIONS_H
#define KINO__CLI_OPTIONS_H

#include <kino/base.h>

#include "base/str.h"
#include "base/vec.h"

typedef enum kino__option_kind {
    KINO__OPTION_FLAG,    /* bool: set to true */
    KINO__OPTION_SWITCH,  /* const char *: "yes", or what follows: yes, no, on, off, true, false */
    KINO__OPTION_TEXT,    /* const char * */
    KINO__OPTION_CHOICE,  /* const char *: one of the argument's words, "table|json|csv" */
    KINO__OPTION_UINT,    /* unsigned */
    KINO__OPTION_COUNT,   /* uint64_t */
    KINO__OPTION_SIZE,    /* uint64_t bytes: 200MB, 1.5GB, 4096, 1GiB */
    KINO__OPTION_SECONDS, /* unsigned milliseconds: 2.5, 0.1 */
    KINO__OPTION_RANKS,   /* kino__ranks: 0,2-5 */
    KINO__OPTION_TEXTS,   /* kino__option_texts: may be given several times */
} kino__option_kind;

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): tables read in this order */
typedef struct kino__option {
    const char *name; /* without the dashes; NULL ends the table */
    kino__option_kind kind;
    const char *argument; /* how help calls it; the words of a choice; NULL for flags */
    const char *help;     /* one sentence, lower case, no full stop */
    size_t offset;
    bool is_hidden; /* not in --help; the manual page has it apart */
} kino__option;

typedef struct kino__ranks {
    KINO__VEC(int64_t) items;
} kino__ranks;

/* All values of an option, in order; borrowed from the arguments. */
enum { KINO__MOST_TEXTS = 32 };
typedef struct kino__option_texts {
    const char *items[KINO__MOST_TEXTS];
    size_t count;
} kino__option_texts;

enum { KINO__OPTION_TABLES = 7 };

/* What a command takes: some tables, searched in order, all over one struct. */
typedef struct kino__option_set {
    const kino__option *tables[KINO__OPTION_TABLES]; /* NULL at the end */
} kino__option_set;

/* Parses arguments into the struct at `target`. What is no option is moved to the front of
 * `arguments`; *positional_count says how many these are. KINO_ARGUMENT and a message when
 * something is wrong. */
KINO_NODISCARD kino_status kino__options_parse(const kino__option_set *set, void *target,
                                               char **arguments, size_t count,
                                               size_t *positional_count, kino_error *err);

/* One more table in front; NULL: nothing. */
void kino__option_set_add(kino__option_set *set, const kino__option *table);

/* The n-th option of a set, NULL at the end. */
const kino__option *kino__option_at(const kino__option_set *set, size_t index);

/* The options as --help shows them, wrapped to 80 columns. */
void kino__options_print_help(kino__buffer *out, const kino__option_set *set);
/* The same as the Markdown definition list of the manual page (dashes escaped: two would become
 * one); hidden: only the hidden ones, else only the others. */
void kino__options_print_manual(kino__buffer *out, const kino__option_set *set, bool hidden);

/* The word of a list that a mistyped one most likely meant, or NULL. Words end with NULL. */
const char *kino__suggest(const char *typed, const char *const *words);

#endif
