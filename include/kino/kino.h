/* kino/kino.h - libkino, the recorder inside the traced program.
 *
 * Example: record a few training steps.
 *
 *   static void train(int steps)
 *   {
 *       kino_session_options options = KINO_SESSION_OPTIONS_INIT;
 *       kino_error error;
 *       if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
 *           return;
 *       for (int i = 0; i < steps; i++) {
 *           KINO_ZONE("train");
 *           kino_step();
 *       }
 *       kino_stop(NULL);
 *       if (kino_save("trace.json", &error) != KINO_OK)
 *           fprintf(stderr, "%s\n", error.message);
 *   }
 *
 * Recording never blocks, allocates, prints or fails: what does not fit is dropped and counted, and
 * the counts are part of the trace. While not recording, a macro costs a few loads and one branch;
 * with KINO_DISABLED defined before this header it costs nothing. The session functions
 * return a status and fill an optional error; they never print and never end the program.
 *
 * Threads: recording functions may be called from any thread, session functions too (they take
 * turns). Do not record from signal handlers. A child created by fork() records nothing until
 * it prepares its own session. Works in C11 and C++ with gcc and clang. */
#ifndef KINO_KINO_H
#define KINO_KINO_H

#include <kino/base.h>
#include <kino/trace_inline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A span that has begun; {0} is none, and every function takes that. A value: copy it freely, end
 * it once, on any thread (on the thread that began it is cheapest). */
typedef struct kino_span {
    uint64_t id;
} kino_span;

/* -- macros: the name is a literal, and the place in the source is remembered ------------------ */

#define KINO_IMPL_JOIN_(a, b) a##b
#define KINO_IMPL_JOIN(a, b)  KINO_IMPL_JOIN_(a, b)

#ifndef KINO_DISABLED
#    define KINO_IMPL_SITE(name, category)                                                         \
        __extension__({                                                                            \
            static kino_impl_v1_site kino_impl_site_ = {                                           \
                (name), (category), __FILE__, __extension__ __FUNCTION__, __LINE__, 0};            \
            &kino_impl_site_;                                                                      \
        })

/* From here to the end of the block. */
#    define KINO_ZONE(name) KINO_ZONE_CAT(name, "cpu_op")
#    define KINO_ZONE_CAT(name, category)                                                          \
        KINO_IMPL_ZONE(KINO_IMPL_JOIN(kino_impl_zone_, __COUNTER__), name, category)
/* The same with a variable for arguments: KINO_ZONE_NAMED(zone, "read", "io");
 * KINO_ARG_INT(zone, "bytes", n); */
#    define KINO_ZONE_NAMED(variable, name, category)                                              \
        KINO_IMPL_ZONE(KINO_IMPL_JOIN(kino_impl_zone_, variable), name, category);                 \
        __attribute__((unused)) const kino_span variable = {                                       \
            kino_impl_v1_span_of(&KINO_IMPL_JOIN(kino_impl_zone_, variable))}
#    define KINO_IMPL_ZONE(variable, name, category)                                               \
        __attribute__((cleanup(kino_impl_v1_leave), unused)) const kino_impl_v1_zone variable =    \
            kino_impl_v1_enter(KINO_IMPL_SITE(name, category))
/* The function, under its own name. */
#    define KINO_FUNC()                                                                            \
        KINO_IMPL_ZONE(KINO_IMPL_JOIN(kino_impl_zone_, __COUNTER__), __extension__ __FUNCTION__,   \
                       "cpu_op")
/* A range of the user's, shown as annotation, to the end of the block. */
#    define KINO_ANNOTATE(name) KINO_ZONE_CAT(name, "user_annotation")

#    define KINO_INSTANT(name)                                                                     \
        kino_impl_v1_point(KINO_IMPL_SITE(name, "cpu_instant_event"), 0, 0, KINO_IMPL_V1_INSTANT)
#    define KINO_COUNTER(name, value)                                                              \
        kino_impl_v1_point(KINO_IMPL_SITE(name, "counter"),                                        \
                           kino_impl_v1_double_bits((double)(value)), 0,                           \
                           KINO_IMPL_V1_COUNTER | KINO_IMPL_V1_FLAG_DOUBLE << 8)
