/* perfetto_args.c - arguments, made of their packet when somebody asks: the text of the trace. */
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/json_out.h"
#include "reader/perfetto_internal.h"
#include "store/text_sources.h"

enum { DEPTH_MOST = 64, ARGS_MOST = 4 << 20 };

typedef struct perfetto_text {
    kino__text text;
    kino__perfetto_data *data;
    kino__text *typed; /* arguments that no packet has */
} perfetto_text;

/* Where an argument is being made. */
typedef struct maker {
    const kino__perfetto_data *data;
    uint32_t generation;
    kino__buffer *out;
    bool has_correlation; /* among what was made */
} maker;

/* What is kept elsewhere; NULL: it is not there, or so much has been made already that a few bytes
 * must be asking for the same large text again and again. */
static const kino__perfetto_entry *find(const maker *m, kino__perfetto_table table, uint64_t iid)
{
    return m->out->size < ARGS_MOST ? kino__perfetto_find(m->data, m->generation, table, iid)
                                    : NULL;
}

static kino_str interned(const maker *m, kino__perfetto_table table, uint64_t iid)
{
    const kino__perfetto_entry *entry = find(m, table, iid);
    return entry ? entry->name : (kino_str){"", 0};
}

/* -- members: Kineto's blanks behind the colon and between members -- */

static void add_key(maker *m, kino_str key)
{
    if (m->out->size > 1)
        kino__buffer_add(m->out, KINO__STR(", "));
    kino__json_add_string(m->out, key);
    kino__buffer_add(m->out, KINO__STR(": "));
}

static void add_text(maker *m, const char *key, kino_str text)
{
    add_key(m, kino__str_from(key));
    kino__json_add_string(m->out, text);
}

static void add_int(maker *m, const char *key, int64_t value)
{
    kino__json json = {.out = m->out};
    add_key(m, kino__str_from(key));
    kino__json_int(&json, value);
}

static void add_uint(maker *m, const char *key, uint64_t value)
{
    kino__json json = {.out = m->out};
    add_key(m, kino__str_from(key));
    kino__json_uint(&json, value);
}

/* -- values -- */

/* JSON has no words for these. */
static void add_real(kino__buffer *out, double value)
{
    kino__json json = {.out = out};
    if (value != value)
        kino__buffer_add(out, KINO__STR("\"NaN\""));
    else if (value - value != 0)
        kino__buffer_add(out, value > 0 ? KINO__STR("\"Infinity\"") : KINO__STR("\"-Infinity\""));
    else
        kino__json_double(&json, value);
}

static void add_pointer(kino__buffer *out, uint64_t value)
{
    kino__buffer_printf(out, "\"0x%llx\"", (unsigned long long)value);
}

static void add_annotation_value(maker *m, kino_str message, int depth);

static kino_str annotation_name(const maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    kino_str name = {"", 0};
    while (kino__proto_next(&in, &f)) {
        if (f.number == 10)
            name = kino__proto_text(&f);
        else if (f.number == 1 && !f.data)
            name = interned(m, KINO__PERFETTO_ARG_NAME, f.value);
    }
    return name;
}

/* All members of a dictionary, or elements of an array. */
static void add_nested(maker *m, kino_str message, uint32_t number, int depth)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    bool is_dict = number == 11, is_first = true;
    kino__buffer_add(m->out, is_dict ? KINO__STR("{") : KINO__STR("["));
    while (kino__proto_next(&in, &f)) {
        if (f.number != number)
            continue;
        if (!is_first)
            kino__buffer_add(m->out, KINO__STR(", "));
        is_first = false;
        if (is_dict) {
            kino__json_add_string(m->out, annotation_name(m, kino__proto_text(&f)));
            kino__buffer_add(m->out, KINO__STR(": "));
        }
        add_annotation_value(m, kino__proto_text(&f), depth + 1);
    }
    kino__buffer_add(m->out, is_dict ? KINO__STR("}") : KINO__STR("]"));
}

static void add_scalar(maker *m, const kino__proto_field *f)
{
    kino__json json = {.out = m->out};
    switch (f->number) {
    case 2:
        kino__json_bool(&json, kino__proto_uint(f) != 0);
        break;
    case 3:
        kino__json_uint(&json, kino__proto_uint(f));
        break;
    case 4:
        kino__json_int(&json, kino__proto_int(f));
        break;
    case 5:
        add_real(m->out, kino__proto_real(f));
        break;
    case 6:
        kino__json_string(&json, kino__proto_text(f));
        break;
    case 7:
        add_pointer(m->out, kino__proto_uint(f));
        break;
    case 9:
        kino__json_raw(&json, kino__proto_text(f));
        break;
    default:
        kino__json_string(&json, interned(m, KINO__PERFETTO_ARG_TEXT, kino__proto_uint(f)));
        break;
    }
}

