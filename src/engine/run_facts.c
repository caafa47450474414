/* run_facts.c - what a trace has to know of the others of its run: made of each, put together, and
 * told to a part of the run. */
#include <stdlib.h>

#include "base/error.h"
#include "engine/kino_run.h"
#include "engine/partial.h"
#include "engine/sidecar.h"
#include "model/frame/frame.h"
#include "wire/crc32c.h"

kino_partial *kino__facts_partial_new(void)
{
    kino_partial *partial = calloc(1, sizeof *partial);
    if (partial)
        kino__arena_init(&partial->arena, NULL);
    return partial;
}

/* -- the list -- */

static bool keep(kino_partial *partial, kino_str *text)
{
    *text = kino__arena_copy(&partial->arena, *text);
    return text->data != NULL;
}

bool kino__facts_add(kino_partial *partial, const kino__trace_fact *fact)
{
    kino__trace_fact copy = *fact;
    if (!kino__vec_reserve(&partial->traces, 1) || !keep(partial, &copy.worker) ||
        !keep(partial, &copy.path) || !keep(partial, &copy.label) || !keep(partial, &copy.notes))
        return false;
    size_t at = partial->traces.count++;
    for (; at > 0 && partial->traces.items[at - 1].index > copy.index; at--)
        partial->traces.items[at] = partial->traces.items[at - 1];
    partial->traces.items[at] = copy;
    return true;
}

/* As opening orders traces. */
static int compare_facts(const void *a, const void *b)
{
    const kino__trace_fact *x = a, *y = b;
    int order = kino__trace_key_compare(&(kino__trace_key){x->rank, x->worker, x->path.data},
                                        &(kino__trace_key){y->rank, y->worker, y->path.data});
    if (order)
        return order;
    if (x->origin_ns != y->origin_ns)
        return x->origin_ns < y->origin_ns ? -1 : 1;
    return x->events < y->events ? -1 : x->events > y->events;
}

static const kino__trace_fact *find(const kino_partial *facts, const kino__trace_fact *fact)
{
    for (size_t i = 0; i < facts->traces.count; i++)
        if (compare_facts(&facts->traces.items[i], fact) == 0)
            return &facts->traces.items[i];
    return NULL;
}

/* What the traces of the whole run share, worked out again. */
static void settle(kino_partial *facts)
{
    kino__buffer bytes = {0};
    kino__pack pack = {.out = &bytes};
    size_t count = facts->traces.count;
    facts->is_epoch = false;
    facts->origin_ns = count == 1 ? facts->traces.items[0].origin_ns : 0;
    facts->whole = (kino__whole_run){.traces = (uint32_t)count};
    if (count)
        qsort(facts->traces.items, count, sizeof *facts->traces.items, compare_facts);
    for (size_t i = 0; i < count; i++) {
        kino__trace_fact *fact = &facts->traces.items[i];
        fact->index = (uint32_t)i;
        facts->whole.ranks += fact->is_rank;
        if (!fact->is_epoch || fact->events == 0)
            continue;
        if (!facts->is_epoch || fact->origin_ns < facts->origin_ns)
            facts->origin_ns = fact->origin_ns;
        facts->is_epoch = true;
    }
    kino__facts_pack(&pack, facts);
    facts->whole.id = kino__crc32c(0, bytes.data, bytes.size);
    kino__buffer_deinit(&bytes);
}

kino_status kino__facts_merge(kino_partial *into, const kino_partial *from, kino_error *err)
{
    for (size_t i = 0; i < from->traces.count; i++)
        if (find(into, &from->traces.items[i]))
            return kino__fail(err, KINO_ARGUMENT, "the facts of '%.*s' are in both",
                              KINO__STR_ARG(from->traces.items[i].path));
    for (size_t i = 0; i < from->traces.count; i++)
        if (!kino__facts_add(into, &from->traces.items[i]))
            return kino__fail_nomem(err);
    settle(into);
    return KINO_OK;
}

/* -- of a run -- */

static kino__trace_fact fact_of(const kino_run *run, const kino__trace *trace)
{
    kino__trace_fact fact = {.index = trace->index,
                             .rank = trace->rank,
                             .worker = trace->worker,
                             .path = trace->path,
                             .label = kino__str_from(run->label),
                             .notes = KINO__STR(""),
                             .origin_ns = trace->origin_ns + trace->shift_ns,
                             .is_epoch = trace->is_epoch,
                             .is_rank = kino__trace_is_rank(trace),
                             .steps = {.seen = KINO_NO_INT},
                             .events = trace->event_count,
                             .skipped = kino__ledger_skipped(&trace->ledger)};
    kino__run_steps_add(&fact.steps, trace);
    return fact;
}

