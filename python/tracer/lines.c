/* lines.c - see lines.h. */
#include "lines.h"

#include <stdbool.h>
#include <stdint.h>

enum { UNIT = 2, NO_LINE = -128, LONG = 14, NO_COLUMNS = 13, ONE_LINE = 10, NONE = 15 };

/* Sums of nonsense wrap; lines of programs do not come near. */
static int add(int line, int more)
{
    return (int)((unsigned)line + (unsigned)more);
}

/* Pairs: bytes of instructions, and what the line changes by behind them. */
static int line_of_notab(const unsigned char *table, size_t size, int line, size_t offset)
{
    size_t at = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        at += table[i];
        if (at > offset)
            break;
        line = add(line, (signed char)table[i + 1]);
    }
    return line;
}

/* Pairs: bytes of instructions, and what their line differs by from the one before. */
static int line_of_ranges(const unsigned char *table, size_t size, int line, size_t offset)
{
    size_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int change = (signed char)table[i + 1];
        line = change == NO_LINE ? line : add(line, change);
        end += table[i];
        if (offset < end)
            return change == NO_LINE ? 0 : line;
    }
    return 0;
}

/* A number in groups of six bits, the lowest first; its lowest bit is the sign. */
static int signed_number(const unsigned char *table, size_t size, size_t at)
{
    uint32_t value = 0;
    unsigned shift = 0;
    bool goes_on = true;
    for (; goes_on && at < size && shift < 30; at++, shift += 6) {
        value |= (uint32_t)(table[at] & 63) << shift;
        goes_on = table[at] & 64;
    }
    int number = (int)(value >> 1);
    return value & 1 ? -number : number;
}

/* Entries begin with a byte that has its highest bit set: kind, and number of instructions. */
static int line_of_locations(const unsigned char *table, size_t size, int line, size_t offset)
{
    size_t end = 0;
    for (size_t i = 0; i < size;) {
        int kind = table[i] >> 3 & 15;
        end += (size_t)((table[i] & 7) + 1) * UNIT;
        if (kind == LONG || kind == NO_COLUMNS)
            line = add(line, signed_number(table, size, i + 1));
        else if (kind >= ONE_LINE && kind < NO_COLUMNS)
            line = add(line, kind - ONE_LINE);
        if (offset < end)
            return kind == NONE ? 0 : line;
        for (i++; i < size && !(table[i] & 128); i++)
            ;
    }
    return 0;
}

int pytracer_line_at(pytracer_lines_format format, const unsigned char *table, size_t size,
                     int first_line, size_t offset)
{
    int line = format == PYTRACER_LINES_NOTAB ? line_of_notab(table, size, first_line, offset)
               : format == PYTRACER_LINES_RANGES
                   ? line_of_ranges(table, size, first_line, offset)
                   : line_of_locations(table, size, first_line, offset);
    return line > 0 ? line : 0;
}
