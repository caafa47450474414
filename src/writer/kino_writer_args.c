/* kino_writer_args.c - argument texts taken apart: templates with gaps, and a column of values a
 * key.
 *
 *   {"External id": 13, "stream": 7, "name": "x"}    template  {"External id": _, "stream": _, ...
 *                                                    values    its external id; int 7; text "x"
 *
 * Putting the values back into the gaps gives the text again, byte by byte; nothing is lost,
 * whatever the text is. One that cannot be taken apart is a template with a single gap. Which
 * template a text has is guessed from the last event of the same name; a wrong guess costs a slow
 * look. */
#include <stdlib.h>

#include "base/decimal.h"
#include "store/args.h"
#include "wire/bytes.h"
#include "writer/kino_writer_internal.h"

enum {
    MAX_SLOTS = KINO__KINO_SLOTS_MAX,
    MAX_TEMPLATES = 4096, /* of a group; what comes later is kept whole */
    MAX_COLUMNS = KINO__KINO_ARG_COLUMNS_MAX,
    GUESSES = 1024,
    DIGITS = 18, /* every number of so many fits 64 bits */
    MARK = 1, /* byte that stands for a gap in a signature; never in a text that is taken apart */
};

typedef struct slot {
    uint8_t class;
    uint32_t column; /* of the group; of BIND and EXTERNAL none */
} slot;

typedef struct template
{
    uint32_t first; /* of its slots, and (plus its number) of its literals */
    uint32_t slot_count;
}
template;

typedef struct column {
    uint8_t class;
    uint32_t key;
    KINO__VEC(int64_t) values;
    KINO__VEC(int64_t) scales; /* DECIMAL */
    kino__string_pool texts;   /* TEXT */
} column;

/* One value of a text, looked at. */
typedef struct value {
    kino_str text;
    uint8_t class;
    int64_t number;
    int64_t scale;
} value;

struct kino__arg_packer {
    const kino__trace *trace;
    const uint32_t *row_of_number;
    uint32_t group_size;
    kino__text_cursor cursor;
    /* of the group being made */
    kino__string_pool signatures; /* template number = string number */
    kino__string_pool keys;
    KINO__VEC(template) templates;
    KINO__VEC(slot) slots;
    KINO__VEC(kino_str) literals; /* slot_count + 1 a template */
    KINO__VEC(column) columns;
    KINO__VEC(int64_t) template_of; /* event -> template, -1: no arguments */
    uint32_t guess[GUESSES];        /* template + 1 */
    /* of the event being taken apart */
    value values[MAX_SLOTS];
    kino_str value_keys[MAX_SLOTS];
    kino__buffer signature, payload;
    int64_t bind, external;
    bool failed;
};

kino__arg_packer *kino__arg_packer_new(const kino__trace *trace, const uint32_t *row_of_number,
                                       uint32_t group_size)
{
    kino__arg_packer *args = calloc(1, sizeof *args);
    if (!args)
        return NULL;
    args->trace = trace;
    args->row_of_number = row_of_number;
    args->group_size = group_size;
    kino__text_cursor_init(&args->cursor, trace->text);
    kino__string_pool_init(&args->signatures, NULL);
    kino__string_pool_init(&args->keys, NULL);
    return args;
}

static void clear(kino__arg_packer *args)
{
    for (size_t i = 0; i < args->columns.count; i++) {
        kino__vec_deinit(&args->columns.items[i].values);
        kino__vec_deinit(&args->columns.items[i].scales);
        kino__string_pool_deinit(&args->columns.items[i].texts);
    }
    args->columns.count = args->templates.count = args->slots.count = args->literals.count = 0;
    args->template_of.count = 0;
    kino__string_pool_deinit(&args->signatures);
    kino__string_pool_deinit(&args->keys);
    kino__string_pool_init(&args->signatures, NULL);
    kino__string_pool_init(&args->keys, NULL);
    memset(args->guess, 0, sizeof args->guess);
}

void kino__arg_packer_free(kino__arg_packer *args)
{
    if (!args)
        return;
    clear(args);
    kino__text_cursor_deinit(&args->cursor);
    kino__vec_deinit(&args->templates);
    kino__vec_deinit(&args->slots);
    kino__vec_deinit(&args->literals);
    kino__vec_deinit(&args->columns);
    kino__vec_deinit(&args->template_of);
    kino__buffer_deinit(&args->signature);
    kino__buffer_deinit(&args->payload);
    free(args);
}

/* -- what a value is */

