/* ring_json.c - a recording as Chrome JSON with the keys of Kineto, streamed.
 *
 * Most events are spans without arguments. What is the same in all spans of a call site is put
 * together once (category and name, escaped), what is the same in all events of a thread is kept
 * from the event before; so an event is three copies and two numbers. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "wire/ring.h"

enum {
    BLOCK = 1 << 20,   /* bytes handed on at a time */
    EVENT_ROOM = 4096, /* for an event without its name and arguments */
    LABEL_MAX = 256,   /* pid and tid as text */
};

/* -- top-level keys */

static const char *const drop_names[KINO__DROP_COUNT] = {
#define DROP_NAME(name, value, text) [KINO__DROP_##name] = (text),
    KINO__RING_DROP_MAP(DROP_NAME)
#undef DROP_NAME
};

static void add_drops(kino__json *json, const uint64_t dropped[KINO__DROP_SLOTS])
{
    for (int i = 0; i < KINO__DROP_COUNT; i++)
        if (dropped[i]) {
            kino__json_key(json, drop_names[i]);
            kino__json_uint(json, dropped[i]);
        }
}

static bool has_drops(const uint64_t dropped[KINO__DROP_SLOTS])
{
    for (int i = 0; i < KINO__DROP_COUNT; i++)
        if (dropped[i])
            return true;
    return false;
}

/* {} when nothing is missing. */
static void add_loss(const kino__ring_image *image, kino__buffer *out)
{
    uint64_t sums[KINO__DROP_SLOTS];
    memcpy(sums, image->meta.dropped, sizeof sums);
    for (size_t i = 0; i < image->threads.count; i++)
        for (int reason = 0; reason < KINO__DROP_COUNT; reason++)
            sums[reason] += image->threads.items[i].dropped[reason];
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    add_drops(&json, sums);
    if (image->damaged) {
        kino__json_key(&json, "damaged");
        kino__json_uint(&json, image->damaged);
    }
    if (image->open_count) {
        kino__json_key(&json, "open_spans");
        kino__json_uint(&json, image->open_count);
    }
    if (image->meta.state != KINO__RING_STOPPED) {
        kino__json_key(&json, "ended_without_stop");
        kino__json_bool(&json, true);
    }
    bool has_threads = false;
    for (size_t i = 0; i < image->threads.count; i++) {
        const kino__ring_thread *thread = &image->threads.items[i];
        if (!has_drops(thread->dropped))
            continue;
        if (!has_threads) {
            kino__json_key(&json, "threads");
            kino__json_begin_array(&json);
        }
        has_threads = true;
        kino__json_begin_object(&json);
        kino__json_key(&json, "tid");
        kino__json_uint(&json, thread->tid);
        add_drops(&json, thread->dropped);
        kino__json_end_object(&json);
    }
    if (has_threads)
        kino__json_end_array(&json);
    kino__json_end_object(&json);
}

/* Where the zones of the program are. */
static void add_sites(const kino__ring_image *image, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__json_begin_array(&json);
    for (size_t i = 1; i < image->names.count; i++) {
        const kino__ring_name *name = &image->names.items[i];
        if (!name->line || !name->category.size) /* made at run time, or a key of arguments */
            continue;
        kino__json_begin_object(&json);
        kino__json_key(&json, "name");
        kino__json_string(&json, name->name);
        kino__json_key(&json, "category");
        kino__json_string(&json, name->category);
        kino__json_key(&json, "file");
        kino__json_string(&json, name->file);
        kino__json_key(&json, "line");
        kino__json_uint(&json, name->line);
        kino__json_key(&json, "function");
        kino__json_string(&json, name->function);
        kino__json_end_object(&json);
    }
    kino__json_end_array(&json);
}

static void add_devices(const kino__ring_image *image, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__json_begin_array(&json);
    for (size_t i = 0; i < image->devices.count; i++)
        kino__json_raw(&json, image->devices.items[i]);
    kino__json_end_array(&json);
}

/* Keys that are ours to write. */
static bool is_reserved(kino_str key)
{
    static const char *const names[] = {"schemaVersion",       "deviceProperties", "traceEvents",
                                        "displayTimeUnit",     "traceName",        "kino_loss",
                                        "baseTimeNanoseconds", "kino_sites"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_is(key, names[i]))
            return true;
    return false;
}

