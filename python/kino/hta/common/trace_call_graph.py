"""The calls of all threads of ranks, as trees."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from .trace import Trace, get_cpu_gpu_correlation
from .trace_call_stack import STACK_COLUMNS, CallStackGraph, CallStackIdentity, CallStackNode
from .trace_symbol_table import TraceSymbolTable

_MAPPING = ["rank", "pid", "tid", "label", "stack_index", "stack_root", "count"]


class CallGraph:
    """A CallStackGraph for each thread of the ranks; ``mapping`` lists them. The frames get the columns of CallGraph.stack_columns.
    If the rank has a main thread and one of autograd, the calls of the latter hang below the backward pass of the former.

    >>> from kino.hta.common.trace_call_graph import CallGraph
    >>> list(CallGraph(analysis.t, ranks=[0]).mapping["label"])[0]
    'main'
    """

    stack_columns = ["parent", "depth", "height", "first_kernel_start", "last_kernel_end", "num_kernels", "kernel_dur_sum", "kernel_span"]

    def __init__(self, trace: Trace, ranks: Optional[list[int]] = None) -> None:
        self.trace_data = trace
        known = trace.get_ranks()
        self.ranks: list[int] = [rank for rank in ranks if rank in known] if ranks else known
        if not self.ranks:
            raise ValueError("No rank was found for the trace.")
        self.rank_to_nodes: dict[int, dict[int, CallStackNode]] = {rank: {} for rank in self.ranks}
        self.rank_to_stacks: dict[int, dict[CallStackIdentity, CallStackGraph]] = {rank: {} for rank in self.ranks}
        self.call_stacks: list[CallStackGraph] = []
        self._rows: list[list[Any]] = []
        for rank in self.ranks:
            self._build(rank)
        self.mapping = pd.DataFrame([[*row, self.call_stacks[row[4]].root_index, 1] for row in self._rows], columns=_MAPPING)
        self.mapping["count"] = self.mapping.groupby(["rank", "stack_root"])["count"].cumsum()
        self._cached_rank = self.ranks[0]

    @staticmethod
    def from_dataframe(df: Any, symbol_table: Optional[TraceSymbolTable] = None, rank: int = -1) -> CallGraph:
        """Of a frame.

        >>> from kino.hta.common.trace_call_graph import CallGraph
        >>> CallGraph.from_dataframe(analysis.t.get_trace(0), analysis.t.symbol_table).ranks
        [-1]
        """
        trace = Trace(trace_files={}, trace_dir="")
        trace.symbol_table = symbol_table if symbol_table else TraceSymbolTable.create_from_df(df)
        trace.traces[rank] = df.copy()
        trace.is_parsed = True
        return CallGraph(trace)

    def _label(self, names: list[str]) -> str:
        if any(name.startswith("ProfilerStep#") for name in names):
            return "main"
        return "bwd" if any("autograd::" in name for name in names) else names[0]

    def _build(self, rank: int) -> None:
        frame, symbols = self.trace_data.get_trace(rank), self.trace_data.symbol_table
        for column in STACK_COLUMNS:
            frame[column] = -1 if column in ("depth", "height", "parent", "first_kernel_start", "last_kernel_end") else 0
        for column in STACK_COLUMNS[4:]:
            frame[column] = frame[column].astype(frame["dur"].dtype if frame["dur"].dtype.kind == "f" else "int64")
        pairs = get_cpu_gpu_correlation(frame)
        of_rank = []
        for (pid, tid), lane in frame.groupby(["pid", "tid"]):
            if lane["stream"].gt(0).all() or pid == 0 or tid == 0 or not lane["stream"].eq(-1).any():
                continue
            identity = CallStackIdentity(rank, pid, tid)
            stack = CallStackGraph(lane, identity, pairs, frame, symbols, self.rank_to_nodes[rank], save_call_stack_to_df=False)
            self.rank_to_stacks[rank][identity] = stack
            label = self._label([symbols.sym_table[number] for number in lane["name"]])
            of_rank.append([rank, pid, tid, label, len(self.call_stacks)])
            self.call_stacks.append(stack)
        self._connect(frame, of_rank)
        self._rows += of_rank
        if of_rank:
            self.call_stacks[-1].save_call_stack_to_dataframe(apply_whole_graph=True)
        for column in STACK_COLUMNS[:4]:
            frame[column] = pd.to_numeric(frame[column], downcast="integer")

    def _connect(self, frame: Any, of_rank: list[list[Any]]) -> None:
        """Backward calls below the backward pass of the main thread, or below its steps."""
        by_label = {row[3]: row for row in of_rank if row[3] in ("main", "bwd")}
        if len(by_label) != 2 or sum(row[3] in by_label for row in of_rank) != 2:
            return
        main, backward = (self.call_stacks[by_label[label][4]] for label in ("main", "bwd"))
        names = self.trace_data.symbol_table.sym_table
        rows = main.df.assign(text=[names[number] for number in main.df["name"]])
        passes = rows[rows["text"].str.startswith("## backward ##")]
        passes = passes if not passes.empty else rows[rows["text"].str.startswith("ProfilerStep#")]
        for index in passes["index"].tolist():
            if backward.root_index != main.root_index:
                backward.update_parent_of_first_layer_nodes(index)

    def get_call_stacks(self, rank: Optional[int] = None, pid: Optional[int] = None, tid: Optional[int] = None,
                        stack_index: Optional[int] = None) -> Iterator[CallStackGraph]:
        """The graphs of a rank, process, thread or number.

        >>> len(list(graph.get_call_stacks(rank=0))) > 0
        True
        """
        rows = self.mapping
        for column, value in (("rank", rank), ("pid", pid), ("tid", tid), ("stack_index", stack_index)):
            rows = rows if value is None else rows.loc[rows[column].eq(value)]
        return (self.call_stacks[number] for number in rows["stack_index"].tolist())

    def _frame(self, rank: Optional[int]) -> Any:
        if rank is not None and rank in self.ranks:
            self._cached_rank = rank
        return self.trace_data.get_trace(self._cached_rank)

    def get_node_attributes(self, index: int, rank: Optional[int] = None) -> Any:
        """The row of an event.

        >>> frame = analysis.t.get_trace(0)
        >>> int(graph.get_node_attributes(frame["index"].iloc[0])["index"]) == int(frame["index"].iloc[0])
        True
        """
        frame = self._frame(rank)
        if index not in frame.index:
            raise ValueError(f"invalid node index - {index}")
        return frame.loc[frame["index"].eq(index)].squeeze()

    def _call_of(self, index: int, rank: Optional[int]) -> Any:
        """The row itself, or for device work that of its launch."""
        node = self.get_node_attributes(index, rank)
        return self.get_node_attributes(node["parent"], rank) if node["stream"] > 0 else node

    def get_csg_of_node(self, index: int, rank: Optional[int] = None) -> CallStackGraph:
        """The graph that an event is in.

        >>> row = analysis.t.get_trace(0).query("depth == 0").iloc[0]
        >>> graph.get_csg_of_node(int(row["index"])).identity.tid == row["tid"]
        True
        """
        call = self._call_of(index, rank)
        found = next(iter(self.get_call_stacks(rank=self._cached_rank, pid=call["pid"], tid=call["tid"])), None)
        if found is None:
            raise ValueError(f"could not locate call stack for node {index}")
        return found

    def get_stack_of_node(self, index: int, rank: Optional[int] = None, skip_ancestors: bool = False) -> Any:
        """The rows of an event, of everything below it and, unless skip_ancestors, above it, by start.

        >>> row = analysis.t.get_trace(0).query("num_kernels > 0 and stream == -1").iloc[0]
        >>> bool((graph.get_stack_of_node(int(row["index"]))["stream"] >= 0).any())
        True
        """
        call, stack = self._call_of(index, rank), self.get_csg_of_node(index, rank)
        wanted = set(stack.get_descendants(call["index"])) if call["index"] == index else {index}
        if not skip_ancestors:
            wanted |= set(stack.get_path_to_root(call["index"]))
        frame = self._frame(rank)
        return frame.loc[sorted(one for one in wanted if one >= 0)].sort_values("ts", kind="stable")

    def get_gpu_kernels(self, rank: Optional[int] = None) -> Any:
        """The device work of a rank.

        >>> bool((graph.get_gpu_kernels()["stream"] >= 0).all())
        True
        """
        frame = self._frame(rank)
        return frame.loc[frame["stream"].ne(-1)]
