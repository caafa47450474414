/* daemon_load.c - what kino daemon costs, and how quickly it answers.
 *
 *   bench_daemon_load KINO [--processes N] [--endpoints N] [--interval MS] [--seconds N] [--folder]
 *
 * Starts the daemon, leaves it alone with a sample of the machine every second (idle), then lets
 * real processes poll it, each with many endpoints, every endpoint once an interval, at times
 * spread evenly; after a first round that registers all, it measures. Prints one line of JSON:
 *   idle_cpu_percent, idle_anon_kb, idle_rss_kb
 *   endpoints, polls, lost (no answer within 90 ms), cpu_percent of one core, anon_kb
 *   reply_p50_us, reply_p99_us: in the daemon, from the kernel's receiving to having sent; upper
 *       bounds (powers of two)
 *   trip_p50_us, trip_p99_us: as a client sees it, its own waking up included */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "bench.h"

enum {
    CLASSES = 4096,
    CLASS_US = 4,
    PROCESSES_MAX = 2000,
    ENDPOINTS_MAX = 1000,
    REPLY_CLASSES = 32
};

typedef struct options {
    const char *kino;
    bool in_folder;
    unsigned processes, endpoints, interval_ms, seconds;
} options;

/* In memory that all processes share. */
typedef struct shared {
    uint32_t is_measuring, is_over; /* atomic */
    uint64_t polls, lost, registered;
    uint64_t trips[CLASSES]; /* by CLASS_US; the last: all longer */
} shared;

static char folder[32];
static bool is_abstract; /* where nobody has the name yet; else in the folder, which costs more */

static socklen_t make_name(struct sockaddr_un *out, const char *name)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t start = offsetof(struct sockaddr_un, sun_path);
    if (!is_abstract)
        return (socklen_t)(start + 1 +
                           (size_t)snprintf(out->sun_path, sizeof out->sun_path, "%s/%s", folder,
                                            name));
    return (socklen_t)(start + 2 +
                       (size_t)snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "%s", name));
}

static bool is_free(void)
{
    struct sockaddr_un name;
    is_abstract = true;
    socklen_t size = make_name(&name, "dynolog");
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_bound = bind(fd, (struct sockaddr *)&name, size) == 0;
    close(fd);
    return is_bound;
}

static void sleep_s(double seconds)
{
    struct timespec wait = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&wait, &wait) < 0)
        ;
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static pid_t start_daemon(const char *kino)
{
    char path[96], log[96];
    snprintf(path, sizeof path, "%s/rpc.sock", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    char *arguments[] = {(char *)(uintptr_t)kino,
                         "daemon",
                         "--socket",
                         path,
                         "--socket-dir",
                         folder,
                         "--abstract",
                         is_abstract ? "yes" : "no",
                         "--port",
                         "none",
                         "--metrics-address",
                         "127.0.0.1:0",
                         "--log-level",
                         "warning",
                         NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (posix_spawnp(&pid, kino, &actions, NULL, arguments, environ) != 0)
        bench_die("cannot start", kino);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < 500; i++) {
        snprintf(path, sizeof path, "%s/dynolog", folder);
        if (access(path, F_OK) == 0)
            return pid;
        if (waitpid(pid, NULL, WNOHANG) == pid)
            bench_die("the daemon ended; see", log);
        sleep_s(0.01);
    }
    bench_die("the daemon does not listen in", folder);
}

/* Nanoseconds of processor time, all threads. */
static uint64_t cpu_ns(pid_t pid)
{
    char path[64], text[64];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *e; tasks && (e = readdir(tasks));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.12s/schedstat", pid, e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        if (size > 0) {
            text[size] = 0;
            sum += strtoull(text, NULL, 10);
        }
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static uint64_t status_kb(pid_t pid, const char *name)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = 0;
    return bench_status_field(text, name) / 1024;
}

/* What the daemon counts, as it answers: JSON. */
typedef struct statistics {
    char text[4096];
} statistics;

static void ask_statistics(statistics *out)
{
    static const char question[] = "{\"fn\":\"getStatistics\"}";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uint32_t size = sizeof question - 1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/rpc.sock", folder);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, &size, 4, MSG_NOSIGNAL) != 4 ||
        send(fd, question, size, MSG_NOSIGNAL) != (ssize_t)size ||
        recv(fd, &size, 4, MSG_WAITALL) != 4 || size >= sizeof out->text ||
        recv(fd, out->text, size, MSG_WAITALL) != (ssize_t)size)
        bench_die("cannot ask", address.sun_path);
    out->text[size] = 0;
    close(fd);
}

