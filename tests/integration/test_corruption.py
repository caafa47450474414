#!/usr/bin/env python3
"""Corrupt, hostile and impossible inputs: no crash, no hang, bounded memory, and a message that names the file when it fails."""
import concurrent.futures
import fcntl
import gzip
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import termios
import threading
import time

from support import common

TIMEOUT = 60
MEMORY = 300 << 20  # beside the bytes of the file itself, which are mapped
CORRUPTIONS = 200
SQL = "SELECT count(*), max(ts), count(args), max(length(args)) FROM event"
SQL_LARGE = "SELECT count(*), max(ts) FROM event"  # without arguments: SQLite has no room for 1 GB
GIGABYTE = 1 << 30


def measure(arguments, stdin=subprocess.DEVNULL):
    """Exit code (None: took too long), messages, peak memory in bytes."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([common.program(), *map(str, arguments)], stdin=stdin, stdout=subprocess.DEVNULL, stderr=errors)
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timed_out = not timer.is_alive()
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        message = errors.read().decode("utf-8", "replace")
    return None if timed_out else process.returncode, message, usage.ru_maxrss * 1024


def check(report, what, path, codes=(0, 1), file_bytes=None, stdin=subprocess.DEVNULL, label=None, sql=SQL):
    code, message, memory = measure(["query", path, sql, "--jobs", "2"], stdin)
    if not report.check(f"{what}: exit code", code in codes, f"{'took too long' if code is None else code}: {message[:200]}"):
        return code
    if file_bytes is None:
        file_bytes = os.path.getsize(path)
    report.check(f"{what}: memory", memory < MEMORY + file_bytes, f"{memory >> 20} MB")
    if code == 1:
        name = label or os.path.basename(path)
        last = message.rstrip("\n").rsplit("\n", 1)[-1]  # warnings may stand before it
        is_clear = last.startswith("kino: ") and name in last and "warning" not in last
        report.check(f"{what}: message", is_clear, message[:300])
    return code


def corrupt(data, kind, generator):
    data = bytearray(data)
    at = generator.randrange(len(data))
    if kind == "truncate":
        del data[at:]
    elif kind == "flip":
        for _ in range(generator.randrange(1, 20)):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    elif kind == "delete":
        del data[at:at + generator.randrange(1, 1 + generator.choice((3, 100, 10000)))]
    elif kind == "insert":
        data[at:at] = generator.randbytes(generator.choice((1, 3, 100, 5000)))
    elif kind == "structure":
        for _ in range(generator.randrange(1, 6)):
            at = generator.randrange(len(data))
            data[at:at] = generator.choice((b'"', b"{", b"}", b"[", b"]", b",", b"\\", b":", b"NaN", b"\0", b'{"ph"', b"\xff\xfe"))
    elif kind == "repeat":
        data[at:at] = data[at:at + 3000]
    return bytes(data)


KINDS = ("truncate", "flip", "delete", "insert", "structure", "repeat")


def check_corruptions(report, folder, name, data, suffix):
    def one(number):
        generator = random.Random(f"{name} {number}")
        kind = KINDS[number % len(KINDS)]
        path = folder / f"{name}-{number}{suffix}"
        path.write_bytes(corrupt(data, kind, generator))
        check(report, f"{name} {kind} {number}", path, sql=SQL if number % 4 == 0 else SQL_LARGE)
        path.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(CORRUPTIONS)))


def check_nesting(report, folder):
    deep = 100000
    event = b'{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":1,"args":%s}'
    texts = {
        "arrays in arguments": b"[" + event % (b'{"a":' + b"[" * deep + b"]" * deep + b"}") + b"]",
        "objects in arguments": b"[" + event % (b'{"a":' * deep + b"1" + b"}" * deep) + b"]",
        "open arrays in arguments": b"[" + event % (b'{"a":' + b"[" * deep),
        "arrays at the top": b"[" * deep + b"]" * deep,
        "open arrays at the top": b"[" * deep,
        "objects at the top": b'{"a":' * deep + b"1" + b"}" * deep,
        "open objects at the top": b'{"a":' * deep,
        "objects as events": b'{"traceEvents":[' + b'{"ph":' * deep + b'"X"' + b"}" * deep + b"]}",
        "metadata": b'{"m":' + b"[" * deep + b"]" * deep + b',"traceEvents":[' + event % b"{}" + b"]}",
        "quotes": b'{"traceEvents":[' + (event % b'{"k":"a"b"}' + b",") * 20000 + b"]}",
        "commas": b'{"traceEvents":[' + b"," * deep + b"]}",
        "starts": b"[" + b'{"ph"' * deep,
    }
    for what, text in texts.items():
        for suffix in ("", ".gz"):
            path = folder / f"deep.json{suffix}"
            path.write_bytes(gzip.compress(text, 1) if suffix else text)
            check(report, f"nesting: {what}{suffix}", path, file_bytes=len(text))


def check_large_string(report, folder):
    head, tail = b'[{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":1,"args":{"a":"', b'"}}]'
    block = b"a" * (1 << 24)
    packed = folder / "large.json.gz"
    with open(packed, "wb") as file:  # many members make one text
        file.write(gzip.compress(head, 1) + gzip.compress(block, 1) * (GIGABYTE // len(block)) + gzip.compress(tail, 1))
    check(report, "one string of 1 GB, compressed", packed, sql=SQL_LARGE)
    with open(packed, "wb") as file:
        file.write(gzip.compress(bytes(1 << 24), 1) * (GIGABYTE >> 24))
    check(report, "1 GB of zeros, compressed", packed, codes=(1,), sql=SQL_LARGE)
    with open(packed, "wb") as file:
        file.write(gzip.compress(b"[", 1) + gzip.compress(b" " * (1 << 24), 1) * (GIGABYTE >> 24))
    check(report, "1 GB of spaces, compressed", packed, sql=SQL_LARGE)
    packed.unlink()
    if shutil.disk_usage(folder).free < 4 * GIGABYTE:
        print("no room for a file of 1 GB: left out", file=sys.stderr)
        return
    plain = folder / "large.json"
    with open(plain, "wb") as file:
        file.write(head)
        for _ in range(GIGABYTE // len(block)):
            file.write(block)
        file.write(tail)
    check(report, "one string of 1 GB", plain, sql=SQL_LARGE)
    plain.unlink()
    sparse = folder / "sparse.json"
    with open(sparse, "wb") as file:
        file.write(b"[")
        file.truncate(GIGABYTE)
    check(report, "1 GB of zeros behind a bracket", sparse, sql=SQL_LARGE)
    sparse.unlink()


def check_odd_files(report, folder, trace):
    empty = folder / "empty.json"
    empty.write_bytes(b"")
    check(report, "an empty file", empty, codes=(1,))
    inner = folder / "folder.json"
    inner.mkdir()
    check(report, "an empty folder", inner, codes=(1,))
    check(report, "a file that is not there", folder / "missing.json", codes=(1,), file_bytes=0)
    check(report, "/dev/null", "/dev/null", codes=(1,), file_bytes=0)
    check(report, "/dev/zero", "/dev/zero", codes=(1,), file_bytes=0)
    binary = folder / "binary.json"
    binary.write_bytes(random.Random(7).randbytes(1 << 20))
    check(report, "binary", binary, codes=(1,))
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        path = folder / f"{encoding}.json"
        path.write_bytes(trace.decode().encode(encoding))
        check(report, encoding, path, codes=(1,))
    for magic in (b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", b"PK\x03\x04"):
        path = folder / "magic.json"
        path.write_bytes(magic)
        check(report, f"only the magic {magic!r}", path, codes=(1,))
    path = folder / "secret.json"
    path.write_bytes(trace)
    path.chmod(0)
    if os.geteuid() != 0:
        check(report, "a file without permission", path, codes=(1,))
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)


def check_pipes(report, folder, trace):
    fifo = folder / "fifo.json"
    os.mkfifo(fifo)
    check(report, "a pipe that nobody writes to", fifo, codes=(1,), file_bytes=0)

    def feed(descriptor):
        while descriptor is None:  # comes after the reader
            try:
                descriptor = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(descriptor, True)
            except OSError:  # ENXIO: no reader yet
                time.sleep(0.01)
        with open(descriptor, "wb") as file:
            file.write(trace)
            file.flush()
            while int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder):
                time.sleep(0.01)  # whoever closes before it has been read takes it along

    early = os.open(fifo, os.O_RDWR)  # never waits for the other side
    for what, descriptor in (("a pipe with a writer", early), ("a pipe whose writer comes late", None)):
        writer = threading.Thread(target=feed, args=(descriptor,), daemon=True)
        writer.start()
        check(report, what, fifo, codes=(0,), file_bytes=len(trace))
        writer.join(TIMEOUT)
    path = folder / "stdin.json"
    path.write_bytes(trace)
    with open(path, "rb") as file:
        check(report, "a file as standard input", "-", codes=(0,), file_bytes=len(trace), stdin=file, label="-")
    done = subprocess.run([common.program(), "query", "-", SQL, "--quiet"], input=trace, capture_output=True, timeout=TIMEOUT, check=False)
    report.equal("a pipe as standard input", done.returncode, 0)
    check(report, "nothing as standard input", "-", codes=(1,), file_bytes=0, label="")


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = common.run("demo", folder / "demo", "--ranks", "1", "--steps", "2", "--no-info", "--quiet")
        report.equal("kino demo", done.returncode, 0)
        demo = next((folder / "demo").glob("**/*.json")).read_bytes()
        check_odd_files(report, folder, demo)
        check_pipes(report, folder, demo)
        check_nesting(report, folder)
        check_large_string(report, folder)
        check_corruptions(report, folder, "demo", demo, ".json")
        check_corruptions(report, folder, "packed demo", gzip.compress(demo, 6, mtime=0), ".json.gz")
        real = common.SHARED / "traces/hta/cuda_event_sync/event_sync_trace.json.gz"
        if real.exists():
            check_corruptions(report, folder, "real", common.read_bytes(real), ".json")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
