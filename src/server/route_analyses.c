/* route_analyses.c - answers about a run: analyses, info, report, comparison. The bytes are those
 * of the program's --format json. */
#include <stdio.h>

#include "base/error.h"
#include "server/route.h"
#include "server/server_internal.h"

/* -- analyses -- */

enum { NAME_SIZE = 64 };

/* Is this parameter the route's own, not the analysis'? */
static bool is_own(const char *name)
{
    static const char *const own[] = {"run", "span", "wait", "trace", "rank", "limit", "table"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return true;
    return false;
}

static size_t analysis_params(const kino__http_request *request, kino_param out[KINO__PARAMS_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < request->params.count; i++)
        if (!is_own(request->params.items[i].name))
            out[count++] =
                (kino_param){request->params.items[i].name, request->params.items[i].value};
    return count;
}

/* The name as a text; false (answered) when no analysis is called so. */
static bool analysis_name(kino__http_request *request, char out[NAME_SIZE])
{
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    size_t size = request->name.size < NAME_SIZE ? request->name.size : NAME_SIZE - 1;
    memcpy(out, request->name.data, size);
    out[size] = 0;
    if (size == request->name.size && kino_analysis_find(out, &info))
        return true;
    kino__request_fail(request, 404, "no such analysis: '%s'", out);
    return false;
}

void kino__route_analysis_check(kino__http_request *request)
{
    kino_param params[KINO__PARAMS_MOST];
    char name[NAME_SIZE];
    kino_error err;
    int64_t limit = 0;
    if (!analysis_name(request, name))
        return;
    kino_status st = kino_analysis_check(name, params, analysis_params(request, params), &err);
    if (st == KINO_OK)
        st = kino__params_int(&request->params, "limit", 0, INT64_MAX, &limit, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
}

void kino__route_analysis(kino__http_request *request)
{
    kino_param params[KINO__PARAMS_MOST];
    char name[NAME_SIZE];
    kino_error err;
    kino_result *result = NULL;
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    if (!analysis_name(request, name))
        return;
    options.jobs = kino__server_jobs(request->server);
    options.progress = kino__request_progress;
    options.progress_context = request;
    options.params = params;
    options.param_count = analysis_params(request, params);
    kino_status st = kino_run_analyze(kino__request_run(request), name, &options, &result, &err);
    if (st == KINO_OK)
        kino__route_render(request, result);
    else
        kino__request_fail_status(request, st, &err);
    kino_result_free(result);
}

void kino__route_info(kino__http_request *request)
{
    kino_result *result = NULL;
    kino_error err;
    kino_status st = kino_run_info(kino__request_run(request), &result, &err);
    if (st == KINO_OK)
        kino__route_render(request, result);
    else
        kino__request_fail_status(request, st, &err);
    kino_result_free(result);
}

/* -- report -- */

static kino_report_options report_options(kino__http_request *request)
{
    kino_report_options options = KINO_REPORT_OPTIONS_INIT;
    options.jobs = kino__server_jobs(request->server);
    options.progress = kino__request_progress;
    options.progress_context = request;
    options.compat = kino__params_text(&request->params, "compat");
    options.steps = kino__params_text(&request->params, "steps");
    options.full = strcmp(request->format, "html") == 0;
    return options;
}

void kino__route_report_check(kino__http_request *request)
{
    kino_report_options options = report_options(request);
    kino_error err;
    kino_status st = kino_report_check(&options, &err);
    if (st != KINO_OK)
        kino__request_fail_status(request, st, &err);
}

void kino__route_report(kino__http_request *request)
{
    enum { PEOPLE = 50, PAGE = 500 };
    kino_report_options options = report_options(request);
    kino_render_options render = KINO_RENDER_OPTIONS_INIT;
    kino_report *report = NULL;
    kino_error err;
    render.format = request->format;
    render.hints = KINO_HINTS_FIELDS;
    render.limit = strcmp(request->format, "html") == 0 ? PAGE
                   : strcmp(request->format, "md") == 0 ? PEOPLE
                                                        : 0;
    kino_status st = kino_run_report(kino__request_run(request), &options, &report, &err);
    if (st == KINO_OK)
        st = kino_render_report(report, &render, kino__request_write, request, &err);
    if (st == KINO_OK)
        kino__request_finish(request, kino__route_type(request));
    else
        kino__request_fail_status(request, st, &err);
    kino_report_free(report);
}

/* -- comparison -- */

void kino__route_diff_check(kino__http_request *request)
{
    const char *compat = kino__params_text(&request->params, "compat");
    if (!kino__params_has(&request->params, "run") || !kino__params_has(&request->params, "other"))
        kino__request_fail(request, 400, "missing parameter 'run' or 'other': the runs to compare");
    else if (compat && strcmp(compat, "tensorboard") != 0)
        kino__request_fail(request, 400,
                           "invalid value '%.60s' for parameter 'compat' (expected: tensorboard)",
                           compat);
}

void kino__route_diff(kino__http_request *request)
{
    kino_diff_options options = KINO_DIFF_OPTIONS_INIT;
    kino_result *result = NULL;
    kino_error err;
    options.jobs = kino__server_jobs(request->server);
    options.progress = kino__request_progress;
    options.progress_context = request;
    options.compat = kino__params_text(&request->params, "compat");
    options.tree = options.tree_ops = true;
    kino_run *left = request->loaded->run, *right = request->other->run;
    kino_status st = kino_runs_diff(&left, 1, &right, 1, &options, &result, &err);
    if (st == KINO_OK)
        kino__route_render(request, result);
    else
        kino__request_fail_status(request, st, &err);
    kino_result_free(result);
}
