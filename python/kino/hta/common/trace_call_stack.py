"""The calls of one thread as a tree, with the device work that they launched below them."""
from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..configs.config import logger
from ._call_tree import NON_EXISTENT_NODE_INDEX, CallTree
from .trace_symbol_table import TraceSymbolTable
from .types import DeviceType, infer_device_type

__all__ = ["CLOSE_END", "EVENT_END", "EVENT_START", "NON_EXISTENT_NODE_INDEX", "NULL_NODE_INDEX", "OPEN_END", "STACK_COLUMNS", "CallStackGraph",
           "CallStackIdentity", "CallStackNode", "is_events_sorted", "sort_events"]

NULL_NODE_INDEX = -1
EVENT_START = 1
EVENT_END = -1
OPEN_END = -1
CLOSE_END = 1
_INDEX, _DUR, _KIND, _TIME = range(4)
STACK_COLUMNS = ("depth", "height", "parent", "num_kernels", "kernel_dur_sum", "kernel_span", "first_kernel_start", "last_kernel_end")


def _less_than(x: Any, y: Any) -> bool:
    """Does the mark x = (index, dur, OPEN_END or CLOSE_END, time) come before y?"""
    if x[_TIME] != y[_TIME]:
        return bool(x[_TIME] < y[_TIME])
    x_opens = x[_KIND] == OPEN_END
    if x[_INDEX] == y[_INDEX]:
        return bool(x_opens and y[_KIND] == CLOSE_END)
    is_same_kind = x[_KIND] == y[_KIND]
    if (x[_DUR] == 0) != (y[_DUR] == 0):  # what takes no time lies within what does
        return bool(x_opens if x[_DUR] else y[_KIND] == CLOSE_END)
    if not is_same_kind:
        return bool(x_opens == (x[_DUR] == 0))
    if x_opens:
        return bool((-x[_DUR], x[_INDEX]) < (-y[_DUR], y[_INDEX]))
    return bool((x[_DUR], -x[_INDEX]) < (y[_DUR], -y[_INDEX]))


def sort_events(a: Any) -> None:
    """Puts marks (index, dur, kind, time) in the order in which calls begin and end.

    >>> import numpy
    >>> from kino.hta.common.trace_call_stack import sort_events
    >>> marks = numpy.array([[2, 5, 1, 10], [1, 10, 1, 10], [2, 5, -1, 5], [1, 10, -1, 0]])
    >>> sort_events(marks); marks[:, 0].tolist()
    [1, 2, 2, 1]
    """
    order = sorted(a.tolist(), key=functools.cmp_to_key(lambda x, y: -1 if _less_than(x, y) else 1))
    a[:] = np.array(order, dtype=a.dtype).reshape(a.shape)


def is_events_sorted(arr: Any) -> bool:
    """Are they in that order?

    >>> import numpy
    >>> from kino.hta.common.trace_call_stack import is_events_sorted
    >>> is_events_sorted(numpy.array([[1, 10, -1, 0], [1, 10, 1, 10]]))
    True
    """
    return all(_less_than(arr[place], arr[place + 1]) for place in range(len(arr) - 1))


class CallStackIdentity(NamedTuple):
    """Whose calls they are.

    >>> from kino.hta.common.trace_call_stack import CallStackIdentity
    >>> CallStackIdentity(rank=0, pid=1, tid=2).tid
    2
    """

    rank: int = -1
    pid: int = -1
    tid: int = -1


@dataclass
class CallStackNode:
    """A call: what it was called from, how deep it is, how much is below it.

    >>> from kino.hta.common.trace_call_stack import CallStackNode
    >>> CallStackNode(parent=-2, depth=0, height=1).children
    []
    """

    parent: int = NULL_NODE_INDEX
    depth: int = -1
    height: int = -1
    device: DeviceType = DeviceType.CPU
    children: list[int] = field(default_factory=list)


