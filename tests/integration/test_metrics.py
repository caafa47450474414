#!/usr/bin/env python3
"""Monitoring of kino daemon: /metrics against /proc as Python reads it, promtool, lines of JSON, GPUs played by
stand-ins, processes with their descendants, the live view, counters in a trace, and what it costs."""
import fcntl
import http.client
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

from support import common, daemon as d, recorder, standin

LINE = re.compile(r'^(\w+)(?:\{(.*)\})? (-?[0-9.]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

# Registers, then keeps itself and a child of its own busy for a fifth of the time.
TRAINER = """
import os, socket, struct, sys, time
folder = sys.argv[1]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(f"{folder}/dynoconfigclient-{os.getpid()}")
s.settimeout(20)
s.sendto(struct.pack("<Q32s", 24, b"req") + struct.pack("<iiq2i", 2, 2, 991, os.getpid(), os.getppid()), f"{folder}/dynolog")
s.recv(65536)
if os.fork() == 0:
    s.close()
print("ready", flush=True)
while os.getppid() != 1:
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    time.sleep(0.08)
"""


def parse(text):
    """{(name, labels): value}, and what is wrong with the text."""
    values, types, wrong = {}, {}, []
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name in types:
                wrong.append(f"{name} has two types")
            types[name] = kind
        elif line.startswith("#"):
            continue
        else:
            found = LINE.match(line)
            if not found:
                wrong.append(line)
                continue
            key = (found[1], tuple(sorted(LABEL.findall(found[2] or ""))))
            if key in values:
                wrong.append(f"twice: {line}")
            values[key] = float(found[3])
    for name, _ in values:
        if name not in types:
            wrong.append(f"{name} has no type")
        elif (types[name] == "counter") != name.endswith("_total"):
            wrong.append(f"{name} is a {types[name]}")
    return values, wrong


def get(daemon, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.metrics_port, timeout=d.DEADLINE)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def scrape(daemon):
    return parse(get(daemon)[1])[0]


def value(values, name, **labels):
    for (have, pairs), number in values.items():
        if have == "kino_" + name and labels.items() <= dict(pairs).items():
            return number
    return None


def ticks_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def children_of(pid):
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
            and parent_of(entry.name) == pid]


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def check_host(report, daemon):
    """What /metrics says lies between two readings of /proc around it."""
    def reading():
        stat = pathlib.Path("/proc/stat").read_text().splitlines()
        cpu = [int(word) for word in stat[0].split()[1:]]
        switches = [int(line.split()[1]) for line in stat if line.startswith("ctxt ")][0]
        return {"user": cpu[0] / 100, "system": cpu[2] / 100, "switches": switches}

    before = reading()
    d.until(lambda: False, seconds=0.5)
    values = scrape(daemon)
    after = reading()
    report.check("user time", before["user"] <= value(values, "cpu_seconds_total", mode="user") <= after["user"])
    report.check("system time", before["system"] <= value(values, "cpu_seconds_total", mode="system") <= after["system"])
    report.check("context switches", before["switches"] <= value(values, "context_switches_total") <= after["switches"])
    total = int(re.search(r"MemTotal:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024
    report.equal("memory", value(values, "memory_total_bytes"), total)
    report.equal("cores", sum(1 for name, _ in values if name == "kino_cpu_core_utilization_ratio"), os.cpu_count())
    interfaces = {line.split(":")[0].strip() for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]
                  if int(line.split(":")[1].split()[1]) + int(line.split(":")[1].split()[9]) > 0}
    shown = {dict(labels)["device"] for name, labels in values if name == "kino_network_receive_bytes_total"}
    report.equal("interfaces", shown, interfaces)
    report.check("a share", 0 <= value(values, "cpu_utilization_ratio") <= 1)


def check_page(report, daemon):
    status, text, headers = get(daemon)
    report.equal("status", status, 200)
    report.equal("type", headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
    values, wrong = parse(text)
    report.equal("the page is as Prometheus wants it", wrong, [])
    report.check("there is much on it", len(values) > 60, str(len(values)))
    promtool = shutil.which("promtool")
    if promtool:
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        report.equal("promtool", (done.returncode, done.stdout + done.stderr), (0, ""))
        broken = text.replace("kino_context_switches_total ", "kino_context_switches{ ")
        done = subprocess.run([promtool, "check", "metrics"], input=broken, capture_output=True, text=True, check=False)
        report.check("promtool would have seen it", done.returncode != 0)
    else:
        print("promtool is not there: what it would say is not checked", file=sys.stderr)
    report.equal("HEAD", get(daemon, method="HEAD")[:2], (200, ""))
    report.equal("elsewhere", get(daemon, "/nothing")[0], 404)
    report.equal("POST", get(daemon, method="POST")[0], 405)


def check_clients(report, daemon):
    """Silent, slow and rude clients harm nobody."""
    silent = [socket.create_connection(("127.0.0.1", daemon.metrics_port)) for _ in range(100)]
    for peer in silent[50:]:
        peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
    begin = time.monotonic()
    report.equal("with 100 silent clients", get(daemon)[0], 200)
    report.check("without waiting for them", time.monotonic() - begin < 10)
    for peer in silent:
        peer.close()
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    slow.connect(("127.0.0.1", daemon.metrics_port))
    slow.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    for noise in (b"\0" * 5000, b"\r\n\r\n", b"GET " + b"/" * 4000):
        with socket.create_connection(("127.0.0.1", daemon.metrics_port)) as peer:
            peer.sendall(noise)
    report.equal("after noise", get(daemon)[0], 200)
    slow.close()
    report.check("the daemon lives", daemon.is_alive())


def check_gpus(report, daemon):
    values = d.until(lambda: (found := scrape(daemon)) and value(found, "gpu_power_watts", gpu="0") and found)
    report.equal("GPU use", value(values, "gpu_utilization_ratio", gpu="0", source="nvml"), 0.37)
    report.equal("GPU memory", value(values, "gpu_memory_used_bytes", gpu="0", source="nvml"), 21 * 2**30)
    report.equal("an ill GPU has no use", value(values, "gpu_utilization_ratio", gpu="1", source="nvml"), None)
    report.equal("but power", value(values, "gpu_power_watts", gpu="1", source="nvml"), 60.0)
    report.equal("another vendor's", value(values, "gpu_power_watts", gpu="0", source="rocm_smi"), 600.5)


def check_processes(report, daemon):
    env = dict(os.environ, SLURM_JOB_ID="991", SLURM_JOB_ACCOUNT="ml", SLURM_JOB_PARTITION='a"b', RANK="3", USER="ada")
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER, str(daemon.folder)], stdout=subprocess.PIPE, env=env)
    try:
        trainer.stdout.readline()
        trainer.stdout.readline()
        pid = str(trainer.pid)
        values = d.until(lambda: (found := scrape(daemon)) and value(found, "process_tree_size", pid=pid) == 2 and found)
        if not report.check("the process and its child are there", bool(values)):
            return
        info = [dict(labels) for name, labels in values if name == "kino_process_info" and dict(labels)["pid"] == pid][0]
        report.equal("who it is", {key: info.get(key) for key in ("job", "rank", "user", "slurm_job", "account", "partition")},
                     {"job": "991", "rank": "3", "user": "ada", "slurm_job": "991", "account": "ml", "partition": 'a\\"b'})
        members = [trainer.pid, *children_of(trainer.pid)]
        before = sum(map(ticks_of, members)) / 100
        time.sleep(0.6)
        said = value(scrape(daemon), "process_cpu_seconds_total", pid=pid)
        after = sum(map(ticks_of, members)) / 100
        report.check("its processor time", before <= said <= after, f"{before} <= {said} <= {after}")
        busy = d.until(lambda: (daemon.call("getMetrics")["sample"]["process"] or [{}])[0].get("cpu_seconds_per_second"))
        report.check("its rate", busy and 0.01 < busy < 2.1, str(busy))
    finally:
        trainer.kill()
        trainer.wait()
    gone = d.until(lambda: value(scrape(daemon), "process_tree_size", pid=pid) is None)
    report.check("and gone when it has ended", gone)


