"""Ranks that come late."""
from __future__ import annotations

from typing import Any, Callable, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.trace import Trace
from .straggler import find_stragglers_with_late_start_comm_kernels


class StragglerAnalysis:
    """The analyses as functions of a Trace.

    >>> from kino.hta.analyzers.straggler_analysis import StragglerAnalysis
    >>> StragglerAnalysis.get_profiler_steps(analysis.t)
    [2, 3, 4]
    """

    @classmethod
    def get_profiler_steps(cls, t: Trace) -> list[int]:
        """TraceAnalysis.get_profiler_steps.

        >>> from kino.hta.analyzers.straggler_analysis import StragglerAnalysis
        >>> StragglerAnalysis.get_profiler_steps(analysis.t)
        [2, 3, 4]
        """
        return sorted({row["step"] for row in t.store.rows("steps", "steps") if row["step"] != -1})

    @classmethod
    def get_potential_stragglers(cls, t: Trace, profiler_steps: Optional[list[int]] = None, num_candidates: int = 2,
                                 visualize: bool = False,
                                 straggler_identification_impl: Callable[..., Any] = find_stragglers_with_late_start_comm_kernels
                                 ) -> list[int]:
        """TraceAnalysis.get_potential_stragglers.

        >>> from kino.hta.analyzers.straggler_analysis import StragglerAnalysis
        >>> StragglerAnalysis.get_potential_stragglers(analysis.t, [99])
        Traceback (most recent call last):
        ...
        ValueError: invalid value for argument: profiler_steps=[99]; available profiler steps=[2, 3, 4]
        """
        available = cls.get_profiler_steps(t)
        steps = available if profiler_steps is None else [step for step in profiler_steps if step in available]
        if not steps:
            raise ValueError(f"invalid value for argument: profiler_steps={profiler_steps}; available profiler steps={available}")
        frames = t.get_all_traces()
        rows = pd.concat(list(frames.values()), keys=list(frames), names=["rank", "idx"]).reset_index()
        wanted = max(num_candidates, 1)
        late = straggler_identification_impl(rows.loc[rows["iteration"].isin(steps)], t.symbol_table, wanted, visualize)
        chosen: list[int] = late.sort_values(ascending=False, kind="stable")[:wanted].index.tolist()
        return chosen
