/* args_columns.c - one argument of all events as a typed column, made on first use.
 *
 * For links, analyses and queries. Rows are visited in file order, so that a compressed source is
 * read once from front to back. Most rows do not have the key: a search for "key" in quotes, by its
 * rarest letter, rules them out without reading members; the members of the others are read once
 * for all keys of the pass.
 *
 *   columns --> newest column --> ... --> NULL     a list that only grows at its head: readers
 *               key, type, values                  walk it freely, writers hold the lock
 *
 * Cost of a pass: one memchr over the argument text per key, plus the members of the rows that have
 * one. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/lock.h"
#include "base/map.h"
#include "store/args.h"

typedef enum column_type { COLUMN_INT, COLUMN_DOUBLE, COLUMN_STRING } column_type;

typedef struct column column;
struct column {
    column *older; /* set before the column is published, as all else here */
    column_type type;
    size_t size; /* of this block */
    char *key;   /* in quotes: what is searched for */
    size_t key_size;
    size_t anchor; /* index of the letter of key that is searched first */
    union {
        int64_t *ints;
        double *doubles;
        kino_strid *strings;
    } values;
    kino__string_pool pool; /* of a string column */
};

struct kino__arg_columns {
    const kino__allocator *allocator;
    _Atomic(column *) newest;
    kino__mutex lock; /* held while columns are made */
};

/* -- the list */

static size_t item_size(column_type type)
{
    return type == COLUMN_STRING ? sizeof(kino_strid) : sizeof(int64_t);
}

static void column_free(const kino__allocator *allocator, column *c)
{
    if (!c)
        return;
    if (c->type == COLUMN_STRING)
        kino__string_pool_deinit(&c->pool);
    kino__resize(allocator, c, c->size, 0);
}

void kino__arg_columns_free(kino__arg_columns *columns)
{
    if (!columns)
        return;
    /* Relaxed: whoever frees the trace is its last user. */
    column *c = atomic_load_explicit(&columns->newest, memory_order_relaxed);
    while (c) {
        column *older = c->older;
        column_free(columns->allocator, c);
        c = older;
    }
    kino__mutex_destroy(&columns->lock);
    kino__resize(columns->allocator, columns, sizeof *columns, 0);
}

static kino__arg_columns *columns_of(const kino__trace *trace)
{
    /* The one place where const is cast away: lazily made columns are no part of a trace's visible
     * value. */
    kino__arg_columns **place = &((kino__trace *)(uintptr_t)trace)->arg_columns;
    /* Acquire pairs with the release of the exchange below: who sees the pointer sees what it
     * points to. */
    kino__arg_columns *columns = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (columns)
        return columns;
    kino__arg_columns *fresh = kino__resize(trace->arena.allocator, NULL, 0, sizeof *fresh);
    if (!fresh)
        return NULL;
    fresh->allocator = trace->arena.allocator;
    atomic_init(&fresh->newest, NULL);
    kino__mutex_init(&fresh->lock, KINO__LOCK_ARGS);
    if (__atomic_compare_exchange_n(place, &columns, fresh, false, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE))
        return fresh;
    kino__arg_columns_free(fresh); /* another thread was first; columns is its pointer */
    return columns;
}

static column *find_column(kino__arg_columns *columns, const char *key, column_type type)
{
    size_t size = strlen(key);
    /* Acquire pairs with the release in publish: who sees a column sees its values, and those of
     * all older ones. */
    column *c = atomic_load_explicit(&columns->newest, memory_order_acquire);
    while (c && (c->type != type || c->key_size != size + 2 || memcmp(c->key + 1, key, size) != 0))
        c = c->older;
    return c;
}

static void publish(kino__arg_columns *columns, column *c)
{
    /* Relaxed: the lock is held, nobody else stores. */
    c->older = atomic_load_explicit(&columns->newest, memory_order_relaxed);
    /* Release pairs with the acquire in find_column. */
    atomic_store_explicit(&columns->newest, c, memory_order_release);
}

/* -- a new column */

enum { BATCH = 8 };

/* How rare a character is in argument texts, roughly; only speed depends on it. */
static size_t rarity(char c)
{
    static const char common_first[] = "\" 0123456789,:.[]etaoinsrdlcupmhgb_fky";
    const char *found = c ? strchr(common_first, c) : NULL;
    return found ? (size_t)(found - common_first) : sizeof common_first;
}

