/* kino/record_function.h - record functions: the hook of a framework for observers.
 *
 * A framework opens a record function around each operator; observers add a callback, a pair of
 * start and end. Kino's recorder can be one of them: functions then become spans
 * (kino_record_spans_enable).
 *
 * Example: a record function around an operator.
 *
 *   static void multiply(void)
 *   {
 *       kino_record_function fn;
 *       if (kino_record_open(&fn, KINO_SCOPE_FUNCTION)) { // there are callbacks
 *           kino_record_details details = KINO_RECORD_DETAILS_INIT;
 *           details.name = "aten::mm"; // and, if fn.needs & KINO_RECORD_INPUTS, details.inputs
 *           kino_record_start(&fn, &details);
 *       }
 *       // the operator's work
 *       kino_record_end(&fn);
 *   }
 *
 * Or, with only a name, KINO_RECORD_FUNCTION("aten::mm"); to the end of the block. Without
 * callbacks this costs one thread-local load and a test. This is PyTorch's RecordFunction, with its
 * rules; docs/internals/record-functions.md lists the differences.
 *
 * Threads: any. Not from signal handlers. Callbacks must not throw or jump away. */
#ifndef KINO_RECORD_FUNCTION_H
#define KINO_RECORD_FUNCTION_H

#include <kino/kino.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are PyTorch's, as far as it has them. */
typedef enum kino_record_scope {
    KINO_SCOPE_FUNCTION = 0,          /* an operator */
    KINO_SCOPE_BACKWARD_FUNCTION = 1, /* a node of autograd */
    KINO_SCOPE_TORCHSCRIPT_FUNCTION = 2,
    KINO_SCOPE_KERNEL_FUNCTION_DTYPE = 3,
    KINO_SCOPE_CUSTOM_CLASS = 4,
    KINO_SCOPE_BUILD_FEATURE = 5,
    KINO_SCOPE_LITE_INTERPRETER = 6,
    KINO_SCOPE_USER = 7, /* a range of the user's */
    KINO_SCOPE_STATIC_RUNTIME_OP = 8,
    KINO_SCOPE_STATIC_RUNTIME_MODEL = 9,
    KINO_SCOPE_KERNEL_LAUNCH = 10,
} kino_record_scope;
enum { KINO_SCOPE_COUNT = 11 };
#define KINO_SCOPES_ALL ((1u << KINO_SCOPE_COUNT) - 1)

/* What callbacks ask for. */
enum {
    KINO_RECORD_INPUTS = 1,
    KINO_RECORD_OUTPUTS = 2,
    KINO_RECORD_IDS = 4, /* a number for each function */
};

/* -- what an operator works on ---------------------------------------------------------------- */

typedef enum kino_value_kind {
    KINO_VALUE_NONE = 0,
    KINO_VALUE_TENSOR = 1,
    KINO_VALUE_INT = 2,
    KINO_VALUE_DOUBLE = 3,
    KINO_VALUE_BOOL = 4,
    KINO_VALUE_TEXT = 5,
    KINO_VALUE_INTS = 6,       /* a list of integers */
    KINO_VALUE_LIST_BEGIN = 7, /* the tensors of a list are between these two */
    KINO_VALUE_LIST_END = 8,
    KINO_VALUE_OTHER = 9, /* nothing is known of it but, perhaps, its type */
} kino_value_kind;

/* Everything it points to must last as long as the call that it is given to (outputs: as long as
 * the function). Fields of other kinds are 0. */
typedef struct kino_record_value {
    kino_value_kind kind;
    uint32_t count;   /* of dims, of ints */
    const char *type; /* tensors: "float", "c10::BFloat16", ...; others: NULL for the usual */
    const char *key;  /* of a keyword input; NULL: one by position */
    int64_t integer;  /* INT, BOOL */
    double real;
    const char *text;
    const int64_t *items; /* dims (NULL: unknown) or ints */
    const int64_t *strides;
    /* tensors, 0 where unknown */
    int32_t device_type; /* as PyTorch counts: 0 CPU, 1 CUDA, ... */
    int32_t device_index;
    uint64_t tensor_id, storage_id;
    uint64_t address;
    int64_t offset, element_count; /* in the storage, in elements */
    uint32_t element_size;
    uint32_t reserved;
} kino_record_value;

