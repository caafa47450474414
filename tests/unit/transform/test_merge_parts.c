/* test_merge_parts.c - parts of one process made one trace: kino_merge_options.is_one_process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <kino/engine.h>

#include "base/file.h"
#include "base/str.h"
#include "unit/test.h"

/* The first part: its window, a range, a device whose number is a pid, losses. */
static const char first[] =
    "{\"baseTimeNanoseconds\": 1700000000000000000, \"host_name\": \"a\",\n"
    " \"kino_loss\": {\"buffer_full\": 3, \"open_spans\": 1, \"ended_without_stop\": true},\n"
    " \"traceEvents\": [\n"
    "  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"tid\": 0, \"args\": {\"name\": "
    "\"prog\"}},\n"
    "  {\"ph\": \"X\", \"cat\": \"Trace\", \"name\": \"Kino (0)\", \"pid\": \"Spans\", \"tid\": "
    "\"Kino\", \"ts\": 100, \"dur\": 50},\n"
    "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 120, "
    "\"dur\": 5, \"args\": {\"correlation\": 4}},\n"
    "  {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"range\", \"pid\": 7, \"tid\": 7, "
    "\"ts\": 110, \"dur\": 20}]}\n";
/* The second: begins 1 us later on the clock of both, has the same pids. */
static const char second[] =
    "{\"baseTimeNanoseconds\": 1700000000000001000, \"more\": 5,\n"
    " \"kino_loss\": {\"buffer_full\": 4, \"lost\": 2},\n"
    " \"traceEvents\": [\n"
    "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k2\", \"pid\": 0, \"tid\": 7, \"ts\": 130, "
    "\"dur\": 5, \"args\": {\"correlation\": 4}},\n"
    "  {\"ph\": \"X\", \"cat\": \"cpu_sample\", \"name\": \"main\", \"pid\": 7, \"tid\": \"7 "
    "samples\", \"ts\": 90, \"dur\": 80}]}\n";

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(merge_keeps_pids_of_parts_of_one_process_and_adds_their_losses)
{
    char folder[] = "/tmp/kino-test-XXXXXX", paths[3][64];
    const char *const names[] = {"a.json", "b.json", "out.json"};
    REQUIRE(mkdtemp(folder));
    for (int i = 0; i < 3; i++)
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    write_text(paths[0], first);
    write_text(paths[1], second);
    const char *const inputs[] = {paths[0], paths[1]};
    kino_run *run = NULL, *merged = NULL;
    kino_merge_options options = KINO_MERGE_OPTIONS_INIT;
    options.is_one_process = true;
    REQUIRE_EQ(kino_run_open(inputs, 2, NULL, &run, NULL), KINO_OK);
    REQUIRE_EQ(kino_run_merge(run, &options, &merged, NULL), KINO_OK);
    REQUIRE_EQ(kino_run_write(merged, paths[2], NULL, NULL), KINO_OK);
    kino__file file;
    REQUIRE_EQ(kino__file_open(paths[2], &file, NULL), KINO_OK);
    kino_str text = {file.data, file.size};
#define HAS(part) CHECK(kino__str_contains(text, KINO__STR(part)))
    HAS("\"kino_loss\": {\"buffer_full\": 7, \"open_spans\": 1, \"lost\": 2, "
        "\"ended_without_stop\": true}");
    HAS("\"host_name\": \"a\"");
    HAS("\"more\": 5");
    HAS("{\"name\": \"prog\"}");               /* no "trace 0: " before it */
    HAS("\"pid\": 7, \"tid\": \"7 samples\""); /* no other number */
    HAS("\"ts\": 91");                         /* 90 us from a base 1 us later */
    HAS("\"correlation\": 14");                /* not the first part's 4: 10 is above all ids */
#undef HAS
    CHECK(!kino__str_contains(text, KINO__STR("Kino (0)"))); /* the window of one part */
    CHECK(!kino__str_contains(text, KINO__STR("\"ranks\"")));
    kino__file_close(&file);
    kino_run_free(merged);
    kino_run_free(run);
    for (int i = 0; i < 3; i++)
        (void)unlink(paths[i]);
    (void)rmdir(folder);
}
