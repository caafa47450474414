#!/usr/bin/env python3
"""kino record with Python programs that know nothing of Kino: they run as without it, and their functions, samples, children and deaths are
in the traces. PyTorch's part is in test_record_torch.py."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap

from support import common

PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
SHARE = 3  # of the hot function, for each part of the other

REPORTER = """
import os, sys
print(sys.argv, sys.path, __name__, sorted(sys.flags), "sitecustomize" in sys.modules, getattr(sys, "site_said", None))
print(sorted(name for name in os.environ if not name.startswith(("KINO_", "LD_", "NVTX_", "INTEL_", "CUDA_", "ROCP_", "OPENCL_", "PYTHON"))))
print(sys.stdin.read(), file=sys.stderr)
"""
FAILS = "import sys\ndef deep(n):\n    return deep(n - 1) if n else 1 / 0\ndeep(3)\n"
PLANTED = """
import os, sys
def leaf(n):
    return n + 1
def planted():
    return sum(leaf(i) for i in range(100))
planted()
"""
HOT = """
import time
def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
def hot():
    spin(120000)
    spin(120000)
    spin(120000)
def cold():
    spin(120000)
end = time.process_time() + 2
while time.process_time() < end:
    hot()
    cold()
"""
FAMILY = """
import multiprocessing, sys
def work(n):
    return [inner(i) for i in range(n)]
