/* scan.c - one pass over the rows for all rules, and the idle time of the device.
 *
 * Names are looked at once each: every string gets a class. Then the rows of each host track go by
 * with a stack of what is open, so that an interesting row knows the operator and the line of
 * Python around it. */
#include "rule/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "names/python_frame.h"
#include "store/args.h"

/* Classes of names beyond those that make items. */
enum {
    NAME_FRAME = KINO__SCAN_COUNT, /* a Python function of the user's */
    NAME_ZERO_GRAD,                /* zero_grad: Python function or annotation */
    NAME_ZEROS,                    /* operators whose zeroing is no gradient's */
};

typedef struct opened {
    uint32_t row;
    int64_t end;
} opened;

typedef struct scanning {
    kino__scan *scan;
    uint8_t *classes; /* of each string */
    KINO__VEC(opened) ops;
    KINO__VEC(opened) frames;
    int64_t zero_grad_end; /* of the track at hand */
} scanning;

/* -- names */

static uint8_t python_class(kino_str name)
{
    if (kino__str_contains(name, KINO__STR(": _single_tensor_")))
        return KINO__SCAN_SINGLE_TENSOR;
    if (kino__str_ends_with(name, KINO__STR(": zero_grad")))
        return NAME_ZERO_GRAD;
    return kino__name_is_user_frame(name) ? NAME_FRAME : KINO__SCAN_NONE;
}

/* "Memcpy HtoD (Pinned -> Device)". */
static uint8_t copy_class(kino_str name)
{
    if (kino__str_contains(name, KINO__STR("Pageable")))
        return KINO__SCAN_PAGEABLE;
    bool is_host =
        kino__str_contains(name, KINO__STR("HtoD")) || kino__str_contains(name, KINO__STR("DtoH"));
    return is_host ? KINO__SCAN_HOST_COPY : KINO__SCAN_NONE;
}

static uint8_t class_of_name(kino_str name, uint32_t flags)
{
#define SCAN_NAME(type, text, class)                                                               \
    if (kino__str_is(name, text))                                                                  \
        return KINO__SCAN_##class;
#include "rule/scan_names.def"
#undef SCAN_NAME
    if (kino__str_starts_with(name, KINO__STR("aten::")))
        return kino__str_starts_with(name, KINO__STR("aten::zeros")) ? NAME_ZEROS : KINO__SCAN_NONE;
    if (flags & KINO__NAME_OPTIMIZER)
        return KINO__SCAN_OPTIMIZER;
    if (kino__str_starts_with(name, KINO__STR("Optimizer.zero_grad")))
        return NAME_ZERO_GRAD;
    if (flags & KINO__NAME_LOADER)
        return kino__str_contains(name, KINO__STR("_SingleProcessDataLoaderIter"))
                   ? KINO__SCAN_SINGLE_LOADER
                   : KINO__SCAN_NONE;
    if (kino__str_starts_with(name, KINO__STR("Memcpy ")))
        return copy_class(name);
    return kino__str_contains(name, KINO__STR("): ")) ? python_class(name) : KINO__SCAN_NONE;
}

/* Which type of event a class is made of: a name alone says nothing. */
static bool is_of_class(uint8_t class, uint8_t type)
{
    switch (class) {
    case KINO__SCAN_SYNC:
    case KINO__SCAN_ALLOCATION:
        return type == KINO__EVENT_TYPE_RUNTIME;
    case KINO__SCAN_PAGEABLE:
    case KINO__SCAN_HOST_COPY:
        return type == KINO__EVENT_TYPE_MEMCPY;
    case KINO__SCAN_SINGLE_TENSOR:
    case NAME_FRAME:
        return type == KINO__EVENT_TYPE_PYTHON_FUNCTION;
    case KINO__SCAN_OPTIMIZER:
    case KINO__SCAN_SINGLE_LOADER:
        return type == KINO__EVENT_TYPE_OPERATOR || type == KINO__EVENT_TYPE_ANNOTATION;
    case NAME_ZERO_GRAD:
        return type == KINO__EVENT_TYPE_OPERATOR || type == KINO__EVENT_TYPE_ANNOTATION ||
               type == KINO__EVENT_TYPE_PYTHON_FUNCTION;
    default:
        return type == KINO__EVENT_TYPE_OPERATOR;
    }
}

