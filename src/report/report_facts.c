/* report_facts.c - what a report needs of each trace beyond the analyses' tables: its steps with
 * their parts, and the longest events of each part as evidence. One pass over the rows. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/report_internal.h"

void kino__longest_add(kino__longest *longest, int64_t dur, int64_t id)
{
    size_t at = longest->count;
    while (at > 0 && longest->dur[at - 1] < dur)
        at--;
    if (at == KINO__LONGEST)
        return;
    if (longest->count < KINO__LONGEST)
        longest->count++;
    for (size_t i = longest->count - 1; i > at; i--) {
        longest->dur[i] = longest->dur[i - 1];
        longest->id[i] = longest->id[i - 1];
    }
    longest->dur[at] = dur;
    longest->id[at] = id;
}

void kino__longest_merge(kino__longest *into, const kino__longest *from)
{
    for (size_t i = 0; i < from->count; i++)
        kino__longest_add(into, from->dur[i], from->id[i]);
}

/* -- map -- */

/* Long enough to be among the longest? Nearly all rows end here. */
static bool is_long(const kino__longest *longest, int64_t dur)
{
    return dur != KINO_NO_TIME &&
           (longest->count < KINO__LONGEST || dur > longest->dur[KINO__LONGEST - 1]);
}

static void find_longest(const kino__profile *p, kino__rank_fact *rank)
{
    const kino__trace *trace = p->trace;
    size_t kernel = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (p->type[row] == KINO__EVENT_TYPE_NONE)
            continue;
        rank->events_used++;
        kino__role role = kino__profile_role(p, row);
        if (role == KINO__ROLE_KERNEL && kernel < p->kernels.count)
            role = p->kernels.items[kernel++].is_communication ? KINO__ROLE_COMMUNICATION : role;
        if (role < KINO__ROLE_OTHER && is_long(&rank->longest[role], trace->dur[row]))
            kino__longest_add(&rank->longest[role], trace->dur[row],
                              kino__trace_event_id(trace, row));
    }
}

static bool has_table(uint8_t type)
{
    return type == KINO__EVENT_TYPE_OPERATOR || type == KINO__EVENT_TYPE_ANNOTATION ||
           type == KINO__EVENT_TYPE_KERNEL;
}

/* Which names the tables of operators and kernels begin with is known when all traces are done; by
 * then their rows may be gone. */
static bool find_named(const kino__profile *p, kino__report_facts *facts)
{
    const kino__trace *trace = p->trace;
    size_t count = kino__string_pool_count(&trace->strings), used = 0;
    kino__longest *longest = calloc(count + 1, sizeof *longest);
    uint8_t *is_used = calloc(count + 1, 1);
    bool ok = longest && is_used;
    for (uint32_t row = 0; row < trace->event_count && ok; row++) {
        kino_strid name = trace->name[row];
        if (name >= count)
            continue;
        is_used[name] |= has_table(p->type[row]);
        if (is_long(&longest[name], trace->dur[row]))
            kino__longest_add(&longest[name], trace->dur[row], kino__trace_event_id(trace, row));
    }
    for (size_t i = 0; i < count && ok; i++)
        used += is_used[i];
    ok = ok && kino__vec_reserve(&facts->names, used);
    for (size_t i = 0; i < count && ok; i++)
        if (is_used[i])
            facts->names.items[facts->names.count++] =
                (kino__name_fact){trace->index, (kino_strid)i, longest[i]};
    free(longest);
    free(is_used);
    return ok;
}

/* Numbers of iterations are the profile's, which may be gone before the report is. */
static kino_str keep_name(const kino__profile *p, kino_str name, kino__report_facts *facts)
{
    if (!p->has_step_events || p->step_source == KINO__STEP_MARKED)
        return name;
    char *copy = strndup(name.data, name.size), **slot = copy ? kino__vec_add(&facts->texts) : NULL;
    if (!slot) {
        free(copy);
        return (kino_str){NULL, 0};
    }
    *slot = copy;
    return (kino_str){copy, name.size};
}

