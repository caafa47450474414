/* event_filter.c - deciding conditions on one value, one track, one row, as SQL would. */
#include "query/event_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

kino__query_value kino__query_value_of(sqlite3_value *value)
{
    kino__query_value v = {.type = sqlite3_value_type(value)};
    if (v.type == SQLITE_INTEGER) {
        v.integer = sqlite3_value_int64(value);
    } else if (v.type == SQLITE_FLOAT) {
        v.real = sqlite3_value_double(value);
        if (v.real >= -9.2e18 && v.real <= 9.2e18 && v.real == (double)(int64_t)v.real) {
            v.type = SQLITE_INTEGER; /* 77.0 compares as 77 does */
            v.integer = (int64_t)v.real;
        }
    } else if (v.type == SQLITE_TEXT) {
        v.text.data = (const char *)sqlite3_value_text(value);
        v.text.size = (size_t)sqlite3_value_bytes(value);
    }
    return v;
}

bool kino__is_text_column(kino__event_column column)
{
    return column == KINO__EVENT_PH || column == KINO__EVENT_CAT || column == KINO__EVENT_NAME;
}

static bool is_label_column(kino__event_column column)
{
    return column == KINO__EVENT_PID || column == KINO__EVENT_TID;
}

bool kino__is_track_column(kino__event_column column)
{
    return column == KINO__EVENT_TRACE || column == KINO__EVENT_RANK ||
           column == KINO__EVENT_TRACK || is_label_column(column);
}

bool kino__event_filter_takes(kino__event_column column, int op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
        return column < KINO__EVENT_ARGS;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        /* a label that is text in some events of a track is above all numbers there */
        return column < KINO__EVENT_ARGS && !is_label_column(column);
    case SQLITE_INDEX_CONSTRAINT_NE:
    case SQLITE_INDEX_CONSTRAINT_LIKE:
    case SQLITE_INDEX_CONSTRAINT_GLOB:
        return kino__is_text_column(column);
    default:
        return false;
    }
}

/* ---- one condition on one value ---- */

/* What a comparison says, given the sign of (left - right). */
static bool holds(int op, int sign)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
        return sign == 0;
    case SQLITE_INDEX_CONSTRAINT_NE:
        return sign != 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return sign < 0;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return sign <= 0;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return sign > 0;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return sign >= 0;
    default:
        return true;
    }
}

/* LIKE and GLOB want terminated strings, which pool texts are not. */
static bool matches_pattern(const kino__event_condition *c, kino_str text)
{
    bool is_like = c->op == SQLITE_INDEX_CONSTRAINT_LIKE;
    kino__fence endless = {0};
    char small[512];
    char *copy = text.size < sizeof small ? small : malloc(text.size + 1);
    if (!copy)
        return true; /* SQLite never sees a row that we drop, so keep it */
    if (text.size)
        memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    bool fits = kino__fence_match(c->fence ? c->fence : &endless, is_like, c->value.text,
                                  (kino_str){copy, text.size});
    if (copy != small)
        free(copy);
    return fits;
}

/* SQL has one NULL test left when `IS NULL` and `IS ?` with a NULL value are told apart from
 * comparisons. */
static bool is_null_test(const kino__event_condition *c)
{
    return c->op == SQLITE_INDEX_CONSTRAINT_ISNULL ||
           (c->op == SQLITE_INDEX_CONSTRAINT_IS && c->value.type == SQLITE_NULL);
}

static int compare_texts(const void *a, const void *b)
{
    return kino__str_compare(*(const kino_str *)a, *(const kino_str *)b);
}

static bool is_in_list(const kino__event_condition *c, kino_str text)
{
    return bsearch(&text, c->list, c->list_count, sizeof *c->list, compare_texts) != NULL;
}

void kino__event_list_sort(kino_str *list, size_t count)
{
    qsort(list, count, sizeof *list, compare_texts);
}

