/* profile_metrics.c - how busy each device was within the steps: utilisation, SM efficiency,
 * occupancy, tensor cores. */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "model/profile/profile_internal.h"

/* Blocks per SM are added as integers, so that nothing is left over (D25). */
enum { SCALE = KINO__SM_SCALE };

/* Devices that were used, by the process of their events. */
static bool find_devices(kino__profile *p)
{
    for (size_t t = 0; t < p->trace->tracks.count; t++) {
        const kino__track *track = &p->trace->tracks.items[t];
        bool has_work = false;
        for (uint32_t row = track->first; row < track->first + track->count && !has_work; row++)
            has_work = kino__type_is_device(p->type[row]);
        if (!has_work)
            continue;
        int64_t device = track->pid.kind == KINO__LABEL_INT ? track->pid.number : track->device;
        int64_t *slot = kino__vec_add(&p->devices);
        if (!slot)
            return false;
        *slot = device;
    }
    if (p->devices.count)
        qsort(p->devices.items, p->devices.count, sizeof *p->devices.items, kino__compare_ints);
    size_t kept = 0;
    for (size_t i = 0; i < p->devices.count; i++)
        if (kept == 0 || p->devices.items[kept - 1] != p->devices.items[i])
            p->devices.items[kept++] = p->devices.items[i];
    p->devices.count = kept;
    return true;
}

/* -- one device */

typedef struct measuring {
    const kino__profile *p;
    kino__interval window;
    double occupancy, occupancy_time;
    int64_t tensor_time, operator_time;
} measuring;

static int64_t clip(const measuring *m, int64_t start, int64_t end)
{
    start = start > m->window.start ? start : m->window.start;
    end = end < m->window.end ? end : m->window.end;
    return end > start ? end - start : 0;
}

static bool is_tensor_kernel(const kino__profile *p, uint32_t row)
{
    return p->trace->name[row] != KINO_NO_STRING &&
           p->name_flags[p->trace->name[row]] & KINO__NAME_TENSOR_CORES;
}

