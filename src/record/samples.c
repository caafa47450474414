/* samples.c - replaying the kernel's records in order of time, and making traces of them.
 *
 *   perf-<cpu>.data ─► entries sorted by time ─► process: address space ─► frames ─► spans ─► trace
 *                                                thread:  on or off its processor
 *
 * Files have the records of one processor each; a thread's records are spread over all of them. The
 * index costs 24 bytes per record, everything else is streamed. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "record/samples_internal.h"
#include "wire/injection.h"

static const int64_t base_unit_ns = 7889238 * (int64_t)1000000000; /* as recordings have it */

/* ---- processes and threads ---- */

static kino__samples_process *add_process(kino__samples *s, int32_t pid, int64_t time_ns)
{
    kino__samples_process *process = calloc(1, sizeof *process);
    kino__samples_process **slot = process ? kino__vec_add(&s->processes) : NULL;
    if (!slot) {
        free(process);
        s->failed = true;
        return NULL;
    }
    *slot = process;
    uint32_t number = (uint32_t)s->processes.count - 1;
    uint32_t *current = kino__map_put(&s->by_pid, (uint32_t)pid, number);
    kino__space_init(&process->space, pid);
    process->pid = pid;
    process->name = KINO_NO_STRING;
    process->start_ns = process->end_ns = time_ns;
    kino__samples_trace_init(&process->trace, pid, s->base_ns,
                             s->output->real_minus_raw - s->base_ns, s->symbols);
    if (!current) {
        s->failed = true;
        return NULL;
    }
    *current = number;
    return process;
}

static kino__samples_process *find_process(kino__samples *s, int32_t pid, int64_t time_ns)
{
    uint32_t *number = kino__map_get(&s->by_pid, (uint32_t)pid);
    kino__samples_process *process = number ? s->processes.items[*number] : NULL;
    return process && !process->is_closed ? process : add_process(s, pid, time_ns);
}

static void take_sample_span(void *context, const kino__sample_span *span)
{
    kino__samples_thread *thread = context;
    kino__samples_trace_span(&thread->process->trace, thread->tid, "samples", "cpu_sample", span,
                             NULL);
    thread->has_samples = true;
}

static kino__samples_thread *add_thread(kino__samples *s, kino__samples_process *process,
                                        int32_t tid)
{
    kino__samples_thread *thread = process ? calloc(1, sizeof *thread) : NULL;
    kino__samples_thread **slot = thread ? kino__vec_add(&s->threads) : NULL;
    uint32_t number = (uint32_t)s->threads.count - 1;
    uint32_t *current = slot ? kino__map_put(&s->by_tid, (uint32_t)tid, number) : NULL;
    if (!current) {
        if (slot)
            s->threads.count--;
        free(thread);
        s->failed = true;
        return NULL;
    }
    *slot = thread;
    *current = number;
    thread->tid = tid;
    thread->name = KINO_NO_STRING;
    thread->process = process;
    thread->samples = s;
    thread->left_ns = KINO__SAMPLE_NONE;
    kino__sample_spans_init(&thread->spans, s->perf->period_ns, s->perf->options.switches,
                            take_sample_span, thread);
    process->running++;
    return thread;
}

static kino__samples_thread *find_thread(kino__samples *s, int32_t pid, int32_t tid,
                                         int64_t time_ns)
{
    if (pid <= 0 || tid <= 0) /* a thread that is as good as gone */
        return NULL;
    uint32_t *number = kino__map_get(&s->by_tid, (uint32_t)tid);
    kino__samples_thread *thread = number ? s->threads.items[*number] : NULL;
    if (thread && thread->process->pid == pid && !thread->has_ended)
        return thread;
    return add_thread(s, find_process(s, pid, time_ns), tid);
}

/* ---- records ---- */

static bool is_left_out(const kino__perf_output *output, int64_t tid, int64_t time_ns)
{
    size_t low = KINO__SEARCH(size_t, i, 0, output->own_count, output->own[i].tid < tid);
    for (; low < output->own_count && output->own[low].tid == tid; low++)
        if (time_ns >= output->own[low].from_ns && time_ns < output->own[low].to_ns)
            return true;
    return false;
}

/* Did the thread make the recorder's buffers then? That is not the program's time. Nor is one that
 * the program does not want to see. */
