/* completeness_scan.c - the checks that kino check makes in one trace.
 *
 * Each check is a pass over the rows, or over what a link has found; a check without anything to
 * look at says so. Cost: linear; overlaps need the logarithm of the nesting depth. */
#include <stdlib.h>

#include "analysis/completeness/completeness_internal.h"
#include "analysis/overlaps.h"
#include "base/error.h"
#include "model/profile/profile_ids.h"
#include "names/communication.h"
#include "names/launch_calls.h"
#include "store/args.h"
#include "store/link.h"

static const int64_t LONGEST_SPAN_NS = 86400000000000; /* a day */

/* -- findings -- */

static void skip(kino__check_finding *f, kino__reason reason)
{
    f->count = f->of = KINO_NO_INT;
    f->reason = reason;
}

/* One more, at this event; the earliest places are kept. */
static void found(kino__check_finding *f, const kino__trace *trace, uint32_t row)
{
    int64_t id = kino__trace_event_id(trace, row), ts = trace->ts[row];
    uint32_t at = f->place_count;
    f->count++;
    while (at > 0 && (ts < f->times[at - 1] || (ts == f->times[at - 1] && id < f->places[at - 1])))
        at--;
    if (at == KINO__FINDING_PLACES)
        return;
    if (f->place_count < KINO__FINDING_PLACES)
        f->place_count++;
    for (uint32_t i = f->place_count - 1; i > at; i--) {
        f->places[i] = f->places[i - 1];
        f->times[i] = f->times[i - 1];
    }
    f->places[at] = id;
    f->times[at] = ts;
}

/* -- rows -- */

static uint32_t kind_bit(const kino__trace *trace, uint32_t row)
{
    return KINO__KIND_BIT(kino__category_kind(trace->category[row]));
}

static bool is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->ts[row] != KINO_NO_TIME;
}

/* Negative and absent durations count as 0; saturates. */
static int64_t end_of(const kino__trace *trace, uint32_t row)
{
    int64_t dur = trace->dur[row], end;
    if (dur == KINO_NO_TIME || dur <= 0)
        return trace->ts[row];
    return __builtin_add_overflow(trace->ts[row], dur, &end) ? INT64_MAX : end;
}

static bool is_call(const kino__trace *trace, uint32_t row)
{
    return (kind_bit(trace, row) & KINO__KINDS_LAUNCH) && is_span(trace, row);
}

static bool is_device(const kino__trace *trace, uint32_t row)
{
    return (kind_bit(trace, row) & KINO__KINDS_DEVICE) && is_span(trace, row);
}

/* -- durations and the window -- */

typedef struct window {
    int64_t start, end; /* start > end: not known */
} window;

/* From the spans of the profiler itself (category "Trace") and its end mark. */
static window find_window(const kino__trace *trace)
{
    window w = {INT64_MAX, INT64_MIN};
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!is_span(trace, row) || !(kind_bit(trace, row) & KINO__KIND_BIT(KINO__KIND_SPAN)))
            continue;
        int64_t end = end_of(trace, row);
        w.start = trace->ts[row] < w.start ? trace->ts[row] : w.start;
        w.end = end > w.end ? end : w.end;
    }
    if (w.start > w.end)
        return w;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint8_t phase = trace->phase[row];
        if ((phase == 'i' || phase == 'I') && trace->ts[row] > w.end &&
            kino__str_starts_with(kino__trace_string(trace, trace->name[row]),
                                  KINO__STR("Record Window End")))
            w.end = trace->ts[row];
    }
    return w;
}

static bool is_absurd(int64_t dur, const window *w)
{
    int64_t length;
    if (dur > LONGEST_SPAN_NS)
        return true;
    return w->start <= w->end && !__builtin_sub_overflow(w->end, w->start, &length) && dur > length;
}