static const char *find_statistic(const statistics *all, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(all->text, key);
    if (!at)
        bench_die("the daemon does not count", name);
    return at + strlen(key);
}

/* The time in us that this part of the answers between two moments did not exceed: a power of two.
 */
static unsigned long reply_us(const statistics *before, const statistics *after, double part)
{
    const char *at[2] = {find_statistic(before, "replies_below_us"),
                         find_statistic(after, "replies_below_us")};
    uint64_t counts[REPLY_CLASSES], all = 0, sum = 0;
    for (size_t i = 0; i < REPLY_CLASSES; i++) {
        uint64_t count[2];
        for (int k = 0; k < 2; k++) {
            char *end;
            count[k] = strtoull(at[k] + 1, &end, 10); /* behind "[" or "," */
            at[k] = end;
        }
        all += counts[i] = count[1] - count[0];
    }
    for (size_t i = 0; i < REPLY_CLASSES; i++)
        if ((double)(sum += counts[i]) >= (double)all * part)
            return 1ul << i;
    return 0;
}

/* ---- a process with endpoints ---------------------------------------------------------------- */

/* A random name, as libkineto has it: the kernel finds sockets by a weak hash of their names, and
 * counted ones would all be in one place. */
static int open_endpoint(void)
{
    struct sockaddr_un own;
    char name[64];
    uint32_t r[4];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (getrandom(r, sizeof r, 0) != sizeof r)
        bench_die("cannot make", "a name");
    snprintf(name, sizeof name, "dynoconfigclient%08x-%04x-4%03x-8%03x-%08x%04x", r[0], r[1] >> 16,
             r[1] & 0xfff, r[2] >> 20, r[3], r[2] & 0xffff);
    socklen_t size = make_name(&own, name);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, size) < 0)
        bench_die("cannot make", name);
    return fd;
}

static double poll_once(int fd, bool *is_lost)
{
    struct sockaddr_un daemon;
    socklen_t size = make_name(&daemon, "dynolog");
    unsigned char message[64] = {24, [8] = 'r', 'e', 'q', [40] = 2, [44] = 2};
    int32_t pids[2] = {getpid(), getppid()};
    char answer[4096];
    memcpy(message + 56, pids, sizeof pids);
    double start = bench_wall();
    struct pollfd ready = {fd, POLLIN, 0};
    *is_lost = sendto(fd, message, sizeof message, 0, (struct sockaddr *)&daemon, size) < 0 ||
               poll(&ready, 1, 90) != 1 || recv(fd, answer, sizeof answer, MSG_DONTWAIT) != 40;
    return bench_wall() - start;
}

static void run_process(const options *o, shared *s, unsigned index)
{
    static int fds[ENDPOINTS_MAX];
    static double due[ENDPOINTS_MAX];
    double interval = o->interval_ms * 1e-3;
    unsigned all = o->processes * o->endpoints;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < o->endpoints; i++)
        fds[i] = open_endpoint();
    /* Endpoint k of all polls at k / all of the interval; neighbours are of other processes. */
    double begin = bench_wall();
    for (unsigned i = 0; i < o->endpoints; i++)
        due[i] = begin + interval * (i * o->processes + index) / all;
    for (unsigned i = 0; !__atomic_load_n(&s->is_over, __ATOMIC_RELAXED);
         i = (i + 1) % o->endpoints) {
        bool is_lost;
        double left = due[i] - bench_wall();
        if (left > 0)
            sleep_s(left);
        bool is_measured = __atomic_load_n(&s->is_measuring, __ATOMIC_RELAXED);
        double trip = poll_once(fds[i], &is_lost);
        due[i] += interval;
        __atomic_fetch_add(&s->registered, 1, __ATOMIC_RELAXED);
        if (!is_measured)
            continue;
        unsigned class = (unsigned)(trip * 1e6 / CLASS_US);
        __atomic_fetch_add(&s->trips[class < CLASSES ? class : CLASSES - 1], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->polls, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->lost, is_lost, __ATOMIC_RELAXED);
    }
    _exit(0);
}

