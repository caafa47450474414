"""Kino: where machine-learning time goes.

Reads traces of the PyTorch profiler (Kineto) and other Chrome traces, and answers with tables that pandas, polars,
pyarrow and DuckDB take as they are:

    import kino

    with kino.open("run/") as run:
        print(run.report())                                  # where the time goes, what to do first
        run.temporal_breakdown().to_pandas()                 # every analysis is a method
        run.query("SELECT name, sum(dur) FROM kernel GROUP BY name ORDER BY 2 DESC LIMIT 10")
        run.events(["ts", "dur", "name"]).to_arrow()         # the store's columns, without a copy
"""
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _requests
from ._definitions import Analysis, Column, Parameter, TableDefinition, analyses
from ._demo import demo, formats
from ._diff import Diff, diff
from ._engine import version as _version
from ._errors import (ArgumentError, CancelledError, Error, FileError, FormatError, LimitError, NotFoundError,
                      OutOfMemoryError, SqlError, UnavailableError)
from ._events import Events, event_columns
from ._program import program
from ._report import Check, Finding, Report
from ._run import Run, Trace, open
from ._server import Server, serve
from ._table import Result, Table

if _TYPE_CHECKING:
    from ._flight import FlightRecorder, flight_recorder
    from . import autograd, integrations, nvtx, profiler
    from .profiler import (DeviceType, ExecutionTraceObserver, ProfilerAction, ProfilerActivity, emit_itt, emit_nvtx, itt, join_requests,
                           kineto_available, profile, record_function, schedule, supported_activities, tensorboard_trace_handler)

__version__ = _version()
_requests.arm()

__all__ = ["Analysis", "ArgumentError", "CancelledError", "Check", "Column", "Diff", "Error", "Events", "FileError", "Finding",
           "FlightRecorder", "FormatError", "LimitError", "NotFoundError", "OutOfMemoryError", "Parameter", "Report", "Result",
           "Run", "Server", "SqlError", "Table", "TableDefinition", "Trace", "UnavailableError", "__version__", "analyses", "demo", "diff",
           "event_columns", "flight_recorder", "formats", "open", "program", "serve"]

# What needs the recorder or PyTorch is imported when it is first used; without PyTorch its part is not there.
_FLIGHT = ["FlightRecorder", "flight_recorder"]
_PROFILER = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "emit_itt", "emit_nvtx", "itt", "join_requests",
             "kineto_available", "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler"]
_MODULES = ["autograd", "integrations", "nvtx", "profiler"]
if _find_spec("torch"):
    __all__ += _PROFILER


def __getattr__(name: str) -> object:
    if name in _FLIGHT:
        from . import _flight
        return getattr(_flight, name)
    if name in _MODULES:
        from importlib import import_module
        return import_module(f".{name}", __name__)
    if name not in _PROFILER:
        raise AttributeError(f"module 'kino' has no attribute '{name}'")
    from . import profiler
    return getattr(profiler, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: object) -> None:
    """%load_ext kino: adds the magic %%kino (docs/python/integrations.md)."""
    from .integrations.ipython import register
    register(shell)
