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


def _cmp_events_with_zero_duration(x: Any, y: Any) -> bool:
    """Does x come before y at the same time, where at least one takes none? What takes no time lies within what does."""
    if x[_DUR] and y[_DUR]:
        raise ValueError(f"both {x} and {y} take time")
    x_opens, y_opens = x[_KIND] == OPEN_END, y[_KIND] == OPEN_END
    if x[_DUR] or y[_DUR]:
        return bool(x_opens if x[_DUR] else not y_opens)
    if x_opens != y_opens:
        return bool(x_opens)
    return bool(x[_INDEX] < y[_INDEX] if x_opens else x[_INDEX] > y[_INDEX])


def _less_than(x: Any, y: Any) -> bool:
    """Does the mark x = (index, dur, OPEN_END or CLOSE_END, time) come before y?"""
    if x[_TIME] != y[_TIME]:
        return bool(x[_TIME] < y[_TIME])
    x_opens, y_opens = x[_KIND] == OPEN_END, y[_KIND] == OPEN_END
    if x[_INDEX] == y[_INDEX]:
        return bool(x_opens and not y_opens)
    if x[_DUR] == 0 or y[_DUR] == 0:
        return _cmp_events_with_zero_duration(x, y)
    if x_opens != y_opens:
        return bool(y_opens)
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


