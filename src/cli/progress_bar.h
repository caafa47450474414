/* progress_bar.h - a line on standard error that shows how far long work is.
 *
 * Nothing appears unless standard error is a terminal and the work has taken half a second; the
 * line is wiped out at the end. The callback also passes Ctrl-C on to the work. */
#ifndef KINO__CLI_PROGRESS_BAR_H
#define KINO__CLI_PROGRESS_BAR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kino__progress_bar {
    bool is_enabled;
    bool is_shown;
    int64_t start_ms; /* of the work */
    int64_t drawn_ms; /* last time */
} kino__progress_bar;

void kino__progress_bar_init(kino__progress_bar *bar, bool is_wanted);
/* A kino_progress_fn; the context is the bar. Calls must not overlap (the engine sees to that). */
bool kino__progress_bar_report(void *bar, const char *what, uint64_t done, uint64_t total);
/* Wipes the line out. */
void kino__progress_bar_end(kino__progress_bar *bar);

/* The text of the line for a terminal of this width, without escape sequences; for tests. */
void kino__progress_bar_format(char *text, unsigned size, unsigned width, const char *what,
                               uint64_t done, uint64_t total, int64_t elapsed_ms);

#endif
