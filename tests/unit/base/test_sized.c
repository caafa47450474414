/* test_sized.c - structs with their size in front, of callers older and newer than the library. */
#include "base/sized.h"
#include "unit/test.h"

typedef struct old_options {
    uint32_t size;
    int a;
} old_options;

typedef struct options {
    uint32_t size;
    int a, b;
} options;

typedef struct new_options {
    uint32_t size;
    int a, b, c;
} new_options;

TEST(options_of_an_older_caller_keep_the_defaults_of_what_it_lacks)
{
    options ours = {sizeof ours, 1, 2};
    old_options theirs = {sizeof theirs, 7};
    const options *given = (const options *)&theirs;
    KINO__TAKE_OPTIONS(ours, given);
    CHECK_EQ(ours.a, 7);
    CHECK_EQ(ours.b, 2);
}

TEST(options_of_a_newer_caller_are_cut)
{
    options ours = {sizeof ours, 1, 2};
    new_options theirs = {sizeof theirs, 7, 8, 9};
    const options *given = (const options *)&theirs, *none = NULL;
    KINO__TAKE_OPTIONS(ours, none);
    CHECK_EQ(ours.a, 1);
    KINO__TAKE_OPTIONS(ours, given);
    CHECK_EQ(ours.b, 8);
}

TEST(info_fills_what_the_caller_has_room_for)
{
    old_options theirs[2] = {{sizeof theirs[0], 0}, {99, 99}};
    old_options *out = theirs;
    options info = {sizeof(old_options), 5, 6};
    KINO__GIVE_INFO(out, info);
    CHECK_EQ(theirs[0].a, 5);
    CHECK_EQ(theirs[1].size, 99u);
}
