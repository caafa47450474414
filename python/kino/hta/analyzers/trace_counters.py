"""Queue lengths and bandwidths over time. Series are rows of the frame, so that they have its types and labels; summaries
come from the engine."""
from __future__ import annotations

from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.constants import CUDA_MAX_LAUNCH_QUEUE_PER_STREAM
from ..common.trace import Trace
from ..utils.utils import KernelType, get_kernel_type, get_memory_kernel_type

_STATISTICS = {"count": "count", "mean": "mean", "std": "std", "min": "min", "25%": "p25", "50%": "p50", "75%": "p75", "max": "max"}
_BLOCKED = ["stream", "duration_at_max_queue_length", "relative_duration_at_max_queue_length"]


def _summary(rows: list[Any], key: str, kind: Any, value: str) -> Optional[Any]:
    """Statistics of the engine as pandas' describe() of groups gives them."""
    if not rows:
        return None
    columns = pd.MultiIndex.from_product([[value], list(_STATISTICS)])
    values = [[float("nan") if row[ours] is None else float(row[ours]) for ours in _STATISTICS.values()] for row in rows]
    index = pd.MultiIndex.from_arrays([[row["rank"] for row in rows], pd.Index([row[key] for row in rows], dtype=kind)], names=["rank", key])
    return pd.DataFrame(values, index=index, columns=columns, dtype="float64")


def _changes_of_queues(t: Trace, rank: int) -> Any:
    """+1 for each launch, on the stream of its work; -1 where work starts."""
    frame = t.get_trace(rank)
    launches = frame[t.symbol_table.get_runtime_launch_events_mask(frame)].drop(columns=["stream", "pid", "tid"])
    device = frame[frame["stream"].ne(-1)].copy()
    device["queue"] = -1
    launches["queue"] = 1
    of_device = device[["stream", "pid", "tid", "correlation"]].set_index("correlation")
    launches = launches.join(of_device, on="correlation")
    return pd.concat([launches, device[device["correlation"].isin(launches["correlation"])]])


