#!/usr/bin/env python3
"""Databases of Nsight Systems and nvprof: what they hold becomes the right events, every analysis and writer takes them, secrets stay
where they are, and damaged or hostile files are read in bounded time, or refused with a reason, without a byte written."""
import hashlib
import json
import os
import pathlib
import random
import resource
import sqlite3
import struct
import subprocess
import sys
import tempfile

from support import common, serve
from support.nsys_database import Database, global_tid, write_large

FORMATS = common.ROOT.parent / "shared/formats/nsys"
PYPROF = common.ROOT.parent / "shared/traces/pyprof"
COUNT = "select cat, count(*), sum(dur) from event where ph <> 'M' group by 1"
CPU_S, MEMORY = 20, 1 << 30  # for a file of a few kilobytes


def launched(path, where="1"):
    """Kernels whose correlation is that of a call; no two calls share one in these files."""
    return common.query(path, f"select count(distinct k.id) from kernel k join runtime r on r.correlation = k.correlation where {where}")[0][0]


def counts(path):
    return {cat: (count, total) for cat, count, total in common.query(path, COUNT)}


# -- facts that were counted by others

def test_facts(report):
    """../shared/formats/nsys/README.md."""
    if not FORMATS.is_dir():
        print("not compared: no ../shared/formats/nsys")
        report.skipped += 1
        return
    windows = FORMATS / "real_2026.2_pytorch_windows.sqlite"
    got = counts(windows)
    report.equal("windows: kernels", got["kernel"], (4485, 34869183))
    report.equal("windows: ranges", got["user_annotation"][0], 180)
    report.equal("windows: calls", got["cuda_runtime"][0] + got["cuda_driver"][0], 6628)
    report.equal("windows: sets and waits", (got["gpu_memset"][0], got["cuda_sync"][0]), (130, 124))
    report.equal("windows: copies", common.query(windows, "select name, count(*), sum(bytes) from memcpy group by 1"),
                 [["Memcpy HtoD (Pageable -> Device)", 113, 514520064]])
    report.equal("windows: each kernel has its launch", launched(windows), 4485)
    report.equal("windows: the most expensive name",
                 common.query(windows, "select name, count(*), sum(dur) from kernel group by 1 order by 3 desc limit 1"),
                 [["ampere_sgemm_128x64_tn", 425, 21847478]])
    report.equal("windows: when kernels ran", common.query(windows, "select max(ts + dur) - min(ts) from kernel"), [[7095691182 - 6413002719]])

    h100 = FORMATS / "real_2026.2_h100_2gpu_1s.sqlite"
    got = counts(h100)
    report.equal("h100: kernels", got["kernel"], (3442, 44829522))
    report.equal("h100: kernels with a launch", launched(h100), 1632)
    report.equal("h100: ranges", got["cpu_op"][0] + got.get("user_annotation", (0, 0))[0], 16782)
    report.equal("h100: copies", sorted(common.query(h100, "select substr(name, 8, 4), count(*), sum(bytes) from memcpy group by 1"))[2][:3],
                 ["HtoD", 450, 50950507584])
    report.equal("h100: devices", common.query(h100, "select distinct device from kernel order by 1"), [[0], [1]])

    # 256 blocks of 192 threads with 32 registers on 76 multiprocessors of 1536 threads: 256/76 = 3.37 blocks of the 8 that fit, 42 %
    report.equal("windows: occupancy", common.query(windows, "select distinct occupancy from kernel where grid = '[256, 1, 1]' and block = '[192, 1, 1]' and registers = 32"), [[42]])

    graph = FORMATS / "real_2024.6_cudagraph.sqlite"
    report.equal("graph: eager kernels", common.query(graph, "select count(*), sum(dur) from kernel where name not like 'CUDA graph%'"), [[30, 78270]])
    report.equal("graph: replays with their launch", launched(graph, "k.name = 'CUDA graph 4' and r.name = 'cudaGraphLaunch'"), 10)

    dlprof = FORMATS / "real_2022.1_dlprof_pytorch.sqlite"
    got = counts(dlprof)
    report.equal("dlprof: kernels", got["kernel"], (59, 589147))
    report.equal("dlprof: copies and ranges", (got["gpu_memcpy"][0], got["user_annotation"][0] + got.get("cpu_op", (0, 0))[0]), (13, 166))
    report.equal("dlprof: streams", common.query(dlprof, "select count(distinct stream) from kernel"), [[2]])


