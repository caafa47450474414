/* diff.c - what one run gives to a comparison with another: time of its steps by part, of its
 * operators and of its kernels.
 *
 * Only what lies in the steps that are kept counts, so that sums divided by the number of steps
 * mean something; a trace without steps is one step. The names of --compat tensorboard give the
 * sums of the plugin: operators of the first thread, all steps, not divided. */
#include "analysis/diff/diff.h"

#include <stdlib.h>

#include "analysis/columns.h"
#include "base/error.h"
#include "base/search.h"

/* -- sums by name -- */

static kino__diff_sums *find_sums(kino__diff_list *list, kino_str name)
{
    kino_strid id = kino__string_pool_add_borrowed(&list->names, name);
    if (id == KINO_NO_STRING)
        return NULL;
    if (id == list->sums.count) {
        kino__diff_sums *fresh = kino__vec_add(&list->sums);
        if (!fresh)
            return NULL;
        *fresh = (kino__diff_sums){0};
    }
    return &list->sums.items[id];
}

static void add_sums(kino__diff_sums *into, const kino__diff_sums *more)
{
    for (int i = 0; i < KINO__DIFF_VALUES; i++)
        into->values[i] = kino__sum(into->values[i], more->values[i]);
}

/* Sums by number of a string, then by name: hashing is for names, not for events. */
typedef struct counting {
    uint32_t *place; /* of each string, 0: none, else index + 1 */
    kino__diff_list *list;
    const kino__trace *trace;
} counting;

static kino__diff_sums *count_one(counting *c, kino_strid name)
{
    if (name == KINO_NO_STRING)
        return find_sums(c->list, KINO__STR(""));
    if (c->place[name])
        return &c->list->sums.items[c->place[name] - 1];
    kino__diff_sums *sums = find_sums(c->list, kino__trace_string(c->trace, name));
    if (sums)
        c->place[name] = (uint32_t)(sums - c->list->sums.items) + 1;
    return sums;
}

/* -- what counts -- */

/* Lies this moment of the host in a step that is kept? Always, where a trace has no steps. */
static bool is_in_step(const kino__profile *p, int64_t ts)
{
    if (!p->has_step_events)
        return true;
    /* the first step that ends after it */
    size_t low = KINO__SEARCH(size_t, i, 0, p->steps.count, p->steps.items[i].host_end <= ts);
    return low < p->steps.count && p->steps.items[low].host_start <= ts;
}

static bool is_on_device_in_step(const kino__profile *p, int64_t ts)
{
    if (!p->has_step_events || p->is_compat)
        return true;
    size_t low = KINO__SEARCH(size_t, i, 0, p->steps.count, p->steps.items[i].end <= ts);
    return low < p->steps.count && p->steps.items[low].start <= ts;
}

static bool add_children(const kino__profile *p, uint32_t parent, kino__diff_nodes *out)
{
    for (uint32_t c = p->nodes.items[parent].first_child; c != KINO__NO_NODE;
         c = p->nodes.items[c].next_sibling) {
        if (!p->is_compat && !is_in_step(p, kino__node_start(p, &p->nodes.items[c])))
            continue;
        uint32_t *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = c;
    }
    return true;
}

bool kino__diff_forest(const kino__profile *p, kino__diff_nodes *out)
{
    for (size_t t = 0; t < p->threads.count; t++) {
        const kino__node *root = &p->nodes.items[p->threads.items[t].root];
        bool has_steps = false;
        for (uint32_t c = root->first_child; c != KINO__NO_NODE;
             c = p->nodes.items[c].next_sibling) {
            if (p->nodes.items[c].class != KINO__NODE_STEP)
                continue;
            has_steps = true;
            if (!add_children(p, c, out))
                return false;
        }
        if (!has_steps && !add_children(p, p->threads.items[t].root, out))
            return false;
        if (p->is_compat && root->first_child != KINO__NO_NODE)
            break; /* D19 */
    }
    return true;
}

/* -- one trace -- */

