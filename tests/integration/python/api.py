"""The functions of kino: opening, errors, values of parameters, SQL, reports, files, what notebooks show."""
import datetime
import json
import os
import pathlib
import subprocess
import sys

import kino
from support import common


def raised(kind, call, *arguments, **names):
    """The exception of this kind that the call raises, else None."""
    try:
        call(*arguments, **names)
    except kind as error:
        return error
    return None


def check_errors(report, run):
    missing = raised(kino.FileError, kino.open, "no-such.json")
    report.equal("a missing file", (missing.code, missing.path, isinstance(missing, OSError)), ("io", "no-such.json", True))
    pathlib.Path("bad.json").write_text("hello")
    bad = raised(kino.FormatError, kino.open, "bad.json")
    report.equal("not a trace", (bad.code, bad.path, bad.offset), ("format", "bad.json", 0))
    for name in ("a", "b"):
        os.makedirs(f"two/{name}")
        os.link("demo-run/rank-0.json", f"two/{name}/rank-0.json")
    several = raised(kino.ArgumentError, kino.open, "two")
    report.check("several runs", several and several.path == "two" and "run=NAME" in several.message, str(several))
    report.equal("what to pass", (several.hint, "hint:" in str(several)), ("run=NAME", False))
    report.equal("nothing to pass", (missing.hint, bad.hint), (None, None))
    report.equal("one of several runs", kino.open("two", run="a").ranks, [0])
    report.check("no such rank", raised(kino.NotFoundError, kino.open, "demo-run", rank=7))
    unknown = raised(kino.NotFoundError, run.analyze, "idle-tim")
    report.equal("no such analysis", (unknown.code, unknown.hint), ("not-found", "did you mean 'idle-time'?"))
    name = raised(TypeError, run.idle_time, dely="30us")
    report.check("a wrong parameter", name and "'delay'" in str(name) and "idle_time()" in str(name), str(name))
    report.check("a wrong parameter by name", raised(TypeError, run.analyze, "idle-time", nothing=1))
    report.check("positional parameters", raised(TypeError, run.idle_time, "30us"))
    value = raised(kino.ArgumentError, run.idle_time, delay="soon")
    report.check("a wrong value", value and "'soon'" in value.message and isinstance(value, ValueError))
    sql = raised(kino.SqlError, run.query, "SELECT nme FROM event")
    report.equal("wrong SQL", (sql.code, sql.offset), ("sql", 7))
    report.check("SQL only reads", raised(kino.SqlError, run.query, "DELETE FROM event"))
    report.check("values for SQL are counted", raised(kino.SqlError, run.query, "SELECT ?, ?", 1))
    report.check("values for SQL have types", raised(TypeError, run.query, "SELECT ?", object()))
    report.check("a time limit", raised(kino.LimitError, run.query, "SELECT count(*) FROM event a, event b, event c", timeout=0.01))
    report.check("no such format", raised(kino.Error, run.convert, "x.unknown"))
    report.check("all are kino.Error", all(issubclass(getattr(kino, name), kino.Error) for name in kino.__all__ if name.endswith("Error")))
    closed = kino.open("demo-run")
    closed.close()
    report.check("a closed run", raised(kino.ArgumentError, closed.query, "SELECT 1"))
    report.check("a closed run's answers", raised(kino.ArgumentError, closed.temporal_breakdown))
    report.check("objects of the engine", raised(TypeError, kino._engine.Run) and raised(TypeError, kino._engine.Result))


def check_values(report, run):
    want = run.idle_time(delay="50us").idle.rows()
    for delay in (50_000, "50000", "0.05ms", datetime.timedelta(microseconds=50)):
        report.equal(f"delay={delay!r}", run.idle_time(delay=delay).idle.rows(), want)
    report.equal("None is the default", run.idle_time(delay=None).params["delay"], 30_000)
    report.check("yes and True", run.idle_time(stats=True).interval_stats.rows() == run.idle_time(stats="yes").interval_stats.rows())
    report.equal("a keyword of Python", run.memory(from_="1ms").params["from"], 1_000_000)
    report.check("names with - and _", run.analyze("temporal_breakdown").rows() == run.analyze("temporal-breakdown").rows())
    report.equal("steps", [row.step for row in run.cut(steps="3-").steps()], [3, 4, 3, 4])
    report.check("a window", 0 < run.cut("1ms", "5ms").traces[0].events < run.traces[0].events)
    report.equal("one rank", kino.open("demo-run", rank=[1]).ranks, [1])
    report.equal("several paths", kino.open([pathlib.Path("demo-run/rank-1.json"), b"demo-run/rank-0.json"]).ranks, [0, 1])
    tight = kino.open("demo-run", memory="1MB")
    report.check("with a memory limit", tight.temporal_breakdown().rows() == run.temporal_breakdown().rows())
    report.check("events with a memory limit", tight.query("SELECT count(*) FROM event")[0][0] == sum(t.events for t in run.traces))


