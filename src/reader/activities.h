/* activities.h - CUDA activities as events in Kineto's words: what readers of profilers' databases
 * share.
 *
 *   kernels, copies, sets, waits   on a row of their device and stream
 *   calls, ranges, marks           on the row of their thread
 *
 * Arguments that many events have (place, shape of a launch) are kept once. Numbers that are not
 * known are KINO_NO_INT and left out. Correlations of different processes are told apart here: the
 * events of each process are shifted by what those before it use. When memory is out, everything
 * later does nothing, and kino__activities_build says so. */
#ifndef KINO__READER_ACTIVITIES_H
#define KINO__READER_ACTIVITIES_H

#include "base/cuda_occupancy.h"
#include "names/op_marker.h"
#include "reader/reader.h"
#include "reader/sqlite_file.h"
#include "store/event_args.h"
#include "store/event_builder.h"

#define KINO__ACTIVITY_KEY_MAP(X)                                                                  \
    X(CORRELATION, "correlation")                                                                  \
    X(EXTERNAL, "External id")                                                                     \
    X(DEVICE, "device")                                                                            \
    X(CONTEXT, "context")                                                                          \
    X(STREAM, "stream")                                                                            \
    X(REGISTERS, "registers per thread")                                                           \
    X(SHARED, "shared memory")                                                                     \
    X(BLOCKS, "blocks per SM")                                                                     \
    X(WARPS, "warps per SM")                                                                       \
    X(GRID, "grid")                                                                                \
    X(BLOCK, "block")                                                                              \
    X(OCCUPANCY, "est. achieved occupancy %")                                                      \
    X(GRAPH, "graph id")                                                                           \
    X(GRAPH_EXEC, "graph exec id")                                                                 \
    X(GRAPH_NODE, "graph node id")                                                                 \
    X(SHORT_NAME, "short name")                                                                    \
    X(BYTES, "bytes")                                                                              \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                        \
    X(FROM_DEVICE, "fromDevice")                                                                   \
    X(TO_DEVICE, "toDevice")                                                                       \
    X(SYNC_KIND, "cuda_sync_kind")                                                                 \
    X(WAIT_STREAM, "wait_on_stream")                                                               \
    X(WAIT_CORRELATION, "wait_on_cuda_event_record_corr_id")                                       \
    X(WAIT_EVENT, "wait_on_cuda_event_id")                                                         \
    X(EVENT_ID, "event_id")                                                                        \
    X(RETURN, "return value")                                                                      \
    X(CBID, "cbid")                                                                                \
    X(SEQUENCE, "Sequence number")                                                                 \
    X(FORWARD_THREAD, "Fwd thread id")                                                             \
    X(RECORD_FUNCTION, "Record function id")                                                       \
    X(DIMS, "Input Dims")                                                                          \
    X(DOMAIN_NAME, "domain")                                                                       \
    X(CATEGORY, "category")                                                                        \
    X(COLOR, "color")                                                                              \
    X(PAYLOAD, "payload")                                                                          \
    X(FINISHED, "finished")                                                                        \
    X(VALUE, "value")                                                                              \
    X(NAME, "name")                                                                                \
    X(LABELS, "labels")

typedef enum kino__activity_key {
#define KINO__KEY_NUMBER(name, text) KINO__KEY_##name,
    KINO__ACTIVITY_KEY_MAP(KINO__KEY_NUMBER)
#undef KINO__KEY_NUMBER
        KINO__KEY_COUNT,
} kino__activity_key;

/* What a device is able to do, as far as it is known. */
typedef struct kino__device_limits {
    int64_t device;
    kino__cuda_limits cuda;
} kino__device_limits;

/* A process: its correlations are `offset` more than the file has. */
typedef struct kino__activity_process {
    uint64_t key;
    int64_t most; /* correlation */
    int64_t offset;
} kino__activity_process;

typedef struct kino__activity_group {
    uint64_t hash;
    uint64_t place;
    size_t words; /* where they begin */
} kino__activity_group;

/* A row of the timeline that has a name to be found. */
typedef struct kino__activity_row {
    uint64_t process; /* key */
    int64_t device;   /* KINO_NO_INT: a thread */
    int64_t number;   /* of the stream, or the thread */
    uint32_t track;
    bool is_sync;
} kino__activity_row;

typedef struct kino__activities {
    kino__event_builder events;
    kino__event_args args;
    kino_strid keys[KINO__KEY_COUNT];
    uint16_t kernel, runtime, driver, memcpy, memset, sync, event, annotation, op, overhead;
    KINO__VEC(kino__device_limits) limits;
    KINO__VEC(kino__activity_process) processes;
    KINO__VEC(kino__activity_row) rows;
    kino__map row_of;     /* hash of process, device, number -> row */
    kino__map group_of;   /* hash of the words -> group */
    kino__map process_of; /* key -> process */
    KINO__VEC(kino__activity_group) groups;
    KINO__VEC(int64_t) words;
    uint32_t last_row, last_process;
    uint64_t most; /* bytes that events may take */
    kino__ledger *ledger;
    int64_t last_end; /* of all spans */
    bool is_over;     /* `most` is used up */
    kino__progress *progress;
    uint64_t read; /* rows */
    bool is_cancelled;
} kino__activities;

