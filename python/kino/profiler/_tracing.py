"""Calls of Python functions, or samples of them, by the extension kino._tracer."""
from __future__ import annotations

from types import ModuleType
from typing import Optional, Union

from .. import _python_tracer
from .._errors import UnavailableError
from . import _config, _owners


class Tracing:
    """Switches the tracer on and off with a window: with_stack=True records calls, with_stack="sample" looks from time to time."""

    def __init__(self, wanted: Union[bool, str], with_collections: bool = True) -> None:
        if isinstance(wanted, str) and wanted != "sample":
            raise ValueError(f"invalid value '{wanted}' for with_stack (expected: True, False or 'sample')")
        self._module: Optional[ModuleType] = None
        self._samples = wanted == "sample"
        self._with_collections = with_collections
        self.owned: list[_owners.Owned] = []  # when the last window ended
        if not wanted:
            return
        try:
            self._module = _python_tracer.load()
        except (ImportError, UnavailableError) as error:
            _config.warn_once(f"kino.profile: Python functions are not recorded: {error}")

    @property
    def is_there(self) -> bool:
        """Are calls recorded, so that each event has its stack?"""
        return self._module is not None and not self._samples

    def start(self) -> None:
        if self._module is None:
            return
        try:
            if self._samples:
                self._module.sample_start()
            else:
                self._module.start(gc=self._with_collections)
        except RuntimeError as error:  # another profiler has Python's hook, or the system forbids to look
            _config.warn_once(f"kino.profile: Python functions are not recorded: {error}")

    def stop(self, with_owners: bool = False) -> None:
        """with_owners: `owned` is what the modules that were called have then."""
        if self._module is None:
            return
        modules = self._module.modules() if with_owners and not self._samples else []
        self._module.sample_stop()
        self._module.stop()
        self.owned = _owners.of_modules(modules)
