/* nvprof.c - any bytes as a database whose tables are nvprof's, whatever else they may be: no crash,
 * and arguments that are JSON. */
#include <stdlib.h>
#include <string.h>

#include "reader/profile_database.h"
#include "store/args.h"
#include "writer/json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const kino__trace *trace)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino_str args = kino__args_text(trace, row, &cursor);
        if (args.size && !kino__json_is_strict(args))
            abort();
    }
    kino__text_cursor_deinit(&cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__load_context context = {0};
    kino__sqlite db;
    kino__trace *trace;
    char *copy = malloc(size + 1); /* of just this size, so that reading beyond it is seen */
    if (!copy || kino__trace_new(&trace, NULL) != KINO_OK)
        abort();
    memcpy(copy, data, size);
    if (kino__sqlite_open(&db, (kino_str){copy, size}, NULL, &trace->ledger, NULL) == KINO_OK &&
        kino__nvprof_load(&db, &context, trace, NULL) == KINO_OK)
        check(trace);
    kino__sqlite_close(&db);
    kino__trace_free(trace);
    free(copy);
    return 0;
}
