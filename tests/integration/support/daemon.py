"""kino daemon under test, in a folder of its own, and clients that speak its protocols byte by byte, from the
descriptions alone (docs/formats/daemon.md), without anything of kino's."""
import encodings.idna  # before a test changes its user: it may not be able to read it then
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import uuid

from support import common

DEADLINE = 20  # seconds, for what takes milliseconds


def until(condition, seconds=DEADLINE, step=0.02):
    """The first true value of condition(), or its last."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


def message(kind, payload):
    return struct.pack("<Q32s", len(payload), kind) + payload


def poll(mask, pids, job=0):
    return message(b"req", struct.pack(f"<iiq{len(pids)}i", mask, len(pids), job, *pids))


def context(gpu, pid, job=0):
    return message(b"ctxt", struct.pack("<iiq", gpu, pid, job))


def report(event, request, size=-1, text=b""):
    return message(b"kino", struct.pack("<IIQq", event, 0, request, size) + text)


EMPTY = message(b"req", b"")
DYNO_NO_MATCH = (b'{"activityProfilersBusy":0,"activityProfilersTriggered":[],"eventProfilersBusy":0,'
                 b'"eventProfilersTriggered":[],"processesMatched":[]}')


class Daemon:
    """The program, with sockets in its folder; abstract names only where a test asks for them."""

    def __init__(self, *options, abstract=False, folder=None, env=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="kinod"))
        self.is_own = folder is None
        self.folder.chmod(0o777)
        self.options = ["--socket", str(self.folder / "rpc.sock"), "--socket-dir", str(self.folder),
                        "--abstract", "yes" if abstract else "no", "--port", "0", "--metrics-interval", "0",
                        *map(str, options)]
        self.env = dict(os.environ, **(env or {}))
        self.log = b""
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def start(self):
        self.path = self.folder / "log"
        self.process = subprocess.Popen([common.program(), "daemon", *self.options], stderr=open(self.path, "ab"),
                                        stdin=subprocess.DEVNULL, env=self.env, preexec_fn=common.die_with_parent)
        before = self.log.count(b"event=ready")
        if not until(lambda: self.text().count(b"event=ready") > before or self.process.poll() is not None):
            self.process.kill()
            raise RuntimeError(f"kino daemon is not ready after {DEADLINE} s: {self.text()[-400:]!r}")
        if self.process.poll() is not None:
            raise RuntimeError(f"kino daemon ended: {self.text()[-400:]!r}")
        ready = [line for line in self.text().splitlines() if b"event=ready" in line][-1].decode()
        words = dict(word.split("=", 1) for word in ready.split() if "=" in word)
        self.port = int(words["port"])
        self.metrics_port = int(words["metrics_port"])

    def __exit__(self, *_):
        self.stop()
        if self.is_own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            where = pathlib.Path(f"/proc/{self.process.pid}/wchan").read_text()
            self.process.kill()
            raise RuntimeError(f"kino daemon does not end on signal {number} (in {where}): {self.text()[-400:]!r}") from None
        self.text()
        return code

    def text(self):
        self.log = self.path.read_bytes() if self.path.exists() else b""
        return self.log

    def is_alive(self):
        return self.process.poll() is None

    def memory(self, key="RssAnon"):
        """In KiB."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return int(line.split()[1])
        return None

    def connect(self, over="unix"):
        if over == "unix":
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            peer.connect(str(self.folder / "rpc.sock"))
            peer.settimeout(DEADLINE)
            return peer
        return socket.create_connection(("::1" if over == "tcp6" else "127.0.0.1", self.port), timeout=DEADLINE)

    def raw(self, body, over="unix"):
        """The bytes of the answer to a frame; b"" when the daemon hangs up."""
        with self.connect(over) as peer:
            peer.sendall(struct.pack("=i", len(body)) + body)
            return read_frame(peer)

    def call(self, function, over="unix", **arguments):
        answer = self.raw(json.dumps({"fn": function, **arguments}).encode(), over)
        return json.loads(answer) if answer else None

    def processes(self):
        return self.call("getProcesses")["processes"]

    def request(self, number):
        return self.call("getRequest", request=number)

    def states(self, number):
        return [target["state"] for target in self.request(number)["targets"]]


def read_exactly(peer, size):
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        if not part:
            return data
        data += part
    return data


def read_frame(peer):
    try:
        head = read_exactly(peer, 4)
        return read_exactly(peer, struct.unpack("=i", head)[0]) if len(head) == 4 else b""
    except ConnectionResetError:
        return b""


class Client:
    """An endpoint of the fabric in this process, bound as libkineto binds it (version 4) or as libkino does (8)."""

    def __init__(self, daemon, is_abstract=False, version=4, name=None):
        text = str(uuid.uuid4())
        name = name or f"dynoconfigclient{text[:14]}{version}{text[15:]}"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE)
        folder = str(daemon.folder)
        self.socket.bind(b"\0" + name.encode() + b"\0" if is_abstract else f"{folder}/{name}")
        self.address = b"\0dynolog\0" if is_abstract else f"{folder}/dynolog"
        self.pids = [os.getpid(), os.getppid()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        name = self.socket.getsockname()
        self.socket.close()
        if isinstance(name, str) and name:
            pathlib.Path(name).unlink(missing_ok=True)

    def send(self, data):
        self.socket.sendto(data, self.address)

    def receive(self, seconds=DEADLINE):
        """One datagram and its sender; (None, None) when none comes."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recvfrom(1 << 17)
        except (TimeoutError, BlockingIOError):
            return None, None

    def ask(self, data):
        """The answer to a datagram and who sent it. One that would come late is not sent: libkineto asks again, too."""
        for _ in range(DEADLINE // 2):
            self.send(data)
            answer, sender = self.receive(2)
            if answer is not None:
                return answer, sender
        return None, None

    def poll(self, mask=2, job=0, pids=None):
        """Asks and gives back the text of the answer."""
        data, _ = self.ask(poll(mask, pids or self.pids, job))
        return None if data is None else data[40:]

    def is_quiet(self, seconds=0.15):
        return not select.select([self.socket], [], [], seconds)[0]
