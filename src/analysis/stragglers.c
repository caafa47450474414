/* stragglers.c - which ranks keep the others waiting?
 *
 * Method: the verdict (verdict.h) on the steps of all ranks. HTA's method, in its modes and as the
 * table `metric`: a blocking collective ends on all ranks together, so whoever starts it last made
 * the others wait. Of all communication kernels that one is looked at whose durations differ most
 * between ranks; in each step the latest ranks get a point.
 * Cost: a sort of the communication kernels. What a trace gives is small: a few integers for each
 * step, a few kernels for each stream, step and name. */
#include <math.h>
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/statistics.h"
#include "analysis/verdict/verdict.h"
#include "base/compare.h"
#include "base/error.h"
#include "store/args.h"

enum { P_COUNT, P_STEPS, P_LAST_STEP };

static const kino_param_info params[] = {
    [P_COUNT] = {"count", KINO_TYPE_INT, "2", "for HTA's method: how many ranks to name", NULL},
    [P_STEPS] = {"profiler_steps", KINO_TYPE_STRING, NULL,
                 "step numbers, as in 15,17-20 (default: all)", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

/* -- the list of steps -- */

/* The next piece of "15,17-20": false at the end, or (then *is_bad) where it is no such list. */
static bool next_range(kino_str *rest, int64_t *first, int64_t *last, bool *is_bad)
{
    if (rest->size == 0)
        return false;
    const char *comma = memchr(rest->data, ',', rest->size);
    kino_str piece = {rest->data, comma ? (size_t)(comma - rest->data) : rest->size};
    size_t skip = piece.size + (comma ? 1 : 0);
    *rest = (kino_str){rest->data + skip, rest->size - skip};
    const char *dash = piece.size ? memchr(piece.data, '-', piece.size) : NULL;
    size_t size = dash ? (size_t)(dash - piece.data) : piece.size;
    kino_str from = {piece.data, size}, to = from;
    if (dash)
        to = (kino_str){dash + 1, piece.size - size - 1};
    *is_bad = !kino__str_to_int(from, first) || !kino__str_to_int(to, last) || *first < 0 ||
              *first > *last || (comma && rest->size == 0);
    return !*is_bad;
}

static bool is_listed(kino_str list, int64_t number)
{
    int64_t first, last;
    bool is_bad = false;
    while (next_range(&list, &first, &last, &is_bad))
        if (number >= first && number <= last)
            return true;
    return false;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    kino_str list = kino__param_text(a, P_STEPS), rest = list;
    int64_t first, last;
    bool is_bad = false;
    while (next_range(&rest, &first, &last, &is_bad))
        ;
    if (is_bad)
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%.*s' for parameter 'profiler_steps' (expected: step "
                          "numbers such as 15,17-20)",
                          KINO__STR_ARG(list));
    if (kino__param_int(a, P_COUNT) < 1)
        return kino__fail(err, KINO_ARGUMENT, "count: must be at least 1");
    return KINO_OK;
}

/* -- what a trace gives -- */

/* Of one step of one trace: from the first start to the last end of all that belongs to it. */
typedef struct span {
    int64_t iteration, start, end; /* units of the frame */
} span;

typedef struct kernel {
    uint32_t trace; /* its place in ranks */
    kino_strid name;
    int64_t stream, iteration;
    int64_t start, length; /* units of the frame */
    int64_t ts;            /* ns of the run */
    int64_t event;
} kernel;

typedef struct partial {
    kino__string_pool names;
    KINO__VEC(int64_t) ranks; /* of the traces */
    KINO__VEC(int64_t) steps; /* numbers of the steps that are left; may repeat */
    KINO__VEC(span) spans;
    /* Of each trace, stream, step and name the last ones first; each longer than those before it:
     * the last one that is long enough, whatever that will be, is among them. */
    KINO__VEC(kernel) kernels;
    kino__verdict_facts verdict;
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->ranks);
    kino__vec_deinit(&p->steps);
    kino__vec_deinit(&p->spans);
    kino__vec_deinit(&p->kernels);
    kino__verdict_facts_deinit(&p->verdict);
}

