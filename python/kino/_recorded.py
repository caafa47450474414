"""The Python side of a process under `kino record`: PyTorch's operators once it is imported, Python functions or samples of them.

`kino record` starts each Python with a hook (src/record/python_start.c) that calls begin(). Everything goes into the buffers that the
process has anyway; nothing is written here, and nothing that goes wrong reaches the program: it is said in the recording's output.
"""
from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

_AFTER = {"torch": "_torch_came", "torch.distributed.distributed_c10d": "_distributed_came"}
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")


class _After:
    """A finder that lets others find, and calls back when a module of _AFTER has been imported."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded, self._waiting = recorded, dict(_AFTER)
        self._is_asking = False

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        if name not in self._waiting or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._follow(name, spec.loader)
        return spec

    def _follow(self, name: str, loader: Any) -> None:
        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the class's own again
            loader.exec_module(module)
            self._came(name, module)
        loader.exec_module = exec_module

    def _came(self, name: str, module: ModuleType) -> None:
        then = self._waiting.pop(name, None)
        if not self._waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        if then is not None:
            getattr(self._recorded, then)(module)


class Recorded:
    """What is recorded in this process."""

    def __init__(self, wanted: set[str], say: Callable[[str], None]) -> None:
        self.wanted, self._say = wanted, say
        self._tracer: Optional[ModuleType] = None
        self._is_begun = self._follows_forks = False

    def _try(self, what: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # the program goes on as without us
            self._say(f"no {what} of {sys.executable}: {error}")

    def begin_session(self) -> bool:
        """The buffers of this process; False when it is not recorded."""
        begin = getattr(ctypes.CDLL(None), "kino_record_begin", None)
        if begin is None:
            return False
        begin.restype = ctypes.c_bool
        return bool(begin())

    # -- Python functions --

    def begin_python(self) -> None:
        """Calls of functions, or samples of them: once in a process."""
        if self._is_begun or not self.wanted & {"functions", "samples"}:
            return
        self._is_begun = True
        self._try("Python functions", self._start_python)
        self._follow_forks()

    def _start_python(self) -> None:
        from . import _python_tracer
        if not self.begin_session():
            return
        self._tracer = _python_tracer.load()
        if "functions" in self.wanted:
            self._tracer.start()
        if "samples" in self.wanted:
            self._tracer.sample_start()
        atexit.register(self._stop_python)

    def _stop_python(self) -> None:
        if self._tracer is not None:
            self._tracer.sample_stop()
            self._tracer.stop()

    # -- PyTorch --

    def _torch_came(self, torch: ModuleType) -> None:
        self.begin_python()
        self._try("operators", self._start_operators)
        self._follow_forks()

    def _start_operators(self) -> None:
        from . import _bridge
        if not self.wanted & {"operators", "shapes", "memory"} or not self.begin_session():
            return
        bits = (_bridge.SHAPES if "shapes" in self.wanted else 0) | (_bridge.MEMORY if "memory" in self.wanted else 0)
        _bridge.load().kino_torch_enable(bits)

    def _distributed_came(self, module: Any) -> None:
        """A program that gives itself a rank, without a launcher's variables, says so when it joins its group."""
        update = getattr(module, "_update_default_pg", None)
        if update is None or any(name in os.environ for name in _RANKS):
            return

        def updated(group: Any) -> Any:
            result = update(group)
            if group is not None:
                self._try("rank", lambda: _log(f"rank {os.getpid()} {module.get_rank()} {module.get_world_size()} - - "))
            return result
        module._update_default_pg = updated

    # -- processes --

    def _follow_forks(self) -> None:
        """After the tracer is there, which stops in children: these functions are called in the order of their registration."""
        if not self._follows_forks:
            self._follows_forks = True
            os.register_at_fork(after_in_child=lambda: self._try("child of fork", self._restart))

    def _restart(self) -> None:
        if not self.begin_session() or self._tracer is None:
            return
        if "functions" in self.wanted:
            self._tracer.start()
        if "samples" in self.wanted:
            self._tracer.sample_start()


def _log(line: str) -> None:
    """A line for `kino record` (src/wire/injection.h)."""
    with open(os.path.join(os.environ["KINO_RECORD_FOLDER"], "processes"), "a", encoding="utf-8") as log:
        log.write(f"{line}\n")


def _is_main() -> bool:
    return os.environ.get("KINO_RECORD_MAIN", "").lstrip("0") == str(os.getpid())


def begin(say: Callable[[str], None]) -> None:
    """As Python starts. Most programs that a program runs are small: samples begin in the main one, and where PyTorch is imported."""
    wanted = set(os.environ.get("KINO_RECORD_PYTHON", "").split(","))
    recorded = Recorded(wanted, say)
    sys.meta_path.insert(0, _After(recorded))
    if _is_main() or "functions" in wanted:
        recorded.begin_python()
