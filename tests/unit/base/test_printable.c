/* test_printable.c - what a terminal may get of texts that come from elsewhere. */
#include <string.h>

#include "base/printable.h"
#include "base/str.h"
#include "unit/test.h"

static void check_copy(const char *text, size_t room, const char *want)
{
    char out[64];
    size_t size = kino__copy_printable(kino__str_from(text), out, room);
    CHECK_STR((const char *)out, want);
    CHECK_EQ(size, strlen(want));
}

TEST(printable_text_is_copied_as_it_is)
{
    check_copy("h\xc3\xa9llo \xe2\x80\x94 \xe5\xad\x97", 64,
               "h\xc3\xa9llo \xe2\x80\x94 \xe5\xad\x97");
}

TEST(printable_text_has_no_controls)
{
    check_copy("a\033[31mb\r\n\x7f", 64, "a?[31mb???");
    check_copy("c1 \xc2\x9b end", 64, "c1 ? end"); /* CSI in one character */
    check_copy("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c", 64, "????"); /* RLO LRI RLM ALM */
    check_copy("\xe2\x80\xa8\xf3\xa0\x81\x81", 64, "??"); /* line separator, a tag */
    check_copy("\xff\xc3", 64, "??");                     /* not UTF-8 */
}

TEST(printable_text_is_cut_between_characters)
{
    check_copy("ab\xc3\xa9", 4, "ab");
    check_copy("ab\xc3\xa9", 5, "ab\xc3\xa9");
    check_copy("abc", 1, "");
}