static inline kino_record_value kino_value_none(void)
{
    kino_record_value value;
    __builtin_memset(&value, 0, sizeof value);
    return value;
}

static inline kino_record_value kino_value_tensor(const char *type, const int64_t *dims,
                                                  const int64_t *strides, uint32_t count)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_TENSOR;
    value.type = type;
    value.items = dims;
    value.strides = strides;
    value.count = count;
    return value;
}

static inline kino_record_value kino_value_int(int64_t integer)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_INT;
    value.integer = integer;
    return value;
}

static inline kino_record_value kino_value_double(double real)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_DOUBLE;
    value.real = real;
    return value;
}

static inline kino_record_value kino_value_bool(bool held)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_BOOL;
    value.integer = held;
    return value;
}

static inline kino_record_value kino_value_text(const char *text)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_TEXT;
    value.text = text;
    return value;
}

static inline kino_record_value kino_value_ints(const int64_t *items, uint32_t count)
{
    kino_record_value value = kino_value_none();
    value.kind = KINO_VALUE_INTS;
    value.items = items;
    value.count = count;
    return value;
}

/* KINO_VALUE_LIST_BEGIN or _END. */
static inline kino_record_value kino_value_mark(kino_value_kind kind)
{
    kino_record_value value = kino_value_none();
    value.kind = kind;
    return value;
}

/* -- record functions ------------------------------------------------------------------------- */

typedef struct kino_record_function kino_record_function;
typedef void *(*kino_record_start_fn)(const kino_record_function *fn, void *user);
typedef void (*kino_record_end_fn)(const kino_record_function *fn, void *context, void *user);

enum { KINO_IMPL_RECORD_INLINE = 4 };

/* A callback that takes part in one function. Not for use by hand. */
typedef struct kino_impl_v1_record_slot {
    kino_record_start_fn start;
    kino_record_end_fn end;
    void *user;
    void *context; /* what start returned */
    void *pinned;
} kino_impl_v1_record_slot;

/* One that runs. In the caller's storage, which must not move between open and end. Callbacks (and,
 * after kino_record_open, the caller) read the fields up to the line. */
struct kino_record_function {
    uint32_t callback_count; /* that take part; 0: nothing else here is valid */
    uint32_t needs;          /* KINO_RECORD_*: what any of them requested */
    kino_record_scope scope;
    bool is_async; /* it may end on another thread */
    bool is_started;
    const char *name;
    kino_impl_v1_site *site; /* or NULL */
    uint64_t id;             /* unique in the process; 0 when no callback needs ids */
    int64_t sequence;        /* of autograd; -1: none */
    uint64_t thread;         /* logical number of the thread that opened it: 1, 2, 3, ... */
    uint64_t forward_thread; /* on backward functions: logical number of the forward's; else 0 */
    int64_t debug_handle;    /* -1: none */
    const kino_record_value *inputs;  /* while start callbacks run, and if requested; or NULL */
    const kino_record_value *outputs; /* the same while end callbacks run */
    uint32_t input_count, output_count;
    /* ---- */
    kino_impl_v1_record_slot slots[KINO_IMPL_RECORD_INLINE];
    kino_impl_v1_record_slot *more; /* the others */
};

/* What start callbacks receive. Texts and inputs need to last as long as the function runs, or as
 * long as kino_record_start, respectively. */
typedef struct kino_record_details {
    uint32_t size; /* KINO_RECORD_DETAILS_INIT */
    bool is_async;
    const char *name;        /* NULL: "" */
    kino_impl_v1_site *site; /* saves the recorder the search for the name; or NULL */
    int64_t sequence;
    uint64_t forward_thread;
    int64_t debug_handle;
    const kino_record_value *inputs;
    uint32_t input_count;
} kino_record_details;
#define KINO_RECORD_DETAILS_INIT                                                                   \
    {                                                                                              \
        sizeof(kino_record_details), false, NULL, NULL, -1, 0, -1, NULL, 0                         \
    }

