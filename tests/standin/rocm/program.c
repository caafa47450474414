/* program.c - a program that uses HIP and records itself: program TRACE SCENE. Prints how the
 * backends did, as kino_device_get says. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

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
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    launch(SCALE, 1, STREAM);
    hipDeviceSynchronize();
    if (kino_record_open(&range, KINO_SCOPE_USER)) {
        details.name = "forward";
        kino_record_start(&range, &details);
    }
    if (kino_record_open(&op, KINO_SCOPE_FUNCTION)) {
        details.name = "aten::add";
        kino_record_start(&op, &details);
    }
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
    kino_record_function op;
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    kino_record_spans_options options = KINO_RECORD_SPANS_INIT;
    kino_record_value inputs[] = {kino_value_int(41), kino_value_text("0")};
    inputs[0].key = "Seq";
    inputs[1].key = "Process Group Name";
    options.with_inputs = true;
    kino_record_spans_set(&options, NULL);
    details.name = "record_param_comms";
    details.inputs = inputs;
    details.input_count = 2;
    if (kino_record_open(&op, KINO_SCOPE_FUNCTION))
        kino_record_start(&op, &details);
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

static void play(const char *scene)
{
    if (strcmp(scene, "plain") == 0)
        play_plain();
    else if (strcmp(scene, "markers") == 0)
        play_markers();
    else if (strcmp(scene, "functions") == 0)
        play_functions();
    else if (strcmp(scene, "collective") == 0)
        play_collective();
    else if (strcmp(scene, "late") == 0)
        play_late();
    else if (strcmp(scene, "many") == 0)
        play_many();
    else if (strcmp(scene, "capture") == 0)
        play_capture();
    else if (strcmp(scene, "pause") == 0)
        play_pause();
}

static int fail(const kino_error *error)
{
    fprintf(stderr, "program: %s\n", error->message);
    return 1;
}

/* The program exits in the middle of the recording, which is saved then. */
static void exit_early(const char *path)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error;
    options.exit_path = path;
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        exit(fail(&error));
    play_plain();
    exit(0);
}

static int record(const char *path, const char *scene)
{
    kino_error error;
    if (strcmp(scene, "exit") == 0)
        exit_early(path);
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return fail(&error);
    kino_record_spans_enable(strcmp(scene, "functions") == 0 || strcmp(scene, "collective") == 0);
    play(scene);
    if (kino_stop(&error) != KINO_OK || kino_save(path, &error) != KINO_OK)
        return fail(&error);
    return 0;
}

/* Behind the last session nothing of HIP may go through kino any more. */
static void check_detached(void)
{
    uint64_t before = standin_callbacks();
    launch(SCALE, 1, STREAM);
    if (standin_callbacks() != before && !getenv("STANDIN_FAIL"))
        puts("still attached");
}

int main(int argc, char **argv)
{
    kino_device_state state = {.size = sizeof state};
    int result = 2;
    if (argc < 3)
        return result;
    for (int i = 1; i + 1 < argc; i += 2) { /* TRACE SCENE [TRACE SCENE ...] */
        result = record(argv[i], argv[i + 1]);
        if (result)
            return result;
    }
    for (size_t i = 0; kino_device_get(i, &state) == KINO_OK; i++)
        printf("%s %s: %u devices, %llu activities, %llu lost%s%s\n", state.name, state.version,
               state.devices, (unsigned long long)state.activities, (unsigned long long)state.lost,
               state.error[0] ? ": " : "", state.error);
    check_detached();
    return result;
}
