"""What one window recorded, for as long as it is wanted.

libkino has one session at a time, which the next window takes over. A window that is still wanted then (its profiler lives, and is
another one) keeps what it has in a file without a name that others see.
"""
from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import threading
import warnings
import weakref
from typing import Optional

from .. import _recorder
from .._run import Run, open_as

_FORMATS = (".speedscope.json", ".folded", ".csv", ".sqlite")  # which the engine writes
_lock = threading.RLock()
_in_session: Optional[weakref.ref[Window]] = None  # the window that libkino's session is of
_keys: set[str] = set()  # its metadata, which libkino would give the next one, too


def _program() -> str:
    return os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-", "-c") else "Python"


class Window:
    """Between prepare and stop it records; afterwards it can be written any number of times."""

    def __init__(self, budget: int, trace_id: str) -> None:
        global _in_session
        self.trace_id = trace_id
        self.is_over = False
        self._folder: Optional[str] = None
        self._copy: Optional[str] = None  # Chrome JSON
        self._run: Optional[Run] = None
        with _lock:
            previous = _in_session() if _in_session else None
            if previous is not None:
                previous._leave_session()
            for key in _keys:
                _recorder.metadata(key, None)
            _keys.clear()
            _recorder.prepare(budget, trace_id)
            _in_session = weakref.ref(self)

    def start(self) -> None:
        _recorder.start()

    def metadata(self, key: str, text: str) -> None:
        """A JSON value at the top of the trace."""
        with _lock:
            if not self._is_in_session():
                raise RuntimeError("another window has begun: this one takes no more metadata")
            _recorder.metadata(key, text)
            _keys.add(key)

    def stop(self) -> None:
        _recorder.stop()
        self.is_over = True
        dropped = _recorder.state().dropped
        if dropped:
            warnings.warn(f"{dropped} records did not fit into the recorder's memory and are not in the trace; "
                          "profile(memory=...) gives it more", stacklevel=4)

    def forget(self) -> None:
        """It is not wanted any more: the next window need not keep it."""
        global _in_session
        with _lock:
            if self._is_in_session():
                _in_session = None

    def _is_in_session(self) -> bool:
        return _in_session is not None and _in_session() is self

    def _place(self, name: str) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="kino-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return os.path.join(self._folder, name)

    def _leave_session(self) -> None:
        if _recorder.state().phase == 2:
            raise RuntimeError("a profiler of kino is already recording in this process")
        if _recorder.state().phase == 3:
            self._copy = self._place("window.json")
            _recorder.save(self._copy)

    def _save(self, path: str) -> None:
        with _lock:
            if self._is_in_session():
                _recorder.save(path)
                return
        if self._copy is None:
            raise RuntimeError("nothing was recorded")
        if path.endswith(".kino"):
            self.run().convert(path)
        else:
            shutil.copyfile(self._copy, path)

    def write(self, path: str) -> None:
        """In the format that the name's end says: as often as one likes, complete or not at all."""
        plain = path.removesuffix(".gz").removesuffix(".zst")
        if plain.endswith(_FORMATS) or path.endswith(".zst"):
            self.run().convert(path)
        elif path.endswith(".gz"):
            self._write_compressed(path)
        else:
            self._save(path)

    def _write_compressed(self, path: str) -> None:
        plain, packed = self._place("plain.json"), f"{path}.{os.getpid()}.part"
        self._save(plain)
        try:
            with open(plain, "rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
                shutil.copyfileobj(source, target, 1 << 20)
            os.replace(packed, path)
        finally:
            os.unlink(plain)
            if os.path.exists(packed):
                os.unlink(packed)

    def text(self) -> bytes:
        """As Chrome JSON."""
        plain = self._place("read.json")
        self._save(plain)
        with open(plain, "rb") as file:
            data = file.read()
        os.unlink(plain)
        return data

    def run(self) -> Run:
        """The engine's view of it."""
        if self._run is None:
            path = self._copy
            if path is None:
                path = self._place("window.kino")
                self._save(path)
            self._run = open_as(f"{_program()}, recorded by kino.profile", path, progress=False)
        return self._run
