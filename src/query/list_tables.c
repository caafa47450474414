/* list_tables.c - the list tables: what their columns are and where the values lie. */
#include "query/list_table.h"

/* ---- trace ---- */

enum {
    TRACE_ID,
    TRACE_RANK,
    TRACE_PATH,
    TRACE_FORMAT,
    TRACE_WORKER,
    TRACE_SPAN,
    TRACE_HOST,
    TRACE_ORIGIN,
    TRACE_CLOCK,
    TRACE_EVENTS,
    TRACE_SKIPPED,
    TRACE_REPAIRED,
    TRACE_COLUMNS
};

static const kino__sql_column trace_columns[TRACE_COLUMNS] = {
    {"id", KINO__SQL_INT, false},      {"rank", KINO__SQL_INT, false},
    {"path", KINO__SQL_TEXT, false},   {"format", KINO__SQL_TEXT, false},
    {"worker", KINO__SQL_TEXT, false}, {"span", KINO__SQL_TEXT, false},
    {"host", KINO__SQL_TEXT, false},   {"origin_ns", KINO__SQL_INT, false},
    {"clock", KINO__SQL_TEXT, false},  {"events", KINO__SQL_INT, false},
    {"skipped", KINO__SQL_INT, false}, {"repaired", KINO__SQL_INT, false},
};

static bool trace_count(const kino__trace *trace, size_t *count)
{
    (void)trace;
    *count = 1;
    return true;
}

static void result_known_text(sqlite3_context *result, kino_str text)
{
    if (text.size)
        kino__result_text(result, text);
}

static void trace_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                        kino__buffer *scratch)
{
    (void)row, (void)scratch;
    switch (column) {
    case TRACE_RANK:
        kino__result_int(result, trace->rank);
        break;
    case TRACE_PATH:
        result_known_text(result, trace->path);
        break;
    case TRACE_FORMAT:
        result_known_text(result, trace->format);
        break;
    case TRACE_WORKER:
        result_known_text(result, trace->worker);
        break;
    case TRACE_SPAN:
        result_known_text(result, trace->span);
        break;
    case TRACE_HOST:
        result_known_text(result, trace->host);
        break;
    case TRACE_ORIGIN:
        kino__result_int(result, trace->origin_ns);
        break;
    case TRACE_CLOCK:
        sqlite3_result_text(result, trace->is_epoch ? "epoch" : "unknown", -1, SQLITE_STATIC);
        break;
    case TRACE_EVENTS:
        sqlite3_result_int64(result, trace->event_count);
        break;
    case TRACE_SKIPPED:
        sqlite3_result_int64(result, (sqlite3_int64)kino__ledger_skipped(&trace->ledger));
        break;
    case TRACE_REPAIRED:
        sqlite3_result_int64(result, (sqlite3_int64)kino__ledger_repaired(&trace->ledger));
        break;
    default:
        break;
    }
}

/* ---- track ---- */

enum {
    TRACK_ID,
    TRACK_TRACE,
    TRACK_RANK,
    TRACK_PID,
    TRACK_TID,
    TRACK_KIND,
    TRACK_NAME,
    TRACK_DEVICE,
    TRACK_STREAM,
    TRACK_PROCESS,
    TRACK_EVENTS,
    TRACK_COLUMNS
};

static const kino__sql_column track_columns[TRACK_COLUMNS] = {
    {"id", KINO__SQL_INT, false},     {"trace", KINO__SQL_INT, false},
    {"rank", KINO__SQL_INT, false},   {"pid", KINO__SQL_ANY, false},
    {"tid", KINO__SQL_ANY, false},    {"kind", KINO__SQL_TEXT, false},
    {"name", KINO__SQL_TEXT, false},  {"device", KINO__SQL_INT, false},
    {"stream", KINO__SQL_INT, false}, {"process", KINO__SQL_TEXT, true},
    {"events", KINO__SQL_INT, true},
};

static bool track_count(const kino__trace *trace, size_t *count)
{
    *count = trace->tracks.count;
    return true;
}

static void result_string(sqlite3_context *result, const kino__trace *trace, kino_strid id)
{
    if (id != KINO_NO_STRING)
        kino__result_text(result, kino__trace_string(trace, id));
}

/* Do the events of a track have their number in quotes? The first one tells. */
static bool has_flag(const kino__trace *trace, const kino__track *track, uint8_t flag)
{
    return track->count > 0 && trace->flags[track->first] & flag;
}

