/* test_definitions.c - the family lists (*.def): readable by C, no name twice. CMake checks that
 * the files exist. */
#include <string.h>

#include "unit/test.h"

static void check_names(const char *const *names) /* NULL at the end */
{
    for (size_t i = 0; names[i]; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(names[i], names[k]) != 0);
}

TEST(families_list_each_member_once)
{
    static const char *const readers[] = {
#define READER(name) #name,
#include "reader/readers.def"
#undef READER
        NULL};
    static const char *const writers[] = {
#define WRITER(name) #name,
#include "writer/writers.def"
#undef WRITER
        NULL};
    static const char *const analyses[] = {
#define ANALYSIS(name) #name,
#include "analysis/analyses.def"
#undef ANALYSIS
        NULL};
    static const char *const rules[] = {
#define RULE(name) #name,
#include "rule/rules.def"
#undef RULE
        NULL};
    check_names(readers);
    check_names(writers);
    check_names(analyses);
    check_names(rules);
    CHECK_STR(readers[0], "chrome_json");
    CHECK_STR(writers[0], "chrome_json");
}