def test_pyprof(report):
    if not PYPROF.is_dir():
        print("not compared: no ../shared/traces/pyprof")
        report.skipped += 1
        return
    for name in ("nsys_lenet_classic", "nsys_lenet_modern"):
        got = counts(PYPROF / f"{name}.sqlite")
        report.equal(f"{name}: kernels, calls, copies, waits", tuple(got[cat][0] for cat in ("kernel", "cuda_runtime", "gpu_memcpy", "cuda_sync")), (33, 35, 1, 1))
        marks = name.endswith("modern")
        report.equal(f"{name}: ranges", got["cpu_op"][0] + got["user_annotation"][0], 67 + marks)
    same = "select cat, name, dur, sequence_number from op order by ts, name"
    report.equal("the old and the new schema have the same ops", common.query(PYPROF / "nsys_lenet_modern.sqlite", same),
                 common.query(PYPROF / "nsys_lenet_classic.sqlite", same))
    nvprof = PYPROF / "nvprof_simple.sqlite"
    got = counts(nvprof)
    report.equal("nvprof: kernels, calls of both tables", (got["kernel"][0], got["cuda_runtime"][0], got["cuda_driver"][0]), (15, 12, 3))
    report.equal("nvprof: ranges", got["user_annotation"][0] + got["cpu_op"][0], 32)
    report.equal("nvprof: each kernel has its launch", launched(nvprof), 15)


