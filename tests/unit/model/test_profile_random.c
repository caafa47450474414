/* test_profile_random.c - what must hold for every trace, on 1,000 small generated ones: the parts
 * of a step add up to it, time of a node is its own, its children's and its launches', no device
 * work is lost or counted twice, and the answer for several ranks does not depend on how they are
 * merged. The steps' parts are also worked out moment by moment. */
#include <stdlib.h>

#include "engine/analyze.h"
#include "model/profile/profile.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { TRACES = 1000, MOST_EVENTS = 80, LENGTH = 400 };

/* -- a generator -- */

static const char *const operator_names[] = {"aten::mm",
                                             "aten::add",
                                             "aten::linear",
                                             "aten::mm",
                                             "nccl:all_reduce",
                                             "enumerate(DataLoader)#X.__next__",
                                             "Optimizer.step#SGD.step"};
static const char *const kernel_names[] = {"gemm_hmma", "elementwise", "ncclKernel_AllReduce"};
static const char *const kernel_args[] = {
    "{\"device\": 0, \"blocks per SM\": 0.3, \"est. achieved occupancy %\": 30}",
    "{\"device\": 1, \"blocks per SM\": 2.5, \"est. achieved occupancy %\": 0}",
    "{\"device\": 0}",
    "{}",
};

/* Steps one after the other, operators anywhere on two threads, calls, work on two streams. Some
 * have no steps, some no device; ids may be absent, doubled, or of nothing. */
static kino__trace *random_trace(fixture_random *random)
{
    static const char *const steps[] = {"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"};
    fixture_event events[MOST_EVENTS];
    size_t count = 0;
    int64_t at = fixture_random_below(random, 50);
    for (uint32_t i = 0, n = fixture_random_below(random, 4); i < n; i++) {
        int64_t length = fixture_random_below(random, 150);
        events[count++] = (fixture_event){
            .track = 1, .cat = "user_annotation", .name = steps[i], .ts = at, .dur = length};
        at += length + fixture_random_below(random, 3) * 10;
    }
    bool has_device = fixture_random_below(random, 5) > 0;
    for (uint32_t i = 0, n = fixture_random_below(random, 70); i < n; i++) {
        uint32_t what = fixture_random_below(random, has_device ? 10 : 4);
        fixture_event e = {.ts = fixture_random_below(random, LENGTH),
                           .dur = fixture_random_below(random, 60),
                           .external = fixture_random_below(random, 12)};
        if (what < 4) {
            e.cat = fixture_random_below(random, 8) ? "cpu_op" : "user_annotation";
            e.name = operator_names[fixture_random_below(random, 7)];
            e.track = 1 + fixture_random_below(random, 2);
        } else if (what < 6) {
            e.cat = fixture_random_below(random, 4) ? "cuda_runtime" : "cuda_driver";
            e.name = "cudaLaunchKernel";
            e.track = 1 + fixture_random_below(random, 2);
            e.dur /= 8;
            e.bind = fixture_random_below(random, 12);
        } else {
            e.cat = what < 9                          ? "kernel"
                    : fixture_random_below(random, 2) ? "gpu_memcpy"
                                                      : "gpu_memset";
            e.name = kernel_names[fixture_random_below(random, 3)];
            e.args = kernel_args[fixture_random_below(random, 4)];
            e.track = 7 + fixture_random_below(random, 2);
            e.bind = fixture_random_below(random, 12);
        }
        events[count++] = e;
    }
    kino__trace *trace = fixture_new(events, count);
    trace->rank = fixture_random_below(random, 8);
    return trace;
}

/* Modules, an autograd thread whose spans nest, and flows between them, most of which fit. */
static kino__trace *random_training(fixture_random *random)
{
    static const char *const engine[] = {
        "autograd::engine::evaluate_function: A", "ABackward", "aten::mm", "ABackward",
        "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"};
    static const char *const forward[] = {"nn.Module: Net_0", "nn.Module: Lin_0", "aten::mm",
                                          "aten::add", "ProfilerStep#1"};
    fixture_event events[MOST_EVENTS];
    size_t count = 0;
    for (uint32_t i = 0, n = 2 + fixture_random_below(random, 50); i < n; i++) {
        bool is_back = fixture_random_below(random, 2);
        uint32_t what = fixture_random_below(random, 5);
        fixture_event e = {.track = 1 + is_back,
                           .cat = "cpu_op",
                           .name = is_back ? engine[what] : forward[what],
                           .ts = fixture_random_below(random, 30) * 10 + is_back * 60,
                           .dur = fixture_random_below(random, 12) * 10};
        if (!is_back && what < 2) {
            e.cat = "python_function";
            e.args = "{\"Python module id\": 1}";
        }
        events[count++] = e;
    }
    size_t spans = count;
    for (uint32_t i = 1; i < 10; i++) {
        const fixture_event *from = &events[fixture_random_below(random, (uint32_t)spans)];
        const fixture_event *to = &events[fixture_random_below(random, (uint32_t)spans)];
        int64_t id = 1 + fixture_random_below(random, 8);
        events[count++] = (fixture_event){
            .ph = 's', .cat = "fwdbwd", .name = "f", .track = 1, .ts = from->ts, .bind = id};
        events[count++] = (fixture_event){
            .ph = 'f', .cat = "fwdbwd", .name = "f", .track = 2, .ts = to->ts, .bind = id};
    }
    return fixture_new(events, count);
}

