"""Traces on request in programs that only `import kino`: PyTorch's operators and memory, and calls of Python functions.

Nothing happens here unless the environment names somebody who may ask (a daemon, a signal, a file, a request). Then libkino listens, the
bridge to PyTorch joins as soon as torch is imported, and Python functions are recorded in traces that want stacks. What goes
wrong is said on stderr; the program never sees it.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any, Optional

from ._after_import import after_import

_NAMING = ("KINO_REQUEST", "KINO_CONFIG", "KINETO_CONFIG", "KINO_SIGNAL")
_NO = ("0", "n", "no", "f", "false")
_SHAPES, _MEMORY, _STACK, _FLOPS = 1, 2, 4, 8  # KINO_CLIENT_...
_armed: Optional[_Client] = None


class _Request(ctypes.Structure):
    """The beginning of kino_client_request."""

    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32)]


_Prepare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Request), ctypes.c_void_p)
_Start = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_bool)


class _Definition(ctypes.Structure):
    """kino_client."""

    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("name", ctypes.c_char_p), ("context", ctypes.c_void_p),
                ("prepare", _Prepare), ("start", _Start), ("step", ctypes.c_void_p), ("stop", _Stop), ("snapshot", ctypes.c_void_p)]


def is_asked() -> bool:
    """Does the environment name somebody? As libkino decides it (control_start.c)."""
    own = os.environ.get("KINO_USE_DAEMON")
    if own:
        return own not in _NO or any(os.environ.get(name) for name in _NAMING)
    return "KINETO_USE_DAEMON" in os.environ or any(os.environ.get(name) for name in _NAMING)


def _say(what: str, error: Exception) -> None:
    print(f"kino: traces on request have no {what}: {error}", file=sys.stderr)


def _try(what: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as error:  # the program goes on as without us
        _say(what, error)


class _Client:
    """Takes part in traces on request, on threads of libkino's that come and go."""

    def __init__(self) -> None:
        from . import _recorder
        self._library = _recorder.library()
        self._flags = 0
        self._is_on = False
        self._tracer: Any = None
        self._definition = _Definition(ctypes.sizeof(_Definition), 0, b"Python", None, _Prepare(self._prepare), _Start(self._start), None,
                                       _Stop(self._stop), None)
        number, error = ctypes.c_uint32(), _recorder.CError()
        self._library.kino_client_add.restype = ctypes.c_int
        _recorder.check(self._library.kino_client_add(ctypes.byref(self._definition), ctypes.byref(number), ctypes.byref(error)), error)
        self._number = number
        self._pid = os.getpid()  # a child of fork has no clients

    # -- operators --

    def join_torch(self) -> None:
        """The bridge is a client of its own; a trace that has begun before torch was imported gets its operators from here."""
        from . import _bridge
        if self._pid != os.getpid():
            return
        _bridge.attach()
        if self._is_on:
            shapes, memory = self._flags & (_SHAPES | _FLOPS), self._flags & _MEMORY
            _bridge.load().kino_torch_enable((_bridge.SHAPES if shapes else 0) | (_bridge.MEMORY if memory else 0))

    # -- callbacks --

    def _prepare(self, context: int, request: Any, error: int) -> int:
        self._flags = request.contents.flags
        self._tracer = None
        if self._flags & _STACK:
            _try("Python functions", self._load_tracer)
        return 0

    def _load_tracer(self) -> None:
        from . import _python_tracer
        self._tracer = _python_tracer.load()

    def _start(self, context: int) -> None:
        self._is_on = True
        if self._tracer is not None:
            _try("Python functions", self._tracer.start)

    def _stop(self, context: int, is_cancelled: bool) -> None:
        self._is_on = False
        if self._tracer is not None:
            _try("Python functions", self._tracer.stop)
            self._tracer = None
        bridge = sys.modules.get("kino._bridge")
        if bridge is not None and bridge.is_loaded():
            bridge.load().kino_torch_disable()

    def leave(self) -> None:
        """Before the interpreter ends: no thread calls into it from then on."""
        if self._pid == os.getpid():
            self._library.kino_client_remove(self._number)
            self._stop(0, False)


def arm() -> None:
    """Once in a process, when the environment asks for it."""
    global _armed
    if _armed is not None or not is_asked():
        return
    try:
        _armed = _Client()
    except Exception as error:  # a package without libkino
        _say("Python functions and operators", error)
        return
    atexit.register(_armed.leave)
    after_import("torch", lambda: _try("operators", _armed.join_torch))
