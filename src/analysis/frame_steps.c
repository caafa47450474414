/* frame_steps.c - which step a row belongs to, and the cut of the last one. */
#include <ctype.h>
#include <stdlib.h>

#include "analysis/frame_internal.h"
#include "base/compare.h"
#include "store/run.h"

int64_t kino__step_number(kino_str name, bool is_strict)
{
    static const char prefix[] = "ProfilerStep";
    size_t at = sizeof prefix - 1;
    if (name.size < at || memcmp(name.data, prefix, at) != 0)
        return KINO_NO_INT;
    while (!is_strict && at < name.size && isspace((unsigned char)name.data[at]))
        at++;
    if (at >= name.size || name.data[at] != '#')
        return KINO_NO_INT;
    at++;
    while (!is_strict && at < name.size && isspace((unsigned char)name.data[at]))
        at++;
    size_t digits = 0;
    while (at + digits < name.size && isdigit((unsigned char)name.data[at + digits]))
        digits++;
    int64_t number;
    if (digits == 0 || !kino__str_to_int((kino_str){name.data + at, digits}, &number))
        return KINO_NO_INT;
    return number;
}

/* -- iterations */

static bool is_step_row(const kino__frame *f, uint32_t at)
{
    kino__kind kind = kino__category_kind(f->trace->category[f->row[at]]);
    return kino__frame_is_hta(f) ||
           (kind != KINO__KIND_GPU_ANNOTATION && !kino__frame_is_device(f, at));
}

static bool find_steps(kino__frame *f)
{
    size_t names = kino__string_pool_count(&f->trace->strings);
    int64_t *number_of = malloc((names + 1) * sizeof *number_of);
    bool ok = number_of != NULL, has_any = false;
    for (kino_strid id = 0; ok && id < names; id++) {
        number_of[id] = kino__step_number(kino__trace_string(f->trace, id), false);
        has_any |= number_of[id] != KINO_NO_INT;
    }
    f->steps.count = 0;
    for (uint32_t at = 0; ok && has_any && at < f->count; at++) {
        kino_strid name = f->trace->name[f->row[at]];
        if (name == KINO_NO_STRING || number_of[name] == KINO_NO_INT || !is_step_row(f, at))
            continue;
        kino__frame_step *step = kino__vec_add(&f->steps);
        ok = step != NULL;
        if (ok)
            *step = (kino__frame_step){number_of[name], f->ts[at], f->dur[at], at};
        f->flags[at] |= KINO__FRAME_STEP;
    }
    free(number_of);
    return ok;
}

/* Pieces of time between the edges of steps, each with the last step (in frame order) that covers
 * it. */
typedef struct pieces {
    int64_t *edges;
    int64_t *number; /* of the piece from edge i to edge i + 1 */
    size_t count;    /* edges */
} pieces;