/* An integer or decimal in the one form that its number is printed in again. */
static bool read_number(kino_str text, value *v)
{
    const char *at = text.data, *end = at + text.size;
    bool is_negative = at < end && *at == '-';
    at += is_negative;
    if (at == end || end - at > DIGITS + 1 || (unsigned)(*at - '0') > 9)
        return false;
    uint64_t number = 0;
    const char *first = at, *point = NULL;
    for (; at < end; at++) {
        if (*at == '.' && !point)
            point = at;
        else if ((unsigned)(*at - '0') <= 9)
            number = number * 10 + (uint64_t)(*at - '0');
        else
            return false;
    }
    bool has_zero = *first == '0' && (point ? point : end) - first > 1; /* 007 */
    if (end - first - (point != NULL) > DIGITS || has_zero || (number == 0 && is_negative) ||
        (point && point + 1 == end))
        return false;
    v->class = point ? KINO__SLOT_DECIMAL : KINO__SLOT_INT;
    v->number = is_negative ? -(int64_t)number : (int64_t)number;
    v->scale = point ? end - point - 1 : 0;
    return true;
}

static void look_at(const kino__arg_packer *args, kino_str key, value *v)
{
    v->class = KINO__SLOT_TEXT;
    if (!read_number(v->text, v) || v->class != KINO__SLOT_INT)
        return;
    if (v->number == args->bind && kino__str_is(key, "correlation"))
        v->class = KINO__SLOT_BIND;
    else if (v->number == args->external && kino__str_is(key, "External id"))
        v->class = KINO__SLOT_EXTERNAL;
}

/* -- guessing */

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at)
            return end;
        const char *slash = at;
        while (slash[-1] == '\\')
            slash--;
        if (((at - slash) & 1) == 0)
            return at + 1;
    }
    return end;
}

static const char *skip_nested(const char *at, const char *end)
{
    for (size_t depth = 0; at < end;) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (c == '[' || c == '{')
            depth++;
        else if ((c == ']' || c == '}') && --depth == 0)
            return at;
    }
    return end;
}

static const char *skip_value(const char *at, const char *end)
{
    if (at < end && *at == '"')
        return skip_string(at, end);
    if (at < end && (*at == '[' || *at == '{'))
        return skip_nested(at, end);
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at > ' ')
        at++;
    return at;
}

/* Does a value that was found fit the gap of this class? */
static bool fits(const kino__arg_packer *args, uint8_t class, value *v)
{
    if (class == KINO__SLOT_TEXT) {
        value probe = *v;
        if (read_number(v->text, &probe))
            return false; /* it has a better place in another template */
        v->class = KINO__SLOT_TEXT;
        return true;
    }
    if (!read_number(v->text, v))
        return false;
    if (class == KINO__SLOT_DECIMAL)
        return v->class == class;
    if (v->class != KINO__SLOT_INT)
        return false;
    v->class = class;
    return class == KINO__SLOT_INT ||
           v->number == (class == KINO__SLOT_BIND ? args->bind : args->external);
}

static bool take(const char **at, const char *end, kino_str literal)
{
    if ((size_t)(end - *at) < literal.size || memcmp(*at, literal.data, literal.size) != 0)
        return false;
    *at += literal.size;
    return true;
}

static bool matches(kino__arg_packer *args, uint32_t number, kino_str text)
{
    const template *t = &args->templates.items[number];
    const kino_str *literals = &args->literals.items[t->first + number];
    const char *at = text.data, *end = at + text.size;
    for (uint32_t i = 0; i < t->slot_count; i++) {
        if (!take(&at, end, literals[i]))
            return false;
        const char *stop = skip_value(at, end);
        args->values[i].text = (kino_str){at, (size_t)(stop - at)};
        if (!fits(args, args->slots.items[t->first + i].class, &args->values[i]))
            return false;
        at = stop;
    }
    return take(&at, end, literals[t->slot_count]) && at == end;
}

/* -- taking apart */

static void add_mark(kino__arg_packer *args, uint8_t class)
{
    char mark[2] = {MARK, (char)('0' + class)};
    kino__buffer_add(&args->signature, (kino_str){mark, 2});
}

static void keep_whole(kino__arg_packer *args, kino_str text)
{
    args->signature.size = 0;
    add_mark(args, KINO__SLOT_TEXT);
    args->values[0] = (value){.text = text, .class = KINO__SLOT_TEXT};
    args->value_keys[0] = (kino_str){"", 0};
}

/* Fills values, keys and the signature: the text with marks for its values. Returns how many. */
static uint32_t take_apart(kino__arg_packer *args, kino_str text)
{
    if (memchr(text.data, MARK, text.size)) {
        keep_whole(args, text);
        return 1;
    }
    args->signature.size = 0;
    kino__args_iter it = kino__args_iter_start(text);
    kino_str key, found;
    const char *before = text.data, *end = text.data + text.size;
    uint32_t count = 0;
    while (kino__args_iter_next(&it, &key, &found)) {
        if (count == MAX_SLOTS || found.data < before || found.data + found.size > end) {
            keep_whole(args, text);
            return 1;
        }
        args->values[count].text = found;
        args->value_keys[count] = key;
        look_at(args, key, &args->values[count]);
        kino__buffer_add(&args->signature, (kino_str){before, (size_t)(found.data - before)});
        add_mark(args, args->values[count].class);
        before = found.data + found.size;
        count++;
    }
    kino__buffer_add(&args->signature, (kino_str){before, (size_t)(end - before)});
    return count;
}

