/* gaps.c - when did a device have nothing to do, what did the host do meanwhile, who is to blame?
 *
 * Method: the time between pieces of work of a device, over all its streams. The work that ends a
 * gap has a launch, and the thread of that launch is looked at from the start of the gap to the
 * launch:
 *
 *   device   ####|............gap............|####
 *   thread     sync |  python | op |launch|          blame: whoever has most of it
 *
 * Cost: a sort of the device rows, then the host rows within gaps. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/gaps/gaps_internal.h"
#include "base/error.h"
#include "store/link.h"

enum { P_NUM, P_MIN_GAP };

static const kino_param_info params[] = {
    [P_NUM] = {"num", KINO_TYPE_INT, "10", "show this many gaps per trace", NULL},
    [P_MIN_GAP] = {"min_gap", KINO_TYPE_DURATION, "10us", "ignore shorter gaps", NULL},
    {0},
};

static kino_status check(const kino__analysis *a, kino_error *err)
{
    if (kino__param_int(a, P_NUM) < 0)
        return kino__fail(err, KINO_ARGUMENT, "num: must not be negative");
    if (kino__param_int(a, P_MIN_GAP) < 0)
        return kino__fail(err, KINO_ARGUMENT, "min_gap: must not be negative");
    return KINO_OK;
}

/* -- gaps of a trace -- */

static void deinit(void *value)
{
    kino__gaps *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->gaps);
    kino__vec_deinit(&p->activities);
    kino__vec_deinit(&p->totals);
    kino__vec_deinit(&p->without);
}

typedef struct work_row {
    int64_t device, ts;
    uint32_t row;
} work_row;

typedef struct found {
    int64_t device, start, end;
    uint32_t before, after; /* rows */
} found;

typedef struct scan {
    const kino__analysis *a;
    const kino__trace *trace;
    kino__gaps *p;
    kino__host host;
    const uint32_t *launch_of;
    const kino__steps *steps;
    KINO__VEC(work_row) work;
    KINO__VEC(found) gaps;
} scan;

static int compare_work(const void *a, const void *b)
{
    const work_row *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool collect_work(scan *s)
{
    const kino__trace *trace = s->trace;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        if (!(track->kinds & KINO__KINDS_DEVICE))
            continue;
        for (uint32_t row = track->first; row < track->first + track->count; row++) {
            uint32_t kind = KINO__KIND_BIT(kino__category_kind(trace->category[row]));
            if (!(KINO__KINDS_DEVICE & kind) || trace->phase[row] != 'X' ||
                trace->ts[row] == KINO_NO_TIME || trace->dur[row] == KINO_NO_TIME)
                continue;
            work_row *w = kino__vec_add(&s->work);
            if (!w)
                return false;
            *w = (work_row){track->device, trace->ts[row], row};
        }
    }
    if (s->work.count)
        qsort(s->work.items, s->work.count, sizeof *s->work.items, compare_work);
    return true;
}

static int64_t step_of(const scan *s, uint32_t row)
{
    uint32_t step = s->steps->of_row[row];
    return step == KINO_NO_ROW ? KINO_NO_INT : s->steps->items[step].number;
}

static bool find_gaps(scan *s)
{
    int64_t shortest = kino__param_int(s->a, P_MIN_GAP), latest = 0;
    uint32_t before = KINO_NO_ROW;
    for (size_t i = 0; i < s->work.count; i++) {
        const work_row *w = &s->work.items[i];
        int64_t end = kino__interval_of(w->ts, s->trace->dur[w->row]).end;
        if (i == 0 || s->work.items[i - 1].device != w->device)
            before = KINO_NO_ROW;
        if (before != KINO_NO_ROW && w->ts > latest &&
            kino__difference(w->ts, latest) >= shortest &&
            kino__analysis_wants_step(s->a, step_of(s, w->row))) {
            found *g = kino__vec_add(&s->gaps);
            if (!g)
                return false;
            *g = (found){w->device, latest, w->ts, before, w->row};
        }
        if (before == KINO_NO_ROW || end >= latest) {
            before = w->row;
            latest = end;
        }
    }
    return true;
}

/* The longest first, then by time. */
static int compare_gaps(const void *a, const void *b)
{
    const found *x = a, *y = b;
    int64_t left = kino__difference(x->end, x->start), right = kino__difference(y->end, y->start);
    if (left != right)
        return left > right ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->device < y->device ? -1 : x->device > y->device;
}

/* -- blame -- */

