/* rule.c - the list of rules, and writing findings. */
#include "rule/rule.h"

#include <stdarg.h>
#include <stdio.h>

static const kino__rule_def *const rules[] = {
#define RULE(name) &kino__rule_##name,
#include "rule/rules.def"
#undef RULE
    NULL,
};

const kino__rule_def *kino__rule_at(size_t index)
{
    return index < sizeof rules / sizeof *rules ? rules[index] : NULL;
}

kino__finding *kino__finding_add(kino__findings *findings, kino__severity severity, int64_t gain)
{
    static _Thread_local kino__finding nowhere;
    kino__finding *f = kino__vec_add(&findings->items);
    if (!f) {
        findings->failed = true;
        f = &nowhere;
    }
    *f = (kino__finding){.rule = findings->rule,
                         .severity = severity,
                         .rank = findings->rank,
                         .trace = findings->trace,
                         .gain = gain,
                         .step_time = findings->step_time};
    for (int i = 0; i < KINO__SAY_COUNT; i++)
        f->say[i] = KINO__STR("");
    return f;
}

/* What was measured, where no steps are marked: the recorded time stands for a step. */
static kino_str say_recorded(kino__arena *arena, kino_str text)
{
    static const struct {
        kino_str step, recorded;
    } words[] = {{KINO__STR(" per step"), KINO__STR("")},
                 {KINO__STR(" inside the step"), KINO__STR("")},
                 {KINO__STR("the step time"), KINO__STR("the recorded time")},
                 {KINO__STR("of the step time"), KINO__STR("of the recorded time")},
                 {KINO__STR("of the step"), KINO__STR("of the recorded time")}};
    kino__buffer out = {0};
    for (size_t at = 0; at < text.size;) {
        size_t longest = 0, best = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            kino_str rest = {text.data + at, text.size - at};
            if (words[i].step.size > longest && kino__str_starts_with(rest, words[i].step)) {
                longest = words[i].step.size;
                best = i;
            }
        }
        kino__buffer_add(&out, longest ? words[best].recorded : (kino_str){text.data + at, 1});
        at += longest ? longest : 1;
    }
    kino_str copy =
        out.failed ? (kino_str){NULL, 0} : kino__arena_copy(arena, kino__buffer_str(&out));
    kino__buffer_deinit(&out);
    return copy;
}

void kino__finding_say(kino__findings *findings, kino__finding *finding, kino__say what,
                       const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    size_t length = size < 0 ? 0 : (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
    kino_str said = {text, length};
    bool is_measured = what == KINO__SAY_TITLE || what == KINO__SAY_SEEN;
    kino_str copy = findings->has_no_steps && is_measured
                        ? say_recorded(&findings->arena, said)
                        : kino__arena_copy(&findings->arena, said);
    if (copy.data)
        finding->say[what] = copy;
    else
        findings->failed = true;
}

void kino__finding_cite(kino__finding *finding, int64_t event_id)
{
    if (finding->evidence_count < KINO__EVIDENCE_MAX && event_id != KINO_NO_INT)
        finding->evidence[finding->evidence_count++] = event_id;
}

const char *kino__severity_name(uint32_t severity)
{
    static const char *const names[] = {"high", "medium", "low", "info"};
    return names[severity];
}

kino__severity kino__severity_of(int64_t gain, int64_t step_time)
{
    if (gain == KINO_NO_INT || !kino__is_above(gain, step_time, 0.05))
        return KINO__SEVERITY_LOW;
    return kino__is_above(gain, step_time, 0.2) ? KINO__SEVERITY_HIGH : KINO__SEVERITY_MEDIUM;
}

/* -- texts */

size_t kino__cut(kino_str text, size_t size)
{
    if (text.size <= size)
        return text.size;
    while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    return size;
}

const char *kino__say_name(const kino__trace *trace, uint32_t row)
{
    enum { NAMES = 4, NAME_SIZE = 96 };
    static _Thread_local char names[NAMES][NAME_SIZE];
    static _Thread_local unsigned turn;
    char *text = names[turn++ % NAMES];
    kino_str name = trace->name[row] == KINO_NO_STRING
                        ? KINO__STR("(no name)")
                        : kino__trace_string(trace, trace->name[row]);
    size_t size = kino__cut(name, NAME_SIZE - 4);
    (void)snprintf(text, NAME_SIZE, "%.*s%s", (int)size, name.data, size < name.size ? "..." : "");
    return text;
}
