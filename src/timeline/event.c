/* event.c - all that is known about one event: the tables event, args and stack (links.c has the
 * fourth). */

#include "base/error.h"
#include "store/args.h"
#include "timeline/event_internal.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

bool kino__tl_source_line(kino_str name, kino_str *file, int64_t *line)
{
    /* "torch/nn/modules/module.py(1511): _wrapped_call_impl" */
    for (size_t end = 0; end + 2 < name.size; end++) {
        if (name.data[end] != ')' || name.data[end + 1] != ':' || name.data[end + 2] != ' ')
            continue;
        size_t digits = end;
        while (digits > 0 && name.data[digits - 1] >= '0' && name.data[digits - 1] <= '9')
            digits--;
        if (digits < 2 || name.data[digits - 1] != '(')
            return false;
        *file = (kino_str){name.data, digits - 1};
        return kino__str_to_int((kino_str){name.data + digits, end - digits}, line);
    }
    return false;
}

static void add_source(kino__table *table, const kino__tl_subject *s, uint32_t row)
{
    kino_str file;
    int64_t line;
    bool is_python =
        kino__category_kind(s->trace->category[row]) == KINO__KIND_PYTHON &&
        kino__tl_source_line(kino__trace_string(s->trace, s->trace->name[row]), &file, &line);
    if (is_python) {
        KINO__TABLE_ADD(table, file, line);
    } else {
        kino__table_add_null(table);
        kino__table_add_null(table);
    }
}

/* -- event -- */

static const kino_column event_columns[] = {
    {"id", KINO_TYPE_INT, NULL, NULL},
    {"trace", KINO_TYPE_INT, NULL, "index of the trace in the run"},
    {"rank", KINO_TYPE_INT, NULL, "rank of the trace, if known"},
    {"track", KINO_TYPE_INT, NULL, "track it is drawn on; none: not drawn"},
    {"row", KINO_TYPE_INT, NULL, "row within the track"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "as in the trace"},
    {"kind", KINO_TYPE_STRING, NULL, "what it is, independent of the profiler"},
    {"phase", KINO_TYPE_STRING, NULL, "X: span, i: instant, B: span without an end, ..."},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"dur", KINO_TYPE_DURATION, NULL, "none: unknown"},
    {"self", KINO_TYPE_DURATION, NULL, "duration not covered by events inside it"},
    {"pid", KINO_TYPE_ANY, NULL, "process, as in the trace"},
    {"tid", KINO_TYPE_ANY, NULL, "thread, as in the trace"},
    {"step", KINO_TYPE_INT, NULL, "number of the profiler step it belongs to"},
    {"device", KINO_TYPE_INT, NULL, NULL},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"correlation", KINO_TYPE_INT, NULL, "shared by a call and what it launched"},
    {"external_id", KINO_TYPE_INT, NULL, "of the operator it belongs to"},
    {"source", KINO_TYPE_STRING, NULL, "file of a Python frame"},
    {"line", KINO_TYPE_INT, NULL, "in the file"},
};

typedef struct own_time {
    uint32_t row;
    int64_t own;
} own_time;

static bool catch_own(void *context, const kino__tl_span *span)
{
    own_time *wanted = context;
    if (span->row == wanted->row)
        wanted->own = span->own;
    return true;
}

/* What nothing inside covers; KINO_NO_INT for what has no length. */
static bool find_own(const kino__tl_subject *s, int64_t *own)
{
    own_time wanted = {s->row, KINO_NO_INT};
    int64_t busy, end = s->track ? kino__tl_end(s->track, s->row) : 0;
    bool ok = true;
    if (s->track && end > s->trace->ts[s->row])
        ok = kino__tl_sweep(s->track, s->trace->ts[s->row], end, catch_own, &wanted, &busy);
    *own = wanted.own;
    return ok;
}

/* Device work belongs to the step of its launch, where that is known. */
static bool find_step(const kino__tl_subject *s, int64_t *number)
{
    uint32_t at = s->launch != KINO_NO_ROW ? s->launch : s->row;
    *number = KINO_NO_INT;
    return s->trace->ts[at] == KINO_NO_TIME || kino__tl_step_at(s->trace, s->trace->ts[at], number);
}

static void add_numbers(kino__table *table, const kino__tl_subject *s, int64_t step)
{
    const kino__track *source = s->source;
    bool has_device = source->kind == KINO__TRACK_DEVICE;
    kino__tl_add_label(table, s->trace, &source->pid);
    kino__tl_add_label(table, s->trace, &source->tid);
    KINO__TABLE_ADD(table, step, has_device ? source->device : KINO_NO_INT,
                    has_device ? source->stream : KINO_NO_INT);
    bool has_id = kino__phase_has_id(s->trace->phase[s->row]);
    KINO__TABLE_ADD(table, has_id ? KINO_NO_INT : kino__trace_correlation(s->trace, s->row),
                    kino__trace_external(s->trace, s->row));
}

