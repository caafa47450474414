/* call_graph_build.c - making a call graph.
 *
 * Method: in each thread the starts and ends of its spans are replayed in order of time over a
 * stack of what is open; an end takes off whatever is on top, so spans that only overlap do no
 * harm. The thread of the backward pass is hung below the steps of the main thread. Sums go from
 * the leaves up, in the reverse of an order in which parents stand before children.
 * Cost: n log n in the spans of a thread, linear where they are in order already. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/call_graph/call_graph.h"
#include "base/large.h"

void kino__call_graph_free(kino__call_graph *g)
{
    if (!g)
        return;
    kino__vec_deinit(&g->lanes);
    kino__large_free(g->order);
    kino__large_free(g->parent);
    kino__large_free(g->lane);
    kino__large_free(g->depth);
    kino__large_free(g->height);
    kino__large_free(g->num_kernels);
    kino__large_free(g->kernel_dur);
    kino__large_free(g->first_kernel);
    kino__large_free(g->last_kernel);
    kino__frame_free(g->own_frame);
    free(g);
}

static void graph_free(void *value)
{
    kino__call_graph_free(value);
}

static bool allocate(kino__call_graph *g)
{
    size_t count = (size_t)g->frame->count + 1;
    g->order = kino__large_new(count, sizeof *g->order);
    g->parent = kino__large_new(count, sizeof *g->parent);
    g->lane = kino__large_new(count, sizeof *g->lane);
    g->depth = kino__large_new(count, sizeof *g->depth);
    g->height = kino__large_new(count, sizeof *g->height);
    g->num_kernels = kino__large_new(count, sizeof *g->num_kernels);
    g->kernel_dur = kino__large_new(count, sizeof *g->kernel_dur);
    g->first_kernel = kino__large_new(count, sizeof *g->first_kernel);
    g->last_kernel = kino__large_new(count, sizeof *g->last_kernel);
    if (!g->order || !g->parent || !g->lane || !g->depth || !g->height || !g->num_kernels ||
        !g->kernel_dur || !g->first_kernel || !g->last_kernel)
        return false;
    for (size_t at = 0; at < count; at++) {
        g->parent[at] = KINO__CALL_NONE;
        g->lane[at] = KINO_NO_ROW;
    }
    return true;
}

/* -- what names say */

enum { NAME_STEP = 1, NAME_AUTOGRAD = 2, NAME_BACKWARD = 4 };

/* By string id; the caller frees it. */
static uint8_t *kinds_of_names(const kino__trace *trace)
{
    size_t count = kino__string_pool_count(&trace->strings);
    uint8_t *kinds = calloc(count + 1, 1);
    for (kino_strid id = 0; kinds && id < count; id++) {
        kino_str name = kino__trace_string(trace, id);
        if (kino__str_starts_with(name, KINO__STR("ProfilerStep#")))
            kinds[id] |= NAME_STEP;
        if (kino__str_starts_with(name, KINO__STR("## backward ##")))
            kinds[id] |= NAME_BACKWARD;
        if (name.size && memmem(name.data, name.size, "autograd::", 10))
            kinds[id] |= NAME_AUTOGRAD;
    }
    return kinds;
}

static uint8_t kind_of(const kino__frame *f, const uint8_t *kinds, uint32_t at)
{
    kino_strid name = f->trace->name[f->row[at]];
    return name == KINO_NO_STRING ? 0 : kinds[name];
}

/* -- lanes */

/* A span of a host thread. HTA: whatever has no stream. */
static bool is_host(const kino__frame *f, uint32_t at)
{
    if (f->mode != KINO__FRAME_DEFAULT)
        return f->stream[at] == -1;
    uint16_t category = f->trace->category[f->row[at]];
    kino__kind kind = kino__category_kind(category);
    if (kino__frame_is_device(f, at) || kind == KINO__KIND_GPU_ANNOTATION ||
        kind == KINO__KIND_SYNC)
        return false;
    return category != KINO__CATEGORY_CUDA_PROFILER_RANGE;
}

static bool is_zero(const kino__label *label)
{
    return label->kind == KINO__LABEL_INT && label->number == 0;
}

static int64_t root_of(const kino__label *tid, size_t lane)
{
    if (tid->kind != KINO__LABEL_INT)
        return -(int64_t)lane - 1;
    return tid->number > 0 ? -tid->number : tid->number;
}

