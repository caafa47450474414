/* doctor_system.c - kino doctor: where this runs, and what it may do: containers, permissions, room
 * for buffers, limits. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "record/doctor.h"

/* Inodes of the namespaces that the system began with (include/linux/proc_ns.h). */
#define FIRST_USER_NAMESPACE 0xEFFFFFFDul
#define FIRST_PID_NAMESPACE  0xEFFFFFFCul

enum { CAP_SYS_PTRACE_BIT = 19, CAP_SYS_ADMIN_BIT = 21, CAP_PERFMON_BIT = 38 };
enum { FILES_WANTED = 1024, TRY_BYTES = 1 << 20 };

/* The recorder keeps 64 MiB a process unless it is told otherwise; eight ranks are usual. */
static const uint64_t usual_budget = UINT64_C(64) << 20;

static uint64_t capabilities(void)
{
    char text[64];
    return kino__doctor_read_field("/proc/self/status", "CapEff", text, sizeof text)
               ? strtoull(text, NULL, 16)
               : 0;
}

static bool has_capability(unsigned bit)
{
    return capabilities() >> bit & 1;
}

/* -- containers -- */

static bool is_first_namespace(const char *path, unsigned long inode)
{
    struct stat info;
    return stat(path, &info) != 0 || info.st_ino == inode;
}

/* What says that this is a container; NULL: nothing does. */
static const char *container_sign(void)
{
    if (access("/.dockerenv", F_OK) == 0)
        return "/.dockerenv";
    if (access("/run/.containerenv", F_OK) == 0)
        return "/run/.containerenv";
    if (kino__doctor_variable("KUBERNETES_SERVICE_HOST"))
        return "KUBERNETES_SERVICE_HOST";
    if (kino__doctor_variable("SINGULARITY_CONTAINER") ||
        kino__doctor_variable("APPTAINER_CONTAINER"))
        return "APPTAINER_CONTAINER";
    if (kino__doctor_variable("container"))
        return "the variable 'container'";
    return NULL;
}

static void check_container(kino__doctor *d)
{
    const char *sign = container_sign();
    bool own_pids = !is_first_namespace("/proc/self/ns/pid", FIRST_PID_NAMESPACE);
    bool own_users = !is_first_namespace("/proc/self/ns/user", FIRST_USER_NAMESPACE);
    kino__doctor_item item = {.name = "container", .title = "container"};
    item.value = sign || own_pids || own_users ? "yes" : "no";
    if (own_pids || own_users) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found =
            kino__doctor_text(d, "yes%s%s%s, with its own process IDs%s", sign ? " (" : "",
                              sign ? sign : "", sign ? ")" : "", own_users ? " and user IDs" : "");
        item.means = "a daemon on the host sees different process IDs and is reachable only "
                     "through a shared socket directory";
        item.fix = "mount a shared directory and set KINETO_IPC_SOCKET_DIR on both sides, or run "
                   "with --pid host --network host";
    } else if (sign) {
        item.found = kino__doctor_text(d, "yes (%s), with the host's process IDs", sign);
    } else {
        item.found = "none";
    }
    kino__doctor_add(d, &item);
}

static void check_seccomp(kino__doctor *d)
{
    char mode[32] = "";
    kino__doctor_item item = {.name = "seccomp", .title = "system call filter"};
    if (!kino__doctor_read_field("/proc/self/status", "Seccomp", mode, sizeof mode)) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = "not reported by the kernel";
    } else if (strcmp(mode, "0") == 0) {
        item.value = "0";
        item.found = "none";
    } else {
        item.value = kino__doctor_text(d, "%s", mode);
        item.state = KINO__DOCTOR_LIMITED;
        item.found = "a seccomp filter is active";
        item.means =
            "it may block perf_event_open and ptrace; the CPU sampling items show what is allowed";
        item.fix = "if something is blocked: docker run --security-opt seccomp=PROFILE, with "
                   "perf_event_open allowed";
    }
    kino__doctor_add(d, &item);
}

/* -- permissions -- */

