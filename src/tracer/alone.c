/* alone.c - see alone.h. */
#include "tracer/alone.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/injection.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of this process */
static struct {
    pthread_t thread;
    bool is_known; /* atomic */
} main_thread;

void kino__alone_load(void)
{
    if ((pid_t)syscall(SYS_gettid) != getpid())
        return; /* loaded by another thread */
    main_thread.thread = pthread_self();
    __atomic_store_n(&main_thread.is_known, true, __ATOMIC_RELEASE);
}

void kino__alone_forked(void)
{
    main_thread.thread = pthread_self();
    __atomic_store_n(&main_thread.is_known, true, __ATOMIC_RELEASE);
}

/* The system clears the number of a thread that ends, which the C library looks at here: no system
 * call, and the main thread's memory stays. */
static bool has_main_ended(void)
{
    clockid_t clock;
    return __atomic_load_n(&main_thread.is_known, __ATOMIC_ACQUIRE) &&
           pthread_getcpuclockid(main_thread.thread, &clock) == ESRCH;
}

static bool is_ours(int folder, const char *tid)
{
    char path[sizeof "4294967295/comm" + 8], name[32] = "";
    if (snprintf(path, sizeof path, "%s/comm", tid) >= (int)sizeof path)
        return false;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, name, sizeof name - 1) : -1;
    int error = errno;
    if (fd >= 0)
        (void)close(fd);
    if (size < 0)
        return error == ENOENT || error == ESRCH; /* it has ended meanwhile */
    name[strcspn(name, "\n")] = '\0';
    return strcmp(name, KINO__THREAD_RECORDER) == 0 || strcmp(name, KINO__THREAD_OPENCL) == 0;
}

/* Threads of the process but `except`: how many are ours, and how many are not. False: the system
 * does not say. */
static bool count_threads(pid_t except, uint32_t counts[2])
{
    int saved = errno;
    char name[16];
    DIR *list = opendir("/proc/self/task");
    const struct dirent *entry;
    (void)snprintf(name, sizeof name, "%d", (int)except);
    counts[0] = counts[1] = 0;
    while (list && (entry = readdir(list))) /* NOLINT(concurrency-mt-unsafe): ours */
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, name) != 0)
            counts[is_ours(dirfd(list), entry->d_name)]++;
    if (list)
        (void)closedir(list);
    errno = saved;
    return list != NULL;
}

bool kino__is_alone(void)
{
    uint32_t counts[2];
    return has_main_ended() && count_threads(getpid(), counts) && counts[0] == 0;
}

bool kino__has_own_threads(void)
{
    uint32_t counts[2];
    return count_threads((pid_t)syscall(SYS_gettid), counts) && counts[1] > 0;
}

uint32_t kino__quiet_tid(void)
{
#if defined(__GLIBC__)
    /* a mutex that looks for mistakes has the thread that holds it */
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    (void)pthread_mutex_lock(&mutex);
    uint32_t tid = (uint32_t)mutex.__data.__owner;
    (void)pthread_mutex_unlock(&mutex);
    return tid;
#else
    return (uint32_t)syscall(SYS_gettid);
#endif
}
