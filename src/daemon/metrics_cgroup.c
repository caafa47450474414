/* metrics_cgroup.c - the cgroups that registered processes are in: memory, its limit, processor
 * time and throttling, of version 2 and version 1, and of hosts that have both.
 *
 * For each number the version 2 file is tried first; where its hierarchy does not have the
 * controller, the version 1 file. The host's own cgroup ("/") is left out: it is the host. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum { GROUPS_MOST = 64, POINT_SIZE = 256 };

enum { MEMORY, MEMORY_LIMIT, OOM_KILLS, CPU_TIME, PERIODS, THROTTLED, THROTTLED_TIME, COUNT };

static const kino__metric metrics_of[COUNT] = {
    [MEMORY] = {"memory_bytes", "cgroup_memory_bytes", NULL,
                "Memory charged to the cgroup of registered processes, including file pages.",
                KINO__GAUGE, 0, true},
    [MEMORY_LIMIT] = {"memory_limit_bytes", "cgroup_memory_limit_bytes", NULL,
                      "Memory limit of the cgroup; absent if unlimited.", KINO__GAUGE, 0, false},
    [OOM_KILLS] = {"oom_kills", "cgroup_oom_kills_total", NULL,
                   "Processes of the cgroup killed by the OOM killer.", KINO__COUNTER, 0, false},
    [CPU_TIME] = {"cpu_seconds", "cgroup_cpu_seconds_total", NULL, "CPU time of the cgroup.",
                  KINO__COUNTER, 6, true},
    [PERIODS] = {"periods", "cgroup_cpu_periods_total", NULL,
                 "Enforcement periods of the cgroup's CPU limit.", KINO__COUNTER, 0, false},
    [THROTTLED] = {"throttled_periods", "cgroup_cpu_throttled_periods_total", NULL,
                   "Periods in which the cgroup was throttled.", KINO__COUNTER, 0, false},
    [THROTTLED_TIME] = {"throttled_seconds", "cgroup_cpu_throttled_seconds_total", NULL,
                        "Time for which the cgroup was throttled, summed over processors.",
                        KINO__COUNTER, 6, true},
};
static const kino__metric_class cgroup = {"cgroup", metrics_of, COUNT, GROUPS_MOST};
static const kino__metric_class *const classes[] = {&cgroup, NULL};

/* -- where the hierarchies are -- */

enum { V2, V1_MEMORY, V1_CPU, V1_CPUACCT, HIERARCHIES };
static const char *const controllers[HIERARCHIES] = {"", "memory", "cpu", "cpuacct"};

typedef struct mount {
    char point[POINT_SIZE], root[POINT_SIZE]; /* "": not mounted */
} mount;

enum { FILE_MEMORY, FILE_LIMIT, FILE_EVENTS, FILE_CPU, FILE_USAGE, FILES };

typedef struct group {
    char key[24]; /* made of all its paths */
    char label[KINO__CGROUP_SIZE];
    kino__proc_file files[FILES];
    bool is_used; /* by a process of the newest list */
    uid_t uid;    /* whose; of several users: root's */
} group;

typedef struct state {
    mount mounts[HIERARCHIES];
    KINO__VEC(group) groups;
    uint64_t changes; /* of metrics->watched */
} state;

static void set_mount(mount *out, kino_str point, kino_str root)
{
    if (point.size >= POINT_SIZE || root.size >= POINT_SIZE)
        return;
    memcpy(out->point, point.data, point.size);
    memcpy(out->root, root.data, root.size);
}

static bool open_cgroup(void *context, kino__metrics *metrics)
{
    state *self = context;
    kino__proc_file file = {0};
    kino_str text, point, root;
    bool is_any = false;
    if (!kino__proc_open(&file, metrics->proc, "self/mountinfo") ||
        !kino__proc_read(&file, metrics, &text)) {
        kino__collector_miss_errno(metrics, errno, "cannot read /proc/self/mountinfo");
        kino__proc_close(&file);
        return false;
    }
    for (unsigned i = 0; i < HIERARCHIES; i++)
        if (kino__parse_cgroup_mount(text, controllers[i], &point, &root)) {
            set_mount(&self->mounts[i], point, root);
            is_any = true;
        }
    kino__proc_close(&file);
    if (!is_any)
        kino__collector_miss(metrics, "no cgroup file system is mounted");
    return is_any;
}

