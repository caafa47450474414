/* report_say.c - the report's first paragraph: a few sentences by rules, each with the events that
 * its numbers come from.
 *
 * What is worth a sentence: how long a step takes and where it goes (parts of 3 % and more), a step
 * or a rank that stands out, the largest kernel or operator, the peak of memory, what to do first,
 * and whether the trace can be trusted. Nothing is said that the trace does not show. */
#include <stdio.h>

#include "base/json_out.h"
#include "render/units.h"
#include "report/report_internal.h"

/* Parts below this share of the step are left to the legend, in percent. */
static const double least_share = 3;

static void add_sentence(kino__report *report, const kino__buffer *text, kino__id_list evidence)
{
    kino__report_text *slot = kino__vec_add(&report->summary);
    if (!slot || text->failed) {
        kino__report_fail(report);
        return;
    }
    *slot = (kino__report_text){kino__report_copy(report, kino__buffer_str(text)), evidence};
}

/* Events of several parts, at most two each. */
static kino__id_list join(kino__report *report, const kino__report_numbers *n, const int *roles,
                          size_t count)
{
    int64_t ids[KINO__REPORT_ROLES * 2 + 8];
    size_t used = 0;
    for (size_t i = 0; i < n->steps.count && i < 4; i++)
        ids[used++] = n->steps.ids[i];
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < n->role[roles[i]].count && k < 2; k++)
            ids[used++] = n->role[roles[i]].ids[k];
    return kino__report_evidence(report, ids, used);
}

/* -- the step -- */

/* What stands before and behind the share. */
typedef struct phrase {
    const char *before, *after;
} phrase;

static phrase phrase_of(int role, const kino__report_numbers *n)
{
    bool has_work = n->has_work;
    static const phrase with_device[] = {
        [KINO__ROLE_KERNEL] = {"the device computes for ", " of it"},
        [KINO__ROLE_MEMCPY] = {"", " copies memory"},
        [KINO__ROLE_MEMSET] = {"", " sets memory"},
        [KINO__ROLE_COMMUNICATION] = {"", " is exposed communication"},
        [KINO__ROLE_RUNTIME] = {"", " is driver calls while the device is idle"},
        [KINO__ROLE_LOADER] = {"", " waits for the data loader"},
        [KINO__ROLE_CPU] = {"", " is host work while the device is idle"},
        [KINO__ROLE_OTHER] = {"in ", " neither operators nor device work run"},
    };
    if (!has_work && role == KINO__ROLE_CPU)
        return (phrase){"operators on the CPU take ", " of it"};
    if (!has_work && role == KINO__ROLE_COMMUNICATION)
        return (phrase){"", " is communication"};
    if (!has_work && role == KINO__ROLE_OTHER)
        return (phrase){"in ", " no operator runs"};
    if (!has_work && role == KINO__ROLE_RUNTIME)
        return (phrase){"", " is calls into the device's driver"};
    return with_device[role];
}

/* The main part first, then the others by size. */
static size_t order_roles(const kino__report_numbers *n, int *roles)
{
    int main_role = n->has_work ? KINO__ROLE_KERNEL : KINO__ROLE_CPU;
    size_t count = 0;
    bool has_main = n->part[main_role] > 0;
    if (has_main)
        roles[count++] = main_role;
    for (int r = 0; r < KINO__REPORT_ROLES; r++) {
        if (r == main_role || kino__share_percent(n->part[r], n->step_time) < least_share)
            continue;
        size_t at = count++;
        for (; at > (size_t)has_main && n->part[roles[at - 1]] < n->part[r]; at--)
            roles[at] = roles[at - 1];
        roles[at] = r;
    }
    return count;
}

static void say_step(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    int roles[KINO__REPORT_ROLES];
    if (!n->has_step_events) {
        kino__buffer_add(text, KINO__STR("No steps are marked. From the first to the last operator "
                                         "or kernel, the trace takes "));
    } else {
        kino__buffer_add(text, KINO__STR("A step takes "));
    }
    kino__format_duration(text, n->step_time);
    if (n->trace_count > 1)
        kino__buffer_printf(text, " (mean of %zu ranks)", n->trace_count);
    size_t count = order_roles(n, roles);
    for (size_t i = 0; i < count; i++) {
        kino__buffer_add(text, i == 0           ? KINO__STR(": ")
                               : i + 1 == count ? KINO__STR(" and ")
                                                : KINO__STR(", "));
        phrase p = phrase_of(roles[i], n);
        kino__buffer_printf(text, "%s%.1f %%%s", p.before,
                            kino__share_percent(n->part[roles[i]], n->step_time), p.after);
    }
    kino__buffer_add(text, KINO__STR("."));
    add_sentence(report, text, join(report, n, roles, count));
}

