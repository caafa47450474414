/* test_server_params.c - the parameters of a request: what is read, and what is refused and how. */
#include "server/url_params.h"
#include "unit/test.h"

static kino__params params;
static kino_error err;

static kino_status parse(const char *query)
{
    kino__params_deinit(&params);
    return kino__params_parse(kino__str_from(query), &params, &err);
}

/* The message of a refusal, or "". */
static const char *refusal(const char *query)
{
    return parse(query) == KINO_OK ? "" : err.message;
}

TEST(params_are_decoded)
{
    REQUIRE_EQ(parse("run=resnet%2Fa&q=a+b%26c&empty=&flag&n=%C3%A9"), KINO_OK);
    CHECK_EQ(params.count, 5);
    CHECK_STR(kino__params_text(&params, "run"), "resnet/a");
    CHECK_STR(kino__params_text(&params, "q"), "a b&c");
    CHECK_STR(kino__params_text(&params, "empty"), "");
    CHECK_STR(kino__params_text(&params, "flag"), "");
    CHECK_STR(kino__params_text(&params, "n"), "\xc3\xa9");
    CHECK(kino__params_text(&params, "other") == NULL);
    CHECK(kino__params_has(&params, "flag"));
    kino__params_deinit(&params);
}

TEST(params_may_be_none)
{
    CHECK_EQ(parse(""), KINO_OK);
    CHECK_EQ(params.count, 0);
    CHECK_EQ(parse("&&"), KINO_OK);
    CHECK_EQ(params.count, 0);
    CHECK_EQ(parse("a=1&"), KINO_OK);
    CHECK_EQ(params.count, 1);
    CHECK_EQ(parse("a=b=c"), KINO_OK);
    CHECK_STR(kino__params_text(&params, "a"), "b=c");
    kino__params_deinit(&params);
}

TEST(params_that_are_no_text_are_refused)
{
    CHECK_STR(refusal("a=%"), "parameter 'a': invalid % escape");
    CHECK_STR(refusal("a=%4"), "parameter 'a': invalid % escape");
    CHECK_STR(refusal("a=%g0"), "parameter 'a': invalid % escape");
    CHECK_STR(refusal("a=%00"), "parameter 'a' is not valid UTF-8");
    CHECK_STR(refusal("a=%ff"), "parameter 'a' is not valid UTF-8");
    CHECK_STR(refusal("a=%c0%af"), "parameter 'a' is not valid UTF-8"); /* "/" in too many bytes */
    CHECK_STR(refusal("a=%ed%a0%80"), "parameter 'a' is not valid UTF-8"); /* half a character */
    CHECK_STR(refusal("a=1&b=2&a=3"), "parameter 'a' is given twice");
    const char *name = "invalid parameter name (expected: letters, digits, '_' and '-')";
    CHECK_STR(refusal("=1"), name);
    CHECK_STR(refusal("a%20b=1"), name);
    CHECK_STR(refusal("a\x01=1"), name);
    kino__params_deinit(&params);
}

