#!/usr/bin/env python3
"""kino daemon among people who mean no good: it survives with a line in the log, and nobody else is harmed.

A good client polls all the time, through everything: each of its polls must have exactly one answer, and an empty one."""
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from support import common, daemon as d, users


class GoodClient:
    """Polls 100 times a second from its own thread, and keeps what went wrong."""

    def __init__(self, daemon):
        self.client = d.Client(daemon)
        self.problems, self.polls, self.unanswered, self.slowest, self.is_over = [], 0, 0, 0, False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        self.client.close()

    def run(self):
        while not self.is_over:
            start = time.monotonic()
            try:
                self.client.send(d.poll(2, self.client.pids))
                answer = self.client.receive(0.5)[0]
            except OSError as problem:  # the queue is full of others' datagrams: libkineto tries again, too
                if problem.errno not in (11, 105):
                    self.problems.append(repr(problem))
                time.sleep(0.01)
                continue
            if answer is None:
                self.unanswered += 1  # it would have come late; libkineto asks again, too
            elif answer != d.EMPTY:
                self.problems.append(repr(answer))
            if not self.client.is_quiet(0):
                self.problems.append("two answers")
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.polls += 1
            time.sleep(0.01)


def check_good(report, what, daemon, good):
    before = good.polls
    d.until(lambda: good.polls > before + 2)
    report.check(f"{what}: the daemon lives", daemon.is_alive(), daemon.text()[-500:])
    report.equal(f"{what}: others are answered", (good.polls > before + 2, good.problems), (True, []))


def has_line(daemon, *words):
    return any(all(word in line for word in words) for line in daemon.text().splitlines())


def test_senders(report, daemon, good):
    """Who has no name, or one of another kind, gets no answer: an answer would kill him."""
    unbound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    unbound.sendto(d.poll(2, [1]), str(daemon.folder / "dynolog"))
    report.check("unbound: a line", d.until(lambda: has_line(daemon, b"event=foreign-sender")))
    with tempfile.TemporaryDirectory() as elsewhere:
        os.makedirs(daemon.folder / "below", exist_ok=True)
        for path in (f"{elsewhere}/x", f"{daemon.folder}/below/x", b"\0kino-test-%d\0" % os.getpid()):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
                foreign.bind(path)
                foreign.settimeout(0.1)
                foreign.sendto(d.poll(2, [os.getpid()]), str(daemon.folder / "dynolog"))
                try:
                    report.check(f"{path!r} is not answered", False, foreign.recv(1000))
                except TimeoutError:
                    report.check(f"{path!r} is not answered", True)
    unbound.close()
    check_good(report, "senders", daemon, good)


def test_link(report, daemon, good):
    """A link in place of a client's socket leads nowhere: another one gets nothing that is not his."""
    with d.Client(daemon, name="victim") as victim, d.Client(daemon, name="thief") as thief:
        report.check("the thief is answered at first", thief.ask(d.poll(2, thief.pids))[0] == d.EMPTY)
        path = daemon.folder / "thief"
        path.unlink()
        path.symlink_to(daemon.folder / "victim")
        thief.send(d.poll(2, thief.pids))
        report.check("not through a link", thief.is_quiet(0.2) and victim.is_quiet(0))
    check_good(report, "links", daemon, good)


def test_datagrams(report, daemon, good):
    """Lengths and counts that lie."""
    with d.Client(daemon) as client:
        for what, data in (
                ("nothing", b""), ("39 bytes", bytes(39)), ("n = -1", d.message(b"req", struct.pack("<iiq", 2, -1, 0))),
                ("n = 2^31-1", d.message(b"req", struct.pack("<iiq", 2, 2**31 - 1, 0))),
                ("n = 0", d.message(b"req", struct.pack("<iiq", 2, 0, 0))),
                ("n larger than it is", d.message(b"req", struct.pack("<iiqi", 2, 2, 0, 1))),
                ("n smaller than it is", d.message(b"req", struct.pack("<iiqii", 2, 1, 0, 1, 2))),
                ("size 2^62", struct.pack("<Q32s", 1 << 62, b"req") + struct.pack("<iiqi", 2, 1, 0, 5)),
                ("size 2^64-1", struct.pack("<Q32s", 2**64 - 1, b"req") + struct.pack("<iiqi", 2, 1, 0, 5)),
                ("size 0", struct.pack("<Q32s", 0, b"req") + struct.pack("<iiqi", 2, 1, 0, 5)),
                ("another type", d.message(b"stat", b"x" * 16)), ("a short context", d.message(b"ctxt", bytes(15))),
                ("a long one", d.message(b"ctxt", bytes(17))), ("100 KB", d.message(b"req", bytes(100000))),
                ("a report of nothing", d.report(5, 999999, 1, b"/etc/passwd")),
                ("a report with a line in it", d.report(5, 1, 1, b"a\nb")), ("event 0", d.report(0, 1)),
                ("event 2^32-1", d.report(2**32 - 1, 1)), ("a report of 5 KB", d.report(5, 1, 1, b"a" * 5000))):
            client.send(data)
            report.check(f"{what} is not answered", client.is_quiet(0.02))
        report.equal("1024 pids are", client.ask(d.poll(2, list(range(1, 1025))))[0], d.EMPTY)
        report.equal("an odd mask, too", client.ask(d.poll(-1, client.pids))[0], d.EMPTY)
        report.check("a line", has_line(daemon, b"event=bad-datagram", b"reason="))
    check_good(report, "datagrams", daemon, good)