bool kino__profile_busy(const kino__profile *p, int64_t device, kino__intervals *out)
{
    out->count = 0;
    for (size_t i = 0; i < p->kernels.count; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        if (kino__profile_shape(p, k)->device != device)
            continue;
        kino__interval span = kino__interval_of(p->trace->ts[k->row], p->trace->dur[k->row]);
        kino__interval *last = out->count ? &out->items[out->count - 1] : NULL;
        if (last && span.start >= last->start && span.start <= last->end) {
            last->end = span.end > last->end ? span.end : last->end;
            continue;
        }
        kino__interval *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = span;
    }
    if (!kino__sort_runs(out->items, out->count))
        return false;
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

/* Edges of kernels, where their blocks per SM come and go: start is the moment, end the change. */
static bool collect_edges(const kino__profile *p, int64_t device, kino__intervals *edges)
{
    if (!kino__vec_reserve(edges, 2 * p->kernels.count + 1))
        return false;
    for (int is_end = 0; is_end < 2; is_end++) {
        for (size_t i = 0; i < p->kernels.count; i++) {
            const kino__kernel_info *k = &p->kernels.items[i];
            const kino__kernel_shape *shape = kino__profile_shape(p, k);
            if (shape->device != device ||
                !(shape->blocks_per_sm > 0 && shape->blocks_per_sm < 1e9))
                continue;
            int64_t blocks = llround(shape->blocks_per_sm * SCALE);
            kino__interval *slot = kino__vec_add(edges);
            if (!slot)
                return false;
            *slot = is_end ? (kino__interval){kino__row_end(p->trace, k->row), -blocks}
                           : (kino__interval){p->trace->ts[k->row], blocks};
        }
    }
    return kino__sort_runs(edges->items, edges->count);
}

/* The pieces between the edges, one after the other; false when memory is out or `see` says so. */
static bool each_piece(const kino__profile *p, int64_t device,
                       bool (*see)(void *context, const kino__sm_piece *piece), void *context)
{
    kino__intervals edges = {0};
    bool ok = collect_edges(p, device, &edges);
    int64_t running = 0;
    for (size_t i = 0; ok && i + 1 < edges.count; i++) {
        running += edges.items[i].end;
        int64_t start = edges.items[i].start, end = edges.items[i + 1].start;
        if (running <= 0 || start == end)
            continue;
        ok = see(context, &(kino__sm_piece){start, end, running < SCALE ? running : SCALE});
    }
    kino__vec_deinit(&edges);
    return ok;
}

static bool list_piece(void *context, const kino__sm_piece *piece)
{
    kino__sm_pieces *out = context;
    kino__sm_piece *slot = kino__vec_add(out);
    if (slot)
        *slot = *piece;
    return slot != NULL;
}

bool kino__profile_sm_pieces(const kino__profile *p, int64_t device, kino__sm_pieces *out)
{
    out->count = 0;
    return each_piece(p, device, list_piece, out);
}

typedef struct sm_sum {
    const measuring *m;
    double sum;
    bool has_any;
} sm_sum;

static bool add_piece(void *context, const kino__sm_piece *piece)
{
    sm_sum *s = context;
    int64_t time = clip(s->m, piece->start, piece->end);
    s->has_any |= time > 0;
    s->sum += (double)piece->value / SCALE * (double)time;
    return true;
}

/* Time-weighted min(1, blocks per SM of running kernels); NaN when nothing ran in the window. */
static bool measure_sm(const measuring *m, int64_t device, double *value)
{
    sm_sum s = {.m = m};
    bool ok = each_piece(m->p, device, add_piece, &s);
    *value = s.has_any ? s.sum / (double)(m->window.end - m->window.start) : NAN;
    return ok;
}

static bool measure_busy(const measuring *m, int64_t device, double *value)
{
    kino__intervals busy = {0};
    bool ok = kino__profile_busy(m->p, device, &busy);
    int64_t time = 0;
    for (size_t i = 0; ok && busy.items && i < busy.count; i++)
        time += clip(m, busy.items[i].start, busy.items[i].end);
    *value = (double)time / (double)kino__difference(m->window.end, m->window.start);
    kino__vec_deinit(&busy);
    return ok;
}

static void add_kernel(measuring *m, const kino__kernel_info *k)
{
    const kino__profile *p = m->p;
    int64_t start = p->trace->ts[k->row], end = kino__row_end(p->trace, k->row);
    double occupancy = kino__profile_shape(p, k)->occupancy;
    if (occupancy >= 0) {
        double time = (double)clip(m, start, end);
        m->occupancy += occupancy * time;
        m->occupancy_time += time;
    }
    if (!p->is_compat && k->node != KINO__NO_NODE && p->nodes.items[k->node].is_operator) {
        m->operator_time += end - start;
        m->tensor_time += is_tensor_kernel(p, k->row) ? end - start : 0;
    }
}

static int64_t device_of(const kino__profile *p, size_t kernel)
{
    return kino__profile_shape(p, &p->kernels.items[kernel])->device;
}

/* The plugin goes through the operators instead, and so counts kernels of a group that it has
 * added twice (D23) twice, and those of operators that it has lost not at all. */
static void add_operators(measuring *m, int64_t device)
{
    const kino__profile *p = m->p;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t i = root; i != KINO__NO_NODE; i = kino__node_next(p, i, root)) {
            const kino__node *n = &p->nodes.items[i];
            uint32_t count;
            const kino__launch *launch = kino__node_launches(p, n, &count);
            for (uint32_t l = 0; n->is_operator && l < count; l++, launch++) {
                for (uint32_t w = 0; w < launch->work_count; w++) {
                    uint32_t row = p->work.items[launch->first_work + w];
                    if (p->type[row] != KINO__EVENT_TYPE_KERNEL ||
                        device_of(p, kino__profile_kernel_at(p, row)) != device)
                        continue;
                    int64_t time = kino__row_end(p->trace, row) - p->trace->ts[row];
                    m->operator_time += time;
                    m->tensor_time += is_tensor_kernel(p, row) ? time : 0;
                }
            }
        }
    }
}