static void check_durations(const kino__trace *trace, kino__check_finding *findings)
{
    kino__check_finding *missing = &findings[KINO__FINDING_NO_DURATION];
    kino__check_finding *negative = &findings[KINO__FINDING_NEGATIVE_DURATION];
    kino__check_finding *absurd = &findings[KINO__FINDING_ABSURD_DURATION];
    kino__check_finding *outside = &findings[KINO__FINDING_OUTSIDE];
    window w = find_window(trace);
    int64_t spans = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!is_span(trace, row) || (kind_bit(trace, row) & KINO__KIND_BIT(KINO__KIND_SPAN)))
            continue;
        spans++;
        if (trace->dur[row] == KINO_NO_TIME)
            found(missing, trace, row);
        else if (trace->dur[row] < 0)
            found(negative, trace, row);
        else if (is_absurd(trace->dur[row], &w))
            found(absurd, trace, row);
        if (w.start <= w.end && (trace->ts[row] < w.start || end_of(trace, row) > w.end))
            found(outside, trace, row);
    }
    missing->of = negative->of = absurd->of = outside->of = spans;
    for (int i = 0; spans == 0 && i < 3; i++)
        skip((kino__check_finding *[]){missing, negative, absurd}[i], KINO__REASON_SPANS);
    if (spans == 0 || w.start > w.end)
        skip(outside, spans ? KINO__REASON_WINDOW : KINO__REASON_SPANS);
}

/* -- pairs and flows -- */

static void check_pairs(const kino__trace *trace, kino__check_finding *findings)
{
    kino__check_finding *begin = &findings[KINO__FINDING_UNMATCHED_BEGIN];
    kino__check_finding *end = &findings[KINO__FINDING_UNMATCHED_END];
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (trace->phase[row] == 'B')
            found(begin, trace, row);
        else if (trace->phase[row] == 'E')
            found(end, trace, row);
    }
    begin->of = trace->pair_count + begin->count;
    end->of = trace->pair_count + end->count;
    if (begin->of == 0 && end->of == 0) {
        skip(begin, KINO__REASON_PAIR_EVENTS);
        skip(end, KINO__REASON_PAIR_EVENTS);
    }
}

typedef struct flow_check {
    const kino__trace *trace;
    kino__check_finding *start, *end;
} flow_check;

static void see_point(void *context, uint32_t row, bool has_before, bool has_next)
{
    flow_check *check = context;
    uint8_t phase = check->trace->phase[row];
    if (phase == 's' && !has_next)
        found(check->start, check->trace, row);
    else if ((phase == 'f' && !has_before) || (phase == 't' && !has_before && !has_next))
        found(check->end, check->trace, row);
}

static kino_status check_flows(const kino__trace *trace, kino__check_finding *findings,
                               kino_error *err)
{
    kino__check_finding *start = &findings[KINO__FINDING_FLOW_START];
    kino__check_finding *end = &findings[KINO__FINDING_FLOW_END];
    int64_t starts = 0, ends = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        starts += trace->phase[row] == 's';
        ends += trace->phase[row] == 'f' || trace->phase[row] == 't';
    }
    start->of = starts;
    end->of = ends;
    if (starts + ends == 0) {
        skip(start, KINO__REASON_FLOWS);
        skip(end, KINO__REASON_FLOWS);
        return KINO_OK;
    }
    flow_check check = {trace, start, end};
    return kino__flow_points_each(trace, see_point, &check) ? KINO_OK : kino__fail_nomem(err);
}

/* -- launches -- */

/* By number of the string: is it the name of a call that launches kernels? NULL when memory is
 * out. */
static bool *find_launch_names(const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    bool *is_launch = calloc(count + 1, sizeof *is_launch);
    for (size_t i = 0; is_launch && i < count; i++) {
        kino__launch_kind kind = kino__launch_kind_of(kino__trace_string(trace, (kino_strid)i));
        is_launch[i] = kind == KINO__LAUNCH_KERNEL || kind == KINO__LAUNCH_GRAPH;
    }
    return is_launch;
}

