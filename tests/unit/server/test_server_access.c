/* test_server_access.c - who may ask: hosts, other sites, tokens; and what two headers mean. */
#include "base/http_access.h"
#include "base/str.h"
#include "unit/test.h"

TEST(hosts_that_nobody_can_point_here_are_ours)
{
    static const char *const ours[] = {"localhost",      "LocalHost:80", "127.0.0.1",
                                       "127.0.0.1:6007", "127.3.2.1:1",  "[::1]",
                                       "[::1]:65535",    "10.0.0.5:6007"};
    static const char *const others[] = {"",
                                         "evil.example",
                                         "localhost.evil.example",
                                         "evil.localhost",
                                         "127.0.0.1.evil.example",
                                         "128.0.0.1",
                                         "0.0.0.0",
                                         "::1",
                                         "[::1",
                                         "[::2]",
                                         "localhost:",
                                         "localhost:x",
                                         "localhost:123456",
                                         "localhost:1:2",
                                         "a@localhost",
                                         "127.1",
                                         "0x7f.0.0.1",
                                         "[localhost",
                                         "10.0.0.6",
                                         " localhost"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!CHECK(kino__host_is_ours(ours[i], "10.0.0.5")))
            printf("%s\n", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!CHECK(!kino__host_is_ours(others[i], "10.0.0.5")))
            printf("%s\n", others[i]);
    CHECK(!kino__host_is_ours(NULL, "10.0.0.5"));
    CHECK(kino__host_is_ours("[fd00::5]:6007", "fd00::5"));
    CHECK(kino__host_is_ours("box.example:1", "box.example"));
}

TEST(addresses_of_this_machine_alone_are_loopback)
{
    CHECK(kino__address_is_loopback("127.0.0.1"));
    CHECK(kino__address_is_loopback("127.9.9.9"));
    CHECK(kino__address_is_loopback("::1"));
    CHECK(kino__address_is_loopback("localhost"));
    CHECK(!kino__address_is_loopback("0.0.0.0"));
    CHECK(!kino__address_is_loopback("::"));
    CHECK(!kino__address_is_loopback("10.0.0.1"));
    CHECK(!kino__address_is_loopback("126.0.0.1"));
    CHECK(kino__address_is_any("0.0.0.0"));
    CHECK(kino__address_is_any("::"));
    CHECK(kino__address_is_any("0::0"));
    CHECK(!kino__address_is_any("::1"));
    CHECK(!kino__address_is_any("localhost"));
}

TEST(pages_from_elsewhere_are_foreign)
{
    CHECK(!kino__fetch_is_foreign(NULL, NULL, false)); /* no browser, or an old one */
    CHECK(!kino__fetch_is_foreign("same-origin", "cors", false));
    CHECK(!kino__fetch_is_foreign("none", "navigate", false)); /* typed */
    CHECK(kino__fetch_is_foreign("cross-site", "cors", false));
    CHECK(kino__fetch_is_foreign("same-site", "no-cors", false));
    CHECK(kino__fetch_is_foreign("cross-site", "navigate", false));
    CHECK(!kino__fetch_is_foreign("cross-site", "navigate", true)); /* a link to our page */
    CHECK(kino__fetch_is_foreign("cross-site", "no-cors", true));
    CHECK(kino__fetch_is_foreign("cross-site", NULL, true));
}

TEST(an_origin_is_the_address_that_is_asked)
{
    CHECK(!kino__origin_is_foreign(NULL, "localhost:6007")); /* no page asks */
    CHECK(!kino__origin_is_foreign("http://localhost:6007", "localhost:6007"));
    CHECK(!kino__origin_is_foreign("https://Machine", "machine")); /* behind a proxy */
    CHECK(kino__origin_is_foreign("http://localhost:6008", "localhost:6007"));
    CHECK(kino__origin_is_foreign("http://evil.example", "localhost:6007"));
    CHECK(kino__origin_is_foreign("http://localhost:6007.evil.example", "localhost:6007"));
    CHECK(kino__origin_is_foreign("null", "localhost:6007"));
    CHECK(kino__origin_is_foreign("", "localhost:6007"));
    CHECK(kino__origin_is_foreign("http://localhost", NULL));
}

