/* names.c - what tracks are called and in which order they are shown.
 *
 * Traces by number; in a trace threads by process (the main thread first, then by the profiler's
 * own order), streams by device, counters, and at last what belongs to none of them. */
#include <inttypes.h>
#include <stdlib.h>

#include "timeline/timeline_internal.h"

static kino_str trim(kino_str text)
{
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    while (text.size && text.data[0] == ' ')
        text = (kino_str){text.data + 1, text.size - 1};
    return text;
}

static kino_str string_of(const kino__trace *trace, kino_strid id)
{
    return trim(kino__trace_string(trace, id));
}

/* "pid 12", "tid main": a label with a word before numbers. */
static kino_str label_text(kino__arena *arena, const kino__trace *trace, const char *word,
                           const kino__label *label)
{
    if (label->kind == KINO__LABEL_INT)
        return kino__arena_format(arena, "%s %" PRId64, word, label->number);
    kino_str text = trim(kino__trace_string(trace, label->text));
    if (label->kind == KINO__LABEL_NONE || text.size == 0)
        return kino__arena_format(arena, "no %s", word);
    return kino__arena_copy(arena, text);
}

/* Kineto gives devices pids of their own, small numbers, and labels them "GPU 0"; the host is
 * "CPU". */
static bool has_device_pid(const kino__tl_track *track)
{
    kino_str labels = string_of(track->trace, track->source->process_labels);
    return labels.size && !kino__str_is(labels, "CPU");
}

static bool is_main(const kino__tl_track *track)
{
    const kino__label *pid = &track->source->pid, *tid = &track->source->tid;
    return track->kind == KINO__TL_THREAD && pid->kind == KINO__LABEL_INT &&
           tid->kind == KINO__LABEL_INT && pid->number == tid->number && !has_device_pid(track);
}

/* -- titles -- */

static kino_str process_title(kino__arena *arena, const kino__tl_track *track)
{
    const kino__track *source = track->source;
    kino_str name = string_of(track->trace, source->process_name);
    if (!name.size || source->pid.kind == KINO__LABEL_TEXT)
        return label_text(arena, track->trace, "pid", &source->pid);
    kino_str pid = label_text(arena, track->trace, "pid", &source->pid);
    if (!pid.data)
        return pid;
    return kino__arena_format(arena, "%.*s (%.*s)", KINO__STR_ARG(name), KINO__STR_ARG(pid));
}

static kino_str device_title(kino__arena *arena, const kino__tl_track *track)
{
    kino_str labels = string_of(track->trace, track->source->process_labels);
    if (labels.size)
        return kino__arena_copy(arena, labels);
    if (track->source->device != KINO_NO_INT)
        return kino__arena_format(arena, "device %" PRId64, track->source->device);
    return process_title(arena, track);
}

/* "thread 12 (python, main)" */
static kino_str thread_title(kino__arena *arena, const kino__tl_track *track)
{
    kino_str name = string_of(track->trace, track->source->name);
    if (!name.size)
        name = label_text(arena, track->trace, "thread", &track->source->tid);
    if (!name.data || !is_main(track) || kino__str_contains(name, KINO__STR("main")))
        return name.data ? kino__arena_copy(arena, name) : name;
    bool has_brackets = name.size && name.data[name.size - 1] == ')';
    kino_str front = {name.data, name.size - has_brackets};
    return kino__arena_format(arena, has_brackets ? "%.*s, main)" : "%.*s (main)",
                              KINO__STR_ARG(front));
}

static kino_str stream_title(kino__arena *arena, const kino__tl_track *track)
{
    kino_str name = string_of(track->trace, track->source->name);
    if (name.size)
        return kino__arena_copy(arena, name);
    if (track->source->stream != KINO_NO_INT)
        return kino__arena_format(arena, "stream %" PRId64, track->source->stream);
    return label_text(arena, track->trace, "stream", &track->source->tid);
}

static kino_str other_title(kino__arena *arena, const kino__tl_track *track)
{
    kino_str name = string_of(track->trace, track->source->name);
    if (name.size)
        return kino__arena_copy(arena, name);
    return label_text(arena, track->trace, "tid", &track->source->tid);
}

bool kino__tl_name_track(kino__timeline *timeline, kino__tl_track *track)
{
    kino__arena *arena = &timeline->arena;
    bool is_stream = track->kind == KINO__TL_STREAM;
    bool is_device = is_stream || (track->kind == KINO__TL_COUNTER && has_device_pid(track));
    track->group = is_device ? device_title(arena, track) : process_title(arena, track);
    if (track->kind == KINO__TL_THREAD)
        track->name = thread_title(arena, track);
    else if (is_stream)
        track->name = stream_title(arena, track);
    else if (track->kind == KINO__TL_OTHER)
        track->name = other_title(arena, track);
    return track->group.data && track->name.data; /* counters have their names */
}

/* -- order -- */

static int compare_ints(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* Numbers before texts; absent ones last. */
static int compare_labels(const kino__tl_track *a, const kino__label *x, const kino__tl_track *b,
                          const kino__label *y)
{
    static const int place[] = {[KINO__LABEL_NONE] = 2,
                                [KINO__LABEL_INT] = 0,
                                [KINO__LABEL_TEXT] = 1,
                                [KINO__LABEL_RAW] = 1};
    if (place[x->kind] != place[y->kind])
        return place[x->kind] - place[y->kind];
    if (x->kind == KINO__LABEL_INT)
        return compare_ints(x->number, y->number);
    return kino__str_compare(kino__trace_string(a->trace, x->text),
                             kino__trace_string(b->trace, y->text));
}

/* KINO_NO_INT is the least of all; here it comes last. */
static int compare_known(int64_t a, int64_t b)
{
    if ((a == KINO_NO_INT) != (b == KINO_NO_INT))
        return a == KINO_NO_INT ? 1 : -1;
    return compare_ints(a, b);
}

static int compare_within_kind(const kino__tl_track *a, const kino__tl_track *b)
{
    int order = 0;
    if (a->kind == KINO__TL_STREAM) {
        order = compare_known(a->source->device, b->source->device);
        order = order ? order : kino__str_compare(a->group, b->group);
        order = order ? order : compare_known(a->source->stream, b->source->stream);
    }
    if (a->kind == KINO__TL_THREAD) /* host threads under a device's pid: not the main process */
        order = has_device_pid(a) - has_device_pid(b);
    order = order ? order : compare_labels(a, &a->source->pid, b, &b->source->pid);
    if (a->kind == KINO__TL_THREAD) {
        order = order ? order : is_main(b) - is_main(a);
        order = order ? order : compare_known(a->source->sort_index, b->source->sort_index);
    }
    if (a->kind == KINO__TL_COUNTER)
        order = order ? order : kino__str_compare(a->name, b->name);
    return order ? order : compare_labels(a, &a->source->tid, b, &b->source->tid);
}

static int compare_tracks(const void *left, const void *right)
{
    const kino__tl_track *a = left, *b = right;
    int order = compare_ints(a->trace->index, b->trace->index);
    order = order ? order : compare_ints(a->kind, b->kind);
    order = order ? order : compare_within_kind(a, b);
    order = order ? order : kino__str_compare(a->name, b->name);
    return order ? order : compare_ints(a->source->first, b->source->first);
}

void kino__tl_sort_tracks(kino__timeline *timeline)
{
    if (timeline->tracks.count)
        qsort(timeline->tracks.items, timeline->tracks.count, sizeof *timeline->tracks.items,
              compare_tracks);
}