static bool is_own_time(const kino__samples_thread *thread, int64_t time_ns)
{
    const kino__perf_output *output = thread->samples->output;
    return is_left_out(output, thread->tid, time_ns) ||
           is_left_out(output, -(int64_t)thread->process->pid, time_ns);
}

/* The time off the processor that ends here, with the stack it was spent in. */
static void end_wait(kino__samples_thread *thread, int64_t time_ns)
{
    if (thread->left_ns == KINO__SAMPLE_NONE)
        return;
    /* waiting for work is all that the recorder's own threads do */
    if (thread->is_own || is_own_time(thread, thread->left_ns)) {
        thread->left_ns = KINO__SAMPLE_NONE;
        thread->waiting.count = 0;
        return;
    }
    kino__samples_trace *trace = &thread->process->trace;
    const char *state = thread->was_preempted ? "preempted" : "blocked";
    size_t written = 0;
    for (size_t i = 0; i < thread->waiting.count; i++) {
        kino__symbol_frame frame = thread->waiting.items[i];
        /* What the kernel does to take a processor away is not what the thread did. */
        if (thread->was_preempted &&
            kino__symbols_is_kernel(thread->samples->symbols, frame.function))
            continue;
        written++;
        kino__sample_span span = {thread->left_ns, time_ns, frame.function, frame.line, 0};
        kino__samples_trace_span(trace, thread->tid, "off-CPU", "off_cpu", &span, state);
    }
    if (!written)
        kino__samples_trace_wait(trace, thread->tid, state, thread->left_ns, time_ns);
    thread->has_waits = true;
    thread->left_ns = KINO__SAMPLE_NONE;
    thread->waiting.count = 0;
}

static void on_switch(kino__samples *s, const kino__perf_record *r)
{
    kino__samples_thread *thread = find_thread(s, r->pid, r->tid, r->time_ns);
    if (!thread)
        return;
    thread->process->end_ns = r->time_ns;
    if (r->misc & PERF_RECORD_MISC_SWITCH_OUT) {
        kino__sample_spans_leave(&thread->spans, r->time_ns);
        thread->left_ns = r->time_ns;
        thread->was_preempted = (r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
        thread->process->switches++;
    } else {
        end_wait(thread, r->time_ns);
        kino__sample_spans_run(&thread->spans, r->time_ns);
    }
}

/* The kernel's part of the chain and what the copied stack tells. */
static kino__perf_words walk_stack(kino__samples *s, kino__samples_process *process,
                                   const kino__perf_sample *sample)
{
    kino__unwind_chain *chain = &s->chain;
    chain->count = 0;
    for (size_t i = 0; i < sample->chain.count && chain->count < KINO__UNWIND_DEPTH / 2; i++) {
        uint64_t address = kino__perf_word(sample->chain, i);
        if (address == (uint64_t)PERF_CONTEXT_USER)
            break;
        chain->addresses[chain->count++] = address;
    }
    kino__unwind(&process->space, s->symbols, sample, chain);
    return (kino__perf_words){(const unsigned char *)chain->addresses, chain->count};
}

static bool is_in_c_library(const kino__samples *s, const kino__symbol_function *f)
{
    kino_str module = kino__symbols_text(s->symbols, f->module);
    return kino__str_starts_with(module, KINO__STR("libc.so")) ||
           kino__str_starts_with(module, KINO__STR("libc.musl")) ||
           kino__str_starts_with(module, KINO__STR("libpthread")) ||
           kino__str_starts_with(module, KINO__STR("ld-"));
}

/* Does a thread begin in the function? */
static bool is_start(kino_str name)
{
    static const char *const names[] = {"_start",  "_start_c", "start_thread",
                                        "start",   "clone",    "clone3",
                                        "__clone", "__clone3", "__GI___clone"};
    static const char *const prefixes[] = {"__libc_start", "_dl_", "ret_from_fork",
                                           "runtime." /* Go's */};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_is(name, names[i]))
            return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (kino__str_starts_with(name, kino__str_from(prefixes[i])))
            return true;
    return false;
}

/* Does the stack reach the function in which its thread began? Names may be missing there: below
 * __libc_start_main is _start, and a stack of several functions that ends in the C library ends
 * where this calls the program. The loader runs before there is a program. */
