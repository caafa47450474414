/* fixture.h - a kino__trace from a compact list of events, for tests of links, args and queries.
 *
 *   kino__trace *trace =
 *       FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 10, .dur = 30, .external = 5},
 *               {.cat = "kernel", .name = "gemm", .track = 7, .ts = 25, .dur = 6, .bind = 90});
 *   uint32_t mm = fixture_row(trace, 0);       the row of the first event of the list
 *   kino__trace_free(trace);
 *
 * Events may stand in any order: rows are sorted as trace.h says (track, start, longer first, place
 * in the list). What is left out is absent, but the phase, which is X. A track that has kernels,
 * copies, sets or GPU annotations is a device's stream, one that has other spans of a known
 * category a host thread. Arguments lie in a text in memory, in the order of the list. Every
 * function ends the test when memory is out. */
#ifndef KINO_TEST_FIXTURE_H
#define KINO_TEST_FIXTURE_H

#include "store/trace.h"

typedef struct fixture_event {
    uint32_t track; /* tid; tracks stand in order of this number */
    char ph;        /* 0: 'X' */
    const char *cat;
    const char *name;
    int64_t ts;       /* KINO_NO_TIME: without */
    int64_t dur;      /* of X; other phases have none */
    int64_t bind;     /* correlation, or the id of a flow; 0: none */
    int64_t external; /* 0: none */
    const char *args; /* an object's text */
    bool bp;          /* "bp": "e" */
} fixture_event;

#define FIXTURE(...)                                                                               \
    fixture_new((const fixture_event[]){__VA_ARGS__},                                              \
                sizeof((const fixture_event[]){__VA_ARGS__}) / sizeof(fixture_event))

/* The caller frees it with kino__trace_free. Event i of the list has the number i. */
kino__trace *fixture_new(const fixture_event *events, size_t count);

/* The row of event i of the list. */
uint32_t fixture_row(const kino__trace *trace, uint32_t number);

/* The number (index in the list) of a row, -1 for KINO_NO_ROW: for checks that read as the list
 * does. */
int64_t fixture_number(const kino__trace *trace, uint32_t row);

/* A text over bytes in memory, copied; freed by its own free function. */
kino__text *fixture_text_new(const void *data, size_t size);

/* A stream of numbers from a seed, the same everywhere. */
typedef struct fixture_random {
    uint64_t state;
} fixture_random;
uint32_t fixture_random_below(fixture_random *random, uint32_t limit);

#endif
