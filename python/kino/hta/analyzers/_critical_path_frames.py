"""Frames beside the graph of a critical path: the events of its region, and which launches CUDA events separate."""
from __future__ import annotations

from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.trace import Trace
from ..common.trace_symbol_table import TraceSymbolTable

_BY_RECORD = {"wait_on_cuda_event_record_corr_id": "correlation", "wait_on_stream": "stream", "pid": "gpu"}


def clip(t: Trace, rank: int, annotation: str, first: int, last: int) -> Any:
    """The events of a region: what starts in it on the host and takes time, the device work it launches, and all waits of streams
    for events. The region spans the first to the last of the chosen rows with the annotation in their names, in the frame's order;
    without an annotation it is everything."""
    frame, numbers = t.get_trace(rank), t.symbol_table.get_sym_id_map()
    is_host, is_in = frame["stream"].eq(-1), frame["dur"].gt(0)
    if annotation:
        marks = frame[frame["name"].isin([number for text, number in numbers.items() if annotation in text])][first:last + 1]
        is_in &= frame["ts"].between(marks["ts"].min(), (marks["ts"] + marks["dur"]).max())
    launched = frame["index"].isin(frame.loc[is_host & is_in, "index_correlation"])
    waits = frame["name"].eq(numbers.get("Stream Wait Event", -1))
    return frame[(is_host & is_in) | (~is_host & (launched | waits))].sort_index().copy()


def launches(frame: Any, symbols: TraceSymbolTable) -> Any:
    """Calls that launch device work, with stream and device (gpu) of that work, in order of time."""
    kernels = frame.loc[frame["stream"].ne(-1) & frame["index_correlation"].gt(0), ["stream", "pid", "index"]]
    kernels = kernels.rename(columns={"pid": "gpu", "index": "index_correlation"})
    calls = frame.loc[symbols.get_runtime_launch_events_mask(frame), ["index", "name", "ts", "pid", "tid", "correlation", "index_correlation"]]
    return calls.merge(kernels, on="index_correlation").sort_values("ts", kind="stable")


def _with_launch(events: Any, calls: Any, by: list[str], direction: str) -> Any:
    """Adds index and correlation of the nearest launch before or after; the index is -1 where there is none."""
    found = calls[["ts", *by, "index", "correlation"]].rename(columns={"index": "index_launch", "correlation": "correlation_launch_event"})
    kinds = {column: "int64" for column in by}
    joined = pd.merge_asof(events.sort_values("ts", kind="stable").astype(kinds), found.astype(kinds), on="ts", by=by, direction=direction,
                           allow_exact_matches=direction == "backward")
    joined["index_launch"] = joined["index_launch"].fillna(-1)
    return joined


def records(frame: Any, symbols: TraceSymbolTable) -> Optional[Any]:
    """Calls of cudaEventRecord that a stream waits for, each with the last launch before it on the stream of its event
    (index_previous_launch); None without any."""
    number = symbols.get_sym_id_map().get("cudaEventRecord")
    if number is None or "wait_on_stream" not in frame.columns:
        return None
    waits = frame.loc[frame["wait_on_stream"].gt(-1), list(_BY_RECORD)].drop_duplicates().rename(columns=_BY_RECORD)
    calls = frame.loc[frame["name"].eq(number), ["pid", "tid", "ts", "index", "name", "correlation"]].merge(waits, on="correlation")
    if calls.empty:
        return None
    return _with_launch(calls, launches(frame, symbols), ["gpu", "stream"], "backward").rename(columns={"index_launch": "index_previous_launch"})


def waits_for_events(frame: Any, symbols: TraceSymbolTable) -> Optional[Any]:
    """Calls of cudaStreamWaitEvent, each with the next launch after it on its thread and stream (index_next_launch); None without any."""
    number = symbols.get_sym_id_map().get("cudaStreamWaitEvent")
    if number is None or "Stream Wait Event" not in symbols.get_sym_id_map():
        return None
    calls = frame.loc[frame["name"].eq(number) & frame["index_correlation"].gt(0),
                      ["index", "name", "ts", "pid", "tid", "correlation", "index_correlation"]]
    streams = frame.loc[frame["stream"].ne(-1) & frame["index_correlation"].gt(0), ["stream", "index"]]
    calls = calls.merge(streams.rename(columns={"index": "index_correlation"}), on="index_correlation")
    if calls.empty:
        return None
    joined = _with_launch(calls, launches(frame, symbols), ["pid", "tid", "stream"], "forward")
    return joined.rename(columns={"index_launch": "index_next_launch"}).drop(columns="correlation_launch_event").set_index("index")
