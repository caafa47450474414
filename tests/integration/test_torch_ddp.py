#!/usr/bin/env python3
"""A real data-parallel run of PyTorch (gloo, two ranks) with a planted fault, recorded in two ways: by torch.profiler, and on
demand through our daemon. The report must name the same rank and the same cause each time, and must accuse nobody where nothing is
wrong. The launcher (torchrun) is never counted as a rank.

Needs PyTorch (TORCH_PYTHON, tools/install-torch, or this Python's); skipped without it. Faults are sleeps of 300 ms in steps that
take 200 ms on every rank: no other time is judged."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

SCRIPT = common.ROOT / "tests/integration/support/ddp_train.py"
FAULTS = {"sleep": "host", "loader": "data loader", "none": None}
PATIENCE = 150  # seconds for imports of torch on a busy machine


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def torchrun(python, *arguments):
    return [python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port",
            str(free_port()), str(SCRIPT), *map(str, arguments)]


def table(done, name):
    """The rows of a table as dictionaries."""
    chosen = next(one for one in json.loads(done.stdout)["tables"] if one["name"] == name)
    names = [column["name"] for column in chosen["columns"]]
    return [dict(zip(names, row)) for row in chosen["rows"]]


class Scene:
    """A daemon of our own and a training run that it knows."""

    def __init__(self, folder, python):
        self.folder = folder
        (folder / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
        socket_path = folder / "s"
        self.env = {"KINETO_IPC_SOCKET_DIR": str(folder), "KINETO_USE_DAEMON": "1", "KINETO_CONFIG": str(folder / "kineto.conf"),
                    "OMP_NUM_THREADS": "1", "KINO_DAEMON_SOCKET": str(socket_path)}
        self.daemon = subprocess.Popen([common.program(), "daemon", "--socket", socket_path, "--abstract", "no", "--socket-dir", folder,
                                        "--port", "none", "--metrics-address", "none"], stdin=subprocess.DEVNULL,
                                       stderr=open(folder / "daemon.log", "ab"))
        while not socket_path.exists() and self.daemon.poll() is None:
            time.sleep(0.02)
        self.training = subprocess.Popen(torchrun(python, "--profile", folder / "profiled", "--wait", folder, *FAULTS),
                                         env=dict(os.environ, **self.env), stdin=subprocess.DEVNULL, start_new_session=True,
                                         stdout=open(folder / "training.log", "ab"), stderr=subprocess.STDOUT)

    def wait_for(self, fault):
        end = time.monotonic() + PATIENCE
        while not (self.folder / f"{fault}.ready").exists() and self.training.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        return (self.folder / f"{fault}.ready").exists()

    def trigger(self, fault, *options):
        """Traces of all processes, in a folder of the fault's name; the rows of the table."""
        target = self.folder / "on-demand" / fault
        target.mkdir(parents=True)
        done = common.run("trigger", "--all", "--warmup", "0s", "--output", target / "t.json", "--format", "json", *options,
                          env=self.env, timeout=PATIENCE)
        (self.folder / f"{fault}.done").touch()
        if done.returncode != 0:
            return [], done
        return table(done, "traces"), done

    def end(self):
        if self.training.poll() is None:
            os.killpg(self.training.pid, signal.SIGKILL)
        self.training.wait()
        self.daemon.terminate()
        self.daemon.wait()


def read_report(folder):
    done = common.run("report", folder, "--format", "json", "--quiet")
    answer = json.loads(done.stdout)
    report = answer["report"]
    return answer, report["facts"], " ".join(sentence["text"] for sentence in report["summary"])


