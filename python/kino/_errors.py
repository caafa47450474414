"""What can go wrong, as exceptions: one class for each kind of failure of the engine, all of them kino.Error."""
from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Optional


class Error(Exception):
    """A failure of the engine.

    ``code`` is its kind in one word, ``path`` the file it is about, ``offset`` the byte in that file (or in the SQL
    statement), ``hint`` what to do about it; each is None where it is not known.

    >>> import kino
    >>> try:
    ...     kino.open("no-such-trace.json")
    ... except kino.Error as error:
    ...     print(error.code, error.path)
    io no-such-trace.json
    """

    code: str = "error"

    def __init__(self, message: str = "", *, path: Optional[str] = None, offset: Optional[int] = None,
                 hint: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.hint = hint

    def __str__(self) -> str:
        text = self.message
        if self.offset is not None:
            text += f" (byte {self.offset})"
        is_new = self.hint and self.hint not in text
        return f"{text}\nhint: {self.hint}" if is_new else text


class OutOfMemoryError(Error, MemoryError):
    """Memory is out.

    >>> import kino
    >>> issubclass(kino.OutOfMemoryError, MemoryError)
    True
    """

    code = "nomem"


class FormatError(Error, ValueError):
    """The input is not in the expected format.

    >>> import kino, pathlib
    >>> _ = pathlib.Path("not-a-trace.json").write_text("hello")
    >>> try:
    ...     kino.open("not-a-trace.json")
    ... except kino.FormatError as error:
    ...     print(error.path, error.offset)
    not-a-trace.json 0
    """

    code = "format"


class FileError(Error, OSError):
    """Reading or writing failed.

    >>> import kino
    >>> try:
    ...     kino.open("no-such-trace.json")
    ... except OSError as error:
    ...     print(type(error).__name__)
    FileError
    """

    code = "io"

    def __init__(self, message: str = "", *, path: Optional[str] = None, offset: Optional[int] = None,
                 hint: Optional[str] = None) -> None:
        Error.__init__(self, message, path=path, offset=offset, hint=hint)
        self.filename = path


class ArgumentError(Error, ValueError):
    """A value is not valid.

    >>> try:
    ...     run.idle_time(delay="soon")
    ... except kino.ArgumentError as error:
    ...     print(error.message.split(" (")[0])
    invalid value 'soon' for parameter 'delay' of 'idle-time'
    """

    code = "argument"


class LimitError(Error):
    """A limit was reached: of time, of memory, of what a file may become.

    >>> try:
    ...     run.query("SELECT count(*) FROM event a, event b, event c", timeout=0.01)
    ... except kino.LimitError as error:
    ...     print(error.code)
    limit
    """

    code = "limit"


class CancelledError(Error):
    """The progress function asked to stop (Ctrl-C raises KeyboardInterrupt).

    >>> import kino
    >>> kino.CancelledError.code
    'cancelled'
    """

    code = "cancelled"


class NotFoundError(Error, LookupError):
    """There is no such analysis, rank, trace or column.

    >>> try:
    ...     run.analyze("idle-tim")
    ... except kino.NotFoundError as error:
    ...     print(error.hint)
    did you mean 'idle-time'?
    """

    code = "not-found"


class SqlError(Error):
    """The SQL statement failed; ``offset`` is the byte of it that is to blame.

    >>> try:
    ...     run.query("SELECT nme FROM event")
    ... except kino.SqlError as error:
    ...     print(error.offset, error.message)
    7 no such column: nme
    """

    code = "sql"


class UnavailableError(Error):
    """Not available in this build or for this input.

    >>> import kino
    >>> kino.UnavailableError.code
    'unavailable'
    """

    code = "unavailable"


# By the engine's status numbers, which never change.
_CLASSES: dict[int, type[Error]] = {1: OutOfMemoryError, 2: FormatError, 3: FileError, 4: ArgumentError, 5: LimitError,
                                    6: CancelledError, 7: NotFoundError, 8: SqlError, 9: UnavailableError}


def _keyword(code: str, subject: str, value: str) -> Optional[str]:
    """What to pass, as Python writes it: `run=NAME`."""
    if code not in ("option", "parameter"):
        return None
    return f"{subject}={'True' if value == 'yes' and code == 'option' else value or '...'}"


def error_of(status: int, message: str, offset: Optional[int], path: Optional[str], code: str, subject: str,
             value: str) -> Error:
    """The exception for a failure of the engine, with its hint; called by it."""
    kind = _CLASSES.get(status, Error)
    return kind(message, path=path, offset=offset, hint=_keyword(code, subject, value))


def nearest(name: str, names: Iterable[str]) -> Optional[str]:
    """The name that was probably meant."""
    found = difflib.get_close_matches(name, list(names), 1, 0.5)
    return found[0] if found else None