static void close_group(group *one)
{
    for (unsigned i = 0; i < FILES; i++)
        kino__proc_close(&one->files[i]);
}

static void close_cgroup(void *context)
{
    state *self = context;
    for (size_t i = 0; i < self->groups.count; i++)
        close_group(&self->groups.items[i]);
    kino__vec_deinit(&self->groups);
}

/* -- the files of a cgroup -- */

static bool is_root(const char *path)
{
    return path[0] == '\0' || strcmp(path, "/") == 0;
}

/* The folder of a path inside a hierarchy, of which `root` is mounted at `point`. The root is the
 * whole host's, and a path that leaves the namespace ("/../x") cannot be reached. */
static bool folder_of(const mount *of, const char *path, char *out, size_t size)
{
    if (of->point[0] == '\0' || is_root(path) || path[0] != '/' || strncmp(path, "/..", 3) == 0)
        return false;
    size_t root = strcmp(of->root, "/") == 0 ? 0 : strlen(of->root);
    bool is_inside = strncmp(path, of->root, root) == 0 && (path[root] == '/' || !path[root]);
    int length = snprintf(out, size, "%s%s", of->point, is_inside ? path + root : path);
    return length > 0 && (size_t)length < size;
}

static bool open_in(kino__proc_file *file, const mount *of, const char *path, const char *name)
{
    char folder[2 * POINT_SIZE];
    return file->fd == 0 && folder_of(of, path, folder, sizeof folder) &&
           kino__proc_open(file, folder, name);
}

static void open_files(const state *self, group *one, const kino__watched *of)
{
    const mount *v2 = &self->mounts[V2], *memory = &self->mounts[V1_MEMORY];
    (void)open_in(&one->files[FILE_MEMORY], v2, of->cgroup_v2, "memory.current");
    if (one->files[FILE_MEMORY].fd > 0) {
        (void)open_in(&one->files[FILE_LIMIT], v2, of->cgroup_v2, "memory.max");
        (void)open_in(&one->files[FILE_EVENTS], v2, of->cgroup_v2, "memory.events");
    } else {
        (void)open_in(&one->files[FILE_MEMORY], memory, of->cgroup_memory, "memory.usage_in_bytes");
        (void)open_in(&one->files[FILE_LIMIT], memory, of->cgroup_memory, "memory.limit_in_bytes");
        (void)open_in(&one->files[FILE_EVENTS], memory, of->cgroup_memory, "memory.oom_control");
    }
    if (!open_in(&one->files[FILE_CPU], v2, of->cgroup_v2, "cpu.stat")) {
        (void)open_in(&one->files[FILE_CPU], &self->mounts[V1_CPU], of->cgroup_cpu, "cpu.stat");
        (void)open_in(&one->files[FILE_USAGE], &self->mounts[V1_CPUACCT], of->cgroup_cpuacct,
                      "cpuacct.usage");
    }
}

/* "" where a process is in the host's own cgroup only. */
static const char *label_of(const kino__watched *of)
{
    const char *const paths[] = {of->cgroup_v2, of->cgroup_memory, of->cgroup_cpu,
                                 of->cgroup_cpuacct};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (!is_root(paths[i]))
            return paths[i];
    return "";
}

static void key_of(const kino__watched *of, char key[24])
{
    const char *const paths[] = {of->cgroup_v2, of->cgroup_memory, of->cgroup_cpu,
                                 of->cgroup_cpuacct};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        hash = hash * 1000003 + kino__hash_bytes(paths[i], strlen(paths[i]));
    (void)snprintf(key, 24, "%016" PRIx64, hash);
}

static group *find_group(state *self, const char *key)
{
    for (size_t i = 0; i < self->groups.count; i++)
        if (strcmp(self->groups.items[i].key, key) == 0)
            return &self->groups.items[i];
    return NULL;
}

