#!/usr/bin/env python3
"""Small files that would become large in memory: compressed text, columns of equal values, joins of equal correlations, marks on nested calls.
Each is refused with a reason before it costs anything; what is like a real trace is read; --memory allows more."""
import gzip
import json
import pathlib
import resource
import sys
import tempfile

from support import common, peak, serve

MIB = 1 << 20
EVENT = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1}'


def write_repeated(path, count, opener=gzip.open):
    """Equal events: gzip makes a byte of three hundred."""
    block = b",\n".join([EVENT % 1] * 10000) + b",\n"
    with opener(path, "wb") as file:
        file.write(b'{"traceEvents":[\n')
        for _ in range(count // 10000):
            file.write(block)
        file.write(EVENT % 2 + b"\n]}")


def compressed(report, folder):
    bomb = folder / "bomb.json.gz"
    write_repeated(bomb, 2000000)  # 0.5 MB, which become 140
    for arguments in (("info", bomb), ("report", bomb), ("query", bomb, "SELECT 1"), ("convert", bomb, folder / "out.kino"), ("check", bomb),
                      ("analyze", "overview", bomb), ("diff", bomb, bomb)):
        done = peak.run(*arguments, "--quiet")
        report.check(f"{arguments[0]} refuses the bomb", done.code == 1 and b"expand to more than 64 MiB; raise the limit with --memory SIZE" in done.err
                     and str(bomb).encode() in done.err, done)
        report.check(f"{arguments[0]} in little memory", done.peak < 200 * MIB, done)
    report.check("nothing is left", not (folder / "out.kino").exists() and not list(folder.glob("*.tmp.*")))
    done = peak.run("info", bomb, "--quiet", "--memory", "2GB")
    report.check("--memory allows it", done.code == 0 and b"2,000,001" in done.out, done)
    columns = folder / "bomb.kino"
    done = peak.run("convert", bomb, columns, "--quiet", "--memory", "2GB")
    report.check("as .kino it is even smaller", done.code == 0 and columns.stat().st_size < 200000, done)
    for arguments in (("info", columns), ("report", columns), ("analyze", "call-graph", columns), ("query", columns, "SELECT count(*) FROM event")):
        done = peak.run(*arguments, "--quiet")
        report.check(f"{arguments[0]} refuses the columns", done.code == 1 and b"expand to more than 64 MiB" in done.err, done)
        report.check(f"{arguments[0]} of columns in little memory", done.peak < 100 * MIB, done)
    done = peak.run("query", columns, "SELECT count(*) FROM event", "--quiet", "--memory", "2GB", "--format", "csv")
    report.check("--memory allows the columns", done.code == 0 and b"2000001" in done.out, done)
    with serve.Server(bomb) as server:
        error = server.get("info").json()["error"]
        hint = error["hint"]
        report.equal("the server says in fields what to do", (hint["code"], hint["subject"], hint["value"]), ("option", "memory", "SIZE"))
        report.equal("and where the message says it", error["message"].encode()[hint["at"]:][:hint["size"]], b"memory=SIZE")
    # Beside good traces in a folder it is left out, with a warning.
    run = folder / "run"
    run.mkdir()
    bomb.rename(run / "rank-1.json.gz")
    write_repeated(run / "rank-0.json", 10000, open)
    done = peak.run("info", run)
    report.check("a bomb beside others", done.code == 0 and b"left out" in done.err and done.peak < 200 * MIB, done)
    with serve.Server(run) as server:
        report.equal("the server loads the others", server.get("info").status, 200)


def real_ratio(report, folder):
    """A hundred times its size and 64 MiB are free: what compresses thirty times is far from that."""
    path = folder / "large.json.gz"
    with gzip.open(path, "wb", 6) as file:
        file.write(b'{"traceEvents":[\n')
        for i in range(0, 1000000, 10000):
            file.write(b",\n".join(EVENT % (17 * j + j * j % 101) for j in range(i, i + 10000)) + (b",\n" if i < 990000 else b"\n]}"))
    done = peak.run("info", path, "--quiet")
    report.check("much text is read", done.code == 0 and b"1,000,000" in done.out, done)


def budget(report, folder):
    """What goes beyond the memory that a command may use is an error like others, whoever set the limit."""
    path = folder / "plain.json"
    write_repeated(path, 1000000, open)
    done = peak.run("convert", path, folder / "plain.kino", "--quiet", "--memory", "30MB")
    report.check("--memory is a limit", done.code == 1 and b"out of memory" in done.err and b"hint: the memory limit is" in done.err, done)
    report.check("of what it uses", done.peak < 200 * MIB, done)
    report.check("and leaves nothing", not list(folder.glob("plain.kino*")))
    for arguments in (("report", path), ("analyze", "call-graph", path), ("info", path)):
        done = peak.run(*arguments, "--quiet", limits=[(resource.RLIMIT_DATA, 40 * MIB)])
        report.check(f"{arguments[0]} within a limit of the system", done.code == 1 and b"out of memory" in done.err, done)


def joins(report, folder):
    """HTA pairs every call with every kernel of its correlation: 5,000 with 5,000 here."""
    for steps in (0, 3):
        events = []
        for i in range(5000):
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10 + i, "dur": 1, "args": {"correlation": 7}})
            events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20 + i, "dur": 1,
                           "args": {"correlation": 7, "stream": 7, "device": 0}})
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": 1 + i * 5100, "dur": 5090} for i in range(steps)]
        path = folder / f"equal-{steps}.json"
        path.write_text(json.dumps({"traceEvents": events}))
        listed = json.loads(common.run("analyze", "--list", "--format", "json").stdout)["tables"][0]
        names = [row[0] for row in listed["rows"]]
        report.check("there are analyses", len(names) > 20, names)
        refused = set()
        for name in names:
            done = peak.run("analyze", name, path, "--compat", "hta", "--quiet", "--format", "json", "--output", folder / "out")
            report.check(f"{name}, {steps} steps: memory", done.peak < 300 * MIB, done)
            if b"correlations are not unique" in done.err:
                report.check(f"{name}, {steps} steps: an error", done.code == 1, done)
                refused.add(name)
        report.check(f"launch-stats, {steps} steps", "launch-stats" in refused, refused)
        report.check(f"relatives, {steps} steps", steps == 0 or {"temporal-breakdown", "queue-length", "idle-time"} <= refused, refused)
        done = peak.run("analyze", "launch-stats", path, "--quiet")
        report.check("without --compat it is answered", done.code == 0, done)
        with serve.Server(path) as server:
            answer = server.get("analyses/launch-stats", compat="hta")
            report.check("the server refuses", answer.status in (422, 504) and b"correlations are not unique" in answer.body, answer.body[:200])
            peak_kib = int(next(line for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmHWM")).split()[1])
            report.check("and stays small", peak_kib < 300 * 1024, peak_kib)


def marks(report, folder):
    """Every event below a call gets the names of all its kernels."""
    count = 4000
    events = [{"ph": "X", "cat": "cpu_op", "name": f"op{i % 50}", "pid": 1, "tid": 1, "ts": i, "dur": 4 * count - 2 * i} for i in range(count)]
    for i in range(count):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": count + i, "dur": 1, "args": {"correlation": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": f"kernel{i % 20}", "pid": 0, "tid": 7, "ts": count + 5 + i, "dur": 1,
                       "args": {"correlation": i + 1, "stream": 7, "device": 0}})
    path, out = folder / "nested.json", folder / "marked.json"
    path.write_text(json.dumps({"traceEvents": events}))
    done = peak.run("convert", path, out, "--kernel-sequences", "op", "--quiet")
    report.check("long sequences on many events", done.code == 1 and b"would add" in done.err and done.peak < 100 * MIB and not out.exists(), done)


def main():
    report = common.Report()
    for test in (compressed, real_ratio, budget, joins, marks):
        with tempfile.TemporaryDirectory() as name:
            test(report, pathlib.Path(name))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
