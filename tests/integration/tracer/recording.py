"""A recording of Python functions, driven as any program can do it: libkino through ctypes, kino._tracer for the calls."""
import contextlib
import ctypes
import json
import pathlib
import re
import subprocess
from decimal import Decimal

from kino import _tracer
from kino._recorder import CError as Error

from support import common, recorder

NO_BUDGET = 0


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("mode", ctypes.c_int), ("budget", ctypes.c_uint64), ("directory", ctypes.c_char_p),
                ("exit_path", ctypes.c_char_p), ("trace_id", ctypes.c_char_p)]


LIBRARY = ctypes.CDLL(str(recorder.library("libkino.so")))


def call(name, *args):
    error = Error()
    if getattr(LIBRARY, name)(*args, ctypes.byref(error)) != 0:
        raise RuntimeError(f"{name}: {error.message.decode()}")


@contextlib.contextmanager
def session(budget=NO_BUDGET):
    options = Options(ctypes.sizeof(Options), 0, budget, None, None, None)
    call("kino_prepare", ctypes.byref(options))
    call("kino_start")
    try:
        yield
    finally:
        _tracer.stop()
        call("kino_stop")


class Calls:
    """The Python functions of a saved trace, in the order in which they began."""

    def __init__(self, path):
        everything = json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_float=Decimal)["traceEvents"]
        rows = [e for e in everything if e.get("cat") == "python_function" and e["ph"] == "X"]
        for event in rows:
            event.setdefault("args", {})
        self.collections = [e for e in rows if e["name"] == "Python GC"]
        self.all = sorted((e for e in rows if "Python id" in e["args"]), key=lambda e: e["args"]["Python id"])
        self.by_id = {e["args"]["Python id"]: e for e in self.all}
        self.everything = rows

    def named(self, function):
        """The calls of a function of this program, whatever its file and line."""
        return [e for e in self.all if re.search(rf"\): {re.escape(function)}$|built-in (function|method) {re.escape(function)}\b",
                                                 e["name"])]

    def parent(self, event):
        return self.by_id.get(event["args"]["Python parent id"])

    def children(self, event):
        return [e for e in self.all if e["args"]["Python parent id"] == event["args"]["Python id"]]

    def faults(self):
        """What is wrong with the nesting: spans that cross, callers that are not around their calls, spans without an end."""
        found = [f"open: {e['name']}" for e in self.everything if e["args"].get("finished") is False]
        for tid in {e["tid"] for e in self.everything}:
            stack = []
            for event in sorted((e for e in self.everything if e["tid"] == tid),
                                key=lambda e: (e["ts"], -e["dur"], e["args"].get("Python id", 0))):
                while stack and stack[-1]["ts"] + stack[-1]["dur"] < event["ts"] + event["dur"]:
                    last = stack.pop()
                    if last["ts"] + last["dur"] > event["ts"]:
                        found.append(f"{last['name']} crosses {event['name']}")
                stack.append(event)
        for event in self.all:
            caller = self.parent(event)
            if caller and not (caller["ts"] <= event["ts"] and
                               event["ts"] + event["dur"] <= caller["ts"] + caller["dur"] and caller["tid"] == event["tid"]):
                found.append(f"{event['name']} is not within its caller {caller['name']}")
        return found


def record(work, budget=NO_BUDGET, **options):
    """What `work` calls, saved and read again."""
    with session(budget):
        _tracer.start(**options)
        try:
            work()
        finally:
            _tracer.stop()
    return saved()


def saved(path="calls.json"):
    call("kino_save", path.encode())
    return Calls(path)


def query(sql, path="calls.json"):
    done = subprocess.run([common.program(), "query", path, sql, "--format", "json"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["tables"][0]["rows"] if done.returncode == 0 else done.stderr
