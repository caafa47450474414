/* ring_json.c - a recording as Chrome JSON with the keys of Kineto, streamed.
 *
 * Most events are spans without arguments, and they have a way of their own (add_span). What is the
 * same in all spans of a call site is put together once, what is the same in all events of a thread
 * is kept from the event before, and so are the seconds of the time; so an event is three copies
 * and a few groups of three digits. */
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_out.h"
#include "wire/ring.h"

enum {
    BLOCK = 1 << 18,   /* bytes handed on at a time: they stay in the cache */
    EVENT_ROOM = 4096, /* for an event without its name and arguments */
    LABEL_MAX = 256,   /* pid and tid as text */
    COPY_STEP = 32,    /* bytes that are copied at once, where there is room for more */
};

/* What comes before the name of a span. */
#define SPAN_HEAD ",\n  {\"ph\": \"X\", "
enum { SPAN_HEAD_SIZE = sizeof SPAN_HEAD - 1 };
#define DUR_KEY      ", \"dur\": "
#define SEQUENCE_KEY ", \"args\": {\"Sequence number\":"
#define FORWARD_KEY  ",\"Fwd thread id\":"

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
    /* by text: SPAN_HEAD, "cat": "...", "name": "... without the last quote */
    KINO__VEC(fragment) fragments;
    kino__buffer fragment_text; /* COPY_STEP more at the end */
    kino__buffer scratch;
    /* the label of the row of the last event, with the key of the time behind it */
    int64_t pid, tid;
    char label[LABEL_MAX];
    size_t label_size; /* 0: none yet */
    uint64_t seconds;  /* of the last time, and their digits */
    char seconds_text[COPY_STEP];
    size_t seconds_size;
    char triples[1000][4]; /* "000" and so on */
} stream;

static void flush(stream *s)
{
    if (s->size && s->status == KINO_OK)
        s->status = kino__sink_write(s->sink, (kino_str){s->data, s->size}, s->err);
    s->size = 0;
}

