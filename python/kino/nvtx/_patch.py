"""Which functions are wrapped, and how."""
from __future__ import annotations

import functools
import importlib
import inspect
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional

from .._nvtx import nvtx
from . import _markers

# Operators among the names with two underscores; the others belong to Python.
_OPERATORS = frozenset(
    f"__{prefix}{name}__" for name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
    for prefix in ("", "r", "i")) | frozenset(f"__{name}__" for name in ("neg", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"))
# Those that the markers use themselves, and frequent ones without work of a device.
_LEFT_OUT = frozenset((
    "size", "tolist", "dim", "is_storage", "item", "data_ptr", "autocast_decrement_nesting", "autocast_increment_nesting", "contiguous",
    "detach", "empty", "from_numpy", "has_torch_function", "is_autocast_enabled", "is_available", "is_complex", "is_floating_point",
    "is_grad_enabled", "is_initialized", "is_tensor", "numel", "requires_grad_", "set_autocast_enabled", "to", "type", "stride",
    "storage_offset", "element_size", "untyped_storage", "storage", "register_hook", "share_memory_", "is_shared", "is_set_to", "backward",
    "is_contiguous", "is_pinned", "is_coalesced", "is_signed", "is_conj", "is_neg", "is_inference", "is_same_size", "get_device", "ndimension",
    "nelement", "apply_", "map_", "map2_", "new", "as_subclass", "retain_grad", "dim_order", "has_names", "resolve_conj", "resolve_neg"))
_KINDS = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodType)
_SETTINGS = ("get_", "set_", "is_", "are_", "init_", "has_", "unify_", "import_", "parse_", "fork", "wait", "clear_", "cpp", "vitals_", "read_")
_RECURRENT = ("RNN", "RNNCell", "LSTM", "LSTMCell", "GRU", "GRUCell")
_APEX_EXTENSIONS = ("amp_C", "fused_adam_cuda", "fused_lamb_cuda", "fused_layer_norm_cuda", "distributed_lamb_cuda", "xentropy_cuda", "mlp_cuda")
_APEX_MODULES = ("amp", "contrib.groupbn", "contrib.multihead_attn", "contrib.optimizers", "contrib.sparsity", "contrib.xentropy", "fp16_utils",
                 "mlp", "multi_tensor_apply", "optimizers", "parallel")

_lock = threading.Lock()
_replaced: list[tuple[Any, str, Any, bool]] = []  # object, name, what it was, and whether it was the object's own


def _wrapped(owner: Any, owner_name: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    tool = nvtx()
    has_text = isinstance(owner, type) and hasattr(owner, "extra_repr")

    @functools.wraps(function)
    def marked(*positional: Any, **named: Any) -> Any:  # known by this name to _markers
        texts = [_markers.trace_marker(_markers.frame_of_caller())]
        if has_text:
            texts.append(_markers.module_marker(owner, positional[0]))
        texts.append(_markers.argument_marker(owner_name, name, positional, named))
        for text in texts:
            tool.push(text)
        try:
            return function(*positional, **named)
        finally:  # after an exception, too
            for _ in texts:
                tool.pop()

    return marked


def _replace(owner: Any, name: str) -> None:
    function = getattr(owner, name, None)
    if not isinstance(function, _KINDS):
        return
    is_own = name in vars(owner)
    _replaced.append((owner, name, vars(owner).get(name), is_own))
    setattr(owner, name, _wrapped(owner, owner.__name__, name, function))


def _is_wanted(name: str) -> bool:
    return name not in _LEFT_OUT and (name in _OPERATORS or not name.startswith("_"))


def _takes_tensors(function: Any) -> bool:
    """Of the functions of torch.distributed."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return False
    return bool(names) and any(word in names[0] for word in ("tensor", "input", "output"))


def _functions_of_torch() -> Iterable[tuple[Any, str]]:
    overridable = torch.overrides.get_overridable_functions()
    for owner in (torch, torch.nn.functional):
        known = set(overridable.get(owner, ()))
        for name in dir(owner):
            function = getattr(owner, name)
            is_builtin = isinstance(function, types.BuiltinFunctionType) and not name.startswith(_SETTINGS)
            if _is_wanted(name) and (is_builtin or isinstance(function, types.FunctionType) and function in known):
                yield owner, name
    for name in dir(torch.Tensor):
        function = inspect.getattr_static(torch.Tensor, name)
        if _is_wanted(name) and isinstance(function, _KINDS):
            yield torch.Tensor, name
    if torch.distributed.is_available():
        for name, function in list(vars(torch.distributed).items()):
            if _is_wanted(name) and isinstance(function, types.FunctionType) and _takes_tensors(function):
                yield torch.distributed, name
    for name in _RECURRENT:
        yield getattr(torch.nn, name), "forward"


def _functions_of_apex() -> Iterable[tuple[Any, str]]:
    try:
        importlib.import_module("apex")
    except ImportError:
        return
    for module in _APEX_EXTENSIONS:
        for owner in _imported(module):
            yield from ((owner, name) for name in dir(owner) if _is_wanted(name))
    for module in _APEX_MODULES:
        for owner in _imported(f"apex.{module}"):
            for kind in vars(owner).values():
                if isinstance(kind, type):
                    yield from ((kind, name) for name in ("forward", "backward", "step") if name in vars(kind))


def _imported(name: str) -> list[Any]:
    try:
        return [importlib.import_module(name)]
    except ImportError:
        return []


def patch() -> None:
    with _lock:
        if not _replaced:
            for owner, name in [*_functions_of_torch(), *_functions_of_apex()]:
                _replace(owner, name)


def restore() -> None:
    with _lock:
        while _replaced:
            owner, name, previous, is_own = _replaced.pop()
            if is_own:
                setattr(owner, name, previous)
            else:
                delattr(owner, name)
