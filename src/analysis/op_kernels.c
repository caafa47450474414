/* op_kernels.c - which sequence of kernels does an ATen operator launch, and with what delays?
 *
 * The owner of a launch is, of the operators around it, the one that started last: operators are
 * sorted by start, and a tree of the largest ends over that order finds the last one that still
 * runs when the launch ends. The default looks at the launch's own thread; HTA at all of them. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/frame_params.h"
#include "analysis/statistics.h"
#include "base/error.h"
#include "base/search.h"
#include "names/launch_calls.h"

enum { P_LAST_STEP };

static const kino_param_info params[] = {
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

typedef struct row {
    int64_t rank;
    kino_str op, sequence;
    int64_t count, op_delay, runtime_delay; /* sums of the first delays, ns */
} row;

typedef struct partial {
    KINO__VEC(row) rows;
    kino__string_pool texts; /* of sequences */
    int64_t unlinked;        /* launches without a kernel */
    int64_t outside;         /* kernels launched outside of ATen operators */
    int64_t unlaunched;      /* kernels without a launch in the trace */
    bool is_cut, has_device;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
    kino__string_pool_deinit(&p->texts);
}

/* -- owners */

typedef struct operator_row {
    uint32_t track; /* 0 in HTA modes: threads do not matter */
    uint32_t at;
    int64_t ts, end;
} operator_row;

/* Of equal starts the first of the frame must be found first, so it stands last. */
static int compare_operators(const void *a, const void *b)
{
    const operator_row *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->at > y->at ? -1 : x->at < y->at;
}

typedef struct owners {
    KINO__VEC(operator_row) list;
    int64_t *tree; /* largest end; leaves from `leaves` on */
    size_t leaves;
} owners;

static uint32_t track_key(const kino__frame *f, uint32_t at, uint32_t *hint)
{
    const kino__track *tracks = f->trace->tracks.items;
    uint32_t store_row = f->row[at];
    if (f->mode != KINO__FRAME_DEFAULT)
        return 0;
    if (store_row - tracks[*hint].first >= tracks[*hint].count)
        *hint = kino__trace_track_of(f->trace, store_row);
    return *hint;
}

static bool owners_init(owners *o, const kino__frame *f, const uint8_t *kind_of_name)
{
    uint32_t hint = 0;
    for (uint32_t at = 0; at < f->count; at++) {
        kino_strid name = f->trace->name[f->row[at]];
        if (name == KINO_NO_STRING || !(kind_of_name[name] & 1))
            continue;
        operator_row *slot = kino__vec_add(&o->list);
        if (!slot)
            return false;
        *slot = (operator_row){track_key(f, at, &hint), at, f->ts[at], kino__frame_end(f, at)};
    }
    if (o->list.count)
        qsort(o->list.items, o->list.count, sizeof *o->list.items, compare_operators);
    for (o->leaves = 1; o->leaves < o->list.count; o->leaves *= 2)
        ;
    o->tree = malloc(2 * o->leaves * sizeof *o->tree);
    if (!o->tree)
        return false;
    for (size_t i = 0; i < o->leaves; i++)
        o->tree[o->leaves + i] = i < o->list.count ? o->list.items[i].end : INT64_MIN;
    for (size_t i = o->leaves; i-- > 1;)
        o->tree[i] = o->tree[2 * i] > o->tree[2 * i + 1] ? o->tree[2 * i] : o->tree[2 * i + 1];
    return true;
}

/* The first entry that comes behind (track, ts). */
static size_t find_behind(const owners *o, uint32_t track, int64_t ts)
{
    const operator_row *all = o->list.items;
    return KINO__SEARCH(size_t, i, 0, o->list.count,
                        all[i].track < track || (all[i].track == track && all[i].ts <= ts));
}

/* The last of the first `count` entries whose end is not before `end`; SIZE_MAX: none. */
static size_t find_last(const owners *o, size_t count, int64_t end)
{
    size_t node = o->leaves + count; /* to the left of here */
    if (count == 0)
        return SIZE_MAX;
    if (count == o->leaves && o->tree[1] >= end) {
        node = 1;
    } else {
        for (;; node /= 2) { /* up, until a left neighbour has it */
            if (node <= 1)
                return SIZE_MAX;
            if (node % 2 == 1 && o->tree[node - 1] >= end) {
                node--;
                break;
            }
        }
    }
    while (node < o->leaves)
        node = o->tree[2 * node + 1] >= end ? 2 * node + 1 : 2 * node;
    return node - o->leaves;
}

