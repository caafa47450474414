/* functions.c - which functions of the CPU take the time, and where do threads wait?
 *
 * Method: `kino record` writes the sampled stacks of a thread as nested spans (cpu_sample), and the
 * times it was not running with the stack it left (off_cpu). Own time of a function is the length
 * of its spans less those directly on them; its total counts the outermost of its spans only, so
 * that recursion does not count twice. Waiting time belongs to the innermost function of the
 * program, with the system call below it. Python functions have spans of their own
 * (python_sample), on rows of their own: their times are not part of the others'. Where more than a tenth of the stacks are broken
 * (sampling.h) totals would be too low: they are left out.
 * Cost: linear in these spans; nothing for traces without. */
#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/sampling.h"
#include "base/error.h"
#include "store/args.h"
#include "store/stacks.h"

/* -- what a trace gives: integers and texts -- */

/* A line of a function; or a place where threads wait. */
typedef struct place {
    kino_strid function, module, file; /* KINO_NO_STRING: unknown */
    kino_strid call;                   /* waits: the system call */
    int64_t line;                      /* KINO_NO_INT: unknown */
    int64_t is_preempted;              /* waits: 1: others had the processor */
    int64_t self, total, count, longest;
} place;

/* The number of a key is its place's. */
typedef struct places {
    kino__string_pool keys;
    KINO__VEC(place) items;
} places;

typedef struct partial {
    kino__string_pool texts;
    places lines, waits, python;
    int64_t traces, without;
    int64_t stacks, broken; /* sampled, and of these incomplete */
    int64_t most_broken;    /* in one trace, */
    kino_strid broken_in;   /* where most end in this module; KINO_NO_STRING: unknown */
    int64_t by_pointers;    /* traces whose stacks were walked by frame pointers */
} partial;

static void places_deinit(places *p)
{
    kino__string_pool_deinit(&p->keys);
    kino__vec_deinit(&p->items);
}

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->texts);
    places_deinit(&p->lines);
    places_deinit(&p->waits);
    places_deinit(&p->python);
}

/* The place with the texts and numbers of `like`, made on first sight; NULL when memory is out. */
static place *find_place(places *p, const place *like)
{
    int64_t key[] = {like->function, like->module, like->file,
                     like->call,     like->line,   like->is_preempted};
    kino_strid id = kino__string_pool_add(&p->keys, (kino_str){(const char *)key, sizeof key});
    if (id == KINO_NO_STRING)
        return NULL;
    if (id == p->items.count) {
        place *fresh = kino__vec_add(&p->items);
        if (!fresh)
            return NULL;
        *fresh = *like;
        fresh->self = fresh->total = fresh->count = fresh->longest = 0;
    }
    return &p->items.items[id];
}

static void add_to(place *to, const place *more)
{
    to->self = kino__sum(to->self, more->self);
    to->total = kino__sum(to->total, more->total);
    to->count = kino__sum(to->count, more->count);
    to->longest = more->longest > to->longest ? more->longest : to->longest;
}

/* -- one trace -- */

enum {
    KINDS = KINO__KIND_BIT(KINO__KIND_SAMPLE) | KINO__KIND_BIT(KINO__KIND_OFF_CPU) |
            KINO__KIND_BIT(KINO__KIND_PYTHON_SAMPLE)
};

typedef struct open_span {
    kino_strid function; /* of the trace's strings; KINO_NO_STRING: not one of ours */
    uint32_t row;
    int64_t length, samples;            /* of it and those on it */
    int64_t children, children_samples; /* of those directly on it */
} open_span;

/* A column of texts, and what its ids are in the partial. */
typedef struct texts {
    const kino_strid *column;
    const kino__string_pool *pool;
} texts;

typedef struct reading {
    partial *p;
    const kino__trace *trace;
    texts module, file, state;
    const int64_t *line, *samples;
    uint32_t *open_count; /* by string id of the trace: how often the function is open */
    KINO__VEC(open_span) open;
} reading;

