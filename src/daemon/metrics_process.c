/* metrics_process.c - the registered processes, each with its descendants: processor time,
 * memory, threads, page faults, and who they are.
 *
 * The members of a tree are found by walking through /proc every few seconds, a slice per
 * sample, so that a host with many processes never makes the loop wait. In between, each
 * member's stat is read again through its open file, which fails once that very process has
 * ended, whoever has its pid then. A process that is registered itself is a tree of its own, not
 * part of another one.
 *
 * Processor time of a tree is a sum of differences: members may go without it going back. What a
 * new member used before it was found counts in the total, and in no rate. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum {
    SLICE = 128,         /* processes looked at in one sample */
    MEMBERS_MOST = 2048, /* of all trees */
    OPEN_MOST = 384,     /* of them with a file that stays open */
    SEEN_MOST = 65536,
    DEPTH_MOST = 64, /* of a tree */
};
static const int64_t pause_ns = 5000000000; /* between two walks */

enum { CPU_TIME, RESIDENT, THREADS, PROCESSES, MAJOR_FAULTS, COUNT };

static const kino__metric metrics_of[COUNT] = {
    [CPU_TIME] = {"cpu_seconds", "process_cpu_seconds_total", NULL,
                  "CPU time of a registered process and its descendants.", KINO__COUNTER, 6, true},
    [RESIDENT] = {"resident_bytes", "process_resident_bytes", NULL,
                  "Resident memory of a registered process and its descendants; shared pages are "
                  "counted in each.",
                  KINO__GAUGE, 0, true},
    [THREADS] = {"threads", "process_threads", NULL,
                 "Threads of a registered process and its descendants.", KINO__GAUGE, 0, false},
    [PROCESSES] = {"processes", "process_tree_size", NULL,
                   "Processes in the tree: the registered one and its descendants.", KINO__GAUGE, 0,
                   false},
    [MAJOR_FAULTS] = {"major_faults", "process_major_faults_total", NULL,
                      "Major page faults of the tree.", KINO__COUNTER, 0, false},
};
static const kino__metric_class process = {"process", metrics_of, COUNT, KINO__METRICS_PROCESSES};

static const kino__metric info_metrics[] = {
    {"info", "process_info", NULL,
     "Always 1; labels identify a registered process: command, user, and Slurm or Kubernetes job.",
     KINO__GAUGE, 0, false},
};
static const kino__metric_class info = {"process_info", info_metrics, 1, KINO__METRICS_PROCESSES};
static const kino__metric_class *const classes[] = {&process, &info, NULL};

typedef struct member {
    int32_t pid;
    uint32_t tree;       /* index in trees, which are those of metrics->watched */
    int64_t start_ticks; /* KINO_NO_INT: not read yet */
    int64_t cpu_us, faults;
    kino__proc_file file; /* its stat, as long as there are not too many */
} member;

typedef struct tree {
    kino__metrics_process root;
    int64_t cpu_us, faults;           /* sums of differences */
    int64_t late_us, late_faults;     /* of members found in this sample */
    int64_t rss_pages, threads, size; /* of this sample */
    bool is_gone;                     /* its root has ended */
} tree;

typedef struct seen {
    int32_t pid, parent;
} seen;

typedef struct state {
    KINO__VEC(member) members;
    KINO__VEC(tree) trees;
    KINO__VEC(seen) all; /* the processes of a walk, so far */
    unsigned open;       /* files of members */
    uint64_t changes;    /* of metrics->watched, that the trees know of */
    DIR *folder;
    bool is_walking;
    int64_t walked_ns; /* when the last walk began; KINO_NO_TIME: one is due */
} state;

static bool open_process(void *context, kino__metrics *metrics)
{
    state *self = context;
    self->walked_ns = KINO_NO_TIME;
    self->folder = opendir(metrics->proc);
    if (!self->folder)
        kino__collector_miss_errno(metrics, errno, "cannot read /proc");
    return self->folder != NULL;
}

static void forget_file(state *self, member *one)
{
    if (one->file.fd > 0)
        self->open--;
    kino__proc_close(&one->file);
}

