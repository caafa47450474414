"""Launches and what they launch: delays, sequences of kernels below operators."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .. import _plots
from ..common.trace import Trace
from ..configs.config import logger
from ..utils.checker import is_valid_directory

_NUMBER = 0xffffffff  # of an event's id: its place in the file


class CudaKernelAnalysis:
    """The analyses as functions of a Trace; TraceAnalysis has them as methods.

    >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
    >>> sorted(CudaKernelAnalysis.cuda_kernel_launch_stats(analysis.t, visualize=False))
    [0]
    """

    @classmethod
    def get_frequent_cuda_kernel_sequences(cls, t: Trace, operator_name: str, output_dir: str, min_pattern_len: int = 3,
                                           rank: int = 0, top_k: int = 5, visualize: bool = True,
                                           compress_other_kernels: bool = True) -> Any:
        """TraceAnalysis.get_frequent_cuda_kernel_sequences.

        >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
        >>> CudaKernelAnalysis.get_frequent_cuda_kernel_sequences(analysis.t, "aten::linear", ".", 1, visualize=False).columns[0]
        'pattern'
        """
        check = is_valid_directory(output_dir, must_be_writable=True)
        if not operator_name or not check.success:
            logger.error("operator_name must not be empty" if check.success else f"{output_dir}: {check.reason}")
            return pd.DataFrame()
        params: dict[str, Any] = {"op": operator_name, "min_pattern_len": min_pattern_len, "top_k": 0, "calls": True}
        rows = [row for row in t.store.rows("kernel-sequences", "kernel_sequences", **params) if row["rank"] == rank]
        if not rows:
            logger.error("operator_name %s not found in the trace file, or no frequent cuda kernel sequences found.", operator_name)
            return pd.DataFrame()
        calls = [row for row in t.store.rows("kernel-sequences", "kernel_sequence_calls", **params) if row["rank"] == rank]
        cls._write_overlay(t, rank, rows[:top_k], calls, output_dir, compress_other_kernels)
        frame = cls._sequence_frame(t, rank, rows)
        if visualize and _plots.can_draw():
            _plots.sequences(frame, operator_name, top_k)
        return frame

    @staticmethod
    def _sequence_frame(t: Trace, rank: int, rows: list[Any]) -> Any:
        frame = pd.DataFrame({"pattern": pd.Series([row["pattern"] for row in rows], dtype=str),
                              "count": pd.Series([row["count"] for row in rows], dtype="int64")})
        is_whole = t.store.has_whole_durations(rank)
        for column, ours in (("GPU kernel duration (us)", "gpu_kernel_duration"), ("CPU op duration (us)", "cpu_op_duration")):
            values = [row[ours] // 1000 if is_whole else row[ours] / 1000 for row in rows]
            frame[column] = pd.Series(values, dtype="int64" if is_whole else "float64")
        return frame

    @staticmethod
    def _members(t: Trace, rank: int, rows: list[Any], calls: list[Any]) -> dict[int, dict[str, int]]:
        """By place in the file: the sequences that an event is part of, with their counts."""
        below: dict[int, list[int]] = {}
        for node in t.store.rows("call-graph", "nodes"):
            if node["rank"] == rank and (node["parent"] or -1) >= 0:
                below.setdefault(node["parent"], []).append(node["event"])
        members: dict[int, dict[str, int]] = {}
        for call in calls:
            if call["sequence"] > len(rows):
                continue
            row, waiting = rows[call["sequence"] - 1], [call["event"]]
            while waiting:
                event = waiting.pop()
                members.setdefault(event & _NUMBER, {})[row["pattern"]] = row["count"]
                waiting += below.get(event, [])
        return members

    @classmethod
    def _write_overlay(cls, t: Trace, rank: int, rows: list[Any], calls: list[Any], folder: str, compress: bool) -> None:
        """The file with args.Patterns at members; with compress, others lose arguments and have numbers for names."""
        document = t.get_raw_trace_for_one_rank(rank)
        members = cls._members(t, rank, rows, calls)
        numbers = t.symbol_table.sym_index if compress else {}
        for place, event in enumerate(document["traceEvents"]):
            if place in members:
                event["args"] = {**event.get("args", {}), "Patterns": members[place]}
            elif compress and event.get("ph") == "X":
                event["args"] = {}
                event["name"] = str(numbers.get(event["name"], event["name"]))
            if compress and event.get("pid") == "Spans" and "PyTorch Profiler" in str(event.get("name")):
                event["args"] = {str(number): name for name, number in numbers.items()}
        name = os.path.basename(t.trace_files[rank])
        t.write_raw_trace(os.path.join(str(Path(folder)), f"overlaid_{name}"), document)

    @classmethod
    def get_aten_op_kernels_and_delay(cls, trace: Trace, ranks: Optional[list[int]] = None,
                                      sort_by: Optional[list[str]] = None) -> dict[int, Any]:
        """TraceAnalysis.get_aten_op_kernels_and_delay.

        >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
        >>> CudaKernelAnalysis.get_aten_op_kernels_and_delay(analysis.t)[0].columns[0]
        'aten_op_name'
        """
        rows = trace.store.rows("op-kernels", "op_kernels")
        answers = {}
        for rank in ranks or [0]:
            mine = sorted((row for row in rows if row["rank"] == rank), key=lambda row: (row["aten_op_name"], row["kernel_sequence"]))
            frame = pd.DataFrame({"aten_op_name": pd.Series([row["aten_op_name"] for row in mine], dtype=str),
                                  "kernel_sequence": pd.Series([row["kernel_sequence"] for row in mine], dtype=str),
                                  "occurrence_count": pd.Series([row["occurrence_count"] for row in mine], dtype="int64")})
            for column in ("avg_aten_op_launch_delay", "avg_runtime_delay"):
                frame[column] = pd.Series([row[column] / 1000 for row in mine], dtype="float64").round(3)
            answers[rank] = frame.sort_values(sort_by or ["occurrence_count"], ascending=False, kind="stable")
        return answers

    @classmethod
    def cuda_kernel_launch_stats(cls, t: Trace, ranks: Optional[list[int]] = None, runtime_cutoff: int = 50,
                                 launch_delay_cutoff: int = 100, include_memory_events: bool = True,
                                 visualize: bool = True) -> dict[int, Any]:
        """TraceAnalysis.get_cuda_kernel_launch_stats.

        >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
        >>> list(CudaKernelAnalysis.cuda_kernel_launch_stats(analysis.t, visualize=False)[0].columns)
        ['correlation', 'cpu_duration', 'gpu_duration', 'launch_delay']
        """
        rows = t.store.frame("launch-stats", "launch_stats", include_memory=include_memory_events)
        answers = {}
        for rank in ranks or [0]:
            if rank not in t.store.files:
                raise ValueError(f"no trace for rank {rank}")
            answers[rank] = cls._launch_frame(t, rank, rows[rows["rank"] == rank])
            if visualize:
                cls.visualize_cuda_launch_kernel_info(rank, answers[rank], runtime_cutoff, launch_delay_cutoff)
        return answers

    @classmethod
    def visualize_aten_op_kernels_and_overhead(cls, rank: int, df: Any) -> None:
        """Draws a frame of get_aten_op_kernels_and_delay, where plotly is installed.

        >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
        >>> callable(CudaKernelAnalysis.visualize_aten_op_kernels_and_overhead)
        True
        """
        if _plots.can_draw():
            _plots.operators(rank, df)

    @classmethod
    def visualize_cuda_launch_kernel_info(cls, rank: int, df: Any, runtime_cutoff: int, launch_delay_cutoff: int) -> None:
        """Draws a frame of cuda_kernel_launch_stats, where plotly is installed.

        >>> from kino.hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis
        >>> callable(CudaKernelAnalysis.visualize_cuda_launch_kernel_info)
        True
        """
        if _plots.can_draw():
            _plots.launches(rank, df, runtime_cutoff, launch_delay_cutoff)

    @staticmethod
    def _launch_frame(t: Trace, rank: int, rows: Any) -> Any:
        is_whole = t.store.has_whole_durations(rank)
        rows = rows.sort_values(["launch_event", "device_event"], ignore_index=True)  # as the file has the launches
        frame = pd.DataFrame({"correlation": rows["correlation"].astype(t.store.integer_type(rank, "correlation"))})
        for column in ("cpu_duration", "gpu_duration", "launch_delay"):
            values = rows[column].astype("int64")
            whole = "int64" if column == "launch_delay" or not is_whole else t.store.integer_type(rank, "dur")
            frame[column] = (values // 1000).astype(whole) if is_whole else values / 1000
        return frame
