"""Packages that only parts of kino.hta need."""
from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def need(package: str, what: str) -> Any:
    """The module; an ImportError that says what it is needed for."""
    try:
        return importlib.import_module(package)
    except ImportError as missing:
        name = package.split(".")[0]
        raise ImportError(f"{what} needs {name}, which is not installed: pip install {name}") from missing


def is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def not_in_kino(what: str, reason: str, instead: str) -> NotImplementedError:
    """To be raised for what HTA has and Kino does not."""
    return NotImplementedError(f"{what} is not in kino.hta: {reason}. Use {instead} instead.")