static bool make_room(stream *s, size_t bytes)
{
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

/* Room for so many bytes in one piece. */
static inline bool has_room(stream *s, size_t bytes)
{
    return __builtin_expect(s->capacity - s->size >= bytes, 1) ? s->status == KINO_OK
                                                               : make_room(s, bytes);
}

static void put(stream *s, kino_str text)
{
    memcpy(s->data + s->size, text.data, text.size);
    s->size += text.size;
}
#define PUT(s, literal) put((s), KINO__STR(literal))

static void put_number(stream *s, uint64_t value)
{
    s->size += kino__format_uint(value, s->data + s->size);
}

static void put_signed(stream *s, int64_t value)
{
    if (value < 0)
        PUT(s, "-");
    put_number(s, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* -- times: microseconds with three decimals, built in place; there is always room */

static void make_triples(stream *s)
{
    for (int i = 0; i < 1000; i++) {
        s->triples[i][0] = (char)('0' + i / 100);
        s->triples[i][1] = (char)('0' + i / 10 % 10);
        s->triples[i][2] = (char)('0' + i % 10);
    }
}

static inline char *add_triple(const stream *s, char *at, uint64_t value)
{
    memcpy(at, s->triples[value], 4);
    return at + 3;
}

/* Less than 1000, without zeros in front. */
static inline char *add_small(const stream *s, char *at, uint64_t value)
{
    size_t skip = value < 10 ? 2 : value < 100 ? 1 : 0;
    memcpy(at, s->triples[value] + skip, 3); /* up to 2 bytes of its neighbour */
    return at + 3 - skip;
}

static char *add_seconds(stream *s, char *at, uint64_t seconds)
{
    if (seconds != s->seconds) {
        s->seconds = seconds;
        s->seconds_size = kino__format_uint(seconds, s->seconds_text);
    }
    memcpy(at, s->seconds_text, COPY_STEP);
    return at + s->seconds_size;
}

static inline char *add_time(stream *s, char *at, int64_t ns)
{
    if (__builtin_expect(ns < 0, 0))
        *at++ = '-';
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, us = value / 1000;
    if (us < 1000) {
        at = add_small(s, at, us);
    } else if (us < 1000000) {
        at = add_small(s, at, us / 1000);
        at = add_triple(s, at, us % 1000);
    } else {
        uint32_t rest = (uint32_t)(us % 1000000);
        at = add_seconds(s, at, us / 1000000);
        at = add_triple(s, at, rest / 1000);
        at = add_triple(s, at, rest % 1000);
    }
    *at++ = '.';
    return add_triple(s, at, value - us * 1000);
}

static void put_time(stream *s, int64_t ns)
{
    s->size = (size_t)(add_time(s, s->data + s->size, ns) - s->data);
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
        kino__buffer_add(&s->fragment_text, KINO__STR(SPAN_HEAD));
        add_fragment(&s->fragment_text, name->category, name->name);
        s->fragments.items[i] = (fragment){before, (uint32_t)(s->fragment_text.size - before)};
    }
    s->fragments.count = count;
    static const char more[COPY_STEP];
    kino__buffer_add(&s->fragment_text, (kino_str){more, sizeof more});
    return !s->fragment_text.failed;
}

static inline fragment fragment_of(const stream *s, uint32_t text)
{
    return s->fragments.items[text < s->fragments.count ? text : 0];
}

static void put_name(stream *s, const kino__ring_event *event)
{
    if (event->text) {
        fragment f = fragment_of(s, event->text);
        if (has_room(s, f.size + EVENT_ROOM))
            put(s, (kino_str){s->fragment_text.data + f.offset + SPAN_HEAD_SIZE,
                              f.size - SPAN_HEAD_SIZE});
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
    put(s, (kino_str){&SPAN_HEAD[1], SPAN_HEAD_SIZE - 1});
    s->data[s->size - 4] = event->phase;
    put_name(s, event);
    if (s->status != KINO_OK)
        return false;
    if (event->is_numbered)
        put_number(s, event->number);
    put_label(s, event);
    put_time(s, event->ts_ns);
    if (event->phase == 'X') {
        PUT(s, DUR_KEY);
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

/* -- spans without arguments but a sequence */

/* Whole steps, because bytes behind both may be used. */
static inline char *copy(char *to, const char *from, size_t size)
{
    for (size_t done = 0; done < size; done += COPY_STEP)
        memcpy(to + done, from + done, COPY_STEP);
    return to + size;
}

/* As kino__ring_add_args writes it. */
static char *add_sequence(char *at, const kino__ring_sequence *sequence)
{
    static const char number_key[2 * COPY_STEP] = SEQUENCE_KEY;
    static const char thread_key[COPY_STEP] = FORWARD_KEY;
    at = copy(at, number_key, sizeof SEQUENCE_KEY - 1);
    at += kino__format_uint(sequence->number, at);
    at = copy(at, thread_key, sizeof FORWARD_KEY - 1);
    at += kino__format_uint(sequence->forward_thread, at);
    *at++ = '}';
    return at;
}

static bool add_span(void *context, const kino__ring_span *span)
{
    static const char dur_key[COPY_STEP] = DUR_KEY;
    stream *s = context;
    bool is_known = s->has_events && s->label_size && s->tid == span->tid && s->pid == span->pid;
    if (__builtin_expect(!is_known, 0)) {
        kino__ring_event event = {.phase = 'X',
                                  .text = span->text,
                                  .pid = span->pid,
                                  .tid = span->tid,
                                  .ts_ns = span->ts_ns,
                                  .dur_ns = span->dur_ns,
                                  .place = span->place};
        return visit(s, &event);
    }
    fragment f = fragment_of(s, span->text);
    if (!has_room(s, f.size + EVENT_ROOM))
        return false;
    char *at = copy(s->data + s->size, s->fragment_text.data + f.offset, f.size);
    at = copy(at, s->label, s->label_size);
    at = add_time(s, at, span->ts_ns);
    at = copy(at, dur_key, sizeof DUR_KEY - 1);
    at = add_time(s, at, span->dur_ns);
    if (span->place)
        at = add_sequence(at, &span->sequence);
    *at++ = '}';
    s->size = (size_t)(at - s->data);
    return true;
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
    if (!kino__ring_each_span(s->image, visit, add_span, s) || !has_room(s, EVENT_ROOM))
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
    s.seconds = UINT64_MAX; /* none yet */
    s.data = malloc(s.capacity);
    make_triples(&s);
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
