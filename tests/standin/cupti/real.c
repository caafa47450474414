/* real.c - the real libcupti.so where there is no GPU: its version, what it refuses, and how it
 * reads buffers that were made by hand. Argument: the library. Compiled with the real headers. */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"
#include "tracer/backend/cupti/cupti_abi.h"

static cupti_calls calls;
static uint32_t version;
static int failures;

static void check(const char *what, int held)
{
    if (held)
        return;
    fprintf(stderr, "%s\n", what);
    failures++;
}

/* records.h asks the stand-in; here the records are those of the library. */
uint32_t standin_version(void)
{
    return version;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *limit)
{
    *buffer = NULL;
    *size = *limit = 0;
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)buffer, (void)size, (void)valid;
}

static void on_call(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user, (void)domain, (void)cbid, (void)data;
}

static uint64_t on_time(void)
{
    return 1;
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
#define CALL(name, is_needed, parameters)                                                          \
    {                                                                                              \
        void *symbol = dlsym(library, #name);                                                      \
        check(#name " is not there", symbol != NULL);                                              \
        memcpy(&calls.name, &symbol, sizeof symbol);                                               \
    }
    KINO__CUPTI_CALL_MAP(CALL)
#undef CALL
}

/* Registering says yes everywhere; switching something on is the first honest answer. */
static void check_refusals(void)
{
    void *subscriber = NULL;
    const char *text = NULL;
    char name[CUPTI_OLD_NAME_SIZE] = "";
    cupti_subscriber_params params = {sizeof params, "kino", name, sizeof name};
    int registered = calls.cuptiActivityRegisterCallbacks(on_request, on_complete);
    int clock = calls.cuptiActivityRegisterTimestampCallback(on_time);
    int enabled = calls.cuptiActivityEnable(CUPTI_KIND_CONCURRENT_KERNEL);
    int subscribed = calls.cuptiSubscribe_v2(&subscriber, on_call, NULL, &params);
    printf("real CUPTI %u: register %d, clock %d, enable %d, subscribe %d\n", version, registered,
           clock, enabled, subscribed);
    check("registering buffers tells nothing about CUDA", registered == CUPTI_OK);
    check("without a driver nothing can be switched on", enabled != CUPTI_OK);
    check("the error has a name", calls.cuptiGetResultString(enabled, &text) == CUPTI_OK && text &&
                                      strncmp(text, "CUPTI_ERROR_", 12) == 0);
    if (text)
        printf("enable: %s\n", text);
    check("a wrong size is refused",
          (params.size = 1, calls.cuptiSubscribe_v2(&subscriber, on_call, NULL, &params)) !=
              CUPTI_OK);
}

static void check_names(void)
{
    const char *name = NULL;
    check("a name of the runtime",
          calls.cuptiGetCallbackName(CUPTI_DOMAIN_RUNTIME, 211, &name) == CUPTI_OK && name &&
              strcmp(name, "cudaLaunchKernel_v7000") == 0);
    check("a name of the driver",
          calls.cuptiGetCallbackName(CUPTI_DOMAIN_DRIVER, 307, &name) == CUPTI_OK && name &&
              strcmp(name, "cuLaunchKernel") == 0);
    check("a number without a call",
          calls.cuptiGetCallbackName(CUPTI_DOMAIN_RUNTIME, 60000, &name) != CUPTI_OK);
}

/* Record behind record, the library finds each one's begin: it knows the sizes. */
static void check_buffer(void)
{
    static uint64_t room[512];
    uint8_t *buffer = (uint8_t *)room;
    size_t used = 0, at[8] = {0};
    const record records[] = {
        make_kernel("k", 10, 20, 0, 7, 1), make_memcpy(1, 2, 3, 4096, 30, 40, 2),
        make_memset(8, 50, 60, 3, 3),      make_peer(9, 61, 62, 4),
        make_sync(3, 70, 80, 5, 7, 0),     make_external(3, 77, 1),
        make_overhead(1, 90, 95)};
    const size_t sizes[] = {
        sizeof(CUpti_ActivityKernel10),         sizeof(CUpti_ActivityMemcpy6),
        sizeof(CUpti_ActivityMemset4),          sizeof(CUpti_ActivityMemcpyPtoP4),
        sizeof(CUpti_ActivitySynchronization2), sizeof(CUpti_ActivityExternalCorrelation),
        sizeof(CUpti_ActivityOverhead3)};
    size_t count = sizeof records / sizeof *records, found = 0;
    for (size_t i = 0; i < count; i++) {
        at[i] = used;
        memcpy(buffer + used, records[i].bytes, sizes[i]);
        used += sizes[i];
    }
    void *record_at = NULL;
    int result;
    while ((result = calls.cuptiActivityGetNextRecord(buffer, used, &record_at)) == CUPTI_OK) {
        check("a record begins where it was put",
              found < count && (uint8_t *)record_at == buffer + at[found]);
        found++;
    }
    printf("decoded %zu of %zu records made by hand, then %d\n", found, count, result);
    check("all records were found", found == count);
    check("the end is the limit", result == CUPTI_MAX_LIMIT_REACHED);
    const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)(const void *)buffer;
    check("fields are where the headers say", k->start == 10 && k->end == 20 && k->streamId == 7 &&
                                                  k->correlationId == 1 && k->gridX == 8 &&
                                                  k->blockX == 256 && k->registersPerThread == 32);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    load(argv[1]);
    check("the version",
          calls.cuptiGetVersion(&version) == CUPTI_OK && version == CUPTI_API_VERSION);
    check_refusals();
    check_names();
    check_buffer();
    return failures != 0;
}
