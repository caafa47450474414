"""Code that was written for Holistic Trace Analysis (HTA), on Kino's engine: replace ``hta`` by ``kino.hta`` in its imports.

    from kino.hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_dir="run/")
    analysis.get_temporal_breakdown(visualize=False)     # a DataFrame, as HTA gives it

Method names, arguments, defaults, columns, types and order of rows are those of HTA 0.6; so are the numbers, where HTA
has any. docs/python/hta.md lists what differs. It needs pandas; plots need plotly, critical paths networkx.

>>> import kino.hta
>>> kino.hta.TraceAnalysis(trace_dir="demo-run").get_profiler_steps()
[2, 3, 4]
"""
from ._needs import need

need("pandas", "kino.hta")

from .common.trace import Trace, TraceCollection  # noqa: E402 (pandas is looked for first)
from .trace_analysis import TimeSeriesTypes, TraceAnalysis  # noqa: E402
from .trace_diff import DeviceType, LabeledTrace, TraceDiff  # noqa: E402
from .version import __version__  # noqa: E402

__all__ = ["DeviceType", "LabeledTrace", "TimeSeriesTypes", "Trace", "TraceAnalysis", "TraceCollection", "TraceDiff", "__version__"]
