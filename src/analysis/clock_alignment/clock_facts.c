/* clock_facts.c - what a trace gives to the alignment of clocks: the calls that all ranks leave
 * together. */
#include <stdlib.h>

#include "analysis/clock_alignment/clocks.h"
#include "analysis/distributed/collective_calls.h"
#include "analysis/distributed/collective_names.h"

/* -- whom a rank talks to -- */

/* The numbers of "[0, 2, 4]"; false: some are left out (or it is no such list). */
static bool next_rank(kino_str *rest, int64_t *out)
{
    while (rest->size && (rest->data[0] < '0' || rest->data[0] > '9'))
        *rest = (kino_str){rest->data + 1, rest->size - 1};
    size_t digits = 0;
    while (digits < rest->size && rest->data[digits] >= '0' && rest->data[digits] <= '9')
        digits++;
    kino_str number = {rest->data, digits};
    *rest = (kino_str){rest->data + digits, rest->size - digits};
    return digits && kino__str_to_int(number, out);
}

/* Newer profilers write ranks of the run, older ones places in the group: what is no member, or is
 * the rank itself, is a place. */
static int64_t rank_of(kino_str ranks, int64_t told, int64_t self)
{
    int64_t rank, at_place = KINO_NO_INT;
    bool is_member = false;
    for (int64_t place = 0; next_rank(&ranks, &rank); place++) {
        is_member |= rank == told;
        if (place == told)
            at_place = rank;
    }
    return (is_member && told != self) || at_place == KINO_NO_INT ? told : at_place;
}

/* "send 0>2 of 5": equal for both sides of it. */
static bool put_pair(const kino__collective *c, const kino__collective_call *call, int64_t self,
                     kino__buffer *out)
{
    if (call->from == KINO_NO_INT || self == KINO_NO_INT)
        return false;
    bool is_receive = kino__str_starts_with(c->operation, KINO__STR("recv"));
    int64_t from = is_receive ? rank_of(c->ranks, call->from, self) : self;
    int64_t to = is_receive ? self : rank_of(c->ranks, call->to, self);
    kino__buffer_printf(out, "send %lld>%lld of %.*s", (long long)from, (long long)to,
                        KINO__STR_ARG(c->group));
    return from != to;
}

/* The text that is the same for all sides of a call; false: it says nothing about clocks. */
static bool put_kind(kino_str text, const kino__collective_call *call, int64_t self,
                     kino__buffer *out)
{
    kino__collective c = kino__collective_read(text);
    if (kino__collective_is_point_to_point(&c))
        return put_pair(&c, call, self, out);
    kino__buffer_add(out, text);
    return kino__collective_ends_together(&c);
}

/* -- one trace -- */

/* Differences of these cannot go over. Times since 1970 are among them, until 2043: those of a trace
 * with an event at 0 are no others. */
#define EARLIEST (INT64_MIN / 8)
#define LATEST   (INT64_MAX / 4)

static bool is_time(int64_t value)
{
    return value > EARLIEST && value < LATEST;
}

static bool add_call(kino__clock_facts *facts, const kino__trace *trace,
                     const kino__string_pool *texts, const kino__collective_call *call,
                     kino__buffer *text)
{
    int64_t start = trace->ts[call->row], dur = trace->dur[call->row];
    text->size = 0;
    if (dur < 0 || !is_time(start) || !is_time(kino__sum(start, dur)) ||
        !put_kind(kino__string_pool_text(texts, call->kind), call, trace->rank, text))
        return !text->failed;
    kino_strid kind = kino__string_pool_add(&facts->kinds, kino__buffer_str(text));
    kino__clock_call *slot =
        text->failed || kind == KINO_NO_STRING ? NULL : kino__vec_add(&facts->calls);
    if (slot)
        *slot = (kino__clock_call){.trace = (uint32_t)facts->traces.count - 1,
                                   .kind = kind,
                                   .series = call->series,
                                   .size = call->size,
                                   .start = start,
                                   .end = kino__sum(start, dur),
                                   .step = call->step,
                                   .event = kino__trace_event_id(trace, call->row)};
    return slot != NULL;
}