FLOOD = """
import os, random, socket, sys
random.seed(7)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
if sys.argv[2]:
    s.bind(sys.argv[2])
pool = [os.urandom(random.choice((0, 8, 39, 40, 41, 56, 60, 64, 200, 1000))) for _ in range(200)]
pool += [p[8:40].join((len(p).to_bytes(8, "little"), p)) for p in pool]
pool += [b"req".ljust(32, b"\\0").join(((len(p)).to_bytes(8, "little"), p)) for p in pool[:200]]
pool += [b"kino".ljust(32, b"\\0").join(((len(p)).to_bytes(8, "little"), p)) for p in pool[:200]]
for i in range(int(sys.argv[3])):
    s.sendto(pool[i % len(pool)], sys.argv[1])
"""


def test_flood(report, daemon, good):
    """A million random datagrams, named and unnamed."""
    count = int(os.environ.get("KINO_ABUSE_DATAGRAMS", "1000000"))
    start, problems = daemon.memory(), []
    begin = time.monotonic()
    floods = [subprocess.Popen([sys.executable, "-c", FLOOD, str(daemon.folder / "dynolog"),
                                str(daemon.folder / "flood") if i == 0 else "", str(count // 2)]) for i in range(2)]
    for flood in floods:
        problems.append(flood.wait(200))
    report.equal("all were sent", problems, [0, 0])
    if os.environ.get("KINO_VERBOSE"):
        print(f"{count / (time.monotonic() - begin):.0f} datagrams/s, slowest {good.slowest}", file=sys.stderr)
    (daemon.folder / "flood").unlink()
    check_good(report, f"{count} random datagrams", daemon, good)
    report.check("memory stays", daemon.memory() < start + 1000, f"{start} -> {daemon.memory()} KiB")
    report.check("the log stays small", len(daemon.text()) < 1 << 20, len(daemon.log))
    report.check("and says how much it left out", has_line(daemon, b"skipped="))


def test_vanishing(report, daemon, good):
    """Clients that are gone before the answer."""
    for i in range(300):
        client = d.Client(daemon)
        client.send(d.poll(2, client.pids))
        client.close()
    for i in range(20):
        subprocess.run([sys.executable, "-S", "-c", "import os,socket,sys;s=socket.socket(1,2);"
                        "s.bind(sys.argv[1]+'/v'+str(os.getpid()));s.sendto(bytes.fromhex(sys.argv[2]),sys.argv[1]+"
                        "'/dynolog');os.kill(os.getpid(),9)", str(daemon.folder), d.poll(2, [1]).hex()], check=False)
    check_good(report, "clients that vanish", daemon, good)
    left = d.until(lambda: [p["pid"] for p in daemon.processes()] == [os.getpid()])
    report.check("and none is left", left, daemon.processes())
    report.check("a line", has_line(daemon, b"event=answer-dropped"))


def test_full_client(report, daemon, good):
    """A client that never reads: its answers are dropped, nobody waits, and a request stays queued."""
    with d.Client(daemon, name="dynoconfigclient-full") as client:
        sent = 0
        client.socket.settimeout(2)
        for _ in range(2000):
            client.send(d.poll(0, client.pids))
            sent += 1
        check_good(report, "a client that never reads", daemon, good)
        report.equal("all was sent", sent, 2000)


def rpc_is_good(daemon):
    return all(daemon.raw(b'{"fn":"getStatus"}', over) == b'{"status":1}' for over in ("unix", "tcp"))


def test_frames(report, daemon, good):
    for over in ("unix", "tcp"):
        for length in (0x7fffffff, -1, 0, -2**31, 65537):
            with daemon.connect(over) as peer:
                peer.sendall(struct.pack("=i", length) + b"{")
                report.equal(f"length {length} over {over}: hung up", d.read_frame(peer), b"")
        report.check("a line", has_line(daemon, b"event=rpc-bad-length", b"length=2147483647"))
        for what, body in (("junk", os.urandom(300)), ("deep", b"[" * 5000), ("deep objects", b'{"a":' * 3000),
                           ("NUL", b'{"fn":"a\\u0000b"}'), ("twice", b'{"fn":"getStatus","fn":"getVersion"}'),
                           ("not UTF-8", b'{"fn":"\xff\xfe"}'), ("a number", b'{"fn":5}'), ("null", b"null"),
                           ("cut", b'{"fn":"getStatus"')):
            answer = daemon.raw(body, over)
            report.check(f"{what} over {over}", answer == b"" if over == "tcp" else
                         json.loads(answer)["status"] == "error", answer)
    with daemon.connect("tcp") as peer:
        for byte in struct.pack("=i", 18) + b'{"fn":"getStatus"}':
            peer.send(bytes([byte]))
        report.equal("byte by byte is fine", d.read_frame(peer), b'{"status":1}')
    check_good(report, "frames", daemon, good)
    report.check("frames: others are served", rpc_is_good(daemon))


def test_types(report, daemon, good):
    """Every member as every type: an answer, never a crash; no request comes of it."""
    values = [None, True, -1, 0, 2**63, 1.5, 1e400, "", "x", [], [None], ["a"], [1.5], [-1], {}, {"a": []}]
    good_ones = {"setKinetOnDemandRequest": {"config": "ACTIVITIES_DURATION_MSECS=1", "pids": [1], "job_id": 1,
                                             "process_limit": 1},
                 "dcgmProfPause": {"duration_s": 1},
                 "trigger": {"pids": [1], "job": 0, "name": "x", "all": False, "duration_ms": 5, "start_ms": 0,
                             "warmup_ms": 0, "activities": ["cpu_op"], "output": "/tmp/x.json", "format": "json",
                             "record_shapes": True, "gpu_only": False, "process_limit": 1, "timeout_ms": 1000},
                 "getRequest": {"request": 1}, "cancel": {"request": 1}, "getProcesses": {"filter": "x"},
                 "getMetrics": {"seconds": 1, "from_ns": 0, "to_ns": 1}, "getRequests": {}}
    calls = answers = 0
    for function, arguments in good_ones.items():
        for key in arguments:
            for value in values:
                calls += 1
                body = json.dumps({"fn": function, **arguments, key: value}).replace("Infinity", "1e400")
                answer = daemon.raw(body.encode())
                answers += bool(answer) and isinstance(json.loads(answer), dict)
    report.equal("each has an answer", answers, calls)
    report.equal("and none became a request", daemon.call("getRequests")["requests"], [])
    check_good(report, "types", daemon, good)


def test_idle(report, daemon, good):
    """A thousand connections that say nothing; then those that hang up before their answer."""
    for over in ("unix", "tcp"):
        peers = []
        for _ in range(1000):
            peer = daemon.connect(over)
            peer.send(b"\x10")
            peers.append(peer)
        start = time.monotonic()
        report.check(f"1000 over {over}: others are served", rpc_is_good(daemon))
        report.check(f"at once ({over})", time.monotonic() - start < 4.5, time.monotonic() - start)  # who is silent has 5 s
        fds = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
        report.check(f"few are kept ({over})", fds < 200, fds)
        for peer in peers:
            peer.close()
    check_good(report, "idle connections", daemon, good)
    for over in ("unix", "tcp"):
        for i in range(100):
            peer = daemon.connect(over)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.sendall(struct.pack("=i", 21) + b'{"fn":"getProcesses"}' if over == "unix" else
                         struct.pack("=i", 18) + b'{"fn":"getStatus"}')
            peer.close()
    check_good(report, "hanging up", daemon, good)
    report.check("hanging up: others are served", rpc_is_good(daemon))
    daemon.silent = daemon.connect()  # test_silent looks what became of it
    daemon.silent_since = time.monotonic()


def test_silent(report, daemon, good):
    """Who has said nothing for five seconds is hung up on."""
    del good
    daemon.silent.settimeout(10)
    report.equal("a silent one is hung up on", daemon.silent.recv(1), b"")
    report.check("not before five seconds", time.monotonic() - daemon.silent_since > 4.9)
    report.check("a line", has_line(daemon, b"event=rpc-refused", b"timed out waiting for a request"))
    daemon.silent.close()


def test_injection(report, daemon, good):
    """Strings that would be lines of their own."""
    with d.Client(daemon, name="dynoconfigclient-injection") as client:
        client.poll()
        evil = "\nPROFILE_MEMORY=true"
        for arguments in ({"output": f"/tmp/x.json{evil}"}, {"output": "/tmp/a=b.json"}, {"output": "/tmp/a#b.json"},
                          {"output": "/tmp/../etc/x.json"}, {"output": "x.json"}, {"output": "http://a/b.json"},
                          {"output": "/tmp/x.json\r"}, {"output": "/tmp/x\u0001.json"}, {"output": "/" + "x" * 2000},
                          {"activities": [f"cpu_op{evil}"]}, {"activities": ["cpu_op,#"]}, {"activities": ["nothing"]},
                          {"activities": [""]}, {"format": f"json{evil}"}):
            answer = daemon.call("trigger", pids=[os.getpid()], duration_ms=10, **arguments)
            report.equal(f"refused: {arguments}"[:70], answer["status"], "error")
        answer = daemon.call("trigger", name=f"x{evil}", duration_ms=10)
        report.equal("a name is only compared", (answer["status"], answer["matched"]), ("ok", 0))
        for config in ("ACTIVITIES_LOG_FILE=/tmp/../x.json", "ACTIVITIES_LOG_FILE=/tmp/a=b", "nonsense", "A=B=C",
                       "ACTIVITIES_DURATION_MSECS=-5", "ACTIVITIES_DURATION_MSECS=0",
                       "ACTIVITIES_LOG_FILE=relative.json", "ACTIVITIES_DURATION_MSECS=5\rKINO_SIGNAL=9",
                       "ACTIVITIES_DURATION_MSECS=5\0", "ACTIVITY_TYPES=x", "CUSTOM_CONFIG=\u0007",
                       "ACTIVITIES_LOG_FILE=https://example.org/x.json", "X" * 9000):
            answer = daemon.call("setKinetOnDemandRequest", over="tcp", config=config, pids=[0], job_id=0)
            good_answer = answer is None or (answer.get("activityProfilersTriggered") == [] and "error" in answer)
            report.check(f"refused: {config!r}"[:70], good_answer, answer)
        report.equal("nothing waits for anybody", client.poll(), b"")
        config = ("# PROFILE_MEMORY=true\nACTIVITIES_DURATION_MSECS=9 # x\n UNKNOWN_KEY = 5\nENABLE_IPC_FABRIC=true\n"
                  "VERBOSE_LOG_LEVEL=9\nKINO_SIGNAL=10\nKINO_BUDGET_MB=1\nREQUEST_TRACE_ID=kino-1\n"
                  "ACTIVITIES_DURATION_MSECS=7\n\n\n")
        answer = daemon.call("setKinetOnDemandRequest", over="tcp", config=config, pids=[0], job_id=0)
        report.equal("the good part", (answer["activityProfilersTriggered"], answer.get("error")), ([os.getpid()], None))
        lines = client.poll().decode().splitlines()
        report.equal("is all that gets through", [line.partition("-")[0] for line in lines],
                     ["ACTIVITIES_DURATION_MSECS=7", "REQUEST_TRACE_ID=kino"])
    check_good(report, "injection", daemon, good)


def as_nobody(daemon, work):
    """What work(ask) returns in a process of another user; ask(body, over) asks the daemon."""
    return users.as_user(users.NOBODY, lambda: work(lambda body, over="unix": json.loads(daemon.raw(json.dumps(body).encode(), over))))


def test_users(report, daemon, good):
    """Another user traces nobody, sees nobody, and learns of no files."""
    if os.getuid() != 0:
        print("not root: users are not tested", file=sys.stderr)
        return
    secret = pathlib.Path(tempfile.mkdtemp(prefix="kinos"))
    secret.chmod(0o700)
    (secret / "there").mkdir()
    pid, config = os.getpid(), "ACTIVITIES_DURATION_MSECS=5"

    def try_others(ask):
        return [ask({"fn": "trigger", "pids": [pid], "duration_ms": 5}),
                ask({"fn": "setKinetOnDemandRequest", "config": config, "pids": [pid], "job_id": 0}, "tcp"),
                ask({"fn": "getProcesses"}), ask({"fn": "getStatus"}, "tcp"), ask({"fn": "getRequest", "request": 1}),
                ask({"fn": "cancel", "request": 1})]
    made = daemon.call("trigger", pids=[os.getpid()], duration_ms=60000, start_ms=int(time.time() * 1000) + 3600000)
    got = as_nobody(daemon, try_others)
    if not report.check("the script runs", isinstance(got, list), got):
        return
    own, tcp, listed, status, request, cancelled = got
    report.equal("over unix: not allowed", (own["matched"], own["denied"], "other users" in own["reason"]), (0, 1, True))
    report.equal("over TCP: not allowed", (tcp["processesMatched"], tcp["activityProfilersTriggered"],
                                           "other users" in tcp["error"]), ([], [], True))
    report.equal("others' processes are not shown", (listed["processes"], listed["others"]), ([], 1))
    report.equal("status is for everybody", status, {"status": 1})
    report.equal("others' requests are not there", (request["status"], cancelled["status"]), ("error", "error"))
    report.check("a line", has_line(daemon, b"event=trigger-refused", b"uid=65534"))
    report.equal("root's goes on", daemon.request(made["request"])["uid"], 0)
    daemon.call("cancel", request=made["request"])
    # His own process: a path that he cannot see is the same whether it is there or not.
    def try_own(ask):
        with d.Client(daemon, name="dynoconfigclient-nobody") as client:
            client.poll(pids=[os.getpid()])
            own = {"fn": "trigger", "pids": [os.getpid()], "duration_ms": 5}
            paths = [ask({**own, "output": f"{secret}/{name}/x.json"})["targets"][0]["message"]
                     for name in ("there", "gone")]
            return [*paths, ask(own)["matched"]]
    got = as_nobody(daemon, try_own)
    report.check("his own he may", isinstance(got, list) and got[2] == 1, got)
    if isinstance(got, list):
        report.equal("what he cannot see he is not told", got[0].replace("/there", ""), got[1].replace("/gone", ""))
    check_good(report, "users", daemon, good)


def test_restart_under_load(report, daemon, good):
    """Killed and started again while many ask: everybody is answered again, nobody gets a text."""
    clients = [d.Client(daemon, name=f"dynoconfigclient-load{i}") for i in range(50)]
    stop, texts, failures = threading.Event(), [], [0]

    def load():
        while not stop.is_set():
            for client in clients:
                try:
                    client.send(d.poll(2, client.pids))
                    answer = client.receive(0.5)[0]
                    failures[0] += answer is None
                    if answer is not None and answer != d.EMPTY:
                        texts.append(answer)
                except OSError:
                    failures[0] += 1
                    time.sleep(0.005)
    thread = threading.Thread(target=load)
    thread.start()
    number = daemon.call("trigger", pids=[os.getpid()], duration_ms=60000, job=5)
    for _ in range(3):
        time.sleep(0.3)
        daemon.stop(signal.SIGKILL)
        time.sleep(0.05)
        daemon.start()
    time.sleep(0.5)
    stop.set()
    thread.join()
    report.equal("no text but requests", texts, [])
    report.equal("nobody of job 5", number["matched"], 0)
    report.check("the restart was felt", failures[0] > 0)
    answers = [client.poll() for client in clients]
    report.equal("all are answered again", answers, [b""] * 50)
    report.equal("and registered", d.until(lambda: [p["pid"] for p in daemon.processes()]), [os.getpid()])
    for client in clients:
        client.close()


def main():
    report = common.Report()
    with d.Daemon("--log-level", "debug") as daemon, GoodClient(daemon) as good:
        d.until(lambda: good.polls > 2)
        for test in (test_senders, test_link, test_datagrams, test_frames, test_types, test_idle, test_vanishing,
                     test_full_client, test_flood, test_silent):
            if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
                start = time.monotonic()
                test(report, daemon, good)
                if os.environ.get("KINO_VERBOSE"):
                    print(f"{test.__name__}: {time.monotonic() - start:.1f} s", file=sys.stderr)
        report.equal("no answer was doubled, or a text", good.problems, [])
        late = daemon.call("getStatistics")["replies_late"]
        report.check("none was lost but what would have been late", good.unanswered <= late, (good.unanswered, late))
        report.check("which are few", good.unanswered < 20, good.unanswered)
    # The good client is the process that these trace: it would take their texts.
    with d.Daemon() as daemon:
        class Quiet:
            """In its place: time passes, and nothing goes wrong."""
            polls = property(lambda self: time.monotonic() * 1000)
            problems = []
        with d.Client(daemon, name="dynoconfigclient-quiet") as client:
            client.poll()
            for test in (test_users, test_injection, test_restart_under_load):
                if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
                    test(report, daemon, Quiet())
        report.equal("it ends well", daemon.stop(), 0)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
