#!/usr/bin/env python3
"""kino record -- torchrun: a data-parallel run (gloo, two ranks) whose operators are marked by ITT. Each rank has a trace that knows its
rank and the world size, iterations are steps, the report names the rank that keeps the other waiting, and processes that are no rank
(torchrun itself, a child of a rank) are listed apart and part of no average.

Needs PyTorch (TORCH_PYTHON, tools/install-torch, or this Python's); skipped without it. Rank 1 sleeps 100 ms in steps that take a few ms:
no other time is judged."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

SCRIPT = common.ROOT / "tests/integration/support/torchrun_train.py"
STEPS, SECONDS = 5, 0.1


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def record(report, python, folder):
    """Few samples, for imports to take no longer than without; but torchrun itself has nothing else to record."""
    done = subprocess.run([common.program(), "record", "--sampling", "20", "-o", folder, "--", python, "-m", "torch.distributed.run",
                           "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", str(free_port()), SCRIPT, str(STEPS), str(SECONDS)],
                          env=dict(os.environ, OMP_NUM_THREADS="1"), stdin=subprocess.DEVNULL, capture_output=True, timeout=150, check=False)
    return report.equal("it runs as without the recorder", (done.returncode, done.stderr[-600:] if done.returncode else b""), (0, b""))


def rows_of(answer, name):
    table = next(table for table in answer["tables"] if table["name"] == name)
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row)) for row in table["rows"]]


def check_traces(report, folder):
    """Who is who, by the traces themselves."""
    info = json.loads(common.run("info", folder, "--format", "json", "--quiet").stdout)
    found = rows_of(info, "traces")
    report.equal("two ranks, and two processes that are none", sorted(str(row["rank"]) for row in found), ["0", "1", "None", "None"])
    report.equal("ranks know how many there are", [row["world_size"] for row in found if row["rank"] is not None], [2, 2])
    steps = common.query(folder, "SELECT rank, count(*), min(dur) FROM step GROUP BY rank ORDER BY rank")
    report.equal("between five calls of the optimizer are four steps, on ranks alone", [row[:2] for row in steps], [[0, STEPS - 1], [1, STEPS - 1]])
    report.check("as long as rank 1 sleeps", all(shortest >= SECONDS * 1e9 for _, _, shortest in steps), f"{steps}")


def check_report(report, folder):
    answer = json.loads(common.run("report", folder, "--format", "json", "--quiet").stdout)
    facts, summary = answer["report"]["facts"], " ".join(sentence["text"] for sentence in answer["report"]["summary"])
    report.equal("ranks", facts["ranks"], "2 (0, 1)")
    report.equal("steps", facts["steps"], f"{STEPS - 1} per rank (#0–{STEPS - 2}), from Optimizer.step")
    report.check("the headline names rank 1 and its host", "Rank 1 is the slowest: its host takes" in summary, summary)
    report.check("nobody else", "Rank 0" not in summary, summary)
    text = " ".join(common.run("report", folder, "--quiet").stdout.decode().split())
    apart = text[text.find("not counted as"):][:200]
    report.check("others are listed apart", "2 processes are not counted as ranks" in text and "launcher" in apart and "helper" in apart, text[:600])
    report.check("and no part of the average", f"mean of {2 * (STEPS - 1)} steps on 2 ranks" in text, text[:1500])
    stragglers = json.loads(common.run("analyze", "stragglers", folder, "--format", "json", "--quiet").stdout)
    report.equal("stragglers has the ranks alone", [(row["rank"], row["steps"], row["is_straggler"]) for row in rows_of(stragglers, "ranks")],
                 [(0, STEPS - 1, False), (1, STEPS - 1, True)])


def main():
    report = common.Report()
    common.program()
    python, version = common.torch_python()
    if not python:
        common.skip("NOT TESTED: no PyTorch (tools/install-torch, or TORCH_PYTHON)")
    print(f"PyTorch {version}")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        if record(report, python, out):
            check_traces(report, out)
            check_report(report, out)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
