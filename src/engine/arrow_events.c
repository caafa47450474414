/* arrow_events.c - kino_run_events: which columns, which rows, one batch for each trace. */
#include "engine/arrow_events.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "engine/kino_run.h"

enum { MOST_COLUMNS = 64 };

bool kino_event_column(size_t index, kino_column *out)
{
    const kino__event_source *source = kino__event_source_at(index);
    if (source)
        *out = source->column;
    return source != NULL;
}

/* One call at work. */
typedef struct job {
    kino_run *run;
    kino_events_options options;
    const kino__event_source *sources[MOST_COLUMNS];
    size_t source_count;
    kino__event_forms forms;
    kino__query_context context;
    uint32_t **rows; /* by trace, with `where`; else NULL */
    size_t *row_counts;
} job;

/* -- columns -- */

static const kino__event_source *find_source(const char *name)
{
    const kino__event_source *source;
    for (size_t i = 0; (source = kino__event_source_at(i)); i++)
        if (strcmp(source->column.name, name) == 0)
            return source;
    return strcmp(name, "cat") == 0 ? find_source("category") : NULL;
}

static kino_status fail_column(const char *name, kino_error *err)
{
    kino__buffer list = {0};
    const kino__event_source *source;
    for (size_t i = 0; (source = kino__event_source_at(i)); i++)
        kino__buffer_printf(&list, "%s%s", i ? ", " : "", source->column.name);
    kino_status st = kino__fail(err, KINO_NOT_FOUND, "events have no column '%s' (known: %.*s)",
                                name, KINO__STR_ARG(kino__buffer_str(&list)));
    kino__buffer_deinit(&list);
    return st;
}

static kino_status find_sources(job *j, kino_error *err)
{
    static const char *const standard[] = {"ts", "dur", "name", "category"};
    const char *const *names = j->options.columns ? j->options.columns : standard;
    size_t count = j->options.columns ? j->options.column_count : 4;
    if (count > MOST_COLUMNS)
        return kino__fail(err, KINO_LIMIT, "more than %d columns", MOST_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        j->sources[i] = find_source(names[i]);
        if (!j->sources[i])
            return fail_column(names[i], err);
    }
    j->source_count = count;
    return KINO_OK;
}

/* Loads what is needed, of files whose columns come on demand. */
static kino_status load(job *j, kino_error *err)
{
    unsigned needs = j->options.where ? KINO__COLUMN_ALL & ~KINO__COLUMN_PLACE : 0;
    bool has_rows = false; /* columns that are worked out row by row, with the query's lookups */
    for (size_t i = 0; i < j->source_count; i++) {
        needs |= j->sources[i]->needs;
        kino__event_way way = j->sources[i]->way;
        has_rows |= way == KINO__WAY_INT || way >= KINO__WAY_PID;
    }
    KINO_TRY(kino__run_prepare(j->run, needs, err));
    if (!has_rows && !j->options.where)
        return KINO_OK;
    return kino__query_context_init(&j->context, &j->run->run) ? KINO_OK : kino__fail_nomem(err);
}

/* -- rows -- */

/* Marks the events that the condition holds for, a bit for each row of each trace. */
static kino_status mark_rows(job *j, kino_rows *found, uint8_t **marks, kino_error *err)
{
    const kino_cell *cells;
    for (;;) {
        KINO_TRY(kino_rows_next(found, &cells, err));
        if (!cells)
            return KINO_OK;
        kino__query_trace *qt;
        uint32_t row;
        if (cells[0].kind != KINO_CELL_INT ||
            !kino__query_find_event(&j->context, cells[0].value.integer, &qt, &row))
            continue;
        marks[qt - j->context.traces][row / 8] |= (uint8_t)(1u << row % 8);
    }
}

static bool list_rows(job *j, size_t trace, const uint8_t *marks)
{
    uint32_t events = j->run->run.traces.items[trace]->event_count;
    size_t count = 0;
    for (size_t i = 0; i < events / 8 + (size_t)1; i++)
        count += (size_t)__builtin_popcount(marks[i]);
    uint32_t *rows = malloc((count + 1) * sizeof *rows);
    j->rows[trace] = rows;
    if (!rows)
        return false;
    j->row_counts[trace] = count;
    for (uint32_t row = 0; row < events; row++)
        if (marks[row / 8] >> row % 8 & 1)
            *rows++ = row;
    return true;
}

static kino_status open_query(const job *j, kino_rows **out, kino_error *err)
{
    kino__buffer sql = {0};
    kino__buffer_add(&sql,
                     KINO__STR("SELECT id FROM (SELECT *, cat AS category FROM event) WHERE ("));
    kino__buffer_add(&sql, kino__str_from(j->options.where));
    kino__buffer_add(&sql, (kino_str){"\n)", 3}); /* after a comment, and with the terminator */
    kino_query_options query = KINO_QUERY_OPTIONS_INIT;
    query.cancel = j->options.cancel;
    query.parameters = j->options.parameters;
    query.parameter_count = j->options.parameter_count;
    kino_status st =
        sql.failed ? kino__fail_nomem(err) : kino_run_query(j->run, sql.data, &query, out, err);
    kino__buffer_deinit(&sql);
    return st;
}

