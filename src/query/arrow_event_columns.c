/* arrow_event_columns.c - which columns events have, and how each is made: times here, the rest in
 * arrow_event_values.c and arrow_event_texts.c. */
#include "base/error.h"
#include "query/arrow_event.h"

#define NONE KINO__EVENT_COLUMN_COUNT
#define REST (KINO__COLUMN_ALL & ~KINO__COLUMN_PLACE)

static const kino__event_source sources[] = {
    {{"id", KINO_TYPE_INT, NULL, "trace << 32 | index in its file"},
     KINO__WAY_INT,
     KINO__EVENT_ID,
     KINO__COLUMN_NUMBER},
    {{"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
     KINO__WAY_INT,
     KINO__EVENT_TRACE,
     0},
    {{"rank", KINO_TYPE_INT, NULL, "rank of the trace"}, KINO__WAY_INT, KINO__EVENT_RANK, 0},
    {{"ph", KINO_TYPE_STRING, NULL, "phase: X span, i instant, C counter, s t f flow, M metadata"},
     KINO__WAY_PH,
     NONE,
     KINO__COLUMN_PHASE},
    {{"category", KINO_TYPE_STRING, NULL, "category, as in the file"},
     KINO__WAY_CATEGORY,
     NONE,
     KINO__COLUMN_CATEGORY},
    {{"name", KINO_TYPE_STRING, NULL, "name"}, KINO__WAY_NAME, NONE, KINO__COLUMN_NAME},
    {{"ts", KINO_TYPE_TIME, "ns", "start, relative to the run's origin"},
     KINO__WAY_TS,
     NONE,
     KINO__COLUMN_TS},
    {{"dur", KINO_TYPE_DURATION, "ns", "duration"}, KINO__WAY_DUR, NONE, KINO__COLUMN_DUR},
    {{"pid", KINO_TYPE_INT, NULL, "process ID; null: not a number in the file"},
     KINO__WAY_PID,
     NONE,
     0},
    {{"tid", KINO_TYPE_INT, NULL, "thread or stream ID; null: not a number in the file"},
     KINO__WAY_TID,
     NONE,
     0},
    {{"process", KINO_TYPE_STRING, NULL, "pid as text, as in the file"},
     KINO__WAY_PROCESS,
     NONE,
     0},
    {{"thread", KINO_TYPE_STRING, NULL, "tid as text, as in the file"}, KINO__WAY_THREAD, NONE, 0},
    {{"track", KINO_TYPE_INT, NULL, "id of the track"}, KINO__WAY_INT, KINO__EVENT_TRACK, 0},
    {{"depth", KINO_TYPE_INT, NULL, "nesting in its track, 0 at the top"},
     KINO__WAY_INT,
     KINO__EVENT_DEPTH,
     REST},
    {{"parent", KINO_TYPE_INT, NULL, "id of the enclosing span"},
     KINO__WAY_INT,
     KINO__EVENT_PARENT,
     REST},
    {{"step", KINO_TYPE_INT, NULL, "number of the step it belongs to"},
     KINO__WAY_INT,
     KINO__EVENT_STEP,
     REST},
    {{"correlation", KINO_TYPE_INT, NULL, "shared by a launch and its work"},
     KINO__WAY_INT,
     KINO__EVENT_CORRELATION,
     REST},
    {{"external_id", KINO_TYPE_INT, NULL, "shared by an operator and its launches"},
     KINO__WAY_INT,
     KINO__EVENT_EXTERNAL_ID,
     REST},
    {{"device", KINO_TYPE_INT, NULL, "number of the device"},
     KINO__WAY_INT,
     KINO__EVENT_DEVICE,
     REST},
    {{"stream", KINO_TYPE_INT, NULL, "number of the stream"},
     KINO__WAY_INT,
     KINO__EVENT_STREAM,
     REST},
};

const kino__event_source *kino__event_source_at(size_t index)
{
    return index < sizeof sources / sizeof *sources ? &sources[index] : NULL;
}

/* -- forms -- */

kino__event_forms kino__event_forms_of(const kino__run *run)
{
    kino__event_forms forms = {.must_copy = run->is_tight};
    for (size_t i = 0; i < run->traces.count; i++) {
        const kino__trace *trace = run->traces.items[i];
        forms.category_is_wide |= KINO__CATEGORY_COUNT + trace->own_categories.count > INT16_MAX;
    }
    return forms;
}

kino__arrow_field kino__event_field(const kino__event_source *source,
                                    const kino__event_forms *forms)
{
    const char *format = "l", *dictionary = "u";
    switch (source->way) {
    case KINO__WAY_NAME:
    case KINO__WAY_PROCESS:
    case KINO__WAY_THREAD:
        format = "i";
        break;
    case KINO__WAY_CATEGORY:
        format = forms->category_is_wide ? "i" : "s";
        break;
    case KINO__WAY_PH:
        format = "c";
        break;
    default:
        dictionary = NULL;
        break;
    }
    const char *type = source->column.type == KINO_TYPE_TIME       ? "time"
                       : source->column.type == KINO_TYPE_DURATION ? "duration"
                       : dictionary                                ? "string"
                                                                   : "int";
    return (kino__arrow_field){.format = format,
                               .name = source->column.name,
                               .dictionary = dictionary,
                               .type = type,
                               .unit = source->column.unit,
                               .help = source->column.help};
}

/* -- all of them -- */

static kino_status times(const kino__event_rows *rows, const int64_t *from, kino__arrow_column *out,
                         kino_error *err)
{
    bool ok = kino__event_take(rows, from, sizeof *from, out) &&
              kino__event_mark(out, 8, KINO_NO_TIME + 1);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

kino_status kino__event_column_make(const kino__event_rows *rows, const kino__event_source *source,
                                    kino__arrow_column *out, kino_error *err)
{
    *out = (kino__arrow_column){.length = rows->count};
    bool ok = true;
    switch (source->way) {
    case KINO__WAY_TS:
        return times(rows, rows->trace->ts, out, err);
    case KINO__WAY_DUR:
        return times(rows, rows->trace->dur, out, err);
    case KINO__WAY_NAME:
        return kino__event_names(rows, out, err);
    case KINO__WAY_CATEGORY:
        return kino__event_categories(rows, out, err);
    case KINO__WAY_PH:
        return kino__event_phases(rows, out, err);
    case KINO__WAY_PROCESS:
    case KINO__WAY_THREAD:
        return kino__event_labels(rows, source->way == KINO__WAY_PROCESS, out, err);
    case KINO__WAY_PID:
    case KINO__WAY_TID:
        ok = kino__event_fill_labels(rows, source->way == KINO__WAY_PID, out);
        break;
    case KINO__WAY_INT:
        ok = kino__event_fill_ints(rows, source->sql, out);
        break;
    }
    return ok ? KINO_OK : kino__fail_nomem(err);
}