static uint32_t find_column(kino__arg_packer *args, kino_str key, uint8_t class)
{
    if (class == KINO__SLOT_BIND || class == KINO__SLOT_EXTERNAL)
        return 0;
    uint32_t number = kino__string_pool_add(&args->keys, key);
    for (uint32_t i = 0; i < args->columns.count; i++)
        if (args->columns.items[i].key == number && args->columns.items[i].class == class)
            return i;
    column *c = kino__vec_add(&args->columns);
    args->failed |= !c || number == KINO_NO_STRING;
    if (!c)
        return 0;
    *c = (column){.class = class, .key = number};
    kino__string_pool_init(&c->texts, NULL);
    return (uint32_t)(args->columns.count - 1);
}

static void add_literals(kino__arg_packer *args, kino_str signature, uint32_t count)
{
    const char *at = signature.data, *end = at + signature.size;
    for (uint32_t i = 0; i <= count; i++) {
        const char *mark = i < count ? memchr(at, MARK, (size_t)(end - at)) : end;
        kino_str *literal = kino__vec_add(&args->literals);
        if (!literal) {
            args->failed = true;
            return;
        }
        *literal = (kino_str){at, (size_t)(mark - at)};
        at = i < count ? mark + 2 : end;
    }
}

static void add_template(kino__arg_packer *args, uint32_t count)
{
    template *t = kino__vec_add(&args->templates);
    if (!t) {
        args->failed = true;
        return;
    }
    *t = (template){(uint32_t)args->slots.count, count};
    for (uint32_t i = 0; i < count; i++) {
        slot *s = kino__vec_add(&args->slots);
        if (!s) {
            args->failed = true;
            return;
        }
        s->class = args->values[i].class;
        s->column = find_column(args, args->value_keys[i], s->class);
    }
    kino_strid last = (kino_strid)(args->templates.count - 1);
    add_literals(args, kino__string_pool_text(&args->signatures, last), count);
}

/* The template of the text; its values are in args->values then. */
static uint32_t find_template(kino__arg_packer *args, kino_str text)
{
    uint32_t count = take_apart(args, text);
    kino_strid known =
        kino__string_pool_find(&args->signatures, kino__buffer_str(&args->signature));
    if (known != KINO_NO_STRING)
        return known;
    if (args->templates.count >= MAX_TEMPLATES || args->columns.count + MAX_SLOTS > MAX_COLUMNS) {
        keep_whole(args, text);
        count = 1;
    }
    known = kino__string_pool_add(&args->signatures, kino__buffer_str(&args->signature));
    args->failed |= args->signature.failed || known == KINO_NO_STRING;
    if (!args->failed && known == args->templates.count)
        add_template(args, count);
    return known;
}

static void add_values(kino__arg_packer *args, uint32_t number)
{
    const template *t = &args->templates.items[number];
    for (uint32_t i = 0; i < t->slot_count; i++) {
        const slot *s = &args->slots.items[t->first + i];
        const value *v = &args->values[i];
        if (s->class == KINO__SLOT_BIND || s->class == KINO__SLOT_EXTERNAL)
            continue;
        column *c = &args->columns.items[s->column];
        int64_t *item = kino__vec_add(&c->values);
        int64_t *scale = s->class == KINO__SLOT_DECIMAL ? kino__vec_add(&c->scales) : NULL;
        if (!item || (s->class == KINO__SLOT_DECIMAL && !scale)) {
            args->failed = true;
            return;
        }
        *item = s->class == KINO__SLOT_TEXT ? (int64_t)kino__string_pool_add(&c->texts, v->text)
                                            : v->number;
        if (scale)
            *scale = v->scale;
        args->failed |= s->class == KINO__SLOT_TEXT && *item == KINO_NO_STRING;
    }
}

static int64_t add_event(kino__arg_packer *args, uint32_t row)
{
    const kino__trace *trace = args->trace;
    kino_str text = kino__args_text(trace, row, &args->cursor);
    if (text.size == 0)
        return -1;
    uint32_t *guess = &args->guess[trace->name[row] % GUESSES];
    args->bind = kino__trace_correlation(trace, row);
    args->external = kino__trace_external(trace, row);
    uint32_t number = *guess - 1;
    if (*guess == 0 || !matches(args, number, text))
        number = find_template(args, text);
    if (args->failed)
        return -1;
    *guess = number + 1;
    add_values(args, number);
    return number;
}

