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

/* Texts of traces, or of the bytes that a partial was loaded from: they outlive it. */
static bool add_longest(kino__report_facts *facts, kino_str name, const kino__longest *longest)
{
    kino_strid id = kino__string_pool_add_borrowed(&facts->names, name);
    kino__longest *fresh = id == facts->longest.count ? kino__vec_add(&facts->longest) : NULL;
    if (fresh)
        *fresh = (kino__longest){0};
    if (id >= facts->longest.count) /* memory is out */
        return false;
    kino__longest_merge(&facts->longest.items[id], longest);
    return true;
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
    ok = ok && kino__vec_reserve(&facts->longest, used);
    for (size_t i = 0; i < count && ok; i++)
        ok = !is_used[i] ||
             add_longest(facts, kino__trace_string(trace, (kino_strid)i), &longest[i]);
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

static bool merge_names(kino__report_facts *facts, const kino__report_facts *more)
{
    bool ok = true;
    for (size_t i = 0; i < more->longest.count && ok; i++)
        ok = add_longest(facts, kino__string_pool_text(&more->names, (kino_strid)i),
                         &more->longest.items[i]);
    for (size_t i = 0; i < more->ranges.count && ok; i++)
        ok =
            kino__report_add_range(facts, kino__string_pool_text(&more->range_names, (kino_strid)i),
                                   &more->ranges.items[i]);
    return ok;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    kino__report_facts *facts = into, *more = from;
    size_t first = facts->steps.count;
    if (!kino__vec_reserve(&facts->steps, more->steps.count) ||
        !kino__vec_reserve(&facts->ranks, more->ranks.count) ||
        !kino__vec_reserve(&facts->texts, more->texts.count) || !merge_names(facts, more))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->texts.count; i++)
        facts->texts.items[facts->texts.count++] = more->texts.items[i];
    more->texts.count = 0;
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
    kino__string_pool_deinit(&facts->names);
    kino__vec_deinit(&facts->longest);
    kino__string_pool_deinit(&facts->range_names);
    kino__vec_deinit(&facts->ranges);
    for (size_t i = 0; i < facts->texts.count; i++)
        free(facts->texts.items[i]);
    kino__vec_deinit(&facts->texts);
}

/* -- bytes -- */

static void pack_longest(kino__pack *pack, kino__longest *longest)
{
    size_t count = kino__pack_count(pack, longest->count);
    if (count > KINO__LONGEST) {
        pack->is_damaged = true;
        count = 0;
    }
    longest->count = count;
    for (size_t i = 0; i < count; i++) {
        kino__pack_int(pack, &longest->dur[i]);
        kino__pack_event(pack, &longest->id[i]);
    }
}

static void pack_size(kino__pack *pack, size_t *value)
{
    uint64_t wide = *value;
    kino__pack_u64(pack, &wide);
    *value = (size_t)wide;
}

static void pack_step(kino__pack *pack, kino__step_fact *step)
{
    kino__pack_str(pack, &step->name);
    kino__pack_event(pack, &step->event);
    kino__pack_int(pack, &step->time);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        kino__pack_int(pack, &step->part[r]);
    KINO__PACK(pack, &step->computation, &step->communication, &step->overlap);
}

static void pack_flags(kino__pack *pack, kino__rank_fact *rank)
{
    bool *flags[] = {&rank->has_step_events, &rank->has_device,  &rank->has_kernels,
                     &rank->has_memory,      &rank->has_modules, &rank->has_work};
    uint32_t source = rank->step_source;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        kino__pack_bool(pack, flags[i]);
    kino__pack_u32(pack, &source);
    rank->step_source = (kino__step_source)source;
    pack->is_damaged |= source > KINO__STEP_FORWARD;
}

static void pack_rank(kino__pack *pack, kino__rank_fact *rank)
{
    int64_t trace = rank->trace;
    kino__pack_int(pack, &rank->rank);
    kino__pack_trace(pack, &trace);
    rank->trace = (uint32_t)trace;
    kino__pack_str(pack, &rank->worker);
    pack_size(pack, &rank->first_step);
    pack_size(pack, &rank->step_count);
    pack_size(pack, &rank->steps_cut);
    kino__pack_u64(pack, &rank->events_used);
    kino__pack_time(pack, &rank->window_start);
    kino__pack_time(pack, &rank->window_end);
    pack_flags(pack, rank);
    pack_size(pack, &rank->range_count);
    KINO__PACK(pack, &rank->ranges_time, &rank->ranges_extent);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        pack_longest(pack, &rank->longest[r]);
}

static void pack_range(kino__pack *pack, kino__range_fact *range)
{
    KINO__PACK(pack, &range->count, &range->total);
    pack_longest(pack, &range->longest);
    pack->is_damaged |= range->count < 1;
}

static bool are_sound(const kino__report_facts *facts)
{
    size_t next = 0;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__rank_fact *rank = &facts->ranks.items[i];
        if (rank->first_step != next || rank->step_count > facts->steps.count - next)
            return false;
        next += rank->step_count;
    }
    return next == facts->steps.count &&
           facts->longest.count == kino__string_pool_count(&facts->names) &&
           facts->ranges.count == kino__string_pool_count(&facts->range_names);
}

static void pack(kino__pack *pack, void *value)
{
    kino__report_facts *facts = value;
    KINO__PACK_VEC(pack, &facts->steps, pack_step);
    KINO__PACK_VEC(pack, &facts->ranks, pack_rank);
    kino__pack_pool(pack, &facts->names);
    KINO__PACK_VEC(pack, &facts->longest, pack_longest);
    kino__pack_pool(pack, &facts->range_names);
    KINO__PACK_VEC(pack, &facts->ranges, pack_range);
    if (!pack->out && !pack->is_damaged && !pack->is_out_of_memory && !are_sound(facts))
        pack->is_damaged = true;
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
    .pack = pack,
    .deinit = deinit,
};
