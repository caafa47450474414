#!/usr/bin/env python3
"""kino trigger of root among processes of an ordinary user that lie about what they wrote: nothing of root's is read, changed or
removed, whatever they name, and results are where root wanted them.

Each liar registers as libkino does, takes the request, and reports a path of its choice as written."""
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, daemon as d  # noqa: E402

NOBODY = 65534
WRITTEN = 5
TRACE = json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 0, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::secret", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(3)]})


class Liar:
    """A process of user nobody. `lie(request, path)` runs in it with the path that it was asked to write to, and
    gives the path that it reports. It goes on polling until it is killed; `after` runs in it then and now."""

    def __init__(self, daemon, lie, after=None, uid=NOBODY):
        self.pid = os.fork()
        if self.pid:
            return
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            self.run(daemon, lie, after)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def run(self, daemon, lie, after):
        with d.Client(daemon, version=8) as client:
            while True:
                text = client.poll(pids=[os.getpid()]).decode()
                if text:
                    lines = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
                    request = int(lines["REQUEST_TRACE_ID"].split("-")[1])
                    wanted = lines["ACTIVITIES_LOG_FILE"]
                    path = lie(request, wanted)
                    if path is not None:
                        client.send(d.report(WRITTEN, request, 1000, os.fsencode(path)))
                end = time.monotonic() + 0.05
                while time.monotonic() < end:
                    if after:
                        after()
                    else:
                        time.sleep(0.01)

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Scene:
    """Root's folders, the liar's folder, and a daemon of root's."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="kino-attack-"))
        self.base.chmod(0o755)
        self.root = self.folder("root", 0o700)
        self.here = self.folder("here", 0o700)
        self.liar = self.folder("liar", 0o755, NOBODY)
        self.open = self.folder("open", 0o1777)

    def folder(self, name, mode, uid=0):
        path = self.base / name
        path.mkdir()
        path.chmod(mode)
        os.chown(path, uid, uid)
        return path

    def secret(self, name="secret.json", text=TRACE):
        path = self.root / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def trigger(self, lie, *options, after=None, uid=NOBODY):
        """What kino trigger says of one liar: exit code, its rows, what is on standard error."""
        liar = Liar(self.daemon, lie, after, uid)
        try:
            d.until(lambda: any(p["pid"] == liar.pid for p in self.daemon.processes()))
            done = common.run("trigger", "--socket", self.daemon.folder / "rpc.sock", "--pids", liar.pid, "--duration", "5ms",
                              "--timeout", "20s", "--format", "json", *options, cwd=self.here, timeout=60)
            rows = json.loads(done.stdout)["tables"][0]["rows"] if done.stdout else []
            return done.returncode, rows, done.stderr.decode(), liar.pid
        finally:
            liar.stop()

    def results(self):
        return sorted(path.name for path in self.here.iterdir())

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


def text_of(path):
    return path.read_text() if path.exists() else "gone"


def write_own(path):
    path = pathlib.Path(path)
    path.write_text(TRACE)
    return str(path)


def test_honest(report, scene):
    """What must go on: an honest process's trace is read, the result is root's, the original is gone."""
    path = scene.liar / "honest.json"
    code, _, err, pid = scene.trigger(lambda _, wanted: write_own(path), "--to", "kino")
    made = [name for name in scene.results() if name.endswith(f"_{pid}.kino")]
    report.equal("honest: one result in the current directory", (code, len(made), err), (0, 1, ""))
    report.check("honest: the original is gone", not path.exists())
    if made:
        result = scene.here / made[0]
        report.equal("honest: it is root's", result.stat().st_uid, 0)
        report.equal("honest: its events", common.query(result, "SELECT count(*) FROM event")[0][0], 3)
        result.unlink()
    code, _, err, pid = scene.trigger(lambda _, wanted: write_own(wanted), "--to", "json.gz", "--output", scene.open / "t.json")
    report.equal("honest: where root said", (code, [p.name for p in scene.open.iterdir()]), (0, [f"t_{pid}.json.gz"]))
    for left in scene.open.iterdir():
        left.unlink()


def test_roots_file(report, scene):
    """"written: /root/secret": neither read nor converted nor removed."""
    secret = scene.secret()
    before = secret.stat()
    for options in (("--to", "kino"), ("--to", "json.gz"), ("--with-metrics",), ()):
        code, rows, err, _ = scene.trigger(lambda *_: str(secret), *options)
        report.equal(f"root's file {options}: exit code", code, 1 if options else 0)
        report.check(f"root's file {options}: it is said", "ermission denied" in err + json.dumps(rows) or
                     "not owned by" in err + json.dumps(rows), (err, rows))
    report.equal("root's file: unchanged", (text_of(secret), secret.exists() and secret.stat().st_mtime_ns),
                 (TRACE, before.st_mtime_ns))
    report.equal("root's file: nothing was made of it", (scene.results(), [p.name for p in scene.root.iterdir()]),
                 ([], ["secret.json"]))


def test_readable_file(report, scene):
    """A file of root's that everybody may read is still not the process's."""
    public = scene.base / "public.json"
    public.write_text(TRACE)
    code, _, err, _ = scene.trigger(lambda *_: str(public), "--to", "kino")
    report.equal("readable: refused", (code, public.exists(), scene.results()), (1, True, []))
    report.check("readable: why", "not owned by the user of the process" in err, err)


def test_links(report, scene):
    """Symbolic links of the user's: the file itself, and a folder on the way."""
    secret = scene.secret()
    link, folder = scene.liar / "link.json", scene.liar / "folder"

    def make_link(*_):
        link.symlink_to(secret)
        return str(link)

    def make_folder(*_):
        folder.symlink_to(scene.root)
        return f"{folder}/secret.json"
    for what, lie in (("a link", make_link), ("a linked folder", make_folder),
                      ("through /proc", lambda *_: f"/proc/self/root{secret}"),
                      ("with ..", lambda *_: f"{scene.liar}/../root/secret.json")):
        code, _, err, _ = scene.trigger(lie, "--to", "kino")
        report.equal(f"{what}: refused", (code, text_of(secret), scene.results()), (1, TRACE, []))
    report.check("links stay", link.is_symlink() and folder.is_symlink())

    def own_folder(*_):
        (scene.liar / "real").mkdir()
        (scene.liar / "way").symlink_to(scene.liar / "real")
        return write_own(scene.liar / "way" / "own.json")
    code, _, err, _ = scene.trigger(own_folder, "--to", "kino")
    report.equal("a folder linked by the user: refused, kept", (code, (scene.liar / "real/own.json").exists()), (1, True))
    report.check("it says whose link", f"symbolic link of user {NOBODY}" in err, err)


