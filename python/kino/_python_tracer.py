"""kino._tracer for the Python that runs. The package has it for the version that it was built with; for others it is built on first use."""
from __future__ import annotations

import glob
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import threading
from types import ModuleType

from . import _native_build, _recorder
from ._errors import UnavailableError

_NAME = "kino._tracer"
_lock = threading.Lock()


def _sources() -> list[str]:
    other = "profile.c" if sys.version_info >= (3, 12) else "monitor.c"
    files = sorted(glob.glob(os.path.join(_recorder.NATIVE, "tracer", "*.c")))
    return [path for path in files if os.path.basename(path) != other]


def _headers() -> list[str]:
    return sorted(glob.glob(os.path.join(_recorder.NATIVE, "tracer", "*.h")) +
                  glob.glob(os.path.join(_recorder.NATIVE, "include", "kino", "*.h")))


def _command(compiler: str, output: str) -> list[str]:
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise UnavailableError(f"kino._tracer is built on first use, and Python's headers are not in {include}",
                               hint="install the package with Python.h (python3-dev, python3-devel)")
    return [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-Werror=implicit-function-declaration", "-O2", "-DNDEBUG", "-fPIC", "-shared",
            "-fvisibility=hidden", f"-I{include}", f"-I{os.path.join(_recorder.NATIVE, 'include')}", *_sources(), "-o", output,
            _recorder.path(), f"-Wl,-rpath,{os.path.dirname(_recorder.path())}", "-lpthread"]


def _built() -> str:
    version = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or "python"
    what = f"the Python tracer for Python {sys.version_info.major}.{sys.version_info.minor}"
    sources = [*_sources(), *_headers()]
    if not sources:
        raise UnavailableError("this build of kino has no kino._tracer for this Python, and not its sources")
    mark = _native_build.fingerprint(sys.version, sources)
    compiler = _native_build.compiler("CC", ("cc", "gcc", "clang"), what)
    return _native_build.build(_native_build.cache(f"tracer-{version}-{mark}"), "_tracer.so", what,
                               lambda output: _command(compiler, output))


def load() -> ModuleType:
    """The module; UnavailableError when it cannot be had, ImportError in a sub-interpreter."""
    _recorder.library()  # first, because the tracer takes the copy that is there
    with _lock:
        try:
            return importlib.import_module(_NAME)
        except ModuleNotFoundError:
            pass
        loader = importlib.machinery.ExtensionFileLoader(_NAME, _built())
        spec = importlib.util.spec_from_loader(_NAME, loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[_NAME] = module
        return module
