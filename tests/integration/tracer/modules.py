"""Calls of nn.Module: of a stand-in that is in a file of that name, and of torch's where it is installed."""
import json
import subprocess

from support import common

from .recording import record

STANDIN = """
class Module:
    def _wrapped_call_impl(self, *args, **kwargs):
        return self.forward(*args, **kwargs)
    __call__ = _wrapped_call_impl

class Linear(Module):
    def forward(self, x):
        return x

class Both(Module):
    def __init__(self):
        self.layers = Linear(), Linear()
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def standin(report):
    scope = {}
    exec(compile(STANDIN, "/somewhere/torch/nn/modules/module.py", "exec"), scope)  # noqa: S102
    model = scope["Both"]()

    def work():
        for _ in range(2):
            model(1)

    calls = record(work)
    found = [(e["name"], e["args"]["Python module id"]) for e in calls.all if "Python module id" in e["args"]]
    report.equal("modules", found, [("nn.Module: Both_0", 0), ("nn.Module: Linear_0", 0), ("nn.Module: Linear_1", 1)] * 2)
    report.equal("modules nest", calls.faults(), [])
    plain = record(work, modules=False)
    report.equal("modules left out", len(plain.named("_wrapped_call_impl")), 6)


# Both tracers in one process, one after the other, on the same model.
TORCH = """
import ctypes, json, sys
sys.path[:0] = {paths!r}
import torch
from tracer import recording
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))

def work():
    model(torch.ones(2, 4)).sum().backward()
    torch.add(torch.ones(1), 1)

def below(rows, name):
    first = next(i for i, row in enumerate(rows) if row[0].endswith(name))
    top = rows[first][1]["Python id"]
    keep, out = {{top}}, []
    for text, args in rows[first + 1:]:
        if args["Python parent id"] in keep:
            keep.add(args["Python id"])
            out.append((text.split(" object at ")[0], args.get("Python module id")))
    return out

work()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as p:
    work()
p.export_chrome_trace("torch.json")
rows = [e for e in json.load(open("torch.json"))["traceEvents"] if e.get("cat") == "python_function"]
theirs = below(sorted(((e["name"], e["args"]) for e in rows), key=lambda r: r[1]["Python id"]), ": work")
calls = recording.record(work)
ours = below([(e["name"], e["args"]) for e in calls.all], ": work")
print("RESULT" + json.dumps([theirs, ours, calls.faults()]))
"""


def torch_modules(report):
    python, version = common.torch_python()
    if not python:
        print("NOT TESTED: the same calls as torch's own tracer (torch is not installed)")
        return
    import kino  # noqa: PLC0415 (its place)
    paths = [str(common.ROOT / "tests/integration"), kino.__path__[0].rsplit("/", 1)[0]]
    done = subprocess.run([python, "-c", TORCH.format(paths=paths)], capture_output=True, text=True, check=False)
    line = [text[6:] for text in done.stdout.splitlines() if text.startswith("RESULT")]
    if "No module named 'kino._tracer'" in done.stderr or "cannot import name '_tracer'" in done.stderr:
        print("NOT TESTED: torch's Python is another version than the one that kino._tracer is built for")
        return
    if report.check(f"torch {version} runs", line, done.stderr[-500:]):
        theirs, ours, faults = json.loads(line[0])
        report.equal("the calls that torch's tracer sees", ours, theirs)
        report.check("there are some", len(theirs) > 30, len(theirs))
        report.equal("they nest", faults, [])


def run(report):
    standin(report)
    torch_modules(report)
