/* diff_check.c - what must hold between two runs, as a line of text:
 *
 *   expressions := expression { "," expression }
 *   expression  := subject limit { "&" limit }        all limits together
 *   subject     := "step_time" | kind | kind ":" name     kind: op, kernel, category
 *   limit       := ( ">" | ">=" ) number unit             unit: % ns us ms s
 *
 * A name is a pattern (* ? [a-z]) over the whole name; it goes on up to the first limits that are
 * followed by a comma or the end, so that names may have commas and angles in them
 * ("kernel:void f<4, float>>5%"). Without a name every one of the kind is looked at. An expression
 * says how much growth is too much: it does not hold when something grew by more. */
#include <math.h>
#include <stdio.h>

#include "analysis/diff/diff.h"
#include "base/error.h"
#include "base/glob.h"
#include "store/args.h"

enum { MOST_LIMITS = 8 };

typedef enum subject { STEP_TIME, OP, KERNEL, CATEGORY } subject;

static const struct {
    const char *text;
    subject subject;
    bool takes_name;
} subjects[] = {
    {"step_time", STEP_TIME, false},
    {"op", OP, true},
    {"kernel", KERNEL, true},
    {"category", CATEGORY, true},
};

static const struct {
    const char *text;
    double factor; /* to ns; 0: percent */
} units[] = {{"%", 0}, {"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};

typedef struct limit {
    double value;
    bool is_percent, is_inclusive;
} limit;

typedef struct expression {
    kino_str text;
    subject subject;
    kino_str name; /* size 0: all of them */
    limit limits[MOST_LIMITS];
    size_t limit_count;
} expression;

/* -- reading -- */

typedef struct reading {
    const char *start, *at, *end;
    kino_error *err;
} reading;

static kino_status fail_at(const reading *r, const char *at, const char *expected)
{
    return kino__fail(r->err, KINO_ARGUMENT, "'%.*s': expected %s at character %zu, not '%.*s'",
                      (int)(r->end - r->start > 80 ? 80 : r->end - r->start), r->start, expected,
                      (size_t)(at - r->start) + 1, (int)(r->end - at > 20 ? 20 : r->end - at), at);
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    return at;
}

/* Reads "> 5 %" and moves *at behind it; else says what is missing and *at is where. */
static const char *read_limit(const char **at, const char *end, limit *out)
{
    const char *p = skip_blanks(*at, end);
    *at = p;
    if (p == end || *p != '>')
        return "'>' and a limit";
    p++;
    out->is_inclusive = p < end && *p == '=';
    p = skip_blanks(p + out->is_inclusive, end);
    const char *digits = *at = p;
    while (p < end && ((*p >= '0' && *p <= '9') || *p == '.'))
        p++;
    if (p == digits || !kino__json_to_double((kino_str){digits, (size_t)(p - digits)}, &out->value))
        return "a number";
    *at = p = skip_blanks(p, end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        kino_str unit = kino__str_from(units[i].text);
        if (!kino__str_starts_with((kino_str){p, (size_t)(end - p)}, unit))
            continue;
        out->is_percent = units[i].factor == 0;
        out->value *= out->is_percent ? 1 : units[i].factor;
        *at = skip_blanks(p + unit.size, end);
        return NULL;
    }
    return "a unit (%, ns, us, ms or s)";
}

/* Reads limits up to a comma or the end. */
static const char *read_limits(const char **at, const char *end, expression *e)
{
    e->limit_count = 0;
    for (;;) {
        if (e->limit_count == MOST_LIMITS)
            return "',' or the end (there are too many limits)";
        const char *missing = read_limit(at, end, &e->limits[e->limit_count++]);
        if (missing)
            return missing;
        if (*at == end || **at == ',')
            return NULL;
        if (**at != '&')
            return "'&', ',' or the end";
        ++*at;
    }
}

static kino_str trim(kino_str text)
{
    while (text.size && text.data[0] == ' ')
        text = (kino_str){text.data + 1, text.size - 1};
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

/* A name, and the limits behind it: at the first '>' from which on all can be read as limits. */
static kino_status read_named(reading *r, expression *e)
{
    const char *start = r->at, *deepest = r->end, *expected = "'>' and a limit";
    for (const char *p = start; p < r->end; p++) {
        const char *at = p;
        if (*p != '>')
            continue;
        const char *missing = read_limits(&at, r->end, e);
        if (!missing) {
            e->name = trim((kino_str){start, (size_t)(p - start)});
            r->at = at;
            return e->name.size ? KINO_OK : fail_at(r, start, "a name behind ':'");
        }
        deepest = at;
        expected = missing;
    }
    return fail_at(r, deepest, expected);
}

static kino_status read_expression(reading *r, expression *e)
{
    static const char words[] = "step_time, op, kernel, category, or op:NAME, kernel:NAME, "
                                "category:NAME";
    *e = (expression){0};
    r->at = skip_blanks(r->at, r->end);
    const char *start = r->at;
    while (r->at < r->end && ((*r->at >= 'a' && *r->at <= 'z') || *r->at == '_'))
        r->at++;
    kino_str word = {start, (size_t)(r->at - start)};
    bool takes_name = false, is_known = false;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        if (!kino__str_is(word, subjects[i].text))
            continue;
        e->subject = subjects[i].subject;
        takes_name = subjects[i].takes_name;
        is_known = true;
    }
    if (!is_known)
        return fail_at(r, start, words);
    r->at = skip_blanks(r->at, r->end);
    if (takes_name && r->at < r->end && *r->at == ':') {
        r->at++;
        KINO_TRY(read_named(r, e));
    } else {
        const char *missing = read_limits(&r->at, r->end, e);
        if (missing)
            return fail_at(r, r->at, missing);
    }
    e->text = trim((kino_str){start, (size_t)(r->at - start)});
    return KINO_OK;
}

/* -- looking -- */

static bool is_too_much(const expression *e, const kino__diff_pair *pair)
{
    for (size_t i = 0; i < e->limit_count; i++) {
        const limit *l = &e->limits[i];
        double grown = l->is_percent ? kino__diff_percent(pair) : pair->right - pair->left;
        if (isnan(grown) || !(l->is_inclusive ? grown >= l->value : grown > l->value))
            return false;
    }
    return true;
}

static void write_check(kino__table *table, const expression *e, bool passed, kino_str name,
                        const kino__diff_pair *pair)
{
    KINO__TABLE_ADD(table, e->text, passed);
    if (name.size)
        kino__table_add_text(table, name);
    else
        kino__table_add_null(table);
    for (int i = 0; i < 3; i++) {
        double value = !pair    ? NAN
                       : i == 0 ? pair->left
                       : i == 1 ? pair->right
                                : pair->right - pair->left;
        if (isnan(value))
            kino__table_add_null(table);
        else
            kino__table_add_int(table, llround(value));
    }
    kino__table_add_real(table, pair ? kino__diff_percent(pair) : NAN);
}

typedef struct looking {
    const expression *e;
    kino__table *table;
    size_t named, failed;
    kino_str last; /* the one that was named last, and its numbers */
    kino__diff_pair pair;
} looking;

/* "CPU Exec" is cpu_exec too. */
static bool is_same_word(kino_str pattern, kino_str name)
{
    if (pattern.size != name.size)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char a = pattern.data[i], b = name.data[i];
        a = a >= 'A' && a <= 'Z' ? (char)(a - 'A' + 'a') : a == '_' ? ' ' : a;
        b = b >= 'A' && b <= 'Z' ? (char)(b - 'A' + 'a') : b;
        if (a != b)
            return false;
    }
    return true;
}

static void look(looking *l, kino_str name, const kino__diff_pair *pair)
{
    const expression *e = l->e;
    bool is_meant = e->name.size == 0 || kino__glob_match(e->name, name) ||
                    (e->subject == CATEGORY && is_same_word(e->name, name));
    if (!is_meant)
        return;
    l->named++;
    l->last = name;
    l->pair = *pair;
    if (is_too_much(e, pair)) {
        l->failed++;
        write_check(l->table, e, false, name, pair);
    }
}

/* All of an operator's time, with what it calls: device, or host where it has none there. */
static const kino__diff_pair *whole_time(const kino__diff_item *op)
{
    const kino__diff_pair *device = &op->values[KINO__DIFF_DEVICE];
    bool has_device = device->left > 0 || device->right > 0;
    return has_device ? device : &op->values[KINO__DIFF_HOST];
}

static void look_at_all(looking *l, const kino__diff *diff)
{
    const kino__diff_items *list = l->e->subject == OP ? &diff->ops : &diff->kernels;
    switch (l->e->subject) {
    case STEP_TIME:
        look(l, KINO__STR("Step time"), &diff->step_time);
        break;
    case CATEGORY:
        for (int r = 0; r < KINO__ROLE_COUNT; r++)
            look(l, kino__str_from(kino__role_name((kino__role)r)), &diff->parts[r]);
        break;
    case OP:
    case KERNEL:
        for (size_t i = 0; i < list->items.count; i++) {
            const kino__diff_item *item = &list->items.items[i];
            look(l, item->name,
                 l->e->subject == OP ? whole_time(item) : &item->values[KINO__DIFF_DEVICE]);
        }
        break;
    }
}

static void check_one(const expression *e, const kino__diff *diff, kino__table *table)
{
    looking l = {.e = e, .table = table};
    look_at_all(&l, diff);
    if (l.failed)
        return;
    if (l.named == 1)
        write_check(table, e, true, l.last, &l.pair);
    else
        write_check(table, e, true, (kino_str){"", 0}, NULL);
    if (l.named == 0 && e->name.size && table)
        kino__result_note(table->result, "nothing is called '%.*s' (%.*s)", KINO__STR_ARG(e->name),
                          KINO__STR_ARG(e->text));
}

kino_status kino__diff_check(kino_str expressions, const kino__diff *diff, kino__table *table,
                             kino_error *err)
{
    reading r = {expressions.data, expressions.data, expressions.data + expressions.size, err};
    expression e;
    for (;;) {
        KINO_TRY(read_expression(&r, &e));
        if (diff)
            check_one(&e, diff, table);
        if (r.at == r.end)
            return KINO_OK;
        r.at++; /* the comma */
    }
}
