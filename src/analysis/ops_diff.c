/* ops_diff.c - which operators and kernels ran more or less often, or longer, in one trace or step
 * than in another?
 *
 * Method: names of the spans of some steps of two traces are counted and their durations added; the
 * two lists are joined by name. Which trace is on which side is known only when all are there, so
 * each gives both lists.
 * Cost: linear in the spans, n log n in the names. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"

enum { P_CONTROL, P_TEST, P_CONTROL_STEPS, P_TEST_STEPS, P_DEVICE, P_SHORT };
enum { CONTROL, TEST, SIDES };

static const kino_param_info params[] = {
    [P_CONTROL] = {"control", KINO_TYPE_STRING, NULL,
                   "trace on the left: a rank or a part of its path (default: the first)", NULL},
    [P_TEST] = {"test", KINO_TYPE_STRING, NULL,
                "trace on the right (default: the next, or the same if there is only one)", NULL},
    [P_CONTROL_STEPS] = {"control_steps", KINO_TYPE_STRING, NULL,
                         "steps on the left, such as 5 or 3-7 (default: the first)", NULL},
    [P_TEST_STEPS] = {"test_steps", KINO_TYPE_STRING, NULL,
                      "steps on the right (default: the first)", NULL},
    [P_DEVICE] = {"device", KINO_TYPE_STRING, "all", "only what ran on the host or on the device",
                  "all|cpu|gpu"},
    [P_SHORT] = {"short_names", KINO_TYPE_BOOL, "no",
                 "names without templates and arguments, which may merge several", NULL},
    {0},
};

/* -- what a trace gives: integers and texts -- */

typedef struct sum {
    int64_t trace, side;
    kino_str name;
    int64_t count, dur; /* ns */
} sum;

typedef struct source {
    int64_t rank;
    kino_str path;
    int64_t first[SIDES], last[SIDES]; /* steps of the list; KINO_NO_INT: it has none, all spans */
    bool has_steps[SIDES];             /* false: not those that were asked for */
    int64_t outside;                   /* spans in no step, where there are steps */
} source;

typedef struct partial {
    KINO__VEC(source) sources; /* one a trace */
    KINO__VEC(sum) sums;
    kino__string_pool texts;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->sources);
    kino__vec_deinit(&p->sums);
    kino__string_pool_deinit(&p->texts);
}

/* "5" or "3-7"; true without text. */
static bool parse_steps(kino_str text, int64_t *first, int64_t *last)
{
    *first = *last = KINO_NO_INT;
    if (text.size == 0)
        return true;
    const char *dash = memchr(text.data, '-', text.size);
    kino_str low = {text.data, dash ? (size_t)(dash - text.data) : text.size};
    kino_str high = dash ? (kino_str){dash + 1, text.size - low.size - 1} : low;
    return kino__str_to_int(low, first) && kino__str_to_int(high, last) && *first >= 0 &&
           *first <= *last;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    int64_t first, last;
    for (size_t i = P_CONTROL_STEPS; i <= P_TEST_STEPS; i++)
        if (!parse_steps(kino__param_text(a, i), &first, &last))
            return kino__fail(err, KINO_ARGUMENT,
                              "invalid value '%.*s' for parameter '%s' (expected: a step or a "
                              "range such as 5 or 3-7)",
                              (int)kino__param_text(a, i).size, kino__param_text(a, i).data,
                              params[i].name);
    return KINO_OK;
}

/* The steps of each side in this trace: those asked for, or the smallest. */
static source find_steps(const kino__analysis *a, const kino__frame *f)
{
    source s = {.rank = f->trace->rank, .path = f->trace->path};
    int64_t smallest = KINO_NO_INT;
    for (uint32_t at = 0; at < f->count; at++)
        if (f->iteration[at] >= 0 && (smallest == KINO_NO_INT || f->iteration[at] < smallest))
            smallest = f->iteration[at];
    for (int side = 0; side < SIDES; side++) {
        size_t param = side == CONTROL ? P_CONTROL_STEPS : P_TEST_STEPS;
        bool is_given = kino__param_text(a, param).size > 0;
        s.has_steps[side] = !is_given;
        if (!is_given || !parse_steps(kino__param_text(a, param), &s.first[side], &s.last[side]))
            s.first[side] = s.last[side] = smallest;
        for (uint32_t at = 0; is_given && at < f->count && !s.has_steps[side]; at++)
            s.has_steps[side] =
                f->iteration[at] >= s.first[side] && f->iteration[at] <= s.last[side];
    }
    return s;
}

