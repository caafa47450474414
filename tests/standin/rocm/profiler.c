/* profiler.c - a stand-in for librocprofiler-sdk.so: contexts, services, a buffer and its thread.
 *
 * What it does besides is told by the environment, read at each use:
 *   STANDIN_FAIL (../common/library.h)
 *   STANDIN_VERSION=1.0.0  STANDIN_LOCKED=1 (tools were chosen before)  STANDIN_KINDS=1 (numbers of
 *   kinds mean something else)  STANDIN_RENAMED=kind (that of one does)
 *   STANDIN_GPUS=n  STANDIN_SIZE=n (records say so many bytes)
 *   STANDIN_ORDER=reverse  STANDIN_CAPACITY=n (records that are held)  STANDIN_SKEW=ns (the
 *   device's clock is ahead)  STANDIN_PPM=n (and faster)  STANDIN_TWICE=1 (tools come twice) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/held.h"
#include "../common/library.h"
#include "vendor.h"

enum { CONTEXTS = 8, SERVICES = 16, KINDS = 32 };

typedef struct service {
    int context, kind, is_buffer;
    uint32_t operations; /* bits, of callbacks */
    callback_t callback;
    void *data;
} service;

static struct {
    int contexts, is_on[CONTEXTS], buffer_context;
    service services[SERVICES];
    int service_count;
    buffer_callback_t callback;
    void *data;
    uint64_t dropped, correlation, callbacks;
    int state; /* of registration: 0, -1, 1 */
    tool_t *tool;
    int is_configuring, is_finished;
} self;

/* Tests leave "rocprofiler_" out. */
#define ENTER_FUNCTION() FAIL_IF_WANTED_AS(&__func__[sizeof "rocprofiler_" - 1])

/* -- clock, versions, names */

uint64_t standin_device_now(void)
{
    uint64_t ns = clock_ns(CLOCK_MONOTONIC);
    long ppm = setting("STANDIN_PPM", 0);
    ns += (uint64_t)((long)(ns / 1000000) * ppm);
    return ns + (uint64_t)setting("STANDIN_SKEW", 0);
}

int rocprofiler_get_timestamp(uint64_t *out)
{
    ENTER_FUNCTION();
    *out = standin_device_now();
    return 0;
}

static void version(uint32_t out[3])
{
    const char *text = getenv("STANDIN_VERSION");
    out[0] = 1, out[1] = 2, out[2] = 3;
    if (text)
        sscanf(text, "%u.%u.%u", &out[0], &out[1], &out[2]);
}

int rocprofiler_get_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
    uint32_t numbers[3];
    ENTER_FUNCTION();
    version(numbers);
    *major = numbers[0], *minor = numbers[1], *patch = numbers[2];
    return 0;
}

const char *rocprofiler_get_status_string(int status)
{
    return status == 12 ? "Context operation failed due to a conflict" : "Stand-in error";
}

static int kind_name(const char *const *names, int kind, const char **name, uint64_t *size)
{
    kind -= (int)setting("STANDIN_KINDS", 0);
    if (kind < 0 || kind >= KINDS || !names[kind])
        return 4;
    const char *renamed = getenv("STANDIN_RENAMED");
    if (name && renamed && strcmp(renamed, names[kind]) == 0) {
        *name = "SOMETHING_NEW";
        return 0;
    }
    if (name)
        *name = names[kind];
    if (size)
        *size = strlen(names[kind]);
    return 0;
}

int rocprofiler_query_callback_tracing_kind_name(int kind, const char **name, uint64_t *size)
{
    static const char *const names[KINDS] = {
        [4] = "HSA_FINALIZE_EXT_API", [5] = "HIP_RUNTIME_API", [6] = "HIP_COMPILER_API",
        [7] = "MARKER_CORE_API",      [9] = "MARKER_NAME_API", [10] = "CODE_OBJECT",
        [11] = "SCRATCH_MEMORY",      [12] = "KERNEL_DISPATCH"};
    ENTER_FUNCTION();
    return kind_name(names, kind, name, size);
}

int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *size)
{
    static const char *const names[KINDS] = {
        [9] = "MARKER_NAME_API", [10] = "MEMORY_COPY", [11] = "KERNEL_DISPATCH",
        [12] = "SCRATCH_MEMORY", [15] = "OMPT",        [16] = "MEMORY_ALLOCATION"};
    ENTER_FUNCTION();
    return kind_name(names, kind, name, size);
}

