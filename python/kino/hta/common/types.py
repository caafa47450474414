"""Kinds of events, told by patterns of their names and categories."""
from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Optional, Union


class DeviceType(Enum):
    """What rows of a trace ran on.

    >>> from kino.hta.common.types import DeviceType
    >>> DeviceType.GPU.value
    2
    """

    UNKNOWN = 0
    CPU = 1
    GPU = 2
    ALL = 3


def infer_device_type(df: Any) -> DeviceType:
    """What the rows of one thread or stream ran on, by their streams, pids and tids.

    >>> import pandas
    >>> from kino.hta.common.types import infer_device_type
    >>> infer_device_type(pandas.DataFrame({"stream": [7, 7]})).name
    'GPU'
    """
    if "stream" not in df.columns:
        return DeviceType.UNKNOWN
    has_lane = "pid" in df.columns and "tid" in df.columns
    is_device_lane = has_lane and (df["pid"].eq(0).all() or df["tid"].eq(0).all())
    if df["stream"].gt(0).all() or is_device_lane:
        return DeviceType.GPU
    return DeviceType.CPU if df["stream"].eq(-1).all() else DeviceType.UNKNOWN


class MemcpyType(Enum):
    """Where a copy goes.

    >>> from kino.hta.common.types import MEMCPY_TYPE_TO_STR, MemcpyType
    >>> MEMCPY_TYPE_TO_STR[MemcpyType.DTOH]
    'memcpy_dtoh'
    """

    DTOD = 0
    DTOH = 1
    HTOD = 2
    UNKNOWN = 3


MEMCPY_TYPE_TO_STR: dict[MemcpyType, str] = {
    kind: "memcpy_type_unknown" if kind is MemcpyType.UNKNOWN else f"memcpy_{kind.name.lower()}" for kind in MemcpyType}


@dataclass
class GroupingPattern:
    """Names that a pattern matches from their start, or does not match.

    >>> import re
    >>> from kino.hta.common.types import GroupingPattern
    >>> GroupingPattern(re.compile("nccl")).match("ncclKernel_AllReduce")
    True
    """

    pattern: re.Pattern[str]
    inverse_match: bool = False
    group_name: str = ""

    def match(self, name: str) -> bool:
        """Is the name one of them?

        >>> import re
        >>> from kino.hta.common.types import GroupingPattern
        >>> GroupingPattern(re.compile("nccl"), inverse_match=True).match("gemm")
        True
        """
        return bool(self.pattern.match(name)) != self.inverse_match

    def __hash__(self) -> int:
        return hash((self.pattern.pattern, self.pattern.flags, self.inverse_match))


def to_grouping_pattern(pattern: Union[str, list[str], re.Pattern[str], GroupingPattern], group_name: Optional[str] = None,
                        inverse_match: Optional[bool] = None) -> GroupingPattern:
    """A GroupingPattern of a text, of several, or of a compiled pattern.

    >>> from kino.hta.common.types import to_grouping_pattern
    >>> to_grouping_pattern(["nccl", "hccl"]).match("hcclKernel")
    True
    """
    if isinstance(pattern, GroupingPattern):
        return pattern
    if isinstance(pattern, list):
        pattern = "|".join(f"({one})" for one in pattern)
    if isinstance(pattern, str):
        pattern = re.compile(pattern)
    if not isinstance(pattern, re.Pattern):
        raise ValueError(f"Unsupported pattern type: {type(pattern)}")
    return GroupingPattern(pattern, bool(inverse_match), group_name or "")


def _group(name: str, *alternatives: str, inverse: bool = False) -> GroupingPattern:
    return GroupingPattern(re.compile("|".join(f"({one})" for one in alternatives)), inverse, name)


# HTA goes by the start of names; so what starts with hip is communication (docs/analyses/differences.md).
ProfilerStepGroupingPattern = GroupingPattern(re.compile(r"^ProfilerStep#(\d+)"), False, "Profiler Step")
MemoryKernelGroupingPattern = _group("Memory", "^(hip)?Memcpy", "^(hip)?Memset", "^dma")
MTIAMemoryKernelGroupingPattern = _group("MTIA Memory", "^dma")
CommunicateKernelGroupingPattern = _group("Communicate", "^nccl.*", "^hip", "^hccl", ".*ncclKernel.*")
ComputeKernelGroupingPattern = _group(
    "Compute", "^nccl", ".*Memcpy", ".*Memset", ".*dma", "^.*Sync", "^Stream Wait Event", "cuda.*LaunchKernel", "^runFunction",
    "^hip", "^job_exe", "^packet", "^pe_exe", "^cpum_exe_subgraph", "^hccl", "^collective_subgraph_execution", inverse=True)
KERNEL_CATEGORY_PATTERN = _group("GPU Kernels", "kernel", "gpu_mem.+", "mtia_ccp_events")
KERNEL_LAUNCH_CATEGORY_PATTERN = _group("Kernel Launch", "cuda.*LaunchKernel", "cuLaunchKernel", "^runFunction")
CPU_OP_CATEGORY_PATTERN = _group("CPU Ops", "cpu_op", "user_annotation")
DEVICE_RUNTIME_CATEGORY_PATTERN = _group("Device Runtimes", "cuda_runtime", "mtia_runtime")
MEMORY_CATEGORY_PATTERN = _group("Memory", "gpu_mem.+", "mtia_ccp_events")
_DEVICE_CATEGORIES = (".*kernel", "^gpu_mem", "^mtia_ccp_events", "^cuda_sync")
GPU_EVENT_CATEGORY_PATTERN = _group("GPU Events", *_DEVICE_CATEGORIES)
CPU_EVENTS_CATEGORY_PATTERN = _group("CPU Events", "cpu_op", "user_annotation", "^(.+)_runtime")
CPU_AND_GPU_EVENTS_CATEGORY_PATTERN = _group("CPU/GPU Events", "cpu_op", "user_annotation", "cuda_runtime", *_DEVICE_CATEGORIES)
PYTHON_FUNCTION_PATTERN = _group("Python Functions", "python_function")
ALL_CATEGORY_PATTERN = GroupingPattern(re.compile(r".*"), False, "All")
CUDA_SYNC_PATTERN = _group("CUDA Sync", "cuda_sync")

common_grouping_patterns: dict[str, GroupingPattern] = {
    "memory_kernels": MemoryKernelGroupingPattern,
    "compute_kernels": ComputeKernelGroupingPattern,
    "communicate_kernels": CommunicateKernelGroupingPattern,
}