typedef struct counts {
    int64_t count, dur;
} counts;

static bool is_candidate(const kino__frame *f, uint32_t at, kino_str device)
{
    bool is_device = kino__frame_is_device(f, at);
    if ((kino__str_is(device, "cpu") && is_device) || (kino__str_is(device, "gpu") && !is_device))
        return false;
    return f->trace->name[f->row[at]] != KINO_NO_STRING &&
           f->at_of_row[f->row[at]] == at; /* else doubled by HTA's cut */
}

/* Without steps: all. */
static bool is_in_steps(const kino__frame *f, uint32_t at, int64_t first, int64_t last)
{
    return first == KINO_NO_INT || (f->iteration[at] >= first && f->iteration[at] <= last);
}

static int64_t count_outside(const kino__frame *f, const source *s, kino_str device)
{
    int64_t count = 0;
    for (uint32_t at = 0; s->first[CONTROL] != KINO_NO_INT && at < f->count; at++)
        count += f->iteration[at] < 0 && is_candidate(f, at, device);
    return count;
}

/* The name that tables show, kept in the partial; no data when memory is out. */
static kino_str shown_name(const kino__analysis *a, partial *p, kino_str name, kino__buffer *text)
{
    if (!kino__param_bool(a, P_SHORT))
        return name;
    bool is_memory = kino__str_starts_with(name, KINO__STR("Memcpy")) ||
                     kino__str_starts_with(name, KINO__STR("Memset"));
    text->size = 0;
    kino__short_name(name, is_memory, text);
    kino_strid id =
        text->failed ? KINO_NO_STRING : kino__string_pool_add(&p->texts, kino__buffer_str(text));
    return id == KINO_NO_STRING ? (kino_str){NULL, 0} : kino__string_pool_text(&p->texts, id);
}

static bool add_side(const kino__analysis *a, partial *p, const kino__frame *f, const source *s,
                     int side)
{
    size_t names = kino__string_pool_count(&f->trace->strings);
    counts *of_name = calloc(names + 1, sizeof *of_name);
    kino_str device = kino__param_text(a, P_DEVICE);
    kino__buffer text = {0};
    bool ok = of_name != NULL;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!is_candidate(f, at, device) || !is_in_steps(f, at, s->first[side], s->last[side]))
            continue;
        kino_strid name = f->trace->name[f->row[at]];
        of_name[name].count++;
        of_name[name].dur = kino__sum(of_name[name].dur, kino__frame_ns(f, f->dur[at]));
    }
    for (kino_strid id = 0; ok && id < names; id++) {
        if (of_name[id].count == 0)
            continue;
        kino_str name = shown_name(a, p, kino__trace_string(f->trace, id), &text);
        sum *slot = name.data ? kino__vec_add(&p->sums) : NULL;
        ok = slot != NULL;
        if (ok)
            *slot = (sum){0, side, name, of_name[id].count, of_name[id].dur};
    }
    free(of_name);
    kino__buffer_deinit(&text);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_of(trace, kino__frame_mode_of(a), true, a->pool);
    kino__string_pool_init(&p->texts, NULL);
    source *s = f ? kino__vec_add(&p->sources) : NULL;
    if (!s)
        return kino__fail_nomem(err);
    *s = find_steps(a, f);
    s->outside = count_outside(f, s, kino__param_text(a, P_DEVICE));
    for (int side = 0; side < SIDES; side++)
        if (!add_side(a, p, f, s, side))
            return kino__fail_nomem(err);
    return KINO_OK;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->sums, more->sums.count) ||
        !kino__vec_reserve(&p->sources, more->sources.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->sums.count; i++) {
        sum s = more->sums.items[i];
        s.trace = kino__sum(s.trace, (int64_t)p->sources.count);
        if (kino__param_bool(a, P_SHORT)) {
            kino_strid text = kino__string_pool_add(&p->texts, s.name);
            if (text == KINO_NO_STRING)
                return kino__fail_nomem(err);
            s.name = kino__string_pool_text(&p->texts, text);
        }
        p->sums.items[p->sums.count++] = s;
    }
    for (size_t i = 0; i < more->sources.count; i++)
        p->sources.items[p->sources.count++] = more->sources.items[i];
    return KINO_OK;
}

