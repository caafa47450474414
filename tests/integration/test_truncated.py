#!/usr/bin/env python3
"""A trace that is cut off while it is being read: every command ends with an error that names the file, and leaves nothing half done."""
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from support import common, serve

WAIT_S = 60  # ends what would never end


def is_mapped(pid, path):
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            return any(line.rstrip("\n").endswith(str(path)) for line in maps)
    except OSError:
        return False


def cut_while_reading(report, what, source, folder, *arguments):
    """Stops the program as soon as it has mapped the file, cuts the file off, and lets it go on."""
    path = folder / source.name
    for _ in range(20):
        shutil.copyfile(source, path)
        process = subprocess.Popen([common.program(), *(str(path) if a is None else str(a) for a in arguments), "--quiet"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + WAIT_S
        while process.poll() is None and not is_mapped(process.pid, path) and time.monotonic() < until:
            pass
        if process.poll() is None:
            process.send_signal(signal.SIGSTOP)
            os.truncate(path, 4096)
            process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=WAIT_S)
        if process.returncode != 0:
            break  # 0: it was done already
    expected = f"kino: cannot read '{path}': it was truncated while it was being read\n"
    report.check(what, process.returncode == 1 and errors.decode() == expected, f"exit {process.returncode}, {errors[-300:]}")
    rest = sorted(p.name for p in folder.iterdir() if p != path)
    report.equal(f"{what}: nothing is left", rest, [])
    path.unlink()


def cut_while_writing(report, source, folder):
    """Arguments are read from the file when they are written: the pipe is full, the file shrinks, the rest cannot come."""
    for arguments in (("convert", None, "-", "--to", "json"), ("query", None, "SELECT args FROM event", "--format", "csv")):
        path = folder / source.name
        shutil.copyfile(source, path)
        process = subprocess.Popen([common.program(), *(str(path) if a is None else a for a in arguments), "--quiet"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(1)
        os.truncate(path, 4096)
        _, errors = process.communicate(timeout=WAIT_S)
        report.check(f"{arguments[0]} while it writes", process.returncode == 1 and str(path).encode() in errors and b"truncated while" in errors,
                     f"exit {process.returncode}, {errors[-300:]}")


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        serve.make_demo(folder / "demo", "--ranks", "1", "--size", "20MB")
        plain = folder / "demo" / "rank-0.json"
        packed, own = folder / "rank-0.json.gz", folder / "rank-0.kino"
        packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
        common.run("convert", plain, own, "--quiet")
        work = folder / "work"
        work.mkdir()
        for arguments in (("info", None), ("report", None), ("check", None), ("analyze", "overview", None), ("query", None, "SELECT sum(dur) FROM event"),
                          ("convert", None, work / "out.json.gz"), ("convert", None, work / "out.kino"), ("convert", None, work / "out.sqlite"),
                          ("cut", None, work / "out.json", "--steps", "1-2"), ("report", None, "--output", work / "out.txt"),
                          ("diff", None, plain)):
            cut_while_reading(report, " ".join(str(a) for a in arguments[:2] if a), plain, work, *arguments)
        for source in (packed, own):
            cut_while_reading(report, f"info {source.suffix}", source, work, "info", None)
        cut_while_writing(report, plain, work)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