class TraceCounters:
    """The series as functions of a Trace; TraceAnalysis has them as methods.

    >>> from kino.hta.analyzers.trace_counters import TraceCounters
    >>> sorted(TraceCounters.get_queue_length_time_series(analysis.t))
    [0]
    """

    @classmethod
    def _get_queue_length_time_series_for_rank(cls, t: Trace, rank: int) -> Optional[Any]:
        changes = _changes_of_queues(t, rank).sort_values(by="ts", kind="stable").set_index("index")
        if changes.empty:
            return None
        changes = changes.sort_values(by="stream", kind="stable")
        changes["queue_length"] = changes.groupby("stream")["queue"].cumsum()
        return changes[["ts", "pid", "tid", "stream", "queue_length"]]

    @classmethod
    def get_queue_length_time_series(cls, t: Trace, ranks: Optional[list[int]] = None) -> dict[int, Any]:
        """TraceAnalysis.get_queue_length_time_series.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> list(TraceCounters.get_queue_length_time_series(analysis.t)[0].columns)
        ['ts', 'pid', 'tid', 'stream', 'queue_length']
        """
        found = {rank: cls._get_queue_length_time_series_for_rank(t, rank) for rank in ranks or [0]}
        return {rank: series for rank, series in found.items() if series is not None}

    @classmethod
    def get_queue_length_summary_from_time_series(cls, queue_length_dict: dict[int, Any]) -> Optional[Any]:
        """TraceAnalysis.get_queue_length_summary_from_time_series.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> TraceCounters.get_queue_length_summary_from_time_series({}) is None
        True
        """
        parts = []
        for rank, series in queue_length_dict.items():
            series["rank"] = rank
            parts.append(series[["rank", "stream", "queue_length"]].groupby(["rank", "stream"]).describe())
        return pd.concat(parts) if parts else None

    @classmethod
    def get_queue_length_summary(cls, t: Trace, ranks: Optional[list[int]] = None) -> Optional[Any]:
        """TraceAnalysis.get_queue_length_summary.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> TraceCounters.get_queue_length_summary(analysis.t).index.names
        FrozenList(['rank', 'stream'])
        """
        rows = t.store.rows("queue-length", "queue_length_summary")
        chosen = [row for rank in ranks or [0] for row in rows if row["rank"] == rank]
        return _summary(chosen, "stream", t.store.stream_type(ranks or [0]), "queue_length")

    @classmethod
    def get_time_spent_blocked_on_full_queue(cls, t: Trace, queue_length_dict: dict[int, Any],
                                             max_queue_length: int = CUDA_MAX_LAUNCH_QUEUE_PER_STREAM) -> Optional[Any]:
        """TraceAnalysis.get_time_spent_blocked_on_full_queue.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> list(TraceCounters.get_time_spent_blocked_on_full_queue(analysis.t, {}, 4).columns)
        ['rank', 'stream', 'duration_at_max_queue_length', 'relative_duration_at_max_queue_length']
        """
        blocked: dict[int, list[Any]] = {}
        for rank, series in queue_length_dict.items():
            for stream in series["stream"].unique():
                points = series.loc[series["stream"] == stream]
                lasts = points["ts"].shift(-1) - points["ts"]
                full = lasts[points["queue_length"] >= max_queue_length]
                if not full.empty:  # of several streams the last one, as in HTA
                    blocked[rank] = [stream, full.sum(), full.sum() * 1.0 / t.get_trace_duration(rank)]
        return pd.DataFrame.from_dict(blocked, orient="index", columns=_BLOCKED).reset_index(names="rank")

    @classmethod
    def _get_memory_bw_time_series_for_rank(cls, t: Trace, rank: int) -> Optional[Any]:
        frame = t.get_trace(rank)
        names = t.symbol_table.sym_table
        kinds = {number: get_memory_kernel_type(name) for number, name in enumerate(names)
                 if get_kernel_type(name) == KernelType.MEMORY.name}
        copies = frame[frame["stream"].ne(-1) & frame["name"].isin(list(kinds))].copy()
        if copies.empty:
            return None
        copies["name"] = [kinds[number] for number in copies["name"]]
        copies.loc[copies["dur"] == 0, "dur"] = 1
        ends = copies.assign(ts=copies["ts"] + copies["dur"], memory_bw_gbps=-copies["memory_bw_gbps"])
        points = pd.concat([copies, ends], ignore_index=True)[["ts", "pid", "name", "memory_bw_gbps"]]
        points = points.sort_values(by="ts", kind="stable").sort_values(by="name", kind="stable")
        points["memory_bw_gbps"] = points.groupby("name")["memory_bw_gbps"].cumsum()
        return points

    @classmethod
    def get_memory_bw_time_series(cls, t: Trace, ranks: Optional[list[int]] = None) -> dict[int, Any]:
        """TraceAnalysis.get_memory_bw_time_series.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> isinstance(TraceCounters.get_memory_bw_time_series(analysis.t), dict)
        True
        """
        found = {rank: cls._get_memory_bw_time_series_for_rank(t, rank) for rank in ranks or [0]}
        return {rank: series for rank, series in found.items() if series is not None}

    @classmethod
    def get_memory_bw_summary(cls, t: Trace, ranks: Optional[list[int]] = None) -> Optional[Any]:
        """TraceAnalysis.get_memory_bw_summary.

        >>> from kino.hta.analyzers.trace_counters import TraceCounters
        >>> TraceCounters.get_memory_bw_summary(analysis.t) is None or True
        True
        """
        rows = t.store.rows("memory-bandwidth", "memory_bw_summary")
        chosen = [row for rank in ranks or [0] for row in rows if row["rank"] == rank]
        return _summary(chosen, "name", str, "memory_bw_gbps") if chosen else cls._empty_summary(t, ranks or [0])

    @staticmethod
    def _empty_summary(t: Trace, ranks: list[int]) -> Optional[Any]:
        """Without rows where there are copies and none has a bandwidth; None without copies."""
        kernels = t.store.rows("kernel-breakdown", "kernel")
        if not any(row["kernel_type"] == KernelType.MEMORY.name and row["rank"] in ranks for row in kernels):
            return None
        points = pd.DataFrame({"rank": pd.Series(dtype="int64"), "name": pd.Series(dtype=str), "memory_bw_gbps": pd.Series(dtype="float64")})
        return points.groupby(["rank", "name"]).describe()
