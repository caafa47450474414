/* metrics_memory.c - /proc/meminfo: where the host's memory is. */
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

/* The values of the file come first, in the order of their enum. */
enum { USED = KINO__MEMORY_VALUES, SWAP_USED, COUNT };

static const kino__metric metrics_of[COUNT] = {
    [KINO__MEMORY_TOTAL] = {"total_bytes", "memory_total_bytes", NULL, "Total memory of the host.",
                            KINO__GAUGE, 0, false},
    [KINO__MEMORY_FREE] = {"free_bytes", "memory_free_bytes", NULL, "Unused memory.", KINO__GAUGE,
                           0, false},
    [KINO__MEMORY_AVAILABLE] = {"available_bytes", "memory_available_bytes", NULL,
                                "Memory available without swapping.", KINO__GAUGE, 0, false},
    [KINO__MEMORY_BUFFERS] = {"buffers_bytes", "memory_buffers_bytes", NULL,
                              "Memory in block device buffers.", KINO__GAUGE, 0, false},
    [KINO__MEMORY_CACHED] = {"cached_bytes", "memory_cached_bytes", NULL,
                             "Memory in the page cache.", KINO__GAUGE, 0, true},
    [KINO__MEMORY_SHMEM] = {"shared_bytes", "memory_shared_bytes", NULL, "Shared memory and tmpfs.",
                            KINO__GAUGE, 0, false},
    [KINO__MEMORY_SLAB] = {"slab_bytes", "memory_slab_bytes", NULL, "Kernel data structures.",
                           KINO__GAUGE, 0, false},
    [KINO__MEMORY_DIRTY] = {"dirty_bytes", "memory_dirty_bytes", NULL,
                            "Memory waiting to be written to disk.", KINO__GAUGE, 0, false},
    [KINO__MEMORY_WRITEBACK] = {"writeback_bytes", "memory_writeback_bytes", NULL,
                                "Memory being written to disk.", KINO__GAUGE, 0, false},
    [KINO__MEMORY_SWAP_TOTAL] = {"swap_total_bytes", "memory_swap_total_bytes", NULL,
                                 "Total swap space.", KINO__GAUGE, 0, false},
    [KINO__MEMORY_SWAP_FREE] = {"swap_free_bytes", "memory_swap_free_bytes", NULL,
                                "Free swap space.", KINO__GAUGE, 0, false},
    [USED] = {"used_bytes", "memory_used_bytes", NULL, "Memory in use: total - available.",
              KINO__GAUGE, 0, true},
    [SWAP_USED] = {"swap_used_bytes", "memory_swap_used_bytes", NULL,
                   "Swap space in use: swap total - swap free.", KINO__GAUGE, 0, true},
};
static const kino__metric_class memory = {"memory", metrics_of, COUNT, 1};
static const kino__metric_class *const classes[] = {&memory, NULL};

static int64_t minus(int64_t a, int64_t b)
{
    return a == KINO_NO_INT || b == KINO_NO_INT || b > a ? KINO_NO_INT : a - b;
}

static void sample_memory(void *state, kino__metrics *metrics)
{
    kino_str text;
    kino__thing *thing = kino__metrics_thing(metrics, &memory, KINO__STR("host"));
    if (!thing)
        return;
    if (!kino__collector_read_file(state, metrics, &text))
        return;
    int64_t values[KINO__MEMORY_VALUES];
    kino__parse_meminfo(text, values);
    for (unsigned i = 0; i < KINO__MEMORY_VALUES; i++)
        kino__thing_gauge(thing, i, values[i]);
    kino__thing_gauge(thing, USED,
                      minus(values[KINO__MEMORY_TOTAL], values[KINO__MEMORY_AVAILABLE]));
    kino__thing_gauge(thing, SWAP_USED,
                      minus(values[KINO__MEMORY_SWAP_TOTAL], values[KINO__MEMORY_SWAP_FREE]));
}

const kino__collector kino__collector_memory = {
    .name = "memory",
    .help = "memory of the host (/proc/meminfo)",
    .classes = classes,
    .file = "meminfo",
    .state_size = sizeof(kino__proc_file),
    .open = kino__collector_open_file,
    .sample = sample_memory,
    .close = kino__collector_close_file,
};
