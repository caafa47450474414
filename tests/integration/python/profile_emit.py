"""emit_nvtx, emit_itt and kino.nvtx: recorded by `kino record`, which listens to both, and read back."""
import ast
import collections
import json
import os
import re
import subprocess
import sys
import textwrap
import warnings

import kino
import kino.nvtx
import torch
from kino.profiler import _emit

PROGRAM = """
    import torch, kino, kino.nvtx
    torch.manual_seed(1)
    linear, x = torch.nn.Linear(3, 4), torch.ones(2, 3)
"""


def recorded(report, what, body):
    """The ranges that the program's body makes, in the order of their begin."""
    script, trace = f"{what}.py", f"{what}.json"
    with open(script, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(PROGRAM) + textwrap.dedent(body))
    done = subprocess.run([os.environ["KINO"], "record", "--sampling", "off", "--categories", "user_annotation", "-o", trace, "--", sys.executable, script],
                          capture_output=True, text=True, check=False)
    if not report.equal(f"{what}: the program ends", (done.returncode, done.stdout), (0, "")):
        print(done.stderr[-1000:])
        return []
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    found = [event for event in events if event.get("ph") == "X" and event.get("cat") == "user_annotation"]
    return sorted(found, key=lambda event: (event["ts"], -event["dur"]))


def text_of(event):
    return event.get("args", {}).get("message", event["name"])


# -- operators --

def check_nvtx(report):
    _emit._emitter()  # built by now, so that it is not built under the recorder
    ranges = recorded(report, "nvtx", """
        with kino.emit_nvtx(record_shapes=True):
            linear(x).sum().backward()
        torch.ones(3)
    """)
    names = [event["name"] for event in ranges]
    report.check("operators, backward functions and the engine", {"aten::linear", "aten::addmm", "AddmmBackward0",
                                                                  "autograd::engine::evaluate_function: AddmmBackward0"} <= set(names), names)
    report.check("nothing after the end", "aten::ones" not in names, names)
    by_name = {event["name"]: event.get("args", {}) for event in ranges}
    report.equal("sizes of the inputs", by_name.get("aten::linear", {}).get("Input Dims"), [[2, 3], [4, 3], [4]])
    report.check("numbers of autograd", by_name.get("aten::addmm", {}).get("Sequence number", -1) >= 0 and
                 by_name["aten::addmm"]["Sequence number"] == by_name["AddmmBackward0"]["Sequence number"], by_name.get("aten::addmm"))


def check_texts(report):
    """What the tool is told, with a tool of our own in place of one that listens."""
    pushed, pops = [], []
    push, pop = _emit.ctypes.CFUNCTYPE(_emit.ctypes.c_int, _emit.ctypes.c_char_p), _emit.ctypes.CFUNCTYPE(_emit.ctypes.c_int)
    heard = push(lambda text: pushed.append(text.decode()) or 0), pop(lambda: pops.append(1) or 0)
    addresses = [_emit.ctypes.cast(function, _emit.ctypes.c_void_p).value for function in heard]
    library = _emit._emitter()
    x = torch.ones(2, 3, requires_grad=True)
    report.check("it begins", library.kino_emit_nvtx(*addresses, True))
    report.check("and not twice", not library.kino_emit_nvtx(*addresses, True))
    y = x.mul(2.0)
    torch.cat([y, x]).sum()
    library.kino_emit_stop()
    x.add(1)
    report.equal("each range ends", len(pops), len(pushed))
    mul, cat, total = (next(text for text in pushed if text.startswith(name)) for name in ("aten::mul,", "aten::cat,", "aten::sum,"))
    number, number_of_cat = (re.search(r"op_id = (\d+)", text)[1] for text in (mul, cat))
    report.check("the text of an operator", re.fullmatch(r"aten::mul, seq = \d+, op_id = \d+, sizes = \[\[2, 3\], \[\]\], input_op_ids = \[\(0,-1\), \(\d+,-?\d+\)\]", mul), mul)
    report.check("lists are flattened, and producers are known", re.fullmatch(
        rf"aten::cat, seq = \d+, op_id = \d+, sizes = \[\[2, 3\], \[2, 3\], \[\]\], input_op_ids = \[\({number},0\), \(0,-1\), \(0,-1\)\]", cat), cat)
    report.check("the next one's input is its output", f"input_op_ids = [({number_of_cat},0)" in total, total)
    library.kino_emit_nvtx(*addresses, False)
    del pushed[:]
    with torch.no_grad():
        x.mul(2)
    library.kino_emit_stop()
    report.check("without shapes and gradients: name and number", re.fullmatch(r"aten::mul, op_id = \d+", pushed[0]), pushed[:1])


def check_itt(report):
    ranges = recorded(report, "itt", """
        with kino.emit_itt():
            linear(x).sum().backward()
    """)
    names = [event["name"] for event in ranges]
    report.check("tasks of ITT", {"aten::linear", "aten::addmm", "AddmmBackward0"} <= set(names), names)
    report.equal("in the domain PyTorch", {event.get("args", {}).get("domain") for event in ranges}, {"PyTorch"})