static kino_status select_rows(job *j, kino_error *err)
{
    size_t count = j->run->run.traces.count;
    kino_rows *found = NULL;
    KINO_TRY(open_query(j, &found, err));
    uint8_t **marks = calloc(count + 1, sizeof *marks);
    j->rows = calloc(count + 1, sizeof *j->rows);
    j->row_counts = calloc(count + 1, sizeof *j->row_counts);
    bool ok = marks && j->rows && j->row_counts;
    for (size_t i = 0; ok && i < count; i++)
        ok = (marks[i] = calloc(j->run->run.traces.items[i]->event_count / 8 + 1, 1)) != NULL;
    kino_status st = ok ? mark_rows(j, found, marks, err) : kino__fail_nomem(err);
    kino_rows_free(found);
    for (size_t i = 0; marks && i < count; i++) {
        if (st == KINO_OK && !list_rows(j, i, marks[i]))
            st = kino__fail_nomem(err);
        free(marks[i]);
    }
    free(marks);
    return st;
}

/* -- batches -- */

static kino_status make_batch(const job *j, size_t trace, kino__arrow_owner *owner,
                              struct ArrowArray *out, kino_error *err)
{
    const kino__trace *t = j->run->run.traces.items[trace];
    kino__event_rows rows = {.qt = j->context.traces ? &j->context.traces[trace] : NULL,
                             .trace = t,
                             .rows = j->rows ? j->rows[trace] : NULL,
                             .count = j->rows ? j->row_counts[trace] : t->event_count,
                             .forms = j->forms};
    kino__arrow_column columns[MOST_COLUMNS] = {{0}};
    kino_status st = KINO_OK;
    for (size_t i = 0; i < j->source_count && st == KINO_OK; i++) {
        if (j->options.cancel && *(const volatile bool *)j->options.cancel)
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
        else
            st = kino__event_column_make(&rows, j->sources[i], &columns[i], err);
    }
    if (st == KINO_OK && !kino__arrow_batch_make(out, columns, j->source_count, rows.count, owner))
        st = kino__fail_nomem(err);
    for (size_t i = 0; i < j->source_count; i++)
        kino__arrow_column_deinit(&columns[i]);
    return st;
}

static kino_status make_stream(const job *j, kino__arrow_owner *owner, struct ArrowArrayStream *out,
                               kino_error *err)
{
    kino__arrow_field fields[MOST_COLUMNS];
    for (size_t i = 0; i < j->source_count; i++)
        fields[i] = kino__event_field(j->sources[i], &j->forms);
    kino__arrow_about about = {"events", kino_run_origin(j->run)};
    size_t count = j->run->run.traces.count, made = 0;
    struct ArrowArray *batches = calloc(count + 1, sizeof *batches);
    kino_status st = batches ? KINO_OK : kino__fail_nomem(err);
    while (made < count && st == KINO_OK) {
        st = make_batch(j, made, owner, &batches[made], err);
        made += st == KINO_OK;
    }
    struct ArrowSchema schema;
    if (st == KINO_OK && !kino__arrow_schema_make(&schema, fields, j->source_count, &about))
        st = kino__fail_nomem(err);
    if (st != KINO_OK) {
        if (batches)
            kino__arrow_batches_free(batches, made);
        return st;
    }
    return kino__arrow_stream_make(out, &schema, batches, count) ? KINO_OK : kino__fail_nomem(err);
}

kino_status kino_run_events(kino_run *run, const kino_events_options *options,
                            struct ArrowArrayStream *out, kino_error *err)
{
    *out = (struct ArrowArrayStream){0};
    kino__error_clear(err);
    job j = {.run = run, .options = KINO_EVENTS_OPTIONS_INIT};
    KINO__TAKE_OPTIONS(j.options, options);
    kino__arrow_owner *owner = kino__arrow_owner_new(j.options.release, j.options.owner);
    if (!owner)
        return kino__fail_nomem(err);
    j.forms = kino__event_forms_of(&run->run);
    kino_status st = find_sources(&j, err);
    if (st == KINO_OK)
        st = load(&j, err);
    if (st == KINO_OK && j.options.where)
        st = select_rows(&j, err);
    if (st == KINO_OK)
        st = make_stream(&j, owner, out, err);
    for (size_t i = 0; j.rows && i < run->run.traces.count; i++)
        free(j.rows[i]);
    free(j.rows);
    free(j.row_counts);
    kino__query_context_deinit(&j.context);
    kino__arrow_owner_drop(owner);
    return st;
}