static bool measure_device(kino__profile *p, int64_t device, bool has_operator_kernels)
{
    const kino__profile_step *last = &p->steps.items[p->steps.count - 1];
    measuring m = {.p = p, .window = {p->steps.items[0].start, last->end}};
    kino__device_metrics d = {.device = device, .utilization = NAN, .sm_efficiency = NAN};
    for (size_t i = 0; i < p->kernels.count; i++)
        if (device_of(p, i) == device)
            add_kernel(&m, &p->kernels.items[i]);
    if (p->is_compat)
        add_operators(&m, device);
    if (m.window.end > m.window.start &&
        (!measure_busy(&m, device, &d.utilization) || !measure_sm(&m, device, &d.sm_efficiency)))
        return false;
    d.occupancy_percent = m.occupancy_time > 0 ? m.occupancy / m.occupancy_time : NAN;
    d.tensor_ratio = !has_operator_kernels ? NAN
                     : m.operator_time     ? (double)m.tensor_time / (double)m.operator_time
                                           : 0;
    d.operator_time = m.operator_time;
    d.tensor_time = m.tensor_time;
    kino__device_metrics *slot = kino__vec_add(&p->metrics);
    if (slot)
        *slot = d;
    return slot != NULL;
}

static bool measure_devices(kino__profile *p)
{
    KINO__VEC(int64_t) devices = {0};
    bool has_operator_kernels = false, ok = true;
    for (size_t i = 0; ok && i < p->kernels.count; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        has_operator_kernels |= k->node != KINO__NO_NODE && p->nodes.items[k->node].is_operator;
        int64_t device = device_of(p, i);
        bool is_known = device == KINO_NO_INT;
        for (size_t d = devices.count; d-- > 0 && !is_known;)
            is_known = devices.items[d] == device;
        if (is_known || devices.count >= 64) /* at most 64 devices, as the plugin */
            continue;
        int64_t *slot = kino__vec_add(&devices);
        ok = slot != NULL;
        if (ok)
            *slot = device;
    }
    if (devices.items)
        qsort(devices.items, devices.count, sizeof *devices.items, kino__compare_ints);
    for (size_t i = 0; ok && i < devices.count && p->steps.count; i++)
        ok = measure_device(p, devices.items[i], has_operator_kernels);
    kino__vec_deinit(&devices);
    return ok;
}

/* -- ratios of the whole trace */

/* Kernel time that a node launched itself. */
static int64_t own_kernel_time(const kino__profile *p, const kino__node *n)
{
    int64_t time = 0;
    uint32_t count;
    const kino__launch *launch = kino__node_launches(p, n, &count);
    for (uint32_t l = 0; l < count; l++, launch++) {
        for (uint32_t w = 0; w < launch->work_count; w++) {
            uint32_t row = p->work.items[launch->first_work + w];
            if (p->type[row] == KINO__EVENT_TYPE_KERNEL)
                time += kino__row_end(p->trace, row) - p->trace->ts[row];
        }
    }
    return time;
}

/* Of the operators' kernel time, the part of the lowest eligible ones. The sums have it; but the
 * plugin counts groups of backward operators as often as it has them (D23), and only those. */
static void find_eligible_ratio(kino__profile *p)
{
    if (p->is_compat)
        p->operator_time = p->eligible_time = 0;
    for (size_t t = 0; p->is_compat && t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, i = kino__node_first_leaf(p, root);
        for (; i != KINO__NO_NODE; i = kino__node_next_up(p, i, root)) {
            kino__node *n = &p->nodes.items[i];
            if (i != root && (n->is_eligible || n->has_eligible_below))
                p->nodes.items[n->parent].has_eligible_below = true;
            int64_t own = own_kernel_time(p, n);
            p->operator_time += n->is_operator ? own : 0;
            p->eligible_time += n->is_eligible && !n->has_eligible_below ? own : 0;
        }
    }
    p->tensor_eligible_ratio =
        p->operator_time ? (double)p->eligible_time / (double)p->operator_time : NAN;
}

static void find_used_ratio(kino__profile *p)
{
    int64_t all = 0, tensor = 0;
    for (size_t i = 0; i < p->kernels.count; i++) {
        uint32_t row = p->kernels.items[i].row;
        int64_t time = kino__row_end(p->trace, row) - p->trace->ts[row];
        all += time;
        tensor += is_tensor_kernel(p, row) ? time : 0;
    }
    p->kernel_time = all;
    p->tensor_time = tensor;
    p->tensor_used_ratio = all ? (double)tensor / (double)all : NAN;
}

bool kino__profile_measure(kino__profile *p)
{
    find_used_ratio(p);
    find_eligible_ratio(p);
    return find_devices(p) && measure_devices(p);
}
