/* test_sink.c - output: memory, descriptors, files that appear whole or not at all. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sink.h"
#include "unit/test.h"

static size_t files_in(const char *folder)
{
    DIR *dir = opendir(folder);
    REQUIRE(dir != NULL);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

TEST(memory_sink_appends_to_the_buffer)
{
    kino__buffer buffer = {0};
    kino__sink *sink;
    kino__buffer_add(&buffer, KINO__STR("<"));
    REQUIRE(kino__memory_sink_new(&buffer, &sink, NULL) == KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("a"), NULL), KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR(""), NULL), KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("bc"), NULL), KINO_OK);
    CHECK_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    CHECK_STR(kino__buffer_str(&buffer), "<abc");
    kino__buffer_deinit(&buffer);
}

TEST(file_sink_replaces_the_file_only_on_commit)
{
    const char *path = test_tmp("out.json");
    test_write_file(path, "old", 3);
    kino__sink *sink;
    kino_error err;
    REQUIRE(kino__file_sink_open(path, &sink, &err) == KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("new text"), &err), KINO_OK);
    char *text = test_read_file(path, NULL);
    CHECK_STR(text, "old");
    free(text);
    CHECK_EQ(kino__sink_close(sink, true, &err), KINO_OK);
    text = test_read_file(path, NULL);
    CHECK_STR(text, "new text");
    free(text);
    CHECK_EQ(files_in(test_tmp("")), 1);
}

TEST(file_sink_without_commit_leaves_no_trace)
{
    kino__sink *sink;
    REQUIRE(kino__file_sink_open(test_tmp("out.json"), &sink, NULL) == KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("half"), NULL), KINO_OK);
    CHECK_EQ(kino__sink_close(sink, false, NULL), KINO_OK);
    CHECK_EQ(files_in(test_tmp("")), 0);
}

TEST(file_sink_gives_the_usual_permissions)
{
    (void)umask(027);
    const char *path = test_tmp("out.json");
    kino__sink *sink;
    REQUIRE(kino__file_sink_open(path, &sink, NULL) == KINO_OK);
    REQUIRE(kino__sink_close(sink, true, NULL) == KINO_OK);
    struct stat info;
    REQUIRE(stat(path, &info) == 0);
    CHECK_EQ(info.st_mode & 0777, 0640);
}

TEST(file_sink_into_a_missing_folder_says_why)
{
    kino__sink *sink;
    kino_error err;
    const char *path = test_tmp("missing/out.json");
    CHECK_EQ(kino__file_sink_open(path, &sink, &err), KINO_IO);
    CHECK_EQ(sink, NULL);
    char want[512];
    (void)snprintf(want, sizeof want, "cannot write '%s': no such file or directory", path);
    CHECK_STR(err.message, want);
}

TEST(file_sink_over_a_folder_fails_and_cleans_up)
{
    const char *path = test_tmp("folder");
    REQUIRE(mkdir(path, 0700) == 0);
    kino__sink *sink;
    kino_error err;
    kino_status st = kino__file_sink_open(path, &sink, &err);
    if (st == KINO_OK)
        st = kino__sink_close(sink, true, &err);
    CHECK_EQ(st, KINO_IO);
    CHECK_EQ(files_in(test_tmp("")), 1);
}

TEST(full_disk_is_an_error_with_the_name)
{
    if (access("/dev/full", W_OK) != 0)
        SKIP("there is no /dev/full");
    kino__sink *sink;
    kino_error err;
    REQUIRE(kino__file_sink_open("/dev/full", &sink, &err) == KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("x"), &err), KINO_IO);
    CHECK_STR(err.message, "cannot write '/dev/full': no space left on device");
    CHECK_EQ(kino__sink_close(sink, false, NULL), KINO_OK);
}

TEST(descriptor_sink_writes_and_leaves_the_descriptor_open)
{
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    kino__sink *sink;
    REQUIRE(kino__fd_sink_new(ends[1], "pipe", &sink, NULL) == KINO_OK);
    CHECK_EQ(kino__sink_write(sink, KINO__STR("through"), NULL), KINO_OK);
    CHECK_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    CHECK_EQ(write(ends[1], "!", 1), 1);
    char text[16] = {0};
    CHECK_EQ(read(ends[0], text, sizeof text - 1), 8);
    CHECK_STR(text, "through!");
    CHECK_EQ(kino__sink_close(NULL, true, NULL), KINO_OK);
}