static void check_privileges(kino__doctor *d)
{
    static const struct {
        unsigned bit;
        const char *name;
    } known[] = {{CAP_PERFMON_BIT, "CAP_PERFMON"},
                 {CAP_SYS_PTRACE_BIT, "CAP_SYS_PTRACE"},
                 {CAP_SYS_ADMIN_BIT, "CAP_SYS_ADMIN"}};
    char list[128] = "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_capability(known[i].bit)) {
            size_t used = strlen(list);
            (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                           known[i].name);
        }
    kino__doctor_item item = {.name = "privileges", .title = "privileges"};
    item.value = kino__doctor_text(d, "%s", list);
    item.found =
        *list ? kino__doctor_text(d, "user %u, with %s", (unsigned)geteuid(), list)
              : kino__doctor_text(d, "user %u, no relevant capabilities", (unsigned)geteuid());
    item.means = *list ? "programs of other users can be inspected, too"
                       : "your own programs can be recorded, which is usually enough";
    kino__doctor_add(d, &item);
}

static void check_ptrace(kino__doctor *d)
{
    static const char *const meanings[] = {
        "users may trace their own programs", "programs may trace only their children",
        "only administrators may trace", "tracing is disabled until the next boot"};
    int64_t level = 0;
    bool has_yama = kino__doctor_read_int("/proc/sys/kernel/yama/ptrace_scope", &level);
    kino__doctor_item item = {.name = "ptrace", .title = "kernel.yama.ptrace_scope"};
    if (!has_yama) {
        item.value = "0";
        item.found = "this kernel has no Yama: the standard user permissions apply";
        kino__doctor_add(d, &item);
        return;
    }
    size_t index = level < 0 ? 0 : level > 3 ? 3 : (size_t)level;
    item.value = kino__doctor_text(d, "%" PRId64, level);
    item.found = kino__doctor_text(d, "%" PRId64 ": %s", level, meanings[index]);
    if (level >= 1 && !has_capability(CAP_SYS_PTRACE_BIT)) {
        item.state = level > 1 ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_OK;
        item.means = "kino record starts its programs itself and needs nothing more; kino doctor "
                     "--pid may see little of a running process";
        item.fix = level > 1 ? "sudo sysctl kernel.yama.ptrace_scope=1" : NULL;
    }
    kino__doctor_add(d, &item);
}

/* -- room -- */

/* Writes a file into a folder and removes it; 0, or errno. */
static int try_folder(const char *folder)
{
    char path[512];
    static const char page[4096] = {1};
    (void)snprintf(path, sizeof path, "%s/kino-doctor-XXXXXX", folder);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = posix_fallocate(fd, 0, TRY_BYTES);
    if (!error && pwrite(fd, page, sizeof page, TRY_BYTES - (off_t)sizeof page) != sizeof page)
        error = errno ? errno : EIO;
    (void)unlink(path);
    close(fd);
    return error;
}

static void check_folder(kino__doctor *d, const char *name, const char *title, const char *folder,
                         uint64_t wanted, const char *means)
{
    struct statvfs room = {0};
    int error = try_folder(folder);
    kino__doctor_item item = {.name = name, .title = title};
    uint64_t free_bytes = statvfs(folder, &room) == 0 ? (uint64_t)room.f_bavail * room.f_frsize : 0;
    item.value = kino__doctor_text(d, "%" PRIu64, free_bytes);
    if (error) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = kino__doctor_text(d, "%s: %s", folder,
                                       error == ENOENT   ? "does not exist"
                                       : error == EACCES ? "not writable by this user"
                                       : error == EROFS  ? "read-only"
                                       : error == ENOSPC || error == EDQUOT ? "full"
                                                                            : "not writable");
        item.means = means;
        item.fix = kino__doctor_text(
            d, "mount %s or free space on it, or set KINO_DIR to another directory", folder);
    } else if (free_bytes < wanted) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found =
            kino__doctor_text(d, "%s has %s free", folder, kino__doctor_bytes(d, free_bytes));
        item.means = kino__doctor_text(d, "a recording uses %s per process",
                                       kino__doctor_bytes(d, usual_budget));
        item.fix = strcmp(folder, "/dev/shm") == 0
                       ? "docker run --shm-size 4g, or sudo mount -o remount,size=4g /dev/shm, or "
                         "set KINO_DIR"
                       : "free some space, or set KINO_DIR to another directory";
    } else {
        item.found = kino__doctor_text(d, "%s is writable, %s free", folder,
                                       kino__doctor_bytes(d, free_bytes));
    }
    kino__doctor_add(d, &item);
}

