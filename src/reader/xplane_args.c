/* xplane_args.c - arguments of events, made of the file when they are asked for. */
#include <ctype.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "reader/xplane_internal.h"
#include "store/text_sources.h"

/* Values name texts that stand elsewhere: a few bytes each could ask for the same large one. */
enum { ARGS_MOST = 4 << 20 };

typedef struct xplane_text {
    kino__text text;
    kino__xspace *space;
    kino__text *typed; /* arguments that no event has */
} xplane_text;

typedef struct maker {
    const kino__xspace *space;
    const kino__xplane *plane;
    kino__buffer *out;
    bool frees; /* an allocator's event that gives memory back */
} maker;

/* -- members, with Kineto's blanks -- */

static void add_key(maker *m, kino_str key)
{
    if (m->out->size > 1)
        kino__buffer_add(m->out, KINO__STR(", "));
    kino__json_add_string(m->out, key);
    kino__buffer_add(m->out, KINO__STR(": "));
}

static void add_int(maker *m, const char *key, int64_t value)
{
    kino__json json = {.out = m->out};
    add_key(m, kino__str_from(key));
    kino__json_int(&json, value);
}

static void add_real(maker *m, double value)
{
    kino__json json = {.out = m->out};
    if (value - value != 0)
        kino__buffer_add(m->out, KINO__STR("\"not a number\""));
    else
        kino__json_double(&json, value);
}

static void add_value(maker *m, const kino__xstat *stat)
{
    kino__json json = {.out = m->out};
    switch (stat->value.number) {
    case 2:
        add_real(m, kino__proto_real(&stat->value));
        break;
    case 3:
        kino__json_uint(&json, kino__proto_uint(&stat->value));
        break;
    case 4:
        kino__json_int(&json, kino__proto_int(&stat->value));
        break;
    case 5:
    case 7:
        kino__json_string(&json, kino__xstat_text(m->plane, stat));
        break;
    default: /* bytes for programs; nothing was written for a value of 0 */
        if (stat->value.data)
            kino__buffer_printf(m->out, "\"%zu bytes\"", kino__proto_text(&stat->value).size);
        else
            kino__buffer_add(m->out, KINO__STR("0"));
        break;
    }
}

/* -- details: "regs:32 grid:1,1,1 block:256,1,1" -- */

static bool next_word(kino_str *rest, kino_str *key, kino_str *value)
{
    while (rest->size && rest->data[0] == ' ') {
        rest->data++;
        rest->size--;
    }
    if (!rest->size)
        return false;
    const char *end = memchr(rest->data, ' ', rest->size);
    size_t size = end ? (size_t)(end - rest->data) : rest->size;
    const char *colon = memchr(rest->data, ':', size);
    *key = (kino_str){rest->data, colon ? (size_t)(colon - rest->data) : size};
    *value = colon ? (kino_str){colon + 1, size - key->size - 1} : (kino_str){"", 0};
    rest->data += size;
    rest->size -= size;
    return true;
}

/* "16,1,1" as a list. */
static void add_sizes(maker *m, const char *key, kino_str value)
{
    for (size_t i = 0; i < value.size; i++)
        if (!isdigit((unsigned char)value.data[i]) && value.data[i] != ',')
            return;
    if (!value.size || value.size > 64 || value.data[0] == ',' || value.data[value.size - 1] == ',')
        return;
    kino__json json = {.out = m->out};
    add_key(m, kino__str_from(key));
    kino__buffer_add(m->out, KINO__STR("["));
    for (size_t i = 0, end; i < value.size; i = end + 1) {
        int64_t number;
        for (end = i; end < value.size && value.data[end] != ',';)
            end++;
        bool is_number = kino__str_to_int((kino_str){value.data + i, end - i}, &number);
        kino__buffer_add(m->out, i ? KINO__STR(", ") : KINO__STR(""));
        kino__json_int(&json, is_number ? number : 0);
    }
    kino__buffer_add(m->out, KINO__STR("]"));
}

static void add_kernel(maker *m, kino_str rest)
{
    kino_str key, value;
    int64_t number, shared = KINO_NO_INT;
    while (next_word(&rest, &key, &value)) {
        bool is_number = kino__str_to_int(value, &number);
        if (kino__str_is(key, "grid") || kino__str_is(key, "block"))
            add_sizes(m, kino__str_is(key, "grid") ? "grid" : "block", value);
        else if (kino__str_is(key, "regs") && is_number && number >= 0 && number <= 255)
            add_int(m, "registers per thread", number);
        else if ((kino__str_is(key, "static_shared") || kino__str_is(key, "dynamic_shared") ||
                  kino__str_is(key, "group_mem")) &&
                 is_number && number >= 0 && number <= INT32_MAX)
            shared = (shared == KINO_NO_INT ? 0 : shared) + number;
        else if (kino__str_is(key, "occ_pct") && is_number && number > 0)
            add_int(m, "est. achieved occupancy %", number);
    }
    if (shared != KINO_NO_INT)
        add_int(m, "shared memory", shared);
}

