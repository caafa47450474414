/* route_query.c - SQL, within limits of rows and time. */
#include "base/error.h"
#include "server/route.h"
#include "server/server_internal.h"

enum { DEFAULT_ROWS = 10000, MOST_ROWS = 1000000, DEFAULT_MS = 10000, MOST_SECONDS = 60 };

typedef struct query_limits {
    int64_t rows;
    unsigned timeout_ms;
} query_limits;

static kino_status read_limits(const kino__http_request *request, query_limits *out,
                               kino_error *err)
{
    *out = (query_limits){DEFAULT_ROWS, DEFAULT_MS};
    KINO_TRY(kino__params_int(&request->params, "limit", 1, MOST_ROWS, &out->rows, err));
    KINO_TRY(
        kino__params_seconds(&request->params, "timeout", MOST_SECONDS, &out->timeout_ms, err));
    if (out->timeout_ms == 0)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value for parameter 'timeout' (expected: more than 0 seconds)");
    return KINO_OK;
}

void kino__route_query_check(kino__http_request *request)
{
    query_limits limits;
    kino_error err;
    bool has_sql = kino__params_has(&request->params, "sql");
    if (read_limits(request, &limits, &err) != KINO_OK)
        kino__request_fail_status(request, KINO_ARGUMENT, &err);
    else if (request->is_post && has_sql)
        kino__request_fail(request, 400,
                           "the statement must be in the body or in 'sql', not in both");
    else if (!request->is_post && !has_sql)
        kino__request_fail(request, 400, "missing parameter 'sql'");
    else if (request->is_post && memchr(request->body.data ? request->body.data : "", 0,
                                        request->body.data ? request->body.size : 0))
        kino__request_fail(request, 400, "the statement contains a NUL byte");
}

/* Puts "truncated" at the end of the document, which ends with "}\n". */
static void mark_truncated(kino__http_request *request)
{
    request->answer.is_truncated = true;
    if (strcmp(request->format, "json") != 0)
        return;
    while (request->text.size && request->text.data[request->text.size - 1] != '}')
        request->text.size--;
    if (request->text.size)
        request->text.size--;
    kino__buffer_add(&request->text, KINO__STR(",\"truncated\":true}\n"));
}

static kino_status show_rows(kino__http_request *request, kino_run *run, kino_rows *rows,
                             int64_t limit, kino_error *err)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    const kino_cell *more = NULL;
    options.format = request->format;
    options.limit = (uint64_t)limit;
    KINO_TRY(kino_render_rows(run, rows, &options, kino__request_write, request, err));
    if (limit)
        KINO_TRY(kino_rows_next(rows, &more, err));
    if (more)
        mark_truncated(request);
    return KINO_OK;
}

void kino__route_query(kino__http_request *request)
{
    kino_query_options options = KINO_QUERY_OPTIONS_INIT;
    query_limits limits;
    kino_rows *rows = NULL;
    kino_error err;
    const char *sql = kino__params_text(&request->params, "sql");
    kino__buffer_add(&request->body, (kino_str){"", 1}); /* a terminator */
    kino_status st =
        request->body.failed ? kino__fail_nomem(&err) : read_limits(request, &limits, &err);
    if (st == KINO_OK) {
        options.timeout_ms = limits.timeout_ms;
        options.cancel = &request->cancel;
        options.memory = KINO__SQL_MEMORY;
        st = kino_run_query(request->loaded->run, sql ? sql : request->body.data, &options, &rows,
                            &err);
    }
    if (st == KINO_OK)
        st = show_rows(request, request->loaded->run, rows, limits.rows, &err);
    if (st == KINO_OK)
        kino__request_finish(request, kino__route_type(request));
    else if (st == KINO_ARGUMENT || st == KINO_NOT_FOUND)
        kino__request_fail_error(request, 422, &err);
    else
        kino__request_fail_status(request, st, &err);
    kino_rows_free(rows);
}

void kino__route_schema(kino__http_request *request)
{
    kino_rows *rows = NULL;
    kino_error err;
    kino_status st = kino_run_schema(NULL, &rows, &err);
    if (st == KINO_OK)
        st = show_rows(request, NULL, rows, 0, &err);
    if (st == KINO_OK)
        kino__request_finish(request, kino__route_type(request));
    else
        kino__request_fail_status(request, st, &err);
    kino_rows_free(rows);
}