static bool count_ops(counting *c, const kino__profile *p)
{
    kino__diff_nodes roots = {0};
    bool ok = kino__diff_forest(p, &roots);
    for (size_t i = 0; ok && i < roots.count; i++) {
        uint32_t root = roots.items[i];
        for (uint32_t n = root; ok && n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
            const kino__node *node = &p->nodes.items[n];
            if (!node->is_operator)
                continue;
            kino__diff_sums *sums = count_one(c, kino__node_name_id(p, node));
            ok = sums != NULL;
            kino__node_sums own = kino__node_sums_of(p, node);
            if (ok)
                add_sums(sums, &(kino__diff_sums){{1, kino__node_length(p, node), own.device_total,
                                                   own.self_host, own.device_self}});
        }
    }
    kino__vec_deinit(&roots);
    return ok;
}

static bool count_kernels(counting *c, const kino__profile *p)
{
    for (size_t i = 0; i < p->kernels.count; i++) {
        uint32_t row = p->kernels.items[i].row;
        if (!is_on_device_in_step(p, p->trace->ts[row]))
            continue;
        kino__interval range = kino__interval_of(p->trace->ts[row], p->trace->dur[row]);
        kino__diff_sums *sums = count_one(c, p->trace->name[row]);
        if (!sums)
            return false;
        add_sums(sums,
                 &(kino__diff_sums){
                     {[KINO__DIFF_CALLS] = 1, [KINO__DIFF_DEVICE] = range.end - range.start}});
    }
    return true;
}

static void count_steps(kino__diff_run *run, const kino__profile *p)
{
    run->ranks = 1;
    run->steps = (int64_t)p->steps.count;
    run->divisor = p->is_compat ? 1 : run->steps;
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        run->step_time = kino__sum(run->step_time, step->end - step->start);
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            run->parts[r] = kino__sum(run->parts[r], step->cost[r]);
    }
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__diff_run *run = value;
    const kino__profile *p =
        kino__profile_of(trace, kino__analysis_is_compat(a, "tensorboard"), a->pool);
    size_t strings = kino__string_pool_count(&trace->strings);
    uint32_t *place = calloc(strings + 1, sizeof *place);
    bool ok = p && place;
    if (ok) {
        count_steps(run, p);
        ok = count_ops(&(counting){place, &run->ops, trace}, p);
    }
    if (ok) {
        memset(place, 0, (strings + 1) * sizeof *place);
        ok = count_kernels(&(counting){place, &run->kernels, trace}, p);
    }
    free(place);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- all traces of a run -- */

static bool merge_lists(kino__diff_list *into, const kino__diff_list *from)
{
    for (size_t i = 0; i < from->sums.count; i++) {
        kino_str name = kino__string_pool_text(&from->names, (kino_strid)i);
        kino__diff_sums *sums = find_sums(into, name);
        if (!sums)
            return false;
        add_sums(sums, &from->sums.items[i]);
    }
    return true;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    kino__diff_run *run = into, *more = from;
    run->ranks = kino__sum(run->ranks, more->ranks);
    run->steps = kino__sum(run->steps, more->steps);
    run->divisor =
        kino__analysis_is_compat(a, "tensorboard") ? 1 : kino__sum(run->divisor, more->divisor);
    run->step_time = kino__sum(run->step_time, more->step_time);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        run->parts[r] = kino__sum(run->parts[r], more->parts[r]);
    if (merge_lists(&run->ops, &more->ops) && merge_lists(&run->kernels, &more->kernels))
        return KINO_OK;
    return kino__fail_nomem(err);
}

static void pack_sums(kino__pack *pack, kino__diff_sums *sums)
{
    for (int i = 0; i < KINO__DIFF_VALUES; i++)
        kino__pack_int(pack, &sums->values[i]);
}

static void pack_list(kino__pack *pack, kino__diff_list *list)
{
    kino__pack_pool(pack, &list->names);
    KINO__PACK_VEC(pack, &list->sums, pack_sums);
    if (list->sums.count != kino__string_pool_count(&list->names))
        pack->is_damaged = true;
}

