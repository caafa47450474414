/* engine.c - libkino_engine from C: opens a trace or a directory of traces, prints the kernels that
 * take the most time (SQL), and then where the step time goes (an analysis).
 *
 *   make && ./engine ../../kino-demo */
#include <stdio.h>

#include <kino/engine.h>

static const char top_kernels[] = "SELECT name, count(*) AS calls, sum(dur) AS total_ns "
                                  "FROM kernel GROUP BY name ORDER BY 3 DESC LIMIT 5";

static bool put(void *out, const char *bytes, size_t size)
{
    return fwrite(bytes, 1, size, out) == size;
}

static kino_status print_kernels(kino_run *run, kino_error *err)
{
    kino_rows *rows = NULL;
    kino_status st = kino_run_query(run, top_kernels, NULL, &rows, err);
    if (st == KINO_OK)
        st = kino_render_rows(run, rows, NULL, put, stdout, err);
    kino_rows_free(rows);
    return st;
}

static kino_status print_overview(kino_run *run, kino_error *err)
{
    kino_result *result = NULL;
    kino_status st = kino_run_analyze(run, "overview", NULL, &result, err);
    if (st == KINO_OK)
        st = kino_render_result(result, NULL, put, stdout, err);
    kino_result_free(result);
    return st;
}

int main(int count, char **arguments)
{
    kino_run *run = NULL;
    kino_error err;
    if (count != 2) {
        fprintf(stderr, "usage: engine TRACE|DIR\n");
        return 2;
    }
    const char *path = arguments[1];
    kino_status st = kino_run_open(&path, 1, NULL, &run, &err);
    if (st == KINO_OK)
        st = print_kernels(run, &err);
    if (st == KINO_OK)
        st = print_overview(run, &err);
    if (st != KINO_OK)
        fprintf(stderr, "engine: %s\n", err.message);
    kino_run_free(run);
    return st == KINO_OK ? 0 : 1;
}
