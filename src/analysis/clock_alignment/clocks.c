/* clocks.c - aligning clocks, round by round; see the header.
 *
 *   round 1   the reference (first trace)     aligns all that share enough calls with it
 *   round 2   all those                       align the ones that share calls with any of them
 *
 * The reference time of a call is the median of the aligned ranks' ends, on the reference clock.
 * Linear in the calls per round, and sorts; a round more for each step that ranks are apart. */
#include "analysis/clock_alignment/clocks.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/distributed/collective_match.h"
#include "analysis/say.h"
#include "base/compare.h"

/* Above these nothing is said: an error that hides who is late, a drift that no clock has, calls
 * that contradict each other. */
enum { LEAST_BIAS_NS = 1000 }; /* what clocks are read to */
enum { MOST_ERROR_NS = 1000000, MOST_DRIFT_PPM = 1000, MOST_ODD_PERCENT = 10, LEAST_PERCENT = 50 };

/* One call, as those see it that are aligned. */
typedef struct reference {
    int64_t end;   /* median; KINO_NO_TIME: nobody is */
    int64_t start; /* of the last one */
    int64_t size;
    double bias, chance, drift_error; /* the largest of theirs */
} reference;

typedef struct solver {
    const kino__clock_facts *facts;
    kino__clocks *clocks;
    kino__clock_matches matches;
    uint32_t *first_call;  /* of each trace, in the facts; one more at the end */
    reference *references; /* by number */
    kino__clock_point *points;
    int64_t *ends;
    bool *is_shared; /* by kind */
} solver;

static void solver_deinit(solver *s)
{
    kino__clock_matches_deinit(&s->matches);
    free(s->first_call);
    free(s->references);
    free(s->points);
    free(s->ends);
    free(s->is_shared);
}

static bool is_aligned(const solver *s, uint32_t trace)
{
    return kino__clock_is_known(&s->clocks->items.items[trace]);
}

/* -- which calls are the same -- */

static bool number_calls(const kino__clock_facts *facts, kino__clock_matches *m)
{
    size_t count = facts->calls.count;
    kino__match_entry *entries = calloc(count + 1, sizeof *entries);
    for (size_t i = 0; entries && i < count; i++) {
        const kino__clock_call *c = &facts->calls.items[i];
        entries[i] = (kino__match_entry){c->trace, c->kind, c->series};
    }
    m->call_of = entries ? kino__match_calls(entries, count) : NULL;
    free(entries);
    for (size_t i = 0; m->call_of && i < count; i++)
        m->count = m->call_of[i] >= m->count ? m->call_of[i] + (size_t)1 : m->count;
    return m->call_of != NULL;
}

/* A counting sort: calls of one number stand together, in the order of traces. */
static bool group(const kino__clock_facts *facts, kino__clock_matches *m)
{
    size_t count = facts->calls.count;
    uint32_t *place = calloc(m->count + 2, sizeof *place);
    m->by_call = malloc((count + 1) * sizeof *m->by_call);
    for (size_t i = 0; place && i < count; i++)
        place[m->call_of[i] + 1]++;
    for (size_t n = 0; place && n < m->count; n++)
        place[n + 1] += place[n];
    for (size_t i = 0; place && m->by_call && i < count; i++)
        m->by_call[place[m->call_of[i]]++] = (uint32_t)i;
    free(place);
    return place && m->by_call;
}

bool kino__clock_match(const kino__clock_facts *facts, kino__clock_matches *out)
{
    *out = (kino__clock_matches){0};
    return number_calls(facts, out) && group(facts, out);
}

void kino__clock_matches_deinit(kino__clock_matches *matches)
{
    free(matches->call_of);
    free(matches->by_call);
}

size_t kino__clock_matches_next(const kino__clock_matches *m, const kino__clock_facts *facts,
                                size_t at)
{
    uint32_t number = m->call_of[m->by_call[at++]];
    while (at < facts->calls.count && m->call_of[m->by_call[at]] == number)
        at++;
    return at;
}

