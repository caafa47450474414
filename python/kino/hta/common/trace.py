"""The traces of a run, by rank: files, and their events as frames with HTA's columns."""
from __future__ import annotations

import gzip
import json
import os
import warnings
from typing import Any, Optional, Union

from ..configs.config import logger
from ..configs.default_values import DEFAULT_TRACE_DIR
from ..configs.parser_config import ParserConfig
from ..utils.utils import normalize_path
from ._frames import (add_fwd_bwd_links, add_iteration, cut_last_step, first_start, get_cpu_gpu_correlation, keep_steps_of_mtia,
                      steps_of_memory_work, transform_correlation_to_index)
from ._store import Store
from .trace_file import create_rank_to_trace_dict, get_trace_files
from .trace_parser import MetaData, parse_trace_dataframe, parse_trace_dict
from .trace_symbol_table import TraceSymbolTable, decode_symbol_id_to_symbol_name

__all__ = ["PHASE_COUNTER", "PHASE_FLOW_END", "PHASE_FLOW_START", "MetaData", "Trace", "TraceCollection", "TraceSymbolTable",
           "add_fwd_bwd_links", "add_iteration", "get_cpu_gpu_correlation", "parse_trace_dataframe", "parse_trace_dict",
           "parse_trace_file", "trace_event_timestamp_to_unixtime_ns", "transform_correlation_to_index"]

PHASE_COUNTER: str = "C"
PHASE_FLOW_START: str = "s"
PHASE_FLOW_END: str = "f"


def trace_event_timestamp_to_unixtime_ns(trace_event_ts_us: float, trace_metadata: MetaData) -> int:
    """A time of a trace in ns since 1970.

    >>> from kino.hta.common.trace import trace_event_timestamp_to_unixtime_ns
    >>> trace_event_timestamp_to_unixtime_ns(5.0, {"baseTimeNanoseconds": 100})
    5100
    """
    base = trace_metadata.get("baseTimeNanoseconds")
    if base is None:
        raise KeyError("'baseTimeNanoseconds' is not found in the trace metadata: its times cannot become unix time.")
    return int(trace_event_ts_us * 1e3) + int(base)


def parse_trace_file(trace_file_path: str, cfg: Optional[ParserConfig] = None) -> tuple[MetaData, Any, TraceSymbolTable]:
    """Metadata, events and symbols of a file, with partners and steps; times as the file counts.

    >>> from kino.hta.common.trace import parse_trace_file
    >>> meta, frame, symbols = parse_trace_file("demo-run/rank-0.json")
    >>> {"index_correlation", "iteration", "end"} <= set(frame.columns)
    True
    """
    if not trace_file_path.endswith((".gz", ".json")):
        raise ValueError(f"expect the value of trace_file ({trace_file_path}) ends with '.gz' or 'json'")
    meta, df, symbols = parse_trace_dataframe(trace_file_path, cfg or ParserConfig.get_default_cfg())
    if df.empty:
        logger.warning("No analyzable events in %s.", trace_file_path)
        return meta, df, symbols
    add_fwd_bwd_links(df)
    df = transform_correlation_to_index(df, symbols)
    add_iteration(df, symbols)
    df["end"] = df["ts"] + df["dur"]
    return meta, df, symbols


