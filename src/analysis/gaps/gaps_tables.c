/* gaps_tables.c - gaps of all traces, and the tables of the answer. */
#include "analysis/device_work.h"
#include "analysis/gaps/gaps_internal.h"
#include "base/error.h"

/* -- all traces -- */

/* Numbers of another pool as numbers of this one. */
typedef struct renumbering {
    kino__gaps *into;
    const kino__gaps *from;
    bool failed;
} renumbering;

static void renumber(renumbering *r, kino_strid *id)
{
    if (*id == KINO_NO_STRING)
        return;
    *id = kino__string_pool_add(&r->into->names, kino__string_pool_text(&r->from->names, *id));
    r->failed |= *id == KINO_NO_STRING;
}

static void renumber_culprit(renumbering *r, kino__gap_culprit *c)
{
    renumber(r, &c->span.name);
    renumber(r, &c->op.name);
    renumber(r, &c->python.name);
}

kino_status kino__gaps_merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__gaps *p = into, *more = from;
    renumbering r = {p, more, false};
    if (!kino__vec_reserve(&p->gaps, more->gaps.count) ||
        !kino__vec_reserve(&p->activities, more->activities.count) ||
        !kino__vec_reserve(&p->totals, more->totals.count) ||
        !kino__vec_reserve(&p->without, more->without.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->gaps.count; i++) {
        kino__gap g = more->gaps.items[i];
        renumber(&r, &g.before.name);
        renumber(&r, &g.after.name);
        renumber(&r, &g.launch.name);
        renumber(&r, &g.sync.name);
        renumber_culprit(&r, &g.who);
        p->gaps.items[p->gaps.count++] = g;
    }
    for (size_t i = 0; i < more->activities.count; i++) {
        kino__gap_activity one = more->activities.items[i];
        renumber(&r, &one.thread_name);
        renumber_culprit(&r, &one.what);
        p->activities.items[p->activities.count++] = one;
    }
    for (size_t i = 0; i < more->totals.count; i++)
        p->totals.items[p->totals.count++] = more->totals.items[i];
    for (size_t i = 0; i < more->without.count; i++)
        p->without.items[p->without.count++] = more->without.items[i];
    p->trace_count = kino__sum(p->trace_count, more->trace_count);
    return r.failed ? kino__fail_nomem(err) : KINO_OK;
}

static void pack_place(kino__pack *pack, kino__gap_place *at)
{
    KINO__PACK(pack, &at->name);
    KINO__PACK_EVENTS(pack, &at->event);
}

static void pack_culprit(kino__pack *pack, kino__gap_culprit *c)
{
    pack_place(pack, &c->span);
    pack_place(pack, &c->op);
    pack_place(pack, &c->python);
}

static void pack_gap(kino__pack *pack, kino__gap *g)
{
    KINO__PACK(pack, &g->rank, &g->device, &g->step, &g->dur);
    KINO__PACK_TIMES(pack, &g->ts);
    pack_place(pack, &g->before);
    pack_place(pack, &g->after);
    pack_place(pack, &g->launch);
    pack_place(pack, &g->sync);
    KINO__PACK(pack, &g->thread, &g->blame, &g->blame_time);
    pack_culprit(pack, &g->who);
    kino__pack_u32(pack, &g->activity_count);
}

static void pack_activity(kino__pack *pack, kino__gap_activity *one)
{
    KINO__PACK(pack, &one->thread, &one->thread_name, &one->kind, &one->time);
    pack_culprit(pack, &one->what);
}

static void pack_total(kino__pack *pack, kino__gap_total *t)
{
    KINO__PACK(pack, &t->rank, &t->device, &t->blame, &t->count, &t->time);
}

static bool is_name(const kino__gaps *p, kino_strid id)
{
    return id == KINO_NO_STRING || id < kino__string_pool_count(&p->names);
}

