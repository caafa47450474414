"""Ranks that come late: the start of one long collective, by rank and step."""
from __future__ import annotations

import re
from typing import Any

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .. import _plots
from ..common.trace import Trace
from ..common.trace_symbol_table import TraceSymbolTable

_STEP = re.compile(r"ProfilerStep\s*#\s*(\d+)")
METRIC = "normalized_start_time"


def extract_iteration_info(trace: Trace) -> Any:
    """The steps of all ranks: rank, iter, ts, dur, end.

    >>> from kino.hta.analyzers.straggler import extract_iteration_info
    >>> list(extract_iteration_info(analysis.t).columns)
    ['rank', 'iter', 'ts', 'dur', 'end']
    """
    names = {number: _STEP.match(text) for text, number in trace.symbol_table.sym_index.items() if text.startswith("ProfilerStep")}
    parts = []
    for rank, frame in trace.get_all_traces().items():
        steps = frame.loc[frame["name"].isin(list(names)), ["name", "ts", "dur"]]
        numbers = [int(found[1]) if (found := names[number]) else -1 for number in steps["name"]]
        parts.append(pd.DataFrame({"rank": rank, "iter": numbers, "ts": steps["ts"].to_numpy(), "dur": steps["dur"].to_numpy(),
                                   "end": (steps["ts"] + steps["dur"]).to_numpy()}))
    return pd.concat(parts, ignore_index=True)


def _long_collectives(df: Any, symbol_table: TraceSymbolTable, shortest: float) -> Any:
    """The last long one of each rank, stream, step and name, measured in steps."""
    names = [number for text, number in symbol_table.sym_index.items() if text.startswith("ncclKernel")]
    start, steps = df["ts"].min(), df["iteration"].nunique()
    step_time = ((df["ts"] + df["dur"]).max() - start) / float(steps)
    is_long = (df["stream"] > 0) & (df["iteration"] > 0) & (df["dur"] >= shortest * step_time) & df["name"].isin(names)
    last = df.loc[is_long].groupby(["rank", "stream", "iteration", "name"], as_index=False).last()
    if last.empty:
        raise ValueError("no kernel named ncclKernel* is long enough to compare ranks by; kino.open(...).stragglers() knows others")
    last[METRIC] = (last["ts"] - start) / step_time
    last["duration"] = last["dur"] / step_time
    return last


def _compute_normalized_start_time_of_significant_comm_kernels(
        df: Any, symbol_table: TraceSymbolTable, visualize: bool = False, min_normalized_duration: float = 0.01) -> tuple[Any, str]:
    """The collective whose duration differs most between ranks, and the column to compare."""
    last = _long_collectives(df, symbol_table, min_normalized_duration)
    spread = last.groupby(["stream", "iteration", "name"])["duration"].std().groupby(["stream", "name"]).mean()
    stream, name = spread.idxmax()
    return last.loc[last["stream"].eq(stream) & last["name"].eq(name)], METRIC


def _get_top_k_stragglers_with_metric(metric_df: Any, metric_name: str, n_stragglers: int = 2, visualize: bool = False) -> Any:
    """By rank: in how many steps it was among the last ones."""
    wanted = max(n_stragglers, 1)
    has_steps = "iteration" in metric_df.columns and metric_df["iteration"].nunique() > 1
    metric = metric_df[["rank", *(["iteration"] if has_steps else []), metric_name]].copy()
    of_step = metric.groupby("iteration")[metric_name] if has_steps else metric.groupby(lambda _: 0)[metric_name]
    if (of_step.size() < wanted).any():
        raise IndexError(f"there are fewer than {wanted} ranks to compare")
    thresholds = of_step.transform(lambda values: sorted(values, reverse=True)[wanted - 1])
    metric["is_straggler"] = (metric[metric_name] >= thresholds).astype("int64")
    if has_steps:
        metric.loc[metric["iteration"] < 0, "is_straggler"] = 0
    if visualize and _plots.can_draw():
        _plots.stragglers(metric, metric_name)
    by_rank = metric.groupby("rank")["is_straggler"].sum() if has_steps else metric.set_index("rank")["is_straggler"]
    return by_rank


def find_stragglers_with_late_start_comm_kernels(df: Any, symbol_table: TraceSymbolTable, n_stragglers: int = 2,
                                                 visualize: bool = False) -> Any:
    """By rank: in how many steps it was among the last ones to start the collective that differs most.

    >>> from kino.hta.analyzers.straggler import find_stragglers_with_late_start_comm_kernels
    >>> callable(find_stragglers_with_late_start_comm_kernels)
    True
    """
    metric, name = _compute_normalized_start_time_of_significant_comm_kernels(df, symbol_table, visualize)
    return _get_top_k_stragglers_with_metric(metric, name, n_stragglers, visualize)
