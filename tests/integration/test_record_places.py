#!/usr/bin/env python3
"""Where kino record puts things: traces to devices and pipes, nothing beside them; its own folders, which a recorder that is
killed leaves behind and one that is ended does not."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common, recorder  # noqa: E402
from test_record import build_nvtx, named, open_trace, ranges, record, report  # noqa: E402


def read_pipe(path, wait=0.0):
    """A reader of a pipe, on its own process: what it reads goes to path.read. It begins to read after some seconds."""
    script = "import sys, time; f = open(sys.argv[1], 'rb'); time.sleep(float(sys.argv[2])); open(sys.argv[1] + '.read', 'wb')" \
             ".write(f.read())"
    return subprocess.Popen([sys.executable, "-c", script, path, str(wait)])


def check_places(folder, program):
    """A device, a pipe: written to as they are, and nothing appears beside them."""
    place = folder / "places"
    place.mkdir()
    for name, command, wanted in (("one", [program, "ticks", "3", "0"], 3),
                                  ("two.json", ["sh", "-c", f"'{program}' ticks 2 0; '{program}' ticks 4 0"], 6)):
        pipe = place / name
        os.mkfifo(pipe)
        reader = read_pipe(pipe)
        deadline = time.monotonic() + 20
        while True:  # until the reader is there
            code, _, err = record("--sampling", "off", "-o", pipe, "--", *command)
            if "has no reader" not in err or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        reader.wait(timeout=30)
        report.check(f"a pipe: {name}", code == 0 and "next:" not in err and pipe.is_fifo(), (code, err))
        trace = folder / ("piped.json" if "." in name else "piped.kino")
        (place / f"{name}.read").rename(trace)
        if trace.suffix == ".kino":
            report.equal(f"it is a .kino file: {name}", common.run("convert", trace, folder / "one.json").returncode, 0)
            trace = folder / "one.json"
        report.equal(f"a pipe gets one trace: {name}", len(ranges(open_trace(trace))), wanted)
        code, _, err = record("-o", pipe, "--", "echo", "has run")
        report.check(f"nobody reads it: {name}", code == 1 and f"cannot write '{pipe}': the pipe has no reader" in err, err)
    report.equal("nothing appears beside a pipe", sorted(p.name for p in place.iterdir()), ["one", "two.json"])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "socket"))
        code, out, err = record("-o", place / "socket", "--", "echo", "has run")
        report.check("a socket is refused, before the program runs", (code, out) == (1, "") and "is a socket" in err, err)
    code, _, err = record("--sampling", "off", "-o", "/dev/full", "--", program, "ticks", "3", "0", env={"KINO_DIR": str(place)})
    report.check("a device that takes nothing", code == 1 and "no space left" in err.lower(), (code, err))
    report.check("a device stays, and nothing appears beside it", pathlib.Path("/dev/full").is_char_device() and
                 not pathlib.Path("/dev/full.kino").exists())
    for kept in place.glob("kino-record-*"):  # the trace could not be written
        shutil.rmtree(kept)
    with open(folder / "redirected", "wb") as out:
        for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/x.kino"):
            done = subprocess.run([common.program(), "record", "-o", path, "--", "true"], stdout=out, stderr=subprocess.PIPE,
                                  check=False)
            report.check(f"{path} is no place for a file", done.returncode == 1 and b"reserved for the system" in done.stderr, done)
    code, _, err = record("-o", "/dev/stdout", "--", "true")
    report.check("standard output by another name", code == 1 and "standard output belongs to the program" in err, (code, err))


def leave_work(folder, program):
    """A recorder that is killed while it records; the program's number."""
    run = subprocess.Popen([common.program(), "record", "--sampling", "off", "-o", folder / "out.kino", "--", program, "wait"],
                           stdout=subprocess.PIPE, env=dict(os.environ, KINO_DIR=str(folder), TMPDIR=str(folder)))
    report.equal("it runs", run.stdout.readline(), b"ready\n")
    child = int(pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8").split()[0])
    run.kill()
    run.wait(timeout=30)
    run.stdout.close()
    return child


def check_killed(folder, program):
    """What a recorder that was killed leaves: said by the next, made a trace by kino recover."""
    folder = folder / "killed"
    folder.mkdir()
    env = {"KINO_DIR": str(folder), "TMPDIR": str(folder)}
    child = leave_work(folder, program)
    work, samples = sorted(folder.iterdir())
    time.sleep(3.1)  # what is a moment old may be somebody's who has just begun
    _, _, err = record("--sampling", "off", "--", "true", env=env)
    remove = f"'rm -r {work} {samples}' to remove it"
    report.check("its program still runs: said", f"(process {child} is still running and writing to it)" in err and remove in err, err)
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        _, _, err = record("--sampling", "off", "--", "true", env=env)
        if "still running" not in err:
            break
    recover = f"found an unfinished earlier recording: use 'kino recover {work} OUT' to recover it (without samples), or {remove}"
    report.check("what was left is said, with what to do", recover in err, err)
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in work.rglob("*"))
    done = common.run("recover", work, folder / "back.json")
    report.check("kino recover takes it", done.returncode == 0 and b"process %d" % child in done.stderr, done.stderr)
    report.equal("with what was recorded", len(named(open_trace(folder / "back.json"), "doomed")), 1)
    report.equal("and leaves it as it is", sorted((str(p), p.lstat().st_mtime_ns) for p in work.rglob("*")), before)
    done = common.run("recover", work, f"{folder / 'all'}/", "--to", "json.gz")
    files = [p.name.split(".", 1)[1] for p in (folder / "all").iterdir()]
    found = common.run("query", folder / "all", "select count(*) from event where name = 'doomed'", "--format", "csv").stdout
    report.equal("into a folder", (done.returncode, files, found.split()[1:]), (0, ["json.gz"], [b"1"]))
    shutil.rmtree(folder / "all", ignore_errors=True)
    done = common.run("recover", work, "-", "--to", "chrome-json")
    report.check("not to standard output", done.returncode == 2 and b"several traces" in done.stderr, done.stderr)
    run = subprocess.Popen([common.program(), "record", "--sampling", "off", "--", "sleep", "30"],
                           env=dict(os.environ, **env), stderr=subprocess.DEVNULL)
    time.sleep(3.1)
    shutil.rmtree(work)
    shutil.rmtree(samples)
    _, _, err = record("--sampling", "off", "--", "true", env=env)
    report.check("one that runs is not left", str(folder) not in err, err)
    run.terminate()
    run.wait(timeout=30)
    report.equal("ended by a signal: nothing is left", [p for p in folder.iterdir() if p.is_dir()], [])


