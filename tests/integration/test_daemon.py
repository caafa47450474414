#!/usr/bin/env python3
"""kino daemon: the fabric and Dynolog's RPC byte by byte, requests from question to file, settings, signals, service."""
import json
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import test_recorder_control
from support import common, daemon as d

CLIENT = """
import os, socket, struct, sys, time
sys.path.insert(0, sys.argv[1])
folder, name = sys.argv[2], sys.argv[3]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(f"{folder}/{name}")
s.settimeout(2)
def ask(mask):
    pids = [os.getpid(), os.getppid()]
    while True:  # an answer that would come late is not sent: libkineto asks again, too
        s.sendto(struct.pack("<Q32s", 24, b"req") + struct.pack("<iiq2i", mask, 2, 0, *pids), f"{folder}/dynolog")
        try:
            return s.recv(65536)[40:]
        except TimeoutError:
            pass
for line in sys.stdin:
    print(ask(int(line)).hex(), flush=True)
"""


class Child:
    """A process of its own with one endpoint."""

    def __init__(self, daemon, name="dynoconfigclient-child", user=None, env=None, within=()):
        self.process = subprocess.Popen([*within, sys.executable, "-c", CLIENT, ".", str(daemon.folder), name],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user,
                                        env=dict(os.environ, **(env or {})))
        self.pid = self.process.pid

    def poll(self, mask=2):
        self.process.stdin.write(f"{mask}\n")
        self.process.stdin.flush()
        return bytes.fromhex(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


def test_fabric_bytes(report):
    """Replies are the documented bytes, from the address that was asked, over both kinds of names."""
    is_free = b"@dynolog@" not in pathlib.Path("/proc/net/unix").read_bytes()
    with d.Daemon(abstract=is_free) as daemon:
        for is_abstract in ([True, False] if is_free else [False]):
            with d.Client(daemon, is_abstract) as client:
                data, sender = client.ask(bytes.fromhex("1c00000000000000" "726571" + "00" * 29 + "02000000" "03000000"
                                                        "9210000000000000" "1b0a0000" "170a0000" "fd090000"))
                report.equal("nothing to do is forty bytes", data, bytes(8) + b"req" + bytes(29))
                report.equal("from the daemon's own name", sender,
                             client.address if is_abstract else str(daemon.folder / "dynolog"))
                data, _ = client.ask(bytes.fromhex("1000000000000000" "63747874" + "00" * 28 + "00000000" "1b0a0000"
                                                   "9210000000000000"))
                report.equal("the first context counts one", data,
                             bytes.fromhex("0400000000000000" "63747874" + "00" * 28 + "01000000"))
                report.check("nothing else comes", client.is_quiet())
        shown = daemon.processes()
        report.equal("known by its real pid", [p["pid"] for p in shown], [os.getpid()])
        report.equal("with the job it declares", shown[0]["job"], 4242)
        report.equal("and its endpoints", shown[0]["endpoints"], 2 if is_free else 1)
        report.check("the library by its contexts", "before July 2026" in shown[0]["library"], shown[0]["library"])


def test_contexts(report):
    with d.Daemon() as daemon, d.Client(daemon) as client:
        child = Child(daemon)
        child.poll()

        def count(gpu, job):
            return struct.unpack("<i", client.ask(d.context(gpu, 77, job))[0][40:])[0]
        report.equal("one process for a device", count(0, 5), 1)
        report.equal("the same again is the same", count(0, 5), 1)
        report.equal("another job counts apart", count(0, 6), 1)
        child.end()


def test_dyno(report):
    """What dyno sends, and the answers with their exact bytes."""
    with d.Daemon() as daemon:
        for over in ("tcp", "tcp6", "unix"):
            report.equal(f"status over {over}", daemon.raw(b'{"fn":"getStatus"}', over), b'{"status":1}')
        version = common.run("--version").stdout.decode().split()[1]
        report.equal("version", daemon.raw(b'{"fn":"getVersion"}', "tcp"), b'{"version":"%s"}' % version.encode())
        report.equal("resume", daemon.raw(b'{"fn":"dcgmProfResume"}', "tcp"), b'{"status":false}')
        report.equal("pause", daemon.raw(b'\n{\n    "fn": "dcgmProfPause",\n    "duration_s": 300\n}', "tcp"),
                     b'{"status":false}')
        report.equal("pause without a time", daemon.raw(b'{"fn":"dcgmProfPause"}', "tcp"), b'{"status":"failed"}')
        request = b"""
{
    "fn": "setKinetOnDemandRequest",
    "config": "ACTIVITIES_LOG_FILE=/tmp/t.json\\nPROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS=500\\nPROFILE_REPORT_INPUT_SHAPES=false\\nPROFILE_WITH_STACK=false\\nPROFILE_WITH_FLOPS=false\\nPROFILE_WITH_MODULES=false",
    "job_id": 0,
    "pids": [0],
    "process_limit": 3
}"""
        answer = daemon.raw(request, "tcp")
        report.equal("nobody matches", answer, d.DYNO_NO_MATCH)
        report.equal("which are 133 bytes", len(answer), 133)
        with d.Client(daemon) as client:
            client.poll()
            answer = daemon.raw(request, "tcp")
            pid = os.getpid()
            want = (b'{"activityProfilersBusy":0,"activityProfilersTriggered":[%d],"eventProfilersBusy":0,'
                    b'"eventProfilersTriggered":[],"processesMatched":[%d]' % (pid, pid))
            report.check("one is triggered", answer.startswith(want), answer)
            busy = json.loads(daemon.raw(request, "tcp"))
            report.equal("again: it is busy", (busy["activityProfilersBusy"], busy["activityProfilersTriggered"],
                                               busy["processesMatched"]), (1, [], [pid]))
            report.equal("not while it is busy", client.poll(mask=0), b"")
            report.equal("nor for events alone", client.poll(mask=1), b"")
            text = client.poll(mask=3).decode()
            number = json.loads(answer)["request"]
            report.check("the text", re.fullmatch(
                "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
                "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
                f"PROFILE_WITH_MODULES=false\nREQUEST_TRACE_ID=kino-{number}-[0-9]+\n", text), repr(text))
            report.equal("once only", client.poll(mask=3), b"")
            again = json.loads(daemon.raw(request, "tcp"))
            report.equal("delivered is not busy", (again["activityProfilersBusy"], again["activityProfilersTriggered"]),
                         (0, [pid]))
            report.equal("the next waits while it records", client.poll(mask=0), b"")
            report.check("and is told when it is idle", b"REQUEST_TRACE_ID=kino-%d-" % again["request"] in client.poll())
            later = request.replace(b"START_TIME=0", b"START_TIME=%d" % (time.time() * 1000 + 60000))
            daemon.raw(later, "tcp")
            report.check("one with a start", b"START_TIME" in client.poll())
            report.equal("another", json.loads(daemon.raw(request, "tcp"))["activityProfilersTriggered"], [pid])
            report.equal("which it would throw away before that start", client.poll(), b"")
            far = json.loads(daemon.raw(request.replace(b"START_TIME=0", b"START_TIME=%d" % (time.time() * 1e6)), "tcp"))
            report.equal("microseconds are refused", (far["processesMatched"], "7 days" in far["error"]), ([], True))
            client.poll(job=-1)
            whole = json.loads(daemon.raw(request.replace(b'"job_id": 0', b'"job_id": 18446744073709551615'), "tcp"))
            report.equal("jobs have 64 bits", whole["processesMatched"], [pid])
            beyond = json.loads(daemon.raw(request.replace(b'"job_id": 0', b'"job_id": 18446744073709551616'), "tcp"))
            report.check("and no more", "status" in beyond, beyond)
            other = json.loads(daemon.raw(request.replace(b'"job_id": 0', b'"job_id": 3000000000'), "tcp"))
            report.equal("jobs are compared whole", other["processesMatched"], [])
        for body, what in ((b'{"fn":"getNothing"}', "an unknown function"), (b"[1]", "no object"), (b"{}", "no fn")):
            report.equal(f"{what} is not answered", daemon.raw(body, "tcp"), b"")
        report.equal("without a config", daemon.raw(b'{"fn":"setKinetOnDemandRequest"}', "tcp"), b'{"status":"failed"}')
        wrong = daemon.call("setKinetOnDemandRequest", over="tcp", config=5, pids=[0])
        report.check("a config of another type", wrong["status"].startswith("failed with exception = "), wrong)


def trigger(daemon, **more):
    arguments = {"pids": [os.getpid()], "duration_ms": 100, "output": str(daemon.folder / "t.json"), **more}
    return daemon.call("trigger", **arguments)


def write(path, text):
    beside = pathlib.Path(f"{path}.tmp")
    beside.write_text(text)
    beside.rename(path)


def test_request(report):
    """A request of an unmodified libkineto: states from polls and from the file."""
    with d.Daemon() as daemon, d.Client(daemon) as client:
        client.poll()
        made = trigger(daemon, warmup_ms=0, record_shapes=True, activities=["cpu_op", "kernel"])
        number, path = made["request"], made["targets"][0]["path"]
        report.equal("made", (made["status"], made["matched"], made["busy"]), ("ok", 1, []))
        report.equal("the path has the pid", path, f"{daemon.folder}/t_{os.getpid()}.json")
        report.equal("queued", daemon.request(number)["state"], "queued")
        text = client.poll().decode()
        report.equal("what it is told", text.splitlines()[:-1],
                     [f"ACTIVITIES_LOG_FILE={daemon.folder}/t.json", "PROFILE_START_TIME=0",
                      "ACTIVITIES_DURATION_MSECS=100", "ACTIVITIES_WARMUP_PERIOD_SECS=0",
                      "ACTIVITY_TYPES=cpu_op,kernel", "PROFILE_REPORT_INPUT_SHAPES=true"])
        report.equal("delivered", daemon.states(number), ["delivered"])
        report.equal("idle still: it waits for its time", client.poll(2), b"")
        report.equal("busy", client.poll(0), b"")
        report.equal("warming up", d.until(lambda: "warming-up" in daemon.states(number)), True)
        report.equal("recording, by the clock", d.until(lambda: "recording" in daemon.states(number), 5), True)
        pathlib.Path(f"{path}.tmp").write_text("half")
        time.sleep(0.6)
        report.equal("a half file is no file", daemon.states(number), ["recording"])
        write(path, '{"traceEvents": []}')
        report.equal("written", d.until(lambda: "written" in daemon.states(number)), True)
        target = daemon.request(number)["targets"][0]
        report.equal("with its size", (target["bytes"], target["path"], target["pid"]), (19, path, os.getpid()))
        listed = daemon.call("getRequests")["requests"]
        report.equal("in the list", [(r["request"], r["state"], r["open"]) for r in listed], [(number, "written", 0)])
        # The file is there already now: only a new one counts.
        made = trigger(daemon, warmup_ms=0)
        client.poll()
        client.poll(0)
        time.sleep(0.6)
        report.check("an old file is not taken for the new one", "written" not in daemon.states(made["request"]))
        later = trigger(daemon, warmup_ms=0)
        write(path, '{"traceEvents": [ ]}')
        report.equal("the new one is", d.until(lambda: "written" in daemon.states(made["request"])), True)
        report.equal("the next waits meanwhile", daemon.states(later["request"]), ["queued"])
        report.check("and is told", b"kino-%d-" % later["request"] in client.poll())
        time.sleep(0.6)
        report.equal("that file is not the next one's", daemon.states(later["request"]), ["delivered"])


def test_kino_client(report):
    """libkino tells itself how it goes."""
    with d.Daemon() as daemon, d.Client(daemon, version=8) as client:
        client.poll()
        report.equal("known as such", daemon.processes()[0]["library"], "libkino")
        folder = tempfile.mkdtemp(prefix="kinot", dir="/tmp")
        made = trigger(daemon, output=folder, format="kino", warmup_ms=250)
        number = made["request"]
        report.equal("a .kino file in the folder", made["targets"][0]["path"],
                     f"{folder}/kino_{number}_{os.getpid()}.kino")
        client.send(d.report(4, number))
        time.sleep(0.1)
        report.equal("nothing is told before it has it", daemon.states(number), ["queued"])
        text = client.poll().decode()
        report.check("its own keys are there", "KINO_WARMUP_MSECS=250\n" in text, text)
        for event, state in ((1, "delivered"), (3, "warming-up"), (4, "recording")):
            client.send(d.report(event, number))
            report.equal(f"it says: {state}", d.until(lambda: state in daemon.states(number)), True)
        client.send(d.report(4, number + 1))
        client.send(d.report(5, number, 1234, b"/tmp/where.kino"))
        report.equal("it says: written", d.until(lambda: "written" in daemon.states(number)), True)
        target = daemon.request(number)["targets"][0]
        report.equal("where and how much", (target["path"], target["bytes"]), ("/tmp/where.kino", 1234))
        report.check("reports are not answered", client.is_quiet())
        made = trigger(daemon, output=folder)
        client.poll()
        client.send(d.report(2, made["request"], -1, b"a trace runs already"))
        report.equal("it says: no", d.until(lambda: "refused" in daemon.states(made["request"])), True)
        report.equal("and why", daemon.request(made["request"])["targets"][0]["message"], "a trace runs already")
        made = trigger(daemon, output="/var/tmp/x.json")
        target = made["targets"][0]
        report.equal("libkino writes to /tmp only", (target["state"], "only to /tmp" in target["message"]),
                     ("refused", True))
        os.rmdir(folder)


def test_libkino(report):
    """A real process with libkino in it, from the question to a trace that kino reads."""
    with d.Daemon() as daemon, tempfile.TemporaryDirectory(dir="/tmp", prefix="kinol") as folder:
        program = test_recorder_control.build(pathlib.Path(folder))
        base = pathlib.Path(folder, "base.conf")
        base.write_text("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=0\n")  # as often as it may
        environment = dict(os.environ, KINETO_USE_DAEMON="1", KINETO_IPC_SOCKET_DIR=str(daemon.folder),
                           KINETO_CONFIG=str(base), RANK="3")
        process = subprocess.Popen([program, "30000", "2", "2"], env=environment, stdout=subprocess.PIPE)
        shown = d.until(lambda: daemon.processes())
        report.equal("registered", [(p["pid"], p["library"], p["rank"]) for p in shown], [(process.pid, "libkino", 3)])
        made = daemon.call("trigger", pids=[process.pid], duration_ms=100, warmup_ms=0, output=folder, format="kino")
        seen = set()

        def is_written():
            seen.update(daemon.states(made["request"]))
            return "written" in seen
        report.check("written", d.until(is_written, step=0.005), daemon.request(made["request"]))
        report.check("it told that it recorded", "recording" in seen, seen)
        target = daemon.request(made["request"])["targets"][0]
        path = pathlib.Path(folder, f"kino_{made['request']}_{process.pid}.kino")
        report.equal("where it said", (target["path"], target["bytes"], target["rank"]), (str(path), path.stat().st_size, 3))
        rows = common.query(path, "select value from metadata where key = 'trace_id'")
        report.check("the trace knows its request", rows and f"kino-{made['request']}-" in str(rows[0][0]), rows)
        late = daemon.call("trigger", pids=[process.pid], duration_ms=100, warmup_ms=60000, output=folder,
                           start_ms=int(time.time() * 1000) + 2000)
        report.check("refused", d.until(lambda: "refused" in daemon.states(late["request"])), daemon.request(late["request"]))
        report.check("in its own words", "warm-up" in daemon.request(late["request"])["targets"][0]["message"])
        made = daemon.call("trigger", pids=[process.pid], iterations=3, output=folder)
        report.check("by iterations", d.until(lambda: "written" in daemon.states(made["request"])),
                     daemon.request(made["request"]))
        process.communicate(timeout=20)
        report.equal("it ends well", process.returncode, 0)


def test_ends(report):
    """Cancelled, gone, refused; a second endpoint of the same process; selection."""
    with d.Daemon() as daemon:
        first, second = Child(daemon, "dynoconfigclient-1", env={"RANK": "0"}), Child(
            daemon, "dynoconfigclient-2", env={"RANK": "1", "SLURM_PROCID": "7"})
        first.poll(), second.poll()
        d.until(lambda: len(daemon.processes()) == 2)
        report.equal("ranks", {p["pid"]: p["rank"] for p in daemon.processes()}, {first.pid: 0, second.pid: 1})
        made = daemon.call("trigger", pids=[os.getpid()], duration_ms=50, output=str(daemon.folder))
        report.equal("a parent's pid selects its children", [t["pid"] for t in made["targets"]],
                     sorted([first.pid, second.pid]))
        report.check("the first is told", b"REQUEST_TRACE_ID" in first.poll())
        report.equal("the second is cancelled", daemon.call("cancel", request=made["request"])["cancelled"], 1)
        report.equal("and not told", second.poll(), b"")
        states = {t["pid"]: t["state"] for t in daemon.request(made["request"])["targets"]}
        report.equal("states", states, {first.pid: "delivered", second.pid: "cancelled"})
        more = daemon.call("trigger", pids=[first.pid], duration_ms=50, output=str(daemon.folder))
        report.equal("one more is queued", daemon.states(more["request"]), ["queued"])
        first.kill()
        report.equal("both end with it", d.until(lambda: "gone" in daemon.states(more["request"])), True)
        report.equal("dead is gone", d.until(lambda: "gone" in daemon.states(made["request"])), True)
        report.equal("and forgotten", d.until(lambda: [p["pid"] for p in daemon.processes()] == [second.pid]), True)
        report.equal("the whole has the worst state", daemon.request(made["request"])["state"], "gone")
        made = daemon.call("trigger", name="python*", duration_ms=50, output="/nowhere/t.json")
        report.equal("a folder that is not there", (made["targets"][0]["state"], made["targets"][0]["message"]),
                     ("refused", "no such directory: '/nowhere'"))
        for arguments, words in (({"pids": [first.pid]}, "no such process"),
                                 ({"pids": [daemon.process.pid]}, "has not contacted the daemon"),
                                 ({"job": 77}, "belongs to job 77"), ({"name": "nobody*"}, "matches")):
            made = daemon.call("trigger", duration_ms=50, **arguments)
            report.check(f"why nobody matches {arguments}", words in made.get("reason", ""), made)
        limited = daemon.call("trigger", all=True, duration_ms=50, process_limit=0)
        report.equal("a limit of none", (limited["matched"], "request" in limited), (1, False))
        second.end()
        report.equal("ended is forgotten", d.until(lambda: daemon.processes() == []), True)
        report.check("it says why", "KINETO_USE_DAEMON" in daemon.call("trigger", all=True, duration_ms=5)["reason"])


def test_own_folder(report):
    """A process that may write to its own folder only is told to write there, unless somebody says otherwise."""
    with d.Daemon() as daemon, tempfile.TemporaryDirectory(prefix="kinof") as folder:
        child = Child(daemon, env={"KINETO_ONDEMAND_TRACE_DIR": folder + "/"})
        child.poll()
        made = daemon.call("trigger", pids=[child.pid], duration_ms=50)
        report.equal("its folder", made["targets"][0]["path"], f"{folder}/kino_{made['request']}_{child.pid}.json")
        report.check("it is told", f"ACTIVITIES_LOG_FILE={folder}/kino_{made['request']}.json\n".encode() in child.poll())
        child.end()
        child = Child(daemon, "dynoconfigclient-2", env={"KINETO_ONDEMAND_TRACE_DIR": "/tmp/a#b"})
        child.poll()
        made = daemon.call("trigger", pids=[child.pid], duration_ms=50)
        report.equal("one that no request can name", os.path.dirname(made["targets"][0]["path"]), "/tmp")
        child.end()


def test_exec(report):
    """Another program in the same process is shown as what it is now."""
    with d.Daemon() as daemon:
        text = (f"import os, socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
                f"s.bind('{daemon.folder}/a'); s.sendto(bytes.fromhex('{d.poll(2, [1]).hex()}'), '{daemon.folder}/dynolog'); "
                f"s.recv(99); os.read(0, 1); "
                f"os.execv(sys.executable, [sys.executable, '-c', sys.argv[1], '.', '{daemon.folder}', 'b'])")
        process = subprocess.Popen([sys.executable, "-c", text, CLIENT, "before"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        before = d.until(lambda: daemon.processes())[0]
        report.check("before", "import os, socket, sys; s" in before["command"], before)
        process.stdin.write(b"\n2\n")
        process.stdin.flush()
        d.until(lambda: daemon.processes()[0]["endpoints"] == 2)
        after = daemon.processes()[0]
        report.equal("the same process", after["pid"], before["pid"])
        report.check("another command", "import os, socket, struct" in after["command"], after)
        process.communicate(timeout=20)


def test_groups(report):
    """What a process may write to by one of its further groups, it may write to."""
    if os.getuid() != 0:
        print("not root: groups are not tested", file=sys.stderr)
        return
    with d.Daemon() as daemon, tempfile.TemporaryDirectory(prefix="kinog") as folder:
        os.chown(folder, 0, 54321)
        os.chmod(folder, 0o770)
        for groups, state in (([54321], "queued"), ([54322], "refused")):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.setgroups(groups)
                os.setgid(54320)
                os.setuid(54320)
                d.Client(daemon).poll(pids=[os.getpid()])
                os.write(write, b"x")
                signal.pause()
            os.read(read, 1)
            made = daemon.call("trigger", pids=[child], duration_ms=50, output=f"{folder}/t.json")
            report.equal(f"groups {groups}", [t["state"] for t in made["targets"]], [state])
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            os.close(write)


def test_descriptors(report):
    """Processes do not take the descriptors that questions need."""
    with d.Daemon() as daemon:
        used = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (used + 4, used + 4))
        children = [Child(daemon, f"dynoconfigclient-{i}") for i in range(6)]
        for child in children:
            report.equal("answered", child.poll(), b"")
        report.equal("all are there", d.until(lambda: {p["pid"] for p in daemon.processes()}), {c.pid for c in children})
        for child in children:
            child.end()


def test_container(report):
    """In a pid namespace of its own a process calls itself 1, and sees other files: known by its real pid all the same."""
    within = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*within, "true"], capture_output=True, check=False).returncode != 0:
        print("namespaces cannot be made: containers are not tested", file=sys.stderr)
        return
    with d.Daemon() as daemon, tempfile.TemporaryDirectory(dir="/tmp", prefix="kinoc") as folder:
        child = Child(daemon, within=[*within, "sh", "-c", f'mount -t tmpfs none {folder} && mkdir {folder}/real && '
                                                     f'ln -s {folder}/real {folder}/link && "$@"; exit $?', "x"])
        shown = d.until(lambda: child.poll() == b"" and daemon.processes())
        pid = shown[0]["pid"]
        own = pathlib.Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].splitlines()[0].split()[-1]
        report.equal("its own number, as the kernel says", (shown[0]["own_pid"], int(own) < 100), (int(own), True))
        made = daemon.call("trigger", pids=[pid], duration_ms=50, output=folder)
        path = made["targets"][0]["path"]
        report.equal("which its file has", path, f"{folder}/kino_{made['request']}_{own}.json")
        report.check("it is told", b"ACTIVITIES_LOG_FILE" in child.poll())
        write(path, "{}")
        time.sleep(0.7)
        report.equal("a file of ours is not its", daemon.states(made["request"]), ["delivered"])
        write(f"/proc/{pid}/root{path}", "{} ")
        report.equal("one that it sees is", d.until(lambda: "written" in daemon.states(made["request"])), True)
        report.equal("with its size", daemon.request(made["request"])["targets"][0]["bytes"], 3)
        made = daemon.call("trigger", pids=[pid], duration_ms=50, output=f"{folder}/link/t.json")
        report.equal("a link leads where it leads for the process", made["state"], "queued")
        child.poll()
        write(f"/proc/{pid}/root{folder}/real/t_{own}.json", "{}  ")
        report.equal("to its file, too", d.until(lambda: "written" in daemon.states(made["request"])), True)
        child.end()


