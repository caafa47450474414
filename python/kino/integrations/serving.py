"""Start and stop for programs that serve, as vLLM's start_profile and stop_profile.

    from kino.integrations.serving import ProfileSwitch

    switch = ProfileSwitch("traces", record_shapes=True)
    switch.start()             # from a handler of requests, on any thread
    ...
    path = switch.stop()       # the trace
"""
from __future__ import annotations

import os
import threading
from typing import Any, Optional

from .._report import Report
from ..profiler import profile
from ._windows import trace_name


class ProfileSwitch:
    """Records between start() and stop(), on all threads; each time another trace of the folder. Arguments are kino.profile's."""

    def __init__(self, folder: str, **options: Any) -> None:
        self.folder = folder
        self._options = options
        self._lock = threading.Lock()
        self._profiler: Optional[Any] = None
        self._last: Optional[Any] = None

    @property
    def is_recording(self) -> bool:
        return self._profiler is not None

    def start(self) -> bool:
        """Returns False when it records already."""
        with self._lock:
            if self._profiler is not None:
                return False
            started = profile(**self._options)
            started.start()
            self._profiler = started
            return True

    def stop(self) -> Optional[str]:
        """Writes the trace and returns its name; None when nothing was started."""
        with self._lock:
            profiler, self._profiler = self._profiler, None
            if profiler is None:
                return None
            profiler.stop()
            self._last = profiler
            os.makedirs(self.folder, exist_ok=True)
            path = os.path.join(self.folder, trace_name())
            profiler.export_chrome_trace(path)
            return path

    def report(self, **options: Any) -> Report:
        """Where the time between the last start and stop went."""
        if self._last is None:
            raise RuntimeError("nothing was recorded: call start() and stop() first")
        found: Report = self._last.report(**options)
        return found
