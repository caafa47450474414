#!/usr/bin/env python3
"""kino convert to .sqlite: the database, read by Python's own sqlite3, has the rows that kino query shows, with the same types;
the same SQL gives the same answers; and the file is there whole or not at all."""
import decimal
import functools
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from support import common

TABLES = ("event kernel memcpy memset runtime op python annotation memory_event collective arg counter trace track flow step device "
          "metadata string").split()
HIDDEN = {"track": ("process", "events"), "flow": ("name", "from_point", "to_point"), "step": ("event",), "counter": ("event",)}
# Ordered, so that the answers can be compared row by row.
QUERIES = (
    "SELECT cat, count(*), sum(dur), min(ts), max(ts + dur) FROM event GROUP BY cat ORDER BY cat",
    "SELECT name, count(*), sum(dur) FROM kernel GROUP BY name ORDER BY 3 DESC, 1 LIMIT 10",
    "SELECT name, dur FROM event WHERE cat = 'kernel' AND dur > 5000 ORDER BY ts, id LIMIT 20",
    "SELECT k.id, r.id, k.ts - r.ts FROM kernel k JOIN runtime r ON r.trace = k.trace AND r.correlation = k.correlation ORDER BY 1, 2",
    "SELECT o.name, count(*) FROM event e JOIN op o ON o.id = e.parent GROUP BY o.name ORDER BY 2 DESC, 1",
    "SELECT p.name, sum(c.dur) FROM event c JOIN event p ON p.id = c.parent GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "SELECT track, depth, count(*) FROM event GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT id FROM event WHERE ts BETWEEN 1000000 AND 3000000 ORDER BY ts, id",
    "SELECT count(*) FROM event WHERE name LIKE '%Memcpy%' OR name GLOB 'aten::*'",
    "SELECT id FROM event WHERE correlation IS NULL AND external_id IS NOT NULL ORDER BY id",
    "SELECT external_id, count(*) FROM event WHERE external_id IN (1, 2, 5, 100) GROUP BY 1 ORDER BY 1",
    "SELECT typeof(pid), typeof(tid), count(*) FROM event GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT key, type, count(*), count(value) FROM arg GROUP BY key, type ORDER BY key, type",
    "SELECT e.name, a.value FROM arg a JOIN event e ON e.id = a.event WHERE a.key = 'stream' ORDER BY e.id LIMIT 30",
    "SELECT event, count(*), min(key) FROM arg GROUP BY event ORDER BY event",
    "SELECT event FROM arg ORDER BY event DESC LIMIT 20",
    "SELECT json_extract(args, '$.correlation') FROM event WHERE args IS NOT NULL ORDER BY id LIMIT 50",
    "SELECT s.number, count(k.id), sum(k.dur) FROM step s LEFT JOIN kernel k ON k.trace = s.trace AND k.step = s.number GROUP BY 1 ORDER BY 1",
    "SELECT a.name, b.name, count(*) FROM flow f JOIN event a ON a.id = f.from_event JOIN event b ON b.id = f.to_event GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
    "SELECT device, stream, count(*) FROM event GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT kind, sum(bytes), count(*) FROM memcpy GROUP BY kind ORDER BY kind",
    "SELECT t.name, t.kind, count(*) FROM track t JOIN event e ON e.track = t.id GROUP BY t.id ORDER BY t.id",
    "SELECT count(*) FROM event WHERE dur = '5000' OR track = '1'",
)


def exact(value, kind):
    """A value with its SQL type; JSON has big integers as text and one kind of number."""
    if kind == "integer":
        return kind, int(value)
    if kind == "real":
        return kind, float(value)
    return kind, value


def plain(value):
    return float(value) if isinstance(value, decimal.Decimal) else value


def kino_rows(path, sql):
    rows = common.query(path, sql)
    return [row if isinstance(row, list) else list(row.values()) for row in rows]


def typed(row):
    return tuple(exact(value, kind) for value, kind in zip(row[0::2], row[1::2]))


def check_table(report, what, path, database, table, columns, stored):
    wanted = ", ".join(f"+{name}, typeof({name})" for name in columns)  # +: text that is JSON stays text
    from_kino = sorted(map(repr, map(typed, kino_rows(path, f"SELECT {wanted} FROM {table}"))))
    from_file = sorted(map(repr, map(typed, database.execute(f"SELECT {wanted} FROM {stored}"))))
    if not report.equal(f"{what}: rows of {stored}", len(from_file), len(from_kino)):
        return
    different = [pair for pair in zip(from_file, from_kino) if pair[0] != pair[1]]
    report.check(f"{what}: {stored}", not different, f"{len(different)} rows differ, such as {different[:1]}")


