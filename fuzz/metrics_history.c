/* metrics_history.c - any bytes as a daemon's answer to getMetrics: refused, or a run of counters of
 * which every event is one. */
#include <stdlib.h>

#include "client/client_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

/* Every event but the names of rows is a counter, at or after the first time. */
static void check_run(kino_run *run)
{
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_error err;
    require(kino_run_query(run, "SELECT count(*) FROM event WHERE ph NOT IN ('C', 'M') OR ts < 0",
                           NULL, &rows, &err) == KINO_OK &&
            kino_rows_next(rows, &cells, &err) == KINO_OK && cells && cells[0].value.integer == 0);
    kino_rows_free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__arena arena;
    kino_error err;
    const kino__json_in *root;
    kino_run *run = NULL;
    kino__arena_init(&arena, NULL);
    if (kino__json_in_parse((kino_str){(const char *)data, size}, NULL, &arena, &root, &err) ==
            KINO_OK &&
        kino__metrics_history_run(root, &run, &err) == KINO_OK)
        check_run(run);
    kino_run_free(run);
    kino__arena_deinit(&arena);
    return 0;
}
