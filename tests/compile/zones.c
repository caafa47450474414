/* zones.c - every recording macro once; check-recorder compiles it as C and C++, with and without
 * KINO_DISABLED, and looks at what is left of it. */
#include <kino/kino.h>

int kino_test_zones(int n);

static int inner(int n)
{
    KINO_FUNC();
    KINO_ZONE("one");
    KINO_ZONE_CAT("two", "category");
    KINO_ANNOTATE("three");
    KINO_ZONE_NAMED(zone, "four", "category");
    KINO_ARG_INT(zone, "int", n);
    KINO_ARG_UINT(zone, "uint", n);
    KINO_ARG_DOUBLE(zone, "double", n);
    KINO_ARG_BOOL(zone, "bool", n);
    KINO_ARG_TEXT(zone, "text", "text");
    KINO_INSTANT("instant");
    KINO_COUNTER("counter", n);
    KINO_COUNTER_INT("counter", n);
    KINO_FLOW_START("flow", n);
    KINO_FLOW_STEP("flow", n);
    KINO_FLOW_END("flow", n);
    return n + 1;
}

int kino_test_zones(int n)
{
    return inner(n);
}