static void close_process(void *context)
{
    state *self = context;
    for (size_t i = 0; i < self->members.count; i++)
        forget_file(self, &self->members.items[i]);
    if (self->folder)
        (void)closedir(self->folder);
    kino__vec_deinit(&self->members);
    kino__vec_deinit(&self->trees);
    kino__vec_deinit(&self->all);
}

/* -- who belongs to which tree -- */

static void add_member(state *self, int32_t pid, size_t of)
{
    if (self->members.count >= MEMBERS_MOST)
        return;
    member *one = kino__vec_add(&self->members);
    if (one)
        *one = (member){.pid = pid, .tree = (uint32_t)of, .start_ticks = KINO_NO_INT};
}

static size_t find_tree(const state *self, int32_t pid)
{
    for (size_t i = 0; i < self->trees.count; i++)
        if (self->trees.items[i].root.pid == pid && !self->trees.items[i].is_gone)
            return i;
    return SIZE_MAX;
}

static size_t find_same_tree(const state *self, const kino__metrics_process *root)
{
    for (size_t i = 0; i < self->trees.count; i++)
        if (self->trees.items[i].root.pid == root->pid &&
            self->trees.items[i].root.start_time == root->start_time)
            return i;
    return SIZE_MAX;
}

/* Another list of registered processes: old trees keep their sums and members. */
static void follow_changes(state *self, const kino__metrics *metrics)
{
    if (self->changes == metrics->watched_changes ||
        !kino__vec_reserve(&self->trees, metrics->watched_count))
        return;
    size_t before = self->trees.count;
    for (size_t i = 0; i < metrics->watched_count; i++) {
        size_t old = find_same_tree(self, &metrics->watched[i].process);
        tree made = {.root = metrics->watched[i].process};
        if (old < before) {
            made = self->trees.items[old];
            made.root = metrics->watched[i].process;
            for (size_t m = 0; m < self->members.count; m++)
                if (self->members.items[m].tree == old)
                    self->members.items[m].tree = (uint32_t)(before + i);
        } else {
            add_member(self, made.root.pid, before + i);
        }
        self->trees.items[before + i] = made; /* reserved */
    }
    size_t kept = 0;
    for (size_t m = 0; m < self->members.count; m++) {
        member one = self->members.items[m];
        if (one.tree < before) {
            forget_file(self, &one);
            continue;
        }
        one.tree -= (uint32_t)before;
        self->members.items[kept++] = one;
    }
    self->members.count = kept;
    memmove(self->trees.items, self->trees.items + before,
            metrics->watched_count * sizeof *self->trees.items);
    self->trees.count = metrics->watched_count;
    self->changes = metrics->watched_changes;
    self->walked_ns = KINO_NO_TIME;
}

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const seen *)a)->pid, y = ((const seen *)b)->pid;
    return (x > y) - (x < y);
}

static size_t tree_of(const state *self, const seen *one)
{
    seen at = *one;
    for (unsigned depth = 0; depth < DEPTH_MOST && at.parent > 1; depth++) {
        size_t found = find_tree(self, at.parent);
        if (found != SIZE_MAX)
            return found;
        const seen key = {at.parent, 0};
        const seen *parent =
            bsearch(&key, self->all.items, self->all.count, sizeof *self->all.items, by_pid);
        if (!parent)
            break;
        at = *parent;
    }
    return SIZE_MAX;
}

static bool is_member(const state *self, int32_t pid)
{
    for (size_t i = 0; i < self->members.count; i++)
        if (self->members.items[i].pid == pid)
            return true;
    return false;
}

static void end_walk(state *self)
{
    self->is_walking = false;
    if (self->all.count > 0)
        qsort(self->all.items, self->all.count, sizeof *self->all.items, by_pid);
    for (size_t i = 0; i < self->all.count; i++) {
        const seen *one = &self->all.items[i];
        size_t of = is_member(self, one->pid) ? SIZE_MAX : tree_of(self, one);
        if (of != SIZE_MAX)
            add_member(self, one->pid, of);
    }
}