static kino_status check_launches(const kino__trace *trace, kino__check_finding *findings,
                                  kino_error *err)
{
    kino__check_finding *none = &findings[KINO__FINDING_NO_DEVICE];
    kino__check_finding *launch = &findings[KINO__FINDING_LAUNCH_ALONE];
    kino__check_finding *device = &findings[KINO__FINDING_DEVICE_ALONE];
    kino__check_finding *early = &findings[KINO__FINDING_EARLY_WORK];
    const uint32_t *link = kino__link_launch(trace);
    bool *is_launch = link ? find_launch_names(trace) : NULL;
    if (!is_launch)
        return kino__fail_nomem(err);
    int64_t launches = 0, works = 0, pairs = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t other = link[row];
        if (is_call(trace, row)) {
            if (trace->name[row] == KINO_NO_STRING || !is_launch[trace->name[row]])
                continue;
            launches++;
            if (other == KINO_NO_ROW)
                found(launch, trace, row);
        } else if (is_device(trace, row)) {
            works++;
            pairs += other != KINO_NO_ROW;
            if (other == KINO_NO_ROW)
                found(device, trace, row);
            else if (trace->ts[row] < trace->ts[other])
                found(early, trace, row);
        }
    }
    free(is_launch);
    launch->of = launches;
    device->of = works;
    early->of = pairs;
    if (!launches)
        skip(none, KINO__REASON_LAUNCHES);
    else if (!works)
        *none = *launch; /* all of them */
    else
        none->of = launches;
    if (!works || !launches) {
        kino__reason why = works ? KINO__REASON_LAUNCHES : KINO__REASON_DEVICE;
        skip(launch, why);
        skip(device, why);
    }
    if (!pairs)
        skip(early, works ? KINO__REASON_PAIRS : KINO__REASON_DEVICE);
    return KINO_OK;
}

static uint64_t largest_external(const kino__trace *trace)
{
    uint64_t largest = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t id = trace->external[row];
        largest = id < KINO__BIND_WIDE && id > largest ? id : largest;
    }
    return largest;
}

/* Kineto puts the correlation there where it knows no op: such an id says nothing. */
static kino_status check_external(const kino__trace *trace, kino__check_finding *findings,
                                  kino_error *err)
{
    kino__check_finding *f = &findings[KINO__FINDING_EXTERNAL_ALONE];
    kino__check_finding *own = &findings[KINO__FINDING_OWN_EXTERNAL];
    const uint32_t owners = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION);
    kino__ids ops;
    int64_t users = 0;
    bool has_ops = false, ok = kino__ids_init(&ops, largest_external(trace), trace->event_count);
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        if (!(kind_bit(trace, row) & owners) || !is_span(trace, row))
            continue;
        has_ops = true;
        int64_t id = kino__trace_external(trace, row);
        ok = id <= 0 || kino__ids_set(&ops, (uint64_t)id, 0);
    }
    for (uint32_t row = 0; ok && row < trace->event_count; row++) {
        if (!is_device(trace, row) && !is_call(trace, row))
            continue;
        int64_t id = kino__trace_external(trace, row);
        if (id <= 0)
            continue;
        users++;
        if (kino__ids_get(&ops, (uint64_t)id) == KINO__NO_NODE)
            found(id == kino__trace_correlation(trace, row) ? own : f, trace, row);
    }
    f->of = own->of = users;
    if (!users || !has_ops) {
        skip(f, users ? KINO__REASON_OPS : KINO__REASON_EXTERNAL);
        skip(own, users ? KINO__REASON_OPS : KINO__REASON_EXTERNAL);
    }
    kino__ids_deinit(&ops);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- overlaps -- */

typedef struct overlapping {
    const kino__trace *trace;
    kino__check_finding *findings;
    int64_t spans;
} overlapping;

static void see_overlap(void *context, uint32_t row, kino__overlap overlap)
{
    overlapping *o = context;
    o->spans++;
    if (overlap == KINO__OVERLAP_OTHER)
        found(&o->findings[KINO__FINDING_OVERLAP], o->trace, row);
    else if (overlap == KINO__OVERLAP_PYTHON)
        found(&o->findings[KINO__FINDING_PYTHON_CROSSES], o->trace, row);
}

static kino_status check_overlaps(const kino__trace *trace, kino__check_finding *findings,
                                  kino_error *err)
{
    overlapping o = {.trace = trace, .findings = findings};
    if (!kino__overlaps_each(trace, see_overlap, &o))
        return kino__fail_nomem(err);
    kino__check_finding *overlap = &findings[KINO__FINDING_OVERLAP];
    kino__check_finding *python = &findings[KINO__FINDING_PYTHON_CROSSES];
    overlap->of = python->of = o.spans;
    if (!o.spans) {
        skip(overlap, KINO__REASON_HOST);
        skip(python, KINO__REASON_HOST);
    }
    return KINO_OK;
}

