/* params.c - parameters of analyses: from text to values, with an error that says what would fit.
 *
 * Everything that runs an analysis (command line, SQL, programs) hands over text, so that one place
 * knows what "30us" means. */
#include <math.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "base/error.h"
#include "store/args.h"

/* -- the list of parameters -- */

static size_t declared_count(const kino__analysis_def *def)
{
    size_t count = 0;
    while (def->params && def->params[count].name)
        count++;
    return count;
}

static const kino_param_info compat_info = {
    "compat", KINO_TYPE_STRING, NULL,
    "reproduce the numbers of a reference implementation, including its defects", NULL};
static const kino_param_info steps_info = {"steps", KINO_TYPE_STRING, NULL,
                                           "use only these profiler steps: 5 or 3-7", NULL};

bool kino__analysis_param(const kino__analysis_def *def, size_t index, kino_param_info *out)
{
    size_t declared = declared_count(def);
    if (index < declared)
        *out = def->params[index];
    else if (def->compat && index == declared)
        *out = compat_info;
    else if (def->takes_steps && index == declared + (def->compat != NULL))
        *out = steps_info;
    else
        return false;
    return true;
}

/* "num-kernels" is "num_kernels". */
static bool is_name(const char *given, const char *name)
{
    while (*given && (*given == '-' ? '_' : *given) == *name)
        given++, name++;
    return !*given && !*name;
}

static bool find_param(const kino__analysis_def *def, const char *given, size_t *index,
                       kino_param_info *info)
{
    for (*index = 0; kino__analysis_param(def, *index, info); ++*index)
        if (is_name(given, info->name))
            return true;
    return false;
}

static kino_status fail_unknown(const kino__analysis_def *def, const char *given, kino_error *err)
{
    kino_param_info info;
    char list[160] = "";
    size_t used = 0;
    for (size_t i = 0; kino__analysis_param(def, i, &info); i++) {
        int size = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", info.name);
        if (size < 0 || used + (size_t)size >= sizeof list)
            break;
        used += (size_t)size;
    }
    if (!used)
        return kino__fail(err, KINO_ARGUMENT, "analysis '%s' has no parameter '%s' (it has none)",
                          def->name, given);
    return kino__fail(err, KINO_ARGUMENT, "analysis '%s' has no parameter '%s' (known: %s)",
                      def->name, given, list);
}

/* -- values -- */

typedef struct unit {
    const char *name;
    int64_t factor;
} unit;

