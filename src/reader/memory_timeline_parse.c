/* memory_timeline_parse.c - the list of lists of numbers that PyTorch's memory timeline is.
 *
 *   [[-1, 1, 512, 7], [1696966047096061874, 2, 1024, 4], ...]
 *   ^ depth 1         ^ depth 2
 *
 * One pass, a byte at a time, so that pieces may end anywhere. Damage costs the record it is in. */
#include "base/json_chars.h"
#include "base/vec.h"
#include "reader/memory_timeline.h"

static void damage(kino__timeline_parser *p, kino__damage kind, uint64_t offset)
{
    kino__ledger_add(&p->ledger, kind, offset);
}

/* -- numbers */

static void number_byte(kino__timeline_parser *p, char c)
{
    if (p->has_blank) {
        p->is_bad = true; /* "1 2" */
    } else if (c == '-') {
        p->is_bad |= p->has_digit || p->is_negative;
        p->is_negative = true;
    } else {
        uint64_t digit = (uint64_t)(c - '0');
        p->has_digit = true;
        p->is_over |= p->magnitude > (INT64_MAX - digit) / 10;
        if (!p->is_over)
            p->magnitude = p->magnitude * 10 + digit;
    }
}

static void end_number(kino__timeline_parser *p)
{
    p->is_bad |= !p->has_digit || p->is_over || p->field_count == KINO__TIMELINE_FIELDS;
    if (!p->is_bad)
        p->fields[p->field_count++] =
            p->is_negative ? -(int64_t)p->magnitude : (int64_t)p->magnitude;
    p->magnitude = 0;
    p->has_digit = p->is_negative = p->is_over = p->has_blank = false;
}

/* -- records */

static void begin_record(kino__timeline_parser *p)
{
    if (p->number && p->commas == 0)
        damage(p, KINO__DAMAGE_MISSING_COMMA, p->offset);
    if (p->commas > (p->number ? 1 : 0))
        damage(p, KINO__DAMAGE_TRAILING_COMMA, p->offset);
    p->depth = 2;
    p->start = p->offset;
    p->commas = 0;
    p->in_garbage = false;
    p->field_count = 0;
    p->is_bad = false;
    p->magnitude = 0;
    p->has_digit = p->is_negative = p->is_over = p->has_blank = false;
}

static bool is_small(int64_t value)
{
    return value >= 0 && value <= KINO__TIMELINE_MOST;
}

static void end_record(kino__timeline_parser *p)
{
    const int64_t *f = p->fields;
    end_number(p);
    p->depth = 1;
    uint32_t number = p->number++;
    p->failed |= p->number >= KINO__TIMELINE_ELEMENTS;
    if (p->is_bad || p->field_count != KINO__TIMELINE_FIELDS || !is_small(f[1]) ||
        !is_small(f[3])) {
        damage(p, KINO__DAMAGE_BROKEN_EVENT, p->start);
        return;
    }
    kino__timeline_record *slot = kino__vec_add(&p->records);
    p->failed |= !slot;
    if (slot)
        *slot = (kino__timeline_record){f[0], f[2], number, (uint8_t)f[1], (uint8_t)f[3]};
}

static void record_byte(kino__timeline_parser *p, char c)
{
    if (c == '[') {
        p->is_bad = true;
        p->nested++;
    } else if (c == ']' && p->nested) {
        p->nested--;
    } else if (c == ']') {
        end_record(p);
    } else if (p->nested) {
        return;
    } else if (c == ',') {
        end_number(p);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        number_byte(p, c);
    } else if (kino__is_json_space(c)) {
        p->has_blank = p->has_digit || p->is_negative;
    } else {
        p->is_bad = true;
    }
}

/* -- the list */

static void garbage_byte(kino__timeline_parser *p)
{
    if (!p->in_garbage) {
        damage(p, KINO__DAMAGE_GARBAGE, p->offset);
        p->number += !p->has_ended; /* an element, though none of ours */
        p->failed |= p->number >= KINO__TIMELINE_ELEMENTS;
        p->commas = 0;
    }
    p->in_garbage = true;
}

static void list_byte(kino__timeline_parser *p, char c)
{
    if (kino__is_json_space(c))
        return;
    if (p->has_ended) {
        garbage_byte(p);
    } else if (c == '[') {
        begin_record(p);
    } else if (c == ',') {
        p->commas++;
        p->in_garbage = false;
    } else if (c == ']') {
        if (p->commas)
            damage(p, KINO__DAMAGE_TRAILING_COMMA, p->offset);
        p->has_ended = true;
        p->in_garbage = false;
    } else {
        garbage_byte(p);
    }
}

void kino__timeline_parse(kino__timeline_parser *p, kino_str piece)
{
    for (size_t i = 0; i < piece.size && !p->failed; i++, p->offset++) {
        char c = piece.data[i];
        if (p->depth == 2)
            record_byte(p, c);
        else if (p->depth == 1)
            list_byte(p, c);
        else if (c == '[')
            p->depth = 1; /* what is before it (a byte order mark) was looked at by sniff */
    }
}

void kino__timeline_parse_end(kino__timeline_parser *p)
{
    if (!p->has_ended)
        damage(p, KINO__DAMAGE_TRUNCATED, p->offset);
}

void kino__timeline_parser_deinit(kino__timeline_parser *p)
{
    kino__vec_deinit(&p->records);
}
