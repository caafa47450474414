"""What the arguments of a profiler mean."""
from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Optional

import torch
from torch.profiler import ProfilerActivity, supported_activities

_said: set[str] = set()
# Settings of torch.profiler's experimental_config that change nothing here.
_NOT_APPLIED = ("profiler_metrics", "profiler_measure_per_kernel", "verbose", "performance_events", "enable_cuda_sync_events",
                "adjust_profiler_step", "disable_external_correlation", "capture_overload_names", "record_python_gc_info",
                "expose_kineto_event_metadata", "custom_profiler_config", "adjust_timestamps")


def warn_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warnings.warn(text, stacklevel=3)


def _parsed(activities: Iterable[Any]) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    found: set[ProfilerActivity] = set()
    filters: dict[ProfilerActivity, set[str]] = {}
    for item in activities:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in item if isinstance(item, dict) else [item]:
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
            if isinstance(item, dict):
                filters[activity] = set(item[activity])
    return found, filters


def activities_of(activities: Optional[Iterable[Any]],
                  use_cuda: Optional[bool]) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    """A set, and of those that were given as a dict the kinds that are wanted."""
    found, filters = (set(supported_activities()), {}) if activities is None else _parsed(activities)
    if use_cuda is not None:
        warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=4)
        found = found | {ProfilerActivity.CUDA} if use_cuda else found - {ProfilerActivity.CUDA}
    if not found:
        raise AssertionError("No valid profiler activities found")
    return found, filters


def device_of(activities: set[ProfilerActivity]) -> Optional[str]:
    """The device whose time the tables show."""
    for name in ("CUDA", "XPU", "MTIA", "HPU"):
        if getattr(ProfilerActivity, name, None) in activities:
            return name.lower()
    return None


def synchronize(device: Optional[str]) -> None:
    """Work of the device that the program has launched belongs to the window."""
    if device == "cuda" and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def trace_id_of(callback: Optional[Callable[[], str]]) -> str:
    return callback() if callback else uuid.uuid4().hex.upper()


def count_step() -> None:
    """PyTorch's own counter, for traces by iterations that a daemon asks for."""
    if os.environ.get("KINETO_USE_DAEMON"):
        torch.autograd.profiler.KinetoStepTracker.increment_step("ProfilerStep")


def say_what_does_not_apply(profiler: Any) -> None:
    """Once per process for each: users would look for it in the trace."""
    config = profiler.experimental_config
    for name in _NOT_APPLIED if config is not None else ():
        if getattr(config, name, None):
            warn_once(f"kino.profile: experimental_config.{name} has no effect")
    if profiler.with_modules:
        warn_once("kino.profile: with_modules has no effect (PyTorch has it for TorchScript only)")
    if profiler.activity_filters:
        warn_once("kino.profile: kinds of activities are not filtered; the trace has all of them")
    if profiler.post_processing_timeout_s is not None:
        warn_once("kino.profile: post_processing_timeout_s has no effect; stopping does not read the events")
