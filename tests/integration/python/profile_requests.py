"""Traces on request of programs that only `import kino`: operators, Python functions and memory, asked for by a daemon, a signal and a variable;
with libkineto in the same process, which the daemon knows as well, a request is one trace."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import common

PATIENCE = 120
# Ends when its input does.
TRAINING = """
import sys, threading, time
import kino
import torch

def work(x):
    return x.mul(2).add(1)

is_over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
x = torch.ones(4, 4)
print("training", flush=True)
while not is_over.is_set():
    work(x)
    time.sleep(0.0005)  # a fast machine would fill the buffer
"""
# PyTorch's own profiler works afterwards, on the same thread.
PROGRAM = TRAINING + """
with torch.profiler.profile(profile_memory=True) as p:
    work(x)
print("profiled", len([e for e in p.events() if e.name == "aten::add"]), flush=True)
"""


class Program:
    """A process that trains, with the variables; its standard input is its life."""

    def __init__(self, folder, variables, code=PROGRAM):
        env = {key: value for key, value in os.environ.items() if not key.startswith(("KINO_REQ", "KINO_SIG", "KINO_CONF", "KINETO_"))}
        self.log = open(folder / "program.err", "ab")  # noqa: SIM115 (closed with the process)
        self.process = subprocess.Popen([sys.executable, "-c", code], env={**env, "OMP_NUM_THREADS": "1", **variables}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, preexec_fn=common.die_with_parent)

    def is_training(self):
        return self.process.stdout.readline().startswith("training")

    def finish(self):
        """What it said last, and how it ended."""
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.log.close()
        return out.strip(), self.process.returncode


def until(held):
    end = time.monotonic() + PATIENCE
    while not held() and time.monotonic() < end:
        time.sleep(0.05)
    return held()


def check_trace(report, what, path, with_python):
    """The planted program is in it, of one process."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    operators = [event for event in events if event.get("cat") == "cpu_op" and event["name"] == "aten::add"]
    report.check(f"{what}: operators with their inputs", operators and all(e["args"].get("Input Dims", [0])[0] == [4, 4] for e in operators), operators[:1])
    report.check(f"{what}: memory", any(event["name"] == "[memory]" for event in events))
    cost = trace.get("kino_overhead", {})
    report.check(f"{what}: what recording cost", cost.get("operator_calls", 0) >= len(operators) and cost.get("dropped") == 0, cost)
    if with_python:
        calls = [event for event in events if event.get("cat") == "python_function" and event["name"].endswith(": work")]
        report.check(f"{what}: Python functions", len(calls) > 0, sorted({event["name"] for event in events})[:20])


def has_tracer():
    import importlib.util
    return importlib.util.find_spec("kino._tracer") is not None


class Daemon:
    def __init__(self, folder):
        self.folder, self.socket = folder, folder / "s"
        (folder / "kineto.conf").write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
        self.env = {"KINETO_IPC_SOCKET_DIR": str(folder), "KINETO_USE_DAEMON": "1", "KINETO_CONFIG": str(folder / "kineto.conf"),
                    "KINETO_ONDEMAND_TRACE_DIR": str(folder), "KINO_DAEMON_SOCKET": str(self.socket)}
        self.process = subprocess.Popen(
            [common.program(), "daemon", "--socket", self.socket, "--abstract", "no", "--socket-dir", folder, "--port", "none",
             "--metrics-address", "none"], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=common.die_with_parent)

    def trigger(self, pid, name, *arguments):
        return common.run("trigger", "--pids", pid, "--warmup", "0s", "--record-shapes", "--profile-memory", "--with-stacks", "--output",
                          self.folder / name, "--format", "json", *arguments, env=self.env, timeout=PATIENCE)

    def libraries(self):
        """The version of the UUID in the names of the clients' sockets: 4 libkineto, 8 libkino."""
        names = [path.name for path in self.folder.iterdir() if "dynoconfigclient" in path.name]
        return sorted(name.split("dynoconfigclient")[1][14] for name in names)

    def end(self):
        self.process.kill()
        self.process.wait()


def traces(folder, start):
    return [path for path in folder.iterdir() if path.name.startswith(start) and path.suffix == ".json"]


def check_daemon(report, folder):
    daemon = Daemon(folder)
    program = None
    try:
        until(daemon.socket.exists)
        program = Program(folder, daemon.env, TRAINING)
        if not report.check("the program trains", program.is_training()):
            return
        pid = program.process.pid
        report.check("libkineto and libkino ask the daemon", until(lambda: daemon.libraries() == ["4", "8"]), daemon.libraries())
        for number in range(2):
            done = daemon.trigger(pid, f"asked{number}.json", "--duration", "300ms")
            if not report.equal(f"request {number} is served", (done.returncode, done.stderr), (0, b"")):
                continue
            report.equal(f"request {number} gives one trace", len(traces(folder, f"asked{number}")), 1)
            check_trace(report, f"request {number}", traces(folder, f"asked{number}")[0], has_tracer())
        waiting = subprocess.Popen([common.program(), "trigger", "--pids", str(pid), "--warmup", "0s", "--record-shapes", "--profile-memory",
                                    "--duration", "200s", "--output", str(folder / "end.json")], env={**os.environ, **daemon.env},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=common.die_with_parent)
        time.sleep(4)  # it polls every second
        report.equal("the program ends well during a request", program.finish(), ("", 0))
        report.check("whose trace is written", until(lambda: len(traces(folder, "end")) == 1), list(folder.iterdir()))
        waiting.kill()
        waiting.wait()
    finally:
        daemon.end()
        if program:
            program.process.kill()


REQUEST = ("PROFILE_REPORT_INPUT_SHAPES=true;PROFILE_PROFILE_MEMORY=true;PROFILE_WITH_STACK=true;KINO_START_DELAY_MSECS=0;KINO_WARMUP_MSECS=0;"
           "ACTIVITIES_WARMUP_PERIOD_SECS=0;ACTIVITIES_DURATION_MSECS=300;ACTIVITIES_LOG_FILE=")


def check_signal(report, folder):
    program = Program(folder, {"KINO_SIGNAL": "SIGUSR2", "KINO_REQUEST": f"{REQUEST}{folder}/signal.json"})
    try:
        if report.check("a program that hears a signal trains", program.is_training()):
            os.kill(program.process.pid, signal.SIGUSR2)
            if report.check("a signal gives a trace", until(lambda: len(traces(folder, "signal")) == 1)):
                check_trace(report, "signal", traces(folder, "signal")[0], has_tracer())
        report.equal("and it ends well", program.finish(), ("profiled 1", 0))
    finally:
        program.process.kill()


def check_early(report, folder):
    """The trace begins before torch is imported, and ends with the program."""
    variable = f"{REQUEST.replace('MSECS=300', 'MSECS=100000')}{folder}/early.json"
    program = Program(folder, {"KINO_REQUEST": variable}, TRAINING)
    try:
        if report.check("a program that is recorded from its start trains", program.is_training()):
            time.sleep(0.3)
        report.equal("it ends well", program.finish()[1], 0)
        if report.check("a variable gives a trace", until(lambda: len(traces(folder, "early")) == 1)):
            with open(traces(folder, "early")[0], encoding="utf-8") as file:
                names = {event["name"] for event in json.load(file)["traceEvents"]}
            report.check("with the operators", "aten::add" in names and "[memory]" in names, sorted(names)[:10])
    finally:
        program.process.kill()


def run(report):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kino-", dir="/tmp"))  # paths of sockets are short
    try:
        check_daemon(report, folder)
        check_signal(report, folder)
        check_early(report, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