static column *column_new(const kino__allocator *allocator, const char *key, column_type type,
                          uint32_t count)
{
    size_t key_size = strlen(key) + 2, values, size;
    if (!kino__mul_size(count, item_size(type), &values) ||
        __builtin_add_overflow(values, sizeof(column) + key_size, &size))
        return NULL;
    column *c = kino__resize(allocator, NULL, 0, size);
    if (!c)
        return NULL;
    *c = (column){.type = type, .size = size, .key_size = key_size};
    c->values.ints = (int64_t *)(c + 1);
    c->key = (char *)(c + 1) + values;
    c->key[0] = c->key[key_size - 1] = '"';
    memcpy(c->key + 1, key, key_size - 2);
    for (size_t i = 1; i < key_size; i++)
        if (rarity(c->key[i]) > rarity(c->key[c->anchor]))
            c->anchor = i;
    if (type == COLUMN_STRING)
        kino__string_pool_init(&c->pool, allocator);
    for (uint32_t i = 0; type == COLUMN_INT && i < count; i++)
        c->values.ints[i] = KINO_NO_INT;
    for (uint32_t i = 0; type == COLUMN_DOUBLE && i < count; i++)
        c->values.doubles[i] = NAN;
    for (uint32_t i = 0; type == COLUMN_STRING && i < count; i++)
        c->values.strings[i] = KINO_NO_STRING;
    return c;
}

/* Of a string what stands between its quotes; valid until the buffer is used again. */
static kino_str plain_text(kino_str value, kino__buffer *buffer)
{
    buffer->size = 0;
    if (value.data[0] != '"')
        return value;
    kino__json_unescape(value, buffer);
    return kino__buffer_str(buffer);
}

static bool set_string(column *c, uint32_t row, kino_str value, kino__buffer *buffer)
{
    c->values.strings[row] = kino__string_pool_add(&c->pool, plain_text(value, buffer));
    return !buffer->failed && c->values.strings[row] != KINO_NO_STRING;
}

/* False when memory is out. */
static bool set_value(column *c, uint32_t row, kino_str value, kino__buffer *buffer)
{
    int64_t i;
    double d;
    if (c->type == COLUMN_INT && kino__json_to_int(value, &i))
        c->values.ints[row] = i;
    else if (c->type == COLUMN_DOUBLE && kino__json_to_double(value, &d))
        c->values.doubles[row] = d;
    return c->type != COLUMN_STRING || set_string(c, row, value, buffer);
}

/* Whether "key" occurs anywhere in the text. */
static bool may_have(const column *c, kino_str text)
{
    if (text.size < c->key_size)
        return false;
    const char *at = text.data + c->anchor;
    const char *end = at + (text.size - c->key_size) + 1;
    while (at < end && (at = memchr(at, c->key[c->anchor], (size_t)(end - at))) != NULL) {
        if (memcmp(at - c->anchor, c->key, c->key_size) == 0)
            return true;
        at++;
    }
    return false;
}

/* Of doubled keys the last one counts, usable or not. False when memory is out. */
static bool extract_row(uint32_t row, kino_str text, column *const *made, size_t count,
                        kino__buffer *buffer)
{
    column *wanted[BATCH];
    kino_str values[BATCH] = {{0}}, key, value;
    size_t wanted_count = 0;
    for (size_t k = 0; k < count; k++)
        if (may_have(made[k], text))
            wanted[wanted_count++] = made[k];
    if (wanted_count == 0)
        return true;
    kino__args_iter it = kino__args_iter_start(text);
    while (kino__args_iter_next(&it, &key, &value))
        for (size_t k = 0; k < wanted_count; k++)
            if (key.size + 2 == wanted[k]->key_size &&
                memcmp(key.data, wanted[k]->key + 1, key.size) == 0)
                values[k] = value;
    for (size_t k = 0; k < wanted_count; k++)
        if (values[k].size && !set_value(wanted[k], row, values[k], buffer))
            return false;
    return true;
}

/* A source that has arguments in columns hands them over one by one. */
typedef struct filling {
    column *column;
    kino__buffer *buffer;
} filling;

