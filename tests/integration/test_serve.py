#!/usr/bin/env python3
"""kino serve: every route on a run of two ranks, its answers beside those of the program itself; loading, tags, gzip, formats, several
runs, new and changed files, eviction."""
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import urllib.parse

from support import common, serve

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
                               "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
SPARSE = '[{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":10,"name":"%s","cat":"cpu_op"}]'


HINTS = re.compile(rb',"hints":(\[.*?\])')


def as_program(body):
    """An answer without hints, its notes naming options as the command line does."""
    for listed in HINTS.findall(body):
        for hint in json.loads(listed):
            words = f"{hint['subject']}={hint['value']}".rstrip("=")
            option = f"--{hint['subject'].replace('_', '-')} {hint['value']}".removesuffix(" yes").rstrip()
            if hint["code"] in ("option", "unset") and hint["size"]:
                body = body.replace(words.encode(), option.encode())
    return HINTS.sub(b"", body)


def analyses(report, server, demo):
    listed = server.get("analyses").json()["analyses"]
    names = [entry["name"] for entry in listed]
    report.check("analyses are listed", "overview" in names and "recommendations" in names, str(names))
    for entry in listed:
        answer = server.get(f"analyses/{entry['name']}")
        done = common.run("analyze", entry["name"], demo, "--format", "json", "--quiet")
        if done.returncode != 0:
            report.check(f"{entry['name']} fails as in the program", answer.status in (400, 404, 422), answer.body[:200])
            report.check(f"{entry['name']} says the same", answer.message() in done.stderr.decode(), answer.message())
            continue
        report.equal(f"{entry['name']}: status", answer.status, 200)
        report.equal(f"{entry['name']}: the same bytes as the program's", as_program(answer.body), done.stdout)
        tables = [table["name"] for table in answer.json()["tables"]]
        report.check(f"{entry['name']}: tables are described", {t["name"] for t in entry["tables"]} >= set(tables[:1]), str(tables))


def formats(report, server, demo):
    table = "kernel_type"
    answer = server.get("analyses/kernel-breakdown.csv", table=table, limit=3)
    done = common.run("analyze", "kernel-breakdown", demo, "--format", "csv", "--quiet", "--table", table, "--limit", "3")
    report.equal("CSV of a table", answer.body, done.stdout)
    report.check("CSV has its type", answer.headers["Content-Type"].startswith("text/csv"))
    answer = server.get("analyses/kernel-breakdown.md")
    done = common.run("analyze", "kernel-breakdown", demo, "--format", "md", "--quiet")
    report.equal("Markdown", answer.body, done.stdout)
    report.equal("a table that is not there", server.get("analyses/kernel-breakdown.csv", table="x").status, 404)
    answer = server.get("analyses/kernel-breakdown", num_kernels=2, rank=1)
    done = common.run("analyze", "kernel-breakdown", demo, "--num-kernels", "2", "--rank", "1", "--format", "json", "--quiet")
    mine, theirs = answer.json(), json.loads(done.stdout)
    report.equal("parameters and a rank: tables", mine["tables"], theirs["tables"])
    report.equal("parameters and a rank: input", mine["input"]["ranks"], [1])
    for entry in server.get("analyses").json()["analyses"]:
        whole, one = server.get(f"analyses/{entry['name']}"), server.get(f"analyses/{entry['name']}", trace=1)
        report.check(f"{entry['name']} of the second trace", one.status == whole.status and (one.status != 200 or
                     one.json()["input"]["ranks"] == [1] and one.json()["input"]["events"] < whole.json()["input"]["events"]), str(one.status))
    both = server.get("analyses/kernel-breakdown", num_kernels=2, trace="0-1").json()
    report.equal("all traces are all", both["tables"], server.get("analyses/kernel-breakdown", num_kernels=2).json()["tables"])