void kino__ring_each_key(const kino__ring_image *image,
                         void (*add)(void *context, kino_str key, kino_str json), void *context)
{
    kino__buffer text = {0};
    add(context, KINO__STR("schemaVersion"), KINO__STR("1"));
    add_devices(image, &text);
    add(context, KINO__STR("deviceProperties"), kino__buffer_str(&text));
    for (size_t i = 0; i < image->keys.count; i++) {
        const kino__ring_key *key = &image->keys.items[i];
        kino__json json = {.out = &text};
        text.size = 0;
        kino__json_raw(&json, key->json);
        if (!is_reserved(key->key))
            add(context, key->key, kino__buffer_str(&text));
    }
    text.size = 0;
    add_loss(image, &text);
    add(context, KINO__STR("kino_loss"), kino__buffer_str(&text));
    text.size = 0;
    add_sites(image, &text);
    add(context, KINO__STR("kino_sites"), kino__buffer_str(&text));
    add(context, KINO__STR("displayTimeUnit"), KINO__STR("\"ms\""));
    text.size = 0;
    kino__buffer_printf(&text, "%lld", (long long)image->base_ns);
    add(context, KINO__STR("baseTimeNanoseconds"), kino__buffer_str(&text));
    kino__buffer_deinit(&text);
}

/* -- the stream */

typedef struct fragment {
    uint64_t offset;
    uint32_t size;
} fragment;

typedef struct stream {
    const kino__ring_image *image;
    kino__sink *sink;
    kino_error *err;
    kino_status status;
    char *data;
    size_t size, capacity;
    bool has_events;
    KINO__VEC(fragment) fragments; /* by text: "cat": "...", "name": "... without the last quote */
    kino__buffer fragment_text;
    kino__buffer scratch;
    /* the label of the row of the last event, with the key of the time behind it */
    int64_t pid, tid;
    char label[LABEL_MAX];
    size_t label_size; /* 0: none yet */
} stream;

static void flush(stream *s)
{
    if (s->size && s->status == KINO_OK)
        s->status = kino__sink_write(s->sink, (kino_str){s->data, s->size}, s->err);
    s->size = 0;
}

/* Room for so many bytes in one piece. */
static bool has_room(stream *s, size_t bytes)
{
    if (s->capacity - s->size >= bytes)
        return s->status == KINO_OK;
    flush(s);
    if (bytes > s->capacity) {
        char *more = realloc(s->data, bytes);
        if (!more) {
            s->status = kino__fail_nomem(s->err);
            return false;
        }
        s->data = more;
        s->capacity = bytes;
    }
    return s->status == KINO_OK;
}

static void put(stream *s, kino_str text)
{
    memcpy(s->data + s->size, text.data, text.size);
    s->size += text.size;
}
#define PUT(s, literal) put((s), KINO__STR(literal))

