"""HTA's older call stacks, which its critical path is made of; trace_call_graph has the newer ones."""
from __future__ import annotations

import functools
from typing import Any, Callable, NamedTuple, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..configs import env_options
from ._call_tree import NON_EXISTENT_NODE_INDEX, CallTree
from .trace import Trace
from .trace_call_stack import CallStackIdentity
from .trace_filter import Filter
from .types import DeviceType

__all__ = ["EVENT_END", "EVENT_START", "NON_EXISTENT_NODE_INDEX", "NULL_NODE_INDEX", "CallGraph", "CallStackGraph", "CallStackIdentity",
           "CallStackNode", "DeviceType", "Event", "compare_events", "infer_device_type"]

NULL_NODE_INDEX = -1
EVENT_START = 1
EVENT_END = -1


def infer_device_type(df: Any) -> DeviceType:
    """What the rows of a lane ran on; unknown where it is both, or stream 0.

    >>> import pandas
    >>> from kino.hta.common.call_stack import infer_device_type
    >>> infer_device_type(pandas.DataFrame({"stream": [7, 8]})).name
    'GPU'
    """
    streams = df["stream"]
    if streams.empty:
        return DeviceType.UNKNOWN
    return DeviceType.GPU if streams.gt(0).all() else DeviceType.CPU if streams.lt(0).all() else DeviceType.UNKNOWN


class Event(NamedTuple):
    """The start or end of a row.

    >>> from kino.hta.common.call_stack import EVENT_START, Event
    >>> Event(idx=3, time=10, dur=5, type=EVENT_START).idx
    3
    """

    idx: int
    time: Any
    dur: Any
    type: int


def compare_events(x: Event, y: Event) -> int:
    """Below 0: x comes first; above 0: y does.

    >>> from kino.hta.common.call_stack import EVENT_END, EVENT_START, Event, compare_events
    >>> compare_events(Event(0, 5, 5, EVENT_END), Event(1, 5, 3, EVENT_START)) < 0
    True
    """
    x_opens, y_opens = x.type == EVENT_START, y.type == EVENT_START
    if x.idx == y.idx:
        return -1 if x_opens else 1
    if x.time != y.time:
        return -1 if x.time < y.time else 1
    if x_opens and y_opens:
        return -1 if (-x.dur, x.idx) < (-y.dur, y.idx) else 1
    if not x_opens and not y_opens:
        return -1 if (x.dur, -x.idx) < (y.dur, -y.idx) else 1
    if x.dur > 0 and y.dur > 0:
        return 1 if x_opens else -1
    if x.dur == y.dur:
        return -1 if x.idx < y.idx else 1
    return -1 if x_opens else 1


class CallStackNode(NamedTuple):
    """A call: what it was called from, how deep it is, what it calls.

    >>> from kino.hta.common.call_stack import CallStackNode
    >>> CallStackNode(parent=-1, depth=0, children=[3]).children
    [3]
    """

    parent: int = NULL_NODE_INDEX
    depth: int = -1
    children: list[int] = []


DFSCallback = Callable[[int, CallStackNode], None]


class CallStackGraph(CallTree):
    """The calls of one thread; lanes of the device have no tree.

    >>> import pandas
    >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
    >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1], "index_correlation": [-1, -1]})
    >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_path_to_root(1)
    [1, 0, -1]
    """

    def __init__(self, df: Any, identity: CallStackIdentity, filter_func: Optional[Filter] = None) -> None:
        self.df, self.identity, self.filter_func = df, identity, filter_func
        self.device_type: DeviceType = infer_device_type(df)
        self.root_index = NULL_NODE_INDEX
        self.nodes: dict[int, CallStackNode] = {}
        if "index_correlation" not in df.columns:
            raise ValueError("the DataFrame has no column named index_correlation")
        self.correlations: Any = df["index_correlation"]
        if self.device_type is DeviceType.GPU:
            self.depth = pd.Series(-1, index=df.index, name="depth")
            return
        self._build(filter_func(df) if filter_func else df)
        self.depth = pd.Series({index: node.depth for index, node in self.nodes.items() if index >= 0}, dtype="int64", name="depth")

    def _build(self, df: Any) -> None:
        events: list[Event] = []
        for index, ts, dur in zip(df["index"].tolist(), df["ts"].tolist(), df["dur"].tolist()):
            length = max(dur, 0)
            events += [Event(index, ts, length, EVENT_START), Event(index, ts + length, length, EVENT_END)]
        self.nodes[NULL_NODE_INDEX] = CallStackNode(NULL_NODE_INDEX, -1, [])
        open_calls = [NULL_NODE_INDEX]
        for event in sorted(events, key=functools.cmp_to_key(compare_events)):
            if event.type == EVENT_END:
                del open_calls[max(1, len(open_calls) - 1):]  # the root stays: rows without length may end before they begin
                continue
            self.nodes[event.idx] = CallStackNode(open_calls[-1], len(open_calls) - 1, [])
            self.nodes[open_calls[-1]].children.append(event.idx)
            open_calls.append(event.idx)

    def get_depth(self) -> Any:
        """Depths by index.

        >>> import pandas
        >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
        >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1], "index_correlation": [-1, -1]})
        >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_depth().tolist()
        [0, 1]
        """
        return self.depth

    def get_paths_to_leaves(self, idx: int) -> list[list[int]]:
        """The ways down from a call.

        >>> import pandas
        >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
        >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1], "index_correlation": [-1, -1]})
        >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_paths_to_leaves(0)
        [[0, 1]]
        """
        return self._paths(idx, True)

    def get_leaf_nodes(self, idx: int) -> list[int]:
        """The calls below one that call nothing.

        >>> import pandas
        >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
        >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1], "index_correlation": [-1, -1]})
        >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_leaf_nodes(0)
        [1]
        """
        return [path[-1] for path in self.get_paths_to_leaves(idx)]