TEST(tokens_are_compared_as_a_whole)
{
    CHECK(kino__token_equal(KINO__STR("abcdefgh"), "abcdefgh"));
    CHECK(!kino__token_equal(KINO__STR("abcdefgi"), "abcdefgh"));
    CHECK(!kino__token_equal(KINO__STR("abcdefg"), "abcdefgh"));
    CHECK(!kino__token_equal(KINO__STR("abcdefghi"), "abcdefgh"));
    CHECK(!kino__token_equal(KINO__STR(""), "abcdefgh"));
    CHECK(!kino__token_equal(KINO__STR("abcdefgh\0"), "abcdefgh"));
    CHECK(kino__token_is_good("12345678"));
    CHECK(kino__token_is_good("a-B.c_d~e"));
    CHECK(!kino__token_is_good("1234567"));
    CHECK(!kino__token_is_good("12345678;"));
    CHECK(!kino__token_is_good("1234 5678"));
}

TEST(tokens_are_found_in_headers)
{
    CHECK_STR(kino__bearer_token("Bearer abc"), "abc");
    CHECK_STR(kino__bearer_token("bearer abc"), "abc");
    CHECK_STR(kino__bearer_token("Basic abc"), "");
    CHECK_STR(kino__bearer_token("Bearer"), "");
    CHECK_STR(kino__bearer_token(NULL), "");
    CHECK_STR(kino__cookie_value("kino_1=abc", "kino_1"), "abc");
    CHECK_STR(kino__cookie_value("a=b; kino_1=abc; c=d", "kino_1"), "abc");
    CHECK_STR(kino__cookie_value("a=b;kino_1=abc", "kino_1"), "abc");
    CHECK_STR(kino__cookie_value("xkino_1=abc", "kino_1"), "");
    CHECK_STR(kino__cookie_value("kino_12=abc", "kino_1"), "");
    CHECK_STR(kino__cookie_value("kino_1", "kino_1"), "");
    CHECK_STR(kino__cookie_value(";;; ", "kino_1"), "");
    CHECK_STR(kino__cookie_value(NULL, "kino_1"), "");
}

TEST(gzip_is_taken_when_the_client_says_so)
{
    CHECK(kino__accepts_gzip("gzip"));
    CHECK(kino__accepts_gzip("deflate, gzip;q=0.5, br"));
    CHECK(kino__accepts_gzip("*"));
    CHECK(kino__accepts_gzip("GZIP"));
    CHECK(!kino__accepts_gzip("gzip;q=0"));
    CHECK(!kino__accepts_gzip("gzip;q=0.0, deflate"));
    CHECK(!kino__accepts_gzip("identity"));
    CHECK(!kino__accepts_gzip("xgzip"));
    CHECK(!kino__accepts_gzip(""));
    CHECK(!kino__accepts_gzip(NULL));
}

TEST(tags_match_weak_packed_and_listed_ones)
{
    CHECK(kino__tag_matches("\"abc\"", "abc"));
    CHECK(kino__tag_matches("W/\"abc\"", "abc"));
    CHECK(kino__tag_matches("\"abc-z\"", "abc"));
    CHECK(kino__tag_matches("\"x\", \"abc\"", "abc"));
    CHECK(kino__tag_matches("*", "abc"));
    CHECK(!kino__tag_matches("\"abcd\"", "abc"));
    CHECK(!kino__tag_matches("\"ab\"", "abc"));
    CHECK(!kino__tag_matches("abc", "abc"));
    CHECK(!kino__tag_matches("\"abc-zz\"", "abc"));
    CHECK(!kino__tag_matches("", "abc"));
    CHECK(!kino__tag_matches(NULL, "abc"));
}
