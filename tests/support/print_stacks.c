/* print_stacks.c - the call stacks that the critical path is made from (kino__call_stack_marks),
 * over whole threads, for a test that compares them with recorded answers: print_stacks TRACE...
 *
 * One line a row of the frame with HTA's rules and rounding: trace, number of the event, number of
 * its parent (-1: none), depth (-1: on a device). */
#include <stdio.h>
#include <stdlib.h>

#include <kino/engine.h>

#include "analysis/critical_path/critical_path_internal.h"
#include "engine/kino_run.h"

typedef struct stacks {
    const kino__frame *f;
    uint32_t *track_of;
    int64_t *parent, *depth; /* by position */
} stacks;

static int64_t number_at(const kino__frame *f, uint32_t at)
{
    return f->trace->number[f->row[at]];
}

/* One thread; a thread with a stream above 0 is a device's: its rows belong to their launches. */
static bool read_track(stacks *s, uint32_t track, uint32_t *events, uint64_t *marks, uint32_t *open)
{
    const kino__frame *f = s->f;
    size_t count = 0, depth = 0;
    bool is_device = false;
    for (uint32_t at = 0; at < f->count; at++) {
        if (s->track_of[at] != track)
            continue;
        is_device |= f->stream[at] > 0;
        events[count++] = at;
    }
    for (size_t i = 0; is_device && i < count; i++) /* what else stands there has the column's 0 */
        if (f->stream[events[i]] <= 0)
            s->parent[events[i]] = s->depth[events[i]] = 0;
    if (is_device)
        return true;
    if (!kino__call_stack_marks(f, events, count, marks))
        return false;
    for (size_t i = 0; i < 2 * count; i++) {
        uint32_t at = (uint32_t)(marks[i] >> 1);
        if (marks[i] & 1) {
            depth--;
            continue;
        }
        s->parent[at] = depth ? number_at(f, open[depth - 1]) : -1;
        s->depth[at] = (int64_t)depth;
        open[depth++] = at;
    }
    return true;
}

static bool print_trace(const kino__trace *trace)
{
    const kino__frame *f = kino__frame_of(trace, KINO__FRAME_HTA, false, NULL);
    size_t count = f ? (size_t)f->count + 1 : 1;
    stacks s = {f, calloc(count, sizeof *s.track_of), calloc(count, sizeof *s.parent),
                calloc(count, sizeof *s.depth)};
    uint32_t *events = calloc(count, sizeof *events), *open = calloc(count, sizeof *open);
    uint64_t *marks = calloc(2 * count, sizeof *marks);
    bool ok = f && s.track_of && s.parent && s.depth && events && open && marks;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        s.track_of[at] = kino__trace_track_of(trace, f->row[at]);
        s.parent[at] = f->link[at] >= 0 && f->stream[at] > 0 ? number_at(f, (uint32_t)f->link[at])
                       : f->link[at] == KINO__LINK_NONE      ? -1
                                                             : 0;
        s.depth[at] = -1;
    }
    for (uint32_t track = 0; ok && track < trace->tracks.count; track++)
        ok = read_track(&s, track, events, marks, open);
    for (uint32_t at = 0; ok && at < f->count; at++)
        printf("%u %lld %lld %lld\n", trace->index, (long long)number_at(f, at),
               (long long)s.parent[at], (long long)s.depth[at]);
    free(s.track_of);
    free(s.parent);
    free(s.depth);
    free(events);
    free(open);
    free(marks);
    return ok;
}

int main(int argc, char **argv)
{
    kino_run *run = NULL;
    kino_error err = {0};
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    options.jobs = 1;
    if (argc < 2 || kino_run_open((const char *const *)(argv + 1), (size_t)argc - 1, &options, &run,
                                  &err) != KINO_OK) {
        fprintf(stderr, "print_stacks: %s\n", argc > 1 ? err.message : "no trace given");
        return 1;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < run->run.traces.count; i++)
        ok = print_trace(run->run.traces.items[i]);
    kino_run_free(run);
    return ok ? 0 : 1;
}
