/* demo_model.c - clocks, counters and the verbs of the demo model; the story itself is in
 * demo_step.c.
 *
 * Device time: a launch reaches its stream some microseconds after the call; work starts when it
 * has arrived and the stream is free. The host runs ahead until it waits for a result. */
#include "demo/demo_model.h"

#include <limits.h>
#include <string.h>

enum {
    LAUNCH_LATENCY_NS = 2900,
    STREAM_GAP_NS = 900,
    NCCL_BYTES_PER_NS = 220,
    COLLECTIVE_GAP_NS = 1500,
    STRAGGLER_PERCENT = 115,
};
#define ADDRESS_BASE   INT64_C(0x7f5a00000000)
#define ALLOCATED_BASE INT64_C(21474836480)

/* splitmix64: the same numbers everywhere. */
static uint64_t next_random(kino__demo_model *m)
{
    uint64_t z = m->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t kino__demo_vary(kino__demo_model *m, int64_t ns)
{
    return ns * (int64_t)(930 + next_random(m) % 150) / 1000;
}

void kino__demo_spend(kino__demo_model *m, int64_t ns)
{
    m->now += kino__demo_vary(m, ns);
}

void kino__demo_model_init(kino__demo_model *m, const kino__demo_shape *shape, unsigned rank)
{
    memset(m, 0, sizeof *m);
    m->shape = *shape;
    m->rank = rank;
    m->random = shape->seed ^ ((uint64_t)rank << 32);
    m->now = shape->start_ns + 1500000 + (int64_t)(next_random(m) % 150000);
    m->next_external = 1;
    m->next_python = 1;
    m->next_sequence = 1000;
    m->next_flow = 1;
    m->next_correlation = 50000;
    m->allocated = ALLOCATED_BASE;
}

void kino__demo_model_deinit(kino__demo_model *m)
{
    kino__vec_deinit(&m->events);
    kino__vec_deinit(&m->device);
    kino__vec_deinit(&m->shadows);
    kino__vec_deinit(&m->graph);
    kino__vec_deinit(&m->blocks);
}

static size_t add_host(kino__demo_model *m, kino__demo_event event)
{
    kino__demo_event *slot = kino__vec_add(&m->events);
    if (!slot) {
        m->has_failed = true;
        return SIZE_MAX;
    }
    event.ts = m->now;
    event.thread = m->thread;
    *slot = event;
    return m->events.count - 1;
}

size_t kino__demo_python_open(kino__demo_model *m, kino__demo_python name)
{
    bool is_module = name >= KINO__DEMO_FIRST_MODULE;
    size_t event = add_host(m, (kino__demo_event){.kind = KINO__DEMO_PYTHON,
                                                  .name = (uint8_t)name,
                                                  .id = m->next_python,
                                                  .parent = m->python_parent,
                                                  .a = is_module ? m->module_count[name]++ : 0});
    m->python_parent = m->next_python++;
    kino__demo_spend(m, 700);
    return event;
}

void kino__demo_python_close(kino__demo_model *m, size_t event)
{
    if (event == SIZE_MAX)
        return;
    kino__demo_spend(m, 300);
    m->events.items[event].dur = m->now - m->events.items[event].ts;
    m->python_parent = m->events.items[event].parent;
}

size_t kino__demo_op_open(kino__demo_model *m, kino__demo_op op)
{
    uint32_t id = m->next_external++;
    size_t event = add_host(
        m, (kino__demo_event){.kind = op == KINO__DEMO_OP_comms ? KINO__DEMO_COMMS : KINO__DEMO_OP,
                              .name = (uint8_t)op,
                              .id = id,
                              .external = id,
                              .parent = m->current_op});
    m->current_op = id;
    kino__demo_spend(m, 900);
    return event;
}

void kino__demo_close(kino__demo_model *m, size_t event)
{
    if (event == SIZE_MAX)
        return;
    kino__demo_spend(m, 400);
    m->events.items[event].dur = m->now - m->events.items[event].ts;
    m->current_op = m->events.items[event].parent;
}

size_t kino__demo_annotation_open(kino__demo_model *m, kino__demo_annotation name, int64_t number)
{
    uint32_t id = m->next_external++;
    size_t event = add_host(m, (kino__demo_event){.kind = KINO__DEMO_ANNOTATION,
                                                  .name = (uint8_t)name,
                                                  .id = id,
                                                  .external = id,
                                                  .parent = m->current_op,
                                                  .a = number});
    kino__demo_open_annotation *open = &m->open[m->thread][m->open_count[m->thread]++];
    for (unsigned i = 0; i < KINO__DEMO_STREAM_COUNT; i++)
        open->shadows[i] = (kino__demo_shadow){.start = INT64_MAX,
                                               .end = INT64_MIN,
                                               .number = number,
                                               .external = id,
                                               .name = (uint8_t)name,
                                               .stream = (uint8_t)i};
    kino__demo_spend(m, 1100);
    return event;
}

void kino__demo_annotation_close(kino__demo_model *m, size_t event)
{
    kino__demo_close(m, event);
    kino__demo_open_annotation *open = &m->open[m->thread][--m->open_count[m->thread]];
    for (unsigned i = 0; i < KINO__DEMO_STREAM_COUNT; i++) {
        if (open->shadows[i].start == INT64_MAX)
            continue;
        kino__demo_shadow *slot = kino__vec_add(&m->shadows);
        if (slot)
            *slot = open->shadows[i];
        else
            m->has_failed = true;
    }
}

static void add_device(kino__demo_model *m, kino__demo_event event)
{
    kino__demo_event *slot = kino__vec_add(&m->device);
    if (slot)
        *slot = event;
    else
        m->has_failed = true;
}

void kino__demo_make_call(kino__demo_model *m, kino__demo_call call, int64_t ns)
{
    int64_t dur = kino__demo_vary(m, ns);
    add_device(m, (kino__demo_event){.kind = KINO__DEMO_CALL,
                                     .name = (uint8_t)call,
                                     .ts = m->now,
                                     .dur = dur,
                                     .id = m->next_correlation++,
                                     .external = m->current_op,
                                     .thread = m->thread});
    m->now += dur + kino__demo_vary(m, 300);
}

static void cast_shadows(kino__demo_model *m, const kino__demo_event *work)
{
    for (uint32_t i = 0; i < m->open_count[m->thread]; i++) {
        kino__demo_shadow *shadow = &m->open[m->thread][i].shadows[work->stream];
        if (work->ts < shadow->start)
            shadow->start = work->ts;
        if (work->ts + work->dur > shadow->end)
            shadow->end = work->ts + work->dur;
    }
}

size_t kino__demo_launch(kino__demo_model *m, const kino__demo_work *work)
{
    int64_t *stream_end = &m->stream_end[work->stream];
    int64_t start = m->now + kino__demo_vary(m, LAUNCH_LATENCY_NS);
    if (start < *stream_end + STREAM_GAP_NS)
        start = *stream_end + kino__demo_vary(m, STREAM_GAP_NS);
    if (start < work->not_before)
        start = work->not_before;
    int64_t dur = kino__demo_vary(m, work->ns);
    if (m->rank == m->shape.straggler && work->kind == KINO__DEMO_KERNEL)
        dur = dur * STRAGGLER_PERCENT / 100;
    kino__demo_event event = {.kind = (uint8_t)work->kind,
                              .name = work->name,
                              .ts = start,
                              .dur = dur,
                              .b = work->bytes,
                              .id = m->next_correlation,
                              .external = m->current_op,
                              .stream = work->stream};
    *stream_end = start + dur;
    cast_shadows(m, &event);
    add_device(m, event);
    kino__demo_make_call(m, work->call, 4600);
    return m->device.count - 2;
}

static void add_memory(kino__demo_model *m, int64_t address, int64_t bytes)
{
    m->allocated += bytes;
    (void)add_host(m, (kino__demo_event){
                          .kind = KINO__DEMO_MEMORY, .a = address, .b = bytes, .c = m->allocated});
}

void kino__demo_allocate(kino__demo_model *m, int64_t bytes)
{
    kino__demo_block *block = kino__vec_add(&m->blocks);
    if (!block) {
        m->has_failed = true;
        return;
    }
    *block = (kino__demo_block){ADDRESS_BASE + m->next_address, bytes};
    m->next_address += (bytes + 511) / 512 * 512;
    add_memory(m, block->address, bytes);
}

void kino__demo_release(kino__demo_model *m)
{
    if (!m->blocks.count)
        return;
    kino__demo_block block = m->blocks.items[--m->blocks.count];
    m->next_address = block.address - ADDRESS_BASE;
    add_memory(m, block.address, -block.bytes);
}

void kino__demo_agree(const kino__demo_shape *shape, const kino__demo_model *ranks, int64_t *ends)
{
    int64_t before = INT64_MIN / 2;
    int64_t cost = (int64_t)KINO__DEMO_PARAMETERS_PER_LAYER * 2 / NCCL_BYTES_PER_NS;
    for (unsigned k = 0; k < kino__demo_collectives(shape); k++) {
        int64_t start = before + COLLECTIVE_GAP_NS;
        for (unsigned r = 0; r < shape->ranks; r++)
            if (start < ranks[r].ready[k])
                start = ranks[r].ready[k];
        before = ends[k] = start + (shape->ranks > 1 ? cost : cost / 8);
    }
}

/* A rank's collective starts when that rank is ready and is over when the slowest is served. */
void kino__demo_settle(kino__demo_model *m, const int64_t *ends)
{
    int64_t before = INT64_MIN / 2;
    for (unsigned k = 0; k < m->collectives && !m->has_failed; k++) {
        int64_t start = before + COLLECTIVE_GAP_NS;
        if (start < m->ready[k])
            start = m->ready[k];
        kino__demo_event *event = &m->device.items[m->collective_event[k]];
        event->ts = start;
        event->dur = ends[k] - start;
        kino__demo_shadow *shadow = &m->shadows.items[m->collective_shadow[k]];
        shadow->start = start;
        shadow->end = ends[k];
        before = m->stream_end[KINO__DEMO_STREAM_NCCL] = ends[k];
    }
    if (m->stream_end[KINO__DEMO_STREAM_COMPUTE] < before)
        m->stream_end[KINO__DEMO_STREAM_COMPUTE] = before;
}