static int compare_labels(const kino__trace *trace, const kino__label *a, const kino__label *b)
{
    bool is_int = a->kind == KINO__LABEL_INT;
    if (is_int != (b->kind == KINO__LABEL_INT))
        return is_int ? -1 : 1;
    if (is_int)
        return a->number < b->number ? -1 : a->number > b->number;
    return kino__str_compare(kino__trace_string(trace, a->text),
                             kino__trace_string(trace, b->text));
}

static int compare_lanes(const void *x, const void *y, void *context)
{
    const kino__trace *trace = context;
    const kino__call_lane *a = x, *b = y;
    const kino__track *tracks = trace->tracks.items;
    int by_pid = compare_labels(trace, &tracks[a->track].pid, &tracks[b->track].pid);
    int by_tid = compare_labels(trace, &tracks[a->track].tid, &tracks[b->track].tid);
    if (by_pid || by_tid)
        return by_pid ? by_pid : by_tid;
    return a->track < b->track ? -1 : a->track > b->track;
}

/* What a track's rows say about it as a lane. */
typedef struct lane_facts {
    uint32_t host_rows;
    bool has_other; /* a row that is not work on a stream above 0 */
    uint8_t kinds;
    uint32_t first; /* first row in frame order; KINO_NO_ROW: none */
} lane_facts;

static lane_facts look_at(const kino__frame *f, const uint8_t *kinds, const kino__track *track)
{
    lane_facts facts = {.first = KINO_NO_ROW};
    bool is_hta = f->mode != KINO__FRAME_DEFAULT;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        uint32_t at = f->at_of_row[row];
        if (at == KINO_NO_ROW)
            continue;
        bool is_own = is_host(f, at);
        facts.host_rows += is_own;
        facts.has_other |= is_hta && f->stream[at] <= 0;
        if (!is_own && !is_hta)
            continue;
        facts.kinds |= kind_of(f, kinds, at);
        facts.first = at < facts.first ? at : facts.first;
    }
    return facts;
}

static bool is_lane(const kino__frame *f, const kino__track *track, const lane_facts *facts)
{
    if (f->mode == KINO__FRAME_DEFAULT)
        return facts->host_rows > 0;
    return facts->first != KINO_NO_ROW && facts->has_other && !is_zero(&track->pid) &&
           !is_zero(&track->tid);
}

/* The numbers that stand for threads: the default gives each its own. */
static bool name_roots(kino__call_graph *g)
{
    const kino__trace *trace = g->frame->trace;
    kino__map taken;
    kino__map_init(&taken, NULL);
    bool ok = true;
    for (size_t i = 0; ok && i < g->lanes.count; i++) {
        kino__call_lane *lane = &g->lanes.items[i];
        lane->root = root_of(&trace->tracks.items[lane->track].tid, i);
        if (g->frame->mode == KINO__FRAME_DEFAULT) {
            lane->root = lane->root == 0 ? -1 : lane->root;
            while (kino__map_get(&taken, (uint64_t)lane->root) && lane->root > INT64_MIN + 1)
                lane->root--;
            ok = kino__map_put(&taken, (uint64_t)lane->root, 1) != NULL;
        }
        lane->stack_root = lane->root;
    }
    kino__map_deinit(&taken);
    return ok;
}

static bool find_lanes(kino__call_graph *g, const uint8_t *kinds)
{
    const kino__frame *f = g->frame;
    const kino__trace *trace = f->trace;
    for (uint32_t i = 0; i < trace->tracks.count; i++) {
        lane_facts facts = look_at(f, kinds, &trace->tracks.items[i]);
        if (!is_lane(f, &trace->tracks.items[i], &facts))
            continue;
        kino__call_lane *lane = kino__vec_add(&g->lanes);
        if (!lane)
            return false;
        *lane = (kino__call_lane){.track = i};
        lane->label = facts.kinds & NAME_STEP       ? KINO__STR("main")
                      : facts.kinds & NAME_AUTOGRAD ? KINO__STR("bwd")
                                                    : kino__frame_name(f, facts.first);
    }
    if (g->lanes.count)
        qsort_r(g->lanes.items, g->lanes.count, sizeof *g->lanes.items, compare_lanes,
                (void *)(uintptr_t)trace);
    return name_roots(g);
}

