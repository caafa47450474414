"""The logger, and settings in files."""
from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any, Optional, Union

from .default_values import DEFAULT_CONFIG_FILENAME

ConfigValue = Union[None, bool, int, float, str, dict[str, Any], list[Any], set[Any]]

package_path: Path = Path(__file__).parent.parent
logger: logging.Logger = logging.getLogger("hta")


def setup_logger(config_file: str = "logging.config") -> None:
    """HTA sets up logging for the whole process here; kino.hta leaves that to the program.

    >>> from kino.hta.configs.config import logger, setup_logger
    >>> setup_logger(); logger.name
    'hta'
    """


def _is_readable(path: str) -> bool:
    return Path(path).exists() and os.access(path, os.R_OK)


class HtaConfig:
    """Settings of JSON files; later ones win.

    >>> from kino.hta.configs.config import HtaConfig
    >>> HtaConfig(load_default_paths=False).get_config("a.b", 3)
    3
    """

    @staticmethod
    def get_default_paths() -> list[str]:
        """Where they are looked for: in the package, the home folder, the current one.

        >>> from kino.hta.configs.config import HtaConfig
        >>> len(HtaConfig.get_default_paths())
        3
        """
        folders = (package_path, Path.home() / ".hta", Path.cwd())
        return [str(folder / DEFAULT_CONFIG_FILENAME) for folder in folders]

    def __init__(self, config_file_path: Optional[str] = None, load_default_paths: Optional[bool] = True) -> None:
        self.config_file_paths: list[str] = self.get_default_paths() if load_default_paths else []
        if config_file_path:
            self.config_file_paths.append(config_file_path)
        self.config: dict[str, Any] = {}
        for path in self.get_config_file_paths():
            self.config.update(json.loads(Path(path).read_text()))

    def get_config_file_paths(self) -> list[str]:
        """Those that are there.

        >>> from kino.hta.configs.config import HtaConfig
        >>> HtaConfig("nothing.json", load_default_paths=False).get_config_file_paths()
        []
        """
        return [path for path in self.config_file_paths if _is_readable(path)]

    def get_config(self, dot_path: Optional[str] = None, default_value: ConfigValue = None) -> ConfigValue:
        """The value at "a.b.c", or everything.

        >>> from kino.hta.configs.config import HtaConfig
        >>> HtaConfig(load_default_paths=False).get_config()
        {}
        """
        value: Any = self.config
        for part in dot_path.split(".") if dot_path is not None else []:
            if not isinstance(value, dict) or part not in value:
                return default_value
            value = value[part]
        found: ConfigValue = value
        return found

    def show(self) -> None:
        """Prints everything.

        >>> from kino.hta.configs.config import HtaConfig
        >>> HtaConfig(load_default_paths=False).show()
        {}
        """
        print(json.dumps(self.config, indent=4, sort_keys=True))

    @staticmethod
    def get_test_data_path(dataset: str) -> str:
        """Where HTA's tests keep a data set.

        >>> from kino.hta.configs.config import HtaConfig
        >>> HtaConfig.get_test_data_path("h100").endswith("tests/data/h100")
        True
        """
        return str(package_path.parent / "tests/data" / dataset)
