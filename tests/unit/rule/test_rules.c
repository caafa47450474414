/* test_rules.c - what holds for all rules: thresholds that are set, merging of ranks, order, saving
 * and loading, and the page that lists them. */
#include <stdlib.h>
#include <string.h>

#include "engine/analyze.h"
#include "rule/rule.h"
#include "rule/thresholds.h"
#include "unit/rules_scene.h"
#include "unit/test.h"

enum { STEP = 1000000 };

/* -- definitions */

TEST(rules_have_names_and_texts)
{
    const kino__rule_def *rule, *other;
    for (size_t i = 0; (rule = kino__rule_at(i)); i++) {
        CHECK(rule->name && rule->help && (rule->look || rule->compare));
        CHECK(rule->help[strlen(rule->help) - 1] != '.');
        bool is_known = !rule->yields_to;
        for (size_t k = 0; (other = kino__rule_at(k)); k++) {
            CHECK(k == i || strcmp(rule->name, other->name) != 0);
            is_known |= rule->yields_to == other;
        }
        CHECK(is_known);
        CHECK_EQ(rule->is_plugins, i < 7);
        CHECK(strstr(kino__analysis_recommendations.description, rule->name)); /* --help */
        for (size_t t = 0; rule->thresholds && rule->thresholds[t].name; t++)
            CHECK(rule->thresholds[t].help && t < 8);
    }
}

/* The line of a rule in the table of docs/analyses/recommendations.md. */
static void add_line(kino__buffer *out, const kino__rule_def *rule)
{
    kino__buffer_printf(out, "| `%s` | %s |", rule->name, rule->help);
    for (size_t i = 0; rule->thresholds && rule->thresholds[i].name; i++)
        kino__buffer_printf(out, "%s `%s` = %g: %s", i ? ";" : "", rule->thresholds[i].name,
                            rule->thresholds[i].value, rule->thresholds[i].help);
    kino__buffer_printf(out, " | %s |\n", rule->gain ? rule->gain : "not estimated");
}

TEST(rules_are_listed_on_their_page)
{
    size_t size;
    char *page = test_read_file(test_root("docs/analyses/recommendations.md"), &size);
    const kino__rule_def *rule;
    const char *at = page;
    for (size_t i = 0; (rule = kino__rule_at(i)) && at; i++) {
        kino__buffer line = {0};
        add_line(&line, rule);
        kino__buffer_add(&line, (kino_str){"", 1});
        REQUIRE(!line.failed);
        at = strstr(at, line.data); /* in the order of the list */
        if (!at) {
            printf("the page should have, at this place:\n%s", line.data);
            CHECK(at != NULL);
        }
        kino__buffer_deinit(&line);
    }
    free(page);
}

/* -- thresholds */

static const char *complaint(const char *set)
{
    static kino_error err;
    kino_status st = kino__thresholds_check(kino__str_from(set), &err);
    return st == KINO_OK ? "" : err.message;
}

