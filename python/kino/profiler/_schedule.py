"""Which steps are recorded, and what becomes of a window."""
from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Callable
from typing import Any, Optional

from torch.profiler import ProfilerAction


def _action(step: int, wait: int, warmup: int, active: int, repeat: int) -> ProfilerAction:
    length = wait + warmup + active
    if repeat > 0 and step >= repeat * length:
        return ProfilerAction.NONE
    place = step % length
    if place < wait:
        return ProfilerAction.NONE
    if place < wait + warmup:
        return ProfilerAction.WARMUP
    return ProfilerAction.RECORD_AND_SAVE if place == length - 1 else ProfilerAction.RECORD


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """For profile(schedule=...): after `skip_first` steps, cycles of `wait` steps without, `warmup` steps of preparation, and
    `active` recorded ones; `repeat` cycles, 0: until the end. `skip_first_wait`: the first cycle does not wait.

    >>> plan = kino.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
                             f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)

    def action_of(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        return _action(step - skip_first + (wait if skip_first_wait else 0), wait, warmup, active, repeat)

    return action_of


def tensorboard_trace_handler(dir_name: str, worker_name: Optional[str] = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[Any], None]:
    """For profile(on_trace_ready=...): writes each window to `dir_name` under the name that TensorBoard's plugin looks for.
    `use_python_export` is taken and has no meaning here.

    >>> import os
    >>> with kino.profile(on_trace_ready=kino.tensorboard_trace_handler("log", use_gzip=True)):
    ...     _ = torch.ones(2)
    >>> os.listdir("log")[0].endswith(".pt.trace.json.gz")
    True
    """
    def write(profiler: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write