def others(report, server, demo):
    done = common.run("info", demo, "--format", "json", "--quiet")
    report.equal("info", server.get("info").body, done.stdout)
    report.equal("info of one trace", [row[0] for row in server.get("info", trace=1).json()["tables"][0]["rows"]], [1])
    done = common.run("report", demo, "--format", "json", "--quiet")
    answer = server.get("report")
    report.equal("report", as_program(answer.body), done.stdout)
    hints = [hint for result in answer.json()["results"] for hint in result["input"].get("hints", [])]
    report.check("a note of the report says in fields what it lacks without --full",
                 any((hint["code"], hint["subject"], hint["value"]) == ("option", "full", "yes") for hint in hints), str(hints))
    page = server.get("report.html")
    report.check("report as a page", page.body.startswith(b"<!doctype html>") or b"<html" in page.body[:200], page.body[:80])
    report.check("the report's policy lets its own style and nothing else",
                 "style-src 'unsafe-inline'" in page.headers["Content-Security-Policy"] and
                 "sandbox" in page.headers["Content-Security-Policy"])
    report.equal("report of the second trace", server.get("report", trace=1).json()["report"]["path"], str(demo))
    report.check("report as Markdown", server.get("report.md").body.startswith(b"#"))
    schema = server.get("schema").json()["tables"][0]
    report.check("schema names the table event", any("event" == row[0] or "event" in str(row) for row in schema["rows"]))


def query(report, server, demo):
    sql = "SELECT name, count(*) AS n FROM event WHERE cat = 'kernel' GROUP BY name ORDER BY n DESC, name LIMIT 5"
    done = common.run("query", demo, sql, "--format", "json", "--quiet")
    report.equal("query", server.get("query", sql=sql).body, done.stdout)
    posted = server.ask("/api/v1/query", "POST", sql.encode())
    report.equal("query by POST", posted.body, done.stdout)
    done = common.run("query", demo, sql, "--format", "csv", "--quiet")
    report.equal("query as CSV", server.get("query.csv", sql=sql).body, done.stdout)
    total = server.get("query", sql="SELECT count(*) FROM event").json()["tables"][0]["rows"][0][0]
    some = server.get("query", sql="SELECT id FROM event", limit=7)
    report.equal("a limit cuts", len(some.json()["tables"][0]["rows"]), 7)
    report.check("a limit is told", some.json().get("truncated") is True and some.headers["Kino-Truncated"] == "true")
    exact = server.get("query", sql="SELECT id FROM event", limit=total)
    report.check("all rows are not truncated", "truncated" not in exact.json() and len(exact.json()["tables"][0]["rows"]) == total)
    for bad in ("DELETE FROM event", "CREATE TABLE x(y)", "ATTACH 'x' AS y", "PRAGMA journal_mode=WAL", "SELECT * FROM nowhere", "",
                "SELECT 1; SELECT 2", "SELECT load_extension('x')"):
        answer = server.ask("/api/v1/query", "POST", bad.encode())
        report.check(f"{bad!r} is refused", answer.status == 422 and answer.message(), f"{answer.status} {answer.body[:100]}")
    begin = time.monotonic()
    endless = server.get("query", sql="WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT max(x) FROM t", timeout=0.3)
    report.check("SQL that loops ends in time", endless.status == 504 and time.monotonic() - begin < 20, str(endless.status))


