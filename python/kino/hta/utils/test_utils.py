"""What tests that were written for HTA use."""
from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any, Callable


def get_test_data_dir(*subdirs: str) -> str:
    """The folder tests/data below TEST_DATA_PREFIX_PATH, or below the current folder.

    >>> from kino.hta.utils.test_utils import get_test_data_dir
    >>> get_test_data_dir("no-such-data")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    FileNotFoundError: Test data directory does not exist: ...
    """
    path = os.path.join(os.environ.get("TEST_DATA_PREFIX_PATH", "") or os.getcwd(), "tests", "data", *subdirs)
    if not os.path.isdir(path):
        raise FileNotFoundError(f"Test data directory does not exist: {path}")
    return path


def data_provider(data_function: Callable[[], Iterable[Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls a test for each of the values: dicts as keywords, tuples as arguments.

    >>> from kino.hta.utils.test_utils import data_provider
    >>> @data_provider(lambda: ({"a": 1}, (2,), 3))
    ... def test(self, a): print(a)
    >>> test(None)
    1
    2
    3
    """
    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def wrapper(self: Any, *args: Any, **names: Any) -> None:
            for data in data_function():
                if isinstance(data, dict):
                    test(self, *args, **{**names, **data})
                else:
                    test(self, *args, *(data if isinstance(data, tuple) else (data,)), **names)

        return wrapper

    return decorated
