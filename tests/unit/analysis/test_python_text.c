/* test_python_text.c - JSON values as Python's str() writes them. */
#include "analysis/python_text.h"
#include "unit/test.h"

TEST(python_text_writes_lists_words_numbers_and_strings_as_python_does)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"[[32,3],[]]", "[[32, 3], []]"},
        {" [ [32 , 3] ,\n []\t] ", "[[32, 3], []]"},
        {"[]", "[]"},
        {"", ""},
        {"7", "7"},
        {"[true,false,null,-1]", "[True, False, None, -1]"},
        {"[0.50,1.0,2e3]", "[0.5, 1.0, 2000.0]"},
        {"\"[1,2]\"", "[1,2]"},                           /* a string is itself */
        {"\"a\\nb\"", "a\nb"},                            /* and so are its letters */
        {"[\"a\",\"it's\"]", "['a', \"it's\"]"},          /* inside a list it has quotes */
        {"[\"'\\\"\"]", "['\\'\"']"},                     /* both kinds inside: the single one */
        {"[\"a\\tb\\\\\\u0001\"]", "['a\\tb\\\\\\x01']"}, /* what cannot be seen is escaped */
        {"{\"k\":[1,2]}", "{'k': [1, 2]}"},
        {"[1,\"open", "[1, 'open'"}, /* damaged: as far as it goes */
        {"[[1,", "[[1, "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__buffer out = {0};
        kino__python_text(kino__str_from(cases[i].json), &out);
        REQUIRE(!out.failed);
        CHECK_STR(kino__buffer_str(&out), kino__str_from(cases[i].want));
        kino__buffer_deinit(&out);
    }
}