static bool add_event(kino_result *result, const kino__tl_subject *s)
{
    kino__table *table =
        kino__result_add_table(result, "event", event_columns, COUNT(event_columns));
    kino__table_describe(table, KINO__TABLE_FOLD, "Event", NULL);
    const kino__trace *trace = s->trace;
    uint16_t category = trace->category[s->row];
    kino_str name = kino__trace_string(trace, trace->name[s->row]);
    int64_t own, step;
    if (!find_own(s, &own) || !find_step(s, &step))
        return false;
    KINO__TABLE_ADD(table, kino__trace_event_id(trace, s->row), trace->index, trace->rank,
                    s->track ? s->place.track : KINO_NO_INT,
                    s->track ? s->place.line : KINO_NO_INT);
    kino__tl_add_name(table, trace, s->row);
    kino__table_add_text(table,
                         kino__str_from(kino__tl_category_name(kino__tl_category(category, name))));
    kino__table_add_text(table, (kino_str){(const char *)&trace->phase[s->row], 1});
    KINO__TABLE_ADD(table, trace->ts[s->row], trace->dur[s->row], own);
    add_numbers(table, s, step);
    add_source(table, s, s->row);
    return true;
}

/* -- args -- */

static const kino_column arg_columns[] = {
    {"key", KINO_TYPE_STRING, NULL, NULL},
    {"value", KINO_TYPE_STRING, NULL, "plain text for strings, JSON for everything else"},
    {"type", KINO_TYPE_STRING, NULL, "string, number, bool, null, array, object or broken"},
};

static const char *type_of(kino_str value)
{
    switch (value.data[0]) {
    case '"':
        return "string";
    case '{':
        return "object";
    case '[':
        return "array";
    case 't':
    case 'f':
        return kino__str_is(value, "true") || kino__str_is(value, "false") ? "bool" : "broken";
    case 'n':
        return kino__str_is(value, "null") ? "null" : "broken";
    default:
        break;
    }
    double number;
    int64_t integer;
    return kino__json_to_double(value, &number) || kino__json_to_int(value, &integer) ? "number"
                                                                                      : "broken";
}

static void add_plain(kino__table *table, kino_str json, kino__buffer *scratch)
{
    scratch->size = 0;
    kino__json_unescape(json, scratch);
    kino__table_add_text(table, kino__buffer_str(scratch));
}

static bool add_args(kino_result *result, const kino__tl_subject *s)
{
    kino__table *table = kino__result_add_table(result, "args", arg_columns, COUNT(arg_columns));
    kino__table_describe(table, 0, "Arguments", "none");
    kino__text_cursor cursor;
    kino__buffer scratch = {0};
    kino__text_cursor_init(&cursor, s->trace->text);
    kino__args_iter it = kino__args_iter_start(kino__args_text(s->trace, s->row, &cursor));
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value)) {
        add_plain(table, key, &scratch);
        /* what is in brackets is copied, with bad bytes mended */
        add_plain(table, value, &scratch);
        kino__table_add_text(table, kino__str_from(type_of(value)));
    }
    bool ok = !scratch.failed;
    kino__buffer_deinit(&scratch);
    kino__text_cursor_deinit(&cursor);
    return ok;
}

/* -- stack -- */

static const kino_column stack_columns[] = {
    {"level", KINO_TYPE_INT, NULL, "0: the outermost"},
    {"id", KINO_TYPE_INT, NULL, "of the event"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "as in the trace"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
    {"source", KINO_TYPE_STRING, NULL, "file of a Python frame"},
    {"line", KINO_TYPE_INT, NULL, "in the file"},
};

static bool add_stack(kino_result *result, const kino__tl_subject *s)
{
    kino__table *table =
        kino__result_add_table(result, "stack", stack_columns, COUNT(stack_columns));
    kino__table_describe(table, 0, "Stack", "none: nothing encloses it");
    kino__tl_rows rows = {0};
    bool ok = !s->track || kino__tl_stack(s->track, s->row, &rows);
    for (size_t i = 0; ok && i < rows.count; i++) {
        uint32_t row = rows.items[i];
        KINO__TABLE_ADD(table, (int64_t)i, kino__trace_event_id(s->trace, row));
        kino__tl_add_name(table, s->trace, row);
        KINO__TABLE_ADD(table, s->trace->ts[row], kino__tl_end(s->track, row) - s->trace->ts[row]);
        add_source(table, s, row);
    }
    kino__vec_deinit(&rows);
    return ok;
}

kino_status kino__timeline_event(const kino__timeline *timeline, int64_t id, kino_result *result,
                                 kino_error *err)
{
    kino__tl_subject s = {.timeline = timeline};
    KINO_TRY(kino__tl_find_id(timeline, id, &s.trace, &s.row, err));
    KINO_TRY(kino__trace_require(s.trace, KINO__COLUMN_ALL, NULL, err));
    s.source = &s.trace->tracks.items[kino__trace_track_of(s.trace, s.row)];
    if (kino__tl_find(timeline, s.trace, s.row, &s.place))
        s.track = &timeline->tracks.items[s.place.track];
    if (!kino__tl_launch_of(s.trace, s.row, &s.launch) || !add_event(result, &s) ||
        !add_args(result, &s) || !add_stack(result, &s) || !kino__tl_add_links(result, &s))
        return kino__fail_nomem(err);
    return KINO_OK;
}
