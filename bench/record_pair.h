/* record_pair.h - what bench_record and its comparison with LTTng-UST have in common: a pair (begin
 * and end of a span), the two readings of the clock that it cannot do without, and rounds. */
#ifndef BENCH_RECORD_PAIR_H
#define BENCH_RECORD_PAIR_H

#include <kino/kino.h>

#include "bench.h"

enum { PAIRS = 100000, ROUNDS = 15, ROUNDS_MAX = 1000 };

#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

/* Seconds for `PAIRS` times. */
static inline double two_clocks(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        uint64_t a = kino_impl_v1_ticks();
        KEEP(a);
        uint64_t b = kino_impl_v1_ticks();
        KEEP(b);
    }
    return bench_wall() - begin;
}

static inline double pairs(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        KINO_ZONE("pair");
        KEEP(i);
    }
    return bench_wall() - begin;
}

/* [--rounds N] */
static inline int parse_rounds(int argc, char **argv)
{
    int rounds =
        argc == 3 && strcmp(argv[1], "--rounds") == 0 ? (int)strtol(argv[2], NULL, 10) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        bench_die("rounds: 1 to 1000, not", argv[argc - 1]);
    return rounds;
}

#endif
