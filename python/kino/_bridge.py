"""The bridge between PyTorch and libkino: one C++ file, built against the installed PyTorch when it is first needed.

PyTorch's C++ classes change from version to version, so the bridge that is loaded is always one that was built with the headers of the
PyTorch that runs: its name in the cache has that version, the compiler's ABI and the sources' contents in it.
"""
from __future__ import annotations

import ctypes
import glob
import os
import re
import threading
from typing import Any, Optional

from . import _native_build, _recorder
from ._errors import UnavailableError

_NAME = "kino_torch"
_STAMP = re.compile(rb"kino-torch-stamp ([ -~]+) end")
SHAPES, MEMORY, THIS_THREAD = 1, 2, 4
_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None
_client = 0  # number of the bridge among those who take part in traces on request; 0: it does not
_client_pid = 0  # a child of fork has no clients


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise UnavailableError("PyTorch is not installed", hint="pip install torch") from None
    return torch


def _source(name: str) -> str:
    return os.path.join(_recorder.NATIVE, f"{name}.cpp")


def _headers() -> str:
    return os.path.join(_recorder.NATIVE, "include")


def _cache(torch: Any, name: str) -> str:
    sources = [_source(name), *sorted(glob.glob(os.path.join(_headers(), "kino", "*.h")))]
    mark = _native_build.fingerprint(f"{torch.version.git_version} {torch.compiled_with_cxx11_abi()}", sources)
    return _native_build.cache(f"torch-{torch.__version__}-{mark}")


def _command(torch: Any, name: str, output: str) -> list[str]:
    root = os.path.dirname(torch.__file__)
    include = os.path.join(root, "include")
    # NDEBUG: classes of PyTorch have more members without it.
    compiler = _native_build.compiler("CXX", ("g++", "c++", "clang++"), "the bridge to PyTorch")
    return [compiler, "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", "-isystem", include,
            "-isystem", os.path.join(include, "torch", "csrc", "api", "include"), f"-I{_headers()}", _source(name), "-o", output,
            f"-L{os.path.join(root, 'lib')}", "-ltorch_cpu", "-lc10", _recorder.path()]


def stamp_of(path: str) -> dict[str, str]:
    """What the file of a bridge says it was built for. Read, not loaded: code for other classes must not run."""
    with open(path, "rb") as file:
        found = _STAMP.search(file.read())
    return dict(word.split("=", 1) for word in found.group(1).decode().split()) if found else {}


def _wanted_stamp(torch: Any) -> dict[str, str]:
    return {"torch": torch.__version__.split("+")[0], "cxx11abi": str(int(torch.compiled_with_cxx11_abi()))}


def _prebuilt(torch: Any) -> Optional[str]:
    """The bridge in the package, when it is for the PyTorch that runs."""
    path = os.path.join(_recorder.NATIVE, f"{_NAME}.so")
    return path if os.path.exists(path) and stamp_of(path) == _wanted_stamp(torch) else None


def built(name: str) -> str:
    """The library that python/torch/NAME.cpp becomes: the one in the package if it fits, else from the cache, built when there is none yet."""
    torch = _torch()
    ready = _prebuilt(torch) if name == _NAME else None
    if ready:
        return ready
    what = f"the bridge to PyTorch {torch.__version__}" if name == _NAME else f"{name} for PyTorch {torch.__version__}"
    return _native_build.build(_cache(torch, name), f"{name}.so", what, lambda output: _command(torch, name, output))


def _load(torch: Any) -> ctypes.CDLL:
    _recorder.library()
    path = built(_NAME)
    stamp, wanted = stamp_of(path), _wanted_stamp(torch)
    if stamp != wanted:
        raise UnavailableError(f"{path} is not for the PyTorch that runs: it says {stamp or 'nothing'}, and this is {wanted}",
                               hint="remove the file: it is built again")
    bridge = ctypes.CDLL(path)
    bridge.kino_torch_enable.argtypes = [ctypes.c_uint32]
    bridge.kino_torch_enable.restype = None
    bridge.kino_torch_disable.restype = None
    bridge.kino_torch_attach.argtypes = [ctypes.POINTER(_recorder.CError)]
    bridge.kino_torch_attach.restype = ctypes.c_uint32
    bridge.kino_torch_counts.argtypes = [ctypes.POINTER(ctypes.c_uint64)] * 3
    bridge.kino_torch_counts.restype = None
    return bridge


def load() -> ctypes.CDLL:
    """The bridge for the PyTorch that is installed; built when there is none yet."""
    global _loaded
    torch = _torch()
    with _lock:
        if _loaded is None:
            _loaded = _load(torch)
        return _loaded


def is_loaded() -> bool:
    return _loaded is not None


def attach() -> None:
    """Operators take part in traces on request from now on; once is enough in a process.

    >>> kino.join_requests()
    """
    global _client, _client_pid
    bridge = load()
    with _lock:
        if _client and _client_pid == os.getpid():
            return
        error = _recorder.CError()
        _client, _client_pid = bridge.kino_torch_attach(ctypes.byref(error)), os.getpid()
        if not _client:
            _recorder.check(error.code, error)


def counts() -> tuple[int, int, int]:
    """Callbacks so far, how many of them were timed, and the nanoseconds these took."""
    values = [ctypes.c_uint64() for _ in range(3)]
    load().kino_torch_counts(*(ctypes.byref(value) for value in values))
    return values[0].value, values[1].value, values[2].value
