#!/usr/bin/env python3
"""The installed tree, moved to another place: programs in C and C++ are built with pkg-config alone and record, against the shared
library and the archive; the installed program reads what they wrote."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import recorded

PROGRAM_C = """
#include <kino/control.h>
#include <kino/device.h>
#include <kino/kino.h>
#include <kino/record_function.h>
int main(int argc, char **argv)
{
    kino_error error = {0};
    if (argc < 2 || kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return 1;
    for (int i = 0; i < 5; i++) {
        KINO_ZONE_NAMED(zone, "installed", "cpu_op");
        KINO_ARG_INT(zone, "number", i);
    }
    return kino_stop(&error) != KINO_OK || kino_save(argv[1], &error) != KINO_OK || !kino_version()[0];
}
"""
PROGRAM_CPP = """
#include <kino/kino.hpp>
int main(int argc, char **argv)
{
    kino_error error = {};
    if (argc < 2 || kino_prepare(nullptr, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        return 1;
    for (int i = 0; i < 5; i++) {
        KINO_ZONE("installed");
    }
    return kino_stop(&error) != KINO_OK || kino_save(argv[1], &error) != KINO_OK;
}
"""


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, **options)


def install(test, folder):
    """The prefix, moved after the installation: nothing in it may know where it was."""
    done = run("cmake", "--install", recorded.LIBRARIES, "--prefix", folder / "before")
    if done.returncode != 0:
        test.skip(f"NOT TESTED: the build is not complete: {done.stderr.strip().splitlines()[-1]}")
    (folder / "before").rename(folder / "prefix")
    return folder / "prefix"


def check_program(test, prefix, folder, compiler, source, is_static):
    libraries = next(prefix.glob("lib*/**/pkgconfig")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries),
                   "KINO_DIR": str(folder)}
    what = f"{source.name} {'static' if is_static else 'shared'}"
    words = run("pkg-config", "--cflags", "--libs", *(["--static"] if is_static else []), "kino", env=environment)
    test.check(words.returncode == 0, f"{what}: pkg-config: {words.stderr}")
    flags = [word if not is_static or word != "-lkino" else "-l:libkino.a" for word in words.stdout.split()]
    program, trace = folder / "program", folder / "trace.json"
    done = run(compiler, "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags, "-pthread", env=environment)
    test.check(done.returncode == 0, f"{what}: {done.stderr[-800:]}")
    needs = run("readelf", "--dynamic", program).stdout
    test.check(("libkino.so.0" in needs) != is_static, f"{what}: needs {needs}")
    done = run(program, trace, env=environment)
    test.check(done.returncode == 0, f"{what}: exit {done.returncode} {done.stderr}")
    done = run(prefix / "bin/kino", "query", trace, "select count(*) from event where name = 'installed'", "--format", "json",
               env=environment)
    rows = json.loads(done.stdout)["tables"][0]["rows"] if done.returncode == 0 else done.stderr
    test.check(rows == [[5]], f"{what}: {rows}")


def main():
    test = recorded.Test()
    if recorded.sanitizer_flags():
        test.skip("a sanitized library needs a sanitized program")
    for tool in "cmake", "pkg-config":
        if not shutil.which(tool):
            test.skip(f"NOT TESTED: no {tool}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = install(test, folder)
        headers = {path.name for path in (prefix / "include/kino").iterdir()}
        wanted = {path.name for path in (recorded.ROOT / "include/kino").iterdir()}
        test.check(headers == wanted, f"headers: {sorted(wanted ^ headers)}")
        programs = [(test.compiler, "program.c", PROGRAM_C)]
        if shutil.which("g++"):
            programs.append(("g++", "program.cpp", PROGRAM_CPP))
        else:
            print("left out: no C++ compiler")
        for compiler, source, text in programs:
            (folder / source).write_text(text)
            for is_static in False, True:
                check_program(test, prefix, folder, compiler, folder / source, is_static)
    return test.end()


if __name__ == "__main__":
    sys.exit(main())
