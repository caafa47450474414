/* data_parallel.c - DataParallel on several devices. The plugin's second rule. */
#include "rule/rule.h"

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    if (!p->uses_dp || p->devices.count < 2)
        return;
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_HIGH, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "DataParallel uses several devices from one process");
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "DataParallel.forward on %zu devices",
                      p->devices.count);
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "it copies the model in every step, and all devices share one Python interpreter");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "use DistributedDataParallel, one process per device (torchrun)");
    for (uint32_t row = 0; row < l->trace->event_count; row++) {
        kino_strid name = l->trace->name[row];
        bool is_host = p->type[row] == KINO__EVENT_TYPE_OPERATOR ||
                       p->type[row] == KINO__EVENT_TYPE_ANNOTATION;
        if (is_host && name != KINO_NO_STRING && p->name_flags[name] & KINO__NAME_PARALLEL) {
            kino__finding_cite(f, kino__trace_event_id(l->trace, row));
            break;
        }
    }
}

const kino__rule_def kino__rule_data_parallel = {
    .name = "data-parallel",
    .help = "DataParallel instead of DistributedDataParallel",
    .is_plugins = true,
    .look = look,
};
