#!/usr/bin/env python3
"""Traces on request, from outside: a daemon over the fabric (a fake one, with the bytes of Dynolog's), a file, the
environment, a signal; and what must not happen: stalls, noise, deaths."""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from support import common

NOW = "KINO_BUDGET_MB=4\nKINO_WARMUP_MSECS=0\nKINO_START_DELAY_MSECS=0\n"


class Daemon:
    """A socket with the daemon's name; answers each poll with the next text of a list, or with nothing."""

    def __init__(self, folder=None, name="dynolog"):
        self.folder = folder
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(pathlib.Path(folder, name)) if folder else b"\0" + name.encode() + b"\0")
        self.socket.settimeout(10)
        self.polls = []  # (mask, job, pids)
        self.sender = None
        self.texts = []
        self.is_closed = False
        self.thread = threading.Thread(target=self.serve)
        self.lock = threading.Condition()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_closed = True
        closer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        closer.sendto(b"", self.socket.getsockname())
        closer.close()
        self.thread.join()
        self.socket.close()

    def serve(self):
        while not self.is_closed:
            datagram, sender = self.socket.recvfrom(4096)
            if len(datagram) < 40:
                continue
            size, kind = struct.unpack_from("<Q32s", datagram)
            payload = datagram[40:]
            assert size == len(payload) and kind == b"req".ljust(32, b"\0"), datagram
            mask, count, job = struct.unpack_from("<iiq", payload)
            pids = struct.unpack_from(f"<{count}i", payload, 16)
            assert len(payload) == 16 + 4 * count, datagram
            with self.lock:
                self.polls.append((mask, job, pids))
                self.sender = sender
                text = self.texts.pop(0) if mask & 2 and self.texts else ""
                self.lock.notify_all()
            try:
                self.send(text.encode())
            except OSError:
                pass  # the process has ended

    def send(self, payload, size=None, by=None):
        header = struct.pack("<Q32s", len(payload) if size is None else size, b"req")
        (by or self.socket).sendto(header + payload, self.sender)

    def wait_for_polls(self, count):
        with self.lock:
            return self.lock.wait_for(lambda: len(self.polls) >= count, 10)


def sanitizer_flags(library):
    """The program must be instrumented as the library is."""
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=False).stdout
    if "__tsan_init" in symbols:
        return ["-fsanitize=thread"]
    return ["-fsanitize=address,undefined"] if "__asan_init" in symbols else []


def build(folder):
    library = pathlib.Path(common.program()).resolve().parent / "libkino.so"
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if not library.exists():
        common.skip("libkino.so was not built")
    if not compiler:
        common.skip("no C compiler")
    program = folder / "steps"
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{common.ROOT}/include",
                    common.ROOT / "tests/integration/recorder/steps.c", "-o", program, f"-L{library.parent}", "-lkino",
                    f"-Wl,-rpath,{library.parent}", *sanitizer_flags(library)], check=True)
    return program


