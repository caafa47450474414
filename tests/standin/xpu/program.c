/* program.c - a program that uses an XPU and records itself: its scenes (../common/program.h). */
#define _GNU_SOURCE
#include "../common/program.h"

#include <time.h>

#include "../common/functions.h"
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
    xpu_kernel(QUEUE, "before", NULL, 1000);
    xpu_wait();
    begin_function(&range, KINO_SCOPE_USER, "forward");
    begin_function(&op, KINO_SCOPE_FUNCTION, "aten::add");
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
    const kino_record_value inputs[] = {with_key("Seq", kino_value_int(41)),
                                        with_key("Process Group Name", kino_value_text("0"))};
    kino_record_function op;
    begin_collective(&op, inputs, 2);
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

const scene scenes[] = {
    {"plain", play_plain, false},
    {"functions", play_functions, true},
    {"collective", play_collective, true},
    {"late", play_late, false},
    {"pause", play_pause, false},
    {"many", play_many, false},
    {NULL, NULL, false},
};

bool is_attached(void)
{
    return xpu_views() != 0;
}
