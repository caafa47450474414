/* samples_system.c - which thread had which processor, of all processes of the machine.
 *
 * The kernel tells each change twice: who leaves, and who comes. A span is the time between the two
 * on one processor; idle time is left empty. Tracks are processors. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "record/samples_internal.h"

typedef struct processor {
    uint32_t number;
    int32_t pid, tid; /* who has it; tid 0: idle, or nobody knows */
    int64_t since_ns;
    bool has_spans;
} processor;

typedef struct machine {
    kino__samples *samples;
    kino__samples_trace trace;
    KINO__VEC(processor) processors;
    kino__map names; /* tid -> text */
    kino__string_pool texts;
    bool failed;
} machine;

static processor *find_processor(machine *m, uint32_t number)
{
    for (size_t i = 0; i < m->processors.count; i++)
        if (m->processors.items[i].number == number)
            return &m->processors.items[i];
    processor *slot = kino__vec_add(&m->processors);
    if (slot)
        *slot = (processor){.number = number};
    else
        m->failed = true;
    return slot;
}

static void set_name(machine *m, int32_t tid, kino_strid name)
{
    uint32_t *slot = kino__map_put(&m->names, (uint32_t)tid, name);
    if (slot && name != KINO_NO_STRING)
        *slot = name;
    else
        m->failed = true;
}

/* A thread that was there before us, and perhaps still is. */
static kino_str ask_kernel(int32_t tid, char text[64])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, 63) : -1;
    if (fd >= 0)
        (void)close(fd);
    while (size > 0 && text[size - 1] == '\n')
        size--;
    if (size <= 0)
        size = snprintf(text, 64, "thread %d", tid);
    return (kino_str){text, (size_t)size};
}

static kino_str name_of(machine *m, int32_t tid)
{
    uint32_t *known = kino__map_get(&m->names, (uint32_t)tid);
    if (!known) {
        char text[64];
        set_name(m, tid, kino__string_pool_add(&m->texts, ask_kernel(tid, text)));
        known = kino__map_get(&m->names, (uint32_t)tid);
    }
    return kino__string_pool_text(&m->texts, known ? *known : KINO_NO_STRING);
}

static void leave(machine *m, processor *p, int64_t time_ns)
{
    if (p->tid > 0) {
        kino__samples_trace_run(&m->trace, p->number, name_of(m, p->tid), p->pid, p->tid,
                                p->since_ns, time_ns);
        p->has_spans = true;
    }
    p->tid = 0;
}

static void replay(machine *m, const kino__perf_record *r)
{
    uint32_t *known;
    processor *p;
    switch (r->type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
        p = find_processor(m, r->cpu);
        if (!p)
            break;
        leave(m, p, r->time_ns);
        if (!(r->misc & PERF_RECORD_MISC_SWITCH_OUT)) {
            p->pid = r->pid;
            p->tid = r->tid;
            p->since_ns = r->time_ns;
        }
        break;
    case PERF_RECORD_COMM:
        set_name(m, r->tid, kino__string_pool_add(&m->texts, r->as.name));
        break;
    case PERF_RECORD_FORK:
        known = kino__map_get(&m->names, (uint32_t)r->as.task.parent_tid);
        if (known)
            set_name(m, r->as.task.tid, *known);
        break;
    case PERF_RECORD_LOST:
        for (size_t i = 0; i < m->processors.count; i++)
            m->processors.items[i].tid = 0;
        break;
    default:
        break;
    }
}

static void replay_all(machine *m)
{
    kino__samples *s = m->samples;
    for (size_t i = 0; i < s->entries.count && !m->failed; i++) {
        const kino__samples_entry *entry = &s->entries.items[i];
        const kino__file *spool = &s->spools.items[entry->spool];
        kino__perf_record record;
        size_t at = (size_t)entry->at;
        if (kino__perf_record_next((kino_str){spool->data, spool->size}, &at, s->perf->events.items,
                                   s->perf->events.count, &record) != KINO__PERF_RECORD)
            continue;
        bool is_system = record.event && record.event->kind == KINO__PERF_SYSTEM;
        if (is_system || record.type == PERF_RECORD_LOST)
            replay(m, &record);
    }
    for (size_t i = 0; i < m->processors.count; i++) {
        processor *p = &m->processors.items[i];
        leave(m, p, s->last_ns);
        if (p->has_spans)
            kino__samples_trace_name_processor(&m->trace, p->number);
    }
}

kino_status kino__samples_build_system(kino__samples *s, kino_error *err)
{
    machine m = {.samples = s};
    const kino__samples_end end = {.name = KINO__STR("processors"), .stacks = "none"};
    kino__samples_trace_init(&m.trace, 0, s->base_ns, s->output->real_minus_raw - s->base_ns,
                             s->symbols);
    kino__map_init(&m.names, NULL);
    kino__string_pool_init(&m.texts, NULL);
    replay_all(&m);
    s->perf->system = kino__samples_trace_take(&m.trace, &end);
    kino_status st = m.failed || m.trace.failed ? kino__fail_nomem(err) : KINO_OK;
    kino__samples_trace_deinit(&m.trace);
    kino__vec_deinit(&m.processors);
    kino__map_deinit(&m.names);
    kino__string_pool_deinit(&m.texts);
    return st;
}