int rocprofiler_query_callback_tracing_kind_operation_name(int kind, int operation,
                                                           const char **name, uint64_t *size)
{
    static const char *const names[] = {
#define FUNCTION_NAME(name) #name,
        HIP_FUNCTION_MAP(FUNCTION_NAME)
#undef FUNCTION_NAME
    };
    ENTER_FUNCTION();
    if (kind != HIP_RUNTIME_API || operation <= ID_hipApiName || /* that one is a gap */
        operation >= (int)(sizeof names / sizeof *names))
        return 5;
    *name = names[operation];
    if (size)
        *size = strlen(*name);
    return 0;
}

/* -- agents */

int rocprofiler_query_available_agents(int version_id, agents_callback_t callback, size_t size,
                                       void *data)
{
    static const mem_bank_t bank = {1, 0, 8192, 1300, 64ull << 30};
    static agent_t agents[3];
    const void *list[3] = {&agents[2], &agents[0], &agents[1]}; /* in no order */
    ENTER_FUNCTION();
    if (version_id != 1 || size > sizeof *agents)
        return 18;
    for (int i = 0; i < 3; i++) {
        agent_t *a = &agents[i];
        a->size = sizeof *a;
        a->id.handle = (uint64_t)(i == 0 ? CPU_AGENT : i == 1 ? GPU_AGENT : SECOND_GPU_AGENT);
        a->type = i == 0 ? 1 : 2;
        a->name = i == 0 ? "CPU" : "gfx942";
        a->product_name = i == 0 ? "Some CPU" : "AMD Instinct Stand-in";
        a->mem_banks_count = 1;
        a->mem_banks = &bank;
        a->gfx_target_version = 90402;
        a->workgroup_max_size = 1024;
        a->max_waves_per_cu = 32;
        a->wave_front_size = 64;
        a->lds_size_in_kb = 64;
        a->cu_count = 304;
        a->node_id = (uint32_t)i;
        a->logical_node_type_id = i == 2 ? 1 : 0;
    }
    return callback(version_id, list, 1 + (size_t)setting("STANDIN_GPUS", 2), data);
}

/* -- registration */

static int take_tool(configure_t configure, uint32_t priority)
{
    uint32_t numbers[3];
    client_id_t client = {sizeof client, NULL, 7};
    version(numbers);
    tool_t *tool = configure(numbers[0] * 10000 + numbers[1] * 100 + numbers[2], "stand-in",
                             priority, &client);
    if (!tool)
        return 0;
    self.tool = tool;
    self.is_configuring = 1;
    int result = tool->initialize(NULL, tool->tool_data);
    self.is_configuring = 0;
    return result == 0;
}

int rocprofiler_is_initialized(int *out)
{
    ENTER_FUNCTION();
    *out = setting("STANDIN_LOCKED", 0) ? 1 : self.state;
    return 0;
}

static void finish(void)
{
    if (self.tool && self.tool->finalize)
        self.tool->finalize(self.tool->tool_data);
    self.is_finished = 1;
}

int rocprofiler_force_configure(configure_t configure)
{
    ENTER_FUNCTION();
    if (setting("STANDIN_LOCKED", 0) || self.state)
        return 16;
    self.state = -1;
    take_tool(configure, 0);
    if (setting("STANDIN_TWICE", 0))
        take_tool(configure, 1);
    self.state = 1;
    atexit(finish);
    return 0;
}

/* As the loader of tools does: what the environment names, when the runtime is first used. */
void standin_use(void)
{
    const char *list = getenv("ROCP_TOOL_LIBRARIES");
    char path[4096];
    if (self.state)
        return;
    self.state = -1;
    while (list && *list) {
        size_t size = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s", (int)size, list);
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        configure_t configure = NULL;
        void *symbol = library ? dlsym(library, "rocprofiler_configure") : NULL;
        memcpy(&configure, &symbol, sizeof configure);
        if (configure)
            take_tool(configure, 0);
        list += size + (list[size] == ':');
    }
    self.state = self.tool ? 1 : 0;
    atexit(finish);
}

/* -- contexts and services */

int rocprofiler_create_context(handle_t *out)
{
    ENTER_FUNCTION();
    if (!self.is_configuring)
        return 16;
    out->handle = (uint64_t)++self.contexts;
    return 0;
}

int rocprofiler_start_context(handle_t context)
{
    ENTER_FUNCTION();
    self.is_on[context.handle] = 1;
    return 0;
}

int rocprofiler_stop_context(handle_t context)
{
    ENTER_FUNCTION();
    self.is_on[context.handle] = 0;
    return 0;
}

static int add_service(handle_t context, service s)
{
    if (!self.is_configuring)
        return 16;
    s.context = (int)context.handle;
    for (int i = 0; i < self.service_count; i++)
        if (self.services[i].context == s.context && self.services[i].kind == s.kind &&
            self.services[i].is_buffer == s.is_buffer)
            return 15;
    self.services[self.service_count++] = s;
    return 0;
}

