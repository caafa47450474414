"""Two runs side by side: how often operators and kernels occur, and how long they take."""
from __future__ import annotations

import os
import random
from enum import Enum
from typing import Any, Optional, Union

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from . import _plots
from ._needs import need
from .common.trace import Trace
from .configs.config import logger
from .utils.utils import flatten_column_names, shorten_name


def __getattr__(name: str) -> Any:
    if name == "go":  # plotly's, which code written for HTA may look for here
        return need("plotly.graph_objects", "a chart")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


class DeviceType(Enum):
    """Which events to compare.

    >>> from kino.hta import DeviceType
    >>> DeviceType.ALL.value
    3
    """

    CPU = 1
    GPU = 2
    ALL = 3


TraceDir = str
_Numbers = Union[None, int, list[int]]


def _chosen(given: _Numbers, available: list[int], what: str, label: str) -> list[int]:
    """The numbers that were asked for, else the first one."""
    if given is None:
        if not available:
            raise ValueError(f"Trace {label} doesn't have any {what}.")
        return available[:1]
    if not isinstance(given, (int, list)):
        raise ValueError(f"Invalid type for argument `{what}` {given}.")
    numbers = [given] if isinstance(given, int) else given
    for number in numbers:
        if number not in available:
            raise ValueError(f"Invalid argument {what}={number}.")
    return numbers


class LabeledTrace:
    """A Trace with a name for it. No step is left out.

    >>> from kino.hta import LabeledTrace
    >>> LabeledTrace("before", trace_dir="demo-run").iterations()
    [2, 3, 4]
    """

    def __init__(self, label: Optional[str] = None, t: Optional[Trace] = None, trace_dir: Optional[str] = None) -> None:
        self.label: str = label if label else f"t{random.randint(0, 10)}"
        if t is None and (trace_dir is None or not os.path.isdir(trace_dir)):
            raise ValueError("either a trace object or a valid trace dir must be provided in LabeledTrace.__init__()")
        self.t: Trace = t if t is not None else Trace(trace_dir=trace_dir or "")
        self.t.parse_traces()
        self.s_map = pd.Series(self.t.symbol_table.get_sym_id_map())
        self.s_tab = pd.Series(self.t.symbol_table.get_sym_table())
        self.iteration_df: Any = self._extract_iterations()

    def ranks(self) -> list[int]:
        """Its ranks.

        >>> from kino.hta import LabeledTrace
        >>> LabeledTrace(trace_dir="demo-run").ranks()
        [0, 1]
        """
        return sorted(self.t.traces)

    def iterations(self) -> list[int]:
        """The numbers of its steps.

        >>> from kino.hta import LabeledTrace
        >>> LabeledTrace(trace_dir="demo-run").iterations()
        [2, 3, 4]
        """
        return sorted(self.iteration_df["iteration"].tolist())

    def _extract_iterations(self) -> Any:
        steps = [(text, number) for text, number in self.t.symbol_table.sym_index.items() if text.startswith("ProfilerStep")]
        frame = pd.DataFrame(steps, columns=["symbol", "id"])
        frame["iteration"] = [int(text.replace("ProfilerStep#", "")) for text, _ in steps]
        return frame

    def extract_ops(self, rank: _Numbers = None, iteration: _Numbers = None, device_type: DeviceType = DeviceType.ALL) -> Any:
        """The events of ranks and steps (the first ones where none are given), of host, device or both.

        >>> from kino.hta import DeviceType, LabeledTrace
        >>> events = LabeledTrace(trace_dir="demo-run").extract_ops(0, 2, DeviceType.GPU)
        >>> bool((events["stream"] >= 0).all())
        True
        """
        ranks = _chosen(rank, self.ranks(), "rank", self.label)
        steps = _chosen(iteration, self.iterations(), "iteration", self.label)
        if len(ranks) == 1:
            frame = self.t.get_trace(ranks[0])
        else:
            frame = pd.concat([self.t.get_trace(one) for one in ranks], keys=ranks, names=["rank", "idx"]).reset_index()
        frame = frame[frame["iteration"].isin(steps)]
        if device_type is DeviceType.ALL:
            return frame
        is_host = frame["stream"].eq(-1)
        return frame[is_host if device_type is DeviceType.CPU else ~is_host]

    def get_ops_summary(self, ops: Any) -> Any:
        """How often names occur, and how long they take, by category.

        >>> from kino.hta import LabeledTrace
        >>> before = LabeledTrace(trace_dir="demo-run")
        >>> list(before.get_ops_summary(before.extract_ops()).columns)
        ['cat', 'name', 'short_name', 'counts', 'total_duration', 'cat_id', 'name_id']
        """
        frame = ops.groupby(["cat", "name"])["dur"].agg(["count", "sum"]).reset_index()
        frame.columns = ["cat_id", "name_id", "counts", "total_duration"]
        for column in ("cat", "name"):
            frame[column] = [self.s_tab[number] for number in frame[f"{column}_id"]]
        frame["short_name"] = [shorten_name(name) for name in frame["name"]]
        return frame[["cat", "name", "short_name", "counts", "total_duration", "cat_id", "name_id"]]


