/* doctor_own.c - kino doctor: are Kino's own parts here, and is PyTorch? (What the daemon is doing
 * is added by the program: this layer does not know the daemon.) */
#include "record/doctor_own.h"

#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "record/environment.h"

enum { PYTHON_TIMEOUT_MS = 8000 };

/* The path of a library of ours: beside the program (a build), in the lib folder beside its bin
 * folder (an installation). NULL: it is in none of them. */
static const char *find_library(kino__doctor *d, const char *name)
{
    static const char *const places[] = {
        "",
        "/../lib",
        "/../lib64",
#if defined(__x86_64__)
        "/../lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
        "/../lib/aarch64-linux-gnu",
#endif
        "/../lib/kino"
    };
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0)
        return NULL;
    program[size] = 0;
    char *slash = strrchr(program, '/');
    if (!slash)
        return NULL;
    *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX + 128], plain[PATH_MAX];
        (void)snprintf(path, sizeof path, "%s%s/%s", program, places[i], name);
        if (access(path, R_OK) == 0 && realpath(path, plain))
            return kino__doctor_text(d, "%s", plain);
    }
    return NULL;
}

static const char *const whole =
    "install all of Kino (cmake --install), or keep the build directory complete";

const char *kino__doctor_inject_library(kino__doctor *d, const char **why)
{
    char path[PATH_MAX];
    kino_error err;
    bool is_there = kino__injection_library(path, sizeof path, &err) == KINO_OK;
    if (why)
        *why = is_there ? NULL : kino__doctor_text(d, "%s", err.message);
    return is_there ? kino__doctor_text(d, "%s", path) : NULL;
}

static void check_inject(kino__doctor *d)
{
    const char *why, *path = kino__doctor_inject_library(d, &why);
    kino__doctor_item item = {.name = "inject", .title = "libkino_inject.so", .value = path};
    item.state = path ? KINO__DOCTOR_OK : KINO__DOCTOR_MISSING;
    item.found = path ? path : why;
    item.means = path ? "kino record can trace unmodified programs"
                      : "kino record can only take samples: no NVTX, ITT, CUDA, ROCm or OpenCL";
    item.fix = path ? NULL : whole;
    kino__doctor_add(d, &item);
}

static void check_recorder(kino__doctor *d)
{
    const char *path = find_library(d, "libkino.so");
    kino__doctor_item item = {.name = "libkino", .title = "libkino.so", .value = path};
    item.state = path ? KINO__DOCTOR_OK : KINO__DOCTOR_MISSING;
    item.found = path ? path : "not found beside the kino program or in its lib directory";
    item.means = path ? "programs can be linked with the recorder"
                      : "programs cannot be linked with the recorder; kino record does not need it";
    item.fix = path ? NULL : whole;
    kino__doctor_add(d, &item);
}

/* -- PyTorch -- */

enum { TORCH_STATUS };

static void look_at_torch(kino__probe_result *r, void *context)
{
    static const char script[] = "import importlib.metadata as m, sys\n"
                                 "print(sys.executable)\n"
                                 "print(m.version('torch'))\n";
    char *const arguments[] = {"python3", "-c", (char *)(uintptr_t)script, NULL};
    int ends[2];
    (void)context;
    r->numbers[TORCH_STATUS] = -1;
    kino__probe_stage(r, "python3");
    if (pipe(ends) != 0) /* NOLINT(android-cloexec-pipe): the child of this child needs it */
        return;
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclose(&actions, ends[0]);
    pid_t child;
    int failed = posix_spawnp(&child, "python3", &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed)
        return;
    FILE *answer = fdopen(ends[0], "r");
    for (size_t i = 0; answer && i < 2; i++)
        if (fgets(r->texts[i], KINO__PROBE_TEXT, answer))
            r->texts[i][strcspn(r->texts[i], "\n")] = 0;
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status))
        r->numbers[TORCH_STATUS] = WEXITSTATUS(status);
}

/* "2.13.0+cpu": before 2.7 processes did not always register. */
static bool is_old_torch(const char *version)
{
    int major = 0, minor = 0; /* NOLINTNEXTLINE(cert-err34-c): nothing read is "old" */
    (void)sscanf(version, "%d.%d", &major, &minor);
    return major < 2 || (major == 2 && minor < 7);
}

static void check_torch(kino__doctor *d)
{
    kino__probe probe;
    kino__probe_run(&probe, look_at_torch, NULL, PYTHON_TIMEOUT_MS);
    kino__doctor_item item = {.name = "torch", .title = "PyTorch"};
    const kino__probe_result *r = &probe.result;
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, PYTHON_TIMEOUT_MS);
    } else if (r->numbers[TORCH_STATUS] < 0 || !r->texts[0][0]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = "no working python3";
        item.means = "not needed: PyTorch programs are traced by the Python that runs them";
    } else if (r->numbers[TORCH_STATUS] != 0) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = kino__doctor_text(d, "torch is not installed for %s", r->texts[0]);
        item.means = "only this python3 was checked; others may have it";
        item.fix = "run kino doctor in your training environment";
    } else {
        bool is_old = is_old_torch(r->texts[1]);
        item.state = is_old ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_OK;
        item.value = kino__doctor_text(d, "%s", r->texts[1]);
        item.found = kino__doctor_text(d, "%s in %s", r->texts[1], r->texts[0]);
        item.means =
            is_old ? "some versions before 2.7 crash or do not register with a daemon"
                   : "programs started with KINETO_USE_DAEMON=1 can be traced with kino trigger";
        item.fix = is_old ? "use PyTorch 2.7 or later" : NULL;
    }
    kino__doctor_add(d, &item);
}

void kino__doctor_look_kino(kino__doctor *doctor)
{
    check_inject(doctor);
    check_recorder(doctor);
    check_torch(doctor);
}
