"""NVTX's interface as a program has it: looks for a tool (NVTX_INJECTION64_PATH) at the first use, and calls its functions.

NVTX is a header that each program compiles in; this is what such a copy does, with ctypes. Without a tool nothing is called.
"""
from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any, Optional

_CORE = 1  # the module with marks and ranges
_CALLBACKS = 1  # the table that leads to the modules
_MARK, _PUSH, _POP = 2, 9, 11  # slots of the module: nvtxMarkA, nvtxRangePushA, nvtxRangePop
_SLOTS = 16

_GetTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
_GetModule = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))


class _Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("module_table", _GetModule)]


class Nvtx:
    """The tool's functions. `push` and `pop` are None when there is no tool."""

    def __init__(self, path: Optional[str]) -> None:
        self._functions = (ctypes.c_void_p * _SLOTS)()  # which the tool fills
        first, size = ctypes.addressof(self._functions), ctypes.sizeof(ctypes.c_void_p)
        self._slots = (ctypes.c_void_p * _SLOTS)(None, *(first + number * size for number in range(1, _SLOTS)))
        self._get_module = _GetModule(self._module)
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), self._get_module)
        self._get_table = _GetTable(lambda table: ctypes.addressof(self._callbacks) if table == _CALLBACKS else None)
        self.push_address = self.pop_address = 0
        self._push: Optional[Callable[[bytes], int]] = None
        self._pop: Optional[Callable[[], int]] = None
        self._mark: Optional[Callable[[bytes], None]] = None
        if path:
            self._attach(path)

    def _module(self, module: int, out: Any, count: Any) -> int:
        if module != _CORE:
            return 0
        out[0], count[0] = ctypes.addressof(self._slots), _SLOTS
        return 1

    def _attach(self, path: str) -> None:
        try:
            self._tool = ctypes.CDLL(path)
            attach = self._tool.InitializeInjectionNvtx2
        except (OSError, AttributeError):  # as NVTX itself: a tool that is not there is no tool
            return
        attach.argtypes, attach.restype = [_GetTable], ctypes.c_int
        if not attach(self._get_table):
            return
        push, pop, mark = (self._functions[slot] for slot in (_PUSH, _POP, _MARK))
        if push and pop:
            self.push_address, self.pop_address = push, pop
            self._push = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(push)
            self._pop = ctypes.CFUNCTYPE(ctypes.c_int)(pop)
        if mark:
            self._mark = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(mark)

    @property
    def is_attached(self) -> bool:
        return self._push is not None

    def push(self, text: str) -> int:
        """Begins a range of the calling thread; returns its depth, -2 when nobody counts."""
        return self._push(text.encode("utf-8", "replace")) if self._push is not None else -2

    def pop(self) -> int:
        """Ends the innermost range of the calling thread."""
        return self._pop() if self._pop is not None else -2

    def mark(self, text: str) -> None:
        if self._mark is not None:
            self._mark(text.encode("utf-8", "replace"))


_lock = threading.Lock()
_made: Optional[Nvtx] = None


def nvtx() -> Nvtx:
    """The process's one."""
    global _made
    with _lock:
        if _made is None:
            _made = Nvtx(os.environ.get("NVTX_INJECTION64_PATH"))
        return _made
