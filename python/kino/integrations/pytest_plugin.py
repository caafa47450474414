"""pytest's fixture `kino_profile`: records a test, and fails it for what --kino-fail-on names.

    def test_step(kino_profile):
        train_step()
        assert kino_profile.step_num == 0          # it is a kino.profile that has started

    pytest --kino-fail-on any                                             # a recommendation of the report
    pytest --kino-baseline traces --kino-fail-on 'step_time>10%'          # slower than the trace of an earlier run

`@pytest.mark.kino(record_shapes=True)` gives the profiler arguments, and `fail_on=` adds to the option.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

import pytest

if TYPE_CHECKING:
    from .._run import Run

_COMPARISON = re.compile("[<>]")


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("kino")
    group.addoption("--kino-fail-on", action="append", default=[], metavar="WHAT",
                    help="a test with the fixture kino_profile fails for WHAT: the name of a recommendation, a severity, 'any', or with "
                         "--kino-baseline a comparison such as 'step_time>5%%' (repeatable)")
    group.addoption("--kino-baseline", metavar="DIR", help="traces to compare with, one for each test; those that are missing are written")
    group.addoption("--kino-save", metavar="DIR", help="write the trace of each test with the fixture kino_profile to DIR")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "kino(fail_on=..., **arguments): arguments of kino.profile for the fixture kino_profile")


def _file_name(test: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.\[\]-]+", "-", test) + ".kino"


def _against_baseline(run: Run, path: str, comparisons: list[str]) -> list[str]:
    from .._diff import diff
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run.convert(path)
        return []
    return [str(failure) for failure in diff(path, run, fail_on=comparisons, progress=False).failures]


def failures_of(run: Run, fail_on: list[str], baseline: Optional[str]) -> list[str]:
    """What of `fail_on` the run has, as lines; `baseline`: the file to compare with."""
    comparisons = [what for what in fail_on if _COMPARISON.search(what)]
    names = {what.strip() for entry in fail_on if entry not in comparisons for what in entry.split(",")}
    found = [f"{finding.rule} ({finding.severity}): {finding.title}: {finding.do}" for finding in (run.report().findings if names else [])
             if names & {finding.rule, finding.severity, "any"}]
    if comparisons and baseline is None:
        raise pytest.UsageError(f"--kino-fail-on {comparisons[0]} compares with an earlier run: say which with --kino-baseline DIR")
    return found + (_against_baseline(run, baseline, comparisons) if comparisons and baseline else [])


@pytest.fixture  # type: ignore[untyped-decorator, unused-ignore]
def kino_profile(request: Any) -> Iterator[Any]:
    """A kino.profile that records the test."""
    from ..profiler import profile
    arguments: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers("kino"))):
        arguments.update(marker.kwargs)
    own = arguments.pop("fail_on", [])
    fail_on = [*request.config.getoption("--kino-fail-on"), *([own] if isinstance(own, str) else own)]
    profiler = profile(**arguments)
    with profiler:
        yield profiler
    name, folder = _file_name(request.node.nodeid), request.config.getoption("--kino-save")
    if folder:
        os.makedirs(folder, exist_ok=True)
        profiler.export_chrome_trace(os.path.join(folder, name))
    baseline = request.config.getoption("--kino-baseline")
    failures = failures_of(profiler.run(), fail_on, os.path.join(baseline, name) if baseline else None) if fail_on else []
    if failures:
        pytest.fail("kino:\n" + "\n".join(failures), pytrace=False)
