/* doctor_cpu.c - kino doctor: what perf_event really gives here. Every answer is a counter that was
 * opened, and where it matters read: settings alone do not say what a container's seccomp filter, a
 * virtual machine without counters or a capability makes of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/doctor.h"

enum { RING_PAGES = 8, WORK_MS = 30, PARANOID_USUAL = 2, SYMBOLS_LOOKED_AT = 2000 };

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

/* A descriptor, or -errno. */
static int open_counter(struct perf_event_attr *attr, pid_t pid, int cpu)
{
    attr->size = sizeof *attr;
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? (int)fd : -errno;
}

static struct perf_event_attr software(uint64_t config)
{
    return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = config, .disabled = 1};
}

/* Why a counter could not be opened. */
static const char *reason(int error)
{
    switch (error) {
    case EPERM:
        return "not permitted (EPERM)";
    case EACCES:
        return "not permitted at this level (EACCES)";
    case ENOENT:
    case ENODEV:
        return "not available from the processor or hypervisor (ENOENT)";
    case EOPNOTSUPP:
        return "not supported by the processor or hypervisor (EOPNOTSUPP)";
    case ENOSYS:
        return "perf_event_open is not in the kernel, or is filtered (ENOSYS)";
    case EMFILE:
        return "no file descriptors left (EMFILE)";
    default:
        return "refused";
    }
}

static const char *refusal(kino__doctor *d, int error)
{
    const char *text = reason(error);
    return strcmp(text, "refused") == 0 ? kino__doctor_text(d, "refused (error %d)", error) : text;
}

static const char *refusal_fix(int error)
{
    if (error == ENOSYS)
        return "allow perf_event_open in the container's seccomp profile (docker run "
               "--security-opt seccomp=...)";
    if (error == EPERM || error == EACCES)
        return "sudo sysctl kernel.perf_event_paranoid=1, or give CAP_PERFMON (docker run "
               "--cap-add PERFMON)";
    return NULL;
}

static void spend_time(void)
{
    int64_t end = kino__clock_ms(CLOCK_MONOTONIC) + WORK_MS;
    while (kino__clock_ms(CLOCK_MONOTONIC) < end)
        ;
}

/* How many records of a type a counter wrote while this process worked and slept; -errno when it
 * cannot be opened or mapped. */
static int records_of(struct perf_event_attr *attr, uint32_t type)
{
    int fd = open_counter(attr, 0, -1);
    if (fd < 0)
        return fd;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * (RING_PAGES + 1);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        int error = errno;
        close(fd);
        return -error;
    }
    (void)ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    spend_time();
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
    (void)ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    const struct perf_event_mmap_page *head = (const void *)map;
    uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE); /* pairs with the kernel */
    int count = 0;
    for (uint64_t at = 0;
         at < end;) { /* nothing is taken out, so the kernel stops when it is full */
        struct perf_event_header header;
        memcpy(&header, map + page + at, sizeof header);
        count += header.type == type;
        if (header.size == 0)
            break;
        at += header.size;
    }
    (void)munmap(map, size);
    close(fd);
    return count;
}

static struct perf_event_attr sampler(bool with_kernel)
{
    struct perf_event_attr attr = software(PERF_COUNT_SW_CPU_CLOCK);
    attr.sample_period = 1000000; /* ns */
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    attr.exclude_kernel = !with_kernel;
    attr.exclude_callchain_kernel = !with_kernel;
    attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC_RAW;
    return attr;
}

