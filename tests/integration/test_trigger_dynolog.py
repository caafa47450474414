#!/usr/bin/env python3
"""kino trigger and kino status with a Dynolog daemon: a stand-in with its framing, its five functions, its reply keys, and its
habit of closing the connection without a word. The text that libkineto gets is compared line by line."""
import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402


class Dynolog:
    """Serial, as the real one: accept, one frame, one answer, close. `registered` is job -> pids."""

    def __init__(self, registered):
        self.registered, self.calls, self.hangups, self.busy = registered, [], 0, set()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.odd_answer = None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                head = connection.recv(4)
                if len(head) < 4:
                    continue
                (size,) = struct.unpack("=i", head)
                body = b""
                while len(body) < size:
                    body += connection.recv(size - len(body))
                answer = self.odd_answer or self.answer(json.loads(body))
                if answer is not None:
                    try:  # the real one dies of it when the caller has gone
                        connection.sendall(answer if isinstance(answer, bytes) else frame(answer))
                    except OSError:
                        self.hangups += 1

    def answer(self, request):
        self.calls.append(request)
        if request["fn"] == "getVersion":
            return {"version": "0.6.0"}
        if request["fn"] == "getStatus":
            return {"status": 1}
        if request["fn"] != "setKinetOnDemandRequest":
            return None
        if "config" not in request or "pids" not in request:
            return {"status": "failed"}
        known = self.registered.get(request.get("job_id", 0), [])
        wanted = request["pids"]
        matched = [pid for pid in known if wanted in ([], [0]) or pid in wanted]
        free = [pid for pid in matched if pid not in self.busy]
        asked = free[:request.get("process_limit", 1000)]
        return {"activityProfilersBusy": len(matched) - len(free), "activityProfilersTriggered": asked, "eventProfilersBusy": 0,
                "eventProfilersTriggered": [], "processesMatched": matched}


def frame(value):
    text = json.dumps(value, separators=(",", ":")).encode()
    return struct.pack("=i", len(text)) + text


def trigger(daemon, *arguments):
    return common.run("trigger", "--host", "127.0.0.1", "--port", daemon.port, *arguments, "--format", "json")


def rows_of(done):
    table = json.loads(done.stdout)["tables"][0]
    return [dict(zip([column["name"] for column in table["columns"]], row)) for row in table["rows"]]


def write_later(path, seconds, text="{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}"):
    """As libkineto: under another name first."""
    def work():
        time.sleep(seconds)
        (path.parent / (path.name + ".tmp")).write_text(text)
        (path.parent / (path.name + ".tmp")).rename(path)
    threading.Thread(target=work, daemon=True).start()


def check_text(report, daemon, folder, pids):
    done = trigger(daemon, "--pids", ",".join(map(str, pids)), "--duration", "750ms", "--warmup", "1500ms", "--record-shapes",
                   "--with-stacks", "--activities", "cpu_op,kernel", "--output", folder / "t.json", "--no-wait")
    call = daemon.calls[-1]
    report.equal("exit code", (done.returncode, done.stderr), (0, b""))
    report.equal("the request", {key: call[key] for key in ("fn", "job_id", "pids", "process_limit")},
                 {"fn": "setKinetOnDemandRequest", "job_id": 0, "pids": pids, "process_limit": 2**31 - 1})
    report.equal("the text", call["config"].splitlines(), [
        f"ACTIVITIES_LOG_FILE={folder}/t.json", "PROFILE_START_TIME=0", "ACTIVITIES_DURATION_MSECS=750",
        "ACTIVITIES_WARMUP_PERIOD_SECS=2", "ACTIVITY_TYPES=cpu_op,kernel", "PROFILE_REPORT_INPUT_SHAPES=true",
        "PROFILE_WITH_STACK=true", "PROFILE_WITH_FLOPS=false", "PROFILE_WITH_MODULES=false"])
    report.equal("paths by libkineto's rule", [row["path"] for row in rows_of(done)], [f"{folder}/t_{pid}.json" for pid in pids])
    trigger(daemon, "--all", "--iterations", 4, "--round-up", 100, "--profile-memory", "--with-flops", "--with-modules", "--no-wait",
            "--output", folder / "x.pt.trace.json", "--process-limit", 1)
    call = daemon.calls[-1]
    report.equal("of all", (call["pids"], call["process_limit"]), ([0], 1))
    report.equal("the text for iterations", call["config"].splitlines(), [
        f"ACTIVITIES_LOG_FILE={folder}/x.pt.trace.json", "PROFILE_START_ITERATION=0", "PROFILE_START_ITERATION_ROUNDUP=100",
        "ACTIVITIES_ITERATIONS=4", "PROFILE_REPORT_INPUT_SHAPES=false", "PROFILE_PROFILE_MEMORY=true", "PROFILE_WITH_STACK=false",
        "PROFILE_WITH_FLOPS=true", "PROFILE_WITH_MODULES=true"])
    done = trigger(daemon, "--job", 77, "--duration", "2s", "--start-at", "@1900000000.25", "--no-wait", "--output", folder / "j.json")
    report.check("a start time", "PROFILE_START_TIME=1900000000250" in daemon.calls[-1]["config"].splitlines(), daemon.calls[-1])
    report.equal("the job", daemon.calls[-1]["job_id"], 77)
    report.check("a job that is not there", done.returncode == 1 and b"nothing to trace" in done.stderr, done.stderr)
    before = len(daemon.calls)
    for bad in ("/tmp/a=b.json", "/tmp/a#b.json", "/tmp/a\nPROFILE_MEMORY=true.json", "/tmp/../etc/x.json"):
        done = trigger(daemon, "--all", "--output", bad, "--no-wait")
        report.check(f"the path {bad!r} is refused", done.returncode == 1, done.stderr)
    done = trigger(daemon, "--all", "--activities", "cpu_op\nPROFILE_MEMORY=true", "--no-wait")
    report.check("a line in an activity is refused", done.returncode == 1, done.stderr)
    done = trigger(daemon, "--name", "python*", "--no-wait")
    report.check("by name it cannot", done.returncode == 1 and b"by name" in done.stderr, done.stderr)
    done = trigger(daemon, "--job", 2**31, "--no-wait")
    report.check("a job that it would cut", done.returncode == 1 and b"31 bits" in done.stderr, done.stderr)
    report.equal("nothing of that was sent", [call["fn"] for call in daemon.calls[before:] if call["fn"] != "getVersion"], [])


