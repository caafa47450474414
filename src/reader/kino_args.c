/* kino_args.c - argument texts of a .kino file, put together again; and columns of one argument
 * without the texts.
 *
 * A cursor keeps the groups it has used lately. The values of an event lie in each column behind
 * those of the events before it, so a position in all columns is needed: marks are set every so
 * many events, and from the mark before it is counted on.
 *
 *   events     0 . . . | 64 . . . | 128 . x          x: from the mark at 128, two events on
 *   template   a a b a   b b a a    a b b
 *   "stream"   ^         ^          ^                marks: position in each column */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/search.h"
#include "reader/kino_internal.h"
#include "store/args.h"
#include "wire/bytes.h"
#include "wire/column.h"

enum { KEPT_GROUPS = 8, MARK_EVERY = 64, MAX_SCALE = 18 };

typedef struct slot {
    uint8_t class;
    uint32_t column;
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
    uint32_t count;
    int64_t *values; /* NULL until needed */
    int64_t *scales;
    uint32_t text_count;
    uint32_t first_text; /* in text_ends of the group */
} column;

/* A group of arguments, described; its columns are decoded as they are used. */
typedef struct group {
    uint32_t number;
    uint32_t event_count;
    uint64_t last_use;
    kino__buffer description, text_bytes;
    KINO__VEC(kino_str) keys;
    KINO__VEC(column) columns;
    KINO__VEC(template) templates;
    KINO__VEC(slot) slots;
    KINO__VEC(kino_str) literals;
    int32_t *template_of; /* of each event, -1: none */
    uint32_t *text_sizes; /* of all texts of all columns */
    kino_str *texts;
    uint32_t *marks; /* positions in all columns, every MARK_EVERY events */
    /* where reading goes on */
    uint32_t next_event;
    uint32_t *positions;
} group;

typedef struct cursor {
    kino__unpacker unpacker;
    group *groups[KEPT_GROUPS];
    uint64_t uses;
    kino__buffer out;
    kino__buffer odd; /* the odd texts chunk read last */
    uint32_t odd_chunk;
} cursor;

/* -- a group */

static void group_free(group *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->columns.count; i++) {
        free(g->columns.items[i].values);
        free(g->columns.items[i].scales);
    }
    kino__buffer_deinit(&g->description);
    kino__buffer_deinit(&g->text_bytes);
    kino__vec_deinit(&g->keys);
    kino__vec_deinit(&g->columns);
    kino__vec_deinit(&g->templates);
    kino__vec_deinit(&g->slots);
    kino__vec_deinit(&g->literals);
    free(g->template_of);
    free(g->text_sizes);
    free(g->texts);
    free(g->marks);
    free(g->positions);
    free(g);
}

static bool read_columns(group *g, kino__bytes *in)
{
    uint64_t count = kino__bytes_get(in, 4);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        column c = {.class = (uint8_t)kino__bytes_get(in, 1)};
        c.key = (uint32_t)kino__bytes_get(in, 4);
        c.count = (uint32_t)kino__bytes_get(in, 4);
        column *to = kino__vec_add(&g->columns);
        if (!to)
            return false;
        *to = c; /* first: whatever is in the list is freed */
        if (c.key >= g->keys.count || c.class >= KINO__SLOT_CLASSES || c.class == KINO__SLOT_BIND ||
            c.class == KINO__SLOT_EXTERNAL || i >= KINO__KINO_ARG_COLUMNS_MAX)
            return false;
    }
    return !in->failed;
}

static bool read_slot(group *g, kino__bytes *in)
{
    slot *s = kino__vec_add(&g->slots);
    if (!s)
        return false;
    s->class = (uint8_t)kino__bytes_get(in, 1);
    s->column = (uint32_t)kino__bytes_get(in, 4);
    bool has_column = s->class != KINO__SLOT_BIND && s->class != KINO__SLOT_EXTERNAL;
    if (!has_column)
        s->column = (uint32_t)g->columns.count; /* one behind the last: counted, never looked at */
    return s->class < KINO__SLOT_CLASSES &&
           (!has_column ||
            (s->column < g->columns.count && g->columns.items[s->column].class == s->class));
}

