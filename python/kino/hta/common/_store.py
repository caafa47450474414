"""The engine behind a Trace: answers of analyses by rank, in HTA's units and types."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Optional

import numpy as np
import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ... import _run
from ..._table import Table
from ..configs import env_options


def smallest_integer(most: int, least: int = -1) -> str:
    """The type that pandas gives integers when it makes them small."""
    return next(kind for kind in ("int8", "int16", "int32", "int64")
                if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)


class Store:
    """Runs of the engine over files by rank: one of all where the files tell their ranks, else one a rank."""

    def __init__(self, files: dict[int, str], include_last_step: bool, compat: Optional[str]) -> None:
        self.files = files
        self.include_last_step = include_last_step
        self.compat = "hta-ns" if compat == "hta" and env_options.disable_ns_rounding() else compat
        self._runs: Optional[list[tuple[Optional[int], _run.Run]]] = None
        self._process = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        """Copies, and other processes, read the files again."""
        return {**self.__dict__, "_runs": None}

    def open(self) -> list[tuple[Optional[int], _run.Run]]:
        """Pairs of rank and run; the rank is None where the run's own ranks are right."""
        if self._process != os.getpid():
            self._runs, self._process = None, os.getpid()
        if self._runs is None:
            paths = [self.files[rank] for rank in sorted(self.files)]
            run = _run.open(paths, progress=False)
            if sorted(run.ranks) == sorted(self.files) and all(self.files.get(trace.rank or 0) == trace.path for trace in run.traces):
                self._runs = [(None, run)]
            else:
                self._runs = [(rank, _run.open(self.files[rank], progress=False)) for rank in sorted(self.files)]
        return self._runs

    def close(self) -> None:
        for _, run in self._runs or []:
            run.close()
        self._runs = None

    def _params(self, takes_last_step: bool, params: dict[str, Any]) -> dict[str, Any]:
        if takes_last_step:
            params["include_last_step"] = self.include_last_step or self.compat is None
        return {**params, "compat": self.compat}

    def answers(self, analysis: str, takes_last_step: bool = True, **params: Any) -> Iterator[tuple[Optional[int], Any]]:
        """The answer of each run."""
        for rank, run in self.open():
            yield rank, run.analyze(analysis, **self._params(takes_last_step, params))

    def rows(self, analysis: str, table: str, takes_last_step: bool = True, **params: Any) -> list[Any]:
        """The rows of one table of all ranks as dicts; in the order of ranks."""
        rows: list[Any] = []
        for rank, answer in self.answers(analysis, takes_last_step, **params):
            found = answer if isinstance(answer, Table) else answer[table]
            for row in found.to_dicts():
                if rank is not None and "rank" in row:
                    row["rank"] = rank
                rows.append(row)
        return rows

    def frame(self, analysis: str, table: str, **params: Any) -> Any:
        """The same as a DataFrame, for tables with a row an event."""
        parts = []
        for rank, answer in self.answers(analysis, **params):
            part = (answer if isinstance(answer, Table) else answer[table]).to_pandas()
            parts.append(part if rank is None else part.assign(rank=rank))
        return pd.concat(parts, ignore_index=True)

    def of_rank(self, rank: int) -> tuple[_run.Run, int]:
        """The run that has the rank, and the number of its trace there."""
        for of, run in self.open():
            if of == rank:
                return run, 0
            for trace in run.traces if of is None else ():
                if trace.rank == rank:
                    return run, trace.number
        raise ValueError(f"no trace for rank {rank}")

    def ranks(self) -> list[int]:
        return sorted(self.files)

    # -- types of columns, which depend on the whole file --

    def has_whole_durations(self, rank: int) -> bool:
        """Are durations integers in HTA's frame? They are only where every event has one."""
        run, number = self.of_rank(rank)
        sql = "SELECT 1 FROM event WHERE trace = ? AND dur IS NULL LIMIT 1"
        return self.compat != "hta-ns" and not len(run.query(sql, number))

    def integer_type(self, rank: int, column: str) -> str:
        """The type of ``correlation``, ``stream`` or whole durations: the smallest that all events fit in."""
        run, number = self.of_rank(rank)
        most = run.query(f"SELECT max({column}) FROM event WHERE trace = ? AND dur IS NOT NULL", number)[0][0]
        if column == "dur":
            most = (most or 0) // 1000
        elif column == "stream":  # synchronization of all streams names one that no device has
            sync = "SELECT max(json_extract(args, '$.stream')) FROM event WHERE trace = ? AND cat = 'cuda_sync'"
            named = run.query(sync, number)[0][0]
            most = max(-1 if most is None else most, named if isinstance(named, int) else -1)
            if self._has_copies_without_stream(rank):
                most = max(most, 1 << 16)  # HTA gives them one of 32 bits
        return smallest_integer(-1 if most is None else most)

    def _has_copies_without_stream(self, rank: int) -> bool:
        """Older traces of MTIA."""
        run, number = self.of_rank(rank)
        sql = ("SELECT 1 FROM event WHERE trace = ? AND cat = 'mtia_ccp_events' AND name LIKE 'dma%' AND "
               "json_extract(args, '$.stream') IS NULL LIMIT 1")
        return len(run.query(sql, number)) > 0

    def stream_type(self, ranks: list[int]) -> str:
        """Of the streams of several ranks in one column."""
        return max((self.integer_type(rank, "stream") for rank in ranks), key=lambda kind: int(kind[3:]), default="int64")
