/* pyprof_cases.c - see the header. */
#include "unit/cost/pyprof_cases.h"

#include <stdlib.h>

#include "unit/test.h"

enum { SIZE_MAX_OF_FILE = 4 << 20 };

const kino__json_in *test_pyprof_cases(const char *name, kino__arena *arena)
{
    char path[64];
    (void)snprintf(path, sizeof path, "golden/pyprof/%s", name);
    FILE *file = fopen(test_shared(path), "rb");
    REQUIRE(file != NULL);
    char *text = malloc(SIZE_MAX_OF_FILE);
    REQUIRE(text != NULL);
    size_t size = fread(text, 1, SIZE_MAX_OF_FILE, file);
    (void)fclose(file);
    kino__arena_init(arena, NULL);
    kino__json_in_limits limits = {.size = SIZE_MAX_OF_FILE};
    const kino__json_in *json;
    REQUIRE(kino__json_in_parse((kino_str){text, size}, &limits, arena, &json, NULL) == KINO_OK);
    free(text);
    const kino__json_in *cases = kino__json_in_get_array(json, "cases");
    REQUIRE(cases != NULL);
    return cases;
}