static bool read_templates(group *g, kino__bytes *in)
{
    uint64_t count = kino__bytes_get(in, 4);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        template *t = kino__vec_add(&g->templates);
        if (!t)
            return false;
        *t = (template){(uint32_t)g->slots.count, (uint32_t)kino__bytes_get(in, 4)};
        if (t->slot_count > KINO__KINO_SLOTS_MAX)
            return false;
        for (uint32_t k = 0, slots = t->slot_count; k <= slots; k++) {
            kino_str *literal = kino__vec_add(&g->literals);
            if (!literal)
                return false;
            *literal = kino__bytes_get_text(in);
            if (k < slots && !read_slot(g, in))
                return false;
        }
    }
    return !in->failed;
}

/* Keys, columns and templates. */
static bool read_description(const kino__kino_file *f, group *g, kino__unpacker *unpacker)
{
    kino_str payload = kino__unpack(f, f->arg_groups.items[g->number].description, unpacker);
    if (!payload.data)
        return false;
    kino__buffer_add(&g->description, payload);
    if (g->description.failed)
        return false;
    kino__bytes in = kino__bytes_start(kino__buffer_str(&g->description));
    uint64_t keys = kino__bytes_get(&in, 4);
    for (uint64_t i = 0; i < keys && !in.failed; i++) {
        kino_str *key = kino__vec_add(&g->keys);
        if (!key)
            return false;
        *key = kino__bytes_get_text(&in);
    }
    return !in.failed && read_columns(g, &in) && read_templates(g, &in);
}

static group *group_new(const kino__kino_file *f, uint32_t number, kino__unpacker *unpacker)
{
    group *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    uint64_t left = f->number_count - number * f->arg_group_size;
    g->number = number;
    g->event_count = (uint32_t)(left < f->arg_group_size ? left : f->arg_group_size);
    if (read_description(f, g, unpacker))
        return g;
    group_free(g);
    return NULL;
}

/* The chunk of a column, NO_CHUNK when it is not there. Tag 0: templates of the events; 1 + 2 i:
 * values of column i; 2 + 2 i: its scales. */
static uint32_t find_column_chunk(const kino__kino_file *f, uint32_t number, uint32_t tag)
{
    const kino__arg_group *chunks = &f->arg_groups.items[number];
    uint32_t end = chunks->first_column + chunks->column_count;
    const uint32_t *all = f->column_chunks.items;
    uint32_t at =
        KINO__SEARCH(uint32_t, i, chunks->first_column, end, f->chunks.items[all[i] - 1].tag < tag);
    return at < end && f->chunks.items[all[at] - 1].tag == tag ? all[at] : KINO__NO_CHUNK;
}

static bool decode_chunk(const kino__kino_file *f, uint32_t number, uint32_t tag, size_t count,
                         kino__unpacker *unpacker, void *out, unsigned width)
{
    uint32_t chunk = find_column_chunk(f, number, tag);
    kino_str coded = chunk ? kino__unpack(f, chunk, unpacker) : (kino_str){NULL, 0};
    return coded.data && kino__column_decode(coded, count, -1, out, width);
}

bool kino__kino_arg_group_is_whole(const kino__kino_file *f, uint32_t number,
                                   kino__unpacker *unpacker)
{
    const kino__arg_group *chunks = &f->arg_groups.items[number];
    if (!chunks->description || !chunks->texts)
        return false;
    group *g = group_new(f, number, unpacker);
    bool ok = g && find_column_chunk(f, number, 0);
    for (uint32_t i = 0; ok && i < g->columns.count; i++)
        ok = find_column_chunk(f, number, 1 + 2 * i) &&
             (g->columns.items[i].class != KINO__SLOT_DECIMAL ||
              find_column_chunk(f, number, 2 + 2 * i));
    group_free(g);
    return ok;
}

/* Do the columns have as many values as the events have gaps for? Nothing is decoded before. */
static bool has_all_values(const group *g, const int32_t *template_of)
{
    uint32_t *uses = calloc(g->templates.count + 1, sizeof *uses);
    uint64_t *values = calloc(g->columns.count + 1, sizeof *values);
    bool ok = uses && values;
    for (uint32_t i = 0; ok && i < g->event_count; i++)
        if (template_of[i] >= 0)
            uses[template_of[i]]++;
    for (size_t n = 0; ok && n < g->templates.count; n++) {
        const template *t = &g->templates.items[n];
        for (uint32_t k = 0; k < t->slot_count; k++)
            values[g->slots.items[t->first + k].column] += uses[n];
    }
    for (size_t i = 0; ok && i < g->columns.count; i++)
        ok = values[i] == g->columns.items[i].count;
    free(uses);
    free(values);
    return ok;
}

