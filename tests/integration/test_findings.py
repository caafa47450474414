#!/usr/bin/env python3
"""What must hold of the findings of any trace: gains of one rank are parts of its step and never count the same time twice,
shares in the sentences are those of the overview, advice names only what such a program has, and of several ranks it is said
whose numbers are shown. Over the traces beside the repository where they are there, generated runs of all kinds, and small
traces of programs that are not PyTorch's."""
import collections
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

KINDS = re.findall(r'^PLANT\(\w+, "([\w-]+)"', (common.ROOT / "src/demo/plant_kinds.def").read_text(), re.M)
SHARE = re.compile(r"([\d.]+) % of the step time")
# Words of advice, and what a trace must have for them: SQL conditions on its events.
NEEDS = [
    (r"torch|DataLoader|FSDP|DDP|aten::", "name GLOB 'aten::*' OR name GLOB 'ProfilerStep#*' OR name GLOB 'autograd::*' "
                                          "OR name GLOB 'torch::*' OR name GLOB 'c10d::*'"),
    (r"CUDA graph|torch\.cuda|cudaGraph", "name GLOB 'cuda*' OR name GLOB 'cu[A-Z]*' OR name GLOB 'hip*' OR cat = 'kernel'"),
    (r"pin_memory|pinned|non_blocking", "cat IN ('kernel', 'gpu_memcpy', 'Kernel', 'Memcpy', 'cuda_runtime', 'Runtime')"),
    (r"hipGraph|HIP graph", "name GLOB 'hip*'"),
    (r"jax", "name GLOB 'PjitFunction*'"),
    (r"optimizer|gradient|GradScaler|zero_grad", "name GLOB 'Optimizer.*' OR name GLOB 'autograd::engine*' OR cat IN "
                                                 "('fwdbwd', 'forward_backward')"),
]
# Parts of the overview that a rule's first share is.
PARTS = {"data-loading": "dataloader", "communication": "communication", "synchronous-loader": "dataloader"}


def rows_of(answer, name):
    table = next(t for t in answer["tables"] if t["name"] == name)
    columns = [c["name"] for c in table["columns"]]
    return [dict(zip(columns, row)) for row in table["rows"]]


def analyze(path, name, *options):
    done = common.run("analyze", name, path, "--format", "json", *options)
    return json.loads(done.stdout) if done.returncode == 0 else None


class Trace:
    """One rank: its findings and its overview."""

    def __init__(self, report, path, what, *options):
        self.report, self.path, self.what, self.options = report, path, what, options
        self.findings = rows_of(analyze(path, "recommendations", *options), "recommendations")
        self.has = {}

    def has_any(self, condition):
        if condition not in self.has:
            sql = f"SELECT count(*) FROM event WHERE {condition}"
            self.has[condition] = common.query(self.path, sql, *self.options)[0][0] > 0
        return self.has[condition]

    def check_gains(self):
        gains = [f["gain_percent"] for f in self.findings if f["gain_percent"] is not None]
        self.report.check(f"{self.what}: each gain is a part of the step", all(0 <= g <= 100 for g in gains), gains)
        self.report.check(f"{self.what}: no time is gained twice", sum(gains) <= 100.01, gains)
        for f in self.findings:
            for share in SHARE.findall(f["seen"]):
                self.report.check(f"{self.what}: {f['rule']}: a share is at most all", float(share) <= 100.05, f["seen"])

    def check_parts(self):
        steps = rows_of(analyze(self.path, "overview", *self.options), "step_breakdown")
        total = sum(s["total"] for s in steps)
        for f in self.findings:
            part = PARTS.get(f["rule"])
            found = SHARE.search(f["seen"])
            if not part or not found or not total:
                continue
            want = 100 * sum(s[part] for s in steps) / total
            self.report.check(f"{self.what}: {f['rule']}: the overview's share", abs(float(found[1]) - want) <= 0.06,
                              f"{found[0]} in '{f['seen']}', the overview has {want:.2f} %")
            self.report.check(f"{self.what}: {f['rule']}: gains no more", f["gain_percent"] <= want + 0.01, f["gain_percent"])

    def check_advice(self):
        for f in self.findings:
            for words, condition in NEEDS:
                if re.search(words, f["do"]):
                    self.report.check(f"{self.what}: {f['rule']}: advice fits", self.has_any(condition), f["do"])

    def check_rows(self):
        titles = collections.Counter((f["rule"], f["title"]) for f in self.findings)
        self.report.check(f"{self.what}: each piece of advice once", all(n == 1 for n in titles.values()), titles)
        rules = {f["rule"] for f in self.findings}
        for a, b in (("communication", "exposed-collective"), ("data-loading", "synchronous-loader"),
                     ("mixed-precision", "fp32-matmul")):
            self.report.check(f"{self.what}: {b} yields", not {a, b} <= rules, sorted(rules))

    def check(self):
        self.check_gains()
        self.check_parts()
        self.check_advice()
        self.check_rows()


