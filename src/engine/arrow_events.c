/* arrow_events.c - kino_run_events: which columns, which rows, one batch for each trace. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "engine/kino_run.h"
#include "query/arrow_event.h"

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
    kino__event_arrow stream; /* rows: with `where` */
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
    if (count > KINO__EVENT_COLUMNS_MOST)
        return kino__fail(err, KINO_LIMIT, "more than %d columns", KINO__EVENT_COLUMNS_MOST);
    for (size_t i = 0; i < count; i++) {
        j->stream.sources[i] = find_source(names[i]);
        if (!j->stream.sources[i])
            return fail_column(names[i], err);
    }
    j->stream.source_count = count;
    return KINO_OK;
}

/* Loads what is needed, of files whose columns come on demand. */
static kino_status load(job *j, kino_error *err)
{
    bool has_rows;
    unsigned needs = kino__event_arrow_needs(&j->stream, &has_rows);
    needs |= j->options.where ? KINO__COLUMN_ALL & ~KINO__COLUMN_PLACE : 0;
    KINO_TRY(kino__run_prepare(j->run, needs, err));
    if (!has_rows && !j->options.where)
        return KINO_OK;
    return kino__query_context_init(&j->stream.context, &j->run->run) ? KINO_OK
                                                                      : kino__fail_nomem(err);
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
            !kino__query_find_event(&j->stream.context, cells[0].value.integer, &qt, &row))
            continue;
        marks[qt - j->stream.context.traces][row / 8] |= (uint8_t)(1u << row % 8);
    }
}

static bool list_rows(job *j, size_t trace, const uint8_t *marks)
{
    uint32_t events = j->run->run.traces.items[trace]->event_count;
    size_t count = 0;
    for (size_t i = 0; i < events / 8 + (size_t)1; i++)
        count += (size_t)__builtin_popcount(marks[i]);
    uint32_t *rows = malloc((count + 1) * sizeof *rows);
    j->stream.rows[trace] = rows;
    if (!rows)
        return false;
    j->stream.row_counts[trace] = count;
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
    j->stream.rows = calloc(count + 1, sizeof *j->stream.rows);
    j->stream.row_counts = calloc(count + 1, sizeof *j->stream.row_counts);
    bool ok = marks && j->stream.rows && j->stream.row_counts;
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

kino_status kino_run_events(kino_run *run, const kino_events_options *options,
                            struct ArrowArrayStream *out, kino_error *err)
{
    *out = (struct ArrowArrayStream){0};
    kino__error_clear(err);
    job j = {.run = run, .options = KINO_EVENTS_OPTIONS_INIT, .stream = {.run = &run->run}};
    KINO__TAKE_OPTIONS(j.options, options);
    kino__arrow_owner *owner = kino__arrow_owner_new(j.options.release, j.options.owner);
    if (!owner)
        return kino__fail_nomem(err);
    j.stream.cancel = j.options.cancel;
    j.stream.forms = kino__event_forms_of(&run->run);
    kino_status st = find_sources(&j, err);
    if (st == KINO_OK)
        st = load(&j, err);
    if (st == KINO_OK && j.options.where)
        st = select_rows(&j, err);
    if (st == KINO_OK)
        st = kino__event_arrow_make(&j.stream, owner, out, err);
    for (size_t i = 0; j.stream.rows && i < run->run.traces.count; i++)
        free(j.stream.rows[i]);
    free(j.stream.rows);
    free(j.stream.row_counts);
    kino__query_context_deinit(&j.stream.context);
    kino__arrow_owner_drop(owner);
    return st;
}