static void track_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                        kino__buffer *scratch)
{
    static const char *const kinds[KINO__TRACK_KIND_COUNT] = {"host", "device", "other"};
    (void)scratch;
    const kino__track *track = &trace->tracks.items[row];
    switch (column) {
    case TRACK_RANK:
        kino__result_int(result, trace->rank);
        break;
    case TRACK_PID:
        kino__result_label(result, trace, &track->pid, has_flag(trace, track, KINO__FLAG_PID_TEXT));
        break;
    case TRACK_TID:
        kino__result_label(result, trace, &track->tid, has_flag(trace, track, KINO__FLAG_TID_TEXT));
        break;
    case TRACK_KIND:
        sqlite3_result_text(result, kinds[track->kind], -1, SQLITE_STATIC);
        break;
    case TRACK_NAME:
        result_string(result, trace, track->name);
        break;
    case TRACK_DEVICE:
        kino__result_int(result, track->device);
        break;
    case TRACK_STREAM:
        kino__result_int(result, track->stream);
        break;
    case TRACK_PROCESS:
        result_string(result, trace, track->process_name);
        break;
    case TRACK_EVENTS:
        sqlite3_result_int64(result, track->count);
        break;
    default:
        break;
    }
}

/* ---- flow ---- */

enum {
    FLOW_ID,
    FLOW_TRACE,
    FLOW_CAT,
    FLOW_FROM,
    FLOW_TO,
    FLOW_NAME,
    FLOW_FROM_POINT,
    FLOW_TO_POINT,
    FLOW_COLUMNS
};

static const kino__sql_column flow_columns[FLOW_COLUMNS] = {
    {"id", KINO__SQL_ANY, false},        {"trace", KINO__SQL_INT, false},
    {"cat", KINO__SQL_TEXT, false},      {"from_event", KINO__SQL_INT, false},
    {"to_event", KINO__SQL_INT, false},  {"name", KINO__SQL_TEXT, true},
    {"from_point", KINO__SQL_INT, true}, {"to_point", KINO__SQL_INT, true},
};

static bool flow_count(const kino__trace *trace, size_t *count)
{
    const kino__flows *flows = kino__link_flows(trace);
    *count = flows ? flows->count : 0;
    return flows != NULL;
}

static void result_event(sqlite3_context *result, const kino__trace *trace, uint32_t row)
{
    kino__result_int(result, row == KINO_NO_ROW ? KINO_NO_INT : kino__trace_event_id(trace, row));
}

static uint32_t flow_event_row(const kino__trace *trace, size_t row, int column)
{
    const kino__flow *flow = &kino__link_flows(trace)->items[row];
    return column == FLOW_FROM ? flow->from_span : flow->to_span;
}

static void flow_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                       kino__buffer *scratch)
{
    (void)scratch;
    const kino__flow *flow = &kino__link_flows(trace)->items[row];
    switch (column) {
    case FLOW_ID:
        if (trace->flags[flow->to] & KINO__FLAG_ID_TEXT)
            result_string(result, trace, (kino_strid)flow->id);
        else
            kino__result_int(result, flow->id);
        break;
    case FLOW_CAT:
        if (trace->category[flow->to] != KINO__CATEGORY_NONE)
            kino__result_text(result, kino__trace_category_text(trace, trace->category[flow->to]));
        break;
    case FLOW_NAME:
        result_string(result, trace, trace->name[flow->to]);
        break;
    case FLOW_FROM:
        result_event(result, trace, flow->from_span);
        break;
    case FLOW_TO:
        result_event(result, trace, flow->to_span);
        break;
    case FLOW_FROM_POINT:
        result_event(result, trace, flow->from);
        break;
    case FLOW_TO_POINT:
        result_event(result, trace, flow->to);
        break;
    default:
        break;
    }
}

/* ---- step ---- */

enum { STEP_TRACE, STEP_RANK, STEP_NUMBER, STEP_TS, STEP_DUR, STEP_EVENT, STEP_COLUMNS };

static const kino__sql_column step_columns[STEP_COLUMNS] = {
    {"trace", KINO__SQL_INT, false},    {"rank", KINO__SQL_INT, false},
    {"number", KINO__SQL_INT, false},   {"ts", KINO__SQL_TIME, false},
    {"dur", KINO__SQL_DURATION, false}, {"event", KINO__SQL_INT, true},
};

static bool step_count(const kino__trace *trace, size_t *count)
{
    const kino__steps *steps = kino__link_steps(trace);
    *count = steps ? steps->count : 0;
    return steps != NULL;
}

static void step_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                       kino__buffer *scratch)
{
    (void)scratch;
    const kino__step *step = &kino__link_steps(trace)->items[row];
    switch (column) {
    case STEP_RANK:
        kino__result_int(result, trace->rank);
        break;
    case STEP_NUMBER:
        kino__result_int(result, step->number);
        break;
    case STEP_TS:
        kino__result_int(result, step->ts);
        break;
    case STEP_DUR:
        kino__result_int(result, step->dur);
        break;
    case STEP_EVENT:
        result_event(result, trace, step->row);
        break;
    default:
        break;
    }
}

/* ---- device ---- */

/* Columns behind trace and their keys in an element of "deviceProperties"; the last one is the
 * whole element. */
