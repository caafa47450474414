/* answer.c - questions to a run and their answers in an output format: thin bodies over query and
 * render. */
#include "base/error.h"
#include "base/sink.h"
#include "base/sized.h"
#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "query/query.h"
#include "render/render.h"
#include "render/report.h"

kino_status kino_run_query(kino_run *run, const char *sql, const kino_query_options *options,
                           kino_rows **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_query_options given = KINO_QUERY_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    if (run->is_selection) /* queries find traces by their numbers */
        return kino__fail(err, KINO_ARGUMENT,
                          "SQL runs on the whole run: use 'WHERE trace = N' to select a trace");
    KINO_TRY(kino__run_prepare(run, KINO__COLUMN_ALL & ~KINO__COLUMN_PLACE, err));
    kino__table_functions functions = kino__analyze_functions(run);
    kino__query_options inner = {.timeout_ms = given.timeout_ms,
                                 .cancel = given.cancel,
                                 .functions = &functions,
                                 .memory = given.memory,
                                 .parameters = given.parameters,
                                 .parameter_count = given.parameter_count};
    return kino__query_open(&run->run, sql, &inner, out, err);
}

void kino_limit_sql_memory(uint64_t bytes)
{
    (void)kino__query_limit_memory(bytes);
}

kino_status kino_run_schema(kino_run *run, kino_rows **out, kino_error *err)
{
    kino__table_functions functions = kino__analyze_functions(run);
    *out = NULL;
    kino__error_clear(err);
    return kino__query_schema_all(&functions, out, err);
}

/* -- rendering into the caller's function -- */

typedef struct function_sink {
    kino__sink sink;
    kino_write_fn write;
    void *context;
} function_sink;

static kino_status function_write(kino__sink *sink, kino_str bytes, kino_error *err)
{
    function_sink *self = (function_sink *)sink;
    if (!self->write(self->context, bytes.data, bytes.size))
        return kino__fail(err, KINO_IO, "cannot write the result");
    return KINO_OK;
}

static kino_status function_close(kino__sink *sink, bool commit, kino_error *err)
{
    (void)sink; /* on the stack */
    (void)commit;
    (void)err;
    return KINO_OK;
}

/* Sets up the rendering and gives the name of the format. */
static const char *begin(const kino_render_options *options, function_sink *sink,
                         kino__render *render, kino_error *err)
{
    kino__error_clear(err);
    kino_render_options given = KINO_RENDER_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    *render = (kino__render){.sink = &sink->sink,
                             .table = given.table,
                             .limit = given.limit,
                             .color = given.color,
                             .width = given.width,
                             .hints = given.hints};
    return given.format;
}

static kino_status prepare(const kino_render_options *options, function_sink *sink,
                           kino__render *render, const kino__renderer_def **renderer,
                           kino_error *err)
{
    const char *format = begin(options, sink, render, err);
    *renderer = kino__renderer_find(format);
    if (*renderer)
        return KINO_OK;
    return kino__fail(err, KINO_ARGUMENT, "unknown output format '%s'", format);
}

kino_status kino_render_report(const kino_report *report, const kino_render_options *options,
                               kino_write_fn write, void *context, kino_error *err)
{
    function_sink sink = {{function_write, function_close}, write, context};
    kino__render render;
    const char *format = begin(options, &sink, &render, err);
    const kino__report_form *form = kino__report_form_find(format);
    if (!form)
        return kino__fail(err, KINO_ARGUMENT, "unknown report format '%s'", format);
    return kino__render_report(&render, form, report, err);
}

kino_status kino_render_result(const kino_result *result, const kino_render_options *options,
                               kino_write_fn write, void *context, kino_error *err)
{
    function_sink sink = {{function_write, function_close}, write, context};
    kino__render render;
    const kino__renderer_def *renderer;
    KINO_TRY(prepare(options, &sink, &render, &renderer, err));
    return kino__render_result(&render, renderer, result, err);
}

kino_status kino_render_rows(kino_run *run, kino_rows *rows, const kino_render_options *options,
                             kino_write_fn write, void *context, kino_error *err)
{
    function_sink sink = {{function_write, function_close}, write, context};
    kino__render render;
    const kino__renderer_def *renderer;
    KINO_TRY(prepare(options, &sink, &render, &renderer, err));
    kino_result *frame = kino__result_new("query");
    if (run)
        kino__run_describe(run, frame);
    KINO_TRY(kino__result_finish(frame, &frame, err));
    kino_status st = kino__render_rows(&render, renderer, frame, rows, err);
    kino_result_free(frame);
    return st;
}
