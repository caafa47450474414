"""Which arguments of events become columns."""
from __future__ import annotations

import copy
import re
from enum import Enum
from pprint import pprint
from typing import Any, Optional

from ..common.constants import MAX_EVENT_DURATION_US
from .default_values import AttributeSpec, EventArgs, ValueType, YamlVersion
from .event_args_yaml_parser import parse_event_args_yaml, v1_0_0


class ParserBackend(str, Enum):
    """What reads files in HTA. kino.hta has one reader and gives the answers of JSON whatever is set.

    >>> from kino.hta.configs.parser_config import ParserBackend
    >>> ParserBackend.JSON.value
    'json'
    """

    JSON = "json"
    IJSON = "ijson"
    IJSON_BATCHED = "ijson_batched"
    IJSON_BATCH_AND_COMPRESS = "ijson_batch_and_compress"


class TraceType(str, Enum):
    """What was recorded.

    >>> from kino.hta.configs.parser_config import TraceType
    >>> TraceType.Inference.value
    'inference'
    """

    Training = "training"
    TrainingWoProfilerstepAnnot = "training_wo_profilerstep_annot"
    Inference = "inference"


DEFAULT_PARSE_VERSION: YamlVersion = v1_0_0
DEFAULT_VER_EVENT_ARGS: EventArgs = parse_event_args_yaml(DEFAULT_PARSE_VERSION)
AVAILABLE_ARGS: dict[str, AttributeSpec] = DEFAULT_VER_EVENT_ARGS.AVAILABLE_ARGS