static bool text_passes(const kino__event_condition *c, bool is_null, kino_str text)
{
    if (is_null_test(c))
        return is_null;
    if (c->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
        return !is_null;
    if (is_null)
        return false;
    if (c->list)
        return is_in_list(c, text);
    if (c->value.type == SQLITE_NULL)
        return false;
    if (c->value.type != SQLITE_TEXT)
        return true;
    if (c->op == SQLITE_INDEX_CONSTRAINT_LIKE || c->op == SQLITE_INDEX_CONSTRAINT_GLOB)
        return matches_pattern(c, text);
    return holds(c->op, kino__str_compare(text, c->value.text));
}

bool kino__condition_int_passes(const kino__event_condition *c, int64_t value)
{
    if (is_null_test(c))
        return value == KINO_NO_INT;
    if (c->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
        return value != KINO_NO_INT;
    if (value == KINO_NO_INT || c->value.type == SQLITE_NULL)
        return false;
    if (c->value.type != SQLITE_INTEGER)
        return true;
    return holds(c->op, value < c->value.integer ? -1 : value > c->value.integer);
}

/* A pid or tid, equal or NULL; an integer may be text in some events of the track, so types that
 * differ always pass. */
static bool label_passes(const kino__event_condition *c, const kino__trace *trace,
                         const kino__label *label)
{
    if (label->kind == KINO__LABEL_INT)
        return kino__condition_int_passes(c, label->number);
    if (label->kind == KINO__LABEL_NONE)
        return kino__condition_int_passes(c, KINO_NO_INT);
    if (label->kind == KINO__LABEL_RAW || c->value.type == SQLITE_INTEGER ||
        c->value.type == SQLITE_FLOAT)
        return c->op != SQLITE_INDEX_CONSTRAINT_ISNULL;
    return text_passes(c, false, kino__trace_string(trace, label->text));
}

/* Conditions that a whole trace can fail. */
bool kino__filter_trace_passes(const kino__event_filter *filter, const kino__query_trace *qt)
{
    for (size_t i = 0; i < filter->count; i++) {
        const kino__event_condition *c = &filter->conditions[i];
        if ((c->column == KINO__EVENT_TRACE && !kino__condition_int_passes(c, qt->trace->index)) ||
            (c->column == KINO__EVENT_RANK && !kino__condition_int_passes(c, qt->trace->rank)))
            return false;
    }
    return true;
}

bool kino__filter_track_passes(const kino__event_filter *filter, kino__query_trace *qt,
                               uint32_t index)
{
    const kino__track *track = &qt->trace->tracks.items[index];
    for (size_t i = 0; i < filter->count; i++) {
        const kino__event_condition *c = &filter->conditions[i];
        bool passes = true;
        if (c->column == KINO__EVENT_PID)
            passes = label_passes(c, qt->trace, &track->pid);
        else if (c->column == KINO__EVENT_TID)
            passes = label_passes(c, qt->trace, &track->tid);
        else if (c->column == KINO__EVENT_TRACK)
            passes = kino__condition_int_passes(c, kino__query_track_id(qt, index));
        if (!passes)
            return false;
    }
    return true;
}

/* Bits of the classes an event with this category may belong to, names aside. */
uint8_t kino__filter_category_classes(const kino__event_filter *filter, uint16_t category)
{
    if (!filter->classes)
        return 0xff;
    uint8_t bits = 0;
    for (int k = 0; k < KINO__EVENT_CLASS_MAX && filter->classes[k].kinds; k++) {
        if (filter->classes[k].kinds & KINO__KIND_BIT(kino__category_kind(category)))
            bits |= (uint8_t)(1u << k);
    }
    return bits;
}

/* The same for a name, categories aside. */
uint8_t kino__filter_name_classes(const kino__event_filter *filter, kino_str name)
{
    if (!filter->classes)
        return 0xff;
    uint8_t bits = 0;
    for (int k = 0; k < KINO__EVENT_CLASS_MAX && filter->classes[k].kinds; k++) {
        if (!filter->classes[k].has_name || filter->classes[k].has_name(name))
            bits |= (uint8_t)(1u << k);
    }
    return bits;
}

/* All conditions of a kind of column on one text. */
bool kino__filter_text_passes(const kino__event_filter *filter, kino__event_column column,
                              bool is_null, kino_str text)
{
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->conditions[i].column == column &&
            !text_passes(&filter->conditions[i], is_null, text))
            return false;
    }
    return true;
}