static bool fill_value(void *context, uint32_t row, const kino__arg_value *value)
{
    filling *f = context;
    if (!value->is_int)
        return set_value(f->column, row, value->text, f->buffer);
    if (f->column->type == COLUMN_INT) {
        f->column->values.ints[row] = value->number;
    } else if (f->column->type == COLUMN_DOUBLE) {
        f->column->values.doubles[row] = (double)value->number;
    } else {
        char digits[KINO__DECIMAL_MAX];
        size_t length = kino__format_int(value->number, digits);
        return set_string(f->column, row, (kino_str){digits, length}, f->buffer);
    }
    return true;
}

typedef struct seeing {
    kino__arg_text_fn see;
    void *context;
    kino__buffer buffer;
} seeing;

static bool see_value(void *context, uint32_t row, const kino__arg_value *value)
{
    seeing *s = context;
    char digits[KINO__DECIMAL_MAX];
    kino_str text = value->text;
    if (value->is_int)
        text = (kino_str){digits, kino__format_int(value->number, digits)};
    else
        text = plain_text(text, &s->buffer);
    return !s->buffer.failed && s->see(s->context, row, text);
}

bool kino__args_each_string(const kino__trace *trace, const char *key, kino__arg_text_fn see,
                            void *context)
{
    seeing s = {.see = see, .context = context, .buffer = {.allocator = trace->arena.allocator}};
    kino_str name = {key, strlen(key)};
    bool ok = kino__trace_need(trace, KINO__COLUMN_PLACE | KINO__COLUMN_NUMBER, NULL) &&
              trace->source->visit_arg(trace->source, trace, name, see_value, &s);
    kino__buffer_deinit(&s.buffer);
    return ok;
}

static bool fill_columns(const kino__trace *trace, column *const *made, size_t count)
{
    kino__buffer buffer = {.allocator = trace->arena.allocator};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        filling f = {made[i], &buffer};
        kino_str key = {made[i]->key + 1, made[i]->key_size - 2};
        ok = trace->source->visit_arg(trace->source, trace, key, fill_value, &f);
    }
    kino__buffer_deinit(&buffer);
    return ok;
}

/* Integers among typed values need no text. */
static bool has_only_ints(column *const *made, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (made[i]->type != COLUMN_INT)
            return false;
    return true;
}

static void take_ints(const kino__trace *trace, column *const *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kino_str key = {made[i]->key + 1, made[i]->key_size - 2};
        for (uint32_t row = 0; row < trace->event_count; row++) {
            uint64_t place = kino__trace_place(trace, row);
            if (place)
                made[i]->values.ints[row] = trace->text->arg_int(trace->text, place, key);
        }
    }
}

/* -- rows that share their arguments: read once, but for the correlation -- */

static bool has_correlation(column *const *made, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (made[k]->key_size == sizeof "correlation" + 1 &&
            memcmp(made[k]->key + 1, "correlation", sizeof "correlation" - 1) == 0)
            return true;
    return false;
}

static void copy_values(column *const *made, size_t count, uint32_t from, uint32_t to)
{
    for (size_t k = 0; k < count; k++)
        if (made[k]->type == COLUMN_INT)
            made[k]->values.ints[to] = made[k]->values.ints[from];
        else if (made[k]->type == COLUMN_DOUBLE)
            made[k]->values.doubles[to] = made[k]->values.doubles[from];
        else
            made[k]->values.strings[to] = made[k]->values.strings[from];
}

/* The first row with the same shared arguments, after which it need not be read; the row itself:
 * it has to be. KINO_NO_ROW when memory is out. */
static uint32_t row_to_read(const kino__trace *trace, kino__map *seen, uint32_t row)
{
    uint64_t key = kino__args_shared_key(trace, row);
    uint32_t *first = key ? kino__map_put(seen, key, row) : NULL;
    return !key ? row : first ? *first : KINO_NO_ROW;
}

