/* tracks.c - what there is to draw: the tables tracks, steps and lost. */
#include "base/error.h"
#include "timeline/timeline_internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* -- tracks -- */

static const kino_column track_columns[] = {
    {"track", KINO_TYPE_INT, NULL, "index of the track, in display order"},
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"kind", KINO_TYPE_STRING, NULL, "thread, stream, counter or other"},
    {"group", KINO_TYPE_STRING, NULL, "process or device"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"rows", KINO_TYPE_INT, "count", "number of rows: nesting levels, and lanes if spans overlap"},
    {"events", KINO_TYPE_INT, "count", "number of spans and instants, or values of a counter"},
    {"first", KINO_TYPE_TIME, NULL, "start of the first event"},
    {"last", KINO_TYPE_TIME, NULL, "end of the last event"},
    {"pid", KINO_TYPE_ANY, NULL, "process, as in the trace"},
    {"tid", KINO_TYPE_ANY, NULL, "thread, as in the trace"},
    {"device", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"unit", KINO_TYPE_STRING, NULL, "unit of a counter's values, if its name contains it"},
};

static const char *const kind_names[] = {[KINO__TL_THREAD] = "thread",
                                         [KINO__TL_STREAM] = "stream",
                                         [KINO__TL_COUNTER] = "counter",
                                         [KINO__TL_OTHER] = "other"};

void kino__tl_add_label(kino__table *table, const kino__trace *trace, const kino__label *label)
{
    if (label->kind == KINO__LABEL_INT)
        kino__table_add_int(table, label->number);
    else if (label->kind == KINO__LABEL_NONE)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__trace_string(trace, label->text));
}

void kino__tl_add_str(kino__table *table, kino_str text)
{
    if (text.size)
        kino__table_add_text(table, text);
    else
        kino__table_add_null(table);
}

void kino__tl_add_name(kino__table *table, const kino__trace *trace, uint32_t row)
{
    kino__table_add_text(table, kino__trace_string(trace, trace->name[row]));
    kino__tl_add_str(table, kino__trace_category_text(trace, trace->category[row]));
}

static void add_track(kino__table *table, size_t number, const kino__tl_track *track)
{
    bool is_counter = track->kind == KINO__TL_COUNTER;
    KINO__TABLE_ADD(table, (int64_t)number, track->trace->index, track->trace->rank,
                    kino__str_from(kind_names[track->kind]), track->group, track->name,
                    is_counter ? 1 : track->line_count, track->count, track->first, track->last);
    kino__tl_add_label(table, track->trace, &track->source->pid);
    if (is_counter) /* its values may come from any thread */
        kino__table_add_null(table);
    else
        kino__tl_add_label(table, track->trace, &track->source->tid);
    KINO__TABLE_ADD(table, track->kind == KINO__TL_STREAM ? track->source->device : KINO_NO_INT,
                    track->kind == KINO__TL_STREAM ? track->source->stream : KINO_NO_INT);
    kino__tl_add_str(table, track->unit);
}

/* -- steps -- */

static const kino_column step_columns[] = {
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"number", KINO_TYPE_INT, NULL, "N of ProfilerStep#N"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
    {"id", KINO_TYPE_INT, NULL, "of the event"},
};

static bool add_steps(kino__table *table, const kino__trace *trace)
{
    kino__step_list steps = {0};
    bool ok = kino__trace_find_steps(trace, &steps);
    for (size_t i = 0; ok && i < steps.count; i++) {
        const kino__step *s = &steps.items[i];
        KINO__TABLE_ADD(table, trace->index, trace->rank, s->number, s->ts, s->dur,
                        kino__trace_event_id(trace, s->row));
    }
    kino__vec_deinit(&steps);
    return ok;
}

kino_status kino__timeline_tracks(const kino__timeline *timeline, kino_result *result,
                                  kino_error *err)
{
    const kino__run *run = timeline->run;
    KINO_TRY(kino__run_require(run, KINO__TL_DRAW, NULL, err));
    kino__table *table =
        kino__result_add_table(result, "tracks", track_columns, COUNT(track_columns));
    kino__table_describe(table, 0, "Tracks", "none: no event has a time");
    for (size_t i = 0; i < timeline->tracks.count; i++)
        add_track(table, i, &timeline->tracks.items[i]);
    table = kino__result_add_table(result, "steps", step_columns, COUNT(step_columns));
    kino__table_describe(table, 0, "Steps", "none: no event is named ProfilerStep#N");
    for (size_t i = 0; i < run->traces.count; i++)
        if (!add_steps(table, run->traces.items[i]))
            return kino__fail_nomem(err);
    return kino__tl_add_lost(timeline, result, err);
}
