/* metrics_attribution.c - who a registered process is: its command, the job it belongs to (Slurm or
 * Kubernetes, from its environment where we may read that), and its cgroups.
 *
 * Read once, when the process registers: a process cannot change what it was started with, and
 * schedulers put it into its cgroup before. */
#include <errno.h>
#include <stdio.h>

#include "base/process_place.h"
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

/* The first of the names that is there wins. Kubernetes tells a pod its name only when its
 * specification says so; these are the names in use. */
typedef struct source {
    size_t offset; /* in kino__attribution */
    const char *names[4];
} source;

static const source sources[] = {
    {offsetof(kino__attribution, slurm_job), {"SLURM_JOB_ID", "SLURM_JOBID", NULL}},
    {offsetof(kino__attribution, user), {"SLURM_JOB_USER", "USER", "LOGNAME", NULL}},
    {offsetof(kino__attribution, account), {"SLURM_JOB_ACCOUNT", NULL}},
    {offsetof(kino__attribution, partition), {"SLURM_JOB_PARTITION", NULL}},
    {offsetof(kino__attribution, pod), {"POD_NAME", "K8S_POD_NAME", "MY_POD_NAME", NULL}},
    {offsetof(kino__attribution, namespace),
     {"POD_NAMESPACE", "K8S_POD_NAMESPACE", "MY_POD_NAMESPACE", NULL}},
};

/* Copies what fits; a value that is cut is better than none. */
static void set(char *field, size_t size, kino_str value)
{
    size_t length = value.size < size ? value.size : size - 1;
    if (length > 0)
        memcpy(field, value.data, length);
    field[length] = '\0';
}

/* In a pod, HOSTNAME is the pod's name unless the specification says otherwise. */
static void guess_pod(kino_str text, kino__attribution *out)
{
    kino_str value;
    if (out->pod[0] == '\0' && kino__parse_environment(text, "KUBERNETES_SERVICE_HOST", &value) &&
        kino__parse_environment(text, "HOSTNAME", &value))
        set(out->pod, sizeof out->pod, value);
}

void kino__attribute_environment(kino_str text, kino__attribution *out)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        kino_str value;
        for (size_t k = 0; sources[i].names[k]; k++)
            if (kino__parse_environment(text, sources[i].names[k], &value) && value.size > 0) {
                set((char *)out + sources[i].offset, KINO__LABEL_SIZE, value);
                break;
            }
    }
    kino__process_place place = kino__process_place_find(kino__process_variable, &text);
    if (place.rank >= 0)
        (void)snprintf(out->rank, sizeof out->rank, "%lld", (long long)place.rank);
    guess_pod(text, out);
}

static kino_str last_part(kino_str path)
{
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;
    if (!slash || slash + 1 == path.data + path.size)
        return path;
    return (kino_str){slash + 1, path.size - (size_t)(slash + 1 - path.data)};
}

/* The arguments are separated by NUL: "python3 train.py" of "/usr/bin/python3 -u x/train.py". */
void kino__attribute_command(kino_str text, kino__attribution *out)
{
    kino_str words[2] = {{NULL, 0}, {NULL, 0}};
    size_t found = 0;
    while (text.size > 0 && found < 2) {
        const char *end = memchr(text.data, '\0', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        if (size > 0 && (found == 0 || text.data[0] != '-'))
            words[found++] = last_part((kino_str){text.data, size});
        text = (kino_str){text.data + size + (end != NULL), text.size - size - (end != NULL)};
    }
    if (found == 0)
        return;
    bool is_script = found == 2 && kino__str_starts_with(words[0], KINO__STR("python"));
    (void)snprintf(out->command, sizeof out->command, "%.*s%s%.*s", KINO__STR_ARG(words[0]),
                   is_script ? " " : "", is_script ? (int)words[1].size : 0,
                   is_script ? words[1].data : "");
}

static bool read_once(kino__metrics *metrics, int32_t pid, const char *name, kino_str *text)
{
    char path[64];
    kino__proc_file file = {0};
    (void)snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    bool is_read =
        kino__proc_open(&file, metrics->proc, path) && kino__proc_read(&file, metrics, text);
    int error = errno;
    kino__proc_close(&file);
    errno = error;
    return is_read;
}

static void set_cgroup(kino_str text, const char *controller, char field[KINO__CGROUP_SIZE])
{
    kino_str path;
    if (kino__parse_cgroup(text, controller, &path) && path.size < KINO__CGROUP_SIZE)
        set(field, KINO__CGROUP_SIZE, path);
}

static void set_cgroups(kino_str text, kino__watched *watched)
{
    set_cgroup(text, "", watched->cgroup_v2);
    set_cgroup(text, "memory", watched->cgroup_memory);
    set_cgroup(text, "cpu", watched->cgroup_cpu);
    set_cgroup(text, "cpuacct", watched->cgroup_cpuacct);
    kino_str container, pod_uid;
    kino__parse_container(text, &container, &pod_uid);
    set(watched->attribution.container, sizeof watched->attribution.container, container);
    set(watched->attribution.pod_uid, sizeof watched->attribution.pod_uid, pod_uid);
}

void kino__attribute(kino__metrics *metrics, kino__watched *watched)
{
    kino__attribution *out = &watched->attribution;
    kino_str text;
    if (read_once(metrics, watched->process.pid, "cmdline", &text))
        kino__attribute_command(text, out);
    if (read_once(metrics, watched->process.pid, "environ", &text))
        kino__attribute_environment(text, out);
    else
        set(out->reason, sizeof out->reason,
            errno == EACCES || errno == EPERM ? KINO__STR("no permission to read its environment")
                                              : KINO__STR("cannot read its environment"));
    if (read_once(metrics, watched->process.pid, "cgroup", &text))
        set_cgroups(text, watched);
}
