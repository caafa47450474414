/* perf.c - opening the kernel's counters for a program that is about to start, and ending them.
 *
 * Per processor (inherited counters need that) up to five counters write into one ring:
 *
 *   track   nothing is counted; modules, names, forks and exits of the program's processes
 *   clock   a sample each n ns of CPU time; records of switches
 *   switch  a sample each time a thread leaves its processor: the stack it waits in. The kernel
 *           counts this as its own doing: permitted where kernel mode is
 *   fault   a sample for every 32 page faults
 *   system  switches of all threads of the machine, where permitted
 *
 * They are enabled by the exec of the program and inherited by its threads and children. */
#include "record/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/perf_internal.h"

enum {
    FAULTS = 32,          /* page faults of a thread, on one processor, for each sample */
    SWITCH_COPIES = 4000, /* of stacks a second, about, where they are copied */
};

static const uint64_t base_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void add_stacks(const kino__perf *perf, struct perf_event_attr *attr)
{
    if (perf->options.stacks == KINO__PERF_STACKS_NONE)
        return;
    attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (perf->options.stacks != KINO__PERF_STACKS_DWARF)
        return;
    attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr->sample_regs_user = KINO__PERF_REGS;
    attr->sample_stack_user = KINO__PERF_STACK_BYTES;
    attr->exclude_callchain_user = 1; /* the copy tells it; the kernel's part is in the chain */
}

static void fill_attr(const kino__perf *perf, kino__perf_kind kind, struct perf_event_attr *attr)
{
    *attr = (struct perf_event_attr){.size = sizeof *attr, .type = PERF_TYPE_SOFTWARE};
    attr->config = PERF_COUNT_SW_DUMMY;
    attr->sample_type = base_type;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC_RAW;
    attr->exclude_hv = 1;
    attr->exclude_kernel = !perf->kernel;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)(perf->ring_bytes / 4);
    attr->disabled = kind != KINO__PERF_SYSTEM || perf->is_paused;
    attr->inherit = kind != KINO__PERF_SYSTEM;
    attr->enable_on_exec = kind == KINO__PERF_TRACK || !perf->is_paused;
    switch (kind) {
    case KINO__PERF_TRACK:
        attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
        attr->build_id = 1;
        break;
    case KINO__PERF_CLOCK:
        attr->context_switch = perf->options.switches;
        if (!perf->period_ns)
            break; /* switches alone */
        attr->config = PERF_COUNT_SW_CPU_CLOCK;
        attr->sample_period = (uint64_t)perf->period_ns;
        add_stacks(perf, attr);
        break;
    case KINO__PERF_SWITCH:
        attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
        add_stacks(perf, attr);
        /* Copies are large: not more of them than of other samples. */
        attr->freq = perf->options.stacks == KINO__PERF_STACKS_DWARF;
        attr->sample_period = attr->freq ? SWITCH_COPIES : 1; /* the same field as sample_freq */
        break;
    case KINO__PERF_FAULT:
        attr->config = PERF_COUNT_SW_PAGE_FAULTS;
        attr->sample_period = FAULTS;
        /* By frequency, the kernel is wrong about how many. With a period in each sample it takes
         * one of every fault. */
        attr->sample_type = (attr->sample_type & ~(uint64_t)PERF_SAMPLE_PERIOD) | PERF_SAMPLE_ADDR;
        break;
    case KINO__PERF_SYSTEM:
        attr->context_switch = attr->comm = attr->task = 1;
        attr->enable_on_exec = 0;
        attr->exclude_kernel = 0;
        break;
    case KINO__PERF_KINDS:
        break;
    }
}

/* One counter of one processor, writing into its ring. Returns an errno, 0 when it is there;
 * ENODEV: the processor is off. */
