/* cupti_names.c - what things are called, in Kineto's words: kernels (demangled), calls, copies.
 *
 * Names are asked for once per kernel and call, then found again by number or by the mangled
 * text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/backend/cupti/cupti_internal.h"
#include "tracer/device/device_library.h"

enum {
    KERNELS = 1 << 15, /* places; half of them are used at most */
    CALLS = 1024,      /* of a domain whose names are kept */
};

typedef struct kernel {
    char *mangled; /* NULL: an empty place */
    uint64_t hash;
    uint32_t name;
} kernel;

static struct {
    kernel *kernels;
    uint32_t kernel_count;
    uint32_t calls[2][CALLS];
} self; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables): under decode_lock */

static uint32_t name_of(uint32_t kind, const char *text)
{
    return kino__cupti.host->name(kino__cupti.host, kind, text);
}

/* -- kernels */

static uint32_t make_kernel_name(const char *mangled)
{
    char *plain = kino__library_demangle(mangled);
    const char *text = plain ? plain : mangled;
    /* as Kineto: the category is called so, and viewers mix them up */
    uint32_t name = name_of(KINO_DEVICE_KERNEL, strcmp(text, "kernel") == 0 ? "Kernel" : text);
    free(plain);
    return name;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

uint32_t kino__cupti_kernel_name(const char *mangled)
{
    if (!mangled)
        mangled = "";
    if (!self.kernels)
        self.kernels = calloc(KERNELS, sizeof *self.kernels);
    if (!self.kernels)
        return make_kernel_name(mangled);
    uint64_t hash = hash_of(mangled), at = hash % KERNELS;
    kernel *k = &self.kernels[at];
    for (; k->mangled; k = &self.kernels[++at % KERNELS])
        if (k->hash == hash && strcmp(k->mangled, mangled) == 0)
            return k->name;
    uint32_t name = make_kernel_name(mangled);
    char *copy = self.kernel_count < KERNELS / 2 ? strdup(mangled) : NULL;
    if (copy) {
        *k = (kernel){copy, hash, name};
        self.kernel_count++;
    }
    return name;
}

/* -- calls */

/* "_v" and four digits or more at the end say the version that brought the call: not shown. */
static size_t plain_size(const char *name)
{
    size_t size = strlen(name), digits = size;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    bool is_version = size - digits >= 4 && digits >= 2 && strncmp(name + digits - 2, "_v", 2) == 0;
    return is_version ? digits - 2 : size;
}

static uint32_t make_call_name(int domain, uint32_t cbid)
{
    const char *text = NULL;
    char plain[256] = "INVALID";
    uint32_t kind =
        domain == CUPTI_DOMAIN_RUNTIME ? KINO_DEVICE_CUDA_RUNTIME : KINO_DEVICE_CUDA_DRIVER;
    int result = kino__cupti.calls.cuptiGetCallbackName
                     ? kino__cupti.calls.cuptiGetCallbackName(domain, cbid, &text)
                     : -1;
    if (result == CUPTI_OK && text && *text) {
        size_t size = plain_size(text);
        if (size >= sizeof plain)
            size = sizeof plain - 1;
        memcpy(plain, text, size);
        plain[size] = '\0';
    }
    return name_of(kind, plain);
}

uint32_t kino__cupti_call_name(int domain, uint32_t cbid)
{
    if (cbid >= CALLS)
        return make_call_name(domain, cbid);
    uint32_t *known = &self.calls[domain == CUPTI_DOMAIN_RUNTIME][cbid];
    if (!*known)
        *known = make_call_name(domain, cbid);
    return *known;
}

/* -- copies and the rest */

static const char *memory_text(uint32_t kind)
{
    static const char *const texts[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                        "Array",   "Managed",  "Device Static", "Managed Static"};
    return kind < sizeof texts / sizeof *texts ? texts[kind] : "Unrecognized";
}

uint32_t kino__cupti_memcpy_name(uint8_t kind, uint8_t source, uint8_t target)
{
    static const char *const kinds[] = {"<unknown>", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD",      "DtoA", "DtoD", "HtoH", "PtoP"};
    char text[96];
    (void)snprintf(text, sizeof text, "Memcpy %s (%s -> %s)",
                   kind < sizeof kinds / sizeof *kinds ? kinds[kind] : kinds[0],
                   memory_text(source), memory_text(target));
    return name_of(KINO_DEVICE_MEMCPY, text);
}

uint32_t kino__cupti_memset_name(uint16_t memory)
{
    char text[48];
    (void)snprintf(text, sizeof text, "Memset (%s)", memory_text(memory));
    return name_of(KINO_DEVICE_MEMSET, text);
}

uint32_t kino__cupti_overhead_name(uint32_t kind)
{
    static const char *const steps[] = {"Unknown",
                                        "Buffer Flush",
                                        "Instrumentation",
                                        "Resource",
                                        "Runtime Triggered Module Loading",
                                        "Lazy Function Loading",
                                        "Command Buffer Full",
                                        "Activity Buffer Request"};
    const char *text = "Unrecognized";
    if (kind == 1)
        text = "Driver Compiler";
    else if (kind % 65536 == 0 && kind / 65536 < sizeof steps / sizeof *steps)
        text = steps[kind / 65536];
    return name_of(KINO_DEVICE_OVERHEAD, text);
}

/* Not a row of Kineto's. */
uint32_t kino__cupti_jit_name(uint32_t entry, uint32_t operation)
{
    static const char *const entries[] = {"", " (PTX to cubin)", " (NVVM IR to PTX)"};
    static const char *const operations[] = {"JIT", "JIT cache load", "JIT cache store",
                                             "JIT compile"};
    char text[64];
    (void)snprintf(text, sizeof text, "%s%s", operations[operation <= 3 ? operation : 0],
                   entries[entry <= 2 ? entry : 0]);
    return name_of(KINO_DEVICE_OVERHEAD, text);
}

const char *kino__cupti_sync_text(uint32_t type)
{
    static const char *const texts[] = {"Unknown Sync", "Event Sync", "Stream Wait Event",
                                        "Stream Sync", "Context Sync"};
    return type < sizeof texts / sizeof *texts ? texts[type] : texts[0];
}