static size_t find_edge(const pieces *p, int64_t time)
{
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->edges[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* the first edge behind time */
}

/* Painting backwards: a piece keeps the first colour it gets; next[] skips what is painted. */
static bool cut_pieces(const kino__frame *f, pieces *p)
{
    size_t steps = f->steps.count;
    p->edges = malloc((2 * steps + 1) * sizeof *p->edges);
    p->number = malloc((2 * steps + 1) * sizeof *p->number);
    size_t *next = malloc((2 * steps + 2) * sizeof *next);
    if (!p->edges || !p->number || !next) {
        free(next);
        return false;
    }
    for (size_t i = 0; i < steps; i++) {
        p->edges[2 * i] = f->steps.items[i].ts;
        p->edges[2 * i + 1] = f->steps.items[i].ts + f->steps.items[i].dur;
    }
    if (steps)
        qsort(p->edges, 2 * steps, sizeof *p->edges, kino__compare_ints);
    for (size_t i = 0; i < 2 * steps; i++)
        if (p->count == 0 || p->edges[p->count - 1] != p->edges[i])
            p->edges[p->count++] = p->edges[i];
    for (size_t i = 0; i <= p->count; i++) {
        next[i] = i;
        if (i < p->count)
            p->number[i] = -1;
    }
    for (size_t i = steps; i-- > 0;) {
        const kino__frame_step *step = &f->steps.items[i];
        size_t from = find_edge(p, step->ts) - 1, to = find_edge(p, step->ts + step->dur) - 1;
        for (size_t at = from; step->dur > 0;) {
            /* Both ends of a step are edges, so from is never -1 and next[] ends at p->count:
             * NOLINTBEGIN(clang-analyzer-core.*) */
            while (next[at] != at)
                at = next[at] = next[next[at]];
            /* NOLINTEND(clang-analyzer-core.*) */
            if (at >= to)
                break;
            p->number[at] = step->number;
            next[at] = at + 1;
        }
    }
    free(next);
    return true;
}

static int64_t number_at(const pieces *p, int64_t time)
{
    size_t edge = find_edge(p, time);
    return edge == 0 || edge == p->count ? -1 : p->number[edge - 1];
}

bool kino__frame_find_iterations(kino__frame *f)
{
    pieces p = {0};
    bool ok = find_steps(f) && cut_pieces(f, &p);
    for (uint32_t at = 0; ok && at < f->count; at++) {
        bool is_op = kino__str_is(
            kino__trace_category_text(f->trace, f->trace->category[f->row[at]]), "cpu_op");
        bool is_host = kino__frame_is_hta(f) ? f->stream[at] < 0 || (is_op && f->stream[at] == 0)
                                             : !kino__frame_is_device(f, at);
        if (is_host)
            f->iteration[at] = number_at(&p, f->ts[at]);
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        bool is_hta = kino__frame_is_hta(f);
        bool is_device = is_hta ? f->stream[at] > 0 : kino__frame_is_device(f, at);
        bool is_op = kino__str_is(
            kino__trace_category_text(f->trace, f->trace->category[f->row[at]]), "cpu_op");
        if (is_device)
            f->iteration[at] = f->link[at] >= 0 ? f->iteration[f->link[at]] : -1;
        else if (is_hta && f->stream[at] == 0 && !is_op)
            f->iteration[at] = KINO_NO_INT;
    }
    free(p.edges);
    free(p.number);
    return ok;
}

/* -- the cut */

/* Distinct step names of all traces of the run: with one or none, nothing is cut. */
static bool has_several_steps(const kino__frame *f)
{
    const kino__run *run = f->trace->run;
    int64_t seen = KINO_NO_INT;
    for (size_t i = 0; i < (run ? run->traces.count : 1); i++) {
        const kino__trace *trace = run ? run->traces.items[i] : f->trace;
        for (kino_strid id = 0; id < kino__string_pool_count(&trace->strings); id++) {
            int64_t number = kino__step_number(kino__trace_string(trace, id), true);
            if (number == KINO_NO_INT)
                continue;
            if (seen != KINO_NO_INT && seen != number)
                return true;
            seen = number;
        }
    }
    return false;
}

/* Where the last step starts; without steps where the host's rows do. */
static int64_t find_limit(const kino__frame *f)
{
    int64_t limit = INT64_MIN, first = INT64_MAX;
    for (uint32_t at = 0; at < f->count; at++) {
        if (f->flags[at] & KINO__FRAME_GPU_SIDE)
            continue;
        first = f->ts[at] < first ? f->ts[at] : first;
        if (f->flags[at] & KINO__FRAME_STEP && f->ts[at] > limit)
            limit = f->ts[at];
    }
    return limit == INT64_MIN ? first : limit;
}

static void move_row(kino__frame *f, const kino__frame *from, uint32_t to, uint32_t at)
{
    f->row[to] = from->row[at];
    f->ts[to] = from->ts[at];
    f->dur[to] = from->dur[at];
    f->stream[to] = from->stream[at];
    f->correlation[to] = from->correlation[at];
    f->link[to] = from->link[at];
    f->iteration[to] = from->iteration[at];
    f->flags[to] = from->flags[at];
    f->type[to] = from->type[at];
}

/* How often a device row is kept: HTA once for each host row of its correlation. */
typedef struct kept_rows {
    uint32_t *host_count; /* by the position of the last host row of a correlation: rows kept */
    uint8_t *is_kept;
} kept_rows;

static bool count_hosts(const kino__frame *f, kept_rows *k, int64_t limit, bool has_last_step)
{
    kino__map by_correlation;
    kino__map_init(&by_correlation, NULL);
    k->host_count = calloc((size_t)f->count + 1, sizeof *k->host_count);
    k->is_kept = calloc((size_t)f->count + 1, 1);
    bool ok = k->host_count && k->is_kept;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (f->flags[at] & KINO__FRAME_GPU_SIDE)
            continue;
        k->is_kept[at] = has_last_step || f->ts[at] < limit;
        if (!k->is_kept[at] || f->correlation[at] == -1)
            continue;
        uint32_t *count = kino__map_put(&by_correlation, (uint64_t)f->correlation[at], 0);
        ok = count != NULL;
        if (ok)
            ++*count;
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!(f->flags[at] & KINO__FRAME_GPU_SIDE) || f->correlation[at] == -1)
            continue;
        const uint32_t *count = kino__map_get(&by_correlation, (uint64_t)f->correlation[at]);
        k->host_count[at] = !count ? 0 : kino__frame_is_hta(f) ? *count : 1;
    }
    kino__map_deinit(&by_correlation);
    return ok;
}

