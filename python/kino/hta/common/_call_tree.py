"""Trees of calls, and questions to them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

from .types import DeviceType

NON_EXISTENT_NODE_INDEX = -2


class CallTree:
    """Nodes (with parent, depth and children) by the index of their events, below root_index."""

    df: Any
    nodes: dict[int, Any]
    root_index: int

    def _walk(self, start: int) -> Iterator[tuple[int, bool]]:
        """Each node when it is entered, and again (True) when it is left."""
        waiting = [(start, False)]
        while waiting:
            index, is_left = waiting.pop()
            yield index, is_left
            if not is_left:
                waiting.append((index, True))
                waiting += [(child, False) for child in reversed(self.nodes[index].children)]

    def __repr__(self) -> str:
        return "CallStackGraph(\n" + "".join(f"    {index}: {node}\n" for index, node in self.nodes.items()) + ")"

    def get_nodes(self) -> dict[int, Any]:
        """The nodes by index.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.root_index in stack.get_nodes()
        True
        """
        return self.nodes

    def get_parent(self, idx: int) -> int:
        """What a call was called from; NON_EXISTENT_NODE_INDEX where it is not known.

        >>> next(graph.get_call_stacks(rank=0)).get_parent(10**9)
        -2
        """
        return self.nodes[idx].parent if idx in self.nodes else NON_EXISTENT_NODE_INDEX

    def get_children(self, idx: int) -> list[int]:
        """What a call calls, with device work.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> len(stack.get_children(stack.root_index)) > 0
        True
        """
        return self.nodes[idx].children if idx in self.nodes else []

    def get_path_to_root(self, idx: int) -> list[int]:
        """A call and all above it; nothing where the call is not known.

        >>> stack = next(graph.get_call_stacks(rank=0))
        >>> stack.get_path_to_root(stack.root_index) == [stack.root_index]
        True
        """
        path = [idx] if idx in self.nodes else []
        while path and path[-1] >= 0 and path[-1] in self.nodes:
            path.append(self.nodes[path[-1]].parent)
        return path

    def _below(self, idx: int, include_gpu_kernel: bool) -> list[int]:
        children = self.get_children(idx)
        if include_gpu_kernel:
            return children
        return [child for child in children if getattr(self.nodes[child], "device", None) is not DeviceType.GPU]

    def _paths(self, idx: int, include_gpu_kernel: bool) -> list[list[int]]:
        """The ways down from a call; none where it is not known."""
        paths: list[list[int]] = []
        waiting = [[idx]] if idx in self.nodes else []
        while waiting:
            path = waiting.pop()
            below = self._below(path[-1], include_gpu_kernel)
            if not below:
                paths.append(path)
            waiting += [[*path, child] for child in reversed(below)]
        return paths

    def get_dataframe(self) -> Any:
        """The rows that it was made of.

        >>> len(next(graph.get_call_stacks(rank=0)).get_dataframe()) > 0
        True
        """
        return self.df

    def dfs_traverse(self, enter_func: Callable[[int, Any], None], exit_func: Callable[[int, Any], None]) -> None:
        """Calls functions for each node when it is entered and left.

        >>> seen = []
        >>> next(graph.get_call_stacks(rank=0)).dfs_traverse(lambda index, node: seen.append(index), lambda index, node: None)
        >>> seen[0] < 0
        True
        """
        for index, is_left in self._walk(self.root_index):
            (exit_func if is_left else enter_func)(index, self.nodes[index])