#define DEVICE_PROPERTIES(X)                                                                       \
    X("id", "id", INT)                                                                             \
    X("name", "name", TEXT)                                                                        \
    X("total_memory", "totalGlobalMem", BYTES)                                                     \
    X("compute_major", "computeMajor", INT)                                                        \
    X("compute_minor", "computeMinor", INT)                                                        \
    X("sm_count", "numSms", INT)                                                                   \
    X("warp_size", "warpSize", INT)                                                                \
    X("max_threads_per_block", "maxThreadsPerBlock", INT)                                          \
    X("max_threads_per_sm", "maxThreadsPerMultiprocessor", INT)                                    \
    X("registers_per_block", "regsPerBlock", INT)                                                  \
    X("registers_per_sm", "regsPerMultiprocessor", INT)                                            \
    X("shared_memory_per_block", "sharedMemPerBlock", BYTES)                                       \
    X("shared_memory_per_block_optin", "sharedMemPerBlockOptin", BYTES)                            \
    X("shared_memory_per_sm", "sharedMemPerMultiprocessor", BYTES)                                 \
    X("properties", NULL, JSON)

static const kino__sql_column device_columns[] = {{"trace", KINO__SQL_INT, false},
#define DEVICE_COLUMN(name, key, type) {name, KINO__SQL_##type, false},
                                                  DEVICE_PROPERTIES(DEVICE_COLUMN)
#undef DEVICE_COLUMN
};

static const char *const device_keys[] = {NULL,
#define DEVICE_KEY(name, key, type) key,
                                          DEVICE_PROPERTIES(DEVICE_KEY)
#undef DEVICE_KEY
};

static bool device_count(const kino__trace *trace, size_t *count)
{
    kino_str text = kino__trace_metadata(trace, "deviceProperties"), object;
    *count = 0;
    while (kino__json_object_at(text, *count, &object))
        ++*count;
    return true;
}

static void device_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                         kino__buffer *scratch)
{
    kino_str object = {"", 0};
    kino__json_object_at(kino__trace_metadata(trace, "deviceProperties"), row, &object);
    const char *key = device_keys[column];
    if (!key) {
        kino__result_text(result, object);
        return;
    }
    kino_str value = kino__args_find(object, kino__str_from(key));
    if (!value.size && kino__str_is(kino__str_from(key), "sharedMemPerMultiprocessor"))
        value = kino__args_find(
            object, KINO__STR("maxSharedMemoryPerMultiProcessor")); /* as ROCm writes it */
    if (value.size)
        kino__result_json(result, value, scratch);
}

/* ---- metadata ---- */

enum { METADATA_TRACE, METADATA_KEY, METADATA_VALUE, METADATA_COLUMNS };

static const kino__sql_column metadata_columns[METADATA_COLUMNS] = {
    {"trace", KINO__SQL_INT, false},
    {"key", KINO__SQL_TEXT, false},
    {"value", KINO__SQL_ANY, false}};

static bool metadata_count(const kino__trace *trace, size_t *count)
{
    *count = trace->metadata.count;
    return true;
}

static void metadata_value(const kino__trace *trace, size_t row, int column,
                           sqlite3_context *result, kino__buffer *scratch)
{
    const kino__metadata *item = &trace->metadata.items[row];
    if (column == METADATA_KEY)
        kino__result_text(result, item->key);
    else if (column == METADATA_VALUE)
        kino__result_json(result, item->value, scratch);
}

/* ---- string ---- */

enum { STRING_ID, STRING_TEXT, STRING_COLUMNS };

static const kino__sql_column string_columns[STRING_COLUMNS] = {{"id", KINO__SQL_INT, false},
                                                                {"text", KINO__SQL_TEXT, false}};

static bool string_count(const kino__trace *trace, size_t *count)
{
    *count = kino__string_pool_count(&trace->strings);
    return true;
}

static void string_value(const kino__trace *trace, size_t row, int column, sqlite3_context *result,
                         kino__buffer *scratch)
{
    (void)column, (void)scratch;
    kino__result_text(result, kino__trace_string(trace, (kino_strid)row));
}

#define LIST(name, trace_column, id_column)                                                        \
#    name, name##_columns, sizeof name##_columns / sizeof *name##_columns, trace_column, id_column
#define NO_EVENTS {-1, -1}, NULL
const kino__list_def kino__list_defs[KINO__LIST_COUNT] = {
    {LIST(trace, TRACE_ID, -1), NO_EVENTS, trace_count, trace_value},
    {LIST(track, TRACK_TRACE, TRACK_ID), NO_EVENTS, track_count, track_value},
    {LIST(flow, FLOW_TRACE, -1), {FLOW_FROM, FLOW_TO}, flow_event_row, flow_count, flow_value},
    {LIST(step, STEP_TRACE, -1), NO_EVENTS, step_count, step_value},
    {LIST(device, 0, -1), NO_EVENTS, device_count, device_value},
    {LIST(metadata, METADATA_TRACE, -1), NO_EVENTS, metadata_count, metadata_value},
    {LIST(string, -1, STRING_ID), NO_EVENTS, string_count, string_value},
};