/* -- the tree of one lane */

/* Rows of a lane by what they are in the replay. Of equal starts the longer comes first, of equal
 * ends the shorter; spans without length lie inside of the others. */
typedef struct replay {
    uint32_t *starts, *ends, *zeros;
    size_t count, zero_count; /* of starts and ends; of zeros */
    uint32_t *open;
} replay;

static int compare_starts(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (kino__frame_start(f, x) != kino__frame_start(f, y))
        return kino__frame_start(f, x) < kino__frame_start(f, y) ? -1 : 1;
    if (kino__frame_length(f, x) != kino__frame_length(f, y))
        return kino__frame_length(f, x) > kino__frame_length(f, y) ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_ends(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t end_x = kino__call_end(f, x), end_y = kino__call_end(f, y);
    if (end_x != end_y)
        return end_x < end_y ? -1 : 1;
    if (kino__frame_length(f, x) != kino__frame_length(f, y))
        return kino__frame_length(f, x) < kino__frame_length(f, y) ? -1 : 1;
    return x > y ? -1 : x < y;
}

static void sort_positions(const kino__frame *f, uint32_t *positions, size_t count,
                           int (*compare)(const void *, const void *, void *))
{
    void *context = (void *)(uintptr_t)f;
    for (size_t i = 1; i < count; i++) {
        if (compare(&positions[i - 1], &positions[i], context) <= 0)
            continue;
        qsort_r(positions, count, sizeof *positions, compare, context);
        return;
    }
}

static void enter(kino__call_graph *g, uint32_t lane, uint32_t at, int32_t parent)
{
    g->parent[at] = parent;
    g->lane[at] = lane;
    g->height[at] = 1;
    g->order[g->count++] = at;
}

/* The spans without length at one time, before a position: each lies in the one before. */
static size_t run_zeros(kino__call_graph *g, uint32_t lane, const replay *r, size_t next,
                        int64_t time, uint32_t limit, size_t depth)
{
    int32_t parent = depth ? (int32_t)r->open[depth - 1] : KINO__CALL_TOP;
    for (; next < r->zero_count; next++) {
        uint32_t at = r->zeros[next];
        if (kino__frame_start(g->frame, at) != time || at >= limit)
            break;
        enter(g, lane, at, parent);
        parent = (int32_t)at;
    }
    return next;
}

static int64_t next_time(const kino__frame *f, const replay *r, size_t start, size_t end,
                         size_t zero)
{
    int64_t time = INT64_MAX;
    if (start < r->count)
        time = kino__frame_start(f, r->starts[start]);
    if (end < r->count && kino__call_end(f, r->ends[end]) < time)
        time = kino__call_end(f, r->ends[end]);
    if (zero < r->zero_count && kino__frame_start(f, r->zeros[zero]) < time)
        time = kino__frame_start(f, r->zeros[zero]);
    return time;
}

/* At one time: ends, then starts. A span without length lies inside of what ends or starts there;
 * where both happen (HTA's order runs in a circle) the file's order tells in which. */
static void run(kino__call_graph *g, uint32_t lane, replay *r)
{
    const kino__frame *f = g->frame;
    size_t start = 0, end = 0, zero = 0, depth = 0;
    while (start < r->count || end < r->count || zero < r->zero_count) {
        int64_t time = next_time(f, r, start, end, zero);
        bool has_starts = start < r->count && kino__frame_start(f, r->starts[start]) == time;
        bool has_ends = end < start && kino__call_end(f, r->ends[end]) == time;
        uint32_t limit = !has_starts ? UINT32_MAX : has_ends ? r->starts[start] : 0;
        zero = run_zeros(g, lane, r, zero, time, limit, depth);
        for (; end < start && kino__call_end(f, r->ends[end]) == time; end++)
            depth--;
        for (; start < r->count && kino__frame_start(f, r->starts[start]) == time; start++) {
            enter(g, lane, r->starts[start], depth ? (int32_t)r->open[depth - 1] : KINO__CALL_TOP);
            r->open[depth++] = r->starts[start];
        }
        zero = run_zeros(g, lane, r, zero, time, UINT32_MAX, depth);
    }
}

static bool build_lane(kino__call_graph *g, uint32_t index)
{
    const kino__frame *f = g->frame;
    kino__call_lane *lane = &g->lanes.items[index];
    const kino__track *track = &f->trace->tracks.items[lane->track];
    uint32_t *block = malloc(((size_t)track->count * 4 + 1) * sizeof *block);
    if (!block)
        return false;
    replay r = {block,
                block + track->count,
                block + 2 * (size_t)track->count,
                0,
                0,
                block + 3 * (size_t)track->count};
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        uint32_t at = f->at_of_row[row];
        if (at == KINO_NO_ROW || !is_host(f, at))
            continue;
        if (kino__frame_length(f, at) <= 0) {
            r.zeros[r.zero_count++] = at;
        } else {
            r.starts[r.count] = r.ends[r.count] = at;
            r.count++;
        }
    }
    sort_positions(f, r.starts, r.count, compare_starts);
    sort_positions(f, r.ends, r.count, compare_ends);
    sort_positions(f, r.zeros, r.zero_count, compare_starts);
    lane->first = g->count;
    run(g, index, &r);
    lane->count = g->count - lane->first;
    free(block);
    return true;
}

