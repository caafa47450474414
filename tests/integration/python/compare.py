"""Every table of every analysis of a demo run: the program's JSON, rows, pandas, polars, pyarrow and DuckDB agree, and nulls stay nulls."""
import json

import kino
from support import common

PARAMS = {"kernel-sequences": {"op": "aten::linear"}, "idle-time": {"stats": True}, "queue-length": {"series": True},
          "memory-bandwidth": {"series": True}, "operators": {"stacks": True}, "overview": {"sm_series": True}}


def from_program(analysis):
    words = []
    for name, value in PARAMS.get(analysis, {}).items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    done = common.run("analyze", analysis, "demo-run", "--format", "json", "--quiet", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]


def cells_of(columns, rows):
    """The program's cells as the engine has them: JSON columns are texts there."""
    return [[value if kind != "json" or value is None else "json" for value, kind in zip(row, columns)] for row in rows]


def plain(kind, value, origin):
    """A value of a DataFrame library as the program writes it."""
    if value is None or value != value or str(value) in ("NaT", "<NA>"):
        return None
    if kind == "json":
        return "json"
    return value - origin if kind == "time" and origin is not None else value


def arrow_columns(table):
    """By pyarrow: times and durations as integers."""
    import pyarrow
    import pyarrow.compute
    for column in table.columns:
        is_time = pyarrow.types.is_temporal(column.type)
        yield (column.cast(pyarrow.int64()) if is_time else column).to_pylist()


def polars_columns(frame):
    import polars
    for column in frame.get_columns():
        yield (column.to_physical() if column.dtype in (polars.Duration, polars.Datetime) else column).to_list()


def pandas_columns(frame):
    for _, column in frame.items():
        values = column.astype("int64") if column.dtype.kind in "mM" else column
        yield values.astype(object).where(column.notna(), None).tolist()


def duckdb_columns(answer):
    """Intervals of DuckDB have microseconds: compared as such."""
    import duckdb
    relation = duckdb.sql("SELECT * FROM answer")
    words = []
    for name, kind in zip(relation.columns, relation.types):
        quoted = '"' + name.replace('"', '""') + '"'
        words.append(f"epoch_ns({quoted})" if str(kind).startswith("TIMESTAMP") else
                     f"epoch_us({quoted})" if str(kind) == "INTERVAL" else quoted)
    rows = duckdb.sql(f"SELECT {', '.join(words)} FROM answer").fetchall()
    return [list(column) for column in zip(*rows)] if rows else [[] for _ in words]


def same(got, want, scale=1):
    if isinstance(want, float) or isinstance(got, float):
        return got is not None and want is not None and (got == want or abs(got - want) <= 1e-12 * abs(want))
    return got == want or (scale > 1 and isinstance(want, int) and got is not None and abs(got - want / scale) <= 1)


def check_columns(report, what, table, columns, want, scale=1):
    kinds = [column.type for column in table.columns]
    wrong = []
    for place, (kind, values) in enumerate(zip(kinds, columns)):
        values = [plain(kind, value, table.origin) for value in values]
        unit = scale if kind == "duration" or (kind == "time" and table.origin is None) else 1
        if len(values) != len(want):
            wrong.append(f"{table.columns[place].name}: {len(values)} rows, not {len(want)}")
        wrong += [f"{table.columns[place].name}[{row}]: {value!r}, not {want[row][place]!r}"
                  for row, value in enumerate(values) if row < len(want) and not same(value, want[row][place], unit)]
    report.check(what, not wrong, "; ".join(wrong[:3]))


def libraries():
    found = {}
    for name in ("pyarrow", "polars", "pandas", "duckdb"):
        try:
            __import__(name)
            found[name] = True
        except ImportError:
            print(f"NOT COMPARED: {name} is not installed (tools/install-python)")
    return found


def check_table(report, table, told, found):
    kinds = [column["type"] for column in told["columns"]]
    want = cells_of(kinds, told["rows"])
    what = f"{table.analysis} {table.name}"
    report.equal(f"{what}: columns", [(c.name, c.type) for c in table.columns], [(c["name"], c["type"]) for c in told["columns"]])
    rows = [[plain(kind, value, None) if kind == "json" else value for kind, value in zip(kinds, row)] for row in table.rows()]
    report.check(f"{what}: rows", rows == want, "differ from the program's")
    if "pyarrow" in found:
        arrow = table.to_arrow()
        arrow.validate(full=True)
        check_columns(report, f"{what}: pyarrow", table, arrow_columns(arrow), want)
    if "polars" in found:
        check_columns(report, f"{what}: polars", table, polars_columns(table.to_polars()), want)
    if "pandas" in found:
        check_columns(report, f"{what}: pandas", table, pandas_columns(table.to_pandas()), want)
    if "duckdb" in found:
        check_columns(report, f"{what}: duckdb", table, duckdb_columns(table), want, 1000)


