/* rocm_names.c - kernels of loaded code: by the number that records have, and by the host function
 * that launches name.
 *
 * Code is loaded before anybody records, so names are kept here and become texts of the trace when
 * they are first used. They stay for ever: records of unloaded code may still come. */
#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "base/map.h"
#include "tracer/backend/rocm/rocm_internal.h"
#include "tracer/device/device_library.h"

enum { NAMES_MAX = 1 << 16, SLOTS = NAMES_MAX * 2 };

typedef struct kernel_name {
    char *text;
    uint32_t number;  /* atomic: of the text; 0: not used yet */
    uint32_t members; /* atomic: of {"kernel": text} */
} kernel_name;

typedef struct function_slot {
    uint64_t function; /* atomic: 0: free; stored last */
    uint32_t name;
} function_slot;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's kernels */
static struct {
    pthread_mutex_t lock; /* of all but the slots, which are read without */
    kino__map kernels;    /* number -> index of its name */
    kernel_name *names;   /* NAMES_MAX of them */
    uint32_t count;
    function_slot *slots; /* SLOTS of them */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* The lock is held. UINT32_MAX: no room, no memory. */
static uint32_t add_name(const char *symbol)
{
    if (!self.names) {
        kino__map_init(&self.kernels, NULL);
        self.names = calloc(NAMES_MAX, sizeof *self.names);
        function_slot *slots = self.names ? calloc(SLOTS, sizeof *slots) : NULL;
        __atomic_store_n(&self.slots, slots, __ATOMIC_RELEASE); /* kino__rocm_function_members */
    }
    if (!self.names || !self.slots || self.count == NAMES_MAX)
        return UINT32_MAX;
    char *name = kino__library_demangle(symbol);
    if (!name)
        return UINT32_MAX;
    self.names[self.count].text = name;
    return self.count++;
}

/* The symbol of a kernel's descriptor is its name and ".kd". */
static uint32_t add_symbol(const char *symbol)
{
    size_t size = strlen(symbol);
    if (size < 4 || strcmp(symbol + size - 3, ".kd") != 0)
        return add_name(symbol);
    char *plain = strndup(symbol, size - 3);
    uint32_t index = plain ? add_name(plain) : UINT32_MAX;
    free(plain);
    return index;
}

static void add_kernel(const rocp_kernel_symbol *symbol)
{
    if (symbol->size < sizeof *symbol || !symbol->name)
        return;
    uint32_t index = add_symbol(symbol->name);
    uint32_t *at = index == UINT32_MAX ? NULL : kino__map_put(&self.kernels, symbol->kernel, index);
    if (at)
        *at = index; /* a number that is used again */
}

static size_t slot_of(const void *function)
{
    return kino__hash_u64((uint64_t)(uintptr_t)function) % SLOTS;
}

static void add_function(const rocp_host_symbol *symbol)
{
    if (symbol->size < sizeof *symbol || !symbol->name || !symbol->host_function)
        return;
    uint32_t index = add_symbol(symbol->name);
    if (index == UINT32_MAX)
        return;
    size_t at = slot_of(symbol->host_function); /* half of the slots stay free */
    while (self.slots[at].function &&
           self.slots[at].function != (uint64_t)(uintptr_t)symbol->host_function)
        at = (at + 1) % SLOTS;
    __atomic_store_n(&self.slots[at].name, index, __ATOMIC_RELAXED);
    __atomic_store_n(&self.slots[at].function, (uint64_t)(uintptr_t)symbol->host_function,
                     __ATOMIC_RELEASE); /* kino__rocm_function_members */
}

void kino__rocm_on_code(rocp_callback_record record, rocp_user_data *user, void *data)
{
    (void)user;
    (void)data;
    if (record.phase != ROCP_PHASE_ENTER || !record.payload) /* loaded, not unloaded */
        return;
    pthread_mutex_lock(&self.lock);
    if (record.operation == ROCP_CODE_KERNEL_SYMBOL)
        add_kernel(record.payload);
    else if (record.operation == ROCP_CODE_HOST_SYMBOL)
        add_function(record.payload);
    pthread_mutex_unlock(&self.lock);
}

uint32_t kino__rocm_kernel_name(uint64_t kernel)
{
    const kino_device_host *host = kino__rocm.host;
    kernel_name *name = NULL;
    pthread_mutex_lock(&self.lock);
    const uint32_t *index = self.names ? kino__map_get(&self.kernels, kernel) : NULL;
    if (index)
        name = &self.names[*index];
    pthread_mutex_unlock(&self.lock);
    if (!name)
        return host->name(host, KINO_DEVICE_KERNEL, "KERNEL_DISPATCH");
    uint32_t number = __atomic_load_n(&name->number, __ATOMIC_RELAXED);
    if (!number) {
        number = host->name(host, KINO_DEVICE_KERNEL, name->text);
        __atomic_store_n(&name->number, number, __ATOMIC_RELAXED);
    }
    return number;
}

static uint32_t make_members(const kernel_name *name)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino__json_begin_object(&json);
    kino__json_key(&json, "kernel");
    kino__json_string(&json, kino__str_from(name->text));
    kino__json_end_object(&json);
    kino__buffer_add(&text, (kino_str){"", 1}); /* its end */
    uint32_t number = text.failed ? 0 : kino__rocm.host->key(kino__rocm.host, text.data);
    kino__buffer_deinit(&text);
    return number;
}

uint32_t kino__rocm_function_members(const void *function)
{
    const uint64_t wanted = (uint64_t)(uintptr_t)function;
    function_slot *slots = __atomic_load_n(&self.slots, __ATOMIC_ACQUIRE);
    if (!slots || !wanted)
        return 0;
    for (size_t at = slot_of(function);; at = (at + 1) % SLOTS) {
        uint64_t found = __atomic_load_n(&slots[at].function, __ATOMIC_ACQUIRE);
        if (!found)
            return 0;
        if (found != wanted)
            continue;
        kernel_name *name = &self.names[__atomic_load_n(&slots[at].name, __ATOMIC_RELAXED)];
        uint32_t members = __atomic_load_n(&name->members, __ATOMIC_RELAXED);
        if (!members) {
            members = make_members(name);
            __atomic_store_n(&name->members, members, __ATOMIC_RELAXED);
        }
        return members;
    }
}
