#!/usr/bin/env python3
"""kino._tracer beside a profile function in C that does nothing: bench/python_tracer.py PACKAGE LIBKINO FOLDER [--only WAY --calls N]. Both run
the same program of calls, in turns. Prints one line of JSON: processor time of each way, the best of all rounds, and the median of the ratios of
neighbors, which other programs disturb least; of samples also the interval that has the true median with 95 %. --only runs one way once, for callgrind."""
import argparse
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys
import sysconfig
import time

# On 3.12 and later this is what sys.setprofile gives to C, too: PyEval_SetProfile.
NOTHING = """
#include <Python.h>
#include <frameobject.h>
static int nothing(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) { return 0; }
static PyObject *start(PyObject *self, PyObject *unused) { PyEval_SetProfile(nothing, NULL); Py_RETURN_NONE; }
static PyObject *stop(PyObject *self, PyObject *unused) { PyEval_SetProfile(NULL, NULL); Py_RETURN_NONE; }
static PyMethodDef methods[] = {{"start", start, METH_NOARGS, NULL}, {"stop", stop, METH_NOARGS, NULL}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "nothing", NULL, -1, methods};
PyMODINIT_FUNC PyInit_nothing(void) { return PyModule_Create(&module); }
"""
ROUNDS = 41
SAMPLED = 32  # times as many calls without hooks, so that each round has some tens of samples
BUDGET = 64 << 20


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("mode", ctypes.c_int), ("budget", ctypes.c_uint64), ("directory", ctypes.c_char_p),
                ("exit_path", ctypes.c_char_p), ("trace_id", ctypes.c_char_p)]


class Node:
    """A program of small methods, functions, a few C calls and a generator, as data loading and model code have them."""

    def __init__(self, value):
        self.value, self.parts = value, []

    def scale(self, factor):
        return clamp(self.value * factor, 0, 1000)

    def total(self):
        return sum(part.scale(2) for part in self.parts)


def clamp(value, low, high):
    return low if value < low else high if value > high else value


def program(calls):
    node = Node(1)
    for _ in range(calls // 64):
        node.parts = []
        for i in range(8):
            node.parts.append(Node(i))
        for part in node.parts:
            part.scale(len(node.parts))
        node.total()


def nothing(folder):
    """Built once: the compiler must not be on the clock."""
    source, library = folder / "nothing.c", folder / f"nothing{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not library.exists():
        source.write_text(NOTHING)
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", f"-I{sysconfig.get_paths()['include']}", source, "-o", library], check=True)
    sys.path.insert(0, str(folder))
    return __import__("nothing")


class Ways:
    def __init__(self, package, library, folder):
        sys.path.insert(0, package)
        from kino import _tracer
        self.tracer, self.library, self.idle = _tracer, ctypes.CDLL(library), nothing(folder)

    def none(self, calls):
        program(calls)

    def empty(self, calls):
        self.idle.start()
        program(calls)
        self.idle.stop()

    def kino(self, calls):
        self.tracer.start()
        program(calls)
        self.tracer.stop()

    def sample(self, calls):
        program(calls)

    def timed(self, way, calls):
        if way in ("kino", "sample"):
            options = Options(ctypes.sizeof(Options), 0, BUDGET, None, None, None)
            if self.library.kino_prepare(ctypes.byref(options), None) or self.library.kino_start(None):
                raise SystemExit("libkino does not start")
        if way == "sample":
            self.tracer.sample_start()
        begin = time.process_time()
        getattr(self, way)(calls)
        used = time.process_time() - begin
        self.tracer.sample_stop()
        if way in ("kino", "sample"):
            self.library.kino_stop(None)
        return used


def interval_of(ratios):
    """The ranks between which the median of what they were drawn from is with 95 %: the binomial distribution's."""
    ordered, count = sorted(ratios), len(ratios)
    below, rank = 0.0, 0
    while below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    return [ordered[max(rank - 1, 0)], ordered[count - max(rank, 1)]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package")
    parser.add_argument("library")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", choices=("none", "empty", "kino", "sample"))
    parser.add_argument("--calls", type=int, default=100000)
    args = parser.parse_args()
    ways = Ways(args.package, args.library, args.folder)
    if args.only:
        ways.timed(args.only, args.calls)
        return
    times = {way: [] for way in ("none", "sample", "empty", "kino")}
    for _ in range(ROUNDS):
        for way, seconds in times.items():
            seconds.append(ways.timed(way, args.calls * (SAMPLED if way in ("none", "sample") else 1)))
    best = {way: min(seconds) for way, seconds in times.items()}
    stats = ways.tracer.stats()
    ratio = statistics.median(ours / theirs for ours, theirs in zip(times["kino"], times["empty"]))
    sampled = [ours / plain for ours, plain in zip(times["sample"], times["none"])]
    print(json.dumps({"kino_s": best["kino"], "empty_s": best["empty"], "none_s": best["none"] / SAMPLED, "ratio": ratio,
                      "sample_ratio": statistics.median(sampled), "sample_interval": interval_of(sampled), "spans": stats["calls"],
                      "dropped": stats["dropped"]}))


if __name__ == "__main__":
    main()
