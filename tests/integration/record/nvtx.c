/* nvtx.c - a program with NVTX ranges that knows nothing of kino. What it does is written down in
 * test_record.py.
 *
 *   nvtx             everything once; exit code 5
 *   nvtx crash       ends by a signal inside a range
 *   nvtx wait        until SIGTERM, then exit code 9
 *   nvtx ticks N US  N ranges "tick 0", ... of US microseconds each */
#ifdef WITH_NVTX
#    include <nvtx3/nvToolsExt.h>
#else
#    include "nvtx_copy.h"
#endif
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef AS_LIBRARY /* the second copy of NVTX in the process */
void range_of_library(void)
{
    nvtxRangePushA("from a library");
    nvtxRangePop();
}
#else
void range_of_library(void);

__attribute__((noinline)) void busy(long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin); /* samples are of it, too */
    do { /* mostly here, not in functions that have no frame of their own */
        for (volatile int i = 0; i < 100000;)
            i++;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void *end_elsewhere(void *range)
{
    nvtxRangePushA("other thread");
    nvtxRangeEnd((nvtxRangeId_t)(uintptr_t)range);
    nvtxRangePop();
    return NULL;
}

static void attributes(nvtxDomainHandle_t domain, nvtxStringHandle_t name, int i)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.category = 7;
    a.colorType = NVTX_COLOR_ARGB;
    a.color = 0xff00ff80;
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 1.5 * i;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "load";
    printf("%d ", nvtxRangePushEx(&a));
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = name;
    printf("%d ", nvtxDomainRangePushEx(domain, &a)); /* a stack of its own */
    nvtxMarkEx(&a);
    printf("%d ", nvtxDomainRangePop(domain));
    printf("%d\n", nvtxRangePop());
}

static int all(void)
{
    char text[64];
    pthread_t thread;
    nvtxNameOsThreadA((uint32_t)getpid(), "main loop");
    nvtxNameCategoryA(7, "io");
    nvtxDomainHandle_t domain = nvtxDomainCreateA("my domain");
    nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "registered");
    printf("same domain: %d\n", nvtxDomainCreateA("my domain") == domain);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "iteration %d", i);
        printf("%d ", nvtxRangePushA(text));
        printf("%d\n", nvtxRangePushA("forward"));
        busy(20000);
        nvtxRangePop();
        attributes(domain, name, i);
        nvtxRangePop();
        nvtxMarkA("tick");
    }
    nvtxRangeId_t range = nvtxRangeStartA("aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]]");
    pthread_create(&thread, NULL, end_elsewhere, (void *)(uintptr_t)range);
    pthread_join(thread, NULL);
    nvtxRangePushW(L"wide \u00e4");
    nvtxRangePop();
    range_of_library();
    printf("%d\n", nvtxRangePop() < 0); /* there is none */
    return 5;
}

static void on_signal(int number)
{
    (void)number;
    _exit(9);
}

int main(int argc, char **argv)
{
    char text[64];
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "ticks") == 0 && argc == 4) {
        long count = strtol(argv[2], NULL, 10), us = strtol(argv[3], NULL, 10);
        for (long i = 0; i < count; i++) {
            snprintf(text, sizeof text, "tick %ld", i);
            nvtxRangePushA(text);
            if (us)
                usleep((useconds_t)us);
            nvtxRangePop();
        }
        return 0;
    }
    if (!*what)
        return all();
    signal(SIGTERM, on_signal);
    nvtxRangePushA("doomed");
    if (strcmp(what, "crash") == 0)
        raise(SIGSEGV);
    printf("ready\n");
    fflush(stdout);
    for (;;)
        pause();
}
#endif