/* -- the backward pass */

/* Rows of the main thread that start so; its steps where there are none. The caller frees it. */
static uint32_t *find_hosts(const kino__call_graph *g, const kino__call_lane *main_lane,
                            const uint8_t *kinds, size_t *count)
{
    uint32_t *hosts = malloc(((size_t)main_lane->count + 1) * sizeof *hosts);
    *count = 0;
    for (uint8_t kind = NAME_BACKWARD; hosts && kind && *count == 0;
         kind = kind == NAME_BACKWARD ? NAME_STEP : 0)
        for (uint32_t i = 0; i < main_lane->count; i++) {
            uint32_t at = g->order[main_lane->first + i];
            if (kind_of(g->frame, kinds, at) & kind)
                hosts[(*count)++] = at;
        }
    return hosts;
}

static bool attach_backward(kino__call_graph *g, const uint8_t *kinds)
{
    const kino__frame *f = g->frame;
    kino__call_lane *of[2] = {NULL, NULL};
    size_t labelled = 0, host_count, host = 0;
    for (size_t i = 0; i < g->lanes.count; i++) {
        bool is_main = kino__str_is(g->lanes.items[i].label, "main");
        if (!is_main && !kino__str_is(g->lanes.items[i].label, "bwd"))
            continue;
        of[is_main ? 0 : 1] = &g->lanes.items[i];
        labelled++;
    }
    if (labelled != 2 || !of[0] || !of[1])
        return true;
    of[1]->stack_root = of[0]->root;
    uint32_t *hosts = find_hosts(g, of[0], kinds, &host_count);
    if (!hosts)
        return false;
    for (uint32_t i = 0; i < of[1]->count && host_count; i++) {
        uint32_t at = g->order[of[1]->first + i];
        if (g->parent[at] != KINO__CALL_TOP)
            continue;
        while (host + 1 < host_count &&
               kino__frame_start(f, hosts[host + 1]) <= kino__frame_start(f, at))
            host++;
        if (kino__frame_start(f, hosts[host]) <= kino__frame_start(f, at) &&
            kino__call_end(f, at) <= kino__call_end(f, hosts[host]))
            g->parent[at] = (int32_t)hosts[host];
    }
    free(hosts);
    return true;
}

/* -- device work, and the sums */

static void attach_kernels(kino__call_graph *g)
{
    const kino__frame *f = g->frame;
    for (uint32_t at = 0; at < f->count; at++) {
        bool is_work =
            f->mode == KINO__FRAME_DEFAULT ? kino__frame_is_device(f, at) : f->stream[at] > 0;
        if (!is_work || f->link[at] < 0 || g->lane[f->link[at]] == KINO_NO_ROW)
            continue;
        enter(g, g->lane[f->link[at]], at, f->link[at]);
        g->height[at] = 0;
        g->num_kernels[at] = 1;
        g->kernel_dur[at] = kino__frame_length(f, at);
        g->first_kernel[at] = g->last_kernel[at] = at + 1;
    }
}

static int64_t start_of_first(const kino__call_graph *g, uint32_t at)
{
    return kino__frame_start(g->frame, g->first_kernel[at] - 1);
}

