"""`kino serve` as a child of this process.

A child, not a thread: a trace that breaks the engine, its memory limit and its handlers of signals are not ours then. It has a session of
its own, so that Ctrl-C and a notebook's "interrupt" are not for it; its standard input is a pipe that we hold, and it ends with the pipe:
when we close it, exit, or are killed."""
from __future__ import annotations

import os
import subprocess
import tempfile
import weakref
from typing import Any

from ._errors import Error
from ._program import program

_END_SECONDS = 10
_START = "Kino is running at "


class Child:
    """A server that answers at ``address``: a URL, or unix:PATH."""

    def __init__(self, *arguments: str) -> None:
        errors = tempfile.TemporaryFile()
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            [program(), "serve", "--stop-on-eof", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True)
        self._end = weakref.finalize(self, _end, self.process)  # also when Python exits
        _children.add(self)
        try:
            assert self.process.stdout
            line = os.fsdecode(self.process.stdout.readline())
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if not line.startswith(_START):
            self.close()
            errors.seek(0)
            raise Error(_message(errors.read().decode("utf-8", "replace")))
        errors.close()
        self.address = line[len(_START):].split(" (", 1)[0]

    def is_running(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """Ends it."""
        self._end()
        _children.discard(self)


_children: weakref.WeakSet[Child] = weakref.WeakSet()


def _message(said: str) -> str:
    text = said.strip()
    return text[len("kino: "):] if text.startswith("kino: ") else text or "the server did not start"


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:  # it has ended already
        pass


def _end(process: subprocess.Popen[bytes]) -> None:
    _close(process.stdin)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _close(process.stdout)


def _forget() -> None:
    """After a fork: the servers are the parent's, and must not live as long as its children."""
    for child in list(_children):
        child._end.detach()
        _close(child.process.stdin)


os.register_at_fork(after_in_child=_forget)