static bool reaches_start(const kino__samples *s, const kino__frame_vec *frames)
{
    if (!frames->count || kino__symbols_is_kernel(s->symbols, frames->items[0].function))
        return true;
    for (size_t i = 0; i < 2 && i < frames->count; i++) {
        kino__symbol_function f = kino__symbols_function(s->symbols, frames->items[i].function);
        kino_str name = kino__symbols_text(s->symbols, f.name);
        if (i == 0 ? is_start(name) : kino__str_starts_with(name, KINO__STR("__libc_start")))
            return true;
    }
    kino__symbol_function first = kino__symbols_function(s->symbols, frames->items[0].function);
    kino_str module = kino__symbols_text(s->symbols, first.module);
    return kino__str_starts_with(module, KINO__STR("ld-")) ||
           (frames->count > 1 && is_in_c_library(s, &first));
}

/* Where a broken stack ends is code that does not keep its caller's frame. */
static void count_broken(kino__samples *s, kino__samples_process *process, uint32_t function)
{
    kino_strid module = kino__symbols_function(s->symbols, function).module;
    process->broken++;
    for (size_t i = 0; i < process->broken_in.count; i++)
        if (process->broken_in.items[i].module == module) {
            process->broken_in.items[i].count++;
            return;
        }
    kino__samples_broken *slot = kino__vec_add(&process->broken_in);
    if (slot)
        *slot = (kino__samples_broken){module, 1};
    else
        s->failed = true;
}

/* The module in which most broken stacks end; empty: there are none. */
static kino_str most_broken(const kino__samples *s, const kino__samples_process *process)
{
    const kino__samples_broken *most = NULL;
    for (size_t i = 0; i < process->broken_in.count; i++)
        if (!most || process->broken_in.items[i].count > most->count)
            most = &process->broken_in.items[i];
    return most ? kino__symbols_text(s->symbols, most->module) : (kino_str){"", 0};
}

static void on_sample(kino__samples *s, const kino__perf_record *r)
{
    kino__samples_thread *thread = find_thread(s, r->pid, r->tid, r->time_ns);
    if (!thread || !r->event)
        return;
    kino__samples_process *process = thread->process;
    const kino__perf_sample *sample = &r->as.sample;
    if (thread->is_own || is_own_time(thread, r->time_ns)) {
        if (r->event->kind == KINO__PERF_CLOCK) {
            thread->left_ns = KINO__SAMPLE_NONE;
            kino__sample_spans_forget(&thread->spans);
            kino__sample_spans_run(&thread->spans, r->time_ns);
        }
        return;
    }
    kino__frame_vec *frames = r->event->kind == KINO__PERF_SWITCH ? &thread->waiting : &s->frames;
    kino__perf_words chain = sample->chain;
    if (sample->regs_abi && sample->stack.size)
        chain = walk_stack(s, process, sample);
    if (!kino__space_frames(&process->space, s->symbols, sample->ip, chain, frames)) {
        s->failed = true;
        return;
    }
    process->end_ns = r->time_ns;
    switch (r->event->kind) {
    case KINO__PERF_CLOCK:
        thread->left_ns = KINO__SAMPLE_NONE; /* who has a sample has a processor */
        kino__sample_spans_add(&thread->spans, r->time_ns, frames->items, frames->count);
        process->samples++;
        if (!reaches_start(s, frames))
            count_broken(s, process, frames->items[0].function);
        break;
    case KINO__PERF_FAULT:
        process->faults += sample->period;
        kino__samples_trace_fault(&process->trace, thread->tid, r->time_ns, sample->address,
                                  sample->period, process->faults,
                                  frames->items[frames->count - 1]);
        thread->has_samples = true;
        break;
    default:
        break;
    }
}

static void on_map(kino__samples *s, const kino__perf_record *r)
{
    kino__samples_process *process = find_process(s, r->pid, r->time_ns);
    if (process && !kino__space_add(&process->space, s->symbols, &r->as.map))
        s->failed = true;
}

static void on_name(kino__samples *s, const kino__perf_record *r)
{
    kino__samples_thread *thread = find_thread(s, r->pid, r->tid, r->time_ns);
    if (!thread)
        return;
    thread->name = kino__string_pool_add(&s->names, r->as.name);
    thread->is_own = kino__str_is(r->as.name, KINO__THREAD_RECORDER) ||
                     kino__str_is(r->as.name, KINO__THREAD_OPENCL);
    if (r->misc & PERF_RECORD_MISC_COMM_EXEC) {
        kino__space_clear(&thread->process->space);
        kino__sample_spans_forget(&thread->spans);
        kino__sample_spans_run(&thread->spans, r->time_ns);
    }
    if (r->tid == r->pid)
        thread->process->name = thread->name;
}

