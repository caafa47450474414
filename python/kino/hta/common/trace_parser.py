"""A trace file as a frame with HTA's columns: read as HTA reads it, so that values and types are the same."""
from __future__ import annotations

import enum
import json
import math
from typing import IO, Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..configs import env_options
from ..configs.config import logger
from ..configs.default_values import AttributeSpec, ValueType
from ..configs.parser_config import DEFAULT_PARSE_VERSION, ParserBackend, ParserConfig
from ..utils.utils import get_value_from_dict, normalize_gpu_stream_numbers
from .trace_file import _open, read_trace
from .trace_symbol_table import TraceSymbolTable

MetaData = dict[str, Any]
_COUNTERS = "cuda_profiler_range"
_MTIA_LAUNCH = "runFunction - job_prep_and_submit_for_execution"


class MetaDataKey(enum.Enum):
    """What is added to the metadata of a file.

    >>> from kino.hta.common.trace_parser import MetaDataKey
    >>> str(MetaDataKey.DEVICE_TYPE)
    'device_type'
    """

    DEVICE_TYPE = "device_type"

    def __str__(self) -> str:
        return self.value


_backend: Optional[ParserBackend] = None


def _auto_detect_parser_backend() -> ParserBackend:
    return ParserBackend.JSON


def _open_trace_file(trace_file_path: str) -> IO[bytes]:
    return _open(trace_file_path)


def set_default_trace_parsing_backend(parser_backend: ParserBackend) -> None:
    """Kept, without effect: there is one reader.

    >>> from kino.hta.common.trace_parser import ParserBackend, set_default_trace_parsing_backend
    >>> set_default_trace_parsing_backend(ParserBackend.JSON)
    """
    global _backend
    _backend = parser_backend


def get_default_trace_parsing_backend() -> ParserBackend:
    """What was set last; JSON.

    >>> from kino.hta.common.trace_parser import get_default_trace_parsing_backend
    >>> get_default_trace_parsing_backend().value
    'json'
    """
    return _backend or ParserBackend.JSON


def infer_gpu_type(metadata: Optional[MetaData] = None, name_set: Optional[dict[str, int]] = None) -> str:
    """Whose device it is, by the names of events.

    >>> from kino.hta.common.trace_parser import infer_gpu_type
    >>> infer_gpu_type({}, {"hipLaunchKernel": 3})
    'AMD GPU'
    """
    if "mtia:hccl" in str(get_value_from_dict(metadata or {}, "distributedInfo.backend", "")):
        return "MTIA"
    for name, kind in (("cudaLaunchKernel", "NVIDIA GPU"), ("hipLaunchKernel", "AMD GPU"), (_MTIA_LAUNCH, "MTIA")):
        if name in (name_set or {}):
            return kind
    return "UNKNOWN GPU"


def parse_trace_dict(trace_file_path: str) -> dict[str, Any]:
    """The document of a file.

    >>> from kino.hta.common.trace_parser import parse_trace_dict
    >>> "traceEvents" in parse_trace_dict("demo-run/rank-0.json")
    True
    """
    if not trace_file_path.endswith((".gz", ".json")):
        raise ValueError(f"expect the value of trace_file ({trace_file_path}) ends with '.gz' or 'json'")
    return read_trace(trace_file_path)


def parse_metadata_ijson(fh: IO[bytes]) -> MetaData:
    """What a file says beside its events.

    >>> from kino.hta.common.trace_parser import parse_metadata_ijson
    >>> with open("demo-run/rank-0.json", "rb") as file: "traceEvents" in parse_metadata_ijson(file)
    False
    """
    return {key: value for key, value in json.loads(fh.read()).items() if key != "traceEvents"}