def test_restart(report):
    """Killed: requests in flight are lost, clients register again, numbers go on."""
    with d.Daemon() as daemon, d.Client(daemon) as client:
        client.poll()
        number = trigger(daemon)["request"]
        client.poll()
        daemon.stop(signal.SIGKILL)
        daemon.start()
        lost = daemon.request(number)
        report.equal("lost with the daemon", (lost["state"], lost["targets"][0]["state"], lost["targets"][0]["message"],
                                              lost["targets"][0]["pid"]),
                     ("lost", "lost", "lost when the daemon stopped", os.getpid()))
        report.equal("the client is answered", client.poll(), b"")
        report.equal("and there again", d.until(lambda: [p["pid"] for p in daemon.processes()]), [os.getpid()])
        report.equal("numbers go on", trigger(daemon)["request"], number + 1)
        report.equal("it ends well", daemon.stop(), 0)
        report.equal("and takes its sockets with it", sorted(p.name for p in daemon.folder.iterdir() if p.is_socket()
                                                             and not p.name.startswith("dynoconfig")), [])


def test_settings(report):
    """Flags before environment before file; SIGHUP; messages."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "daemon.conf")
        file.write_text("# a comment\nlog-level = warning # another\nport=4711\nsilence = 61.5\n")
        env = {"KINO_DAEMON_PORT": "4712", "KINO_DAEMON_LOG_FORMAT": "json", "KINETO_IPC_SOCKET_DIR": "/run/x"}
        shown = common.run("daemon", "--config", file, "--log-format", "text", "--show-settings", env=env).stdout.decode()
        for line in ("log-level = warning  # file", "port = 4712  # environment", "log-format = text  # flag",
                     "silence = 61.5  # file", "socket-dir = /run/x  # environment", "abstract = yes  # default"):
            report.check(line, line in shown.splitlines(), shown)
        for text, words in (("x = 1", "line 1: unknown setting 'x'"), ("\nport = many", "line 2: invalid value 'many' for port"),
                            ("port", "expected NAME = VALUE"), ("silence=5", "at least 60 seconds"),
                            ("socket-dir=/run/x/", "without a trailing '/'")):
            file.write_text(text)
            done = common.run("daemon", "--config", file, "--show-settings")
            report.check(f"refused: {text!r}", done.returncode == 1 and words in done.stderr.decode(), done.stderr)
        pipe = pathlib.Path(folder, "pipe")
        os.mkfifo(pipe)
        done = subprocess.run([common.program(), "daemon", *d.Daemon(folder=folder).options, "--state", pipe],
                              capture_output=True, timeout=20, check=False)
        report.check("what is no file is not replaced", done.returncode == 1 and b"not a regular file" in done.stderr
                     and pipe.is_fifo(), done.stderr)
        file.write_text("log-level=info\n")
        with d.Daemon("--config", str(file)) as daemon:
            file.write_text("log-level=debug\nsocket=/tmp/else.sock\nsilence=90\n")
            daemon.process.send_signal(signal.SIGHUP)
            report.check("reloaded", d.until(lambda: b"event=reloaded" in daemon.text()), daemon.log)
            report.check("what changes", b'event=setting-changed name="silence" value="90"' in daemon.log, daemon.log)
            report.check("flags still count most", b'name="socket"' not in daemon.log, daemon.log)
            file.write_text("nonsense\n")
            daemon.process.send_signal(signal.SIGHUP)
            report.check("a bad file is refused", d.until(lambda: b"event=reload-refused" in daemon.text()), daemon.log)
            report.equal("and not said to be loaded", daemon.text().count(b"event=reloaded"), 1)
            report.equal("and nothing happens", daemon.call("getStatus")["status"], 1)
            file.write_text("")
            second = subprocess.run([common.program(), "daemon", *daemon.options], capture_output=True, timeout=20,
                                    check=False)
            report.check("two do not fit", second.returncode == 1 and b"another daemon is listening at" in second.stderr,
                         second.stderr)
            report.equal("and the first goes on", daemon.call("getStatus")["status"], 1)


def test_service(report):
    """sd_notify, the watchdog, JSON lines, rights."""
    with tempfile.TemporaryDirectory() as folder:
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(f"{folder}/notify")
        notify.settimeout(20)
        env = {"NOTIFY_SOCKET": f"{folder}/notify", "WATCHDOG_USEC": "200000"}
        with d.Daemon(env=env) as daemon:
            report.check("ready", notify.recv(1000).startswith(b"READY=1\nSTATUS="))
            report.equal("alive", notify.recv(1000), b"WATCHDOG=1")
            status = dict(line.split(":\t") for line in
                          pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines() if ":\t" in line)
            report.equal("no new rights", status["NoNewPrivs"], "1")
            if os.getuid() == 0:
                # DAC_OVERRIDE 1, DAC_READ_SEARCH 2, SETGID 6, SETUID 7, SYS_PTRACE 19, PERFMON 38
                allowed = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 19 | 1 << 38
                report.equal("few capabilities", int(status["CapPrm"], 16) & ~allowed, 0)
            daemon.process.terminate()
            seen = iter(lambda: notify.recv(1000), b"STOPPING=1")
            report.equal("nothing but beats until it stops", set(seen) - {b"WATCHDOG=1"}, set())
    with d.Daemon() as daemon:
        daemon.stop()
    daemon = d.Daemon("--log-format", "json", "--log-level", "debug")
    process = subprocess.Popen([common.program(), "daemon", *daemon.options], stderr=subprocess.PIPE)
    line = json.loads(process.stderr.readline())
    report.equal("a line of JSON", (line["level"], line["event"], line["pid"]), ("info", "ready", process.pid))
    process.terminate()
    process.communicate(timeout=20)
    report.equal("ends with 0", process.returncode, 0)


def main():
    report = common.Report()
    for test in (test_fabric_bytes, test_contexts, test_dyno, test_request, test_kino_client, test_libkino, test_ends,
                 test_own_folder, test_exec, test_groups, test_descriptors, test_container, test_restart, test_settings, test_service):
        if len(sys.argv) < 2 or test.__name__ in sys.argv[1:]:
            test(report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
