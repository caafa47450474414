/* test_output_file.c - files that appear only when complete. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output_file.h"
#include "unit/test.h"

/* Names without a folder are in the test's own. */
static void enter_folder(void)
{
    REQUIRE_EQ(chdir(test_tmp("")), 0);
}

static void put(int fd, const char *text)
{
    REQUIRE_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void check_content(const char *path, const char *want)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK(read(fd, text, sizeof text - 1) >= 0);
    REQUIRE_EQ(close(fd), 0);
    CHECK_STR((const char *)text, want);
}

static int count_files(void)
{
    DIR *folder = opendir(".");
    int count = 0;
    REQUIRE(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count;
}

static void write_file(const char *path, const char *text, bool commit)
{
    kino__output_file file;
    kino_error err = {0};
    REQUIRE_EQ(kino__output_file_open(path, &file, &err), KINO_OK);
    put(file.fd, text);
    CHECK_EQ(kino__output_file_close(&file, commit, &err), KINO_OK);
    CHECK(file.temporary == NULL);
}

TEST(output_file_replaces_the_old_one_at_commit)
{
    enter_folder();
    write_file("out", "old", true);
    kino__output_file file;
    REQUIRE_EQ(kino__output_file_open("out", &file, NULL), KINO_OK);
    put(file.fd, "new");
    check_content("out", "old");
    CHECK_EQ(kino__output_file_close(&file, true, NULL), KINO_OK);
    check_content("out", "new");
    CHECK_EQ(count_files(), 1);
}

TEST(output_file_with_a_name_replaces_the_old_one_at_commit)
{
    enter_folder();
    write_file("out", "old", true);
    kino__output_file file;
    REQUIRE_EQ(kino__output_file_open_named("out", &file, NULL), KINO_OK);
    put(file.fd, "new");
    check_content("out", "old");
    check_content(file.temporary, "new");
    CHECK_EQ(kino__output_file_close(&file, true, NULL), KINO_OK);
    check_content("out", "new");
    CHECK_EQ(count_files(), 1);
}

TEST(output_file_of_a_killed_process_leaves_nothing)
{
    enter_folder();
    int probe = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (probe < 0)
        SKIP("this file system has no files without a name");
    REQUIRE_EQ(close(probe), 0);
    pid_t child = fork();
    if (child == 0) {
        kino__output_file file;
        if (kino__output_file_open("out", &file, NULL) == KINO_OK)
            (void)!write(file.fd, "half", 4);
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(count_files(), 0);
}

TEST(output_file_without_commit_leaves_no_trace)
{
    enter_folder();
    write_file("out", "old", true);
    write_file("out", "new", false);
    check_content("out", "old");
    CHECK_EQ(count_files(), 1);
}

TEST(output_file_has_the_mode_of_any_new_file)
{
    enter_folder();
    struct stat info;
    (void)umask(027);
    write_file("out", "x", true);
    REQUIRE_EQ(stat("out", &info), 0);
    CHECK_EQ((unsigned)info.st_mode & 0777u, 0640u);
}

TEST(output_file_that_cannot_be_named_leaves_nothing)
{
    enter_folder();
    kino__output_file file;
    kino_error err = {0};
    CHECK_EQ(kino__output_file_open("missing/out", &file, &err), KINO_IO);
    CHECK_STR(err.message, "cannot write 'missing/out': no such file or directory");
    REQUIRE_EQ(mkdir("folder", 0700), 0);
    REQUIRE_EQ(kino__output_file_open("folder", &file, &err), KINO_OK);
    CHECK_EQ(kino__output_file_close(&file, true, &err), KINO_IO);
    CHECK_EQ(count_files(), 1);
}

TEST(output_is_special_for_devices_only)
{
    enter_folder();
    write_file("out", "x", true);
    CHECK(!kino__output_is_special("out"));
    CHECK(!kino__output_is_special("."));
    CHECK(!kino__output_is_special("missing"));
    CHECK(kino__output_is_special("/dev/null"));
}
