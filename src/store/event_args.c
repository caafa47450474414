/* event_args.c - typed arguments: writing them as bytes, and bytes as JSON. */
#include "store/event_args.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "store/args.h"
#include "store/text_sources.h"

enum {
    NUMBER_MOST = 10,
    CORRELATION = 0,
    EXTERNAL = 1,
    PAIR_SHARED_BITS = 31,
    MADE_MOST = 1 << 16
};
#define PAIR_BIT (UINT64_C(1) << 63)

void kino__event_args_init(kino__event_args *args, const kino__allocator *allocator)
{
    *args = (kino__event_args){.ids = {KINO_NO_STRING, KINO_NO_STRING},
                               .found = {KINO_NO_INT, KINO_NO_INT}};
    args->bytes.allocator = args->shared.allocator = allocator;
}

void kino__event_args_deinit(kino__event_args *args)
{
    kino__buffer_deinit(&args->bytes);
    kino__vec_deinit(&args->shared);
}

void kino__event_args_set_ids(kino__event_args *args, kino_strid correlation, kino_strid external)
{
    args->ids[CORRELATION] = correlation;
    args->ids[EXTERNAL] = external;
}

/* -- writing */

static void put_number(kino__buffer *out, uint64_t value)
{
    char *at = kino__buffer_reserve(out, NUMBER_MOST);
    size_t size = 0;
    if (!at)
        return;
    for (; value >= 0x80; value >>= 7)
        at[size++] = (char)(value | 0x80);
    at[size++] = (char)value;
    out->size += size;
}

/* Small numbers below 0 stay small: 0, -1, 1, -2, ... */
static uint64_t fold_sign(uint64_t value)
{
    return value << 1 ^ (0 - (value >> 63));
}