static bool keep(reading *r, kino_str text, kino_strid *out)
{
    *out = text.size ? kino__string_pool_add_borrowed(&r->p->texts, text) : KINO_NO_STRING;
    return !text.size || *out != KINO_NO_STRING;
}

static kino_str text_of(const texts *t, uint32_t row)
{
    kino_strid id = t->column[row];
    return id == KINO_NO_STRING ? (kino_str){"", 0} : kino__string_pool_text(t->pool, id);
}

static bool describe(reading *r, uint32_t row, place *out)
{
    *out = (place){.call = KINO_NO_STRING, .line = r->line[row]};
    return keep(r, kino__trace_string(r->trace, r->trace->name[row]), &out->function) &&
           keep(r, text_of(&r->module, row), &out->module) &&
           keep(r, text_of(&r->file, row), &out->file);
}

static bool is_kernel(const reading *r, uint32_t row)
{
    return kino__str_is(text_of(&r->module, row), "[kernel]");
}

/* "futex" of "__x64_sys_futex"; empty: it is none. */
static kino_str system_call(kino_str function)
{
    static const char *const prefixes[] = {"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_",
                                           "__do_sys_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        kino_str prefix = kino__str_from(prefixes[i]);
        if (kino__str_starts_with(function, prefix))
            return (kino_str){function.data + prefix.size, function.size - prefix.size};
    }
    return (kino_str){"", 0};
}

/* The spans that are open, innermost first: the first of the program's functions has waited. */
static bool add_wait(reading *r, const open_span *leaf, int64_t self)
{
    kino_str call = {"", 0};
    uint32_t waiter = leaf->row;
    for (size_t i = r->open.count; i--;) {
        const open_span *s = &r->open.items[i];
        if (s->function == KINO_NO_STRING)
            continue;
        if (!is_kernel(r, s->row)) {
            waiter = s->row;
            break;
        }
        kino_str found = system_call(kino__trace_string(r->trace, s->function));
        call = found.size ? found : call;
    }
    place like;
    if (!describe(r, waiter, &like) || !keep(r, call, &like.call))
        return false;
    like.is_preempted = kino__str_is(text_of(&r->state, leaf->row), "preempted");
    place *to = find_place(&r->p->waits, &like);
    like.self = like.total = like.longest = self;
    like.count = 1;
    if (to)
        add_to(to, &like);
    return to != NULL;
}

static bool add_line(reading *r, places *into, const open_span *s, int64_t self)
{
    place like;
    if (!describe(r, s->row, &like))
        return false;
    place *to = find_place(into, &like);
    like.self = self;
    like.total = r->open_count[s->function] ? 0 : s->length;
    like.count = s->samples > s->children_samples ? s->samples - s->children_samples : 0;
    if (to)
        add_to(to, &like);
    return to != NULL;
}

static bool close_span(reading *r)
{
    open_span s = r->open.items[--r->open.count];
    if (r->open.count) {
        open_span *below = &r->open.items[r->open.count - 1];
        below->children = kino__sum(below->children, s.length);
        below->children_samples = kino__sum(below->children_samples, s.samples);
    }
    if (s.function == KINO_NO_STRING)
        return true;
    r->open_count[s.function]--;
    int64_t self = s.length > s.children ? s.length - s.children : 0;
    kino__kind kind = kino__category_kind(r->trace->category[s.row]);
    if (kind != KINO__KIND_OFF_CPU)
        return add_line(r, kind == KINO__KIND_SAMPLE ? &r->p->lines : &r->p->python, &s, self);
    r->open.count++; /* the leaf is part of its stack */
    bool ok = self == 0 || add_wait(r, &s, self);
    r->open.count--;
    return ok;
}