def check_headline(report, what, folder, fault):
    """The right rank and the right cause in the summary; nobody where nothing is wrong."""
    answer, facts, summary = read_report(folder)
    report.equal(f"{what}: ranks", facts.get("ranks"), "2 (0, 1)")
    first = answer["recommendations"][0] if answer["recommendations"] else {}
    if FAULTS[fault]:
        report.check(f"{what}: the headline names rank 1", "Rank 1 is the slowest" in summary, summary)
        report.check(f"{what}: and the cause", f"its {FAULTS[fault]} takes" in summary, summary)
        report.check(f"{what}: nobody else", "Rank 0" not in summary, summary)
        report.check(f"{what}: the first advice is about rank 1", "rank 1" in json.dumps(first).lower(), json.dumps(first)[:300])
    else:
        check_nobody(report, what, folder)
    accused = [row["rank"] for row in table(common.run("analyze", "stragglers", folder, "--format", "json"), "ranks") if row["is_straggler"]]
    report.equal(f"{what}: analyze stragglers names the same", accused, [1] if FAULTS[fault] else [])
    return facts


def check_nobody(report, what, folder):
    """On no page."""
    for page in (["report", "--full"], ["analyze", "stragglers"], ["analyze", "collectives"], ["analyze", "distributed"]):
        text = " ".join(common.run(*page, folder, "--quiet").stdout.decode().split())
        report.check(f"{what}: nobody is accused by {' '.join(page)}", text and "slowest" not in text and "straggles" not in text, text[-2000:])


def check_on_demand(report, scene, fault):
    options = ["--iterations", 3] if fault == "loader" else ["--duration", "2s"]
    if fault == "sleep":
        options += ["--profile-memory"]
    rows, done = scene.trigger(fault, *options)
    if not report.equal(f"{fault}: three processes", sorted(str(row["rank"]) for row in rows), ["0", "1", "None"]):
        print(done.stdout.decode()[-600:], done.stderr.decode()[-600:])
        return
    if fault == "sleep":
        report.check("--profile-memory: PyTorch records no allocations on demand, and we say so",
                     b"no memory events" in done.stderr, done.stderr.decode()[-400:])
    folder = scene.folder / "on-demand" / fault
    for row in rows:
        side = json.loads(pathlib.Path(row["path"] + ".kino-meta").read_text())
        want = {"rank": row["rank"], "world_size": 2, "local_rank": row["rank"]} if row["rank"] is not None else None
        report.equal(f"{fault}: the sidecar of {row['pid']}", side.get("distributedInfo"), want)
        report.equal(f"{fault}: its role", side["kino_process"]["role"], "launcher" if want is None else "rank")
    facts = check_headline(report, f"on demand, {fault}", folder, fault)
    report.check(f"{fault}: iterations are steps", facts["steps"].endswith("from Optimizer.step"), facts["steps"])
    for rank, steps, mean in common.query(folder, "SELECT rank, count(*), avg(dur) FROM step GROUP BY rank"):
        report.check(f"{fault}: steps of rank {rank}", 2 <= steps <= 10, f"{steps}")
        report.check(f"{fault}: each as long as its sleeps at least", mean >= (500e6 if FAULTS[fault] else 200e6), f"{mean}")
    if fault == "loader":
        counts = common.query(folder, "SELECT DISTINCT count(*) FROM step GROUP BY trace")
        report.equal("three iterations are three steps", counts, [[3]])


def main():
    report = common.Report()
    common.program()
    python, version = common.torch_python()
    if not python:
        common.skip("NOT TESTED: no PyTorch (tools/install-torch, or TORCH_PYTHON)")
    print(f"PyTorch {version}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kino-", dir="/tmp"))  # paths of sockets are short
    scene = Scene(folder, python)
    started = time.monotonic()
    try:
        for fault in FAULTS:
            if not report.check(f"{fault}: it trains", scene.wait_for(fault)):
                print((folder / "training.log").read_text()[-2000:])
                return report.finish()
            check_on_demand(report, scene, fault)
            print(f"{fault}: {time.monotonic() - started:.1f} s")
        report.equal("the training ends well", scene.training.wait(timeout=PATIENCE), 0)
        for fault in FAULTS:
            check_headline(report, f"profiled, {fault}", folder / "profiled" / fault, fault)
        print(f"all: {time.monotonic() - started:.1f} s")
    finally:
        scene.end()
        if report.failures:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
