"""The events of a run as columns."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from . import _engine
from ._arrow import ArrowSource, _import
from ._definitions import Column

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

    from ._run import Run


def event_columns() -> tuple[Column, ...]:
    """The columns that Run.events knows.

    >>> import kino
    >>> [column.name for column in kino.event_columns()][:4]
    ['id', 'trace', 'rank', 'ph']
    """
    return tuple(Column(*column) for column in _engine.event_columns())


class Events(ArrowSource):
    """Events as Arrow columns, made by Run.events; no event becomes an object of Python.

    ``ts`` and ``dur`` are int64 in ns, ``ts`` since the run's origin (``kino.origin_ns`` in the schema's metadata); names,
    categories and phases are dictionaries. What is not chosen by ``where`` is the store's own memory: it lives as long
    as an array of it does, also when the run is closed.

    >>> events = run.events(["ts", "dur", "name"], where="category = ?", parameters=["kernel"])
    >>> events.columns[0].name
    'ts'
    >>> events.to_arrow().num_rows == run.query("SELECT count(*) FROM kernel")[0][0]  # doctest: +PYARROW
    True
    """

    def __init__(self, run: Run, columns: list[str], where: Optional[str], parameters: list[Any]) -> None:
        self._run = run
        self._names = columns
        self._where = where
        self._parameters = parameters
        known = {column.name: column for column in event_columns()}
        #: What the columns are: name, type, unit, help.
        self.columns: tuple[Column, ...] = tuple(known[name] for name in columns)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._run._event_stream(self._names, self._where, self._parameters)

    def __arrow_c_schema__(self) -> object:
        return _engine.schema_of(self._run._event_stream(self._names, "0", []))

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas.DataFrame; needs pandas and pyarrow. Names, categories and phases are categoricals; integers that
        are missing somewhere make the column Int64, so that no number is rounded.

        >>> str(run.events(["name"]).to_pandas().dtypes["name"])  # doctest: +PYARROW
        'category'
        """
        pyarrow, pandas = _import("pyarrow"), _import("pandas")
        exact = {pyarrow.int64(): pandas.Int64Dtype()}
        table = self.to_arrow()
        if hasattr(table, "unify_dictionaries"):
            table = table.unify_dictionaries()
        frame = {}
        for name, column in zip(table.column_names, table.columns):
            frame[name] = column.to_pandas(types_mapper=exact.get if column.null_count else None)
        return pandas.DataFrame(frame, copy=False)

    def __len__(self) -> int:
        if not self._where:
            return sum(trace.events for trace in self._run.traces)
        sql = f"SELECT count(*) FROM (SELECT *, cat AS category FROM event) WHERE ({self._where}\n)"
        count: int = self._run.query(sql, *self._parameters)[0][0]
        return count

    def __repr__(self) -> str:
        chosen = f" where {self._where}" if self._where else ""
        return f"<kino.Events {', '.join(self._names)}{chosen}>"
