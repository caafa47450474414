"""The program `kino` that came with this package."""
from __future__ import annotations

import os
import sys
import sysconfig

_NAME = "kino"


def program() -> str:
    """The path of the program: what `kino` on the command line is.

    >>> import os
    >>> os.path.basename(kino.program())
    'kino'
    """
    named = os.environ.get("KINO_PROGRAM")
    here = os.path.dirname(os.path.abspath(__file__))
    schemes = [sysconfig.get_path("scripts")]
    for scheme in ("posix_user", "posix_prefix", "posix_local", "venv"):
        if scheme in sysconfig.get_scheme_names():
            schemes.append(sysconfig.get_path("scripts", scheme))
    # A target directory (pip install --target) has its programs beside the packages.
    places = [os.path.join(here, "_program", "bin"), *schemes, os.path.join(os.path.dirname(here), "bin")]
    candidates = [named] if named else [os.path.join(place, _NAME) for place in places if place]
    for path in candidates:
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"the program 'kino' is not there: {', '.join(candidates)}")


def main() -> None:
    """Becomes the program."""
    path = program()
    sys.stdout.flush()
    os.execv(path, [path, *sys.argv[1:]])
