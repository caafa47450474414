/* run_diff.h - what the files of the comparison share. */
#ifndef KINO__REPORT_RUN_DIFF_H
#define KINO__REPORT_RUN_DIFF_H

#include <kino/engine.h>

#include "base/str.h"
#include "store/table.h"

/* The summary of a finished comparison as text or Markdown. Failure sticks in the buffer. */
void kino__diff_summarise(const kino_result *diff, bool is_markdown, bool has_color,
                          kino__buffer *out);

#endif