static bool add_spans(partial *p, const kino__frame *f)
{
    kino__map places;
    kino__map_init(&places, NULL);
    bool ok = true;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        int64_t iteration = f->iteration[at];
        if (iteration < 0) /* KINO_NO_INT too */
            continue;
        const uint32_t *place =
            kino__map_put(&places, (uint64_t)iteration, (uint32_t)p->spans.count);
        ok = place != NULL;
        if (ok && *place == p->spans.count) {
            span *fresh = kino__vec_add(&p->spans);
            ok = fresh != NULL;
            if (ok)
                *fresh = (span){iteration, INT64_MAX, INT64_MIN};
        }
        if (!ok)
            break;
        span *s = &p->spans.items[*place];
        int64_t end = kino__sum(f->ts[at], f->dur[at]);
        s->start = f->ts[at] < s->start ? f->ts[at] : s->start;
        s->end = end > s->end ? end : s->end;
    }
    kino__map_deinit(&places);
    return ok;
}

/* HTA knows "ncclKernel" only, on streams above 0. */
static bool is_communication(const kino__frame *f, uint32_t at, const kino_strid *collective)
{
    if (f->mode != KINO__FRAME_DEFAULT)
        return f->stream[at] > 0 && f->iteration[at] > 0 &&
               kino__str_starts_with(kino__frame_name(f, at), KINO__STR("ncclKernel"));
    return kino__frame_is_device(f, at) && f->iteration[at] >= 0 &&
           (f->type[at] == KINO__KERNEL_COMMUNICATION ||
            (f->type[at] == KINO__KERNEL_COMPUTATION && collective[f->row[at]] != KINO_NO_STRING));
}

typedef struct candidate {
    int64_t stream, iteration;
    kino_strid name;
    uint32_t at;
} candidate;

/* By stream, step and name, the last ones first. */
static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return x->at > y->at ? -1 : x->at < y->at;
}

static bool add_kernel(partial *p, const kino__frame *f, const candidate *c)
{
    const kino__trace *trace = f->trace;
    uint32_t row = f->row[c->at];
    kino_strid name = kino__string_pool_add_borrowed(&p->names, kino__trace_string(trace, c->name));
    kernel *k = name == KINO_NO_STRING ? NULL : kino__vec_add(&p->kernels);
    if (!k)
        return false;
    int64_t ts = f->ts[c->at];
    if (f->mode != KINO__FRAME_DEFAULT)
        ts = kino__difference(kino__sum(kino__frame_ns(f, ts), trace->base_ns), trace->origin_ns);
    *k = (kernel){.trace = 0,
                  .name = name,
                  .stream = c->stream,
                  .iteration = c->iteration,
                  .start = f->ts[c->at],
                  .length = f->dur[c->at],
                  .ts = ts,
                  .event = kino__trace_event_id(trace, row)};
    return true;
}

