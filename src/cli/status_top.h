/* status_top.h - `kino status --top`: a live view of a daemon's metrics.
 *
 * status_top.c has the terminal, status_top_frame.c draws. */
#ifndef KINO__CLI_STATUS_TOP_H
#define KINO__CLI_STATUS_TOP_H

#include "base/json_in.h"
#include "client/client.h"

/* On a terminal: a frame each second until q, Ctrl-C or the end of the daemon. Elsewhere: one
 * frame, as text. Needs a daemon of ours. Returns the exit code; errors are reported. */
int kino__status_top_run(const kino__client *client, bool color);

/* How a frame looks. */
typedef struct kino__top_view {
    unsigned width, height; /* columns and lines at most; 0: no limit */
    bool color;
    bool is_plain; /* ASCII only */
} kino__top_view;

/* One frame: answers of getMetrics (with history) and getRequests, which may be NULL. The lines end
 * with '\n'; check out->failed. */
void kino__top_frame(const kino__top_view *view, const kino__json_in *metrics,
                     const kino__json_in *requests, kino__buffer *out);

#endif