static void check_level(kino__doctor *d)
{
    int64_t level;
    kino__doctor_item item = {.name = "perf-level", .title = "kernel.perf_event_paranoid"};
    if (!kino__doctor_read_int(PARANOID, &level)) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = "the kernel has no perf_event support (no " PARANOID ")";
        item.means = "samples, context switches and counters cannot be recorded";
        item.fix = "use a kernel with CONFIG_PERF_EVENTS";
        kino__doctor_add(d, &item);
        return;
    }
    static const char *const meanings[] = {
        "all users may use everything except raw tracepoints",
        "users may profile their own programs, including time in the kernel",
        "users may profile their own programs, except for time in the kernel",
        "users may not profile anything (a level added by some distributions)",
    };
    size_t index = level < 1 ? 0 : level > 3 ? 3 : (size_t)level;
    char status[64] = "";
    (void)kino__doctor_read_field("/proc/self/status", "CapEff", status, sizeof status);
    uint64_t caps = 0;
    (void)sscanf(status, "%" SCNx64, &caps); /* NOLINT(cert-err34-c): 0 when there is none */
    bool is_privileged = caps & (UINT64_C(1) << 38 | UINT64_C(1) << 21); /* PERFMON, SYS_ADMIN */
    item.value = kino__doctor_text(d, "%" PRId64, level);
    item.found =
        kino__doctor_text(d, "level %" PRId64 "%s", level,
                          is_privileged ? "; does not apply: this user has CAP_PERFMON" : "");
    item.means = meanings[index];
    if (level > PARANOID_USUAL && !is_privileged) {
        item.state = KINO__DOCTOR_LIMITED;
        item.fix = "sudo sysctl kernel.perf_event_paranoid=2";
    }
    kino__doctor_add(d, &item);
}

static void check_sampling(kino__doctor *d)
{
    struct perf_event_attr attr = sampler(false);
    int count = records_of(&attr, PERF_RECORD_SAMPLE);
    kino__doctor_item item = {.name = "sampling", .title = "call-stack samples"};
    if (count < 0) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = refusal(d, -count);
        item.means = "kino record cannot sample programs that are not instrumented";
        item.fix = refusal_fix(-count);
    } else {
        item.value = kino__doctor_text(d, "%d", count);
        item.found =
            kino__doctor_text(d, "a 1 ms cpu-clock timer gave %d sample%s in %d ms of work", count,
                              count == 1 ? "" : "s", WORK_MS);
        item.means = "kino record shows where unmodified programs spend their time";
        if (count < WORK_MS / 4) {
            item.state = KINO__DOCTOR_LIMITED;
            item.means = "samples arrive less often than requested, limited by this machine's "
                         "timer or by kernel.perf_cpu_time_max_percent";
        }
    }
    kino__doctor_add(d, &item);
}

/* Does /proc/kallsyms have addresses? To those who may not know them all are 0; a few symbols at
 * the front are 0 to everybody. */
static bool has_kernel_symbols(void)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[256];
    bool is_found = false;
    for (int i = 0; file && !is_found && i < SYMBOLS_LOOKED_AT && fgets(line, sizeof line, file);
         i++)
        is_found = strspn(line, "0") < strcspn(line, " ");
    if (file)
        (void)fclose(file);
    return is_found;
}

static void check_kernel_side(kino__doctor *d)
{
    struct perf_event_attr attr = sampler(true);
    int fd = open_counter(&attr, 0, -1);
    kino__doctor_item item = {.name = "kernel-stacks", .title = "kernel stacks"};
    int64_t restrict_level = -1;
    (void)kino__doctor_read_int("/proc/sys/kernel/kptr_restrict", &restrict_level);
    if (fd < 0) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = refusal(d, -fd);
        item.means = "stacks end where a program enters the kernel";
        item.fix = refusal_fix(-fd);
    } else if (!has_kernel_symbols()) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(
            d, "samples allowed, names hidden (kernel.kptr_restrict is %" PRId64 ")",
            restrict_level);
        item.means = "kernel functions are shown as addresses";
        item.fix = "sudo sysctl kernel.kptr_restrict=0";
    } else {
        item.found = "samples allowed, names readable in /proc/kallsyms";
    }
    if (fd >= 0)
        close(fd);
    kino__doctor_add(d, &item);
}