/* The operator that owns a launch, KINO_NO_ROW for none. */
static uint32_t owner_of(const owners *o, const kino__frame *f, uint32_t at, uint32_t *hint)
{
    uint32_t track = track_key(f, at, hint);
    size_t behind = find_behind(o, track, f->ts[at]);
    size_t found = find_last(o, behind, kino__frame_end(f, at));
    if (found == SIZE_MAX || o->list.items[found].track != track)
        return KINO_NO_ROW;
    return o->list.items[found].at;
}

/* -- calls of operators */

typedef struct owned_launch {
    uint32_t owner, launch, kernel; /* positions */
    int64_t owner_ts, tid;
    uint32_t order;
} owned_launch;

typedef KINO__VEC(owned_launch) owned_launches;

static bool is_launch_name(kino_str name, bool is_hta)
{
    if (!is_hta) {
        kino__launch_kind kind = kino__launch_kind_of(name);
        return kind == KINO__LAUNCH_KERNEL || kind == KINO__LAUNCH_GRAPH;
    }
    bool is_cuda = kino__str_starts_with(name, KINO__STR("cuda")) &&
                   memmem(name.data + 4, name.size - 4, "LaunchKernel", 12) != NULL;
    return is_cuda || kino__str_starts_with(name, KINO__STR("cuLaunchKernel")) ||
           kino__str_starts_with(name, KINO__STR("runFunction"));
}

/* 1: an ATen operator, 2: a launch; the caller frees it. */
static uint8_t *kinds_of_names(const kino__frame *f)
{
    size_t count = kino__string_pool_count(&f->trace->strings);
    uint8_t *kinds = malloc(count + 1);
    for (kino_strid id = 0; id < count && kinds; id++) {
        kino_str name = kino__trace_string(f->trace, id);
        kinds[id] = (uint8_t)(kino__str_starts_with(name, KINO__STR("aten::")) ? 1 : 0);
        if (is_launch_name(name, f->mode != KINO__FRAME_DEFAULT))
            kinds[id] |= 2;
    }
    return kinds;
}

/* The work of each launch as a list: the first piece, and of each piece the next one. HTA knows the
 * first alone. */
typedef struct work_lists {
    uint32_t *first, *next; /* by position; KINO_NO_ROW: none */
} work_lists;

static bool is_work(const kino__frame *f, uint32_t at)
{
    return f->flags[at] & KINO__FRAME_GPU_SIDE && kino__frame_is_device(f, at);
}

static bool work_lists_init(work_lists *w, const kino__frame *f)
{
    size_t size = (size_t)f->count * sizeof *w->first;
    w->first = malloc(size + 1);
    w->next = malloc(size + 1);
    if (!w->first || !w->next)
        return false;
    memset(w->first, 0xff, size);
    memset(w->next, 0xff, size);
    for (uint32_t at = f->count; at-- > 0;) {
        if (!is_work(f, at) || f->link[at] < 0)
            continue;
        if (f->mode == KINO__FRAME_DEFAULT)
            w->next[at] = w->first[f->link[at]];
        w->first[f->link[at]] = at;
    }
    return true;
}

static bool add_launch(const kino__frame *f, const work_lists *w, uint32_t owner, uint32_t launch,
                       owned_launches *out)
{
    uint32_t track = kino__trace_track_of(f->trace, f->row[owner]);
    int64_t tid = f->trace->tracks.items[track].tid.number;
    for (uint32_t at = w->first[launch]; at != KINO_NO_ROW; at = w->next[at]) {
        owned_launch *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = (owned_launch){owner, launch, at, f->ts[owner], tid, (uint32_t)out->count - 1};
    }
    return true;
}

/* Copies and sets of graphs are no kernels. */
static int64_t count_kernels(const kino__frame *f, const work_lists *w, uint32_t launch)
{
    int64_t count = 0;
    for (uint32_t at = w->first[launch]; at != KINO_NO_ROW; at = w->next[at])
        count += f->type[at] != KINO__KERNEL_MEMORY;
    return count;
}

static bool is_of_kind(const kino__frame *f, const uint8_t *kinds, uint32_t at, uint8_t kind)
{
    kino_strid name = f->trace->name[f->row[at]];
    return name != KINO_NO_STRING && kinds[name] & kind;
}

/* Kernels that no launch of theirs brings into the list. */
static void count_unlaunched(partial *p, const kino__frame *f, const uint8_t *kinds)
{
    for (uint32_t at = 0; f->mode == KINO__FRAME_DEFAULT && at < f->count; at++)
        if (is_work(f, at) && f->type[at] != KINO__KERNEL_MEMORY)
            p->unlaunched += f->link[at] < 0 || !is_of_kind(f, kinds, (uint32_t)f->link[at], 2);
}

