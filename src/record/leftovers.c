/* leftovers.c - finding the folders of recordings whose recorder is gone. See leftovers.h. */
#include "record/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

enum { FRESH_SECONDS = 2, STAT_START = 22, LEFTOVERS_MAX = 1000 };

static int lock(const char *folder, int how)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, how) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Waits: somebody may just be looking. */
int kino__leftovers_lock(const char *folder)
{
    return lock(folder, LOCK_EX);
}

/* -- one folder */

/* A folder of this user that nobody holds, and that has been there for a moment. */
static bool is_left(const char *path)
{
    struct stat info;
    int fd = lock(path, LOCK_SH | LOCK_NB);
    bool is_mine = fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() &&
                   time(NULL) - info.st_ctime > FRESH_SECONDS;
    if (fd >= 0)
        close(fd);
    return is_mine;
}

/* The number of the process that has a folder of buffers, kino-UID-PID-START, when it is running;
 * else 0. */
static int64_t running_process(const char *name)
{
    unsigned long long uid, pid, start;
    char path[64], text[1024];
    if (sscanf(name, "kino-%llu-%llu-%llu", &uid, &pid, &start) != 3)
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *at = strrchr(text, ')');              /* the name before it may contain anything */
    if (at && (at[1] != ' ' || strchr("ZXx", at[2]))) /* dead, but nobody asked for its end yet */
        return 0;
    for (int field = 2; at && field < STAT_START; field++)
        at = strchr(at + 1, ' ');
    return at && strtoull(at + 1, NULL, 10) == start ? (int64_t)pid : 0;
}

static void count_recordings(kino__leftover *leftover)
{
    DIR *list = opendir(leftover->work);
    const struct dirent *entry;
    while (list && (entry = readdir(list))) { /* NOLINT(concurrency-mt-unsafe): ours */
        if (strncmp(entry->d_name, "kino-", 5) != 0)
            continue;
        int64_t pid = running_process(entry->d_name);
        leftover->recordings++;
        leftover->running = pid ? pid : leftover->running;
    }
    if (list)
        closedir(list);
}

/* -- all of them */

static bool has_samples(const kino__leftovers *l, const char *path)
{
    for (size_t i = 0; i < l->items.count; i++)
        if (l->items.items[i].samples && strcmp(l->items.items[i].samples, path) == 0)
            return true;
    return false;
}

static bool has_work(const kino__leftovers *l, const char *path)
{
    for (size_t i = 0; i < l->items.count; i++)
        if (l->items.items[i].work && strcmp(l->items.items[i].work, path) == 0)
            return true;
    return false;
}

static void add_work(kino__leftovers *l, const char *path)
{
    char link[PATH_MAX + sizeof KINO__RECORD_LINK], target[PATH_MAX];
    kino__leftover found = {.work = kino__arena_format(&l->arena, "%s", path).data};
    (void)snprintf(link, sizeof link, "%s/" KINO__RECORD_LINK, path);
    ssize_t size = readlink(link, target, sizeof target - 1);
    if (size > 0) {
        target[size] = '\0';
        if (is_left(target))
            found.samples = kino__arena_format(&l->arena, "%s", target).data;
    }
    count_recordings(&found);
    kino__leftover *slot = found.work ? kino__vec_add(&l->items) : NULL;
    if (slot)
        *slot = found;
}

static void add_samples(kino__leftovers *l, const char *path)
{
    kino__leftover found = {.samples = kino__arena_format(&l->arena, "%s", path).data};
    kino__leftover *slot = found.samples ? kino__vec_add(&l->items) : NULL;
    if (slot)
        *slot = found;
}

static void look(kino__leftovers *l, const char *folder, bool for_samples)
{
    char path[PATH_MAX];
    const char *prefix = for_samples ? KINO__RECORD_SAMPLES : KINO__RECORD_WORK;
    DIR *list = opendir(folder);
    const struct dirent *entry;
    while (list && l->items.count < LEFTOVERS_MAX &&
           (entry = readdir(list))) { /* NOLINT(concurrency-mt-unsafe): ours */
        int size = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || size < 0 ||
            (size_t)size >= sizeof path || !is_left(path))
            continue;
        if (for_samples && !has_samples(l, path))
            add_samples(l, path);
        else if (!for_samples && !has_work(l, path))
            add_work(l, path);
    }
    if (list)
        closedir(list);
}

static int compare(const void *left, const void *right)
{
    const kino__leftover *a = left, *b = right;
    return strcmp(a->work ? a->work : a->samples, b->work ? b->work : b->samples);
}

void kino__leftovers_find(kino__leftovers *out, const char *const *folders, size_t count)
{
    *out = (kino__leftovers){0};
    kino__arena_init(&out->arena, NULL);
    for (size_t i = 0; i < count; i++)
        look(out, folders[i], false);
    for (size_t i = 0; i < count; i++)
        look(out, folders[i], true);
    if (out->items.count)
        qsort(out->items.items, out->items.count, sizeof *out->items.items, compare);
}

void kino__leftovers_deinit(kino__leftovers *leftovers)
{
    kino__vec_deinit(&leftovers->items);
    kino__arena_deinit(&leftovers->arena);
}

void kino__leftovers_describe(const kino__leftover *l, char *out, size_t size)
{
    char recover[PATH_MAX + 64] = "", running[64] = "";
    if (l->recordings)
        (void)snprintf(recover, sizeof recover, "'kino recover %s OUT' to recover it%s, or ",
                       l->work, l->samples ? " (without samples)" : "");
    if (l->running)
        (void)snprintf(running, sizeof running,
                       " (process %" PRId64 " is still running and writing to it)", l->running);
    (void)snprintf(out, size,
                   "found an unfinished earlier recording%s: use %s'rm -r %s%s%s' to remove it",
                   running, recover, l->work ? l->work : "", l->work && l->samples ? " " : "",
                   l->samples ? l->samples : "");
}