static void use_group(state *self, const kino__watched *of)
{
    char key[24];
    const char *label = label_of(of);
    if (label[0] == '\0')
        return;
    key_of(of, key);
    group *one = find_group(self, key);
    if (!one && self->groups.count < GROUPS_MOST) {
        one = kino__vec_add(&self->groups);
        if (!one)
            return;
        *one = (group){0};
        memcpy(one->key, key, sizeof key);
        memcpy(one->label, label, strlen(label));
        open_files(self, one, of);
    }
    if (!one)
        return;
    one->uid = !one->is_used || one->uid == of->process.uid ? of->process.uid : 0;
    one->is_used = true;
}

static void follow_changes(state *self, const kino__metrics *metrics)
{
    if (self->changes == metrics->watched_changes)
        return;
    self->changes = metrics->watched_changes;
    for (size_t i = 0; i < self->groups.count; i++)
        self->groups.items[i].is_used = false;
    for (size_t i = 0; i < metrics->watched_count; i++)
        use_group(self, &metrics->watched[i]);
    size_t kept = 0;
    for (size_t i = 0; i < self->groups.count; i++) {
        if (self->groups.items[i].is_used)
            self->groups.items[kept++] = self->groups.items[i];
        else
            close_group(&self->groups.items[i]);
    }
    self->groups.count = kept;
}

/* -- the numbers -- */

/* Version 1 says "no limit" with a number near the largest. */
static int64_t limit_of(kino_str text)
{
    int64_t limit = kino__parse_single(text);
    return limit > INT64_MAX / 2 ? KINO_NO_INT : limit;
}

/* usage_usec and throttled_usec in version 2; throttled_time, in ns, in version 1. */
static void sample_cpu_stat(kino__thing *thing, kino_str text)
{
    int64_t throttled_ns = kino__parse_key(text, "throttled_time");
    kino__thing_count(thing, CPU_TIME, kino__parse_key(text, "usage_usec"));
    kino__thing_count(thing, PERIODS, kino__parse_key(text, "nr_periods"));
    kino__thing_count(thing, THROTTLED, kino__parse_key(text, "nr_throttled"));
    kino__thing_count(thing, THROTTLED_TIME,
                      throttled_ns != KINO_NO_INT ? throttled_ns / 1000
                                                  : kino__parse_key(text, "throttled_usec"));
}

static void sample_group(kino__metrics *metrics, const group *one)
{
    kino_str text;
    kino__thing *thing = kino__metrics_thing(metrics, &cgroup, kino__str_from(one->key));
    if (!thing)
        return;
    kino__thing_own(thing, one->uid);
    if (thing->is_new)
        kino__thing_label(thing, "cgroup", kino__str_from(one->label));
    if (kino__proc_read(&one->files[FILE_MEMORY], metrics, &text))
        kino__thing_gauge(thing, MEMORY, kino__parse_single(text));
    if (kino__proc_read(&one->files[FILE_LIMIT], metrics, &text))
        kino__thing_gauge(thing, MEMORY_LIMIT, limit_of(text));
    if (kino__proc_read(&one->files[FILE_EVENTS], metrics, &text))
        kino__thing_count(thing, OOM_KILLS, kino__parse_key(text, "oom_kill"));
    if (kino__proc_read(&one->files[FILE_CPU], metrics, &text))
        sample_cpu_stat(thing, text);
    if (kino__proc_read(&one->files[FILE_USAGE], metrics, &text)) {
        int64_t ns = kino__parse_single(text);
        kino__thing_count(thing, CPU_TIME, ns == KINO_NO_INT ? KINO_NO_INT : ns / 1000);
    }
}

static void sample_cgroup(void *context, kino__metrics *metrics)
{
    state *self = context;
    follow_changes(self, metrics);
    for (size_t i = 0; i < self->groups.count; i++)
        sample_group(metrics, &self->groups.items[i]);
}

const kino__collector kino__collector_cgroup = {
    .name = "cgroup",
    .help = "memory, CPU time and throttling of the cgroups of registered processes",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_cgroup,
    .sample = sample_cgroup,
    .close = close_cgroup,
};