def test_special(report, scene):
    """A FIFO that nobody writes to, a device, a folder, a path that is none: no waiting, nothing removed."""
    fifo = scene.liar / "fifo.json"

    def make_fifo(*_):
        os.mkfifo(fifo)
        return str(fifo)
    for what, lie in (("a FIFO", make_fifo), ("a device", lambda *_: "/dev/zero"), ("a folder", lambda *_: str(scene.liar)),
                      ("nothing", lambda *_: ""), ("a relative path", lambda *_: "secret.json"), ("the root", lambda *_: "/"),
                      ("absent", lambda *_: f"{scene.liar}/gone.json")):
        code, _, err, _ = scene.trigger(lie, "--to", "kino")
        report.equal(f"{what}: refused at once", (code, scene.results()), (1, []))
    report.check("the FIFO stays", stat.S_ISFIFO(fifo.stat().st_mode))


def exchange(a, b):
    """renameat2 with RENAME_EXCHANGE."""
    return ctypes.CDLL(None, use_errno=True).renameat2(-100, os.fsencode(a), -100, os.fsencode(b), 2)


def test_swapped(report, scene):
    """The folder changes places, all the time, with a link to root's folder that has a file of the same name."""
    secret = scene.secret("trace.json")
    good, bad = scene.liar / "good", scene.liar / "bad"

    def lie(*_):
        if not os.path.lexists(bad):
            good.mkdir()
            bad.symlink_to(scene.root)
        write_own(scene.liar / "new.json")
        os.replace(scene.liar / "new.json", (bad if good.is_symlink() else good) / "trace.json")
        return str(good / "trace.json")

    def swap():
        for _ in range(200):
            exchange(good, bad)
    for _ in range(6):
        scene.trigger(lie, "--to", "kino", after=swap)
    report.equal("swapped: root's file", text_of(secret), TRACE)
    made = scene.results()
    report.check("swapped: results only where they belong", [p.name for p in scene.root.iterdir() if p.name != "secret.json"]
                 == ["trace.json"], list(scene.root.iterdir()))
    for name in made:
        (scene.here / name).unlink()


