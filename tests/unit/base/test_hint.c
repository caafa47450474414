/* test_hint.c - texts for people and hints for programs stay together, whatever is put around. */

#include "base/error.h"
#include "unit/test.h"

static const char *named(const kino_error *err)
{
    static char text[240];
    (void)snprintf(text, sizeof text, "%.*s", (int)err->hint.size, err->message + err->hint.at);
    return text;
}

static const char *as_option(const kino_error *err)
{
    static char text[300];
    return kino__hint_as_option(err->message, &err->hint, text, sizeof text);
}

TEST(hint_stands_where_the_format_marks_it)
{
    kino_error err;
    kino_status st =
        kino__fail_hint(&err, KINO_ARGUMENT, kino__hint(KINO_HINT_OPTION, "run", "NAME"),
                        "'%s' has %d runs; use " KINO__HERE ": %s",
                        "a\x1f"
                        "b",
                        2, "x");
    CHECK_EQ(st, KINO_ARGUMENT);
    CHECK_STR(err.message, "'a\x1f"
                           "b' has 2 runs; use run=NAME: x");
    CHECK_STR(named(&err), "run=NAME");
    CHECK_STR(as_option(&err), "'a\x1f"
                               "b' has 2 runs; use --run NAME: x");
}

TEST(hint_of_a_flag_and_of_a_value_without_a_name)
{
    kino_error err;
    (void)kino__fail_hint(&err, KINO_LIMIT,
                          kino__hint(KINO_HINT_OPTION, "include_last_step", "yes"),
                          "use " KINO__HERE " instead");
    CHECK_STR(err.message, "use include_last_step=yes instead");
    CHECK_STR(as_option(&err), "use --include-last-step instead");
    (void)kino__fail_hint(&err, KINO_LIMIT, kino__hint(KINO_HINT_UNSET, "compat", ""),
                          "not with " KINO__HERE);
    CHECK_STR(err.message, "not with compat");
    CHECK_STR(as_option(&err), "not with --compat");
}

TEST(hint_about_a_parameter_of_an_analysis_reads_the_same_everywhere)
{
    kino_error err;
    (void)kino__fail_hint(&err, KINO_LIMIT,
                          kino__hint(KINO_HINT_PARAMETER, "include_last_step", "yes"),
                          KINO__HERE " counts it");
    CHECK_STR(as_option(&err), "include_last_step=yes counts it");
}

TEST(hint_moves_with_its_text_into_an_error_about_a_file)
{
    kino_error why, err;
    (void)kino__fail_hint(&why, KINO_LIMIT, kino__hint(KINO_HINT_OPTION, "memory", "SIZE"),
                          "too large; raise the limit with " KINO__HERE);
    CHECK_EQ(kino__fail_file_inner(&err, KINO_LIMIT, "read", "run/a.json.gz", &why), KINO_LIMIT);
    CHECK_STR(err.message,
              "cannot read 'run/a.json.gz': too large; raise the limit with memory=SIZE");
    CHECK_STR(named(&err), "memory=SIZE");
    CHECK_EQ(strncmp(err.message + err.path_at, "run/a.json.gz", err.path_size), 0);
    CHECK_EQ(err.path_size, strlen("run/a.json.gz"));
    CHECK_STR(kino__error_reason(&err), "too large; raise the limit with memory=SIZE");
}

TEST(hint_and_path_that_a_long_text_cuts_off_have_no_place)
{
    char path[300];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    kino_error why, err;
    (void)kino__fail_hint(&why, KINO_LIMIT, kino__hint(KINO_HINT_OPTION, "memory", "SIZE"),
                          "use " KINO__HERE);
    (void)kino__fail_file_inner(&err, KINO_LIMIT, "read", path, &why);
    CHECK_EQ(err.path_size, 0);
    CHECK_EQ(err.hint.size, 0);
    CHECK_EQ(err.hint.code, KINO_HINT_OPTION);
    CHECK_STR(as_option(&err), err.message);
    (void)kino__fail_hint(&err, KINO_LIMIT, why.hint, "%s " KINO__HERE, path);
    CHECK_EQ(err.hint.size, 0);
}

TEST(hint_of_an_earlier_failure_does_not_stay)
{
    kino_error err;
    (void)kino__fail_hint(&err, KINO_LIMIT, kino__hint(KINO_HINT_OPTION, "run", "NAME"),
                          KINO__HERE);
    (void)kino__fail_file(&err, KINO_IO, "write", "x", NULL);
    CHECK_EQ(err.hint.code, KINO_HINT_NONE);
    CHECK_STR(err.message, "cannot write 'x'");
    (void)kino__fail(&err, KINO_IO, "else");
    CHECK_EQ(err.path_size, 0);
}

TEST(hint_in_json_has_all_its_fields)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino_hint hint = kino__hint(KINO_HINT_OPTION, "run", "NAME");
    hint.at = 3;
    hint.size = 8;
    kino__hint_json(&json, &hint, 1);
    kino__buffer_add(&text, (kino_str){"", 1});
    CHECK_STR(text.data, "{\"note\":1,\"code\":\"option\",\"subject\":\"run\",\"value\":\"NAME\","
                         "\"at\":3,\"size\":8}");
    kino__buffer_deinit(&text);
}