/* Reads the arguments of all rows once, for up to BATCH columns. */
static bool extract(const kino__trace *trace, column *const *made, size_t count)
{
    if (!kino__trace_need(trace, KINO__COLUMN_PLACE | KINO__COLUMN_NUMBER, NULL))
        return false;
    if (trace->source && trace->source->visit_arg)
        return fill_columns(trace, made, count);
    if (trace->text && trace->text->arg_int && has_only_ints(made, count)) {
        take_ints(trace, made, count);
        return true;
    }
    uint32_t *order = kino__trace_file_order_new(trace);
    if (!order)
        return false;
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    kino__buffer buffer = {.allocator = trace->arena.allocator};
    kino__map seen;
    kino__map_init(&seen, trace->arena.allocator);
    bool ok = true, may_share = !has_correlation(made, count);
    for (uint32_t i = 0; ok && i < trace->event_count; i++) {
        if (kino__trace_place(trace, order[i]) == 0)
            continue;
        uint32_t first = may_share ? row_to_read(trace, &seen, order[i]) : order[i];
        if (first == order[i])
            ok = extract_row(order[i], kino__args_text(trace, order[i], &cursor), made, count,
                             &buffer);
        else if (first == KINO_NO_ROW)
            ok = false;
        else
            copy_values(made, count, first, order[i]);
    }
    kino__map_deinit(&seen);
    kino__buffer_deinit(&buffer);
    kino__text_cursor_deinit(&cursor);
    free(order);
    return ok;
}

/* Makes those of up to BATCH keys that are missing. */
static bool make_batch(const kino__trace *trace, kino__arg_columns *columns,
                       const char *const *keys, size_t count, column_type type)
{
    column *made[BATCH];
    size_t made_count = 0;
    bool ok = true;
    kino__mutex_lock(&columns->lock);
    for (size_t i = 0; ok && i < count; i++) {
        if (find_column(columns, keys[i], type))
            continue;
        made[made_count] = column_new(columns->allocator, keys[i], type, trace->event_count);
        ok = made[made_count] != NULL;
        made_count += ok;
    }
    ok = ok && (made_count == 0 || extract(trace, made, made_count));
    for (size_t i = 0; i < made_count; i++) {
        if (ok)
            publish(columns, made[i]);
        else
            column_free(columns->allocator, made[i]);
    }
    kino__mutex_unlock(&columns->lock);
    return ok;
}

static const column *get_column(const kino__trace *trace, const char *key, column_type type)
{
    kino__arg_columns *columns = columns_of(trace);
    if (!columns)
        return NULL;
    const column *c = find_column(columns, key, type);
    if (!c && make_batch(trace, columns, &key, 1, type))
        c = find_column(columns, key, type);
    return c;
}

bool kino__args_prepare(const kino__trace *trace, const char *const *keys, size_t count)
{
    kino__arg_columns *columns = columns_of(trace);
    if (!columns)
        return false;
    for (size_t i = 0; i < count; i += BATCH) {
        size_t left = count - i;
        if (!make_batch(trace, columns, keys + i, left < BATCH ? left : BATCH, COLUMN_INT))
            return false;
    }
    return true;
}

const int64_t *kino__args_int_column(const kino__trace *trace, const char *key)
{
    const column *c = get_column(trace, key, COLUMN_INT);
    return c ? c->values.ints : NULL;
}

bool kino__int_arguments_init(const kino__trace *trace, const char *const *keys, size_t count,
                              kino__int_argument *const *out)
{
    bool is_at_hand = trace->text && trace->text->arg_int;
    bool ok = is_at_hand ? kino__trace_need(trace, KINO__COLUMN_PLACE, NULL)
                         : kino__args_prepare(trace, keys, count);
    for (size_t i = 0; ok && i < count; i++) {
        *out[i] = (kino__int_argument){.trace = trace, .key = kino__str_from(keys[i])};
        if (!is_at_hand)
            out[i]->column = kino__args_int_column(trace, keys[i]);
        ok = is_at_hand || out[i]->column;
    }
    return ok;
}

bool kino__int_argument_init(kino__int_argument *argument, const kino__trace *trace,
                             const char *key)
{
    return kino__int_arguments_init(trace, &key, 1, &argument);
}

const double *kino__args_double_column(const kino__trace *trace, const char *key)
{
    const column *c = get_column(trace, key, COLUMN_DOUBLE);
    return c ? c->values.doubles : NULL;
}

const kino_strid *kino__args_string_column(const kino__trace *trace, const char *key,
                                           const kino__string_pool **pool)
{
    const column *c = get_column(trace, key, COLUMN_STRING);
    *pool = c ? &c->pool : NULL;
    return c ? c->values.strings : NULL;
}