static bool init(solver *s, const kino__clock_facts *facts, kino__clocks *clocks)
{
    size_t count = facts->calls.count, traces = facts->traces.count;
    *s = (solver){.facts = facts, .clocks = clocks};
    s->first_call = calloc(traces + 1, sizeof *s->first_call);
    s->points = malloc((count + 1) * sizeof *s->points);
    s->ends = malloc((traces + 1) * sizeof *s->ends);
    s->is_shared = malloc(kino__string_pool_count(&facts->kinds) + 1);
    for (size_t i = 0; s->first_call && i < count; i++)
        s->first_call[facts->calls.items[i].trace + 1]++;
    for (size_t t = 0; s->first_call && t < traces; t++)
        s->first_call[t + 1] += s->first_call[t];
    if (!s->first_call || !s->points || !s->ends || !s->is_shared ||
        !kino__clock_match(facts, &s->matches))
        return false;
    s->references = malloc((s->matches.count + 1) * sizeof *s->references);
    return s->references != NULL;
}

/* -- the reference -- */

static void refer(solver *s, reference *r, const uint32_t *members, size_t count)
{
    size_t found = 0;
    *r = (reference){.end = KINO_NO_TIME, .start = INT64_MIN, .size = KINO_NO_INT};
    for (size_t i = 0; i < count; i++) {
        const kino__clock_call *c = &s->facts->calls.items[members[i]];
        const kino__clock *clock = &s->clocks->items.items[c->trace];
        if (!is_aligned(s, c->trace))
            continue;
        int64_t start = kino__clock_to_reference(&clock->line, c->start);
        s->ends[found++] = kino__clock_to_reference(&clock->line, c->end);
        r->start = start > r->start ? start : r->start;
        r->size = r->size == KINO_NO_INT ? c->size : r->size;
        r->bias = fmax(r->bias, clock->line.bias);
        r->chance = fmax(r->chance, clock->line.chance);
        r->drift_error = fmax(r->drift_error, clock->line.drift_error);
    }
    if (found == 0)
        return;
    qsort(s->ends, found, sizeof *s->ends, kino__compare_ints);
    r->end = s->ends[found / 2];
}

static void refer_all(solver *s)
{
    const kino__clock_matches *m = &s->matches;
    for (size_t i = 0, next; i < s->facts->calls.count; i = next) {
        next = kino__clock_matches_next(m, s->facts, i);
        refer(s, &s->references[m->call_of[m->by_call[i]]], m->by_call + i, next - i);
    }
}

/* -- one rank -- */

typedef struct shared {
    size_t count;       /* points */
    int64_t between;    /* calls of the same kinds between the first and the last of them */
    int64_t other_size; /* points whose size is another */
    double bias, chance, drift_error; /* of the reference */
} shared;

static const reference *reference_of(const solver *s, uint32_t call)
{
    return &s->references[s->matches.call_of[call]];
}

/* Kinds of calls that the trace shares with aligned ones. */
static void mark_kinds(solver *s, uint32_t trace)
{
    memset(s->is_shared, 0, kino__string_pool_count(&s->facts->kinds));
    for (uint32_t i = s->first_call[trace]; i < s->first_call[trace + 1]; i++)
        if (reference_of(s, i)->end != KINO_NO_TIME)
            s->is_shared[s->facts->calls.items[i].kind] = true;
}

/* The points of a trace. */
static shared find_shared(solver *s, uint32_t trace)
{
    shared found = {0};
    int64_t since = 0; /* the last point */
    mark_kinds(s, trace);
    for (uint32_t i = s->first_call[trace]; i < s->first_call[trace + 1]; i++) {
        const kino__clock_call *c = &s->facts->calls.items[i];
        const reference *r = reference_of(s, i);
        since += s->is_shared[c->kind];
        if (r->end == KINO_NO_TIME)
            continue;
        found.between += found.count ? since : 1;
        since = 0;
        found.other_size += r->size != KINO_NO_INT && c->size != KINO_NO_INT && c->size != r->size;
        s->points[found.count++] = (kino__clock_point){r->end, kino__difference(c->end, r->end)};
        found.bias = fmax(found.bias, r->bias);
        found.chance = fmax(found.chance, r->chance);
        found.drift_error = fmax(found.drift_error, r->drift_error);
    }
    return found;
}