static void on_fork(kino__samples *s, const kino__perf_record *r)
{
    int32_t pid = r->as.task.pid, tid = r->as.task.tid;
    if (pid <= 0 || tid <= 0)
        return;
    uint32_t *number = kino__map_get(&s->by_tid, (uint32_t)r->as.task.parent_tid);
    const kino__samples_thread *parent = number ? s->threads.items[*number] : NULL;
    kino__samples_process *process;
    if (pid == r->as.task.parent_pid) {
        process = find_process(s, pid, r->time_ns);
    } else {
        process = add_process(s, pid, r->time_ns);
        if (process && parent) {
            process->name = parent->process->name;
            if (!kino__space_copy(&process->space, &parent->process->space))
                s->failed = true;
        }
    }
    kino__samples_thread *thread = add_thread(s, process, tid);
    if (thread && parent)
        thread->name = parent->name;
}

static void end_thread(kino__samples_thread *thread)
{
    if (thread->has_ended)
        return;
    thread->has_ended = true;
    thread->process->running--;
    kino__sample_spans_finish(&thread->spans);
    kino__samples *s = thread->samples;
    kino_str name = kino__string_pool_text(&s->names, thread->name);
    if (thread->has_samples)
        kino__samples_trace_name_track(&thread->process->trace, thread->tid, "samples", name);
    if (thread->has_waits)
        kino__samples_trace_name_track(&thread->process->trace, thread->tid, "off-CPU", name);
    s->failed |= thread->spans.failed;
    kino__sample_spans_deinit(&thread->spans);
    kino__vec_deinit(&thread->waiting);
}

static const char *stacks_text(kino__perf_stacks stacks)
{
    switch (stacks) {
    case KINO__PERF_STACKS_FRAME_POINTERS:
        return "frame pointers";
    case KINO__PERF_STACKS_DWARF:
        return "copied";
    case KINO__PERF_STACKS_NONE:
        break;
    }
    return "none";
}

/* The process's trace is whole now. */
static void end_process(kino__samples *s, kino__samples_process *process)
{
    if (process->is_closed)
        return;
    process->is_closed = true;
    kino__space_deinit(&process->space);
    kino__samples_end end = {.name = kino__string_pool_text(&s->names, process->name),
                             .lost = process->lost,
                             .damaged = s->damaged,
                             .period_ns = s->perf->period_ns,
                             .samples = process->samples,
                             .broken = process->broken,
                             .broken_in = most_broken(s, process),
                             .stacks = stacks_text(s->perf->options.stacks)};
    process->builder = kino__samples_trace_take(&process->trace, &end);
    s->failed |= process->trace.failed;
    kino__samples_trace_deinit(&process->trace);
}

static void on_exit_record(kino__samples *s, const kino__perf_record *r)
{
    uint32_t *number = kino__map_get(&s->by_tid, (uint32_t)r->as.task.tid);
    kino__samples_thread *thread = number ? s->threads.items[*number] : NULL;
    if (!thread || thread->has_ended || thread->process->pid != r->as.task.pid)
        return;
    thread->process->end_ns = r->time_ns;
    end_thread(thread);
    if (!thread->process->running)
        end_process(s, thread->process);
}

/* Records are missing: what threads did meanwhile is unknown. */
static void forget_all(kino__samples *s)
{
    for (size_t i = 0; i < s->threads.count; i++) {
        kino__samples_thread *thread = s->threads.items[i];
        if (thread->has_ended)
            continue;
        kino__sample_spans_forget(&thread->spans);
        thread->left_ns = KINO__SAMPLE_NONE;
        thread->waiting.count = 0;
    }
}

static void on_lost(kino__samples *s, const kino__perf_record *r)
{
    size_t count = s->processes.count;
    uint32_t *number = kino__map_get(&s->by_pid, (uint32_t)r->pid);
    if (number)
        s->processes.items[*number]->lost += r->as.lost;
    else if (count)
        s->processes.items[0]->lost += r->as.lost;
    forget_all(s);
}

