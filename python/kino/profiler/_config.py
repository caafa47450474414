"""What the arguments of a profiler mean."""
from __future__ import annotations

import copy
import functools
import re
import warnings
from collections.abc import Iterable
from typing import Any, Optional

import torch
from torch.profiler import ProfilerActivity, supported_activities

_said: set[str] = set()
# Settings of torch.profiler's experimental_config that change nothing here.
_NOT_APPLIED = ("profiler_metrics", "profiler_measure_per_kernel", "performance_events", "enable_cuda_sync_events", "adjust_profiler_step",
                "disable_external_correlation", "custom_profiler_config", "adjust_timestamps")
_DEVICES = ("cuda", "xpu", "mtia", "hpu")
# Kinds of ProfilerActivity.CPU, which {ProfilerActivity.CPU: [...]} may name.
_CPU_KINDS = frozenset(("CPU_OP", "CPU_INSTANT_EVENT", "USER_ANNOTATION", "PYTHON_FUNCTION", "EXTERNAL_CORRELATION", "CUDA_RUNTIME",
                        "CUDA_DRIVER", "XPU_RUNTIME", "XPU_DRIVER", "MTIA_RUNTIME", "GLOW_RUNTIME", "PRIVATEUSE1_RUNTIME",
                        "PRIVATEUSE1_DRIVER"))
# What a bridge may offer beside _bridge.SHAPES, MEMORY and THIS_THREAD: names with overloads, module hierarchies, numbers of functions.
OVERLOADS, MODULES, IDS = 8, 16, 32


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


def activities_of(activities: Optional[Iterable[Any]]) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    """A set, and of those that were given as a dict the kinds that are wanted."""
    return (set(supported_activities()), {}) if activities is None else _parsed(activities)


def with_cuda(activities: Optional[Iterable[Any]], use_cuda: Optional[bool]) -> list[Any]:
    """What `use_cuda` changes, which PyTorch has deprecated."""
    found = list(supported_activities() if activities is None else activities)
    if use_cuda is not None:
        warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=3)
        found = [activity for activity in found if activity != ProfilerActivity.CUDA]
        found += [ProfilerActivity.CUDA] if use_cuda else []
    if not any(isinstance(activity, (ProfilerActivity, dict)) for activity in found):
        raise AssertionError("No valid profiler activities found")
    return found


def device_of(activities: set[ProfilerActivity]) -> Optional[str]:
    """The device whose time the tables show."""
    for name in _DEVICES:
        if getattr(ProfilerActivity, name.upper(), None) in activities:
            return name
    if getattr(ProfilerActivity, "PrivateUse1", None) in activities:
        return str(torch._C._get_privateuse1_backend_name())
    return None


def _is_there(device: str) -> bool:
    module = getattr(torch, device, None)
    return device == "mtia" or bool(module is not None and module.is_available())


def usable_device(device: Optional[str], use_cuda: bool) -> Optional[str]:
    """`use_device` and `use_cuda` of the older profiler, with its warnings."""
    if use_cuda:
        warnings.warn("The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.", FutureWarning,
                      stacklevel=3)
        device = "cuda"
    if device is None:
        return None
    if device not in (*_DEVICES, torch._C._get_privateuse1_backend_name()) or device == "privateuseone":
        warnings.warn(f"The {device} is not a valid device option.", stacklevel=3)
        return None
    if device in _DEVICES and not _is_there(device):
        warnings.warn(f"{device.upper()} is not available, disabling {device.upper()} profiling", stacklevel=3)
        return None
    return device


def kineto_activities(use_cpu: bool, use_kineto: bool, device: Optional[str]) -> set[ProfilerActivity]:
    if not use_cpu and not use_kineto:
        raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
    found = {ProfilerActivity.CPU} if use_cpu else set()
    if device is not None:
        found.add(getattr(ProfilerActivity, device.upper(), ProfilerActivity.PrivateUse1))
    if not found:
        raise AssertionError("No activities specified for the profiler")
    return found


def checked_filters(filters: dict[ProfilerActivity, set[str]]) -> dict[ProfilerActivity, set[str]]:
    """Kinds that ProfilerActivity.CPU does not have are refused, as by PyTorch."""
    unknown = {kind.upper() for kind in filters.get(ProfilerActivity.CPU, ())} - _CPU_KINDS
    if unknown:
        raise RuntimeError(f"not a kind of activity of ProfilerActivity.CPU: {', '.join(sorted(unknown))}")
    return filters


def seconds(name: str, value: Optional[float]) -> Optional[float]:
    if value is not None and value < 0:
        raise ValueError(f"{name} must be non-negative")
    return value


def experimental(config: Any, with_stack: Any) -> Any:
    if with_stack and is_set(config, "trace_only"):
        warnings.warn("trace_only=True is incompatible with with_stack=True (stack traces require event post-processing). "
                      "Disabling trace_only.", stacklevel=3)
        config = copy.copy(config)
        config.trace_only = False
    return config


@functools.lru_cache(maxsize=None)
def _setting_names(text: str) -> tuple[str, ...]:
    """Of PyTorch's experimental_config, which has few of them as attributes, in the order of its state: from what it says of itself."""
    return tuple(re.findall(r"(\w+): [\w.\[\]]+ = ", text.split(" -> ", 1)[0]))


def is_set(config: Any, name: str) -> bool:
    if config is None or hasattr(config, name):
        return bool(getattr(config, name, False))
    names = _setting_names(getattr(type(config), "__init__").__doc__ or "")  # noqa: B009 (mypy does not want it otherwise)
    return bool(dict(zip(names, config.__getstate__())).get(name))


def wants_collections(config: Any) -> bool:
    """Garbage collections are recorded with stacks, unless an experimental_config says otherwise."""
    return config is None or is_set(config, "record_python_gc_info")


def bits_of(bridge: Any) -> int:
    """Those that the bridge takes."""
    known = 7
    features = getattr(bridge, "kino_torch_features", None)
    return known | int(features()) if features is not None else known


def synchronize(device: Optional[str]) -> None:
    """Work of the device that the program has launched belongs to the window."""
    module = getattr(torch, device, None) if device else None
    if module is not None and hasattr(module, "synchronize") and (device != "cuda" or module.is_initialized()):
        module.synchronize()


def say_what_does_not_apply(profiler: Any) -> None:
    """Once per process for each: users would look for it in the trace."""
    for name in _NOT_APPLIED:
        if is_set(profiler.experimental_config, name):
            warn_once(f"kino.profile: experimental_config.{name} has no effect")
    if any(kinds for kinds in profiler.activity_filters.values()):
        warn_once("kino.profile: kinds of activities are not filtered; the trace has all of them")


def say_what_the_bridge_lacks(profiler: Any, bridge: Any) -> None:
    lacking = ~bits_of(bridge)
    if profiler.with_modules and lacking & MODULES:
        warn_once("kino.profile: with_modules has no effect (PyTorch has it for TorchScript only)")
    if is_set(profiler.experimental_config, "capture_overload_names") and lacking & OVERLOADS:
        warn_once("kino.profile: experimental_config.capture_overload_names has no effect")
