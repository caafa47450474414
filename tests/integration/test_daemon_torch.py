#!/usr/bin/env python3
"""Traces on request from processes that run: eight at once, by time and by iterations, and one that dies meanwhile.

With PyTorch (TORCH_PYTHON, tools/install-torch, or this Python's) the processes are examples/train; without it they are
support/fabric_client.py, which speaks the same protocol."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

COUNT = 8
PATIENCE = 150  # seconds for eight imports of torch on a busy machine


class Scene:
    """A daemon of our own, and processes that it knows."""

    def __init__(self, folder, python):
        self.folder, self.python, self.programs, self.commands = folder, python, [], {}
        self.socket = folder / "s"
        (folder / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
        self.env = {"KINETO_IPC_SOCKET_DIR": str(folder), "KINETO_USE_DAEMON": "1", "KINETO_CONFIG": str(folder / "kineto.conf"),
                    "KINETO_ONDEMAND_TRACE_DIR": str(folder), "OMP_NUM_THREADS": "1", "KINO_DAEMON_SOCKET": str(self.socket)}
        self.daemon = None

    def start_daemon(self):
        self.daemon = subprocess.Popen(
            [common.program(), "daemon", "--socket", self.socket, "--abstract", "no", "--socket-dir", self.folder, "--port", "none",
             "--metrics-address", "none", "--metrics-interval", "0.5"], stderr=open(self.folder / "daemon.log", "ab"),
            stdin=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while not self.socket.exists() and time.monotonic() < end:
            time.sleep(0.02)

    def start_program(self, rank, *arguments):
        script = common.ROOT / "examples/train/train.py" if self.python else common.ROOT / "tests/integration/support/fabric_client.py"
        command = [self.python or sys.executable, str(script), *(arguments if self.python else ()), "--seconds", "300"]
        program = subprocess.Popen(command, env=dict(os.environ, **self.env, RANK=str(rank)), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        self.programs.append(program)
        self.commands[program.pid] = command
        return program

    def wait_until_training(self):
        """All have said that they train; False when one does not."""
        for program in self.programs:
            timer = threading.Timer(PATIENCE, program.kill)
            timer.start()
            line = program.stdout.readline()
            timer.cancel()
            if not line.startswith("training"):
                return False
        return True

    def run(self, *arguments, **more):
        return common.run(*arguments, env=self.env, timeout=90, **more)

    def processes(self):
        return {row["pid"]: row for row in table(self.run("status", "--format", "json"))}

    def end(self):
        for program in [*self.programs, *([self.daemon] if self.daemon else [])]:
            program.kill()
            program.wait()


def table(done, name=None):
    """The rows of a table as dictionaries."""
    answer = json.loads(done.stdout)["tables"]
    chosen = next((one for one in answer if one["name"] == name), answer[0])
    names = [column["name"] for column in chosen["columns"]]
    return [dict(zip(names, row)) for row in chosen["rows"]]


def check_trace(report, row, what):
    path = pathlib.Path(row["path"] or "/nowhere")
    if not report.check(f"{what}: the file is there", path.is_file(), str(row)):
        return
    report.equal(f"{what}: its size", row["size"], path.stat().st_size)
    report.check(f"{what}: the pid is in its name", str(row["pid"]) in path.name, path.name)
    spans = common.query(path, "SELECT count(*), count(DISTINCT pid), min(pid) FROM event WHERE ph = 'X' AND cat = 'cpu_op'")[0]
    report.check(f"{what}: operators of this process", spans[0] > 0 and spans[1] == 1 and str(spans[2]) == str(row["pid"]), str(spans))


def check_status(report, scene):
    end = time.monotonic() + 20
    while len(scene.processes()) < COUNT and time.monotonic() < end:
        time.sleep(0.3)
    known = scene.processes()
    report.equal("real pids are registered", sorted(known), sorted(program.pid for program in scene.programs))
    for rank, program in enumerate(scene.programs):
        row = known.get(program.pid, {})
        report.equal(f"rank of process {rank}", row.get("rank"), rank)
        report.check(f"command of process {rank}", (row.get("command") or "").startswith(scene.commands[program.pid][0][:60]), str(row))
        report.equal(f"user of process {rank}", row.get("uid"), os.getuid())
        report.check(f"process {rank} was seen", row.get("last_seen") is not None and row["last_seen"] < 10e9, str(row))
        report.equal(f"process {rank} is idle", row.get("state"), "idle")
    chosen = table(scene.run("status", "--pids", scene.programs[3].pid, "--format", "json"))
    report.equal("one by its pid", [row["pid"] for row in chosen], [scene.programs[3].pid])
    nothing = scene.run("status", "--pids", os.getpid(), "--format", "json")
    note = json.loads(nothing.stdout)["input"]["notes"][0]
    report.check("why a process is not there", nothing.returncode == 1 and "started without KINETO_USE_DAEMON" in note, note)
    nothing = scene.run("status", "--job", 4711, "--format", "json")
    report.check("why a job is not there", "registered jobs: 0" in json.loads(nothing.stdout)["input"]["notes"][0], nothing.stdout[-300:])
    nothing = scene.run("status", "--name", "*nothing like it*")
    report.check("why a name is not there", "no name or command line matches" in nothing.stdout.decode(), nothing.stdout[-300:])


def check_duration(report, scene):
    """All eight, half a second each."""
    started = time.time()
    done = scene.run("trigger", "--all", "--duration", "500ms", "--warmup", "0s", "--output", scene.folder / "all.json",
                     "--format", "json", "--with-metrics")
    report.equal("exit code of eight at once", (done.returncode, done.stderr), (0, b""))
    rows = table(done)
    report.equal("all eight", sorted(row["pid"] for row in rows), sorted(program.pid for program in scene.programs))
    report.equal("all written", {row["state"] for row in rows}, {"written"})
    report.equal("ranks", sorted(row["rank"] for row in rows), list(range(COUNT)))
    for row in rows:
        check_trace(report, row, f"rank {row['rank']}")
    path = rows[0]["path"]
    first, last = common.query(path, "SELECT min(ts), max(ts + dur) FROM event WHERE cat = 'cpu_op'")[0]
    report.check("about half a second long", 0.05e9 < last - first < 1.5e9, f"{(last - first) / 1e9} s")
    origin = int(json.loads(common.run("query", path, "SELECT 1", "--format", "json").stdout)["input"]["origin_ns"])
    report.check("recorded while we waited", started - 1 < (origin + first) / 1e9 < time.time() + 1, f"{origin + first}")
    counters = common.query(path, "SELECT count(DISTINCT name), min(ts), max(ts) FROM counter")[0]
    report.check("with the daemon's counters", counters[0] > 3, str(counters))
    report.check("of that time", counters[1] is not None and first - 3e9 < counters[1] and counters[2] < last + 3e9, f"{counters} {first} {last}")
    analysed = common.run("report", path, "--format", "json", "--quiet")
    report.check("kino report analyses it", analysed.returncode == 0 and json.loads(analysed.stdout)["report"]["sections"],
                 analysed.stderr[-300:])
    requests = table(scene.run("status", "--format", "json"), "requests")
    report.equal("the request is remembered", [(row["state"], row["targets"], row["open"]) for row in requests], [("written", COUNT, 0)])
    again = table(scene.run("status", "--request", requests[0]["request"], "--format", "json"))
    report.equal("and its targets", sorted(row["pid"] for row in again), sorted(row["pid"] for row in rows))


def check_iterations(report, scene):
    """Three steps, as .kino files. One of the processes has no optimizer: PyTorch sees no steps, and records half a second."""
    chosen = [*scene.programs[:2], scene.programs[4]]
    done = scene.run("trigger", "--pids", ",".join(str(program.pid) for program in chosen), "--iterations", 3, "--warmup", "0s",
                     "--record-shapes", "--to", "kino", "--output", f"{scene.folder}/steps.pt.trace.json", "--format", "json")
    report.equal("exit code of iterations", (done.returncode, done.stderr), (0, b""))
    rows = table(done)
    report.equal("those that were chosen", sorted(row["pid"] for row in rows), sorted(program.pid for program in chosen))
    for row in rows:
        check_trace(report, row, "iterations")
        report.check("a .kino file", row["path"].endswith(f"/steps_{row['pid']}.kino"), row["path"])
        report.check("and nothing else", not (scene.folder / f"steps_{row['pid']}.pt.trace.json").exists())
        name = "Optimizer.step%" if scene.python else "aten::step"
        steps = common.query(row["path"], f"SELECT count(*) FROM event WHERE ph = 'X' AND name LIKE '{name}'")[0][0]
        if scene.python and row["pid"] == scene.programs[4].pid:
            report.equal("no steps without an optimizer", steps, 0)
        else:
            report.check("three steps", 2 <= steps <= 4 if scene.python else steps == 3, f"{steps}")
        analysed = common.run("report", row["path"], "--format", "json", "--quiet")
        report.check("kino report analyses it, too", analysed.returncode == 0, analysed.stderr[-300:])


def check_death(report, scene):
    """One of two dies before its trace is written; the other one is not disturbed, a third one's request is cancelled."""
    victim, other, third = scene.programs[5], scene.programs[6], scene.programs[7]
    waiting = subprocess.Popen([common.program(), "trigger", "--pids", f"{victim.pid},{other.pid}", "--duration", "1s", "--warmup", "1s",
                                "--output", scene.folder / "death.json", "--format", "json"], env=dict(os.environ, **scene.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.2)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    late = scene.run("trigger", "--pids", third.pid, "--start-at", "+200s", "--no-wait", "--format", "json")
    request = table(late)[0]["request"]
    report.equal("asked, not waited for", (late.returncode, table(late)[0]["state"]), (0, "queued"))
    busy = scene.run("trigger", "--pids", third.pid, "--duration", "500ms")
    report.check("a second request for the same process", busy.returncode == 1 and b"already have a request" in busy.stderr, busy.stderr[-300:])
    ended = table(scene.run("trigger", "--cancel", request, "--format", "json"))
    report.check("cancelled", ended[0]["state"] in ("cancelled", "delivered"), str(ended))
    out, err = waiting.communicate(timeout=60)
    rows = {row["pid"]: row for row in table(subprocess.CompletedProcess([], 0, out, err))}
    report.equal("a dead process is gone", rows[victim.pid]["state"], "gone")
    report.equal("the other one is written", rows[other.pid]["state"], "written")
    report.check("which is a failure, and is told", waiting.returncode == 1 and b"1 of 2 traces written" in err, err[-300:])
    check_trace(report, rows[other.pid], "beside a dead one")
    report.check("it is not listed any more", victim.pid not in scene.processes())


def check_no_daemon(report, folder):
    env = {"KINO_DAEMON_SOCKET": str(folder / "nobody"), "XDG_RUNTIME_DIR": str(folder)}
    done = common.run("status", "--socket", folder / "nobody", env=env)
    report.check("a socket without a daemon", done.returncode == 1 and b"nobody'" in done.stderr, done.stderr)
    done = common.run("trigger", "--all", "--host", "127.0.0.1", "--port", "9", env=env)
    report.check("a port without a daemon", done.returncode == 1 and b"127.0.0.1:9" in done.stderr, done.stderr)


def main():
    report = common.Report()
    common.program()
    python, version = common.torch_python()
    print(f"PyTorch {version}" if python else "NOT TESTED: no PyTorch; the processes are stand-ins that speak its protocol")
    # The path of a client's socket must fit into 108 bytes.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kino-", dir="/tmp"))
    scene = Scene(folder, python)
    try:
        check_no_daemon(report, folder)
        scene.start_daemon()
        for rank in range(COUNT):
            scene.start_program(rank, *(["--plain"] if rank >= 2 else []))
        if not report.check("all programs train", scene.wait_until_training()):
            return report.finish()
        for check in (check_status, check_duration, check_iterations, check_death):
            started = time.monotonic()
            check(report, scene)
            print(f"{check.__name__}: {time.monotonic() - started:.1f} s")
        log = (folder / "daemon.log").read_text()
        report.check("the daemon is well", scene.daemon.poll() is None)
        complaints = re.findall(".*level=(?:error|warning).*", log)
        report.equal("and has nothing to complain of but a busy machine", [line for line in complaints if "answer-late" not in line], [])
    finally:
        scene.end()
        shutil.rmtree(folder, ignore_errors=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
