/* print_profile.c - a trace's profile (model/profile/profile.h) as JSON, for tests that compare it
 * with recorded answers: print_profile [--compat] [--trees] TRACE
 * With --time it prints only how long the profile took to make on one thread, in ms.
 *
 * Times are ns of the file's own clock. Trees are flat: nodes parents first, each with its depth.*/
#include <stdio.h>
#include <sys/resource.h>

#include <kino/engine.h>

#include "base/json_out.h"
#include "engine/kino_run.h"
#include "model/profile/profile.h"

typedef struct printing {
    const kino__profile *p;
    kino__json json;
    int64_t shift;
} printing;

static void key_int(printing *x, const char *key, int64_t value)
{
    kino__json_key(&x->json, key);
    if (value == KINO_NO_INT)
        kino__json_null(&x->json);
    else
        kino__json_int(&x->json, value);
}

static void key_bool(printing *x, const char *key, bool value)
{
    kino__json_key(&x->json, key);
    kino__json_bool(&x->json, value);
}

static void key_real(printing *x, const char *key, double value)
{
    kino__json_key(&x->json, key);
    kino__json_double(&x->json, value);
}

static void key_text(printing *x, const char *key, kino_str value)
{
    kino__json_key(&x->json, key);
    kino__json_string(&x->json, value);
}

static void print_range(printing *x, int64_t start, int64_t end)
{
    kino__json_begin_array(&x->json);
    kino__json_int(&x->json, start + x->shift);
    kino__json_int(&x->json, end + x->shift);
    kino__json_end_array(&x->json);
}

static void print_flags(printing *x)
{
    const kino__profile *p = x->p;
    key_bool(x, "has_runtime", p->has_runtime);
    key_bool(x, "has_kernel", p->ranges[KINO__ROLE_KERNEL].count > 0);
    key_bool(x, "has_communication", p->has_communication);
    key_bool(x, "has_memcpy_or_memset", p->has_copies);
    key_bool(x, "use_dp", p->uses_dp);
    key_bool(x, "use_ddp", p->uses_ddp);
    key_bool(x, "nccl", p->saw_nccl);
    key_bool(x, "gloo", p->saw_gloo);
    key_int(x, "profiler_start_ts", p->first_ts + x->shift);
    key_real(x, "tc_used_ratio", p->tensor_used_ratio);
    key_real(x, "tc_eligible_ops_kernel_ratio", p->tensor_eligible_ratio);
    kino__json_key(&x->json, "window");
    print_range(x, p->window_start, p->window_end);
    kino__json_key(&x->json, "used_devices");
    kino__json_begin_array(&x->json);
    for (size_t i = 0; i < p->devices.count; i++)
        kino__json_int(&x->json, p->devices.items[i]);
    kino__json_end_array(&x->json);
}

static void print_ranges(printing *x)
{
    kino__json_key(&x->json, "ranges");
    kino__json_begin_object(&x->json);
    for (int r = 0; r < KINO__ROLE_OTHER; r++) {
        const kino__intervals *ranges = &x->p->ranges[r];
        kino__json_key(&x->json, kino__role_name((kino__role)r));
        kino__json_begin_array(&x->json);
        for (size_t i = 0; i < ranges->count; i++)
            print_range(x, ranges->items[i].start, ranges->items[i].end);
        kino__json_end_array(&x->json);
    }
    kino__json_end_object(&x->json);
}

static void print_step(printing *x, const kino__profile_step *step)
{
    kino__json_begin_object(&x->json);
    key_text(x, "name", step->name);
    key_int(x, "start", step->start + x->shift);
    key_int(x, "end", step->end + x->shift);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        key_int(x, kino__role_name((kino__role)r), step->cost[r]);
    key_int(x, "computation", step->computation);
    key_int(x, "communication", step->communication);
    key_int(x, "overlap", step->overlap);
    kino__json_end_object(&x->json);
}

static void print_metrics(printing *x, const kino__device_metrics *m)
{
    kino__json_begin_object(&x->json);
    key_int(x, "device", m->device);
    key_real(x, "gpu_utilization", m->utilization);
    key_real(x, "est_sm_efficiency", m->sm_efficiency);
    key_real(x, "est_achieved_occupancy_pct", m->occupancy_percent);
    key_real(x, "tensor_core_ratio", m->tensor_ratio);
    kino__json_end_object(&x->json);
}

/* -- trees */

static const char *class_name(uint8_t class)
{
    static const char *const names[] = {"OperatorNode",  "OperatorNode",     "OperatorNode",
                                        "ModuleNode",    "ProfilerStepNode", "DataLoaderNode",
                                        "OptimizerNode", "BackwardNode",     "PLModuleNode"};
    return names[class];
}

static void print_work(printing *x, const kino__launch *launch)
{
    const kino__trace *trace = x->p->trace;
    kino__json_key(&x->json, "device");
    kino__json_begin_array(&x->json);
    for (uint32_t w = 0; w < launch->work_count; w++) {
        uint32_t row = x->p->work.items[launch->first_work + w];
        kino__json_begin_object(&x->json);
        key_text(x, "name", kino__trace_string(trace, trace->name[row]));
        key_int(x, "start", trace->ts[row] + x->shift);
        key_int(x, "end", kino__interval_of(trace->ts[row], trace->dur[row]).end + x->shift);
        kino__json_end_object(&x->json);
    }
    kino__json_end_array(&x->json);
}

