/* kernel_sequences.c - which sequences of kernels does an operator run, and how often?
 *
 * Method: of the calls whose name holds the text that was asked for, those nearest to the top of
 * their call trees; the kernels below each, by start. Equal sequences are one row: they are
 * compared as numbers of names, texts are made once a sequence.
 * Cost: linear in the spans, n log n in the kernels below. */
#include <stdlib.h>

#include "analysis/call_graph/call_graph.h"
#include "analysis/columns.h"
#include "analysis/device_work.h"
#include "base/error.h"

enum { P_OP, P_MIN_LEN, P_TOP_K, P_LAST_STEP, P_CALLS };

static const kino_param_info params[] = {
    [P_OP] = {"op", KINO_TYPE_STRING, "aten::", "use operators whose name contains this text",
              NULL},
    [P_MIN_LEN] = {"min_pattern_len", KINO_TYPE_INT, "3",
                   "use only calls that run at least this many kernels", NULL},
    [P_TOP_K] = {"top_k", KINO_TYPE_INT, "5", "show at most N sequences per rank; 0: all", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    [P_CALLS] = {"calls", KINO_TYPE_BOOL, "no", "also list the calls of these sequences", NULL},
    {0},
};

/* -- what a trace gives: integers and texts -- */

typedef struct row {
    int64_t rank;
    kino_str pattern;
    int64_t count, kernel_dur, op_dur; /* ns */
    int64_t event;                     /* the first call */
    int64_t group;                     /* the number it got first; not packed */
} row;

typedef struct call {
    int64_t rank, event;
    int64_t sequence; /* its place in the answer, from 1 */
} call;

typedef struct partial {
    KINO__VEC(row) rows;   /* of a rank together, in the order of the answer */
    KINO__VEC(call) calls; /* where they are asked for */
    kino__string_pool texts;
    int64_t candidates;     /* calls with such a name */
    int64_t used;           /* of these: those with a sequence */
    int64_t outside;        /* calls with such a name in no call tree */
    int64_t left_out;       /* sequences behind top_k */
    int64_t left_out_calls; /* and their calls */
    bool is_cut, has_device;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
    kino__vec_deinit(&p->calls);
    kino__string_pool_deinit(&p->texts);
}

/* Which names hold the text; by string id, the caller frees it. */
static uint8_t *find_names(const kino__trace *trace, kino_str text)
{
    size_t count = kino__string_pool_count(&trace->strings);
    uint8_t *holds = calloc(count + 1, 1);
    for (kino_strid id = 0; holds && id < count; id++) {
        kino_str name = kino__trace_string(trace, id);
        holds[id] = text.size == 0 ||
                    (name.size && memmem(name.data, name.size, text.data, text.size) != NULL);
    }
    return holds;
}

/* A kernel and the call it is below. */
typedef struct below {
    uint32_t root, at;
    int64_t ts;
} below;

typedef KINO__VEC(below) kernels_below;

static int compare_below(const void *a, const void *b)
{
    const below *x = a, *y = b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool is_candidate(const kino__call_graph *g, const uint8_t *holds, uint32_t at)
{
    kino_strid name = g->frame->trace->name[g->frame->row[at]];
    return g->height[at] > 0 && name != KINO_NO_STRING && holds[name];
}

/* Calls with such a name that are in no tree. */
static int64_t count_outside(const kino__call_graph *g, const uint8_t *holds)
{
    const kino__frame *f = g->frame;
    int64_t count = 0;
    for (uint32_t at = 0; at < f->count; at++) {
        kino_strid name = f->trace->name[f->row[at]];
        count += !kino__call_graph_has(g, at) && !(f->flags[at] & KINO__FRAME_GPU_SIDE) &&
                 !kino__frame_is_device(f, at) && name != KINO_NO_STRING && holds[name];
    }
    return count;
}

/* The smallest depth at which there are candidates; UINT32_MAX: none. */
static uint32_t find_depth(partial *p, const kino__call_graph *g, const uint8_t *holds)
{
    uint32_t depth = UINT32_MAX;
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t at = g->order[i];
        if (!is_candidate(g, holds, at))
            continue;
        p->candidates++;
        depth = g->depth[at] < depth ? g->depth[at] : depth;
    }
    p->outside = count_outside(g, holds);
    return depth;
}

/* The kernels below each root. `root_of` has room for one entry a position. */
static bool collect(const kino__analysis *a, const kino__call_graph *g, const uint8_t *holds,
                    uint32_t depth, uint32_t *root_of, kernels_below *out)
{
    const kino__frame *f = g->frame;
    int64_t min_len = kino__param_int(a, P_MIN_LEN);
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t at = g->order[i];
        bool is_root =
            g->depth[at] == depth && g->num_kernels[at] >= min_len && is_candidate(g, holds, at);
        root_of[at] = is_root ? at : g->parent[at] >= 0 ? root_of[g->parent[at]] : KINO_NO_ROW;
        if (g->height[at] > 0 || root_of[at] == KINO_NO_ROW || f->at_of_row[f->row[at]] != at)
            continue;
        below *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = (below){root_of[at], at, f->ts[at]};
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_below);
    return true;
}

