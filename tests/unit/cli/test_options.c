/* test_options.c - the option tables of the program: values, mistakes, suggestions, and what is
 * printed from them. */
#include "cli/cli.h"
#include "cli/options.h"
#include "unit/test.h"

typedef struct sample {
    bool flag;
    const char *text, *choice;
    unsigned number, ms;
    uint64_t count, size;
    kino__ranks ranks;
} sample;

static const kino__option table[] = {
    {"flag", KINO__OPTION_FLAG, NULL, "a flag", offsetof(sample, flag), false},
    {"text", KINO__OPTION_TEXT, "FILE", "a text", offsetof(sample, text), false},
    {"format", KINO__OPTION_CHOICE, "table|json", "a choice", offsetof(sample, choice), false},
    {"number", KINO__OPTION_UINT, "N", "a number", offsetof(sample, number), false},
    {"timeout", KINO__OPTION_SECONDS, "SECONDS", "a time", offsetof(sample, ms), false},
    {"count", KINO__OPTION_COUNT, "N", "a count", offsetof(sample, count), false},
    {"size", KINO__OPTION_SIZE, "SIZE", "a size", offsetof(sample, size), false},
    {"rank", KINO__OPTION_RANKS, "LIST", "ranks", offsetof(sample, ranks), false},
    {"secret", KINO__OPTION_FLAG, NULL, "hidden", offsetof(sample, flag), true},
    {0},
};
static const kino__option_set set = {{table}};

/* Parses words separated by blanks (at most 15, at most 200 bytes); *positional gets the others,
 * joined. */
static kino_status parse(const char *line, sample *out, char positional[256], kino_error *err)
{
    static char words[256];
    char *list[16];
    size_t count = 0, others;
    snprintf(words, sizeof words, "%s", line);
    for (char *at = words; *at && count < 16;) {
        list[count++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = 0;
    }
    kino_status st = kino__options_parse(&set, out, list, count, &others, err);
    positional[0] = 0;
    for (size_t i = 0; i < others; i++) {
        size_t used = strlen(positional);
        snprintf(positional + used, 256 - used, "%s%s", i ? " " : "", list[i]);
    }
    return st;
}

static bool accepts(const char *line, sample *out)
{
    char others[256];
    kino_error err;
    return parse(line, out, others, &err) == KINO_OK;
}

static const char *mistake(const char *line)
{
    static kino_error err;
    char others[256];
    sample s = {0};
    CHECK_EQ((int)parse(line, &s, others, &err), (int)KINO_ARGUMENT);
    kino__vec_deinit(&s.ranks.items);
    return err.message;
}

TEST(options_set_their_fields)
{
    sample s = {0};
    char others[256];
    kino_error err;
    REQUIRE(parse("a --flag --text x --format=json - --number 7 b --count=123 -- --flag", &s,
                  others, &err) == KINO_OK);
    CHECK(s.flag);
    CHECK_STR(s.text, "x");
    CHECK_STR(s.choice, "json");
    CHECK_EQ(s.number, 7u);
    CHECK_EQ(s.count, (uint64_t)123);
    CHECK_STR(others, "a - b --flag");
}

TEST(options_a_later_one_wins_and_a_value_may_look_like_an_option)
{
    sample s = {0};
    REQUIRE(accepts("--text a --text --flag", &s));
    CHECK_STR(s.text, "--flag");
    CHECK(!s.flag);
    REQUIRE(accepts("--text=", &s));
    CHECK_STR(s.text, "");
}

TEST(options_sizes_have_units)
{
    sample s = {0};
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"--size 0", 0},
                {"--size 4096", 4096},
                {"--size 200MB", 200000000},
                {"--size 1.5GB", 1500000000},
                {"--size 1GiB", 1073741824},
                {"--size 2k", 2000},
                {"--size 10B", 10}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(accepts(good[i].text, &s));
        CHECK_EQ(s.size, good[i].bytes);
    }
    static const char *const bad[] = {
        "--size x",           "--size -1",        "--size MB",
        "--size 1.5",         "--size 1e9",       "--size 99999999999999999999",
        "--size 999999999TB", "--size 1 --size=", "--size 1.2.3GB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!CHECK(!accepts(bad[i], &s)))
            printf("  %s\n", bad[i]);
}

