/* nsys.c - the reader of Nsight Systems' SQLite exports (nsys export --type sqlite).
 *
 * Tables and columns come and go between versions: each is looked up by name, and what is not there
 * is not known. Rows are in no order. The parts are in nsys_internal.h. */
#include <inttypes.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "reader/nsys_internal.h"
#include "reader/profile_database.h"
#include "store/derive.h"

/* -- devices -- */

/* Members of "deviceProperties" in Kineto's order, then what only Nsight Systems knows. */
static const struct {
    const char *column, *key;
} properties[] = {
    {"totalMemory", "totalGlobalMem"},
    {"computeMajor", "computeMajor"},
    {"computeMinor", "computeMinor"},
    {"maxThreadsPerBlock", "maxThreadsPerBlock"},
    {"maxRegistersPerBlock", "regsPerBlock"},
    {"threadsPerWarp", "warpSize"},
    {"maxShmemPerBlock", "sharedMemPerBlock"},
    {"smCount", "numSms"},
    {"maxRegistersPerSm", "regsPerMultiprocessor"},
    {"maxShmemPerBlockOptin", "sharedMemPerBlockOptin"},
    {"maxShmemPerSm", "sharedMemPerMultiprocessor"},
    {"clockRate", "clockRate"},
    {"memoryBandwidth", "memoryBandwidth"},
    {"l2CacheSize", "l2CacheSize"},
};
enum {
    PROPERTIES = sizeof properties / sizeof *properties,
    GPU_ID = PROPERTIES,
    GPU_NAME,
    GPU_WARPS,
    GPU_COLUMNS,
};
enum {
    MAJOR = 1,
    MINOR,
    THREADS,
    BLOCK_REGISTERS,
    WARP,
    BLOCK_SHARED,
    SMS,
    REGISTERS,
    OPTIN,
    SHARED
};

