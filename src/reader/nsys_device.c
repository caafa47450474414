/* nsys_device.c - what ran on devices. */
#include <stdlib.h>

#include "reader/nsys_internal.h"

/* -- what the tables of device work have in common -- */

enum {
    START,
    END,
    DEVICE,
    CONTEXT,
    STREAM,
    CORRELATION,
    PROCESS,
    GRAPH_NODE,
    WORK_COLUMNS,
};
#define WORK_NAMES                                                                                 \
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId"

#define NO_STREAM_ID INT64_C(0xffffffff)

/* A process's number of a device, or the machine's where processes count differently. */
static int64_t device_of(const kino__nsys *n, uint64_t process, int64_t device)
{
    for (size_t i = 0; n->has_own_devices && i < n->devices.count; i++) {
        const kino__nsys_device *d = &n->devices.items[i];
        if (d->cuda == device && (d->pid & 0xffffff) == kino__nsys_pid(process))
            return d->gpu;
    }
    return device;
}

static kino__gpu_activity read_work(const kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino__gpu_activity work = {.start = kino__sqlite_scan_int(scan, START),
                               .end = kino__sqlite_scan_int(scan, END),
                               .context = kino__sqlite_scan_int(scan, CONTEXT),
                               .stream = kino__sqlite_scan_int(scan, STREAM),
                               .correlation = kino__sqlite_scan_int(scan, CORRELATION),
                               .graph = KINO_NO_INT,
                               .graph_exec = KINO_NO_INT,
                               .graph_node = kino__sqlite_scan_int(scan, GRAPH_NODE)};
    work.process = kino__nsys_process(kino__sqlite_scan_int(scan, PROCESS));
    if (!work.process && n->activities.processes.count) /* it is not told: the first one */
        work.process = n->activities.processes.items[0].key;
    work.device = device_of(n, work.process, kino__sqlite_scan_int(scan, DEVICE));
    if (work.stream == NO_STREAM_ID)
        work.stream = KINO_NO_INT;
    if (work.graph_node == 0) /* older exports have no NULL */
        work.graph_node = KINO_NO_INT;
    work.external = kino__nsys_node_external(n, work.process, work.graph_node);
    return work;
}

/* -- kernels -- */

enum {
    DEMANGLED = WORK_COLUMNS,
    SHORT,
    MANGLED,
    REGISTERS,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    GRID,
    BLOCK = GRID + 3,
    GRAPH = BLOCK + 3,
    KERNEL_COLUMNS,
};

static kino_strid kernel_name(kino__nsys *n, const kino__sqlite_scan *scan, kino_strid short_name)
{
    kino_strid name = kino__nsys_string_text(n, kino__sqlite_scan_int(scan, DEMANGLED));
    if (name == KINO_NO_STRING)
        name = short_name;
    if (name == KINO_NO_STRING)
        name = kino__nsys_string_text(n, kino__sqlite_scan_int(scan, MANGLED));
    return name;
}

static void add_kernel(kino__nsys *n, const kino__sqlite_scan *scan)
{
    kino__gpu_activity work = read_work(n, scan);
    kino__kernel_launch launch = {
        .short_name = kino__nsys_string_text(n, kino__sqlite_scan_int(scan, SHORT)),
        .registers = kino__sqlite_scan_int(scan, REGISTERS),
        .static_shared = kino__sqlite_scan_int(scan, STATIC_SHARED),
        .dynamic_shared = kino__sqlite_scan_int(scan, DYNAMIC_SHARED),
    };
    launch.name = kernel_name(n, scan, launch.short_name);
    work.graph = kino__sqlite_scan_int(scan, GRAPH);
    if (work.graph_node == KINO_NO_INT)
        work.graph = KINO_NO_INT;
    else if (work.graph == KINO_NO_INT)
        work.graph = (int64_t)((uint64_t)work.graph_node >> 32);
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = kino__sqlite_scan_int(scan, GRID + i);
        launch.block[i] = kino__sqlite_scan_int(scan, BLOCK + i);
    }
    kino__activities_add_kernel(&n->activities, &work, &launch);
}

