/* chrome_event.c - one row to the text of its event, in Kineto's layout and order of keys.
 *
 * What the columns say is written from the columns; an event that had more (unknown keys, numbers
 * finer than a nanosecond) is written from its source text. Texts are copied when they are fine as
 * they are, which is nearly always, and mended otherwise, so that the output is valid whatever the
 * input was.
 *
 * The texts of an event are looked at first, so that its size is known and it can be put together
 * with plain copies into room reserved once. */
#include "writer/chrome_event.h"

#include "base/decimal.h"
#include "base/json_out.h"
#include "store/args.h"
#include "writer/json_text.h"

enum { CATEGORY, NAME, PID, TID, ID };
enum { FIXED_ROOM = 512 }; /* more than keys and numbers of an event take */

#define PUT(p, literal) (memcpy(p, literal, sizeof(literal) - 1), (p) + sizeof(literal) - 1)

void kino__chrome_event_writer_init(kino__chrome_event_writer *writer, const kino__trace *trace)
{
    *writer = (kino__chrome_event_writer){.trace = trace};
    kino__text_cursor_init(&writer->cursor, trace->text);
}

void kino__chrome_event_writer_deinit(kino__chrome_event_writer *writer)
{
    kino__text_cursor_deinit(&writer->cursor);
    for (unsigned i = 0; i < KINO__CHROME_PIECES; i++)
        kino__buffer_deinit(&writer->scratch[i]);
}

/* In file order the next row is mostly of the same track. */
static const kino__track *track_of(kino__chrome_event_writer *w, uint32_t row)
{
    const kino__track *track = &w->trace->tracks.items[w->track];
    if (row - track->first >= track->count) {
        w->track = kino__trace_track_of(w->trace, row);
        track = &w->trace->tracks.items[w->track];
    }
    return track;
}

/* A piece of an event: bytes to copy, with quotes around them or not. No data: the key is
 * absent. */
typedef struct piece {
    kino_str text;
    bool is_quoted;
} piece;

typedef struct pieces {
    piece of[KINO__CHROME_PIECES];
    bool failed;
} pieces;

static void set_quoted(kino__chrome_event_writer *w, pieces *p, int which, kino_str text)
{
    const char *end = text.data + text.size;
    if (kino__json_plain_end(text.data, end) == end) {
        p->of[which] = (piece){text, true};
        return;
    }
    kino__buffer *scratch = &w->scratch[which];
    scratch->size = 0;
    kino__json_add_string(scratch, text);
    p->of[which] = (piece){kino__buffer_str(scratch), false};
    p->failed |= scratch->failed;
}

static void set_number(kino__chrome_event_writer *w, pieces *p, int which, int64_t number,
                       bool is_quoted)
{
    kino__buffer *scratch = &w->scratch[which];
    scratch->size = 0;
    char *to = kino__buffer_reserve(scratch, KINO__DECIMAL_MAX);
    if (to)
        scratch->size = kino__format_int(number, to);
    p->of[which] = (piece){kino__buffer_str(scratch), is_quoted};
    p->failed |= scratch->failed;
}

/* A label that is not JSON becomes a text: repaired, it might be that of another track. */
static void set_raw(kino__chrome_event_writer *w, pieces *p, int which, kino_str label)
{
    kino__buffer *scratch = &w->scratch[which];
    scratch->size = 0;
    kino__json_sanitize(label, scratch);
    if (!scratch->failed && !kino__str_equal(kino__buffer_str(scratch), label)) {
        set_quoted(w, p, which, label);
        return;
    }
    p->of[which] = (piece){kino__buffer_str(scratch), false};
    p->failed |= scratch->failed;
}

static void set_label(kino__chrome_event_writer *w, pieces *p, int which, const kino__label *label,
                      bool is_text)
{
    switch (label->kind) {
    case KINO__LABEL_INT:
        set_number(w, p, which, label->number, is_text);
        break;
    case KINO__LABEL_TEXT:
        set_quoted(w, p, which, kino__trace_string(w->trace, label->text));
        break;
    case KINO__LABEL_RAW:
        set_raw(w, p, which, kino__trace_string(w->trace, label->text));
        break;
    case KINO__LABEL_NONE:
        break;
    }
}

static void set_id(kino__chrome_event_writer *w, pieces *p, uint32_t row)
{
    const kino__trace *trace = w->trace;
    if (!kino__phase_has_id(trace->phase[row]) || trace->bind[row] == KINO__BIND_NONE)
        return;
    if (trace->flags[row] & KINO__FLAG_ID_TEXT)
        set_quoted(w, p, ID, kino__trace_string(trace, trace->bind[row]));
    else
        set_number(w, p, ID, kino__trace_bind_id(trace, row), false);
}

static pieces collect(kino__chrome_event_writer *w, uint32_t row)
{
    const kino__trace *trace = w->trace;
    const kino__track *track = track_of(w, row);
    pieces p = {0};
    if (trace->category[row] != KINO__CATEGORY_NONE)
        set_quoted(w, &p, CATEGORY, kino__trace_category_text(trace, trace->category[row]));
    if (trace->name[row] != KINO_NO_STRING)
        set_quoted(w, &p, NAME, kino__trace_string(trace, trace->name[row]));
    set_label(w, &p, PID, &track->pid, trace->flags[row] & KINO__FLAG_PID_TEXT);
    set_label(w, &p, TID, &track->tid, trace->flags[row] & KINO__FLAG_TID_TEXT);
    set_id(w, &p, row);
    return p;
}

