#!/usr/bin/env python3
"""kernel-costs: PyProf's outputs byte for byte where they were recorded, and the right rows where PyProf mixes processes, streams and
threads up."""
import csv
import io
import pathlib
import sys
import tempfile

from support import common
from support.nsys_database import Database, global_tid

PYPROF = common.ROOT.parent / "shared/traces/pyprof"
COLUMNS = "idx,seq,altseq,tid,layer,trace,dir,sub,mod,op,kernel,params,sil,tc,device,stream,grid,block,flops,bytes"
FILES = {"nsys_lenet_classic": "nsys_lenet", "nsys_lenet_modern": "nsys_lenet", "nvprof_simple": "nvprof_simple"}


def lines(report, path, *arguments):
    done = common.run("analyze", "kernel-costs", path, *arguments)
    report.equal(f"{path.name} {arguments}: exit", (done.returncode, done.stderr.decode()), (0, ""))
    return done.stdout.decode().splitlines()


def test_recorded(report):
    for name, expected in FILES.items():
        path = PYPROF / f"{name}.sqlite"
        for suffix, arguments in (("csv", ("--format", "pyprof-csv", "--columns", COLUMNS)), ("dict", ("--format", "pyprof-dict")),
                                  ("w160.txt", ("--format", "pyprof-table", "--width", "160"))):
            want = PYPROF / f"{expected}.expected.{suffix}"
            if want.exists():
                report.equal(f"{name}: {suffix}", lines(report, path, *arguments), want.read_text().splitlines())


def table(path, *arguments):
    done = common.run("analyze", "kernel-costs", path, "--format", "csv", *arguments)
    return list(csv.DictReader(io.StringIO(done.stdout.decode())))


def test_table(report):
    """The table of --compat pyprof has PyProf's values under the names of the catalog."""
    names = {"idx": "Idx", "seq": "SeqId", "alt_seq": "AltSeqId", "tid": "TId", "layer": "Layer", "trace": "Trace",
             "direction": "Direction", "sub_seq": "Sub", "module": "Module", "op": "Op", "kernel": "Kernel", "params": "Params",
             "sil": "Sil(ns)", "tc": "TC", "device": "Device", "stream": "Stream", "grid": "Grid", "block": "Block",
             "flops": "FLOPs", "bytes": "Bytes"}
    for name, expected in FILES.items():
        want = list(csv.DictReader((PYPROF / f"{expected}.expected.csv").open()))
        got = table(PYPROF / f"{name}.sqlite", "--compat", "pyprof")
        for ours, theirs in names.items():
            report.equal(f"{name}: {ours}", [row[ours] for row in got],
                         ["" if row[theirs] == "-" and ours in ("seq", "alt_seq", "layer", "trace") else row[theirs].removesuffix(".0") for row in want])


def total(rows, column):
    return sum(int(row[column]) for row in rows if row[column])


def test_one_truth(report):
    """op-costs adds up what kernel-costs has for each kernel, and knows nearly all of it."""
    for name in FILES:
        path = PYPROF / f"{name}.sqlite"
        kernels = table(path)
        known = sum(int(row["sil"]) for row in kernels if row["flops"])
        done = common.run("query", path, "SELECT sum(flops) AS flops, sum(bytes) AS bytes FROM op_costs", "--format", "csv")
        got = next(csv.DictReader(io.StringIO(done.stdout.decode())))
        report.equal(f"{name}: op-costs and kernel-costs", [int(got["flops"]), int(got["bytes"])],
                     [total(kernels, "flops"), total(kernels, "bytes")])
        report.equal(f"{name}: known", known / total(kernels, "sil") >= 0.9, True)


def marker(op, *shapes):
    tensors = ", ".join(f"{{'name': '', 'type': 'tensor', 'shape': {shape}, 'dtype': 'float32'}}" for shape in shapes)
    return f"{{'mod': 'torch', 'op': '{op}', 'args': [{tensors}]}}"


def plant(path):
    """Two processes with the same thread numbers, correlations and sequence numbers, two threads each, four streams; kernels run late and
    out of order. The truth is in the kernels' names: process, thread and size of the product."""
    base = Database(path)
    truth = {}
    late = []
    for process, pid in enumerate((100, 200)):
        correlation = 0
        for thread in range(2):
            tid = global_tid(pid, 1 + thread)
            for number in range(8):
                size = 16 * (1 + number + 8 * thread + 16 * process)
                start = 1000 * number + 100 * thread + 37 * process
                correlation += 1
                name = f"gemm_p{process}_t{thread}_{number}"
                base.range(tid, start, start + 60, marker("mm", (size, size), (size, size)))
                base.range(tid, start + 5, start + 55, f"aten::mm, seq = {number}")
                base.call(tid, start + 10, start + 20, correlation)
                truth[name] = (pid * 0 + 1 + thread, 2 * size ** 3, 3 * 4 * size ** 2, "mm", str(number))
                # every third kernel waits a long time: others, launched after it, run before
                delay = 50000 if number % 3 == 0 else 100
                late.append((start + delay + 10 * thread, tid, correlation, name, 7 + 2 * process + (number + thread) % 2))
    for start, tid, correlation, name, stream in sorted(late):
        base.kernel(tid, start, start + 400, correlation, name, device=0, stream=stream)
    base.close()
    return truth


def test_interleaved(report, folder):
    path = folder / "interleaved.sqlite"
    truth = plant(path)
    rows = table(path)
    report.equal("interleaved: all kernels have a row", sorted(row["kernel"] for row in rows), sorted(truth))
    wrong = [row["kernel"] for row in rows if (int(row["tid"]), int(row["flops"] or -1), int(row["bytes"] or -1), row["op"], row["seq"]) != truth[row["kernel"]]]
    report.equal("interleaved: rows with wrong thread, operator, number or cost", wrong, [])
    report.equal("interleaved: kernels of different calls are not numbered as one", {row["sub_seq"] for row in rows}, {"0"})
    report.equal("interleaved: in order of time", [int(row["idx"]) for row in rows], list(range(1, 33)))


def main():
    report = common.Report()
    if PYPROF.is_dir():
        test_recorded(report)
        test_table(report)
        test_one_truth(report)
    else:
        print("not compared: no ../shared/traces/pyprof")
        report.skipped += 1
    with tempfile.TemporaryDirectory() as name:
        test_interleaved(report, pathlib.Path(name))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
