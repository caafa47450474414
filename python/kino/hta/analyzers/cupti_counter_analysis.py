"""Hardware counters of kernels, with the operators that launched them."""
from __future__ import annotations

from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.trace import Trace
from ..common.trace_call_graph import CallGraph
from ..configs.config import logger

#: Floating point operations of an instruction that a counter counts.
CUDA_SASS_INSTRUCTION_COUNTER_FLOPS: dict[str, float] = {
    f"smsp__sass_thread_inst_executed_op_{kind}{operation}_pred_on.sum": 2 if operation == "fma" else 1
    for kind in "fhd" for operation in ("fma", "mul", "add")}
_NUMBER = 0xffffffff


class CuptiCounterAnalysis:
    """The analysis as a function of a Trace.

    >>> from kino.hta.analyzers.cupti_counter_analysis import CuptiCounterAnalysis
    >>> CuptiCounterAnalysis.get_counter_data_with_operators(analysis.t)
    []
    """

    cuda_profiler_cat = "cuda_profiler_range"

    @classmethod
    def get_counter_data_with_operators(cls, t: Trace, ranks: Optional[list[int]] = None) -> list[Any]:
        """TraceAnalysis.get_cupti_counter_data_with_operators.

        >>> from kino.hta.analyzers.cupti_counter_analysis import CuptiCounterAnalysis
        >>> CuptiCounterAnalysis.get_counter_data_with_operators(analysis.t, ranks=[1])
        []
        """
        rows = t.store.rows("cupti-counters", "counters_by_kernel", takes_last_step=False)
        if not rows:
            logger.warning("Could not find events of 'cuda_profiler_range' category that belong to launches")
            return []
        CallGraph(t, ranks or [0])  # for its columns, which the frames of HTA have, too
        frames = [cls._frame(t, rank, [row for row in rows if row["rank"] == rank]) for rank in ranks or [0]]
        return [frame for frame in frames if not frame.empty]

    @classmethod
    def _frame(cls, t: Trace, rank: int, rows: list[Any]) -> Any:
        by_place = {row["event"] & _NUMBER: row for row in rows}
        frame = t.get_trace(rank)
        kernels = frame[frame["index"].isin(list(by_place))].sort_values("ts", kind="stable").reset_index(drop=True)
        found = [by_place[place] for place in kernels["index"]]
        kernels = kernels.drop(columns=["s_name", "s_cat"], errors="ignore")
        t.symbol_table.decode_df(kernels, create_new_columns=False)
        launches = [row["launch_event"] & _NUMBER for row in found]
        kernels["index_runtime"] = pd.Series(launches, dtype=frame["index"].dtype)
        kernels["op_stack"] = [row["op_stack"].split(" -> ") if row["op_stack"] else [] for row in found]
        for column in ("top_level_op", "bottom_level_op"):
            kernels[column] = [row[column] or "" for row in found]
        return kernels
