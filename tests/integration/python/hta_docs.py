"""Every public name of kino.hta has a doc string with an example, and the examples run."""
import doctest
import importlib
import importlib.util
import inspect
import logging
import os
import pkgutil

import kino
import kino.hta

from kino.hta.common.trace_call_graph import CallGraph

from . import docs

FLAGS = {doctest.register_optionflag(flag): package for flag, package in (("NETWORKX", "networkx"), ("PLOTLY", "plotly"))}


def modules():
    for found in pkgutil.walk_packages(kino.hta.__path__, "kino.hta."):
        is_private = any(part.startswith("_") for part in found.name.split("."))
        if is_private or (found.name.endswith("critical_path_analysis") and not importlib.util.find_spec("networkx")):
            continue
        yield importlib.import_module(found.name)


def public_names():
    for module in [kino.hta, *list(modules())]:
        for name, thing in list(vars(module).items()):
            mine = getattr(thing, "__module__", None) == module.__name__ or name in getattr(module, "__all__", ())
            if name.startswith("_") or not callable(thing) or not mine or not str(getattr(thing, "__module__", "")).startswith("kino.hta"):
                continue
            yield f"{module.__name__}.{name}", thing
            for member in dir(thing) if inspect.isclass(thing) else ():
                value = inspect.getattr_static(thing, member)
                function = getattr(value, "__func__", getattr(value, "fget", value))
                if not member.startswith("_") and callable(function) and str(getattr(function, "__module__", "")).startswith("kino.hta"):
                    yield f"{module.__name__}.{name}.{member}", value


def run(report):
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    os.makedirs("examples")
    os.chdir("examples")
    kino.demo("demo-run", ranks=2, steps=3, size="300kB")
    analysis = kino.hta.TraceAnalysis(trace_dir="demo-run")
    docs.check_examples(report, {"analysis": analysis, "graph": CallGraph(analysis.t), "kino": kino}, public_names(), FLAGS, 300)
    os.chdir("..")
