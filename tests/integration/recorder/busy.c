/* busy.c - records on several threads until somebody kills it.
 *
 *   busy flight|capture BUDGET_MB THREADS PROGRESS_FILE [DUMP_FILE]
 *
 * Event i of a thread has the arguments i and 7 * i + 1. When it has ended, i + 1 is in the
 * thread's number of PROGRESS_FILE: what stands there must be in the trace. With DUMP_FILE the main
 * thread dumps again and again. Prints the folder of the buffers. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kino/kino.h>

enum { THREADS_MAX = 64 };

static uint64_t *progress;

static void *work(void *context)
{
    uint64_t *mine = context;
    char name[16];
    snprintf(name, sizeof name, "busy %d", (int)(mine - progress));
    kino_thread_name(name);
    for (uint64_t i = 0;; i++) {
        {
            KINO_ZONE_NAMED(zone, "event", "cpu_op");
            KINO_ARG_UINT(zone, "i", i);
            KINO_ARG_UINT(zone, "check", 7 * i + 1);
            if (i % 16 == 0) {
                KINO_ZONE("nested");
                kino_arg_text(zone, "text", "a text that takes more than one record to be kept");
            }
        }
        __atomic_store_n(mine, i + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    int fd = open(argv[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t size = THREADS_MAX * sizeof *progress;
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return 2;
    progress = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error = {0};
    options.mode = strcmp(argv[1], "flight") == 0 ? KINO_MODE_FLIGHT : KINO_MODE_CAPTURE;
    options.budget_bytes = strtoull(argv[2], NULL, 10) << 20;
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    char folder[512];
    kino_session_directory(folder, sizeof folder);
    printf("%s\n", folder);
    fflush(stdout);
    int threads = (int)strtol(argv[3], NULL, 10);
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &progress[i]) != 0)
            return 1;
    }
    while (argc > 5) {
        if (kino_dump(argv[5], 0, &error) != KINO_OK)
            return 1;
    }
    for (;;)
        pause();
}
