/* clock_file.c - see the header. Numbers only: fields in quotes are skipped. */
#include "transform/clock_file.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"

typedef enum column { RANK, OFFSET, DRIFT, AT, COLUMNS } column;
enum { MOST_FIELDS = 64, MOST_DIGITS = 40 };

typedef struct parser {
    const char *name;
    kino_str rest;
    uint32_t line;
    size_t place[COLUMNS]; /* of each column among the fields */
    kino_str fields[MOST_FIELDS];
    size_t count;
    kino_error *err;
} parser;

static kino_status fail(const parser *p, const char *what)
{
    return kino__fail_file(p->err, KINO_FORMAT, "read", p->name, "line %u: %s", p->line, what);
}

/* The next field of a line, which ends at a comma, a line end, or the quote that closes it. */
static kino_str next_field(kino_str *line)
{
    bool is_quoted = line->size && line->data[0] == '"';
    size_t size = 0;
    bool is_open = false;
    while (size < line->size && (is_open || line->data[size] != ',')) {
        is_open ^= is_quoted && line->data[size] == '"';
        size++;
    }
    kino_str field = {line->data, size};
    size_t used = size + (size < line->size);
    *line = (kino_str){line->data + used, line->size - used};
    return field;
}

/* False at the end of the text. */
static bool next_line(parser *p)
{
    if (p->rest.size == 0)
        return false;
    const char *end = memchr(p->rest.data, '\n', p->rest.size);
    kino_str line = {p->rest.data, end ? (size_t)(end - p->rest.data) : p->rest.size};
    size_t used = line.size + (end != NULL);
    p->rest = (kino_str){p->rest.data + used, p->rest.size - used};
    line.size -= line.size && line.data[line.size - 1] == '\r';
    p->line++;
    p->count = 0;
    while (p->count < MOST_FIELDS && (line.size || p->count == 0))
        p->fields[p->count++] = next_field(&line);
    return true;
}

static kino_status read_head(parser *p)
{
    static const char *const names[] = {"rank", "offset", "drift", "at"};
    bool has_line = next_line(p);
    for (size_t c = 0; c < COLUMNS; c++) {
        p->place[c] = MOST_FIELDS;
        for (size_t i = 0; has_line && i < p->count; i++)
            if (kino__str_is(p->fields[i], names[c]))
                p->place[c] = i;
        if (p->place[c] == MOST_FIELDS)
            return fail(p, "columns rank, offset, drift and at expected (as written by 'kino "
                           "analyze clock-alignment --format csv')");
    }
    return KINO_OK;
}

static kino_str field_of(const parser *p, column c)
{
    return p->place[c] < p->count ? p->fields[p->place[c]] : (kino_str){"", 0};
}

static bool read_real(kino_str text, double *out)
{
    char digits[MOST_DIGITS];
    if (text.size == 0 || text.size >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    char *end;
    *out = strtod(digits, &end);
    return *end == '\0' && isfinite(*out);
}

/* 52 days: a double still has each ns of it, so that times keep their order. */
static bool is_time(int64_t value)
{
    const int64_t most = INT64_C(1) << 52;
    return value >= -most && value <= most;
}

static kino_status read_clock(parser *p, kino__clock *out)
{
    const double most_drift = 1e5; /* ppm: times keep their order */
    kino_str offset = field_of(p, OFFSET), at = field_of(p, AT);
    *out = (kino__clock){.index = KINO_NO_INT, .reason = KINO__CLOCK_NO_CALLS};
    if (!kino__str_to_int(field_of(p, RANK), &out->rank))
        return fail(p, "rank must be an integer");
    if (offset.size == 0)
        return KINO_OK;
    out->reason = KINO__CLOCK_ALIGNED;
    if (!kino__str_to_int(offset, &out->line.offset) || !is_time(out->line.offset))
        return fail(p, "offset must be nanoseconds");
    if (!read_real(field_of(p, DRIFT), &out->line.drift) || fabs(out->line.drift) > most_drift)
        return fail(p, "drift must be parts per million");
    out->line.drift /= 1e6;
    if (at.size && (!kino__str_to_int(at, &out->line.at) || !is_time(out->line.at)))
        return fail(p, "at must be nanoseconds");
    return KINO_OK;
}

kino_status kino__clock_file_parse(kino_str text, const char *name, kino__clocks *out,
                                   kino_error *err)
{
    parser p = {.name = name, .rest = text, .err = err};
    KINO_TRY(read_head(&p));
    while (next_line(&p)) {
        if (p.count == 1 && p.fields[0].size == 0)
            continue;
        kino__clock *clock = kino__vec_add(&out->items);
        if (!clock)
            return kino__fail_nomem(err);
        KINO_TRY(read_clock(&p, clock));
    }
    return KINO_OK;
}

kino_status kino__clock_file_read(const char *path, kino__clocks *out, kino_error *err)
{
    kino__file file;
    KINO_TRY(kino__file_open(path, &file, err));
    kino_status st = kino__clock_file_parse((kino_str){file.data, file.size}, path, out, err);
    kino__file_close(&file);
    return st;
}
