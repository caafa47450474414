/* test_demo.c - the demo generator: same options same bytes, about the size asked for, nothing half
 * written. What the events mean is checked by tests/integration/test_demo.py. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "codec/source.h"
#include "demo/demo.h"
#include "unit/test.h"

static kino_demo_options small(void)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    options.ranks = 2;
    options.steps = 2;
    return options;
}

static void write_demo(const char *folder, const kino_demo_options *options)
{
    kino_error err;
    if (!CHECK_EQ(kino__demo_write(folder, options, &err), KINO_OK))
        printf("    %s\n", err.message);
}

static char *read_rank(const char *folder, const char *name, size_t *size)
{
    kino__buffer path = {0};
    kino__buffer_printf(&path, "%s/%s", folder, name);
    char *text = test_read_file(path.data, size);
    kino__buffer_deinit(&path);
    return text;
}

static size_t count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;
    REQUIRE(dir != NULL);
    for (struct dirent *entry;
         (entry = readdir(dir));) /* NOLINT(concurrency-mt-unsafe): the DIR is ours */
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static bool same(const char *a, size_t a_size, const char *b, size_t b_size)
{
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

TEST(demo_is_the_same_for_the_same_seed_and_another_for_another)
{
    kino_demo_options options = small();
    write_demo(test_tmp("a"), &options);
    write_demo(test_tmp("b"), &options);
    options.seed = 2;
    write_demo(test_tmp("c"), &options);
    static const char *const names[] = {"rank-0.json", "rank-1.json"};
    for (int i = 0; i < 2; i++) {
        size_t a_size, b_size, c_size;
        char *a = read_rank(test_tmp("a"), names[i], &a_size);
        char *b = read_rank(test_tmp("b"), names[i], &b_size);
        char *c = read_rank(test_tmp("c"), names[i], &c_size);
        CHECK(same(a, a_size, b, b_size));
        CHECK(!same(a, a_size, c, c_size));
        free(a);
        free(b);
        free(c);
    }
    CHECK_EQ(count_files(test_tmp("a")), 2);
}

TEST(demo_has_about_the_size_asked_for)
{
    static const uint64_t sizes[] = {1000000, 5000000, 30000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kino_demo_options options = small();
        options.ranks = 1;
        options.bytes_per_rank = sizes[i];
        write_demo(test_tmp("sized"), &options);
        size_t size;
        free(read_rank(test_tmp("sized"), "rank-0.json", &size));
        if (!CHECK(size > sizes[i] / 5 * 4 && size < sizes[i] / 4 * 5))
            printf("    asked for %llu, got %zu\n", (unsigned long long)sizes[i], size);
    }
}

static void check_compressed(const char *folder, const char *name, kino__compression format,
                             const char *want, size_t want_size)
{
    size_t packed_size;
    char *packed = read_rank(folder, name, &packed_size);
    char *text = malloc(want_size + 1);
    kino__source *source = NULL;
    bool is_damaged = false;
    REQUIRE(text != NULL);
    REQUIRE_EQ(kino__source_open(format, (kino_str){packed, packed_size}, &source, NULL), KINO_OK);
    size_t size = kino__source_read(source, text, want_size + 1, &is_damaged);
    CHECK(!is_damaged);
    CHECK(same(text, size, want, want_size));
    CHECK(packed_size < want_size / 5);
    kino__source_close(source);
    free(text);
    free(packed);
}

TEST(demo_compressed_is_the_same_text)
{
    kino_demo_options options = small();
    options.ranks = 1;
    write_demo(test_tmp("plain"), &options);
    options.suffix = ".json.gz";
    write_demo(test_tmp("packed"), &options);
    options.suffix = ".json.zst";
    write_demo(test_tmp("packed"), &options);
    size_t size;
    char *text = read_rank(test_tmp("plain"), "rank-0.json", &size);
    check_compressed(test_tmp("packed"), "rank-0.json.gz", KINO__COMPRESSION_GZIP, text, size);
    check_compressed(test_tmp("packed"), "rank-0.json.zst", KINO__COMPRESSION_ZSTD, text, size);
    free(text);
}

typedef struct stopper {
    unsigned calls, limit;
    uint64_t last, total;
    bool went_back;
} stopper;

static bool stop_after(void *context, const char *what, uint64_t done, uint64_t total)
{
    stopper *s = context;
    (void)what;
    s->went_back |= done < s->last;
    s->last = done;
    s->total = total;
    return s->calls++ < s->limit;
}

TEST(demo_reports_progress_and_leaves_nothing_half_when_cancelled)
{
    stopper whole = {.limit = UINT32_MAX};
    kino_demo_options options = small();
    options.progress = stop_after;
    options.progress_context = &whole;
    write_demo(test_tmp("whole"), &options);
    CHECK(whole.calls > 4);
    CHECK(!whole.went_back);
    CHECK_EQ(whole.last, whole.total);
    for (unsigned limit = 0; limit < whole.calls; limit++) {
        stopper s = {.limit = limit};
        options.progress_context = &s;
        kino_error err;
        REQUIRE_EQ(kino__demo_write(test_tmp("cancelled"), &options, &err), KINO_CANCELLED);
    }
    /* Cancelled in the second rank at the latest: the first one's file is whole, and that is all.
     */
    size_t size, want_size;
    char *got = read_rank(test_tmp("cancelled"), "rank-0.json", &size);
    char *want = read_rank(test_tmp("whole"), "rank-0.json", &want_size);
    CHECK(same(got, size, want, want_size));
    CHECK_EQ(count_files(test_tmp("cancelled")), 1);
    free(got);
    free(want);
}

TEST(demo_refuses_what_it_cannot_do)
{
    kino_error err;
    kino_demo_options options = small();
    options.suffix = ".txt";
    CHECK_EQ(kino__demo_write(test_tmp("x"), &options, &err), KINO_ARGUMENT);
    options = small();
    options.ranks = 0;
    CHECK_EQ(kino__demo_write(test_tmp("x"), &options, &err), KINO_ARGUMENT);
    options = small();
    options.steps = 0;
    CHECK_EQ(kino__demo_write(test_tmp("x"), &options, &err), KINO_ARGUMENT);
    options = small();
    CHECK_EQ(kino__demo_write(test_tmp("no/such/place"), &options, &err), KINO_IO);
    CHECK(strstr(err.message, "no/such/place") != NULL);
    test_write_file(test_tmp("file"), "x", 1);
    CHECK_EQ(kino__demo_write(test_tmp("file"), &options, &err), KINO_IO);
}
