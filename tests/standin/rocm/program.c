/* program.c - a program that uses HIP and records itself: its scenes (../common/program.h). */
#define _GNU_SOURCE
#include "../common/program.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "../common/functions.h"
#include "hip.h"

static void *const STREAM = (void *)0x1000, *const OTHER = (void *)0x2000;

static const void *address(void (*function)(void))
{
    const void *out;
    memcpy(&out, &function, sizeof out);
    return out;
}
#define VECTOR_ADD address(standin_vector_add)
#define SCALE      address(standin_scale)

static void launch(const void *kernel, uint32_t blocks, void *stream)
{
    hipLaunchKernel(kernel, (hip_dim3){blocks, 1, 1}, (hip_dim3){64, 1, 1}, NULL, 128, stream);
}

/* Every kind of call and work, once. */
static void play_plain(void)
{
    void *memory = NULL;
    int device;
    hipGetDevice(&device);
    hipMalloc(&memory, 1 << 20);
    hipMemcpyAsync(memory, &memory, 4096, hipMemcpyHostToDevice, STREAM);
    launch(VECTOR_ADD, 10, STREAM);
    hipLaunchCooperativeKernel(SCALE, (hip_dim3){2, 3, 4}, (hip_dim3){8, 4, 2}, NULL, 256, OTHER);
    hipModuleLaunchKernel((void *)VECTOR_ADD, 5, 1, 1, 32, 1, 1, 512, STREAM, NULL, NULL);
    hipExtModuleLaunchKernel((void *)SCALE, 96, 2, 1, 32, 1, 1, 1024, OTHER, NULL, NULL, NULL, NULL,
                             0);
    hipGraphLaunch((void *)0x77, OTHER);
    hipMemcpy(&device, memory, 2048, hipMemcpyDeviceToHost);
    standin_scratch(1, 700);
    hipDeviceSynchronize();
    hipFree(memory);
}

/* Ranges of ROCTX: nested, ended elsewhere, and a mark. */
static void *stop_range(void *range)
{
    roctxRangeStop(*(uint64_t *)range);
    return NULL;
}

static void play_markers(void)
{
    pthread_t thread;
    uint64_t range = roctxRangeStartA("anywhere");
    roctxRangePushA("outer");
    roctxRangePushA("inner");
    roctxMarkA("here");
    roctxRangePop();
    roctxRangePop();
    roctxRangePop(); /* one too many */
    pthread_create(&thread, NULL, stop_range, &range);
    pthread_join(thread, NULL);
    launch(VECTOR_ADD, 1, STREAM);
    hipDeviceSynchronize();
}

/* Work that belongs to functions and to a range of the user's. */
static void play_functions(void)
{
    kino_record_function range, op;
    launch(SCALE, 1, STREAM);
    hipDeviceSynchronize();
    begin_function(&range, KINO_SCOPE_USER, "forward");
    begin_function(&op, KINO_SCOPE_FUNCTION, "aten::add");
    launch(VECTOR_ADD, 3, STREAM);
    launch(VECTOR_ADD, 4, OTHER);
    hipDeviceSynchronize();
    launch(VECTOR_ADD, 5, STREAM);
    kino_record_end(&op);
    hipDeviceSynchronize();
    kino_record_end(&range);
    launch(SCALE, 2, OTHER);
    hipDeviceSynchronize();
}

/* The operator of a collective, and a kernel inside it. */
static void play_collective(void)
{
    const kino_record_value inputs[] = {with_key("Seq", kino_value_int(41)),
                                        with_key("Process Group Name", kino_value_text("0"))};
    kino_record_function op;
    begin_collective(&op, inputs, 2);
    launch(VECTOR_ADD, 1, STREAM);
    kino_record_end(&op);
    launch(SCALE, 1, STREAM);
    hipDeviceSynchronize();
}

/* One kernel that takes 15 ms, one that takes half a second: longer than a stop waits. */
static void play_late(void)
{
    launch(VECTOR_ADD, 1, STREAM);
    launch(VECTOR_ADD, 15000, OTHER);
    launch(SCALE, 500000, STREAM);
}

/* Launches into a graph, then the graph twice. */
static void play_capture(void)
{
    standin_capture(1);
    for (int i = 0; i < 5; i++)
        launch(VECTOR_ADD, 1, STREAM);
    standin_capture(0);
    hipGraphLaunch((void *)0x77, STREAM);
    hipGraphLaunch((void *)0x77, STREAM);
    hipDeviceSynchronize();
}

static void play_many(void)
{
    for (int i = 0; i < 200; i++)
        launch(VECTOR_ADD, 1, STREAM);
    hipDeviceSynchronize();
}

/* Long enough for the work of play_late to be done. */
static void play_pause(void)
{
    (void)nanosleep(&(struct timespec){0, 550000000}, NULL);
    launch(VECTOR_ADD, 2, STREAM);
    hipDeviceSynchronize();
}

const scene scenes[] = {
    {"plain", play_plain, false},
    {"markers", play_markers, false},
    {"functions", play_functions, true},
    {"collective", play_collective, true},
    {"late", play_late, false},
    {"many", play_many, false},
    {"capture", play_capture, false},
    {"pause", play_pause, false},
    {NULL, NULL, false},
};

bool is_attached(void)
{
    uint64_t before = standin_callbacks();
    launch(SCALE, 1, STREAM);
    return standin_callbacks() != before;
}