def check_signals(folder, program):
    """Signals while the trace is written, to a pipe whose reader takes its time."""
    for name, seconds, count, numbers in (("soon", 0.0, 300000, (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)),
                                          ("later", 1.5, 300000, (signal.SIGTERM,) * 4)):
        place = folder / f"signals-{name}"
        place.mkdir()
        pipe = place / "pipe.json"
        os.mkfifo(pipe)
        reader = read_pipe(pipe, 2 * seconds + 3)
        hold = os.open(pipe, os.O_WRONLY)  # the reader is there
        run = subprocess.Popen([common.program(), "record", "--sampling", "off", "-o", pipe, "--", "sh", "-c",
                                f"'{program}' ticks {count} 0; echo done"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(os.environ, KINO_DIR=str(place), TMPDIR=str(place)))
        report.equal(f"{name}: the program is done", run.stdout.readline(), b"done\n")
        time.sleep(seconds + 0.4)  # the shell has ended
        for number in numbers:  # those that come before it listens do nothing
            run.send_signal(number)
            time.sleep(seconds / len(numbers))
        os.close(hold)
        _, err = run.communicate(timeout=60)
        reader.wait(timeout=60)
        if name == "soon":
            (place / "pipe.json.read").rename(place / "whole.json")
            found = len(ranges(open_trace(place / "whole.json")))
            report.equal("signals that end a whole job do not spoil the trace", (run.returncode, found), (0, count))
        else:
            report.check("a signal later ends it", run.returncode == 1 and b"interrupted" in err, (run.returncode, err))
        report.equal(f"{name}: nothing is left", [p for p in place.iterdir() if p.is_dir()], [])


def main():
    recorder.library("libkino_inject.so")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = build_nvtx(folder, "nvtx")
        if not report.failures:
            check_places(folder, program)
            check_killed(folder, program)
            check_signals(folder, program)
    return report.finish(0)


if __name__ == "__main__":
    sys.exit(main())