kino_status kino__facts_of(const kino_run *run, kino_partial **out, kino_error *err)
{
    kino__buffer notes = {0};
    kino_partial *facts = kino__facts_partial_new();
    bool ok = facts != NULL;
    for (size_t i = 0; i < run->notes.count; i++)
        kino__buffer_printf(&notes, "%s\n", run->notes.items[i].text);
    for (size_t i = 0; i < run->run.traces.count && ok; i++) {
        kino__trace_fact fact = fact_of(run, run->run.traces.items[i]);
        if (i == 0)
            fact.notes = kino__buffer_str(&notes);
        ok = kino__facts_add(facts, &fact);
    }
    ok = ok && !notes.failed;
    kino__buffer_deinit(&notes);
    *out = ok ? facts : NULL;
    if (ok)
        return KINO_OK;
    kino_partial_free(facts);
    return kino__fail_nomem(err);
}

kino_status kino_run_facts(kino_run *run, kino_partial **out, kino_error *err)
{
    kino__error_clear(err);
    KINO_TRY(kino__facts_of(run, out, err));
    settle(*out);
    return KINO_OK;
}

/* -- a part of a run -- */

kino_status kino__whole_run_of(const kino_run *run, kino__whole_run *out, kino_error *err)
{
    kino_partial *facts;
    while (run->is_selection)
        run = run->parent;
    *out = run->run.whole;
    if (out->traces)
        return KINO_OK;
    KINO_TRY(kino_run_facts((kino_run *)(uintptr_t)run, &facts, err));
    *out = facts->whole;
    kino_partial_free(facts);
    return KINO_OK;
}

static bool is_used(const kino_run *run)
{
    bool is_used = run->parent || run->run.whole.traces;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        is_used |= trace->links || trace->arg_columns || trace->attachments;
    }
    return is_used;
}

/* Every trace as the whole run knows it; ranks: how many of them are. */
static kino_status find_all(const kino_run *run, const kino_partial *facts, uint32_t *index,
                            size_t *ranks, kino_error *err)
{
    *ranks = 0;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        kino__trace_fact own = fact_of(run, run->run.traces.items[i]);
        const kino__trace_fact *fact = find(facts, &own);
        if (!fact)
            return kino__fail(err, KINO_NOT_FOUND, "'%.*s' is not among the facts of the run",
                              KINO__STR_ARG(own.path));
        index[i] = fact->index;
        *ranks += fact->is_rank;
    }
    return KINO_OK;
}

static void join(kino_run *run, const kino_partial *facts, const uint32_t *index)
{
    kino__run *inner = &run->run;
    for (size_t i = 0; i < inner->traces.count; i++)
        inner->traces.items[i]->index = index[i];
    inner->whole = facts->whole;
    inner->steps = (kino__run_steps){.seen = KINO_NO_INT};
    for (size_t i = 0; i < facts->traces.count; i++) {
        const kino__run_steps *steps = &facts->traces.items[i].steps;
        kino__run_steps *all = &inner->steps;
        all->has_several |=
            steps->has_several ||
            (all->seen != KINO_NO_INT && steps->seen != all->seen && steps->seen != KINO_NO_INT);
        all->seen = steps->seen != KINO_NO_INT ? steps->seen : all->seen;
    }
    kino__run_align_to(inner, facts->is_epoch, facts->origin_ns);
    if (run->members) {
        run->members->run.is_epoch = inner->is_epoch;
        run->members->run.origin_ns = inner->origin_ns;
    }
}

kino_status kino_run_join(kino_run *run, const kino_partial *facts, kino_error *err)
{
    size_t ranks;
    kino__error_clear(err);
    if (facts->analysis.size)
        return kino__fail(err, KINO_ARGUMENT, "not facts: a partial result of '%.*s'",
                          KINO__STR_ARG(facts->analysis));
    if (is_used(run))
        return kino__fail(err, KINO_ARGUMENT, "the run is in use already: join it first");
    uint32_t *index = calloc(run->run.traces.count + 1, sizeof *index);
    kino_status st = index ? find_all(run, facts, index, &ranks, err) : kino__fail_nomem(err);
    if (st == KINO_OK && ranks == 0 && facts->whole.ranks)
        st = kino__fail(err, KINO_ARGUMENT, "'%s' has no ranks, which the analyses are about",
                        run->label);
    if (st == KINO_OK)
        join(run, facts, index);
    free(index);
    return st;
}
