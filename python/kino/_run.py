"""Runs: opening traces, and asking them."""
from __future__ import annotations

import collections
import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Optional, Union

from . import _engine, _html
from ._definitions import Analysis, check_names, find
from ._errors import NotFoundError, nearest
from ._events import Events, event_columns
from ._methods import RESULTS, AnalysisMethods
from ._progress import Progress, ProgressFunction, shown
from ._remote import Lease, localize
from ._report import Check, Report
from ._server import Server, show
from ._table import Result, Table
from ._values import (NO_NUMBER, PathLike, Paths, Size, Time, cell_list, nanoseconds, params_list, path_list, size_in_bytes,
                      steps_range, text_list)

_KEPT_ANSWERS = 64
_KEPT_ROWS = 10_000  # answers with more are worked out again


@dataclass(frozen=True)
class Trace:
    """One trace of a run; ``rank`` is None where it is unknown.

    >>> [(trace.number, trace.rank) for trace in run.traces]
    [(0, 0), (1, 1)]
    """

    number: int
    rank: Optional[int]
    worker: str
    span: str
    path: str
    events: int


@dataclass(frozen=True)
class _Source:
    """Files that are all of a run and nothing else."""

    paths: list[bytes]
    run: Optional[str]
    span: Optional[str]
    leases: list[Lease]


