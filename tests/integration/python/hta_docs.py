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
            for member, value in list(vars(thing).items()) if inspect.isclass(thing) else ():
                if not member.startswith("_") and (callable(getattr(thing, member)) or isinstance(value, property)) and docs.doc_of(value):
                    yield f"{module.__name__}.{name}.{member}", value


def check_examples(report, globs):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    parser, count, seen = doctest.DocTestParser(), 0, set()
    for name, thing in public_names():
        text = inspect.cleandoc(docs.doc_of(getattr(thing, "__func__", thing)))
        if text in seen:
            continue
        seen.add(text)
        test = parser.get_doctest(text, dict(globs), name, None, 0)
        report.check(f"{name} has an example", bool(test.examples), repr(text[:60]))
        for example in test.examples:
            for flag, package in FLAGS.items():
                if example.options.pop(flag, False) and not importlib.util.find_spec(package):
                    example.options[doctest.SKIP] = True
        output = []
        failed, tried = runner.run(test, out=output.append, clear_globs=False)
        count += tried
        report.check(f"the example of {name}", failed == 0, "".join(output)[-600:])
    report.check("examples were found", count > 300, str(count))


def run(report):
    logging.getLogger("kino.hta").setLevel(logging.CRITICAL)
    os.makedirs("examples")
    os.chdir("examples")
    kino.demo("demo-run", ranks=2, steps=3, size="300kB")
    analysis = kino.hta.TraceAnalysis(trace_dir="demo-run")
    check_examples(report, {"analysis": analysis, "graph": CallGraph(analysis.t), "kino": kino})
    os.chdir("..")
