/* program.c - a program that uses an XPU and records itself: program TRACE SCENE [TRACE SCENE ...].
 * Prints how the backends did, as kino_device_get says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>

#include "xpu.h"

enum { QUEUE = 3, OTHER = 4 };

/* Every kind of record, once. */
static void play_plain(void)
{
    xpu_copy(QUEUE, XPU_HTOD, 4096);
    xpu_kernel(QUEUE, "gemm", "model.cpp", 7000);
    xpu_kernel(OTHER, "relu", NULL, 3000);
    xpu_fill(QUEUE, 17, 1000);
    xpu_copy(OTHER, XPU_DTOH, 2048);
    xpu_copy_p2p(OTHER, 512);
    xpu_graph(OTHER);
    xpu_overhead(1000, 250);
    xpu_collective("allreduce", 5000);
    xpu_wait();
}

static void play_functions(void)
{
    kino_record_function range, op;
    kino_record_details details = KINO_RECORD_DETAILS_INIT;
    xpu_kernel(QUEUE, "before", NULL, 1000);
    xpu_wait();
    if (kino_record_open(&range, KINO_SCOPE_USER)) {
        details.name = "forward";
        kino_record_start(&range, &details);
    }
    if (kino_record_open(&op, KINO_SCOPE_FUNCTION)) {
        details.name = "aten::add";
        kino_record_start(&op, &details);
    }
    xpu_kernel(QUEUE, "inside", NULL, 3000);
    xpu_kernel(OTHER, "inside", NULL, 4000);
    xpu_wait();
    xpu_kernel(QUEUE, "inside", NULL, 5000);
    kino_record_end(&op);
    xpu_wait();
    kino_record_end(&range);
    xpu_kernel(OTHER, "behind", NULL, 2000);
    xpu_wait();
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
    xpu_kernel(QUEUE, "reduce", NULL, 1000);
    kino_record_end(&op);
    xpu_kernel(QUEUE, "other", NULL, 1000);
    xpu_wait();
}

/* One kernel that takes 15 ms, one that takes half a second: longer than a stop waits. */
static void play_late(void)
{
    xpu_kernel(QUEUE, "short", NULL, 1000);
    xpu_kernel(OTHER, "middle", NULL, 15000000);
    xpu_kernel(QUEUE, "long", NULL, 500000000);
}

static void play_pause(void)
{
    (void)nanosleep(&(struct timespec){0, 550000000}, NULL);
    xpu_kernel(QUEUE, "next", NULL, 2000);
    xpu_wait();
}

static void play_many(void)
{
    for (int i = 0; i < 500; i++)
        xpu_kernel(QUEUE, "small", NULL, 100);
    xpu_wait();
}

static void play(const char *scene)
{
    if (strcmp(scene, "plain") == 0)
        play_plain();
    else if (strcmp(scene, "functions") == 0)
        play_functions();
    else if (strcmp(scene, "collective") == 0)
        play_collective();
    else if (strcmp(scene, "late") == 0)
        play_late();
    else if (strcmp(scene, "pause") == 0)
        play_pause();
    else if (strcmp(scene, "many") == 0)
        play_many();
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

int main(int argc, char **argv)
{
    kino_device_state state = {.size = sizeof state};
    int result = 2;
    for (int i = 1; i + 1 < argc; i += 2) {
        result = record(argv[i], argv[i + 1]);
        if (result)
            return result;
    }
    for (size_t i = 0; kino_device_get(i, &state) == KINO_OK; i++)
        printf("%s %s: %u devices, %llu activities, %llu lost%s%s\n", state.name, state.version,
               state.devices, (unsigned long long)state.activities, (unsigned long long)state.lost,
               state.error[0] ? ": " : "", state.error);
    if (xpu_views() && !getenv("STANDIN_FAIL")) /* behind the last session */
        puts("still attached");
    return result;
}
