/* memory_limit.c - see memory_limit.h. */
#include "base/memory_limit.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    TEXT_SIZE = 8192,
    DEPTH_MAX = 64, /* groups around each other */
};

/* The names of one version. Memory that holds files can be had back at any time. */
typedef struct version {
    const char *folder, *limit, *used, *files[2];
} version;

static const version versions[] = {
    {"", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
    {"/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
};

static bool read_text(const char *path, char text[TEXT_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, TEXT_SIZE - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

static bool read_file(const char *group, const char *name, char text[TEXT_SIZE])
{
    char path[PATH_SIZE + 64];
    int size = snprintf(path, sizeof path, "%s/%s", group, name);
    return size > 0 && (size_t)size < sizeof path && read_text(path, text);
}

/* The number behind the name, at the beginning of a line; 0: not there. */
static uint64_t number_of(const char *text, const char *name)
{
    size_t size = strlen(name);
    while (text && strncmp(text, name, size) != 0) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text + size, NULL, 10) : 0;
}

static uint64_t left_in(const version *v, const char *group)
{
    char text[TEXT_SIZE];
    if (!read_file(group, v->limit, text) || text[0] < '0' || text[0] > '9') /* "max" */
        return UINT64_MAX;
    uint64_t limit = strtoull(text, NULL, 10);
    if (!read_file(group, v->used, text))
        return UINT64_MAX;
    uint64_t used = strtoull(text, NULL, 10);
    if (read_file(group, "memory.stat", text)) {
        uint64_t files = number_of(text, v->files[0]) + number_of(text, v->files[1]);
        used -= files < used ? files : used;
    }
    return used < limit ? limit - used : 0;
}

/* The group and all around it, up to the root of its version. */
static uint64_t left_along(const version *v, const char *root, const char *group)
{
    char path[PATH_SIZE];
    int base = snprintf(path, sizeof path, "%s%s", root, v->folder);
    if (base < 0 || (size_t)base >= sizeof path)
        return UINT64_MAX;
    int size = snprintf(path + base, sizeof path - (size_t)base, "%s", group);
    if (size < 0 || (size_t)size >= sizeof path - (size_t)base)
        path[base] = '\0';
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < DEPTH_MAX; i++) {
        uint64_t left = left_in(v, path);
        least = left < least ? left : least;
        char *last = strrchr(path + base, '/');
        if (!last)
            break;
        *last = '\0';
    }
    return least;
}

/* Lines are "0::/group" (version 2) and "4:memory:/group" (version 1, perhaps with others). */
uint64_t kino__memory_left(const char *groups, const char *root)
{
    char text[TEXT_SIZE];
    uint64_t least = UINT64_MAX;
    if (!read_text(groups, text))
        return least;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *names++ = *group++ = '\0';
        bool is_second = !*names;
        if (!is_second && !strstr(names, "memory"))
            continue;
        uint64_t left = left_along(&versions[is_second ? 0 : 1], root, group);
        least = left < least ? left : least;
    }
    return least;
}

uint64_t kino__memory_default(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)4 << 30;
    uint64_t group = kino__memory_left("/proc/self/cgroup", "/sys/fs/cgroup");
    return (group < machine ? group : machine) / 4 * 3;
}

/* What counts for RLIMIT_DATA: the sixth number of statm, in pages. Sanitizers have terabytes. */
static uint64_t data_now(void)
{
    char text[TEXT_SIZE];
    unsigned long long data = 0;
    long page = sysconf(_SC_PAGESIZE);
    if (read_text("/proc/self/statm", text))
        (void)sscanf(text, "%*u %*u %*u %*u %*u %llu", &data);
    return data * (uint64_t)(page > 0 ? page : 4096);
}

bool kino__memory_limit_process(uint64_t bytes)
{
    struct rlimit limit;
    uint64_t most;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || __builtin_add_overflow(data_now(), bytes, &most))
        return false;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= most)
        return true;
    limit.rlim_cur = most; /* the hard limit stays: who starts other programs can lift it again */
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

bool kino__memory_is_folder(const char *folder)
{
    struct statfs info;
    return statfs(folder, &info) == 0 && (info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC);
}
