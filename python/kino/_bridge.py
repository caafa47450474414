"""The bridge between PyTorch and libkino: one C++ file, built against the installed PyTorch when it is first needed.

PyTorch's C++ classes change from version to version, so the bridge that is loaded is always one that was built with the headers of the
PyTorch that runs: its name in the cache has that version, the compiler's ABI and the sources' contents in it.
"""
from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any, Optional

from . import _recorder
from ._errors import UnavailableError

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


def _source() -> str:
    return os.path.join(_recorder.NATIVE, "kino_torch.cpp")


def _headers() -> str:
    return os.path.join(_recorder.NATIVE, "include")


def _compiler() -> str:
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise UnavailableError("the bridge to PyTorch is built on first use, and there is no C++ compiler",
                           hint="install g++, or set CXX")


def _fingerprint(torch: Any) -> str:
    """Changes with whatever the bridge is built from."""
    digest = hashlib.sha256(f"{torch.version.git_version} {torch.compiled_with_cxx11_abi()}".encode())
    for path in [_source(), *sorted(glob.glob(os.path.join(_headers(), "kino", "*.h")))]:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def _cache(torch: Any) -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "kino", f"torch-{torch.__version__}-{_fingerprint(torch)}")


def _command(torch: Any, output: str) -> list[str]:
    root = os.path.dirname(torch.__file__)
    include = os.path.join(root, "include")
    # NDEBUG: classes of PyTorch have more members without it.
    return [_compiler(), "-std=c++20", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", "-isystem", include,
            "-isystem", os.path.join(include, "torch", "csrc", "api", "include"), f"-I{_headers()}", _source(), "-o", output,
            f"-L{os.path.join(root, 'lib')}", "-ltorch_cpu", "-lc10", _recorder.path()]


def _build(torch: Any, folder: str) -> str:
    """Into the cache, complete or not at all, so that several processes may do it at once."""
    target = os.path.join(folder, "kino_torch.so")
    if os.path.exists(target):
        return target
    os.makedirs(folder, mode=0o700, exist_ok=True)
    print(f"kino: building the bridge to PyTorch {torch.__version__} (once, some seconds): {target}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = os.path.join(work, "kino_torch.so")
        done = subprocess.run(_command(torch, made), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UnavailableError(f"the bridge to PyTorch {torch.__version__} cannot be built:\n{done.stderr[-2000:]}")
        os.replace(made, target)
    return target


def _load(torch: Any) -> ctypes.CDLL:
    _recorder.library()
    bridge = ctypes.CDLL(_build(torch, _cache(torch)))
    bridge.kino_torch_version.restype = ctypes.c_char_p
    built_for = bridge.kino_torch_version().decode()
    if built_for != torch.__version__.split("+")[0]:
        raise UnavailableError(f"the bridge is for PyTorch {built_for}, and {torch.__version__} runs")
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
