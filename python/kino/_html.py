"""Tables for people: in a terminal as the program shows them, in notebooks as HTML."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._definitions import Column
    from ._run import Run
    from ._table import Table

_ROWS = 20
_SUMMARY = ("rank", "path", "events", "start", "duration", "steps", "host")  # of the traces of a run
_TIMES = ((10**9, "s"), (10**6, "ms"), (1000, "µs"))
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def _scaled(value: int, units: tuple[tuple[int, str], ...], least: str) -> str:
    for factor, unit in units:
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value} {least}"


def cell_text(column: Column, value: Any) -> str:
    """A value with its unit, three or four digits of it."""
    if value is None:
        return ""
    if column.type in ("duration", "time") and isinstance(value, int):
        return _scaled(value, _TIMES, "ns")
    if column.type == "bytes" and isinstance(value, int):
        return _scaled(value, _SIZES, "B")
    if column.type == "percent":
        return f"{value:.1f} %"
    if column.type == "bool":
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _head(column: Column) -> str:
    unit = column.unit if column.type in ("int", "float") else None
    text = escape(column.name) + (f" <small>{escape(unit)}</small>" if unit else "")
    return f'<th title="{escape(column.help, quote=True)}">{text}</th>' if column.help else f"<th>{text}</th>"


def _cell(column: Column, value: Any) -> str:
    is_text = isinstance(value, str)
    exact = f' title="{value} ns"' if column.type in ("duration", "time") and isinstance(value, int) else ""
    return f'<td style="text-align: {"left" if is_text else "right"}"{exact}>{escape(cell_text(column, value))}</td>'


def table_markup(table: Table, limit: Optional[int] = _ROWS, names: Optional[tuple[str, ...]] = None) -> str:
    """``names``: of the columns to show; None: all."""
    rows = table[:limit]
    shown = [(i, column) for i, column in enumerate(table.columns) if names is None or column.name in names]
    head = "".join(_head(column) for _, column in shown)
    body = "".join("<tr>" + "".join(_cell(column, row[i]) for i, column in shown) + "</tr>" for row in rows)
    more = f"<p>{len(table) - len(rows)} more rows</p>" if len(table) > len(rows) else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return (f"<div><strong>{escape(table.name)}</strong><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{more}{f'<ul>{notes}</ul>' if notes else ''}</div>")


def run_markup(run: Run) -> str:
    """A run in a cell: how much there is, how long it took, its traces, and what to know about them."""
    traces = run.info().traces
    facts = [_counted(len(traces), "trace"), _counted(sum(traces["events"]), "event"), f"{_scaled(run.nbytes, _SIZES, 'B')} in memory"]
    warnings = "".join(f"<li>{escape(warning)}</li>" for warning in run.warnings)
    return (f"<div><p><strong>kino.Run</strong>: {', '.join(facts)}</p>{table_markup(traces, names=_SUMMARY)}"
            f"{f'<ul>{warnings}</ul>' if warnings else ''}</div>")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def table_text(table: Table, limit: int = _ROWS) -> str:
    names = [column.name for column in table.columns]
    lines = [[cell_text(column, value) for column, value in zip(table.columns, row)] for row in table[:limit]]
    widths = [max(len(name), *(len(line[i]) for line in lines), 0) if lines else len(name) for i, name in enumerate(names)]
    texts = [column.type in ("string", "json") for column in table.columns]

    def line_of(cells: list[str]) -> str:
        return "  ".join(cell.ljust(width) if is_text else cell.rjust(width)
                         for cell, width, is_text in zip(cells, widths, texts)).rstrip()

    more = [f"({len(table) - limit} more rows)"] if len(table) > limit else []
    return "\n".join([line_of(names), *map(line_of, lines), *more, *(f"note: {note}" for note in table.notes)])