static void pack_sum(kino__pack *pack, sum *s)
{
    KINO__PACK(pack, &s->trace, &s->side, &s->name, &s->count, &s->dur);
}

static void pack_source(kino__pack *pack, source *s)
{
    KINO__PACK(pack, &s->rank, &s->path);
    for (int side = 0; side < SIDES; side++) {
        KINO__PACK(pack, &s->first[side], &s->last[side], &s->has_steps[side]);
    }
    kino__pack_tally(pack, &s->outside);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->sources, pack_source);
    KINO__PACK_VEC(pack, &p->sums, pack_sum);
}

/* -- the answer -- */

static const kino_column columns[] = {
    {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,
     "name of an operator, call, annotation or kernel"},
    {"control_counts", KINO_TYPE_INT, "count", "number on the left"},
    {"control_total_duration", KINO_TYPE_DURATION, NULL, "sum of durations on the left"},
    {"test_counts", KINO_TYPE_INT, "count", "number on the right"},
    {"test_total_duration", KINO_TYPE_DURATION, NULL, "sum of durations on the right"},
    {"diff_counts", KINO_TYPE_INT, "count", "right - left"},
    {"diff_duration", KINO_TYPE_DURATION, NULL, "right - left"},
    {"counts_change_categories", KINO_TYPE_STRING, NULL, "+, - or ="},
    {"change", KINO_TYPE_STRING, NULL, "added, deleted, increased, decreased or unchanged"},
    {0},
};

static const kino_column side_columns[] = {
    {"side", KINO_TYPE_STRING, NULL, "control or test"},
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"path", KINO_TYPE_STRING, NULL, "of the trace"},
    {"first_step", KINO_TYPE_INT, NULL, "null: the trace has no steps, so all of it is compared"},
    {"last_step", KINO_TYPE_INT, NULL, NULL},
    {"names", KINO_TYPE_INT, "count", "that occur"},
    {0},
};

static const kino_table_info tables[] = {
    {"ops_diff", "one row per name, by name", columns, NULL, "nothing to compare"},
    {"sides", "one row per side: what is compared", side_columns, NULL, NULL},
    {0},
};

static const char *const side_names[SIDES] = {"control", "test"};

static bool is_meant(const source *s, kino_str which)
{
    int64_t rank;
    if (which.size == 0)
        return true;
    if (kino__str_to_int(which, &rank))
        return s->rank == rank;
    return s->path.size && memmem(s->path.data, s->path.size, which.data, which.size) != NULL;
}

/* The trace of a side; -1: none. The right one is another than the left one, where there is one. */
static int64_t find_source(const partial *p, kino_str which, int64_t taken)
{
    int64_t found = -1;
    for (size_t i = 0; i < p->sources.count; i++)
        if (is_meant(&p->sources.items[i], which) && (found < 0 || found == taken))
            found = (int64_t)i;
    return found;
}

static kino_status choose(const kino__analysis *a, const partial *p, int64_t chosen[SIDES],
                          kino_error *err)
{
    for (int side = 0; side < SIDES; side++) {
        kino_str which = kino__param_text(a, side == CONTROL ? P_CONTROL : P_TEST);
        chosen[side] = find_source(p, which, side == TEST ? chosen[CONTROL] : -1);
        if (chosen[side] < 0 && p->sources.count > 0)
            return kino__fail(err, KINO_NOT_FOUND,
                              "no trace for '%s': none has the rank or path '%.*s'",
                              side_names[side], (int)which.size, which.data);
        if (chosen[side] < 0)
            continue;
        const source *s = &p->sources.items[chosen[side]];
        if (!s->has_steps[side])
            return kino__fail(err, KINO_NOT_FOUND, "no step %.*s in the trace for '%s'",
                              (int)kino__param_text(a, P_CONTROL_STEPS + (size_t)side).size,
                              kino__param_text(a, P_CONTROL_STEPS + (size_t)side).data,
                              side_names[side]);
    }
    return KINO_OK;
}