static bool read_stat(kino__metrics *metrics, int32_t pid, kino__pid_stat *out)
{
    char path[32];
    kino__proc_file file = {0};
    kino_str text;
    (void)snprintf(path, sizeof path, "%d/stat", (int)pid);
    bool is_read = kino__proc_open(&file, metrics->proc, path) &&
                   kino__proc_read(&file, metrics, &text) && kino__parse_pid_stat(text, out);
    kino__proc_close(&file);
    return is_read;
}

/* Kernel threads are children of kthreadd (pid 2) and have no children. */
static void look_at(state *self, kino__metrics *metrics, const char *name)
{
    int64_t pid;
    kino__pid_stat stat;
    if (!isdigit((unsigned char)name[0]) || !kino__str_to_int(kino__str_from(name), &pid) ||
        pid > INT32_MAX || self->all.count >= SEEN_MOST)
        return;
    if (!read_stat(metrics, (int32_t)pid, &stat) || stat.parent > INT32_MAX || stat.parent == 2)
        return;
    seen *one = kino__vec_add(&self->all);
    if (one)
        *one = (seen){(int32_t)pid, (int32_t)stat.parent};
}

static void walk(state *self, kino__metrics *metrics)
{
    if (self->trees.count == 0)
        return;
    if (!self->is_walking) {
        if (self->walked_ns != KINO_NO_TIME && metrics->now_ns - self->walked_ns < pause_ns)
            return;
        rewinddir(self->folder);
        self->all.count = 0;
        self->is_walking = true;
        self->walked_ns = metrics->now_ns;
    }
    for (unsigned i = 0; i < SLICE; i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): the folder is this thread's alone */
        const struct dirent *entry = readdir(self->folder);
        if (!entry) {
            end_walk(self);
            return;
        }
        look_at(self, metrics, entry->d_name);
    }
}

/* -- what they use -- */

static bool read_member(state *self, kino__metrics *metrics, member *one, kino__pid_stat *stat)
{
    kino_str text;
    if (one->file.fd == 0 && self->open >= OPEN_MOST)
        return read_stat(metrics, one->pid, stat);
    if (one->file.fd == 0) {
        char path[32];
        (void)snprintf(path, sizeof path, "%d/stat", (int)one->pid);
        if (!kino__proc_open(&one->file, metrics->proc, path))
            return false;
        self->open++;
    }
    return kino__proc_read(&one->file, metrics, &text) && kino__parse_pid_stat(text, stat);
}

static bool is_other(const tree *of, const member *one, const kino__pid_stat *stat)
{
    bool is_root = one->pid == of->root.pid;
    if (one->start_ticks != KINO_NO_INT)
        return stat->start_ticks != one->start_ticks;
    return is_root && of->root.start_time != 0 &&
           (uint64_t)stat->start_ticks != of->root.start_time;
}

/* False: it has ended. */
static bool sample_member(state *self, kino__metrics *metrics, member *one)
{
    tree *of = &self->trees.items[one->tree];
    kino__pid_stat stat = {0};
    int64_t cpu_us;
    if (of->is_gone)
        return false;
    if (!read_member(self, metrics, one, &stat) || is_other(of, one, &stat) || stat.state == 'Z' ||
        __builtin_add_overflow(stat.user_ticks, stat.system_ticks, &cpu_us) ||
        __builtin_mul_overflow(cpu_us, metrics->tick_ns / 1000, &cpu_us)) {
        of->is_gone = one->pid == of->root.pid;
        return false;
    }
    int64_t faults = stat.major_faults == KINO_NO_INT ? 0 : stat.major_faults;
    int64_t grown = cpu_us > one->cpu_us ? cpu_us - one->cpu_us : 0;
    int64_t more = faults > one->faults ? faults - one->faults : 0;
    of->cpu_us += grown;
    of->faults += more;
    if (one->start_ticks == KINO_NO_INT) {
        of->late_us += grown;
        of->late_faults += more;
        one->start_ticks = stat.start_ticks;
    }
    one->cpu_us = cpu_us;
    one->faults = faults;
    of->size++;
    of->threads += stat.threads != KINO_NO_INT ? stat.threads : 0;
    of->rss_pages += stat.rss_pages != KINO_NO_INT ? stat.rss_pages : 0;
    return true;
}

