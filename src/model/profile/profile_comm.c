/* profile_comm.c - collectives: the host's span of each and the kernels that carry it out. */
#include <stdlib.h>

#include "base/search.h"
#include "model/profile/profile_internal.h"
#include "store/link.h"

bool kino__profile_is_collective(const kino__profile *p, uint32_t row)
{
    bool is_host =
        p->type[row] == KINO__EVENT_TYPE_OPERATOR || p->type[row] == KINO__EVENT_TYPE_ANNOTATION;
    return is_host && kino__profile_flags(p, row) & p->collective_flags;
}

bool kino__profile_is_on_host(const kino__profile *p, uint32_t row)
{
    return !p->has_kernel || kino__profile_flags(p, row) & KINO__NAME_ON_HOST;
}

/* Ranges while they are collected: a list a record. */
typedef struct range {
    uint32_t record;
    bool is_host;
    kino__interval interval;
} range;

typedef struct collecting {
    kino__profile *p;
    kino__map by_external; /* external id + 1 -> record */
    KINO__VEC(range) ranges;
    size_t host_count; /* records with a span of the host: they come first, in order of rows */
    const uint32_t *launch_of_row;
} collecting;

static bool add_range(collecting *c, uint32_t record, uint32_t row)
{
    kino__comm_record *owner = &c->p->comm.items[record];
    if (c->p->type[row] == KINO__EVENT_TYPE_KERNEL && owner->kernel == KINO_NO_ROW)
        owner->kernel = row;
    range *slot = kino__vec_add(&c->ranges);
    if (slot)
        *slot = (range){record, c->p->type[row] != KINO__EVENT_TYPE_KERNEL,
                        kino__interval_of(c->p->trace->ts[row], c->p->trace->dur[row])};
    return slot != NULL;
}

/* External id + 1; 0: none, by which the plugin joins as well. */
static uint64_t key_of(const kino__profile *p, uint32_t row)
{
    int64_t external = kino__trace_external(p->trace, row);
    return external == KINO_NO_INT ? 0 : (uint64_t)external + 1;
}

static bool is_later(const kino__trace *trace, uint32_t row, uint32_t than)
{
    if (trace->ts[row] != trace->ts[than])
        return trace->ts[row] > trace->ts[than];
    return trace->number[row] > trace->number[than];
}

/* A second span of the same call: the plugin keeps the last. No kernel has been added yet, so the
 * record's only range is that of its place. */
static void replace_record(collecting *c, uint32_t index, uint32_t row)
{
    const kino__trace *trace = c->p->trace;
    kino__comm_record *record = &c->p->comm.items[index];
    if (!c->p->is_compat || !is_later(trace, row, record->row))
        return;
    record->row = row;
    record->name = trace->name[row];
    c->ranges.items[index].interval = kino__interval_of(trace->ts[row], trace->dur[row]);
}

/* Inside the span of the last record: "record_param_comms" in "c10d::allreduce_". */
static bool is_inside_last(const kino__profile *p, uint32_t row)
{
    if (p->is_compat || p->comm.count == 0)
        return false;
    uint32_t last = p->comm.items[p->comm.count - 1].row;
    return kino__trace_track_of(p->trace, last) == kino__trace_track_of(p->trace, row) &&
           kino__row_end(p->trace, row) <= kino__row_end(p->trace, last);
}

static bool add_record(collecting *c, uint32_t row)
{
    kino__profile *p = c->p;
    if (p->collective_flags == KINO__NAME_COMM_CALL && is_inside_last(p, row))
        return true;
    int64_t external = kino__trace_external(p->trace, row);
    uint32_t index = (uint32_t)p->comm.count;
    if (external != KINO_NO_INT || p->is_compat) {
        uint32_t *known = kino__map_put(&c->by_external, key_of(p, row), index);
        if (!known)
            return false;
        if (*known != index) {
            replace_record(c, *known, row);
            return true;
        }
    }
    kino__comm_record *record = kino__vec_add(&p->comm);
    if (!record)
        return false;
    *record = (kino__comm_record){.row = row,
                                  .kernel = KINO_NO_ROW,
                                  .name = p->trace->name[row],
                                  .external = external,
                                  .step = KINO_NO_ROW};
    return add_range(c, index, row);
}

/* The record whose span lies around the launch of a kernel, KINO_NO_ROW: none. Newer profilers give
 * the kernel the id of the operator around that span. Rows of a thread stand in order of start, so
 * that the nearest record before the launch is the innermost. */
static uint32_t record_around(const collecting *c, uint32_t kernel)
{
    enum { MOST_NESTED = 4 };
    const kino__trace *trace = c->p->trace;
    uint32_t launch = c->launch_of_row[kernel];
    size_t low = KINO__SEARCH(size_t, i, 0, launch == KINO_NO_ROW ? 0 : c->host_count,
                              c->p->comm.items[i].row < launch);
    for (size_t i = low; i-- > 0 && low - i <= MOST_NESTED;) {
        uint32_t row = c->p->comm.items[i].row;
        if (kino__row_end(trace, row) >= kino__row_end(trace, launch) &&
            kino__trace_track_of(trace, row) == kino__trace_track_of(trace, launch))
            return (uint32_t)i;
    }
    return KINO_NO_ROW;
}