/* The template of every event. */
static bool need_templates(const kino__kino_file *f, group *g, kino__unpacker *unpacker)
{
    if (g->template_of)
        return true;
    int64_t *wide = malloc(((size_t)g->event_count + 1) * sizeof *wide);
    int32_t *narrow = malloc(((size_t)g->event_count + 1) * sizeof *narrow);
    bool ok = wide && narrow &&
              decode_chunk(f, g->number, 0, g->event_count, unpacker, wide, sizeof *wide);
    for (uint32_t i = 0; ok && i < g->event_count; i++) {
        ok = wide[i] >= -1 && wide[i] < (int64_t)g->templates.count;
        narrow[i] = (int32_t)wide[i];
    }
    free(wide);
    ok = ok && has_all_values(g, narrow);
    if (!ok) {
        free(narrow);
        return false;
    }
    g->template_of = narrow;
    return true;
}

bool kino__kino_has_args(const kino__kino_file *f, uint32_t number, kino__unpacker *unpacker,
                         uint8_t *has, size_t count)
{
    const kino__arg_group *chunks = &f->arg_groups.items[number];
    if (!chunks->description) {
        memset(has, 0, count);
        return true; /* lost; the ledger has it */
    }
    group *g = group_new(f, number, unpacker);
    bool ok = g && need_templates(f, g, unpacker);
    for (size_t i = 0; ok && i < count; i++)
        has[i] = g->template_of[i] >= 0;
    group_free(g);
    return ok;
}

static bool need_texts(const kino__kino_file *f, group *g, kino__unpacker *unpacker)
{
    if (g->texts)
        return true;
    kino_str payload = kino__unpack(f, f->arg_groups.items[g->number].texts, unpacker);
    if (!payload.data)
        return false;
    g->text_bytes.size = 0;
    kino__buffer_add(&g->text_bytes, payload);
    kino__bytes in = kino__bytes_start(kino__buffer_str(&g->text_bytes));
    uint64_t total = 0;
    for (size_t i = 0; i < g->columns.count; i++) {
        column *c = &g->columns.items[i];
        if (c->class != KINO__SLOT_TEXT)
            continue;
        c->first_text = (uint32_t)total;
        c->text_count = (uint32_t)kino__bytes_get(&in, 4);
        total += c->text_count;
    }
    kino_str coded = kino__bytes_get_text(&in);
    if (g->text_bytes.failed || in.failed || total > payload.size * 8)
        return false;
    g->text_sizes = malloc(((size_t)total + 1) * sizeof *g->text_sizes);
    kino_str *texts = malloc(((size_t)total + 1) * sizeof *texts);
    bool ok = g->text_sizes && texts &&
              kino__column_decode(coded, (size_t)total, 0, g->text_sizes, sizeof *g->text_sizes);
    for (uint64_t i = 0; ok && i < total; i++)
        texts[i] = kino__bytes_take(&in, g->text_sizes[i]);
    ok = ok && !in.failed;
    free(g->text_sizes);
    g->text_sizes = NULL;
    if (ok)
        g->texts = texts;
    else
        free(texts);
    return ok;
}

static int64_t *decode_values(const kino__kino_file *f, const group *g, uint32_t tag, size_t count,
                              kino__unpacker *unpacker)
{
    int64_t *values = malloc((count + 1) * sizeof *values);
    if (values && decode_chunk(f, g->number, tag, count, unpacker, values, sizeof *values))
        return values;
    free(values);
    return NULL;
}

static bool need_column(const kino__kino_file *f, group *g, uint32_t index,
                        kino__unpacker *unpacker)
{
    column *c = &g->columns.items[index];
    if (!c->values)
        c->values = decode_values(f, g, 1 + 2 * index, c->count, unpacker);
    if (c->class == KINO__SLOT_DECIMAL && !c->scales)
        c->scales = decode_values(f, g, 2 + 2 * index, c->count, unpacker);
    return c->values && (c->class != KINO__SLOT_DECIMAL || c->scales) &&
           (c->class != KINO__SLOT_TEXT || need_texts(f, g, unpacker));
}

/* -- values */

/* Digits with a point before the last `scale`, and a zero before a leading point. */
static size_t format_decimal(int64_t value, size_t scale, char *out)
{
    char digits[KINO__DECIMAL_MAX], *to = out;
    size_t size = kino__format_uint(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, digits);
    size_t whole = size > scale ? size - scale : 0;
    if (value < 0)
        *to++ = '-';
    if (whole == 0)
        *to++ = '0';
    memcpy(to, digits, whole);
    to += whole;
    *to++ = '.';
    for (size_t zeros = scale - (size - whole); zeros > 0; zeros--)
        *to++ = '0';
    memcpy(to, digits + whole, size - whole);
    return (size_t)(to - out) + (size - whole);
}