def round_down_time_stamps(df: Any) -> None:
    """Whole microseconds where a start has a fraction: starts up, ends down. HTA_DISABLE_NS_ROUNDING=1 leaves them.

    >>> import pandas
    >>> from kino.hta.common.trace_parser import round_down_time_stamps
    >>> frame = pandas.DataFrame({"ts": [0.5, 2.0], "dur": [2.0, 0.75]})
    >>> round_down_time_stamps(frame); frame[["ts", "dur"]].values.tolist()
    [[1, 1], [2, 0]]
    """
    if df["ts"].dtype != "float64" or env_options.disable_ns_rounding():
        return
    df["end"] = df["ts"] + df["dur"]
    for column, rounded in (("ts", math.ceil), ("end", math.floor)):
        # Python's integers, and missing values left out: the column is float64 only where some are missing.
        df[column] = df[column].dropna().apply(rounded)
    df["dur"] = df["end"] - df["ts"]


def _counter_columns(df: Any) -> list[AttributeSpec]:
    """The arguments of ranges with hardware counters, all of them."""
    names: dict[str, None] = {}
    for args in df.loc[df["cat"] == _COUNTERS, "args"]:
        names.update(dict.fromkeys(args))
    return [AttributeSpec(name, name, ValueType.Int, -1, DEFAULT_PARSE_VERSION) for name in names]


def _expand_args(df: Any, specs: list[AttributeSpec]) -> None:
    rows = df["args"].tolist()
    for spec in specs:
        key, default = spec.raw_name, spec.default_value
        values = [row.get(key, default) if isinstance(row, dict) else default for row in rows]
        df[spec.name] = pd.Series(values, index=df.index)
    del df["args"]


def _encode(df: Any) -> TraceSymbolTable:
    symbols = TraceSymbolTable()
    for column in ("cat", "name"):
        symbols.add_symbols(df[column].unique())
        df[column] = [symbols.sym_index[text] for text in df[column]]
    return symbols


def _compress_df(df: Any, cfg: Optional[ParserConfig] = None) -> tuple[Any, TraceSymbolTable]:
    """Rows that have a category and a duration, with arguments as columns and texts as numbers."""
    cfg = cfg or ParserConfig.get_default_cfg()
    if not {"dur", "cat"} <= set(df.columns):
        logger.warning("The trace has no event with a category and a duration.")
        return pd.DataFrame(), TraceSymbolTable()
    df = df.dropna(axis=0, subset=["dur", "cat"])
    df = df[df["cat"] != "Trace"].drop(columns=["ph", "id", "bp", "s"], errors="ignore")
    if "args" in df.columns:
        if (df["cat"] == _COUNTERS).any():
            cfg.add_args(_counter_columns(df))
        specs = list(cfg.get_args())
        if cfg.parse_all_args:
            specs = list(cfg.infer_attribute_specs(df["args"], cfg.get_all_available_args()).values())
        _expand_args(df, specs)
    normalize_gpu_stream_numbers(df)
    symbols = _encode(df)
    for column in df.columns:
        if df[column].dtype.kind == "i":
            df[column] = pd.to_numeric(df[column], errors="coerce", downcast="integer")
    return df, symbols


def parse_trace_dataframe(trace_file_path: str, cfg: ParserConfig) -> tuple[MetaData, Any, TraceSymbolTable]:
    """Metadata, events and symbols of a file. ``index`` is the place of an event in the file.

    >>> from kino.hta.common.trace_parser import parse_trace_dataframe
    >>> from kino.hta.configs.parser_config import ParserConfig
    >>> meta, frame, symbols = parse_trace_dataframe("demo-run/rank-0.json", ParserConfig.get_default_cfg())
    >>> meta["device_type"], frame.columns[0]
    ('NVIDIA GPU', 'index')
    """
    document = parse_trace_dict(trace_file_path)
    meta = {key: value for key, value in document.items() if key != "traceEvents"}
    df, symbols = pd.DataFrame(), TraceSymbolTable()
    if "traceEvents" in document:
        df = pd.DataFrame(document.pop("traceEvents"))
        if "ts" in df.columns and "dur" in df.columns:
            round_down_time_stamps(df)
        df = df.reset_index()
        df["index"] = pd.to_numeric(df["index"], downcast="integer")
        df, symbols = _compress_df(df, cfg)
    meta[str(MetaDataKey.DEVICE_TYPE)] = infer_gpu_type(meta, symbols.sym_index)
    return meta, df, symbols
