/* test_file.c - reading whole files: mapped, piped, and everything that is no file. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "unit/test.h"

static void check_bytes(size_t size)
{
    char *bytes = malloc(size + 1);
    REQUIRE(bytes != NULL);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 31 + 1);
    const char *path = test_tmp("x.bin");
    test_write_file(path, bytes, size);
    kino__file file;
    REQUIRE(kino__file_open(path, &file, NULL) == KINO_OK);
    CHECK_EQ(file.size, size);
    CHECK(size == 0 || memcmp(file.data, bytes, size) == 0);
    kino__file_will_need(&file, 0, size);
    kino__file_will_need(&file, size / 2, SIZE_MAX);
    kino__file_will_need(&file, size + 1, 1);
    for (size_t i = 0; size && i < KINO__FILE_PAD; i++) /* the promised zeros behind the end */
        REQUIRE_EQ(file.data[size + i], 0);
    kino__file_close(&file);
    CHECK_EQ(file.data, (const char *)NULL);
    free(bytes);
}

TEST(file_has_its_bytes_and_zeros_behind_them)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_bytes(sizes[i]);
}

static void check_refused(const char *path, const char *reason)
{
    kino__file file;
    kino_error err;
    CHECK_EQ(kino__file_open(path, &file, &err), KINO_IO);
    CHECK_EQ(file.data, (const char *)NULL);
    char want[512];
    (void)snprintf(want, sizeof want, "cannot read '%s': %s", path, reason);
    CHECK_STR(err.message, want);
}

TEST(what_is_no_file_is_refused_with_the_reason)
{
    check_refused(test_tmp("missing"), "no such file or directory");
    check_refused("/dev/null", "is a device, not a regular file");
    const char *path = test_tmp("folder");
    REQUIRE(mkdir(path, 0700) == 0);
    check_refused(path, "is a directory");
}

TEST(file_without_permission_is_refused)
{
    const char *path = test_tmp("secret");
    test_write_file(path, "x", 1);
    REQUIRE(chmod(path, 0) == 0);
    bool is_root = geteuid() == 0;
    if (is_root && seteuid(65534) != 0)
        SKIP("cannot give up root");
    check_refused(path, "permission denied");
    /* Back to what LeakSanitizer needs at the end: it looks at the process from outside. */
    REQUIRE(!is_root || seteuid(0) == 0);
    REQUIRE(prctl(PR_SET_DUMPABLE, 1) == 0);
}

TEST(pipe_without_a_writer_does_not_hang)
{
    const char *path = test_tmp("pipe");
    REQUIRE(mkfifo(path, 0600) == 0);
    check_refused(path, "the pipe is empty and has no writer");
}

TEST(pipe_is_read_to_its_end)
{
    enum { LINES = 40000 }; /* several times what a pipe holds */
    const char *path = test_tmp("pipe");
    REQUIRE(mkfifo(path, 0600) == 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK |
                                O_CLOEXEC); /* lets the writer open, and tells when it has */
    REQUIRE(reader >= 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        FILE *out = fopen(path, "we");
        for (int i = 0; out && i < LINES; i++)
            (void)fprintf(out, "%07d\n", i);
        _exit(out && fclose(out) == 0 ? 0 : 1);
    }
    REQUIRE(poll(&(struct pollfd){.fd = reader, .events = POLLIN}, 1, -1) == 1);
    kino__file file;
    REQUIRE(kino__file_open(path, &file, NULL) == KINO_OK);
    (void)close(reader);
    CHECK_EQ(file.size, 8 * LINES);
    CHECK(file.size >= 8 && memcmp(file.data + file.size - 8, "0039999\n", 8) == 0);
    kino__file_close(&file);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

TEST(standard_input_may_be_a_file_or_a_pipe)
{
    kino__file file;
    const char *path = test_tmp("in");
    test_write_file(path, "from a file", 11);
    REQUIRE(freopen(path, "r", stdin) != NULL);
    REQUIRE(kino__file_open("-", &file, NULL) == KINO_OK);
    CHECK_STR(((kino_str){file.data, file.size}), "from a file");
    kino__file_close(&file);
    int ends[2];
    REQUIRE(pipe(ends) == 0 && write(ends[1], "from a pipe", 11) == 11 && close(ends[1]) == 0);
    REQUIRE(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    REQUIRE(kino__file_open("-", &file, NULL) == KINO_OK);
    CHECK_STR(((kino_str){file.data, file.size}), "from a pipe");
    kino__file_close(&file);
    CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* it stays the caller's */
}

TEST(spooling_without_a_temporary_folder_is_an_error)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && close(ends[1]) == 0);
    REQUIRE(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    REQUIRE(setenv("TMPDIR", test_tmp("missing"), 1) == 0);
    kino__file file;
    kino_error err;
    CHECK_EQ(kino__file_open("-", &file, &err), KINO_IO);
    CHECK_STR(err.message, "cannot create a temporary file for '-': no such file or directory");
}

/* Root reads what is in other people's folders: only what is theirs, and a file. */
TEST(file_member_is_a_regular_file_of_the_folders_owner)
{
    char folder[512], path[600], link_path[600], pipe_path[600];
    kino__file file;
    kino_error err;
    (void)snprintf(folder, sizeof folder, "%s", test_tmp("members"));
    (void)snprintf(path, sizeof path, "%s/plain", folder);
    (void)snprintf(link_path, sizeof link_path, "%s/link", folder);
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    REQUIRE_EQ(mkdir(folder, 0700), 0);
    test_write_file(path, "abc", 3);
    REQUIRE_EQ(symlink("plain", link_path), 0);
    REQUIRE_EQ(mkfifo(pipe_path, 0600), 0);
    REQUIRE_EQ(kino__file_open_member(folder, "plain", &file, &err), KINO_OK);
    CHECK_EQ(file.size, 3u);
    kino__file_close(&file);
    CHECK_EQ(kino__file_open_member(folder, "link", &file, &err), KINO_IO);
    CHECK(strstr(err.message, "symbolic link") != NULL);
    CHECK_EQ(kino__file_open_member(folder, "pipe", &file, &err), KINO_IO);
    CHECK(strstr(err.message, "not a regular file") != NULL);
    CHECK_EQ(kino__file_open_member(folder, "gone", &file, &err), KINO_IO);
    if (geteuid() != 0)
        return; /* giving a file away is root's */
    REQUIRE_EQ(chown(path, 65534, 65534), 0);
    CHECK_EQ(kino__file_open_member(folder, "plain", &file, &err), KINO_IO);
    CHECK(strstr(err.message, "not owned by") != NULL);
}
