/* print_costs.c - the operators of a trace with their costs (kino__trace_costs), for tests that
 * compare them with PyTorch's own: print_costs [--flop-counter | --with-flops] TRACE
 *
 * One JSON object a line for each operator that is charged: name, number of the event, direction,
 * flops, read, written (null: unknown), family, reason, device time (ns) of the work it is charged
 * for; then one for the trace: device time in all, and of work with a known cost. Copies and sets
 * have the bytes that were recorded with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/engine.h>

#include "cost/trace_costs.h"
#include "engine/kino_run.h"
#include "store/category.h"

static void print_figure(const char *key, int64_t value)
{
    if (value == KINO_NO_INT)
        printf(", \"%s\": null", key);
    else
        printf(", \"%s\": %lld", key, (long long)value);
}

static void print_op(const kino__trace *trace, const kino__trace_costs *costs, uint32_t op,
                     int64_t device_time)
{
    const kino__costed_op *o = &costs->ops.items[op];
    const kino__cost *cost = kino__trace_cost(costs, op);
    kino_str name = kino__trace_string(trace, trace->name[o->row]);
    printf("{\"name\": \"%.*s\", \"event\": %u, \"direction\": \"%s\"", (int)name.size, name.data,
           trace->number[o->row], o->direction == KINO__OP_BACKWARD ? "backward" : "forward");
    print_figure("flops", cost->flops);
    print_figure("read", cost->bytes_read);
    print_figure("written", cost->bytes_written);
    printf(", \"family\": \"%s\", \"reason\": \"%s\", \"device_time\": %lld}\n",
           cost->family ? cost->family : "", cost->reason ? cost->reason : "",
           (long long)device_time);
}

/* Adds the time of all work to the operators that are charged for it. */
static void add_work(const kino__trace *trace, const kino__trace_costs *costs, int64_t *time_of,
                     int64_t *all, int64_t *known)
{
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino__kind kind = kino__category_kind(trace->category[row]);
        if (!(KINO__KIND_BIT(kind) & KINO__KINDS_DEVICE) || trace->dur[row] == KINO_NO_TIME)
            continue;
        uint32_t op = kino__trace_costs_op_of(costs, trace, row);
        uint32_t charged = op == KINO_NO_ROW ? KINO_NO_ROW : costs->ops.items[op].charged;
        bool is_copy = kind != KINO__KIND_KERNEL;
        *all += trace->dur[row];
        if (charged != KINO_NO_ROW)
            time_of[charged] += trace->dur[row];
        if (is_copy ||
            (charged != KINO_NO_ROW && kino__cost_is_known(kino__trace_cost(costs, charged))))
            *known += trace->dur[row];
        else if (charged == KINO_NO_ROW) {
            kino_str name = kino__trace_string(trace, trace->name[row]);
            kino_str around =
                op == KINO_NO_ROW
                    ? (kino_str){"", 0}
                    : kino__trace_string(trace, trace->name[costs->ops.items[op].row]);
            printf("{\"kernel\": \"%.*s\", \"op\": \"%.*s\", \"device_time\": %lld}\n",
                   (int)(name.size < 60 ? name.size : 60), name.data, (int)around.size, around.data,
                   (long long)trace->dur[row]);
        }
    }
}

static bool print_trace(const kino__trace *trace, kino__cost_mode mode)
{
    kino__cost_model *model;
    kino__trace_costs costs;
    if (kino__cost_model_new(mode, NULL, &model, NULL) != KINO_OK)
        return false;
    if (kino__trace_costs_init(&costs, trace, model, NULL) != KINO_OK) {
        kino__cost_model_free(model);
        return false;
    }
    int64_t *time_of = calloc(costs.ops.count + 1, sizeof *time_of), all = 0, known = 0;
    if (time_of)
        add_work(trace, &costs, time_of, &all, &known);
    for (uint32_t op = 0; time_of && op < costs.ops.count; op++)
        if (costs.ops.items[op].charged == op)
            print_op(trace, &costs, op, time_of[op]);
    printf("{\"device_time\": %lld, \"known_time\": %lld}\n", (long long)all, (long long)known);
    bool is_good = time_of != NULL;
    free(time_of);
    kino__trace_costs_deinit(&costs);
    kino__cost_model_free(model);
    return is_good;
}

int main(int argc, char **argv)
{
    kino_run *run = NULL;
    kino_error err = {0};
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    kino__cost_mode mode = KINO__COST_DEFAULT;
    int at = 1;
    if (argc > 1 && strcmp(argv[1], "--flop-counter") == 0)
        mode = KINO__COST_FLOP_COUNTER;
    else if (argc > 1 && strcmp(argv[1], "--with-flops") == 0)
        mode = KINO__COST_WITH_FLOPS;
    at += mode != KINO__COST_DEFAULT;
    options.jobs = 1;
    if (at >= argc ||
        kino_run_open((const char *const *)(argv + at), 1, &options, &run, &err) != KINO_OK) {
        fprintf(stderr, "print_costs: %s\n", at < argc ? err.message : "no trace given");
        return 1;
    }
    bool ok = print_trace(run->run.traces.items[0], mode);
    kino_run_free(run);
    return ok ? 0 : 1;
}