class CallGraph:
    """A CallStackGraph for each lane of the ranks; ``mapping`` lists them by rank, pid and tid. The frames get the columns parent
    and depth.

    >>> from kino.hta.common.call_stack import CallGraph
    >>> len(CallGraph(analysis.t, ranks=[0]).call_stacks) > 1
    True
    """

    def __init__(self, trace: Trace, ranks: Optional[list[int]] = None, filter_func: Optional[Filter] = None,
                 remapped_tids: Optional[dict[int, dict[int, int]]] = None, pre_process_trace_data: bool = False) -> None:
        self.trace_data, self.pre_process_trace_data = trace, pre_process_trace_data
        self.call_stacks: list[CallStackGraph] = []
        rows: list[list[Any]] = []
        for rank in list(trace.get_all_traces()) if ranks is None else ranks:
            frame, first = trace.get_trace(rank), len(self.call_stacks)
            if pre_process_trace_data:
                self.constrain_child_time_withinin_parent(frame)
            tids = frame["tid"].replace((remapped_tids or {}).get(rank, {}))
            for (pid, tid), lane in frame.groupby([frame["pid"], tids]):
                on_device = lane["stream"].gt(0)
                rows.append([rank, pid, tid, len(self.call_stacks)])
                self.call_stacks.append(CallStackGraph(lane[on_device] if on_device.any() else lane, CallStackIdentity(rank, pid, tid),
                                                       filter_func))
            self._save(frame, self.call_stacks[first:])
        self.mapping = pd.DataFrame(rows, columns=["rank", "pid", "tid", "csg_index"]).set_index(["rank", "pid", "tid"])

    @staticmethod
    def _save(frame: Any, stacks: list[CallStackGraph]) -> None:
        """Parents and depths as columns; what is in no stack, as annotations among device work, has none."""
        if stacks and not env_options.disable_call_graph_depth():
            frame["depth"] = pd.concat([stack.depth for stack in stacks])
        parents = {index: node.parent for stack in stacks for index, node in stack.nodes.items() if index >= 0}
        parents.update(frame.loc[frame["stream"].ne(-1), "index_correlation"].to_dict())
        frame["parent"] = pd.Series(parents)

    def constrain_child_time_withinin_parent(self, df: Any) -> None:
        """Cuts the durations of Python functions, in place, so that none ends after the one of its thread that called it.

        >>> import pandas
        >>> from kino.hta.common.call_stack import CallGraph
        >>> frame = pandas.DataFrame({"python_id": [1, 2], "python_parent_id": [-1, 1], "tid": 5, "ts": [0, 4], "dur": [10, 9]})
        >>> CallGraph(analysis.t, ranks=[]).constrain_child_time_withinin_parent(frame); frame["dur"].tolist()
        [10, 6]
        """
        if df.empty or not {"python_id", "python_parent_id"} <= set(df.columns):
            return
        functions = df[df["python_id"].gt(-1)]
        by_number = dict(zip(functions["python_id"], functions.index))
        callees: dict[Any, list[Any]] = {}
        for label, parent, tid in zip(functions.index, functions["python_parent_id"], functions["tid"]):
            caller = by_number.get(parent) if parent > -1 else None
            callees.setdefault(caller if caller is not None and df.at[caller, "tid"] == tid else None, []).append(label)
        waiting = list(callees.get(None, []))
        while waiting:
            caller = waiting.pop()
            end = df.at[caller, "ts"] + df.at[caller, "dur"]
            for callee in callees.get(caller, []):
                df.at[callee, "dur"] = min(df.at[callee, "dur"], end - df.at[callee, "ts"])
                waiting.append(callee)

    def get_stack_of_node(self, node_id: int, rank: int, skip_ancestors: bool = False) -> Any:
        """The rows of the leaves below an event, of what they launched and, unless skip_ancestors, of what is above it.

        >>> from kino.hta.common.call_stack import CallGraph
        >>> calls = CallGraph(analysis.t, ranks=[0])
        >>> row = analysis.t.get_trace(0).query("depth == 0").iloc[0]
        >>> len(calls.get_stack_of_node(int(row["index"]), 0)) > 0
        True
        """
        frame = self.trace_data.get_trace(rank)
        row = frame.loc[node_id]
        if row["stream"] > -1:
            return self.get_stack_of_node(row["index_correlation"], rank, skip_ancestors)
        stack = self.call_stacks[self.mapping.loc[(rank, row["pid"], row["tid"]), "csg_index"]]
        leaves = stack.get_leaf_nodes(node_id)
        above = [] if skip_ancestors else stack.get_path_to_root(node_id)
        launched = frame.loc[leaves, "index_correlation"]
        return frame.reindex([*leaves, *above, *launched[launched > 0].tolist()])
