/* test_progress_bar.c - the line that long work shows, and when tables are coloured. */
#include <stdlib.h>
#include <string.h>

#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "unit/test.h"

static const char *line(unsigned width, const char *what, uint64_t done, uint64_t total)
{
    static char text[256];
    kino__progress_bar_format(text, sizeof text, width, what, done, total, 3250);
    return text;
}

TEST(progress_bar_shows_part_and_time)
{
    /* 24 places: half of them is 12 */
    CHECK_STR(line(80, "reading", 50, 100), "reading  [############            ]  50 %  3.2 s");
    CHECK_STR(line(80, "reading", 0, 100), "reading  [                        ]   0 %  3.2 s");
    CHECK_STR(line(80, "reading", 100, 100), "reading  [########################] 100 %  3.2 s");
    CHECK_STR(line(80, "reading", 101, 100), "reading  [########################] 100 %  3.2 s");
    CHECK_STR(line(80, "reading", 77, 0), "reading  3.2 s");
    CHECK_STR(line(80, NULL, 77, 0), "working  3.2 s");
}

TEST(progress_bar_leaves_the_last_column_free)
{
    /* the part behind the name: 2 + 26 + 1 + 3 + 2 + 2 + 5 = 41 letters */
    CHECK_STR(line(46, "reading", 50, 100), "read  [############            ]  50 %  3.2 s");
    CHECK_EQ(strlen(line(46, "reading", 50, 100)), (size_t)45);
    CHECK_STR(line(10, "reading", 50, 100), "  [############            ]  50 %  3.2 s");
}

TEST(colour_is_a_choice_of_the_user_first)
{
    REQUIRE(unsetenv("NO_COLOR") == 0 && setenv("TERM", "xterm", 1) == 0);
    CHECK(kino__terminal_wants_color("auto", true));
    CHECK(!kino__terminal_wants_color("auto", false));
    CHECK(kino__terminal_wants_color("always", false));
    CHECK(!kino__terminal_wants_color("never", true));
    REQUIRE(setenv("NO_COLOR", "1", 1) == 0);
    CHECK(!kino__terminal_wants_color("auto", true));
    CHECK(kino__terminal_wants_color("always", true));
    REQUIRE(setenv("NO_COLOR", "", 1) == 0); /* empty does not count */
    CHECK(kino__terminal_wants_color("auto", true));
    REQUIRE(setenv("TERM", "dumb", 1) == 0);
    CHECK(!kino__terminal_wants_color("auto", true));
}
