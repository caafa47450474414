/* nsys_host.c - what threads did: calls of CUDA, of its libraries and of the system; and what
 * threads and processes are called. */
#include "reader/nsys_internal.h"

enum { START, END, THREAD, NAME, CORRELATION, RETURN, COLUMNS };
static const char *const call_columns[COLUMNS] = {"start",  "end",           "globalTid",
                                                  "nameId", "correlationId", "returnValue"};

static kino__thread_span read_span(const kino__sqlite_scan *scan)
{
    return kino__nsys_span(kino__sqlite_scan_int(scan, START), kino__sqlite_scan_int(scan, END),
                           kino__sqlite_scan_int(scan, THREAD));
}

void kino__nsys_read_calls(kino__nsys *n)
{
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__thread_span span = read_span(&scan);
        int64_t returned = kino__sqlite_scan_int(&scan, RETURN);
        span.name = kino__nsys_string_call(n, kino__sqlite_scan_int(&scan, NAME), &span.category);
        span.correlation = kino__sqlite_scan_int(&scan, CORRELATION);
        if (returned != 0)
            kino__activities_arg(&n->activities, KINO__KEY_RETURN, returned);
        kino__activities_add_span(&n->activities, &span);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static void read_library(kino__nsys *n, const char *table, const char *category)
{
    kino__sqlite_scan scan;
    if (!kino__sqlite_find(&n->db, table))
        return;
    uint16_t id = kino__activities_category(&n->activities, category);
    kino__sqlite_scan_init(&scan, &n->db, table, call_columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__thread_span span = read_span(&scan);
        span.name = kino__nsys_string_text(n, kino__sqlite_scan_int(&scan, NAME));
        span.category = id;
        kino__activities_add_span(&n->activities, &span);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

void kino__nsys_read_libraries(kino__nsys *n)
{
    read_library(n, "OSRT_API", "os_runtime");
    read_library(n, "CUDNN_EVENTS", "cudnn");
    read_library(n, "CUBLAS_EVENTS", "cublas");
}

static void read_overhead(kino__nsys *n, const char *table)
{
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, table, call_columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__thread_span span = read_span(&scan);
        span.name = kino__nsys_string_text(n, kino__sqlite_scan_int(&scan, NAME));
        kino__activities_add_overhead(&n->activities, &span);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

void kino__nsys_read_overheads(kino__nsys *n)
{
    read_overhead(n, "CUPTI_ACTIVITY_KIND_OVERHEAD");
    read_overhead(n, "PROFILER_OVERHEAD");
}

/* -- names -- */

/* The track of a thread, UINT32_MAX: it did nothing. */
static uint32_t find_thread(const kino__nsys *n, uint64_t process, int64_t tid)
{
    const kino__activities *a = &n->activities;
    for (size_t i = 0; i < a->rows.count; i++) {
        const kino__activity_row *row = &a->rows.items[i];
        if (row->device == KINO_NO_INT && row->process == process && row->number == tid)
            return row->track;
    }
    return UINT32_MAX;
}

static bool has_process(const kino__nsys *n, uint64_t process)
{
    const kino__activities *a = &n->activities;
    for (size_t i = 0; i < a->rows.count; i++)
        if (a->rows.items[i].device == KINO_NO_INT && a->rows.items[i].process == process)
            return true;
    return false;
}

static void name_threads(kino__nsys *n)
{
    enum { NAME_ID, GLOBAL, THREAD_COLUMNS };
    static const char *const columns[THREAD_COLUMNS] = {"nameId", "globalTid"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "ThreadNames", columns, THREAD_COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        int64_t global = kino__sqlite_scan_int(&scan, GLOBAL);
        uint32_t track = global == KINO_NO_INT
                             ? UINT32_MAX
                             : find_thread(n, kino__nsys_process(global), global & 0xffffff);
        kino_str name = track == UINT32_MAX
                            ? (kino_str){NULL, 0}
                            : kino__nsys_string_bytes(n, kino__sqlite_scan_int(&scan, NAME_ID));
        if (name.size)
            kino__activities_name_thread(&n->activities, track, name);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* The program, without its folder and its arguments, which may hold secrets. */
static kino_str program_of(kino_str name)
{
    const char *blank = memchr(name.data, ' ', name.size);
    if (blank)
        name.size = (size_t)(blank - name.data);
    for (size_t i = name.size; i > 0; i--)
        if (name.data[i - 1] == '/' || name.data[i - 1] == '\\')
            return (kino_str){name.data + i, name.size - i};
    return name;
}

static void name_processes(kino__nsys *n)
{
    enum { GLOBAL, PROGRAM, PROCESS_COLUMNS };
    static const char *const columns[PROCESS_COLUMNS] = {"globalPid", "name"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "PROCESSES", columns, PROCESS_COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        int64_t global = kino__sqlite_scan_int(&scan, GLOBAL);
        kino_str name = kino__sqlite_scan_text(&scan, PROGRAM);
        if (global != KINO_NO_INT && name.size && has_process(n, kino__nsys_process(global)))
            kino__activities_name_process(
                &n->activities, kino__nsys_pid(kino__nsys_process(global)), program_of(name));
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

void kino__nsys_read_names(kino__nsys *n)
{
    name_threads(n);
    name_processes(n);
}