void kino__nsys_read_kernels(kino__nsys *n)
{
    static const char *const columns[KERNEL_COLUMNS] = {WORK_NAMES,
                                                        "demangledName",
                                                        "shortName",
                                                        "mangledName",
                                                        "registersPerThread",
                                                        "staticSharedMemory",
                                                        "dynamicSharedMemory",
                                                        "gridX",
                                                        "gridY",
                                                        "gridZ",
                                                        "blockX",
                                                        "blockY",
                                                        "blockZ",
                                                        "graphId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_KERNEL", columns, KERNEL_COLUMNS);
    while (kino__nsys_next(n, &scan))
        add_kernel(n, &scan);
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- copies and sets -- */

/* Nsight Systems numbers kinds of memory from 0 (pageable), with 7 for unknown; CUPTI has that at 0. */
static int64_t memory_kind(int64_t kind)
{
    return kind >= 0 && kind < 7 ? kind + 1 : 0;
}

/* Migrations of managed memory are copies, too. */
static int64_t copy_kind(int64_t kind)
{
    enum { HTOD = 1, DTOH = 2, DTOD = 8, MANAGED_HTOD = 11, MANAGED_DTOH = 12, MANAGED_DTOD = 13 };
    switch (kind) {
    case MANAGED_HTOD:
        return HTOD;
    case MANAGED_DTOH:
        return DTOH;
    case MANAGED_DTOD:
        return DTOD;
    default:
        return kind;
    }
}

void kino__nsys_read_copies(kino__nsys *n)
{
    enum { BYTES = WORK_COLUMNS, KIND, SOURCE, TARGET, FROM, TO, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "bytes",       "copyKind",   "srcKind",
                                                 "dstKind",  "srcDeviceId", "dstDeviceId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__gpu_activity work = read_work(n, &scan);
        kino__memory_copy copy = {
            .kind = copy_kind(kino__sqlite_scan_int(&scan, KIND)),
            .source = memory_kind(kino__sqlite_scan_int(&scan, SOURCE)),
            .target = memory_kind(kino__sqlite_scan_int(&scan, TARGET)),
            .bytes = kino__sqlite_scan_int(&scan, BYTES),
            .from_device = KINO_NO_INT,
            .to_device = KINO_NO_INT,
        };
        if (copy.kind == 10) { /* from one device to another */
            copy.from_device = device_of(n, work.process, kino__sqlite_scan_int(&scan, FROM));
            copy.to_device = device_of(n, work.process, kino__sqlite_scan_int(&scan, TO));
        }
        kino__activities_add_copy(&n->activities, &work, &copy);
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

void kino__nsys_read_sets(kino__nsys *n)
{
    enum { BYTES = WORK_COLUMNS, KIND, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "bytes", "memKind"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_MEMSET", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__gpu_activity work = read_work(n, &scan);
        kino__activities_add_set(&n->activities, &work, kino__sqlite_scan_int(&scan, BYTES),
                                 memory_kind(kino__sqlite_scan_int(&scan, KIND)));
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- waits, and the recordings of events that they wait for -- */

typedef struct recording {
    uint64_t process;
    int64_t context, event, correlation, stream;
} recording;
typedef KINO__VEC(recording) recording_list;

enum { EVENT = WORK_COLUMNS, TIMESTAMP, EVENT_COLUMNS };

static int compare_events(const recording *x, const recording *y)
{
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

static int compare_recordings(const void *a, const void *b)
{
    const recording *x = a, *y = b;
    int order = compare_events(x, y);
    return order ? order : (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static void read_recordings(kino__nsys *n, recording_list *list)
{
    static const char *const columns[EVENT_COLUMNS] = {WORK_NAMES, "eventId", "timestamp"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, EVENT_COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__gpu_activity work = read_work(n, &scan);
        recording r = {work.process, work.context, kino__sqlite_scan_int(&scan, EVENT),
                       work.correlation, work.stream};
        recording *slot = kino__vec_add(list);
        if (!slot) {
            n->activities.events.part.failed = true;
            break;
        }
        *slot = r;
        work.start = kino__sqlite_scan_int(&scan, TIMESTAMP);
        if (work.start != KINO_NO_INT && work.start != 0)
            kino__activities_add_event_record(&n->activities, &work, r.event);
    }
    kino__sqlite_rows_deinit(&scan.rows);
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_recordings);
}

/* The last recording of the event before the wait, NULL: it was not seen. */
static const recording *find_recording(const recording_list *list, const recording *wanted)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_recordings(&list->items[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || compare_events(&list->items[low - 1], wanted) != 0)
        return NULL;
    return &list->items[low - 1];
}

static void add_wait(kino__nsys *n, const kino__sqlite_scan *scan, const recording_list *recorded)
{
    enum { KIND = TIMESTAMP };
    kino__gpu_activity work = read_work(n, scan);
    kino__device_wait wait = {.kind = kino__sqlite_scan_int(scan, KIND),
                              .event = kino__sqlite_scan_int(scan, EVENT),
                              .recorded_stream = KINO_NO_INT,
                              .recorded_correlation = KINO_NO_INT};
    recording wanted = {work.process, work.context, wait.event, work.correlation, 0};
    const recording *found = find_recording(recorded, &wanted);
    if (found) {
        wait.recorded_stream = found->stream;
        wait.recorded_correlation = found->correlation;
    }
    kino__activities_add_wait(&n->activities, &work, &wait);
}

void kino__nsys_read_waits(kino__nsys *n)
{
    static const char *const columns[EVENT_COLUMNS] = {WORK_NAMES, "eventId", "syncType"};
    kino__sqlite_scan scan;
    recording_list recorded = {0};
    read_recordings(n, &recorded);
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns,
                           EVENT_COLUMNS);
    while (kino__nsys_next(n, &scan))
        add_wait(n, &scan, &recorded);
    kino__sqlite_rows_deinit(&scan.rows);
    kino__vec_deinit(&recorded);
}

/* -- graphs that were traced as a whole -- */

void kino__nsys_read_graphs(kino__nsys *n)
{
    enum { GRAPH_ID = WORK_COLUMNS, EXEC_ID, COLUMNS };
    static const char *const columns[COLUMNS] = {WORK_NAMES, "graphId", "graphExecId"};
    kino__buffer name = {0};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__gpu_activity work = read_work(n, &scan);
        kino__kernel_launch launch = {.short_name = KINO_NO_STRING,
                                      .registers = KINO_NO_INT,
                                      .static_shared = KINO_NO_INT,
                                      .dynamic_shared = KINO_NO_INT};
        for (int i = 0; i < 3; i++)
            launch.grid[i] = launch.block[i] = KINO_NO_INT;
        work.graph = kino__sqlite_scan_int(&scan, GRAPH_ID);
        work.graph_exec = kino__sqlite_scan_int(&scan, EXEC_ID);
        name.size = 0;
        kino__buffer_add(&name, KINO__STR("CUDA graph"));
        if (work.graph != KINO_NO_INT)
            kino__buffer_printf(&name, " %lld", (long long)work.graph);
        launch.name = kino__activities_text(&n->activities, kino__buffer_str(&name));
        kino__activities_add_kernel(&n->activities, &work, &launch);
    }
    kino__sqlite_rows_deinit(&scan.rows);
    kino__buffer_deinit(&name);
}

/* -- which device is which -- */

void kino__nsys_read_device_numbers(kino__nsys *n)
{
    enum { GPU, CUDA, PID, COLUMNS };
    static const char *const columns[COLUMNS] = {"gpuId", "cudaId", "pid"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "TARGET_INFO_CUDA_DEVICE", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__nsys_device device = {kino__sqlite_scan_int(&scan, PID),
                                    kino__sqlite_scan_int(&scan, CUDA),
                                    kino__sqlite_scan_int(&scan, GPU)};
        if (device.pid == KINO_NO_INT || device.gpu == KINO_NO_INT || n->devices.count >= 4096)
            continue;
        for (size_t i = 0; i < n->devices.count; i++)
            n->has_own_devices |=
                n->devices.items[i].cuda == device.cuda && n->devices.items[i].gpu != device.gpu;
        kino__nsys_device *slot = kino__vec_add(&n->devices);
        n->activities.events.part.failed |= !slot;
        if (slot)
            *slot = device;
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

/* -- processes, and how far their correlations go -- */

static void see_table(kino__nsys *n, const char *table, const char *process_column)
{
    const char *const columns[] = {process_column, "correlationId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, table, columns, 2);
    for (; kino__nsys_next(n, &scan); n->events++) {
        uint64_t process = kino__nsys_process(kino__sqlite_scan_int(&scan, 0));
        if (process)
            kino__activities_see(&n->activities, process, kino__sqlite_scan_int(&scan, 1));
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

void kino__nsys_see_processes(kino__nsys *n)
{
    see_table(n, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid");
    see_table(n, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid");
    see_table(n, "CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid");
    see_table(n, "CUPTI_ACTIVITY_KIND_MEMSET", "globalPid");
    see_table(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "globalPid");
    see_table(n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "globalPid");
    kino__activities_settle(&n->activities);
}

/* -- metrics of devices over time -- */

typedef struct metric {
    uint64_t key;
    kino_strid name;
} metric;

/* Names by type and number; the low byte of a type is the device. */
static kino_strid find_metric(const metric *items, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].key == key)
            return items[i].name;
    return KINO_NO_STRING;
}

void kino__nsys_read_metrics(kino__nsys *n)
{
    enum { TYPE, METRIC, NAME, TIME = NAME, VALUE, COLUMNS, METRICS_MOST = 1024 };
    static const char *const names[] = {"typeId", "metricId", "metricName"};
    static const char *const columns[COLUMNS] = {"typeId", "metricId", "timestamp", "value"};
    KINO__VEC(metric) metrics = {0};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "TARGET_INFO_GPU_METRICS", names, 3);
    while (metrics.count < METRICS_MOST && kino__nsys_next(n, &scan)) {
        kino_str name = kino__sqlite_scan_text(&scan, NAME);
        metric *slot = name.data ? kino__vec_add(&metrics) : NULL;
        if (slot)
            *slot = (metric){(uint64_t)kino__sqlite_scan_int(&scan, TYPE) * 4099 +
                                 (uint64_t)kino__sqlite_scan_int(&scan, METRIC),
                             kino__activities_text(&n->activities, name)};
    }
    kino__sqlite_rows_deinit(&scan.rows);
    kino__sqlite_scan_init(&scan, &n->db, "GPU_METRICS", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        int64_t type = kino__sqlite_scan_int(&scan, TYPE);
        uint64_t key = (uint64_t)type * 4099 + (uint64_t)kino__sqlite_scan_int(&scan, METRIC);
        kino_strid name = find_metric(metrics.items, metrics.count, key);
        if (name != KINO_NO_STRING)
            kino__activities_add_counter(&n->activities, type & 0xff,
                                         kino__sqlite_scan_int(&scan, TIME), name,
                                         kino__sqlite_scan_int(&scan, VALUE));
    }
    kino__sqlite_rows_deinit(&scan.rows);
    kino__vec_deinit(&metrics);
}