static void check_switches(kino__doctor *d)
{
    struct perf_event_attr attr = software(PERF_COUNT_SW_DUMMY);
    attr.context_switch = 1;
    attr.sample_id_all = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    attr.exclude_kernel = 1;
    int count = records_of(&attr, PERF_RECORD_SWITCH);
    kino__doctor_item item = {.name = "context-switches", .title = "context switches"};
    if (count > 0) {
        item.value = kino__doctor_text(d, "%d", count);
        item.found =
            kino__doctor_text(d, "%d record%s seen around a sleep", count, count == 1 ? "" : "s");
        item.means = "off-CPU time is recorded: when threads waited, and where";
    } else {
        item.state = KINO__DOCTOR_MISSING;
        item.found = count < 0 ? refusal(d, -count) : "none recorded around a sleep";
        item.means = "waiting threads cannot be distinguished from idle ones";
        item.fix = count < 0 ? refusal_fix(-count) : NULL;
    }
    kino__doctor_add(d, &item);
}

static void check_faults(kino__doctor *d)
{
    struct perf_event_attr attr = software(PERF_COUNT_SW_PAGE_FAULTS);
    attr.exclude_kernel = 1;
    attr.disabled = 0;
    int fd = open_counter(&attr, 0, -1);
    uint64_t count = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *fresh = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh != MAP_FAILED) {
        *(volatile char *)fresh = 1; /* a fault, to be seen */
        (void)munmap(fresh, page);
    }
    bool is_read = fd >= 0 && read(fd, &count, sizeof count) == sizeof count;
    kino__doctor_item item = {.name = "page-faults", .title = "page faults"};
    if (is_read && count > 0) {
        item.found = "counted";
    } else {
        item.state = KINO__DOCTOR_MISSING;
        item.found = fd < 0 ? refusal(d, -fd) : "the counter stays at 0";
        item.means = "page faults are not recorded";
        item.fix = fd < 0 ? refusal_fix(-fd) : NULL;
    }
    if (fd >= 0)
        close(fd);
    kino__doctor_add(d, &item);
}

/* The count of a hardware event over some work: -errno when it cannot be opened, 0 when it does not
 * count. */
static int64_t hardware_count(uint64_t config)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE, .config = config};
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    int fd = open_counter(&attr, 0, -1);
    if (fd < 0)
        return fd;
    uint64_t count = 0;
    for (volatile int i = 0; i < 100000; i++)
        continue;
    bool is_read = read(fd, &count, sizeof count) == sizeof count;
    close(fd);
    return is_read ? (int64_t)(count >> 1) : 0;
}

static void check_hardware(kino__doctor *d)
{
    int64_t cycles = hardware_count(PERF_COUNT_HW_CPU_CYCLES);
    int64_t instructions = hardware_count(PERF_COUNT_HW_INSTRUCTIONS);
    kino__doctor_item item = {.name = "hardware-counters", .title = "hardware counters"};
    if (cycles > 0 && instructions > 0) {
        item.found = "cycles and instructions are counted";
    } else if (cycles < 0 || instructions < 0) {
        int error = (int)-(cycles < 0 ? cycles : instructions);
        item.state = KINO__DOCTOR_MISSING;
        item.found = refusal(d, error);
        item.means = "no cycles, instructions or cache misses; samples come from a timer instead";
        item.fix = error == ENOENT || error == EOPNOTSUPP || error == ENODEV
                       ? "on a virtual machine, have the host expose its counters (vPMU); sampling "
                         "works without them"
                       : refusal_fix(error);
    } else {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = "can be opened, but stay at 0";
        item.means = "no cycles, instructions or cache misses; samples come from a timer instead";
    }
    kino__doctor_add(d, &item);
}

static void check_system_wide(kino__doctor *d)
{
    struct perf_event_attr attr = sampler(true);
    int fd = open_counter(&attr, -1, 0);
    kino__doctor_item item = {.name = "system-wide", .title = "all processes (--system)"};
    if (fd >= 0) {
        item.found = "counters over all processes can be opened";
        close(fd);
    } else {
        item.state = KINO__DOCTOR_MISSING;
        item.found = refusal(d, -fd);
        item.means = "kino record sees the program and its children, but not other processes";
        item.fix = -fd == ENOSYS ? refusal_fix(-fd)
                                 : "sudo sysctl kernel.perf_event_paranoid=0, or give CAP_PERFMON";
    }
    kino__doctor_add(d, &item);
}

