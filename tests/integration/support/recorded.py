"""Small C programs built against the library of the build under test, for the tests of the recorder."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
KINO = os.environ.get("KINO") or str(ROOT / "build/release/kino")
LIBRARIES = pathlib.Path(KINO).absolute().parent
SOURCES = ROOT / "tests/integration/recorder"


def memory_folder():
    """Where the recorder would put its buffers."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def sanitizer_flags():
    """The program must be instrumented as the library is."""
    symbols = subprocess.run(["nm", "-D", LIBRARIES / "libkino.so"], capture_output=True, text=True).stdout
    if "__tsan_init" in symbols:
        return ["-fsanitize=thread"]
    return ["-fsanitize=address,undefined"] if "__asan_init" in symbols else []


class Test:
    """Counts checks, compiles programs; skips the whole script where it cannot run."""

    def __init__(self):
        self.passed = self.failed = 0
        self.compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
        if not (LIBRARIES / "libkino.so").exists():
            self.skip("libkino.so was not built")
        if not self.compiler:
            self.skip("no C compiler")

    @staticmethod
    def skip(why):
        print(f"skipped: {why}")
        sys.exit(77)

    def check(self, is_good, complaint):
        self.passed += bool(is_good)
        self.failed += not is_good
        if not is_good:
            print(f"FAIL {complaint}")

    def compile(self, source, program, *flags, is_static=False):
        program = pathlib.Path(program)
        library = [LIBRARIES / "libkino.a", "-ldl", "-lm"] if is_static else ["-L", LIBRARIES, "-lkino", f"-Wl,-rpath,{LIBRARIES}"]
        command = [self.compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "include",
                   SOURCES / source, "-o", program, "-pthread", *flags, *library, *sanitizer_flags()]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr)
            sys.exit(1)
        return program

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed, 0 skipped")
        return 1 if self.failed else 0
