/* rocm_tool.c - how the ROCm backend becomes a tool of rocprofiler-sdk.
 *
 * rocprofiler wants its tools to be there before the first use of ROCm: it takes them when it is
 * loaded, and afterwards no more. There are two ways in, with the same tool behind both:
 *
 *   injected     rocprofiler finds rocprofiler_configure in the injected library (rocm.h)
 *   linked       a session is prepared before ROCm is used, and registers by force_configure
 *
 * What is to be traced is decided then, once, in two contexts: the names of kernels, which are
 * collected for ever, and everything else, which is switched on and off with sessions. A service
 * that cannot be had costs its rows, and is said. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/rocm/rocm_internal.h"
#include "tracer/device/device_library.h"
#include "tracer/tracer.h"

enum { OPERATIONS_MAX = 2048 };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's tool */
kino__rocm_state kino__rocm;

static struct {
    bool is_configured; /* atomic: rocprofiler has asked for the tool, */
    bool is_called;     /* atomic: has called it, */
    bool is_ready;      /* atomic: and the contexts are there */
    bool is_forced;     /* force_configure is under way on this thread */
    uint32_t callbacks; /* bits: kinds whose numbers mean what we think */
    uint32_t buffers;   /* the same */
    kino_error failure; /* why it is not ready */
} self;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- the library */

static bool find_functions(kino_error *err)
{
#define WANTED(name, arguments) {"rocprofiler_" #name, true, offsetof(rocp_functions, name)},
    static const kino__backend_function list[] = {
        ROCP_FUNCTION_MAP(WANTED) /* and what is only about comfort: */
        {"rocprofiler_get_status_string", false, offsetof(rocp_functions, get_status_string)}};
#undef WANTED
    const char *missing =
        kino__backend_find(kino__rocm.library, list, sizeof list / sizeof *list, &kino__rocm.call);
    if (missing)
        (void)kino__fail(err, KINO_UNAVAILABLE, "unsupported rocprofiler-sdk: it has no %s",
                         missing);
    return !missing;
}

static const char *status_text(rocp_status status)
{
    const char *text =
        kino__rocm.call.get_status_string ? kino__rocm.call.get_status_string(status) : NULL;
    return text ? text : "unknown reason";
}

bool kino__rocm_check(const char *function, rocp_status status, kino_error *err)
{
    if (status == ROCP_SUCCESS)
        return true;
    (void)kino__fail(err, KINO_UNAVAILABLE, "rocprofiler_%s failed: %s (%d)", function,
                     status_text(status), status);
    return false;
}

static bool check_version(kino_error *err)
{
    uint32_t patch = 0;
    if (!CHECK(get_version, (&kino__rocm.major, &kino__rocm.minor, &patch), err))
        return false;
    (void)snprintf(kino__rocm.version, sizeof kino__rocm.version, "%u.%u.%u", kino__rocm.major,
                   kino__rocm.minor, patch);
    if (kino__rocm.major == ROCP_MAJOR)
        return true;
    (void)kino__fail(err, KINO_UNAVAILABLE,
                     "unsupported rocprofiler-sdk %s (supported: %d.x, ROCm 7)", kino__rocm.version,
                     ROCP_MAJOR);
    return false;
}

typedef rocp_status (*name_of_kind)(uint32_t kind, const char **name, uint64_t *name_size);

/* A number that means something else in this library would make rows of nonsense. */
static bool check_kind(name_of_kind ask, uint32_t kind, const char *wanted, uint32_t *known,
                       kino_error *err)
{
    const char *name = NULL;
    (void)ask(kind, &name, NULL);
    if (name && strcmp(name, wanted) == 0) {
        *known |= 1u << kind;
        return true;
    }
    (void)kino__fail(err, KINO_UNAVAILABLE,
                     "unsupported rocprofiler-sdk %s: the value of %s means %s there",
                     kino__rocm.version, wanted, name ? name : "nothing");
    return false;
}