static bool collect(partial *p, const kino__frame *f, owned_launches *out)
{
    uint8_t *kinds = kinds_of_names(f);
    work_lists work = {0};
    owners o = {0};
    bool ok = kinds && work_lists_init(&work, f) && owners_init(&o, f, kinds);
    uint32_t hint = 0;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!is_of_kind(f, kinds, at, 2))
            continue;
        uint32_t owner = owner_of(&o, f, at, &hint);
        if (work.first[at] == KINO_NO_ROW)
            p->unlinked++;
        else if (owner == KINO_NO_ROW)
            p->outside += count_kernels(f, &work, at);
        else
            ok = add_launch(f, &work, owner, at, out);
    }
    if (ok)
        count_unlaunched(p, f, kinds);
    free(kinds);
    free(work.first);
    free(work.next);
    free(o.tree);
    kino__vec_deinit(&o.list);
    return ok;
}

/* Calls are told apart by thread, name and start. */
static int compare_calls(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    const owned_launch *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    kino_strid name_x = f->trace->name[f->row[x->owner]], name_y = f->trace->name[f->row[y->owner]];
    if (name_x != name_y)
        return name_x < name_y ? -1 : 1;
    if (x->owner_ts != y->owner_ts)
        return x->owner_ts < y->owner_ts ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool is_same_call(const kino__frame *f, const owned_launch *x, const owned_launch *y)
{
    return x->tid == y->tid && x->owner_ts == y->owner_ts &&
           f->trace->name[f->row[x->owner]] == f->trace->name[f->row[y->owner]];
}

/* -- sequences */

typedef struct grouping {
    kino__string_pool keys; /* name of the operator and of its kernels, as numbers */
    kino__buffer key;
} grouping;

static void add_id(kino__buffer *key, kino_strid id)
{
    kino__buffer_add(key, (kino_str){(const char *)&id, sizeof id});
}

/* The text of a sequence, from its key. */
static kino_str sequence_text(partial *p, const kino__trace *trace, kino_str key, kino__buffer *out)
{
    out->size = 0;
    for (size_t i = sizeof(kino_strid); i < key.size; i += sizeof(kino_strid)) {
        kino_strid id;
        memcpy(&id, key.data + i, sizeof id);
        if (out->size)
            kino__buffer_add(out, KINO__STR(" -> "));
        kino__buffer_add(out, kino__trace_string(trace, id));
    }
    kino_strid text =
        out->failed ? KINO_NO_STRING : kino__string_pool_add(&p->texts, kino__buffer_str(out));
    return text == KINO_NO_STRING ? (kino_str){NULL, 0} : kino__string_pool_text(&p->texts, text);
}

static bool add_call(partial *p, const kino__frame *f, grouping *g, const owned_launch *first,
                     size_t count)
{
    const kino__trace *trace = f->trace;
    kino_strid op = trace->name[f->row[first->owner]];
    g->key.size = 0;
    add_id(&g->key, op);
    for (size_t i = 0; i < count; i++)
        add_id(&g->key, trace->name[f->row[first[i].kernel]]);
    kino_strid id =
        g->key.failed ? KINO_NO_STRING : kino__string_pool_add(&g->keys, kino__buffer_str(&g->key));
    if (id == KINO_NO_STRING)
        return false;
    if (id == p->rows.count) {
        row *fresh = kino__vec_add(&p->rows);
        if (!fresh)
            return false;
        *fresh = (row){.rank = trace->rank, .op = kino__trace_string(trace, op)};
    }
    row *r = &p->rows.items[id];
    r->count++;
    int64_t before = kino__difference(f->ts[first->launch], f->ts[first->owner]);
    int64_t runtime = kino__difference(f->ts[first->kernel], f->ts[first->launch]);
    r->op_delay = kino__sum(r->op_delay, kino__frame_ns(f, before));
    r->runtime_delay = kino__sum(r->runtime_delay, kino__frame_ns(f, runtime));
    return true;
}

static bool group(partial *p, const kino__frame *f, owned_launches *launches)
{
    grouping g = {0};
    kino__string_pool_init(&g.keys, NULL);
    bool ok = true;
    if (launches->count)
        qsort_r(launches->items, launches->count, sizeof *launches->items, compare_calls,
                (void *)(uintptr_t)f);
    for (size_t i = 0, next; ok && i < launches->count; i = next) {
        for (next = i + 1;
             next < launches->count && is_same_call(f, &launches->items[i], &launches->items[next]);
             next++)
            ;
        ok = add_call(p, f, &g, &launches->items[i], next - i);
    }
    for (size_t i = 0; ok && i < p->rows.count; i++) {
        p->rows.items[i].sequence =
            sequence_text(p, f->trace, kino__string_pool_text(&g.keys, (kino_strid)i), &g.key);
        ok = p->rows.items[i].sequence.data != NULL;
    }
    kino__string_pool_deinit(&g.keys);
    kino__buffer_deinit(&g.key);
    return ok;
}

/* Most frequent first, then by name and sequence. */
static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    int by_op = kino__str_compare(x->op, y->op);
    return by_op ? by_op : kino__str_compare(x->sequence, y->sequence);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    owned_launches launches = {0};
    kino__string_pool_init(&p->texts, NULL);
    bool ok = f && collect(p, f, &launches) && group(p, f, &launches);
    if (ok) {
        p->is_cut = f->is_cut;
        p->has_device = kino__frame_has_device(f);
        if (p->rows.count)
            qsort(p->rows.items, p->rows.count, sizeof *p->rows.items, compare_rows);
    }
    kino__vec_deinit(&launches);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->rows, more->rows.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->rows.count; i++) {
        row r = more->rows.items[i];
        kino_strid text = kino__string_pool_add(&p->texts, r.sequence);
        if (text == KINO_NO_STRING)
            return kino__fail_nomem(err);
        r.sequence = kino__string_pool_text(&p->texts, text);
        p->rows.items[p->rows.count++] = r;
    }
    p->unlinked = kino__sum(p->unlinked, more->unlinked);
    p->outside = kino__sum(p->outside, more->outside);
    p->unlaunched = kino__sum(p->unlaunched, more->unlaunched);
    p->is_cut |= more->is_cut;
    p->has_device |= more->has_device;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->op, &r->sequence, &r->count, &r->op_delay, &r->runtime_delay);
    if (r->count <= 0)
        pack->is_damaged = true;
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__pack_int(pack, &p->unlinked);
    KINO__PACK_TALLIES(pack, &p->outside, &p->unlaunched);
    KINO__PACK(pack, &p->is_cut, &p->has_device);
}

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"aten_op_name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, NULL},
    {"kernel_sequence", KINO_TYPE_STRING, NULL, "kernel names in launch order"},
    {"occurrence_count", KINO_TYPE_INT, "count", "calls that launched this sequence"},
    {"avg_aten_op_launch_delay", KINO_TYPE_FLOAT, "ns",
     "mean time from the operator's start to its first launch"},
    {"avg_runtime_delay", KINO_TYPE_FLOAT, "ns",
     "mean time from that launch to its kernel's start"},
    {0},
};