static bool set_place(scan *s, uint32_t row, kino__gap_place *out)
{
    *out = (kino__gap_place){KINO_NO_STRING, KINO_NO_INT};
    if (row == KINO_NO_ROW)
        return true;
    out->event = kino__trace_event_id(s->trace, row);
    kino_strid name = s->trace->name[row];
    if (name == KINO_NO_STRING)
        return true;
    out->name = kino__string_pool_add_borrowed(&s->p->names, kino__trace_string(s->trace, name));
    return out->name != KINO_NO_STRING;
}

static bool set_culprit(scan *s, uint32_t row, kino__gap_culprit *out)
{
    uint32_t op = kino__host_around(&s->host, row, KINO__KIND_BIT(KINO__KIND_OP));
    uint32_t python = kino__host_around(&s->host, row, KINO__KIND_BIT(KINO__KIND_PYTHON));
    return set_place(s, row, &out->span) && set_place(s, op, &out->op) &&
           set_place(s, python, &out->python);
}

typedef struct verdict {
    uint32_t blame, launch, sync, top; /* rows, KINO_NO_ROW: none */
    int64_t thread, time;
} verdict;

static int64_t thread_of(const kino__track *track)
{
    return track->tid.kind == KINO__LABEL_INT ? track->tid.number : KINO_NO_INT;
}

/* Work that a wait held up: it would have been launched earlier without it. */
static bool is_ordinary(uint32_t kind)
{
    return kind >= KINO__HOST_LAUNCH && kind < KINO__HOST_KINDS;
}

static bool judge(scan *s, const found *g, verdict *out)
{
    uint32_t launch = s->launch_of[g->after];
    *out = (verdict){KINO__BLAME_UNKNOWN, launch,      KINO_NO_ROW,
                     KINO_NO_ROW,         KINO_NO_INT, kino__difference(g->end, g->start)};
    if (launch == KINO_NO_ROW || s->trace->ts[launch] == KINO_NO_TIME)
        return true;
    uint32_t track = kino__trace_track_of(s->trace, launch);
    int64_t launch_ts = s->trace->ts[launch] < g->end ? s->trace->ts[launch] : g->end;
    out->thread = thread_of(&s->trace->tracks.items[track]);
    out->blame = KINO__BLAME_DEVICE;
    if (launch_ts <= g->start)
        return true;
    kino__host_activity did;
    if (!kino__host_look(&s->host, track, g->start, launch_ts, &did))
        return false;
    /* from the call to the start of the work */
    int64_t own = kino__difference(g->end, launch_ts);
    did.time[KINO__HOST_LAUNCH] = kino__sum(did.time[KINO__HOST_LAUNCH], own);
    did.top[KINO__HOST_LAUNCH] = launch;
    out->blame = 0;
    for (uint32_t kind = 1; kind < KINO__HOST_KINDS; kind++)
        if (did.time[kind] > did.time[out->blame])
            out->blame = kind;
    out->time = did.time[out->blame];
    out->top = did.top[out->blame];
    out->sync = kino__host_sync_at(&s->host, track, g->start);
    if (out->sync != KINO_NO_ROW && is_ordinary(out->blame)) {
        out->blame = KINO__HOST_SYNC;
        out->top = out->sync;
        out->time = kino__difference(g->end, g->start);
    }
    return true;
}

static bool add_total(scan *s, const found *g, uint32_t blame)
{
    kino__gaps *p = s->p;
    size_t at = 0;
    while (at < p->totals.count &&
           (p->totals.items[at].device != g->device || p->totals.items[at].blame != blame))
        at++;
    if (at == p->totals.count) {
        kino__gap_total *fresh = kino__vec_add(&p->totals);
        if (!fresh)
            return false;
        *fresh = (kino__gap_total){s->trace->rank, g->device, blame, 0, 0};
    }
    kino__gap_total *t = &p->totals.items[at];
    t->count++;
    t->time = kino__sum(t->time, kino__difference(g->end, g->start));
    return true;
}

/* -- what every thread did in a gap -- */

static bool add_activity(scan *s, const kino__track *track, uint32_t kind, int64_t time,
                         uint32_t top)
{
    kino__gaps *p = s->p;
    kino__gap_activity one = {.thread = thread_of(track), .kind = kind, .time = time};
    one.thread_name = KINO_NO_STRING;
    if (track->name != KINO_NO_STRING) {
        kino_str name = kino__trace_string(s->trace, track->name);
        one.thread_name = kino__string_pool_add_borrowed(&p->names, name);
        if (one.thread_name == KINO_NO_STRING)
            return false;
    }
    kino__gap_activity *slot =
        set_culprit(s, top, &one.what) ? kino__vec_add(&p->activities) : NULL;
    if (slot)
        *slot = one;
    return slot != NULL;
}

