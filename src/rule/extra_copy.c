/* extra_copy.c - tensors filled on the host and then copied to the device.
 *
 * An aten::to whose last child is aten::_to_copy, whose last child is aten::copy_ that copies host
 * to device without changing the type, right behind an operator that ends in a fill (fill_, zero_,
 * normal_, uniform_): PyTorch's pattern "Extra CUDA Copy". Nodes of a thread stand in order of
 * start, parents first, so the node before an aten::to is the last leaf of its elder sibling.
 *
 * Gain: the device's copies that no computation hides, and the idle time within the aten::to spans
 * outside of these copies. */
#include "rule/rule.h"
#include "store/args.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.002, "part of the step time in such copies, on the host"},
    {0},
};

static bool is_named(const kino__profile *p, uint32_t node, const char *name)
{
    return node != KINO__NO_NODE && p->nodes.items[node].name != KINO_NO_STRING &&
           kino__str_is(kino__node_name(p, &p->nodes.items[node]), name);
}

static bool is_fill(const kino__profile *p, uint32_t node)
{
    static const char *const fills[] = {"aten::fill_", "aten::zero_", "aten::normal_",
                                        "aten::uniform_"};
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
        if (is_named(p, node, fills[i]))
            return true;
    return false;
}

/* The copy from host to device that this aten::copy_ put on the device, or KINO_NO_ROW. */
static uint32_t upload_of(const kino__profile *p, const kino__node *copy)
{
    for (uint32_t i = 0; i < copy->launch_count; i++) {
        const kino__launch *launch = &p->launches.items[copy->first_launch + i];
        for (uint32_t w = 0; w < launch->work_count; w++) {
            uint32_t row = p->work.items[launch->first_work + w];
            kino_strid name = p->trace->name[row];
            if (p->type[row] == KINO__EVENT_TYPE_MEMCPY && name != KINO_NO_STRING &&
                kino__str_starts_with(kino__trace_string(p->trace, name), KINO__STR("Memcpy HtoD")))
                return row;
        }
    }
    return KINO_NO_ROW;
}

/* The first two of ["float", "float", ""] differ; false where types were not recorded. */
static bool changes_type(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor)
{
    kino_str types = kino__args_find(kino__args_text(trace, row, cursor), KINO__STR("Input type"));
    kino_str name[2];
    const char *at = types.data, *end = types.data + types.size;
    for (int i = 0; i < 2; i++) {
        const char *open = at < end ? memchr(at, '"', (size_t)(end - at)) : NULL;
        const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (!close)
            return false;
        name[i] = (kino_str){open + 1, (size_t)(close - open - 1)};
        at = close + 1;
    }
    return !kino__str_equal(name[0], name[1]);
}

/* Row of the upload when the aten::to of this node matches, else KINO_NO_ROW. */
static uint32_t match(const kino__profile *p, uint32_t to, kino__text_cursor *cursor)
{
    if (to == KINO__NO_NODE || to == 0 || p->nodes.items[to].is_dropped)
        return KINO_NO_ROW;
    uint32_t inner = p->nodes.items[to].last_child;
    if (!is_named(p, inner, "aten::_to_copy"))
        return KINO_NO_ROW;
    uint32_t copy = p->nodes.items[inner].last_child;
    if (!is_named(p, copy, "aten::copy_"))
        return KINO_NO_ROW;
    uint32_t before = to - 1; /* last leaf of the elder sibling; the parent when there is none */
    while (before > 0 && p->nodes.items[before].is_dropped)
        before--;
    if (before == p->nodes.items[to].parent ||
        p->nodes.items[before].thread != p->nodes.items[to].thread)
        return KINO_NO_ROW;
    bool is_filled = false;
    for (uint32_t n = before; n != KINO__NO_NODE && n != p->nodes.items[to].parent && !is_filled;
         n = p->nodes.items[n].parent)
        is_filled = is_fill(p, n);
    uint32_t upload = is_filled ? upload_of(p, &p->nodes.items[copy]) : KINO_NO_ROW;
    if (upload != KINO_NO_ROW && changes_type(p->trace, p->nodes.items[copy].row, cursor))
        return KINO_NO_ROW;
    return upload;
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_TO];
    int64_t spent = 0, gain = 0;
    uint64_t count = 0;
    kino__top top = {0};
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        kino__interval span = kino__scan_interval(l->scan, items->items[i].row);
        uint32_t upload = kino__scan_is_in_step(l->scan, span.start)
                              ? match(p, p->node_of_row[items->items[i].row], &cursor)
                              : KINO_NO_ROW;
        if (upload == KINO_NO_ROW)
            continue;
        count++;
        spent += span.end - span.start;
        gain += kino__cover_within(&l->scan->idle, span.start, span.end) +
                kino__scan_exposed(l->scan, kino__scan_interval(l->scan, upload));
        kino__top_add(&top, span.end - span.start, i);
    }
    kino__text_cursor_deinit(&cursor);
    if (!kino__is_above(spent, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    char line[160];
    const kino__scan_item *worst = &items->items[top.index[0]];
    kino__scan_line(l->scan, worst, line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "tensors are filled on the host and then copied to the device");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.1f times a step a new tensor is filled on the host and moved with .to(), %s "
        "a step on the host%s%s",
        (double)count / (double)l->facts->step_count, kino__say_time(spent / l->facts->step_count),
        *line ? ", most at " : "", line);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the copy, and the wait for it, are not needed: the device can fill it");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "create the tensor where it is used: torch.zeros(n, device=device) instead of "
        "torch.zeros(n).to(device); the same for ones, full, rand, randn");
    for (size_t i = 0; i < top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[top.index[i]].row));
}

const kino__rule_def kino__rule_extra_copy = {
    .name = "extra-copy",
    .help = "tensors are filled on the host and copied to the device right after",
    .gain = "copies that no computation hides, and idle time of the device within `aten::to`",
    .thresholds = thresholds,
    .look = look,
};
