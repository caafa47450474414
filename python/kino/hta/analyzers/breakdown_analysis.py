"""Where device time goes: by kind of work, by kernel, by annotation, and what streams wait for."""
from __future__ import annotations

from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .. import _plots
from ..common.trace import Trace
from ..common.trace_filter import GPUKernelFilter
from ..common.trace_symbol_table import decode_symbol_id_to_symbol_name
from ..configs.config import logger

_KERNEL_COLUMNS = {"name": "name", "sum (us)": "sum", "max (us)": "max", "min (us)": "min", "stddev": "stddev", "mean (us)": "mean"}
_STATISTICS = {"count": "count", "mean": "mean", "std": "std", "min": "min", "25%": "p25", "50%": "p50", "75%": "p75", "max": "max"}


def _microseconds(t: Trace, values: list[Any], ranks: list[int]) -> Any:
    """Durations of the engine as HTA has them: integers only where every event of the files has a duration."""
    is_whole = all(t.store.has_whole_durations(rank) for rank in set(ranks))
    return pd.Series([value // 1000 if is_whole else value / 1000 for value in values], dtype="int64" if is_whole else "float64")


def _statistics_of_names(t: Trace, rows: list[Any]) -> Any:
    """Names with their durations in the columns that breakdowns by kernel and by annotation share."""
    ranks = t.store.ranks()  # a rank without rows decides about types, too
    frame = pd.DataFrame({"name": pd.Series([row["name"] for row in rows], dtype=str)})
    for column, ours in list(_KERNEL_COLUMNS.items())[1:]:
        values = [row[ours] for row in rows]
        is_mean = ours in ("stddev", "mean")
        frame[column] = [value / 1000 for value in values] if is_mean else _microseconds(t, values, ranks)
        if is_mean:
            frame[column] = frame[column].astype("float64")
    return frame


def _rank_type(ranks: list[int]) -> Any:
    return pd.Series(ranks, dtype="int64")


class BreakdownAnalysis:
    """The analyses as functions of a Trace; TraceAnalysis has them as methods.

    >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
    >>> len(BreakdownAnalysis.get_temporal_breakdown(analysis.t, visualize=False))
    2
    """

    @classmethod
    def get_gpu_kernel_breakdown(cls, t: Trace, visualize: bool = True, duration_ratio: float = 0.8, num_kernels: int = 10,
                                 include_memory_kernels: bool = False, image_renderer: str = "notebook") -> tuple[Any, Any]:
        """TraceAnalysis.get_gpu_kernel_breakdown.

        >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
        >>> types, kernels = BreakdownAnalysis.get_gpu_kernel_breakdown(analysis.t, visualize=False)
        >>> list(types.columns)
        ['kernel_type', 'sum', 'percentage']
        """
        params: dict[str, Any] = {"duration_ratio": duration_ratio, "num_kernels": num_kernels, "include_memory": include_memory_kernels}
        types = cls._by_type(t.store.rows("kernel-breakdown", "kernel_type", **params))
        rows = t.store.rows("kernel-breakdown", "kernel", **params)
        kernels = _statistics_of_names(t, rows)
        kernels["kernel_type"] = pd.Series([row["kernel_type"] for row in rows], dtype=str)
        kernels["rank"] = _rank_type([row["rank"] for row in rows])
        kernels = kernels.sort_values(by=["kernel_type", "name", "rank"], ignore_index=True)
        if kernels.empty:
            kernels["name"] = kernels["name"].astype(object)  # as HTA has it
        if visualize and _plots.can_draw():
            _plots.kernels(types, kernels, image_renderer)
        return types, kernels

    @staticmethod
    def _by_type(rows: list[Any]) -> Any:
        """Sums over all ranks, largest first."""
        frame = pd.DataFrame({"kernel_type": pd.Series([row["kernel_type"] for row in rows], dtype=str),
                              "sum": pd.Series([row["sum"] for row in rows], dtype="int64")})
        frame = frame.groupby("kernel_type")["sum"].agg(["sum"]).reset_index()
        frame["sum"] //= 1000  # whole us, as in HTA
        frame = frame.sort_values(by="sum", ascending=False, ignore_index=True, kind="stable")
        frame["percentage"] = (frame["sum"] / frame["sum"].sum() * 100).round(1)
        return frame

    @classmethod
    def get_gpu_kernels_with_user_annotations(cls, t: Trace, rank: int, expand_names: bool = True,
                                              shorten_names: bool = True) -> Optional[Any]:
        """TraceAnalysis.get_gpu_kernels_with_user_annotations.

        >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
        >>> "s_name" in BreakdownAnalysis.get_gpu_kernels_with_user_annotations(analysis.t, 0).columns
        True
        """
        frame = t.get_trace(rank)
        if "gpu_user_annotation" not in t.symbol_table.sym_index:
            logger.warning("Trace for rank %s does not contain any GPU user annotations", rank)
            return None
        kernels = GPUKernelFilter()(frame, t.symbol_table).copy()
        kernels["end"] = kernels["ts"] + kernels["dur"]
        found = {row["index"]: row["s_user_annotation"] for row in t.store.rows("annotated-kernels", "annotated_kernels")
                 if row["rank"] == rank}
        numbers = t.symbol_table.sym_index
        kernels["user_annotation"] = [numbers.get(found.get(index) or "", -1) for index in kernels["index"]]
        if expand_names:
            decode_symbol_id_to_symbol_name(kernels, t.symbol_table, shorten_names)
        return kernels.reset_index(drop=True)

    @classmethod
    def get_gpu_user_annotation_breakdown(cls, t: Trace, use_gpu_annotation: bool = True, visualize: bool = True,
                                          duration_ratio: float = 0.8, num_kernels: int = 1000,
                                          allowlist_patterns: Optional[list[str]] = None,
                                          image_renderer: Optional[str] = None) -> Optional[Any]:
        """TraceAnalysis.get_gpu_user_annotation_breakdown.

        >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
        >>> frame = BreakdownAnalysis.get_gpu_user_annotation_breakdown(analysis.t, use_gpu_annotation=False, visualize=False)
        >>> frame.columns[-1]
        'rank'
        """
        rows = t.store.rows("annotation-breakdown", "annotations", use_gpu=use_gpu_annotation, duration_ratio=duration_ratio,
                            num=num_kernels, allow=allowlist_patterns)
        if not rows and not cls._has_category(t, "gpu_user_annotation" if use_gpu_annotation else "user_annotation"):
            return None
        frame = _statistics_of_names(t, rows)
        frame["rank"] = _rank_type([row["rank"] for row in rows])
        frame = frame.sort_values(by=["rank", "name"], ignore_index=True)
        if visualize and _plots.can_draw():
            _plots.annotation_breakdown(frame, image_renderer)
        return frame

    @staticmethod
    def _has_category(t: Trace, category: str) -> bool:
        return any(len(run.query("SELECT 1 FROM event WHERE cat = ? AND dur IS NOT NULL LIMIT 1", category)) for _, run in t.store.open())

    @classmethod
    def get_temporal_breakdown(cls, t: Trace, visualize: bool = True) -> Any:
        """TraceAnalysis.get_temporal_breakdown.

        >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
        >>> BreakdownAnalysis.get_temporal_breakdown(analysis.t, visualize=False)["rank"].tolist()
        [0, 1]
        """
        rows = t.store.rows("temporal-breakdown", "temporal_breakdown")
        ranks = [row["rank"] for row in rows]
        frame = pd.DataFrame({"rank": _rank_type(ranks)})
        for name in ("idle_time", "compute_time", "non_compute_time", "kernel_time"):
            frame[f"{name}(us)"] = _microseconds(t, [row[name] for row in rows], ranks)
        for name in ("idle_time", "compute_time", "non_compute_time"):
            frame[f"{name}_pctg"] = (100 * (frame[f"{name}(us)"] / frame["kernel_time(us)"])).round(2)
        if visualize and _plots.can_draw():
            _plots.temporal(frame)
        return frame

    @classmethod
    def get_idle_time_breakdown(cls, t: Trace, consecutive_kernel_delay: int, rank: int = 0, streams: Optional[list[int]] = None,
                                visualize: bool = True, visualize_pctg: bool = True,
                                show_idle_interval_stats: bool = False) -> tuple[Any, Optional[Any]]:
        """TraceAnalysis.get_idle_time_breakdown of one rank.

        >>> from kino.hta.analyzers.breakdown_analysis import BreakdownAnalysis
        >>> idle, stats = BreakdownAnalysis.get_idle_time_breakdown(analysis.t, 30, visualize=False)
        >>> list(idle.columns)
        ['rank', 'stream', 'idle_category', 'idle_time', 'idle_time_ratio']
        """
        if rank not in t.store.files:
            raise ValueError(f"no trace for rank {rank}")
        delay = round(consecutive_kernel_delay * 1000)
        params: dict[str, Any] = {"streams": streams or None, "delay": delay, "stats": show_idle_interval_stats}
        kind = t.store.stream_type([rank])
        frame = cls._idle_frame([row for row in t.store.rows("idle-time", "idle", **params) if row["rank"] == rank], streams, kind)
        if visualize and _plots.can_draw():
            _plots.idle(frame, rank, visualize_pctg)
        if not show_idle_interval_stats:
            return frame, None
        rows = [row for row in t.store.rows("idle-time", "interval_stats", **params) if row["rank"] == rank]
        return frame, cls._interval_frame(rows, kind)

    @staticmethod
    def _idle_frame(rows: list[Any], streams: Optional[list[int]], kind: str) -> Any:
        if streams:
            rows = sorted(rows, key=lambda row: streams.index(row["stream"]))
        times = pd.Series([row["idle_time"] / 1000 for row in rows], dtype="float64")
        by_stream = pd.Series([row["stream"] for row in rows], dtype=kind)
        totals = times.groupby(by_stream).transform("sum")
        return pd.DataFrame({"rank": _rank_type([row["rank"] for row in rows]), "stream": by_stream,
                             "idle_category": pd.Series([row["idle_category"] for row in rows], dtype=str),
                             "idle_time": times.round(2), "idle_time_ratio": (times / totals).round(2)})

    @staticmethod
    def _interval_frame(rows: list[Any], kind: str) -> Any:
        frame = pd.DataFrame({"rank": [row["rank"] for row in rows], "stream": [row["stream"] for row in rows]},
                             index=pd.Index([row["idle_category"] for row in rows], name="idle_category"), dtype="int64")
        frame["stream"] = frame["stream"].astype(kind)
        for column, ours in _STATISTICS.items():
            scale = 1 if ours == "count" else 1000
            values = [None if row[ours] is None else row[ours] / scale for row in rows]
            frame[column] = pd.Series(values, index=frame.index, dtype="float64").round(2).to_numpy()
        return frame