/* -- sequences */

typedef struct grouping {
    kino__string_pool keys; /* name of the call and of its kernels, as numbers */
    kino__buffer key;
} grouping;

static void add_id(const kino__frame *f, kino__buffer *key, uint32_t at)
{
    kino_strid id = f->trace->name[f->row[at]];
    kino__buffer_add(key, (kino_str){(const char *)&id, sizeof id});
}

static bool add_call(partial *p, const kino__call_graph *g, grouping *s, const below *first,
                     size_t count, bool has_calls)
{
    const kino__frame *f = g->frame;
    uint32_t root = first->root;
    s->key.size = 0;
    add_id(f, &s->key, root);
    for (size_t i = 0; i < count; i++)
        add_id(f, &s->key, first[i].at);
    kino_strid id =
        s->key.failed ? KINO_NO_STRING : kino__string_pool_add(&s->keys, kino__buffer_str(&s->key));
    if (id == KINO_NO_STRING)
        return false;
    if (id == p->rows.count) {
        row *fresh = kino__vec_add(&p->rows);
        if (!fresh)
            return false;
        *fresh = (row){.rank = f->trace->rank,
                       .event = kino__trace_event_id(f->trace, f->row[root]),
                       .group = id};
    }
    call *slot = has_calls ? kino__vec_add(&p->calls) : NULL;
    if (has_calls && !slot)
        return false;
    if (slot)
        *slot = (call){f->trace->rank, kino__trace_event_id(f->trace, f->row[root]), id};
    row *r = &p->rows.items[id];
    r->count++;
    p->used++;
    r->kernel_dur = kino__sum(r->kernel_dur, kino__frame_ns(f, g->kernel_dur[root]));
    r->op_dur = kino__sum(r->op_dur, kino__frame_ns(f, f->dur[root]));
    return true;
}

/* The text of a sequence, from its key; no data when memory is out. */
static kino_str pattern_text(partial *p, const kino__trace *trace, kino_str key, kino__buffer *out)
{
    out->size = 0;
    for (size_t i = 0; i < key.size; i += sizeof(kino_strid)) {
        kino_strid id;
        memcpy(&id, key.data + i, sizeof id);
        if (i)
            kino__buffer_add(out, KINO__STR("|"));
        kino__buffer_add(out, kino__trace_string(trace, id));
    }
    kino_strid text =
        out->failed ? KINO_NO_STRING : kino__string_pool_add(&p->texts, kino__buffer_str(out));
    return text == KINO_NO_STRING ? (kino_str){NULL, 0} : kino__string_pool_text(&p->texts, text);
}