static bool add_steps(const kino__analysis *a, const kino__profile *p, kino__report_facts *facts)
{
    for (size_t i = 0; i < p->steps.count; i++) {
        const kino__profile_step *step = &p->steps.items[i];
        if (p->has_step_events && !kino__analysis_wants_step(a, step->number))
            continue;
        kino__step_fact *slot = kino__vec_add(&facts->steps);
        if (!slot)
            return false;
        kino_str name = keep_name(p, step->name, facts);
        if (!name.data)
            return false;
        *slot = (kino__step_fact){.name = name,
                                  .event = KINO_NO_INT,
                                  .time = step->end - step->start,
                                  .computation = step->computation,
                                  .communication = step->communication,
                                  .overlap = step->overlap};
        memcpy(slot->part, step->cost, sizeof slot->part);
        if (step->row != KINO_NO_ROW)
            slot->event = kino__trace_event_id(p->trace, step->row);
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    kino__report_facts *facts = value;
    const kino__profile *p =
        kino__profile_of(trace, kino__analysis_is_compat(a, "tensorboard"), a->pool);
    kino__rank_fact *rank = p ? kino__vec_add(&facts->ranks) : NULL;
    if (!rank || !add_steps(a, p, facts))
        return kino__fail_nomem(err);
    *rank = (kino__rank_fact){.rank = trace->rank,
                              .trace = trace->index,
                              .worker = trace->worker,
                              .step_count = facts->steps.count,
                              .steps_cut = p->step_count_found - p->steps.count,
                              .has_step_events = p->has_step_events,
                              .step_source = p->step_source,
                              .has_kernels = p->has_kernel,
                              .has_device = p->has_kernel || p->has_copies || p->has_runtime,
                              .has_work = p->has_kernel || p->has_copies,
                              .has_memory = p->has_memory,
                              .has_modules = p->has_modules};
    if (!kino__trace_window(trace, &rank->window_start, &rank->window_end))
        rank->window_start = KINO_NO_TIME;
    find_longest(p, rank);
    return find_named(p, facts) && kino__report_find_ranges(p, facts, rank) ? KINO_OK
                                                                            : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__report_facts *facts = into, *more = from;
    size_t first = facts->steps.count;
    if (!kino__vec_reserve(&facts->steps, more->steps.count) ||
        !kino__vec_reserve(&facts->ranks, more->ranks.count) ||
        !kino__vec_reserve(&facts->names, more->names.count) ||
        !kino__vec_append(&facts->ranges, &more->ranges) ||
        !kino__vec_reserve(&facts->texts, more->texts.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->texts.count; i++)
        facts->texts.items[facts->texts.count++] = more->texts.items[i];
    more->texts.count = 0;
    for (size_t i = 0; i < more->names.count; i++)
        facts->names.items[facts->names.count++] = more->names.items[i];
    for (size_t i = 0; i < more->steps.count; i++)
        facts->steps.items[facts->steps.count++] = more->steps.items[i];
    for (size_t i = 0; i < more->ranks.count; i++) {
        facts->ranks.items[facts->ranks.count] = more->ranks.items[i];
        facts->ranks.items[facts->ranks.count++].first_step += first;
    }
    return KINO_OK;
}

static void deinit(void *value)
{
    kino__report_facts *facts = value;
    kino__vec_deinit(&facts->steps);
    kino__vec_deinit(&facts->ranks);
    kino__vec_deinit(&facts->names);
    kino__vec_deinit(&facts->ranges);
    for (size_t i = 0; i < facts->texts.count; i++)
        free(facts->texts.items[i]);
    kino__vec_deinit(&facts->texts);
}

static const char *const compat[] = {"tensorboard", NULL};
static const kino_table_info tables[] = {{0}};

const kino__analysis_def kino__report_facts_def = {
    .name = "report",
    .help = "",
    .description = "",
    .tables = tables,
    .compat = compat,
    .takes_steps = true,
    .partial_size = sizeof(kino__report_facts),
    .map = map,
    .merge = merge,
    .deinit = deinit,
};
