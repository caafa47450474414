"""How much of communication hides behind computation."""
from __future__ import annotations

from typing import Any

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .. import _plots
from ..common.trace import Trace


class CommunicationAnalysis:
    """The analysis as a function of a Trace.

    >>> from kino.hta.analyzers.communication_analysis import CommunicationAnalysis
    >>> len(CommunicationAnalysis.get_comm_comp_overlap(analysis.t, visualize=False))
    2
    """

    @classmethod
    def get_comm_comp_overlap(cls, t: Trace, visualize: bool = True) -> Any:
        """TraceAnalysis.get_comm_comp_overlap.

        >>> from kino.hta.analyzers.communication_analysis import CommunicationAnalysis
        >>> list(CommunicationAnalysis.get_comm_comp_overlap(analysis.t, visualize=False).columns)
        ['rank', 'comp_comm_overlap_pctg']
        """
        rows = {row["rank"]: row for row in t.store.rows("comm-overlap", "comm_comp_overlap")}
        ranks = t.store.ranks()
        shares = []
        for rank in ranks:
            total = rows[rank]["communication"] if rank in rows else 0
            shares.append(rows[rank]["overlap"] / total if total else float("nan"))
        frame = pd.DataFrame({"rank": pd.Series(ranks, dtype="int64"),
                              "comp_comm_overlap_pctg": (100 * pd.Series(shares, dtype="float64")).round(2)})
        if visualize and _plots.can_draw():
            _plots.overlap(frame)
        return frame
