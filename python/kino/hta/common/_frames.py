"""What HTA adds to a frame once it is read: partners of launches, steps, alignment of ranks, the cut of the last step."""
from __future__ import annotations

import re
from typing import Any, Optional

import numpy as np
import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .trace_filter import CPUOperatorFilter, GPUKernelFilter
from .trace_symbol_table import TraceSymbolTable

_STEP = re.compile(r"ProfilerStep\s*#\s*(\d+)")


def transform_correlation_to_index(df: Any, symbol_table: TraceSymbolTable) -> Any:
    """Adds index_correlation: the index of the event on the other side; 0 where it is not in the trace, -1 without any.

    >>> frame = analysis.t.get_trace(0)
    >>> kernel = frame[(frame["stream"] > 0) & (frame["index_correlation"] > 0)].iloc[0]
    >>> bool(frame.loc[kernel["index_correlation"], "correlation"] == kernel["correlation"])
    True
    """
    if "correlation" not in df.columns:
        return df
    df["index_correlation"] = np.minimum(df["correlation"], 0)
    linked = df.loc[df["correlation"].ne(-1), ["index", "correlation", "stream", "name"]]
    host, device = CPUOperatorFilter()(linked, symbol_table), GPUKernelFilter()(linked, symbol_table)
    pairs = host.merge(device, on="correlation", how="inner")
    df.loc[pairs["index_x"], "index_correlation"] = pairs["index_y"].values
    df.loc[pairs["index_y"], "index_correlation"] = pairs["index_x"].values
    df["index_correlation"] = pd.to_numeric(df["index_correlation"], downcast="integer")
    return df


def get_cpu_gpu_correlation(df: Any) -> Any:
    """The pairs of device work and launches, as columns gpu_index and cpu_index.

    >>> from kino.hta.common.trace import get_cpu_gpu_correlation
    >>> list(get_cpu_gpu_correlation(analysis.t.get_trace(0)).columns)
    ['gpu_index', 'cpu_index']
    """
    kernels = df[df["stream"].gt(0) & df["index_correlation"].gt(0)]
    names = {"index": "gpu_index", "index_correlation": "cpu_index"}
    return kernels[["index", "index_correlation"]].rename(columns=names).reset_index(drop=True)


def _step_number(name: str) -> int:
    found = _STEP.match(name)
    assert found is not None, f"Failed to parse profiler step from: {name}"
    return int(found[1])


def _step_at(times: Any, steps: Any) -> Any:
    """The number of the step at each time: that of the last one in the frame which covers it, else -1."""
    numbers = np.full(len(times), -1, dtype="int64")
    starts = times.to_numpy()
    for ts, dur, number in zip(steps["ts"], steps["dur"], steps["s_name"]):
        numbers[(starts >= ts) & (starts < ts + dur)] = number
    return pd.Series(numbers, index=times.index)


def add_iteration(df: Any, symbol_table: TraceSymbolTable) -> Any:
    """Adds the column iteration: the step that a host event starts in, for device work that of its launch; -1 outside.
    Gives the steps.

    >>> sorted(analysis.t.get_trace(0)["iteration"].unique().tolist())
    [2, 3, 4]
    """
    names = {number: text for text, number in symbol_table.sym_index.items() if text.startswith("ProfilerStep")}
    steps = df.loc[df["name"].isin(list(names)), ["ts", "dur", "name"]].copy()
    steps["s_name"] = [_step_number(names[number]) for number in steps["name"]]
    steps["iter"] = [names[number] for number in steps["name"]]
    at_start = _step_at(df["ts"], steps)
    df.loc[df["stream"].lt(0), "iteration"] = at_start
    if "cpu_op" in symbol_table.sym_index:  # operators that name stream 0: Triton
        df.loc[df["stream"].eq(0) & df["cat"].eq(symbol_table.sym_index["cpu_op"]), "iteration"] = at_start
    is_device = df["stream"].gt(0)
    launches = df.loc[is_device, "index_correlation"]
    of_launch = df["iteration"].reindex(launches.where(launches > 0, -1)).to_numpy()
    df.loc[is_device, "iteration"] = np.where(launches > 0, of_launch, -1)
    df["iteration"] = pd.to_numeric(df["iteration"], downcast="integer")
    return steps


