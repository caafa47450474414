"""The critical path of a region, as a graph of networkx: the engine finds it, the graph is for looking and for what-ifs."""
from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Callable, Optional, Union

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ... import _errors
from .._needs import need, not_in_kino
from ..common.trace import Trace
from ..common.trace_symbol_table import TraceSymbolTable, decode_symbol_id_to_symbol_name
from ..configs import env_options
from ..configs.config import logger
from ..utils.utils import is_comm_kernel
from . import _critical_path_files, _critical_path_frames
from ._critical_path_types import DEFAULT_EDGE_TYPES_IN_VIZ, BoundType, CPEdge, CPEdgeType, CPGraphData, CPNode

nx = need("networkx", "a critical path")
_NUMBER = 0xffffffff

__all__ = ["CUDA_RUNTIME_EVENTS", "DEFAULT_EDGE_TYPES_IN_VIZ", "KERNEL_KERNEL_DELAY_THRESHOLD_US", "BoundType", "CPEdge", "CPEdgeType",
           "CPGraph", "CPNode", "CriticalPathAnalysis", "restore_cpgraph"]

#: Calls that hold the lock of the CUDA runtime.
CUDA_RUNTIME_EVENTS = frozenset(["cudaHostAlloc", "cudaLaunchKernel", "cudaMemcpyAsync"])
#: Kernels that start later than this after the one before do not depend on it.
KERNEL_KERNEL_DELAY_THRESHOLD_US = 1500


def _microseconds(value: int) -> Union[int, float]:
    return value // 1000 if value % 1000 == 0 else value / 1000