/* Calls of which somebody would leave before somebody came. */
static size_t count_odd(const solver *s, uint32_t trace, const kino__clock_line *line)
{
    size_t odd = 0;
    double room = 2 * kino__clock_error(line) + 10 * line->scatter;
    for (uint32_t i = s->first_call[trace]; i < s->first_call[trace + 1]; i++) {
        const kino__clock_call *c = &s->facts->calls.items[i];
        const reference *r = reference_of(s, i);
        if (r->end == KINO_NO_TIME)
            continue;
        int64_t start = kino__clock_to_reference(line, c->start);
        int64_t end = kino__clock_to_reference(line, c->end);
        odd += (double)kino__difference(start, r->end) > room ||
               (double)kino__difference(r->start, end) > room;
    }
    return odd;
}

static kino__clock_reason judge(const solver *s, uint32_t trace, const shared *found,
                                const kino__clock_line *line)
{
    if (!(fabs(line->drift) * 1e6 <= MOST_DRIFT_PPM))
        return KINO__CLOCK_DRIFT;
    if (!(kino__clock_error(line) <= MOST_ERROR_NS))
        return KINO__CLOCK_SCATTER;
    if (count_odd(s, trace, line) * 100 > found->count * MOST_ODD_PERCENT)
        return KINO__CLOCK_CONTRADICTS;
    return KINO__CLOCK_ALIGNED;
}

static kino__clock_reason reason_without(const shared *found, int64_t calls)
{
    int64_t count = (int64_t)found->count;
    if (calls == 0)
        return KINO__CLOCK_NO_CALLS;
    if (count < KINO__CLOCK_LEAST_POINTS)
        return KINO__CLOCK_TOO_FEW;
    if (count * 100 < found->between * LEAST_PERCENT)
        return KINO__CLOCK_UNMATCHED;
    return found->other_size * 100 > count * MOST_ODD_PERCENT ? KINO__CLOCK_SIZES
                                                              : KINO__CLOCK_ALIGNED;
}

/* What chance does adds up as chances do; a bias is one of two ranks, whoever stands between. */
static void add_reference(kino__clock_line *line, const shared *found)
{
    line->bias = fmax(fmax(line->bias, LEAST_BIAS_NS), found->bias);
    line->chance = hypot(line->chance, found->chance);
    line->drift_error = hypot(line->drift_error, found->drift_error);
}

/* The line has to be right for all times of the trace. False when memory is out. */
static bool align(solver *s, uint32_t trace, kino__clock *out)
{
    const kino__clock_trace *t = &s->facts->traces.items[trace];
    shared found = find_shared(s, trace);
    out->calls = s->first_call[trace + 1] - s->first_call[trace];
    out->matched = (int64_t)found.count;
    out->reason = reason_without(&found, out->calls);
    if (out->reason != KINO__CLOCK_ALIGNED)
        return true;
    kino__clock_line line;
    int64_t away = s->points[0].away; /* all others are as far, but for the drift */
    if (t->first > t->last ||
        !kino__clock_fit(s->points, found.count, kino__difference(t->first, away),
                         kino__difference(t->last, away), &line))
        return false;
    add_reference(&line, &found);
    out->reason = judge(s, trace, &found, &line);
    out->line = line;
    return true;
}

