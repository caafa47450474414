/* test_record_sort.c - sorting records by keys; memory for large arrays. */
#include <stdlib.h>
#include <string.h>

#include "base/large.h"
#include "base/record_sort.h"
#include "base/vec.h"
#include "unit/fixture.h"
#include "unit/test.h"

typedef struct record {
    int64_t high, low;
    uint32_t rest;
} record;

static int64_t high_key(const void *value)
{
    return ((const record *)value)->high;
}

static int64_t low_key(const void *value)
{
    return ((const record *)value)->low;
}

static int compare_records(const void *a, const void *b)
{
    const record *x = a, *y = b;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->rest < y->rest ? -1 : x->rest > y->rest;
}

static void check_sorted(const record *records, size_t count)
{
    static const kino__record_key keys[] = {high_key, low_key};
    record *want = calloc(count + 1, sizeof *want), *got = calloc(count + 1, sizeof *got);
    CHECK(want && got);
    memcpy(want, records, count * sizeof *want);
    memcpy(got, records, count * sizeof *got);
    qsort(want, count, sizeof *want, compare_records);
    CHECK(kino__records_sort(got, count, sizeof *got, keys, 2, compare_records));
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(compare_records(&want[i], &got[i]), 0);
    free(want);
    free(got);
}

TEST(records_are_sorted_as_by_comparison)
{
    const size_t counts[] = {0, 1, 2, 64, 65, 1000};
    fixture_random random = {5};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint32_t spread = 1; spread <= 1000; spread *= 10) { /* few keys: many ties */
            record *records = calloc(counts[c] + 1, sizeof *records);
            CHECK(records != NULL);
            for (size_t i = 0; i < counts[c]; i++)
                records[i] = (record){(int64_t)fixture_random_below(&random, 3) - 1,
                                      (int64_t)fixture_random_below(&random, spread) - 500,
                                      fixture_random_below(&random, 20)};
            check_sorted(records, counts[c]);
            free(records);
        }
    }
    const record ends[] = {
        {0, INT64_MAX, 1}, {0, INT64_MIN, 2}, {INT64_MAX, 0, 3}, {INT64_MIN, 0, 4}};
    check_sorted(ends, 4);
}

TEST(large_arrays_are_zeroed_aligned_and_grow)
{
    const size_t sizes[] = {0, 1, 63, 64, 4096, (1 << 20) - 64, 1 << 20, 3 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        unsigned char *bytes = kino__large_new(sizes[s], 1);
        CHECK(bytes != NULL);
        CHECK_EQ((uintptr_t)bytes % 64, 0);
        for (size_t i = 0; i < sizes[s]; i++)
            CHECK_EQ(bytes[i], 0);
        if (sizes[s])
            memset(bytes, 0xa5, sizes[s]);
        kino__large_free(bytes);
    }
    CHECK(kino__large_new(SIZE_MAX / 2, 4) == NULL);
    kino__large_free(NULL);

    KINO__VEC(uint32_t) numbers = {.allocator = &kino__large_allocator};
    for (uint32_t i = 0; i < 700000; i++) { /* over the border between both kinds of memory */
        uint32_t *slot = kino__vec_add(&numbers);
        CHECK(slot != NULL);
        *slot = i;
    }
    for (uint32_t i = 0; i < 700000; i++)
        CHECK_EQ(numbers.items[i], i);
    kino__vec_deinit(&numbers);
}