static int32_t limit(const kino__sqlite_scan *scan, int column)
{
    int64_t value = kino__sqlite_scan_int(scan, column);
    return value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

static kino__cuda_limits read_limits(const kino__sqlite_scan *scan)
{
    int32_t warps = limit(scan, GPU_WARPS), warp = limit(scan, WARP);
    kino__cuda_limits limits = {.major = limit(scan, MAJOR),
                                .minor = limit(scan, MINOR),
                                .threads_per_block = limit(scan, THREADS),
                                .registers_per_block = limit(scan, BLOCK_REGISTERS),
                                .warp_size = warp,
                                .shared_per_block = limit(scan, BLOCK_SHARED),
                                .sm_count = limit(scan, SMS),
                                .registers_per_sm = limit(scan, REGISTERS),
                                .shared_per_block_optin = limit(scan, OPTIN),
                                .shared_per_sm = limit(scan, SHARED)};
    if (warps < 4096 && warp < 4096)
        limits.threads_per_sm = warps * warp;
    /* CUDA keeps a kilobyte of each block for itself; the export does not tell. */
    limits.shared_reserved = limits.major >= 8 ? 1024 : 0;
    return limits;
}

static void write_device(const kino__sqlite_scan *scan, kino__json *json)
{
    int32_t threads = read_limits(scan).threads_per_sm;
    kino_str name = kino__sqlite_scan_text(scan, GPU_NAME);
    kino__json_begin_object(json);
    kino__json_key(json, "id");
    kino__json_int(json, kino__sqlite_scan_int(scan, GPU_ID));
    if (name.size) {
        kino__json_key(json, "name");
        kino__json_string(json, name);
    }
    for (int i = 0; i < PROPERTIES; i++) {
        int64_t value = kino__sqlite_scan_int(scan, i);
        if (value == KINO_NO_INT)
            continue;
        kino__json_key(json, properties[i].key);
        kino__json_int(json, value);
    }
    if (threads) {
        kino__json_key(json, "maxThreadsPerMultiprocessor");
        kino__json_int(json, threads);
    }
    kino__json_end_object(json);
}

/* Of a machine's devices those that can run kernels; an integrated one has no multiprocessors. */
static void read_devices(kino__nsys *n, kino__buffer *out)
{
    enum { DEVICES_MOST = 1024 };
    const char *columns[GPU_COLUMNS];
    kino__json json = {.out = out};
    kino__sqlite_scan scan;
    for (int i = 0; i < PROPERTIES; i++)
        columns[i] = properties[i].column;
    columns[GPU_ID] = "id";
    columns[GPU_NAME] = "name";
    columns[GPU_WARPS] = "maxWarpsPerSm";
    kino__sqlite_scan_init(&scan, &n->db, "TARGET_INFO_GPU", columns, GPU_COLUMNS);
    kino__json_begin_array(&json);
    while (n->activities.limits.count < DEVICES_MOST && kino__nsys_next(n, &scan)) {
        int64_t sms = kino__sqlite_scan_int(&scan, SMS), id = kino__sqlite_scan_int(&scan, GPU_ID);
        if (id == KINO_NO_INT || sms == 0)
            continue;
        kino__device_limits *slot = kino__vec_add(&n->activities.limits);
        n->activities.events.part.failed |= !slot;
        if (slot)
            *slot = (kino__device_limits){id, read_limits(&scan)};
        write_device(&scan, &json);
    }
    kino__json_end_array(&json);
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- top-level keys -- */

static bool add_key(kino__trace *trace, const char *key, kino_str json)
{
    return kino__trace_add_metadata(trace, kino__str_from(key), json);
}

/* The value of a table with the columns name and value; false: there is none. */
static bool find_value(kino__nsys *n, const char *table, const char *wanted, kino__buffer *out)
{
    enum { NAME, VALUE, COLUMNS };
    static const char *const columns[COLUMNS] = {"name", "value"};
    bool is_found = false;
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, table, columns, COLUMNS);
    while (!is_found && kino__nsys_next(n, &scan)) {
        is_found = kino__str_is(kino__sqlite_scan_text(&scan, NAME), wanted);
        kino_str text = kino__sqlite_scan_text(&scan, VALUE);
        int64_t number = kino__sqlite_scan_int(&scan, VALUE);
        if (is_found && text.size)
            kino__json_add_string(out, text);
        else if (is_found && number != KINO_NO_INT)
            kino__buffer_printf(out, "%" PRId64, number);
    }
    kino__sqlite_rows_deinit(&scan.rows);
    return is_found && out->size;
}

static bool add_value(kino__nsys *n, kino__trace *trace, const char *table, const char *name,
                      const char *key)
{
    kino__buffer text = {0};
    bool ok = !find_value(n, table, name, &text) || add_key(trace, key, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    return ok;
}

/* The newer of the two names of the table that is written last; NULL: the export is not complete. */
static const char *export_table(const kino__nsys *n)
{
    if (kino__sqlite_find(&n->db, "META_DATA_EXPORT"))
        return "META_DATA_EXPORT";
    return kino__sqlite_find(&n->db, "EXPORT_META_DATA") ? "EXPORT_META_DATA" : NULL;
}

/* When the session began, which times count from. */
static bool add_clock(kino__nsys *n, kino__trace *trace)
{
    static const char *const columns[] = {"utcEpochNs"};
    char text[KINO__DECIMAL_MAX];
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "TARGET_INFO_SESSION_START_TIME", columns, 1);
    int64_t base = kino__nsys_next(n, &scan) ? kino__sqlite_scan_int(&scan, 0) : 0;
    kino__sqlite_rows_deinit(&scan.rows);
    if (base <= 0 || base > INT64_MAX / 2)
        return true;
    return add_key(trace, "baseTimeNanoseconds", (kino_str){text, kino__format_int(base, text)});
}

static bool add_keys(kino__nsys *n, kino__trace *trace, kino_str devices)
{
    const char *export = export_table(n);
    if (!export)
        kino__ledger_add(n->db.ledger, KINO__DAMAGE_TRUNCATED, n->db.size);
    return (devices.size <= 2 || add_key(trace, "deviceProperties", devices)) &&
           add_clock(n, trace) &&
           (!export ||
            (add_value(n, trace, export, "EXPORT_PRODUCT_VERSION", "nsys_version") &&
             add_value(n, trace, export, "EXPORT_SCHEMA_VERSION", "nsys_schema_version"))) &&
           add_value(n, trace, "TARGET_INFO_SYSTEM_ENV", "Hostname", "host_name") &&
           add_value(n, trace, "TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion",
                     "cuda_driver_version");
}

/* -- all of it -- */

/* Room for the events that are known to come, so that they need not be copied while they grow. */
static void reserve(kino__nsys *n)
{
    uint64_t most = n->activities.most / sizeof(kino__record);
    kino__part *part = &n->activities.events.part;
    if (n->events && n->events <= most && n->events < KINO__EVENTS_MOST &&
        !kino__part_reserve(part, n->events + n->events / 64 + 1024))
        part->failed = true;
}

static void read_tables(kino__nsys *n)
{
    kino__nsys_see_processes(n);
    kino__nsys_read_definitions(n);
    reserve(n);
    kino__nsys_read_device_numbers(n);
    kino__nsys_read_schemas(n);
    kino__nsys_read_nodes(n);
    kino__nsys_read_calls(n);
    kino__nsys_read_kernels(n);
    kino__nsys_read_graphs(n);
    kino__nsys_read_copies(n);
    kino__nsys_read_sets(n);
    kino__nsys_read_waits(n);
    kino__nsys_read_libraries(n);
    kino__nsys_read_ranges(n);
    kino__nsys_read_overheads(n);
    kino__nsys_read_metrics(n);
    kino__nsys_read_names(n);
}

/* Everything but the events: before the trace is made of them, which takes the most memory. */
static void forget_tables(kino__nsys *n)
{
    kino__nsys_strings_deinit(&n->strings);
    kino__vec_deinit(&n->names);
    kino__vec_deinit(&n->entries);
    kino__vec_deinit(&n->devices);
    kino__vec_deinit(&n->nodes);
    kino__map_deinit(&n->node_of);
    kino__map_deinit(&n->external_of);
}

kino_status kino__nsys_load(const kino__sqlite *db, const kino__load_context *context,
                            kino__trace *trace, kino_error *err)
{
    kino__nsys n = {.db = *db}; /* which stays the caller's */
    kino__buffer devices = {0};
    kino__activities_init(&n.activities, db, context);
    kino__map_init(&n.node_of, NULL);
    kino__map_init(&n.external_of, NULL);
    trace->format = KINO__STR("nsys");
    if (!kino__nsys_strings_init(&n))
        n.activities.events.part.failed = true;
    read_devices(&n, &devices);
    read_tables(&n);
    bool has_keys = add_keys(&n, trace, kino__buffer_str(&devices)) && !devices.failed;
    forget_tables(&n);
    if (db->file)
        kino__file_rest(db->file);
    kino_status st = has_keys ? kino__activities_build(&n.activities, trace, context->pool, err)
                              : kino__fail_nomem(err);
    kino__buffer_deinit(&devices);
    kino__activities_deinit(&n.activities);
    return st;
}

static int sniff(kino_str head)
{
    return kino__profile_database_sniff(head) ? 90 : 0;
}

const kino__reader_def kino__reader_nsys = {
    .name = "nsys",
    .help = "Nsight Systems' SQLite export (nsys export --type sqlite)",
    .sniff = sniff,
    .load = kino__profile_database_load,
};