static int add_event(kino__perf *perf, kino__perf_cpu *cpu, kino__perf_kind kind)
{
    struct perf_event_attr attr;
    fill_attr(perf, kind, &attr);
    pid_t pid = kind == KINO__PERF_SYSTEM ? -1 : perf->options.pid;
    int fd = open_event(&attr, pid, cpu->number);
    if (fd < 0 && errno == EINVAL && attr.build_id) { /* before Linux 5.12 */
        attr.build_id = 0;
        fd = open_event(&attr, pid, cpu->number);
    }
    if (fd < 0)
        return errno ? errno : EINVAL;
    kino__perf_event *event = kino__vec_add(&perf->events);
    int error = event ? 0 : ENOMEM;
    if (!error) {
        *event = (kino__perf_event){.sample_type = attr.sample_type,
                                    .regs = attr.sample_regs_user,
                                    .kind = kind,
                                    .period = attr.freq ? 0 : attr.sample_period};
        if (ioctl(fd, PERF_EVENT_IOC_ID, &event->id) != 0 ||
            (kind != KINO__PERF_TRACK &&
             ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->fds[KINO__PERF_TRACK]) != 0)) {
            error = errno;
            perf->events.count--;
        }
    }
    if (error)
        (void)close(fd);
    else
        cpu->fds[kind] = fd;
    return error;
}

/* The same kind on all processors. */
static int add_events(kino__perf *perf, kino__perf_kind kind)
{
    for (size_t i = 0; i < perf->cpus.count; i++) {
        int error = add_event(perf, &perf->cpus.items[i], kind);
        if (error)
            return error;
    }
    return 0;
}

static void close_events(kino__perf *perf, kino__perf_kind kind)
{
    for (size_t i = 0; i < perf->cpus.count; i++) {
        kino__perf_cpu *cpu = &perf->cpus.items[i];
        if (cpu->fds[kind] >= 0)
            (void)close(cpu->fds[kind]);
        cpu->fds[kind] = -1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < perf->events.count; i++)
        if (perf->events.items[i].kind != kind)
            perf->events.items[kept++] = perf->events.items[i];
    perf->events.count = kept;
}

