#!/usr/bin/env python3
"""kino.hpp: the example compiles without a warning, without exceptions and RTTI, and records what it should."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARIES = pathlib.Path(os.environ.get("KINO") or ROOT / "build/release/kino").absolute().parent
FLAGS = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion",
         "-Wundef", "-Werror", "-pthread"]


class Test:
    passed = failed = 0

    def check(self, is_good, complaint):
        self.passed += bool(is_good)
        self.failed += not is_good
        if not is_good:
            print(f"FAIL {complaint}")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def sanitizer_flags():
    """The program must be instrumented as the library is."""
    symbols = subprocess.run(["nm", "-D", LIBRARIES / "libkino.so"], capture_output=True, text=True).stdout
    if "__tsan_init" in symbols:
        return ["-fsanitize=thread"]
    return ["-fsanitize=address,undefined"] if "__asan_init" in symbols else []


def build(compiler, program):
    command = [compiler, *FLAGS, "-I", ROOT / "include", ROOT / "examples/cpp/record.cpp", "-o", program,
               "-L", LIBRARIES, "-lkino", f"-Wl,-rpath,{LIBRARIES}", *sanitizer_flags()]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def check_trace(test, events):
    zones = [e for e in events if e.get("name") == "inner loop"]
    ops = [e for e in events if e.get("name") == "example::multiply"]
    test.check(len(zones) == 8, f"8 zones, not {len(zones)}")
    test.check(len(ops) == 4, f"4 operators (those under the guard are not there), not {len(ops)}")
    test.check([z["args"]["rows"] for z in zones] == [1, 1, 2, 2, 3, 3, 4, 4], "rows of the zones")
    test.check(all(z["args"]["ratio"] == 0.25 and z["args"]["kind"] == "dense" for z in zones), "ratio and kind")
    test.check([z["args"]["last"] for z in zones] == [False] * 6 + [True] * 2, "truth values are truth values")
    for number, op in enumerate(ops, 1):
        args = op["args"]
        test.check(args["Sequence number"] == number and args["Fwd thread id"] == 0, f"numbers of operator {number}")
        test.check(args["Input Dims"] == [[number, 8], []], f"dims of operator {number}: {args['Input Dims']}")
        test.check(args["Input type"] == ["float", "Scalar"], "types")
        test.check(args["Concrete Inputs"] == ["", "0.5"], "values")
        test.check(any(op["ts"] <= z["ts"] and z["ts"] + z["dur"] <= op["ts"] + op["dur"] + 0.001 for z in zones),
                   f"operator {number} has a zone inside")


def main():
    test = Test()
    if not (LIBRARIES / "libkino.so").exists():
        skip("libkino.so was not built")
    compilers = [c for c in ("g++", "clang++") if shutil.which(c)]
    if sanitizer_flags():
        compilers = compilers[:1]  # an instrumented library wants its own compiler's run-time library
    if not compilers:
        skip("no C++ compiler")
    for compiler in compilers:
        with tempfile.TemporaryDirectory() as folder:
            program, trace = pathlib.Path(folder) / "record", pathlib.Path(folder) / "trace.json"
            done = build(compiler, program)
            test.check(done.returncode == 0, f"{compiler}: {done.stderr}")
            if done.returncode != 0:
                continue
            done = subprocess.run([program, trace], capture_output=True, text=True)
            test.check(done.returncode == 0 and done.stdout == "4 operators\n", f"{compiler}: {done.stdout}{done.stderr}")
            check_trace(test, json.loads(trace.read_text())["traceEvents"])
            done = subprocess.run([program, "/nonexistent/x.json"], capture_output=True, text=True)
            test.check(done.returncode == 1 and done.stderr.startswith("record: cannot"), f"a bad path: {done.stderr}")
    print(f"{test.passed} passed, {test.failed} failed, 0 skipped")
    sys.exit(1 if test.failed else 0)


if __name__ == "__main__":
    main()