static void replay(kino__samples *s, const kino__perf_record *r)
{
    if (r->event && r->event->kind == KINO__PERF_SYSTEM)
        return;
    while (s->pause < s->perf->pauses.count &&
           s->perf->pauses.items[s->pause].start_ns <= r->time_ns) {
        forget_all(s);
        s->pause++;
    }
    switch (r->type) {
    case PERF_RECORD_SAMPLE:
        on_sample(s, r);
        break;
    case PERF_RECORD_SWITCH:
        on_switch(s, r);
        break;
    case PERF_RECORD_MMAP2:
        on_map(s, r);
        break;
    case PERF_RECORD_COMM:
        on_name(s, r);
        break;
    case PERF_RECORD_FORK:
        on_fork(s, r);
        break;
    case PERF_RECORD_EXIT:
        on_exit_record(s, r);
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        on_lost(s, r);
        break;
    case PERF_RECORD_THROTTLE:
        s->throttled++;
        break;
    default:
        break;
    }
}

/* ---- files ---- */

static void index_spool(kino__samples *s, uint32_t number)
{
    const kino__file *spool = &s->spools.items[number];
    kino_str bytes = {spool->data, spool->size};
    for (size_t at = 0;;) {
        kino__perf_record record;
        uint64_t start = at;
        kino__perf_found found = kino__perf_record_next(bytes, &at, s->perf->events.items,
                                                        s->perf->events.count, &record);
        if (found == KINO__PERF_END)
            return;
        s->damaged += found == KINO__PERF_DAMAGED || found == KINO__PERF_BROKEN;
        if (found != KINO__PERF_RECORD)
            continue;
        kino__samples_entry *entry = kino__vec_add(&s->entries);
        if (!entry) {
            s->failed = true;
            return;
        }
        *entry = (kino__samples_entry){record.time_ns, start, number};
    }
}

static int compare_entries(const void *a, const void *b)
{
    const kino__samples_entry *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->spool != y->spool)
        return x->spool < y->spool ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static kino_status open_spools(kino__samples *s, kino_error *err)
{
    for (size_t i = 0; i < s->perf->cpus.count; i++) {
        char path[4096];
        kino__file *spool = kino__vec_add(&s->spools);
        if (!spool)
            return kino__fail_nomem(err);
        *spool = (kino__file){0};
        if (!kino__perf_spool_path(s->perf, &s->perf->cpus.items[i], path, sizeof path))
            return kino__fail(err, KINO_ARGUMENT, "the path of the work directory is too long");
        KINO_TRY(kino__file_open(path, spool, err));
        index_spool(s, (uint32_t)i);
    }
    if (s->failed)
        return kino__fail_nomem(err);
    if (s->entries.count > 1)
        qsort(s->entries.items, s->entries.count, sizeof *s->entries.items, compare_entries);
    if (s->entries.count) {
        s->first_ns = s->entries.items[0].time_ns;
        s->last_ns = s->entries.items[s->entries.count - 1].time_ns;
    }
    int64_t start = s->first_ns + s->output->real_minus_raw;
    s->base_ns = start > 0 ? start / base_unit_ns * base_unit_ns : 0;
    return KINO_OK;
}

static kino_status replay_all(kino__samples *s, kino_error *err)
{
    for (size_t i = 0; i < s->entries.count && !s->failed; i++) {
        const kino__samples_entry *entry = &s->entries.items[i];
        const kino__file *spool = &s->spools.items[entry->spool];
        kino__perf_record record;
        size_t at = (size_t)entry->at;
        if (kino__perf_record_next((kino_str){spool->data, spool->size}, &at, s->perf->events.items,
                                   s->perf->events.count, &record) == KINO__PERF_RECORD)
            replay(s, &record);
    }
    for (size_t i = 0; i < s->threads.count; i++) {
        if (!s->threads.items[i]->has_ended)
            end_wait(s->threads.items[i], s->last_ns);
        end_thread(s->threads.items[i]);
    }
    for (size_t i = 0; i < s->processes.count; i++)
        end_process(s, s->processes.items[i]);
    return s->failed ? kino__fail_nomem(err) : KINO_OK;
}

/* ---- the result ---- */

static bool add_result(kino__samples *s, kino__samples_process *process)
{
    kino__perf *perf = s->perf;
    kino_str name =
        kino__arena_copy(&perf->arena, kino__string_pool_text(&s->names, process->name));
    kino__perf_process *slot = name.data ? kino__vec_add(&perf->processes) : NULL;
    if (!slot)
        return false;
    *slot = (kino__perf_process){.pid = process->pid,
                                 .name = name.data,
                                 .trace = process->builder,
                                 .samples = process->samples,
                                 .lost = process->lost,
                                 .start_ns = process->start_ns,
                                 .end_ns = process->end_ns};
    process->builder = NULL;
    return true;
}