/* -- what must hold -- */

static int64_t length_of(const kino__trace *trace, uint32_t row)
{
    return trace->dur[row] > 0 ? trace->dur[row] : 0;
}

/* Spans of the host: the plugin takes annotations for work; a call that launches is an operator. */
static int role_of_span(const kino__profile *p, uint32_t row)
{
    uint32_t flags = p->name_flags[p->trace->name[row]];
    if (flags & KINO__NAME_NCCL && (p->is_compat || !p->has_kernel))
        return KINO__ROLE_COMMUNICATION;
    if (flags & KINO__NAME_LOADER)
        return KINO__ROLE_LOADER;
    bool is_container = p->type[row] == KINO__EVENT_TYPE_ANNOTATION || flags & KINO__NAME_CONTAINER;
    return is_container && !p->is_compat ? KINO__ROLE_OTHER : KINO__ROLE_CPU;
}

/* Is communication what the thread of an operator began last, of what is open at this moment? */
static bool is_communicating(const kino__profile *p, uint32_t op, int64_t moment)
{
    const kino__trace *trace = p->trace;
    const kino__track *track = &trace->tracks.items[kino__trace_track_of(trace, op)];
    int last = KINO__ROLE_OTHER;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        bool is_span = p->type[row] == KINO__EVENT_TYPE_OPERATOR ||
                       p->type[row] == KINO__EVENT_TYPE_ANNOTATION;
        if (!is_span || trace->ts[row] > moment || moment >= trace->ts[row] + length_of(trace, row))
            continue;
        int role = role_of_span(p, row);
        last = role == KINO__ROLE_CPU || role == KINO__ROLE_COMMUNICATION ? role : last;
    }
    return last == KINO__ROLE_COMMUNICATION;
}

/* The smaller, the earlier a role takes a moment. Only computation hides communication: kernels,
 * and where there are none the work of the host. The plugin goes by the order of the roles. */
static int turn_of(const kino__profile *p, int role)
{
    static const int with_kernels[] = {0, 2, 3, 1, 4, 5, 6, 7};
    static const int without[] = {0, 1, 2, 5, 6, 3, 4, 7};
    return p->is_compat ? role : p->has_kernel ? with_kernels[role] : without[role];
}

/* The role of one moment, the slow and obvious way. */
static int role_at(const kino__profile *p, int64_t moment)
{
    int best = KINO__ROLE_OTHER;
    for (uint32_t row = 0; row < p->trace->event_count; row++) {
        int64_t start = p->trace->ts[row];
        if (moment < start || moment >= start + length_of(p->trace, row))
            continue;
        int role = KINO__ROLE_OTHER;
        switch (p->type[row]) {
        case KINO__EVENT_TYPE_KERNEL: {
            bool is_comm = p->kernels.items[kino__profile_kernel_at(p, row)].is_communication;
            role = is_comm ? KINO__ROLE_COMMUNICATION : KINO__ROLE_KERNEL;
            break;
        }
        case KINO__EVENT_TYPE_MEMCPY:
            role = KINO__ROLE_MEMCPY;
            break;
        case KINO__EVENT_TYPE_MEMSET:
            role = KINO__ROLE_MEMSET;
            break;
        case KINO__EVENT_TYPE_RUNTIME:
            role = KINO__ROLE_RUNTIME;
            break;
        case KINO__EVENT_TYPE_OPERATOR:
        case KINO__EVENT_TYPE_ANNOTATION:
            role = role_of_span(p, row);
            break;
        default:
            break;
        }
        if (role == KINO__ROLE_CPU && !p->is_compat && !p->has_kernel &&
            is_communicating(p, row, moment))
            role = KINO__ROLE_OTHER;
        best = turn_of(p, role) < turn_of(p, best) ? role : best;
    }
    return best;
}