/* -- what stands out -- */

static void say_slowest(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    if (n->slowest_step.size == 0)
        return;
    kino__buffer_add(text, KINO__STR("Step "));
    kino__format_text(text, n->slowest_step);
    kino__buffer_add(text, KINO__STR(" stands out with "));
    kino__format_duration(text, n->slowest_time);
    kino__buffer_printf(text, ", %.1f times the median.",
                        (double)n->slowest_time / (double)n->median_time);
    add_sentence(report, text, n->slowest);
}

/* A sentence of a finding's lower-case text. */
static void add_capital(kino__buffer *text, kino_str from)
{
    kino__buffer clean = {0};
    kino__format_text(&clean, from);
    if (clean.size && clean.data[0] >= 'a' && clean.data[0] <= 'z')
        clean.data[0] = (char)(clean.data[0] - 'a' + 'A');
    kino__buffer_add(text, kino__buffer_str(&clean));
    text->failed |= clean.failed;
    kino__buffer_deinit(&clean);
}

/* Only a rank that keeps the others waiting is named; who does is decided once, by the rule. */
static void say_ranks(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    if (n->slow_title.size == 0)
        return;
    add_capital(text, n->slow_title);
    kino__buffer_add(text, KINO__STR(": "));
    kino__format_text(text, n->slow_seen);
    kino__buffer_add(text, KINO__STR("."));
    add_sentence(report, text, n->slow_evidence);
}

enum { NAME_WIDTH = 48 };

static void say_largest(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    bool is_kernel = n->kernel.size > 0;
    kino_str name = is_kernel ? n->kernel : n->op;
    double percent = is_kernel ? n->kernel_percent : n->op_percent;
    kino__buffer clean = {0};
    bool is_small = !is_kernel && kino__share_percent(n->part[KINO__ROLE_CPU], n->step_time) < 1;
    if (name.size == 0 || !(percent > 0) || (!is_kernel && n->has_device) || is_small)
        return;
    kino__format_text(&clean, name);
    kino__buffer_printf(text, "The largest %s, ", is_kernel ? "kernel" : "operator");
    kino__format_shortened(text, kino__buffer_str(&clean), NAME_WIDTH);
    kino__buffer_printf(text, ", takes %.1f %% of the %s time.", percent,
                        is_kernel ? "kernels'" : "operators' self");
    text->failed |= clean.failed;
    kino__buffer_deinit(&clean);
    add_sentence(report, text, is_kernel ? n->kernel_evidence : n->op_evidence);
}

static void say_function(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    kino__buffer clean = {0};
    if (n->function.size == 0 || !(n->function_percent > 0))
        return;
    kino__format_text(&clean, n->function);
    kino__format_shortened(text, kino__buffer_str(&clean), NAME_WIDTH);
    kino__buffer_printf(text, " has the most self time: %.1f %% of the CPU time.",
                        n->function_percent);
    text->failed |= clean.failed;
    kino__buffer_deinit(&clean);
    add_sentence(report, text, (kino__id_list){NULL, 0});
}

static void say_memory(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    if (n->memory_device.size == 0)
        return;
    kino__buffer_add(text, KINO__STR("Memory peaks at "));
    kino__format_bytes(text, n->memory_peak);
    kino__buffer_add(text, KINO__STR(" on "));
    kino__format_text(text, n->memory_device);
    if (n->memory_total != KINO_NO_INT && n->memory_total > 0) {
        kino__buffer_printf(text, ", %.1f %% of its ",
                            kino__share_percent(n->memory_peak, n->memory_total));
        kino__format_bytes(text, n->memory_total);
    }
    if (kino__str_is(n->memory_device, "CPU")) /* PyTorch knows what the host allocates only then */
        kino__buffer_add(text, KINO__STR(", relative to the start of the profiler"));
    kino__buffer_add(text, KINO__STR("."));
    add_sentence(report, text, n->memory_evidence);
}