/* For the rows of this database, whose ledger is borrowed. */
void kino__activities_init(kino__activities *a, const kino__sqlite *db,
                           const kino__load_context *context);
void kino__activities_deinit(kino__activities *a);
/* Memory is out, or too much of it was used. */
bool kino__activities_failed(const kino__activities *a);

static inline kino_strid kino__activities_text(kino__activities *a, kino_str text)
{
    return kino__event_builder_text(&a->events, text);
}
uint16_t kino__activities_category(kino__activities *a, const char *text);

/* The next row of a table; false at its end, when memory is out and when the user has enough. */
bool kino__activities_next(kino__activities *a, kino__sqlite_scan *scan);

/* -- processes: seen first, with their largest correlation, then used -- */

void kino__activities_see(kino__activities *a, uint64_t process, int64_t correlation);
void kino__activities_settle(kino__activities *a);

/* -- arguments of the next event -- */

void kino__activities_arg(kino__activities *a, kino__activity_key key, int64_t value);
void kino__activities_arg_text(kino__activities *a, kino__activity_key key, kino_str text);
void kino__activities_arg_json(kino__activities *a, kino__activity_key key, kino_str json);
void kino__activities_arg_real(kino__activities *a, kino__activity_key key, double value);

/* -- events; `start` and `end` are of the file -- */

/* Work on a device. */
typedef struct kino__gpu_activity {
    int64_t start, end;
    uint64_t process;
    int64_t device, context, stream, correlation;
    int64_t graph, graph_exec, graph_node;
    int64_t external; /* of the op that it belongs to, where that is not found by the launch */
} kino__gpu_activity;

typedef struct kino__kernel_launch {
    kino_strid name, short_name; /* KINO_NO_STRING: none */
    int64_t registers, static_shared, dynamic_shared;
    int64_t grid[3], block[3];
} kino__kernel_launch;

typedef struct kino__memory_copy {
    int64_t kind;           /* CUPTI's number; 0 unknown */
    int64_t source, target; /* CUPTI's memory kinds */
    int64_t bytes, from_device, to_device;
} kino__memory_copy;

typedef struct kino__device_wait {
    int64_t kind;  /* CUPTI's number; 0 unknown */
    int64_t event; /* that is waited for */
    int64_t recorded_stream, recorded_correlation;
} kino__device_wait;

void kino__activities_add_kernel(kino__activities *a, const kino__gpu_activity *work,
                                 const kino__kernel_launch *launch);
void kino__activities_add_copy(kino__activities *a, const kino__gpu_activity *work,
                               const kino__memory_copy *copy);
void kino__activities_add_set(kino__activities *a, const kino__gpu_activity *work, int64_t bytes,
                              int64_t memory);
void kino__activities_add_wait(kino__activities *a, const kino__gpu_activity *work,
                               const kino__device_wait *wait);
void kino__activities_add_event_record(kino__activities *a, const kino__gpu_activity *work,
                                       int64_t event);

/* Something on a thread, with the arguments given since the last event. */
typedef struct kino__thread_span {
    int64_t start, end;
    uint64_t process;
    int64_t pid, tid;
    kino_strid name;
    uint16_t category;
    int64_t correlation, external; /* KINO_NO_INT: none */
} kino__thread_span;

/* Makes the span an op: its name, category and arguments. `forward_thread` is for backward ops. */
void kino__activities_make_op(kino__activities *a, kino__thread_span *span,
                              const kino__op_marker *op, int64_t forward_thread);

void kino__activities_add_span(kino__activities *a, const kino__thread_span *span);
void kino__activities_add_mark(kino__activities *a, const kino__thread_span *span);
/* What the profiler itself cost: on a row for all. */
void kino__activities_add_overhead(kino__activities *a, const kino__thread_span *span);
void kino__activities_add_counter(kino__activities *a, int64_t device, int64_t time,
                                  kino_strid name, int64_t value);

/* A call of CUDA by its name: "_v" and four digits or more at the end are left out. */
kino_str kino__activity_call_name(kino_str name);
uint16_t kino__activities_call_category(const kino__activities *a, kino_str name);

/* -- names and the end -- */

void kino__activities_name_process(kino__activities *a, int64_t pid, kino_str name);
void kino__activities_name_thread(kino__activities *a, uint32_t track, kino_str name);

/* Makes the trace: rows are named as Kineto names them; top-level keys are there already. */
KINO_NODISCARD kino_status kino__activities_build(kino__activities *a, kino__trace *trace,
                                                  kino__pool *pool, kino_error *err);

#endif