class Trace:
    """Trace files by rank, and their events.

    ``traces`` has the events by rank, ``symbol_table`` what their names and categories mean, ``meta_data`` what files say
    beside them, ``min_ts`` the time that others count from. load_traces() reads events when they are first asked for;
    analyses do not need them, they ask the engine.

    >>> from kino.hta.common.trace import Trace
    >>> trace = Trace(trace_dir="demo-run")
    >>> trace.load_traces()
    >>> trace.get_ranks(), trace.traces[0].columns[0]
    ([0, 1], 'index')
    """

    def __init__(self, trace_files: Union[None, list[str], dict[int, str]] = None, trace_dir: str = DEFAULT_TRACE_DIR,
                 parser_config: Optional[ParserConfig] = None, compat: Optional[str] = "hta") -> None:
        self.is_parsed: bool = False
        self.trace_path: str = normalize_path(trace_dir)
        self.parser_config: ParserConfig = parser_config or ParserConfig.get_default_cfg()
        self.compat = compat
        if trace_files is not None and not isinstance(trace_files, (dict, list)):  # HTA's object is half made, too
            logger.error("Unsupported type for trace_files = %s, should be list or dict", trace_files)
            return
        self.trace_files: dict[int, str] = self._files(trace_files)
        self.traces = {}
        self.symbol_table = TraceSymbolTable()
        self.meta_data = {}
        self.min_ts = 0
        self._normalize_trace_filenames()
        if not self._validate_trace_files():
            raise ValueError("Trace files validation failed.")

    def _files(self, given: Union[None, list[str], dict[int, str]]) -> dict[int, str]:
        if given is None:
            return get_trace_files(self.trace_path)
        return given if isinstance(given, dict) else create_rank_to_trace_dict(given)[1]

    # -- events, read when they are needed --

    def _get_late(self, name: str) -> Any:
        pending = self.__dict__.pop("_pending", None)
        if pending is not None:
            self._load_now(*pending)
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]

    @property
    def traces(self) -> dict[int, Any]:
        """The events by rank.

        >>> sorted(analysis.t.traces)
        [0, 1]
        """
        frames: dict[int, Any] = self._get_late("_traces")
        return frames

    @traces.setter
    def traces(self, frames: dict[int, Any]) -> None:
        self._traces = frames

    @property
    def symbol_table(self) -> TraceSymbolTable:
        """What names and categories mean.

        >>> "cpu_op" in analysis.t.symbol_table.sym_index
        True
        """
        table: TraceSymbolTable = self._get_late("_symbol_table")
        return table

    @symbol_table.setter
    def symbol_table(self, table: TraceSymbolTable) -> None:
        self._symbol_table = table

    @property
    def meta_data(self) -> dict[int, MetaData]:
        """What files say beside their events.

        >>> analysis.t.meta_data[0]["device_type"]
        'NVIDIA GPU'
        """
        meta: dict[int, MetaData] = self._get_late("_meta_data")
        return meta

    @meta_data.setter
    def meta_data(self, meta: dict[int, MetaData]) -> None:
        self._meta_data = meta

    @property
    def min_ts(self) -> Any:
        """The time that others count from, as the files count.

        >>> bool(analysis.t.min_ts > 0)
        True
        """
        return self._get_late("_min_ts")

    @min_ts.setter
    def min_ts(self, ts: Any) -> None:
        self._min_ts = ts

    def load_traces(self, include_last_profiler_step: Optional[bool] = False, use_multiprocessing: bool = True,
                    use_memory_profiling: bool = True) -> None:
        """Reads the files; events become frames when they are first asked for. Processes are not needed.

        >>> from kino.hta.common.trace import Trace
        >>> trace = Trace(trace_dir="demo-run")
        >>> trace.load_traces(); trace.is_parsed
        True
        """
        if self.is_parsed:
            logger.warning("Traces are already parsed and loaded!")
            return
        self._store = Store(self.trace_files, bool(include_last_profiler_step), self.compat)
        if self.trace_files:
            self._store.open()
        self._pending = (bool(include_last_profiler_step),)
        self.is_parsed = bool(self.trace_files)

    def _load_now(self, include_last: bool) -> None:
        self.parse_traces()
        self.align_and_filter_trace(include_last)
        for rank, df in self.traces.items():
            if not df.empty:
                self.traces[rank] = df.set_index("index", drop=False).rename_axis(None)
        self.is_parsed = True

    @property
    def store(self) -> Store:
        """The engine's side of it, for the analyses.

        >>> analysis.t.store.ranks()
        [0, 1]
        """
        if "_store" not in self.__dict__:
            self._store = Store(self.trace_files, False, self.__dict__.get("compat", "hta"))
        return self._store

    def parse_single_rank(self, rank: int) -> None:
        """Reads the events of one rank; times as the file counts.

        >>> from kino.hta.common.trace import Trace
        >>> trace = Trace(trace_dir="demo-run")
        >>> trace.parse_single_rank(1); sorted(trace.traces)
        [1]
        """
        if rank not in self.trace_files:
            return
        meta, df, symbols = parse_trace_file(self.trace_files[rank], self.parser_config)
        if df.empty:
            logger.warning("Trace for rank %s has no analyzable events.", rank)
            return
        self.symbol_table.add_symbols(symbols.sym_table)
        self.symbol_table.update_encoded_df(df, symbols)
        self.meta_data[rank], self.traces[rank] = meta, df

    def parse_multiple_ranks(self, ranks: list[int], use_multiprocessing: bool = True, use_memory_profiling: bool = True) -> None:
        """parse_single_rank for several.

        >>> from kino.hta.common.trace import Trace
        >>> trace = Trace(trace_dir="demo-run")
        >>> trace.parse_multiple_ranks([0, 1]); sorted(trace.traces)
        [0, 1]
        """
        for rank in ranks:
            self.parse_single_rank(rank)

    def parse_traces(self, max_ranks: int = -1, use_multiprocessing: bool = True, use_memory_profiling: bool = True) -> None:
        """Reads the events of all ranks, or of the first ones; times as the files count.

        >>> from kino.hta.common.trace import Trace
        >>> trace = Trace(trace_dir="demo-run")
        >>> trace.parse_traces(max_ranks=1); sorted(trace.traces)
        [0]
        """
        ranks = sorted(self.trace_files)[:len(self.trace_files) if max_ranks == -1 else max_ranks]
        self.is_parsed = bool(ranks)
        if ranks:
            self.parse_multiple_ranks(ranks, use_multiprocessing, use_memory_profiling)
        else:
            logger.error("The list of ranks to be parsed is empty.")

    def align_and_filter_trace(self, include_last_profiler_step: Optional[bool] = False) -> None:
        """Times count from the first event of all ranks, and the last step, which is not complete, goes.

        >>> from kino.hta.common.trace import Trace
        >>> trace = Trace(trace_dir="demo-run"); trace.parse_traces()
        >>> trace.align_and_filter_trace(); int(min(frame["ts"].min() for frame in trace.traces.values()))
        0
        """
        if self.traces:
            self._align_all_ranks()
            self._filter_irrelevant_gpu_kernels(include_last_profiler_step)

    def _align_all_ranks(self) -> None:
        start = first_start(self.traces)
        if start is not None:
            self.min_ts = start
            for df in self.traces.values():
                if not df.empty:
                    df["ts"] = df["ts"] - start

    def _filter_irrelevant_gpu_kernels(self, include_last_profiler_step: Optional[bool] = False) -> None:
        symbols = self.symbol_table
        if len(symbols.get_profiler_step_ids()) < 2:
            logger.info("There are no several steps in the trace: everything is kept.")
            return
        is_mtia = self.get_device_type() == "MTIA"
        for rank, df in self.traces.items():
            self.traces[rank] = (keep_steps_of_mtia(df, symbols) if is_mtia else
                                 cut_last_step(df, symbols, bool(include_last_profiler_step)))

    def _fix_mtia_memory_kernels(self, trace_df: Any) -> Any:
        """Copies of MTIA that start in a step belong to it; gives their rows. load_traces() does it."""
        warnings.warn("_fix_mtia_memory_kernels is deprecated: traces of today do not need it", DeprecationWarning, stacklevel=2)
        return trace_df[steps_of_memory_work(trace_df, self.symbol_table)]

    # -- questions --

    def get_ranks(self) -> list[int]:
        """The ranks that have events.

        >>> analysis.t.get_ranks()
        [0, 1]
        """
        return sorted(self.traces)

    def _get_first_rank(self, rank: Optional[int] = None) -> int:
        return rank if rank is not None else next(iter(self.get_ranks()), -1)

    def get_iterations(self, rank: Optional[int] = None) -> list[int]:
        """The steps of a rank; of the first one where none is given.

        >>> [int(step) for step in analysis.t.get_iterations()]
        [2, 3, 4]
        """
        frame = self.traces.get(self._get_first_rank(rank))
        if frame is None or "iteration" not in frame.columns:
            return []
        return sorted(step for step in frame["iteration"].unique() if step >= 0)

    def get_trace_duration(self, rank: Optional[int] = None) -> Any:
        """From the first to the last start of a rank.

        >>> bool(analysis.t.get_trace_duration(0) > 0)
        True
        """
        times = self.get_trace(self._get_first_rank(rank))["ts"]
        return times.max() - times.min()

    def get_trace(self, rank: int) -> Any:
        """The events of a rank.

        >>> len(analysis.t.get_trace(0)) > 100
        True
        """
        if rank not in self.traces:
            raise ValueError(f"no trace for rank {rank}")
        return self.traces[rank]

    def get_all_traces(self) -> dict[int, Any]:
        """The events by rank.

        >>> sorted(analysis.t.get_all_traces())
        [0, 1]
        """
        return self.traces

    def get_raw_trace_for_one_rank(self, rank: int = 0) -> dict[str, Any]:
        """The document of a rank's file.

        >>> "traceEvents" in analysis.t.get_raw_trace_for_one_rank(0)
        True
        """
        if rank not in self.trace_files:
            raise ValueError(f"no trace for rank {rank}")
        return parse_trace_dict(self.trace_files[rank])

    def write_raw_trace(self, output_file: str, trace_contents: dict[str, Any]) -> None:
        """Writes a document, always compressed.

        >>> analysis.t.write_raw_trace("raw.json.gz", {"traceEvents": []})
        """
        with gzip.open(output_file, "wt") as file:
            json.dump(trace_contents, file, indent=2)

    def _normalize_trace_filenames(self) -> None:
        if not isinstance(self.trace_files, dict):
            raise ValueError(f"Expected trace_files to be Dict[int, str]; got {type(self.trace_files)}")
        for rank, name in self.trace_files.items():
            if not name.startswith((self.trace_path, "/")):
                self.trace_files[rank] = os.path.join(self.trace_path, name)

    def _validate_trace_files(self) -> bool:
        for path in self.trace_files.values():
            if not os.access(path, os.R_OK):
                logger.error("Trace file '%s' doesn't exist or is not readable.", path)
                return False
            if not path.endswith((".gz", ".json")):
                logger.error("The suffix of trace file '%s' is neither '.gz' nor '.json'", path)
                return False
        return True

    def decode_symbol_ids(self, use_shorten_name: bool = True) -> None:
        """Adds s_name and s_cat to all frames.

        >>> analysis.t.decode_symbol_ids(); "s_name" in analysis.t.get_trace(0).columns
        True
        """
        for df in self.traces.values():
            decode_symbol_id_to_symbol_name(df, self.symbol_table, use_shorten_name)

    def get_device_type(self) -> str:
        """Whose device it is.

        >>> analysis.t.get_device_type()
        'NVIDIA GPU'
        """
        first = next(iter(self.traces))
        return str(self.meta_data[first].get("device_type", "UNKNOWN"))

    def convert_time_series_to_events(self, series: Any, counter_name: str, counter_col: str) -> list[dict[str, Any]]:
        """Points of a series as counter events of the file.

        >>> import pandas
        >>> analysis.t.convert_time_series_to_events(pandas.DataFrame({"pid": [0]}), "Queue Length", "queue_length")
        []
        """
        needed = ["pid", "ts", counter_col]
        if not set(needed) <= set(series.columns):
            logger.warning("The series has no columns %s", needed)
            return []
        events = series[["pid", "ts"]].copy()
        events["ts"] += self.min_ts
        events["ph"] = PHASE_COUNTER
        events["args"] = [{counter_name: value} for value in series[counter_col].tolist()]
        events["name"] = series["name"] if "name" in series.columns else counter_name
        if "id" in series.columns:
            events["id"] = series["id"]
        rows: list[dict[str, Any]] = events.to_dict("records")
        return rows

    @staticmethod
    def flow_event(id: int, pid: int, tid: int, ts: int, is_start: bool, name: str, cat: str,
                   args: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """One end of an arrow, as an event of the file.

        >>> from kino.hta.common.trace import Trace
        >>> Trace.flow_event(1, 2, 3, 4, False, "link", "critical_path")["bp"]
        'e'
        """
        event: dict[str, Any] = {"ph": PHASE_FLOW_START if is_start else PHASE_FLOW_END, "id": id, "pid": pid, "tid": tid, "ts": ts,
                                 "cat": cat, "name": name}
        if args is not None:
            event["args"] = args
        return event if is_start else {**event, "bp": "e"}

    def get_trace_start_unixtime_ns(self, rank: int) -> int:
        """When the first event of all ranks started, in ns since 1970.

        >>> analysis.t.get_trace_start_unixtime_ns(0) > 0
        True
        """
        if rank not in self.traces:
            raise ValueError(f"No trace found for rank {rank}")
        return trace_event_timestamp_to_unixtime_ns(self.min_ts, self.meta_data[rank])


#: What later versions of HTA call it.
TraceCollection = Trace