static kino__clock_trace facts_of(const kino__trace *trace)
{
    kino__clock_trace t = {trace->rank, trace->index, INT64_MAX, INT64_MIN};
    if (kino__trace_window(trace, &t.first, &t.last)) {
        t.first = t.first > EARLIEST ? t.first : EARLIEST + 1;
        t.last = t.last < LATEST ? t.last : LATEST - 1;
    }
    return t;
}

bool kino__clock_facts_add(kino__clock_facts *facts, const kino__analysis *a,
                           const kino__trace *trace)
{
    kino__string_pool texts = {0};
    kino__collective_calls found = {0};
    kino__buffer text = {0};
    kino__clock_trace *slot = kino__vec_add(&facts->traces);
    bool ok = slot && kino__collective_calls_find(a, trace, &texts, &found);
    if (slot)
        *slot = facts_of(trace);
    for (size_t i = 0; ok && i < found.items.count; i++)
        ok = add_call(facts, trace, &texts, &found.items.items[i], &text);
    kino__buffer_deinit(&text);
    kino__collective_calls_deinit(&found);
    kino__string_pool_deinit(&texts);
    return ok;
}

/* -- all traces -- */

bool kino__clock_facts_merge(kino__clock_facts *into, const kino__clock_facts *from)
{
    uint32_t traces = (uint32_t)into->traces.count;
    size_t count = kino__string_pool_count(&from->kinds);
    kino_strid *kinds = malloc((count + 1) * sizeof *kinds);
    bool ok = kinds && kino__vec_append(&into->traces, &from->traces) &&
              kino__vec_reserve(&into->calls, from->calls.count);
    for (kino_strid i = 0; ok && i < count; i++) {
        kinds[i] = kino__string_pool_add(&into->kinds, kino__string_pool_text(&from->kinds, i));
        ok = kinds[i] != KINO_NO_STRING;
    }
    for (size_t i = 0; ok && i < from->calls.count; i++) {
        kino__clock_call call = from->calls.items[i];
        call.trace += traces;
        call.kind = kinds[call.kind];
        into->calls.items[into->calls.count++] = call;
    }
    free(kinds);
    return ok;
}

static void pack_trace(kino__pack *pack, kino__clock_trace *t)
{
    KINO__PACK(pack, &t->rank);
    kino__pack_trace(pack, &t->index);
    KINO__PACK_TIMES(pack, &t->first, &t->last);
}

static void pack_call(kino__pack *pack, kino__clock_call *c)
{
    KINO__PACK(pack, &c->trace, &c->kind, &c->series, &c->size, &c->step);
    KINO__PACK_TIMES(pack, &c->start, &c->end);
    KINO__PACK_EVENTS(pack, &c->event);
}

static bool is_sound_call(const kino__clock_facts *facts, const kino__clock_call *c)
{
    return c->trace < facts->traces.count && c->kind < kino__string_pool_count(&facts->kinds) &&
           is_time(c->start) && is_time(c->end) && c->end >= c->start;
}

void kino__clock_facts_pack(kino__pack *pack, kino__clock_facts *facts)
{
    kino__pack_pool(pack, &facts->kinds);
    KINO__PACK_VEC(pack, &facts->traces, pack_trace);
    KINO__PACK_VEC(pack, &facts->calls, pack_call);
    for (size_t i = 0; i < facts->traces.count; i++) {
        const kino__clock_trace *t = &facts->traces.items[i];
        if (t->first <= t->last && !(is_time(t->first) && is_time(t->last)))
            pack->is_damaged = true;
    }
    for (size_t i = 0; i < facts->calls.count; i++) {
        const kino__clock_call *c = &facts->calls.items[i];
        if (!is_sound_call(facts, c) || (i && c->trace < c[-1].trace))
            pack->is_damaged = true;
    }
}

void kino__clock_facts_deinit(kino__clock_facts *facts)
{
    kino__string_pool_deinit(&facts->kinds);
    kino__vec_deinit(&facts->traces);
    kino__vec_deinit(&facts->calls);
}