static bool check_steps(const kino__profile *p)
{
    int64_t before = INT64_MIN;
    bool ok = true;
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *s = &p->steps.items[i];
        int64_t sum = 0, want[KINO__ROLE_COUNT] = {0};
        for (int64_t moment = s->start; moment < s->end; moment++)
            want[role_at(p, moment)]++;
        for (int r = 0; r < KINO__ROLE_COUNT; r++) {
            sum += s->cost[r];
            ok &= CHECK_EQ(s->cost[r], want[r]);
        }
        ok &= CHECK_EQ(sum, s->end - s->start);
        ok &= CHECK(s->start >= before && s->start >= s->host_start && s->end >= s->host_end);
        ok &= CHECK(s->overlap <= s->computation && s->overlap <= s->communication);
        before = s->end;
    }
    return ok;
}

static bool is_at(const kino__profile *p, uint32_t node, int64_t at)
{
    const kino__node *n = &p->nodes.items[node];
    return at >= kino__node_start(p, n) && at < kino__node_end(p, n);
}

/* The time of a launch that belongs to the node alone: all of it for the plugin, by default what is
 * inside of the node and outside of its children, counted ns by ns. */
static int64_t own_time(const kino__profile *p, const kino__node *n, uint32_t row)
{
    int64_t start = p->trace->ts[row], own = 0;
    for (int64_t at = start; at < start + length_of(p->trace, row); at++) {
        bool is_own = p->is_compat || (at >= kino__node_start(p, n) && at < kino__node_end(p, n));
        for (uint32_t c = n->first_child; c != KINO__NO_NODE && !p->is_compat;
             c = p->nodes.items[c].next_sibling)
            is_own &= !is_at(p, c, at);
        own += is_own;
    }
    return own;
}

/* The time of a node that its children cover, counted ns by ns. */
static int64_t covered_time(const kino__profile *p, const kino__node *n)
{
    int64_t covered = 0;
    for (int64_t at = kino__node_start(p, n); at < kino__node_end(p, n); at++) {
        bool is_covered = false;
        for (uint32_t c = n->first_child; c != KINO__NO_NODE && !is_covered;
             c = p->nodes.items[c].next_sibling)
            is_covered = is_at(p, c, at);
        covered += is_covered;
    }
    return covered;
}

/* self + children + launches = total, for the host and for the device. */
static bool check_node(const kino__profile *p, uint32_t index, int64_t *work)
{
    const kino__node *n = &p->nodes.items[index];
    kino__node_sums sums = kino__node_sums_of(p, n);
    int64_t host = sums.self_host, own = 0, device = 0;
    for (uint32_t c = n->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling) {
        const kino__node *child = &p->nodes.items[c];
        if (!CHECK(child->parent == index &&
                   kino__node_start(p, child) >= kino__node_start(p, n)) ||
            !CHECK(!p->is_compat || kino__node_end(p, child) <= kino__node_end(p, n)))
            return false;
        device += kino__node_sums_of(p, child).device_total;
    }
    uint32_t count;
    const kino__launch *launch = kino__node_launches(p, n, &count);
    for (uint32_t l = 0; l < count; l++, launch++) {
        host += launch->row == KINO_NO_ROW ? 0 : own_time(p, n, launch->row);
        for (uint32_t w = launch->first_work; w < launch->first_work + launch->work_count; w++)
            own += length_of(p->trace, p->work.items[w]);
    }
    host += covered_time(p, n);
    *work += own;
    return CHECK_EQ(host, kino__node_end(p, n) - kino__node_start(p, n)) &&
           CHECK_EQ(own, sums.device_self) && CHECK_EQ(own + device, sums.device_total);
}

static bool check_trees(const kino__profile *p, bool is_compat)
{
    int64_t work = 0, all = 0, nodes = 0;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root;
        for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
            nodes++;
            if (!check_node(p, n, &work))
                return false;
        }
    }
    int64_t kept = 0;
    for (size_t n = 0; n < p->nodes.count; n++)
        kept += !p->nodes.items[n].is_dropped;
    for (uint32_t row = 0; row < p->trace->event_count; row++)
        if (p->type[row] >= KINO__EVENT_TYPE_KERNEL && p->type[row] <= KINO__EVENT_TYPE_MEMSET)
            all += length_of(p->trace, row);
    /* Nothing twice. (What dropped operators launched is lost; the plugin has some twice, D3.) */
    return CHECK_EQ(nodes, kept) && (is_compat || CHECK(work <= all));
}