class CPGraph(nx.DiGraph):  # type: ignore[misc,name-defined]
    """Starts and ends of events as nodes, what lets one come after another as edges; and the longest path through them.

    ``node_list`` has the nodes, each edge its CPEdge as "object"; ``critical_path_nodes``, ``critical_path_events_set`` and
    ``critical_path_edges_set`` are the path; ``trace_df`` has the events of the region. After changing weights, critical_path()
    finds the path again. critical_path_analysis() and restore_cpgraph() give graphs.

    >>> graph, is_ok = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
    >>> len(graph.critical_path_edges_set) == len(graph.critical_path_nodes) - 1  # doctest: +NETWORKX
    True
    """

    #: Calls that wait for the device: their own time is not on a path.
    BLOCKING_SYNC_CALLS = ["cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventQuery", "cudaEventSynchronize", "cudaMemcpy",
                           "cudaMemcpyAsync"]

    def __init__(self, t: Optional[Trace] = None, t_full: Optional[Trace] = None, rank: int = 0, G: Any = None,
                 data_load_events: Optional[list[str]] = None) -> None:
        if t is not None:
            raise not_in_kino("CPGraph of a clipped trace", "the engine reads traces from files", "critical_path_analysis()")
        super().__init__(G)
        self.rank, self.t, self.t_full, self.data_load_events = rank, t, t_full, data_load_events
        self.node_list: list[CPNode] = []
        self.event_to_start_node_map: dict[int, int] = {}
        self.event_to_end_node_map: dict[int, int] = {}
        self.edge_to_event_map: dict[tuple[int, int], int] = {}
        self.critical_path_nodes: list[int] = []
        self.critical_path_events_set: set[int] = set()
        self.critical_path_edges_set: set[CPEdge] = set()
        self._trace_df: Any = None
        self._clip: Optional[Callable[[], Any]] = None
        if t_full is not None:
            self.symbol_table: TraceSymbolTable = t_full.symbol_table
            self.full_trace_df = t_full.get_trace(rank)

    @property
    def trace_df(self) -> Any:
        """The events of the region.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> len(graph.trace_df) < len(analysis.t.get_trace(0))  # doctest: +NETWORKX
        True
        """
        if self._trace_df is None and self._clip is not None:
            self._trace_df = self._clip()
        return self._trace_df

    @trace_df.setter
    def trace_df(self, frame: Any) -> None:
        self._trace_df = frame

    def _fill(self, tables: dict[str, Any]) -> None:
        """With the engine's tables."""
        starts, durations = self.full_trace_df["ts"], self.full_trace_df["dur"]
        starts, durations = (values[~values.index.duplicated()].to_dict() for values in (starts, durations))
        for row in tables["nodes"]:
            place = row["event"] & _NUMBER
            time = starts[place] if row["is_start"] else starts[place] + durations[place]
            self.node_list.append(CPNode(row["node"], place, time, bool(row["is_start"]), bool(row["is_blocking"])))
            (self.event_to_start_node_map if row["is_start"] else self.event_to_end_node_map)[place] = row["node"]
        for row in tables["edges"]:
            edge = CPEdge(row["begin"], row["end"], CPEdgeType(row["type"]), _microseconds(row["weight"]))
            self._add_edge(edge)
            if row["attributed_event"] is not None:
                self.edge_to_event_map[edge.begin, edge.end] = row["attributed_event"] & _NUMBER
        self._set_path([row["node"] for row in tables["path"]])

    def _set_path(self, nodes: list[int]) -> None:
        self.critical_path_nodes = nodes
        self.critical_path_events_set = {self.node_list[node].ev_idx for node in nodes}
        self.critical_path_edges_set = {self.edges[pair]["object"] for pair in zip(nodes, nodes[1:])}

    # -- for what-ifs: edges that are not in the trace --

    def _add_edge(self, edge: CPEdge) -> None:
        self.add_edge(edge.begin, edge.end, weight=edge.weight, object=edge)

    def _add_edge_helper(self, src: CPNode, dest: CPNode, type: CPEdgeType, zero_weight: bool = False) -> CPEdge:
        """Adds an edge; dependencies take no time, other edges the time between their nodes."""
        assert src.idx != dest.idx, f"an edge from {src} to itself"
        is_free = zero_weight or type in (CPEdgeType.DEPENDENCY, CPEdgeType.SYNC_DEPENDENCY)
        edge = CPEdge(src.idx, dest.idx, type, 0 if is_free else dest.ts - src.ts)
        self._add_edge(edge)
        return edge

    def _add_gpu_cpu_sync_edge(self, gpu_node: CPNode, runtime_eid: int) -> None:
        """A call ends after device work; nothing where the call is not in the graph."""
        end = self.get_nodes_for_event(runtime_eid)[1]
        if end is not None:
            self._add_edge_helper(gpu_node, end, CPEdgeType.SYNC_DEPENDENCY)

    def _add_kernel_launch_delay_edge(self, runtime_index: int, kernel_start_node: CPNode, zero_weight: bool = False) -> bool:
        """A kernel starts after its launch; False where the launch is not in the graph."""
        start = self.get_nodes_for_event(runtime_index)[0]
        if start is not None:
            self._add_edge_helper(start, kernel_start_node, CPEdgeType.KERNEL_LAUNCH_DELAY, zero_weight)
        return start is not None

    def _attribute_edge(self, e: CPEdge, src_parent: Optional[int]) -> None:
        """Charges an edge to an event: the time in an operator to it, the time between two operators to the one around them."""
        if e.type not in (CPEdgeType.OPERATOR_KERNEL, CPEdgeType.KERNEL_KERNEL_DELAY):
            return
        src, dest = self.node_list[e.begin], self.node_list[e.end]
        if src.is_start or e.type is CPEdgeType.KERNEL_KERNEL_DELAY:
            event: Optional[int] = src.ev_idx
        else:
            event = src_parent if dest.is_start else dest.ev_idx
        assert event is not None, f"{e} lies between two events, and none is around them"
        self.edge_to_event_map[e.begin, e.end] = int(event)

    def _get_node_name(self, ev_id: int) -> str:
        return "ROOT" if ev_id < 0 else str(self.symbol_table.get_sym_table()[self.trace_df["name"].loc[ev_id]])

    def _get_cuda_event_record_df(self) -> Optional[Any]:
        return _critical_path_frames.records(self.full_trace_df, self.symbol_table)

    def _get_cuda_stream_wait_event_df(self) -> Optional[Any]:
        return _critical_path_frames.waits_for_events(self.full_trace_df, self.symbol_table)

    # -- questions --

    def get_nodes_for_event(self, ev_id: int) -> tuple[Optional[CPNode], Optional[CPNode]]:
        """Start and end of an event; None where it has none.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> start, end = graph.get_nodes_for_event(graph.node_list[0].ev_idx)  # doctest: +NETWORKX
        >>> start.is_start, end.is_start  # doctest: +NETWORKX
        (True, False)
        """
        start, end = self.event_to_start_node_map.get(ev_id), self.event_to_end_node_map.get(ev_id)
        return (None if start is None else self.node_list[start]), (None if end is None else self.node_list[end])

    def get_events_for_edge(self, edge: CPEdge) -> tuple[int, int]:
        """The events that an edge connects.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> len(graph.get_events_for_edge(next(iter(graph.critical_path_edges_set))))  # doctest: +NETWORKX
        2
        """
        return self.node_list[edge.begin].ev_idx, self.node_list[edge.end].ev_idx

    def get_event_attribution_for_edge(self, edge: CPEdge) -> Optional[int]:
        """The event that an edge's time is charged to; None where it is none.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> edges = [e for e in graph.critical_path_edges_set if e.type.name == "OPERATOR_KERNEL"]  # doctest: +NETWORKX
        >>> graph.get_event_attribution_for_edge(edges[0]) >= 0  # doctest: +NETWORKX
        True
        """
        return self.edge_to_event_map.get((edge.begin, edge.end))

    def get_edges_attributed_to_event(self, ev_idx: int) -> list[CPEdge]:
        """The edges that are charged to an event.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.get_edges_attributed_to_event(-5)  # doctest: +NETWORKX
        []
        """
        return [self.edges[pair]["object"] for pair, event in self.edge_to_event_map.items() if event == ev_idx]

    def critical_path(self) -> bool:
        """Finds the path again, with the weights that edges have now; False where the graph has a cycle.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.critical_path()  # doctest: +NETWORKX
        True
        """
        if not self._validate_graph():
            return False
        try:
            self._set_path(nx.dag_longest_path(self, weight="weight"))
        except nx.NetworkXUnfeasible as cycle:
            logger.error("the critical path cannot be found: %s", cycle)
            return False
        return True

    def _validate_graph(self) -> bool:
        """Whether a path through it means anything. Weights of -1 and less count as 0, unless the options are strict about them."""
        strict, streams = env_options.critical_path_strict_negative_weight_check(), self.full_trace_df["stream"]
        is_sound = True
        for begin, end, data in self.edges(data=True):
            edge = data["object"]
            if strict and data["weight"] < -1:
                logger.error("%s has a negative weight", edge)
                is_sound = False
            elif data["weight"] <= -1 and not strict:
                data["weight"] = 0
            if edge.type is CPEdgeType.SYNC_DEPENDENCY:
                sides = [streams.loc[self.node_list[node].ev_idx] for node in (begin, end)]
                if sides[0] == sides[1] != -1:
                    logger.error("%s synchronizes work of one stream", edge)
                    is_sound = False
        if is_sound and not nx.is_directed_acyclic_graph(self):
            logger.error("The graph has cycles: networkx.simple_cycles(graph) gives them.")
            is_sound = False
        return is_sound

    def bound_by(self, row: dict[str, Any]) -> str:
        """What an edge's time was spent on.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.bound_by({"type": "critical_path_kernel_launch_delay"})  # doctest: +NETWORKX
        'gpu_kernel_launch_overhead'
        """
        kind = CPEdgeType(row["type"])
        delays = {CPEdgeType.KERNEL_KERNEL_DELAY: BoundType.GPU_KERNEL_KERNEL_OVERHEAD,
                  CPEdgeType.KERNEL_LAUNCH_DELAY: BoundType.GPU_KERNEL_LAUNCH_OVERHEAD}
        if kind is not CPEdgeType.OPERATOR_KERNEL:
            return str(delays[kind].value) if kind in delays else ""
        if row["stream"] >= 0:
            bound = BoundType.GPU_COMMUNICATION_BOUND if is_comm_kernel(row["s_name"]) else BoundType.GPU_COMPUTE_BOUND
        else:
            is_data = any(re.search(pattern, row["s_name"]) for pattern in self.data_load_events or [])
            bound = BoundType.DATA_LOADING if is_data else BoundType.CPU_BOUND
        return str(bound.value)

    def get_critical_path_breakdown(self) -> Optional[Any]:
        """A row for each edge of the path, with the event it is charged to and what bounds it.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.get_critical_path_breakdown().columns[-1]  # doctest: +NETWORKX
        'bound_by'
        """
        if not self.critical_path_nodes:
            return None
        decode_symbol_id_to_symbol_name(self.trace_df, self.symbol_table, True)
        path = [self.edges[pair]["object"] for pair in zip(self.critical_path_nodes, self.critical_path_nodes[1:])]
        kind = "int64" if self.trace_df["dur"].dtype.kind == "i" else "float64"
        edges = pd.DataFrame({"event_idx": pd.Series([self.get_event_attribution_for_edge(edge) for edge in path], dtype="float64"),
                              "duration": pd.Series([edge.weight for edge in path], dtype=kind),
                              "type": [edge.type.value for edge in path]})
        events = self.trace_df[["s_name", "cat", "pid", "tid", "stream", "index"]]
        frame = edges.merge(events, left_on="event_idx", right_on="index", how="left")
        frame["bound_by"] = [self.bound_by(row) for row in frame.to_dict("records")]
        return frame

    def summary(self) -> Any:
        """Percent of the path by what bounds it.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> round(float(graph.summary().sum()))  # doctest: +NETWORKX
        100
        """
        frame = self.get_critical_path_breakdown()
        assert frame is not None, "there is no critical path"
        return frame.groupby("bound_by")["duration"].sum() / frame["duration"].sum() * 100

    def show_critical_path(self) -> None:
        """Logs the nodes of the path.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.show_critical_path()  # doctest: +NETWORKX
        """
        for node in self.critical_path_nodes:
            logger.info("Critical %s", self.node_list[node])

    def save(self, out_dir: str) -> str:
        """Saves the graph as HTA does: three files in ``out_dir``, and a zip file of them beside it, whose path it gives.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.save("saved-graph")  # doctest: +NETWORKX
        'saved-graph.zip'
        """
        data = CPGraphData(**{field.name: getattr(self, field.name) for field in fields(CPGraphData)})
        return _critical_path_files.write(out_dir, self.trace_df, nx.node_link_data(self), data)


