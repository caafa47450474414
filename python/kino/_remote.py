"""Traces in remote stores (s3://, gs://, memory://, ...), through fsspec where it is installed: downloaded to a cache of bounded size.

The cache has a directory for each remote one, with its files under their own names, and beside it a list of what they were when they were
fetched, by which later calls know what has changed. Processes share it: one at a time fetches into a directory (lock "fetch"); those
who read from it hold the lock "use", and only directories that nobody uses are removed, the least recently used ones first."""
from __future__ import annotations

import fcntl
import hashlib
import json
import os
import posixpath
import re
import shutil
from typing import Any, Optional

from ._errors import CancelledError, FileError, LimitError, NotFoundError, UnavailableError
from ._progress import ProgressFunction
from ._values import size_in_bytes

_URL = re.compile(rb"^(?:[A-Za-z][A-Za-z0-9+.-]*::)*[A-Za-z][A-Za-z0-9+.-]+://")
_SUFFIXES = (".json", ".json.gz", ".json.zst", ".kino")
_MOST = "20GB"
_PIECE = 1 << 20


def is_remote(path: bytes) -> bool:
    """Is it the address of something in a remote store?"""
    return bool(_URL.match(path))


def cache_folder() -> str:
    """Where downloads go: KINO_CACHE_DIR, or kino in the user's cache directory."""
    named = os.environ.get("KINO_CACHE_DIR")
    return named or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kino", "remote")


def cache_limit() -> int:
    """Bytes that the cache may have: KINO_CACHE_SIZE."""
    return size_in_bytes(os.environ.get("KINO_CACHE_SIZE") or _MOST)


class _Lock:
    """A lock between processes; held until close()."""

    def __init__(self, path: str, how: int) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, how)
        except BaseException:
            self.close()
            raise

    def is_current(self, path: str) -> bool:
        """Is the file that is locked still the one of this name?"""
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(path))
        except OSError:
            return False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> _Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Lease:
    """What was downloaded stays in the cache as long as this lives."""

    def __init__(self, url: str, progress: Optional[ProgressFunction] = None) -> None:
        self._url = url
        self._fs, self._remote = _file_system(url)
        is_file = self._call(self._fs.isfile, self._remote)
        if not is_file and not self._call(self._fs.isdir, self._remote):
            raise FileError(f"cannot open '{url}': no such file or directory", path=url)
        self._root = posixpath.dirname(self._remote.rstrip("/")) if is_file else self._remote.rstrip("/")
        self._file = posixpath.basename(self._remote) if is_file else None
        protocol = self._fs.protocol if isinstance(self._fs.protocol, str) else self._fs.protocol[0]
        name = hashlib.sha256(f"{protocol}\0{self._fs.to_json()}\0{self._root}".encode()).hexdigest()[:32]
        self._home = os.path.join(cache_folder(), name)
        self._use = _use(self._home)
        self.path = os.path.join(self._home, "files", *([self._file] if self._file else []))
        self.refresh(progress)

    def refresh(self, progress: Optional[ProgressFunction] = None) -> None:
        """Fetches what is new or has changed, and removes what is not there any more."""
        with _Lock(os.path.join(self._home, "fetch"), fcntl.LOCK_EX):
            os.utime(self._home)
            there, known = self._list(), _read_list(self._home)
            wanted = {name: entry for name, entry in there.items() if known.get(name) != entry[1]}
            self._make_room(sum(size for size, _ in there.values()))
            total, done = sum(size for size, _ in wanted.values()), 0
            for name, (size, identity) in sorted(wanted.items()):
                self._fetch(name, done, total, progress)
                known[name] = identity
                _write_list(self._home, known)
                done += size
            if not self._file:
                self._forget([name for name in known if name not in there], known)

    def _call(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """Stores have errors of their own: what comes out is one of ours."""
        try:
            return function(*arguments, **options)
        except (KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise FileError(f"cannot read '{self._url}': {error or type(error).__name__}", path=self._url) from error

    def _list(self) -> dict[str, tuple[int, str]]:
        """Names below the root with sizes, and what changes when the content does."""
        if self._file:
            return {self._file: _described(self._call(self._fs.info, self._remote))}
        found = self._call(self._fs.find, self._root, detail=True)
        names = {posixpath.relpath(path, self._root): info for path, info in found.items()}
        if not any(name.endswith(_SUFFIXES) for name in names):
            raise NotFoundError(f"no traces in '{self._url}': no files named *.json, *.json.gz, *.json.zst or *.kino")
        return {name: _described(info) for name, info in names.items() if name.endswith(_SUFFIXES) and _is_safe(name)}

    def _fetch(self, name: str, done: int, total: int, progress: Optional[ProgressFunction]) -> None:
        place = os.path.join(self._home, "files", name)
        os.makedirs(os.path.dirname(place), 0o700, exist_ok=True)
        part = os.path.join(self._home, "part")
        with self._call(self._fs.open, posixpath.join(self._root, name), "rb") as source, open(part, "wb") as target:
            while piece := self._call(source.read, _PIECE):
                target.write(piece)
                done += len(piece)
                if progress and progress(f"downloading {posixpath.basename(name)}", done, total) is False:
                    raise CancelledError("cancelled")
        os.replace(part, place)

    def _forget(self, names: list[str], known: dict[str, str]) -> None:
        for name in names:
            known.pop(name)
            place = os.path.join(self._home, "files", name)
            if os.path.exists(place):
                os.unlink(place)
        if names:
            _write_list(self._home, known)

    def _make_room(self, own: int) -> None:
        """Removes directories that nobody uses, the least recently used ones first, until ours fits with the others."""
        limit = cache_limit()
        homes = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(cache_folder()) if entry.is_dir())
        others = {path: _size_of(path) for _, path in homes if path != self._home}
        for path in list(others) if own <= limit else []:
            if own + sum(others.values()) > limit and _remove_unused(path):
                others.pop(path)
        if own + sum(others.values()) > limit:
            used = f", of which {sum(others.values())} are in use" if own <= limit else ""
            raise LimitError(f"'{self._url}' has {own} bytes, but the cache may have {limit}{used}", path=self._url,
                             hint="set KINO_CACHE_SIZE, or name fewer files")


def _use(home: str) -> _Lock:
    """Its directory, which nobody removes from now on."""
    place = os.path.join(home, "use")
    while True:
        os.makedirs(os.path.join(home, "files"), 0o700, exist_ok=True)
        try:
            lock = _Lock(place, fcntl.LOCK_SH)
        except FileNotFoundError:  # removed between the two
            continue
        if lock.is_current(place):
            return lock
        lock.close()


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as missing:
        raise UnavailableError(f"cannot open '{url}': fsspec is not installed", path=url, hint="pip install fsspec") from missing
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as wrong:
        raise UnavailableError(f"cannot open '{url}': {wrong}", path=url) from wrong
    return fs, path


def _described(info: dict[str, Any]) -> tuple[int, str]:
    marks = [_text_of(info[key]) for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "updated", "created")
             if info.get(key) is not None]
    size = int(info.get("size") or 0)
    return size, "\0".join([str(size), *marks])