static char *put_digits(char *end, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

static void put_number(stream *s, uint64_t value)
{
    char text[24], *at = put_digits(text + sizeof text, value);
    put(s, (kino_str){at, (size_t)(text + sizeof text - at)});
}

static void put_signed(stream *s, int64_t value)
{
    if (value < 0)
        PUT(s, "-");
    put_number(s, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* ns as microseconds with three decimals. */
static void put_time(stream *s, int64_t ns)
{
    char text[32], *end = text + sizeof text;
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, rest = value % 1000;
    end[-1] = (char)('0' + rest % 10);
    end[-2] = (char)('0' + rest / 10 % 10);
    end[-3] = (char)('0' + rest / 100);
    end[-4] = '.';
    char *at = put_digits(end - 4, value / 1000);
    if (ns < 0)
        *--at = '-';
    put(s, (kino_str){at, (size_t)(end - at)});
}

/* -- fragments */

static void add_fragment(kino__buffer *out, kino_str category, kino_str name)
{
    kino__buffer_add(out, KINO__STR("\"cat\": "));
    kino__json_add_string(out, category);
    kino__buffer_add(out, KINO__STR(", \"name\": "));
    kino__json_add_string(out, name);
    if (!out->failed)
        out->size--; /* the last quote: a number may follow */
}

static bool make_fragments(stream *s)
{
    size_t count = s->image->names.count;
    if (!kino__vec_reserve(&s->fragments, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const kino__ring_name *name = &s->image->names.items[i];
        size_t before = s->fragment_text.size;
        add_fragment(&s->fragment_text, name->category, name->name);
        s->fragments.items[i] = (fragment){before, (uint32_t)(s->fragment_text.size - before)};
    }
    s->fragments.count = count;
    return !s->fragment_text.failed;
}

static void put_name(stream *s, const kino__ring_event *event)
{
    if (event->text) {
        fragment f = s->fragments.items[event->text < s->fragments.count ? event->text : 0];
        if (has_room(s, f.size + EVENT_ROOM))
            put(s, (kino_str){s->fragment_text.data + f.offset, f.size});
        return;
    }
    s->scratch.size = 0;
    add_fragment(&s->scratch, event->category, event->name);
    kino_str text = kino__buffer_str(&s->scratch);
    if (!event->category.size) /* metadata and our own instants have none */
        text = (kino_str){text.data + 11, text.size - 11};
    if (!s->scratch.failed && has_room(s, text.size + EVENT_ROOM))
        put(s, text);
}

/* -- events */

static void put_id(stream *s, kino_str text, int64_t number)
{
    if (!text.data) {
        put_signed(s, number);
        return;
    }
    PUT(s, "\"");
    put(s, text); /* only our own */
    PUT(s, "\"");
}

static void put_label(stream *s, const kino__ring_event *event)
{
    bool is_kept = !event->pid_text.data;
    if (is_kept && s->label_size && s->pid == event->pid && s->tid == event->tid) {
        put(s, (kino_str){s->label, s->label_size});
        return;
    }
    size_t before = s->size;
    PUT(s, "\", \"pid\": ");
    put_id(s, event->pid_text, event->pid);
    PUT(s, ", \"tid\": ");
    put_id(s, event->tid_text, event->tid);
    PUT(s, ", \"ts\": ");
    if (is_kept) {
        s->pid = event->pid;
        s->tid = event->tid;
        s->label_size = s->size - before;
        memcpy(s->label, s->data + before, s->label_size);
    }
}

static void put_args(stream *s, uint64_t place)
{
    s->scratch.size = 0;
    kino__ring_add_args(s->image, place, &s->scratch);
    if (s->scratch.failed)
        s->status = kino__fail_nomem(s->err);
    else if (has_room(s, s->scratch.size + EVENT_ROOM)) {
        PUT(s, ", \"args\": ");
        put(s, kino__buffer_str(&s->scratch));
    }
}

static bool visit(void *context, const kino__ring_event *event)
{
    stream *s = context;
    if (!has_room(s, EVENT_ROOM))
        return false;
    if (s->has_events)
        PUT(s, ",");
    s->has_events = true;
    PUT(s, "\n  {\"ph\": \"X\", ");
    s->data[s->size - 4] = event->phase;
    put_name(s, event);
    if (s->status != KINO_OK)
        return false;
    if (event->is_numbered)
        put_number(s, event->number);
    put_label(s, event);
    put_time(s, event->ts_ns);
    if (event->phase == 'X') {
        PUT(s, ", \"dur\": ");
        put_time(s, event->dur_ns);
    } else if (event->phase == 'i') {
        PUT(s, ", \"s\": \"t\"");
        s->data[s->size - 2] = event->scope;
    } else if (event->phase != 'M' && event->phase != 'C') {
        PUT(s, ", \"id\": ");
        put_number(s, event->id);
        if (event->phase == 'f')
            PUT(s, ", \"bp\": \"e\"");
    }
    if (event->place)
        put_args(s, event->place);
    PUT(s, "}");
    return s->status == KINO_OK;
}

/* -- the document */

static void put_key(void *context, kino_str key, kino_str json)
{
    stream *s = context;
    s->scratch.size = 0;
    kino__buffer_add(&s->scratch, KINO__STR("\n  "));
    kino__json_add_string(&s->scratch, key);
    kino__buffer_add(&s->scratch, KINO__STR(": "));
    kino__buffer_add(&s->scratch, json);
    kino__buffer_add(&s->scratch, KINO__STR(","));
    if (s->scratch.failed)
        s->status = kino__fail_nomem(s->err);
    else if (has_room(s, s->scratch.size))
        put(s, kino__buffer_str(&s->scratch));
}

static void put_document(stream *s, const char *name)
{
    if (!has_room(s, EVENT_ROOM))
        return;
    PUT(s, "{");
    kino__ring_each_key(s->image, put_key, s);
    if (!has_room(s, EVENT_ROOM))
        return;
    PUT(s, "\n  \"traceEvents\": [");
    if (!kino__ring_each(s->image, visit, s) || !has_room(s, EVENT_ROOM))
        return;
    PUT(s, "\n  ],\n  \"traceName\": ");
    s->scratch.size = 0;
    kino__json_add_string(&s->scratch, kino__str_from(name));
    if (!has_room(s, s->scratch.size + EVENT_ROOM))
        return;
    put(s, kino__buffer_str(&s->scratch));
    PUT(s, "\n}\n");
    flush(s);
}

kino_status kino__ring_write_json(const kino__ring_image *image, const char *name, kino__sink *sink,
                                  kino_error *err)
{
    stream s = {.image = image, .sink = sink, .err = err, .capacity = BLOCK};
    s.data = malloc(s.capacity);
    if (!s.data || !make_fragments(&s))
        s.status = kino__fail_nomem(err);
    else
        put_document(&s, name);
    if (s.status == KINO_OK && s.scratch.failed)
        s.status = kino__fail_nomem(err);
    free(s.data);
    kino__vec_deinit(&s.fragments);
    kino__buffer_deinit(&s.fragment_text);
    kino__buffer_deinit(&s.scratch);
    return s.status;
}
