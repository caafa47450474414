/* test_glob.c - patterns of names. */
#include "base/glob.h"
#include "base/str.h"
#include "unit/test.h"

static bool fits(const char *pattern, const char *text)
{
    return kino__glob_match(kino__str_from(pattern), kino__str_from(text));
}

TEST(glob_means_the_whole_name_and_counts_case)
{
    CHECK(fits("gemm", "gemm"));
    CHECK(!fits("gemm", "gemm2"));
    CHECK(!fits("gemm", "a gemm"));
    CHECK(!fits("gemm", "GEMM"));
    CHECK(fits("", ""));
    CHECK(!fits("", "a"));
}

TEST(glob_star_is_any_text_and_question_mark_one_character)
{
    CHECK(fits("*", ""));
    CHECK(fits("*gemm*", "sm80_gemm_f32"));
    CHECK(fits("a*b*c", "aXbXbXc"));
    CHECK(!fits("a*b*c", "aXbXbX"));
    CHECK(fits("**a", "ba"));
    CHECK(fits("ProfilerStep#?", "ProfilerStep#5"));
    CHECK(!fits("ProfilerStep#?", "ProfilerStep#"));
    CHECK(!fits("ProfilerStep#?", "ProfilerStep#15"));
    CHECK(fits("?", "\xc3\xa9")); /* one character, two bytes */
}

TEST(glob_sets_and_escapes)
{
    CHECK(fits("step[0-3]", "step2"));
    CHECK(!fits("step[0-3]", "step4"));
    CHECK(fits("step[!0-3]", "step4"));
    CHECK(fits("[]]", "]"));
    CHECK(fits("[memory]", "m"));
    CHECK(fits("\\[memory]", "[memory]"));
    CHECK(fits("a[b", "a[b")); /* never closed */
    CHECK(fits("\\*", "*"));
    CHECK(!fits("\\*", "x"));
}

TEST(glob_of_many_stars_ends_soon)
{
    char text[4096], pattern[256];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = 'a';
    for (size_t i = 0; i < sizeof pattern; i += 2) {
        pattern[i] = '*';
        pattern[i + 1] = 'a';
    }
    pattern[sizeof pattern - 1] = 'b';
    CHECK(!kino__glob_match((kino_str){pattern, sizeof pattern}, (kino_str){text, sizeof text}));
}
