/* kernel_kinds.c - see the header. */
#include "rule/kernel_kinds.h"

#include <stdio.h>
#include <stdlib.h>

/* Of each string as the name of a kernel; NULL when memory is out. The caller frees it. */
static uint8_t *kinds_of_names(const kino__trace *trace)
{
    size_t strings = kino__string_pool_count(&trace->strings);
    uint8_t *kinds = malloc(strings + 1);
    for (kino_strid id = 0; kinds && id < strings; id++)
        kinds[id] = (uint8_t)kino__kernel_kind_of(kino__trace_string(trace, id));
    return kinds;
}

void kino__shares_add(kino__shares *shares, kino_strid name, int64_t time)
{
    size_t i = 0;
    shares->total = kino__sum(shares->total, time);
    while (i < shares->count && shares->items[i].name != name)
        i++;
    if (i == KINO__SHARES_MAX)
        return;
    if (i == shares->count) {
        shares->items[i].name = name;
        shares->items[i].time = 0;
        shares->count++;
    }
    shares->items[i].time = kino__sum(shares->items[i].time, time);
}

const char *kino__shares_say(kino__shares *shares, const kino__trace *trace, char *text,
                             size_t size)
{
    enum { SAID = 3 };
    size_t used = 0;
    text[0] = 0;
    for (int n = 0; n < SAID && shares->total > 0; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < shares->count; i++)
            if (shares->items[i].time > 0 &&
                (best == SIZE_MAX || shares->items[i].time > shares->items[best].time))
                best = i;
        if (best == SIZE_MAX || used >= size ||
            (n > 0 && shares->items[best].time < shares->total / 20))
            break;
        kino_str name = shares->items[best].name == KINO_NO_STRING
                            ? KINO__STR("no operator")
                            : kino__trace_string(trace, shares->items[best].name);
        int more = snprintf(text + used, size - used, "%s%.*s %.0f %%", n ? ", " : "",
                            (int)kino__cut(name, 60), name.data,
                            100.0 * (double)shares->items[best].time / (double)shares->total);
        used += more > 0 ? (size_t)more : 0;
        shares->items[best].time = 0;
    }
    return text;
}

static void add_kernel(const kino__rule_look *l, const kino__kernel_info *k, int64_t time,
                       kino__kernel_sum *sum)
{
    const kino__profile *p = l->profile;
    if (!kino__scan_add_span(l->scan, kino__scan_interval(l->scan, k->row), &sum->list))
        l->out->failed = true;
    sum->count++;
    kino__top_add(&sum->top, time, k->row);
    kino__shares_add(&sum->ops,
                     k->node == KINO__NO_NODE ? KINO_NO_STRING
                                              : kino__node_name_id(p, &p->nodes.items[k->node]),
                     time);
}

void kino__kernels_sum(const kino__rule_look *l, kino__kernel_see see, void *context,
                       kino__kernel_sum *out)
{
    const kino__profile *p = l->profile;
    *out = (kino__kernel_sum){0};
    if (!p->has_kernel || p->steps.count == 0 || !kino__program_is_torch(l->program))
        return;
    uint8_t *kinds = kinds_of_names(l->trace);
    l->out->failed |= !kinds;
    for (size_t i = 0; kinds && i < p->kernels.count; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        int64_t time = kino__scan_in_steps(l->scan, kino__scan_interval(l->scan, k->row));
        if (k->is_communication || time == 0)
            continue;
        out->all = kino__sum(out->all, time);
        kino_strid name = l->trace->name[k->row];
        if (see(context, k, name == KINO_NO_STRING ? KINO__KERNEL_KIND_OTHER : kinds[name], time))
            add_kernel(l, k, time, out);
    }
    free(kinds);
    (void)kino__scan_unite(&out->list);
}

bool kino__kernels_matter(const kino__rule_look *l, const kino__kernel_sum *sum, double device,
                          double share)
{
    return kino__is_above(sum->ops.total, sum->all, device) &&
           kino__is_above(kino__intervals_total(sum->list.items, sum->list.count),
                          l->facts->step_time, share);
}

void kino__kernels_cite(const kino__rule_look *l, kino__finding *f, const kino__kernel_sum *sum)
{
    kino__finding_claim_list(l->out, f, &sum->list);
    for (size_t i = 0; i < sum->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)sum->top.index[i]));
}