/* The text of value `at` of a column; false when the file is not as it should be. */
static bool add_value(const group *g, const column *c, uint32_t at, kino__buffer *out)
{
    if (at >= c->count)
        return false;
    int64_t value = c->values[at];
    if (c->class == KINO__SLOT_TEXT) {
        if (value < 0 || value >= c->text_count)
            return false;
        kino__buffer_add(out, g->texts[c->first_text + (uint32_t)value]);
        return true;
    }
    char *to = kino__buffer_reserve(out, (size_t)2 * KINO__DECIMAL_MAX);
    if (!to)
        return false;
    if (c->class == KINO__SLOT_INT) {
        out->size += kino__format_int(value, to);
        return true;
    }
    if (c->scales[at] < 1 || c->scales[at] > MAX_SCALE)
        return false;
    out->size += format_decimal(value, (size_t)c->scales[at], to);
    return true;
}

/* -- one event */

/* Counts the values of events [from, to) into positions. */
static void count_on(const group *g, uint32_t from, uint32_t to, uint32_t *positions)
{
    for (uint32_t i = from; i < to; i++) {
        if (g->template_of[i] < 0)
            continue;
        const template *t = &g->templates.items[g->template_of[i]];
        for (uint32_t k = 0; k < t->slot_count; k++)
            positions[g->slots.items[t->first + k].column]++;
    }
}

/* Marks for the whole group: values of BIND and EXTERNAL count somewhere nobody looks. */
static bool need_marks(group *g)
{
    if (g->marks)
        return true;
    size_t width = g->columns.count + 1, count = g->event_count / MARK_EVERY + 1;
    g->marks = malloc(count * width * sizeof *g->marks);
    g->positions = calloc(width, sizeof *g->positions);
    if (!g->marks || !g->positions)
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(g->marks + i * width, g->positions, width * sizeof *g->marks);
        uint32_t first = (uint32_t)i * MARK_EVERY, end = first + MARK_EVERY;
        count_on(g, first, end < g->event_count ? end : g->event_count, g->positions);
    }
    g->next_event = g->event_count;
    return true;
}

static void go_to(group *g, uint32_t event)
{
    if (event < g->next_event || event - g->next_event > MARK_EVERY) {
        size_t width = g->columns.count + 1, mark = event / MARK_EVERY;
        memcpy(g->positions, g->marks + mark * width, width * sizeof *g->marks);
        g->next_event = (uint32_t)mark * MARK_EVERY;
    }
    count_on(g, g->next_event, event, g->positions);
    g->next_event = event;
}

/* The number of a slot that the event's own columns hold, KINO_NO_INT when it is lost: wide ones
 * are in the list of odd events, which may be damaged. */
static int64_t own_number(const kino__trace *trace, const slot *s, uint32_t row)
{
    return s->class == KINO__SLOT_BIND ? kino__trace_correlation(trace, row)
                                       : kino__trace_external(trace, row);
}

static bool add_own(const kino__trace *trace, const slot *s, uint32_t row, kino__buffer *out)
{
    int64_t number = own_number(trace, s, row);
    char *to = kino__buffer_reserve(out, KINO__DECIMAL_MAX);
    if (!to || number == KINO_NO_INT)
        return false;
    out->size += kino__format_int(number, to);
    return true;
}

/* Puts the text of an event together; its template is there. */
static bool build(const kino__kino_file *f, group *g, uint32_t event, uint32_t row, cursor *c)
{
    const template *t = &g->templates.items[g->template_of[event]];
    const kino_str *literals = &g->literals.items[t->first + (size_t)g->template_of[event]];
    go_to(g, event);
    c->out.size = 0;
    for (uint32_t k = 0; k < t->slot_count; k++) {
        const slot *s = &g->slots.items[t->first + k];
        kino__buffer_add(&c->out, literals[k]);
        uint32_t at = g->positions[s->column]++;
        bool ok = s->column == g->columns.count
                      ? add_own(f->trace, s, row, &c->out)
                      : need_column(f, g, s->column, &c->unpacker) &&
                            add_value(g, &g->columns.items[s->column], at, &c->out);
        if (!ok)
            return false;
    }
    kino__buffer_add(&c->out, literals[t->slot_count]);
    (void)kino__buffer_reserve(&c->out, 64); /* readable behind the end */
    g->next_event = event + 1;
    return !c->out.failed;
}