/* What the fast path knows of its thread: a bit for each scope that has callbacks. */
typedef struct kino_impl_v1_record_thread {
    uint32_t scopes;
    uint32_t reserved;
    void *thread;
} kino_impl_v1_record_thread;
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): programs read it */
KINO_API extern __thread kino_impl_v1_record_thread kino_impl_v1_record_self
    __attribute__((tls_model("initial-exec")));
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */
KINO_API bool kino_impl_v1_record_open(kino_record_function *fn, kino_record_scope scope);
KINO_API void kino_impl_v1_record_end(kino_record_function *fn);

/* Chooses the callbacks that take part, which decides about samples. False: none do; then nothing
 * but `callback_count` is valid, and kino_record_end does nothing. */
static inline bool kino_record_open(kino_record_function *fn, kino_record_scope scope)
{
    fn->callback_count = 0;
    uint32_t scopes = __atomic_load_n(&kino_impl_v1_record_self.scopes, __ATOMIC_RELAXED);
    if (__builtin_expect(!(scopes >> ((uint32_t)scope & 31) & 1), 1))
        return false;
    return kino_impl_v1_record_open(fn, scope);
}

/* Runs the start callbacks, global ones first, in the order they were added. Once for each open. */
KINO_API void kino_record_start(kino_record_function *fn, const kino_record_details *details);
/* Both, with a name only. */
KINO_API void kino_record_start_named(kino_record_function *fn, const char *name);

/* For callbacks that requested outputs; they must last until the end. */
KINO_API void kino_record_set_outputs(kino_record_function *fn, const kino_record_value *outputs,
                                      uint32_t count);

/* Runs the end callbacks in the same order, each with what its start returned: also those that have
 * been removed meanwhile. None when it was not started. Any thread when `is_async`. */
static inline void kino_record_end(kino_record_function *fn)
{
    if (__builtin_expect(fn->callback_count != 0, 0))
        kino_impl_v1_record_end(fn);
}

/* For the cleanup attribute. */
static inline void kino_impl_v1_record_leave(void *fn)
{
    kino_record_end((kino_record_function *)fn);
}

#ifndef KINO_DISABLED
/* From here to the end of the block; the name is a literal. */
#    define KINO_RECORD_FUNCTION(name)     KINO_RECORD_SCOPE(KINO_SCOPE_FUNCTION, name)
#    define KINO_RECORD_SCOPE(scope, name) KINO_IMPL_RECORD(scope, name, "cpu_op")
/* A range of the user's. */
#    define KINO_RECORD_USER(name) KINO_IMPL_RECORD(KINO_SCOPE_USER, name, "user_annotation")

#    define KINO_IMPL_RECORD(scope, name, category)                                                \
        KINO_IMPL_RECORD_(KINO_IMPL_JOIN(kino_impl_record_, __COUNTER__), scope, name, category)
#    define KINO_IMPL_RECORD_(variable, scope, name, category)                                     \
        __attribute__((cleanup(kino_impl_v1_record_leave))) kino_record_function variable;         \
        if (kino_record_open(&variable, scope))                                                    \
        kino_impl_v1_record_start_site(&variable, KINO_IMPL_SITE(name, category))
#else
#    define KINO_RECORD_FUNCTION(name)     ((void)0)
#    define KINO_RECORD_USER(name)         ((void)0)
#    define KINO_RECORD_SCOPE(scope, name) ((void)0)
#endif
KINO_API void kino_impl_v1_record_start_site(kino_record_function *fn, kino_impl_v1_site *site);

/* -- callbacks -------------------------------------------------------------------------------- */

