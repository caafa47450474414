/* test_discover.c - which files make a run, in which order, and the rank that a name tells. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/discover.h"
#include "engine/kino_run.h"
#include "unit/test.h"

static void put(const char *name)
{
    test_write_file(test_tmp(name), "[]", 2);
}

static void make_folder(const char *name)
{
    REQUIRE(mkdir(test_tmp(name), 0777) == 0);
}

/* The names found below the test's folder, joined by blanks; or the message of the failure. */
static const char *found(const char *folder, const char *run, const char *span)
{
    static char text[1024];
    char path[512];
    kino_error err;
    kino__discovery d;
    snprintf(path, sizeof path, "%s", test_tmp(folder));
    const char *paths[] = {path};
    text[0] = 0;
    if (kino__discover(paths, 1, run, span, &d, &err) != KINO_OK)
        snprintf(text, sizeof text, "%s", err.message);
    else
        for (size_t i = 0; i < d.files.count; i++) {
            size_t used = strlen(text);
            const char *name = d.files.items[i].path + strlen(path) + 1;
            snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", name);
        }
    kino__discovery_deinit(&d);
    return text;
}

static const char *quoted_message(const char *format, const char *folder)
{
    static char text[1024];
    snprintf(text, sizeof text, format, test_tmp(folder));
    return text;
}

TEST(discover_natural_order_compares_numbers_by_value)
{
    CHECK(kino__natural_compare("rank-2.json", "rank-10.json") < 0);
    CHECK(kino__natural_compare("rank-10.json", "rank-2.json") > 0);
    CHECK(kino__natural_compare("a", "b") < 0);
    CHECK(kino__natural_compare("a", "ab") < 0);
    CHECK_EQ(kino__natural_compare("x7", "x7"), 0);
    CHECK(kino__natural_compare("x07", "x7") != 0);
    CHECK(kino__natural_compare("x99999999999999999999998", "x99999999999999999999999") < 0);
}

TEST(discover_takes_the_traces_of_a_folder_in_natural_order)
{
    make_folder("run");
    put("run/rank-10.json");
    put("run/rank-2.json.gz");
    put("run/rank-1.pt.trace.json.zst");
    put("run/notes.txt");
    put("run/.hidden.json");
    put("run/rank-3.json.tmp");
    make_folder("run/sub.json");
    CHECK_STR(found("run", NULL, NULL), "rank-1.pt.trace.json.zst rank-2.json.gz rank-10.json");
}

TEST(discover_leaves_pipes_and_devices_alone)
{
    make_folder("run");
    put("run/a.json");
    REQUIRE(symlink("a.json", test_tmp("run/link.json")) == 0);
    REQUIRE(symlink("nowhere", test_tmp("run/gone.json")) == 0);
    REQUIRE(symlink("/dev/zero", test_tmp("run/endless.json")) == 0);
    REQUIRE(mkfifo(test_tmp("run/pipe.json"), 0600) == 0); /* opening it would wait for ever */
    CHECK_STR(found("run", NULL, NULL), "a.json link.json");
}

TEST(discover_lists_runs_until_one_is_chosen)
{
    make_folder("logs");
    CHECK_STR(found("logs", NULL, NULL),
              quoted_message("no traces in '%s': no files named *.json, *.json.gz, *.json.zst, "
                             "*.kino, *.sqlite or *.pftrace",
                             "logs"));
    make_folder("logs/one");
    put("logs/one/a.json");
    make_folder("logs/empty");
    CHECK_STR(found("logs", NULL, NULL), "one/a.json"); /* a single run needs no choice */
    make_folder("logs/two");
    put("logs/two/b.json");
    CHECK_STR(found("logs", NULL, NULL),
              quoted_message("'%s' has several runs; select one with run=NAME: one, two", "logs"));
    CHECK_STR(found("logs", "two", NULL), "two/b.json");
    CHECK_STR(found("logs", "three", NULL),
              quoted_message("no such run in '%s'; it has one, two", "logs"));
}

TEST(discover_finds_runs_however_deep_they_lie)
{
    make_folder("logs");
    make_folder("logs/a");
    make_folder("logs/a/b");
    make_folder("logs/a/b/inner");
    put("logs/a/b/x.json");
    put("logs/a/b/inner/y.json");                       /* below a run: another run */
    REQUIRE(symlink("..", test_tmp("logs/a/up")) == 0); /* a circle must end */
    CHECK_STR(
        found("logs", NULL, NULL),
        quoted_message("'%s' has several runs; select one with run=NAME: a/b, a/b/inner", "logs"));
    CHECK_STR(found("logs", "a/b", NULL), "a/b/x.json");
    CHECK_STR(found("logs", "a/b/inner", NULL), "a/b/inner/y.json");
    CHECK_STR(found("logs", "b", NULL),
              quoted_message("no such run in '%s'; it has a/b, a/b/inner", "logs"));
}