def check_lines(report, path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    report.check("lines of JSON", len(lines) >= 5, str(len(lines)))
    first, second = lines[0], lines[1]
    report.equal("the first one has no rates", (first["interval_ns"], first["cpu"][0]["context_switches_per_second"],
                                                first["cpu"][0]["utilization_ratio"]), (None, None, None))
    grown = second["cpu"][0]["context_switches"] - first["cpu"][0]["context_switches"]
    rate = grown / ((second["monotonic_ns"] - first["monotonic_ns"]) / 1e9)
    report.check("the second one has differences", abs(second["cpu"][0]["context_switches_per_second"] - rate) < 0.01)
    report.equal("intervals", [line["interval_ns"] for line in lines[1:]],
                 [b["monotonic_ns"] - a["monotonic_ns"] for a, b in zip(lines, lines[1:])])
    report.check("what is missing has a reason", all(line["missing"].values() for line in lines))


def check_window(report, daemon):
    """A window of the history: the same values at the same times."""
    def used(history):
        return [c for c in history["columns"] if c["class"] == "memory" and c["key"] == "used_bytes"][0]["values"]
    history = daemon.call("getMetrics", seconds=1000)["history"]
    times = history["times_ns"]
    window = daemon.call("getMetrics", from_ns=times[1], to_ns=times[-1])["history"]
    report.equal("times of a window", window["times_ns"], times[1:])
    report.equal("values of a window", used(window), used(history)[1:])


def screen_of(daemon, keys, seconds=1.5):
    """What `kino status --top` draws on a terminal of 100 x 30, its exit code, and whether the terminal is as before."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(slave)
    def begin():
        common.hear_interrupts()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    program = subprocess.Popen([common.program(), "status", "--top", "--socket", daemon.folder / "rpc.sock"], stdin=slave,
                               stdout=slave, stderr=slave, env=dict(os.environ, LC_ALL="C.UTF-8"), start_new_session=True,
                               preexec_fn=begin)
    data, end, is_typed = b"", time.monotonic() + seconds, False
    while program.poll() is None and time.monotonic() < end + d.DEADLINE:
        if select.select([master], [], [], 0.1)[0]:
            data += os.read(master, 65536)
        if time.monotonic() > end and not is_typed:
            os.write(master, keys)
            is_typed = True
    code = program.wait(d.DEADLINE)
    while select.select([master], [], [], 0.1)[0]:
        data += os.read(master, 65536)
    is_same = termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)
    return data.decode(), code, is_same


def check_top(report, daemon):
    done = common.run("status", "--top", "--socket", daemon.folder / "rpc.sock", env={"LC_ALL": "C"})
    text = done.stdout.decode("ascii")
    report.equal("one frame without a terminal", (done.returncode, text.count("kino top"), "\033" in text), (0, 1, False))
    for part in ("CPU ", "memory ", "network ", "GPU ", "Stand-in 80GB", "No processes are registered."):
        report.check(f"the frame has {part}", part in text, text)
    for keys, wanted in ((b"q", 0), (b"\x03", (0, 130))):
        data, code, is_same = screen_of(daemon, keys)
        report.check(f"live until {keys}", code == wanted or wanted != 0 and code in wanted, str(code))
        report.check("draws more than one frame", data.count("\033[H") >= 2, str(data.count("\033[H")))
        report.check("the other screen, and back", data.startswith("\033[?1049h") and "\033[?1049l" in data)
        report.check("the terminal is as before", is_same)


def check_cost(report):
    """Idle, with a sample each second: 3 MB. (Processor time is bench/daemon_load.c's.)"""
    with d.Daemon("--metrics-interval", "1", "--metrics-address", "127.0.0.1:0") as daemon:
        time.sleep(2.2)
        is_sanitized = b"__asan_init" in pathlib.Path(common.program()).read_bytes()
        if is_sanitized:
            print("memory is not measured with a sanitizer", file=sys.stderr)
            return
        report.check("memory", daemon.memory() <= 3000, f"{daemon.memory()} kB")


def check_pause(report, dcgm):
    """dyno dcgm-pause and dcgm-resume, with a DCGM that has profiling counters."""
    env = {"KINO_NVML_LIBRARY": "/nowhere", "KINO_ROCM_SMI_LIBRARY": "/nowhere", "KINO_DCGM_LIBRARY": str(dcgm)}
    with d.Daemon("--metrics-interval", "0.2", "--metrics-address", "127.0.0.1:0", env=env) as daemon:
        report.check("a GPU", d.until(lambda: any(name.startswith("kino_gpu_") for name, _ in scrape(daemon))), scrape(daemon))
        pause = b'\n{\n    "fn": "dcgmProfPause",\n    "duration_s": %d\n}'
        resume = b'{"fn":"dcgmProfResume"}'
        report.equal("nothing to take back", daemon.raw(resume, "tcp"), b'{"status":false}')
        report.equal("paused", d.until(lambda: daemon.raw(pause % 300, "tcp") == b'{"status":true}'), True)
        report.equal("for no time", daemon.raw(pause % 0, "tcp"), b'{"status":false}')
        report.equal("resumed", daemon.raw(resume, "tcp"), b'{"status":true}')
        report.equal("once", daemon.raw(resume, "tcp"), b'{"status":false}')


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        nvml = standin.build_library(folder, "nvml.so", [standin.FOLDER / "nvml/nvml.c"])
        rocm = standin.build_library(folder, "rocm_smi.so", [standin.FOLDER / "rocm_smi/rocm_smi.c"])
        env = {"KINO_NVML_LIBRARY": str(nvml), "KINO_ROCM_SMI_LIBRARY": str(rocm), "KINO_DCGM_LIBRARY": "/nowhere"}
        with d.Daemon("--metrics-interval", "0.2", "--metrics-address", "127.0.0.1:0", "--metrics-json",
                      folder / "lines", env=env) as daemon:
            d.until(lambda: value(scrape(daemon), "cpu_utilization_ratio") is not None)
            check_host(report, daemon)
            check_page(report, daemon)
            check_clients(report, daemon)
            check_gpus(report, daemon)
            check_top(report, daemon)
            check_processes(report, daemon)
            check_window(report, daemon)
            report.equal("the end", daemon.stop(signal.SIGTERM), 0)
        check_lines(report, folder / "lines")
        check_pause(report, standin.build_library(folder, "dcgm.so", [standin.FOLDER / "dcgm/dcgm.c"]))
    check_cost(report)
    return report.finish()


if __name__ == "__main__":
    recorder.compiler()
    sys.exit(main())
