#!/usr/bin/env python3
"""The wheel, as users get it, in virtual environments of its own: `pip install ./python`, and what `make wheel` builds from the source distribution
for other machines; the program with its web UI and its recorder, each Python that is there, pyright. Builds for minutes: with KINO_TIER=all only."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from support import common

CODE = "import kino; kino.demo('demo-run', ranks=2, steps=3); print(kino.open('demo-run').report())"
SERVED = ("import kino, urllib.request as u\nwith kino.serve('demo-run') as server, u.urlopen(server.address) as answer:\n"
          "    print(answer.status, b'<title>Kino' in answer.read())")
PLUGINS = ("import importlib.metadata as m\nfound = m.entry_points()\n"
           "group = found.select(group='tensorboard_plugins') if hasattr(found, 'select') else found['tensorboard_plugins']\n"
           "print(*(f'{entry.name} {entry.value}' for entry in group))")
TRACED = ("import kino._recorder as r, kino._python_tracer as p, kino\nt = p.load()\nr.prepare(0, '')\nr.start()\nt.start()\n"
          "def planted(): pass\nplanted()\nt.stop()\nr.stop()\nr.save('calls.json')\n"
          "print(sum(row['name'].endswith(': planted') for row in kino.open('calls.json').query('SELECT name FROM event WHERE name IS NOT NULL').to_dicts()))")
PYTHONS = ("python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14")


def run(*command, timeout=3000, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, check=False, **options)


def venv(report, folder, python=sys.executable):
    made = run(python, "-m", "venv", folder)
    return report.check(f"a virtual environment of {python}", made.returncode == 0, made.stderr[-300:])


def install(report, folder, what):
    done = run(folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", what)
    report.check(f"pip install {what}", done.returncode == 0, done.stderr[-800:])
    return done.returncode == 0


def serve(program, folder, environment):
    """The first page of `kino serve`."""
    with subprocess.Popen([program, "serve", "demo-run", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=folder, env=environment, preexec_fn=common.die_with_parent) as server:
        line = server.stdout.readline()
        try:
            with urllib.request.urlopen(line.split(" at ")[1].split()[0], timeout=30) as page:
                return page.read().decode()
        finally:
            server.send_signal(signal.SIGTERM)


def check_installed(report, what, folder, place):
    """In another folder than the sources, with the environment's own PATH."""
    place.mkdir()
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    for name in ("PYTHONPATH", "KINO_PROGRAM", "KINO_INJECT_LIBRARY"):
        environment.pop(name, None)
    done = run(folder / "bin/python", "-c", CODE, cwd=place, env=environment)
    report.check(f"{what}: a report", "Step time" in done.stdout, done.stderr[-500:])
    listed = run(folder / "bin/pip", "list", "--format", "freeze", cwd=place).stdout.split()
    report.equal(f"{what}: needs nothing else", [p for p in listed if not p.startswith(("pip=", "setuptools=", "kino-profiler="))], [])
    for command in ([folder / "bin/kino"], [folder / "bin/python", "-m", "kino"]):
        done = run(*command, "--version", cwd=place, env=environment)
        report.check(f"{what}: {command[0].name} --version", done.stdout.startswith("kino "), done.stderr[-300:])
    done = run(folder / "bin/kino", "record", "-o", "t.json", "--", "true", cwd=place, env=environment)
    report.check(f"{what}: kino record", done.returncode == 0 and (place / "t.json").exists(), done.stderr[-300:])
    (place / "calls.py").write_text("def planted():\n    pass\nplanted()\n", encoding="utf-8")
    done = run(folder / "bin/python", "-m", "kino", "record", "--quiet", "--sampling", "off", "--python", "functions", "-o", "calls.json",
               "calls.py", cwd=place, env=environment)
    report.check(f"{what}: kino record with Python functions", done.returncode == 0 and ": planted" in (place / "calls.json").read_text(), done.stderr[-300:])
    done = run(folder / "bin/python", "-c", SERVED, cwd=place, env=environment)
    report.check(f"{what}: kino.serve", done.stdout.startswith("200 True"), done.stdout + done.stderr[-300:])
    done = run(folder / "bin/python", "-c", PLUGINS, cwd=place, env=environment)
    report.equal(f"{what}: TensorBoard's plugin", done.stdout.split(), ["kino", "kino.tensorboard:Loader"])
    page = serve(folder / "bin/kino", place, environment)
    report.check(f"{what}: kino serve has the web UI", "<title>Kino</title>" in page and "assets/" in page, page[:200])


def check_pythons(report, wheel, folder):
    """One wheel for all versions."""
    found = [(name, shutil.which(name)) for name in PYTHONS]
    roots = sorted(pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python"))
    found += [(f"python{path.parts[-3]}", str(path)) for path in roots if int(path.parts[-3].split(".")[1]) >= 9]
    for name, path in found:
        if not path or run(path, "-c", "import sys; sys.exit(sys.version_info < (3, 9))").returncode != 0:
            continue
        place = folder / name
        if venv(report, place, path) and install(report, place, wheel):
            done = run(place / "bin/python", "-c", CODE, cwd=place)
            report.check(f"{name}: a report", "Step time" in done.stdout, done.stderr[-500:])
            check_tracer(report, name, place)


def check_tracer(report, name, place):
    """In the wheel for one version; for others it is built when it is first needed, once, and says so."""
    has_it = run(place / "bin/python", "-c", "import kino._recorder as r; r.library(); import kino._tracer", cwd=place).returncode == 0
    for turn in ("first", "second"):
        done = run(place / "bin/python", "-c", TRACED, cwd=place, env={**os.environ, "XDG_CACHE_HOME": str(place / "cache")})
        report.equal(f"{name}: Python functions, {turn} time", (done.returncode, done.stdout.strip()), (0, "1"))
        is_built = "building the Python tracer" in done.stderr
        report.equal(f"{name}: the tracer is built, {turn} time", is_built, not has_it and turn == "first")


def check_pyright(report, folder):
    if not install(report, folder, "pyright"):
        return
    done = run(folder / "bin/pyright", "--pythonpath", folder / "bin/python", *sorted((common.ROOT / "examples/python").glob("*.py")), cwd=folder)
    if done.returncode not in (0, 1):
        print(f"NOT TESTED: pyright does not start: {done.stderr[-200:]}")
        report.skipped += 1
        return
    report.check("pyright", done.returncode == 0, done.stdout[-500:])


def main():
    if os.environ.get("KINO_TIER") != "all":
        common.skip("only with KINO_TIER=all (make test-all): builds for minutes")
    report, begin = common.Report(), time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if venv(report, folder / "plain") and install(report, folder / "plain", common.ROOT / "python"):
            check_installed(report, "pip install ./python", folder / "plain", folder / "plain-work")
        made = run(common.ROOT / "tools/make-wheel", folder / "dist", cwd=common.ROOT)
        report.check("make wheel, with auditwheel and abi3audit", made.returncode == 0, made.stdout[-500:] + made.stderr[-800:])
        wheels = sorted((folder / "dist").glob("*.whl"))
        report.check("an abi3 wheel for manylinux", wheels and "cp39-abi3-manylinux" in wheels[0].name, str(wheels))
        report.check("a source distribution", len(list((folder / "dist").glob("*.tar.gz"))) == 1)
        if wheels and venv(report, folder / "repaired") and install(report, folder / "repaired", wheels[0]):
            check_installed(report, "the repaired wheel", folder / "repaired", folder / "repaired-work")
            check_pythons(report, wheels[0], folder)
            check_pyright(report, folder / "repaired")
    print(f"{time.monotonic() - begin:.0f} s")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