static bool add_kernels(partial *p, const kino__frame *f)
{
    KINO__VEC(candidate) found = {0};
    const kino__string_pool *texts;
    const kino_strid *collective = NULL;
    bool ok = f->mode != KINO__FRAME_DEFAULT ||
              (collective = kino__args_string_column(f->trace, "Collective name", &texts)) != NULL;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        kino_strid name = f->trace->name[f->row[at]];
        if (name == KINO_NO_STRING || !is_communication(f, at, collective))
            continue;
        candidate *c = kino__vec_add(&found);
        ok = c != NULL;
        if (ok)
            *c = (candidate){f->stream[at], f->iteration[at], name, at};
    }
    if (ok && found.count)
        qsort(found.items, found.count, sizeof *found.items, compare_candidates);
    int64_t longest = 0;
    for (size_t i = 0; ok && i < found.count; i++) {
        const candidate *c = &found.items[i], *before = c - 1;
        bool is_first = i == 0 || c->stream != before->stream ||
                        c->iteration != before->iteration || c->name != before->name;
        if (!is_first && f->dur[c->at] <= longest)
            continue;
        longest = f->dur[c->at];
        ok = add_kernel(p, f, c);
    }
    kino__vec_deinit(&found);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    int64_t *rank = kino__vec_add(&p->ranks);
    if (!f || !rank || !kino__vec_reserve(&p->steps, f->steps.count))
        return kino__fail_nomem(err);
    *rank = trace->rank;
    const kino__profile *profile = a->compat ? NULL : kino__profile_of(trace, false, a->pool);
    if (!a->compat && (!profile || !kino__verdict_add(&p->verdict, profile)))
        return kino__fail_nomem(err);
    p->is_cut = f->is_cut;
    for (size_t i = 0; i < f->steps.count; i++)
        p->steps.items[p->steps.count++] = f->steps.items[i].number;
    return add_spans(p, f) && add_kernels(p, f) ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    uint32_t traces = (uint32_t)p->ranks.count;
    if (!kino__vec_reserve(&p->ranks, more->ranks.count) ||
        !kino__vec_reserve(&p->steps, more->steps.count) ||
        !kino__vec_reserve(&p->spans, more->spans.count) ||
        !kino__vec_reserve(&p->kernels, more->kernels.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->ranks.count; i++)
        p->ranks.items[p->ranks.count++] = more->ranks.items[i];
    for (size_t i = 0; i < more->steps.count; i++)
        p->steps.items[p->steps.count++] = more->steps.items[i];
    for (size_t i = 0; i < more->spans.count; i++)
        p->spans.items[p->spans.count++] = more->spans.items[i];
    for (size_t i = 0; i < more->kernels.count; i++) {
        kernel k = more->kernels.items[i];
        k.trace += traces;
        k.name = kino__string_pool_add(&p->names, kino__string_pool_text(&more->names, k.name));
        if (k.name == KINO_NO_STRING)
            return kino__fail_nomem(err);
        p->kernels.items[p->kernels.count++] = k;
    }
    p->is_cut |= more->is_cut;
    return kino__verdict_merge(&p->verdict, &more->verdict) ? KINO_OK : kino__fail_nomem(err);
}

static void pack_span(kino__pack *pack, span *s)
{
    KINO__PACK(pack, &s->iteration);
    KINO__PACK_FRAME_TIMES(pack, &s->start, &s->end);
}

static void pack_kernel(kino__pack *pack, kernel *k)
{
    KINO__PACK(pack, &k->trace, &k->name, &k->stream, &k->iteration, &k->length);
    KINO__PACK_FRAME_TIMES(pack, &k->start);
    KINO__PACK_TIMES(pack, &k->ts);
    KINO__PACK_EVENTS(pack, &k->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->ranks, kino__pack_int);
    KINO__PACK_VEC(pack, &p->steps, kino__pack_int);
    KINO__PACK_VEC(pack, &p->spans, pack_span);
    KINO__PACK_VEC(pack, &p->kernels, pack_kernel);
    kino__pack_bool(pack, &p->is_cut);
    kino__verdict_pack(pack, &p->verdict);
    for (size_t i = 0; i < p->kernels.count; i++)
        if (p->kernels.items[i].trace >= p->ranks.count ||
            p->kernels.items[i].name >= kino__string_pool_count(&p->names))
            pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_column straggler_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"cause", KINO_TYPE_STRING, NULL, "kernels, data loader, copies or host"},
    {"excess", KINO_TYPE_DURATION, NULL,
     "local time per step less the median of its peers: median over the steps"},
    {"more", KINO_TYPE_DURATION, NULL,
     "how much more time per step the cause takes than on its peers: median over the steps"},
    {"own_time", KINO_TYPE_DURATION, NULL, "mean local time: the step less exposed communication"},
    {"waiting", KINO_TYPE_DURATION, NULL,
     "time per step that the other ranks wait for the slowest"},
    {"score", KINO_TYPE_INT, "count",
     "number of steps in which it was slow (HTA: among the latest `count`)"},
    {"step_count", KINO_TYPE_INT, "count",
     "number of steps compared (HTA: in which it ran the kernel)"},
    {"lateness", KINO_TYPE_DURATION, NULL,
     "HTA: its start relative to the earliest rank, summed over these steps"},
    {0},
};

enum { C_CAUSE = 1, C_WAITING = 5, C_LATENESS = 8 };

static const kino_column rank_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"steps", KINO_TYPE_INT, "count", NULL},
    {"step_time", KINO_TYPE_DURATION, NULL, "mean"},
    {"own_time", KINO_TYPE_DURATION, NULL, "mean local time: the step less exposed communication"},
    {"exposed_communication", KINO_TYPE_DURATION, NULL,
     "mean communication not hidden by other work"},
    {"is_straggler", KINO_TYPE_BOOL, NULL, NULL},
    {0},
};

