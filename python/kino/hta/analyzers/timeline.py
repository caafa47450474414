"""Timelines of the kernels of ranks as plotly charts: one lane per rank and stream."""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .._needs import need
from ..common.timeline import visible_lengths
from ..common.trace import Trace
from ..common.trace_symbol_table import TraceSymbolTable

try:
    import plotly.express as px  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError:  # only drawing needs it
    px = None

_NEEDED = ["calibrated_start_global", "calibrated_end_global", "task", "label"]
_HOVER = {"rank", "stream", "iteration", "s_cat", "cat", "s_name", "name", "dur"}
_LEFT_OUT = [r"\(.+\)", r"<[^<]+>?", r"^void\s+", r"\s+", r"autograd::engine::evaluate_function"]


def plot_timeline(title: str, events: Any, ranks: Optional[list[int]] = None) -> None:
    """Draws events that prepare_timeline_gpu_events gave; needs plotly.

    >>> import pandas
    >>> from kino.hta.analyzers.timeline import plot_timeline
    >>> plot_timeline("kernels", pandas.DataFrame({"task": []}))
    Traceback (most recent call last):
    ...
    ValueError: the DataFrame has no column named calibrated_end_global, calibrated_start_global, label
    """
    missing = set(_NEEDED) - set(events.columns)
    if missing:
        raise ValueError(f"the DataFrame has no column named {', '.join(sorted(missing))}")
    if ranks is None:
        ranks = sorted(events["rank"].unique()) if "rank" in events.columns else []
    express = px or need("plotly.express", "a timeline")
    express.timeline(events, x_start="calibrated_start_global", x_end="calibrated_end_global", y="task", color="label", title=title,
                     hover_data=sorted(_HOVER & set(events.columns)), category_orders={"task": sorted(events["task"].unique())},
                     color_discrete_sequence=express.colors.qualitative.D3, width=1600, height=200 + 120 * len(ranks)).show()


def _get_unique_values(df: Any, col: str, exclude_values: Sequence[int] = (-1,)) -> list[int]:
    if col not in df:
        raise ValueError(f"the DataFrame has no column named {col}")
    return sorted(set(df[col].unique().tolist()) - set(exclude_values))


def _simplify_name(name: str) -> str:
    """Without parameters, template arguments, return type and blanks; long names are cut."""
    for pattern in _LEFT_OUT:
        name = re.sub(pattern, "", name)
    return name if len(name) < 45 else f"{name[:42]}..."


def prepare_timeline_gpu_events(df: Any, symbol_table: TraceSymbolTable, ranks: Optional[list[int]] = None,
                                iterations: Optional[list[int]] = None, streams: Optional[list[int]] = None,
                                duration_threshold: int = 1000) -> Any:
    """The frame that plot_timeline draws: device events of ranks, steps and streams (all where none are given) with their
    lanes and dates; events below ``duration_threshold`` us get that length.

    >>> from kino.hta.analyzers.timeline import prepare_timeline_gpu_events
    >>> frame = analysis.t.get_trace(0).assign(rank=0)
    >>> prepare_timeline_gpu_events(frame, analysis.t.symbol_table, streams=[7])["task"].unique().tolist()
    ['rank 0 stream 7']
    """
    missing = {"iteration", "name", "cat", "rank", "stream", "ts"} - set(df.columns)
    if missing:
        raise ValueError(f"the DataFrame has no column named {', '.join(sorted(missing))}")
    is_chosen = pd.Series(True, index=df.index)
    for column, chosen in (("rank", ranks), ("iteration", iterations), ("stream", streams)):
        is_chosen &= df[column].isin(_get_unique_values(df, column) if chosen is None else chosen)
    events = df[is_chosen].copy()
    texts = symbol_table.get_sym_table()
    events["s_name"] = events["name"].map(lambda number: _simplify_name(texts[number]))
    events["s_cat"] = events["cat"].map(lambda number: texts[number])
    ends = events["ts"] + visible_lengths(events["dur"], duration_threshold)
    events["calibrated_start_global"], events["calibrated_end_global"] = (pd.to_datetime(times, unit="us") for times in (events["ts"], ends))
    events["label"] = events["s_name"]
    events["task"] = "rank " + events["rank"].astype(str) + " stream " + events["stream"].astype(str)
    return events.sort_values(["rank", "stream", "ts"], kind="stable")


def plot_timeline_gpu_kernels(title: str, df: Any, symbol_table: TraceSymbolTable, ranks: Optional[list[int]] = None,
                              iterations: Optional[list[int]] = None, streams: Optional[list[int]] = None,
                              duration_threshold: int = 1000) -> None:
    """Draws the device events of a frame; needs plotly.

    >>> from kino.hta.analyzers.timeline import plot_timeline_gpu_kernels
    >>> plot_timeline_gpu_kernels("kernels", analysis.t.get_trace(0), analysis.t.symbol_table)
    Traceback (most recent call last):
    ...
    ValueError: the DataFrame has no column named rank
    """
    plot_timeline(title, prepare_timeline_gpu_events(df, symbol_table, ranks, iterations, streams, duration_threshold))


def plot_timeline_gpu_kernels_from_trace(title: str, trace_data: Trace, ranks: Optional[list[int]] = None,
                                         iterations: Optional[list[int]] = None, streams: Optional[list[int]] = None,
                                         duration_threshold: int = 1000) -> None:
    """Draws the device events of ranks; needs plotly.

    >>> from kino.hta.analyzers.timeline import plot_timeline_gpu_kernels_from_trace
    >>> plot_timeline_gpu_kernels_from_trace("no rank", analysis.t, ranks=[9])
    Traceback (most recent call last):
    ...
    ValueError: none of the ranks [9] has a trace
    """
    frames = {rank: frame for rank, frame in trace_data.get_all_traces().items() if ranks is None or rank in ranks}
    if not frames:
        raise ValueError(f"none of the ranks {ranks} has a trace")
    df = pd.concat(frames.values(), keys=frames, names=["rank", "idx"]).reset_index()
    plot_timeline_gpu_kernels(title, df, trace_data.symbol_table, ranks, iterations, streams, duration_threshold)