TEST(options_seconds_are_milliseconds_inside)
{
    sample s = {0};
    CHECK(accepts("--timeout 2.5", &s));
    CHECK_EQ(s.ms, 2500u);
    CHECK(accepts("--timeout 0.001s", &s));
    CHECK_EQ(s.ms, 1u);
    CHECK(!accepts("--timeout -1", &s));
    CHECK(!accepts("--timeout soon", &s));
    CHECK(!accepts("--timeout 99999999", &s));
}

TEST(options_ranks_are_lists_and_ranges)
{
    sample s = {0};
    static const int64_t wanted[] = {0, 2, 3, 4, 9};
    REQUIRE(accepts("--rank 0,2-4,9", &s));
    REQUIRE_EQ(s.ranks.items.count, (size_t)5);
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(s.ranks.items.items[i], wanted[i]);
    REQUIRE(accepts("--rank 7", &s)); /* replaces, does not add */
    CHECK_EQ(s.ranks.items.count, (size_t)1);
    static const char *const bad[] = {"--rank=",   "--rank ,",  "--rank 1,", "--rank 4-2",
                                      "--rank -1", "--rank 1-", "--rank a",  "--rank 0-9999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!CHECK(!accepts(bad[i], &s)))
            printf("  %s\n", bad[i]);
    kino__vec_deinit(&s.ranks.items);
}

TEST(options_mistakes_are_explained)
{
    CHECK_STR(mistake("--fromat json"), "unknown option '--fromat' (did you mean '--format'?)");
    CHECK_STR(mistake("--form=json"), "unknown option '--form=json' (did you mean '--format'?)");
    CHECK_STR(mistake("--zzzzzz"), "unknown option '--zzzzzz'");
    CHECK_STR(mistake("-x"), "unknown option '-x'");
    CHECK_STR(mistake("--secre"), "unknown option '--secre'");
    CHECK_STR(mistake("--number"), "option --number requires a value: N");
    CHECK_STR(mistake("--flag=1"), "option --flag does not take a value");
    CHECK_STR(mistake("--number x"), "invalid value 'x' for --number (expected: a number)");
    CHECK_STR(mistake("--format xml"),
              "invalid value 'xml' for --format (expected: table or json)");
    CHECK_STR(mistake("--format tab"),
              "invalid value 'tab' for --format (expected: table or json)");
}

TEST(options_suggestions_are_near)
{
    static const char *const words[] = {"info", "query", "convert", "demo", NULL};
    CHECK_STR(kino__suggest("inof", words), "info");
    CHECK_STR(kino__suggest("qurey", words), "query");
    CHECK_STR(kino__suggest("conv", words), "convert");
    CHECK_STR(kino__suggest("dem", words), "demo");
    CHECK(kino__suggest("report", words) == NULL);
    CHECK(kino__suggest("", words) == NULL);
    CHECK(kino__suggest("a-word-that-is-much-longer-than-any-option-there-is", words) == NULL);
}

TEST(options_are_printed_from_the_same_table)
{
    kino__buffer out = {0};
    static const kino__option few[] = {
        {"format", KINO__OPTION_CHOICE, "table|json", "how", 0, false},
        {"secret", KINO__OPTION_UINT, "N", "not for all", 0, true},
        {"help", KINO__OPTION_FLAG, NULL, "this text", 0, false},
        {0},
    };
    kino__option_set some = {{few}};
    kino__options_print_help(&out, &some);
    CHECK_STR(kino__buffer_str(&out), KINO__STR("  --format table|json         how\n"
                                                "  --help                      this text\n"));
    out.size = 0;
    kino__options_print_manual(&out, &some, false);
    CHECK_STR(
        kino__buffer_str(&out),
        KINO__STR("**\\-\\-format** `table|json`\n:   how\n\n**\\-\\-help**\n:   this text\n"));
    out.size = 0;
    kino__options_print_manual(&out, &some, true);
    CHECK_STR(kino__buffer_str(&out), KINO__STR("**\\-\\-secret** *N*\n:   not for all\n"));
    kino__buffer_deinit(&out);
}

TEST(options_help_lines_are_at_most_80_wide)
{
    const kino__command *command;
    for (size_t i = 0; (command = kino__command_at(i)); i++) {
        kino__buffer out = {0};
        kino__print_help(&out, command);
        size_t column = 0, widest = 0;
        for (size_t k = 0; k < out.size; k++) {
            column = out.data[k] == '\n' ? 0 : column + 1;
            widest = column > widest ? column : widest;
        }
        CHECK(widest <= 80);
        kino__buffer_deinit(&out);
    }
}

TEST(invocations_name_a_command)
{
    kino__invocation what;
    kino_error err;
    CHECK_EQ((int)kino__invocation_parse(&what, NULL, 0, &err), (int)KINO_OK);
    CHECK(what.overview && !what.command);
    kino__invocation_deinit(&what);

    char *version[] = {"--version"};
    CHECK_EQ((int)kino__invocation_parse(&what, version, 1, &err), (int)KINO_OK);
    CHECK(what.version);
    kino__invocation_deinit(&what);

    char info[] = "info", path[] = "x.json", rank[] = "--rank=1,2";
    char *words[] = {info, rank, path};
    REQUIRE(kino__invocation_parse(&what, words, 3, &err) == KINO_OK);
    CHECK(what.command == &kino__command_info);
    CHECK_EQ(what.count, (size_t)1);
    CHECK_STR(what.arguments[0], "x.json");
    CHECK_EQ(((kino__common_options *)what.options)->ranks.items.count, (size_t)2);
    kino__invocation_deinit(&what);

    char help[] = "help", demo[] = "demo";
    char *ask[] = {help, demo};
    REQUIRE(kino__invocation_parse(&what, ask, 2, &err) == KINO_OK);
    CHECK(what.command == &kino__command_demo && ((kino__common_options *)what.options)->help);
    kino__invocation_deinit(&what);

    char typo[] = "qurey";
    char *wrong[] = {typo};
    CHECK_EQ((int)kino__invocation_parse(&what, wrong, 1, &err), (int)KINO_ARGUMENT);
    CHECK_STR(err.message, "unknown command 'qurey' (did you mean 'query'?)");
    kino__invocation_deinit(&what);
}

TEST(options_switch_takes_a_yes_or_no_that_follows_and_nothing_else)
{
    typedef struct target {
        const char *series;
    } target;
    static const kino__option switches[] = {
        {"series", KINO__OPTION_SWITCH, "yes|no", "h", offsetof(target, series), false}, {0}};
    static const struct {
        const char *first, *second;
        const char *series;
        size_t positional;
    } cases[] = {
        {"--series", "x.json", "yes", 1},
        {"--series", "no", "no", 0},
        {"--series=off", "x.json", "off", 1},
        {"x.json", "--series", "yes", 1},
        {"x.json", "no", NULL, 2},
        {"--series=maybe", "x.json", NULL, 9}, /* 9: refused */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__option_set own = {{switches}};
        target got = {NULL};
        char first[32], second[32];
        (void)snprintf(first, sizeof first, "%s", cases[i].first);
        (void)snprintf(second, sizeof second, "%s", cases[i].second);
        size_t positional;
        kino_status st =
            kino__options_parse(&own, &got, (char *[]){first, second}, 2, &positional, NULL);
        CHECK_EQ(st, cases[i].positional == 9 ? KINO_ARGUMENT : KINO_OK);
        if (st == KINO_OK) {
            CHECK_EQ(positional, cases[i].positional);
            CHECK_STR(got.series, cases[i].series);
        }
    }
}