static const kino_column metric_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"stream", KINO_TYPE_INT, NULL, NULL},
    {"iteration", KINO_TYPE_INT, NULL, "step number"},
    {"name", KINO_TYPE_STRING, NULL, "the kernel whose durations differ most between ranks"},
    {"ts", KINO_TYPE_TIME, NULL, "its start"},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
    {"normalized_start_time", KINO_TYPE_FLOAT, NULL,
     "start since the first step, in units of the mean step"},
    {"duration", KINO_TYPE_FLOAT, NULL, "in units of the mean step"},
    {"is_late", KINO_TYPE_BOOL, NULL, "among the latest `count` of the step"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the kernel"},
    {0},
};

static const kino_table_info tables[] = {
    {"stragglers", "one row per rank that delays the others, by rank", straggler_columns, NULL,
     "none: see the notes"},
    {"metric", "one row per rank and step: the kernel that HTA's method compares", metric_columns,
     NULL, "not available: no communication kernel of 1 % of a step or more"},
    {"ranks", "one row per rank: what the verdict is based on", rank_columns, "Ranks",
     "not available: see the notes"},
    {0},
};

/* All that finish works with. */
typedef struct work {
    const kino__analysis *a;
    const partial *p;
    int64_t *steps; /* chosen, ascending, distinct */
    size_t step_count;
    int64_t t0;
    double mean_step; /* units; 0: nothing belongs to a chosen step */
    kernel *kernels;  /* long ones, one a trace, stream, step and name; then of one name alone */
    size_t count;
    uint8_t *is_late;
} work;

static bool is_chosen(const work *w, int64_t number)
{
    return w->step_count &&
           bsearch(&number, w->steps, w->step_count, sizeof *w->steps, kino__compare_ints) != NULL;
}

static bool choose_steps(work *w)
{
    const partial *p = w->p;
    kino_str list = kino__param_text(w->a, P_STEPS);
    w->steps = malloc((p->steps.count + 1) * sizeof *w->steps);
    if (!w->steps)
        return false;
    for (size_t i = 0; i < p->steps.count; i++)
        if (list.size == 0 || is_listed(list, p->steps.items[i]))
            w->steps[w->step_count++] = p->steps.items[i];
    if (w->step_count)
        qsort(w->steps, w->step_count, sizeof *w->steps, kino__compare_ints);
    size_t distinct = 0;
    for (size_t i = 0; i < w->step_count; i++)
        if (distinct == 0 || w->steps[distinct - 1] != w->steps[i])
            w->steps[distinct++] = w->steps[i];
    w->step_count = distinct;
    return true;
}

/* The mean time of a step: from the first start to the last end of all ranks, over their number. */
static bool measure_steps(work *w)
{
    const partial *p = w->p;
    int64_t *seen = malloc((p->spans.count + 1) * sizeof *seen);
    if (!seen)
        return false;
    size_t count = 0, distinct = 0;
    int64_t last = INT64_MIN;
    w->t0 = INT64_MAX;
    for (size_t i = 0; i < p->spans.count; i++) {
        const span *s = &p->spans.items[i];
        if (!is_chosen(w, s->iteration))
            continue;
        seen[count++] = s->iteration;
        w->t0 = s->start < w->t0 ? s->start : w->t0;
        last = s->end > last ? s->end : last;
    }
    if (count)
        qsort(seen, count, sizeof *seen, kino__compare_ints);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || seen[i] != seen[i - 1];
    if (distinct)
        w->mean_step = (double)kino__difference(last, w->t0) / (double)distinct;
    free(seen);
    return true;
}

static bool is_same_series(const kernel *a, const kernel *b)
{
    return a->stream == b->stream && a->name == b->name;
}

static bool choose_kernels(work *w)
{
    const partial *p = w->p;
    w->kernels = malloc((p->kernels.count + 1) * sizeof *w->kernels);
    w->is_late = calloc(p->kernels.count + 1, 1);
    if (!w->kernels || !w->is_late)
        return false;
    const kernel *before = NULL;
    for (size_t i = 0; i < p->kernels.count; i++) {
        const kernel *k = &p->kernels.items[i];
        if (!is_chosen(w, k->iteration) || (double)k->length < 0.01 * w->mean_step)
            continue;
        if (before && before->trace == k->trace && before->iteration == k->iteration &&
            is_same_series(before, k))
            continue;
        before = k;
        w->kernels[w->count++] = *k;
    }
    return true;
}