static void pack(kino__pack *pack, void *value)
{
    kino__diff_run *run = value;
    KINO__PACK(pack, &run->ranks, &run->steps, &run->divisor, &run->step_time);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        kino__pack_int(pack, &run->parts[r]);
    pack_list(pack, &run->ops);
    pack_list(pack, &run->kernels);
}

static void deinit(void *value)
{
    kino__diff_run *run = value;
    kino__string_pool_deinit(&run->ops.names);
    kino__vec_deinit(&run->ops.sums);
    kino__string_pool_deinit(&run->kernels.names);
    kino__vec_deinit(&run->kernels.sums);
}

/* -- the definition -- */

#define BOTH(name, type, unit, help)                                                               \
    {"left_" name, type, unit, help},                                                              \
    {                                                                                              \
        "right_" name, type, unit, help                                                            \
    }
#define CHANGE(of)                                                                                 \
    {"delta", KINO_TYPE_DURATION, NULL, "right - left of " of},                                    \
        {"percent", KINO_TYPE_PERCENT, NULL, "change relative to left; null: left is 0"},          \
        {"left_spread", KINO_TYPE_DURATION, NULL, "maximum - minimum over the runs of this side"}, \
    {                                                                                              \
        "right_spread", KINO_TYPE_DURATION, NULL, "maximum - minimum over the runs of this side"   \
    }

static const kino_column step_columns[] = {
    [KINO__DIFF_STEPS_PART] = {"part", KINO_TYPE_STRING, NULL, "Step time and its parts"},
    [KINO__DIFF_STEPS_LEFT] = {"left", KINO_TYPE_DURATION, NULL, "mean per step"},
    [KINO__DIFF_STEPS_RIGHT] = {"right", KINO_TYPE_DURATION, NULL, "mean per step"},
    [KINO__DIFF_STEPS_DELTA] = CHANGE("the averages"),
    {"left_share", KINO_TYPE_PERCENT, NULL, "of the step time"},
    {"right_share", KINO_TYPE_PERCENT, NULL, "of the step time"},
    {0},
};

static const kino_column op_columns[] = {
    [KINO__DIFF_NAMES_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "of the operator"},
    [KINO__DIFF_NAMES_CHANGE] = {"change", KINO_TYPE_STRING, NULL,
                                 "new: only on the right; gone: only on the left; both"},
    [KINO__DIFF_NAMES_LEFT] =
        BOTH("time", KINO_TYPE_DURATION, NULL,
             "self time per step: device, or host if there is no device time"),
    [KINO__DIFF_NAMES_DELTA] = CHANGE("the times"),
    BOTH("calls", KINO_TYPE_FLOAT, NULL, "calls a step"),
    BOTH("host_duration", KINO_TYPE_DURATION, NULL, "on the host, per step"),
    BOTH("device_duration", KINO_TYPE_DURATION, NULL, "device work launched below it, per step"),
    BOTH("self_host_duration", KINO_TYPE_DURATION, NULL, "without operators and launches below"),
    BOTH("self_device_duration", KINO_TYPE_DURATION, NULL, "device work it launched directly"),
    {0},
};

static const kino_column kernel_columns[] = {
    [KINO__DIFF_NAMES_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "of the kernel"},
    [KINO__DIFF_NAMES_CHANGE] = {"change", KINO_TYPE_STRING, NULL,
                                 "new: only on the right; gone: only on the left; both"},
    [KINO__DIFF_NAMES_LEFT] =
        BOTH("time", KINO_TYPE_DURATION, NULL, "sum of its durations, per step"),
    [KINO__DIFF_NAMES_DELTA] = CHANGE("the times"),
    BOTH("calls", KINO_TYPE_FLOAT, NULL, "calls a step"),
    {0},
};