static char *reserve(kino__buffer *out, pieces *p)
{
    size_t room = FIXED_ROOM;
    for (unsigned i = 0; i < KINO__CHROME_PIECES; i++)
        room += p->of[i].text.size;
    out->failed |= p->failed;
    return kino__buffer_reserve(out, room);
}

static char *put_piece(char *at, const piece *what)
{
    *at = '"';
    at += what->is_quoted;
    memcpy(at, what->text.data, what->text.size);
    at += what->text.size;
    *at = '"';
    return at + what->is_quoted;
}

#define PUT_KEY(at, key, what)                                                                     \
    ((what)->text.data ? put_piece(PUT(at, ", \"" key "\": "), what) : (at))

static char *put_phase(char *at, uint8_t phase)
{
    at = PUT(at, "\n  {\n    \"ph\": ");
    if (phase < 0x20 || phase >= 0x7f || phase == '"' || phase == '\\')
        return PUT(at, "\"?\""); /* no reader lets it in; never write it either */
    *at++ = '"';
    *at++ = (char)phase;
    *at++ = '"';
    return at;
}

static char *put_marks(char *at, uint8_t flags)
{
    unsigned scope = (unsigned)(flags & KINO__FLAG_SCOPE) >> KINO__FLAG_SCOPE_SHIFT;
    if (scope) {
        at = PUT(at, ", \"s\": \"");
        *at++ = " tpg"[scope];
        *at++ = '"';
    }
    return flags & KINO__FLAG_BP ? PUT(at, ", \"bp\": \"e\"") : at;
}

/* The time as the file counts it. Unsigned, since a damaged base may be anything. */
static int64_t written_ts(const kino__trace *trace, uint32_t row)
{
    return (int64_t)((uint64_t)trace->ts[row] + (uint64_t)trace->origin_ns -
                     (uint64_t)trace->base_ns);
}

/* An event from its columns. */
static void add_row(kino__chrome_event_writer *w, uint32_t row, uint8_t phase, kino__buffer *out)
{
    const kino__trace *trace = w->trace;
    pieces p = collect(w, row);
    char *at = reserve(out, &p);
    if (!at)
        return;
    at = put_phase(at, phase);
    at = PUT_KEY(at, "id", &p.of[ID]);
    at = PUT_KEY(at, "cat", &p.of[CATEGORY]);
    at = PUT_KEY(at, "name", &p.of[NAME]);
    at = PUT_KEY(at, "pid", &p.of[PID]);
    at = PUT_KEY(at, "tid", &p.of[TID]);
    at = put_marks(at, trace->flags[row]);
    if (trace->ts[row] != KINO_NO_TIME) {
        at = PUT(at, ",\n    \"ts\": ");
        at += kino__format_us(written_ts(trace, row), at);
    }
    if (trace->dur[row] != KINO_NO_TIME && phase != 'B') {
        at = PUT(at, ", \"dur\": ");
        at += kino__format_us(trace->dur[row], at);
    }
    if (kino__trace_place(trace, row)) {
        at = PUT(at, ",\n    \"args\": ");
        out->size = (size_t)(at - out->data);
        kino__json_sanitize(kino__args_text(trace, row, &w->cursor), out);
        at = kino__buffer_reserve(out, FIXED_ROOM);
        if (!at)
            return;
    }
    at = PUT(at, "\n  },");
    out->size = (size_t)(at - out->data);
}

/* An event from its source text; false when the text cannot be had. */
static bool add_source(kino__chrome_event_writer *w, const kino__odd *odd, kino__buffer *out)
{
    kino_str text = odd ? kino__text_read(&w->cursor, odd->a, odd->b) : (kino_str){"", 0};
    if (!text.size)
        return false;
    kino__buffer_add(out, KINO__STR("\n  "));
    kino__json_sanitize(text, out);
    kino__buffer_add(out, KINO__STR(","));
    return true;
}

/* The end of a pair whose own text is gone: what the row knows of it. */
static void add_end(kino__chrome_event_writer *w, uint32_t row, kino__buffer *out)
{
    const kino__trace *trace = w->trace;
    pieces p = collect(w, row);
    char *at = reserve(out, &p);
    if (!at)
        return;
    at = put_phase(at, 'E');
    at = PUT_KEY(at, "pid", &p.of[PID]);
    at = PUT_KEY(at, "tid", &p.of[TID]);
    at = PUT(at, ",\n    \"ts\": ");
    at += kino__format_us((int64_t)((uint64_t)written_ts(trace, row) + (uint64_t)trace->dur[row]),
                          at);
    at = PUT(at, "\n  },");
    out->size = (size_t)(at - out->data);
}

static const kino__odd *odd_of(const kino__trace *trace, uint32_t row, kino__odd_kind kind)
{
    return trace->flags[row] & KINO__FLAG_ODD ? kino__trace_odd(trace, trace->number[row], kind)
                                              : NULL;
}

void kino__chrome_event_write(kino__chrome_event_writer *w, uint32_t row, kino__buffer *out)
{
    const kino__trace *trace = w->trace;
    bool is_pair = trace->flags[row] & KINO__FLAG_PAIR;
    if (!add_source(w, odd_of(trace, row, KINO__ODD_TEXT), out))
        add_row(w, row, is_pair ? 'B' : trace->phase[row], out);
    if (is_pair && !add_source(w, odd_of(trace, row, KINO__ODD_END), out))
        add_end(w, row, out);
}