def inner(i):
    return i
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=work, args=(50,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print([child.exitcode for child in children])
"""


SUB = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
def planted():
    own = interpreters.create()
    interpreters.run_string(own, "import sys; print('inside', 'sitecustomize' in sys.modules, len(sys.path), flush=True)")
    interpreters.destroy(own)
planted()
print("end")
"""


class Place:
    """A folder with programs, and what they do with and without the recorder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.count = 0

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def environment(self, *paths, package=True):
        paths = [*map(str, paths), *([str(PACKAGE)] if package else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "KINO_PROGRAM": common.program(), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return environment if paths else {name: value for name, value in environment.items() if name != "PYTHONPATH"}

    def run(self, words, environment):
        return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
                              env=environment, input="input")

    def record(self, words, *options, environment=None, quiet=True):
        """What the program did, and the traces."""
        self.count += 1
        out = self.folder / f"out{self.count}"
        done = self.run([common.program(), "record", *(["--quiet"] if quiet else []), "--sampling", "off", *options, "-o", f"{out}/", "--", *words],
                        environment or self.environment())
        return done, out


def outcome(done):
    return done.returncode, done.stdout, done.stderr


def functions(out):
    """Calls by name of function, over all traces."""
    rows = common.query(out, "SELECT name, count(*) FROM event WHERE cat = 'python_function' GROUP BY name")
    return {name.split("): ")[-1]: count for name, count in rows}


def check_undisturbed(report, place):
    """Arguments, paths, input, output, exit codes and tracebacks are those of the program alone."""
    reporter, fails = place.write("reporter.py", REPORTER), place.write("fails.py", FAILS)
    place.write("package/__main__.py", REPORTER)
    place.write("own/sitecustomize.py", "import sys\nsys.site_said = 'own'\n")
    place.write("bad/sitecustomize.py", "1 / 0\n")
    cases = [("a script", [reporter, "a", "--b"], []), ("a module", ["-m", "package", "-x"], []), ("-c", ["-c", REPORTER, "y"], []),
             ("a sitecustomize of its own", [reporter], [place.folder / "own"]), ("a broken one", [reporter], [place.folder / "bad"]),
             ("an exception", [fails], []), ("isolated", ["-I", reporter], []), ("without site", ["-S", reporter], []),
             ("exit 7", ["-c", "import sys; sys.exit(7)"], []), ("a message", ["-c", "import sys; sys.exit('no')"], []),
             ("os._exit", ["-c", "import os; os._exit(5)"], [])]
    for what, words, paths in cases:
        words, environment = [sys.executable, *words], place.environment(*paths)
        plain, (recorded, _) = place.run(words, environment), place.record(words, "--python", "functions", environment=environment)
        if what == "without site":  # nobody takes the folder out of the path: the hook is not run
            report.equal(f"{what}: exit code", recorded.returncode, plain.returncode)
        else:
            report.equal(f"{what}: as without the recorder", outcome(recorded), outcome(plain))


def check_functions(report, place):
    planted = place.write("planted.py", PLANTED)
    ends = {"regular": "", "os._exit": "os._exit(0)", "kill -9": f"os.kill(os.getpid(), {int(signal.SIGKILL)})", "exception": "1 / 0"}
    for what, end in ends.items():
        ending = place.write(f"end_{len(what)}.py", PLANTED + end)
        done, out = place.record([sys.executable, ending], "--python", "functions")
        found = functions(out)
        report.equal(f"{what}: calls of the planted functions", (found.get("leaf"), found.get("planted")), (100, 1))
        report.equal(f"{what}: the exit code", done.returncode, {"kill -9": -9, "exception": 1}.get(what, 0))
    done = place.run([sys.executable, "-m", "kino", "record", "--quiet", "--python=functions", "--sampling", "off", "-o", "by-module.kino", planted, "x"],
                     place.environment())
    report.equal("python -m kino record script.py", (done.returncode, functions(place.folder / "by-module.kino").get("leaf")), (0, 100))
    done, out = place.record([sys.executable, planted], "--python", "off")
    report.equal("--python off", (done.returncode, list(out.glob("*"))), (0, []))


def check_samples(report, place):
    """Shares, not times: the hot function does three times the work of the cold one."""
    done, out = place.record([sys.executable, place.write("hot.py", HOT)], "--python", "samples")
    report.equal("samples: the program", outcome(done), (0, "", ""))
    rows = common.query(out, "SELECT name, sum(dur), count(*) FROM event WHERE cat = 'python_sample' GROUP BY name")
    times = {name.split("): ")[-1]: float(time) for name, time, _ in rows}
    share = times.get("hot", 0) / max(times.get("hot", 0) + times.get("cold", 0), 1)
    report.check("samples: the hot function has its share", abs(share - SHARE / (SHARE + 1)) < 0.12, f"{share} of {times}")
    whole = times.get("<module>", 0)
    report.check("samples: it is what the program did", times.get("hot", 0) + times.get("cold", 0) > 0.7 * whole > 0, times)
    table = dict(common.query(out, "SELECT function, total FROM functions_python"))
    report.check("samples: analyze functions has them", any(name.endswith(": hot") for name in table), table)
    text = common.run("report", out, "--quiet").stdout.decode()
    report.check("samples: the report has them", "Python functions, by samples" in text and "hot.py(8): hot" in text, text[:800])
    report.check("samples: names and lines", any(name.endswith("hot.py(8): hot") for name, _, _ in rows), rows)


def check_family(report, place):
    family = place.write("family.py", FAMILY)
    for method in ("fork", "spawn"):
        done, out = place.record([sys.executable, family, method], "--python", "functions")
        report.equal(f"{method}: the children end well", outcome(done), (0, "[0, 0]\n", ""))
        counts = sorted(functions(path).get("inner", 0) for path in out.glob("*"))
        report.equal(f"{method}: each child has its own trace and calls", [count for count in counts if count], [50, 50])


def check_sub_interpreters(report, place):
    words = [sys.executable, place.write("sub.py", SUB)]
    plain, (recorded, out) = place.run(words, place.environment()), place.record(words, "--python", "functions", quiet=False)
    report.equal("a sub-interpreter runs undisturbed", (recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout))
    report.equal("that it is not recorded is said", recorded.stderr.count("sub-interpreters of Python are not recorded"), 1)
    report.equal("the main one is", functions(out).get("planted"), 1)


def check_not_installed(report, place):
    words = [sys.executable, "-c", "import subprocess, sys\nfor _ in range(3): subprocess.run([sys.executable, '-c', ''])"]
    done, _ = place.record(words, environment=place.environment(package=False), quiet=False)
    report.equal("without the package: the program", done.returncode, 0)
    if "kino is not installed" not in done.stderr and subprocess.run([sys.executable, "-c", "import kino"], check=False, capture_output=True).returncode == 0:
        print("NOT TESTED: this Python has kino installed")
        report.skipped += 1
        return
    report.equal("without the package: said once", done.stderr.count("kino is not installed for this Python"), 1)


def check_old_pythons(report, place):
    """Versions that cannot record run undisturbed."""
    for python in sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin/python")):
        version = python.parts[-3]
        code = "import sys; print(sys.version_info[:2], 'sitecustomize' in sys.modules)"
        plain, (recorded, out) = place.run([python, "-c", code], place.environment(package=False)), \
            place.record([python, "-c", code], environment=place.environment(package=False), quiet=False)
        report.equal(f"Python {version} runs", (recorded.returncode, recorded.stdout), (plain.returncode, plain.stdout))
        want = "CPython 3.9 or later" if tuple(map(int, version.split(".")[:2])) < (3, 9) else "kino is not installed"
        report.check(f"Python {version}: why nothing is recorded", want in recorded.stderr, recorded.stderr[-400:])


def main():
    report = common.Report()
    if not (PACKAGE / "kino").is_dir():
        common.skip("NOT TESTED: the Python package is not built")
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder)
        for part in (check_undisturbed, check_functions, check_samples, check_family, check_sub_interpreters, check_not_installed, check_old_pythons):
            part(report, place)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
