/* clock_file.c - any bytes as a file with clocks: never out of bounds, errors have their line, and
 * what was read moves times in their order. */
#include "transform/clock_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool held)
{
    if (!held)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kino__clocks clocks = {0};
    kino_error err = {0};
    kino_status status =
        kino__clock_file_parse((kino_str){(const char *)data, size}, "clocks", &clocks, &err);
    require(status == KINO_OK || status == KINO_FORMAT);
    require(status == KINO_OK || strstr(err.message, "line "));
    for (size_t i = 0; status == KINO_OK && i < clocks.items.count; i++) {
        const kino__clock_line *line = &clocks.items.items[i].line;
        const int64_t most = INT64_C(1) << 52;
        for (int64_t t = -most; t < most; t += most / 8)
            require(kino__clock_to_reference(line, t) <= kino__clock_to_reference(line, t + 1));
    }
    kino__clocks_deinit(&clocks);
    return 0;
}