/* The last value counts; one without any is an empty list, as PyTorch writes it. */
static void add_annotation_value(maker *m, kino_str message, int depth)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f, value = {0};
    while (kino__proto_next(&in, &f))
        if ((f.number >= 2 && f.number <= 7) || f.number == 9 || f.number == 11 || f.number == 12 ||
            f.number == 17)
            value = f;
    if (value.number == 11 || value.number == 12) {
        if (depth < DEPTH_MOST)
            add_nested(m, message, value.number, depth);
        else
            kino__buffer_add(m->out, KINO__STR("null"));
    } else if (value.number) {
        add_scalar(m, &value);
    } else {
        kino__buffer_add(m->out, KINO__STR("[]"));
    }
}

static void add_annotation(maker *m, kino_str message)
{
    kino_str name = annotation_name(m, message);
    m->has_correlation |= kino__str_is(name, "correlation");
    add_key(m, name);
    add_annotation_value(m, message, 0);
}

/* -- TrackEvents -- */

static void add_location(maker *m, kino_str message)
{
    kino_str file = kino__perfetto_member(message, 2), function = kino__perfetto_member(message, 3);
    uint64_t line = kino__perfetto_member_uint(message, 4);
    if (file.size)
        add_text(m, "source file", file);
    if (function.size)
        add_text(m, "source function", function);
    if (line)
        add_uint(m, "source line", line);
}

static void add_interned_location(maker *m, uint64_t iid)
{
    const kino__perfetto_entry *entry = find(m, KINO__PERFETTO_LOCATION, iid);
    if (entry)
        add_location(m, entry->message);
}

static void add_log(maker *m, kino_str message)
{
    add_interned_location(m, kino__perfetto_member_uint(message, 1));
    add_text(m, "log message",
             interned(m, KINO__PERFETTO_LOG_BODY, kino__perfetto_member_uint(message, 2)));
}

static void add_corr_id(maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    int64_t value = KINO_NO_INT;
    while (kino__proto_next(&in, &f)) {
        kino_str inner = kino__proto_text(&f);
        if (f.number == 52 && value == KINO_NO_INT)
            value = kino__proto_int(&f);
        else if (f.number == 4 && kino__str_is(annotation_name(m, inner), "corr_id")) {
            uint64_t number = kino__perfetto_member_uint(inner, 3);
            value = (int64_t)(number ? number : kino__perfetto_member_uint(inner, 4));
        }
    }
    if (value != KINO_NO_INT)
        add_int(m, "correlation", value);
}

static void add_event(maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&in, &f)) {
        switch (f.number) {
        case 4:
            add_annotation(m, kino__proto_text(&f));
            break;
        case 5:
            add_interned_location(m, kino__perfetto_member_uint(kino__proto_text(&f), 1));
            break;
        case 21:
            add_log(m, kino__proto_text(&f));
            break;
        case 33:
            add_location(m, kino__proto_text(&f));
            break;
        case 34:
            add_interned_location(m, kino__proto_uint(&f));
            break;
        case 53:
            add_text(m, "correlation id", kino__proto_text(&f));
            break;
        case 54:
            add_text(m, "correlation id",
                     interned(m, KINO__PERFETTO_CORRELATION, kino__proto_uint(&f)));
            break;
        default:
            break;
        }
    }
    if (!m->has_correlation)
        add_corr_id(m, message);
}

/* -- work of GPUs -- */

static void add_sizes(maker *m, const char *key, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    uint64_t sizes[3] = {1, 1, 1};
    while (kino__proto_next(&in, &f))
        if (f.number >= 1 && f.number <= 3)
            sizes[f.number - 1] = kino__proto_uint(&f);
    add_key(m, kino__str_from(key));
    kino__buffer_printf(m->out, "[%llu, %llu, %llu]", (unsigned long long)sizes[0],
                        (unsigned long long)sizes[1], (unsigned long long)sizes[2]);
}

/* Kineto's words for what Perfetto calls otherwise. */
static kino_str kineto_key(kino_str name)
{
    static const char *const words[][2] = {
        {"device id", "device"},
        {"context id", "context"},
        {"stream id", "stream"},
        {"registers_per_thread", "registers per thread"},
        {"shared_mem_dynamic", "shared memory"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kino__str_is(name, words[i][0]))
            return kino__str_from(words[i][1]);
    return name;
}

static void add_launch_arg(maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f, value = {0};
    kino__json json = {.out = m->out};
    kino_str name = {"", 0};
    while (kino__proto_next(&in, &f)) {
        if (f.number == 1)
            name = interned(m, KINO__PERFETTO_KERNEL_ARG, kino__proto_uint(&f));
        else if (f.number == 2)
            name = kino__proto_text(&f);
        else
            value = f;
    }
    add_key(m, kineto_key(name));
    if (value.number == 3)
        kino__json_int(&json, kino__proto_int(&value));
    else if (value.number == 4)
        kino__json_uint(&json, kino__proto_uint(&value));
    else if (value.number == 5)
        add_real(m->out, kino__proto_real(&value));
    else if (value.number == 6)
        kino__json_string(&json, kino__proto_text(&value));
    else
        kino__json_string(&json, interned(m, KINO__PERFETTO_ARG_TEXT, kino__proto_uint(&value)));
}

static void add_launch(maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&in, &f)) {
        if (f.number == 1)
            add_sizes(m, "grid", kino__proto_text(&f));
        else if (f.number == 2)
            add_sizes(m, "block", kino__proto_text(&f));
        else if (f.number == 3)
            add_launch_arg(m, kino__proto_text(&f));
    }
}