TEST(thresholds_say_what_is_wrong_with_them)
{
    CHECK_STR(complaint(""), "");
    CHECK_STR(complaint("data-loading.share=0.1"), "");
    CHECK_STR(complaint("data-loading.share=0.1,warm-up.factor=2e0"), "");
    static const char *const bad[] = {
        "data-loading", "data-loading.share", "data-loading.share=", "=1", ",", "share=0.1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(strstr(complaint(bad[i]), "(expected: rule.name=number"));
    CHECK(strstr(complaint("loading.share=1"), "unknown rule 'loading'"));
    CHECK_STR(complaint("data-loading.part=1"),
              "rule 'data-loading' has no threshold 'part' (known, with defaults: share=0.05)");
    CHECK_STR(complaint("data-parallel.share=1"), "rule 'data-parallel' has no thresholds");
    static const char *const no_number[] = {"x", "1x", "1 ", "nan", "inf", "5%", "--1", "0.1=2"};
    for (size_t i = 0; i < sizeof no_number / sizeof *no_number; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "warm-up.factor=2,data-loading.share=%s", no_number[i]);
        CHECK(strstr(complaint(text), "is not a number"));
    }
}

TEST(thresholds_fail_the_analysis_before_it_starts)
{
    kino__analysis a;
    kino_error err;
    kino_param param = {"set", "data-loading.share=much"};
    kino_status st = kino__analysis_init(&a, &kino__analysis_recommendations, &param, 1, &err);
    CHECK_EQ(st, KINO_ARGUMENT);
    CHECK_STR(err.message, "invalid threshold 'data-loading.share=much': 'much' is not a number");
    kino__analysis_deinit(&a);
}

TEST(thresholds_that_are_set_twice_have_the_last_value)
{
    const kino__rule_def *rule = kino__rule_at(0);
    kino_str set = KINO__STR("data-loading.share=1,warm-up.factor=7,data-loading.share=2");
    CHECK_EQ(kino__threshold_of(set, rule, &rule->thresholds[0]), 2.0);
    CHECK_EQ(kino__threshold_of(KINO__STR("warm-up.factor=7"), rule, &rule->thresholds[0]), 0.05);
}

/* -- ranks and order */

/* A rank whose data loader takes so many ns of the step, and which copies pageable memory. */
static scene *rank(int64_t number, int64_t loading, int64_t copying)
{
    scene *s = scene_new();
    s->rank = number;
    scene_step(s, 0, STEP);
    scene_host(s, "user_annotation", "enumerate(DataPipe)#Shuffler", 0, loading);
    scene_add(s, (fixture_event){.track = 8,
                                 .cat = "gpu_memcpy",
                                 .name = "Memcpy HtoD (Pageable -> Device)",
                                 .ts = 500000,
                                 .dur = copying});
    return s;
}

TEST(rules_say_the_same_advice_once_for_all_ranks)
{
    scene *ranks[] = {rank(0, 100000, 0), rank(1, 30000, 0), rank(2, 300000, 0)};
    said s = scenes_say(ranks, 3, "data-loading", NULL);
    CHECK(s.is_said);
    CHECK_STR(s.ranks, "[0, 2]");
    CHECK(s.gain == 30);                   /* as on the rank where it would bring most */
    CHECK_STR(s.evidence, "[8589934593]"); /* the second event of the third trace */
}

TEST(rules_are_ordered_by_gain)
{
    scene *one = rank(0, 100000, 50000), *two = rank(0, 100000, 200000);
    CHECK_STR(scenes_rules(&one, 1, NULL), "data-loading pageable-copy");
    CHECK_STR(scenes_rules(&two, 1, NULL), "pageable-copy data-loading");
}

TEST(rules_do_not_depend_on_the_order_of_ranks)
{
    scene *forward[] = {rank(0, 100000, 50000), rank(1, 60000, 90000), rank(2, 0, 70000)};
    scene *backward[] = {rank(2, 0, 70000), rank(1, 60000, 90000), rank(0, 100000, 50000)};
    char first[512];
    (void)snprintf(first, sizeof first, "%s", scenes_rules(forward, 3, NULL));
    CHECK_STR(scenes_rules(backward, 3, NULL), first);
    CHECK(first[0] != 0);
}

TEST(rules_of_the_plugin_alone_speak_in_compat_mode)
{
    scene *s = rank(0, 100000, 200000);
    CHECK_STR(scenes_rules(&s, 1, "tensorboard"), "data-loading");
}

TEST(rules_of_the_plugin_speak_of_each_rank_in_compat_mode)
{
    scene *ranks[] = {rank(0, 100000, 0), rank(1, 0, 0), rank(2, 300000, 0)};
    CHECK_STR(scenes_rules(ranks, 3, "tensorboard"), "data-loading data-loading");
}

TEST(rules_say_nothing_about_an_empty_trace)
{
    scene *s = scene_new();
    CHECK_STR(scenes_rules(&s, 1, NULL), "");
    s = scene_new();
    CHECK_STR(scenes_rules(&s, 1, "tensorboard"), "");
}

/* -- saving and loading */

TEST(rules_can_be_saved_merged_and_loaded)
{
    kino__analysis a;
    REQUIRE(kino__analysis_init(&a, &kino__analysis_recommendations, NULL, 0, NULL) == KINO_OK);
    kino__trace *traces[] = {scene_trace(rank(0, 100000, 0)), scene_trace(rank(1, 300000, 90000))};
    void *values[2], *loaded[2];
    kino__buffer bytes[2] = {0}, again = {0}, merged = {0}, direct = {0};
    for (uint32_t i = 0; i < 2; i++) {
        traces[i]->index = i;
        values[i] = kino__partial_new(&a);
        REQUIRE(values[i] != NULL);
        REQUIRE(a.def->map(&a, traces[i], values[i], NULL) == KINO_OK);
        kino__partial_save(&a, values[i], &bytes[i]);
        REQUIRE(kino__partial_load(&a, kino__buffer_str(&bytes[i]), &loaded[i], NULL) == KINO_OK);
    }
    kino__partial_save(&a, loaded[1], &again);
    CHECK(kino__str_equal(kino__buffer_str(&bytes[1]), kino__buffer_str(&again)));
    REQUIRE(a.def->merge(&a, loaded[0], loaded[1], NULL) == KINO_OK);
    REQUIRE(a.def->merge(&a, values[0], values[1], NULL) == KINO_OK);
    kino__partial_save(&a, loaded[0], &merged);
    kino__partial_save(&a, values[0], &direct);
    CHECK(kino__str_equal(kino__buffer_str(&merged), kino__buffer_str(&direct)));
    for (int i = 0; i < 2; i++) {
        kino__partial_free(&a, values[i]);
        kino__partial_free(&a, loaded[i]);
        kino__trace_free(traces[i]);
        kino__buffer_deinit(&bytes[i]);
    }
    kino__buffer_deinit(&again);
    kino__buffer_deinit(&merged);
    kino__buffer_deinit(&direct);
    kino__analysis_deinit(&a);
}