static const unit durations[] = {{"ns", 1},       {"us", 1000},      {"\xc2\xb5s", 1000},
                                 {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
static const unit sizes[] = {
    {"KiB", 1 << 10}, {"MiB", 1 << 20},   {"GiB", 1 << 30},      {"kB", 1000}, {"KB", 1000},
    {"MB", 1000000},  {"GB", 1000000000}, {"TB", 1000000000000}, {"B", 1},     {NULL, 0}};

/* A decimal number and an optional unit, as a whole number of the smallest; false when it is
 * anything else, has a part below that, or does not fit. */
static bool parse_units(kino_str text, const unit *units, int64_t *out)
{
    int64_t factor = 1;
    for (; units->name; units++) {
        kino_str name = kino__str_from(units->name);
        if (text.size > name.size && kino__str_ends_with(text, name)) {
            factor = units->factor;
            text.size -= name.size;
            break;
        }
    }
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    bool is_negative = text.size && text.data[0] == '-', has_point = false;
    size_t digits = 0;
    __int128 value = 0, scale = 1;
    for (size_t i = is_negative; i < text.size; i++) {
        char c = text.data[i];
        if (c == '.' && !has_point && i + 1 < text.size) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9' || ++digits > 19)
            return false;
        value = value * 10 + (c - '0');
        scale *= has_point ? 10 : 1;
    }
    value *= factor;
    if (!digits || value % scale || value / scale > INT64_MAX)
        return false;
    *out = is_negative ? -(int64_t)(value / scale) : (int64_t)(value / scale);
    return true;
}

static bool parse_bool(kino_str text, int64_t *out)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1", NULL};
    for (size_t i = 0; words[i]; i++) {
        if (kino__str_is(text, words[i])) {
            *out = (int64_t)(i & 1);
            return true;
        }
    }
    return false;
}

static bool parse_real(kino_str text, double *out)
{
    return kino__json_to_double(text, out) && isfinite(*out);
}

static bool is_choice(const char *choices, kino_str text)
{
    while (*choices) {
        size_t size = strcspn(choices, "|");
        if (kino__str_equal(text, (kino_str){choices, size}))
            return true;
        choices += size + (choices[size] == '|');
    }
    return false;
}

/* What the type expects, for messages; NULL when the text fits. */
static const char *parse_value(const kino_param_info *info, kino_str text, kino_cell *out)
{
    int64_t integer = 0;
    double real = 0;
    switch (info->type) {
    case KINO_TYPE_INT:
        *out = kino__cell_int(integer);
        return kino__str_to_int(text, &out->value.integer) ? NULL : "a whole number";
    case KINO_TYPE_BOOL:
        if (!parse_bool(text, &integer))
            return "yes or no";
        *out = kino__cell_int(integer);
        return NULL;
    case KINO_TYPE_DURATION:
    case KINO_TYPE_TIME:
        if (!parse_units(text, durations, &integer))
            return "a time such as 30us, 1.5ms or 2s; a plain number is in ns";
        *out = kino__cell_int(integer);
        return NULL;
    case KINO_TYPE_BYTES:
        if (!parse_units(text, sizes, &integer))
            return "a size such as 4096, 200MB or 1GiB";
        *out = kino__cell_int(integer);
        return NULL;
    case KINO_TYPE_PERCENT:
        if (text.size && text.data[text.size - 1] == '%')
            text.size--;
        if (!parse_real(text, &real))
            return "a percentage such as 5 or 2.5%";
        *out = kino__cell_real(real);
        return NULL;
    case KINO_TYPE_FLOAT:
        if (!parse_real(text, &real))
            return "a number such as 0.8";
        *out = kino__cell_real(real);
        return NULL;
    default:
        *out = kino__cell_text(text);
        if (!info->choices || is_choice(info->choices, text))
            return NULL;
        return info->choices;
    }
}

/* "5" or "3-7" */
static bool parse_steps(kino__analysis *a, kino_str text)
{
    const char *dash = text.size ? memchr(text.data, '-', text.size) : NULL;
    kino_str low = {text.data, dash ? (size_t)(dash - text.data) : text.size};
    kino_str high = dash ? (kino_str){dash + 1, text.size - low.size - 1} : low;
    return kino__str_to_int(low, &a->first_step) && kino__str_to_int(high, &a->last_step) &&
           a->first_step >= 0 && a->first_step <= a->last_step;
}

static kino_status fail_compat(const kino__analysis_def *def, const char *value, kino_error *err)
{
    char list[120] = "";
    size_t used = 0;
    for (size_t i = 0; def->compat[i] && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 def->compat[i]);
    return kino__fail(err, KINO_ARGUMENT,
                      "invalid value '%s' for parameter 'compat' of '%s' (expected: %s)", value,
                      def->name, list);
}

static kino_status set_common(kino__analysis *a, const kino_param *given, kino_error *err)
{
    if (is_name(given->name, "steps")) {
        a->steps = kino__arena_copy(&a->arena, kino__str_from(given->value)).data;
        if (!a->steps)
            return kino__fail_nomem(err);
        if (parse_steps(a, kino__str_from(a->steps)))
            return KINO_OK;
        return kino__fail(err, KINO_ARGUMENT,
                          "invalid value '%s' for parameter 'steps' of '%s' (expected: a step or a "
                          "range such as 5 or 3-7)",
                          given->value, a->def->name);
    }
    for (const char *const *name = a->def->compat; *name; name++) {
        if (strcmp(*name, given->value) == 0) {
            a->compat = *name;
            return KINO_OK;
        }
    }
    return fail_compat(a->def, given->value, err);
}

static kino_status set_declared(kino__analysis *a, const kino_param_info *info, const char *text,
                                kino_cell *slot, kino_error *err)
{
    kino_str copy = kino__arena_copy(&a->arena, kino__str_from(text));
    if (!copy.data)
        return kino__fail_nomem(err);
    const char *expected = parse_value(info, copy, slot);
    if (!expected)
        return KINO_OK;
    return kino__fail(err, KINO_ARGUMENT,
                      "invalid value '%s' for parameter '%s' of '%s' (expected: %s)", text,
                      info->name, a->def->name, expected);
}

/* Reference implementations leave out the last step unless they are told otherwise; we do not. */
static void set_reference_default(kino__analysis *a, kino_cell *values, const kino_param *given,
                                  size_t count)
{
    size_t index;
    kino_param_info info;
    if (!a->compat || !find_param(a->def, "include_last_step", &index, &info))
        return;
    for (size_t i = 0; i < count; i++)
        if (is_name(given[i].name, info.name))
            return;
    values[index] = kino__cell_int(0);
}

kino_status kino__analysis_init(kino__analysis *a, const kino__analysis_def *def,
                                const kino_param *given, size_t count, kino_error *err)
{
    *a = (kino__analysis){.def = def, .first_step = KINO_NO_INT, .last_step = KINO_NO_INT};
    kino__arena_init(&a->arena, NULL);
    size_t declared = declared_count(def);
    kino_cell *values = kino__arena_alloc(&a->arena, (declared + 1) * sizeof *values);
    if (!values)
        return kino__fail_nomem(err);
    a->values = values;
    for (size_t i = 0; i < declared; i++) {
        values[i] = kino__cell_null();
        if (def->params[i].value)
            KINO_TRY(set_declared(a, &def->params[i], def->params[i].value, &values[i], err));
    }
    for (size_t i = 0; i < count; i++) {
        size_t index;
        kino_param_info info;
        if (!find_param(def, given[i].name, &index, &info))
            return fail_unknown(def, given[i].name, err);
        if (index < declared)
            KINO_TRY(set_declared(a, &info, given[i].value, &values[index], err));
        else
            KINO_TRY(set_common(a, &given[i], err));
    }
    set_reference_default(a, values, given, count);
    return def->check ? def->check(a, err) : KINO_OK;
}

void kino__analysis_deinit(kino__analysis *a)
{
    kino__arena_deinit(&a->arena);
}

kino_cell kino__analysis_value(const kino__analysis *a, size_t index)
{
    size_t declared = declared_count(a->def);
    if (index < declared)
        return a->values[index];
    if (a->def->compat && index == declared)
        return a->compat ? kino__cell_text(kino__str_from(a->compat)) : kino__cell_null();
    return a->steps ? kino__cell_text(kino__str_from(a->steps)) : kino__cell_null();
}
