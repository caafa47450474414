/* report_head.c - what ran: devices, ranks, steps, host, software, and how much was recorded. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/units.h"
#include "report/info.h"
#include "report/report_internal.h"
#include "store/args.h"

static void add_fact(kino__report *report, const char *name, const char *title,
                     const kino__buffer *text)
{
    if (text->size == 0)
        return;
    kino__report_fact *slot = kino__vec_add(&report->facts);
    if (!slot || text->failed) {
        kino__report_fail(report);
        return;
    }
    *slot = (kino__report_fact){name, title, kino__report_copy(report, kino__buffer_str(text))};
}

/* -- devices: equal ones counted -- */

typedef struct device_kind {
    kino_str name;
    int64_t memory;
    size_t count;
} device_kind;

typedef KINO__VEC(device_kind) device_kinds;

static kino_str properties_of(const kino__trace *trace, int64_t device)
{
    enum { MOST_DEVICES = 4096 };
    kino_str list = kino__trace_metadata(trace, "deviceProperties"), object;
    int64_t id;
    for (size_t i = 0; i < MOST_DEVICES && kino__json_object_at(list, i, &object); i++)
        if (kino__json_to_int(kino__args_find(object, KINO__STR("id")), &id) && id == device)
            return object;
    return (kino_str){"", 0};
}

static void count_device(kino__report *report, device_kinds *kinds, kino_str properties)
{
    kino__buffer name = {0};
    int64_t memory = KINO_NO_INT;
    if (properties.size) {
        kino_str text = kino__args_find(properties, KINO__STR("name"));
        kino_str size = kino__args_find(properties, KINO__STR("totalGlobalMem"));
        if (text.size)
            kino__json_unescape(text, &name);
        if (!size.size || !kino__json_to_int(size, &memory))
            memory = KINO_NO_INT;
    }
    device_kind *found = NULL;
    for (size_t i = 0; i < kinds->count && !found; i++)
        if (kino__str_equal(kinds->items[i].name, kino__buffer_str(&name)) &&
            kinds->items[i].memory == memory)
            found = &kinds->items[i];
    if (!found && (found = kino__vec_add(kinds)))
        *found = (device_kind){kino__report_copy(report, kino__buffer_str(&name)), memory, 0};
    if (found)
        found->count++;
    else
        kino__report_fail(report);
    kino__buffer_deinit(&name);
}

/* Each device that a trace used, once. */
static void count_devices(kino__report *report, device_kinds *kinds, const kino__trace *trace)
{
    enum { MOST_SEEN = 256 };
    int64_t seen[MOST_SEEN];
    size_t count = 0;
    for (size_t i = 0; i < trace->tracks.count && count < MOST_SEEN; i++) {
        const kino__track *track = &trace->tracks.items[i];
        bool is_new = track->kind == KINO__TRACK_DEVICE && track->device != KINO_NO_INT;
        for (size_t k = 0; k < count && is_new; k++)
            is_new = seen[k] != track->device;
        if (!is_new)
            continue;
        seen[count++] = track->device;
        count_device(report, kinds, properties_of(trace, track->device));
    }
}

static void add_devices(kino__report *report, const kino_run *run, const kino__report_facts *facts,
                        kino__buffer *text)
{
    device_kinds kinds = {0};
    for (size_t i = 0; i < run->run.traces.count; i++)
        count_devices(report, &kinds, run->run.traces.items[i]);
    for (size_t i = 0; i < kinds.count; i++) {
        const device_kind *kind = &kinds.items[i];
        kino__buffer_printf(text, "%s", i ? ", " : "");
        if (kind->count > 1)
            kino__buffer_printf(text, "%zu × ", kind->count);
        if (kind->name.size)
            kino__format_text(text, kind->name);
        else
            kino__buffer_add(text, KINO__STR("device without a name"));
        if (kind->memory != KINO_NO_INT) {
            kino__buffer_add(text, KINO__STR(", "));
            kino__format_bytes(text, kind->memory);
        }
    }
    bool is_used = false, is_called = false;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        is_used |= facts->ranks.items[i].events_used > 0;
        is_called |= facts->ranks.items[i].has_device;
    }
    if (kinds.count == 0)
        kino__buffer_add(text, is_called ? KINO__STR("called by the host, no work recorded")
                               : is_used ? KINO__STR("CPU only")
                                         : KINO__STR("none active"));
    kino__vec_deinit(&kinds);
}

/* -- ranks and steps -- */

/* "0-3, 7": numbers in order. */
static void add_ranges(kino__buffer *text, const kino__report_facts *facts)
{
    size_t count = facts->ranks.count;
    const kino__rank_fact *ranks = facts->ranks.items;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && ranks[end].rank == ranks[end - 1].rank + 1)
            end++;
        kino__buffer_printf(text, "%s%" PRId64, i ? ", " : "", ranks[i].rank);
        if (end - i > 1)
            kino__buffer_printf(text, "%s%" PRId64, end - i > 2 ? "–" : ", ", ranks[end - 1].rank);
        i = end;
    }
}