def check_types(report, run):
    """What the interface promises about types and metadata."""
    import pyarrow
    schema = pyarrow.schema(run.steps())
    report.equal("times are timestamps", schema.field("start").type, pyarrow.timestamp("ns"))
    report.equal("durations are durations", schema.field("dur").type, pyarrow.duration("ns"))
    report.equal("unit in the metadata", schema.field("dur").metadata[b"unit"], b"ns")
    share = pyarrow.schema(run.temporal_breakdown()).field("idle_time_pctg")
    report.equal("percent is a number", (share.type, share.metadata[b"unit"]), (pyarrow.float64(), b"percent"))
    report.check("help in the metadata", len(share.metadata[b"help"]) > 5)
    report.equal("origin in the metadata", schema.metadata[b"kino.origin_ns"], str(run.origin).encode())
    nulls = run.query("SELECT 1 AS a, 'x' AS b, 1.5 AS c UNION ALL SELECT NULL, NULL, NULL")
    report.equal("nulls of a query", nulls.to_arrow().to_pylist(), [{"a": 1, "b": "x", "c": 1.5}, {"a": None, "b": None, "c": None}])
    large = (1 << 62) + 1
    frame = run.query("SELECT ? AS a UNION ALL SELECT NULL", large).to_pandas()
    report.equal("integers beside nulls are exact", (int(frame["a"][0]), bool(frame["a"].isna()[1])), (large, True))


def check_events(report, run):
    import pyarrow
    events = run.events(["ts", "dur", "name", "category", "rank", "id"]).to_arrow()
    events.validate(full=True)
    report.equal("types of events", [str(events.schema.field(name).type) for name in ("ts", "dur")], ["int64", "int64"])
    report.check("names are dictionaries", pyarrow.types.is_dictionary(events.schema.field("name").type))
    report.equal("origin of events", events.schema.metadata[b"kino.origin_ns"], str(run.origin).encode())
    want = {row[0]: tuple(row[1:]) for row in run.query("SELECT id, ts, dur, name, cat, rank FROM event")}
    got = {row["id"]: (row["ts"], row["dur"], row["name"], row["category"], row["rank"]) for row in events.to_pylist()}
    report.check("events are those of SQL", got == want, f"{len(got)} and {len(want)}")
    some = run.events(["name"], where="category = ? AND dur > ?", parameters=["kernel", 20_000]).to_arrow()
    count = run.query("SELECT count(*) FROM event WHERE cat = 'kernel' AND dur > 20000")[0][0]
    report.equal("chosen events", (some.num_rows, count > 0), (count, True))
    events = run.events(["name"], where="category = ?", parameters=["kernel"])
    report.equal("the number of events", (len(events), len(run.events())), (events.to_arrow().num_rows, len(want)))
    for column in kino.event_columns():
        run.events([column.name]).to_arrow().validate(full=True)
    frame = run.events(["ts", "dur", "name"]).to_pandas()
    report.equal("events in pandas", (len(frame), str(frame["name"].dtype)), (len(want), "category"))
    report.equal("events in polars", run.events(["name", "category"]).to_polars().height, len(want))


def run(report):
    kino.demo("demo-run", ranks=2, steps=3)
    found = libraries()
    with kino.open("demo-run") as demo:
        for name, analysis in kino.analyses().items():
            told = from_program(name)
            answer = demo.analyze(name, **PARAMS.get(name, {}))
            tables = [answer] if isinstance(answer, kino.Table) else list(answer)
            report.equal(f"{name}: tables", [table.name for table in tables], [table["name"] for table in told])
            report.equal(f"{name}: as defined", [table.name for table in tables], [table.name for table in analysis.tables])
            for table, one in zip(tables, told):
                check_table(report, table, one, found)
        if "pyarrow" in found and "pandas" in found and "polars" in found:
            check_types(report, demo)
            check_events(report, demo)
        else:
            report.skipped += 1