def check_tables(report, run):
    table = run.temporal_breakdown()
    report.equal("length and rows", (len(table), len(list(table)), table[0].rank, table[-1].rank), (2, 2, 0, 1))
    numbers = run.query("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n")
    for part in (slice(1), slice(2, 5), slice(-3, None), slice(None, None, -2), slice(1, 8, 3), slice(8, 2), slice(20)):
        report.equal(f"table[{part}]", [row.i for row in numbers[part]], list(range(10))[part])
    report.equal("a column", table["rank"], [0, 1])
    report.check("no such row", raised(IndexError, lambda: table[2]))
    report.check("no such column", raised(KeyError, lambda: table["ranks"]))
    report.equal("dicts", table.to_dicts()[1]["rank"], 1)
    result = run.idle_time()
    report.equal("a named result", (type(result).__name__, result.idle is result["idle"], len(result)), ("IdleTimeResult", True, 2))
    report.check("no such table", raised(AttributeError, lambda: result.nothing))
    markup = run.query("SELECT '<b>' AS \"<i>\", NULL AS n")._repr_html_()
    report.check("markup is escaped", "&lt;b&gt;" in markup and "&lt;i&gt;" in markup and "<b>" not in markup, markup)
    report.check("help is a tooltip", 'title="time in which nothing runs on the device"' in table._repr_html_())
    report.check("text", "idle_time" in str(table) and "ms" in str(table))
    report.check("notes are shown", all(note in str(run.cupti_counters()) for note in run.cupti_counters().notes))


def check_answers(report, run):
    told = common.run("report", "demo-run", "--quiet").stdout.decode().strip().splitlines()
    here = str(run.report()).strip().splitlines()
    report.equal("the report is the program's, but for what its last line says to do next", here[:-1], told[:-1])
    report.check("and that line has a keyword, not an option", "full=True" in here[-1] and "--full" in told[-1], (here[-1], told[-1]))
    findings = run.report().findings
    report.check("findings", findings and findings[0].rule and findings[0].do, str(findings[:1]))
    report.check("a report in a notebook", run.report()._repr_html_().startswith("<iframe srcdoc="))
    report.check("results of a report", "overview" in run.report(full=True).results)
    report.check("a run in a notebook", "rank" in run._repr_html_())
    check = run.check(fail_on="any")
    verdict = common.run("check", "demo-run", "--quiet").stdout.decode().splitlines()[0]
    report.equal("the check is the program's", (str(check), check.ok, check.passed), (verdict, True, True))
    data = pathlib.Path("demo-run/rank-0.json").read_bytes()
    pathlib.Path("cut-off.json").write_bytes(data[:len(data) // 2])
    broken = kino.open("cut-off.json")
    report.check("warnings", any("truncated" in line for line in broken.warnings), str(broken.warnings))
    failed = broken.check(fail_on=["truncated"])
    report.equal("a failed check", (failed.ok, failed.passed, failed.failures[0].kind), (False, False, "truncated"))


def check_runs(report, run):
    slow = kino.demo("slow-run", ranks=2, steps=3, seed=9)
    diff = kino.diff(run, slow, fail_on=["kernel>0.0001%", "step_time>1000%"])
    report.check("a diff", "diff_steps" in diff.tables and diff.summary, str(diff.tables))
    told = json.loads(common.run("diff", "demo-run", "slow-run", "--format", "json", "--quiet").stdout)
    report.equal("the diff is the program's", [list(row) for row in diff.diff_steps], told["tables"][0]["rows"])
    report.check("checks of a diff", not diff.passed and all("kernel" in row.expression for row in diff.failures))
    report.check("an expression", raised(kino.ArgumentError, kino.diff, run, run, fail_on="nonsense"))
    report.equal("convert", run.convert("all.kino", merge=True), "all.kino")
    report.equal("converted", kino.open("all.kino").traces[0].events, run.merge().traces[0].events)
    os.mkdir("folder")
    run.convert("folder", to="json.gz")
    report.equal("a directory", sorted(os.listdir("folder")), ["rank-0.json.gz", "rank-1.json.gz"])
    part = kino.open("demo-run").cut(steps=2)  # the run it borrows from has no other name
    report.check("a run made from another", part.temporal_breakdown()[0].kernel_time > 0)


def check_program(report):
    done = subprocess.run([sys.executable, "-m", "kino", "--version"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": sys.path[0]})
    report.equal("python -m kino", (done.returncode, done.stdout.strip()), (0, f"kino {kino.__version__}"))
    text = (common.ROOT / "python/pyproject.toml").read_text()
    report.check("one version", f'version = "{kino.__version__}"' in text)


def check_plots(report, run):
    try:
        import matplotlib
    except ImportError:
        print("NOT TESTED: matplotlib is not installed (tools/install-python)")
        report.skipped += 1
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot
    stacked = run.temporal_breakdown().plot()
    report.equal("stacked bars", len(stacked.patches), 6)  # three parts of two ranks
    series = run.queue_length(series=True).queue_length_series.plot()
    report.check("lines", len(series.lines) >= 2 and "s)" in series.get_xlabel())
    report.check("bars", 0 < len(run.kernels().plot().patches) <= 20)
    matplotlib.pyplot.close("all")


def run(report):
    kino.demo("demo-run", ranks=2, steps=3)
    with kino.open("demo-run") as demo:
        for check in (check_errors, check_values, check_tables, check_answers, check_runs, check_plots):
            check(report, demo)
    check_program(report)