static void add_ranks(const kino_run *run, const kino__report_facts *facts, kino__buffer *text)
{
    size_t count = facts->ranks.count, known = 0;
    int64_t world = KINO_NO_INT;
    for (size_t i = 0; i < count; i++) {
        known += facts->ranks.items[i].rank != KINO_NO_INT;
        int64_t size = run->run.traces.items[i]->world_size;
        world = size != KINO_NO_INT ? size : world;
    }
    if (count == 1 && known == 0) {
        kino__buffer_add(text, KINO__STR("not recorded"));
    } else if (known < count) {
        kino__buffer_printf(text, "%zu traces, %s", count,
                            known ? "some ranks unknown" : "ranks unknown");
    } else {
        bool is_part = world != KINO_NO_INT && world != (int64_t)count;
        if (is_part && count == 1) {
            add_ranges(text, facts);
            kino__buffer_printf(text, ", the only trace of %" PRId64 " ranks", world);
            return;
        }
        if (is_part)
            kino__buffer_printf(text, "%zu of %" PRId64 " (", count, world);
        else if (count > 1)
            kino__buffer_printf(text, "%zu (", count);
        add_ranges(text, facts);
        kino__buffer_add(text, is_part || count > 1 ? KINO__STR(")") : KINO__STR(""));
    }
}

static void add_step_names(const kino__report_facts *facts, kino__buffer *text)
{
    size_t least = SIZE_MAX, most = 0, with_events = 0, cut = 0;
    for (size_t i = 0; i < facts->ranks.count; i++) {
        const kino__rank_fact *rank = &facts->ranks.items[i];
        least = rank->step_count < least ? rank->step_count : least;
        most = rank->step_count > most ? rank->step_count : most;
        with_events += rank->has_step_events;
        cut += rank->steps_cut;
    }
    if (with_events == 0) {
        kino__buffer_add(text, KINO__STR("none marked (no ProfilerStep#N)"));
        return;
    }
    if (least == most)
        kino__buffer_printf(text, "%zu%s", most, facts->ranks.count > 1 ? " per rank" : "");
    else
        kino__buffer_printf(text, "%zu to %zu per rank", least, most);
    if (facts->steps.count && least == most) {
        const kino__rank_fact *rank = &facts->ranks.items[0];
        kino_str first = facts->steps.items[rank->first_step].name;
        kino_str last = facts->steps.items[rank->first_step + rank->step_count - 1].name;
        kino__buffer_add(text, KINO__STR(" (#"));
        kino__format_text(text, first);
        if (rank->step_count > 1) {
            kino__buffer_add(text, KINO__STR("–"));
            kino__format_text(text, last);
        }
        kino__buffer_add(text, KINO__STR(")"));
    }
    for (size_t i = 0; i < facts->ranks.count; i++)
        if (facts->ranks.items[i].has_step_events &&
            facts->ranks.items[i].step_source != KINO__STEP_MARKED) {
            kino__buffer_printf(text, ", from %s",
                                kino__step_source_word(facts->ranks.items[i].step_source));
            break;
        }
    if (cut)
        kino__buffer_printf(text, ", %zu at the end left out: incomplete", cut);
}

/* -- the rest -- */

static void add_hosts(const kino_run *run, kino__buffer *text)
{
    enum { MOST_HOSTS = 4 };
    kino_str seen[MOST_HOSTS];
    size_t count = 0, more = 0;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        kino_str host = run->run.traces.items[i]->host;
        bool is_new = host.size > 0;
        for (size_t k = 0; k < count && is_new; k++)
            is_new = !kino__str_equal(seen[k], host);
        if (is_new && count < MOST_HOSTS)
            seen[count++] = host;
        else if (is_new)
            more++;
    }
    for (size_t i = 0; i < count; i++) {
        kino__buffer_add(text, i ? KINO__STR(", ") : KINO__STR(""));
        kino__format_text(text, seen[i]);
    }
    if (more)
        kino__buffer_add(text, KINO__STR(" and more"));
}

static void add_recorded(const kino_run *run, const kino__report_facts *facts, kino__buffer *text)
{
    uint64_t bytes = 0, events = 0;
    int64_t start = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        const kino__rank_fact *rank = &facts->ranks.items[i];
        bytes += trace->text_bytes;
        events += trace->event_count;
        if (rank->window_start != KINO_NO_TIME) {
            start = rank->window_start < start ? rank->window_start : start;
            end = rank->window_end > end ? rank->window_end : end;
        }
    }
    kino__format_count(text, (int64_t)events);
    kino__buffer_add(text, events == 1 ? KINO__STR(" event, ") : KINO__STR(" events, "));
    kino__format_bytes(text, (int64_t)bytes);
    int64_t length;
    if (start != INT64_MAX && !__builtin_sub_overflow(end, start, &length) && length > 0) {
        kino__buffer_add(text, KINO__STR(", "));
        kino__format_duration(text, length);
    }
}

void kino__report_head(kino__report *report, const kino_run *run, const kino__report_facts *facts)
{
    const kino__trace *first = run->run.traces.count ? run->run.traces.items[0] : NULL;
    kino__buffer text = {0};
    if (!first || facts->ranks.count != run->run.traces.count)
        return;
    add_devices(report, run, facts, &text);
    add_fact(report, "devices", "Devices", &text);
    text.size = 0;
    add_ranks(run, facts, &text);
    add_fact(report, "ranks", facts->ranks.count == 1 ? "Rank" : "Ranks", &text);
    text.size = 0;
    add_step_names(facts, &text);
    add_fact(report, "steps", "Steps", &text);
    text.size = 0;
    add_hosts(run, &text);
    add_fact(report, "host", "Host", &text);
    text.size = 0;
    kino__describe_software(first, &text);
    add_fact(report, "software", "Software", &text);
    text.size = 0;
    kino__describe_profiler(first, &text);
    add_fact(report, "profiler", "Recorded with", &text);
    text.size = 0;
    add_recorded(run, facts, &text);
    add_fact(report, "recorded", "Recorded", &text);
    kino__buffer_deinit(&text);
}