/* Threads that have spans in the gap, in the order of tracks. */
static bool add_activities(scan *s, const found *g)
{
    const kino__trace *trace = s->trace;
    for (uint32_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        kino__host_activity did;
        if (track->kind != KINO__TRACK_HOST)
            continue;
        if (!kino__host_look(&s->host, t, g->start, g->end, &did))
            return false;
        if (did.time[KINO__HOST_UNTRACED] >= kino__difference(g->end, g->start))
            continue;
        for (uint32_t kind = 0; kind < KINO__HOST_KINDS; kind++)
            if (did.time[kind] > 0 && !add_activity(s, track, kind, did.time[kind], did.top[kind]))
                return false;
    }
    return true;
}

static bool add_gap(scan *s, const found *g, const verdict *v)
{
    kino__gaps *p = s->p;
    size_t before = p->activities.count;
    kino__gap one = {.rank = s->trace->rank,
                     .device = g->device,
                     .step = step_of(s, g->after),
                     .ts = g->start,
                     .dur = kino__difference(g->end, g->start),
                     .thread = v->thread,
                     .blame = v->blame,
                     .blame_time = v->time};
    if (!set_place(s, g->before, &one.before) || !set_place(s, g->after, &one.after) ||
        !set_place(s, v->launch, &one.launch) || !set_place(s, v->sync, &one.sync) ||
        !set_culprit(s, v->top, &one.who) || !add_activities(s, g))
        return false;
    one.activity_count = (uint32_t)(p->activities.count - before);
    kino__gap *slot = kino__vec_add(&p->gaps);
    if (slot)
        *slot = one;
    return slot != NULL;
}

static int compare_totals(const void *a, const void *b)
{
    const kino__gap_total *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->blame < y->blame ? -1 : x->blame > y->blame;
}

static bool read_trace(scan *s)
{
    kino__gaps *p = s->p;
    s->launch_of = kino__link_launch(s->trace);
    s->steps = kino__link_steps(s->trace);
    if (!s->launch_of || !s->steps || !kino__host_init(&s->host, s->trace) || !collect_work(s) ||
        !find_gaps(s))
        return false;
    if (s->gaps.count)
        qsort(s->gaps.items, s->gaps.count, sizeof *s->gaps.items, compare_gaps);
    int64_t wanted = kino__param_int(s->a, P_NUM);
    for (size_t i = 0; i < s->gaps.count; i++) {
        verdict v;
        if (i % 4096 == 0 && kino__progress_is_cancelled(s->a->progress))
            break; /* map says so */
        if (!judge(s, &s->gaps.items[i], &v) || !add_total(s, &s->gaps.items[i], v.blame) ||
            (i < (uint64_t)wanted && !add_gap(s, &s->gaps.items[i], &v)))
            return false;
    }
    if (p->totals.count)
        qsort(p->totals.items, p->totals.count, sizeof *p->totals.items, compare_totals);
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__gaps *p = value;
    scan s = {.a = a, .trace = trace, .p = p};
    p->trace_count = 1;
    bool ok = read_trace(&s);
    if (ok && s.work.count == 0) {
        int64_t *rank = kino__vec_add(&p->without);
        ok = rank != NULL;
        if (ok)
            *rank = trace->rank;
    }
    kino__host_deinit(&s.host);
    kino__vec_deinit(&s.work);
    kino__vec_deinit(&s.gaps);
    if (ok && kino__progress_is_cancelled(a->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_gaps = {
    .name = "gaps",
    .help = "largest idle gaps of devices, what the host did meanwhile, and what caused them",
    .description =
        "A gap is the time between two pieces of work of a device in which none of its\n"
        "streams is active. The thread that launches the work after the gap is examined\n"
        "from the start of the gap: the activity that takes the most of that time is to\n"
        "blame (only innermost spans count; the launch is charged with the time from the\n"
        "call to the work). If the thread was waiting for the device when the gap began\n"
        "and did nothing unusual afterwards, the wait is to blame: without it, the work\n"
        "would have been queued. \"device\": the work was launched before the gap and\n"
        "waited for something else; \"unknown\": its launch is not in the trace.\n",
    .params = params,
    .tables = kino__gaps_tables,
    .takes_steps = true,
    .partial_size = sizeof(kino__gaps),
    .check = check,
    .map = map,
    .merge = kino__gaps_merge,
    .finish = kino__gaps_finish,
    .pack = kino__gaps_pack,
    .deinit = deinit,
};