def _marks(df: Any) -> Any:
    """The starts and ends of rows in their order: index, dur, kind, time."""
    length = df["dur"].clip(lower=0)
    sides = [np.column_stack([df["index"], length, np.full(len(df), kind), times]) for kind, times in ((OPEN_END, df["ts"]),
                                                                                                      (CLOSE_END, df["ts"] + length))]
    marks = np.concatenate(sides)
    marks = marks[np.argsort(marks[:, _TIME], kind="stable")]
    sort_events(marks)
    if len({tuple(mark) for mark in marks.tolist()}) != len(marks):
        logger.error("The rows of a thread have duplicates.")
    return marks


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
        if "end" not in full_df.columns:
            full_df["end"] = full_df["ts"] + full_df["dur"]
        if use_existing_stack_columns and self._has_valid_stack_columns():
            self._build_from_columns()
            return
        self._build(df)
        self._link_kernels()
        self._measure(self.root_index)
        if save_call_stack_to_df:
            self.save_call_stack_to_dataframe()

    def _has_valid_stack_columns(self) -> bool:
        """Whether the frame of the rank has the calls of the thread, from an earlier graph."""
        columns = ["parent", "depth", "height"]
        if not set(columns) <= set(self.full_df.columns):
            return False
        rows = self.full_df.loc[self.df.index, columns]
        return bool(len(rows) and not rows.isna().any(axis=None) and rows["parent"].ne(-1).any())

    def _build_from_columns(self) -> None:
        rows = self.full_df.loc[self.df.index].sort_values("ts", kind="stable")
        for index, parent, depth, height in zip(*(rows[column].tolist() for column in ("index", "parent", "depth", "height"))):
            self.nodes[index] = CallStackNode(parent, depth, height, self.device_type, [])
        for index in rows["index"].tolist():
            above = self.nodes.get(self.nodes[index].parent, self.nodes[self.root_index])
            above.children.append(index)
        self._link_kernels()

    def _build(self, df: Any) -> None:
        rows = df.loc[df["stream"].eq(-1)] if "stream" in df.columns else df
        open_calls = [self.root_index]
        for index, _, kind, _ in _marks(rows).tolist():
            if kind == CLOSE_END:
                del open_calls[max(1, len(open_calls) - 1):]  # the root stays: rows without length may end before they begin
                continue
            self._add_edge(open_calls[-1], int(index))
            open_calls.append(int(index))
        logger.debug("The calls of %s are a tree of %d nodes.", self.identity, len(self.nodes))

    def _add_edge(self, parent_index: int, child_index: int, device: DeviceType = DeviceType.CPU) -> None:
        """Hangs a call below another one; nothing where it is in the tree already."""
        if child_index in self.nodes:
            logger.error("The call %d is already below %d.", child_index, self.nodes[child_index].parent)
            return
        above = self.nodes.setdefault(parent_index, CallStackNode(self.root_index, 0, -1, device, []))
        above.children.append(child_index)
        self.nodes[child_index] = CallStackNode(parent_index, above.depth + 1, -1, device, [])

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
        """Hangs the calls at the top of the thread that run within a call of another one below it; both share their nodes.

        >>> next(graph.get_call_stacks(rank=0)).update_parent_of_first_layer_nodes(10**9)
        Traceback (most recent call last):
        ...
        ValueError: 1000000000 is not a call
        """
        if new_parent_index not in self.nodes or new_parent_index not in self.full_df.index:
            raise ValueError(f"{new_parent_index} is not a call")
        frame = self.full_df[~self.full_df.index.duplicated()]
        around, rows = frame.loc[new_parent_index], frame.reindex(self.nodes[self.root_index].children)
        is_inside = rows["ts"].ge(around["ts"]) & (rows["ts"] + rows["dur"]).le(around["ts"] + around["dur"])
        self._update_parent(rows.index[is_inside].tolist(), new_parent_index)

    def _update_parent(self, node_indices: list[int], new_parent_index: int) -> None:
        """Hangs calls below another one. A thread without calls of its own becomes a part of that one's."""
        if new_parent_index not in self.nodes:
            raise ValueError(f"{new_parent_index} is not a call")
        target = self.nodes[new_parent_index]
        for index in node_indices:
            if index in self.nodes and self.nodes[index].parent != new_parent_index:
                self.nodes[self.nodes[index].parent].children.remove(index)
                self.nodes[index].parent = new_parent_index
                target.children.append(index)
        if not self.nodes[self.root_index].children:
            del self.nodes[self.root_index]
            self.root_index = self.get_root(new_parent_index)
        self._measure(self.get_root(new_parent_index))

    def get_paths_to_leaves(self, idx: int, include_cuda_kernel: bool = False) -> list[list[int]]:
        """The ways down from a call, with device work if asked for.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> leaf = stack.get_leaf_nodes(stack.root_index)[0]
        >>> stack.get_paths_to_leaves(leaf) == [[leaf]]
        True
        """
        return self._paths(idx, include_cuda_kernel)

    def get_leaf_nodes(self, idx: int, include_gpu_kernel: bool = False) -> list[int]:
        """The calls below one that call nothing, or the device work that is launched.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> len(stack.get_leaf_nodes(stack.root_index, include_gpu_kernel=True)) > 0
        True
        """
        return [path[-1] for path in self._paths(idx, include_gpu_kernel)]

    def get_root(self, idx: int) -> int:
        """The thread at the top of a call; NULL_NODE_INDEX where the call is not known.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.get_root(stack.get_children(stack.root_index)[0]) == stack.root_index
        True
        """
        return (self.get_path_to_root(idx) or [NULL_NODE_INDEX])[-1]

    def get_descendants(self, idx: int, include_gpu_kernel: bool = False) -> list[int]:
        """A call and everything below it, with device work, as in HTA.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.get_descendants(stack.root_index)[0] == stack.root_index
        True
        """
        return [index for index, is_left in self._walk(idx) if not is_left]

    def get_depth(self) -> Any:
        """Depths of its calls by index.

        >>> next(graph.get_call_stacks(rank=0)).get_depth().name
        'depth'
        """
        if "depth" in self.full_df.columns:
            return self.full_df.loc[self.df["index"], "depth"]
        depths = {index: node.depth for index, node in self.nodes.items() if index >= 0}
        return pd.Series(depths, dtype=pd.Int16Dtype(), name="depth").loc[self.df["index"]].rename_axis(None)

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

    def _write(self, column: str, values: dict[int, Any]) -> None:
        """Cells of the rank's frame, by index."""
        kind = self.full_df[column].dtype
        if isinstance(kind, np.dtype) and kind.kind == "i":
            self.full_df[column] = self.full_df[column].astype("int64")
        known = {index: value for index, value in values.items() if index in self.full_df.index}
        self.full_df.loc[list(known), column] = list(known.values())

    def _roots(self, root_index: Optional[int], apply_whole_graph: bool) -> list[int]:
        if apply_whole_graph:
            return [index for index, node in self.nodes.items() if index < 0 and node.parent == NULL_NODE_INDEX]
        return [self.root_index if root_index is None else root_index]

    def _add_kernel_info_to_cpu_ops(self, root_index: Optional[int] = None, apply_whole_graph: bool = False) -> None:
        """Writes what is known of kernels below calls into the frame of the rank, where that has the columns."""
        if "num_kernels" not in self.full_df.columns:
            logger.warning("The DataFrame has no column named 'num_kernels'.")
            return
        for root in self._roots(root_index, apply_whole_graph):
            facts = {index: fact for index, fact in self._kernel_facts(root).items() if index >= 0}
            for place, column in enumerate(("num_kernels", "kernel_dur_sum", "first_kernel_start", "last_kernel_end")):
                self._write(column, {index: fact[place] for index, fact in facts.items()})
            self._write("kernel_span", {index: last - first if count else 0 for index, (count, _, first, last) in facts.items()})

    def _save_call_stack_to_df(self) -> None:
        """Writes depth, height and parent into the frame of the rank, where that has the columns."""
        if self.device_type is DeviceType.GPU:
            return
        if "parent" not in self.full_df.columns:
            logger.warning("The DataFrame has no column named 'parent'.")
            return
        for column in ("depth", "height", "parent"):
            self._write(column, {index: getattr(node, column) for index, node in self.nodes.items() if index >= 0})

    def save_call_stack_to_dataframe(self, apply_whole_graph: bool = False) -> None:
        """Writes depth, height, parent and what is known of kernels into the frame of the rank; with ``apply_whole_graph`` of all
        threads that share the nodes.

        >>> next(graph.get_call_stacks(rank=0)).save_call_stack_to_dataframe()
        """
        for root in self._roots(None, apply_whole_graph):
            self._measure(root)
        self._add_kernel_info_to_cpu_ops(apply_whole_graph=apply_whole_graph)
        self._save_call_stack_to_df()
