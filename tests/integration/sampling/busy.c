/* busy.c - a program whose time is known: CPU time in two functions (3 to 1), sleeping in a third,
 * page faults, a thread, code made at run time. Lines with a mark are looked up by the test.
 *
 *   busy [once] [jit] [unlink]
 *
 * once: a short round; jit: also made code; unlink: it removes itself. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { UNIT_MS = 15, PAGES = 2048 };

static volatile double sink;

static long cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void heavy(long ms)
{
    long end = cpu_ms() + ms;
    do
        for (int i = 0; i < 100000; i++)
            sink += i * 0.5; /* HEAVY */
    while (cpu_ms() < end);
    sink++;
}

__attribute__((noinline)) static void light(long ms)
{
    long end = cpu_ms() + ms;
    do
        for (int i = 0; i < 100000; i++)
            sink -= i * 0.5; /* LIGHT */
    while (cpu_ms() < end);
    sink++;
}

__attribute__((noinline)) static void wait_here(void)
{
    const struct timespec time = {0, 20 * 1000000};
    nanosleep(&time, NULL);
    sink++;
}

__attribute__((noinline)) static void work(void)
{
    heavy(3 * UNIT_MS);
    light(UNIT_MS);
    wait_here();
    sink++;
}

static void *help(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "helper");
    light(2 * UNIT_MS);
    return NULL;
}

static void touch(void)
{
    size_t size = PAGES * 4096;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = 1;
    munmap(memory, size);
}

/* mov eax, 1000000; dec eax; jnz; ret - announced in /tmp/perf-<pid>.map, as perf expects it. */
static void run_made_code(void)
{
#if defined(__x86_64__)
    static const unsigned char code[] = {0xb8, 0x40, 0x42, 0x0f, 0x00,
                                         0xff, 0xc8, 0x75, 0xfc, 0xc3};
    char name[64];
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    memcpy(page, code, sizeof code);
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    if (!map)
        return;
    fprintf(map, "%lx %x jit::spin\n", (unsigned long)page, (unsigned)sizeof code);
    fclose(map);
    void (*spin)(void);
    memcpy(&spin, &page, sizeof spin);
    for (long end = cpu_ms() + 2 * UNIT_MS; cpu_ms() < end;)
        spin();
#endif
}

int main(int argc, char **argv)
{
    int rounds = 3;
    pthread_t thread;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "once") == 0)
            rounds = 1;
        else if (strcmp(argv[i], "jit") == 0)
            run_made_code();
        else if (strcmp(argv[i], "unlink") == 0)
            unlink(argv[0]);
    }
    if (pthread_create(&thread, NULL, help, NULL) == 0)
        pthread_join(thread, NULL);
    for (int i = 0; i < rounds; i++)
        work();
    touch();
    return 0;
}