typedef struct kino_record_callback {
    uint32_t size;              /* KINO_RECORD_CALLBACK_INIT */
    uint32_t needs;             /* KINO_RECORD_* */
    uint32_t scopes;            /* 1 << scope, ... */
    double probability;         /* of taking part in a function, from 0 to 1 */
    kino_record_start_fn start; /* or NULL */
    kino_record_end_fn end;     /* or NULL; gets what start returned */
    void *user;
    void (*release)(void *user); /* called once, when the callback is removed everywhere and the
                                    last function that it took part in has ended; or NULL */
} kino_record_callback;
#define KINO_RECORD_CALLBACK_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_record_callback), 0, KINO_SCOPES_ALL, 1.0, NULL, NULL, NULL, NULL              \
    }
enum { KINO_RECORD_CALLBACKS_MAX = 32 }; /* global ones, and of each thread */

/* The handle is never 0 and never used again. */
KINO_API kino_status kino_record_add_global(const kino_record_callback *callback, uint64_t *handle,
                                            kino_error *err);
/* For the calling thread, and for threads that get its state (kino_record_state_install). */
KINO_API kino_status kino_record_add_local(const kino_record_callback *callback, uint64_t *handle,
                                           kino_error *err);
/* One of the calling thread's or a global one. Functions that are opened later do not see it;
 * those that run still call its end. May be called by the callback itself. */
KINO_API kino_status kino_record_remove(uint64_t handle, kino_error *err);
/* Switches one off and on again, keeping its place. */
KINO_API kino_status kino_record_set_enabled(uint64_t handle, bool is_enabled, kino_error *err);
KINO_API void kino_record_clear_global(void);
KINO_API void kino_record_clear_local(void);
KINO_API uint32_t kino_record_count_global(void);
KINO_API uint32_t kino_record_count_local(void);

/* Are record functions enabled on this thread? Returns what was before: a guard sets it back. */
KINO_API bool kino_record_enable(bool is_enabled);
KINO_API bool kino_record_is_enabled(void);

/* Makes samples reproducible: each thread draws from a sequence that follows from the seed and its
 * logical number. 0: from the clock again. */
KINO_API void kino_record_set_seed(uint64_t seed);

/* -- threads ---------------------------------------------------------------------------------- */

/* The calling thread's logical number, counted 1, 2, 3, ... as threads first ask; 0 when memory is
 * out. */
KINO_API uint64_t kino_record_thread(void);

/* The calling thread's autograd counter: the next operator's number, and the same while moving on.
 */
KINO_API int64_t kino_sequence_peek(void);
KINO_API int64_t kino_sequence_next(void);

/* The calling thread's callbacks and whether it is enabled, for work that continues in another
 * thread. NULL when memory is out. */
typedef struct kino_record_state kino_record_state;
KINO_API kino_record_state *kino_record_state_capture(void);
/* Takes the place of what the calling thread had. To set that back, capture it before. NULL:
 * nothing changes. */
KINO_API void kino_record_state_install(const kino_record_state *state);
KINO_API void kino_record_state_free(kino_record_state *state);

/* -- the recorder's own callback -------------------------------------------------------------- */

/* How record functions become spans of the recorder, on all threads. */
typedef struct kino_record_spans_options {
    uint32_t size;    /* KINO_RECORD_SPANS_INIT */
    uint32_t scopes;  /* 1 << scope, ...; 0: they do not become spans */
    bool with_inputs; /* "Input Dims", "Input Strides", "Input type", "Concrete Inputs", keywords */
    bool with_ids;    /* "Record function id" */
    double probability;
} kino_record_spans_options;
#define KINO_RECORD_SPANS_INIT                                                                     \
    {                                                                                              \
        sizeof(kino_record_spans_options), KINO_SCOPES_ALL, false, false, 1.0                      \
    }
/* From now on, also when they are on already. NULL: the usual ones, which hold without a call. */
KINO_API kino_status kino_record_spans_set(const kino_record_spans_options *options,
                                           kino_error *err);
/* Switches them on or off; initially they are off. Best called together with kino_start and
 * kino_stop: while they are on and nothing is recorded, each function costs a wasted call. */
KINO_API void kino_record_spans_enable(bool is_enabled);

#ifdef __cplusplus
}
#endif
#endif
