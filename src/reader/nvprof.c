/* nvprof.c - the reader of nvprof's SQLite files (nvprof -o FILE), schema 9.
 *
 * Tables are CUPTI's activity records of that time. Markers come as two rows, start and end, with
 * one id; calls have numbers instead of names; kernels do not say their process, of which there is
 * one per file. */
#include <stdlib.h>

#include "base/demangle.h"
#include "reader/activities.h"
#include "reader/nvprof_calls.h"
#include "reader/profile_database.h"

enum { MARKER_START = 2, MARKER_END = 4, MARKER_INSTANT = 1, OBJECT_THREAD = 2 };

typedef struct open_marker {
    int64_t start, pid, tid, name, domain;
} open_marker;

typedef struct nvprof {
    const kino__sqlite *db;
    kino__activities activities;
    kino__map string_of; /* _id_ -> text of the trace */
    kino__map kernel_of; /* the same, demangled */
    kino__demangler demangler;
    kino__map marker_of; /* id -> open marker */
    KINO__VEC(open_marker) markers;
} nvprof;

static bool next(nvprof *n, kino__sqlite_scan *scan)
{
    return kino__activities_next(&n->activities, scan);
}

/* -- strings -- */

static void read_strings(nvprof *n)
{
    enum { ID, VALUE, COLUMNS };
    static const char *const columns[COLUMNS] = {"_id_", "value"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, "StringTable", columns, COLUMNS);
    while (next(n, &scan)) {
        kino_str text = kino__sqlite_scan_text(&scan, VALUE);
        kino_strid id = kino__activities_text(&n->activities, text.data ? text : KINO__STR(""));
        if (!kino__map_put(&n->string_of, (uint64_t)kino__sqlite_scan_int(&scan, ID), id))
            n->activities.events.part.failed = true;
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static kino_strid string_text(const nvprof *n, int64_t id)
{
    const uint32_t *at = id == KINO_NO_INT ? NULL : kino__map_get(&n->string_of, (uint64_t)id);
    return at ? *at : KINO_NO_STRING;
}

static kino_str text_bytes(const nvprof *n, kino_strid text)
{
    return kino__string_pool_text(&n->activities.events.texts, text);
}

/* Kernels are recorded with their mangled names. */
static kino_strid kernel_name(nvprof *n, int64_t id)
{
    kino_strid name = string_text(n, id);
    if (name == KINO_NO_STRING)
        return name;
    uint32_t *known = kino__map_put(&n->kernel_of, name, KINO_NO_STRING);
    if (!known || *known != KINO_NO_STRING)
        return known ? *known : name;
    kino__buffer mangled = {0};
    kino__buffer_add(&mangled, text_bytes(n, name));
    kino__buffer_add(&mangled, (kino_str){"", 1});
    char *plain = mangled.failed ? NULL : kino__demangle(&n->demangler, mangled.data);
    *known = plain ? kino__activities_text(&n->activities, kino__str_from(plain)) : name;
    free(plain);
    kino__buffer_deinit(&mangled);
    return *known;
}

/* -- device work -- */

enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, WORK_COLUMNS };
#define WORK_NAMES "start", "end", "deviceId", "contextId", "streamId", "correlationId"

static kino__gpu_activity read_work(const kino__sqlite_scan *scan)
{
    kino__gpu_activity work = {.start = kino__sqlite_scan_int(scan, START),
                               .end = kino__sqlite_scan_int(scan, END),
                               .device = kino__sqlite_scan_int(scan, DEVICE),
                               .context = kino__sqlite_scan_int(scan, CONTEXT),
                               .stream = kino__sqlite_scan_int(scan, STREAM),
                               .correlation = kino__sqlite_scan_int(scan, CORRELATION),
                               .graph = KINO_NO_INT,
                               .graph_exec = KINO_NO_INT,
                               .graph_node = KINO_NO_INT,
                               .external = KINO_NO_INT};
    if (work.stream == INT64_C(0xffffffff) || work.stream == -1)
        work.stream = KINO_NO_INT;
    return work;
}

static void read_kernels(nvprof *n, const char *table)
{
    enum {
        REGISTERS = WORK_COLUMNS,
        STATIC_SHARED,
        DYNAMIC_SHARED,
        NAME,
        GRID,
        BLOCK = GRID + 3,
        COLUMNS = BLOCK + 3
    };
    static const char *const columns[COLUMNS] = {WORK_NAMES,
                                                 "registersPerThread",
                                                 "staticSharedMemory",
                                                 "dynamicSharedMemory",
                                                 "name",
                                                 "gridX",
                                                 "gridY",
                                                 "gridZ",
                                                 "blockX",
                                                 "blockY",
                                                 "blockZ"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, table, columns, COLUMNS);
    while (next(n, &scan)) {
        kino__gpu_activity work = read_work(&scan);
        kino__kernel_launch launch = {
            .name = kernel_name(n, kino__sqlite_scan_int(&scan, NAME)),
            .short_name = KINO_NO_STRING,
            .registers = kino__sqlite_scan_int(&scan, REGISTERS),
            .static_shared = kino__sqlite_scan_int(&scan, STATIC_SHARED),
            .dynamic_shared = kino__sqlite_scan_int(&scan, DYNAMIC_SHARED),
        };
        for (int i = 0; i < 3; i++) {
            launch.grid[i] = kino__sqlite_scan_int(&scan, GRID + i);
            launch.block[i] = kino__sqlite_scan_int(&scan, BLOCK + i);
        }
        kino__activities_add_kernel(&n->activities, &work, &launch);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static void read_copies(nvprof *n, const char *table)
{
    enum { BYTES = WORK_COLUMNS, KIND, SOURCE, TARGET, FROM, TO, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "bytes",       "copyKind",   "srcKind",
                                                 "dstKind",  "srcDeviceId", "dstDeviceId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, table, columns, COLUMNS);
    while (next(n, &scan)) {
        kino__gpu_activity work = read_work(&scan);
        kino__memory_copy copy = {.kind = kino__sqlite_scan_int(&scan, KIND),
                                  .source = kino__sqlite_scan_int(&scan, SOURCE),
                                  .target = kino__sqlite_scan_int(&scan, TARGET),
                                  .bytes = kino__sqlite_scan_int(&scan, BYTES),
                                  .from_device = kino__sqlite_scan_int(&scan, FROM),
                                  .to_device = kino__sqlite_scan_int(&scan, TO)};
        kino__activities_add_copy(&n->activities, &work, &copy);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static void read_sets(nvprof *n)
{
    enum { BYTES = WORK_COLUMNS, KIND, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "bytes", "memoryKind"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, "CUPTI_ACTIVITY_KIND_MEMSET", columns, COLUMNS);
    while (next(n, &scan)) {
        kino__gpu_activity work = read_work(&scan);
        kino__activities_add_set(&n->activities, &work, kino__sqlite_scan_int(&scan, BYTES),
                                 kino__sqlite_scan_int(&scan, KIND));
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static void read_waits(nvprof *n)
{
    enum { KIND = WORK_COLUMNS, EVENT, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "type", "cudaEventId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, COLUMNS);
    while (next(n, &scan)) {
        kino__gpu_activity work = read_work(&scan);
        kino__device_wait wait = {.kind = kino__sqlite_scan_int(&scan, KIND),
                                  .event = kino__sqlite_scan_int(&scan, EVENT),
                                  .recorded_stream = KINO_NO_INT,
                                  .recorded_correlation = KINO_NO_INT};
        kino__activities_add_wait(&n->activities, &work, &wait);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- calls -- */

/* Threads are pthread_t's, of which the file has 32 bits, as a signed number. */
static int64_t thread_number(int64_t stored)
{
    return stored == KINO_NO_INT ? 0 : stored & INT64_C(0xffffffff);
}

static void read_calls(nvprof *n, const char *table, bool is_driver)
{
    enum { CBID = END + 1, PROCESS, THREAD, CALL_CORRELATION, RETURN, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "start", "end", "cbid", "processId", "threadId", "correlationId", "returnValue"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, table, columns, COLUMNS);
    while (next(n, &scan)) {
        char text[32];
        int64_t cbid = kino__sqlite_scan_int(&scan, CBID),
                pid = kino__sqlite_scan_int(&scan, PROCESS);
        int64_t returned = kino__sqlite_scan_int(&scan, RETURN);
        kino_str name = kino__str_from(kino__nvprof_call_name(is_driver, cbid, text, sizeof text));
        kino__thread_span span = {.start = kino__sqlite_scan_int(&scan, START),
                                  .end = kino__sqlite_scan_int(&scan, END),
                                  .pid = pid == KINO_NO_INT ? 0 : pid,
                                  .tid = thread_number(kino__sqlite_scan_int(&scan, THREAD)),
                                  .name = kino__activities_text(&n->activities, name),
                                  .category =
                                      is_driver ? n->activities.driver : n->activities.runtime,
                                  .correlation = kino__sqlite_scan_int(&scan, CALL_CORRELATION),
                                  .external = KINO_NO_INT};
        kino__activities_arg(&n->activities, KINO__KEY_CBID, cbid);
        if (returned != 0)
            kino__activities_arg(&n->activities, KINO__KEY_RETURN, returned);
        kino__activities_add_span(&n->activities, &span);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- markers -- */

static int64_t little_endian(const char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | (unsigned char)bytes[i - 1];
    return (int64_t)value;
}

/* The process and the thread of an object id: 4 and 8 bytes. */
static void read_object(kino_str blob, open_marker *out)
{
    out->pid = blob.size >= 4 ? little_endian(blob.data, 4) : 0;
    out->tid = blob.size >= 12 ? thread_number(little_endian(blob.data + 4, 8)) : 0;
}

static kino__thread_span marker_span(const open_marker *marker, int64_t end)
{
    return (kino__thread_span){.start = marker->start,
                               .end = end,
                               .pid = marker->pid,
                               .tid = marker->tid,
                               .name = KINO_NO_STRING,
                               .correlation = KINO_NO_INT,
                               .external = KINO_NO_INT};
}

static void add_domain(nvprof *n, int64_t domain)
{
    kino_str name = text_bytes(n, string_text(n, domain));
    if (domain > 0 && name.size)
        kino__activities_arg_text(&n->activities, KINO__KEY_DOMAIN_NAME, name);
}

static void add_range(nvprof *n, const open_marker *marker, int64_t end)
{
    kino__activities *a = &n->activities;
    kino__thread_span span = marker_span(marker, end);
    kino__op_marker op;
    span.name = string_text(n, marker->name);
    span.category = a->annotation;
    if (kino__op_marker_parse(text_bytes(n, span.name), &op))
        kino__activities_make_op(a, &span, &op, 1);
    add_domain(n, marker->domain);
    kino__activities_add_span(a, &span);
}

static void begin_marker(nvprof *n, int64_t id, const open_marker *marker)
{
    open_marker *slot = kino__vec_add(&n->markers);
    uint32_t *at = slot ? kino__map_put(&n->marker_of, (uint64_t)id, UINT32_MAX) : NULL;
    if (!at) {
        n->activities.events.part.failed = true;
        return;
    }
    *slot = *marker;
    *at = (uint32_t)n->markers.count - 1;
}

static void end_marker(nvprof *n, int64_t id, int64_t time)
{
    uint32_t *at = kino__map_get(&n->marker_of, (uint64_t)id);
    if (!at || *at == UINT32_MAX)
        return;
    add_range(n, &n->markers.items[*at], time);
    n->markers.items[*at].start = KINO_NO_INT;
    *at = UINT32_MAX;
}

static void add_mark(nvprof *n, const open_marker *marker)
{
    kino__thread_span span = marker_span(marker, marker->start);
    span.name = string_text(n, marker->name);
    span.category = n->activities.annotation;
    add_domain(n, marker->domain);
    kino__activities_add_mark(&n->activities, &span);
}

/* Starts first, then ends: rows may be in any order. */
static void read_markers(nvprof *n, bool is_start)
{
    enum { FLAGS, TIME, ID, KIND, OBJECT, NAME, DOMAIN_ID, COLUMNS };
    static const char *const columns[COLUMNS] = {"flags",    "timestamp", "id",    "objectKind",
                                                 "objectId", "name",      "domain"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, n->db, "CUPTI_ACTIVITY_KIND_MARKER", columns, COLUMNS);
    while (next(n, &scan)) {
        int64_t flags = kino__sqlite_scan_int(&scan, FLAGS), id = kino__sqlite_scan_int(&scan, ID);
        open_marker marker = {.start = kino__sqlite_scan_int(&scan, TIME),
                              .name = kino__sqlite_scan_int(&scan, NAME),
                              .domain = kino__sqlite_scan_int(&scan, DOMAIN_ID)};
        read_object(kino__sqlite_scan_text(&scan, OBJECT), &marker);
        if (flags == KINO_NO_INT)
            continue;
        if (is_start && flags & MARKER_START)
            begin_marker(n, id, &marker);
        else if (is_start && flags & MARKER_INSTANT)
            add_mark(n, &marker);
        else if (!is_start && flags & MARKER_END)
            end_marker(n, id, marker.start);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* Markers that never ended last until the end of the trace. */
static void close_markers(nvprof *n)
{
    kino__activities *a = &n->activities;
    int64_t end = a->last_end;
    for (size_t i = 0; i < n->markers.count; i++) {
        const open_marker *marker = &n->markers.items[i];
        if (marker->start == KINO_NO_INT)
            continue;
        kino__event_args_add(&a->args, a->keys[KINO__KEY_FINISHED], KINO__ARG_FALSE, 0);
        add_range(n, marker, end > marker->start ? end : marker->start);
    }
}

/* -- all of it -- */

static void read_tables(nvprof *n)
{
    read_strings(n);
    kino__activities_settle(&n->activities);
    read_calls(n, "CUPTI_ACTIVITY_KIND_RUNTIME", false);
    read_calls(n, "CUPTI_ACTIVITY_KIND_DRIVER", true);
    read_kernels(n, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
    read_kernels(n, "CUPTI_ACTIVITY_KIND_KERNEL");
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMCPY");
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMCPY2");
    read_sets(n);
    read_waits(n);
    read_markers(n, true);
    read_markers(n, false);
    close_markers(n);
}

kino_status kino__nvprof_load(const kino__sqlite *db, const kino__load_context *context,
                              kino__trace *trace, kino_error *err)
{
    nvprof n = {.db = db};
    kino__activities_init(&n.activities, db, context);
    kino__map_init(&n.string_of, NULL);
    kino__map_init(&n.kernel_of, NULL);
    kino__map_init(&n.marker_of, NULL);
    kino__demangler_open(&n.demangler);
    trace->format = KINO__STR("nvprof");
    read_tables(&n);
    kino_status st = kino__activities_build(&n.activities, trace, context->pool, err);
    kino__activities_deinit(&n.activities);
    kino__map_deinit(&n.string_of);
    kino__map_deinit(&n.kernel_of);
    kino__map_deinit(&n.marker_of);
    kino__demangler_close(&n.demangler);
    kino__vec_deinit(&n.markers);
    return st;
}

/* The schema is often in the first bytes. */
static int sniff(kino_str head)
{
    bool is_ours = kino__sqlite_is(head) && kino__str_contains(head, KINO__STR("StringTable"));
    return is_ours ? 95 : 0;
}

const kino__reader_def kino__reader_nvprof = {
    .name = "nvprof",
    .help = "nvprof's SQLite file (nvprof -o FILE)",
    .sniff = sniff,
    .load = kino__profile_database_load,
};
