"""Frames of kino.hta beside HTA's recorded answers (../shared/golden/hta): columns, rows and their order, values, kinds of types."""
import math

import pandas
from support import hta


class Subject:
    """One case with the answers of one of its folders. exact: times without rounding, where HTA's answers are sums of doubles."""

    def __init__(self, case, folder, analysis):
        self.case, self.folder, self.analysis = case, folder, analysis
        self.is_exact = folder == "exact_ns"
        self.name = f"{case.name}/{folder}" if folder else case.name
        self.ranks = case.ranks

    def golden(self, name):
        return self.case.golden(name, self.folder)

    def close(self, got, want):
        return close(got, want, 1e-6 if self.is_exact else 1e-8)


def plain(value):
    """A cell as the recorded answers have it."""
    if isinstance(value, float) or hasattr(value, "dtype"):
        value = value.item() if hasattr(value, "item") else value
        return None if value != value else value
    return value


def close(got, want, relative):
    if isinstance(want, (int, float)) and isinstance(got, (int, float)) and not isinstance(want, bool):
        return math.isclose(got, want, rel_tol=relative, abs_tol=1e-9 if relative < 1e-6 else 0.0101)
    return got == want


def table_of(frame):
    """Columns, and rows as lists; what has several levels is joined with a slash."""
    if isinstance(frame.columns, pandas.MultiIndex):
        frame = frame.reset_index()
        return ["/".join(levels) for levels in frame.columns], frame.values.tolist()
    return list(frame.columns), frame.values.tolist()


def check_kinds(report, what, frame, columns, rows):
    """A column with fractions holds floats, one with texts texts; whole numbers are recorded alike whatever their type."""
    frame = frame.reset_index() if isinstance(frame.columns, pandas.MultiIndex) else frame
    wrong = []
    for place, name in enumerate(columns):
        values, kind = [row[place] for row in rows], frame.iloc[:, place].dtype
        if any(isinstance(value, float) for value in values) and not pandas.api.types.is_float_dtype(kind):
            wrong.append((name, str(kind)))
        elif any(isinstance(value, str) for value in values) and pandas.api.types.is_numeric_dtype(kind):
            wrong.append((name, str(kind)))
    report.equal(f"{what}: types of columns", wrong, [])


def check_table(report, what, frame, want, relative=1e-8):
    """want: {"columns", "rows"}, perhaps with the first rows only."""
    if want is None:
        report.check(f"{what}: None", frame is None, str(frame))
        return
    if hta.is_error(want):  # HTA fails: a sensible answer, whatever it is
        return
    columns, rows = table_of(frame)
    if not report.equal(f"{what}: columns", columns, want["columns"]):
        return
    if "rows_total" in want:
        report.equal(f"{what}: number of rows", len(rows), want["rows_total"])
        rows = rows[:len(want["rows"])]
    if not report.equal(f"{what}: rows", len(rows), len(want["rows"])):
        return
    check_kinds(report, what, frame, columns, want["rows"])
    for place, (mine, theirs) in enumerate(zip(rows, want["rows"])):
        wrong = [(columns[at], plain(cell), theirs[at]) for at, cell in enumerate(mine) if not close(plain(cell), theirs[at], relative)]
        if wrong:
            report.check(f"{what}: row {place}", False, str(wrong[:3]))
            return
    report.passed += 1


def check_facts(report, what, got, want, relative=1e-8):
    """Numbers and texts by name: all that are recorded."""
    for name, value in want.items():
        mine = got.get(name, "nothing")
        if isinstance(value, dict):
            mine = mine if isinstance(mine, dict) else {}
            report.equal(f"{what}: {name}: names", sorted(mine, key=str), sorted(value, key=str))
            check_facts(report, f"{what}: {name}", mine, value, relative)
        elif isinstance(value, list):
            report.equal(f"{what}: {name}", mine, value)
        else:
            report.check(f"{what}: {name}", close(plain(mine), value, relative), f"got {mine}, want {value}")


def parts(golden):
    """The parts of a recorded answer by name; none where there is none, or HTA failed."""
    if not golden or hta.is_error(golden):
        return []
    return [(name, part) for name, part in golden.items() if not hta.is_error(part)]