/* -- what the profiler says about itself -- */

/* The number behind a label in a log line ("Out-of-range = 12"), or KINO_NO_INT. */
static int64_t number_behind(kino_str text, const char *label)
{
    const char *at = text.size ? memmem(text.data, text.size, label, strlen(label)) : NULL;
    if (!at)
        return KINO_NO_INT;
    at += strlen(label);
    size_t digits = 0;
    while (at + digits < text.data + text.size && at[digits] >= '0' && at[digits] <= '9')
        digits++;
    int64_t value;
    return kino__str_to_int((kino_str){at, digits}, &value) ? value : KINO_NO_INT;
}

/* How many strings a JSON array has. */
static int64_t count_lines(kino_str text)
{
    int64_t lines = 0;
    bool is_inside = false;
    for (size_t i = 0; i < text.size; i++) {
        if (is_inside && text.data[i] == '\\')
            i++;
        else if (text.data[i] == '"') {
            is_inside = !is_inside;
            lines += is_inside;
        }
    }
    return lines;
}

static void set_count(kino__check_finding *f, int64_t count, int64_t of, kino__reason otherwise)
{
    if (count == KINO_NO_INT) {
        skip(f, otherwise);
        return;
    }
    f->count = count;
    f->of = of;
}

/* "dropped_events": 5, "lost_records": "7": whatever the profiler calls it. */
static int64_t count_dropped(const kino__trace *trace)
{
    int64_t sum = KINO_NO_INT, value;
    for (size_t i = 0; i < trace->metadata.count; i++) {
        const kino__metadata *m = &trace->metadata.items[i];
        char key[64];
        size_t size = m->key.size < sizeof key - 1 ? m->key.size : sizeof key - 1;
        for (size_t k = 0; k < size; k++)
            key[k] = m->key.data[k] >= 'A' && m->key.data[k] <= 'Z' ? (char)(m->key.data[k] + 32)
                                                                    : m->key.data[k];
        key[size] = 0;
        if ((strstr(key, "dropped") || strstr(key, "lost")) &&
            kino__json_to_int(m->value, &value) && value >= 0)
            sum = sum == KINO_NO_INT ? value : kino__sum(sum, value);
    }
    return sum;
}

static void check_profiler(const kino__trace *trace, kino__check_finding *findings)
{
    kino_str info = kino__trace_metadata(trace, "INFO");
    kino_str warning = kino__trace_metadata(trace, "WARNING");
    kino_str error = kino__trace_metadata(trace, "ERROR");
    bool has_log = info.size || warning.size || error.size;
    int64_t records = number_behind(info, "Processed ");
    set_count(&findings[KINO__FINDING_PROFILER_DROPPED], count_dropped(trace), KINO_NO_INT,
              KINO__REASON_DROPPED);
    set_count(&findings[KINO__FINDING_PROFILER_STOPPED],
              number_behind(info, "CUPTI stopped early? = "), KINO_NO_INT, KINO__REASON_COUNTS);
    set_count(&findings[KINO__FINDING_OUT_OF_RANGE], number_behind(info, "Out-of-range = "),
              records, KINO__REASON_COUNTS);
    set_count(&findings[KINO__FINDING_OUT_OF_ORDER], number_behind(info, "CPU GPU out-of-order = "),
              records, KINO__REASON_COUNTS);
    set_count(&findings[KINO__FINDING_BAD_LINKS],
              number_behind(info, "Invalid ext correlations = "), records, KINO__REASON_COUNTS);
    set_count(&findings[KINO__FINDING_MESSAGES],
              has_log ? count_lines(warning) + count_lines(error) : KINO_NO_INT, KINO_NO_INT,
              KINO__REASON_LOG);
}

/* -- what is missing -- */

