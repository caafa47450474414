"""What graphs of critical paths are made of."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union


@dataclass
class CPNode:
    """The start or the end of an event.

    >>> from kino.hta.analyzers._critical_path_types import CPNode
    >>> CPNode(idx=0, ev_idx=7, is_start=True).ev_idx
    7
    """

    idx: int = -1
    ev_idx: int = -1
    ts: Union[int, float] = 0
    is_start: bool = False
    is_blocking: bool = False

    def __repr__(self) -> str:
        return (f"CPNode(event: {self.ev_idx}, node_id={self.idx}, ts={self.ts}, is_start={self.is_start}, "
                f"is_blocking={self.is_blocking})")


class CPEdgeType(Enum):
    """Why one node comes after another.

    >>> from kino.hta.analyzers._critical_path_types import CPEdgeType
    >>> CPEdgeType.DEPENDENCY.value
    'critical_path_dependency'
    """

    OPERATOR_KERNEL = "critical_path_operator"
    DEPENDENCY = "critical_path_dependency"
    KERNEL_LAUNCH_DELAY = "critical_path_kernel_launch_delay"
    KERNEL_KERNEL_DELAY = "critical_path_kernel_kernel_delay"
    SYNC_DEPENDENCY = "critical_path_sync_dependency"


class BoundType(Enum):
    """What time was spent on.

    >>> from kino.hta.analyzers._critical_path_types import BoundType
    >>> BoundType.CPU_BOUND.value
    'cpu_bound'
    """

    GPU_KERNEL_KERNEL_OVERHEAD = "gpu_kernel_kernel_overhead"
    GPU_KERNEL_LAUNCH_OVERHEAD = "gpu_kernel_launch_overhead"
    DATA_LOADING = "data_loading"
    CPU_BOUND = "cpu_bound"
    GPU_COMPUTE_BOUND = "gpu_compute_bound"
    GPU_COMMUNICATION_BOUND = "gpu_communication_bound"


#: The edges that overlaid traces show.
DEFAULT_EDGE_TYPES_IN_VIZ: set[CPEdgeType] = {CPEdgeType.DEPENDENCY, CPEdgeType.KERNEL_LAUNCH_DELAY, CPEdgeType.SYNC_DEPENDENCY}


@dataclass(frozen=True)
class CPEdge:
    """From one node to another, and the time in us between them that counts.

    >>> from kino.hta.analyzers._critical_path_types import CPEdge, CPEdgeType
    >>> CPEdge(0, 1, CPEdgeType.OPERATOR_KERNEL, 5).weight
    5
    """

    begin: int
    end: int
    type: CPEdgeType
    weight: Union[int, float] = 0


@dataclass(frozen=True)
class CPGraphData:
    """What a saved graph has beside its nodes, edges and events.

    >>> from kino.hta.analyzers._critical_path_types import CPGraphData
    >>> CPGraphData([], [0, 1], {7}, set(), {}, {}, {}).critical_path_nodes
    [0, 1]
    """

    node_list: list[CPNode]
    critical_path_nodes: list[int]
    critical_path_events_set: set[int]
    critical_path_edges_set: set[CPEdge]
    event_to_start_node_map: dict[int, int]
    event_to_end_node_map: dict[int, int]
    edge_to_event_map: dict[tuple[int, int], int]
