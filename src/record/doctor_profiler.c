/* doctor_profiler.c - kino doctor: who else profiles? Variables that programs started from here
 * inherit, tools that run on this machine, and for --pid what is inside of one process.
 *
 * CUPTI, NVTX, ITT and ROCm have room for one tool in a process: the first one wins, and the
 * other one sees nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "record/doctor.h"

enum { ENVIRONMENT_MOST = 1 << 20 };

typedef struct variable {
    const char *name, *what;
} variable;

static const variable variables[] = {
    {"CUDA_INJECTION64_PATH", "a library in every CUDA program"},
    {"NVTX_INJECTION64_PATH", "a receiver of NVTX ranges"},
    {"INTEL_LIBITTNOTIFY64", "a receiver of ITT tasks"},
    {"INTEL_JIT_PROFILER64", "a receiver of JIT code"},
    {"ROCP_TOOL_LIBRARIES", "a tool in every ROCm program"},
    {"ROCP_TOOL_LIB", "a tool in every ROCm program (old)"},
    {"HSA_TOOLS_LIB", "a tool in every HSA program"},
    {"OPENCL_LAYERS", "a layer in every OpenCL program"},
    {"ZE_ENABLE_TRACING_LAYER", "a tracing layer of Level Zero"},
    {"LD_PRELOAD", "libraries in every program"},
    {"LD_AUDIT", "an auditor in every program"},
};

/* Programs that profile, by the first 15 bytes of their names, as the kernel keeps them. */
static const variable tools[] = {
    {"nsys", "Nsight Systems"},   {"nsys-launcher", "Nsight Systems"},
    {"ncu", "Nsight Compute"},    {"nv-nsight-cu-cl", "Nsight Compute"},
    {"nvprof", "nvprof"},         {"rocprof", "rocprof"},
    {"rocprofv3", "rocprofv3"},   {"rocprof-sys-run", "ROCm Systems Profiler"},
    {"vtune", "VTune"},           {"emon", "VTune"},
    {"amplxe-runss", "VTune"},    {"perf", "perf"},
    {"py-spy", "py-spy"},         {"nv-hostengine", "DCGM"},
    {"AMDuProfCLI", "AMD uProf"}, {"gdb", "gdb"},
    {"strace", "strace"},         {"rr", "rr"},
};

static bool is_ours(const char *value)
{
    return strstr(value, "libkino") != NULL;
}

static void check_variables(kino__doctor *d)
{
    size_t found = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = kino__doctor_variable(variables[i].name);
        if (!value)
            continue;
        found++;
        bool ours = is_ours(value);
        kino__doctor_item item = {.name = "injection", .title = variables[i].name};
        item.state = ours ? KINO__DOCTOR_OK : KINO__DOCTOR_LIMITED;
        item.value = kino__doctor_text(d, "%s", value);
        item.found = kino__doctor_text(
            d, "%.200s: %s%s", value, variables[i].what,
            access(value, R_OK) == 0 || strpbrk(value, ": ") || ours ? "" : ", and no such file");
        item.means = ours ? "Kino's own"
                          : "programs started from here load another tool, which may take "
                            "callbacks away from Kino; kino record takes precedence over it";
        item.fix = ours ? NULL : kino__doctor_text(d, "unset %s", variables[i].name);
        kino__doctor_add(d, &item);
    }
    if (found == 0)
        kino__doctor_add(d, &(kino__doctor_item){.name = "injection",
                                                 .title = "injected libraries",
                                                 .found = "none set in the environment"});
}

static void check_tracer(kino__doctor *d)
{
    char pid[32] = "";
    char path[64], name[64] = "";
    (void)kino__doctor_read_field("/proc/self/status", "TracerPid", pid, sizeof pid);
    kino__doctor_item item = {.name = "tracer", .title = "attached debugger"};
    item.value = kino__doctor_text(d, "%s", pid);
    item.found = "none";
    if (*pid && strcmp(pid, "0") != 0) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
        (void)kino__doctor_read(path, name, sizeof name);
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(d, "process %s (%s) is tracing this one", pid, name);
        item.means = "programs started from here stop at each system call or signal, so their "
                     "times are not representative";
    }
    kino__doctor_add(d, &item);
}

static void check_tools(kino__doctor *d)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t found = 0;
    while (folder && (entry = readdir(folder))) { /* NOLINT(concurrency-mt-unsafe) */
        char path[320], name[64];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        if (!kino__doctor_read(path, name, sizeof name))
            continue;
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
            if (strcmp(tools[i].name, name) != 0)
                continue;
            found++;
            kino__doctor_item item = {.name = "tool", .title = tools[i].what};
            item.state = KINO__DOCTOR_LIMITED;
            item.value = kino__doctor_text(d, "%s", entry->d_name);
            item.found = kino__doctor_text(d, "%s is running as process %s", name, entry->d_name);
            item.means =
                strcmp(tools[i].what, "DCGM") == 0
                    ? "it may hold the GPU counters: kernels are recorded, counters are not"
                    : "Kino cannot fully profile the same programs at the same time";
            item.fix = strcmp(tools[i].what, "DCGM") == 0 ? "dcgmi profstop, or dcgmi profpause"
                                                          : "wait until it finishes";
            kino__doctor_add(d, &item);
        }
    }
    if (folder)
        (void)closedir(folder);
    if (found == 0)
        kino__doctor_add(
            d, &(kino__doctor_item){.name = "tool", .title = "running profilers", .found = "none"});
}

void kino__doctor_look_profiler(kino__doctor *doctor)
{
    check_variables(doctor);
    check_tracer(doctor);
    check_tools(doctor);
}

