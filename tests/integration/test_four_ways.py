#!/usr/bin/env python3
"""One training run (gloo, two ranks, a planted straggler) recorded in four ways: torch.profiler, kino.profile, a trace on request, and
kino record without a change of the program. Their reports have the same headline and agree in what they say about steps and operators.

Needs PyTorch; skipped without it. Rank 1 sleeps 180 ms in each step, rank 0 60 ms: no other time is judged."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from support import common

SCRIPT = common.ROOT / "tests/integration/support/four_ways_train.py"
PACKAGE = pathlib.Path(os.environ.get("KINO_TOOLS") or pathlib.Path(common.program()).parent) / "python"
PATIENCE = 240  # imports of torch on a busy machine
STEP_NS = 180e6


def run(python, *words, recorder=()):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KINO_PROGRAM": common.program()}
    return subprocess.run([*map(str, recorder), python, str(SCRIPT), *map(str, words)], env=environment, capture_output=True, text=True,
                          timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)


class Answer:
    """What the report of a folder says, without the numbers that differ from run to run."""

    def __init__(self, folder):
        answer = json.loads(common.run("report", folder, "--format", "json", "--quiet").stdout)["report"]
        self.facts, summary = answer["facts"], [sentence["text"] for sentence in answer["summary"]]
        self.headline = re.sub(r"(?<!Rank )\b\d[\d.,]*( (ns|µs|ms|s|%))?", "N", next((text for text in summary if "slowest" in text), " ".join(summary)))
        steps = common.query(folder, "SELECT rank, count(*), avg(dur) FROM step GROUP BY rank ORDER BY rank")
        self.ranks, self.counts = [row[0] for row in steps], [int(row[1]) for row in steps]
        self.step_ns = [float(row[2]) for row in steps]
        per_step = "SELECT name, count(*) * 1.0 / (SELECT count(*) FROM event WHERE name LIKE 'Optimizer.step%') FROM event " \
                   "WHERE cat = 'cpu_op' AND name IN ('aten::addmm', 'aten::mm', 'aten::linear', 'gloo:all_reduce') GROUP BY name ORDER BY name"
        self.operators = [(name, round(float(count), 1)) for name, count in common.query(folder, per_step)]


def compare(report, name, answer, base):
    report.equal(f"{name}: ranks", answer.ranks, [0, 1])
    report.equal(f"{name}: the headline", answer.headline, base.headline)
    report.check(f"{name}: it names the planted rank", answer.headline.startswith("Rank 1 is the slowest"), answer.headline)
    report.check(f"{name}: steps are as long as the slow rank sleeps", all(STEP_NS <= ns for ns in answer.step_ns), answer.step_ns)
    report.check(f"{name}: as long as PyTorch's own trace says", all(abs(ns - of_base) < 0.5 * of_base
                                                                     for ns, of_base in zip(answer.step_ns, base.step_ns)), (answer.step_ns, base.step_ns))
    report.check(f"{name}: operators per step", {n: c for n, c in answer.operators}.keys() == {n: c for n, c in base.operators}.keys() and
                 all(abs(count - dict(base.operators)[operator]) <= 1 for operator, count in answer.operators), (answer.operators, base.operators))


def main():
    report = common.Report()
    python, version = common.torch_python()
    if not python or not (PACKAGE / "kino").is_dir():
        common.skip("NOT TESTED: no PyTorch (tools/install-torch, or TORCH_PYTHON), or the Python package is not built")
    print(f"PyTorch {version}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = run(python, "launch", "windows", folder)
        report.equal("three windows", (done.returncode, done.stderr[-1500:] if done.returncode else ""), (0, ""))
        recorder = [common.program(), "record", "--quiet", "--sampling", "off", "-o", f"{folder}/record/", "--"]
        done = run(python, "launch", "plain", recorder=recorder)
        report.equal("kino record", (done.returncode, done.stderr[-1500:] if done.returncode else ""), (0, ""))
        if not report.failures:
            names = sorted(path.name.split("-")[0] for path in (folder / "record").glob("rank*"))
            report.equal("kino record: files are named by rank", names, ["rank0", "rank1"])
            base = Answer(folder / "torch")
            for way in ("torch", "kino", "request", "record"):
                compare(report, way, Answer(folder / way), base)
            print(base.headline)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
