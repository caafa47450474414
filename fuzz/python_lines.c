/* python_lines.c - any bytes as the table of lines of a Python code object (first byte: which
 * format and offset): never out of bounds, and what is found does not depend on bytes behind. */
#include <stdlib.h>
#include <string.h>

#include "../python/tracer/lines.c" /* not part of any library of ours */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned char *exact = malloc(size - 1); /* of its size, for the sanitizer */
    if (!exact)
        return 0;
    memcpy(exact, data + 1, size - 1);
    pytracer_lines_format format = (pytracer_lines_format)(data[0] % 3);
    size_t offset = (size_t)(data[0] / 3) * 8;
    int line = pytracer_line_at(format, exact, size - 1, 1, offset);
    if (line < 0 || pytracer_line_at(format, exact, 0, 1, offset) > 1)
        abort();
    free(exact);
    return 0;
}