/* -- one process -- */

typedef struct process {
    int64_t pid;
    kino__buffer environment; /* NAME=VALUE, each with its 0 */
    bool has_environment;
} process;

static void read_environment(process *p)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? 1 : -1;
    while (got > 0 && p->environment.size < ENVIRONMENT_MOST) {
        char *room = kino__buffer_reserve(&p->environment, 65536);
        got = room ? read(fd, room, 65536) : -1;
        p->environment.size += got > 0 ? (size_t)got : 0;
    }
    p->has_environment = got >= 0;
    if (fd >= 0)
        close(fd);
    kino__buffer_add(&p->environment, (kino_str){"", 1});
}

static const char *variable_of(const process *p, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < p->environment.size;) {
        const char *entry = p->environment.data + at;
        size_t size = strnlen(entry, p->environment.size - at);
        if (size > length && strncmp(entry, name, length) == 0 && entry[length] == '=' &&
            entry[length + 1])
            return entry + length + 1;
        at += size + 1;
    }
    return NULL;
}

static void check_process_variables(kino__doctor *d, const process *p)
{
    kino__doctor_item item = {.name = "process-environment", .title = "environment"};
    if (!p->has_environment) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = "this user cannot read it";
        kino__doctor_add(d, &item);
        return;
    }
    size_t found = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = variable_of(p, variables[i].name);
        if (!value)
            continue;
        found++;
        kino__doctor_item one = {.name = "process-injection", .title = variables[i].name};
        one.state = is_ours(value) ? KINO__DOCTOR_OK : KINO__DOCTOR_LIMITED;
        one.value = kino__doctor_text(d, "%s", value);
        one.found = kino__doctor_text(d, "%.200s: %s", value, variables[i].what);
        one.means = is_ours(value) ? "Kino's own" : "another tool was injected into it";
        kino__doctor_add(d, &one);
    }
    const char *daemon = variable_of(p, "KINETO_USE_DAEMON");
    const char *own = variable_of(p, "KINO_USE_DAEMON");
    item.found = found ? "other tools, see above" : "no other tools";
    kino__doctor_add(d, &item);
    kino__doctor_item asks = {.name = "process-daemon", .title = "on-demand traces"};
    asks.state = daemon || own ? KINO__DOCTOR_OK : KINO__DOCTOR_MISSING;
    asks.found =
        daemon || own
            ? kino__doctor_text(d, "%s is set", daemon ? "KINETO_USE_DAEMON" : "KINO_USE_DAEMON")
            : "neither KINETO_USE_DAEMON nor KINO_USE_DAEMON was set when it started";
    asks.means = daemon || own ? "it polls a daemon for requests every few seconds"
                               : "kino trigger cannot reach it unless the program polls on its own";
    asks.fix = daemon || own ? NULL : "start it with KINETO_USE_DAEMON=1";
    kino__doctor_add(d, &asks);
}

/* Libraries of profilers and runtimes among its mapped files. */
static void check_process_libraries(kino__doctor *d, int64_t pid)
{
    static const variable known[] = {
        {"libcupti.so", "CUPTI"},
        {"libcuda.so", "the CUDA driver"},
        {"libToolsInjection", "Nsight Systems"},
        {"libcuda-injection", "Nsight Compute"},
        {"librocprofiler-sdk", "rocprofiler-sdk"},
        {"libamdhip64", "HIP"},
        {"libpti_view", "Intel PTI"},
        {"libze_loader", "Level Zero"},
        {"libOpenCL.so", "OpenCL"},
        {"libittnotify_collector", "VTune"},
        {"libtorch_cpu", "PyTorch"},
        {"libkino", "Kino"},
    };
    char path[64], line[1024], list[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    FILE *file = fopen(path, "re");
    bool seen[sizeof known / sizeof *known] = {false};
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            seen[i] |= strstr(line, known[i].name) != NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t used = strlen(list);
        if (seen[i])
            (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                           known[i].what);
    }
    kino__doctor_item item = {.name = "process-libraries", .title = "libraries"};
    item.state = file ? KINO__DOCTOR_OK : KINO__DOCTOR_UNKNOWN;
    item.value = kino__doctor_text(d, "%s", list);
    item.found = !file   ? "this user cannot read its memory maps"
                 : *list ? item.value
                         : "none belongs to a profiler or an accelerator";
    kino__doctor_add(d, &item);
    if (file)
        (void)fclose(file);
}

kino_status kino__doctor_look_process(kino__doctor *d, int64_t pid, kino_error *err)
{
    char path[64], text[64] = "", name[64] = "";
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/comm", pid);
    if (!kino__doctor_read(path, name, sizeof name))
        return kino__fail(err, KINO_IO, "no such process: %" PRId64, pid);
    d->group = "process";
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
    (void)kino__doctor_read_field(path, "TracerPid", text, sizeof text);
    bool is_traced = *text && strcmp(text, "0") != 0;
    kino__doctor_item item = {.name = "process-tracer", .title = "debugger"};
    item.value = kino__doctor_text(d, "%s", text);
    item.state = is_traced ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_OK;
    item.found = is_traced ? kino__doctor_text(d, "process %s is tracing %s", text, name)
                           : kino__doctor_text(d, "none on %s", name);
    kino__doctor_add(d, &item);
    process p = {.pid = pid};
    read_environment(&p);
    check_process_variables(d, &p);
    kino__buffer_deinit(&p.environment);
    check_process_libraries(d, pid);
    return d->failed ? kino__fail_nomem(err) : KINO_OK;
}