/* The record of a kernel: by its external id; the default also goes by the operator above its
 * launch and by the span around it, and makes a record of a communication kernel that nobody claims
 * (D11). */
static bool add_kernel(collecting *c, kino__kernel_info *k)
{
    kino__profile *p = c->p;
    uint64_t key = key_of(p, k->row);
    const uint32_t *record = key || p->is_compat ? kino__map_get(&c->by_external, key) : NULL;
    bool is_named = k->is_communication || /* by its arguments */
                    kino__profile_flags(p, k->row) & KINO__NAME_COMM_KERNEL;
    k->is_communication = record != NULL;
    if (record)
        return (p->is_compat && !p->saw_nccl) || add_range(c, *record, k->row);
    if (p->is_compat || !is_named)
        return true;
    k->is_communication = true;
    for (uint32_t n = k->node; n != KINO__NO_NODE; n = p->nodes.items[n].parent) {
        uint32_t row = p->nodes.items[n].row;
        if (row == KINO_NO_ROW || !kino__profile_is_collective(p, row))
            continue;
        int64_t id = kino__trace_external(p->trace, row);
        record = id == KINO_NO_INT ? NULL : kino__map_get(&c->by_external, (uint64_t)id + 1);
        if (record)
            return add_range(c, *record, k->row);
    }
    uint32_t around = record_around(c, k->row);
    if (around != KINO_NO_ROW)
        return add_range(c, around, k->row);
    uint32_t index = (uint32_t)p->comm.count;
    kino__comm_record *fresh = kino__vec_add(&p->comm);
    if (!fresh)
        return false;
    *fresh = (kino__comm_record){.row = k->row,
                                 .kernel = KINO_NO_ROW,
                                 .name = p->trace->name[k->row],
                                 .external = KINO_NO_INT,
                                 .step = KINO_NO_ROW};
    return add_range(c, index, k->row);
}

static int compare_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    if (x->interval.start != y->interval.start)
        return x->interval.start < y->interval.start ? -1 : 1;
    return x->interval.end > y->interval.end ? -1 : x->interval.end < y->interval.end;
}

static int compare_records(const void *a, const void *b, void *context)
{
    const kino__profile *p = context;
    const kino__comm_record *x = a, *y = b;
    kino__interval r = kino__interval_of(p->trace->ts[x->row], p->trace->dur[x->row]);
    kino__interval s = kino__interval_of(p->trace->ts[y->row], p->trace->dur[y->row]);
    if (r.start != s.start)
        return r.start < s.start ? -1 : 1;
    if (r.end != s.end)
        return r.end > s.end ? -1 : 1;
    return p->trace->number[x->row] < p->trace->number[y->row] ? -1 : 1;
}

/* A call that puts a kernel on the device is no communication itself; the plugin adds both. A call
 * without a kernel, on a device that has some, was part of another one. */
static bool does_host_count(const kino__profile *p, const kino__comm_record *record)
{
    return p->is_compat ||
           (record->kernel == KINO_NO_ROW && kino__profile_is_on_host(p, record->row));
}

static bool settle(collecting *c)
{
    kino__profile *p = c->p;
    if (c->ranges.count)
        qsort(c->ranges.items, c->ranges.count, sizeof *c->ranges.items, compare_ranges);
    if (!kino__vec_reserve(&p->comm_ranges, c->ranges.count + 1))
        return false;
    for (size_t i = 0; i < c->ranges.count; i++) {
        kino__comm_record *record = &p->comm.items[c->ranges.items[i].record];
        if (c->ranges.items[i].is_host && !does_host_count(p, record))
            continue;
        if (record->range_count++ == 0)
            record->first_range = (uint32_t)p->comm_ranges.count;
        p->comm_ranges.items[p->comm_ranges.count++] = c->ranges.items[i].interval;
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->comm.count; i++)
        if (p->comm.items[i].range_count)
            p->comm.items[kept++] = p->comm.items[i];
    p->comm.count = kept;
    if (p->comm.count)
        qsort_r(p->comm.items, p->comm.count, sizeof *p->comm.items, compare_records, p);
    return true;
}

bool kino__profile_find_comm(kino__profile *p)
{
    collecting c = {.p = p};
    kino__map_init(&c.by_external, NULL);
    bool ok = true;
    bool has_any = p->seen_names & p->collective_flags;
    for (uint32_t row = 0; ok && has_any && row < p->trace->event_count; row++)
        if ((p->type[row] == KINO__EVENT_TYPE_OPERATOR ||
             p->type[row] == KINO__EVENT_TYPE_ANNOTATION) &&
            kino__profile_is_collective(p, row))
            ok = add_record(&c, row);
    c.host_count = p->comm.count;
    c.launch_of_row = kino__link_launch(p->trace);
    ok = ok && c.launch_of_row;
    for (size_t i = 0; ok && i < p->kernels.count; i++)
        ok = add_kernel(&c, &p->kernels.items[i]);
    ok = ok && settle(&c);
    kino__map_deinit(&c.by_external);
    kino__vec_deinit(&c.ranges);
    return ok;
}
