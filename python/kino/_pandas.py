"""Tables as pandas DataFrames, without pyarrow: numbers come as blocks of 64 bits, texts as lists."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _engine
from ._arrow import _import

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

    from ._table import Table


def _numbers(kind: str, values: bytearray, mask: Any, origin: Any) -> Any:
    """A block of numbers as the column's type; where one is missing, it is null and no number is rounded."""
    pd, np = _import("pandas"), _import("numpy")
    if kind in ("float", "percent"):
        return np.frombuffer(values, dtype="f8")  # NaN is null
    numbers = np.frombuffer(values, dtype="i8")
    missing = np.frombuffer(mask, dtype="?") if mask is not None else None
    if kind == "time" and origin is not None:
        shifted = numbers + origin
        if missing is not None:
            shifted[missing] = np.iinfo("i8").min
        return shifted.view("M8[ns]")
    if kind in ("time", "duration"):
        return numbers.view("m8[ns]")  # the engine's "missing" is NaT
    if kind == "bool":
        truth = numbers == 1
        return truth if missing is None else pd.arrays.BooleanArray(truth, missing.copy())
    return numbers if missing is None else pd.arrays.IntegerArray(numbers.copy(), missing.copy())


def _objects(kind: str, values: list[Any]) -> Any:
    """Texts; of SQL expressions what they are, all numbers or not."""
    pd = _import("pandas")
    kinds = {type(value) for value in values if value is not None}
    if kind == "any" and kinds == {int}:
        return pd.array(values, dtype="Int64") if None in values else pd.array(values, dtype="int64")
    if kind == "any" and kinds and kinds <= {int, float}:
        return pd.array([float("nan") if value is None else float(value) for value in values], dtype="float64")
    if kind == "any" and not kinds <= {str}:
        return pd.Series(values, dtype=object)
    return pd.Series(values, dtype=pd.Series(["text"]).dtype)


def table_frame(table: Table, result: _engine.Result, index: int) -> pandas.DataFrame:
    pd = _import("pandas")
    data = []
    for place, column in enumerate(table.columns):
        values = result.column(index, place)
        data.append(pd.Series(_objects(column.type, values) if isinstance(values, list)
                              else _numbers(column.type, values[0], values[1], result.origin()), copy=False))
    frame = pd.concat(data, axis=1) if data else pd.DataFrame()
    frame.columns = [column.name for column in table.columns]
    return frame