typedef struct joined {
    kino_str name;
    counts side[SIDES];
} joined;

typedef KINO__VEC(joined) joined_rows;

static int compare_joined(const void *a, const void *b)
{
    return kino__str_compare(((const joined *)a)->name, ((const joined *)b)->name);
}

/* Both lists by name; rows of one name (short ones) are added up. */
static bool join(const partial *p, const int64_t chosen[SIDES], joined_rows *out)
{
    for (size_t i = 0; i < p->sums.count; i++) {
        const sum *s = &p->sums.items[i];
        if (s->side < 0 || s->side >= SIDES || s->trace != chosen[s->side])
            continue;
        joined *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = (joined){.name = s->name};
        slot->side[s->side] = (counts){s->count, s->dur};
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_joined);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        joined j = out->items[i];
        if (kept == 0 || compare_joined(&out->items[kept - 1], &j) != 0) {
            out->items[kept++] = j;
            continue;
        }
        for (int side = 0; side < SIDES; side++) {
            counts *c = &out->items[kept - 1].side[side];
            c->count = kino__sum(c->count, j.side[side].count);
            c->dur = kino__sum(c->dur, j.side[side].dur);
        }
    }
    out->count = kept;
    return true;
}

static const char *change_of(const joined *j)
{
    int64_t left = j->side[CONTROL].count, right = j->side[TEST].count;
    if (left == right)
        return "unchanged";
    if (left == 0 || right == 0)
        return left == 0 ? "added" : "deleted";
    return right > left ? "increased" : "decreased";
}

static void add_row(kino__table *table, const joined *j)
{
    const counts *left = &j->side[CONTROL], *right = &j->side[TEST];
    int64_t diff = kino__difference(right->count, left->count);
    KINO__TABLE_ADD(table, j->name, left->count, left->dur, right->count, right->dur, diff,
                    kino__difference(right->dur, left->dur),
                    kino__str_from(diff > 0   ? "+"
                                   : diff < 0 ? "-"
                                              : "="),
                    kino__str_from(change_of(j)));
}

static void add_sides(const partial *p, const int64_t chosen[SIDES], const joined_rows *rows,
                      kino_result *result)
{
    kino__table *table = kino__analysis_table(result, 1);
    for (int side = 0; side < SIDES; side++) {
        if (chosen[side] < 0)
            continue;
        const source *s = &p->sources.items[chosen[side]];
        int64_t names = 0;
        for (size_t i = 0; i < rows->count; i++)
            names += rows->items[i].side[side].count > 0;
        KINO__TABLE_ADD(table, kino__str_from(side_names[side]), s->rank, s->path, s->first[side],
                        s->last[side], names);
        if (s->outside && (side == CONTROL || chosen[TEST] != chosen[CONTROL]))
            kino__result_note(result, "%s: %lld spans outside steps are left out", side_names[side],
                              (long long)s->outside);
    }
    const source *left = chosen[CONTROL] < 0 ? NULL : &p->sources.items[chosen[CONTROL]];
    if (left && chosen[CONTROL] == chosen[TEST] && left->first[CONTROL] == left->first[TEST] &&
        left->last[CONTROL] == left->last[TEST])
        kino__result_note(result, "both sides are the same steps of the same trace: specify two "
                                  "traces, or control_steps and test_steps");
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    int64_t chosen[SIDES] = {-1, -1};
    joined_rows rows = {0};
    KINO_TRY(choose(a, p, chosen, err));
    bool ok = join(p, chosen, &rows);
    if (ok) {
        for (size_t i = 0; i < rows.count; i++)
            add_row(kino__analysis_table(result, 0), &rows.items[i]);
        add_sides(p, chosen, &rows, result);
    }
    kino__vec_deinit(&rows);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_ops_diff = {
    .name = "ops-diff",
    .help = "operators and kernels of two traces or steps side by side, by name",
    .description =
        "Counts the spans in selected steps of two traces by name and sums their\n"
        "durations: kino analyze ops-diff old.json new.json --control old --test new.\n"
        "Traces are ordered by rank and path, not as on the command line. With one trace,\n"
        "two of its steps are compared (control_steps, test_steps). The last step is\n"
        "included. See kino diff for values per step, thresholds and trees.\n",
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
