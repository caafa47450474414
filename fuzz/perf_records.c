/* perf_records.c - any bytes as the kernel's records of samples: never out of bounds, every record
 * moves on, and what a sample points to lies within the bytes. Maps and samples are replayed into
 * an address space, stacks are walked. */
#include <linux/perf_event.h>
#include <stdlib.h>

#include "record/samples_unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    BASE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
           PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
    STACK = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
};

static const kino__perf_event events[] = {
    {11, BASE, 0, KINO__PERF_TRACK, 0},
    {12, BASE | PERF_SAMPLE_CALLCHAIN, 0, KINO__PERF_CLOCK, 0},
    {13, BASE | STACK, 0xff01ff, KINO__PERF_SWITCH, 0},
    {14, BASE | PERF_SAMPLE_ADDR, 0, KINO__PERF_FAULT, 0},
};

static void require(bool held)
{
    if (!held)
        abort();
}

static bool is_inside(kino_str bytes, const void *data, size_t size)
{
    const char *at = data;
    return size == 0 || (at >= bytes.data && size <= bytes.size &&
                         (size_t)(at - bytes.data) <= bytes.size - size);
}

static void replay_sample(kino_str bytes, const kino__perf_sample *sample, kino__space *space,
                          kino__symbols *symbols)
{
    static kino__unwind_chain chain;
    kino__frame_vec frames = {0};
    require(is_inside(bytes, sample->chain.data, 8 * sample->chain.count));
    require(is_inside(bytes, sample->regs.data, 8 * sample->regs.count));
    require(is_inside(bytes, sample->stack.data, sample->stack.size));
    chain.count = 0;
    kino__unwind(space, symbols, sample, &chain);
    require(chain.count <= KINO__UNWIND_DEPTH);
    require(kino__space_frames(space, symbols, sample->ip, sample->chain, &frames));
    require(frames.count > 0);
    kino__vec_deinit(&frames);
}

static void replay_map(kino_str bytes, const kino__perf_map *map, kino__space *space,
                       kino__symbols *symbols)
{
    kino__perf_map harmless = *map; /* no file of this machine is opened for it */
    require(is_inside(bytes, map->path.data, map->path.size));
    require(map->build_id_size <= sizeof map->build_id);
    harmless.path = KINO__STR("//anon");
    require(kino__space_add(space, symbols, &harmless));
    for (size_t i = 0; i < space->maps.count; i++) {
        require(space->maps.items[i].start < space->maps.items[i].end);
        require(i == 0 || space->maps.items[i - 1].end <= space->maps.items[i].start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino_str bytes = {(const char *)data, size};
    /* One for all inputs: the kernel's own list is long. */
    static kino__symbols *symbols; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables) */
    kino__space space;
    kino__perf_record record;
    kino__perf_found found;
    if (!symbols && kino__symbols_new(&symbols, NULL) != KINO_OK)
        return 0;
    kino__space_init(&space, -1);
    for (size_t at = 0, before = 0;; before = at) {
        found = kino__perf_record_next(bytes, &at, events, 4, &record);
        if (found == KINO__PERF_END)
            break;
        require(at > before && at <= size);
        if (found != KINO__PERF_RECORD)
            continue;
        if (record.type == PERF_RECORD_SAMPLE)
            replay_sample(bytes, &record.as.sample, &space, symbols);
        else if (record.type == PERF_RECORD_MMAP2)
            replay_map(bytes, &record.as.map, &space, symbols);
        else if (record.type == PERF_RECORD_COMM)
            require(is_inside(bytes, record.as.name.data, record.as.name.size));
    }
    kino__space_deinit(&space);
    return 0;
}
