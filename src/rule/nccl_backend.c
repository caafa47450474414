/* nccl_backend.c - distributed training on GPUs without NCCL. The plugin's third rule. */
#include "rule/device_facts.h"
#include "rule/rule.h"

enum { T_COMPUTE };

static const kino__threshold thresholds[] = {
    [T_COMPUTE] = {"compute", 3.5, "minimum compute capability for NCCL"},
    {0},
};

/* Traces do not always have the host's calls; the plugin knows only these. */
static bool has_device_collectives(const kino__profile *p)
{
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.items[i].is_communication)
            return true;
    return false;
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    if (!p->uses_ddp || p->saw_nccl || (!l->is_compat && has_device_collectives(p)))
        return;
    for (int64_t device = 0;; device++) {
        int64_t major = kino__device_property(l->trace, device, "computeMajor");
        int64_t minor = kino__device_property(l->trace, device, "computeMinor");
        if (major == KINO_NO_INT)
            return;
        double compute = (double)major + (minor == KINO_NO_INT ? 0 : (double)minor / 10);
        if (compute >= l->thresholds[T_COMPUTE])
            break;
    }
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_HIGH, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "DistributedDataParallel runs without NCCL");
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "%s",
                      p->saw_gloo ? "collectives go through Gloo"
                                  : "there are no NCCL collectives");
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "NCCL communicates directly between devices and overlaps with computation; "
                      "other backends go through the host");
    kino__finding_say(l->out, f, KINO__SAY_DO, "init_process_group(backend=\"nccl\")");
    for (size_t i = 0; i < p->comm.count && i < 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, p->comm.items[i].row));
}

const kino__rule_def kino__rule_nccl_backend = {
    .name = "nccl-backend",
    .help = "distributed training on GPUs with a backend other than NCCL",
    .thresholds = thresholds,
    .is_plugins = true,
    .look = look,
};
