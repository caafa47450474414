/* samples_spans.c - merging samples into spans. Each sample costs a comparison per frame. */
#include "record/samples_spans.h"

#include <string.h>

enum { MOST_STRETCHES = 4096 }; /* that wait for a sample; older ones are given up */

void kino__sample_spans_init(kino__sample_spans *spans, int64_t period_ns, bool has_switches,
                             kino__sample_span_sink sink, void *context)
{
    *spans = (kino__sample_spans){.period_ns = period_ns,
                                  .has_switches = has_switches,
                                  .running_ns = KINO__SAMPLE_NONE,
                                  .sampled_ns = KINO__SAMPLE_NONE,
                                  .end_ns = KINO__SAMPLE_NONE,
                                  .sink = sink,
                                  .context = context};
}

void kino__sample_spans_deinit(kino__sample_spans *spans)
{
    kino__vec_deinit(&spans->stretches);
    kino__vec_deinit(&spans->open);
}

static void clear_stretches(kino__sample_spans *spans)
{
    spans->stretches.count = 0;
    spans->waiting_ns = 0;
}

static void add_stretch(kino__sample_spans *spans, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return;
    if (spans->stretches.count >= MOST_STRETCHES) {
        size_t half = spans->stretches.count / 2;
        for (size_t i = 0; i < half; i++)
            spans->waiting_ns -=
                spans->stretches.items[i].end_ns - spans->stretches.items[i].start_ns;
        memmove(spans->stretches.items, spans->stretches.items + half,
                (spans->stretches.count - half) * sizeof *spans->stretches.items);
        spans->stretches.count -= half;
    }
    kino__sample_stretch *stretch = kino__vec_add(&spans->stretches);
    if (!stretch) {
        spans->failed = true;
        return;
    }
    *stretch = (kino__sample_stretch){start_ns, end_ns};
    spans->waiting_ns += end_ns - start_ns;
}

void kino__sample_spans_run(kino__sample_spans *spans, int64_t time_ns)
{
    spans->running_ns = time_ns;
}

void kino__sample_spans_leave(kino__sample_spans *spans, int64_t time_ns)
{
    if (spans->running_ns != KINO__SAMPLE_NONE)
        add_stretch(spans, spans->running_ns, time_ns);
    spans->running_ns = KINO__SAMPLE_NONE;
}

/* ---- spans ---- */

/* The line with most weight; the lower one on a tie. */
static uint32_t best_line(const kino__sample_open *open)
{
    kino__sample_line best = {0, 0};
    for (int i = 0; i < KINO__SAMPLE_LINES; i++) {
        kino__sample_line line = open->lines[i];
        if (line.line &&
            (line.weight > best.weight || (line.weight == best.weight && line.line < best.line)))
            best = line;
    }
    return best.line;
}

/* Counts the line; when all places are taken, everybody's weight sinks (Misra and Gries), so that a
 * line that more than a fifth of the samples were at stays. */
static void see_line(kino__sample_open *open, uint32_t line)
{
    if (!line)
        return;
    kino__sample_line *free_one = NULL;
    for (int i = 0; i < KINO__SAMPLE_LINES; i++) {
        if (open->lines[i].line == line && open->lines[i].weight) {
            open->lines[i].weight++;
            return;
        }
        if (!open->lines[i].weight && !free_one)
            free_one = &open->lines[i];
    }
    if (free_one)
        *free_one = (kino__sample_line){line, 1};
    else
        for (int i = 0; i < KINO__SAMPLE_LINES; i++)
            open->lines[i].weight--;
}

static void close_down_to(kino__sample_spans *spans, size_t depth)
{
    for (size_t i = depth; i < spans->open.count; i++) {
        const kino__sample_open *open = &spans->open.items[i];
        kino__sample_span span = {open->start_ns, spans->end_ns, open->function, best_line(open),
                                  open->samples};
        spans->sink(spans->context, &span);
    }
    if (spans->open.count > depth)
        spans->open.count = depth;
}

/* One stretch of CPU time with these frames; the last one of a sample has the sample in it. */
static void add_piece(kino__sample_spans *spans, kino__sample_stretch piece, bool has_sample,
                      const kino__symbol_frame *frames, size_t count)
{
    if (piece.start_ns != spans->end_ns)
        close_down_to(spans, 0);
    size_t same = 0;
    while (same < count && same < spans->open.count &&
           spans->open.items[same].function == frames[same].function)
        same++;
    close_down_to(spans, same);
    for (size_t i = same; i < count; i++) {
        kino__sample_open *open = kino__vec_add(&spans->open);
        if (!open) {
            spans->failed = true;
            break;
        }
        *open = (kino__sample_open){.start_ns = piece.start_ns, .function = frames[i].function};
    }
    spans->end_ns = piece.end_ns;
    if (!spans->open.items)
        return;
    for (size_t i = 0; i < spans->open.count; i++) {
        spans->open.items[i].samples += has_sample;
        see_line(&spans->open.items[i], frames[i].line);
    }
}

/* Without switches: since the sample before, unless that is too long ago. */
static void guess_stretch(kino__sample_spans *spans, int64_t time_ns)
{
    int64_t before = spans->sampled_ns;
    bool is_next = before != KINO__SAMPLE_NONE && time_ns - before <= spans->period_ns * 3 / 2;
    add_stretch(spans, is_next ? before : time_ns - spans->period_ns, time_ns);
}

/* Gives up what is older than a period of CPU time: samples are missing there (time inside of the
 * kernel that we may not see). A little more is the timer's inaccuracy. */
static size_t first_stretch(kino__sample_spans *spans)
{
    size_t first = 0;
    if (spans->waiting_ns <= spans->period_ns * 3 / 2)
        return 0;
    int64_t excess = spans->waiting_ns - spans->period_ns;
    for (; first < spans->stretches.count; first++) {
        kino__sample_stretch *s = &spans->stretches.items[first];
        int64_t length = s->end_ns - s->start_ns;
        if (length > excess) {
            s->start_ns += excess;
            break;
        }
        excess -= length;
    }
    return first;
}

void kino__sample_spans_add(kino__sample_spans *spans, int64_t time_ns,
                            const kino__symbol_frame *frames, size_t count)
{
    if (spans->has_switches && spans->running_ns != KINO__SAMPLE_NONE)
        add_stretch(spans, spans->running_ns, time_ns);
    else
        guess_stretch(spans, time_ns);
    for (size_t i = first_stretch(spans); i < spans->stretches.count; i++)
        add_piece(spans, spans->stretches.items[i], i + 1 == spans->stretches.count, frames, count);
    clear_stretches(spans);
    spans->running_ns = spans->has_switches ? time_ns : KINO__SAMPLE_NONE;
    spans->sampled_ns = time_ns;
}

void kino__sample_spans_forget(kino__sample_spans *spans)
{
    clear_stretches(spans);
    close_down_to(spans, 0);
    spans->running_ns = spans->sampled_ns = spans->end_ns = KINO__SAMPLE_NONE;
}

void kino__sample_spans_finish(kino__sample_spans *spans)
{
    kino__sample_spans_forget(spans);
}