class Run(AnalysisMethods):
    """One or many traces looked at as one. Made by kino.open; a context manager, and safe to share between threads.

    Every analysis is a method: ``run.temporal_breakdown()``, ``run.idle_time(delay="50us")``.

    >>> with kino.open("demo-run") as run:
    ...     run.ranks
    [0, 1]
    """

    def __init__(self, engine: _engine.Run, progress: Progress, is_tight: bool, jobs: int) -> None:
        self._engine = engine
        self._progress = progress
        self._jobs = jobs
        # A run with a memory limit is for one thread at a time.
        self._turn: contextlib.AbstractContextManager[Any] = threading.RLock() if is_tight else contextlib.nullcontext()
        self._is_tight = is_tight
        self._answers: collections.OrderedDict[Any, Union[Table, Result]] = collections.OrderedDict()
        self._answers_lock = threading.Lock()
        self._source: Optional[_Source] = None
        self._leases: list[Lease] = []
        self._server: Optional[Server] = None

    @contextlib.contextmanager
    def _working(self) -> Iterator[Optional[ProgressFunction]]:
        with self._turn, shown(self._progress) as progress:
            yield progress

    # -- what it is --

    def close(self) -> None:
        """Frees its memory, as soon as no call works with it and no Arrow array borrows from it. Tables stay.

        >>> other = kino.open("demo-run")
        >>> table = other.temporal_breakdown()
        >>> other.close()
        >>> len(table)
        2
        """
        with self._answers_lock:
            self._answers.clear()
        self._engine.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    @property
    def traces(self) -> list[Trace]:
        """Its traces in the order of their ranks.

        >>> run.traces[0].events > 1000
        True
        """
        return [Trace(*trace) for trace in self._engine.traces()]

    @property
    def ranks(self) -> list[int]:
        """The ranks that are known.

        >>> run.ranks
        [0, 1]
        """
        return [trace.rank for trace in self.traces if trace.rank is not None]

    @property
    def origin(self) -> Optional[int]:
        """What times count from, in ns since 1970; None: no clock of its traces is known.

        >>> run.origin > 10**18
        True
        """
        return self._engine.origin()

    @property
    def warnings(self) -> list[str]:
        """What to know about how it was read: damage, repairs, files left out.

        >>> run.warnings
        []
        """
        return self._engine.warnings()

    @property
    def nbytes(self) -> int:
        """About how much memory it holds now.

        >>> run.nbytes > 10_000
        True
        """
        return self._engine.nbytes()

    def __repr__(self) -> str:
        if not self._engine.is_open():
            return "<kino.Run: closed>"
        traces = self.traces
        return f"<kino.Run: {len(traces)} traces, {sum(trace.events for trace in traces)} events, ranks {self.ranks}>"

    def _repr_html_(self) -> str:
        return _html.run_markup(self) if self._engine.is_open() else f"<p>{repr(self)[1:-1]}</p>"

    # -- questions --

    def analyze(self, name: str, /, **params: Any) -> Any:
        """One analysis by its name: a Table, or a Result where it has several. kino.analyses() names them all.

        Values of parameters are what the command line takes ("30us", "yes") or Python's own; None is the default.

        >>> run.analyze("idle-time", delay="30us").idle[0].rank
        0
        >>> run.analyze("idle-time", dely="30us")
        Traceback (most recent call last):
        ...
        TypeError: idle_time() got an unexpected keyword argument 'dely'. Did you mean 'delay'?
        """
        analysis = find(name)
        check_names(analysis, params)
        return self._answer(analysis, params_list(params))

    def _answer(self, analysis: Analysis, params: list[tuple[bytes, bytes]]) -> Union[Table, Result]:
        """One that was given lately, or a new one: nothing in a run changes, nor in an answer."""
        key = (analysis.name, tuple(params))
        with self._answers_lock:
            if key in self._answers and self._engine.is_open():
                self._answers.move_to_end(key)
                return self._answers[key]
        with self._working() as progress:
            result = self._engine.analyze(analysis.name, params, self._jobs, progress)
        answer = Table(result, 0) if len(analysis.tables) == 1 else RESULTS[analysis.name](result)
        if sum(rows for _, rows, _ in result.tables()) <= _KEPT_ROWS:
            with self._answers_lock:
                self._answers[key] = answer
                if len(self._answers) > _KEPT_ANSWERS:
                    self._answers.popitem(last=False)
        return answer

    def query(self, sql: str, /, *parameters: Any, timeout: Optional[float] = None) -> Table:
        """One read-only statement of SQLite's SQL over events, tracks, steps and every analysis; schema() shows the tables.

        Values for `?` come after the statement. ``timeout`` is in seconds.

        >>> run.query("SELECT count(*) AS n FROM event WHERE name = ? AND dur > ?", "no such name", 1000).rows()
        [Row(n=0)]
        """
        milliseconds = 0 if timeout is None else max(1, int(timeout * 1000))
        with self._turn:
            return Table(self._engine.query(sql, cell_list(parameters), milliseconds), 0)

    def schema(self) -> Table:
        """The tables of SQL, with their columns.

        >>> "kernel" in run.schema()["name"]
        True
        """
        with self._turn:
            return Table(self._engine.schema(), 0)

    def events(self, columns: Optional[Iterable[str]] = None, where: Optional[str] = None,
               parameters: Iterable[Any] = ()) -> Events:
        """The events as Arrow columns: without a Python object for each, and without copying integers.

        ``columns`` are names of kino.event_columns() (default: ts, dur, name, category); ``where`` is a condition of SQL
        over the table ``event``, with values for its `?` in ``parameters``. Rows are ordered by trace, track and start.

        >>> run.events(["ts", "name"])
        <kino.Events ts, name>
        >>> run.events(["tss"])
        Traceback (most recent call last):
        ...
        kino._errors.NotFoundError: events have no column 'tss'
        hint: did you mean 'ts'?
        """
        names = list(columns) if columns is not None else ["ts", "dur", "name", "category"]
        known = [column.name for column in event_columns()]
        for name in names:
            if name not in known:
                guess = nearest(name, known)
                raise NotFoundError(f"events have no column '{name}'", hint=f"did you mean '{guess}'?" if guess else
                                    f"they have {', '.join(known)}")
        return Events(self, names, where, list(parameters))

    def _event_stream(self, columns: list[str], where: Optional[str], parameters: list[Any]) -> object:
        with self._turn:
            return self._engine.events([name.encode() for name in columns], where, cell_list(parameters))

    def _info(self) -> _engine.Result:
        with self._turn:
            return self._engine.info()

    def info(self) -> Result:
        """What is in it: traces, devices, steps, categories, tracks, damage, metadata.

        >>> run.info().traces["rank"]
        [0, 1]
        """
        return Result(self._info())

    def report(self, *, full: bool = False, steps: Union[None, int, str] = None, compat: Optional[str] = None) -> Report:
        """Where the time goes and what to do about it. ``full`` adds the details.

        >>> print(run.report())  # doctest: +ELLIPSIS
        demo-run
        Devices: ...
        """
        with self._working() as progress:
            return Report(self._engine.report(compat, None if steps is None else str(steps), full, self._jobs, progress))

    def check(self, *, fail_on: Union[None, str, Iterable[str]] = None) -> Check:
        """Is it complete and valid? What was dropped, repaired, unmatched. ``fail_on`` names kinds, severities or "any":
        what is found of them is in ``failures``.

        >>> run.check(fail_on="loss").passed
        True
        """
        return Check(self.completeness(), fail_on)

    def show(self, page: str = "overview", *, height: int = 800, proxy: Optional[str] = None) -> Server:
        """The web UI of this run, as kino.serve gives it; a notebook shows it. Runs that were made from others, or of some
        ranks, are written to a temporary directory for it. It goes on when the run is closed.

        >>> server = run.show("timeline")
        >>> server.url
        'http://127.0.0.1:.../#/timeline'
        >>> server.close()
        """
        if self._server:
            self._server.close()
        self._server = show(self, page=page, height=height, proxy=proxy)
        return self._server

    # -- runs made from it, and files --

    def _made(self, engine: _engine.Run) -> Run:
        return Run(engine, self._progress, self._is_tight, self._jobs)

    def cut(self, from_: Optional[Time] = None, to: Optional[Time] = None, *, steps: Union[None, int, str] = None,
            categories: Union[None, str, Iterable[str]] = None, drop: Union[None, str, Iterable[str]] = None,
            names: Union[None, str, Iterable[str]] = None) -> Run:
        """A smaller run that still hangs together: a window of time (since the run's start; negative: before its end) or
        steps, only these categories or names (patterns with * and ?), none of those in ``drop``.

        >>> part = run.cut(steps=3)
        >>> part.steps()["step"]
        [3, 3]
        """
        first, last = steps_range(steps)
        with self._working() as progress:
            return self._made(self._engine.cut(nanoseconds(from_), nanoseconds(to), first, last, text_list(categories),
                                               text_list(drop), text_list(names), progress))

    def merge(self) -> Run:
        """All its traces as one, on the common clock.

        >>> len(run.merge().traces)
        1
        """
        with self._working() as progress:
            return self._made(self._engine.merge(progress))

    def redact(self, *, key: Optional[str] = None, words: Union[None, str, Iterable[str]] = None) -> Run:
        """The same events with paths, hosts, users and names that are not the framework's replaced by tokens.

        >>> run.redact(words="secret").ranks
        [0, 1]
        """
        with self._working() as progress:
            return self._made(self._engine.redact(key, text_list(words), progress))

    def with_counters(self, *, compat: Optional[str] = None, include_last_step: bool = False) -> Run:
        """The same events, and counters that they imply: queue lengths, memory bandwidth, utilization, allocated memory.

        >>> run.with_counters().traces[0].events > run.traces[0].events
        True
        """
        with self._working() as progress:
            return self._made(self._engine.add_counters(compat, include_last_step, progress))

    def with_critical_path(self, *, all_events: bool = False, all_edges: bool = False, **params: Any) -> Run:
        """The traces with their critical path drawn in; parameters are those of critical_path().

        >>> run.with_critical_path().ranks
        [0, 1]
        """
        check_names(find("critical-path"), params)
        with self._working() as progress:
            return self._made(self._engine.overlay("critical-path", params_list(params), all_events, all_edges, progress))

    def with_kernel_sequences(self, op: str, **params: Any) -> Run:
        """The traces with the most frequent kernel sequences of an operator marked; parameters are those of
        kernel_sequences().

        >>> run.with_kernel_sequences("aten::linear", min_pattern_len=1).ranks
        [0, 1]
        """
        check_names(find("kernel-sequences"), params)
        with self._working() as progress:
            return self._made(self._engine.overlay("kernel-sequences", params_list({"op": op, **params}), False, False, progress))

    def convert(self, path: PathLike, *, to: Optional[str] = None, merge: bool = False, redact: bool = False,
                counters: bool = False, critical_path: bool = False, stacks: Optional[str] = None,
                weight: Optional[str] = None) -> str:
        """Writes it in another format, by the path's suffix or ``to`` (kino.formats() names them); a directory gets a file
        for each trace and needs ``to``. The file appears complete or not at all. Gives the path.

        >>> run.convert("demo.kino", merge=True)
        'demo.kino'
        >>> kino.open("demo.kino").merge().traces[0].events == run.merge().traces[0].events
        True
        """
        changed = self
        if counters:
            changed = changed.with_counters()
        if critical_path:
            changed = changed.with_critical_path()
        if redact:
            changed = changed.redact()
        if merge:
            changed = changed.merge()
        place = os.fsencode(path)
        is_folder = os.path.isdir(place) or place.endswith(b"/")
        with changed._working() as progress:
            changed._engine.write(place, is_folder, to, stacks, weight, self._jobs, progress)
        return os.fsdecode(place)


