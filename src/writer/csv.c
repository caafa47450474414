/* csv.c - events as CSV: the columns, values and order of `SELECT * FROM event`
 * (docs/formats/csv.md).
 *
 * Values come from the query layer, so that there is one definition of each; SQLite itself is not
 * asked, so that all workers can format. Memory: a few blocks of text a worker. */
#include <stdlib.h>

#include "base/csv_out.h"
#include "base/error.h"
#include "query/tables.h"
#include "writer/ordered.h"

/* What one worker needs: its own view of the columns and of the source text. */
typedef struct worker_state {
    kino__query_trace columns;
    kino__text_cursor cursor;
    kino__buffer mended, scratch;
} worker_state;

static void add_label(worker_state *w, const kino__label *label, bool as_text, kino__buffer *out)
{
    char digits[KINO__LABEL_DIGITS];
    kino_cell cell = kino__label_cell(w->columns.trace, label, as_text, digits);
    switch (cell.kind) {
    case KINO_CELL_NULL:
        break;
    case KINO_CELL_INT:
        kino__csv_add_int(out, cell.value.integer);
        break;
    case KINO_CELL_FLOAT:
        kino__csv_add_double(out, cell.value.real);
        break;
    case KINO_CELL_TEXT:
        kino__csv_add_text(out, cell.value.text);
        break;
    }
}

static void add_args(worker_state *w, uint32_t row, kino__buffer *out)
{
    kino_str text = kino__args_text(w->columns.trace, row, &w->cursor);
    if (text.size == 0)
        return;
    if (kino__args_mend(&text, &w->mended, &w->scratch))
        kino__csv_add_text(out, text);
    else
        out->failed = true;
}

static void add_value(worker_state *w, kino__event_column column, uint32_t row, kino__buffer *out)
{
    const kino__trace *trace = w->columns.trace;
    const kino__track *track = &trace->tracks.items[kino__query_track(&w->columns, row)];
    int64_t value;
    switch (column) {
    case KINO__EVENT_PH:
        if (trace->phase[row])
            kino__csv_add_text(out, (kino_str){(const char *)&trace->phase[row], 1});
        break;
    case KINO__EVENT_CAT:
        if (trace->category[row] != KINO__CATEGORY_NONE)
            kino__csv_add_text(out, kino__trace_category_text(trace, trace->category[row]));
        break;
    case KINO__EVENT_NAME:
        if (trace->name[row] != KINO_NO_STRING)
            kino__csv_add_text(out, kino__trace_string(trace, trace->name[row]));
        break;
    case KINO__EVENT_PID:
        add_label(w, &track->pid, trace->flags[row] & KINO__FLAG_PID_TEXT, out);
        break;
    case KINO__EVENT_TID:
        add_label(w, &track->tid, trace->flags[row] & KINO__FLAG_TID_TEXT, out);
        break;
    case KINO__EVENT_ARGS:
        add_args(w, row, out);
        break;
    default:
        value = kino__query_int(&w->columns, column, row);
        if (value != KINO_NO_INT)
            kino__csv_add_int(out, value);
        break;
    }
}

enum { BLOCK_ROWS = 4096 };

typedef struct output {
    const kino__trace *trace;
    worker_state *workers;
    kino__progress *progress;
} output;

static void format_block(void *context, unsigned worker, size_t block, kino__buffer *out)
{
    output *o = context;
    worker_state *w = &o->workers[worker];
    size_t first = block * BLOCK_ROWS, end = first + BLOCK_ROWS;
    end = end < o->trace->event_count ? end : o->trace->event_count;
    for (size_t row = first; row < end && !out->failed; row++) {
        for (int column = 0; column < KINO__EVENT_COLUMN_COUNT; column++) {
            add_value(w, (kino__event_column)column, (uint32_t)row, out);
            kino__buffer_add(out, column + 1 < KINO__EVENT_COLUMN_COUNT ? KINO__STR(",")
                                                                        : KINO__STR("\n"));
        }
        out->failed |= w->columns.failed;
    }
    (void)kino__progress_add(o->progress, end - first);
}

static kino_status write_trace(const kino__trace *trace, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    unsigned jobs = kino__pool_jobs(context->pool);
    worker_state *workers = calloc(jobs, sizeof *workers);
    if (!workers)
        return kino__fail_nomem(err);
    for (unsigned i = 0; i < jobs; i++) {
        workers[i].columns.trace = trace;
        kino__text_cursor_init(&workers[i].cursor, trace->text);
    }
    output o = {trace, workers, context->progress};
    kino__ordered blocks = {.block_count = (trace->event_count + BLOCK_ROWS - 1) / BLOCK_ROWS,
                            .make = format_block,
                            .context = &o};
    kino_status st = kino__ordered_write(&blocks, sink, context, err);
    for (unsigned i = 0; i < jobs; i++) {
        kino__text_cursor_deinit(&workers[i].cursor);
        kino__buffer_deinit(&workers[i].mended);
        kino__buffer_deinit(&workers[i].scratch);
    }
    free(workers);
    return st;
}

static kino_status write_events(const kino__run *run, kino__sink *sink,
                                const kino__write_context *context, kino_error *err)
{
    static const char header[] =
#define EVENT_COLUMN(id, name, type) "," #name
#define EVENT_TABLE(name, rows)
#define EVENT_ARG(table, name, key, type)
#include "query/event_tables.def"
#undef EVENT_COLUMN
#undef EVENT_TABLE
#undef EVENT_ARG
        "\n";
    uint64_t total = 0;
    for (size_t i = 0; i < run->traces.count; i++)
        total += run->traces.items[i]->event_count;
    kino__progress_stage(context->progress, "writing", total);
    KINO_TRY(kino__sink_write(sink, (kino_str){header + 1, sizeof header - 2}, err));
    for (size_t i = 0; i < run->traces.count; i++)
        KINO_TRY(write_trace(run->traces.items[i], sink, context, err));
    return KINO_OK;
}

const kino__writer_def kino__writer_csv = {
    .name = "csv",
    .suffix = ".csv",
    .help = "events as one table: SELECT * FROM event",
    .is_compressible = true,
    .takes_runs = true,
    .write = write_events,
};