/* Is the kernel's own time permitted? Asked with a counter that is thrown away. */
static bool may_see_kernel(const kino__perf *perf)
{
    struct perf_event_attr attr;
    fill_attr(perf, KINO__PERF_CLOCK, &attr);
    attr.exclude_kernel = 0;
    int fd = open_event(&attr, perf->options.pid, -1);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* A descriptor for each counter and file: as many as the hard limit allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The counter of bookkeeping on each processor that is on. */
static kino_status open_tracks(kino__perf *perf, kino_error *err)
{
    long count = sysconf(_SC_NPROCESSORS_CONF);
    for (int number = 0; number < (count > 0 ? count : 1); number++) {
        kino__perf_cpu *cpu = kino__vec_add(&perf->cpus);
        if (!cpu)
            return kino__fail_nomem(err);
        *cpu = (kino__perf_cpu){.number = number, .spool = -1};
        for (int kind = 0; kind < KINO__PERF_KINDS; kind++)
            cpu->fds[kind] = -1;
        int error = add_event(perf, cpu, KINO__PERF_TRACK);
        if (error == ENODEV)
            perf->cpus.count--;
        else if (error)
            return kino__perf_refused(error, (size_t)count, false, err);
    }
    if (!perf->cpus.count)
        return kino__fail(err, KINO_IO, "perf_event: counters cannot be opened on any processor");
    return KINO_OK;
}

static kino_status open_spools(kino__perf *perf, kino_error *err)
{
    for (size_t i = 0; i < perf->cpus.count; i++) {
        kino__perf_cpu *cpu = &perf->cpus.items[i];
        char path[4096];
        if (!kino__perf_spool_path(perf, cpu, path, sizeof path))
            return kino__fail(err, KINO_ARGUMENT, "the path of the work directory is too long");
        cpu->spool = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (cpu->spool < 0)
            return kino__fail_errno(err, errno, "cannot create '%s'", path);
        struct epoll_event wake = {.events = EPOLLIN | EPOLLET};
        if (epoll_ctl(perf->epoll, EPOLL_CTL_ADD, cpu->fds[KINO__PERF_TRACK], &wake) != 0)
            return kino__fail_errno(err, errno, "cannot wait for samples");
    }
    return KINO_OK;
}

/* What is wanted beyond the bookkeeping. Each kind that is refused is a note. */
static kino_status open_rest(kino__perf *perf, kino_error *err)
{
    const kino__perf_options *o = &perf->options;
    int error = 0;
    if (o->frequency || o->switches)
        error = add_events(perf, KINO__PERF_CLOCK);
    if (error)
        return kino__perf_refused(error, perf->cpus.count, false, err);
    if (o->switches && perf->kernel && add_events(perf, KINO__PERF_SWITCH) != 0)
        close_events(perf, KINO__PERF_SWITCH);
    if (o->switches && perf->cpus.items[0].fds[KINO__PERF_SWITCH] < 0) {
        if (o->stacks != KINO__PERF_STACKS_NONE)
            kino__perf_waits_open(perf);
        kino__perf_add_note(
            perf,
            "%s, and time in the kernel is not sampled: kernel.perf_event_paranoid is %" PRId64
            "; must be 1 or less (or use CAP_PERFMON)",
            perf->waits ? "only waits of 10 ms or more have stacks" : "off-CPU time has no stacks",
            kino__perf_setting("perf_event_paranoid", -1));
    }
    if (o->faults && add_events(perf, KINO__PERF_FAULT) != 0) {
        close_events(perf, KINO__PERF_FAULT);
        kino__perf_add_note(perf, "page faults are not recorded: the kernel refused the counter");
    }
    if (o->system && (error = add_events(perf, KINO__PERF_SYSTEM)) != 0) {
        kino_error reason;
        close_events(perf, KINO__PERF_SYSTEM);
        (void)kino__perf_refused(error, perf->cpus.count, true, &reason);
        kino__perf_add_note(perf, "%s", reason.message);
    }
    return KINO_OK;
}

/* The frequency within what the kernel permits. */
static void set_period(kino__perf *perf)
{
    int64_t most = kino__perf_setting("perf_event_max_sample_rate", 100000);
    int64_t frequency = perf->options.frequency;
    if (most > 0 && frequency > most) {
        kino__perf_add_note(perf,
                            "sampling at %" PRId64 " per second instead of %" PRId64
                            ", limited by kernel.perf_event_max_sample_rate",
                            most, frequency);
        frequency = most;
    }
    perf->period_ns = frequency ? 1000000000 / frequency : 0;
}

static kino_status open_all(kino__perf *perf, kino_error *err)
{
    raise_file_limit();
    perf->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (perf->epoll < 0)
        return kino__fail_errno(err, errno, "cannot wait for samples");
    if (perf->options.stacks == KINO__PERF_STACKS_DWARF && !KINO__PERF_REGS) {
        perf->options.stacks = KINO__PERF_STACKS_FRAME_POINTERS;
        kino__perf_add_note(perf, "stacks are walked by frame pointers: copies of stacks are not "
                                  "supported on this processor");
    }
    set_period(perf);
    perf->ring_bytes = perf->options.stacks == KINO__PERF_STACKS_DWARF ? 8 << 20 : 1 << 20;
    perf->kernel = may_see_kernel(perf);
    KINO_TRY(open_tracks(perf, err));
    KINO_TRY(kino__perf_rings_map(perf, err));
    KINO_TRY(open_rest(perf, err));
    KINO_TRY(open_spools(perf, err));
    return KINO_OK;
}

kino_status kino__perf_open(const kino__perf_options *options, kino__perf **out, kino_error *err)
{
    *out = NULL;
    kino__perf *perf = calloc(1, sizeof *perf);
    char *folder = options->folder ? strdup(options->folder) : NULL;
    if (!perf || !folder) {
        free(perf);
        free(folder);
        return kino__fail_nomem(err);
    }
    perf->options = *options;
    perf->options.folder = perf->folder = folder;
    perf->epoll = -1;
    kino__arena_init(&perf->arena, NULL);
    kino_status st = open_all(perf, err);
    if (st == KINO_OK)
        *out = perf;
    else
        kino__perf_close(perf);
    return st;
}

void kino__perf_close(kino__perf *perf)
{
    if (!perf)
        return;
    kino__perf_rings_unmap(perf);
    kino__perf_waits_close(perf);
    for (int kind = KINO__PERF_KINDS - 1; kind >= 0; kind--)
        close_events(perf, (kino__perf_kind)kind);
    for (size_t i = 0; i < perf->cpus.count; i++) {
        kino__perf_cpu *cpu = &perf->cpus.items[i];
        char path[4096];
        if (cpu->spool < 0)
            continue;
        (void)close(cpu->spool);
        if (kino__perf_spool_path(perf, cpu, path, sizeof path))
            (void)unlink(path);
    }
    if (perf->epoll >= 0)
        (void)close(perf->epoll);
    kino__vec_deinit(&perf->cpus);
    kino__vec_deinit(&perf->events);
    kino__vec_deinit(&perf->notes);
    kino__vec_deinit(&perf->pauses);
    for (size_t i = 0; i < perf->processes.count; i++)
        kino_builder_free(perf->processes.items[i].trace);
    kino_builder_free(perf->system);
    kino__vec_deinit(&perf->processes);
    kino__arena_deinit(&perf->arena);
    free(perf->folder);
    free(perf);
}

void kino__perf_add_note(kino__perf *perf, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    kino_str copy = kino__arena_copy(&perf->arena, (kino_str){text, strlen(text)});
    const char **note = copy.data ? kino__vec_add(&perf->notes) : NULL;
    if (note)
        *note = copy.data;
}

const char *kino__perf_note(const kino__perf *perf, size_t index)
{
    return index < perf->notes.count ? perf->notes.items[index] : NULL;
}

int kino__perf_fd(const kino__perf *perf)
{
    return perf->epoll;
}

bool kino__perf_spool_path(const kino__perf *perf, const kino__perf_cpu *cpu, char *path,
                           size_t size)
{
    int length = snprintf(path, size, "%s/perf-%d.data", perf->folder, cpu->number);
    return length > 0 && (size_t)length < size;
}

kino_status kino__perf_poll(kino__perf *perf, kino_error *err)
{
    struct epoll_event events[64];
    while (epoll_wait(perf->epoll, events, 64, 0) == 64) /* each reports once */
        ;
    if (perf->stopped)
        return KINO_OK;
    kino_status st = kino__perf_rings_drain(perf, err);
    kino__perf_waits_look(perf);
    return st;
}

static void set_events(kino__perf *perf, kino__perf_kind kind, bool active)
{
    unsigned long request = active ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    for (size_t i = 0; i < perf->cpus.count; i++)
        if (perf->cpus.items[i].fds[kind] >= 0)
            (void)ioctl(perf->cpus.items[i].fds[kind], request, 0);
}

/* The exec is to start nothing but the bookkeeping: that cannot be changed, only opened anew. */
static void pause_from_the_start(kino__perf *perf)
{
    perf->is_paused = true;
    for (int kind = KINO__PERF_CLOCK; kind < KINO__PERF_KINDS; kind++) {
        if (perf->cpus.items[0].fds[kind] < 0)
            continue;
        close_events(perf, (kino__perf_kind)kind);
        if (add_events(perf, (kino__perf_kind)kind) != 0) {
            close_events(perf, (kino__perf_kind)kind);
            kino__perf_add_note(perf, "cannot open the counters again");
        }
    }
}

void kino__perf_set_active(kino__perf *perf, bool active)
{
    if (perf->stopped || active == !perf->is_paused)
        return;
    if (active) {
        perf->pauses.items[perf->pauses.count - 1].end_ns = kino__clock_ns(CLOCK_MONOTONIC_RAW);
    } else {
        kino__perf_time *pause = kino__vec_add(&perf->pauses);
        if (!pause)
            return;
        *pause = (kino__perf_time){kino__clock_ns(CLOCK_MONOTONIC_RAW), INT64_MAX};
    }
    if (!active && !perf->has_data) {
        pause_from_the_start(perf);
        return;
    }
    perf->is_paused = !active;
    for (int kind = KINO__PERF_CLOCK; kind < KINO__PERF_KINDS; kind++)
        set_events(perf, (kino__perf_kind)kind, active);
}

kino_status kino__perf_finish(kino__perf *perf, const kino__perf_output *output,
                              kino__perf_result *result, kino_error *err)
{
    *result = (kino__perf_result){0};
    if (perf->finished)
        return kino__fail(err, KINO_ARGUMENT, "the samples have already been written");
    for (int kind = KINO__PERF_KINDS - 1; kind >= 0; kind--)
        set_events(perf, (kino__perf_kind)kind, false);
    KINO_TRY(kino__perf_rings_drain(perf, err));
    perf->stopped = perf->finished = true;
    KINO_TRY(kino__samples_build(perf, output, err));
    *result = (kino__perf_result){perf->processes.items, perf->processes.count, perf->system};
    return KINO_OK;
}