def open(paths: Paths, *, rank: Union[None, int, Iterable[int]] = None, memory: Optional[Size] = None,
         progress: Progress = None, run: Optional[str] = None, span: Optional[str] = None, jobs: int = 0) -> Run:
    """Opens traces as one run: a file (JSON, .gz, .zst, .kino), a directory of ranks, or several of them. Addresses of remote
    stores ("s3://bucket/run") are downloaded to a cache where fsspec is installed.

    ``rank`` chooses ranks; ``memory`` ("4GB") limits what the traces may take, at the price of reading them again;
    ``progress`` is None (a bar where somebody can see it), True, False, or a function of (what, done, total); ``run`` and
    ``span`` choose among several in a directory ("newest" is a span); ``jobs`` is the number of threads (0: all cores).

    >>> kino.open("demo-run", rank=1).ranks
    [1]
    """
    return open_as(None, paths, rank=rank, memory=memory, progress=progress, run=run, span=span, jobs=jobs)


def open_as(label: Optional[str], paths: Paths, *, rank: Union[None, int, Iterable[int]] = None, memory: Optional[Size] = None,
            progress: Progress = None, run: Optional[str] = None, span: Optional[str] = None, jobs: int = 0) -> Run:
    """open(), under a name for reports and errors; None: the paths."""
    ranks = None if rank is None else [rank] if isinstance(rank, int) else list(rank)
    limit = size_in_bytes(memory)
    with shown(progress) as report:
        places, leases = localize(path_list(paths), report)
        engine = _engine.open(places, ranks, run, span, limit, jobs, report, label)
    opened = Run(engine, progress, limit > 0, jobs)
    opened._leases = leases
    if ranks is None and len(places) == 1:
        opened._source = _Source(places, run, span, leases)
    return opened