def test_result_place(report, scene):
    """The name of the result is not the process's to choose, and what waits under it is replaced, not written into."""
    victim = scene.here / "victim.kino"
    victim.write_text("root's own")
    code, _, _, pid = scene.trigger(lambda *_: write_own(scene.liar / "victim.json"), "--to", "kino")
    report.equal("the name is not taken over", (code, text_of(victim)), (0, "root's own"))
    secret = scene.secret("target")

    def plant(request, wanted):
        for name in (f"kino_{request}_{os.getpid()}.kino", f"t_{os.getpid()}.kino"):
            (scene.open / name).symlink_to("/dev/full" if name.startswith("k") else secret)
        return write_own(scene.open / "x.json")
    for output in (scene.open, scene.open / "t.json"):
        for left in scene.open.iterdir():
            left.unlink()
        code, rows, err, pid = scene.trigger(plant, "--to", "kino", "--output", output)
        report.equal(f"planted links: {output.name}", (code, text_of(secret)), (0, TRACE))
    for name in scene.results():
        (scene.here / name).unlink()


def test_gone(report, scene):
    """A process that ended after its report: the daemon knows whose it was."""
    secret = scene.secret()
    path = scene.liar / "last.json"

    def lie_and_die(target, is_written):
        def lie(request, _):
            if is_written:
                write_own(target)
            with d.Client(scene.daemon, version=8) as client:
                client.send(d.report(WRITTEN, request, 1000, os.fsencode(str(target))))
                time.sleep(0.2)
            os._exit(0)
        return lie
    code, _, err, pid = scene.trigger(lie_and_die(path, True), "--to", "kino")
    report.equal("gone: its trace is read", (code, path.exists(), len(scene.results())), (0, False, 1))
    for name in scene.results():
        (scene.here / name).unlink()
    code, _, err, _ = scene.trigger(lie_and_die(secret, False), "--to", "kino")
    report.equal("gone: root's file is not", (code, secret.exists(), scene.results()), (1, True, []))


def test_false_daemon(report, scene):
    """A daemon of an ordinary user, named by root: it speaks for that user's processes alone."""
    secret = scene.secret()
    path = scene.liar / "daemon.sock"
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(8)
        answer = json.dumps({"status": "ok", "request": 1, "matched": 1, "denied": 0, "busy": [], "targets": [
            {"pid": os.getppid(), "rank": None, "uid": 0, "gid": 0, "state": "written", "path": str(secret), "bytes": 9,
             "message": None}]}).encode()
        while True:
            peer, _ = listener.accept()
            with peer:
                if peer.recv(1 << 16):
                    peer.sendall(struct.pack("=i", len(answer)) + answer)
    try:
        d.until(path.exists)
        done = common.run("trigger", "--socket", path, "--all", "--to", "kino", cwd=scene.here)
        report.equal("a false daemon: refused", (done.returncode, secret.exists(), scene.results()), (1, True, []))
        report.check("a false daemon: why", b"the daemon belongs to user" in done.stderr, done.stderr)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_recover(report, scene):
    """Buffers in a user's folder: root's kino recover reads that user's files and nothing behind links."""
    recording = scene.liar / "kino-65534-1-1"
    recording.mkdir()
    os.chown(recording, NOBODY, NOBODY)
    secret = scene.secret()
    for name, make in (("link", lambda path: path.symlink_to(secret)), ("hard link", lambda path: os.link(secret, path)),
                       ("FIFO", os.mkfifo)):
        (recording / "meta").unlink(missing_ok=True)
        make(recording / "meta")
        done = common.run("recover", recording, scene.here / "out.json", timeout=30)
        report.check(f"recover: a {name} is refused", done.returncode == 1 and (b"symbolic link" in done.stderr or
                     b"not owned by" in done.stderr or b"symbolic link" in done.stderr or b"not a recorder directory" in done.stderr), done.stderr)
    report.equal("recover: nothing is made", scene.results(), [])


