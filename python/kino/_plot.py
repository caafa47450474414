"""Tables as pictures, with matplotlib: what a table shows is chosen by its columns."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._arrow import _import

if TYPE_CHECKING:
    from ._definitions import Column
    from ._table import Table

_BARS = 20
_SCALES = {"duration": (1e6, "ms"), "time": (1e9, "s"), "bytes": (float(1 << 20), "MiB")}
# Tables whose durations are parts of one whole, side by side in a row.
_STACKS = {"temporal_breakdown": ("compute_time", "non_compute_time", "idle_time"),
           "computation_overview": None, "step_breakdown": None}
_LABELS = ("rank", "step", "name", "category", "kernel_type", "worker", "stream")


def _scale(column: Column) -> tuple[float, str]:
    factor, unit = _SCALES.get(column.type, (1.0, column.unit or ("%" if column.type == "percent" else "")))
    return factor, unit


def _numbers(table: Table, column: Column) -> list[float]:
    factor, _ = _scale(column)
    return [float("nan") if value is None else value / factor for value in table[column.name]]


def _of_type(table: Table, *types: str) -> list[Column]:
    return [column for column in table.columns if column.type in types and column.name not in ("rank", "step")]


def _label_column(table: Table) -> Optional[Column]:
    by_name = {column.name: column for column in table.columns}
    known = [by_name[name] for name in _LABELS if name in by_name]
    texts = [column for column in table.columns if column.type == "string"]
    if known and (not texts or len(set(table[known[0].name])) == len(table)):
        return known[0]  # it tells the rows apart
    return texts[0] if texts else None


def _lines(table: Table, axes: Any, time: Column, options: dict[str, Any]) -> None:
    columns = _of_type(table, "int", "float", "percent", "bytes", "duration")
    y = next((column for column in reversed(columns) if column.name not in ("stream", "device", "pid", "tid")), None)
    groups = [name for name in ("rank", "stream", "name", "device") if any(column.name == name for column in table.columns)]
    if y is None:
        raise ValueError(f"table '{table.name}' has no numbers over time")
    times, values = _numbers(table, time), _numbers(table, y)
    keys = list(zip(*(table[name] for name in groups))) if groups else [()] * len(table)
    for key in dict.fromkeys(keys):
        chosen = [i for i, other in enumerate(keys) if other == key]
        axes.plot([times[i] for i in chosen], [values[i] for i in chosen], drawstyle="steps-post",
                  label=" ".join(f"{name} {value}" for name, value in zip(groups, key)) or y.name, **options)
    axes.set_xlabel(f"{time.name} ({_scale(time)[1]})")
    axes.set_ylabel(f"{y.name} ({_scale(y)[1]})" if _scale(y)[1] else y.name)
    axes.legend()


def _stacked(table: Table, axes: Any, columns: list[Column], options: dict[str, Any]) -> None:
    label = _label_column(table)
    names = [str(value) for value in table[label.name]] if label else [str(i) for i in range(len(table))]
    below = [0.0] * len(table)
    for column in columns:
        heights = [0.0 if value != value else value for value in _numbers(table, column)]
        axes.bar(names, heights, bottom=below, label=column.name, **options)
        below = [a + b for a, b in zip(below, heights)]
    axes.set_xlabel(label.name if label else "row")
    axes.set_ylabel(_scale(columns[0])[1])
    axes.legend()


def _bars(table: Table, axes: Any, column: Column, options: dict[str, Any]) -> None:
    label = _label_column(table)
    names = [str(value) for value in table[label.name]] if label else [str(i) for i in range(len(table))]
    rows = sorted(((value, name) for value, name in zip(_numbers(table, column), names) if value == value), reverse=True)
    rows = rows[:_BARS][::-1]
    axes.barh(range(len(rows)), [value for value, _ in rows], **options)
    axes.set_yticks(range(len(rows)), [name if len(name) < 48 else name[:45] + "..." for _, name in rows])
    axes.set_xlabel(f"{column.name} ({_scale(column)[1]})" if _scale(column)[1] else column.name)


def draw(table: Table, given: Optional[Any], options: dict[str, Any]) -> Any:
    axes: Any = given if given is not None else _import("matplotlib.pyplot").subplots()[1]
    durations = _of_type(table, "duration")
    times = _of_type(table, "time")
    if table.name in _STACKS:
        wanted = _STACKS[table.name]
        _stacked(table, axes, [c for c in durations if not wanted or c.name in wanted], options)
    elif times and table.name.endswith(("series", "curve", "timeline")):
        _lines(table, axes, times[0], options)
    else:
        columns = durations or _of_type(table, "percent", "bytes", "float", "int")
        if not columns:
            raise ValueError(f"table '{table.name}' has no numbers to draw")
        _bars(table, axes, columns[0], options)
    axes.set_title(table.name.replace("_", " "))
    return axes
