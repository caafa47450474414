"""What a trace says about how it was recorded."""
from __future__ import annotations

import json
from typing import Any

import torch

from .. import _recorder


def _distributed() -> dict[str, Any]:
    import torch.distributed as dist
    if not dist.is_available() or not dist.is_initialized():
        return {}
    backend = dist.get_backend()
    info = {"backend": backend, "rank": dist.get_rank(), "world_size": dist.get_world_size(), "pg_count": dist.get_pg_count(),
            "pg_config": dist.distributed_c10d._get_all_pg_configs()}
    if backend == "nccl":
        info["nccl_version"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    return info


def of_window(profiler: Any) -> dict[str, str]:
    """Keys and JSON, as PyTorch writes them."""
    flags = ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops")
    found = {name: "1" for name in flags if getattr(profiler, name)}
    distributed = _distributed()
    if distributed:
        found["distributedInfo"] = json.dumps(distributed, default=lambda value: value.tolist())
    return {**found, **profiler.preset_metadata}


def overhead(before: tuple[int, int, int], after: tuple[int, int, int]) -> str:
    """Calls of the bridge in the window, what one of them takes (the mean of one call in 64, which are timed), and what did not fit."""
    calls, timed, ns = (now - then for now, then in zip(after, before))
    return json.dumps({"operator_calls": calls, "timed_calls": timed, "ns_per_call": round(ns / timed, 1) if timed else None,
                       "dropped": _recorder.state().dropped})