TEST(discover_numbers_spans_by_their_digits_as_text)
{
    make_folder("run");
    put("run/w0.2000.pt.trace.json");
    CHECK_STR(found("run", NULL, NULL), "w0.2000.pt.trace.json");
    put("run/w0.10000.pt.trace.json");
    put("run/w1.3000.pt.trace.json.gz");
    put("run/w1.500.pt.trace.json");
    /* "10000" < "2000" and "3000" < "500" as text */
    CHECK_STR(found("run", NULL, "1"), "w0.10000.pt.trace.json w1.3000.pt.trace.json.gz");
    CHECK_STR(found("run", NULL, "2"), "w0.2000.pt.trace.json w1.500.pt.trace.json");
    CHECK_STR(found("run", NULL, "2000"), "w0.2000.pt.trace.json");
    CHECK(strstr(found("run", NULL, NULL), "has several recordings; select one with span=N:") !=
          NULL);
    CHECK(strstr(found("run", NULL, "3"), "no such recording in ") != NULL);
    make_folder("plain");
    put("plain/rank-0.json");
    CHECK_STR(found("plain", NULL, "3"),
              quoted_message("no such recording in '%s'; it has none", "plain"));
}

TEST(discover_names_worker_and_span)
{
    kino__discovery d;
    kino_error err;
    const char *paths[] = {"x/host.name_7.1623.pt.trace.json.gz", "x/worker0.pt.trace.json",
                           "x/plain.json"};
    REQUIRE(kino__discover(paths, 3, NULL, NULL, &d, &err) == KINO_OK);
    REQUIRE_EQ(d.files.count, (size_t)3);
    CHECK_STR(d.files.items[0].worker, "host.name_7");
    CHECK_STR(d.files.items[0].span, "1623");
    CHECK(!d.files.items[0].from_folder);
    CHECK_STR(d.files.items[1].worker, "worker0");
    CHECK(d.files.items[1].span == NULL);
    CHECK(d.files.items[2].worker == NULL);
    kino__discovery_deinit(&d);
}

TEST(discover_long_lists_are_cut_with_their_number)
{
    make_folder("l");
    for (int i = 0; i < 60; i++) {
        char name[64];
        snprintf(name, sizeof name, "l/run-with-a-name-%d", i);
        make_folder(name);
        snprintf(name, sizeof name, "l/run-with-a-name-%d/a.json", i);
        put(name);
    }
    const char *text = found("l", NULL, NULL);
    CHECK(strlen(text) < 240);
    CHECK(strstr(text, " more") != NULL);
}

TEST(discover_rank_of_a_name)
{
    CHECK_EQ(kino__rank_of_name("a/b/rank-3.json"), 3);
    CHECK_EQ(kino__rank_of_name("rank3_trace.json.gz"), 3);
    CHECK_EQ(kino__rank_of_name("trace_rank_12.json"), 12);
    CHECK_EQ(kino__rank_of_name("Rank=0.json"), 0);
    CHECK_EQ(kino__rank_of_name("worker_4.pt.trace.json"), 4);
    CHECK_EQ(kino__rank_of_name("worker0.1623143089861.pt.trace.json"), 0);
    CHECK_EQ(kino__rank_of_name("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), 34);
    CHECK_EQ(kino__rank_of_name("rank_non_gpu.json.gz"), KINO_NO_INT);
    CHECK_EQ(kino__rank_of_name("frank3.json"), KINO_NO_INT);
    CHECK_EQ(kino__rank_of_name("rank-3/trace.json"), KINO_NO_INT);
    CHECK_EQ(kino__rank_of_name("rank1623143089861.json"), KINO_NO_INT);
    CHECK_EQ(kino__rank_of_name("trace.json"), KINO_NO_INT);
}

static void make_link(const char *name, const char *target)
{
    char path[512];
    snprintf(path, sizeof path, "%s", test_tmp(target));
    REQUIRE(symlink(path, test_tmp(name)) == 0);
}

TEST(discovery_keeps_what_is_inside_whatever_links_say)
{
    char folder[512];
    kino__discovery d;
    make_folder("served");
    make_folder("served/run");
    make_folder("elsewhere");
    make_folder("served-too");
    test_write_file(test_tmp("elsewhere/secret.json"), "{}", 2);
    test_write_file(test_tmp("served-too/secret.json"), "{}", 2);
    test_write_file(test_tmp("served/run/own.json"), "{}", 2);
    make_link("served/a.json", "elsewhere/secret.json");
    make_link("served/b.json", "served-too/secret.json"); /* a name that begins the same */
    make_link("served/c.json", "served/run/own.json");
    make_link("served/d.json", "nowhere.json");
    make_link("served/out", "elsewhere");
    snprintf(folder, sizeof folder, "%s", test_tmp("served"));
    REQUIRE(kino__discover_folder(folder, &d, NULL) == KINO_OK);
    CHECK_EQ(d.files.count, 3u);
    kino__discovery_keep_inside(&d, NULL);
    CHECK_EQ(d.files.count, 3u);
    kino__discovery_keep_inside(&d, folder);
    REQUIRE_EQ(d.files.count, 1u);
    CHECK(strstr(d.files.items[0].path, "/c.json") != NULL);
    kino__discovery_deinit(&d);
    char out[600];
    snprintf(out, sizeof out, "%s/out", folder);
    REQUIRE(kino__discover_folder(out, &d, NULL) == KINO_OK);
    CHECK_EQ(d.files.count, 1u);
    kino__discovery_keep_inside(&d, folder);
    CHECK_EQ(d.files.count, 0u);
    kino__discovery_deinit(&d);
}
