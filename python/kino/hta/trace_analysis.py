"""HTA's analyses, answered by the engine."""
from __future__ import annotations

from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .analyzers.breakdown_analysis import BreakdownAnalysis
from .analyzers.communication_analysis import CommunicationAnalysis
from .analyzers.cuda_kernel_analysis import CudaKernelAnalysis
from .analyzers.cupti_counter_analysis import CuptiCounterAnalysis
from .analyzers.straggler import find_stragglers_with_late_start_comm_kernels
from .analyzers.straggler_analysis import StragglerAnalysis
from .analyzers.trace_counters import TraceCounters
from .common.constants import CUDA_MAX_LAUNCH_QUEUE_PER_STREAM
from .common.trace import Trace
from .configs.default_values import DEFAULT_TRACE_DIR

if TYPE_CHECKING:
    from .analyzers.critical_path_analysis import CPGraph


class TimeSeriesTypes(Flag):
    """Series that generate_trace_with_counters can add.

    >>> from kino.hta import TimeSeriesTypes
    >>> TimeSeriesTypes.QUEUE_LENGTH in (TimeSeriesTypes.QUEUE_LENGTH | TimeSeriesTypes.MEMCPY_BANDWIDTH)
    True
    """

    QUEUE_LENGTH = auto()
    MEMCPY_BANDWIDTH = auto()