static uint64_t unfold_sign(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

static bool has_number(unsigned type)
{
    return type != KINO__ARG_FALSE && type != KINO__ARG_TRUE && type != KINO__ARG_NULL &&
           type != KINO__ARG_DOUBLE;
}

static void note_id(const kino__event_args *args, uint64_t key, unsigned type, uint64_t value,
                    int64_t found[2])
{
    bool is_number = type == KINO__ARG_INT || (type == KINO__ARG_UINT && value <= INT64_MAX);
    for (int i = 0; i < 2; i++)
        if (is_number && key == args->ids[i] && key != KINO_NO_STRING)
            found[i] = (int64_t)value;
}

void kino__event_args_add(kino__event_args *args, kino_strid key, kino__arg_type type,
                          uint64_t value)
{
    kino__buffer *out = &args->bytes;
    put_number(out, ((uint64_t)key + 1) << 3 | type);
    if (type == KINO__ARG_DOUBLE)
        kino__buffer_add(out, (kino_str){(const char *)&value, sizeof value});
    else if (has_number(type))
        put_number(out, type == KINO__ARG_INT ? fold_sign(value) : value);
    note_id(args, key, type, value, args->found);
}

void kino__event_args_drop(kino__event_args *args)
{
    args->bytes.size = args->first;
    args->found[CORRELATION] = args->found[EXTERNAL] = KINO_NO_INT;
}

uint64_t kino__event_args_end(kino__event_args *args, uint64_t shared)
{
    if (!kino__event_args_any(args))
        return shared;
    uint64_t place = args->first + 1;
    put_number(&args->bytes, 0);
    put_number(&args->bytes, shared);
    args->first = args->bytes.size;
    kino__event_args_drop(args);
    return args->bytes.failed ? 0 : place;
}

uint64_t kino__event_args_end_with(kino__event_args *args, uint64_t shared, int64_t correlation)
{
    if (correlation == KINO_NO_INT)
        return kino__event_args_end(args, shared);
    bool is_narrow = correlation >= 0 && correlation <= UINT32_MAX && !(shared >> PAIR_SHARED_BITS);
    if (is_narrow && !kino__event_args_any(args))
        return PAIR_BIT | shared << 32 | (uint64_t)correlation;
    kino__event_args_add(args, args->ids[CORRELATION], KINO__ARG_INT, (uint64_t)correlation);
    return kino__event_args_end(args, shared);
}

uint64_t kino__event_args_share(kino__event_args *args)
{
    if (!kino__event_args_any(args))
        return 0;
    uint64_t *slot = kino__vec_add(&args->shared);
    if (!slot) {
        args->bytes.failed = true;
        return 0;
    }
    return *slot = kino__event_args_end(args, 0);
}

bool kino__event_args_is_shared(const kino__event_args *args, uint64_t place)
{
    size_t low = 0, high = args->shared.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (args->shared.items[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < args->shared.count && args->shared.items[low] == place;
}

/* -- reading: the bytes are our own */

static uint64_t get_number(const unsigned char **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

typedef struct argument {
    uint64_t key;
    unsigned type;
    uint64_t value;
} argument;

/* The next argument; false at the end, where `at` is at what is shared. */
static bool next_argument(const unsigned char **at, argument *out)
{
    uint64_t head = get_number(at);
    if (!head)
        return false;
    *out = (argument){.key = (head >> 3) - 1, .type = head & 7};
    if (out->type == KINO__ARG_DOUBLE) {
        memcpy(&out->value, *at, sizeof out->value);
        *at += sizeof out->value;
    } else if (has_number(out->type)) {
        out->value = get_number(at);
        if (out->type == KINO__ARG_INT)
            out->value = unfold_sign(out->value);
    }
    return true;
}

void kino__event_args_find_ids(const kino__event_args *args, uint64_t place, int64_t found[2])
{
    const unsigned char *at = (const unsigned char *)args->bytes.data + place - 1;
    argument a;
    while (next_argument(&at, &a))
        note_id(args, a.key, a.type, a.value, found);
}

/* -- the text of the trace */

typedef struct args_text {
    kino__text text;
    kino__string_pool texts;
    kino__buffer bytes;
    kino_strid correlation; /* the key */
    /* What is shared, made JSON once; empty: too much is shared, or memory was out. */
    KINO__VEC(uint64_t) shared; /* places, rising */
    KINO__VEC(size_t) ends;     /* of their members in `made` */
    kino__buffer made;
} args_text;

static void add_value(const args_text *self, const argument *a, kino__json *json)
{
    double number;
    switch ((kino__arg_type)a->type) {
    case KINO__ARG_INT:
        kino__json_int(json, (int64_t)a->value);
        break;
    case KINO__ARG_UINT:
        kino__json_uint(json, a->value);
        break;
    case KINO__ARG_DOUBLE:
        memcpy(&number, &a->value, sizeof number);
        kino__json_double(json, number);
        break;
    case KINO__ARG_FALSE:
    case KINO__ARG_TRUE:
        kino__json_bool(json, a->type == KINO__ARG_TRUE);
        break;
    case KINO__ARG_NULL:
        kino__json_null(json);
        break;
    case KINO__ARG_TEXT:
        kino__json_string(json, kino__string_pool_text(&self->texts, (kino_strid)a->value));
        break;
    case KINO__ARG_JSON:
        kino__json_raw(json, kino__string_pool_text(&self->texts, (kino_strid)a->value));
        break;
    }
}

/* Kineto's blanks: behind the colon and between members. */
static void add_member(const args_text *self, const argument *a, kino__buffer *out)
{
    if (out->size > 1)
        kino__buffer_add(out, KINO__STR(", "));
    kino__json_add_string(out, kino__string_pool_text(&self->texts, (kino_strid)a->key));
    kino__buffer_add(out, KINO__STR(": "));
    kino__json json = {.out = out};
    add_value(self, a, &json);
}

static void add_shared(const args_text *self, uint64_t place, kino__buffer *out);

/* The members of a shared place that were made before; size 0: they were not. */
static kino_str find_made(const args_text *self, uint64_t place)
{
    size_t low = 0, high = self->ends.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->shared.items[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == self->ends.count || self->shared.items[low] != place)
        return (kino_str){"", 0};
    size_t first = low ? self->ends.items[low - 1] : 0;
    return (kino_str){self->made.data + first, self->ends.items[low] - first};
}

static void add_members(const args_text *self, uint64_t place, kino__buffer *out)
{
    const unsigned char *own = (const unsigned char *)self->bytes.data + place - 1, *at = own;
    argument a;
    while (next_argument(&at, &a))
        ;
    uint64_t shared = get_number(&at);
    if (shared)
        add_shared(self, shared, out);
    while (next_argument(&own, &a))
        add_member(self, &a, out);
}

/* Before all others; what is shared shares nothing itself. */
static void add_shared(const args_text *self, uint64_t place, kino__buffer *out)
{
    kino_str made = find_made(self, place);
    if (made.size)
        kino__buffer_add(out, made);
    else
        add_members(self, place, out);
}

static void add_pair(const args_text *self, uint64_t place, kino__buffer *out)
{
    argument correlation = {self->correlation, KINO__ARG_UINT, (uint32_t)place};
    uint64_t shared = (place & ~PAIR_BIT) >> 32;
    if (shared)
        add_shared(self, shared, out);
    add_member(self, &correlation, out);
}

static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const args_text *self = (const args_text *)text;
    kino__buffer *out = cursor;
    if (!out || !place)
        return (kino_str){"", 0};
    out->size = 0;
    kino__buffer_add(out, KINO__STR("{"));
    if (place & PAIR_BIT)
        add_pair(self, place, out);
    else
        add_members(self, place, out);
    kino__buffer_add(out, KINO__STR("}"));
    return kino__made_cursor_end(out);
}

/* The last argument with this key, among what an event has and what it shares. */
static bool find_argument(const args_text *self, uint64_t place, uint64_t key, argument *out)
{
    if (place & PAIR_BIT) {
        if (key == self->correlation) {
            *out = (argument){key, KINO__ARG_UINT, (uint32_t)place};
            return true;
        }
        place = (place & ~PAIR_BIT) >> 32;
    }
    while (place) {
        const unsigned char *at = (const unsigned char *)self->bytes.data + place - 1;
        bool is_found = false;
        argument a;
        while (next_argument(&at, &a)) {
            if (a.key == key) {
                *out = a;
                is_found = true;
            }
        }
        if (is_found)
            return true;
        place = get_number(&at);
    }
    return false;
}

static int64_t get_int(const kino__text *text, uint64_t place, kino_str key)
{
    const args_text *self = (const args_text *)text;
    kino_strid id = kino__string_pool_find(&self->texts, key);
    argument a;
    int64_t number;
    if (id == KINO_NO_STRING || !find_argument(self, place, id, &a))
        return KINO_NO_INT;
    if (a.type == KINO__ARG_INT || a.type == KINO__ARG_UINT)
        return a.type == KINO__ARG_UINT && a.value > INT64_MAX ? KINO_NO_INT : (int64_t)a.value;
    if (a.type != KINO__ARG_TEXT && a.type != KINO__ARG_JSON)
        return KINO_NO_INT;
    kino_str value = kino__string_pool_text(&self->texts, (kino_strid)a.value);
    return kino__json_to_int(value, &number) ? number : KINO_NO_INT;
}

static void free_text(kino__text *text)
{
    args_text *self = (args_text *)text;
    kino__string_pool_deinit(&self->texts);
    kino__buffer_deinit(&self->bytes);
    kino__vec_deinit(&self->shared);
    kino__vec_deinit(&self->ends);
    kino__buffer_deinit(&self->made);
    free(self);
}

/* Kernels of one shape share most of their arguments: whoever reads many need not format them. */
static void make_shared(args_text *self)
{
    kino__buffer one = {0};
    for (size_t i = 0; i < self->shared.count && self->shared.count <= MADE_MOST; i++) {
        one.size = 0;
        kino__buffer_add(&one, KINO__STR("{")); /* no comma in front of the first */
        add_members(self, self->shared.items[i], &one);
        if (!one.failed)
            kino__buffer_add(&self->made, (kino_str){one.data + 1, one.size - 1});
        size_t *end = one.failed || self->made.failed ? NULL : kino__vec_add(&self->ends);
        if (!end)
            break;
        *end = self->made.size;
    }
    kino__buffer_deinit(&one);
}

kino__text *kino__event_args_text_take(kino__event_args *args, kino__string_pool *texts)
{
    args_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){.cursor_new = kino__made_cursor_new,
                              .cursor_free = kino__made_cursor_free,
                              .free = free_text,
                              .args = make_args,
                              .arg_int = get_int};
    self->texts = *texts;
    self->bytes = args->bytes;
    self->correlation = args->ids[CORRELATION];
    kino__string_pool_init(texts, NULL);
    args->bytes = (kino__buffer){0};
    memcpy(&self->shared, &args->shared, sizeof self->shared);
    memset(&args->shared, 0, sizeof args->shared);
    kino__event_args_deinit(args);
    make_shared(self);
    return &self->text;
}
