"""The PyTorch profiler's interface on Kino's recorder: change `torch.profiler` to `kino` in the import.

    from kino import profile, schedule, ProfilerActivity

    with profile(schedule=schedule(wait=1, warmup=1, active=3), record_shapes=True) as p:
        for batch in batches:
            train(batch)
            p.step()
    p.export_chrome_trace("trace.json.gz")
    print(p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    print(p.report())
"""
from torch.profiler import ExecutionTraceObserver, ProfilerAction, ProfilerActivity, supported_activities

from .._bridge import attach as join_requests
from ._annotation import record_function
from ._profile import profile
from ._schedule import schedule, tensorboard_trace_handler

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity", "join_requests", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]
