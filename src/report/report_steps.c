/* report_steps.c - the average step, the bars of ranks and steps, and what stands out among them.
 *
 * Averages are over all steps of all ranks. Parts are averaged so that they add up to the averaged
 * total: each is the difference of two rounded running sums. */
#include <stdlib.h>

#include "render/units.h"
#include "report/report_internal.h"

enum { EVIDENCE_STEPS = 8 };

typedef struct sums {
    int64_t time, part[KINO__ROLE_COUNT];
    int64_t count;
    int64_t ids[EVIDENCE_STEPS];
    size_t id_count;
} sums;

static void add_step(sums *s, const kino__step_fact *step)
{
    s->time = kino__sum(s->time, step->time);
    for (int r = 0; r < KINO__ROLE_COUNT; r++)
        s->part[r] = kino__sum(s->part[r], step->part[r]);
    s->count++;
    if (step->event != KINO_NO_INT && s->id_count < EVIDENCE_STEPS)
        s->ids[s->id_count++] = step->event;
}

static kino__report_bar bar_of(kino__report *report, const sums *s, kino_str label)
{
    kino__report_bar bar = {.label = label, .total = s->time / s->count};
    int64_t running = 0;
    for (int r = 0; r < KINO__ROLE_COUNT; r++) {
        int64_t before = running / s->count;
        running = kino__sum(running, s->part[r]);
        bar.part[r] = running / s->count - before;
    }
    bar.evidence = kino__report_evidence(report, s->ids, s->id_count);
    return bar;
}

static void add_bar(kino__report *report, kino__report_bars *bars, kino__report_bar bar)
{
    kino__report_bar *slot = kino__vec_add(bars);
    if (slot)
        *slot = bar;
    else
        kino__report_fail(report);
}

/* One bar a rank, where there are several. */
static void add_ranks(kino__report *report, const kino__report_facts *facts)
{
    for (size_t i = 0; i < facts->ranks.count && facts->ranks.count > 1; i++) {
        const kino__rank_fact *rank = &facts->ranks.items[i];
        sums s = {0};
        for (size_t k = 0; k < rank->step_count; k++)
            add_step(&s, &facts->steps.items[rank->first_step + k]);
        if (s.count)
            add_bar(report, &report->ranks, bar_of(report, &s, kino__rank_label(report, rank)));
    }
}

/* One bar a step name, in order of first appearance: the average of the ranks. */
static void add_names(kino__report *report, const kino__report_facts *facts)
{
    kino__string_pool names;
    KINO__VEC(sums) all = {0};
    kino__string_pool_init(&names, NULL);
    for (size_t i = 0; i < facts->steps.count; i++) {
        kino_strid id = kino__string_pool_add_borrowed(&names, facts->steps.items[i].name);
        if (id != KINO_NO_STRING && id == all.count) {
            sums *slot = kino__vec_add(&all);
            if (slot)
                *slot = (sums){0};
        }
        if (id < all.count)
            add_step(&all.items[id], &facts->steps.items[i]);
        else
            kino__report_fail(report);
    }
    for (size_t i = 0; i < all.count; i++) {
        kino_str name = kino__string_pool_text(&names, (kino_strid)i);
        add_bar(report, &report->steps,
                bar_of(report, &all.items[i], kino__report_copy(report, name)));
    }
    kino__vec_deinit(&all);
    kino__string_pool_deinit(&names);
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The lower of the two in the middle; sorts. */
static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_times);
    return values[(count - 1) / 2];
}

/* A step that takes clearly longer than the others. */
static void find_slowest(kino__report *report, kino__report_numbers *numbers)
{
    size_t count = report->steps.count, slowest = 0;
    int64_t *times = count > 2 ? malloc(count * sizeof *times) : NULL;
    if (!times)
        return; /* of two, none is the rule */
    for (size_t i = 0; i < count; i++) {
        times[i] = report->steps.items[i].total;
        slowest = times[i] > report->steps.items[slowest].total ? i : slowest;
    }
    const kino__report_bar *bar = &report->steps.items[slowest];
    int64_t median = median_of(times, count);
    free(times);
    if (median <= 0 || bar->total / 6 < median / 5) /* less than 1.2 times */
        return;
    numbers->slowest_step = bar->label;
    numbers->slowest_time = bar->total;
    numbers->median_time = median;
    numbers->slowest = bar->evidence;
}

static void say_note(kino__report *report, const kino__report_facts *facts, bool has_marks)
{
    const char *unit = has_marks ? "step" : "recording";
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < facts->steps.count; i++) {
        int64_t time = facts->steps.items[i].time;
        least = time < least ? time : least;
        most = time > most ? time : most;
    }
    kino__buffer text = {0};
    size_t ranks = facts->ranks.count;
    if (facts->steps.count == 1) {
        kino__buffer_printf(&text, "%s", has_marks ? "one step" : "no steps are marked");
    } else {
        kino__buffer_printf(&text, "mean of %zu %ss", facts->steps.count, unit);
        if (ranks > 1 && has_marks)
            kino__buffer_printf(&text, " on %zu ranks", ranks);
        kino__buffer_add(&text, KINO__STR(", "));
        kino__format_duration(&text, least);
        kino__buffer_add(&text, KINO__STR(" to "));
        kino__format_duration(&text, most);
    }
    report->step_note = kino__report_copy(report, kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

static void add_roles(kino__report *report, const kino__report_facts *facts,
                      kino__report_numbers *numbers)
{
    for (int r = 0; r < KINO__ROLE_COUNT; r++) {
        kino__longest longest = {0};
        for (size_t i = 0; i < facts->ranks.count; i++)
            kino__longest_merge(&longest, &facts->ranks.items[i].longest[r]);
        report->role_evidence[r] = kino__report_evidence(report, longest.id, longest.count);
        numbers->role[r] = report->role_evidence[r];
    }
}

void kino__report_steps(kino__report *report, const kino__report_facts *facts,
                        kino__report_numbers *numbers)
{
    sums all = {0};
    numbers->trace_count = facts->ranks.count;
    numbers->step_count = facts->steps.count;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__rank_fact *rank = &facts->ranks.items[i];
        numbers->has_step_events |= rank->has_step_events;
        numbers->has_device |= rank->has_device;
        numbers->has_work |= rank->has_work;
        numbers->events_used += rank->events_used;
        numbers->range_count += rank->range_count;
        numbers->ranges_time = kino__sum(numbers->ranges_time, rank->ranges_time);
        numbers->ranges_extent = kino__sum(numbers->ranges_extent, rank->ranges_extent);
    }
    for (size_t i = 0; i < facts->steps.count; i++)
        add_step(&all, &facts->steps.items[i]);
    add_roles(report, facts, numbers);
    if (all.count == 0 || all.time <= 0) {
        report->step_note = all.count ? KINO__STR("the steps take no time")
                                      : KINO__STR("no steps, and no operators to derive one from");
        return;
    }
    if (!numbers->has_step_events && numbers->range_count &&
        all.part[KINO__ROLE_OTHER] == all.time) {
        report->step_note = KINO__STR("no steps are marked, and neither operators nor device work "
                                      "were recorded");
        return;
    }
    report->has_step = true;
    report->step = bar_of(report, &all, KINO__STR("step"));
    numbers->step_time = report->step.total;
    numbers->steps = report->step.evidence;
    memcpy(numbers->part, report->step.part, sizeof numbers->part);
    report->step_title = numbers->has_step_events ? "Step time" : "Recorded time";
    say_note(report, facts, numbers->has_step_events);
    add_ranks(report, facts);
    if (numbers->has_step_events)
        add_names(report, facts);
    find_slowest(report, numbers);
}
