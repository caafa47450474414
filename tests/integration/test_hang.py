#!/usr/bin/env python3
"""Flight-recorder dumps: read as pickle and as JSON, whole, cut and hostile, and who is missing in a hang.

The facts of ../shared/formats/flight_recorder were counted by its author; the other dumps are made here by Python's own pickle."""
import json
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile

KINO = os.environ["KINO"]
SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "shared/formats/flight_recorder"
passed = failed = skipped = 0


def check(what, is_so, seen=""):
    global passed, failed
    if is_so:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {seen}")


def run(*arguments):
    return subprocess.run([KINO, *map(str, arguments)], capture_output=True, text=True, check=False)


def rows(*arguments):
    done = run(*arguments, "--format", "json")
    check(f"{arguments} ends well", done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else None


def table(answer, name):
    found = next(t for t in answer["tables"] if t["name"] == name)
    names = [c["name"] for c in found["columns"]]
    return [dict(zip(names, row)) if isinstance(row, list) else row for row in found["rows"]]


def entry(number, seq, operation, state, group=("0", "default_pg"), **more):
    return {"record_id": number, "process_group": group, "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": number,
            "profiling_name": operation, "time_created_ns": 1_700_000_000_000_000_000 + number * 1_000_000,
            "input_sizes": [[4, 5]], "input_dtypes": ["Float"], "output_sizes": [[4, 5]], "output_dtypes": ["Float"],
            "state": state, "time_discovered_started_ns": None,
            "time_discovered_completed_ns": 1_700_000_000_100_000_000 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": False,
            "frames": [{"name": "step", "filename": "train.py", "line": 7}]} | more


def dump(entries, ranks="[0, 1, 2, 3]"):
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}},
            "pg_status": {"0": {"last_completed_collective": 1}}, "entries": entries}


def write(folder, dumps, protocol=2):
    for rank, one in dumps.items():
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(one, protocol))


def test_planted(folder):
    """A random rank stops at a random collective; the others wait there, and Kino must name both."""
    chance = random.Random(7)
    for number in range(20):
        world, stop = chance.randint(2, 12), chance.randint(1, 30)
        culprit = chance.randrange(world)
        dumps = {}
        for rank in range(world):
            last = stop - 1 if rank == culprit else stop
            entries = [entry(seq - 1, seq, "nccl:all_reduce", "completed" if seq < stop else "started")
                       for seq in range(1, last + 1)]
            if rank != culprit and stop > 10 and chance.random() < .3:
                entries = entries[5:]  # the ring lost them
            dumps[rank] = dump(entries, str(list(range(world))))
        place = folder / f"plant{number}"
        place.mkdir()
        write(place, dumps, chance.choice([2, 3, 4, 5]))
        answer = rows("analyze", "hang", place)
        found = table(answer, "hang") if answer else []
        check(f"planted hang {number}", len(found) == 1 and found[0]["culprits"] == str(culprit) and
              found[0]["seq"] == stop and found[0]["cause"] == "missing", found)


def test_json(folder):
    """JSON has the same entries, without stacks."""
    one = dump([entry(0, 1, "nccl:all_reduce", "completed", duration_ms=1.25), entry(1, 2, "nccl:broadcast", "started")])
    (folder / "nccl_trace_rank_3").write_bytes(pickle.dumps(one, 2))
    plain = json.loads(json.dumps(one))
    for e in plain["entries"]:
        del e["frames"]
    (folder / "dump_3.json").write_text(json.dumps(plain, sort_keys=True))
    query = "SELECT name, ts, dur, args->>'Seq' seq, args->>'State' state, args->>'In msg nelems' n FROM event WHERE ph != 'M' ORDER BY ts"
    a, b = (rows("query", folder / name, query) for name in ("nccl_trace_rank_3", "dump_3.json"))
    check("pickle and JSON have the same entries", a["tables"][0]["rows"] == b["tables"][0]["rows"], (a, b))
    first = table(a, a["tables"][0]["name"])[0]
    check("duration from timing", first["dur"] == 1_250_000 and first["n"] == 20, first)
    done = run("info", folder / "nccl_trace_rank_3")
    check("the rank comes from the name", "rank        3" in done.stdout, done.stdout)


def test_damage(folder):
    """Every length: what is there is read, or the error names the file."""
    whole = pickle.dumps(dump([entry(i, i + 1, "nccl:all_reduce", "completed") for i in range(5)]), 2)
    path, seen = folder / "nccl_trace_rank_0", set()
    for size in range(1, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:size])
        done = run("query", path, "SELECT count(*) FROM event WHERE ph != 'M'", "--format", "csv")
        if done.returncode == 0:
            seen.add(int(done.stdout.split()[1]))
        else:
            check(f"cut at {size}", str(path) in done.stderr and done.returncode > 0, done.stderr)
    check("cut dumps keep their entries", {0, 4} <= seen, seen)


class Call:
    def __reduce__(self):
        return (os.system, ("touch " + str(MARK),))


def test_hostile(folder):
    path = folder / "nccl_trace_rank_0"
    for protocol in (2, 3, 4, 5):
        path.write_bytes(pickle.dumps({"entries": [Call()], "pg_config": {}}, protocol))
        done = run("report", path)
        check(f"calls are refused, protocol {protocol}", done.returncode != 0 and "imports" in done.stderr and "byte" in done.stderr,
              done.stderr)
    check("nothing was run", not MARK.exists())
    laughs = []
    for _ in range(200):
        laughs = [laughs] * 10
    path.write_bytes(pickle.dumps({"entries": laughs, "pg_config": {}}, 2))
    check("shared lists do not multiply", run("info", path).returncode in (0, 1))


def test_samples():
    global skipped
    if not SAMPLES.is_dir():
        print("../shared is not there: the samples are not compared")
        skipped += 1
        return
    count = "SELECT count(*) n, sum(name LIKE '%all_reduce') r, sum(name LIKE '%broadcast') b, sum(name LIKE '%all_gather') g FROM event WHERE ph != 'M'"
    for name in ("gloo_torch213_rank_0", "gloo_torch213_rank_0.json"):
        answer = rows("query", SAMPLES / name, count)
        check(name, list(answer["tables"][0]["rows"][0].values() if isinstance(answer["tables"][0]["rows"][0], dict)
                         else answer["tables"][0]["rows"][0]) == [14, 7, 6, 1], answer["tables"][0]["rows"])
    found = table(rows("analyze", "hang", SAMPLES / "gloo_torch213_rank_0", SAMPLES / "gloo_torch213_rank_1"), "hang")
    check("gloo: rank 1 never joins", len(found) == 1 and found[0]["culprits"] == "1" and found[0]["operation"] == "all_reduce", found)
    answer = rows("analyze", "hang", SAMPLES / "generated_nccl_hang")
    found = table(answer, "hang")
    check("nccl: rank 2 is missing", len(found) == 1 and (found[0]["culprits"], found[0]["group"], found[0]["seq"], found[0]["operation"]) ==
          ("2", "0", 40, "all_reduce") and found[0]["waiting"] == "0, 1, 3", found)
    entries = {}
    for row in table(answer, "hang_ranks"):
        entries[row["rank"]] = entries.get(row["rank"], 0) + row["entries"]
    check("nccl: collectives per rank; rank 0 has a send, rank 3 a receive beside them", entries == {0: 79, 1: 79, 2: 39, 3: 31}, entries)


with tempfile.TemporaryDirectory() as top:
    MARK = pathlib.Path(top) / "ran"
    for test in (test_planted, test_json, test_damage, test_hostile):
        place = pathlib.Path(top) / test.__name__
        place.mkdir()
        test(place)
    test_samples()
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