static void note_broken(kino__samples *s, uint64_t samples, uint64_t broken)
{
    const kino__samples_process *most = NULL;
    for (size_t i = 0; i < s->processes.count; i++)
        if (!most || s->processes.items[i]->broken > most->broken)
            most = s->processes.items[i];
    kino_str module = most ? most_broken(s, most) : (kino_str){"", 0};
    bool by_pointers = s->perf->options.stacks == KINO__PERF_STACKS_FRAME_POINTERS;
    if (s->perf->options.stacks != KINO__PERF_STACKS_NONE)
        kino__perf_add_note(
            s->perf,
            "%" PRIu64 " of %" PRIu64
            " stacks are incomplete, so total times are not available (most end in %.*s%s)",
            broken, samples, KINO__STR_ARG(module),
            by_pointers ? ", without frame pointers: try --stacks dwarf" : "");
}

static kino_status add_results(kino__samples *s, kino_error *err)
{
    enum { MOST = 3, BROKEN_SHARE = 10 /* one in so many is said */ };
    char text[512];
    uint64_t lost = 0, samples = 0, broken = 0;
    size_t complaints = 0;
    for (size_t i = 0; i < s->processes.count; i++) {
        lost += s->processes.items[i]->lost;
        samples += s->processes.items[i]->samples;
        broken += s->processes.items[i]->broken;
        if (s->processes.items[i]->builder && !add_result(s, s->processes.items[i]))
            return kino__fail_nomem(err);
    }
    if (lost)
        kino__perf_add_note(s->perf, "%" PRIu64 " sample records dropped: buffer full", lost);
    if (broken > samples / BROKEN_SHARE)
        note_broken(s, samples, broken);
    if (s->throttled)
        kino__perf_add_note(s->perf, "the kernel throttled sampling %" PRIu64 " times",
                            s->throttled);
    while (kino__symbols_complaint(s->symbols, complaints, text, sizeof text))
        if (complaints++ < MOST)
            kino__perf_add_note(s->perf, "%s", text);
    if (complaints > MOST)
        kino__perf_add_note(s->perf, "and the same for %zu more files", complaints - MOST);
    return KINO_OK;
}

static void deinit(kino__samples *s)
{
    for (size_t i = 0; i < s->threads.count; i++) {
        kino__sample_spans_deinit(&s->threads.items[i]->spans);
        kino__vec_deinit(&s->threads.items[i]->waiting);
        free(s->threads.items[i]);
    }
    for (size_t i = 0; i < s->processes.count; i++) {
        kino__space_deinit(&s->processes.items[i]->space);
        kino__vec_deinit(&s->processes.items[i]->broken_in);
        kino__samples_trace_deinit(&s->processes.items[i]->trace);
        kino_builder_free(s->processes.items[i]->builder);
        free(s->processes.items[i]);
    }
    for (size_t i = 0; i < s->spools.count; i++)
        kino__file_close(&s->spools.items[i]);
    kino__vec_deinit(&s->spools);
    kino__vec_deinit(&s->entries);
    kino__vec_deinit(&s->processes);
    kino__vec_deinit(&s->threads);
    kino__vec_deinit(&s->frames);
    kino__map_deinit(&s->by_pid);
    kino__map_deinit(&s->by_tid);
    kino__string_pool_deinit(&s->names);
    kino__symbols_free(s->symbols);
}

kino_status kino__samples_build(kino__perf *perf, const kino__perf_output *output, kino_error *err)
{
    kino__samples s = {.perf = perf, .output = output};
    kino__map_init(&s.by_pid, NULL);
    kino__map_init(&s.by_tid, NULL);
    kino__string_pool_init(&s.names, NULL);
    kino_status st = kino__symbols_new(&s.symbols, err);
    if (st == KINO_OK)
        st = open_spools(&s, err);
    if (st == KINO_OK)
        st = replay_all(&s, err);
    if (st == KINO_OK && perf->options.system)
        st = kino__samples_build_system(&s, err);
    if (st == KINO_OK)
        st = add_results(&s, err);
    deinit(&s);
    return st;
}
