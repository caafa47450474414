/* lines.h - the line of an instruction, by the table of lines of its code object. No Python is
 * needed: the bytes may come from anywhere. */
#ifndef KINO_PYTRACER_LINES_H
#define KINO_PYTRACER_LINES_H

#include <stddef.h>

typedef enum pytracer_lines_format {
    PYTRACER_LINES_NOTAB,    /* co_lnotab: 3.9 */
    PYTRACER_LINES_RANGES,   /* co_linetable of 3.10 */
    PYTRACER_LINES_LOCATIONS /* co_linetable since 3.11 */
} pytracer_lines_format;

/* `offset`: of the instruction, in bytes. 0: it has no line, or the table ends before it. */
int pytracer_line_at(pytracer_lines_format format, const unsigned char *table, size_t size,
                     int first_line, size_t offset);

#endif