/* Values are texts; what looks like a number was one. */
static void add_extra(maker *m, kino_str message)
{
    kino_str name = kino__perfetto_member(message, 1), value = kino__perfetto_member(message, 2);
    bool is_text = kino__str_is(name, "process_name") || kino__str_is(name, "arch");
    int64_t number;
    char text[KINO__DECIMAL_MAX];
    add_key(m, kineto_key(name));
    bool is_number = !is_text && kino__str_to_int(value, &number);
    /* "007" was none */
    if (is_number && kino__str_equal(value, (kino_str){text, kino__format_int(number, text)}))
        kino__buffer_add(m->out, value);
    else
        kino__json_add_string(m->out, value);
}

static void add_stage(maker *m, kino_str message)
{
    kino__proto in = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&in, &f)) {
        if (f.number == 6)
            add_extra(m, kino__proto_text(&f));
        else if (f.number == 21)
            add_launch(m, kino__proto_text(&f));
        else if (f.number == 10)
            add_uint(m, "submission id", kino__proto_uint(&f));
    }
}

/* -- the text -- */

static void add_members(const perfetto_text *self, uint64_t place, kino__buffer *out)
{
    kino__perfetto_packet packet;
    maker m = {.data = self->data, .out = out};
    kino_str bytes = kino__perfetto_packet_at(self->data, place - 1);
    if (!kino__perfetto_packet_read(bytes, &packet) && !bytes.size)
        return;
    m.generation = kino__perfetto_generation_at(self->data, packet.sequence_id, place - 1);
    if (packet.track_event.size)
        add_event(&m, packet.track_event);
    if (packet.gpu_stage.size)
        add_stage(&m, packet.gpu_stage);
}

/* Members that another text has made, without its braces. */
static void add_typed(const perfetto_text *self, uint64_t place, kino__buffer *out)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, self->typed);
    kino_str made = self->typed->args(self->typed, cursor.state, place);
    if (made.size > 2 && out->size > 1)
        kino__buffer_add(out, KINO__STR(", "));
    if (made.size > 2)
        kino__buffer_add(out, (kino_str){made.data + 1, made.size - 2});
    kino__text_cursor_deinit(&cursor);
}

static void add_place(const perfetto_text *self, uint64_t place, kino__buffer *out)
{
    if (place & KINO__PERFETTO_TYPED)
        add_typed(self, place & ~KINO__PERFETTO_TYPED, out);
    else if (place)
        add_members(self, place, out);
}

static kino_str make_args(const kino__text *text, void *cursor, uint64_t place)
{
    const perfetto_text *self = (const perfetto_text *)text;
    kino__buffer *out = cursor;
    if (!out || !place)
        return (kino_str){"", 0};
    out->size = 0;
    kino__buffer_add(out, KINO__STR("{"));
    /* What is merged may be merged itself: an end to a beginning, then the mark that it was cut. */
    uint64_t later[2];
    size_t count = 0;
    while (place & KINO__PERFETTO_MERGED && count < 2) {
        const uint64_t *both = self->data->merged.items + (place & ~KINO__PERFETTO_MERGED);
        later[count++] = both[1];
        place = both[0];
    }
    add_place(self, place, out);
    while (count > 0)
        add_place(self, later[--count], out);
    kino__buffer_add(out, KINO__STR("}"));
    return kino__made_cursor_end(out);
}

static void free_text(kino__text *text)
{
    perfetto_text *self = (perfetto_text *)text;
    if (self->typed)
        self->typed->free(self->typed);
    kino__perfetto_data_free(self->data);
    free(self);
}

void kino__perfetto_arg_text(kino__perfetto *p, const char *key, kino_str text)
{
    kino_strid name = kino__event_builder_text(&p->events, kino__str_from(key));
    kino__event_args_add(&p->args, name, KINO__ARG_TEXT,
                         kino__event_builder_text(&p->events, text));
}

void kino__perfetto_arg_int(kino__perfetto *p, const char *key, int64_t value)
{
    kino_strid name = kino__event_builder_text(&p->events, kino__str_from(key));
    kino__event_args_add(&p->args, name, KINO__ARG_INT, (uint64_t)value);
}

uint64_t kino__perfetto_args_end(kino__perfetto *p)
{
    uint64_t place = kino__event_args_end(&p->args, 0);
    return place ? place | KINO__PERFETTO_TYPED : 0;
}

kino__text *kino__perfetto_text_take(kino__perfetto *p)
{
    perfetto_text *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->text = (kino__text){.cursor_new = kino__made_cursor_new,
                              .cursor_free = kino__made_cursor_free,
                              .free = free_text,
                              .args = make_args};
    self->typed = kino__event_args_text_take(&p->args, &p->events.texts);
    if (!self->typed) {
        free(self);
        return NULL;
    }
    self->data = p->data;
    p->data = NULL;
    return &self->text;
}