static bool class_names(scanning *s)
{
    const kino__profile *p = s->scan->profile;
    size_t strings = kino__string_pool_count(&s->scan->trace->strings);
    s->classes = malloc(strings + 1);
    for (kino_strid id = 0; s->classes && id < strings; id++)
        s->classes[id] = class_of_name(kino__trace_string(s->scan->trace, id), p->name_flags[id]);
    return s->classes != NULL;
}

/* -- rows */

static uint8_t class_of(const scanning *s, uint32_t row)
{
    kino_strid name = s->scan->trace->name[row];
    uint8_t class = name == KINO_NO_STRING ? KINO__SCAN_NONE : s->classes[name];
    return class && is_of_class(class, s->scan->profile->type[row]) ? class : KINO__SCAN_NONE;
}

#define CLOSE(stack, time)                                                                         \
    while ((stack).count && (stack).items[(stack).count - 1].end <= (time))                        \
    (stack).count--

#define OPEN(stack, row_, end_)                                                                    \
    do {                                                                                           \
        opened *slot_ = kino__vec_add(&(stack));                                                   \
        if (!slot_)                                                                                \
            return false;                                                                          \
        *slot_ = (opened){row_, end_};                                                             \
    } while (0)

static bool add_item(scanning *s, uint8_t class, uint32_t row)
{
    int64_t time = s->scan->trace->ts[row];
    CLOSE(s->frames, time);
    CLOSE(s->ops, time);
    kino__scan_item *item = kino__vec_add(&s->scan->items[class]);
    if (!item)
        return false;
    *item =
        (kino__scan_item){row, s->ops.count ? s->ops.items[s->ops.count - 1].row : KINO_NO_ROW,
                          s->frames.count ? s->frames.items[s->frames.count - 1].row : KINO_NO_ROW};
    return true;
}

/* Gradients are zeroed inside zero_grad; zeros that are made there are something else. */
static bool is_gradient(const scanning *s, uint32_t row)
{
    if (s->scan->trace->ts[row] >= s->zero_grad_end)
        return false;
    return s->ops.count == 0 || class_of(s, s->ops.items[s->ops.count - 1].row) != NAME_ZEROS;
}

static bool scan_row(scanning *s, uint32_t row)
{
    const kino__trace *trace = s->scan->trace;
    uint8_t type = s->scan->profile->type[row], class = class_of(s, row);
    s->scan->has_python |= type == KINO__EVENT_TYPE_PYTHON_FUNCTION;
    if (class == KINO__SCAN_NONE && type != KINO__EVENT_TYPE_OPERATOR)
        return true;
    int64_t start = trace->ts[row], end = kino__interval_of(start, trace->dur[row]).end;
    if (class == NAME_FRAME) {
        CLOSE(s->frames, start);
        OPEN(s->frames, row, end);
        return true;
    }
    if (class == NAME_ZERO_GRAD && end > s->zero_grad_end)
        s->zero_grad_end = end;
    CLOSE(s->ops, start);
    bool is_item = class != KINO__SCAN_NONE && class < KINO__SCAN_COUNT &&
                   (class != KINO__SCAN_ZEROED || is_gradient(s, row));
    if (is_item && !add_item(s, class, row))
        return false;
    if (type == KINO__EVENT_TYPE_OPERATOR)
        OPEN(s->ops, row, end);
    return true;
}

static bool scan_rows(scanning *s)
{
    const kino__trace *trace = s->scan->trace;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        s->ops.count = s->frames.count = 0;
        s->zero_grad_end = INT64_MIN;
        for (uint32_t row = track->first; row - track->first < track->count; row++)
            if (s->scan->profile->type[row] != KINO__EVENT_TYPE_NONE && !scan_row(s, row))
                return false;
    }
    return true;
}

/* -- idle time */

static bool cover_make(kino__cover *cover)
{
    cover->before = malloc((cover->list.count + 1) * sizeof *cover->before);
    if (!cover->before)
        return false;
    cover->before[0] = 0;
    for (size_t i = 0; i < cover->list.count; i++)
        cover->before[i + 1] =
            cover->before[i] + (cover->list.items[i].end - cover->list.items[i].start);
    return true;
}

