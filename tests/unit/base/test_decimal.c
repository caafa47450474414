/* test_decimal.c - exact decimal times. Expected values are written down from the definition (text
 * * 1000, half to even), or made by taking a known integer apart into text. */
#include <string.h>

#include "base/decimal.h"
#include "base/str.h"
#include "unit/fixture.h"
#include "unit/test.h"

static void check_ns(const char *text, int64_t want, bool want_exact)
{
    int64_t ns = 0;
    bool is_exact = !want_exact;
    if (!CHECK(kino__decimal_to_ns(kino__str_from(text), &ns, &is_exact)) || !CHECK_EQ(ns, want) ||
        !CHECK_EQ(is_exact, want_exact))
        printf("    text: %s\n", text);
}

static void check_refused(const char *text)
{
    int64_t ns = 0;
    bool is_exact = true;
    if (!CHECK(!kino__decimal_to_ns(kino__str_from(text), &ns, &is_exact)) ||
        !CHECK_EQ(ns, KINO_NO_TIME) || !CHECK(!is_exact))
        printf("    text: %s\n", text);
}

TEST(decimal_reads_plain_microseconds)
{
    check_ns("0", 0, true);
    check_ns("-0", 0, true);
    check_ns("0.000", 0, true);
    check_ns("1", 1000, true);
    check_ns("1234.567", 1234567, true);
    check_ns("-1234.567", -1234567, true);
    check_ns("0.001", 1, true);
    check_ns("-0.001", -1, true);
    check_ns("4458676980432.108", INT64_C(4458676980432108), true);
    check_ns("1682725898236567", INT64_C(1682725898236567000), true);
    check_ns("1682725898236567.125", INT64_C(1682725898236567125), true);
    check_ns("12.5", 12500, true);
    check_ns("12.50000000000000000000", 12500, true);
    check_ns("000012.5", 12500, true);
}

TEST(decimal_reads_exponents)
{
    check_ns("1.6e15", INT64_C(1600000000000000000), true);
    check_ns("2E-3", 2, true);
    check_ns("2e+3", 2000000, true);
    check_ns("1234567e-3", 1234567, true);
    check_ns("0.000000001e6", 1, true);
    check_ns("0e999999999999999999999999", 0, true);
    check_ns("1e-99999999999999999999999", 0, false);
    check_ns("-123456789.5e-5", -1234568, false); /* 1234.567895 us */
}

TEST(decimal_rounds_half_to_even_and_says_so)
{
    check_ns("0.0005", 0, false);
    check_ns("0.0015", 2, false);
    check_ns("0.0025", 2, false);
    check_ns("0.00250000000000000000000000000001", 3, false);
    check_ns("0.0024999999999999999999999999999999", 2, false);
    check_ns("-0.0015", -2, false);
    check_ns("-0.0025", -2, false);
    check_ns("0.0000001", 0, false);
    check_ns("0.9999", 1000, false);
    check_ns("0.00099", 1, false);
    check_ns("0.0001e0", 0, false);
}

TEST(decimal_knows_the_range_of_ns)
{
    check_ns("9223372036854775.807", INT64_MAX, true);
    check_ns("-9223372036854775.807", -INT64_MAX, true);
    check_ns("9223372036854775.8074999", INT64_MAX, false);
    check_refused("9223372036854775.808");
    check_refused("-9223372036854775.808"); /* the sentinel of an absent time */
    check_refused("9223372036854775.8075");
    check_refused("18446744073709551.616");
    check_refused("1e16");
    check_refused("99999999999999999999999999");
    check_refused("1e999999999999999999999999");
}

TEST(decimal_refuses_junk)
{
    static const char *const junk[] = {"",    "-",     ".",   ".5",   "5.",       "1.e3",
                                       "e5",  "1e",    "1e+", "+1",   " 1",       "1 ",
                                       "1,0", "0x1",   "nan", "NaN",  "Infinity", "-inf",
                                       "--1", "1.2.3", "1-",  "null", "N/A",      "1e5.0"};
    for (size_t i = 0; i < sizeof junk / sizeof *junk; i++)
        check_refused(junk[i]);
    int64_t ns;
    CHECK(!kino__decimal_to_ns((kino_str){"1\0", 2}, &ns, NULL));
    CHECK(kino__decimal_to_ns((kino_str){"1x", 1}, &ns, NULL));
    CHECK_EQ(ns, 1000);
}

