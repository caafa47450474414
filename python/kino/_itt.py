"""ITT's interface as a program has it: hands a list of functions to the collector that INTEL_LIBITTNOTIFY64 names, which fills it.

Intel's static part does this in each program; this is as much of it as tasks need, with ctypes. Without a collector nothing is called.
"""
from __future__ import annotations

import ctypes
import os
import platform
import threading
from typing import Optional

_NAMES = ("__itt_domain_create", "__itt_string_handle_create", "__itt_task_begin", "__itt_task_end")
_MAGIC = bytes((0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30))
_ALL_GROUPS = 0xFFFF
_MUTEX_BYTES = 48 if platform.machine() == "aarch64" else 40
_Nothing = ctypes.CFUNCTYPE(None)


class _Function(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("pointer", ctypes.c_void_p), ("init_function", ctypes.c_void_p),
                ("null_function", ctypes.c_void_p), ("group", ctypes.c_int)]


class _Global(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_ubyte * 8), ("version_major", ctypes.c_ulong), ("version_minor", ctypes.c_ulong),
                ("version_build", ctypes.c_ulong), ("api_initialized", ctypes.c_long), ("mutex_initialized", ctypes.c_long),
                ("atomic_counter", ctypes.c_long), ("mutex", ctypes.c_uint64 * (_MUTEX_BYTES // 8)), ("library", ctypes.c_void_p),
                ("error_handler", ctypes.c_void_p), ("path", ctypes.c_void_p), ("functions", ctypes.POINTER(_Function)),
                ("next", ctypes.c_void_p), ("threads", ctypes.c_void_p), ("domains", ctypes.c_void_p), ("strings", ctypes.c_void_p),
                ("state", ctypes.c_int), ("counters", ctypes.c_void_p), ("ipt_collect_events", ctypes.c_uint),
                ("histograms", ctypes.c_void_p), ("counter_metadata", ctypes.c_void_p)]


class Itt:
    """Addresses of the collector's functions, 0 where it has none, and the domain of PyTorch's ranges."""

    def __init__(self, path: Optional[str]) -> None:
        self._cells = (ctypes.c_void_p * len(_NAMES))()  # which the collector fills
        self._nothing = _Nothing(lambda: None)
        self.domain = 0
        if path:
            self._attach(path)
        self.domain_create, self.string_handle_create, self.task_begin, self.task_end = (cell or 0 for cell in self._cells)
        if self.domain_create:
            create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(self.domain_create)
            self.domain = create(b"PyTorch") or 0

    @property
    def is_attached(self) -> bool:
        return bool(self.domain and self.string_handle_create and self.task_begin and self.task_end)

    def _attach(self, path: str) -> None:
        try:
            self._collector = ctypes.CDLL(path)
        except OSError:  # as ITT itself: a collector that is not there is none
            return
        if hasattr(self._collector, "__itt_api_init"):
            self._hand_over()
        else:  # a collector of the older kind, whose functions are looked up
            for number, name in enumerate(_NAMES):
                function = getattr(self._collector, name, None)
                self._cells[number] = ctypes.cast(function, ctypes.c_void_p).value if function is not None else None

    def _hand_over(self) -> None:
        nothing = ctypes.cast(self._nothing, ctypes.c_void_p).value
        first, size = ctypes.addressof(self._cells), ctypes.sizeof(ctypes.c_void_p)
        self._functions = (_Function * (len(_NAMES) + 1))(*(
            _Function(name.encode(), first + number * size, None, nothing, _ALL_GROUPS) for number, name in enumerate(_NAMES)))
        self._global = _Global(magic=(ctypes.c_ubyte * 8)(*_MAGIC), version_major=3, version_minor=25, api_initialized=1,
                               mutex_initialized=1, functions=self._functions)
        init = getattr(self._collector, "__itt_api_init")  # noqa: B009 (two underscores: not an attribute of this class)
        init.argtypes, init.restype = [ctypes.POINTER(_Global), ctypes.c_int], None
        init(ctypes.byref(self._global), _ALL_GROUPS)
        for number, cell in enumerate(self._cells):
            if cell == nothing:
                self._cells[number] = None


_lock = threading.Lock()
_made: Optional[Itt] = None


def itt() -> Itt:
    """The process's one."""
    global _made
    with _lock:
        if _made is None:
            _made = Itt(os.environ.get("INTEL_LIBITTNOTIFY64"))
        return _made
