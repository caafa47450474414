"""How far long work is: a bar on terminals and in notebooks, without tqdm."""
from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

#: Called with what is being done, how much is done, and of how much (0: unknown). False stops the work.
ProgressFunction = Callable[[str, int, int], Optional[bool]]
#: None: a bar where somebody can see it. True, False: always, never. Or a function.
Progress = Union[None, bool, ProgressFunction]

_SILENCE = 0.5  # seconds
_WIDTH = 30


def _notebook_display() -> Optional[Any]:
    """IPython's display function inside a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
    return display


class Bar:
    """Draws nothing in the first half second, and leaves nothing behind."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._is_drawn = False
        self._display = _notebook_display()
        self._handle: Any = None

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._begin >= _SILENCE:
            if self._display:
                self._show(what, done, total)
            else:
                self._draw(what, done, total)
            self._is_drawn = True

    def _draw(self, what: str, done: int, total: int) -> None:
        filled = min(_WIDTH, done * _WIDTH // total) if total else 0
        bar = "█" * filled + "·" * (_WIDTH - filled) if total else ""
        percent = f" {min(100, done * 100 // total):3} %" if total else ""
        print(f"\r{what} {bar}{percent}\033[K", end="", file=sys.stderr, flush=True)

    def _show(self, what: str, done: int, total: int) -> None:
        from html import escape
        value = f' value="{done}" max="{total}"' if total else ""
        markup = {"text/html": f"<progress{value}></progress> {escape(what)}", "text/plain": what}
        if self._handle is None:
            assert self._display
            self._handle = self._display(markup, raw=True, display_id=True)
        elif self._handle is not None:
            self._handle.update(markup, raw=True)

    def close(self) -> None:
        if self._is_drawn and self._handle is not None:
            self._handle.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._is_drawn and not self._display:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _is_seen() -> bool:
    try:
        return _notebook_display() is not None or sys.stderr.isatty()
    except (AttributeError, ValueError):  # no standard error, or closed
        return False


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Optional[ProgressFunction]]:
    """The function for the engine to call while it works."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not _is_seen()):
        yield None
    else:
        bar = Bar()
        try:
            yield bar
        finally:
            bar.close()