int rocprofiler_configure_callback_tracing_service(handle_t context, int kind,
                                                   const int32_t *operations, size_t count,
                                                   callback_t callback, void *data)
{
    uint32_t bits = operations ? 0 : UINT32_MAX;
    ENTER_FUNCTION();
    for (size_t i = 0; operations && i < count; i++)
        bits |= 1u << operations[i];
    return add_service(context, (service){0, kind, 0, bits, callback, data});
}

int rocprofiler_configure_buffer_tracing_service(handle_t context, int kind,
                                                 const int32_t *operations, size_t count,
                                                 handle_t buffer)
{
    ENTER_FUNCTION();
    (void)operations;
    (void)count;
    return buffer.handle == 99 ? add_service(context, (service){0, kind, 1, 0, NULL, NULL}) : 3;
}

int rocprofiler_create_buffer(handle_t context, size_t size, size_t watermark, int policy,
                              buffer_callback_t callback, void *data, handle_t *out)
{
    ENTER_FUNCTION();
    if (!size || watermark > size || policy != 2 || out->handle) /* the other one loses records */
        return 19;
    self.buffer_context = (int)context.handle;
    self.callback = callback;
    self.data = data;
    out->handle = 99;
    return 0;
}

uint64_t standin_correlation(void)
{
    return __atomic_add_fetch(&self.correlation, 1, __ATOMIC_RELAXED);
}

void standin_callback(int kind, int operation, int phase, uint64_t correlation,
                      rocprofiler_user_data_t *user, void *payload)
{
    callback_record_t record = {.thread_id = (uint64_t)gettid(),
                                .correlation_id = {correlation, {0}, 0},
                                .kind = kind,
                                .operation = operation,
                                .phase = phase,
                                .payload = payload};
    for (int i = 0; i < self.service_count; i++) {
        service *s = &self.services[i];
        record.context_id.handle = (uint64_t)s->context;
        if (!s->is_buffer && s->kind == kind && s->operations >> operation & 1 &&
            (self.is_on[s->context] || (phase == EXIT && user->value))) {
            __atomic_add_fetch(&self.callbacks, 1, __ATOMIC_RELAXED);
            s->callback(record, user, s->data);
        }
    }
}

uint64_t standin_callbacks(void)
{
    return __atomic_load_n(&self.callbacks, __ATOMIC_RELAXED);
}

/* Is a context on that wants such records? */
static int wants(int kind)
{
    for (int i = 0; i < self.service_count; i++)
        if (self.services[i].is_buffer && self.services[i].kind == kind)
            return self.is_on[self.services[i].context];
    return 0;
}

/* -- the buffer */

void standin_record(int kind, const void *record, size_t size, uint64_t ready)
{
    char bytes[HELD_BYTES];
    uint64_t said = (uint64_t)setting("STANDIN_SIZE", (long)size);
    if (!wants(kind))
        return;
    memcpy(bytes, record, size);
    memcpy(bytes, &said, sizeof said);
    if (!hold(bytes, size, kind, ready, setting("STANDIN_CAPACITY", HELD_MAX)))
        __atomic_add_fetch(&self.dropped, 1, __ATOMIC_RELAXED);
}

static void *deliver(void *context)
{
    (void)context;
    static held done[HELD_MAX];
    static record_header_t headers[HELD_MAX];
    static record_header_t *list[HELD_MAX];
    int is_reverse = is_set_to("STANDIN_ORDER", "reverse");
    int count = take_ready(standin_device_now(), done);
    uint64_t dropped = __atomic_load_n(&self.dropped, __ATOMIC_RELAXED);
    for (int i = 0; i < count; i++) {
        headers[i].category = 1;
        headers[i].kind = (uint32_t)done[i].tag;
        headers[i].payload = done[i].bytes;
        list[is_reverse ? count - 1 - i : i] = &headers[i];
    }
    if (self.callback && (count || dropped))
        self.callback((handle_t){(uint64_t)self.buffer_context}, (handle_t){99}, list,
                      (size_t)count, self.data, dropped);
    return NULL;
}

static void deliver_ready(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&one);
    if (pthread_create(&thread, NULL, deliver, NULL) == 0)
        pthread_join(thread, NULL);
    pthread_mutex_unlock(&one);
}

int rocprofiler_flush_buffer(handle_t buffer)
{
    ENTER_FUNCTION();
    if (self.is_finished)
        abort(); /* as the real one does */
    if (buffer.handle != 99)
        return 3;
    deliver_ready();
    return 0;
}
