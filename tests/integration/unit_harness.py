#!/usr/bin/env python3
"""The unit test runner itself: does a failing, crashing, hanging or skipping test turn into the right line and count?"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SAMPLE = r"""
#include "unit/test.h"
#include <stdlib.h>
#include <unistd.h>

TEST(passes)
{
    CHECK_EQ(1, 1u);
    CHECK_EQ((char)'a', "a"[0]);
    CHECK_STR(((kino_str){"abc", 2}), "ab");
    CHECK_EQ(test_tmp, test_tmp);
    CHECK_EQ(0.5, 0.5f);
}
TEST(fails_twice_and_goes_on)
{
    CHECK_EQ(-1, 4294967295u);
    CHECK_STR("got this", "want that");
}
TEST(crashes)
{
    raise_it();
}
TEST_THREADS(hangs)
{
    for (;;)
        (void)pause();
}
TEST(is_kept_from_running_by_a_busy_machine)
{
    for (int i = 0; i < 6; i++) { /* takes 3 s by the clock, and next to none of the processor's */
        (void)usleep(500000);
        for (volatile long n = 0; n < 1000000; n++)
            ;
    }
}
TEST(computes_without_end)
{
    for (volatile long n = 0;; n++)
        ;
}
TEST(skips)
{
    SKIP("the reason");
}
TEST(requires)
{
    REQUIRE(1 == 2);
    SKIP("must not come here");
}
"""


def main():
    problems = []

    def check(what, held):
        if not held:
            problems.append(what)

    with tempfile.TemporaryDirectory() as tmp:
        source, program = pathlib.Path(tmp, "sample.c"), pathlib.Path(tmp, "sample")
        source.write_text(SAMPLE.replace("raise_it();", "abort();"))
        subprocess.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/tests", '-DKINO_TEST_ROOT="."',
                        source, ROOT / "tests/unit/runner.c", "-lm", "-o", program], check=True)

        def run(*arguments):
            done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

        code, lines = run("--limit", "1")
        check("all: exit code 1", code == 1)
        check("all: counts", lines[-1] == "2 passed, 5 failed, 1 skipped")
        check("crash is one line", "FAIL crashes: crashed, SIGABRT" in lines)
        check("limit of processor time", "FAIL computes_without_end: more than 1 s of processor time" in lines)
        check("what hangs is ended", "FAIL hangs: hangs: it used no processor time for long" in lines)
        check("skip with its reason", "skip skips: the reason" in lines)
        check("REQUIRE ends the test", "must not come here" not in "".join(lines))
        check("both values, first check", "      got  -1" in lines and "      want 4294967295" in lines)
        check("both values, second check", '      got  "got this"' in lines and '      want "want that"' in lines)
        code, lines = run("passes")
        check("filter", code == 0 and lines == ["1 passed, 0 failed, 0 skipped"])
        code, lines = run("--list", "--label", "threads")
        check("list by label", code == 0 and lines == ["hangs  threads"])
        check("a filter that matches nothing fails", run("nothing")[0] == 1)
        check("wrong usage", run("--wrong")[0] == 2)
    print("\n".join(f"FAIL {problem}" for problem in problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