def check_run(report, path, what):
    """Several ranks: it is said whose numbers they are; the headline names the first finding and no other rank."""
    done = common.run("report", path, "--format", "json")
    answer = json.loads(done.stdout)
    findings = answer["recommendations"]
    ranks = rows_of(analyze(path, "overview"), "configuration")
    for f in rows_of(analyze(path, "recommendations"), "recommendations"):
        if len(ranks) > 1 and f["gain_percent"] is not None and f["rule"] != "straggler" and f["rank"] is not None:
            report.check(f"{what}: {f['rule']}: whose", f["seen"].startswith(f"rank {f['rank']}") and f["rank"] in f["ranks"],
                         f["seen"])
    text = " ".join(s["text"] for s in answer["report"]["summary"])
    first = findings[0] if findings and findings[0]["severity"] != "info" else None
    if first:
        report.check(f"{what}: the headline has the first finding", "Start with: " in text and first["title"] in text, text)
    slow = [f for f in findings if f["rule"] == "straggler"]
    named = re.findall(r"\b[Rr]anks? [\d, and]+ (?:is|are) the slowest: ", text)
    report.equal(f"{what}: the headline accuses whom the rule accuses", len(named), len(slow))
    report.check(f"{what}: whose step", len(ranks) < 2 or "mean of" in text, text)


def event(name, cat, ts, dur, tid, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 100, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def own_program(launch, marker="main"):
    """A program that launches small kernels with gaps between them, and waits after each."""
    events = [event(marker, "cpu_op", 0, 4000, 1)]
    for i in range(50):
        events.append(event(launch, "cuda_runtime", 80 * i, 4, 1, correlation=i + 1))
        events.append(event("add_floats", "kernel", 80 * i + 10, 20, 7, correlation=i + 1, device=0, stream=7))
    return {"schemaVersion": 1, "traceEvents": events}


OWN = [("cuda", own_program("cudaLaunchKernel"), "cudaGraphLaunch"), ("hip", own_program("hipLaunchKernel"), "hipGraphLaunch"),
       ("opencl", own_program("clEnqueueNDRangeKernel"), "cl_khr_command_buffer"),
       ("jax", own_program("cuLaunchKernel", "PjitFunction(step)"), "jax.jit")]


def check_own(report, folder):
    for name, trace, words in OWN:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(trace))
        one = Trace(report, path, name)
        one.check()
        report.check(f"{name}: something is advised, in its words", any(words in f["do"] for f in one.findings),
                     [f["do"] for f in one.findings])
        report.check(f"{name}: nothing of PyTorch", not any("torch" in f["do"] for f in one.findings), one.findings)


def ranks_of(path):
    answer = analyze(path, "overview")
    return [row["rank"] for row in rows_of(answer, "configuration")] if answer else None


def main():
    report = common.Report()
    shared = common.SHARED / "traces"
    runs = sorted({p.parent for p in common.real_traces()}) if shared.is_dir() else []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_own(report, folder)
        for kind in KINDS:
            path = folder / kind
            common.run("demo", path, "--plant", kind, "--seed", "5", "--steps", "5", "--ranks", "2", "--no-info", "--quiet")
            if not path.is_dir():
                common.run("demo", path, "--plant", kind, "--seed", "5", "--no-info", "--quiet")
            runs.append(path)
        for path in runs:
            ranks = ranks_of(path)
            if ranks is None:
                continue  # not a run of traces
            what = f"{path.parent.name}/{path.name}"
            check_run(report, path, what)
            for rank in ranks[:2]:
                options = ("--rank", str(rank)) if rank is not None and len(ranks) > 1 else ()
                Trace(report, path, f"{what} rank {rank}", *options).check()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
