/* test.h - the unit test harness: write TEST(name_is_a_sentence) { ... } in a
 * tests/unit/<layer>/test_*.c.
 *
 *   TEST(vec_keeps_items_when_it_grows)
 *   {
 *       CHECK(v.items != NULL);          goes on after a failure
 *       CHECK_EQ(v.count, 3);            prints both values: integers, bool, double, text, pointers
 *       REQUIRE(open_it() == KINO_OK);   ends the test
 *       SKIP("needs ../shared");         ends the test as skipped
 *   }
 *
 * Each test runs in a child process with a time limit and a folder of its own, so it may crash,
 * leak (LeakSanitizer looks at its end) or leave files. TEST_THREADS marks what uses threads: these
 * also run under ThreadSanitizer. */
#ifndef KINO_TEST_H
#define KINO_TEST_H

#include <stdio.h>

#include <kino/base.h>

typedef struct test_case test_case;
struct test_case {
    const char *name;
    const char *file;
    int line;
    const char *label; /* "" or "threads" */
    void (*run)(void);
    test_case *next;
};

void test_register(test_case *test);

#define TEST(test_name)         TEST_LABELLED(test_name, "")
#define TEST_THREADS(test_name) TEST_LABELLED(test_name, "threads")

#define TEST_LABELLED(test_name, test_label)                                                       \
    static void test_run_##test_name(void);                                                        \
    __attribute__((constructor)) static void test_add_##test_name(void)                            \
    {                                                                                              \
        static test_case test = {#test_name,           __FILE__, __LINE__, test_label,             \
                                 test_run_##test_name, NULL};                                      \
        test_register(&test);                                                                      \
    }                                                                                              \
    static void test_run_##test_name(void)

/* A value of any kind that can be compared and printed. Built by TEST_VALUE. */
typedef struct test_value {
    enum { TEST_INT, TEST_UINT, TEST_REAL, TEST_TEXT, TEST_POINTER } kind;
    union {
        long long i;
        unsigned long long u;
        double r;
        const void *p;
        kino_str text; /* data is NULL for a NULL string */
    } as;
} test_value;

test_value test_int(long long v);
test_value test_uint(unsigned long long v);
test_value test_real(double v);
test_value test_text(const char *v);
test_value test_str(kino_str v);
test_value test_pointer(const void *v);

/* clang-format off */
#define TEST_VALUE(v) _Generic((v),                                                                \
    bool: test_uint, char: test_int, signed char: test_int, unsigned char: test_uint,              \
    short: test_int, unsigned short: test_uint, int: test_int, unsigned: test_uint,                \
    long: test_int, unsigned long: test_uint, long long: test_int, unsigned long long: test_uint,  \
    float: test_real, double: test_real, char *: test_text, const char *: test_text,               \
    kino_str: test_str, default: test_pointer)(v)
/* clang-format on */

/* All return whether the check held, so that a loop can stop at the first failure. */
bool test_check(bool held, const char *what, const char *file, int line);
bool test_check_eq(test_value got, test_value want, const char *what, const char *file, int line);
_Noreturn void test_end_failed(void);
_Noreturn void test_end_skipped(const char *reason);

#define CHECK(condition) test_check((condition), "CHECK(" #condition ")", __FILE__, __LINE__)
#define CHECK_EQ(got, want)                                                                        \
    test_check_eq(TEST_VALUE(got), TEST_VALUE(want), #got " == " #want, __FILE__, __LINE__)
/* Texts, whether C strings, byte pointers or views. */
#define CHECK_STR(got, want) CHECK_EQ(got, want)
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!test_check((condition), "REQUIRE(" #condition ")", __FILE__, __LINE__))               \
            test_end_failed();                                                                     \
    } while (0)
#define REQUIRE_EQ(got, want)                                                                      \
    do {                                                                                           \
        if (!CHECK_EQ(got, want))                                                                  \
            test_end_failed();                                                                     \
    } while (0)
#define SKIP(reason) test_end_skipped(reason)

/* A path inside this test's own empty folder; the folder is removed after the run. Static, four at
 * a time. */
const char *test_tmp(const char *name);
/* A path inside the repository ("tests/data/x.json"), whatever the current folder is. Static, four
 * at a time. */
const char *test_root(const char *path);
/* A path inside ../shared; ends the test as skipped when it does not exist. */
const char *test_shared(const char *path);

/* Writes a file, or ends the test. */
void test_write_file(const char *path, const void *data, size_t size);
/* The bytes of a file in a terminated block, the caller frees; ends the test when it cannot be
 * read. */
char *test_read_file(const char *path, size_t *size);

#endif