TEST(profile_of_generated_traces_adds_up)
{
    fixture_random random = {20240607};
    for (int i = 0; i < TRACES; i++) {
        kino__trace *trace = random_trace(&random);
        const kino__profile *p = kino__profile_of(trace, false, NULL);
        const kino__profile *compat = kino__profile_of(trace, true, NULL);
        REQUIRE(p && compat);
        bool ok = check_steps(p) && check_trees(p, false) && check_trees(compat, true);
        for (size_t d = 0; ok && d < p->metrics.count; d++)
            ok = CHECK(!(p->metrics.items[d].utilization > 1) &&
                       !(p->metrics.items[d].sm_efficiency > 1));
        kino__trace_free(trace);
        if (!ok) {
            printf("trace %d\n", i);
            return;
        }
    }
}

/* Has the row a node that was kept? Its node must be of this row. */
static bool is_nested(const kino__profile *p, uint32_t row, bool *ok)
{
    uint32_t node = kino__profile_node_of(p, row);
    if (node == KINO__NO_NODE)
        return false;
    *ok &= CHECK_EQ(p->nodes.items[node].row, row);
    return !p->nodes.items[node].is_dropped;
}

/* Trees are trees: each node that is kept is met once, and below the one that it names; in the
 * default all operators that the nesting keeps are there. Returns how many backward nodes there
 * are. */
static size_t check_shape(const kino__profile *p, bool is_compat, bool *ok)
{
    size_t met = 0, kept = 0, made = 0, operators = 0, nested = 0;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, last = KINO__NO_NODE;
        for (uint32_t n = root; n != KINO__NO_NODE && met <= p->nodes.count;
             n = kino__node_next(p, n, root)) {
            const kino__node *node = &p->nodes.items[n];
            met++;
            operators += node->row != KINO_NO_ROW;
            *ok &= CHECK(node->thread < p->threads.count && !node->is_dropped);
            last = kino__node_last_child(p, node);
            *ok &= CHECK(last == KINO__NO_NODE || p->nodes.items[last].parent == n);
        }
    }
    for (size_t n = 0; n < p->nodes.count; n++) {
        kept += !p->nodes.items[n].is_dropped;
        made += p->nodes.items[n].class == KINO__NODE_BACKWARD;
    }
    for (uint32_t row = 0; row < p->trace->event_count; row++)
        nested += is_nested(p, row, ok);
    *ok &= CHECK_EQ(met, kept);
    *ok &= is_compat || CHECK_EQ(operators, nested);
    return made;
}

TEST(profile_of_generated_training_keeps_its_trees_whole)
{
    fixture_random random = {4711};
    size_t made = 0;
    for (int i = 0; i < TRACES; i++) {
        kino__trace *trace = random_training(&random);
        bool ok = true;
        for (int is_compat = 0; is_compat < 2; is_compat++) {
            const kino__profile *p = kino__profile_of(trace, is_compat, NULL);
            REQUIRE(p != NULL);
            made += check_shape(p, is_compat, &ok);
        }
        kino__trace_free(trace);
        if (!ok) {
            printf("trace %d\n", i);
            return;
        }
    }
    CHECK(made > TRACES); /* the generator makes what it should */
}

TEST_THREADS(profile_does_not_depend_on_threads)
{
    kino__pool *pool;
    REQUIRE(kino__pool_new(3, &pool, NULL) == KINO_OK);
    fixture_random one = {5}, other = {5};
    for (int i = 0; i < 50; i++) {
        kino__trace *traces[] = {random_trace(&one), random_trace(&other)};
        const kino__profile *p = kino__profile_of(traces[0], false, NULL);
        const kino__profile *q = kino__profile_of(traces[1], false, pool);
        REQUIRE(p && q);
        REQUIRE_EQ(q->nodes.count, p->nodes.count);
        REQUIRE_EQ(q->kernels.count, p->kernels.count);
        REQUIRE_EQ(q->steps.count, p->steps.count);
        for (size_t n = 0; n < p->nodes.count; n++)
            CHECK_EQ(kino__node_sums_of(q, &q->nodes.items[n]).device_total,
                     kino__node_sums_of(p, &p->nodes.items[n]).device_total);
        for (size_t k = 0; k < p->kernels.count; k++) {
            CHECK_EQ(kino__profile_shape(q, &q->kernels.items[k])->device,
                     kino__profile_shape(p, &p->kernels.items[k])->device);
            CHECK_EQ(q->kernels.items[k].node, p->kernels.items[k].node);
        }
        for (size_t s = 0; s < p->steps.count; s++)
            CHECK_EQ(q->steps.items[s].cost[KINO__ROLE_OTHER],
                     p->steps.items[s].cost[KINO__ROLE_OTHER]);
        kino__trace_free(traces[0]);
        kino__trace_free(traces[1]);
    }
    kino__pool_free(pool);
}

