/* thresholds.c - reading thresholds that the user sets. */
#include "rule/thresholds.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

typedef struct item {
    kino_str all, rule, name, value;
} item;

/* Cuts the next item off; false at the end. Missing parts are empty. */
static bool next_item(kino_str *set, item *out)
{
    if (set->size == 0)
        return false;
    const char *comma = memchr(set->data, ',', set->size);
    kino_str all = {set->data, comma ? (size_t)(comma - set->data) : set->size};
    *set = comma ? (kino_str){comma + 1, set->size - all.size - 1} : (kino_str){"", 0};
    *out = (item){.all = all, .rule = {"", 0}, .name = {"", 0}, .value = {"", 0}};
    const char *equals = memchr(all.data, '=', all.size);
    kino_str key = {all.data, equals ? (size_t)(equals - all.data) : all.size};
    if (equals)
        out->value = (kino_str){equals + 1, all.size - key.size - 1};
    const char *dot = memchr(key.data, '.', key.size);
    out->rule = (kino_str){key.data, dot ? (size_t)(dot - key.data) : key.size};
    if (dot)
        out->name = (kino_str){dot + 1, key.size - out->rule.size - 1};
    return true;
}

static bool to_number(kino_str text, double *out)
{
    char number[40], *end;
    if (text.size == 0 || text.size >= sizeof number)
        return false;
    memcpy(number, text.data, text.size);
    number[text.size] = 0;
    *out = strtod(number, &end);
    return *end == 0 && end != number && isfinite(*out);
}

static const kino__rule_def *find_rule(kino_str name)
{
    const kino__rule_def *rule;
    for (size_t i = 0; (rule = kino__rule_at(i)); i++)
        if (kino__str_is(name, rule->name))
            return rule;
    return NULL;
}

static bool has_threshold(const kino__rule_def *rule, kino_str name)
{
    for (size_t i = 0; rule->thresholds && rule->thresholds[i].name; i++)
        if (kino__str_is(name, rule->thresholds[i].name))
            return true;
    return false;
}

static kino_status fail_name(const kino__rule_def *rule, const item *it, kino_error *err)
{
    kino__buffer names = {0};
    for (size_t i = 0; rule->thresholds && rule->thresholds[i].name; i++)
        kino__buffer_printf(&names, "%s%s=%g", i ? ", " : "", rule->thresholds[i].name,
                            rule->thresholds[i].value);
    kino_str list = kino__buffer_str(&names);
    kino_status st =
        list.size ? kino__fail(err, KINO_ARGUMENT,
                               "rule '%s' has no threshold '%.*s' (known, with defaults: %.*s)",
                               rule->name, KINO__STR_ARG(it->name), KINO__STR_ARG(list))
                  : kino__fail(err, KINO_ARGUMENT, "rule '%s' has no thresholds", rule->name);
    kino__buffer_deinit(&names);
    return st;
}

kino_status kino__thresholds_check(kino_str set, kino_error *err)
{
    item it;
    double number;
    while (next_item(&set, &it)) {
        const kino__rule_def *rule = find_rule(it.rule);
        if (it.value.size == 0 || it.name.size == 0)
            return kino__fail(err, KINO_ARGUMENT,
                              "invalid threshold '%.*s' (expected: rule.name=number, such as "
                              "data-loading.share=0.1)",
                              KINO__STR_ARG(it.all));
        if (!rule)
            return kino__fail(
                err, KINO_ARGUMENT,
                "unknown rule '%.*s' (see 'kino analyze recommendations --help' for the rules)",
                KINO__STR_ARG(it.rule));
        if (!has_threshold(rule, it.name))
            return fail_name(rule, &it, err);
        if (!to_number(it.value, &number))
            return kino__fail(err, KINO_ARGUMENT,
                              "invalid threshold '%.*s': '%.*s' is not a number",
                              KINO__STR_ARG(it.all), KINO__STR_ARG(it.value));
    }
    return KINO_OK;
}

double kino__threshold_of(kino_str set, const kino__rule_def *rule,
                          const kino__threshold *threshold)
{
    double value = threshold->value, number;
    item it;
    while (next_item(&set, &it))
        if (kino__str_is(it.rule, rule->name) && kino__str_is(it.name, threshold->name) &&
            to_number(it.value, &number))
            value = number;
    return value;
}
