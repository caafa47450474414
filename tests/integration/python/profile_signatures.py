"""Names, signatures and attributes of kino.profiler and kino.autograd.profiler beside PyTorch's."""
import inspect
import warnings

import kino.autograd.profiler
import kino.profiler.profiler
import torch

# By class: what Kino takes beside PyTorch's arguments.
MORE = {name: ["memory", "all_threads"] for name in ("profile.__init__", "_KinetoProfile.__init__")}
# What PyTorch has and Kino has not: PyTorch's own config object and the attributes of its own machinery.
MISSING_METHODS = {"profile.config"}
MISSING_ATTRIBUTES = {"profiler": {"mem_tl", "has_cudagraphs", "action_map"}, "autograd.profiler": {"profiler_kind"}}
SPECIAL = ("__init__", "__enter__", "__exit__", "__call__", "__repr__", "__str__")


def parameters(function):
    """Name, kind and default of each."""
    return [(parameter.name, parameter.kind.name, parameter.default) for parameter in inspect.signature(function).parameters.values()]


def compare(report, where, mine, theirs):
    more = MORE.get(".".join(where.split(".")[-2:]), [])
    got = [parameter for parameter in parameters(mine) if parameter[0] not in more]
    report.equal(f"{where}: parameters", got, parameters(theirs))
    report.equal(f"{where}: parameters of our own", [name for name, _, _ in parameters(mine) if name in more], more)


def methods(kind):
    return [name for name in dir(kind) if (not name.startswith("_") or name in SPECIAL) and callable(getattr(kind, name))
            and getattr(kind, name) is not getattr(object, name, None)]


def check_class(report, where, mine, theirs):
    missing = {f"{theirs.__name__}.{name}" for name in methods(theirs) if not hasattr(mine, name)}
    report.check(f"{where}: methods", missing <= MISSING_METHODS, missing)
    for name in methods(theirs):
        if hasattr(mine, name):
            compare(report, f"{where}.{name}", getattr(mine, name), getattr(theirs, name))
    properties = {name for name, value in vars(theirs).items() if isinstance(value, property)}
    report.equal(f"{where}: properties", properties - {name for name in dir(mine)}, set())


def check_module(report, label, mine, theirs):
    report.equal(f"{label}: names", [name for name in theirs.__all__ if not hasattr(mine, name)], [])
    report.equal(f"{label}: they are exported", set(theirs.__all__) - set(mine.__all__), set())
    for name in theirs.__all__:
        ours, other = getattr(mine, name), getattr(theirs, name)
        if ours is other:  # PyTorch's own
            continue
        if inspect.isclass(other):
            check_class(report, f"{label}.{name}", ours, other)
        else:
            compare(report, f"{label}.{name}", ours, other)


def public(value):
    return {name for name in vars(value) if not name.startswith("_")}


def check_attributes(report):
    cpu = [torch.profiler.ProfilerActivity.CPU]
    for label, mine, theirs in (("profiler", kino.profile(activities=cpu), torch.profiler.profile(activities=cpu)),
                                ("autograd.profiler", kino.autograd.profiler.profile(), torch.autograd.profiler.profile())):
        report.equal(f"{label}.profile: attributes that it has not", public(theirs) - public(mine), MISSING_ATTRIBUTES[label])


def check_places(report):
    """The names are where a replaced import looks for them."""
    for name in torch.profiler.__all__:
        report.check(f"kino.{name} is kino.profiler's", getattr(kino, name) is getattr(kino.profiler, name))
    report.check("what is PyTorch's own is passed on", kino.profiler._ExperimentalConfig is torch.profiler._ExperimentalConfig)
    report.check("the module in which PyTorch has its profiler", kino.profiler.profiler.profile is kino.profile and kino.profiler.profiler.schedule is kino.schedule)
    report.check("an annotation is one of PyTorch's", issubclass(kino.record_function, torch.profiler.record_function))
    report.check("emit_nvtx and emit_itt", kino.emit_nvtx is kino.autograd.profiler.emit_nvtx and kino.emit_itt is kino.profiler.emit_itt)


def run(report):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_module(report, "profiler", kino.profiler, torch.profiler)
        check_module(report, "autograd.profiler", kino.autograd.profiler, torch.autograd.profiler)
        check_class(report, "profiler._KinetoProfile", kino.profiler._KinetoProfile, torch.profiler._KinetoProfile)
        check_attributes(report)
        check_places(report)
