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
#include "store/op_inputs.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.002, "share of the step time in such copies, on the host"},
    {0},
};

static bool is_named(const kino__profile *p, uint32_t node, const char *name)
{
    return node != KINO__NO_NODE &&
           kino__node_name_id(p, &p->nodes.items[node]) != KINO_NO_STRING &&
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
    uint32_t count;
    const kino__launch *launch = kino__node_launches(p, copy, &count);
    for (uint32_t i = 0; i < count; i++, launch++) {
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

/* The first two inputs differ in type; false where types were not recorded. */
static bool changes_type(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor)
{
    kino__op_inputs inputs = {0};
    bool differs = false;
    if (kino__op_inputs_read(&inputs, kino__args_text(trace, row, cursor))) {
        const kino__op_input *to = kino__op_inputs_at(&inputs, 0),
                             *from = kino__op_inputs_at(&inputs, 1);
        differs = to && from && to->type.size && from->type.size &&
                  !kino__str_equal(to->type, from->type);
    }
    kino__op_inputs_deinit(&inputs);
    return differs;
}

/* Row of the upload when the aten::to of this node matches, else KINO_NO_ROW. */
static uint32_t match(const kino__profile *p, uint32_t to, kino__text_cursor *cursor)
{
    if (to == KINO__NO_NODE || to == 0 || p->nodes.items[to].is_dropped)
        return KINO_NO_ROW;
    uint32_t inner = kino__node_last_child(p, &p->nodes.items[to]);
    if (!is_named(p, inner, "aten::_to_copy"))
        return KINO_NO_ROW;
    uint32_t copy = kino__node_last_child(p, &p->nodes.items[inner]);
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

typedef struct total {
    kino__intervals calls, copies; /* of aten::to on the host; uploads on the device */
    uint64_t count;
    kino__top top;
} total;

static void find_all(const kino__rule_look *l, total *t)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_TO];
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        kino__interval span = kino__scan_interval(l->scan, items->items[i].row);
        uint32_t node = kino__profile_node_of(l->profile, items->items[i].row);
        uint32_t upload = kino__scan_is_in_step(l->scan, span.start)
                              ? match(l->profile, node, &cursor)
                              : KINO_NO_ROW;
        if (upload == KINO_NO_ROW)
            continue;
        t->count++;
        kino__top_add(&t->top, span.end - span.start, i);
        if (!kino__scan_add_span(l->scan, span, &t->calls) ||
            !kino__scan_add_span(l->scan, kino__scan_interval(l->scan, upload), &t->copies))
            l->out->failed = true;
    }
    kino__text_cursor_deinit(&cursor);
}

static void speak(const kino__rule_look *l, const total *t, int64_t spent)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_TO];
    char line[160];
    int64_t gain = kino__scan_idle_in(l->scan, &t->calls);
    for (size_t i = 0; i < t->copies.count; i++)
        gain += kino__scan_exposed(l->scan, t->copies.items[i]);
    const kino__scan_item *worst = &items->items[t->top.index[0]];
    kino__scan_line(l->scan, worst, line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "tensors are filled on the host and then copied to the device");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f times per step, a new tensor is filled on the host and moved with "
                      ".to(), %s per step on the host%s%s",
                      (double)t->count / (double)l->facts->step_count,
                      kino__say_time(spent / l->facts->step_count), *line ? ", most at " : "",
                      line);
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "neither the copy nor the wait for it is needed: the device can fill the tensor itself");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "create the tensor where it is used: torch.zeros(n, device=device) instead of "
        "torch.zeros(n).to(device); the same for ones, full, rand, randn");
    for (size_t i = 0; i < t->calls.count; i++)
        kino__finding_claim_cover(l->out, f, &l->scan->idle, t->calls.items[i].start,
                                  t->calls.items[i].end);
    kino__finding_claim_list(l->out, f, &t->copies);
    for (size_t i = 0; i < t->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[t->top.index[i]].row));
}

static void look(const kino__rule_look *l)
{
    total t = {0};
    find_all(l, &t);
    int64_t spent = kino__scan_unite(&t.calls);
    (void)kino__scan_unite(&t.copies);
    if (kino__is_above(spent, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &t, spent);
    kino__vec_deinit(&t.calls);
    kino__vec_deinit(&t.copies);
}

const kino__rule_def kino__rule_extra_copy = {
    .name = "extra-copy",
    .help = "tensors are filled on the host and then copied to the device",
    .gain = "copies that are not hidden behind computation, and idle time of the device during "
            "`aten::to`",
    .thresholds = thresholds,
    .look = look,
};