/* -- merging -- */

static void add_tables(const kino_result *result, kino__buffer *out)
{
    for (size_t t = 0; t < result->tables.count; t++) {
        const kino__table *table = result->tables.items[t];
        for (size_t i = 0; i < table->cells.count; i++) {
            const kino_cell *cell = &table->cells.items[i];
            if (cell->kind == KINO_CELL_TEXT)
                kino__buffer_add(out, cell->value.text);
            else if (cell->kind == KINO_CELL_INT)
                kino__buffer_printf(out, "%lld", (long long)cell->value.integer);
            else if (cell->kind == KINO_CELL_FLOAT)
                kino__buffer_printf(out, "%.17g", cell->value.real);
            kino__buffer_add(out, (i + 1) % table->column_count ? KINO__STR(",") : KINO__STR("\n"));
        }
    }
}

static size_t count_columns(const kino_table_info *info)
{
    size_t count = 0;
    while (info->columns[count].name)
        count++;
    return count;
}

/* (a + b) + c or a + (b + c), each partial through its bytes or not, as text. */
static void merged_text(const kino__analysis *a, kino__trace **traces, bool is_right, bool is_saved,
                        kino__buffer *out)
{
    void *parts[3];
    kino__buffer bytes[3] = {{0}};
    for (int i = 0; i < 3; i++) {
        parts[i] = kino__partial_new(a);
        REQUIRE(parts[i] && a->def->map(a, traces[i], parts[i], NULL) == KINO_OK);
        if (!is_saved)
            continue;
        kino__partial_save(a, parts[i], &bytes[i]);
        kino__partial_free(a, parts[i]);
        REQUIRE(kino__partial_load(a, kino__buffer_str(&bytes[i]), &parts[i], NULL) == KINO_OK);
    }
    REQUIRE(a->def->merge(a, parts[is_right], parts[is_right + 1], NULL) == KINO_OK);
    REQUIRE(a->def->merge(a, parts[0], parts[is_right ? 1 : 2], NULL) == KINO_OK);
    kino_result *result = kino__result_new(a->def->name);
    for (const kino_table_info *info = a->def->tables; info->name; info++)
        kino__result_add_table(result, info->name, info->columns, count_columns(info));
    REQUIRE(a->def->finish(a, parts[0], result, NULL) == KINO_OK);
    REQUIRE(kino__result_finish(result, &result, NULL) == KINO_OK);
    add_tables(result, out);
    kino_result_free(result);
    for (int i = 0; i < 3; i++) {
        kino__partial_free(a, parts[i]);
        kino__buffer_deinit(&bytes[i]);
    }
}

static void check_merging(const kino__analysis_def *def, const char *compat, int rounds)
{
    fixture_random random = {77};
    kino__analysis a;
    kino_param given[] = {{"compat", compat}};
    REQUIRE(kino__analysis_init(&a, def, given, compat != NULL, NULL) == KINO_OK);
    for (int i = 0; i < rounds; i++) {
        kino__trace *traces[3];
        for (int k = 0; k < 3; k++)
            traces[k] = random_trace(&random);
        kino__buffer want = {0}, got = {0};
        merged_text(&a, traces, false, false, &want);
        merged_text(&a, traces, true, i % 2, &got);
        CHECK(want.size > 0);
        CHECK_STR(kino__buffer_str(&got), kino__buffer_str(&want));
        kino__buffer_deinit(&want);
        kino__buffer_deinit(&got);
        for (int k = 0; k < 3; k++)
            kino__trace_free(traces[k]);
    }
    kino__analysis_deinit(&a);
}

TEST(overview_does_not_depend_on_the_order_of_merging)
{
    check_merging(&kino__analysis_overview, NULL, 340);
    check_merging(&kino__analysis_overview, "tensorboard", 20);
}

TEST(tensor_cores_do_not_depend_on_the_order_of_merging)
{
    check_merging(&kino__analysis_tensor_cores, NULL, 340);
    check_merging(&kino__analysis_tensor_cores, "tensorboard", 20);
}