#    define KINO_COUNTER_INT(name, value)                                                          \
        kino_impl_v1_point(KINO_IMPL_SITE(name, "counter"), (uint64_t)(int64_t)(value), 0,         \
                           KINO_IMPL_V1_COUNTER)
/* An arrow from the span around the start to the span around the end with the same name and id. */
#    define KINO_FLOW_START(name, id) KINO_IMPL_FLOW(name, id, KINO_IMPL_V1_FLOW_START)
#    define KINO_FLOW_STEP(name, id)  KINO_IMPL_FLOW(name, id, KINO_IMPL_V1_FLOW_STEP)
#    define KINO_FLOW_END(name, id)   KINO_IMPL_FLOW(name, id, KINO_IMPL_V1_FLOW_END)
#    define KINO_IMPL_FLOW(name, id, point)                                                        \
        kino_impl_v1_point(KINO_IMPL_SITE(name, name), 0, (uint64_t)(id),                          \
                           KINO_IMPL_V1_FLOW | (uint32_t)(point) << 8)

/* Arguments of a span that has not ended; the key is a literal. */
#    define KINO_ARG_INT(span, key, value)                                                         \
        kino_impl_v1_arg_add((span).id, KINO_IMPL_SITE(key, ""), (uint64_t)(int64_t)(value),       \
                             KINO_IMPL_V1_ARG_INT)
#    define KINO_ARG_UINT(span, key, value)                                                        \
        kino_impl_v1_arg_add((span).id, KINO_IMPL_SITE(key, ""), (uint64_t)(value),                \
                             KINO_IMPL_V1_ARG_UINT)
#    define KINO_ARG_DOUBLE(span, key, value)                                                      \
        kino_impl_v1_arg_add((span).id, KINO_IMPL_SITE(key, ""),                                   \
                             kino_impl_v1_double_bits((double)(value)), KINO_IMPL_V1_ARG_DOUBLE)
#    define KINO_ARG_BOOL(span, key, value)                                                        \
        kino_impl_v1_arg_add((span).id, KINO_IMPL_SITE(key, ""), (value) ? 1u : 0u,                \
                             KINO_IMPL_V1_ARG_BOOL)
#    define KINO_ARG_TEXT(span, key, value) kino_arg_text((span), (key), (value))
#else
#    define KINO_ZONE(name)               ((void)0)
#    define KINO_ZONE_CAT(name, category) ((void)0)
#    define KINO_ZONE_NAMED(variable, name, category)                                              \
        __attribute__((unused)) const kino_span variable = {0}
#    define KINO_FUNC()                       ((void)0)
#    define KINO_ANNOTATE(name)               ((void)0)
#    define KINO_INSTANT(name)                ((void)0)
#    define KINO_COUNTER(name, value)         ((void)0)
#    define KINO_COUNTER_INT(name, value)     ((void)0)
#    define KINO_FLOW_START(name, id)         ((void)0)
#    define KINO_FLOW_STEP(name, id)          ((void)0)
#    define KINO_FLOW_END(name, id)           ((void)0)
#    define KINO_ARG_INT(span, key, value)    ((void)0)
#    define KINO_ARG_UINT(span, key, value)   ((void)0)
#    define KINO_ARG_DOUBLE(span, key, value) ((void)0)
#    define KINO_ARG_BOOL(span, key, value)   ((void)0)
#    define KINO_ARG_TEXT(span, key, value)   ((void)0)
#endif

/* -- functions: for bindings, and for names that are made at run time -------------------------- */

/* Is something being recorded now? */
static inline bool kino_is_recording(void)
{
    return __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED) != 0;
}

/* Texts are copied, and known ones found again; NULL is "". The categories are Kineto's (cpu_op,
 * user_annotation, python_function, ...), or one's own. {0} when nothing is recorded. */
KINO_API kino_span kino_begin(const char *name, const char *category);
KINO_API void kino_end(kino_span span);
/* A range of the user's: kino_begin(name, "user_annotation"). */
KINO_API kino_span kino_annotate(const char *name);

