/* write_out.h - where convert and cut write: one file, or a folder with a file for each trace. */
#ifndef KINO__CLI_WRITE_OUT_H
#define KINO__CLI_WRITE_OUT_H

#include "base/arena.h"
#include "cli/cli.h"

typedef struct kino__write_target {
    const char *path;
    bool is_folder; /* it ends in '/', or is a folder already */
} kino__write_target;

/* Looks at OUT and the format (NULL: by OUT's suffix; `option` gives it) before a long load. 0, or
 * an exit code (already reported). */
int kino__target_check(const kino__command *command, const char *out, const char *format,
                       const char *option, kino__write_target *target);

/* Writes the run with a progress bar; `write` has all but the progress. Returns the exit code,
 * everything reported. */
int kino__target_write(const kino__common_options *options, const kino__write_target *target,
                       const kino_write_options *write, kino_run *run);

/* The parts of "a,b,c"; a comma that belongs to a part is written "\,". */
typedef struct kino__text_list {
    KINO__VEC(const char *) items;
    kino__arena arena;
} kino__text_list;

/* NULL is an empty list. False when memory is out. To be deinitialised in any case. */
bool kino__text_list_init(kino__text_list *list, const char *text);
void kino__text_list_deinit(kino__text_list *list);

#endif