/* By stream and name, then step, then trace. */
static int compare_kernels(const void *a, const void *b, void *context)
{
    const kernel *x = a, *y = b;
    const kino__string_pool *names = context;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->name != y->name)
        return kino__str_compare(kino__string_pool_text(names, x->name),
                                 kino__string_pool_text(names, y->name));
    if (x->iteration != y->iteration)
        return x->iteration < y->iteration ? -1 : 1;
    return x->trace < y->trace ? -1 : x->trace > y->trace;
}

/* The end of the kernels of one step, which stand together. */
static size_t step_end(const work *w, size_t at, size_t end)
{
    size_t next = at;
    while (next < end && w->kernels[next].iteration == w->kernels[at].iteration)
        next++;
    return next;
}

/* The mean over steps of the deviation between ranks; NaN where no step has two. */
static double spread_of(const work *w, size_t at, size_t end)
{
    double sum = 0;
    size_t count = 0;
    for (size_t next; at < end; at = next) {
        next = step_end(w, at, end);
        kino__moments m = {0};
        for (size_t i = at; i < next; i++)
            kino__moments_add(&m, w->kernels[i].length);
        if (next - at < 2)
            continue;
        sum += kino__moments_std(&m) / w->mean_step;
        count++;
    }
    return count ? sum / (double)count : NAN;
}

/* Leaves the stream and name whose durations differ most; false: no two ranks have the same. */
static bool choose_series(work *w)
{
    if (w->count)
        qsort_r(w->kernels, w->count, sizeof *w->kernels, compare_kernels,
                (void *)(uintptr_t)&w->p->names);
    size_t first = 0, behind = 0;
    double largest = -1;
    for (size_t at = 0, next; at < w->count; at = next) {
        for (next = at; next < w->count && is_same_series(&w->kernels[next], &w->kernels[at]);)
            next++;
        double spread = spread_of(w, at, next);
        if (!(spread > largest))
            continue;
        largest = spread;
        first = at;
        behind = next;
    }
    memmove(w->kernels, w->kernels + first, (behind - first) * sizeof *w->kernels);
    w->count = behind - first;
    return w->count > 0;
}

typedef struct score {
    uint32_t trace;
    bool is_chosen;
    int64_t points, steps, lateness; /* lateness in units */
} score;

/* The latest `count` of each step get a point; those that start together with them too. */
static bool give_points(work *w, score *scores)
{
    int64_t wanted = kino__param_int(w->a, P_COUNT);
    int64_t *starts = malloc((w->count + 1) * sizeof *starts);
    for (size_t at = 0, next; starts && at < w->count; at = next) {
        next = step_end(w, at, w->count);
        size_t members = next - at;
        for (size_t i = at; i < next; i++)
            starts[i - at] = w->kernels[i].start;
        qsort(starts, members, sizeof *starts, kino__compare_ints);
        int64_t limit = (uint64_t)wanted < members ? starts[members - (size_t)wanted] : starts[0];
        for (size_t i = at; i < next; i++) {
            const kernel *k = &w->kernels[i];
            score *s = &scores[k->trace];
            w->is_late[i] = k->start >= limit;
            s->points += w->is_late[i];
            s->steps++;
            s->lateness = kino__sum(s->lateness, kino__difference(k->start, starts[0]));
        }
    }
    bool ok = starts != NULL;
    free(starts);
    return ok;
}