def restore_cpgraph(zip_filename: str, t_full: Trace, rank: int) -> CPGraph:
    """A graph that CPGraph.save wrote, of kino.hta or of HTA. The pickles in the file cannot run code: only the types of a
    graph and numbers are accepted.

    >>> from kino.hta.analyzers.critical_path_analysis import restore_cpgraph  # doctest: +NETWORKX
    >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
    >>> again = restore_cpgraph(graph.save("saved-graph"), analysis.t, 0)  # doctest: +NETWORKX
    >>> again.summary().equals(graph.summary())  # doctest: +NETWORKX
    True
    """
    frame, links, data = _critical_path_files.read(zip_filename)
    graph = CPGraph(None, t_full, rank)
    graph.add_nodes_from(node["id"] for node in links["nodes"])
    for edge in links.get("edges", links.get("links", [])):
        graph.add_edge(edge["source"], edge["target"], weight=edge["weight"], object=edge["object"])
    for field in fields(data):
        setattr(graph, field.name, getattr(data, field.name))
    graph.trace_df = frame
    return graph


class CriticalPathAnalysis:
    """The analysis as functions of a Trace; TraceAnalysis has them as methods.

    >>> from kino.hta.analyzers.critical_path_analysis import CriticalPathAnalysis  # doctest: +NETWORKX
    >>> CriticalPathAnalysis.critical_path_analysis(analysis.t, 0, "no such thing", 0) is None  # doctest: +NETWORKX
    True
    """

    @classmethod
    def critical_path_analysis(cls, t: Trace, rank: int, annotation: str, instance_id: Union[None, int, tuple[int, int]],
                               data_load_events: Optional[list[str]] = None) -> Optional[tuple[CPGraph, bool]]:
        """TraceAnalysis.critical_path_analysis.

        >>> from kino.hta.analyzers.critical_path_analysis import CriticalPathAnalysis  # doctest: +NETWORKX
        >>> graph, is_ok = CriticalPathAnalysis.critical_path_analysis(analysis.t, 0, "ProfilerStep", 1)  # doctest: +NETWORKX
        >>> is_ok  # doctest: +NETWORKX
        True
        """
        if not any(annotation in symbol for symbol in t.symbol_table.sym_table):
            logger.error("Could not find annotation %s in the trace.", annotation)
            return None
        first, last = instance_id if isinstance(instance_id, tuple) else (instance_id or 0, instance_id or 0)
        params: dict[str, Any] = {"annotation": annotation, "instance": str(first) if first == last else f"{first}-{last}",
                                  "data_load_events": data_load_events or None, "graph": True,
                                  "zero_weight_edges": env_options.critical_path_add_zero_weight_launch_edges()}
        try:
            tables = {name: [row for row in t.store.rows("critical-path", name, **params) if row["rank"] == rank]
                      for name in ("nodes", "edges", "path", "graph")}
        except _errors.NotFoundError as missing:
            logger.error("%s", missing)
            return None
        graph = CPGraph(None, t, rank, data_load_events=data_load_events)
        graph._clip = functools.partial(_critical_path_frames.clip, t, rank, annotation, first, last)
        graph._fill(tables)
        return graph, all(row["is_ok"] for row in tables["graph"])

    @staticmethod
    def _show_zero_weight_launch_edges() -> bool:
        return env_options.critical_path_show_zero_weight_launch_edges()

    @staticmethod
    def _is_zero_weight_launch_edge(e: CPEdge) -> bool:
        return e.type is CPEdgeType.KERNEL_LAUNCH_DELAY and e.weight == 0

    @classmethod
    def _edges_to_show(cls, graph: CPGraph, show_all: bool, kinds: set[CPEdgeType]) -> Iterable[CPEdge]:
        if not show_all:
            return [edge for edge in graph.critical_path_edges_set if edge.type in kinds]
        edges = [data["object"] for _, _, data in graph.edges(data=True)]
        show_zero = cls._show_zero_weight_launch_edges()
        return [edge for edge in edges if show_zero or not cls._is_zero_weight_launch_edge(edge)]

    @staticmethod
    def _arrow(graph: CPGraph, edge: CPEdge, number: int, events: list[Any]) -> list[dict[str, Any]]:
        """Both ends of an edge; at ends of device work 1 us earlier, so that they lie in it."""
        args = {"weight": int(edge.weight), "critical": edge in graph.critical_path_edges_set, "type": edge.type.value}
        ends = []
        for node in (graph.node_list[edge.begin], graph.node_list[edge.end]):
            event = events[node.ev_idx]
            end = event["ts"] + event["dur"]
            if event.get("args", {}).get("device", -1) >= 0:
                end -= min(1, event["dur"])
            ends.append(Trace.flow_event(number, event["pid"], event["tid"], int(event["ts"] if node.is_start else end),
                                         node.idx == edge.begin, "critical_path", "critical_path", args))
        return ends

    @classmethod
    def overlay_critical_path_analysis(cls, t: Trace, rank: int, critical_path_graph: CPGraph, output_dir: str,
                                       only_show_critical_events: bool, show_all_edges: bool,
                                       edge_types_to_viz: Optional[set[CPEdgeType]] = None) -> str:
        """TraceAnalysis.overlay_critical_path_analysis.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> analysis.overlay_critical_path_analysis(0, graph, "overlay", False, True)  # doctest: +NETWORKX
        'overlay/overlaid_critical_path_rank-0.json'
        """
        folder = os.path.expanduser(output_dir)
        if os.path.exists(folder) and not os.path.isdir(folder):
            logger.error("%s is not a directory.", output_dir)
            return ""
        os.makedirs(folder, exist_ok=True)
        document = t.get_raw_trace_for_one_rank(rank)
        events = document["traceEvents"]
        for place in critical_path_graph.critical_path_events_set:
            events[place].setdefault("args", {})["critical"] = 1
        shown = cls._edges_to_show(critical_path_graph, show_all_edges and not only_show_critical_events,
                                   edge_types_to_viz or DEFAULT_EDGE_TYPES_IN_VIZ)
        arrows = [end for number, edge in enumerate(shown) for end in cls._arrow(critical_path_graph, edge, number, events)]
        if only_show_critical_events:
            events = [event for event in events if event["ph"] != "X" or event.get("cat") in ("user_annotation", "python_function") or
                      event.get("args", {}).get("critical") == 1]
        document["traceEvents"] = events + arrows
        path = os.path.join(folder, f"overlaid_critical_path_{os.path.basename(t.trace_files[rank])}")
        t.write_raw_trace(path, document)
        return path