class Tests:
    def __init__(self, folder):
        self.passed = self.failed = 0
        self.folder = pathlib.Path(folder)
        self.program = build(self.folder)

    def check(self, held, complaint):
        self.passed += bool(held)
        self.failed += not held
        if not held:
            print(f"FAIL {complaint}")

    def start(self, total_ms, step_ms=2, done=0, request=None, **variables):
        """The program runs for a time, or until so many requests are done."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("KINO_", "KINETO_", "SLURM_"))}
        environment.update({k: str(v) for k, v in variables.items()})
        command = [self.program, str(total_ms), str(step_ms), str(done)] + ([request] if request else [])
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def finish(self, process, what):
        out, err = process.communicate(timeout=30)
        self.check(process.returncode == 0 and err == "", f"{what}: exit {process.returncode}, stderr {err!r}")
        return json.loads(out.splitlines()[-1])

    def run(self, what, *arguments, **variables):
        return self.finish(self.start(*arguments, **variables), what)

    def trace(self, what, state):
        """The trace that a state tells of, or None."""
        path = pathlib.Path(state["url"].removeprefix("file://"))
        self.check(state["done"] >= 1 and path.exists(), f"{what}: no trace, {state}")
        return json.loads(path.read_text()) if state["url"] and path.exists() else None

    # -- the daemon

    def daemon_in_a_folder(self):
        what = "daemon in a folder"
        folder = self.folder / "sockets"
        folder.mkdir()
        base = self.folder / "base.conf"
        base.write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=0\n")  # as often as it may
        with Daemon(folder) as daemon, tempfile.TemporaryDirectory(prefix="kino-", dir="/tmp") as out:
            daemon.texts = [f"\n    {NOW}ACTIVITIES_LOG_FILE={out}/t.json\nACTIVITIES_DURATION_MSECS=300\nNEW_KEY=1\n    REQUEST_TRACE_ID=42\n"]
            process = self.start(20000, done=1, KINETO_USE_DAEMON=1, KINETO_IPC_SOCKET_DIR=folder, KINETO_CONFIG=base, SLURM_JOB_ID="77_1")
            daemon.wait_for_polls(1)
            mask, job, pids = daemon.polls[0]
            self.check((mask, job) == (2, 77), f"{what}: first poll {daemon.polls[0]}")
            self.check(pids[:2] == (process.pid, os.getpid()) and len(pids) <= 11, f"{what}: pids {pids}")
            self.check(1 not in pids or pids[0] == 1, f"{what}: pid 1 is listed")
            self.check(daemon.sender.startswith(f"{folder}/dynoconfigclient") and len(pathlib.Path(daemon.sender).name) == 52, f"{what}: {daemon.sender}")
            self.check(os.stat(daemon.sender).st_mode & 0o777 == 0o600, f"{what}: the mode of the socket")
            state = self.finish(process, what)
            trace = self.trace(what, state)
            if trace:
                self.check(trace["trace_id"] == "42", f"{what}: trace_id")
                self.check(any(e["name"] == "work" for e in trace["traceEvents"]), f"{what}: no events")
            self.check(state["url"] == f"file://{out}/t_{process.pid}.json", f"{what}: {state['url']}")
            self.check(state["origin"] == 4 and "unknown key 'NEW_KEY'" in state["warnings"], f"{what}: {state}")
            masks = [poll[0] for poll in daemon.polls]
            self.check(masks[0] == 2 and 0 in masks and masks[-1] == 2, f"{what}: masks {masks}")
            # the last reply may not have been read any more
            self.check(state["polls"] - state["replies"] in (0, 1) and state["bad"] == 0, f"{what}: {state}")
            self.check([p.name for p in folder.iterdir()] == ["dynolog"], f"{what}: sockets are left")

    def abstract_daemon_with_bad_manners(self):
        what = "abstract daemon"
        name = f"kino-test-{os.getpid()}"
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        stranger.bind(f"\0stranger-{os.getpid()}\0".encode())
        nameless = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with Daemon(name=name) as daemon, tempfile.TemporaryDirectory(prefix="kino-", dir="/tmp") as out:
            process = self.start(20000, done=1, KINO_USE_DAEMON=1, KINO_DAEMON_NAME=name)
            daemon.wait_for_polls(1)
            text = f"{NOW}ACTIVITIES_LOG_FILE={out}/evil.json".encode()
            daemon.send(text, by=stranger)
            daemon.send(text, by=nameless)
            daemon.send(text, size=2**63)
            daemon.send(text, size=len(text) - 1)
            daemon.send(b"", size=1)
            daemon.socket.sendto(b"\x01", daemon.sender)
            daemon.send(b"x" * 70000)
            time.sleep(0.2)
            # and, in the middle of it, what is meant; nobody asked for it just now
            daemon.send(f"{NOW}ACTIVITIES_LOG_FILE={out}/t.kino\nACTIVITIES_DURATION_MSECS=100".encode())
            state = self.finish(process, what)
            self.check(state["bad"] == 7, f"{what}: bad replies {state}")
            self.check(state["done"] == 1 and state["request"] == 1 and os.listdir(out) == [f"t_{process.pid}.kino"], f"{what}: {state} {os.listdir(out)}")
        stranger.close()
        nameless.close()

    def daemon_that_asks_for_too_much(self):
        what = "refused"
        name = f"kino-test-{os.getpid()}-r"
        cases = [("ACTIVITIES_LOG_FILE=/etc/t.json", "daemon, line 1: ACTIVITIES_LOG_FILE: '/etc/t.json' is outside /tmp/ (KINETO_ONDEMAND_TRACE_DIR)"),
                 ("PROFILE_START_TIME=5", "daemon, line 1: PROFILE_START_TIME: start time 5 is "),
                 ("ACTIVITIES_DURATION_MSECS=-1", "daemon, line 1: ACTIVITIES_DURATION_MSECS: invalid number '-1'"),
                 ("PROFILE_MEMORY=true", "no client supports memory snapshots")]
        with Daemon(name=name) as daemon:
            for text, message in cases:
                polls = len(daemon.polls)
                daemon.texts = [text]
                process = self.start(300, KINO_USE_DAEMON=1, KINO_DAEMON_NAME=name)
                daemon.wait_for_polls(polls + 1)
                state = self.finish(process, what)
                self.check(state["refused"] == 1 and state["request"] == 0 and state["message"].startswith(message), f"{what} {text}: {state}")

    def no_daemon(self):
        what = "no daemon"
        begin = time.monotonic()
        state = self.run(what, 300, KINETO_USE_DAEMON="", KINO_DAEMON_NAME=f"kino-test-{os.getpid()}-none")
        took = time.monotonic() - begin
        self.check(state["unsent"] == 1 and state["polls"] == 0 and state["daemon"] == 1, f"{what}: {state}")
        self.check(took < 5, f"{what}: took {took:.1f} s")  # libkineto's end is up to 10 s late here
        state = self.run(what, 20, KINETO_USE_DAEMON=1, KINO_USE_DAEMON="0")
        self.check(state["daemon"] == 0, f"{what}: switched off, {state}")
        state = self.run(what, 20)
        self.check(state["listening"] == 0 and state["request"] == 0, f"{what}: nobody asked, {state}")

    # -- without a daemon

    def environment(self):
        what = "environment"
        path = self.folder / "env.json"
        state = self.run(what, 20000, done=1, KINO_REQUEST=f"KINO_BUDGET_MB=4;PROFILE_START_ITERATION=100;ACTIVITIES_ITERATIONS=3;ACTIVITIES_LOG_FILE={path}")
        trace = self.trace(what, state)
        steps = [e["name"] for e in trace["traceEvents"] if e.get("name", "").startswith("ProfilerStep")] if trace else []
        self.check(steps == ["ProfilerStep#100", "ProfilerStep#101", "ProfilerStep#102"], f"{what}: {steps}, {state}")
        self.check(state["origin"] == 1, f"{what}: {state}")
        state = self.run(what, 50, KINO_REQUEST="ACTIVITIES_DURATION_MSECS=soon")
        self.check(state["refused"] == 1 and state["message"].startswith("KINO_REQUEST, line 1: ACTIVITIES_DURATION_MSECS: invalid number 'soon'"), f"{what}: {state}")
        state = self.run(what, 50, KINO_SIGNAL="SIGKILL")
        self.check(state["message"] == "invalid signal 'SIGKILL' in KINO_SIGNAL", f"{what}: {state}")

    def file(self):
        what = "file"
        path, other = self.folder / "file.json", self.folder / "other.json"
        config = self.folder / "file.conf"
        config.write_text(f"{NOW}ACTIVITIES_DURATION_MSECS=50\nACTIVITIES_LOG_FILE={path}\nON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=0\n")
        process = self.start(20000, done=2, KINO_CONFIG=config)
        first = self.folder / f"file_{process.pid}.json"
        second = self.folder / f"other_{process.pid}.json"
        for _ in range(1000):
            if first.exists():
                break
            time.sleep(0.01)
        changed = self.folder / "changed"
        changed.write_text(config.read_text().replace(str(path), str(other)) + "\n")
        os.replace(changed, config)
        state = self.finish(process, what)
        self.check(first.exists() and second.exists() and state["done"] == 2, f"{what}: {state}")
        self.check(state["origin"] == 2, f"{what}: {state}")
        state = self.run(what, 50, KINO_CONFIG=self.folder / "absent.conf")
        self.check(state["message"] == f"cannot read '{self.folder}/absent.conf': no such file or directory", f"{what}: {state}")
        state = self.run(what, 50, KINETO_CONFIG=config)
        self.check(state["request"] == 0 and state["refused"] == 0, f"{what}: Kineto's base file is no request, {state}")

    def signal(self):
        what = "signal"
        config = self.folder / "signal.conf"
        config.write_text(f"{NOW}ACTIVITIES_DURATION_MSECS=50\nACTIVITIES_LOG_FILE={self.folder}/signal.json\n")
        process = self.start(20000, done=1, KINO_SIGNAL="SIGUSR2", KINO_CONFIG=config)
        time.sleep(0.05)
        process.send_signal(signal.SIGUSR2)
        state = self.finish(process, what)
        self.check(state["request"] == 1 and state["origin"] == 3, f"{what}: {state}")
        self.trace(what, state)
        process = self.start(600)
        process.send_signal(signal.SIGUSR2)
        process.communicate()
        self.check(process.returncode == -signal.SIGUSR2, f"{what}: it is off unless asked for, exit {process.returncode}")

    def exit(self):
        what = "exit"
        state = self.run(what, 500, request=f"{NOW}ACTIVITIES_DURATION_SECS=1000\nACTIVITIES_LOG_FILE={self.folder}/exit.json")
        self.check(state["phase"] == 2, f"{what}: {state}")
        traces = list(self.folder.glob("exit_*.json"))
        self.check(len(traces) == 1 and "work" in traces[0].read_text(), f"{what}: {traces}")
        self.check(not list(self.folder.glob("exit_*.tmp*")), f"{what}: something is left")

    def no_stall(self):
        """Steps are not held up while a trace is prepared, started, stopped and written."""
        what = "no stall"
        state = self.run(what, 20000, 1, 1, request="KINO_BUDGET_MB=64\nPROFILE_START_ITERATION=0\n"
                         f"ACTIVITIES_ITERATIONS=100\nACTIVITIES_LOG_FILE={self.folder}/stall.json")
        self.trace(what, state)
        self.check(state["slowest"] < 100, f"{what}: a step took {state['slowest']} ms")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(folder)
        tests.daemon_in_a_folder()
        tests.abstract_daemon_with_bad_manners()
        tests.daemon_that_asks_for_too_much()
        tests.no_daemon()
        tests.environment()
        tests.file()
        tests.signal()
        tests.exit()
        tests.no_stall()
        print(f"{tests.passed} passed, {tests.failed} failed, 0 skipped")
        return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