static const kino_table_info tables[] = {
    {"op_kernels", "one row per operator and kernel sequence, most frequent first", columns, NULL,
     "not available: no launch inside an ATen operator could be matched to a kernel"},
    {0},
};

/* HTA rounds to three decimals of its unit. */
static double mean_of(const kino__analysis *a, int64_t sum, int64_t count)
{
    double mean = (double)sum / (double)count;
    if (kino__frame_mode_of(a) == KINO__FRAME_HTA)
        return kino__round(mean / 1000, 3) * 1000;
    return mean;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        KINO__TABLE_ADD(table, r->rank, r->op, r->sequence, r->count,
                        mean_of(a, r->op_delay, r->count), mean_of(a, r->runtime_delay, r->count));
    }
    if (!p->has_device)
        kino__result_lacks(result, "kernels of operators", ": no device work was recorded");
    if (p->unlinked)
        kino__result_note(result, "%lld launches without a kernel in the trace are left out",
                          (long long)p->unlinked);
    if (p->outside)
        kino__result_note(result, "%lld kernels launched outside ATen operators are left out",
                          (long long)p->outside);
    kino__note_unlaunched(result, p->unlaunched);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_op_kernels = {
    .name = "op-kernels",
    .help = "which kernels ATen operators launch, and with what delay",
    .description =
        "A launch and its kernels belong to the innermost ATen operator enclosing it in\n"
        "its thread. Calls of an operator that launch the same kernels in the same order\n"
        "share one row; delays are those of the first launch of each call. With compat,\n"
        "operators of all threads and only the first kernel of each launch are\n"
        "considered, as in HTA.\n",
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