static int64_t end_of_last(const kino__call_graph *g, uint32_t at)
{
    return kino__call_end(g->frame, g->last_kernel[at] - 1);
}

/* Of the rows that HTA's cut has doubled, all but one. */
static bool is_copy(const kino__frame *f, uint32_t at)
{
    return f->mode != KINO__FRAME_DEFAULT && f->at_of_row[f->row[at]] != at;
}

static void add_up(kino__call_graph *g)
{
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t at = g->order[i];
        g->depth[at] = g->parent[at] < 0 ? 0 : g->depth[g->parent[at]] + 1;
    }
    for (uint32_t i = g->count; i-- > 0;) {
        uint32_t at = g->order[i];
        if (g->parent[at] < 0 || is_copy(g->frame, at))
            continue;
        uint32_t parent = (uint32_t)g->parent[at];
        if (g->height[at] + 1 > g->height[parent])
            g->height[parent] = g->height[at] + 1;
        if (g->num_kernels[at] == 0)
            continue;
        bool is_first = g->num_kernels[parent] == 0;
        g->num_kernels[parent] += g->num_kernels[at];
        g->kernel_dur[parent] = kino__sum(g->kernel_dur[parent], g->kernel_dur[at]);
        if (is_first || start_of_first(g, at) < start_of_first(g, parent))
            g->first_kernel[parent] = g->first_kernel[at];
        if (is_first || end_of_last(g, at) > end_of_last(g, parent))
            g->last_kernel[parent] = g->last_kernel[at];
    }
}

/* The main thread comes first, so that the backward pass stands behind what it hangs below. */
static bool build(kino__call_graph *g)
{
    uint8_t *kinds = kinds_of_names(g->frame->trace);
    bool ok = kinds && allocate(g) && find_lanes(g, kinds);
    for (int pass = 0; ok && pass < 2; pass++)
        for (uint32_t i = 0; ok && i < g->lanes.count; i++)
            if (kino__str_is(g->lanes.items[i].label, "main") == (pass == 0))
                ok = build_lane(g, i);
    ok = ok && attach_backward(g, kinds);
    if (ok) {
        attach_kernels(g);
        if (g->own_frame)
            kino__frame_drop_links(g->own_frame);
        add_up(g);
    }
    free(kinds);
    return ok;
}

typedef struct request {
    kino__frame_mode mode;
    bool has_last_step;
    kino__pool *pool;
} request;

/* Takes own, also when it fails. */
static kino__call_graph *make(const kino__frame *f, kino__frame *own)
{
    kino__call_graph *g = f ? calloc(1, sizeof *g) : NULL;
    if (!g) {
        kino__frame_free(own);
        return NULL;
    }
    g->frame = f;
    g->own_frame = own;
    if (build(g))
        return g;
    kino__call_graph_free(g);
    return NULL;
}

static void *graph_make(const kino__trace *trace, void *context)
{
    const request *r = context;
    return make(kino__frame_of(trace, r->mode, r->has_last_step, r->pool), NULL);
}

const kino__call_graph *kino__call_graph_of(const kino__trace *trace, kino__frame_mode mode,
                                            bool has_last_step, kino__pool *pool)
{
    static const char keys[KINO__FRAME_MODES][2];
    request r = {mode, has_last_step, pool};
    return kino__trace_attachment(trace, &keys[mode][has_last_step], graph_make, &r, graph_free);
}

kino__call_graph *kino__call_graph_new(const kino__trace *trace, kino__frame_mode mode,
                                       bool has_last_step, bool is_last, kino__pool *pool)
{
    if (mode != KINO__FRAME_DEFAULT)
        return make(kino__frame_of(trace, mode, has_last_step, pool), NULL);
    /* whoever says so has the trace for itself, hence the cast */
    kino__trace *last = is_last ? (kino__trace *)(uintptr_t)trace : NULL;
    if (last)
        kino__trace_drop_columns(last, KINO__COLUMN_ALL & ~KINO__FRAME_NARROW_COLUMNS);
    kino__frame *own = kino__frame_new_narrow(trace, has_last_step, pool);
    if (last) /* ids have led from launches to device work */
        kino__trace_drop_columns(last, KINO__COLUMN_BIND);
    return make(own, own);
}
