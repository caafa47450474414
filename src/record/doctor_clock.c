/* doctor_clock.c - kino doctor: does time run evenly, and what does a look at it cost?
 *
 * The recorder stamps events with the processor's counter where that is invariant, and ties it to
 * CLOCK_MONOTONIC_RAW and CLOCK_REALTIME by anchors; else it asks the system for each stamp. */
#include <inttypes.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#if defined(__x86_64__)
#    include <cpuid.h>
#    include <x86intrin.h>
#endif

#include "base/clock.h"
#include "record/doctor.h"

enum { MEASURE_MS = 60, TRIES = 16, CALLS = 2000 };

static bool has_invariant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

typedef struct instant {
    uint64_t ticks;
    int64_t raw_ns;
} instant;

/* Both clocks at once: the try with the shortest time between two looks at the counter. */
static instant look(void)
{
    instant best = {0};
    uint64_t best_gap = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = ticks();
        int64_t raw = kino__clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t gap = ticks() - before;
        if (gap < best_gap) {
            best_gap = gap;
            best = (instant){before + gap / 2, raw};
        }
    }
    return best;
}

/* Ticks a second, measured against CLOCK_MONOTONIC_RAW. */
static double counter_rate(void)
{
    instant from = look();
    const struct timespec pause = {.tv_nsec = MEASURE_MS * 1000000L};
    (void)nanosleep(&pause, NULL);
    instant to = look();
    int64_t ns = to.raw_ns - from.raw_ns;
    return ns > 0 ? (double)(to.ticks - from.ticks) * 1e9 / (double)ns : 0;
}

static void check_counter(kino__doctor *d)
{
    char sources[128];
    bool is_listed =
        kino__doctor_read("/sys/devices/system/clocksource/clocksource0/available_clocksource",
                          sources, sizeof sources);
#if defined(__x86_64__)
    bool is_trusted = !is_listed || strstr(sources, "tsc");
#else
    bool is_trusted = true;
    (void)is_listed;
#endif
    kino__doctor_item item = {.name = "tsc", .title = "time-stamp counter"};
    const char *wanted = kino__doctor_variable("KINO_CLOCK");
    if (!has_invariant_counter()) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = "the processor has no counter with a guaranteed constant rate";
        item.means =
            "the recorder reads the system clock for each timestamp: 20 to 300 ns more per event";
    } else {
        double rate = counter_rate();
        item.value = kino__doctor_text(d, "%.0f", rate);
        item.found = kino__doctor_text(
            d, "invariant, %.4f GHz measured against CLOCK_MONOTONIC_RAW", rate / 1e9);
        item.means = "timestamps cost a few ns and agree across processors";
    }
    if (item.value && !is_trusted) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(
            d, "invariant, but the kernel does not trust it; its clock sources are: %s", sources);
        item.means =
            "the recorder reads the system clock for each timestamp: 20 to 300 ns more per event";
        item.fix = "see 'dmesg | grep -i tsc' for the reason; on a virtual machine let the host "
                   "pass an invariant TSC through";
    } else if (item.value && wanted && strcmp(wanted, "monotonic") == 0) {
        item.state = KINO__DOCTOR_LIMITED;
        item.means = "disabled by KINO_CLOCK=monotonic";
        item.fix = "unset KINO_CLOCK";
    }
    kino__doctor_add(d, &item);
}

/* What one look at CLOCK_MONOTONIC_RAW costs: the smallest mean of some rounds. */
static int64_t clock_cost(void)
{
    int64_t best = INT64_MAX;
    for (int round = 0; round < 5; round++) {
        int64_t from = kino__clock_ns(CLOCK_MONOTONIC_RAW), to = from;
        for (int i = 0; i < CALLS; i++)
            to = kino__clock_ns(CLOCK_MONOTONIC_RAW);
        int64_t each = (to - from) / CALLS;
        best = each < best ? each : best;
    }
    return best;
}

static void check_system_clock(kino__doctor *d)
{
    char source[64];
    struct timespec step = {0};
    bool has_source = kino__doctor_read(
        "/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    (void)clock_getres(CLOCK_MONOTONIC_RAW, &step);
    int64_t cost = clock_cost();
    bool is_slow = cost > 250;
    kino__doctor_item item = {.name = "system-clock", .title = "CLOCK_MONOTONIC_RAW"};
    item.state =
        is_slow || step.tv_sec || step.tv_nsec > 1000 ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_OK;
    item.value = kino__doctor_text(d, "%" PRId64, cost);
    item.found = kino__doctor_text(d, "clock source %s, resolution %ld ns, %" PRId64 " ns per read",
                                   has_source ? source : "unknown", step.tv_nsec, cost);
    if (is_slow) {
        item.means = "each read is a system call: clock anchors are imprecise, and sampling and "
                     "fallback timestamps are slow";
        item.fix = "select a clock source that programs can read without a system call: echo tsc > "
                   "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    } else {
        item.means = "traces of this machine share one clock, accurate to well under a microsecond";
    }
    kino__doctor_add(d, &item);
}

static void check_wall_clock(kino__doctor *d)
{
    struct timex state = {0};
    int answer = adjtimex(&state);
    kino__doctor_item item = {.name = "wall-clock", .title = "wall clock"};
    if (answer < 0) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = "the system does not report whether the clock is synchronized";
    } else if (answer == TIME_ERROR || (state.status & STA_UNSYNC)) {
        item.state = KINO__DOCTOR_LIMITED;
        item.value = "unsynchronised";
        item.found = "not synchronized with other machines (adjtimex)";
        item.means = "traces of several machines are offset by the difference between their clocks";
        item.fix = "run chronyd or systemd-timesyncd; not needed for a single machine";
    } else {
        item.value = "synchronised";
        item.found = kino__doctor_text(d, "synchronized, maximum error %ld µs", state.maxerror);
        item.means = "traces of several machines align to within about that";
    }
    kino__doctor_add(d, &item);
}

void kino__doctor_look_clock(kino__doctor *doctor)
{
    check_counter(doctor);
    check_system_clock(doctor);
    check_wall_clock(doctor);
}
