"""The critical path of a region, as a graph of networkx: the engine finds it, the graph is for looking and for what-ifs."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, Optional, Union

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ... import _errors
from .._needs import need, not_in_kino
from ..common.trace import Trace
from ..common.trace_symbol_table import TraceSymbolTable, decode_symbol_id_to_symbol_name
from ..configs import env_options
from ..configs.config import logger
from ..utils.utils import is_comm_kernel
from ._critical_path_types import DEFAULT_EDGE_TYPES_IN_VIZ, BoundType, CPEdge, CPEdgeType, CPNode

nx = need("networkx", "a critical path")
_NUMBER = 0xffffffff

__all__ = ["DEFAULT_EDGE_TYPES_IN_VIZ", "BoundType", "CPEdge", "CPEdgeType", "CPGraph", "CPNode", "CriticalPathAnalysis",
           "restore_cpgraph"]


def _microseconds(value: int) -> Union[int, float]:
    return value // 1000 if value % 1000 == 0 else value / 1000


class CPGraph(nx.DiGraph):  # type: ignore[misc,name-defined]
    """Starts and ends of events as nodes, what lets one come after another as edges; and the longest path through them.

    ``node_list`` has the nodes, each edge its CPEdge as "object"; ``critical_path_nodes``, ``critical_path_events_set`` and
    ``critical_path_edges_set`` are the path. After changing weights, critical_path() finds it again.

    >>> graph, is_ok = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
    >>> len(graph.critical_path_edges_set) == len(graph.critical_path_nodes) - 1  # doctest: +NETWORKX
    True
    """

    def __init__(self, graph: Any = None, /, t: Optional[Trace] = None, rank: int = 0, tables: Optional[dict[str, Any]] = None,
                 trace_df: Any = None, data_load_events: Optional[list[str]] = None) -> None:
        super().__init__(graph)
        self.rank, self.t_full, self.data_load_events, self.trace_df = rank, t, data_load_events, trace_df
        self.node_list: list[CPNode] = []
        self.event_to_start_node_map: dict[int, int] = {}
        self.event_to_end_node_map: dict[int, int] = {}
        self.edge_to_event_map: dict[tuple[int, int], int] = {}
        self.critical_path_nodes: list[int] = []
        self.critical_path_events_set: set[int] = set()
        self.critical_path_edges_set: set[CPEdge] = set()
        self.is_sound = True
        if t is not None and tables is not None:
            self.symbol_table: TraceSymbolTable = t.symbol_table
            self.full_trace_df = t.get_trace(rank)
            self._fill(tables)

    def _fill(self, tables: dict[str, Any]) -> None:
        starts, durations = self.full_trace_df["ts"], self.full_trace_df["dur"]
        starts, durations = (values[~values.index.duplicated()].to_dict() for values in (starts, durations))
        for row in tables["nodes"]:
            place = row["event"] & _NUMBER
            time = starts[place] if row["is_start"] else starts[place] + durations[place]
            self.node_list.append(CPNode(row["node"], place, time, bool(row["is_start"]), bool(row["is_blocking"])))
            (self.event_to_start_node_map if row["is_start"] else self.event_to_end_node_map)[place] = row["node"]
        for row in tables["edges"]:
            edge = CPEdge(row["begin"], row["end"], CPEdgeType(row["type"]), _microseconds(row["weight"]))
            self.add_edge(edge.begin, edge.end, weight=edge.weight, object=edge)
            if row["attributed_event"] is not None:
                self.edge_to_event_map[edge.begin, edge.end] = row["attributed_event"] & _NUMBER
        self._set_path([row["node"] for row in tables["path"]])
        self.is_sound = all(row["is_ok"] for row in tables["graph"])

    def _set_path(self, nodes: list[int]) -> None:
        self.critical_path_nodes = nodes
        self.critical_path_events_set = {self.node_list[node].ev_idx for node in nodes}
        self.critical_path_edges_set = {self.edges[pair]["object"] for pair in zip(nodes, nodes[1:])}

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
        strict = env_options.critical_path_strict_negative_weight_check()
        if strict and any(weight < -1 for _, _, weight in self.edges(data="weight")):
            return False
        for _, _, data in self.edges(data=True):
            if data["weight"] <= -1:
                data["weight"] = 0
        try:
            self._set_path(nx.dag_longest_path(self, weight="weight"))
        except nx.NetworkXUnfeasible as cycle:
            logger.error("the critical path cannot be found: %s", cycle)
            return False
        return self.is_sound

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
        """Not in kino.hta: HTA's files are pickles, which run code of whoever wrote them.

        >>> graph, _ = analysis.critical_path_analysis(0, "ProfilerStep", 0)  # doctest: +NETWORKX
        >>> graph.save("out")  # doctest: +NETWORKX, +ELLIPSIS
        Traceback (most recent call last):
        ...
        NotImplementedError: CPGraph.save is not in kino.hta: ...
        """
        raise not_in_kino("CPGraph.save", "HTA saves pickles, which run code when they are read",
                          "critical_path_analysis(), which takes less time than reading one")


def restore_cpgraph(zip_filename: str, t_full: Trace, rank: int) -> CPGraph:
    """Not in kino.hta, as CPGraph.save.

    >>> from kino.hta.analyzers.critical_path_analysis import restore_cpgraph  # doctest: +NETWORKX
    >>> restore_cpgraph("graph.zip", analysis.t, 0)  # doctest: +NETWORKX, +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotImplementedError: restore_cpgraph is not in kino.hta: ...
    """
    raise not_in_kino("restore_cpgraph", "HTA saves pickles, which run code when they are read", "critical_path_analysis()")


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
        instance = "-".join(map(str, instance_id)) if isinstance(instance_id, tuple) else str(instance_id or 0)
        params: dict[str, Any] = {"annotation": annotation, "instance": instance, "data_load_events": data_load_events or None, "graph": True,
                  "zero_weight_edges": env_options.critical_path_add_zero_weight_launch_edges()}
        try:
            tables = {name: [row for row in t.store.rows("critical-path", name, **params) if row["rank"] == rank]
                      for name in ("nodes", "edges", "path", "graph")}
        except _errors.NotFoundError as missing:
            logger.error("%s", missing)
            return None
        events = {row["event"] & _NUMBER for row in tables["nodes"]}
        frame = t.get_trace(rank)
        graph = CPGraph(None, t, rank, tables, frame[frame["index"].isin(events)].copy(), data_load_events)
        return graph, graph.is_sound

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
