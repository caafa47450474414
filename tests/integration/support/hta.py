"""The recorded answers of HTA beside the traces they were made from.

    for case in hta.cases():
        want = case.golden("temporal_breakdown")            the file's content; None where there is none
        got = case.analyze("temporal-breakdown")            --compat hta, options and traces of the case
        got["temporal_breakdown"]                           rows as dictionaries; got.notes: the notes

Goldens are in microseconds, our durations in ns: us(ns) divides. integer_ns() is in ns, for --compat hta-ns.
"""
import functools
import json
import math

from support import common

GOLDEN = common.SHARED / "golden/hta"
TRACES = common.SHARED / "traces/hta"


class Tables(dict):
    """The tables of an analysis by name, each a list of rows as dictionaries; and the notes."""

    def __init__(self, answer):
        super().__init__()
        self.notes = answer["input"].get("notes", [])
        for table in answer["tables"]:
            names = [column["name"] for column in table["columns"]]
            self[table["name"]] = [dict(zip(names, row)) for row in table["rows"]]


class Case:
    """One folder of answers: the traces by rank, and the options they were made with."""

    def __init__(self, folder):
        about = read_json(folder / "case.json")
        self.name, self.folder, self.options = folder.name, folder, about.get("options", {})
        by_rank = about.get("traces_by_rank", {})
        self.ranks = sorted(map(int, by_rank))
        self.traces = [TRACES / by_rank[str(rank)] for rank in self.ranks]
        self.has_last_step = bool(self.options.get("include_last_profiler_step"))

    def golden(self, name, folder=""):
        """A recorded answer; None where there is none. folder: "as_shipped", "exact_ns"."""
        path = self.folder / folder / f"{name}.json"
        return read_json(path) if path.exists() else None

    def integer_ns(self):
        """Answers in exact integer ns; None for traces of whole microseconds."""
        return self.golden("integer_ns", "exact_ns")

    def analyze(self, analysis, *arguments, compat="hta", takes_last_step=True):
        """Our answer over all ranks of the case; compat None: the default. A rank that the file does not tell is set here."""
        if takes_last_step and (self.has_last_step or not compat): # as HTA has it, also where the default is another
            arguments += ("--include-last-step", "yes" if self.has_last_step else "no")
        if compat:
            arguments += ("--compat", compat)
        tables = analyze(self.traces, analysis, *arguments)
        for row in (row for rows in tables.values() for row in rows if "rank" in row):
            if len(self.ranks) == 1:
                row["rank"] = self.ranks[0]
        return tables


@functools.lru_cache(maxsize=8)
def read_json(path):
    with open(path, "rb") as file:
        return json.loads(file.read())


def analyze(paths, analysis, *arguments):
    done = common.run("analyze", analysis, *paths, *arguments, "--format", "json", "--quiet")
    if done.returncode != 0:
        raise RuntimeError(f"kino analyze {analysis} {paths[0]}: exit {done.returncode}: "
                           f"{done.stderr.decode('utf-8', 'replace')[:300]}")
    return Tables(json.loads(done.stdout))


def cases():
    """All cases that are a run (traces by rank); the script is skipped where the folders are absent."""
    if not GOLDEN.is_dir() or not TRACES.is_dir():
        common.skip("../shared/golden/hta or ../shared/traces/hta is absent: nothing to compare with")
    found = [Case(path.parent) for path in sorted(GOLDEN.glob("*/case.json"))]
    return [case for case in found if case.traces and all(path.exists() for path in case.traces)]


def is_error(golden):
    """HTA failed on this input."""
    return isinstance(golden, dict) and "error" in golden and "message" in golden


def rows_of(table):
    """A recorded table as a list of dictionaries."""
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def us(ns):
    return None if ns is None else ns / 1000


def close(got, want, relative=1e-6, absolute=0.0):
    """Numbers by the tolerances of the answers; None (NaN there) equals None only."""
    if got is None or want is None:
        return got is want
    return math.isclose(got, want, rel_tol=relative, abs_tol=max(absolute, 1e-9))


def compare(report, what, got, want, columns, keys, order=True):
    """Two lists of rows. columns: name there -> (name here, function of (our value, theirs) that says whether they agree). keys:
    names here that tell rows apart and must be equal. order: the rows must come in the same order."""
    here = {theirs: ours for theirs, (ours, _) in columns.items()}
    mine = [tuple(row[key] for key in keys) for row in got]
    there = [tuple(next(row[theirs] for theirs, ours in here.items() if ours == key) for key in keys) for row in want]
    if not report.equal(f"{what}: rows", mine if order else sorted(mine, key=repr), there if order else sorted(there, key=repr)):
        return
    by_key = dict(zip(mine, got))
    report.equal(f"{what}: rows are distinct", len(by_key), len(got))
    for key, row in zip(there, want):
        for theirs, (ours, agree) in columns.items():
            value = by_key[key][ours]
            report.check(f"{what}: {str(key)[:120]}: {ours}", agree(value, row[theirs]), f"got {value}, want {row[theirs]}")


def exactly(got, want):
    return got == want


def time_in_us(got, want):
    """Our ns, their whole or fractional us: exact sums."""
    return close(us(got), want, relative=1e-12)


def nearly(got, want):
    return close(got, want)


def nearly_time_in_us(got, want):
    return close(us(got), want)


def percent(got, want):
    """Rounded to two decimals on both sides."""
    return close(got, want, relative=0, absolute=0.0101)