/* -- what to do, and what to trust -- */

static void say_advice(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    if (n->advice.size == 0)
        return;
    kino__buffer_add(text,
                     n->advice_is_slow ? KINO__STR("Start with: why ") : KINO__STR("Start with: "));
    kino__format_text(text, n->advice);
    if (kino__report_has_gain(n->advice_gain)) {
        kino__buffer_printf(text, " (could save up to %.1f %% of ", n->advice_gain);
        kino__format_text(text, n->advice_whose.size ? n->advice_whose
                                : n->has_step_events ? KINO__STR("the step")
                                                     : KINO__STR("the recorded time"));
        kino__buffer_add(text, KINO__STR(")"));
    }
    kino__buffer_add(text, KINO__STR("."));
    add_sentence(report, text, n->advice_evidence);
}

static void say_trust(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    static const struct {
        const char *one, *more;
    } words[] = {{"loss", "losses"}, {"damage", "damages"}, {"warning", "warnings"}};
    const int64_t counts[] = {n->losses, n->damages, n->warnings};
    if (n->losses == KINO_NO_INT || n->losses + n->damages + n->warnings == 0)
        return;
    kino__buffer_add(text, n->losses ? KINO__STR("The recording is incomplete")
                                     : KINO__STR("The recording is partly inconsistent"));
    const char *separator = " (";
    for (int i = 0; i < 3; i++) {
        if (counts[i] == 0)
            continue;
        kino__buffer_printf(text, "%s%lld %s", separator, (long long)counts[i],
                            counts[i] == 1 ? words[i].one : words[i].more);
        separator = ", ";
    }
    kino__buffer_add(text, KINO__STR("): for details, run kino check."));
    add_sentence(report, text, (kino__id_list){NULL, 0});
}

/* "Ranges cover 93.1 % of the 232 ms from the first to the last." */
static void say_ranges(const kino__report_numbers *n, kino__buffer *text)
{
    kino__buffer_add(text, KINO__STR("The trace contains no operators, kernels or calls"));
    if (n->ranges_extent > 0) {
        kino__buffer_printf(text, "; ranges cover %.1f %% of the ",
                            kino__share_percent(n->ranges_time, n->ranges_extent));
        if (n->trace_count == 1)
            kino__format_duration(text, n->ranges_extent);
        else
            kino__buffer_printf(text, "time of %zu traces", n->trace_count);
        kino__buffer_add(text, KINO__STR(" from the first to the last range"));
    }
    kino__buffer_add(text, n->has_samples ? KINO__STR(", and CPU samples show where the time went.")
                                          : KINO__STR("."));
}

static void say_nothing(kino__report *report, const kino__report_numbers *n, kino__buffer *text)
{
    if (n->range_count && !n->has_device && !n->has_step_events)
        say_ranges(n, text);
    else if (n->events_used == 0 && n->has_samples)
        kino__buffer_add(text, KINO__STR("The trace contains no operators, kernels or calls; CPU "
                                         "samples show where the time went."));
    else if (n->events_used == 0)
        kino__buffer_add(
            text,
            KINO__STR("The trace contains no operators, kernels or calls: nothing to report."));
    else if (n->has_device)
        kino__buffer_add(text,
                         KINO__STR("The trace contains neither steps nor operators, so there is no "
                                   "step time; the tables below show what was recorded."));
    else
        kino__buffer_add(text, KINO__STR("There is no step time: the trace contains neither steps "
                                         "nor operators that take time."));
    add_sentence(report, text, (kino__id_list){NULL, 0});
}

void kino__report_say(kino__report *report, const kino__report_numbers *numbers)
{
    static void (*const rules[])(kino__report *, const kino__report_numbers *, kino__buffer *) = {
        say_slowest, say_ranks, say_largest, say_function, say_memory, say_advice, say_trust};
    kino__buffer text = {0};
    if (numbers->step_time == KINO_NO_INT)
        say_nothing(report, numbers, &text);
    else
        say_step(report, numbers, &text);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        text.size = 0;
        rules[i](report, numbers, &text);
    }
    kino__buffer_deinit(&text);
}
