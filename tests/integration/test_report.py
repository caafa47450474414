#!/usr/bin/env python3
"""kino report on generated runs: the page is whole and needs nothing from outside, the numbers agree with the analyses
they come from, every event that is named exists, and neither threads nor the number of ranks change an answer."""
import html.parser
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from support import common  # noqa: E402

VOID = {"meta", "input", "br", "img", "link", "hr"}


class Page(html.parser.HTMLParser):
    """Counts what does not fit: tags that are not closed, rows of different lengths, references to elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.tables, self.ids, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "action", "srcset", "data", "background") or name.startswith("on"):
                self.problems.append(f"<{tag} {name}={value}>")
            if name == "id":
                self.ids.append(value)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("td", "th"):
            self.tables[-1][-1] += 1

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def check_page(report, what, text):
    page = Page()
    page.feed(text)
    page.close()
    report.equal(f"{what}: tags fit", (page.problems, page.open), ([], []))
    report.equal(f"{what}: nothing from elsewhere", re.findall(r"https?:|//\w+\.|@import|url\(", text), [])
    report.equal(f"{what}: ids are unique", len(page.ids), len(set(page.ids)))
    for number, rows in enumerate(page.tables):
        report.equal(f"{what}: table {number} has full rows", {count == rows[0] for count in rows}, {True})
    words = " ".join(page.text)
    report.check(f"{what}: no number is NaN", not re.search(r"\b(nan|inf)\b", words, re.I), words[:200])
    return page


def make_json(path, *arguments):
    done = common.run("report", path, "--format", "json", "--quiet", *arguments)
    if done.returncode != 0:
        raise RuntimeError(f"kino report {path}: {done.stderr.decode()[:300]}")
    return json.loads(done.stdout)


def rows_of(answer, analysis, table):
    for result in answer["results"]:
        for found in result["tables"]:
            if (result["analysis"], found["name"]) == (analysis, table):
                return [dict(zip((c["name"] for c in found["columns"]), row)) for row in found["rows"]]
    return None


def all_evidence(value):
    """Every id under every "evidence" of a document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "evidence":
                yield from inner
            else:
                yield from all_evidence(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from all_evidence(inner)


def check_numbers(report, what, path, answer):
    step = answer["report"]["step"]
    report.equal(f"{what}: parts add up", sum(part["time"] for part in step["parts"]), step["time"])
    for bar in answer["report"]["ranks"] + answer["report"]["steps"]:
        report.equal(f"{what}: parts of {bar['name']} add up", sum(p["time"] for p in bar["parts"]), bar["time"])
    steps = rows_of(answer, "overview", "step_breakdown")
    report.equal(f"{what}: average step", step["time"], sum(row["total"] for row in steps) // len(steps))
    kernels = sum(row["kernel"] for row in steps) // len(steps)
    found = next(part["time"] for part in step["parts"] if part["name"] == "Kernel")
    report.check(f"{what}: kernel part", abs(found - kernels) <= 1, f"{found}, {kernels}")
    ids = sorted(set(all_evidence(answer["report"])) | set(all_evidence(answer["recommendations"])))
    report.check(f"{what}: there is evidence", len(ids) > 10, str(ids))
    known = {row[0] for row in common.query(path, f"SELECT id FROM event WHERE id IN ({','.join(map(str, ids))})")}
    report.equal(f"{what}: the events exist", [i for i in ids if i not in known], [])
    for sentence in answer["report"]["summary"]:
        if re.search(r"\d", sentence["text"]) and "kino check" not in sentence["text"]:
            report.check(f"{what}: evidence of '{sentence['text'][:40]}'", sentence["evidence"], "none")
    for section in answer["report"]["sections"]:
        report.check(f"{what}: section {section['name']} has rows or a reason",
                     section.get("rows") or section["note"], str(section)[:200])


def check_run(report, folder, ranks):
    what = f"{ranks} ranks"
    path = folder / f"run{ranks}"
    common.run("demo", path, "--ranks", ranks, "--steps", 3, "--no-info", "--quiet")
    answer = make_json(path)
    check_numbers(report, what, path, answer)
    names = {section["name"] for section in answer["report"]["sections"]}
    wanted = {"operators", "kernels", "memory", "devices", "modules", "steps", "ranks"}
    report.equal(f"{what}: sections", wanted - names, set())
    report.equal(f"{what}: bars of ranks", len(answer["report"]["ranks"]), ranks if ranks > 1 else 0)
    page = common.run("report", path, "--format", "html", "--quiet").stdout.decode()
    check_page(report, what, page)
    for form in ("table", "md", "json", "html") if ranks == 3 else ():
        one, two = (common.run("report", path, "--format", form, "--full", "--quiet", "--jobs", jobs).stdout
                    for jobs in (1, 4))
        report.check(f"{what}: {form} does not depend on threads", one == two)
    screen = common.run("report", path, "--quiet").stdout.decode()
    report.check(f"{what}: no colours when piped", "\033" not in screen)
    report.check(f"{what}: the first screen is short", screen.count("\n") < 90, str(screen.count("\n")))
    return path, answer


def check_steps(report, path, whole):
    """--steps: only these; the numbers of one step are those of its row."""
    answer = make_json(path, "--steps", "3")
    wanted = [row["total"] for row in rows_of(whole, "overview", "step_breakdown") if row["step"] == 3]
    report.equal("--steps: the step", answer["report"]["step"]["time"], sum(wanted) // len(wanted))
    report.equal("--steps: names", [bar["name"] for bar in answer["report"]["steps"]], ["3"])
    plugin = make_json(path, "--compat", "tensorboard")
    report.equal("--compat reaches the analyses",
                 {r["params"].get("compat") for r in plugin["results"] if "compat" in r["params"]}, {"tensorboard"})


def check_odd(report, folder):
    """Names that mean something to HTML, traces that miss what a report is about."""
    evil = "</td><script>alert(1)</script>\"'&\u0001"
    traces = {
        "evil": [{"ph": "X", "cat": "cpu_op", "name": evil, "pid": 1, "tid": 1, "ts": 1, "dur": 5},
                 {"ph": "X", "cat": "kernel", "name": evil, "pid": 0, "tid": 7, "ts": 2, "dur": 5, "args": {"device": 0}}],
        "empty": [],
        "marks": [{"ph": "i", "name": "x", "pid": 1, "tid": 1, "ts": 1, "s": "t"}],
        "kernels": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 2, "dur": 5}],
        "zero": [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1, "dur": 0}],
    }
    for name, events in traces.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps({"traceEvents": events}))
        for form in ("table", "md", "json", "html"):
            done = common.run("report", path, "--format", form, "--full", "--quiet")
            report.equal(f"{name}, {form}: exit code", done.returncode, 0)
            text = done.stdout.decode()
            if form == "html":
                check_page(report, name, text)
                report.check(f"{name}: no script of the trace", "<script>alert" not in text)
            elif form == "json":
                json.loads(text)


def check_large_run(report, folder):
    """More events than the section of costs takes, in traces that rules still compute costs of."""
    folder = folder / "large"
    common.run("demo", folder, "--ranks", "12", "--size", "90MB", "--no-info", timeout=600)
    done = common.run("report", folder, "--quiet", "--format", "json", timeout=600)
    report.equal("a run of more than 3 million events: exit code", (done.returncode, done.stderr), (0, b""))
    advice = {row["rule"] for row in json.loads(done.stdout)["recommendations"]} if done.returncode == 0 else set()
    alone = json.loads(common.run("analyze", "recommendations", folder, "--quiet", "--format", "json", timeout=600).stdout)["tables"][0]
    at = [column["name"] for column in alone["columns"]].index("rule")
    report.equal("a run of more than 3 million events: rules", advice, {row[at] for row in alone["rows"]})


def main():
    report = common.Report()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path, answer = check_run(report, folder, 3)
        check_steps(report, path, answer)
        check_run(report, folder, 1)
        check_run(report, folder, 64)
        check_odd(report, folder)
        if os.environ.get("KINO_TIER") == "all":
            check_large_run(report, folder)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
