"""Execution traces of PyTorch beside a profiler's trace: which node an operator's event is."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from ..configs.config import logger
from ..utils.utils import normalize_path
from .trace import Trace
from .trace_file import _open

#: HTA needs a package to read execution traces; here nothing can be missing.
IMPORT_EXECUTION_TRACE_SUCCESSFULLY: bool = True
EXECUTION_TRACE_SUPPORTED_EVENTS: list[str] = ["cpu_op", "user_annotation"]
_COLUMNS = {"op_schema": "op_schema", "input_shapes": "input_shapes", "input_types": "input_types", "output_shapes": "output_shapes",
            "output_types": "output_types", "et_node_name": "name"}
_OWN_NODES = ("execution_trace|thread", "execution_trace|process")


@dataclass
class Node:
    """A node of an execution trace.

    >>> from kino.hta.common.execution_trace import Node
    >>> Node(3, "aten::add", rf_id=7).rf_id
    7
    """

    id: int
    name: str
    rf_id: Optional[int] = None
    parent: Optional[int] = None
    op_schema: str = ""
    input_shapes: list[Any] = field(default_factory=list)
    input_types: list[Any] = field(default_factory=list)
    output_shapes: list[Any] = field(default_factory=list)
    output_types: list[Any] = field(default_factory=list)


def _node(raw: dict[str, Any]) -> Node:
    """Of schema 1.0.1, which has everything at the top, and of later ones, which have attributes, inputs and outputs apart."""
    attributes = {one["name"]: one.get("value") for one in raw.get("attrs", [])}
    shapes = {}
    for side in ("input", "output"):
        group = raw.get(f"{side}s")
        nested = group if isinstance(group, dict) else {}
        for what in ("shapes", "types"):
            shapes[f"{side}_{what}"] = nested.get(what, raw.get(f"{side}_{what}", []))
    parent = raw.get("parent", raw.get("ctrl_deps"))
    return Node(raw["id"], raw["name"], attributes.get("rf_id", raw.get("rf_id")), parent,
                attributes.get("op_schema", raw.get("op_schema", "")) or "", **shapes)


class ExecutionTrace:
    """The nodes of an execution trace by their ids.

    >>> from kino.hta.common.execution_trace import ExecutionTrace
    >>> ExecutionTrace({"schema": "1.0.1", "nodes": [{"id": 2, "name": "aten::add", "rf_id": 5}]}).nodes[2].rf_id
    5
    """

    def __init__(self, json: dict[str, Any]) -> None:
        self.schema: str = str(json.get("schema", ""))
        self.nodes: dict[int, Node] = {raw["id"]: _node(raw) for raw in json.get("nodes", [])}


def load_execution_trace(et_file: str) -> ExecutionTrace:
    """Reads a file, compressed or not.

    >>> import json
    >>> from kino.hta.common.execution_trace import load_execution_trace
    >>> with open("et.json", "w") as file: json.dump({"schema": "1.0.1", "nodes": []}, file)
    >>> load_execution_trace("et.json").schema
    '1.0.1'
    """
    with _open(normalize_path(et_file)) as file:
        return ExecutionTrace(json.loads(file.read()))


def _et_has_overlap(trace_df: Any, et: ExecutionTrace) -> bool:
    """Were both recorded at the same time? Then the trace has the numbers of all nodes."""
    numbers = [node.rf_id for node in et.nodes.values() if node.rf_id is not None and not any(own in node.name for own in _OWN_NODES)]
    seen = trace_df["external_id"]
    return not numbers or bool(seen.min() <= min(numbers) and max(numbers) <= seen.max())


def correlate_execution_trace(trace: Trace, rank: int, et: ExecutionTrace) -> None:
    """Adds the column et_node to the rank's frame: the id of the node that an operator or annotation is.

    >>> from kino.hta.common.execution_trace import ExecutionTrace, correlate_execution_trace
    >>> correlate_execution_trace(analysis.t, 0, ExecutionTrace({"nodes": []}))
    """
    frame = trace.get_trace(rank)
    if not _et_has_overlap(frame, et):
        logger.error("Execution Trace and kineto trace do not overlap: they cannot be correlated")
        return
    nodes = {node.rf_id: number for number, node in et.nodes.items()}
    kinds = [trace.symbol_table.sym_index.get(kind) for kind in EXECUTION_TRACE_SUPPORTED_EVENTS]
    frame["et_node"] = frame["external_id"].map(nodes).astype("float64").where(frame["cat"].isin(kinds))


def add_et_column(trace_df: Any, et: ExecutionTrace, column: str) -> None:
    """Adds what nodes know to a frame that has et_node: op_schema, input_shapes, input_types, output_shapes, output_types or
    et_node_name.

    >>> from kino.hta.common.execution_trace import ExecutionTrace, add_et_column
    >>> import pandas
    >>> frame = pandas.DataFrame({"et_node": [2.0]})
    >>> add_et_column(frame, ExecutionTrace({"nodes": [{"id": 2, "name": "aten::add"}]}), "et_node_name")
    >>> frame["et_node_name"].tolist()
    ['aten::add']
    """
    if "et_node" not in trace_df:
        logger.error("Please run correlate_execution_trace() first")
        return
    if column not in _COLUMNS:
        logger.error("Unknown column %s", column)
        return
    trace_df[column] = [getattr(et.nodes[int(number)], _COLUMNS[column]) if number == number else float("nan")
                        for number in trace_df["et_node"]]
