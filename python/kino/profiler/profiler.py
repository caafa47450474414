"""torch.profiler.profiler's place: for imports of the module in which PyTorch has its profiler."""
import torch.profiler.profiler

from ._profile import _KinetoProfile as _KinetoProfile
from ._profile import profile
from ._schedule import schedule, tensorboard_trace_handler

ExecutionTraceObserver = torch.profiler.profiler.ExecutionTraceObserver
ProfilerAction = torch.profiler.profiler.ProfilerAction
supported_activities = torch.profiler.profiler.supported_activities

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


def __getattr__(name: str) -> object:
    """What PyTorch's module has beside these is its own."""
    return getattr(torch.profiler.profiler, name)
