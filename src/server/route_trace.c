/* route_trace.c - a window of the run as a trace file to download, for other tools. Written into a
 * private folder that is gone before the first byte is sent; nothing of the request is in its
 * name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "server/route.h"
#include "server/server_internal.h"

/* -- the file -- */

/* Writes the run and gives the open file, which has no name any more. */
static kino_status write_file(kino__http_request *request, kino_run *run, bool is_packed, int *fd,
                              kino_error *err)
{
    const char *base = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): nobody calls setenv */
    char folder[512], path[560];
    kino_write_options options = KINO_WRITE_OPTIONS_INIT;
    (void)snprintf(folder, sizeof folder, "%s/kino-XXXXXX",
                   base && *base && strlen(base) < 480 ? base : "/tmp");
    if (!mkdtemp(folder))
        return kino__fail_errno(err, errno, "cannot create a directory for the file");
    (void)snprintf(path, sizeof path, "%s/trace.json%s", folder, is_packed ? ".gz" : "");
    options.jobs = kino__server_jobs(request->server);
    options.progress = kino__request_progress;
    options.progress_context = request;
    kino_status st = kino_run_write(run, path, &options, err);
    if (st == KINO_OK) {
        *fd = open(path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            st = kino__fail_errno(err, errno, "cannot read the file");
    }
    (void)unlink(path);
    (void)rmdir(folder);
    return st;
}

/* -- the window -- */

/* NULL in *out: no window was given. */
static kino_status cut(kino__http_request *request, kino_run **out, kino_error *err)
{
    kino_cut_options options = KINO_CUT_OPTIONS_INIT;
    int64_t from = 0, to = 0;
    bool has_from = kino__params_has(&request->params, "from");
    bool has_to = kino__params_has(&request->params, "to");
    *out = NULL;
    if (!has_from && !has_to)
        return KINO_OK;
    KINO_TRY(kino__params_int(&request->params, "from", INT64_MIN + 1, INT64_MAX, &from, err));
    KINO_TRY(kino__params_int(&request->params, "to", INT64_MIN + 1, INT64_MAX, &to, err));
    /* Below 0 would count from the end; nothing is before the origin. */
    if (has_from)
        options.from_ns = from > 0 ? from : 0;
    if (has_to)
        options.to_ns = to > 0 ? to : 0;
    options.progress = kino__request_progress;
    options.progress_context = request;
    return kino_run_cut(kino__request_run(request), &options, out, NULL, err);
}

/* Several traces become one. */
static kino_status merge(kino__http_request *request, kino_run *run, kino_run **out,
                         kino_error *err)
{
    kino_trace_info info = KINO_TRACE_INFO_INIT;
    kino_merge_options options = KINO_MERGE_OPTIONS_INIT;
    options.progress = kino__request_progress;
    options.progress_context = request;
    *out = NULL;
    return kino_run_trace(run, 1, &info) ? kino_run_merge(run, &options, out, err) : KINO_OK;
}

void kino__route_trace(kino__http_request *request)
{
    bool is_packed = kino__str_ends_with(request->path, KINO__STR(".gz"));
    kino_run *window = NULL, *merged = NULL;
    kino_error err;
    int fd = -1;
    kino_status st = cut(request, &window, &err);
    kino_run *run = window ? window : kino__request_run(request);
    if (st == KINO_OK)
        st = merge(request, run, &merged, &err);
    if (st == KINO_OK)
        st = write_file(request, merged ? merged : run, is_packed, &fd, &err);
    kino_run_free(merged);
    kino_run_free(window);
    if (st != KINO_OK) {
        kino__request_fail_status(request, st, &err);
        return;
    }
    request->answer.fd = fd;
    request->answer.status = 200;
    request->answer.type = is_packed ? "application/gzip" : "application/json";
    request->answer.file_name = is_packed ? "trace.json.gz" : "trace.json";
}