def test_nvprof(report, folder):
    """What the small sample does not have: mangled names, an end before its start in the file, copies, a marker that never ends."""
    path = folder / "made.nvprof.sqlite"
    thread = struct.pack("<iq", 9, 0x7f00fffffffb)
    tables = {"StringTable": "_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL",
              "Version": "_id_ INTEGER PRIMARY KEY, version INT",
              "CUPTI_ACTIVITY_KIND_MARKER": "_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, domain INT",
              "CUPTI_ACTIVITY_KIND_RUNTIME": "_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT, returnValue INT",
              "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": "_id_ INTEGER PRIMARY KEY, start INT, end INT, deviceId INT, streamId INT, correlationId INT, name INT",
              "CUPTI_ACTIVITY_KIND_MEMCPY": "_id_ INTEGER PRIMARY KEY, copyKind INT, srcKind INT, dstKind INT, bytes INT, start INT, end INT, deviceId INT, streamId INT, correlationId INT"}
    rows = {"StringTable": [(1, "_Z3addIfEvPT_i"), (2, "aten::add, seq = 7"), (3, "plain"), (4, "open")],
            "CUPTI_ACTIVITY_KIND_MARKER": [(1, 4, 90, 1, 2, thread, 0, 0), (2, 2, 10, 1, 2, thread, 2, 0), (3, 2, 20, 2, 2, thread, 4, 0), (4, 1, 30, 3, 2, thread, 3, 0)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [(1, 211, 40, 50, 9, -5, 1, 0), (2, 41, 51, 52, 9, -5, 2, 0), (3, 9999, 53, 54, 9, -5, 3, 0)],
            "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": [(1, 60, 70, 0, 7, 1, 1), (2, 71, 72, 0, 7, 9, 3)],
            "CUPTI_ACTIVITY_KIND_MEMCPY": [(1, 2, 3, 1, 1000, 80, 120, 0, 7, 2)]}
    raw_database(path, *(f"CREATE TABLE {name} ({columns})" for name, columns in tables.items()),
                 *(f"INSERT INTO {name} VALUES ({', '.join('x' + chr(39) + v.hex() + chr(39) if isinstance(v, bytes) else repr(v) for v in row)})"
                   for name, values in rows.items() for row in values))
    report.equal("nvprof: names are demangled", common.query(path, "select name from kernel order by ts"), [["void add<float>(float*, int)"], ["plain"]])
    report.equal("nvprof: a kernel without a launch stays", launched(path), 1)
    report.equal("nvprof: the op around the launch", common.query(path, "select o.name, o.sequence_number, o.dur from op o join runtime r on r.tid = o.tid and r.correlation = 1 "
                                                                        "where o.ts <= r.ts and o.ts + o.dur >= r.ts"), [["aten::add", 7, 80]])
    report.equal("nvprof: a range without an end", common.query(path, "select ts, dur, args from annotation where name = 'open'"), [[10, 100, {"finished": False}]])
    report.equal("nvprof: calls by number", common.query(path, "select name from runtime order by ts"), [["cudaLaunchKernel"], ["cudaMemcpyAsync"], ["runtime call 9999"]])
    report.equal("nvprof: copies", common.query(path, "select name, bytes, bandwidth_gb_s from memcpy"), [["Memcpy DtoH (Device -> Pageable)", 1000, 25]])


# -- everything works on them

def samples():
    return sorted(FORMATS.glob("*.sqlite")) + sorted(PYPROF.glob("*.sqlite")) if FORMATS.is_dir() else []


def test_everything(report, folder, paths):
    listed = json.loads(common.run("analyze", "--list", "--format", "json").stdout)
    analyses = [row[0] for row in listed["tables"][0]["rows"]]
    report.check("there are analyses", len(analyses) > 20)
    for path in paths:
        for analysis in analyses:
            done = common.run("analyze", analysis, path, "--format", "json", "--quiet")
            # 0: answered; 1 with a reason: needs something that the trace does not have, or an argument
            ended_well = done.returncode == 0 or (done.returncode in (1, 2) and done.stderr.startswith(b"kino: "))
            report.check(f"{path.name}: analyze {analysis}", ended_well, f"exit {done.returncode}: {done.stderr[:200]}")
        report.equal(f"{path.name}: report", common.run("report", path, "--format", "json", "--quiet").returncode, 0)
        for suffix in (".json", ".kino", ".json.gz", ".csv", ".sqlite"):
            out = folder / f"out{suffix}"
            report.equal(f"{path.name}: convert to {suffix}", common.run("convert", path, out, "--quiet").returncode, 0)
            if suffix == ".json":
                # typed values of the database and the text they become are read in two ways
                for table in ("op", "kernel", "runtime", "memcpy"):
                    asked = f"select * from {table} order by id"
                    report.equal(f"{path.name}: {table} as JSON", common.query(out, asked), common.query(path, asked))
                pairs = [json.loads(common.run("analyze", "fwd-bwd", source, "--format", "json", "--quiet").stdout or "{}").get("tables") for source in (path, out)]
                report.check(f"{path.name}: backward ops as JSON", pairs[0] and pairs[0] == pairs[1], str(pairs)[:300])
            if suffix in (".json", ".kino"):
                report.equal(f"{path.name}: the same events in {suffix}", counts(out), counts(path))
            out.unlink(missing_ok=True)
    if paths:
        with serve.Server(paths[0]) as server:
            report.equal("serve lists it", len(server.get("runs").json()["runs"]), 1)
            report.equal("serve loads it", server.get("timeline/tracks").status, 200)


# -- a planted truth

def plant(path):
    """Two processes, interleaved, with the same correlations, on one device and stream; kernels run in another order than they were
    launched in; a graph whose nodes were captured under two ranges. Returns {kernel name: (pid of its launch, op or range)}."""
    db = Database(path)
    truth = {}
    threads = {pid: global_tid(pid, pid + 1) for pid in (100, 200)}
    for step in range(8):
        for pid, thread in threads.items():
            start = step * 10000 + (pid == 200) * 700
            name = f"kernel_{pid}_{step}"
            db.range(thread, start, start + 5000, f"aten::op_{pid}_{step}, seq = {step}, op_id = {step + 1}")
            db.range(thread, start + 100, start + 4000, f"layer:{pid}.{step}")
            db.call(thread, start + 200, start + 300, step + 1)
            stream = 7 + step % 2
            ran = 200000 - step * 1000 + (pid == 200) * 500  # the last launched runs first
            db.kernel(thread, ran, ran + 300, step + 1, name, stream=stream)
            truth[name] = (pid, f"aten::op_{pid}_{step}")
    thread = threads[100]
    db.range(thread, 90000, 90100, "aten::captured_a, seq = 20, op_id = 30")
    db.range(thread, 90200, 90300, "captured_b")
    for number, time, original in ((1, 90050, None), (2, 90250, None), (11, 95000, 1), (12, 95001, 2)):
        db.add("CUDA_GRAPH_NODE_EVENTS", start=time, end=time, globalTid=thread, graphNodeId=5 << 32 | number,
               originalGraphNodeId=None if original is None else 5 << 32 | original)
    for replay in range(2):
        db.call(thread, 300000 + replay * 1000, 300100 + replay * 1000, 50 + replay, "cudaGraphLaunch_v10000")
        for number, name in ((11, "node_a"), (12, "node_b")):
            db.kernel(thread, 400000 + replay * 1000 + number, 400010 + replay * 1000 + number, 50 + replay, name, node=5 << 32 | number)
    db.close()
    return truth


def test_truth(report, folder):
    path = folder / "planted.sqlite"
    truth = plant(path)
    report.equal("kernels of two processes, out of order", attributed(path), truth)
    report.equal("each process has rows of its own",
                 common.query(path, "select count(distinct track) from kernel where name like 'kernel%'"), [[4]])
    report.equal("and streams that are numbers", common.query(path, "select distinct stream from kernel order by 1"), [[7], [8]])
    nodes = common.query(path, "select k.name, o.name, r.name from kernel k join event o on o.external_id = k.external_id and o.cat in ('cpu_op', 'user_annotation') "
                               "join runtime r on r.correlation = k.correlation where k.name like 'node%' order by k.ts")
    report.equal("nodes of a graph belong to what they were captured under", nodes,
                 [["node_a", "aten::captured_a", "cudaGraphLaunch"], ["node_b", "captured_b", "cudaGraphLaunch"]] * 2)
    out = folder / "planted.json"
    common.run("convert", path, out, "--quiet")
    report.equal("and still do as JSON", attributed(out), truth)
    out.unlink()


def attributed(path):
    """{kernel: (process that launched it, op around the launch)}"""
    rows = common.query(path, "select k.name, r.pid, o.name from kernel k join runtime r on r.correlation = k.correlation "
                              "join op o on o.pid = r.pid and o.tid = r.tid and o.ts <= r.ts and o.ts + o.dur >= r.ts + r.dur where k.name like 'kernel%'")
    return {name: (int(pid), op) for name, pid, op in rows}


# -- secrets, and nothing written

SECRET = "hf_abcdefSECRETtoken0123456789"


def test_secrets(report, folder):
    path = folder / "secret.sqlite"
    db = Database(path)
    thread = global_tid(100, 101)
    db.call(thread, 0, 10, 1)
    db.kernel(thread, 20, 30, 1, "k")
    db.add("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value=f"HF_TOKEN={SECRET}")
    db.string(f"HOME=/root\0HF_TOKEN={SECRET}\0")
    db.add("PROCESSES", globalPid=global_tid(100), pid=100, name=f"/usr/bin/python3 train.py --token {SECRET}")
    db.close()
    before = {entry.name: entry.stat().st_mtime_ns for entry in folder.iterdir()}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    shown = b""
    for arguments in (("info", path, "--format", "json"), ("report", path, "--format", "json"), ("query", path, "select * from event"),
                      ("query", path, "select * from arg"), ("check", path)):
        shown += common.run(*arguments).stdout
    report.check("the answers are not empty", b"python3" in shown)
    report.equal("nothing was written", {entry.name: entry.stat().st_mtime_ns for entry in folder.iterdir()}, before)
    report.equal("nor changed", hashlib.sha256(path.read_bytes()).hexdigest(), digest)
    for suffix in (".json", ".kino", ".sqlite", ".csv"):
        out = folder / f"told{suffix}"
        common.run("convert", path, out, "--quiet")
        shown += out.read_bytes()
        out.unlink()
    report.check("no token in anything that was shown or written", SECRET.encode() not in shown)
    report.check("nor the command line", b"train.py" not in shown)
    db = Database(folder / "private.sqlite")
    db.range(thread, 0, 100, f"training of {SECRET}")
    db.call(thread, 10, 20, 1)
    db.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="secret-host")
    db.close()
    common.run("convert", folder / "private.sqlite", folder / "private.json", "--redact", "--quiet")
    told = (folder / "private.json").read_text()
    report.check("--redact takes texts of ranges and the host", SECRET not in told and "secret-host" not in told and "cudaLaunchKernel" in told)


# -- damage

def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def read_limited(path, *arguments):
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    return subprocess.run([common.program(), *(arguments or ("info", str(path), "--format", "json", "--jobs", "1"))], capture_output=True, check=False,
                          env=environment, timeout=120, preexec_fn=None if "asan" in common.program() else limited)


def test_damage(report, folder, sources):
    generator = random.Random(18)
    path = folder / "damaged.sqlite"
    for source in sources:
        data = source.read_bytes()
        cases = [("cut", data[:int(len(data) * share)]) for share in (0.0001, 0.01, 0.1, 0.5, 0.9, 0.999)]
        for _ in range(6):
            changed = bytearray(data)
            for _ in range(1 + len(data) // 20000):
                changed[generator.randrange(100, len(data))] = generator.randrange(256)
            cases.append(("changed", bytes(changed)))
        cases.append(("zeros", data[:4096] + bytes(4096) + data[8192:]))
        for what, damaged in cases:
            path.write_bytes(damaged)
            done = read_limited(path)
            said = done.returncode == 0 or done.stderr.startswith(b"kino: ")
            report.check(f"{source.name}, {what}: read or refused", done.returncode in (0, 1) and said, f"exit {done.returncode}: {done.stderr[:200]}")
    path.unlink(missing_ok=True)


def refuse(report, what, path, *words):
    done = read_limited(path)
    text = done.stderr.decode("utf-8", "replace")
    report.check(f"{what}: refused", done.returncode == 1 and all(word in text for word in words), f"exit {done.returncode}: {text[:300]}")


def raw_database(path, *statements):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_refused(report, folder):
    path = folder / "odd.sqlite"
    path.write_bytes(b"")
    refuse(report, "an empty file", path, "empty")
    path.write_bytes(b"SQLite format 3\0")
    refuse(report, "the magic alone", path, "header")
    raw_database(path, "CREATE TABLE cats (name TEXT)")
    refuse(report, "a database of something else", path, "not of a profiler")
    raw_database(path, "CREATE TABLE rocpd_metadata_ab (tag TEXT)")
    refuse(report, "rocpd", path, "rocpd")
    raw_database(path, "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
                 "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n")
    refuse(report, "a view without end", path, "CUPTI_ACTIVITY_KIND_KERNEL", "view")
    raw_database(path, "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)", "CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(text)")
    refuse(report, "a virtual table", path, "NVTX_EVENTS")
    path.write_bytes(b"NVIDIA Tegra Profiler Report 2026@2@1" + bytes(100))
    refuse(report, "a report that was not exported", path, "nsys export --type sqlite")
    own = folder / "own.sqlite"
    source = folder / "source.sqlite"
    plant(source)
    common.run("convert", source, own, "--quiet")
    refuse(report, "our own database", own, "kino convert")


def test_hostile(report, folder):
    path = folder / "hostile.sqlite"
    path.unlink(missing_ok=True)
    db = Database(path)
    thread = global_tid(1, 2)
    db.call(thread, 0, 10, 1)
    db.kernel(thread, 20, 30, 1, "k")
    db.range(thread, 0, 100, "x" * (40 << 20))
    db.add("NVTX_EVENTS", start=1, end=5, eventType=59, text="blob", globalTid=thread, domainId=0, binaryData=bytes(30 << 20))
    db.db.execute("CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_KERNEL BEGIN DELETE FROM StringIds; END")
    db.close()
    done = read_limited(path)
    report.check("huge texts and blobs", done.returncode == 0, done.stderr[:300])
    report.check("what is sound is there", common.query(path, "select count(*) from kernel") == [[1]])

    # every row of a table is the same cell: events out of proportion to the file
    path.unlink()
    db = Database(path)
    for i in range(20000):
        db.call(thread, i, i + 1, i)
    db.close()
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        if data[page * 4096] == 13:
            count = struct.unpack_from(">H", data, page * 4096 + 3)[0]
            first = data[page * 4096 + 8:page * 4096 + 10]
            data[page * 4096 + 8:page * 4096 + 8 + 2 * count] = first * count
    path.write_bytes(data)
    report.check("rows that are one", read_limited(path).returncode in (0, 1))

    # an inner page that is its own child
    for page in range(1, len(data) // 4096):
        if data[page * 4096] == 5:
            struct.pack_into(">I", data, page * 4096 + 8, page + 1)
            cells = struct.unpack_from(">H", data, page * 4096 + 3)[0]
            for cell in range(cells):
                at = page * 4096 + struct.unpack_from(">H", data, page * 4096 + 12 + 2 * cell)[0]
                struct.pack_into(">I", data, at, page + 1)
    path.write_bytes(data)
    report.check("pages in a circle", read_limited(path).returncode in (0, 1))


def test_locked(report, folder):
    """A writer has the file: what is there is read, and the reader says that there is more; it neither waits nor writes."""
    path = folder / "locked.sqlite"
    path.unlink(missing_ok=True)
    db = Database(path)
    thread = global_tid(1, 2)
    db.call(thread, 0, 10, 1)
    db.close()
    writer = sqlite3.connect(path)
    writer.execute("BEGIN EXCLUSIVE")
    writer.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid) VALUES (5, 6, ?)", (thread,))
    before = sorted(entry.name for entry in folder.iterdir())
    done = common.run("check", path, "--format", "json")
    report.check("a locked file is read, and said to be unfinished", b"unfinished" in done.stdout, done.stdout[:300] + done.stderr[:300])
    report.equal("nothing appears beside it", sorted(entry.name for entry in folder.iterdir()), before)
    writer.rollback()
    writer.close()


# -- cost

def instructions_free_time(path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = common.run("query", path, "select count(*) from kernel", "--jobs", "1", timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_cost(report, folder):
    """CPU time grows with the file: exponent at most 1.1 from 50,000 to 500,000 kernels, with room for a busy machine."""
    if os.environ.get("KINO_TIER") != "all" or "asan" in common.program():
        return
    times = []
    for kernels in (50000, 500000):
        path = folder / f"{kernels}.sqlite"
        write_large(path, kernels)
        times.append(min(instructions_free_time(path) for _ in range(3)))
        path.unlink()
    report.check("ten times the kernels, about ten times the time", times[1] / times[0] < 10 ** 1.1 * 1.3, str(times))


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_facts(report)
        test_pyprof(report)
        test_nvprof(report, folder)
        test_truth(report, folder)
        test_secrets(report, folder)
        test_refused(report, folder)
        test_hostile(report, folder)
        test_locked(report, folder)
        planted = folder / "planted.sqlite"
        everything = os.environ.get("KINO_TIER") == "all"
        test_everything(report, folder, [planted, *(samples() if everything else [])])
        test_damage(report, folder, [planted, *(samples() if everything else samples()[:1])])
        test_cost(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