TEST(params_have_an_end)
{
    kino__buffer text = {0};
    for (int i = 0; i < KINO__PARAMS_MOST; i++)
        kino__buffer_printf(&text, "p%d=%d&", i, i);
    CHECK_EQ(kino__params_parse(kino__buffer_str(&text), &params, &err), KINO_OK);
    CHECK_EQ(params.count, KINO__PARAMS_MOST);
    CHECK_STR(kino__params_text(&params, "p63"), "63");
    kino__params_deinit(&params);
    kino__buffer_printf(&text, "more=1");
    CHECK_EQ(kino__params_parse(kino__buffer_str(&text), &params, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "more than 64 parameters");
    kino__params_deinit(&params);
    kino__buffer_deinit(&text);
}

TEST(params_as_numbers)
{
    int64_t n = 7;
    REQUIRE_EQ(parse("a=5&b=-3&c=x&d=&e=9223372036854775808&f=1.0&g= 1"), KINO_OK);
    CHECK_EQ(kino__params_int(&params, "none", 0, 9, &n, &err), KINO_OK);
    CHECK_EQ(n, 7); /* its default */
    CHECK_EQ(kino__params_int(&params, "a", 0, 9, &n, &err), KINO_OK);
    CHECK_EQ(n, 5);
    CHECK_EQ(kino__params_int(&params, "b", -3, 9, &n, &err), KINO_OK);
    CHECK_EQ(n, -3);
    CHECK_EQ(kino__params_int(&params, "b", 0, 9, &n, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "invalid value '-3' for parameter 'b' (expected: 0 to 9)");
    CHECK_EQ(kino__params_int(&params, "a", 6, 9, &n, &err), KINO_ARGUMENT);
    const char *const wrong[] = {"c", "d", "e", "f", "g"};
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(kino__params_int(&params, wrong[i], INT64_MIN + 1, INT64_MAX, &n, &err),
                 KINO_ARGUMENT);
    CHECK_EQ(n, -3);
    kino__params_deinit(&params);
}

TEST(params_as_seconds)
{
    static const struct {
        const char *text;
        unsigned ms;
    } good[] = {{"0", 0},     {"1", 1000},   {"2.5", 2500},
                {"0.001", 1}, {"60", 60000}, {"59.99", 59990}};
    static const char *const bad[] = {"", "-1", "61", "60.001", "1.", ".5", "1.2345", "1e3", "x"};
    char query[64];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        unsigned ms = 5;
        snprintf(query, sizeof query, "wait=%s", good[i].text);
        REQUIRE_EQ(parse(query), KINO_OK);
        CHECK_EQ(kino__params_seconds(&params, "wait", 60, &ms, &err), KINO_OK);
        CHECK_EQ(ms, good[i].ms);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned ms = 5;
        snprintf(query, sizeof query, "wait=%s", bad[i]);
        REQUIRE_EQ(parse(query), KINO_OK);
        CHECK_EQ(kino__params_seconds(&params, "wait", 60, &ms, &err), KINO_ARGUMENT);
        CHECK_EQ(ms, 5);
    }
    kino__params_deinit(&params);
}

/* The numbers of a list joined by blanks; "?" when it is refused. */
static const char *numbers(const char *list)
{
    static char text[256];
    char query[128];
    kino__numbers n;
    size_t used = 0;
    snprintf(query, sizeof query, "tracks=%s", list);
    REQUIRE_EQ(parse(query), KINO_OK);
    kino_status st = kino__params_numbers(&params, "tracks", &n, &err);
    text[0] = 0;
    for (size_t i = 0; i < n.items.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i ? " " : "",
                                 n.items.items[i]);
    kino__vec_deinit(&n.items);
    kino__params_deinit(&params);
    return st == KINO_OK ? text : "?";
}

TEST(params_as_lists)
{
    CHECK_STR(numbers("0"), "0");
    CHECK_STR(numbers("0,2-4,7"), "0 2 3 4 7");
    CHECK_STR(numbers("5-5"), "5");
    CHECK_STR(numbers("3,1"), "3 1");
    CHECK_STR(numbers("4294967294"), "4294967294");
    static const char *const bad[] = {
        "",  ",",   "0,", ",0",  "0,,1",       "1-",          "-1",    "2-1",
        "a", "1-b", "0 ", "1;2", "4294967295", "99999999999", "1-2-3", "0-4294967294"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_STR(numbers(bad[i]), "?");
}

TEST(params_lists_have_an_end)
{
    kino__numbers n;
    REQUIRE_EQ(parse("a=1-1048576&b=1-1048577&c=0-1000000,0-1000000"), KINO_OK);
    CHECK_EQ(kino__params_numbers(&params, "a", &n, &err), KINO_OK);
    CHECK_EQ(n.items.count, 1048576);
    kino__vec_deinit(&n.items);
    CHECK_EQ(kino__params_numbers(&params, "b", &n, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "too many numbers for parameter 'b' (limit: 1048576)");
    kino__vec_deinit(&n.items);
    CHECK_EQ(kino__params_numbers(&params, "c", &n, &err), KINO_ARGUMENT);
    kino__vec_deinit(&n.items);
    kino__params_deinit(&params);
}

TEST(params_that_are_unknown_are_named)
{
    static const char *const one[] = {"run", "span", NULL}, *const two[] = {"id", NULL};
    const char *const *lists[] = {one, NULL, two};
    REQUIRE_EQ(parse("id=1&run=x"), KINO_OK);
    CHECK_EQ(kino__params_allow(&params, lists, 3, &err), KINO_OK);
    REQUIRE_EQ(parse("id=1&ruin=x"), KINO_OK);
    CHECK_EQ(kino__params_allow(&params, lists, 3, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "unknown parameter 'ruin' (known: run, span, id)");
    CHECK_EQ(kino__params_allow(&params, lists + 1, 1, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "unknown parameter 'id' (this route takes none)");
    kino__params_deinit(&params);
}