def _text_of(mark: Any) -> str:
    """Times come as such from one call of a store, and as seconds from another."""
    return str(mark.timestamp() if hasattr(mark, "timestamp") else mark)


def _is_safe(name: str) -> bool:
    """Names of objects are any text: none may lead out of the cache."""
    return not name.startswith("/") and not any(part in ("", ".", "..") for part in name.split("/")) and "\0" not in name


def _read_list(home: str) -> dict[str, str]:
    try:
        with open(os.path.join(home, "list.json"), encoding="utf-8") as file:
            known: dict[str, str] = json.load(file)
    except (OSError, ValueError):
        return {}
    return {name: mark for name, mark in known.items() if os.path.exists(os.path.join(home, "files", name))}


def _write_list(home: str, known: dict[str, str]) -> None:
    part = os.path.join(home, "list.part")
    with open(part, "w", encoding="utf-8") as file:
        json.dump(known, file)
    os.replace(part, os.path.join(home, "list.json"))


def _size_of(home: str) -> int:
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(home) for name in names)


def _remove_unused(home: str) -> bool:
    try:
        with _Lock(os.path.join(home, "use"), fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(home, ignore_errors=True)
    except OSError:
        return False
    return True


def localize(paths: list[bytes], progress: Optional[ProgressFunction] = None) -> tuple[list[bytes], list[Lease]]:
    """The same paths with those of remote stores downloaded, and what keeps these in the cache."""
    leases, places = [], []
    for path in paths:
        if path.startswith(b"file://"):
            path = path[len(b"file://"):]
        if is_remote(path):
            leases.append(Lease(path.decode("utf-8", "surrogateescape"), progress))
            path = os.fsencode(leases[-1].path)
        places.append(path)
    return places, leases