static bool check_kinds(kino_error *err)
{
    const rocp_functions *call = &kino__rocm.call;
    self.callbacks = self.buffers = 0;
#define CALLBACK(kind, value, is_needed)                                                           \
    if (!check_kind(call->query_callback_tracing_kind_name, value, #kind, &self.callbacks, err) && \
        (is_needed))                                                                               \
        return false;
#define BUFFER(kind, value, is_needed)                                                             \
    if (!check_kind(call->query_buffer_tracing_kind_name, value, #kind, &self.buffers, err) &&     \
        (is_needed))                                                                               \
        return false;
    ROCP_CALLBACK_KIND_MAP(CALLBACK)
    ROCP_BUFFER_KIND_MAP(BUFFER)
#undef CALLBACK
#undef BUFFER
    return true;
}

bool kino__rocm_open(kino_error *err)
{
    static const char *const names[] = {ROCP_LIBRARY, "librocprofiler-sdk.so", NULL};
    if (kino__rocm.library)
        return true;
    void *library = kino__library_open(KINO__ROCM_VARIABLE, names, err);
    if (!library)
        return false;
    kino__rocm.library = library;
    if (find_functions(err) && check_version(err) && check_kinds(err)) {
        kino__error_clear(err); /* of kinds that nobody needs */
        return true;
    }
    kino__rocm.library = NULL;
    return false;
}

/* -- the tool */

/* A part that cannot be had: the first one is told. */
static void note_problem(const char *what, const kino_error *reason)
{
    kino_error text;
    if (kino__rocm.problem[0])
        return;
    (void)kino__fail(&text, KINO_UNAVAILABLE, "no %s: %s", what, reason->message);
    size_t size = strnlen(text.message, sizeof kino__rocm.problem - 1);
    memcpy(kino__rocm.problem, text.message, size);
    kino__rocm.problem[size] = '\0';
}

static const char other_kind[] = "this rocprofiler-sdk uses another value for it";

/* A service of one kind, if its number means what we think. */
static bool trace_callbacks(rocp_id context, uint32_t kind, const int32_t *operations, size_t count,
                            rocp_callback callback, kino_error *reason)
{
    if (self.callbacks & 1u << kind)
        return CHECK(configure_callback_tracing_service,
                     (context, kind, operations, count, callback, NULL), reason);
    (void)kino__fail(reason, KINO_UNAVAILABLE, "%s", other_kind);
    return false;
}

static bool trace_records(rocp_id context, uint32_t kind, kino_error *reason)
{
    if (self.buffers & 1u << kind)
        return CHECK(configure_buffer_tracing_service, (context, kind, NULL, 0, kino__rocm.buffer),
                     reason);
    (void)kino__fail(reason, KINO_UNAVAILABLE, "%s", other_kind);
    return false;
}

static void trace_calls(rocp_id context)
{
    static int32_t operations[OPERATIONS_MAX]; /* once per process */
    kino_error reason;
    size_t count = kino__rocm_operations(operations, OPERATIONS_MAX);
    if (count == 0) {
        (void)kino__fail(&reason, KINO_UNAVAILABLE, "rocprofiler does not name the functions");
        note_problem("HIP calls", &reason);
    } else if (!CHECK(configure_callback_tracing_service,
                      (context, ROCP_CALLBACK_HIP_RUNTIME_API, operations, count,
                       kino__rocm_on_call, NULL),
                      &reason)) {
        note_problem("HIP calls", &reason);
    }
    if (!trace_callbacks(context, ROCP_CALLBACK_MARKER_CORE_API, NULL, 0, kino__rocm_on_marker,
                         &reason))
        note_problem("ROCTX ranges", &reason);
}

static void trace_work(rocp_id context)
{
    static const struct {
        uint32_t kind;
        const char *what;
    } kinds[] = {{ROCP_BUFFER_KERNEL_DISPATCH, "kernels"},
                 {ROCP_BUFFER_MEMORY_COPY, "copies"},
                 {ROCP_BUFFER_MEMORY_ALLOCATION, "allocations"},
                 {ROCP_BUFFER_SCRATCH_MEMORY, "scratch memory"}};
    kino_error reason;
    /* The other policy has one buffer only, and loses what comes while that is handed over. With
     * two, whoever delivers records waits while both are full: our part is short. */
    if (!CHECK(create_buffer,
               (context, KINO__ROCM_BUFFER, KINO__ROCM_BUFFER / 4, ROCP_POLICY_LOSSLESS,
                kino__rocm_on_records, NULL, &kino__rocm.buffer),
               &reason)) {
        kino__rocm.buffer.handle = 0;
        note_problem("device work", &reason);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!trace_records(context, kinds[i].kind, &reason))
            note_problem(kinds[i].what, &reason);
    const int32_t enqueue = ROCP_DISPATCH_ENQUEUE;
    if (!trace_callbacks(context, ROCP_CALLBACK_KERNEL_DISPATCH, &enqueue, 1, kino__rocm_on_enqueue,
                         &reason))
        note_problem("count of running kernels", &reason);
}

static void trace_names(void)
{
    kino_error reason;
    rocp_id *context = &kino__rocm.names;
    if (!CHECK(create_context, (context), &reason) ||
        !CHECK(configure_callback_tracing_service,
               (*context, ROCP_CALLBACK_CODE_OBJECT, NULL, 0, kino__rocm_on_code, NULL), &reason) ||
        !CHECK(start_context, (*context), &reason))
        note_problem("kernel names", &reason);
}

/* A session that runs takes the backend in; on a thread of its own, because rocprofiler holds its
 * locks now, and a session that is being prepared may be waiting for them. */
static void *look(void *context)
{
    (void)context;
    kino_device_look();
    return NULL;
}

static void look_later(void)
{
    pthread_t thread;
    if (kino__tracer_thread(&thread, look, NULL))
        (void)pthread_detach(thread);
}

/* rocprofiler's call for the contexts; -1: it forgets the tool. */
static int initialize(rocp_finish finish, void *data)
{
    (void)finish;
    (void)data;
    if (!kino__rocm_open(&self.failure) ||
        !CHECK(create_context, (&kino__rocm.context), &self.failure)) {
        __atomic_store_n(&self.is_called, true, __ATOMIC_RELEASE); /* kino__rocm_enter */
        return -1;
    }
    trace_names();
    trace_calls(kino__rocm.context);
    trace_work(kino__rocm.context);
    __atomic_store_n(&self.is_ready, true, __ATOMIC_RELEASE); /* kino__rocm_enter */
    __atomic_store_n(&self.is_called, true, __ATOMIC_RELEASE);
    if (!self.is_forced)
        look_later();
    return 0;
}

/* The process exits, or rocprofiler was told to end: the last chance for records. */
static void finalize(void *data)
{
    (void)data;
    kino__rocm_stop_fetching(); /* rocprofiler ends the program when it is asked for more later */
    if (kino__rocm.is_over)
        return;
    if (kino__rocm.is_on) {
        kino__rocm.is_on = false;
        (void)kino__rocm.call.stop_context(kino__rocm.context);
    }
    if (kino__rocm.buffer.handle)
        (void)kino__rocm.call.flush_buffer(kino__rocm.buffer);
    kino__rocm.is_over = true;
}

rocp_tool *kino__rocm_configure(uint32_t version, const char *text, uint32_t priority,
                                rocp_client *client)
{
    /* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): rocprofiler keeps it */
    static rocp_tool tool = {sizeof tool, initialize, finalize, NULL};
    (void)text;
    (void)priority;
    if (version / 10000 != ROCP_MAJOR ||
        __atomic_exchange_n(&self.is_configured, true, __ATOMIC_ACQ_REL))
        return NULL;
    if (client && client->size >= offsetof(rocp_client, handle))
        client->name = "kino";
    return &tool;
}

/* -- the linked way */

bool kino__rocm_other(char *out, size_t size)
{
    return kino__library_other("rocprofiler_configure", &kino__rocm, kino__rocm.library, out, size);
}

/* rocprofiler has its tools already, and this is none of them. */
static kino_status fail_locked(kino_error *err)
{
    char name[128];
    bool is_known = kino__rocm_other(name, sizeof name);
    return kino__fail(err, KINO_UNAVAILABLE,
                      "rocprofiler was initialized before kino could register%s%s; use 'kino "
                      "record', or prepare the recording before the first use of ROCm",
                      is_known ? ", by " : "", is_known ? name : "");
}

void *kino__rocm_hip(void)
{
    void *hip = dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD);
    return hip ? hip : dlopen("libamdhip64.so", RTLD_LAZY | RTLD_NOLOAD);
}

static kino_status enter_rocprofiler(kino_error *err)
{
    int state = 0;
    void *hip = kino__rocm_hip();
    kino__rocm.is_late = hip != NULL;
    if (hip)
        (void)dlclose(hip);
    if (!CHECK(is_initialized, (&state), err))
        return err->code;
    if (state < 0)
        return kino__fail(err, KINO_NOT_FOUND, "rocprofiler is being initialized");
    if (state > 0)
        return fail_locked(err);
    self.is_forced = true;
    rocp_status status = kino__rocm.call.force_configure(kino__rocm_configure);
    self.is_forced = false;
    if (status == ROCP_CONFIGURATION_LOCKED)
        return fail_locked(err);
    if (!kino__rocm_check("force_configure", status, err))
        return err->code;
    if (!__atomic_load_n(&self.is_called, __ATOMIC_ACQUIRE))
        return kino__fail(err, KINO_UNAVAILABLE, "rocprofiler did not accept kino as a tool");
    return KINO_OK;
}

kino_status kino__rocm_enter(kino_error *err)
{
    if (!__atomic_load_n(&self.is_configured, __ATOMIC_ACQUIRE))
        KINO_TRY(enter_rocprofiler(err));
    if (__atomic_load_n(&self.is_ready, __ATOMIC_ACQUIRE)) /* initialize */
        return KINO_OK;
    if (!__atomic_load_n(&self.is_called, __ATOMIC_ACQUIRE)) /* there will be another look */
        return kino__fail(err, KINO_NOT_FOUND, "rocprofiler is initializing its tools");
    *err = self.failure;
    return err->code;
}