/* Most points first; equal ones in the order of the ranks. */
static int compare_scores(const void *a, const void *b)
{
    const score *x = a, *y = b;
    if (x->points != y->points)
        return x->points > y->points ? -1 : 1;
    return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static int compare_traces(const void *a, const void *b)
{
    const score *x = a, *y = b;
    return x->trace < y->trace ? -1 : x->trace > y->trace;
}

static int64_t to_ns(const work *w, int64_t units)
{
    int64_t out, unit = kino__frame_mode_of(w->a) == KINO__FRAME_HTA ? 1000 : 1;
    return __builtin_mul_overflow(units, unit, &out) ? INT64_MAX : out;
}

static bool add_stragglers(work *w, kino__table *table)
{
    size_t traces = w->p->ranks.count;
    int64_t wanted = kino__param_int(w->a, P_COUNT);
    score *scores = calloc(traces + 1, sizeof *scores);
    for (size_t i = 0; scores && i < traces; i++)
        scores[i].trace = (uint32_t)i;
    bool ok = scores && give_points(w, scores);
    if (ok && traces) {
        qsort(scores, traces, sizeof *scores, compare_scores);
        for (size_t i = 0; i < traces && i < (uint64_t)wanted; i++)
            scores[i].is_chosen = scores[i].steps > 0;
        qsort(scores, traces, sizeof *scores, compare_traces);
    }
    for (int k = C_CAUSE; k <= C_WAITING && table && w->a->compat; k++)
        table->hidden |= 1u << k;
    for (size_t i = 0; ok && i < traces && w->a->compat; i++) {
        if (!scores[i].is_chosen)
            continue;
        kino__table_add_int(table, w->p->ranks.items[i]);
        for (int k = C_CAUSE; k <= C_WAITING; k++)
            kino__table_add_null(table);
        KINO__TABLE_ADD(table, scores[i].points, scores[i].steps, to_ns(w, scores[i].lateness));
    }
    free(scores);
    return ok;
}

typedef struct shown {
    uint32_t trace;
    uint32_t at;
} shown;

static int compare_shown(const void *a, const void *b)
{
    const shown *x = a, *y = b;
    if (x->trace != y->trace)
        return x->trace < y->trace ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* By rank, then step. */
static bool add_metric(const work *w, kino__table *table)
{
    shown *order = malloc((w->count + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < w->count; i++)
        order[i] = (shown){w->kernels[i].trace, (uint32_t)i};
    qsort(order, w->count, sizeof *order, compare_shown);
    for (size_t i = 0; i < w->count; i++) {
        const kernel *k = &w->kernels[order[i].at];
        KINO__TABLE_ADD(table, w->p->ranks.items[k->trace], k->stream, k->iteration,
                        kino__string_pool_text(&w->p->names, k->name), k->ts, to_ns(w, k->length),
                        (double)kino__difference(k->start, w->t0) / w->mean_step,
                        (double)k->length / w->mean_step, w->is_late[order[i].at], k->event);
    }
    free(order);
    return true;
}

/* Why there is no answer, or NULL. */
static const char *what_lacks(const work *w)
{
    if (w->p->ranks.count < 2)
        return "requires the traces of several ranks";
    if (w->p->steps.count == 0)
        return "the traces have no profiler steps";
    if (w->step_count == 0)
        return "none of these steps are in the traces";
    if (w->p->kernels.count == 0)
        return "no communication kernels in the steps";
    return NULL;
}

/* -- the verdict -- */

/* Leaves the steps that were asked for. */
static bool choose_facts(const work *w, kino__verdict_facts *out)
{
    const kino__verdict_facts *all = &w->p->verdict;
    size_t at = 0;
    bool ok = kino__verdict_merge(out, all);
    out->steps.count = 0;
    for (size_t i = 0; ok && i < all->ranks.count; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < all->ranks.items[i].step_count; k++, at++) {
            const kino__verdict_step *step = &all->steps.items[at];
            kino_str list = kino__param_text(w->a, P_STEPS);
            if (list.size && !is_listed(list, step->number))
                continue;
            out->steps.items[out->steps.count++] = *step;
            kept++;
        }
        out->ranks.items[i].step_count = kept;
    }
    return ok;
}

static bool is_accused(const kino__verdict *v, const kino__verdict_rank *rank)
{
    for (size_t i = 0; i < v->slow.count; i++)
        if (v->slow.items[i].trace == rank->trace)
            return true;
    return false;
}

/* Means over the steps of a rank, which begin at `first`. */
typedef struct rank_means {
    int64_t step, own, exposed;
} rank_means;

static rank_means means_of(const kino__verdict_facts *facts, const kino__verdict_rank *r,
                           size_t first)
{
    double total = 0, exposed = 0, count = r->step_count;
    for (uint32_t k = 0; k < r->step_count; k++) {
        total += (double)facts->steps.items[first + k].total;
        exposed += (double)facts->steps.items[first + k].exposed;
    }
    return (rank_means){llround(total / count), llround((total - exposed) / count),
                        llround(exposed / count)};
}

static void add_ranks(const kino__verdict_facts *facts, const kino__verdict *v, kino__table *table)
{
    size_t at = 0;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__verdict_rank *r = &facts->ranks.items[i];
        if (r->step_count == 0)
            continue;
        rank_means means = means_of(facts, r, at);
        at += r->step_count;
        KINO__TABLE_ADD(table, r->rank, r->step_count, means.step, means.own, means.exposed,
                        is_accused(v, r));
    }
}

static int64_t own_time_of(const kino__verdict_facts *facts, int64_t trace)
{
    size_t at = 0;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__verdict_rank *r = &facts->ranks.items[i];
        if (r->trace == trace && r->step_count)
            return means_of(facts, r, at).own;
        at += r->step_count;
    }
    return KINO_NO_INT;
}