_Side = Union[LabeledTrace, Trace, TraceDir]


def _trace_argument_adapter(t: _Side, default_label: str) -> LabeledTrace:
    if isinstance(t, LabeledTrace):
        return t
    if isinstance(t, Trace):
        return LabeledTrace(label=default_label, t=t)
    if isinstance(t, TraceDir):
        return LabeledTrace(label=default_label, trace_dir=t)
    raise ValueError(f"Invalid argument type for ({t}).")


class TraceDiff:
    """Comparisons of two runs; a run is a folder, a Trace or a LabeledTrace.

    >>> from kino.hta import TraceDiff
    >>> TraceDiff.ops_diff("demo-run", "demo-run")["added"]
    []
    """

    @classmethod
    def compare_traces(cls, control: _Side, test: _Side, control_rank: _Numbers = None, test_rank: _Numbers = None,
                       control_iteration: _Numbers = None, test_iteration: _Numbers = None,
                       device_type: DeviceType = DeviceType.ALL, use_short_name: bool = False) -> Any:
        """Counts and durations of names on both sides and what changed; of the first rank and step unless others are given.

        >>> from kino.hta import TraceDiff
        >>> frame = TraceDiff.compare_traces("demo-run", "demo-run", control_iteration=2, test_iteration=3)
        >>> list(frame.columns)[:2]
        ['Control_counts', 'Control_total_duration']
        """
        before, after = _trace_argument_adapter(control, "Control"), _trace_argument_adapter(test, "Test")
        if before.label == after.label:
            after.label = f"{after.label}_control_test"
            logger.warning("The two traces have the same label: that of test is now %s", after.label)
        column = "short_name" if use_short_name else "name"
        sides = []
        for side, rank, step in ((before, control_rank, control_iteration), (after, test_rank, test_iteration)):
            summary = side.get_ops_summary(side.extract_ops(rank, step, device_type))
            sides.append(summary.groupby(column)[["counts", "total_duration"]].sum())
        frame = pd.concat(sides, axis=1, join="outer", keys=[before.label, after.label]).fillna(0)
        flatten_column_names(frame)
        frame["diff_counts"] = frame[f"{after.label}_counts"] - frame[f"{before.label}_counts"]
        frame["diff_duration"] = frame[f"{after.label}_total_duration"] - frame[f"{before.label}_total_duration"]
        frame["counts_change_categories"] = ["+" if count > 0 else "-" if count < 0 else "=" for count in frame["diff_counts"]]
        return frame

    @classmethod
    def ops_diff(cls, control: _Side, test: _Side, control_rank: _Numbers = None, test_rank: _Numbers = None,
                 control_iteration: _Numbers = None, test_iteration: _Numbers = None,
                 device_type: DeviceType = DeviceType.ALL) -> dict[str, list[str]]:
        """Names that were added or deleted, and that occur more, less, or as often.

        >>> from kino.hta import TraceDiff
        >>> sorted(TraceDiff.ops_diff("demo-run", "demo-run"))
        ['added', 'decreased', 'deleted', 'increased', 'unchanged']
        """
        before, after = _trace_argument_adapter(control, "Control"), _trace_argument_adapter(test, "Test")
        frame = cls.compare_traces(before, after, control_rank, test_rank, control_iteration, test_iteration, device_type)
        had, has, change = frame[f"{before.label}_counts"], frame[f"{after.label}_counts"], frame["diff_counts"]
        groups = {"added": had.eq(0) & has.gt(0), "deleted": had.gt(0) & has.eq(0), "increased": had.gt(0) & change.gt(0),
                  "decreased": has.gt(0) & change.lt(0), "unchanged": has.gt(0) & change.eq(0)}
        return {name: frame.index[is_one].tolist() for name, is_one in groups.items()}

    @classmethod
    def visualize_counts_diff(cls, df: Any, show_image: bool = True, export_image_path: Optional[str] = None) -> None:
        """Bars of the counts that compare_traces gave; needs plotly.

        >>> from kino.hta import TraceDiff
        >>> TraceDiff.visualize_counts_diff(TraceDiff.compare_traces("demo-run", "demo-run"), show_image=False)  # doctest: +PLOTLY
        """
        _plots.difference(df, "counts", "diff_counts", "Ops Count Comparison", show_image, export_image_path)

    @classmethod
    def visualize_duration_diff(cls, df: Any, show_image: bool = True, export_image_path: Optional[str] = None) -> None:
        """Bars of the durations that compare_traces gave; needs plotly.

        >>> from kino.hta import TraceDiff
        >>> TraceDiff.visualize_duration_diff(TraceDiff.compare_traces("demo-run", "demo-run"), show_image=False)  # doctest: +PLOTLY
        """
        _plots.difference(df, "total_duration", "diff_duration", "Ops Duration Comparison", show_image, export_image_path)
