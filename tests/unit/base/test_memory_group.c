/* Limits of control groups: trees made by hand, of both versions. */
#include <string.h>
#include <sys/stat.h>

#include "base/memory_limit.h"
#include "unit/test.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    test_write_file(path, text, strlen(text));
}

static const char *folder(const char *name)
{
    const char *path = test_tmp(name);
    (void)mkdir(path, 0700);
    return path;
}

static uint64_t left(const char *groups)
{
    test_write_file(test_tmp("groups"), groups, strlen(groups));
    return kino__memory_left(test_tmp("groups"), test_tmp("sys"));
}

TEST(memory_group_of_version_two_leaves_the_least_of_all_around_it)
{
    (void)folder("sys");
    put(folder("sys/outer"), "memory.max", "1000000\n");
    put(folder("sys/outer"), "memory.current", "900000\n");
    put(folder("sys/outer"), "memory.stat",
        "anon 1\nshmem 5\ninactive_file 100000\nactive_file 50000\nworkingset_refault_file 7\n");
    put(folder("sys/outer/inner"), "memory.max", "max\n");
    put(folder("sys/outer/inner"), "memory.current", "800000\n");
    CHECK_EQ(left("0::/outer/inner\n"), 250000); /* 1000000 - (900000 - 150000) */
    put(folder("sys/outer/inner"), "memory.max", "800100\n");
    CHECK_EQ(left("0::/outer/inner\n"), 100);
    put(folder("sys/outer/inner"), "memory.max", "700000\n"); /* more is used than may be */
    CHECK_EQ(left("0::/outer/inner\n"), 0);
    CHECK_EQ(left("0::/outer\n"), 250000);
    CHECK_EQ(left("0::/outer/not/seen/from/here\n"), 250000);
    CHECK_EQ(left("0::/\n"), UINT64_MAX);
}

TEST(memory_group_of_version_one_is_below_its_controller)
{
    (void)folder("sys");
    (void)folder("sys/memory");
    put(folder("sys/memory/job"), "memory.limit_in_bytes", "5000000\n");
    put(folder("sys/memory/job"), "memory.usage_in_bytes", "3000000\n");
    put(folder("sys/memory/job"), "memory.stat",
        "inactive_file 1\ntotal_inactive_file 400000\ntotal_active_file 100000\n");
    CHECK_EQ(left("5:cpu:/x\n4:memory:/job\n0::/\n"), 2500000);
    CHECK_EQ(left("4:cpu,memory:/job\n"), 2500000);
    CHECK_EQ(left("4:cpu:/job\n"), UINT64_MAX);
    CHECK_EQ(left("nonsense\n"), UINT64_MAX);
    CHECK_EQ(kino__memory_left(test_tmp("not there"), test_tmp("sys")), UINT64_MAX);
}

TEST(memory_folders_are_known)
{
    CHECK(!kino__memory_is_folder("/proc"));
    CHECK(!kino__memory_is_folder(test_tmp("not there")));
}
