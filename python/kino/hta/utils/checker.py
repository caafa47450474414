"""Can a folder be written to?"""
from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass
class OperationOutcome:
    """Did it hold, and why not?

    >>> from kino.hta.utils.checker import OperationOutcome
    >>> OperationOutcome(True, "").success
    True
    """

    success: bool
    reason: str


def _fault(path: str, must_be_writable: bool) -> str:
    if not path:
        return "Variable `path_to_directory` must be a non-empty string"
    if not os.path.exists(path):
        return f"Path {path} does not exist."
    if not os.path.isdir(path):
        return f"Path {path} is not a directory."
    if not os.access(path, os.R_OK):
        return f"`{path}` is not a valid path."
    return f"Path {path} is not writable." if must_be_writable and not os.access(path, os.W_OK) else ""


def is_valid_directory(path_to_directory: str, must_be_writable: bool = False) -> OperationOutcome:
    """Is it a folder that one may read, and write to?

    >>> from kino.hta.utils.checker import is_valid_directory
    >>> is_valid_directory("no-such-folder").reason
    'Path no-such-folder does not exist.'
    """
    fault = _fault(path_to_directory, must_be_writable)
    return OperationOutcome(not fault, fault)
