"""Reports and checks: answers for people, with their values for programs."""
from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any, Optional, Union

from . import _engine
from ._table import Result, Table

_WIDTH = 100
_SEVERITIES = ("loss", "damage", "warning", "note")
_PLURALS = {"loss": "losses", "damage": "damages", "warning": "warnings", "note": "notes"}


@dataclass(frozen=True)
class Finding:
    """Something to change: what was seen, why it matters, what to do, and the gain to expect.

    >>> run.report().findings[0].gain_percent > 0
    True
    """

    rule: str
    severity: str
    title: str
    seen: str
    why: str
    do: str
    gain_percent: Optional[float]
    evidence: list[int]


class Report:
    """Where the time goes: ``str(report)`` is the text, and a notebook shows the page.

    >>> report = run.report()
    >>> str(report) == report.text
    True
    >>> report.html.startswith("<!")
    True
    """

    def __init__(self, engine: _engine.Report) -> None:
        self._engine = engine

    @property
    def text(self) -> str:
        """For a terminal of 100 columns.

        >>> "Step time" in run.report().text
        True
        """
        return self._engine.render("table", 0, _WIDTH)

    @property
    def markdown(self) -> str:
        """For a pull request.

        >>> "#" in run.report().markdown
        True
        """
        return self._engine.render("md", 0, 0)

    @property
    def html(self) -> str:
        """One page that needs nothing else.

        >>> "</html>" in run.report().html
        True
        """
        return self._engine.render("html", 500, 0)

    @functools.cached_property
    def json(self) -> dict[str, Any]:
        """All of it, as `kino report --format json` gives it.

        >>> sorted(run.report().json)
        ['kino', 'recommendations', 'report', 'results']
        """
        value: dict[str, Any] = json.loads(self._engine.render("json", 0, 0))
        return value

    @functools.cached_property
    def findings(self) -> list[Finding]:
        """What to change, the largest gain first.

        >>> all(finding.do for finding in run.report().findings)
        True
        """
        names = Finding.__dataclass_fields__
        return [Finding(**{name: entry.get(name) for name in names}) for entry in self.json["recommendations"]]

    @property
    def results(self) -> dict[str, Result]:
        """The answers of the analyses that it was made from, by name.

        >>> "overview" in run.report().results
        True
        """
        return {result.name(): Result(result) for result in self._engine.results()}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<kino.Report: {len(self.findings)} findings>"

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{escape(self.html, quote=True)}" style="width: 100%; height: 700px; border: 0" '
                'sandbox="allow-scripts"></iframe>')


class Check:
    """Is a run complete and valid? Made by Run.check.

    >>> check = run.check()
    >>> check.ok, str(check).split(":")[0]
    (True, 'complete and valid')
    """

    def __init__(self, result: Result, fail_on: Union[None, str, Iterable[str]]) -> None:
        #: The answer of the analysis "completeness".
        self.result = result
        #: What was found: a row for each rank and kind.
        self.findings: Table = result[0]
        words = [] if fail_on is None else fail_on.split(",") if isinstance(fail_on, str) else list(fail_on)
        #: Rows of ``findings`` that ``fail_on`` names.
        self.failures: list[Any] = [row for row in self.findings if row.kind in words or row.severity in words or
                                    ("any" in words and row.severity != "note")]

    def count(self, severity: str) -> int:
        """How many findings are "loss", "damage", "warning" or "note".

        >>> run.check().count("loss")
        0
        """
        return sum(row.severity == severity for row in self.findings)

    @property
    def ok(self) -> bool:
        """Is nothing lost, damaged or suspicious?

        >>> run.check().ok
        True
        """
        return not any(self.count(severity) for severity in ("loss", "damage", "warning"))

    @property
    def passed(self) -> bool:
        """Was nothing found that ``fail_on`` names?

        >>> run.check(fail_on="any").passed
        True
        """
        return not self.failures

    @property
    def verdict(self) -> str:
        """In one line.

        >>> run.check().verdict.startswith("complete and valid")
        True
        """
        is_complete, is_valid = not self.count("loss"), not self.count("damage") and not self.count("warning")
        text = ("complete and valid" if is_complete and is_valid else "complete, but not all of it is valid" if is_complete
                else "incomplete" if is_valid else "incomplete, and not all of it is valid")
        counts = [f"{self.count(severity)} {severity if self.count(severity) == 1 else _PLURALS[severity]}"
                  for severity in _SEVERITIES if self.count(severity)]
        return f"{text}: {', '.join(counts)}" if counts else text

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.verdict

    def __repr__(self) -> str:
        return f"<kino.Check: {self.verdict}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.verdict)}</p>{self.findings._repr_html_()}"