static void check_room(kino__doctor *d)
{
    const char *own = kino__doctor_variable("KINO_DIR");
    if (own)
        check_folder(d, "buffer-folder", "buffers (KINO_DIR)", own, usual_budget * 8,
                     "the recorder cannot create its buffers there and records nothing");
    check_folder(d, "dev-shm", "buffers (/dev/shm)", "/dev/shm", usual_budget * 8,
                 "the recorder puts its buffers in /tmp, which may be slower");
    const char *temp = kino__doctor_variable("TMPDIR");
    check_folder(
        d, "tmp", "temporary files", temp ? temp : "/tmp", usual_budget * 8,
        "kino record cannot create its work directory, and PyTorch cannot write on-demand traces");
}

/* The limit that a file of a control group holds; UINT64_MAX: none. */
static uint64_t limit_in(const char *path)
{
    char text[64];
    if (!kino__doctor_read(path, text, sizeof text) || text[0] == 'm') /* "max" */
        return UINT64_MAX;
    uint64_t limit = strtoull(text, NULL, 10);
    return limit < UINT64_C(1) << 60 ? limit : UINT64_MAX; /* v1 says "none" by a huge number */
}

/* The smallest limit of a group and its parents; `line` is one of /proc/self/cgroup. */
static uint64_t limit_of_group(char *line)
{
    bool is_unified = strncmp(line, "0::", 3) == 0;
    char *path = is_unified ? line + 3 : strstr(line, ":memory:");
    uint64_t least = UINT64_MAX;
    if (!path)
        return least;
    path += is_unified ? 0 : sizeof ":memory:" - 1;
    path[strcspn(path, "\n")] = 0;
    for (;;) {
        char name[640];
        (void)snprintf(name, sizeof name, "/sys/fs/cgroup%s%s/%s", is_unified ? "" : "/memory",
                       path, is_unified ? "memory.max" : "memory.limit_in_bytes");
        uint64_t limit = limit_in(name);
        least = limit < least ? limit : least;
        char *slash = strrchr(path, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

static uint64_t group_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[512];
    uint64_t least = UINT64_MAX;
    while (file && fgets(line, sizeof line, file)) {
        uint64_t limit = limit_of_group(line);
        least = limit < least ? limit : least;
    }
    if (file)
        (void)fclose(file);
    return least;
}

static void check_memory(kino__doctor *d)
{
    char text[64];
    uint64_t free_bytes =
        kino__doctor_read_field("/proc/meminfo", "MemAvailable", text, sizeof text)
            ? strtoull(text, NULL, 10) * 1024
            : 0;
    uint64_t limit = group_limit();
    kino__doctor_item item = {.name = "memory", .title = "memory"};
    item.value = kino__doctor_text(d, "%" PRIu64, free_bytes);
    item.found = kino__doctor_text(d, "%s available%s%s", kino__doctor_bytes(d, free_bytes),
                                   limit == UINT64_MAX ? "" : "; limit of this control group: ",
                                   limit == UINT64_MAX ? "" : kino__doctor_bytes(d, limit));
    uint64_t least = limit < free_bytes ? limit : free_bytes;
    if (least < usual_budget * 8) {
        item.state = KINO__DOCTOR_LIMITED;
        item.means = kino__doctor_text(d, "not enough for the buffers of eight processes (%s each)",
                                       kino__doctor_bytes(d, usual_budget));
        item.fix = "record with a smaller --buffer, or give the container more memory";
    }
    kino__doctor_add(d, &item);
}

static void check_files(kino__doctor *d)
{
    struct rlimit files = {0};
    (void)getrlimit(RLIMIT_NOFILE, &files);
    kino__doctor_item item = {.name = "open-files", .title = "open files (ulimit -n)"};
    item.value = kino__doctor_text(d, "%" PRIu64, (uint64_t)files.rlim_cur);
    item.found = kino__doctor_text(d, "at most %" PRIu64, (uint64_t)files.rlim_cur);
    if (files.rlim_cur < FILES_WANTED) {
        item.state = KINO__DOCTOR_LIMITED;
        item.means = "sampling needs one descriptor per processor and event";
        item.fix = "ulimit -n 4096";
    }
    kino__doctor_add(d, &item);
}

void kino__doctor_look_system(kino__doctor *doctor)
{
    check_container(doctor);
    check_seccomp(doctor);
    check_privileges(doctor);
    check_ptrace(doctor);
    check_room(doctor);
    check_memory(doctor);
    check_files(doctor);
}