static unsigned percentile_us(const shared *s, double part)
{
    uint64_t sum = 0, want = (uint64_t)((double)s->polls * part);
    for (unsigned i = 0; i < CLASSES; i++) {
        sum += s->trips[i];
        if (sum > want)
            return (i + 1) * CLASS_US;
    }
    return CLASSES * CLASS_US;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static options parse(int argc, char **argv)
{
    options o = {NULL, false, 200, 50, 5000, 10};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        unsigned *number = strcmp(argv[i], "--processes") == 0   ? &o.processes
                           : strcmp(argv[i], "--endpoints") == 0 ? &o.endpoints
                           : strcmp(argv[i], "--interval") == 0  ? &o.interval_ms
                           : strcmp(argv[i], "--seconds") == 0   ? &o.seconds
                                                                 : NULL;
        if (strcmp(argv[i], "--folder") == 0) {
            o.in_folder = true;
        } else if (number) {
            *number = bench_number(value, 100000);
            i++;
        } else if (!o.kino) {
            o.kino = argv[i];
        } else {
            bench_die("unknown argument", argv[i]);
        }
    }
    if (!o.kino || o.processes == 0 || o.processes > PROCESSES_MAX || o.endpoints == 0 ||
        o.endpoints > ENDPOINTS_MAX)
        bench_die("usage: KINO [--processes N] [--endpoints N] [--interval MS] [--seconds N];",
                  o.kino ? "numbers out of range" : "no program given");
    return o;
}

static void clean_up(void)
{
    char path[400];
    DIR *all = opendir(folder);
    for (struct dirent *e; all && (e = readdir(all));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    if (all)
        closedir(all);
    rmdir(folder);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    static pid_t children[PROCESSES_MAX];
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(folder, sizeof folder, "/tmp/kino-bench-XXXXXX");
    if (s == MAP_FAILED || !mkdtemp(folder))
        bench_die("cannot make", folder);
    is_abstract = !o.in_folder && is_free();
    pid_t daemon = start_daemon(o.kino);
    sleep_s(2); /* it has started */
    uint64_t cpu = cpu_ns(daemon);
    double start = bench_wall();
    sleep_s(o.seconds);
    double idle = (double)(cpu_ns(daemon) - cpu) * 1e-7 / (bench_wall() - start);
    uint64_t idle_anon = status_kb(daemon, "\nRssAnon:"), idle_rss = status_kb(daemon, "\nVmRSS:");
    for (unsigned i = 0; i < o.processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            run_process(&o, s, i);
    }
    static statistics before, after;
    sleep_s(o.interval_ms * 1.2e-3 + 1); /* all are registered */
    ask_statistics(&before);
    cpu = cpu_ns(daemon);
    start = bench_wall();
    __atomic_store_n(&s->is_measuring, 1, __ATOMIC_RELAXED);
    sleep_s(o.seconds);
    __atomic_store_n(&s->is_measuring, 0, __ATOMIC_RELAXED);
    double busy = (double)(cpu_ns(daemon) - cpu) * 1e-7 / (bench_wall() - start);
    ask_statistics(&after);
    printf(
        "{\"idle_cpu_percent\": %.3f, \"idle_anon_kb\": %llu, \"idle_rss_kb\": %llu, "
        "\"endpoints\": %lu, \"processes\": %lu, \"polls\": %llu, \"lost\": %llu, "
        "\"cpu_percent\": %.3f, \"anon_kb\": %llu, \"reply_p50_us\": %lu, \"reply_p99_us\": %lu, "
        "\"trip_p50_us\": %u, \"trip_p99_us\": %u}\n",
        idle, (unsigned long long)idle_anon, (unsigned long long)idle_rss,
        strtoul(find_statistic(&after, "endpoints"), NULL, 10),
        strtoul(find_statistic(&after, "processes"), NULL, 10), (unsigned long long)s->polls,
        (unsigned long long)s->lost, busy, (unsigned long long)status_kb(daemon, "\nRssAnon:"),
        reply_us(&before, &after, 0.5), reply_us(&before, &after, 0.99), percentile_us(s, 0.5),
        percentile_us(s, 0.99));
    for (unsigned i = 0; i < o.processes; i++)
        kill(children[i], SIGKILL);
    kill(daemon, SIGTERM);
    while (wait(NULL) > 0)
        ;
    clean_up();
    return 0;
}