static void check_tracepoints(kino__doctor *d)
{
    static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int64_t id = -1;
    for (size_t i = 0; i < 2 && id < 0; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/events/sched/sched_switch/id", folders[i]);
        if (!kino__doctor_read_int(path, &id))
            id = -1;
    }
    kino__doctor_item item = {.name = "tracepoints", .title = "scheduler tracepoints"};
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .config = (uint64_t)id};
    attr.sample_type = PERF_SAMPLE_RAW;
    int fd = id >= 0 ? open_counter(&attr, -1, 0) : -ENOENT;
    if (fd >= 0) {
        item.found = kino__doctor_text(d, "sched:sched_switch (%" PRId64 ") can be opened", id);
        close(fd);
    } else {
        item.state = KINO__DOCTOR_MISSING;
        item.found = id < 0 ? "tracefs is not mounted, or not readable"
                            : kino__doctor_text(d, "sched:sched_switch: %s", refusal(d, -fd));
        item.means = "wake-ups are not recorded; context switches still are";
        item.fix =
            id < 0 ? "sudo mount -t tracefs nodev /sys/kernel/tracing, and grant read access to it"
                   : "CAP_PERFMON, or sudo sysctl kernel.perf_event_paranoid=-1";
    }
    kino__doctor_add(d, &item);
}

static void check_buffers(kino__doctor *d)
{
    int64_t kib = 0, rate = 0;
    struct rlimit lock = {0};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    bool has_limit = kino__doctor_read_int("/proc/sys/kernel/perf_event_mlock_kb", &kib);
    (void)getrlimit(RLIMIT_MEMLOCK, &lock);
    kino__doctor_item item = {.name = "perf-buffers", .title = "memory for samples"};
    item.state = has_limit ? KINO__DOCTOR_OK : KINO__DOCTOR_UNKNOWN;
    if (lock.rlim_cur == RLIM_INFINITY)
        item.found = kino__doctor_text(
            d, "kernel.perf_event_mlock_kb is %" PRId64 ", locked memory is unlimited", kib);
    else
        item.found = kino__doctor_text(d,
                                       "kernel.perf_event_mlock_kb is %" PRId64
                                       " (for each of %ld processors), plus %s of locked memory",
                                       kib, processors, kino__doctor_bytes(d, lock.rlim_cur));
    item.value = kino__doctor_text(d, "%" PRId64, kib);
    if (has_limit && kib < 516 && lock.rlim_cur < (rlim_t)8 << 20) {
        item.state = KINO__DOCTOR_LIMITED;
        item.means = "buffers are small: samples may be lost when the machine is busy";
        item.fix = "sudo sysctl kernel.perf_event_mlock_kb=2048, or a higher 'ulimit -l'";
    }
    kino__doctor_add(d, &item);
    if (!kino__doctor_read_int("/proc/sys/kernel/perf_event_max_sample_rate", &rate))
        return;
    kino__doctor_item speed = {.name = "sample-rate", .title = "maximum sampling rate"};
    speed.value = kino__doctor_text(d, "%" PRId64, rate);
    speed.found = kino__doctor_text(d, "%" PRId64 " samples per second", rate);
    if (rate < 1000) {
        speed.state = KINO__DOCTOR_LIMITED;
        speed.means = "the kernel has throttled sampling: stacks are coarse";
        speed.fix = "sudo sysctl kernel.perf_event_max_sample_rate=100000";
    }
    kino__doctor_add(d, &speed);
}

void kino__doctor_look_cpu(kino__doctor *doctor)
{
    check_level(doctor);
    check_sampling(doctor);
    check_kernel_side(doctor);
    check_switches(doctor);
    check_faults(doctor);
    check_hardware(doctor);
    check_system_wide(doctor);
    check_tracepoints(doctor);
    check_buffers(doctor);
}