/* The number of a name with its category, for callers that keep it: kino_begin_text then saves the
 * search. Stays valid as long as the process (and in forked children). 0 when memory is out. */
KINO_API uint32_t kino_text(const char *name, const char *category);
KINO_API kino_span kino_begin_text(uint32_t text);

KINO_API void kino_instant(const char *name, const char *category);
KINO_API void kino_counter(const char *name, double value);

typedef enum kino_flow_point {
    KINO_FLOW_POINT_START = 0,
    KINO_FLOW_POINT_STEP = 1,
    KINO_FLOW_POINT_END = 2,
} kino_flow_point;
KINO_API void kino_flow(const char *name, uint64_t id, kino_flow_point point);

/* Arguments of a span that has not ended. Texts of more than KINO_TEXT_MAX bytes are cut, which is
 * counted. A text for kino_arg_json that is not JSON is shown as a string. */
#define KINO_TEXT_MAX 32768
KINO_API void kino_arg_int(kino_span span, const char *key, int64_t value);
KINO_API void kino_arg_uint(kino_span span, const char *key, uint64_t value);
KINO_API void kino_arg_double(kino_span span, const char *key, double value);
KINO_API void kino_arg_bool(kino_span span, const char *key, bool value);
KINO_API void kino_arg_text(kino_span span, const char *key, const char *value);
KINO_API void kino_arg_json(kino_span span, const char *key, const char *json);

/* The autograd sequence number of an operator; on backward ones also the (logical) thread of the
 * forward one, otherwise 0. Forward and backward are linked by both. */
KINO_API void kino_set_sequence(kino_span span, int64_t sequence, uint64_t forward_thread);
/* The same for a framework that numbers threads itself. */
KINO_API void kino_set_sequence_on(kino_span span, int64_t sequence, uint64_t thread,
                                   uint64_t forward_thread);

/* An input of an operator, in order: they become "Input Dims", "Input Strides", "Input type" and
 * "Concrete Inputs". The tensors of a list are between LIST_BEGIN and LIST_END. */
typedef enum kino_input_kind {
    KINO_INPUT_OTHER = 0, /* nothing is known of it but, perhaps, its type */
    KINO_INPUT_TENSOR = 1,
    KINO_INPUT_SCALAR = 2, /* value: its text */
    KINO_INPUT_LIST_BEGIN = 3,
    KINO_INPUT_LIST_END = 4,
} kino_input_kind;

enum { KINO_INPUT_DIMS_MAX = 64 };

typedef struct kino_input {
    uint32_t size; /* KINO_INPUT_INIT */
    kino_input_kind kind;
    const char *type;       /* "float", "c10::BFloat16", "Scalar", ...; NULL: unknown */
    const char *value;      /* scalars; NULL: none */
    const int64_t *dims;    /* tensors */
    const int64_t *strides; /* tensors; NULL: unknown */
    uint32_t dim_count;     /* more than KINO_INPUT_DIMS_MAX: the tensor is kept without them */
} kino_input;
#define KINO_INPUT_INIT                                                                            \
    {                                                                                              \
        sizeof(kino_input), KINO_INPUT_OTHER, NULL, NULL, NULL, NULL, 0                            \
    }
KINO_API void kino_arg_input(kino_span span, const kino_input *input);

/* An allocation, or with negative bytes its end. */
typedef struct kino_memory_event {
    uint32_t size;        /* KINO_MEMORY_EVENT_INIT */
    int32_t device_type;  /* as PyTorch counts: 0 CPU, 1 CUDA, ... */
    int32_t device_index; /* -1: none */
    bool is_failure;      /* the allocator had no memory: [OutOfMemory] */
    uint64_t address;
    int64_t bytes;
    int64_t total_allocated; /* afterwards; KINO_NO_INT: unknown */
    int64_t total_reserved;
} kino_memory_event;
#define KINO_MEMORY_EVENT_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_memory_event), 0, -1, false, 0, 0, KINO_NO_INT, KINO_NO_INT                    \
    }
KINO_API void kino_memory(const kino_memory_event *event);

/* Names the calling thread; otherwise it has the name the system knows. */
KINO_API void kino_thread_name(const char *name);

