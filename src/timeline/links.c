/* links.c - what an event belongs to and what belongs to it, across tracks: the table links.
 *
 * Launches, operators, modules and Python frames are found for this event alone (near.c); flows are
 * the store's (store/link.h), made when somebody first asks about an operator of a trace that has
 * autograd flows, or about anything in one that has flows of its own. Each other event is listed
 * once, by the first relation that names it. */
#include "base/error.h"
#include "store/args.h"
#include "store/link.h"
#include "timeline/event_internal.h"

enum { MOST_LINKS = 200 }; /* an outer operator launches any number of kernels */

static const kino_column columns[] = {
    {"relation", KINO_TYPE_STRING, NULL,
     "launched by, launches, op, module, python, forward, backward, flow to, flow from or parent"},
    {"id", KINO_TYPE_INT, NULL, "of the other event"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "as in the trace"},
    {"track", KINO_TYPE_INT, NULL, "track it is drawn on; none: not drawn"},
    {"row", KINO_TYPE_INT, NULL, "row within the track"},
    {"start", KINO_TYPE_TIME, NULL, NULL},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
};

typedef struct list {
    const kino__tl_subject *s;
    kino__table *table;
    kino_result *result;
    uint64_t left_out;
    size_t count;
    uint32_t rows[MOST_LINKS];
} list;

static void add(list *l, const char *relation, uint32_t row)
{
    const kino__trace *trace = l->s->trace;
    if (row == KINO_NO_ROW || row == l->s->row)
        return;
    for (size_t i = 0; i < l->count; i++)
        if (l->rows[i] == row)
            return;
    if (l->count == MOST_LINKS) {
        l->left_out++;
        return;
    }
    l->rows[l->count++] = row;
    kino__tl_place place;
    bool is_drawn = kino__tl_find(l->s->timeline, trace, row, &place);
    KINO__TABLE_ADD(l->table, kino__str_from(relation), kino__trace_event_id(trace, row));
    kino__tl_add_name(l->table, trace, row);
    KINO__TABLE_ADD(l->table, is_drawn ? place.track : KINO_NO_INT,
                    is_drawn ? place.line : KINO_NO_INT, trace->ts[row], trace->dur[row]);
}

static void add_work(void *context, uint32_t row)
{
    add(context, "launches", row);
}

static bool add_launches(list *l)
{
    uint32_t op;
    add(l, "launched by", l->s->launch);
    if (!kino__tl_work_of(l->s->trace, l->s->row, add_work, l) || !kino__tl_op_of(l->s, &op))
        return false;
    add(l, "op", op);
    return true;
}

/* Around the call of what was launched, around the event itself else. */
static bool add_python(list *l)
{
    const kino__tl_subject *s = l->s;
    uint32_t around = s->launch != KINO_NO_ROW ? s->launch : s->row, module, python;
    const uint32_t kinds = KINO__KIND_BIT(KINO__KIND_PYTHON);
    if (!kino__tl_around(s->timeline, s->trace, around, kinds, KINO__STR("nn.Module: "), &module) ||
        !kino__tl_around(s->timeline, s->trace, around, kinds, KINO__STR(""), &python))
        return false;
    add(l, "module", module);
    add(l, "python", python);
    return true;
}

/* Where no flow tells: by sequence numbers, if it has one. */
static bool add_sequences(list *l)
{
    const kino__trace *trace = l->s->trace;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    int64_t sequence =
        kino__args_int(kino__args_text(trace, l->s->row, &cursor), "Sequence number");
    kino__text_cursor_deinit(&cursor);
    if (sequence == KINO_NO_INT)
        return true;
    const uint32_t *forward = kino__link_forward(trace);
    if (!forward)
        return false;
    add(l, "forward", forward[l->s->row]);
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (forward[row] == l->s->row)
            add(l, "backward", row);
    return true;
}

/* Kinds of the flows of a trace, but those of launches: near.c knows what they tell. */
static uint32_t flow_kinds(const kino__trace *trace)
{
    uint32_t kinds = 0;
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->phase[row] == 's' || trace->phase[row] == 't')
            kinds |= KINO__KIND_BIT(kino__category_kind(trace->category[row]));
    return kinds & ~KINO__KIND_BIT(KINO__KIND_LAUNCH_FLOW);
}

/* The flows of a whole trace are made only where they may say something new. */
static bool add_flows(list *l)
{
    const kino__trace *trace = l->s->trace;
    const uint32_t autograd = KINO__KIND_BIT(KINO__KIND_AUTOGRAD_FLOW);
    uint32_t kinds = flow_kinds(trace);
    bool is_op = kino__category_kind(trace->category[l->s->row]) == KINO__KIND_OP;
    if (is_op && !(kinds & autograd) && !add_sequences(l))
        return false;
    if (!(kinds & ~autograd) && !(is_op && kinds))
        return true;
    const kino__flows *flows = kino__link_flows(trace);
    for (size_t i = 0; flows && i < flows->count; i++) {
        const kino__flow *flow = &flows->items[i];
        kino__kind kind = kino__category_kind(trace->category[flow->from]);
        bool is_autograd = kind == KINO__KIND_AUTOGRAD_FLOW;
        if (flow->from_span == l->s->row || flow->from == l->s->row)
            add(l, is_autograd ? "backward" : "flow to",
                flow->to_span != KINO_NO_ROW ? flow->to_span : flow->to);
        if (flow->to_span == l->s->row || flow->to == l->s->row)
            add(l, is_autograd ? "forward" : "flow from",
                flow->from_span != KINO_NO_ROW ? flow->from_span : flow->from);
    }
    return flows != NULL;
}

static bool add_parent(list *l)
{
    kino__tl_rows rows = {0};
    bool ok = !l->s->track || kino__tl_stack(l->s->track, l->s->row, &rows);
    if (ok && rows.count)
        add(l, "parent", rows.items[rows.count - 1]);
    kino__vec_deinit(&rows);
    return ok;
}

bool kino__tl_add_links(kino_result *result, const kino__tl_subject *subject)
{
    list l = {.s = subject, .result = result};
    l.table = kino__result_add_table(result, "links", columns, sizeof columns / sizeof *columns);
    kino__table_describe(l.table, 0, "Links", "none");
    if (!add_launches(&l) || !add_python(&l) || !add_flows(&l) || !add_parent(&l))
        return false;
    if (l.left_out)
        kino__result_note(result, "%llu more links are not listed", (unsigned long long)l.left_out);
    return true;
}

kino_status kino__timeline_prepare(const kino__timeline *timeline, kino_error *err)
{
    for (size_t i = 0; i < timeline->run->traces.count; i++) {
        const kino__trace *trace = timeline->run->traces.items[i];
        KINO_TRY(kino__trace_require(trace, KINO__COLUMN_PHASE | KINO__COLUMN_CATEGORY, NULL, err));
        if (flow_kinds(trace) && !kino__link_flows(trace))
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}
