"""What the analyses are called, what they take and what they give: from the engine, once."""
from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Optional

from . import _engine
from ._errors import NotFoundError, nearest


@dataclass(frozen=True)
class Column:
    """A column of a table: ``name``, ``type`` ("duration", "percent", ...), ``unit`` and ``help`` (or None).

    >>> run.temporal_breakdown().columns[1].type
    'duration'
    """

    name: str
    type: str
    unit: Optional[str]
    help: Optional[str]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an analysis; ``default`` is text, as the engine reads it.

    >>> import kino
    >>> kino.analyses()["idle-time"].parameters["delay"].default
    '30us'
    """

    name: str
    type: str
    default: Optional[str]
    help: str
    choices: tuple[str, ...]

    @property
    def argument(self) -> str:
        """Its name in Python: `from` is `from_`.

        >>> import kino
        >>> kino.analyses()["memory"].parameters["from"].argument
        'from_'
        """
        import keyword
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


@dataclass(frozen=True)
class TableDefinition:
    """A table that an analysis gives: ``name``, ``help`` (what a row is), ``columns``.

    >>> import kino
    >>> kino.analyses()["idle-time"].tables[0].name
    'idle'
    """

    name: str
    help: str
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Analysis:
    """An analysis: ``name``, ``help``, ``description``, ``parameters`` by name, ``tables``.

    >>> import kino
    >>> kino.analyses()["steps"].help
    'which steps are in the trace, and when they ran on host and device'
    """

    name: str
    help: str
    description: str
    parameters: dict[str, Parameter]
    tables: tuple[TableDefinition, ...]

    @property
    def method(self) -> str:
        """The name of its method of Run.

        >>> import kino
        >>> kino.analyses()["idle-time"].method
        'idle_time'
        """
        return self.name.replace("-", "_")


def _analysis(name: str, text: str, description: str, params: list[Any], tables: list[Any]) -> Analysis:
    parameters = [Parameter(p, kind, value, about, tuple((choices or "").split("|")) if choices else ())
                  for p, kind, value, about, choices in params]
    return Analysis(name, text, description, {p.name: p for p in parameters},
                    tuple(TableDefinition(t, about, tuple(Column(*c) for c in columns)) for t, about, columns in tables))


@functools.lru_cache(maxsize=None)
def analyses() -> dict[str, Analysis]:
    """All analyses by name, as this build has them.

    >>> import kino
    >>> "temporal-breakdown" in kino.analyses()
    True
    """
    return {entry[0]: _analysis(*entry) for entry in _engine.analyses()}


def find(name: str) -> Analysis:
    """The analysis of this name; '-' and '_' mean the same."""
    found = analyses().get(name.replace("_", "-"))
    if found:
        return found
    guess = nearest(name.replace("_", "-"), analyses())
    raise NotFoundError(f"unknown analysis '{name}'", hint=f"did you mean '{guess}'?" if guess else
                        "kino.analyses() has them all")


def check_names(analysis: Analysis, given: dict[str, Any]) -> None:
    """Names of parameters that the analysis does not have are a TypeError, as for any function of Python."""
    names = [parameter.argument for parameter in analysis.parameters.values()]
    for name in given:
        if name in names or name.rstrip("_") in analysis.parameters:
            continue
        guess = nearest(name, names)
        raise TypeError(f"{analysis.method}() got an unexpected keyword argument '{name}'" +
                        (f". Did you mean '{guess}'?" if guess else f" (it takes {', '.join(names) or 'none'})"))