def check_waiting(report, daemon, folder, pids, doomed):
    old = folder / f"w_{pids[1]}.json"
    old.write_text("{\"traceEvents\":[]}")  # of an earlier trace: does not count
    write_later(folder / f"w_{pids[0]}.json", 0.8)
    write_later(old, 1.6)
    threading.Timer(1.2, lambda: (doomed.kill(), doomed.wait())).start()
    done = trigger(daemon, "--all", "--duration", "500ms", "--output", folder / "w.json")
    rows = {row["pid"]: row for row in rows_of(done)}
    report.equal("states", [rows[pid]["state"] for pid in (*pids, doomed.pid)], ["written", "written", "gone"])
    report.equal("sizes", [rows[pid]["size"] for pid in pids], [(folder / f"w_{pid}.json").stat().st_size for pid in pids])
    report.check("a dead one is a failure", done.returncode == 1 and b"2 of 3 traces written" in done.stderr, done.stderr)
    started = time.monotonic()
    done = trigger(daemon, "--pids", pids[0], "--output", folder / "never.json", "--timeout", "1s")
    report.equal("a file that never comes", [row["state"] for row in rows_of(done)], ["timed-out"])
    report.check("in its time", 0.9 < time.monotonic() - started < 10)
    daemon.busy = {pids[0]}
    done = trigger(daemon, "--pids", pids[0])
    report.check("a busy one", done.returncode == 1 and b"have a pending request" in done.stderr, done.stderr)
    daemon.busy = set()
    write_later(folder / f"e_{pids[0]}.json", 0.3, "{\"traceEvents\":[]}")
    done = trigger(daemon, "--pids", pids[0], "--output", folder / "e.json")
    report.check("an empty trace is told", done.returncode == 0 and "empty" in rows_of(done)[0]["message"], done.stdout[-300:])


def check_memory(report, daemon, folder, pids):
    """Allocations that were asked for and are missing are not passed over in silence."""
    operator = "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}"
    memory = "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"Bytes\":8}}"
    other = operator.replace("aten::mm", "work")
    cases = [("none in PyTorch's", operator, ["--profile-memory"], True), ("some", f"{operator},{memory}", ["--profile-memory"], False),
             ("not asked for", operator, [], False), ("not PyTorch's", other, ["--profile-memory"], False)]
    for number, (name, events, options, is_told) in enumerate(cases):
        write_later(folder / f"m{number}_{pids[0]}.json", 0.2, f"{{\"traceEvents\":[{events}]}}")
        done = trigger(daemon, "--pids", pids[0], "--output", folder / f"m{number}.json", *options)
        said = b"no memory events in 1 trace: PyTorch" in done.stderr and b"profile_memory=True" in done.stderr
        report.equal(f"allocations, {name}: told", (done.returncode, said, done.stderr == b""), (0, is_told, not is_told))


def check_status(report, daemon):
    done = common.run("status", "--host", "127.0.0.1", "--port", daemon.port, "--format", "json")
    row = rows_of(done)[0]
    report.equal("status", (done.returncode, row["daemon"], row["version"], row["state"]), (0, "dynolog", "0.6.0", "good"))
    done = trigger(daemon, "--cancel", 3)
    report.check("it cannot cancel", done.returncode == 1 and b"cannot cancel" in done.stderr, done.stderr)
    done = trigger(daemon, "--all", "--with-metrics")
    report.check("it does not measure for us", done.returncode == 2 and b"requires a Kino daemon" in done.stderr, done.stderr)


def check_odd_answers(report, daemon):
    """What listens there is no daemon: a clear message, no crash, no waiting."""
    for name, answer in {"no JSON": struct.pack("=i", 5) + b"hello", "a negative length": struct.pack("=i", -1),
                         "a length without end": struct.pack("=i", 2**31 - 1) + b"{}", "a short answer": struct.pack("=i", 100) + b"{}",
                         "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n", "an array": frame([1, 2]), "half a length": b"\1\0",
                         "other types": frame({"version": 3, "status": [], "processesMatched": 7})}.items():
        daemon.odd_answer = answer
        done = trigger(daemon, "--all")
        report.check(f"an answer that is {name}", done.returncode == 1 and done.stderr.startswith(b"kino: ") and not done.stdout, done.stderr)
    daemon.odd_answer = None


def main():
    report = common.Report()
    common.program()
    programs = [subprocess.Popen(["sleep", "100"]) for _ in range(3)]
    pids = [program.pid for program in programs[:2]]
    daemon = Dynolog({0: [program.pid for program in programs]})
    try:
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            folder = pathlib.Path(name)
            check_text(report, daemon, folder, pids)
            check_waiting(report, daemon, folder, pids, programs[2])
            check_memory(report, daemon, folder, pids)
            check_status(report, daemon)
            check_odd_answers(report, daemon)
        report.equal("it always waits for the answer", daemon.hangups, 0)
    finally:
        for program in programs:
            program.kill()
            program.wait()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