class ParserConfig:
    """Which arguments become columns: ``args``, or all of them with ``parse_all_args``.

    >>> from kino.hta.configs.parser_config import ParserConfig
    >>> ParserConfig(ParserConfig.get_minimum_args())
    ParserConfig(args=['stream', 'correlation'], parse_all_args=False, parser_backend=None, version=1.0.0)
    """

    ARGS_INPUT_SHAPE: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_INPUT_SHAPE
    ARGS_BANDWIDTH: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_BANDWIDTH
    ARGS_SYNC: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_SYNC
    ARGS_MINIMUM: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_MINIMUM
    ARGS_COMPLETE: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_COMPLETE
    ARGS_INFO: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_INFO
    ARGS_TRITON_KERNELS: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_TRITON_KERNELS
    ARGS_COMMUNICATION: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_COMMUNICATION
    ARGS_DEFAULT: list[AttributeSpec] = DEFAULT_VER_EVENT_ARGS.ARGS_DEFAULT
    DEFAULT_MIN_REQUIRED_COLS: list[str] = ["ts", "dur", "name", "cat", "pid", "tid"]

    def __init__(self, args: Optional[list[AttributeSpec]] = None, user_provide_trace_type: Optional[TraceType] = None,
                 version: YamlVersion = DEFAULT_PARSE_VERSION, parse_all_args: bool = False,
                 selected_arg_keys: Optional[list[str]] = None, skip_event_types: Optional[set[str]] = None,
                 convert_ts_to_integer: bool = True) -> None:
        self.args: list[AttributeSpec] = args if args else self.get_default_args(version=version)
        self.arg_map: dict[str, AttributeSpec] = {arg.name: arg for arg in self.args}
        self.parser_backend: Optional[ParserBackend] = None
        self.trace_memory: bool = False
        self.user_provide_trace_type = user_provide_trace_type
        self.skip_event_types: set[str] = skip_event_types if skip_event_types is not None else {"python_function"}
        self.min_required_cols: list[str] = list(self.DEFAULT_MIN_REQUIRED_COLS)
        self.drop_gpu_user_annotation: bool = True
        self.version = version
        self.parse_all_args = parse_all_args
        self.selected_arg_keys: Optional[list[str]] = None
        self.batch_size = 1000
        self.convert_ts_to_integer = convert_ts_to_integer
        self.max_event_duration_us: Optional[int] = MAX_EVENT_DURATION_US

    def clone(self) -> ParserConfig:
        """A copy.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().clone().parse_all_args
        False
        """
        return copy.deepcopy(self)

    def get_fingerprint_key(self) -> tuple[tuple[str, ...], bool]:
        """What makes two of them read the same.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig(ParserConfig.get_minimum_args()).get_fingerprint_key()
        (('correlation', 'stream'), False)
        """
        return tuple(sorted(arg.name for arg in self.get_args())), self.parse_all_args

    def __repr__(self) -> str:
        return (f"ParserConfig(args={[arg.name for arg in self.args]}, parse_all_args={self.parse_all_args}, "
                f"parser_backend={self.parser_backend}, version={self.version.get_version_str()})")

    @classmethod
    def get_default_cfg(cls) -> ParserConfig:
        """A copy of what is used where none is given.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> len(ParserConfig.get_default_cfg().get_args())
        20
        """
        return _DEFAULT_PARSER_CONFIG.clone()

    @classmethod
    def get_versioned_cfg(cls, version: YamlVersion) -> ParserConfig:
        """The default of a version.

        >>> from kino.hta.configs.parser_config import DEFAULT_PARSE_VERSION, ParserConfig
        >>> len(ParserConfig.get_versioned_cfg(DEFAULT_PARSE_VERSION).args)
        20
        """
        return ParserConfig(version=version)

    @classmethod
    def set_default_cfg(cls, cfg: ParserConfig) -> None:
        """Makes it what is used where none is given.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig.set_default_cfg(ParserConfig())
        """
        _DEFAULT_PARSER_CONFIG.set_args(cfg.get_args())
        for name in ("min_required_cols", "drop_gpu_user_annotation", "trace_memory", "parser_backend", "parse_all_args",
                     "selected_arg_keys", "skip_event_types", "max_event_duration_us"):
            setattr(_DEFAULT_PARSER_CONFIG, name, getattr(cfg, name))

    @classmethod
    def get_minimum_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> list[AttributeSpec]:
        """Stream and correlation.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> [arg.name for arg in ParserConfig.get_minimum_args()]
        ['stream', 'correlation']
        """
        return parse_event_args_yaml(version).ARGS_MINIMUM.copy()

    @classmethod
    def get_default_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> list[AttributeSpec]:
        """Those of the default.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> [arg.name for arg in ParserConfig.get_default_args()][:3]
        ['stream', 'correlation', 'bytes']
        """
        return parse_event_args_yaml(version).ARGS_DEFAULT.copy()

    @classmethod
    def get_info_args(cls, version: YamlVersion = DEFAULT_PARSE_VERSION) -> list[AttributeSpec]:
        """Those of metadata.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> [arg.name for arg in ParserConfig.get_info_args()]
        ['labels', 'name', 'sort_index']
        """
        return parse_event_args_yaml(version).ARGS_INFO.copy()

    def set_args(self, args: list[AttributeSpec]) -> None:
        """Only these.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> config = ParserConfig()
        >>> config.set_args(ParserConfig.ARGS_MINIMUM); len(config.args)
        2
        """
        if args != self.args:
            self.args = []
            self.arg_map = {}
            self.add_args(args)

    def get_args(self) -> list[AttributeSpec]:
        """Those that become columns.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().get_args()[0].name
        'stream'
        """
        if self.selected_arg_keys is not None:
            return [self.arg_map[key] for key in self.selected_arg_keys]
        return self.args

    def set_min_required_cols(self, cols: list[str]) -> None:
        """Columns that must be there.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().set_min_required_cols(["ts"])
        """
        self.min_required_cols = cols

    def get_min_required_cols(self) -> list[str]:
        """Columns that must be there.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().get_min_required_cols()[:2]
        ['ts', 'dur']
        """
        return self.min_required_cols

    def add_args(self, args: list[AttributeSpec]) -> None:
        """These too.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> config = ParserConfig(ParserConfig.get_minimum_args())
        >>> config.add_args(ParserConfig.ARGS_BANDWIDTH); len(config.args)
        4
        """
        for arg in args:
            if arg.name not in self.arg_map:
                self.args.append(arg)
                self.arg_map[arg.name] = arg

    def set_trace_memory(self, trace_memory: bool) -> None:
        """Kept, without effect.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().set_trace_memory(True)
        """
        self.trace_memory = trace_memory

    def set_drop_gpu_user_annotation(self, should_drop: bool) -> None:
        """Kept, without effect, as in HTA.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().set_drop_gpu_user_annotation(True)
        """
        self.drop_gpu_user_annotation = should_drop

    def set_parser_backend(self, parser_backend: Optional[ParserBackend]) -> None:
        """Kept, without effect: there is one reader.

        >>> from kino.hta.configs.parser_config import ParserBackend, ParserConfig
        >>> ParserConfig().set_parser_backend(ParserBackend.JSON)
        """
        self.parser_backend = parser_backend

    def set_parse_all_args(self, parse_all_args: bool) -> ParserConfig:
        """Do all arguments become columns?

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().set_parse_all_args(True).parse_all_args
        True
        """
        self.parse_all_args = parse_all_args
        return self

    def set_args_selector(self, selected_arg_keys: Optional[list[str]] = None) -> ParserConfig:
        """Only these of its arguments, by column name.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> [arg.name for arg in ParserConfig().set_args_selector(["stream"]).get_args()]
        ['stream']
        """
        self.selected_arg_keys = selected_arg_keys
        return self

    def set_skip_event_types(self, skip_event_types: Optional[set[str]] = None) -> ParserConfig:
        """Kept, without effect, as for HTA's default reader.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig().set_skip_event_types().skip_event_types
        set()
        """
        self.skip_event_types = skip_event_types if skip_event_types is not None else set()
        return self

    @classmethod
    def enable_communication_args(cls, cfg: Optional[ParserConfig] = None,
                                  version: YamlVersion = DEFAULT_PARSE_VERSION) -> ParserConfig:
        """Those of collectives too; without a configuration, in the default.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> len(ParserConfig.enable_communication_args(ParserConfig(ParserConfig.get_minimum_args())).args)
        10
        """
        chosen = cfg or _DEFAULT_PARSER_CONFIG
        chosen.add_args(parse_event_args_yaml(version).ARGS_COMMUNICATION)
        return chosen

    @staticmethod
    def set_global_parser_config_version(version: YamlVersion) -> None:
        """Makes the arguments of a version the default.

        >>> from kino.hta.configs.parser_config import DEFAULT_PARSE_VERSION, ParserConfig
        >>> ParserConfig.set_global_parser_config_version(DEFAULT_PARSE_VERSION)
        """
        global _DEFAULT_PARSER_CONFIG, AVAILABLE_ARGS
        _DEFAULT_PARSER_CONFIG = ParserConfig(version=version)
        known = parse_event_args_yaml(version)
        AVAILABLE_ARGS = known.AVAILABLE_ARGS
        for name in known._fields[1:]:
            setattr(ParserConfig, name, getattr(known, name))

    @classmethod
    def get_all_available_args(cls) -> dict[str, AttributeSpec]:
        """All that are known.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> "cuda::stream" in ParserConfig.get_all_available_args()
        True
        """
        return AVAILABLE_ARGS

    @classmethod
    def show_available_args(cls) -> None:
        """Prints them.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig.show_available_args()  # doctest: +ELLIPSIS
        {...
        """
        pprint(cls.get_all_available_args())

    @classmethod
    def transform_arg_name(cls, arg: str) -> str:
        """The column of an argument that is not known.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig.transform_arg_name("est. achieved occupancy %")
        'est_achieved_occupancy'
        """
        words = re.sub(r"\([^)]*\)", "", arg).lower()
        name = re.sub(r"_+", "_", re.sub(r"[ \-/.%]+", "_", words)).strip("_")
        return "arg_name" if name == "name" else name

    @classmethod
    def infer_attribute_specs(cls, args: Any, reference_specs: Optional[dict[str, AttributeSpec]] = None) -> dict[str, AttributeSpec]:
        """The arguments that a column of dicts has; what is known of them comes from reference_specs.

        >>> import pandas
        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig.infer_attribute_specs(pandas.Series([{"Op count": 3}]))["Op count"].name
        'op_count'
        """
        known = {spec.raw_name: spec for spec in (reference_specs or {}).values()}
        seen: set[str] = set()
        for row in args.dropna():
            for key, value in row.items() if isinstance(row, dict) else ():
                seen.add(key)
                if key not in known or key == "name":
                    known[key] = cls.make_attribute_spec(key, value)
        return {key: spec for key, spec in known.items() if key in seen}

    @classmethod
    def make_attribute_spec(cls, raw_name: str, value: object,
                            min_supported_version: YamlVersion = DEFAULT_PARSE_VERSION) -> AttributeSpec:
        """What an argument is, by one of its values.

        >>> from kino.hta.configs.parser_config import ParserConfig
        >>> ParserConfig.make_attribute_spec("Op count", 3).value_type.name
        'Int'
        """
        default: Any = None
        kind = ValueType.Object
        for of, maybe, nothing in ((int, ValueType.Int, 0), (float, ValueType.Float, 0.0), (str, ValueType.String, "")):
            if isinstance(value, of):
                kind, default = maybe, nothing
                break
        return AttributeSpec(cls.transform_arg_name(raw_name), raw_name, kind, default, min_supported_version)


_DEFAULT_PARSER_CONFIG: ParserConfig = ParserConfig()
