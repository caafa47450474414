"""The Python package with libraries of its own that are built with sanitizers, and programs that run with it."""
import fnmatch
import os
import pathlib
import subprocess
import sysconfig

FLAGS = {"asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"], "tsan": ["-fsanitize=thread"]}
COMMON = ["-g", "-fno-omit-frame-pointer"]
# Leaks are looked for where only our own code runs; Python and PyTorch keep memory until their end. The suppressions leave out what is not built
# with the sanitizer, whose locks and atomics it cannot see.
OPTIONS = {"asan": {"ASAN_OPTIONS": "detect_leaks=0:handle_sigbus=0", "UBSAN_OPTIONS": "print_stacktrace=1", "PYTHONMALLOC": "malloc"},
           "tsan": {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:die_after_fork=0:report_signal_unsafe=0:exitcode=66"}}


def flags(kind):
    return [*COMMON, *FLAGS[kind]]


def link_package(package, folder, *left_out):
    """A package of links to `package`, without what has such names (patterns)."""
    copy = pathlib.Path(folder, "python/kino")
    copy.mkdir(parents=True)
    for path in (package / "kino").iterdir():
        if not any(fnmatch.fnmatch(path.name, pattern) for pattern in left_out):
            (copy / path.name).symlink_to(path.resolve())
    for path in package.parent.glob("libkino*"):
        pathlib.Path(folder, path.name).symlink_to(path.resolve())
    return copy


def build_tracer(copy, kind):
    """kino._tracer of the package of links."""
    from kino import _python_tracer
    target = copy / f"_tracer{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*_python_tracer._command("gcc", str(target)), *flags(kind)], check=True)


def environment(kind, folder):
    """Of a program that uses it: the sanitizer's library comes first, and the C++ library, which extensions that throw need, with it."""
    names = {"asan": "libasan.so", "tsan": "libtsan.so"}
    libraries = [subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
                 for name in (names[kind], "libstdc++.so.6")]
    return {**os.environ, **OPTIONS[kind], "KINO_TOOLS": str(folder), "LD_PRELOAD": " ".join(libraries),
            "PYTHONPATH": os.pathsep.join([str(pathlib.Path(folder, "python")), str(pathlib.Path(__file__).parent.parent)])}
