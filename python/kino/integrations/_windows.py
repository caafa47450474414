"""What the integrations have in common: a profiler with a place for its traces."""
from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable
from typing import Any, Optional

from .._report import Report
from .._values import Size
from ..profiler import profile, schedule


def rank() -> Optional[int]:
    """Of this process among those that train together, as launchers tell it."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def trace_name(label: str = "") -> str:
    """rank0.LABEL.TIME.pt.trace.json.gz, which `kino open` and TensorBoard's plugin take; without ranks host and process."""
    number = rank()
    worker = f"{socket.gethostname()}_{os.getpid()}" if number is None else f"rank{number}"
    middle = f".{re.sub('[^A-Za-z0-9_-]+', '-', label)}" if label else ""
    return f"{worker}{middle}.{time.time_ns()}.pt.trace.json.gz"


def write_to(folder: str, label: str = "", then: Optional[Callable[[str], None]] = None) -> Callable[[Any], None]:
    """For profile(on_trace_ready=...): each window becomes a file of the folder, whose name `then` is told."""
    def ready(profiler: Any) -> None:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, trace_name(label))
        profiler.export_chrome_trace(path)
        if then is not None:
            then(path)

    return ready


class Windows:
    """A profiler that frameworks start, step and stop, and the files it has written. By default it records steps 3 to 5 once."""

    def __init__(self, folder: Optional[str] = None, *, wait: int = 1, warmup: int = 1, active: int = 3, repeat: int = 1,
                 memory: Optional[Size] = None, **options: Any) -> None:
        self.files: list[str] = []
        self.is_running = False
        options.setdefault("schedule", schedule(wait=wait, warmup=warmup, active=active, repeat=repeat))
        if folder is not None:
            options.setdefault("on_trace_ready", write_to(folder, then=self.files.append))
        self.profiler = profile(memory=memory, **options)

    def start(self) -> None:
        if not self.is_running:
            self.is_running = True
            self.profiler.start()

    def step(self) -> None:
        if self.is_running:
            self.profiler.step()

    def stop(self) -> None:
        if self.is_running:
            self.is_running = False
            self.profiler.stop()

    @property
    def has_recorded(self) -> bool:
        return self.profiler.profiler is not None and self.profiler.profiler.kineto_results is not None


class WithWindows:
    """What integrations with `_windows` have."""

    _windows: Windows

    @property
    def files(self) -> list[str]:
        """The traces that were written."""
        return self._windows.files

    @property
    def profiler(self) -> profile:
        """The kino.profile: events, averages, run() of the last window."""
        return self._windows.profiler

    def report(self, **options: Any) -> Report:
        """Where the time of the last window went."""
        return self._windows.profiler.report(**options)