/* -- the cursor */

void *kino__kino_cursor_new(const kino__text *text)
{
    (void)text;
    return calloc(1, sizeof(cursor));
}

void kino__kino_cursor_free(const kino__text *text, void *state)
{
    (void)text;
    cursor *c = state;
    if (!c)
        return;
    for (unsigned i = 0; i < KEPT_GROUPS; i++)
        group_free(c->groups[i]);
    kino__unpacker_deinit(&c->unpacker);
    kino__buffer_deinit(&c->out);
    kino__buffer_deinit(&c->odd);
    free(c);
}

/* The group, made in the place of the one not used for longest. */
static group *find_group(const kino__kino_file *f, cursor *c, uint32_t number)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < KEPT_GROUPS; i++) {
        group *g = c->groups[i];
        if (g && g->number == number) {
            g->last_use = ++c->uses;
            return g;
        }
        uint64_t use = g ? g->last_use : 0;
        if (use < (c->groups[oldest] ? c->groups[oldest]->last_use : 0))
            oldest = i;
    }
    if (!f->arg_groups.items[number].description)
        return NULL;
    group_free(c->groups[oldest]);
    group *g = c->groups[oldest] = group_new(f, number, &c->unpacker);
    if (g && (!need_templates(f, g, &c->unpacker) || !need_marks(g))) {
        group_free(g);
        g = c->groups[oldest] = NULL;
    }
    if (g)
        g->last_use = ++c->uses;
    return g;
}

kino_str kino__kino_args(const kino__text *text, void *state, uint64_t place)
{
    const kino__kino_file *f = (const kino__kino_file *)text;
    cursor *c = state;
    uint64_t number = (place >> 32) - 1;
    if (!c || number >= f->number_count)
        return (kino_str){"", 0};
    group *g = find_group(f, c, (uint32_t)(number / f->arg_group_size));
    uint32_t event = (uint32_t)(number % f->arg_group_size);
    if (!g || g->template_of[event] < 0 || !build(f, g, event, (uint32_t)place, c)) {
        if (g)
            g->next_event = g->event_count; /* positions may be anywhere */
        return (kino_str){"", 0};
    }
    return kino__buffer_str(&c->out);
}

kino_str kino__kino_read_text(const kino__text *text, void *state, uint64_t offset, uint64_t size)
{
    const kino__kino_file *f = (const kino__kino_file *)text;
    cursor *c = state;
    size_t low =
        KINO__SEARCH_LAST(size_t, i, 0, f->odd_texts.count, f->odd_texts.items[i].offset <= offset);
    if (!c || low >= f->odd_texts.count)
        return (kino_str){"", 0};
    const kino__odd_texts *odd = &f->odd_texts.items[low];
    if (c->odd_chunk != odd->chunk) {
        kino_str payload = kino__unpack(f, odd->chunk, &c->unpacker);
        c->odd.size = 0;
        c->odd_chunk = KINO__NO_CHUNK;
        kino__buffer_add(&c->odd, payload);
        (void)kino__buffer_reserve(&c->odd, 64); /* readable behind the end */
        if (!payload.data || c->odd.failed)
            return (kino_str){"", 0};
        c->odd_chunk = odd->chunk;
    }
    uint64_t at = offset - odd->offset;
    if (at > c->odd.size)
        return (kino_str){"", 0};
    uint64_t left = c->odd.size - at;
    return (kino_str){c->odd.data + at, (size_t)(size < left ? size : left)};
}

/* -- one argument of all events */

typedef struct visit {
    const kino__kino_file *f;
    const kino__trace *trace;
    uint32_t *row_of_number; /* NULL until the argument is found */
    kino_str key;
    bool (*call)(void *context, uint32_t row, const kino__arg_value *value);
    void *context;
    kino__unpacker unpacker;
    kino__buffer scratch;
} visit;

/* A text that could not be taken apart: one slot, no name. */
static bool is_whole(const group *g, uint32_t number)
{
    const template *t = &g->templates.items[number];
    const kino_str *literals = &g->literals.items[t->first + number];
    return t->slot_count == 1 && literals[0].size == 0 && literals[1].size == 0;
}

static bool has_key(const visit *v, const group *g, const slot *s)
{
    if (s->class == KINO__SLOT_BIND)
        return kino__str_is(v->key, "correlation");
    if (s->class == KINO__SLOT_EXTERNAL)
        return kino__str_is(v->key, "External id");
    return kino__str_equal(g->keys.items[g->columns.items[s->column].key], v->key);
}

