"""What columns are made of: names, types and defaults of arguments of events."""
from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple, Union

DEFAULT_TRACE_DIR = "/tmp/trace"
DEFAULT_CONFIG_FILENAME: str = "trace_analyzer.json"
DF_SYMBOL_COLUMNS: list[str] = ["cat", "name"]
IS_DEBUG_ENABLED: bool = True
MAX_NUM_PROCESSES_SMALL: int = 4
MAX_NUM_PROCESSES: int = 32


class YamlVersion(NamedTuple):
    """A version of the list of arguments.

    >>> from kino.hta.configs.default_values import YamlVersion
    >>> YamlVersion(1, 0, 0).get_version_str()
    '1.0.0'
    """

    major: int
    minor: int
    patch: int

    def get_version_str(self) -> str:
        """As a text.

        >>> from kino.hta.configs.default_values import YamlVersion
        >>> YamlVersion(1, 2, 3).get_version_str()
        '1.2.3'
        """
        return ".".join(map(str, self))

    @staticmethod
    def from_string(version_str: str) -> YamlVersion:
        """Of a text.

        >>> from kino.hta.configs.default_values import YamlVersion
        >>> YamlVersion.from_string("1.2.3").minor
        2
        """
        if not re.match(r"^\d+\.\d+\.\d+$", version_str):
            raise ValueError(f"Invalid version string: {version_str}")
        return YamlVersion(*map(int, version_str.split(".")))


class ValueType(Enum):
    """What values an argument has.

    >>> from kino.hta.configs.default_values import ValueType
    >>> ValueType["Int"].value
    1
    """

    Int = 1
    Float = 2
    String = 3
    Object = 4


class AttributeSpec(NamedTuple):
    """An argument of events that becomes a column: the column's name, the key in the file, type, default.

    >>> from kino.hta.configs.parser_config import AVAILABLE_ARGS
    >>> AVAILABLE_ARGS["cuda::stream"].default_value
    -1
    """

    name: str
    raw_name: str
    value_type: ValueType
    default_value: Union[int, float, str, object]
    min_supported_version: YamlVersion

    def __eq__(self, other: object) -> bool:
        """The version that it came with does not count."""
        return isinstance(other, AttributeSpec) and tuple(self)[:4] == tuple(other)[:4]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.raw_name, self.value_type))


class EventArgs(NamedTuple):
    """The arguments that are known, and groups of them.

    >>> from kino.hta.configs.event_args_yaml_parser import parse_event_args_yaml, v1_0_0
    >>> [spec.name for spec in parse_event_args_yaml(v1_0_0).ARGS_MINIMUM]
    ['stream', 'correlation']
    """

    AVAILABLE_ARGS: dict[str, AttributeSpec]
    ARGS_INPUT_SHAPE: list[AttributeSpec]
    ARGS_BANDWIDTH: list[AttributeSpec]
    ARGS_SYNC: list[AttributeSpec]
    ARGS_MINIMUM: list[AttributeSpec]
    ARGS_COMPLETE: list[AttributeSpec]
    ARGS_INFO: list[AttributeSpec]
    ARGS_COMMUNICATION: list[AttributeSpec]
    ARGS_TRITON_KERNELS: list[AttributeSpec]
    ARGS_DEFAULT: list[AttributeSpec]