TEST(decimal_takes_hundreds_of_digits)
{
    char text[1024];
    memset(text, '0', sizeof text);
    text[800] = '7';
    text[801] = '.';
    text[802] = '2';
    text[803] = '5';
    int64_t ns;
    bool is_exact;
    CHECK(kino__decimal_to_ns((kino_str){text, sizeof text}, &ns, &is_exact));
    CHECK_EQ(ns, 7250);
    CHECK(is_exact);
    text[sizeof text - 1] = '1';
    CHECK(kino__decimal_to_ns((kino_str){text, sizeof text}, &ns, &is_exact));
    CHECK_EQ(ns, 7250);
    CHECK(!is_exact);
}

static uint64_t random_bits(fixture_random *random)
{
    uint64_t high = fixture_random_below(random, UINT32_MAX);
    return high << 32 | fixture_random_below(random, UINT32_MAX);
}

/* Any ns, taken apart in decimal, with its point moved and the exponent making up for it. */
TEST(decimal_reads_back_what_was_written)
{
    fixture_random random = {7};
    for (int i = 0; i < 200000; i++) {
        int64_t want = (int64_t)(random_bits(&random) >> (1 + fixture_random_below(&random, 62)));
        want = fixture_random_below(&random, 2) ? -want : want;
        char text[128];
        size_t size = kino__format_us(want, text);
        int64_t ns = 0;
        bool is_exact = false;
        REQUIRE(size <= KINO__DECIMAL_MAX);
        REQUIRE(kino__decimal_to_ns((kino_str){text, size}, &ns, &is_exact) && is_exact);
        REQUIRE_EQ(ns, want);
        int exponent = (int)fixture_random_below(&random, 40) - 20;
        int n = exponent < 0 ? snprintf(text, sizeof text, "%lld%0*de%d", (long long)want,
                                        -exponent, 0, exponent - 3)
                             : snprintf(text, sizeof text, "%lld.0e-3", (long long)want);
        REQUIRE(kino__decimal_to_ns((kino_str){text, (size_t)n}, &ns, &is_exact) && is_exact);
        REQUIRE_EQ(ns, want);
    }
}

/* A whole number of ns with more digits behind it: they are compared with one half, digit by digit.
 */
TEST(decimal_rounds_any_tail)
{
    fixture_random random = {8};
    for (int i = 0; i < 100000; i++) {
        int64_t whole = (int64_t)fixture_random_below(&random, 1000000000);
        char tail[41];
        size_t tail_size = 1 + fixture_random_below(&random, 40);
        for (size_t k = 0; k < tail_size; k++)
            tail[k] = (char)('0' + (fixture_random_below(&random, 3)
                                        ? (k ? 0 : 5)
                                        : fixture_random_below(&random, 10)));
        tail[tail_size] = 0;
        char half[41];
        memset(half, '0', sizeof half);
        half[0] = '5';
        half[tail_size] = 0;
        int order = strcmp(tail, half);
        int64_t want = order > 0 || (order == 0 && whole % 2) ? whole + 1 : whole;
        bool is_zero = strspn(tail, "0") == tail_size;
        char text[128];
        (void)snprintf(text, sizeof text, "%lld.%03lld%s", (long long)(whole / 1000),
                       (long long)(whole % 1000), tail);
        int64_t ns = 0;
        bool is_exact = false;
        REQUIRE(kino__decimal_to_ns(kino__str_from(text), &ns, &is_exact));
        REQUIRE_EQ(ns, want);
        REQUIRE_EQ(is_exact, is_zero);
    }
}

TEST(decimal_formats_integers)
{
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {10, "10"},
                 {99, "99"},
                 {100, "100"},
                 {-1, "-1"},
                 {1234567, "1234567"},
                 {INT64_MAX, "9223372036854775807"},
                 {INT64_MIN, "-9223372036854775808"}};
    char text[KINO__DECIMAL_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(((kino_str){text, kino__format_int(cases[i].value, text)}), cases[i].text);
    CHECK_STR(((kino_str){text, kino__format_uint(UINT64_MAX, text)}), "18446744073709551615");
}

TEST(decimal_formats_microseconds_as_kineto_does)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0.000"},
                 {1, "0.001"},
                 {-1, "-0.001"},
                 {999, "0.999"},
                 {1000, "1.000"},
                 {1234567, "1234.567"},
                 {-1050, "-1.050"},
                 {INT64_MAX, "9223372036854775.807"},
                 {INT64_MIN, "-9223372036854775.808"}};
    char text[KINO__DECIMAL_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_STR(((kino_str){text, kino__format_us(cases[i].ns, text)}), cases[i].text);
}
