/* xplane_internal.h - the reader of XPlane files (JAX, TensorFlow, PyTorch/XLA), in parts.
 *
 *   xplane.c         the file: planes one after the other, top-level keys, the trace
 *   xplane_plane.c   a plane: names of its events and values, what its lines are
 *   xplane_line.c    the events of a line
 *   xplane_flows.c   producers and consumers joined
 *   xplane_args.c    arguments, made of their event when they are asked for
 *
 * Names of a plane stand behind its events, so every plane is looked through twice; skipping is by
 * length and costs nothing. */
#ifndef KINO__READER_XPLANE_INTERNAL_H
#define KINO__READER_XPLANE_INTERNAL_H

#include "base/vec.h"
#include "reader/reader.h"
#include "store/event_args.h"
#include "store/event_builder.h"
#include "wire/protobuf.h"

/* Values of events that mean something to the reader. */
#define KINO__XSTAT_MAP(X)                                                                         \
    X(CORRELATION, "correlation_id")                                                               \
    X(STEP, "step_num")                                                                            \
    X(KERNEL, "kernel_details")                                                                    \
    X(MEMCPY, "memcpy_details")                                                                    \
    X(MEMSET, "Memset_details")                                                                    \
    X(MEMSET_OLD, "memset_details")                                                                \
    X(PRODUCER_TYPE, "_pt")                                                                        \
    X(PRODUCER, "_p")                                                                              \
    X(CONSUMER_TYPE, "_ct")                                                                        \
    X(CONSUMER, "_c")                                                                              \
    X(FLOW, "flow")                                                                                \
    X(ALLOCATED, "bytes_allocated")                                                                \
    X(RESERVED, "bytes_reserved")                                                                  \
    X(ALLOCATION, "allocation_bytes")                                                              \
    X(ADDRESS, "addr")                                                                             \
    X(ALLOCATOR, "allocator_name")                                                                 \
    X(HLO, "Hlo Proto")

typedef enum kino__xstat_kind {
    KINO__XSTAT_OTHER,
#define KINO__XSTAT_NUMBER(name, text) KINO__XSTAT_##name,
    KINO__XSTAT_MAP(KINO__XSTAT_NUMBER)
#undef KINO__XSTAT_NUMBER
        KINO__XSTAT_KINDS,
} kino__xstat_kind;

/* What an event is called: one entry of a plane's table. */
typedef struct kino__xname {
    kino_str name, display, message;
    kino_strid text; /* of the builder; KINO_NO_STRING: not asked for yet */
    bool is_memory;  /* an allocator's */
} kino__xname;

typedef struct kino__xstat_name {
    kino_str name;
    kino__xstat_kind kind;
} kino__xstat_name;

/* What the events of a line are. */
typedef enum kino__xline_kind {
    KINO__XLINE_HOST,
    KINO__XLINE_WORK,    /* of a device */
    KINO__XLINE_DERIVED, /* what viewers have made of the work: modules, operators, scopes */
    KINO__XLINE_STEPS,
    KINO__XLINE_OVERHEAD,
    KINO__XLINE_COUNTERS,
} kino__xline_kind;

typedef struct kino__xline {
    uint64_t first; /* offset of its message; rising */
    int64_t device, stream;
} kino__xline;

typedef struct kino__xplane {
    uint64_t first; /* offset of its message; rising */
    kino_str name;
    KINO__VEC(kino__xname) names;
    KINO__VEC(kino__xstat_name) stats;
    kino__map name_of, stat_of; /* id -> index */
} kino__xplane;

/* What is kept as long as the trace. */
typedef struct kino__xspace {
    kino_str bytes;
    kino__file file; /* or */
    char *owned;
    KINO__VEC(kino__xplane) planes;
    KINO__VEC(kino__xline) lines;
} kino__xspace;

void kino__xspace_free(kino__xspace *space);
const kino__xplane *kino__xspace_plane_at(const kino__xspace *space, uint64_t offset);
const kino__xline *kino__xspace_line_at(const kino__xspace *space, uint64_t offset);
const kino__xname *kino__xplane_name(const kino__xplane *plane, int64_t id);
const kino__xstat_name *kino__xplane_stat(const kino__xplane *plane, int64_t id);

/* One value of an event. */
typedef struct kino__xstat {
    const kino__xstat_name *name; /* NULL: nobody has named it */
    kino__proto_field value;      /* number 0: none */
} kino__xstat;
kino__xstat kino__xstat_read(const kino__xplane *plane, kino_str message);
/* Its text, also where it refers to one. */
kino_str kino__xstat_text(const kino__xplane *plane, const kino__xstat *stat);
static inline int64_t kino__xstat_int(const kino__xstat *stat)
{
    return kino__proto_int(&stat->value);
}

/* One end of a flow that waits for the other. */
typedef struct kino__xend {
    uint64_t type, id;
    int64_t ts;
    uint32_t row, order;
    bool goes_out, comes_in, has_type;
} kino__xend;

typedef struct kino__xreader {
    const kino__load_context *context;
    kino__xspace *space;
    kino__trace *trace;
    kino__ledger *ledger;
    kino__event_builder events;
    kino__event_args args; /* of names of rows */
    kino__buffer devices;  /* JSON */
    KINO__VEC(kino__xend) ends;
    uint16_t kernel, memcpy, memset, annotation, gpu_annotation, op, python, runtime, driver,
        overhead, instant;
    int64_t base; /* ns since 1970 of the beginning, KINO_NO_INT: unknown */
    bool failed;
} kino__xreader;

/* Where a line belongs. */
typedef struct kino__xplace {
    kino__xplane *plane;
    int64_t pid, device; /* KINO_NO_INT: of a host */
    bool is_tpu;
} kino__xplace;

/* The names of a plane. False: memory is out. */
bool kino__xplane_read(kino__xreader *r, kino__xplane *plane, kino_str message);
/* Its lines and events. */
kino_status kino__xplane_events(kino__xreader *r, size_t plane, kino_str message, kino_error *err);
/* Progress; false: the user has enough. */
bool kino__xline_read(kino__xreader *r, const kino__xplace *place, kino_str message);
void kino__xflows_emit(kino__xreader *r);
/* A name of a row or process, as a metadata event. */
void kino__xreader_name(kino__xreader *r, int64_t pid, int64_t tid, const char *what,
                        const char *key, kino_str text);

/* Places of arguments: the offset of the event's frame plus 1, or with this bit those of typed
 * ones. */
#define KINO__XPLANE_TYPED (UINT64_C(1) << 62)
kino__text *kino__xplane_text_take(kino__xreader *r);

#endif