/* Each name is judged once, as a kernel's and as a span's: `judged` has a bit for either. */
static bool is_collective(const kino__trace *trace, uint32_t row, uint8_t *judged)
{
    enum { AS_KERNEL = 1, AS_SPAN = 2 };
    uint32_t kind = kind_bit(trace, row);
    kino_strid id = trace->name[row];
    uint8_t as = 0;
    if (kind & KINO__KIND_BIT(KINO__KIND_KERNEL))
        as = AS_KERNEL;
    else if (kind & (KINO__KIND_BIT(KINO__KIND_OP) | KINO__KIND_BIT(KINO__KIND_ANNOTATION)))
        as = AS_SPAN;
    if (!as || id == KINO_NO_STRING || judged[id] & as)
        return false;
    judged[id] |= as;
    kino_str name = kino__trace_string(trace, id);
    kino__comm comm = as == AS_KERNEL ? kino__comm_of_kernel(name) : kino__comm_of_span(name);
    return comm.kind != KINO__COMM_NONE;
}

/* "[]" and "{}" say as little as nothing. */
static bool is_empty(kino_str value)
{
    for (size_t i = 0; i < value.size; i++)
        if (!strchr("[]{} \t\r\n", value.data[i]))
            return false;
    return true;
}

static kino_status check_metadata(const kino__trace *trace, kino__check_finding *findings,
                                  kino_error *err)
{
    kino__step_list steps = {0};
    bool has_list = kino__trace_find_steps(trace, &steps), has_steps = steps.count > 0;
    kino__vec_deinit(&steps);
    uint8_t *judged = calloc(kino__string_pool_count(&trace->strings) + 1, 1);
    if (!has_list || !judged) {
        free(judged);
        return kino__fail_nomem(err);
    }
    bool has_kernels = false, has_collectives = false;
    int64_t events = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        events += trace->phase[row] != 'M';
        has_kernels |= kino__category_kind(trace->category[row]) == KINO__KIND_KERNEL;
        has_collectives = has_collectives || is_collective(trace, row, judged);
    }
    free(judged);
    bool has_properties = !is_empty(kino__trace_metadata(trace, "deviceProperties"));
    bool has_info = !is_empty(kino__trace_metadata(trace, "distributedInfo"));
    findings[KINO__FINDING_NO_EVENTS].count = events == 0;
    findings[KINO__FINDING_UNKNOWN_CLOCK].count = !trace->is_epoch && events;
    set_count(&findings[KINO__FINDING_NO_STEPS], events ? (int64_t)!has_steps : KINO_NO_INT,
              KINO_NO_INT, KINO__REASON_SPANS);
    set_count(&findings[KINO__FINDING_NO_PROPERTIES],
              has_kernels ? (int64_t)!has_properties : KINO_NO_INT, KINO_NO_INT,
              KINO__REASON_KERNELS);
    set_count(&findings[KINO__FINDING_NO_DISTRIBUTED],
              has_collectives ? (int64_t)!has_info : KINO_NO_INT, KINO_NO_INT,
              KINO__REASON_COLLECTIVES);
    if (trace->rank == KINO_NO_INT || trace->world_size == KINO_NO_INT)
        skip(&findings[KINO__FINDING_RANK_BEYOND],
             trace->rank == KINO_NO_INT ? KINO__REASON_RANKS : KINO__REASON_WORLD);
    else
        findings[KINO__FINDING_RANK_BEYOND].count = trace->rank >= trace->world_size;
    return KINO_OK;
}

kino_status kino__completeness_scan(const kino__trace *trace, kino__trace_check *out,
                                    kino_error *err)
{
    *out = (kino__trace_check){.trace = trace->index,
                               .rank = trace->rank,
                               .world_size = trace->world_size,
                               .ledger = trace->ledger};
    kino__check_finding *f = out->findings;
    for (int i = 0; i < KINO__FINDING_COUNT; i++)
        f[i].of = KINO_NO_INT;
    check_durations(trace, f);
    check_pairs(trace, f);
    check_profiler(trace, f);
    kino__completeness_recorder(trace, f);
    KINO_TRY(check_flows(trace, f, err));
    KINO_TRY(check_launches(trace, f, err));
    KINO_TRY(check_external(trace, f, err));
    KINO_TRY(check_overlaps(trace, f, err));
    return check_metadata(trace, f, err);
}
