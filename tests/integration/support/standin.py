"""Stand-ins of vendors' libraries: built here with the C compiler from tests/standin, under the vendors' file names. And
what tests of all vendors check alike."""
import collections
import subprocess

from . import common, recorder

FOLDER = common.ROOT / "tests" / "standin"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def compile_c(*arguments):
    """What the compiler says when it fails, else nothing."""
    done = subprocess.run([recorder.compiler(), "-std=gnu11", "-O1", "-g", *WARNINGS, *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def build(*arguments):
    said = compile_c(*arguments)
    if said:
        raise SystemExit(f"a stand-in cannot be built:\n{said}")


def build_library(out, name, sources, libraries=()):
    """out/name from sources, with that name as its soname; it finds `libraries` in the same folder."""
    needed = [f"-l:{library}" for library in libraries]
    build("-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", out / name, *sources, f"-L{out}", *needed, f"-Wl,-rpath,{out}",
          "-ldl", "-lpthread")
    return out / name


class Program:
    """A program on libkino and stand-ins in the folder, with the vendor's scenes (tests/standin/common/program.h)."""

    def __init__(self, report, folder, scenes, libraries):
        kino = recorder.library("libkino.so").parent
        needed = [f"-l:{library}" for library in libraries]
        self.report, self.folder, self.path = report, folder, folder / "program"
        # with the C++ runtime, which real programs of these vendors have
        build(f"-I{common.ROOT / 'include'}", "-o", self.path, scenes, FOLDER / "common" / "program.c", f"-L{kino}", "-lkino",
              f"-L{folder}", *needed, f"-Wl,-rpath,{kino}", f"-Wl,-rpath,{folder}", "-lpthread", "-Wl,--no-as-needed",
              "-l:libstdc++.so.6")

    def run(self, scene, *more, **env):
        """The trace of the scene (of the last one), and what the program says of the backend."""
        paths = [self.folder / f"{name}{i}.json" for i, name in enumerate((scene, *more))]
        arguments = [a for path, name in zip(paths, (scene, *more)) for a in (path, name)]
        done = recorder.execute(self.path, *arguments, env=env)
        if not self.report.equal(f"{scene} {env}: the program goes on", (done.returncode, done.stderr), (0, "")):
            return None, done.stdout
        return recorder.Trace(paths[-1]), done.stdout.strip()

    def check_failures(self, failures, category):
        """Rows of `failures`: a function that fails, what is said, what is left: calls (of the category), kernels,
        copies."""
        for setting, line, *left in failures:
            trace, said = self.run("plain", STANDIN_FAIL=setting)
            if not trace:
                continue
            self.report.check(f"{setting}: one line that says it", line in said and said.count("\n") == 0, said)
            errors = [d.get("error", "") for d in trace.all["kino_devices"]]
            self.report.check(f"{setting}: also in the trace", len(errors) == 1 and line in errors[0], errors)
            rows = collections.Counter(e["cat"] for e in trace.spans)
            self.report.equal(f"{setting}: what is left", [rows[c] for c in (category, "kernel", "gpu_memcpy")], left)

    def check_collective(self, inside, outside):
        """As Kineto has it, a kernel says what the operator of its collective says."""
        trace, _ = self.run("collective")
        if trace:
            self.report.equal("a kernel of a collective says of which, one of none does not",
                              [(e["name"], list(e["args"].items())[-2:] if "Seq" in e["args"] else None)
                               for e in sorted(trace.work, key=trace.start)],
                              [(inside, [("Process Group Name", "0"), ("Seq", 41)]), (outside, None)])

    def check_launches(self, lengths):
        """Behind scene "functions": kino finds what launched its kernels, which take so long."""
        done = common.run("analyze", "launch-stats", self.folder / "functions0.json", "--format", "csv")
        rows = [line.split(",") for line in done.stdout.decode().splitlines()]
        gpu = rows[0].index("gpu_duration") if rows else 0
        self.report.equal("kino analyze finds the launch of each kernel", [int(r[gpu]) for r in rows[1:]], lengths)
