/* costly_collective.c - the collective that costs most: kernels by the name of their call. */
#include "rule/costly_collective.h"

#include <stdio.h>
#include <string.h>

#include "names/communication.h"

enum { NAMES_MAX = 64 }; /* the last one takes what does not fit */

/* The kernel that carries it out; where there is none (gloo, mpi) the span of the host. */
static kino__interval span_of(const kino__scan *scan, const kino__comm_record *record)
{
    return kino__scan_interval(scan, record->kernel != KINO_NO_ROW ? record->kernel : record->row);
}

static int64_t exposed_of(const kino__scan *scan, kino__interval span)
{
    return kino__cover_within(&scan->communication, span.start, span.end);
}

/* Calls of one name may overlap, on several streams or threads: their time counts once. */
static bool unite(const kino__scan *scan, kino_strid name, kino__intervals *out)
{
    const kino__profile *p = scan->profile;
    for (size_t i = 0; i < p->comm.count; i++) {
        const kino__comm_record *record = &p->comm.items[i];
        kino__interval *slot = record->name == name ? kino__vec_add(out) : NULL;
        if (slot)
            *slot = span_of(scan, record);
        else if (record->name == name)
            return false;
    }
    kino__intervals_sort(out->items, out->count);
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

static bool set_time(const kino__scan *scan, kino__costly_collective *c)
{
    kino__intervals all = {0};
    bool ok = unite(scan, c->name, &all);
    c->time = c->exposed = 0;
    for (size_t i = 0; i < all.count; i++) {
        c->time += kino__scan_in_steps(scan, all.items[i]);
        c->exposed += exposed_of(scan, all.items[i]);
    }
    kino__vec_deinit(&all);
    return ok;
}

bool kino__collective_worst(const kino__scan *scan, kino__costly_collective *worst)
{
    const kino__profile *p = scan->profile;
    kino__costly_collective all[NAMES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->comm.count; i++) {
        const kino__comm_record *record = &p->comm.items[i];
        kino__interval span = span_of(scan, record);
        int64_t exposed = exposed_of(scan, span);
        if (kino__scan_in_steps(scan, span) == 0)
            continue;
        size_t at = 0;
        while (at < count && all[at].name != record->name)
            at++;
        if (at == count && count < NAMES_MAX)
            all[count++] = (kino__costly_collective){.name = record->name};
        kino__costly_collective *c = &all[at < count ? at : count - 1];
        c->count++;
        c->exposed = kino__sum(c->exposed, exposed);
        kino__top_add(&c->top, exposed,
                      record->kernel != KINO_NO_ROW ? record->kernel : record->row);
    }
    const kino__costly_collective *best = count ? &all[0] : NULL;
    for (size_t i = 1; i < count; i++)
        best = all[i].exposed > best->exposed ? &all[i] : best;
    if (!best || best->exposed <= 0)
        return false;
    *worst = *best;
    return set_time(scan, worst);
}

const char *kino__collective_say(const kino__rule_look *l,
                                 const kino__costly_collective *collective, char *text, size_t size)
{
    kino_str name = collective->name == KINO_NO_STRING
                        ? KINO__STR("collective")
                        : kino__trace_string(l->trace, collective->name);
    (void)snprintf(text, size, "%.*s: %.1f per step of %s on average, %s of it hidden",
                   (int)kino__cut(name, 80), name.data,
                   (double)collective->count / (double)l->facts->step_count,
                   kino__say_time(collective->time / (int64_t)collective->count),
                   kino__say_share(collective->time - collective->exposed, collective->time));
    return text;
}

bool kino__collective_is_exchange(const kino__rule_look *l,
                                  const kino__costly_collective *collective)
{
    const kino__comm_operation *operation =
        collective->name == KINO_NO_STRING
            ? NULL
            : kino__comm_operation_of(kino__trace_string(l->trace, collective->name));
    return operation && strcmp(operation->name, "all-to-all") == 0;
}

void kino__collective_claim(const kino__rule_look *l, const kino__finding *f,
                            const kino__costly_collective *collective)
{
    const kino__profile *p = l->profile;
    for (size_t i = 0; i < p->comm.count; i++) {
        const kino__comm_record *record = &p->comm.items[i];
        kino__interval span = span_of(l->scan, record);
        if (record->name == collective->name)
            kino__finding_claim_cover(l->out, f, &l->scan->communication, span.start, span.end);
    }
}