static bool open_row(reading *r, uint32_t row)
{
    kino__kind kind = kino__category_kind(r->trace->category[row]);
    bool is_ours = KINO__KIND_BIT(kind) & KINDS;
    open_span *s = kino__vec_add(&r->open);
    if (!s)
        return false;
    *s = (open_span){.function = is_ours ? r->trace->name[row] : KINO_NO_STRING, .row = row};
    s->samples = r->samples[row] > 0 ? r->samples[row] : 0; /* KINO_NO_INT is below */
    if (__builtin_sub_overflow(kino__stack_end(r->trace, row), r->trace->ts[row], &s->length))
        s->length = INT64_MAX;
    if (s->function != KINO_NO_STRING)
        r->open_count[s->function]++;
    return true;
}

static bool add_lane(reading *r, const uint32_t *rows, size_t count)
{
    kino__stack_walk walk = {.trace = r->trace, .rows = rows, .count = count};
    kino__stack_event event;
    bool ok = true;
    r->open.count = 0;
    while (ok && kino__stack_walk_next(&walk, &event))
        ok = event.is_open ? open_row(r, event.row) : close_span(r);
    ok = ok && !walk.failed;
    kino__stack_walk_deinit(&walk);
    return ok;
}

static bool add_track(reading *r, const kino__track *track)
{
    kino__stack_lanes lanes;
    if (!kino__stack_lanes_init(&lanes, r->trace, track, KINO__STACK_COMBINED))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < lanes.lane_count; i++)
        ok = add_lane(r, lanes.rows + lanes.starts[i], lanes.starts[i + 1] - lanes.starts[i]);
    kino__stack_lanes_deinit(&lanes);
    return ok;
}

static bool has_samples(const kino__track *track)
{
    return track->kinds & KINDS;
}

static bool start_reading(reading *r)
{
    static const char *const keys[] = {"line", "samples"};
    size_t strings = kino__string_pool_count(&r->trace->strings);
    r->open_count = calloc(strings + 1, sizeof *r->open_count);
    if (!r->open_count || !kino__args_prepare(r->trace, keys, 2))
        return false;
    r->line = kino__args_int_column(r->trace, "line");
    r->samples = kino__args_int_column(r->trace, "samples");
    r->module.column = kino__args_string_column(r->trace, "module", &r->module.pool);
    r->file.column = kino__args_string_column(r->trace, "file", &r->file.pool);
    r->state.column = kino__args_string_column(r->trace, "state", &r->state.pool);
    return r->line && r->samples && r->module.column && r->file.column && r->state.column;
}

