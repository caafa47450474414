/* cmd_query.c - kino query: SQL over a run. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

enum { MOST_SQL = 16 << 20, READ_STEP = 1 << 16, DEFAULT_MEMORY = 1 << 30 };

typedef struct query_options {
    kino__common_options common;
    unsigned timeout_ms;
} query_options;

static const kino__option options_table[] = {
    {"timeout", KINO__OPTION_SECONDS, "SECONDS", "stop the query after SECONDS (default: no limit)",
     offsetof(query_options, timeout_ms), false},
    {"memory", KINO__OPTION_SIZE, "SIZE",
     "let the statement use at most SIZE of memory, such as 4GB, and 1/64 of it for one value "
     "(default: 1GiB)",
     offsetof(query_options, common.budget), false},
    {0},
};

/* The statement from standard input, terminated; false (reported) when it cannot be had. */
static bool read_sql(kino__buffer *out)
{
    size_t n;
    do {
        char *room = out->size < MOST_SQL ? kino__buffer_reserve(out, READ_STEP) : NULL;
        if (!room)
            break;
        n = fread(room, 1, READ_STEP, stdin);
        out->size += n;
    } while (n == READ_STEP);
    kino_error err;
    if (ferror(stdin))
        (void)kino__fail_errno(&err, errno, "cannot read standard input");
    else if (out->size >= MOST_SQL)
        (void)kino__fail(&err, KINO_LIMIT, "the statement is longer than %d bytes", MOST_SQL);
    else if (out->failed)
        (void)kino__fail_nomem(&err);
    else
        kino__error_clear(&err);
    if (kino__interrupt_was_asked() || err.message[0]) {
        (void)kino__report_error(&err, KINO__EXIT_FAILED);
        return false;
    }
    kino__buffer_add(out, (kino_str){"", 1});
    return !out->failed;
}

/* CREATE statements as they would be typed; the other formats get them as rows. */
static kino_status print_schema(kino_rows *rows, kino__output *output, kino_error *err)
{
    for (;;) {
        const kino_cell *cells;
        KINO_TRY(kino_rows_next(rows, &cells, err));
        if (!cells)
            return KINO_OK;
        kino_str sql = cells[kino_rows_column_count(rows) - 1].value.text;
        if (!kino__output_write(output, sql.data, sql.size) ||
            !kino__output_write(output, ";\n", kino__str_ends_with(sql, KINO__STR(";")) ? 0 : 1) ||
            !kino__output_write(output, "\n", 1))
            return kino__fail(err, KINO_IO, "cannot write the result");
    }
}

static int show(const query_options *options, kino_run *run, const char *sql)
{
    kino_query_options query = KINO_QUERY_OPTIONS_INIT;
    query.timeout_ms = options->timeout_ms;
    query.cancel = kino__interrupt_flag();
    query.memory = options->common.budget;
    kino_limit_sql_memory(query.memory ? query.memory : DEFAULT_MEMORY);
    bool is_schema = strcmp(sql, ".schema") == 0;
    kino_rows *rows = NULL;
    kino_error err;
    kino__output output;
    kino_status st = is_schema ? kino_run_schema(run, &rows, &err)
                               : kino_run_query(run, sql, &query, &rows, &err);
    if (st != KINO_OK)
        return kino__report_error(&err, KINO__EXIT_FAILED);
    int code = kino__output_open(&output, &options->common);
    if (code == KINO__EXIT_OK) {
        if (is_schema && strcmp(options->common.format, "table") == 0)
            st = print_schema(rows, &output, &err);
        else
            st = kino_render_rows(run, rows, &output.render, kino__output_write, &output, &err);
        code = kino__output_finish(&output, st, &err);
    }
    kino_rows_free(rows);
    return code;
}

static int run_query(void *options, char **arguments, size_t count)
{
    const query_options *given = options;
    if (count == 1 && strcmp(arguments[0], ".schema") == 0)
        return show(given, NULL, arguments[0]);
    if (count < 2)
        return kino__report_usage(&kino__command_query, count ? "missing argument: SQL"
                                                              : "missing argument: TRACE or DIR");
    char *sql = arguments[count - 1];
    bool from_stdin = strcmp(sql, "-") == 0;
    for (size_t i = 0; from_stdin && i + 1 < count; i++)
        if (strcmp(arguments[i], "-") == 0)
            return kino__report_usage(&kino__command_query,
                                      "standard input cannot be both the trace and the statement");
    kino__buffer text = {0};
    kino_run *run = NULL;
    int code = KINO__EXIT_FAILED;
    if (!from_stdin || read_sql(&text))
        code = kino__open_run(&given->common, arguments, count - 1, &run);
    else if (kino__interrupt_was_asked())
        code = KINO__EXIT_INTERRUPTED;
    if (run)
        code = show(given, run, from_stdin ? text.data : sql);
    kino_run_free(run);
    kino__buffer_deinit(&text);
    return code;
}

const kino__command kino__command_query = {
    .name = "query",
    .arguments = "TRACE|DIR... SQL",
    .summary = "run SQL over trace tables and all analyses",
    .description =
        "Runs one read-only SQL statement (SQLite dialect) over the tables of a trace or\n"
        "a run and prints its rows. Times are integer nanoseconds. SQL may be - to read\n"
        "the statement from standard input, or .schema to list all tables and views\n"
        "(which does not need a trace).\n",
    .options = options_table,
    .groups = KINO__COMMAND_LOADS | KINO__COMMAND_PRINTS,
    .options_size = sizeof(query_options),
    .run = run_query,
};
