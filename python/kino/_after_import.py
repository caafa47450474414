"""What to do when a module has been imported, whoever imports it, without importing it."""
from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

_Then = Callable[[], None]


class _Finder:
    """Lets others find the module, as often as somebody looks for it, and calls back behind its import."""

    def __init__(self, name: str, then: _Then) -> None:
        self._name, self._then = name, then
        self._is_looking = False

    def find_spec(self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None) -> Optional[ModuleSpec]:
        if name != self._name or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_looking = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # the class's own again
            loader.exec_module(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)  # type: ignore[arg-type, unused-ignore]
                self._then()
        loader.exec_module = exec_module


def after_import(name: str, then: _Then) -> None:
    """Calls `then` at once when the module is there, else when it has been imported."""
    if name in sys.modules:
        then()
    else:
        sys.meta_path.insert(0, _Finder(name, then))  # type: ignore[arg-type, unused-ignore]