def check_nobody_listens(report):
    for emission in (kino.emit_nvtx(), kino.emit_itt(record_shapes=True)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with emission as entered:
                torch.ones(2)
        report.equal(f"{type(emission).__name__}: nobody listens", [("listens" in str(warning.message), entered is emission) for warning in found], [(True, True)])
        try:
            emission.__enter__()
            text = ""
        except RuntimeError as error:
            text = str(error)
        report.check(f"{type(emission).__name__}: entered once", text.endswith("annotation context manager is not reentrant"), text)
    with kino.emit_nvtx(enabled=False) as off:
        report.check("emit_nvtx that is off", off is None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        report.check("init: nobody listens", kino.nvtx.init() is False and "nothing is marked" in str(found[0].message))
    report.check("and nothing is wrapped", not hasattr(torch.Tensor.add, "__wrapped__"))


# -- markers --

def markers_of(ranges):
    """(kind, value, name) of each, the kinds of PyProf's."""
    found = []
    for event in ranges:
        text = text_of(event)
        value = ast.literal_eval(text) if text.startswith("{") else None
        kind = next((key for key, word in (("trace", "traceMarker"), ("module", "strRepr"), ("arguments", "args")) if value and word in value), "other")
        found.append((kind, value, text))
    return found


def check_markers(report):
    """PyProf's format, parsed back."""
    ranges = recorded(report, "markers", """
        from torch.nn import functional
        assert kino.nvtx.init()
        kino.nvtx.init()

        def inner():
            return functional.linear(x, linear.weight, bias=None)

        y = inner() * 2.0
        torch.cat([y, y], dim=1)
        torch.full((2, 2), float("inf"))
        y.reshape((4, 2))
        torch.nn.LSTMCell(3, 4)(x)
        try:
            torch.mm(x, x)
        except RuntimeError:
            pass
        kino.nvtx.range_push("layer:mine")
        kino.nvtx.range_pop()
        kino.nvtx.stop()
        assert not hasattr(torch.mm, "__wrapped__") and "__add__" not in vars(torch.Tensor), "restored"
        torch.ones(7)
    """)
    found = markers_of(ranges)
    calls = {value["op"]: value for kind, value, _ in found if kind == "arguments"}
    tensor = {"name": "", "type": "tensor", "dtype": "float32"}
    want = {"linear": {"mod": "torch.nn.functional", "op": "linear", "args": [
                {**tensor, "shape": (2, 3)}, {**tensor, "shape": (4, 3)}, {"name": "bias", "type": "NoneType", "value": None}]},
            "__mul__": {"mod": "Tensor", "op": "__mul__", "args": [{**tensor, "shape": (2, 4)}, {"name": "", "type": "float", "value": 2.0}]},
            "cat": {"mod": "torch", "op": "cat", "args": [{**tensor, "shape": (2, 4)}, {**tensor, "shape": (2, 4)}, {"name": "dim", "type": "int", "value": 1}]},
            "full": {"mod": "torch", "op": "full", "args": [{"name": "", "type": "tuple", "value": (2, 2)}, {"name": "", "type": "float", "value": "inf"}]},
            "reshape": {"mod": "Tensor", "op": "reshape", "args": [{**tensor, "shape": (2, 4)}, {"name": "", "type": "tuple", "value": (4, 2)}]},
            "mm": {"mod": "torch", "op": "mm", "args": [{**tensor, "shape": (2, 3)}, {**tensor, "shape": (2, 3)}]}}
    for name, value in want.items():
        report.equal(f"the marker of {name}", calls.get(name), value)
    modules = [value for kind, value, _ in found if kind == "module"]
    report.equal("the marker of a module", modules, [{"mod": "LSTMCell", "strRepr": "3, 4"}])
    traces = [value["traceMarker"] for kind, value, _ in found if kind == "trace"]
    with open("markers.py", encoding="utf-8") as file:
        lines = file.read().splitlines()
    numbers = [next(i for i, line in enumerate(lines, 1) if words in line) for words in ("y = inner()", "return functional.linear")]
    report.equal("lines, the outermost first, without the wrapper", [line.rpartition("/")[2] for line in traces[0]], [f"markers.py:{number}" for number in numbers])
    report.check("no line is of the wrapper", not any("nvtx/_patch" in line for lines in traces for line in lines))
    report.equal("a trace around each call", collections.Counter(kind for kind, _, _ in found if kind != "module")["trace"],
                 sum(kind == "arguments" for kind, _, _ in found))
    report.check("a range of the program", any(text == "layer:mine" for _, _, text in found))
    depths = nesting(ranges)
    report.check("ranges end after an exception, too", depths[next(i for i, (_, _, text) in enumerate(found) if text == "layer:mine")] == 0)
    first = next(i for i, (kind, value, _) in enumerate(found) if kind == "module")
    report.equal("trace, module, arguments: in this order", [kind for kind, _, _ in found[first - 1:first + 2]], ["trace", "module", "arguments"])
    report.equal("and inside each other", depths[first - 1:first + 2], [0, 1, 2])


def nesting(ranges):
    ends, depths = [], []
    for event in ranges:
        while ends and event["ts"] >= ends[-1]:
            ends.pop()
        depths.append(len(ends))
        ends.append(event["ts"] + event["dur"])
    return depths


def run(report):
    for check in (check_nobody_listens, check_texts, check_nvtx, check_itt, check_markers):
        check(report)