@functools.lru_cache(maxsize=None)
def columns_of(table):
    """What `*` shows, in order, as kino query says it."""
    rows = kino_rows(common.ROOT / "tests/data/cli/small.json", f"SELECT name FROM pragma_table_info('{table}')")
    return tuple(row[0] for row in rows)


def check_database(report, what, path, out):
    done = common.run("convert", path, out, "--quiet")
    if not report.equal(f"{what}: exit code", (done.returncode, done.stderr), (0, b"")):
        return
    database = sqlite3.connect(f"file:{out}?mode=ro", uri=True)
    database.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    report.equal(f"{what}: integrity", database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
    for table in TABLES:
        columns = columns_of(table)
        shown = [column[0] for column in database.execute(f"SELECT * FROM {table} LIMIT 0").description]
        report.equal(f"{what}: columns of {table}", tuple(shown), columns)
        check_table(report, what, path, database, table, columns, table)
    for table, columns in HIDDEN.items():
        check_table(report, what, path, database, table, columns, table + "_all")
    for sql in QUERIES:
        report.equal(f"{what}: {sql[:60]}", [list(row) for row in database.execute(sql)], [list(map(plain, row)) for row in kino_rows(path, sql)])
    database.close()


def check_same_bytes(report, path, folder):
    for name, jobs in (("one.sqlite", "1"), ("two.sqlite", "2")):
        common.run("convert", path, folder / name, "--jobs", jobs, "--quiet")
    report.check("the same bytes whatever the threads",
                 (folder / "one.sqlite").read_bytes() == (folder / "two.sqlite").read_bytes())


def start_over_old(path, folder):
    """Starts a conversion over a file that is there, and waits until it has written something."""
    out = folder / "target.sqlite"
    out.write_bytes(b"old")
    process = subprocess.Popen([common.program(), "convert", str(path), str(out)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        if any(file.stat().st_size > 0 for file in folder.glob("target.sqlite.tmp.*")):
            break
        time.sleep(0.001)
    return out, process


def check_killed(report, path, folder):
    out, process = start_over_old(path, folder)
    process.kill()
    process.communicate()
    if report.equal("killed while it wrote", process.returncode, -signal.SIGKILL):
        report.equal("killed: the old file is there", out.read_bytes(), b"old")
    for left in folder.glob("target.sqlite.tmp.*"):
        left.unlink()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what runs in the background
    out, process = start_over_old(path, folder)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    report.check("interrupted: says so", process.returncode != 0 and b"interrupted" in message, f"{process.returncode} {message}")
    report.equal("interrupted: the old file is there and nothing else", [file.name for file in folder.iterdir()], [out.name])
    report.equal("interrupted: the old file is whole", out.read_bytes(), b"old")


def check_full_disk(report, path, folder):
    """A limit on the size of files is what a full disk is."""
    out = folder / "full.sqlite"
    out.write_bytes(b"old")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    done = subprocess.run([common.program(), "convert", str(path), str(out)], capture_output=True, preexec_fn=limit, check=False)
    report.equal("full disk: exit code", done.returncode, 1)
    report.check("full disk: names the file", b"cannot write '" + os.fsencode(out) + b"': " in done.stderr, done.stderr)
    report.equal("full disk: nothing but the old file", [(f.name, f.read_bytes()) for f in folder.iterdir()], [(out.name, b"old")])


def main():
    report = common.Report()
    skipped = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        common.run("demo", folder / "demo", "--ranks", "2", "--steps", "2", "--no-info", "--quiet")
        check_database(report, "demo", folder / "demo", folder / "demo.sqlite")
        for path in sorted((common.ROOT / "tests/data").glob("*/*.json")):
            check_database(report, path.name, path, folder / "data.sqlite")
        real = common.SHARED / "traces"
        if not real.is_dir():
            print("no ../shared/traces: real traces were not compared", file=sys.stderr)
            skipped += 1
        for part in ("hta/h100_bert", "hta/rank_non_gpu", "hta/critical_path_alexnet"):
            if (real / part).is_dir():
                check_database(report, part, real / part, folder / "real.db")
        check_same_bytes(report, folder / "demo", folder)
        common.run("demo", folder / "big", "--ranks", "1", "--size", "15MB", "--no-info", "--quiet")
        for check in (check_killed, check_full_disk):
            (folder / check.__name__).mkdir()
            check(report, folder / "big", folder / check.__name__)
    return report.finish(skipped)


if __name__ == "__main__":
    sys.exit(main())