bool kino__filter_category_passes(const kino__event_filter *filter, const kino__trace *trace,
                                  uint16_t category)
{
    return kino__filter_text_passes(filter, KINO__EVENT_CAT, category == KINO__CATEGORY_NONE,
                                    kino__trace_category_text(trace, category));
}

bool kino__filter_phase_passes(const kino__event_filter *filter, uint8_t phase)
{
    char letter = (char)phase;
    return kino__filter_text_passes(filter, KINO__EVENT_PH, phase == 0, (kino_str){&letter, 1});
}

static bool name_passes(const kino__event_filter *filter, const kino__trace *trace, kino_strid name)
{
    return kino__filter_text_passes(filter, KINO__EVENT_NAME, name == KINO_NO_STRING,
                                    kino__trace_string(trace, name));
}

/* Everything on one row: for the few candidates a lookup gives. */
bool kino__filter_row_passes(const kino__event_filter *filter, kino__query_trace *qt, uint32_t row)
{
    const kino__trace *trace = qt->trace;
    for (size_t i = 0; i < filter->count; i++) {
        const kino__event_condition *c = &filter->conditions[i];
        if (!kino__is_text_column(c->column) && !kino__is_track_column(c->column) &&
            !kino__condition_int_passes(c, kino__query_int(qt, c->column, row)))
            return false;
    }
    if (!name_passes(filter, trace, trace->name[row]) ||
        !kino__filter_phase_passes(filter, trace->phase[row]) ||
        !kino__filter_category_passes(filter, trace, trace->category[row]) ||
        !kino__filter_track_passes(filter, qt, kino__query_track(qt, row)))
        return false;
    return !filter->classes ||
           (kino__filter_category_classes(filter, trace->category[row]) &
            kino__filter_name_classes(filter, kino__trace_string(trace, trace->name[row])));
}

/* Does a number lie where its neighbours are integers that fit? */
static bool round_value(const kino__query_value *v, int64_t *below, int64_t *above)
{
    *below = *above = v->integer;
    if (v->type == SQLITE_INTEGER)
        return true;
    if (v->type != SQLITE_FLOAT || !(v->real > -9e18 && v->real < 9e18))
        return false;
    *below = (int64_t)v->real -
             1; /* one too far does no harm: SQLite looks again at what is not an integer */
    *above = (int64_t)v->real + 1;
    return true;
}

/* The times [from, to] that a condition on ts leaves; NULL is below all times. */
static void ts_interval(const kino__event_condition *c, int64_t *from, int64_t *to)
{
    int64_t below, above;
    *from = INT64_MIN + 1;
    *to = INT64_MAX;
    if (is_null_test(c)) {
        *from = *to = INT64_MIN;
        return;
    }
    if (c->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
        return;
    if (c->value.type == SQLITE_NULL) {
        *to = INT64_MIN; /* nothing compares with NULL */
        return;
    }
    if (!round_value(&c->value, &below, &above))
        return;
    bool is_exact = below == above;
    bool is_equal = c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_IS;
    if (is_equal || c->op == SQLITE_INDEX_CONSTRAINT_GE)
        *from = below;
    if (is_equal || c->op == SQLITE_INDEX_CONSTRAINT_LE)
        *to = above;
    if (c->op == SQLITE_INDEX_CONSTRAINT_GT)
        *from = below + (is_exact && below < INT64_MAX);
    if (c->op == SQLITE_INDEX_CONSTRAINT_LT)
        *to = above - (is_exact && above > INT64_MIN);
    if (*from == INT64_MIN)
        ++*from;
}

/* What all conditions on ts leave. */
void kino__filter_ts_bounds(const kino__event_filter *filter, int64_t *low, int64_t *high)
{
    *low = INT64_MIN;
    *high = INT64_MAX;
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->conditions[i].column != KINO__EVENT_TS)
            continue;
        int64_t from, to;
        ts_interval(&filter->conditions[i], &from, &to);
        *low = from > *low ? from : *low;
        *high = to < *high ? to : *high;
    }
}
