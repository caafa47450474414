/* test_error.c - status texts and messages. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "unit/test.h"

TEST(every_status_has_a_text_of_its_own)
{
    static const kino_status all[] = {
#define STATUS(name, value, text) KINO_##name,
        KINO_STATUS_MAP(STATUS)
#undef STATUS
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            CHECK(all[i] != all[k]);
            CHECK(strcmp(kino_status_text(all[i]), kino_status_text(all[k])) != 0);
        }
    CHECK_STR(kino_status_text(KINO_OK), "ok");
    CHECK_STR(kino_status_text((kino_status)99), "unknown status");
}

TEST(fail_returns_the_code_and_fills_the_error)
{
    kino_error err;
    CHECK_EQ(kino__fail(&err, KINO_LIMIT, "more than %d tracks", 7), KINO_LIMIT);
    CHECK_EQ(err.code, KINO_LIMIT);
    CHECK_EQ(err.offset, KINO_NO_OFFSET);
    CHECK_STR(err.message, "more than 7 tracks");
    CHECK_EQ(kino__fail_at(&err, KINO_FORMAT, 123, "no comma"), KINO_FORMAT);
    CHECK_EQ(err.offset, 123);
    CHECK_EQ(kino__fail_errno(&err, ENOENT, "cannot open '%s'", "x"), KINO_IO);
    CHECK_STR(err.message, "cannot open 'x': no such file or directory");
    kino__error_clear(&err);
    CHECK_EQ(err.code, KINO_OK);
    CHECK_STR(err.message, "");
}

TEST(nobody_needs_to_want_the_detail)
{
    CHECK_EQ(kino__fail(NULL, KINO_SQL, "%s", "x"), KINO_SQL);
    CHECK_EQ(kino__fail_at(NULL, KINO_SQL, 1, "x"), KINO_SQL);
    CHECK_EQ(kino__fail_errno(NULL, ENOENT, "x"), KINO_IO);
    CHECK_EQ(kino__fail_nomem(NULL), KINO_NOMEM);
    kino__error_clear(NULL);
}

TEST(long_messages_are_cut_and_terminated)
{
    char name[1000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    kino_error err;
    memset(&err, 0x7f, sizeof err);
    (void)kino__fail_errno(&err, ENOENT, "cannot open '%s'", name);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
    (void)kino__fail(&err, KINO_IO, "%s", name);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
}

static kino_status try_it(kino_status st, bool *went_on)
{
    KINO_TRY(st);
    *went_on = true;
    return KINO_OK;
}

TEST(try_returns_early_only_on_failure)
{
    bool went_on = false;
    CHECK_EQ(try_it(KINO_IO, &went_on), KINO_IO);
    CHECK(!went_on);
    CHECK_EQ(try_it(KINO_OK, &went_on), KINO_OK);
    CHECK(went_on);
}
