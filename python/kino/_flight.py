"""The flight recorder: the last seconds are always there, and become a trace when something happens."""
from __future__ import annotations

import json
import os
import signal as signals
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType, TracebackType
from typing import Any, Optional, Union

from . import _recorder
from ._values import size_in_bytes

TRIGGERS = ("slow-step", "exception", "signal")
_STEPS_KEPT, _STEPS_NEEDED = 64, 8  # durations that the median is of
_PYTHON = (None, "functions", "samples")


class FlightRecorder:
    """What `kino.flight_recorder` returns; recording until stop().

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with kino.flight_recorder(on=["exception"], directory=folder, memory="4MB", python=None) as recorder:
    ...         recorder.is_active, recorder.seconds
    (True, 30)
    """

    def __init__(self, seconds: float, on: Iterable[str], directory: Union[str, os.PathLike[str]], memory: Union[int, str],
                 slow: float, python: Optional[str], shapes: bool, signal: int, keep: int) -> None:
        self._on = _checked(on)
        if seconds <= 0 or slow <= 1 or keep < 1 or python not in _PYTHON:
            raise ValueError("invalid argument (expected: seconds > 0, slow > 1, keep >= 1, python 'functions', 'samples' or None)")
        self.seconds, self.slow, self.keep = seconds, slow, keep
        self.directory = os.path.abspath(os.fspath(directory))
        self.files: list[str] = []
        self._pid = os.getpid()
        self._lock = threading.Lock()  # one dump at a time
        self._writing: Optional[threading.Thread] = None
        self._undo: list[Callable[[], None]] = []
        self._durations: deque[float] = deque(maxlen=_STEPS_KEPT)
        self._step_began: Optional[float] = None
        self._last_dump = -float("inf")
        self._number = 0
        self._optimizer: Optional[weakref.ref[Any]] = None
        self._is_stepped_by_hand = False
        os.makedirs(self.directory, exist_ok=True)
        _recorder.prepare(size_in_bytes(memory) or 0, "", is_flight=True)
        _recorder.start()
        self._undo.append(_recorder.discard)
        self._undo.append(_recorder.stop)
        try:
            self._begin(shapes, python, signal)
        except BaseException:
            self.stop()
            raise

    def _begin(self, shapes: bool, python: Optional[str], signal: int) -> None:
        if "torch" in sys.modules:
            self._follow_operators(shapes)
        if python is not None:
            self._follow_python(python)
        if "exception" in self._on:
            self._follow_exceptions()
        if "signal" in self._on:
            self._follow_signal(signal)

    # -- what is recorded --

    def _follow_operators(self, shapes: bool) -> None:
        from . import _bridge
        bridge = _bridge.load()
        bridge.kino_torch_enable(_bridge.SHAPES if shapes else 0)
        self._undo.append(bridge.kino_torch_disable)
        if "slow-step" in self._on:
            from torch.optim.optimizer import register_optimizer_step_post_hook
            self._undo.append(register_optimizer_step_post_hook(self._optimizer_stepped).remove)

    def _follow_python(self, how: str) -> None:
        from . import _python_tracer
        tracer: ModuleType = _python_tracer.load()
        if how == "functions":
            tracer.start()
            self._undo.append(tracer.stop)
        else:
            tracer.sample_start()
            self._undo.append(tracer.sample_stop)

    # -- steps --

    def step(self) -> None:
        """A step of the program ends, and the next begins. Without this the steps of the first optimizer of PyTorch count.

        >>> with kino.flight_recorder(on=["slow-step"], memory="4MB", python=None) as recorder:
        ...     for batch in range(3):
        ...         recorder.step()
        """
        self._is_stepped_by_hand = True
        self._end_step()

    def _optimizer_stepped(self, optimizer: Any, *_: Any) -> None:
        if self._optimizer is None or self._optimizer() is None:
            self._optimizer = weakref.ref(optimizer)
        if not self._is_stepped_by_hand and self._optimizer() is optimizer:
            self._end_step()

    def _end_step(self) -> None:
        if not self.is_active:
            return
        now = time.monotonic()
        _recorder.library().kino_step()
        duration = None if self._step_began is None else now - self._step_began
        self._step_began = now
        if duration is None:
            return
        typical = _median(self._durations) if len(self._durations) >= _STEPS_NEEDED else None
        self._durations.append(duration)
        if "slow-step" in self._on and typical is not None and duration > self.slow * typical:
            self._dump_later("slow-step", {"step_seconds": round(duration, 6), "median_seconds": round(typical, 6)})

    # -- what makes a trace --

    def _follow_exceptions(self) -> None:
        before, before_in_threads = sys.excepthook, threading.excepthook

        def hook(kind: type[BaseException], error: BaseException, traceback: Optional[TracebackType]) -> None:
            self._dump_safely("exception", {"exception": kind.__name__})
            before(kind, error, traceback)

        def hook_in_threads(arguments: Any) -> None:
            if arguments.exc_type is not SystemExit:
                self._dump_safely("exception", {"exception": arguments.exc_type.__name__})
            before_in_threads(arguments)

        sys.excepthook, threading.excepthook = hook, hook_in_threads
        self._undo.append(lambda: _put_back(hook, before, hook_in_threads, before_in_threads))

    def _follow_signal(self, number: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("on='signal' needs the main thread: Python has signal handlers there only")
        before = signals.getsignal(number)

        def handle(received: int, frame: Any) -> None:
            self._dump_later("signal", {"signal": received})
            if callable(before):
                before(received, frame)

        signals.signal(number, handle)
        self._undo.append(lambda: _set_signal(number, handle, before))

    # -- traces --

    @property
    def is_active(self) -> bool:
        """False after stop(), and in a child of fork.

        >>> recorder = kino.flight_recorder(on=[], memory="4MB", python=None)
        >>> recorder.stop()
        >>> recorder.is_active
        False
        """
        return bool(self._undo) and self._pid == os.getpid()

    def _path(self, reason: str) -> str:
        self._number += 1
        rank = os.environ.get("RANK", "")
        place = f"rank{rank}-" if rank.isdigit() else ""
        return os.path.join(self.directory, f"flight-{reason}-{place}pid{self._pid}-{self._number}.kino")

    def dump(self, reason: str = "asked", **details: Any) -> str:
        """Writes the last seconds now and returns the path; recording goes on.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with kino.flight_recorder(on=[], directory=folder, memory="4MB", python=None) as recorder:
        ...         path = recorder.dump("checkpoint")
        >>> os.path.basename(path)
        'flight-checkpoint-...pid...-1.kino'
        """
        with self._lock:
            path = self._path(reason)
            _recorder.metadata("kino_flight", json.dumps({"reason": reason, "seconds": self.seconds, **details}))
            _recorder.dump(path, int(self.seconds * 1e9))
            self._last_dump = time.monotonic()
            self.files.append(path)
            while len(self.files) > self.keep:
                _remove(self.files.pop(0))
        return path

    def _dump_safely(self, reason: str, details: dict[str, Any]) -> None:
        """Nothing that goes wrong here reaches the program; a thing that has just been written is not written again."""
        if not self.is_active:
            return
        try:
            print(f"kino: {reason}: {self.dump(reason, **details)}", file=sys.stderr)
        except Exception as error:
            warnings.warn(f"kino.flight_recorder: no trace of '{reason}': {error}", stacklevel=2)

    def _dump_later(self, reason: str, details: dict[str, Any]) -> None:
        """On another thread, one at a time; slow steps at most once in the time that a trace covers."""
        is_soon = reason == "slow-step" and time.monotonic() - self._last_dump < self.seconds
        if is_soon or (self._writing is not None and self._writing.is_alive()):
            return
        self._writing = threading.Thread(target=self._dump_safely, args=(reason, details), name="kino-flight")
        self._writing.start()

    # -- the end --

    def stop(self) -> None:
        """Stops recording; traces that were written stay.

        >>> kino.flight_recorder(on=[], memory="4MB", python=None).stop()
        """
        writing = self._writing
        if writing is not None and writing is not threading.current_thread():
            writing.join()
        undo, self._undo = self._undo, []
        for action in reversed(undo) if self._pid == os.getpid() else ():
            action()

    def __enter__(self) -> FlightRecorder:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        if kind is not None and "exception" in self._on and issubclass(kind, Exception):
            self._dump_safely("exception", {"exception": kind.__name__})
        self.stop()


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _checked(on: Iterable[str]) -> frozenset[str]:
    wanted = frozenset([on] if isinstance(on, str) else on)
    wrong = sorted(wanted - set(TRIGGERS))
    if wrong:
        raise ValueError(f"invalid value '{wrong[0]}' for on (expected: {', '.join(TRIGGERS)})")
    return wanted


def _put_back(hook: Any, before: Any, hook_in_threads: Any, before_in_threads: Any) -> None:
    """Unless somebody has taken the place meanwhile."""
    if sys.excepthook is hook:
        sys.excepthook = before
    if threading.excepthook is hook_in_threads:
        threading.excepthook = before_in_threads


def _set_signal(number: int, handler: Any, before: Any) -> None:
    if threading.current_thread() is threading.main_thread() and signals.getsignal(number) is handler:
        signals.signal(number, before if before is not None else signals.SIG_DFL)


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def flight_recorder(seconds: float = 30, on: Iterable[str] = TRIGGERS, *, directory: Union[str, os.PathLike[str]] = ".",
                    memory: Union[int, str] = "64MB", slow: float = 2.0, python: Optional[str] = "samples", shapes: bool = False,
                    signal: int = signals.SIGUSR2, keep: int = 10) -> FlightRecorder:
    """Records all the time into a ring of `memory`, and writes the last `seconds` as a trace when something happens.

    `on` lists what: "slow-step" (a step takes more than `slow` times the median of the steps before), "exception" (one that nobody
    catches, in any thread, or that leaves the `with` block), "signal" (`signal` arrives). `dump()` does it at once. Traces are
    named flight-REASON-...kino in `directory`; the newest `keep` of a process are kept.

    >>> recorder = kino.flight_recorder(seconds=30, on=["slow-step", "exception"], memory="4MB", python=None)
    >>> recorder.stop()
    """
    return FlightRecorder(seconds, on, directory, memory, slow, python, shapes, signal, keep)
