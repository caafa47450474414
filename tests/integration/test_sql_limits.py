#!/usr/bin/env python3
"""SQL that means no good: values, rows and sorts without end, functions that run for hours, statements that grow while they are prepared. Each
ends by itself, with a reason, within its memory; `--timeout`, Ctrl+C and SIGTERM are heard whatever runs."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from support import common, peak, serve

MIB = 1 << 20
LONG = "hex(zeroblob(4000000))"  # eight million zeros
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
# What would run for hours on values of any length: today refused or done at once.
BOUNDED = {
    "instr of huge values": ("SELECT instr(zeroblob(100000000), zeroblob(50000000) || 'x')", "a value is longer than the limit"),
    "instr": (f"SELECT instr({LONG}, hex(zeroblob(2000000)) || '1')", None),
    "replace": (f"SELECT length(replace({LONG}, hex(zeroblob(2000000)) || '1', 'x'))", None),
    "like": (f"SELECT {LONG} LIKE '%' || hex(zeroblob(20000)) || '1'", "LIKE or GLOB are too long"),
    "glob": (f"SELECT {LONG} GLOB '*' || hex(zeroblob(20000)) || '1'", "LIKE or GLOB are too long"),
    "like with escape": (f"SELECT {LONG} LIKE '%' || hex(zeroblob(20000)) || '1' ESCAPE '!'", "too long"),
    "trim": (f"SELECT length(trim({LONG}, hex(randomblob(1000000))))", "arguments of trim are too long"),
    "printf, precision": ("SELECT printf('%.*c', 2000000000, 'x')", "a value is longer than the limit"),
    "printf, width": ("SELECT printf('%2000000000s', 'x')", "a value is longer than the limit"),
    "json_patch": ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) SELECT length(json_patch("
                   "json_group_object('a' || i, i), json_group_object('b' || i, i))) FROM n", "arguments of json_patch are too long"),
    "a long row": ("SELECT " + ", ".join(["zeroblob(250000000)"] * 20), "a value is longer than the limit"),
    "a row of long values": ("SELECT " + ", ".join(["zeroblob(16000000)"] * 20), "a row is longer than the limit"),
    "common tables, doubled 60 times": ("WITH a0 AS (SELECT 1 x), " + ", ".join(f"a{i} AS (SELECT 1 x FROM a{i-1} p, a{i-1} q)" for i in range(1, 60)) +
                                        " SELECT * FROM a59", "more memory than its limit"),
    "many functions": ("SELECT 1 IN (" + ", ".join(["length(hex(randomblob(4000000)))"] * 3000) + ")", "more than 2000 functions"),
}
# What never ends: the time limit is heard.
STOPPED = {
    "random bytes": ENDLESS + "SELECT sum(length(hex(randomblob(8000000)))) FROM n",
    "searches": ENDLESS + f"SELECT sum(instr(x, 'y' || i)) FROM n, (SELECT {LONG} AS x)",
    "concatenation": ENDLESS + "SELECT length(group_concat(i % 2)) FROM n",
    "a sort": ENDLESS + "SELECT i, randomblob(1000) AS b FROM n ORDER BY b",
}


def on_the_command_line(report, trace):
    for what, (sql, reason) in BOUNDED.items():
        done = peak.run("query", trace, sql, "--quiet")
        if reason:
            report.check(f"{what}: refused", done.code == 1 and reason.encode() in done.err, done)
        else:
            report.check(f"{what}: done", done.code == 0, done)
        report.check(f"{what}: memory", done.peak < 1700 * MIB, done)
        report.check(f"{what}: one line", done.err.count(b"\n") <= 1, done)
    for what, sql in STOPPED.items():
        done = peak.run("query", trace, sql, "--quiet", "--timeout", "0.3")
        report.check(f"{what}: time limit", done.code == 1 and b"time limit of 0.3 s reached" in done.err, done)
        report.check(f"{what}: memory", done.peak < 1700 * MIB, done)
    done = peak.run("query", trace, ENDLESS + "SELECT i, randomblob(1000000) AS b FROM n ORDER BY b", "--quiet", "--memory", "200MB")
    report.check("memory that was given", done.code == 1 and b"limit of 200000000 bytes" in done.err and done.peak < 400 * MIB, done)
    done = peak.run("query", trace, "SELECT length(zeroblob(100000000))", "--quiet", "--memory", "8GB")
    report.check("more memory, longer values", done.code == 0 and b"100000000" in done.out, done)


def interrupted(report, trace):
    """One Ctrl+C ends it."""
    process = subprocess.Popen([common.program(), "query", str(trace), STOPPED["searches"], "--quiet"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=common.hear_interrupts)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    report.check("Ctrl+C", process.returncode == 130 and b"interrupted" in errors, f"{process.returncode} {errors[-200:]}")


def through_the_server(report, trace):
    with serve.Server(trace) as server:
        for what, (sql, reason) in BOUNDED.items():
            answer = server.get("query", sql=sql) if len(sql) < 8000 else server.ask("/api/v1/query", "POST", sql.encode())
            good = answer.status in (422, 504) if reason else answer.status in (200, 504)
            report.check(f"server, {what}", good, f"{answer.status} {answer.body[:200]}")
        for what, sql in STOPPED.items():
            answer = server.get("query", sql=sql, timeout="0.2")
            report.check(f"server, {what}: stopped", answer.status == 504, f"{answer.status} {answer.body[:200]}")
        # Both workers of the lane have one whose client goes away: they are free again.
        path = "/api/v1/query?" + urllib.parse.urlencode({"sql": STOPPED["searches"], "timeout": "60"})
        lines = [server.connect() for _ in range(2)]
        for line in lines:
            line.request("GET", path)
        time.sleep(0.3)
        for line in lines:
            line.close()
        answer = server.get("query", sql="SELECT 1")
        report.check("the lane is free again", answer.status == 200, f"{answer.status} {answer.body[:200]}")
        # And two that still run do not keep the server.
        waiting = [threading.Thread(target=swallow, args=(server, path)) for _ in range(2)]
        for thread in waiting:
            thread.start()
        time.sleep(0.3)
        code, errors = server.end()
        report.check("SIGTERM beside statements that run", code == 0 and not errors, f"{code} {errors[-200:]}")
        for thread in waiting:
            thread.join()


def swallow(server, path):
    try:
        server.ask(path, connection=server.connect())
    except (OSError, serve.http.client.HTTPException):
        pass


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        demo = serve.make_demo(folder / "demo", "--ranks", "1", "--steps", "1")
        trace = demo / "rank-0.json" if demo else folder / "demo" / "rank-0.json"
        on_the_command_line(report, trace)
        interrupted(report, trace)
        through_the_server(report, trace)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
