/* byte_size.c - the unit in which a number of bytes is read. */
#include "base/byte_size.h"

#include <math.h>
#include <stddef.h>

static const char *const names[] = {
    "B",
#define BYTE_UNIT(name) name,
#include "base/byte_size.def"
#undef BYTE_UNIT
};

const char *kino__byte_unit(double *bytes, double most)
{
    size_t unit = 0;
    while (fabs(*bytes) >= most && unit + 1 < sizeof names / sizeof *names) {
        *bytes /= 1024;
        unit++;
    }
    return names[unit];
}
