"""Two runs side by side."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Optional, Union

from . import _engine
from ._progress import Progress, shown
from ._run import Run, open as open_run
from ._table import Result
from ._values import PathLike, text_list

#: A run, a path, or several of them, which count by their medians.
Side = Union[Run, PathLike, Iterable[Union[Run, PathLike]]]


class Diff(Result):
    """The answer of kino.diff: tables diff_steps, diff_ops, diff_kernels and others, and a few sentences about them.

    >>> kino.diff("demo-run", "demo-run").diff_steps.name
    'diff_steps'
    """

    @property
    def summary(self) -> str:
        """What changed, in a few sentences.

        >>> len(kino.diff("demo-run", "demo-run").summary) > 0
        True
        """
        return _engine.diff_summary(self._result, "table").strip()

    @property
    def failures(self) -> list[Any]:
        """The checks of ``fail_on`` that do not hold.

        >>> kino.diff("demo-run", "demo-run", fail_on="step_time>5%").failures
        []
        """
        checks = self.tables.get("diff_checks")
        return [row for row in checks if not row.passed] if checks is not None else []

    @property
    def passed(self) -> bool:
        """Do all checks of ``fail_on`` hold?

        >>> kino.diff("demo-run", "demo-run", fail_on=["step_time>5%"]).passed
        True
        """
        return not self.failures

    def __str__(self) -> str:
        return f"{self.summary}\n\n{super().__str__()}"


def _runs(side: Side, progress: Progress) -> list[Run]:
    if isinstance(side, Run):
        return [side]
    if isinstance(side, (str, bytes, os.PathLike)):
        return [open_run(side, progress=progress)]
    return [run for one in side for run in _runs(one, progress)]


def diff(a: Side, b: Side, *, fail_on: Union[None, str, Iterable[str]] = None, compat: Optional[str] = None,
         tree: bool = False, tree_ops: bool = False, jobs: int = 0, progress: Progress = None) -> Diff:
    """Compares two runs, or several on each side by their medians: the time of a step and its parts, operators and
    kernels with the largest change first. ``fail_on`` are expressions such as "step_time>5%" or "kernel>2%&>30us"; what
    does not hold is in ``failures``.

    >>> kino.diff(run, ["demo-run", "demo-run"]).passed
    True
    """
    left, right = _runs(a, progress), _runs(b, progress)
    with shown(progress) as report:
        return Diff(_engine.diff([run._engine for run in left], [run._engine for run in right], compat, tree, tree_ops,
                                 text_list(fail_on), jobs, report))