/* -- chunks */

static void add_description(kino__arg_packer *args, kino__buffer *payload)
{
    kino__bytes_add(payload, kino__string_pool_count(&args->keys), 4);
    for (kino_strid i = 0; i < kino__string_pool_count(&args->keys); i++)
        kino__bytes_add_text(payload, kino__string_pool_text(&args->keys, i));
    kino__bytes_add(payload, args->columns.count, 4);
    for (size_t i = 0; i < args->columns.count; i++) {
        kino__bytes_add(payload, args->columns.items[i].class, 1);
        kino__bytes_add(payload, args->columns.items[i].key, 4);
        kino__bytes_add(payload, args->columns.items[i].values.count, 4);
    }
    kino__bytes_add(payload, args->templates.count, 4);
    for (size_t n = 0; n < args->templates.count; n++) {
        const template *t = &args->templates.items[n];
        kino__bytes_add(payload, t->slot_count, 4);
        for (uint32_t i = 0; i <= t->slot_count; i++) {
            kino__bytes_add_text(payload, args->literals.items[t->first + n + i]);
            if (i == t->slot_count)
                break;
            kino__bytes_add(payload, args->slots.items[t->first + i].class, 1);
            kino__bytes_add(payload, args->slots.items[t->first + i].column, 4);
        }
    }
}

/* All texts of all columns: their sizes, then their bytes. */
static void add_texts(kino__arg_packer *args, kino__packer *packer, kino__buffer *payload)
{
    KINO__VEC(int64_t) sizes = {0};
    for (size_t i = 0; i < args->columns.count; i++) {
        const column *c = &args->columns.items[i];
        if (c->class != KINO__SLOT_TEXT)
            continue;
        kino__bytes_add(payload, kino__string_pool_count(&c->texts), 4);
        for (kino_strid id = 0; id < kino__string_pool_count(&c->texts); id++) {
            int64_t *size = kino__vec_add(&sizes);
            if (size)
                *size = (int64_t)kino__string_pool_text(&c->texts, id).size;
            args->failed |= !size;
        }
    }
    kino__pack_list(packer, sizes.items, sizes.count, false, payload);
    kino__vec_deinit(&sizes);
    for (size_t i = 0; i < args->columns.count; i++)
        for (kino_strid id = 0; id < kino__string_pool_count(&args->columns.items[i].texts); id++)
            kino__buffer_add(payload, kino__string_pool_text(&args->columns.items[i].texts, id));
}

static void add_columns(kino__arg_packer *args, kino__packer *packer, uint32_t group,
                        kino__buffer *out)
{
    kino__chunk chunk = {.kind = KINO__CHUNK_ARG_COLUMN, .group = group};
    kino__column_values values = {.items = args->template_of.items,
                                  .count = args->template_of.count,
                                  .has_missing = true,
                                  .missing = -1};
    kino__pack_column(packer, chunk, &values, false, out);
    for (size_t i = 0; i < args->columns.count; i++) {
        const column *c = &args->columns.items[i];
        values = (kino__column_values){.items = c->values.items, .count = c->values.count};
        chunk.tag = (uint16_t)(1 + 2 * i);
        kino__pack_column(packer, chunk, &values, false, out);
        if (c->class != KINO__SLOT_DECIMAL)
            continue;
        values.items = c->scales.items;
        chunk.tag++;
        kino__pack_column(packer, chunk, &values, false, out);
    }
}

void kino__arg_packer_add_group(kino__arg_packer *args, kino__packer *packer, uint32_t group,
                                kino__buffer *out)
{
    clear(args);
    uint64_t first = (uint64_t)group * args->group_size, end = first + args->group_size;
    if (end > args->trace->number_count)
        end = args->trace->number_count;
    for (uint64_t number = first; number < end && !args->failed; number++) {
        uint32_t row = args->row_of_number[number];
        int64_t *template_of = kino__vec_add(&args->template_of);
        args->failed |= !template_of;
        if (template_of)
            *template_of = row == KINO_NO_ROW ? -1 : add_event(args, row);
    }
    kino__chunk chunk = {.kind = KINO__CHUNK_ARGS, .group = group};
    kino__buffer *payload = &args->payload;
    payload->size = 0;
    add_description(args, payload);
    kino__pack_chunk(packer, chunk, kino__buffer_str(payload), out);
    payload->size = 0;
    add_texts(args, packer, payload);
    chunk.kind = KINO__CHUNK_ARG_TEXTS;
    kino__pack_chunk(packer, chunk, kino__buffer_str(payload), out);
    add_columns(args, packer, group, out);
    out->failed |= args->failed || payload->failed;
}