DFSCallback = Callable[[int, CallStackNode], None]


def _marks(df: Any) -> list[tuple[int, Any, int, Any]]:
    marks: list[tuple[int, Any, int, Any]] = []
    for index, ts, dur in zip(df["index"].tolist(), df["ts"].tolist(), df["dur"].tolist()):
        length = max(dur, 0)
        marks += [(index, length, OPEN_END, ts), (index, length, CLOSE_END, ts + length)]
    return sorted(marks, key=functools.cmp_to_key(lambda x, y: -1 if _less_than(x, y) else 1))


class CallStackGraph(CallTree):
    """The calls of one thread. ``nodes`` has them by the index of their events; that of the thread itself is ``root_index``.
    Several graphs may share their nodes.

    >>> import pandas
    >>> from kino.hta.common.trace_call_stack import CallStackGraph, CallStackIdentity
    >>> from kino.hta.common.trace_symbol_table import TraceSymbolTable
    >>> frame = pandas.DataFrame({"index": [0, 1], "ts": [0, 2], "dur": [9, 3], "stream": [-1, -1], "index_correlation": [-1, -1]})
    >>> nothing = pandas.DataFrame({"cpu_index": [], "gpu_index": []})
    >>> CallStackGraph(frame, CallStackIdentity(0, 1, 2), nothing, frame, TraceSymbolTable()).get_path_to_root(1)
    [1, 0, -2]
    """

    def __init__(self, df: Any, identity: CallStackIdentity, cpu_gpu_correlation: Any, full_df: Any, symbol_table: TraceSymbolTable,
                 nodes: Optional[dict[int, CallStackNode]] = None, use_existing_stack_columns: bool = True,
                 save_call_stack_to_df: bool = True) -> None:
        self.df, self.identity, self.symbol_table, self.full_df = df, identity, symbol_table, full_df
        self.correlations = cpu_gpu_correlation
        self.device_type: DeviceType = infer_device_type(df)
        if self.device_type is DeviceType.GPU:
            logger.error("CallStackGraph on GPU threads is not supported. CallStackIdentity=%s", identity)
            return
        self.nodes: dict[int, CallStackNode] = nodes if nodes is not None else {}
        self.root_index: int = -abs(identity.tid)
        self.nodes.setdefault(self.root_index, CallStackNode(NULL_NODE_INDEX, -1, -1, self.device_type, []))
        self._build(df)
        self._link_kernels()
        self._measure(self.root_index)
        if save_call_stack_to_df and {"depth", "parent"} <= set(full_df.columns):
            self.save_call_stack_to_dataframe()

    def _build(self, df: Any) -> None:
        rows = df.loc[df["stream"].eq(-1)] if "stream" in df.columns else df
        open_calls = [self.root_index]
        for index, _, kind, _ in _marks(rows):
            if kind == CLOSE_END:
                open_calls.pop()
                continue
            self._add_edge(open_calls[-1], index, DeviceType.CPU)
            open_calls.append(index)

    def _add_edge(self, parent: int, child: int, device: DeviceType) -> None:
        self.nodes[child] = CallStackNode(parent, -1, -1, device, [])
        self.nodes[parent].children.append(child)

    def _link_kernels(self) -> None:
        mine = set(self.df["index"].tolist())
        for launch, kernel in zip(self.correlations["cpu_index"].tolist(), self.correlations["gpu_index"].tolist()):
            if launch in mine and launch in self.nodes and kernel not in self.nodes:
                self._add_edge(int(launch), int(kernel), DeviceType.GPU)

    def _measure(self, start: int) -> None:
        """Depths from the top, heights from the bottom."""
        for index, is_left in self._walk(start):
            node = self.nodes[index]
            if not is_left:
                node.depth = -1 if index < 0 else self.nodes[node.parent].depth + 1
            elif node.device is DeviceType.GPU:
                node.height = 0
            else:
                node.height = 1 + max((self.nodes[child].height for child in node.children), default=0)

    def update_parent_of_first_layer_nodes(self, new_parent_index: int) -> None:
        """Hangs the calls at the top of the thread below a call of another one, which shares the nodes.

        >>> callable(next(graph.get_call_stacks(rank=0)).update_parent_of_first_layer_nodes)
        True
        """
        self._update_parent(list(self.nodes[self.root_index].children), new_parent_index)
        self.root_index = self.get_root(new_parent_index)

    def _update_parent(self, indices: list[int], new_parent: int) -> None:
        for index in indices:
            self.nodes[self.nodes[index].parent].children.remove(index)
            self.nodes[index].parent = new_parent
            self.nodes[new_parent].children.append(index)
        self._measure(self.get_root(new_parent))

    def get_root(self, idx: int) -> int:
        """The thread at the top of a call.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.get_root(stack.get_children(stack.root_index)[0]) == stack.root_index
        True
        """
        return self.get_path_to_root(idx)[-1]

    def get_descendants(self, idx: int, include_gpu_kernel: bool = False) -> list[int]:
        """A call and everything below it, with device work, as in HTA.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.get_descendants(stack.root_index)[0] == stack.root_index
        True
        """
        return [index for index, is_left in self._walk(idx) if not is_left]

    def get_depth(self) -> Any:
        """Depths by index.

        >>> next(graph.get_call_stacks(rank=0)).get_depth().name
        'depth'
        """
        return pd.Series({index: node.depth for index, node in self.nodes.items() if index >= 0}, dtype=pd.Int16Dtype(), name="depth")

    # -- columns of the frame --

    def _kernel_facts(self, start: int) -> dict[int, tuple[int, Any, Any, Any]]:
        """By node: number of kernels at and below it, sum of their durations, first start, last end."""
        kernels = [index for index, is_left in self._walk(start) if not is_left and self.nodes[index].device is DeviceType.GPU]
        rows = self.full_df.loc[~self.full_df.index.duplicated()].reindex(kernels)
        own = {index: (1, dur, ts, ts + dur) for index, ts, dur in zip(kernels, rows["ts"].tolist(), rows["dur"].tolist())}
        facts: dict[int, tuple[int, Any, Any, Any]] = {}
        for index, is_left in self._walk(start):
            if not is_left:
                continue
            parts = [own[index]] if index in own else []
            parts += [facts[child] for child in self.nodes[index].children if facts[child][0]]
            facts[index] = ((sum(part[0] for part in parts), sum(part[1] for part in parts), min(part[2] for part in parts),
                             max(part[3] for part in parts)) if parts else (0, 0, -1, -1))
        return facts

    def save_call_stack_to_dataframe(self, apply_whole_graph: bool = False) -> None:
        """Writes depth, height, parent and what is known of kernels into the frame of the rank.

        >>> next(graph.get_call_stacks(rank=0)).save_call_stack_to_dataframe()
        """
        facts = {index: fact for index, fact in self._kernel_facts(self.root_index).items() if index >= 0}
        index = list(facts)
        values = {"depth": [self.nodes[one].depth for one in index], "height": [self.nodes[one].height for one in index],
                  "parent": [self.nodes[one].parent for one in index], "num_kernels": [facts[one][0] for one in index],
                  "kernel_dur_sum": [facts[one][1] for one in index],
                  "kernel_span": [facts[one][3] - facts[one][2] if facts[one][0] else 0 for one in index],
                  "first_kernel_start": [facts[one][2] for one in index], "last_kernel_end": [facts[one][3] for one in index]}
        known = [one in self.full_df.index for one in index]
        labels = [one for one, is_known in zip(index, known) if is_known]
        for column, cells in values.items():
            if self.full_df[column].dtype.kind == "i":
                self.full_df[column] = self.full_df[column].astype("int64")
            self.full_df.loc[labels, column] = [cell for cell, is_known in zip(cells, known) if is_known]
