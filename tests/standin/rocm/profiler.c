/* profiler.c - a stand-in for librocprofiler-sdk.so: contexts, services, a buffer and its thread.
 *
 * What it does besides is told by the environment, read at each use:
 *   STANDIN_FAIL=function:status[,...]  that function (without "rocprofiler_") fails; a name may be
 *                                       followed by #n: the n-th call of it only
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
#include <time.h>
#include <unistd.h>

#include "vendor.h"

enum { CONTEXTS = 8, SERVICES = 16, RECORDS = 1 << 16, KINDS = 32, OPERATIONS = 32 };

typedef struct service {
    int context, kind, is_buffer;
    uint32_t operations; /* bits, of callbacks */
    callback_t callback;
    void *data;
} service;
typedef struct held {
    uint64_t ready;
    int kind;
    size_t size;
    char bytes[256];
} held;

static struct {
    pthread_mutex_t lock;
    int contexts, is_on[CONTEXTS], buffer_context;
    service services[SERVICES];
    int service_count;
    buffer_callback_t callback;
    void *data;
    held *records;
    int count;
    uint64_t dropped, correlation, callbacks;
    int state; /* of registration: 0, -1, 1 */
    tool_t *tool;
    int is_configuring, is_finished;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 0) : otherwise;
}

/* What the environment wants of this call: 0, or a status. */
static int failure(const char *function)
{
    static struct {
        char name[64];
        int calls;
    } counts[64];
    const char *list = getenv("STANDIN_FAIL");
    int number = 0;
    for (int i = 0; i < 64; i++) {
        if (!counts[i].name[0])
            snprintf(counts[i].name, sizeof counts[i].name, "%s", function);
        if (strcmp(counts[i].name, function) == 0) {
            number = ++counts[i].calls;
            break;
        }
    }
    while (list && *list) {
        size_t size = strlen(function);
        if (strncmp(list, function, size) == 0 && (list[size] == ':' || list[size] == '#')) {
            const char *colon = strchr(list, ':');
            if (colon && (list[size] == ':' || strtol(list + size + 1, NULL, 10) == number))
                return (int)strtol(colon + 1, NULL, 10);
        }
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return 0;
}
#define FAIL_IF_WANTED()                                                                           \
    do {                                                                                           \
        int wanted = failure(&__func__[sizeof "rocprofiler_" - 1]);                                \
        if (wanted)                                                                                \
            return wanted;                                                                         \
    } while (0)

/* -- clock, versions, names */

uint64_t standin_device_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    uint64_t ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    long ppm = setting("STANDIN_PPM", 0);
    ns += (uint64_t)((long)(ns / 1000000) * ppm);
    return ns + (uint64_t)setting("STANDIN_SKEW", 0);
}

int rocprofiler_get_timestamp(uint64_t *out)
{
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
    return kind_name(names, kind, name, size);
}

int rocprofiler_query_buffer_tracing_kind_name(int kind, const char **name, uint64_t *size)
{
    static const char *const names[KINDS] = {
        [9] = "MARKER_NAME_API", [10] = "MEMORY_COPY", [11] = "KERNEL_DISPATCH",
        [12] = "SCRATCH_MEMORY", [15] = "OMPT",        [16] = "MEMORY_ALLOCATION"};
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
    if (!self.is_configuring)
        return 16;
    out->handle = (uint64_t)++self.contexts;
    return 0;
}

int rocprofiler_start_context(handle_t context)
{
    FAIL_IF_WANTED();
    self.is_on[context.handle] = 1;
    return 0;
}

int rocprofiler_stop_context(handle_t context)
{
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
    for (size_t i = 0; operations && i < count; i++)
        bits |= 1u << operations[i];
    return add_service(context, (service){0, kind, 0, bits, callback, data});
}

int rocprofiler_configure_buffer_tracing_service(handle_t context, int kind,
                                                 const int32_t *operations, size_t count,
                                                 handle_t buffer)
{
    FAIL_IF_WANTED();
    (void)operations;
    (void)count;
    return buffer.handle == 99 ? add_service(context, (service){0, kind, 1, 0, NULL, NULL}) : 3;
}

int rocprofiler_create_buffer(handle_t context, size_t size, size_t watermark, int policy,
                              buffer_callback_t callback, void *data, handle_t *out)
{
    FAIL_IF_WANTED();
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

int standin_wants(int kind)
{
    for (int i = 0; i < self.service_count; i++)
        if (self.services[i].is_buffer && self.services[i].kind == kind)
            return self.is_on[self.services[i].context];
    return 0;
}

/* -- the buffer */

void standin_record(int kind, const void *record, size_t size, uint64_t ready)
{
    pthread_mutex_lock(&self.lock);
    if (!self.records)
        self.records = calloc(RECORDS, sizeof *self.records);
    if (self.count >= setting("STANDIN_CAPACITY", RECORDS)) {
        self.dropped++;
    } else {
        held *h = &self.records[self.count++];
        *h = (held){ready, kind, size, {0}};
        memcpy(h->bytes, record, size);
        uint64_t said = (uint64_t)setting("STANDIN_SIZE", (long)size);
        memcpy(h->bytes, &said, sizeof said);
    }
    pthread_mutex_unlock(&self.lock);
}

static void *deliver(void *context)
{
    (void)context;
    static held done[RECORDS];
    static record_header_t headers[RECORDS];
    static record_header_t *list[RECORDS];
    const char *order = getenv("STANDIN_ORDER");
    int count = 0, left = 0;
    uint64_t now = standin_device_now();
    pthread_mutex_lock(&self.lock);
    for (int i = 0; i < self.count; i++)
        if (self.records[i].ready <= now)
            done[count++] = self.records[i];
        else
            self.records[left++] = self.records[i];
    self.count = left;
    uint64_t dropped = self.dropped;
    pthread_mutex_unlock(&self.lock);
    for (int i = 0; i < count; i++) {
        headers[i].category = 1;
        headers[i].kind = (uint32_t)done[i].kind;
        headers[i].payload = done[i].bytes;
        list[order && strcmp(order, "reverse") == 0 ? count - 1 - i : i] = &headers[i];
    }
    if (self.callback && (count || dropped))
        self.callback((handle_t){(uint64_t)self.buffer_context}, (handle_t){99}, list,
                      (size_t)count, self.data, dropped);
    return NULL;
}

void standin_deliver(void)
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
    FAIL_IF_WANTED();
    if (self.is_finished)
        abort(); /* as the real one does */
    if (buffer.handle != 99)
        return 3;
    standin_deliver();
    return 0;
}