/* The slot of each template that is the argument, the last of that name; -1: none. */
static bool find_slots(visit *v, group *g, int32_t *slot_of)
{
    for (uint32_t n = 0; n < g->templates.count; n++) {
        const template *t = &g->templates.items[n];
        slot_of[n] = is_whole(g, n) ? 0 : -1;
        for (uint32_t k = 0; k < t->slot_count; k++)
            if (has_key(v, g, &g->slots.items[t->first + k]))
                slot_of[n] = (int32_t)k;
        if (slot_of[n] < 0)
            continue;
        uint32_t index = g->slots.items[t->first + (uint32_t)slot_of[n]].column;
        if (index < g->columns.count && !need_column(v->f, g, index, &v->unpacker))
            return false;
    }
    return true;
}

static bool visit_value(visit *v, const group *g, const slot *s, uint32_t at, uint32_t row,
                        bool is_object)
{
    kino__arg_value value = {.is_int = true};
    if (s->class == KINO__SLOT_BIND || s->class == KINO__SLOT_EXTERNAL) {
        value.number = own_number(v->trace, s, row);
        return value.number == KINO_NO_INT || v->call(v->context, row, &value);
    }
    const column *c = &g->columns.items[s->column];
    if (c->class == KINO__SLOT_INT) {
        if (at >= c->count)
            return false;
        value.number = c->values[at];
        return v->call(v->context, row, &value);
    }
    v->scratch.size = 0;
    if (!add_value(g, c, at, &v->scratch))
        return false;
    value = (kino__arg_value){.text = kino__buffer_str(&v->scratch)};
    if (is_object)
        value.text = kino__args_find(value.text, v->key);
    return value.text.size == 0 || v->call(v->context, row, &value);
}

static bool number_rows(visit *v)
{
    const kino__trace *trace = v->trace;
    v->row_of_number = malloc(((size_t)v->f->number_count + 1) * sizeof *v->row_of_number);
    if (!v->row_of_number)
        return false;
    memset(v->row_of_number, 0xff, (size_t)v->f->number_count * sizeof *v->row_of_number);
    for (uint32_t row = 0; row < trace->event_count; row++)
        v->row_of_number[trace->number[row]] = row;
    return true;
}

static bool visit_event(visit *v, const group *g, uint32_t event, const int32_t *slot_of,
                        uint32_t *positions)
{
    uint32_t number = (uint32_t)g->template_of[event], at = 0;
    const template *t = &g->templates.items[number];
    const slot *slots = &g->slots.items[t->first], *found = NULL;
    for (uint32_t k = 0; k < t->slot_count; k++) {
        uint32_t here = positions[slots[k].column]++;
        if ((int32_t)k == slot_of[number]) {
            found = &slots[k];
            at = here;
        }
    }
    if (!found)
        return true;
    if (!v->row_of_number && !number_rows(v))
        return false;
    uint32_t row = v->row_of_number[g->number * v->f->arg_group_size + event];
    return row == KINO_NO_ROW || visit_value(v, g, found, at, row, is_whole(g, number));
}

static bool visit_group(visit *v, group *g)
{
    int32_t *slot_of = malloc((g->templates.count + 1) * sizeof *slot_of);
    uint32_t *positions = calloc(g->columns.count + 1, sizeof *positions);
    bool ok =
        slot_of && positions && need_templates(v->f, g, &v->unpacker) && find_slots(v, g, slot_of);
    for (uint32_t e = 0; ok && e < g->event_count; e++)
        ok = g->template_of[e] < 0 || visit_event(v, g, e, slot_of, positions);
    free(slot_of);
    free(positions);
    return ok;
}

bool kino__kino_visit_arg(kino__column_source *source, const kino__trace *trace, kino_str key,
                          bool (*call)(void *context, uint32_t row, const kino__arg_value *value),
                          void *context)
{
    const kino__kino_file *f =
        (const kino__kino_file *)(void *)((char *)source - offsetof(kino__kino_file, source));
    visit v = {.f = f, .trace = trace, .key = key, .call = call, .context = context};
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->arg_groups.count; i++) {
        if (!f->arg_groups.items[i].description)
            continue;
        group *g = group_new(f, i, &v.unpacker);
        ok = g && visit_group(&v, g);
        group_free(g);
    }
    kino__unpacker_deinit(&v.unpacker);
    kino__buffer_deinit(&v.scratch);
    free(v.row_of_number);
    return ok;
}