static void add_verdict(const kino__verdict_facts *facts, const kino__verdict *v,
                        kino__table *table)
{
    if (table)
        table->hidden |= 1u << C_LATENESS;
    for (size_t i = 0; i < v->slow.count; i++) {
        const kino__slow_rank *s = &v->slow.items[i];
        KINO__TABLE_ADD(table, s->rank, kino__str_from(kino__slow_cause_name(s->cause)), s->excess,
                        s->more, own_time_of(facts, s->trace), v->waiting, s->slow_steps, s->steps);
        kino__table_add_null(table);
    }
}

static bool judge(const work *w, kino_result *result)
{
    kino__verdict_facts facts = {0};
    kino__verdict v = {0};
    bool ok = choose_facts(w, &facts) && kino__verdict_judge(&facts, 0, &v);
    if (ok) {
        add_verdict(&facts, &v, kino__analysis_table(result, 0));
        add_ranks(&facts, &v, kino__analysis_table(result, 2));
        kino__verdict_note(&v, result);
    }
    if (ok && w->step_count == 0 && w->p->steps.count)
        v.reason = "none of these steps are in the traces";
    if (ok && v.reason)
        kino__result_lacks(result, "stragglers", ": %s", v.reason);
    else if (ok && v.slow.count == 0)
        kino__result_note(result, "no rank delays the others");
    kino__verdict_deinit(&v);
    kino__verdict_facts_deinit(&facts);
    return ok;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    work w = {.a = a, .p = p};
    bool ok = choose_steps(&w) && measure_steps(&w);
    const char *lack = ok ? what_lacks(&w) : NULL;
    if (ok && !lack) {
        ok = choose_kernels(&w);
        if (ok && !(w.mean_step > 0 && choose_series(&w)))
            lack = "no communication kernel of 1 % of a step or more runs on several ranks";
    }
    if (ok && lack && a->compat)
        kino__result_lacks(result, "stragglers", ": %s", lack);
    else if (ok && !lack)
        ok = add_stragglers(&w, kino__analysis_table(result, 0)) &&
             add_metric(&w, kino__analysis_table(result, 1));
    if (ok && !a->compat)
        ok = judge(&w, result);
    kino__note_cut(result, p->is_cut);
    free(w.steps);
    free(w.kernels);
    free(w.is_late);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_stragglers = {
    .name = "stragglers",
    .help = "which ranks delay the others",
    .description =
        "The local time of a rank is the step time less its exposed communication. A\n"
        "straggler is a rank whose local time is consistently longer than its peers': by\n"
        "more than 5 % of the step over the median of the peers (2.5 % if the peers\n"
        "differ little), in the median over the common steps and in at least 80 % of\n"
        "them, while the other ranks wait for it in communication for at least half of\n"
        "that time. Peers are all ranks, or in a pipeline those of the same stage. Only\n"
        "durations are compared, so clocks do not need to be synchronized. Collectives on\n"
        "the host (Gloo) count as well.\n"
        "\n"
        "HTA's method (with compat, and for the table metric) uses the communication\n"
        "kernel whose durations differ most between ranks (at least 1 % of a mean step);\n"
        "in each step, the latest `count` ranks score a point.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
