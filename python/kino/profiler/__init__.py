"""The PyTorch profiler's interface on Kino's recorder: change `torch.profiler` to `kino.profiler`, or to `kino`, in the import.

    from kino.profiler import profile, schedule, ProfilerActivity

    with profile(schedule=schedule(wait=1, warmup=1, active=3), record_shapes=True) as p:
        for batch in batches:
            train(batch)
            p.step()
    p.export_chrome_trace("trace.json.gz")
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    print(p.report())
"""
import torch.profiler
from torch.profiler import (DeviceType, ExecutionTraceObserver, ProfilerAction, ProfilerActivity, itt, kineto_available,
                            supported_activities)

from .._bridge import attach as join_requests
from . import profiler as profiler
from ._annotation import record_function
from ._emit import emit_itt, emit_nvtx
from ._profile import _KinetoProfile as _KinetoProfile
from ._profile import profile
from ._schedule import schedule, tensorboard_trace_handler

__all__ = ["DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "emit_itt", "emit_nvtx", "itt", "join_requests",
           "kineto_available", "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler"]


def __getattr__(name: str) -> object:
    """What torch.profiler has beside these (`_ExperimentalConfig`, `RecordScope`) is its own."""
    return getattr(torch.profiler, name)