static bool group(partial *p, const kino__call_graph *g, const kernels_below *kernels,
                  bool has_calls)
{
    grouping s = {0};
    kino__string_pool_init(&s.keys, NULL);
    bool ok = true;
    for (size_t i = 0, next; ok && i < kernels->count; i = next) {
        uint32_t root = kernels->items[i].root;
        for (next = i + 1; next < kernels->count && kernels->items[next].root == root; next++)
            ;
        ok = add_call(p, g, &s, &kernels->items[i], next - i, has_calls);
    }
    for (size_t i = 0; ok && i < p->rows.count; i++) {
        kino_str key = kino__string_pool_text(&s.keys, (kino_strid)i);
        p->rows.items[i].pattern = pattern_text(p, g->frame->trace, key, &s.key);
        ok = p->rows.items[i].pattern.data != NULL;
    }
    kino__string_pool_deinit(&s.keys);
    kino__buffer_deinit(&s.key);
    return ok;
}

/* Most frequent first, then by text. */
static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return kino__str_compare(x->pattern, y->pattern);
}

static bool find_sequences(const kino__analysis *a, const kino__call_graph *g, partial *p)
{
    uint8_t *holds = find_names(g->frame->trace, kino__param_text(a, P_OP));
    uint32_t *root_of = malloc(((size_t)g->frame->count + 1) * sizeof *root_of);
    kernels_below kernels = {0};
    bool ok = holds && root_of;
    uint32_t depth = ok ? find_depth(p, g, holds) : UINT32_MAX;
    ok = ok && collect(a, g, holds, depth, root_of, &kernels) &&
         group(p, g, &kernels, kino__param_bool(a, P_CALLS));
    free(holds);
    free(root_of);
    kino__vec_deinit(&kernels);
    return ok;
}

/* Calls name the groups of their sequences: now the places, and only those that are left. */
static bool place_calls(partial *p, size_t groups)
{
    int64_t *places = calloc(groups + 1, sizeof *places);
    size_t kept = 0;
    for (size_t i = 0; places && i < p->rows.count; i++)
        places[p->rows.items[i].group] = (int64_t)i + 1;
    for (size_t i = 0; places && i < p->calls.count; i++) {
        call c = p->calls.items[i];
        c.sequence = places[c.sequence];
        if (c.sequence)
            p->calls.items[kept++] = c;
    }
    p->calls.count = kept;
    free(places);
    return places != NULL;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__call_graph *g = kino__call_graph_of(trace, kino__frame_mode_of(a),
                                                    kino__param_bool(a, P_LAST_STEP), a->pool);
    kino__string_pool_init(&p->texts, NULL);
    if (!g || !find_sequences(a, g, p))
        return kino__fail_nomem(err);
    p->is_cut = g->frame->is_cut;
    p->has_device = kino__frame_has_device(g->frame);
    if (p->rows.count)
        qsort(p->rows.items, p->rows.count, sizeof *p->rows.items, compare_rows);
    size_t groups = p->rows.count;
    int64_t top_k = kino__param_int(a, P_TOP_K);
    if (top_k > 0 && p->rows.count > (uint64_t)top_k) {
        p->left_out = (int64_t)p->rows.count - top_k;
        for (size_t i = (size_t)top_k; i < p->rows.count; i++)
            p->left_out_calls += p->rows.items[i].count;
        p->rows.count = (size_t)top_k;
    }
    return place_calls(p, groups) ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->rows, more->rows.count) ||
        !kino__vec_append(&p->calls, &more->calls))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->rows.count; i++) {
        row r = more->rows.items[i];
        kino_strid text = kino__string_pool_add(&p->texts, r.pattern);
        if (text == KINO_NO_STRING)
            return kino__fail_nomem(err);
        r.pattern = kino__string_pool_text(&p->texts, text);
        p->rows.items[p->rows.count++] = r;
    }
    p->candidates = kino__sum(p->candidates, more->candidates);
    p->used = kino__sum(p->used, more->used);
    p->outside = kino__sum(p->outside, more->outside);
    p->left_out = kino__sum(p->left_out, more->left_out);
    p->left_out_calls = kino__sum(p->left_out_calls, more->left_out_calls);
    p->is_cut |= more->is_cut;
    p->has_device |= more->has_device;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->pattern, &r->count, &r->kernel_dur, &r->op_dur);
    KINO__PACK_EVENTS(pack, &r->event);
}