static bool add_sampling(partial *p, const kino__trace *trace)
{
    kino__sampling s = kino__sampling_of(trace);
    kino__buffer module = {0};
    p->stacks = s.stacks;
    p->broken = p->most_broken = s.broken;
    p->by_pointers = s.has_pointers;
    p->broken_in = KINO_NO_STRING;
    if (s.module.size)
        kino__json_unescape(s.module, &module);
    if (module.size)
        p->broken_in = kino__string_pool_add(&p->texts, kino__buffer_str(&module));
    bool ok = !module.failed && (!module.size || p->broken_in != KINO_NO_STRING);
    kino__buffer_deinit(&module);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    reading r = {.p = p, .trace = trace};
    bool ok = true, is_started = false;
    for (size_t i = 0; ok && i < trace->tracks.count; i++) {
        const kino__track *track = &trace->tracks.items[i];
        if (!has_samples(track))
            continue;
        ok = is_started || start_reading(&r);
        is_started = true;
        ok = ok && add_track(&r, track);
        if (kino__progress_is_cancelled(a->progress))
            break;
    }
    p->traces = 1;
    p->without = !is_started;
    ok = ok && add_sampling(p, trace);
    free(r.open_count);
    kino__vec_deinit(&r.open);
    if (kino__progress_is_cancelled(a->progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static bool take_text(partial *p, const partial *from, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return true;
    *id = kino__string_pool_add_borrowed(&p->texts, kino__string_pool_text(&from->texts, *id));
    return *id != KINO_NO_STRING;
}

static bool merge_places(partial *p, places *into, const partial *more, const places *from)
{
    for (size_t i = 0; i < from->items.count; i++) {
        place like = from->items.items[i];
        if (!take_text(p, more, &like.function) || !take_text(p, more, &like.module) ||
            !take_text(p, more, &like.file) || !take_text(p, more, &like.call))
            return false;
        place *to = find_place(into, &like);
        if (!to)
            return false;
        add_to(to, &like);
    }
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    p->traces = kino__sum(p->traces, more->traces);
    p->without = kino__sum(p->without, more->without);
    p->stacks = kino__sum(p->stacks, more->stacks);
    p->broken = kino__sum(p->broken, more->broken);
    p->by_pointers = kino__sum(p->by_pointers, more->by_pointers);
    kino_strid broken_in = more->broken_in;
    bool is_named = take_text(p, more, &broken_in);
    if (more->most_broken > p->most_broken) {
        p->most_broken = more->most_broken;
        p->broken_in = broken_in;
    }
    bool ok = is_named && merge_places(p, &p->lines, more, &more->lines) &&
              merge_places(p, &p->waits, more, &more->waits) &&
              merge_places(p, &p->python, more, &more->python);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_place(kino__pack *pack, place *p)
{
    KINO__PACK(pack, &p->function, &p->module, &p->file, &p->call, &p->line, &p->is_preempted,
               &p->self, &p->total, &p->count, &p->longest);
}

/* Keys are not packed: they follow from the places. A loaded partial may come from anywhere. */
static void pack_places(kino__pack *pack, partial *owner, places *p)
{
    KINO__PACK_VEC(pack, &p->items, pack_place);
    if (pack->out)
        return;
    places fresh = {0};
    size_t known = kino__string_pool_count(&owner->texts);
    for (size_t i = 0; i < p->items.count && !pack->is_damaged; i++) {
        const place *one = &p->items.items[i];
        const kino_strid ids[] = {one->function, one->module, one->file, one->call};
        for (int k = 0; k < 4; k++)
            pack->is_damaged |= ids[k] != KINO_NO_STRING && ids[k] >= known;
        place *to = pack->is_damaged ? NULL : find_place(&fresh, one);
        if (to)
            add_to(to, one);
        else if (!pack->is_damaged)
            pack->is_out_of_memory = true;
    }
    places_deinit(p);
    *p = fresh;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->texts);
    pack_places(pack, p, &p->lines);
    pack_places(pack, p, &p->waits);
    pack_places(pack, p, &p->python);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without, &p->stacks, &p->broken, &p->most_broken,
                       &p->by_pointers);
    kino__pack_u32(pack, &p->broken_in);
    if (p->broken_in != KINO_NO_STRING && p->broken_in >= kino__string_pool_count(&p->texts))
        pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_param_info params[] = {{0}};

static const kino_column function_columns[] = {
    [KINO__FUNCTIONS_FUNCTION] = {"function", KINO_TYPE_STRING, NULL, "name from the symbol table"},
    [KINO__FUNCTIONS_MODULE] = {"module", KINO_TYPE_STRING, NULL, "program, library or [kernel]"},
    [KINO__FUNCTIONS_FILE] = {"file", KINO_TYPE_STRING, NULL,
                              "source file; null: no debug information"},
    [KINO__FUNCTIONS_SELF] = {"self", KINO_TYPE_DURATION, NULL, "CPU time in the function itself"},
    [KINO__FUNCTIONS_SELF_PERCENT] = {"self_percent", KINO_TYPE_PERCENT, NULL,
                                      "share of all sampled CPU time"},
    [KINO__FUNCTIONS_TOTAL] =
        {"total", KINO_TYPE_DURATION, NULL,
         "CPU time in the function and what it calls; null: too many stacks are incomplete"},
    {"total_percent", KINO_TYPE_PERCENT, NULL, "share of all sampled CPU time"},
    {"samples", KINO_TYPE_INT, "count", "samples with this function innermost"},
    {0},
};

static const kino_column line_columns[] = {
    {"function", KINO_TYPE_STRING, NULL, "name from the symbol table"},
    {"module", KINO_TYPE_STRING, NULL, "program, library or [kernel]"},
    {"file", KINO_TYPE_STRING, NULL, "source file; null: no debug information"},
    {"line", KINO_TYPE_INT, NULL, "source line of most samples of a span; null: unknown"},
    {"self", KINO_TYPE_DURATION, NULL, "CPU time at that line"},
    {"self_percent", KINO_TYPE_PERCENT, NULL, "share of all sampled CPU time"},
    {"samples", KINO_TYPE_INT, "count", "samples with this function innermost"},
    {0},
};

static const kino_column wait_columns[] = {
    [KINO__WAITS_FUNCTION] = {"function", KINO_TYPE_STRING, NULL,
                              "innermost function outside the kernel"},
    [KINO__WAITS_MODULE] = {"module", KINO_TYPE_STRING, NULL, "program or library"},
    [KINO__WAITS_FILE] = {"file", KINO_TYPE_STRING, NULL,
                          "source file; null: no debug information"},
    [KINO__WAITS_LINE] = {"line", KINO_TYPE_INT, NULL, "null: unknown"},
    [KINO__WAITS_CALL] = {"call", KINO_TYPE_STRING, NULL,
                          "system call it waited in; null: none or unknown"},
    [KINO__WAITS_STATE] = {"state", KINO_TYPE_STRING, NULL,
                           "blocked, or preempted: others used the processor"},
    [KINO__WAITS_TIME] = {"time", KINO_TYPE_DURATION, NULL,
                          "time in which the thread was not running"},
    [KINO__WAITS_COUNT] = {"count", KINO_TYPE_INT, "count", "how often"},
    [KINO__WAITS_LONGEST] = {"longest", KINO_TYPE_DURATION, NULL, "number of waits"},
    {0},
};

static const kino_column python_columns[] = {
    [KINO__PYTHON_FUNCTION] = {"function", KINO_TYPE_STRING, NULL,
                               "file, line of its definition, and name"},
    [KINO__PYTHON_SELF] = {"self", KINO_TYPE_DURATION, NULL,
                           "time in the function itself and the C functions it calls"},
    [KINO__PYTHON_SELF_PERCENT] = {"self_percent", KINO_TYPE_PERCENT, NULL,
                                   "share of all sampled time of Python threads"},
    [KINO__PYTHON_TOTAL] = {"total", KINO_TYPE_DURATION, NULL,
                            "time in the function and what it calls"},
    [KINO__PYTHON_TOTAL_PERCENT] = {"total_percent", KINO_TYPE_PERCENT, NULL,
                                    "share of all sampled time of Python threads"},
    {0},
};

static const kino_column python_line_columns[] = {
    {"function", KINO_TYPE_STRING, NULL, "file, line of its definition, and name"},
    {"line", KINO_TYPE_INT, NULL, "source line that was found running"},
    {"self", KINO_TYPE_DURATION, NULL, "time at that line and in the C functions it calls"},
    {"self_percent", KINO_TYPE_PERCENT, NULL, "share of all sampled time of Python threads"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__FUNCTIONS_OF_FUNCTIONS] =
        {"functions", "one row per function, all ranks combined; most self time first",
         function_columns, NULL, "not available: the trace has no CPU samples"},
    [KINO__FUNCTIONS_OF_LINES] = {"lines", "the same by line; lines without self time are left out",
                                  line_columns, NULL,
                                  "not available: the trace has no CPU samples"},
    [KINO__FUNCTIONS_OF_WAITS] = {"waits",
                                  "one row per place where threads were not running; longest first",
                                  wait_columns, NULL,
                                  "not available: no off-CPU time was recorded"},
    [KINO__FUNCTIONS_OF_PYTHON] = {"python",
                                   "one row per Python function, by samples of the stacks of "
                                   "threads that use the processor; most self time first",
                                   python_columns, NULL,
                                   "not available: the trace has no samples of Python functions"},
    [KINO__FUNCTIONS_OF_PYTHON_LINES] =
        {"python_lines", "the same by line, where it is known", python_line_columns, NULL,
         "not available: the trace has no samples of Python functions"},
    {0},
};

typedef struct ordering {
    const partial *p;
    const place *items;
} ordering;

static kino_str text_at(const partial *p, kino_strid id)
{
    return id == KINO_NO_STRING ? (kino_str){"", 0} : kino__string_pool_text(&p->texts, id);
}

/* Most own time first; then by what is shown, so that the order does not depend on threads. */
static int compare_places(const void *a, const void *b, void *context)
{
    const ordering *o = context;
    const place *x = &o->items[*(const uint32_t *)a], *y = &o->items[*(const uint32_t *)b];
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    const kino_strid of_x[] = {x->function, x->module, x->file, x->call};
    const kino_strid of_y[] = {y->function, y->module, y->file, y->call};
    for (int i = 0; i < 4; i++) {
        int order = kino__str_compare(text_at(o->p, of_x[i]), text_at(o->p, of_y[i]));
        if (order)
            return order;
    }
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->is_preempted < y->is_preempted ? -1 : x->is_preempted > y->is_preempted;
}

/* The places in the order of the table; the caller frees it. NULL: memory is out. */
static uint32_t *sorted(const partial *p, const places *of)
{
    uint32_t *order = malloc((of->items.count + 1) * sizeof *order);
    for (size_t i = 0; order && i < of->items.count; i++)
        order[i] = (uint32_t)i;
    ordering context = {p, of->items.items};
    if (order)
        qsort_r(order, of->items.count, sizeof *order, compare_places, &context);
    return order;
}

static double share(int64_t part, int64_t of)
{
    return of > 0 ? 100.0 * (double)part / (double)of : NAN;
}

static void add_text(kino__table *table, const partial *p, kino_strid id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, text_at(p, id));
}

static bool roll_up(const places *lines, places *functions, int64_t *all)
{
    for (size_t i = 0; i < lines->items.count; i++) {
        place like = lines->items.items[i];
        like.line = KINO_NO_INT;
        place *to = find_place(functions, &like);
        if (!to)
            return false;
        add_to(to, &like);
        *all = kino__sum(*all, like.self);
    }
    return true;
}

static bool add_functions(const partial *p, const places *functions, int64_t all,
                          kino__table *table)
{
    uint32_t *order = sorted(p, functions);
    bool has_totals = !kino__stacks_are_broken(p->stacks, p->broken);
    for (size_t i = 0; order && i < functions->items.count; i++) {
        const place *f = &functions->items.items[order[i]];
        add_text(table, p, f->function);
        add_text(table, p, f->module);
        add_text(table, p, f->file);
        KINO__TABLE_ADD(table, f->self, share(f->self, all), has_totals ? f->total : KINO_NO_INT,
                        has_totals ? share(f->total, all) : NAN, f->count);
    }
    free(order);
    return order != NULL;
}

static bool add_lines(const partial *p, int64_t all, kino__table *table)
{
    uint32_t *order = sorted(p, &p->lines);
    for (size_t i = 0; order && i < p->lines.items.count; i++) {
        const place *l = &p->lines.items.items[order[i]];
        if (l->self == 0)
            continue;
        add_text(table, p, l->function);
        add_text(table, p, l->module);
        add_text(table, p, l->file);
        KINO__TABLE_ADD(table, l->line, l->self, share(l->self, all), l->count);
    }
    free(order);
    return order != NULL;
}

static bool add_waits(const partial *p, kino__table *table)
{
    uint32_t *order = sorted(p, &p->waits);
    for (size_t i = 0; order && i < p->waits.items.count; i++) {
        const place *w = &p->waits.items.items[order[i]];
        add_text(table, p, w->function);
        add_text(table, p, w->module);
        add_text(table, p, w->file);
        kino__table_add_int(table, w->line);
        add_text(table, p, w->call);
        KINO__TABLE_ADD(table, kino__str_from(w->is_preempted ? "preempted" : "blocked"), w->self,
                        w->count, w->longest);
    }
    free(order);
    return order != NULL;
}

static bool add_python(const partial *p, const places *functions, int64_t all, kino__table *table)
{
    uint32_t *order = sorted(p, functions);
    for (size_t i = 0; order && i < functions->items.count; i++) {
        const place *f = &functions->items.items[order[i]];
        add_text(table, p, f->function);
        KINO__TABLE_ADD(table, f->self, share(f->self, all), f->total, share(f->total, all));
    }
    free(order);
    return order != NULL;
}

static bool add_python_lines(const partial *p, int64_t all, kino__table *table)
{
    uint32_t *order = sorted(p, &p->python);
    for (size_t i = 0; order && i < p->python.items.count; i++) {
        const place *l = &p->python.items.items[order[i]];
        if (l->self == 0 || l->line == KINO_NO_INT)
            continue;
        add_text(table, p, l->function);
        KINO__TABLE_ADD(table, l->line, l->self, share(l->self, all));
    }
    free(order);
    return order != NULL;
}

static void note_broken(const partial *p, kino_result *result)
{
    if (!kino__stacks_are_broken(p->stacks, p->broken))
        return;
    kino_str module = text_at(p, p->broken_in);
    kino__result_lacks(
        result, "total times", ": %lld of %lld stacks are incomplete%s%.*s%s%s",
        (long long)p->broken, (long long)p->stacks, module.size ? " (most of them end in " : "",
        KINO__STR_ARG(module), module.size ? ")" : "",
        p->by_pointers ? ": record with --stacks dwarf, which does not need frame pointers" : "");
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    const partial *p = value;
    places functions = {0}, python = {0};
    int64_t all = 0, all_python = 0;
    bool ok = roll_up(&p->lines, &functions, &all) && roll_up(&p->python, &python, &all_python) &&
              add_functions(p, &functions, all,
                            kino__analysis_table(result, KINO__FUNCTIONS_OF_FUNCTIONS)) &&
              add_lines(p, all, kino__analysis_table(result, KINO__FUNCTIONS_OF_LINES)) &&
              add_waits(p, kino__analysis_table(result, KINO__FUNCTIONS_OF_WAITS)) &&
              add_python(p, &python, all_python,
                         kino__analysis_table(result, KINO__FUNCTIONS_OF_PYTHON)) &&
              add_python_lines(p, all_python,
                               kino__analysis_table(result, KINO__FUNCTIONS_OF_PYTHON_LINES));
    places_deinit(&functions);
    places_deinit(&python);
    note_broken(p, result);
    if (p->without == p->traces)
        kino__result_lacks(result, "functions",
                           ": there are no CPU samples; record them with `kino record -- PROGRAM`");
    else if (p->without)
        kino__result_note(result, "%lld of %lld traces have no CPU samples", (long long)p->without,
                          (long long)p->traces);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_functions = {
    .name = "functions",
    .help = "CPU functions by sampled time, and where threads wait",
    .description =
        "Functions by the CPU time sampled in them: self time, and total time with what\n"
        "they call; the lines where it was spent; and the places where threads were not\n"
        "running, with the system call they waited in. Python functions, which have\n"
        "samples of their own, are in another table. The samples come from `kino record`\n"
        "and, of Python functions, from kino.profile. All ranks and threads are summed.\n",
    .params = params,
    .tables = tables,
    .needs = KINO__COLUMN_CATEGORY | KINO__COLUMN_PHASE | KINO__COLUMN_NAME | KINO__COLUMN_TS |
             KINO__COLUMN_DUR | KINO__COLUMN_PLACE,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