static void label(kino__thing *thing, const char *name, const char *value)
{
    if (value[0] != '\0')
        kino__thing_label(thing, name, kino__str_from(value));
}

void kino__label_job(kino__thing *thing, const kino__watched *watched)
{
    char text[32];
    if (watched->process.job != KINO_NO_INT) {
        (void)snprintf(text, sizeof text, "%lld", (long long)watched->process.job);
        label(thing, "job", text);
    }
    if (watched->process.rank != KINO_NO_INT) {
        (void)snprintf(text, sizeof text, "%lld", (long long)watched->process.rank);
        label(thing, "rank", text);
    } else {
        label(thing, "rank", watched->attribution.rank);
    }
}

static void label_process(kino__thing *thing, const kino__watched *watched)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d", (int)watched->process.pid);
    label(thing, "pid", text);
    kino__label_job(thing, watched);
}

static void show_info(kino__metrics *metrics, const kino__watched *watched, kino_str key)
{
    const kino__attribution *who = &watched->attribution;
    kino__thing *thing = kino__metrics_thing(metrics, &info, key);
    if (!thing)
        return;
    kino__thing_own(thing, watched->process.uid);
    if (thing->is_new) {
        label_process(thing, watched);
        label(thing, "command", who->command);
        label(thing, "user", who->user);
        label(thing, "slurm_job", who->slurm_job);
        label(thing, "account", who->account);
        label(thing, "partition", who->partition);
        label(thing, "pod", who->pod);
        label(thing, "namespace", who->namespace);
        label(thing, "pod_uid", who->pod_uid);
        label(thing, "container", who->container);
        label(thing, "not_known", who->reason);
    }
    kino__thing_gauge(thing, 0, 1);
}

static void show_tree(kino__metrics *metrics, tree *of, const kino__watched *watched)
{
    char key[96];
    int size = snprintf(key, sizeof key, "%d:%llu:%lld:%lld", (int)of->root.pid,
                        (unsigned long long)of->root.start_time, (long long)of->root.job,
                        (long long)of->root.rank);
    kino__thing *thing = kino__metrics_thing(metrics, &process, (kino_str){key, (size_t)size});
    if (!thing)
        return;
    kino__thing_own(thing, watched->process.uid);
    if (thing->is_new)
        label_process(thing, watched);
    kino__thing_count_late(thing, CPU_TIME, of->late_us);
    kino__thing_count_late(thing, MAJOR_FAULTS, of->late_faults);
    kino__thing_count(thing, CPU_TIME, of->cpu_us);
    kino__thing_count(thing, MAJOR_FAULTS, of->faults);
    kino__thing_gauge(thing, RESIDENT, of->rss_pages * metrics->page_bytes);
    kino__thing_gauge(thing, THREADS, of->threads);
    kino__thing_gauge(thing, PROCESSES, of->size);
    show_info(metrics, watched, (kino_str){key, (size_t)size});
}

static void sample_process(void *context, kino__metrics *metrics)
{
    state *self = context;
    follow_changes(self, metrics);
    walk(self, metrics);
    for (size_t i = 0; i < self->trees.count; i++) {
        tree *of = &self->trees.items[i];
        of->late_us = of->late_faults = of->rss_pages = of->threads = of->size = 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < self->members.count; i++) {
        member one = self->members.items[i];
        if (sample_member(self, metrics, &one))
            self->members.items[kept++] = one;
        else
            forget_file(self, &one);
    }
    self->members.count = kept;
    if (self->changes != metrics->watched_changes)
        return; /* out of memory: the trees are those of another list */
    for (size_t i = 0; i < self->trees.count; i++)
        if (!self->trees.items[i].is_gone && self->trees.items[i].size > 0)
            show_tree(metrics, &self->trees.items[i], &metrics->watched[i]);
}

const kino__collector kino__collector_process = {
    .name = "process",
    .help = "registered processes with their descendants (/proc/PID/stat)",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_process,
    .sample = sample_process,
    .close = close_process,
};
