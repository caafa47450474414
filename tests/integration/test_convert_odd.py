#!/usr/bin/env python3
"""kino convert on what is rare: odd events come back as they were, damaged input gives valid output, and threads and
compression change nothing. (test_roundtrip.py does the same for whole real traces.)"""
import collections
import gzip
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from decimal import Decimal

KINO = os.environ.get("KINO", "")
failures = []
sys.setrecursionlimit(20000)  # for comparable(), not for the output: json.tool runs with the default

# Everything that is not in the usual columns: unknown keys, string and wide ids, texts where numbers are usual, digits below
# a nanosecond, pairs (nested, with arguments on either end, unmatched), escapes, no arguments, no name, no tid.
ODD = r"""[
{"ph": "X", "name": "a", "cat": "c", "pid": 1, "tid": 2, "ts": 1.0005, "dur": 0.00001, "args": {}},
{"ph": "X", "name": "b", "pid": "1", "tid": "two", "ts": "12.5", "dur": 3, "extra": {"k": [1, 2.50]}, "args": {"x": 1e2}},
{"ph": "X", "name": "\u00e9\n\"q\" \\ \ud83d\ude00", "cat": "new \u0001 cat", "pid": -7, "tid": 1.5, "ts": 1e3, "dur": 0},
{"ph": "B", "name": "outer", "pid": 1, "tid": 9, "ts": 10, "args": {"begin": 1}},
{"ph": "B", "name": "inner", "pid": 1, "tid": 9, "ts": 11, "color": "red"},
{"ph": "E", "pid": 1, "tid": 9, "ts": 12, "args": {"end": 2}},
{"ph": "E", "name": "outer", "pid": 1, "tid": 9, "ts": 13.25},
{"ph": "E", "pid": 1, "tid": 10, "ts": 1},
{"ph": "B", "pid": 1, "tid": 11, "ts": 1},
{"ph": "s", "id": 18446744073709551615, "pid": 1, "tid": 2, "ts": 1, "name": "f"},
{"ph": "f", "id": "0x1f", "pid": 1, "tid": 2, "ts": 2, "name": "f", "bp": "e"},
{"ph": "f", "id": -3, "pid": 1, "tid": 2, "ts": 2, "name": "f", "bp": "x"},
{"ph": "b", "id": 12345678901, "pid": 1, "tid": 2, "ts": 2, "name": "async", "cat": "io"},
{"ph": "X", "id": 5, "pid": 1, "tid": 2, "ts": 2, "dur": 1, "name": "span with id"},
{"ph": "i", "s": "p", "pid": 1, "ts": 5, "name": "instant"},
{"ph": "I", "s": "zzz", "pid": 1, "tid": 1, "ts": 5},
{"ph": "C", "pid": 1, "tid": 1, "ts": 5, "name": "counter", "args": {"": 1.5, "v": 2}},
{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "p"}},
{"ph": "M", "pid": 1, "tid": 0, "ts": null, "name": "thread_name", "args": {"name": "t"}},
{"ph": "X", "pid": 1, "tid": 1, "ts": 5, "dur": null, "name": null},
{"ph": "X", "pid": {"a": 1}, "tid": null, "ts": 5, "dur": 1, "args": 5},
{"ph": "X", "pid": 1, "tid": 1, "ts": -5.001, "dur": 1, "name": "before zero", "args": {"External id": 99999999999, "correlation": -1}}
]"""

DAMAGED = [
    b'{"traceEvents": [{"ph": "X", "name": "a\tb\\q\xff", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"x": N/A, "y": NaN, "z": , }},]',
    b'{"rank": , "bad": [1, 2, "traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}',
    b'[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"deep": ' + b"[" * 5000 + b"]" * 5000 + b"}}]",
    b'[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"long": ' + b"9" * 6000 + b"}},\n",
    b'[{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"s": "\x00\x1f\\u12"}}]',
]


def check(held, what):
    if not held:
        failures.append(what)


def comparable(value):
    if isinstance(value, dict):
        return "object", tuple(sorted((k, comparable(v)) for k, v in value.items()))
    if isinstance(value, list):
        return "array", tuple(comparable(v) for v in value)
    if isinstance(value, Decimal):
        return "number", value.normalize()
    return type(value).__name__, value


def parse(text):
    document = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    if isinstance(document, list):
        return True, {}, collections.Counter(map(comparable, document))
    events = collections.Counter(map(comparable, document.pop("traceEvents")))
    return False, {k: comparable(v) for k, v in document.items()}, events


def convert(path, out, *options):
    done = subprocess.run([KINO, "convert", str(path), str(out), "--quiet", *options], stderr=subprocess.PIPE)
    check(done.returncode == 0, f"{path}: exit {done.returncode}, {done.stderr.decode(errors='replace').strip()}")
    return done.returncode == 0


