"""The program `kino` that came with this package."""
from __future__ import annotations

import os
import sys
import sysconfig

_NAME = "kino"
_RECORD_FLAGS = ("--merge", "--system", "--quiet", "--no-progress", "--help")  # options of `kino record` without a value


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


def _options_end(words: list[str]) -> int:
    """Where the options of `kino record` end and what is to be run begins."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("--", "-m", "-c"):
        at += 1 if "=" in words[at] or words[at] in _RECORD_FLAGS else 2
    return at


def record_arguments(words: list[str]) -> list[str]:
    """`python -m kino record [options] train.py ...`: this Python runs the script, or the module behind -m. Others are programs.

    >>> from kino import _program
    >>> _program.record_arguments(["-o", "out", "--", "./train", "x.py"])
    ['-o', 'out', '--', './train', 'x.py']
    """
    at = _options_end(words)
    options, command = words[:at], words[at:]
    if command[:1] == ["--"]:
        command = command[1:]
    if command and (command[0] in ("-m", "-c") or command[0].endswith((".py", ".pyc", ".pyz"))):
        command = [sys.executable, *command]
    return [*options, "--", *command] if command else options


def main() -> None:
    """Becomes the program."""
    path, words = program(), sys.argv[1:]
    if words[:1] == ["record"]:
        words = ["record", *record_arguments(words[1:])]
    sys.stdout.flush()
    os.execv(path, [path, *words])