/* MTIA: host rows wholly inside the steps, their device rows, and memory work inside a step. */
static bool keep_mtia(kino__frame *f, kept_rows *k)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < f->steps.count; i++) {
        const kino__frame_step *step = &f->steps.items[i];
        first = step->ts < first ? step->ts : first;
        last = step->ts + step->dur > last ? step->ts + step->dur : last;
    }
    kino__map kept;
    kino__map_init(&kept, NULL);
    bool ok = true;
    const uint32_t host_kinds = KINO__KIND_BIT(KINO__KIND_OP) |
                                KINO__KIND_BIT(KINO__KIND_ANNOTATION) |
                                KINO__KIND_BIT(KINO__KIND_RUNTIME);
    for (uint32_t at = 0; ok && at < f->count; at++) {
        kino__kind kind = kino__category_kind(f->trace->category[f->row[at]]);
        if (!(host_kinds & KINO__KIND_BIT(kind)) || f->ts[at] < first ||
            kino__frame_end(f, at) > last)
            continue;
        k->is_kept[at] = 1;
        if (f->correlation[at] != -1)
            ok = kino__map_put(&kept, (uint64_t)f->correlation[at], 1) != NULL;
    }
    for (uint32_t at = 0; ok && at < f->count; at++) {
        kino__kind kind = kino__category_kind(f->trace->category[f->row[at]]);
        if (!(KINO__KINDS_DEVICE & KINO__KIND_BIT(kind)))
            continue;
        k->is_kept[at] =
            f->correlation[at] != -1 && kino__map_get(&kept, (uint64_t)f->correlation[at]) != NULL;
        for (size_t i = 0; f->type[at] == KINO__KERNEL_MEMORY && i < f->steps.count; i++) {
            const kino__frame_step *step = &f->steps.items[i];
            if (f->ts[at] < step->ts || f->ts[at] >= step->ts + step->dur)
                continue;
            k->is_kept[at] = 1;
            if (f->iteration[at] == -1 || f->iteration[at] == KINO_NO_INT)
                f->iteration[at] = step->number;
        }
    }
    kino__map_deinit(&kept);
    return ok;
}

/* Rebuilds the frame from what is kept: device rows first, then the host's. */
static bool rebuild(kino__frame *f, const kept_rows *k, bool is_mtia)
{
    size_t total = 0;
    for (uint32_t at = 0; at < f->count; at++)
        total += k->host_count[at] + k->is_kept[at];
    kino__frame from = *f;
    uint32_t *position = malloc(((size_t)f->count + 1) * sizeof *position);
    kino__frame fresh = *f;
    total++;
    fresh.row = malloc(total * sizeof *f->row);
    fresh.ts = malloc(total * sizeof *f->ts);
    fresh.dur = malloc(total * sizeof *f->dur);
    fresh.stream = malloc(total * sizeof *f->stream);
    fresh.correlation = malloc(total * sizeof *f->correlation);
    fresh.link = malloc(total * sizeof *f->link);
    fresh.iteration = malloc(total * sizeof *f->iteration);
    fresh.flags = malloc(total);
    fresh.type = malloc(total);
    bool ok = position && fresh.row && fresh.ts && fresh.dur && fresh.stream && fresh.correlation &&
              fresh.link && fresh.iteration && fresh.flags && fresh.type;
    uint32_t count = 0;
    if (ok)
        memset(position, 0xff, (size_t)f->count * sizeof *position);
    for (int pass = 0; ok && pass < 2; pass++) {
        for (uint32_t at = 0; at < from.count; at++) {
            bool is_device = !is_mtia && from.flags[at] & KINO__FRAME_GPU_SIDE;
            if ((pass == 0) != is_device)
                continue;
            uint32_t copies = is_device ? k->host_count[at] : k->is_kept[at];
            position[at] = copies ? count : KINO_NO_ROW;
            for (uint32_t c = 0; c < copies; c++)
                move_row(&fresh, &from, count++, at);
        }
    }
    for (uint32_t at = 0; ok && at < count; at++)
        if (fresh.link[at] >= 0)
            fresh.link[at] = position[fresh.link[at]] == KINO_NO_ROW
                                 ? KINO__LINK_CUT
                                 : (int32_t)position[fresh.link[at]];
    free(position);
    kino__frame *gone = ok ? &from : &fresh;
    free(gone->row);
    free(gone->ts);
    free(gone->dur);
    free(gone->stream);
    free(gone->correlation);
    free(gone->link);
    free(gone->iteration);
    free(gone->flags);
    free(gone->type);
    if (!ok)
        return false;
    *f = fresh;
    f->count = count;
    memset(f->at_of_row, 0xff, (size_t)f->trace->event_count * sizeof *f->at_of_row);
    for (uint32_t at = 0; at < count; at++)
        f->at_of_row[f->row[at]] = at;
    return find_steps(f);
}

bool kino__frame_cut(kino__frame *f, bool has_last_step)
{
    if (!has_several_steps(f))
        return true;
    kept_rows k = {0};
    bool is_mtia = f->device_kind == KINO__DEVICE_MTIA;
    bool ok;
    if (is_mtia) {
        k.host_count = calloc((size_t)f->count + 1, sizeof *k.host_count);
        k.is_kept = calloc((size_t)f->count + 1, 1);
        ok = k.host_count && k.is_kept && keep_mtia(f, &k);
    } else {
        ok = count_hosts(f, &k, find_limit(f), has_last_step);
    }
    ok = ok && rebuild(f, &k, is_mtia);
    f->is_cut = ok && !has_last_step;
    free(k.host_count);
    free(k.is_kept);
    return ok;
}
