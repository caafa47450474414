/* test_statistics.c - moments, percentiles and rounding, against values worked out by hand and slow
 * obvious versions. */
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "unit/fixture.h"
#include "unit/test.h"

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fmax(1, fabs(want));
}

static kino__moments moments_of(const int64_t *values, size_t count)
{
    kino__moments m = {0};
    for (size_t i = 0; i < count; i++)
        kino__moments_add(&m, values[i]);
    return m;
}

TEST(moments_have_the_deviation_of_a_sample)
{
    /* mean 5, squares of the distances 9 1 1 1 0 0 4 16 = 32, 32 / 7 */
    kino__moments m = moments_of((const int64_t[]){2, 4, 4, 4, 5, 5, 7, 9}, 8);
    CHECK_EQ(m.count, 8);
    CHECK_EQ(m.sum, 40);
    CHECK_EQ(m.min, 2);
    CHECK_EQ(m.max, 9);
    CHECK(is_near(kino__moments_mean(&m), 5));
    CHECK(is_near(kino__moments_std(&m), sqrt(32.0 / 7)));
}

TEST(moments_of_none_and_of_one_have_no_deviation)
{
    kino__moments none = {0}, one = moments_of((const int64_t[]){-3}, 1);
    CHECK(isnan(kino__moments_mean(&none)));
    CHECK(isnan(kino__moments_std(&none)));
    CHECK(is_near(kino__moments_mean(&one), -3));
    CHECK(isnan(kino__moments_std(&one)));
    CHECK_EQ(one.min, -3);
    CHECK_EQ(one.max, -3);
}

TEST(moments_of_large_close_values_do_not_cancel)
{
    const int64_t base = 5000000000000000000;
    kino__moments m = moments_of((const int64_t[]){base, base + 2}, 2);
    CHECK_EQ(m.sum, INT64_MAX); /* at the limit: the deviation is not known */
    CHECK(isnan(kino__moments_std(&m)));
    const int64_t hour = 3600000000000;
    m = moments_of((const int64_t[]){hour, hour + 1, hour + 2}, 3);
    CHECK(is_near(kino__moments_std(&m), 1));
}

TEST(moments_merge_in_any_order)
{
    const int64_t values[] = {5, -7, 0, 12, 12, 3};
    kino__moments whole = moments_of(values, 6);
    for (size_t cut = 0; cut <= 6; cut++) {
        kino__moments left = moments_of(values, cut), right = moments_of(values + cut, 6 - cut);
        kino__moments_merge(&left, &right);
        CHECK_EQ(left.count, whole.count);
        CHECK_EQ(left.sum, whole.sum);
        CHECK_EQ(left.min, whole.min);
        CHECK_EQ(left.max, whole.max);
        CHECK(left.squares == whole.squares);
    }
}

TEST(percentiles_lie_between_their_neighbours)
{
    /* h = (5 - 1) p: 1, 2, 3 */
    kino__description d;
    REQUIRE(kino__describe((int64_t[]){50, 10, 40, 20, 30}, 5, &d));
    CHECK(is_near(kino__description_percentile(&d, KINO__P25), 20));
    CHECK(is_near(kino__description_percentile(&d, KINO__P50), 30));
    CHECK(is_near(kino__description_percentile(&d, KINO__P75), 40));
    /* h = 3 p: 0.75, 1.5, 2.25 */
    REQUIRE(kino__describe((int64_t[]){4, 1, 3, 2}, 4, &d));
    CHECK(is_near(kino__description_percentile(&d, KINO__P25), 1.75));
    CHECK(is_near(kino__description_percentile(&d, KINO__P50), 2.5));
    CHECK(is_near(kino__description_percentile(&d, KINO__P75), 3.25));
    REQUIRE(kino__describe((int64_t[]){8}, 1, &d));
    CHECK(is_near(kino__description_percentile(&d, KINO__P75), 8));
    REQUIRE(kino__describe(NULL, 0, &d));
    CHECK(isnan(kino__description_percentile(&d, KINO__P50)));
}

