"""The analyses as methods of Run: one for each definition of the engine, with its parameters, defaults and texts.

_methods.pyi says the same to type checkers; tools/make-python-stubs writes it from the same definitions."""
from __future__ import annotations

import inspect
from typing import Any, Callable

from ._definitions import Analysis, analyses
from ._table import Result


def _signature(analysis: Analysis) -> inspect.Signature:
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for parameter in analysis.parameters.values():
        parameters.append(inspect.Parameter(parameter.argument, inspect.Parameter.KEYWORD_ONLY, default=parameter.default))
    return inspect.Signature(parameters)


def _example(analysis: Analysis) -> str:
    names = [table.name for table in analysis.tables]
    # What has no default must be given: an operator.
    given = 'op="aten::linear"' if analysis.name == "kernel-sequences" else ""
    call = f"run.{analysis.method}({given})"
    return f">>> {call}.name\n{names[0]!r}" if len(names) == 1 else f">>> [table.name for table in {call}]\n{names!r}"


def doc_of(analysis: Analysis) -> str:
    """The doc string of an analysis' method, from its definition."""
    parts = [f"{analysis.help[:1].upper()}{analysis.help[1:]}.", analysis.description.strip()]
    if analysis.parameters:
        lines = []
        for parameter in analysis.parameters.values():
            default = f" (default: {parameter.default})" if parameter.default is not None else ""
            choices = f"; {', '.join(parameter.choices)}" if parameter.choices else ""
            lines.append(f"    {parameter.argument}: {parameter.help}{choices}{default}")
        parts.append("\n".join(["Parameters:", *lines]))
    parts.append("\n".join(["Tables:", *(f"    {table.name}: {table.help}" for table in analysis.tables)]))
    parts.append(_example(analysis))
    return "\n\n".join(parts) + "\n"


def result_class_name(analysis: Analysis) -> str:
    """idle-time: IdleTimeResult"""
    return "".join(word.capitalize() for word in analysis.name.split("-")) + "Result"


#: Answers of several tables have a class of their own, so that type checkers know the tables.
RESULTS: dict[str, type[Result]] = {
    analysis.name: type(result_class_name(analysis), (Result,), {
        "__doc__": f"The answer of the analysis {analysis.name}: {', '.join(table.name for table in analysis.tables)}.\n\n"
                   f"    {_example(analysis).splitlines()[0]}\n    {_example(analysis).splitlines()[1]}\n",
        "__module__": __name__})
    for analysis in analyses().values() if len(analysis.tables) > 1}


def _method(analysis: Analysis) -> Callable[..., Any]:
    def method(self: Any, **params: Any) -> Any:
        return self.analyze(analysis.name, **params)

    method.__name__ = analysis.method
    method.__qualname__ = f"Run.{analysis.method}"
    method.__doc__ = doc_of(analysis)
    method.__module__ = "kino"
    method.__signature__ = _signature(analysis)  # type: ignore[attr-defined]
    return method


class AnalysisMethods:
    """What Run has for each analysis."""

    def analyze(self, name: str, /, **params: Any) -> Any:
        raise NotImplementedError


for _each in analyses().values():
    setattr(AnalysisMethods, _each.method, _method(_each))
globals().update({result.__name__: result for result in RESULTS.values()})