def _mark_links(df: Any, starts: Any, ends: Any) -> None:
    df.loc[starts, "fwdbwd_index"] = ends.values
    df.loc[ends, "fwdbwd_index"] = starts.values
    df.loc[starts, "fwdbwd"] = 0
    df.loc[ends, "fwdbwd"] = 1


def add_fwd_bwd_links(df: Any) -> None:
    """Adds fwdbwd_index and fwdbwd where a frame still has flows of category fwdbwd; frames of Trace never have them.

    >>> import pandas
    >>> from kino.hta.common.trace import add_fwd_bwd_links
    >>> frame = pandas.DataFrame({"cat": ["cpu_op"]})
    >>> add_fwd_bwd_links(frame); list(frame.columns)
    ['cat']
    """
    is_flow = df["cat"].eq("fwdbwd")
    if not is_flow.any():
        return
    df["fwdbwd_index"] = -1
    df["fwdbwd"] = -1
    place = ["ts", "tid", "pid"]
    operators = df.loc[df["cat"].eq("cpu_op"), ["index", *place]]
    flows = df.loc[is_flow]

    def operator_of(points: Any) -> Any:
        """By flow: the last operator that starts at its point."""
        return points[["id", *place]].merge(operators, on=place).groupby("id")["index"].max()

    starts, ends = operator_of(flows[flows["ph"] == "s"]), operator_of(flows[(flows["ph"] == "f") & (flows["bp"] == "e")])
    links = pd.concat([starts, ends], axis=1, join="inner", keys=["start", "end"])
    if not links.empty:
        _mark_links(df, links["start"], links["end"])


def first_start(frames: dict[int, Any]) -> Optional[Any]:
    return min((df["ts"].min() for df in frames.values() if not df.empty), default=None)


def cut_last_step(df: Any, symbols: TraceSymbolTable, include_last: bool) -> Any:
    """Host rows that start before the last step, and device rows once for each of them that has their correlation."""
    host = CPUOperatorFilter()(df, symbols)
    if host.empty:
        return df
    device = GPUKernelFilter()(df, symbols)
    steps = host[host["name"].isin(symbols.get_profiler_step_ids())]
    if include_last:
        kept = host[host["ts"] <= (host if steps.empty else steps)["end"].max()]
    else:
        kept = host[host["ts"] < (host["ts"].min() if steps.empty else steps["ts"].max())]
    launched = device.merge(kept["correlation"], on="correlation", how="inner")
    return pd.concat([launched, kept], axis=0, ignore_index=True)


def steps_of_memory_work(df: Any, symbols: TraceSymbolTable) -> Any:
    """MTIA: copies that start in a step belong to it, and run on the stream of their tid. Gives their labels."""
    is_memory = df["name"].isin(symbols.get_memory_name_ids())
    in_steps = pd.Series(False, index=df.index)
    for step in df[df["name"].isin(symbols.get_profiler_step_ids())].itertuples():
        inside = is_memory & df["ts"].between(step.ts, step.ts + step.dur)
        df.loc[inside & df["iteration"].eq(-1), "iteration"] = step.iteration
        homeless = inside & df["stream"].eq(-1)
        if homeless.any():
            if df["stream"].dtype not in ("int32", "int64"):
                df["stream"] = df["stream"].astype("int32")
            df.loc[homeless, "stream"] = df.loc[homeless, "tid"].astype("int32")
        in_steps |= inside
    return in_steps


def keep_steps_of_mtia(df: Any, symbols: TraceSymbolTable) -> Any:
    """Host rows within the steps, the device rows they launched, and copies that start in a step."""
    host = df[df["cat"].isin(symbols.get_cpu_event_cat_ids())]
    steps = host[host["name"].isin(symbols.get_profiler_step_ids())]
    kept = host[host["ts"].ge(steps["ts"].min()) & host["end"].le(steps["end"].max())]
    launched = df["cat"].isin(symbols.get_gpu_kernel_cat_ids()) & df["correlation"].isin(set(kept["correlation"]) - {-1})
    is_kept = steps_of_memory_work(df, symbols) | launched | df.index.isin(kept.index)
    return df[is_kept]
