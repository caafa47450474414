"""Libraries that are built where they run, when they are first needed, because they depend on the PyTorch or the Python there."""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable

from ._errors import UnavailableError


def cache(name: str) -> str:
    """A directory of the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "kino", name)


def fingerprint(text: str, sources: Iterable[str]) -> str:
    """Changes with whatever a library is built from: files, and what the text says."""
    digest = hashlib.sha256(text.encode())
    for path in sources:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def compiler(variable: str, names: Iterable[str], what: str) -> str:
    """The one that the environment names, else the first that is installed."""
    for name in (os.environ.get(variable), *names):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise UnavailableError(f"{what} is built on first use, and there is no compiler", hint=f"install gcc and g++, or set {variable}")


def _environment() -> dict[str, str]:
    """Under `kino record` the compiler is not part of the program."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD" and not name.startswith("KINO_RECORD_")}


def build(folder: str, name: str, what: str, command: Callable[[str], list[str]]) -> str:
    """The library in the cache; built when it is not there yet, complete or not at all, so that several processes may do it at once."""
    target = os.path.join(folder, name)
    if os.path.exists(target):
        return target
    os.makedirs(folder, mode=0o700, exist_ok=True)
    print(f"kino: building {what} (once, some seconds): {target}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = os.path.join(work, name)
        done = subprocess.run(command(made), capture_output=True, text=True, check=False, env=_environment())
        if done.returncode != 0:
            raise UnavailableError(f"{what} cannot be built:\n{done.stderr[-2000:]}")
        os.replace(made, target)
    return target
