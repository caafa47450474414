/* record_function_sampling.c - which functions a sampled callback takes part in.
 *
 * A callback of probability p takes part in the n-th function of a scope on a thread, then n is
 * drawn anew: 1 + the number of failures before a success, a geometric distribution. One countdown
 * per scope and thread holds the smallest n of all callbacks, so a function that nobody samples
 * costs one decrement, and each callback still has its own rate.
 *
 * The number of failures N has P(N >= n) = q^n with q = 1 - p. So for u uniform in (0, 1] it is the
 * largest n with q^n >= u, which is put together from its bits, highest first, out of q, q^2, q^4,
 * ...: 32 multiplications and no logarithm, because libkino needs the C library alone. */
#include "tracer/function/record_function_internal.h"

/* splitmix64: any state is good, and neighbours give unrelated numbers. */
static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return scramble(*state);
}

uint64_t kino__record_mix(uint64_t a, uint64_t b)
{
    return scramble(scramble(a) + b * 0x9e3779b97f4a7c15u) | 1;
}

uint32_t kino__record_tries(uint64_t *random, double probability)
{
    enum { BITS = 32 };
    double powers[BITS];
    if (!(probability > 0))
        return UINT32_MAX;
    double u = (double)((next_random(random) >> 11) + 1) * 0x1p-53;
    powers[0] = 1 - probability;
    for (int i = 1; i < BITS; i++)
        powers[i] = powers[i - 1] * powers[i - 1];
    uint64_t failures = 0;
    double reached = 1;
    for (int i = BITS - 1; i >= 0; i--)
        if (reached * powers[i] >= u) {
            reached *= powers[i];
            failures += (uint64_t)1 << i;
        }
    return failures + 1 < UINT32_MAX ? (uint32_t)failures + 1 : UINT32_MAX - 1;
}

void kino__record_wind_up(kino__record_thread *thread, uint32_t scope)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < thread->row_count; i++) {
        const kino__record_row *row = &thread->rows[i];
        const kino_record_callback *callback = &row->entry->callback;
        if (callback->probability < 1 && callback->scopes >> scope & 1 && row->tries[scope] < least)
            least = row->tries[scope];
    }
    thread->countdown[scope] = thread->interval[scope] = least == UINT32_MAX ? 0 : least;
}

bool kino__record_count_down(kino__record_thread *thread, uint32_t scope)
{
    if (thread->countdown[scope] == 0 || --thread->countdown[scope] != 0)
        return false;
    for (uint32_t i = 0; i < thread->row_count; i++) {
        kino__record_row *row = &thread->rows[i];
        if (row->tries[scope] != UINT32_MAX && row->tries[scope] != 0)
            row->tries[scope] -= thread->interval[scope];
    }
    return true;
}