def test_socket_folder(report, scene):
    """The daemon's socket is not made behind somebody else's link, and its mode is given without its name."""
    trap = scene.open / "trap"
    trap.symlink_to(scene.root)
    os.chown(trap, NOBODY, NOBODY, follow_symlinks=False)
    done = common.run("daemon", "--socket", trap / "daemon.sock", "--abstract", "no", "--socket-dir", scene.open, "--port", "none",
                      "--metrics-interval", 0, timeout=30)
    report.equal("socket: a link of another user is refused", (done.returncode, b"belongs to another user" in done.stderr,
                                                               list(scene.root.iterdir())), (1, True, []))
    for name in ("rpc.sock", "dynolog"):
        report.equal(f"socket: {name} is for everybody", stat.S_IMODE((scene.daemon.folder / name).stat().st_mode), 0o666)
    trap.unlink()


def test_large_answer(report, scene):
    """12 MB of an answer that is nothing but small values: refused, for little memory."""
    path = scene.open / "large.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(8)
    answers = [b'{"status":"ok","request":1,"targets":[' + b"{}," * 4000000 + b"{}]}",
               b'{"status":"ok","request":1,"targets":[' + b"[]," * 4000000 + b"[]]}"]

    def serve():
        while True:
            peer, _ = listener.accept()
            with peer:
                if peer.recv(1 << 16):
                    try:
                        peer.sendall(struct.pack("=i", len(answers[0])) + answers[0])
                    except OSError:
                        pass
    threading.Thread(target=serve, daemon=True).start()
    for _ in range(2):
        process = subprocess.Popen([common.program(), "trigger", "--socket", str(path), "--all"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, cwd=scene.here)
        text = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        report.equal("a large answer: exit code", process.returncode, 1)
        report.check("a large answer: why", b"answer" in text, text[:200])
        report.check("a large answer: memory", usage.ru_maxrss < 400 << 10, f"{usage.ru_maxrss >> 10} MiB")
        answers.reverse()
    listener.close()


def test_own(report, scene):
    """Root's own processes as before: the result is beside the trace."""
    path = scene.root / "own.json"
    code, _, err, _ = scene.trigger(lambda *_: write_own(path), "--to", "kino", uid=0)
    report.equal("own: beside it", (code, path.exists(), (scene.root / "own.kino").exists()), (0, False, True))


TESTS = (test_honest, test_roots_file, test_readable_file, test_links, test_special, test_swapped, test_result_place, test_gone,
         test_false_daemon, test_recover, test_socket_folder,
         test_large_answer, test_own)


def main():
    if os.getuid() != 0:
        common.skip("not root: processes of other users cannot be started, so attacks on root's kino trigger are not tested")
    os.environ["KINO"] = os.path.abspath(common.program())  # it is run in other folders
    report = common.Report()
    for test in TESTS:
        if len(sys.argv) > 1 and test.__name__ not in sys.argv[1:]:
            continue
        with d.Daemon("--metrics-interval", 1, "--metrics-address", "none") as daemon:
            scene = Scene(daemon)
            try:
                test(report, scene)
            finally:
                scene.close()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