/* "kind_src:pinned kind_dst:device size:64 dest:0 async:1", "num_bytes:64" */
static void add_copy(maker *m, kino_str rest)
{
    kino_str key, value;
    int64_t number;
    while (next_word(&rest, &key, &value))
        if ((kino__str_is(key, "size") || kino__str_is(key, "num_bytes")) &&
            kino__str_to_int(value, &number))
            add_int(m, "bytes", number);
}

/* -- values of an event -- */

/* Kineto's word for it, if it has one, besides its own. */
static void add_kineto(maker *m, const kino__xstat *stat)
{
    int64_t value = kino__xstat_int(stat);
    switch (stat->name->kind) {
    case KINO__XSTAT_CORRELATION:
        add_int(m, "correlation", value);
        break;
    case KINO__XSTAT_KERNEL:
        add_kernel(m, kino__xstat_text(m->plane, stat));
        break;
    case KINO__XSTAT_MEMCPY:
    case KINO__XSTAT_MEMSET:
    case KINO__XSTAT_MEMSET_OLD:
        add_copy(m, kino__xstat_text(m->plane, stat));
        break;
    case KINO__XSTAT_ALLOCATED:
        add_int(m, "Total Allocated", value);
        break;
    case KINO__XSTAT_RESERVED:
        add_int(m, "Total Reserved", value);
        break;
    case KINO__XSTAT_ALLOCATION:
        add_int(m, "Bytes", m->frees && value > 0 ? -value : value);
        break;
    case KINO__XSTAT_ADDRESS:
        add_int(m, "Addr", value);
        break;
    default:
        break;
    }
}

static void add_stat(maker *m, kino_str message)
{
    kino__xstat stat = kino__xstat_read(m->plane, message);
    if (!stat.name || stat.name->kind == KINO__XSTAT_HLO)
        return;
    if (stat.name->kind == KINO__XSTAT_ALLOCATOR) {
        kino_str name = kino__xstat_text(m->plane, &stat);
        add_int(m, "Device Type", kino__str_contains(name, KINO__STR("GPU")) ? 1 : 0);
    }
    add_key(m, stat.name->name);
    add_value(m, &stat);
    add_kineto(m, &stat);
}

static void add_stats(maker *m, kino_str message, uint32_t number)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    while (m->out->size < ARGS_MOST && kino__proto_next(&in, &f))
        if (f.number == number)
            add_stat(m, kino__proto_text(&f));
}

static int64_t name_id(kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    int64_t id = 0;
    while (kino__proto_next(&in, &f))
        if (f.number == 1)
            id = kino__proto_int(&f);
    return id;
}

/* The frame at this offset: an event of a line. */
static kino_str event_at(const kino__xspace *space, uint64_t offset)
{
    kino__proto m = kino__proto_start(space->bytes);
    kino__proto_field f;
    m.at += offset;
    return kino__proto_next(&m, &f) ? kino__proto_text(&f) : (kino_str){"", 0};
}

static void add_event(maker *m, uint64_t offset)
{
    enum { CONSTANTS_MOST = 1 << 16 };
    kino_str message = event_at(m->space, offset);
    const kino__xline *line = kino__xspace_line_at(m->space, offset);
    const kino__xname *name = kino__xplane_name(m->plane, name_id(message));
    kino__json json = {.out = m->out};
    m->frees = name && kino__str_is(name->name, "MemoryDeallocation");
    if (line && line->device != KINO_NO_INT)
        add_int(m, "device", line->device);
    if (line && line->stream != KINO_NO_INT)
        add_int(m, "stream", line->stream);
    add_stats(m, message, 4);
    if (name && name->message.size <= CONSTANTS_MOST)
        add_stats(m, name->message, 5);
    if (name && name->display.size && !kino__str_equal(name->display, name->name)) {
        add_key(m, KINO__STR("long_name"));
        kino__json_string(&json, name->name);
    }
}

/* -- the text -- */

static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const xplane_text *self = (const xplane_text *)text;
    kino__buffer *out = cursor;
    if (!out || !place)
        return (kino_str){"", 0};
    if (place & KINO__XPLANE_TYPED)
        return self->typed->args(self->typed, cursor, place & ~KINO__XPLANE_TYPED);
    maker m = {
        .space = self->space, .plane = kino__xspace_plane_at(self->space, place - 1), .out = out};
    out->size = 0;
    kino__buffer_add(out, KINO__STR("{"));
    if (m.plane)
        add_event(&m, place - 1);
    if (out->size <= 1)
        return (kino_str){"", 0};
    kino__buffer_add(out, KINO__STR("}"));
    return kino__made_cursor_end(out);
}

static void free_text(kino__text *text)
{
    xplane_text *self = (xplane_text *)text;
    if (self->typed)
        self->typed->free(self->typed);
    kino__xspace_free(self->space);
    free(self);
}

kino__text *kino__xplane_text_take(kino__xreader *r)
{
    xplane_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){.cursor_new = kino__made_cursor_new,
                              .cursor_free = kino__made_cursor_free,
                              .free = free_text,
                              .args = make_args};
    self->typed = kino__event_args_text_take(&r->args, &r->events.texts);
    if (!self->typed) {
        free(self);
        return NULL;
    }
    self->space = r->space;
    r->space = NULL;
    return &self->text;
}
