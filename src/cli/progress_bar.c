/* progress_bar.c - "reading x.json  [#########           ]  45 %  3.2 s" */
#include "cli/progress_bar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

enum { PATIENCE_MS = 500, REDRAW_MS = 100, BAR = 24 };

void kino__progress_bar_init(kino__progress_bar *bar, bool is_wanted)
{
    *bar = (kino__progress_bar){.is_enabled = is_wanted && isatty(STDERR_FILENO) == 1,
                                .start_ms = kino__clock_ms(CLOCK_MONOTONIC)};
}

void kino__progress_bar_format(char *text, unsigned size, unsigned width, const char *what,
                               uint64_t done, uint64_t total, int64_t elapsed_ms)
{
    char tail[80];
    if (total) {
        double part = done < total ? (double)done / (double)total : 1;
        char bar[BAR + 1];
        memset(bar, ' ', BAR);
        memset(bar, '#', (size_t)(part * BAR));
        bar[BAR] = 0;
        (void)snprintf(tail, sizeof tail, "  [%s] %3d %%  %" PRId64 ".%d s", bar, (int)(part * 100),
                       elapsed_ms / 1000, (int)(elapsed_ms % 1000 / 100));
    } else {
        (void)snprintf(tail, sizeof tail, "  %" PRId64 ".%d s", elapsed_ms / 1000,
                       (int)(elapsed_ms % 1000 / 100));
    }
    /* The last column stays free: some terminals wrap there. */
    int room = (int)width - 1 - (int)strlen(tail);
    (void)snprintf(text, size, "%.*s%s", room > 0 ? room : 0, what ? what : "working", tail);
}

static void draw(kino__progress_bar *bar, const char *what, uint64_t done, uint64_t total,
                 int64_t now)
{
    char text[512], label[512];
    unsigned width = kino__terminal_width(STDERR_FILENO);
    (void)kino__copy_printable(kino__str_from(what ? what : "working"), label, sizeof label);
    kino__progress_bar_format(text, sizeof text, width ? width : 80, label, done, total,
                              now - bar->start_ms);
    (void)fprintf(stderr, "\r\033[K%s", text);
    bar->is_shown = true;
    bar->drawn_ms = now;
}

bool kino__progress_bar_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    kino__progress_bar *bar = context;
    if (kino__interrupt_was_asked())
        return false;
    if (!bar->is_enabled)
        return true;
    int64_t now = kino__clock_ms(CLOCK_MONOTONIC);
    if (now - bar->start_ms >= PATIENCE_MS && now - bar->drawn_ms >= REDRAW_MS)
        draw(bar, what, done, total, now);
    return true;
}

void kino__progress_bar_end(kino__progress_bar *bar)
{
    if (bar->is_shown)
        (void)fputs("\r\033[K", stderr);
    bar->is_shown = false;
}