TEST(integers_and_doubles_are_described_alike)
{
    fixture_random random = {7};
    for (size_t count = 0; count < 40; count++) {
        int64_t ints[40];
        double reals[40];
        for (size_t i = 0; i < count; i++) {
            ints[i] = (int64_t)fixture_random_below(&random, 1000) - 300;
            reals[i] = (double)ints[i];
        }
        kino__description d;
        kino__real_description r;
        REQUIRE(kino__describe(ints, count, &d));
        kino__describe_reals(reals, count, &r);
        CHECK_EQ(d.moments.count, r.count);
        CHECK(count == 0 ? isnan(r.mean) : is_near(kino__moments_mean(&d.moments), r.mean));
        CHECK(count < 2 ? isnan(r.std) : is_near(kino__moments_std(&d.moments), r.std));
        CHECK(count == 0
                  ? isnan(r.min) && isnan(r.max)
                  : is_near((double)d.moments.min, r.min) && is_near((double)d.moments.max, r.max));
        for (int q = 0; q < KINO__QUARTILES; q++)
            CHECK(count == 0 ? isnan(r.percentile[q])
                             : is_near(kino__description_percentile(&d, q), r.percentile[q]));
    }
}

static int compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

TEST(integers_of_all_sizes_are_sorted)
{
    fixture_random random = {3};
    enum { COUNT = 500 };
    int64_t got[COUNT], want[COUNT];
    for (unsigned bits = 1; bits <= 64; bits += 7) {
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t value = (uint64_t)fixture_random_below(&random, UINT32_MAX) << 32 |
                             fixture_random_below(&random, UINT32_MAX);
            got[i] = want[i] = (int64_t)(value >> (64 - bits));
        }
        qsort(want, COUNT, sizeof *want, compare_ints);
        REQUIRE(kino__sort_ints(got, COUNT));
        CHECK(memcmp(got, want, sizeof got) == 0);
    }
}

TEST(rounding_goes_half_to_even)
{
    CHECK(is_near(kino__round(0.125, 2), 0.12));
    CHECK(is_near(kino__round(0.375, 2), 0.38));
    CHECK(is_near(kino__round(-2.5, 0), -2));
    CHECK(isnan(kino__round(NAN, 2)));
    CHECK(is_near(kino__round_time(205084.9, 1000), 205080)); /* 205.08 us */
    CHECK(is_near(kino__round_time(1234.567, 1), 1234.57));
}

TEST(descriptions_survive_saving_and_loading)
{
    kino__description d, loaded = {0};
    REQUIRE(kino__describe((int64_t[]){INT64_MIN + 2, INT64_MAX, 5}, 3, &d));
    kino__buffer bytes = {0};
    kino__pack save = {.out = &bytes};
    kino__pack_description(&save, &d);
    REQUIRE(!bytes.failed);
    kino__pack load = {.at = bytes.data, .end = bytes.data + bytes.size};
    kino__pack_description(&load, &loaded);
    CHECK(!load.is_damaged);
    CHECK(memcmp(&d, &loaded, sizeof d) == 0);
    kino__buffer_deinit(&bytes);
}

/* Of the usual tables. */
TEST(student_t_has_the_quantiles_of_the_tables)
{
    static const struct {
        double chance, t;
        size_t freedom;
    } known[] = {{0.0005, 636.62, 1}, {0.0005, 31.599, 2}, {0.0005, 12.924, 3}, {0.005, 4.604, 4},
                 {0.05, 2.015, 5},    {0.025, 2.228, 10},  {0.001, 3.385, 30},  {0.005, 2.660, 60}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK(fabs(kino__student_t(known[i].chance, known[i].freedom) - known[i].t) <
              0.0001 * known[i].t + 0.0006);
    CHECK(kino__student_t(0.001, 100000) == kino__student_t(0.001, 200));
}
