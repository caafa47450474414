/* program.c - a program that records itself with libkino while the stand-in plays CUDA.
 *
 *   program SCENARIO OUT.json [COUNT]      "OUT.json" may also be "-": nothing is saved
 *
 * Prints one line of JSON: what the expectations need to know. Times of records are offsets from
 * `base`, the first instant of the recording that is used. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

#include "../common/functions.h"
#include "records.h"

enum { RUNTIME = 2, DRIVER = 1 };
#define NO_STREAM 0xffffffffu

int cuInit(unsigned flags); /* the driver's; devices are known behind it */

static uint64_t base;
static kino_mode mode = KINO_MODE_CAPTURE;
static unsigned flood_count = 1000;

static void play(record r)
{
    standin_record(r.bytes);
}

static void call(uint32_t cbid, uint64_t start, uint64_t end, uint32_t correlation)
{
    standin_call(RUNTIME, cbid, base + start, base + end, correlation);
}

static void wait_until(uint64_t offset)
{
    while (standin_now() < base + offset) {
        struct timespec little = {0, 200000};
        nanosleep(&little, NULL);
    }
}

static void die(const char *what, const kino_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

static void begin(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error err;
    options.budget_bytes = 16 << 20;
    options.mode = mode;
    if (kino_prepare(&options, &err) != KINO_OK)
        die("prepare", &err);
    if (kino_start(&err) != KINO_OK)
        die("start", &err);
    base = standin_now() + 1000;
}

static void end(const char *path)
{
    kino_error err;
    if (kino_stop(&err) != KINO_OK)
        die("stop", &err);
    if (strcmp(path, "-") != 0 && kino_save(path, &err) != KINO_OK)
        die("save", &err);
}

/* -- scenarios */

/* An operator in an annotation launches a kernel; then everything else that there is. */
static void play_all(void)
{
    kino_record_function annotation, operator_;
    kino_record_spans_enable(true);
    begin_function(&annotation, KINO_SCOPE_USER, "step");
    begin_function(&operator_, KINO_SCOPE_FUNCTION, "aten::mm");
    call(211, 10000, 14100, 90);
    play(make_kernel("_Z4gemmiPf", base + 24500, base + 30500, 0, 7, 90));
    kino_record_end(&operator_);
    call(41, 31000, 32000, 91);
    play(make_memcpy(1, 2, 3, 4096, base + 33000, base + 35000, 91));
    kino_record_end(&annotation);

    call(51, 36000, 36500, 92);
    play(make_memset(1000, base + 37000, base + 37000, 3, 92));
    call(161, 38000, 38500, 93);
    play(make_peer(3000, base + 39000, base + 40000, 93));
    standin_call(DRIVER, 307, base + 41000, base + 42000, 94);
    play(make_kernel("kernel", base + 42500, base + 43500, 1, 20, 94));
    call(135, 44000, 44200, 95); /* record event 5 on stream 20 */
    play(make_event(95, 20, 5, base + 44500));
    call(147, 45000, 45200, 96); /* stream 7 waits for it */
    play(make_sync(2, base + 45000, base + 45200, 96, 7, 5));
    call(147, 45300, 45400, 97); /* so does a stream that does nothing */
    play(make_sync(2, base + 45300, base + 45400, 97, 99, 5));
    call(137, 46000, 47000, 98); /* the program waits for an event that nobody recorded */
    play(make_sync(1, base + 46000, base + 47000, 98, NO_STREAM, 6));
    call(131, 48000, 49000, 99);
    play(make_sync(3, base + 48100, base + 48900, 99, 7, NO_STREAM));
    call(165, 50000, 51000, 100);
    play(make_sync(4, base + 50100, base + 50900, 100, NO_STREAM, NO_STREAM));
    play(make_overhead(1 << 16, base + 52000, base + 53000));
    play(make_jit(1, 3, base + 53000, base + 54000));
    call(20, 55000, 56000, 101);
    play(make_memory(1, 0x7000, 256, base + 55500, 101));
    call(10, 57000, 57100, 102);                                /* noise of the runtime */
    standin_call(DRIVER, 430, base + 58000, base + 58100, 103); /* and of the driver */
    call(999, 59000, 59100, 104);                               /* a call without a name */
    play(make(60));                                             /* a kind that nobody knows */
}

/* An operator of a collective, and its kernel. Keys are not in the order of the trace. */
static void play_collective(void)
{
    static const int64_t ranks[] = {0, 1};
    const kino_record_value inputs[] = {
        with_key("Seq", kino_value_int(41)),
        with_key("dtype", kino_value_text("Float")),
        with_key("In msg nelems", kino_value_int(1024)),
        with_key("Out msg nelems", kino_value_int(1024)),
        with_key("Group size", kino_value_int(2)),
        with_key("Collective name", kino_value_text("allreduce")),
        with_key("In split size", kino_value_text("[]")), /* the other one is not there */
        with_key("Process Group Ranks", kino_value_ints(ranks, 2)),
        with_key("Process Group Name", kino_value_text("0")),
        with_key("Rank", kino_value_int(1)), /* stays with the operator */
    };
    kino_record_function operator_;
    kino_record_spans_enable(true);
    begin_collective(&operator_, inputs, sizeof inputs / sizeof *inputs);
    call(211, 10000, 11000, 5);
    play(make_kernel("ncclDevKernel", base + 12000, base + 13000, 0, 7, 5));
    kino_record_end(&operator_);
    call(211, 14000, 15000, 6); /* of nobody */
    play(make_kernel("other", base + 16000, base + 17000, 0, 7, 6));
}

/* One launch of a graph with three nodes. */
static void play_graph(void)
{
    call(311, 10000, 12000, 50);
    play(make_node("_Z3addv", base + 13000, base + 14000, 7, 50, 4294967297, 9));
    play(make_node("_Z3addv", base + 14000, base + 15000, 7, 50, 4294967298, 9));
    play(make_node("_Z3mulv", base + 14500, base + 15500, 8, 50, 4294967299, 9));
}

/* What belongs together comes in the wrong order, in buffers of its own each. */
static void play_disorder(void)
{
    play(make_kernel("late", base + 20000, base + 21000, 0, 7, 60));
    standin_cut();
    play(make_sync(2, base + 22000, base + 22500, 62, 7, 3));
    standin_cut();
    play(make_event(61, 9, 3, base + 21500));
    standin_cut();
    call(211, 10000, 11000, 60);
    standin_cut();
    play(make_external(3, 77, 60));
    standin_cut();
    play(make_external(4, 78, 60));
    standin_reverse(1);
}

/* Records that are outside of the recording, or not whole. */
static void play_edges(void)
{
    play(make_kernel("before", base - 500000000, base + 5, 0, 7, 70));
    play(make_kernel("first", base + 10, base + 20, 0, 7, 71));
    play(make_kernel("behind", base + 30, base + 60000000000, 0, 7, 72));
    play(make_kernel("unfinished", base + 40, 0, 0, 7, 73));
    play(make_kernel("backwards", base + 60, base + 50, 0, 7, 74));
    play(make_kernel("elsewhere", base + 70, base + 80, 40, 7, 75));
    standin_drop(1234);
}

/* More than all buffers hold. */
static void play_flood(void)
{
    for (unsigned i = 0; i < flood_count; i++)
        play(make_kernel("_Z5floodv", base + i, base + i + 1, 0, 7, i + 1));
}

/* Operators on several threads at a time, for longer than the collector's rounds; each launches one
 * kernel, whose correlation is in the operator's name. */
enum { THREADS = 3, LAUNCHES = 200 };

static void *launch_all(void *first)
{
    static char names[THREADS * LAUNCHES + 1][16];
    for (uintptr_t i = (uintptr_t)first; i < (uintptr_t)first + LAUNCHES; i++) {
        const struct timespec pause = {0, 4000000};
        kino_record_function operator_;
        snprintf(names[i], sizeof names[i], "op %u", (unsigned)i);
        begin_function(&operator_, KINO_SCOPE_FUNCTION, names[i]);
        uint64_t now = standin_now();
        standin_call(RUNTIME, 211, now, now + 10, (uint32_t)i);
        play(make_kernel("_Z4workv", now + 20, now + 30, 0, 7, (uint32_t)i));
        kino_record_end(&operator_);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void play_threads(void)
{
    pthread_t threads[THREADS];
    kino_record_spans_enable(true);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, launch_all, (void *)(i * LAUNCHES + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    base = standin_now();
}

/* NVTX, as CUPTI hears of it. */
static void play_markers(void)
{
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    play(make_marker(2, base + 1000, 1, thread, "outer"));
    play(make_marker(2, base + 2000, 2, thread, "inner"));
    play(make_marker(4, base + 3000, 2, thread, NULL));
    play(make_marker(4, base + 4000, 1, thread, NULL));
    play(make_marker(4, base + 4100, 3, thread, NULL)); /* was never begun */
}

static void play_counted(void)
{
    play(make_kernel("counted", base + 10, base + 20, 0, 7, 1));
}

/* Two sessions; between them CUPTI is left, by the next call. */
static void play_twice(const char *path)
{
    begin();
    play(make_kernel("one", base + 10, base + 20, 0, 7, 1));
    wait_until(100000);
    end("-");
    unsigned before = standin_calls("cuptiFinalize");
    standin_call(RUNTIME, 211, standin_now(), standin_now(), 2);
    unsigned after = standin_calls("cuptiFinalize");
    standin_call(RUNTIME, 211, standin_now(), standin_now(), 3);
    printf("{\"finalized\": [%u, %u, %u], ", before, after, standin_calls("cuptiFinalize"));
    begin();
    play(make_kernel("two", base + 10, base + 20, 0, 7, 4));
    wait_until(100000);
    end(path);
    begin(); /* before the program calls CUDA again */
    end("-");
    printf("\"subscribed\": %u, \"held\": %u}\n",
           standin_calls("cuptiSubscribe") - standin_calls("cuptiUnsubscribe"),
           standin_buffers_held());
}

/* The flight recorder: a copy is written while it goes on. */
static void play_dump(const char *path)
{
    kino_error err;
    mode = KINO_MODE_FLIGHT;
    begin();
    play(make_kernel("one", base + 10, base + 20, 0, 7, 1));
    wait_until(100000);
    if (kino_dump(path, 0, &err) != KINO_OK)
        die("dump", &err);
    play(make_kernel("two", base + 30, base + 40, 0, 7, 2));
    wait_until(200000);
    end("-");
    kino_device_state state = {.size = sizeof state};
    kino_device_get(0, &state);
    printf("{\"activities\": %llu}\n", (unsigned long long)state.activities);
}

/* A child does not touch CUPTI. */
static void play_fork(const char *path)
{
    begin();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        kino_device_state state = {.size = sizeof state};
        kino_session_options options = KINO_SESSION_OPTIONS_INIT;
        unsigned before = standin_calls("cuptiActivityEnable");
        kino_prepare(&options, NULL);
        kino_start(NULL);
        kino_stop(NULL);
        int failed = kino_device_get(0, &state) != KINO_OK || !strstr(state.error, "forked") ||
                     standin_calls("cuptiActivityEnable") != before;
        _exit(failed);
    }
    int status = 1;
    waitpid(child, &status, 0);
    play(make_kernel("parent", base + 10, base + 20, 0, 7, 1));
    wait_until(100000);
    end(path);
    printf("{\"child\": %d}\n", status);
}

/* Destructors of a program that call CUDA when everybody has left. */
static void call_at_exit(void)
{
    call(211, 10000000, 10001000, 9);
    printf("{\"finalized\": %u, \"unsubscribed\": %u, \"held\": %u}\n",
           standin_calls("cuptiFinalize"), standin_calls("cuptiUnsubscribe"),
           standin_buffers_held());
    fflush(stdout);
}

/* The program exits in the middle of the recording, which is saved then. */
static void play_exit(const char *path)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error err;
    standin_at_end(call_at_exit);
    options.exit_path = path;
    if (kino_prepare(&options, &err) != KINO_OK || kino_start(&err) != KINO_OK)
        die("start", &err);
    base = standin_now() + 1000;
    call(211, 10, 15, 1);
    play(make_kernel("last words", base + 20, base + 30, 0, 7, 1));
    wait_until(100000);
    exit(0);
}

/* A program that knows nothing of kino; somebody else records it. */
static void play_plain(const char *path)
{
    (void)path;
    base = standin_now() + 1000;
    play_graph();
    wait_until(2000000);
    exit(7);
}

static void print_state(void)
{
    kino_device_state state = {.size = sizeof state};
    kino_status st = kino_device_get(0, &state);
    printf("{\"pid\": %d, \"tid\": %ld, \"found\": %d, \"phase\": %d, \"name\": \"%s\", "
           "\"devices\": %u, \"activities\": %llu, \"lost\": %llu, \"error\": \"%s\", "
           "\"held\": %u}\n",
           getpid(), (long)syscall(SYS_gettid), st == KINO_OK, (int)state.phase, state.name,
           state.devices, (unsigned long long)state.activities, (unsigned long long)state.lost,
           state.error, standin_buffers_held());
}

/* Scenarios that are played within one recording, which takes so long from `base` on. */
static const struct {
    const char *name;
    void (*play)(void);
    uint64_t until;
} recorded[] = {
    {"all", play_all, 2000000},
    {"graph", play_graph, 2000000},
    {"late", play_graph, 2000000}, /* CUDA is initialised while it is recorded */
    {"disorder", play_disorder, 2000000},
    {"edges", play_edges, 2000000},
    {"flood", play_flood, 2000000},
    {"markers", play_markers, 2000000},
    {"collective", play_collective, 2000000},
    {"threads", play_threads, 2000000},
    {"counters", play_counted, 12000000},
};
/* And those that record, or do not, themselves. */
static const struct {
    const char *name;
    void (*play)(const char *path);
} others[] = {{"twice", play_twice},
              {"dump", play_dump},
              {"exit", play_exit},
              {"fork", play_fork},
              {"plain", play_plain}};

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *what = argv[1], *path = argv[2];
    bool is_late = strcmp(what, "late") == 0;
    if (argc > 3)
        flood_count = (unsigned)strtoul(argv[3], NULL, 10);
    if (!is_late)
        cuInit(0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i].name, what) == 0) {
            others[i].play(path);
            return 0;
        }
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        if (strcmp(recorded[i].name, what) == 0) {
            begin();
            if (is_late)
                cuInit(0);
            recorded[i].play();
            wait_until(recorded[i].until);
            end(path);
            print_state();
            return 0;
        }
    return 2;
}
