/* test_units.c - numbers for people, line by line as tests/data/units.tsv has them. The web UI is
 * held against the same file (web/tests/units.test.ts), so that both write the same. */
#include <stdio.h>
#include <stdlib.h>

#include "render/units.h"
#include "unit/test.h"

static void format(kino__buffer *out, const char *kind, const char *value)
{
    static const kino_column percent = {"x", KINO_TYPE_PERCENT, NULL, NULL};
    long long whole = strtoll(value, NULL, 10);
    kino_cell cell = kino__cell_real(strtod(value, NULL));
    if (strcmp(kind, "duration") == 0)
        kino__format_duration(out, whole);
    else if (strcmp(kind, "bytes") == 0)
        kino__format_bytes(out, whole);
    else if (strcmp(kind, "count") == 0)
        kino__format_count(out, whole);
    else
        kino__format_cell(out, &percent, &cell, false);
    kino__buffer_add(out, (kino_str){"", 1});
}

TEST(units_are_written_as_their_definition_says)
{
    FILE *file = fopen(test_root("tests/data/units.tsv"), "r");
    REQUIRE(file);
    char line[128], kind[16], value[40], want[40];
    size_t lines = 0;
    for (; fgets(line, sizeof line, file); lines++) {
        REQUIRE(sscanf(line, "%15[^\t]\t%39[^\t]\t%39[^\n]", kind, value, want) == 3);
        kino__buffer text = {0};
        format(&text, kind, value);
        CHECK_STR(text.data, want);
        kino__buffer_deinit(&text);
    }
    CHECK(lines > 600);
    (void)fclose(file);
}
