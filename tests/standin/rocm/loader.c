/* loader.c - a program that knows nothing of kino and loads HIP at run time, as Python does: loader
 * LIBRARY [SIGNAL]. It launches a kernel every 2 ms for half a second; then it may kill itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip.h"

int main(int argc, char **argv)
{
    __typeof__(hipLaunchKernel) *launch = NULL;
    void *hip = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *symbol = hip ? dlsym(hip, "hipLaunchKernel") : NULL;
    const void *kernel = hip ? dlsym(hip, "standin_vector_add") : NULL;
    memcpy(&launch, &symbol, sizeof launch);
    if (!launch || !kernel)
        return 2;
    for (int i = 0; i < 250; i++) {
        launch(kernel, (hip_dim3){1, 1, 1}, (hip_dim3){64, 1, 1}, NULL, 0, NULL);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    if (argc > 2)
        raise((int)strtol(argv[2], NULL, 10));
    puts("done");
    return 7;
}
