"""What tables and events share: they go to DataFrame libraries through Arrow's PyCapsule interface."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]


class ArrowSource:
    """Something with ``__arrow_c_stream__``: pandas, polars, pyarrow, DuckDB and others take it as it is."""

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """A capsule with an ArrowArrayStream. The requested schema is a wish that is not heard: types stay."""
        raise NotImplementedError

    def __arrow_c_schema__(self) -> object:
        """A capsule with an ArrowSchema."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """As a pyarrow.Table; needs pyarrow.

        >>> run.temporal_breakdown().to_arrow().column_names[0]  # doctest: +PYARROW
        'rank'
        """
        pyarrow = _import("pyarrow")
        if hasattr(pyarrow.RecordBatchReader, "from_stream"):  # without a look at pandas, which takes a second to import
            return pyarrow.RecordBatchReader.from_stream(self).read_all()
        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """As a polars.DataFrame; needs polars.

        >>> run.temporal_breakdown().to_polars().columns[0]  # doctest: +POLARS
        'rank'
        """
        frame: polars.DataFrame = _import("polars").DataFrame(self)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """As a pandas.DataFrame; needs pandas.

        Durations are timedelta64[ns], times datetime64[ns]. Integers that are missing somewhere make the column Int64,
        so that no number is rounded.

        >>> run.temporal_breakdown().to_pandas().columns[0]  # doctest: +PANDAS
        'rank'
        """
        raise NotImplementedError


def _import(name: str) -> Any:
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(f"{name} is not installed: pip install {name}") from missing