/* A top-level key of the trace, of this process and all its sessions: the last value of a key
 * counts. The value is JSON; NULL: without the key from now on. */
KINO_API kino_status kino_metadata(const char *key, const char *json, kino_error *err);
/* An object of deviceProperties. */
KINO_API kino_status kino_device_properties(const char *json, kino_error *err);

/* The end of a step of the program (an iteration), and the begin of the next. Counts also while
 * nothing is recorded. Returns the number of the step that begins. */
KINO_API uint64_t kino_step(void);

/* -- sessions ---------------------------------------------------------------------------------- */

typedef enum kino_mode {
    KINO_MODE_CAPTURE = 0, /* a window: when the buffer is full, what comes is dropped */
    KINO_MODE_FLIGHT = 1,  /* always on: when the buffer is full, the oldest is overwritten */
} kino_mode;

typedef enum kino_session_phase {
    KINO_SESSION_IDLE = 0,
    KINO_SESSION_PREPARED = 1,
    KINO_SESSION_RECORDING = 2,
    KINO_SESSION_STOPPED = 3, /* there is something to save */
} kino_session_phase;

typedef struct kino_session_options {
    uint32_t size; /* KINO_SESSION_OPTIONS_INIT */
    kino_mode mode;
    uint64_t budget_bytes; /* of everything that is kept while recording; 0: 64 MiB */
    const char *directory; /* where the buffers are; NULL: $KINO_DIR, else /dev/shm, else /tmp */
    const char *exit_path; /* where a session goes that is recorded when the process exits; NULL:
                              nowhere */
    const char *trace_id;  /* the trace says it; or NULL */
} kino_session_options;
#define KINO_SESSION_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_session_options), KINO_MODE_CAPTURE, 0, NULL, NULL, NULL                       \
    }
#define KINO_BUDGET_MIN_BYTES (2u << 20)

/* Does everything that could disturb the program later: creates the buffers, allocates and touches
 * them, calibrates the clock. A full disk or an unwritable directory is an error here. A stopped
 * session that was not saved is discarded; one that is being written is waited for.
 * options NULL: the defaults. */
KINO_API kino_status kino_prepare(const kino_session_options *options, kino_error *err);
/* Requires kino_prepare, each time. */
KINO_API kino_status kino_start(kino_error *err);
/* Returns in milliseconds whatever was recorded. Spans that are open stay open in the trace
 * ("finished": false). */
KINO_API kino_status kino_stop(kino_error *err);
/* Discards a session: what was recorded, its buffers and their files. */
KINO_API void kino_discard(void);

/* Writes what was recorded: ".kino" names become Kino's own format, all others Chrome JSON as
 * Kineto writes it. A path, file://PATH, or a URL for which a logger is registered
 * (kino/control.h). The file appears when it is complete. The session stays stopped and may be
 * saved again. */
KINO_API kino_status kino_save(const char *path, kino_error *err);
/* The same on another thread: returns immediately. kino_wait has the outcome. A logger is called on
 * that thread, too. */
KINO_API kino_status kino_save_async(const char *path, kino_error *err);
/* Waits for a kino_save_async to end and returns its status; KINO_OK when there is none. */
KINO_API kino_status kino_wait(kino_error *err);
/* Writes a copy of the buffers while recording continues; needs as much memory again as they
 * have. `last_ns`: only what ended in the last `last_ns` ns; 0: everything. */
KINO_API kino_status kino_dump(const char *path, uint64_t last_ns, kino_error *err);

typedef struct kino_session_state {
    uint32_t size; /* sizeof(kino_session_state), set by the caller */
    kino_session_phase phase;
    kino_mode mode;
    bool is_saving;
    uint64_t budget_bytes;
    uint64_t used_bytes; /* of the buffer, in whole segments */
    uint64_t dropped;    /* records, for all reasons */
    uint64_t step;       /* number of the step that runs */
    uint32_t threads;    /* that have recorded something */
} kino_session_state;
KINO_API void kino_session_get(kino_session_state *out);

/* The directory of the buffers, for `kino recover`; "" while there is none. The text is copied. */
KINO_API void kino_session_directory(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
