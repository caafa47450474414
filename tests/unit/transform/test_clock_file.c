/* test_clock_file.c - clocks from a file. */
#include "transform/clock_file.h"
#include "unit/test.h"

static kino_status parse(const char *text, kino__clocks *out, kino_error *err)
{
    *out = (kino__clocks){0};
    return kino__clock_file_parse(kino__str_from(text), "clocks.csv", out, err);
}

TEST(clocks_are_read_by_the_names_of_their_columns)
{
    kino__clocks clocks;
    kino_error err;
    REQUIRE_EQ(parse("at,note,rank,drift,offset\r\n500,\"a, \"\"b\"\"\",3,1.5,-20\r\n,,4,,\n",
                     &clocks, &err),
               KINO_OK);
    REQUIRE_EQ(clocks.items.count, 2);
    const kino__clock *c = clocks.items.items;
    CHECK_EQ(c[0].rank, 3);
    CHECK_EQ(c[0].line.at, 500);
    CHECK_EQ(c[0].line.offset, -20);
    CHECK(c[0].line.drift > 1.499e-6 && c[0].line.drift < 1.501e-6);
    CHECK(kino__clock_is_known(&c[0]));
    CHECK_EQ(c[1].rank, 4);
    CHECK(!kino__clock_is_known(&c[1]));
    kino__clocks_deinit(&clocks);
}

static void check_failure(const char *text, const char *want)
{
    kino__clocks clocks;
    kino_error err;
    CHECK_EQ(parse(text, &clocks, &err), KINO_FORMAT);
    CHECK(strstr(err.message, want) != NULL);
    kino__clocks_deinit(&clocks);
}

TEST(a_file_that_has_no_clocks_is_refused_with_its_line)
{
    check_failure("", "line 0: columns rank, offset, drift and at expected");
    check_failure("rank,offset,drift\n", "line 1: columns rank, offset, drift and at expected");
    check_failure("rank,offset,drift,at\nx,1,1,1\n", "line 2: rank must be an integer");
    check_failure("rank,offset,drift,at\n1,2,3,4\n1,1.5,1,1\n",
                  "line 3: offset must be nanoseconds");
    check_failure("rank,offset,drift,at\n1,1,,1\n", "line 2: drift must be parts per million");
    check_failure("rank,offset,drift,at\n1,1,1e9,1\n", "line 2: drift must be parts per million");
    check_failure("rank,offset,drift,at\n1,1,1,x\n", "line 2: at must be nanoseconds");
}
