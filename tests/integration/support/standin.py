"""Stand-ins of vendors' libraries: built here with the C compiler from tests/standin, under the vendors' file names."""
import subprocess

from . import common, recorder

FOLDER = common.ROOT / "tests" / "standin"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def compile_c(arguments):
    done = subprocess.run([recorder.compiler(), "-std=gnu11", "-O1", "-g", *map(str, arguments)], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a stand-in cannot be built:\n{done.stderr}")


def build_library(out, name, sources, libraries=()):
    """out/name from sources, with that name as its soname; it finds `libraries` in the same folder."""
    needed = [f"-l:{library}" for library in libraries]
    compile_c([*WARNINGS, "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", out / name, *sources, f"-L{out}", *needed,
               f"-Wl,-rpath,{out}", "-ldl", "-lpthread"])
    return out / name


def build_program(out, source, libraries):
    """A program on libkino and the stand-ins; with the C++ runtime, which real programs of these vendors have."""
    kino = recorder.library("libkino.so").parent
    needed = [f"-l:{library}" for library in libraries]
    compile_c([*WARNINGS, f"-I{common.ROOT / 'include'}", "-o", out / "program", source, f"-L{kino}", "-lkino", f"-L{out}",
               *needed, f"-Wl,-rpath,{kino}", f"-Wl,-rpath,{out}", "-lpthread", "-Wl,--no-as-needed", "-l:libstdc++.so.6"])
    return out / "program"
