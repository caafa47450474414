"""The older of PyTorch's two profiler interfaces, torch.autograd.profiler, on Kino's recorder.

    from kino.autograd import profiler

    with profiler.profile(record_shapes=True) as p:
        train(batch)
    print(p.key_averages().table(sort_by="self_cpu_time_total"))
"""
import torch.autograd.profiler
from torch.autograd.profiler import (EnforceUnique, EventList, FunctionEvent, KinetoStepTracker, MemRecordsAcc, load_nvprof,
                                     parse_nvprof_trace)

from ..profiler._annotation import record_function
from ..profiler._autograd import profile
from ..profiler._emit import emit_itt, emit_nvtx

__all__ = ["EnforceUnique", "EventList", "FunctionEvent", "KinetoStepTracker", "MemRecordsAcc", "emit_itt", "emit_nvtx", "load_nvprof",
           "parse_nvprof_trace", "profile", "record_function"]


def __getattr__(name: str) -> object:
    """What torch.autograd.profiler has beside these (`_is_profiler_enabled`) is its own."""
    return getattr(torch.autograd.profiler, name)
