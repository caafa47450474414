"""libkino in this process: one session at a time, and what was recorded last."""
from __future__ import annotations

import ctypes
import os
import threading
from typing import Optional

from ._errors import UnavailableError, error_of

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")
_NO_OFFSET = 2**64 - 1


class _Hint(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("at", ctypes.c_uint16), ("size", ctypes.c_uint16), ("subject", ctypes.c_char * 48),
                ("value", ctypes.c_char * 32)]


class CError(ctypes.Structure):
    """kino_error; tests/integration/test_python_tracer.py compares the sizes."""

    _fields_ = [("code", ctypes.c_int), ("offset", ctypes.c_uint64), ("message", ctypes.c_char * 240), ("path_at", ctypes.c_uint16),
                ("path_size", ctypes.c_uint16), ("hint", _Hint)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("mode", ctypes.c_int), ("budget_bytes", ctypes.c_uint64),
                ("directory", ctypes.c_char_p), ("exit_path", ctypes.c_char_p), ("trace_id", ctypes.c_char_p)]


class State(ctypes.Structure):
    """kino_session_state."""

    _fields_ = [("size", ctypes.c_uint32), ("phase", ctypes.c_int), ("mode", ctypes.c_int), ("is_saving", ctypes.c_bool),
                ("budget_bytes", ctypes.c_uint64), ("used_bytes", ctypes.c_uint64), ("dropped", ctypes.c_uint64),
                ("step", ctypes.c_uint64), ("threads", ctypes.c_uint32)]


class Span(ctypes.Structure):
    """kino_span."""

    _fields_ = [("id", ctypes.c_uint64)]


_ERROR = ctypes.POINTER(CError)
_SIGNATURES = {
    "kino_prepare": (ctypes.c_int, [ctypes.POINTER(_Options), _ERROR]),
    "kino_start": (ctypes.c_int, [_ERROR]),
    "kino_stop": (ctypes.c_int, [_ERROR]),
    "kino_discard": (None, []),
    "kino_hint_name": (ctypes.c_char_p, [ctypes.c_int]),
    "kino_save": (ctypes.c_int, [ctypes.c_char_p, _ERROR]),
    "kino_dump": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_uint64, _ERROR]),
    "kino_step": (ctypes.c_uint64, []),
    "kino_metadata": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, _ERROR]),
    "kino_session_get": (None, [ctypes.POINTER(State)]),
    "kino_request": (ctypes.c_int, [ctypes.c_char_p, _ERROR]),
    "kino_request_wait": (ctypes.c_int, [_ERROR]),
    "kino_begin": (Span, [ctypes.c_char_p, ctypes.c_char_p]),
    "kino_end": (None, [Span]),
}
_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None


def path() -> str:
    """The library's file: the one in the package, or what KINO_LIBRARY names."""
    return os.environ.get("KINO_LIBRARY") or os.path.join(NATIVE, "libkino.so.0")


def library() -> ctypes.CDLL:
    """libkino, loaded when it is first needed; the bridge to PyTorch finds the same copy by its name."""
    global _library
    with _lock:
        if _library is None:
            try:
                _library = ctypes.CDLL(path(), mode=ctypes.RTLD_GLOBAL)
            except OSError as error:
                raise UnavailableError(f"libkino cannot be loaded: {error}") from None
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(_library, name)
                function.restype, function.argtypes = result, arguments
        return _library


def check(status: int, error: CError) -> None:
    """Raises what a function of libkino reported."""
    if status != 0:
        offset = None if error.offset == _NO_OFFSET else error.offset
        message: bytes = error.message
        path = message[error.path_at:error.path_at + error.path_size].decode("utf-8", "replace") if error.path_size else None
        name = library().kino_hint_name(error.hint.code).decode()
        raise error_of(status, message.decode("utf-8", "replace"), offset, path, name, error.hint.subject.decode(),
                       error.hint.value.decode())


def _call(name: str, *arguments: object) -> None:
    error = CError()
    check(getattr(library(), name)(*arguments, ctypes.byref(error)), error)


def prepare(budget: int, trace_id: str, is_flight: bool = False) -> None:
    _call("kino_prepare", ctypes.byref(_Options(ctypes.sizeof(_Options), int(is_flight), budget, None, None, trace_id.encode() or None)))


def start() -> None:
    _call("kino_start")


def stop() -> None:
    _call("kino_stop")


def discard() -> None:
    library().kino_discard()


def save(where: str) -> None:
    """Chrome JSON, or Kino's own format when the name ends in .kino."""
    _call("kino_save", os.fsencode(where))


def dump(where: str, last_ns: int) -> None:
    """What ended in the last nanoseconds, while recording goes on."""
    _call("kino_dump", os.fsencode(where), last_ns)


def metadata(key: str, json_text: Optional[str]) -> None:
    """A key of the trace; None takes it back."""
    _call("kino_metadata", key.encode(), None if json_text is None else json_text.encode())


def request(config: str) -> None:
    """Asks for a trace with Kineto's keys (docs/internals/recorder-control.md); returns at once."""
    _call("kino_request", config.encode())


def request_wait() -> None:
    """Until the trace that was asked for is written."""
    _call("kino_request_wait")


def state() -> State:
    out = State(size=ctypes.sizeof(State))
    library().kino_session_get(ctypes.byref(out))
    return out