/* Aligns what can be aligned with those that are; *is_changed: some could. */
static bool align_round(solver *s, kino__clock *fresh, bool *is_changed)
{
    size_t traces = s->facts->traces.count;
    refer_all(s);
    *is_changed = false;
    for (uint32_t t = 0; t < traces; t++) {
        fresh[t] = s->clocks->items.items[t];
        if (is_aligned(s, t))
            continue;
        if (!align(s, t, &fresh[t]))
            return false;
        *is_changed |= kino__clock_is_known(&fresh[t]);
    }
    memcpy(s->clocks->items.items, fresh, traces * sizeof *fresh);
    return true;
}

/* -- the whole -- */

static bool begin(const kino__clock_facts *facts, kino__clocks *out)
{
    size_t traces = facts->traces.count;
    if (!kino__vec_reserve(&out->items, traces))
        return false;
    for (size_t t = 0; t < traces; t++)
        out->items.items[t] = (kino__clock){.rank = facts->traces.items[t].rank,
                                            .index = facts->traces.items[t].index,
                                            .reason = KINO__CLOCK_NO_CALLS};
    out->items.count = traces;
    return true;
}

/* The first trace that has calls. */
static void choose_reference(const solver *s, kino__clocks *out)
{
    for (size_t t = 0; t < out->items.count; t++) {
        int64_t calls = s->first_call[t + 1] - s->first_call[t];
        if (calls == 0)
            continue;
        out->items.items[t].reason = KINO__CLOCK_REFERENCE;
        out->items.items[t].calls = calls;
        return;
    }
}

bool kino__clocks_find(const kino__clock_facts *facts, kino__clocks *out)
{
    *out = (kino__clocks){0};
    solver s = {0};
    kino__clocks *clocks = out;
    kino__clock *fresh = malloc((facts->traces.count + 1) * sizeof *fresh);
    bool ok = fresh && begin(facts, out) && init(&s, facts, clocks);
    if (ok)
        choose_reference(&s, out);
    for (bool is_changed = ok; ok && is_changed;)
        ok = align_round(&s, fresh, &is_changed);
    for (size_t t = 0; ok && t < out->items.count; t++)
        if (!kino__clock_is_known(&out->items.items[t]) &&
            out->items.items[t].reason < KINO__CLOCK_SCATTER)
            out->items.items[t].line = (kino__clock_line){0};
    solver_deinit(&s);
    free(fresh);
    return ok;
}

void kino__clocks_deinit(kino__clocks *clocks)
{
    kino__vec_deinit(&clocks->items);
}

/* -- words -- */

void kino__clock_say_reason(const kino__clock *clock, kino__buffer *out)
{
    long long calls = clock->calls, matched = clock->matched;
    switch (clock->reason) {
    case KINO__CLOCK_NO_CALLS:
        kino__buffer_printf(out, "no collectives that end on all ranks together");
        break;
    case KINO__CLOCK_TOO_FEW:
        kino__buffer_printf(out,
                            "%lld of its %lld collectives match those of aligned ranks; at least "
                            "%d are needed",
                            matched, calls, KINO__CLOCK_LEAST_POINTS);
        break;
    case KINO__CLOCK_UNMATCHED:
        kino__buffer_printf(out, "most of its collectives have no match (%lld of %lld have one)",
                            matched, calls);
        break;
    case KINO__CLOCK_SIZES:
        kino__buffer_printf(out, "collectives that should match have different sizes");
        break;
    case KINO__CLOCK_SCATTER:
        kino__buffer_printf(out, "ends of matched collectives scatter by %s",
                            kino__say_time((int64_t)fmin(clock->line.scatter, 1e18)));
        break;
    case KINO__CLOCK_DRIFT:
        kino__buffer_printf(out, "its clock would drift by %.0f ppm, which no clock does",
                            1e6 * clock->line.drift);
        break;
    case KINO__CLOCK_CONTRADICTS:
        kino__buffer_printf(out, "collectives would end on some ranks before others start them");
        break;
    case KINO__CLOCK_ALIGNED:
    case KINO__CLOCK_REFERENCE:
    case KINO__CLOCK_REASONS:
        break;
    }
}
