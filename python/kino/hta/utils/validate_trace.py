"""Have the arguments of events the types that the columns expect? ``kino check`` looks at much more."""
from __future__ import annotations

from collections import defaultdict
from typing import Any

import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]

from ..common.trace_file import read_trace
from ..configs.default_values import AttributeSpec, ValueType
from ..configs.parser_config import ParserConfig


def get_argument_spec(level: str = "default") -> list[AttributeSpec]:
    """The arguments of a level: minimal, standard (also called default) or complete.

    >>> from kino.hta.utils.validate_trace import get_argument_spec
    >>> len(get_argument_spec("minimal"))
    2
    """
    levels = {"minimal": ParserConfig.ARGS_MINIMUM, "standard": ParserConfig.ARGS_DEFAULT, "complete": ParserConfig.ARGS_COMPLETE}
    return levels["standard" if level == "default" else level]


def get_expected_arguments(attribute_specs: list[AttributeSpec]) -> Any:
    """Arguments as a frame.

    >>> from kino.hta.utils.validate_trace import get_argument_spec, get_expected_arguments
    >>> get_expected_arguments(get_argument_spec("minimal"))["arg_keys"].tolist()
    ['stream', 'correlation']
    """
    columns = {"arg_keys": "raw_name", "arg_value_types": "value_type", "arg_default_values": "default_value",
               "trace_df_column_name": "name"}
    return pd.DataFrame({column: [getattr(spec, of) for spec in attribute_specs] for column, of in columns.items()})


def _get_argument_value_types(df: Any) -> dict[str, tuple[ValueType, Any]]:
    return dict(zip(df["arg_keys"], zip(df["arg_value_types"], df["arg_default_values"])))


def _check_args(args: dict[str, Any], arg_type_map: dict[str, tuple[ValueType, Any]], skipped_arguments: dict[str, int],
                type_violations: dict[str, str]) -> None:
    for key, value in args.items():
        if key not in arg_type_map:
            skipped_arguments[key] += 1
            continue
        kind, default = arg_type_map[key]
        fits = isinstance(value, (int, float) if kind is ValueType.Float else type(default))
        if kind is not ValueType.Object and not fits:
            type_violations[key] = f"key={key}: value={value} type={type(value)}; expect_type='{kind.name}' default_value={default}"


def validate_trace_format(trace_file_path: str, level: str = "standard", ignore_missing_arguments: bool = True) -> tuple[bool, dict[str, Any]]:
    """Is it fine, and what is not? Arguments that the level does not know count unless ignore_missing_arguments.

    >>> from kino.hta.utils.validate_trace import validate_trace_format
    >>> validate_trace_format("demo-run/rank-0.json", "minimal")
    (True, {})
    """
    expected = _get_argument_value_types(get_expected_arguments(get_argument_spec(level)))
    try:
        document = read_trace(trace_file_path)
    except (OSError, ValueError) as error:
        return False, {"trace_read_error": error}
    if "traceEvents" not in document:
        return False, {"trace_data_error": "'traceEvents' section not found"}
    errors: dict[str, Any] = {}
    skipped: dict[str, int] = defaultdict(int)
    violations: dict[str, str] = {}
    for event in document["traceEvents"]:
        args = event.get("args", {})
        if isinstance(args, dict):
            _check_args(args, expected, skipped, violations)
        else:
            errors["args_data_type"] = f"args is not a dict: {args}"
    if skipped and not ignore_missing_arguments:
        errors["skipped_arguments"] = skipped
    if violations:
        errors["type_violations"] = violations
    return not errors, errors