class TraceAnalysis:
    """The analyses of a run: of a folder of trace files, or of files by rank.

    Times are in microseconds. ``include_last_profiler_step`` keeps the last step, which HTA leaves out as incomplete.
    ``compat`` is how numbers are made: "hta" as HTA makes them, "hta-ns" without its rounding, None as Kino does.
    ``visualize`` of methods draws HTA's charts where plotly is installed.

    >>> from kino.hta.trace_analysis import TraceAnalysis
    >>> analysis = TraceAnalysis(trace_dir="demo-run")
    >>> list(analysis.get_temporal_breakdown(visualize=False).columns)[:2]
    ['rank', 'idle_time(us)']
    """

    def __init__(self, trace_files: Union[None, list[str], dict[int, str]] = None, trace_dir: str = DEFAULT_TRACE_DIR,
                 include_last_profiler_step: Optional[bool] = False, compat: Optional[str] = "hta") -> None:
        #: The traces themselves, with their events as frames.
        self.t = Trace(trace_files, trace_dir, compat=compat)
        self.t.load_traces(include_last_profiler_step)
        assert self.t.is_parsed is True, f"there are no traces in {trace_dir}"

    def get_comm_comp_overlap(self, visualize: bool = True) -> Any:
        """How much of the time of communication computation runs too, in percent, by rank.

        >>> list(analysis.get_comm_comp_overlap(visualize=False).columns)
        ['rank', 'comp_comm_overlap_pctg']
        """
        return CommunicationAnalysis.get_comm_comp_overlap(self.t, visualize)

    def get_profiler_steps(self) -> list[int]:
        """The numbers of the steps that are kept.

        >>> analysis.get_profiler_steps()
        [2, 3, 4]
        """
        return StragglerAnalysis.get_profiler_steps(self.t)

    def get_potential_stragglers(self, profiler_steps: Optional[list[int]] = None, num_candidates: int = 2, visualize: bool = False,
                                 straggler_identification_impl: Callable[..., Any] = find_stragglers_with_late_start_comm_kernels
                                 ) -> list[int]:
        """The ranks that start the collective which differs most between ranks last. HTA looks at kernels named ncclKernel*;
        ``kino.open(...).stragglers()`` knows newer names, and finds the cause.

        >>> analysis.get_potential_stragglers(profiler_steps=[99])
        Traceback (most recent call last):
        ...
        ValueError: invalid value for argument: profiler_steps=[99]; available profiler steps=[2, 3, 4]
        """
        return StragglerAnalysis.get_potential_stragglers(self.t, profiler_steps, num_candidates, visualize,
                                                          straggler_identification_impl)

    def get_gpu_kernel_breakdown(self, visualize: bool = True, duration_ratio: float = 0.8, num_kernels: int = 10,
                                 include_memory_kernels: bool = True, image_renderer: str = "") -> tuple[Any, Any]:
        """Time by kind of kernel over all ranks; and by kernel, kind and rank, where all but the first ``num_kernels`` and
        what is beyond ``duration_ratio`` are "others".

        >>> types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False)
        >>> list(types.columns)
        ['kernel_type', 'sum', 'percentage']
        """
        return BreakdownAnalysis.get_gpu_kernel_breakdown(self.t, visualize, duration_ratio, num_kernels, include_memory_kernels,
                                                          image_renderer)

    def get_gpu_kernels_with_user_annotations(self, rank: int, expand_names: bool = True, shorten_names: bool = True) -> Optional[Any]:
        """The kernels of a rank, each with the innermost annotation of the device that it runs in; None without annotations.

        >>> "s_user_annotation" in analysis.get_gpu_kernels_with_user_annotations(0).columns
        True
        """
        return BreakdownAnalysis.get_gpu_kernels_with_user_annotations(self.t, rank, expand_names, shorten_names)

    def get_gpu_user_annotation_breakdown(self, use_gpu_annotation: bool = True, visualize: bool = True, duration_ratio: float = 0.8,
                                          num_kernels: int = 1000, allowlist_patterns: Optional[list[str]] = None,
                                          image_renderer: Optional[str] = None) -> Optional[Any]:
        """Time by annotation and rank, of the device or of the host; None without annotations.

        >>> analysis.get_gpu_user_annotation_breakdown(use_gpu_annotation=False, visualize=False).columns[0]
        'name'
        """
        return BreakdownAnalysis.get_gpu_user_annotation_breakdown(self.t, use_gpu_annotation, visualize, duration_ratio, num_kernels,
                                                                   allowlist_patterns, image_renderer)

    def get_temporal_breakdown(self, visualize: bool = True) -> Any:
        """Idle, computing and other time of each rank's device.

        >>> analysis.get_temporal_breakdown(visualize=False)["rank"].tolist()
        [0, 1]
        """
        return BreakdownAnalysis.get_temporal_breakdown(self.t, visualize)

    def get_frequent_cuda_kernel_sequences(self, operator_name: str, output_dir: str, min_pattern_len: int = 3, rank: int = 0,
                                           top_k: int = 5, visualize: bool = False, compress_other_kernels: bool = True) -> Any:
        """Sequences of kernels that calls of an operator launch, the most frequent first; and a trace in ``output_dir`` where
        the first ``top_k`` are marked.

        >>> list(analysis.get_frequent_cuda_kernel_sequences("aten::linear", ".", min_pattern_len=1).columns)[:2]
        ['pattern', 'count']
        """
        return CudaKernelAnalysis.get_frequent_cuda_kernel_sequences(self.t, operator_name, output_dir, min_pattern_len, rank, top_k,
                                                                     visualize, compress_other_kernels)

    def get_aten_op_kernels_and_delay(self, ranks: Optional[list[int]] = None, sort_by: Optional[list[str]] = None) -> dict[int, Any]:
        """Operators with the kernels they launch, and the delays before them, by rank. HTA draws each table as well; here
        that is left to the caller.

        >>> analysis.get_aten_op_kernels_and_delay()[0].columns[0]
        'aten_op_name'
        """
        return CudaKernelAnalysis.get_aten_op_kernels_and_delay(self.t, ranks, sort_by)

    def get_cuda_kernel_launch_stats(self, ranks: Optional[list[int]] = None, runtime_cutoff: int = 50,
                                     launch_delay_cutoff: int = 100, include_memory_events: bool = True,
                                     visualize: bool = True) -> dict[int, Any]:
        """Durations of launches and of their work, and the delay between them, by rank.

        >>> analysis.get_cuda_kernel_launch_stats(visualize=False)[0].columns[0]
        'correlation'
        """
        return CudaKernelAnalysis.cuda_kernel_launch_stats(self.t, ranks, runtime_cutoff, launch_delay_cutoff, include_memory_events,
                                                           visualize)

    def generate_trace_with_counters(self, time_series: Optional[TimeSeriesTypes] = None, ranks: Optional[list[int]] = None,
                                     output_suffix: str = "_with_counters") -> None:
        """Writes the traces of ranks again, beside themselves, with queue lengths and bandwidths as counters.

        >>> analysis.generate_trace_with_counters(ranks=[0], output_suffix="_counted")
        """
        chosen = time_series or (TimeSeriesTypes.QUEUE_LENGTH | TimeSeriesTypes.MEMCPY_BANDWIDTH)
        events: dict[int, list[Any]] = {}
        if TimeSeriesTypes.QUEUE_LENGTH in chosen:
            for rank, series in self.get_queue_length_time_series(ranks).items():
                points = series.rename(columns={"stream": "id"})
                events.setdefault(rank, []).extend(self.t.convert_time_series_to_events(points, "Queue Length", "queue_length"))
        if TimeSeriesTypes.MEMCPY_BANDWIDTH in chosen:
            for rank, series in self.get_memory_bw_time_series(ranks).items():
                events.setdefault(rank, []).extend(self.t.convert_time_series_to_events(series, "Memcpy BW", "memory_bw_gbps"))
        for rank, added in events.items():
            document = self.t.get_raw_trace_for_one_rank(rank)
            document["traceEvents"].extend(added)
            self.t.write_raw_trace(self.t.trace_files[rank].replace(".json", f"{output_suffix or '_with_counters'}.json"), document)

    def get_queue_length_summary(self, ranks: Optional[list[int]] = None) -> Optional[Any]:
        """Statistics of queue lengths by rank and stream; None without launches.

        >>> analysis.get_queue_length_summary().index.names
        FrozenList(['rank', 'stream'])
        """
        return TraceCounters.get_queue_length_summary(self.t, ranks)

    def get_queue_length_summary_from_time_series(self, queue_length_dict: dict[int, Any]) -> Optional[Any]:
        """The same of series that get_queue_length_time_series gave.

        >>> series = analysis.get_queue_length_time_series()
        >>> analysis.get_queue_length_summary_from_time_series(series).equals(analysis.get_queue_length_summary())
        True
        """
        return TraceCounters.get_queue_length_summary_from_time_series(queue_length_dict)

    def get_queue_length_time_series(self, ranks: Optional[list[int]] = None) -> dict[int, Any]:
        """How much work waits on each stream, a row a change, by rank.

        >>> list(analysis.get_queue_length_time_series()[0].columns)
        ['ts', 'pid', 'tid', 'stream', 'queue_length']
        """
        return TraceCounters.get_queue_length_time_series(self.t, ranks)

    def get_time_spent_blocked_on_full_queue(self, queue_length_dict: dict[int, Any],
                                             max_queue_length: int = CUDA_MAX_LAUNCH_QUEUE_PER_STREAM) -> Optional[Any]:
        """How long queues were full, of series that get_queue_length_time_series gave.

        >>> len(analysis.get_time_spent_blocked_on_full_queue(analysis.get_queue_length_time_series()))
        0
        """
        return TraceCounters.get_time_spent_blocked_on_full_queue(self.t, queue_length_dict, max_queue_length)

    def get_memory_bw_summary(self, ranks: Optional[list[int]] = None) -> Optional[Any]:
        """Statistics of the bandwidth of copies and sets, by rank and kind; None without any.

        >>> analysis.get_memory_bw_summary(ranks=[1]) is None or True
        True
        """
        return TraceCounters.get_memory_bw_summary(self.t, ranks)

    def get_memory_bw_time_series(self, ranks: Optional[list[int]] = None) -> dict[int, Any]:
        """Bandwidth of copies and sets over time in GB/s, a row a change, by rank.

        >>> isinstance(analysis.get_memory_bw_time_series(), dict)
        True
        """
        return TraceCounters.get_memory_bw_time_series(self.t, ranks)

    def get_idle_time_breakdown(self, ranks: Optional[list[int]] = None, streams: Optional[list[int]] = None, visualize: bool = True,
                                visualize_pctg: bool = True, show_idle_interval_stats: bool = False,
                                consecutive_kernel_delay: int = 30) -> tuple[Any, Optional[Any]]:
        """What streams wait for: the host, short gaps between kernels (below ``consecutive_kernel_delay``), or other things;
        and statistics of the gaps, if asked for.

        >>> idle, stats = analysis.get_idle_time_breakdown(visualize=False)
        >>> sorted(idle["idle_category"].unique())
        ['host_wait', 'kernel_wait', 'other']
        """
        parts = [BreakdownAnalysis.get_idle_time_breakdown(self.t, consecutive_kernel_delay, rank, streams, visualize, visualize_pctg,
                                                           show_idle_interval_stats) for rank in ranks or [0]]
        idle = pd.concat([part[0] for part in parts])
        return idle, pd.concat([part[1] for part in parts]) if show_idle_interval_stats else None

    def get_cupti_counter_data_with_operators(self, ranks: Optional[list[int]] = None) -> list[Any]:
        """Kernels with their hardware counters and the operators around their launches, a frame a rank.

        >>> analysis.get_cupti_counter_data_with_operators()
        []
        """
        return CuptiCounterAnalysis.get_counter_data_with_operators(self.t, ranks)

    def critical_path_analysis(self, rank: int, annotation: str, instance_id: Union[None, int, tuple[int, int]],
                               data_load_events: Optional[list[str]] = None) -> Optional[tuple[CPGraph, bool]]:
        """The critical path within an annotation, as a graph, and whether the graph is sound; needs networkx. None where
        no name contains the annotation. ``instance_id`` says which of several, or from which to which.

        >>> graph, is_ok = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> is_ok, len(graph.critical_path_nodes) > 10  # doctest: +NETWORKX
        (True, True)
        """
        from .analyzers.critical_path_analysis import CriticalPathAnalysis
        return CriticalPathAnalysis.critical_path_analysis(self.t, rank, annotation, instance_id, data_load_events)

    def overlay_critical_path_analysis(self, rank: int, critical_path_graph: CPGraph, output_dir: str,
                                       only_show_critical_events: bool = True, show_all_edges: bool = False) -> str:
        """Writes the trace with the critical path marked; gives the path of the file.

        >>> graph, is_ok = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> analysis.overlay_critical_path_analysis(0, graph, "overlay")  # doctest: +NETWORKX
        'overlay/overlaid_critical_path_rank-0.json'
        """
        from .analyzers.critical_path_analysis import CriticalPathAnalysis
        return CriticalPathAnalysis.overlay_critical_path_analysis(self.t, rank, critical_path_graph, output_dir,
                                                                   only_show_critical_events, show_all_edges)


