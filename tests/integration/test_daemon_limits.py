#!/usr/bin/env python3
"""kino daemon and one user who takes all that he can get: others' polls are answered, each of them, and what he costs is bounded.

Counted in answers and in looks at files, never in seconds."""
import json
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, daemon as d  # noqa: E402
from support.users import Crowd, NOBODY, as_user, become  # noqa: E402

PROCESSES, REQUESTS, POLLS = 40, 64, 100


def answered(client, count=POLLS):
    """How many of so many polls are answered, each asked once."""
    got = 0
    for _ in range(count):
        client.send(d.poll(2, client.pids))
        got += client.receive(0.5)[0] is not None
        time.sleep(0.01)
    return got


def test_long_requests(report):
    """40 processes and 64 requests for traces that never come, in folders of the user's own."""
    with d.Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        with Crowd(daemon, PROCESSES), d.Client(daemon) as good:
            d.until(lambda: len(daemon.processes()) >= PROCESSES)

            def ask():
                answers = []
                for i in range(REQUESTS):
                    answer = daemon.call("trigger", all=True, duration_ms=3600000, timeout_ms=3600000, output=f"{folder}/{i}.json")
                    answers.append((len(answer.get("targets", [])), len(answer.get("busy", [])), answer.get("error")))
                    time.sleep(0.15)  # until they have taken it
                return answers
            answers = as_user(NOBODY, ask)
            asked = sum(count for count, _, _ in answers)
            report.check("no process has more than 4", PROCESSES <= asked <= 4 * PROCESSES, asked)
            report.check("more are busy", sum(busy for _, busy, _ in answers) >= PROCESSES * (REQUESTS - 8), answers[-3:])
            before = daemon.call("getStatistics")
            report.check("the kernel watches", before.get("file_watches", 0) >= PROCESSES, before)
            got = answered(good)
            after = daemon.call("getStatistics")
            report.check("others are answered", got >= POLLS // 2, f"{got} of {POLLS}")
            looks = after.get("file_looks", 1 << 30) - before.get("file_looks", 0)
            report.check("nothing is looked at in the meantime", looks <= 8, looks)
            # Events of files that nobody asked for, and of those that were: heard, and bounded.

            def stir():
                for i in range(4000):
                    path = pathlib.Path(folder, f"x{i % 7}.json")
                    path.write_text("{}")
                return True
            as_user(NOBODY, stir)
            got = answered(good, 50)
            last = daemon.call("getStatistics")
            report.check("others are answered in a storm of events", got >= 25, f"{got} of 50")
            looks = last.get("file_looks", 1 << 30) - after.get("file_looks", 0)
            report.check("other files are not looked at", looks <= 1000, looks)


def test_written(report):
    """What is written is heard of, however it comes: written in place, renamed, linked, in a folder that cannot be read."""
    def in_place(path):
        path.write_text("{}")

    def renamed(path):
        path.with_suffix(".new").write_text("{}")
        path.with_suffix(".new").rename(path)

    def linked(path):
        path.with_suffix(".new").write_text("{}")
        os.link(path.with_suffix(".new"), path)
    for what, write, mode in (("in place", in_place, 0o777), ("renamed", renamed, 0o777), ("linked", linked, 0o777),
                              ("not readable", in_place, 0o733)):
        with d.Daemon() as daemon, tempfile.TemporaryDirectory() as folder, Crowd(daemon, 1):
            os.chmod(folder, mode)
            d.until(daemon.processes)
            made = daemon.call("trigger", all=True, duration_ms=3600000, output=f"{folder}/t.json")
            path = pathlib.Path(made["targets"][0]["path"])
            d.until(lambda: daemon.states(made["request"]) != ["queued"])
            write(path)
            report.check(f"written {what}", d.until(lambda: daemon.states(made["request"]) == ["written"]),
                         daemon.request(made["request"]))
            looks = daemon.call("getStatistics").get("file_looks")
            report.check(f"written {what}: few looks", looks is not None and looks <= 40, looks)


def test_user_processes(report):
    """A user's processes beyond the limit are answered, but not registered; root's are."""
    with d.Daemon(env={"KINO_DAEMON_USER_PROCESSES": "3"}) as daemon, d.Client(daemon) as good, Crowd(daemon, 6) as crowd:
        d.until(lambda: b"event=too-many-processes" in daemon.text())
        report.equal("root is registered", (good.poll(), d.until(lambda: [p for p in daemon.processes() if p["uid"] == 0] != [])),
                     (b"", True))
        listed = [p["pid"] for p in daemon.processes() if p["uid"] == NOBODY]
        report.equal("three of the others", (len(listed), set(listed) <= set(crowd.pids)), (3, True))
        os.kill(listed[0], signal.SIGKILL)
        report.check("when one ends, another has its place", d.until(
            lambda: len(now := [p["pid"] for p in daemon.processes() if p["uid"] == NOBODY]) == 3 and listed[0] not in now))


def test_rpc(report):
    """A user whose calls take all the daemon's time has a share of it: polls and root's calls are answered."""
    with d.Daemon() as daemon, Crowd(daemon, 30, pause=0.5):
        d.until(lambda: len(daemon.processes()) >= 30)
        flood = os.fork()
        if flood == 0:
            become(NOBODY)
            body = json.dumps({"fn": "trigger", "all": True, "duration_ms": 5, "output": "/proc/nowhere/x.json"}).encode()

            def work():
                while True:
                    try:
                        daemon.raw(body)
                    except OSError:
                        pass
            for _ in range(20):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(600)
            os._exit(0)
        try:
            with d.Client(daemon) as good:
                good.poll()
                d.until(lambda: daemon.call("getStatistics")["rpc_calls"] > 50)
                got = answered(good)
                report.check("polls are answered", got >= POLLS // 2, f"{got} of {POLLS}")
                calls = [daemon.call("getStatistics") is not None for _ in range(20)]
                report.equal("root's calls are answered", calls, [True] * 20)
        finally:
            os.kill(flood, signal.SIGKILL)
            os.waitpid(flood, 0)


TESTS = (test_long_requests, test_written, test_user_processes, test_rpc)


def main():
    if os.getuid() != 0:
        common.skip("not root: processes of other users cannot be started, so the limits of users are not tested")
    report = common.Report()
    for test in TESTS:
        if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
            test(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
