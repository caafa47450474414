"""Calls of Python functions, by the extension kino._tracer."""
from __future__ import annotations

import importlib
from typing import Any, Optional

from .. import _recorder
from . import _config


class Tracing:
    """Switches the tracer on and off with a window, when stacks are wanted and it is there."""

    def __init__(self, is_wanted: bool) -> None:
        self._module: Optional[Any] = None
        if not is_wanted:
            return
        _recorder.library()  # first, because the tracer takes the copy that is there
        try:
            self._module = importlib.import_module("kino._tracer")
        except ImportError:
            _config.warn_once("kino.profile: Python functions are not recorded: this build has no kino._tracer for this Python")

    @property
    def is_there(self) -> bool:
        return self._module is not None

    def start(self) -> None:
        if self._module is not None:
            self._module.start()

    def stop(self) -> None:
        if self._module is not None:
            self._module.stop()