static void print_launches(printing *x, const kino__node *n)
{
    const kino__trace *trace = x->p->trace;
    kino__json_key(&x->json, "runtimes");
    kino__json_begin_array(&x->json);
    uint32_t count;
    const kino__launch *launch = kino__node_launches(x->p, n, &count);
    for (uint32_t i = 0; i < count; i++, launch++) {
        kino__json_begin_object(&x->json);
        if (launch->row != KINO_NO_ROW) {
            uint32_t row = launch->row;
            key_text(x, "name", kino__trace_string(trace, trace->name[row]));
            key_int(x, "start", trace->ts[row] + x->shift);
            key_int(x, "end", kino__interval_of(trace->ts[row], trace->dur[row]).end + x->shift);
        }
        print_work(x, launch);
        kino__json_end_object(&x->json);
    }
    kino__json_end_array(&x->json);
}

static void print_node(printing *x, uint32_t index, int64_t depth)
{
    const kino__node *n = &x->p->nodes.items[index];
    kino__json_begin_object(&x->json);
    key_int(x, "depth", depth);
    if (n->class == KINO__NODE_ROOT)
        key_text(x, "name", KINO__STR("CallTreeRoot"));
    else
        key_text(x, "name", kino__node_name(x->p, n));
    key_text(x, "class", kino__str_from(class_name(n->class)));
    key_int(x, "start", kino__node_start(x->p, n) + x->shift);
    key_int(x, "end", kino__node_end(x->p, n) + x->shift);
    kino__node_sums sums = kino__node_sums_of(x->p, n);
    key_int(x, "self_host_duration", sums.self_host);
    key_int(x, "device_duration", sums.device_total);
    key_int(x, "self_device_duration", sums.device_self);
    key_int(x, "tc_self", sums.tensor_self);
    key_int(x, "tc_total", sums.tensor_total);
    key_bool(x, "tc_eligible", n->is_eligible);
    key_bool(x, "is_operator", n->is_operator);
    print_launches(x, n);
    kino__json_end_object(&x->json);
    kino__json_newline(&x->json, 0);
}

static void print_trees(printing *x)
{
    const kino__profile *p = x->p;
    kino__json_key(&x->json, "threads");
    kino__json_begin_array(&x->json);
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, last = root;
        int64_t depth = 0;
        kino__json_begin_object(&x->json);
        key_int(x, "tid", p->threads.items[t].tid);
        kino__json_key(&x->json, "nodes");
        kino__json_begin_array(&x->json);
        for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
            for (depth++; n != root && last != p->nodes.items[n].parent; depth--)
                last = p->nodes.items[last].parent;
            print_node(x, n, n == root ? (depth = 0) : depth);
            last = n;
        }
        kino__json_end_array(&x->json);
        kino__json_end_object(&x->json);
    }
    kino__json_end_array(&x->json);
}

static void print_profile(printing *x, bool with_trees)
{
    const kino__profile *p = x->p;
    kino__json_begin_object(&x->json);
    print_flags(x);
    print_ranges(x);
    kino__json_key(&x->json, "steps");
    kino__json_begin_array(&x->json);
    for (size_t i = 0; i < p->steps.count; i++)
        print_step(x, &p->steps.items[i]);
    kino__json_end_array(&x->json);
    kino__json_key(&x->json, "gpu");
    kino__json_begin_array(&x->json);
    for (size_t i = 0; i < p->metrics.count; i++)
        print_metrics(x, &p->metrics.items[i]);
    kino__json_end_array(&x->json);
    if (with_trees)
        print_trees(x);
    kino__json_end_object(&x->json);
}

static double ms(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static struct rusage used(void)
{
    struct rusage now;
    (void)getrusage(RUSAGE_SELF, &now);
    return now;
}

int main(int argc, char **argv)
{
    bool is_compat = false, with_trees = false, with_time = false;
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--compat") == 0)
            is_compat = true;
        else if (strcmp(argv[i], "--trees") == 0)
            with_trees = true;
        else if (strcmp(argv[i], "--time") == 0)
            with_time = true;
        else
            path = argv[i];
    }
    kino_run *run = NULL;
    kino_error err = {0};
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    options.jobs = 1;
    if (!path || kino_run_open(&path, 1, &options, &run, &err) != KINO_OK) {
        fprintf(stderr, "print_profile: %s\n", path ? err.message : "no trace given");
        return 1;
    }
    const kino__trace *trace = run->run.traces.items[0];
    kino__buffer buffer = {0};
    struct rusage before = used();
    printing x = {.p = kino__profile_of(trace, is_compat, NULL),
                  .json = {.out = &buffer},
                  .shift = trace->origin_ns - trace->base_ns};
    if (with_time)
        kino__buffer_printf(&buffer, "user %.1f system %.1f\n",
                            ms(used().ru_utime) - ms(before.ru_utime),
                            ms(used().ru_stime) - ms(before.ru_stime));
    else if (x.p)
        print_profile(&x, with_trees);
    bool ok = x.p && !buffer.failed && fwrite(buffer.data, 1, buffer.size, stdout) == buffer.size;
    kino__buffer_deinit(&buffer);
    kino_run_free(run);
    return ok ? 0 : 1;
}
