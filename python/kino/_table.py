"""Tables, and answers of several of them."""
from __future__ import annotations

import collections
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional, Union, overload

from . import _engine
from ._arrow import ArrowSource
from ._definitions import Column

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]


class Table(ArrowSource):
    """One table of an answer: rows of typed columns, which never change. It does not need its run any more.

    Rows are named tuples; durations are integers in ns, times integers in ns since the run's origin, percentages are
    0 to 100, and what is missing is None. DataFrame libraries get durations and timestamps as such.

    >>> table = run.temporal_breakdown()
    >>> len(table), table[0].rank, table["rank"]
    (2, 0, [0, 1])
    >>> [column.name for column in table.columns][:2]
    ['rank', 'idle_time']
    """

    def __init__(self, result: _engine.Result, index: int) -> None:
        self._result = result
        self._index = index
        self.name, self._count, columns = result.tables()[index]
        #: What the columns are: name, type, unit, help.
        self.columns: tuple[Column, ...] = tuple(Column(*column) for column in columns)

    @property
    def analysis(self) -> str:
        """The name of the analysis; "query" for an SQL statement.

        >>> run.temporal_breakdown().analysis
        'temporal-breakdown'
        """
        return self._result.name()

    @property
    def notes(self) -> list[str]:
        """Why values are missing, what was left out.

        >>> run.temporal_breakdown().notes
        []
        """
        return self._result.notes()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that it was computed with.

        >>> run.idle_time(delay="50us").params["delay"]
        50000
        """
        return dict(self._result.params())

    @property
    def origin(self) -> Optional[int]:
        """What times count from, in ns since 1970; None: no clock is known.

        >>> run.steps().origin == run.origin
        True
        """
        return self._result.origin()

    @functools.cached_property
    def _row(self) -> Any:
        return collections.namedtuple("Row", [column.name for column in self.columns], rename=True)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...

    def __getitem__(self, key: Union[str, int, slice]) -> Any:
        if isinstance(key, str):
            return self._values(self._place(key))
        if isinstance(key, slice):
            first, end, step = key.indices(self._count)
            if step < 0:
                return self.rows()[key]
            return [self._row._make(row) for row in self._result.rows(self._index, first, end)[::step]]
        at = key + self._count if key < 0 else key
        if not 0 <= at < self._count:
            raise IndexError(f"table '{self.name}' has {self._count} rows")
        return self._row._make(self._result.rows(self._index, at, at + 1)[0])

    def _place(self, name: str) -> int:
        for place, column in enumerate(self.columns):
            if column.name == name:
                return place
        raise KeyError(name)

    def _values(self, place: int) -> list[Any]:
        return [row[place] for row in self._result.rows(self._index, 0, self._count)]

    def rows(self) -> list[Any]:
        """All rows as named tuples.

        >>> run.temporal_breakdown().rows()[1].rank
        1
        """
        return [self._row._make(row) for row in self._result.rows(self._index, 0, self._count)]

    def to_dicts(self) -> list[dict[str, Any]]:
        """All rows as dicts.

        >>> run.query("SELECT 1 AS a, NULL AS b").to_dicts()
        [{'a': 1, 'b': None}]
        """
        names = [column.name for column in self.columns]
        return [dict(zip(names, row)) for row in self._result.rows(self._index, 0, self._count)]

    def to_pandas(self) -> pandas.DataFrame:
        from ._pandas import table_frame
        return table_frame(self, self._result, self._index)

    to_pandas.__doc__ = ArrowSource.to_pandas.__doc__

    def plot(self, *, ax: Optional[Any] = None, **options: Any) -> Any:
        """Draws it with matplotlib: breakdowns as stacked bars, series over time as lines, other tables as bars of
        their largest rows. Gives the axes; options go to matplotlib.

        >>> run.temporal_breakdown().plot().get_xlabel()  # doctest: +MATPLOTLIB
        'rank'
        """
        from ._plot import draw
        return draw(self, ax, options)

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._result.arrow_stream(self._index)

    def __arrow_c_schema__(self) -> object:
        return self._result.arrow_schema(self._index)

    def __repr__(self) -> str:
        return f"<kino.Table {self.name!r}: {self._count} rows, {len(self.columns)} columns>"

    def __str__(self) -> str:
        from ._html import table_text
        return table_text(self)

    def _repr_html_(self) -> str:
        from ._html import table_markup
        return table_markup(self)


class Result:
    """An answer of several tables: by name as attributes, or ``result["name"]``, or one after the other.

    >>> result = run.idle_time()
    >>> [table.name for table in result]
    ['idle', 'interval_stats']
    >>> result.idle is result["idle"] is result[0]
    True
    """

    def __init__(self, result: _engine.Result) -> None:
        self._result = result
        #: The tables by name.
        self.tables: dict[str, Table] = {}
        for index, (name, _, _) in enumerate(result.tables()):
            self.tables[name] = Table(result, index)

    @property
    def name(self) -> str:
        """The name of the analysis.

        >>> run.idle_time().name
        'idle-time'
        """
        return self._result.name()

    @property
    def notes(self) -> list[str]:
        """Why values are missing, what was left out.

        >>> isinstance(run.idle_time().notes, list)
        True
        """
        return self._result.notes()

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that it was computed with.

        >>> run.idle_time().params["delay"]
        30000
        """
        return dict(self._result.params())

    def to_json(self) -> str:
        """The answer as `kino analyze --format json` gives it.

        >>> import json
        >>> json.loads(run.idle_time().to_json())["analysis"]
        'idle-time'
        """
        return self._result.render("json", None, 0, 0)

    def __getattr__(self, name: str) -> Table:
        tables = self.__dict__.get("tables", {})
        if name in tables:
            found: Table = tables[name]
            return found
        raise AttributeError(f"the answer has no table '{name}': it has {', '.join(tables)}")

    def __getitem__(self, key: Union[str, int]) -> Table:
        return self.tables[key] if isinstance(key, str) else list(self.tables.values())[key]

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables.values())

    def __len__(self) -> int:
        return len(self.tables)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        return f"<kino.{type(self).__name__} {self.name!r}: {', '.join(self.tables)}>"

    def __str__(self) -> str:
        return self._result.render("table", None, 0, 0)

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)
