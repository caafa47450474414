/* nvtx_copy.h - what NVTX's header puts into a program, in our own words and as small as it can be:
 * for machines without NVIDIA's headers. Each file that includes it is one more copy, as with the
 * original. */
#ifndef NVTX_COPY_H
#define NVTX_COPY_H

#include <dlfcn.h>
#include <stdlib.h>

#include "inject/nvtx_abi.h"

typedef kino__nvtx_attributes nvtxEventAttributes_t;
typedef const void *nvtxDomainHandle_t;
typedef const void *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
enum { NVTX_VERSION = 3, NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t) };
#define dValue                       f64
#define colorType                    color_type
#define payloadType                  payload_type
#define messageType                  message_type
#define NVTX_COLOR_ARGB              KINO__NVTX_COLOR_ARGB
#define NVTX_PAYLOAD_TYPE_DOUBLE     KINO__NVTX_PAYLOAD_DOUBLE
#define NVTX_MESSAGE_TYPE_ASCII      KINO__NVTX_MESSAGE_ASCII
#define NVTX_MESSAGE_TYPE_REGISTERED KINO__NVTX_MESSAGE_REGISTERED

static kino__nvtx_function copy_core[16], copy_core2[16];
static int copy_is_open;

static int copy_table(int module, kino__nvtx_function ***out, unsigned *count)
{
    static kino__nvtx_function *slots[2][17];
    int which = module == KINO__NVTX_CORE2;
    for (int i = 1; i < 16; i++)
        slots[which][i] = which ? &copy_core2[i] : &copy_core[i];
    *out = slots[which];
    *count = 16;
    return module == KINO__NVTX_CORE || module == KINO__NVTX_CORE2;
}

static const void *copy_get(uint32_t table)
{
    static const kino__nvtx_callbacks callbacks = {sizeof callbacks, copy_table};
    return table == KINO__NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void copy_open(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path && !copy_is_open ? dlopen(path, RTLD_LAZY) : NULL;
    int (*attach)(kino__nvtx_get_table) = NULL;
    if (library)
        *(void **)&attach = dlsym(library, "InitializeInjectionNvtx2");
    copy_is_open = 1;
    if (attach)
        attach(copy_get);
}

#define COPY_CALL(slot, otherwise, type, ...)                                                      \
    (copy_open(), (slot) ? ((type)(slot))(__VA_ARGS__) : (otherwise))
#define nvtxMarkA(text)       COPY_CALL(copy_core[2], (void)0, void (*)(const char *), text)
#define nvtxMarkEx(a)         COPY_CALL(copy_core[1], (void)0, void (*)(const void *), a)
#define nvtxRangeStartA(text) COPY_CALL(copy_core[5], 0, uint64_t (*)(const char *), text)
#define nvtxRangeEnd(id)      COPY_CALL(copy_core[7], (void)0, void (*)(uint64_t), id)
#define nvtxRangePushEx(a)    COPY_CALL(copy_core[8], -2, int (*)(const void *), a)
#define nvtxRangePushA(text)  COPY_CALL(copy_core[9], -2, int (*)(const char *), text)
#define nvtxRangePushW(text)  COPY_CALL(copy_core[10], -2, int (*)(const wchar_t *), text)
#define nvtxRangePop()        COPY_CALL(copy_core[11], -2, int (*)(void), )
#define nvtxNameCategoryA(n, t)                                                                    \
    COPY_CALL(copy_core[12], (void)0, void (*)(uint32_t, const char *), n, t)
#define nvtxNameOsThreadA(n, t)                                                                    \
    COPY_CALL(copy_core[14], (void)0, void (*)(uint32_t, const char *), n, t)
#define nvtxDomainRangePushEx(d, a)                                                                \
    COPY_CALL(copy_core2[4], -2, int (*)(const void *, const void *), d, a)
#define nvtxDomainRangePop(d) COPY_CALL(copy_core2[5], -2, int (*)(const void *), d)
#define nvtxDomainRegisterStringA(d, t)                                                            \
    COPY_CALL(copy_core2[10], NULL, const void *(*)(const void *, const char *), d, t)
#define nvtxDomainCreateA(t) COPY_CALL(copy_core2[12], NULL, const void *(*)(const char *), t)

#endif
