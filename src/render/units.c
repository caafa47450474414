/* units.c - numbers and texts for people. */
#include "render/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/byte_size.h"
#include "base/json_out.h"
#include "base/printable.h"
#include "base/utf8.h"

static const struct {
    const char *name;
    uint64_t ns, below;
} duration_units[] = {
#define DURATION_UNIT(name, ns, below) {name, ns, below},
#include "render/units.def"
#undef DURATION_UNIT
};

enum { DURATION_UNITS = sizeof duration_units / sizeof *duration_units };

/* Four significant digits without useless zeros behind the point: 1.5, 12.34, 123.4, 1234. */
static void add_scaled(kino__buffer *out, double value)
{
    char text[32];
    int decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
    int size = snprintf(text, sizeof text, "%.*f", decimals, value);
    if (decimals) {
        while (size > 1 && text[size - 1] == '0')
            size--;
        if (text[size - 1] == '.')
            size--;
    }
    kino__buffer_add(out, (kino_str){text, (size_t)size});
}

void kino__format_duration(kino__buffer *out, int64_t ns)
{
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        kino__buffer_add(out, KINO__STR("-"));
    const uint64_t second = 1000000000u;
    size_t unit = 0;
    while (unit < DURATION_UNITS && size >= duration_units[unit].below)
        unit++;
    if (size < 1000) {
        kino__buffer_printf(out, "%" PRIu64 " ns", size);
    } else if (unit < DURATION_UNITS) {
        add_scaled(out, (double)size / (double)duration_units[unit].ns);
        kino__buffer_printf(out, " %s", duration_units[unit].name);
    } else if (size < 3600 * second) {
        kino__buffer_printf(out, "%" PRIu64 " min %02" PRIu64 " s", size / (60 * second),
                            size / second % 60);
    } else {
        kino__buffer_printf(out, "%" PRIu64 " h %02" PRIu64 " min", size / (3600 * second),
                            size / (60 * second) % 60);
    }
}

void kino__format_bytes(kino__buffer *out, int64_t bytes)
{
    double value = bytes < 0 ? -(double)bytes : (double)bytes;
    const char *unit = kino__byte_unit(&value, 1023.5);
    if (bytes < 0)
        kino__buffer_add(out, KINO__STR("-"));
    add_scaled(out, value);
    kino__buffer_printf(out, " %s", unit);
}

void kino__format_count(kino__buffer *out, int64_t value)
{
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    int first = digits[0] == '-'; /* where the digits begin */
    for (int i = 0; i < size; i++) {
        if (i > first && (size - i) % 3 == 0)
            kino__buffer_add(out, KINO__STR(","));
        kino__buffer_add(out, (kino_str){digits + i, 1});
    }
}

void kino__format_text(kino__buffer *out, kino_str text)
{
    const char *at = text.data, *end = text.size ? at + text.size : at;
    while (at < end) {
        uint32_t code_point = 0;
        size_t length = kino__utf8_sequence(at, end, &code_point);
        if (length == 0)
            kino__buffer_add(out, KINO__STR(KINO__UTF8_REPLACEMENT));
        else if (code_point == '\n')
            kino__buffer_add(out, KINO__STR("\\n"));
        else if (code_point == '\t')
            kino__buffer_add(out, KINO__STR("\\t"));
        else if (!kino__is_printable(code_point))
            kino__buffer_printf(out, code_point < 0x100 ? "\\x%02x" : "\\u%04x", code_point);
        else
            kino__buffer_add(out, (kino_str){at, length});
        at += length ? length : 1;
    }
}

