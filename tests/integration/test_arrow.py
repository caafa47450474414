#!/usr/bin/env python3
"""Arrow IPC: what `kino convert x.arrow` and x.arrows write, read by pyarrow, has every event with the values that SQL has. Needs pyarrow
(tools/install-python); without it, only the frame of the format is looked at."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

KINO = os.environ["KINO"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "build/python/bin/python"
COLUMNS = {"ph": "ph", "category": "cat", "name": "name", "ts": "ts", "dur": "dur", "rank": "rank", "depth": "depth", "parent": "parent",
           "correlation": "correlation", "step": "step", "track": "track"}
passed = failed = skipped = 0


def check(what, is_so, seen=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {str(seen)[:1500]}")


def run(*arguments):
    done = subprocess.run([KINO, *map(str, arguments)], capture_output=True, check=False, timeout=120)
    check(f"{arguments[0]} ends well", done.returncode == 0, done.stderr)
    return done.stdout


def inputs(folder):
    run("demo", folder / "demo", "--ranks", "3", "--size", "300kB", "--no-info", "--no-progress")
    odd = folder / "odd.json"
    odd.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "name": "käse \U0001f9c0 \"quoted\"", "cat": "cpu_op", "pid": 1, "tid": "näme", "ts": 1.5, "dur": 2},
        {"ph": "X", "cat": "", "pid": 1, "tid": 2, "ts": 2, "dur": 0}, {"ph": "i", "name": "", "pid": "p", "tid": 2, "ts": 3},
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]}))
    return [folder / "demo", odd, ROOT / "tests/data/memory_snapshot/one_segment.pickle", ROOT / "tests/data/cli/small.json"]


def expected(path):
    """Of each event by its id, what SQL says."""
    answer = json.loads(run("query", path, f"SELECT id, {', '.join(COLUMNS.values())} FROM event", "--format", "json"))
    return {row[0]: dict(zip(COLUMNS, row[1:])) for row in (list(r.values()) if isinstance(r, dict) else r for r in answer["tables"][0]["rows"])}


def test_frame(path, folder):
    """What the specification says of the first and last bytes."""
    run("convert", path, folder / "a.arrow")
    data = (folder / "a.arrow").read_bytes()
    size = struct.unpack("<i", data[-10:-6])[0]
    check("file: magic at both ends", data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1")
    check("file: the end of the stream stands before the footer", data[-10 - size - 8:-10 - size] == b"\xff\xff\xff\xff\0\0\0\0")
    run("convert", path, folder / "a.arrows")
    stream = (folder / "a.arrows").read_bytes()
    check("stream: the file without its frame", data[8:8 + len(stream)] == stream)
    at, messages = 0, 0
    while stream[at:at + 8] != b"\xff\xff\xff\xff\0\0\0\0":
        mark, length = struct.unpack("<Ii", stream[at:at + 8])
        check("messages are aligned", mark == 0xffffffff and length % 8 == 0 and at % 8 == 0, (at, mark, length))
        if mark != 0xffffffff:
            return
        root = at + 8 + struct.unpack("<I", stream[at + 8:at + 12])[0]
        vtable = root - struct.unpack("<i", stream[root:root + 4])[0]
        place = struct.unpack("<H", stream[vtable + 10:vtable + 12])[0]  # of the field bodyLength
        at += 8 + length + struct.unpack("<q", stream[root + place:root + place + 8])[0]
        messages += 1
    check("messages", messages > 2 and at + 8 == len(stream), (messages, at, len(stream)))
    for name in ("a.arrow", "a.arrows"):
        (folder / name).unlink()


READ = """
import gzip, json, sys, pyarrow as pa, pyarrow.ipc
path = sys.argv[1]
if path.endswith(".arrow"):
    reader = pa.ipc.open_file(path)
    table = reader.read_all()
    batches = reader.num_record_batches
else:
    reader = pa.ipc.open_stream(gzip.open(path).read() if path.endswith(".gz") else open(path, "rb").read())
    table = reader.read_all()
    batches = len(table.to_batches())
table.validate(full=True)
print(json.dumps({"rows": table.to_pylist(), "types": {f.name: str(f.type) for f in table.schema}, "batches": batches,
                  "metadata": {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()},
                  "units": {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}}))
"""


def test_values(path, folder, traces):
    wanted = expected(path)
    for name in ("b.arrow", "b.arrows", "b.arrows.gz"):
        run("convert", path, folder / name)
        done = subprocess.run([VENV, "-c", READ, folder / name], capture_output=True, text=True, check=False, timeout=120)
        check(f"{path.name}: pyarrow reads {name}", done.returncode == 0, done.stderr[-800:])
        (folder / name).unlink()
        if done.returncode:
            continue
        seen = json.loads(done.stdout)
        found = {row["id"]: {key: row[key] for key in COLUMNS} for row in seen["rows"]}
        check(f"{path.name}: {name}", found == wanted and len(seen["rows"]) == len(wanted),
              next(((found.get(k), v) for k, v in wanted.items() if found.get(k) != v), len(found)))
        check(f"{path.name}: a batch for each trace", seen["batches"] == traces, seen["batches"])
        check(f"{path.name}: types", seen["types"]["ts"] == "int64" and seen["types"]["name"].startswith("dictionary<values=string, indices=int32"), seen["types"])
        check(f"{path.name}: units and origin", seen["units"]["dur"] == "ns" and seen["metadata"]["kino.table"] == "events", seen["metadata"])


with tempfile.TemporaryDirectory() as top:
    has_library = VENV.exists() and subprocess.run([VENV, "-c", "import pyarrow"], capture_output=True, check=False).returncode == 0
    for number, path in enumerate(inputs(pathlib.Path(top))):
        test_frame(path, pathlib.Path(top))
        if has_library:
            test_values(path, pathlib.Path(top), 3 if number == 0 else 1)
    if not has_library:
        print("pyarrow is not there (tools/install-python): values are not compared")
        skipped += 1
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
