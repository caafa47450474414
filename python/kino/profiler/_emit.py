"""emit_nvtx and emit_itt: operators as ranges for other tools, through python/torch/kino_emit.cpp."""
from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Optional

from .. import _bridge
from .._itt import itt
from .._nvtx import nvtx
from . import _config

_library: Optional[ctypes.CDLL] = None


def _emitter() -> ctypes.CDLL:
    global _library
    if _library is None:
        library = ctypes.CDLL(_bridge.built("kino_emit"))
        library.kino_emit_nvtx.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_bool]
        library.kino_emit_itt.argtypes = [ctypes.c_void_p] * 4
        library.kino_emit_nvtx.restype = library.kino_emit_itt.restype = ctypes.c_bool
        library.kino_emit_stop.argtypes, library.kino_emit_stop.restype = [], None
        _library = library
    return _library


class _Emission:
    """What both have in common: a `with`, entered once, that is nothing when it is not enabled or nobody listens."""

    _name = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes
        self.entered = False
        self._is_on = False

    def _begin(self) -> Optional[bool]:
        """None: no tool listens; False: something is emitted already."""
        raise NotImplementedError

    def __enter__(self) -> Optional[_Emission]:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._name} annotation context manager is not reentrant")
        self.entered = True
        is_on = self._begin()
        if is_on is False:
            raise RuntimeError("operators are emitted already: emit_nvtx and emit_itt cannot be inside each other")
        self._is_on = bool(is_on)
        return self

    def __exit__(self, exc_type: Optional[type[BaseException]], exc_val: Optional[BaseException],
                 exc_tb: Optional[TracebackType]) -> Optional[bool]:
        if self._is_on:
            _config.synchronize("cuda")
            _emitter().kino_emit_stop()
            self._is_on = False
        return False if self.enabled else None


class emit_nvtx(_Emission):  # noqa: N801 (PyTorch's name)
    """Every operator is a range of NVTX, with PyTorch's texts: name, sequence number, number of the operator, and with `record_shapes`
    sizes and producers of its inputs. For Nsight Systems, `kino record` and other tools; needs no CUDA.

    >>> with kino.emit_nvtx(record_shapes=True):
    ...     _ = torch.ones(4) + 1
    """

    _name = "NVTX"

    def _begin(self) -> Optional[bool]:
        tool = nvtx()
        if not tool.is_attached:
            _config.warn_once("kino.emit_nvtx: no tool listens to NVTX (NVTX_INJECTION64_PATH is not set, or has no such library): "
                              "nothing is emitted")
            return None
        _config.synchronize("cuda")
        return bool(_emitter().kino_emit_nvtx(tool.push_address, tool.pop_address, self.record_shapes))


class emit_itt(_Emission):  # noqa: N801 (PyTorch's name)
    """Every operator is a task of ITT in the domain "PyTorch", by its name. For VTune, `kino record` and other tools. `record_shapes` is
    taken and has no meaning, as in PyTorch.

    >>> with kino.emit_itt():
    ...     _ = torch.ones(4) + 1
    """

    _name = "ITT"

    def _begin(self) -> Optional[bool]:
        tool = itt()
        if not tool.is_attached:
            _config.warn_once("kino.emit_itt: no collector listens to ITT (INTEL_LIBITTNOTIFY64 is not set, or has no such library): "
                              "nothing is emitted")
            return None
        return bool(_emitter().kino_emit_itt(tool.domain, tool.string_handle_create, tool.task_begin, tool.task_end))
