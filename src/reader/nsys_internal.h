/* nsys_internal.h - what the files of the Nsight Systems reader share.
 *
 *   nsys.c          the file, the order of things, the top-level keys
 *   nsys_strings.c  StringIds: where each text lies, made a text of the trace when a row needs it
 *   nsys_device.c   kernels, copies, sets, waits, graphs as a whole, metrics of devices
 *   nsys_host.c     calls of CUDA and of the system, names of threads and processes
 *   nsys_nvtx.c     ranges and marks, their domains and categories
 *   nsys_payload.c  binary payloads of ranges (NCCL's)
 *   nsys_graph.c    which range was open when a node of a CUDA graph was made
 *
 * Environment variables, command lines and captured output are in tables that nobody here reads,
 * and among the strings; only strings that a row of another table names become texts. */
#ifndef KINO__READER_NSYS_INTERNAL_H
#define KINO__READER_NSYS_INTERNAL_H

#include "reader/activities.h"
#include "reader/sqlite_file.h"

/* -- strings -- */

typedef struct kino__nsys_string {
    uint64_t position; /* of its row; 0: there is none */
    kino_strid text;   /* of the trace, KINO_NO_STRING: not asked for yet */
    kino_strid call;   /* the same without a version behind it */
} kino__nsys_string;

typedef struct kino__nsys_strings {
    KINO__VEC(kino__nsys_string) items; /* by id */
    KINO__VEC(kino__nsys_string) strays;
    kino__map stray_of; /* other ids -> index */
    kino__sqlite_scan scan;
} kino__nsys_strings;

/* -- what ranges are about -- */

typedef struct kino__nsys_name { /* of a domain, or of a category of it */
    uint64_t process, domain;
    int64_t category; /* KINO_NO_INT: the domain's own */
    kino_strid text;
} kino__nsys_name;

typedef struct kino__nsys_entry { /* of a payload's schema */
    uint64_t domain;
    int64_t schema, index, type, offset;
    kino_strid name;
} kino__nsys_entry;

typedef struct kino__nsys_device { /* that a process knows by a number of its own */
    int64_t pid, cuda, gpu;
} kino__nsys_device;

/* A node of a graph as it was made, and the op that it came from. */
typedef struct kino__nsys_node {
    uint64_t process;
    uint64_t thread; /* globalTid */
    int64_t time;
    int64_t id, original; /* graphNodeId; original KINO_NO_INT: it is no copy */
    uint64_t range;       /* position of the row of the innermost range around it; 0: none */
} kino__nsys_node;

typedef struct kino__nsys {
    kino__sqlite db;
    kino__activities activities;
    kino__nsys_strings strings;
    KINO__VEC(kino__nsys_name) names;
    KINO__VEC(kino__nsys_entry) entries;
    KINO__VEC(kino__nsys_device) devices;
    KINO__VEC(kino__nsys_node) nodes;
    kino__map node_of;     /* hash of process and graphNodeId -> node */
    kino__map external_of; /* position of a range's row -> its "External id" */
    bool has_own_devices;  /* processes number their devices differently */
    uint64_t events;       /* that there will be, as far as was looked */
} kino__nsys;

static inline bool kino__nsys_next(kino__nsys *n, kino__sqlite_scan *scan)
{
    return kino__activities_next(&n->activities, scan);
}

static inline uint64_t kino__nsys_process(int64_t global)
{
    return global == KINO_NO_INT ? 0 : (uint64_t)global >> 24;
}
static inline int64_t kino__nsys_pid(uint64_t process)
{
    return (int64_t)(process & 0xffffff);
}

/* A span on the thread that `global` names. */
static inline kino__thread_span kino__nsys_span(int64_t start, int64_t end, int64_t global)
{
    uint64_t process = kino__nsys_process(global);
    return (kino__thread_span){.start = start,
                               .end = end,
                               .process = process,
                               .pid = kino__nsys_pid(process),
                               .tid = global == KINO_NO_INT ? 0 : global & 0xffffff,
                               .name = KINO_NO_STRING,
                               .correlation = KINO_NO_INT,
                               .external = KINO_NO_INT};
}

/* -- strings */
bool kino__nsys_strings_init(kino__nsys *n);
void kino__nsys_strings_deinit(kino__nsys_strings *strings);
/* The bytes of a string, valid until the next is asked for; data NULL: there is none. */
kino_str kino__nsys_string_bytes(kino__nsys *n, int64_t id);
kino_strid kino__nsys_string_text(kino__nsys *n, int64_t id);
/* A call's name, without its version. */
kino_strid kino__nsys_string_call(kino__nsys *n, int64_t id, uint16_t *category);

/* -- tables: each reads its own, and leaves out what is not there */
void kino__nsys_see_processes(kino__nsys *n);
void kino__nsys_read_device_numbers(kino__nsys *n);
void kino__nsys_read_kernels(kino__nsys *n);
void kino__nsys_read_copies(kino__nsys *n);
void kino__nsys_read_sets(kino__nsys *n);
void kino__nsys_read_waits(kino__nsys *n);
void kino__nsys_read_graphs(kino__nsys *n);
void kino__nsys_read_metrics(kino__nsys *n);
void kino__nsys_read_calls(kino__nsys *n);
void kino__nsys_read_libraries(kino__nsys *n);
void kino__nsys_read_overheads(kino__nsys *n);
void kino__nsys_read_names(kino__nsys *n);
/* Names of domains and categories, before the ranges. */
void kino__nsys_read_definitions(kino__nsys *n);
void kino__nsys_read_ranges(kino__nsys *n);
void kino__nsys_read_schemas(kino__nsys *n);
/* Adds the values of a binary payload to the next event. */
void kino__nsys_add_payload(kino__nsys *n, uint64_t domain, kino_str blob);
void kino__nsys_read_nodes(kino__nsys *n);
/* The "External id" of the op that a node of a graph came from, KINO_NO_INT: none. */
int64_t kino__nsys_node_external(const kino__nsys *n, uint64_t process, int64_t node);

/* Columns of NVTX_EVENTS, for the two who read it. */
enum {
    KINO__NVTX_START,
    KINO__NVTX_END,
    KINO__NVTX_TYPE,
    KINO__NVTX_TEXT,
    KINO__NVTX_TEXT_ID,
    KINO__NVTX_THREAD,
    KINO__NVTX_DOMAIN,
    KINO__NVTX_CATEGORY,
    KINO__NVTX_COLOR,
    KINO__NVTX_PAYLOADS, /* six of them */
    KINO__NVTX_JSON = KINO__NVTX_PAYLOADS + 6,
    KINO__NVTX_JSON_ID,
    KINO__NVTX_BINARY,
    KINO__NVTX_COLUMNS,
};
void kino__nsys_scan_ranges(const kino__nsys *n, kino__sqlite_scan *scan);
/* Is the row a range (with or without an end)? */
bool kino__nsys_is_range(const kino__sqlite_scan *scan);

#endif
