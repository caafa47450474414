"""Every public name has a doc string with an example, and the examples run; stubs are those of the definitions; types hold."""
import doctest
import importlib.util
import inspect
import os
import subprocess
import sys

import kino
from support import common

PACKAGES = {"PYARROW": "pyarrow", "POLARS": "polars", "PANDAS": "pandas", "MATPLOTLIB": "matplotlib"}
FLAGS = {doctest.register_optionflag(flag): package for flag, package in PACKAGES.items()}


def public_names(names):
    """Names with what they are: functions and classes of kino, and what these have."""
    for name in names:
        thing = getattr(kino, name)
        if not callable(thing) or not thing.__module__.startswith("kino"):
            continue
        yield f"kino.{name}", thing
        if not inspect.isclass(thing):
            continue
        for member, _ in inspect.getmembers(thing):
            value = inspect.getattr_static(thing, member)
            mine = getattr(value, "__module__", None) or getattr(getattr(value, "fget", getattr(value, "func", None)), "__module__", "") or ""
            if not member.startswith("_") and mine.startswith("kino") and (callable(value) or inspect.isdatadescriptor(value) or
                                                                            hasattr(value, "func")):
                yield f"kino.{name}.{member}", value


def doc_of(thing):
    return getattr(thing, "__doc__", None) or ""


def check_examples(report, globs, names, flags, least):
    """names: pairs of a name and what it is; flags: options of examples, and the package that each of them needs."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    parser, count, seen = doctest.DocTestParser(), 0, set()
    for name, thing in names:
        text = inspect.cleandoc(doc_of(getattr(thing, "__func__", thing)))
        test = parser.get_doctest(text, dict(globs), name, None, 0)
        report.check(f"{name} has an example", bool(test.examples), repr(text[:60]))
        if text in seen:
            continue
        seen.add(text)
        for example in test.examples:
            for flag, package in flags.items():
                if example.options.pop(flag, False) and not importlib.util.find_spec(package):
                    example.options[doctest.SKIP] = True
        output = []
        failed, tried = runner.run(test, out=output.append, clear_globs=False)
        count += tried
        report.check(f"the example of {name}", failed == 0, "".join(output)[-600:])
    report.check("examples were found", count > least, str(count))


def check_types(report):
    stubs = subprocess.run([sys.executable, common.ROOT / "tools/make-python-stubs", "--package", sys.path[0], "--check"],
                           capture_output=True, text=True, check=False)
    report.check("the stubs are current", stubs.returncode == 0, stubs.stdout + stubs.stderr)
    if not importlib.util.find_spec("mypy"):
        print("NOT TESTED: mypy is not installed (tools/install-python)")
        report.skipped += 1
        return
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", common.ROOT / "build/mypy",
                           common.ROOT / "python/kino", *sorted((common.ROOT / "examples/python").glob("*.py"))],
                          capture_output=True, text=True, check=False, cwd=common.ROOT / "python", env={**os.environ, "MYPYPATH": str(common.ROOT / "python")})
    report.check("mypy --strict", done.returncode == 0, done.stdout[-600:] + done.stderr[-300:])


def check_scripts(report):
    for script in sorted((common.ROOT / "examples/python").glob("*.py")):
        done = subprocess.run([sys.executable, script, "demo-run"], capture_output=True, text=True, check=False, timeout=120,
                              env={**os.environ, "PYTHONPATH": sys.path[0], "MPLBACKEND": "Agg"})
        report.check(f"{script.name} runs", done.returncode == 0 and done.stdout, done.stderr[-400:])


def run(report):
    kino.demo("demo-run", ranks=2, steps=3)
    if importlib.util.find_spec("matplotlib"):
        import matplotlib
        matplotlib.use("Agg")
    with kino.open("demo-run") as demo:
        check_examples(report, {"run": demo, "kino": kino}, public_names([name for name in kino.__all__ if name not in kino._PROFILER]), FLAGS, 100)
    check_types(report)
    check_scripts(report)