def read(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


def check_same(path, folder, is_damaged=False):
    out, again = folder / "out.json", folder / "again.json"
    if not convert(path, out):
        return
    want = None if is_damaged else parse(read(path).decode("utf-8"))  # else only the output must be sound
    got = parse(out.read_text(encoding="utf-8"))
    if want:
        check(got[0] == want[0], f"{path}: form")
        check(got[1] == want[1], f"{path}: metadata")
        check(got[2] == want[2], f"{path}: lost {list((want[2] - got[2]))[:2]}, made up {list((got[2] - want[2]))[:2]}")
    if convert(out, again):
        check(again.read_bytes() == out.read_bytes(), f"{path}: writing twice is not the same")


def check_compressed(path, folder):
    plain, packed = folder / "plain.json", folder / "packed.json.gz"
    if convert(path, plain) and convert(path, packed):
        check(gzip.decompress(packed.read_bytes()) == plain.read_bytes(), "gzip output differs")
    if convert(path, folder / "packed.json.zst") and convert(folder / "packed.json.zst", folder / "from-zst.json"):
        check((folder / "from-zst.json").read_bytes() == plain.read_bytes(), "zstd output differs")
    if convert(path, folder / "one.json", "--jobs", "1") and convert(path, folder / "three.json", "--jobs", "3"):
        check((folder / "one.json").read_bytes() == (folder / "three.json").read_bytes(), "threads change the output")


def halves():
    """Spans as B and E, nested, with names and arguments on some ends: what damage tears apart."""
    events = []
    for tid in range(3):
        ts = iter(range(10, 30))
        for i in range(6):
            events.append({"ph": "B", "name": f"n{i}", "cat": "c", "pid": 1, "tid": tid, "ts": next(ts), "args": {"a": i}})
            if i % 2:
                events.append({"ph": "E", "name": f"n{i}", "pid": 1, "tid": tid, "ts": next(ts), "args": {"b": i}})
        events += [{"ph": "E", "pid": 1, "tid": tid, "ts": next(ts)} for _ in range(3)]
    return ('{"traceEvents":[\n' + ",\n".join(map(json.dumps, events)) + "\n]}").encode()


def mutant(text, seed):
    """One to four places changed, cut out, put in, or written again elsewhere."""
    chance, data, signs = random.Random(seed), bytearray(text), b'{}[]",:0123456789abcENX \\\n-.'
    for _ in range(chance.randint(1, 4)):
        at, kind = chance.randrange(len(data)), chance.randrange(4)
        if kind == 0:
            data[at] = chance.choice(signs)
        elif kind == 1:
            del data[at:at + chance.randint(1, 8)]
        elif kind == 2:
            data[at:at] = bytes(chance.choice(signs) for _ in range(chance.randint(1, 4)))
        else:
            source = chance.randrange(len(data))
            data[at:at] = data[source:source + chance.randint(1, 30)]
    return bytes(data)


TORN = [  # a label that repaired is another track's; arguments that are no object, behind events from which the layout is known
    halves().replace(b'"tid": 1, "ts": 11', b'"tid"::1, "ts": 11'),
    halves().replace(b'"tid": 2, "ts": 18, "args": {"b": 5}}', b'"tid": 2, "ts": 18, "args": : 0, "ts": 19},\n{{"b": 5}}'),
    halves().replace(b'"pid": 1, "tid": 0, "ts": 13', b'"pid": 1 2, "tid": N/A, "ts": 13'),
]


def spans_of(path):
    """How many events there are, how many spans among them, and how long these are together; None: it is not a trace."""
    done = subprocess.run([KINO, "query", str(path), "SELECT count(*), sum(dur IS NOT NULL), sum(dur) FROM event", "--format", "csv", "--quiet"],
                          capture_output=True)
    return done.stdout.splitlines()[1:] if done.returncode == 0 else None


def check_torn(folder):
    """What was read of damaged halves of spans is what is written, and read again."""
    path, text = folder / "torn.json", halves()
    for name, data in [(f"torn {i}", data) for i, data in enumerate(TORN)] + [(f"mutant {seed}", mutant(text, seed)) for seed in range(12)]:
        path.write_bytes(data)
        want = spans_of(path)
        check(want or name.startswith("mutant"), f"{name} is not read")
        for out in (folder / "torn-out.json", folder / "torn-out.kino"):
            if want and convert(path, out):
                check(spans_of(out) == want, f"{name} as {out.suffix}: {want} became {spans_of(out)}")


def main():
    if not KINO:
        print("skipped: KINO is not set")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        odd = folder / "odd-input.json"
        odd.write_text(ODD, encoding="utf-8")
        check_same(odd, folder)
        check_torn(folder)
        for i, data in enumerate(DAMAGED):
            path = folder / f"damaged-{i}.json"
            path.write_bytes(data)
            check_same(path, folder, is_damaged=True)
            tool = subprocess.run([sys.executable, "-m", "json.tool", str(folder / "out.json"), os.devnull], stderr=subprocess.PIPE)
            check(tool.returncode == 0, f"json.tool refuses damaged-{i}: {tool.stderr.decode().strip().splitlines()[-1:]}")
        subprocess.run([KINO, "demo", str(folder / "demo"), "--ranks", "1", "--no-info", "--quiet"], check=True)
        check_same(folder / "demo" / "rank-0.json", folder)
        check_compressed(folder / "demo" / "rank-0.json", folder)
    for failure in failures[:20]:
        print("FAIL", failure[:1000])
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