/* Ranges of letters that take no room or two columns; everything else takes one. */
static const struct {
    uint32_t first, last;
    unsigned char width;
} widths[] = {
    {0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},   {0x202a, 0x202e, 0},
    {0x2066, 0x2069, 0},   {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},   {0x3041, 0xa4cf, 2},
    {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},   {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},
    {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2},
    {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

static size_t letter_width(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths && code_point >= widths[i].first; i++)
        if (code_point <= widths[i].last)
            return widths[i].width;
    return 1;
}

/* Bytes of the longest front part that is at most `width` columns wide; *used: how wide it is. */
static size_t fit(kino_str text, size_t width, size_t *used)
{
    *used = 0;
    size_t at = 0;
    while (at < text.size) {
        uint32_t code_point = 0;
        size_t length = kino__utf8_sequence(text.data + at, text.data + text.size, &code_point);
        size_t letter = letter_width(code_point);
        if (*used + letter > width)
            break;
        *used += letter;
        at += length ? length : 1;
    }
    return at;
}

size_t kino__text_width(kino_str text)
{
    size_t width;
    (void)fit(text, SIZE_MAX / 2, &width);
    return width;
}

void kino__format_shortened(kino__buffer *out, kino_str text, size_t width)
{
    size_t used, whole = kino__text_width(text);
    if (whole <= width || width == 0) {
        kino__buffer_add(out, text);
        return;
    }
    size_t room = width - 1, tail = room / 3;
    size_t head = fit(text, room - tail, &used);
    kino__buffer_add(out, (kino_str){text.data, head});
    kino__buffer_add(out, KINO__STR("…"));
    size_t skipped = fit(text, whole - tail, &used);
    if (used < whole - tail) /* a wide letter straddles the cut: drop it */
        skipped += fit((kino_str){text.data + skipped, text.size - skipped}, 2, &used);
    kino__buffer_add(out, (kino_str){text.data + skipped, text.size - skipped});
}

static void format_int(kino__buffer *out, const kino_column *column, int64_t value, bool exact)
{
    if (column->type == KINO_TYPE_BOOL)
        kino__buffer_add(out, value ? KINO__STR("true") : KINO__STR("false"));
    else if (exact)
        kino__buffer_printf(out, "%" PRId64, value);
    else if (column->type == KINO_TYPE_DURATION || column->type == KINO_TYPE_TIME)
        kino__format_duration(out, value);
    else if (column->type == KINO_TYPE_BYTES)
        kino__format_bytes(out, value);
    else if (column->unit && strcmp(column->unit, KINO__UNIT_COUNT) == 0)
        kino__format_count(out, value);
    else
        kino__buffer_printf(out, "%" PRId64, value);
}

static void format_real(kino__buffer *out, const kino_column *column, double value, bool exact)
{
    char text[32];
    if (!isfinite(value)) {
        kino__buffer_add(out, exact ? KINO__STR("NULL") : KINO__STR("-"));
    } else if (exact) {
        size_t size = kino__double_to_text(value, text);
        kino__buffer_add(out, (kino_str){text, size});
    } else if (column->type == KINO_TYPE_PERCENT) {
        kino__buffer_printf(out, "%.1f %%", value);
    } else if (column->unit && strcmp(column->unit, "ns") == 0 && fabs(value) < 9e18) {
        kino__format_duration(out, (int64_t)llround(value)); /* a mean of durations */
    } else {
        kino__buffer_printf(out, "%.4g", value);
    }
}

void kino__format_cell(kino__buffer *out, const kino_column *column, const kino_cell *cell,
                       bool exact)
{
    switch (cell->kind) {
    case KINO_CELL_NULL:
        kino__buffer_add(out, exact ? KINO__STR("NULL") : KINO__STR("-"));
        break;
    case KINO_CELL_INT:
        format_int(out, column, cell->value.integer, exact);
        break;
    case KINO_CELL_FLOAT:
        format_real(out, column, cell->value.real, exact);
        break;
    case KINO_CELL_TEXT:
        kino__format_text(out, cell->value.text);
        break;
    }
}

bool kino__is_number(const kino_column *column, const kino_cell *cell)
{
    switch (column->type) {
    case KINO_TYPE_STRING:
    case KINO_TYPE_JSON:
    case KINO_TYPE_BOOL:
        return false;
    case KINO_TYPE_ANY:
        return cell->kind == KINO_CELL_INT || cell->kind == KINO_CELL_FLOAT;
    default:
        return true;
    }
}

static bool cells_equal(const kino_cell *a, const kino_cell *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case KINO_CELL_INT:
        return a->value.integer == b->value.integer;
    case KINO_CELL_FLOAT:
        return a->value.real == b->value.real;
    case KINO_CELL_TEXT:
        return kino__str_equal(a->value.text, b->value.text);
    default:
        return true;
    }
}

bool kino__column_is_constant(const kino__table *table, size_t column)
{
    size_t rows = kino__table_row_count(table);
    kino_cell first = kino__table_cell(table, 0, column);
    for (size_t row = 1; row < rows; row++) {
        kino_cell cell = kino__table_at(table, row, column);
        if (!cells_equal(&first, &cell))
            return false;
    }
    return true;
}

bool kino__column_is_for_people(const kino__table *table, size_t column)
{
    if (column >= 64)
        return true;
    if (table->hidden >> column & 1)
        return false;
    kino_cell cell = kino__table_cell(table, 0, column);
    bool is_empty =
        cell.kind == KINO_CELL_NULL || (cell.kind == KINO_CELL_INT && cell.value.integer == 0);
    return !(table->optional >> column & 1) || !is_empty ||
           !kino__column_is_constant(table, column);
}