size_t kino__cover_find(const kino__cover *cover, int64_t time)
{
    return KINO__SEARCH(size_t, i, 0, cover->list.count, cover->list.items[i].end <= time);
}

/* Time covered before this moment. */
static int64_t covered_before(const kino__cover *cover, int64_t time)
{
    size_t at = kino__cover_find(cover, time);
    int64_t covered = cover->before[at];
    if (at < cover->list.count && cover->list.items[at].start < time)
        covered += time - cover->list.items[at].start;
    return covered;
}

int64_t kino__cover_within(const kino__cover *cover, int64_t start, int64_t end)
{
    if (end <= start || cover->list.count == 0)
        return 0;
    return covered_before(cover, end) - covered_before(cover, start);
}

const kino__interval *kino__cover_at(const kino__cover *cover, int64_t time)
{
    size_t at = kino__cover_find(cover, time);
    bool is_inside = at < cover->list.count && cover->list.items[at].start <= time;
    return is_inside ? &cover->list.items[at] : NULL;
}

static bool add_interval(kino__intervals *list, kino__interval interval)
{
    kino__interval *slot = kino__vec_add(list);
    if (slot)
        *slot = interval;
    return slot != NULL;
}

/* Kernels of communication; the ranges of that role also hold spans of the host. */
static bool communication_kernels(const kino__profile *p, kino__intervals *out)
{
    for (size_t i = 0; i < p->kernels.count; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        if (k->is_communication &&
            !add_interval(out, kino__interval_of(p->trace->ts[k->row], p->trace->dur[k->row])))
            return false;
    }
    kino__intervals_sort(out->items, out->count);
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

static bool unite_steps(const kino__profile *p, kino__intervals *steps, int64_t *total)
{
    for (size_t i = 0; i < p->steps.count; i++) {
        *total += p->steps.items[i].end - p->steps.items[i].start;
        if (!add_interval(steps, (kino__interval){p->steps.items[i].start, p->steps.items[i].end}))
            return false;
    }
    kino__intervals_sort(steps->items, steps->count);
    steps->count = kino__intervals_unite(steps->items, steps->count);
    return true;
}

/* Exposed communication and the wait for the loader, as profile_steps divides the steps up. */
static bool find_waits(kino__scan *scan, const kino__intervals *steps)
{
    const kino__profile *p = scan->profile;
    const uint8_t *order = kino__profile_role_order(p);
    kino__intervals left = {0}, rest = {0};
    bool ok = kino__intervals_union(steps, steps, &left);
    for (int i = 0; ok && i < KINO__ROLE_OTHER; i++) {
        const kino__intervals *ranges = &p->ranges[order[i]];
        kino__cover *part = order[i] == KINO__ROLE_COMMUNICATION ? &scan->communication
                            : order[i] == KINO__ROLE_LOADER      ? &scan->loading
                                                                 : NULL;
        ok = (!part || kino__intervals_intersect(&left, ranges, &part->list)) &&
             kino__intervals_subtract(&left, ranges, &rest);
        kino__intervals swap = left;
        left = rest;
        rest = swap;
    }
    kino__vec_deinit(&left);
    kino__vec_deinit(&rest);
    return ok && cover_make(&scan->communication) && cover_make(&scan->loading);
}

/* Steps without the work of the device. */
static bool subtract_work(const kino__profile *p, const kino__intervals *steps,
                          kino__intervals *out)
{
    kino__intervals a = {0}, b = {0};
    bool ok =
        kino__intervals_union(&p->ranges[KINO__ROLE_KERNEL], &p->ranges[KINO__ROLE_MEMCPY], &a) &&
        kino__intervals_union(&a, &p->ranges[KINO__ROLE_MEMSET], &b) &&
        kino__intervals_subtract(steps, &b, &a);
    b.count = 0;
    ok = ok && communication_kernels(p, &b) && kino__intervals_subtract(&a, &b, out);
    kino__vec_deinit(&a);
    kino__vec_deinit(&b);
    return ok;
}

static bool find_idle(kino__scan *scan)
{
    const kino__profile *p = scan->profile;
    kino__intervals steps = {0}, free_time = {0};
    int64_t total = 0;
    bool ok = unite_steps(p, &steps, &total) && subtract_work(p, &steps, &free_time) &&
              find_waits(scan, &steps) &&
              kino__intervals_subtract(&free_time, &scan->communication.list, &scan->idle.list) &&
              cover_make(&scan->idle);
    scan->busy_time = total - kino__intervals_total(free_time.items, free_time.count);
    scan->compute.list = p->ranges[KINO__ROLE_KERNEL];
    scan->loader.list = p->ranges[KINO__ROLE_LOADER];
    ok = ok && cover_make(&scan->compute) && cover_make(&scan->loader);
    kino__vec_deinit(&steps);
    kino__vec_deinit(&free_time);
    return ok;
}

/* -- gaps that the host did not make */

enum { EARLY_NS = 50000 }; /* a launch takes some us to arrive */

/* Work that waits for the device, from the return of its launch to its start. Launches come nearly
 * in order: most waits continue the one before. */
static bool find_waiting(const kino__profile *p, kino__intervals *out)
{
    for (size_t i = 0; i < p->launches.count; i++) {
        const kino__launch *launch = &p->launches.items[i];
        for (uint32_t w = 0; launch->row != KINO_NO_ROW && w < launch->work_count; w++) {
            uint32_t row = p->work.items[launch->first_work + w];
            kino__interval wait = {
                kino__interval_of(p->trace->ts[launch->row], p->trace->dur[launch->row]).end,
                p->trace->ts[row]};
            if (wait.end <= wait.start || wait.end - wait.start < EARLY_NS)
                continue;
            kino__interval *last = out->count ? &out->items[out->count - 1] : NULL;
            if (last && wait.start >= last->start && wait.start <= last->end)
                last->end = wait.end > last->end ? wait.end : last->end;
            else if (!add_interval(out, wait))
                return false;
        }
    }
    kino__intervals_sort(out->items, out->count);
    out->count = kino__intervals_unite(out->items, out->count);
    return true;
}

static bool find_queued(kino__scan *scan)
{
    kino__intervals waiting = {0};
    bool ok = find_waiting(scan->profile, &waiting) &&
              kino__intervals_intersect(&scan->idle.list, &waiting, &scan->queued);
    kino__vec_deinit(&waiting);
    return ok;
}

/* The thread that runs the steps; without steps the one with the most operators and calls. */
static uint32_t find_main_track(const kino__profile *p)
{
    for (size_t i = 0; i < p->threads.count; i++)
        if (p->threads.items[i].has_steps)
            return p->threads.items[i].track;
    uint32_t best = UINT32_MAX;
    for (size_t i = 0; i < p->threads.count; i++) {
        uint32_t track = p->threads.items[i].track;
        if (best == UINT32_MAX ||
            p->trace->tracks.items[track].count > p->trace->tracks.items[best].count)
            best = track;
    }
    return best;
}

bool kino__scan_init(kino__scan *scan, const kino__profile *profile)
{
    *scan = (kino__scan){.profile = profile,
                         .trace = profile->trace,
                         .has_device = profile->has_kernel || profile->has_copies,
                         .main_track = find_main_track(profile)};
    scanning s = {.scan = scan};
    bool ok = class_names(&s) && scan_rows(&s) && find_idle(scan) && find_queued(scan);
    free(s.classes);
    kino__vec_deinit(&s.ops);
    kino__vec_deinit(&s.frames);
    return ok;
}

void kino__scan_deinit(kino__scan *scan)
{
    for (int i = 0; i < KINO__SCAN_COUNT; i++)
        kino__vec_deinit(&scan->items[i]);
    kino__vec_deinit(&scan->idle.list);
    free(scan->idle.before);
    kino__vec_deinit(&scan->queued);
    kino__vec_deinit(&scan->communication.list);
    kino__vec_deinit(&scan->loading.list);
    free(scan->communication.before);
    free(scan->loading.before);
    free(scan->compute.before);
    free(scan->loader.before);
    *scan = (kino__scan){0};
}
