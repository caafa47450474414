/* sql.c - any text as a query over a small run of two traces: never a crash, a hang or a write,
 * every cell readable.
 *
 * SQLite itself is held to little memory, and a query to a short time, so that a monster is an
 * error like any other. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "query/query.h"
#include "reader/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAP_LIMIT = 64 << 20, ROW_LIMIT = 2000, TIME_LIMIT_MS = 300 };

static const char trace_text[] =
    "{\"schemaVersion\": 1, \"host_name\": \"box\", \"deviceProperties\": [{\"id\": 0, \"name\": "
    "\"G\", \"numSms\": 4}],"
    "\"traceEvents\": ["
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":7,\"tid\":8,"
    "\"ts\":0,\"dur\":100},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":8,\"ts\":1,\"dur\":"
    "30.25,\"args\":"
    "{\"External id\":5,\"Input Dims\":[[8,8],[]],\"s\":\"a\\\"b\\u00e9\",\"bad\":NaN}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":8,"
    "\"ts\":2,\"dur\":4,\"args\":"
    "{\"External id\":5,\"cbid\":211,\"correlation\":90}},"
    "{\"ph\":\"s\",\"id\":90,\"pid\":7,\"tid\":8,\"ts\":2,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclX\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":6,"
    "\"args\":{\"External id\":5,"
    "\"device\":0,\"stream\":7,\"correlation\":90,\"grid\":[8,1,1],\"Collective "
    "name\":\"allreduce\"}},"
    "{\"ph\":\"f\",\"id\":90,\"pid\":0,\"tid\":7,\"ts\":9,\"cat\":\"ac2g\",\"name\":\"ac2g\","
    "\"bp\":\"e\"},"
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":7,"
    "\"tid\":8,\"ts\":3,\"args\":"
    "{\"Addr\":4096,\"Bytes\":-256,\"Device Id\":0}},"
    "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":\"Counters\",\"tid\":\"0\",\"ts\":4,\"args\":{\"used\":"
    "1,\"free\":2.5}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":7,\"tid\":8,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"X\",\"cat\":\"mine\",\"name\":\"\",\"pid\":\"\",\"tid\":\"\",\"ts\":60,\"dur\":0}]}";

/* The same text twice, as two traces of a run, from memory that looks like a mapped file. */
static const kino__run *the_run(void)
{
    static kino__run run;
    static bool is_loaded;
    if (is_loaded)
        return &run;
    kino__run_init(&run);
    for (int i = 0; i < 2; i++) {
        size_t size = sizeof trace_text - 1;
        size_t mapped = (size + KINO__FILE_PAD) / KINO__FILE_PAD * KINO__FILE_PAD + KINO__FILE_PAD;
        char *data = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        kino__trace *trace;
        if (data == MAP_FAILED || kino__trace_new(&trace, NULL) != KINO_OK)
            abort();
        memcpy(data, trace_text, size);
        kino__file file = {data, size, mapped};
        kino__load_context context = {0};
        if (kino__reader_chrome_json.load("fuzz", &file, &context, trace, NULL) != KINO_OK ||
            kino__run_add_take(&run, trace, NULL) != KINO_OK)
            abort();
    }
    kino__run_align(&run);
    sqlite3_hard_heap_limit64(HEAP_LIMIT);
    is_loaded = true;
    return &run;
}

/* Touches every byte that a renderer would. */
static void read_cells(const kino_cell *cells, size_t count)
{
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; cells[i].kind == KINO_CELL_TEXT && k < cells[i].value.text.size; k++)
            sum = (unsigned char)(sum + (unsigned char)cells[i].value.text.data[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const kino__run *run = the_run();
    char *sql = malloc(size + 1);
    if (!sql)
        return 0;
    if (size)
        memcpy(sql, data, size);
    sql[size] = '\0';
    kino__query_options options = {.timeout_ms = TIME_LIMIT_MS};
    kino_rows *rows;
    kino_error err = {0};
    kino_status status = kino__query_open(run, sql, &options, &rows, &err);
    if ((status == KINO_OK) != (rows != NULL) || (status != KINO_OK) != (err.message[0] != '\0'))
        abort();
    const kino_cell *cells = NULL;
    for (int i = 0; i < ROW_LIMIT && rows && status == KINO_OK; i++) {
        status = kino_rows_next(rows, &cells, &err);
        if (status != KINO_OK || !cells)
            break;
        read_cells(cells, kino_rows_column_count(rows));
    }
    kino_rows_free(rows);
    free(sql);
    return 0;
}