static void pack_call(kino__pack *pack, call *c)
{
    KINO__PACK(pack, &c->rank, &c->sequence);
    KINO__PACK_EVENTS(pack, &c->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->calls, pack_call);
    kino__pack_int(pack, &p->candidates);
    KINO__PACK_TALLIES(pack, &p->used, &p->outside);
    kino__pack_int(pack, &p->left_out);
    kino__pack_tally(pack, &p->left_out_calls);
    KINO__PACK(pack, &p->is_cut, &p->has_device);
}

/* -- the answer -- */

static const kino_column columns[] = {
    [KINO__SEQUENCES_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [KINO__SEQUENCES_PATTERN] = {"pattern", KINO_TYPE_STRING, NULL,
                                 "the call and the kernels below it by start time, separated by |"},
    [KINO__SEQUENCES_COUNT] = {"count", KINO_TYPE_INT, "count", "calls that ran this sequence"},
    {"gpu_kernel_duration", KINO_TYPE_DURATION, NULL, "sum over the kernels of all these calls"},
    {"cpu_op_duration", KINO_TYPE_DURATION, NULL, "sum over the calls"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the first such call"},
    {0},
};

static const kino_column call_columns[] = {
    [KINO__SEQUENCE_CALLS_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [KINO__SEQUENCE_CALLS_SEQUENCE] = {"sequence", KINO_TYPE_INT, NULL,
                                       "row of the sequence within the rank, counting from 1"},
    [KINO__SEQUENCE_CALLS_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the call"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__KERNEL_SEQUENCES_TABLE] = {"kernel_sequences",
                                      "one row per rank and sequence, the most frequent first",
                                      columns, NULL, "no matching operator runs that many kernels"},
    [KINO__KERNEL_SEQUENCES_CALLS] = {"kernel_sequence_calls", "one row per call, if calls is set",
                                      call_columns, NULL, "requires calls"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        KINO__TABLE_ADD(table, r->rank, r->pattern, r->count, r->kernel_dur, r->op_dur, r->event);
    }
    kino__table *calls = kino__analysis_table(result, 1);
    for (size_t i = 0; i < p->calls.count; i++) {
        KINO__TABLE_ADD(calls, p->calls.items[i].rank, p->calls.items[i].sequence,
                        p->calls.items[i].event);
    }
    if (!kino__param_bool(a, P_CALLS))
        kino__table_describe(calls, KINO__TABLE_QUIET, NULL, NULL);
    kino_str op = kino__param_text(a, P_OP);
    if (!p->has_device)
        kino__result_lacks(result, "sequences", ": no device work was recorded");
    else if (p->candidates == 0)
        kino__result_lacks(result, "sequences", ": no call has a name that contains '%.*s'",
                           (int)(op.size < 80 ? op.size : 80), op.data ? op.data : "");
    if (p->left_out)
        kino__result_note(result, "%lld less frequent sequences of %lld calls are left out (top_k)",
                          (long long)p->left_out, (long long)p->left_out_calls);
    if (p->has_device && p->outside)
        kino__result_note(result, "%lld calls are not in any call tree and are left out",
                          (long long)p->outside);
    if (p->has_device && p->candidates > p->used)
        kino__result_note(result,
                          "%lld calls are left out: deeper in their call trees, or with fewer "
                          "than %lld kernels",
                          (long long)(p->candidates - p->used),
                          (long long)kino__param_int(a, P_MIN_LEN));
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_kernel_sequences = {
    .name = "kernel-sequences",
    .help = "which kernel sequences an operator runs, and how often",
    .description =
        "Uses the calls whose name contains a given text, are nearest to the top of their\n"
        "call trees (see call-graph) and have enough kernels below them. Calls that run\n"
        "the same kernels in the same order share one row.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