static bool is_culprit(const kino__gaps *p, const kino__gap_culprit *c)
{
    return is_name(p, c->span.name) && is_name(p, c->op.name) && is_name(p, c->python.name);
}

static bool makes_sense(const kino__gaps *p)
{
    uint64_t activities = 0;
    bool ok = true;
    for (size_t i = 0; i < p->gaps.count; i++) {
        const kino__gap *g = &p->gaps.items[i];
        ok &= is_name(p, g->before.name) && is_name(p, g->after.name) &&
              is_name(p, g->launch.name) && is_name(p, g->sync.name) && is_culprit(p, &g->who) &&
              g->blame < KINO__BLAMES;
        activities += g->activity_count;
    }
    for (size_t i = 0; i < p->activities.count; i++) {
        const kino__gap_activity *one = &p->activities.items[i];
        ok &= is_name(p, one->thread_name) && is_culprit(p, &one->what) &&
              one->kind < KINO__HOST_KINDS;
    }
    for (size_t i = 0; i < p->totals.count; i++)
        ok &= p->totals.items[i].blame < KINO__BLAMES;
    return ok && activities == p->activities.count;
}

void kino__gaps_pack(kino__pack *pack, void *value)
{
    kino__gaps *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->gaps, pack_gap);
    KINO__PACK_VEC(pack, &p->activities, pack_activity);
    KINO__PACK_VEC(pack, &p->totals, pack_total);
    KINO__PACK_VEC(pack, &p->without, kino__pack_int);
    kino__pack_int(pack, &p->trace_count);
    if (!makes_sense(p))
        pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_column gap_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"gap", KINO_TYPE_INT, NULL, "number of the gap, for the table activity"},
    {"device", KINO_TYPE_INT, NULL, "null: unknown"},
    {"step", KINO_TYPE_INT, NULL, "step of the work after the gap"},
    {"ts", KINO_TYPE_TIME, NULL, "start: when the last work before it ended"},
    {"dur", KINO_TYPE_DURATION, NULL, NULL},
    {"blame", KINO_TYPE_STRING, NULL, "what delayed the launch; device, unknown: see below"},
    {"blame_time", KINO_TYPE_DURATION, NULL, "time it takes in the gap"},
    {"name", KINO_TYPE_STRING, NULL, "span with most of that time"},
    {"op", KINO_TYPE_STRING, NULL, "operator enclosing it"},
    {"python", KINO_TYPE_STRING, NULL, "Python function enclosing it, with file and line"},
    {"thread", KINO_TYPE_INT, NULL, "thread that launched the work after the gap"},
    {"sync", KINO_TYPE_STRING, NULL, "call in which this thread waited when the gap began"},
    {"before", KINO_TYPE_STRING, NULL, "the work that ended last"},
    {"after", KINO_TYPE_STRING, NULL, "the work that ended the gap"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the span `name`"},
    {"op_event", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {"python_event", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {"sync_event", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {"before_event", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {"after_event", KINO_TYPE_INT, KINO_UNIT_EVENT, NULL},
    {"launch_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "null: not in the trace"},
    {0},
};

/* Ids of events are for programs: the last seven columns. */
#define EVIDENCE ((uint64_t)0x7f << 15)

static const kino_column activity_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"gap", KINO_TYPE_INT, NULL, "number in the table gaps"},
    {"thread", KINO_TYPE_INT, NULL, NULL},
    {"thread_name", KINO_TYPE_STRING, NULL, NULL},
    {"activity", KINO_TYPE_STRING, NULL, "sync, data-loader, gc, operator, python, ..."},
    {"time", KINO_TYPE_DURATION, NULL, "part of the gap"},
    {"percent", KINO_TYPE_PERCENT, NULL, "part of the gap"},
    {"name", KINO_TYPE_STRING, NULL, "span with most of that time"},
    {"op", KINO_TYPE_STRING, NULL, "operator enclosing it"},
    {"python", KINO_TYPE_STRING, NULL, "Python function enclosing it"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the span `name`"},
    {0},
};

static const kino_column blame_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"device", KINO_TYPE_INT, NULL, "null: unknown"},
    {"blame", KINO_TYPE_STRING, NULL, NULL},
    {"count", KINO_TYPE_INT, "count", "gaps of min_gap and more"},
    {"time", KINO_TYPE_DURATION, NULL, "their sum"},
    {0},
};

const kino_table_info kino__gaps_tables[] = {
    {"gaps", "one row per gap: the longest of each trace, longest first", gap_columns,
     "Largest gaps", "no gap of min_gap or more"},
    {"activity", "one row per gap, host thread and activity", activity_columns,
     "What the host did in these gaps", NULL},
    {"blame", "one row per rank, device and cause, over all gaps", blame_columns,
     "All gaps by cause", NULL},
    {0},
};

static const char *blame_name(uint32_t blame)
{
    if (blame < KINO__HOST_KINDS)
        return kino__host_kind_name((kino__host_kind)blame);
    return blame == KINO__BLAME_DEVICE ? "device" : "unknown";
}

static void add_name(kino__table *table, const kino__gaps *p, kino_strid name)
{
    if (name == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__string_pool_text(&p->names, name));
}

static void add_gap_row(kino__table *table, const kino__gaps *p, const kino__gap *g, int64_t number)
{
    KINO__TABLE_ADD(table, g->rank, number, g->device, g->step, g->ts, g->dur,
                    kino__str_from(blame_name(g->blame)), g->blame_time);
    add_name(table, p, g->who.span.name);
    add_name(table, p, g->who.op.name);
    add_name(table, p, g->who.python.name);
    kino__table_add_int(table, g->thread);
    add_name(table, p, g->sync.name);
    add_name(table, p, g->before.name);
    add_name(table, p, g->after.name);
    KINO__TABLE_ADD(table, g->who.span.event, g->who.op.event, g->who.python.event, g->sync.event,
                    g->before.event, g->after.event, g->launch.event);
}

static void add_activity_row(kino__table *table, const kino__gaps *p, const kino__gap *g,
                             int64_t number, const kino__gap_activity *one)
{
    KINO__TABLE_ADD(table, g->rank, number, one->thread);
    add_name(table, p, one->thread_name);
    KINO__TABLE_ADD(table, kino__str_from(kino__host_kind_name(one->kind)), one->time,
                    100 * (double)one->time / (double)g->dur);
    add_name(table, p, one->what.span.name);
    add_name(table, p, one->what.op.name);
    add_name(table, p, one->what.python.name);
    kino__table_add_int(table, one->what.span.event);
}

kino_status kino__gaps_finish(const kino__analysis *a, void *value, kino_result *result,
                              kino_error *err)
{
    (void)a;
    (void)err;
    const kino__gaps *p = value;
    size_t next = 0;
    if (kino__analysis_table(result, 0))
        kino__analysis_table(result, 0)->hidden |= EVIDENCE;
    for (size_t i = 0; i < p->gaps.count; i++) {
        const kino__gap *g = &p->gaps.items[i];
        int64_t number = (int64_t)i + 1;
        add_gap_row(kino__analysis_table(result, 0), p, g, number);
        for (uint32_t k = 0; k < g->activity_count; k++)
            add_activity_row(kino__analysis_table(result, 1), p, g, number,
                             &p->activities.items[next++]);
    }
    kino__table *blame = kino__analysis_table(result, 2);
    for (size_t i = 0; i < p->totals.count; i++) {
        const kino__gap_total *t = &p->totals.items[i];
        KINO__TABLE_ADD(blame, t->rank, t->device, kino__str_from(blame_name(t->blame)), t->count,
                        t->time);
    }
    if (p->without.count)
        kino__note_without_device(result, "gaps", p->without.items, p->without.count,
                                  (size_t)p->trace_count - p->without.count);
    return KINO_OK;
}