def window(report, server, demo):
    first, last = server.get("query", sql="SELECT min(ts), max(ts) FROM event WHERE cat='kernel'").json()["tables"][0]["rows"][0]
    middle = (first + last) // 2
    answer = server.get("trace.json", **{"from": middle, "to": middle + (last - first) // 20, "trace": 0})
    report.equal("a window: status", answer.status, 200)
    report.equal("a window: name", answer.headers["Content-Disposition"], 'attachment; filename="trace.json"')
    events = [e for e in json.loads(answer.body)["traceEvents"] if e.get("cat") == "kernel"]
    # kernels that overlap the window, or whose launch does
    rows = server.get("query", limit=1000000, sql="SELECT cat, ts, ts + dur, correlation FROM event WHERE dur IS NOT NULL AND "
                      f"cat IN ('kernel', 'cuda_runtime', 'cuda_driver') AND id < {1 << 32}").json()["tables"][0]["rows"]
    end = middle + (last - first) // 20
    launched = {row[3] for row in rows if row[0] != "kernel" and row[1] < end and row[2] > middle}
    report.equal("a window: kernels", len(events),
                 sum(row[0] == "kernel" and (row[1] < end and row[2] > middle or row[3] in launched) for row in rows))
    packed = server.get("trace.json.gz", **{"from": middle, "to": middle + (last - first) // 20, "trace": 0})
    report.equal("a window in gzip", gzip.decompress(packed.raw), answer.body)
    second = json.loads(server.get("trace.json", trace=1).body)["traceEvents"]
    own = json.loads(pathlib.Path(demo, "rank-1.json").read_text())["traceEvents"]
    report.equal("one trace is that trace", sorted(str(e.get("name")) for e in second), sorted(str(e.get("name")) for e in own))
    some = json.loads(server.get("trace.json", rank=1, **{"from": middle, "to": end}).body)["traceEvents"]
    report.check("a window of the second trace", 0 < len(some) < len(own))
    both = json.loads(server.get("trace.json").body)["traceEvents"]
    total = server.get("query", sql="SELECT count(*) FROM event").json()["tables"][0]["rows"][0][0]
    report.check("all of both traces in one file", len(both) >= total, f"{len(both)} of {total}")
    report.equal("an empty window", server.get("trace.json", **{"from": 10 ** 17, "to": 10 ** 17 + 5}).status, 404)
    report.check("no file is left behind", not [n for n in os.listdir(os.environ["TMPDIR"]) if n.startswith("kino-")])


def timeline(report, server):
    answer = server.get("timeline/tracks")
    names = [table["name"] for table in answer.json()["tables"]]
    report.equal("tracks: tables", names, ["tracks", "steps", "lost"])
    tracks = answer.json()["tables"][0]
    report.check("tracks of both traces", {row[[c["name"] for c in tracks["columns"]].index("trace")] for row in tracks["rows"]} == {0, 1})
    tile = server.get("timeline/tile", pixels=500)
    report.check("a tile", tile.status == 200 and tile.headers["Content-Type"] == "application/octet-stream" and len(tile.body) > 100)
    some = server.get("timeline/tile", pixels=500, tracks="0-1")
    report.check("a tile of some tracks is smaller", 0 < len(some.body) < len(tile.body))
    report.equal("a tile is the same with wait", server.get("timeline/tile", pixels=500, wait=1).body, tile.body)
    ident, name = server.get("query", sql="SELECT id, name FROM event WHERE cat='kernel' ORDER BY ts LIMIT 1").json()["tables"][0]["rows"][0]
    event = server.get("timeline/event", id=ident).json()["tables"]
    report.check("an event", [t["name"] for t in event] == ["event", "args", "stack", "links"] and name in str(event[0]["rows"]))
    report.equal("an event that is not there", server.get("timeline/event", id=(1 << 50)).status, 404)
    found = server.get("timeline/search", q=name, limit=2).json()["tables"]
    report.check("search", [t["name"] for t in found] == ["found", "count"] and len(found[0]["rows"]) <= 2 and found[1]["rows"][0][0] >= 1)
    area = server.get("timeline/area", **{"from": 0, "to": 10 ** 12}).json()["tables"]
    report.equal("area", [t["name"] for t in area], ["slices", "categories", "tracks", "counters"])
    report.equal("a track that is not there", server.get("timeline/tile", pixels=10, tracks=999999).status, 404)


def headers(report, server):
    plain = server.get("analyses")
    report.check("no gzip unless asked for", "Content-Encoding" not in plain.headers)
    packed = server.get("analyses", headers={"Accept-Encoding": "gzip, deflate"})
    report.check("gzip when asked for", packed.headers["Content-Encoding"] == "gzip" and len(packed.raw) < len(plain.raw) / 2)
    report.equal("the same inside", packed.body, plain.body)
    refused = server.get("analyses", headers={"Accept-Encoding": "gzip;q=0, identity"})
    report.check("q=0 refuses gzip", "Content-Encoding" not in refused.headers)
    for name, value in HEADERS.items():
        report.equal(f"header {name}", plain.headers[name], value)
        report.check(f"header {name} on errors", (server.get("nothing").headers[name] or "") != "" )
    for route in ("analyses", "runs", "analyses/overview", "timeline/tracks", "info"):
        first = server.get(route)
        tag = first.headers["ETag"]
        again = server.get(route, headers={"If-None-Match": f'"other", {tag}'})
        report.check(f"{route}: 304", again.status == 304 and again.raw == b"" and again.headers["ETag"] == tag, str(again.status))
        packed = server.get(route, headers={"Accept-Encoding": "gzip"})
        again = server.get(route, headers={"If-None-Match": packed.headers["ETag"]})
        report.equal(f"{route}: 304 for the tag of the packed one", again.status, 304)
        report.equal(f"{route}: 200 for another tag", server.get(route, headers={"If-None-Match": '"x"'}).status, 200)
    head = server.ask("/api/v1/status", "HEAD")
    report.check("HEAD", head.status == 200 and head.raw == b"" and int(head.headers["Content-Length"]) > 10)


def page(report, server):
    has_ui = server.get("status").json()["ui"]
    for accept in ("gzip", "identity"):
        answer = server.ask("/", headers={"Accept-Encoding": accept})
        report.check(f"the page ({accept})", answer.status == 200 and b"<title>Kino" in answer.body, str(answer.body[:100]))
        report.check("the page is HTML", answer.headers["Content-Type"].startswith("text/html; charset=utf-8"))
    report.equal("the page again", server.ask("/", headers={"If-None-Match": answer.headers["ETag"]}).status, 304)
    if has_ui:
        scripts = [part.split('"')[0] for part in answer.body.decode().split('src="')[1:]]
        report.check("the page has a script", len(scripts) > 0)
        for script in scripts:
            asset = server.ask(urllib.parse.urljoin("/", script))
            report.check("scripts are kept", asset.status == 200 and "immutable" in asset.headers["Cache-Control"] and
                         asset.headers["Content-Type"].startswith("text/javascript"))
    report.equal("other paths are not the page", server.ask("/overview").status, 404)


def several_runs(report, folder):
    """Runs at several depths, spans, files that come, change and go."""
    logs = folder / "logs"
    (logs / "deep" / "a").mkdir(parents=True)
    (logs / "b").mkdir()
    (logs / "deep" / "a" / "rank-0.json").write_text(SPARSE % (100, "first"))
    for worker in ("w0", "w1"):
        for span in ("100", "200"):
            (logs / "b" / f"{worker}.{span}.pt.trace.json").write_text(SPARSE % (int(span), f"{worker}-{span}"))
    names = "SELECT group_concat(name) FROM (SELECT DISTINCT name FROM event WHERE name IS NOT NULL AND cat = 'cpu_op' ORDER BY name)"
    with serve.Server(logs) as server:
        def rows(**more):
            return server.get("query", sql=names, **more).json()["tables"][0]["rows"][0][0]
        listed = server.get("runs").json()
        report.equal("runs by their paths", [run["name"] for run in listed["runs"]], ["b", "deep/a"])
        report.equal("several runs: choose one", server.get("query", sql="SELECT 1").status, 400)
        report.equal("no such run", server.get("info", run="c").status, 404)
        report.equal("no run by a path", server.get("info", run="../logs/b").status, 404)
        entry = listed["runs"][0]
        report.equal("spans", (entry["spans"], entry["span"], entry["state"]), (["1", "2"], "2", "idle"))
        report.equal("the newest of each worker", [t["file"] for t in entry["traces"]], ["w0.200.pt.trace.json", "w1.200.pt.trace.json"])
        report.equal("newest span", rows(run="b"), "w0-200,w1-200")
        report.equal("span 2 is the newest", rows(run="b", span=2), "w0-200,w1-200")
        report.equal("span 1", rows(run="b", span=1), "w0-100,w1-100")
        report.equal("no such span", server.get("info", run="b", span=3).status, 404)
        report.equal("no spans", server.get("info", run="deep/a", span=1).status, 404)
        report.equal("entry of span 1", server.get("load", run="b", span=1).json()["span"], "1")
        comparison = server.get("diff", run="b", other="deep/a")
        report.check("diff", comparison.status == 200 and "diff_tree" in [t["name"] for t in comparison.json()["tables"]])
        report.equal("diff needs both", server.get("diff", run="b").status, 400)
        # a new run, a changed file, a file that is no trace, a run that goes
        version = server.get("runs").json()["version"]
        report.equal("the file as it is", rows(run="deep/a"), "first")
        tag = server.get("info", run="deep/a").headers["ETag"]
        (logs / "new").mkdir()
        (logs / "new" / "x.json").write_text(SPARSE % (1, "new"))
        (logs / "bad").mkdir()
        (logs / "bad" / "x.json").write_text("this is no trace")
        (logs / "deep" / "a" / "rank-0.json").write_text(SPARSE % (100, "second-version"))
        shutil.rmtree(logs / "b")
        until = time.monotonic() + 30
        while time.monotonic() < until:
            listed = server.get("runs").json()
            if [run["name"] for run in listed["runs"]] == ["bad", "deep/a", "new"] and rows(run="deep/a") == "second-version":
                break
            time.sleep(0.2)
        report.equal("runs come and go", [run["name"] for run in listed["runs"]], ["bad", "deep/a", "new"])
        report.check("the version grows", listed["version"] > version)
        report.equal("a changed file is read again", rows(run="deep/a"), "second-version")
        report.check("with another tag", server.get("info", run="deep/a").headers["ETag"] != tag)
        report.equal("a new run", rows(run="new"), "new")
        report.equal("a run that is gone", server.get("info", run="b").status, 404)
        bad = server.get("info", run="bad")
        report.check("a file that is no trace", bad.status == 422 and "x.json" in bad.message(), bad.body[:200])
        states = {run["name"]: (run["state"], run["error"]) for run in server.get("runs").json()["runs"]}
        report.check("is listed as failed", states["bad"][0] == "failed" and states["bad"][1], str(states))


def eviction(report, demo, folder):
    for name in ("one", "two"):
        shutil.copytree(demo, folder / "many" / name)
    with serve.Server(folder / "many", "--memory", "1MB") as server:
        for round_ in range(2):
            for name in ("one", "two"):
                report.equal(f"round {round_}, {name}", server.get("info", run=name, limit=1).status, 200)
                server.get("timeline/tracks", run=name)
        states = {run["name"]: run["state"] for run in server.get("runs").json()["runs"]}
        report.equal("the one not used last has gone", states, {"one": "evicted", "two": "ready"})
        memory = server.get("status").json()["memory"]
        report.check("the limit is as given", memory["limit"] == 10 ** 6 and memory["used"] > 0, str(memory))


def loading(report, demo):
    with serve.Server(demo) as server:
        report.check("the only run is loaded at once", server.get("runs").json()["runs"][0]["state"] in ("loading", "ready"))
        report.equal("its name is the folder itself", server.get("runs").json()["runs"][0]["name"], ".")
        first = server.ask("/api/v1/load")
        report.check("it is loading or loaded", first.status in (200, 202), str(first.status))
        if first.status == 202:
            body = first.json()
            report.check("and says how far it is", body["state"] == "loading" and 0 <= body["progress"] <= 1 and body["what"], str(body))
        report.equal("wait waits", server.ask("/api/v1/load?wait=30").status, 200)
        entry = server.ask("/api/v1/load").json()
        report.check("the entry is whole", entry["state"] == "ready" and entry["events"] == sum(t["events"] for t in entry["traces"]) and
                     [t["rank"] for t in entry["traces"]] == [0, 1] and int(entry["origin_ns"]) > 10 ** 18, str(entry))
        report.equal("wait for a timeline", server.ask("/api/v1/timeline/tracks?wait=30").status, 200)


def shrinking(report, demo, folder):
    """A file that is written over while it is mapped: what is missing is missing, the server lives."""
    shutil.copytree(demo, folder / "shrinks")
    with serve.Server(folder / "shrinks") as server:
        sql = "SELECT count(args), sum(length(args)) FROM event"
        server.get("load")
        os.truncate(folder / "shrinks" / "rank-0.json", 5000)
        server.get("query", sql=sql)
        report.equal("a file that shrinks", server.get("status").status, 200)
        report.equal("nothing was said about it", server.end(), (0, ""))


def program(report, demo):
    with serve.Server(demo) as server:
        taken = common.run("serve", demo, "--port", server.port)
        report.check("a taken port", taken.returncode == 1 and b"port in use" in taken.stderr, taken.stderr.decode())
        server.get("analyses/overview")
        code, errors = server.end()
        report.equal("TERM ends it", (code, errors), (0, ""))
    with serve.Server(demo) as server:
        server.ask("/api/v1/analyses/overview")  # while it loads
        report.equal("Ctrl+C ends it", server.end(signal.SIGINT), (0, ""))
    missing = common.run("serve", demo / "nothing")
    report.check("a folder that is not there", missing.returncode == 1 and b"nothing" in missing.stderr)
    for wrong in (["-"], [], [demo, "--port", "70000"], [demo, "--token", "short"], [demo, "--token", "with blanks in it"]):
        report.equal(f"serve {wrong}", common.run("serve", *wrong).returncode, 2)
    report.equal("a host that is none", common.run("serve", demo, "--host", "256.1.1.1").returncode, 1)
    with serve.Server(demo / "rank-0.json", demo / "rank-1.json") as server:
        report.equal("files are runs", [run["name"] for run in server.get("runs").json()["runs"]], ["rank-0.json", "rank-1.json"])


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["TMPDIR"] = name
        demo = folder / "demo"
        serve.make_demo(demo, "--ranks", "2", "--steps", "2")
        loading(report, demo)
        with serve.Server(demo) as server:
            for test in (analyses, formats, others, query, window):
                test(report, server, demo)
            for test in (timeline, headers, page):
                test(report, server)
            report.equal("nothing was said", server.end(), (0, ""))
        several_runs(report, folder)
        eviction(report, demo, folder)
        shrinking(report, demo, folder)
        program(report, demo)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
