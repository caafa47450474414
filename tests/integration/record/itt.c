/* itt.c - a program with ITT's static part, as small as it can be and in our own words: tasks, an
 * overlapped task, a frame, a marker, counters, metadata, the name of the thread. One domain is
 * there before the collector is. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "inject/itt_abi.h"

#define FUNCTIONS(X)                                                                               \
    X(domain_create, kino__itt_domain *, (const char *))                                           \
    X(string_handle_create, kino__itt_string *, (const char *))                                    \
    X(task_begin, void, (kino__itt_domain *, kino__itt_id, kino__itt_id, kino__itt_string *))      \
    X(task_end, void, (kino__itt_domain *))                                                        \
    X(task_begin_overlapped, void,                                                                 \
      (kino__itt_domain *, kino__itt_id, kino__itt_id, kino__itt_string *))                        \
    X(task_end_overlapped, void, (kino__itt_domain *, kino__itt_id))                               \
    X(frame_begin_v3, void, (kino__itt_domain *, kino__itt_id *))                                  \
    X(frame_end_v3, void, (kino__itt_domain *, kino__itt_id *))                                    \
    X(frame_submit_v3, void,                                                                       \
      (kino__itt_domain *, kino__itt_id *, unsigned long long, unsigned long long))                \
    X(get_timestamp, unsigned long long, (void))                                                   \
    X(marker, void, (kino__itt_domain *, kino__itt_id, kino__itt_string *, int))                   \
    X(counter_create, void *, (const char *, const char *))                                        \
    X(counter_create_typed, void *, (const char *, const char *, int))                             \
    X(counter_inc_delta, void, (void *, unsigned long long))                                       \
    X(counter_set_value, void, (void *, void *))                                                   \
    X(metadata_add, void,                                                                          \
      (kino__itt_domain *, kino__itt_id, kino__itt_string *, int, size_t, void *))                 \
    X(metadata_str_add, void,                                                                      \
      (kino__itt_domain *, kino__itt_id, kino__itt_string *, const char *, size_t))                \
    X(thread_set_name, void, (const char *))                                                       \
    X(event_create, int, (const char *, int))                                                      \
    X(event_start, int, (int))                                                                     \
    X(event_end, int, (int))                                                                       \
    X(pause, void, (void))                                                                         \
    X(resume, void, (void))                                                                        \
    X(heap_record, void, (void))

#define POINTER(name, result, arguments) static result(*name) arguments;
FUNCTIONS(POINTER)
static void nothing(void)
{
}

#define ENTRY(name, result, arguments) {"__itt_" #name, (void **)&(name), NULL, (void *)nothing, 0},
static kino__itt_function functions[] = {FUNCTIONS(ENTRY){NULL, NULL, NULL, NULL, 0}};
static kino__itt_domain early = {1, "early", NULL, 0, NULL, NULL};
static kino__itt_global global = {
    .magic = KINO__ITT_MAGIC, .version_major = 3, .functions = functions, .domains = &early};

/* -- pauses; argument "pause" */

static volatile unsigned long sink;

static void spin(long ms)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 10000; i++)
            sink += (unsigned long)i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

__attribute__((noinline)) void busy_seen(void)
{
    spin(100);
    sink++;
}

__attribute__((noinline)) void busy_hidden(void)
{
    spin(200);
    sink++;
}

static void task(kino__itt_domain *domain, const char *name)
{
    const kino__itt_id none = {0, 0, 0};
    task_begin(domain, none, none, string_handle_create(name));
    task_end(domain);
}

static void play_pauses(void)
{
    const kino__itt_id none = {0, 0, 0};
    kino__itt_domain *domain = domain_create("test");
    task(domain, "before");
    task_begin(domain, none, none, string_handle_create("across"));
    busy_seen();
    pause();
    pause(); /* one resume is enough for both */
    task_end(domain);
    task(domain, "hidden");
    marker(domain, none, string_handle_create("hidden mark"), 3);
    thread_set_name("named in a pause");
    busy_hidden();
    task_begin(domain, none, none, string_handle_create("hidden, ends later"));
    resume();
    resume();
    task_end(domain);
    task(domain, "between");
    busy_seen();
    pause();
    task(domain, "hidden to the end");
}

/* A child by fork is paused like its parent, until it says otherwise. */
static void play_fork(void)
{
    pid_t fork(void); /* <unistd.h> has a pause() of its own */
    kino__itt_domain *domain = domain_create("test");
    pause();
    if (fork() == 0) {
        task(domain, "hidden in the child");
        resume();
        task(domain, "in the child");
    } else {
        wait(NULL);
        task(domain, "hidden in the parent");
    }
}

int main(int argc, char **argv)
{
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void (*attach)(kino__itt_global *, int) = NULL;
    if (library)
        *(void **)&attach = dlsym(library, "__itt_api_init");
    if (!attach)
        return 2;
    attach(&global, 0);
    if ((void *)heap_record != (void *)nothing)
        return 3; /* what the collector does not know must do nothing */

    if (argc > 1 && strcmp(argv[1], "pause") == 0) {
        play_pauses();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        play_fork();
        return 0;
    }
    const kino__itt_id none = {0, 0, 0}, one = {1, 2, 3}, two = {2, 2, 3};
    kino__itt_domain *domain = domain_create("test");
    kino__itt_string *outer = string_handle_create("outer"), *inner = string_handle_create("inner");
    thread_set_name("itt main");
    printf("%d %d %d\n", domain_create("test") == domain, string_handle_create("outer") == outer,
           domain->flags != 0 && early.flags != 0);
    for (int i = 0; i < 3; i++) {
        unsigned numbers[] = {1, 2, (unsigned)i};
        double half = 0.5;
        task_begin(domain, none, none, outer);
        task_begin(domain, none, none, inner);
        metadata_add(domain, none, string_handle_create("numbers"), KINO__ITT_U32, 3, numbers);
        metadata_add(domain, none, string_handle_create("half"), KINO__ITT_DOUBLE, 1, &half);
        metadata_str_add(domain, none, string_handle_create("text"), "hello!", 5);
        task_end(domain);
        marker(domain, none, string_handle_create("mark"), 3);
        task_end(domain);
    }
    task_begin(&early, none, none, string_handle_create("in early"));
    task_end(&early);
    task_begin_overlapped(domain, one, none, string_handle_create("first"));
    task_begin_overlapped(domain, two, none, string_handle_create("second"));
    task_end_overlapped(domain, one);
    task_end_overlapped(domain, two);
    frame_begin_v3(domain, NULL);
    frame_end_v3(domain, NULL);
    unsigned long long begin = get_timestamp();
    frame_submit_v3(domain_create("submitted"), NULL, begin, get_timestamp());
    void *count = counter_create("count", "test");
    counter_inc_delta(count, 5);
    counter_inc_delta(count, 2);
    double level = 2.25;
    counter_set_value(counter_create_typed("level", NULL, KINO__ITT_DOUBLE), &level);
    int event = event_create("event", 5);
    event_start(event);
    event_end(event);
    return 0;
}