static const kino_column tree_columns[] = {
    {"path", KINO_TYPE_STRING, NULL, "0: the root, 0-0: its first child"},
    BOTH("name", KINO_TYPE_STRING, NULL, "Blank: no node; CompositeNodes: several nodes"),
    BOTH("duration", KINO_TYPE_DURATION, NULL, "on the host"),
    BOTH("device_duration", KINO_TYPE_DURATION, NULL, "of device work launched below"),
    BOTH("total_duration", KINO_TYPE_DURATION, NULL,
         "of each node: device time, or host time if that is 0"),
    {"delta", KINO_TYPE_DURATION, NULL, "right - left of the total durations"},
    {"percent", KINO_TYPE_PERCENT, NULL, "change relative to left; null: left is 0"},
    {0},
};

static const kino_column tree_op_columns[] = {
    {"path", KINO_TYPE_STRING, NULL, "as in diff_tree"},
    {"side", KINO_TYPE_STRING, NULL, "left or right"},
    {"name", KINO_TYPE_STRING, NULL, "name of an operator in this part of the tree"},
    {"calls", KINO_TYPE_INT, "count", "number of occurrences"},
    {"host_duration", KINO_TYPE_DURATION, NULL, "sum"},
    {"device_duration", KINO_TYPE_DURATION, NULL, "sum"},
    {"self_host_duration", KINO_TYPE_DURATION, NULL, "sum"},
    {"self_device_duration", KINO_TYPE_DURATION, NULL, "sum"},
    {0},
};

static const kino_column check_columns[] = {
    [KINO__DIFF_CHECKS_EXPRESSION] = {"expression", KINO_TYPE_STRING, NULL, "as given"},
    [KINO__DIFF_CHECKS_PASSED] = {"passed", KINO_TYPE_BOOL, NULL,
                                  "yes: nothing it names grew by more than the limit; no: failed"},
    [KINO__DIFF_CHECKS_NAME] = {"name", KINO_TYPE_STRING, NULL,
                                "name of what grew, or of what was checked"},
    [KINO__DIFF_CHECKS_LEFT] = {"left", KINO_TYPE_DURATION, NULL, "a step"},
    [KINO__DIFF_CHECKS_RIGHT] = {"right", KINO_TYPE_DURATION, NULL, "a step"},
    [KINO__DIFF_CHECKS_DELTA] = {"delta", KINO_TYPE_DURATION, NULL, "right - left"},
    [KINO__DIFF_CHECKS_PERCENT] = {"percent", KINO_TYPE_PERCENT, NULL,
                                   "change relative to left; null: left is 0"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__DIFF_TABLE_STEPS] = {"diff_steps", "one row per part of the step", step_columns, "Steps",
                                "no steps"},
    [KINO__DIFF_TABLE_OPS] = {"diff_ops", "one row per operator, largest change first", op_columns,
                              "Operators", "no operators"},
    [KINO__DIFF_TABLE_KERNELS] = {"diff_kernels", "one row per kernel, largest change first",
                                  kernel_columns, "Kernels", "no kernels"},
    [KINO__DIFF_TABLE_TREE] = {"diff_tree", "one row per pair of nodes, parents before children",
                               tree_columns, "Tree", "no operators"},
    [KINO__DIFF_TABLE_TREE_OPS] = {"diff_tree_ops", "one row per operator below a pair of nodes",
                                   tree_op_columns, "Operators of the tree", "not requested"},
    [KINO__DIFF_TABLE_CHECKS] = {"diff_checks", "one row per expression and what it names",
                                 check_columns, "Checks", "not requested"},
    {0},
};

static const char *const compat_names[] = {"tensorboard", NULL};

const kino__analysis_def kino__analysis_diff = {
    .name = "diff",
    .help = "two runs side by side: steps, operators, kernels, trees",
    .description = "Compares two runs.\n",
    .tables = tables,
    .compat = compat_names,
    .partial_size = sizeof(kino__diff_run),
    .map = map,
    .merge = merge,
    .pack = pack,
    .deinit = deinit,
};
