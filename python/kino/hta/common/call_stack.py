"""HTA's older call stacks, which its critical path is made of; trace_call_graph has the newer ones."""
from __future__ import annotations

import functools
from typing import Any, NamedTuple, Optional

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
    """What the rows of a lane ran on: one with any stream above 0 is of the device.

    >>> import pandas
    >>> from kino.hta.common.call_stack import infer_device_type
    >>> infer_device_type(pandas.DataFrame({"stream": [7, -1]})).name
    'GPU'
    """
    if "stream" in df.columns:
        if df["stream"].gt(0).any():
            return DeviceType.GPU
        if df["stream"].lt(0).all():
            return DeviceType.CPU
    return DeviceType.UNKNOWN


class Event(NamedTuple):
    """The start or end of a row.

    >>> from kino.hta.common.call_stack import EVENT_START, Event
    >>> Event(3, 10, EVENT_START, 5).idx
    3
    """

    idx: int
    ts: Any
    type: int
    dur: Any


def compare_events(x: Event, y: Event) -> int:
    """Below 0: x comes first; above 0: y does.

    >>> from kino.hta.common.call_stack import EVENT_END, EVENT_START, Event, compare_events
    >>> compare_events(Event(0, 5, EVENT_END, 5), Event(1, 5, EVENT_START, 3)) < 0
    True
    """
    x_opens, y_opens = x.type == EVENT_START, y.type == EVENT_START
    if x.idx == y.idx:
        return 0 if x_opens == y_opens else -1 if x_opens else 1
    if x.ts != y.ts:
        return -1 if x.ts < y.ts else 1
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


class CallStackGraph(CallTree):
    """The calls of one thread; lanes of the device have no tree.

    >>> import pandas
    >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
    >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1]})
    >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_path_to_root(1)
    [1, 0, -1]
    """

    def __init__(self, df: Any, identity: CallStackIdentity, filter_func: Optional[Filter] = None) -> None:
        self.df, self.identity, self.filter_func = df, identity, filter_func
        self.device_type: DeviceType = infer_device_type(df)
        self.root_index = NULL_NODE_INDEX
        self.nodes: dict[int, CallStackNode] = {}
        self.correlations: Any = df.set_index("index")["index_correlation"] if "index_correlation" in df.columns else None
        if self.device_type is not DeviceType.GPU:
            self._build(filter_func(df) if filter_func else df)
        self.depth = pd.Series({index: node.depth for index, node in self.nodes.items() if index >= 0}, dtype="int64", name="depth")

    def _build(self, df: Any) -> None:
        events: list[Event] = []
        for index, ts, dur in zip(df["index"].tolist(), df["ts"].tolist(), df["dur"].tolist()):
            length = max(dur, 0)
            events += [Event(index, ts, EVENT_START, length), Event(index, ts + length, EVENT_END, length)]
        self.nodes[NULL_NODE_INDEX] = CallStackNode(NULL_NODE_INDEX, -1, [])
        open_calls = [NULL_NODE_INDEX]
        for event in sorted(events, key=functools.cmp_to_key(compare_events)):
            if event.type == EVENT_END:
                open_calls.pop()
                continue
            self.nodes[event.idx] = CallStackNode(open_calls[-1], len(open_calls) - 1, [])
            self.nodes[open_calls[-1]].children.append(event.idx)
            open_calls.append(event.idx)

    def get_depth(self) -> Any:
        """Depths by index.

        >>> import pandas
        >>> from kino.hta.common.call_stack import CallStackGraph, CallStackIdentity
        >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1]})
        >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2)).get_depth().tolist()
        [0, 1]
        """
        return self.depth


class CallGraph:
    """A CallStackGraph for each lane of the ranks; ``mapping`` lists them by rank, pid and tid. The frames get the columns parent
    and depth.

    >>> from kino.hta.common.call_stack import CallGraph
    >>> len(CallGraph(analysis.t, ranks=[0]).call_stacks) > 1
    True
    """

    def __init__(self, trace: Trace, ranks: Optional[list[int]] = None, filter_func: Optional[Filter] = None,
                 remapped_tids: Optional[dict[int, dict[int, int]]] = None, pre_process_trace_data: bool = False) -> None:
        self.trace_data = trace
        self.call_stacks: list[CallStackGraph] = []
        rows: list[list[Any]] = []
        for rank in list(trace.get_all_traces()) if ranks is None else ranks:
            frame = trace.get_trace(rank)
            tids = frame["tid"].replace((remapped_tids or {}).get(rank, {}))
            frame["parent"], frame["depth"] = 0, 0  # what is in no stack: annotations among device work
            for (pid, tid), lane in frame.groupby([frame["pid"], tids]):
                rows.append([rank, pid, tid, len(self.call_stacks)])
                self.call_stacks.append(CallStackGraph(lane, CallStackIdentity(rank, pid, tid), filter_func))
                self._save(frame, self.call_stacks[-1])
            on_device = frame["stream"].gt(0)
            frame.loc[on_device, "parent"] = frame.loc[on_device, "index_correlation"].astype("int64")
            frame.loc[on_device, "depth"] = -1
        self.mapping = pd.DataFrame(rows, columns=["rank", "pid", "tid", "csg_index"]).set_index(["rank", "pid", "tid"])

    @staticmethod
    def _save(frame: Any, stack: CallStackGraph) -> None:
        index = [one for one in stack.nodes if one >= 0]
        frame.loc[index, "parent"] = [stack.nodes[one].parent for one in index]
        if not env_options.disable_call_graph_depth():
            frame.loc[index, "depth"] = [stack.nodes[one].depth for one in index]

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
