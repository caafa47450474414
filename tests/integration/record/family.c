/* family.c - processes that come from each other by fork and exec, each with a range of its own;
 * and zones of libkino (when it is linked) in a forked child that does not exec. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_copy.h"
#ifdef WITH_KINO
#    include <kino/kino.h>
#else
#    define KINO_ZONE(name) (void)0
#endif

static void range(const char *name)
{
    nvtxRangePushA(name);
    nvtxRangePop();
}

static void zone(const char *unused)
{
    (void)unused;
    KINO_ZONE("zone");
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        range(argv[1]);
        return 3;
    }
    range("parent");
    zone("parent");
    if (fork() == 0) {
        range("forked");
        usleep(100000); /* zones are recorded a little later than ranges */
        zone("forked");
        _exit(0);
    }
    wait(NULL);
    if (fork() == 0) {
        execl(argv[0], argv[0], "executed", (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    execl(argv[0], argv[0], "became", (char *)NULL);
    return 1;
}
