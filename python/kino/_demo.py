"""A run to try things on."""
from __future__ import annotations

import os
from typing import Optional

from . import _engine
from ._progress import Progress, shown
from ._values import PathLike, Size, size_in_bytes


def demo(path: PathLike, *, ranks: Optional[int] = None, steps: Optional[int] = None, size: Optional[Size] = None,
         seed: int = 1, suffix: str = ".json", plant: Optional[str] = None, strength: int = 0,
         truth: Optional[PathLike] = None, progress: Progress = None) -> str:
    """Writes a realistic training run into a directory, one trace per rank, and gives its path. The same values give the
    same bytes. ``size`` is about how much JSON a rank gets; ``plant`` hides a known problem in it (kino-demo(1)).

    >>> kino.demo("another-run", ranks=1, steps=2)
    'another-run'
    """
    place = os.fsencode(path)
    default_ranks, default_steps = (0, 0) if plant else (4, 6)
    with shown(progress) as report:
        _engine.demo(place, default_ranks if ranks is None else ranks, default_steps if steps is None else steps,
                     size_in_bytes(size), seed, suffix, plant, strength,
                     None if truth is None else os.fsdecode(truth), report)
    return os.fsdecode(place)


def formats() -> dict[str, str]:
    """The formats that Run.convert writes, each with what it is.

    >>> "kino" in kino.formats()
    True
    """
    return {name: text for name, _, text in _engine.formats()}
